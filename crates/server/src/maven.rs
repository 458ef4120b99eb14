//! One file over HTTPS: by the system's CA certificates, through `HTTPS_PROXY` if that is set, tried
//! again when the trouble may pass. Not for whether the file is the right one: who asks checks that.

use std::sync::Arc;
use std::time::Duration;

use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// How long one connection may take to come about.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);
/// Before the second, third and fourth try.
const PAUSES: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// What asks: with the CA certificates of this system, each request with this time in all.
///
/// # Errors
/// The system has none.
pub(crate) fn agent(limit: Duration) -> Result<Agent, String> {
    let roots = rustls_native_certs::load_native_certs().certs;
    if roots.is_empty() {
        return Err("this system has no CA certificates (package ca-certificates)".to_owned());
    }
    let roots = roots
        .iter()
        .map(|der| Certificate::from_der(der).to_owned());
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(roots.collect())))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .build();
    let config = Agent::config_builder()
        .tls_config(tls)
        .user_agent(concat!("pgdyno/", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(CONNECT_LIMIT))
        .timeout_global(Some(limit));
    Ok(config.build().new_agent())
}

/// The file at a URL, of at most so many bytes.
///
/// # Errors
/// In one line with the URL: there is no answer, the answer is not the file, or it is longer.
pub(crate) fn get(agent: &Agent, url: &str, bytes_max: u64) -> Result<Vec<u8>, String> {
    let mut pauses = PAUSES.iter();
    loop {
        let error = match try_once(agent, url, bytes_max) {
            Ok(bytes) => return Ok(bytes),
            Err(error) => error,
        };
        match pauses.next() {
            Some(pause) if may_pass(&error) => std::thread::sleep(*pause),
            _ => return Err(format!("{url}: {error}")),
        }
    }
}

fn try_once(agent: &Agent, url: &str, bytes_max: u64) -> Result<Vec<u8>, ureq::Error> {
    let mut response = agent.get(url).call()?;
    let body = response.body_mut().with_config();
    body.limit(bytes_max).read_to_vec()
}

/// Whether the same question may have another answer soon.
fn may_pass(error: &ureq::Error) -> bool {
    use ureq::Error as E;
    match error {
        E::StatusCode(status) => *status >= 500 || matches!(status, 408 | 429),
        E::Io(_) | E::Timeout(_) | E::ConnectionFailed | E::HostNotFound | E::BodyStalled => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread::JoinHandle;

    /// A server that gives these answers, one a connection; what it was asked.
    fn serving(answers: &'static [&'static str]) -> (String, JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = listener.local_addr().expect("bound");
        let asked = std::thread::spawn(move || {
            let answer = |answer: &&str| {
                let (mut client, _) = listener.accept().expect("a client");
                let mut request = [0; 2000];
                let count = client.read(&mut request).expect("asked");
                client.write_all(answer.as_bytes()).expect("answered");
                String::from_utf8_lossy(&request[..count]).into_owned()
            };
            answers.iter().map(answer).collect()
        });
        (format!("http://{address}/a.jar"), asked)
    }

    /// One that no proxy of the environment precedes.
    fn agent() -> Agent {
        let config = Agent::config_builder().proxy(None);
        config.build().new_agent()
    }

    #[test]
    fn a_file_is_had_whole_and_asked_for_again_when_the_trouble_may_pass() {
        let (url, asked) = serving(&[
            "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n12345",
        ]);
        assert_eq!(get(&agent(), &url, 5), Ok(b"12345".to_vec()));
        let asked = asked.join().expect("served");
        assert_eq!(asked.len(), 2);
        assert!(asked[1].starts_with("GET /a.jar HTTP/1.1\r\n"), "{asked:?}");
    }

    #[test]
    fn what_is_no_such_file_is_an_error_that_names_it() {
        for (answer, words) in [
            (
                "HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                "404",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\n123456",
                "larger",
            ),
            ("R\0\0\0\r\n\r\n", "protocol"),
        ] {
            let (url, asked) = serving(Vec::leak(vec![answer]));
            let error = get(&agent(), &url, 5).expect_err("not a file");
            assert!(error.starts_with(&url) && error.contains(words), "{error}");
            assert_eq!(asked.join().expect("served").len(), 1, "{answer}");
        }
    }
}
