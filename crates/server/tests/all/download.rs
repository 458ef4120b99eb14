//! Fetching the pinned PostgreSQL. The build is kept across runs of the tests; each run works on
//! a copy.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use pgdyno_server::{Account, Cache, Error, Installation, Options, Server, Step};

/// The kept cache with a whole build in it; `None` when it cannot be fetched from here.
fn kept_cache() -> Result<Cache, Error> {
    let cache = Cache::at(&pgdyno_testkit::tools_dir().join("download-cache"))?;
    fetched(&cache, &mut |_| {})?;
    Ok(cache)
}

fn fetched(cache: &Cache, on_step: &mut dyn FnMut(Step)) -> Result<Installation, Error> {
    let account = Account::choose(None)?;
    Installation::fetched(&account, cache, || false, on_step)
}

/// A copy of the kept cache that the test may spoil, and that every user can reach.
fn copy(of: &Cache) -> (tempfile::TempDir, Cache) {
    let dir = tempfile::tempdir_in("/var/tmp").expect("/var/tmp is writable");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    let place = dir.path().join("cache");
    let copied = Command::new("cp")
        .arg("-a")
        .args([of.path(), &place])
        .status();
    assert!(copied.expect("cp runs").success());
    let cache = Cache::at(&place).expect("absolute");
    (dir, cache)
}

fn bindir_below(cache: &Path) -> std::path::PathBuf {
    fs::read_dir(cache.join("postgresql"))
        .expect("exists")
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .find(|path| path.is_dir())
        .expect("a build is there")
}

#[test]
fn a_fetched_postgresql_starts_and_is_not_fetched_again() {
    let cache = match kept_cache() {
        Ok(cache) => cache,
        Err(Error::Download { reason, .. }) => pgdyno_testkit::skip!(
            "a_fetched_postgresql_starts_and_is_not_fetched_again",
            format!("PostgreSQL cannot be fetched: {reason}")
        ),
        Err(e) => panic!("{e}"),
    };
    let (_dir, cache) = copy(&cache);
    let mut steps = Vec::new();
    let installation = fetched(&cache, &mut |step| steps.push(step)).expect("it is there");
    assert_eq!(steps, [], "nothing to do");
    assert_eq!(installation.version.major, 18);
    let options = Options {
        bindir: Some(installation.bindir),
        cache: Some(cache),
        ..Options::default()
    };
    let server = Server::start(&options, &mut |_| {}).expect("it starts");
    assert!(server.is_running());
}

#[test]
fn a_spoilt_cache_is_noticed_and_fetched_anew() {
    let cache = match kept_cache() {
        Ok(cache) => cache,
        Err(Error::Download { reason, .. }) => pgdyno_testkit::skip!(
            "a_spoilt_cache_is_noticed_and_fetched_anew",
            format!("PostgreSQL cannot be fetched: {reason}")
        ),
        Err(e) => panic!("{e}"),
    };
    let (_dir, cache) = copy(&cache);
    let bindir = bindir_below(cache.path());
    fs::write(bindir.join("initdb"), "").expect("ours");
    let mut steps = Vec::new();
    match fetched(&cache, &mut |step| steps.push(step)) {
        Ok(installation) => assert_eq!(installation.bindir, bindir),
        Err(Error::Download { reason, .. }) => pgdyno_testkit::skip!(
            "a_spoilt_cache_is_noticed_and_fetched_anew",
            format!("PostgreSQL cannot be fetched: {reason}")
        ),
        Err(e) => panic!("{e}"),
    }
    assert!(steps.contains(&Step::Unpacking), "{steps:?}");
    let size = fs::metadata(bindir.join("initdb")).expect("exists").len();
    assert!(size > 10_000, "{size}");
}

/// Set when a test below is run by itself as a pgdyno that cannot fetch.
const FETCHERS_CACHE: &str = "PGDYNO_TEST_FETCHERS_CACHE";

/// What a pgdyno says with these variables set, on an empty cache, which must stay clean. The
/// test named runs itself for that; in that run there is nothing to be had here.
fn said_with(test: &str, variables: &[(&str, &str)]) -> Option<String> {
    if let Some(cache) = std::env::var_os(FETCHERS_CACHE) {
        let cache = Cache::at(Path::new(&cache)).expect("absolute");
        let error = fetched(&cache, &mut |_| {}).expect_err("it cannot be fetched");
        println!("error {error}");
        return None;
    }
    let dir = tempfile::tempdir_in("/var/tmp").expect("/var/tmp is writable");
    let output = Command::new(std::env::current_exe().expect("known"))
        .args(["--exact", &format!("download::{test}"), "--nocapture"])
        .env(FETCHERS_CACHE, dir.path())
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
        .envs(variables.iter().copied())
        .output()
        .expect("the fetcher starts");
    assert!(output.status.success(), "{output:?}");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(!complaints.contains("panicked"), "{complaints}");
    let left = fs::read_dir(dir.path().join("postgresql")).expect("exists");
    let left: Vec<_> = left.flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["lock"], "nothing half done");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn without_a_network_the_error_says_what_to_do_and_leaves_the_cache_clean() {
    let this_test = "without_a_network_the_error_says_what_to_do_and_leaves_the_cache_clean";
    // An unused proxy: the discard port of loopback.
    let discard = "http://127.0.0.1:9";
    let variables = [("HTTPS_PROXY", discard), ("https_proxy", discard)];
    let Some(said) = said_with(this_test, &variables) else {
        return;
    };
    assert!(said.contains("could not be downloaded"), "{said}");
    assert!(said.contains("--pg-bindir"), "{said}");
}

#[test]
fn without_ca_certificates_the_error_says_so() {
    let this_test = "without_ca_certificates_the_error_says_so";
    let nowhere = [
        ("SSL_CERT_FILE", "/no/such/file"),
        ("SSL_CERT_DIR", "/no/such/directory"),
    ];
    let Some(said) = said_with(this_test, &nowhere) else {
        return;
    };
    assert!(said.contains("package ca-certificates"), "{said}");
}
