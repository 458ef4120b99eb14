//! The device under the server's files: /proc/diskstats before and after. It counts what any process
//! does on it, also other programs.

use std::path::Path;

use pgdyno_platform::proc::{self, disk, mounts};

use pgdyno_model::Fact;
use pgdyno_model::document::{DeviceUse, Facts};

/// The device that has the data directory, as far as this host can tell.
pub fn of(facts: &Facts) -> Fact<disk::Disk> {
    match (&facts.same_host, &facts.data_directory) {
        (Fact::Known(false), _) => Fact::Unknown(
            "the server is on another host, whose device pgdyno does not see".to_owned(),
        ),
        (Fact::Unknown(why), _) | (_, Fact::Unknown(why)) => Fact::Unknown(why.clone()),
        (Fact::Known(true), Fact::Known(directory)) => under(directory),
    }
}

fn under(directory: &Path) -> Fact<disk::Disk> {
    let unknown = |why: String| Fact::Unknown(why);
    // A server in a container names a path of the container's.
    let directory = match directory.canonicalize() {
        Ok(directory) => directory,
        Err(e) => return unknown(format!("{}: {e}", directory.display())),
    };
    let mounted = match proc::text("/proc/self/mountinfo") {
        Ok(text) => mounts::parse(&text),
        Err(e) => return unknown(e.to_string()),
    };
    let Some(mount) = mounts::under(&mounted, &directory) else {
        return unknown(format!("no mount is known for {}", directory.display()));
    };
    match read(|disk| (disk.major, disk.minor) == (mount.major, mount.minor)) {
        Some(disk) => Fact::Known(disk),
        None => unknown(format!(
            "{} is on {} ({}), which is not a block device of this host",
            directory.display(),
            mount.source,
            mount.file_system
        )),
    }
}

fn read(is_it: impl Fn(&disk::Disk) -> bool) -> Option<disk::Disk> {
    let text = proc::text("/proc/diskstats").ok()?;
    disk::parse(&text).into_iter().find(is_it)
}

/// What it has done since.
pub fn since(before: Fact<disk::Disk>) -> Fact<DeviceUse> {
    before.and_then_known(|before| {
        let now = read(|disk| disk.name == before.name);
        let used = now.and_then(|now| {
            Some(DeviceUse {
                reads: now.reads.checked_sub(before.reads)?,
                read_bytes: now.read_bytes.checked_sub(before.read_bytes)?,
                writes: now.writes.checked_sub(before.writes)?,
                written_bytes: now.written_bytes.checked_sub(before.written_bytes)?,
                name: now.name,
            })
        });
        match used {
            Some(used) => Fact::Known(used),
            None => Fact::Unknown(format!(
                "the counters of {} decreased or are gone",
                before.name
            )),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_not_on_this_host_is_a_gap_with_its_reason() {
        let facts = |same_host, directory: &str| Facts {
            same_host: Fact::Known(same_host),
            data_directory: Fact::Known(directory.into()),
            ..Facts::unknown("not requested")
        };
        for (facts, want) in [
            (facts(false, "/"), "on another host"),
            (facts(true, "/no/such/directory"), "/no/such/directory: "),
            (facts(true, "/proc"), "not a block device"),
            (Facts::unknown("not requested"), "not requested"),
        ] {
            match of(&facts) {
                Fact::Unknown(why) => assert!(why.contains(want), "{why}"),
                Fact::Known(disk) => panic!("{disk:?}"),
            }
        }
    }

    #[test]
    fn counters_that_ran_backwards_are_no_figures() {
        let Some(disk) = read(|_| true) else {
            pgdyno_testkit::skip!(
                "counters_that_ran_backwards_are_no_figures",
                "not a block device"
            );
        };
        assert!(since(Fact::Known(disk.clone())).known().is_some());
        let reset = disk::Disk {
            reads: u64::MAX,
            ..disk.clone()
        };
        assert!(since(Fact::Known(reset)).known().is_none());
        let gone = disk::Disk {
            name: "no such device".to_owned(),
            ..disk
        };
        assert!(since(Fact::Known(gone)).known().is_none());
    }
}
