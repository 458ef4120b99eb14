//! Where the store is, and whether a file is one, found out without touching it.
//!
//! A process that closes a file loses all its POSIX locks on it, those of SQLite included, and
//! another process may then take the store for unused (<https://www.sqlite.org/howtocorrupt.html>,
//! section 2.2). So a file is looked at only before this process has it open as a store.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pgdyno_platform::user;
use pgdyno_session::ConnInfo;
use pgdyno_spec::{Exit, Failure, defaults, duration};

/// `application_id` in the header of every store: "pgdn".
pub const APPLICATION_ID: i32 = 0x7067_646e;

/// That of the stores of builds before the tables of today: "pgdy".
const APPLICATION_ID_EARLIER: i32 = 0x7067_6479;

/// What every SQLite file begins with, and where its header has the `application_id`
/// (<https://www.sqlite.org/fileformat.html#the_database_header>).
const MAGIC: &[u8] = b"SQLite format 3\0";
const APPLICATION_ID_AT: usize = 68;

/// The store's path: what was asked for, else `PGDYNO_STORE`, else what a configuration file says, else
/// `pgdyno/notebook.sqlite` in `XDG_DATA_HOME` or `~/.local/share`.
///
/// # Errors
/// Nothing says where.
pub fn path(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    choose(
        asked,
        env::var_os("PGDYNO_STORE"),
        defaults::get()
            .store
            .as_ref()
            .map(|said| said.value.clone()),
        env::var_os("XDG_DATA_HOME"),
        env::var_os("HOME"),
    )
    .ok_or_else(nowhere)
}

/// Whether `PGDYNO_STORE` or a configuration file names a store: then commands keep their runs there that keep
/// none by themselves.
pub fn is_named() -> bool {
    let variable = env::var_os("PGDYNO_STORE").filter(|value| !value.is_empty());
    variable.is_some() || defaults::get().store.is_some()
}

fn choose(
    asked: Option<&Path>,
    store: Option<OsString>,
    configured: Option<PathBuf>,
    data_home: Option<OsString>,
    home: Option<OsString>,
) -> Option<PathBuf> {
    let store = store.filter(|value| !value.is_empty()).map(PathBuf::from);
    let path = asked.map(Path::to_owned).or(store).or(configured);
    path.or_else(|| Some(user::data_home_of(data_home, home)?.join("pgdyno/notebook.sqlite")))
}

/// The connection string, where a store's path is one: a URL, or the first of its `key=value` pairs.
pub fn server(path: &Path) -> Option<&str> {
    const BEGINNINGS: [&str; 8] = [
        "postgresql://",
        "postgres://",
        "service=",
        "host=",
        "hostaddr=",
        "port=",
        "user=",
        "dbname=",
    ];
    let text = path.to_str()?;
    let is_server = BEGINNINGS
        .iter()
        .any(|beginning| text.starts_with(beginning));
    is_server.then_some(text)
}

/// A server and its database, as a URL without secrets.
pub fn shown(info: &ConnInfo) -> String {
    let (user, port, dbname) = (info.user(), info.port(), info.dbname());
    let host = info.hosts().next().unwrap_or_default();
    if host.starts_with('/') || host.is_empty() {
        format!("postgresql://{user}@/{dbname}?host={host}&port={port}")
    } else {
        format!("postgresql://{user}@{host}:{port}/{dbname}")
    }
}

/// The file in which rows wait for the notebook with this UUID.
///
/// # Errors
/// Nothing says where.
pub fn waiting(uuid: &str) -> Result<PathBuf, Failure> {
    let data = user::data_home().ok_or_else(nowhere)?;
    Ok(data.join(format!("pgdyno/waiting/{uuid}.sqlite")))
}

/// So long a server that is away is waited for before a trial, unless `PGDYNO_STORE_WAIT` says otherwise.
const WAIT: Duration = Duration::from_secs(60);

/// How long a server that is away is waited for before a trial.
///
/// # Errors
/// The environment says something that is no duration.
pub fn wait() -> Result<Duration, Failure> {
    match env::var("PGDYNO_STORE_WAIT") {
        Ok(text) if !text.is_empty() => duration::parse(&text)
            .map_err(|e| Failure::with(Exit::Usage, format!("PGDYNO_STORE_WAIT={text}: {e}"))),
        _ => Ok(WAIT),
    }
}

fn nowhere() -> Failure {
    Failure::new("no location for the notebook: HOME is not set")
        .hint("name a file: --store PATH, or PGDYNO_STORE in the environment")
}

/// The files that this process has, or had, open as stores: device and inode.
static OPENED: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());

/// Held from looking at a file until it is open as a store.
pub struct Opening(MutexGuard<'static, BTreeSet<(u64, u64)>>);

impl Opening {
    /// Waits until no other thread opens a store.
    pub fn begin() -> Self {
        Self(OPENED.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The file is open as a store now.
    pub fn opened(mut self, path: &Path) {
        self.0.extend(identity(path));
    }

    /// Looks at what lies there.
    ///
    /// # Errors
    /// It is something else than a store, or cannot be read.
    pub fn look(&self, path: &Path) -> Result<PathContent, Failure> {
        match identity(path) {
            Some(known) if self.0.contains(&known) => Ok(PathContent::Store),
            _ => look(path),
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let file = std::fs::metadata(path).ok()?;
    Some((file.dev(), file.ino()))
}

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathContent {
    /// Nothing, or an empty file.
    Nothing,
    Store,
}

fn look(path: &Path) -> Result<PathContent, Failure> {
    let mut header = Vec::new();
    let place = path.display();
    let read = File::open(path).and_then(|file| file.take(100).read_to_end(&mut header));
    match read {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(PathContent::Nothing),
        Err(e) => {
            let text = format!("cannot read the store {place}: {e}");
            return Err(Failure::new(text).hint("name another file with --store or PGDYNO_STORE"));
        }
        Ok(0) => return Ok(PathContent::Nothing),
        Ok(_) => {}
    }
    let id = header.get(APPLICATION_ID_AT..APPLICATION_ID_AT + 4);
    if header.starts_with(MAGIC) && id == Some(&APPLICATION_ID.to_be_bytes()) {
        return Ok(PathContent::Store);
    }
    if header.starts_with(MAGIC) && id == Some(&APPLICATION_ID_EARLIER.to_be_bytes()) {
        return Err(Failure::new(format!(
            "the store {place} is of an earlier build of pgdyno"
        ))
        .detail("its tables are others, and there was no release yet that would lead to today's")
        .detail("it was left as it is")
        .hint("name another file with --store or PGDYNO_STORE, or move this one away"));
    }
    Err(no_store(path))
}

/// Creates an empty file that only its user can read, if there is none: results reveal much about a
/// server. SQLite gives its journals the same mode. The mode of an existing file is not changed.
///
/// # Errors
/// It or its folder cannot be created.
pub fn create(path: &Path) -> Result<(), Failure> {
    let failed = |what: &Path, e: &io::Error| {
        Failure::new(format!(
            "cannot create {} for the store: {e}",
            what.display()
        ))
        .hint("name another file with --store or PGDYNO_STORE")
    };
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(|e| failed(parent, &e))?;
    }
    let mut options = OpenOptions::new();
    let made = options.write(true).create_new(true).mode(0o600).open(path);
    match made {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(failed(path, &e)),
        _ => Ok(()),
    }
}

pub fn no_store(path: &Path) -> Failure {
    Failure::new(format!("{} is no pgdyno store", path.display()))
        .detail("it was left as it is")
        .hint("name another file with --store or PGDYNO_STORE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_decides_where_the_store_is() {
        let os = |text: &str| Some(OsString::from(text));
        let asked = Path::new("here.sqlite");
        let path = |asked, store, data, home| choose(asked, store, None, data, home);
        assert_eq!(
            path(Some(asked), os("/env"), os("/data"), os("/home/me")),
            Some("here.sqlite".into())
        );
        assert_eq!(
            path(None, os("/env"), os("/data"), os("/home/me")),
            Some("/env".into())
        );
        assert_eq!(
            path(None, os(""), os("/data"), os("/home/me")),
            Some("/data/pgdyno/notebook.sqlite".into())
        );
        assert_eq!(
            path(None, None, os("relative"), os("/home/me")),
            Some("/home/me/.local/share/pgdyno/notebook.sqlite".into())
        );
        assert_eq!(path(None, None, None, None), None);
        // A configuration file's is between the environment's and the built-in one.
        let configured = |store| choose(None, store, Some("/file".into()), os("/data"), None);
        assert_eq!(configured(os("/env")), Some("/env".into()));
        assert_eq!(configured(None), Some("/file".into()));
    }

    #[test]
    fn a_file_of_another_kind_is_no_store() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        assert_eq!(look(&file), Ok(PathContent::Nothing));
        std::fs::write(&file, "").unwrap();
        assert_eq!(look(&file), Ok(PathContent::Nothing));
        for content in ["text", "SQLite format 3\0"] {
            std::fs::write(&file, content).unwrap();
            let e = look(&file).unwrap_err().to_string();
            assert!(e.contains("is no pgdyno store"), "{e}");
        }
        let mut earlier = b"SQLite format 3\0".to_vec();
        earlier.resize(APPLICATION_ID_AT, 0);
        earlier.extend(APPLICATION_ID_EARLIER.to_be_bytes());
        std::fs::write(&file, earlier).unwrap();
        let e = look(&file).unwrap_err().to_string();
        assert!(
            e.contains("is of an earlier build") && e.contains("--store"),
            "{e}"
        );
        let e = look(dir.path()).unwrap_err().to_string();
        assert!(e.contains("cannot read the store"), "{e}");
    }
}
