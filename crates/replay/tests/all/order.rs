//! The order of sessions: commits that came before come before.

use pgdyno_replay::{Options, Replayed, Sync};

use crate::made::{Made, connection, recording, simple, try_replay, url};

fn replayed(statements: &[Made], sync: Sync) -> Replayed {
    let options = Options {
        sync,
        ..Options::default()
    };
    try_replay(&recording(statements), &url(), &options).unwrap()
}

#[test]
fn a_statement_waits_for_a_commit_that_had_ended_before_it_began() {
    let mut own = connection(&url());
    for (sync, seen) in [(Sync::None, "0"), (Sync::Commit, "1"), (Sync::Time, "1")] {
        own.simple_query("DROP TABLE IF EXISTS ordered, ordered_seen; CREATE TABLE ordered (a int); CREATE TABLE ordered_seen (n int)")
            .unwrap();
        let replayed = replayed(
            &[
                simple(0, 0, 1, "BEGIN"),
                simple(0, 5, 1, "INSERT INTO ordered SELECT 1 FROM pg_sleep(0.4)"),
                simple(0, 10, 1, "COMMIT"),
                simple(
                    1,
                    20,
                    1,
                    "INSERT INTO ordered_seen SELECT count(*) FROM ordered",
                ),
            ],
            sync,
        );
        let rows = own.query_one_value("SELECT n FROM ordered_seen").unwrap();
        assert_eq!(rows.as_deref(), Some(seen), "{sync:?}");
        let lateness = &replayed.lateness;
        let causes = lateness.generator_ns + lateness.connection_ns + lateness.slow_ns;
        assert_eq!(causes + lateness.order_ns, lateness.total_ns);
        assert_eq!(lateness.waits.total_ns(), lateness.total_ns);
        let waited = u64::from(sync != Sync::None);
        assert_eq!(
            (replayed.order.waited, replayed.order.broken),
            (waited, 0),
            "{sync:?}"
        );
        assert_eq!(
            lateness.order_ns > 200_000_000,
            sync != Sync::None,
            "{lateness:?}"
        );
    }
}

#[test]
fn a_wait_that_closes_a_cycle_with_a_lock_is_broken_and_counted() {
    connection(&url())
        .simple_query("CREATE TABLE cycled (a int); INSERT INTO cycled VALUES (1)")
        .unwrap();
    let replayed = replayed(
        &[
            simple(0, 0, 1, "BEGIN"),
            simple(0, 2, 1, "UPDATE cycled SET a = 2"),
            // In the recording it came first; here it waits for the lock of session 0.
            simple(1, 100, 1, "UPDATE cycled SET a = 3"),
            simple(0, 120, 1, "SELECT 1"),
            simple(0, 130, 1, "COMMIT"),
        ],
        Sync::Commit,
    );
    assert_eq!(
        (replayed.answered, replayed.order.broken),
        (5, 1),
        "{:?}",
        replayed.order
    );
}

#[test]
fn statements_that_began_while_a_commit_was_under_way_are_counted() {
    let statements = [
        simple(0, 0, 20, "CREATE TABLE undetermined (a int)"),
        simple(1, 5, 1, "SELECT 1"),
        simple(2, 30, 1, "SELECT 2"),
        simple(2, 40, 9, "SELECT 3"),
        simple(1, 45, 1, "SELECT 4"),
    ];
    let replayed = replayed(&statements, Sync::Commit);
    assert_eq!(replayed.order.undetermined, 1);
}

#[test]
fn sessions_do_not_wait_for_one_that_is_lost() {
    let replayed = replayed(
        &[
            simple(
                0,
                0,
                1,
                "CREATE TABLE IF NOT EXISTS lost (a int); SELECT pg_terminate_backend(pg_backend_pid())",
            ),
            simple(1, 300, 1, "SELECT 1"),
        ],
        Sync::Time,
    );
    assert_eq!(
        (replayed.sent, replayed.answered, replayed.unanswered),
        (2, 1, 1)
    );
}
