//! A running box goes on by another configuration: nothing that it holds is lost, and what it cannot change it refuses.

use dovetail_dataplane::config::Config;
use dovetail_dataplane::control::protocol::{Answer, Request};
use dovetail_dataplane::control::{Counter, Desk};
use dovetail_dataplane::core::{Middlebox, Snapshot};
use dovetail_dataplane::frame::Frame;
use dovetail_dataplane::live::Live;
use dovetail_dataplane::port::memory::pair;
use dovetail_units::{Duration, Part, Time};
use dovetail_wire::LinkType;
use etherparse::PacketBuilder;
use proptest::prelude::*;

const PORTS: &str = "[ports]\nin = \"packet:a\"\nout = \"packet:b\"\n";

fn config(scheduler: &str, rest: &str) -> Config {
    let text = format!("scheduler = {scheduler:?}\n{PORTS}{rest}");
    Config::parse("box.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn middlebox(config: &Config) -> Middlebox {
    config.middlebox().unwrap_or_else(|error| panic!("{error}"))
}

fn reload(middlebox: &mut Middlebox, now: Time, config: &Config) {
    middlebox.reload(now, config.setup().unwrap()).unwrap();
}

fn us(us: u64) -> Time {
    Time::from_nanos(1_000_000_000) + Duration::from_micros(us)
}

/// A UDP frame of 800 bytes to this port, numbered.
fn put(middlebox: &mut Middlebox, now: Time, port: u16, number: u32) {
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 1], [10, 0, 1, 1], 64).udp(9, port);
    let mut bytes = Vec::new();
    let mut payload = number.to_be_bytes().to_vec();
    payload.resize(758, 0);
    builder.write(&mut bytes, &payload).unwrap();
    let mut frame = middlebox.pool.take();
    frame.fill(now, &bytes, LinkType::ETHERNET);
    middlebox.receive(now, frame);
}

/// What has left since the last call.
fn out(middlebox: &mut Middlebox) -> Vec<Vec<u8>> {
    let frames: Vec<Frame> = middlebox.outgoing.drain(..).collect();
    let bytes = frames.iter().map(|frame| frame.data().to_vec()).collect();
    frames.into_iter().for_each(|frame| middlebox.pool.give(frame));
    bytes
}

/// Port and number of a frame that left as it came.
fn mark(frame: &[u8]) -> (u16, u32) {
    (u16::from_be_bytes([frame[36], frame[37]]), u32::from_be_bytes(*frame[42..].first_chunk().unwrap()))
}

/// Every frame is in one place, and what the classes and the flows did is what the box did.
fn check_account(snapshot: &Snapshot) {
    assert_eq!(snapshot.unaccounted, 0);
    let total = &snapshot.total;
    assert_eq!(total.frames_in, total.frames_out + total.dropped.values().sum::<u64>() + total.held);
    assert!((total.frames_out..=total.frames_in).contains(&total.frames_processed));
    let sum = |of: fn(&dovetail_dataplane::core::QueueSnapshot) -> u64| -> u64 {
        snapshot.classes.iter().map(|class| of(&class.frames)).sum()
    };
    assert_eq!(
        (sum(|f| f.frames_in), sum(|f| f.frames_processed), sum(|f| f.frames_out), sum(|f| f.held)),
        (total.frames_in, total.frames_processed, total.frames_out, total.held)
    );
}

const SLOW: &str = "[link]\nrate = \"64 Mbps\"\n[[class]]\nname = \"all\"\ncost = \"90 us\"\nqueue = \"30 packets\"\n";

/// What can stand in front of CPU and link: one scheduler, one each, back-pressure between them, queue management, and
/// mixtures.
const SCHEDULERS: [&str; 9] =
    ["tradeoff:alpha=0.5", "drfq", "fifo", "pcfq", "drr+drr", "sfq+drr:full=hold", "red+red", "drq", "drr+red"];

#[test]
fn what_waits_goes_on_waiting_in_its_order_whatever_scheduler_takes_over() {
    for from in SCHEDULERS {
        for to in SCHEDULERS {
            let mut middlebox = middlebox(&config(from, SLOW));
            (0..60).for_each(|k| put(&mut middlebox, us(0), 5000 + (k % 4) as u16, k));
            // 800 B take 100 us on the link and 90 us on the CPU, so that some wait in front of each.
            (0..=15).for_each(|k| middlebox.advance(us(100 * k)));
            check_account(&middlebox.snapshot(us(1500)));
            let held = middlebox.held();
            reload(&mut middlebox, us(1500), &config(to, SLOW));
            assert_eq!(middlebox.held(), held, "{from} -> {to}");
            check_account(&middlebox.snapshot(us(1500)));
            (16..100).for_each(|k| middlebox.advance(us(100 * k)));
            let total = middlebox.snapshot(us(10_000)).total;
            assert_eq!((total.frames_out, total.dropped.len()), (60, 0), "{from} -> {to}");
            let left: Vec<(u16, u32)> = out(&mut middlebox).iter().map(|frame| mark(frame)).collect();
            for port in 5000..5004 {
                let numbers: Vec<u32> = left.iter().filter(|mark| mark.0 == port).map(|mark| mark.1).collect();
                assert!(numbers.len() == 15 && numbers.is_sorted(), "{from} -> {to}: {numbers:?}");
            }
            assert_eq!(middlebox.pool.in_use(), 0);
        }
    }
}

#[test]
fn a_smaller_limit_holds_for_what_comes() {
    for to in ["fifo", "drfq"] {
        let mut middlebox = middlebox(&config("fifo", SLOW));
        (0..20).for_each(|k| put(&mut middlebox, us(0), 5000, k));
        reload(&mut middlebox, us(0), &config(to, &SLOW.replace("30 packets", "5 packets")));
        put(&mut middlebox, us(0), 5000, 20);
        let total = middlebox.snapshot(us(0)).total;
        assert_eq!((total.held, total.dropped["queue-packets"]), (20, 1), "{to}");
    }
}

const TUNNEL: &str = r#"
[[module]]
name = "tunnel"
kind = "esp"
transform = "aes128-gcm"
key = "000102030405060708090a0b0c0d0e0f10111213"
spi = 4096
src = "192.0.2.1"
dst = "192.0.2.2"
[[class]]
name = "secret"
match = [{ protocol = "udp", dport = "5000-5999" }]
modules = ["tunnel"]
cost = "90 us"
"#;
const PLAIN: &str = "[[class]]\nname = \"plain\"\ncost = \"90 us\"\n";

/// Security parameters index and sequence number, of a frame that was encrypted.
fn esp(frame: &[u8]) -> Option<(u32, u32)> {
    let word = |at: usize| u32::from_be_bytes(*frame[at..].first_chunk().unwrap());
    (frame[23] == 50).then(|| (word(34), word(38)))
}

#[test]
fn a_module_that_is_the_same_keeps_its_state_and_another_one_starts_afresh() {
    let same = format!("{PLAIN}{TUNNEL}");
    let other = same.replace("4096", "5000");
    let mut middlebox = middlebox(&config("fifo", &format!("{TUNNEL}{PLAIN}")));
    let mut seen = Vec::new();
    for (k, next) in [&same, &other, &other].into_iter().enumerate() {
        let now = us(1000 * k as u64);
        put(&mut middlebox, now, 5000, 0);
        middlebox.advance(now);
        middlebox.advance(now + Duration::from_micros(900));
        seen.extend(out(&mut middlebox).iter().map(|frame| esp(frame)));
        reload(&mut middlebox, now + Duration::from_micros(900), &config("fifo", next));
    }
    assert_eq!(seen, [Some((4096, 1)), Some((4096, 2)), Some((5000, 1))]);
}

#[test]
fn a_tunnel_that_changes_goes_on_with_its_sequence_numbers() {
    let before = config("fifo", &format!("{TUNNEL}{PLAIN}"));
    let mut middlebox = middlebox(&before);
    let mut seen = Vec::new();
    for (k, lines) in ["", "ttl = 70\n", "mtu = 1400\nclamp_mss = false\n"].into_iter().enumerate() {
        let now = us(1000 * k as u64);
        let mut setup =
            config("fifo", &format!("{}{PLAIN}", TUNNEL.replace("spi", &format!("{lines}spi")))).setup().unwrap();
        middlebox.hand_over(&mut setup).unwrap();
        middlebox.reload(now, setup).unwrap();
        put(&mut middlebox, now, 5000, 0);
        middlebox.advance(now);
        middlebox.advance(now + Duration::from_micros(900));
        seen.extend(out(&mut middlebox).iter().filter_map(|frame| esp(frame)));
    }
    assert_eq!(seen, [(4096, 1), (4096, 2), (4096, 3)]);
}

#[test]
fn frames_of_a_class_that_is_no_more_are_processed_as_was_said_when_they_came() {
    let mut middlebox = middlebox(&config("fifo", &format!("{TUNNEL}{PLAIN}")));
    (0..3).for_each(|k| put(&mut middlebox, us(0), 5000, k));
    middlebox.advance(us(0));
    reload(&mut middlebox, us(10), &config("fifo", PLAIN));
    assert_eq!(middlebox.class_names().collect::<Vec<_>>(), ["plain"]);
    (3..5).for_each(|k| put(&mut middlebox, us(10), 5000, k));
    // A second one does not take away what the first one has kept.
    reload(&mut middlebox, us(20), &config("fifo", PLAIN));
    (0..10).for_each(|k| middlebox.advance(us(100 * k)));
    let secret: Vec<bool> = out(&mut middlebox).iter().map(|frame| esp(frame).is_some()).collect();
    assert_eq!(secret, [true, true, true, false, false]);
    let snapshot = middlebox.snapshot(us(1000));
    check_account(&snapshot);
    let classes: Vec<(&str, u64)> =
        snapshot.classes.iter().map(|class| (class.class.as_str(), class.frames.frames_out)).collect();
    assert_eq!(classes, [("secret", 3), ("plain", 2)]);
    // It comes back, and goes on counting.
    reload(&mut middlebox, us(1000), &config("fifo", &format!("{PLAIN}{TUNNEL}")));
    put(&mut middlebox, us(1000), 5000, 5);
    middlebox.advance(us(1000));
    middlebox.advance(us(1100));
    assert_eq!(out(&mut middlebox).iter().filter_map(|frame| esp(frame)).count(), 1);
    assert_eq!(middlebox.snapshot(us(1100)).classes[0].frames.frames_in, 4);
}

#[test]
fn a_flow_is_of_the_class_and_the_weight_that_its_next_frame_has() {
    let classes = |weight: &str| {
        format!(
            "[[class]]\nname = \"dear\"\nmatch = [{{ protocol = \"udp\", dport = \"5000\" }}]\nweight = {weight}\n\
             cost = \"90 us\"\n{PLAIN}"
        )
    };
    let mut middlebox = middlebox(&config("drfq", PLAIN));
    (0..40).for_each(|k| put(&mut middlebox, us(0), 5000 + (k % 2) as u16, k));
    reload(&mut middlebox, us(0), &config("drfq", &classes("3")));
    assert_eq!(middlebox.snapshot(us(0)).classes.iter().map(|class| class.flows).sum::<u64>(), 2);
    put(&mut middlebox, us(0), 5000, 40);
    let snapshot = middlebox.snapshot(us(0));
    let dear = snapshot.classes.iter().find(|class| class.class == "dear").unwrap();
    assert_eq!((dear.weight, dear.flows, dear.frames.frames_in), (3.0, 1, 1));
    // 17 frames in 1.5 ms, three of four of the flow whose weight is three; a packet either way.
    (0..=15).for_each(|k| middlebox.advance(us(100 * k)));
    let heavy = out(&mut middlebox).iter().filter(|frame| mark(frame).0 == 5000).count();
    assert!((11..=14).contains(&heavy), "{heavy}");
}

/// Under alpha = 0 only those are served that use the link best. A class of alpha 1 has its fair share all the same:
/// half of the CPU, which all of them need most.
#[test]
fn a_class_has_the_alpha_of_the_configuration_and_that_of_a_change() {
    let classes = |alpha: &str| {
        format!(
            "[link]\nrate = \"160 Mbps\"\n\
             [[class]]\nname = \"dear\"\nmatch = [{{ protocol = \"udp\", dport = \"5000\" }}]\n\
             cost = \"90 us\"\n{alpha}\n\
             [[class]]\nname = \"lean\"\ncost = \"45 us\"\n"
        )
    };
    // How many of the first class leave in 1.8 ms.
    let dear = |middlebox: &mut Middlebox, from: u64| {
        (0..=36).for_each(|k| middlebox.advance(us(from + 50 * k)));
        out(middlebox).iter().filter(|frame| mark(frame).0 == 5000).count()
    };
    let mut middlebox = middlebox(&config("tradeoff:alpha=0", &classes("")));
    (0..320).for_each(|k| put(&mut middlebox, us(0), 5000 + (k % 2) as u16, k));
    // The flow that came first may have a packet before the other comes.
    assert!(dear(&mut middlebox, 0) <= 2);
    middlebox.set_alpha(us(1900), "dear", Some(Part::WHOLE)).unwrap();
    // Ten, and a packet or two either way.
    let served = dear(&mut middlebox, 1900);
    assert!((8..=12).contains(&served), "{served}");
    reload(&mut middlebox, us(4000), &config("tradeoff:alpha=0", &classes("")));
    let served = dear(&mut middlebox, 4000);
    assert!(served <= 2, "{served}");
    reload(&mut middlebox, us(6000), &config("tradeoff:alpha=0", &classes("alpha = 1")));
    assert_eq!(middlebox.snapshot(us(6000)).classes[0].alpha, Some(1.0));
    let served = dear(&mut middlebox, 6000);
    assert!((8..=12).contains(&served), "{served}");
}

const CONFIGS: [(&str, &str); 6] = [
    ("tradeoff:alpha=1", SLOW),
    ("tradeoff:alpha=0.2", PLAIN),
    (
        "drr+drr",
        "[link]\nrate = \"30 Mbps\"\n[flows]\nkey = \"prefix+port:24/48\"\n[[class]]\nname = \"all\"\n\
         cost = \"10 us\"\nqueue = \"2 packets\"\n",
    ),
    ("drq", SLOW),
    ("fifo", TUNNEL),
    (
        "sfq+drr:full=hold",
        "[link]\nrate = \"64 Mbps\"\n[flows]\nmost = 2\nidle = \"2 ms\"\n[[class]]\nname = \"odd\"\n\
         match = [{ protocol = \"udp\", dport = \"5001\" }]\n[[class]]\nname = \"all\"\ncost = \"90 us\"\n",
    ),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_frame_is_lost_among_any_reloads(
        steps in prop::collection::vec((0..8_usize, 0..6_u16, 1..400_u64), 1..150),
    ) {
        let mut middlebox = middlebox(&config(CONFIGS[0].0, CONFIGS[0].1));
        let (mut now, mut left) = (0, 0);
        for (number, (what, flow, pause)) in steps.into_iter().enumerate() {
            match CONFIGS.get(what).filter(|_| pause % 8 == 0) {
                Some((scheduler, rest)) => reload(&mut middlebox, us(now), &config(scheduler, rest)),
                None => (0..what).for_each(|_| put(&mut middlebox, us(now), 5000 + flow, number as u32)),
            }
            now += pause;
            middlebox.advance(us(now));
            check_account(&middlebox.snapshot(us(now)));
            left += out(&mut middlebox).len() as u64;
        }
        for _ in 0..2000 {
            now += 1000;
            middlebox.advance(us(now));
            left += out(&mut middlebox).len() as u64;
        }
        let snapshot = middlebox.snapshot(us(now));
        check_account(&snapshot);
        prop_assert_eq!((snapshot.total.held, snapshot.total.frames_out), (0, left));
        prop_assert_eq!(middlebox.pool.in_use(), 0);
    }
}

/// Scheduler, classes with weights, budget, rate.
type Settings = (String, Vec<(String, f64)>, Option<f64>, Option<f64>);

/// A box of a file, and who may ask it.
struct Filed {
    folder: tempfile::TempDir,
    desk: Desk,
    counter: Counter,
    live: Live,
    now: Time,
}

impl Filed {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("box.toml");
        std::fs::write(&path, text).unwrap();
        let config = Config::parse(path.to_str().unwrap(), text, &["cpu.budget=50 %".to_string()]).unwrap();
        let (desk, counter) = Desk::open();
        let [inside, outside] = pair(["a", "b"], LinkType::ETHERNET, 1);
        let live = Live::new(middlebox(&config), Box::new(inside), Box::new(outside), Duration::ZERO);
        Self { folder, desk, counter: counter.reloading(config), live, now: us(0) }
    }

    fn reload(&mut self, text: &str) -> Answer {
        std::fs::write(self.folder.path().join("box.toml"), text).unwrap();
        let counter = self.counter.clone();
        let asking = std::thread::spawn(move || counter.ask(Request::Reload {}));
        while !asking.is_finished() {
            self.now += Duration::from_millis(10);
            self.desk.answer(self.now, &mut self.live);
            std::thread::yield_now();
        }
        asking.join().unwrap()
    }

    fn settings(&self) -> Settings {
        let snapshot = self.live.middlebox.snapshot(self.now);
        let classes = snapshot.classes.iter().map(|class| (class.class.clone(), class.weight)).collect();
        let capacity = |name: &str| snapshot.resources[name].capacity;
        (snapshot.scheduler.clone(), classes, capacity("cpu"), capacity("link"))
    }
}

fn file(scheduler: &str, rate: &str, class: &str) -> String {
    format!(
        "scheduler = \"{scheduler}\"\n{PORTS}[link]\nrate = \"{rate}\"\n[[class]]\nname = \"{class}\"\nweight = 2\n"
    )
}

#[test]
fn a_file_that_has_changed_is_in_force_and_the_command_line_still_is() {
    let mut filed = Filed::new(&file("tradeoff:alpha=1", "10 Mbps", "a"));
    let answer = filed.reload(&file("tradeoff:alpha=0.5", "20 Mbps", "b"));
    assert!(matches!(&answer, Answer::Done(done) if done.ends_with("box.toml is in force")), "{answer:?}");
    let expected = ("tradeoff:alpha=0.5".to_string(), vec![("b".to_string(), 2.0)], Some(0.5), Some(2e7));
    assert_eq!(filed.settings(), expected);
    // What was changed over the socket meanwhile gives way to the file.
    filed.live.middlebox.set(filed.now, "alpha", "0.9").unwrap();
    filed.reload(&file("tradeoff:alpha=0.5", "20 Mbps", "b"));
    assert_eq!(filed.settings(), expected);
}

#[test]
fn a_file_that_is_wrong_or_asks_for_too_much_changes_nothing() {
    let around = "[faults]\nin = { drop = \"1 %\" }\n[record]\nout = \"seen.pcap\"\n";
    let first = format!("{}{around}", file("tradeoff:alpha=1", "10 Mbps", "a"));
    let mut filed = Filed::new(&first);
    let before = filed.settings();
    let mut refused = |text: &str, words: &[&str]| {
        let Answer::Error(error) = filed.reload(text) else { panic!("{text}") };
        for words in words {
            assert!(error.contains(words), "{words:?} is missing in\n{error}");
        }
        assert!(error.ends_with("nothing has changed in the running box"), "{error}");
        assert_eq!(filed.settings(), before);
    };
    refused(&first.replace("tradeoff:alpha=1", "tradeof"), &["box.toml", "1:13", "did you mean \"tradeoff\"?"]);
    refused(&first.replace("weight", "wieght"), &["box.toml", "wieght", "did you mean"]);
    refused(&format!("{first}[flows]\nmost = 0\n"), &["box.toml", "expected a whole number from 1 to 4294967295"]);
    refused("scheduler = ", &["box.toml", ":1:"]);
    refused(
        &first.replace("packet:b", "packet:c"),
        &["box.toml", ":18:7", "out = \"packet:b\"", "cannot change while it runs"],
    );
    refused(&format!("{first}[control]\nsocket = \"other\"\n"), &["control.socket = none", "cannot change"]);
    refused(&format!("{first}[metrics]\nlisten = \"127.0.0.1:1\"\n"), &["metrics.listen = none", "cannot change"]);
    refused(&format!("{first}[reverse]\ndelay = \"1 ms\"\n"), &["reverse.delay = 0", "cannot change"]);
    refused(&first.replace("1 %", "2 %"), &["[faults]", "cannot change"]);
    refused(&first.replace("seen.pcap", "other.pcap"), &["[record]", "cannot change"]);
    // Where it stands does not matter.
    let answer = filed.reload(&format!("# what the box is for\n{first}"));
    assert!(matches!(answer, Answer::Done(_)), "{answer:?}");
}

#[test]
fn a_file_that_is_none_any_more_keeps_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("box.toml");
    std::fs::write(&path, file("fifo", "10 Mbps", "a")).unwrap();
    let config = Config::parse(path.to_str().unwrap(), &file("fifo", "10 Mbps", "a"), &[]).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let (sender, said) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(config.reread().map(drop).map_err(|error| error.to_string())));
    let said = said.recv_timeout(std::time::Duration::from_secs(10)).expect("it waits");
    assert!(said.as_ref().is_err_and(|error| error.contains("it is not an ordinary file")), "{said:?}");
}

#[test]
fn without_a_file_there_is_nothing_to_reload() {
    let (_desk, counter) = Desk::open();
    assert!(matches!(counter.ask(Request::Reload {}), Answer::Error(error) if error.contains("no file")));
    let text = file("fifo", "10 Mbps", "a");
    let (_desk, counter) = Desk::open();
    let counter = counter.reloading(Config::parse("-", &text, &[]).unwrap());
    assert!(matches!(counter.ask(Request::Reload {}), Answer::Error(error) if error.contains("standard input")));
}
