"""Random packets, the same for every simulator."""

import random

# Sixty flows of three sizes on 100 Mbps: a number of flows, bytes, and packets per second.
ONE_LINK = [(20, 1400, 180), (20, 700, 180), (20, 200, 1000)]

# Four flows that send four times their share of 10 Mbps, four a quarter of it.
SLOW_LINK = [(4, 1200, 525), (4, 200, 200)]


def traffic(seed, until_s, groups):
    """Packets (nanoseconds, flow, bytes) in order; a group is a number of flows, bytes, and packets per second."""
    packets, flow = [], 0
    draw = random.Random(seed)
    for count, size, rate in groups:
        for _ in range(count):
            time = draw.expovariate(rate)
            while time < until_s:
                packets.append((round(time * 1e9), flow, size))
                time += draw.expovariate(rate)
            flow += 1
    return sorted(packets)
