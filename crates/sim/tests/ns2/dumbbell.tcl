# The dumbbell of mod.rs in ns-2.
#
#   ns dumbbell.tcl AGENT ECN SEED
#
# AGENT: Reno or Newreno. ECN: 0 or 1. SEED: of RED's draws and the senders' clocks.
#
# Prints what has been counted until the end of the warm-up and until the end of the run, a line each: the time integral of the packets that
# wait at the bottleneck (packet seconds, without the one being sent), the packets that came there, those dropped, and those marked; then for every
# flow the segments acknowledged and the retransmission timeouts.

lassign $argv agent ecn seed
set flows 40
set warm_up 50.0
set end 200.0

# Packets carry all headers that ns-2 knows, unless told otherwise: a fifth of the time.
remove-all-packet-headers
add-packet-header IP TCP Flags
ns-random $seed
set ns [new Simulator]

Agent/TCP set useHeaders_ false
Agent/TCP set packetSize_ 500
Agent/TCP set window_ 1000
Agent/TCP set minrto_ 0.2
Agent/TCP set ecn_ $ecn
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set mean_pktsize_ 500
Queue/RED set thresh_ 50
Queue/RED set maxthresh_ 550
Queue/RED set q_weight_ 1e-4
Queue/RED set linterm_ 10
Queue/RED set gentle_ true
Queue/RED set wait_ true
Queue/RED set setbit_ $ecn
# Only the bottleneck loses packets.
Queue set limit_ 100000

set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right 40Mb 10ms RED
$ns simplex-link $right $left 40Mb 10ms DropTail
$ns queue-limit $left $right 1200
for {set k 0} {$k < $flows} {incr k} {
    set from [$ns node]
    set to [$ns node]
    $ns duplex-link $from $left 1Gb 5ms DropTail
    $ns duplex-link $right $to 1Gb 5ms DropTail
    set tcp($k) [new Agent/TCP/$agent]
    set sink [new Agent/TCPSink]
    $ns attach-agent $from $tcp($k)
    $ns attach-agent $to $sink
    $ns connect $tcp($k) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($k)
    $ns at [expr 20.0 * $k / $flows] "$ftp start"
}

set queue [$ns monitor-queue $left $right ""]
set integral [$queue get-pkts-integrator]

proc count {} {
    global flows ns tcp queue integral
    $integral newpoint [$ns now] [$queue set pkts_]
    set counts [list [$integral set sum_] [$queue set parrivals_] [$queue set pdrops_] [$queue set pmarks_]]
    for {set k 0} {$k < $flows} {incr k} {
        lappend counts [expr [$tcp($k) set ack_] + 1] [$tcp($k) set nrexmit_]
    }
    puts $counts
}

$ns at $warm_up count
$ns at $end { count; exit 0 }
$ns run
