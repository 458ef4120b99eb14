//! A cluster is made by initdb once for each build of PostgreSQL and user, and copied after that.
//!
//! ```text
//! templates/           in the cache
//!   .pgdyno-lock       held while a template is made
//!   KEY/               data as initdb left it, root's when pgdyno is root
//! ```

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pgdyno_platform::file_system;
use pgdyno_platform::tree::copy_tree;
use sha2::{Digest, Sha256};

use crate::account::Account;
use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::identity;
use crate::initdb;
use crate::installation::Installation;
use crate::instance::Instance;

/// A template that no server was copied from for so long is removed when another is made.
const UNUSED_MAX: Duration = Duration::from_secs(60 * 60 * 24 * 60);
/// What a template is called until it is whole, and the lock under which it is made.
const DRAFT: &str = ".new";
const LOCK: &str = ".pgdyno-lock";
/// Digits of a hash in a template's name.
const KEY_BYTES: usize = 12;

/// Makes the instance's cluster: a copy of the template with a system identifier of its own, or else by
/// initdb, whose work is kept as the template.
///
/// # Errors
/// There is no room for it, or initdb fails. That no template can be kept is no error.
pub(crate) fn create_cluster(
    installation: &Installation,
    account: &Account,
    cache: &Cache,
    instance: &Instance,
) -> Result<()> {
    // Where there is no cache to write to, each cluster is made anew.
    let templates = cache.directory("templates").ok();
    let template = templates.zip(key(installation, account));
    let template = template.map(|(templates, key)| (templates.join(key), templates));
    let new = instance.new_data_dir()?;
    match &template {
        Some((template, templates)) if template.is_dir() => {
            // Tells that it is in use.
            let _ = File::open(template).and_then(|dir| dir.set_modified(SystemTime::now()));
            copy_tree(template, &new, account.ids())
                .and_then(|()| identity::renew(&new))
                .map_err(Error::file("copy a new cluster to", &new))?;
            account.give(&new)?;
            sweep(templates);
        }
        _ => {
            account.give(&new)?;
            initdb::run(installation, account, instance, &new)?;
            if let Some((template, templates)) = &template {
                // The next server's initdb tries again.
                let _ = keep(&new, template, templates);
            }
        }
    }
    let data_dir = instance.data_dir();
    fs::rename(&new, &data_dir).map_err(Error::file("move the new cluster to", &data_dir))
}

/// Keeps a new cluster as a template. It gets its name last: half a copy never passes for one.
fn keep(new: &Path, template: &Path, templates: &Path) -> io::Result<()> {
    // What cannot get an identifier of its own cannot be copied.
    if !identity::can_renew(new) {
        return Ok(());
    }
    let Some(_lock) = sweep(templates) else {
        return Ok(());
    };
    let draft = templates.join(DRAFT);
    fs::create_dir(&draft)?;
    // Whole on the disk too: after a power cut its name would promise that.
    let kept = copy_tree(new, &draft, None)
        .and_then(|()| file_system::sync(&draft))
        .and_then(|()| fs::rename(&draft, template));
    kept.inspect_err(|_| {
        let _ = fs::remove_dir_all(&draft);
    })
}

/// Removes the draft of a pgdyno that was killed, and templates that are not used any more. Gives the
/// lock under which drafts are made; `None` when another pgdyno has it.
fn sweep(templates: &Path) -> Option<File> {
    let lock = File::create(templates.join(LOCK)).ok()?;
    lock.try_lock().ok()?;
    for entry in fs::read_dir(templates).into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|meta| meta.modified());
        let unused = modified.map(|at| at.elapsed().unwrap_or_default());
        let draft = templates.join(DRAFT);
        // Half removed it must not have its name any more.
        let is_left = unused.is_ok_and(|unused| unused > UNUSED_MAX)
            && fs::rename(entry.path(), &draft).is_ok();
        if entry.file_name() == DRAFT || is_left {
            let _ = fs::remove_dir_all(draft);
        }
    }
    Some(lock)
}

/// A name from what decides how a cluster looks: programs, user, initdb's options. `None` when the
/// programs cannot be looked at.
fn key(installation: &Installation, account: &Account) -> Option<PathBuf> {
    let mut hash = Sha256::new();
    for program in ["postgres", "initdb"] {
        let path = fs::canonicalize(installation.program(program)).ok()?;
        let meta = fs::metadata(&path).ok()?;
        hash.update(path.as_os_str().as_bytes());
        hash.update(format!(
            "\0{}.{:09} {} {}\0",
            meta.mtime(),
            meta.mtime_nsec(),
            meta.size(),
            meta.ino()
        ));
    }
    hash.update(format!("{} {}\0", installation.version, account.uid()));
    hash.update(initdb::OPTIONS.join("\0"));
    let digest = hash.finalize();
    let hex = |byte: &u8| format!("{byte:02x}");
    let name: String = digest[..KEY_BYTES].iter().map(hex).collect();
    Some(format!("{}-{name}", installation.version).into())
}
