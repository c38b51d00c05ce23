//! Labs come and go whole.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::support::{lab, left, options, output, own};
use dovetail_lab::{Lab, LabError, Place, Removed, names};

/// A process that does nothing for long.
fn sleeper(lab: &Lab, place: Place) -> Child {
    lab.spawn(place, Command::new("sleep").arg("1000")).unwrap()
}

#[test]
#[ignore = "needs root"]
fn a_lab_that_is_dropped_leaves_no_trace() {
    let links = output("ip", &["-o", "link"]);
    let lab = lab("trace");
    assert_eq!(left("trace").len(), 3);
    assert!(names().contains(&own("trace")));
    assert_eq!(output("ip", &["-o", "link"]), links, "a lab shows outside its namespaces");
    let mut sleepers = Place::ALL.map(|place| sleeper(&lab, place));
    drop(lab);
    for sleeper in &mut sleepers {
        assert!(!sleeper.wait().unwrap().success(), "a process has not been ended");
    }
    assert_eq!(left("trace"), [""; 0]);
    assert_eq!(output("ip", &["-o", "link"]), links);
}

#[test]
#[ignore = "needs root"]
fn a_lab_that_cannot_be_made_leaves_no_trace() {
    let mut options = options("half");
    // Found out when namespaces and interfaces are there already.
    options.congestion_control = "renno".into();
    let error = Lab::up(&options).unwrap_err();
    assert!(error.is_input());
    let said = error.to_string();
    assert!(
        said.starts_with("this kernel does not allow the congestion control \"renno\" in a lab: expected one of ")
            && said.contains("reno ")
    );
    assert_eq!(left("half"), [""; 0]);
}

#[test]
#[ignore = "needs root"]
fn a_name_can_be_used_once() {
    let lab = lab("once");
    assert!(matches!(Lab::up(&options("once")), Err(LabError::Exists(_))));
    assert_eq!(left("once").len(), 3, "the attempt has harmed the lab that is there");
    drop(lab);
    assert_eq!(Lab::down(&own("once")).unwrap(), []);
}

/// A program that makes a lab, starts something in it, and says so. It runs in
/// [`what_a_killed_process_has_left_is_removed`].
#[test]
#[ignore = "is run by another test"]
fn make_a_lab_and_wait() {
    let lab = Lab::up(&dovetail_lab::Options { name: std::env::var("LAB").unwrap(), ..Default::default() }).unwrap();
    // Does not end when it is asked to.
    let stubborn = "trap '' TERM; echo ready; while :; do sleep 1; done";
    let mut child = lab.spawn(Place::Box, Command::new("sh").args(["-c", stubborn])).unwrap();
    child.wait().unwrap();
}

#[test]
#[ignore = "needs root"]
fn what_a_killed_process_has_left_is_removed() {
    let mut maker = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "lifetime::make_a_lab_and_wait", "--ignored", "--nocapture"])
        .env("LAB", own("killed"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(maker.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("ready")));
    maker.kill().unwrap();
    maker.wait().unwrap();
    assert_eq!(left("killed").len(), 3);

    let removed = Lab::down(&own("killed")).unwrap();
    let is_shell = |r: &Removed| matches!(r, Removed::Process(_, name) if name == "sh");
    assert!(removed.iter().any(is_shell), "{removed:?}");
    assert_eq!(removed.iter().filter(|r| matches!(r, Removed::Namespace(_))).count(), 3);
    assert_eq!(left("killed"), [""; 0]);
    // Nobody is left who holds the pipe: the shell is gone.
    assert_eq!(lines.map_while(Result::ok).filter(|line| line == "ready").count(), 0);
}

#[test]
#[ignore = "needs root"]
fn part_of_a_lab_can_be_removed() {
    lab("part").stay();
    output("ip", &["netns", "del", &format!("dovetail-{}-box", own("part"))]);
    assert!(names().contains(&own("part")));
    assert_eq!(Lab::down(&own("part")).unwrap().len(), 2);
    assert!(!names().contains(&own("part")));
}

#[test]
#[ignore = "needs root"]
fn a_lab_is_as_it_is_described() {
    let mut options = options("shape");
    (options.mtu, options.ecn) = (1400, false);
    let lab = Lab::up(&options).unwrap();
    for (place, interfaces) in
        [(Place::Client, vec!["eth0"]), (Place::Box, vec!["client", "server"]), (Place::Server, vec!["eth0"])]
    {
        let ip = |arguments: &[&str]| {
            let namespace = lab.namespace_name(place);
            output("ip", &[&["-n", &namespace, "-o"], arguments].concat())
        };
        let links = ip(&["link"]);
        let found: Vec<&str> = links
            .lines()
            .map(|l| l.split([' ', '@', ':']).find(|w| w.parse::<u32>().is_err() && !w.is_empty()).unwrap())
            .collect();
        assert_eq!(found, [vec!["lo"], interfaces.clone()].concat());
        for interface in interfaces {
            let link = links.lines().find(|l| l.contains(&format!(" {interface}@"))).unwrap();
            assert!(link.contains("mtu 1400") && link.contains("LOWER_UP"), "{link}");
            if place != Place::Box {
                offloads_are(&lab, place, interface);
            }
        }
        // The box is not to be seen.
        let addresses = ip(&["address"]).lines().filter(|line| !line.contains(": lo ")).count();
        // IPv4, IPv6 and what the kernel gives itself.
        assert_eq!(addresses, if place == Place::Box { 0 } else { 3 });
    }
    let settings = ["net.ipv4.tcp_congestion_control", "net.ipv4.tcp_ecn"].map(|name| {
        let namespace = lab.namespace_name(Place::Server);
        output("ip", &["netns", "exec", &namespace, "cat", &format!("/proc/sys/{}", name.replace('.', "/"))])
    });
    assert_eq!(settings, ["reno\n", "0\n"]);
}

/// What a box bears is as the kernel sets it.
fn offloads_are(lab: &Lab, place: Place, interface: &str) {
    let namespace = lab.namespace_name(place);
    let features = Command::new("ip").args(["netns", "exec", &namespace, "ethtool", "-k", interface]).output().unwrap();
    if !features.status.success() {
        eprintln!("not checked: ethtool is missing");
        return;
    }
    let features = String::from_utf8(features.stdout).unwrap();
    // Segments of protocols that are not spoken here may be cut.
    let cut =
        ["tx-tcp-segmentation", "tx-tcp6-segmentation", "generic-segmentation-offload", "generic-receive-offload"];
    for (feature, state) in cut.map(|feature| (feature, "off")).into_iter().chain([("tx-checksumming", "on")]) {
        assert!(features.contains(&format!("{feature}: {state}")), "{feature} of {interface}:\n{features}");
    }
}
