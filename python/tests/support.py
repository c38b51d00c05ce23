"""What the tests have in common."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEMO = str(ROOT / "scenarios" / "demo.toml")
PROGRAM = os.environ.get("DOVETAIL_PROGRAM", "dovetail")

#: Two flows with opposite demands, from time 0: some hundred packets, and both resources are contended.
SMALL = {
    "title": "Two flows",
    "seed": 3,
    "until": "50 ms",
    "resource": [{"name": "cpu"}, {"name": "link", "rate": "100 Mbps"}],
    "class": [{"name": "light", "cost": {"cpu": "10 us"}}, {"name": "heavy", "cost": {"cpu": "150 us"}}],
    "flows": [
        {"class": "light", "count": 3, "size": "200 B to 1400 B", "arrivals": "poisson", "rate": "4 kpps"},
        {"class": "heavy", "count": 3, "size": "200 B to 1400 B", "arrivals": "poisson", "rate": "4 kpps"},
    ],
}


def program(*arguments: str) -> str:
    """What the program prints."""
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout.removesuffix("\n")


def written(scenario: dict, path: Path) -> str:
    """The dict as a scenario file, in TOML's inline forms."""

    def value(v: object) -> str:
        if isinstance(v, dict):
            return "{ " + ", ".join(f"{k} = {value(x)}" for k, x in v.items()) + " }"
        if isinstance(v, list):
            return "[" + ", ".join(map(value, v)) + "]"
        return json.dumps(v)

    path.write_text("".join(f"{k} = {value(v)}\n" for k, v in scenario.items()))
    return str(path)
