"""Ctrl-C, and other threads meanwhile."""

import os
import signal
import subprocess
import sys
import tempfile
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


PIPE = """
    import os, signal, threading, dovetail
    signal.signal(signal.SIGINT, signal.default_int_handler)
    pipe, out = "{folder}/pipe.pcap", "{folder}/out"
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        {call}
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

    def test_so_does_the_wait_for_somebody_who_writes_to_a_pipe(self):
        for call in (
            "dovetail.run(pipe)",
            "dovetail.advise(pipe)",
            "dovetail.packets(pipe)",
            "dovetail.sweep(pipe, out)",
            'dovetail.sweep({"capture": pipe, "grid": {"seed": [1]}}, out)',
        ):
            with self.subTest(call=call), tempfile.TemporaryDirectory() as folder:
                os.mkfifo(f"{folder}/pipe.pcap")
                program = textwrap.dedent(PIPE.format(folder=folder, call=call))
                child = subprocess.run(
                    [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
                )
                self.assertEqual((child.stdout, child.stderr, child.returncode), ("interrupted\n", "", 0))

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

    def calculate():
        while True:
            dovetail.model.fluid_schedule([[(0.0, [1.0, 2.0])]] * 4, 0.5, [1.0] * 4, "split")
            begun.set()

    shared = dovetail.Scheduler(Begun())
    flow = shared.add_flow()

    def share():
        while True:
            shared.enqueue(0, flow, 100, (1, 2))
            shared.next(0)

    for _ in range({threads}):
        threading.Thread(target={work}, daemon=True).start()
    begun.wait(60)
    print("ends")
"""


class Ending(unittest.TestCase):
    """Threads are daemons: Python does not wait for them."""

    def ends(self, work, threads):
        with self.subTest(work=work):
            text = ENDING.format(tests=os.path.dirname(__file__), long=LONG, work=work, threads=threads)
            child = subprocess.run(
                [sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=60, check=False
            )
            self.assertEqual((child.stdout, child.stderr, child.returncode), ("ends\n", "", 0))

    def test_a_program_ends_while_a_thread_of_it_is_in_a_discipline(self):
        for work in ("simulate", "ask", "tell") * 3:
            self.ends(work, threads=1)

    def test_a_program_ends_while_threads_of_it_wait_for_their_turn_or_for_the_lock_of_python(self):
        for work in ("share", "calculate", "tell") * 3:
            self.ends(work, threads=8)
