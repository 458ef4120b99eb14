//! Progress lines (`-P`) as pgbench prints them.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use pgdyno_measurement::{Interval, Latencies, ScriptInterval};

use super::counts::PgbenchTally;
use super::options::Bench;
use pgdyno_spec::text::{ms, percentile_name};

/// What is gathered between two lines.
pub struct Progress {
    every_s: f64,
    with_timestamp: bool,
    with_rate: bool,
    with_skipped: bool,
    with_retries: bool,
    goes_on: bool,
    percentiles: Vec<f64>,
    started: SystemTime,
    gathered: ScriptInterval,
    gathered_s: f64,
}

impl Progress {
    /// `None` when there are to be no progress lines.
    pub fn new(options: &Bench, max_tries: u32) -> Option<Self> {
        Some(Self {
            every_s: f64::from(options.progress_s?),
            with_timestamp: options.progress_timestamp,
            with_rate: options.rate.is_some(),
            with_skipped: options.rate.is_some() && options.latency_limit_us > 0,
            with_retries: max_tries != 1,
            goes_on: options.goes_on(),
            percentiles: options.percentiles.clone().unwrap_or_default(),
            started: UNIX_EPOCH,
            gathered: ScriptInterval::default(),
            gathered_s: 0.0,
        })
    }

    pub fn begin(&mut self, started: SystemTime) {
        self.started = started;
    }

    /// Another second, or the rest of one; the line if it is due, with its end.
    pub fn second(&mut self, interval: &Interval) -> Option<String> {
        for script in &interval.scripts {
            self.gathered.merge(script);
        }
        self.gathered_s += interval.length_s();
        // Seconds are whole but for the last one of a phase.
        if self.gathered_s + 1e-6 < self.every_s {
            return None;
        }
        let end_s = interval.start_s() + interval.length_s();
        let line = self.line(end_s, interval.warmup);
        self.gathered = ScriptInterval::default();
        self.gathered_s = 0.0;
        Some(line)
    }

    fn line(&self, end_s: f64, is_warmup: bool) -> String {
        let tally = PgbenchTally::of(&self.gathered.counts, self.goes_on);
        let latencies = latencies(&self.gathered);
        let when = if self.with_timestamp {
            let since_1970 = self.started.duration_since(UNIX_EPOCH).unwrap_or_default();
            format!("{:.3} s", since_1970.as_secs_f64() + end_s)
        } else {
            format!("{end_s:.1} s")
        };
        let in_ms = |us: Option<f64>| us.unwrap_or(0.0) / 1000.0;
        let mut line = format!(
            "progress: {when}, {:.1} tps, lat {:.3} ms stddev {:.3}, {} failed",
            tally.processed as f64 / self.gathered_s,
            in_ms(latencies.mean_us()),
            in_ms(latencies.stddev_us()),
            tally.failed()
        );
        let mut add = |text: String| line.push_str(&text);
        if tally.unknown > 0 {
            add(format!(", {} unknown", tally.unknown));
        }
        if self.with_rate {
            let lag = self.gathered.lag.as_ref().and_then(Latencies::mean_us);
            add(format!(", lag {:.3} ms", in_ms(lag)));
        }
        if self.with_skipped {
            add(format!(", {} skipped", tally.skipped));
        }
        if self.with_retries {
            add(format!(
                ", {} retried, {} retries",
                tally.retried, tally.retries
            ));
        }
        for percent in &self.percentiles {
            let name = percentile_name(*percent);
            match latencies.percentile_us(*percent) {
                Some(us) => add(format!(", {name} {} ms", ms(us))),
                None => add(format!(", {name} -")),
            }
        }
        if is_warmup {
            add(", warm-up".to_owned());
        }
        // Writing to a string does not fail.
        let _ = writeln!(line);
        line
    }
}

/// What pgbench calls latency: from the scheduled start with a rate, else from the start.
pub fn latencies(interval: &ScriptInterval) -> &Latencies {
    interval.response.as_ref().unwrap_or(&interval.service)
}
