//! Every certificate that libpq takes, and none that it refuses: a table of servers' and clients'
//! certificates × `sslmode`, as recorded from psql (`certificates/table.txt`), on a real server.
//! `certificates/make` made the files.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Server, Setup, connect, give_to_server, reload};
use pgdyno_session::Env;

const MODES: [&str; 6] = [
    "disable",
    "allow",
    "prefer",
    "require",
    "verify-ca",
    "verify-full",
];
const IS_ENCRYPTED: &str = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/certificates")
}

/// One line of the table.
struct Row<'a> {
    server: &'a str,
    roots: &'a str,
    host: &'a str,
    client: &'a str,
    verdicts: &'a str,
}

impl<'a> Row<'a> {
    fn parse(line: &'a str) -> Row<'a> {
        let (what, verdicts) = line.split_once(" |").unwrap();
        let [server, roots, host, client] = what.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        Row {
            server,
            roots,
            host,
            client,
            verdicts: verdicts.trim(),
        }
    }

    fn target(&self, mode: &str, port: u16, files: &Path) -> String {
        let user = if self.client == "-" {
            "postgres"
        } else {
            "certuser"
        };
        let file = |name: &str| match name {
            "-" => files.join("missing").display().to_string(),
            name => files.join(name).with_extension("pem").display().to_string(),
        };
        format!(
            "host={} hostaddr=127.0.0.1 port={port} user={user} dbname=postgres sslmode={mode} \
             sslrootcert={} sslcert={} sslkey={}",
            self.host,
            file(self.roots),
            file(self.client),
            file(self.client),
        )
    }
}

/// The same as pgdyno connects.
fn ours(target: &str) -> Result<&'static str, String> {
    let mut session = connect(target, &Env::empty())?;
    let value = session.query_one_value(IS_ENCRYPTED).unwrap();
    Ok(if value.as_deref() == Some("t") {
        "tls"
    } else {
        "plain"
    })
}

/// The same as psql connects.
fn psql(target: &str, home: &Path) -> &'static str {
    let output = Command::new("psql")
        .args(["-XAtc", IS_ENCRYPTED, target])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .output()
        .unwrap();
    match output.stdout.first() {
        Some(b't') => "tls",
        Some(b'f') => "plain",
        _ => "no",
    }
}

/// Whether the server shows the certificate that it should: it keeps its old one if it cannot load another.
fn shows(port: u16, certificate: &Path) -> bool {
    let shown = Command::new("openssl")
        .args([
            "s_client",
            "-starttls",
            "postgres",
            "-cipher",
            "DEFAULT@SECLEVEL=0",
        ])
        .args(["-connect", &format!("127.0.0.1:{port}")])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let first = |pem: &str| {
        let start = pem.find("-----BEGIN CERT")?;
        let end = pem.find("-----END CERT")?;
        Some(pem[start..end].to_owned())
    };
    let is = first(&String::from_utf8_lossy(&shown.stdout));
    is.is_some() && is == first(&fs::read_to_string(certificate).unwrap())
}

#[test]
fn each_certificate_has_the_verdict_that_psql_gave_it_in_each_mode() {
    let writes = std::env::var_os("PGDYNO_WRITE_RECORDINGS").is_some_and(|value| !value.is_empty());
    let server = Server::start(Setup {
        tls: true,
        weak_tls: true,
        hba: "hostssl all certuser all cert\n",
        ..Setup::default()
    });
    server.admin().query("CREATE ROLE certuser LOGIN").unwrap();
    let certs = server.certs.as_ref().unwrap();
    let dir = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(folder()).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_some_and(|kind| kind == "pem") {
            let copy = dir.path().join(file.file_name().unwrap());
            fs::copy(&file, &copy).unwrap();
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
    fs::copy(folder().join("root.pem"), &certs.ca_cert).unwrap();

    let table = fs::read_to_string(folder().join("table.txt")).unwrap();
    let (mut recorded, mut wrong, mut rows) = (String::new(), String::new(), 0);
    let mut shown = "";
    for line in table.lines() {
        if line.starts_with('#') {
            writeln!(recorded, "{line}").unwrap();
            continue;
        }
        let row = Row::parse(line);
        rows += 1;
        if row.server != shown {
            let file = dir.path().join(row.server).with_extension("pem");
            for place in [&certs.server_cert, &certs.server_key] {
                fs::copy(&file, place).unwrap();
                give_to_server(place, 0o600);
            }
            reload(&server);
            shown = row.server;
            if writes && !shows(server.port, &file) {
                writeln!(wrong, "{shown} was not loaded").unwrap();
            }
        }
        let mut verdicts = Vec::new();
        let expected: Vec<&str> = row.verdicts.split_ascii_whitespace().collect();
        for (at, mode) in MODES.iter().enumerate() {
            let target = row.target(mode, server.port, dir.path());
            if writes {
                verdicts.push(psql(&target, dir.path()));
                continue;
            }
            let is = ours(&target);
            let word = is.as_ref().copied().unwrap_or("no");
            if expected.get(at) != Some(&word) {
                writeln!(wrong, "{line}: {mode}: {is:?}").unwrap();
            }
        }
        let Row {
            server,
            roots,
            host,
            client,
            ..
        } = row;
        let verdicts = verdicts.join(" ");
        writeln!(recorded, "{server} {roots} {host} {client} | {verdicts}").unwrap();
    }
    assert!(rows > 100);
    if writes {
        fs::write(folder().join("table.txt"), recorded).unwrap();
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn what_is_wrong_with_a_clients_certificate_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let private = |name: &str| {
        let copy = dir.path().join(name);
        fs::copy(folder().join(name).with_extension("pem"), &copy).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).unwrap();
        copy.display().to_string()
    };
    for (certificate, key, why) in [
        ("client-rsa1024", "client-rsa1024", "key is too small"),
        ("client-sha1", "client-sha1", "signature is too weak"),
        ("client-pss", "client-pss-sha384", "key values mismatch"),
        ("client-p256", "client-p521", "key values mismatch"),
    ] {
        let target = format!(
            "host=127.0.0.1 port=1 user=u sslmode=require sslcert={} sslkey={}",
            private(certificate),
            private(key)
        );
        let text = connect(&target, &Env::empty()).map(|_| ()).unwrap_err();
        assert!(text.contains(why), "{certificate}: {text}");
    }
}
