//! The search for the highest rate that keeps a latency within a limit: which step comes next, and
//! the answer. It knows the steps that were made and nothing else, neither clocks nor servers, so
//! that simulations drive the same code as trials.
//!
//! First the limit is enclosed: the rate doubles, or halves, until one step is within and one over;
//! what lies between is cut until the two are near. Then steps go a little below and above the
//! estimate by turns, and the share of their transactions that is over the limit gives the answer.
//! `docs/statistics.md` has the formulas and what simulations show.

use crate::over_limit::OverLimit;
use crate::share_fit::{Seen, ShareFit};

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
    /// Its transactions over the limit.
    pub over: OverLimit,
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
        SHARE * self.over.effective() >= EFFECTIVE_BEYOND_MIN
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
    /// Where steps contradict each other, so that there is no line: the machine changes from step to step. What they
    /// agree on is the interval's source where that is narrow, else there is none.
    pub contradiction: Option<Contradiction>,
}

/// What steps that contradict each other have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contradiction {
    /// The highest rate up to which no step broke the limit.
    pub within_up_to: Option<f64>,
    /// The lowest rate from which on no step kept it.
    pub over_from: Option<f64>,
}

impl Contradiction {
    /// How far its rates are apart, in logarithms.
    fn apart(&self) -> Option<f64> {
        Some((self.over_from? / self.within_up_to?).ln())
    }
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
    /// Those of them in which some transactions that do not come together are to be over the limit.
    pub telling: usize,
    /// The time it is about, the mean of these steps' middles, in seconds since the search began.
    pub at_s: f64,
    /// By how much of itself the answer changed from the first of these steps to the last one.
    pub drift: f64,
    /// Whether that change is more than chance (5 %).
    pub is_drift_significant: bool,
}

/// The percentile that is to keep the limit is that of all but this share.
const SHARE: f64 = 0.01;
/// Steps through which a line gives an answer that ends the search.
const STEPS_ENOUGH: usize = 14;
/// So many of them must tell how much is over the limit.
const TELLING_ENOUGH: usize = 12;
/// Steps through which there is a line at all.
const STEPS_MIN: usize = 6;
/// A step is long enough where so many effective transactions are to be over the limit.
const EFFECTIVE_BEYOND_MIN: f64 = 4.0;
/// Two rates this near to each other are near enough for a line between them.
const NEAR: f64 = 1.35;
/// Two rates, one half of the other, between which another step says less than one beyond them.
const CLOSE: f64 = 2.05;
/// Steps aim at rates where the logit of the share over the limit is so much below and above that of the answer: at a
/// third of 1 %, and three times as much.
const AIM: f64 = 1.2;
/// How far the steps of a line may lie from its middle, in units of the aim.
const WINDOW: f64 = 1.7;
/// The aim, in logarithms of the rate, stays between these.
const AIM_LEAST: f64 = 0.01;
const AIM_MOST: f64 = 0.3;
/// And below so much of the distance from what was always within to what was always over the limit.
const AIM_APART: f64 = 0.75;
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
/// Below and above by turns, so that a drift of the server hits both alike.
const SIDES: [f64; 4] = [-1.0, 1.0, 1.0, -1.0];
/// The confidence of the interval.
const LEVEL: f64 = 0.95;
/// An interval whose ends are more than so many times apart is none.
const ENDS_APART_MAX: f64 = 4.0;
/// Without a line the lower end lies below the highest rate that was within, by the distance to the lowest one that was
/// over, and by so much at least, in logarithms: a short step seldom meets a slow second, and of many one is lucky.
const BELOW_LEAST: f64 = 0.2;
/// Steps that contradict each other bound an interval where what they agree on is not more than so many times apart,
const BRACKET_MOST: f64 = 1.25;
/// and fewer than this: of so many there would be a line if the machine did not move from minute to minute.
const BRACKET_STEPS: usize = 24;
/// A step of which more is over the limit does not say how many transactions come together near the answer.
const SHARE_TELLING: f64 = 0.2;

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

/// Two single steps that enclose the limit closely may both have been lucky: it takes a line.
fn is_narrow(asked: &Asked, steps: &[Step]) -> bool {
    let around = place(asked, steps).map_or(0, |place| near(asked, steps, &place).len());
    let answer = answer(asked, steps);
    let is_narrow = answer.half_width().is_some_and(|half| half <= asked.width);
    let is_sure = answer
        .line
        .is_some_and(|line| line.telling >= TELLING_ENOUGH);
    around >= STEPS_ENOUGH && is_sure && is_narrow
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
            Some(place) if high / low <= NEAR || place.is_fitted => {
                let side = SIDES[steps.len() % SIDES.len()];
                step((place.middle + side * place.aim).exp())
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
    let place = place(asked, steps);
    if let Some(place) = place {
        // Those around have the line that is nearest to the truth. Where they do not bound it, all of them may.
        let around = near(asked, steps, &place);
        let all = if around.len() >= STEPS_MIN {
            steps.iter().collect()
        } else {
            Vec::new()
        };
        if let Some(fitted) = [around, all].into_iter().find_map(|steps| by_line(&steps)) {
            return fitted;
        }
    }
    let sides = sides(asked, steps);
    let enough = steps.len() >= STEPS_MIN;
    match (sides.within, sides.over) {
        (Some(within), Some(over)) if enough && within >= over => by_agreement(asked, steps),
        _ => by_sides(asked, steps),
    }
}

/// Estimate and interval from a line through these steps, where they bound it.
fn by_line(steps: &[&Step]) -> Option<Answer> {
    let line = ShareFit::of(SHARE, seen(steps)).filter(|line| line.steps() >= STEPS_MIN)?;
    let ends = line.ends(LEVEL);
    let bias = line.bias(ends, LEVEL)?;
    // How large the bias is, is known roughly: the interval is wider by twice as much below and by as much above.
    let (low, high) = ((ends.low? - 2.0 * bias).exp(), (ends.high? + bias).exp());
    (high / low <= ENDS_APART_MAX).then(|| Answer {
        rate: Some((line.crossing() - bias).exp()),
        low: Some(low),
        high: Some(high),
        line: Some(Line {
            steps: line.steps(),
            telling: line.telling(),
            at_s: line.at_s,
            drift: line.drift().exp_m1(),
            is_drift_significant: line.is_drift_significant(LEVEL),
        }),
        contradiction: None,
    })
}

fn seen(steps: &[&Step]) -> Vec<Seen> {
    let counted = steps.iter().filter(|step| step.over.count > 0.0);
    let seen = counted.map(|step| Seen {
        log_rate: step.rate.ln(),
        at_s: step.at_s,
        seconds: step.seconds,
        over: step.over,
    });
    seen.collect()
}

/// Of few steps: between the highest rate that is surely within the limit and the lowest one that is surely over it.
fn by_sides(asked: &Asked, steps: &[Step]) -> Answer {
    let surely = |side: Side| {
        steps
            .iter()
            .filter(move |step| step.side(asked.limit) == side)
            .map(|step| step.rate)
    };
    let low = surely(Side::Within).fold(None, greater);
    let high = surely(Side::Over).fold(None, less);
    if matches!((low, high), (Some(low), Some(high)) if low >= high) {
        return by_agreement(asked, steps);
    }
    let rate = match enclosure(asked, steps) {
        (Some(below), Some(above)) => Some((below * above).sqrt()),
        _ => None,
    };
    // The estimate is never outside of its interval.
    Answer {
        rate: rate.map(|rate| rate.clamp(low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY))),
        low: low.map(|low| high.map_or(low, |high| lower_end(low, high))),
        high,
        line: None,
        contradiction: None,
    }
}

/// By the p99 alone.
struct Sides {
    /// The highest rate of a step within the limit.
    within: Option<f64>,
    /// The lowest rate of one over it.
    over: Option<f64>,
}

fn sides(asked: &Asked, steps: &[Step]) -> Sides {
    Sides {
        within: rates(asked, steps, false).fold(None, greater),
        over: rates(asked, steps, true).fold(None, less),
    }
}

fn rates<'a>(asked: &'a Asked, steps: &'a [Step], is_over: bool) -> impl Iterator<Item = f64> + 'a {
    let known = steps.iter().filter(|step| !step.latency.is_nan());
    let side = known.filter(move |step| (step.latency > asked.limit) == is_over);
    side.map(|step| step.rate)
}

/// The lower end of an interval from a rate that was within to one that was over.
fn lower_end(within: f64, over: f64) -> f64 {
    within / (over / within).max(BELOW_LEAST.exp())
}

/// Of steps that contradict each other: the rates that they agree on, and an interval where these are near and sure.
fn by_agreement(asked: &Asked, steps: &[Step]) -> Answer {
    let contradiction = contradiction(asked, steps);
    let is_seen = |side| steps.iter().any(|step| step.side(asked.limit) == side);
    let ends = contradiction.within_up_to.zip(contradiction.over_from);
    let ends = ends.filter(|(within, over)| {
        over / within <= BRACKET_MOST
            && steps.len() < BRACKET_STEPS
            && is_seen(Side::Within)
            && is_seen(Side::Over)
    });
    Answer {
        rate: ends.map(|(within, over)| (within * over).sqrt()),
        low: ends.map(|(within, over)| lower_end(within, over)),
        high: ends.map(|(_, over)| over),
        line: None,
        contradiction: Some(contradiction),
    }
}

fn contradiction(asked: &Asked, steps: &[Step]) -> Contradiction {
    let sides = sides(asked, steps);
    let (most, least) = (
        sides.within.unwrap_or(0.0),
        sides.over.unwrap_or(f64::INFINITY),
    );
    let below = rates(asked, steps, false).filter(|rate| *rate < least);
    let above = rates(asked, steps, true).filter(|rate| *rate > most);
    Contradiction {
        within_up_to: below.fold(None, greater),
        over_from: above.fold(None, less),
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

/// Steps are as long as those near the limit had to be, and as it takes until enough transactions are over it that do
/// not come together.
fn current_s(asked: &Asked, steps: &[Step]) -> f64 {
    let near = steps
        .iter()
        .filter(|step| !step.latency.is_nan() && !is_clear(asked, step));
    let longest = near.map(|step| step.seconds).fold(asked.step_s, f64::max);
    let is_telling = |step: &&Step| {
        let share = step.over.share();
        share > 0.0 && share < SHARE_TELLING
    };
    let (mut seconds, mut effective) = (0.0, 0.0);
    for step in steps.iter().filter(is_telling) {
        seconds += step.seconds;
        effective += step.over.effective();
    }
    let needed = if effective > 0.0 {
        EFFECTIVE_BEYOND_MIN / SHARE * seconds / effective
    } else {
        0.0
    };
    longest.max(needed).min(longest_s(asked))
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
    /// The logarithm of a rate.
    middle: f64,
    /// Distance of the steps to both sides, in logarithms of the rate.
    aim: f64,
    /// Whether a line through several steps around has given it.
    is_fitted: bool,
}

/// Of all steps, at first, not far from the two that enclose the limit; then of the steps around.
fn place(asked: &Asked, steps: &[Step]) -> Option<Place> {
    let (Some(low), Some(high)) = enclosure(asked, steps) else {
        return None;
    };
    // Beyond what steps contradict each other in nothing is to be learnt.
    let apart = contradiction(asked, steps).apart().unwrap_or(AIM_MOST);
    let aim_most = (AIM_APART * apart).clamp(AIM_LEAST, AIM_MOST);
    let aim = |slope: f64| (AIM / slope).clamp(AIM_LEAST, aim_most);
    let all: Vec<&Step> = steps.iter().collect();
    let mut place = match ShareFit::of(SHARE, seen(&all)) {
        Some(line) => Place {
            middle: line.crossing().clamp((low / NEAR).ln(), (high * NEAR).ln()),
            aim: aim(line.slope()),
            is_fitted: false,
        },
        None => Place {
            middle: (low * high).sqrt().ln(),
            aim: (0.5 * (high / low).ln()).clamp(AIM_LEAST, aim_most),
            is_fitted: false,
        },
    };
    for _ in 0..3 {
        let line = ShareFit::of(SHARE, seen(&near(asked, steps, &place)));
        let Some(line) = line.filter(|line| line.steps() >= STEPS_MIN) else {
            break;
        };
        // A line from few steps leads only so far.
        let middle = line
            .crossing()
            .clamp(place.middle - place.aim, place.middle + place.aim);
        place = Place {
            middle,
            aim: aim(line.slope()),
            is_fitted: true,
        };
    }
    Some(place)
}

/// Steps around a place that are not shorter than half of the current length: in short ones the queue has hardly filled.
fn near<'a>(asked: &Asked, steps: &'a [Step], place: &Place) -> Vec<&'a Step> {
    let length = current_s(asked, steps);
    let is_near = |step: &&Step| {
        step.seconds > 0.45 * length && (step.rate.ln() - place.middle).abs() <= WINDOW * place.aim
    };
    steps.iter().filter(is_near).collect()
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
                over: over(asked.limit, 1.0 / inverse(rate).max(1e-9), rate * seconds),
            });
        }
    }

    /// Of an exponential tail with this p99, as queues have it.
    fn over(limit: f64, latency: f64, count: f64) -> OverLimit {
        let share = SHARE.powf(limit / latency);
        OverLimit {
            count,
            over: count * share,
            variance: None,
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
            assert!((795.0..=805.0).contains(&rate), "{first_rate}: {found:?}");
            assert!(found.low <= found.rate && found.rate <= found.high);
        }
    }

    #[test]
    fn where_only_falling_behind_breaks_the_limit_the_answer_lies_there() {
        let asked = Asked {
            limit: 1e6,
            ..ASKED
        };
        let (steps, end) = search(&asked, queue);
        let found = answer(&asked, &steps);
        assert_eq!(end, End::Narrow);
        assert!(
            found.low.unwrap() < 1_000.0 && found.high.unwrap() >= 999.0,
            "{found:?}"
        );
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
            over: over(20.0, latency, rate * seconds),
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

    /// What the same file said of the same server twice: one slow step was the lowest one over, one lucky step the
    /// highest one within.
    #[test]
    fn steps_that_contradict_each_other_make_no_narrow_interval() {
        let slow = [1_970.0, 2_300.0, 2_020.0, 3_400.0];
        let steady = [
            1_000.0, 1_970.0, 1_980.0, 2_010.0, 2_200.0, 2_600.0, 3_000.0, 3_590.0,
        ];
        let mut steps: Vec<Step> = steady.map(|rate| made(rate, 30.0, 5.0)).into();
        steps.extend(slow.map(|rate| made(rate, 30.0, 441.0)));
        steps.extend([3_900.0, 8_000.0].map(|rate| made(rate, 30.0, 900.0)));
        steps
            .iter_mut()
            .enumerate()
            .for_each(|(at, step)| step.at_s = 31.0 * at as f64);
        let answer = answer(&ASKED, &steps);
        if let (Some(low), Some(high)) = (answer.low, answer.high) {
            assert!(high / low > 1.5, "{answer:?}");
        }
        // Without those far above that bound it, nothing does.
        steps.truncate(12);
        let unbounded = super::answer(&ASKED, &steps);
        assert_eq!(
            (unbounded.rate, unbounded.low, unbounded.high),
            (None, None, None)
        );
        let contradiction = unbounded.contradiction.unwrap();
        assert_eq!(contradiction.within_up_to, Some(1_000.0));
        assert_eq!(contradiction.over_from, None);
        // The search goes on.
        assert!(matches!(next(&ASKED, &steps), Next::Step { .. }));
    }

    #[test]
    fn few_steps_of_which_one_within_lies_above_one_over_are_a_contradiction() {
        let steps = [
            made(100.0, 10.0, 5.0),
            made(200.0, 10.0, 40.0),
            made(400.0, 10.0, 5.0),
            made(800.0, 10.0, 90.0),
        ];
        let answer = answer(&ASKED, &steps);
        let wanted = Contradiction {
            within_up_to: Some(100.0),
            over_from: Some(800.0),
        };
        assert_eq!((answer.low, answer.contradiction), (None, Some(wanted)));
    }

    /// Recorded: a search of three minutes.
    #[test]
    fn rates_that_steps_agree_on_bound_an_interval_where_they_are_near() {
        let p99s = [
            (3_122.1, 5.92),
            (4_580.0, 10.4),
            (4_590.0, 10.9),
            (4_620.0, 11.5),
            (4_680.0, 29.1),
            (4_700.0, 12.0),
            (4_710.0, 74.9),
            (4_790.0, 16.6),
            (4_900.0, 279.0),
        ];
        // No step says how much is over the limit, so that there is no line.
        let steps = p99s.map(|(rate, p99)| Step {
            over: OverLimit::default(),
            ..made(rate, 8.0, p99)
        });
        let found = answer(&ASKED, &steps);
        let contradiction = Contradiction {
            within_up_to: Some(4_620.0),
            over_from: Some(4_900.0),
        };
        assert_eq!(found.contradiction, Some(contradiction));
        let (rate, low) = (found.rate.unwrap(), found.low.unwrap());
        assert!((4_750.0..4_765.0).contains(&rate), "{found:?}");
        assert!((3_780.0..3_785.0).contains(&low), "{found:?}");
        assert_eq!(found.high, Some(4_900.0));
        // Of many steps there would be a line: the machine moves.
        let many: Vec<Step> = steps.iter().cycle().take(27).copied().collect();
        assert_eq!(answer(&ASKED, &many).rate, None);
        // Without a step that is surely over it there is none.
        let unsure = steps.map(|step| Step {
            between: (0.0, step.between.1),
            ..step
        });
        assert_eq!(answer(&ASKED, &unsure).rate, None);
    }

    #[test]
    fn transactions_over_the_limit_that_come_together_widen_the_interval() {
        let width = |variance| {
            let steps = (0..12).map(|at| {
                let rate = if at % 2 == 0 { 780.0 } else { 815.0 };
                let mut step = made(rate, 50.0, 4_000.0 / (1_000.0 - rate));
                step.at_s = 51.0 * f64::from(at);
                step.over.variance = variance;
                step
            });
            let answer = answer(&ASKED, &steps.collect::<Vec<Step>>());
            assert!(answer.line.is_some(), "{answer:?}");
            answer.half_width().unwrap()
        };
        let (surely, hardly) = (width(Some(400.0)), width(Some(20_000.0)));
        assert!(hardly > 2.0 * surely, "{hardly} {surely}");
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
            over: OverLimit {
                count: 7_000.0,
                over: 50.0,
                variance: Some(2_500.0),
            },
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
        // The next one is as long as it takes until four effective transactions are over the limit.
        let Next::Step { rate, seconds } = next(&ASKED, &[clear]) else {
            panic!("it ends");
        };
        assert_eq!(rate, 1_400.0);
        assert!((28.0..30.0).contains(&seconds), "{seconds}");
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
                over: OverLimit::default(),
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
