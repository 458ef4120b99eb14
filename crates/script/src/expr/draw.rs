//! The draws that pgdyno adds to pgbench's: the request distributions of the field, and numbers of
//! counters that all clients share. Formulas and sources: docs/scripts.md.

use super::function::DrawFunction;
use super::text::as_text;
use super::world::World;
use crate::counter::CounterId;
use crate::draws::YCSB_THETA;
use crate::hash::fnv1a_of;
use crate::prng::MAX_ZIPFIAN_PARAM;
use crate::vars::MAX_TEXT_BYTES;
use crate::{Draws, EvalError, Prng, Value, sysbench};

/// The 64 characters of random strings: six random bits each. (RFC 4648, base64url.)
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// So many draws in a row may give a key that cannot be read yet.
const MAX_REDRAWS: u32 = 10_000;

/// So many draws one number may be the mean of.
const MAX_SUMMANDS: i64 = 1000;

pub(super) fn call(
    function: DrawFunction,
    arguments: &[Value],
    world: &mut World<'_>,
) -> Result<Value, EvalError> {
    let number = match function {
        DrawFunction::RandomString => return random_string(arguments[0].to_int()?, world),
        DrawFunction::RandomMask => return random_mask(arguments[0], world),
        DrawFunction::Sequential
        | DrawFunction::NextKey
        | DrawFunction::Fresh
        | DrawFunction::Acknowledged
        | DrawFunction::Readable => counted(function, arguments, world)?,
        _ => drawn(function, arguments, world)?,
    };
    Ok(Value::Int(number))
}

/// The bounds that a draw begins with.
pub(super) fn range(low: Value, high: Value) -> Result<(i64, i64), EvalError> {
    let (low, high) = (low.to_int()?, high.to_int()?);
    if low > high {
        return Err(EvalError::EmptyRange);
    }
    if high
        .checked_sub(low)
        .and_then(|d| d.checked_add(1))
        .is_none()
    {
        return Err(EvalError::RangeTooLarge);
    }
    Ok((low, high))
}

fn random_string(length: i64, world: &mut World<'_>) -> Result<Value, EvalError> {
    let length = length_of_text(length).ok_or(EvalError::TextTooLong(MAX_TEXT_BYTES))?;
    let prng = &mut *world.prng;
    let text = world
        .vars
        .make_text(|out| write_random(length, prng, out))?;
    Ok(Value::Text(text))
}

/// How many bytes a text of this length has, which is none if it is below 0; `None` if that is too long.
#[inline]
pub(super) fn length_of_text(length: i64) -> Option<usize> {
    let length = usize::try_from(length.max(0)).ok()?;
    (length <= MAX_TEXT_BYTES).then_some(length)
}

pub(super) fn write_random(length: usize, prng: &mut Prng, out: &mut Vec<u8>) {
    // As many as one number gives; four of its bits are left over.
    const AT_ONCE: usize = 10;
    let begin = out.len();
    out.resize(begin + length.next_multiple_of(AT_ONCE), 0);
    for characters in out[begin..].as_chunks_mut::<AT_ONCE>().0 {
        let bits = prng.next_u64();
        for (at, character) in characters.iter_mut().enumerate() {
            *character = ALPHABET[(bits >> (58 - 6 * at)) as usize % ALPHABET.len()];
        }
    }
    out.truncate(begin + length);
}

fn random_mask(mask: Value, world: &mut World<'_>) -> Result<Value, EvalError> {
    let mask = as_text(mask, world.vars)?;
    let from = world.vars.made_length();
    let length = world.vars.bytes(mask).len();
    world.vars.append(mask, 0..length);
    sysbench::fill(world.vars.made_mut(from), world.prng);
    world.vars.made_since(from).map(Value::Text)
}

/// A draw between bounds, which are its first two arguments.
fn drawn(
    function: DrawFunction,
    arguments: &[Value],
    world: &mut World<'_>,
) -> Result<i64, EvalError> {
    let (low, high) = range(arguments[0], arguments[1])?;
    // Fits: `range` has seen to it that this is an i64.
    let count = (high - low + 1) as u64;
    let theta = |index: usize| theta(arguments.get(index));
    Ok(match function {
        DrawFunction::Zipfian => {
            let seed = arguments.get(3).map(|seed| seed.to_int()).transpose()?;
            let mut seeded = seed.map(|seed| Prng::seed(seed as u64));
            let prng = seeded.as_mut().unwrap_or(world.prng);
            low + world.draws.zipfian(count, theta(2)?, prng) as i64
        }
        DrawFunction::Latest => high - world.draws.zipfian(count, theta(2)?, world.prng) as i64,
        DrawFunction::YcsbZipfian => {
            low + world.draws.ycsb_rank_of(count, count, world.prng) as i64
        }
        DrawFunction::YcsbLatest => {
            // YCSB's range ends one before the oldest.
            let ranks = (count - 1).max(1);
            let begin = arguments[2].to_int()?.saturating_sub(low).max(1) as u64;
            high - world.draws.ycsb_rank_of(ranks, begin, world.prng) as i64
        }
        DrawFunction::ScrambledZipfian => {
            let theta = theta(2)?;
            let readable = match arguments.get(3) {
                Some(readable) => readable.to_int()?,
                None => high,
            };
            let (draws, prng) = (&mut *world.draws, &mut *world.prng);
            let key = drawn_until_readable((low, count), readable, || draws.ycsb_rank(theta, prng));
            return key.ok_or(EvalError::NothingReadable {
                tries: MAX_REDRAWS,
                readable,
            });
        }
        DrawFunction::SysbenchGaussian => {
            sysbench::gaussian(low, high, summands(arguments[2])?, world.prng)
        }
        DrawFunction::SysbenchSpecial => {
            let summands = summands(arguments[2])?;
            let part = percentage("the part that is preferred", arguments[3])?;
            let preferred = percentage("how often it is drawn from", arguments[4])?;
            sysbench::special((low, high), summands, (part, preferred), world.prng)
        }
        DrawFunction::SysbenchPareto => {
            let h = fraction("the shape of pareto", arguments[2])?;
            sysbench::pareto(low, high, h, world.prng)
        }
        DrawFunction::Hotspot => {
            let of_data = fraction("the fraction of the data", arguments[2])?;
            let of_operations = fraction("the fraction of the operations", arguments[3])?;
            let hot = ((count as f64 * of_data) as u64).min(count);
            let is_hot = world.prng.double() < of_operations;
            // Where one of the sets is empty, everything goes to the other.
            let (from, to) = if hot == count || (is_hot && hot > 0) {
                (0, hot - 1)
            } else {
                (hot, count - 1)
            };
            low + world.prng.range_u64(from, to) as i64
        }
        DrawFunction::Exponential => {
            let percentile = arguments[2].to_double()?;
            if !(percentile > 0.0 && percentile < 100.0) {
                return Err(EvalError::Percentile(percentile));
            }
            let fraction = fraction("the fraction of the data", arguments[3])?;
            let of_keys = match arguments.get(4) {
                Some(keys) => keys.to_int()?.max(1) as f64,
                None => count as f64,
            };
            let mean = of_keys * fraction / -(-percentile / 100.0).ln_1p();
            // YCSB draws again when a sample lies beyond the range; this gives the same
            // distribution at once.
            let beyond = (-(count as f64) / mean).exp_m1();
            let sample = -(world.prng.double() * beyond).ln_1p() * mean;
            high - (sample as i64).clamp(0, high - low)
        }
        _ => world.prng.range(low, high),
    })
}

/// YCSB's request distribution: the rank is drawn of ten thousand million, its hash says which key
/// it is.
#[inline]
pub(super) fn scrambled((low, count): (i64, u64), rank: u64) -> i64 {
    low + ((fnv1a_of(rank) as i64).unsigned_abs() % count) as i64
}

/// The same; keys that cannot be read yet are drawn again. `None` if all of many are such.
#[inline]
pub(super) fn drawn_until_readable(
    range: (i64, u64),
    readable: i64,
    mut rank: impl FnMut() -> u64,
) -> Option<i64> {
    for _ in 0..MAX_REDRAWS {
        let key = scrambled(range, rank());
        if key <= readable {
            return Some(key);
        }
    }
    None
}

pub(super) fn theta(given: Option<&Value>) -> Result<f64, EvalError> {
    let theta = match given {
        Some(theta) => theta.to_double()?,
        None => YCSB_THETA,
    };
    if theta > 0.0 && theta <= MAX_ZIPFIAN_PARAM {
        Ok(theta)
    } else {
        Err(EvalError::Theta(theta))
    }
}

fn fraction(name: &'static str, given: Value) -> Result<f64, EvalError> {
    let value = given.to_double()?;
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(EvalError::Fraction { name, value })
    }
}

fn percentage(name: &'static str, given: Value) -> Result<f64, EvalError> {
    let value = given.to_double()?;
    if (0.0..=100.0).contains(&value) {
        Ok(value)
    } else {
        Err(EvalError::Percentage { name, value })
    }
}

fn summands(given: Value) -> Result<u32, EvalError> {
    let count = given.to_int()?;
    if (1..=MAX_SUMMANDS).contains(&count) {
        Ok(count as u32)
    } else {
        Err(EvalError::Summands {
            maximum: MAX_SUMMANDS,
            count,
        })
    }
}

/// What a counter says; its number is the first argument.
fn counted(
    function: DrawFunction,
    arguments: &[Value],
    world: &mut World<'_>,
) -> Result<i64, EvalError> {
    let counter = CounterId(arguments[0].to_int()? as u32);
    if function == DrawFunction::Sequential {
        let (low, high) = range(arguments[1], arguments[2])?;
        let count = (high - low + 1) as u64;
        return Ok(low + (world.draws.next(counter)? % count) as i64);
    }
    let start = arguments[1].to_int()?;
    if matches!(
        function,
        DrawFunction::Acknowledged | DrawFunction::Readable
    ) {
        let number = match function {
            DrawFunction::Acknowledged => acknowledged(counter, start, world.draws),
            _ => readable(counter, start, arguments[2].to_int()?, world.draws),
        };
        if number.is_none() {
            world.draws.has(counter)?;
        }
        return number.ok_or(EvalError::Overflow("add"));
    }
    if function == DrawFunction::Fresh {
        return from_start(start, world.draws.fresh(counter)?).ok_or(EvalError::Overflow("add"));
    }
    let number = world.draws.next(counter)?;
    if let Some(count) = arguments.get(2) {
        let count = count.to_int()?;
        if !u64::try_from(count).is_ok_and(|count| number < count) {
            return Err(EvalError::Exhausted {
                name: world.draws.counter_name(counter).into(),
                count,
            });
        }
    }
    from_start(start, number).ok_or(EvalError::Overflow("add"))
}

/// The number of a counter, whose first one is `start`.
#[inline]
fn from_start(start: i64, number: u64) -> Option<i64> {
    start.checked_add(i64::try_from(number).ok()?)
}

/// The last number up to which all are settled; `None` if there is no such counter, or no such number.
#[inline]
pub(super) fn acknowledged(counter: CounterId, start: i64, draws: &mut Draws) -> Option<i64> {
    from_start(start, draws.settled(counter)?)?.checked_sub(1)
}

/// The number nearest to this one that this generator draws; `None` as above.
#[inline]
pub(super) fn readable(counter: CounterId, start: i64, wanted: i64, draws: &Draws) -> Option<i64> {
    // Below the start, or too far from it for a counter: no number of the counter.
    let distance = wanted.checked_sub(start).map(u64::try_from);
    let Some(Ok(distance)) = distance else {
        return Some(wanted);
    };
    from_start(start, draws.own(counter, distance)?)
}
