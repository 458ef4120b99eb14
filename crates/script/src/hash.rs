//! The hash functions of the language and its pseudorandom permutation.

use sha1::{Digest, Sha1};

use crate::Prng;

/// `hash_fnv1a()`: FNV-1a over the eight bytes of `value`, low byte first.
pub fn fnv1a(value: i64, seed: i64) -> i64 {
    let basis = BASIS ^ seed as u64;
    value.to_le_bytes().into_iter().fold(basis, mix) as i64
}

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

#[inline]
fn mix(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(PRIME)
}

/// FNV-1a over bytes, 64 bits (Fowler, Noll, Vo; RFC 9923): exclusive or, then multiply.
#[inline]
pub fn fnv1a_bytes(bytes: &[u8]) -> u64 {
    bytes.iter().copied().fold(BASIS, mix)
}

/// [`fnv1a_bytes`] over the eight bytes of a number, low byte first.
#[inline]
pub(crate) fn fnv1a_of(number: u64) -> u64 {
    let four = |hash: u64, part: u32| part.to_le_bytes().into_iter().fold(hash, mix);
    let hash = four(BASIS, number as u32);
    match (number >> 32) as u32 {
        // A zero byte only multiplies, and most numbers end in four of them.
        0 => hash.wrapping_mul(PRIME.wrapping_pow(4)),
        high => four(hash, high),
    }
}

/// FNV-1 over bytes, 64 bits: multiply, then exclusive or.
#[inline]
pub fn fnv1_bytes(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| hash.wrapping_mul(PRIME) ^ u64::from(*byte);
    bytes.iter().fold(BASIS, mix)
}

/// SHA-1 (FIPS 180-4) over the eight octets of one or two integers, high octet first: the first
/// eight octets of the digest as an integer, high octet first.
pub fn sha1_of(first: i64, second: Option<i64>) -> i64 {
    let mut hasher = Sha1::new_with_prefix(first.to_be_bytes());
    if let Some(second) = second {
        hasher.update(second.to_be_bytes());
    }
    let digest = hasher.finalize();
    let octets = digest.iter().take(8);
    octets.fold(0, |number, octet| number << 8 | i64::from(*octet))
}

/// How an integer is laid out in bytes before it is hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Octets {
    /// Eight bytes, low byte first.
    Little,
    /// Eight bytes, high byte first.
    Big,
    /// Base-128 digits, low ones first, with zeros behind them up to eight bytes: numbers below
    /// 2^56.
    Uvarint8,
    /// The same in ten bytes: any number.
    Uvarint10,
}

impl Octets {
    /// By the names that scripts use.
    pub fn find(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"little" => Self::Little,
            b"big" => Self::Big,
            b"uvarint8" => Self::Uvarint8,
            b"uvarint10" => Self::Uvarint10,
            _ => return None,
        })
    }

    /// Calls `hash` with the bytes; `None` when the number does not fit.
    #[inline]
    pub fn of(self, number: u64, hash: impl Fn(&[u8]) -> u64) -> Option<u64> {
        Some(match self {
            Self::Little => hash(&number.to_le_bytes()),
            Self::Big => hash(&number.to_be_bytes()),
            Self::Uvarint8 if number >= 1 << 56 => return None,
            Self::Uvarint8 => hash(&uvarint(number)[..8]),
            Self::Uvarint10 => hash(&uvarint(number)),
        })
    }
}

/// Seven bits a byte, low ones first; all but the last have the high bit set.
fn uvarint(mut number: u64) -> [u8; 10] {
    let mut bytes = [0; 10];
    for byte in &mut bytes {
        *byte = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            break;
        }
        *byte |= 0x80;
    }
    bytes
}

/// `hash()` and `hash_murmur2()`: MurmurHash2's 64-bit form (Austin Appleby) over eight bytes.
pub fn murmur2(value: i64, seed: i64) -> i64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    const ROTATION: u32 = 47;
    let mut key = (value as u64).wrapping_mul(MULTIPLIER);
    key ^= key >> ROTATION;
    key = key.wrapping_mul(MULTIPLIER);
    let mut hash = seed as u64 ^ MULTIPLIER.wrapping_mul(8);
    hash = (hash ^ key).wrapping_mul(MULTIPLIER);
    hash = (hash ^ hash >> ROTATION).wrapping_mul(MULTIPLIER);
    (hash ^ hash >> ROTATION) as i64
}

/// `permute()`: where `value` (taken modulo `size`) goes in a permutation of `0..size` that the
/// seed chooses. `size` must be positive.
///
/// Six rounds; each multiplies (by an odd number), XORs and rotates the largest power of two of
/// values at the low end, then the same at the high end, then shifts all of them round.
pub fn permute(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let mut prng = Prng::seed(seed as u64);
    let size = size as u64;
    let bits = size.ilog2();
    let mask = (1_u64 << bits) - 1;
    let mut at = value as u64 % size;
    for _ in 0..6 {
        let factor = (prng.next_u64() & mask) | 1;
        let flip = prng.next_u64() & mask;
        if at <= mask {
            at = scramble(at, factor, flip, mask, bits);
        }
        let factor = (prng.next_u64() & mask) | 1;
        let flip = prng.next_u64() & mask;
        let from_end = size - 1 - at;
        if from_end <= mask {
            at = size - 1 - scramble(from_end, factor, flip, mask, bits);
        }
        let offset = prng.range_u64(0, size - 1);
        at = (at + offset) % size;
    }
    at as i64
}

fn scramble(value: u64, factor: u64, flip: u64, mask: u64, bits: u32) -> u64 {
    let value = (value.wrapping_mul(factor) ^ flip) & mask;
    (value << 1 & mask) | value >> (bits - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv_has_its_published_values() {
        // http://www.isthe.com/chongo/src/fnv/test_fnv.c
        assert_eq!(fnv1_bytes(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1_bytes(b"a"), 0xaf63_bd4c_8601_b7be);
        assert_eq!(fnv1_bytes(b"foobar"), 0x340d_8765_a4dd_a9c2);
        assert_eq!(fnv1a_bytes(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a_bytes(b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(fnv1a(7, 0) as u64, fnv1a_bytes(&7_u64.to_le_bytes()));
        let powers = (0..64).map(|bit| 1_u64 << bit);
        for number in powers.flat_map(|power| [power - 1, power, !power]) {
            assert_eq!(
                fnv1a_of(number),
                fnv1a_bytes(&number.to_le_bytes()),
                "{number}"
            );
        }
    }

    #[test]
    fn integers_become_the_octets_asked_for() {
        assert_eq!(uvarint(0), [0; 10]);
        assert_eq!(uvarint(300)[..3], [0xac, 0x02, 0]);
        assert_eq!(
            uvarint(u64::MAX),
            [255, 255, 255, 255, 255, 255, 255, 255, 255, 1]
        );
        let last = |bytes: &[u8]| u64::from(bytes[bytes.len() - 1]) + bytes.len() as u64 * 1000;
        assert_eq!(Octets::Little.of(1, last), Some(8000));
        assert_eq!(Octets::Big.of(1, last), Some(8001));
        assert_eq!(Octets::Uvarint8.of((1 << 56) - 1, last), Some(8127));
        assert_eq!(Octets::Uvarint8.of(1 << 56, last), None);
        assert_eq!(Octets::Uvarint10.of(u64::MAX, last), Some(10_001));
        assert_eq!(Octets::find(b"middle"), None);
    }

    #[test]
    fn a_permutation_takes_every_place_once() {
        for size in [1, 2, 3, 7, 8, 100, 1000] {
            let mut seen = vec![false; size as usize];
            for value in 0..size {
                seen[permute(value, size, 42) as usize] = true;
            }
            assert!(seen.iter().all(|&seen| seen), "size {size}");
        }
    }

    #[test]
    fn sizes_up_to_the_largest_do_not_overflow() {
        for value in [0, 1, -1, i64::MAX, i64::MIN] {
            assert!(permute(value, i64::MAX, -5) >= 0);
        }
    }
}
