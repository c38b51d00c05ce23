"""The same packets through Dovetail, ns.py and ns-3: what they come to, and what that costs.

    python3 crates/bench/others/beside.py [--program target/release/dovetail] [--instructions]

Needs ns.py (`pip install ns.py`) in this Python, and ns-3 (Debian: `libns3-dev`, with g++); what is missing is said and
left out. Processor time is user and system time of the whole command, the least of three. `--instructions` counts them
besides, by valgrind, which takes minutes.
"""

import argparse
import importlib.util
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from traffic import ONE_LINK, SLOW_LINK, traffic

HERE = Path(__file__).resolve().parent
ROUNDS = 3


def scenario(rate_bps, packets):
    """The same for Dovetail: a list of packets per flow, and one link."""
    lists = {}
    for time, flow, size in packets:
        lists.setdefault(flow, []).append(f'{{ at = "{time} ns", size = "{size} B" }}')
    text = f'[[resource]]\nname = "link"\nrate = "{rate_bps} bps"\n\n[[class]]\nname = "all"\n'
    for flow, own in sorted(lists.items()):
        text += f'\n[[flows]]\nname = "{flow}"\nclass = "all"\nqueue = "unlimited"\nlist = [{", ".join(own)}]\n'
    return text


def measured(command, instructions):
    """What a command prints, its processor time in seconds, and its instructions if they are wanted."""
    times, output = [], ""
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    count = None
    if instructions:
        valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *command]
        said = subprocess.run(valgrind, check=True, capture_output=True, text=True).stderr
        count = int(re.search(r"I\s+refs:\s+([\d,]+)", said)[1].replace(",", ""))
    return output, min(times), count


def dovetail(program, path, scheduler, instructions):
    output, time, count = measured([program, "run", path, "-s", scheduler, "--json"], instructions)
    flows = sorted(json.loads(output)["runs"][0]["flows"], key=lambda flow: int(flow["flow"]))
    mean = [flow["latency_s"]["mean"] if flow["latency_s"] else 0.0 for flow in flows]
    return [(flow["delivered"], mean) for flow, mean in zip(flows, mean)], time, count


def other(command, instructions):
    output, time, count = measured(command, instructions)
    lines = [line.split() for line in output.splitlines()]
    return [(int(count), float(mean)) for count, mean in lines], time, count


def build_ns3(folder):
    """The program for ns-3, or None if it cannot be built here."""
    if not Path("/usr/include/ns3").is_dir() or not shutil.which("g++"):
        return None
    built = str(Path(folder) / "fq_codel")
    modules = ["point-to-point", "internet", "traffic-control", "network", "core"]
    libraries = [f"-lns3-{module}" for module in modules]
    subprocess.run(["g++", "-O2", "-std=c++17", str(HERE / "fq_codel.cc"), "-o", built, *libraries], check=True)
    return built


def lines(name, packets, groups, results, instructions):
    """A row per simulator: packets and mean latency of each group, time, instructions per packet."""
    flow = 0
    spans = []
    for count, *_ in groups:
        spans.append(range(flow, flow + count))
        flow += count
    for who, (flows, time, count) in results:
        cells = []
        for span in spans:
            own = [flows[k] for k in span if k < len(flows)]
            came = sum(number for number, _ in own)
            mean = sum(number * mean for number, mean in own) / max(came, 1)
            cells.append(f"{came:6} {1e3 * mean:9.3f} ms")
        cost = f"{time:7.2f} s {1e6 * time / len(packets):8.1f} us"
        if instructions:
            cost += f" {count / len(packets):12,.0f}"
        print(f"{name:9} {who:9} {'  '.join(cells)} {cost}", flush=True)


def apart(a, b):
    """By how much mean latencies of flows differ at most, as a part of the first."""
    return max(abs(x - y) / x for (_, x), (_, y) in zip(a, b) if x > 0)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", default="target/release/dovetail")
    arguments.add_argument("--instructions", action="store_true")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ns3 = build_ns3(folder)
        has_ns_py = importlib.util.find_spec("ns") and importlib.util.find_spec("simpy")
        for missing in [name for name, there in (("ns.py", has_ns_py), ("ns-3", ns3)) if not there]:
            print(f"{missing} is not installed: left out")
        if not has_ns_py and not ns3:
            return 1
        beside(given, folder, 100_000_000, 1.0, ONE_LINK, [
            ("fifo", "fifo", has_ns_py and "fifo", ns3 and "fifo"),
            ("drr", "drr:quantum=120 us", has_ns_py and "drr", None),
            ("wfq", "wfq", has_ns_py and "wfq", None),
        ], ns3)
        beside(given, folder, 10_000_000, 4.0, SLOW_LINK, [
            ("fq_codel", "fq_codel", None, ns3 and "fq_codel"),
        ], ns3)
    return 0


def beside(given, folder, rate, until_s, groups, schedulers, ns3):
    packets = traffic(7, until_s, groups)
    load = sum(8 * size for *_, size in packets) / rate / until_s
    print(f"\n{sum(count for count, *_ in groups)} flows, {len(packets)} packets, {load:.2f} times {rate / 1e6:g} Mbps")
    head = "  ".join(f"{f'of {size} B':>6} {'mean wait':>12}" for _, size, _ in groups)
    print(f"{'':9} {'':9} {head} {'processor':>9} {'a packet':>11}{' instructions' * given.instructions}")
    path, listed = os.path.join(folder, "s.toml"), os.path.join(folder, "packets")
    Path(path).write_text(scenario(rate, packets), encoding="utf-8")
    Path(listed).write_text("".join(f"{t} {f} {s}\n" for t, f, s in packets), encoding="utf-8")
    for name, spec, in_ns_py, in_ns3 in schedulers:
        results = [("Dovetail", dovetail(given.program, path, spec, given.instructions))]
        if in_ns_py:
            command = [sys.executable, str(HERE / "ns_py.py"), in_ns_py, str(rate), listed]
            results.append(("ns.py", other(command, given.instructions)))
        if in_ns3:
            results.append(("ns-3", other([ns3, in_ns3, str(rate), listed], given.instructions)))
        lines(name, packets, groups, results, given.instructions)
        for who, (flows, *_) in results[1:]:
            print(f"{'':9} {who}: mean waits of flows differ by at most {100 * apart(results[0][1][0], flows):.3g} %")


sys.exit(main())
