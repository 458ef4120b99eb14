//! What a server sends: the same messages and the same mistake however the bytes arrive, and every
//! message can be walked to its end.

use pgdyno_wire::answer::{Answer, Due, LongRow};
use pgdyno_wire::backend::{self, Message, ProtocolError, tag};
use pgdyno_wire::{Notice, ServerError};

use crate::pieces::pieces;

const STATEMENT: &str = "SELECT 'é😀',\n\t1\r\n FROM t";

pub fn run(bytes: &[u8]) {
    let Some((&how, stream)) = bytes.split_first() else {
        return;
    };
    let whole = events(&[stream]);
    for how in [1, how] {
        assert_eq!(events(&pieces(stream, how)), whole, "in pieces: {how}");
    }
    long_row(stream, how);
}

/// Tag and contents of each message with what [`Answer`] says of it, then what is wrong.
type Events = (
    Vec<(u8, Vec<u8>, Result<(), ProtocolError>)>,
    Option<ProtocolError>,
);

fn events(pieces: &[&[u8]]) -> Events {
    let (mut inbox, mut seen) = (Vec::new(), Vec::new());
    let mut answer = Answer::default();
    for piece in pieces {
        inbox.extend_from_slice(piece);
        let mut at = 0;
        loop {
            let frame = match backend::split(&inbox[at..]) {
                Ok(Some(frame)) => frame,
                Ok(None) => {
                    assert!(
                        backend::missing(&inbox[at..]) > 0,
                        "a whole message is not missing"
                    );
                    break;
                }
                Err(error) => return (seen, Some(error)),
            };
            assert_eq!(frame.len, frame.body.len() + 5);
            at += frame.len;
            walk(&frame);
            let mut taken = answer.take(&frame);
            if frame.tag == tag::READY_FOR_QUERY && taken.is_ok() {
                taken = answer.ready(Due::Executed);
            }
            seen.push((frame.tag, frame.body.to_vec(), taken));
        }
        inbox.drain(..at);
    }
    (seen, None)
}

fn walk(frame: &backend::Frame<'_>) {
    let message = match frame.parse() {
        Ok(message) => message,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    match message {
        Message::DataRow(row) => {
            let columns = row.columns();
            assert!(row.count() <= columns);
        }
        Message::RowDescription(row) => {
            let columns = row.columns();
            assert!(row.count() <= columns);
        }
        Message::ParameterDescription(oids) => assert!(oids.count() * 4 <= frame.body.len()),
        Message::Authentication(backend::Authentication::Sasl(names)) => {
            assert!(names.count() <= frame.body.len());
        }
        Message::CommandComplete(done) => {
            let _ = (done.rows(), done.text());
        }
        Message::ErrorResponse(fields) => {
            let error = ServerError::new(fields);
            for text in [Some(STATEMENT), Some(""), None] {
                // A position beyond the statement, a line without end: it can be said.
                let _ = error.libpq_text(text);
            }
            assert_eq!(error.field(b'M').unwrap_or(""), error.message());
        }
        Message::NoticeResponse(fields) => {
            let _ = Notice::new(fields).libpq_notice_text();
        }
        _ => {}
    }
}

/// A row that is checked as its bytes arrive is judged as one that is kept. The values that the bytes
/// announce are filled up with zeros.
fn long_row(body: &[u8], how: u8) {
    if body.len() < 2 {
        return;
    }
    let columns = u16::from_be_bytes([body[0], body[1]]);
    if usize::from(columns) > LongRow::BYTES_MIN / 4 {
        return; // they have no room
    }
    let mut message = vec![tag::DATA_ROW];
    let length = LongRow::BYTES_MIN + usize::from(how) * 4;
    message.extend_from_slice(&(length as u32).to_be_bytes());
    message.extend_from_slice(body);
    message.resize(length + 1, 0);
    let Ok(Some(frame)) = backend::split(&message) else {
        panic!("a row of {length} bytes is a message");
    };
    // Described as the row has them.
    let mut answer = Answer::default();
    let mut described = vec![tag::ROW_DESCRIPTION];
    described.extend_from_slice(&(6 + 19 * u32::from(columns)).to_be_bytes());
    described.extend_from_slice(&columns.to_be_bytes());
    described.resize(7 + 19 * usize::from(columns), 0);
    let Ok(Some(description)) = backend::split(&described) else {
        return; // more columns than a description may have
    };
    answer.take(&description).expect("it has so many columns");
    let kept = answer.take(&frame);

    let (mut row, used) = LongRow::begin(&message, &answer)
        .expect("as many columns as described")
        .expect("a long row");
    let mut rest = &message[used..];
    let mut step = usize::from(how) * 7 + 1;
    let arrived = loop {
        let (now, later) = rest.split_at(step.min(rest.len()));
        match row.take(now) {
            Err(error) => break Err(error),
            Ok(used) => assert_eq!(used, now.len(), "all of it belongs to the row"),
        }
        if row.is_over() {
            break Ok(());
        }
        rest = later;
        step = step * 2 + 1;
    };
    assert_eq!(
        arrived.is_ok(),
        kept.is_ok(),
        "{arrived:?} in pieces, {kept:?} whole"
    );
}
