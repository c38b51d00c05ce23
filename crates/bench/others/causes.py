"""Why Dovetail, ns.py and ns-3 differ under DRR, WFQ and FQ-CoDel: each algorithm with either rule, written once more.

    python3 crates/bench/others/causes.py

Prints the mean time in the box in milliseconds by packet size, of the packets that `beside.py` sends.
Needs nothing that is not in Python.
"""

import heapq
from collections import deque
from math import sqrt

from traffic import ONE_LINK, SLOW_LINK, traffic

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


TARGET, INTERVAL, TURN, FULL_PACKET = 0.005, 0.1, 1514, 1514


class Delayed:
    """A queue with controlled delay, as the pseudo code of RFC 8289 has it."""

    def __init__(self):
        self.packets, self.size = deque(), 0
        self.first_above, self.drop_next, self.count, self.last, self.dropping = 0.0, 0.0, 0, 0, False

    def put(self, time, size):
        self.packets.append((time, size))
        self.size += size

    def head(self, now):
        """The first packet, and whether it may be dropped."""
        if not self.packets:
            self.first_above = 0.0
            return None, False
        time, size = self.packets.popleft()
        self.size -= size
        if now - time < TARGET or self.size <= FULL_PACKET:
            self.first_above = 0.0
        elif self.first_above == 0.0:
            self.first_above = now + INTERVAL
        else:
            return (time, size), now >= self.first_above
        return (time, size), False

    def take(self, now):
        packet, late = self.head(now)
        if self.dropping:
            self.dropping = late
            while self.dropping and now >= self.drop_next:
                self.count += 1
                packet, self.dropping = self.head(now)
                if self.dropping:
                    self.drop_next += INTERVAL / sqrt(self.count)
        elif late:
            packet, _ = self.head(now)
            self.dropping, more = True, self.count - self.last
            self.count = more if more > 1 and now - self.drop_next < 16 * INTERVAL else 1
            self.drop_next, self.last = now + INTERVAL / sqrt(self.count), self.count
        return packet


def fq_codel(held):
    """RFC 8290 in front of a link that holds so many packets itself besides the one that it sends."""
    rate = 10e6
    coming = deque((nanoseconds / 1e9, flow, size) for nanoseconds, flow, size in traffic(7, 4.0, SLOW_LINK))
    flows = sum(count for count, *_ in SLOW_LINK)
    queues, times, credit = [Delayed() for _ in range(flows)], [[] for _ in range(flows)], [0] * flows
    new, old, link, now = deque(), deque(), deque(), 0.0

    def come(until):
        while coming and coming[0][0] <= until:
            time, flow, size = coming.popleft()
            queues[flow].put(time, size)
            if flow not in new and flow not in old:
                new.append(flow)
                credit[flow] = TURN

    def fill(places):
        while len(link) < places and (new or old):
            flows = new or old
            flow = flows[0]
            if credit[flow] <= 0:
                credit[flow] += TURN
                old.append(flows.popleft())
            elif packet := queues[flow].take(now):
                credit[flow] -= packet[1]
                link.append((flow, packet))
            else:
                flows.popleft()
                if flows is new and old:
                    old.append(flow)

    while coming or new or old or link:
        now = now if new or old or link else coming[0][0]
        come(now)
        fill(1)
        if not link:
            continue
        flow, (time, size) = link.popleft()
        fill(held)
        end = now + 8 * size / rate
        # What comes while the link holds less than it can goes there at once.
        while len(link) < held and coming and coming[0][0] <= end:
            now = coming[0][0]
            come(now)
            fill(held)
        now = end
        times[flow].append(now - time)
    return times


def show(name, *groups):
    print(f"{name:34}", "  ".join(f"{1e3 * sum(own) / len(own):.3f}" for own in groups))


for name, times in [
    ("drr, turns as flows began to send", drr(True)),
    ("drr, turns by number of flow", drr(False)),
    ("wfq, flows in the fluid", wfq(True)),
    ("wfq, flows with packets", wfq(False)),
]:
    show(name, *(sum(times[first : first + 20], []) for first in (0, 20, 40)))
for name, times in [
    ("fq_codel, straight to the link", fq_codel(0)),
    ("fq_codel, one packet held in front", fq_codel(1)),
]:
    show(name, sum(times[:4], []), sum(times[4:], []))
