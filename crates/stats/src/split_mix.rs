//! Numbers by which something is chosen: from a seed, so that it can be chosen again.

/// SplitMix64 (Steele, Lea & Flood: Fast splittable pseudorandom number generators, 2014), begun with this seed.
#[derive(Debug, Clone, Default)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// Any number of 64 bits.
    #[allow(
        clippy::should_implement_trait,
        reason = "it never ends, so that it gives no Option"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// At least 0, below 1.
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the authors' own program (<https://prng.di.unimi.it/splitmix64.c>) begun with 1234567.
    #[test]
    fn it_is_splitmix64() {
        let mut draw = SplitMix64(1_234_567);
        assert_eq!(draw.next(), 6_457_827_717_110_365_317);
        assert_eq!(draw.next(), 3_203_168_211_198_807_973);
        assert!((0.0..1.0).contains(&draw.share()));
    }
}
