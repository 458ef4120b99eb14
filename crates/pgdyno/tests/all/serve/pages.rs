//! Pages of what has ended: the list, an experiment, a comparison.

use crate::serve::client::Notebook;
use crate::support::{Database, ran};

#[test]
fn the_list_is_searched_and_pages_lead_to_each_other() {
    let db = Database::new("serve_pages");
    let notebook = Notebook::with_trials(&db, 3);
    let script = notebook.script();
    let args = [
        "run",
        &script,
        "--url",
        &db.url,
        "-t",
        "20",
        "--observe",
        "none",
        "--repeat",
        "2",
    ];
    ran(&mut notebook.command(&args)).expect(0, &[]);
    let server = notebook.serve(&[]);
    let list = server.document("/");
    assert_eq!(list["kind"], "notebook");
    assert_eq!(
        (&list["trials_total"], &list["found"]),
        (&5.into(), &5.into())
    );
    assert_eq!(list["trials"][0]["number"], 5, "the newest first");
    assert_eq!(list["served"]["events"], "/events");
    let found = |query: &str| {
        let list = server.document(query);
        let trials = list["trials"].as_array().unwrap();
        assert_eq!(list["found"], trials.len());
        trials
            .iter()
            .map(|trial| trial["number"].as_i64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(found("/?q=batch-2"), [2]);
    assert_eq!(found("/?tag=batch-3"), [3]);
    assert!(found("/?state=failed").is_empty());
    assert_eq!(found("/?state=complete&experiment=run-one"), [5, 4]);
    server
        .get("/?state=nonsense")
        .expect(404, "there is no state nonsense");
    let uuid = list["experiments"][0]["uuid"].as_str().unwrap();
    for called in [uuid, &uuid[..8], "run-one"] {
        let page = server.document(&format!("/experiment/{called}"));
        assert_eq!(
            (&page["kind"], &page["uuid"]),
            (&"experiment".into(), &uuid.into())
        );
        let events = format!("/experiment/{uuid}/events");
        assert_eq!(page["served"]["events"], events.as_str());
    }
    let trial = list["trials"][0]["uuid"].as_str().unwrap();
    let page = server.document(&format!("/trial/{trial}"));
    assert_eq!(page["run"]["stored"]["number"], 5);
    assert!(page["served"]["events"].is_null() && page["served"]["live"].is_null());
    let page = server.document("/compare?a=1,2&b=tag%3Abatch-3");
    assert_eq!(page["kind"], "compare");
    assert_eq!(page["command"], "pgdyno compare 1,2 tag:batch-3");
    server.get("/compare?a=1&b=none").expect(404, "none");
}
