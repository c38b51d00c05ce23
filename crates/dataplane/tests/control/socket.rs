//! The control socket: whose it is, and what its clients can do to it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::thread;

use dovetail_dataplane::control::protocol::{Answer, LONGEST, Request};
use dovetail_dataplane::control::{Bound, Client, ClientError, Socket};

use crate::support::{CONFIG, Running, middlebox, set, with_traffic};

/// A socket in a folder of its own, and a worker behind it.
struct Reachable {
    socket: Option<Socket>,
    running: Running,
    folder: tempfile::TempDir,
}

impl Reachable {
    fn start() -> Self {
        Self::with_flows(300)
    }

    fn with_flows(flows: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let running = Running::start(move || with_traffic(flows));
        let socket = Bound::at(&folder.path().join("run/box.sock")).unwrap().serve(running.counter.clone()).unwrap();
        Self { socket: Some(socket), running, folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("run/box.sock")
    }

    fn client(&self) -> Client {
        Client::connect(&self.path()).unwrap()
    }

    fn raw(&self) -> UnixStream {
        UnixStream::connect(self.path()).unwrap()
    }
}

fn answer(stream: &UnixStream) -> Answer {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    Answer::from_line(line.as_bytes()).unwrap()
}

#[test]
fn a_client_asks_again_and_again_over_the_socket() {
    let reachable = Reachable::start();
    let mut client = reachable.client();
    assert_eq!(client.snapshot(5).unwrap().flows.len(), 5);
    assert_eq!(client.change(&set("alpha", "0.25")).unwrap(), "alpha=0.25");
    assert!(matches!(client.change(&set("alhpa", "1")), Err(ClientError::Refused(_))));
    assert_eq!(client.snapshot(0).unwrap().scheduler, "tradeoff:alpha=0.25");
}

#[test]
fn only_the_owner_can_use_the_socket_and_it_goes_with_the_box() {
    let mut reachable = Reachable::start();
    let mode = fs::metadata(reachable.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    reachable.socket.take();
    assert!(!reachable.path().exists());
}

#[test]
fn the_socket_of_a_dead_box_is_replaced_and_that_of_a_live_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("box.sock");
    let running = Running::start(|| middlebox(CONFIG));
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let first = Bound::at(&path).unwrap().serve(running.counter.clone()).unwrap();
    let second = Bound::at(&path).err().unwrap().to_string();
    assert!(second.contains("another box listens there"), "{second}");
    assert!(Client::connect(&path).unwrap().snapshot(0).is_ok());
    drop(first);
    // Of a box that ends before it answers nothing stays either.
    drop(Bound::at(&path).unwrap());
    assert!(!path.exists());
    fs::write(&path, "a letter").unwrap();
    let third = Bound::at(&path).err().unwrap().to_string();
    assert!(third.contains("is not a socket"), "{third}");
    assert_eq!(fs::read(&path).unwrap(), b"a letter");
}

#[test]
fn a_box_whose_socket_was_removed_ends_and_leaves_that_of_another_box_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("box.sock");
    let running = Running::start(|| middlebox(CONFIG));
    let open = || Bound::at(&path).unwrap();
    let serve = || open().serve(running.counter.clone()).unwrap();
    for another in [false, true] {
        let first = serve();
        fs::remove_file(&path).unwrap();
        let second = another.then(serve);
        let (tell, told) = std::sync::mpsc::channel();
        thread::spawn(move || {
            drop(first);
            tell.send(()).unwrap();
        });
        told.recv_timeout(std::time::Duration::from_secs(60)).expect("it ends");
        assert_eq!(path.exists(), another);
        assert!(second.is_none_or(|_| Client::connect(&path).unwrap().snapshot(0).is_ok()));
        assert!(!path.exists());
    }
    // One that answers nobody yet.
    let first = open();
    fs::remove_file(&path).unwrap();
    let second = open();
    drop(first);
    assert!(path.exists());
    drop(second);
}

#[test]
fn a_request_that_is_too_long_ends_its_client_only() {
    let reachable = Reachable::start();
    let mut hostile = reachable.raw();
    // The box may close before all is written.
    let _ = hostile.write_all(&vec![b'x'; 3 * LONGEST]);
    let mut said = Vec::new();
    let _ = hostile.read_to_end(&mut said);
    assert!(reachable.client().snapshot(0).is_ok());
    let mut long = reachable.raw();
    long.write_all(&[vec![b' '; LONGEST + 1], b"\n".to_vec()].concat()).unwrap();
    let Answer::Error(message) = answer(&long) else { panic!() };
    assert!(message.contains("at most 4096 bytes"), "{message}");
}

#[test]
fn nonsense_is_answered_and_the_next_request_is_heard() {
    let reachable = Reachable::start();
    let mut stream = reachable.raw();
    for nonsense in [&b"\n"[..], b"\0\xff\n", b"{}\n", b"[[[[[[[[\n", b"{\"version\":1,\"request\":{}}\n"] {
        stream.write_all(nonsense).unwrap();
        assert!(matches!(answer(&stream), Answer::Error(_)));
    }
    stream.write_all(Request::Snapshot { flows: 0 }.to_line().as_bytes()).unwrap();
    assert!(matches!(answer(&stream), Answer::Snapshot(_)));
}

#[test]
fn silent_clients_fill_their_places_and_no_more() {
    let reachable = Reachable::start();
    let mut silent: Vec<UnixStream> = (0..8).map(|_| reachable.raw()).collect();
    let full = reachable.client().snapshot(0).unwrap_err();
    assert!(matches!(&full, ClientError::Unavailable(_)), "{full:?}");
    assert!(full.to_string().contains("8 clients talk to this box already"), "{full}");
    // The worker is not concerned.
    assert!(reachable.running.snapshot().time_s > 0.0);
    silent.pop();
    // The place is free as soon as the box has seen that the client is gone.
    let heard = (0..10_000).any(|_| reachable.client().snapshot(0).is_ok());
    assert!(heard);
}

fn wait(ms: u64) {
    thread::park_timeout(std::time::Duration::from_millis(ms));
}

#[test]
fn clients_whose_requests_come_byte_by_byte_lose_their_places_after_two_seconds() {
    let reachable = Reachable::start();
    let mut slow: Vec<UnixStream> = (0..8).map(|_| reachable.raw()).collect();
    assert!(matches!(reachable.client().snapshot(0), Err(ClientError::Unavailable(_))));
    let heard = (0..15).any(|_| {
        slow.iter_mut().for_each(|slow| drop(slow.write_all(b" ")));
        wait(300);
        reachable.client().snapshot(0).is_ok()
    });
    assert!(heard);
}

#[test]
fn clients_that_take_an_answer_piece_by_piece_lose_their_places_after_two_seconds() {
    let reachable = Reachable::with_flows(1000);
    let request = Request::Snapshot { flows: 1000 }.to_line();
    let mut slow: Vec<UnixStream> = (0..8).map(|_| reachable.raw()).collect();
    for slow in &mut slow {
        slow.set_nonblocking(true).unwrap();
        // Until the box, which cannot get rid of its answers, reads no more.
        while slow.write(request.as_bytes()).is_ok() {}
    }
    assert!(matches!(reachable.client().snapshot(0), Err(ClientError::Unavailable(_))));
    // An answer has 38 such pieces.
    let heard = (0..15).any(|_| {
        slow.iter_mut().for_each(|slow| drop(slow.read(&mut [0; 12_000])));
        wait(300);
        reachable.client().snapshot(0).is_ok()
    });
    assert!(heard);
}

#[test]
fn a_client_that_takes_no_answers_does_not_hold_the_worker() {
    let reachable = Reachable::start();
    let mut greedy = reachable.raw();
    greedy.set_nonblocking(true).unwrap();
    let request = Request::Snapshot { flows: 1000 }.to_line();
    // Until the box, which cannot get rid of its answers, reads no more.
    while greedy.write(request.as_bytes()).is_ok() {}
    for _ in 0..10 {
        assert!(reachable.client().snapshot(0).is_ok());
    }
}
