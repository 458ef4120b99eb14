//! The same small day in every form of log, and counts of what a log cannot say.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use super::*;
use crate::{Event, Obstacle, Protocol, Reader, Statement};

struct Recorded {
    events: Vec<Event>,
    ending: Ending,
}

impl Recorded {
    fn statements(&self) -> Vec<&Statement> {
        let statements = self.events.iter().filter_map(|event| match event {
            Event::Statement(statement) => Some(statement),
            _ => None,
        });
        statements.collect()
    }

    fn unsaid(&self, kind: &str) -> u64 {
        let mut kinds = self
            .ending
            .unsaid
            .iter()
            .filter(|(name, _)| name.contains(kind));
        kinds.next().map_or(0, |(_, count)| *count)
    }
}

fn record_all(files: &[(&str, &[u8])], prefix: Option<&str>) -> Result<Recorded, Error> {
    let dir = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = files
        .iter()
        .map(|(name, _)| dir.path().join(name))
        .collect();
    for (path, (_, content)) in paths.iter().zip(files) {
        fs::write(path, content).unwrap();
    }
    let (bytes, ending) = record(&paths, prefix, "test", Vec::new(), &mut |_| {})?;
    let mut reader = Reader::new(&bytes[..]).unwrap();
    let mut events = Vec::new();
    while let Some(block) = reader.next_block().unwrap() {
        events.extend(block.events);
    }
    assert!(reader.losses().is_none());
    assert_eq!(reader.ending(), Some(&ending));
    Ok(Recorded { events, ending })
}

fn recorded(name: &str, log: &str) -> Recorded {
    record_all(&[(name, log.as_bytes())], None).unwrap()
}

/// Statement, start within the second, duration.
fn brief(recorded: &Recorded) -> Vec<(String, i64, Option<u64>)> {
    let brief = |statement: &&Statement| {
        let sql = String::from_utf8(statement.sql()).unwrap();
        (sql, statement.start_us % 1_000_000, statement.duration_us)
    };
    recorded.statements().iter().map(brief).collect()
}

/// A line of csvlog by time, severity, code, message, detail, context and statement.
fn csv(ms: u32, severity: &str, code: &str, rest: [&str; 4]) -> String {
    let [message, detail, context, statement] = rest.map(|text| {
        if text.is_empty() {
            String::new()
        } else {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
    });
    format!(
        "2026-11-29 12:34:56.{ms:03} UTC,\"me\",\"shop\",77,\"[local]\",6b0c0f70.4d,1,\"SELECT\",2026-11-29 12:34:56 UTC,3/4,0,{severity},{code},{message},{detail},,,,{context},{statement},,,\"psql\",\"client backend\",,0\n"
    )
}

fn day_in_csv() -> String {
    [
        csv(
            1,
            "LOG",
            "00000",
            ["connection received: host=[local]", "", "", ""],
        ),
        csv(
            2,
            "LOG",
            "00000",
            ["connection authorized: user=me database=shop", "", "", ""],
        ),
        csv(
            10,
            "LOG",
            "00000",
            [
                "duration: 2.500 ms  statement: SELECT \"a\"\n  FROM t WHERE b = 'x'",
                "",
                "",
                "",
            ],
        ),
        csv(
            20,
            "LOG",
            "00000",
            ["duration: 0.200 ms  parse s1: SELECT $1", "", "", ""],
        ),
        csv(
            20,
            "LOG",
            "00000",
            [
                "duration: 0.100 ms  bind s1: SELECT $1",
                "Parameters: $1 = 'it''s'",
                "",
                "",
            ],
        ),
        csv(
            21,
            "LOG",
            "00000",
            [
                "duration: 0.700 ms  execute s1: SELECT $1",
                "Parameters: $1 = 'it''s'",
                "",
                "",
            ],
        ),
        csv(
            30,
            "ERROR",
            "42P01",
            ["relation \"u\" does not exist", "", "", "SELECT * FROM u"],
        ),
        csv(
            40,
            "LOG",
            "00000",
            [
                "disconnection: session time: 0:00:00.040 user=me",
                "",
                "",
                "",
            ],
        ),
    ]
    .concat()
}

#[test]
fn a_csvlog_becomes_statements_with_their_starts() {
    let recorded = recorded("a.csv", &day_in_csv());
    assert_eq!(
        brief(&recorded),
        [
            (
                "SELECT \"a\"\n  FROM t WHERE b = 'x'".to_owned(),
                7_500,
                Some(2_500)
            ),
            ("SELECT $1".to_owned(), 19_800, Some(1_000)),
            ("SELECT * FROM u".to_owned(), 30_000, None),
        ]
    );
    let statements = recorded.statements();
    assert_eq!(statements[1].protocol, Protocol::Extended);
    assert_eq!(&*statements[1].name, b"s1");
    assert_eq!(
        statements[1].parameters().collect::<Vec<_>>(),
        [Some(&b"it's"[..])]
    );
    assert_eq!(statements[2].failed, Some(*b"42P01"));
    let session = &statements[0].session;
    assert_eq!(
        (&*session.user, &*session.database, &*session.application),
        ("me", "shop", "psql")
    );
    let Some(Event::Begin(begin)) = recorded.events.first() else {
        panic!("{:?}", recorded.events);
    };
    assert!(begin.is_known && begin.at_us % 1_000_000 == 1_000);
    assert!(
        matches!(recorded.events.last(), Some(Event::End(end)) if end.at_us % 1_000_000 == 40_000)
    );
    assert_eq!(recorded.ending.databases["shop"], 3);
    assert_eq!(recorded.unsaid("durations"), 1);
    assert_eq!(recorded.unsaid("ends of sessions"), 0);
}

#[test]
fn jsonlog_and_stderr_say_the_same() {
    let json = |ms: u32, rest: &str| {
        format!(
            "{{\"timestamp\":\"2026-11-29 12:34:56.{ms:03} UTC\",\"user\":\"me\",\"dbname\":\"shop\",\"session_id\":\"6b0c0f70.4d\",\"session_start\":\"2026-11-29 12:34:56 UTC\",\"application_name\":\"psql\",{rest}}}\n"
        )
    };
    let log = [
        json(10, r#""error_severity":"LOG","message":"duration: 2.500 ms  statement: SELECT \"a\"\n  FROM t WHERE b = 'x'""#),
        json(20, r#""error_severity":"LOG","message":"duration: 0.200 ms  parse s1: SELECT $1""#),
        json(20, r#""error_severity":"LOG","message":"duration: 0.100 ms  bind s1: SELECT $1","detail":"Parameters: $1 = 'it''s'""#),
        json(21, r#""error_severity":"LOG","message":"duration: 0.700 ms  execute s1: SELECT $1","detail":"Parameters: $1 = 'it''s'""#),
        json(30, r#""error_severity":"ERROR","state_code":"42P01","message":"relation \"u\" does not exist","statement":"SELECT * FROM u""#),
        json(40, r#""error_severity":"LOG","message":"disconnection: session time: 0:00:00.040 user=me""#),
    ]
    .concat();
    let from_json = recorded("a.json", &log);
    let line =
        |ms: u32, text: &str| format!("2026-11-29 12:34:56.{ms:03} UTC [77] me@shop {text}\n");
    let log = [
        "2026-11-29 12:34:56.000 UTC [1] LOG:  starting PostgreSQL\n".to_owned(),
        line(
            10,
            "LOG:  duration: 2.500 ms  statement: SELECT \"a\"\n\t  FROM t WHERE b = 'x'",
        ),
        line(20, "LOG:  duration: 0.200 ms  parse s1: SELECT $1"),
        line(20, "LOG:  duration: 0.100 ms  bind s1: SELECT $1"),
        line(20, "DETAIL:  Parameters: $1 = 'it''s'"),
        line(21, "LOG:  duration: 0.700 ms  execute s1: SELECT $1"),
        line(21, "DETAIL:  Parameters: $1 = 'it''s'"),
        line(30, "ERROR:  relation \"u\" does not exist at character 15"),
        line(30, "STATEMENT:  SELECT * FROM u"),
        line(40, "LOG:  disconnection: session time: 0:00:00.040 user=me"),
    ]
    .concat();
    let from_stderr = recorded("a.log", &log);
    let from_csv = recorded("a.csv", &day_in_csv());
    assert_eq!(brief(&from_json), brief(&from_csv));
    assert_eq!(brief(&from_stderr), brief(&from_csv));
    assert_eq!(from_stderr.statements()[0].session.user, "me");
    // The prefix has no code: that it failed is known.
    assert_eq!(from_stderr.statements()[2].failed, Some([0; 5]));
    for recorded in [&from_json, &from_stderr] {
        let parameters = recorded.statements()[1]
            .parameters()
            .collect::<Vec<_>>()
            .len();
        assert_eq!(parameters, 1);
    }
}

#[test]
fn log_statement_is_paired_with_durations_and_errors_of_its_session() {
    let log = [
        csv(10, "LOG", "00000", ["statement: BEGIN", "", "", ""]),
        csv(11, "LOG", "00000", ["duration: 0.100 ms", "", "", ""]),
        // Parse and Bind, then what is executed, and how long that took.
        csv(20, "LOG", "00000", ["duration: 0.300 ms", "", "", ""]),
        csv(20, "LOG", "00000", ["duration: 0.200 ms", "", "", ""]),
        csv(
            20,
            "LOG",
            "00000",
            [
                "execute <unnamed>: SELECT $1",
                "Parameters: $1 = NULL",
                "",
                "",
            ],
        ),
        csv(22, "LOG", "00000", ["duration: 1.500 ms", "", "", ""]),
        csv(
            30,
            "LOG",
            "00000",
            ["statement: SELECT pg_sleep(9)", "", "", ""],
        ),
        csv(
            50,
            "ERROR",
            "57014",
            [
                "canceling statement due to user request",
                "",
                "",
                "SELECT pg_sleep(9)",
            ],
        ),
        csv(60, "LOG", "00000", ["statement: COMMIT", "", "", ""]),
        csv(70, "LOG", "00000", ["statement: SELECT 1", "", "", ""]),
    ]
    .concat();
    let recorded = recorded("a.csv", &log);
    assert_eq!(
        brief(&recorded),
        [
            ("BEGIN".to_owned(), 10_000, Some(100)),
            ("SELECT $1".to_owned(), 19_700, Some(2_000)),
            ("SELECT pg_sleep(9)".to_owned(), 30_000, Some(20_000)),
            ("COMMIT".to_owned(), 60_000, None),
            ("SELECT 1".to_owned(), 70_000, None),
        ]
    );
    assert_eq!(recorded.statements()[2].failed, Some(*b"57014"));
    assert_eq!(
        recorded.statements()[1].parameters().collect::<Vec<_>>(),
        [None]
    );
    assert_eq!(recorded.unsaid("texts of statements"), 0);
    assert_eq!(recorded.unsaid("ends of sessions"), 1);
}

#[test]
fn a_duration_without_any_text_is_counted() {
    let bare = csv(10, "LOG", "00000", ["duration: 0.100 ms", "", "", ""]);
    let log = [
        bare.clone(),
        bare,
        csv(90, "LOG", "00000", ["statement: SELECT 1", "", "", ""]),
    ]
    .concat();
    assert_eq!(recorded("a.csv", &log).unsaid("texts of statements"), 2);
}

#[test]
fn a_statement_never_begins_before_the_one_before_it_has_ended() {
    let line = |ms| {
        csv(
            ms,
            "LOG",
            "00000",
            ["duration: 0.400 ms  statement: SELECT 1", "", "", ""],
        )
    };
    let recorded = recorded("a.csv", &[line(10), line(10), line(10), line(20)].concat());
    let starts: Vec<i64> = brief(&recorded)
        .iter()
        .map(|(_, start, _)| *start)
        .collect();
    assert_eq!(starts, [9_600, 10_000, 10_400, 19_600]);
}

#[test]
fn what_cannot_be_sent_again_is_marked_with_its_reason() {
    let begins = |text: &str, detail: &str| csv(10, "LOG", "00000", [text, detail, "", ""]);
    let log = [
        begins("statement: ALTER ROLE a PASSWORD 'hunter2'", ""),
        begins("execute <unnamed>: SELECT $1", ""),
        begins("execute <unnamed>: SELECT $1", "Parameters: $1 = 'abc...'"),
        begins("statement: copy t from stdin", ""),
        begins("execute fetch from <unnamed>/c: SELECT 1", ""),
        begins(
            "execute <unnamed>: SELECT dblink($1)",
            "Parameters: $1 = 'host=a password=hunter2'",
        ),
        begins("statement: COPY t TO STDOUT", ""),
    ]
    .concat();
    let recorded = recorded("a.csv", &log);
    let obstacles: Vec<_> = recorded
        .statements()
        .iter()
        .map(|statement| statement.obstacle)
        .collect();
    assert_eq!(
        obstacles,
        [
            Some(Obstacle::Secret),
            Some(Obstacle::NoParameters),
            Some(Obstacle::CutParameters),
            Some(Obstacle::CopyData),
            Some(Obstacle::Fetch),
            Some(Obstacle::Secret),
            None
        ]
    );
    assert!(!format!("{:?}", recorded.events).contains("hunter2"));
}

#[test]
fn parameters_of_a_failed_statement_are_in_its_context() {
    let log = csv(
        10,
        "ERROR",
        "22012",
        [
            "division by zero",
            "",
            "unnamed portal with parameters: $1 = '0'",
            "SELECT 1/$1::int",
        ],
    );
    let recorded = recorded("a.csv", &log);
    let statement = recorded.statements()[0].clone();
    assert_eq!(
        (statement.obstacle, statement.protocol),
        (None, Protocol::Extended)
    );
    assert_eq!(
        statement.parameters().collect::<Vec<_>>(),
        [Some(&b"0"[..])]
    );
}

#[test]
fn rotated_files_are_one_log_and_torn_records_are_counted() {
    let day = day_in_csv();
    let cut = day.find("duration: 0.200").unwrap();
    // A server that was killed in the middle of a record, and one that went on behind it.
    let torn = format!(
        "{}{}",
        &day[..cut],
        &day_in_csv().replace("6b0c0f70.4d", "6b0c0f70.4e")
    );
    let recorded = record_all(
        &[("1.csv", torn.as_bytes()), ("2.csv", day.as_bytes())],
        None,
    )
    .unwrap();
    assert_eq!(recorded.unsaid("torn"), 1);
    assert_eq!(recorded.statements().len(), 1 + 3 + 3);
}

#[test]
fn packed_logs_are_read_also_when_their_end_is_missing() {
    let day = day_in_csv();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(day.as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    let zst = ruzstd::encoding::compress_to_vec(
        day.as_bytes(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    let twice = [&zst[..], &zst[..]].concat();
    for (name, bytes, statements) in [
        ("a.csv.gz", &gz, 3),
        ("a.csv.zst", &zst, 3),
        ("b.zst", &twice, 6),
    ] {
        let recorded = record_all(&[(name, bytes)], None).unwrap();
        assert_eq!(recorded.statements().len(), statements, "{name}");
        assert_eq!(recorded.unsaid("files that end"), 0, "{name}");
    }
    let recorded = record_all(&[("a.gz", &gz[..gz.len() - 9])], None).unwrap();
    assert_eq!(recorded.unsaid("files that end"), 1);
}

#[test]
fn times_to_the_second_are_spread_over_it() {
    let line =
        |text: &str| format!("2026-11-29 12:34:56 UTC:10.0.0.1(5000):me@shop:[77]:LOG:  {text}\n");
    let log = ["BEGIN", "SELECT 1", "SELECT 2", "COMMIT"]
        .map(|sql| line(&format!("statement: {sql}")))
        .concat();
    let later = log.replace("12:34:56", "12:34:57");
    let recorded = recorded("postgresql.log", &(log + &later));
    let starts: Vec<i64> = brief(&recorded)
        .iter()
        .map(|(_, start, _)| *start)
        .collect();
    assert_eq!(
        starts,
        [0, 250_000, 500_000, 750_000, 0, 250_000, 500_000, 750_000]
    );
}

#[test]
fn the_same_process_number_is_another_session_after_a_connection() {
    let line = |ms: u32, text: &str| format!("2026-11-29 12:34:56.{ms:03} UTC [77] LOG:  {text}\n");
    let log = [
        line(1, "connection received: host=[local]"),
        line(
            2,
            "connection authorized: user=me database=my shop application_name=a b",
        ),
        line(3, "statement: SELECT 1"),
        line(4, "connection received: host=[local]"),
        line(5, "statement: SELECT 2"),
    ]
    .concat();
    let recorded = recorded("a.log", &log);
    let statements = recorded.statements();
    assert_ne!(statements[0].session.number, statements[1].session.number);
    assert_eq!(
        (
            &*statements[0].session.database,
            &*statements[0].session.application
        ),
        ("my shop", "a b")
    );
}

#[test]
fn logs_without_a_known_form_or_a_session_are_refused() {
    let of = |log: &str, prefix| {
        record_all(&[("a.log", log.as_bytes())], prefix)
            .err()
            .unwrap()
            .to_string()
    };
    assert!(of("hello\n", None).contains("no log_line_prefix that is known"));
    assert!(of("LOG:  statement: SELECT 1\n", Some("%q")).contains("has no time"));
    let missing = record(
        &[PathBuf::from("/nowhere/a.csv")],
        None,
        "",
        Vec::new(),
        &mut |_| {},
    );
    assert!(
        missing
            .err()
            .unwrap()
            .to_string()
            .starts_with("cannot read /nowhere/a.csv")
    );
}

#[test]
fn any_bytes_are_read_without_a_panic() {
    use pgdyno_stats::SplitMix64;
    let day = day_in_csv();
    let stderr = "2026-11-29 12:34:56.001 UTC [77] me@shop LOG:  statement: SELECT 1\n2026-11-29 12:34:56.002 UTC [77] me@shop LOG:  duration: 1.0 ms\n";
    let json = "{\"timestamp\":\"2026-11-29 12:34:56.001 UTC\",\"session_id\":\"a\",\"error_severity\":\"LOG\",\"message\":\"statement: SELECT 1\"}\n";
    let mut random = SplitMix64(11);
    for (name, log) in [("a.csv", &*day), ("a.log", stderr), ("a.json", json)] {
        for _ in 0..100 {
            let mut bytes = log.as_bytes().to_vec();
            for _ in 0..1 + random.next() % 4 {
                let at = (random.next() % bytes.len() as u64) as usize;
                match random.next() % 3 {
                    0 => bytes[at] = b"\",\n'$ \0\xff"[(random.next() % 8) as usize],
                    1 => drop(bytes.drain(at..)),
                    _ => bytes.insert(at, b'"'),
                }
                if bytes.is_empty() {
                    break;
                }
            }
            // Of one whose beginning is lost the form is not known.
            let _ = record_all(&[(name, &bytes)], Some("%m [%p] %q%u@%d "));
        }
    }
}
