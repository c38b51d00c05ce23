"""Dovetail: packet schedulers that share CPU and link, their simulator, and their mathematics.

    result = dovetail.run("scenarios/demo.toml", schedulers=["drfq", "tradeoff:alpha=0.85"])
    result["drfq"].resources.cpu.utilization
    polars.DataFrame(result.packets)
"""

from __future__ import annotations

import atexit as _atexit
import functools as _functools
import json as _json
import os as _os
import sys as _sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union, cast

from . import _native, model, plot
from ._discipline import Discipline
from ._errors import (
    ArgumentError,
    BusyError,
    CaptureError,
    DisciplineError,
    Error,
    InputError,
    InternalError,
    ModelError,
    RunError,
    SchedulerError,
    UnknownFlow,
)
from ._native import At, AwaitProgress, Dropped, Empty, Flow, Scheduler, Served, Table, __version__

__all__ = [
    "Advice",
    "ArgumentError",
    "At",
    "AwaitProgress",
    "BusyError",
    "CaptureError",
    "Discipline",
    "DisciplineError",
    "Dropped",
    "Empty",
    "Error",
    "Flow",
    "InputError",
    "InternalError",
    "ModelError",
    "Record",
    "Reproduction",
    "Result",
    "RunError",
    "Scheduler",
    "SchedulerError",
    "Served",
    "Sweep",
    "Table",
    "UnknownFlow",
    "__version__",
    "advise",
    "model",
    "packets",
    "plot",
    "reproduce",
    "run",
    "schedulers",
    "sweep",
]

_atexit.register(_native.end)

Scenario = Union[str, "_os.PathLike[str]", Mapping[str, Any]]
Progress = Union[bool, Callable[[int, int], object], None]


class Record(dict[str, Any]):
    """A dict whose keys are attributes too: `run.packets.offered` is `run["packets"]["offered"]`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name!r}; there are {', '.join(map(repr, self))}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(key for key in self if key.isidentifier())]


class Result:
    """What schedulers made of a scenario: the program's JSON document, and tables.

    `result.runs[0].packets.delivered` and `result["drfq"].resources.cpu.utilization` are numbers of the document; the
    tables are Arrow, for `polars.DataFrame(result.flows)` or `pyarrow.table(result.packets)`. The result itself is the
    table of packets.
    """

    def __init__(self, native: _native.Runs) -> None:
        self._native = native
        self._tables: dict[str, Table | None] = {}
        #: The document of `dovetail run --json`, byte for byte.
        self.json: str = native.json
        #: The same, read.
        self.summary: Record = _json.loads(native.json, object_hook=Record)
        #: What there is to say about the input.
        self.notes: list[str] = native.notes

    @property
    def runs(self) -> list[Record]:
        """What each scheduler made of the input, in the order in which they were named."""
        return cast("list[Record]", self.summary.runs)

    def __getitem__(self, scheduler: str) -> Record:
        for run in self.runs:
            if run.scheduler == scheduler:
                return run
        known = ", ".join(repr(run.scheduler) for run in self.runs)
        raise ArgumentError(f"there is no run of {scheduler!r}; there are {known}", text=str(scheduler))

    def _table(self, name: str) -> Table:
        if name not in self._tables:
            self._tables[name] = self._native.table(name)
        table = self._tables[name]
        if table is None:
            raise ArgumentError(f"this run has no table of {name}", text=name)
        return table

    @property
    def flows(self) -> Table:
        """A row per scheduler and flow."""
        return self._table("flows")

    @property
    def packets(self) -> Table:
        """A row per scheduler and packet; for pipelines only."""
        return self._table("packets")

    @property
    def utilization(self) -> Table:
        """A row per scheduler, interval and resource; for pipelines only."""
        return self._table("utilization")

    @property
    def shares(self) -> Table:
        """A row per scheduler, interval and flow; for pipelines only."""
        return self._table("shares")

    @property
    def hops(self) -> Table:
        """A row per scheduler, seed and CPU or link; for networks only."""
        return self._table("hops")

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.packets.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<dovetail.Result of {', '.join(run.scheduler for run in self.runs)}>"


class Advice(Record):
    """The program's advice: its JSON document, whose members are attributes, and its `text`."""

    #: What `dovetail advise` prints.
    text: str
    #: The document of `dovetail advise --json`, byte for byte.
    json: str

    def __str__(self) -> str:
        return self.text


class Reproduction(Record):
    """The papers' claims, computed: `checks` as in the program's JSON document, and the `pictures`."""

    #: The document of `dovetail reproduce --json`, byte for byte.
    json: str
    #: SVG by file name.
    pictures: dict[str, str]


class Sweep:
    """What the runs of a plan came to, as tables; a sweep itself is the table of its runs."""

    def __init__(self, runs: Table, groups: Table, computed: int) -> None:
        #: A row per run.
        self.runs = runs
        #: A row per run and group of flows.
        self.groups = groups
        #: How many runs were not there already.
        self.computed = computed

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.runs.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<dovetail.Sweep of {len(self.runs)} runs>"


def _of(kind: type[Record], document: str, **more: object) -> Any:
    made = kind(_json.loads(document, object_hook=Record))
    for name, value in {"json": document, **more}.items():
        object.__setattr__(made, name, value)
    return made


def _teller(
    progress: Progress, unit: str = "packets"
) -> tuple[Callable[[int, int], object] | None, Callable[[], None]]:
    """What to call with units done and in all, and what to call at the end."""
    if progress is None or progress is False:
        return None, lambda: None
    if callable(progress):
        return progress, lambda: None
    if progress is not True:
        raise ArgumentError(f"progress: {progress!r}: expected True, or a function of {unit} done and in all")
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return _functools.partial(_line, unit), lambda: print(file=_sys.stderr)
    bar = tqdm(unit=f" {unit}", unit_scale=True)

    def tell(done: int, total: int) -> None:
        bar.total = total or None
        bar.update(done - bar.n)

    return tell, bar.close


def _line(unit: str, done: int, total: int) -> None:
    print(f"\r{done} {unit}" + (f" of {total}" if total else ""), end="", file=_sys.stderr, flush=True)


def run(
    scenario: Scenario,
    *,
    schedulers: str | Discipline | type | Sequence[str | Discipline | type] | None = None,
    profile: str | None = None,
    threads: int | None = None,
    packets: int = 10_000_000,
    progress: Progress = None,
    **overrides: Any,
) -> Result:
    """Put the input of a scenario through several schedulers, as `dovetail run` does.

    Args:
        scenario: a scenario or capture by its path, the text of a scenario (several lines), or a dict with its keys.
        schedulers: names with parameters such as "tradeoff:alpha=0.85", and disciplines written in Python (an object
            is used as it is, a class makes a new one); the scenario's own if left out.
        profile: what box a capture went through, as `--profile`: a name or a file.
        threads: how many to use; as many as there are processors if left out. Changes no result.
        packets: how many packets to keep in the table, over all runs, at about 130 bytes each.
        progress: True for a bar (tqdm's if that is installed), or a function of packets done and in all (0: unknown).
        overrides: keys of the scenario, as `--set`: `seed=7`, `**{"resource.link.rate": "100 Mbps"}`.

    Raises:
        InputError, SchedulerError: what is given is wrong.
        RunError: a run failed.
        Exception: whatever a discipline written in Python raised.
    """
    tell, end = _teller(progress)
    try:
        if isinstance(scenario, Mapping) and not isinstance(scenario, dict):
            scenario = dict(scenario)
        native = _native.run(scenario, overrides, schedulers, profile, threads, packets, tell)
    finally:
        end()
    return Result(native)


def advise(
    scenario: Scenario,
    *,
    today: str = "fifo",
    target: str | Sequence[str] = (),
    protect: str | None = None,
    p99: str | None = None,
    profile: str | None = None,
    threads: int | None = None,
    progress: Progress = None,
    **overrides: Any,
) -> Advice:
    """Which scheduler and which alpha to use for a scenario or capture, what it gains over `today`, and who pays.

    The other arguments and the exceptions are those of `run`.

    Args:
        today: what runs now.
        target: a goal, or several: find the fairest scheduler that uses a resource so much, such as "cpu 95 %".
        protect: a goal: find the fairest one under which the 99th percentile of this group's latency is at most `p99`.
        p99: a time such as "5 ms".
    """
    if (protect is None) != (p99 is None):
        raise ArgumentError("protect and p99 go together: a group and a time")
    goals = [target] if isinstance(target, str) else list(target)
    guard = None if protect is None or p99 is None else (protect, p99)
    tell, end = _teller(progress)
    try:
        if isinstance(scenario, Mapping) and not isinstance(scenario, dict):
            scenario = dict(scenario)
        document, text = _native.advise(scenario, overrides, today, goals, guard, profile, threads, tell)
    finally:
        end()
    return cast(Advice, _of(Advice, document, text=text))


def sweep(
    plan: Scenario,
    out: str | _os.PathLike[str],
    *,
    jobs: int | None = None,
    client: Any = None,
    progress: Progress = None,
) -> Sweep:
    """Run every combination of values in a plan, as `dovetail sweep` does, and return all results.

    What is in `out` already is not computed again, whoever computed it; Ctrl-C loses only the runs under way.

    Args:
        plan: a plan by its path, its text (several lines), or a dict with its keys, such as `{"scenario":
            "scenarios/demo.toml", "grid": {"alpha": [0.7, 1], "seed": "1 to 10"}}`. Its scenario may be a dict as well.
        out: the folder of the data set.
        jobs: runs at the same time; as many as there are processors if left out. Changes no result.
        client: a `distributed.Client`: each run is a task of its cluster, whose workers see the same files.
        progress: True for a bar (tqdm's if that is installed), or a function of runs done and in all.

    Raises:
        InputError: the plan is wrong.
        RunError: a run failed, or the folder cannot be written. What is done stays done.
    """
    tell, end = _teller(progress, "runs")
    native = None
    try:
        read = _native.Plan(dict(plan) if isinstance(plan, Mapping) else plan)
        native = _native.Sweep(read, out, jobs)
        pending = len(native.tasks())
        if client is None:
            native.run(jobs, tell)
        else:
            _on_cluster(native, read, client, tell)
        runs, groups = native.tables()
    finally:
        end()
        if native is not None:
            native.close()
    return Sweep(runs, groups, pending)


@_functools.lru_cache(maxsize=1)
def _plan(name: str, text: str, folder: str) -> _native.Plan:
    return _native.Plan(name, text, folder)


def _task(name: str, text: str, folder: str, task: int) -> bytes:
    """One run, on a worker."""
    return _plan(name, text, folder).run(task)


def _on_cluster(
    native: _native.Sweep, plan: _native.Plan, client: Any, tell: Callable[[int, int], object] | None
) -> None:
    """Every run as a task; a worker that is lost costs the runs that it was at."""
    from distributed import as_completed  # type: ignore[import-not-found,unused-ignore]

    name, text, folder = plan.source
    work = _functools.partial(_task, name, text, _os.fspath(folder))
    native.begin()
    tasks = native.tasks()
    futures = client.map(work, tasks, pure=False)
    try:
        for done, (_, run) in enumerate(as_completed(futures, with_results=True), 1):
            native.add(run)
            if tell is not None:
                tell(done, len(tasks))
    finally:
        client.cancel(futures)
        native.end()


def reproduce(
    *ids: str,
    capture: str | _os.PathLike[str] | None = None,
    load: float | None = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Reproduction:
    """Compute tables and figures of the papers, by their ids or a paper's name. Without any, it computes all, which
    takes some ten minutes."""
    tell, end = _teller(progress)
    try:
        document, pictures = _native.reproduce(list(ids), capture, load, threads, tell)
    finally:
        end()
    return cast(Reproduction, _of(Reproduction, document, pictures=dict(pictures)))


def schedulers(name: str | None = None) -> list[Record]:
    """Describe all schedulers, or the one of this name (its parts, if it is a composition)."""
    document = _json.loads(_native.schedulers(name), object_hook=Record)
    return cast("list[Record]", document["schedulers"])


def packets(capture: str | _os.PathLike[str]) -> Table:
    """The packets of a capture (pcap or pcapng, gzipped or not): a row each, with arrival_ns, bytes, flow, src, dst,
    protocol, sport and dport. A warning says what could not be read."""
    table, damage = _native.packets(capture)
    if damage is not None:
        import warnings

        warnings.warn(f"{_os.fspath(capture)}: {damage}", stacklevel=2)
    return table
