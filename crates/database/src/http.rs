//! One question to a status port, over HTTP or HTTPS: GET, no redirects, no proxy. HTTPS trusts the
//! system's CA certificates, or those of `SSL_CERT_FILE`.

use std::fmt;
use std::io::ErrorKind;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use percent_encoding::percent_decode_str;
use ureq::Agent;
use ureq::http::Uri;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// How long the whole answer to a question may take that is asked once.
pub const LIMIT: Duration = Duration::from_secs(10);
/// No answer that is asked for here is longer.
const BYTES_MAX: u64 = 64 << 20;

/// Scheme, host and port, with the login that stood before the host. Shown without the login.
#[derive(Clone, PartialEq, Eq)]
pub struct Origin {
    public: String,
    /// `user:password` in base64, as the header `Authorization` takes it.
    login: Option<String>,
}

impl Origin {
    /// `http[s]://[user[:password]@]host[:port]`; in the login special characters are `%`-encoded.
    ///
    /// # Errors
    /// It is something else; in one clause that does not repeat it, for it may have a password.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "the address is http://HOST:PORT or https://HOST:PORT".to_owned();
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        if !matches!(scheme, "http" | "https") {
            return Err(wrong());
        }
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (login, host) = match rest.rsplit_once('@') {
            None => (None, rest),
            Some((login, host)) => {
                let (user, password) = login.split_once(':').unwrap_or((login, ""));
                let decode = |part| percent_decode_str(part).collect::<Vec<u8>>();
                let login = [decode(user), decode(password)].join(&b':');
                (Some(BASE64_STANDARD.encode(login)), host)
            }
        };
        let public = format!("{scheme}://{host}");
        let uri: Uri = public.parse().map_err(|_| wrong())?;
        let is_all = uri.path() == "/" && uri.query().is_none() && !host.contains('/');
        let is_host = uri.host().is_some_and(|host| !host.is_empty());
        let is_port = match host.rsplit_once(':') {
            Some((_, port)) if !host.ends_with(']') => port.parse::<u16>().is_ok(),
            _ => true,
        };
        if is_all && is_host && is_port {
            Ok(Self { public, login })
        } else {
            Err(wrong())
        }
    }

    /// Whether something listens there. What only does not answer in time may be slow.
    ///
    /// # Errors
    /// In one clause: the connection is refused, or there is no such host.
    pub fn reach(&self, limit: Duration) -> Result<(), String> {
        let failed = |why: &dyn fmt::Display| format!("{}: {why}", self.public);
        let uri: Uri = self.public.parse().map_err(|e| failed(&e))?;
        let port = match (uri.port_u16(), uri.scheme_str()) {
            (Some(port), _) => port,
            (None, Some("https")) => 443,
            (None, _) => 80,
        };
        let host = uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let places = (host, port).to_socket_addrs();
        let places = places.map_err(|_| failed(&"there is no such host"))?;
        let mut refused = failed(&"there is no such host");
        for place in places {
            match TcpStream::connect_timeout(&place, limit) {
                Err(e) if e.kind() != ErrorKind::TimedOut => refused = failed(&e),
                _ => return Ok(()),
            }
        }
        Err(refused)
    }

    /// The body of the answer to `GET path` within this time; with the token, if there is one, in
    /// place of the login.
    ///
    /// # Errors
    /// In one line: there is no answer, or the answer is not 200.
    pub fn get(&self, path: &str, bearer: Option<&str>, limit: Duration) -> Result<String, String> {
        let url = format!("{}{path}", self.public);
        let agent = if !self.public.starts_with("https:") {
            &PLAIN
        } else {
            ENCRYPTED.as_ref().map_err(|why| format!("{url}: {why}"))?
        };
        let given = bearer.map(|token| format!("Bearer {token}"));
        let given = given.or_else(|| Some(format!("Basic {}", self.login.as_ref()?)));
        ask(agent, &url, given.as_deref(), limit).map_err(|why| format!("{url}: {why}"))
    }
}

/// The body of what an agent gets, if it is 200; in one clause why not.
fn ask(agent: &Agent, url: &str, given: Option<&str>, limit: Duration) -> Result<String, String> {
    let mut request = agent.get(url);
    if let Some(given) = given {
        request = request.header("Authorization", given);
    }
    let request = request.config().timeout_global(Some(limit)).build();
    let text = |e| error_text(&e, limit);
    let mut answer = request.call().map_err(text)?;
    let status = answer.status().as_u16();
    match (status, given) {
        (200, _) => {}
        (401 | 403, None) => return Err(format!("the answer is {status}: it requires a login")),
        (401 | 403, Some(_)) => {
            return Err(format!("the answer is {status}: the login is refused"));
        }
        _ => return Err(format!("the answer is {status}")),
    }
    let body = answer.body_mut().with_config();
    let body = body.limit(BYTES_MAX).read_to_vec().map_err(text)?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.public)
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.public)
    }
}

/// Why there is no answer.
fn error_text(error: &ureq::Error, limit: Duration) -> String {
    match error {
        ureq::Error::Timeout(_) => format!("no complete answer within {} s", limit.as_secs()),
        ureq::Error::BodyExceedsLimit(_) => "the answer does not end".to_owned(),
        ureq::Error::Io(e) => e.to_string(),
        ureq::Error::Rustls(e) => e.to_string(),
        ureq::Error::HostNotFound => "there is no such host".to_owned(),
        ureq::Error::Protocol(e) => format!("this is not HTTP ({e})"),
        other => other.to_string(),
    }
}

static PLAIN: LazyLock<Agent> = LazyLock::new(|| agent(TlsConfig::default()));

static ENCRYPTED: LazyLock<Result<Agent, String>> = LazyLock::new(|| {
    let roots = rustls_native_certs::load_native_certs().certs;
    if roots.is_empty() {
        Err("this system has no CA certificates (package ca-certificates)".to_owned())
    } else {
        Ok(trusting(roots.iter().map(AsRef::as_ref)))
    }
});

/// What speaks HTTPS with those whom these certificates (DER) vouch for.
fn trusting<'a>(roots: impl Iterator<Item = &'a [u8]>) -> Agent {
    let roots = roots.map(|der| Certificate::from_der(der).to_owned());
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(roots.collect())))
        .unversioned_rustls_crypto_provider(
            Arc::new(rustls::crypto::aws_lc_rs::default_provider()),
        );
    agent(tls.build())
}

fn agent(tls: TlsConfig) -> Agent {
    let config = Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .user_agent(concat!("pgdyno/", env!("CARGO_PKG_VERSION")));
    config.build().new_agent()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_testkit::HttpsServer;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    fn get(address: &str, path: &str) -> Result<String, String> {
        Origin::parse(address)?.get(path, None, LIMIT)
    }

    /// A server that gives this answer to its first question.
    fn serving(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut request = [0; 1000];
            let count = client.read(&mut request).unwrap();
            let request = String::from_utf8_lossy(&request[..count]).to_lowercase();
            assert!(request.starts_with("get /status http/1.1\r\n"), "{request}");
            assert!(request.contains("\r\nhost: 127.0.0.1:"), "{request}");
            client.write_all(answer.as_bytes()).unwrap();
        });
        format!("http://{address}/")
    }

    #[test]
    fn an_answer_is_read_whole_and_failures_are_errors() {
        let of = |answer| get(&serving(answer), "/status");
        let ok = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhello\n";
        assert_eq!(of(ok).unwrap(), "hello\n");
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: \
                       chunked\r\n\r\n3\r\nhel\r\n3\r\nlo\n\r\n0\r\n\r\n";
        assert_eq!(of(chunked).unwrap(), "hello\n");
        let error = of("HTTP/1.1 404 Not Found\r\n\r\n").unwrap_err();
        assert!(error.ends_with("/status: the answer is 404"), "{error}");
        let elsewhere = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n";
        let error = of(elsewhere).unwrap_err();
        assert!(error.ends_with("/status: the answer is 302"), "{error}");
        let error = of("HTTP/1.1 401 Unauthorized\r\n\r\n").unwrap_err();
        assert!(error.ends_with("it requires a login"), "{error}");
        let error = of("R\0\0\0").unwrap_err();
        assert!(error.contains("not HTTP"), "{error}");
        let address = format!("http://{}", pgdyno_testkit::closed_address());
        let error = get(&address, "/status").unwrap_err();
        assert!(error.contains("refused"), "{error}");
    }

    #[test]
    fn an_answer_that_does_not_come_is_waited_for_no_longer_than_was_said() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = Origin::parse(&format!("http://{}", silent.local_addr().unwrap())).unwrap();
        let error = origin.get("/status", None, Duration::from_secs(1));
        let error = error.unwrap_err();
        assert!(error.ends_with("no complete answer within 1 s"), "{error}");
    }

    #[test]
    fn an_address_is_scheme_host_and_port_and_its_login_is_never_shown() {
        for (text, public, login) in [
            ("http://db1:9100", "http://db1:9100", None),
            ("https://db1/", "https://db1", None),
            ("http://[::1]:80", "http://[::1]:80", None),
            ("https://me:s3cret@db1", "https://db1", Some("me:s3cret")),
            (
                "https://me:s3%40%3Acret@h:1",
                "https://h:1",
                Some("me:s3@:cret"),
            ),
            ("https://me@h:1", "https://h:1", Some("me:")),
        ] {
            let origin = Origin::parse(text).unwrap();
            assert_eq!(origin.to_string(), public);
            assert_eq!(format!("{origin:?}"), format!("{public:?}"));
            assert_eq!(
                origin.login,
                login.map(|login| BASE64_STANDARD.encode(login))
            );
        }
        for wrong in [
            "db1:9100",
            "ftp://db1",
            "http://",
            "http://:80",
            "http://me:s3cret@",
            "http://me:s3cret@h:port",
            "http://me:s3cret@h/path",
            "http://h?x",
            "http://no port",
            "http://h:",
        ] {
            let error = Origin::parse(wrong).unwrap_err();
            assert_eq!(
                error, "the address is http://HOST:PORT or https://HOST:PORT",
                "{wrong}"
            );
        }
    }

    #[test]
    fn https_asks_only_whom_it_trusts() {
        let server = HttpsServer::start(|request| {
            let is_given = |line: &&str| line.to_lowercase().starts_with("authorization: ");
            request.lines().find(is_given).map(str::to_owned)
        });
        let address = server.url;
        let agent = trusting([&*server.certificate_der].into_iter());
        let answer = ask(&agent, &address, Some("Bearer a.b"), LIMIT);
        let given = answer.unwrap();
        assert!(given.ends_with(": Bearer a.b"), "{given}");
        let error = ask(&agent, &address, None, LIMIT).unwrap_err();
        assert_eq!(error, "the answer is 401: it requires a login");
        let by_number = address.replace("localhost", "127.0.0.1");
        let error = ask(&agent, &by_number, None, LIMIT).unwrap_err();
        assert!(error.contains("certificate"), "{error}");
        let error = get(&address, "/status").unwrap_err();
        assert!(error.contains("certificate"), "{error}");
    }
}
