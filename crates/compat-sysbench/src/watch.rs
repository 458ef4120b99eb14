//! What is seen of a run: counts and latencies in sysbench's sense, progress lines.
//!
//! sysbench begins an event again when its transaction has failed, with other values, and its latency
//! is from the first try on. Here the next transaction of the client is the next try.

use std::io::{self, Write};
use std::time::SystemTime;

use pgdyno_measurement::{
    Event, EventKind, Failure, Interval, Level, LoggedTransaction, Message, Outcome as Ended,
    ScriptInterval,
};
use pgdyno_model::Observer;
use pgdyno_output::remark;

use super::histogram::SysbenchHistogram;
use super::options::Options;
use super::report::{Form, SysbenchTally, SysbenchTotals, Thread};
use super::script::SysbenchScript;
use super::tpcc::Counts;

#[derive(Debug)]
pub struct Watch {
    threads: u32,
    every_s: f64,
    form: Form,
    percentile: Option<u64>,
    reads_each: u64,
    others_each: u64,
    /// How statements of sysbench-tpcc's transactions are counted instead.
    tpcc: Option<Counts>,
    batch: u64,
    warmup_us: u64,
    part: SysbenchTally,
    part_latencies: SysbenchHistogram,
    part_s: f64,
    totals: SysbenchTotals,
    /// By client: how long its failed tries took since its last event.
    failed_us: Vec<u64>,
    /// The text of the error that ended a client.
    pub error: Option<String>,
}

impl Watch {
    /// Nothing is done yet; the trial has these scripts.
    pub fn new<'a>(options: &Options, scripts: impl Iterator<Item = &'a str>) -> Self {
        let is_tpcc = options.script == SysbenchScript::Tpcc;
        let threads = options.threads as usize;
        Self {
            threads: options.threads,
            every_s: options.report_interval_s as f64,
            form: match (is_tpcc, options.tpcc.is_csv) {
                (true, true) => Form::Csv,
                (true, false) => Form::Hook,
                (false, _) => Form::Line,
            },
            percentile: options.percentile,
            reads_each: options.script.reads(&options.work),
            others_each: options.script.others(&options.work),
            tpcc: is_tpcc.then(|| Counts::of(scripts)),
            batch: options.batch,
            warmup_us: options.warmup.as_micros() as u64,
            part: SysbenchTally::default(),
            part_latencies: SysbenchHistogram::default(),
            part_s: 0.0,
            totals: SysbenchTotals {
                threads: vec![Thread::default(); threads],
                min_us: u64::MAX,
                ..SysbenchTotals::default()
            },
            failed_us: vec![0; threads],
            error: None,
        }
    }

    /// The run is over after so long.
    pub fn finish(mut self, elapsed_s: f64) -> SysbenchTotals {
        self.totals.elapsed_s = elapsed_s;
        if self.totals.min_us == u64::MAX {
            self.totals.min_us = 0;
        }
        self.totals
    }

    fn tally(&self, place: usize, script: &ScriptInterval) -> SysbenchTally {
        if let Some(tpcc) = self.tpcc {
            return tpcc.tally(place, script);
        }
        let events = (script.counts.committed + missing(script)) * self.batch;
        let statements: u64 = script.units.iter().map(|units| units.count()).sum();
        // A statement changes one row, or none; that of a batch all of them.
        let rows: u64 = script.units.iter().map(|units| units.rows).sum();
        let writes = rows / self.batch;
        SysbenchTally {
            events,
            reads: events * self.reads_each,
            writes,
            others: events * self.others_each + statements.saturating_sub(writes),
            errors: script.counts.failed_total() - missing(script) + script.counts.unknown,
            reconnects: 0,
        }
    }

    fn add(&mut self, tally: SysbenchTally) {
        for sum in [&mut self.part, &mut self.totals.tally] {
            sum.events += tally.events;
            sum.reads += tally.reads;
            sum.writes += tally.writes;
            sum.others += tally.others;
            sum.errors += tally.errors;
            sum.reconnects += tally.reconnects;
        }
    }

    fn take(&mut self, transaction: &LoggedTransaction) {
        let Some(failed_us) = self.failed_us.get_mut(transaction.client) else {
            return;
        };
        let is_event = matches!(
            transaction.outcome,
            Ended::Committed | Ended::Failed(Failure::RowMissing)
        );
        if !is_event {
            *failed_us += transaction.took_us;
            return;
        }
        let latency_us = transaction.latency_us + std::mem::take(failed_us);
        if transaction.at_us <= self.warmup_us {
            return;
        }
        let thread = &mut self.totals.threads[transaction.client];
        thread.events += self.batch;
        thread.busy_us += latency_us;
        self.totals.latencies.add(latency_us, 1);
        // All rows of an INSERT but the last are only put down.
        let put_down = self.batch - 1;
        self.totals.latencies.add(0, put_down);
        let min_us = if put_down > 0 { 0 } else { latency_us };
        self.totals.min_us = self.totals.min_us.min(min_us);
        self.totals.max_us = self.totals.max_us.max(latency_us);
    }
}

impl<O> Observer<O> for Watch {
    fn begun(&mut self, _started: SystemTime) {
        print("Threads started!\n\n");
    }

    fn second(&mut self, interval: &Interval) {
        if interval.warmup {
            return;
        }
        for (place, script) in interval.scripts.iter().enumerate() {
            let tally = self.tally(place, script);
            self.add(tally);
            let latencies = script.response.as_ref().unwrap_or(&script.service);
            self.part_latencies.add_all(latencies);
            let missing = &script.missing;
            let latencies = missing.response.as_ref().unwrap_or(&missing.service);
            self.part_latencies.add_all(latencies);
            let put_down = script.counts.committed * (self.batch - 1);
            self.part_latencies.add(0, put_down);
            self.totals.missing += self::missing(script);
        }
        self.part_s += interval.length_s();
        // Seconds are whole but for the last one.
        if self.every_s == 0.0 || self.part_s + 1e-6 < self.every_s {
            return;
        }
        let end_s = interval.start_s() + interval.length_s();
        print(&self.form.line(
            end_s,
            self.part_s,
            self.threads,
            &self.part,
            self.percentile,
            &self.part_latencies,
        ));
        (self.part, self.part_s) = (SysbenchTally::default(), 0.0);
        self.part_latencies.clear();
    }

    fn event(&mut self, event: &Event) {
        if matches!(
            event.kind,
            EventKind::Reconnected | EventKind::Moved | EventKind::Returned
        ) {
            self.add(SysbenchTally {
                reconnects: 1,
                ..SysbenchTally::default()
            });
        }
        remark!("pgdyno: {}", event.text);
    }

    fn message(&mut self, message: &Message) {
        match message.level {
            Level::Error => {
                self.error.get_or_insert_with(|| message.text.clone());
            }
            _ => remark!("pgdyno: {}", message.text),
        }
    }

    fn logged(&mut self, _thread: usize, transactions: &[LoggedTransaction]) {
        transactions.iter().for_each(|one| self.take(one));
    }
}

/// Transactions that looked for a row that is not there; nothing else has failed in them.
fn missing(script: &ScriptInterval) -> u64 {
    let missing = script.counts.failed.get(&Failure::RowMissing);
    missing.copied().unwrap_or(0)
}

/// A closed output is no error: it must not end a measurement.
fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
