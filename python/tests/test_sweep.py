"""Sweeps: the same as the program's runs and the program's sweeps, on threads and on a cluster."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

import dovetail

from support import DEMO, SMALL, program, written

GRID = {"scheduler": ["fifo", "tradeoff"], "alpha": [0.5, 1], "load": [0.8, 1.3], "seed": "1 to 3"}

CHILD = """
    import os, signal, dovetail
    # What a shell starts in the background ignores it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    def told(done, total):
        if done > 0:
            os.kill(os.getpid(), signal.SIGINT)
    plan = {{"scenario": {demo!r}, "grid": {{"scheduler": ["drfq"], "seed": "1 to 1000"}}}}
    try:
        dovetail.sweep(plan, {out!r}, progress=told)
    except KeyboardInterrupt:
        print("interrupted")
"""


def parts(out):
    return {path.relative_to(out): path.read_bytes() for path in sorted(Path(out).glob("*/*.parquet"))}


class Sweeps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.plan = {"scenario": written(SMALL, self.folder / "small.toml"), "grid": GRID}

    def test_rows_are_the_runs_of_the_program(self):
        swept = dovetail.sweep(self.plan, self.folder / "out")
        self.assertEqual((len(swept.runs), swept.computed, len(swept.groups)), (18, 18, 36))
        rows, groups = swept.runs.to_dict(), swept.groups.to_dict()
        for k in range(18):
            alpha = rows["alpha"][k]
            scheduler = rows["scheduler"][k] + ("" if alpha is None else f":alpha={alpha}")
            set_load, seed = f"load={rows['load'][k]}", str(rows["seed"][k])
            command = ["run", self.plan["scenario"], "--json", "-s", scheduler, "--set", set_load, "--seed", seed]
            run = json.loads(program(*command))["runs"][0]
            self.assertEqual(rows["makespan_s"][k], run["makespan_s"])
            self.assertEqual(rows["offered"][k], run["packets"]["offered"])
            self.assertEqual(rows["link_utilization"][k], run["resources"]["link"]["utilization"])
            self.assertEqual(rows["latency_p99_s"][k], run["latency_s"]["p99"])
            self.assertEqual(rows["behind_s"][k], run["behind"]["time_s"])
            own = [j for j in range(36) if groups["run"][j] == rows["run"][k]]
            self.assertEqual([groups["throughput_bps"][j] for j in own], [g["throughput_bps"] for g in run["groups"]])

    def test_what_the_program_has_done_is_not_done_again(self):
        plan = self.folder / "plan.toml"
        grid = "\n".join(f"{key} = {json.dumps(values)}" for key, values in GRID.items())
        plan.write_text(f'scenario = "small.toml"\n[grid]\n{grid}\n')
        program("sweep", str(plan), "--out", str(self.folder / "out"), "--jobs", "1")
        before = parts(self.folder / "out")
        swept = dovetail.sweep(plan, self.folder / "out")
        self.assertEqual((swept.computed, len(swept.runs)), (0, 18))
        self.assertEqual(parts(self.folder / "out"), before)

    def test_what_is_wrong_is_said_with_its_place(self):
        plan = 'scenario = "small.toml"\n[grid]\nsede = [1]\nscheduler = ["drr"]\n'
        path = self.folder / "plan.toml"
        path.write_text(plan)
        with self.assertRaises(dovetail.InputError) as raised:
            dovetail.sweep(path, self.folder / "out")
        self.assertEqual((raised.exception.place, raised.exception.text), (f"{path}:3:1", "sede"))
        self.assertEqual(raised.exception.hint, 'did you mean "seed"?')
        with self.assertRaises(dovetail.InputError):
            dovetail.sweep({"scenario": "nowhere.toml", "grid": {"seed": [1]}}, self.folder / "out")
        with self.assertRaises(dovetail.ArgumentError):
            dovetail.sweep(3, self.folder / "out")
        with self.assertRaises(dovetail.ArgumentError):
            dovetail.sweep(self.plan, self.folder / "out", jobs=-1)
        with self.assertRaises(dovetail.InputError):
            dovetail.sweep({**self.plan, "grid": {"scheduler": ["drr"], "load": [float("nan")]}}, self.folder / "out")
        self.assertFalse((self.folder / "out").exists())

    def test_ctrl_c_loses_only_what_is_under_way(self):
        out = str(self.folder / "out")
        text = textwrap.dedent(CHILD.format(demo=DEMO, out=out))
        # Without the interruption it would take many minutes.
        child = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, timeout=300, check=False
        )
        self.assertEqual((child.stdout, child.stderr, child.returncode), ("interrupted\n", "", 0))
        journal = (Path(out) / "journal.jsonl").read_text()
        self.assertTrue(0 < journal.count("\n") < 1000)

    def test_a_scenario_may_be_a_dict_in_the_plan(self):
        dovetail.sweep(self.plan, self.folder / "out")
        again = dovetail.sweep({"scenario": SMALL, "grid": GRID}, self.folder / "out")
        self.assertEqual((again.computed, len(again.runs)), (0, 18))

    def test_progress_is_told_in_runs(self):
        seen = []
        dovetail.sweep(self.plan, self.folder / "out", jobs=2, progress=lambda *told: seen.append(told))
        self.assertEqual(seen[-1], (18, 18))


@unittest.skipUnless(importlib.util.find_spec("distributed"), "distributed is not installed")
class Clusters(unittest.TestCase):
    def test_a_worker_that_is_killed_costs_nothing_but_time(self):
        from distributed import Client, LocalCluster

        with tempfile.TemporaryDirectory() as folder:
            plan = {"scenario": written(SMALL, Path(folder) / "small.toml"), "grid": {**GRID, "seed": "1 to 20"}}
            alone = dovetail.sweep(plan, Path(folder) / "alone")
            options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
            with LocalCluster(**options) as cluster, Client(cluster) as client:
                killed = []

                def told(done, _):
                    if done >= 10 and not killed:
                        killed.append(next(iter(client.run(os.getpid).values())))
                        os.kill(killed[0], signal.SIGKILL)

                swept = dovetail.sweep(plan, Path(folder) / "cluster", client=client, progress=told)
                self.assertEqual((len(killed), swept.computed), (1, 120))
                again = dovetail.sweep(plan, Path(folder) / "cluster", client=client)
                self.assertEqual(again.computed, 0)
            self.assertEqual(parts(Path(folder) / "cluster"), parts(Path(folder) / "alone"))
            self.assertEqual(swept.runs.to_dict(), alone.runs.to_dict())


if __name__ == "__main__":
    unittest.main()
