"""Any scheduler as an object."""

import itertools
import math
import unittest

import dovetail


class Operations(unittest.TestCase):
    def test_books_and_limits(self):
        for entry in dovetail.schedulers():
            if entry.name in ("red", "drq"):
                continue
            scheduler = dovetail.Scheduler(entry.name, resources=2)
            flows = [scheduler.add_flow(packets=4), scheduler.add_flow(weight=2, bytes=300)]
            refused = [scheduler.enqueue(k, flows[k % 2], 100, (1000, 2000), k) for k in range(20)]
            self.assertEqual(refused.count("queue-packets"), 6, entry.name)
            self.assertEqual(refused.count("queue-bytes"), 7, entry.name)
            now, served = 100, []
            while True:
                answer = scheduler.next(now)
                if answer:
                    served.append(answer)
                    self.assertEqual(answer.charged, (1000, 2000), entry.name)
                    scheduler.progress(now, answer, 0, "finished", used=1000)
                    scheduler.progress(now, answer, 1, "finished", used=2000)
                elif isinstance(answer, dovetail.At):
                    self.assertGreater(answer.time, now)
                    now = answer.time
                else:
                    self.assertEqual(answer, dovetail.Empty(), entry.name)
                    break
            for number, flow in enumerate(flows):
                own = [packet.payload for packet in served if packet.flow == flow]
                self.assertEqual(own, [k for k in range(20) if k % 2 == number and refused[k] is None], entry.name)
            books = scheduler.stats()
            self.assertEqual((books["offered"], books["admitted"], books["served"]), (20, 7, 7), entry.name)
            self.assertEqual(sum(books["refused"].values()), 13)

    def test_pause_and_parameters(self):
        scheduler = dovetail.Scheduler("tradeoff:alpha=1")
        flow = scheduler.add_flow()
        scheduler.enqueue(0, flow, 100, (1000, 2000))
        scheduler.set(0, "alpha", 0.8)
        self.assertEqual(scheduler.queued(flow), 1)
        self.assertIsNone(scheduler.next(0).payload)
        with self.assertRaises(dovetail.SchedulerError) as raised:
            scheduler.set(0, "alpha", 2)
        self.assertEqual(raised.exception.text, "2")
        with self.assertRaises(dovetail.SchedulerError) as raised:
            scheduler.set(0, "alhpa", 0.5)
        self.assertIn("alpha", raised.exception.hint)

    def test_a_flow_has_an_alpha_of_its_own(self):
        def served(alpha):
            """How often each flow is served: the third needs much of both resources, and alpha = 0 leaves it out."""
            scheduler = dovetail.Scheduler("tradeoff:alpha=0")
            costs = [(10_000, 1_000), (1_000, 10_000), (10_000, 10_000)]
            flows = [scheduler.add_flow(), scheduler.add_flow(), scheduler.add_flow(alpha=alpha)]
            for flow, cost in list(zip(flows, costs)) * 4:
                scheduler.enqueue(0, flow, 100, cost, cost)
            now, count = 0, [0, 0, 0]
            while sum(count) < 600:
                packet = scheduler.next(now)
                if isinstance(packet, dovetail.At):
                    now = packet.time
                    continue
                for resource, time in enumerate(packet.payload):
                    scheduler.progress(now, packet, resource, "finished", used=time)
                scheduler.enqueue(now, packet.flow, 100, packet.payload, packet.payload)
                count[flows.index(packet.flow)] += 1
            return count

        self.assertEqual(served(None), [300, 300, 0])
        self.assertEqual(served(1), [200, 200, 200])
        # The CPU has room for 21 rounds of (10, 1, 10): the third flow has half a round of it, and the first 16 of 11.
        self.assertEqual(served(0.5), [256, 256, 88])
        with self.assertRaisesRegex(dovetail.ArgumentError, "alpha: 2: expected 0 or a number from 0.001 to 1"):
            served(2)
        # It would be rounded to no guarantee.
        with self.assertRaisesRegex(dovetail.ArgumentError, "alpha: 0.0004: expected 0 or a number from 0.001 to 1"):
            served(0.0004)

    def test_bypass(self):
        scheduler = dovetail.Scheduler("drfq")
        flow = scheduler.add_flow()
        scheduler.enqueue(0, flow, 100, (0, 2000), "free")
        self.assertEqual(scheduler.bypass(0, lambda payload: False), dovetail.AwaitProgress())
        with self.assertRaisesRegex(ValueError, "no"):
            scheduler.bypass(0, lambda payload: int("no"))
        self.assertEqual(scheduler.bypass(0, lambda payload: payload == "free").payload, "free")

    def test_very_long_times_count_as_the_longest(self):
        """As in Rust and in scenarios: a clock that jumps must not keep a packet's end from being told."""
        scheduler = dovetail.Scheduler("drfq")
        flow = scheduler.add_flow(time=(1, 2**64 - 1, 0))
        scheduler.enqueue(0, flow, 100, (2**40, 2**40 + 1))
        packet = scheduler.next(0)
        self.assertEqual(packet.charged, (2**40, 2**40))
        scheduler.progress(0, packet, 0, "finished", used=1)
        scheduler.progress(0, packet, 1, "finished", used=2**64 - 1)
        self.assertEqual(packet.charged, (1, 2**40))

    def test_matching(self):
        match dovetail.At(17):
            case dovetail.At(time):
                self.assertEqual(time, 17)


class Mistakes(unittest.TestCase):
    def setUp(self):
        self.scheduler = dovetail.Scheduler("drfq", resources=2)
        self.flow = self.scheduler.add_flow()

    def test_numbers(self):
        wrong = (-1, 2**64, 1.5, math.nan, math.inf, "1", None, True)
        for value in wrong:
            with self.subTest(value=value):
                for call in (
                    lambda: self.scheduler.next(value),
                    lambda: self.scheduler.enqueue(value, self.flow, 100, (1, 2)),
                    lambda: self.scheduler.enqueue(0, self.flow, value, (1, 2)),
                    lambda: self.scheduler.enqueue(0, self.flow, 100, (1, value)),
                    lambda: self.scheduler.next_many(0, value),
                    lambda: dovetail.At(value),
                ):
                    with self.assertRaises(dovetail.ArgumentError):
                        call()
        for value in (0, -1, math.nan, math.inf, 1e7, "1", True):
            with self.assertRaises(dovetail.ArgumentError):
                self.scheduler.add_flow(weight=value)
        for cost in ((1,), (1, 2, 3), 5, "ab", None, itertools.repeat(1)):
            with self.assertRaises(dovetail.ArgumentError):
                self.scheduler.enqueue(0, self.flow, 100, cost)
        for count in (0, 5, -1, "2"):
            with self.assertRaisesRegex(dovetail.ArgumentError, f"resources: {count!r}: expected .* from 1 to 4$"):
                dovetail.Scheduler("drfq", resources=count)
        with self.assertRaisesRegex(dovetail.ArgumentError, "servers: 0: expected a whole number of servers from 1 "):
            dovetail.Scheduler("drfq", servers=0)
        with self.assertRaisesRegex(dovetail.ArgumentError, r"time\[0\]: 2: expected a whole number from 0 to 1"):
            self.scheduler.add_flow(time=(2, 20, 10))
        with self.assertRaisesRegex(dovetail.ArgumentError, "packets: 0: expected a whole number of packets from 1 "):
            self.scheduler.add_flow(packets=0)

    def test_flows_and_packets_of_others(self):
        other = dovetail.Scheduler("drfq", resources=3)
        stranger = other.add_flow()
        self.assertNotEqual(stranger, self.flow)
        with self.assertRaises(dovetail.UnknownFlow):
            self.scheduler.enqueue(0, stranger, 100, (1, 2))
        self.scheduler.remove_flow(0, self.flow)
        for call in (
            lambda: self.scheduler.enqueue(0, self.flow, 100, (1, 2)),
            lambda: self.scheduler.remove_flow(0, self.flow),
            lambda: self.scheduler.set_flow(0, self.flow, weight=2),
        ):
            with self.assertRaises(dovetail.UnknownFlow):
                call()
        other.enqueue(0, stranger, 100, (1, 2, 3))
        served = other.next(0)
        with self.assertRaisesRegex(dovetail.ArgumentError, "another scheduler"):
            self.scheduler.progress(0, served, 0, "started")
        for event, used in (("done", None), ("finished", None), ("started", 5), ("finished", -1), (3, None)):
            with self.assertRaises(dovetail.ArgumentError):
                other.progress(0, served, 0, event, used=used)
        with self.assertRaises(dovetail.ArgumentError):
            other.progress(0, served, 3, "started")

    def test_names(self):
        for name in ("drqf", "", "drfq:x=1", "drr+drr", "red", "tradeoff:alpha=nan"):
            with self.assertRaises(dovetail.SchedulerError):
                dovetail.Scheduler(name)
        with self.assertRaises(dovetail.SchedulerError):
            dovetail.Scheduler("tradeoff", resources=1)

    def test_a_discipline_that_calls_its_own_scheduler(self):
        class Loop(dovetail.Discipline):
            def added(self, flow, weight):
                self.scheduler.stats()

        discipline = Loop()
        scheduler = discipline.scheduler = dovetail.Scheduler(discipline)
        with self.assertRaisesRegex(dovetail.BusyError, "in the middle of another call"):
            scheduler.add_flow()
