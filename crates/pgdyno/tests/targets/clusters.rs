//! What pgdyno finds out about a CockroachDB before it measures anything.

use crate::cases::{document, replay};

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
    assert!(differences.contains("nothing is vacuumed"), "{differences}");
    let seen = document["observable"].as_array().unwrap();
    assert!(seen[0]["can_be_seen"].as_bool().unwrap(), "{seen:?}");
}

#[test]
fn a_level_that_cockroachdb_takes_and_ignores_is_told() {
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
