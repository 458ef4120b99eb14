//! `sslmode=prefer` goes on in plain text where TLS fails, as libpq does; the reader of the figures knows it.

use std::fs;

use pgdyno_server::{Listen, Options, Server};
use serde_json::Value;

use crate::support::{connect, pgdyno, ran};

/// A server with TLS, and the certificate to trust.
fn tls_server() -> (Server, String) {
    let options = Options {
        bindir: Some(pgdyno_testkit::installation_with_tls().bindir.clone()),
        settings: vec!["fsync=off".parse().unwrap()],
        listen: Listen::Loopback(0),
        cache: Some(pgdyno_testkit::cache()),
        ..Options::default()
    };
    let server = Server::start(&options, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"));
    let pem = pgdyno_testkit::certify(&server, "localhost");
    let mut admin = connect(&server.address().url());
    admin.execute("alter system set ssl = on").unwrap();
    admin.execute("select pg_reload_conf()").unwrap();
    (server, pem)
}

#[test]
fn a_run_in_plain_text_because_tls_failed_has_a_serious_note_and_a_warning() {
    let (server, pem) = tls_server();
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let right = file("right.pem", &pem);
    let other = rcgen::generate_simple_self_signed(vec!["other".to_owned()]).unwrap();
    let wrong = file("wrong.pem", &other.cert.pem());
    let broken = file("broken.pem", "no certificate\n");
    let plain = "select 1 / (not ssl)::int from pg_stat_ssl where pid = pg_backend_pid();\n";
    let plain = file("plain.sql", plain);
    let encrypted = "select 1 / ssl::int from pg_stat_ssl where pid = pg_backend_pid();\n";
    let encrypted = file("encrypted.sql", encrypted);
    let url = |roots: &str| {
        format!(
            "postgresql://postgres@localhost:{}/postgres?sslrootcert={roots}",
            server.address().port
        )
    };
    let said = |script: &str, url: &str| -> Vec<(Value, Value)> {
        let args = ["run", script, "-c", "4", "-j", "2", "-t", "1", "--no-store"];
        let ran = ran(pgdyno(&args).args(["--json", "--url", url])).expect(0, &[]);
        let document: Value = serde_json::from_str(&ran.stdout).unwrap();
        let events = document["events"].as_array().unwrap().iter();
        let notes = document["notes"].as_array().unwrap().iter();
        let notes = notes.filter(|note| note["code"] == "without-tls");
        let said = notes.map(|note| (note["severity"].clone(), note["sentence"].clone()));
        let said: Vec<_> = said.collect();
        // Once of all clients.
        let of_kind = events.filter(|event| event["kind"] == "without-tls");
        assert_eq!(of_kind.count(), said.len());
        said
    };
    for (roots, why) in [
        (&wrong, "certificate verify failed: self-signed certificate"),
        (&broken, "it contains no certificate in PEM form"),
    ] {
        let [(severity, sentence)] = &said(&plain, &url(roots))[..] else {
            panic!("{roots}");
        };
        let sentence = sentence.as_str().unwrap();
        assert_eq!(severity, "serious");
        assert!(
            sentence.contains("are without TLS (sslmode=prefer)"),
            "{sentence}"
        );
        assert!(sentence.contains(why), "{sentence}");
    }
    assert_eq!(said(&encrypted, &url(&right)), []);
    // TLS was not requested, or the server has none.
    assert_eq!(said(&plain, &(url(&wrong) + "&sslmode=disable")), []);
    let unencrypted = pgdyno_testkit::postgres().address().port;
    let unencrypted = format!("postgresql://postgres@localhost:{unencrypted}/postgres");
    assert_eq!(said(&plain, &unencrypted), []);

    let args = [
        "run",
        &plain,
        "-t",
        "1",
        "--no-store",
        "--url",
        &url(&wrong),
    ];
    ran(&mut pgdyno(&args)).expect(0, &["!! sessions with localhost"]);
    let args = [
        "pgbench",
        "-n",
        "-c",
        "2",
        "-t",
        "1",
        "-f",
        &plain,
        &url(&wrong),
    ];
    let ran = ran(&mut pgdyno(&args)).expect(0, &[]);
    let warnings = ran
        .stderr
        .matches("are without TLS (sslmode=prefer)")
        .count();
    assert_eq!(warnings, 1, "{}", ran.stderr);
}
