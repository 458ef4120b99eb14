//! Where `make test` puts what the tests need.

use std::path::{Path, PathBuf};

/// The directory of fetched test tools: `PGDYNO_TEST_TOOLS` (which `make test` sets); else as
/// root a place that other users can reach, as ordinary user `test-tools` in Cargo's target
/// directory. It need not exist.
pub fn tools_dir() -> PathBuf {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(dir) = set("PGDYNO_TEST_TOOLS") {
        return dir.into();
    }
    if pgdyno_platform::user::is_root() {
        return "/var/cache/pgdyno/test-tools".into();
    }
    match set("CARGO_TARGET_DIR").map(PathBuf::from) {
        Some(dir) if dir.is_absolute() => dir.join("test-tools"),
        _ => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-tools"),
    }
}
