//! Histories in short: `a x1 r y[1] | a y1 ; r x[1]`. `a` appends, `r` reads a list, `w x1` writes and `g x1` reads
//! a register (`g x` finds nothing), `i p1` inserts a row that matches `p`, `p p[1 2]` reads those rows.
//! Transactions between `|` begin before any of them ends; those after `;` begin later. `FAIL` and `INFO` begin a
//! transaction that did not or may not have committed, `@3` one of client 3; others have a client each.

use pgdyno_isolation::{Builder, Depth, History, Level, LevelVerdict, Report, Status, check};

pub fn history(text: &str) -> History {
    let mut builder = Builder::new();
    add(&mut builder, text, 0, 0);
    builder.finish().unwrap()
}

/// Adds the transactions of `text`, from a time and a client on.
pub fn add(builder: &mut Builder, text: &str, mut now_ns: i64, first_client: u32) {
    let mut next_client = first_client + 100;
    for phase in text.split(';') {
        for (at, transaction) in (0..).zip(phase.split('|')) {
            let mut words: Vec<&str> = transaction.split_whitespace().collect();
            let mut status = Status::Committed;
            let mut client = next_client;
            next_client += 1;
            while let Some(&word) = words.first() {
                match word {
                    "FAIL" => status = Status::Aborted,
                    "INFO" => status = Status::Unknown,
                    _ if word.starts_with('@') => {
                        client = first_client + word[1..].parse::<u32>().unwrap();
                    }
                    _ => break,
                }
                words.remove(0);
            }
            builder.begin(client, status, now_ns + at, now_ns + 1_000_000 + at);
            operations(builder, &words.join(" "));
        }
        now_ns += 10_000_000;
    }
}

fn operations(builder: &mut Builder, text: &str) {
    let mut rest = text;
    while !rest.is_empty() {
        let (verb, after) = rest.split_once(' ').unwrap();
        let (key, after) = after.split_at(1);
        let key = builder.key(key);
        let end = if after.starts_with('[') {
            after.find(']').unwrap() + 1
        } else {
            after.find(' ').unwrap_or(after.len())
        };
        let numbers: Vec<i64> = after[..end]
            .trim_matches(['[', ']'])
            .split_whitespace()
            .map(|number| number.parse().unwrap())
            .collect();
        match (verb, &numbers[..]) {
            ("a", &[value]) => builder.append(key, value),
            ("r", elements) => builder.read_list(key, elements),
            ("w", &[value]) => builder.write(key, value),
            ("g", &[value]) => builder.read(key, value),
            ("g", []) => builder.read_nothing(key),
            ("i", &[row]) => builder.insert(key, row),
            ("p", rows) => builder.read_rows(key, rows),
            _ => panic!("{text}"),
        };
        rest = after[end..].trim_start();
    }
}

pub fn report(text: &str) -> Report {
    checked(&history(text))
}

pub fn checked(history: &History) -> Report {
    check(history, Depth::All, &mut |_| ()).unwrap()
}

pub fn names(report: &Report) -> Vec<&'static str> {
    report
        .found
        .iter()
        .map(|found| found.anomaly.name())
        .collect()
}

pub fn keeps(report: &Report, level: Level) -> bool {
    *report.verdict(level) == LevelVerdict::NoViolation
}

pub fn breaks(report: &Report, level: Level) -> bool {
    matches!(report.verdict(level), LevelVerdict::Broken(_))
}
