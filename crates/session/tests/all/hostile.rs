//! Servers that do not keep to the protocol, or never stop sending, and the session for
//! administration: it fails, soon, and keeps little.

use std::time::{Duration, Instant};

use pgdyno_session::{Env, Error, Given, NOTICES_MAX, RESULT_BYTES_MAX, Session, resolve};
use pgdyno_testkit::HostileServer;
use pgdyno_testkit::hostile::{
    Step, When, complete, described, ready, row, server_message, server_text,
};

fn server(when: When, steps: Vec<Step>) -> HostileServer {
    let socket = pgdyno_testkit::postgres().address().socket_path();
    HostileServer::start(&socket, when, steps)
}

fn connect(server: &HostileServer, timeout: Duration) -> Result<Session, Error> {
    let info = resolve(&Given::target(server.url()), &Env::empty()).unwrap();
    Session::connect(&info.candidates().unwrap().list, Some(timeout))
}

fn session(steps: Vec<Step>) -> Session {
    connect(
        &server(When::Asked("marked"), steps),
        Duration::from_secs(30),
    )
    .unwrap()
}

const QUERY: &str = "SELECT 1 AS marked";

#[test]
fn start_up_ends_at_its_timeout_whatever_arrives() {
    let authenticated = server_message(b'R', &[0; 4]);
    let setting = server_message(b'S', b"name\0value\0");
    let pause = Duration::from_millis(5);
    let cases = [
        (vec![Step::Stall], "timeout expired"),
        (
            vec![
                Step::Send(authenticated.clone()),
                Step::Trickle(setting.clone(), pause),
            ],
            "timeout expired",
        ),
        (
            vec![Step::Send(authenticated), Step::Flood(setting)],
            "more than 1048576 bytes during startup",
        ),
    ];
    for (steps, words) in cases {
        let server = server(When::Connected, steps.clone());
        let begun = Instant::now();
        let error = connect(&server, Duration::from_secs(1)).unwrap_err();
        assert!(error.to_string().contains(words), "{steps:?}: {error}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{steps:?}");
    }
}

#[test]
fn what_is_no_answer_is_no_success() {
    let incomplete = "has not completed this one";
    for (messages, words) in [
        (vec![ready(b'I')], incomplete),
        (
            vec![described(&["a"]), row(&["1"]), ready(b'I')],
            incomplete,
        ),
        (
            vec![row(&["1"]), complete("SELECT 1"), ready(b'I')],
            "without prior row description",
        ),
        (
            vec![
                described(&["a", "b"]),
                row(&["1"]),
                complete("SELECT 1"),
                ready(b'I'),
            ],
            "1 columns in place of 2",
        ),
        (
            vec![server_message(b'x', b"")],
            "first received character was \"x\"",
        ),
    ] {
        let mut session = session(vec![Step::Send(messages.concat())]);
        let error = session.simple_query(QUERY).unwrap_err();
        assert!(error.to_string().contains(words), "{messages:?}: {error}");
        assert!(session.is_broken());
    }
    // The second answer is none to the next query.
    let twice = [complete("SELECT 1"), ready(b'I')].concat().repeat(2);
    let mut session = session(vec![Step::Send(twice)]);
    session.simple_query(QUERY).unwrap();
    let error = session.simple_query("SELECT 2").unwrap_err();
    assert!(
        error.to_string().contains("arrived from server while idle"),
        "{error}"
    );
}

#[test]
fn answers_without_end_are_ended() {
    let notice = server_text(b'N', "NOTICE", "00000", &"hello ".repeat(100));
    let setting = |number: u32| server_message(b'S', format!("name{number}\0value\0").as_bytes());
    let settings: Vec<u8> = (0..2000).flat_map(setting).collect();
    let line = row(&[&"x".repeat(10_000)]);
    let kept = format!("more than {RESULT_BYTES_MAX} bytes");
    for (steps, words) in [
        (
            vec![Step::Flood(notice)],
            "bytes of messages without data in one answer",
        ),
        (vec![Step::Flood(settings)], "more than 1000 settings"),
        (
            vec![Step::Send(described(&["a"])), Step::Flood(line)],
            &*kept,
        ),
        (
            vec![
                Step::Send(vec![b'D', 0x3f, 0, 0, 0]),
                Step::Flood(vec![b'x']),
            ],
            &*kept,
        ),
    ] {
        let mut session = session(steps);
        let begun = Instant::now();
        let error = session.simple_query(QUERY).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(30), "{words}");
        assert!(session.take_notices().len() <= NOTICES_MAX);
    }
}
