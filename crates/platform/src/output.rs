//! A file for a result: checked before the work, replaced only when there is a result.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

/// A file for a result. A file that exists keeps its content until there is something to write; a new one
/// that nothing was written to is removed again.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    file: File,
    is_new: bool,
    has_begun: bool,
}

impl Output {
    /// Opens `path` for writing, and creates it where there is none.
    ///
    /// # Errors
    /// It cannot be created or written.
    pub fn open(path: &Path) -> io::Result<Self> {
        let is_new = fs::symlink_metadata(path).is_err();
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            is_new,
            has_begun: false,
        })
    }

    /// Where it is, as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes `content` all that is in the file. Readers see the old content or the new one, and an error
    /// leaves the old one. What is no regular file (a pipe, `/dev/stdout`) is written to directly, and so is a
    /// file in a directory in which no other can be made.
    ///
    /// # Errors
    /// It cannot be written: a full disk.
    pub fn replace(mut self, content: &[u8]) -> io::Result<()> {
        if !self.file.metadata()?.is_file() {
            return self.write_all(content);
        }
        // The file behind a symbolic link is replaced, not the link.
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        match crate::file_system::replace(&path, content) {
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => self.write_all(content),
            replaced => {
                self.has_begun = replaced.is_ok();
                replaced
            }
        }
    }

    /// Empties the file before the first write.
    fn begin(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.has_begun, true) && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
            self.file.rewind()?;
        }
        Ok(())
    }
}

/// A piece at a time, for what grows: the first one empties the file.
impl Write for Output {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.begin()?;
        self.file.write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.is_new && !self.has_begun {
            // Another may have written to it meanwhile.
            let is_empty = fs::metadata(&self.path).is_ok_and(|it| it.is_file() && it.len() == 0);
            if is_empty {
                let _ = fs::remove_file(&self.path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_keeps_its_content_until_there_is_a_new_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result");
        drop(Output::open(&path).unwrap());
        assert!(!path.exists(), "nothing was written");
        Output::open(&path).unwrap().replace(b"old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        drop(Output::open(&path).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        let mut growing = Output::open(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        growing.write_all(b"a").unwrap();
        growing.write_all(b"b").unwrap();
        drop(growing);
        assert_eq!(fs::read_to_string(&path).unwrap(), "ab");
        let link = dir.path().join("link");
        symlink(&path, &link).unwrap();
        Output::open(&link).unwrap().replace(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_is_no_file_is_written_to_and_what_cannot_be_written_is_an_error() {
        Output::open(Path::new("/dev/null"))
            .unwrap()
            .replace(b"x")
            .unwrap();
        let dir = tempfile::tempdir().unwrap();
        assert!(Output::open(dir.path()).is_err());
        assert!(Output::open(&dir.path().join("none/file")).is_err());
        // What takes nothing more is reported, and what was there before stays.
        let full = Output::open(Path::new("/dev/full")).unwrap().replace(b"x");
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
