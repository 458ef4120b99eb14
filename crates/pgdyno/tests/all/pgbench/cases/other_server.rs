//! A server of another version, which the first line names.

use pgdyno_server::{Listen, Options, Server};
use pgdyno_testkit::installation_with_tls;

use super::needs_stock;
use crate::pgbench::compare::{Setting, case};

#[test]
fn a_server_of_another_version() {
    needs_stock!("a_server_of_another_version");
    let options = Options {
        bindir: Some(installation_with_tls().bindir.clone()),
        settings: vec!["fsync=off".parse().expect("a setting")],
        listen: Listen::Loopback(0),
        cache: Some(pgdyno_testkit::cache()),
        ..Options::default()
    };
    let server = Server::start(&options, &mut |_| {}).expect("a server");
    if server.version() == pgdyno_testkit::postgres().version() {
        pgdyno_testkit::skip!(
            "a_server_of_another_version",
            "no PostgreSQL of another version"
        );
    }
    let files = [("one.sql", "SELECT 1;\n"), ("bad.sql", "SELECT 1/0;\n")];
    Setting::new(&server, "bench", &files).compare(&[
        case("-i -q").before(
            "DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers",
        ),
        case("-t 2"),
        case("-n -t 2 -S -M extended"),
        case("-n -t 2 -N -M prepared -r"),
        case("-n -t 2 -f one.sql"),
        case("-n -t 2 -f bad.sql"),
        case("-n -t 1 -f one.sql --debug").repeats(),
        case("-i -I dtGvpf --partitions 2"),
        case("-n -t 2 -S"),
        case("nosuch"),
    ]);
}
