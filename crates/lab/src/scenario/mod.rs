//! Lab scenarios: a lab, a box, traffic, and what is changed on the way.

mod fair;
mod file;
mod groups;
mod theory;

use std::path::{Path, PathBuf};

use dovetail_config::InputError;
use dovetail_units::Duration;

use crate::lab::Options;
use crate::traffic::{TcpFlow, UdpFlow};

pub use fair::{Demand, RESOURCES, fair_shares};
pub use groups::{Group, GroupReport, Measured, Traffic};
pub use theory::Theory;

/// A scenario that was read and checked.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// One line for reports; may be empty.
    pub title: String,
    /// The configuration of the box, from where the scenario stands.
    pub live: PathBuf,
    /// What the lab is to be like.
    pub options: Options,
    /// How long traffic goes on in each step before it is measured.
    pub warm_up: Duration,
    /// What is done one after another, at least one step.
    pub steps: Vec<Step>,
    /// What is sent, at least one group.
    pub groups: Vec<Group>,
}

/// One setting of the box, measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// One line for reports.
    pub title: String,
    /// Changes of the box's configuration, as for `--set`.
    pub set: Vec<String>,
    /// How long to measure, after the warm-up.
    pub time: Duration,
}

/// A scenario that the program brings with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuiltIn {
    /// What to ask for.
    pub name: &'static str,
    /// The scenario.
    pub text: &'static str,
    /// The name that the scenario has for the configuration of its box.
    pub live: &'static str,
    /// The configuration of its box.
    pub config: &'static str,
}

macro_rules! built_in {
    ($name:literal) => {
        BuiltIn {
            name: $name,
            text: include_str!(concat!("../../../../scenarios/lab/", $name, ".toml")),
            live: concat!($name, "-box.toml"),
            config: include_str!(concat!("../../../../scenarios/lab/", $name, "-box.toml")),
        }
    };
}

/// All of them.
pub const BUILT_IN: [BuiltIn; 7] = [
    built_in!("starving-tunnel"),
    built_in!("click"),
    built_in!("steer"),
    built_in!("elephants"),
    built_in!("gateway"),
    built_in!("tcp-drq"),
    built_in!("accelerator"),
];

impl Scenario {
    /// Read the scenario of this name (the path of its file) and text, with `--set` overrides, and check it.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(name: &str, text: &str, overrides: &[String]) -> Result<Self, InputError> {
        let folder = Path::new(name).parent().unwrap_or(Path::new(""));
        file::parse(name, text, overrides).map(|scenario| Self { live: folder.join(&scenario.live), ..scenario })
    }

    /// All UDP flows.
    pub fn udp(&self) -> Vec<UdpFlow> {
        self.groups.iter().flat_map(|group| group.udp.iter().cloned()).collect()
    }

    /// All TCP flows.
    pub fn tcp(&self) -> Vec<TcpFlow> {
        self.groups.iter().flat_map(|group| group.tcp.iter().cloned()).collect()
    }
}
