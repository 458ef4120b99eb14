//! Several hosts in one URL: clients are dealt over them, unless libpq's way is asked for.

use std::fs;

use pgdyno_server::Server;
use pgdyno_testkit::postgres_with;

use crate::support::{connect, pgdyno, ran, sql};

fn rows_of(server: &Server) -> u64 {
    let count = connect(&server.address().url()).query_one_value("SELECT count(*) FROM hit");
    count.unwrap().unwrap().parse().unwrap()
}

#[test]
fn clients_are_dealt_over_a_list_of_hosts_unless_libpqs_way_is_asked_for() {
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
        ran(&mut pgdyno(&args)).expect(0, &["(16 committed"]);
    };
    run(&url);
    assert_eq!(servers.each_ref().map(rows_of), [8, 8]);
    run(&format!("{url} load_balance_hosts=disable"));
    assert_eq!(servers.each_ref().map(rows_of), [24, 8]);
    run(&format!("{url} target_session_attrs=primary"));
    assert_eq!(servers.each_ref().map(rows_of), [40, 8]);
    run(&format!("{url} load_balance_hosts=random"));
    let [first, second] = servers.each_ref().map(rows_of);
    assert_eq!(first + second, 64);
    // Of 16 clients some are on the second host (all on one with a chance of 1 in 32,768, and the
    // seed is fixed).
    assert!(second > 8 && first > 40, "{first} and {second}");
}

#[test]
fn a_search_over_hosts_is_named_after_the_one_that_was_reached() {
    let [closed] = pgdyno_testkit::free_ports();
    let port = pgdyno_testkit::postgres().address().port;
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("one.sql");
    fs::write(&script, "select 1;\n").unwrap();
    let url = format!(
        "host=127.0.0.1,127.0.0.1 port={closed},{port} user=postgres dbname=postgres \
         target_session_attrs=read-write"
    );
    let mut run = pgdyno(&["run", "-t", "1", "--no-store", "--json", "--url", &url]);
    let ran = ran(run.arg(&script)).expect(0, &[]);
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let title = format!("database postgres on 127.0.0.1, port {port}, user postgres (of 2 hosts)");
    assert_eq!(document["target"]["title"], title);
    let place = format!("127.0.0.1:{closed}");
    assert!(!ran.stdout.contains(&place), "{ran:#?}");
}
