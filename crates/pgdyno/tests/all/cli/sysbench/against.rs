//! The same seed gives the statements that sysbench sends, one by one, with their values.

use std::collections::BTreeMap;
use std::process::Command;

use super::{Place, log_of};
use crate::support::ran;

/// Each session's statements on the tables, in their order, as text and values.
type Sessions = BTreeMap<String, Vec<String>>;

/// What the scripts' statements begin with; what is asked before and after a run does not.
const STARTS: [&str; 8] = [
    "SELECT c FROM sbtest",
    "SELECT SUM(k) FROM sbtest",
    "SELECT DISTINCT c FROM sbtest",
    "SELECT id, k, c, pad",
    "SELECT count(k)",
    "UPDATE sbtest",
    "DELETE FROM sbtest",
    "INSERT INTO sbtest",
];

/// Those that a server logged of a database.
fn sessions(log: &str, database: &str) -> Sessions {
    let mut sessions = Sessions::new();
    let log = log.replace("\n\t", "\n");
    for entry in log.split("MARK ") {
        let Some((head, rest)) = entry.split_once(':') else {
            continue;
        };
        let Some((name, process)) = head.split_once(' ') else {
            continue;
        };
        if name != database {
            continue;
        }
        let sent = sessions.entry(process.to_owned()).or_default();
        let after = |marker: &str| rest.split_once(marker).map(|(_, text)| text);
        let values = after("DETAIL:  parameters: ").or(after("DETAIL:  Parameters: "));
        if let Some(values) = values {
            if let Some(last) = sent.last_mut() {
                *last += &format!(" / {}", values.trim());
            }
            continue;
        }
        let executed = after("LOG:  execute ").and_then(|text| text.split_once(": "));
        let Some(text) = executed
            .map(|(_, text)| text)
            .or(after("LOG:  statement: "))
        else {
            continue;
        };
        sent.push(text.trim().trim_end_matches(';').trim().to_owned());
    }
    for sent in sessions.values_mut() {
        sent.retain(|text| STARTS.iter().any(|start| text.starts_with(start)));
    }
    sessions.retain(|_, sent| !sent.is_empty());
    sessions
}

/// Runs a line by both; what each session sent.
fn both(ours: &Place, theirs: &Place, line: &str) -> [Vec<Vec<String>>; 2] {
    let before = log_of(ours).len();
    ours.sysbench(line).expect(0, &[]);
    let mut stock = Command::new("sysbench");
    stock.args(&theirs.options).args(line.split_whitespace());
    ran(&mut stock).expect(0, &[]);
    let log = log_of(ours);
    ["seed_ours", "seed_theirs"].map(|name| sessions(&log[before..], name).into_values().collect())
}

/// How many statements of each of sysbench's sessions one of pgdyno's sent, too.
fn same(line: &str, [ours, theirs]: [Vec<Vec<String>>; 2]) -> usize {
    assert_eq!(ours.len(), theirs.len(), "{line}: {ours:#?}");
    let mut count = 0;
    for sent in theirs {
        let own = ours.iter().find(|own| own[0] == sent[0]);
        let own = own.unwrap_or_else(|| panic!("{line}: not sent: {}: {ours:#?}", sent[0]));
        for (own, sent) in own.iter().zip(&sent) {
            assert_eq!(own, sent, "{line}: statement {count}");
            count += 1;
        }
    }
    count
}

#[test]
#[ignore = "compares with sysbench itself: make test-long PART=sysbench"]
fn one_by_one() {
    if Command::new("sysbench").arg("--version").output().is_err() {
        println!("skipped: sysbench is not installed (Debian: apt install sysbench)");
        return;
    }
    let server = pgdyno_testkit::postgres_with(&[
        "logging_collector=on",
        "log_rotation_size=0",
        "log_line_prefix=MARK %d %p:",
        "log_min_messages=error",
    ]);
    let ours = Place::on(&server, "seed_ours");
    let theirs = Place::on(&server, "seed_theirs");
    for place in [&ours, &theirs] {
        place
            .sysbench("oltp_read_write --tables=3 --table-size=9000 prepare")
            .expect(0, &[]);
    }
    for name in ["seed_ours", "seed_theirs"] {
        let log = format!("ALTER DATABASE {name} SET log_statement = 'all'");
        ours.database.sql(&log);
    }
    let scripts = [
        "oltp_read_write --tables=3",
        "oltp_read_only --tables=3",
        "oltp_write_only --tables=3",
        "oltp_point_select --tables=3",
        "oltp_update_index --tables=3",
        "oltp_update_non_index --tables=3",
        "oltp_delete --tables=3",
        "oltp_insert --tables=3",
        "select_random_points",
        "select_random_ranges",
    ];
    let mut count = 0;
    for (script, seed) in scripts.iter().zip(1..) {
        for rand in ["special", "uniform", "gaussian", "pareto"] {
            let line = format!(
                "{script} --table-size=9000 --rand-type={rand} --rand-seed={seed} --events=320 --time=0 run"
            );
            count += same(&line, both(&ours, &theirs, &line));
        }
    }
    println!("one thread, ten scripts, four distributions: {count} statements are the same");
    for (script, more) in [
        // Writers of the same rows meet each other, and what comes then is not a matter of numbers.
        ("oltp_read_only", "--threads=4"),
        ("oltp_read_write", "--percentile=0"),
        ("oltp_read_write", "--report-interval=1"),
        ("oltp_read_write", "--rate=1000"),
        ("oltp_read_write", "--db-ps-mode=disable"),
        ("oltp_read_write", "--skip-trx --range-selects=off"),
        (
            "oltp_read_write",
            "--rand-spec-iter=5 --rand-spec-pct=20 --rand-spec-res=40",
        ),
    ] {
        let line = format!(
            "{script} --tables=3 --table-size=9000 --rand-seed=77 --events=400 --time=0 {more} run"
        );
        let count = same(&line, both(&ours, &theirs, &line));
        println!("{script} {more}: {count} statements are the same");
    }
}
