//! A box between two ports, in whatever time its driver tells.

use std::collections::VecDeque;
use std::io;

use dovetail_config::InputError;
use dovetail_units::{Duration, Time};

use crate::config::{Config, StartError};
use crate::core::{Account, Drops, Middlebox, PortSnapshot, STOPPED, Snapshot};
use crate::frame::Frame;
use crate::port::decorate::HELD;
use crate::port::{BURST, Port, both};

/// The most frames that are kept in the direction that is not scheduled.
const REVERSE: usize = 65_536;

/// The most frames that are between the ports besides those that are in the box or wait behind it: on their way back,
/// just received, and in the hands of ports that inject faults, which have what they keep back, and a burst with its
/// copies.
const BETWEEN: usize = REVERSE + BURST + 2 * (HELD + 2 * BURST);

/// The middlebox between its ports. Frames from the inside port are classified, scheduled, processed and paced on their
/// way to the outside port; those of the other direction pass, after a delay if one is set.
pub struct Live {
    /// The box.
    pub middlebox: Middlebox,
    inside: Box<dyn Port>,
    outside: Box<dyn Port>,
    burst: Vec<Frame>,
    delay: Duration,
    delayed: VecDeque<Frame>,
    returning: VecDeque<Frame>,
    reverse: Account,
    hurry: bool,
}

/// The accounts of all that is between the ports.
#[derive(Clone, Debug)]
pub struct Totals {
    /// The scheduled direction.
    pub forward: Snapshot,
    /// The other direction.
    pub reverse: Account,
    /// Frames of the other direction that were due and wait for the port.
    pub returning: u64,
}

/// What the ports brought and took is what the box has in its books, or by how much it is not.
fn between([inside, outside]: [&PortSnapshot; 2], came: u64, left: u64, outgoing: u64) -> i64 {
    let came = inside.received as i64 - came as i64;
    came + left as i64 - (outside.sent + outside.unsent + outgoing) as i64
}

impl Live {
    /// Open the ports of a configuration and put its box between them.
    ///
    /// # Errors
    /// The configuration is wrong, or a port cannot be opened.
    pub fn open(config: &Config) -> Result<Self, StartError> {
        let middlebox = config.middlebox()?;
        let [inside, outside] = config.open_ports()?;
        Ok(Self::new(middlebox, inside, outside, config.reverse_delay()))
    }

    /// Let modules go on where the last box of this configuration has ended, and say where this one will.
    ///
    /// # Errors
    /// What was kept is of no use, or nothing can be kept.
    pub fn open_state(&mut self, config: &Config) -> Result<(), InputError> {
        let opened = config.state_folder().map_or(Ok(()), |folder| self.middlebox.open_state(&folder));
        opened.map_err(|(module, error)| config.wrong_state(&module, &error))?;
        config.check_state_folder()
    }

    /// Between these ports; frames of the other direction are kept for `delay`.
    pub fn new(middlebox: Middlebox, inside: Box<dyn Port>, outside: Box<dyn Port>, delay: Duration) -> Self {
        Self {
            middlebox,
            inside,
            outside,
            burst: Vec::with_capacity(BURST),
            delay,
            delayed: VecDeque::new(),
            returning: VecDeque::new(),
            reverse: Account::default(),
            hurry: false,
        }
    }

    /// Take in what has come, unless the box is to drain, and do all that is due until `now`. Says whether anything
    /// came.
    ///
    /// # Errors
    /// A port is of no use any more.
    pub fn step(&mut self, now: Time, drain: bool) -> io::Result<bool> {
        let mut came = false;
        if !drain {
            came = self.receive_inside(now)?;
            came |= self.receive_outside(now)?;
        }
        self.middlebox.advance(now);
        self.outside.send(now, &mut self.middlebox.outgoing, &mut self.middlebox.pool)?;
        self.answer();
        self.send_inside(now)?;
        Ok(came)
    }

    /// What senders are to be told goes where their frames came from.
    fn answer(&mut self) {
        while let Some(answer) = self.middlebox.answers.pop_front() {
            self.reverse.frames_made += 1;
            if self.delayed.len() + self.returning.len() < REVERSE {
                self.reverse.frames_out += 1;
                self.reverse.bytes_out += answer.len() as u64;
                self.returning.push_back(answer);
            } else {
                self.reverse.drops.count("reverse-full");
                self.middlebox.pool.give(answer);
            }
        }
    }

    fn receive_inside(&mut self, now: Time) -> io::Result<bool> {
        // What came before an error is in the books all the same.
        let result = self.inside.receive(now, &mut self.middlebox.pool, &mut self.burst);
        let came = !self.burst.is_empty();
        for frame in self.burst.drain(..) {
            self.middlebox.receive(now, frame);
        }
        result.map(|()| came)
    }

    fn receive_outside(&mut self, now: Time) -> io::Result<bool> {
        let result = self.outside.receive(now, &mut self.middlebox.pool, &mut self.burst);
        let came = !self.burst.is_empty();
        for mut frame in self.burst.drain(..) {
            self.reverse.frames_in += 1;
            self.reverse.bytes_in += frame.len() as u64;
            self.middlebox.returning(&mut frame);
            if self.delayed.len() + self.returning.len() < REVERSE {
                self.delayed.push_back(frame);
            } else {
                self.reverse.drops.count("reverse-full");
                self.middlebox.pool.give(frame);
            }
        }
        result.map(|()| came)
    }

    fn send_inside(&mut self, now: Time) -> io::Result<()> {
        while let Some(frame) = self.delayed.pop_front_if(|frame| frame.received + self.delay <= now) {
            self.reverse.frames_out += 1;
            self.reverse.bytes_out += frame.len() as u64;
            self.returning.push_back(frame);
        }
        self.inside.send(now, &mut self.returning, &mut self.middlebox.pool)
    }

    /// When there is something to do next, as far as that is known.
    pub fn next_event(&mut self) -> Option<Time> {
        let delayed = self.delayed.front().map(|frame| frame.received + self.delay);
        let arrivals = [self.inside.next_arrival(), self.outside.next_arrival()];
        let known = [delayed, self.middlebox.next_event()].into_iter().chain(arrivals);
        known.flatten().min()
    }

    /// Whether frames wait for a port that took none.
    pub fn waits_for_port(&self) -> bool {
        !self.middlebox.outgoing.is_empty() || !self.returning.is_empty()
    }

    /// Whether nothing is between the ports.
    pub fn is_empty(&self) -> bool {
        self.middlebox.held() == 0 && self.middlebox.waiting() == 0 && !self.waits_for_port() && self.delayed.is_empty()
    }

    /// Whether nothing will come any more.
    pub fn ended(&self) -> bool {
        self.inside.ended()
    }

    /// Once it is told to stop, the box sends nothing more of what it holds.
    pub fn hurry(&mut self) {
        self.hurry = true;
    }

    /// Whether it goes on to send when it is told to stop: something is there, and there is time.
    pub fn drains(&self) -> bool {
        !self.hurry && !self.is_empty()
    }

    /// The box ends: what is still on its way is dropped and counted as `stopped`. What has left and waits for a port
    /// stays there.
    pub fn give_up(&mut self, now: Time) {
        self.middlebox.give_up(now);
        for frame in self.delayed.drain(..) {
            self.reverse.drops.count(STOPPED);
            self.middlebox.pool.give(frame);
        }
    }

    /// What becomes readable when frames have come.
    pub fn readable(&self) -> [Option<std::os::fd::RawFd>; 2] {
        [self.inside.readable(), self.outside.readable()]
    }

    /// Bring what ports have written into its place.
    ///
    /// # Errors
    /// A file could not be written whole.
    pub fn finish(&mut self) -> io::Result<()> {
        both(self.inside.finish(), self.outside.finish())
    }

    /// What the box has done until `now`, with at most so many flows, and what its ports have counted.
    pub fn snapshot_of(&mut self, now: Time, flows: usize) -> Snapshot {
        let [inside, outside] = self.ports();
        let mut snapshot = self.middlebox.snapshot_of(now, flows);
        let (came, left) = (snapshot.total.frames_in + snapshot.waiting, snapshot.total.frames_out);
        snapshot.unaccounted += between([&inside, &outside], came, left, snapshot.outgoing);
        let returning = (self.delayed.len() + self.returning.len()) as i64;
        snapshot.buffers.lost -= returning + (inside.held + outside.held) as i64;
        snapshot.buffers.limit = snapshot.buffers.limit.map(|limit| limit + BETWEEN as u64);
        snapshot.ports = [("in".to_string(), inside), ("out".to_string(), outside)].into();
        snapshot
    }

    /// What the ports `in` and `out` have counted.
    pub fn ports(&mut self) -> [PortSnapshot; 2] {
        [&mut self.inside, &mut self.outside].map(|port| PortSnapshot::of(&mut **port))
    }

    /// Frames that came in and are neither sent, nor dropped for a named reason, nor found anywhere: 0, where
    /// [`ports`](Self::ports) has just said what they have counted. O(classes).
    pub fn unaccounted(&self, [inside, outside]: &[PortSnapshot; 2]) -> i64 {
        let (came, left) = self.middlebox.passed();
        let (came, outgoing) = (came + self.middlebox.waiting() as u64, self.middlebox.outgoing.len() as u64);
        self.middlebox.missing() + between([inside, outside], came, left, outgoing)
    }

    /// Frames that wait for the port `out`, behind a link that has a rate.
    pub fn waiting_for_port(&self) -> u64 {
        if self.middlebox.has_rate() { self.middlebox.outgoing.len() as u64 } else { 0 }
    }

    /// Frames that were dropped, by reason, in either direction.
    pub fn drops(&self) -> Drops {
        let mut drops = self.middlebox.drops();
        drops.add_all(&self.reverse.drops);
        drops
    }

    /// All accounts.
    pub fn totals(&mut self, now: Time) -> Totals {
        let returning = self.returning.len() as u64;
        Totals { forward: self.snapshot_of(now, usize::MAX), reverse: self.reverse.clone(), returning }
    }
}
