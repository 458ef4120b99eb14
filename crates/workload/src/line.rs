//! Rows that differ in their numbers alone, made for speed: at scale 1000 a load writes a hundred million
//! of them, and the server is to be what is waited for.

/// A row that becomes the next one: only its number, at its beginning, changes, and that counts in
/// decimal, in place.
pub(crate) struct Line {
    text: Vec<u8>,
    /// How many digits the number has at the beginning of `text`.
    digits: usize,
}

impl Line {
    /// The row of this number, without what follows the number.
    pub(crate) fn new(number: u64) -> Line {
        let text = number.to_string().into_bytes();
        Line {
            digits: text.len(),
            text,
        }
    }

    /// Appends what follows.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
    }

    /// Appends the row to `out`, and becomes the next one.
    pub(crate) fn write(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text);
        for digit in self.text[..self.digits].iter_mut().rev() {
            if *digit != b'9' {
                *digit += 1;
                return;
            }
            *digit = b'0';
        }
        self.text.insert(0, b'1');
        self.digits += 1;
    }
}
