//! Who may come in. A page on another site can make a browser send requests here, and a name of its own can
//! lead here (DNS rebinding): so the Host header must be a name of this server, whatever changes
//! something or opens the feed must come from this server's own page, and all need the token.

use std::net::{IpAddr, SocketAddr};

use percent_encoding::{AsciiSet, CONTROLS};

use crate::answer::Answer;
use crate::request::Request;

/// What a request must have.
#[derive(Debug)]
pub struct Gate {
    token: String,
    /// Cookies are shared by all ports of a host: the name has the port.
    cookie: String,
    /// Names in lowercase that lead here.
    names: Vec<String>,
    /// Any address leads here: it listens on all of them.
    is_everywhere: bool,
    is_encrypted: bool,
}

impl Gate {
    /// Of a server that listens there and is called so beside.
    pub fn new(token: String, at: SocketAddr, names: &[String], is_encrypted: bool) -> Self {
        let mut names: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        let ip = at.ip();
        names.push(in_url(ip));
        if ip.is_loopback() || ip.is_unspecified() {
            names.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
        }
        Self {
            token,
            cookie: format!("pgdyno-{}", at.port()),
            names,
            is_everywhere: ip.is_unspecified(),
            is_encrypted,
        }
    }

    /// Lets a request pass, or gives what to answer instead. `is_guarded`: only from this server's own
    /// pages.
    ///
    /// # Errors
    /// It may not come in, or it comes with the token and gets a cookie for it.
    pub fn check(&self, request: &Request, is_guarded: bool) -> Result<(), Answer> {
        let host = self.host(request)?;
        let site = request.header("sec-fetch-site");
        let scheme = if self.is_encrypted { "https" } else { "http" };
        let is_foreign = match request.header("origin") {
            Some(origin) => !origin.eq_ignore_ascii_case(&format!("{scheme}://{host}")),
            None => is_guarded && site.is_some_and(|site| !matches!(site, "same-origin" | "none")),
        };
        if is_foreign {
            return Err(Answer::text(403, "another site's page may not do this"));
        }
        if let Some(given) = request.parameter("token") {
            return Err(if request.method == "GET" && equal(given, &self.token) {
                self.cookie(request)
            } else {
                refused()
            });
        }
        let bearer = request.header("authorization");
        if let Some(given) = bearer.and_then(|value| value.strip_prefix("Bearer ")) {
            return if equal(given, &self.token) {
                Ok(())
            } else {
                Err(refused())
            };
        }
        match request.cookie(&self.cookie) {
            Some(given) if equal(given, &self.token) => {
                if is_from_page(request, is_guarded) {
                    Ok(())
                } else {
                    Err(Answer::text(
                        403,
                        "the page must say where it is from: Origin",
                    ))
                }
            }
            Some(_) => Err(refused()),
            // A link on another site: the browser keeps the cookie back until the link is this
            // server's own.
            None if request.method == "GET" && !is_guarded && site == Some("cross-site") => {
                Err(Answer::again())
            }
            None => Err(refused()),
        }
    }

    /// Whether the request has the token, in whichever way it may be given.
    pub fn knows(&self, request: &Request) -> bool {
        let bearer = request.header("authorization");
        let given = [
            request.parameter("token"),
            bearer.and_then(|value| value.strip_prefix("Bearer ")),
            request.cookie(&self.cookie),
        ];
        given
            .into_iter()
            .flatten()
            .any(|given| equal(given, &self.token))
    }

    /// The Host header, if it is a name of this server.
    fn host<'a>(&self, request: &'a Request) -> Result<&'a str, Answer> {
        let Some(host) = request.header("host") else {
            return Err(Answer::text(400, "the request must say one Host"));
        };
        // Any port: it may be forwarded.
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => host,
        };
        let name = name.to_ascii_lowercase();
        let is_address = || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        if self.names.contains(&name) || self.is_everywhere && is_address() {
            Ok(host)
        } else {
            Err(Answer::text(
                403,
                "this server has another name: open the link that it printed, or start it with \
             --host NAME for this one",
            ))
        }
    }

    /// The token becomes a cookie, and goes from the address.
    fn cookie(&self, request: &Request) -> Answer {
        let rest = request.query.iter().filter(|(name, _)| name != "token");
        let rest: Vec<String> = rest.map(|(name, value)| pair(name, value)).collect();
        let query = if rest.is_empty() { "" } else { "?" };
        let path = own_path(&request.path);
        let secure = if self.is_encrypted { "; Secure" } else { "" };
        Answer::text(303, "welcome")
            .with("Location", format!("{path}{query}{}", rest.join("&")))
            .with(
                "Set-Cookie",
                format!(
                    "{}={}; HttpOnly; SameSite=Strict; Path=/{secure}",
                    self.cookie, self.token
                ),
            )
    }
}

/// The path as an address that leads to this server, whatever is in it: two slashes at its beginning would be
/// another host's, browsers take a backslash for a slash, and leave tabs out.
fn own_path(path: &str) -> String {
    const NOT_IN_PATHS: &AsciiSet = &CONTROLS
        .add(b' ')
        .add(b'\\')
        .add(b'"')
        .add(b'<')
        .add(b'>')
        .add(b'#');
    let path = path.trim_start_matches(|c: char| c == '/' || c == '\\' || c.is_ascii_control());
    format!(
        "/{}",
        percent_encoding::utf8_percent_encode(path, NOT_IN_PATHS)
    )
}

/// A guarded request by cookie must say that it is from a page of this server; all browsers do so with
/// POST.
fn is_from_page(request: &Request, is_guarded: bool) -> bool {
    !is_guarded
        || request.method == "GET"
        || request.header("origin").is_some()
        || request.header("sec-fetch-site") == Some("same-origin")
}

fn refused() -> Answer {
    Answer::text(
        401,
        "the token is missing or wrong: open the link that pgdyno printed at its start",
    )
    .with("WWW-Authenticate", "Bearer")
}

/// In time that does not depend on where they differ.
fn equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let pairs = a.iter().zip(b);
    let differing = pairs.fold(0, |all, (a, b)| std::hint::black_box(all | (a ^ b)));
    differing == 0 && a.len() == b.len()
}

/// An address as a URL has it.
pub fn in_url(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

fn pair(name: &str, value: &str) -> String {
    let encoded =
        |text| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC);
    format!("{}={}", encoded(name), encoded(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn gate(at: &str, names: &[&str], is_encrypted: bool) -> Gate {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Gate::new(TOKEN.to_owned(), at.parse().unwrap(), &names, is_encrypted)
    }

    /// The status that a request gets; 0 when it passes.
    fn status(gate: &Gate, line: &str, headers: &[&str], is_guarded: bool) -> u16 {
        let text = format!("{line} HTTP/1.1\r\n{}\r\n\r\n", headers.join("\r\n"));
        let request = Request::read(&mut text.as_bytes()).unwrap().unwrap();
        gate.check(&request, is_guarded)
            .map_or_else(|answer| answer.status, |()| 0)
    }

    const HOST: &str = "Host: 127.0.0.1:7070";
    const COOKIE: &str = "Cookie: x=1; pgdyno-7070=0123456789abcdef";
    const OWN: &str = "Origin: http://127.0.0.1:7070";

    #[test]
    fn only_names_of_this_server_lead_in() {
        let here = gate("127.0.0.1:7070", &["Bench.example"], false);
        for host in [
            "127.0.0.1:7070",
            "localhost:8080",
            "LOCALHOST",
            "[::1]:7070",
            "bench.example",
        ] {
            let host = format!("Host: {host}");
            assert_eq!(status(&here, "GET /", &[&host, COOKIE], false), 0, "{host}");
        }
        for host in [
            "evil.example:7070",
            "10.0.0.1:7070",
            "127.0.0.1.evil.example",
            "",
        ] {
            let host = format!("Host: {host}");
            assert_eq!(
                status(&here, "GET /", &[&host, COOKIE], false),
                403,
                "{host}"
            );
        }
        assert_eq!(status(&here, "GET /", &["X: y", COOKIE], false), 400);
        let all = gate("0.0.0.0:7070", &[], false);
        assert_eq!(
            status(&all, "GET /", &["Host: 10.0.0.1:7070", COOKIE], false),
            0
        );
        assert_eq!(
            status(&all, "GET /", &["Host: evil.example", COOKIE], false),
            403
        );
    }

    #[test]
    fn the_token_is_wanted_and_becomes_a_cookie() {
        let here = gate("127.0.0.1:7070", &[], false);
        let get = |headers: &[&str]| status(&here, "GET /", headers, false);
        assert_eq!(get(&[HOST]), 401);
        assert_eq!(get(&[HOST, "Cookie: pgdyno-7070=0123456789abcdeX"]), 401);
        assert_eq!(get(&[HOST, "Cookie: pgdyno-7070="]), 401);
        assert_eq!(get(&[HOST, "Cookie: pgdyno-7071=0123456789abcdef"]), 401);
        assert_eq!(get(&[HOST, "Authorization: Bearer 0123456789abcdef"]), 0);
        assert_eq!(get(&[HOST, "Authorization: Bearer x"]), 401);
        assert_eq!(status(&here, "GET /?token=x", &[HOST, COOKIE], false), 401);
        assert_eq!(
            status(&here, "POST /?token=0123456789abcdef", &[HOST], false),
            401
        );
        let text = "GET //a/b?q=x%26y&token=0123456789abcdef HTTP/1.1\r\nHost: localhost\r\n\r\n";
        for (is_encrypted, secure) in [(false, ""), (true, "; Secure")] {
            let gate = gate("127.0.0.1:7070", &[], is_encrypted);
            let request = Request::read(&mut text.as_bytes()).unwrap().unwrap();
            let mut sent = Vec::new();
            gate.check(&request, false)
                .unwrap_err()
                .send(&mut sent)
                .unwrap();
            let sent = String::from_utf8(sent).unwrap();
            assert!(sent.starts_with("HTTP/1.1 303 "), "{sent}");
            assert!(sent.contains("\r\nLocation: /a/b?q=x%26y\r\n"), "{sent}");
            let cookie = format!(
                "\r\nSet-Cookie: pgdyno-7070={TOKEN}; HttpOnly; SameSite=Strict; Path=/{secure}\r\n"
            );
            assert!(sent.contains(&cookie), "{sent}");
        }
    }

    #[test]
    fn a_redirect_keeps_to_this_server() {
        for (path, own) in [
            ("/trial/1", "/trial/1"),
            ("//evil.example/a", "/evil.example/a"),
            ("/\\evil.example/a", "/evil.example/a"),
            ("/\\/evil.example", "/evil.example"),
            ("/\t/evil.example", "/evil.example"),
            ("\\\\evil.example", "/evil.example"),
            ("/a\\b", "/a%5Cb"),
            ("/%5Cevil.example", "/%5Cevil.example"),
            ("/a\u{1}b", "/a%01b"),
        ] {
            assert_eq!(own_path(path), own, "{path:?}");
        }
        let here = gate("127.0.0.1:7070", &[], false);
        let text = format!("GET /\\evil.example/?token={TOKEN} HTTP/1.1\r\n{HOST}\r\n\r\n");
        let request = Request::read(&mut text.as_bytes()).unwrap().unwrap();
        let mut sent = Vec::new();
        let answer = here.check(&request, false).unwrap_err();
        answer.send(&mut sent).unwrap();
        let sent = String::from_utf8(sent).unwrap();
        assert!(sent.contains("\r\nLocation: /evil.example/\r\n"), "{sent}");
    }

    #[test]
    fn a_token_is_known_in_each_way_that_it_is_given() {
        let here = gate("127.0.0.1:7070", &[], false);
        let knows = |line: &str, header: &str| {
            let text = format!("{line} HTTP/1.1\r\n{HOST}\r\n{header}\r\n\r\n");
            here.knows(&Request::read(&mut text.as_bytes()).unwrap().unwrap())
        };
        assert!(knows("GET /?token=0123456789abcdef", "X: y"));
        assert!(knows("GET /", COOKIE));
        assert!(knows("GET /", "Authorization: Bearer 0123456789abcdef"));
        assert!(!knows(
            "GET /?token=0123456789abcdeX",
            "Authorization: Bearer x"
        ));
        assert!(!knows("GET /", "Cookie: pgdyno-7071=0123456789abcdef"));
    }

    #[test]
    fn other_sites_pages_change_nothing_and_follow_nothing() {
        let here = gate("127.0.0.1:7070", &[], false);
        let post = |headers: &[&str]| status(&here, "POST /trial/1/stop", headers, true);
        assert_eq!(post(&[HOST, COOKIE, OWN]), 0);
        assert_eq!(post(&[HOST, COOKIE, "Sec-Fetch-Site: same-origin"]), 0);
        for foreign in [
            "Origin: http://evil.example",
            "Origin: null",
            "Origin: https://127.0.0.1:7070",
            "Origin: http://127.0.0.1:3000",
            "Origin: http://localhost:7070",
            "Sec-Fetch-Site: cross-site",
            "Sec-Fetch-Site: same-site",
            "X: it says nothing",
        ] {
            assert_eq!(post(&[HOST, COOKIE, foreign]), 403, "{foreign}");
        }
        // curl has no page.
        assert_eq!(post(&[HOST, "Authorization: Bearer 0123456789abcdef"]), 0);
        let events = |headers: &[&str]| status(&here, "GET /events", headers, true);
        assert_eq!(events(&[HOST, COOKIE]), 0);
        assert_eq!(events(&[HOST, COOKIE, "Sec-Fetch-Site: same-origin"]), 0);
        assert_eq!(events(&[HOST, COOKIE, "Sec-Fetch-Site: cross-site"]), 403);
        assert_eq!(events(&[HOST, COOKIE, "Origin: http://evil.example"]), 403);
        // A link elsewhere to a page of this server is opened again as its own.
        let link = |headers: &[&str]| status(&here, "GET /trial/1", headers, false);
        assert_eq!(link(&[HOST, "Sec-Fetch-Site: cross-site"]), 200);
        assert_eq!(link(&[HOST, "Sec-Fetch-Site: same-origin"]), 401);
    }

    #[test]
    fn tokens_are_compared_whole() {
        assert!(equal("ab", "ab") && !equal("ab", "abc") && !equal("abc", "ab") && !equal("", "a"));
    }
}
