//! What the server's processes use, where they are on this host: a part of `host.cpu`, which wants to
//! know it too.

use super::Scout;
use super::quota::Quota;
use crate::Readings;
use pgdyno_database::locate::{Backends, CpuMeter, Process, Role};
use pgdyno_model::observed::{Gap, Kind, Row};

pub const ROWS: &[Row] = &[
    CPU,
    SESSIONS,
    SESSIONS_CPU,
    SESSIONS_WAITED,
    SESSIONS_STOPPED,
    QUOTA,
    PERIODS,
    THROTTLED,
];

const CPU: Row = Row {
    name: "host.server.cpu",
    unit: "cores",
    kind: Kind::Counter,
    source: "/proc/PID/stat and schedstat",
    what: "CPUs used by the server's processes, those that have ended included; of several servers \
           each by its endpoint",
};

const SESSIONS: Row = Row {
    name: "host.server.sessions",
    unit: "processes",
    kind: Kind::Gauge,
    source: "/proc/PID/cmdline",
    what: "processes that serve clients, the observers' included",
};
const SESSIONS_CPU: Row = Row {
    name: "host.server.sessions.cpu",
    unit: "cores",
    kind: Kind::Counter,
    source: "/proc/PID/schedstat",
    what: "CPUs used by processes that serve clients",
};
const SESSIONS_WAITED: Row = Row {
    name: "host.server.sessions.waited",
    unit: "s/s",
    kind: Kind::Counter,
    source: "/proc/PID/schedstat",
    what: "time in which they could have run but waited for a CPU, all together: run-queue wait",
};
const SESSIONS_STOPPED: Row = Row {
    name: "host.server.sessions.stopped",
    unit: "processes",
    kind: Kind::Gauge,
    source: "/proc/PID/stat",
    what: "of them those that are stopped (state T)",
};
const QUOTA: Row = Row {
    name: "host.server.quota",
    unit: "CPUs",
    kind: Kind::Gauge,
    source: "cpu.max or cpu.cfs_quota_us of the server's control group, or one above it",
    what: "CPUs that the server's container may use",
};
const PERIODS: Row = Row {
    name: "host.server.periods",
    unit: "1/s",
    kind: Kind::Counter,
    source: "cpu.stat of that group",
    what: "periods in which it had work (all), and in which its quota was used up (throttled)",
};
const THROTTLED: Row = Row {
    name: "host.server.throttled",
    unit: "s/s",
    kind: Kind::Counter,
    source: "cpu.stat of that group",
    what: "time in which it was held back because its quota was used up, all its CPUs together",
};

/// The part's name in gaps.
const PART: &str = "server";

/// A server on this host.
pub struct Server {
    label: String,
    meter: CpuMeter,
    backends: Backends,
    quota: Option<Quota>,
}

/// The servers of a trial.
pub enum Servers {
    Here(Vec<Server>),
    /// On another: nothing of theirs is used here.
    Elsewhere(Gap),
    Unclear(Gap),
}

impl Servers {
    pub fn find(scout: &Scout) -> Self {
        let located = scout.located();
        let gap = || {
            Gap::because(format!(
                "the server's processes are not known to be on this host: {}",
                located.why()
            ))
            .remedy("--scrape node=http://SERVER:9100/metrics")
        };
        match located.role() {
            Role::Client => return Self::Elsewhere(gap()),
            Role::ClientPerhapsServer => return Self::Unclear(gap()),
            Role::ClientAndServer => {}
        }
        let processes = located.processes();
        let label = |process: &Process| match processes.len() {
            1 => String::new(),
            _ => located.endpoint_of(process).to_owned(),
        };
        let server = |process: &&Process| Server {
            label: label(process),
            meter: CpuMeter::of([(*process).clone()]),
            backends: Backends::of((*process).clone()),
            quota: Quota::of(&process.pid.to_string()),
        };
        Self::Here(processes.iter().map(server).collect())
    }

    /// CPU time that they have used here, in seconds; `None` when that is not known.
    pub fn read(&mut self, out: &mut Readings) -> Option<f64> {
        let servers = match self {
            Self::Here(servers) => servers,
            Self::Elsewhere(gap) => {
                out.gap(PART, gap.clone());
                return Some(0.0);
            }
            Self::Unclear(gap) => {
                out.gap(PART, gap.clone());
                return None;
            }
        };
        let mut all_s = Some(0.0);
        for server in servers {
            let label = server.label.clone();
            out.now();
            server.read(out);
            match server.meter.used_us() {
                Ok(us) => {
                    let used_s = us as f64 / 1e6;
                    out.counter(CPU.of(label.as_str()), used_s);
                    all_s = all_s.map(|all_s| all_s + used_s);
                }
                Err(why) => {
                    let part = [PART, label.as_str()].join(" ");
                    out.gap(part.trim_end(), Gap::because(why));
                    all_s = None;
                }
            }
        }
        all_s
    }
}

impl Server {
    /// What its sessions got of the CPUs, and what its quota took from them.
    fn read(&mut self, out: &mut Readings) {
        let label = self.label.as_str();
        if let Some(worked) = self.backends.read() {
            let reported = worked.scheduled;
            out.gauge(SESSIONS.of(label), worked.processes as f64);
            out.counter(SESSIONS_CPU.of(label), reported.ran_ns as f64 / 1e9);
            out.counter(SESSIONS_WAITED.of(label), reported.waited_ns as f64 / 1e9);
            out.gauge(SESSIONS_STOPPED.of(label), worked.stopped as f64);
        }
        let Some(quota) = &self.quota else { return };
        out.gauge(QUOTA.of(label), quota.cpus);
        let Some(reported) = quota.read() else { return };
        let part = |name: &str| [label, name].join(" ").trim_start().to_owned();
        for (name, count) in [("all", reported.periods), ("throttled", reported.throttled)] {
            if let Some(count) = count {
                out.counter(PERIODS.of(part(name)), count as f64);
            }
        }
        if let Some(us) = reported.throttled_us {
            out.counter(THROTTLED.of(label), us as f64 / 1e6);
        }
    }
}
