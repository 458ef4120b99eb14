//! Rows that differ in their numbers alone, made for speed: at scale 1000 a load writes a hundred million
//! of them, and the server is to be what is waited for.

/// A row that becomes the next one: only its number, at its beginning, changes, and that counts in
/// decimal, in place.
pub(crate) struct Line {
    text: Vec<u8>,
    /// How many digits the number has at the beginning of `text`.
    digits: usize,
    /// The ten rows whose numbers differ from this one's in the last digit, once ten were written at once.
    ten: Vec<u8>,
}

impl Line {
    /// The row of this number, without what follows the number.
    pub(crate) fn new(number: u64) -> Line {
        let text = number.to_string().into_bytes();
        Line {
            digits: text.len(),
            text,
            ten: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
    }

    /// Appends so many rows to `out`, or fewer where it has `full` bytes before, and becomes the one behind
    /// them. Says how many.
    pub(crate) fn write(&mut self, rows: u64, full: usize, out: &mut Vec<u8>) -> u64 {
        let mut written = 0;
        while written < rows && out.len() < full {
            let begins_ten = self.text[self.digits - 1] == b'0';
            let has_room = full - out.len() >= 10 * self.text.len();
            if begins_ten && has_room && rows - written >= 10 {
                self.write_ten(out);
                written += 10;
            } else {
                self.write_one(out);
                written += 1;
            }
        }
        written
    }

    fn write_one(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text);
        let last = &mut self.text[self.digits - 1];
        if *last != b'9' {
            *last += 1;
            return;
        }
        *last = b'0';
        self.count_tens();
        self.ten.clear();
    }

    fn write_ten(&mut self, out: &mut Vec<u8>) {
        let last = self.digits - 1;
        if self.ten.is_empty() {
            for digit in b'0'..=b'9' {
                self.text[last] = digit;
                self.ten.extend_from_slice(&self.text);
            }
            self.text[last] = b'0';
        }
        out.extend_from_slice(&self.ten);
        match self.count_tens() {
            Some(changed) => {
                for row in self.ten.chunks_exact_mut(self.text.len()) {
                    row[changed..last].copy_from_slice(&self.text[changed..last]);
                }
            }
            None => self.ten.clear(),
        }
    }

    /// Counts the digits before the last one; says from where on they have changed, or nothing when there is
    /// one more.
    fn count_tens(&mut self) -> Option<usize> {
        for at in (0..self.digits - 1).rev() {
            if self.text[at] != b'9' {
                self.text[at] += 1;
                return Some(at);
            }
            self.text[at] = b'0';
        }
        self.text.insert(0, b'1');
        self.digits += 1;
        None
    }
}
