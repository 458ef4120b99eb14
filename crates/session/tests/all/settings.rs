//! Settings that hold for a session's statements, on a session of its own and on one that a pooler shares.

use std::time::Duration;

use pgdyno_session::{Env, Given, Session, resolve};
use pgdyno_testkit::{Middlebox, postgres_with};

const SETTINGS: [(&str, &str); 2] = [("lock_timeout", "1234"), ("application_name", "it's \\ me")];

fn session_at(url: &str) -> Session {
    let info = resolve(&Given::target(url), &Env::empty()).expect("a URL");
    let candidates = info.candidates().expect("an address");
    Session::connect(&candidates.list, Some(Duration::from_secs(30))).expect("a session")
}

fn shown(session: &mut Session, name: &str) -> String {
    let value = session.query_one_value(&format!("SELECT current_setting('{name}')"));
    value.expect("an answer").expect("a value")
}

/// Each way to ask has them.
fn check(session: &mut Session) {
    session.apply_settings(&SETTINGS).expect("they are taken");
    assert_eq!(shown(session, "lock_timeout"), "1234ms");
    assert_eq!(shown(session, "application_name"), "it's \\ me");
    let sql = "SELECT current_setting('lock_timeout'), $1";
    let outcome = session.query_with(sql, &["x"]).expect("an answer");
    let row = ["1234ms", "x"].map(|value| Some(value.to_owned()));
    assert_eq!(outcome.rows, [row]);
    // A level can be set where nothing was read before.
    let begun = session
        .simple_query("BEGIN ISOLATION LEVEL SERIALIZABLE")
        .expect("it begins");
    assert_eq!(begun.len(), 1);
    assert_eq!(shown(session, "lock_timeout"), "1234ms");
    session.simple_query("COMMIT").expect("it ends");
    session
        .simple_query("CREATE TABLE IF NOT EXISTS rows (n int)")
        .expect("made");
    let mut copy = session.copy_in("COPY rows FROM STDIN").expect("it begins");
    copy.write(b"1\n2\n").expect("written");
    assert_eq!(copy.finish().expect("stored"), 2);
    // No transaction takes it.
    session.simple_query("VACUUM rows").expect("it runs alone");
    // What failed leaves the next answer whole.
    session.simple_query("SELECT 1/0").expect_err("it fails");
    session.query_with("SELECT 1/0", &[]).expect_err("it fails");
    assert_eq!(shown(session, "lock_timeout"), "1234ms");
    session
        .apply_settings(&[("no_such_setting", "1")])
        .expect_err("there is none");
    assert_eq!(shown(session, "lock_timeout"), "1234ms");
    session
        .reset_settings(&["lock_timeout"])
        .expect("it is reset");
    assert_eq!(shown(session, "lock_timeout"), "0");
    assert_eq!(shown(session, "application_name"), "it's \\ me");
    assert_eq!(
        session
            .take_notices()
            .iter()
            .filter(|n| n.severity() == "WARNING")
            .count(),
        0
    );
}

#[test]
fn settings_hold_on_an_own_session() {
    let server = postgres_with(&[]);
    let mut session = session_at(&server.address().url());
    assert!(session.is_own());
    check(&mut session);
}

#[test]
fn settings_go_along_with_statements_on_a_shared_session() {
    let name = "settings_go_along_with_statements_on_a_shared_session";
    let server = postgres_with(&[]);
    let settings = ["pool_mode=transaction", "default_pool_size=1"];
    let pooler = match Middlebox::pgbouncer(server.address().port, &settings) {
        Ok(pooler) => pooler,
        Err(why) => pgdyno_testkit::skip!(name, why),
    };
    let mut session = session_at(&pooler.url("postgres"));
    assert!(!session.is_own());
    check(&mut session);
    session.apply_settings(&SETTINGS).expect("they are taken");
    // The only session of the server is another client's now.
    let mut stranger = session_at(&pooler.url("postgres"));
    assert_eq!(shown(&mut stranger, "lock_timeout"), "0");
    assert_eq!(shown(&mut stranger, "application_name"), "");
    assert_eq!(shown(&mut session, "lock_timeout"), "1234ms");
}

#[test]
fn statements_are_given_up_with_their_request() {
    let server = postgres_with(&[]);
    let mut session = session_at(&server.address().url());
    let seen = "SELECT count(*) FROM pg_prepared_statements WHERE name = 'mine'";
    let outcome = session.query_named("mine", seen).expect("an answer");
    assert_eq!(outcome.rows, [[Some("1".to_owned())]]);
    assert_eq!(
        session.query_one_value(seen).expect("an answer").as_deref(),
        Some("0")
    );
}
