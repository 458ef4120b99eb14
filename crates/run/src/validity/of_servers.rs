//! Notes on real servers: what a server says about itself reaches the reader.

use std::borrow::Cow;
use std::os::unix::fs::PermissionsExt;

use pgdyno_database::{facts::collect, open};
use pgdyno_model::document::Facts;
use pgdyno_server::{Options, Server};
use pgdyno_session::Session;
use pgdyno_spec::TargetSpec;

use super::{Situation, notes};

fn session(url: &str) -> Session {
    let target = open::existing(&TargetSpec::at(url)).unwrap().unwrap();
    target.connect().unwrap()
}

fn codes(facts: &Facts) -> Vec<Cow<'static, str>> {
    let situation = Situation {
        facts: Some(facts),
        writes: true,
        ..Situation::default()
    };
    let notes = notes(&situation);
    let mut codes: Vec<_> = notes.into_iter().map(|n| n.code).collect();
    codes.sort_unstable();
    codes
}

#[test]
fn a_server_on_this_host_is_noted() {
    let facts = collect(&mut session(&pgdyno_testkit::postgres().address().url()));
    assert!(
        codes(&facts).contains(&"same-host".into()),
        "{:?}",
        codes(&facts)
    );
}

#[test]
fn settings_that_mislead_become_notes() {
    let server = pgdyno_testkit::postgres_with(&[
        "fsync=off",
        "synchronous_commit=off",
        "full_page_writes=off",
        "default_transaction_read_only=on",
    ]);
    let facts = collect(&mut session(&server.address().url()));
    // Servers of tests keep their data in memory where there is room.
    let mut codes = codes(&facts);
    codes.retain(|code| *code != "data-in-memory");
    assert_eq!(
        codes,
        [
            "fsync-off",
            "full-page-writes-off",
            "read-only",
            "same-host",
            "synchronous-commit-off"
        ]
    );
}

#[test]
fn a_data_directory_in_memory_becomes_a_note() {
    // A folder of our own: other users may test on this machine too.
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    std::fs::set_permissions(memory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let options = Options {
        bindir: Some(pgdyno_testkit::installation().bindir.clone()),
        cache: Some(pgdyno_testkit::cache()),
        data_parent: Some(memory.path().to_owned()),
        ..Options::default()
    };
    let server = Server::start(&options, &mut |_| {}).unwrap();
    let facts = collect(&mut session(&server.address().url()));
    assert_eq!(codes(&facts), ["data-in-memory", "same-host"]);
}
