//! What the tests of labs have in common.

use std::process::Command;

use dovetail_lab::traffic::{Ip, TcpFlow, UdpFlow};
use dovetail_lab::{Lab, Options, pause};
use dovetail_units::{Bytes, Duration, PacketRate};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// A lab of this test process, with a name of its own.
pub fn lab(name: &str) -> Lab {
    Lab::up(&options(name)).unwrap()
}

pub fn options(name: &str) -> Options {
    Options { name: own(name), ..Options::default() }
}

/// `name`, told apart from that of another run of the tests at the same time.
pub fn own(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

/// Look every 100 ms until nothing is wrong, for as long as it takes a machine that is very busy: two minutes, after
/// which what is wrong is told.
pub fn comes_true(mut look: impl FnMut() -> Result<(), String>) {
    let mut wrong = String::new();
    for _ in 0..1200 {
        pause(Duration::from_millis(100));
        match look() {
            Ok(()) => return,
            Err(why) => wrong = why,
        }
    }
    panic!("{wrong}");
}

/// What a program prints.
pub fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What is left of the lab `name`: its namespaces.
pub fn left(name: &str) -> Vec<String> {
    let name = own(name);
    let of_the_lab = |line: &&str| line.starts_with(&format!("dovetail-{name}-"));
    output("ip", &["netns", "list"]).lines().filter(of_the_lab).map(str::to_string).collect()
}

pub fn udp(port: u16, ip: Ip, frame: u64, pps: u64) -> UdpFlow {
    let rate = PacketRate::from_micro_pps(pps * 1_000_000).unwrap();
    UdpFlow { name: format!("{port}"), port, ip, frame: Bytes(frame), rate }
}

pub fn tcp(port: u16, ip: Ip) -> TcpFlow {
    let (start, mss, congestion_control) = (Duration::ZERO, None, None);
    TcpFlow { name: format!("{port}"), port, ip, start, mss, congestion_control }
}

/// Keep this test and the threads that it starts on one core: where a sender moves to another, the kernel may let a
/// frame overtake one that still waits on the first.
pub fn stay_on_one_core() {
    let this = Pid::from_raw(0);
    let allowed = sched_getaffinity(this).unwrap();
    let mut one = CpuSet::new();
    one.set((0..CpuSet::count()).find(|&core| allowed.is_set(core).unwrap()).unwrap()).unwrap();
    sched_setaffinity(this, &one).unwrap();
}
