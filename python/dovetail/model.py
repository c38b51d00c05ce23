"""The mathematics without packets. Times are in seconds, shares parts of a resource from 0 to 1."""

from __future__ import annotations

from typing import TypedDict

from ._native import model as _model


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


drfq_relative_fairness_s = _model.drfq_relative_fairness_s
drgps = _model.drgps
fluid_schedule = _model.fluid_schedule
gini = _model.gini
jain = _model.jain
makespan_lower_bound_s = _model.makespan_lower_bound_s
mr3_relative_fairness_s = _model.mr3_relative_fairness_s
proportional = _model.proportional
tracking_makespan_s = _model.tracking_makespan_s
tradeoff = _model.tradeoff
work_conserving_makespan_s = _model.work_conserving_makespan_s

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
