//! The figures of Shin, Chong, Rhee, "Dual-resource TCP/AQM for Processing-constrained Networks", INFOCOM 2006.
//!
//! The paper's RED-RED is `red+red`, its DRR-RED is `drr+red`. Its figures are drawn, not printed as numbers: what is
//! compared are the ideal rates, which it defines, and the sentences that it concludes.

mod edge;
mod fig2;
mod fig5;
mod fig6;
mod fig7;
mod fig8;
mod parking;
mod stability;
mod sweep;
mod weights;

use std::cell::OnceCell;

use super::ReproduceError;
use super::bench::{Bench, get_or_try};
use super::expected::Findings;
use sweep::Point;

/// Runs that several figures look at, made once.
#[derive(Default)]
pub struct Shared {
    dumbbell: OnceCell<Vec<Point>>,
    dumbbell_with_room: OnceCell<Vec<Point>>,
    parking: OnceCell<Vec<Point>>,
}

impl Shared {
    /// The runs of Figs. 5 and 6, but for DRQ's of Fig. 5.
    fn dumbbell(&self, bench: &Bench<'_>) -> Result<&[Point], ReproduceError> {
        Ok(get_or_try(&self.dumbbell, || fig5::runs(bench, |_| Vec::new()))?)
    }

    /// DRR-RED's of these with room.
    fn dumbbell_with_room(&self, bench: &Bench<'_>) -> Result<&[Point], ReproduceError> {
        Ok(get_or_try(&self.dumbbell_with_room, || fig5::runs_with_room(bench, &[]))?)
    }

    /// The runs of Figs. 10 to 12.
    fn parking(&self, bench: &Bench<'_>) -> Result<&[Point], ReproduceError> {
        Ok(get_or_try(&self.parking, || parking::runs(bench, &[]))?)
    }
}

/// Compute the figure of this id, one of those that are done.
pub fn reproduce(id: &str, bench: &Bench<'_>, shared: &Shared) -> Result<Findings, ReproduceError> {
    match id {
        "drq-fig2" => fig2::reproduce(),
        "drq-fig5" => {
            let by_weight = weights::by_weight(bench, &[])?;
            fig5::reproduce(shared.dumbbell(bench)?, &by_weight, shared.dumbbell_with_room(bench)?)
        }
        "drq-fig6" => fig6::reproduce(shared.dumbbell(bench)?, shared.dumbbell_with_room(bench)?),
        "drq-fig7" => fig7::reproduce(&fig7::runs(bench, &[])?),
        "drq-fig8" => fig8::reproduce(&fig8::runs(bench, &[])?),
        "drq-fig10" => parking::groups(shared.parking(bench)?),
        "drq-fig11" => parking::total(shared.parking(bench)?),
        "drq-fig12" => parking::utilization(shared.parking(bench)?, &parking::runs_with_room(bench, &[])?),
        "drq-fig14" => edge::capacity(&edge::by_capacity(bench, &[])?, &edge::with_wide_core(bench, &[])?),
        "drq-fig15" => edge::density(&edge::by_density(bench, &[])?),
        "drq-stability" => stability::reproduce(bench),
        other => Err(ReproduceError::Id(format!("{other} is not reproduced yet"))),
    }
}

#[cfg(test)]
mod tests;
