//! The memory of processes.

use std::fs;

/// A figure of `/proc/PID/status` in KiB (proc_pid_status(5)): `VmHWM` is the most memory that the process has
/// had, `VmRSS` what it has now; `None` once it has ended, and as long as it is only about to become another
/// program than this one: a child that was started by vfork(2) has its parent's memory until then, which the
/// kernel lets the parent see for a moment.
pub fn status_kib(process: u32, figure: &str) -> Option<u64> {
    let program = |process: &str| fs::read_link(format!("/proc/{process}/exe")).ok();
    if process != std::process::id() && program(&process.to_string()) == program("self") {
        return None;
    }
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(figure))?;
    let value = value.trim_start_matches(':');
    value.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_runs_has_memory_and_one_that_is_gone_has_none() {
        let own = std::process::id();
        let [most, now] = ["VmHWM", "VmRSS"].map(|figure| status_kib(own, figure).unwrap());
        assert!(most > 100 && now > 100, "{most} {now}");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert_eq!(status_kib(child.id(), "VmHWM"), None);
    }
}
