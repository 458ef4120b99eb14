//! YCSB's status lines while it runs (`-s`), on standard error.

use std::collections::BTreeSet;
use std::time::SystemTime;

use pgdyno_measurement::{Closing, Interval, LoggedTransaction};
use pgdyno_model::Observer;
use pgdyno_output::remark;
use time::OffsetDateTime;

use super::figures::{CLEANUP, Errors, Figures, Named, order};
use super::forms::JavaForms;
use super::hdr_files::HdrFiles;
use super::numbers::two_digits;
use super::raw::RawPoints;
use super::series::Series;
use super::{RunStart, since};
use crate::YcsbRefusal;
use crate::command::YcsbCommand;
use crate::operations::{self, Kind, Operations};
use crate::plan::Plan;

/// Prints a line each interval, when it is asked for.
pub struct JavaStatus {
    is_on: bool,
    label: String,
    every_s: u64,
    since: RunStart,
    forms: JavaForms,
    errors: Errors,
    /// Averages over time, for the results.
    pub series: Series,
    /// Each operation, for the results.
    pub points: RawPoints,
    hdr_files: Option<HdrFiles>,
    /// The kinds of the run's scripts.
    pub kinds: Vec<Option<Kind>>,
    todo: Option<u64>,
    duration_s: Option<u64>,
    operations: Operations,
    /// All names that there ever were: from then on they have a part in each line.
    seen: BTreeSet<String>,
    interval_s: f64,
    elapsed_s: f64,
    done: u64,
    done_before: u64,
}

impl JavaStatus {
    /// Nothing is done yet.
    ///
    /// # Errors
    /// A property that is no number.
    pub fn new(command: &YcsbCommand, plan: &Plan, forms: JavaForms) -> Result<Self, YcsbRefusal> {
        let properties = &command.properties;
        let seconds = properties.count("maxexecutiontime")?;
        let hdr_files = HdrFiles::of(properties, &forms, since(command)?)?;
        Ok(Self {
            is_on: properties.bool("status") == Some(true),
            label: properties.get("label").unwrap_or_default().to_owned(),
            every_s: properties.count("status.interval")?.unwrap_or(10).max(1),
            since: since(command)?,
            forms,
            errors: Errors::of(properties),
            series: Series::default(),
            points: RawPoints::default(),
            hdr_files,
            kinds: Vec::new(),
            todo: plan.operations,
            duration_s: seconds.filter(|seconds| *seconds > 0),
            operations: Operations::new(),
            seen: BTreeSet::new(),
            interval_s: 0.0,
            elapsed_s: 0.0,
            done: 0,
            done_before: 0,
        })
    }

    /// The run is over, and connections are closed: the last line.
    pub fn finish(&mut self, closings: &[Closing]) {
        // Clients with a target end when no operation is due any more before the end.
        let is_all_done = self.todo.is_some_and(|todo| self.done >= todo);
        if let Some(seconds) = self.duration_s
            && !is_all_done
            && self.elapsed_s + 0.1 >= seconds as f64
        {
            remark!("Maximum time elapsed. Requesting stop for the workload.");
            remark!("Stop requested for workload. Now Joining!");
        }
        self.points.finish(closings);
        for closing in closings {
            let (name, at_ms) = (CLEANUP.to_owned(), closing.at_us / 1000);
            let both = [closing.latency_us; 2];
            self.series
                .record(name, at_ms, self.forms.granularity_ms, both);
        }
        let closed = Figures::of_closings(closings);
        self.print([(CLEANUP.to_owned(), closed)].into());
    }

    /// Writes histograms of the whole run, `named`, into files, if that is asked for and status lines have not
    /// done it. Gives what could not be written.
    pub fn write_histograms(&mut self, named: &Named) -> Option<String> {
        let has_intervals = self.has_intervals_of_histograms();
        let files = self.hdr_files.as_mut()?;
        if !has_intervals {
            files.add(0.0, self.elapsed_s, named);
        }
        files.take_error()
    }

    /// The parts of a read-modify-write are known at the end only, and so is all that there is of reads and updates.
    fn has_intervals_of_histograms(&self) -> bool {
        self.is_on && !self.kinds.contains(&Some(Kind::ReadModifyWrite))
    }

    /// Prints a line, with these figures too.
    fn print(&mut self, more: Named) {
        if self.is_on {
            let mut named = self.errors.figures(&self.operations);
            named.extend(more);
            let has_intervals = self.has_intervals_of_histograms();
            if let Some(files) = self.hdr_files.as_mut().filter(|_| has_intervals) {
                files.add(self.elapsed_s - self.interval_s, self.interval_s, &named);
            }
            self.seen.extend(named.keys().cloned());
            remark!("{}", self.line(SystemTime::now(), &named));
        }
        self.operations.clear();
        (self.interval_s, self.done_before) = (0.0, self.done);
    }

    fn line(&self, now: SystemTime, named: &Named) -> String {
        let mut text = format!(
            "{}{} {} sec: {} operations; ",
            self.label,
            time(now),
            // The last second may be a moment short.
            (self.elapsed_s + 0.01) as u64,
            self.done
        );
        if self.done > 0 {
            let done = (self.done - self.done_before) as f64;
            let per_s = if self.interval_s > 0.0 {
                done / self.interval_s
            } else {
                0.0
            };
            text += &format!("{} current ops/sec; ", two_digits(per_s));
        }
        let left = self.todo.map_or(0, |todo| todo.saturating_sub(self.done));
        if left > 0 {
            text += &format!("est completion in {}", self.remaining(left));
        }
        let none = Figures::default();
        for (before, name, is_of_schedule) in order(self.seen.iter(), self.since) {
            let latencies = named.get(name).unwrap_or(&none).latencies(is_of_schedule);
            text += &self.forms.status(&format!("{before}{name}"), latencies);
        }
        text
    }

    /// How long the rest takes at the rate so far, in YCSB's words. Before the first operation that
    /// is 0 seconds.
    fn remaining(&self, left: u64) -> String {
        let per_s = self.done as f64 / self.elapsed_s.max(0.001);
        let seconds = match self.done {
            0 => 0,
            _ => (left as f64 / per_s).ceil() as u64,
        };
        let unit = |count: u64, word: &str| match count {
            0 => String::new(),
            1 => format!("1 {word} "),
            count => format!("{count} {word}s "),
        };
        let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
        let mut text = unit(days, "day") + &unit(hours, "hour");
        if days == 0 {
            text += &unit(seconds / 60 % 60, "minute");
        }
        match text.is_empty() {
            // A number of one digit is singular there.
            true if seconds < 10 => format!("{seconds} second "),
            true => format!("{seconds} seconds "),
            false => text,
        }
    }
}

/// A moment as YCSB prints it, in UTC.
fn time(now: SystemTime) -> String {
    let now = OffsetDateTime::from(now);
    let (date, hour, minute) = (now.date(), now.hour(), now.minute());
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    let (second, ms) = (now.second(), now.millisecond());
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}:{ms:03}")
}

impl<O> Observer<O> for JavaStatus {
    fn begun(&mut self, started: SystemTime) {
        self.points.begin(started);
        if let Some(files) = &mut self.hdr_files {
            files.begin(started);
        }
        if let Some(seconds) = self.duration_s {
            remark!("Maximum execution time specified as: {seconds} secs");
        }
        self.print(Named::new());
        remark!("{}", self.errors.text());
    }

    fn second(&mut self, interval: &Interval) {
        operations::add_interval(&mut self.operations, &self.kinds, interval);
        if self.forms.has_series() && !self.forms.has_fine_series() {
            let mut second = Operations::new();
            operations::add_interval(&mut second, &self.kinds, interval);
            let granularity_ms = self.forms.granularity_ms;
            let second = self.errors.figures(&second);
            self.series.add(interval.start_s(), granularity_ms, &second);
        }
        let all = interval.scripts.iter();
        self.done += all.map(operations::done).sum::<u64>();
        self.interval_s += interval.length_s();
        self.elapsed_s = interval.start_s() + interval.length_s();
        // Seconds are whole but for the last one.
        let is_due = self.interval_s + 1e-6 >= self.every_s as f64;
        if is_due && self.todo.is_none_or(|todo| self.done < todo) {
            self.print(Named::new());
        }
    }

    fn logged(&mut self, _thread: usize, transactions: &[LoggedTransaction]) {
        if self.forms.raw().is_some() {
            self.points.add(&self.kinds, &self.errors, transactions);
        }
        if !self.forms.has_fine_series() {
            return;
        }
        for transaction in transactions {
            if let Some((kind, status)) = operations::ended(&self.kinds, transaction) {
                let both = [
                    transaction.took_us,
                    transaction.took_us + transaction.waited_us,
                ];
                let (name, at_ms) = (self.errors.name(kind, status), transaction.at_us / 1000);
                let granularity_ms = self.forms.granularity_ms;
                self.series.record(name, at_ms, granularity_ms, both);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::Properties;
    use std::time::{Duration, UNIX_EPOCH};

    fn status() -> JavaStatus {
        JavaStatus {
            is_on: true,
            label: "mine ".to_owned(),
            every_s: 1,
            since: RunStart::Both,
            forms: JavaForms::of(&Properties::default()).unwrap(),
            errors: Errors::default(),
            series: Series::default(),
            points: RawPoints::default(),
            hdr_files: None,
            kinds: vec![Some(Kind::Read)],
            todo: Some(1_000_000),
            duration_s: None,
            operations: Operations::new(),
            seen: BTreeSet::new(),
            interval_s: 0.0,
            elapsed_s: 0.0,
            done: 0,
            done_before: 0,
        }
    }

    /// As YCSB 0.18 printed it: before the first operation, after a second, and at the end.
    #[test]
    fn lines_have_the_recorded_form() {
        let mut status = status();
        let now = UNIX_EPOCH + Duration::from_millis(1_795_381_901_538);
        assert_eq!(
            status.line(now, &Named::new()),
            "mine 2026-11-22 21:11:41:538 0 sec: 0 operations; est completion in 0 second "
        );
        let mut named = Named::new();
        let read = named.entry("READ".to_owned()).or_default();
        read.service.record(246);
        read.response.record(246);
        status.seen.insert("READ".to_owned());
        (status.done, status.elapsed_s, status.interval_s) = (135, 1.0, 1.0);
        let part =
            "Count=1, Max=246, Min=246, Avg=246, 50=246, 90=246, 99=246, 99.9=246, 99.99=246] ";
        assert_eq!(
            status.line(now, &named),
            format!(
                "mine 2026-11-22 21:11:41:538 1 sec: 135 operations; 135 current ops/sec; est \
                 completion in 2 hours 3 minutes [READ: {part}[Intended-READ: {part}"
            )
        );
        (status.todo, status.since) = (Some(135), RunStart::Start);
        assert!(status.line(now, &Named::new()).ends_with(
            "current ops/sec; [READ: Count=0, Max=0, Min=0, Avg=0, 50=0, 90=0, 99=0, 99.9=0, 99.99=0] "
        ));
    }

    #[test]
    fn the_time_left_has_ycsbs_units() {
        let mut status = status();
        (status.done, status.elapsed_s) = (1, 1.0);
        let texts = [1, 5, 12, 60, 3661, 90_061, 172_800].map(|left| status.remaining(left));
        assert_eq!(
            texts,
            [
                "1 second ",
                "5 second ",
                "12 seconds ",
                "1 minute ",
                "1 hour 1 minute ",
                "1 day 1 hour ",
                "2 days "
            ]
        );
    }
}
