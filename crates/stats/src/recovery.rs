//! When a service is back after a disturbance, by what was due and what was answered in time; whether
//! it stays down although nothing disturbs it any more; whether there was an effect at all.
//!
//! What is counted is at the time at which it was to start, so that what is never answered is seen.
//! The definitions with their reasons: docs/disturb.md.

use std::ops::Range;

use crate::ranks;

/// A service is back when it has been for so long.
pub const HOLD_S: f64 = 5.0;
/// Shares are judged over so long.
const WINDOW_S: f64 = 1.0;
/// The share of the baseline at which it is back.
pub const SHARE: f64 = 0.9;
pub const SHARE_STRICT: f64 = 0.99;
/// A baseline is so long at least.
const BASELINE_MIN_S: f64 = 3.0;
/// Fewer transactions in a window say nothing about a share of 90 %: one in ten is a whole one.
const WINDOW_DUE_MIN: f64 = 10.0;
/// A baseline that answers fewer in time was not in order before it was disturbed.
const BASELINE_SHARE_MIN: f64 = 0.5;
/// From so many repeats on each side the rank sum test can find an effect at all.
pub const MIN_REPEATS_FOR_EFFECT: usize = 4;
/// The level of that test.
const EFFECT_LEVEL: f64 = 0.05;
/// After a disturbance it must be watched for so long before it is called metastable.
const STAYS_MIN_S: f64 = 10.0;

/// Slots of equal length, one after another.
#[derive(Debug, Clone, Copy)]
pub struct Course<'a> {
    /// The length of a slot in seconds.
    pub slot_s: f64,
    /// Transactions that were to start in each.
    pub due: &'a [f64],
    /// Of these, those that were answered in time.
    pub served: &'a [f64],
    /// Transactions that were committed in each, whenever they were to start.
    pub commits: &'a [f64],
}

/// What a service was before, and when it was that again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recovery {
    /// The share that was answered in time before, 0 to 1.
    pub baseline: f64,
    /// From the beginning of the disturbance until it was back at 90 % for 5 s, in seconds; 0 when it
    /// never went away, `None` when it was not back before the end.
    pub back_s: Option<f64>,
    /// The same at 99 %; outer `None` where the baseline itself varies too much for it.
    pub strictly_back_s: Option<Option<f64>>,
    /// Seconds after the beginning in which it was below 90 %, together.
    pub below_s: f64,
    /// Transactions from the beginning on that were due and not answered in time.
    pub missed: f64,
    /// The same as a share of those that were due.
    pub missed_share: f64,
}

/// Why a recovery is not known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NotKnown {
    /// The time before is too short: so many seconds.
    ShortBaseline(f64),
    /// There were too few transactions: so many a second.
    TooFew(f64),
    /// Before the disturbance only this share was answered in time.
    PoorBaseline(f64),
    /// Before the disturbance there were seconds below 90 % of the baseline.
    UnsteadyBaseline,
    NeverBegan,
}

impl std::fmt::Display for NotKnown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ShortBaseline(s) => write!(
                f,
                "{s:.1} s before the disturbance are too short to know what is usual: \
                 {BASELINE_MIN_S:.0} s are needed"
            ),
            Self::TooFew(rate) => write!(
                f,
                "{rate:.1} transactions a second are too few for a share of 90 %: \
                 {WINDOW_DUE_MIN:.0} are needed"
            ),
            Self::PoorBaseline(share) => write!(
                f,
                "before the disturbance only {:.0} % were answered within the limit",
                share * 100.0
            ),
            Self::UnsteadyBaseline => f.write_str(
                "before the disturbance there were seconds below 90 % of what was usual",
            ),
            Self::NeverBegan => f.write_str("the disturbance did not begin"),
        }
    }
}

/// Whether goodput stays down when the disturbance is over, at the same load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stays {
    Down,
    Up,
    /// So long after it nothing can be said: it is too short, in seconds.
    TooShort(f64),
    /// At the end it was still catching up.
    CatchingUp,
    /// Sometimes it was back, and sometimes not.
    UpAndDown,
}

impl Course<'_> {
    fn slots(&self, seconds: f64) -> usize {
        (seconds / self.slot_s).round().max(1.0) as usize
    }

    fn len(&self) -> usize {
        self.due.len().min(self.served.len())
    }

    /// The share that was answered in time; `None` when nothing was due.
    fn share(&self, slots: Range<usize>) -> Option<f64> {
        let due: f64 = self.due[slots.clone()].iter().sum();
        let served: f64 = self.served[slots].iter().sum();
        (due > 0.0).then(|| served / due)
    }

    /// The windows of a second within these slots that are below a share; by their first slot.
    fn below(&self, slots: Range<usize>, share: f64) -> Vec<usize> {
        let window = self.slots(WINDOW_S);
        let last = slots.end.saturating_sub(window);
        let is_below = |from: &usize| {
            // What nothing was due in is not below anything.
            self.share(*from..from + window)
                .is_some_and(|is| is < share)
        };
        (slots.start..=last)
            .take_while(|_| slots.len() >= window)
            .filter(is_below)
            .collect()
    }

    /// What came of it. `before`: slots of the time before; `began`: the slot in which the disturbance
    /// began; the rest of the course is after it.
    ///
    /// # Errors
    /// What is missing.
    pub fn recovery(&self, before: Range<usize>, began: usize) -> Result<Recovery, NotKnown> {
        let before = before.start..before.end.min(self.len());
        if began >= self.len() {
            return Err(NotKnown::NeverBegan);
        }
        let length_s = before.len() as f64 * self.slot_s;
        if length_s < BASELINE_MIN_S - 1e-9 {
            return Err(NotKnown::ShortBaseline(length_s));
        }
        let rate = self.due[before.clone()].iter().sum::<f64>() / length_s;
        if rate * WINDOW_S < WINDOW_DUE_MIN {
            return Err(NotKnown::TooFew(rate));
        }
        let baseline = self.share(before.clone()).unwrap_or(0.0);
        if baseline < BASELINE_SHARE_MIN {
            return Err(NotKnown::PoorBaseline(baseline));
        }
        if !self.below(before.clone(), SHARE * baseline).is_empty() {
            return Err(NotKnown::UnsteadyBaseline);
        }
        let is_quiet = self.below(before, SHARE_STRICT * baseline).is_empty();
        let after = began..self.len();
        let due: f64 = self.due[after.clone()].iter().sum();
        let served: f64 = self.served[after.clone()].iter().sum();
        let missed = (due - served).max(0.0);
        Ok(Recovery {
            baseline,
            back_s: self.back_s(began, SHARE * baseline),
            strictly_back_s: is_quiet.then(|| self.back_s(began, SHARE_STRICT * baseline)),
            below_s: self.below_s(after, SHARE * baseline),
            missed,
            missed_share: if due > 0.0 { missed / due } else { 0.0 },
        })
    }

    /// From the first second below the share on: when it is not below it for as long as it must hold.
    fn back_s(&self, began: usize, share: f64) -> Option<f64> {
        let below = self.below(began..self.len(), share);
        let Some(first) = below.first() else {
            return Some(0.0);
        };
        let hold = self.slots(HOLD_S);
        let window = self.slots(WINDOW_S);
        let mut back = *first;
        for from in below {
            // Windows from `back` to here are in order, and so is all that lies in them.
            if from > back && from - 1 + window >= back + hold {
                break;
            }
            back = from + 1;
        }
        // The window before began to be below; its end is not.
        (back + hold <= self.len()).then(|| (back - began) as f64 * self.slot_s)
    }

    /// Seconds below a share, together: slots that lie in a window that is.
    fn below_s(&self, slots: Range<usize>, share: f64) -> f64 {
        let window = self.slots(WINDOW_S);
        let mut until = slots.start;
        let mut count = 0;
        for from in self.below(slots, share) {
            let end = from + window;
            count += end - from.max(until);
            until = end;
        }
        // A window with a bad tenth is below as a whole: only slots that lack something count.
        count as f64 * self.slot_s
    }

    /// Whether it stays down from slot `over` on, in which the disturbance was over, to the end.
    pub fn stays(&self, baseline: f64, over: usize) -> Stays {
        let share = SHARE * baseline;
        let hold = self.slots(HOLD_S).min(self.len());
        let after = over.min(self.len())..self.len();
        let length_s = after.len() as f64 * self.slot_s;
        let last_hold = self.len() - hold..self.len();
        if length_s >= HOLD_S - 1e-9 && self.below(last_hold, share).is_empty() {
            return Stays::Up;
        }
        if length_s < STAYS_MIN_S - 1e-9 {
            return Stays::TooShort(length_s);
        }
        // The last third of what follows, five seconds at least.
        let third = (after.len() / 3).max(hold);
        let last = self.len() - third..self.len();
        let windows = last.len() - self.slots(WINDOW_S) + 1;
        if self.below(last.clone(), share).len() < windows {
            return Stays::UpAndDown;
        }
        let due: f64 = self.due[last.clone()].iter().sum();
        let commits: f64 = self.commits[last.start..].iter().sum();
        // More was committed than was due: what had piled up becomes less. By chance it is so by two
        // standard deviations of as many arrivals.
        if commits > due + 2.0 * due.sqrt() {
            Stays::CatchingUp
        } else {
            Stays::Down
        }
    }
}

/// Whether disturbed repeats differ from controls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seen {
    /// They miss more than controls do, at the 5 % level.
    Yes {
        /// Of the rank sum test, two-sided.
        p: f64,
    },
    No {
        /// Of the rank sum test, two-sided.
        p: f64,
    },
    /// There are too few of one kind to say.
    TooFew,
}

/// Whether what was missed in disturbed repeats is more than in controls, by Wilcoxon's rank sum test
/// (Mann & Whitney 1947), exact given the ties. One figure a repeat.
pub fn effect(disturbed: &[f64], controls: &[f64]) -> Seen {
    if disturbed.len().min(controls.len()) < MIN_REPEATS_FOR_EFFECT {
        return Seen::TooFew;
    }
    let p = ranks::rank_sum_p(controls, disturbed);
    let shift = ranks::rank_sum_shift(controls, disturbed, 1.0 - EFFECT_LEVEL);
    if p <= EFFECT_LEVEL && shift.estimate > 0.0 {
        Seen::Yes { p }
    } else {
        Seen::No { p }
    }
}

/// An interval of the median from one ordered figure to another, with the probability that it holds
/// the median: how many figures lie below it is binomial (David & Nagaraja 2003, Order Statistics,
/// 7.1). The narrowest of at least 95 %; from six figures on there is one, of six from the least to the
/// greatest (96.9 %). `None` for fewer.
pub fn ordered_interval(sorted: &[f64]) -> Option<crate::Interval> {
    let n = sorted.len();
    if n < crate::MIN_REPEATS_FOR_INTERVAL {
        return None;
    }
    // Of n fair coins: the probability of at most k heads.
    let mut term = 0.5f64.powi(n.min(1000) as i32);
    let mut at_most = 0.0;
    let mut best = None;
    for cut in 0..n / 2 {
        at_most += term;
        let level = 1.0 - 2.0 * at_most;
        if level < 0.95 {
            break;
        }
        best = Some(crate::Interval {
            low: sorted[cut],
            high: sorted[n - 1 - cut],
            level,
        });
        term *= (n - cut) as f64 / (cut + 1) as f64;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// 30 s before, then `after`: the share answered in each second, at 100 a second.
    struct Made {
        due: Vec<f64>,
        served: Vec<f64>,
        commits: Vec<f64>,
    }

    const BEFORE: usize = 300;

    impl Made {
        fn of(after: &[f64]) -> Self {
            let shares = std::iter::repeat_n(1.0, 30).chain(after.iter().copied());
            let served: Vec<f64> = shares
                .flat_map(|share| std::iter::repeat_n(share * 10.0, 10))
                .collect();
            Self {
                due: vec![10.0; served.len()],
                commits: served.clone(),
                served,
            }
        }

        fn course(&self) -> Course<'_> {
            Course {
                slot_s: 0.1,
                due: &self.due,
                served: &self.served,
                commits: &self.commits,
            }
        }

        fn recovery(&self) -> Recovery {
            self.course().recovery(0..BEFORE, BEFORE).unwrap()
        }
    }

    fn seconds(parts: &[(usize, f64)]) -> Vec<f64> {
        let parts = parts.iter();
        parts
            .flat_map(|(count, share)| std::iter::repeat_n(*share, *count))
            .collect()
    }

    fn near(a: Option<f64>, b: f64) -> bool {
        // A window may have a tenth of a bad second at its edge.
        a.is_some_and(|a| (a - b).abs() <= 0.11)
    }

    #[test]
    fn a_service_is_back_when_it_holds_for_five_seconds() {
        let made = Made::of(&seconds(&[(8, 0.0), (20, 1.0)]));
        let recovery = made.recovery();
        assert!(near(recovery.back_s, 8.0), "{recovery:?}");
        assert!(near(recovery.strictly_back_s.unwrap(), 8.0), "{recovery:?}");
        assert!((recovery.missed - 800.0).abs() < 1e-6, "{recovery:?}");
        assert_eq!(made.course().stays(1.0, BEFORE + 80), Stays::Up);
        // It comes back for three seconds only, at first.
        let flaps = Made::of(&seconds(&[(4, 0.0), (3, 1.0), (2, 0.2), (10, 1.0)]));
        assert!(near(flaps.recovery().back_s, 9.0), "{:?}", flaps.recovery());
        // What it does later is not part of that.
        let later = Made::of(&seconds(&[(4, 0.0), (6, 1.0), (2, 0.2), (10, 1.0)]));
        assert!(near(later.recovery().back_s, 4.0));
        assert!(later.recovery().below_s > 5.9);
    }

    #[test]
    fn ninety_percent_are_enough_and_ninety_nine_are_another_question() {
        let made = Made::of(&seconds(&[(2, 0.0), (5, 0.95), (10, 1.0)]));
        let recovery = made.recovery();
        // Two slots of a window may be at 95 %.
        assert!(near(recovery.back_s, 2.0), "{recovery:?}");
        assert!(near(recovery.strictly_back_s.unwrap(), 6.8), "{recovery:?}");
        // A baseline that loses one in fifty at times allows no such figure.
        let mut noisy = made;
        for slot in 100..110 {
            noisy.served[slot] = 9.5;
        }
        let recovery = noisy.recovery();
        assert_eq!(recovery.strictly_back_s, None);
        assert!(near(recovery.back_s, 2.0));
    }

    #[test]
    fn one_that_never_went_away_is_back_at_once_and_one_that_is_not_is_not() {
        let quiet = Made::of(&seconds(&[(20, 1.0)]));
        assert_eq!(quiet.recovery().back_s, Some(0.0));
        assert_eq!(
            (quiet.recovery().missed, quiet.recovery().below_s),
            (0.0, 0.0)
        );
        let gone = Made::of(&seconds(&[(20, 0.0)]));
        assert_eq!(gone.recovery().back_s, None);
        assert!((gone.recovery().missed_share - 1.0).abs() < 1e-9);
        // The end came before five seconds were over.
        let short = Made::of(&seconds(&[(4, 0.0), (4, 1.0)]));
        assert_eq!(short.recovery().back_s, None);
        // The effect begins long after the command.
        let late = Made::of(&seconds(&[(7, 1.0), (3, 0.0), (10, 1.0)]));
        assert!(near(late.recovery().back_s, 10.0), "{:?}", late.recovery());
    }

    #[test]
    fn without_a_baseline_nothing_is_known() {
        let made = Made::of(&seconds(&[(20, 1.0)]));
        let course = made.course();
        let refused = |before, began| course.recovery(before, began).unwrap_err();
        assert_eq!(refused(0..20, 20), NotKnown::ShortBaseline(2.0));
        assert_eq!(refused(0..BEFORE, 10_000), NotKnown::NeverBegan);
        let few = Made {
            due: vec![0.5; 400],
            served: vec![0.5; 400],
            commits: vec![0.5; 400],
        };
        let why = few.course().recovery(0..300, 300).unwrap_err();
        assert!(matches!(why, NotKnown::TooFew(_)), "{why:?}");
        let mut poor = Made::of(&seconds(&[(20, 1.0)]));
        poor.served.fill(2.0);
        let why = poor.course().recovery(0..300, 300).unwrap_err();
        assert_eq!(why, NotKnown::PoorBaseline(0.2));
        poor.served.fill(10.0);
        poor.served[50..60].fill(0.0);
        let why = poor.course().recovery(0..300, 300).unwrap_err();
        assert_eq!(why, NotKnown::UnsteadyBaseline);
        for why in [why, NotKnown::NeverBegan, NotKnown::TooFew(1.0)] {
            assert!(!why.to_string().is_empty());
        }
    }

    #[test]
    fn what_stays_down_at_the_same_load_is_metastable_and_what_catches_up_is_not_yet_known() {
        let stays = |after: &[f64], commits: f64| {
            let mut made = Made::of(after);
            let over = BEFORE + 50;
            made.commits[over..].fill(commits);
            made.course().stays(1.0, over)
        };
        let down = seconds(&[(5, 0.0), (30, 0.3)]);
        assert_eq!(stays(&down, 3.0), Stays::Down);
        assert_eq!(stays(&down, 15.0), Stays::CatchingUp);
        assert_eq!(
            stays(&seconds(&[(5, 0.0), (6, 0.3)]), 3.0),
            Stays::TooShort(6.0)
        );
        assert_eq!(stays(&seconds(&[(25, 0.0), (8, 1.0)]), 10.0), Stays::Up);
        let flaps: Vec<f64> = (0..40)
            .map(|s| if s % 4 == 0 { 1.0 } else { 0.2 })
            .collect();
        let flaps = [seconds(&[(5, 0.0)]), flaps].concat();
        assert_eq!(stays(&flaps, 3.0), Stays::UpAndDown);
    }

    #[test]
    fn an_interval_of_ordered_figures_says_how_sure_it_is() {
        let of = |n: usize| ordered_interval(&(0..n).map(|i| i as f64).collect::<Vec<_>>());
        assert_eq!(of(5), None);
        let six = of(6).unwrap();
        assert_eq!((six.low, six.high), (0.0, 5.0));
        // 1 - 2 / 64.
        assert!((six.level - 0.96875).abs() < 1e-12);
        let ten = of(10).unwrap();
        // From the second to the ninth: 1 - 2 × 11 / 1024.
        assert_eq!((ten.low, ten.high), (1.0, 8.0));
        assert!((ten.level - 0.978515625).abs() < 1e-12);
    }

    #[test]
    fn an_effect_needs_repeats_and_controls() {
        assert_eq!(effect(&[9.0; 3], &[0.0; 6]), Seen::TooFew);
        assert!(matches!(
            effect(&[9.0, 8.0, 7.0, 9.5], &[0.0; 4]),
            Seen::Yes { .. }
        ));
        assert!(matches!(effect(&[0.0; 6], &[0.0; 6]), Seen::No { p } if p == 1.0));
        // Less than in controls is no harm.
        assert!(matches!(
            effect(&[0.0; 6], &[5.0, 6.0, 7.0, 8.0, 9.0, 4.0]),
            Seen::No { .. }
        ));
    }

    /// What controls miss: mostly nothing, at times a checkpoint's second.
    fn control(rng: &mut Rng) -> f64 {
        match rng.below(5) {
            0 => 0.02 * rng.uniform(),
            _ => (0.0005 * rng.normal()).max(0.0),
        }
    }

    #[test]
    fn resampled_controls_show_an_effect_no_more_often_than_the_test_allows() {
        let mut rng = Rng::new(7);
        let pool: Vec<f64> = (0..20).map(|_| control(&mut rng)).collect();
        let mut seen = 0;
        for _ in 0..2000 {
            let mut draw = || -> Vec<f64> { (0..6).map(|_| pool[rng.below(pool.len())]).collect() };
            let (a, b) = (draw(), draw());
            seen += usize::from(matches!(effect(&a, &b), Seen::Yes { .. }));
        }
        assert!(seen <= 120, "{seen} of 2000");
    }
}
