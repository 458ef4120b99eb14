//! sysbench's random numbers: which generator a thread gets, and the distributions that no other has.
//! (Facts: sysbench 1.0.20, src/sb_rand.c, src/sysbench.c, src/drivers/pgsql/drv_pgsql.c.)

use crate::Prng;

/// Numbers of the C library that fill a thread's generator.
const FILLING: usize = 4;

/// What happens in sysbench before a thread's first event, as far as random numbers go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Start {
    /// Threads without events that begin before the first one with events: that of the reports, that of
    /// the schedule.
    pub threads_before: u32,
    /// Numbers that a thread has drawn when its first event begins: two for the name of each prepared
    /// statement.
    pub drawn: u32,
}

/// The generators of threads, without end: `--rand-seed` seeds the C library's random numbers, and each
/// thread takes four of them as it begins.
pub fn threads(seed: u32, start: Start) -> impl Iterator<Item = Prng> {
    let mut library = Library::seed(seed);
    for _ in 0..start.threads_before as usize * FILLING {
        library.next();
    }
    std::iter::repeat_with(move || {
        let mut half = || u64::from(library.next()) << 32 | u64::from(library.next());
        let mut prng = Prng::sysbench([half(), half()]);
        for _ in 0..start.drawn {
            prng.next_u64();
        }
        prng
    })
}

/// `random()` of glibc: an additive feedback generator of 31 words, filled by a linear congruential one.
/// (glibc, stdlib/random_r.c, its type 3)
struct Library {
    words: [u32; 31],
    at: usize,
}

impl Library {
    fn seed(seed: u32) -> Self {
        let mut words = [0; 31];
        let mut word = i64::from(seed.max(1) as i32);
        for (number, place) in words.iter_mut().enumerate() {
            if number > 0 {
                word = (16_807 * word).rem_euclid(2_147_483_647);
            }
            *place = word as u32;
        }
        let mut library = Self { words, at: 0 };
        for _ in 0..310 {
            library.next();
        }
        library
    }

    /// A number of 31 bits.
    fn next(&mut self) -> u32 {
        let sum = (self.at + 3) % self.words.len();
        self.words[sum] = self.words[sum].wrapping_add(self.words[self.at]);
        self.at = (self.at + 1) % self.words.len();
        self.words[sum] >> 1
    }
}

/// Its gaussian: the mean of so many uniform draws, in `low..=high`.
pub(crate) fn gaussian(low: i64, high: i64, draws: u32, prng: &mut Prng) -> i64 {
    let count = (high - low) as f64 + 1.0;
    let sum: f64 = (0..draws).map(|_| prng.double() * count).sum();
    low + (sum * (1.0 / f64::from(draws))) as i64
}

/// Its special: of `preferred` percent of the draws the value lies in the `part` percent in the middle, the
/// others are the mean of `draws` uniform ones. The first draw says which, and is used again.
pub(crate) fn special(
    (low, high): (i64, i64),
    draws: u32,
    (part, preferred): (f64, f64),
    prng: &mut Prng,
) -> i64 {
    let length = (high - low) as f64;
    let first = prng.double();
    let value = if first * (length * (100.0 / (100.0 - preferred))) < length {
        let sum: f64 = (0..draws).map(|_| prng.double()).sum();
        return (low as f64 + sum * length * (1.0 / f64::from(draws))) as i64;
    } else {
        let middle = length / 2.0 - length * (part / 200.0);
        first * (length * (part / 100.0) + 1.0) + middle
    };
    low.saturating_add(value as i64).min(high)
}

/// Its pareto: the lowest share `h` of the numbers gets the other share of the draws.
pub(crate) fn pareto(low: i64, high: i64, h: f64, prng: &mut Prng) -> i64 {
    let power = h.ln() / (1.0 - h).ln();
    let count = (high - low) as f64 + 1.0;
    low.saturating_add((count * prng.double().powf(power)) as i64)
        .min(high)
}

/// Digits in the place of `#`, small letters in that of `@`; a draw for each.
pub(crate) fn fill(mask: &mut [u8], prng: &mut Prng) {
    for byte in mask {
        let (first, count) = match *byte {
            b'#' => (b'0', 10.0),
            b'@' => (b'a', 26.0),
            _ => continue,
        };
        *byte = (f64::from(first) + prng.double() * count) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_c_library_are_glibcs() {
        // Printed by a C program on Debian 12, glibc 2.36.
        for (seed, numbers) in [
            (
                0,
                [1_804_289_383, 846_930_886, 1_681_692_777, 1_714_636_915],
            ),
            (
                1,
                [1_804_289_383, 846_930_886, 1_681_692_777, 1_714_636_915],
            ),
            (42, [71_876_166, 708_592_740, 1_483_128_881, 907_283_241]),
            (
                u32::MAX,
                [254_925_627, 1_205_188_300, 366_127_624, 1_401_405_153],
            ),
            (
                1 << 31,
                [1_336_741_213, 1_210_407_648, 1_447_044_896, 337_392_383],
            ),
        ] {
            let mut library = Library::seed(seed);
            assert_eq!([0; 4].map(|_| library.next()), numbers, "{seed}");
        }
    }

    #[test]
    fn threads_have_generators_of_their_own_behind_those_without_events() {
        let of = |threads_before, drawn| {
            let start = Start {
                threads_before,
                drawn,
            };
            threads(7, start).take(3).collect::<Vec<_>>()
        };
        let all = of(0, 0);
        assert!(all[0] != all[1] && all[1] != all[2]);
        assert_eq!(of(1, 0)[..2], all[1..]);
        let mut later = all[0].clone();
        later.next_u64();
        later.next_u64();
        assert_eq!(of(0, 2)[0], later);
    }
}
