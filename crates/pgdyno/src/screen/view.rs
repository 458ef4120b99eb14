//! What a terminal shows while a run goes on: throughput with its last minute, latencies, what went
//! wrong, what sessions wait for, what happened last.
//!
//! Not for: when it is drawn, and where (`live.rs`).

use std::collections::{BTreeMap, HashMap, VecDeque};

use pgdyno_measurement::{Counts, Interval, Latencies, ScriptInterval};

use pgdyno_report::sparkline;
use pgdyno_report::table::{cut, one_line};

use pgdyno_model::observed::Batch;
use pgdyno_spec::text::{self as figures, PERCENTILES};

use super::{counted, retries};

/// Seconds that the sparkline shows.
const SECONDS: usize = 60;
/// Waits are the mean of so many seconds: those of one jump.
const WAIT_SECONDS: usize = 5;
/// So many kinds of waiting, of failures, of events are shown.
const SHOWN: usize = 4;
/// An event is shown so long.
const EVENT_S: f64 = 30.0;

/// What was seen so far.
#[derive(Default)]
pub struct View {
    /// Goodput of the last seconds.
    recent: VecDeque<f64>,
    second: ScriptInterval,
    /// The present phase: warm-up, or what is measured.
    phase: ScriptInterval,
    phase_s: f64,
    is_warmup: bool,
    now_s: f64,
    /// The numbers of series of waits, and what is waited for.
    waits: HashMap<usize, String>,
    /// Mean sessions by what they waited for, of the last seconds.
    waited: VecDeque<BTreeMap<String, f64>>,
    events: VecDeque<(f64, String)>,
}

impl View {
    /// A second is over; `is_whole` says that its rate means something.
    pub fn second(&mut self, interval: &Interval, is_whole: bool) {
        let all = interval.all();
        if interval.warmup != self.is_warmup {
            self.phase = ScriptInterval::default();
            self.phase_s = 0.0;
            self.is_warmup = interval.warmup;
        }
        self.phase.merge(&all);
        self.phase_s += interval.length_s();
        self.now_s = interval.start_s() + interval.length_s();
        if is_whole {
            keep(
                &mut self.recent,
                SECONDS,
                all.counts.committed as f64 / interval.length_s(),
            );
            self.second = all;
        }
    }

    pub fn observed(&mut self, batch: &Batch) {
        for new in &batch.series {
            if new.series.name == "pg.waits" {
                self.waits.insert(new.number, one_line(&new.series.label));
            }
        }
        let of = |number| self.waits.get(&number).cloned();
        let samples = batch.samples.iter();
        let waited = samples.filter_map(|s| Some((of(s.series)?, s.value)));
        let waited: BTreeMap<String, f64> = waited.collect();
        if !self.waits.is_empty() {
            keep(&mut self.waited, WAIT_SECONDS, waited);
        }
        for event in &batch.events {
            let text = format!("{} {}", one_line(&event.kind), one_line(&event.text));
            keep(&mut self.events, SHOWN, (event.at_us as f64 / 1e6, text));
        }
    }

    /// The lines, none longer than `width` characters.
    pub fn lines(&self, width: usize) -> Vec<String> {
        let lines = [
            Some(self.goodput()),
            Some(latency("last second", &self.second)),
            Some(latency(self.phase_name(), &self.phase)),
            self.errors(),
            self.top_waits(),
            self.last_events(),
        ];
        let lines = lines.into_iter().flatten();
        lines.map(|line| cut(&line, width)).collect()
    }

    fn phase_name(&self) -> &'static str {
        if self.is_warmup {
            "warm-up"
        } else {
            "measured"
        }
    }

    fn goodput(&self) -> String {
        let recent: Vec<Option<f64>> = self.recent.iter().copied().map(Some).collect();
        let last = self.recent.back().copied().unwrap_or_default();
        let mean = if self.phase_s > 0.0 {
            self.phase.counts.committed as f64 / self.phase_s
        } else {
            0.0
        };
        format!(
            "goodput      {:>10}/s, {} {}/s  {}",
            figures::rate(last),
            self.phase_name(),
            figures::rate(mean),
            sparkline::of(&recent)
        )
    }

    /// What went wrong in the present phase; nothing when nothing did.
    fn errors(&self) -> Option<String> {
        let counts: &Counts = &self.phase.counts;
        let others = [
            counted(counts.failed_total(), "failed"),
            retries(counts),
            counted(counts.skipped, "skipped"),
            counted(counts.late, "late"),
            counted(counts.unknown, "unknown"),
        ];
        let mut parts: Vec<String> = others.into_iter().flatten().collect();
        let mut failed: Vec<_> = counts.failed.iter().collect();
        failed.sort_by_key(|(_, number)| std::cmp::Reverse(**number));
        let failed = failed.into_iter().take(SHOWN);
        let failed: Vec<String> = failed
            .map(|(why, number)| format!("{} {}", why.code(), figures::count(*number)))
            .collect();
        if !failed.is_empty() {
            parts.push(format!("by reason: {}", failed.join(", ")));
        }
        (!parts.is_empty()).then(|| format!("errors       {}", parts.join(", ")))
    }

    fn top_waits(&self) -> Option<String> {
        let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
        for (label, sessions) in self.waited.iter().flatten() {
            *sums.entry(label).or_default() += sessions;
        }
        let mut sums: Vec<(&str, f64)> = sums.into_iter().collect();
        sums.sort_by(|a, b| b.1.total_cmp(&a.1));
        let sums = sums.into_iter().take(SHOWN);
        let waits: Vec<String> = sums
            .map(|(label, sum)| {
                let mean = sum / self.waited.len() as f64;
                format!("{label} {}", figures::quantity(mean))
            })
            .collect();
        (!waits.is_empty()).then(|| format!("waits        {}", waits.join(", ")))
    }

    fn last_events(&self) -> Option<String> {
        let recent = self.events.iter().rev();
        let recent = recent.filter(|(at_s, _)| self.now_s - at_s <= EVENT_S);
        let reported: Vec<String> = recent
            .map(|(at_s, text)| format!("{:.0} s ago: {text}", (self.now_s - at_s).max(0.0)))
            .collect();
        (!reported.is_empty()).then(|| format!("events       {}", reported.join("; ")))
    }
}

fn latency(what: &str, of: &ScriptInterval) -> String {
    let latencies = of.response.as_ref().unwrap_or(&of.service);
    format!("{what:<12} {} ms", percentiles(latencies))
}

/// The percentiles that there are, and the largest value, in ms.
fn percentiles(latencies: &Latencies) -> String {
    let percentiles = PERCENTILES.iter().filter_map(|percent| {
        let name = figures::percentile_name(*percent);
        let us = latencies.percentile_us(*percent)?;
        Some(format!("{name} {}", figures::ms(us)))
    });
    let max = match latencies.count() {
        0 => "–".to_owned(),
        _ => figures::ms(latencies.max_us()),
    };
    let all: Vec<String> = percentiles.chain([format!("max {max}")]).collect();
    all.join("  ")
}

fn keep<T>(of: &mut VecDeque<T>, most: usize, one: T) {
    of.push_back(one);
    if of.len() > most {
        of.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_measurement::Failure;
    use pgdyno_model::observed::{Kind, NewSeries, ObservedEvent, Sample, Series};

    fn second(committed: u64, failed: u64) -> Interval {
        let mut script = ScriptInterval::default();
        script.counts.committed = committed;
        if failed > 0 {
            script.counts.failed.insert(Failure::DEADLOCK, failed);
        }
        (0..committed).for_each(|_| script.service.record(1500));
        let mut interval = Interval::default();
        interval.scripts.push(script);
        interval
    }

    fn wait(number: usize, label: &str) -> NewSeries {
        NewSeries {
            number,
            instrument: 0,
            series: Series::new("pg.waits", "sessions").of(label),
            kind: Kind::Sparse,
        }
    }

    fn sample(series: usize, value: f64) -> Sample {
        Sample {
            series,
            at_us: 0,
            value,
        }
    }

    #[test]
    fn it_shows_what_there_is_and_leaves_out_what_there_is_not() {
        let mut view = View::default();
        view.second(&second(100, 0), false);
        let lines = view.lines(100);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(
            lines[2].starts_with("measured     p50 1.500  p90 1.500  max 1.500 ms"),
            "{lines:?}"
        );
        assert!(
            lines[1].contains("max – ms"),
            "no whole second yet: {lines:?}"
        );
        view.second(&second(50, 7), true);
        view.observed(&Batch {
            series: vec![wait(0, "IO:DataFileRead"), wait(1, "LWLock:WALWrite")],
            samples: vec![sample(0, 1.0), sample(1, 3.0), sample(9, 100.0)],
            events: vec![ObservedEvent {
                instrument: 0,
                at_us: 0,
                length_us: None,
                kind: "checkpoint".to_owned(),
                text: "by time\u{1b}[2J".to_owned(),
            }],
            ..Batch::default()
        });
        view.observed(&Batch::default());
        let lines = view.lines(100);
        assert_eq!(lines.len(), 6, "{lines:?}");
        assert_eq!(lines[3], "errors       7 failed, by reason: 40P01 7");
        let mut retried = second(1, 0);
        retried.scripts[0].counts.retries = 1;
        view.second(&retried, true);
        let lines_retried = view.lines(100);
        assert_eq!(
            lines_retried[3],
            "errors       7 failed, 1 retry, by reason: 40P01 7"
        );
        assert_eq!(
            lines[4],
            "waits        LWLock:WALWrite 1.5, IO:DataFileRead 0.5"
        );
        assert_eq!(lines[5], "events       0 s ago: checkpoint by time [2J");
        assert!(view.lines(20).iter().all(|line| line.chars().count() <= 20));
    }

    #[test]
    fn what_is_measured_begins_anew_after_the_warm_up() {
        let mut view = View::default();
        let mut warmup = second(30, 5);
        warmup.warmup = true;
        view.second(&warmup, true);
        assert!(view.lines(99)[2].starts_with("warm-up"));
        view.second(&second(20, 0), true);
        let lines = view.lines(99);
        assert_eq!(
            lines.len(),
            3,
            "the warm-up's errors are not those of the measured time"
        );
        assert!(lines[2].starts_with("measured"));
    }
}
