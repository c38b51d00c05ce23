//! The flows of a network scenario.

use std::ops::Range;

use dovetail_sim::network::{MOST_FLOWS, RoundTrip, Traffic, shortest};
use dovetail_tcp::{self as tcp, AckPolicy, Config};
use dovetail_units::{Bytes, Duration, Time};
use toml::Spanned;

use super::file::{Tcp, Variant};
use super::limits;
use super::scenario::{Group, NetworkScenario, count};
use super::value::{Access, FlowRate, RoundTrips};
use crate::scenario::{ScenarioError, check_name, unknown};
use dovetail_config::{Span, Text, number};

/// Length of a data packet if the scenario does not say.
const PACKET_BYTES: u64 = 1500;
/// The longest that an ACK may be delayed (RFC 5681, section 4.2).
const LONGEST_ACK_DELAY: Duration = Duration::from_millis(500);
/// The window that a sender may fill, in segments: no limit in practice.
const WINDOW: u32 = 1 << 20;

/// What long-lived and short flows have in common.
struct CommonKeys<'a> {
    at: Range<usize>,
    name: &'a Option<String>,
    class: &'a Spanned<String>,
    route: &'a Spanned<Vec<String>>,
    rtt: &'a Spanned<Text<RoundTrips>>,
    variant: Variant,
    ecn: bool,
    packet: &'a Option<Spanned<Text<Bytes>>>,
    access: Option<Text<Access>>,
    delayed_ack: &'a Option<Spanned<Text<Span>>>,
    min_rto: &'a Option<Spanned<Text<Duration>>>,
}

/// Those of a table of either kind.
macro_rules! common_keys {
    ($table:expr) => {
        CommonKeys {
            at: $table.span(),
            name: &$table.get_ref().name,
            class: &$table.get_ref().class,
            route: &$table.get_ref().route,
            rtt: &$table.get_ref().rtt,
            variant: $table.get_ref().variant,
            ecn: $table.get_ref().ecn,
            packet: &$table.get_ref().packet,
            access: $table.get_ref().access,
            delayed_ack: &$table.get_ref().delayed_ack,
            min_rto: &$table.get_ref().min_rto,
        }
    };
}

impl NetworkScenario {
    /// That there are no more groups than may be.
    pub(super) fn check_groups(&self) -> Result<(), ScenarioError> {
        let mut places = self.file.tcp.iter().map(Spanned::span).chain(self.file.web.iter().map(Spanned::span));
        let count = self.file.tcp.len() + self.file.web.len();
        match places.nth(limits::MOST_GROUPS) {
            Some(place) => {
                let most = limits::MOST_GROUPS;
                Err(self.error(place, format!("there are {count} groups of flows: expected at most {most}")))
            }
            None => Ok(()),
        }
    }

    pub(super) fn read_groups(&self) -> Result<Vec<Group>, ScenarioError> {
        let mut groups: Vec<Group> = Vec::new();
        for tcp in &self.file.tcp {
            let written = tcp.get_ref();
            let count = self.count(written, &groups)?;
            let start = written.start.as_ref().map_or(Time::ZERO, |start| start.get_ref().0);
            let spread = written.spread.as_ref().map_or(Duration::ZERO, |spread| spread.get_ref().0);
            let RoundTrips(rtt) = written.rtt.get_ref().0;
            let traffic = Traffic::LongLived { class: groups.len() as u32, count, start, spread, rtt };
            let last = traffic.start(u64::from(count) - 1).unwrap_or(start);
            self.check_starts(written, [start, last], rtt)?;
            groups.push(self.group(&groups, &common_keys!(tcp), traffic)?);
        }
        for web in &self.file.web {
            let written = web.get_ref();
            let within = |value: &Option<Spanned<f64>>, default: f64, range: Range<f64>, expected: &str| match value {
                Some(v) if !range.contains(v.get_ref()) => {
                    Err(self.error(v.span(), format!("{}: expected {expected}", number(*v.get_ref()))))
                }
                value => Ok(value.as_ref().map_or(default, |v| *v.get_ref())),
            };
            let mean_packets = within(&written.mean, 30.0, 1.0..1e9, "a mean length of 1 to 1e9 packets")?;
            let shape = within(&written.shape, 1.2, 1.0 + 1e-6..1e6, "a shape from 1.000001 to 1e6")?;
            let (FlowRate(rate), RoundTrips(rtt)) = (written.rate.get_ref().0, written.rtt.get_ref().0);
            limits::unheard(rtt, Time::ZERO, self.until())
                .map_err(|message| self.error(written.rtt.span(), message))?;
            let traffic = Traffic::Web { class: groups.len() as u32, rate, mean_packets, shape, rtt };
            let group = self.group(&groups, &common_keys!(web), traffic)?;
            let least_packets = shortest(mean_packets, shape).ceil().max(1.0);
            limits::crowd(&group, &self.resources, rate, (rtt.min, self.until()), least_packets)
                .map_err(|message| self.error(written.rate.span(), message))?;
            groups.push(group);
        }
        if groups.is_empty() {
            let message = "there is no [[tcp]] and no [[web]]: nothing crosses the network";
            return Err(ScenarioError::new(&self.label, message));
        }
        Ok(groups)
    }

    /// How many long-lived flows there are beside those of the groups before.
    fn count(&self, tcp: &Tcp, before: &[Group]) -> Result<u32, ScenarioError> {
        let Some(written) = &tcp.count else { return Ok(1) };
        let others: u32 = before.iter().filter_map(Group::long_lived).sum();
        let (count, most) = (written.get_ref().0, MOST_FLOWS.saturating_sub(others));
        if count <= most {
            return Ok(count);
        }
        let message = format!("count = {count}: expected at most {most} beside the {others} flows before");
        Err(self.error(written.span(), message))
    }

    /// That all flows start within the run, and the first hears of its receiver.
    fn check_starts(&self, tcp: &Tcp, [first, last]: [Time; 2], rtt: RoundTrip) -> Result<(), ScenarioError> {
        let until = self.until();
        if let Some(written) = tcp.start.as_ref().filter(|_| first >= until) {
            return Err(self.error(written.span(), format!("the flows start at {first}, and the run ends at {until}")));
        }
        if let Some(written) = tcp.spread.as_ref().filter(|_| last >= until) {
            return Err(self.error(written.span(), format!("the last starts at {last}, and the run ends at {until}")));
        }
        limits::unheard(rtt, first, until).map_err(|message| self.error(tcp.rtt.span(), message))
    }

    fn group(&self, before: &[Group], flow: &CommonKeys<'_>, traffic: Traffic) -> Result<Group, ScenarioError> {
        let classes: Vec<&str> = self.file.class.iter().map(|c| c.get_ref().name.as_str()).collect();
        let written = self.file.class.iter().find(|c| c.get_ref().name == *flow.class.get_ref());
        let Some(class) = written.map(Spanned::get_ref) else {
            return Err(self.error(flow.class.span(), unknown("class", flow.class.get_ref(), &classes)));
        };
        let name = flow.name.clone().unwrap_or_else(|| class.name.clone());
        check_name(&name).map_err(|m| self.error(flow.at.clone(), m))?;
        if before.iter().any(|g| g.name == name) {
            let message = format!("there are two groups {name:?}: give one another name");
            return Err(self.error(flow.at.clone(), message));
        }
        let bytes = flow.packet.as_ref().map_or(PACKET_BYTES, |p| p.get_ref().0.0);
        if let Some(packet) = flow.packet.as_ref().filter(|_| !(41..=65_535).contains(&bytes)) {
            return Err(self.error(
                packet.span(),
                format!("a packet of {bytes} bytes: expected 41 to 65535, of which 40 are headers"),
            ));
        }
        let route = self.route(flow.route)?;
        let way = route.iter().fold(Duration::ZERO, |sum, &hop| sum + self.resources[hop].delay);
        let RoundTrips(rtt) = flow.rtt.get_ref().0;
        if rtt.min.divided_by(2) < way {
            let (trip, least) = (rtt.min, way + way);
            let message = format!(
                "a round trip of {trip} is too short: the route takes {way} one way; expected at least {least}"
            );
            return Err(self.error(flow.rtt.span(), message));
        }
        let (density, access, acks) = (class.density.0, flow.access.and_then(|access| access.0.0), self.acks(flow)?);
        let (class, tcp) = (class.name.clone(), self.sender(flow)?);
        Ok(Group { name, class, density, route, packet_bytes: bytes as u32, access, tcp, acks, traffic })
    }

    fn sender(&self, flow: &CommonKeys<'_>) -> Result<Config, ScenarioError> {
        let config = match flow.variant {
            Variant::Reno => Config::rfc(tcp::Variant::Reno),
            Variant::Newreno => Config::rfc(tcp::Variant::NewReno),
            Variant::Cubic => Config::rfc(tcp::Variant::Cubic),
            Variant::Ns2Reno => Config::ns2(tcp::Variant::Reno, Duration::ZERO),
            Variant::Ns2Newreno => Config::ns2(tcp::Variant::NewReno, Duration::ZERO),
        };
        let min_rto = flow.min_rto.as_ref().map_or(config.min_rto, |written| written.get_ref().0);
        if let Some(written) = flow.min_rto.as_ref().filter(|_| min_rto > config.max_rto) {
            let message = format!("min_rto = {min_rto}: expected at most {}, the longest timeout", config.max_rto);
            return Err(self.error(written.span(), message));
        }
        Ok(Config { ecn: flow.ecn, window_limit: WINDOW, min_rto, ..config })
    }

    fn acks(&self, flow: &CommonKeys<'_>) -> Result<AckPolicy, ScenarioError> {
        let Some(written) = flow.delayed_ack else { return Ok(AckPolicy::EverySegment) };
        let Span(timeout) = written.get_ref().0;
        if timeout > LONGEST_ACK_DELAY {
            let message = format!("delayed_ack = {timeout}: expected at most {LONGEST_ACK_DELAY} (RFC 5681)");
            return Err(self.error(written.span(), message));
        }
        Ok(AckPolicy::Delayed { timeout })
    }

    /// The resources of these boxes.
    fn route(&self, route: &Spanned<Vec<String>>) -> Result<Vec<usize>, ScenarioError> {
        if route.get_ref().is_empty() || route.get_ref().len() > 100 {
            let message = format!("a route passes 1 to 100 boxes, not {}", route.get_ref().len());
            return Err(self.error(route.span(), message));
        }
        let boxes: Vec<&str> = self.file.hop.iter().map(|h| h.get_ref().name.as_str()).collect();
        let mut found = Vec::new();
        for (k, name) in route.get_ref().iter().enumerate() {
            let Some(index) = boxes.iter().position(|b| b == name) else {
                return Err(self.error(route.span(), unknown("hop", name, &boxes)));
            };
            if route.get_ref()[..k].contains(name) {
                return Err(self.error(route.span(), format!("the route passes {name:?} twice")));
            }
            let before: usize = self.file.hop[..index].iter().map(|h| count(h.get_ref())).sum();
            found.extend(before..before + count(self.file.hop[index].get_ref()));
        }
        Ok(found)
    }
}
