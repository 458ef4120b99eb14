//! Bytes that are written now and read once at the end, so that what grows with time takes no memory:
//! a temporary file without a name, which is gone when the process is, however that ends.
//!
//! Writing never fails: where the file cannot be created, or its disk is full, bytes stay in memory.

use std::fs::{File, OpenOptions, remove_file};
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// So much is gathered before it goes to the file.
const TAIL_BYTES: usize = 16 << 10;
/// A killed process with the same number may have left a name behind.
const NAMES_MAX: usize = 100;

/// Bytes in the order in which they were added.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    file: Option<File>,
    /// Whether the tail may still go to a file.
    has_room: bool,
    /// So much of the file counts.
    filed_bytes: u64,
    tail: Vec<u8>,
}

impl Default for Spool {
    /// One whose file is in the folder for temporary files (`TMPDIR`, else `/tmp`).
    fn default() -> Self {
        Self::within(std::env::temp_dir())
    }
}

impl Spool {
    /// One whose file is in this folder. It is created when there is enough to write.
    pub fn within(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            file: None,
            has_room: true,
            filed_bytes: 0,
            tail: Vec::new(),
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        if self.tail.len() >= TAIL_BYTES && self.has_room {
            self.has_room = self.file_tail().is_ok();
        }
    }

    fn file_tail(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(nameless(&self.folder)?),
        };
        // What a failure leaves of it in the file is beyond `filed_bytes`.
        file.write_all(&self.tail)?;
        self.filed_bytes += self.tail.len() as u64;
        self.tail.clear();
        Ok(())
    }

    /// How many bytes of memory it takes.
    pub fn memory_bytes(&self) -> usize {
        self.tail.capacity()
    }

    /// All bytes again.
    ///
    /// # Errors
    /// The file cannot be read; also later, by the reader.
    pub fn into_reader(self) -> io::Result<impl Read> {
        let tail = Cursor::new(self.tail);
        let filed = match self.file {
            None => None,
            Some(mut file) => {
                file.seek(SeekFrom::Start(0))?;
                Some(BufReader::new(file.take(self.filed_bytes)))
            }
        };
        let filed: Box<dyn Read> = match filed {
            Some(file) => Box::new(file),
            None => Box::new(io::empty()),
        };
        Ok(filed.chain(tail))
    }
}

/// A new file that only this process can reach.
fn nameless(folder: &Path) -> io::Result<File> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..NAMES_MAX {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("pgdyno-{}-{number}.spool", process::id()));
        // `create_new` follows no link that waits at this name.
        let mut new = OpenOptions::new();
        new.read(true).write(true).create_new(true).mode(0o600);
        match new.open(&path) {
            Ok(file) => {
                remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    fn read(spool: Spool) -> Vec<u8> {
        let mut all = Vec::new();
        spool.into_reader().unwrap().read_to_end(&mut all).unwrap();
        all
    }

    /// Pushes some more, each time other bytes.
    fn fill(spool: &mut Spool, expected: &mut Vec<u8>, times: usize) {
        for _ in 0..times {
            let some: Vec<u8> = (0..1000).map(|i| (expected.len() + i * 7) as u8).collect();
            spool.push(&some);
            expected.extend(some);
        }
    }

    #[test]
    fn a_megabyte_takes_no_memory_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let (mut spool, mut expected) = (Spool::within(folder.path()), Vec::new());
        fill(&mut spool, &mut expected, 1000);
        assert!(spool.memory_bytes() <= 3 * TAIL_BYTES);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
        assert!(read(spool) == expected);
    }

    #[test]
    fn without_a_folder_bytes_stay_in_memory() {
        let (mut spool, mut expected) = (Spool::within("/no/such/folder"), Vec::new());
        fill(&mut spool, &mut expected, 100);
        assert!(spool.memory_bytes() >= 100_000);
        assert!(read(spool) == expected);
        assert!(read(Spool::default()).is_empty());
    }

    #[test]
    fn what_a_full_disk_does_not_take_comes_after_what_it_took() {
        let folder = tempfile::tempdir().unwrap();
        let (mut spool, mut expected) = (Spool::within(folder.path()), Vec::new());
        fill(&mut spool, &mut expected, 50);
        // The same file, which cannot be written this way.
        let file = spool.file.take().unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        spool.file = Some(File::open(path).unwrap());
        assert!(spool.filed_bytes > 0);
        fill(&mut spool, &mut expected, 50);
        assert!(read(spool) == expected);
    }

    #[test]
    fn a_name_that_is_taken_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let id = process::id();
        for number in 0..50 {
            let path = folder.path().join(format!("pgdyno-{id}-{number}.spool"));
            std::fs::write(path, "another's").unwrap();
        }
        let (mut spool, mut expected) = (Spool::within(folder.path()), Vec::new());
        fill(&mut spool, &mut expected, 50);
        assert!(spool.filed_bytes > 0 && read(spool) == expected);
        assert_eq!(folder.path().read_dir().unwrap().count(), 50);
    }
}
