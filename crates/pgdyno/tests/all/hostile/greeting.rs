//! What greets a client is no PostgreSQL, or does not finish its greeting.

use std::time::Duration;

use pgdyno_testkit::hostile::{Step, When, server_message, server_text, started};

use crate::hostile::conduct;
use crate::hostile::scenario::{REFUSED, Scenario, WELL, refusing, scenario, sends, sends_and};

const CLOSED: &str = "server closed the connection unexpectedly";
const NO_PATIENCE: &str = "sslmode=disable&connect_timeout=2";

fn greeting(name: &'static str, steps: Vec<Step>, words: &str) -> Scenario {
    scenario(name, When::Accepted, steps, REFUSED).says(words)
}

fn other_protocol(name: &'static str, bytes: &[u8], words: &str) -> Scenario {
    greeting(name, sends_and(&[bytes.to_vec()], Step::Stall), words)
}

#[test]
fn what_is_no_postgresql_is_left() {
    let received =
        |what: &str| format!("expected authentication request from server, but received {what}");
    let http = b"HTTP/1.1 400 Bad Request\r\n\r\n";
    conduct::both(vec![
        other_protocol("a web server", http, &received("H")),
        greeting(
            "a web server that goes on",
            vec![Step::Flood(http.to_vec())],
            &received("H"),
        ),
        other_protocol("an SSH server", b"SSH-2.0-OpenSSH_9.9\r\n", &received("S")),
        other_protocol("a mail server", b"220 mail ESMTP\r\n", &received("2")),
        other_protocol("MySQL", b"J\0\0\0\n8.0.36\0\x08\0\0\0", &received("J")),
        other_protocol("a TLS alert", &[21, 3, 3, 0, 2, 2, 70], &received("\\x15")),
        greeting(
            "zeros for ever",
            vec![Step::Flood(vec![0; 100])],
            &received("\\x00"),
        ),
        greeting(
            "noise for ever",
            vec![Step::Flood(vec![0xff, 0x1b, 0x5b, 0x32, 0x4a])],
            &received("\\xff"),
        ),
        greeting(
            "protocol 2's error",
            sends(&[b"Eunsupported protocol\n\0".to_vec()]),
            "received invalid error message",
        ),
    ]);
}

#[test]
fn a_greeting_that_breaks_off_is_a_refusal() {
    let ok = || server_message(b'R', &[0; 4]);
    conduct::both(vec![
        greeting("closes at once", vec![Step::Close], ""),
        greeting("resets at once", vec![Step::Reset], ""),
        greeting("is silent at once", vec![Step::Stall], "timeout expired").url(NO_PATIENCE),
        refusing("closes after the start-up message", vec![Step::Close]).says(CLOSED),
        refusing("resets after the start-up message", vec![Step::Reset]).says(CLOSED),
        refusing("is silent after the start-up message", vec![Step::Stall])
            .says("timeout expired")
            .url(NO_PATIENCE),
        refusing("takes nothing", vec![Step::Deaf])
            .says("timeout expired")
            .url(NO_PATIENCE),
        refusing(
            "closes within the first message",
            sends_and(&[b"R\0\0".to_vec()], Step::Close),
        )
        .says(CLOSED),
        refusing(
            "is silent within the first message",
            sends_and(&[b"R\0\0".to_vec()], Step::Stall),
        )
        .says("timeout expired")
        .url(NO_PATIENCE),
        refusing(
            "greets byte by byte for ever",
            vec![Step::Trickle(b"R".to_vec(), Duration::from_millis(100))],
        )
        .says("received invalid authentication request"),
        refusing(
            "closes after the authentication",
            sends_and(&[ok()], Step::Close),
        )
        .says(CLOSED),
        refusing(
            "resets after the authentication",
            sends_and(&[ok()], Step::Reset),
        )
        .says(CLOSED),
        refusing(
            "is silent after the authentication",
            sends_and(&[ok()], Step::Stall),
        )
        .says("timeout expired")
        .url(NO_PATIENCE),
        scenario(
            "greets slowly",
            When::Connected,
            vec![
                Step::Slowly(started(), Duration::from_millis(3)),
                Step::StartUnseen,
            ],
            WELL,
        ),
    ]);
}

#[test]
fn an_error_in_place_of_a_greeting_is_printed() {
    let error = |fields: &[u8]| server_message(b'E', fields);
    conduct::both(vec![
        refusing(
            "an error, and then nothing",
            sends_and(
                &[server_text(b'E', "FATAL", "53300", "too many clients")],
                Step::Stall,
            ),
        )
        .says("too many clients"),
        refusing("an error without fields", sends(&[error(b"\0\0\0\0")])),
        refusing(
            "an error without an end",
            sends(&[error(b"SFATAL\0Mnot finished")]),
        ),
        refusing(
            "an error of strange fields",
            sends(&[error(b"\x01a\0\xffb\0SFATAL\0Mstrange\0\0")]),
        )
        .says("strange"),
        refusing(
            "an error of 10 MB",
            sends(&[server_text(b'E', "FATAL", "XX000", &"no ".repeat(3 << 20))]),
        )
        .says("received invalid error message"),
        refusing("an error without a length", sends(&[b"E\0\0\0\0".to_vec()]))
            .says("received invalid error message"),
    ]);
}

#[test]
fn a_server_that_takes_the_first_clients_only() {
    conduct::both(vec![
        scenario(
            "refuses all but the first",
            When::ConnectedFrom(1),
            vec![Step::Close],
            REFUSED,
        )
        .options("-c 4 -t 1")
        .says(CLOSED),
        scenario(
            "refuses all but the first three",
            When::ConnectedFrom(3),
            vec![Step::Reset],
            REFUSED,
        )
        .options("-c 8 -t 1"),
        scenario(
            "is silent to all but the first",
            When::ConnectedFrom(1),
            vec![Step::Stall],
            REFUSED,
        )
        .options("-c 2 -t 1")
        .url(NO_PATIENCE)
        .says("timeout expired"),
    ]);
}
