//! The start of a session with a server that sends anything: the same outcome however its bytes
//! arrive, no session with one that does not know the password, which it is never given unasked.
//!
//! The first two bytes choose what the client demands, how the bytes are cut and what the server
//! answers to the request for TLS; the rest is what it sends. Where [`NONCE`] is in it, the client's
//! own is put, without which a challenge is refused at once.

use std::sync::{Arc, LazyLock};

use pgdyno_wire::tls::{TlsConfig, TlsOptions};
use pgdyno_wire::{
    ChannelBinding, Connecting, Encryption, Login, ProtocolVersion, RequireAuth, Secret,
    SessionAttrs,
};

use crate::pieces::pieces;

const PASSWORD: &str = "pA55-w0rD-0f-mE";
/// As long as a client's nonce.
const NONCE: &[u8] = b"<the nonce of the client";

static TLS: LazyLock<Arc<TlsConfig>> = LazyLock::new(|| {
    Arc::new(TlsConfig::new(&TlsOptions::new("db.example")).expect("TLS can be set up"))
});

pub fn run(bytes: &[u8]) {
    let Some((&[first, how], stream)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    // A server that says it by chance.
    if stream
        .windows(PASSWORD.len())
        .any(|part| part == PASSWORD.as_bytes())
    {
        return;
    }
    let login = Arc::new(login(first));
    match &login.encryption {
        Encryption::Plain => {
            let whole = outcome(&login, stream, 0);
            for how in [1, how] {
                assert_eq!(outcome(&login, stream, how), whole, "in pieces: {how}");
            }
        }
        // What comes with TLS's answer is refused when it comes together, for good reason.
        _ => {
            outcome(&login, stream, how);
        }
    }
}

fn login(choice: u8) -> Login {
    let methods = ["", "scram-sha-256", "md5", "!password,!none"];
    let of = |bits: u8, count: u8| usize::from(choice >> bits) % usize::from(count);
    let mut login = Login::new("me", "mine");
    login.password = Some(Secret::new(PASSWORD));
    login.require_auth = RequireAuth::parse(methods[of(0, 4)]).expect("these are methods");
    // A CPU's time for each input.
    login.scram_iterations_max = 100_000;
    login.session_attrs = [
        SessionAttrs::Any,
        SessionAttrs::ReadWrite,
        SessionAttrs::Standby,
        SessionAttrs::Primary,
    ][of(2, 4)];
    login.max_protocol = [ProtocolVersion::V3_0, ProtocolVersion::V3_2][of(4, 2)];
    login.channel_binding = [ChannelBinding::Prefer, ChannelBinding::Require][of(5, 2)];
    login.encryption = match of(6, 4) {
        0 | 1 => Encryption::Plain,
        2 => Encryption::TlsIfOffered(TLS.clone()),
        _ => Encryption::Tls(TLS.clone()),
    };
    login
}

/// What came of it: a session's facts, an error, or that more is awaited; and how much was sent.
fn outcome(login: &Arc<Login>, stream: &[u8], how: u8) -> (String, usize) {
    let mut connecting = Connecting::new(login.clone());
    let mut sent = Vec::new();
    connecting.start(&mut sent).expect("a start-up can begin");
    let mut reported = None;
    let mut fed = 0;
    for message in messages(stream) {
        let message = with_nonce(message, &sent);
        for piece in pieces(&message, how) {
            if reported.is_some() {
                break;
            }
            fed += piece.len();
            reported = match connecting.received(piece, &mut sent) {
                Ok(None) => None,
                Ok(Some(session)) => {
                    assert!(session.leftover.len() <= fed);
                    assert!(
                        login.require_auth.text() != "scram-sha-256",
                        "a session with a server that does not know the password"
                    );
                    let shown = format!("{session:?}");
                    Some(format!(
                        "{:?} {} {:?} {:?} {}",
                        session.parameters,
                        session.backend_pid,
                        session.cancel_key,
                        session.protocol,
                        shown.contains(PASSWORD),
                    ))
                }
                Err(error) => Some(error.to_string()),
            };
        }
    }
    let reported = reported.unwrap_or_else(|| format!("{connecting:?} {}", connecting.closed()));
    assert!(!reported.contains(PASSWORD), "{reported}");
    let was_asked = login.require_auth.text().is_empty();
    let is_there = |text: &[u8]| sent.windows(text.len()).any(|part| part == text);
    assert!(
        was_asked || !is_there(PASSWORD.as_bytes()),
        "the password was sent in clear text"
    );
    (reported, sent.len())
}

/// The messages by the lengths that they announce; what is none is the last.
fn messages(mut stream: &[u8]) -> Vec<&[u8]> {
    let mut messages = Vec::new();
    while let Some(&[_, a, b, c, d]) = stream.first_chunk::<5>() {
        let length = 1 + u32::from_be_bytes([a, b, c, d]) as usize;
        let Some((message, rest)) = stream.split_at_checked(length) else {
            break;
        };
        messages.push(message);
        stream = rest;
    }
    messages.push(stream);
    messages
}

/// Puts the client's nonce, when it has sent one, where a challenge has its place.
fn with_nonce(message: &[u8], sent: &[u8]) -> Vec<u8> {
    const CHALLENGE: &[u8] = b"\0\0\0\x0br=";
    let mut message = message.to_vec();
    let place = 5 + CHALLENGE.len()..5 + CHALLENGE.len() + NONCE.len();
    let is_challenge = message.first() == Some(&b'R')
        && message.get(5..place.start) == Some(CHALLENGE)
        && message.get(place.clone()) == Some(NONCE);
    let said = sent.windows(5).position(|part| part == b"n=,r=");
    if let Some(said) = said.filter(|_| is_challenge)
        && let Some(nonce) = sent.get(said + 5..said + 5 + NONCE.len())
    {
        message[place].copy_from_slice(nonce);
    }
    message
}
