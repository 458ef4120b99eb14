//! Random numbers of simulations.

use pgdyno_stats::SplitMix64;

/// [`SplitMix64`] from a seed, with normal deviates of Box & Muller (1958).
pub struct Draw(SplitMix64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64(seed))
    }

    /// Above 0, below 1.
    pub fn uniform(&mut self) -> f64 {
        ((self.0.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}
