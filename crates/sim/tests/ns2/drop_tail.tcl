# The dumbbell of drop_tail.rs in ns-2.
#
#   ns drop_tail.tcl STEP SEED RATE RTT
#
# STEP: flow k's shortest timeout is 0.2 and (k + 1) times so many seconds. SEED: of the starts and the senders' clocks.
# RATE: of the bottleneck in bits per second. RTT: without queues, in seconds.
#
# Prints what has been counted until 64, 128 and 256 s, a line each: the packets that came to the bottleneck and those
# dropped; then for every flow the segments acknowledged and the retransmission timeouts.

lassign $argv step seed rate rtt
set flows 20

remove-all-packet-headers
add-packet-header IP TCP Flags
ns-random $seed
set ns [new Simulator]

Agent/TCP set useHeaders_ false
Agent/TCP set packetSize_ 1000
Agent/TCP set window_ 1000
Queue set limit_ 100000

set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right $rate [expr $rtt / 4] DropTail
$ns simplex-link $right $left 10000Gb [expr $rtt / 4] DropTail
# One more than may wait.
$ns queue-limit $left $right 15
set starts [new RNG]
$starts seed [expr 1000 + $seed]
for {set k 0} {$k < $flows} {incr k} {
    set from [$ns node]
    set to [$ns node]
    $ns simplex-link $from $left 100Mb [expr $rtt / 8] DropTail
    $ns simplex-link $left $from 10000Gb [expr $rtt / 8] DropTail
    $ns duplex-link $right $to 10000Gb [expr $rtt / 8] DropTail
    set tcp($k) [new Agent/TCP/Reno]
    $tcp($k) set minrto_ [expr 0.2 + ($k + 1) * $step]
    set sink [new Agent/TCPSink]
    $ns attach-agent $from $tcp($k)
    $ns attach-agent $to $sink
    $ns connect $tcp($k) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($k)
    $ns at [$starts uniform 0 20.0] "$ftp start"
}

set queue [$ns monitor-queue $left $right ""]

proc count {} {
    global flows tcp queue
    set counts [list [$queue set parrivals_] [$queue set pdrops_]]
    for {set k 0} {$k < $flows} {incr k} {
        lappend counts [expr [$tcp($k) set ack_] + 1] [$tcp($k) set nrexmit_]
    }
    puts $counts
}

$ns at 64 count
$ns at 128 count
$ns at 256 { count; exit 0 }
$ns run
