//! `host.server`: what the server's processes use, where they are on this host.

use super::Scout;
use crate::observe::{Gap, Instrument, Kind, Readings, Row};
use crate::target::locate::{CpuMeter, Process, Role};

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

/// The instrument.
pub struct Server {
    scout: Scout,
    meters: Vec<(String, CpuMeter)>,
}

impl Server {
    pub fn new(scout: Scout) -> Self {
        Self {
            scout,
            meters: Vec::new(),
        }
    }
}

impl Instrument for Server {
    fn name(&self) -> &str {
        "host.server"
    }

    fn source(&self) -> String {
        "/proc/PID".to_owned()
    }

    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let located = self.scout.located();
        if located.role() != Role::ClientAndServer {
            return Err(Gap::because(format!(
                "the server's processes are not known to be on this host: {}",
                located.why()
            ))
            .remedy("--scrape node=http://SERVER:9100/metrics"));
        }
        let processes = located.processes();
        let label = |process: &Process| match processes.len() {
            1 => String::new(),
            _ => located.endpoint_of(process).to_owned(),
        };
        let meter = |process: &&Process| (label(process), CpuMeter::of([(*process).clone()]));
        self.meters = processes.iter().map(meter).collect();
        self.read(out)
    }

    fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
        for (label, meter) in &mut self.meters {
            out.now();
            match meter.used_us() {
                Ok(us) => out.counter(CPU.of(label.as_str()), us as f64 / 1e6),
                Err(why) if label.is_empty() => return Err(Gap::because(why)),
                Err(why) => out.gap(label.as_str(), Gap::because(why)),
            }
        }
        Ok(())
    }
}
