//! Transaction logs (`-l`) as pgbench writes them: a file a thread, a line a transaction or an
//! interval. (Facts: `doLog` in PostgreSQL's `src/bin/pgbench/pgbench.c`; the column of other
//! failures is pgbench 19's.)

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use pgdyno_measurement::LoggedTransaction;

use super::counts::{PgbenchCounted, counted};
use super::messages::Stop;
use super::options::{Bench, LogOptions};
use pgdyno_workload::script_files::reason;

/// The logs of all threads.
pub struct LogFiles {
    form: Form,
    files: Vec<LogFile>,
    /// Unix time of the run's beginning in microseconds.
    started_us: u64,
    error: Option<String>,
}

/// Which columns a line has.
#[derive(Debug, Clone, Copy)]
struct Form {
    aggregate_us: Option<u64>,
    with_rate: bool,
    with_limit: bool,
    with_retries: bool,
    failures_detailed: bool,
    continues_on_error: bool,
    goes_on: bool,
}

struct LogFile {
    path: String,
    out: BufWriter<File>,
    aggregate: Aggregate,
}

#[derive(Debug, Default)]
struct Aggregate {
    start_us: u64,
    processed: u64,
    latency: Stats,
    lag: Stats,
    skipped: u64,
    retried: u64,
    retries: u64,
    serialization: u64,
    deadlock: u64,
    other: u64,
}

/// Sums of values in microseconds.
#[derive(Debug, Default)]
struct Stats {
    count: u64,
    sum: f64,
    sum_squares: f64,
    min: f64,
    max: f64,
}

impl Stats {
    fn add(&mut self, value: f64) {
        if self.count == 0 || value < self.min {
            self.min = value;
        }
        if self.count == 0 || value > self.max {
            self.max = value;
        }
        self.count += 1;
        self.sum += value;
        self.sum_squares += value * value;
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Self {
            sum,
            sum_squares,
            min,
            max,
            ..
        } = self;
        write!(out, " {sum:.0} {sum_squares:.0} {min:.0} {max:.0}")
    }
}

impl LogFiles {
    /// Creates the files: `PREFIX.PID`, and `PREFIX.PID.THREAD` for all threads but the first.
    ///
    /// # Errors
    /// One cannot be created.
    pub fn create(log: &LogOptions, options: &Bench, max_tries: u32) -> Result<Self, Stop> {
        let pid = std::process::id();
        let create = |thread: u32| {
            let path = match thread {
                0 => format!("{}.{pid}", log.prefix),
                _ => format!("{}.{pid}.{thread}", log.prefix),
            };
            let file = File::create(&path).map_err(|error| {
                let why = reason(&error);
                Stop::fatal(format!("could not open logfile \"{path}\": {why}"))
            })?;
            Ok(LogFile {
                path,
                out: BufWriter::new(file),
                aggregate: Aggregate::default(),
            })
        };
        Ok(Self {
            form: Form {
                aggregate_us: log.aggregate_s.map(|s| u64::from(s) * 1_000_000),
                with_rate: options.rate.is_some(),
                with_limit: options.latency_limit_us > 0,
                with_retries: max_tries != 1,
                failures_detailed: options.failures_detailed,
                continues_on_error: options.continue_on_error,
                goes_on: options.goes_on(),
            },
            files: (0..options.threads)
                .map(create)
                .collect::<Result<_, Stop>>()?,
            started_us: 0,
            error: None,
        })
    }

    pub fn begin(&mut self, started: SystemTime) {
        let since_1970 = started.duration_since(UNIX_EPOCH).unwrap_or_default();
        self.started_us = since_1970.as_micros() as u64;
        for file in &mut self.files {
            // Lines of aggregates begin with whole seconds.
            file.aggregate.start_us = self.started_us / 1_000_000 * 1_000_000;
        }
    }

    /// Transactions of one thread, in order.
    pub fn logged(&mut self, thread: usize, transactions: &[LoggedTransaction]) {
        let Some(file) = self.files.get_mut(thread) else {
            return;
        };
        for transaction in transactions {
            let at_us = self.started_us + transaction.at_us;
            if let Err(error) = file.transaction(&self.form, transaction, at_us) {
                self.error.get_or_insert(file.failure(&error));
                return;
            }
        }
    }

    /// A thread has ended at this moment since the start.
    pub fn thread_ended(&mut self, thread: usize, at_us: u64) {
        let Some(file) = self.files.get_mut(thread) else {
            return;
        };
        let at_us = self.started_us + at_us;
        let done = file.pass(&self.form, at_us).and_then(|()| file.out.flush());
        if let Err(error) = done {
            self.error.get_or_insert(file.failure(&error));
        }
    }

    /// What went wrong with writing, if anything did: a log that has ended early must not look
    /// whole.
    pub fn take_error(&mut self) -> Option<String> {
        self.error.take()
    }
}

impl LogFile {
    fn failure(&self, error: &io::Error) -> String {
        let why = reason(error);
        format!("could not write to logfile \"{}\": {why}", self.path)
    }

    fn transaction(
        &mut self,
        form: &Form,
        transaction: &LoggedTransaction,
        at_us: u64,
    ) -> io::Result<()> {
        let Some(counted) = counted(transaction.outcome, form.goes_on) else {
            return Ok(());
        };
        if form.aggregate_us.is_some() {
            self.pass(form, at_us)?;
            self.aggregate.add(form, transaction, counted);
            return Ok(());
        }
        let out = &mut self.out;
        write!(out, "{} {} ", transaction.client, transaction.number)?;
        match counted {
            PgbenchCounted::Processed => write!(out, "{}", transaction.latency_us)?,
            PgbenchCounted::Skipped => write!(out, "skipped")?,
            PgbenchCounted::Failed(word) if form.failures_detailed => write!(out, "{word}")?,
            PgbenchCounted::Failed(_) => write!(out, "failed")?,
        }
        let (seconds, rest_us) = (at_us / 1_000_000, at_us % 1_000_000);
        write!(out, " {} {seconds} {rest_us}", transaction.script)?;
        if form.with_rate {
            write!(out, " {}", transaction.lag_us)?;
        }
        if form.with_retries {
            write!(out, " {}", transaction.tries.saturating_sub(1))?;
        }
        writeln!(out)
    }

    /// Writes the intervals that have ended by `at_us`.
    fn pass(&mut self, form: &Form, at_us: u64) -> io::Result<()> {
        let Some(length_us) = form.aggregate_us else {
            return Ok(());
        };
        while self.aggregate.start_us + length_us <= at_us {
            self.aggregate.write(form, &mut self.out)?;
            self.aggregate = Aggregate {
                start_us: self.aggregate.start_us + length_us,
                ..Aggregate::default()
            };
        }
        Ok(())
    }
}

impl Aggregate {
    fn add(&mut self, form: &Form, transaction: &LoggedTransaction, counted: PgbenchCounted) {
        if counted == PgbenchCounted::Skipped {
            self.skipped += 1;
            return;
        }
        if transaction.tries > 1 {
            self.retried += 1;
            self.retries += u64::from(transaction.tries - 1);
        }
        match counted {
            PgbenchCounted::Failed("serialization") => self.serialization += 1,
            PgbenchCounted::Failed("deadlock") => self.deadlock += 1,
            PgbenchCounted::Failed(_) => self.other += 1,
            PgbenchCounted::Processed | PgbenchCounted::Skipped => {
                self.processed += 1;
                self.latency.add(transaction.latency_us as f64);
                if form.with_rate {
                    self.lag.add(transaction.lag_us as f64);
                }
            }
        }
    }

    fn write(&self, form: &Form, out: &mut impl Write) -> io::Result<()> {
        let shown = |number: u64, is_shown: bool| if is_shown { number } else { 0 };
        write!(out, "{} {}", self.start_us / 1_000_000, self.processed)?;
        self.latency.write(out)?;
        self.lag.write(out)?;
        let (retried, retries) = (
            shown(self.retried, form.with_retries),
            shown(self.retries, form.with_retries),
        );
        let skipped = shown(self.skipped, form.with_limit);
        write!(out, " {skipped} {retried} {retries}")?;
        let serialization = shown(self.serialization, form.failures_detailed);
        let deadlock = shown(self.deadlock, form.failures_detailed);
        write!(out, " {serialization} {deadlock}")?;
        if form.continues_on_error {
            write!(out, " {}", shown(self.other, form.failures_detailed))?;
        }
        writeln!(out)
    }
}
