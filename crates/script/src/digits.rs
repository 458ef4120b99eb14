//! Integers in decimal. What is sent to a server consists of them mostly, so they are written several times
//! faster than the standard formatter does it.

/// Room for the longest integer with its sign, and a few bytes more.
pub const INT_ROOM: usize = 24;

/// The least number with more than four digits.
const FOUR_DIGITS: u32 = 10_000;
/// The least number with more than eight digits.
const EIGHT_DIGITS: u64 = 100_000_000;

/// Appends an integer in decimal.
#[inline]
pub fn write_int(int: i64, out: &mut Vec<u8>) {
    let mut room = [0; INT_ROOM];
    let bytes = put_int(int, &mut room);
    append(&room, bytes, out);
}

/// Writes an integer in decimal at the beginning of `room`, and says how many bytes it has. What is behind them is
/// overwritten as well.
#[inline(always)]
pub fn put_int(int: i64, room: &mut [u8; INT_ROOM]) -> usize {
    room[0] = b'-';
    put(int.unsigned_abs(), usize::from(int < 0), room)
}

/// The decimal digits of a number.
pub(crate) struct Digits {
    room: [u8; INT_ROOM],
    count: usize,
}

impl Digits {
    #[inline]
    pub(crate) fn of(number: u64) -> Self {
        let mut room = [0; INT_ROOM];
        let count = put(number, 0, &mut room);
        Self { room, count }
    }

    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    #[inline]
    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        append(&self.room, self.count, out);
    }
}

/// Appends the first bytes of `room`.
#[inline]
fn append(room: &[u8; INT_ROOM], bytes: usize, out: &mut Vec<u8>) {
    // Always all of it, and then what is behind the digits is taken off again: that is a few instructions, and
    // copying a number of bytes that only this moment knows is a call.
    let end = out.len() + bytes;
    out.extend_from_slice(room);
    out.truncate(end);
}

/// Writes a number at `at`, which is 0 or 1, and says where it ends.
#[inline(always)]
fn put(number: u64, at: usize, room: &mut [u8; INT_ROOM]) -> usize {
    if number < EIGHT_DIGITS {
        put_short(number as u32, at, room)
    } else {
        put_long(number, at, room)
    }
}

/// The same of a number below [`EIGHT_DIGITS`].
#[inline(always)]
fn put_short(number: u32, at: usize, room: &mut [u8; INT_ROOM]) -> usize {
    // Without the zeros before it; of 0 one is left.
    if number < FOUR_DIGITS {
        let digits = four_digits(number);
        let zeros = (digits | 1 << 24).trailing_zeros() & 0x18;
        let text = (digits | ZEROS as u32) >> zeros;
        room[at..at + 4].copy_from_slice(&text.to_le_bytes());
        at + 4 - (zeros / 8) as usize
    } else {
        let digits = eight_digits(number);
        let zeros = digits.trailing_zeros() & 0x38;
        let text = (digits | ZEROS) >> zeros;
        room[at..at + 8].copy_from_slice(&text.to_le_bytes());
        at + 8 - (zeros / 8) as usize
    }
}

/// The same of a number that is not. Apart: most are shorter.
#[cold]
#[inline(never)]
fn put_long(number: u64, at: usize, room: &mut [u8; INT_ROOM]) -> usize {
    let (high, low) = (number / EIGHT_DIGITS, number % EIGHT_DIGITS);
    let at = if high < EIGHT_DIGITS {
        put_short(high as u32, at, room)
    } else {
        let at = put_short((high / EIGHT_DIGITS) as u32, at, room);
        put_eight((high % EIGHT_DIGITS) as u32, at, room)
    };
    put_eight(low as u32, at, room)
}

/// Writes eight digits, with the zeros before the number.
#[inline]
fn put_eight(number: u32, at: usize, room: &mut [u8; INT_ROOM]) -> usize {
    let text = eight_digits(number) | ZEROS;
    room[at..at + 8].copy_from_slice(&text.to_le_bytes());
    at + 8
}

/// Eight digits that are zero, as text.
const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);

/// The digits of a number below [`FOUR_DIGITS`], one a byte, the first one lowest, as [`eight_digits`] has them.
#[inline]
fn four_digits(number: u32) -> u32 {
    let hundreds = (number * 5243) >> 19;
    let pairs = hundreds | (number - 100 * hundreds) << 16;
    let tens = ((pairs * 103) >> 10) & 0xf_000f;
    tens | (pairs - 10 * tens) << 8
}

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
