//! Locks: on rows, tables and whatever else transactions hold.

use std::thread;
use std::time::Duration;

use pgdyno_link::{Delay, Direction, Link};

use super::Limit;
use crate::verdict::stage::{Made, Stage};
use crate::verdict::storage::Call;

const UPDATE_HOT: &str = "BEGIN;\nUPDATE hot SET n = n + 1 WHERE id = 1;\n";

pub const LIMITS: &[Limit] = &[
    Limit {
        name: "hot row",
        made: "a sync of the log takes 3 ms; all update one row, 16 clients",
        right: &["contention"],
        partly: &[],
        make: hot_row,
    },
    Limit {
        name: "lock held while thinking",
        made: "\\sleep of 5 ms between the update of one row and its commit, 8 clients",
        right: &["contention"],
        partly: &[],
        make: |stage| {
            let script = format!("{UPDATE_HOT}\\sleep 5 ms\nEND;\n");
            Ok(stage.trial(&script, &["-c", "8"]).run())
        },
    },
    Limit {
        name: "row lock beside a stranger",
        made: "as before, beside another session in pg_sleep",
        right: &["contention"],
        partly: &[],
        make: |stage| lock_beside_strangers(stage, 1),
    },
    Limit {
        name: "row lock beside ten strangers",
        made: "the same, beside ten",
        right: &["contention"],
        partly: &[],
        make: |stage| lock_beside_strangers(stage, 10),
    },
    Limit {
        name: "lock held over a far way",
        made: "a proxy, 3 ms each way; all update one row in a transaction, 8 clients",
        right: &["contention"],
        partly: &["network"],
        make: lock_over_far_way,
    },
    Limit {
        name: "table locked by another",
        made: "another session has the table for itself for 0.9 of 1 s; one row by its key, 4 clients",
        right: &["contention"],
        partly: &[],
        make: table_locked,
    },
    Limit {
        name: "advisory lock",
        made: "one advisory lock around 2 ms of work, 8 clients",
        right: &["contention"],
        partly: &[],
        make: |stage| {
            let script =
                "BEGIN;\nSELECT pg_advisory_xact_lock(1);\nSELECT pg_sleep(0.002);\nEND;\n";
            Ok(stage.trial(script, &["-c", "8"]).run())
        },
    },
    Limit {
        name: "deadlocks",
        made: "two rows of four in any order, deadlock_timeout 100 ms, 8 clients with tries",
        right: &["contention"],
        partly: &[],
        make: deadlocks,
    },
    Limit {
        name: "serializable",
        made: "all read four rows and update one, serializable, 8 clients with tries",
        right: &["contention"],
        // Of tries that are thrown away the time is the CPU's too.
        partly: &["server-cpu"],
        make: serializable,
    },
    Limit {
        name: "notifications",
        made: "NOTIFY in each transaction, and a sync of the log takes 4 ms: commits one by one, 8 clients",
        right: &["contention", "durable-commit"],
        partly: &[],
        make: notifications,
    },
];

fn hot_row(stage: &Stage) -> Made {
    let _slow = stage.storage()?.slow(&[(Call::WalSync, 3_000)]);
    let script = format!("{UPDATE_HOT}END;\n");
    Ok(stage.trial(&script, &["-c", "16"]).run())
}

fn lock_beside_strangers(stage: &Stage, strangers: usize) -> Made {
    let script = format!("{UPDATE_HOT}\\sleep 5 ms\nEND;\n");
    let sessions: Vec<_> = (0..strangers).map(|_| stage.session()).collect();
    let cancels: Vec<_> = sessions
        .iter()
        .map(|session| session.cancel_handle())
        .collect();
    let sleeping = sessions.into_iter().map(|mut session| {
        thread::spawn(move || session.simple_query("SELECT pg_sleep(600)").is_err())
    });
    let sleeping: Vec<_> = sleeping.collect();
    let json = stage.trial(&script, &["-c", "8"]).run();
    cancels.iter().for_each(|cancel| cancel.cancel().unwrap());
    assert!(sleeping.into_iter().all(|thread| thread.join().unwrap()));
    Ok(json)
}

fn lock_over_far_way(stage: &Stage) -> Made {
    let delay = Delay::of(Duration::from_millis(3));
    let link = Link::to(stage.upstream())
        .delay(Direction::ToServer, delay.clone())
        .delay(Direction::ToClient, delay);
    let link = link.start().unwrap();
    let script = format!("{UPDATE_HOT}END;\n");
    Ok(stage
        .trial(&script, &["-c", "8"])
        .through(&link.url("limits"))
        .run())
}

fn table_locked(stage: &Stage) -> Made {
    let trial = stage.trial(super::READ, &["-c", "4"]).seconds("8");
    Ok(stage.meanwhile(
        |session| {
            let lock =
                "BEGIN; LOCK TABLE point IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(0.9); END";
            session.simple_query(lock).unwrap();
            thread::sleep(Duration::from_millis(100));
        },
        &trial,
    ))
}

fn deadlocks(stage: &Stage) -> Made {
    stage
        .db
        .sql("ALTER DATABASE limits SET deadlock_timeout = '100ms'");
    let script = "\\set a random(1, 4)\n\\set b random(1, 4)\n\
                  BEGIN;\n\
                  UPDATE hot SET n = n + 1 WHERE id = :a;\n\
                  \\sleep 1 ms\n\
                  UPDATE hot SET n = n + 1 WHERE id = :b;\n\
                  END;\n";
    let json = stage
        .trial(script, &["-c", "8", "--max-tries", "100"])
        .run();
    stage.db.sql("ALTER DATABASE limits RESET ALL");
    Ok(json)
}

fn serializable(stage: &Stage) -> Made {
    let script = "BEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT sum(n) FROM hot;\n\
                  \\set id random(1, 4)\n\
                  UPDATE hot SET n = n + 1 WHERE id = :id;\nEND;\n";
    Ok(stage
        .trial(script, &["-c", "8", "--max-tries", "100"])
        .run())
}

fn notifications(stage: &Stage) -> Made {
    let _slow = stage.storage()?.slow(&[(Call::WalSync, 4_000)]);
    let script = "BEGIN;\nINSERT INTO journal VALUES (1);\nNOTIFY topic;\nEND;\n";
    Ok(stage.trial(script, &["-c", "8"]).run())
}
