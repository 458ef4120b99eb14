//! Servers that lie about what they are and how they are set, to the questions of `pgdyno run`.
//! pgbench asks nothing of the kind.

use pgdyno_testkit::hostile::{
    Step, When, complete, described, ready, row, server_message, server_text,
};

use crate::hostile::conduct;
use crate::hostile::scenario::{Scenario, WELL, scenario, sends};

const EVIL: &str = "\x1b]0;owned\x07\x1b[2J \u{9b}31m \u{202e}";

/// Lies when it is asked for its version.
fn version(name: &'static str, messages: &[Vec<u8>], codes: (i32, i32)) -> Scenario {
    scenario(
        name,
        When::Asked("SELECT version()"),
        sends(messages),
        codes,
    )
}

/// Lies when it is asked for its settings.
fn settings(name: &'static str, messages: &[Vec<u8>]) -> Scenario {
    scenario(name, When::Asked("FROM pg_settings"), sends(messages), WELL)
}

fn result(rows: &[Vec<u8>], columns: &[&str]) -> Vec<u8> {
    [
        described(columns),
        rows.concat(),
        complete("SELECT 1"),
        ready(b'I'),
    ]
    .concat()
}

#[test]
fn a_version_that_is_none_does_not_keep_a_run_from_its_work() {
    let says = |name, text: &str| version(name, &[result(&[row(&[text])], &["version"])], WELL);
    let null = server_message(b'D', &[0, 1, 255, 255, 255, 255]);
    conduct::both(vec![
        says("no version", ""),
        says("PostgreSQL of no version", "PostgreSQL "),
        says(
            "PostgreSQL 2^70",
            "PostgreSQL 1180591620717411303424.99999999999",
        ),
        says("PostgreSQL -1", "PostgreSQL -1"),
        says("CockroachDB of no version", "CockroachDB "),
        says(
            "CockroachDB 2^40",
            "CockroachDB CCL v1099511627776.2 (x86_64)",
        ),
        says(
            "CockroachDB 4294967295",
            "CockroachDB CCL v4294967295.4294967295.4294967295",
        ),
        says("YugabyteDB of no version", "PostgreSQL 15.2-YB-"),
        says(
            "YugabyteDB 2^40",
            "PostgreSQL 15.2-YB-1099511627776.99999999999-b0",
        ),
        says("a product that a terminal obeys", EVIL),
        says("a product of 500 kB", &"x".repeat(500_000)),
        version("NULL for a version", &[result(&[null], &["version"])], WELL),
        version("no row with a version", &[result(&[], &["version"])], WELL),
        version(
            "1,000 versions",
            &[result(
                &[row(&["PostgreSQL 18.0"]).repeat(1000)],
                &["version"],
            )],
            WELL,
        ),
        version(
            "a version without columns",
            &[result(&[row(&[])], &[])],
            WELL,
        ),
        version(
            "an error for a version",
            &[server_text(b'E', "ERROR", "42883", EVIL), ready(b'I')],
            WELL,
        ),
        version("no answer for a version", &[ready(b'I')], (3, 0))
            .counts(0)
            .commits(0, 1),
        version(
            "a COPY for a version",
            &[
                server_message(b'H', &[0, 0, 0]),
                server_message(b'd', b"x"),
                server_message(b'c', b""),
                complete("COPY 1"),
                ready(b'I'),
            ],
            (1, 0),
        )
        .counts(0)
        .commits(0, 1),
        scenario(
            "closes when it is asked for its version",
            When::Asked("SELECT version()"),
            vec![Step::Close],
            (3, 0),
        )
        .counts(0)
        .commits(0, 1),
        scenario(
            "is silent about its version",
            When::Asked("SELECT version()"),
            vec![Step::Stall],
            (3, 0),
        )
        .run_options("--silence-timeout 1s")
        .run_says("the server has sent nothing for")
        .counts(0)
        .commits(0, 1),
    ]);
}

#[test]
fn settings_that_are_none_do_not_keep_a_run_from_its_work() {
    let three = ["name", "setting", "unit"];
    let huge = "9".repeat(40);
    let numbers = ["server_version_num", "shared_buffers", "max_connections"];
    let rows = |value: &str, unit: &str| -> Vec<Vec<u8>> {
        numbers
            .iter()
            .map(|name| row(&[name, value, unit]))
            .collect()
    };
    conduct::both(vec![
        settings("no settings", &[result(&[], &three)]),
        settings(
            "settings of one column",
            &[result(&[row(&["fsync"])], &["name"])],
        ),
        settings(
            "settings of 40 digits",
            &[result(&rows(&huge, "8kB"), &three)],
        ),
        settings(
            "settings of 2^63-1 units",
            &[result(
                &rows("9223372036854775807", "9223372036854775807GB"),
                &three,
            )],
        ),
        settings(
            "settings below zero",
            &[result(&rows("-9223372036854775808", "-8kB"), &three)],
        ),
        settings(
            "settings that a terminal obeys",
            &[result(&rows(EVIL, EVIL), &three)],
        ),
        settings(
            "an error for the settings",
            &[server_text(b'E', "ERROR", "42501", EVIL), ready(b'I')],
        ),
    ]);
}
