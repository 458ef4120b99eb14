//! Who gets which random numbers: the order in which pgbench deals generators from one seed.
//!
//! A base sequence is seeded with the user's number. Each generator that is handed out is seeded
//! with the base's next number, in this order:
//!
//! 1. one for each client, for the functions of its scripts (client 0 first);
//! 2. the value of `:default_seed`, only if `-D default_seed=…` did not set it;
//! 3. for each thread three: choosing the script, the schedule's gaps (`-R`), sampling the log.
//!
//! `:random_seed` is the user's number itself, as a signed integer.

use crate::Prng;

/// The generators of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadSeeds {
    /// Draws the script of the next transaction: `range(0, total_weight - 1)`, and only when there
    /// is more than one script.
    pub choose: Prng,
    pub throttle: Prng,
    /// Draws whether a transaction is logged.
    pub sample: Prng,
}

/// All generators of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seeds {
    /// The value of `:random_seed`, unless `-D` set it.
    pub random_seed: i64,
    /// The value of `:default_seed`; `None` when `-D` set it.
    pub default_seed: Option<i64>,
    pub clients: Vec<Prng>,
    pub threads: Vec<ThreadSeeds>,
}

impl Seeds {
    /// Deals the generators of `clients` and `threads` from `seed`. `default_seed_given`: whether
    /// `-D default_seed=…` was, in which case nothing is drawn for it.
    pub fn deal(seed: u64, clients: usize, threads: usize, default_seed_given: bool) -> Self {
        let mut base = Prng::seed(seed);
        let clients = (0..clients).map(|_| Prng::seed(base.next_u64())).collect();
        let default_seed = (!default_seed_given).then(|| base.next_u64() as i64);
        let mut next = || Prng::seed(base.next_u64());
        let threads = (0..threads)
            .map(|_| ThreadSeeds {
                choose: next(),
                throttle: next(),
                sample: next(),
            })
            .collect();
        Self {
            random_seed: seed as i64,
            default_seed,
            clients,
            threads,
        }
    }
}

/// What `--random-seed` or `PGBENCH_RANDOM_SEED` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeedChoice {
    /// Microseconds since 1970: the default.
    Time,
    /// A number from the system's random source.
    Rand,
    Number(u64),
}

/// A seed option that is none of the choices. Its text is pgbench's; the detail line that pgbench
/// prints after it is [`SEED_DETAIL`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unrecognized random seed option \"{0}\"")]
pub struct SeedError(pub String);

/// The detail of a [`SeedError`], as pgbench words it.
pub const SEED_DETAIL: &str = "Expecting an unsigned integer, \"time\" or \"rand\".";

impl std::str::FromStr for SeedChoice {
    type Err = SeedError;

    /// Spaces and a sign may precede the number, nothing may follow it; a negative number counts
    /// down from 2^64, one too large becomes the largest (C's `sscanf`).
    fn from_str(text: &str) -> Result<Self, SeedError> {
        match text {
            "time" => return Ok(SeedChoice::Time),
            "rand" => return Ok(SeedChoice::Rand),
            _ => {}
        }
        let error = || SeedError(text.to_owned());
        let rest = text.trim_start_matches(|c| u8::try_from(c).is_ok_and(crate::number::is_space));
        let (negative, digits) = match rest.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, rest.strip_prefix('+').unwrap_or(rest)),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(error());
        }
        // Only digits are left, so that a failure can only be a number too large.
        Ok(SeedChoice::Number(match digits.parse::<u64>() {
            Ok(number) if negative => number.wrapping_neg(),
            Ok(number) => number,
            Err(_) => u64::MAX,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_parsed_as_sscanf_does() {
        for (text, choice) in [
            ("time", SeedChoice::Time),
            ("rand", SeedChoice::Rand),
            ("42", SeedChoice::Number(42)),
            (" +7", SeedChoice::Number(7)),
            ("-1", SeedChoice::Number(u64::MAX)),
            ("99999999999999999999999", SeedChoice::Number(u64::MAX)),
        ] {
            assert_eq!(text.parse(), Ok(choice), "{text}");
        }
        for bad in ["", "Time", "0x10", "1 ", "1.5", "--1", "é"] {
            let error = bad.parse::<SeedChoice>().unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("unrecognized random seed option \"{bad}\"")
            );
        }
    }

    #[test]
    fn a_given_default_seed_draws_nothing() {
        let with = Seeds::deal(5, 2, 2, true);
        let without = Seeds::deal(5, 2, 2, false);
        assert_eq!(with.clients, without.clients);
        assert_eq!(with.default_seed, None);
        // What was drawn for the default seed now makes the first thread's first generator.
        assert_eq!(
            with.threads[0].choose,
            Prng::seed(without.default_seed.unwrap() as u64)
        );
        assert_eq!(with.threads[0].throttle, without.threads[0].choose);
    }
}
