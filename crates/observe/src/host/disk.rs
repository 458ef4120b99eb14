//! `host.disk`: what the disk under the server's data does, or disks that the user names, in iostat's
//! figures.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use pgdyno_platform::proc::disk::Disk;

use super::Scout;
use crate::{Instrument, Readings};
use pgdyno_database::locate::{Device, Role};
use pgdyno_model::Fact;
use pgdyno_model::observed::{Gap, Kind, Row};

pub const ROWS: &[Row] = &[
    READS,
    READ_BYTES,
    READ_AWAIT,
    WRITES,
    WRITTEN_BYTES,
    WRITE_AWAIT,
    FLUSHES,
    FLUSH_AWAIT,
    QUEUE,
    UTIL,
];

const fn row(name: &'static str, unit: &'static str, kind: Kind, what: &'static str) -> Row {
    Row {
        name,
        unit,
        kind,
        source: "/proc/diskstats",
        what,
    }
}

const READS: Row = row("host.disk.reads", "1/s", Kind::Counter, "reads, by disk");
const READ_BYTES: Row = row("host.disk.read", "bytes/s", Kind::Counter, "read, by disk");
const READ_AWAIT: Row = row(
    "host.disk.read_await",
    "ms",
    Kind::Gauge,
    "how long a read took on average over the second, waiting included; none without reads",
);
const WRITES: Row = row("host.disk.writes", "1/s", Kind::Counter, "writes, by disk");
const WRITTEN_BYTES: Row = row(
    "host.disk.written",
    "bytes/s",
    Kind::Counter,
    "written, by disk",
);
const WRITE_AWAIT: Row = row(
    "host.disk.write_await",
    "ms",
    Kind::Gauge,
    "how long a write took on average over the second, waiting included; none without writes",
);
const FLUSHES: Row = row(
    "host.disk.flushes",
    "1/s",
    Kind::Counter,
    "cache flushes, which durable commits wait for, by disk (Linux 5.5 on)",
);
const FLUSH_AWAIT: Row = row(
    "host.disk.flush_await",
    "ms",
    Kind::Gauge,
    "how long a flush took on average over the second; none without flushes",
);
const QUEUE: Row = row(
    "host.disk.queue",
    "requests",
    Kind::Gauge,
    "requests in progress on average over the second, by disk",
);
const UTIL: Row = row(
    "host.disk.util",
    "%",
    Kind::Gauge,
    "time with any request under way; a disk with a queue can do more at 100 %",
);

pub struct Disks {
    named: Vec<String>,
    scout: Scout,
    /// What the server says of where its data is.
    data: Fact<PathBuf>,
    devices: Vec<Device>,
    last: BTreeMap<String, (Instant, Disk)>,
}

impl Disks {
    pub fn new(named: &[String], scout: Scout, data: Fact<PathBuf>) -> Self {
        Self {
            named: named.to_vec(),
            scout,
            data,
            devices: Vec::new(),
            last: BTreeMap::new(),
        }
    }

    /// Those that were named; else those under the data of servers that are here.
    fn choose(&self) -> Result<Vec<Device>, Gap> {
        if !self.named.is_empty() {
            let named = self.named.iter().map(|name| Device::named(name));
            return named.collect::<Result<_, _>>().map_err(Gap::because);
        }
        let located = self.scout.located();
        if located.role() != Role::ClientAndServer {
            return Err(Gap::because(format!(
                "the server is not known to be on this host: {}",
                located.why()
            ))
            .remedy(
                "--scrape node=http://SERVER:9100/metrics, or --disk NAME for one of this host's",
            ));
        }
        let options = self.scout.dialect().processes.data_options;
        let reported = match &self.data {
            Fact::Known(path) => Ok(path.as_path()),
            Fact::Unknown(why) => Err(why.as_str()),
        };
        let mut devices = Vec::new();
        for process in located.processes() {
            // Of several servers, each has its own; what one says counts for that one alone.
            let reported = match located.processes().len() {
                1 => reported,
                _ => Err("there are several servers"),
            };
            let device = Device::under_data(process, reported, options)
                .map_err(|why| Gap::because(why).remedy("--disk NAME"))?;
            if !devices.contains(&device) {
                devices.push(device);
            }
        }
        Ok(devices)
    }
}

impl Instrument for Disks {
    fn name(&self) -> &str {
        "host.disk"
    }

    fn source(&self) -> String {
        "/proc/diskstats".to_owned()
    }

    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.devices = self.choose()?;
        let names: Vec<&str> = self.devices.iter().map(|d| d.name.as_str()).collect();
        out.fact("host.disks", names.join(", "));
        self.read(out)
    }

    fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
        for device in &self.devices {
            let name = device.name.as_str();
            out.now();
            let at = Instant::now();
            let now = match device.read() {
                Ok(now) => now,
                Err(why) => {
                    self.last.remove(name);
                    out.gap(name, Gap::because(why));
                    continue;
                }
            };
            for (row, value) in [
                (READS, Some(now.reads)),
                (READ_BYTES, Some(now.read_bytes)),
                (WRITES, Some(now.writes)),
                (WRITTEN_BYTES, Some(now.written_bytes)),
                (FLUSHES, now.flushes),
            ] {
                value
                    .into_iter()
                    .for_each(|value| out.counter(row.of(name), value as f64));
            }
            if let Some((earlier, before)) = self.last.get(name) {
                let figures = now.since(before, (at - *earlier).as_secs_f64());
                for (row, value) in [
                    (READ_AWAIT, figures.read_await_ms),
                    (WRITE_AWAIT, figures.write_await_ms),
                    (FLUSH_AWAIT, figures.flush_await_ms),
                    (QUEUE, figures.queue),
                    (UTIL, figures.util.map(|share| 100.0 * share)),
                ] {
                    value
                        .into_iter()
                        .for_each(|value| out.gauge(row.of(name), value));
                }
            }
            self.last.insert(name.to_owned(), (at, now));
        }
        Ok(())
    }
}
