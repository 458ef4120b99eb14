//! Errors of statements: a table that is away, a server that only reads, transactions that take too long,
//! commits that wait for a standby.

use std::thread::sleep;
use std::time::Duration;

use pgdyno_platform::child::Signal;

use super::{ERRORS, Fault, LOST, NO_FAULT, ended, lost, survived, unharmed};
use crate::child::wait_until;
use crate::faults::scene::Scene;

const AWHILE: Duration = Duration::from_millis(700);

const GOES_ON: &[&str] = &["--continue-on-error"];

fn away(scene: &Scene) {
    scene.server.sql("ALTER TABLE done RENAME TO away");
    sleep(AWHILE);
    scene.server.sql("ALTER TABLE away RENAME TO done");
}

fn reads_only(scene: &Scene) {
    scene.server.set("SET default_transaction_read_only = on");
    sleep(AWHILE);
    // The administrator's own session would only read, too.
    let run = |statement: &str| {
        let mut session = scene.server.admin("postgres");
        session
            .simple_query("SET default_transaction_read_only = off")
            .unwrap();
        session.simple_query(statement).unwrap();
    };
    run("ALTER SYSTEM RESET default_transaction_read_only");
    scene.server.reload();
}

pub const FAULTS: &[Fault] = &[
    Fault {
        name: "table locked",
        how: "`LOCK TABLE` for 0.7 s",
        strike: |scene| {
            let mut session = scene.server.admin("faults");
            session.simple_query("BEGIN; LOCK TABLE done").unwrap();
            sleep(AWHILE);
            session.simple_query("COMMIT").unwrap();
        },
        shows: unharmed,
        ..NO_FAULT
    },
    Fault {
        name: "table away",
        how: "the table has another name for 0.7 s",
        strike: away,
        codes: ERRORS,
        words: &["relation \"done\" does not exist"],
        shows: ended,
        ..NO_FAULT
    },
    Fault {
        name: "table away, --continue-on-error",
        how: "the same, clients go on after errors",
        args: GOES_ON,
        strike: away,
        shows: survived,
        ..NO_FAULT
    },
    Fault {
        name: "read-only",
        how: "`default_transaction_read_only` for 0.7 s",
        strike: reads_only,
        codes: ERRORS,
        words: &["cannot execute INSERT in a read-only transaction"],
        shows: ended,
        ..NO_FAULT
    },
    Fault {
        name: "read-only, --continue-on-error",
        how: "the same, clients go on after errors",
        args: GOES_ON,
        strike: reads_only,
        shows: survived,
        ..NO_FAULT
    },
    Fault {
        name: "demoted and promoted",
        how: "restarted as a standby, promoted after 0.7 s; clients go on after errors",
        args: GOES_ON,
        strike: |scene| {
            let server = &scene.server;
            server.stop(Signal::Interrupt);
            std::fs::write(server.data_dir().join("standby.signal"), "").unwrap();
            server.run();
            sleep(AWHILE);
            server.sql("SELECT pg_promote()");
        },
        codes: LOST,
        shows: lost,
        ..NO_FAULT
    },
    Fault {
        name: "idle in transaction",
        how: "`idle_in_transaction_session_timeout = 1ms` for 0.7 s",
        strike: |scene| {
            scene
                .server
                .set("SET idle_in_transaction_session_timeout = '1ms'");
            sleep(AWHILE);
            scene
                .server
                .set("RESET idle_in_transaction_session_timeout");
        },
        codes: LOST,
        // They are ended between statements of a block: certainly nothing was committed.
        shows: |counted, call| lost(counted, call) && counted.failed > 0,
        ..NO_FAULT
    },
    Fault {
        name: "standby missing",
        how: "commits wait for a synchronous standby that is not there, sessions terminated",
        strike: |scene| {
            let mut session = scene.server.admin("faults");
            scene.server.set("SET synchronous_standby_names = 'absent'");
            let query = "SELECT count(*) FROM pg_stat_activity
                WHERE usename = 'bench' AND wait_event = 'SyncRep'";
            wait_until("commits that wait", || {
                let outcome = session.query(query).unwrap();
                outcome.rows[0][0]
                    .as_deref()
                    .unwrap()
                    .parse::<u32>()
                    .unwrap()
                    >= 90
            });
            let query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE usename = 'bench' AND wait_event = 'SyncRep'";
            session.query(query).unwrap();
            scene.server.set("RESET synchronous_standby_names");
        },
        codes: LOST,
        // They are committed; only the answer is missing.
        shows: |counted, call| {
            lost(counted, call) && counted.unknown >= 90 && counted.rows >= counted.committed + 90
        },
        ..NO_FAULT
    },
];
