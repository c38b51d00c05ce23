# Runs one flow of ns-2 over two links and prints when it sent what, and its window whenever that changed.
#
#   ns record.tcl SCENARIO AGENT SINK ECN LENGTH QUEUE END MINRTO PHASE PACKET...
#
# AGENT: Reno or Newreno. SINK: each or delayed. ECN: 0 or 1. LENGTH: segments, 0 for infinitely many. QUEUE: packets, ns-2's limit_.
# END: seconds. MINRTO: seconds. PHASE: not for ns-2, which draws the phase of the sender's clock at random (the same one every time);
# the sender beside it takes this one, in microseconds. PACKET...: which packets (from 0) the forward link loses, or marks with ECN 1.
#
# Links of 8 Mb/s and 10.003 ms each way; 1,000-byte segments, SYN and ACKs of 40 bytes.
# Prints "scenario ARGUMENTS", then "s TIME NUMBER" (seconds, segment number) and "w TIME WINDOW".

set arguments $argv
lassign $argv scenario agent sink ecn length queue end minrto phase
set packets [lrange $argv 9 end]

set ns [new Simulator]
set from [$ns node]
set near [$ns node]
set to [$ns node]
# A link of no length before the bottleneck: packets are traced when they are sent, whatever happens to them later.
$ns simplex-link $from $near 1000000Gb 0ms DropTail
$ns simplex-link $near $from 1000000Gb 0ms DropTail
$ns duplex-link $near $to 8Mb 10.003ms DropTail
$ns queue-limit $from $near 100000
$ns queue-limit $near $to $queue
$ns queue-limit $to $near 100000

Agent/TCP set useHeaders_ false
Agent/TCP set packetSize_ 1000
Agent/TCP set window_ 64
Agent/TCP set minrto_ $minrto
set tcp [new Agent/TCP/$agent]
$tcp set ecn_ $ecn
set receiver [new Agent/TCPSink[expr {$sink eq "delayed" ? "/DelAck" : ""}]]
$ns attach-agent $from $tcp
$ns attach-agent $to $receiver
$ns connect $tcp $receiver
set ftp [new Application/FTP]
$ftp attach-agent $tcp

if {[llength $packets] > 0} {
    set errors [new ErrorModel/List]
    $errors droplist $packets
    if {$ecn} { $errors set markecn_ true }
    $errors drop-target [new Agent/Null]
    $ns link-lossmodel $errors $near $to
}

set packetfile [open "packets.$scenario.tr" w]
set windowfile [open "windows.$scenario.tr" w]
$ns trace-queue $from $near $packetfile
$tcp attach $windowfile
$tcp trace cwnd_

if {$length > 0} {
    $ns at 0 "$tcp advance $length"
} else {
    $ns at 0 "$ftp start"
}
$ns at $end {
    close $packetfile
    close $windowfile
    puts "scenario $arguments"
    set file [open "packets.$scenario.tr"]
    while {[gets $file line] >= 0} {
        if {[lindex $line 0] eq "+"} { puts "s [lindex $line 1] [lindex $line 10]" }
    }
    close $file
    set file [open "windows.$scenario.tr"]
    while {[gets $file line] >= 0} { puts "w [lindex $line 0] [lindex $line 6]" }
    exit 0
}
$ns run
