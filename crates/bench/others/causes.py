"""Why Dovetail and ns.py differ under DRR and WFQ: each algorithm with either rule, written once more.

    python3 crates/bench/others/causes.py

Prints the mean time in the box in milliseconds by packet size, of the packets that `beside.py` sends over one link.
Needs nothing that is not in Python.
"""

import heapq
from collections import deque

from traffic import ONE_LINK, traffic

RATE, FLOWS, QUANTUM = 100e6, 60, 1500
PACKETS = [(nanoseconds / 1e9, flow, size) for nanoseconds, flow, size in traffic(7, 1.0, ONE_LINK)]


def drr(by_list):
    """Flows have turns in the order in which they began to send (`by_list`), or in that of their numbers."""
    coming, queues, times = deque(PACKETS), [deque() for _ in range(FLOWS)], [[] for _ in range(FLOWS)]
    turns, deficit, now = deque(), [0] * FLOWS, 0.0

    def come():
        while coming and coming[0][0] <= now:
            time, flow, size = coming.popleft()
            if not queues[flow]:
                turns.append(flow)
            queues[flow].append((time, size))

    while coming or any(queues):
        now = now if any(queues) else coming[0][0]
        come()
        for flow in [turns.popleft()] if by_list else range(FLOWS):
            deficit[flow] += QUANTUM if queues[flow] else 0
            while queues[flow] and queues[flow][0][1] <= deficit[flow]:
                time, size = queues[flow].popleft()
                now += 8 * size / RATE
                deficit[flow] -= size
                times[flow].append(now - time)
                # By the list, a flow whose last packet is being sent is through: the next one makes it begin again.
                through = by_list and not queues[flow]
                deficit[flow] = 0 if through else deficit[flow]
                come()
                if through:
                    break
            else:
                deficit[flow] = deficit[flow] if queues[flow] else 0
                if by_list and queues[flow]:
                    turns.append(flow)
    return times


def wfq(by_fluid):
    """Virtual time counts the flows that the fluid serves (`by_fluid`), or those that have packets."""
    coming, tagged, times = deque(PACKETS), [], [[] for _ in range(FLOWS)]
    finish, waiting, now = [0.0] * FLOWS, [0] * FLOWS, 0.0
    virtual, last = 0.0, 0.0

    def advance(to):
        nonlocal virtual, last
        while by_fluid and last < to:
            busy = [tag for tag in finish if tag > virtual]
            if not busy:
                break
            step = min(to - last, (min(busy) - virtual) * len(busy))
            virtual = min(busy) if step < to - last else virtual + step / len(busy)
            last += step
        if not by_fluid:
            virtual += (to - last) / max(sum(count > 0 for count in waiting), 1)
        last = to

    def come():
        while coming and coming[0][0] <= now:
            time, flow, size = coming.popleft()
            advance(time)
            finish[flow] = max(finish[flow], virtual) + 8 * size / RATE
            heapq.heappush(tagged, (finish[flow], time, flow, size))
            waiting[flow] += 1

    while coming or tagged:
        now = now if tagged else coming[0][0]
        come()
        _, time, flow, size = heapq.heappop(tagged)
        now += 8 * size / RATE
        times[flow].append(now - time)
        come()
        advance(now)
        waiting[flow] -= 1
        if not by_fluid and not any(waiting):
            virtual, finish[:] = 0.0, [0.0] * FLOWS
    return times


for name, times in [
    ("drr, turns as flows began to send", drr(True)),
    ("drr, turns by number of flow", drr(False)),
    ("wfq, flows in the fluid", wfq(True)),
    ("wfq, flows with packets", wfq(False)),
]:
    groups = [sum(times[first : first + 20], []) for first in (0, 20, 40)]
    print(f"{name:34}", "  ".join(f"{1e3 * sum(own) / len(own):.3f}" for own in groups))
