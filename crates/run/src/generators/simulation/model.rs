//! What a notebook has to do for so many generators: a formula, and what simulated ones ask of it.

use super::Plan;
use super::notebook::{Asked, What};
use super::plan::{Host, MS, S, US};

/// How long the others wait for the last of them, and how long they measure.
const WAIT_S: u64 = 28;
const DURATION_S: u64 = 20;

/// Statements and rows a second.
#[derive(Debug, Default, Clone, Copy)]
struct Rates {
    writes: f64,
    reads: f64,
    clock: f64,
    /// That statements have to read.
    rows: f64,
}

impl Rates {
    /// What is asked of a notebook in each second in which all wait for the last of so many. See
    /// `docs/scale-out.md`.
    fn waiting(generators: f64) -> Self {
        let there = generators - 1.0;
        // How often each does it.
        let looks = 1.0 / look_pause_s(generators);
        let listens = 1.0
            / (generators / 125.0)
                .clamp(2.0, 8.0)
                .max(look_pause_s(generators));
        let stops = 1.0 / f64::max(0.5, look_pause_s(generators));
        Self {
            writes: there * says(generators),
            // Each look asks for the start, and counts who is ready and who has left.
            reads: there * (3.0 * looks + 3.0 * listens + stops),
            clock: there * f64::min(1.0, looks),
            // Who is ready, counted and listed; of each, how often it said that it is alive in a minute.
            rows: there * there * (looks + listens * (1.0 + steps(WAIT_S as f64 / 2.0))),
        }
    }

    fn measuring(generators: f64) -> Self {
        Self {
            writes: generators * says(generators),
            reads: generators / f64::max(0.5, look_pause_s(generators)),
            ..Self::default()
        }
    }

    /// What was asked from one moment to another.
    fn of(asked: &[Asked], from: u64, until: u64) -> Self {
        let asked = asked.iter().filter(|one| (from..until).contains(&one.at));
        let asked: Vec<&Asked> = asked.collect();
        let seconds = (until - from) as f64 / S as f64;
        let count = |what| asked.iter().filter(|one| one.what == what).count() as f64 / seconds;
        let rows: usize = asked.iter().map(|one| one.rows).sum();
        Self {
            writes: count(What::Write),
            reads: count(What::Read),
            clock: count(What::Clock),
            rows: rows as f64 / seconds,
        }
    }

    /// Within so much of the other's.
    fn agrees(&self, other: &Self, share: f64) -> bool {
        let is_near = |a: f64, b: f64| (a - b).abs() <= share * a.max(b) + 1.0;
        is_near(self.writes, other.writes)
            && is_near(self.reads, other.reads)
            && is_near(self.clock, other.clock)
            && is_near(self.rows, other.rows)
    }
}

fn look_pause_s(generators: f64) -> f64 {
    f64::max(0.1, generators / 2000.0)
}

/// How often each of so many says that it is alive: at its looks.
fn says(generators: f64) -> f64 {
    let look_s = f64::max(0.5, look_pause_s(generators));
    1.0 / ((4.0 / look_s).ceil() * look_s)
}

/// How many times each has said that it is alive, so many seconds after it came: no more are heard.
fn steps(seconds: f64) -> f64 {
    f64::min(1.0 + seconds / 4.0, 16.0)
}

/// As many hosts on a LAN, all there at once but the last.
fn healthy(generators: u64) -> Plan {
    let hosts = (0..generators).map(|number| Host {
        arrives: Some(match number {
            0 => WAIT_S * S,
            _ => number * MS,
        }),
        asks: None,
        prepares: 0,
        fills: 0,
        connects: 10 * MS,
        drains: 0,
        dies: None,
        signal: None,
        skew_us: 0,
        drift_ppm: 0,
        steps: Vec::new(),
        ways: (100 * US, 100 * US),
        oversleeps: 60 * US,
    });
    Plan {
        seed: 1,
        hosts: hosts.collect(),
        is_lan: true,
        join_deadline: 2 * WAIT_S * S,
        duration_s: DURATION_S,
        ranges: 0,
        leaves: false,
        away: None,
        lost_permille: 0,
        notebook_ppm: 0,
    }
}

#[test]
fn a_notebook_has_to_do_what_the_formula_says() {
    for generators in [8, 64] {
        let (room, log) = healthy(generators).live(0);
        super::check::check(&room, &log.lock().unwrap()).unwrap();
        let log = log.lock().unwrap();
        assert_eq!(log.runs.len() as u64, generators);
        let began = log.runs.values().map(|run| run.began);
        let began = began.max().unwrap();
        let asked = &room.book().asked;
        let waited = Rates::of(asked, 4 * S, (WAIT_S - 4) * S);
        let measured = Rates::of(asked, began + 4 * S, began + (DURATION_S - 4) * S);
        for (when, seen, formula) in [
            ("waiting", waited, Rates::waiting(generators as f64)),
            ("measuring", measured, Rates::measuring(generators as f64)),
        ] {
            println!("{generators} {when}: {seen:.0?}\n  by the formula {formula:.0?}");
            assert!(
                seen.agrees(&formula, 0.1),
                "{generators} {when}: {seen:?} {formula:?}"
            );
        }
    }
    for generators in [1_000.0, 3_000.0, 10_000.0] {
        let (waits, measures) = (Rates::waiting(generators), Rates::measuring(generators));
        println!("of {generators}: waiting {waits:.0?}\n  measuring {measures:.0?}");
    }
}
