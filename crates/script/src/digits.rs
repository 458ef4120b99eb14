//! Integers in decimal. What is sent to a server consists of them mostly, so they are written several times
//! faster than the standard formatter does it.

/// As many bytes as the longest integer and its sign have, and a few more.
const ROOM: usize = 24;

/// The least number with more than eight digits.
const EIGHT_DIGITS: u64 = 100_000_000;

/// Appends an integer in decimal.
#[inline]
pub fn write_int(int: i64, out: &mut Vec<u8>) {
    let mut digits = Digits::of(int.unsigned_abs());
    if int < 0 {
        digits.at -= 1;
        digits.room[digits.at] = b'-';
    }
    digits.append_to(out);
}

/// The decimal digits of a number.
pub(crate) struct Digits {
    /// They end in its middle.
    room: [u8; 2 * ROOM],
    at: usize,
}

impl Digits {
    #[inline]
    pub(crate) fn of(number: u64) -> Self {
        let (mut room, mut begin) = ([0; 2 * ROOM], ROOM - 8);
        let mut rest = number;
        while rest >= EIGHT_DIGITS {
            let last = eight_digits((rest % EIGHT_DIGITS) as u32);
            room[begin..begin + 8].copy_from_slice(&(last | ZEROS).to_le_bytes());
            begin -= 8;
            rest /= EIGHT_DIGITS;
        }
        let first = eight_digits(rest as u32);
        room[begin..begin + 8].copy_from_slice(&(first | ZEROS).to_le_bytes());
        // Without the zeros before it; of 0 one is left.
        let zeros = (first.trailing_zeros() / 8).min(7) as usize;
        Self {
            room,
            at: begin + zeros,
        }
    }

    /// How many there are.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        ROOM - self.at
    }

    /// Appends them.
    #[inline]
    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        // Always so many bytes, and then those behind the digits are taken off again: that is a few
        // instructions, and copying a number of bytes that only this moment knows is a call.
        if let Some(room) = self.room[self.at..].first_chunk::<ROOM>() {
            out.extend_from_slice(room);
            out.truncate(out.len() - self.at);
        }
    }
}

/// Eight digits that are zero, as text.
const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);

/// The digits of a number below [`EIGHT_DIGITS`], one a byte, the first one lowest. All at once: halves of four
/// digits, then pairs, then digits are parts of one word, each in as many bits as its digits take up in the end.
#[inline]
fn eight_digits(number: u32) -> u64 {
    const HALVES: u64 = 1 | 1 << 32;
    const PARTS: u64 = HALVES | HALVES << 16;
    let halves = u64::from(number / 10_000) | u64::from(number % 10_000) << 32;
    // 5243 / 2^19 is 1 / 100 rounded up, right below 10,000; 103 / 2^10 is 1 / 10, right below 100.
    let hundreds = ((halves * 5243) >> 19) & (0x7f * HALVES);
    let pairs = hundreds | (halves - 100 * hundreds) << 16;
    let tens = ((pairs * 103) >> 10) & (0xf * PARTS);
    tens | (pairs - 10 * tens) << 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prng;

    #[test]
    fn integers_of_every_length_are_written_as_the_standard_formatter_has_them() {
        let powers = (0..19).map(|power| 10_i64.pow(power));
        let around = powers.flat_map(|power| [power - 1, power, power + 1, -power, 1 - power]);
        let mut prng = Prng::seed(4);
        let random = (0..20_000).map(|_| (prng.next_u64() as i64) >> prng.range(0, 63));
        let ends = [0, i64::MAX, i64::MIN, -1, 99_999_999, 100_000_000];
        for int in around.chain(random).chain(ends) {
            let mut out = b"before".to_vec();
            write_int(int, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), format!("before{int}"));
            let (number, mut out) = (int as u64, Vec::new());
            let digits = Digits::of(number);
            digits.append_to(&mut out);
            assert_eq!(
                (out.len(), String::from_utf8(out).unwrap()),
                (digits.count(), number.to_string())
            );
        }
    }
}
