//! One question over HTTP to a database's own status port: GET, no encryption, no redirects.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// How long connecting, and then the whole answer, may take.
const LIMIT: Duration = Duration::from_secs(10);
/// No answer that is asked for here is longer.
const BYTES_MAX: u64 = 64 << 20;

/// The body of the answer to `GET path` at `http://host:port`.
///
/// # Errors
/// In one line: the address is none, nobody answers, or the answer is not 200.
pub fn get(address: &str, path: &str) -> Result<String, String> {
    get_within(address, path, LIMIT)
}

/// The same within this time, beside what it takes to find the host's address.
///
/// # Errors
/// As [`get`].
pub fn get_within(address: &str, path: &str, limit: Duration) -> Result<String, String> {
    let Some(place) = address.strip_prefix("http://") else {
        return Err(format!(
            "{address} is no address of the kind http://host:port (https is not supported)"
        ));
    };
    let place = place.trim_end_matches('/');
    let failed = |e: std::io::Error| format!("http://{place}{path}: {e}");
    let mut found = place.to_socket_addrs().map_err(failed)?;
    let Some(to) = found.next() else {
        return Err(format!("http://{place}: there is no such host"));
    };
    let deadline = Instant::now() + limit;
    let mut stream = TcpStream::connect_timeout(&to, limit).map_err(failed)?;
    stream.set_write_timeout(Some(limit)).map_err(failed)?;
    // 1.0: the answer comes in one piece and ends with the connection.
    let request = format!("GET {path} HTTP/1.0\r\nHost: {place}\r\nAccept: */*\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let mut answer = Vec::new();
    let mut buffer = [0; 16 << 10];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || answer.len() as u64 > BYTES_MAX {
            return Err(format!("http://{place}{path}: the answer does not end"));
        }
        stream.set_read_timeout(Some(left)).map_err(failed)?;
        match stream.read(&mut buffer).map_err(failed)? {
            0 => break,
            count => answer.extend_from_slice(&buffer[..count]),
        }
    }
    let answer = String::from_utf8_lossy(&answer);
    let Some((head, body)) = answer.split_once("\r\n\r\n") else {
        return Err(format!("http://{place}{path}: this is not HTTP"));
    };
    let status = head.split_whitespace().nth(1).unwrap_or_default();
    match status {
        "200" => Ok(body.to_owned()),
        "401" | "403" => Err(format!(
            "http://{place}{path}: the answer is {status}: it wants a login, which pgdyno cannot give"
        )),
        other => Err(format!("http://{place}{path}: the answer is {other}")),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A server that gives this answer to its first question.
    pub fn serving(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut request = [0; 1000];
            let count = client.read(&mut request).unwrap();
            assert!(request[..count].starts_with(b"GET /status HTTP/1.0\r\nHost: 127.0.0.1:"));
            client.write_all(answer.as_bytes()).unwrap();
        });
        format!("http://{address}/")
    }

    #[test]
    fn an_answer_is_read_to_its_end_and_anything_else_is_told() {
        let of = |answer| get(&serving(answer), "/status");
        let ok = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhello\n";
        assert_eq!(of(ok).unwrap(), "hello\n");
        let error = of("HTTP/1.1 404 Not Found\r\n\r\n").unwrap_err();
        assert!(error.ends_with("/status: the answer is 404"), "{error}");
        let error = of("HTTP/1.1 401 Unauthorized\r\n\r\n").unwrap_err();
        assert!(error.contains("wants a login"), "{error}");
        let error = of("R\0\0\0").unwrap_err();
        assert!(error.contains("not HTTP"), "{error}");
        let error = get("https://db1:8080", "/status").unwrap_err();
        assert!(error.contains("https is not supported"), "{error}");
        let address = format!("http://{}", pgdyno_testkit::closed_address());
        let error = get(&address, "/status").unwrap_err();
        assert!(error.contains("refused"), "{error}");
        let error = get("http://no port", "/status").unwrap_err();
        assert!(error.starts_with("http://no port/status: "), "{error}");
    }
}
