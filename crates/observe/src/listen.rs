//! `--metrics-listen`: a small HTTP server on threads of its own, for any number of Prometheuses to scrape.
//!
//! Each connection has a thread and a second for its question and its answer. So many are open at a time;
//! who comes then waits until one has been answered or, if that takes long, the oldest that has not asked
//! anything is hung up, or else the oldest that does not read. So what is stuck keeps nothing from the others.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pgdyno_platform::host;

use super::exposition::Format;
use super::prometheus_export::PrometheusExport;

/// What is served at `/metrics`.
pub trait Page: Send + Sync {
    /// All of it, in Prometheus' text format.
    fn text(&self) -> String;

    /// The same in OpenMetrics, if it can be had.
    fn open_metrics(&self) -> Option<String> {
        None
    }
}

impl Page for PrometheusExport {
    fn text(&self) -> String {
        PrometheusExport::text(self, Format::Text)
    }

    fn open_metrics(&self) -> Option<String> {
        Some(PrometheusExport::text(self, Format::OpenMetrics))
    }
}

/// How long a question may take to come, and an answer to go.
const TALK_LIMIT: Duration = Duration::from_secs(1);
/// Connections that are open at a time.
const CLIENTS_MAX: usize = 64;
/// How long one is left alone when another waits for its place: a scrape takes a few milliseconds.
const PATIENCE: Duration = Duration::from_millis(100);
/// A longer question is none.
const REQUEST_BYTES_MAX: usize = 8 << 10;
/// What a thread needs of its stack, many times over.
const STACK_BYTES: usize = 256 << 10;

/// Serves it from now on; gives the address.
///
/// # Errors
/// The address cannot be listened on.
pub fn serve(page: Arc<dyn Page>, at: SocketAddr) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(at)?;
    let at = listener.local_addr()?;
    let talks = Arc::<Talks>::default();
    spawn(move || {
        for client in listener.incoming() {
            let Ok(client) = client else {
                // No descriptor is left, or the like: a pause, not a loop that eats a CPU.
                thread::sleep(PATIENCE);
                continue;
            };
            let client = Arc::new(client);
            let talk = Talks::begin(&talks, &client);
            let page = Arc::clone(&page);
            // Without a thread there is no answer; the next client may get one.
            let _ = spawn(move || {
                // A client that closes the connection needs no answer.
                let _ = answer(&client, &*page, &talk);
                drop(talk);
            });
        }
    })?;
    Ok(at)
}

fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = thread::Builder::new().name("metrics".to_owned());
    thread.stack_size(STACK_BYTES).spawn(work).map(drop)
}

/// The connections that are open, the oldest first.
#[derive(Default)]
struct Talks {
    open: Mutex<Open>,
    ended: Condvar,
}

#[derive(Default)]
struct Open {
    begun: u64,
    /// By whether they have asked, and number: the first is the first to be hung up.
    clients: BTreeMap<(bool, u64), (Instant, Arc<TcpStream>)>,
}

/// A connection that is open, until it is dropped.
struct Talk {
    number: u64,
    talks: Arc<Talks>,
}

impl Talks {
    fn open(&self) -> MutexGuard<'_, Open> {
        // Each change leaves it whole.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place, or takes that of the oldest one.
    fn begin(talks: &Arc<Talks>, client: &Arc<TcpStream>) -> Talk {
        let mut open = talks.open();
        while open.clients.len() >= CLIENTS_MAX {
            let first = open.clients.values().next();
            let age = first.map_or(PATIENCE, |(begun, _)| begun.elapsed());
            if let Some(left) = PATIENCE.checked_sub(age).filter(|left| !left.is_zero()) {
                let waited = talks.ended.wait_timeout(open, left);
                open = waited.unwrap_or_else(PoisonError::into_inner).0;
            } else if let Some((_, (_, client))) = open.clients.pop_first() {
                // Its thread wakes up and ends.
                let _ = client.shutdown(Shutdown::Both);
            }
        }
        open.begun += 1;
        let number = open.begun;
        let client = (Instant::now(), Arc::clone(client));
        open.clients.insert((false, number), client);
        drop(open);
        Talk {
            number,
            talks: Arc::clone(talks),
        }
    }
}

impl Talk {
    /// From now on it is answered.
    fn has_asked(&self) {
        let mut open = self.talks.open();
        if let Some(client) = open.clients.remove(&(false, self.number)) {
            open.clients.insert((true, self.number), client);
        }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let mut open = self.talks.open();
        open.clients.remove(&(false, self.number));
        open.clients.remove(&(true, self.number));
        drop(open);
        self.talks.ended.notify_one();
    }
}

fn answer(client: &TcpStream, page: &dyn Page, talk: &Talk) -> io::Result<()> {
    let Some(request) = request(client)? else {
        return Ok(());
    };
    talk.has_asked();
    let mut lines = request.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split_ascii_whitespace();
    let (method, path) = (words.next(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let host = header(lines.clone(), "host");
    let (status, format, body) = match (method, path) {
        _ if !host.is_empty() && !is_own(&host) => {
            let body = "this name does not lead here: ask by an address, this host's name, or a name of a local \
                        network (without dots, .local, .internal)\n";
            ("403 Forbidden", Format::Text, body.to_owned())
        }
        (Some("GET"), "/metrics") => {
            let accepted = Format::accepted(&header(lines, "accept"));
            let open_metrics = match accepted {
                Format::OpenMetrics => page.open_metrics(),
                Format::Text => None,
            };
            match open_metrics {
                Some(body) => ("200 OK", Format::OpenMetrics, body),
                None => ("200 OK", Format::Text, page.text()),
            }
        }
        (Some("GET"), "/") => ("200 OK", Format::Text, "pgdyno: /metrics\n".to_owned()),
        (Some("GET"), _) => {
            let body = "there is only /metrics\n".to_owned();
            ("404 Not Found", Format::Text, body)
        }
        _ => {
            let body = "only GET\n".to_owned();
            ("405 Method Not Allowed", Format::Text, body)
        }
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {}\r\nContent-Length: {}\r\nVary: Accept\r\n\
         Connection: close\r\n\r\n",
        format.content_type(),
        body.len()
    );
    send(client, (head + &body).as_bytes())
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
fn is_own(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let is_address = || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    let is_of_host = || {
        let own = host::name().map(|own| own.to_ascii_lowercase());
        own.is_some_and(|own| name == own)
    };
    !name.contains('.') && !name.contains(',')
        || is_address()
        || LOCAL_ENDS.iter().any(|end| name.ends_with(end))
        || is_of_host()
}

/// What the lines of a question say in a header, which may come several times.
fn header<'a>(lines: impl Iterator<Item = &'a str>, wanted: &str) -> String {
    let values = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case(wanted).then_some(value.trim())
    });
    values.collect::<Vec<_>>().join(",")
}

/// Writes all of it, within the time that an answer may take, however slowly it is read.
fn send(mut client: &TcpStream, mut answer: &[u8]) -> io::Result<()> {
    let deadline = Instant::now() + TALK_LIMIT;
    while !answer.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        client.set_write_timeout(Some(left))?;
        let written = client.write(answer)?;
        answer = &answer[written..];
    }
    Ok(())
}

/// The question up to the empty line; `None` when it does not come, or has no end.
fn request(mut client: &TcpStream) -> io::Result<Option<String>> {
    let deadline = Instant::now() + TALK_LIMIT;
    let mut request = Vec::new();
    let mut buffer = [0; 1 << 10];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || request.len() > REQUEST_BYTES_MAX {
            return Ok(None);
        }
        client.set_read_timeout(Some(left))?;
        match client.read(&mut buffer)? {
            0 => return Ok(None),
            count => request.extend_from_slice(&buffer[..count]),
        }
    }
    Ok(Some(String::from_utf8_lossy(&request).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prometheus;
    use crate::prometheus_export::tests::title;
    use pgdyno_database::http::{self, Origin};
    use pgdyno_drive::DriveError;
    use pgdyno_model::Observer;
    use std::time::SystemTime;

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

    #[test]
    fn stuck_clients_keep_nothing_from_others_and_are_disconnected() {
        let at = serve(Arc::new(PrometheusExport::default()), anywhere()).unwrap();
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
        let mut all: Vec<TcpStream> = (0..2 * CLIENTS_MAX).map(stuck).collect();
        let ask = || talk(at, "GET /metrics HTTP/1.0\r\n\r\n");
        // Many at once, beside those: all are answered, in full.
        let answers: Vec<String> = thread::scope(|scope| {
            let asking: Vec<_> = (0..CLIENTS_MAX / 2).map(|_| scope.spawn(ask)).collect();
            asking.into_iter().map(|one| one.join().unwrap()).collect()
        });
        for answer in answers {
            assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
            assert!(answer.contains("pgdyno_trial_running 0\n"), "{answer}");
        }
        for one in &mut all {
            // Until the end of the connection, whatever was answered.
            let _ = one.read_to_end(&mut Vec::new());
        }
        assert!(ask().starts_with("HTTP/1.1 200 "));
    }

    #[test]
    fn who_has_asked_keeps_its_place_before_those_that_are_silent() {
        struct Slow;
        impl Page for Slow {
            fn text(&self) -> String {
                thread::sleep(5 * PATIENCE);
                "a 1\n".to_owned()
            }
        }
        let at = serve(Arc::new(Slow), anywhere()).unwrap();
        let mut first = TcpStream::connect(at).unwrap();
        first.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        // Before the others come, its question has been read.
        thread::sleep(PATIENCE);
        let silent: Vec<_> = (0..2 * CLIENTS_MAX)
            .map(|_| TcpStream::connect(at).unwrap())
            .collect();
        let mut answer = String::new();
        first.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("\r\n\r\na 1\n"), "{answer}");
        drop(silent);
    }

    #[test]
    fn the_format_is_the_one_that_is_asked_for() {
        let at = serve(Arc::new(PrometheusExport::default()), anywhere()).unwrap();
        let ask = |accept: &str| talk(at, &format!("GET /metrics HTTP/1.1\r\n{accept}\r\n"));
        let open_metrics =
            "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n";
        let text = "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n";
        let wanted = "ACCEPT:application/openmetrics-text;q=0.5\r\nAccept: text/plain;q=0.4\r\n";
        let answer = ask(wanted);
        assert!(answer.contains(open_metrics), "{answer}");
        assert!(answer.ends_with("\n# EOF\n"), "{answer}");
        for accept in [
            "",
            "Accept: */*\r\n",
            "X-Accept: application/openmetrics-text\r\n",
        ] {
            let answer = ask(accept);
            assert!(
                answer.contains(text) && !answer.contains("# EOF"),
                "{answer}"
            );
        }
        let lacking = talk(at, &format!("GET / HTTP/1.1\r\n{wanted}\r\n"));
        assert!(lacking.contains(text), "{lacking}");
    }

    #[test]
    fn another_sites_name_does_not_lead_to_metrics() {
        let at = serve(Arc::new(PrometheusExport::default()), anywhere()).unwrap();
        let ask = |host: &str| {
            talk(
                at,
                &format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n"),
            )
        };
        let own = host::name().unwrap();
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

    #[test]
    fn a_page_without_open_metrics_is_text() {
        struct Plain;
        impl Page for Plain {
            fn text(&self) -> String {
                "a 1\n".to_owned()
            }
        }
        let at = serve(Arc::new(Plain), anywhere()).unwrap();
        let answer = talk(
            at,
            "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n",
        );
        assert!(answer.contains("text/plain; version=0.0.4"), "{answer}");
        assert!(answer.ends_with("\r\n\r\na 1\n"), "{answer}");
    }

    #[test]
    fn a_prometheus_gets_the_trial_and_others_get_nothing_for_long() {
        let export = Arc::<PrometheusExport>::default();
        let watched = Arc::clone(&export);
        let trial: &mut dyn Observer<()> = &mut &*watched;
        trial.starting(&title("a\"b\\c\nd", "one"));
        trial.begun(SystemTime::now());
        let at = serve(export.clone(), anywhere()).unwrap();
        let origin = Origin::parse(&format!("http://{at}")).unwrap();
        let text = origin.get("/metrics?x=1", None, http::LIMIT).unwrap();
        let mut samples = prometheus::samples(&text);
        let all: Vec<_> = samples.by_ref().collect();
        assert_eq!(samples.bad_lines, 0, "{text}");
        let value = |name: &str| all.iter().find(|s| s.name == name).map(|s| s.value);
        assert_eq!(value("pgdyno_clients"), Some(4.0));
        let info = all.iter().find(|s| s.name == "pgdyno_trial_info").unwrap();
        assert_eq!(info.label("workload"), Some("a\"b\\c\nd"));
        assert!(talk(at, "GET / HTTP/1.0\r\n\r\n").ends_with("pgdyno: /metrics\n"));
        assert!(talk(at, "GET /x HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(talk(at, "POST /metrics HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert_eq!(talk(at, &"x".repeat(2 * REQUEST_BYTES_MAX)), "");
        trial.ended(Err(&DriveError::Interrupted));
        assert!(
            export
                .text(Format::Text)
                .contains("pgdyno_trial_running 0\n")
        );
        let taken = serve(export, at).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
    }
}
