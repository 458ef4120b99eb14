//! What a server answers when it is asked for TLS.

use pgdyno_testkit::hostile::{Step, When, server_text};

use crate::hostile::conduct;
use crate::hostile::scenario::{REFUSED, Scenario, WELL, scenario, sends, sends_and};

const REQUIRED: &str = "sslmode=require";
const NO_PATIENCE: &str = "sslmode=require&connect_timeout=2";

fn answers(name: &'static str, steps: Vec<Step>, words: &str) -> Scenario {
    scenario(name, When::TlsAsked, steps, REFUSED)
        .url(REQUIRED)
        .says(words)
}

/// It says that it speaks TLS, and then, in place of its part of the handshake, this.
fn shakes(name: &'static str, then: Vec<Step>, words: &str) -> Scenario {
    let steps = sends_and(&[b"S".to_vec()], Step::Hear)
        .into_iter()
        .chain(then);
    answers(name, steps.collect(), words)
}

#[test]
fn an_answer_to_the_request_for_tls_that_is_none_is_a_refusal() {
    let evil = server_text(b'E', "FATAL", "XX000", "go \x1b[2J away");
    conduct::both(vec![
        answers(
            "no TLS",
            sends(&[b"N".to_vec()]),
            "server does not support SSL, but SSL was required",
        ),
        answers(
            "an error to the request for TLS",
            sends(&[evil]),
            "server sent an error response during SSL exchange",
        )
        .on_terminal(),
        answers(
            "errors for ever",
            vec![Step::Flood(b"E".to_vec())],
            "server sent an error response during SSL exchange",
        ),
        answers(
            "neither yes nor no",
            sends(&[b"\x1bX".to_vec()]),
            "received invalid response to SSL negotiation: \\x1b",
        )
        .on_terminal(),
        answers(
            "bytes behind the yes",
            sends_and(
                &[
                    b"S".to_vec(),
                    server_text(b'E', "FATAL", "XX000", "stuffed"),
                ],
                Step::Stall,
            ),
            "received unencrypted data after SSL response",
        ),
        answers(
            "yes for ever",
            vec![Step::Flood(b"S".to_vec())],
            "received unencrypted data after SSL response",
        ),
        answers(
            "closes at the request for TLS",
            vec![Step::Close],
            "server closed the connection unexpectedly",
        ),
        answers(
            "resets at the request for TLS",
            vec![Step::Reset],
            "server closed the connection unexpectedly",
        ),
        answers(
            "is silent at the request for TLS",
            vec![Step::Stall],
            "timeout expired",
        )
        .url(NO_PATIENCE),
    ]);
}

#[test]
fn a_handshake_that_is_none_is_a_refusal() {
    let record = |kind: u8, length: u16| {
        let [high, low] = length.to_be_bytes();
        vec![kind, 3, 3, high, low]
    };
    let flood = [record(22, 16_384), vec![1; 16_384]].concat();
    conduct::both(vec![
        shakes(
            "goes on without TLS",
            vec![
                Step::Send(server_text(b'E', "FATAL", "XX000", "plain")),
                Step::Stall,
            ],
            "",
        ),
        shakes(
            "an HTTP answer to the handshake",
            sends_and(&[b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()], Step::Stall),
            "",
        ),
        shakes(
            "an alert",
            sends_and(&[record(21, 2), vec![2, 40]], Step::Stall),
            "",
        ),
        shakes(
            "a record of 64 kB",
            sends_and(&[record(22, 65_535)], Step::Stall),
            "",
        ),
        shakes("a handshake for ever", vec![Step::Flood(flood)], ""),
        shakes(
            "empty records for ever",
            vec![Step::Flood(record(22, 0))],
            "",
        ),
        shakes("closes within the handshake", vec![Step::Close], ""),
        shakes("resets within the handshake", vec![Step::Reset], ""),
        shakes(
            "is silent within the handshake",
            vec![Step::Stall],
            "timeout expired",
        )
        .url(NO_PATIENCE),
        scenario(
            "speaks HTTP where TLS comes first",
            When::Accepted,
            sends_and(&[b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()], Step::Stall),
            REFUSED,
        )
        .url("sslmode=require&sslnegotiation=direct"),
        scenario(
            "a handshake that fails where TLS is not required",
            When::TlsAsked,
            vec![Step::Send(b"S".to_vec()), Step::Hear, Step::Close],
            WELL,
        )
        .url("sslmode=prefer"),
    ]);
}
