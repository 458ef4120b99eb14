//! WAL that lies elsewhere for a while: a symbolic link in the data directory, as `initdb --waldir` makes it.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use crate::account::Account;
use crate::error::{Error, Result};
use crate::postmaster;
use crate::server::{Server, not_ended};

const WAL: &str = "pg_wal";
/// What it is called while WAL is away: beside the data directory, so that no backup has it.
const LEFT: &str = "pg_wal.left";
/// A WAL segment's name has so many characters (manual of PostgreSQL, WAL Internals).
const SEGMENT_NAME_LENGTH: usize = 24;

impl Server {
    /// Stops it with a checkpoint, moves what it needs of its WAL to the new directory `to`, whose parent the server's
    /// user can enter, and starts it again. Connections are lost.
    ///
    /// # Errors
    /// WAL is elsewhere already, a file cannot be copied, or the server does not stop or start.
    /// [`Server::bring_wal_back`] puts back what was done until then.
    pub fn move_wal(&self, to: &Path) -> Result<()> {
        let home = self.data_dir().join(WAL);
        if home.is_symlink() {
            return Err(Error::Standby {
                what: "move the server's WAL".into(),
                reason: format!("{} is a link already", home.display()),
            });
        }
        // What comes before it is of no use once there is a later checkpoint.
        let first = self.segment()?;
        self.with_plan(|plan, instance, child| {
            if !postmaster::stop(child, plan.limit) {
                return Err(not_ended(child));
            }
            directory(to, plan.account)?;
            copy(&home, to, plan.account, &first)?;
            let left = left(self);
            fs::rename(&home, &left).map_err(Error::file("move WAL to", &left))?;
            symlink(to, &home).map_err(Error::file("create", &home))?;
            plan.account.give(&home)?;
            *child = postmaster::start(plan, instance)?;
            Ok(())
        })
    }

    /// Stops it, has its WAL in the data directory again, and starts it. Does nothing where WAL is there and the server
    /// runs.
    ///
    /// # Errors
    /// A file cannot be copied, or the server does not stop or start.
    pub fn bring_wal_back(&self) -> Result<()> {
        let (home, left) = (self.data_dir().join(WAL), left(self));
        if !left.exists() && self.is_running() {
            return Ok(());
        }
        self.with_plan(|plan, instance, child| {
            if !postmaster::stop(child, plan.limit) && !postmaster::end(child) {
                return Err(not_ended(child));
            }
            if left.exists() {
                if let Ok(away) = fs::read_link(&home) {
                    for entry in fs::read_dir(&left).map_err(Error::file("read", &left))? {
                        let path = entry.map_err(Error::file("read", &left))?.path();
                        if is_segment(&path) {
                            fs::remove_file(&path).map_err(Error::file("remove", &path))?;
                        }
                    }
                    copy(&away, &left, plan.account, "")?;
                    fs::remove_file(&home).map_err(Error::file("remove", &home))?;
                }
                fs::rename(&left, &home).map_err(Error::file("move WAL to", &home))?;
            }
            *child = postmaster::start(&plan.to_its_end(), instance)?;
            Ok(())
        })
    }

    /// The segment that is written now.
    fn segment(&self) -> Result<String> {
        let name = self.ask("SELECT pg_walfile_name(pg_current_wal_lsn())")?;
        Ok(name.into_iter().flatten().next().unwrap_or_default())
    }
}

fn left(server: &Server) -> PathBuf {
    server.instance().dir().join(LEFT)
}

fn is_segment(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.len() == SEGMENT_NAME_LENGTH && name.iter().all(u8::is_ascii_hexdigit)
}

fn directory(path: &Path, account: &Account) -> Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(Error::file("create directory", path)(e))
        }
        _ => account.give(path),
    }
}

/// Copies a directory of WAL, of its segments those from `first` on.
fn copy(from: &Path, to: &Path, account: &Account, first: &str) -> Result<()> {
    for entry in fs::read_dir(from).map_err(Error::file("read", from))? {
        let source = entry.map_err(Error::file("read", from))?.path();
        let name = source.file_name().unwrap_or_default();
        let target = to.join(name);
        if source.is_dir() {
            directory(&target, account)?;
            copy(&source, &target, account, first)?;
        } else if !is_segment(&source) || *name.to_string_lossy() >= *first {
            fs::copy(&source, &target).map_err(Error::file("copy", &source))?;
            account.give(&target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_wal_what_is_needed_is_copied() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("archive_status")).unwrap();
        fs::create_dir(&to).unwrap();
        let segment = |number: u8| format!("0000000100000000000000{number:02X}");
        for number in [8, 9, 10] {
            fs::write(from.join(segment(number)), [number]).unwrap();
        }
        fs::write(from.join("00000002.history"), "").unwrap();
        let account = Account::choose(None).unwrap();
        copy(&from, &to, &account, &segment(9)).unwrap();
        let has = |name: &str| to.join(name).exists();
        assert!(!has(&segment(8)) && has(&segment(9)) && has(&segment(10)));
        assert!(has("archive_status") && has("00000002.history"));
    }
}
