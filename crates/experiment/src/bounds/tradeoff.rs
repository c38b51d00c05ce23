//! What `tradeoff` guarantees.

use dovetail_model::bounds::{tracking_deviation, tracking_deviation_any_flow, tracking_makespan_s};
use dovetail_model::fluid::{Input, Policy, run as run_fluid};
use dovetail_model::{Ties, Tradeoff};

use super::Bound;
use super::facts::{Facts, times};
use super::measure::FLUID_STEPS;
use crate::compare::{PacketWay, Recorded};

/// Theorems 4 and 5.
pub fn tradeoff(run: &Recorded, facts: &Facts) -> Vec<Bound> {
    vec![tracking(run, facts), shortfall(run, facts)]
}

/// The alpha under which Theorems 4 and 5 apply to the run, or why they do not.
fn tracked(run: &Recorded, facts: &Facts) -> Result<f64, &'static str> {
    match run.promised() {
        _ if facts.obstacle.is_some() => Err(facts.obstacle.unwrap_or_default()),
        None => Err("does not apply: alpha changes"),
        Some(alpha) if alpha <= 0.0 => Err("does not apply: alpha is 0"),
        Some(alpha) => facts.regular().map(|()| alpha),
    }
}

fn tracking(run: &Recorded, facts: &Facts) -> Bound {
    let row = |remark: &str| Bound::new(run, "makespan <= fluid's + n packets", "tradeoff paper, Theorem 4", remark);
    let alpha = match tracked(run, facts) {
        Ok(alpha) => alpha,
        Err(reason) => return row(reason),
    };
    if run.packets.len() as f64 * facts.concurrent as f64 > FLUID_STEPS {
        return row("not computed: the fluid of this many packets and flows takes too long");
    }
    let (Some(fluid), Some(seen)) = (fluid_makespan(run, alpha), run.outcome.makespan()) else {
        return row("not computed: the fluid schedule is not defined for these packets");
    };
    // A packet that starts in the fluid between two nanoseconds may enter at the second one, and the rest of the schedule is then that much
    // later; each packet that ends in the fluid between two ticks of its clock (2^-20 ns) does so at the second one.
    let rounding = 1e-9 * (1.0 + run.packets.len() as f64 / f64::from(1 << 20));
    let bound = tracking_makespan_s(fluid, facts.concurrent, facts.longest_s) + rounding;
    row("for any alpha above 0").with(bound, seen.as_secs_f64())
}

fn fluid_makespan(run: &Recorded, alpha: f64) -> Option<f64> {
    let mut input = Input::new(run.resources.len()).ok()?;
    for flow in &run.flows {
        input.add_flow(flow.weight).ok()?;
    }
    for (k, PacketWay { flow, arrival, .. }) in run.packets.iter().enumerate() {
        input.push(*flow as usize, arrival.as_secs_f64(), &times(run, k)?).ok()?;
    }
    let policy = Policy::Tradeoff(Tradeoff::new(alpha, Ties::Rotate).ok()?);
    Some(run_fluid(&input, &policy).ok()?.makespan_s())
}

/// Theorem 5, for an interval: each of its ends contributes one side of the bound.
fn shortfall(run: &Recorded, facts: &Facts) -> Bound {
    let row = |remark| Bound::new(run, "service short of alpha x fair share", "tradeoff paper, Theorem 5", remark);
    if let Err(reason) = tracked(run, facts) {
        return row(reason);
    }
    let Some(worst) = &run.shortfall else {
        return row("nothing to see: no two flows were backlogged for a whole interval");
    };
    let deviation = if facts.shifting {
        tracking_deviation_any_flow(facts.concurrent, facts.longest_s)
    } else {
        tracking_deviation(facts.concurrent, facts.longest_s)
    };
    row("in any recording interval").with(deviation.behind_s + deviation.ahead_s, worst.by_time.seconds.max(0.0))
}
