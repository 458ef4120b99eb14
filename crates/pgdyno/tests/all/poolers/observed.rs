//! What is seen through a pooler, and with the server itself as `--observe-url`.

use serde_json::Value;

use super::Pooled;
use crate::support::Database;

fn document(pooled: &Pooled, more: &[&str]) -> (Value, String) {
    let script = pooled.script("SELECT 1;\n");
    let path = script.path().to_str().expect("a plain path");
    let args = ["run", "-q", path, "-c", "2", "-T", "2", "--json"];
    let ran = pooled.pgdyno(&[&args[..], more].concat()).expect(0, &[]);
    let document = serde_json::from_str(&ran.stdout).expect("JSON");
    (document, ran.stderr)
}

fn series(document: &Value) -> Vec<&str> {
    let all = document["observed"]["series"].as_array().expect("a list");
    all.iter().filter_map(|one| one["name"].as_str()).collect()
}

#[test]
fn views_are_read_without_prepared_statements() {
    let name = "views_are_read_without_prepared_statements";
    let Some(pooled) = Pooled::new(name) else {
        return;
    };
    let (document, stderr) = document(&pooled, &[]);
    assert!(stderr.contains("--observe-url"), "{stderr}");
    let names = series(&document);
    for wanted in ["pg.transactions.committed", "pg.sessions.connected"] {
        assert!(names.contains(&wanted), "{wanted}: {names:?}");
    }
}

#[test]
fn the_server_itself_is_observed_and_must_be_the_same() {
    let name = "the_server_itself_is_observed_and_must_be_the_same";
    let Some(pooled) = Pooled::new(name) else {
        return;
    };
    let direct = pooled.direct.url.clone();
    let (document, stderr) = document(&pooled, &["--observe-url", &direct]);
    assert!(!stderr.contains("a pooler in between"), "{stderr}");
    assert!(
        series(&document).contains(&"pg.transactions.committed"),
        "{document}"
    );
    let other = Database::new("observed_elsewhere");
    let script = pooled.script("SELECT 1;\n");
    let path = script.path().to_str().expect("a plain path");
    let run = |url: &str| pooled.pgdyno(&["run", "-q", path, "-t", "1", "--observe-url", url]);
    run(&other.url).expect(2, &["--observe-url leads to another server or database"]);
    // The same server, another database.
    let postgres = direct.replace("/shared?", "/postgres?");
    run(&postgres).expect(2, &["--observe-url leads to another server or database"]);
}
