//! Binaries that are installed on this machine, found without being named.

use pgdyno_server::{Account, Installation, Options, Origin, Server};

#[test]
fn a_distributions_server_is_found_and_started() {
    let account = Account::choose(None).expect("a user can run it");
    let cache = pgdyno_testkit::cache();
    // An interrupt: what is not installed is not to be fetched here.
    let found = Installation::find(None, &account, &cache, || true, &mut |_| {});
    let installation = match found {
        Ok(installation) if installation.origin != Origin::Cache => installation,
        _ => pgdyno_testkit::skip!(
            "a_distributions_server_is_found_and_started",
            "no PostgreSQL server is installed on this machine (as root make test installs it)"
        ),
    };
    assert!(installation.bindir.is_absolute());
    let options = Options {
        bindir: Some(installation.bindir),
        cache: Some(cache),
        ..Options::default()
    };
    let server = Server::start(&options, &mut |_| {}).expect("it starts");
    assert_eq!(server.version(), &installation.version);
    assert!(server.is_running());
}
