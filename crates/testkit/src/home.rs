//! Directories of a test's own, for servers that pgdyno starts.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A directory of a test's own for servers and their cache. As root the server's user must get there: it is
/// open to all.
///
/// # Panics
/// When none can be made.
pub fn home() -> TempDir {
    let dir = tempfile::tempdir().unwrap_or_else(|e| panic!("a directory for a test: {e}"));
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755))
        .unwrap_or_else(|e| panic!("{}: {e}", dir.path().display()));
    dir
}

/// Makes `cache` a cache of a test's own, whose servers are in it, in memory too, and copies of the clusters
/// that all tests share. Gives pgdyno's environment for it.
///
/// # Panics
/// When it cannot be made.
pub fn own_cache(cache: &Path) -> [(&'static str, PathBuf); 2] {
    let fail = |e: std::io::Error| -> ! { panic!("{}: {e}", cache.display()) };
    let shared = crate::cache().path().join("templates");
    let templates = cache.join("templates");
    if shared.is_dir() && !templates.is_dir() {
        fs::create_dir_all(cache).unwrap_or_else(|e| fail(e));
        fs::set_permissions(cache, Permissions::from_mode(0o755)).unwrap_or_else(|e| fail(e));
        symlink(&shared, &templates).unwrap_or_else(|e| fail(e));
    }
    [
        ("PGDYNO_CACHE", cache.to_owned()),
        ("PGDYNO_SERVERS", cache.join("servers")),
    ]
}
