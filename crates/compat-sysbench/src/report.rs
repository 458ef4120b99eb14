//! Lines and totals as sysbench prints them. (Facts: recordings of 1.0.20; master's sysbench.c.)

use super::histogram::SysbenchHistogram;
use super::options::SysbenchVersion;

/// What was done in a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SysbenchTally {
    pub events: u64,
    pub reads: u64,
    /// Statements that changed a row.
    pub writes: u64,
    /// Neither: BEGIN, COMMIT, and those that changed nothing.
    pub others: u64,
    /// Transactions that failed and were begun again with other values.
    pub errors: u64,
    pub reconnects: u64,
}

impl SysbenchTally {
    fn queries(&self) -> u64 {
        self.reads + self.writes + self.others
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Line,
    /// That of scripts which print it themselves: no colon after `err/s`.
    Hook,
    /// time, threads, tps, qps, r, w, o, latency, err, reconn: sysbench's CSV, which has no header.
    Csv,
}

impl Form {
    /// A progress line, with its end.
    pub fn line(
        self,
        end_s: f64,
        length_s: f64,
        threads: u32,
        tally: &SysbenchTally,
        percentile: Option<u64>,
        latencies: &SysbenchHistogram,
    ) -> String {
        let [events, queries, reads, writes, others, errors, reconnects] = [
            tally.events,
            tally.queries(),
            tally.reads,
            tally.writes,
            tally.others,
            tally.errors,
            tally.reconnects,
        ]
        .map(|count| count as f64 / length_s);
        let latency_ms = percentile.map_or(0.0, |percent| latencies.percentile_ms(percent));
        let errors_name = match self {
            Self::Line => "err/s:",
            Self::Hook => "err/s",
            Self::Csv => {
                return format!(
                    "{end_s:.0},{threads},{events:4.2},{queries:4.2},{reads:4.2},{writes:4.2},{others:4.2},\
                     {latency_ms:4.2},{errors:4.2},{reconnects:4.2}\n"
                );
            }
        };
        format!(
            "[ {end_s:.0}s ] thds: {threads} tps: {events:4.2} qps: {queries:4.2} (r/w/o: \
             {reads:4.2}/{writes:4.2}/{others:4.2}) lat (ms,{}%): {latency_ms:4.2} {errors_name} {errors:4.2} \
             reconn/s: {reconnects:4.2}\n",
            percentile.unwrap_or(0),
        )
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Thread {
    pub events: u64,
    /// The latencies of its events together.
    pub busy_us: u64,
}

#[derive(Debug, Default)]
pub struct SysbenchTotals {
    pub elapsed_s: f64,
    pub tally: SysbenchTally,
    /// Events that looked for a row that is not there; sysbench does not look.
    pub missing: u64,
    pub threads: Vec<Thread>,
    pub latencies: SysbenchHistogram,
    pub min_us: u64,
    pub max_us: u64,
}

impl SysbenchTotals {
    /// The text after a run.
    pub fn text(&self, version: SysbenchVersion, percentile: Option<u64>) -> String {
        let tally = &self.tally;
        let rate = |count: u64| {
            if self.elapsed_s > 0.0 {
                count as f64 / self.elapsed_s
            } else {
                0.0
            }
        };
        let counted = |name: &str, count: u64| {
            format!("    {name:<36} {count:<6} ({:.2} per sec.)\n", rate(count))
        };
        let mut text = format!(
            "SQL statistics:\n    queries performed:\n        read:                            {}\n        \
             write:                           {}\n        other:                           {}\n        \
             total:                           {}\n",
            tally.reads,
            tally.writes,
            tally.others,
            tally.queries()
        );
        text += &counted("transactions:", tally.events);
        text += &counted("queries:", tally.queries());
        text += &counted("ignored errors:", tally.errors);
        text += &counted("reconnects:", tally.reconnects);
        text += &match version {
            SysbenchVersion::V1_0_20 => format!(
                "\nGeneral statistics:\n    total time:                          {:.4}s\n    \
                 total number of events:              {}\n",
                self.elapsed_s, tally.events
            ),
            SysbenchVersion::Master => format!(
                "\nThroughput:\n    events/s (eps):                      {:.4}\n    \
                 time elapsed:                        {:.4}s\n    \
                 total number of events:              {}\n",
                rate(tally.events),
                self.elapsed_s,
                tally.events
            ),
        };
        text + &self.latencies(percentile) + &self.fairness()
    }

    fn latencies(&self, percentile: Option<u64>) -> String {
        let ms = |us: f64| us / 1000.0;
        let sum_us: u64 = self.threads.iter().map(|thread| thread.busy_us).sum();
        let avg_us = sum_us as f64 / self.tally.events.max(1) as f64;
        let percentile = match percentile {
            Some(percent) => format!(
                "        {percent:3}th percentile: {:27.2}\n",
                self.latencies.percentile_ms(percent)
            ),
            None => "         percentile stats:               disabled\n".to_owned(),
        };
        format!(
            "\nLatency (ms):\n         min: {:39.2}\n         avg: {:39.2}\n         max: {:39.2}\n{percentile}         \
             sum: {:39.2}\n",
            ms(self.min_us as f64),
            ms(avg_us),
            ms(self.max_us as f64),
            ms(sum_us as f64),
        )
    }

    fn fairness(&self) -> String {
        let spread = |of: fn(&Thread) -> f64| {
            let count = self.threads.len().max(1) as f64;
            let mean = self.threads.iter().map(of).sum::<f64>() / count;
            let squares = self
                .threads
                .iter()
                .map(|thread| (of(thread) - mean).powi(2));
            (mean, (squares.sum::<f64>() / count).sqrt())
        };
        let (events, events_off) = spread(|thread| thread.events as f64);
        let (busy_s, busy_off_s) = spread(|thread| thread.busy_us as f64 / 1e6);
        format!(
            "\nThreads fairness:\n    events (avg/stddev):           {events:.4}/{events_off:3.2}\n    \
             execution time (avg/stddev):   {busy_s:.4}/{busy_off_s:3.2}\n\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals() -> SysbenchTotals {
        let mut latencies = SysbenchHistogram::default();
        latencies.add(13_700, 826);
        SysbenchTotals {
            elapsed_s: 3.012_384,
            tally: SysbenchTally {
                events: 826,
                reads: 11_648,
                writes: 3309,
                others: 1670,
                errors: 6,
                reconnects: 0,
            },
            missing: 0,
            threads: vec![
                Thread {
                    events: 410,
                    busy_us: 3_006_920,
                },
                Thread {
                    events: 416,
                    busy_us: 3_006_920,
                },
            ],
            latencies,
            min_us: 880,
            max_us: 1_032_440,
        }
    }

    #[test]
    fn totals_are_those_that_sysbench_printed() {
        // Recorded of 1.0.20, from `SQL statistics` to the end. Its rates are by a time that it read a
        // moment after the one that it prints.
        let recorded = include_str!("recorded/totals.txt").replace("3.0121s", "3.0124s");
        assert_eq!(totals().text(SysbenchVersion::V1_0_20, Some(95)), recorded);
    }

    #[test]
    fn masters_totals_have_a_throughput() {
        let text = totals().text(SysbenchVersion::Master, None);
        assert!(
            text.contains(
                "\n\nThroughput:\n    events/s (eps):                      274.2014\n    \
                 time elapsed:                        3.0124s\n    \
                 total number of events:              826\n\nLatency (ms):\n"
            ),
            "{text}"
        );
        assert!(
            text.contains("\n         percentile stats:               disabled\n"),
            "{text}"
        );
    }

    #[test]
    fn a_line_is_as_sysbench_prints_it() {
        let tally = SysbenchTally {
            events: 100,
            reads: 1400,
            writes: 400,
            others: 200,
            errors: 4,
            reconnects: 1,
        };
        let mut latencies = SysbenchHistogram::default();
        latencies.add(28_670, 100);
        assert_eq!(
            Form::Line.line(2.0, 1.0, 2, &tally, Some(95), &latencies),
            "[ 2s ] thds: 2 tps: 100.00 qps: 2000.00 (r/w/o: 1400.00/400.00/200.00) lat (ms,95%): 28.67 err/s: 4.00 reconn/s: 1.00\n"
        );
        assert_eq!(
            Form::Hook.line(2.0, 1.0, 2, &tally, Some(95), &latencies),
            "[ 2s ] thds: 2 tps: 100.00 qps: 2000.00 (r/w/o: 1400.00/400.00/200.00) lat (ms,95%): 28.67 err/s 4.00 reconn/s: 1.00\n"
        );
        assert_eq!(
            Form::Csv.line(2.0, 1.0, 2, &tally, Some(95), &latencies),
            "2,2,100.00,2000.00,1400.00,400.00,200.00,28.67,4.00,1.00\n"
        );
        assert!(
            Form::Line
                .line(2.0, 2.0, 2, &tally, None, &latencies)
                .contains(" tps: 50.00 ")
        );
        assert!(
            Form::Line
                .line(2.0, 2.0, 2, &tally, None, &latencies)
                .contains(" lat (ms,0%): 0.00 err/s: 2.00 ")
        );
    }

    #[test]
    fn a_run_without_events_has_zeros() {
        let text = SysbenchTotals::default().text(SysbenchVersion::V1_0_20, Some(95));
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}
