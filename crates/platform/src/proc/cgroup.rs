//! Control groups: which one a process is in, and what the kernel counts for it (cgroups(7),
//! Documentation/admin-guide/cgroup-v2.rst of the kernel).

/// The control group of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The controllers of a group of version 1; empty for the one of version 2.
    pub controllers: Vec<String>,
    /// Its path in its hierarchy.
    pub path: String,
}

pub fn of_process(text: &str) -> Vec<Group> {
    text.lines().filter_map(group).collect()
}

fn group(line: &str) -> Option<Group> {
    let mut parts = line.splitn(3, ':');
    parts.next()?.parse::<u32>().ok()?;
    let controllers = parts.next()?;
    let path = parts.next().filter(|path| path.starts_with('/'))?;
    let controllers = controllers.split(',').filter(|name| !name.is_empty());
    Some(Group {
        controllers: controllers.map(str::to_owned).collect(),
        path: path.to_owned(),
    })
}

/// What a group has done at a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Io {
    pub major: u32,
    pub minor: u32,
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
}

/// Reads a group's `io.stat`. Devices without figures are left out.
pub fn io(text: &str) -> Vec<Io> {
    text.lines().filter_map(device).collect()
}

fn device(line: &str) -> Option<Io> {
    let mut words = line.split_ascii_whitespace();
    let (major, minor) = words.next()?.split_once(':')?;
    let mut io = Io {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
        ..Io::default()
    };
    let mut has_any = false;
    for word in words {
        let Some((name, value)) = word.split_once('=') else {
            continue;
        };
        let field = match name {
            "rios" => &mut io.reads,
            "rbytes" => &mut io.read_bytes,
            "wios" => &mut io.writes,
            "wbytes" => &mut io.written_bytes,
            // Discards, costs and what else controllers add.
            _ => continue,
        };
        *field = value.parse().ok()?;
        has_any = true;
    }
    has_any.then_some(io)
}

/// What a group has used of the CPUs, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cpu {
    pub used_us: Option<u64>,
    /// Time in which it was held back because its quota was used up, all CPUs together.
    pub throttled_us: Option<u64>,
    /// Periods in which that happened.
    pub throttled: Option<u64>,
    /// Periods in which it had anything to do.
    pub periods: Option<u64>,
}

/// Reads a group's `cpu.stat`, of either version.
pub fn cpu(text: &str) -> Cpu {
    let number = |name| super::number_behind(text, name);
    Cpu {
        used_us: number("usage_usec"),
        throttled_us: number("throttled_usec")
            .or_else(|| number("throttled_time").map(|ns| ns / 1000)),
        throttled: number("nr_throttled"),
        periods: number("nr_periods"),
    }
}

/// The quota in a group's `cpu.max` (version 2), in CPUs; `None` where there is none.
pub fn quota(text: &str) -> Option<f64> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse::<f64>);
    cpus(numbers.next()?.ok()?, numbers.next()?.ok()?)
}

/// The same in `cpu.cfs_quota_us` and `cpu.cfs_period_us` (version 1), where -1 is none.
pub fn quota_of_version_1(quota: &str, period: &str) -> Option<f64> {
    cpus(quota.trim().parse().ok()?, period.trim().parse().ok()?)
}

fn cpus(quota_us: f64, period_us: f64) -> Option<f64> {
    (quota_us > 0.0 && period_us > 0.0).then(|| quota_us / period_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_in_a_group_of_each_hierarchy() {
        let text = "9:name=systemd:/\n2:cpuacct,cpu:/docker/abc\n0::/system.slice/a:b.service\n";
        let groups = of_process(text);
        assert_eq!(groups.len(), 3);
        assert_eq!(groups[1].controllers, ["cpuacct", "cpu"]);
        assert_eq!(groups[1].path, "/docker/abc");
        assert!(groups[2].controllers.is_empty());
        assert_eq!(groups[2].path, "/system.slice/a:b.service");
        assert_eq!(of_process("0::relative\nx::/\n0:\n"), []);
    }

    #[test]
    fn input_and_output_are_read_by_device() {
        let text = "254:0 rbytes=8192 wbytes=4096 rios=2 wios=1 dbytes=0 dios=0\n\
            7:0\n8:0 rbytes=1 cost.usage=5 strange\n";
        let all = io(text);
        let first = Io {
            major: 254,
            minor: 0,
            reads: 2,
            read_bytes: 8192,
            writes: 1,
            written_bytes: 4096,
        };
        assert_eq!((all.len(), all[0]), (2, first));
        assert_eq!((all[1].major, all[1].read_bytes), (8, 1));
        assert_eq!(io("8:0 rbytes=many\n"), []);
    }

    #[test]
    fn throttling_is_read_from_both_versions() {
        let two = "usage_usec 7000\nuser_usec 5000\nsystem_usec 2000\nnr_periods 9\n\
            nr_throttled 3\nthrottled_usec 250\n";
        let expected = Cpu {
            used_us: Some(7000),
            throttled_us: Some(250),
            throttled: Some(3),
            periods: Some(9),
        };
        assert_eq!(cpu(two), expected);
        let one = cpu("nr_periods 9\nnr_throttled 3\nthrottled_time 250000\n");
        assert_eq!((one.throttled_us, one.throttled), (Some(250), Some(3)));
    }

    #[test]
    fn a_quota_is_read_in_cpus_from_both_versions() {
        assert_eq!(quota("50000 100000\n"), Some(0.5));
        assert_eq!(quota("max 100000\n"), None);
        assert_eq!(quota_of_version_1("150000\n", "100000\n"), Some(1.5));
        assert_eq!(quota_of_version_1("-1\n", "100000\n"), None);
    }
}
