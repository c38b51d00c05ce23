"""The mathematics without packets. Times are in seconds, shares parts of a resource from 0 to 1."""

from __future__ import annotations

from ._native import model as _model

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
