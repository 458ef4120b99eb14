//! A real PostgreSQL primary and its standby are a cluster, too: seen by `pgdyno target`, before and
//! after a trial, and on its time line.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use pgdyno_server::Server;
use serde_json::Value;

use crate::support::{self, connect, rows};

/// A standby of the server that streams from it, made without pg_basebackup: the manual's low-level way
/// (Continuous Archiving, "Making a Base Backup Using the Low Level API").
fn standby_of(primary: &Server) -> Server {
    let standby = pgdyno_testkit::postgres_with(&[]);
    // What it has is thrown away: it need not end well.
    let mut kill = Command::new("kill");
    kill.args(["-KILL", &standby.pid().to_string()]);
    assert!(kill.status().unwrap().success());
    while standby.is_running() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let data = standby.data_dir();
    let owner = fs::metadata(&data).unwrap();
    fs::remove_dir_all(&data).unwrap();
    let mut session = connect(&primary.address().url());
    // Renamed in 15.
    let is_new = primary.version().major >= 15;
    let [start, stop] = if is_new {
        ["pg_backup_start('hb', true)", "pg_backup_stop(false)"]
    } else {
        [
            "pg_start_backup('hb', true, false)",
            "pg_stop_backup(false, false)",
        ]
    };
    rows(&mut session, &format!("SELECT {start}"));
    let mut copied = Command::new("cp");
    copied.arg("-a").arg(primary.data_dir()).arg(&data);
    assert!(copied.status().unwrap().success());
    let label = session
        .query(&format!("SELECT labelfile FROM {stop}"))
        .unwrap();
    let label = label.rows[0][0].clone().unwrap();
    for gone in ["postmaster.pid", "postmaster.opts"] {
        let _ = fs::remove_file(data.join(gone));
    }
    for directory in ["pg_wal", "pg_replslot"] {
        empty(&data.join(directory));
    }
    let write = |name: &str, text: &str| {
        let path = data.join(name);
        fs::write(&path, text).unwrap();
        chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
    };
    write("backup_label", &label);
    write("standby.signal", "");
    let port = primary.address().port;
    write(
        "postgresql.auto.conf",
        &format!(
            "primary_conninfo = 'host=127.0.0.1 port={port} user=postgres \
             application_name=second'\n"
        ),
    );
    standby.restart().unwrap();
    standby
}

/// Removes the files of a directory, not its directories.
fn empty(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::remove_file(path).unwrap();
        }
    }
}

fn wait_for(url: &str, query: &str) {
    let database = support::Database {
        url: url.to_owned(),
    };
    database.wait_for(query);
}

fn json(ran: support::Ran) -> Value {
    serde_json::from_str(&ran.expect(0, &[]).stdout).unwrap()
}

#[test]
fn a_primary_and_its_standby_are_seen_before_a_trial_during_it_and_after() {
    let primary = pgdyno_testkit::postgres_with(&["wal_keep_size=64MB"]);
    let standby = standby_of(&primary);
    let [first, second] = [&primary, &standby].map(|of| of.address().loopback_url().unwrap());
    wait_for(
        &first,
        "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'",
    );

    // What there is.
    let args = ["target", &first, &second, "--connections", "1"];
    let reported = support::ran(&mut support::pgdyno(&args));
    reported.expect(
        0,
        &[
            "second: streaming, async, from 127.0.0.1, 0 bytes behind",
            "  a standby, round trip ",
        ],
    );
    let document = json(support::ran(support::pgdyno(&args).arg("--json")));
    let facts = &document["facts"];
    assert_eq!(facts["replication"]["standbys"][0]["name"], "second");
    assert_eq!(facts["replication"]["primary"], Value::Null);
    let endpoints = document["endpoints"].as_array().unwrap();
    let is_standby: Vec<&Value> = endpoints.iter().map(|e| &e["is_standby"]).collect();
    assert_eq!(is_standby, [false, true]);
    for endpoint in endpoints {
        let round_trip = &endpoint["round_trip"];
        let (min, median) = (&round_trip["min_us"], &round_trip["median_us"]);
        assert!(
            min.as_u64() <= median.as_u64() && min.is_u64(),
            "{endpoint:#}"
        );
    }
    let of_standby = json(support::ran(
        support::pgdyno(&["target", &second, "--connections", "1"]).arg("--json"),
    ));
    assert_eq!(
        of_standby["facts"]["replication"]["primary"],
        format!("127.0.0.1:{}", primary.address().port)
    );

    // A trial on both that reads, in the middle of which the standby is gone.
    let script = tempfile::NamedTempFile::new().unwrap();
    fs::write(script.path(), "SELECT pg_sleep(0.02);\n").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let store = support::notebook::at(&directory.path().join("store"));
    let store = store.display().to_string();
    let mut command = support::pgdyno(&[
        "run",
        script.path().to_str().unwrap(),
        "--url",
        &first,
        "--observe",
        "pg.events",
        "-T",
        "8",
        "--store",
        &store,
        "--quiet",
        "--json",
    ]);
    let trial = std::thread::spawn(move || support::ran(&mut command));
    wait_for(
        &first,
        // The second reading, so that the first has ended.
        "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pgdyno_standbys%' \
         AND application_name = 'pgdyno observer' AND query_start > backend_start + interval '1 second'",
    );
    drop(standby);
    let document = json(trial.join().unwrap());
    let cluster = &document["cluster"];
    let nodes = cluster["nodes"].as_array().unwrap();
    let [one, other] = nodes.as_slice() else {
        panic!("{cluster:#}");
    };
    assert_eq!(one["role"], "primary");
    assert!(one["round_trip"]["median_us"].is_u64(), "{one:#}");
    assert_eq!(
        (&other["id"], &other["role"], &other["state"]),
        (
            &"second".into(),
            &"standby".into(),
            &"streaming, async".into()
        )
    );
    assert_eq!(
        (&other["is_live"], &other["is_live_after"]),
        (&true.into(), &false.into())
    );
    let events = document["observed"]["events"].as_array().unwrap();
    let down: Vec<&Value> = events.iter().filter(|e| e["kind"] == "node-down").collect();
    assert_eq!(down.len(), 1, "{events:#?}");
    let text = down[0]["text"].as_str().unwrap();
    assert!(
        text.contains("standby second 127.0.0.1 no longer streams"),
        "{text}"
    );

    // The notebook has all of it.
    let shown = ["show", "1", "--json", "--store", &store];
    let shown = json(support::ran(&mut support::pgdyno(&shown)));
    assert_eq!(shown["cluster"], *cluster);
}
