//! Clusters that are copies of one that initdb made.

use std::fs;

use pgdyno_server::{Cache, Options, Server};
use pgdyno_testkit::installation_of;

use crate::server::{left_in, options, place, quiet};
use crate::standby::value_of;

/// Starts two servers with a cache of their own: the first's cluster is initdb's, the second's a copy.
fn an_original_and_a_copy(options: &Options) {
    let cache = place();
    let options = Options {
        cache: Some(Cache::at(cache.path()).expect("absolute")),
        ..options.clone()
    };
    let [original, copy] =
        [(), ()].map(|()| Server::start(&options, &mut quiet).expect("it starts"));
    let was_made_by_initdb =
        |server: &Server| server.data_dir().with_file_name("initdb.log").exists();
    assert!(was_made_by_initdb(&original) && !was_made_by_initdb(&copy));
    let identifiers = [&original, &copy].map(|server| {
        value_of(
            server,
            "SELECT system_identifier::text FROM pg_control_system()",
        )
    });
    assert_ne!(identifiers[0], identifiers[1], "{}", original.version());
    // It writes, stops, and recovers from a crash by the WAL that has the new identifier.
    value_of(&copy, "SELECT pg_switch_wal()::text");
    copy.restart().expect("it starts again");
    let write =
        "WITH made AS (SELECT set_config('x.y', '1', false)) SELECT count(*)::text FROM made";
    assert_eq!(value_of(&copy, write), "1");
    copy.restart_at_once().expect("it recovers");
    let identifier = "SELECT system_identifier::text FROM pg_control_system()";
    assert_eq!(value_of(&copy, identifier), identifiers[1]);

    let templates = cache.path().join("templates");
    let name = |name: &String| name.starts_with(&original.version().text);
    assert_eq!(left_in(&templates).iter().filter(|it| name(it)).count(), 1);
    // What a pgdyno that was killed while it made one has left is removed by the next start.
    fs::create_dir(templates.join(".new")).expect("ours");
    drop(Server::start(&options, &mut quiet).expect("it starts"));
    assert_eq!(left_in(&templates).len(), 1);
}

#[test]
fn a_copy_is_another_server_and_works_like_the_original() {
    let parent = place();
    an_original_and_a_copy(&options(parent.path()));
}

#[test]
fn a_copy_of_the_oldest_version_that_is_tested_is_another_server_too() {
    let parent = place();
    let bindir = match installation_of(13) {
        Ok(installation) => installation.bindir.clone(),
        Err(reason) => {
            let name = "a_copy_of_the_oldest_version_that_is_tested_is_another_server_too";
            pgdyno_testkit::skip!(name, reason);
        }
    };
    an_original_and_a_copy(&Options {
        bindir: Some(bindir),
        ..options(parent.path())
    });
}
