//! How far a loop reaches.

use alloc::format;

use dovetail_units::Duration;

use crate::contract::LONGEST_TIME;
use crate::spec::{Spec, SpecError};
use crate::tag::TICK_BITS;

/// Most packets of a loop.
pub const MOST_PACKETS: usize = 1000;

/// Most packets of a time domain's loop. One call forms a loop, and longer ones order little better: the paper's 20
/// flows keep its CPU busy for 96.16 % of the time in loops of 20 packets, 96.26 % in loops of 40, 96.32 % in loops of
/// 1000.
pub const MOST_OF_DOMAIN: usize = 40;

/// What bounds a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// This many packets, or all that wait if these are fewer; from 1 to [`MOST_PACKETS`].
    Packets(usize),
    /// The packets of a time domain, at most [`MOST_OF_DOMAIN`].
    Domain(TimeDomain),
}

/// A time domain whose size adapts itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeDomain {
    /// The size that was given; all in ticks.
    given: u128,
    /// The size of the next loop's domain.
    size: u128,
    /// Gamma of equation (14), in thousandths.
    gamma_milli: u32,
}

pub(super) const DEFAULT_PACKETS: usize = 20;
const DEFAULT_GAMMA_MILLI: u32 = 10_000;

impl Extent {
    pub(super) fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        match (spec.value("loop"), spec.value("domain"), spec.value("gamma")) {
            (Some(_), Some(_), _) => Err(SpecError::new("domain", format!("{spec}: give loop or domain, not both"))),
            (_, None, Some(_)) => {
                Err(SpecError::new("gamma", format!("{spec}: gamma adapts a time domain; give domain")))
            }
            (packets, None, None) => packets.map_or(Ok(Self::Packets(DEFAULT_PACKETS)), Self::packets),
            (None, Some(domain), gamma) => {
                let gamma = gamma.map_or(Ok(DEFAULT_GAMMA_MILLI), gamma_milli)?;
                TimeDomain::parse(domain, gamma).map(Self::Domain)
            }
        }
    }

    fn packets(value: &str) -> Result<Self, SpecError> {
        let bad = || SpecError::bad_value("loop", value, "a number of packets from 1 to 1000");
        value.parse().ok().filter(|x| (1..=MOST_PACKETS).contains(x)).map(Self::Packets).ok_or_else(bad)
    }

    /// Change a parameter, from the next loop on: `loop` and `domain` take the place of each other.
    pub(super) fn set(&mut self, parameter: &str, value: &str) -> Result<(), SpecError> {
        let changed = match (parameter, &*self) {
            ("loop", _) => Self::packets(value),
            ("domain", Self::Domain(domain)) => TimeDomain::parse(value, domain.gamma_milli).map(Self::Domain),
            ("domain", Self::Packets(_)) => TimeDomain::parse(value, DEFAULT_GAMMA_MILLI).map(Self::Domain),
            ("gamma", Self::Domain(domain)) => {
                gamma_milli(value).map(|gamma_milli| Self::Domain(TimeDomain { gamma_milli, ..*domain }))
            }
            ("gamma", Self::Packets(_)) => Err(SpecError::new("gamma", "gamma adapts a time domain; set domain first")),
            _ => Err(super::ENTRY.cannot_change(parameter)),
        };
        *self = changed?;
        Ok(())
    }

    /// The timestamp before which a loop's packets finish, if the first one finishes at `first`, and how many these may
    /// be.
    pub(super) fn limits(&self, first: u128) -> (u128, usize) {
        match self {
            Self::Packets(packets) => (u128::MAX, *packets),
            Self::Domain(domain) => (first.saturating_add(domain.size), MOST_OF_DOMAIN),
        }
    }
}

impl TimeDomain {
    fn parse(value: &str, gamma_milli: u32) -> Result<Self, SpecError> {
        let bad = || SpecError::bad_value("domain", value, "a time above 0 s such as 500 us");
        let time = value.parse().ok().filter(|&time: &Duration| time > Duration::ZERO).ok_or_else(bad)?;
        let given = u128::from(time.min(LONGEST_TIME).as_nanos()) << TICK_BITS;
        Ok(Self { given, size: given, gamma_milli })
    }

    /// The size of the next domain.
    pub fn size(&self) -> u128 {
        self.size
    }

    /// Equation (14) with the size that was given: n * STD / gamma.
    pub fn threshold(&self, backlogged: usize) -> u128 {
        (backlogged as u128 * 1000).saturating_mul(self.given) / u128::from(self.gamma_milli)
    }

    /// A loop is over in which flows' received active times differed by up to `difference`; it was `full` if packets of
    /// the domain's flows were left over. Halves the domain, or lengthens it by an eighth of the size that was
    /// given.
    pub(super) fn adapt(&mut self, difference: u128, backlogged: usize, full: bool) {
        if difference > self.threshold(backlogged) {
            self.size = (self.size / 2).max(1);
        } else if full {
            self.size = self.size.saturating_add((self.given / 8).max(1)).min(1 << 90);
        }
    }
}

fn gamma_milli(value: &str) -> Result<u32, SpecError> {
    let bad = || SpecError::bad_value("gamma", value, "a number from 0.001 to 1000000");
    let gamma = value.parse().ok().filter(|gamma: &f64| (0.001..=1e6).contains(gamma)).ok_or_else(bad)?;
    Ok((gamma * 1000.0 + 0.5) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(spec: &str) -> Result<Extent, alloc::string::String> {
        use alloc::string::ToString;
        Extent::from_spec(&spec.parse().map_err(|e: SpecError| e.to_string())?).map_err(|e| e.to_string())
    }

    fn domain(spec: &str) -> TimeDomain {
        match of(spec) {
            Ok(Extent::Domain(domain)) => domain,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_given_and_what_is_not() {
        assert_eq!(of("atfq"), Ok(Extent::Packets(20)));
        assert_eq!(of("atfq:loop=1000"), Ok(Extent::Packets(1000)));
        assert_eq!(domain("atfq:domain=1 us").threshold(20), 20 * (1000 << TICK_BITS) / 10);
        assert_eq!(domain("atfq:domain=1 us,gamma=0.5").threshold(3), 3 * (1000 << TICK_BITS) * 2);
        for (spec, message) in [
            ("atfq:loop=0", "loop=0: expected a number of packets from 1 to 1000"),
            ("atfq:loop=1001", "loop=1001: expected a number of packets from 1 to 1000"),
            ("atfq:domain=0 s", "domain=0 s: expected a time above 0 s such as 500 us"),
            ("atfq:domain=1 us,gamma=0", "gamma=0: expected a number from 0.001 to 1000000"),
            ("atfq:domain=1 us,gamma=nan", "gamma=nan: expected a number from 0.001 to 1000000"),
            ("atfq:loop=5,domain=1 us", "atfq:loop=5,domain=1 us: give loop or domain, not both"),
            ("atfq:gamma=5", "atfq:gamma=5: gamma adapts a time domain; give domain"),
            ("atfq:loop=5,gamma=5", "atfq:loop=5,gamma=5: gamma adapts a time domain; give domain"),
        ] {
            assert_eq!(of(spec), Err(message.into()));
        }
    }

    #[test]
    fn what_is_set_takes_the_place_of_what_was() {
        let mut extent = Extent::Packets(5);
        assert!(extent.set("gamma", "2").is_err());
        assert_eq!(extent.set("domain", "1 us"), Ok(()));
        assert_eq!(extent.set("gamma", "2"), Ok(()));
        assert_eq!(extent, Extent::Domain(domain("atfq:domain=1 us,gamma=2")));
        assert_eq!(extent.set("loop", "7"), Ok(()));
        assert!(extent.set("loop", "7.5").is_err());
        assert_eq!(extent, Extent::Packets(7));
        assert!(extent.set("size", "7").is_err());
    }

    #[test]
    fn a_domain_shrinks_above_the_threshold_and_grows_when_it_was_used_up() {
        let mut domain = domain("atfq:domain=8 ns,gamma=2");
        let (unit, threshold) = (1 << TICK_BITS, domain.threshold(3));
        assert_eq!(threshold, 12 * unit);
        domain.adapt(threshold + 1, 3, true);
        assert_eq!(domain.size(), 4 * unit);
        domain.adapt(threshold, 3, true);
        assert_eq!(domain.size(), 5 * unit);
        domain.adapt(0, 3, false);
        assert_eq!(domain.size(), 5 * unit);
        for _ in 0..100 {
            domain.adapt(u128::MAX, 3, true);
        }
        assert_eq!(domain.size(), 1);
    }
}
