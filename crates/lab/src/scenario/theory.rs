//! What theory gives each group of a scenario, from what its flows ask for and what their frames cost.

use dovetail_model::drq::Single;
use dovetail_model::fluid::{Input, Policy, run};
use dovetail_model::{ModelError, Ties, Tradeoff};

use super::{Demand, RESOURCES};

/// The most packets of a fluid schedule: some tenths of a second of computing.
const PACKETS: f64 = 40_000.0;

/// Which theory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Theory {
    /// The fluid schedule of the tradeoff paper at this `alpha`, for flows at constant rates.
    Tradeoff(f64),
    /// Proportional fairness on CPU and link (DRQ paper, equation 6), for TCP connections of one round-trip time.
    Proportional,
    /// The same rate for all of them (the DRQ paper's TCP-like allocation, section II.B).
    EqualRates,
}

impl Theory {
    /// Of each group the parts of CPU, link and third resource that it has, 0 to 1 each.
    ///
    /// # Errors
    /// A group is without a rate where the theory is for constant rates, or has frames that need no link; or what the
    /// model refuses.
    pub fn shares(self, groups: &[Demand]) -> Result<Vec<[f64; RESOURCES]>, ModelError> {
        match self {
            Self::Tradeoff(alpha) => tradeoff(groups, alpha),
            Self::Proportional => single(groups, |single| single.proportional().rates),
            Self::EqualRates => single(groups, Single::equal_rates),
        }
    }
}

/// The fluid schedule of what the flows send, long enough that every flow that asks for more than it gets has a queue;
/// what it serves in the second half.
fn tradeoff(groups: &[Demand], alpha: f64) -> Result<Vec<[f64; RESOURCES]>, ModelError> {
    let rates: Vec<f64> = groups.iter().map(rate).collect::<Result<_, _>>()?;
    let end = PACKETS / rates.iter().sum::<f64>();
    let resources = if groups.iter().all(|group| group.times[2] == 0.0) { 2 } else { RESOURCES };
    let mut input = Input::new(resources)?;
    let mut flows = Vec::new();
    for (group, rate) in groups.iter().zip(&rates) {
        let interval = f64::from(group.flows) / rate;
        let mut own = Vec::new();
        for k in 0..group.flows {
            let flow = input.add_flow(group.weight)?;
            let start = interval * f64::from(k) / f64::from(group.flows);
            for packet in (0..).map(|n| start + interval * f64::from(n)).take_while(|&at| at < end) {
                input.push(flow, packet, &group.times[..resources])?;
            }
            own.push(flow);
        }
        flows.push(own);
    }
    let outcome = run(&input, &Policy::Tradeoff(Tradeoff::new(alpha, Ties::Split)?))?;
    let share = |((group, rate), flows): ((&Demand, &f64), &Vec<usize>)| {
        let served = |at: f64| flows.iter().map(|&flow| outcome.dominant_service_s(flow, at)).sum::<f64>();
        let dominant = group.dominant_time();
        let sent: usize = flows.iter().map(|&flow| input.packets(flow)).sum();
        // Of each flow a packet may be under way, and one in front of it.
        let keeps_up = served(end) >= (sent as f64 - 2.0 * f64::from(group.flows)) * dominant;
        let frames = if keeps_up { *rate } else { (served(end) - served(end / 2.0)) / (end / 2.0) / dominant };
        group.times.map(|time| frames * time)
    };
    Ok(groups.iter().zip(&rates).zip(&flows).map(share).collect())
}

fn rate(group: &Demand) -> Result<f64, ModelError> {
    let rate = group.rate.filter(|&rate| rate > 0.0 && group.dominant_time() > 0.0);
    rate.ok_or(ModelError::Value { what: "rate", value: f64::NAN, expected: "flows at constant rates that need time" })
}

/// In parts of both resources, so that a cycle is what a bit takes on the link.
fn single(groups: &[Demand], rates: impl Fn(&Single) -> Vec<f64>) -> Result<Vec<[f64; RESOURCES]>, ModelError> {
    let densities: Vec<f64> = groups.iter().map(|group| group.times[0] / group.times[1]).collect();
    let flows =
        groups.iter().zip(&densities).flat_map(|(group, &w)| std::iter::repeat_n((1.0, w), group.flows as usize));
    let rates = rates(&Single::new(1.0, 1.0, &flows.collect::<Vec<_>>())?);
    let mut rates = rates.iter();
    let of_group = |(group, density): (&Demand, &f64)| {
        let link: f64 = rates.by_ref().take(group.flows as usize).sum();
        [link * density, link, 0.0]
    };
    Ok(groups.iter().zip(&densities).map(of_group).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: &[[f64; RESOURCES]], expected: &[[f64; 2]], within: f64) {
        assert_eq!(found.len(), expected.len());
        for (f, e) in found.iter().flat_map(|shares| &shares[..2]).zip(expected.iter().flatten()) {
            assert!((f - e).abs() < within, "{found:?} instead of {expected:?}");
        }
    }

    fn udp(flows: u32, [cpu, link]: [f64; 2], rate: f64) -> Demand {
        Demand { flows, weight: 1.0, times: [cpu, link, 0.0], rate: Some(rate) }
    }

    /// A tunnel of 400 us of CPU and nine others of 20 us at a link of 128 us. By hand: with a dominant share of d each
    /// the link is full at 9 d + d 128/400 = 1; at alpha the nine have alpha d each, and the tunnel what is left of
    /// the link.
    #[test]
    fn the_fluid_is_as_by_hand() {
        let groups = [udp(1, [400e-6, 128e-6], 2_500.0), udp(9, [20e-6, 128e-6], 9.0 * 1_200.0)];
        let fair = 1.0 / (9.0 + 0.32);
        let expected = |link: f64| [[(1.0 - link) / 0.32, 1.0 - link], [link * 20.0 / 128.0, link]];
        close(&Theory::Tradeoff(1.0).shares(&groups).unwrap(), &expected(9.0 * fair), 1e-3);
        close(&Theory::Tradeoff(0.85).shares(&groups).unwrap(), &expected(0.85 * 9.0 * fair), 1e-3);
    }

    /// Three flows, each of which needs another resource most, for 2 where it needs 1 of the others: with a dominant
    /// share of d each, every resource is full at d + d/2 + d/2 = 1.
    #[test]
    fn a_third_resource_is_shared_as_the_others_are() {
        let needs_most = |r: usize| {
            let mut times = [1e-4; RESOURCES];
            times[r] = 2e-4;
            Demand { flows: 1, weight: 1.0, times, rate: Some(9_000.0) }
        };
        let shares = Theory::Tradeoff(1.0).shares(&[0, 1, 2].map(needs_most)).unwrap();
        for (group, shares) in shares.iter().enumerate() {
            for (r, share) in shares.iter().enumerate() {
                let expected = if r == group { 0.5 } else { 0.25 };
                assert!((share - expected).abs() < 1e-3, "{shares:?}");
            }
        }
    }

    #[test]
    fn who_asks_for_little_has_it() {
        let groups = [udp(1, [1e-3, 1e-4], 2.0), udp(1, [1e-3, 1e-4], 5_000.0)];
        close(&Theory::Tradeoff(1.0).shares(&groups).unwrap(), &[[2e-3, 2e-4], [0.998, 0.0998]], 1e-3);
        // Nothing is scarce: all have what they ask for.
        close(&Theory::Tradeoff(0.5).shares(&[udp(4, [1e-4, 2e-4], 400.0)]).unwrap(), &[[0.04, 0.08]], 1e-12);
    }

    /// The DRQ paper's section II.B: densities 1, 2, 4, 8 with a CPU that is the bottleneck: equal shares of it, or
    /// equal rates.
    #[test]
    fn connections_share_the_cpu_or_have_equal_rates() {
        let groups = [1.0, 2.0, 4.0, 8.0].map(|w| Demand { flows: 10, weight: 1.0, times: [w, 1.0, 0.0], rate: None });
        let fair = [1.0, 2.0, 4.0, 8.0].map(|w| [0.25, 0.25 / w]);
        close(&Theory::Proportional.shares(&groups).unwrap(), &fair, 1e-9);
        let equal = [1.0, 2.0, 4.0, 8.0].map(|w| [w / 15.0, 1.0 / 15.0]);
        close(&Theory::EqualRates.shares(&groups).unwrap(), &equal, 1e-9);
    }

    #[test]
    fn flows_without_a_rate_have_no_fluid() {
        let tcp = Demand { flows: 1, weight: 1.0, times: [1.0, 1.0, 0.0], rate: None };
        assert!(Theory::Tradeoff(1.0).shares(&[tcp]).is_err());
        assert!(Theory::Proportional.shares(&[Demand { times: [1.0, 0.0, 0.0], ..tcp }]).is_err());
    }
}
