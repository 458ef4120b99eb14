//! A server that gives the answers PostgreSQL gives to the statements of `instructions.rs`, always the
//! same bytes and at once: rows of the real tables' columns, command tags, transaction states. It runs in
//! a process of its own, so that nothing of it is counted.
//!
//! Not for: anything else; it knows a statement by its first word and table, and no errors.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;

use pgdyno_server::instant::{
    self,
    pieces::{Pieces, message},
};

use crate::Error;

/// Requests for TLS and for GSS encryption.
const ENCRYPTION: [u32; 2] = [80_877_103, 80_877_104];

/// Listens on this socket, a file that is not there yet, until the process is killed.
///
/// # Errors
/// The socket cannot be made.
pub fn open(socket: &Path) -> Result<(), Error> {
    for client in UnixListener::bind(socket)?.incoming() {
        let client = client?;
        // Its end is the client's affair.
        thread::Builder::new().spawn(move || drop(serve(client)))?;
    }
    Ok(())
}

fn serve(mut client: UnixStream) -> io::Result<()> {
    start(&mut client)?;
    let (mut pieces, mut session) = (Pieces::default(), TranscriptSession::default());
    let mut buffer = vec![0; 64 << 10];
    let mut out = Vec::new();
    loop {
        let count = client.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        out.clear();
        pieces.take(&buffer[..count], |tag, body| {
            session.answer(tag, body, &mut out);
        });
        client.write_all(&out)?;
    }
}

/// The start-up: no encryption, no password.
fn start(client: &mut UnixStream) -> io::Result<()> {
    loop {
        let mut head = [0; 8];
        client.read_exact(&mut head)?;
        let [a, b, c, d, code @ ..] = head;
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        io::copy(
            &mut client.take(length.saturating_sub(8) as u64),
            &mut io::sink(),
        )?;
        if !ENCRYPTION.contains(&u32::from_be_bytes(code)) {
            break;
        }
        client.write_all(b"N")?;
    }
    let mut out = Vec::new();
    instant::started(&mut out);
    client.write_all(&out)
}

/// What a statement is answered with.
#[derive(Clone, Default)]
struct Answer {
    /// RowDescription or NoData.
    columns: Vec<u8>,
    /// Rows and CommandComplete.
    result: Vec<u8>,
    /// Whether a block is open afterwards, where the statement begins or ends one.
    opens_block: Option<bool>,
}

/// One connection.
#[derive(Default)]
struct TranscriptSession {
    prepared: HashMap<Vec<u8>, Answer>,
    /// The statement that was bound last.
    bound: Answer,
    in_block: bool,
}

impl TranscriptSession {
    fn answer(&mut self, tag: u8, body: &[u8], out: &mut Vec<u8>) {
        match tag {
            b'P' => {
                let (name, rest) = c_str(body);
                let (text, _) = c_str(rest);
                self.prepared.insert(name.to_owned(), Answer::to(text));
                message(out, b'1', b"");
            }
            b'B' => {
                let (_, rest) = c_str(body);
                let (name, _) = c_str(rest);
                self.bound = self.prepared.get(name).cloned().unwrap_or_default();
                message(out, b'2', b"");
            }
            b'D' => out.extend_from_slice(&self.bound.columns),
            b'E' => {
                out.extend_from_slice(&self.bound.result);
                self.in_block = self.bound.opens_block.unwrap_or(self.in_block);
            }
            b'S' => self.ready(out),
            b'Q' => {
                let answer = Answer::to(c_str(body).0);
                // The simple protocol has no NoData.
                if answer.columns.first() == Some(&b'T') {
                    out.extend_from_slice(&answer.columns);
                }
                out.extend_from_slice(&answer.result);
                self.in_block = answer.opens_block.unwrap_or(self.in_block);
                self.ready(out);
            }
            _ => {}
        }
    }

    fn ready(&self, out: &mut Vec<u8>) {
        message(out, b'Z', if self.in_block { b"T" } else { b"I" });
    }
}

impl Answer {
    fn to(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text);
        let verb = text.split_whitespace().next().unwrap_or_default();
        match verb.trim_end_matches(';').to_ascii_uppercase().as_str() {
            "BEGIN" => Self::without_rows("BEGIN", Some(true)),
            "END" | "COMMIT" => Self::without_rows("COMMIT", Some(false)),
            "UPDATE" => Self::without_rows("UPDATE 1", None),
            "INSERT" => Self::without_rows("INSERT 0 1", None),
            _ if text.contains("FROM usertable") => Self::ycsb_row(),
            // An account's balance, or what the start asks for.
            _ => Self::row(&[("abalance", 23, 4, b"100")]),
        }
    }

    fn without_rows(tag: &str, opens_block: Option<bool>) -> Self {
        let mut answer = Self {
            opens_block,
            ..Self::default()
        };
        message(&mut answer.columns, b'n', b"");
        message(&mut answer.result, b'C', &[tag.as_bytes(), b"\0"].concat());
        answer
    }

    /// Columns with name, type and size, and their value.
    fn row(columns: &[(&str, u32, i16, &[u8])]) -> Self {
        let mut answer = Self::default();
        let count = (columns.len() as u16).to_be_bytes();
        let (mut description, mut row) = (count.to_vec(), count.to_vec());
        for (name, type_oid, size, value) in columns {
            description.extend_from_slice(name.as_bytes());
            // The name's end, and no table.
            description.extend_from_slice(&[0; 7]);
            description.extend_from_slice(&type_oid.to_be_bytes());
            description.extend_from_slice(&size.to_be_bytes());
            description.extend_from_slice(&(-1_i32).to_be_bytes());
            description.extend_from_slice(&[0; 2]);
            row.extend_from_slice(&(value.len() as u32).to_be_bytes());
            row.extend_from_slice(value);
        }
        message(&mut answer.columns, b'T', &description);
        message(&mut answer.result, b'D', &row);
        message(&mut answer.result, b'C', b"SELECT 1\0");
        answer
    }

    /// YCSB's key and ten fields of 100 characters.
    fn ycsb_row() -> Self {
        const NAMES: [&str; 10] = [
            "field0", "field1", "field2", "field3", "field4", "field5", "field6", "field7",
            "field8", "field9",
        ];
        const TEXT: u32 = 25;
        let mut columns: Vec<(&str, u32, i16, &[u8])> =
            vec![("ycsb_key", TEXT, -1, b"user8517097267634966620")];
        columns.extend(NAMES.map(|name| (name, TEXT, -1, &[b'x'; 100] as &[u8])));
        Self::row(&columns)
    }
}

/// A text up to its zero byte, and what follows that.
fn c_str(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0);
    let end = end.unwrap_or(bytes.len());
    (&bytes[..end], bytes.get(end + 1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(session: &mut TranscriptSession, asked: &[(u8, &[u8])]) -> Vec<u8> {
        let (mut out, mut tags) = (Vec::new(), Vec::new());
        for (tag, body) in asked {
            session.answer(*tag, body, &mut out);
        }
        Pieces::default().take(&out, |tag, body| {
            tags.push(tag);
            if tag == b'Z' {
                tags.extend_from_slice(body);
            }
        });
        tags
    }

    #[test]
    fn a_block_is_answered_as_postgresql_does() {
        let mut session = TranscriptSession::default();
        let begin = tags(&mut session, &[(b'Q', b"BEGIN;\0")]);
        assert_eq!(begin, b"CZT");
        let select: [(u8, &[u8]); 5] = [
            (b'P', b"P_0\0SELECT abalance\0\0\0"),
            (b'B', b"\0P_0\0\0\0\0\0\0\0"),
            (b'D', b"P\0"),
            (b'E', b"\0\0\0\0\0"),
            (b'S', b""),
        ];
        assert_eq!(tags(&mut session, &select), b"12TDCZT");
        assert_eq!(tags(&mut session, &[(b'Q', b"END;\0")]), b"CZI");
    }

    #[test]
    fn without_rows_there_is_no_data() {
        let update: [(u8, &[u8]); 5] = [
            (b'P', b"\0UPDATE pgbench_tellers\0\0\0"),
            (b'B', b"\0\0\0\0\0\0\0\0"),
            (b'D', b"P\0"),
            (b'E', b"\0\0\0\0\0"),
            (b'S', b""),
        ];
        assert_eq!(tags(&mut TranscriptSession::default(), &update), b"12nCZI");
    }
}
