//! `client`: pgdyno itself. What its threads used and waited for is read from outside, so that it
//! costs them nothing; how late their event loops were, they book themselves.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

use pgdyno_measurement::{Interval, LoopLags};
use pgdyno_platform::cpu_time;
use pgdyno_platform::proc::{self, task};

use super::unreadable;
use crate::{Instrument, Readings};
use pgdyno_model::Observer;
use pgdyno_model::observed::{Gap, Kind, Row};

const TASKS: &str = "/proc/self/task";
/// As the engine names its threads.
const NAME: &str = "clients-";

pub const ROWS: &[Row] = &[CPU, THREAD_CPU, THREAD_WAITED, LAG_P99, LAG_MAX];

const CPU: Row = Row {
    name: "client.cpu",
    unit: "cores",
    kind: Kind::Counter,
    source: "getrusage(2)",
    what: "CPUs used by all of pgdyno, its instruments included: user, system",
};
const THREAD_CPU: Row = Row {
    name: "client.thread.cpu",
    unit: "cores",
    kind: Kind::Counter,
    source: "/proc/self/task/TID/schedstat",
    what: "share of a CPU that a thread of clients used",
};
const THREAD_WAITED: Row = Row {
    name: "client.thread.waited",
    unit: "s/s",
    kind: Kind::Counter,
    source: "/proc/self/task/TID/schedstat",
    what: "share of time in which a thread of clients could have run but waited for a CPU: \
           run-queue wait",
};
const LAG_P99: Row = Row {
    name: "client.lag.p99",
    unit: "µs",
    kind: Kind::Gauge,
    source: "the engine",
    what: "event-loop lag of a thread (p99): how long an answer or a deadline waited for its turn; shown \
     where at least ten values lie beyond it",
};
const LAG_MAX: Row = Row {
    name: "client.lag.max",
    unit: "µs",
    kind: Kind::Gauge,
    source: "the engine",
    what: "the longest event-loop lag of a thread in the second",
};

/// The event loops' lags that are not yet read, on their way from the engine's seconds to the
/// instrument.
#[derive(Debug, Clone, Default)]
pub struct ThreadLags(Arc<Mutex<BTreeMap<usize, LoopLags>>>);

impl<O> Observer<O> for ThreadLags {
    fn second(&mut self, interval: &Interval) {
        let mut unread = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for one in &interval.loops {
            let mine = unread.entry(one.thread).or_default();
            mine.thread = one.thread;
            mine.lags.merge(&one.lags);
        }
    }
}

impl ThreadLags {
    fn take(&self) -> BTreeMap<usize, LoopLags> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

pub struct Clients {
    lags: ThreadLags,
    /// By thread id, the number of those that belong to clients.
    threads: BTreeMap<u32, Option<usize>>,
}

impl Clients {
    pub fn new(lags: ThreadLags) -> Self {
        Self {
            lags,
            threads: BTreeMap::new(),
        }
    }

    /// Looks which threads there are; a name is read once a thread.
    fn look(&mut self) -> Result<(), Gap> {
        let entries = fs::read_dir(TASKS).map_err(|e| unreadable(&e))?;
        let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let ids: Vec<u32> = ids.collect();
        self.threads.retain(|id, _| ids.contains(id));
        for id in ids {
            self.threads.entry(id).or_insert_with(|| {
                let name = proc::text(format!("{TASKS}/{id}/comm")).ok()?;
                name.trim().strip_prefix(NAME)?.parse().ok()
            });
        }
        Ok(())
    }
}

fn label(thread: usize) -> String {
    format!("thread {thread}")
}

impl Instrument for Clients {
    fn name(&self) -> &str {
        "client"
    }

    fn source(&self) -> String {
        format!("{TASKS}, the engine")
    }

    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.read(out)
    }

    fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let used = cpu_time::process();
        for (what, us) in [("user", used.user_us), ("system", used.system_us)] {
            out.counter(CPU.of(what), us as f64 / 1e6);
        }
        for (thread, LoopLags { lags, .. }) in self.lags.take() {
            if lags.count() == 0 {
                continue;
            }
            if let Some(p99_us) = lags.percentile_us(99.0) {
                out.gauge(LAG_P99.of(label(thread)), p99_us);
            }
            out.gauge(LAG_MAX.of(label(thread)), lags.max_us());
        }
        self.look()?;
        for (id, thread) in &self.threads {
            let Some(thread) = *thread else { continue };
            out.now();
            // One that has just ended has no file any more.
            let text = proc::text(format!("{TASKS}/{id}/schedstat"));
            if let Some(reported) = text.ok().and_then(|text| task::scheduled(&text)) {
                out.counter(THREAD_CPU.of(label(thread)), reported.ran_ns as f64 / 1e9);
                out.counter(
                    THREAD_WAITED.of(label(thread)),
                    reported.waited_ns as f64 / 1e9,
                );
            }
        }
        Ok(())
    }
}
