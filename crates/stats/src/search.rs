//! The search for the highest rate that keeps a latency within a limit: which step comes next, and
//! the answer. It knows the steps that were made and nothing else, neither clocks nor servers, so
//! that simulations drive the same code as trials.
//!
//! First the limit is enclosed: the rate doubles, or halves, until one step is within and one over;
//! what lies between is cut until the two are near. Then steps go a little below and above the
//! estimate by turns, and a line through them gives the answer. `docs/statistics.md` has the
//! formulas and what simulations show.

use crate::interval::Interval;
use crate::student::two_sided_t;

/// What is to be found out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Asked {
    /// The limit of the latency.
    pub limit: f64,
    /// The half width of the interval as a share of the answer, such as 0.05.
    pub width: f64,
    /// All steps together may take so many seconds.
    pub time_s: f64,
    /// The first steps are measured for so many seconds.
    pub step_s: f64,
    /// A step takes so many seconds besides, such as its warm-up.
    pub beside_s: f64,
    /// Where it begins when no step was made.
    pub first_rate: f64,
}

/// A step that was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Transactions a second that were to start.
    pub rate: f64,
    /// It was measured for so many seconds.
    pub seconds: f64,
    /// Its middle, in seconds since the search began.
    pub at_s: f64,
    /// What it took altogether, in seconds.
    pub took_s: f64,
    /// The latency; infinite where the server fell behind, so that it grows with the step's length;
    /// not a number where there were too few transactions.
    pub latency: f64,
    /// The 95 % interval of that latency, from the step's blocks; an end that is not known is 0 or
    /// infinite.
    pub between: (f64, f64),
    /// How many effective transactions lie beyond the percentile; 0 where that is not known.
    pub effective_beyond: f64,
}

/// On which side of the limit a step lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// All of its interval is within the limit.
    Within,
    /// All of its interval is over the limit.
    Over,
    /// The interval crosses the limit, or is not known.
    CannotTell,
}

impl Step {
    /// On which side of this limit it surely lies.
    pub fn side(&self, limit: f64) -> Side {
        match self.between {
            (_, high) if high <= limit => Side::Within,
            (low, _) if low > limit => Side::Over,
            _ => Side::CannotTell,
        }
    }

    fn is_long_enough(&self) -> bool {
        self.effective_beyond >= EFFECTIVE_BEYOND_MIN
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    Step {
        /// Transactions a second to start.
        rate: f64,
        /// To be measured for so many seconds.
        seconds: f64,
    },
    End(End),
}

/// Why a search is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The interval is as narrow as asked.
    Narrow,
    /// Another step would exceed the time.
    Time,
    /// The limit is broken at the lowest rates that the time allows, or at any rate: p99 does not fall with it.
    NothingWithin,
}

/// How much load keeps the limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// The estimate, where the steps enclose it.
    pub rate: Option<f64>,
    /// The lower end of the interval; `None`: no step is surely within.
    pub low: Option<f64>,
    /// The upper end; `None`: no step is surely over.
    pub high: Option<f64>,
    /// Where a line through the steps gives estimate and interval.
    pub line: Option<Line>,
}

impl Answer {
    /// Half of the interval as a share of the estimate.
    pub fn half_width(&self) -> Option<f64> {
        let (rate, low, high) = (self.rate?, self.low?, self.high?);
        Some((high - low) / 2.0 / rate)
    }
}

/// A line through the steps near the limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    pub steps: usize,
    /// The time it is about, the mean of these steps' middles, in seconds since the search began.
    pub at_s: f64,
    /// By how much of itself the answer changed from the first of these steps to the last one.
    pub drift: f64,
    /// Whether that change is more than chance (t-test, 5 %).
    pub is_drift_significant: bool,
}

/// Steps through which a line gives an answer that ends the search.
const STEPS_ENOUGH: usize = 14;
/// Steps through which there is a line at all.
const STEPS_MIN: usize = 6;
/// Effective transactions beyond the percentile of a step. Fewer than ten, which a percentile that is
/// shown alone needs: here a dozen steps are taken together, and only their bias must be small.
const EFFECTIVE_BEYOND_MIN: f64 = 4.0;
/// Two rates this near to each other are near enough for a line between them.
const NEAR: f64 = 1.35;
/// Two rates, one half of the other, between which another step says less than one beyond them.
const CLOSE: f64 = 2.05;
/// Steps aim at 1 / latency this much above and below that of the limit.
const AIM: f64 = 0.3;
/// How far the steps of a line may lie from its middle, in units of the aim.
const WINDOW: f64 = 1.7;
/// The aim, as a share of the rate, stays between these.
const AIM_LEAST: f64 = 0.01;
const AIM_MOST: f64 = 0.12;
/// So many steps of one length must fit into the time.
const STEPS_IN_TIME: f64 = 24.0;
/// A p99 needs a thousand transactions; some more, as they come at random.
const TRANSACTIONS_MIN: f64 = 1_500.0;
/// Fewer that are due may come to less than the thousand: four standard errors.
const TRANSACTIONS_LEAST: f64 = 1_130.0;
/// A lower rate is not worth a step unless it is below this share of the one that is over the limit.
const LOWER: f64 = 0.9;
/// So many of the lowest rates are surely over the limit, and p99 has not fallen below this share from the highest of
/// them to the lowest one: load is not what makes it.
const FLAT_RATES: usize = 3;
const FLAT: f64 = 0.8;
/// A step whose latency is this many times above or below the limit tells on which side it lies,
/// however short.
const CLEAR: f64 = 2.0;
/// A p99 is so many scales of an exponential tail away from its beginning: ln 100.
const SCALES: f64 = 4.605;
/// Below and above by turns, so that a drift of the server hits both alike.
const SIDES: [f64; 4] = [-1.0, 1.0, 1.0, -1.0];
/// The confidence of the interval.
const LEVEL: f64 = 0.95;

/// Which step follows from those so far, in the order in which they were made.
pub fn next(asked: &Asked, steps: &[Step]) -> Next {
    let (rate, seconds) = match wanted(asked, steps) {
        Next::Step { rate, seconds } => (tidy(rate), seconds),
        end => return end,
    };
    if is_narrow(asked, steps) {
        return Next::End(End::Narrow);
    }
    let left = left_s(asked, steps);
    if steps.is_empty() || seconds <= left {
        return Next::Step { rate, seconds };
    }
    // A shorter step is better than none while a side of the limit has not been seen.
    let is_counted = left >= asked.step_s && rate * left >= TRANSACTIONS_LEAST;
    match enclosure(asked, steps) {
        (Some(_), Some(_)) => Next::End(End::Time),
        _ if is_counted => Next::Step {
            rate,
            seconds: left,
        },
        _ => Next::End(End::Time),
    }
}

/// How long another step may be measured.
fn left_s(asked: &Asked, steps: &[Step]) -> f64 {
    let spent: f64 = steps.iter().map(|step| step.took_s).sum();
    asked.time_s - spent - asked.beside_s
}

/// Two single steps that enclose the limit closely may both have been lucky: it takes a line, or a
/// server that falls behind.
fn is_narrow(asked: &Asked, steps: &[Step]) -> bool {
    let answer = answer(asked, steps);
    let is_sure = match answer.line {
        Some(line) => line.steps >= STEPS_ENOUGH,
        None => falls_behind(asked, steps),
    };
    is_sure && answer.half_width().is_some_and(|half| half <= asked.width)
}

/// Whether the limit is only broken where the server falls behind: no line leads there.
fn falls_behind(asked: &Asked, steps: &[Step]) -> bool {
    let (_, high) = enclosure(asked, steps);
    let mut there = steps.iter().filter(|step| Some(step.rate) == high);
    there.any(|step| step.latency == f64::INFINITY)
}

/// The same, were there no end to time and precision.
fn wanted(asked: &Asked, steps: &[Step]) -> Next {
    let Some(last) = steps.last() else {
        return Next::Step {
            rate: asked.first_rate,
            seconds: asked.step_s,
        };
    };
    let longest = longest_s(asked);
    let length = current_s(asked, steps);
    // Further up transactions come by themselves.
    let up = |rate: f64| Next::Step {
        rate,
        seconds: length.max(TRANSACTIONS_MIN / rate).min(longest),
    };
    // Below a rate that is over the limit a step is as long as its p99 needs.
    let step = |rate: f64| Next::Step {
        rate,
        seconds: length.max(TRANSACTIONS_MIN / rate),
    };
    // On which side a step lies must be known before it leads anywhere.
    let for_count = TRANSACTIONS_MIN / last.rate;
    if is_too_short(asked, steps, last) && last.seconds < longest.max(for_count) {
        let seconds = (2.0 * last.seconds).max(for_count);
        let has_few = last.latency.is_nan() && for_count > longest;
        return match enclosure(asked, steps) {
            // So few transactions say nothing: more of them do.
            (_, None) if has_few => up(2.0 * last.rate),
            _ => Next::Step {
                rate: last.rate,
                seconds: seconds.min(longest.max(for_count)),
            },
        };
    }
    match enclosure(asked, steps) {
        (None, None) => up(2.0 * last.rate),
        (Some(low), None) => up(2.0 * low),
        (None, Some(_)) if is_flat(asked, steps) => Next::End(End::NothingWithin),
        (None, Some(high)) => {
            let lowest = TRANSACTIONS_LEAST / left_s(asked, steps).max(0.0);
            let rate = lowest.max(high / 2.0);
            match steps.iter().filter(|step| step.rate == high).count() {
                _ if rate <= LOWER * high => step(rate),
                // A single step may have met a stall.
                1 => step(high),
                _ => Next::End(End::NothingWithin),
            }
        }
        (Some(low), Some(high)) => match place(asked, steps) {
            Some(place)
                if (high / low <= NEAR || place.is_fitted) && !falls_behind(asked, steps) =>
            {
                let side = SIDES[steps.len() % SIDES.len()];
                step(place.middle + side * place.aim)
            }
            _ => {
                let between = (low * high).sqrt();
                match outside(asked, steps, length.max(TRANSACTIONS_MIN / between)) {
                    _ if high / low > CLOSE => step(between),
                    // Where transactions are many a step is short.
                    Some(rate) if rate > high => up(rate),
                    Some(rate) => step(rate),
                    None => step(between),
                }
            }
        },
    }
}

/// Where the time has no room for a line through steps of this length, and no step is surely over the limit, or none
/// within it: a rate at which one may be. What is surely known then is the answer.
fn outside(asked: &Asked, steps: &[Step], length: f64) -> Option<f64> {
    let left = left_s(asked, steps);
    if left >= STEPS_MIN as f64 * (length + asked.beside_s) {
        return None;
    }
    let has = |side| steps.iter().any(|step| step.side(asked.limit) == side);
    let rates = steps.iter().map(|step| step.rate);
    if !has(Side::Over) {
        return Some(2.0 * rates.fold(0.0, f64::max));
    }
    let lower = rates.fold(f64::INFINITY, f64::min) / 2.0;
    let fits = left >= TRANSACTIONS_LEAST / lower;
    (!has(Side::Within) && fits).then_some(lower)
}

/// Whether a lower rate does not help: the lowest ones are surely over the limit, and p99 hardly falls with them.
fn is_flat(asked: &Asked, steps: &[Step]) -> bool {
    let over = |step: &&Step| step.side(asked.limit) == Side::Over && step.latency.is_finite();
    let mut lowest: Vec<&Step> = steps.iter().filter(over).collect();
    lowest.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    lowest.dedup_by_key(|step| step.rate);
    match lowest.get(..FLAT_RATES) {
        Some([least, .., most]) => least.latency >= FLAT * most.latency,
        _ => false,
    }
}

/// What the steps so far say.
pub fn answer(asked: &Asked, steps: &[Step]) -> Answer {
    if let Some(fitted) = place(asked, steps).and_then(|place| fit(asked, steps, &place)) {
        return fitted;
    }
    let surely = |side: Side| {
        steps
            .iter()
            .filter(move |step| step.side(asked.limit) == side)
            .map(|step| step.rate)
    };
    let low = surely(Side::Within).fold(None, greater);
    let high = surely(Side::Over)
        .filter(|rate| low.is_none_or(|low| *rate > low))
        .fold(None, less);
    let rate = match enclosure(asked, steps) {
        (Some(below), Some(above)) => Some((below * above).sqrt()),
        _ => None,
    };
    // The estimate is never outside of its interval.
    Answer {
        rate: rate.map(|rate| rate.clamp(low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY))),
        low,
        high,
        line: None,
    }
}

fn longest_s(asked: &Asked) -> f64 {
    (asked.time_s / STEPS_IN_TIME).max(asked.step_s)
}

/// Whether this step, the last one, tells too little: most of those of its length do, which are not
/// clearly on one side of the limit.
fn is_too_short(asked: &Asked, steps: &[Step], last: &Step) -> bool {
    if last.is_long_enough() || is_clear(asked, last) {
        return false;
    }
    let alike = steps
        .iter()
        .filter(|step| step.seconds >= last.seconds && !is_clear(asked, step));
    let (short, long): (Vec<&Step>, Vec<&Step>) = alike.partition(|step| !step.is_long_enough());
    short.len() > long.len()
}

fn is_clear(asked: &Asked, step: &Step) -> bool {
    let is_far = step.latency > CLEAR * asked.limit || step.latency < asked.limit / CLEAR;
    is_far || step.between.0 > asked.limit || step.between.1 < asked.limit
}

/// Steps are as long as those near the limit had to be.
fn current_s(asked: &Asked, steps: &[Step]) -> f64 {
    let near = steps
        .iter()
        .filter(|step| !step.latency.is_nan() && !is_clear(asked, step));
    let longest = near.map(|step| step.seconds).fold(asked.step_s, f64::max);
    longest.min(longest_s(asked))
}

/// The highest rate within and the lowest one over the limit, at the place that the fewest seconds
/// of steps contradict.
fn enclosure(asked: &Asked, steps: &[Step]) -> (Option<f64>, Option<f64>) {
    let mut known: Vec<&Step> = steps.iter().filter(|step| !step.latency.is_nan()).collect();
    known.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    let is_over = |step: &Step| step.latency > asked.limit;
    let contradicts = |at: usize| -> f64 {
        let below = known[..at].iter().filter(|step| is_over(step));
        let above = known[at..].iter().filter(|step| !is_over(step));
        below.chain(above).map(|step| step.seconds).sum()
    };
    // Steps at one rate are never divided.
    let is_place = |at: usize| at == 0 || at == known.len() || known[at - 1].rate < known[at].rate;
    let places = (0..=known.len()).filter(|at| is_place(*at));
    let best = places.min_by(|a, b| contradicts(*a).total_cmp(&contradicts(*b)));
    let at = best.unwrap_or(0);
    let below = at.checked_sub(1).map(|below| known[below].rate);
    (below, known.get(at).map(|step| step.rate))
}

struct Place {
    middle: f64,
    /// Distance of the steps to both sides.
    aim: f64,
    /// Whether a line through several steps has given it.
    is_fitted: bool,
}

/// From the two steps that enclose the limit, then from the steps around.
fn place(asked: &Asked, steps: &[Step]) -> Option<Place> {
    let (Some(low), Some(high)) = enclosure(asked, steps) else {
        return None;
    };
    let target = 1.0 / asked.limit;
    let at = |rate: f64| {
        let there = steps
            .iter()
            .filter(|step| step.rate == rate && !step.latency.is_nan());
        let inverses: Vec<f64> = there.map(|step| 1.0 / step.latency).collect();
        inverses.iter().sum::<f64>() / inverses.len() as f64
    };
    let (y_low, y_high) = (at(low), at(high));
    let slope = (y_high - y_low) / (high - low);
    let (middle, slope) = if slope < 0.0 {
        (low + (target - y_low) / slope, slope)
    } else {
        ((low + high) / 2.0, -target / low)
    };
    let aim = |middle: f64, slope: f64| {
        (AIM * target / -slope).clamp(AIM_LEAST * middle, AIM_MOST * middle)
    };
    let middle = middle.clamp(low, high);
    let mut place = Place {
        middle,
        aim: aim(middle, slope),
        is_fitted: false,
    };
    for _ in 0..3 {
        let Some(line) = Regression::of(&near(asked, steps, &place)) else {
            break;
        };
        if line.slope >= 0.0 || line.steps < STEPS_MIN {
            break;
        }
        let middle = line.rate + (target - line.inverse) / line.slope;
        // A line from few steps leads only so far.
        let middle = middle.clamp(place.middle - place.aim, place.middle + place.aim);
        place = Place {
            middle,
            aim: aim(middle, line.slope),
            is_fitted: true,
        };
    }
    Some(place)
}

/// Steps around a place that are not shorter than half of the current length.
fn near<'a>(asked: &Asked, steps: &'a [Step], place: &Place) -> Vec<&'a Step> {
    let length = current_s(asked, steps);
    let near = steps.iter().filter(|step| {
        step.latency.is_finite()
            && step.seconds > 0.45 * length
            && (step.rate - place.middle).abs() <= WINDOW * place.aim
    });
    near.collect()
}

/// Estimate and interval from a line through the steps around.
fn fit(asked: &Asked, steps: &[Step], place: &Place) -> Option<Answer> {
    let used = near(asked, steps, place);
    let line = Regression::of(&used).filter(|line| line.steps >= STEPS_MIN && line.slope < 0.0)?;
    let t = two_sided_t(LEVEL, line.steps - 3);
    let beyond = used.iter().map(|step| step.effective_beyond).sum::<f64>() / used.len() as f64;
    let target = line.unbiased(1.0 / asked.limit, beyond);
    let mut interval = line.crossing(target, t)?;
    // Where steps have so few values beyond the percentile, how low it lies is known only roughly: none
    // of it and twice as much are possible.
    if beyond < EFFECTIVE_BEYOND_MIN {
        let lies_low = target - line.unbiased(1.0 / asked.limit, 0.0);
        interval.low = line.crossing(target + lies_low, t)?.low;
        interval.high = line.crossing(target - lies_low, t)?.high;
    }
    let rate = line.rate + (target - line.inverse) / line.slope;
    let drift = -line.change_per_s / line.slope * line.seconds / rate;
    Some(Answer {
        rate: Some(rate),
        low: Some(interval.low),
        high: Some(interval.high),
        line: Some(Line {
            steps: line.steps,
            at_s: line.at_s,
            drift,
            is_drift_significant: line.change_per_s.abs() > t * line.variances.change.sqrt(),
        }),
    })
}

/// 1 / latency against rate and time, by least squares weighted with the steps' lengths. In a queue
/// 1 / latency falls nearly in a straight line as the rate grows (exactly so in M/M/1), and its
/// error is about the same below and above the limit, which that of a latency is not.
struct Regression {
    steps: usize,
    /// The weighted mean rate, where the line has `inverse` at the mean time.
    rate: f64,
    inverse: f64,
    at_s: f64,
    slope: f64,
    change_per_s: f64,
    /// From the first step to the last one.
    seconds: f64,
    /// The variance of a step's 1 / latency around the line.
    of_a_step: f64,
    variances: Variances,
}

/// Of the line's height at its mean rate and time, its slope and its change with time, and the
/// covariance of the first two. The jackknife's (HC3: MacKinnon & White 1985), as the steps' errors
/// are not equal: those over the limit are greater.
#[derive(Default)]
struct Variances {
    height: f64,
    both: f64,
    slope: f64,
    change: f64,
}

impl Regression {
    fn of(steps: &[&Step]) -> Option<Self> {
        let n = steps.len();
        if n < 4 {
            return None;
        }
        let weight: f64 = steps.iter().map(|step| step.seconds).sum();
        let mean = |of: fn(&Step) -> f64| {
            steps
                .iter()
                .map(|step| step.seconds * of(step))
                .sum::<f64>()
                / weight
        };
        let (x, t, y) = (
            mean(|step| step.rate),
            mean(|step| step.at_s),
            mean(|step| 1.0 / step.latency),
        );
        let sum = |of: &dyn Fn(f64, f64, f64) -> f64| -> f64 {
            let parts = steps.iter().map(|step| {
                step.seconds * of(step.rate - x, step.at_s - t, 1.0 / step.latency - y)
            });
            parts.sum()
        };
        let (xx, tt, xt) = (
            sum(&|x, _, _| x * x),
            sum(&|_, t, _| t * t),
            sum(&|x, t, _| x * t),
        );
        let (xy, ty) = (sum(&|x, _, y| x * y), sum(&|_, t, y| t * y));
        let determinant = xx * tt - xt * xt;
        if determinant.is_nan() || determinant <= 1e-9 * xx * tt {
            return None;
        }
        let slope = (xy * tt - ty * xt) / determinant;
        let change_per_s = (ty * xx - xy * xt) / determinant;
        let squares = sum(&|x, t, y| (y - slope * x - change_per_s * t).powi(2));
        // Each step's part in height, slope and change, and its error as if it were left out.
        let mut variances = Variances::default();
        for step in steps {
            let (x, t, y) = (step.rate - x, step.at_s - t, 1.0 / step.latency - y);
            let parts = [
                1.0 / weight,
                (x * tt - t * xt) / determinant,
                (t * xx - x * xt) / determinant,
            ];
            let leverage = step.seconds * (parts[0] + x * parts[1] + t * parts[2]);
            let error = y - slope * x - change_per_s * t;
            let error = step.seconds * error / (1.0 - leverage).max(0.05);
            variances.height += (parts[0] * error).powi(2);
            variances.both += parts[0] * parts[1] * error * error;
            variances.slope += (parts[1] * error).powi(2);
            variances.change += (parts[2] * error).powi(2);
        }
        let ends = steps.iter().map(|step| step.at_s);
        let ends = ends.fold((f64::MAX, f64::MIN), |(a, b), at| (a.min(at), b.max(at)));
        Some(Self {
            steps: n,
            rate: x,
            inverse: y,
            at_s: t,
            slope,
            change_per_s,
            seconds: ends.1 - ends.0,
            of_a_step: squares / (n - 3) as f64 / (weight / n as f64),
            variances,
        })
    }

    /// 1 / latency as steps show it on average where it is `inverse`. The mean of an inverse exceeds
    /// the inverse of the mean by the square of its error (delta method), and a percentile with
    /// `beyond` values beyond it lies low by half a value (of `beyond` and one), which in an exponential tail, as queues
    /// have it, is 1 / (2 (beyond + 1)) of the tail's scale.
    fn unbiased(&self, inverse: f64, beyond: f64) -> f64 {
        let low = if beyond > 0.0 {
            1.0 / (2.0 * (beyond + 1.0) * SCALES)
        } else {
            0.0
        };
        inverse * (1.0 + low) + self.of_a_step / inverse
    }

    /// The rates at which the line may have `target`, at its mean time (Fieller 1954); `None` where
    /// the slope may be none.
    fn crossing(&self, target: f64, t: f64) -> Option<Interval> {
        let (t2, above) = (t * t, self.inverse - target);
        let a = self.slope * self.slope - t2 * self.variances.slope;
        let b = self.slope * above - t2 * self.variances.both;
        let c = above * above - t2 * self.variances.height;
        let root = (b * b - a * c).max(0.0).sqrt();
        let end = |root: f64| self.rate + (-b + root) / a;
        (a > 0.0).then(|| Interval {
            low: end(-root),
            high: end(root),
            level: LEVEL,
        })
    }
}

/// Three digits are enough for a rate.
fn tidy(rate: f64) -> f64 {
    let unit = 10f64.powf(rate.log10().floor() - 2.0);
    // Through text: 0.1 steps are to be written as they are read.
    let rounded = (rate / unit).round() * unit;
    format!("{rounded:.3}").parse().unwrap_or(rounded)
}

fn greater(most: Option<f64>, rate: f64) -> Option<f64> {
    Some(most.map_or(rate, |most| most.max(rate)))
}

fn less(least: Option<f64>, rate: f64) -> Option<f64> {
    Some(least.map_or(rate, |least| least.min(rate)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: Asked = Asked {
        limit: 20.0,
        width: 0.05,
        time_s: 1_200.0,
        step_s: 10.0,
        beside_s: 1.0,
        first_rate: 100.0,
    };

    /// A server without chance: 1 / latency falls to nothing at 1,000 a second, where it falls behind.
    fn search(asked: &Asked, inverse: impl Fn(f64) -> f64) -> (Vec<Step>, End) {
        let mut steps: Vec<Step> = Vec::new();
        loop {
            let (rate, seconds) = match next(asked, &steps) {
                Next::Step { rate, seconds } => (rate, seconds),
                Next::End(end) => return (steps, end),
            };
            assert!(rate > 0.0 && seconds >= asked.step_s, "{rate} {seconds}");
            let is_counted = rate * seconds >= 1_000.0;
            let latency = match inverse(rate) {
                _ if !is_counted => f64::NAN,
                inverse if inverse <= 0.0 => f64::INFINITY,
                inverse => 1.0 / inverse,
            };
            steps.push(Step {
                rate,
                seconds,
                at_s: steps.len() as f64 * 11.0,
                took_s: seconds + asked.beside_s,
                latency,
                between: (0.95 * latency, 1.05 * latency),
                effective_beyond: if is_counted { 100.0 } else { 0.0 },
            });
        }
    }

    /// 20 ms are reached at 800.
    fn queue(rate: f64) -> f64 {
        (1_000.0 - rate) / 4_000.0
    }

    #[test]
    fn it_is_found_from_far_below_and_from_far_above() {
        for first_rate in [3.0, 100.0, 799.0, 5_000.0, 100_000.0] {
            let asked = Asked {
                first_rate,
                ..ASKED
            };
            let (steps, end) = search(&asked, queue);
            let found = answer(&asked, &steps);
            assert_eq!(end, End::Narrow, "{first_rate}: {steps:?}");
            let rate = found.rate.unwrap();
            // Ten is what the correction for percentiles that lie low may take.
            assert!((790.0..=801.0).contains(&rate), "{first_rate}: {found:?}");
            assert!(found.low <= found.rate && found.rate <= found.high);
        }
    }

    #[test]
    fn where_only_falling_behind_breaks_the_limit_the_rates_around_it_are_the_answer() {
        let asked = Asked {
            limit: 1e6,
            ..ASKED
        };
        let (steps, end) = search(&asked, queue);
        let found = answer(&asked, &steps);
        assert_eq!((end, found.line), (End::Narrow, None));
        assert!(found.low.unwrap() < 1_000.0 && found.high.unwrap() >= 1_000.0);
        assert!(found.half_width().unwrap() <= 0.05);
    }

    #[test]
    fn a_limit_that_nothing_keeps_ends_the_search_below_the_lowest_rate() {
        let asked = Asked {
            limit: 1.0,
            ..ASKED
        };
        let (steps, end) = search(&asked, queue);
        let found = answer(&asked, &steps);
        assert_eq!(end, End::NothingWithin);
        assert_eq!((found.rate, found.low), (None, None));
        assert!(found.high.unwrap() < 100.0, "{found:?}");
    }

    /// A step at this rate with this p99, give or take a tenth.
    fn made(rate: f64, seconds: f64, latency: f64) -> Step {
        Step {
            rate,
            seconds,
            at_s: 0.0,
            took_s: seconds + 1.0,
            latency,
            between: (0.9 * latency, 1.1 * latency),
            effective_beyond: 10.0,
        }
    }

    #[test]
    fn below_a_lowest_rate_that_breaks_the_limit_steps_are_as_long_as_their_p99_needs() {
        // Two minutes, and the lowest rate given breaks the limit: half of it takes 30 s.
        let asked = Asked {
            time_s: 120.0,
            ..ASKED
        };
        let ladder = [400.0, 300.0, 200.0, 101.0].map(|rate| made(rate, 10.0, rate / 2.0));
        let next_of = |steps: &[Step]| match next(&asked, steps) {
            Next::Step { rate, seconds } => (rate, seconds),
            Next::End(end) => panic!("it ends: {end:?}"),
        };
        let (rate, seconds) = next_of(&ladder);
        assert_eq!(rate, 50.5);
        assert!((29.0..31.0).contains(&seconds), "{seconds}");
        // Half of that does not fit into the time: the lowest rate that does.
        let mut steps = ladder.to_vec();
        steps.push(made(50.5, 30.0, 30.0));
        let (rate, seconds) = next_of(&steps);
        assert!(rate > 25.3 && rate < 0.9 * 50.5, "{rate}");
        assert!(seconds <= 120.0 - 75.0 - 1.0, "{seconds}");
        // What the time has no room for any more is the end, and what is known is said.
        steps.push(made(rate, seconds, 25.0));
        assert!(matches!(next(&asked, &steps), Next::End(_)));
        let found = answer(&asked, &steps);
        assert_eq!((found.low, found.high), (None, Some(rate)));
    }

    #[test]
    fn a_single_step_that_breaks_the_limit_is_made_again_where_the_time_has_no_room_for_a_lower_rate()
     {
        let asked = Asked {
            time_s: 83.0,
            first_rate: 40.0,
            ..ASKED
        };
        let stalled = made(40.0, 50.0, 90.0);
        let Next::Step { rate, seconds } = next(&asked, &[stalled]) else {
            panic!("it gives up");
        };
        assert_eq!((rate, seconds), (40.0, 31.0));
        assert!(matches!(next(&asked, &[stalled, stalled]), Next::End(_)));
    }

    #[test]
    fn where_p99_does_not_fall_with_the_rate_the_search_ends() {
        let over = [100.0, 50.0, 25.0].map(|rate| made(rate, 60.0, 30.0 + rate / 50.0));
        assert_eq!(next(&ASKED, &over), Next::End(End::NothingWithin));
        // It falls: lower rates may keep the limit.
        let falls = [100.0, 50.0, 25.0].map(|rate| made(rate, 60.0, 30.0 + rate));
        assert!(matches!(next(&ASKED, &falls), Next::Step { .. }));
    }

    #[test]
    fn steps_with_few_values_beyond_the_percentile_widen_the_interval() {
        let steps = |effective_beyond| {
            let steps = (0..8).map(|at| {
                let rate = if at % 2 == 0 { 900.0 } else { 960.0 };
                let chance = if at % 4 < 2 { 1.02 } else { 0.98 };
                Step {
                    rate,
                    seconds: 50.0,
                    at_s: 51.0 * f64::from(at),
                    took_s: 51.0,
                    latency: chance / (1.0 - rate / 1_000.0),
                    between: (0.0, f64::INFINITY),
                    effective_beyond,
                }
            });
            steps.collect::<Vec<_>>()
        };
        let asked = Asked {
            limit: 1.0 / 0.07,
            ..ASKED
        };
        let width = |beyond| {
            let found = answer(&asked, &steps(beyond));
            assert!(found.line.is_some(), "{found:?}");
            found.half_width().unwrap()
        };
        assert!(
            width(3.9) > 1.2 * width(4.0),
            "{} {}",
            width(3.9),
            width(4.0)
        );
    }

    #[test]
    fn no_step_begins_that_would_exceed_the_time() {
        let asked = Asked {
            time_s: 60.0,
            ..ASKED
        };
        let (steps, end) = search(&asked, queue);
        assert_eq!(end, End::Time);
        let took: f64 = steps.iter().map(|step| step.took_s).sum();
        assert!((40.0..=60.0).contains(&took), "{took}");
        // What is known by then is said.
        assert!(answer(&asked, &steps).low.is_some());
    }

    #[test]
    fn a_step_that_shows_too_little_is_made_again_for_longer() {
        let short = Step {
            rate: 700.0,
            seconds: 10.0,
            at_s: 5.0,
            took_s: 11.0,
            latency: 15.0,
            between: (10.0, 25.0),
            effective_beyond: 1.5,
        };
        let again = Next::Step {
            rate: 700.0,
            seconds: 20.0,
        };
        assert_eq!(next(&ASKED, &[short]), again);
        let clear = Step {
            between: (10.0, 19.0),
            ..short
        };
        let further = Next::Step {
            rate: 1_400.0,
            seconds: 10.0,
        };
        assert_eq!(next(&ASKED, &[clear]), further);
    }

    #[test]
    fn a_step_is_on_the_side_of_all_of_its_interval() {
        let side = |between| {
            let step = Step {
                rate: 1.0,
                seconds: 1.0,
                at_s: 0.0,
                took_s: 1.0,
                latency: 20.0,
                between,
                effective_beyond: 0.0,
            };
            step.side(20.0)
        };
        assert_eq!(side((10.0, 20.0)), Side::Within);
        assert_eq!(side((20.1, 30.0)), Side::Over);
        assert_eq!(side((f64::INFINITY, f64::INFINITY)), Side::Over);
        assert_eq!(side((20.0, 21.0)), Side::CannotTell);
        assert_eq!(side((0.0, f64::INFINITY)), Side::CannotTell);
    }

    #[test]
    fn rates_have_three_digits() {
        for (rate, want) in [
            (1833.33, 1830.0),
            (27.18, 27.2),
            (98_765.4, 98_800.0),
            (0.5, 0.5),
        ] {
            assert_eq!(tidy(rate), want);
        }
    }
}
