//! Room on a disk that is kept for later.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, OFlags, fallocate};

/// Bytes of a file system that nothing else can take until this is dropped. A file without a name holds
/// them, so that nothing is left of it when the process is killed.
#[derive(Debug)]
pub struct Reserve {
    _file: File,
}

impl Reserve {
    /// Keeps `bytes` free where the folder `folder` lies.
    ///
    /// # Errors
    /// There is no such room, or the file system cannot keep any (NFS before 4.2, some of FUSE).
    pub fn of(folder: &Path, bytes: u64) -> io::Result<Self> {
        let file = OpenOptions::new()
            .write(true)
            .mode(0o600)
            .custom_flags(OFlags::TMPFILE.bits() as i32)
            .open(folder)?;
        fallocate(&file, FallocateFlags::empty(), 0, bytes)?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_taken_without_a_name_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let reserve = Reserve::of(folder.path(), 1 << 20).unwrap();
        assert_eq!(reserve._file.metadata().unwrap().len(), 1 << 20);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        // More than any disk has.
        assert!(Reserve::of(folder.path(), 1 << 60).is_err());
        assert!(Reserve::of(&folder.path().join("none"), 1).is_err());
    }
}
