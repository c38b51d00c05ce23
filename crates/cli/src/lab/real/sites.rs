//! Two sites with a gateway each: a box that encrypts what leaves the site, and one that decrypts what comes in.
//!
//! ```text
//! client --[ one-out ]-- near = far --[ one-in ]-- wan = wan2 --[ two-in ]-- far2 = near2 --[ two-out ]-- server
//! ```

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use dovetail_dataplane::control::Client;
use dovetail_dataplane::core::Snapshot;
use dovetail_lab::{CLIENT_V4, Lab, Place, SERVER_V4, ask_to_end, now, pause};
use dovetail_units::{BitRate, Duration};
use serde::Deserialize;

use crate::failure::Failure;

/// The configurations of the repository, as they are.
const OUT: &str = include_str!("../../../../../scenarios/live/gateway.toml");
const IN: &str = include_str!("../../../../../scenarios/live/inbound.toml");

/// Of the second site's direction; the first one's is in [`OUT`].
const KEY: &str = "202122232425262728292a2b2c2d2e2f30313233";
/// Of the first site's.
const FIRST_KEY: &str = "000102030405060708090a0b0c0d0e0f10111213";

/// How long a box may take to be there, and to end.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);

/// A box.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Site {
    /// It encrypts what leaves the client's site.
    OneOut,
    /// It decrypts what comes to the client's site.
    OneIn,
    /// It decrypts what comes to the server's site.
    TwoIn,
    /// It encrypts what leaves the server's site.
    TwoOut,
}

impl Site {
    /// All of them, from the client to the server.
    pub const ALL: [Self; 4] = [Self::OneOut, Self::OneIn, Self::TwoIn, Self::TwoOut];

    /// What its files are called.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneOut => "one-out",
            Self::OneIn => "one-in",
            Self::TwoIn => "two-in",
            Self::TwoOut => "two-out",
        }
    }

    /// What the repository's configuration is changed to, as for `--set`.
    fn changes(self, rate: BitRate) -> Vec<String> {
        let ports = |inside: &str, outside: &str| {
            vec![format!("ports.in=packet:{inside}"), format!("ports.out=packet:{outside}")]
        };
        let to = |address: &dyn std::fmt::Display| format!("class.0.match=[{{ dst = \"{address}/32\" }}]");
        let from = |address: &str| format!("class.0.match=[{{ protocol = \"esp\", src = \"{address}/32\" }}]");
        let (rate, state) = (format!("link.rate={rate}"), format!("state.folder={}-state", self.name()));
        let (key, first_key) = (format!("module.1.key={KEY}"), format!("module.1.key={FIRST_KEY}"));
        let mut changes = match self {
            Self::OneOut => [ports("client", "near"), vec![to(&SERVER_V4), rate, state]].concat(),
            Self::OneIn => ports("wan", "far"),
            Self::TwoIn => {
                [ports("wan2", "far2"), vec![from("192.0.2.1"), first_key, "module.1.spi=4096".into()]].concat()
            }
            Self::TwoOut => {
                let others = ["module.1.spi=4097", "module.1.src=192.0.2.2", "module.1.dst=192.0.2.1"];
                let others = others.into_iter().map(str::to_string).chain([to(&CLIENT_V4), rate, state, key]);
                [ports("server", "near2"), others.collect()].concat()
            }
        };
        changes.push(format!("control.socket={}.sock", self.name()));
        changes
    }

    fn text(self) -> &'static str {
        if matches!(self, Self::OneOut | Self::TwoOut) { OUT } else { IN }
    }
}

/// A box at work.
struct Running {
    child: Child,
    client: Client,
}

/// What a box says at its end, as far as that is needed.
#[derive(Deserialize)]
pub struct Report {
    /// Frames that it has no account of: 0.
    pub unaccounted: i64,
    /// What it has done.
    pub forward: Snapshot,
}

/// All four boxes.
pub struct Sites<'a> {
    lab: &'a Lab,
    folder: PathBuf,
    rate: BitRate,
    stop: &'a AtomicBool,
    running: Vec<(Site, Running)>,
}

impl<'a> Sites<'a> {
    /// Lay the cables, and start all boxes.
    pub fn start(lab: &'a Lab, folder: &Path, rate: BitRate, mtu: u16, stop: &'a AtomicBool) -> Result<Self, Failure> {
        for (one, other) in [("near", "far"), ("wan", "wan2"), ("far2", "near2")] {
            lab.cable(one, other, mtu)?;
        }
        let mut sites = Self { lab, folder: folder.to_path_buf(), rate, stop, running: Vec::new() };
        for site in Site::ALL {
            let file = sites.folder.join(format!("{}.toml", site.name()));
            // It holds a key.
            let file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file);
            std::io::Write::write_all(&mut file.map_err(Failure::run)?, site.text().as_bytes())
                .map_err(Failure::run)?;
            fs::create_dir(sites.folder.join(format!("{}-state", site.name()))).map_err(Failure::run)?;
            let child = sites.spawn(site)?;
            sites.connect(site, child)?;
        }
        Ok(sites)
    }

    fn spawn(&self, site: Site) -> Result<Child, Failure> {
        let mut command = Command::new(std::env::current_exe().map_err(Failure::run)?);
        let name = site.name();
        command.args(["live", "--json", &format!("{name}.toml")]).current_dir(&self.folder).process_group(0);
        for change in site.changes(self.rate) {
            command.args(["--set", &change]);
        }
        let file = |end: &str| File::create(self.folder.join(format!("{name}.{end}"))).map_err(Failure::run);
        command.stdin(Stdio::null()).stdout(file("json")?).stderr(file("log")?);
        Ok(self.lab.spawn(Place::Box, &mut command)?)
    }

    fn connect(&mut self, site: Site, mut child: Child) -> Result<(), Failure> {
        let (socket, begun) = (self.folder.join(format!("{}.sock", site.name())), now());
        loop {
            if let Ok(client) = Client::connect(&socket) {
                self.running.push((site, Running { child, client }));
                return Ok(());
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(Failure::Interrupted);
            }
            let ended = child.try_wait().map_err(Failure::run)?;
            if let Some(why) =
                ended.map(|status| status.to_string()).or((now() - begun > PATIENCE).then(|| "late".into()))
            {
                return Err(Failure::Run(format!("the box {} is not there ({why}): {}", site.name(), self.log(site))));
            }
            pause(LOOK);
        }
    }

    fn log(&self, site: Site) -> String {
        let log = fs::read_to_string(self.folder.join(format!("{}.log", site.name()))).unwrap_or_default();
        log.lines().last().unwrap_or_default().to_string()
    }

    /// What a box has done until now.
    pub fn snapshot(&mut self, site: Site) -> Result<Snapshot, Failure> {
        let (_, running) = self.find(site)?;
        running.client.snapshot(0).map_err(Failure::run)
    }

    fn find(&mut self, site: Site) -> Result<&mut (Site, Running), Failure> {
        let running = self.running.iter_mut().find(|(known, _)| *known == site);
        running.ok_or_else(|| Failure::Run(format!("the box {} is not there", site.name())))
    }

    /// Kill a box, as `kill -9` does, and start it again after a pause. Says what it had done, and when it was killed.
    pub fn kill(&mut self, site: Site, restart: Duration) -> Result<(Snapshot, dovetail_units::Time), Failure> {
        let done = self.snapshot(site)?;
        let (_, mut killed) = {
            let place = self.running.iter().position(|(known, _)| *known == site).unwrap_or_default();
            self.running.swap_remove(place)
        };
        let at = now();
        killed.child.kill().and_then(|()| killed.child.wait()).map_err(Failure::run)?;
        pause(restart);
        let child = self.spawn(site)?;
        self.connect(site, child)?;
        Ok((done, at))
    }

    /// End all boxes. Says what each reports.
    pub fn end(mut self) -> Result<Vec<(Site, Report)>, Failure> {
        let mut running = std::mem::take(&mut self.running);
        running.sort_by_key(|(site, _)| *site);
        running.iter().try_for_each(|(_, running)| ask_to_end(&running.child))?;
        let mut reports = Vec::new();
        for (site, Running { mut child, .. }) in running {
            let status = child.wait().map_err(Failure::run)?;
            if !status.success() {
                return Err(Failure::Run(format!("the box {} has failed ({status}): {}", site.name(), self.log(site))));
            }
            let file = self.folder.join(format!("{}.json", site.name()));
            let text = fs::read_to_string(file).map_err(Failure::run)?;
            reports.push((site, serde_json::from_str(&text).map_err(Failure::run)?));
        }
        Ok(reports)
    }
}
