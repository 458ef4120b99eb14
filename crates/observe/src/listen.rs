//! `--metrics-listen`: a small HTTP server on its own thread, for Prometheus to scrape. It answers
//! several requests at a time, each with a short timeout.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::prometheus_export::PrometheusExport;

/// What is served at `/metrics`.
pub trait Page: Send + Sync {
    /// All of it, in Prometheus' text format.
    fn text(&self) -> String;
}

impl Page for PrometheusExport {
    fn text(&self) -> String {
        PrometheusExport::text(self)
    }
}

/// How long a question may take to come, and an answer to go.
const TALK_LIMIT: Duration = Duration::from_secs(1);
/// Clients answered at the same time; others get 503.
const CLIENTS_MAX: usize = 16;
/// A longer question is none.
const REQUEST_BYTES_MAX: usize = 8 << 10;

/// Serves it from now on; gives the address.
///
/// # Errors
/// The address cannot be listened on.
pub fn serve(page: Arc<dyn Page>, at: SocketAddr) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(at)?;
    let at = listener.local_addr()?;
    thread::Builder::new()
        .name("metrics".to_owned())
        .spawn(move || {
            // Counts clients: one reference for each that is being answered, plus this one.
            let places = Arc::new(());
            for client in listener.incoming() {
                match client {
                    Ok(client) if Arc::strong_count(&places) <= CLIENTS_MAX => {
                        let (page, place) = (Arc::clone(&page), Arc::clone(&places));
                        let answering = move || {
                            // A client that closes the connection needs no answer.
                            let _ = answer(client, &*page);
                            drop(place);
                        };
                        // Without a thread there is no answer; the next client may get one.
                        let _ = thread::Builder::new()
                            .name("metrics".to_owned())
                            .spawn(answering);
                    }
                    Ok(client) => drop(refuse(client)),
                    // No descriptor is left, or the like: a pause, not a loop that eats a CPU.
                    Err(_) => thread::sleep(Duration::from_millis(100)),
                }
            }
        })?;
    Ok(at)
}

/// Too many clients. Never waits: the answer is so short that the kernel takes it.
fn refuse(mut client: TcpStream) -> io::Result<()> {
    client.set_nonblocking(true)?;
    client.write_all(
        b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\
          Connection: close\r\n\r\n",
    )
}

fn answer(mut client: TcpStream, page: &dyn Page) -> io::Result<()> {
    let Some(request) = request(&mut client)? else {
        return Ok(());
    };
    let mut words = request.split_ascii_whitespace();
    let (method, path) = (words.next(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let (status, body) = match (method, path) {
        (Some("GET"), "/metrics") => ("200 OK", page.text()),
        (Some("GET"), "/") => ("200 OK", "pgdyno: /metrics\n".to_owned()),
        (Some("GET"), _) => ("404 Not Found", "there is only /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "only GET\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    send(&mut client, (head + &body).as_bytes())
}

/// Writes all of it, within the time that an answer may take, however slowly it is read.
fn send(client: &mut TcpStream, mut answer: &[u8]) -> io::Result<()> {
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
fn request(client: &mut TcpStream) -> io::Result<Option<String>> {
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
    fn silent_clients_delay_no_others_and_are_disconnected() {
        let at = serve(Arc::new(PrometheusExport::default()), anywhere()).unwrap();
        let ask = || talk(at, "GET / HTTP/1.0\r\n\r\n");
        let connect = |_| TcpStream::connect(at).unwrap();
        let mut silent: Vec<TcpStream> = (1..CLIENTS_MAX).map(connect).collect();
        let began = Instant::now();
        assert!(ask().starts_with("HTTP/1.1 200 "));
        assert!(began.elapsed() < TALK_LIMIT, "{:?}", began.elapsed());
        // Clients beyond the limit are refused at once. Which ones depends on how many silent clients
        // were disconnected meanwhile.
        let more: Vec<TcpStream> = (0..CLIENTS_MAX).map(connect).collect();
        let refused = more.into_iter().filter_map(|mut one| {
            let mut answer = String::new();
            one.read_to_string(&mut answer).ok().map(|_| answer)
        });
        assert!(
            refused
                .into_iter()
                .any(|answer| answer.starts_with("HTTP/1.1 503 ")),
            "no client is refused"
        );
        for one in &mut silent {
            assert_eq!(one.read(&mut [0]).unwrap(), 0, "still connected");
        }
        assert!(ask().starts_with("HTTP/1.1 200 "));
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
        assert!(export.text().contains("pgdyno_trial_running 0\n"));
        let taken = serve(export, at).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
    }
}
