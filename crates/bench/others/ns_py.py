"""Packets through a scheduler of ns.py: `ns_py.py SCHEDULER RATE_BPS PACKETS`, where a line of PACKETS is a time in
nanoseconds, a flow from 0, and bytes. Prints a line per flow: packets that left, and their latencies' mean in seconds.
"""

import sys

import simpy
from ns.packet.packet import Packet
from ns.port.port import Port
from ns.scheduler.drr import DRRServer
from ns.scheduler.wfq import WFQServer


def main():
    name, rate, path = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    with open(path, encoding="utf-8") as file:
        packets = [tuple(map(int, line.split())) for line in file]
    flows = 1 + max(flow for _, flow, _ in packets)
    env = simpy.Environment()
    weights = [1] * flows
    server = {
        "fifo": lambda: Port(env, rate),
        "drr": lambda: DRRServer(env, rate, weights),
        "wfq": lambda: WFQServer(env, rate, weights),
    }[name]()
    waits = [[] for _ in range(flows)]

    class Sink:
        def put(self, packet):
            waits[packet.flow_id].append(env.now - packet.time)

    def arrivals():
        for number, (nanoseconds, flow, size) in enumerate(packets):
            time = nanoseconds / 1e9
            if time > env.now:
                yield env.timeout(time - env.now)
            server.put(Packet(time, size, number, flow_id=flow))

    server.out = Sink()
    env.process(arrivals())
    env.run()
    for own in waits:
        print(len(own), sum(own) / max(len(own), 1))


main()
