//! Numbers and texts as bytes: the alphabet of a block. Reading never panics, whatever the bytes are.

/// Appends a number in as few bytes as it needs, seven bits each (LEB128).
pub fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a number of either sign: small ones are short.
pub fn put_signed(out: &mut Vec<u8>, number: i64) {
    put(out, ((number << 1) ^ (number >> 63)) as u64);
}

/// Appends a length and so many bytes.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Takes bytes apart from their beginning; `None` where they end too early.
#[derive(Clone, Debug)]
pub struct Cut<'a>(pub &'a [u8]);

impl<'a> Cut<'a> {
    pub fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    pub fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_size_are_read_as_they_were_written() {
        let mut out = Vec::new();
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        let signed = [0, -1, 1, i64::MIN, i64::MAX, -1_000_000];
        numbers.iter().for_each(|&number| put(&mut out, number));
        signed
            .iter()
            .for_each(|&number| put_signed(&mut out, number));
        let mut cut = Cut(&out);
        numbers
            .iter()
            .for_each(|&number| assert_eq!(cut.number(), Some(number)));
        signed
            .iter()
            .for_each(|&number| assert_eq!(cut.signed(), Some(number)));
        assert_eq!(cut.number(), None);
    }

    #[test]
    fn a_length_beyond_the_end_is_refused() {
        assert_eq!(Cut(&[5, b'a']).bytes(), None);
        assert_eq!(Cut(&[0xff; 11]).number(), None);
    }
}
