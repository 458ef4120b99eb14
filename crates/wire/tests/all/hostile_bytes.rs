//! Whatever arrives, taking it apart ends with a message or an error, never with a panic.

use std::sync::Arc;

use pgdyno_wire::backend::{self, Message, ProtocolError, split};
use pgdyno_wire::{Connecting, Login, Secret, ServerError, SessionAttrs};

/// SplitMix64, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn byte(&mut self) -> u8 {
        // Many zeros and small numbers: counts, lengths and ends of texts.
        match self.below(4) {
            0 => 0,
            1 => self.below(8) as u8,
            2 => b"RSKZETDCNI123GHWdcntvsVApqf"[self.below(27)],
            _ => self.next() as u8,
        }
    }

    fn message(&mut self) -> Vec<u8> {
        let tag = b"RSKZETDCNI123GHWdcntvsVA"[self.below(24)];
        let body: Vec<u8> = (0..self.below(60)).map(|_| self.byte()).collect();
        let mut message = vec![tag];
        message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        message.extend(body);
        message
    }
}

/// Takes everything out of a message that can be taken out.
fn exhaust(message: Message<'_>) {
    match message {
        Message::DataRow(row) => assert!(row.count() <= usize::from(u16::MAX)),
        Message::RowDescription(columns) => assert!(columns.count() <= usize::from(u16::MAX)),
        Message::ParameterDescription(types) => drop(types.collect::<Vec<u32>>()),
        Message::CommandComplete(complete) => drop((complete.rows(), complete.text().len())),
        Message::Authentication(backend::Authentication::Sasl(names)) => drop(names.count()),
        Message::ErrorResponse(fields) | Message::NoticeResponse(fields) => {
            let error = ServerError::new(fields);
            drop((
                fields.sqlstate().map(str::len),
                error.to_string(),
                error.libpq_text(Some("SELECT\n1")),
            ));
        }
        _ => {}
    }
}

#[test]
fn random_bytes_never_panic_in_the_parser() {
    for seed in 0..200_000 {
        let mut random = Random(seed);
        let mut bytes = random.message();
        if seed % 3 == 0 {
            let at = random.below(bytes.len());
            bytes[at] = random.byte();
        }
        if seed % 5 == 0 {
            bytes.truncate(random.below(bytes.len() + 1));
        }
        if let Ok(Some(frame)) = split(&bytes) {
            assert!(frame.len <= bytes.len() && frame.body.len() + 5 == frame.len);
            if let Ok(message) = frame.parse() {
                exhaust(message);
            }
        }
        let _ = backend::missing(&bytes);
    }
}

#[test]
fn random_servers_never_panic_the_start_up() {
    for seed in 0..50_000 {
        let mut random = Random(seed);
        let mut login = Login::new("me", "db");
        login.password = Some(Secret::new("password"));
        login.session_attrs = [
            SessionAttrs::Any,
            SessionAttrs::ReadWrite,
            SessionAttrs::Standby,
        ][random.below(3)];
        let mut connecting = Connecting::new(Arc::new(login));
        let mut out = Vec::new();
        connecting.start(&mut out).unwrap();
        // Half of them get past authentication first.
        let mut bytes = if seed % 2 == 0 {
            b"R\0\0\0\x08\0\0\0\0".to_vec()
        } else {
            Vec::new()
        };
        for _ in 0..random.below(8) {
            bytes.extend(random.message());
        }
        let piece = 1 + random.below(40);
        for part in bytes.chunks(piece) {
            match connecting.received(part, &mut out) {
                Ok(None) => {}
                Ok(Some(_)) => break,
                Err(error) => {
                    assert!(!error.to_string().contains("password\""), "{error}");
                    break;
                }
            }
        }
    }
}

#[test]
fn lengths_that_no_message_has_are_refused_at_once() {
    let length = |tag: u8, n: i32| {
        let mut bytes = vec![tag];
        bytes.extend_from_slice(&n.to_be_bytes());
        bytes
    };
    for (tag, n) in [
        (b'Z', 3),
        (b'Z', -1),
        (b'Z', i32::MIN),
        (b'Z', 30_001),
        (b'D', i32::MAX),
        (b'x', 40_000),
    ] {
        assert_eq!(
            split(&length(tag, n)),
            Err(ProtocolError::Length { tag, length: n })
        );
    }
    assert_eq!(split(&length(b'D', 1_000_000)), Ok(None));
    assert_eq!(split(b"Z\0\0\0"), Ok(None));
    assert_eq!(
        split(&length(0, 3)).unwrap_err().to_string(),
        "lost synchronization with server: got message type \"\\x00\", length 3"
    );
}

#[test]
fn truncated_contents_are_an_error_that_names_the_message() {
    for bytes in [
        &b"K\0\0\0\x06\0\0"[..],
        b"C\0\0\0\x05x",
        b"S\0\0\0\x06a\0",
        b"t\0\0\0\x08\0\x02\0\0",
        b"Z\0\0\0\x05x",
        b"R\0\0\0\x09\0\0\0\x05x",
    ] {
        let frame = split(bytes).unwrap().unwrap();
        assert_eq!(
            frame.parse().unwrap_err(),
            ProtocolError::Body { tag: bytes[0] }
        );
    }
    let row = split(b"D\0\0\0\x0f\0\x03\0\0\0\x01xff\xff\xff")
        .unwrap()
        .unwrap();
    let Ok(Message::DataRow(mut row)) = row.parse() else {
        panic!()
    };
    assert_eq!(row.next(), Some(Ok(Some(&b"x"[..]))));
    assert_eq!(row.next(), Some(Err(ProtocolError::Body { tag: b'D' })));
    assert_eq!(row.next(), None);
}

#[test]
fn unknown_error_fields_and_unknown_messages_are_kept() {
    let frame = split(b"E\0\0\0\x18SERROR\0C40001\0zodd\0\0")
        .unwrap()
        .unwrap();
    let Ok(Message::ErrorResponse(fields)) = frame.parse() else {
        panic!()
    };
    assert_eq!(fields.sqlstate(), Some("40001"));
    let all: Vec<(u8, &[u8])> = fields.collect();
    assert_eq!(
        all,
        [(b'S', &b"ERROR"[..]), (b'C', b"40001"), (b'z', b"odd")]
    );
    let frame = split(b"y\0\0\0\x06ab").unwrap().unwrap();
    assert!(matches!(
        frame.parse(),
        Ok(Message::Unknown {
            tag: b'y',
            body: b"ab"
        })
    ));
}

#[test]
fn command_tags_tell_their_rows() {
    for (tag, rows) in [
        ("INSERT 0 5", Some(5)),
        ("SELECT 12", Some(12)),
        ("COPY 100000000000", Some(100_000_000_000)),
        ("CREATE TABLE", None),
        ("BEGIN", None),
        ("7", None),
        ("", None),
    ] {
        assert_eq!(
            backend::CommandComplete {
                tag: tag.as_bytes()
            }
            .rows(),
            rows,
            "{tag}"
        );
    }
}
