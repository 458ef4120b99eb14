//! The same seed gives the same statements as pgbench 18's, client by client.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use pgdyno_testkit::{Connection, Kind, RecordingProxy, postgres, stock_pgbench};

use crate::support::{Database, pgdyno, ran};

const CLIENTS: usize = 3;
const TRANSACTIONS: usize = 50;
const MODES: [&str; 3] = ["simple", "extended", "prepared"];

/// pgdyno's workload, pgbench's name of it, and how many statements a transaction has.
const WORKLOADS: [(&str, &str, usize); 3] = [
    ("tpcb", "tpcb-like", 7),
    ("simple-update", "simple-update", 5),
    ("select-only", "select-only", 1),
];

/// What one client had executed: each statement's text, with its values where these travel
/// apart.
type Stream = Vec<String>;

/// Reads text up to the zero byte that ends it.
fn text<'a>(body: &mut &'a [u8]) -> &'a str {
    let end = body.iter().position(|b| *b == 0).expect("it ends");
    let (text, rest) = body.split_at(end);
    *body = &rest[1..];
    std::str::from_utf8(text).expect("ASCII")
}

fn int16(body: &mut &[u8]) -> usize {
    let (number, rest) = body.split_at(2);
    *body = rest;
    usize::from(u16::from_be_bytes(number.try_into().expect("two")))
}

/// The parameters of a Bind message after its two names.
fn values(mut body: &[u8]) -> Vec<String> {
    let formats = int16(&mut body);
    assert!(
        (0..formats).all(|_| int16(&mut body) == 0),
        "values travel as text"
    );
    let number = int16(&mut body);
    let value = |body: &mut &[u8]| {
        let (length, rest) = body.split_at(4);
        let length = u32::from_be_bytes(length.try_into().expect("four")) as usize;
        let (value, rest) = rest.split_at(length);
        *body = rest;
        String::from_utf8(value.to_vec()).expect("ASCII")
    };
    (0..number).map(|_| value(&mut body)).collect()
}

/// What a connection executed, by whichever protocol: `Query TEXT` or `TEXT [VALUES]`. Names of
/// prepared statements are each program's own affair.
fn stream(connection: &Connection) -> Stream {
    let mut parsed = HashMap::new();
    let mut bound = String::new();
    let mut executed = Vec::new();
    for message in &connection.messages {
        let mut body = message.body.as_slice();
        match message.tag {
            b'Q' => executed.push(format!("Query {}", text(&mut body))),
            b'P' => {
                let name = text(&mut body).to_owned();
                parsed.insert(name, text(&mut body).to_owned());
            }
            b'B' => {
                assert_eq!(text(&mut body), "", "the unnamed portal");
                let statement = &parsed[text(&mut body)];
                bound = format!("{statement} {:?}", values(body));
            }
            b'E' => executed.push(std::mem::take(&mut bound)),
            _ => {}
        }
    }
    executed
}

/// How many statements a connection had parsed.
fn parses(connection: &Connection) -> usize {
    connection.messages.iter().filter(|m| m.tag == b'P').count()
}

/// The clients' connections in the order in which they connected: those that executed what
/// clients execute, and not the programs' own sessions.
fn clients(proxy: &RecordingProxy, statements: usize) -> Vec<Connection> {
    let all = proxy.settle();
    proxy.clear();
    let is_client = |connection: &Connection| {
        connection.kind == Kind::Session
            && stream(connection).len() >= statements * TRANSACTIONS
            && stream(connection)
                .iter()
                .any(|statement| statement.contains("SELECT abalance FROM pgbench_accounts"))
    };
    all.into_iter().filter(is_client).collect()
}

struct Setting<'a> {
    pgbench: &'a Path,
    proxy: &'a RecordingProxy,
    database: &'a str,
}

impl Setting<'_> {
    fn pgbench(&self, script: &str, mode: &str, threads: &str) {
        let common = ["-n", "-c", "3", "-t", "50", "--random-seed=42"];
        ran(Command::new(self.pgbench)
            .args(common)
            .args(["-b", script, "-M", mode, "-j", threads])
            .args(["-h", "127.0.0.1", "-U", "postgres", "-p"])
            .arg(self.proxy.port().to_string())
            .arg(self.database)
            .env("PGSSLMODE", "disable")
            .env("PGGSSENCMODE", "disable"))
        .expect(0, &["number of transactions actually processed: 150/150"]);
    }

    fn pgdyno(&self, workload: &str, mode: &str, threads: &str) {
        let (port, database) = (self.proxy.port(), self.database);
        let url = format!("postgresql://postgres@127.0.0.1:{port}/{database}?sslmode=disable");
        ran(&mut pgdyno(&[
            "run", workload, "-c", "3", "-t", "50", "--seed", "42", "-M", mode, "-j", threads,
            "--url", &url,
        ]))
        .expect(0, &["(150 committed"]);
    }
}

#[test]
fn the_same_seed_sends_what_pgbench_sends_client_by_client() {
    let Some(pgbench) = stock_pgbench() else {
        pgdyno_testkit::skip!(
            "the_same_seed_sends_what_pgbench_sends_client_by_client",
            "no stock pgbench 18"
        );
    };
    let database = Database::new("streams");
    database
        .pgdyno(&["load", "tpcb", "--param", "scale=2"])
        .expect(0, &[]);
    let proxy = RecordingProxy::start(postgres().address().socket_path());
    let setting = Setting {
        pgbench: &pgbench,
        proxy: &proxy,
        database: "streams",
    };
    for (workload, script, statements) in WORKLOADS {
        for mode in MODES {
            for threads in ["1", "3"] {
                let what = format!("{workload}, {mode}, {threads} threads");
                setting.pgbench(script, mode, threads);
                let theirs = clients(&proxy, statements);
                setting.pgdyno(workload, mode, threads);
                let ours = clients(&proxy, statements);
                assert_eq!(theirs.len(), CLIENTS, "{what}: pgbench's clients");
                assert_eq!(ours.len(), CLIENTS, "{what}: pgdyno's clients");
                // The statements are parsed as often: again each time, or once a connection.
                let parses_each = match mode {
                    "simple" => 0,
                    "extended" => statements * TRANSACTIONS,
                    _ => statements,
                };
                for connection in ours.iter().chain(&theirs) {
                    assert_eq!(parses(connection), parses_each, "{what}");
                }

                let mut theirs: Vec<Stream> = theirs.iter().map(stream).collect();
                let mut ours: Vec<Stream> = ours.iter().map(stream).collect();
                if threads != "1" {
                    // Threads connect their clients in any order; one thread in the clients'.
                    theirs.sort();
                    ours.sort();
                }
                assert_ne!(theirs[0], theirs[1], "{what}: clients differ");
                assert_ne!(theirs[1], theirs[2], "{what}: clients differ");
                for (client, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                    assert_eq!(theirs.len(), statements * TRANSACTIONS, "{what}");
                    let differs = ours.iter().zip(theirs).position(|(o, t)| o != t);
                    if let Some(at) = differs {
                        panic!(
                            "{what}, client {client}, statement {at}:\n  pgdyno  {}\n  pgbench {}",
                            ours[at], theirs[at]
                        );
                    }
                    assert_eq!(ours.len(), theirs.len(), "{what}, client {client}");
                }
            }
        }
    }
}
