//! The hash functions of the language and its pseudorandom permutation.

use crate::Prng;

/// `hash_fnv1a()`: FNV-1a over the eight bytes of `value`, low byte first.
pub fn fnv1a(value: i64, seed: i64) -> i64 {
    let basis = 0xcbf2_9ce4_8422_2325 ^ seed as u64;
    let hash = value.to_le_bytes().iter().fold(basis, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash as i64
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

/// A bijection of `0..=mask`.
fn scramble(value: u64, factor: u64, flip: u64, mask: u64, bits: u32) -> u64 {
    let value = (value.wrapping_mul(factor) ^ flip) & mask;
    (value << 1 & mask) | value >> (bits - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

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
