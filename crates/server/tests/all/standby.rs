//! Standbys of a real server: made while it works, promoted when it is killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use pgdyno_server::{Options, Server, Standby};
use pgdyno_session::{Env, Given, Session, resolve};
use pgdyno_testkit::{MAJORS, installation_of};

use crate::server::{left_in, options, place, processes_of, quiet, within};

fn session(server: &Server) -> Session {
    let given = Given {
        target: Some(server.address().url()),
        ..Given::default()
    };
    let info = resolve(&given, &Env::empty()).expect("a URL");
    let candidates = info.candidates().expect("a socket");
    Session::connect(&candidates.list, Some(Duration::from_secs(10))).expect("it takes connections")
}

pub(crate) fn value_of(server: &Server, sql: &str) -> String {
    let value = session(server).query_one_value(sql);
    value.expect("valid").expect("not NULL")
}

/// Rows that are committed on a primary are on its standby, which becomes a primary when that is killed.
fn takes_over(options: &Options) {
    let primary = Server::start(options, &mut quiet).expect("it starts");
    let mut writer = session(&primary);
    writer
        .simple_query("CREATE TABLE t (n int); INSERT INTO t SELECT generate_series(1, 1000)")
        .expect("a primary takes writes");
    let standby = primary
        .standby(&Standby::named("one"), &mut quiet)
        .expect("a standby");
    assert_eq!(
        value_of(&standby, "SELECT pg_is_in_recovery()::text"),
        "true"
    );
    primary
        .wait_at_commit_for("ANY 1 (one)")
        .expect("it streams");
    writer
        .execute("INSERT INTO t VALUES (1001)")
        .expect("a row");
    let error = session(&standby)
        .execute("INSERT INTO t VALUES (0)")
        .expect_err("read-only");
    assert!(error.to_string().contains("read-only"), "{error}");

    let (pid, data_dir) = (primary.pid(), primary.data_dir());
    primary.kill().expect("it runs");
    assert_eq!(processes_of(&data_dir), [0u32; 0], "all of {pid}");
    standby.promote().expect("a standby");
    // Its commits do not wait.
    session(&standby)
        .execute("INSERT INTO t VALUES (1002)")
        .expect("a primary takes writes");
    assert_eq!(value_of(&standby, "SELECT count(*) FROM t"), "1002");
    // What was killed recovers what it had, and as a standby has what the other has.
    primary.wait_at_commit_for("").expect_err("it does not run");
    primary.restart().expect("it recovers");
    assert_eq!(value_of(&primary, "SELECT count(*) FROM t"), "1001");
    primary.kill().expect("it runs");
    let address = primary.address().clone();
    primary
        .rejoin(&standby, &Standby::named("two"))
        .expect("a standby");
    assert_eq!(primary.address(), &address);
    standby.wait_at_commit_for("two").expect("it streams");
    session(&standby)
        .execute("INSERT INTO t VALUES (1003)")
        .expect("a primary takes writes");
    standby.kill().expect("it runs");
    primary.promote().expect("a standby");
    assert_eq!(value_of(&primary, "SELECT count(*) FROM t"), "1003");
}

#[test]
fn a_standby_has_what_was_committed_and_takes_over_when_its_primary_is_killed() {
    let parent = place();
    takes_over(&options(parent.path()));
    assert_eq!(left_in(parent.path()), [""; 0]);
}

#[test]
#[ignore = "make test-long PART=failover"]
fn a_standby_takes_over_in_every_version() {
    for major in MAJORS {
        let installation = match installation_of(major) {
            Ok(installation) => installation,
            Err(why) => pgdyno_testkit::skip!("a_standby_takes_over_in_every_version", why),
        };
        println!("PostgreSQL {}", installation.version);
        let parent = place();
        takes_over(&Options {
            bindir: Some(installation.bindir),
            ..options(parent.path())
        });
        assert_eq!(left_in(parent.path()), [""; 0]);
    }
}

#[test]
fn what_a_pair_cannot_do_is_said() {
    let parent = place();
    let options = Options {
        start_limit: Duration::from_secs(2),
        ..options(parent.path())
    };
    let primary = Server::start(&options, &mut quiet).expect("it starts");
    let error = primary.promote().expect_err("a primary").to_string();
    assert!(error.contains("it is no standby"), "{error}");
    let error = primary
        .wait_at_commit_for("absent")
        .expect_err("no such standby");
    assert!(error.to_string().contains("not after 2 s"), "{error}");
    primary.kill().expect("it runs");
    let error = primary.kill().expect_err("killed").to_string();
    assert!(error.contains("it had ended before"), "{error}");
    let error = primary.standby(&Standby::named("one"), &mut quiet);
    assert!(error.is_err(), "no primary");
    assert_eq!(left_in(parent.path()).len(), 1, "the primary's alone");
}

/// Set when the test below is run by itself as the process that is killed.
const VICTIMS_PARENT_DIR: &str = "PGDYNO_TEST_VICTIMS_PARENT_DIR";

#[test]
fn a_killed_pgdyno_takes_its_standby_along() {
    let this_test = "a_killed_pgdyno_takes_its_standby_along";
    if let Some(parent) = std::env::var_os(VICTIMS_PARENT_DIR) {
        let options = options(Path::new(&parent));
        let primary = Server::start(&options, &mut quiet).expect("it starts");
        let standby = primary.standby(&Standby::named("one"), &mut quiet);
        let standby = standby.expect("a standby");
        println!("data {}", standby.data_dir().display());
        return std::thread::sleep(Duration::from_secs(120));
    }
    let parent = place();
    let mut victim = Command::new(std::env::current_exe().expect("known"))
        .args(["--exact", &format!("standby::{this_test}"), "--nocapture"])
        .env(VICTIMS_PARENT_DIR, parent.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the victim starts");
    let lines = BufReader::new(victim.stdout.take().expect("piped")).lines();
    let data_dir = lines
        .map_while(std::result::Result::ok)
        .find_map(|line| Some(line.split_once("data ")?.1.to_string()))
        .expect("the victim tells where its standby is");
    let data_dir = Path::new(&data_dir);
    assert!(processes_of(data_dir).len() > 3, "a standby at work");
    victim.kill().expect("ours"); // SIGKILL
    victim.wait().expect("ours");
    let all_gone = within(Duration::from_secs(10), || {
        processes_of(data_dir).is_empty()
    });
    assert!(all_gone, "left: {:?}", processes_of(data_dir));
}
