"""Pictures of results with matplotlib: one function each, onto given axes or new ones.

They draw what the program draws into `--out`, for papers: no title, units at the axes, one colour per scheduler or
group throughout. `matplotlib` is needed for these alone (`pip install '.[plot]'` in a checkout).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from . import Result

__all__ = ["dominant_shares", "frontier", "gantt", "latency", "service_curves", "utilization"]


def _axes(axes: Axes | None) -> Axes:
    if axes is not None:
        return axes
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(5.5, 3.2), layout="constrained")[1]


def _rows(table: Any, scheduler: str) -> dict[str, list[Any]]:
    """The columns of one scheduler's rows."""
    columns = table.to_dict()
    own = [k for k, name in enumerate(columns["scheduler"]) if name == scheduler]
    return {name: [column[k] for k in own] for name, column in columns.items()}


def _one(result: Result, scheduler: str | None) -> str:
    """The scheduler that is meant."""
    return str(result[scheduler].scheduler if scheduler is not None else result.runs[0].scheduler)


def _groups(result: Result) -> dict[str, str]:
    """The group of each flow."""
    return dict(zip(result.flows["flow"], result.flows["group"]))


def _colours(names: Sequence[str]) -> dict[str, str]:
    return {name: f"C{k % 10}" for k, name in enumerate(dict.fromkeys(names))}


def utilization(result: Result, scheduler: str | None = None, axes: Axes | None = None) -> Axes:
    """Busy part of each resource over time under one scheduler, the first if none is named; zero while idle."""
    axes, rows = _axes(axes), _rows(result.utilization, _one(result, scheduler))
    for resource in dict.fromkeys(rows["resource"]):
        times: list[float] = []
        levels: list[float] = []
        for start, length, name, level in zip(
            rows["start_s"], rows["length_s"], rows["resource"], rows["utilization"]
        ):
            if name != resource:
                continue
            if times and start > times[-1] + length / 2:
                times += [times[-1], start]
                levels += [0.0, 0.0]
            times += [start, start + length]
            levels += [100 * level, 100 * level]
        axes.plot(times, levels, label=resource)
    axes.set(xlabel="Time (s)", ylabel="Used (%)", ylim=(0, 103))
    axes.legend()
    return axes


def dominant_shares(result: Result, scheduler: str | None = None, axes: Axes | None = None) -> Axes:
    """Dominant share by weight of every flow that had packets throughout an interval, coloured by group, with the fair
    share."""
    axes, name = _axes(axes), _one(result, scheduler)
    rows, groups = _rows(result.shares, name), _groups(result)
    weights = dict(zip(result.flows["flow"], result.flows["weight"]))
    colours = _colours(list(groups.values()))
    points: dict[str, list[tuple[float, float]]] = {}
    fair: dict[float, float] = {}
    for start, length, flow, service, share, throughout in zip(
        rows["start_s"],
        rows["length_s"],
        rows["flow"],
        rows["weighted_dominant_service_s"],
        rows["weighted_fair_service_s"],
        rows["backlogged_throughout"],
    ):
        middle = start + length / 2
        fair[middle] = share / length / weights[flow]
        if throughout:
            points.setdefault(flow, []).append((middle, service / length / weights[flow]))
    named = set()
    for flow, path in points.items():
        group = groups[flow]
        label = None if group in named else group
        named.add(group)
        axes.plot(*zip(*path), color=colours[group], alpha=0.6, linewidth=0.8, label=label)
    if fair:
        axes.plot(*zip(*sorted(fair.items())), color="black", linestyle="--", linewidth=1, label="fair share")
    axes.set(xlabel="Time (s)", ylabel="Dominant share by weight")
    axes.set_ylim(bottom=0)
    axes.legend()
    return axes


def latency(result: Result, group: str | None = None, axes: Axes | None = None) -> Axes:
    """Distribution of the times that delivered packets stayed, a curve for each scheduler; of one group, or of all."""
    axes, groups = _axes(axes), _groups(result)
    if group is not None and group not in groups.values():
        from . import ArgumentError

        known = ", ".join(repr(name) for name in dict.fromkeys(groups.values()))
        raise ArgumentError(f"there is no group {group!r}; there are {known}", text=group)
    last = [name for name in result.packets.columns if name.endswith("_end_ns")][-1]
    shortest, longest = float("inf"), 0.0
    for run in result.runs:
        rows = _rows(result.packets, run.scheduler)
        stayed = sorted(
            (end - arrival) / 1e6
            for flow, arrival, end, outcome in zip(rows["flow"], rows["arrival_ns"], rows[last], rows["outcome"])
            if outcome == "delivered" and (group is None or groups[flow] == group)
        )
        if stayed:
            shortest, longest = min(shortest, stayed[0]), max(longest, stayed[-1])
            below = [100 * (k + 1) / len(stayed) for k in range(len(stayed))]
            axes.step(stayed, below, where="post", label=run.scheduler)
    axes.set(xlabel="Latency (ms)", ylabel="Packets within this time (%)", ylim=(0, 103))
    if longest > 100 * shortest:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    axes.legend()
    return axes


def frontier(results: Mapping[float, Result], group: str | None = None, axes: Axes | None = None) -> Axes:
    """What each alpha gives: throughput against the 99 % quantile of latency, of all packets or of one group's.

    `results` are by alpha, each of one run.
    """
    axes = _axes(axes)
    points = []
    for alpha, result in sorted(results.items()):
        run = result.runs[0]
        of = run if group is None else next((one for one in run.groups if one.group == group), None)
        if of is None:
            from . import ArgumentError

            known = ", ".join(repr(one.group) for one in run.groups)
            raise ArgumentError(f"there is no group {group!r}; there are {known}", text=str(group))
        if of.latency_s is not None:
            points.append((1e3 * of.latency_s.p99, sum(one.throughput_bps for one in run.groups) / 1e6, alpha))
    axes.plot([x for x, _, _ in points], [y for _, y, _ in points], marker="o")
    for x, y, alpha in points:
        axes.annotate(f"{alpha:g}", (x, y), textcoords="offset points", xytext=(5, 5), fontsize="small")
    of_whom = "" if group is None else f" of {group}"
    axes.set(xlabel=f"99 % quantile of latency{of_whom} (ms)", ylabel="Throughput (Mbit/s)")
    return axes


def service_curves(result: Result, resource: str, scheduler: str | None = None, axes: Axes | None = None) -> Axes:
    """Service that each flow has received on a resource since the start, coloured by group."""
    axes, groups = _axes(axes), _groups(result)
    known = [name.removesuffix("_end_ns") for name in result.packets.columns if name.endswith("_end_ns")]
    if resource not in known:
        from . import ArgumentError

        raise ArgumentError(f"there is no resource {resource!r}; there are {', '.join(known)}", text=resource)
    rows = _rows(result.packets, _one(result, scheduler))
    services: dict[str, list[tuple[int, int]]] = {}
    for flow, start, end in zip(rows["flow"], rows[f"{resource}_start_ns"], rows[f"{resource}_end_ns"]):
        if end is not None:
            services.setdefault(flow, []).append((start, end))
    colours, named = _colours(list(groups.values())), set()
    for flow in dict.fromkeys(groups):
        received, times, levels = 0, [0.0], [0.0]
        for start, end in sorted(services.get(flow, [])):
            times += [start / 1e9, end / 1e9]
            levels += [received / 1e9, (received + end - start) / 1e9]
            received += end - start
        label = None if groups[flow] in named else groups[flow]
        named.add(groups[flow])
        axes.plot(times, levels, color=colours[groups[flow]], linewidth=0.8, label=label)
    axes.set(xlabel="Time (s)", ylabel=f"Service on {resource} (s)")
    axes.legend()
    return axes


def gantt(result: Result, scheduler: str | None = None, most: int = 200, axes: Axes | None = None) -> Axes:
    """The schedule itself: when which flow's packet was on which resource, of the first `most` packets."""
    axes, rows = _axes(axes), _rows(result.packets, _one(result, scheduler))
    resources = [name.removesuffix("_end_ns") for name in rows if name.endswith("_end_ns")]
    flows = rows["flow"][:most]
    colours, named = _colours(flows), set()
    for place, resource in enumerate(resources):
        spans = list(zip(flows, rows[f"{resource}_start_ns"], rows[f"{resource}_end_ns"]))
        for flow, start, end in spans:
            if end is not None:
                label = None if flow in named else flow
                named.add(flow)
                width = (end - start) / 1e6
                axes.barh(place, width, left=start / 1e6, height=0.8, color=colours[flow], label=label)
    axes.set(xlabel="Time (ms)", yticks=range(len(resources)), yticklabels=resources)
    axes.invert_yaxis()
    axes.legend(ncols=4, fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.2))
    return axes
