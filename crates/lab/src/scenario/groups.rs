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
    /// How long the window was.
    pub window: Duration,
    /// Bytes of each flow that came to the server: of UDP whole frames, of TCP what the program has read.
    pub bytes: Vec<u64>,
    /// UDP frames that left the client.
    pub sent: u64,
    /// UDP frames that came to the server.
    pub received: u64,
    /// UDP frames that were lost; negative where more came late than were lost.
    pub lost: i64,
    /// One-way latency of UDP frames, nanoseconds; `None` of TCP.
    pub latency: Option<Histogram<u64>>,
    /// Mean of the round-trip times that TCP has measured, at the end of the window; `None` of UDP.
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

impl GroupReport {
    /// Bits per second of each flow.
    pub fn goodput(&self) -> Vec<f64> {
        self.bytes.iter().map(|&bytes| 8.0 * bytes as f64 / self.window.as_secs_f64()).collect()
    }

    /// Part of UDP frames that were lost, 0 to 1; `None` of TCP, and if none came.
    pub fn lost_part(&self) -> Option<f64> {
        let sent = self.received as i64 + self.lost;
        (sent > 0).then(|| self.lost as f64 / sent as f64)
    }

    fn and(self, later: Self) -> Self {
        let mut latency = later.latency;
        if let (Some(sum), Some(latency)) = (&mut latency, &self.latency) {
            // All histograms are alike, so that they can be added.
            sum.add(latency).unwrap_or_default();
        }
        Self {
            class: later.class,
            window: self.window + later.window,
            bytes: self.bytes.iter().zip(later.bytes).map(|(bytes, later)| bytes + later).collect(),
            sent: self.sent + later.sent,
            received: self.received + later.received,
            lost: self.lost + later.lost,
            latency,
            rtt: later.rtt,
            missed: self.missed + later.missed,
            retransmitted: self.retransmitted + later.retransmitted,
            ecn: later.ecn,
            counted: later.counted,
        }
    }
}

/// What became of a scenario's traffic in a window.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Each group.
    pub groups: Vec<GroupReport>,
    /// Packets with a congestion mark that came to the server, by its kernel's account; `None` without TCP.
    pub marked: Option<u64>,
}

impl Measured {
    /// What became of the traffic in this window and in a later one together, without what was between them.
    pub fn and(self, later: Self) -> Self {
        let groups = self.groups.into_iter().zip(later.groups).map(|(group, later)| group.and(later)).collect();
        Self { groups, marked: self.marked.zip(later.marked).map(|(marked, later)| marked + later) }
    }
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
    let flows = &report.flows[first..first + group.udp.len()];
    let mut latency = flows[0].latency.clone();
    // All histograms are alike, so that they can be added.
    flows[1..].iter().for_each(|flow| latency.add(&flow.latency).unwrap_or_default());
    GroupReport {
        class: group.class.clone(),
        window: report.window,
        bytes: flows.iter().map(|flow| flow.bytes).collect(),
        sent: flows.iter().map(|flow| flow.sent).sum(),
        received: flows.iter().map(|flow| flow.received).sum(),
        lost: flows.iter().map(|flow| flow.lost).sum(),
        latency: Some(latency),
        rtt: None,
        missed: flows.iter().map(|flow| flow.missed).sum(),
        retransmitted: 0,
        ecn: 0,
        counted: group.udp[0].frame.0 as f64 * 8.0,
    }
}

fn of_tcp(group: &Group, report: &TcpReport, first: usize) -> GroupReport {
    let flows = &report.flows[first..first + group.tcp.len()];
    let rtt: Duration = flows.iter().map(|flow| flow.rtt).sum();
    GroupReport {
        class: group.class.clone(),
        window: report.window,
        bytes: flows.iter().map(|flow| flow.bytes).collect(),
        sent: 0,
        received: 0,
        lost: 0,
        latency: None,
        rtt: Some(rtt.divided_by(flows.len() as u64)),
        missed: 0,
        retransmitted: flows.iter().map(|flow| flow.retransmitted).sum(),
        ecn: flows.iter().filter(|flow| flow.ecn).count(),
        counted: flows.iter().map(|flow| f64::from(flow.segment)).sum::<f64>() / flows.len() as f64 * 8.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(window: u64, bytes: [u64; 2], (received, lost): (u64, i64), latencies: &[u64]) -> GroupReport {
        let mut latency = Histogram::new_with_bounds(1_000, 60_000_000_000, 2).unwrap();
        latencies.iter().for_each(|&nanos| latency.record(nanos).unwrap());
        GroupReport {
            class: "voice".into(),
            window: Duration::from_secs(window),
            bytes: bytes.to_vec(),
            sent: 10 * window,
            received,
            lost,
            latency: Some(latency),
            rtt: None,
            missed: window,
            retransmitted: 0,
            ecn: 0,
            counted: 800.0,
        }
    }

    #[test]
    fn windows_are_summed_up() {
        let measured = |group, marked| Measured { groups: vec![group], marked: Some(marked) };
        let first = measured(group(1, [1_000, 0], (9, 3), &[5_000, 5_000]), 3);
        let later = measured(group(3, [5_000, 2_000], (71, -3), &[9_000_000]), 4);
        let Measured { groups, marked } = first.and(later);
        let [sum] = groups.as_slice() else { panic!("{groups:?}") };
        // 6,000 and 2,000 bytes in four seconds; what was taken for lost came in the second.
        assert_eq!((sum.goodput(), sum.lost_part()), (vec![12_000.0, 4_000.0], Some(0.0)));
        let latency = sum.latency.as_ref().unwrap();
        assert_eq!((latency.len(), latency.value_at_quantile(0.5)), (3, latency.lowest_equivalent(5_000) + 511));
        assert_eq!((latency.max() / 100_000, sum.sent, sum.missed, marked), (90, 40, 4, Some(7)));
        let mut lossy = group(1, [0, 0], (9, 3), &[]);
        assert_eq!(lossy.lost_part(), Some(0.25));
        (lossy.received, lossy.lost) = (0, 0);
        assert_eq!(lossy.lost_part(), None);
    }

    /// What TCP tells of its state is that at the end.
    #[test]
    fn connections_are_as_they_are_at_the_end() {
        let connection = |rtt, retransmitted, ecn| {
            let rtt = Some(Duration::from_millis(rtt));
            GroupReport { latency: None, rtt, retransmitted, ecn, ..group(1, [0, 0], (0, 0), &[]) }
        };
        let sum = connection(10, 5, 1).and(connection(30, 7, 2));
        assert_eq!((sum.rtt, sum.retransmitted, sum.ecn), (Some(Duration::from_millis(30)), 12, 2));
        assert_eq!((sum.latency.is_none(), sum.lost_part()), (true, None));
    }
}
