//! Which block device is under a server's data, seen from the server's process: a container has
//! mounts of its own.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pgdyno_platform::proc::{self, disk, mounts};

use super::processes::{Proc, Process};

/// A whole disk, or what the kernel has in its place (`dm-0`, `md0`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    pub name: String,
}

impl Device {
    /// The disk of this name, with or without /dev/.
    ///
    /// # Errors
    /// There is none; which there are, as a clause.
    pub fn named(name: &str) -> Result<Device, String> {
        let name = name.strip_prefix("/dev/").unwrap_or(name);
        let disks = all()?;
        if disks.iter().any(|disk| disk.name == name) {
            return Ok(Device {
                name: name.to_owned(),
            });
        }
        let used = disks.iter().filter(|disk| disk.reads + disk.writes > 0);
        let names: Vec<&str> = used.map(|disk| disk.name.as_str()).collect();
        Err(format!(
            "this host has no disk {name}; its disks in use are {}",
            names.join(", ")
        ))
    }

    /// What it has done so far.
    ///
    /// # Errors
    /// It is gone, or /proc/diskstats cannot be read; as a clause.
    pub fn read(&self) -> Result<disk::Disk, String> {
        let found = all()?.into_iter().find(|disk| disk.name == self.name);
        found.ok_or_else(|| format!("the disk {} is gone", self.name))
    }

    /// The disk under the server's data. `reported` is what the server says of its directory; where it
    /// says nothing, its command line may, behind one of `options`.
    ///
    /// # Errors
    /// Why it cannot be determined, as a clause.
    pub fn under_data(
        server: &Process,
        reported: Result<&Path, &str>,
        options: &[&str],
    ) -> Result<Device, String> {
        let proc = Proc::of_kernel();
        let of_command_line = || {
            let line = proc::text(proc.path(server.pid, "cmdline")).ok()?;
            data_option(&line, options)
        };
        let directory = match reported {
            Ok(directory) => directory.to_owned(),
            Err(why) => of_command_line()
                .ok_or_else(|| format!("the server's data directory is not known: {why}"))?,
        };
        let theirs = proc::text(proc.path(server.pid, "mountinfo")).map_err(|e| e.to_string())?;
        let ours = proc::text("/proc/self/mountinfo").map_err(|e| e.to_string())?;
        // In the same mount namespace links can be followed.
        let directory = match fs::canonicalize(&directory) {
            Ok(plain) if ours == theirs => plain,
            _ => directory,
        };
        let mounted = mounts::parse(&theirs);
        let mount = mounts::under(&mounted, &directory)
            .ok_or_else(|| format!("{} is no directory of its mounts", directory.display()))?;
        let number = number(mount).ok_or_else(|| {
            format!(
                "the server's data is on {} ({}), which is not a disk",
                mount.source, mount.file_system
            )
        })?;
        let name = whole(number).ok_or_else(|| {
            let (major, minor) = number;
            format!("the device {major}:{minor} under the server's data is not in /proc/diskstats")
        })?;
        Ok(Device { name })
    }
}

fn all() -> Result<Vec<disk::Disk>, String> {
    let text = proc::text("/proc/diskstats").map_err(|e| e.to_string())?;
    Ok(disk::parse(&text))
}

/// The number of a mount's device. File systems over several devices, and some over one (Btrfs), have
/// a number of no device; then what was mounted may be one.
fn number(mount: &mounts::Mount) -> Option<(u32, u32)> {
    if mount.major != 0 {
        return Some((mount.major, mount.minor));
    }
    if !mount.source.starts_with("/dev/") {
        return None;
    }
    let number = fs::metadata(&mount.source).ok()?.rdev();
    let number = (major_of(number), minor_of(number));
    (number.0 != 0).then_some(number)
}

/// makedev(3), as Linux has it.
fn major_of(number: u64) -> u32 {
    (((number >> 32) & 0xffff_f000) | ((number >> 8) & 0xfff)) as u32
}

fn minor_of(number: u64) -> u32 {
    (((number >> 12) & 0xffff_ff00) | (number & 0xff)) as u32
}

/// The disk that a partition is of; others are themselves.
fn whole((major, minor): (u32, u32)) -> Option<String> {
    let place = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}"));
    if let Ok(place) = place
        && place.join("partition").exists()
        && let Some(name) = place.parent().and_then(Path::file_name)
    {
        return name.to_str().map(str::to_owned);
    }
    let disks = all().ok()?;
    let mut same = disks.into_iter();
    same.find(|disk| (disk.major, disk.minor) == (major, minor))
        .map(|disk| disk.name)
}

/// The directory behind one of these options of a command line (words end with a zero byte): as the
/// next word or after `=`, alone or as the field `path`, the first of several.
fn data_option(line: &str, options: &[&str]) -> Option<PathBuf> {
    let words: Vec<&str> = line.split('\0').collect();
    let mut found = words.iter().enumerate().filter_map(|(at, word)| {
        let option = options.iter().find(|option| word.starts_with(**option))?;
        let rest = &word[option.len()..];
        match rest.strip_prefix('=') {
            Some(value) => Some(value),
            None if rest.is_empty() => words.get(at + 1).copied(),
            // Of one letter, the value may follow at once.
            None if option.len() == 2 => Some(rest),
            None => None,
        }
    });
    let value = found.next()?;
    let fields = value.split(',');
    let path = { fields.clone() }.find_map(|field| field.strip_prefix("path="));
    let path = path.or_else(|| { fields }.next().filter(|first| !first.contains('=')))?;
    path.starts_with('/').then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_found_in_a_command_line() {
        let of = |line: &str, options: &[&str]| {
            let line = line.replace(' ', "\0");
            data_option(&line, options).map(|path| path.display().to_string())
        };
        let store = &["--store", "-s"];
        for (line, expected) in [
            (
                "cockroach start --store=path=/data/c1,size=20%",
                Some("/data/c1"),
            ),
            (
                "cockroach start --store=size=20%,path=/data/c1",
                Some("/data/c1"),
            ),
            (
                "cockroach start --store /data/c1 --insecure",
                Some("/data/c1"),
            ),
            ("cockroach start -s /data/c1", Some("/data/c1")),
            ("cockroach start -s=/data/c1", Some("/data/c1")),
            ("cockroach start --store=type=mem,size=1GiB", None),
            ("cockroach start --store=relative", None),
            ("cockroach start --storex=/a", None),
            ("cockroach start --store", None),
            ("cockroach start", None),
        ] {
            assert_eq!(of(line, store).as_deref(), expected, "{line}");
        }
        let postgres = of("postgres -D /var/lib/pg -p 5432", &["-D"]);
        assert_eq!(postgres.as_deref(), Some("/var/lib/pg"));
        assert_eq!(of("postgres -D/pg", &["-D"]).as_deref(), Some("/pg"));
        let several = of("yb-tserver --fs_data_dirs=/a,/b", &["--fs_data_dirs"]);
        assert_eq!(several.as_deref(), Some("/a"));
    }

    #[test]
    fn an_unknown_disk_is_an_error_that_lists_the_disks() {
        let error = Device::named("/dev/no such disk").unwrap_err();
        assert!(
            error.starts_with("this host has no disk no such disk; "),
            "{error}"
        );
        let gone = Device {
            name: "no such disk".to_owned(),
        };
        assert!(gone.read().unwrap_err().ends_with("is gone"));
    }

    fn this_process() -> Process {
        Process {
            pid: std::process::id(),
            name: "test".to_owned(),
            started_ticks: 0,
        }
    }

    #[test]
    fn data_on_no_disk_is_reported() {
        let server = this_process();
        for (directory, why) in [("/proc", "proc (proc)"), ("/dev/shm", "(tmpfs)")] {
            let reported = Device::under_data(&server, Ok(Path::new(directory)), &[]);
            let reported = reported.unwrap_err();
            assert!(
                reported.contains("which is not a disk") && reported.contains(why),
                "{reported}"
            );
        }
        let reported = Device::under_data(&server, Err("permission denied"), &["-D"]);
        assert!(
            reported
                .unwrap_err()
                .ends_with("is not known: permission denied")
        );
    }

    #[test]
    fn the_disk_under_a_directory_is_the_one_that_holds_it() {
        let directory = std::env::current_dir().unwrap();
        let found = Device::under_data(&this_process(), Ok(&directory), &[]);
        // Continuous integration may run on a file system without a disk.
        match found {
            Ok(device) => {
                let disk = device.read().unwrap();
                assert_eq!(disk.name, device.name);
                assert_eq!(Device::named(&device.name), Ok(device));
            }
            Err(why) => assert!(why.contains("which is not a disk"), "{why}"),
        }
    }

    #[test]
    fn numbers_of_devices_come_apart_as_linux_puts_them_together() {
        for (major, minor) in [(8u64, 1u64), (259, 0), (254, 1_048_575), (4095, 255)] {
            let number =
                (major & 0xfff) << 8 | (major >> 12) << 44 | minor & 0xff | (minor >> 8) << 20;
            let apart = (major_of(number), minor_of(number));
            assert_eq!(apart, (major as u32, minor as u32));
        }
    }
}
