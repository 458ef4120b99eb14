//! What can go wrong, each with the way out.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub type Result<T> = std::result::Result<T, Error>;

/// Why there is no server. `Display` is complete: thing, place and way out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing says where to keep things.
    #[error(
        "no directory to keep PostgreSQL in: neither HOME nor XDG_CACHE_HOME is set\n\
         Set PGDYNO_CACHE to a directory that pgdyno may write to."
    )]
    NoCacheDirectory,

    /// A directory or file could not be used.
    #[error(
        "could not {action} \"{}\": {source}{}", path.display(), way_out_of_io(source)
    )]
    File {
        /// What was tried, as an infinitive.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },

    /// A directory that pgdyno would use belongs to another user.
    #[error(
        "directory \"{}\" was not created by pgdyno, belongs to another user, or is accessible to \
         others, so it is not used\n\
         Move it away, or set PGDYNO_CACHE to your own directory on a disk.", path.display()
    )]
    NotOurs { path: PathBuf },

    /// The named user does not exist.
    #[error(
        "user \"{name}\" does not exist, to run PostgreSQL as\n\
         Name another with --pg-user, or create it: useradd --system {name}"
    )]
    NoSuchUser { name: String },

    /// PostgreSQL does not run as root.
    #[error(
        "PostgreSQL refuses to run as \"{name}\", which has root's rights\n\
         Name an unprivileged user with --pg-user."
    )]
    RootUser { name: String },

    /// Only root can run a server as another user.
    #[error(
        "only root can run PostgreSQL as another user (\"{name}\")\n\
         Leave --pg-user out to run it as yourself."
    )]
    NotRoot { name: String },

    /// Running as root without a user to run the server as.
    #[error(
        "PostgreSQL refuses to run as root, and none of the users {tried} exists\n\
         Create one (useradd --system pgdyno), name one with --pg-user, run pgdyno as an \
         ordinary user, or name a server that runs with --url."
    )]
    NoUnprivilegedUser { tried: String },

    /// The user database cannot be read.
    #[error("could not look up user \"{name}\": {source}")]
    UserLookup { name: String, source: io::Error },

    /// The directory named holds no usable server.
    #[error(
        "no usable PostgreSQL in \"{}\": {reason}\n\
         --pg-bindir must name a directory that holds postgres and initdb; \
         `pg_config --bindir` prints it.", path.display()
    )]
    Bindir {
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// There is nothing to fetch for this kind of machine.
    #[error(
        "no PostgreSQL server binaries found, and there are none to download for {arch}{passed_over}\n\
         Install PostgreSQL's server (package postgresql), or name its binaries with --pg-bindir."
    )]
    NoBuild {
        arch: &'static str,
        /// What was found but could not be used.
        passed_over: PassedOver,
    },

    #[error(
        "no PostgreSQL server binaries found, and PostgreSQL {version} could not be downloaded: {reason}{passed_over}\n\
         Check the network (HTTPS_PROXY is heeded), install PostgreSQL's server (package \
         postgresql), name its binaries with --pg-bindir, or name a server that runs with --url."
    )]
    Download {
        /// What was to be fetched.
        version: &'static str,
        reason: String,
        /// What was found but could not be used.
        passed_over: PassedOver,
    },

    /// What was fetched is not what was expected; nothing of it was kept.
    #[error(
        "the downloaded PostgreSQL {version} is not what it should be: {reason}\n\
         Nothing of it was kept. Try again; if it stays so, something between here and the \
         source changes it: install PostgreSQL's server (package postgresql) instead."
    )]
    Archive {
        /// What was to be fetched.
        version: &'static str,
        /// What is wrong with it.
        reason: String,
    },

    /// The binaries fetched do not run here.
    #[error(
        "the downloaded PostgreSQL in \"{}\" does not run here: {reason}\n\
         Install PostgreSQL's server (package postgresql), or name its binaries with --pg-bindir.",
        path.display()
    )]
    DownloadUnusable { path: PathBuf, reason: String },

    /// A setting cannot be passed on.
    #[error("setting \"{text}\": {reason}")]
    Setting {
        text: String,
        /// What is wrong with it, and what to write instead.
        reason: String,
    },

    /// A program of PostgreSQL could not be started.
    #[error("could not run \"{}\": {source}{}", path.display(), way_out_of_io(source))]
    Run { path: PathBuf, source: io::Error },

    #[error("initdb could not create a database cluster in \"{}\"; it said:\n{said}{}",
        path.display(), way_out_of_words(said))]
    Initdb { path: PathBuf, said: String },

    /// The server ended before it was ready.
    #[error(
        "PostgreSQL {version} did not start; it said:\n{said}{}",
        way_out_of_words(said)
    )]
    Start {
        version: String,
        /// The last words of its log.
        said: String,
    },

    /// The server was not ready in time and was stopped again.
    #[error(
        "PostgreSQL {version} was not ready after {} s; it said:\n{said}", limit.as_secs()
    )]
    StartTimeout {
        version: String,
        limit: Duration,
        /// The last words of its log.
        said: String,
    },

    /// The user did not want to wait any longer.
    #[error("interrupted before PostgreSQL was ready")]
    Interrupted,

    /// The kept server's data need another major version.
    #[error(
        "the kept server's data in \"{}\" are of PostgreSQL {data}, and the binaries found are {binaries}\n\
         Name binaries of version {data} with --pg-bindir, or discard the data: \
         pgdyno server stop --discard", path.display()
    )]
    OtherVersion {
        path: PathBuf,
        /// Major version of the data.
        data: String,
        binaries: String,
    },

    /// Another pgdyno is starting or stopping the kept server, or it is not answering yet.
    #[error(
        "the kept server in \"{}\" is not ready; it may be starting, stopping or recovering\nTry again in a \
         moment; its log is \"{}\".",
        path.display(), path.join("log").display()
    )]
    KeptBusy { path: PathBuf },

    /// A standby could not be made, or a pair of servers does not obey.
    #[error("could not {what}: {reason}")]
    Standby {
        /// What was tried, as an infinitive.
        what: String,
        reason: String,
    },

    /// The server did not end.
    #[error("PostgreSQL (process {pid}) did not stop within {} s: {reason}", limit.as_secs())]
    Stop {
        pid: u32,
        limit: Duration,
        reason: String,
    },
}

/// Installations that were found but could not be used, each with the reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PassedOver(pub Vec<(PathBuf, String)>);

impl std::fmt::Display for PassedOver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (path, reason) in &self.0 {
            write!(
                f,
                "\nfound but not usable: \"{}\": {reason}",
                path.display()
            )?;
        }
        Ok(())
    }
}

impl Error {
    /// For `map_err` on operations on a file or directory.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::File {
            action,
            path: path.to_path_buf(),
            source,
        }
    }
}

const DISK_FULL: &str = "\nThe disk is full. Free some room, or set PGDYNO_CACHE to a directory \
                         on another disk.";

fn way_out_of_io(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DISK_FULL,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "\nSet PGDYNO_CACHE to a directory that pgdyno may write to."
        }
        _ => "",
    }
}

/// PostgreSQL's programs run in locale C, so their words are known.
fn way_out_of_words(said: &str) -> &'static str {
    if said.contains("No space left on device") {
        DISK_FULL
    } else if said.contains("could not create shared memory segment")
        || said.contains("could not map anonymous shared memory")
    {
        "\nThere is not enough memory for it: lower shared_buffers (--pg-set shared_buffers=…)."
    } else if said.contains("could not create any TCP/IP sockets") {
        "\nSomething else listens on that port: choose another."
    } else if said.contains("Permission denied") {
        "\nThe user that PostgreSQL runs as must be able to get through to that directory: \
         set PGDYNO_CACHE to one that it can reach."
    } else {
        ""
    }
}
