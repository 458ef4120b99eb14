//! The values of parameters as logs have them: `Parameters: $1 = 'it''s', $2 = NULL`.

use std::ops::Range;

/// Values, in memory that is used again.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    bytes: Vec<u8>,
    ranges: Vec<Option<Range<usize>>>,
    /// Whether the end of one was cut off.
    pub is_cut: bool,
}

impl Parameters {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ranges.clear();
        self.is_cut = false;
    }

    pub fn values(&self) -> Vec<Option<&[u8]>> {
        let value = |range: &Option<Range<usize>>| range.clone().map(|range| &self.bytes[range]);
        self.ranges.iter().map(value).collect()
    }

    /// Reads a DETAIL; false where it is none of parameters.
    pub fn read_detail(&mut self, detail: &[u8]) -> bool {
        self.clear();
        let list = detail
            .strip_prefix(b"Parameters: ")
            .or(detail.strip_prefix(b"parameters: "));
        list.is_some_and(|list| self.read(list))
    }

    /// Reads an error's CONTEXT: `unnamed portal with parameters: …` (`log_parameter_max_length_on_error`).
    pub fn read_context(&mut self, context: &[u8]) -> bool {
        const WORDS: &[u8] = b" with parameters: ";
        self.clear();
        let lines = context.split(|byte| *byte == b'\n');
        let mut lists = lines.filter_map(|line| {
            let at = memchr::memmem::find(line, WORDS)?;
            // Values may have line ends: it is the rest of the context.
            let from = line.as_ptr() as usize - context.as_ptr() as usize + at + WORDS.len();
            context.get(from..)
        });
        lists.next().is_some_and(|list| self.read(list))
    }

    fn read(&mut self, list: &[u8]) -> bool {
        let mut rest = list;
        loop {
            let value = rest.strip_prefix(b"$").and_then(|rest| {
                let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                rest[digits..].strip_prefix(b" = ")
            });
            let Some(value) = value else {
                // What another version writes: not to be guessed.
                self.clear();
                return false;
            };
            rest = match value.strip_prefix(b"NULL") {
                Some(rest) => {
                    self.ranges.push(None);
                    rest
                }
                None => match self.quoted(value) {
                    Some(rest) => rest,
                    None => {
                        self.clear();
                        return false;
                    }
                },
            };
            match rest.strip_prefix(b", ") {
                Some(next) => rest = next,
                None => return true,
            }
        }
    }

    fn quoted<'a>(&mut self, value: &'a [u8]) -> Option<&'a [u8]> {
        let mut rest = value.strip_prefix(b"'")?;
        let begin = self.bytes.len();
        loop {
            let quote = memchr::memchr(b'\'', rest)?;
            self.bytes.extend_from_slice(&rest[..quote]);
            rest = &rest[quote + 1..];
            match rest.strip_prefix(b"'") {
                Some(behind) => {
                    self.bytes.push(b'\'');
                    rest = behind;
                }
                None => break,
            }
        }
        // What the server puts in the place of what it cuts off.
        self.is_cut |= self.bytes[begin..].ends_with(b"...");
        self.ranges.push(Some(begin..self.bytes.len()));
        Some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_were_bound() {
        let mut parameters = Parameters::default();
        assert!(
            parameters
                .read_detail(b"Parameters: $1 = 'it''s', $2 = NULL, $3 = '', $4 = 'a, $5 = b\n'")
        );
        let values: [Option<&[u8]>; 4] = [Some(b"it's"), None, Some(b""), Some(b"a, $5 = b\n")];
        assert_eq!(parameters.values(), values);
        assert!(!parameters.is_cut);
        assert!(parameters.read_detail(b"parameters: $1 = 'abc...'") && parameters.is_cut);
        assert!(
            parameters
                .read_context(b"unnamed portal with parameters: $1 = '1'\nSQL function \"f\"")
        );
        assert_eq!(parameters.values(), [Some(&b"1"[..])]);
        for wrong in [
            "",
            "Parameters: ",
            "Parameters: $1 = 'a",
            "prepare: PREPARE a AS b",
        ] {
            assert!(!parameters.read_detail(wrong.as_bytes()), "{wrong}");
            assert!(parameters.values().is_empty());
        }
    }
}
