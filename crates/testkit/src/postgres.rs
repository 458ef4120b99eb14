//! Real servers for tests.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use pgdyno_server::{Account, Cache, Installation, Listen, Options, Server};

/// The server that all tests of this process share: started when first asked for, ended with
/// the process. It listens on its Unix socket and on loopback TCP. Tests share its databases
/// too: create objects under names of your own, or a database of your own.
///
/// # Panics
/// When no server can be started.
pub fn postgres() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| postgres_with(&[]))
}

/// A server of the test's own with these settings (`name=value`), ended when dropped. Like
/// [`postgres`] it does not sync to disk (`fsync=off`) unless a setting says otherwise, and keeps its
/// data in memory unless it syncs: the thousand files of a cluster cost a disk's file system six times
/// the CPU.
///
/// # Panics
/// When it cannot be started.
pub fn postgres_with(settings: &[&str]) -> Server {
    start(&installation().bindir, settings)
}

/// The same of programs that speak TLS, which it does once it has a certificate ([`crate::certify`]) and `ssl` is on.
///
/// # Panics
/// When it cannot be started.
pub fn postgres_with_tls(settings: &[&str]) -> Server {
    start(&installation_with_tls().bindir, settings)
}

/// A server of these programs, as [`postgres_with`] starts it.
pub(crate) fn start(bindir: &Path, settings: &[&str]) -> Server {
    let is_synced = settings.contains(&"fsync=on");
    // Hundreds of databases are made on a shared server: autovacuum would go from one to the next all the time.
    let usual = ["fsync=off", "autovacuum_naptime=1h"];
    let settings = usual.iter().chain(settings).map(|text| {
        text.parse()
            .unwrap_or_else(|e| panic!("test's own setting: {e}"))
    });
    let options = Options {
        bindir: Some(bindir.to_owned()),
        settings: settings.collect(),
        listen: Listen::Loopback(0),
        cache: Some(cache()),
        data_parent: memory().filter(|_| !is_synced),
        ..Options::default()
    };
    let server = Server::start(&options, &mut |_| {});
    server.unwrap_or_else(|e| panic!("no server of {} to test with: {e}", bindir.display()))
}

/// Where servers can keep their data in memory; none where there is little of it.
fn memory() -> Option<PathBuf> {
    /// A cluster takes 40 MiB and what its test writes.
    const FREE_MIN_BYTES: u64 = 4 << 30;
    let shared = Path::new("/dev/shm");
    let free = pgdyno_platform::file_system::free_bytes(shared).ok()?;
    let directory = format!("pgdyno-tests-{}", pgdyno_platform::user::uid());
    (free >= FREE_MIN_BYTES).then(|| shared.join(directory))
}

/// The binaries that tests run on: stock PostgreSQL 18 when `make test` has fetched it, else
/// what pgdyno finds or fetches.
///
/// # Panics
/// When there are none and none can be fetched.
pub fn installation() -> &'static Installation {
    static FOUND: OnceLock<Installation> = OnceLock::new();
    FOUND.get_or_init(|| {
        let account = Account::choose(None).unwrap_or_else(|e| panic!("{e}"));
        let bindir: Option<PathBuf> = crate::stock_bindir();
        Installation::find(bindir.as_deref(), &account, &cache(), || false, &mut |_| {})
            .unwrap_or_else(|e| panic!("{e}"))
    })
}

/// Programs of a server that speaks TLS, which the stock build does not: a distribution's, or those
/// that pgdyno fetches.
///
/// # Panics
/// When there are none and none can be fetched.
pub fn installation_with_tls() -> &'static Installation {
    static FOUND: OnceLock<Installation> = OnceLock::new();
    FOUND.get_or_init(|| {
        let account = Account::choose(None).unwrap_or_else(|e| panic!("{e}"));
        Installation::find(None, &account, &cache(), || false, &mut |_| {})
            .unwrap_or_else(|e| panic!("{e}"))
    })
}

/// The cache for tests, kept across runs and apart from the user's own.
///
/// # Panics
/// When the working directory is gone.
pub fn cache() -> Cache {
    Cache::at(&crate::tools_dir().join("cache")).unwrap_or_else(|e| panic!("{e}"))
}
