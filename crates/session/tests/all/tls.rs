//! Which certificates are believed, which are revoked, and who must be at the other end of a Unix
//! socket: on a real server, and each outcome beside psql's where there is one.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, IsCa, Issuer,
    KeyIdMethod, KeyPair, RevokedCertParams, SanType, SerialNumber,
};

use crate::common::{Server, Setup, connect, give_to_server, reload};
use pgdyno_session::{Env, Given, resolve};

const DAY: Duration = Duration::from_secs(86_400);

/// A server whose certificate changes, and an authority for it.
struct Stage {
    server: Server,
    dir: tempfile::TempDir,
    issuer: Issuer<'static, KeyPair>,
    psql: bool,
}

fn authority(name: &str) -> (String, Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    let pem = params.self_signed(&key).unwrap().pem();
    (pem, Issuer::new(params, key))
}

/// A certificate's description; the serial number is of its own, so that one can be revoked.
fn certificate(common_name: &str, names: &[&str], serial: u64) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    params.serial_number = Some(SerialNumber::from(serial));
    params
}

fn has_psql() -> bool {
    let version = Command::new("psql").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

impl Stage {
    fn new() -> Stage {
        let server = Server::start(Setup {
            tls: true,
            ..Setup::default()
        });
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let (pem, issuer) = authority("right authority");
        fs::write(dir.path().join("right.crt"), pem).unwrap();
        let (pem, _) = authority("wrong authority");
        fs::write(dir.path().join("wrong.crt"), pem).unwrap();
        fs::write(dir.path().join("weak.crt"), "no certificate\n").unwrap();
        Stage {
            server,
            dir,
            issuer,
            psql: has_psql(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The server shows this from now on: signed by the authority, or by itself.
    fn show(&self, params: &CertificateParams, self_signed: bool) -> String {
        let key = KeyPair::generate().unwrap();
        let pem = if self_signed {
            params.self_signed(&key)
        } else {
            params.signed_by(&key, &self.issuer)
        };
        let pem = pem.unwrap().pem();
        self.show_pem(&pem, &key);
        pem
    }

    /// The server shows these certificates from now on.
    fn show_pem(&self, pem: &str, key: &KeyPair) {
        let certs = self.server.certs.as_ref().unwrap();
        fs::write(&certs.server_cert, pem).unwrap();
        fs::write(&certs.server_key, key.serialize_pem()).unwrap();
        give_to_server(&certs.server_key, 0o600);
        reload(&self.server);
    }

    /// Connects to 127.0.0.1 by these options, here and with psql: both get in, or neither.
    #[track_caller]
    fn try_both(&self, options: &str) -> Result<(), String> {
        let target = format!(
            "hostaddr=127.0.0.1 port={} user=postgres dbname=postgres {}",
            self.server.port,
            options.replace("DIR", &self.dir.path().display().to_string()),
        );
        self.beside_psql(&target)
    }

    #[track_caller]
    fn beside_psql(&self, target: &str) -> Result<(), String> {
        let ours = connect(target, &Env::empty()).map(|_| ());
        if self.psql {
            let psql = Command::new("psql")
                .args(["-XAtc", "SELECT 1", target])
                .env_clear()
                .env("PATH", std::env::var_os("PATH").unwrap_or_default())
                .env("HOME", self.dir.path())
                .output()
                .unwrap();
            assert_eq!(
                ours.is_ok(),
                psql.status.success(),
                "{target}: {ours:?}, psql: {}",
                String::from_utf8_lossy(&psql.stderr)
            );
        }
        ours
    }

    /// A revocation list of the authority in NAME: of these serial numbers, valid until then.
    fn revoke(&self, name: &str, serials: &[u64], until: SystemTime) {
        self.revoke_by(&self.issuer, name, serials, until);
    }

    /// The same of another authority.
    fn revoke_by(
        &self,
        issuer: &Issuer<'static, KeyPair>,
        name: &str,
        serials: &[u64],
        until: SystemTime,
    ) {
        let revoked = |serial: &u64| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
            revocation_time: (until - 20 * DAY).into(),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: (until - 20 * DAY).into(),
            next_update: until.into(),
            crl_number: SerialNumber::from(1u64),
            issuing_distribution_point: None,
            revoked_certs: serials.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let list = list.signed_by(issuer).unwrap().pem().unwrap();
        fs::write(self.path(name), list).unwrap();
    }
}

#[test]
fn certificates_are_believed_as_libpq_believes_them() {
    let stage = Stage::new();
    let full = "sslmode=verify-full sslrootcert=DIR/right.crt";
    let chain = "sslmode=verify-ca sslrootcert=DIR/right.crt";
    // What the server shows, how it is asked, and what is wrong then.
    let mut checks = 0;
    let mut check = |host: &str, how: &str, wrong: Option<&str>| {
        checks += 1;
        let outcome = stage.try_both(&format!("host={host} {how}"));
        match (outcome, wrong) {
            (Ok(()), None) => {}
            (Err(text), Some(wrong)) => assert!(text.contains(wrong), "{host} {how}: {text}"),
            (outcome, _) => panic!("{host} {how}: {outcome:?}"),
        }
    };

    let named = certificate("other", &["db.test", "*.bench.test"], 1);
    stage.show(&named, false);
    check("db.test", full, None);
    check("DB.test", full, None);
    check("one.bench.test", full, None);
    let mismatch = Some("does not match host name \"");
    check("wrong.test", full, mismatch);
    check("other", full, mismatch);
    check("bench.test", full, mismatch);
    check("one.two.bench.test", full, mismatch);
    check("127.0.0.1", full, mismatch);
    check("wrong.test", chain, None);
    let failed = Some("certificate verify failed");
    for mode in ["verify-full", "verify-ca", "require"] {
        let how = format!("sslmode={mode} sslrootcert=DIR/wrong.crt");
        check("db.test", &how, failed);
    }
    for mode in ["verify-full", "verify-ca"] {
        let how = format!("sslmode={mode} sslrootcert=DIR/missing.crt");
        let missing = "missing.crt\" does not exist\nEither provide the file, use the system's \
                       trusted roots with sslrootcert=system, or change sslmode";
        check("db.test", &how, Some(missing));
        let how = format!("sslmode={mode} sslrootcert=DIR/weak.crt");
        let weak = "weak.crt\": it contains no certificate in PEM form";
        check("db.test", &how, Some(weak));
    }
    check(
        "db.test",
        "sslmode=require sslrootcert=DIR/missing.crt",
        None,
    );
    check(
        "db.test",
        "sslmode=verify-ca",
        Some("root certificate file"),
    );

    let mut address = certificate("other", &[], 2);
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    address.subject_alt_names = vec![SanType::IpAddress(loopback)];
    stage.show(&address, false);
    check("127.0.0.1", full, None);
    check("127.0.0.2", full, mismatch);
    check("db.test", full, mismatch);

    stage.show(&certificate("db.test", &[], 3), false);
    check("db.test", full, None);
    check("wrong.test", full, mismatch);

    let mut old = named.clone();
    old.not_before = (SystemTime::now() - 20 * DAY).into();
    old.not_after = (SystemTime::now() - DAY).into();
    stage.show(&old, false);
    check("db.test", full, Some("certificate has expired"));
    check("db.test", chain, failed);
    check("db.test", "sslmode=require", None);

    let mut early = named.clone();
    early.not_before = (SystemTime::now() + DAY).into();
    stage.show(&early, false);
    check("db.test", full, Some("certificate is not yet valid"));

    let own = stage.show(&certificate("db.test", &["db.test"], 4), true);
    check("db.test", full, failed);
    check("db.test", "sslmode=require", None);
    fs::write(stage.path("own.crt"), own).unwrap();
    check(
        "db.test",
        "sslmode=verify-full sslrootcert=DIR/own.crt",
        None,
    );
    check(
        "wrong.test",
        "sslmode=verify-full sslrootcert=DIR/own.crt",
        mismatch,
    );
    assert_eq!(checks, 31);
}

#[test]
fn revoked_certificates_are_refused_as_by_libpq() {
    let stage = Stage::new();
    let named = |serial| certificate("db.test", &["db.test"], serial);
    stage.show(&named(7), false);
    let soon = SystemTime::now() + 10 * DAY;
    stage.revoke("seven.crl", &[7, 9], soon);
    stage.revoke("eight.crl", &[8], soon);
    stage.revoke("old.crl", &[8], SystemTime::now() - DAY);
    fs::write(stage.path("weak.crl"), "no list\n").unwrap();
    let how = "host=db.test sslmode=verify-full sslrootcert=DIR/right.crt";
    let refused = |more: &str, why: &str| {
        let text = stage.try_both(&format!("{how} {more}")).unwrap_err();
        assert!(text.contains(why), "{more}: {text}");
    };
    refused(
        "sslcrl=DIR/seven.crl",
        "certificate verify failed: certificate revoked",
    );
    refused("sslcrl=DIR/old.crl", "CRL has expired");
    stage
        .try_both(&format!("{how} sslcrl=DIR/eight.crl"))
        .unwrap();
    // Whatever is checked of the name.
    let text = stage
        .try_both("host=db.test sslmode=require sslrootcert=DIR/right.crt sslcrl=DIR/seven.crl");
    assert!(text.unwrap_err().contains("certificate revoked"));
    // Nothing is checked without an authority.
    stage
        .try_both("host=db.test sslmode=require sslcrl=DIR/seven.crl")
        .unwrap();

    // libpq does without a list that is not there; so does pgdyno, and says so.
    for name in ["missing.crl", "weak.crl"] {
        let how = format!("{how} sslcrl=DIR/{name}");
        stage.try_both(&how).unwrap();
        let target = how.replace("DIR", &stage.dir.path().display().to_string());
        let target = Given::target(format!("{target} hostaddr=127.0.0.1 user=u"));
        let found = resolve(&target, &Env::empty())
            .unwrap()
            .candidates()
            .unwrap();
        let is_reported = |w: &String| w.contains(name) && w.contains("not refused");
        assert!(found.warnings.iter().any(is_reported), "{found:?}");
    }

    // A folder as `openssl rehash` makes it.
    fs::create_dir(stage.path("empty")).unwrap();
    refused("sslcrldir=DIR/empty", "unable to get certificate CRL");
    fs::create_dir(stage.path("lists")).unwrap();
    let hash = Command::new("openssl")
        .args(["crl", "-noout", "-hash", "-in"])
        .arg(stage.path("seven.crl"))
        .output();
    let hash = match hash {
        Ok(output) if output.status.success() => {
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        }
        _ => "01234567".to_owned(),
    };
    fs::copy(
        stage.path("seven.crl"),
        stage.path("lists").join(format!("{hash}.r0")),
    )
    .unwrap();
    refused("sslcrldir=DIR/lists", "certificate revoked");
    stage.show(&named(10), false);
    stage
        .try_both(&format!("{how} sslcrldir=DIR/lists"))
        .unwrap();

    // The default file of the home directory.
    let home = tempfile::tempdir().unwrap();
    let dot = home.path().join(".postgresql");
    fs::create_dir(&dot).unwrap();
    fs::copy(stage.path("right.crt"), dot.join("root.crt")).unwrap();
    stage.revoke("ten.crl", &[10], soon);
    fs::copy(stage.path("ten.crl"), dot.join("root.crl")).unwrap();
    let target = format!(
        "host=db.test hostaddr=127.0.0.1 port={} user=postgres dbname=postgres sslmode=verify-full",
        stage.server.port
    );
    let text = connect(&target, &Env::empty().with_home(home.path())).unwrap_err();
    assert!(text.contains("certificate revoked"), "{text}");
    let text = connect(
        &format!("{target} sslcrldir={}", home.path().join("none").display()),
        &Env::empty().with_home(home.path()),
    )
    .unwrap_err();
    assert!(
        text.starts_with("could not read revocation list \"") && text.contains("(sslcrldir)"),
        "{text}"
    );
}

#[test]
fn each_authority_of_a_chain_needs_a_list_that_it_signed() {
    let stage = Stage::new();
    let middle_key = KeyPair::generate().unwrap();
    let mut middle = certificate("middle authority", &[], 50);
    middle.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let middle_pem = middle.signed_by(&middle_key, &stage.issuer).unwrap().pem();
    let middle = Issuer::new(middle, middle_key);
    let stranger = Issuer::new(
        certificate("right authority", &[], 1),
        KeyPair::generate().unwrap(),
    );
    let key = KeyPair::generate().unwrap();
    let leaf = certificate("db.test", &["db.test"], 51);
    let leaf = leaf.signed_by(&key, &middle).unwrap().pem() + &middle_pem;
    stage.show_pem(&leaf, &key);

    let soon = SystemTime::now() + 10 * DAY;
    stage.revoke_by(&stage.issuer, "root.crl", &[1], soon);
    stage.revoke_by(&middle, "middle.crl", &[1], soon);
    stage.revoke_by(&stage.issuer, "root-of-middle.crl", &[50], soon);
    stage.revoke_by(&middle, "middle-of-leaf.crl", &[51], soon);
    stage.revoke_by(&stranger, "forged.crl", &[1], soon);
    stage.revoke_by(&middle, "early.crl", &[1], SystemTime::now() + 30 * DAY);
    let outcome = |lists: &[&str]| {
        let all = lists
            .iter()
            .map(|name| fs::read_to_string(stage.path(name)).unwrap());
        fs::write(stage.path("all.crl"), all.collect::<String>()).unwrap();
        stage.try_both(
            "host=db.test sslmode=verify-full sslrootcert=DIR/right.crt sslcrl=DIR/all.crl",
        )
    };
    assert_eq!(outcome(&["root.crl", "middle.crl"]), Ok(()));
    for (lists, why) in [
        (["root.crl", "root.crl"], "unable to get certificate CRL"),
        (
            ["middle.crl", "middle.crl"],
            "unable to get certificate CRL",
        ),
        (["root-of-middle.crl", "middle.crl"], "certificate revoked"),
        (["root.crl", "middle-of-leaf.crl"], "certificate revoked"),
        (["forged.crl", "middle.crl"], "CRL signature failure"),
        (["root.crl", "early.crl"], "CRL is not yet valid"),
    ] {
        let text = outcome(&lists).unwrap_err();
        assert!(text.contains(why), "{lists:?}: {text}");
    }
}

/// The user that a server started by these tests runs as.
fn owner_of(path: &Path) -> String {
    let uid = fs::metadata(path).unwrap().uid();
    let passwd = fs::read_to_string("/etc/passwd").unwrap();
    let line = passwd
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fields[2] == uid.to_string());
    line.unwrap()[0].to_owned()
}

#[test]
fn the_server_behind_a_unix_socket_must_be_the_user_that_is_required() {
    let stage = Stage::new();
    let owner = owner_of(&stage.server.sockets);
    let target = format!(
        "host={} port={} user=postgres dbname=postgres",
        stage.server.sockets.display(),
        stage.server.port
    );
    stage
        .beside_psql(&format!("{target} requirepeer={owner}"))
        .unwrap();
    let wrong = if owner == "daemon" { "bin" } else { "daemon" };
    let text = stage
        .beside_psql(&format!("{target} requirepeer={wrong}"))
        .unwrap_err();
    assert!(
        text.ends_with(&format!(
            "failed: requirepeer specifies \"{wrong}\", but actual peer user name is \"{owner}\""
        )),
        "{text}"
    );
    // It says nothing of TCP.
    stage.try_both(&format!("requirepeer={wrong}")).unwrap();
    let env = Env::empty().with("PGREQUIREPEER", wrong);
    let text = connect(&target, &env).unwrap_err();
    assert!(text.contains("actual peer user name"), "{text}");
}

/// With whom a password is exchanged: `channel_binding` by server's method and encryption.
#[test]
fn channel_binding_decides_as_in_libpq_with_every_method() {
    let server = Server::start(Setup {
        hba: "host all scrammer all scram-sha-256\nhost all md5er all md5\n\
              host all cleartext all password\nhost all trusted all trust\n",
        tls: true,
        ..Setup::default()
    });
    let roles = "SET password_encryption = 'md5'; CREATE ROLE md5er LOGIN PASSWORD 'pass word'; \
                 SET password_encryption = 'scram-sha-256'; \
                 CREATE ROLE scrammer LOGIN PASSWORD 'pass word'; \
                 CREATE ROLE cleartext LOGIN PASSWORD 'pass word'; CREATE ROLE trusted LOGIN";
    server.admin().simple_query(roles).unwrap();
    let stage = Stage {
        server,
        dir: tempfile::tempdir().unwrap(),
        issuer: authority("unused").1,
        psql: has_psql(),
    };
    for user in ["scrammer", "md5er", "cleartext", "trusted"] {
        for mode in ["disable", "require"] {
            for binding in ["disable", "prefer", "require"] {
                let target = format!(
                    "host=127.0.0.1 port={} dbname=postgres user={user} password='pass word' \
                     sslmode={mode} channel_binding={binding}",
                    stage.server.port
                );
                let outcome = stage.beside_psql(&target);
                let may = binding != "require" || (user == "scrammer" && mode == "require");
                assert_eq!(outcome.is_ok(), may, "{target}: {outcome:?}");
                if let Err(text) = outcome {
                    assert!(text.contains("channel binding required"), "{text}");
                }
            }
        }
    }
}
