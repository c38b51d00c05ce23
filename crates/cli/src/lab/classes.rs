//! The classes of a scenario's flows, by the box's configuration.

use std::net::IpAddr;

use dovetail_config::{InputError, unknown};
use dovetail_dataplane::classes::ClassTable;
use dovetail_dataplane::core::Setup;
use dovetail_lab::scenario::{Group, Scenario};
use dovetail_lab::traffic::Ip;
use dovetail_lab::{CLIENT_V4, CLIENT_V6, SERVER_V4, SERVER_V6};
use dovetail_wire::{FiveTuple, Marks, Ports};

use super::inside::Source;
use crate::failure::Failure;

/// Whether the box can be what every step wants it to be, knows the classes, and takes each group's flows for its own:
/// before anything is made.
pub fn check(scenario: &Scenario, source: &Source) -> Result<(), Failure> {
    for step in &scenario.steps {
        let setup = source.config(&step.set).and_then(|config| config.setup()).map_err(Failure::input)?;
        let Setup { classes, table, .. } = setup;
        let classes: Vec<&str> =
            classes.iter().filter(|class| !class.built_in).map(|class| class.name.as_str()).collect();
        for group in &scenario.groups {
            let class = &group.class;
            let wrong = |message: String| InputError::new(&source.name, message);
            let place = classes.iter().position(|known| known == class);
            let place = place.ok_or_else(|| Failure::input(wrong(unknown("class", class, &classes))))?;
            let flow = Visible::of(group);
            if let Some(other) = flow.other_class(&table, place) {
                let message = format!("the flows of {class:?} would be of class {:?}", classes[other]);
                let help = format!("{} must match a rule of {class:?}, and none of a class before it", flow.told());
                return Err(Failure::input(wrong(message).with_help(help)));
            }
        }
    }
    Ok(())
}

/// What rules can see of a group's flows.
struct Visible {
    protocol: (&'static str, u8),
    ip: Ip,
    port: u16,
}

impl Visible {
    fn of(group: &Group) -> Self {
        // A group has either.
        let udp = group.udp.first().map(|flow| (("UDP", 17), flow.ip, flow.port));
        let tcp = group.tcp.first().map(|flow| (("TCP", 6), flow.ip, flow.port));
        let (protocol, ip, port) = udp.or(tcp).unwrap_or((("UDP", 17), Ip::V4, 0));
        Self { protocol, ip, port }
    }

    /// For messages.
    fn told(&self) -> String {
        format!("{} from {} to {}, port {}", self.protocol.0, self.client(), self.server(), self.port)
    }

    fn client(&self) -> IpAddr {
        match self.ip {
            Ip::V4 => CLIENT_V4.into(),
            Ip::V6 => CLIENT_V6.into(),
        }
    }

    fn server(&self) -> IpAddr {
        match self.ip {
            Ip::V4 => SERVER_V4.into(),
            Ip::V6 => SERVER_V6.into(),
        }
    }

    /// The class of its frames, if that is never the one at this place. The client's kernel chooses their source port,
    /// and fragments have none.
    fn other_class(&self, table: &ClassTable, place: usize) -> Option<usize> {
        let class = |source: Option<u16>| {
            let ports = source.map(|src| Ports { src, dst: self.port });
            let tuple = FiveTuple { src: self.client(), dst: self.server(), protocol: self.protocol.1, ports };
            usize::from(table.class(Some(&tuple), Marks::default()))
        };
        let mut sources = (1..=u16::MAX).map(Some).chain([None]);
        (!sources.any(|source| class(source) == place)).then(|| class(Some(u16::MAX)))
    }
}
