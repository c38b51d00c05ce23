"""Runs from Python are the program's."""

import copy
import json
import os
import pickle
import tempfile
import unittest
from pathlib import Path

import dovetail

from support import DEMO, ROOT, SMALL, program, written


class TheSameAsTheProgram(unittest.TestCase):
    def test_run_is_identical_byte_for_byte(self):
        arguments = ["--scheduler", "drfq", "--scheduler", "tradeoff:alpha=0.85"]
        arguments += ["--set", "resource.link.rate=150 Mbps"]
        theirs = program("run", "scenarios/demo.toml", "--json", "--seed", "5", *arguments)
        # The program has been told the path from the root.
        with working_directory(ROOT):
            ours = dovetail.run(
                "scenarios/demo.toml",
                schedulers=["drfq", "tradeoff:alpha=0.85"],
                seed=5,
                **{"resource.link.rate": "150 Mbps"},
            )
        self.assertEqual(ours.json, theirs)
        self.assertEqual(ours.summary, json.loads(theirs))
        cpu = json.loads(theirs)["runs"][0]["resources"]["cpu"]
        self.assertEqual(ours["drfq"].resources.cpu.utilization, cpu["utilization"])

    def test_network_is_identical_byte_for_byte(self):
        arguments = ["--set", "until=8 s", "--set", "warm_up=6 s", "--set", "seeds=2", "--scheduler", "drq"]
        theirs = program("run", "scenarios/tcp.toml", "--json", *arguments)
        with working_directory(ROOT):
            ours = dovetail.run("scenarios/tcp.toml", schedulers="drq", until="8 s", warm_up="6 s", seeds=2)
        self.assertEqual(ours.json, theirs)
        self.assertEqual(len(ours.hops["utilization"]), 2 * len(ours.runs[0].hops))
        with self.assertRaisesRegex(dovetail.ArgumentError, "no table of packets"):
            ours.packets

    def test_advice_and_reproductions_and_catalogue_are_identical(self):
        with tempfile.TemporaryDirectory() as folder:
            path = written(SMALL, Path(folder) / "small.toml")
            advice = dovetail.advise(path, today="drr")
            self.assertEqual(advice.json, program("advise", path, "--today", "drr", "--json"))
            goal = dovetail.advise(path, target="cpu 1 %")
            self.assertEqual(goal.json, program("advise", path, "--target", "cpu 1 %", "--json"))
            self.assertIn(advice.sentences[0].split()[1].strip(":"), str(advice))
        small = ["hop.box.cpu=1 Mcycles/s", "hop.box.rate=2 Mbps", "until=7 s", "warm_up=5 s"]
        arguments = [argument for key in small for argument in ("--set", key)]
        with working_directory(ROOT):
            network = dovetail.advise("scenarios/tcp.toml", **dict(key.split("=") for key in small))
        self.assertEqual(network.json, program("advise", "scenarios/tcp.toml", "--json", *arguments))
        self.assertEqual([point.scheduler for point in network.points], ["fifo", "red+red", "drq", "drr+red"])
        made = dovetail.reproduce("tradeoff-fig1")
        self.assertEqual(made.json, program("reproduce", "tradeoff-fig1", "--json"))
        self.assertTrue(all(svg.startswith("<svg") for svg in made.pictures.values()))
        self.assertEqual(dovetail.schedulers(), json.loads(program("schedulers", "--json"))["schedulers"])
        self.assertEqual([s.name for s in dovetail.schedulers("drr+wfq")], ["drr", "wfq"])

    def test_threads_and_kept_packets_change_nothing(self):
        one = dovetail.run(SMALL, schedulers=["drfq", "mr3"], threads=1, packets=0)
        two = dovetail.run(SMALL, schedulers=["drfq", "mr3"], threads=2)
        self.assertEqual(one.json, two.json)


class Scenarios(unittest.TestCase):
    def test_dict_text_and_file_are_the_same_scenario(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(written(SMALL, Path(folder) / "small.toml"))
            runs = [dovetail.run(s, schedulers="drfq").runs for s in (SMALL, path.read_text(), path, str(path))]
        self.assertTrue(all(one == runs[0] for one in runs))

    def test_tables_are_of_the_summary(self):
        result = dovetail.run(SMALL, schedulers=["drfq", "fifo"])
        packets = result.packets.to_dict()
        for run in result.runs:
            own = [k for k, name in enumerate(packets["scheduler"]) if name == run.scheduler]
            self.assertEqual(len(own), run.packets.offered)
            delivered = [k for k in own if packets["outcome"][k] == "delivered"]
            self.assertEqual(len(delivered), run.packets.delivered)
            longest = max(packets["link_end_ns"][k] - packets["arrival_ns"][k] for k in delivered)
            self.assertEqual(longest, round(run.latency_s.max * 1e9))
        self.assertIn(None, packets["link_end_ns"], "what is unfinished has not ended")
        self.assertEqual(sum(result.flows["delivered"]), sum(run.packets.delivered for run in result.runs))
        self.assertEqual(set(result.utilization["resource"]), {"cpu", "link"})
        self.assertEqual(len(result.shares), len(result.shares["flow"]))
        with self.assertRaisesRegex(dovetail.ArgumentError, "no column 'flwo'"):
            result.flows["flwo"]

    def test_records_are_dicts_with_attributes(self):
        result = dovetail.run(SMALL, schedulers="drfq")
        run = result["drfq"]
        self.assertEqual(run.packets.offered, run["packets"]["offered"])
        self.assertEqual(copy.deepcopy(run), run)
        self.assertEqual(pickle.loads(pickle.dumps(run)), run)
        with self.assertRaisesRegex(AttributeError, "makespan_s"):
            run.makespan
        with self.assertRaisesRegex(dovetail.ArgumentError, "no run of 'fifo'"):
            result["fifo"]

    def test_progress_is_told(self):
        told = []
        dovetail.run(DEMO, schedulers="drfq", progress=lambda done, total: told.append((done, total)))
        self.assertTrue(told and told == sorted(told) and told[-1][0] > 0 and told[-1][1] > 0, told[-3:])

        def stop(done, total):
            raise LookupError("enough")

        with self.assertRaisesRegex(LookupError, "enough"):
            dovetail.run(DEMO, schedulers="drfq", progress=stop)


class Mistakes(unittest.TestCase):
    def wrong(self, kind, call, *, place=None, text=None, hint=None, says=""):
        with self.assertRaises(kind) as raised:
            call()
        error = raised.exception
        self.assertIsInstance(error, dovetail.Error)
        self.assertIn(says, str(error))
        for name, expected in {"place": place, "text": text, "hint": hint}.items():
            if expected is not None:
                self.assertIn(expected, getattr(error, name) or "", f"{name} of {error!r}")
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), again.place, again.hint), (str(error), error.place, error.hint))

    def test_scenarios(self):
        self.wrong(dovetail.InputError, lambda: dovetail.run("demo.tmol"), place="demo.tmol")
        self.wrong(dovetail.InputError, lambda: dovetail.run("title = 3\n"), place="<text>:1:9", text="3")
        self.wrong(dovetail.InputError, lambda: dovetail.run(DEMO, sede=1), text="sede", hint="seed")
        itself = {}
        itself["a"] = itself
        self.wrong(dovetail.InputError, lambda: dovetail.run(itself))
        for rate in (float("nan"), -1, "fast", "100 m", None, object(), [1], 10**30, b"100 Mbps"):
            self.wrong(dovetail.InputError, lambda: dovetail.run(DEMO, **{"resource.link.rate": rate}))
        self.wrong(
            dovetail.InputError,
            lambda: dovetail.run({**SMALL, "flows": [{**SMALL["flows"][0], "rate": "4 kbps"}]}),
            place="<dict>:",
            text="4 kbps",
        )
        self.wrong(dovetail.InputError, lambda: dovetail.run({1: 2}), text="1")
        self.wrong(dovetail.InputError, lambda: dovetail.run({"flows": [{"size": {3}}]}), says="flows.0.size")
        self.wrong(dovetail.ArgumentError, lambda: dovetail.run(3), says="scenario: 3")
        self.wrong(dovetail.ArgumentError, lambda: dovetail.run(DEMO, threads=-1), says="threads: -1")
        self.wrong(dovetail.ArgumentError, lambda: dovetail.run(DEMO, threads=0), says="threads from 1 to 1024")
        self.wrong(dovetail.InputError, lambda: dovetail.run(DEMO, rate="5 Mbps"), hint="a key of each [[resource]]")
        self.wrong(dovetail.ArgumentError, lambda: dovetail.run(DEMO, packets=1.5), says="packets: 1.5")
        self.wrong(dovetail.ArgumentError, lambda: dovetail.run(DEMO, progress=3), says="progress: 3")
        tcp = str(ROOT / "scenarios/tcp.toml")
        self.wrong(dovetail.ArgumentError, lambda: dovetail.advise(tcp, target="cpu 95 %"), says="network")

    def test_the_same_message_as_the_programs(self):
        with self.assertRaises(AssertionError) as theirs:
            program("run", "scenarios/demo.toml", "--set", "resource.link.rate=fast")
        with working_directory(ROOT), self.assertRaises(dovetail.InputError) as ours:
            dovetail.run("scenarios/demo.toml", **{"resource.link.rate": "fast"})
        place = "scenarios/demo.toml (with --set resource.link.rate="
        self.assertIn(place, str(theirs.exception))
        self.assertIn(place, ours.exception.place)
        self.assertIn(str(ours.exception).splitlines()[0], str(theirs.exception))

    def test_what_would_be_right_is_listed(self):
        with self.assertRaises(dovetail.SchedulerError) as raised:
            dovetail.run(DEMO, schedulers="drqf")
        self.assertTrue({"drfq", "fifo"} <= set(raised.exception.expected), raised.exception.expected)
        self.assertEqual(pickle.loads(pickle.dumps(raised.exception)).expected, raised.exception.expected)
        with self.assertRaises(dovetail.InputError) as raised:
            dovetail.run(DEMO, sede=1)
        self.assertIn("seed", raised.exception.expected)

    def test_schedulers(self):
        self.wrong(dovetail.SchedulerError, lambda: dovetail.run(DEMO, schedulers="drqf"), text="drqf", hint="drfq")
        self.wrong(dovetail.SchedulerError, lambda: dovetail.run(DEMO, schedulers=["tradeoff:alfa=1"]), hint="alpha")
        meant = "tradeoff:alpha=0.85"
        self.wrong(dovetail.SchedulerError, lambda: dovetail.run(DEMO, schedulers=["tradeoff=0.85"]), hint=meant)
        several = '["drfq", "tradeoff:alpha=0.9"]'
        for text in ("drfq, tradeoff:alpha=0.9", "drfq tradeoff:alpha=0.9"):
            self.wrong(dovetail.SchedulerError, lambda: dovetail.run(DEMO, schedulers=text), text=text, hint=several)
        self.wrong(dovetail.InputError, lambda: dovetail.run(DEMO, alpha=0.5), hint="as in tradeoff:alpha=0.5")
        self.wrong(dovetail.SchedulerError, lambda: dovetail.run(DEMO, schedulers=[]), says="no scheduler")
        self.wrong(dovetail.SchedulerError, lambda: dovetail.run(DEMO, schedulers=3), says="3 is not a discipline")
        self.wrong(dovetail.SchedulerError, lambda: dovetail.schedulers("drfk"), hint="drfq")
        self.wrong(dovetail.ArgumentError, lambda: dovetail.reproduce("tradeof-fig1"), hint="tradeoff-fig1")
        self.wrong(dovetail.ArgumentError, lambda: dovetail.reproduce("tradeoff-fig1", load=float("nan")), says="load")


class working_directory:
    """As contextlib.chdir, which is of Python 3.11."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        self.before = os.getcwd()
        os.chdir(self.folder)

    def __exit__(self, *_):
        os.chdir(self.before)
