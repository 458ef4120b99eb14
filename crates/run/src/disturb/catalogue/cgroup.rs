//! Limits of the server's processes by cgroup, v1 or v2, whichever the host has; and the block device under a
//! directory.
//!
//! Where all that is, a root says, so that tests use a made tree. Tried on a kernel with v1 (cpu, blkio); v2 only on
//! such a tree, by what the kernel documents (Documentation/admin-guide/cgroup-v2.rst: cpu.max, io.max).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pgdyno_database::open::Target;
use pgdyno_platform::child;
use pgdyno_platform::proc::{self, mounts};

use super::guard::Guard;
use super::{Act, processes};
use crate::disturb::own::Control;

const ROOT: &str = "/sys/fs/cgroup";
const SYS: &str = "/sys";

/// What a controller is called.
#[derive(Debug)]
pub(super) struct Controller {
    v1: &'static str,
    /// A file of each of its groups there.
    v1_has: &'static str,
    v2: &'static str,
    /// What the names of its groups end with: v2 has all of them in one place.
    ending: &'static str,
}

pub(super) static CPU: Controller = Controller {
    v1: "cpu",
    v1_has: "cpu.shares",
    v2: "cpu",
    ending: "",
};
pub(super) static BLOCK: Controller = Controller {
    v1: "blkio",
    v1_has: "blkio.throttle.write_bps_device",
    v2: "io",
    ending: "-io",
};

/// What is written into which file of a group.
pub(super) type Lines = Vec<(&'static str, String)>;

/// The same limits as each version has them.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    pub v1: Lines,
    pub v2: Lines,
}

/// A group of a controller, made for a disturbance beside all others.
#[derive(Debug)]
pub(super) struct Group {
    own: PathBuf,
    /// Where the server's processes are.
    before: PathBuf,
    controller: &'static Controller,
    is_v2: bool,
}

impl Group {
    /// For a process, which a number or `self` names. Nothing is made.
    ///
    /// # Errors
    /// The host has no hierarchy with this controller.
    pub fn of(controller: &'static Controller, process: &str) -> Result<Self, String> {
        let path = format!("/proc/{process}/cgroup");
        let cgroup = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
        Self::below(Path::new(ROOT), &cgroup, controller)
    }

    /// `cgroup`: /proc/PID/cgroup of the server (cgroups(7)).
    fn below(root: &Path, cgroup: &str, controller: &'static Controller) -> Result<Self, String> {
        let name = format!("pgdyno-{}{}", std::process::id(), controller.ending);
        for line in cgroup.lines() {
            let mut parts = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) =
                (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            let path = path.trim_start_matches('/');
            if controllers.split(',').any(|it| it == controller.v1) {
                let top = [root.join(controllers), root.join(controller.v1)];
                let has = |top: &PathBuf| top.join(controller.v1_has).exists();
                if let Some(top) = top.into_iter().find(has) {
                    return Ok(Self {
                        own: top.join(name),
                        before: top.join(path),
                        controller,
                        is_v2: false,
                    });
                }
            }
            if !line.starts_with("0::") {
                continue;
            }
            // Where both versions are, the second has a place of its own.
            for top in [root.to_owned(), root.join("unified")] {
                let there = fs::read_to_string(top.join("cgroup.controllers"));
                let there = there.unwrap_or_default();
                if there.split_whitespace().any(|it| it == controller.v2) {
                    return Ok(Self {
                        own: top.join(name),
                        before: top.join(path),
                        controller,
                        is_v2: true,
                    });
                }
            }
        }
        Err(format!(
            "no cgroup hierarchy with the controller {} (v1) or {} (v2) is mounted below {}",
            controller.v1,
            controller.v2,
            root.display()
        ))
    }

    fn limit(&self, limits: &Limits) -> Result<(), String> {
        if self.is_v2 {
            // Children have the controller when their parent passes it on.
            let parent = self.own.parent().unwrap_or(&self.own);
            let passed_on = format!("+{}", self.controller.v2);
            write(&parent.join("cgroup.subtree_control"), &passed_on)?;
        }
        fs::create_dir_all(&self.own).map_err(|e| format!("{}: {e}", self.own.display()))?;
        let lines = if self.is_v2 { &limits.v2 } else { &limits.v1 };
        lines
            .iter()
            .try_for_each(|(file, text)| write(&self.own.join(file), text))
    }

    /// Moves a process with all of its children; one that it starts later is born there.
    fn take(&self, pid: u32) -> Result<usize, String> {
        let to = self.own.join("cgroup.procs");
        write(&to, &pid.to_string())?;
        let children = child::children(pid).map_err(|e| e.to_string())?;
        // One that has ended meanwhile needs nothing.
        let moved = children
            .iter()
            .filter(|id| write(&to, &id.to_string()).is_ok());
        Ok(1 + moved.count())
    }

    fn give_back(&self) -> Result<(), String> {
        let own = self.own.join("cgroup.procs");
        for _ in 0..100 {
            let pids = fs::read_to_string(&own).unwrap_or_default();
            for pid in pids.lines() {
                let _ = write(&self.before.join("cgroup.procs"), pid);
            }
            if fs::remove_dir(&self.own).is_ok() || !self.own.exists() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(format!("{} cannot be removed", self.own.display()))
    }

    /// The same for a shell.
    fn giving_back(&self) -> String {
        let (own, before) = (self.own.display(), self.before.display());
        format!(
            "for p in $(cat '{own}/cgroup.procs'); do echo $p > '{before}/cgroup.procs'; done; rmdir '{own}'"
        )
    }
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// The whole disk under a directory: its numbers and its name.
///
/// # Errors
/// The directory lies on no block device: on what.
pub(super) fn disk_under(directory: &Path) -> Result<(String, String), String> {
    let directory = directory
        .canonicalize()
        .map_err(|e| format!("{}: {e}", directory.display()))?;
    let mounted = proc::text("/proc/self/mountinfo").map_err(|e| e.to_string())?;
    disk(Path::new(SYS), &mounts::parse(&mounted), &directory)
}

fn disk(
    sys: &Path,
    mounted: &[mounts::Mount],
    directory: &Path,
) -> Result<(String, String), String> {
    let mount = mounts::under(mounted, directory)
        .ok_or_else(|| format!("no mount is known for {}", directory.display()))?;
    let numbers = format!("{}:{}", mount.major, mount.minor);
    let device = sys.join("dev/block").join(&numbers);
    let Ok(device) = device.canonicalize() else {
        return Err(format!(
            "{} is on {} ({}), which is no block device of this host",
            directory.display(),
            mount.source,
            mount.file_system
        ));
    };
    // Documented: both versions take whole disks only. The directory of a partition lies in its disk's.
    let device = if device.join("partition").exists() {
        device.parent().unwrap_or(&device).to_owned()
    } else {
        device
    };
    let numbers = fs::read_to_string(device.join("dev"))
        .map_err(|e| format!("{}/dev: {e}", device.display()))?;
    let name = device.file_name().unwrap_or_default().to_string_lossy();
    Ok((numbers.trim().to_owned(), name.into_owned()))
}

/// All of the server's processes in a group with limits, for a while.
pub(super) struct Limited {
    pub target: Target,
    pub controller: &'static Controller,
    pub limits: Limits,
    pub lasting: Duration,
    /// What they had, in words.
    pub had: String,
    pub holds: Option<(Group, Guard)>,
}

impl Act for Limited {
    fn run(&mut self, control: &Control) -> Result<(), String> {
        let postmaster = processes::postmaster(&self.target)?;
        let group = Group::of(self.controller, &postmaster.to_string())?;
        let guard = Guard::start(&group.giving_back()).map_err(|e| e.to_string())?;
        let (group, _) = self.holds.insert((group, guard));
        group.limit(&self.limits)?;
        let count = group.take(postmaster)?;
        control.last(self.lasting);
        self.undo()?;
        control.say(format_args!("{count} processes had {}", self.had));
        Ok(())
    }

    fn undo(&mut self) -> Result<Option<String>, String> {
        let Some((group, guard)) = self.holds.take() else {
            return Ok(None);
        };
        group.give_back()?;
        drop(guard);
        Ok(Some("the processes have no limit again".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits {
            v1: vec![("a", "1".to_owned()), ("b", "2".to_owned())],
            v2: vec![("max", "1 2".to_owned())],
        }
    }

    #[test]
    fn limits_are_written_as_each_version_has_them_and_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for controller in [&CPU, &BLOCK] {
            let none = Group::below(root, "1:cpu:/\n2:blkio:/\n0::/", controller).unwrap_err();
            assert!(none.contains(controller.v1), "{none}");
            let top = root.join(controller.v1);
            fs::create_dir_all(top.join("server")).unwrap();
            fs::write(top.join(controller.v1_has), "").unwrap();
            let cgroup = format!("5:memory:/x\n1:{}:/server\n0::/", controller.v1);
            let group = Group::below(root, &cgroup, controller).unwrap();
            assert_eq!(group.before, top.join("server"));
            group.limit(&limits()).unwrap();
            let read = |name: &str| fs::read_to_string(group.own.join(name)).unwrap();
            assert_eq!((read("a"), read("b")), ("1".to_owned(), "2".to_owned()));
        }
    }

    #[test]
    fn the_second_version_is_found_alone_and_beside_the_first() {
        for place in ["", "unified"] {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().join(place);
            fs::create_dir_all(&top).unwrap();
            fs::write(top.join("cgroup.controllers"), "cpuset cpu io\n").unwrap();
            for (controller, passed_on) in [(&CPU, "+cpu"), (&BLOCK, "+io")] {
                let group = Group::below(dir.path(), "0::/system.slice/pg", controller).unwrap();
                assert_eq!(group.before, top.join("system.slice/pg"));
                group.limit(&limits()).unwrap();
                let written = fs::read_to_string(group.own.join("max")).unwrap();
                assert_eq!(written, "1 2");
                let passed = fs::read_to_string(top.join("cgroup.subtree_control")).unwrap();
                assert_eq!(passed, passed_on);
                assert!(group.giving_back().contains("system.slice/pg/cgroup.procs"));
                // The kernel removes a group with its files; this tree is only files.
                for file in fs::read_dir(&group.own).unwrap() {
                    fs::remove_file(file.unwrap().path()).unwrap();
                }
                group.give_back().unwrap();
                assert!(!group.own.exists());
            }
        }
    }

    #[test]
    fn of_a_partition_the_disk_is_limited_and_what_is_no_device_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let sys = dir.path();
        let disk_dir = sys.join("devices/sda");
        fs::create_dir_all(disk_dir.join("sda1")).unwrap();
        fs::create_dir_all(sys.join("dev/block")).unwrap();
        fs::write(disk_dir.join("dev"), "8:0\n").unwrap();
        fs::write(disk_dir.join("sda1/dev"), "8:1\n").unwrap();
        fs::write(disk_dir.join("sda1/partition"), "1\n").unwrap();
        for (numbers, to) in [("8:0", "devices/sda"), ("8:1", "devices/sda/sda1")] {
            let link = sys.join("dev/block").join(numbers);
            std::os::unix::fs::symlink(sys.join(to), link).unwrap();
        }
        let mounted = mounts::parse(
            "27 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
             28 27 8:0 / /raw rw - xfs /dev/sda rw\n\
             29 27 0:40 / /merged rw - overlay overlay rw\n",
        );
        let of = |path: &str| disk(sys, &mounted, Path::new(path));
        let sda = Ok(("8:0".to_owned(), "sda".to_owned()));
        assert_eq!(of("/data"), sda);
        assert_eq!(of("/raw/data"), sda);
        let why = of("/merged/data").unwrap_err();
        assert!(why.contains("is on overlay (overlay)"), "{why}");
    }
}
