//! What happens to a running box, for its log: links that go down and come up, troubles of ports and drops that
//! begin, go on and end.
//!
//! However fast frames are lost, there are few lines: each kind of loss has one when it begins, one a minute while it
//! goes on, and one when it is over.

use std::collections::BTreeMap;

use dovetail_units::{Duration, Time};
use log::{Level, error, info, log, warn};

use crate::core::{Drops, PortSnapshot};
use crate::live::Live;
use crate::port::LinkState;
use crate::trouble::{self, What};

/// Looks at ports and accounts so often: a look is a few system calls.
const EVERY: Duration = Duration::from_secs(1);

/// What has not happened for so long is over.
const QUIET: Duration = Duration::from_secs(10);

/// What goes on is told again so often.
const AGAIN: Duration = Duration::from_secs(60);

/// The log's targets, so that each has a limit of its own.
pub mod target {
    /// Links.
    pub const LINK: &str = "link";
    /// What ports lose.
    pub const PORT: &str = "port";
    /// What the box drops.
    pub const DROP: &str = "drop";
    /// What is changed while the box runs.
    pub const CONTROL: &str = "control";
    /// Configurations that are read again.
    pub const RELOAD: &str = "reload";
    /// What modules write down for the next box.
    pub const STATE: &str = "state";
    /// Captures and traces of what passes.
    pub const RECORD: &str = "record";
    /// Accounts that do not come out.
    pub const ACCOUNT: &str = "account";
}

/// A loss that goes on.
#[derive(Clone, Copy, Debug)]
struct Episode {
    begun: Time,
    latest: Time,
    told: Time,
    /// Frames since it began, and since it was told of.
    frames: u64,
    new: u64,
}

/// What is to be said of a loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Said {
    Begins(u64),
    GoesOn(u64, Duration),
    Over(u64, Duration),
}

/// Losses of some kinds.
#[derive(Debug)]
struct Losses<K>(BTreeMap<K, Episode>);

impl<K: Ord + Clone> Losses<K> {
    fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// So many frames more of this kind were lost until `now`; what is to be said.
    fn lost(&mut self, now: Time, kind: K, frames: u64) -> Option<Said> {
        if frames == 0 {
            return None;
        }
        let Some(episode) = self.0.get_mut(&kind) else {
            self.0.insert(kind, Episode { begun: now, latest: now, told: now, frames, new: 0 });
            return Some(Said::Begins(frames));
        };
        episode.latest = now;
        episode.frames += frames;
        episode.new += frames;
        let since = now.since(episode.told);
        if since < AGAIN {
            return None;
        }
        let new = std::mem::take(&mut episode.new);
        episode.told = now;
        Some(Said::GoesOn(new, since))
    }

    /// What is over.
    fn over(&mut self, now: Time) -> Vec<(K, Said)> {
        let is_over = |episode: &Episode| now.since(episode.latest) >= QUIET;
        let ended: Vec<K> =
            self.0.iter().filter(|(_, episode)| is_over(episode)).map(|(kind, _)| kind.clone()).collect();
        let over = |kind: K| {
            let episode = self.0.remove(&kind)?;
            // Until the look before, at the latest.
            Some((kind, Said::Over(episode.frames, episode.latest.since(episode.begun))))
        };
        ended.into_iter().filter_map(over).collect()
    }
}

/// Looks at a box and writes its log.
#[derive(Debug)]
pub struct Watch {
    next: Time,
    ports: Option<[PortSnapshot; 2]>,
    drops: BTreeMap<&'static str, u64>,
    dropping: Losses<&'static str>,
    losing: Losses<(usize, What)>,
    unaccounted: i64,
    /// Too many frames wait for the port `out`.
    waits: bool,
}

const ENDS: [&str; 2] = ["in", "out"];

impl Default for Watch {
    fn default() -> Self {
        Self {
            next: Time::ZERO,
            ports: None,
            drops: BTreeMap::new(),
            dropping: Losses::new(),
            losing: Losses::new(),
            unaccounted: 0,
            waits: false,
        }
    }
}

impl Watch {
    /// Look, unless that was done less than a second ago. O(classes).
    pub fn look(&mut self, now: Time, live: &mut Live) {
        if now < self.next {
            return;
        }
        self.next = now + EVERY;
        let ports = live.ports();
        self.look_at_ports(now, &ports);
        self.look_at_waiting(&ports[1], live.waiting_for_port());
        self.look_at_drops(now, &live.drops());
        let unaccounted = live.unaccounted(&ports);
        if unaccounted != std::mem::replace(&mut self.unaccounted, unaccounted) {
            error!(target: target::ACCOUNT, "{unaccounted} frames are unaccounted for: please report this");
        }
    }

    fn look_at_ports(&mut self, now: Time, ports: &[PortSnapshot; 2]) {
        let before = self.ports.replace(ports.clone());
        for (end, port) in ports.iter().enumerate() {
            let earlier = before.as_ref().map(|ports| &ports[end]);
            log_link(ENDS[end], earlier.map(|port| port.link), port);
            for trouble in trouble::of_port(ENDS[end], earlier, port) {
                let said = self.losing.lost(now, (end, trouble.what), trouble.frames);
                match said {
                    Some(Said::Begins(frames)) => {
                        warn!(target: target::PORT, "{}", trouble.line(&trouble::amount(frames)));
                    }
                    Some(Said::GoesOn(frames, time)) => {
                        let amount = format!("{} in {} s", trouble::amount(frames), time.as_nanos() / 1_000_000_000);
                        warn!(target: target::PORT, "{}", trouble.line(&amount));
                    }
                    Some(Said::Over(..)) | None => {}
                }
            }
        }
        for ((end, what), said) in self.losing.over(now) {
            if let Said::Over(frames, _) = said {
                let (port, words) = (ENDS[end], what.words());
                info!(target: target::PORT, "port {port} ({}): no more frames {words}; {frames} were", ports[end].name);
            }
        }
    }

    fn look_at_waiting(&mut self, port: &PortSnapshot, frames: u64) {
        let trouble = trouble::of_waiting(port, frames);
        match (std::mem::replace(&mut self.waits, trouble.is_some()), trouble) {
            (false, Some(trouble)) => warn!(target: target::PORT, "{}", trouble.line(&trouble::amount(frames))),
            (true, None) => info!(target: target::PORT, "port out ({}): takes what the link brings again", port.name),
            _ => {}
        }
    }

    fn look_at_drops(&mut self, now: Time, drops: &Drops) {
        for (reason, count) in drops.iter() {
            let new = count - self.drops.insert(reason, count).unwrap_or(0);
            match self.dropping.lost(now, reason, new) {
                Some(Said::Begins(frames)) => {
                    let frames = trouble::amount(frames);
                    warn!(target: target::DROP, "drops begin, {reason}: {frames} in the last second");
                }
                Some(Said::GoesOn(frames, time)) => {
                    let (frames, seconds) = (trouble::amount(frames), time.as_nanos() / 1_000_000_000);
                    info!(target: target::DROP, "drops go on, {reason}: {frames} in the last {seconds} s");
                }
                Some(Said::Over(..)) | None => {}
            }
        }
        for (reason, said) in self.dropping.over(now) {
            if let Said::Over(frames, time) = said {
                let seconds = time.as_nanos().div_ceil(1_000_000_000).max(1);
                let frames = trouble::amount(frames);
                info!(target: target::DROP, "drops have ended, {reason}: {frames} in {seconds} s");
            }
        }
    }
}

/// A link that is not what it was; at the start one that carries nothing.
fn log_link(end: &str, before: Option<Option<LinkState>>, port: &PortSnapshot) {
    let Some(state) = port.link else { return };
    let (level, words) = match state {
        LinkState::Up => (Level::Info, "up"),
        LinkState::NoCarrier => (Level::Warn, "without carrier: look at the cable and at its other end"),
        LinkState::Down => (Level::Warn, "down"),
        LinkState::Gone => (Level::Error, "gone: its interface has been removed"),
    };
    let told = match before {
        // What is wrong at the start has been said then.
        None => return,
        Some(before) => before == port.link,
    };
    if !told {
        log!(target: target::LINK, level, "port {end}: the link {} is {words}", port.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> Time {
        Time::from_nanos(second * 1_000_000_000)
    }

    #[test]
    fn a_flood_of_an_hour_is_told_of_once_a_minute() {
        let mut losses = Losses::new();
        let said: Vec<Said> =
            (1..=3600).filter_map(|second| losses.lost(at(second), "queue-full", 1_000_000)).collect();
        assert_eq!(said.len(), 60, "{said:?}");
        assert_eq!(said[..2], [Said::Begins(1_000_000), Said::GoesOn(60_000_000, Duration::from_secs(60))]);
        assert!(losses.over(at(3605)).is_empty());
        let over = losses.over(at(3610));
        assert_eq!(over, [("queue-full", Said::Over(3_600_000_000, Duration::from_secs(3599)))]);
        assert_eq!(losses.lost(at(3620), "queue-full", 1), Some(Said::Begins(1)));
    }

    #[test]
    fn losses_that_come_and_go_every_second_have_one_line() {
        let mut losses = Losses::new();
        let lines = |second: u64| {
            let said = usize::from(losses.lost(at(second), "queue-full", second % 2).is_some());
            said + losses.over(at(second)).len()
        };
        let lines: usize = (1..60).map(lines).sum();
        assert_eq!(lines, 1);
    }
}
