//! What real servers log of statements whose truth is known, in every form and version.

use std::path::{Path, PathBuf};

use pgdyno_recording::log::record;
use pgdyno_recording::{Event, Reader, Statement};
use pgdyno_server::Server;
use pgdyno_testkit::{MAJORS, postgres_of_with, postgres_with};

use crate::made::connection;

/// A configuration that loses little, and one with texts and durations in lines of their own.
const CONFIGURATIONS: [&[&str]; 2] = [
    &["log_min_duration_statement=0"],
    &["log_statement=all", "log_duration=on"],
];

fn settings(major: u32, configuration: &[&'static str]) -> Vec<&'static str> {
    let destination = match major {
        15.. => "log_destination=stderr,csvlog,jsonlog",
        _ => "log_destination=stderr,csvlog",
    };
    let common = [
        destination,
        "logging_collector=on",
        "log_directory=log",
        "log_filename=pg.log",
        "log_line_prefix=%m [%p] %u@%d %e|",
        "log_connections=on",
        "log_disconnections=on",
        "log_parameter_max_length_on_error=-1",
    ];
    common
        .into_iter()
        .chain(configuration.iter().copied())
        .collect()
}

/// As a session of one's own sends them: text, parameters, code of the error.
type Sent = (&'static str, Vec<Option<&'static str>>, Option<[u8; 5]>);

fn truth() -> Vec<Sent> {
    vec![
        ("SELECT 'ä\n\"quoted\"', 1", vec![], None),
        (
            "SELECT $1::text, $2::int",
            vec![Some("it's\n2"), None],
            None,
        ),
        ("SELECT * FROM logged_none", vec![], Some(*b"42P01")),
        ("SELECT 1 / $1::int", vec![Some("0")], Some(*b"22012")),
        ("SET statement_timeout = 50", vec![], None),
        ("SELECT pg_sleep(100)", vec![], Some(*b"57014")),
        ("BEGIN", vec![], None),
        ("COMMIT", vec![], None),
    ]
}

fn send_all(server: &Server) {
    let mut session = connection(&server.address().url());
    for (sql, parameters, failed) in truth() {
        let sent = if parameters.is_empty() {
            session.simple_query(sql).map(drop)
        } else {
            session
                .query_each(sql, &parameters, &mut |_, _| {})
                .map(drop)
        };
        assert_eq!(sent.is_err(), failed.is_some(), "{sql}");
    }
    session.close_and_wait(std::time::Duration::from_secs(60));
}

fn statements(log: &Path, prefix: &str) -> Vec<Statement> {
    let (bytes, _) = record(&[log.to_owned()], Some(prefix), "", Vec::new(), &mut |_| {}).unwrap();
    let mut reader = Reader::new(&bytes[..]).unwrap();
    let mut statements = Vec::new();
    while let Some(block) = reader.next_block().unwrap() {
        statements.extend(block.events.into_iter().filter_map(|event| match event {
            Event::Statement(statement) => Some(statement),
            _ => None,
        }));
    }
    statements
}

/// Waits until the collector has written the end of the session.
fn log_of(server: &Server, form: &str) -> PathBuf {
    let path = server.data_dir().join("log").join(format!("pg.{form}"));
    loop {
        let log = std::fs::read_to_string(&path).unwrap_or_default();
        let mut lines = log
            .lines()
            .filter(|line| line.contains("disconnection: session time"));
        if log.contains("pg_sleep(100)") && lines.next_back().is_some() {
            return path;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn is_whole(major: u32, server: &Server) {
    send_all(server);
    let forms: &[&str] = if major >= 15 {
        &["csv", "log", "json"]
    } else {
        &["csv", "log"]
    };
    for form in forms {
        let all = statements(&log_of(server, form), "%m [%p] %u@%d %e|");
        // Sessions of the server's own start are in the log, too.
        let own = all
            .iter()
            .find(|of| of.sql() == truth()[0].0.as_bytes())
            .unwrap();
        let number = own.session.number;
        let own: Vec<&Statement> = all
            .iter()
            .filter(|of| of.session.number == number)
            .collect();
        assert_eq!(own.len(), truth().len(), "{major} {form}: {own:#?}");
        for ((sql, parameters, failed), of) in truth().into_iter().zip(own) {
            let place = format!("{major} {form}: {of:?}");
            assert_eq!(String::from_utf8(of.sql()).unwrap(), sql, "{place}");
            let values: Vec<_> = of.parameters().collect();
            let expected: Vec<_> = parameters
                .iter()
                .map(|value| value.map(str::as_bytes))
                .collect();
            assert_eq!(values, expected, "{place}");
            assert_eq!((of.failed, of.obstacle), (failed, None), "{place}");
            assert!(of.duration_us.is_some() || failed.is_some(), "{place}");
        }
    }
}

#[test]
fn texts_values_and_errors_are_those_that_were_sent() {
    for configuration in CONFIGURATIONS {
        is_whole(18, &postgres_with(&settings(18, configuration)));
    }
}

#[test]
#[ignore = "PART=logs: servers of six versions"]
fn every_version_and_form_says_the_same() {
    for major in MAJORS {
        for configuration in CONFIGURATIONS {
            is_whole(
                major,
                &postgres_of_with(major, &settings(major, configuration)).unwrap(),
            );
        }
    }
}
