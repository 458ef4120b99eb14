//! A number that moves with the time: how many transactions a second are asked for, how many clients
//! work. Where it is a rate, its integral says how many transactions are due; the inverse of that
//! says when. The engine asks at each transaction.

use std::f64::consts::TAU;
use std::fmt;

/// A number over time, in seconds since the measured time began. Before it (in a warm-up) it is as
/// at the beginning.
#[derive(Clone, Debug, PartialEq)]
pub enum Profile {
    Constant(f64),
    /// Straight pieces one after the other.
    Straight(Straight),
    /// `mean + amplitude · sin(2π·t / period_s)`, which must not be negative anywhere.
    Sine {
        mean: f64,
        /// So far up and down, at most the mean.
        amplitude: f64,
        /// Seconds until it is the same again.
        period_s: f64,
    },
}

/// A piece of a profile: a straight line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    pub from: f64,
    pub to: f64,
    /// How long it is, in seconds; more than nothing.
    pub length_s: f64,
}

impl Piece {
    /// The same all the time.
    pub fn level(value: f64, length_s: f64) -> Self {
        Self {
            from: value,
            to: value,
            length_s,
        }
    }

    /// The integral over all of it.
    fn area(&self) -> f64 {
        (self.from + self.to) / 2.0 * self.length_s
    }

    fn slope(&self) -> f64 {
        (self.to - self.from) / self.length_s
    }

    /// When, at this second of it or later, the number lies on this side of a level.
    fn reaches(&self, side: Side, from_s: f64) -> Option<f64> {
        if side.has(self.from + self.slope() * from_s) {
            return Some(from_s);
        }
        let crosses_s = || ((side.level() - self.from) / self.slope()).clamp(from_s, self.length_s);
        side.has(self.to).then(crosses_s)
    }

    /// The integral over its first seconds.
    fn area_until(&self, s: f64) -> f64 {
        (self.from + self.slope() * s / 2.0) * s
    }

    /// After how many seconds the integral is so much: the root of a quadratic equation, in the form
    /// that does not cancel.
    fn when(&self, area: f64) -> f64 {
        if area <= 0.0 {
            return 0.0;
        }
        let root = self.from * self.from + 2.0 * self.slope() * area;
        (2.0 * area / (self.from + root.max(0.0).sqrt())).min(self.length_s)
    }
}

/// A piece and where it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Placed {
    piece: Piece,
    start_s: f64,
    /// The integral of all before it.
    before: f64,
}

/// A side of a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Side {
    AtLeast(f64),
    Below(f64),
}

impl Side {
    fn level(self) -> f64 {
        match self {
            Self::AtLeast(level) | Self::Below(level) => level,
        }
    }

    fn has(self, value: f64) -> bool {
        match self {
            Self::AtLeast(level) => value >= level,
            Self::Below(level) => value < level,
        }
    }
}

/// Straight pieces, and what comes after the last of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Straight {
    pieces: Vec<Placed>,
    then: Then,
    length_s: f64,
    area: f64,
}

/// What comes after the last piece.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Then {
    Holds(f64),
    Repeats,
}

impl Straight {
    /// Of at least one piece.
    fn new(pieces: impl IntoIterator<Item = Piece>, then: Then) -> Self {
        let (mut start_s, mut before) = (0.0, 0.0);
        let place = |piece: Piece| {
            let placed = Placed {
                piece,
                start_s,
                before,
            };
            start_s += piece.length_s;
            before += piece.area();
            placed
        };
        Self {
            pieces: pieces.into_iter().map(place).collect(),
            then,
            length_s: start_s,
            area: before,
        }
    }

    /// Each piece with its beginning in seconds.
    pub fn pieces(&self) -> impl Iterator<Item = (f64, Piece)> {
        self.pieces.iter().map(|one| (one.start_s, one.piece))
    }

    /// What comes after the last of them.
    pub fn then(&self) -> Then {
        self.then
    }

    /// All pieces together, in seconds.
    pub fn length_s(&self) -> f64 {
        self.length_s
    }

    fn first(&self) -> f64 {
        self.pieces.first().map_or(0.0, |one| one.piece.from)
    }

    /// Of those that repeat, whole rounds before a time, and the time within its round.
    fn round(&self, at_s: f64) -> (f64, f64) {
        match self.then {
            Then::Holds(_) => (0.0, at_s),
            Then::Repeats => {
                let rounds = (at_s / self.length_s).floor();
                (rounds, at_s - rounds * self.length_s)
            }
        }
    }

    fn piece_at(&self, at_s: f64) -> &Placed {
        let after = self.pieces.partition_point(|one| one.start_s <= at_s);
        &self.pieces[after.saturating_sub(1)]
    }

    fn value(&self, at_s: f64) -> f64 {
        let (_, at_s) = self.round(at_s);
        match self.then {
            Then::Holds(value) if at_s >= self.length_s => value,
            _ => {
                let one = self.piece_at(at_s);
                one.piece.from + one.piece.slope() * (at_s - one.start_s)
            }
        }
    }

    /// As [`Profile::reaches`], of a time that is not before 0.
    fn reaches(&self, side: Side, from_s: f64) -> Option<f64> {
        let (rounds, at_s) = self.round(from_s);
        let begun_s = rounds * self.length_s;
        let after = self.pieces.partition_point(|one| one.start_s <= at_s);
        let left = self.pieces[after.saturating_sub(1)..].iter();
        let reaches = |one: &Placed, at_s: f64| {
            let of_piece = (at_s - one.start_s).max(0.0);
            let is_over = of_piece >= one.piece.length_s;
            let found = one.piece.reaches(side, of_piece).filter(|_| !is_over)?;
            Some(one.start_s + found)
        };
        if let Some(found) = left.clone().find_map(|one| reaches(one, at_s)) {
            return Some(begun_s + found);
        }
        match self.then {
            Then::Holds(value) => side.has(value).then(|| from_s.max(self.length_s)),
            Then::Repeats => {
                let found = self.pieces.iter().find_map(|one| reaches(one, 0.0));
                found.map(|found| begun_s + self.length_s + found)
            }
        }
    }

    fn area(&self, until_s: f64) -> f64 {
        let (rounds, at_s) = self.round(until_s);
        let whole = rounds * self.area;
        match self.then {
            Then::Holds(value) if at_s >= self.length_s => {
                self.area + value * (at_s - self.length_s)
            }
            _ => {
                let one = self.piece_at(at_s);
                whole + one.before + one.piece.area_until(at_s - one.start_s)
            }
        }
    }

    fn when(&self, area: f64) -> f64 {
        let (rounds, left) = match self.then {
            Then::Holds(value) if area >= self.area => {
                return if value > 0.0 {
                    self.length_s + (area - self.area) / value
                } else {
                    f64::INFINITY
                };
            }
            Then::Holds(_) => (0.0, area),
            Then::Repeats => {
                let rounds = (area / self.area).floor();
                (rounds, area - rounds * self.area)
            }
        };
        let after = self.pieces.partition_point(|one| one.before <= left);
        let one = &self.pieces[after.saturating_sub(1)];
        rounds * self.length_s + one.start_s + one.piece.when(left - one.before)
    }
}

impl Profile {
    /// Straight pieces, at least one, and what comes after them.
    pub fn straight(pieces: impl IntoIterator<Item = Piece>, then: Then) -> Self {
        Self::Straight(Straight::new(pieces, then))
    }

    /// The number, where it does not move.
    #[inline]
    pub fn constant(&self) -> Option<f64> {
        match self {
            Self::Constant(value) => Some(*value),
            _ => None,
        }
    }

    /// The number at a time.
    #[inline]
    pub fn value(&self, at_s: f64) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Straight(straight) if at_s < 0.0 => straight.first(),
            Self::Straight(straight) => straight.value(at_s),
            Self::Sine { mean, .. } if at_s < 0.0 => *mean,
            Self::Sine {
                mean,
                amplitude,
                period_s,
            } => mean + amplitude * (TAU * at_s / period_s).sin(),
        }
    }

    /// The integral from 0 to this time, negative before it.
    #[inline]
    pub fn area(&self, until_s: f64) -> f64 {
        match self {
            _ if until_s < 0.0 => self.value(until_s) * until_s,
            Self::Constant(value) => value * until_s,
            Self::Straight(straight) => straight.area(until_s),
            Self::Sine {
                mean,
                amplitude,
                period_s,
            } => {
                let turns = until_s / period_s;
                mean * until_s + amplitude * period_s / TAU * (1.0 - (TAU * turns).cos())
            }
        }
    }

    /// When the integral is so much; for ever later where it never is.
    #[inline]
    pub fn when(&self, area: f64) -> f64 {
        if area < 0.0 {
            return area / self.value(-1.0);
        }
        match self {
            Self::Constant(value) => area / value,
            Self::Straight(straight) => straight.when(area),
            Self::Sine {
                mean,
                amplitude,
                period_s,
            } => {
                // The integral is at most so far above its mean, and never below it.
                let mut low = (area - amplitude * period_s / (TAU / 2.0)).max(0.0) / mean;
                let mut high = area / mean;
                let mut at_s = high;
                // Newton's method within a bracket: 60 halvings are all bits of a number.
                for _ in 0..60 {
                    let over = self.area(at_s) - area;
                    if over > 0.0 {
                        high = at_s
                    } else {
                        low = at_s
                    }
                    let newton = at_s - over / self.value(at_s);
                    let next = if newton > low && newton < high {
                        newton
                    } else {
                        f64::midpoint(low, high)
                    };
                    if (next - at_s).abs() < 1e-10 {
                        return next;
                    }
                    at_s = next;
                }
                at_s
            }
        }
    }

    /// When, at this time or later, the number lies on this side of a level; `None` where it never
    /// does.
    pub fn reaches(&self, side: Side, from_s: f64) -> Option<f64> {
        if side.has(self.value(from_s)) {
            return Some(from_s);
        }
        let from_s = from_s.max(0.0);
        match self {
            Self::Constant(_) => None,
            Self::Straight(straight) => straight.reaches(side, from_s),
            Self::Sine {
                mean,
                amplitude,
                period_s,
            } => {
                let height = (side.level() - mean) / amplitude;
                // Where it rises through the level; it falls through it as far from its top.
                let rises = (height.abs() <= 1.0).then(|| height.asin() / TAU)?;
                let crosses = match side {
                    Side::AtLeast(_) => rises,
                    Side::Below(_) => 0.5 - rises,
                };
                let round = (from_s / period_s - crosses).ceil();
                Some(((round + crosses) * period_s).max(from_s))
            }
        }
    }

    /// The same with all numbers times this.
    pub fn times(&self, factor: f64) -> Self {
        self.map(|value| value * factor)
    }

    /// The same with other numbers: one for each.
    pub fn map(&self, of: impl Fn(f64) -> f64) -> Self {
        match self {
            Self::Constant(value) => Self::Constant(of(*value)),
            Self::Straight(straight) => {
                let pieces = straight.pieces.iter().map(|one| Piece {
                    from: of(one.piece.from),
                    to: of(one.piece.to),
                    ..one.piece
                });
                let then = match straight.then {
                    Then::Holds(value) => Then::Holds(of(value)),
                    Then::Repeats => Then::Repeats,
                };
                Self::straight(pieces, then)
            }
            Self::Sine {
                mean,
                amplitude,
                period_s,
            } => Self::Sine {
                mean: of(*mean),
                amplitude: of(*amplitude),
                period_s: *period_s,
            },
        }
    }

    pub fn max(&self) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Straight(straight) => {
                let pieces = straight.pieces.iter();
                let all = pieces.flat_map(|one| [one.piece.from, one.piece.to]);
                let then = match straight.then {
                    Then::Holds(value) => value,
                    Then::Repeats => 0.0,
                };
                all.fold(then, f64::max)
            }
            Self::Sine {
                mean, amplitude, ..
            } => mean + amplitude,
        }
    }

    /// How long a trial takes to see all of it, in seconds: the pieces; two rounds of what repeats.
    /// `None` of what does not move.
    pub fn length_s(&self) -> Option<f64> {
        match self {
            Self::Constant(_) => None,
            Self::Straight(straight) => Some(match straight.then {
                Then::Holds(_) => straight.length_s,
                Then::Repeats => 2.0 * straight.length_s,
            }),
            Self::Sine { period_s, .. } => Some(2.0 * period_s),
        }
    }

    /// Whether something is asked for at any time however late: a run of so many transactions ends.
    pub fn lasts(&self) -> bool {
        match self {
            Self::Constant(value) => *value > 0.0,
            Self::Straight(straight) => match straight.then {
                Then::Holds(value) => value > 0.0,
                Then::Repeats => straight.area > 0.0,
            },
            Self::Sine { mean, .. } => *mean > 0.0,
        }
    }

    /// Whether it can be a rate: finite, nowhere negative, and not 0 all the time.
    pub fn is_rate(&self) -> bool {
        let is_number = |value: f64| value >= 0.0 && value.is_finite();
        match self {
            Self::Constant(value) => *value > 0.0 && value.is_finite(),
            Self::Straight(straight) => {
                let pieces = straight.pieces.iter().map(|one| one.piece);
                let all = pieces.clone().flat_map(|piece| [piece.from, piece.to]);
                let mut all = all.chain(match straight.then {
                    Then::Holds(value) => Some(value),
                    Then::Repeats => None,
                });
                let mut lengths = pieces.map(|piece| piece.length_s);
                !straight.pieces.is_empty()
                    && all.all(is_number)
                    && lengths.all(|s| s > 0.0 && s.is_finite())
                    && self.max() > 0.0
            }
            Self::Sine {
                mean,
                amplitude,
                period_s,
            } => {
                *mean > 0.0
                    && mean.is_finite()
                    && (0.0..=*mean).contains(amplitude)
                    && *period_s > 0.0
                    && period_s.is_finite()
            }
        }
    }
}

impl From<f64> for Profile {
    fn from(value: f64) -> Self {
        Self::Constant(value)
    }
}

/// As it is typed (docs/guide.md).
impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(value) => write!(f, "{value}"),
            Self::Sine {
                mean,
                amplitude,
                period_s,
            } => write!(f, "{mean}~{amplitude}/{period_s}s"),
            Self::Straight(straight) => match (straight.then, &straight.pieces[..]) {
                (Then::Repeats, [base, more]) => {
                    let (base, more) = (base.piece, more.piece);
                    let (value, length_s) = (more.from - base.from, more.length_s);
                    let period_s = straight.length_s;
                    write!(f, "{}+{value}@{length_s}s/{period_s}s", base.from)
                }
                (then, pieces) => {
                    let mut last = f64::NAN;
                    for (at, Placed { piece, .. }) in pieces.iter().enumerate() {
                        let comma = if at > 0 { "," } else { "" };
                        let Piece { from, to, length_s } = piece;
                        if from == to {
                            write!(f, "{comma}{from}@{length_s}s")?
                        } else {
                            write!(f, "{comma}{from}..{to}/{length_s}s")?
                        }
                        last = *to;
                    }
                    match then {
                        Then::Holds(value) if value != last => write!(f, ",{value}"),
                        _ => Ok(()),
                    }
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Profile> {
        let ramp = Piece {
            from: 100.0,
            to: 2000.0,
            length_s: 60.0,
        };
        let down = Piece {
            from: 50.0,
            to: 0.0,
            length_s: 10.0,
        };
        let sine = |amplitude| Profile::Sine {
            mean: 1000.0,
            amplitude,
            period_s: 60.0,
        };
        let bursts = [Piece::level(200.0, 18.0), Piece::level(1700.0, 2.0)];
        vec![
            Profile::Constant(300.0),
            Profile::straight([ramp], Then::Holds(2000.0)),
            Profile::straight(
                [
                    Piece::level(500.0, 30.0),
                    ramp,
                    down,
                    Piece::level(0.0, 5.0),
                ],
                Then::Holds(70.0),
            ),
            Profile::straight(bursts, Then::Repeats),
            Profile::straight([down, Piece::level(9.0, 0.5)], Then::Repeats),
            sine(400.0),
            sine(1000.0),
        ]
    }

    #[test]
    fn the_integral_is_that_of_the_number_and_its_inverse_finds_the_time() {
        for profile in all() {
            assert!(profile.is_rate() && profile.lasts(), "{profile}");
            // By the trapezoidal rule, in steps of a millisecond; pieces end at whole ones.
            let mut sum = 0.0;
            for step in 0..150_000 {
                let (from_s, to_s) = (step as f64 / 1e3, (step + 1) as f64 / 1e3);
                let inside = |s: f64| profile.value(s.clamp(from_s + 1e-9, to_s - 1e-9));
                sum += (inside(from_s) + inside(to_s)) / 2e3;
                if step % 1777 == 0 {
                    let area = profile.area(to_s);
                    assert!(
                        (area - sum).abs() < 1e-2,
                        "{profile} at {to_s}: {area} {sum}"
                    );
                    let again = profile.area(profile.when(area));
                    assert!((again - area).abs() < 1e-4, "{profile}: {again} {area}");
                }
            }
            // In a warm-up it is as at the beginning.
            assert_eq!(profile.value(-3.0), profile.value(0.0));
            assert_eq!(profile.area(-2.0), -2.0 * profile.value(0.0));
            assert!((profile.when(profile.area(-2.0)) + 2.0).abs() < 1e-9);
        }
    }

    #[test]
    fn after_its_end_a_profile_holds_or_repeats() {
        let [_, ramp, steps, bursts, ..] = &all()[..] else {
            panic!()
        };
        assert_eq!(ramp.value(1e6), 2000.0);
        assert_eq!(steps.value(1e6), 70.0);
        assert_eq!((bursts.value(17.0), bursts.value(19.0)), (200.0, 1700.0));
        assert_eq!(
            (bursts.value(2017.0), bursts.value(2019.0)),
            (200.0, 1700.0)
        );
        let stops = Profile::straight([Piece::level(10.0, 2.0)], Then::Holds(0.0));
        assert_eq!(stops.when(20.5), f64::INFINITY);
        assert!(!stops.lasts() && stops.is_rate());
    }

    #[test]
    fn the_time_of_a_level_is_found_wherever_it_comes_next() {
        for profile in all() {
            for level in [
                0.5, 60.5, 100.0, 300.0, 500.5, 999.5, 1500.0, 1999.5, 2500.0,
            ] {
                for side in [Side::AtLeast(level), Side::Below(level)] {
                    // By looking at each tenth of a second.
                    let mut next = None;
                    for step in (-50..2000).rev() {
                        let at_s = f64::from(step) / 10.0 + 1e-6;
                        if side.has(profile.value(at_s)) {
                            next = Some(at_s);
                        }
                        let Some(found) = profile.reaches(side, at_s) else {
                            assert_eq!(next, None, "{profile} {side:?} from {at_s}");
                            continue;
                        };
                        assert!(found >= at_s, "{profile} {side:?} from {at_s}: {found}");
                        let is_there = side.has(profile.value(found + 1e-7));
                        let is_near = (profile.value(found) - level).abs() < 1e-3;
                        assert!(
                            is_there || is_near,
                            "{profile} {side:?} from {at_s}: {found}"
                        );
                        let is_first = next.is_none_or(|next| {
                            found <= next + 1e-9 && (found > next - 0.1 - 1e-9 || found == at_s)
                        });
                        assert!(is_first, "{profile} {side:?} from {at_s}: {found} {next:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_share_of_it_is_a_share_everywhere() {
        for profile in all() {
            let third = profile.times(1.0 / 3.0);
            for s in [0.0, 1.0, 17.5, 33.0, 59.9, 200.0] {
                assert!((third.value(s) * 3.0 - profile.value(s)).abs() < 1e-6);
            }
            assert!((third.max() * 3.0 - profile.max()).abs() < 1e-6);
        }
    }
}
