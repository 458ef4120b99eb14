//! `host.cpu`: what the CPUs did, what the server's processes used of them where they are here, and
//! what neither they nor pgdyno did.

use std::time::{Duration, Instant};

use pgdyno_platform::cpu_time;
use pgdyno_platform::proc::{self, cpu, pressure};

use super::clock::Moment;
use super::quota::Quota;
use super::server::Servers;
use super::{Scout, strange, unreadable};
use crate::{Instrument, Readings};
use pgdyno_model::observed::{Gap, Kind, Row};
use pgdyno_model::{Note, Severity};
use pgdyno_spec::text;

const STAT: &str = "/proc/stat";
const PRESSURES: [&str; 3] = ["cpu", "memory", "io"];

pub const ROWS: &[Row] = &[
    MODE, OTHERS, RUNNING, BLOCKED, SWITCHES, PRESSURE, THROTTLED,
];

const MODE: Row = Row {
    name: "host.cpu",
    unit: "cores",
    kind: Kind::Counter,
    source: "/proc/stat",
    what: "CPUs in each mode: user, nice, system, iowait, irq, softirq, steal, idle; all together \
           are the host's CPUs",
};
const OTHERS: Row = Row {
    name: "host.cpu.others",
    unit: "cores",
    kind: Kind::Gauge,
    source: "/proc/stat, less pgdyno and the server's processes",
    what: "CPUs used by neither pgdyno nor the server; only where it is certain whether the server \
           is here",
};
const RUNNING: Row = Row {
    name: "host.tasks.running",
    unit: "tasks",
    kind: Kind::Gauge,
    source: "/proc/stat procs_running",
    what: "tasks that ran or waited for a CPU at that moment: the run queue",
};
const BLOCKED: Row = Row {
    name: "host.tasks.blocked",
    unit: "tasks",
    kind: Kind::Gauge,
    source: "/proc/stat procs_blocked",
    what: "tasks that waited for a disk at that moment",
};
const SWITCHES: Row = Row {
    name: "host.switches",
    unit: "1/s",
    kind: Kind::Counter,
    source: "/proc/stat ctxt",
    what: "switches from one task to another",
};
const PRESSURE: Row = Row {
    name: "host.pressure",
    unit: "s/s",
    kind: Kind::Counter,
    source: "/proc/pressure (Linux 4.20 on, where it is switched on)",
    what: "share of time in which some tasks, or all that had work, waited for a CPU, for memory, \
           for a disk",
};
const THROTTLED: Row = Row {
    name: "host.throttled",
    unit: "s/s",
    kind: Kind::Counter,
    source: "cpu.stat of pgdyno's control group",
    what: "time in which pgdyno's container was held back because its CPU quota was used up, all its \
           CPUs together",
};

/// From this share of the host's CPUs on, others are taken to disturb.
const OTHERS_SHARE: f64 = 0.1;
/// From this share of the host's CPUs on, what the hypervisor takes is.
const STEAL_SHARE: f64 = 0.02;
/// Means over less time say nothing.
const MEAN_MIN_S: f64 = 2.0;

pub struct Cpu {
    scout: Scout,
    servers: Option<Servers>,
    quota: Option<Quota>,
    first: Option<State>,
    last: Option<State>,
    last_moment: Option<Moment>,
    jumps: usize,
}

/// Counters at one moment, in seconds of CPU time.
#[derive(Debug, Clone, Copy)]
struct State {
    at: Instant,
    cpus: usize,
    busy_s: f64,
    steal_s: f64,
    /// Of pgdyno, and of the server's processes where they are here.
    own_s: Option<f64>,
}

impl Cpu {
    pub fn new(scout: Scout) -> Self {
        Self {
            scout,
            servers: None,
            quota: None,
            first: None,
            last: None,
            last_moment: None,
            jumps: 0,
        }
    }

    fn watch_clock(&mut self, out: &mut Readings) {
        let now = Moment::now();
        if let Some(jump_s) = now
            .zip(self.last_moment)
            .and_then(|(now, last)| now.jump_s(last))
        {
            self.jumps += 1;
            let direction = if jump_s > 0.0 { "forward" } else { "back" };
            let text = format!(
                "this host's clock was set {direction} by {}",
                text::seconds(jump_s.abs())
            );
            out.event("clock jump", Instant::now(), None, text);
        }
        self.last_moment = now.or(self.last_moment);
    }

    fn notes(&self, out: &mut Readings) {
        if let (Some(first), Some(last)) = (self.first, self.last) {
            busy(first, last)
                .into_iter()
                .for_each(|note| out.note(note));
        }
        if self.jumps > 0 {
            out.note(Note {
                code: "clock-jumped".into(),
                severity: Severity::Notice,
                sentence: format!(
                    "this host's clock was set {} during the trial: events may have a wrong time of day; \
                     durations are right",
                    match self.jumps {
                        1 => "once".to_owned(),
                        times => format!("{times} times"),
                    }
                ),
                remedy:
                    "use chrony or another time service that slews the clock instead of stepping it"
                        .to_owned(),
            });
        }
    }
}

/// What a reader must know of those who shared the CPUs.
fn busy(first: State, last: State) -> Vec<Note> {
    let seconds = (last.at - first.at).as_secs_f64();
    let mut notes = Vec::new();
    if seconds < MEAN_MIN_S || last.cpus == 0 {
        return notes;
    }
    let cpus = last.cpus as f64;
    let mean = |later: f64, earlier: f64| ((later - earlier) / seconds).max(0.0);
    let busy = mean(last.busy_s, first.busy_s);
    let own = last.own_s.zip(first.own_s);
    let others = own.map(|(later, earlier)| busy - mean(later, earlier));
    if let Some(others) = others.filter(|others| *others >= OTHERS_SHARE * cpus) {
        notes.push(Note {
            code: "host-shared".into(),
            severity: Severity::Warning,
            sentence: format!(
                "other processes used {others:.1} of this host's {cpus} CPUs: that is the mean of the trial; \
                 figures are of a shared host"
            ),
            remedy: "run the trial again on an idle or dedicated host".to_owned(),
        });
    }
    let steal = mean(last.steal_s, first.steal_s);
    if steal >= STEAL_SHARE * cpus {
        notes.push(Note {
            code: "cpu-stolen".into(),
            severity: Severity::Warning,
            sentence: format!(
                "the hypervisor took {} of the CPU time: other virtual machines got it",
                text::roughly(steal / cpus)
            ),
            remedy: "use a machine with dedicated CPUs, or run the trial again and compare"
                .to_owned(),
        });
    }
    notes
}

impl Instrument for Cpu {
    fn name(&self) -> &str {
        "host.cpu"
    }

    fn source(&self) -> String {
        "/proc/stat, /proc/pressure".to_owned()
    }

    // Finding the server takes a connection; at the end its processes may be ending by the hundred.
    fn patience(&self) -> Duration {
        Duration::from_secs(3)
    }

    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let located = self.scout.located();
        out.fact("host.role", located.role().word());
        out.fact("host.role_because", located.why());
        self.servers = Some(Servers::find(&self.scout));
        self.quota = Quota::of("self");
        self.read(out)
    }

    fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let of_servers = self.servers.as_mut().and_then(|servers| servers.read(out));
        let own_s = of_servers.map(|s| s + cpu_time::process().total_us() as f64 / 1e6);
        out.now();
        let at = Instant::now();
        let text = proc::text(STAT).map_err(|e| unreadable(&e))?;
        let stat = cpu::parse(&text).ok_or_else(|| strange(STAT))?;
        let seconds = |ticks: u64| ticks as f64 / proc::ticks_per_second() as f64;
        for (mode, ticks) in stat.modes.named() {
            out.counter(MODE.of(mode), seconds(ticks));
        }
        let gauges = [(RUNNING, stat.running), (BLOCKED, stat.blocked)];
        for (row, value) in gauges {
            value
                .into_iter()
                .for_each(|value| out.gauge(row.series(), value as f64));
        }
        if let Some(switches) = stat.switches {
            out.counter(SWITCHES.series(), switches as f64);
        }
        let state = State {
            at,
            cpus: stat.cpus,
            busy_s: seconds(stat.modes.busy()),
            steal_s: seconds(stat.modes.steal),
            own_s,
        };
        if let Some(last) = self.last {
            let passed = (state.at - last.at).as_secs_f64();
            if let (Some(own), Some(earlier), true) = (state.own_s, last.own_s, passed > 0.1) {
                let others = (state.busy_s - last.busy_s) - (own - earlier);
                out.gauge(OTHERS.series(), (others / passed).max(0.0));
            }
        }
        self.first.get_or_insert(state);
        self.last = Some(state);
        for kind in PRESSURES {
            let Ok(text) = proc::text(format!("/proc/pressure/{kind}")) else {
                continue;
            };
            let reported = pressure::parse(&text);
            for (who, us) in [("some", reported.some_us), ("all", reported.full_us)] {
                let seconds = us.map(|us| us as f64 / 1e6);
                seconds
                    .into_iter()
                    .for_each(|s| out.counter(PRESSURE.of(format!("{kind} {who}")), s));
            }
        }
        let reported = self.quota.as_ref().and_then(Quota::read);
        if let Some(us) = reported.and_then(|reported| reported.throttled_us) {
            out.counter(THROTTLED.series(), us as f64 / 1e6);
        }
        self.watch_clock(out);
        Ok(())
    }

    fn end(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let read = self.read(out);
        self.notes(out);
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(at_s: u64, busy_s: f64, steal_s: f64, own_s: Option<f64>) -> (Duration, State) {
        let state = State {
            at: Instant::now(),
            cpus: 4,
            busy_s,
            steal_s,
            own_s,
        };
        (Duration::from_secs(at_s), state)
    }

    fn codes(later: (Duration, State)) -> Vec<String> {
        let (_, first) = state(0, 100.0, 10.0, Some(50.0));
        let last = State {
            at: first.at + later.0,
            ..later.1
        };
        let notes = busy(first, last).into_iter();
        notes.map(|note| note.code.into_owned()).collect()
    }

    #[test]
    fn a_busy_shared_host_is_reported() {
        // Ten seconds, of which others used 0.5 of four CPUs.
        assert_eq!(codes(state(10, 115.0, 10.0, Some(60.0))), ["host-shared"]);
        assert_eq!(codes(state(10, 111.0, 10.0, Some(60.0))), [""; 0]);
        // It is not known whose it was.
        assert_eq!(codes(state(10, 130.0, 10.0, None)), [""; 0]);
        assert_eq!(codes(state(10, 100.0, 11.0, None)), ["cpu-stolen"]);
        // Too short to say anything.
        assert_eq!(codes(state(1, 130.0, 19.0, Some(50.0))), [""; 0]);
    }
}
