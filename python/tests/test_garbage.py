"""Payloads and disciplines that refer back to what holds them are freed."""

import gc
import unittest
import weakref

import dovetail

from disciplines import Drr


class Payload:
    pass


def cycle_through_waiting():
    scheduler, payload = dovetail.Scheduler("drfq"), Payload()
    scheduler.enqueue(0, scheduler.add_flow(), 100, (1, 2), payload)
    payload.scheduler = scheduler
    return payload


def cycle_through_waiting_alone():
    """Nothing in this cycle but the scheduler can be changed."""
    scheduler, payload = dovetail.Scheduler("drfq"), Payload()
    scheduler.enqueue(0, scheduler.add_flow(), 100, (1, 2), (scheduler, payload))
    return payload


def cycle_through_served():
    scheduler, payload = dovetail.Scheduler("drfq"), Payload()
    scheduler.enqueue(0, scheduler.add_flow(), 100, (1, 2), payload)
    payload.served = scheduler.next(0)
    return payload


def cycle_through_dropped():
    scheduler, payload = dovetail.Scheduler("fq_codel"), Payload()
    flow = scheduler.add_flow()
    for _ in range(100):
        scheduler.enqueue(0, flow, 1500, (10**6, 10**6), payload)
    dropped, now = None, 0
    while not isinstance(dropped, dovetail.Dropped):
        now += 10**8
        dropped = scheduler.next(now)
    payload.dropped = dropped
    return payload


def cycle_through_kept():
    class Failing(Drr):
        def served(self, now, flow, cost):
            raise ZeroDivisionError

    scheduler, payload = dovetail.Scheduler(Failing()), Payload()
    scheduler.enqueue(0, scheduler.add_flow(), 100, (1, 2), payload)
    try:
        scheduler.next(0)
    except ZeroDivisionError:
        payload.scheduler = scheduler
    return payload


def cycle_through_discipline():
    discipline = Drr()
    discipline.scheduler = dovetail.Scheduler(discipline)
    return discipline


def cycle_through_methods():
    """Functions of an object that cannot be changed are all that refers back."""

    class Bare(tuple):
        added = arrived = served = choose = lambda self, *_: None

    held = Payload()
    members = []
    discipline = Bare([members, held])
    members.append(dovetail.Scheduler(discipline))
    return held


class Cycles(unittest.TestCase):
    def test_they_are_freed(self):
        for make in (
            cycle_through_waiting,
            cycle_through_waiting_alone,
            cycle_through_served,
            cycle_through_dropped,
            cycle_through_kept,
            cycle_through_discipline,
            cycle_through_methods,
        ):
            with self.subTest(make.__name__):
                seen = weakref.ref(make())
                gc.collect()
                self.assertIsNone(seen())

    def test_what_is_in_use_is_not(self):
        payloads = [Payload() for _ in range(3)]
        scheduler = dovetail.Scheduler("drfq")
        flow = scheduler.add_flow()
        for payload in payloads:
            payload.scheduler = scheduler
            scheduler.enqueue(0, flow, 100, (1, 2), payload)
        seen = [weakref.ref(payload) for payload in payloads]
        del payloads, payload
        gc.collect()
        self.assertTrue(all(one() for one in seen))
        self.assertIs(scheduler.next(0).payload, seen[0]())
        gc.collect()
        self.assertEqual([one() is None for one in seen], [True, False, False])

    def test_collecting_in_the_middle_of_a_call(self):
        """By a method, by `may_pass`, and in the middle of a report."""

        class Collecting(Drr):
            def choose(self, now):
                gc.collect()
                return super().choose(now)

            def progressed(self, *_):
                gc.collect()

        scheduler = dovetail.Scheduler(Collecting())
        flow = scheduler.add_flow()
        for number in range(4):
            payload = Payload()
            payload.scheduler, payload.number = scheduler, number
            scheduler.enqueue(0, flow, 100, (0, 2), payload)
        del payload

        def may_pass(payload):
            gc.collect()
            return payload.number == 0

        given = [scheduler.bypass(0, may_pass), scheduler.next(0)]
        for packet in given:
            packet.payload.packet = packet
            scheduler.progress(0, packet, 1, "finished", used=7)
        given += scheduler.next_many(0, 9)
        self.assertEqual([packet.payload.number for packet in given], [0, 1, 2, 3])

    def test_a_payload_that_calls_the_scheduler_as_it_goes(self):
        seen = []

        class Last:
            def __init__(self, scheduler, flow):
                self.scheduler, self.flow = scheduler, flow

            def __del__(self):
                seen.append(self.scheduler.queued(self.flow))

        scheduler = dovetail.Scheduler("drfq")
        flow = scheduler.add_flow(packets=2)
        for _ in range(3):
            scheduler.enqueue(0, flow, 100, (1, 2), Last(scheduler, flow))
        self.assertEqual(seen, [2])
        scheduler.next(0)
        self.assertEqual(seen, [2, 1])
        scheduler.remove_flow(0, flow)
        self.assertEqual(seen, [2, 1, 0])
        flow = scheduler.add_flow()
        scheduler.enqueue(0, flow, 100, (1, 2), Last(scheduler, flow))
        del scheduler
        gc.collect()
        self.assertEqual(seen, [2, 1, 0, 1])
