//! A client's messages, taken apart: PostgreSQL's protocol, "Message Formats".

/// Messages whose end has not come wait in a buffer of at most so many bytes.
pub const MESSAGE_BYTES_MAX: usize = 32 << 20;

/// Bytes of one side up to where messages were taken apart.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    /// Bytes of a message that is passed over.
    skip: usize,
}

/// A message: its type and contents. One that is too long has none.
#[derive(Clone, Copy, Debug)]
pub struct Framed<'a> {
    pub tag: u8,
    pub body: &'a [u8],
    pub is_too_long: bool,
}

impl Inbox {
    /// Hands over all messages that are whole; false where the bytes are none of the protocol.
    pub fn take(&mut self, mut bytes: &[u8], mut each: impl FnMut(Framed<'_>)) -> bool {
        let skipped = self.skip.min(bytes.len());
        self.skip -= skipped;
        bytes = &bytes[skipped..];
        let mut held = std::mem::take(&mut self.bytes);
        if !held.is_empty() {
            held.extend_from_slice(bytes);
        }
        let all: &[u8] = if held.is_empty() { bytes } else { &held };
        let mut rest = all;
        while let Some((&[tag, a, b, c, d], body)) = rest.split_first_chunk::<5>() {
            let Some(length) = (u32::from_be_bytes([a, b, c, d]) as usize).checked_sub(4) else {
                return false;
            };
            if let Some((body, after)) = body.split_at_checked(length) {
                each(Framed {
                    tag,
                    body,
                    is_too_long: false,
                });
                rest = after;
            } else if length > MESSAGE_BYTES_MAX {
                each(Framed {
                    tag,
                    body: &[],
                    is_too_long: true,
                });
                self.skip = length - body.len();
                rest = &[];
            } else {
                break;
            }
        }
        if held.is_empty() {
            self.bytes.extend_from_slice(rest);
        } else {
            let taken = held.len() - rest.len();
            held.drain(..taken);
            self.bytes = held;
        }
        true
    }
}

/// The contents of a message from its beginning.
pub struct Parts<'a>(pub &'a [u8]);

impl<'a> Parts<'a> {
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr(0, self.0)?;
        let text = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Some(text)
    }

    pub fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    pub fn count(&mut self) -> Option<u16> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_be_bytes(*bytes))
    }

    pub fn number(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*bytes))
    }

    /// A value of Bind; NULL is `None` within.
    pub fn value(&mut self) -> Option<Option<&'a [u8]>> {
        match self.number()? {
            u32::MAX => Some(None),
            length => {
                let (value, rest) = self.0.split_at_checked(length as usize)?;
                self.0 = rest;
                Some(Some(value))
            }
        }
    }

    /// Format codes: whether each is binary.
    pub fn formats(&mut self) -> Option<Vec<bool>> {
        let count = self.count()?;
        (0..count).map(|_| Some(self.count()? != 0)).collect()
    }
}

/// The name and value pairs of a start-up message, behind its length and version.
pub fn settings(startup: &[u8]) -> impl Iterator<Item = (String, String)> {
    let mut parts = Parts(startup.get(8..).unwrap_or_default());
    std::iter::from_fn(move || {
        let name = parts.text().filter(|name| !name.is_empty())?;
        let value = parts.text()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some((text(name), text(value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_the_same_however_their_bytes_come() {
        let all = b"Q\0\0\0\x06a\0X\0\0\0\x04P\0\0\0\x08abcd";
        for size in 1..all.len() {
            let (mut inbox, mut seen) = (Inbox::default(), Vec::new());
            for piece in all.chunks(size) {
                let whole = inbox.take(piece, |message| {
                    seen.push((message.tag, message.body.to_vec()));
                });
                assert!(whole);
            }
            let expected = [
                (b'Q', b"a\0".to_vec()),
                (b'X', Vec::new()),
                (b'P', b"abcd".to_vec()),
            ];
            assert_eq!(seen, expected, "{size}");
        }
        assert!(!Inbox::default().take(b"Q\0\0\0\x03", |_| ()));
    }

    #[test]
    fn a_message_that_is_too_long_is_passed_over() {
        let mut inbox = Inbox::default();
        let length = (MESSAGE_BYTES_MAX as u32 + 5).to_be_bytes();
        let mut seen = Vec::new();
        let mut each = |message: Framed<'_>| seen.push((message.tag, message.is_too_long));
        assert!(inbox.take(&[&b"d"[..], &length, b"x"].concat(), &mut each));
        for _ in 0..MESSAGE_BYTES_MAX / 1024 {
            assert!(inbox.take(&[b'd'; 1024], &mut each));
        }
        assert!(inbox.take(b"S\0\0\0\x04", &mut each));
        assert_eq!(seen, [(b'd', true), (b'S', false)]);
    }

    #[test]
    fn hostile_bodies_end_early() {
        let mut parts = Parts(&[0, 3, 0, 1]);
        assert_eq!(parts.formats(), None);
        assert_eq!(Parts(&[0, 0, 0, 9, 1]).value(), None);
        assert_eq!(Parts(b"abc").text(), None);
        assert_eq!(settings(b"\0\0\0\0\0\x03\0\0user\0a\0b").count(), 1);
    }
}
