//! Where pgdyno keeps what it fetched and the data of its servers.

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use pgdyno_platform::file_system::{self, Kind};
use pgdyno_platform::user::{self, User};

use crate::error::{Error, Result};

/// The cache directory: `PGDYNO_CACHE`, else as root `/var/cache/pgdyno` (which the server's
/// user can reach), else `pgdyno` in `XDG_CACHE_HOME` or `~/.cache`. Servers have their data in it, or where
/// `PGDYNO_SERVERS` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    root: PathBuf,
    servers: Option<PathBuf>,
}

impl Cache {
    /// As the environment says.
    ///
    /// # Errors
    /// When nothing says where.
    pub fn from_env() -> Result<Cache> {
        let home = || env::var_os("HOME").or_else(home_of_user);
        let root = choose(
            env::var_os("PGDYNO_CACHE"),
            user::is_root(),
            env::var_os("XDG_CACHE_HOME"),
            home,
        );
        let servers = env::var_os("PGDYNO_SERVERS").filter(|value| !value.is_empty());
        Ok(Cache {
            root: root.ok_or(Error::NoCacheDirectory)?,
            servers: servers.and_then(|path| std::path::absolute(path).ok()),
        })
    }

    /// At a place of the caller's choice, which is created when needed. It is made absolute.
    ///
    /// # Errors
    /// When the path is relative and the working directory is gone.
    pub fn at(path: &Path) -> Result<Cache> {
        let root = std::path::absolute(path).map_err(Error::file("find", path))?;
        Ok(Cache {
            root,
            servers: None,
        })
    }

    /// The same, with the data of servers in another directory, wherever that lies.
    pub fn with_servers(self, servers: PathBuf) -> Cache {
        Cache {
            servers: Some(servers),
            ..self
        }
    }

    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The file that tells of the kept server.
    pub(crate) fn kept_state(&self) -> PathBuf {
        self.servers
            .as_ref()
            .unwrap_or(&self.root)
            .join("kept.json")
    }

    /// Creates `name` in the cache, open to all for reading when we are root (the server's user
    /// must get through), and returns its path.
    pub(crate) fn directory(&self, name: &str) -> Result<PathBuf> {
        let path = self.root.join(name);
        create_shared(&path)?;
        Ok(path)
    }

    /// The directory for the data of servers: `PGDYNO_SERVERS`, wherever that lies; else in the cache, because
    /// that is on a disk in most set-ups while /tmp often is not. When the cache lies in memory, /var/tmp is taken, which
    /// is meant to survive reboots; when that lies in memory too, the cache after all (the
    /// server then says so, see [`crate::Server::data_in_memory`]).
    pub(crate) fn servers(&self) -> Result<PathBuf> {
        if let Some(path) = &self.servers {
            create_shared(path)?;
            return Ok(path.clone());
        }
        let servers = self.directory("servers")?;
        let in_memory = |path: &Path| matches!(file_system::kind(path), Ok(Kind::Memory));
        let var_tmp = Path::new("/var/tmp");
        if !in_memory(&servers) || !var_tmp.is_dir() || in_memory(var_tmp) {
            return Ok(servers);
        }
        let path = var_tmp.join(format!("pgdyno-{}", user::uid()));
        create_shared(&path)?;
        check_ours(&path)?;
        Ok(path)
    }
}

fn choose(
    pgdyno_cache: Option<OsString>,
    is_root: bool,
    xdg_cache_home: Option<OsString>,
    home: impl Fn() -> Option<OsString>,
) -> Option<PathBuf> {
    let absolute = |value: OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    if let Some(path) = pgdyno_cache.filter(|value| !value.is_empty()) {
        return std::path::absolute(path).ok();
    }
    if is_root {
        return Some("/var/cache/pgdyno".into());
    }
    // A relative XDG_CACHE_HOME is to be ignored (XDG Base Directory Specification).
    xdg_cache_home
        .and_then(absolute)
        .or_else(|| Some(home().and_then(absolute)?.join(".cache")))
        .map(|path| path.join("pgdyno"))
}

fn home_of_user() -> Option<OsString> {
    let user = User::with_uid(user::uid()).ok()??;
    Some(user.home.into_os_string())
}

/// Creates a directory and its parents; whatever the umask, root's are open to all for reading,
/// others' to their owner alone.
pub(crate) fn create_shared(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        create_shared(parent)?;
    }
    let mode = if user::is_root() { 0o755 } else { 0o700 };
    match DirBuilder::new().mode(mode).create(path) {
        Ok(()) => {
            fs::set_permissions(path, fs::Permissions::from_mode(mode))
                .map_err(Error::file("change the permissions of", path))?;
            Ok(())
        }
        // Another pgdyno was faster.
        Err(_) if path.is_dir() => Ok(()),
        Err(source) => Err(Error::File {
            action: "create directory",
            path: path.to_path_buf(),
            source,
        }),
    }
}

/// In a directory where all users may create files, one of ours may be a trap.
fn check_ours(path: &Path) -> Result<()> {
    let meta = fs::symlink_metadata(path).map_err(Error::file("look at", path))?;
    if meta.is_dir() && meta.uid() == user::uid() && meta.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(Error::NotOurs {
        path: path.to_path_buf(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(cache: &str, root: bool, xdg: &str, home: &str) -> Option<PathBuf> {
        let some = |text: &str| (!text.is_empty()).then(|| OsString::from(text));
        choose(some(cache), root, some(xdg), || some(home))
    }

    #[test]
    fn the_cache_is_where_the_environment_says() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(chosen("/c", true, "/x", "/h"), path("/c"));
        assert_eq!(chosen("", true, "/x", "/h"), path("/var/cache/pgdyno"));
        assert_eq!(chosen("", false, "/x", "/h"), path("/x/pgdyno"));
        assert_eq!(chosen("", false, "x", "/h"), path("/h/.cache/pgdyno"));
        assert_eq!(chosen("", false, "", "/h"), path("/h/.cache/pgdyno"));
        assert_eq!(chosen("", false, "", ""), None);
        assert_eq!(
            chosen("relative", false, "/x", "/h"),
            Some(env::current_dir().expect("exists").join("relative"))
        );
    }

    #[test]
    fn a_cache_in_memory_does_not_silently_hold_data() {
        let dir = tempfile::tempdir_in("/dev/shm").expect("shared memory is writable");
        let cache = Cache::at(dir.path()).expect("absolute");
        let servers = cache.servers().expect("created");
        let var_tmp = Path::new("/var/tmp");
        if file_system::kind(var_tmp).expect("exists") == Kind::Memory {
            assert!(servers.starts_with(dir.path()));
        } else {
            assert!(servers.starts_with(var_tmp), "{servers:?}");
        }
    }

    #[test]
    fn servers_are_where_one_wants_them_in_memory_too() {
        let dir = tempfile::tempdir_in("/dev/shm").expect("shared memory is writable");
        let cache = Cache::at(&dir.path().join("cache")).expect("absolute");
        let cache = cache.with_servers(dir.path().join("fast"));
        assert_eq!(cache.servers().expect("created"), dir.path().join("fast"));
        assert_eq!(cache.kept_state(), dir.path().join("fast/kept.json"));
        let usual = Cache::at(dir.path()).expect("absolute");
        assert_eq!(usual.kept_state(), dir.path().join("kept.json"));
    }

    #[test]
    fn a_directory_open_to_others_is_not_ours() {
        let dir = tempfile::tempdir().expect("temporary directory");
        check_ours(dir.path()).expect("ours");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).expect("ours");
        let error = check_ours(dir.path()).expect_err("accessible to others");
        assert!(matches!(error, Error::NotOurs { .. }), "{error}");
    }

    #[test]
    fn a_cache_that_cannot_be_created_names_the_place_and_the_way_out() {
        let cache = Cache::at(Path::new("/proc/no/cache")).expect("absolute");
        let text = cache.servers().expect_err("not in /proc").to_string();
        assert!(text.contains("\"/proc/no\""), "{text}");
    }
}
