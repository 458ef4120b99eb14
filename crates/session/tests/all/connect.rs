//! Connecting to a real server: every way to authenticate, encrypt and choose among hosts.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use crate::common::{Server, Setup, connect, shared};
use pgdyno_session::{Env, Given, Session, resolve};

static MAIN: Mutex<Weak<Server>> = Mutex::new(Weak::new());
static READ_ONLY: Mutex<Weak<Server>> = Mutex::new(Weak::new());
static STANDBY: Mutex<Weak<Server>> = Mutex::new(Weak::new());

const HBA: &str = "\
host all cleartext all password
host all md5er all md5
host all scrammer all scram-sha-256
local all scrammer scram-sha-256
hostssl all certified all cert
hostssl all tlsonly all trust
hostnossl all tlsonly all reject
hostssl all plainonly all reject
hostnossl all plainonly all trust
";

fn main_server() -> Arc<Server> {
    let server = shared(
        &MAIN,
        Setup {
            hba: HBA,
            tls: true,
            ..Setup::default()
        },
    );
    let mut admin = server.admin();
    admin
        .simple_query(
            "BEGIN; SELECT pg_advisory_xact_lock(1); \
             DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'scrammer') THEN \
             SET LOCAL client_min_messages = error; \
             SET LOCAL password_encryption = 'md5'; \
             CREATE ROLE md5er LOGIN PASSWORD 'pass word'; \
             SET LOCAL password_encryption = 'scram-sha-256'; \
             CREATE ROLE cleartext LOGIN PASSWORD 'pass word'; \
             CREATE ROLE scrammer LOGIN PASSWORD 'pass word'; \
             CREATE ROLE certified LOGIN; CREATE ROLE tlsonly LOGIN; CREATE ROLE plainonly LOGIN; \
             END IF; END $$; COMMIT",
        )
        .unwrap();
    server
}

fn has_openssl() -> bool {
    Command::new("openssl").arg("version").output().is_ok()
}

fn whoami(session: &mut Session) -> String {
    session
        .query_one_value("SELECT current_user")
        .unwrap()
        .unwrap()
}

fn error(result: Result<Session, String>) -> String {
    match result {
        Ok(session) => panic!("connected: {session:?}"),
        Err(error) => error,
    }
}

#[test]
fn each_password_method_works_with_and_without_tls() {
    let server = main_server();
    for user in ["cleartext", "md5er", "scrammer"] {
        for mode in ["disable", "allow", "prefer", "require"] {
            let options = format!("user={user} password='pass word' sslmode={mode}");
            let mut session = server
                .tcp(&options)
                .unwrap_or_else(|e| panic!("{options}: {e}"));
            assert_eq!(whoami(&mut session), user);
            let encrypted = matches!(mode, "prefer" | "require");
            assert_eq!(session.tls_description().is_some(), encrypted, "{options}");
        }
    }
}

#[test]
fn a_wrong_or_missing_password_has_libpqs_words() {
    let server = main_server();
    let at = format!(
        "connection to server at \"127.0.0.1\", port {} failed: ",
        server.port
    );
    for user in ["cleartext", "md5er", "scrammer"] {
        let wrong = error(server.tcp(&format!("user={user} password=secret! sslmode=disable")));
        assert_eq!(
            wrong,
            format!("{at}FATAL:  password authentication failed for user \"{user}\"")
        );
        let missing = error(server.tcp(&format!("user={user} sslmode=disable")));
        assert_eq!(missing, format!("{at}fe_sendauth: no password supplied"));
    }
    // "prefer" tries both ways and tells of both.
    let both = error(server.tcp("user=scrammer password=secret!"));
    assert_eq!(both.lines().count(), 2, "{both}");
    assert!(!both.contains("secret!"));
}

#[test]
fn a_password_from_the_password_file_is_used_and_the_file_named_when_it_is_wrong() {
    let server = main_server();
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".pgpass");
    let write = |password: &str| {
        fs::write(
            &file,
            format!("127.0.0.1:{}:*:scrammer:{password}\n", server.port),
        )
        .unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    };
    let target = format!(
        "host=127.0.0.1 port={} user=scrammer dbname=postgres sslmode=disable",
        server.port
    );
    let env = Env::empty().with_home(home.path());
    write("pass word");
    assert_eq!(whoami(&mut connect(&target, &env).unwrap()), "scrammer");
    write("wrong");
    let text = error(connect(&target, &env));
    assert!(
        text.ends_with(&format!(
            "\npassword retrieved from file \"{}\"",
            file.display()
        )),
        "{text}"
    );
    assert!(!text.contains("wrong"));
}

#[test]
fn a_missing_database_or_role_keeps_the_servers_fields() {
    let server = main_server();
    let candidates = |options: &str| {
        let target = format!(
            "host={} port={} {options}",
            server.sockets.display(),
            server.port
        );
        resolve(&Given::target(target), &Env::empty())
            .unwrap()
            .candidates()
            .unwrap()
            .list
    };
    let error = Session::connect(&candidates("user=postgres dbname=nowhere"), None).unwrap_err();
    assert_eq!(error.sqlstate(), Some("3D000"));
    assert_eq!(
        error.server().unwrap().message(),
        "database \"nowhere\" does not exist"
    );
    assert!(error.server().unwrap().field(b'R').is_some());
    let socket = format!("{}/.s.PGSQL.{}", server.sockets.display(), server.port);
    assert_eq!(
        error.to_string(),
        format!(
            "connection to server on socket \"{socket}\" failed: FATAL:  database \"nowhere\" does not exist"
        )
    );
    let error =
        Session::connect(&candidates("user=nobody_here dbname=postgres"), None).unwrap_err();
    assert_eq!(error.sqlstate(), Some("28000"));
}

#[test]
fn a_socket_may_be_abstract_and_scram_works_without_tcp() {
    let server = main_server();
    let options = format!(
        "host=@pgdyno-test-{} user=scrammer password='pass word'",
        server.port
    );
    let mut session = server.try_connect(&options).unwrap();
    assert_eq!(whoami(&mut session), "scrammer");
    let at = session.candidate().to_string();
    assert_eq!(
        at,
        format!(
            "server on socket \"@pgdyno-test-{0}/.s.PGSQL.{0}\"",
            server.port
        )
    );
}

#[test]
fn modes_of_tls_fall_back_only_where_they_may() {
    let server = main_server();
    let kind = |options: &str| {
        server.tcp(options).map(|s| {
            if s.tls_description().is_some() {
                "tls"
            } else {
                "plain"
            }
            .to_owned()
        })
    };
    assert_eq!(kind("user=plainonly sslmode=prefer").unwrap(), "plain");
    assert_eq!(kind("user=tlsonly sslmode=allow").unwrap(), "tls");
    assert_eq!(kind("user=tlsonly sslmode=require").unwrap(), "tls");
    let refused = kind("user=tlsonly sslmode=disable").unwrap_err();
    assert!(
        refused.contains("FATAL:  pg_hba.conf rejects connection"),
        "{refused}"
    );
    assert!(
        kind("user=plainonly sslmode=require")
            .unwrap_err()
            .contains("pg_hba.conf rejects")
    );
    for version in ["TLSv1.2", "TLSv1.3"] {
        let options = format!(
            "user=scrammer password='pass word' sslmode=require channel_binding=require \
             ssl_min_protocol_version={version} ssl_max_protocol_version={version}"
        );
        let session = server.tcp(&options).unwrap();
        let description = session.tls_description().unwrap();
        assert!(
            description.starts_with(&version.replace('.', "_")),
            "{description}"
        );
    }
}

#[test]
fn a_server_without_tls_is_refused_when_tls_is_required() {
    let server = shared(&READ_ONLY, read_only());
    let at = format!(
        "connection to server at \"127.0.0.1\", port {} failed: ",
        server.port
    );
    let text = error(server.tcp("user=postgres sslmode=require"));
    assert_eq!(
        text,
        format!("{at}server does not support SSL, but SSL was required")
    );
    assert!(
        server
            .tcp("user=postgres sslmode=prefer")
            .unwrap()
            .tls_description()
            .is_none()
    );
}

#[test]
fn a_proxy_before_the_server_changes_nothing_of_what_its_certificate_must_say() {
    let server = main_server();
    let root = server.certs.as_ref().unwrap().ca_cert.display();
    let link = pgdyno_link::Link::to(std::net::SocketAddr::from(([127, 0, 0, 1], server.port)));
    let link = link.start().unwrap();
    let through = |host: &str| {
        // Nothing listens at the address: it is the proxy that is connected to.
        let target = format!(
            "host={host} hostaddr=127.0.0.9 port=1 user=tlsonly dbname=postgres sslmode=verify-full \
             sslrootcert={root}"
        );
        let given = Given {
            target: Some(target),
            ..Given::default()
        };
        let mut found = resolve(&given, &Env::empty())
            .unwrap()
            .candidates()
            .unwrap();
        for candidate in &mut found.list {
            candidate.via = Some(link.address());
        }
        Session::connect(&found.list, Some(Duration::from_secs(10))).map_err(|e| e.to_string())
    };
    assert!(through("a.bench.test").unwrap().tls_description().is_some());
    let deep = error(through("a.b.bench.test"));
    assert!(
        deep.contains("does not match host name \"a.b.bench.test\""),
        "{deep}"
    );
    assert!(deep.contains("127.0.0.9"), "{deep}");
}

#[test]
fn verification_accepts_the_right_certificate_and_no_other() {
    let server = main_server();
    let certs = server.certs.as_ref().unwrap();
    let with = |rest: &str| server.try_connect(&format!("user=tlsonly {rest}"));
    let root = certs.ca_cert.display();
    for mode in ["verify-ca", "verify-full"] {
        for host in [
            "localhost",
            "host=LOCALHOST hostaddr=127.0.0.1",
            "host=a.bench.test hostaddr=127.0.0.1",
        ] {
            let host = if host.contains('=') {
                host.to_owned()
            } else {
                format!("host={host}")
            };
            with(&format!("{host} sslmode={mode} sslrootcert={root}"))
                .unwrap_or_else(|e| panic!("{host} {mode}: {e}"));
        }
    }
    let mismatch = error(with(&format!(
        "host=127.0.0.1 sslmode=verify-full sslrootcert={root}"
    )));
    assert!(
        mismatch.ends_with("SSL error: server certificate for \"localhost\" (and 2 other names) does not match host name \"127.0.0.1\""),
        "{mismatch}"
    );
    with(&format!(
        "host=127.0.0.1 sslmode=verify-ca sslrootcert={root}"
    ))
    .unwrap();
    let deep = error(with(&format!(
        "host=a.b.bench.test hostaddr=127.0.0.1 sslmode=verify-full sslrootcert={root}"
    )));
    assert!(
        deep.contains("does not match host name \"a.b.bench.test\""),
        "{deep}"
    );
    let nameless = error(with(&format!(
        "hostaddr=127.0.0.1 sslmode=verify-full sslrootcert={root}"
    )));
    assert!(
        nameless.ends_with("host name must be specified for a verified SSL connection"),
        "{nameless}"
    );

    // Another authority vouches for nothing here, in any mode once its certificate is given.
    let elsewhere = tempfile::tempdir().unwrap();
    let other = pgdyno_testkit::Certs::make(elsewhere.path());
    let root = other.ca_cert.display();
    for mode in ["verify-ca", "verify-full", "require"] {
        let text = error(with(&format!(
            "host=localhost sslmode={mode} sslrootcert={root}"
        )));
        assert!(text.contains("certificate verify failed"), "{text}");
    }
    let system = error(with("host=localhost sslrootcert=system"));
    assert!(
        system.contains("certificate verify failed") || system.contains("system root"),
        "{system}"
    );
    // The server's own certificate is no authority.
    let root = certs.server_cert.display();
    let text = error(with(&format!(
        "host=localhost sslmode=verify-full sslrootcert={root}"
    )));
    assert!(text.contains("certificate verify failed"), "{text}");
}

#[test]
fn certificates_as_the_manual_makes_them_are_verified() {
    if !has_openssl() {
        pgdyno_testkit::skip!(
            "certificates_as_the_manual_makes_them_are_verified",
            "the program openssl is not here"
        );
    }
    // A self-signed one trusted itself, without alternative names; and one of X.509 version 1.
    let dir = tempfile::tempdir().unwrap();
    let run = |args: &str| {
        let output = Command::new("openssl")
            .args(args.split(' '))
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    run("req -new -x509 -days 2 -nodes -text -out self.crt -keyout self.key -subj /CN=localhost");
    run("req -new -x509 -days 2 -nodes -text -out root.crt -keyout root.key -subj /CN=authority");
    run("req -new -nodes -text -out v1.csr -keyout v1.key -subj /CN=localhost");
    run(
        "x509 -req -in v1.csr -text -days 2 -CA root.crt -CAkey root.key -CAcreateserial -out v1.crt",
    );
    for (name, root) in [("self", "self.crt"), ("v1", "root.crt")] {
        let server = Server::start(Setup {
            tls: true,
            ..Setup::default()
        });
        let certs = server.certs.as_ref().unwrap();
        fs::copy(dir.path().join(format!("{name}.crt")), &certs.server_cert).unwrap();
        let key = fs::read(dir.path().join(format!("{name}.key"))).unwrap();
        fs::write(&certs.server_key, key).unwrap();
        server.admin().query("SELECT pg_reload_conf()").unwrap();
        let root = dir.path().join(root);
        let options = format!(
            "user=postgres sslmode=verify-full sslrootcert={}",
            root.display()
        );
        let deadline = Instant::now() + Duration::from_secs(10);
        while let Err(text) = server.try_connect(&format!("host=localhost {options}")) {
            assert!(Instant::now() < deadline, "{name}: {text}");
            std::thread::sleep(Duration::from_millis(50));
        }
        let text = error(server.try_connect(&format!("host=127.0.0.1 {options}")));
        assert!(
            text.contains(
                "server certificate for \"localhost\" does not match host name \"127.0.0.1\""
            ),
            "{name}: {text}"
        );
    }
}

#[test]
fn client_certificates_work_in_every_key_form() {
    if !has_openssl() {
        pgdyno_testkit::skip!(
            "client_certificates_work_in_every_key_form",
            "the program openssl is not here"
        );
    }
    let server = main_server();
    let certs = server.certs.as_ref().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (cert, pkcs8) = certs.issue(
        "client-ec",
        "certified",
        &[],
        &rcgen::PKCS_ECDSA_P256_SHA256,
    );
    let convert = |from: &std::path::Path, to: &str, args: &[&str]| {
        let to = dir.path().join(to);
        let output = Command::new("openssl")
            .args(args)
            .arg("-in")
            .arg(from)
            .arg("-out")
            .arg(&to)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).unwrap();
        to
    };
    let sec1 = convert(&pkcs8, "sec1.key", &["ec"]);
    assert!(
        fs::read_to_string(&sec1)
            .unwrap()
            .contains("BEGIN EC PRIVATE KEY")
    );
    let log_in = |cert: &std::path::Path, key: &std::path::Path| {
        server.tcp(&format!(
            "user=certified sslmode=require sslcert={} sslkey={}",
            cert.display(),
            key.display()
        ))
    };
    assert_eq!(whoami(&mut log_in(&cert, &pkcs8).unwrap()), "certified");
    assert_eq!(whoami(&mut log_in(&cert, &sec1).unwrap()), "certified");
    // RSA in PKCS#1: openssl makes the key, the authority's key signs.
    let rsa = dir.path().join("rsa.key");
    let output = Command::new("openssl")
        .args(["genrsa", "-traditional", "-out"])
        .arg(&rsa)
        .arg("2048")
        .output()
        .unwrap();
    assert!(output.status.success());
    assert!(
        fs::read_to_string(&rsa)
            .unwrap()
            .contains("BEGIN RSA PRIVATE KEY")
    );
    fs::set_permissions(&rsa, fs::Permissions::from_mode(0o600)).unwrap();
    let mismatched = error(log_in(&cert, &rsa));
    assert!(
        mismatched.contains("certificate and private key cannot be used together"),
        "{mismatched}"
    );
    let rsa_cert = certs.issue_for(
        "client-rsa",
        "certified",
        &convert(&rsa, "rsa8.key", &["pkcs8", "-topk8", "-nocrypt"]),
    );
    assert_eq!(whoami(&mut log_in(&rsa_cert, &rsa).unwrap()), "certified");

    let none = error(server.tcp("user=certified sslmode=require"));
    assert!(
        none.contains("connection requires a valid client certificate"),
        "{none}"
    );
    let encrypted = convert(
        &pkcs8,
        "encrypted.key",
        &["pkcs8", "-topk8", "-passout", "pass:x"],
    );
    let text = error(log_in(&cert, &encrypted));
    assert!(
        text.starts_with(&format!(
            "could not load private key file \"{}\": the private key is encrypted",
            encrypted.display()
        )),
        "{text}"
    );
    let text = error(log_in(&cert, &dir.path().join("none.key")));
    assert!(
        text.starts_with("certificate present, but not private key file"),
        "{text}"
    );
    fs::set_permissions(&sec1, fs::Permissions::from_mode(0o644)).unwrap();
    let text = error(log_in(&cert, &sec1));
    assert!(text.contains("has group or world access"), "{text}");
    let text = error(log_in(&pkcs8, &pkcs8));
    assert!(
        text.starts_with("could not read certificate file"),
        "{text}"
    );
}

#[test]
fn default_files_in_the_home_directory_are_used() {
    let server = main_server();
    let certs = server.certs.as_ref().unwrap();
    let (cert, key) = certs.issue(
        "client-home",
        "certified",
        &[],
        &rcgen::PKCS_ECDSA_P256_SHA256,
    );
    let home = tempfile::tempdir().unwrap();
    let dot = home.path().join(".postgresql");
    fs::create_dir(&dot).unwrap();
    fs::copy(cert, dot.join("postgresql.crt")).unwrap();
    fs::copy(key, dot.join("postgresql.key")).unwrap();
    fs::copy(&certs.ca_cert, dot.join("root.crt")).unwrap();
    let env = Env::empty().with_home(home.path());
    let target = format!(
        "host=localhost port={} user=certified dbname=postgres sslmode=verify-full",
        server.port
    );
    assert_eq!(whoami(&mut connect(&target, &env).unwrap()), "certified");
    // Where plain is allowed, a key that cannot be used is worth a warning only.
    fs::set_permissions(
        dot.join("postgresql.key"),
        fs::Permissions::from_mode(0o644),
    )
    .unwrap();
    let target = format!(
        "host=localhost port={} user=postgres dbname=postgres",
        server.port
    );
    let found = resolve(&Given::target(target), &env)
        .unwrap()
        .candidates()
        .unwrap();
    assert!(
        found.warnings[0].contains("connecting without TLS"),
        "{:?}",
        found.warnings
    );
    assert!(
        Session::connect(&found.list, None)
            .unwrap()
            .tls_description()
            .is_none()
    );
}

#[test]
fn channel_binding_is_used_where_offered_and_demanded_where_required() {
    let server = main_server();
    let tcp = |options: &str| server.tcp(&format!("password='pass word' {options}"));
    for binding in ["disable", "prefer", "require"] {
        let mut session = tcp(&format!(
            "user=scrammer sslmode=require channel_binding={binding}"
        ))
        .unwrap();
        assert_eq!(whoami(&mut session), "scrammer");
    }
    for (options, expected) in [
        (
            "user=scrammer sslmode=disable",
            "channel binding required, but SSL not in use",
        ),
        (
            "user=md5er sslmode=require",
            "channel binding required but not supported by server's authentication request",
        ),
        (
            "user=cleartext sslmode=require",
            "channel binding required but not supported by server's authentication request",
        ),
        (
            "user=tlsonly sslmode=require",
            "channel binding required, but server authenticated client without channel binding",
        ),
    ] {
        let text = error(tcp(&format!("{options} channel_binding=require")));
        assert!(text.ends_with(expected), "{text}");
    }
}

#[test]
fn require_auth_lets_only_the_named_methods_through() {
    let server = main_server();
    let tcp =
        |options: &str| server.tcp(&format!("password='pass word' sslmode=disable {options}"));
    for (user, allowed) in [
        ("cleartext", "password"),
        ("md5er", "md5,scram-sha-256"),
        ("scrammer", "scram-sha-256"),
        ("scrammer", "!password,!md5,!none"),
        ("postgres", "none"),
        ("postgres", "!password"),
    ] {
        tcp(&format!("user={user} require_auth={allowed}"))
            .unwrap_or_else(|e| panic!("{user} {allowed}: {e}"));
    }
    for (user, list, reason) in [
        (
            "cleartext",
            "scram-sha-256",
            "server requested a cleartext password",
        ),
        ("md5er", "!md5", "server requested a hashed password"),
        (
            "scrammer",
            "password,md5",
            "server requested SASL authentication",
        ),
        (
            "scrammer",
            "oauth",
            "server requested SCRAM-SHA-256 authentication",
        ),
        (
            "postgres",
            "scram-sha-256",
            "server did not complete authentication",
        ),
        (
            "postgres",
            "!none",
            "server did not complete authentication",
        ),
    ] {
        let text = error(tcp(&format!("user={user} require_auth={list}")));
        let expected = format!("authentication method requirement \"{list}\" failed: {reason}");
        assert!(text.ends_with(&expected), "{text}");
    }
}

fn dead_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

#[test]
fn the_next_host_is_tried_when_one_is_dead_but_not_when_it_refuses() {
    let server = main_server();
    let dead = dead_port();
    let target = |user: &str| {
        format!(
            "host=127.0.0.1,localhost port={dead},{} user={user} dbname=postgres sslmode=disable",
            server.port
        )
    };
    let session = connect(&target("postgres"), &Env::empty()).unwrap();
    assert_eq!(session.candidate().host, "localhost");

    let text = error(connect(
        &format!("host=127.0.0.1 port={dead} user=x"),
        &Env::empty(),
    ));
    assert_eq!(
        text,
        format!(
            "connection to server at \"127.0.0.1\", port {dead} failed: Connection refused\n\tIs the server running on that host and accepting TCP/IP connections?"
        )
    );
    let text = error(connect(
        &format!("host=localhost port={dead} user=x"),
        &Env::empty(),
    ));
    assert!(
        text.contains("connection to server at \"localhost\" (127.0.0.1), port"),
        "{text}"
    );
    let text = error(connect("host=/nonexistent port=1 user=x", &Env::empty()));
    assert_eq!(
        text,
        "connection to server on socket \"/nonexistent/.s.PGSQL.1\" failed: No such file or directory\n\tIs the server running locally and accepting connections on that socket?"
    );
    // The first host refuses the password: asking the second would hide it.
    let refused = format!(
        "host=127.0.0.1,127.0.0.1 port={0},{0} user=scrammer password=x dbname=postgres sslmode=disable",
        server.port
    );
    assert_eq!(error(connect(&refused, &Env::empty())).lines().count(), 1);
}

#[test]
fn a_silent_host_is_given_up_after_the_timeout_and_the_next_one_tried() {
    let server = main_server();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let started = Instant::now();
    let target = format!(
        "host=127.0.0.1,127.0.0.1 port={port},{} user=postgres dbname=postgres connect_timeout=1",
        server.port
    );
    connect(&target, &Env::empty()).unwrap();
    let took = started.elapsed();
    assert!(
        took >= Duration::from_secs(1) && took < Duration::from_secs(4),
        "{took:?}"
    );
    let target = format!("host=127.0.0.1 port={port} user=postgres connect_timeout=1");
    let text = error(connect(&target, &Env::empty()));
    assert!(text.ends_with("failed: timeout expired"), "{text}");
}

#[test]
fn a_peer_that_is_no_server_is_recognised() {
    for (answer, expected) in [
        (
            &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
            "received invalid response to SSL negotiation: H",
        ),
        (b"", "server closed the connection unexpectedly"),
        (b"E", "server sent an error response during SSL exchange"),
        (b"SR", "received unencrypted data after SSL response"),
        (b"NR\0\0\0\x07", "received invalid authentication request"),
        (
            b"NHTTP",
            "expected authentication request from server, but received H",
        ),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let peer = std::thread::spawn(move || {
            use std::io::{Read, Write};
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 8];
            stream.read_exact(&mut request).unwrap();
            stream.write_all(answer).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let text = error(connect(
            &format!("host=127.0.0.1 port={port} user=x"),
            &Env::empty(),
        ));
        assert!(text.contains(expected), "{text}");
        peer.join().unwrap();
    }
}

fn read_only() -> Setup<'static> {
    Setup {
        settings: &[("default_transaction_read_only", "on")],
        ..Setup::default()
    }
}

#[test]
fn target_session_attrs_choose_among_hosts() {
    let writable = main_server();
    let read_only = shared(&READ_ONLY, read_only());
    let standby = shared(
        &STANDBY,
        Setup {
            standby: true,
            ..Setup::default()
        },
    );
    let ports = [read_only.port, standby.port, writable.port];
    let pick = |attrs: &str, order: [u16; 3]| {
        let list: Vec<String> = order.iter().map(u16::to_string).collect();
        let target = format!(
            "host=127.0.0.1,127.0.0.1,127.0.0.1 port={} user=postgres dbname=postgres target_session_attrs={attrs}",
            list.join(",")
        );
        connect(&target, &Env::empty()).map(|s| match s.candidate().addr {
            pgdyno_wire::Addr::Tcp(addr) => addr.port(),
            _ => 0,
        })
    };
    let backwards = [writable.port, standby.port, read_only.port];
    assert_eq!(pick("any", ports), Ok(read_only.port));
    assert_eq!(pick("read-write", ports), Ok(writable.port));
    assert_eq!(pick("read-only", ports), Ok(read_only.port));
    assert_eq!(pick("read-only", backwards), Ok(standby.port));
    assert_eq!(pick("primary", ports), Ok(read_only.port));
    assert_eq!(pick("standby", ports), Ok(standby.port));
    assert_eq!(pick("prefer-standby", backwards), Ok(standby.port));
    assert_eq!(
        pick(
            "prefer-standby",
            [dead_port(), writable.port, read_only.port]
        ),
        Ok(writable.port)
    );
    for (attrs, port, expected) in [
        ("read-write", read_only.port, "session is read-only"),
        ("read-write", standby.port, "session is read-only"),
        ("read-only", writable.port, "session is not read-only"),
        ("primary", standby.port, "server is in hot standby mode"),
        (
            "standby",
            writable.port,
            "server is not in hot standby mode",
        ),
    ] {
        let target = format!(
            "host=127.0.0.1 port={port} user=postgres dbname=postgres target_session_attrs={attrs}"
        );
        let text = error(connect(&target, &Env::empty()));
        assert_eq!(
            text,
            format!("connection to server at \"127.0.0.1\", port {port} failed: {expected}")
        );
    }
}

#[test]
fn a_full_server_says_so() {
    let server = Server::start(Setup {
        settings: &[
            ("max_connections", "4"),
            ("superuser_reserved_connections", "0"),
        ],
        ..Setup::default()
    });
    let mut held = Vec::new();
    let text = loop {
        match server.try_connect("user=postgres") {
            Ok(session) => held.push(session),
            Err(text) => break text,
        }
        assert!(held.len() < 10);
    };
    assert!(
        text.contains("FATAL:  sorry, too many clients already"),
        "{text}"
    );
}

/// A peer that speaks TLS at once, offers `alpn`, accepts all, and hangs up.
fn direct_tls_peer(
    certs: &pgdyno_testkit::Certs,
    alpn: &[&[u8]],
) -> (u16, std::thread::JoinHandle<()>) {
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
    use std::io::{Read, Write};
    let chain = vec![CertificateDer::from_pem_file(&certs.server_cert).unwrap()];
    let key = PrivateKeyDer::from_pem_file(&certs.server_key).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let peer = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut tls = rustls::ServerConnection::new(Arc::new(config)).unwrap();
        let mut tls = rustls::Stream::new(&mut tls, &mut stream);
        let mut startup = [0; 8];
        if tls.read_exact(&mut startup).is_ok() {
            assert_eq!(startup[4..], [0, 3, 0, 0], "not a start-up message");
            tls.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").unwrap();
            let _ = tls.read_to_end(&mut Vec::new());
        }
    });
    (port, peer)
}

#[test]
fn tls_without_asking_first_needs_the_peers_word_that_it_speaks_postgresql() {
    let dir = tempfile::tempdir().unwrap();
    let certs = pgdyno_testkit::Certs::make(dir.path());
    for (alpn, works) in [
        (&[&b"postgresql"[..]][..], true),
        (&[], false),
        (&[b"http/1.1"], false),
    ] {
        let (port, peer) = direct_tls_peer(&certs, alpn);
        let target = format!(
            "host=localhost hostaddr=127.0.0.1 port={port} user=x sslmode=verify-full sslnegotiation=direct sslrootcert={}",
            certs.ca_cert.display()
        );
        match connect(&target, &Env::empty()) {
            Ok(session) => assert!(works && session.tls_description().is_some()),
            Err(text) => assert!(
                !works && (text.contains("ALPN") || text.contains("NoApplicationProtocol")),
                "{text}"
            ),
        }
        peer.join().unwrap();
    }
}
