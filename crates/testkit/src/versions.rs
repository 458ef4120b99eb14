//! Servers of several major versions, for what differs between them.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};

use pgdyno_server::{Account, Cache, Installation, Server};

/// The major versions that tests of versions are run on.
pub const MAJORS: [u32; 6] = [13, 14, 15, 16, 17, 18];

/// Programs of this major version: fetched once and kept with the test tools.
///
/// # Errors
/// Why it cannot be had here. Skip the test then, by name.
pub fn installation_of(major: u32) -> Result<Installation, String> {
    let account = Account::choose(None).map_err(|e| e.to_string())?;
    if let Some(bindir) = crate::stock_bindir().filter(|_| major == 18) {
        let cache = crate::cache();
        return Installation::find(Some(&bindir), &account, &cache, || false, &mut |_| {})
            .map_err(|e| e.to_string());
    }
    // Apart from the cache of the tests of fetching, which look at all that is in theirs.
    let cache = Cache::at(&crate::tools_dir().join("versions")).map_err(|e| e.to_string())?;
    Installation::fetched_major(major, &account, &cache, || false, &mut |_| {})
        .map_err(|e| e.to_string())
}

/// A server of this major version and with these settings (`name=value`), of the test's own: ended
/// when dropped. It does not sync to disk unless a setting says otherwise.
///
/// # Errors
/// Why its programs cannot be had here. Skip the test then, by name.
///
/// # Panics
/// When they are here and the server does not start.
pub fn postgres_of_with(major: u32, settings: &[&str]) -> Result<Server, String> {
    let installation = installation_of(major)?;
    Ok(crate::postgres::start(&installation.bindir, settings))
}

/// The server of this major version that all tests of this process share: with statement statistics
/// (`shared_preload_libraries=pg_stat_statements`), and an autovacuum that looks every second.
///
/// # Errors
/// As [`postgres_of_with`].
pub fn postgres_of(major: u32) -> Result<&'static Server, String> {
    type Shared = OnceLock<Result<Server, String>>;
    static SHARED: Mutex<BTreeMap<u32, &'static Shared>> = Mutex::new(BTreeMap::new());
    let mut shared = SHARED.lock().unwrap_or_else(|e| e.into_inner());
    // As long as the process, like the servers in them.
    let place = *shared
        .entry(major)
        .or_insert_with(|| Box::leak(Box::default()));
    drop(shared);
    let settings = [
        "shared_preload_libraries=pg_stat_statements",
        "autovacuum_naptime=1s",
    ];
    let server = place.get_or_init(|| postgres_of_with(major, &settings));
    server.as_ref().map_err(Clone::clone)
}
