//! /proc/self/mountinfo: which device is under which directory (proc_pid_mountinfo(5)).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The number of its device.
    pub major: u32,
    pub minor: u32,
    pub point: PathBuf,
    pub file_system: String,
    /// Such as `/dev/vda`; may be anything.
    pub source: String,
}

/// Reads /proc/self/mountinfo, in its order.
pub fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(mount).collect()
}

fn mount(line: &str) -> Option<Mount> {
    let (front, back) = line.split_once(" - ")?;
    let mut front = front.split(' ');
    let (major, minor) = front.nth(2)?.split_once(':')?;
    let point = front.nth(1)?;
    let mut back = back.split(' ');
    Some(Mount {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
        point: PathBuf::from(OsString::from_vec(plain(point))),
        file_system: back.next()?.to_owned(),
        source: String::from_utf8_lossy(&plain(back.next()?)).into_owned(),
    })
}

/// Blanks and a few others are written as a backslash and three octal digits.
fn plain(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = bytes.get(at + 1..at + 4).filter(|_| bytes[at] == b'\\');
        let number = escaped
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(number.unwrap_or(bytes[at]));
        at += if number.is_some() { 4 } else { 1 };
    }
    plain
}

/// What is mounted where `path`, which is absolute and free of links, lies.
pub fn under<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    // Of several at the same place, the last hides the others.
    let around = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    around.max_by_key(|mount| mount.point.components().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n\
        25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24684084k\n\
        40 27 8:1 /data /mnt/my\\040disk rw shared:1 master:2 - xfs /dev/sda1 rw\n\
        41 27 8:2 / /mnt/my\\040disk rw - xfs /dev/sda2 rw\n";

    #[test]
    fn the_device_of_a_directory_is_that_of_the_nearest_mount_above_it() {
        let mounts = parse(REAL);
        assert_eq!(mounts.len(), 4);
        let of = |path: &str| under(&mounts, Path::new(path)).unwrap();
        assert_eq!(of("/var/lib/postgresql").source, "/dev/vda");
        assert_eq!(of("/dev/shm/x").file_system, "tmpfs");
        assert_eq!(of("/dev/shmx").source, "/dev/vda");
        let disk = of("/mnt/my disk/pg");
        assert_eq!(
            (disk.major, disk.minor, disk.source.as_str()),
            (8, 2, "/dev/sda2")
        );
        assert!(under(&mounts, Path::new("relative")).is_none());
    }

    #[test]
    fn what_is_no_escape_stays_as_it_is() {
        assert_eq!(plain("a\\040b\\134"), b"a b\\");
        assert_eq!(plain("\\777\\04"), b"\\777\\04");
        assert_eq!(plain("\\"), b"\\");
    }

    #[test]
    fn this_machine_is_understood() {
        let mounts = parse(&super::super::text("/proc/self/mountinfo").unwrap());
        assert_eq!(
            under(&mounts, Path::new("/proc/self")).unwrap().file_system,
            "proc"
        );
    }
}
