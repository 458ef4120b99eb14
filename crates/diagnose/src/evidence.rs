//! What rules may look at: a recorded trial, and figures of it that several rules need.

use pgdyno_measurement::{Activity, Reason, ScriptInterval};
use pgdyno_model::Outcome;
use pgdyno_model::document::Part;
use pgdyno_model::observed::Course;
use pgdyno_spec::ErrorClass;

use super::budget::Budget;
use super::ratio::ratio;
use super::stalls::Stalls;

pub struct Evidence<'a> {
    pub outcome: &'a Outcome,
    /// The measured transactions, all scripts as one.
    pub all: ScriptInterval,
    /// The measured time on the clock of the seconds, in microseconds: from, to.
    pub measured_us: (i64, i64),
    pub elapsed_s: f64,
    /// Where the clients' time went.
    pub budget: Budget,
    /// Seconds in which a checkpoint or a vacuum held the clients up.
    pub stalls: Option<Stalls>,
}

/// Parts in which a transaction is under way.
pub const IN_TRANSACTIONS: [Part; 21] = [
    Part::Wire,
    Part::Queued,
    Part::ServerCpu,
    Part::ServerWait,
    Part::Sql,
    Part::PassedOn,
    Part::Admission,
    Part::KeyValue,
    Part::RowLocks,
    Part::LightweightLocks,
    Part::Wal,
    Part::Replication,
    Part::DataReads,
    Part::DataWrites,
    Part::TemporaryFiles,
    Part::Slru,
    Part::Extension,
    Part::ClientIo,
    Part::Ipc,
    Part::Others,
    Part::NotAttributed,
];

impl<'a> Evidence<'a> {
    /// Of a trial; `None` when nothing was measured.
    pub fn of(outcome: &'a Outcome) -> Option<Self> {
        let recording = &outcome.recording;
        let all = recording.measured.all();
        let started = all.counts.total() - all.counts.skipped;
        // Clients that never found a connection have started nothing, and that says it.
        let is_without = recording.outages.unended > 0;
        if recording.measured.elapsed_us == 0 || started == 0 && !is_without {
            return None;
        }
        let from_us = recording
            .warmup
            .as_ref()
            .map_or(0, |phase| phase.elapsed_us);
        let to_us = from_us + recording.measured.elapsed_us;
        let measured_us = (from_us as i64, to_us as i64);
        Some(Self {
            stalls: Stalls::of(outcome, measured_us),
            budget: Budget::of(outcome, measured_us),
            outcome,
            all,
            measured_us,
            elapsed_s: recording.measured.elapsed_us as f64 / 1e6,
        })
    }

    /// By block, the share of the clients' time in these parts that a verdict counts. Time before a
    /// scheduled start, or at rest, belongs to no cause; time in tries that were thrown away for a conflict is contention's,
    /// whatever the server did in it.
    pub fn shares(&self, parts: &[Part]) -> Vec<f64> {
        let kept = 1.0 - self.lost_to_conflicts();
        let blocks = self.budget.blocks.iter();
        let share = blocks.map(|block| {
            let idle = [Part::Rest, Part::Schedule].map(|part| block.parts[part as usize]);
            let all = block.parts.iter().sum::<f64>() - idle.iter().sum::<f64>();
            let of = |part: &Part| {
                if IN_TRANSACTIONS.contains(part) {
                    kept * block.parts[*part as usize]
                } else {
                    block.parts[*part as usize]
                }
            };
            ratio(parts.iter().map(of).sum(), all)
        });
        share.collect()
    }

    /// By block, the share of the clients' time that was thrown away for conflicts.
    pub fn lost_shares(&self) -> Vec<f64> {
        let kept = 1.0 - self.lost_to_conflicts();
        let all = self.shares(&IN_TRANSACTIONS);
        let lost = all.into_iter();
        lost.map(|share| {
            if kept > 0.0 {
                share / kept * (1.0 - kept)
            } else {
                0.0
            }
        })
        .collect()
    }

    /// The same share for all blocks, of what is known of the trial as a whole only.
    pub fn constant(&self, share: f64) -> Vec<f64> {
        vec![share; self.budget.blocks.len()]
    }

    /// Of the time in tries, the share of those that were thrown away for a conflict.
    pub fn lost_to_conflicts(&self) -> f64 {
        let lost = self.all.work.lost_time_share().unwrap_or(0.0);
        lost * self.share_of_reasons(is_conflict)
    }

    /// Of all tries thrown away, the share that was lost to such reasons.
    pub fn share_of_reasons(&self, is_such: impl Fn(&Reason) -> bool) -> f64 {
        let reasons = &self.outcome.recording.reasons;
        let all: u64 = reasons.iter().map(Reason::tries).sum();
        let such = reasons.iter().filter(|reason| is_such(reason));
        let such: u64 = such.map(Reason::tries).sum();
        ratio(such as f64, all as f64)
    }

    /// The share of the server's host's CPU time that was idle, where the server is on this host.
    pub fn server_idle_share(&self) -> Option<f64> {
        self.mean("host.server.cpu")?;
        // A CPU that waits for a disk has nothing else to do.
        let is_idle = |mode: &str| mode == "idle" || mode == "iowait";
        let idle = self.mean_where("host.cpu", is_idle)?;
        Some(ratio(idle, self.mean("host.cpu")?))
    }

    /// The share of periods in which the server's CPU quota was used up; `None` without one.
    pub fn throttled_share(&self) -> Option<f64> {
        let of = |which: &'static str| {
            self.mean_where("host.server.periods", move |label| label.ends_with(which))
        };
        Some(ratio(of("throttled")?, of("all")?))
    }

    /// The clients' time in transactions, as many clients at once.
    pub fn busy_clients(&self) -> f64 {
        ratio(
            self.budget.time.at(Activity::Statement) as f64 / 1e9,
            self.elapsed_s,
        )
    }

    /// The share of time that pgdyno's busiest thread had work to do, on a CPU or waiting for one.
    pub fn busiest_thread(&self) -> Option<f64> {
        let threads = self.outcome.recording.threads.iter();
        threads.map(|thread| thread.wanted_share()).reduce(f64::max)
    }

    /// The mean of a series over the measured time, all its labels together; `None` where it was
    /// not read.
    pub fn mean(&self, name: &str) -> Option<f64> {
        self.mean_where(name, |_| true)
    }

    /// The same of those labels.
    pub fn mean_where(&self, name: &str, is_wanted: impl Fn(&str) -> bool) -> Option<f64> {
        let (from_us, to_us) = self.measured_us;
        let courses = self.outcome.observed.all(name);
        let courses = courses.filter(|course| is_wanted(&course.of.series.label));
        let means = courses.filter_map(|course| course.mean(from_us, to_us, 0));
        means.reduce(|a, b| a + b)
    }

    /// The means of a series over the measured time by its label, which is a node of a cluster.
    pub fn by_node(&self, name: &str) -> Vec<(&'a str, f64)> {
        let (from_us, to_us) = self.measured_us;
        let courses = self.outcome.observed.series.iter();
        let courses = courses.filter(|course| course.of.series.name == name);
        let of = |course: &'a Course| {
            let mean = course.mean(from_us, to_us, 0)?;
            Some((course.of.series.label.as_str(), mean))
        };
        courses.filter_map(of).collect()
    }

    /// Round trips of a committed transaction.
    pub fn trips_per_commit(&self) -> f64 {
        ratio(
            self.budget.time.round_trips as f64,
            self.all.counts.committed as f64,
        )
    }
}

/// A serialization failure, a deadlock, or a lock that was not to be had in time (PostgreSQL's manual,
/// appendix "Error Codes": 55P03 lock_not_available). What is lost to clocks is another's; a mistake in
/// a script is no conflict.
fn is_conflict(reason: &Reason) -> bool {
    let is_such = matches!(
        reason.class,
        ErrorClass::Serialization | ErrorClass::Deadlock
    ) || reason.sqlstate == "55P03";
    is_such && !super::rules::is_of_clocks(reason)
}
