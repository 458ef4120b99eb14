//! Authentication that does not go by the rules.

use pgdyno_testkit::hostile::{Step, server_message};

use crate::hostile::conduct;
use crate::hostile::scenario::{Scenario, refusing, sends, sends_and};

const PASSWORD: &str = "sslmode=disable&password=secret";

/// A request of the authentication.
fn request(code: i32, rest: &[u8]) -> Vec<u8> {
    server_message(b'R', &[&code.to_be_bytes()[..], rest].concat())
}

fn asks(name: &'static str, code: i32, rest: &[u8], words: &str) -> Scenario {
    refusing(name, sends_and(&[request(code, rest)], Step::Stall))
        .says(words)
        .url(PASSWORD)
}

/// A server that asks for SCRAM, sends this challenge, and then does `then`.
fn scram(name: &'static str, challenge: &'static str, then: Vec<Step>, words: &str) -> Scenario {
    let mut steps = sends(&[request(10, b"SCRAM-SHA-256\0\0")]);
    steps.extend([Step::Await, Step::Challenge(challenge)]);
    steps.extend(then);
    refusing(name, steps).says(words).url(PASSWORD)
}

/// A challenge as it should be.
const CHALLENGE: &str = "r={nonce}server,s=c2FsdHNhbHRzYWx0,i=4096";

/// What comes when the client has shown its proof.
fn then(message: Vec<u8>) -> Vec<Step> {
    vec![Step::Await, Step::Send(message), Step::Stall]
}

#[test]
fn methods_that_are_none_are_refused() {
    conduct::both(vec![
        asks(
            "Kerberos 5",
            2,
            b"",
            "Kerberos 5 authentication not supported",
        ),
        asks("crypt", 4, b"xx", "Crypt authentication not supported"),
        asks("GSSAPI", 7, b"", "GSSAPI authentication not supported"),
        asks(
            "GSSAPI goes on",
            8,
            b"token",
            "GSSAPI authentication not supported",
        ),
        asks("SSPI", 9, b"", "SSPI authentication not supported"),
        asks(
            "method 4242",
            4242,
            b"",
            "authentication method 4242 not supported",
        ),
        asks(
            "method -1",
            -1,
            b"",
            "authentication method -1 not supported",
        ),
        asks("MD5 with half a salt", 5, b"xx", "message type \"R\""),
        refusing(
            "a request without a method",
            sends(&[server_message(b'R', b"")]),
        )
        .says("received invalid authentication request"),
        refusing("a request of 100 kB", sends(&[request(3, &[0; 100_000])]))
            .says("received invalid authentication request"),
        refusing(
            "a password that no role has",
            sends_and(&[request(3, b"")], Step::Stall),
        )
        .says("no password supplied"),
        refusing(
            "no authentication where it is required",
            sends(&[request(0, b"")]),
        )
        .url("sslmode=disable&password=secret&require_auth=scram-sha-256")
        .says("server did not complete authentication"),
        refusing(
            "a clear text password where it is forbidden",
            sends(&[request(3, b"")]),
        )
        .url("sslmode=disable&password=secret&require_auth=!password")
        .says("server requested a cleartext password"),
    ]);
}

#[test]
fn authentication_without_end_ends() {
    let limit = "more than 1048576 bytes during startup";
    conduct::both(vec![
        refusing(
            "clear text passwords for ever",
            vec![Step::Flood(request(3, b""))],
        )
        .url(PASSWORD)
        .says(limit),
        refusing("MD5 for ever", vec![Step::Flood(request(5, b"salt"))])
            .url(PASSWORD)
            .says(limit),
        refusing(
            "a password after the other until the time is over",
            vec![Step::Trickle(
                request(3, b""),
                std::time::Duration::from_millis(2),
            )],
        )
        .url("sslmode=disable&password=secret&connect_timeout=2")
        .says("timeout expired"),
        refusing(
            "accepted twice",
            sends_and(&[request(0, b""), request(0, b"")], Step::Stall),
        )
        .says("during startup: type \"R\""),
        refusing(
            "a password after the acceptance",
            sends_and(&[request(0, b""), request(3, b"")], Step::Stall),
        )
        .url(PASSWORD)
        .says("during startup: type \"R\""),
    ]);
}

#[test]
fn scram_that_goes_wrong_is_no_login() {
    let none = "none of the server's SASL authentication mechanisms are supported";
    let unproved = "the server did not prove that it knows the password";
    let malformed = "malformed SCRAM message from server";
    conduct::both(vec![
        asks("no mechanism", 10, b"\0", none),
        asks("mechanisms without an end", 10, b"SCRAM-SHA-256", none),
        asks("an unknown mechanism", 10, b"SCRAM-MD5\0\0", none),
        asks(
            "a bound mechanism without TLS",
            10,
            b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0",
            "over a non-SSL connection",
        ),
        asks(
            "a challenge out of nothing",
            11,
            b"r=x",
            "AUTH_REQ_SASL_CONT without AUTH_REQ_SASL",
        ),
        asks(
            "a signature out of nothing",
            12,
            b"v=x",
            "AUTH_REQ_SASL_FIN without AUTH_REQ_SASL",
        ),
        refusing(
            "SASL twice",
            sends_and(&[request(10, b"SCRAM-SHA-256\0\0").repeat(2)], Step::Stall),
        )
        .url(PASSWORD)
        .says("duplicate SASL authentication request"),
        scram(
            "another nonce",
            "r=other,s=c2FsdA==,i=4096",
            vec![Step::Stall],
            malformed,
        ),
        scram(
            "no nonce",
            "r=,s=c2FsdA==,i=4096",
            vec![Step::Stall],
            malformed,
        ),
        scram(
            "no iterations",
            "r={nonce}server,s=c2FsdA==,i=0",
            vec![Step::Stall],
            malformed,
        ),
        scram(
            "2^31 iterations",
            "r={nonce}server,s=c2FsdA==,i=2147483648",
            vec![Step::Stall],
            "asks for 2147483648 iterations of SCRAM's hash, and no more than 1000000 are done",
        ),
        scram(
            "an iteration more than is taken",
            "r={nonce}server,s=c2FsdA==,i=4097",
            vec![Step::Stall],
            "scram_max_iterations=4097 (PGSCRAMMAXITERATIONS)",
        )
        .url("sslmode=disable&password=secret&scram_max_iterations=4096"),
        scram(
            "2^64 iterations",
            "r={nonce}server,s=c2FsdA==,i=18446744073709551616",
            vec![Step::Stall],
            malformed,
        ),
        scram(
            "a salt that is none",
            "r={nonce}server,s=!!!!,i=4096",
            vec![Step::Stall],
            malformed,
        ),
        scram("an empty challenge", "", vec![Step::Stall], malformed),
        scram(
            "a challenge that a terminal obeys",
            "\x1b[2J{nonce}",
            vec![Step::Stall],
            malformed,
        )
        .on_terminal(),
        scram(
            "a second challenge",
            CHALLENGE,
            then(request(11, b"r=x,s=eA==,i=1")),
            malformed,
        ),
        scram(
            "another's signature",
            CHALLENGE,
            then(request(12, b"v=AAAA")),
            unproved,
        ),
        scram(
            "a signature that is missing",
            CHALLENGE,
            then(request(12, b"")),
            unproved,
        ),
        scram(
            "a signature that is no UTF-8",
            CHALLENGE,
            then(request(12, b"v=\xff\xfe")),
            unproved,
        ),
        scram(
            "an error of its own",
            CHALLENGE,
            then(request(12, b"e=no\x1b]0;owned\x07 proof")),
            unproved,
        )
        .on_terminal(),
        scram(
            "accepted before the challenge is answered",
            CHALLENGE,
            vec![Step::Send(request(0, b"")), Step::Stall],
            "before it proved to know the password",
        ),
        scram(
            "accepted without a signature",
            CHALLENGE,
            then(request(0, b"")),
            "before it proved to know the password",
        ),
        scram(
            "closed behind the challenge",
            CHALLENGE,
            vec![Step::Close],
            "server closed the connection unexpectedly",
        ),
        scram(
            "reset behind the proof",
            CHALLENGE,
            vec![Step::Await, Step::Reset],
            "server closed the connection unexpectedly",
        ),
    ]);
}

#[test]
fn a_version_of_the_protocol_that_is_none_is_refused() {
    let negotiates = |name, version: u32, options: i32, names: &[u8], words| {
        let body = [&version.to_be_bytes()[..], &options.to_be_bytes(), names].concat();
        refusing(name, sends_and(&[server_message(b'v', &body)], Step::Stall)).says(words)
    };
    conduct::both(vec![
        negotiates(
            "version 3.9999",
            0x3_270f,
            0,
            b"",
            "to a higher-numbered version",
        ),
        negotiates("version 4", 4 << 16, 0, b"", "to a higher-numbered version"),
        negotiates("version 2", 2 << 16, 0, b"", "to pre-3.0 protocol version"),
        negotiates("no change", 3 << 16, 0, b"", "asks for no changes"),
        negotiates(
            "-1 options",
            3 << 16,
            -1,
            b"",
            "negative number of unsupported parameters",
        ),
        negotiates(
            "an option that a terminal obeys",
            3 << 16,
            1,
            b"_pq_.\x1b[2J\0",
            "that was not requested",
        )
        .on_terminal(),
        negotiates(
            "a million options",
            3 << 16,
            1_000_000,
            b"x",
            "that was not requested",
        ),
        refusing(
            "half a negotiation",
            sends_and(&[server_message(b'v', &[0, 3, 0, 0])], Step::Stall),
        )
        .says("message type \"v\""),
        refusing(
            "negotiations for ever",
            vec![Step::Flood(server_message(b'v', &[0, 3, 0, 0, 0, 0, 0, 0]))],
        )
        .says("received invalid protocol negotiation message"),
    ]);
}
