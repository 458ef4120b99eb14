//! One server's directory: its data, socket, configuration and log, and the lock that tells
//! whether a process still needs it.
//!
//! ```text
//! servers/                 .pgdyno-lock: held while instances are created and swept
//!   pgdyno-server-XXXXXX/  one for each server that dies with its pgdyno
//!     lock                 held (flock) by pgdyno and by every process of the server
//!     postgresql.conf, log, initdb.log
//!     data/  socket/       belong to the server's user
//!   pgdyno-kept/           the kept server's, never swept
//! ```
//!
//! The processes of the server inherit the lock, so that a lock that is free proves that pgdyno
//! and all of them are gone, whatever became of process ids in the meantime. When pgdyno is
//! root, the directory is root's and only data/ and socket/ are the server's user's, so that the
//! user cannot make root write elsewhere.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use pgdyno_platform::user;

use crate::account::Account;
use crate::error::{Error, Result};

const PREFIX: &str = "pgdyno-server-";
const DEAD_PREFIX: &str = ".dead-";
const LASTING: &str = "pgdyno-kept";
/// What the lock file says. Without it a directory is not ours, and is never removed.
const MARK: &str = "This directory belongs to a server of pgdyno.\n";
/// Where sockets go whose path would be too long otherwise.
const SHORT_PARENT: &str = "/tmp";
const SHORT_PREFIX: &str = "pgdyno-";
/// The longest path of a directory in which a socket's name (`/.s.PGSQL.65535`) still fits the
/// 107 bytes that the kernel gives it (unix(7)).
const SOCKET_DIR_BYTES_MAX: usize = 107 - "/.s.PGSQL.65535".len();

/// A locked directory for one server. Dropped, it is removed, unless it is to stay.
#[derive(Debug)]
pub(crate) struct Instance {
    dir: PathBuf,
    lock: File,
    stays: bool,
}

impl Instance {
    /// Sweeps `parent`, then creates an instance in it.
    pub(crate) fn create(parent: &Path, account: &Account) -> Result<Instance> {
        let guard = guard(parent)?;
        let dead = mark_dead(parent);
        let dir = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(parent)
            .map_err(Error::file("create a directory in", parent))?
            .keep();
        let created = Instance::open(dir.clone(), false);
        drop(guard);
        for dir in dead {
            remove(&dir);
        }
        match created {
            Ok(Some(instance)) => {
                instance.prepare(account)?;
                Ok(instance)
            }
            Ok(None) => Err(Error::KeptBusy { path: dir }), // No other knows its name.
            Err(e) => {
                remove(&dir);
                Err(e)
            }
        }
    }

    /// Where in `parent` the instance that stays lies.
    pub(crate) fn lasting_dir(parent: &Path) -> PathBuf {
        parent.join(LASTING)
    }

    /// The instance that stays, in `dir`, which is created when needed; `None` when another process
    /// holds its lock: a server runs, or another pgdyno starts or stops it.
    pub(crate) fn lasting(dir: &Path, account: &Account) -> Result<Option<Instance>> {
        match DirBuilder::new().mode(0o700).create(dir) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Error::file("create directory", dir)(e));
            }
            _ => {}
        }
        let instance = Instance::reopen(dir)?;
        if let Some(instance) = &instance {
            instance.prepare(account)?;
        }
        Ok(instance)
    }

    /// The same, as it is.
    pub(crate) fn reopen(dir: &Path) -> Result<Option<Instance>> {
        if !is_ours(dir) && !is_empty(dir) {
            return Err(Error::NotOurs {
                path: dir.to_path_buf(),
            });
        }
        Instance::open(dir.to_path_buf(), true)
    }

    /// Whether a process holds the lock of the instance in `dir`.
    pub(crate) fn is_locked(dir: &Path) -> bool {
        File::open(dir.join("lock"))
            .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    fn open(dir: PathBuf, stays: bool) -> Result<Option<Instance>> {
        let path = dir.join("lock");
        let mut lock = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(Error::file("create", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(e)) => return Err(Error::file("lock", &path)(e)),
        }
        if !is_ours(&dir) {
            lock.write_all(MARK.as_bytes())
                .map_err(Error::file("write", &path))?;
        }
        Ok(Some(Instance { dir, lock, stays }))
    }

    /// Opens the way for the server's user and makes the directory of the socket.
    fn prepare(&self, account: &Account) -> Result<()> {
        if account.other_name().is_some() {
            fs::set_permissions(&self.dir, fs::Permissions::from_mode(0o755))
                .map_err(Error::file("change the permissions of", &self.dir))?;
        }
        remove_socket_dir(&self.dir);
        let path = self.dir.join("socket");
        if path.as_os_str().as_bytes().len() <= SOCKET_DIR_BYTES_MAX {
            return own_directory(&path, account);
        }
        let short = tempfile::Builder::new()
            .prefix(SHORT_PREFIX)
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(SHORT_PARENT)
            .map_err(Error::file(
                "create a directory for the socket in",
                Path::new(SHORT_PARENT),
            ))?
            .keep();
        std::os::unix::fs::symlink(&short, &path).map_err(Error::file("create", &path))?;
        account.give(&short)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Directory of the server's data; exists once initdb has done its work.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// An empty directory of ours where a cluster can be made; it becomes the data directory, of the
    /// server's user, only when that has succeeded, so that half a cluster never passes for one.
    pub(crate) fn new_data_dir(&self) -> Result<PathBuf> {
        let path = self.dir.join("data.new");
        if path.exists() {
            fs::remove_dir_all(&path).map_err(Error::file("remove", &path))?;
        }
        private_directory(&path)?;
        Ok(path)
    }

    /// Directory of the Unix socket, short enough for one.
    pub(crate) fn socket_dir(&self) -> PathBuf {
        let path = self.dir.join("socket");
        fs::read_link(&path).unwrap_or(path)
    }

    /// The configuration that pgdyno writes.
    pub(crate) fn config_path(&self) -> PathBuf {
        self.dir.join("postgresql.conf")
    }

    pub(crate) fn log_path(&self) -> PathBuf {
        self.dir.join("log")
    }

    pub(crate) fn initdb_log_path(&self) -> PathBuf {
        self.dir.join("initdb.log")
    }

    /// The lock, for the server's processes to inherit.
    pub(crate) fn lock(&self) -> &File {
        &self.lock
    }

    /// Leaves the directory where it is.
    pub(crate) fn leave(&mut self) {
        self.stays = true;
    }

    /// Removes the instance that stays, data and all. No process of its server may run.
    pub(crate) fn discard(mut self) -> Result<()> {
        self.leave(); // What cannot be removed here is an error, and not tried again.
        remove_socket_dir(&self.dir);
        remove_marked(&self.dir).map_err(Error::file("remove", &self.dir))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if !self.stays {
            remove(&self.dir);
        }
    }
}

/// While it is held no other creates or sweeps, so that an instance without a lock is dead
/// and not just being born.
fn guard(parent: &Path) -> Result<File> {
    let path = parent.join(".pgdyno-lock");
    let file = File::create(&path).map_err(Error::file("create", &path))?;
    file.lock().map_err(Error::file("lock", &path))?;
    Ok(file)
}

/// Finds the instances without a lock and renames them, so that they can be removed
/// without the guard. Call with the guard held.
fn mark_dead(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let path = entry.path();
            let name = entry.file_name().into_string().ok()?;
            let is_own_dir = fs::symlink_metadata(&path)
                .is_ok_and(|meta| meta.is_dir() && meta.uid() == user::uid());
            if !is_own_dir {
                return None;
            }
            if name
                .strip_prefix(DEAD_PREFIX)
                .is_some_and(|name| name.starts_with(PREFIX))
            {
                return Some(path); // The process that marked it was killed, or is still at it.
            }
            let is_dead = name.starts_with(PREFIX)
                && (is_ours(&path) || is_empty(&path))
                && !Instance::is_locked(&path);
            if !is_dead {
                return None;
            }
            let dead = parent.join(format!("{DEAD_PREFIX}{name}"));
            fs::rename(&path, &dead).ok()?;
            Some(dead)
        })
        .collect()
}

/// Whether a directory is a server's of pgdyno.
fn is_ours(dir: &Path) -> bool {
    fs::read(dir.join("lock")).is_ok_and(|text| text.starts_with(MARK.as_bytes()))
}

/// Whether nothing (or nothing but a lock that was not yet written to) is in a directory: then
/// its pgdyno was killed before it could mark it.
fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut entries| {
        entries.all(|entry| {
            entry.is_ok_and(|entry| {
                entry.file_name() == "lock" && entry.metadata().is_ok_and(|meta| meta.len() == 0)
            })
        })
    })
}

/// Removes an instance's directory. What cannot be removed is left for the next sweep: no
/// reason to fail what the user asked for.
fn remove(dir: &Path) {
    remove_socket_dir(dir);
    let _ = remove_marked(dir);
}

/// Removes a directory, its mark last: what a kill leaves of it is still known as ours.
fn remove_marked(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if entry.file_name() != "lock" {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_dir_all(dir)
}

/// Removes the directory of the socket with what a killed server left in it, be it in the
/// instance or in /tmp.
fn remove_socket_dir(dir: &Path) {
    let path = dir.join("socket");
    let Ok(short) = fs::read_link(&path) else {
        let _ = fs::remove_dir_all(&path);
        return;
    };
    let name = short.file_name().unwrap_or_default().to_string_lossy();
    if short.parent() == Some(Path::new(SHORT_PARENT)) && name.starts_with(SHORT_PREFIX) {
        let _ = fs::remove_dir_all(&short);
    }
    let _ = fs::remove_file(&path);
}

/// Creates a directory that only the server's user (and root) can enter.
fn own_directory(path: &Path, account: &Account) -> Result<()> {
    private_directory(path)?;
    account.give(path)
}

fn private_directory(path: &Path) -> Result<()> {
    DirBuilder::new()
        .mode(0o700)
        .create(path)
        .map_err(Error::file("create directory", path))
}

/// Whether the file system of `dir` keeps its files in memory.
pub(crate) fn is_in_memory(dir: &Path) -> bool {
    use pgdyno_platform::file_system::{Kind, kind};
    matches!(kind(dir), Ok(Kind::Memory))
}

/// Makes the parent of instances when the user has named one; as root it must let the server's
/// user through, which only its owner can see to when it exists.
pub(crate) fn named_parent(path: &Path) -> Result<PathBuf> {
    let path = std::path::absolute(path).map_err(Error::file("find", path))?;
    if !path.exists() {
        let mode = if user::is_root() { 0o755 } else { 0o700 };
        DirBuilder::new()
            .recursive(true)
            .mode(mode)
            .create(&path)
            .map_err(Error::file("create directory", &path))?;
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> Account {
        Account::choose(None).expect("a user can run a server here")
    }

    fn names(parent: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(parent)
            .expect("exists")
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name != ".pgdyno-lock")
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_dead_is_swept_and_what_is_held_or_not_ours_stays() {
        let parent = tempfile::tempdir().expect("temporary directory");
        let parent = parent.path();
        let held = Instance::create(parent, &account()).expect("created");
        for dead in ["pgdyno-server-dead", ".dead-pgdyno-server-older"] {
            fs::create_dir_all(parent.join(dead).join("data")).expect("created");
            fs::write(parent.join(dead).join("lock"), MARK).expect("written");
        }
        fs::create_dir(parent.join("pgdyno-server-unborn")).expect("created");
        let not_ours = ["pgdyno-server-of-a-namesake", "server-1", ".dead-letters"];
        for name in not_ours {
            fs::create_dir(parent.join(name)).expect("created");
            fs::write(parent.join(name).join("precious"), "").expect("written");
            fs::write(parent.join(name).join("lock"), "").expect("written");
        }
        let lasting = Instance::lasting(&Instance::lasting_dir(parent), &account());
        drop(lasting.expect("created"));
        let new = Instance::create(parent, &account()).expect("created");

        let name = |instance: &Instance| {
            let name = instance.dir().file_name().expect("has a name");
            name.to_string_lossy().into_owned()
        };
        let mut expected = vec![name(&held), name(&new), LASTING.into()];
        expected.extend(not_ours.map(String::from));
        expected.sort();
        assert_eq!(names(parent), expected);
        drop((held, new));
        assert_eq!(names(parent).len(), 1 + not_ours.len());
    }

    #[test]
    fn a_directory_that_is_not_ours_never_becomes_the_lasting_one() {
        let parent = tempfile::tempdir().expect("temporary directory");
        fs::write(parent.path().join("precious"), "").expect("written");
        let error = Instance::lasting(parent.path(), &account()).expect_err("not ours");
        assert!(matches!(error, Error::NotOurs { .. }), "{error}");
    }

    #[test]
    fn the_socket_fits_however_deep_the_instance_lies() {
        let parent = tempfile::tempdir().expect("temporary directory");
        let deep = parent.path().join("d".repeat(100));
        fs::create_dir(&deep).expect("created");
        let instance = Instance::create(&deep, &account()).expect("created");
        let socket_dir = instance.socket_dir();
        assert!(socket_dir.as_os_str().len() <= SOCKET_DIR_BYTES_MAX);
        assert!(socket_dir.starts_with(SHORT_PARENT), "{socket_dir:?}");
        let mode = fs::metadata(&socket_dir)
            .expect("exists")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(instance);
        assert!(!socket_dir.exists(), "it is removed with the instance");
    }

    #[test]
    fn a_link_that_leads_elsewhere_is_not_followed_when_removing() {
        let parent = tempfile::tempdir().expect("temporary directory");
        let elsewhere = parent.path().join("elsewhere");
        fs::create_dir(&elsewhere).expect("created");
        let dir = parent.path().join("pgdyno-server-x");
        fs::create_dir(&dir).expect("created");
        std::os::unix::fs::symlink(&elsewhere, dir.join("socket")).expect("linked");
        remove(&dir);
        assert!(!dir.exists());
        assert!(elsewhere.exists());
    }

    #[test]
    fn one_pgdyno_at_a_time_has_the_lasting_instance() {
        let parent = tempfile::tempdir().expect("temporary directory");
        let dir = Instance::lasting_dir(parent.path());
        assert!(!Instance::is_locked(&dir));
        let first = Instance::lasting(&dir, &account()).expect("created");
        assert!(first.is_some());
        assert!(Instance::is_locked(&dir));
        assert!(
            Instance::lasting(&dir, &account())
                .expect("exists")
                .is_none()
        );
        drop(first);
        assert!(dir.exists(), "it stays");
        let again = Instance::lasting(&dir, &account()).expect("exists");
        again.expect("free").discard().expect("removed");
        assert!(!dir.exists());
    }
}
