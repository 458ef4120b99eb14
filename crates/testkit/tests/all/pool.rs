//! The pooling proxy before a real server.

use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use pgdyno_session::{Env, Given, Session, resolve};
use pgdyno_testkit::pool::PoolingProxy;
use pgdyno_testkit::{HostileServer, hostile, postgres, postgres_with};

fn connect(url: &str) -> Session {
    try_connect(url).unwrap_or_else(|e| panic!("{e}"))
}

fn try_connect(url: &str) -> Result<Session, pgdyno_session::Error> {
    let info = resolve(&Given::target(url), &Env::empty()).expect("a URL of ours");
    let candidates = info.candidates().expect("an address");
    Session::connect(&candidates.list, Some(Duration::from_secs(30)))
}

fn pool(sessions: usize) -> PoolingProxy {
    let server = postgres().address().socket_path();
    PoolingProxy::start(server, sessions).expect("it listens")
}

/// The value of a query.
fn value(session: &mut Session, sql: &str) -> String {
    let value = session.query_one_value(sql);
    value
        .unwrap_or_else(|e| panic!("{sql}: {e}"))
        .unwrap_or_default()
}

#[test]
fn with_one_session_a_transaction_waits_for_the_one_before_it() {
    let pool = pool(1);
    let url = pool.url("postgres");
    let (mut first, mut second) = (connect(&url), connect(&url));
    first.simple_query("BEGIN").expect("a transaction begins");
    let holder = value(&mut first, "SELECT pg_backend_pid()");
    let (sender, answers) = channel();
    let waiting = thread::spawn(move || {
        let answer = value(&mut second, "SELECT pg_backend_pid()");
        sender.send(answer).expect("the test waits for it");
    });
    let until = Instant::now() + Duration::from_secs(30);
    while pool.waited() == 0 {
        assert!(Instant::now() < until, "it does not wait");
        thread::sleep(Duration::from_millis(1));
    }
    // Between the statements of a transaction the session stays where it is.
    assert_eq!(value(&mut first, "SELECT pg_backend_pid()"), holder);
    assert!(answers.try_recv().is_err());
    first.simple_query("COMMIT").expect("the transaction ends");
    let answer = answers.recv_timeout(Duration::from_secs(30));
    assert_eq!(answer.as_ref(), Ok(&holder), "the same session answers");
    waiting.join().expect("no panic");
}

#[test]
fn many_clients_share_few_sessions_and_each_gets_its_own_answers() {
    let pool = pool(2);
    let url = pool.url("postgres");
    let mut pids: Vec<String> = thread::scope(|scope| {
        let clients: Vec<_> = (0..8)
            .map(|client: usize| {
                let url = &url;
                scope.spawn(move || {
                    let mut session = connect(url);
                    let mut pids = Vec::new();
                    for round in 0..20 {
                        let wanted =
                            format!("{client}.{round} {}", "x".repeat(100 * client * round));
                        let sql =
                            format!("BEGIN; SELECT '{wanted}'; SELECT pg_backend_pid(); COMMIT");
                        let answers = session.simple_query(&sql).expect("it runs");
                        assert_eq!(answers[1].rows, [[Some(wanted.clone())]]);
                        pids.extend(answers[2].rows[0][0].clone());
                        // The extended protocol.
                        let answer = session
                            .query_with("SELECT $1", &[&wanted])
                            .expect("it runs");
                        assert_eq!(answer.rows, [[Some(wanted)]]);
                    }
                    pids
                })
            })
            .collect();
        let clients = clients.into_iter();
        clients
            .flat_map(|client| client.join().expect("no panic"))
            .collect()
    });
    assert_eq!(pids.len(), 160);
    pids.sort();
    pids.dedup();
    assert_eq!(pids.len(), 2, "sessions of the server");
}

#[test]
fn large_answers_go_through() {
    let pool = pool(1);
    let mut client = connect(&pool.url("postgres"));
    assert_eq!(
        value(&mut client, "SELECT length(repeat('x', 20000000))"),
        "20000000"
    );
    assert_eq!(
        value(&mut client, "SELECT repeat('x', 5000000)").len(),
        5_000_000
    );
}

#[test]
fn a_client_that_leaves_in_a_transaction_takes_its_session_along() {
    let pool = pool(1);
    let url = pool.url("postgres");
    let mut first = connect(&url);
    first.simple_query("BEGIN").expect("a transaction begins");
    let pid = value(&mut first, "SELECT pg_backend_pid()");
    drop(first);
    let mut second = connect(&url);
    assert_ne!(value(&mut second, "SELECT pg_backend_pid()"), pid);
}

#[test]
fn an_idle_session_that_the_server_has_ended_is_replaced() {
    let server = postgres_with(&[]);
    let pool = PoolingProxy::start(server.address().socket_path(), 1).expect("it listens");
    let mut client = connect(&pool.url("postgres"));
    let pid = value(&mut client, "SELECT pg_backend_pid()");
    let mut admin = connect(&server.address().url());
    let end = format!("SELECT pg_terminate_backend({pid}, 30000)");
    assert_eq!(value(&mut admin, &end), "t");
    assert_ne!(value(&mut client, "SELECT pg_backend_pid()"), pid);
}

#[test]
fn a_request_to_cancel_reaches_the_session_that_the_client_has() {
    let pool = pool(1);
    let mut client = connect(&pool.url("postgres"));
    let cancel = client.cancel_handle();
    let sleeping = thread::spawn(move || client.query("SELECT pg_sleep(60)"));
    let until = Instant::now() + Duration::from_secs(30);
    while !sleeping.is_finished() {
        assert!(Instant::now() < until, "it still sleeps");
        cancel.cancel().expect("the pool takes it");
        thread::sleep(Duration::from_millis(20));
    }
    let error = sleeping.join().expect("no panic").expect_err("cancelled");
    assert!(error.to_string().contains("canceling statement"), "{error}");
}

#[test]
fn a_refusal_of_the_server_reaches_the_client() {
    let pool = pool(1);
    for _ in 0..2 {
        let error = try_connect(&pool.url("no_such_database")).expect_err("refused");
        assert!(error.to_string().contains("no_such_database"), "{error}");
    }
    let password = hostile::Step::Send(hostile::server_message(b'R', &[0, 0, 0, 3]));
    let socket = postgres().address().socket_path();
    let server = HostileServer::start(&socket, hostile::When::Connected, vec![password]);
    let pool = PoolingProxy::start(server.address(), 1).expect("it listens");
    let error = try_connect(&pool.url("postgres")).expect_err("no password");
    assert!(error.to_string().contains("pg_hba.conf"), "{error}");
}
