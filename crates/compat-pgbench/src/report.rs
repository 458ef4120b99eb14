//! The final report as pgbench prints it, and pgdyno's additions where they were asked for.
//! (Facts: `printResults` in PostgreSQL's `src/bin/pgbench/pgbench.c`; the line of other failures
//! is pgbench 19's.)

use std::fmt::Write;

use pgdyno_measurement::{Latencies, Phase, Recording, ScriptInterval, StatementTotals};

use super::counts::PgbenchTally;
use super::options::Bench;
use super::progress::latencies;
use super::table_info::TableInfo;
use pgdyno_spec::text::{ms, percentile_name};

/// What a report is about.
pub struct PgbenchReport<'a> {
    pub options: &'a Bench,
    /// Tries of a transaction, 0 for no limit.
    pub max_tries: u32,
    /// The scale to be shown, and partitions.
    pub tables: TableInfo,
    pub recording: &'a Recording,
}

/// `part` of `whole` in percent; no number when there is nothing, which prints as in C.
fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole as f64
}

impl PgbenchReport<'_> {
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let options = self.options;
        let measured = &self.recording.measured;
        let all = measured.all();
        let tally = PgbenchTally::of(&all.counts, options.goes_on());
        self.parameters(out, &tally)?;
        // Nothing else makes sense when clients have ended before their first transaction.
        if tally.total() == 0 {
            return Ok(());
        }
        self.counts(out, &tally, "", "number of")?;
        if options.latency_limit_us > 0 {
            let share = match tally.processed {
                0 => 0.0,
                processed => percent(tally.late, processed),
            };
            writeln!(
                out,
                "number of transactions above the {:.1} ms latency limit: {}/{} ({share:.3}%)",
                options.latency_limit_us as f64 / 1000.0,
                tally.late,
                tally.processed
            )?;
        }
        self.latency(out, measured, &all, &tally)?;
        if let Some(lag) = &all.lag {
            let average_us = lag.sum_us() as f64 / tally.processed as f64;
            writeln!(
                out,
                "rate limit schedule lag: avg {:.3} (max {:.3}) ms",
                average_us / 1000.0,
                lag.max_us() as f64 / 1000.0
            )?;
        }
        self.connections(out, measured, &tally)?;
        self.outages(out)?;
        self.warm_up(out)?;
        let of_scripts = options.scripts.len() > 1;
        if of_scripts || options.report_per_command {
            for index in 0..options.scripts.len() {
                if of_scripts {
                    self.script(out, index, &tally)?;
                }
                if options.report_per_command {
                    self.statements(out, index, of_scripts)?;
                }
            }
        }
        Ok(())
    }

    fn parameters(&self, out: &mut String, tally: &PgbenchTally) -> std::fmt::Result {
        let options = self.options;
        let title = match options.scripts.as_slice() {
            [script] => script.program.script().name.as_str(),
            _ => "multiple scripts",
        };
        writeln!(out, "transaction type: {title}")?;
        writeln!(out, "scaling factor: {}", self.tables.scale)?;
        if let Some((method, parts)) = self.tables.partitions {
            writeln!(out, "partition method: {}", method.name())?;
            writeln!(out, "partitions: {parts}")?;
        }
        writeln!(out, "query mode: {}", options.query_mode.name())?;
        writeln!(out, "number of clients: {}", options.clients)?;
        writeln!(out, "number of threads: {}", options.threads)?;
        if self.max_tries > 0 {
            writeln!(out, "maximum number of tries: {}", self.max_tries)?;
        }
        let processed = tally.processed;
        if options.duration_s == 0 {
            let each = options.transactions;
            let wanted = u64::from(each) * u64::from(options.clients);
            writeln!(out, "number of transactions per client: {each}")?;
            writeln!(
                out,
                "number of transactions actually processed: {processed}/{wanted}"
            )
        } else {
            writeln!(out, "duration: {} s", options.duration_s)?;
            writeln!(
                out,
                "number of transactions actually processed: {processed}"
            )
        }
    }

    /// Failures, retries and what was skipped: of the run, or of a script.
    fn counts(
        &self,
        out: &mut String,
        tally: &PgbenchTally,
        indent: &str,
        number_of: &str,
    ) -> std::fmt::Result {
        let options = self.options;
        let total = tally.total();
        let mut share = |what: &str, number: u64| {
            let percent = percent(number, total);
            writeln!(out, "{indent}{number_of} {what}: {number} ({percent:.3}%)")
        };
        share("failed transactions", tally.failed())?;
        if options.failures_detailed {
            share("serialization failures", tally.serialization)?;
            share("deadlock failures", tally.deadlock)?;
            if options.goes_on() {
                share("other failures", tally.other)?;
            }
        }
        if tally.unknown > 0 {
            share("transactions with an unknown result", tally.unknown)?;
        }
        if self.max_tries != 1 {
            share("transactions retried", tally.retried)?;
        }
        if self.max_tries != 1 {
            writeln!(out, "{indent}total {number_of} retries: {}", tally.retries)?;
        }
        if options.rate.is_some() && options.latency_limit_us > 0 {
            let percent = percent(tally.skipped, total);
            let skipped = tally.skipped;
            writeln!(
                out,
                "{indent}{number_of} transactions skipped: {skipped} ({percent:.3}%)"
            )?;
        }
        Ok(())
    }

    fn latency(
        &self,
        out: &mut String,
        measured: &Phase,
        all: &ScriptInterval,
        tally: &PgbenchTally,
    ) -> std::fmt::Result {
        let options = self.options;
        let is_measured =
            options.rate.is_some() || options.progress_s.is_some() || options.latency_limit_us > 0;
        if is_measured {
            average_and_stddev(out, "latency", latencies(all))?;
        } else {
            let clients = f64::from(options.clients);
            let average_us = measured.elapsed_us as f64 * clients / tally.total() as f64;
            let note = if tally.failed() + tally.unknown > 0 {
                " (including failures)"
            } else {
                ""
            };
            writeln!(out, "latency average = {:.3} ms{note}", average_us / 1000.0)?;
        }
        self.percentiles(out, "", latencies(all))
    }

    fn percentiles(
        &self,
        out: &mut String,
        indent: &str,
        latencies: &Latencies,
    ) -> std::fmt::Result {
        for percent in self.options.percentiles.iter().flatten() {
            let name = percentile_name(*percent);
            match latencies.percentile_us(*percent) {
                Some(us) => writeln!(out, "{indent}latency {name} = {} ms", ms(us))?,
                None => writeln!(
                    out,
                    "{indent}latency {name}: not shown, fewer than 10 transactions lie beyond it"
                )?,
            }
        }
        Ok(())
    }

    fn connections(
        &self,
        out: &mut String,
        measured: &Phase,
        tally: &PgbenchTally,
    ) -> std::fmt::Result {
        let connections = &self.recording.connections;
        let tps = tally.processed as f64 * 1e6 / measured.elapsed_us as f64;
        if self.options.connect {
            let total_us = connections.latencies.sum_us() as f64;
            let average_us = total_us / (tally.total() - tally.skipped) as f64;
            let average_ms = average_us / 1000.0;
            writeln!(out, "average connection time = {average_ms:.3} ms")?;
            writeln!(out, "tps = {tps:.6} (including reconnection times)")
        } else {
            let initial_ms = connections.initial_us as f64 / 1000.0;
            writeln!(out, "initial connection time = {initial_ms:.3} ms")?;
            writeln!(out, "tps = {tps:.6} (without initial connection time)")
        }
    }

    fn outages(&self, out: &mut String) -> std::fmt::Result {
        let outages = &self.recording.outages;
        if !self.options.reconnect {
            return Ok(());
        }
        let Some(mean_us) = outages.lengths.mean_us() else {
            return writeln!(
                out,
                "connections lost: {} (still lost at the end: {})",
                outages.count, outages.unended
            );
        };
        writeln!(
            out,
            "connections lost: {} (still lost at the end: {}), without a connection avg {:.3} \
             (max {:.3}) ms",
            outages.count,
            outages.unended,
            mean_us / 1000.0,
            outages.lengths.max_us() as f64 / 1000.0
        )
    }

    fn warm_up(&self, out: &mut String) -> std::fmt::Result {
        let Some(warmup) = &self.recording.warmup else {
            return Ok(());
        };
        let tally = PgbenchTally::of(&warmup.all().counts, self.options.goes_on());
        writeln!(
            out,
            "warm-up (not in the figures above): {} transactions in {:.3} s (tps = {:.6})",
            tally.processed,
            warmup.elapsed_us as f64 / 1e6,
            tally.processed as f64 * 1e6 / warmup.elapsed_us as f64
        )
    }

    fn script(&self, out: &mut String, index: usize, all: &PgbenchTally) -> std::fmt::Result {
        let measured = &self.recording.measured;
        let (record, script) = (&self.recording.scripts[index], &measured.scripts[index]);
        let weights: u64 = self.recording.scripts.iter().map(|s| s.weight).sum();
        let tally = PgbenchTally::of(&script.counts, self.options.goes_on());
        let weight = record.weight;
        writeln!(out, "SQL script {}: {}", index + 1, record.name)?;
        writeln!(
            out,
            " - weight: {weight} (targets {:.1}% of total)",
            percent(weight, weights)
        )?;
        writeln!(
            out,
            " - {} transactions ({:.1}% of total)",
            tally.total(),
            percent(tally.total(), all.total())
        )?;
        if tally.total() > 0 {
            writeln!(
                out,
                " - number of transactions actually processed: {} (tps = {:.6})",
                tally.processed,
                tally.processed as f64 * 1e6 / measured.elapsed_us as f64
            )?;
            self.counts(out, &tally, " - ", "number of")?;
        }
        average_and_stddev(out, " - latency", latencies(script))?;
        if tally.total() > 0 {
            self.percentiles(out, " - ", latencies(script))?;
        }
        Ok(())
    }

    fn statements(&self, out: &mut String, index: usize, of_scripts: bool) -> std::fmt::Result {
        let indent = if of_scripts { " - " } else { "" };
        let with_retries = self.max_tries != 1;
        let what = if with_retries {
            ", failures and retries"
        } else {
            " and failures"
        };
        writeln!(out, "{indent}statement latencies in milliseconds{what}:")?;
        let records = &self.recording.scripts[index].statements;
        for (record, totals) in records.iter().zip(&self.recording.statements[index]) {
            statement(out, &record.text, totals, with_retries)?;
        }
        Ok(())
    }
}

fn statement(
    out: &mut String,
    text: &str,
    totals: &StatementTotals,
    with_retries: bool,
) -> std::fmt::Result {
    let latency_ms = totals.latencies.mean_us().unwrap_or(0.0) / 1000.0;
    write!(out, "   {latency_ms:11.3}  {:10} ", totals.failures)?;
    if with_retries {
        write!(out, "{:10} ", totals.retries)?;
    }
    writeln!(out, "{text}")
}

fn average_and_stddev(out: &mut String, what: &str, latencies: &Latencies) -> std::fmt::Result {
    let (Some(mean_us), Some(stddev_us)) = (latencies.mean_us(), latencies.stddev_us()) else {
        return Ok(());
    };
    writeln!(out, "{what} average = {:.3} ms", mean_us / 1000.0)?;
    writeln!(out, "{what} stddev = {:.3} ms", stddev_us / 1000.0)
}
