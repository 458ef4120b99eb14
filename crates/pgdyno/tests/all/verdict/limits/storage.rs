//! Storage: the log, tables, temporary files.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use pgdyno_link::{Delay, Direction, Link};
use pgdyno_server::{Setting, Standby};

use super::{INSERT, Limit};
use crate::verdict::stage::{Made, Stage};
use crate::verdict::storage::Call;

const READS: &[&str] = &["buffer-misses", "device-reads"];

pub const LIMITS: &[Limit] = &[
    Limit {
        name: "slow sync",
        made: "a sync of the log takes 5 ms; inserts, one client",
        right: &["durable-commit"],
        partly: &[],
        make: |stage| slow_storage(stage, &[(Call::WalSync, 5_000)], INSERT, &[]),
    },
    Limit {
        name: "slow sync, many clients",
        made: "a sync of the log takes 8 ms; inserts, 16 clients",
        right: &["durable-commit"],
        partly: &["lightweight-locks"],
        make: |stage| slow_storage(stage, &[(Call::WalSync, 8_000)], INSERT, &["-c", "16"]),
    },
    Limit {
        name: "slow sync, rate too high",
        made: "a sync of the log takes 8 ms; inserts at 1,000/s, 2 clients",
        right: &["durable-commit"],
        partly: &[],
        make: |stage| {
            let args = ["-c", "2", "-R", "1000"];
            slow_storage(stage, &[(Call::WalSync, 8_000)], INSERT, &args)
        },
    },
    Limit {
        name: "slow log writes",
        made: "a write of the log takes 3 ms; rows of 100 kB, 4 clients",
        right: &["durable-commit"],
        partly: &["lightweight-locks"],
        make: slow_log_writes,
    },
    Limit {
        name: "far standby",
        made: "synchronous_commit with pg_receivewal behind a proxy, 4 ms each way; inserts, 4 clients",
        right: &["durable-commit"],
        partly: &[],
        make: far_standby,
    },
    Limit {
        name: "standby that applies late",
        made: "synchronous_commit = remote_apply, recovery_min_apply_delay of 20 ms on the standby; inserts, 4 clients",
        right: &["durable-commit"],
        partly: &[],
        make: late_standby,
    },
    Limit {
        name: "missing standby",
        made: "synchronous_standby_names with a standby that is none; inserts, 4 clients",
        right: &["durable-commit"],
        partly: &[],
        make: missing_standby,
    },
    Limit {
        name: "commit delay",
        made: "commit_delay of 5 ms; inserts, 8 clients",
        right: &["durable-commit"],
        partly: &[],
        make: commit_delay,
    },
    Limit {
        name: "misses",
        made: "200 blocks of a table 20 times as large as shared buffers, cached by the kernel; 2 clients",
        right: READS,
        partly: &["server-cpu"],
        make: misses,
    },
    Limit {
        name: "slow random reads",
        made: "a read of a table takes 2 ms; one block of many, 4 clients",
        right: READS,
        partly: &[],
        make: slow_random_reads,
    },
    Limit {
        name: "slow sequential reads",
        made: "a read of a table takes 0.2 ms; scans of 32 MB by asynchronous I/O, 2 clients",
        right: READS,
        partly: &[],
        make: slow_sequential_reads,
    },
    Limit {
        name: "slow writes of tables",
        made: "a write of a table takes 2 ms; updates of random blocks, asynchronous commit, 4 clients",
        right: &["data-writes"],
        partly: &[],
        make: slow_table_writes,
    },
    Limit {
        name: "growing table",
        made: "making a table longer takes 5 ms; rows of 6 kB, asynchronous commit, 8 clients",
        right: &["relation-extension"],
        partly: &[],
        make: growing_table,
    },
    Limit {
        name: "temporary files",
        made: "sorts of 25 MB in 64 kB of work_mem, 2 clients",
        right: &["temporary-files"],
        // Most of a sort's time is its comparisons.
        partly: &["server-cpu"],
        make: temporary_files,
    },
    Limit {
        name: "checkpoints",
        made: "a checkpoint every 2.5 s, whose syncs have the disk for 1.2 s each; inserts, 4 clients",
        right: &["stalls"],
        partly: &["durable-commit"],
        make: checkpoints,
    },
];

fn slow_storage(stage: &Stage, delays: &[(Call, u32)], script: &str, args: &[&str]) -> Made {
    let _slow = stage.storage()?.slow(delays);
    Ok(stage.trial(script, args).run())
}

fn slow_log_writes(stage: &Stage) -> Made {
    let script = "INSERT INTO wide_journal SELECT repeat('x', 5000) FROM generate_series(1, 20);\n";
    slow_storage(stage, &[(Call::WalWrite, 3_000)], script, &["-c", "4"])
}

/// A standby that keeps the log only.
struct Receiver(Child);

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn far_standby(stage: &Stage) -> Made {
    let program = stage.server.installation().bindir.join("pg_receivewal");
    if !program.exists() {
        return Err("no pg_receivewal".to_owned());
    }
    let delay = Delay::of(Duration::from_millis(4));
    let link = Link::to(stage.upstream())
        .delay(Direction::ToServer, delay.clone())
        .delay(Direction::ToClient, delay);
    let link = link.start().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(program);
    command
        .args(["--synchronous", "-d", &link.url("postgres"), "-D"])
        .arg(directory.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let receiver = Receiver(command.spawn().unwrap());
    let streams = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'";
    stage.db.wait_for(streams);
    stage
        .db
        .sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
    stage.db.sql("SELECT pg_reload_conf()");
    stage
        .db
        .wait_for("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'");
    let json = stage.trial(INSERT, &["-c", "4"]).run();
    stage.db.sql("ALTER SYSTEM RESET synchronous_standby_names");
    stage.db.sql("SELECT pg_reload_conf()");
    drop(receiver);
    Ok(json)
}

fn late_standby(stage: &Stage) -> Made {
    let standby = stage.server.standby(&Standby::named("late"), &mut |_| {});
    let standby = standby.map_err(|error| format!("no standby: {error}"))?;
    let late = Setting::new("recovery_min_apply_delay", "20ms").unwrap();
    standby.set(&[late]).unwrap();
    stage.server.wait_at_commit_for("late").unwrap();
    stage
        .db
        .sql("ALTER DATABASE limits SET synchronous_commit = remote_apply");
    let json = stage.trial(INSERT, &["-c", "4"]).run();
    stage.server.wait_at_commit_for("").unwrap();
    stage.db.sql("ALTER DATABASE limits RESET ALL");
    Ok(json)
}

fn missing_standby(stage: &Stage) -> Made {
    let set = |change: &str| {
        stage.db.sql(&format!("ALTER SYSTEM {change}"));
        stage.db.sql("SELECT pg_reload_conf()");
        // The checkpointer tells sessions whether commits wait, before it makes a checkpoint.
        stage.db.sql("CHECKPOINT");
    };
    set("SET synchronous_standby_names = 'missing'");
    let json = stage.trial(INSERT, &["-c", "4"]).run();
    set("RESET synchronous_standby_names");
    Ok(json)
}

fn commit_delay(stage: &Stage) -> Made {
    stage
        .db
        .sql("ALTER DATABASE limits SET commit_delay = 5000");
    let json = stage.trial(INSERT, &["-c", "8"]).run();
    stage.db.sql("ALTER DATABASE limits RESET ALL");
    Ok(json)
}

fn misses(stage: &Stage) -> Made {
    let script = "\\set id random(1, 39000)\n\
                  SELECT max(filler) FROM big WHERE id BETWEEN :id AND :id + 200;\n";
    Ok(stage.trial(script, &["-c", "2"]).run())
}

fn slow_random_reads(stage: &Stage) -> Made {
    let script = "\\set id random(1, 40000)\nSELECT filler FROM big WHERE id = :id;\n";
    slow_storage(stage, &[(Call::DataRead, 2_000)], script, &["-c", "4"])
}

fn slow_sequential_reads(stage: &Stage) -> Made {
    let script = "SELECT max(filler) FROM scanned;\n";
    slow_storage(stage, &[(Call::DataRead, 200)], script, &["-c", "2"])
}

fn slow_table_writes(stage: &Stage) -> Made {
    let script = "\\set id random(1, 40000)\n\
                  SET synchronous_commit = off;\n\
                  UPDATE big SET filler = 'y' WHERE id = :id;\n";
    slow_storage(stage, &[(Call::DataWrite, 2_000)], script, &["-c", "4"])
}

fn growing_table(stage: &Stage) -> Made {
    let script = "SET synchronous_commit = off;\n\
                  INSERT INTO wide_journal SELECT repeat('x', 6000) FROM generate_series(1, 10);\n";
    let json = slow_storage(stage, &[(Call::Extension, 5_000)], script, &["-c", "8"]);
    stage.db.sql("TRUNCATE wide_journal");
    json
}

fn temporary_files(stage: &Stage) -> Made {
    let script = "SET work_mem = '64kB';\n\
                  SELECT count(*) FROM (SELECT i FROM generate_series(1, 60000) i \
                  ORDER BY repeat('x', 400) || i) s;\n";
    Ok(stage.trial(script, &["-c", "2"]).run())
}

fn checkpoints(stage: &Stage) -> Made {
    // What others have left to be written is not part of it.
    stage.db.sql("CHECKPOINT");
    let delays = [(Call::WalSync, 1_000), (Call::DataSync, 1_200_000)];
    let _slow = stage.storage()?.slow(&delays);
    let trial = stage.trial(INSERT, &["-c", "4"]).seconds("12");
    Ok(stage.meanwhile(
        |session| {
            thread::sleep(Duration::from_millis(2500));
            session.simple_query("CHECKPOINT").unwrap();
        },
        &trial,
    ))
}
