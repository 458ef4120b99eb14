//! `[capacity]`: how much load a system takes while p99 keeps a limit. The rates of the experiment
//! are the first steps of a search, which goes on by itself. How the figures come out of it:
//! `docs/statistics.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::schedule::Slot;
use pgdyno_diagnose::capacity::{SecondsOver, ladders};
use pgdyno_model::event::Role;
use pgdyno_model::notebook::TrialRow;
use pgdyno_spec::{
    Failure,
    experiment::{Capacity, point::Point, point::PointRate},
};
use pgdyno_stats::search::{self, Next};

/// What cannot be found out with these rates.
///
/// # Errors
/// A point without a rate, several durations, clients that move.
pub fn check(points: &[Point]) -> Result<(), Failure> {
    let mut with_rates: BTreeMap<String, bool> = BTreeMap::new();
    let mut lengths: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    if points.iter().any(Point::has_moving_clients) {
        let text =
            "the search for a capacity is of one number of clients: clients that move have none";
        return Err(Failure::new(text).hint("for example clients = [8, 64]"));
    }
    for point in points {
        let bare = point.without_rate_and_duration().key();
        *with_rates.entry(bare.clone()).or_default() |= point.rate() != PointRate::Max;
        let length = point.at_maximum().key();
        lengths.entry(bare).or_default().insert(length);
    }
    if lengths.values().any(|lengths| lengths.len() > 1) {
        let text = "the search for a capacity chooses the lengths of its steps: give one duration";
        return Err(Failure::new(text));
    }
    if with_rates.values().all(|has_rate| *has_rate) {
        return Ok(());
    }
    Err(
        Failure::new("the search for a capacity needs a rate at each point to begin with")
            .hint("for example in [matrix]: rate = [\"25%\", \"100%\"]")
            .hint("for an example run pgdyno sweep --preset capacity --print"),
    )
}

/// The trial that follows from those so far, which are complete: a step of the search at the first
/// point whose search is not over. It follows from what is kept alone, so that a search that is
/// resumed goes on where it was.
pub fn next_step(
    points: &[&Point],
    capacity: Capacity,
    trials: &[TrialRow],
    seconds: &SecondsOver,
) -> Option<Slot> {
    for ladder in ladders(points.iter().copied(), trials, seconds) {
        let steps = ladder.steps();
        let Next::Step { rate, seconds } = search::next(&ladder.asked(capacity), &steps) else {
            continue;
        };
        let is_of_it = |point: &&Point| point.without_rate_and_duration() == ladder.point;
        let Some(index) = points.iter().position(is_of_it) else {
            continue;
        };
        // Whole milliseconds, as a person would type them.
        let time = Duration::from_millis((seconds * 1e3).round() as u64);
        let point = ladder.point.at_rate(rate).lasting(time);
        return Some(Slot {
            repeat: 1 + repeats(&point, trials),
            index,
            point,
            role: Role::Point,
        });
    }
    None
}

/// Steps of searches that are kept already and that `known` does not have.
pub fn stored_steps(points: &[&Point], known: &[Slot], trials: &[TrialRow]) -> Vec<Slot> {
    let known: BTreeSet<_> = known.iter().map(Slot::key).collect();
    let mut slots = Vec::new();
    for trial in trials {
        let point = trial.point.as_ref().and_then(Point::from_json);
        let Some((point, repeat)) = point.zip(trial.repeat) else {
            continue;
        };
        let bare = point.without_rate_and_duration();
        let of_it = points
            .iter()
            .position(|point| point.without_rate_and_duration() == bare);
        let Some(index) = of_it else { continue };
        let slot = Slot {
            index,
            point,
            role: Role::Point,
            repeat,
        };
        if !known.contains(&slot.key()) {
            slots.push(slot);
        }
    }
    slots
}

/// The highest repeat of this point.
fn repeats(point: &Point, trials: &[TrialRow]) -> u32 {
    let key = point.to_json();
    let same = trials
        .iter()
        .filter(|trial| trial.point.as_ref() == Some(&key));
    same.filter_map(|trial| trial.repeat).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use crate::experiment::plan::Plan;
    use crate::experiment::reader;
    use crate::experiment::toml_text::Source;
    use pgdyno_spec::TargetSpec;
    use std::path::Path;

    #[test]
    fn a_search_begins_at_a_rate_and_has_one_duration() {
        let plan_of = |clients: &str, rates: &str| {
            let text =
                format!("workload = 'tpcb'\nclients = {clients}\n{rates}\ncapacity.slo = '5ms'\n");
            let source = Source {
                name: "e",
                text: &text,
            };
            let e = reader::read(source, "e", Path::new("")).unwrap();
            Plan::new(e, &TargetSpec::default(), 1).map(|plan| plan.slots.len())
        };
        let plan = |rates: &str| plan_of("[1, 2]", rates);
        // Of each two rates a maximum, and the rates themselves.
        assert_eq!(plan("rate = ['50%', '80%', 100]").unwrap(), 8);
        assert_eq!(plan("rate = 100").unwrap(), 2);
        for (wrong, want) in [
            ("", "needs a rate at each point"),
            ("rate = 'max'", "needs a rate at each point"),
            ("rate = 5\nduration = ['1s', '2s']", "give one duration"),
        ] {
            let e = plan(wrong).unwrap_err().to_string();
            assert!(e.contains(want), "{wrong}: {e}");
        }
        let e = plan_of("['1..8/5s']", "rate = 100").unwrap_err();
        assert!(e.to_string().contains("clients that move have none"), "{e}");
    }

    #[test]
    fn what_is_wrong_in_its_section_is_said_with_its_place() {
        for (section, want) in [
            ("[capacity]", "e:2:1: capacity: missing field `slo`"),
            ("capacity.slo = 'soon'", "slo: "),
            ("capacity.sol = '5ms'", "did you mean \"slo\"?"),
            ("capacity = 5", "capacity"),
            (
                "capacity.slo = '5ms'\ncapacity.width = 5",
                "a share of the capacity",
            ),
            ("capacity.slo = '5ms'\ncapacity.time = 0", "time: "),
        ] {
            let text = format!("workload = 'tpcb'\n{section}\n");
            let source = Source {
                name: "e",
                text: &text,
            };
            let e = reader::read(source, "e", Path::new("")).unwrap_err();
            let e = format!("{e}");
            assert!(e.contains(want), "{section}: {e}");
        }
    }
}
