//! How the share of transactions over a limit grows with the rate: a logistic regression on the logarithm of the rate
//! and on time, with a variance that steps show, and where its curve crosses a share. `docs/statistics.md` has what
//! simulations show.
//!
//! The variance is that of a binomial times a scale, which is what transactions that wait in the same queue, and a machine
//! that changes from step to step, make of it (quasi-likelihood: McCullagh & Nelder 1989, 9.2); and it grows with the
//! share, as more transactions wait in longer queues: that of a share p is p (1 - p) (1 + p / [`CROWDED`]) for each
//! transaction. Intervals are of the profile likelihood, so that a step without any slow transaction counts for what it
//! is, and an end that the steps do not bound is none.

use crate::over_limit::OverLimit;
use crate::student::two_sided_t;

/// Steps from which a change with time is looked for.
const STEPS_FOR_TIME: usize = 6;
/// An end of an interval that is farther away is none, in logarithms of the rate.
const FAR: f64 = 3.0;
/// Of a share of this, the variance is twice that of a binomial with the same scale.
const CROWDED: f64 = 0.01;
/// Inverse variances of the parameters before anything is measured, so that steps which a rate divides without any
/// doubt have a curve, too: of a slope of 500 and a change of e^5 times over the search.
const RIDGE: [f64; 3] = [1e-12, 1.0 / (500.0 * 500.0), 1.0 / 25.0];

/// A step as it is seen here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    /// The logarithm of its rate.
    pub log_rate: f64,
    /// Its middle, in seconds.
    pub at_s: f64,
    /// How long it was measured.
    pub seconds: f64,
    pub over: OverLimit,
}

pub(crate) struct ShareFit {
    seen: Vec<Seen>,
    /// The logit of the share that is looked for.
    target: f64,
    /// The mean of the steps' middles, weighted with their lengths.
    pub at_s: f64,
    /// From the first step to the last one.
    span_s: f64,
    has_time: bool,
    /// The mean of the rates' logarithms.
    log_rate: f64,
    best: Maximum,
    /// The variance of a step's transactions over the limit, as a multiple of a binomial's.
    pub scale: f64,
    freedom: usize,
}

/// The ends of an interval; `None`: the steps do not bound it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ends {
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl ShareFit {
    /// Of where `share` of transactions is over the limit; `None` where all or none of them are, or where the share
    /// does not grow with the rate.
    pub fn of(share: f64, seen: Vec<Seen>) -> Option<Self> {
        let sum = |of: &dyn Fn(&Seen) -> f64| seen.iter().map(of).sum::<f64>();
        let (count, over) = (sum(&|step| step.over.count), sum(&|step| step.over.over));
        if !(over > 0.0 && over < count) {
            return None;
        }
        let seconds = sum(&|step| step.seconds);
        let at_s = sum(&|step| step.seconds * step.at_s) / seconds;
        let log_rate = sum(&|step| step.seconds * step.log_rate) / seconds;
        let ends = seen.iter().map(|step| step.at_s);
        let ends = ends.fold((f64::MAX, f64::MIN), |(a, b), at| (a.min(at), b.max(at)));
        let has_time = seen.len() >= STEPS_FOR_TIME && ends.1 > ends.0;
        let parameters = if has_time { 3 } else { 2 };
        let mut fit = Self {
            freedom: seen.len().saturating_sub(parameters).max(1),
            seen,
            target: (share / (1.0 - share)).ln(),
            at_s,
            span_s: ends.1 - ends.0,
            has_time,
            log_rate,
            best: Maximum::default(),
            scale: 1.0,
        };
        let height = (over / (count - over)).ln();
        fit.best = fit.maximum(height, [1.0, 1.0, 1.0], fit.log_rate);
        fit.best.parameters[0] += height;
        if fit.slope() <= 0.0 {
            return None;
        }
        fit.scale = fit.scale_seen();
        fit.freedom = fit.telling().saturating_sub(parameters).max(FREEDOM_LEAST);
        Some(fit)
    }

    pub fn steps(&self) -> usize {
        self.seen.len()
    }

    /// By how much the logit of the share grows with the logarithm of the rate.
    pub fn slope(&self) -> f64 {
        self.best.parameters[1]
    }

    /// The logarithm of the rate at which the share is as wanted, at the mean time.
    pub fn crossing(&self) -> f64 {
        self.log_rate + (self.target - self.best.parameters[0]) / self.slope()
    }

    /// By how much the logarithm of that rate changed from the first step to the last one.
    pub fn drift(&self) -> f64 {
        -self.best.parameters[2] / self.slope()
    }

    /// Whether that exceeds chance at this level (likelihood ratio against Student's t).
    pub fn is_drift_significant(&self, level: f64) -> bool {
        let without = self.maximum(self.best.parameters[0], [1.0, 1.0, 0.0], self.log_rate);
        self.has_time && self.best.likelihood - without.likelihood > self.threshold(level)
    }

    /// The interval of the crossing.
    pub fn ends(&self, level: f64) -> Ends {
        let threshold = self.threshold(level);
        let middle = self.crossing();
        let is_out = |at: f64| self.best.likelihood - self.through(at) > threshold;
        let end = |side: f64| {
            let mut inner = 0.0;
            let mut outer = (0.02 / self.slope()).max(1e-6);
            while !is_out(middle + side * outer) {
                inner = outer;
                outer *= 2.0;
                if outer > FAR {
                    return None;
                }
            }
            for _ in 0..24 {
                let half = 0.5 * (inner + outer);
                if is_out(middle + side * half) {
                    outer = half
                } else {
                    inner = half
                }
            }
            Some(middle + side * outer)
        };
        Ends {
            low: end(-1.0),
            high: end(1.0),
        }
    }

    /// By how much the crossing lies high: of a share that few events make, the logarithm is low on average, by half of
    /// its variance (delta method), of which the interval tells. `None` where that has no ends.
    pub fn bias(&self, ends: Ends, level: f64) -> Option<f64> {
        let error = (ends.high? - ends.low?) / (2.0 * two_sided_t(level, self.freedom));
        Some(0.5 * self.slope() * error * error)
    }

    /// By how much the likelihood may fall within an interval.
    fn threshold(&self, level: f64) -> f64 {
        let t = two_sided_t(level, self.freedom);
        0.5 * t * t * self.scale
    }

    /// The greatest likelihood of the curves that cross here.
    fn through(&self, log_rate: f64) -> f64 {
        let rising = self.maximum(self.target, [0.0, 1.0, 1.0], log_rate);
        if rising.parameters[1] >= 0.0 {
            return rising.likelihood;
        }
        // More load never helps.
        let flat = self.maximum(self.target, [0.0, 0.0, 1.0], log_rate);
        flat.likelihood
    }

    /// Over the parameters that are used: height above an offset, slope from a rate on, change with time.
    fn maximum(&self, offset: f64, used: [f64; 3], log_rate: f64) -> Maximum {
        let span_s = if self.has_time {
            self.span_s
        } else {
            f64::INFINITY
        };
        let rows = self.seen.iter().map(|step| Row {
            count: step.over.count,
            over: step.over.over,
            offset,
            by: [
                used[0],
                used[1] * (step.log_rate - log_rate),
                used[2] * (step.at_s - self.at_s) / span_s,
            ],
        });
        maximum(&rows.collect::<Vec<Row>>())
    }

    /// What the share of a step is, by the curve.
    fn share(&self, step: &Seen) -> f64 {
        let [height, slope, change] = self.best.parameters;
        let time = if self.has_time {
            (step.at_s - self.at_s) / self.span_s
        } else {
            0.0
        };
        logistic(height + slope * (step.log_rate - self.log_rate) + change * time)
    }

    /// Of how many steps the variance is: those in which less than one is to be over the limit of transactions that
    /// come together say little of it.
    pub fn telling(&self) -> usize {
        let events = self.seen.iter().map(|step| {
            let events = step.over.count * self.share(step) / self.scale;
            events.min(1.0)
        });
        events.sum::<f64>().round() as usize
    }

    /// The greater one of two: Pearson's, from what the steps differ from the curve (corrected where few are over the
    /// limit: Fletcher 2012), and that of the seconds within the steps. Steps of a machine that changes more slowly
    /// than they are long show it to the first one alone.
    fn scale_seen(&self) -> f64 {
        let (mut squares, mut skew) = (0.0, 0.0);
        let (mut within, mut binomial) = (0.0, 0.0);
        for step in &self.seen {
            // Near all of them a curve is no better than its form.
            let share = self.share(step).clamp(1e-9, 0.9);
            let crowd = 1.0 + share / CROWDED;
            let variance = step.over.count * share * (1.0 - share) * crowd;
            let error = step.over.over - step.over.count * share;
            squares += error * error / variance;
            // The logarithm of the variance, by the share.
            let growth = 1.0 / share - 1.0 / (1.0 - share) + 1.0 / CROWDED / crowd;
            skew += growth * error / step.over.count;
            if let Some(seen) = step.over.variance {
                within += seen;
                binomial += variance;
            }
        }
        let skew = (1.0 + skew / self.seen.len() as f64).clamp(SKEW_LEAST, 1.0);
        let between = squares / self.freedom as f64 / skew;
        let within = if binomial > 0.0 {
            within / binomial
        } else {
            0.0
        };
        between.max(within).max(1.0)
    }
}

/// Fewer degrees of freedom are not counted.
const FREEDOM_LEAST: usize = 3;
/// Fletcher's correction multiplies a variance by no more than four.
const SKEW_LEAST: f64 = 0.25;

struct Row {
    count: f64,
    over: f64,
    offset: f64,
    by: [f64; 3],
}

#[derive(Debug, Clone, Copy, Default)]
struct Maximum {
    parameters: [f64; 3],
    /// Its logarithm.
    likelihood: f64,
}

/// The parameters of the greatest likelihood, by Newton's method: it has one maximum.
fn maximum(rows: &[Row]) -> Maximum {
    let mut best = Maximum {
        parameters: [0.0; 3],
        likelihood: likelihood(rows, [0.0; 3]),
    };
    for _ in 0..60 {
        let Some(step) = newton(rows, best.parameters) else {
            break;
        };
        let mut share = 1.0;
        let gain = loop {
            let mut parameters = best.parameters;
            (0..3).for_each(|k| parameters[k] += share * step[k]);
            let likelihood = likelihood(rows, parameters);
            if likelihood >= best.likelihood {
                let gain = likelihood - best.likelihood;
                best = Maximum {
                    parameters,
                    likelihood,
                };
                break gain;
            }
            share *= 0.5;
            if share < 1e-9 {
                break 0.0;
            }
        };
        if gain <= 1e-9 * (1.0 + best.likelihood.abs()) {
            break;
        }
    }
    best
}

fn likelihood(rows: &[Row], parameters: [f64; 3]) -> f64 {
    let ridge: f64 = (0..3)
        .map(|k| RIDGE[k] * parameters[k] * parameters[k])
        .sum();
    let of = |row: &Row| {
        let logit = row.logit(parameters);
        // ln(1 + e^x) without overflow.
        let softplus = logit.max(0.0) + (-logit.abs()).exp().ln_1p();
        let (none, all) = (-softplus, logit - softplus);
        let share = row.over / row.count;
        let crowd = (1.0 + all.exp() / CROWDED).ln();
        let a = 1.0 / CROWDED;
        // The integral of (share - p) / (p (1 - p) (1 + a p)).
        let of_one =
            share * all + (1.0 - share) / (1.0 + a) * none - (1.0 + a * share) / (1.0 + a) * crowd;
        row.count * of_one
    };
    rows.iter().map(of).sum::<f64>() - 0.5 * ridge
}

impl Row {
    fn logit(&self, parameters: [f64; 3]) -> f64 {
        self.offset + (0..3).map(|k| self.by[k] * parameters[k]).sum::<f64>()
    }
}

fn logistic(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

/// The step of Newton's method.
fn newton(rows: &[Row], parameters: [f64; 3]) -> Option<[f64; 3]> {
    let mut gradient = [0.0; 3];
    let mut curvature = [[0.0; 3]; 3];
    for row in rows {
        let share = logistic(row.logit(parameters));
        let crowd = 1.0 + share / CROWDED;
        let error = (row.over - row.count * share) / crowd;
        let seen = 1.0 + row.over / row.count / CROWDED;
        let weight = row.count * share * (1.0 - share) * seen / (crowd * crowd);
        for (k, line) in curvature.iter_mut().enumerate() {
            gradient[k] += error * row.by[k];
            line.iter_mut()
                .zip(row.by)
                .for_each(|(entry, by)| *entry += weight * row.by[k] * by);
        }
    }
    for k in 0..3 {
        gradient[k] -= RIDGE[k] * parameters[k];
        curvature[k][k] += RIDGE[k];
    }
    solved(curvature, gradient)
}

/// Gauss's elimination of a symmetric positive matrix.
fn solved(mut matrix: [[f64; 3]; 3], mut right: [f64; 3]) -> Option<[f64; 3]> {
    for k in 0..3 {
        let line = matrix[k];
        let pivot = line[k];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return None;
        }
        for l in k + 1..3 {
            let factor = matrix[l][k] / pivot;
            matrix[l]
                .iter_mut()
                .zip(line)
                .for_each(|(entry, above)| *entry -= factor * above);
            right[l] -= factor * right[k];
        }
    }
    for k in (0..3).rev() {
        let known: f64 = (k + 1..3).map(|l| matrix[k][l] * right[l]).sum();
        right[k] = (right[k] - known) / matrix[k][k];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn seen(rate: f64, at_s: f64, count: f64, over: f64) -> Seen {
        Seen {
            log_rate: rate.ln(),
            at_s,
            seconds: 10.0,
            over: OverLimit {
                count,
                over,
                variance: None,
            },
        }
    }

    /// Steps of a server of which 1 % of transactions are over the limit at 1,000 a second, more by the slope; each
    /// transaction represents `scale` of them.
    fn steps(rng: &mut Rng, rates: &[f64], slope: f64, scale: f64) -> Vec<Seen> {
        let step = |(at, rate): (usize, &f64)| {
            let share = logistic((0.01f64 / 0.99).ln() + slope * (rate / 1_000.0).ln());
            let count = 400;
            let over = (0..count).filter(|_| rng.uniform() < share).count();
            let at_s = 10.0 * at as f64;
            seen(*rate, at_s, scale * f64::from(count), scale * over as f64)
        };
        rates.iter().enumerate().map(step).collect()
    }

    const RATES: [f64; 4] = [900.0, 1_100.0, 1_100.0, 900.0];

    #[test]
    fn intervals_hold_the_crossing() {
        let mut rng = Rng::new(3);
        for (scale, count) in [(1.0, 16), (50.0, 16), (50.0, 40)] {
            let (mut held, mut bounded) = (0, 0);
            for _ in 0..300 {
                let rates: Vec<f64> = RATES.into_iter().cycle().take(count).collect();
                let Some(fit) = ShareFit::of(0.01, steps(&mut rng, &rates, 10.0, scale)) else {
                    continue;
                };
                // The search widens them by the bias, and simulations of it say how often they hold.
                let ends = fit.ends(0.95);
                let (low, high) = (ends.low.unwrap_or(0.0), ends.high.unwrap_or(1e9));
                bounded += u32::from(ends.low.is_some() && ends.high.is_some());
                held += u32::from((low..=high).contains(&1_000f64.ln()));
            }
            println!("scale {scale}, {count} steps: {held} of 300 hold, {bounded} have both ends");
            assert!(
                held >= 265 && bounded >= 250,
                "{scale} {count}: {held} {bounded}"
            );
        }
    }

    #[test]
    fn a_rate_that_divides_the_steps_is_the_crossing() {
        let all: Vec<Seen> = (0..6)
            .flat_map(|at| {
                [
                    seen(990.0, f64::from(at), 1e4, 0.0),
                    seen(1_010.0, f64::from(at) + 0.5, 1e4, 9e3),
                ]
            })
            .collect();
        let fit = ShareFit::of(0.01, all).unwrap();
        let ends = fit.ends(0.95);
        let (low, high) = (ends.low.unwrap().exp(), ends.high.unwrap().exp());
        assert!(
            (985.0..=1_000.0).contains(&low) && (990.0..=1_010.0).contains(&high),
            "{low} {high}"
        );
    }

    #[test]
    fn steps_that_contradict_each_other_bound_nothing() {
        let shares = [0.0, 0.03, 0.0, 0.0, 0.04, 0.0, 0.02, 0.0, 0.0, 0.05];
        let step = |(at, share): (usize, &f64)| {
            let rate = 1_000.0 * 1.03f64.powi((at * 7 % 10) as i32);
            seen(rate, at as f64, 1e4, share * 1e4)
        };
        let all: Vec<Seen> = shares.iter().enumerate().map(step).collect();
        if let Some(fit) = ShareFit::of(0.01, all) {
            let ends = fit.ends(0.95);
            assert!(ends.low.is_none() || ends.high.is_none(), "{ends:?}");
        }
    }

    #[test]
    fn a_share_that_is_all_none_or_falls_has_no_curve() {
        let of = |shares: [f64; 3]| {
            let step = |at: usize| seen(100.0 + at as f64, at as f64, 1e3, 1e3 * shares[at]);
            ShareFit::of(0.01, (0..3).map(step).collect()).is_some()
        };
        assert!(!of([0.0; 3]) && !of([1.0; 3]) && !of([0.1, 0.05, 0.01]));
        assert!(of([0.0, 0.01, 0.1]));
    }

    #[test]
    fn seconds_that_spread_widen_the_interval_where_steps_agree() {
        let all = |variance| {
            let step = |at: usize| {
                let share = if at.is_multiple_of(2) { 0.005 } else { 0.02 };
                let mut step = seen(900.0 + 200.0 * (at % 2) as f64, at as f64, 1e4, 1e4 * share);
                step.over.variance = variance;
                step
            };
            (0..10).map(step).collect::<Vec<Seen>>()
        };
        let width = |variance| {
            let ends = ShareFit::of(0.01, all(variance)).unwrap().ends(0.95);
            ends.high.unwrap() - ends.low.unwrap()
        };
        assert!(
            width(Some(5_000.0)) > 2.0 * width(None),
            "{} {}",
            width(Some(5_000.0)),
            width(None)
        );
    }

    #[test]
    fn a_server_that_becomes_slower_has_a_drift() {
        let mut rng = Rng::new(5);
        let rates: Vec<f64> = RATES.into_iter().cycle().take(40).collect();
        let even = ShareFit::of(0.01, steps(&mut rng, &rates, 10.0, 1.0)).unwrap();
        assert!(!even.is_drift_significant(0.99), "{}", even.drift());
        let slower: Vec<f64> = rates
            .iter()
            .enumerate()
            .map(|(at, rate)| rate * 1.01f64.powi(at as i32 - 20))
            .collect();
        let mut slower = steps(&mut rng, &slower, 10.0, 1.0);
        slower
            .iter_mut()
            .zip(&rates)
            .for_each(|(step, rate)| step.log_rate = rate.ln());
        let fit = ShareFit::of(0.01, slower).unwrap();
        assert!(
            fit.is_drift_significant(0.99) && (-0.6..-0.2).contains(&fit.drift()),
            "{}",
            fit.drift()
        );
    }
}
