//! `dovetail lab run gateway-real`: two VPN gateways between two kernels, on networks as they are.

mod sites;

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use dovetail_config::{Read, Span, Text, Whole};
use dovetail_dataplane::core::Snapshot;
use dovetail_lab::traffic::{Beat, Ip, TcpFlow, Web};
use dovetail_lab::{CLIENT_V4, Lab, Options, Place, SERVER_V4, now, pause};
use dovetail_units::{BitRate, Bytes, Duration, Time};
use serde::{Deserialize, Serialize};

use super::promises::{self, Promise};
use crate::args::RunLab;
use crate::failure::Failure;
use crate::terminal;
use sites::{Report, Site, Sites};

/// What to ask for.
pub const NAME: &str = "gateway-real";

const SCENARIO: &str = include_str!("../../../../../scenarios/lab/gateway-real.toml");

/// Of the rate, what a TCP connection that is alone has to get of it, in data. Headers and the tunnel's take 8 %.
const TCP: f64 = 0.9;

/// Traffic is back within this time after a kill.
const BACK: Duration = Duration::from_secs(1);

/// How long is waited for what has to come.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);

/// A connection's first second, in which its window grows.
const START: Duration = Duration::from_secs(1);

/// The part of time that a box may lack a core; beyond it says nothing about the box.
const NOTABLE: f64 = 0.01;

/// What of 1500 bytes a tunnel with AES-GCM leaves, and the longest payload of a ping that fits.
const MTU: u16 = 1500;
const INSIDE: u16 = 1446;
const FITS: u16 = INSIDE - 28;

/// Ports of what is sent. Those of the calls are followed by further ones.
const HOG: u16 = 5001;
const WEB: u16 = 80;
const CALLS: u16 = 6000;

/// The scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    rate: Text<BitRate>,
    alone: Text<Span>,
    together: Text<Span>,
    restart: Text<Duration>,
    calls: Calls,
    web: Pages,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Calls {
    count: Whole<1, 1000>,
    every: Text<Span>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pages {
    browsers: Whole<1, 100>,
    page: Text<Bytes>,
    pause: Text<Duration>,
}

/// What it came to.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    title: &'a str,
    promises: Vec<Promise>,
}

/// Run it, and say what was kept of what was promised.
pub fn run(args: &RunLab) -> Result<(), Failure> {
    if args.predict {
        return Err(Failure::Input(format!("--predict: {NAME} has no steps that could be simulated")));
    }
    let Read { file, .. } = dovetail_config::read::<File>(NAME, SCENARIO, &args.overrides).map_err(Failure::input)?;
    let stop = terminal::on_interrupt();
    let lab = Lab::up(&Options { name: args.name.clone(), mtu: MTU, ..Options::default() })?;
    let folder = tempfile::tempdir().map_err(Failure::run)?;
    let sites = Sites::start(&lab, folder.path(), file.rate.0, MTU, stop)?;
    let mut run = Run { lab: &lab, file: &file, stop, sites, promises: Vec::new(), replayed: 0 };
    run.neighbours()?;
    run.too_long(Place::Client, "192.0.2.1")?;
    run.too_long(Place::Server, "192.0.2.2")?;
    for from in [Place::Client, Place::Server] {
        run.alone(from)?;
    }
    run.together()?;
    let promises = run.end()?;
    let document = Document { schema: 1, title: &file.title, promises };
    match args.json {
        true => terminal::print(&serde_json::to_string_pretty(&document).map_err(Failure::run)?)?,
        false => terminal::print(&format!("{}\n{}", file.title, promises::text(&document.promises)))?,
    }
    match promises::kept(&document.promises) {
        true => Ok(()),
        false => Err(Failure::Run("the gateways did not keep what was promised".into())),
    }
}

/// A run on its way.
struct Run<'a> {
    lab: &'a Lab,
    file: &'a File,
    stop: &'a AtomicBool,
    sites: Sites<'a>,
    promises: Vec<Promise>,
    /// Packets that boxes which are no more have taken for replayed.
    replayed: u64,
}

impl Run<'_> {
    fn promise(&mut self, kept: bool, words: impl Into<String>) {
        self.promises.push(Promise::new(kept, words));
    }

    /// Wait, unless the user interrupts.
    fn wait(&self, time: Duration) -> Result<(), Failure> {
        let end = now() + time;
        while now() < end {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Failure::Interrupted);
            }
            pause(end.since(now()).min(LOOK));
        }
        Ok(())
    }

    /// Neighbours that know nothing of each other find each other through all boxes.
    fn neighbours(&mut self) -> Result<(), Failure> {
        for (ip, how) in [(Ip::V4, "ARP"), (Ip::V6, "neighbour discovery")] {
            let begun = now();
            let mut found = self.lab.gets_through_by(ip, LOOK)?;
            while !found && now() - begun < PATIENCE {
                self.wait(LOOK)?;
                found = self.lab.gets_through_by(ip, LOOK)?;
            }
            self.promise(found, format!("neighbours find each other by {how} through four boxes"));
        }
        Ok(())
    }

    /// What a packet is answered that does not fit into the tunnel.
    fn too_long(&mut self, from: Place, router: &str) -> Result<(), Failure> {
        let to = if from == Place::Client { SERVER_V4 } else { CLIENT_V4 }.to_string();
        let size = |size: u16| size.to_string();
        let Some(said) = self.ping(from, &["-c", "1", "-W", "5", "-s", "1472", "-M", "do", &to])? else {
            self.promises.push(Promise::unknown("ping -s 1472 -M do: ping is not installed"));
            return Ok(());
        };
        let expected = format!("From {router} icmp_seq=1 Frag needed and DF set (mtu = {INSIDE})");
        let answer = said.lines().find(|line| line.contains("icmp_seq") || line.contains("rror")).unwrap_or("silence");
        let (told, site) = (said.contains(&expected), if from == Place::Client { "one" } else { "two" });
        self.promise(told, format!("ping -s 1472 -M do from site {site} is answered as by a router: {answer}"));
        let fits = self.ping(from, &["-c", "1", "-W", "5", "-s", &size(FITS), "-M", "do", &to])?;
        let came = fits.is_some_and(|said| said.contains(" 0% packet loss"));
        self.promise(came, format!("ping -s {FITS} -M do from site {site} comes back: it fits"));
        Ok(())
    }

    /// What ping says; `None` where there is none.
    fn ping(&self, from: Place, arguments: &[&str]) -> Result<Option<String>, Failure> {
        if Command::new("ping").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
            return Ok(None);
        }
        let mut ping = Command::new("ping");
        ping.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = self.lab.spawn(from, &mut ping)?.wait_with_output().map_err(Failure::run)?;
        Ok(Some(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()))
    }

    /// A connection that has the tunnel for itself.
    fn alone(&mut self, from: Place) -> Result<(), Failure> {
        let mut tcp = self.lab.tcp_from(from, &[hog()])?;
        tcp.wait_connected(PATIENCE)?;
        self.wait(START)?;
        tcp.measure()?;
        let site = if from == Place::Client { Site::OneOut } else { Site::TwoOut };
        let before = self.sites.snapshot(site)?;
        self.wait(self.file.alone.0.0)?;
        let (report, after) = (tcp.measure()?, self.sites.snapshot(site)?);
        let rate = self.file.rate.0;
        let bytes: u64 = report.flows.iter().map(|flow| flow.bytes).sum();
        let part = bytes as f64 * 8.0 / report.window.as_secs_f64() / rate.as_bps() as f64;
        let lost = lost_time(&before, &after);
        let way = if from == Place::Client { "to the server" } else { "to the client" };
        let words = format!("TCP through the tunnel {way} carries {:.1} % of {rate} in data", 100.0 * part);
        if part < TCP && lost > NOTABLE {
            let busy =
                format!("{words}: this machine is busy, the box lacked a core {:.1} % of the time", 100.0 * lost);
            self.promises.push(Promise::unknown(busy));
        } else {
            self.promise(part >= TCP, format!("{words}, of {:.0} %", 100.0 * TCP));
        }
        Ok(())
    }

    /// Web traffic, calls and a hog together, with kills on the way.
    fn together(&mut self) -> Result<(), Failure> {
        let Calls { count, every } = &self.file.calls;
        let Pages { browsers, page, pause } = &self.file.web;
        let ways = [Place::Client, Place::Server];
        let calls = |from| self.lab.beat(from, CALLS, count.0 as u16, every.0.0);
        let calls: Vec<Beat> = ways.into_iter().map(calls).collect::<Result<_, _>>()?;
        let web = self.lab.web(Place::Client, WEB, browsers.0, page.0.0 as usize, pause.0)?;
        let hogs = ways.map(|from| self.lab.tcp_from(from, &[hog()]));
        let mut hogs = hogs.into_iter().collect::<Result<Vec<_>, _>>()?;
        hogs.iter().try_for_each(|hog| hog.wait_connected(PATIENCE))?;
        let third = self.file.together.0.0.divided_by(3);
        self.wait(third)?;
        self.of_calls(&calls, "beside a hog and web traffic");
        for site in [Site::OneOut, Site::OneIn] {
            let (before, at) = self.sites.kill(site, self.file.restart.0)?;
            self.replayed += replayed(&before);
            self.back(&calls, site, at)?;
            self.wait(third)?;
        }
        self.of_pages(&web);
        for (hog, to) in hogs.iter_mut().zip(["server", "client"]) {
            let lives = hog.measure().is_ok_and(|report| report.flows.iter().all(|flow| flow.bytes > 0));
            self.promise(lives, format!("the connection to the {to} that was there before has survived both kills"));
        }
        Ok(())
    }

    /// What became of calls.
    fn of_calls(&mut self, calls: &[Beat], when: &str) {
        for (calls, way) in calls.iter().zip(["server", "client"]) {
            let report = calls.measure();
            let [median, longest] = report.delay.map(|delay| delay.as_nanos() as f64 / 1e6);
            // Some are on their way.
            let lost = report.sent.saturating_sub(report.received);
            self.promise(
                lost <= report.sent / 100,
                format!(
                    "calls to the {way} {when}: {} of {} packets came, after {median:.1} ms in the median and \
                     {longest:.1} ms at 99 %",
                    report.received, report.sent
                ),
            );
        }
    }

    fn of_pages(&mut self, web: &Web) {
        let report = web.measure();
        let [median, longest] = report.time.map(|time| time.as_nanos() as f64 / 1e6);
        self.promise(
            report.pages > 0 && report.failed == 0,
            format!(
                "pages: {} came, {} failed; {median:.0} ms in the median, {longest:.0} ms at 99 %",
                report.pages, report.failed
            ),
        );
    }

    /// How long it takes until traffic is back after a kill, both ways.
    fn back(&mut self, calls: &[Beat], site: Site, killed: Time) -> Result<(), Failure> {
        let back = || calls.iter().map(|calls| calls.first_after(killed)).collect::<Option<Vec<Time>>>();
        while back().is_none() && now() - killed < PATIENCE {
            self.wait(LOOK)?;
        }
        let (name, restart) = (site.name(), self.file.restart.0);
        let times: Option<Vec<Duration>> = back().map(|times| times.iter().map(|time| time.since(killed)).collect());
        let words = times.as_ref().map_or("nothing came any more".to_string(), |times| {
            let ms: Vec<String> = times.iter().map(|time| format!("{} ms", time.as_nanos() / 1_000_000)).collect();
            format!("to the server after {}", ms.join(", to the client after "))
        });
        self.promise(
            times.is_some_and(|times| times.iter().all(|time| *time <= BACK)),
            format!("after kill -9 of {name}, started again {restart} later, traffic is back {words}"),
        );
        Ok(())
    }

    /// End all, and look at the accounts.
    fn end(mut self) -> Result<Vec<Promise>, Failure> {
        let reports = self.sites.end()?;
        let replayed = self.replayed + reports.iter().map(|(_, report)| replayed(&report.forward)).sum::<u64>();
        self.promises.push(Promise::new(replayed == 0, format!("esp-replayed: {replayed}")));
        for (site, Report { unaccounted, forward }) in &reports {
            let lost = forward.buffers.lost;
            let counts = format!("{} frames in, {} out", forward.total.frames_in, forward.total.frames_out);
            let words = format!("{}: {counts}, {unaccounted} unaccounted for, {lost} buffers lost", site.name());
            self.promises.push(Promise::new(*unaccounted == 0 && lost == 0, words));
        }
        Ok(self.promises)
    }
}

fn hog() -> TcpFlow {
    let (start, mss, congestion_control) = (Duration::ZERO, None, None);
    TcpFlow { name: "hog".into(), port: HOG, ip: Ip::V4, start, mss, congestion_control }
}

fn replayed(snapshot: &Snapshot) -> u64 {
    snapshot.total.dropped.get("esp-replayed").copied().unwrap_or(0)
}

/// The part of the time between two looks that a box could not make up for.
fn lost_time(before: &Snapshot, after: &Snapshot) -> f64 {
    (after.lost_time_s - before.lost_time_s) / (after.time_s - before.time_s).max(1e-9)
}
