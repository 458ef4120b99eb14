//! What lies under a path: a file system in memory or one that can keep data, and its room; files that are
//! replaced in one step.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What a file takes is counted in these (stat(2)).
const BLOCK_BYTES: u64 = 512;
/// [`fill`] leaves less than that: a page of most file systems.
const FILL_PART_MIN: u64 = 4096;

/// What kind of file system a path lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// tmpfs or ramfs: nothing there survives a power cut, and an fsync costs nothing.
    Memory,
    Other,
}

/// The kind of file system that `path` (which must exist) lies on.
///
/// # Errors
/// When the path does not exist or cannot be reached.
pub fn kind(path: &Path) -> io::Result<Kind> {
    // The numbers are TMPFS_MAGIC and RAMFS_MAGIC of statfs(2). overlayfs (containers) hides
    // what is under it and counts as other.
    const TMPFS: u32 = 0x0102_1994;
    const RAMFS: u32 = 0x8584_58f6;
    let magic = rustix::fs::statfs(path)?.f_type as u32;
    Ok(match magic {
        TMPFS | RAMFS => Kind::Memory,
        _ => Kind::Other,
    })
}

/// Bytes that an unprivileged user may still write on the file system of `path`.
///
/// # Errors
/// As [`kind`].
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Writes all that the file system of `path` has in memory to its disk (syncfs(2)).
///
/// # Errors
/// When the path does not exist, or its file system cannot be written to.
pub fn sync(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(path)?)?)
}

/// Makes a file that takes all room of its file system, down to what no file can take; gives its size in bytes.
/// Nothing is written into it.
///
/// # Errors
/// It cannot be made, or the file system cannot reserve room (fallocate(2)); what there is of it stays.
pub fn fill(path: &Path) -> io::Result<u64> {
    use rustix::fs::{FallocateFlags, fallocate};
    let file = File::create(path)?;
    let mut size = 0;
    let mut part = free_bytes(path)?;
    // Where there is no room for all of a part, some file systems keep what there was.
    while part >= FILL_PART_MIN {
        match fallocate(&file, FallocateFlags::empty(), size, part) {
            Ok(()) => size += part,
            // What the file system needs for itself is in the way.
            Err(rustix::io::Errno::NOSPC) => part /= 2,
            Err(e) => return Err(e.into()),
        }
        part = part.min(free_bytes(path)?);
    }
    Ok(file.metadata()?.blocks() * BLOCK_BYTES)
}

/// Makes this the content of the file: a reader, meanwhile or after a crash, has the old one or the new
/// one. It is on the disk when this returns.
///
/// # Errors
/// It cannot be written; the old one is still there then.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Beside the file, so that taking its place is one step.
    let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = File::create(&beside).and_then(|mut file| {
        // Who may read the old one may read the new one, and no other.
        if let Ok(old) = fs::metadata(path) {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(content)?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&beside, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&beside);
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_or_stays_with_nothing_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        for content in ["old", "new"] {
            replace(&file, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), content);
        }
        let directory = dir.path().join("directory");
        fs::create_dir(&directory).unwrap();
        assert!(replace(&directory, b"text").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn shared_memory_is_memory_and_the_root_of_proc_is_not() {
        assert_eq!(kind(Path::new("/dev/shm")).expect("exists"), Kind::Memory);
        assert_eq!(kind(Path::new("/proc")).expect("exists"), Kind::Other);
    }

    #[test]
    fn a_path_that_does_not_exist_is_an_error() {
        let nowhere = Path::new("/no/such/path");
        assert_eq!(
            kind(nowhere).expect_err("not there").kind(),
            io::ErrorKind::NotFound
        );
        assert!(free_bytes(nowhere).is_err());
    }

    #[test]
    fn free_room_is_counted() {
        assert!(free_bytes(Path::new("/tmp")).expect("exists") > 0);
    }
}
