//! What is sent, and what comes of it.

use std::time::Duration;

use pgdyno_replay::{Error, Options};

use crate::made::{Made, bound, connection, recording, replayed, simple, try_replay, url};

#[test]
fn statements_are_sent_as_they_were_recorded() {
    let url = url();
    let mut own = connection(&url);
    own.simple_query("CREATE TABLE replay_sent (n serial, a text, app text)")
        .unwrap();
    let insert =
        "INSERT INTO replay_sent (a, app) VALUES ($1, current_setting('application_name'))";
    let replayed = replayed(
        &[
            simple(
                0,
                0,
                1,
                "INSERT INTO replay_sent (a) VALUES ('it''s'); INSERT INTO replay_sent (a) VALUES ('2')",
            ),
            bound(10, "", insert, &[Some("x")]),
            bound(20, "s1", insert, &[None]),
            bound(30, "s1", insert, &[Some("")]),
            bound(40, "s1", "SELECT $1::int", &[Some("7")]),
            simple(0, 50, 1, "DEALLOCATE ALL"),
            bound(60, "s1", "SELECT $1::int", &[Some("8")]),
            simple(0, 70, 1, "BEGIN"),
            simple(0, 71, 1, "INSERT INTO replay_sent (a) VALUES ('gone')"),
            simple(0, 72, 1, "ROLLBACK"),
        ],
        &url,
    );
    assert_eq!((replayed.sent, replayed.answered), (10, 10));
    assert!(replayed.errors.new.is_empty(), "{:?}", replayed.errors);
    let rows = own
        .query("SELECT a, app FROM replay_sent ORDER BY n")
        .unwrap()
        .rows;
    let some = |text: &str| Some(text.to_owned());
    let app = || some("app0");
    assert_eq!(
        rows,
        [
            [some("it's"), None],
            [some("2"), None],
            [some("x"), app()],
            [None, app()],
            [some(""), app()],
        ]
    );
}

#[test]
fn errors_are_new_as_recorded_or_gone() {
    let failed = |made: Made| Made {
        has_failed: true,
        ..made
    };
    let replayed = replayed(
        &[
            simple(0, 0, 1, "SELECT * FROM replay_none"),
            failed(simple(0, 5, 1, "SELECT * FROM replay_none")),
            failed(simple(0, 10, 1, "SELECT 1")),
            bound(15, "s", "SELECT * FROM replay_none", &[]),
            bound(20, "s", "SELECT 1", &[]),
            simple(0, 25, 1, "COPY (SELECT 1) TO STDOUT"),
            simple(0, 30, 1, "SELECT repeat('x', 3000000)"),
        ],
        &url(),
    );
    let errors = &replayed.errors;
    assert_eq!((errors.same, errors.gone), (1, 1));
    let (count, first) = &errors.new["42P01"];
    assert!(*count == 2 && first.contains("replay_none"), "{errors:?}");
    assert_eq!(
        (errors.new.len(), replayed.answered, replayed.rows),
        (1, 7, 4)
    );
    // Of statements that failed no time is compared.
    let timed: u64 = replayed.texts.iter().map(|of| of.then.count).sum();
    assert_eq!(timed, 3);
}

#[test]
fn rows_that_were_not_recorded_are_refused_and_the_session_goes_on() {
    let url = url();
    connection(&url)
        .simple_query("CREATE TABLE replay_copied (a int)")
        .unwrap();
    let replayed = replayed(
        &[
            simple(0, 0, 1, "COPY replay_copied FROM STDIN"),
            bound(10, "", "COPY replay_copied FROM STDIN", &[]),
            simple(0, 20, 1, "SELECT 1"),
        ],
        &url,
    );
    assert_eq!(replayed.answered, 3);
    assert_eq!(replayed.errors.new["57014"].0, 2, "{:?}", replayed.errors);
}

#[test]
fn a_session_that_was_lost_connects_again_for_its_next_statement() {
    let replayed = replayed(
        &[
            bound(0, "s", "SELECT 1", &[]),
            simple(0, 20, 1, "SELECT pg_terminate_backend(pg_backend_pid())"),
            bound(40, "s", "SELECT 1", &[]),
        ],
        &url(),
    );
    assert_eq!(
        (replayed.sent, replayed.answered, replayed.unanswered),
        (3, 2, 1)
    );
    assert_eq!(replayed.connections_lost, 1);
}

#[test]
fn a_part_of_the_recording_and_some_of_its_statements() {
    let recording = recording(&[
        simple(0, 0, 1, "SELECT 1"),
        simple(0, 1000, 1, "SELECT 2"),
        simple(1, 1010, 1, " select 3"),
        simple(1, 1020, 1, "SET a.b = 1"),
        simple(1, 2000, 1, "SELECT 5"),
    ]);
    let options = Options {
        from: Duration::from_millis(500),
        to: Some(Duration::from_millis(1500)),
        only: vec!["SELECT".to_owned()],
        speed: 10.0,
        ..Options::default()
    };
    let replayed = try_replay(&recording, &url(), &options).unwrap();
    assert_eq!(
        (replayed.sent, replayed.others, replayed.sessions),
        (2, 1, 2)
    );
    let nothing = Options {
        from: Duration::from_secs(9),
        ..Options::default()
    };
    let nothing = try_replay(&recording, &url(), &nothing);
    assert!(matches!(nothing, Err(Error::Nothing)));
}

#[test]
fn users_and_databases_of_the_recording_are_used_where_that_is_asked() {
    let recording = recording(&[simple(0, 0, 1, "SELECT 1")]);
    let options = Options {
        recorded_users: true,
        ..Options::default()
    };
    let replayed = try_replay(&recording, &url(), &options).unwrap();
    assert!(replayed.first_refusal.unwrap().contains("nobody_here"));
    let options = Options {
        recorded_databases: true,
        ..Options::default()
    };
    let replayed = try_replay(&recording, &url(), &options).unwrap();
    assert!(replayed.first_refusal.unwrap().contains("nowhere"));
}
