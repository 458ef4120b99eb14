//! What the server's processes use, where they are on this host: a part of `host.cpu`, which wants to
//! know it too.

use super::Scout;
use crate::Readings;
use pgdyno_database::locate::{CpuMeter, Process, Role};
use pgdyno_model::observed::{Gap, Kind, Row};

/// What it gives.
pub const ROWS: &[Row] = &[CPU];

const CPU: Row = Row {
    name: "host.server.cpu",
    unit: "cores",
    kind: Kind::Counter,
    source: "/proc/PID/stat and schedstat",
    what: "CPUs used by the server's processes, those that have ended included; of several servers \
           each by its endpoint",
};

/// The part's name in gaps.
const PART: &str = "server";

/// The servers of a trial.
pub enum Servers {
    /// On this host.
    Here(Vec<(String, CpuMeter)>),
    /// On another: nothing of theirs is used here.
    Elsewhere(Gap),
    /// Nobody knows.
    Unclear(Gap),
}

impl Servers {
    /// Looks where they are.
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
        let meter = |process: &&Process| (label(process), CpuMeter::of([(*process).clone()]));
        Self::Here(processes.iter().map(meter).collect())
    }

    /// CPU time that they have used here, in seconds; `None` when that is not known.
    pub fn read(&mut self, out: &mut Readings) -> Option<f64> {
        let meters = match self {
            Self::Here(meters) => meters,
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
        for (label, meter) in meters {
            out.now();
            match meter.used_us() {
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
