//! Facts about this machine that belong beside a result.
//!
//! What cannot be read is `None`: a missing fact never fails a run.

use std::fs;

/// The machine as it looks from this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    pub name: Option<String>,
    /// Release of the running kernel, such as `6.1.0-18-amd64`.
    pub kernel: Option<String>,
    /// Model name of the first CPU.
    pub cpu_model: Option<String>,
    /// CPUs that this process may use (affinity and container quota heeded).
    pub cpus: usize,
    /// Main memory of the machine, bytes (a container's limit is not heeded).
    pub memory_bytes: Option<u64>,
}

/// CPUs that this process may use; 1 where that cannot be determined.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

pub fn name() -> Option<String> {
    line("/proc/sys/kernel/hostname")
}

impl Host {
    pub fn read() -> Host {
        Host {
            name: name(),
            kernel: line("/proc/sys/kernel/osrelease"),
            cpu_model: fs::read_to_string("/proc/cpuinfo")
                .ok()
                .as_deref()
                .and_then(cpu_model),
            cpus: cpus(),
            memory_bytes: fs::read_to_string("/proc/meminfo")
                .ok()
                .as_deref()
                .and_then(memory_bytes),
        }
    }
}

fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_string()).filter(|text| !text.is_empty())
}

/// The model of the first CPU in the text of /proc/cpuinfo, which names the field differently
/// per architecture and not at all on some ARM machines.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    ["model name", "cpu model", "cpu", "Model"]
        .into_iter()
        .find_map(|field| {
            cpuinfo.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                (name.trim() == field).then(|| value.trim().to_string())
            })
        })
}

fn memory_bytes(meminfo: &str) -> Option<u64> {
    let rest = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_tells_what_it_is() {
        let host = Host::read();
        assert!(host.name.is_some());
        assert!(host.kernel.is_some());
        assert!(host.cpus >= 1);
        assert!(host.memory_bytes.is_some_and(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn the_cpu_is_found_under_each_architectures_name() {
        let x86 = "processor\t: 0\nmodel\t\t: 79\nmodel name\t: Fast CPU @ 2.20GHz\n";
        assert_eq!(cpu_model(x86).as_deref(), Some("Fast CPU @ 2.20GHz"));
        let power = "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n";
        assert_eq!(
            cpu_model(power).as_deref(),
            Some("POWER9, altivec supported")
        );
        assert_eq!(cpu_model("processor\t: 0\nBogoMIPS\t: 50.00\n"), None);
    }

    #[test]
    fn missing_memory_figures_are_unknown() {
        assert_eq!(memory_bytes("MemTotal:  16 kB\n"), Some(16384));
        assert_eq!(memory_bytes("MemFree:  16 kB\n"), None);
        assert_eq!(memory_bytes("MemTotal:  many kB\n"), None);
    }
}
