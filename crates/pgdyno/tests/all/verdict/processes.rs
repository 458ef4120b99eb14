//! What is done to processes: pinned, stopped, given a quota, or started to be in the way.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A process and all that it has started, by `/proc/PID/stat` (proc(5)).
pub fn family(first: u32) -> Vec<u32> {
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, fields) = stat.rsplit_once(')')?;
        fields.split_whitespace().nth(1)?.parse().ok()
    };
    let names = fs::read_dir("/proc").unwrap();
    let pids = names.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let all: Vec<(u32, Option<u32>)> = pids.map(|pid| (pid, parent(pid))).collect();
    let mut family = vec![first];
    let mut at = 0;
    while let Some(&pid) = family.get(at) {
        family.extend(
            all.iter()
                .filter(|(_, p)| *p == Some(pid))
                .map(|(pid, _)| *pid),
        );
        at += 1;
    }
    family
}

/// A process with what it has started, and starts from now on, on these CPUs only.
pub fn pin(first: u32, cpus: &str) {
    for pid in family(first) {
        let mut command = Command::new("taskset");
        command.args(["-a", "-p", "-c", cpus, &pid.to_string()]);
        // One may have ended meanwhile.
        let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// Stops a process and what it has started until the value is dropped.
pub struct Frozen(Vec<u32>);

impl Frozen {
    pub fn all_of(first: u32) -> Frozen {
        // The parent first: it starts nothing more then.
        let pids = family(first);
        signal("-STOP", &pids);
        Frozen(pids)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        signal("-CONT", &self.0);
    }
}

fn signal(signal: &str, pids: &[u32]) {
    let mut command = Command::new("kill");
    command.arg(signal).args(pids.iter().map(u32::to_string));
    // One may have ended meanwhile.
    let _ = command.stderr(Stdio::null()).status();
}

/// A program that takes all the CPU time that it gets, on these CPUs. It ends when dropped.
pub struct Burner(Child);

impl Burner {
    pub fn on(cpus: &str) -> Burner {
        let mut command = Command::new("taskset");
        command.args(["-c", cpus, "sh", "-c", "while :; do :; done"]);
        Burner(command.stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A control group with a CPU quota, removed when dropped.
pub struct Quota {
    group: PathBuf,
    parent: PathBuf,
}

/// The length of a quota's period, the kernel's default.
const PERIOD_US: u32 = 100_000;

impl Quota {
    /// A group that gets so many CPUs, by whichever version of control groups there is.
    ///
    /// # Errors
    /// The host has no group in which one can be made: why.
    pub fn of(cpus: f64, name: &str) -> Result<Quota, String> {
        let quota_us = format!("{:.0}", cpus * f64::from(PERIOD_US));
        let name = format!("pgdyno-{name}-{}", std::process::id());
        let (first, second) = (Path::new("/sys/fs/cgroup/cpu"), Path::new("/sys/fs/cgroup"));
        // Version 2 gives a group only the controllers that the one above it hands down.
        let _ = fs::write(second.join("cgroup.subtree_control"), "+cpu");
        let made = Quota::make(first, &name, "cpu.cfs_quota_us", &quota_us).or_else(|_| {
            let value = format!("{quota_us} {PERIOD_US}");
            Quota::make(second, &name, "cpu.max", &value)
        });
        made.map_err(|e| format!("no control group with a CPU quota can be made: {e}"))
    }

    fn make(parent: &Path, name: &str, file: &str, value: &str) -> io::Result<Quota> {
        let group = parent.join(name);
        fs::create_dir(&group)?;
        let quota = Quota {
            group,
            parent: parent.to_owned(),
        };
        fs::write(quota.group.join(file), value)?;
        Ok(quota)
    }

    /// A process with all that it has started, and starts from now on.
    pub fn take(&self, first: u32) {
        join(&self.group, &family(first));
    }

    /// The file that a process writes its id to, to be in the group.
    pub fn members(&self) -> PathBuf {
        self.group.join("cgroup.procs")
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let text = fs::read_to_string(self.members()).unwrap_or_default();
        let pids: Vec<u32> = text.lines().filter_map(|pid| pid.parse().ok()).collect();
        join(&self.parent, &pids);
        let _ = fs::remove_dir(&self.group);
    }
}

fn join(group: &Path, pids: &[u32]) {
    for pid in pids {
        // One may have ended meanwhile.
        let _ = fs::write(group.join("cgroup.procs"), pid.to_string());
    }
}
