//! /proc/stat and /proc/loadavg: what the CPUs of the machine did (proc_stat(5)).

use super::{behind, number_behind, numbers};

/// CPU time of all CPUs together by what it was used for, in clock ticks since the kernel started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Modes {
    /// Programs; guests of virtual machines are in it.
    pub user: u64,
    /// Programs that are nice to others.
    pub nice: u64,
    pub system: u64,
    pub idle: u64,
    /// Nothing, while something waited for a disk.
    pub iowait: u64,
    pub irq: u64,
    /// What follows interrupts: most of a network's work.
    pub softirq: u64,
    /// Taken by the hypervisor for others, while there was work here.
    pub steal: u64,
}

impl Modes {
    /// Each with its name, as mpstat(1) orders them.
    pub fn named(&self) -> [(&'static str, u64); 8] {
        [
            ("user", self.user),
            ("nice", self.nice),
            ("system", self.system),
            ("iowait", self.iowait),
            ("irq", self.irq),
            ("softirq", self.softirq),
            ("steal", self.steal),
            ("idle", self.idle),
        ]
    }

    /// Ticks in which programs or the kernel worked: what is not idle, waiting for disks or stolen.
    pub fn busy(&self) -> u64 {
        [self.user, self.nice, self.system, self.irq, self.softirq]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stat {
    pub modes: Modes,
    pub cpus: usize,
    /// Switches from one task to another since the kernel started.
    pub switches: Option<u64>,
    /// Tasks that run or wait for a CPU.
    pub running: Option<u64>,
    /// Tasks that wait for a disk.
    pub blocked: Option<u64>,
    /// When the kernel started, in seconds since 1970.
    pub started_s: Option<u64>,
}

/// Reads /proc/stat; `None` when there are no CPU times in it.
pub fn parse(text: &str) -> Option<Stat> {
    let mut all = numbers(behind(text, "cpu")?);
    let modes = Modes {
        user: all.next()?,
        nice: all.next()?,
        system: all.next()?,
        idle: all.next()?,
        // Kernels before 2.6.11 and some containers end earlier.
        iowait: all.next().unwrap_or(0),
        irq: all.next().unwrap_or(0),
        softirq: all.next().unwrap_or(0),
        steal: all.next().unwrap_or(0),
    };
    let is_cpu = |line: &&str| {
        let number = line.strip_prefix("cpu");
        number.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    Some(Stat {
        modes,
        cpus: text.lines().filter(is_cpu).count(),
        switches: number_behind(text, "ctxt"),
        running: number_behind(text, "procs_running"),
        blocked: number_behind(text, "procs_blocked"),
        started_s: number_behind(text, "btime"),
    })
}

/// The first figure of /proc/loadavg: tasks that run, wait for a CPU or for a disk, as a mean over
/// about a minute.
pub fn load(text: &str) -> Option<f64> {
    let first: f64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    first.is_finite().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    // A machine of two CPUs.
    const REAL: &str = "cpu  2006143 1473854 1394531 1645803 161526 0 16765 25177 0 0\n\
        cpu0 993457 730523 688685 874981 59338 0 1915 13053 0 0\n\
        cpu1 1012685 743331 705845 770821 102187 0 14849 12123 0 0\n\
        intr 77544277 0 0 0\n\
        ctxt 396951275\nbtime 1795207000\nprocesses 178466\nprocs_running 3\nprocs_blocked 1\n\
        softirq 21 1 2 3\n";

    #[test]
    fn cpu_time_is_read_by_mode() {
        let stat = parse(REAL).unwrap();
        assert_eq!(stat.modes.user, 2_006_143);
        assert_eq!(stat.modes.steal, 25_177);
        assert_eq!(stat.modes.iowait, 161_526);
        assert_eq!(
            stat.modes.busy(),
            2_006_143 + 1_473_854 + 1_394_531 + 16_765
        );
        assert_eq!(
            (stat.cpus, stat.running, stat.blocked),
            (2, Some(3), Some(1))
        );
        assert_eq!(stat.switches, Some(396_951_275));
        assert_eq!(stat.started_s, Some(1_795_207_000));
        let named: u64 = stat.modes.named().iter().map(|(_, ticks)| ticks).sum();
        assert_eq!(
            named,
            2006143 + 1473854 + 1394531 + 1645803 + 161526 + 16765 + 25177
        );
    }

    #[test]
    fn an_old_kernel_tells_less() {
        let stat = parse("cpu 1 2 3 4\n").unwrap();
        assert_eq!((stat.modes.idle, stat.modes.steal, stat.cpus), (4, 0, 0));
        assert_eq!((stat.switches, stat.running), (None, None));
        assert_eq!(parse("cpu 1 2 3\n"), None);
        assert_eq!(parse("cpu0 1 2 3 4\n"), None);
    }

    #[test]
    fn this_machine_is_understood() {
        let text = super::super::text("/proc/stat").unwrap();
        let stat = parse(&text).unwrap();
        assert!(stat.cpus >= 1 && stat.modes.busy() > 0 && stat.started_s.is_some());
        assert!(load(&super::super::text("/proc/loadavg").unwrap()).is_some());
    }

    #[test]
    fn a_load_is_a_number() {
        assert_eq!(load("0.75 0.50 0.25 2/345 6789\n"), Some(0.75));
        assert_eq!(load("NaN 1 1"), None);
        assert_eq!(load("busy"), None);
    }
}
