"""Disciplines written in Python, in the simulator and as schedulers."""

import traceback
import unittest

import dovetail

from disciplines import Drr
from support import DEMO, SMALL


class Agreement(unittest.TestCase):
    def test_drr_agrees_with_its_twin_packet_by_packet(self):
        for scenario in (SMALL, DEMO):
            twin = "drr:quantum=500 us,charge=estimated"
            result = dovetail.run(scenario, schedulers=[twin, Drr()])
            packets = result.packets.to_dict()
            half = len(packets["scheduler"]) // 2
            self.assertEqual(packets["scheduler"][half - 1 : half + 1], [twin, "Drr"])
            self.assertGreater(half, 100)
            for name, column in packets.items():
                if name != "scheduler":
                    self.assertEqual(column[:half], column[half:], name)
            ours, theirs = result["Drr"], result[twin]
            self.assertEqual({**ours, "scheduler": twin}, theirs)

    def test_order_of_names_is_order_of_runs(self):
        result = dovetail.run(SMALL, schedulers=["fifo", Drr, "drfq"])
        self.assertEqual([run.scheduler for run in result.runs], ["fifo", "Drr", "drfq"])
        self.assertEqual(len(result.flows), 3 * 6)

    def test_a_scheduler_of_it_is_the_same(self):
        answers = []
        for discipline in ("drr:quantum=500 us,charge=estimated", Drr()):
            scheduler = dovetail.Scheduler(discipline)
            flows = [scheduler.add_flow() for _ in range(3)]
            for k in range(60):
                scheduler.enqueue(k, flows[k * k % 3], 100 + k, (5_000, 40_000 + 7_000 * (k % 11)), k)
            served = scheduler.next_many(100, 1000)
            answers.append([packet.payload for packet in served])
            self.assertEqual(scheduler.next(100), dovetail.Empty())
        self.assertEqual(len(answers[0]), 60)
        self.assertEqual(*answers)


class Mistakes(unittest.TestCase):
    def run_with(self, **methods):
        return dovetail.run(SMALL, schedulers=["fifo", type("Mine", (Drr,), methods)()])

    def test_what_it_raises_comes_out_with_its_traceback(self):
        for method in ("added", "arrived", "choose", "served"):

            def fail(self, *_):
                raise ZeroDivisionError(f"in {method}")

            # `assertRaises` forgets tracebacks.
            frames = []
            try:
                self.run_with(**{method: fail})
            except ZeroDivisionError as error:
                frames = traceback.extract_tb(error.__traceback__)
            self.assertEqual(frames[-1].name, "fail")
            with self.assertRaisesRegex(ZeroDivisionError, f"in {method}"):
                scheduler = dovetail.Scheduler(type("Mine", (Drr,), {method: fail}))
                scheduler.enqueue(0, scheduler.add_flow(), 100, (1, 2))
                scheduler.next(0)

    def test_nonsense_is_said_to_be(self):
        cases = {
            None: "expected the number of a flow",
            "0": "expected the number of a flow",
            True: "expected the number of a flow",
            1.5: "expected the number of a flow",
            -1: "no such flow",
            99: "no such flow",
            10**30: "no such flow",
            dovetail.At(0): "not later than now",
            dovetail.Empty(): "expected the number of a flow",
        }
        for answer, says in cases.items():
            with self.assertRaisesRegex(dovetail.DisciplineError, says) as raised:
                self.run_with(choose=lambda self, now: answer)
            self.assertRegex(raised.exception.place, r"^Mine\.choose at ")
            self.assertEqual(raised.exception.text, repr(answer))

        def idle(self, now):
            return next(flow for flow, queue in self.queues.items() if not queue)

        with self.assertRaisesRegex(dovetail.DisciplineError, "no packet of that flow waits; .* which are"):
            self.run_with(choose=idle)
        ending = {k: v for k, v in SMALL.items() if k != "until"}
        ending["flows"] = [{**flow, "stop": "20 ms"} for flow in SMALL["flows"]]
        mine = type("Mine", (Drr,), {"choose": lambda self, now: dovetail.AwaitProgress()})
        with self.assertRaisesRegex(dovetail.RunError, "wait for progress"):
            dovetail.run(ending, schedulers=mine)

    def test_objects_that_are_no_disciplines(self):
        for wrong in (object(), 3.5, None, int, [Drr()]):
            with self.assertRaises(dovetail.SchedulerError):
                dovetail.run(SMALL, schedulers=["fifo", wrong])
        with self.assertRaisesRegex(NotImplementedError, "Half.choose"):
            half = {"added": Drr.added, "arrived": Drr.arrived, "__init__": Drr.__init__}
            dovetail.run(SMALL, schedulers=type("Half", (dovetail.Discipline,), half))
        with self.assertRaisesRegex(dovetail.SchedulerError, 'two schedulers have the name "Drr"'):
            dovetail.run(SMALL, schedulers=[Drr(), Drr()])

    def test_all_methods_are_called(self):
        called = set()

        class Nosy(Drr):
            def progressed(self, now, flow, resource, event, used):
                called.add((event, resource, used is None))

            def corrected(self, flow, before, after):
                assert before != after
                called.add("corrected")

            def reweighed(self, flow, weight):
                called.add(("weight", weight))

            def removed(self, flow):
                called.add(("removed", flow))

        scheduler = dovetail.Scheduler(Nosy())
        flow = scheduler.add_flow()
        for payload in "abc":
            scheduler.enqueue(0, flow, 100, (1000, 2000), payload)
        served = scheduler.next(0)
        scheduler.progress(10, served, 0, "started")
        scheduler.progress(20, served, 0, "finished", used=1500)
        scheduler.progress(30, served, 1, "abandoned")
        scheduler.set_flow(40, flow, weight=2.5)
        self.assertEqual(scheduler.remove_flow(50, flow), ["b", "c"])
        expected = {("started", 0, True), ("finished", 0, False), ("abandoned", 1, True), "corrected", ("weight", 2.5)}
        self.assertEqual(called, expected | {("removed", 0)})
