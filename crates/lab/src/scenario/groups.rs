//! A scenario's traffic, measured by groups of flows.

use dovetail_units::Duration;
use hdrhistogram::Histogram;

use super::Scenario;
use crate::error::LabError;
use crate::lab::Lab;
use crate::traffic::{TcpFlow, TcpReport, TcpRun, UdpFlow, UdpReport, UdpRun};

/// Flows of one class: either UDP or TCP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// The class that the box takes them for.
    pub class: String,
    /// UDP flows.
    pub udp: Vec<UdpFlow>,
    /// Or TCP flows.
    pub tcp: Vec<TcpFlow>,
}

impl Group {
    /// Frames that its flows send in a second; `None` is as many as they can.
    pub fn offered(&self) -> Option<f64> {
        self.tcp.is_empty().then(|| self.udp.iter().map(|flow| flow.rate.as_pps()).sum())
    }
}

/// What became of a group in a window.
#[derive(Clone, Debug)]
pub struct GroupReport {
    /// Its class.
    pub class: String,
    /// Bits per second of each flow that came to the server: of UDP whole frames, of TCP what the program has read.
    pub goodput: Vec<f64>,
    /// Frames per second that came to the server, all flows together; of TCP as many full segments as what was read makes.
    pub frames: f64,
    /// Part of UDP frames that were lost, 0 to 1; `None` of TCP, and if none came.
    pub lost: Option<f64>,
    /// One-way latency of UDP frames, nanoseconds; `None` of TCP.
    pub latency: Option<Histogram<u64>>,
    /// Mean of the round-trip times that TCP has measured; `None` of UDP.
    pub rtt: Option<Duration>,
    /// Frames that were due and that the generator was too slow for.
    pub missed: u64,
    /// Segments sent again.
    pub retransmitted: u64,
    /// Connections of which both ends use ECN, by the kernel's account.
    pub ecn: usize,
    /// Bits of a frame that goodput counts: of UDP all, of TCP the data of a full segment.
    pub counted: f64,
}

/// What became of a scenario's traffic in a window.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Each group.
    pub groups: Vec<GroupReport>,
    /// Packets with a congestion mark that came to the server, by its kernel's account; `None` without TCP.
    pub marked: Option<u64>,
}

/// A scenario's traffic under way. Dropping it stops it.
#[derive(Debug)]
pub struct Traffic<'a> {
    groups: &'a [Group],
    udp: Option<UdpRun<'a>>,
    tcp: Option<TcpRun<'a>>,
}

impl<'a> Traffic<'a> {
    /// Start all flows of `scenario` in `lab`.
    ///
    /// # Errors
    /// As [`Lab::udp`] and [`Lab::tcp`].
    pub fn start(lab: &'a Lab, scenario: &'a Scenario) -> Result<Self, LabError> {
        let (udp, tcp) = (scenario.udp(), scenario.tcp());
        Ok(Self {
            groups: &scenario.groups,
            udp: if udp.is_empty() { None } else { Some(lab.udp(&udp)?) },
            tcp: if tcp.is_empty() { None } else { Some(lab.tcp(&tcp)?) },
        })
    }

    /// What became of each group since the start or the last call.
    ///
    /// # Errors
    /// As [`UdpRun::measure`] and [`TcpRun::measure`].
    pub fn measure(&mut self) -> Result<Measured, LabError> {
        let udp = self.udp.as_mut().map(UdpRun::measure).transpose()?;
        let tcp = self.tcp.as_mut().map(TcpRun::measure).transpose()?;
        // Flows stand in the order of the groups.
        let (mut udp_flows, mut tcp_flows) = (0, 0);
        let mut reports = Vec::with_capacity(self.groups.len());
        for group in self.groups {
            reports.push(match (&udp, &tcp) {
                (Some(report), _) if !group.udp.is_empty() => of_udp(group, report, udp_flows),
                (_, Some(report)) => of_tcp(group, report, tcp_flows),
                _ => continue,
            });
            udp_flows += group.udp.len();
            tcp_flows += group.tcp.len();
        }
        Ok(Measured { groups: reports, marked: tcp.map(|report| report.marked) })
    }
}

fn of_udp(group: &Group, report: &UdpReport, first: usize) -> GroupReport {
    let range = first..first + group.udp.len();
    let flows = &report.flows[range.clone()];
    let mut latency = flows[0].latency.clone();
    // All histograms are alike, so that they can be added.
    flows[1..].iter().for_each(|flow| latency.add(&flow.latency).unwrap_or_default());
    let received: u64 = flows.iter().map(|flow| flow.received).sum();
    let lost: i64 = flows.iter().map(|flow| flow.lost).sum();
    let of = received as i64 + lost;
    GroupReport {
        class: group.class.clone(),
        goodput: range.map(|k| report.rate(k).map_or(0.0, |rate| rate.as_bps() as f64)).collect(),
        frames: received as f64 / report.window.as_secs_f64(),
        lost: (of > 0).then(|| lost as f64 / of as f64),
        latency: Some(latency),
        rtt: None,
        missed: flows.iter().map(|flow| flow.missed).sum(),
        retransmitted: 0,
        ecn: 0,
        counted: group.udp[0].frame.0 as f64 * 8.0,
    }
}

fn of_tcp(group: &Group, report: &TcpReport, first: usize) -> GroupReport {
    let range = first..first + group.tcp.len();
    let flows = &report.flows[range.clone()];
    let segments = flows.iter().map(|flow| flow.bytes as f64 / f64::from(flow.segment.max(1)));
    let rtt: Duration = flows.iter().map(|flow| flow.rtt).sum();
    GroupReport {
        class: group.class.clone(),
        goodput: range.map(|k| report.goodput(k).map_or(0.0, |rate| rate.as_bps() as f64)).collect(),
        frames: segments.sum::<f64>() / report.window.as_secs_f64(),
        lost: None,
        latency: None,
        rtt: Some(rtt.divided_by(flows.len() as u64)),
        missed: 0,
        retransmitted: flows.iter().map(|flow| flow.retransmitted).sum(),
        ecn: flows.iter().filter(|flow| flow.ecn).count(),
        counted: flows.iter().map(|flow| f64::from(flow.segment)).sum::<f64>() / flows.len() as f64 * 8.0,
    }
}
