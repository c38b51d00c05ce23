"""What a discipline or a caller's function raises loses no packet."""

import itertools
import random
import unittest

import dovetail

from disciplines import Drr


class Failing(Drr):
    """Raises whatever `fail` says, at a call of one method."""

    def __init__(self, **fail):
        super().__init__()
        self.fail = fail

    def _perhaps(self, method):
        self.fail[method] = self.fail.get(method, -1) - 1
        if self.fail[method] == 0:
            raise ZeroDivisionError(method)

    def added(self, flow, weight):
        self._perhaps("added")
        super().added(flow, weight)

    def arrived(self, now, flow, size, cost):
        super().arrived(now, flow, size, cost)
        self._perhaps("arrived")

    def choose(self, now):
        self._perhaps("choose")
        return super().choose(now)

    def served(self, now, flow, cost):
        super().served(now, flow, cost)
        self._perhaps("served")

    def progressed(self, now, flow, resource, event, used):
        self._perhaps("progressed")

    def reweighed(self, flow, weight):
        self._perhaps("reweighed")

    def removed(self, flow):
        self._perhaps("removed")


def filled(packets, **fail):
    """A scheduler of a discipline that fails, with waiting packets whose payloads are 0, 1, ..."""
    scheduler = dovetail.Scheduler(Failing(**fail))
    flow = scheduler.add_flow()
    for payload in range(packets):
        scheduler.enqueue(0, flow, 100, (1000, 2000), payload)
    return scheduler, flow


class OfBursts(unittest.TestCase):
    def test_a_burst_that_fails_is_kept_and_comes_first_in_the_next(self):
        for method, call in itertools.product(("choose", "served"), range(1, 11)):
            with self.subTest(method=method, call=call):
                scheduler, _ = filled(10, **{method: call})
                with self.assertRaises(ZeroDivisionError):
                    scheduler.next_many(0, 10)
                self.assertEqual([packet.payload for packet in scheduler.next_many(0, 100)], list(range(10)))
                self.assertEqual(scheduler.next(0), dovetail.Empty())
                books = scheduler.stats()
                self.assertEqual((books["served"], books["queued"]), (10, 0))

    def test_what_is_kept_comes_one_by_one_too(self):
        scheduler, flow = filled(6, served=4)
        with self.assertRaises(ZeroDivisionError):
            scheduler.next_many(0, 6)
        self.assertEqual(scheduler.queued(flow), 2)
        self.assertEqual([packet.payload for packet in scheduler.next_many(0, 3)], [0, 1, 2])
        self.assertEqual([scheduler.next(0).payload for _ in range(3)], [3, 4, 5])

    def test_it_survives_a_second_failure(self):
        scheduler, _ = filled(6, served=2, choose=4)
        for _ in range(2):
            with self.assertRaises(ZeroDivisionError):
                scheduler.next_many(0, 6)
        self.assertEqual([packet.payload for packet in scheduler.next_many(0, 6)], list(range(6)))

    def test_nonsense_in_a_burst_loses_nothing(self):
        class Nonsense(Drr):
            answers = iter([0, 0, 7])

            def choose(self, now):
                return next(self.answers, 0)

        scheduler = dovetail.Scheduler(Nonsense())
        flow = scheduler.add_flow()
        for payload in range(4):
            scheduler.enqueue(0, flow, 100, (1, 1), payload)
        with self.assertRaises(dovetail.DisciplineError):
            scheduler.next_many(0, 4)
        self.assertEqual([packet.payload for packet in scheduler.next_many(0, 4)], [0, 1, 2, 3])


class OfSingleCalls(unittest.TestCase):
    def test_may_pass_is_not_asked_again_after_its_first_exception_which_comes_out(self):
        scheduler, asked = dovetail.Scheduler("drfq"), []
        for payload in range(3):
            scheduler.enqueue(0, scheduler.add_flow(), 100, (0, 2), payload)

        def may_pass(payload):
            asked.append(payload)
            raise ZeroDivisionError(payload)

        with self.assertRaises(ZeroDivisionError) as raised:
            scheduler.bypass(0, may_pass)
        self.assertEqual((len(asked), [*raised.exception.args]), (1, asked))
        self.assertEqual(scheduler.stats()["queued"], 3)

    def test_a_packet_is_given_again(self):
        scheduler, _ = filled(2, served=1)
        with self.assertRaises(ZeroDivisionError):
            scheduler.next(0)
        packet = scheduler.next(0)
        self.assertEqual((packet.payload, packet.charged), (0, (1000, 2000)))
        self.assertEqual(scheduler.next(0).payload, 1)

    def test_a_packet_that_arrived_waits(self):
        scheduler, flow = filled(0, arrived=1)
        with self.assertRaises(ZeroDivisionError):
            scheduler.enqueue(0, flow, 100, (1, 2), "waits")
        self.assertEqual((scheduler.queued(flow), scheduler.next(0).payload), (1, "waits"))

    def test_a_report_counts(self):
        scheduler, _ = filled(1, progressed=1)
        packet = scheduler.next(0)
        with self.assertRaises(ZeroDivisionError):
            scheduler.progress(0, packet, 0, "finished", used=1500)
        self.assertEqual(packet.charged, (1500, 2000))

    def test_the_payloads_of_a_removed_flow_come_from_removing_it_again(self):
        scheduler, flow = filled(3, removed=1)
        with self.assertRaises(ZeroDivisionError):
            scheduler.remove_flow(0, flow)
        self.assertEqual((scheduler.queued(flow), scheduler.stats()["dropped"]), (0, 3))
        self.assertEqual(scheduler.remove_flow(0, flow), [0, 1, 2])
        with self.assertRaises(dovetail.UnknownFlow):
            scheduler.remove_flow(0, flow)

    def test_a_flow_that_could_not_be_added_is_none(self):
        scheduler = dovetail.Scheduler(Failing(added=2))
        flows = [scheduler.add_flow()]
        with self.assertRaises(ZeroDivisionError):
            scheduler.add_flow()
        flows.append(scheduler.add_flow())
        self.assertEqual([flow.index for flow in flows], [0, 1])


class OfBypassing(unittest.TestCase):
    def test_a_packet_that_has_passed_passes_again(self):
        scheduler = dovetail.Scheduler(Failing(served=1))
        scheduler.enqueue(0, scheduler.add_flow(), 100, (0, 2000), "free")
        with self.assertRaises(ZeroDivisionError):
            scheduler.bypass(0, lambda payload: True)
        self.assertEqual(scheduler.bypass(0, lambda payload: False).payload, "free")

    def test_what_waits_for_the_first_resource_is_not_given_as_passing_it(self):
        scheduler, flow = filled(1, served=1)
        with self.assertRaises(ZeroDivisionError):
            scheduler.next(0)
        scheduler.enqueue(0, flow, 100, (0, 2000), "free")
        self.assertEqual(scheduler.bypass(0, lambda payload: True).payload, "free")
        self.assertEqual(scheduler.next(0).payload, 0)


class Whenever(unittest.TestCase):
    """Any method may raise at any call."""

    def test_every_payload_comes_out_once(self):
        for seed in range(40):
            with self.subTest(seed=seed):
                self.random_calls(random.Random(seed))

    def random_calls(self, random):
        class Moody(Failing):
            def _perhaps(self, method):
                if random.random() < 0.15:
                    raise ZeroDivisionError

            def removed(self, flow):
                self.begun = self.begun and self.turns[0] != flow
                self.turns = type(self.turns)(one for one in self.turns if one != flow)
                super().removed(flow)

        def tried(call, *arguments, **more):
            try:
                return call(*arguments, **more)
            except ZeroDivisionError:
                return None

        scheduler = dovetail.Scheduler(Moody())
        flows, packets, removed, payloads = [], [], [], itertools.count()

        def add():
            flow = tried(scheduler.add_flow)
            flows.extend([flow] if flow else [])

        def enqueue():
            cost = (random.choice((0, 5)), 7)
            tried(scheduler.enqueue, 0, random.choice(flows), 10, cost, next(payloads))

        def remove():
            flow = flows.pop(random.randrange(len(flows)))
            while (left := tried(scheduler.remove_flow, 0, flow)) is None:
                pass
            removed.extend(left)

        def take():
            packets.extend(tried(scheduler.next_many, 0, random.randrange(8)) or [])

        def take_one():
            packet = tried(scheduler.next, 0)
            packets.extend([packet] if packet else [])

        def bypass():
            packet = tried(scheduler.bypass, 0, lambda payload: payload % 3 or 1 / 0)
            packets.extend([packet] if packet else [])

        def report():
            if packets:
                tried(scheduler.progress, 0, random.choice(packets), random.randrange(2), "finished", used=9)

        calls = (add, enqueue, enqueue, enqueue, enqueue, take, take_one, bypass, report, remove)
        for _ in range(300):
            call = random.choice(calls) if flows else add
            call()
        while scheduler.stats()["queued"]:
            take()
        for _ in range(100):
            take()
        given = sorted([packet.payload for packet in packets] + removed)
        self.assertEqual(given, list(range(next(payloads))))
