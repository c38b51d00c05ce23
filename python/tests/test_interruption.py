"""Ctrl-C, and other threads meanwhile."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import unittest

import dovetail

from support import DEMO

LONG = {"flows.0.stop": "40 s", "flows.0.rate": "20 kpps"}

CHILD = """
    import sys, threading, os, signal, dovetail
    # What a shell starts in the background ignores it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path.insert(0, {tests!r})
    from disciplines import Drr
    def told(done, total):
        if done > 0:
            os.kill(os.getpid(), signal.SIGINT)
    try:
        dovetail.run({demo!r}, schedulers={schedulers}, packets=0, progress=told, **{long!r})
    except KeyboardInterrupt:
        print("interrupted")
"""


class Interruption(unittest.TestCase):
    def interrupted(self, schedulers):
        text = CHILD.format(tests=os.path.dirname(__file__), demo=DEMO, schedulers=schedulers, long=LONG)
        # Without the interruption it would take much longer.
        child = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=120, check=False
        )
        self.assertEqual((child.stdout, child.stderr, child.returncode), ("interrupted\n", "", 0))

    def test_a_run_ends_with_keyboard_interrupt(self):
        self.interrupted('["drfq", "fifo"]')

    def test_so_does_one_of_a_discipline_in_python(self):
        self.interrupted("[Drr()]")

    def test_other_threads_run_meanwhile(self):
        counted, stop, before = [0], threading.Event(), signal.getsignal(signal.SIGINT)

        def count():
            while not stop.is_set():
                counted[0] += 1

        thread = threading.Thread(target=count)
        seen = []
        thread.start()
        try:
            dovetail.run(DEMO, schedulers="drfq", progress=lambda *_: seen.append(counted[0]))
        finally:
            stop.set()
            thread.join()
        # Whoever held the lock throughout would not let the other thread count between two calls.
        self.assertTrue(len(seen) < 2 or seen[-1] > seen[0], seen)
        self.assertEqual(signal.getsignal(signal.SIGINT), before)


ENDING = """
    import sys, threading, time, dovetail
    sys.path.insert(0, {tests!r})
    from disciplines import Drr
    from support import DEMO, SMALL
    begun = threading.Event()

    class Begun(Drr):
        def served(self, now, flow, cost):
            begun.set()
            super().served(now, flow, cost)

    def simulate():
        dovetail.run(DEMO, schedulers=[Begun()], packets=0, **{long!r})

    def ask():
        scheduler = dovetail.Scheduler(Begun())
        flow = scheduler.add_flow()
        while True:
            scheduler.enqueue(0, flow, 100, (1, 2))
            scheduler.next(0)

    def tell():
        while True:
            dovetail.run(SMALL, schedulers="fifo", progress=lambda *_: begun.set() or time.sleep(0.001))

    threading.Thread(target={work}, daemon=True).start()
    begun.wait(60)
    print("ends")
"""


class Ending(unittest.TestCase):
    def test_a_program_ends_while_a_thread_of_it_is_in_a_discipline(self):
        """The thread is a daemon: Python does not wait for it."""
        for work in ("simulate", "ask", "tell") * 3:
            with self.subTest(work=work):
                text = textwrap.dedent(ENDING.format(tests=os.path.dirname(__file__), long=LONG, work=work))
                child = subprocess.run(
                    [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False
                )
                self.assertEqual((child.stdout, child.stderr, child.returncode), ("ends\n", "", 0))
