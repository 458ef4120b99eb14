//! From the authentication to the first statement: what a server reports about itself.

use std::time::Duration;

use pgdyno_testkit::hostile::{
    Step, complete, described, ready, row, server_message, server_text, started,
};

use crate::hostile::conduct;
use crate::hostile::scenario::{LOST, Scenario, WELL, refusing, scenario, sends_and};
use pgdyno_testkit::hostile::When;

fn authenticated() -> Vec<u8> {
    server_message(b'R', &[0; 4])
}

fn key() -> Vec<u8> {
    server_message(b'K', &[0, 0, 0, 1, 0, 0, 0, 2])
}

fn setting(name: &[u8], value: &[u8]) -> Vec<u8> {
    server_message(b'S', &[name, b"\0", value, b"\0"].concat())
}

/// One that says this in place of a start-up, and is a server from then on.
fn starts(name: &'static str, messages: &[Vec<u8>]) -> Scenario {
    let steps = sends_and(messages, Step::StartUnseen);
    scenario(name, When::Connected, steps, WELL)
}

/// One that starts with these messages behind the authentication, and does not get ready.
fn stops(name: &'static str, messages: &[Vec<u8>], then: Step) -> Scenario {
    refusing(name, sends_and(&[authenticated(), messages.concat()], then))
}

#[test]
fn a_session_that_starts_oddly_works() {
    let version = |name, value: &[u8]| {
        starts(
            name,
            &[
                authenticated(),
                setting(b"server_version", value),
                key(),
                ready(b'I'),
            ],
        )
    };
    let notices = server_text(b'N', "NOTICE", "00000", "hello \x1b[2J").repeat(100);
    let with =
        |name, messages: Vec<u8>| starts(name, &[authenticated(), messages, key(), ready(b'I')]);
    conduct::both(vec![
        starts("no key to cancel with", &[authenticated(), ready(b'I')]),
        starts(
            "two keys to cancel with",
            &[authenticated(), key(), key(), ready(b'I')],
        ),
        starts("nothing about itself", &[started()]),
        starts(
            "within a transaction at once",
            &[authenticated(), key(), ready(b'T')],
        ),
        version("a version of no characters", b""),
        version("version 99999999", b"99999999"),
        version("version -1", b"-1"),
        version("a version that is no UTF-8", b"\xff\xfe18"),
        version("a version that a terminal obeys", b"\x1b[2J18.0\r\x07").on_terminal(),
        version("a version of 20 kB", &[b'9'; 20_000]),
        version(
            "a CockroachDB that is none",
            b"13.0-CRDB-v99999999999999999999",
        ),
        version("a YugabyteDB that is none", b"15.2-YB-\x1b[2J").on_terminal(),
        with(
            "three versions",
            [&b"18"[..], b"9.6", b"x"]
                .map(|text| setting(b"server_version", text))
                .concat(),
        ),
        with(
            "100 settings",
            (0..100)
                .flat_map(|n| setting(format!("name{n}").as_bytes(), b"\x1b[2J"))
                .collect(),
        ),
        with("100 notices that a terminal obeys", notices).on_terminal(),
        with(
            "settings that are none",
            [
                setting(b"", b""),
                setting(b"client_encoding", b"LATIN1"),
                setting(b"standard_conforming_strings", b"off"),
            ]
            .concat(),
        ),
    ]);
}

#[test]
fn a_session_that_does_not_start_is_given_up() {
    let too_many = (0..20_000)
        .flat_map(|n| setting(format!("n{n}").as_bytes(), b""))
        .collect();
    let closed = "server closed the connection unexpectedly";
    let limit = "more than 1048576 bytes during startup";
    let pause = Duration::from_millis(2);
    conduct::both(vec![
        stops(
            "a key of 3 bytes",
            &[server_message(b'K', &[0; 7])],
            Step::Stall,
        )
        .says("cancel key with length 3"),
        stops(
            "a key of 300 bytes",
            &[server_message(b'K', &[0; 304])],
            Step::Stall,
        )
        .says("cancel key with length 300"),
        stops(
            "a key without a process",
            &[server_message(b'K', b"")],
            Step::Stall,
        )
        .says("message type \"K\""),
        stops(
            "a setting without an end",
            &[server_message(b'S', b"name\0value")],
            Step::Stall,
        )
        .says("message type \"S\""),
        stops(
            "a setting of 1 GB",
            &[b"S\x3f\0\0\0".to_vec()],
            Step::Flood(vec![b'x']),
        )
        .says("lost synchronization"),
        stops(
            "20,000 settings",
            &[too_many, key(), ready(b'I')],
            Step::Stall,
        )
        .says("more than 1000 settings"),
        stops(
            "settings for ever",
            &[],
            Step::Flood(setting(b"name", b"value")),
        )
        .says(limit),
        stops(
            "notices for ever",
            &[],
            Step::Flood(server_text(b'N', "NOTICE", "00000", "hello")),
        )
        .says(limit),
        stops(
            "a notice of 512 MB",
            &[b"N\x20\0\0\0".to_vec()],
            Step::Flood(vec![b'x']),
        )
        .says("1048576 bytes is the limit"),
        stops(
            "ready for something unknown",
            &[key(), ready(b'?')],
            Step::Stall,
        )
        .says("message type \"Z\""),
        stops(
            "ready for nothing",
            &[key(), server_message(b'Z', b"")],
            Step::Stall,
        )
        .says("message type \"Z\""),
        stops(
            "a row before it is ready",
            &[described(&["a"]), row(&["1"])],
            Step::Stall,
        )
        .says("during startup: type \"T\""),
        stops(
            "a result before it is ready",
            &[complete("SELECT 1")],
            Step::Stall,
        )
        .says("during startup: type \"C\""),
        stops(
            "a COPY before it is ready",
            &[server_message(b'G', &[0, 0, 0])],
            Step::Stall,
        )
        .says("during startup: type \"G\""),
        stops(
            "a message of no type",
            &[server_message(b'\x1b', b"")],
            Step::Stall,
        )
        .says("during startup: type \"\\x1b\"")
        .on_terminal(),
        stops(
            "an error, and stays open",
            &[server_text(b'E', "FATAL", "57P01", "go \x1b[2J away")],
            Step::Stall,
        )
        .says("go ")
        .on_terminal(),
        stops("closes before it is ready", &[key()], Step::Close).says(closed),
        stops("resets before it is ready", &[key()], Step::Reset).says(closed),
        stops(
            "a setting after the other until the time is over",
            &[],
            Step::Trickle(setting(b"a", b"b"), pause),
        )
        .url("sslmode=disable&connect_timeout=2")
        .says("timeout expired"),
    ]);
}

#[test]
fn a_session_that_is_lost_at_once_is_lost() {
    let answer = || [complete("SELECT 1"), ready(b'I')].concat();
    let idle = "arrived from server while idle";
    // pgdyno run looks at the server first, and so has no result.
    let clients = |name, messages: Vec<u8>, then: Step| {
        scenario(
            name,
            When::Connected,
            sends_and(&[started(), messages], then),
            LOST,
        )
        .counts(0)
    };
    conduct::both(vec![
        clients("closes as soon as it is ready", vec![], Step::Close),
        clients("resets as soon as it is ready", vec![], Step::Reset),
        clients("is ready twice", ready(b'I'), Step::StartUnseen).says(idle),
        clients("answers before it is asked", answer(), Step::StartUnseen).says(idle),
        clients("a row before it is asked", row(&["1"]), Step::StartUnseen),
    ]);
}
