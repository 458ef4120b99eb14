//! What `--version` says: of a package, from which commit and when it was built, and for what.

use std::env::consts;
use std::sync::LazyLock;

/// The commit that a package was built of; a checkout's build does not know its own.
pub const COMMIT: Option<&str> = option_env!("PGDYNO_COMMIT");

/// `-V` has the first word of it alone.
pub fn long() -> &'static str {
    static LONG: LazyLock<String> = LazyLock::new(|| {
        let version = env!("CARGO_PKG_VERSION");
        let machine = format!("{}-{}", consts::ARCH, consts::OS);
        // scripts/package says both.
        match (COMMIT, option_env!("PGDYNO_DATE")) {
            (Some(commit), Some(date)) => format!("{version} (commit {commit}, {date}, {machine})"),
            _ => format!("{version} (built from a checkout, {machine})"),
        }
    });
    &LONG
}
