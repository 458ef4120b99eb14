//! `--metrics-listen`: the metrics of a running trial at `/metrics`, for any number of Prometheuses to scrape. There is no
//! token; a `Host` must be a name of this host or of a local network.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use crate::answer::Answer;
use crate::http::{self, Limits, Reply, Service};
use crate::request::Request;

/// A scrape takes a few milliseconds.
const LIMITS: Limits = Limits {
    connections: 64,
    request: Duration::from_secs(1),
    answer: Duration::from_secs(1),
};

/// The metrics as they are, and their `Content-Type`.
#[derive(Debug)]
pub struct Exposed {
    pub content_type: &'static str,
    pub text: String,
}

/// Serves them from now on, as long as pgdyno runs; gives the address. `exposed` gets what a request says in its header
/// `Accept`.
///
/// # Errors
/// The address cannot be listened on.
pub fn serve(
    at: SocketAddr,
    exposed: impl Fn(&str) -> Exposed + Send + Sync + 'static,
) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(at)?;
    let at = listener.local_addr()?;
    let service = Arc::new(ServeMetrics(exposed));
    let never = AtomicBool::new(false);
    let serving = move || http::listen(&listener, &service, None, LIMITS, &never);
    let thread = thread::Builder::new().name("metrics".to_owned());
    thread.spawn(serving).map(|_| at)
}

struct ServeMetrics<E>(E);

impl<E: Fn(&str) -> Exposed + Send + Sync + 'static> Service for ServeMetrics<E> {
    /// Who has asked keeps its place before those that are silent.
    fn keeps(&self, _: &Request) -> bool {
        true
    }

    fn reply(&self, request: &Request) -> Reply {
        let host = request.headers("host");
        let answer = match (request.method.as_str(), request.path.as_str()) {
            _ if !host.is_empty() && !is_local(&host) => {
                let text = "this name does not lead here: ask by an address, this host's name, or a name of a local \
                            network (without dots, .local, .internal)";
                Answer::text(403, text)
            }
            ("GET", "/metrics") => {
                let exposed = (self.0)(&request.headers("accept"));
                Answer::new(200, exposed.content_type, exposed.text.into_bytes())
            }
            ("GET", "/") => Answer::text(200, "pgdyno: /metrics"),
            ("GET", _) => Answer::text(404, "there is only /metrics"),
            _ => Answer::text(405, "only GET"),
        };
        Reply::Answer(answer.with("Vary", "Accept"))
    }
}

/// Endings of names that cannot be registered: those of local networks, containers and clusters.
const LOCAL_ENDS: [&str; 6] = [
    ".local",
    ".internal",
    ".localhost",
    ".home.arpa",
    ".lan",
    ".svc",
];

/// Whether a `Host` can be meant for this server. A page on another site can have its own name lead here (DNS
/// rebinding), and then reads what it is answered: such a name is a registered one, and not this host's.
fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let is_address = || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    let is_of_host = || {
        let own = pgdyno_platform::host::name().map(|own| own.to_ascii_lowercase());
        own.is_some_and(|own| name == own)
    };
    !name.contains('.') && !name.contains(',')
        || is_address()
        || LOCAL_ENDS.iter().any(|end| name.ends_with(end))
        || is_of_host()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::{Mutex, mpsc};

    fn talk(at: SocketAddr, question: &str) -> String {
        let mut server = TcpStream::connect(at).unwrap();
        server.write_all(question.as_bytes()).unwrap();
        let mut answer = String::new();
        // A server that hangs up while there is more to say resets the connection.
        let _ = server.read_to_string(&mut answer);
        answer
    }

    fn anywhere() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 0))
    }

    /// What was asked for in `Accept` is the text.
    fn echo(accept: &str) -> Exposed {
        Exposed {
            content_type: "text/plain; version=0.0.4; charset=utf-8",
            text: format!("accepted {accept}\n"),
        }
    }

    #[test]
    fn stuck_clients_keep_nothing_from_others_and_are_disconnected() {
        let at = serve(anywhere(), echo).unwrap();
        let stuck = |number: usize| {
            let mut client = TcpStream::connect(at).unwrap();
            // Silent; in the middle of the question; never reading the answer.
            let said = [
                "",
                "GET /metrics HTTP/1.1\r\nHost: x",
                "GET /metrics HTTP/1.1\r\n\r\n",
            ];
            // The server may have hung up already.
            let _ = client.write_all(said[number % 3].as_bytes());
            client
        };
        let ask = || talk(at, "GET /metrics HTTP/1.0\r\n\r\n");
        // As many at once as have places.
        let mut answers: Vec<String> = thread::scope(|scope| {
            let asking: Vec<_> = (0..LIMITS.connections).map(|_| scope.spawn(ask)).collect();
            asking.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let mut all: Vec<TcpStream> = (0..2 * LIMITS.connections).map(stuck).collect();
        answers.extend((0..LIMITS.connections).map(|_| ask()));
        for answer in answers {
            assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
            assert!(answer.ends_with("\r\n\r\naccepted \n"), "{answer}");
        }
        for one in &mut all {
            // Until the end of the connection, whatever was answered.
            let _ = one.read_to_end(&mut Vec::new());
        }
        assert!(ask().starts_with("HTTP/1.1 200 "));
    }

    #[test]
    fn who_has_asked_keeps_its_place_before_those_that_are_silent() {
        let ((asked, was_asked), (go, may_go)) = (mpsc::channel(), mpsc::channel());
        let may_go = Mutex::new(may_go);
        let slow = move |accept: &str| {
            asked.send(()).unwrap();
            may_go.lock().unwrap().recv().unwrap();
            echo(accept)
        };
        let at = serve(anywhere(), slow).unwrap();
        let mut first = TcpStream::connect(at).unwrap();
        first.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        was_asked.recv().unwrap();
        let mut silent: Vec<_> = (0..LIMITS.connections)
            .map(|_| TcpStream::connect(at).unwrap())
            .collect();
        // There is no place for all of them and the first one: the oldest of them is hung up.
        assert_eq!(silent[0].read(&mut [0]).unwrap(), 0);
        go.send(()).unwrap();
        let mut answer = String::new();
        first.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("\r\n\r\naccepted \n"), "{answer}");
    }

    #[test]
    fn a_scrape_gets_what_it_accepts_and_other_requests_a_word() {
        let at = serve(anywhere(), echo).unwrap();
        let accept = "ACCEPT:application/openmetrics-text;q=0.5\r\nAccept: text/plain\r\n";
        let answer = talk(at, &format!("GET /metrics?x=1 HTTP/1.1\r\n{accept}\r\n"));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        for header in [
            "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n",
            "\r\nVary: Accept\r\n",
        ] {
            assert!(answer.contains(header), "{answer}");
        }
        let text = "\r\n\r\naccepted application/openmetrics-text;q=0.5,text/plain\n";
        assert!(answer.ends_with(text), "{answer}");
        assert!(talk(at, "GET / HTTP/1.0\r\n\r\n").ends_with("pgdyno: /metrics\n"));
        assert!(talk(at, "GET /x HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(talk(at, "POST /metrics HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert!(talk(at, &"x".repeat(32 << 10)).starts_with("HTTP/1.1 431 "));
        let taken = serve(at, echo).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn another_sites_name_does_not_lead_to_metrics() {
        let at = serve(anywhere(), echo).unwrap();
        let ask = |host: &str| {
            let request = format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n");
            talk(at, &request)
        };
        let own = pgdyno_platform::host::name().unwrap();
        for host in [
            "127.0.0.1:9187",
            "[::1]:9187",
            "10.1.2.3",
            "localhost:9187",
            "bench1:9187",
            "bench1.default.svc.cluster.local:9187",
            own.as_str(),
        ] {
            assert!(ask(host).starts_with("HTTP/1.1 200 "), "{host}");
        }
        for host in [
            "evil.example:9187",
            "127.0.0.1.evil.example",
            "evil.example.",
            "a\r\nHost: evil.example",
        ] {
            let answer = ask(host);
            assert!(answer.starts_with("HTTP/1.1 403 "), "{host}: {answer}");
            assert!(answer.contains("ask by an address"), "{answer}");
        }
    }
}
