"""A scheduler that several threads call, and one that is called from within its own calls."""

import subprocess
import sys
import textwrap
import threading
import time
import unittest
from pathlib import Path

import dovetail

from disciplines import Drr

TESTS = Path(__file__).parent


class Threads(unittest.TestCase):
    def test_a_call_waits_for_that_of_another_thread(self):
        begun, go_on = threading.Event(), threading.Event()

        class Slow(Drr):
            def choose(self, now):
                begun.set()
                go_on.wait(60)
                return super().choose(now)

        scheduler = dovetail.Scheduler(Slow())
        flow = scheduler.add_flow()
        scheduler.enqueue(0, flow, 100, (1, 2), "first")
        given = []
        asking = threading.Thread(target=lambda: given.append(scheduler.next(0).payload))
        asking.start()
        begun.wait(60)
        waiting = threading.Thread(target=lambda: given.append(scheduler.enqueue(0, flow, 100, (1, 2), "second")))
        waiting.start()
        time.sleep(0.2)
        self.assertEqual(given, [])
        go_on.set()
        asking.join(60)
        waiting.join(60)
        self.assertEqual((given, scheduler.next(0).payload), (["first", None], "second"))

    def test_many_threads_lose_nothing(self):
        class Yielding(Drr):
            def arrived(self, now, flow, size, cost):
                time.sleep(0)
                super().arrived(now, flow, size, cost)

            def choose(self, now):
                time.sleep(0)
                return super().choose(now)

        for discipline in ("drfq", Yielding()):
            scheduler = dovetail.Scheduler(discipline)
            flows = [scheduler.add_flow() for _ in range(4)]
            given, wrong = [[] for _ in flows], []

            def work(thread):
                try:
                    for k in range(200):
                        scheduler.enqueue(k, flows[thread], 100, (1, 2), (thread, k))
                        for packet in scheduler.next_many(k, 2):
                            scheduler.progress(k, packet, 0, "finished", used=k)
                            scheduler.progress(k, packet, 1, "finished", used=k)
                            given[thread].append(packet.payload)
                except Exception as error:
                    wrong.append(error)

            threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(120)
            self.assertEqual(wrong, [])
            everything = [payload for own in given for payload in own]
            while packet := scheduler.next(10**9):
                scheduler.progress(10**9, packet, 0, "abandoned")
                everything.append(packet.payload)
            self.assertEqual(sorted(everything), [(thread, k) for thread in range(4) for k in range(200)])


    def test_of_threads_that_wait_for_each_other_one_is_refused(self):
        """Two, and three in a circle. In a program of its own: it would never end."""
        program = """
            import sys, threading, dovetail
            from disciplines import Drr

            def in_a_circle(number):
                meet = threading.Barrier(number)
                schedulers, said = [], []

                class Calling(Drr):
                    def __init__(self, other):
                        super().__init__()
                        self.other = other

                    def choose(self, now):
                        meet.wait(60)
                        schedulers[self.other].stats()
                        return super().choose(now)

                def ask(scheduler):
                    try:
                        said.append(scheduler.next(0).payload)
                    except dovetail.BusyError as error:
                        said.append(str(error))

                for k in range(number):
                    schedulers.append(dovetail.Scheduler(Calling((k + 1) % number)))
                    schedulers[k].enqueue(0, schedulers[k].add_flow(), 100, (1, 2), "a packet")
                threads = [threading.Thread(target=ask, args=(one,), daemon=True) for one in schedulers]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join(20)
                print(*sorted(said), sep="\\n")

            in_a_circle(2)
            in_a_circle(3)
        """
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)], cwd=TESTS, capture_output=True, text=True, timeout=60
        )
        busy = "Calling is in a call of a thread that waits for a scheduler which this thread is in a call of\n"
        self.assertEqual((done.stdout, done.stderr), (busy + "a packet\n" + busy + 2 * "a packet\n", ""))


class Within(unittest.TestCase):
    """What a scheduler calls may look at packets, but not call the scheduler."""

    def test_a_discipline_that_calls_its_own_scheduler(self):
        class Loop(Drr):
            def choose(self, now):
                self.scheduler.stats()

        discipline = Loop()
        scheduler = discipline.scheduler = dovetail.Scheduler(discipline)
        scheduler.enqueue(0, scheduler.add_flow(), 100, (1, 2))
        with self.assertRaisesRegex(dovetail.BusyError, "^Loop is in the middle of another call"):
            scheduler.next(0)
        self.assertEqual(scheduler.stats()["queued"], 1)

    def test_may_pass_that_calls_its_own_scheduler(self):
        scheduler = dovetail.Scheduler("drfq")
        flow = scheduler.add_flow()
        scheduler.enqueue(0, flow, 100, (0, 2))
        for call in (
            lambda _: scheduler.next(0),
            lambda _: scheduler.bypass(0, bool),
            lambda _: scheduler.remove_flow(0, flow),
        ):
            with self.assertRaises(dovetail.BusyError):
                scheduler.bypass(0, call)
        self.assertTrue(scheduler.bypass(0, lambda _: True))

    def test_calls_without_end_are_told_as_such(self):
        """In a program of its own: it would end that."""
        program = """
            import dovetail
            from disciplines import Drr
            from support import SMALL

            class Own(Drr):
                def added(self, flow, weight):
                    dovetail.Scheduler(Own()).add_flow()

            def may_pass(payload):
                scheduler = dovetail.Scheduler("drfq")
                scheduler.enqueue(0, scheduler.add_flow(), 100, (0, 1))
                scheduler.bypass(0, may_pass)

            def progress(done, total):
                dovetail.run(SMALL, schedulers="fifo", progress=progress)

            for call in (
                lambda: dovetail.Scheduler(Own()).add_flow(),
                lambda: dovetail.run(SMALL, schedulers=Own()),
                lambda: may_pass(None),
                lambda: progress(0, 0),
            ):
                try:
                    call()
                except RecursionError as error:
                    print(error)
        """
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)], cwd=TESTS, capture_output=True, text=True, check=False
        )
        says = "calls of dovetail within one another are nested too deeply\n"
        self.assertEqual((done.stdout, done.stderr, done.returncode), (4 * says, "", 0))

    def test_a_method_looks_at_the_packet_that_is_reported(self):
        seen = []

        class Nosy(Drr):
            def progressed(self, *_):
                seen.append((packet.charged, repr(packet)))

        scheduler = dovetail.Scheduler(Nosy())
        scheduler.enqueue(0, scheduler.add_flow(), 100, (1, 2))
        packet = scheduler.next(0)
        scheduler.progress(0, packet, 0, "finished", used=5)
        self.assertEqual(seen, [((1, 2), "<dovetail.Served: 100 bytes of flow 0, payload None>")])
        self.assertEqual(packet.charged, (5, 2))
