//! What pgdyno finds out about a cluster before it measures anything: a CockroachDB as it was
//! recorded; a YugabyteDB and a newer CockroachDB as their documentation has them.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::Value;

use crate::support::{self, Ran};
use crate::targets::cases::{document, replay};
use crate::targets::documented::{Documented, Product};
use crate::targets::documented_products::{COCKROACHDB_25_2, YUGABYTEDB};

/// `pgdyno target` on such a server, with one connection.
fn target(server: &Documented, more: &[&str]) -> Ran {
    let url = server.url();
    let args = ["target", &url, "--connections", "1"];
    support::ran(support::pgdyno(&args).args(more))
}

#[test]
fn target_tells_what_a_cockroachdb_is() {
    let document = document(&replay("target"));
    let product = &document["product"];
    assert_eq!(
        (&product["name"], &product["version"]),
        (&"cockroachdb".into(), &"19.1".into())
    );
    let connections = document["endpoints"][0]["connections"].as_array().unwrap();
    assert_eq!(connections.len(), 2);
    assert!(connections.iter().all(|met| met["node"] == "1"));
    let facts = &document["facts"];
    assert_eq!(facts["nodes"][0]["id"], "1");
    assert_eq!(facts["nodes"][0]["is_live"], true);
    let address = facts["nodes"][0]["address"].as_str().unwrap();
    assert!(address.contains(':'), "{address}");
    assert_eq!(facts["replication_factor"], 3);
    let levels = document["isolation"]["asked_for"].as_object().unwrap();
    assert_eq!(levels.len(), 4);
    assert!(levels.values().all(|level| level == "serializable"));
    let differences = document["differences"].to_string();
    assert!(
        differences.contains("tables are not vacuumed"),
        "{differences}"
    );
    let seen = document["observable"].as_array().unwrap();
    assert!(seen[0]["can_be_seen"].as_bool().unwrap(), "{seen:?}");
}

#[test]
fn a_level_that_cockroachdb_ignores_is_reported() {
    let document = document(&replay("isolation"));
    assert_eq!(document["trial"]["isolation"], "read committed");
    let facts = &document["target"]["facts"];
    assert_eq!(facts["isolation"], "serializable");
    assert_eq!(facts["reached"][0]["node"], "1");
    assert_eq!(facts["replication_factor"], 3);
    let notes = document["notes"].as_array().unwrap();
    let differs = notes
        .iter()
        .find(|note| note["code"] == "isolation-differs");
    assert!(differs.is_some(), "{notes:?}");
}

#[test]
fn the_nodes_of_a_yugabytedb_come_from_yb_servers_and_its_isolation_from_its_own_function() {
    // The last release in which READ COMMITTED is off unless it is turned on.
    let server = Documented::start(Product {
        lacks: &["yb_tablet_metadata"],
        ..Product::new("yugabytedb 2024.2")
    });
    let document = document(&target(&server, &["--discover", "--json"]));
    let address = server.addresses().remove(0);
    let node = &document["facts"]["nodes"][0];
    assert_eq!(node["address"], address.as_str());
    assert_eq!(node["locality"], "aws.us-west-2.us-west-2a");
    assert_eq!(document["endpoints"][0]["name"], address.as_str());
    assert_eq!(
        document["endpoints"][0]["connections"][0]["node"],
        address.as_str()
    );
    // READ COMMITTED where the flag is off.
    let levels = &document["isolation"]["asked_for"];
    assert_eq!(levels["read committed"], "repeatable read");
    let copies = document["facts"]["replication_factor"]["unknown"]
        .as_str()
        .unwrap();
    assert!(copies.contains("yb-admin"), "{copies}");
}

/// Three nodes, and the ranges of a table, which the form of 23.2 alone shows (SHOW RANGES, v23.2).
const THREE_NODES: &[(&str, usize, &[&str])] = &[
    (
        "SELECT node_id::STRING, advertise_sql_address",
        5,
        &[
            "1",
            "127.0.0.1:{port}",
            "region=eu,zone=a",
            "v25.2.0",
            "t", //
            "2",
            "10.0.0.2:26257",
            "region=eu,zone=b",
            "v25.2.0",
            "t", //
            "3",
            "10.0.0.3:26257",
            "region=us,zone=a",
            "v25.2.0",
            "f",
        ],
    ),
    ("SHOW node_id", 1, &["1"]),
    (
        "SELECT node_id::STRING FROM crdb_internal.gossip_liveness WHERE draining",
        1,
        &["2"],
    ),
    (
        "SELECT tablename FROM pg_catalog.pg_tables",
        1,
        &["orders", "Odd"],
    ),
    (
        "SELECT range_id::STRING, lease_holder::STRING, array_to_string(replicas, ',') \
         FROM [SHOW RANGES FROM TABLE orders WITH DETAILS]",
        3,
        &["70", "2", "1,2", "71", "2", "1,2,3", "72", "1", "1,2,3"],
    ),
    (
        "SHOW ZONE CONFIGURATION FOR TABLE orders",
        2,
        &[
            "TABLE orders",
            "ALTER TABLE orders CONFIGURE ZONE USING\n\tnum_replicas = 3",
        ],
    ),
];

#[test]
fn the_ranges_of_tables_are_counted_by_node_with_their_leaders_replicas_and_zone() {
    let product = || Product {
        tables: THREE_NODES,
        ..COCKROACHDB_25_2
    };
    let server = Documented::start(product());
    let document = document(&target(&server, &["--json"]));
    let facts = &document["facts"];
    let orders = &facts["placement"]["tables"]["orders"];
    assert_eq!(facts["placement"]["parts"], "ranges");
    assert_eq!(
        (&orders["parts"], &orders["leaders"], &orders["replicas"]),
        (
            &3.into(),
            &serde_json::json!({"1": 1, "2": 2}),
            &serde_json::json!({"1": 3, "2": 3, "3": 2})
        )
    );
    assert_eq!(
        orders["zone"],
        "ALTER TABLE orders CONFIGURE ZONE USING num_replicas = 3"
    );
    let draining = |at: usize| facts["nodes"][at]["is_draining"].as_bool();
    assert_eq!((draining(0), draining(1)), (Some(false), Some(true)));
    assert!(document["endpoints"][0]["round_trip"]["min_us"].is_u64());
    // A name that takes quotes is sent with them.
    let asked = server.statements();
    assert!(
        asked
            .iter()
            .any(|sql| sql.contains("FROM TABLE \"Odd\" WITH DETAILS"))
    );
    target(&Documented::start(product()), &[]).expect(
        0,
        &[
            "orders: 3 ranges; leaders 1 on 1, 2 on 2; replicas 3 on 1, 3 on 2, 2 on 3",
            "draining",
            "zone of orders: ALTER TABLE orders CONFIGURE ZONE USING num_replicas = 3",
        ],
    );
}

#[test]
fn tablets_of_a_yugabytedb_are_counted_by_the_nodes_of_their_leaders() {
    let server = Documented::start(Product {
        tables: &[
            (
                "SELECT NULL, host || ':' || port",
                5,
                &[
                    "",
                    "127.0.0.1:{port}",
                    "aws.eu.a",
                    "",
                    "", //
                    "",
                    "10.0.0.2:5433",
                    "aws.eu.b",
                    "",
                    "",
                ],
            ),
            ("SELECT tablename FROM pg_catalog.pg_tables", 1, &["orders"]),
            (
                "SELECT tablet_id, leader, array_to_string(replicas, ',') FROM yb_tablet_metadata",
                3,
                &[
                    "aa",
                    "127.0.0.1:{port}",
                    "127.0.0.1:{port},10.0.0.2:5433", //
                    "bb",
                    "10.0.0.2:5433",
                    "10.0.0.2:5433", //
                    "cc",
                    "",
                    "10.0.0.2:5433",
                ],
            ),
        ],
        ..YUGABYTEDB
    });
    let document = document(&target(&server, &["--json"]));
    let placement = &document["facts"]["placement"];
    let orders = &placement["tables"]["orders"];
    assert_eq!(
        (&placement["parts"], &orders["parts"]),
        (&"tablets".into(), &3.into())
    );
    // A tablet may be without a leader.
    assert_eq!(
        orders["leaders"].as_object().unwrap().len(),
        2,
        "{orders:#}"
    );
    assert_eq!(orders["replicas"]["10.0.0.2:5433"], 3);
    assert_eq!(orders["zone"], Value::Null);
}

#[test]
fn hidden_ranges_have_a_reason_and_a_remedy() {
    let server = Documented::start(Product {
        refuses: &[(
            "SELECT range_id::STRING",
            "42501",
            "only users with the ZONECONFIG privilege",
        )],
        tables: THREE_NODES,
        ..COCKROACHDB_25_2
    });
    let reported = "only users with the ZONECONFIG privilege; ranges may be seen by admins";
    target(&server, &[]).expect(0, &[&format!("not known where they are: {reported}")]);
}

#[test]
fn where_views_are_closed_a_node_of_cockroachdb_tells_over_http() {
    let server = Documented::start(Product {
        refuses: &[(
            "SELECT node_id::STRING",
            "42501",
            "access to crdb_internal is restricted",
        )],
        ..COCKROACHDB_25_2
    });
    let closed = target(&server, &["--discover"]);
    closed.expect(
        1,
        &[
            "access to crdb_internal is restricted",
            "--discover=http://HOST:8080",
        ],
    );
    let http = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("--discover=http://{}", http.local_addr().unwrap());
    let sql = server.addresses().remove(0);
    let node = sql.clone();
    std::thread::spawn(move || {
        let (mut client, _) = http.accept().unwrap();
        let mut request = [0; 1000];
        let count = client.read(&mut request).unwrap();
        assert!(request[..count].starts_with(b"GET /_status/nodes "));
        let body = format!(
            r#"{{"nodes": [{{"desc": {{"nodeId": 1, "address": {{"addressField": "10.0.0.1:1"}},
            "sqlAddress": {{"addressField": "{sql}"}}}}}}]}}"#
        );
        write!(client, "HTTP/1.0 200 OK\r\n\r\n{body}").unwrap();
    });
    let found = target(&server, &[&address]);
    found.expect(0, &[&format!("{node}: 1 connection met node 1")]);
}

#[test]
fn facts_say_what_they_rest_on_with_a_server_and_without() {
    let reported = support::ran(&mut support::pgdyno(&["target", "--facts=cockroachdb"]));
    let reported = reported
        .expect(0, &["CockroachDB, tried until 19.1: ", " captured, "])
        .stdout;
    let vacuum = reported.lines().find(|line| line.contains(" vacuum "));
    assert!(
        vacuum.is_some_and(|line| line.starts_with("captured ")),
        "{reported}"
    );

    let server = Documented::start(YUGABYTEDB);
    let ran = target(&server, &["--facts", "--json"]);
    let document: Value = serde_json::from_str(&ran.expect(0, &[]).stdout).unwrap();
    assert_eq!(
        (&document["product"], &document["tried_until"]),
        (&"yugabytedb".into(), &Value::Null)
    );
    let facts = document["facts"].as_array().unwrap();
    let captured = facts.iter().filter(|fact| fact["source"] == "captured");
    assert_eq!((facts.len() > 60, captured.count()), (true, 0));
    target(&server, &[]).expect(0, &["no YugabyteDB has answered to pgdyno yet"]);

    let wrong = support::ran(&mut support::pgdyno(&["target", "--facts=oracle"]));
    assert_eq!(wrong.code, Some(2));
    let named = "[possible values: server, postgresql, cockroachdb, yugabytedb]";
    assert!(wrong.stderr.contains(named), "{wrong:#?}");
}
