//! Who was late, and because of what.

use pgdyno_replay::Replayed;

use crate::made::{Made, connection, recording, replayed, simple, try_replay, url};

/// The parts add up, and most of the lateness is charged to the statement that was planted.
fn is_charged_to(replayed: &Replayed, sql: &str, late: u64) {
    let lateness = &replayed.lateness;
    let causes = lateness.generator_ns + lateness.connection_ns + lateness.slow_ns;
    assert_eq!(causes, lateness.total_ns);
    assert_eq!(lateness.waits.total_ns(), lateness.total_ns);
    let worst = lateness.worst.first().unwrap();
    let text = &replayed.texts[worst.slow.text as usize].text;
    assert_eq!((&**text, worst.statements), (sql, late));
    assert!(worst.charged_ns > lateness.total_ns / 2, "{lateness:?}");
}

#[test]
fn a_statement_that_takes_longer_is_charged_with_all_behind_it() {
    let mut statements = vec![simple(0, 0, 1, "SELECT pg_sleep(0.4)")];
    statements.extend((1..=10).map(|number| simple(0, number * 10, 1, "SELECT 1")));
    let replayed = replayed(&statements, &url());
    assert_eq!((replayed.sent, replayed.answered), (11, 11));
    is_charged_to(&replayed, "SELECT pg_sleep(?)", 10);
    // As long as ten of them waited: 400 - 10, 400 - 20, … ms.
    assert!(
        replayed.lateness.slow_ns > 3_000_000_000,
        "{:?}",
        replayed.lateness
    );
}

#[test]
fn a_session_that_waits_for_a_lock_is_charged_to_the_statement_that_waited() {
    let url = url();
    let mut holder = connection(&url);
    holder
        .simple_query("CREATE TABLE replay_locked (a int); INSERT INTO replay_locked VALUES (1)")
        .unwrap();
    let recording = recording(&[
        simple(
            0,
            0,
            900,
            "BEGIN; UPDATE replay_locked SET a = 2; SELECT pg_sleep(0.3); COMMIT",
        ),
        simple(1, 100, 1, "UPDATE replay_locked SET a = 3"),
        simple(1, 110, 1, "SELECT 2"),
        simple(1, 120, 1, "SELECT 2"),
        simple(2, 120, 1, "SELECT 3"),
    ]);
    let replayed = try_replay(&recording, &url, &Default::default()).unwrap();
    assert_eq!(replayed.answered, 5);
    is_charged_to(&replayed, "UPDATE replay_locked SET a = ?", 2);
    assert_eq!(
        holder
            .query_one_value("SELECT a FROM replay_locked")
            .unwrap()
            .as_deref(),
        Some("3")
    );
}

#[test]
fn sessions_do_not_wait_for_each_other() {
    let mut statements: Vec<Made> = vec![simple(0, 0, 600, "SELECT pg_sleep(0.6)")];
    statements.extend((0..20).map(|number| simple(1, number * 20, 1, "SELECT 1")));
    let replayed = replayed(&statements, &url());
    // Open loop: what was due while the first one slept was sent meanwhile.
    assert_eq!(replayed.lateness.slow_ns, replayed.texts[1].charged_ns);
    assert_eq!((replayed.sent, replayed.sessions_most), (21, 2));
}

#[test]
fn a_server_that_is_not_there_makes_connections_refused() {
    let address = pgdyno_testkit::closed_address();
    let url = format!("postgresql://u@{address}/d");
    let replayed = replayed(
        &[simple(0, 0, 1, "SELECT 1"), simple(0, 5, 1, "SELECT 1")],
        &url,
    );
    assert_eq!((replayed.sent, replayed.unsent), (0, 2));
    assert!(replayed.connections_refused > 0);
    assert!(replayed.first_refusal.unwrap().contains("failed: "));
}
