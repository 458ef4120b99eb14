//! `host.memory`: what memory is used for, what waits to be written, what is swapped.

use pgdyno_platform::proc::{self, memory};

use super::{strange, unreadable};
use crate::{Instrument, Readings};
use pgdyno_model::observed::{Gap, Kind, Row};

const MEMINFO: &str = "/proc/meminfo";
const VMSTAT: &str = "/proc/vmstat";

pub const ROWS: &[Row] = &[
    AVAILABLE,
    CACHED,
    DIRTY,
    WRITEBACK,
    ANONYMOUS,
    SHARED,
    SWAPPED,
    READ,
    WRITTEN,
    SWAPPED_IN,
    SWAPPED_OUT,
    MAJOR_FAULTS,
];

const fn bytes(name: &'static str, source: &'static str, what: &'static str) -> Row {
    Row {
        name,
        unit: "bytes",
        kind: Kind::Gauge,
        source,
        what,
    }
}

const fn moved(
    name: &'static str,
    unit: &'static str,
    source: &'static str,
    what: &'static str,
) -> Row {
    Row {
        name,
        unit,
        kind: Kind::Counter,
        source,
        what,
    }
}

const AVAILABLE: Row = bytes(
    "host.memory.available",
    "/proc/meminfo MemAvailable",
    "what programs could have without swapping",
);
const CACHED: Row = bytes(
    "host.memory.cached",
    "/proc/meminfo Cached, Buffers",
    "files in memory: the page cache, shared memory included",
);
const DIRTY: Row = bytes(
    "host.memory.dirty",
    "/proc/meminfo Dirty",
    "what waits to be written to disks",
);
const WRITEBACK: Row = bytes(
    "host.memory.writeback",
    "/proc/meminfo Writeback",
    "what is being written to disks",
);
const ANONYMOUS: Row = bytes(
    "host.memory.anonymous",
    "/proc/meminfo AnonPages",
    "programs' own memory",
);
const SHARED: Row = bytes(
    "host.memory.shared",
    "/proc/meminfo Shmem",
    "shared memory and tmpfs: shared_buffers, as far as they were touched and are no huge pages",
);
const SWAPPED: Row = bytes(
    "host.memory.swapped",
    "/proc/meminfo SwapTotal, SwapFree",
    "swap in use",
);
const READ: Row = moved(
    "host.paging.read",
    "bytes/s",
    "/proc/vmstat pgpgin",
    "read from all disks of this host",
);
const WRITTEN: Row = moved(
    "host.paging.written",
    "bytes/s",
    "/proc/vmstat pgpgout",
    "written to all disks of this host",
);
const SWAPPED_IN: Row = moved(
    "host.paging.swapped_in",
    "pages/s",
    "/proc/vmstat pswpin",
    "pages brought back from swap",
);
const SWAPPED_OUT: Row = moved(
    "host.paging.swapped_out",
    "pages/s",
    "/proc/vmstat pswpout",
    "pages put into swap",
);
const MAJOR_FAULTS: Row = moved(
    "host.paging.major_faults",
    "1/s",
    "/proc/vmstat pgmajfault",
    "page faults that waited for a disk",
);

pub struct Memory;

impl Instrument for Memory {
    fn name(&self) -> &str {
        "host.memory"
    }

    fn source(&self) -> String {
        format!("{MEMINFO}, {VMSTAT}")
    }

    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.read(out)
    }

    fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let text = proc::text(MEMINFO).map_err(|e| unreadable(&e))?;
        let reported = memory::parse(&text);
        if reported == memory::Memory::default() {
            return Err(strange(MEMINFO));
        }
        let cached = reported
            .cached
            .map(|bytes| bytes + reported.buffers.unwrap_or(0));
        let gauges = [
            (AVAILABLE, reported.available),
            (CACHED, cached),
            (DIRTY, reported.dirty),
            (WRITEBACK, reported.writeback),
            (ANONYMOUS, reported.anonymous),
            (SHARED, reported.shared),
            (SWAPPED, reported.swapped),
        ];
        for (row, value) in gauges {
            value
                .into_iter()
                .for_each(|value| out.gauge(row.series(), value as f64));
        }
        let text = match proc::text(VMSTAT) {
            Ok(text) => text,
            Err(e) => {
                out.gap("paging", unreadable(&e));
                return Ok(());
            }
        };
        let moved = memory::paging(&text);
        let counters = [
            (READ, moved.read_bytes),
            (WRITTEN, moved.written_bytes),
            (SWAPPED_IN, moved.swapped_in),
            (SWAPPED_OUT, moved.swapped_out),
            (MAJOR_FAULTS, moved.major_faults),
        ];
        for (row, value) in counters {
            value
                .into_iter()
                .for_each(|value| out.counter(row.series(), value as f64));
        }
        Ok(())
    }
}
