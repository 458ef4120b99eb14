//! Stretches of a trial that are looked at apart: the steps of a rate that moves, the time before,
//! during and after a disturbance.

use pgdyno_measurement::{Recording, ScriptInterval, Second};
use serde::Serialize;

use super::interval::whole;
use super::{Counts, Latency, client_course};
use pgdyno_spec::Clients;

/// A stretch of a trial with a name: from its beginning up to, but without, its end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "NamedPhase"))]
pub struct Phase {
    /// What people call it: `500/s`, `before`.
    pub name: String,
    /// Where it begins, in microseconds since clients began to work.
    pub from_us: u64,
    pub to_us: u64,
}

impl Phase {
    /// With this name, between these times in microseconds since clients began to work.
    pub fn new(name: impl Into<String>, from_us: u64, to_us: u64) -> Self {
        Self {
            name: name.into(),
            from_us,
            to_us,
        }
    }

    /// Whether a second counts as one of its seconds: its middle lies in it. One of the warm-up or of
    /// the drain is of no phase.
    pub fn has(&self, second: &Second) -> bool {
        let middle_us = second.start_us + second.length_us / 2;
        !second.warmup && !second.drain && (self.from_us..self.to_us).contains(&middle_us)
    }
}

/// What came of a [`Phase`]: of the transactions that ended in its seconds, whole ones. A second that
/// two phases share counts in the one that has its middle.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PhaseFigures {
    #[serde(flatten)]
    #[cfg_attr(test, ts(flatten))]
    pub phase: Phase,
    /// The length of its seconds together: less than the phase where the trial ended in it.
    pub measured_us: u64,
    /// Transactions by how they ended, all scripts together.
    #[serde(flatten)]
    #[cfg_attr(test, ts(flatten))]
    pub counts: Counts,
    /// Committed transactions a second of its seconds; `null` when it has none.
    pub goodput_per_s: Option<f64>,
    /// Transactions that the schedule asked for in its seconds; `null` without a rate.
    pub due: Option<f64>,
    /// Clients asked for in its seconds, on average; left out where their number does not move.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub clients_asked: Option<f64>,
    /// Clients that worked in its seconds, on average; left out likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub clients_working: Option<f64>,
    /// From the start of a committed transaction's first try to its end.
    pub service: Latency,
    /// From the scheduled start to the end; `null` without a rate.
    pub response: Option<Latency>,
    /// How late transactions started; `null` without a rate.
    pub schedule_lag: Option<Latency>,
}

/// When what is measured began, in microseconds since clients began to work: where the time of a
/// profile begins.
pub fn measured_from_us(seconds: &[Second]) -> u64 {
    let warmup = seconds.iter().rev().find(|second| second.warmup);
    let first = seconds.iter().find(|second| !second.warmup);
    let begun = first.map(|second| second.start_us);
    begun.unwrap_or_else(|| warmup.map_or(0, |last| last.start_us + last.length_us))
}

/// The figures of phases, in their order. `due` says how many transactions the schedule asked for
/// between two times in microseconds since clients began to work; `None` without a rate. `clients` are
/// those asked for.
pub fn phases(
    recording: &Recording,
    phases: &[Phase],
    clients: Option<&Clients>,
    due: impl Fn(u64, u64) -> Option<f64>,
) -> Vec<PhaseFigures> {
    let clients = clients.filter(client_course::is_followed);
    let from_us = measured_from_us(&recording.seconds);
    let asked = |second: &Second| Some(client_course::asked(clients?, second, from_us));
    let of = |phase: &Phase| figures(recording, phase, &due, asked);
    phases.iter().map(of).collect()
}

fn figures(
    recording: &Recording,
    phase: &Phase,
    due: impl Fn(u64, u64) -> Option<f64>,
    clients: impl Fn(&Second) -> Option<f64>,
) -> PhaseFigures {
    let mut all = ScriptInterval::default();
    let (mut measured_us, mut asked) = (0, None);
    let (mut clients_us, mut worked_us) = (None, 0.0);
    for second in recording.seconds.iter().filter(|second| phase.has(second)) {
        measured_us += second.length_us;
        let scripts = second.scripts.iter();
        scripts.for_each(|script| all.merge(&script.unpack()));
        let due = due(second.start_us, second.start_us + second.length_us);
        asked = due.map(|due| asked.unwrap_or(0.0) + due).or(asked);
        let length_us = second.length_us as f64;
        worked_us += client_course::working(second) * length_us;
        if let Some(clients) = clients(second) {
            *clients_us.get_or_insert(0.0) += clients * length_us;
        }
    }
    let seconds = || recording.seconds.iter().filter(|second| phase.has(second));
    let mut service = Latency::from(&all.service);
    service.judge(whole(seconds(), None, |script| Some(&script.service)));
    let mut response = all.response.as_ref().map(Latency::from);
    if let Some(response) = &mut response {
        response.judge(whole(seconds(), None, |script| script.response.as_ref()));
    }
    let mean = |of_us: f64| of_us / measured_us as f64;
    let committed = all.counts.committed as f64;
    PhaseFigures {
        phase: phase.clone(),
        measured_us,
        counts: Counts::from(&all.counts),
        goodput_per_s: (measured_us > 0).then(|| committed * 1e6 / measured_us as f64),
        due: asked,
        clients_asked: clients_us.map(mean),
        clients_working: clients_us.map(|_| mean(worked_us)),
        service,
        response,
        schedule_lag: all.lag.as_ref().map(Latency::from),
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_measurement::{Failure, Outcome, ScriptSecond};

    use super::*;

    /// Second `at` of a trial: so many commits after `response_us`, one failure, one skipped.
    fn second(at: u64, committed: u64, response_us: u64) -> Second {
        let mut script = ScriptInterval::default();
        let response = script.response.get_or_insert_default();
        for _ in 0..committed {
            script.counts.book(Outcome::Committed, 1);
            script.service.record(1000);
            response.record(response_us);
        }
        let failed = Outcome::Failed(Failure::DEADLOCK);
        script.counts.book(failed, 1);
        script.counts.book(Outcome::Skipped, 1);
        Second {
            start_us: at * 1_000_000,
            length_us: 1_000_000,
            warmup: at == 0,
            time: Default::default(),
            drain: false,
            scripts: vec![ScriptSecond::from(&script)],
        }
    }

    fn recording() -> Recording {
        let fast = (0..4).map(|at| second(at, 100, 2000));
        let slow = (4..6).map(|at| second(at, 50, 80_000));
        Recording {
            seconds: fast.chain(slow).collect(),
            ..Recording::default()
        }
    }

    #[test]
    fn each_second_counts_in_the_phase_that_has_its_middle() {
        // The warm-up is the first second; a boundary lies within the fifth, after its middle.
        let asked = [
            Phase::new("before", 0, 4_600_000),
            Phase::new("after", 4_600_000, 60_000_000),
            Phase::new("never", 60_000_000, 70_000_000),
        ];
        let due = |from_us, to_us| Some((to_us - from_us) as f64 / 1e4);
        let figures = phases(&recording(), &asked, None, due);
        let [before, after, never] = &figures[..] else {
            panic!("{figures:?}");
        };
        assert_eq!(before.measured_us, 4_000_000);
        assert_eq!(before.counts.committed, 350);
        assert_eq!(before.goodput_per_s, Some(87.5));
        assert_eq!(before.due, Some(400.0));
        assert_eq!((before.counts.failed, before.counts.skipped), (4, 4));
        assert_eq!(before.counts.failed_by_class["40P01"], 4);
        assert_eq!(after.counts.committed, 50);
        let response = after.response.as_ref().unwrap();
        assert!(response.p50_us.unwrap().abs_diff(80_000) < 100);
        // Percentiles are of the merged histograms: 50 of 350 are slow.
        let response = before.response.as_ref().unwrap();
        assert!(response.p50_us.unwrap() < 2100 && response.p95_us.unwrap() > 79_000);
        assert_eq!((never.measured_us, never.goodput_per_s), (0, None));
        assert_eq!((never.due, &never.response), (None, &None));
    }

    #[test]
    fn without_a_rate_nothing_is_due() {
        let asked = [Phase::new("all", 0, 10_000_000)];
        let figures = phases(&recording(), &asked, None, |_, _| None);
        assert_eq!(figures[0].due, None);
        assert_eq!(figures[0].counts.committed, 400);
    }
}
