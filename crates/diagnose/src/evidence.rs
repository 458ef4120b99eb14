//! What rules may look at: a recorded trial, and figures of it that several rules need.

use super::ratio::ratio;
use pgdyno_drive::record::{Reason, ScriptInterval};

use super::budget::{self, Budget};
use super::stalls::Stalls;
use super::waits::Class;
use pgdyno_model::Outcome;
use pgdyno_model::client_bound::limiting;

/// With less idle time than this share, CPUs are all in use.
const FULL_IDLE_SHARE: f64 = 0.1;
/// A server that uses less of the CPUs than this share of what its clients could use is not kept busy
/// by them.
const SERVER_USE_SHARE: f64 = 0.2;

/// A thread that has work less than this share of the time makes an answer wait for one other and a
/// half at most (queueing theory: share / (1 - share)): it waits for the server, not the server for it.
const CLIENT_BUSY_SHARE: f64 = 0.6;

/// One trial's evidence.
pub struct Evidence<'a> {
    /// All that was recorded.
    pub outcome: &'a Outcome,
    /// The measured transactions, all scripts as one.
    pub all: ScriptInterval,
    /// The measured time on the clock of the seconds, in microseconds: from, to.
    pub measured_us: (i64, i64),
    /// Its length in seconds.
    pub elapsed_s: f64,
    /// Time that clients spent in transactions, in microseconds: tries that were kept and lost,
    /// without the pauses that scripts make.
    pub in_transactions_us: f64,
    /// Time in which they made connections for transactions, in microseconds.
    pub connecting_us: f64,
    /// Where the time in transactions went, when that was seen.
    pub budget: Option<Budget>,
    /// Seconds in which a checkpoint or a vacuum held the clients up.
    pub stalls: Option<Stalls>,
    /// Why the budget was not seen.
    pub blind: Option<String>,
    /// The command that would let it be seen.
    pub closing: Option<String>,
}

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
        let pauses_us: u64 = pauses(outcome).sum();
        let tries_us = all.work.kept_us + all.work.lost_us;
        let in_transactions_us = tries_us.saturating_sub(pauses_us) as f64;
        let connecting_us = match outcome.spec.connection_per_transaction {
            // Those of the warm-up are among them: the mean is of all.
            true => recording.connections.latencies.mean_us().unwrap_or(0.0) * started as f64,
            false => 0.0,
        };
        let elapsed_s = recording.measured.elapsed_us as f64 / 1e6;
        let busy = in_transactions_us / 1e6 / elapsed_s;
        let budget = budget::of(outcome, measured_us, busy);
        let (budget, blind, closing) = match budget {
            Ok(budget) => (Some(budget), None, None),
            Err(gap) => (None, Some(gap.reason), gap.remedy),
        };
        Some(Self {
            stalls: Stalls::of(outcome, measured_us),
            outcome,
            all,
            measured_us,
            elapsed_s,
            in_transactions_us,
            connecting_us,
            budget,
            blind,
            closing,
        })
    }

    /// Of the time of clients at work, which share went into connecting for transactions.
    pub fn connecting_share(&self) -> f64 {
        ratio(
            self.connecting_us,
            self.connecting_us + self.in_transactions_us,
        )
    }

    /// Of the time in transactions, which share went into tries that were thrown away.
    pub fn lost_share(&self) -> f64 {
        self.all.work.lost_time_share().unwrap_or(0.0)
    }

    /// Of all tries thrown away, the share that was lost to such reasons.
    pub fn share_of_reasons(&self, is_such: impl Fn(&Reason) -> bool) -> f64 {
        let reasons = &self.outcome.recording.reasons;
        let all: u64 = reasons.iter().map(Reason::tries).sum();
        let such = reasons.iter().filter(|reason| is_such(reason));
        let such: u64 = such.map(Reason::tries).sum();
        ratio(such as f64, all as f64)
    }

    /// What is left of a share of the time in useful tries when what comes before it is taken off:
    /// connecting, tries thrown away, seconds held up.
    pub fn of_all(&self, share: f64) -> f64 {
        share * (1.0 - self.connecting_share()) * (1.0 - self.lost_share()) * (1.0 - self.stalled())
    }

    /// The share of transactions that checkpoints and vacuums cost.
    pub fn stalled(&self) -> f64 {
        self.stalls.as_ref().map_or(0.0, |stalls| stalls.share)
    }

    /// The share of the clients' time in sessions of these classes.
    pub fn class_share(&self, class: Class) -> Option<f64> {
        let share = self.budget.as_ref()?.class_share(class);
        Some(self.of_all(share))
    }

    /// The share of the clients' time in which no session of theirs was in a statement.
    pub fn outside_share(&self) -> Option<f64> {
        Some(self.of_all(self.budget.as_ref()?.outside_share()))
    }

    /// The share of the server's host's CPU time that was idle, where the server is on this host.
    pub fn server_idle_share(&self) -> Option<f64> {
        self.mean("host.server.cpu")?;
        // A CPU that waits for a disk has nothing else to do.
        let is_idle = |mode: &str| mode == "idle" || mode == "iowait";
        let idle = self.mean_where("host.cpu", is_idle)?;
        Some(ratio(idle, self.mean("host.cpu")?))
    }

    /// Whether sessions of the trial waited for a CPU before they could say that they are active: the
    /// CPUs of the server's host were all in use, and the server's processes used a good part of what
    /// so many clients can use. What is outside of the server cannot be determined from that waiting.
    pub fn do_sessions_wait_for_cpus(&self) -> bool {
        let is_full = self
            .server_idle_share()
            .is_some_and(|idle| idle <= FULL_IDLE_SHARE);
        let cpus = self.mean("host.cpu").unwrap_or(0.0);
        let used = self.mean("host.server.cpu").unwrap_or(0.0);
        is_full && used >= SERVER_USE_SHARE * self.busy_clients().min(cpus)
    }

    /// The share that no rule stands for.
    pub fn unexplained_share(&self) -> f64 {
        let share = |class| self.class_share(class).unwrap_or(0.0);
        share(Class::Other) + share(Class::Sleep)
    }

    /// The clients' time, as many clients at once: how many were in a transaction on average.
    pub fn busy_clients(&self) -> f64 {
        self.in_transactions_us / 1e6 / self.elapsed_s
    }

    /// The share of time that pgdyno's busiest thread had work to do, on a CPU or waiting for one.
    pub fn busiest_thread(&self) -> Option<f64> {
        let threads = self.outcome.recording.threads.iter();
        threads.map(|thread| thread.wanted_share()).reduce(f64::max)
    }

    /// Which share of the time outside of the server is pgdyno's own: all of it when its busiest thread
    /// had work nearly all the time, none when it mostly waited, else as much as it had work.
    pub fn clients_part_of_outside(&self) -> f64 {
        match self.busiest_thread() {
            _ if limiting(&self.outcome.recording.threads).is_some() => 1.0,
            Some(busiest) if busiest >= CLIENT_BUSY_SHARE => busiest,
            _ => 0.0,
        }
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

    /// SQL statements that a committed transaction sent.
    pub fn statements_per_transaction(&self) -> Option<f64> {
        let work = &self.all.work;
        let committed = self.all.counts.committed;
        (committed > 0 && work.kept_statements > 0)
            .then(|| work.kept_statements as f64 / committed as f64)
    }

    /// The quickest answer to any statement, in microseconds.
    pub fn quickest_answer_us(&self) -> Option<f64> {
        let recording = &self.outcome.recording;
        let scripts = recording.scripts.iter().zip(&recording.statements);
        let statements = scripts.flat_map(|(script, totals)| script.statements.iter().zip(totals));
        let sql = statements.filter(|(statement, _)| statement.is_sql);
        let least = sql.filter_map(|(_, totals)| {
            let least_us = totals.latencies.histogram().min_us()?;
            Some(least_us as f64)
        });
        least.reduce(f64::min)
    }
}

/// The times of `\sleep`, which keep a client busy with nothing.
fn pauses(outcome: &Outcome) -> impl Iterator<Item = u64> {
    let recording = &outcome.recording;
    let scripts = recording.scripts.iter().zip(&recording.statements);
    let statements = scripts.flat_map(|(script, totals)| script.statements.iter().zip(totals));
    let sleeps = statements.filter(|(statement, _)| statement.text.starts_with("\\sleep"));
    sleeps.map(|(_, totals)| totals.latencies.sum_us())
}
