//! Start-up against scripted servers: what no server at hand does, above all old, foreign and
//! dishonest ones. Real servers are talked to in the session crate's tests.

use std::sync::Arc;

use pgdyno_wire::backend::{Frame, split};
use pgdyno_wire::{
    Addr, Candidate, ConnectError, ConnectErrorKind, Connecting, Established, Login,
    ProtocolVersion, RequireAuth, Retry, Secret, SessionAttrs, next_candidate,
};

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn auth(code: i32, rest: &[u8]) -> Vec<u8> {
    message(b'R', &[&code.to_be_bytes()[..], rest].concat())
}

fn parameter(name: &str, value: &str) -> Vec<u8> {
    message(b'S', format!("{name}\0{value}\0").as_bytes())
}

fn key(len: usize) -> Vec<u8> {
    message(b'K', &[&7i32.to_be_bytes()[..], &vec![9; len]].concat())
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

fn refusal(sqlstate: &str) -> Vec<u8> {
    message(
        b'E',
        format!("SFATAL\0VFATAL\0C{sqlstate}\0Mno\0\0").as_bytes(),
    )
}

/// Runs a start-up to its end against what the server sends, byte by byte.
fn run(login: Login, server: &[Vec<u8>]) -> (Result<Option<Established>, ConnectError>, Vec<u8>) {
    let mut connecting = Connecting::new(Arc::new(login));
    let mut out = Vec::new();
    connecting.start(&mut out).unwrap();
    out.clear();
    for byte in server.concat() {
        match connecting.received(&[byte], &mut out) {
            Ok(None) => {}
            end => return (end, out),
        }
    }
    (Ok(None), out)
}

fn login() -> Login {
    let mut login = Login::new("me", "db");
    login.password = Some(Secret::new("pw"));
    login
}

fn with(change: impl FnOnce(&mut Login)) -> Login {
    let mut login = login();
    change(&mut login);
    login
}

fn failure(login: Login, server: &[Vec<u8>]) -> (String, Retry) {
    let error = run(login, server).0.unwrap_err();
    (error.to_string(), error.retry())
}

#[test]
fn a_session_collects_what_the_server_says_on_the_way() {
    let notice = message(b'N', b"SWARNING\0C01000\0Mbeware\0\0");
    let (established, _) = run(
        login(),
        &[
            auth(0, b""),
            parameter("server_version", "13.2"),
            notice,
            parameter("x", "1"),
            parameter("x", "2"),
            key(4),
            ready(),
        ],
    );
    let established = established.unwrap().unwrap();
    assert_eq!(established.parameter("server_version"), Some("13.2"));
    assert_eq!(established.parameters.len(), 2);
    assert_eq!(established.parameter("x"), Some("2"));
    assert_eq!(established.notices[0].message(), "beware");
    assert_eq!(
        (established.backend_pid, established.cancel_key),
        (7, vec![9; 4])
    );
    assert!(established.channel.is_plain() && established.leftover.is_empty());
}

#[test]
fn bytes_after_start_up_are_handed_over() {
    let mut connecting = Connecting::new(Arc::new(login()));
    let mut out = Vec::new();
    connecting.start(&mut out).unwrap();
    let bytes = [auth(0, b""), ready(), b"S\0\0".to_vec()].concat();
    let established = connecting.received(&bytes, &mut out).unwrap().unwrap();
    assert_eq!(established.leftover, b"S\0\0");
}

#[test]
fn servers_that_report_nothing_are_asked_what_they_are() {
    let asked = |attrs: SessionAttrs, reported: &[Vec<u8>], answer: &str| {
        let mut row = 1u16.to_be_bytes().to_vec();
        row.extend_from_slice(&(answer.len() as u32).to_be_bytes());
        row.extend_from_slice(answer.as_bytes());
        let script = [
            vec![auth(0, b"")],
            reported.to_vec(),
            vec![
                ready(),
                message(b'T', &[0, 0]),
                message(b'D', &row),
                message(b'C', b"SHOW\0"),
                ready(),
            ],
        ];
        let (result, out) = run(with(|l| l.session_attrs = attrs), &script.concat());
        let question = split(&out)
            .unwrap()
            .map(|f: Frame<'_>| String::from_utf8_lossy(f.body).into_owned());
        (
            result
                .map(|e| e.is_some())
                .map_err(|e| (e.to_string(), e.retry())),
            question.unwrap_or_default(),
            out,
        )
    };
    let show = "SHOW transaction_read_only\0";
    let recovery = "SELECT pg_catalog.pg_is_in_recovery()\0";
    for (attrs, answer, question, expected) in [
        (SessionAttrs::ReadWrite, "off", show, None),
        (
            SessionAttrs::ReadWrite,
            "on",
            show,
            Some("session is read-only"),
        ),
        (SessionAttrs::ReadOnly, "on", show, None),
        (
            SessionAttrs::ReadOnly,
            "off",
            show,
            Some("session is not read-only"),
        ),
        (SessionAttrs::Primary, "f", recovery, None),
        (
            SessionAttrs::Primary,
            "t",
            recovery,
            Some("server is in hot standby mode"),
        ),
        (SessionAttrs::Standby, "t", recovery, None),
        (
            SessionAttrs::Standby,
            "f",
            recovery,
            Some("server is not in hot standby mode"),
        ),
    ] {
        let (result, asked_for, out) = asked(attrs, &[], answer);
        assert_eq!(asked_for, question);
        match expected {
            None => assert_eq!(result, Ok(true)),
            Some(text) => {
                assert_eq!(result, Err((text.to_owned(), Retry::NextHost)));
                assert!(out.ends_with(b"X\0\0\0\x04"), "no farewell");
            }
        }
    }
    // Reported settings are believed without a question, one alone is not enough.
    let both = [
        parameter("in_hot_standby", "off"),
        parameter("default_transaction_read_only", "off"),
    ];
    assert_eq!(asked(SessionAttrs::ReadWrite, &both, "on").1, "");
    assert_eq!(asked(SessionAttrs::ReadWrite, &both[..1], "off").1, show);
    assert_eq!(asked(SessionAttrs::Primary, &both[..1], "t").1, "");
}

#[test]
fn a_question_that_fails_moves_on_to_the_next_host() {
    let login = || with(|l| l.session_attrs = SessionAttrs::Primary);
    let (text, retry) = failure(login(), &[auth(0, b""), ready(), refusal("42883")]);
    assert_eq!(text, "FATAL:  no\n\"SELECT pg_is_in_recovery()\" failed");
    assert_eq!(retry, Retry::NextHost);
    let (text, _) = failure(login(), &[auth(0, b""), ready(), ready()]);
    assert_eq!(text, "\"SELECT pg_is_in_recovery()\" failed");
}

#[test]
fn protocol_versions_are_negotiated_within_the_limits() {
    let offer = |version: i32, options: i32| {
        message(
            b'v',
            &[version.to_be_bytes(), options.to_be_bytes()].concat(),
        )
    };
    let newest = || with(|l| l.max_protocol = ProtocolVersion::V3_2);
    let v3 = 3 << 16;
    let (established, _) = run(newest(), &[offer(v3, 0), auth(0, b""), key(4), ready()]);
    assert_eq!(
        established.unwrap().unwrap().protocol,
        ProtocolVersion::V3_0
    );
    let (established, _) = run(newest(), &[auth(0, b""), key(256), ready()]);
    let established = established.unwrap().unwrap();
    assert_eq!(
        (established.protocol, established.cancel_key.len()),
        (ProtocolVersion::V3_2, 256)
    );
    let strict = with(|l| {
        l.min_protocol = ProtocolVersion::V3_2;
        l.max_protocol = ProtocolVersion::V3_2;
    });
    for (login, script, expected) in [
        (
            strict,
            vec![offer(v3, 0)],
            "server only supports protocol version 3.0, but \"min_protocol_version\" was set to 3.2",
        ),
        (
            newest(),
            vec![offer(v3 + 3, 0)],
            "server requested downgrade to a higher-numbered version",
        ),
        (newest(), vec![offer(v3 + 1, 0)], "non-existent 3.1"),
        (newest(), vec![offer(2 << 16, 0)], "pre-3.0"),
        (newest(), vec![offer(v3 + 2, 0)], "asks for no changes"),
        (newest(), vec![offer(v3, -1)], "negative number"),
        (
            newest(),
            vec![message(
                b'v',
                &[&v3.to_be_bytes()[..], &1i32.to_be_bytes(), b"_pq_.x\0"].concat(),
            )],
            "not requested (\"_pq_.x\")",
        ),
        (
            newest(),
            vec![offer(v3, 0), offer(v3, 0)],
            "duplicate protocol negotiation message",
        ),
        (
            newest(),
            vec![auth(0, b""), key(3)],
            "too short (minimum 4 bytes)",
        ),
        (
            newest(),
            vec![auth(0, b""), key(257)],
            "too long (maximum 256 bytes)",
        ),
        (
            self::login(),
            vec![auth(0, b""), key(8)],
            "not allowed in protocol version 3.0",
        ),
    ] {
        let (text, retry) = failure(login, &script);
        assert!(text.contains(expected), "{text}");
        assert_eq!(retry, Retry::Stop);
    }
}

#[test]
fn dishonest_servers_get_nothing() {
    for (script, expected) in [
        // SCRAM over plain with the bound form on offer: TLS was taken off on the way.
        (
            vec![auth(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0")],
            "server offered SCRAM-SHA-256-PLUS authentication over a non-SSL connection",
        ),
        (
            vec![auth(10, b"SCRAM-SHA-512\0\0")],
            "none of the server's SASL authentication mechanisms are supported",
        ),
        (
            vec![auth(10, b"SCRAM-SHA-256\0\0"), auth(0, b"")],
            "server accepted the client before it proved to know the password itself",
        ),
        (
            vec![
                auth(10, b"SCRAM-SHA-256\0\0"),
                auth(11, b"r=other,s=AAAA,i=4096"),
            ],
            "malformed SCRAM message from server",
        ),
        (
            vec![auth(10, b"SCRAM-SHA-256\0\0"), auth(12, b"v=AAAA")],
            "incorrect server signature",
        ),
        (
            vec![
                auth(10, b"SCRAM-SHA-256\0\0"),
                auth(10, b"SCRAM-SHA-256\0\0"),
            ],
            "duplicate SASL authentication request",
        ),
        (
            vec![auth(11, b"")],
            "AUTH_REQ_SASL_CONT without AUTH_REQ_SASL",
        ),
        (vec![auth(7, b"")], "GSSAPI authentication not supported"),
        (
            vec![auth(99, b"")],
            "authentication method 99 not supported",
        ),
        (
            vec![message(b'R', &[0; 3000])],
            "received invalid authentication request",
        ),
        (
            vec![message(b'D', b"")],
            "expected authentication request from server, but received D",
        ),
        (
            vec![auth(0, b""), message(b'D', &[0, 0])],
            "unexpected message from server during startup: type \"D\"",
        ),
        (
            vec![auth(0, b""), message(b'Z', b"?")],
            "message contents do not agree with length",
        ),
    ] {
        let (text, retry) = failure(login(), &script);
        assert!(text.contains(expected), "{text}");
        assert_eq!(retry, Retry::Stop);
        assert!(!text.contains("pw"));
    }
    // With require_auth the password does not leave.
    let picky = with(|l| l.require_auth = RequireAuth::parse("scram-sha-256").unwrap());
    let (result, out) = run(picky, &[auth(3, b"")]);
    assert!(matches!(
        result.unwrap_err().kind(),
        ConnectErrorKind::AuthNotAllowed(_)
    ));
    assert!(out.is_empty());
}

#[test]
fn what_may_follow_a_failure_is_as_in_libpq() {
    assert_eq!(
        failure(login(), &[refusal("28P01")]).1,
        Retry::OtherEncryption
    );
    assert_eq!(failure(login(), &[refusal("57P03")]).1, Retry::NextHost);
    assert_eq!(
        failure(login(), &[auth(0, b""), refusal("3D000")]).1,
        Retry::Stop
    );

    let mut list = Vec::new();
    for (host_index, address_index) in [(0, 0), (0, 0), (0, 1), (0, 1), (1, 0)] {
        let addr = Addr::Tcp("127.0.0.1:1".parse().unwrap());
        let mut candidate = Candidate::new(addr, Arc::new(login()));
        (candidate.host_index, candidate.address_index) = (host_index, address_index);
        list.push(candidate);
    }
    let error = |server: &[Vec<u8>]| run(login(), server).0.unwrap_err();
    let other_encryption = error(&[refusal("28000")]);
    let host = error(&[refusal("57P03")]);
    let stop = error(&[auth(0, b""), refusal("3D000")]);
    let address = ConnectError::timed_out();
    let next = |error: &ConnectError| -> Vec<Option<usize>> {
        (0..6).map(|at| next_candidate(&list, at, error)).collect()
    };
    assert_eq!(
        next(&other_encryption),
        [Some(1), None, Some(3), None, None, None]
    );
    assert_eq!(
        next(&address),
        [Some(2), Some(2), Some(4), Some(4), None, None]
    );
    assert_eq!(
        next(&host),
        [Some(4), Some(4), Some(4), Some(4), None, None]
    );
    assert_eq!(next(&stop), [None; 6]);
    assert!(!stop.may_try_next_candidate() && host.may_try_next_candidate());
}

#[test]
fn passwords_are_in_no_debug_output() {
    let login = with(|l| l.password = Some(Secret::new("hidden")));
    let candidate = Candidate::new(Addr::Unix("/tmp/s".into()), Arc::new(login.clone()));
    let connecting = Connecting::new(Arc::new(login.clone()));
    let text = format!("{login:?} {candidate:?} {connecting:?}");
    assert!(!text.contains("hidden"), "{text}");
}
