//! Three network namespaces in a row, and what is measured in them.

use std::fmt;
use std::fs;
use std::io;
use std::mem::zeroed;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use dovetail_dataplane::port::interface;

use crate::flood::Flood;
use crate::{now, wait};

/// The station that frames are for when the forwarder is a cable: not the sink's own, so that its kernel drops them
/// first of all.
const STATION: [u8; 6] = [2, 0, 0, 0, 0, 0x99];
/// The router's own station, on `m0`.
const ROUTER: [u8; 6] = [2, 0, 0, 0, 0, 0x01];

type Work = Box<dyn FnOnce() + Send>;

/// A network namespace with a thread in it that does what it is told.
struct Namespace {
    thread: i32,
    work: Sender<Work>,
}

/// The calling thread is in the middle one.
pub struct Lab {
    generator: Namespace,
    sink: Namespace,
    to: Mutex<[u8; 6]>,
}

/// Frames per second, and what processor 0 did meanwhile.
#[derive(Clone, Copy)]
pub struct Outcome {
    /// That came to `m0`.
    pub offered: f64,
    /// That came to the sink.
    pub forwarded: f64,
    /// The part of processor 0 that was used.
    pub busy: f64,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offered, forwarded, busy } = self;
        write!(f, "{:.0} ({:.0}) {:.0} ns", forwarded / 1e3, offered / 1e3, 1e9 * busy / forwarded)
    }
}

impl Namespace {
    fn new() -> io::Result<Self> {
        extern "C" fn nothing(_: libc::c_int) {}
        let handler: extern "C" fn(libc::c_int) = nothing;
        // SAFETY: the handler does nothing.
        #[allow(unsafe_code)]
        unsafe {
            libc::signal(libc::SIGUSR1, handler as libc::sighandler_t);
        }
        let (work, orders) = channel::<Work>();
        let (ready, is_ready) = channel();
        thread::spawn(move || {
            // SAFETY: takes no pointers.
            #[allow(unsafe_code)]
            let thread = unsafe { libc::gettid() };
            let _ = ready.send(enter_new().map(|()| thread));
            orders.into_iter().for_each(|order| order());
        });
        let thread = is_ready.recv().map_err(io::Error::other)??;
        Ok(Self { thread, work })
    }

    /// End the call of the kernel that it is in.
    fn interrupt(&self) {
        // SAFETY: takes no pointers; the handler of this signal does nothing.
        #[allow(unsafe_code)]
        unsafe {
            libc::syscall(libc::SYS_tgkill, libc::getpid(), self.thread, libc::SIGUSR1);
        }
    }

    /// Do it there, and wait for its end.
    fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, result) = channel();
        self.work.send(Box::new(move || drop(done.send(work())))).expect("the thread lives");
        result.recv().expect("the work ends")
    }
}

impl Lab {
    /// The calling thread goes into a new namespace, with those of generator and sink on both sides.
    pub fn new() -> io::Result<Self> {
        enter_new()?;
        let (generator, sink) = (Namespace::new()?, Namespace::new()?);
        ip("link add m0 type veth peer name a0");
        ip("link add m1 type veth peer name b0");
        ip(&format!("link set m0 address {}", text(ROUTER)));
        ip(&format!("link set a0 netns {}", generator.thread));
        ip(&format!("link set b0 netns {}", sink.thread));
        for name in ["m0", "m1"] {
            plug(name);
        }
        // Interfaces that receive without an interrupt for each frame, as network cards do; the generator's way of
        // sending needs it of `m0`.
        run("ethtool", "-K m0 gro on");
        generator.run(|| plug("a0"));
        sink.run(|| {
            plug("b0");
            run("ethtool", "-K b0 gro on");
            receive_on("b0", Some(1));
        });
        ip("address add 10.1.0.1/24 dev m0");
        ip("address add 10.2.0.1/24 dev m1");
        ip(&format!("neighbour add 10.2.0.2 lladdr {} dev m1", text(STATION)));
        for conf in ["all", "m0", "m1", "default"] {
            set(&format!("/proc/sys/net/ipv4/conf/{conf}/rp_filter"), "0");
        }
        let lab = Self { generator, sink, to: Mutex::new(STATION) };
        lab.bare();
        Ok(lab)
    }

    /// The kernel forwards nothing.
    pub fn bare(&self) {
        set("/proc/sys/net/ipv4/ip_forward", "0");
        receive_on("m0", None);
        self.send_to(STATION);
    }

    /// The kernel routes, on the generator's processor.
    pub fn route(&self) {
        set("/proc/sys/net/ipv4/ip_forward", "1");
        self.send_to(ROUTER);
    }

    /// The kernel routes, on processor 0.
    pub fn route_apart(&self) {
        self.route();
        receive_on("m0", Some(0));
    }

    /// The kernel routes from `m0` to `t0` and from `t1` to `m1`.
    pub fn tuns(&self) {
        self.route();
        ip("rule add iif m0 lookup 100");
        ip("rule add iif t1 lookup 101");
    }

    /// The kernel bridges `m0` with `t0` and `t1` with `m1`.
    pub fn taps(&self) {
        for (bridge, port) in [("x0", "m0"), ("x1", "m1")] {
            ip(&format!("link add {bridge} type bridge"));
            ip(&format!("link set {port} master {bridge}"));
            ip(&format!("link set {bridge} up"));
        }
    }

    /// TUN and TAP interfaces are there as long as ports are: bind them in.
    pub fn ports_open(&self) {
        if interface("x0").is_ok() {
            ip("link set t0 master x0");
            ip("link set t1 master x1");
        } else if interface("t0").is_ok() {
            ip("route replace 10.2.0.0/24 dev t0 table 100");
            ip("route replace 10.2.0.0/24 dev m1 table 101");
        }
    }

    fn send_to(&self, station: [u8; 6]) {
        *self.to.lock().expect("not poisoned") = station;
    }

    /// Flood with frames of `size` bytes, and count for `time`.
    pub fn measure(&self, size: usize, warm_up: Duration, time: Duration) -> Outcome {
        static STOP: AtomicBool = AtomicBool::new(false);
        STOP.store(false, Ordering::Relaxed);
        let to = *self.to.lock().expect("not poisoned");
        let flood = move || {
            run_on(1);
            let index = interface("a0").expect("a0 is there").index;
            let flood = Flood::new(index, to, size).expect("a program that redirects");
            while !STOP.load(Ordering::Relaxed) {
                flood.send().expect("a kernel that redirects live frames, 5.18 or later");
            }
        };
        self.generator.work.send(Box::new(flood)).expect("the thread lives");
        wait(warm_up);
        let look = || [received("m0") as f64, self.sink.run(|| received("b0")) as f64, busy()];
        let (start, before) = (now(), look());
        wait(time);
        let (elapsed, after) = (start.elapsed(), look());
        STOP.store(true, Ordering::Relaxed);
        self.generator.interrupt();
        self.generator.run(|| ());
        let [offered, forwarded, busy] = [0, 1, 2].map(|k| (after[k] - before[k]) / elapsed.as_secs_f64());
        Outcome { offered, forwarded, busy }
    }
}

/// The calling thread goes into a new network namespace, in which the kernel sends nothing of itself.
fn enter_new() -> io::Result<()> {
    // SAFETY: takes no pointers, and changes the calling thread only.
    #[allow(unsafe_code)]
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error());
    }
    for which in ["all", "default"] {
        set(&format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
    }
    Ok(())
}

/// The calling thread runs on this processor only, if there is one of that number.
pub fn run_on(processor: usize) {
    // SAFETY: a set of processors is a plain array of bits, for which zeros are a value.
    #[allow(unsafe_code)]
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

/// Offloads off, and up.
fn plug(name: &str) {
    run("ethtool", &format!("-K {name} tx off rx off tso off gso off gro off sg off"));
    ip(&format!("link set {name} up"));
}

/// Received frames of an interface are taken on by this processor, or by the one that delivers them.
fn receive_on(name: &str, processor: Option<usize>) {
    // A mount of its own, which shows the interfaces of this namespace.
    let threaded = u8::from(processor.is_some());
    let script = format!("mount -t sysfs none /sys && echo {threaded} > /sys/class/net/{name}/threaded");
    run_in_shell(&["unshare", "--mount"], &script);
    if let Some(processor) = processor {
        run_in_shell(
            &[],
            &format!(
                // A thread that ends with the laboratory before does not listen any more.
                "for thread in $(pgrep napi/{name}-); do taskset --cpu-list --pid {processor} $thread; renice \
                 --priority -20 $thread; done; true"
            ),
        );
    }
}

/// Seconds that processor 0 has worked.
fn busy() -> f64 {
    let table = fs::read_to_string("/proc/stat").expect("/proc");
    let row = table.lines().find_map(|line| line.strip_prefix("cpu0 ")).expect("there is a processor 0");
    let ticks: Vec<f64> = row.split_whitespace().map(|text| text.parse().expect("a number")).collect();
    // All but idle, waiting for disks, and what others had of it: hundredths of a second.
    [0, 1, 2, 5, 6].map(|k| ticks[k]).iter().sum::<f64>() / 100.0
}

/// Frames that came to an interface: the second of its counters.
fn received(name: &str) -> u64 {
    let table = fs::read_to_string("/proc/thread-self/net/dev").expect("/proc");
    let row = table.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'));
    row.and_then(|row| row.split_whitespace().nth(1)?.parse().ok()).expect("the interface is there")
}

fn text(station: [u8; 6]) -> String {
    station.map(|byte| format!("{byte:02x}")).join(":")
}

fn set(file: &str, value: &str) {
    fs::write(file, value).unwrap_or_else(|error| panic!("{file}: {error}"));
}

fn ip(arguments: &str) {
    run("ip", arguments);
}

fn run(program: &str, arguments: &str) {
    succeed(Command::new(program).args(arguments.split(' ')));
}

/// Under these programs.
fn run_in_shell(under: &[&str], script: &str) {
    let mut words = under.iter().copied().chain(["sh", "-c", script]);
    succeed(Command::new(words.next().unwrap_or("sh")).args(words));
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
