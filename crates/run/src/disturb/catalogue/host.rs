//! Limits of the host: CPU and block devices by cgroup, and its page cache.

use std::path::Path;

use pgdyno_spec::{network::rate_of, text};

use super::cgroup::{self, Limited, Limits};
use super::given::lasting;
use super::{Act, Entry, Key, Kind, Need};
use crate::disturb::own::Control;

/// Microseconds of the period that a quota is a share of: the kernel's own.
const PERIOD_US: u64 = 100_000;

pub(super) static ENTRIES: [Entry; 3] = [
    Entry {
        name: "cpu-quota",
        summary: "limits the CPU time of all of the server's processes (cgroup v1 or v2)",
        keys: &[
            lasting("10s"),
            Key {
                name: "percent",
                default: "20",
                kind: Kind::Count,
                help: "of one CPU",
            },
        ],
        needs: &[Need::OwnServer, Need::Root, Need::Cgroup],
        risks: "the server is slower",
        harms: true,
        undone: "its processes go back to their group after its time, also after Ctrl-C and kill -9",
        lasts: Some("10s"),
        make: |scene, given| {
            let percent = given.count("percent");
            Ok(Box::new(Limited {
                target: scene.target.clone(),
                controller: &cgroup::CPU,
                limits: quota(percent * PERIOD_US / 100),
                lasting: given.time("for"),
                had: format!("{percent} % of one CPU together"),
                holds: None,
            }))
        },
    },
    Entry {
        name: "block-limit",
        summary: "limits how much the server's processes read and write on the disk under its data (cgroup v1 or v2)",
        keys: &[
            lasting("10s"),
            Key {
                name: "rate",
                default: "1MB",
                kind: Kind::Rate,
                help: "bytes a second, of reads and of writes: 500kB, 1MB",
            },
            Key {
                name: "iops",
                default: "",
                kind: Kind::Count,
                help: "reads a second, and as many writes; unless given, as many as the rate allows",
            },
        ],
        needs: &[Need::OwnServer, Need::Root, Need::BlockDevice],
        risks: "the server is slower; v1 does not limit what the kernel writes back later by itself",
        harms: true,
        undone: "its processes go back to their group after its time, also after Ctrl-C and kill -9",
        lasts: Some("10s"),
        make: |scene, given| {
            let server = scene
                .target
                .own_server()
                .ok_or("there is no private server")?;
            let rate = rate_of(given.text("rate"))?;
            let iops = (!given.text("iops").is_empty()).then(|| given.count("iops"));
            let (numbers, name) = cgroup::disk_under(&server.data_dir())?;
            let also = iops.map_or_else(String::new, |iops| format!(" and {iops} requests"));
            Ok(Box::new(Limited {
                target: scene.target.clone(),
                controller: &cgroup::BLOCK,
                limits: throttle(&numbers, rate, iops),
                lasting: given.time("for"),
                had: format!(
                    "{}/s{also} of {name} ({numbers}) each way together",
                    text::bytes(rate as f64)
                ),
                holds: None,
            }))
        },
    },
    Entry {
        name: "drop-page-cache",
        summary: "drops the host's page cache: what is not in shared buffers is read from disk again",
        keys: &[],
        needs: &[Need::SameHost, Need::Root],
        risks: "all programs on this host read from disk again",
        harms: true,
        undone: "undo is not needed: the cache fills again",
        lasts: None,
        make: |_, _| Ok(Box::new(DropCache)),
    },
];

/// So much CPU time in each period.
fn quota(quota_us: u64) -> Limits {
    Limits {
        v1: vec![
            ("cpu.cfs_period_us", PERIOD_US.to_string()),
            ("cpu.cfs_quota_us", quota_us.to_string()),
        ],
        v2: vec![("cpu.max", format!("{quota_us} {PERIOD_US}"))],
    }
}

/// So many bytes and requests a second of a disk, each way.
fn throttle(disk: &str, rate: u64, iops: Option<u64>) -> Limits {
    let mut v1 = vec![
        ("blkio.throttle.read_bps_device", format!("{disk} {rate}")),
        ("blkio.throttle.write_bps_device", format!("{disk} {rate}")),
    ];
    let mut v2 = format!("{disk} rbps={rate} wbps={rate}");
    if let Some(iops) = iops {
        v1.push(("blkio.throttle.read_iops_device", format!("{disk} {iops}")));
        v1.push(("blkio.throttle.write_iops_device", format!("{disk} {iops}")));
        v2.push_str(&format!(" riops={iops} wiops={iops}"));
    }
    Limits {
        v1,
        v2: vec![("io.max", v2)],
    }
}

struct DropCache;

impl Act for DropCache {
    fn run(&mut self, control: &Control) -> Result<(), String> {
        // Documented: /proc/sys/vm/drop_caches in proc(5); 1 is the page cache, and only what is clean goes.
        cgroup::write(Path::new("/proc/sys/vm/drop_caches"), "1")?;
        control.say("dropped the page cache");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Documentation/admin-guide of the kernel: scheduler/sched-bwc.rst, cgroup-v1/blkio-controller.rst,
    /// cgroup-v2.rst.
    #[test]
    fn limits_are_as_the_kernel_documents_them() {
        let quota = quota(20_000);
        assert_eq!(quota.v1[1], ("cpu.cfs_quota_us", "20000".to_owned()));
        assert_eq!(quota.v2, [("cpu.max", "20000 100000".to_owned())]);
        let bytes = throttle("8:0", 1_000_000, None);
        assert_eq!(
            bytes.v1[1],
            ("blkio.throttle.write_bps_device", "8:0 1000000".to_owned())
        );
        assert_eq!(bytes.v1.len(), 2);
        let both = throttle("8:0", 1_000_000, Some(50));
        assert_eq!(
            both.v1[3],
            ("blkio.throttle.write_iops_device", "8:0 50".to_owned())
        );
        assert_eq!(
            both.v2,
            [(
                "io.max",
                "8:0 rbps=1000000 wbps=1000000 riops=50 wiops=50".to_owned()
            )]
        );
    }
}
