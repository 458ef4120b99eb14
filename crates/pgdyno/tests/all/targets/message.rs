//! Messages of either side on a socket (protocol 3, "Message Formats" in PostgreSQL's
//! documentation).

use std::io::{self, Read};

/// The tag that is here for the start-up message, which has none.
pub const STARTUP: u8 = b'>';

/// One message: its tag, and what follows the length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub tag: u8,
    pub body: Vec<u8>,
}

impl Message {
    pub fn new(tag: u8, body: impl Into<Vec<u8>>) -> Message {
        Message {
            tag,
            body: body.into(),
        }
    }

    /// Reads the next one; `None` at the end of the stream.
    pub fn read(from: &mut impl Read, is_startup: bool) -> io::Result<Option<Message>> {
        let mut tag = [STARTUP];
        if !is_startup && from.read(&mut tag)? == 0 {
            return Ok(None);
        }
        let mut length = [0; 4];
        match from.read_exact(&mut length) {
            Err(e) if is_startup && e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let length = u32::from_be_bytes(length) as usize;
        let mut body = vec![0; length.saturating_sub(4)];
        from.read_exact(&mut body)?;
        Ok(Some(Message { tag: tag[0], body }))
    }

    /// As it is on the wire.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.tag != STARTUP {
            bytes.push(self.tag);
        }
        bytes.extend((self.body.len() as u32 + 4).to_be_bytes());
        bytes.extend(&self.body);
        bytes
    }

    pub fn shown(&self) -> String {
        let text = String::from_utf8_lossy(&self.body).replace('\0', "·");
        format!("{} {text}", self.tag as char)
    }
}
