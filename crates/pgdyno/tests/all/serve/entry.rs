//! Who comes in, and what is too much.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::json;

use crate::serve::client::{Answer, Notebook};
use crate::support::{Database, ran};

#[test]
fn strangers_stay_outside_and_the_link_lets_in() {
    let db = Database::new("serve_entry");
    let notebook = Notebook::with_trials(&db, 1);
    let server = notebook.serve(&[]);
    let (host, cookie, token) = (server.host(), server.cookie(), &server.token);
    let get = |path: &str, headers: &[&str]| {
        let headers = headers.join("\r\n");
        server.raw(&format!("GET {path} HTTP/1.1\r\n{headers}\r\n\r\n"))
    };
    for path in [
        "/",
        "/trial/1",
        "/events",
        "/trial/1/events",
        "/compare?a=1&b=1",
        "/nothing",
    ] {
        get(path, &[&host]).expect(401, "open the link that pgdyno printed");
        let wrong = format!("Authorization: Bearer {}x", &token[1..]);
        get(path, &[&host, &wrong]).expect(401, "the token is missing or wrong");
        // A name that another site has led here.
        get(path, &["Host: evil.example", &cookie]).expect(403, "--host NAME");
        get(path, &[&host, &cookie, "Origin: http://evil.example"]).expect(403, "another site");
    }
    get("/", &[&cookie]).expect(400, "one Host");
    get("/events", &[&host, &cookie, "Sec-Fetch-Site: cross-site"]).expect(403, "another site");
    let welcome = get(&format!("/trial/1?token={token}"), &[&host]).expect(303, "");
    let is_there = |header: &str| welcome.head.contains(&format!("\r\n{header}\r\n"));
    assert!(is_there("Location: /trial/1"), "{welcome:?}");
    let set = format!(
        "Set-Cookie: pgdyno-{}={token}; HttpOnly; SameSite=Strict; Path=/",
        server.port
    );
    assert!(is_there(&set), "{welcome:?}");
    let page = get("/trial/1", &[&host, &cookie]).expect(200, "<title>pgdyno report</title>");
    assert!(
        !page.body.contains(token.as_str()),
        "the page has the token"
    );
    for header in [
        "X-Content-Type-Options: nosniff",
        "X-Frame-Options: DENY",
        "Referrer-Policy: no-referrer",
        "Cache-Control: no-store",
    ] {
        assert!(
            page.head.contains(&format!("\r\n{header}\r\n")),
            "{header}: {}",
            page.head
        );
    }
    let policy = page
        .head
        .lines()
        .find(|line| line.starts_with("Content-Security-Policy:"));
    let policy = policy.unwrap();
    for part in [
        "default-src 'none'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "'sha256-",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    // A link to it on another site: the browser keeps the cookie back until it is asked again.
    get("/trial/1", &[&host, "Sec-Fetch-Site: cross-site"]).expect(200, "http-equiv=\"refresh\"");
    let bearer = format!("Authorization: Bearer {token}");
    get("/trial/1", &[&host, &bearer]).expect(200, "\"kind\":\"trial\"");
}

#[test]
fn what_is_not_there_or_too_much_gets_a_short_answer() {
    let db = Database::new("serve_limits");
    let notebook = Notebook::with_trials(&db, 1);
    let server = notebook.serve(&[]);
    server
        .get("/nothing")
        .expect(404, "there is nothing at /nothing");
    server.get("/trial/9").expect(404, "there is no trial 9");
    server
        .get("/experiment/x")
        .expect(404, "there is no experiment x");
    server
        .get("/trial/9/events")
        .expect(404, "there is no trial 9");
    server.get("/?page=x").expect(404, "page is a number");
    server
        .get("/?page=18446744073709551615")
        .expect(200, "\"kind\":\"notebook\"");
    server
        .get("/compare?a=1")
        .expect(404, "/compare?a=3-8&b=9-14");
    let answer = server.get("/trial/1/stop").expect(405, "takes only POST");
    assert!(answer.head.contains("\r\nAllow: POST\r\n"), "{answer:?}");
    server.post("/", &json!({})).expect(405, "takes only GET");
    let (host, cookie) = (server.host(), server.cookie());
    let delete = format!("DELETE /trial/1 HTTP/1.1\r\n{host}\r\n{cookie}\r\n\r\n");
    server.raw(&delete).expect(405, "takes only GET");
    server
        .raw("nonsense\r\n\r\n")
        .expect(400, "not an HTTP/1.1 request");
    let long = "x".repeat(20_000);
    server
        .raw(&format!("GET /{long} HTTP/1.1\r\n\r\n"))
        .expect(431, "too large");
    let body = "x".repeat(70_000);
    server
        .post_with("/trial/1/note", &body, &["X: y"])
        .expect(413, "too large");
    // Silent clients take all places, and make room for those that have the token.
    let silent: Vec<TcpStream> = (0..200).map(|_| server.connect()).collect();
    for _ in 0..20 {
        server.get("/").expect(200, "\"kind\":\"notebook\"");
    }
    drop(silent);
}

#[test]
fn with_a_certificate_everything_is_encrypted() {
    let db = Database::new("serve_tls");
    let notebook = Notebook::with_trials(&db, 1);
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (certificate, key) = (notebook.beside("cert.pem"), notebook.beside("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let files = [certificate.to_str().unwrap(), key.to_str().unwrap()];
    let server = notebook.serve(&[
        "--host",
        "localhost",
        "--tls-cert",
        files[0],
        "--tls-key",
        files[1],
    ]);
    assert!(
        server.link.starts_with("https://localhost:"),
        "{}",
        server.link
    );
    assert!(!server.said().contains("read along"), "{}", server.said());
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from(made.cert.der().to_vec()))
        .unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let config = Arc::new(config);
    let get = |path: &str, headers: &str| {
        let name = "localhost".try_into().unwrap();
        let session = ClientConnection::new(config.clone(), name).unwrap();
        let mut stream = StreamOwned::new(session, server.connect());
        let text = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost:{}\r\n{headers}\r\n",
            server.port
        );
        stream.write_all(text.as_bytes()).unwrap();
        Answer::read(stream)
    };
    let welcome = get(&format!("/?token={}", server.token), "").expect(303, "");
    assert!(welcome.head.contains("; Path=/; Secure\r\n"), "{welcome:?}");
    let cookie = format!("{}\r\n", server.cookie());
    get("/trial/1", &cookie).expect(200, "\"kind\":\"trial\"");
    // The same name without encryption is another site.
    let origin = format!("{cookie}Origin: http://localhost:{}\r\n", server.port);
    get("/trial/1", &origin).expect(403, "another site");
    let plain = server.get("/");
    assert_ne!(plain.status, 200, "{plain:?}");
    assert!(!plain.body.contains("pgdyno"), "{plain:?}");
}

#[test]
fn what_cannot_be_served_is_said_at_the_start() {
    let db = Database::new("serve_mistakes");
    let notebook = Notebook::new();
    let refused = |args: &[&str], code: i32, texts: &[&str]| {
        ran(&mut notebook.command(args)).expect(code, texts)
    };
    refused(&["serve"], 1, &["there is no store at"]);
    let notebook = Notebook::with_trials(&db, 1);
    let file = |name: &str, text: &str| {
        let path = notebook.beside(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let refused = |args: &[&str], texts: &[&str]| {
        let mut command = notebook.command(&["serve", "--listen", "0"]);
        ran(command.args(args)).expect(2, texts);
    };
    refused(
        &["--token-file", "/nowhere"],
        &["--token-file: cannot read /nowhere", "openssl rand"],
    );
    refused(
        &["--token-file", &file("short", "abc\n")],
        &["16 or more letters and digits"],
    );
    let spaces = file("spaces", "0123456789abcdef; HttpOnly");
    refused(&["--token-file", &spaces], &["and nothing else"]);
    refused(&["--tls-cert", "a"], &["--tls-key"]);
    refused(
        &["--tls-cert", "/no", "--tls-key", "/no"],
        &["--tls-cert: cannot read /no"],
    );
    let text = file("text", "no certificate");
    refused(
        &["--tls-cert", &text, "--tls-key", &text],
        &["no certificate in PEM form"],
    );
    let mut wrong = notebook.command(&["serve", "--listen", "localhost"]);
    ran(&mut wrong).expect(2, &["an IP address, a port, or both"]);
    let token = file("token", "0123456789abcdef-and-more\n");
    let server = notebook.serve(&["--token-file", &token]);
    assert_eq!(server.token, "0123456789abcdef-and-more");
    let taken = format!("127.0.0.1:{}", server.port);
    let mut again = notebook.command(&["serve", "--listen", &taken]);
    ran(&mut again).expect(
        1,
        &[
            &format!("cannot listen at {taken}"),
            "port 0 takes a free one",
        ],
    );
    let script = notebook.script();
    let serve = format!("--serve={taken}");
    let mut run = notebook.command(&["run", &script, "--url", &db.url, &serve]);
    ran(&mut run).expect(1, &[&format!("--serve: cannot listen at {taken}")]);
    let mut run = pgdyno_run(&notebook, &script, &db);
    ran(run.args(["--no-store", "--serve"])).expect(2, &["--no-store keeps nothing", "--store"]);
    // Beyond this host.
    let open = Notebook::with_trials(&db, 1);
    let mut command = open.command(&["serve", "--listen", "0.0.0.0:0", "--host", "bench.example"]);
    let server = crate::serve::client::Serving::start_in(&mut command, &open);
    assert!(
        server.link.starts_with("http://bench.example:"),
        "{}",
        server.link
    );
    assert!(
        server
            .said()
            .contains("others on the network can read along"),
        "{}",
        server.said()
    );
    server.get("/trial/1").expect(200, "");
}

fn pgdyno_run(notebook: &Notebook, script: &str, db: &Database) -> std::process::Command {
    notebook.command(&["run", script, "--url", &db.url])
}
