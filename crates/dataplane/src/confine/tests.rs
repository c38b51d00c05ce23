//! Boxes between all kinds of ports, on a thread that has given everything up, in a network namespace of the test's
//! own.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use super::*;
use crate::control::Desk;
use crate::core::Snapshot;
use crate::driver::{Clock, real_time};
use crate::frame::Pool;
use crate::live::Live;
use crate::metrics::Metrics;
use crate::port::Port;
use crate::port::packet::PacketPort;
use crate::port::testbed::{in_namespace, ip, numbered, send, soon};

fn config(folder: &Path, inside: &str, outside: &str) -> Config {
    let text = format!("scheduler = \"fifo\"\n[ports]\nin = {inside:?}\nout = {outside:?}\n");
    let name = folder.join("box.toml");
    fs::write(&name, &text).unwrap();
    Config::parse(name.to_str().unwrap(), &text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// The rights of a thread, as the kernel tells them.
fn rights(thread: &str) -> Vec<(String, String)> {
    rights_in(&fs::read_to_string(format!("/proc/{thread}/status")).unwrap())
}

fn rights_in(status: &str) -> Vec<(String, String)> {
    let wanted = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"];
    let lines = status.lines().filter_map(|line| line.split_once(':'));
    let lines = lines.filter(|(name, _)| wanted.contains(name));
    lines.map(|(name, value)| (name.to_string(), value.trim().to_string())).collect()
}

/// A box of `config` runs on a thread that gave everything up, while `traffic` goes on until it has `sent` so many
/// more; between two times `between` happens.
fn runs_confined(config: Config, mut traffic: impl FnMut(), between: impl FnOnce()) -> (Confinement, Snapshot) {
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let (tell, told) = sync_channel(1);
    thread::scope(|scope| {
        let (stop, sent) = (&stop, &sent);
        let running = scope.spawn(move || {
            let mut live = Live::open(&config).unwrap_or_else(|error| panic!("{error}"));
            let (thread, clock) = (fs::read_link("/proc/thread-self").unwrap(), Clock::start());
            let confinement = confine(&config).unwrap();
            tell.send((thread, confinement)).unwrap();
            let (_, ended) = real_time(&mut live, &clock, stop, |live, now| {
                sent.store(live.snapshot_of(now, 0).ports["out"].sent, Ordering::Relaxed);
            });
            ended.unwrap();
            live.snapshot_of(clock.now(), 0)
        });
        let (thread, confinement) = told.recv().unwrap();
        let zero = "0000000000000000".to_string();
        let expected = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"].map(|set| (set, zero.as_str()));
        let expected = expected.into_iter().chain([("NoNewPrivs", "1"), ("Seccomp", "2")]);
        let expected: Vec<(String, String)> = expected.map(|(a, b)| (a.to_string(), b.to_string())).collect();
        assert_eq!(rights(&thread.to_string_lossy()), expected);
        let mut more = || {
            let before = sent.load(Ordering::Relaxed);
            soon(|| {
                traffic();
                sent.load(Ordering::Relaxed) >= before + 3
            })
        };
        let first = more();
        between();
        let second = more();
        stop.store(true, Ordering::Relaxed);
        let snapshot = running.join().unwrap();
        assert!(first && second, "{first} {second} {snapshot:?}");
        (confinement, snapshot)
    })
}

fn down_and_up(names: &[&str]) {
    for state in ["down", "up"] {
        names.iter().for_each(|name| ip(&format!("link set {name} {state}")));
    }
}

#[test]
#[ignore = "needs root"]
fn a_confined_box_forwards_between_interfaces_which_may_go_down_and_come_up_again() {
    in_namespace(|| {
        ip("link add near type veth peer name far");
        ip("link set near up");
        ip("link set far up");
        let folder = tempfile::tempdir().unwrap();
        // Once: a program that another test is just starting may hold an interface for a moment longer.
        let (mut left, mut pool) = (PacketPort::open("left", 64).unwrap(), Pool::new());
        for kind in ["packet", "xdp"] {
            let config = config(folder.path(), &format!("{kind}:right"), &format!("{kind}:near"));
            let traffic = || send(&mut left, &mut pool, [numbered(1, 100)]);
            let (confinement, snapshot) = runs_confined(config, traffic, || down_and_up(&["right", "near"]));
            assert_eq!((snapshot.unaccounted, confinement.written.len()), (0, 0), "{kind} {snapshot:?}");
        }
    });
}

#[test]
#[ignore = "needs root"]
fn a_confined_box_forwards_between_this_machine_and_itself() {
    in_namespace(|| {
        let folder = tempfile::tempdir().unwrap();
        let socket = UdpSocket::bind("0.0.0.0:1000").unwrap();
        for kind in ["tap", "tun"] {
            // Names of their own: a program that another test is just starting may hold an interface for a moment
            // longer.
            let (entry, exit) = (format!("{kind}-in"), format!("{kind}-out"));
            let config = config(folder.path(), &format!("{kind}:{entry}"), &format!("{kind}:{exit}"));
            let mut addressed = false;
            let traffic = || {
                if !addressed {
                    addressed = true;
                    ip(&format!("address replace 192.0.2.1/24 dev {entry}"));
                    if kind == "tap" {
                        ip(&format!("neighbour replace 192.0.2.2 lladdr 02:00:00:00:00:02 dev {entry}"));
                    }
                }
                // While the interface is down it is refused.
                let _ = socket.send_to(b"hello", "192.0.2.2:2000");
            };
            let (_, snapshot) = runs_confined(config, traffic, || down_and_up(&[&exit]));
            assert_eq!(snapshot.unaccounted, 0, "{kind} {snapshot:?}");
        }
    });
}

/// As under a unit whose ambient set lacks it.
#[test]
#[ignore = "needs root"]
fn a_box_that_cannot_empty_the_bounding_set_does_not_say_that_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "packet:left", "packet:right");
    let confined = thread::spawn(move || {
        for set in [CapSet::Effective, CapSet::Permitted] {
            caps::drop(None, set, Capability::CAP_SETPCAP).unwrap();
        }
        // It cannot be opened afterwards.
        let mut status = fs::File::open("/proc/thread-self/status").unwrap();
        let told = confine(&config).unwrap().to_string();
        let mut text = String::new();
        status.read_to_string(&mut text).unwrap();
        (told, rights_in(&text))
    });
    let (told, rights) = confined.join().unwrap();
    let of = |set: &str| rights.iter().find(|(name, _)| name == set).unwrap().1.clone();
    assert_eq!(of("CapEff"), "0000000000000000");
    assert_ne!(of("CapBnd"), "0000000000000000");
    let expected = format!("but for the bounding set (CapBnd {}): that takes CAP_SETPCAP", of("CapBnd"));
    assert!(told.contains(&expected) && !told.contains("all capabilities"), "{told}");
}

#[test]
#[ignore = "needs root"]
fn a_confined_box_finishes_its_capture_rereads_its_file_and_can_do_nothing_else() {
    in_namespace(|| {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let secret = elsewhere.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        let config = config(folder.path(), "packet:right", "pcap:>out.pcap");
        let thread = thread::spawn(move || {
            let mut live = Live::open(&config).unwrap();
            let (mut left, mut pool) = (PacketPort::open("left", 64).unwrap(), Pool::new());
            let confinement = confine(&config).unwrap();
            send(&mut left, &mut pool, [numbered(1, 100)]);
            let (clock, stop) = (Clock::start(), AtomicBool::new(false));
            let (_desk, counter) = Desk::open();
            let (_, ended) = real_time(&mut live, &clock, &stop, |live, now| {
                let came = live.snapshot_of(now, 0).ports["in"].received > 0;
                stop.store(came, Ordering::Relaxed);
            });
            ended.unwrap();
            let reread = config.reread().map(|_| ()).map_err(|error| error.to_string());
            drop(counter);
            let refused = [
                fs::read(&secret).is_err(),
                fs::write(elsewhere.path().join("new"), "new").is_err(),
                PacketPort::open("left", 64).is_err(),
                UdpSocket::bind("127.0.0.1:0").is_err(),
                TcpStream::connect("127.0.0.1:1").is_err_and(|e| e.raw_os_error() == Some(libc::EPERM)),
                std::process::Command::new("true").status().is_err(),
            ];
            (confinement, reread, refused, left.counters().sent)
        });
        let (confinement, reread, refused, sent) = thread.join().unwrap();
        assert_eq!((reread, refused, sent), (Ok(()), [true; 6], 1));
        let capture = folder.path().join("out.pcap");
        // A header of 24 bytes, and of the frame 16 bytes more than its own.
        assert_eq!(fs::metadata(capture).unwrap().len(), 24 + 16 + 100);
        let told = confinement.to_string();
        let folder = folder.path().display();
        let expected = format!(
            "confined: no capabilities, no new privileges; reads files only in {folder}, makes files only in {folder}; "
        );
        assert!(told.starts_with(&expected) && told.ends_with(" system calls allowed"), "{told}");
    });
}

#[test]
#[ignore = "needs root"]
fn a_confined_box_serves_metrics_until_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "packet:left", "packet:right");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // Nobody answers what would take a box.
    let (_, counter) = Desk::open();
    let ((tell, told), (end, ended)) = (sync_channel(1), sync_channel(1));
    let confined = thread::spawn(move || {
        confine(&config).unwrap();
        let metrics = Metrics::serve(listener, counter).unwrap();
        tell.send(metrics.address()).unwrap();
        ended.recv().unwrap();
    });
    assert_eq!(told.recv().unwrap(), Some(address));
    let ask = |target: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {target} HTTP/1.1\r\n\r\n").unwrap();
        stream
    };
    let idle = TcpStream::connect(address).unwrap();
    for (target, status) in [("/", "404 Not Found"), ("/metrics", "503 Service Unavailable")] {
        let mut text = String::new();
        ask(target).read_to_string(&mut text).unwrap();
        assert!(text.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{text}");
    }
    end.send(()).unwrap();
    confined.join().unwrap();
    assert!(TcpStream::connect(address).is_err());
    drop(idle);
}

/// The folders that a confined box may read in, which a kernel without Landlock does not limit.
#[test]
fn a_configuration_and_its_files_may_be_links() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (named, real) = (folder.path(), elsewhere.path().canonicalize().unwrap());
    let text = "scheduler = \"fifo\"\nports = { in = \"packet:left\", out = \"pcap:>out.pcap\" }\n[[module]]\n\
        name = \"find\"\nkind = \"match\"\npattern_file = \"patterns\"\n";
    for (file, text) in [("box.toml", text), ("patterns", "virus\n")] {
        fs::create_dir(real.join(file)).unwrap();
        fs::write(real.join(file).join("real"), text).unwrap();
        std::os::unix::fs::symlink(real.join(file).join("real"), named.join(file)).unwrap();
    }
    let config = |name: &Path| Config::parse(name.to_str().unwrap(), text, &[]).unwrap();
    let mut expected = vec![named.to_path_buf(), real.join("box.toml"), real.join("patterns")];
    expected.sort();
    let linked = config(&named.join("box.toml"));
    assert_eq!(linked.read_folders(), expected);
    linked.reread().unwrap();
    // A link within the folder, and a folder that is one, lead to nothing else.
    fs::write(real.join("patterns/patterns"), "virus\n").unwrap();
    std::os::unix::fs::symlink("real", real.join("patterns/link")).unwrap();
    assert_eq!(config(&real.join("patterns/link")).read_folders(), [real.join("patterns")]);
    std::os::unix::fs::symlink(real.join("patterns"), named.join("folder")).unwrap();
    assert_eq!(config(&named.join("folder/link")).read_folders(), [named.join("folder")]);
}
