//! A node that joins the cluster while a trial runs.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Ran, pgdyno, ran};
use crate::targets::documented::{Documented, Product};

fn run(server: &Documented, line: &str) -> Ran {
    let mut command = pgdyno(&line.split(' ').collect::<Vec<_>>());
    ran(command.args(["--url", &server.url()]))
}

/// The trial's document: the last of three nodes is listed when transactions are under way.
fn joined(server: &Documented, options: &str) -> Value {
    run(server, "load tpcb").expect(0, &[]);
    let list = "documented.nodes";
    server.database.sql(&format!(
        "CREATE TABLE later AS SELECT * FROM {list} WHERE id = 3; DELETE FROM {list} WHERE id = 3"
    ));
    let selects = || {
        let statements = server.statements();
        let selects = { statements.iter() }.filter(|sql| sql.contains("abalance FROM"));
        selects.count()
    };
    let line = format!(
        "run select-only -c 6 -j 1 -T 8 --rate 60 --discover --reconnect --json --quiet --no-store {options}"
    );
    let ran = thread::scope(|scope| {
        let running = scope.spawn(|| run(server, line.trim()));
        let began = Instant::now();
        while selects() < 20 && !running.is_finished() {
            assert!(began.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(50));
        }
        server
            .database
            .sql(&format!("INSERT INTO {list} SELECT * FROM later"));
        running.join().unwrap()
    });
    let document: Value = serde_json::from_str(&ran.expect(0, &[]).stdout).unwrap();
    assert_eq!(
        document["measured"]["failed"], 0,
        "{}",
        document["measured"]
    );
    document
}

/// The texts of the events of this kind.
fn event_texts<'a>(document: &'a Value, kind: &str) -> Vec<&'a str> {
    let events = document["observed"]["events"].as_array().unwrap().iter();
    let of_kind = events.filter(|event| event["kind"] == kind);
    of_kind
        .map(|event| event["text"].as_str().unwrap())
        .collect()
}

fn three_nodes() -> Documented {
    Documented::start(Product {
        nodes: 3,
        ..Product::new("cockroachdb 23.2")
    })
}

#[test]
fn on_request_it_is_an_endpoint_that_gets_its_share_of_the_clients_and_its_page_is_read() {
    let server = three_nodes();
    let refused = "run select-only --discover --new-nodes --no-store";
    run(&server, refused).expect(2, &["--new-nodes: ", "add --reconnect, or -C"]);
    // Others than clients need not be watched for it.
    let document = joined(&server, "--new-nodes --observe crdb.vars");
    let address = &server.addresses()[2];
    let name = format!("node 3 ({address})");
    assert_eq!(event_texts(&document, "node-joined"), [name.as_str()]);
    let [text] = event_texts(&document, "endpoint-joined")[..] else {
        panic!("{:#}", document["observed"]["events"]);
    };
    assert_eq!(text, format!("{name}: its share of the clients goes there"));
    let endpoints = document["endpoints"].as_array().unwrap();
    let joined = &endpoints[2];
    assert_eq!(
        (&joined["name"], endpoints.len()),
        (&address.as_str().into(), 3)
    );
    for endpoint in endpoints {
        assert_eq!(endpoint["clients"], 2, "{endpoint:#}");
        assert!(endpoint["committed"].as_u64() > Some(0), "{endpoint:#}");
    }
    // They were elsewhere, and have not returned.
    assert_eq!(
        (&joined["arrived"], &joined["returned"]),
        (&2.into(), &0.into())
    );
    let events = document["events"].as_array().unwrap().iter();
    let moves: Vec<&str> = events.filter_map(|event| event["text"].as_str()).collect();
    let expected = [2, 5].map(|client| {
        format!("client {client} is connected to {address}: its endpoint has joined")
    });
    assert_eq!(moves, expected);
    let series = document["observed"]["series"].as_array().unwrap();
    assert!(
        series.iter().any(|one| one["label"] == "node 3"),
        "{series:#?}"
    );
}

#[test]
fn otherwise_it_is_said_that_no_client_goes_there_and_what_to_do() {
    let server = three_nodes();
    let document = joined(&server, "");
    let [text] = event_texts(&document, "node-joined")[..] else {
        panic!("{:#}", document["observed"]["events"]);
    };
    assert!(
        text.contains("no client goes there") && text.contains("--new-nodes"),
        "{text}"
    );
    assert_eq!(document["endpoints"].as_array().unwrap().len(), 2);
}
