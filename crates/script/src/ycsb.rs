//! Keys and values as YCSB and its relatives make them. Data sets made with different formats do
//! not fit together: the same key number has another key.

use crate::digits::Digits;
use crate::hash::{Octets, fnv1_bytes, fnv1a_bytes, fnv1a_of};

/// How a key number becomes a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyFormat {
    /// YCSB, hashed order: FNV-1a over eight little-endian octets, without its sign.
    Java,
    /// go-ycsb: the same over big-endian octets.
    GoYcsb,
    /// `cockroach workload` of 2019: FNV-1 over a uvarint in eight bytes, unsigned.
    CrdbOld,
    /// `cockroach workload` since: ten bytes.
    Crdb,
    /// All of them with ordered keys: the number itself.
    Ordered,
}

impl KeyFormat {
    pub const ALL: [Self; 5] = [
        Self::Java,
        Self::GoYcsb,
        Self::CrdbOld,
        Self::Crdb,
        Self::Ordered,
    ];

    /// The name that scripts use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Java => "java",
            Self::GoYcsb => "go-ycsb",
            Self::CrdbOld => "crdb-old",
            Self::Crdb => "crdb",
            Self::Ordered => "ordered",
        }
    }

    /// The format of this name.
    pub fn find(name: &[u8]) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|format| format.name().as_bytes() == name)
    }

    /// The number that is in the key; `None` when the format has no place for so large a one.
    #[inline]
    pub fn number_in_key(self, number: u64) -> Option<u64> {
        match self {
            Self::Java => Some(signless(fnv1a_of(number))),
            Self::Ordered => Some(number),
            other => other.number_in_rarer_key(number),
        }
    }

    #[inline(never)]
    fn number_in_rarer_key(self, number: u64) -> Option<u64> {
        match self {
            Self::Java | Self::Ordered => self.number_in_key(number),
            Self::GoYcsb => Octets::Big.of(number, fnv1a_bytes).map(signless),
            Self::CrdbOld => Octets::Uvarint8.of(number, fnv1_bytes),
            Self::Crdb => Octets::Uvarint10.of(number, fnv1_bytes),
        }
    }
}

/// A hash as Java's programs take it.
#[inline]
fn signless(hash: u64) -> u64 {
    (hash as i64).unsigned_abs()
}

/// Appends the key with this number: the word `user`, zeros up to so many digits, the number.
#[inline]
pub(crate) fn write_key(number: u64, width: usize, out: &mut Vec<u8>) {
    let digits = Digits::of(number);
    out.extend_from_slice(b"user");
    if width > digits.count() {
        out.resize(out.len() + width - digits.count(), b'0');
    }
    digits.append_to(out);
}

/// Appends a field's value for verification as YCSB's `dataintegrity` defines it: `key:field`, then
/// `:hash` over what is there so far, again and again, cut at `length` bytes. The hash is
/// Java's of a string (31 times the last plus the character, 32 bits, with a sign); key and field
/// are to be ASCII.
pub fn write_value(key: &[u8], field: &[u8], length: usize, out: &mut Vec<u8>) {
    let begin = out.len();
    out.extend_from_slice(key);
    out.push(b':');
    out.extend_from_slice(field);
    let (mut hash, mut hashed) = (0_i32, begin);
    while out.len() - begin < length {
        out.push(b':');
        for byte in &out[hashed..] {
            hash = hash.wrapping_mul(31).wrapping_add(i32::from(*byte));
        }
        hashed = out.len();
        crate::write_int(i64::from(hash), out);
    }
    out.truncate(begin + length);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_the_tools() {
        for (format, number, key) in [
            (KeyFormat::Java, 0, 6_284_781_860_667_377_211),
            (KeyFormat::Java, 1, 8_517_097_267_634_966_620),
            (KeyFormat::GoYcsb, 1, 6_284_782_960_179_005_422),
            (KeyFormat::CrdbOld, 1, 16_390_143_479_181_108_970),
            (KeyFormat::Crdb, 1, 15_449_794_709_565_471_098),
            (KeyFormat::Ordered, 1, 1),
            (KeyFormat::Ordered, u64::MAX, u64::MAX),
        ] {
            assert_eq!(
                format.number_in_key(number),
                Some(key),
                "{format:?} {number}"
            );
        }
        assert_eq!(KeyFormat::CrdbOld.number_in_key(1 << 56), None);
        for format in KeyFormat::ALL {
            assert_eq!(KeyFormat::find(format.name().as_bytes()), Some(format));
        }
        assert_eq!(KeyFormat::find(b"Java"), None);
    }

    /// The definition word by word, hashing from the beginning each time.
    fn by_definition(key: &str, field: &str, length: usize) -> String {
        let mut text = format!("{key}:{field}");
        while text.len() < length {
            text.push(':');
            let hash = text
                .bytes()
                .fold(0_i32, |h, b| h.wrapping_mul(31).wrapping_add(b.into()));
            text += &hash.to_string();
        }
        text.truncate(length);
        text
    }

    #[test]
    fn values_can_be_verified() {
        for length in [0, 1, 5, 13, 14, 15, 100, 1000] {
            let mut out = b"before".to_vec();
            write_value(b"user1", b"field0", length, &mut out);
            let expected = format!("before{}", by_definition("user1", "field0", length));
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
        // Java: "a:b:".hashCode() is 2948561.
        let mut out = Vec::new();
        write_value(b"a", b"b", 11, &mut out);
        assert_eq!(out, b"a:b:2948561");
    }
}
