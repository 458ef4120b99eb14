//! The CPU quota that a process is held to by its control group, or by one above it.

use std::path::{Path, PathBuf};

use pgdyno_platform::proc::{self, cgroup};

/// Where control groups are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// The group with the smallest quota of those that a process is in.
#[derive(Debug, Clone, PartialEq)]
pub struct Quota {
    folder: PathBuf,
    /// CPUs that all processes of the group may use together.
    pub cpus: f64,
}

impl Quota {
    /// That of a process (`self`, or its id); `None` where there is none.
    pub fn of(process: &str) -> Option<Self> {
        let text = proc::text(format!("/proc/{process}/cgroup")).ok()?;
        let groups = cgroup::of_process(&text);
        let all = groups.iter().filter_map(|group| {
            let is_v2 = group.controllers.is_empty();
            let has_cpu = group.controllers.iter().any(|name| name == "cpu");
            let root = match (is_v2, has_cpu) {
                (true, _) => PathBuf::from(ROOT),
                (_, true) => Path::new(ROOT).join(group.controllers.join(",")),
                _ => return None,
            };
            smallest(&root, &group.path)
        });
        all.min_by(|a, b| a.cpus.total_cmp(&b.cpus))
    }

    /// What the kernel counts of it.
    pub fn read(&self) -> Option<cgroup::Cpu> {
        let text = proc::text(self.folder.join("cpu.stat")).ok()?;
        Some(cgroup::cpu(&text))
    }
}

/// Of the group at this path and those above it. In a container of its own namespace the path is of
/// the host, and the group itself is at the root.
fn smallest(root: &Path, path: &str) -> Option<Quota> {
    let below = Path::new(path.trim_start_matches('/'));
    let folders = below.ancestors().map(|part| root.join(part));
    let quotas = folders.filter_map(|folder| {
        let cpus = cpus(&folder)?;
        Some(Quota { folder, cpus })
    });
    quotas.min_by(|a, b| a.cpus.total_cmp(&b.cpus))
}

fn cpus(folder: &Path) -> Option<f64> {
    let text = |name: &str| proc::text(folder.join(name)).ok();
    match text("cpu.max") {
        Some(max) => cgroup::quota(&max),
        None => cgroup::quota_of_version_1(&text("cpu.cfs_quota_us")?, &text("cpu.cfs_period_us")?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, text: &str) {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join(name), text).unwrap();
    }

    #[test]
    fn the_smallest_quota_of_a_group_and_those_above_it_holds() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        write(&root.join("a"), "cpu.max", "150000 100000\n");
        write(&root.join("a/b"), "cpu.max", "max 100000\n");
        write(
            &root.join("a/b"),
            "cpu.stat",
            "nr_periods 4\nnr_throttled 1\n",
        );
        let quota = smallest(root, "/a/b").unwrap();
        assert_eq!(quota.cpus, 1.5);
        assert_eq!(quota.folder, root.join("a"));
        assert_eq!(smallest(root, "/elsewhere"), None);
    }

    #[test]
    fn version_1_tells_it_in_two_files() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("db");
        write(&group, "cpu.cfs_quota_us", "50000\n");
        write(&group, "cpu.cfs_period_us", "100000\n");
        write(
            &group,
            "cpu.stat",
            "nr_periods 9\nnr_throttled 3\nthrottled_time 5000\n",
        );
        let quota = smallest(root.path(), "/db").unwrap();
        assert_eq!(quota.cpus, 0.5);
        let read = quota.read().unwrap();
        assert_eq!((read.periods, read.throttled), (Some(9), Some(3)));
        assert_eq!(read.throttled_us, Some(5));
    }
}
