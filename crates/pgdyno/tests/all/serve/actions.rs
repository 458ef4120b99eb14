//! Tag, note, exclude: as the page does it, and what is refused.

use serde_json::{Value, json};

use crate::serve::client::{Notebook, Serving};
use crate::support::Database;

fn uuid(server: &Serving, path: &str) -> Value {
    server.document(path)["run"]["stored"]["uuid"].clone()
}

#[test]
fn trials_are_tagged_noted_and_excluded_from_the_page() {
    let db = Database::new("serve_actions");
    let notebook = Notebook::with_trials(&db, 1);
    let server = notebook.serve(&[]);
    let uuid = uuid(&server, "/trial/1");
    let done = |path: &str, body: Value| server.post(path, &body).expect(200, "\"done\":");
    done(
        "/trial/1/tag",
        json!({ "uuid": uuid, "add": ["b", "c"], "remove": ["batch-1"] }),
    );
    done(
        "/trial/1/note",
        json!({ "uuid": uuid, "note": "new <disks>" }),
    );
    done(
        "/trial/1/exclude",
        json!({ "uuid": uuid, "reason": "a backup ran" }),
    );
    let stored = |name: &str| server.document("/trial/1")["run"]["stored"][name].clone();
    assert_eq!(stored("tags"), json!(["b", "c"]));
    assert_eq!(stored("note"), json!("new <disks>"));
    assert_eq!(stored("excluded"), json!("a backup ran"));
    done("/trial/1/note", json!({ "uuid": uuid, "note": null }));
    done("/trial/1/exclude", json!({ "uuid": uuid, "reason": null }));
    assert_eq!(
        (stored("note"), stored("excluded")),
        (Value::Null, Value::Null)
    );
    let refused = |path: &str, body: &str, headers: &[&str], status: u16, words: &str| {
        let mut all = vec!["Content-Type: application/json"];
        let origin = server.origin();
        all.push(&origin);
        let all = if headers.is_empty() {
            &all[..]
        } else {
            headers
        };
        let answer = server.post_with(path, body, all).expect(status, words);
        let error: Value = serde_json::from_str(&answer.body).unwrap();
        assert!(
            error["error"].is_string() && error["hints"].is_array(),
            "{answer:?}"
        );
    };
    let of = |rest: Value| {
        let mut body = rest;
        body["uuid"] = uuid.clone();
        body.to_string()
    };
    let other = json!({ "uuid": "00000000-0000-0000-0000-000000000000" }).to_string();
    refused(
        "/trial/1/tag",
        &other,
        &[],
        409,
        "trial 1 is another one by now",
    );
    refused(
        "/trial/1/stop",
        &other,
        &[],
        409,
        "trial 1 is another one by now",
    );
    refused(
        "/trial/1/stop",
        &of(json!({})),
        &[],
        409,
        "trial 1 has ended: complete",
    );
    refused(
        "/trial/9/tag",
        &of(json!({})),
        &[],
        404,
        "there is no trial 9",
    );
    refused(
        "/trial/1/tag",
        &of(json!({ "add": ["two words"] })),
        &[],
        400,
        "cannot be a tag",
    );
    refused(
        "/trial/1/exclude",
        &of(json!({ "reason": " " })),
        &[],
        400,
        "needs a reason",
    );
    refused("/trial/1/note", "nonsense", &[], 400, "note: expected");
    refused(
        "/trial/1/rm",
        &of(json!({})),
        &[],
        404,
        "there is nothing at /trial/1/rm",
    );
    let origin = server.origin();
    let form = [
        origin.as_str(),
        "Content-Type: application/x-www-form-urlencoded",
    ];
    refused(
        "/trial/1/note",
        "note=x",
        &form,
        415,
        "Content-Type: application/json",
    );
    let json = "Content-Type: application/json";
    refused(
        "/trial/1/stop",
        &of(json!({})),
        &[json],
        403,
        "where it is from",
    );
    let evil = ["Origin: http://evil.example", json];
    refused("/trial/1/stop", &of(json!({})), &evil, 403, "another site");
}

#[test]
fn a_read_only_server_changes_nothing() {
    let db = Database::new("serve_read_only");
    let notebook = Notebook::with_trials(&db, 1);
    let server = notebook.serve(&["--read-only"]);
    let document = server.document("/trial/1");
    assert_eq!(document["served"]["may_change"], false);
    let body =
        json!({ "uuid": uuid(&server, "/trial/1"), "add": ["b"], "note": "x", "reason": "x" });
    for action in ["tag", "note", "exclude", "stop"] {
        let path = format!("/trial/1/{action}");
        server
            .post(&path, &body)
            .expect(403, "this server changes nothing");
    }
    assert_eq!(server.document("/trial/1")["run"], document["run"]);
}
