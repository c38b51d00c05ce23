# Sixty senders of 2,000 packets a second, of 800 bytes each, for 10 s into a link of 200 Mb/s, in order of arrival: the
# input of the tradeoff paper's Table 2 without the CPU.
#
# Prints how many packets have left the link until the last one has.

remove-all-packet-headers
add-packet-header IP Flags RTP
set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right 200Mb 0ms DropTail
$ns queue-limit $left $right 10000000
for {set k 0} {$k < 60} {incr k} {
    set udp [new Agent/UDP]
    $udp set packetSize_ 800
    $ns attach-agent $left $udp
    set sink($k) [new Agent/LossMonitor]
    $ns attach-agent $right $sink($k)
    $ns connect $udp $sink($k)
    set source [new Application/Traffic/CBR]
    $source set packetSize_ 800
    $source set interval_ 0.0005
    $source set maxpkts_ 20000
    $source attach-agent $udp
    $ns at 0.0 "$source start"
}
proc finish {} {
    global sink
    set packets 0
    for {set k 0} {$k < 60} {incr k} {
        incr packets [$sink($k) set npkts_]
    }
    puts $packets
    exit 0
}
$ns at 38.4001 "finish"
$ns run
