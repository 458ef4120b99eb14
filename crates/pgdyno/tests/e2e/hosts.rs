//! Several hosts in one URL: by libpq's rules for each client, not once for all.

use std::fs;

use pgdyno_server::Server;
use pgdyno_testkit::postgres_with;

use crate::support::{connect, pgdyno, ran, sql};

fn rows_of(server: &Server) -> u64 {
    let count = connect(&server.address().url()).query_one_value("SELECT count(*) FROM hit");
    count.unwrap().unwrap().parse().unwrap()
}

#[test]
fn clients_spread_over_hosts_only_when_load_balancing_is_asked_for() {
    let servers = [postgres_with(&[]), postgres_with(&[])];
    for server in &servers {
        sql(&server.address().url(), "CREATE TABLE hit (client int)");
    }
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("hit.sql");
    fs::write(&script, "insert into hit values (:client_id);\n").unwrap();
    let [first, second] = servers.each_ref().map(Server::address);
    let url = format!(
        "host={},{} port={},{} user=postgres dbname=postgres",
        first.socket_dir.display(),
        second.socket_dir.display(),
        first.port,
        second.port
    );
    let run = |url: &str| {
        let script = script.to_str().unwrap();
        let args = [
            "run", script, "-c", "16", "-t", "1", "--seed", "1", "--url", url,
        ];
        ran(&mut pgdyno(&args)).expect(0, &["16 committed"]);
    };
    run(&url);
    assert_eq!(servers.each_ref().map(rows_of), [16, 0]);
    run(&format!("{url} load_balance_hosts=random"));
    let [first, second] = servers.each_ref().map(rows_of);
    assert_eq!(first + second, 32);
    // The administrative session may be on either; of 16 clients some are on the second host
    // (all on one with a chance of 1 in 32,768, and the seed is fixed).
    assert!(second > 0 && first > 16, "{first} and {second}");
}
