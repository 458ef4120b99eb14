//! How the clients work: their pauses, their rate, their connections.

use std::time::Duration;

use pgdyno_link::{Delay, Direction, Link};

use super::{Limit, READ};
use crate::verdict::stage::{Made, Stage};

pub const LIMITS: &[Limit] = &[
    Limit {
        name: "think time",
        made: "\\sleep of 20 ms after one row by its key, 4 clients",
        right: &["think-time"],
        partly: &[],
        make: |stage| {
            let script = format!("{READ}\\sleep 20 ms\n");
            Ok(stage.trial(&script, &["-c", "4"]).run())
        },
    },
    Limit {
        name: "rate below capacity",
        made: "200 transactions/s, one row by its key, 4 clients",
        right: &["rate-met"],
        partly: &[],
        make: |stage| Ok(stage.trial(READ, &["-c", "4", "-R", "200"]).run()),
    },
    Limit {
        name: "rate below capacity, far server",
        made: "a proxy, 5 ms each way; 40 transactions/s, one row by its key, 8 clients",
        right: &["rate-met"],
        partly: &[],
        make: rate_far_server,
    },
    Limit {
        name: "one straggler",
        made: "one of 8 clients waits for 12 s in its first statement, the others read",
        right: &["stragglers"],
        partly: &[],
        make: straggler,
    },
    Limit {
        name: "statements that sleep",
        made: "pg_sleep of 20 ms, 4 clients",
        right: &["other-waits"],
        partly: &[],
        make: |stage| Ok(stage.trial("SELECT pg_sleep(0.02);\n", &["-c", "4"]).run()),
    },
    Limit {
        name: "foreign server",
        made: "a table of this server's own by postgres_fdw, whose query sleeps for 20 ms; 4 clients",
        right: &["other-waits"],
        partly: &[],
        make: foreign_server,
    },
    Limit {
        name: "a connection for each transaction",
        made: "--connect; one row by its key, 4 clients",
        right: &["connections"],
        partly: &["server-cpu"],
        make: |stage| Ok(stage.trial(READ, &["-c", "4", "--connect"]).run()),
    },
    Limit {
        name: "too few connections",
        made: "a role that may have 10 connections; 32 clients with --connect --reconnect",
        right: &["connections"],
        partly: &[],
        make: too_few_connections,
    },
];

fn rate_far_server(stage: &Stage) -> Made {
    let delay = Delay::of(Duration::from_millis(5));
    let link = Link::to(stage.upstream())
        .delay(Direction::ToServer, delay.clone())
        .delay(Direction::ToClient, delay);
    let link = link.start().unwrap();
    let trial = stage.trial(READ, &["-c", "8", "-R", "40"]);
    Ok(trial.through(&link.url("limits")).run())
}

fn straggler(stage: &Stage) -> Made {
    let script = format!("\\if :client_id = 0\nSELECT pg_sleep(12);\n\\else\n{READ}\\endif\n");
    Ok(stage.trial(&script, &["-c", "8"]).run())
}

fn foreign_server(stage: &Stage) -> Made {
    let available = "SELECT 1 FROM pg_available_extensions WHERE name = 'postgres_fdw'";
    if stage.db.rows(available).is_empty() {
        return Err("no postgres_fdw".to_owned());
    }
    let address = stage.server.address();
    stage.db.sql(&format!(
        "CREATE EXTENSION IF NOT EXISTS postgres_fdw;
         DROP SERVER IF EXISTS own CASCADE;
         CREATE SERVER own FOREIGN DATA WRAPPER postgres_fdw
             OPTIONS (host '{}', port '{}', dbname 'limits');
         CREATE USER MAPPING FOR postgres SERVER own OPTIONS (user 'postgres');
         CREATE OR REPLACE VIEW slow AS SELECT 1 AS n FROM pg_sleep(0.02);
         CREATE FOREIGN TABLE far (n int) SERVER own OPTIONS (table_name 'slow')",
        address.socket_dir.display(),
        address.port
    ));
    Ok(stage.trial("SELECT n FROM far;\n", &["-c", "4"]).run())
}

fn too_few_connections(stage: &Stage) -> Made {
    let url = stage.db.url.replace("postgres@", "few@");
    let trial = stage.trial(READ, &["-c", "32", "--connect", "--reconnect"]);
    Ok(trial.through(&url).run())
}
