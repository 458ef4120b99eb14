//! One look at all counters of the machine by the kernel's own names, as sysstat's programs show them:
//! `stat`, `vmstat`, `meminfo`, `diskstats`, `uptime`. The files next to this one have figures with a
//! meaning and a unit.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::text;

/// Ticks of a CPU, in the kernel's order: user, nice, system, idle, iowait, irq, softirq, steal,
/// guest, guest_nice.
pub type Ticks = [u64; 10];

/// What the kernel counts of block devices.
pub const DISKSTATS: &str = "/proc/diskstats";

/// Counters since the machine was started.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    pub uptime_s: f64,
    pub all: Ticks,
    pub cpus: Vec<Ticks>,
    pub interrupts: u64,
    pub switches: u64,
    /// Processes that run or could.
    pub running: u64,
    /// Processes that wait for a device.
    pub blocked: u64,
    /// Of `vmstat`: pages and kB in and out.
    pub pages: BTreeMap<String, u64>,
    pub memory: BTreeMap<String, u64>,
    /// Whole disks by name: all counters of `diskstats` in their order.
    pub disks: BTreeMap<String, Vec<u64>>,
}

impl Reading {
    /// A look now.
    ///
    /// # Errors
    /// This system has no such files.
    pub fn take() -> io::Result<Self> {
        let stat = text("/proc/stat")?;
        let uptime = text("/proc/uptime")?;
        let mut disks = disks(&text(DISKSTATS)?);
        // Their partitions are not counted twice.
        disks.retain(|name, _| {
            Path::new("/sys/block")
                .join(name.replace('/', "!"))
                .exists()
        });
        let mut reading = Self {
            uptime_s: uptime
                .split(' ')
                .next()
                .and_then(|s| s.parse().ok())
                .unwrap_or(0.0),
            pages: named(&text("/proc/vmstat")?),
            memory: named(&text("/proc/meminfo")?),
            disks,
            ..Self::default()
        };
        reading.add_stat(&stat);
        Ok(reading)
    }

    fn add_stat(&mut self, stat: &str) {
        for line in stat.lines() {
            let mut words = line.split_whitespace();
            let name = words.next().unwrap_or_default();
            let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
            let first = numbers.first().copied().unwrap_or(0);
            let ticks = || std::array::from_fn(|at| numbers.get(at).copied().unwrap_or(0));
            match name {
                "cpu" => self.all = ticks(),
                "intr" => self.interrupts = first,
                "ctxt" => self.switches = first,
                "procs_running" => self.running = first,
                "procs_blocked" => self.blocked = first,
                name if name.starts_with("cpu") => self.cpus.push(ticks()),
                _ => {}
            }
        }
    }
}

/// Lines of a name and a number, with or without a colon and a unit.
fn named(text: &str) -> BTreeMap<String, u64> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?.trim_end_matches(':').to_owned();
        Some((name, words.next()?.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

fn disks(text: &str) -> BTreeMap<String, Vec<u64>> {
    let line = |line: &str| {
        let mut words = line.split_whitespace().skip(2);
        let name = words.next()?.to_owned();
        let counters = words.map(|word| word.parse().unwrap_or(0));
        Some((name, counters.collect()))
    };
    text.lines().filter_map(line).collect()
}

/// The grown ticks and their sum; guests are part of user and nice already.
pub fn ticks_between(before: &Ticks, after: &Ticks) -> ([f64; 10], f64) {
    let grown: [f64; 10] = std::array::from_fn(|at| after[at].saturating_sub(before[at]) as f64);
    let total: f64 = grown[..8].iter().sum();
    (grown, total.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_lines_are_read() {
        let mut reading = Reading::default();
        reading.add_stat(
            "cpu  10 1 5 80 2 0 1 1 3 0\ncpu0 4 0 2 40 1 0 0 0 0 0\ncpu1 6 1 3 40 1 0 1 1 3 0\n\
             intr 900 1 2\nctxt 77\nbtime 1\nprocesses 5\nprocs_running 3\nprocs_blocked 1\n",
        );
        assert_eq!(reading.all, [10, 1, 5, 80, 2, 0, 1, 1, 3, 0]);
        assert_eq!(reading.cpus.len(), 2);
        let rest = (
            reading.interrupts,
            reading.switches,
            reading.running,
            reading.blocked,
        );
        assert_eq!(rest, (900, 77, 3, 1));
        assert_eq!(named("MemFree:  12 kB\npgpgin 5\n\nx y\n")["MemFree"], 12);
        let disks = disks("   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n");
        assert_eq!(disks["sda"], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        let now = Reading::take().unwrap();
        assert!(now.uptime_s > 0.0 && !now.cpus.is_empty() && now.memory["MemTotal"] > 0);
    }

    #[test]
    fn no_text_stops_the_parsers() {
        for text in crate::proc::tests::HOSTILE {
            Reading::default().add_stat(text);
            let _ = (named(text), disks(text));
        }
    }
}
