//! Simulations by the schedulers of the catalogue, and what records them, for the numbers of resources that scenarios
//! may have, compiled once, here. Builds for tests share generic code between crates (the compiler does at `opt-level`
//! 0 and 1; others do not, and leave this out); without this, tests and the crates that read scenarios compile it all
//! again, these with less optimisation.

use dovetail_sched::{Scheduler, Schedulers};

use crate::network::{Network, NetworkOptions, NetworkResult, simulate_network};
use crate::{
    Deferred, Metrics, Options, Outcome, Pipeline, Recorder, SimError, Workload, deferred, simulate, simulate_all,
};

type Result<T = Outcome> = std::result::Result<T, SimError>;

type Run<const M: usize> = fn(&mut Deferred<'_, M>) -> Result;

/// For `M` resources.
struct Instances<const M: usize> {
    _one: fn(&Workload<M>, &Pipeline<M>, &mut dyn Scheduler<M, u32>, &mut Deferred<'static, M>, Options<'_>) -> Result,
    _all: fn(&Workload<M>, &Pipeline<M>, &mut Schedulers<M, u32>, &mut Deferred<'static, M>, Options<'_>) -> Result,
    _deferred: fn(&mut (dyn Recorder<M> + Send), &dyn Fn() -> bool, Run<M>) -> Result,
    _metrics: fn(&mut Metrics<M>) -> &mut dyn Recorder<M>,
}

const fn instances<const M: usize>() -> Instances<M> {
    Instances { _one: simulate, _all: simulate_all, _deferred: deferred, _metrics: |metrics| metrics }
}

#[used]
static ALL: (Instances<1>, Instances<2>, Instances<3>, Instances<4>) =
    (instances(), instances(), instances(), instances());

#[used]
static NETWORK: fn(&Network, NetworkOptions<'_>, &mut ()) -> Result<Option<NetworkResult>> = simulate_network;
