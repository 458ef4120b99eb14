//! Messages of the protocol's third version as bytes that arrive in pieces: as little as the bench's
//! bare loop and a server that answers at once need. They shall cost nothing.

use pgdyno_wire::backend;

/// A message with its tag and length.
pub fn message(out: &mut Vec<u8>, tag: u8, body: &[u8]) {
    out.push(tag);
    out.extend_from_slice(&(4 + body.len() as u32).to_be_bytes());
    out.extend_from_slice(body);
}

/// Passes over whole messages at the beginning of `bytes`, telling each one's tag and body, and says
/// how long they are together. Nothing of what is not a message.
pub fn each_message(bytes: &[u8], mut tell: impl FnMut(u8, &[u8])) -> usize {
    let mut used = 0;
    while let Ok(Some(frame)) = backend::split(&bytes[used..]) {
        used += frame.len;
        tell(frame.tag, frame.body);
    }
    used
}

/// Tells of messages that arrive in pieces.
#[derive(Default)]
pub struct Pieces(Vec<u8>);

impl Pieces {
    pub fn take(&mut self, bytes: &[u8], tell: impl FnMut(u8, &[u8])) {
        if self.0.is_empty() {
            let used = each_message(bytes, tell);
            self.0.extend_from_slice(&bytes[used..]);
        } else {
            self.0.extend_from_slice(bytes);
            let used = each_message(&self.0, tell);
            self.0.drain(..used);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_assembled_from_any_pieces() {
        let mut bytes = Vec::new();
        message(&mut bytes, b'Z', b"I");
        message(&mut bytes, b'C', b"SELECT 1\0");
        for step in 1..bytes.len() {
            let (mut pieces, mut reported) = (Pieces::default(), Vec::new());
            for piece in bytes.chunks(step) {
                pieces.take(piece, |tag, body| reported.push((tag, body.len())));
            }
            assert_eq!(reported, [(b'Z', 1), (b'C', 9)], "{step}");
        }
    }
}
