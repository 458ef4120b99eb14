//! Random numbers as pgbench 18 draws them: the same seed gives the same values.
//!
//! The generator is xoroshiro128** by Blackman and Vigna, its state filled by splitmix64
//! (<https://prng.di.unimi.it/>). Who gets which generator is in [`crate::seeds`]. Beside it there is
//! sysbench's ([`Prng::sysbench`]).

/// The least parameter of [`Prng::gaussian`].
pub const MIN_GAUSSIAN_PARAM: f64 = 2.0;
/// The least parameter of [`Prng::zipfian`].
pub const MIN_ZIPFIAN_PARAM: f64 = 1.001;
/// The greatest parameter of [`Prng::zipfian`].
pub const MAX_ZIPFIAN_PARAM: f64 = 1000.0;

/// A generator. Cloning saves its state, which is how a retried transaction gets the same values
/// again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prng {
    s0: u64,
    s1: u64,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Pgbench,
    /// sysbench's: xoroshiro128+, with the constants of 2016.
    Sysbench,
}

fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut value = *state;
    value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

impl Prng {
    /// A generator from a 64-bit seed.
    pub fn seed(seed: u64) -> Self {
        let mut state = seed;
        let s0 = splitmix64(&mut state);
        let s1 = splitmix64(&mut state);
        // All zeroes would stay all zeroes for ever; the replacement is PostgreSQL's (Knuth's).
        if s0 == 0 && s1 == 0 {
            return Self {
                s0: 0x5851_f42d_4c95_7f2d,
                s1: 0x1405_7b7e_f767_814f,
                kind: Kind::Pgbench,
            };
        }
        Self {
            s0,
            s1,
            kind: Kind::Pgbench,
        }
    }

    /// sysbench's generator in this state: xoroshiro128+. Its `random()` scales a double, where pgbench's
    /// draws integers until one fits. (sysbench 1.0.20, src/sb_rand.c, src/xoroshiro128plus.h)
    pub fn sysbench([s0, s1]: [u64; 2]) -> Self {
        Self {
            s0,
            s1,
            kind: Kind::Sysbench,
        }
    }

    /// Uniform over all 64-bit numbers.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let (s0, s1) = (self.s0, self.s1);
        let mixed = s1 ^ s0;
        match self.kind {
            Kind::Pgbench => {
                self.s0 = s0.rotate_left(24) ^ mixed ^ mixed << 16;
                self.s1 = mixed.rotate_left(37);
                s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
            }
            Kind::Sysbench => {
                self.s0 = s0.rotate_left(55) ^ mixed ^ mixed << 14;
                self.s1 = mixed.rotate_left(36);
                s0.wrapping_add(s1)
            }
        }
    }

    /// Uniform in `low..=high`, without bias: numbers of just enough bits are drawn until one is
    /// in the range. `low` when the range is empty or a single number, and then nothing is drawn.
    #[inline]
    pub fn range_u64(&mut self, low: u64, high: u64) -> u64 {
        if high <= low {
            return low;
        }
        let range = high - low;
        let shift = range.leading_zeros();
        loop {
            let value = self.next_u64() >> shift;
            if value <= range {
                return low + value;
            }
        }
    }

    /// [`Prng::range`] where that only takes integers: as pgbench draws.
    #[inline(always)]
    pub(crate) fn range_of_integers(&mut self, low: i64, high: i64) -> Option<i64> {
        let length = high.wrapping_sub(low) as u64;
        match self.kind {
            Kind::Pgbench => Some(low.wrapping_add(self.range_u64(0, length) as i64)),
            Kind::Sysbench => None,
        }
    }

    /// Uniform in `low..=high`: the language's `random()`. The range must not be empty, and its
    /// length must fit an integer. sysbench's draws for a single number, too.
    #[inline]
    pub fn range(&mut self, low: i64, high: i64) -> i64 {
        if let Some(number) = self.range_of_integers(low, high) {
            return number;
        }
        let count = high.wrapping_sub(low) as f64 + 1.0;
        // Rounding may reach the end of the range.
        ((low as f64 + self.double() * count) as i64).min(high)
    }

    /// Uniform in `[0, 1)`, with 52 random bits.
    #[inline]
    pub fn double(&mut self) -> f64 {
        (self.next_u64() >> 12) as f64 * (1.0 / (1_u64 << 52) as f64)
    }

    /// Uniform in `(0, 1]`, whose logarithm is finite.
    fn double_above_zero(&mut self) -> f64 {
        1.0 - self.double()
    }

    /// Normal with mean 0 and standard deviation 1, by the Box-Muller transform.
    pub fn normal(&mut self) -> f64 {
        let radius = self.double_above_zero();
        let angle = self.double_above_zero();
        (-2.0 * radius.ln()).sqrt() * (2.0 * std::f64::consts::PI * angle).sin()
    }

    /// `random_exponential()`: truncated exponential over `low..=high`; `parameter` > 0.
    pub fn exponential(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        let cut = (-parameter).exp();
        let uniform = self.double_above_zero();
        let share = -(cut + (1.0 - cut) * uniform).ln() / parameter;
        spread(low, high, share)
    }

    /// `random_gaussian()`: normal, truncated at `parameter` standard deviations either side and
    /// spread over `low..=high`; `parameter` >= [`MIN_GAUSSIAN_PARAM`].
    pub fn gaussian(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        let deviation = loop {
            let deviation = self.normal();
            // Not a range test: a NaN parameter must end the loop.
            if !(deviation < -parameter || deviation >= parameter) {
                break deviation;
            }
        };
        spread(low, high, (deviation + parameter) / (parameter * 2.0))
    }

    /// `random_zipfian()`: Zipf's law over `low..=high`, the lowest being the most frequent, by
    /// rejection (Devroye, Non-Uniform Random Variate Generation, p. 550-551). `parameter` within
    /// [`MIN_ZIPFIAN_PARAM`] and [`MAX_ZIPFIAN_PARAM`]; slow close to the former.
    pub fn zipfian(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        let count = high.wrapping_sub(low).wrapping_add(1);
        if count <= 1 {
            return low;
        }
        let power = parameter - 1.0;
        // Hidden from the optimiser, which would put exp2 in its place: another last bit.
        let b = std::hint::black_box(2.0_f64).powf(power);
        loop {
            let u = self.double();
            let v = self.double();
            let x = u.powf(-1.0 / power).floor();
            let t = (1.0 + 1.0 / x).powf(power);
            if v * x * (t - 1.0) / (b - 1.0) <= t / b && x <= count as f64 {
                return low.wrapping_sub(1).wrapping_add(x as i64);
            }
        }
    }

    /// Exponential with mean 1: the waiting time of a Poisson process of rate 1.
    pub fn waiting(&mut self) -> f64 {
        -self.double_above_zero().ln()
    }

    /// A waiting time with mean `center`, rounded: the gaps of pgbench's Poisson schedule (`-R`).
    pub fn poisson(&mut self, center: f64) -> i64 {
        (self.waiting() * center + 0.5) as i64
    }
}

/// `share` in `[0, 1)` of the way from `low` to `high`.
fn spread(low: i64, high: i64, share: f64) -> i64 {
    let count = high.wrapping_sub(low).wrapping_add(1);
    low.wrapping_add((count as f64 * share) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_or_single_range_draws_nothing() {
        let mut prng = Prng::seed(1);
        let before = prng.clone();
        assert_eq!(prng.range(5, 5), 5);
        assert_eq!(prng.range_u64(7, 3), 7);
        assert_eq!(prng.zipfian(4, 4, 2.0), 4);
        assert_eq!(prng, before);
    }

    #[test]
    fn values_stay_in_their_ranges() {
        let mut prng = Prng::seed(99);
        for _ in 0..20_000 {
            assert!((-3..=4).contains(&prng.range(-3, 4)));
            assert!((1..=10).contains(&prng.gaussian(1, 10, 2.0)));
            assert!((1..=10).contains(&prng.exponential(1, 10, 0.1)));
            assert!((1..=10).contains(&prng.zipfian(1, 10, 1.001)));
            assert!((0.0..1.0).contains(&prng.double()));
            assert!(prng.poisson(100.0) >= 0);
        }
        assert!(prng.range(i64::MIN, -2) <= -2);
        assert!(prng.range(0, i64::MAX - 1) >= 0);
        let mut prng = Prng::sysbench([3, 4]);
        for _ in 0..20_000 {
            assert!((-3..=4).contains(&prng.range(-3, 4)));
            assert!(prng.range(i64::MAX - 2, i64::MAX) >= i64::MAX - 2);
        }
    }

    #[test]
    fn the_schedules_gaps_have_the_asked_mean() {
        let mut prng = Prng::seed(7);
        let sum: i64 = (0..100_000).map(|_| prng.poisson(500.0)).sum();
        let mean = sum as f64 / 100_000.0;
        assert!((mean - 500.0).abs() < 10.0, "{mean}");
    }
}
