//! The phases that a number which moves with the time makes by itself: its steps and bursts, the parts
//! of its ramps, the periods of a sine.

use pgdyno_spec::{
    Profile,
    load::{Piece, Then},
};

use super::phases::Phase;
use pgdyno_spec::text;

/// A ramp is cut in so many parts of one length.
const RAMP_PARTS: u32 = 4;
/// More phases than this are no table: the time is cut in so many equal parts then.
const PHASES_MAX: usize = 60;
const PARTS: usize = 20;
/// A number that changes by less than this share, from one moment to the next, makes no step.
const STEP_SHARE: f64 = 0.01;

/// A moment at which a number jumps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// When, in microseconds since the measured time began.
    pub at_us: u64,
    /// When the number jumps next or begins to move, or the time ends.
    pub until_us: u64,
    pub from: f64,
    pub to: f64,
}

/// A piece of the time: where it begins in seconds, and what the number does in it.
struct Cut {
    start_s: f64,
    name: String,
}

/// The phases of so many microseconds of it, which begin at `from_us`; none of what does not move.
/// Numbers are named with this before and behind them: `500/s`, `clients 8`.
pub fn phases(profile: &Profile, around: (&str, &str), from_us: u64, length_us: u64) -> Vec<Phase> {
    let length_s = length_us as f64 / 1e6;
    let mut cuts = cuts(profile, around, length_s);
    if cuts.len() > PHASES_MAX {
        let part = |at: usize| Cut {
            start_s: length_s * at as f64 / PARTS as f64,
            name: format!("{} of {PARTS}", at + 1),
        };
        cuts = (0..PARTS).map(part).collect();
    }
    cuts.retain(|cut| cut.start_s < length_s);
    let us = |s: f64| from_us + (s * 1e6).round() as u64;
    let ends = cuts.iter().skip(1).map(|cut| us(cut.start_s));
    let ends: Vec<u64> = ends.chain([from_us + length_us]).collect();
    let cuts = cuts.into_iter().zip(ends);
    cuts.map(|(cut, to_us)| Phase::new(cut.name, us(cut.start_s), to_us))
        .collect()
}

/// The phases of two numbers that move at the same time: each ends where one of the two does.
pub fn both(one: Vec<Phase>, other: Vec<Phase>) -> Vec<Phase> {
    if one.is_empty() || other.is_empty() {
        return [one, other].concat();
    }
    let mut all: Vec<Phase> = Vec::new();
    for a in &one {
        for b in &other {
            let (from_us, to_us) = (a.from_us.max(b.from_us), a.to_us.min(b.to_us));
            if from_us < to_us {
                let name = format!("{}, {}", a.name, b.name);
                all.push(Phase::new(name, from_us, to_us));
            }
        }
    }
    if all.len() <= PHASES_MAX { all } else { one }
}

/// Pieces one after the other up to this time, what is held or repeated after them included.
fn pieces(profile: &Profile, length_s: f64) -> Vec<(f64, Piece)> {
    let Profile::Straight(straight) = profile else {
        return Vec::new();
    };
    let mut all: Vec<(f64, Piece)> = straight.pieces().collect();
    match straight.then() {
        Then::Holds(value) if straight.length_s() < length_s => {
            let held = Piece::level(value, length_s - straight.length_s());
            // What goes on as it ended makes no phase of its own.
            match all.last_mut() {
                Some((_, last)) if last.from == last.to && last.to == value => {
                    last.length_s += held.length_s;
                }
                _ => all.push((straight.length_s(), held)),
            }
        }
        Then::Holds(_) => {}
        Then::Repeats => {
            let round = all.clone();
            let mut start_s = straight.length_s();
            while start_s < length_s && all.len() <= 2 * PHASES_MAX {
                all.extend(round.iter().map(|(at_s, piece)| (start_s + at_s, *piece)));
                start_s += straight.length_s();
            }
        }
    }
    all.retain(|(start_s, _)| *start_s < length_s);
    all
}

fn cuts(profile: &Profile, (before, after): (&str, &str), length_s: f64) -> Vec<Cut> {
    if let Profile::Sine { period_s, .. } = profile {
        let periods = (length_s / period_s).ceil().min(PHASES_MAX as f64 + 1.0) as usize;
        let cut = |at: usize| Cut {
            start_s: at as f64 * period_s,
            name: format!("period {}", at + 1),
        };
        return (0..periods).map(cut).collect();
    }
    let number = |value: f64| {
        if value.fract() == 0.0 {
            text::count(value as u64)
        } else {
            text::rate(value)
        }
    };
    let mut cuts = Vec::new();
    for (start_s, piece) in pieces(profile, length_s) {
        if piece.from == piece.to {
            let name = format!("{before}{}{after}", number(piece.from));
            cuts.push(Cut { start_s, name });
            continue;
        }
        let at = |part: u32| {
            let share = f64::from(part) / f64::from(RAMP_PARTS);
            piece.from + (piece.to - piece.from) * share
        };
        cuts.extend((0..RAMP_PARTS).map(|part| Cut {
            start_s: start_s + piece.length_s * f64::from(part) / f64::from(RAMP_PARTS),
            name: format!(
                "{before}{} to {}{after}",
                number(at(part)),
                number(at(part + 1))
            ),
        }));
    }
    cuts
}

/// The moments at which it jumps, in so many microseconds.
pub fn steps(profile: &Profile, length_us: u64) -> Vec<Step> {
    let length_s = length_us as f64 / 1e6;
    let pieces = pieces(profile, length_s);
    let jumps = |pair: &&[(f64, Piece)]| {
        let (before, after) = (pair[0].1.to, pair[1].1.from);
        (before - after).abs() > STEP_SHARE * before.max(after)
    };
    let us = |s: f64| (s * 1e6).round() as u64;
    let step = |pair: &[(f64, Piece)]| {
        let (start_s, piece) = pair[1];
        // On a ramp there is no level to come to.
        let lasts_s = if piece.from == piece.to {
            piece.length_s
        } else {
            0.0
        };
        Step {
            at_us: us(start_s),
            until_us: us((start_s + lasts_s).min(length_s)),
            from: pair[0].1.to,
            to: piece.from,
        }
    };
    pieces
        .windows(2)
        .filter(jumps)
        .map(step)
        .take(PHASES_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_spec::{Clients, Rate};

    fn of(rate: &str, length_s: u64) -> Vec<(String, u64, u64)> {
        let rate: Rate = rate.parse().unwrap();
        let phases = phases(rate.profile(), ("", "/s"), 5_000_000, length_s * 1_000_000);
        let s = |us: u64| (us - 5_000_000) / 1_000_000;
        let phases = phases.into_iter();
        phases
            .map(|one| (one.name, s(one.from_us), s(one.to_us)))
            .collect()
    }

    fn named(all: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
        let all = all.iter();
        all.map(|(name, from, to)| ((*name).to_owned(), *from, *to))
            .collect()
    }

    #[test]
    fn steps_bursts_parts_of_ramps_and_periods_are_phases() {
        assert_eq!(of("500", 10), []);
        assert_eq!(
            of("500@30s,1000@30s", 70),
            named(&[("500/s", 0, 30), ("1,000/s", 30, 70)])
        );
        assert_eq!(
            of("500@30s,1000@30s,7", 70),
            named(&[("500/s", 0, 30), ("1,000/s", 30, 60), ("7/s", 60, 70)])
        );
        assert_eq!(
            of("100..2100/40s", 45),
            named(&[
                ("100 to 600/s", 0, 10),
                ("600 to 1,100/s", 10, 20),
                ("1,100 to 1,600/s", 20, 30),
                ("1,600 to 2,100/s", 30, 40),
                ("2,100/s", 40, 45),
            ])
        );
        assert_eq!(
            of("200+1500@2s/20s", 25),
            named(&[("200/s", 0, 18), ("1,700/s", 18, 20), ("200/s", 20, 25)])
        );
        assert_eq!(
            of("1000~400/60s", 70),
            named(&[("period 1", 0, 60), ("period 2", 60, 70)])
        );
        // A trial that ends early has the phases that it came to.
        assert_eq!(of("500@30s,1000@30s", 12), named(&[("500/s", 0, 12)]));
        let clients: Clients = "8..64/40s,10".parse().unwrap();
        let clients = phases(clients.moving().unwrap(), ("clients ", ""), 0, 50_000_000);
        let names: Vec<&str> = clients.iter().map(|phase| &*phase.name).collect();
        let ramp = ["clients 8 to 22", "clients 22 to 36", "clients 36 to 50"];
        assert_eq!(names[..3], ramp);
        assert_eq!(names[3..], ["clients 50 to 64", "clients 10"]);
        let many = of("1+1@1s/2s", 1000);
        assert_eq!(
            (many.len(), many[19].0.as_str(), many[19].2),
            (20, "20 of 20", 1000)
        );
    }

    #[test]
    fn phases_of_a_rate_and_of_clients_end_where_one_of_them_does() {
        let rates = vec![Phase::new("500/s", 0, 30), Phase::new("900/s", 30, 60)];
        let clients = vec![
            Phase::new("clients 8", 0, 40),
            Phase::new("clients 9", 40, 60),
        ];
        let expected = [
            Phase::new("500/s, clients 8", 0, 30),
            Phase::new("900/s, clients 8", 30, 40),
            Phase::new("900/s, clients 9", 40, 60),
        ];
        assert_eq!(both(rates.clone(), clients), expected);
        assert_eq!(both(rates.clone(), Vec::new()), rates);
    }

    #[test]
    fn a_step_is_where_the_number_jumps() {
        let of = |rate: &str, length_s: u64| -> Vec<(u64, u64, f64, f64)> {
            let rate: Rate = rate.parse().unwrap();
            let steps = steps(rate.profile(), length_s * 1_000_000).into_iter();
            let s = |us: u64| us / 1_000_000;
            steps
                .map(|one| (s(one.at_us), s(one.until_us), one.from, one.to))
                .collect()
        };
        assert_eq!(
            of("500@30s,1000@30s,500", 80),
            [(30, 60, 500.0, 1000.0), (60, 80, 1000.0, 500.0)]
        );
        assert_eq!(of("100..500/30s,500@30s", 80), []);
        assert_eq!(of("500@30s,100..500/30s", 60), [(30, 30, 500.0, 100.0)]);
        assert_eq!(
            of("200+1500@2s/20s", 30),
            [(18, 20, 200.0, 1700.0), (20, 30, 1700.0, 200.0)]
        );
        assert_eq!(of("1000~400/60s", 70), []);
    }
}
