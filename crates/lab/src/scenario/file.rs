//! Scenarios as they are written.

use std::path::PathBuf;

use dovetail_config::{InputError, Read, Span, Text, Whole};
use dovetail_units::{Bytes, Duration, PacketRate};
use serde::Deserialize;
use toml::Spanned;

use super::{Group, Scenario, Step};
use crate::lab::{MTUS, Offloads, Options};
use crate::traffic::{Ip, TcpFlow, UdpFlow};

/// The most flows of a group.
const MOST: u32 = 4_096;

/// A whole scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// One line for reports.
    #[serde(default)]
    title: String,
    /// The configuration of the box, a file beside this one.
    live: PathBuf,
    /// How long traffic goes on in each step before it is measured. Default 1 s.
    warm_up: Option<Text<Duration>>,
    #[serde(default)]
    lab: Lab,
    /// What is done one after another.
    step: Spanned<Vec<FileStep>>,
    #[serde(default)]
    udp: Vec<Udp>,
    #[serde(default)]
    tcp: Vec<Tcp>,
}

/// The network.
#[derive(Clone, Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Lab {
    /// Bytes. Default 1500.
    mtu: Option<Whole<{ *MTUS.start() as u32 }, { *MTUS.end() as u32 }>>,
    /// Congestion control of all connections. Default reno.
    congestion_control: Option<String>,
    /// Whether connections use ECN. Default yes.
    ecn: Option<bool>,
    /// Whether client and server leave checksums to their cards, as the kernel sets it. Default yes.
    checksum_offload: Option<bool>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileStep {
    /// One line for reports. Default what is set.
    title: Option<String>,
    /// Changes of the box's configuration, such as `scheduler=drfq`.
    #[serde(default)]
    set: Vec<String>,
    /// How long to measure, after the warm-up.
    time: Text<Span>,
}

/// UDP flows at a constant rate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Udp {
    /// The class that the box takes them for.
    class: Spanned<String>,
    /// Number of flows. Default 1.
    count: Option<Whole<1, MOST>>,
    /// The server's port.
    port: u16,
    /// Default v4.
    #[serde(default)]
    ip: FileIp,
    /// Length of their frames, with the Ethernet header.
    frame: Spanned<Text<Bytes>>,
    /// Of each flow.
    rate: Text<PacketRate>,
}

/// TCP connections that always have something to send.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tcp {
    /// The class that the box takes them for.
    class: Spanned<String>,
    /// Number of connections. Default 1.
    count: Option<Whole<1, MOST>>,
    /// The server's port.
    port: u16,
    /// Default v4.
    #[serde(default)]
    ip: FileIp,
    /// Longest segment in bytes. Default what the MTU allows.
    mss: Option<Spanned<u16>>,
    /// They start evenly spread over this time. Default all at once.
    spread: Option<Text<Duration>>,
}

#[derive(Clone, Copy, Debug, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
enum FileIp {
    #[default]
    V4,
    V6,
}

impl From<FileIp> for Ip {
    fn from(ip: FileIp) -> Self {
        match ip {
            FileIp::V4 => Self::V4,
            FileIp::V6 => Self::V6,
        }
    }
}

/// Makes errors at places of the file.
struct Places<'a> {
    name: &'a str,
    text: &'a str,
}

impl Places<'_> {
    fn at<T>(&self, at: &Spanned<T>, message: impl Into<String>) -> InputError {
        InputError::at(self.name, self.text, at.span(), message)
    }
}

pub fn parse(name: &str, text: &str, overrides: &[String]) -> Result<Scenario, InputError> {
    let Read { label, text, file } = dovetail_config::read::<File>(name, text, overrides)?;
    let places = Places { name: &label, text: &text };
    let mut groups: Vec<Group> = Vec::new();
    let mut add = |class: &Spanned<String>, group: Group| {
        if groups.iter().any(|g| g.class == group.class) {
            return Err(places.at(class, format!("{:?}: its flows are given twice", group.class)));
        }
        groups.push(group);
        Ok(())
    };
    for udp in &file.udp {
        add(&udp.class, udp.group(&places)?)?;
    }
    for tcp in &file.tcp {
        add(&tcp.class, tcp.group(&places)?)?;
    }
    if groups.is_empty() {
        return Err(InputError::new(name, "there is no traffic: expected [[udp]] or [[tcp]]"));
    }
    if file.step.get_ref().is_empty() {
        return Err(places.at(&file.step, "expected at least one step"));
    }
    Ok(Scenario {
        title: file.title,
        live: file.live,
        options: file.lab.options(),
        warm_up: file.warm_up.map_or(Duration::from_secs(1), |time| time.0),
        steps: file.step.into_inner().into_iter().map(FileStep::step).collect(),
        groups,
    })
}

impl Lab {
    fn options(self) -> Options {
        let default = Options::default();
        Options {
            mtu: self.mtu.map_or(default.mtu, |mtu| mtu.0 as u16),
            congestion_control: self.congestion_control.unwrap_or_else(|| default.congestion_control.clone()),
            ecn: self.ecn.unwrap_or(default.ecn),
            offloads: if self.checksum_offload == Some(false) { Offloads::Off } else { default.offloads },
            ..default
        }
    }
}

impl FileStep {
    fn step(self) -> Step {
        let title = self.title.unwrap_or_else(|| match self.set.is_empty() {
            true => "as configured".to_string(),
            false => self.set.join(", "),
        });
        Step { title, set: self.set, time: self.time.0.0 }
    }
}

impl Udp {
    fn group(&self, places: &Places) -> Result<Group, InputError> {
        let count = self.count.map_or(1, |count| count.0);
        let class = self.class.get_ref().clone();
        let flow = UdpFlow {
            name: class.clone(),
            port: self.port,
            ip: self.ip.into(),
            frame: self.frame.get_ref().0,
            rate: self.rate.0,
        };
        flow.check().map_err(|error| places.at(&self.frame, error.to_string()))?;
        Ok(Group { class, udp: vec![flow; count as usize], tcp: Vec::new() })
    }
}

impl Tcp {
    fn group(&self, places: &Places) -> Result<Group, InputError> {
        let count = self.count.map_or(1, |count| count.0);
        let class = self.class.get_ref().clone();
        if let Some(mss) = &self.mss
            && *mss.get_ref() < 88
        {
            return Err(places.at(mss, format!("{}: Linux takes segments of at least 88 bytes", mss.get_ref())));
        }
        let spread = self.spread.as_ref().map_or(Duration::ZERO, |spread| spread.0);
        let flow = |k: u32| TcpFlow {
            name: class.clone(),
            port: self.port,
            ip: self.ip.into(),
            start: spread.saturating_mul(k.into()).divided_by(count.into()),
            mss: self.mss.as_ref().map(|mss| *mss.get_ref()),
            congestion_control: None,
        };
        Ok(Group { udp: Vec::new(), tcp: (0..count).map(flow).collect(), class: class.clone() })
    }
}
