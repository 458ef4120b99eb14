//! Creating a database cluster.

use std::fs::File;
use std::path::Path;

use pgdyno_platform::child::{self, Signal};

use crate::account::Account;
use crate::address::SUPERUSER;
use crate::error::{Error, Result};
use crate::installation::Installation;
use crate::instance::Instance;
use crate::postmaster::last_words;

/// Superuser `postgres`, encoding UTF8, locale C, trust for all who reach the socket. The
/// files are not synced to disk one by one: a cluster that a power cut spoils is created again. The
/// server's own durability is not touched by that.
pub(crate) const OPTIONS: [&str; 9] = [
    "--username",
    SUPERUSER,
    "--auth",
    "trust",
    "--encoding",
    "UTF8",
    "--locale",
    "C",
    "--no-sync",
];

/// Creates the instance's cluster in `new`, an empty directory of the account's.
///
/// # Errors
/// initdb cannot be started or fails; its last words are in the error.
pub(crate) fn run(
    installation: &Installation,
    account: &Account,
    instance: &Instance,
    new: &Path,
) -> Result<()> {
    let log_path = instance.initdb_log_path();
    let log = File::create(&log_path).map_err(Error::file("create", &log_path))?;
    let log_too = log
        .try_clone()
        .map_err(Error::file("write to", &log_path))?;
    let program = installation.program("initdb");
    let mut command = account.command(&program);
    command
        .arg("--pgdata")
        .arg(new)
        .args(OPTIONS)
        .stdin(std::process::Stdio::null())
        .stdout(log)
        .stderr(log_too);
    child::new_session(&mut command);
    child::inherit(&mut command, instance.lock());
    child::die_with_parent(&mut command, Signal::Terminate);
    let status = child::spawn_from_lasting_thread(command)
        .and_then(|mut child| child.wait())
        .map_err(|source| Error::Run {
            path: program,
            source,
        })?;
    if !status.success() {
        return Err(Error::Initdb {
            path: instance.data_dir(),
            said: last_words(&log_path),
        });
    }
    Ok(())
}
