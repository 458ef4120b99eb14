//! What a client sends: one connection, message by message (protocol 3, "Message Formats" in
//! PostgreSQL's documentation).

use std::borrow::Cow;

/// Codes that stand where a protocol version would in the first message.
const CANCEL: u32 = (1234 << 16) | 5678;
const TLS: u32 = (1234 << 16) | 5679;
const GSS: u32 = (1234 << 16) | 5680;

/// What became of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Nothing of meaning was sent yet.
    #[default]
    Silent,
    Session,
    /// A request to cancel what another session does.
    Cancel,
    /// The client went on in TLS: there is nothing to read.
    Encrypted,
}

/// One message of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its tag, such as `b'Q'`.
    pub tag: u8,
    pub body: Vec<u8>,
}

impl Message {
    /// In words that can be compared and read, such as `Query "SELECT 1"`. Of a bind message
    /// the text parameters are shown, `NULL` without quotes.
    pub fn describe(&self) -> String {
        let mut body = Body(&self.body);
        let target = |body: &mut Body| match body.byte() {
            b'S' => format!("statement {:?}", body.text()),
            _ => format!("portal {:?}", body.text()),
        };
        match self.tag {
            b'Q' => format!("Query {:?}", body.text()),
            b'P' => {
                let (name, sql) = (body.text(), body.text());
                let types: Vec<i32> = (0..body.int16()).map(|_| body.int32()).collect();
                format!("Parse {name:?} {sql:?} types {types:?}")
            }
            b'B' => {
                let (portal, statement) = (body.text(), body.text());
                let formats: Vec<i16> = (0..body.int16()).map(|_| body.int16()).collect();
                let values: Vec<String> = (0..body.int16()).map(|_| body.value()).collect();
                let results: Vec<i16> = (0..body.int16()).map(|_| body.int16()).collect();
                format!(
                    "Bind {portal:?} {statement:?} formats {formats:?} values [{}] results \
                     {results:?}",
                    values.join(", ")
                )
            }
            b'D' => format!("Describe {}", target(&mut body)),
            b'E' => format!("Execute {:?} rows {}", body.text(), body.int32()),
            b'C' => format!("Close {}", target(&mut body)),
            b'S' => "Sync".into(),
            b'H' => "Flush".into(),
            b'X' => "Terminate".into(),
            b'd' => format!("CopyData {:?}", String::from_utf8_lossy(&self.body)),
            b'c' => "CopyDone".into(),
            b'f' => format!("CopyFail {:?}", body.text()),
            // Passwords and what else authentication sends.
            b'p' => format!("Authentication ({} bytes)", self.body.len()),
            tag => format!("{:?} ({} bytes)", tag as char, self.body.len()),
        }
    }
}

/// Reads the fields of a message; what is missing reads as zero or empty.
struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn int16(&mut self) -> i16 {
        self.take(2).try_into().map_or(0, i16::from_be_bytes)
    }

    fn int32(&mut self) -> i32 {
        self.take(4).try_into().map_or(0, i32::from_be_bytes)
    }

    fn text(&mut self) -> Cow<'a, str> {
        let length = self.0.iter().position(|b| *b == 0).unwrap_or(self.0.len());
        let text = String::from_utf8_lossy(self.take(length));
        self.take(1);
        text
    }

    fn value(&mut self) -> String {
        match usize::try_from(self.int32()) {
            Err(_) => "NULL".into(), // -1
            Ok(length) => format!("{:?}", String::from_utf8_lossy(self.take(length))),
        }
    }
}

/// What one client sent on one connection.
#[derive(Debug, Clone, Default)]
pub struct Connection {
    /// What kind of connection it was.
    pub kind: Kind,
    /// Parameters of the startup message, in the client's order.
    pub startup: Vec<(String, String)>,
    pub messages: Vec<Message>,
    /// Whether the client has closed it.
    pub closed: bool,
    unread: Vec<u8>,
}

impl Connection {
    /// All messages in words, see [`Message::describe`]; without those of authentication, which
    /// differ from run to run.
    pub fn described(&self) -> Vec<String> {
        let messages = self.messages.iter().filter(|message| message.tag != b'p');
        messages.map(Message::describe).collect()
    }

    /// The value of a startup parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let mut startup = self.startup.iter();
        startup.find_map(|(key, value)| (key == name).then_some(value.as_str()))
    }

    /// Takes in what came from the client.
    pub(crate) fn received(&mut self, bytes: &[u8]) {
        if matches!(self.kind, Kind::Encrypted | Kind::Cancel) {
            return;
        }
        self.unread.extend_from_slice(bytes);
        let mut read = 0;
        while let Some(length) = self.next(read) {
            read += length;
            if self.kind == Kind::Encrypted {
                self.unread.clear();
                return;
            }
        }
        self.unread.drain(..read);
    }

    /// Reads the message that begins at `from`; returns its whole length, `None` when it is not
    /// all there.
    fn next(&mut self, from: usize) -> Option<usize> {
        let bytes = &self.unread[from..];
        if self.kind == Kind::Session {
            let length = 1 + length_at(bytes, 1)?;
            let body = bytes.get(5..length)?.to_vec();
            let tag = bytes[0];
            self.messages.push(Message { tag, body });
            return Some(length);
        }
        // A TLS handshake begins with 22. The first messages of the protocol have no tag, and
        // their length is too small for anything but 0 to stand first.
        if *bytes.first()? == 22 {
            self.kind = Kind::Encrypted;
            return Some(bytes.len());
        }
        let length = length_at(bytes, 0)?;
        let body = bytes.get(4..length)?;
        let code = u32::from_be_bytes(body.get(..4)?.try_into().ok()?);
        match code {
            TLS | GSS => {} // The server answers; what follows is another first message.
            CANCEL => self.kind = Kind::Cancel,
            _ => {
                self.kind = Kind::Session;
                let mut rest = Body(&body[4..]);
                while rest.0.first().is_some_and(|byte| *byte != 0) {
                    let (name, value) = (rest.text().into_owned(), rest.text().into_owned());
                    self.startup.push((name, value));
                }
            }
        }
        Some(length)
    }
}

/// The length that is at `at`; it counts itself.
fn length_at(bytes: &[u8], at: usize) -> Option<usize> {
    let length = u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?);
    (length >= 4).then_some(length as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(code: u32, rest: &[u8]) -> Vec<u8> {
        let mut bytes = (8 + rest.len() as u32).to_be_bytes().to_vec();
        bytes.extend(code.to_be_bytes());
        bytes.extend(rest);
        bytes
    }

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![tag];
        bytes.extend((4 + body.len() as u32).to_be_bytes());
        bytes.extend(body);
        bytes
    }

    fn session() -> Vec<u8> {
        let mut bytes = first(TLS, b"");
        bytes.extend(first(3 << 16, b"user\0alice\0database\0shop\0\0"));
        bytes.extend(message(b'p', b"secret\0"));
        bytes.extend(message(b'P', b"s1\0SELECT $1\0\0\x01\0\0\0\x17"));
        bytes.extend(message(
            b'B',
            b"\0s1\0\0\0\0\x02\0\0\0\x0242\xff\xff\xff\xff\0\0",
        ));
        bytes.extend(message(b'D', b"P\0"));
        bytes.extend(message(b'E', b"\0\0\0\0\0"));
        bytes.extend(message(b'S', b""));
        bytes.extend(message(b'Q', b"BEGIN;\0"));
        bytes.extend(message(b'X', b""));
        bytes
    }

    #[test]
    fn a_session_is_read_the_same_in_one_piece_and_byte_by_byte() {
        let bytes = session();
        let mut whole = Connection::default();
        whole.received(&bytes);
        let mut pieces = Connection::default();
        for byte in &bytes {
            pieces.received(std::slice::from_ref(byte));
        }
        assert_eq!(whole.messages, pieces.messages);
        assert_eq!(whole.kind, Kind::Session);
        assert_eq!(whole.parameter("database"), Some("shop"));
        assert_eq!(whole.parameter("password"), None);
        assert_eq!(
            whole.described(),
            [
                r#"Parse "s1" "SELECT $1" types [23]"#,
                r#"Bind "" "s1" formats [] values ["42", NULL] results []"#,
                r#"Describe portal """#,
                r#"Execute "" rows 0"#,
                "Sync",
                r#"Query "BEGIN;""#,
                "Terminate",
            ]
        );
    }

    #[test]
    fn tls_and_cancel_are_no_sessions() {
        let mut encrypted = Connection::default();
        encrypted.received(&first(TLS, b""));
        encrypted.received(&[22, 3, 1, 0, 5]);
        encrypted.received(b"anything");
        assert_eq!(encrypted.kind, Kind::Encrypted);
        assert!(encrypted.messages.is_empty());

        let mut cancel = Connection::default();
        cancel.received(&first(CANCEL, &[0; 8]));
        assert_eq!(cancel.kind, Kind::Cancel);
    }
}
