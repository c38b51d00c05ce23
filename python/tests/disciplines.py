"""A discipline that the tests know."""

from collections import deque

import dovetail


class Drr(dovetail.Discipline):
    """Deficit round robin on one resource, as `drr:charge=estimated` with this quantum."""

    def __init__(self, quantum=500_000, resource=-1):
        self.quantum, self.resource = quantum, resource
        self.queues, self.credit, self.turns, self.begun = {}, {}, deque(), False

    def added(self, flow, weight):
        self.queues[flow], self.credit[flow] = deque(), 0

    def arrived(self, now, flow, size, cost):
        self.queues[flow].append(max(cost[self.resource], 1))
        if len(self.queues[flow]) == 1:
            self.turns.append(flow)

    def choose(self, now):
        while True:
            flow = self.turns[0]
            if not self.begun:
                self.credit[flow] += self.quantum
                self.begun = True
            if self.queues[flow][0] <= self.credit[flow]:
                return flow
            self.turns.rotate(-1)
            self.begun = False

    def served(self, now, flow, cost):
        self.credit[flow] -= self.queues[flow].popleft()
        if not self.queues[flow]:
            self.turns.popleft()
            self.credit[flow], self.begun = 0, False
