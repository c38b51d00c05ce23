//! A small HTTP server: each client asks once, is answered, and the connection is closed.
//!
//! Whatever clients do, each of a few has a thread for some seconds and 8 KiB. Bodies of requests are never looked at.

use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use dovetail_units::Duration;
use httparse::{EMPTY_HEADER, Error, Request};
use socket2::SockRef;

use crate::deadline::{read, write};
use crate::driver::Clock;

/// Clients at the same time.
const CLIENTS: usize = 8;

/// The request line and the headers have at most so many bytes, and so many headers.
const LONGEST: usize = 8192;
const HEADERS: usize = 64;

/// They come within this time.
const ASK: Duration = Duration::from_secs(5);

/// A client takes its answer within this time.
const TAKE: Duration = Duration::from_secs(2);

/// So many pieces of what a client still sends are read, so that it gets to read the answer.
const PIECES: usize = 16;

/// Where no client can be accepted, the next try comes after this time.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

/// The header of answers for people.
pub(crate) const PLAIN: &str = "Content-Type: text/plain; charset=utf-8";

/// What a client is told.
pub(crate) struct Response {
    /// Code and reason, such as `404 Not Found`.
    pub status: &'static str,
    /// Beside those that every response has.
    pub headers: &'static [&'static str],
    /// To HEAD only its length is told.
    pub body: String,
}

/// Answers clients until it is dropped, which waits for none of them.
pub(crate) struct Server {
    listener: Arc<TcpListener>,
    closed: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Answer whoever comes to `listener` with what `answer` makes of method and target, on threads of this name, which
    /// may do what the calling thread may.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn serve(
        listener: TcpListener,
        name: &'static str,
        answer: impl Fn(&str, &str) -> Response + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let (listener, closed) = (Arc::new(listener), Arc::new(AtomicBool::new(false)));
        let (served, over) = (Arc::clone(&listener), Arc::clone(&closed));
        let accept = move || accept(&served, name, Arc::new(answer), &over);
        let thread = thread::Builder::new().name(name.into()).spawn(accept)?;
        Ok(Self { listener, closed, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts; those of clients end by themselves. An error says that it listens no more.
        let _ = SockRef::from(&*self.listener).shutdown(Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn accept<A>(listener: &TcpListener, name: &str, answer: Arc<A>, closed: &AtomicBool)
where
    A: Fn(&str, &str) -> Response + Send + Sync + 'static,
{
    while !closed.load(Ordering::Relaxed) {
        let Ok((stream, _)) = listener.accept() else {
            // A client that is gone already, or no descriptors for a moment.
            thread::park_timeout(PAUSE);
            continue;
        };
        // Every client's thread has the function, and so has this one.
        if Arc::strong_count(&answer) > CLIENTS {
            continue;
        }
        let answer = Arc::clone(&answer);
        let serve = move || {
            let _ = Client { stream, clock: Clock::start() }.serve(&*answer);
        };
        // Without a thread the connection is closed.
        let _ = thread::Builder::new().name(name.into()).spawn(serve);
    }
}

struct Client {
    stream: TcpStream,
    clock: Clock,
}

impl Client {
    fn serve(mut self, answer: &impl Fn(&str, &str) -> Response) -> io::Result<()> {
        let (response, has_body) = self.hear(answer)?;
        let until = self.clock.now() + TAKE;
        write(&mut self.stream, &self.clock, head(&response).as_bytes(), until)?;
        if has_body {
            write(&mut self.stream, &self.clock, response.body.as_bytes(), until)?;
        }
        // If there were bytes that nobody has read, closing would take back the answer.
        self.stream.shutdown(Shutdown::Write)?;
        let mut rest = [0; 4096];
        for _ in 0..PIECES {
            if read(&mut self.stream, &self.clock, &mut rest, until)? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// The answer to the first request, and whether its body is wanted.
    fn hear(&mut self, answer: &impl Fn(&str, &str) -> Response) -> io::Result<(Response, bool)> {
        let until = self.clock.now() + ASK;
        let (mut head, mut length) = ([0; LONGEST], 0);
        loop {
            length += match read(&mut self.stream, &self.clock, &mut head[length..], until)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => count,
            };
            let mut headers = [EMPTY_HEADER; HEADERS];
            let mut request = Request::new(&mut headers);
            let wrong = |status| Ok((Response { status, headers: &[PLAIN], body: format!("{status}\n") }, true));
            match request.parse(&head[..length]) {
                Ok(parsed) if parsed.is_complete() => {
                    let [method, target] = [request.method, request.path].map(Option::unwrap_or_default);
                    return Ok((answer(method, target), method != "HEAD"));
                }
                Ok(_) if length < LONGEST => {}
                Ok(_) | Err(Error::TooManyHeaders) => return wrong("431 Request Header Fields Too Large"),
                Err(_) => return wrong("400 Bad Request"),
            }
        }
    }
}

/// What comes before the body.
fn head(response: &Response) -> String {
    let Response { status, headers, body } = response;
    let mut text = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    for header in *headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    text.push_str("\r\n");
    text
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    /// A server whose answers have so many bytes, and another handle of its listener.
    fn serve(bytes: usize) -> (Server, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let same = listener.try_clone().unwrap();
        let answer = move |_: &str, _: &str| Response { status: "200 OK", headers: &[], body: "x".repeat(bytes) };
        (Server::serve(listener, "test", answer).unwrap(), same)
    }

    fn ask(server: &Server) -> TcpStream {
        let mut stream = TcpStream::connect(server.address().unwrap()).unwrap();
        // One more than may be is closed before.
        let _ = stream.write_all(b"GET / HTTP/1.1\r\n\r\n");
        stream
    }

    /// Whether the server begins to answer this client.
    fn is_heard(mut client: TcpStream) -> bool {
        let mut said = [0; 15];
        client.read_exact(&mut said).is_ok() && &said == b"HTTP/1.1 200 OK"
    }

    fn wait(ms: u64) {
        thread::park_timeout(std::time::Duration::from_millis(ms));
    }

    #[test]
    fn clients_that_take_no_answers_hold_their_places_for_a_while_and_not_the_end() {
        // More than the kernel keeps for both ends.
        let (server, _same) = serve(16 << 20);
        let silent: Vec<TcpStream> = (0..CLIENTS).map(|_| ask(&server)).collect();
        assert!((0..1000).any(|_| {
            wait(20);
            is_heard(ask(&server))
        }));
        let _silent_too = ask(&server);
        drop(server);
        drop(silent);
    }

    #[test]
    fn after_a_while_in_which_no_client_could_be_accepted_clients_are_answered() {
        let (server, same) = serve(2);
        // Accepting fails, as it does without descriptors.
        SockRef::from(&same).shutdown(Shutdown::Both).unwrap();
        wait(50);
        SockRef::from(&same).listen(8).unwrap();
        let mut text = String::new();
        ask(&server).read_to_string(&mut text).unwrap();
        assert_eq!(text, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nxx");
        // It ends in such a while, too.
        SockRef::from(&same).shutdown(Shutdown::Both).unwrap();
        drop(server);
    }
}
