//! Messages of the protocol, whole (PostgreSQL's documentation, "Message Formats").

use std::io::{self, Read};

/// No longer message is taken: it is held in memory.
const LENGTH_MAX: usize = 256 << 20;

/// The length of the first message in `bytes`, tag included; `None` while it is not all there.
///
/// # Errors
/// It cannot be a message.
pub(super) fn first_length(bytes: &[u8]) -> io::Result<Option<usize>> {
    let Some(length) = bytes.get(1..5) else {
        return Ok(None);
    };
    let length = 1 + checked_length(length)?;
    Ok((bytes.len() >= length).then_some(length))
}

/// A message as a server sends it.
pub(super) fn server_message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[tag], &length[..], body].concat()
}

/// ErrorResponse that ends the connection.
pub(super) fn fatal(sqlstate: &str, text: &str) -> Vec<u8> {
    let fields = format!("SFATAL\0VFATAL\0C{sqlstate}\0M{text}\0\0");
    server_message(b'E', fields.as_bytes())
}

/// Reads a message with its tag.
pub(super) fn read(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut tag = vec![0];
    from.read_exact(&mut tag)?;
    read_rest(from, tag)
}

/// Reads a length and what it counts, and appends both.
pub(super) fn read_rest(from: &mut impl Read, mut message: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let rest = checked_length(&length)? - 4;
    message.extend(length);
    let begin = message.len();
    message.resize(begin + rest, 0);
    from.read_exact(&mut message[begin..])?;
    Ok(message)
}

fn checked_length(bytes: &[u8]) -> io::Result<usize> {
    let length = bytes.try_into().map_or(0, u32::from_be_bytes) as usize;
    if (4..=LENGTH_MAX).contains(&length) {
        Ok(length)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("no message is {length} bytes long"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_whole_or_waited_for() {
        let message = server_message(b'Z', b"I");
        for cut in 0..message.len() {
            assert_eq!(first_length(&message[..cut]).unwrap(), None, "{cut}");
        }
        let two = [&message[..], b"Q"].concat();
        assert_eq!(first_length(&two).unwrap(), Some(message.len()));
        assert_eq!(read(&mut &two[..]).unwrap(), message);
    }

    #[test]
    fn lengths_that_cannot_be_are_errors() {
        for length in [0_u32, 3, u32::MAX] {
            let message = [&b"Q"[..], &length.to_be_bytes()].concat();
            let error = first_length(&message).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{length}");
            assert!(read(&mut &message[..]).is_err());
        }
    }
}
