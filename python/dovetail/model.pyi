"""The mathematics without packets. Times are in seconds, shares parts of a resource from 0 to 1."""

from collections.abc import Sequence
from typing import Literal, TypedDict

__all__ = [
    "Allocation",
    "Rates",
    "Schedule",
    "drfq_relative_fairness_s",
    "drgps",
    "fluid_schedule",
    "gini",
    "jain",
    "makespan_lower_bound_s",
    "mr3_relative_fairness_s",
    "proportional",
    "tracking_makespan_s",
    "tradeoff",
    "work_conserving_makespan_s",
]

class Allocation(TypedDict):
    """Who gets what at an instant."""

    fair_share: float
    shares: list[float]
    utilization: list[float]

class Schedule(TypedDict):
    """What became of packets in the fluid: times by flow and packet, `service` as points of each flow's dominant
    service over time, `utilization` as steps of every resource's."""

    makespan_s: float
    starts_s: list[list[float]]
    finishes_s: list[list[float]]
    service: list[list[tuple[float, float]]]
    utilization: list[tuple[float, list[float]]]

class Rates(TypedDict):
    """Proportionally fair rates of the flows, and the resources' prices."""

    rates_bps: list[float]
    prices: list[float]

def drgps(times_s: Sequence[Sequence[float]], weights: Sequence[float] | None = None) -> Allocation:
    """Equal dominant shares (tradeoff paper, equation 16) of flows whose first packets take these times."""

def tradeoff(
    times_s: Sequence[Sequence[float]],
    alpha: float,
    weights: Sequence[float] | None = None,
    ties: Literal["rotate", "split"] = "rotate",
) -> Allocation:
    """The most efficient shares that leave every flow `alpha` of its fair share (tradeoff paper, problem 19). Of equal
    flows the first gets the bonus ("rotate"), or all do ("split")."""

def fluid_schedule(
    flows: Sequence[Sequence[tuple[float, Sequence[float]]]],
    alpha: float | None = None,
    weights: Sequence[float] | None = None,
    ties: Literal["rotate", "split"] = "rotate",
) -> Schedule:
    """What the fluid makes of flows of packets, each (arrival, times): `drgps` without an alpha, else `tradeoff`."""

def proportional(
    resources: Sequence[tuple[Literal["cpu", "link"], float]],
    flows: Sequence[tuple[float, Sequence[tuple[int, float | None]]]],
) -> Rates:
    """Proportional fairness (DRQ paper, problem P) over CPUs (cycles/s) and links (bit/s). A flow is its weight and its
    hops: the resource's number, and the density on a CPU (cycles per bit; None on a link)."""

def jain(shares: Sequence[float]) -> float:
    """Jain's index: 1 if all are equal or zero, 1/n if one has all."""

def gini(shares: Sequence[float]) -> float:
    """The Gini coefficient: 0 if all are equal or zero, near 1 if one of many has all."""

def makespan_lower_bound_s(total_times_s: Sequence[float]) -> float:
    """No schedule is done sooner than the busiest resource (tradeoff paper, equation 3)."""

def work_conserving_makespan_s(resources: int, optimum_s: float) -> float:
    """The longest that a work-conserving schedule takes (tradeoff paper, theorem 1)."""

def tracking_makespan_s(fluid_makespan_s: float, flows: int, longest_s: float) -> float:
    """The latest time at which start-time tracking is done (tradeoff paper, theorem 4)."""

def drfq_relative_fairness_s(weights: tuple[float, float], longest_s: tuple[float, float]) -> float:
    """By how much the dominant service by weight of two flows differs at most under `drfq`."""

def mr3_relative_fairness_s(resources: int, longest_s: float) -> float:
    """By how much the dominant service of two flows differs at most under `mr3`."""
