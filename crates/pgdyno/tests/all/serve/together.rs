//! Several generators of one trial, watched while they measure.

use std::collections::BTreeMap;

use pgdyno_platform::child::Signal;
use serde_json::Value;

use crate::child::{Running, wait_until};
use crate::serve::client::Notebook;
use crate::support::{Database, ran};

/// Transactions of each measured second, by its start.
fn committed(page: &Value) -> BTreeMap<u64, u64> {
    let column = |name: &str| {
        page["timeline"][name]
            .as_array()
            .cloned()
            .unwrap_or_default()
    };
    let numbers = |name: &str| column(name).into_iter().map(|n| n.as_u64().unwrap());
    numbers("start_us").zip(numbers("committed")).collect()
}

#[test]
fn several_generators_are_one_row_and_one_page_with_their_sum() {
    let db = Database::new("serve_together");
    let notebook = Notebook::new();
    let script = notebook.script();
    let run = [
        "run",
        "-q",
        &script,
        "-c",
        "3",
        "-T",
        "300",
        "--generators",
        "2",
        "--join",
        "watched",
        "--observe",
        "none",
        "--url",
        &db.url,
    ];
    let mut generators: Vec<Running> = (0..2)
        .map(|_| Running::start_silent(&mut notebook.command(&run)))
        .collect();
    wait_until("the notebook", || {
        ran(&mut notebook.command(&["ls"])).code == Some(0)
    });
    let server = notebook.serve(&[]);
    let mut list = server.events("/events");
    list.until("a row with seconds of both", |list| {
        list["running"][0]["now_us"].as_u64() >= Some(3_000_000)
            && list["running"].as_array().map(Vec::len) == Some(1)
    });
    let row = list.document["running"][0].clone();
    assert_eq!(row["clients"], 3, "{row}");
    let each = row["generators"].as_array().unwrap();
    assert_eq!(each.len(), 2, "{row}");
    assert_eq!(
        (&each[0]["clients"], &each[1]["clients"]),
        (&2.into(), &1.into())
    );

    // A page of all, whose seconds are the sums of theirs.
    let path = format!("/trial/{}/together", each[1]["trial"]);
    let all = server.document(&path);
    assert_eq!(all["served"]["together"], true);
    assert_eq!(all["served"]["events"], format!("{path}/events"));
    assert_eq!(all["run"]["trial"]["clients"], 3, "{}", all["run"]["trial"]);
    assert_eq!(all["run"]["end"], "running");
    let own = |one: &Value| committed(&server.document(&format!("/trial/{}", one["trial"])));
    let (first, second) = (own(&each[0]), own(&each[1]));
    let sums = committed(&all);
    assert!(sums.len() >= 3, "{sums:?}");
    for (start_us, sum) in &sums {
        assert_eq!(
            first[start_us] + second[start_us],
            *sum,
            "second at {start_us}"
        );
    }
    let list_of = &all["run"]["generators"]["list"];
    assert_eq!(
        (&list_of[0]["end"], &list_of[1]["end"]),
        (&"running".into(), &"running".into())
    );

    // One is killed: it is named, the sum goes on, and what follows is no rate of all.
    let mut page = server.events(&format!("{path}/events"));
    generators.remove(0).signal(Signal::Kill);
    let has_died = |one: &Value| one["has_died"] == true;
    list.until("the dead one's name", |list| {
        let each = list["running"][0]["generators"].as_array();
        each.is_some_and(|each| each.iter().filter(|one| has_died(one)).count() == 1)
    });
    page.until("its end on the page of all", |page| {
        let list = page["run"]["generators"]["list"].as_array();
        list.is_some_and(|list| list.iter().any(|one| one["end"] == "died"))
    });
    let seconds = committed(&page.document).len();
    page.until("seconds of the other", |page| {
        committed(page).len() >= seconds + 2
    });
    let drain_us = |page: &Value| page["run"]["measured"]["drain_us"].as_u64();
    page.until("no rate of all", |page| drain_us(page) >= Some(1_000_000));
    // The other would wait for its last words.
    generators.remove(0).signal(Signal::Kill);
    page.until("what is left of it", |page| {
        page["served"]["live"].is_null()
    });
}

#[test]
fn a_killed_trial_of_a_notebook_on_a_server_is_marked_in_lists() {
    let (db, notes) = (
        Database::new("serve_gone"),
        Database::new("serve_gone_notes"),
    );
    let notebook = Notebook::on_server(&notes);
    let script = notebook.script();
    let run = [
        "run",
        "-q",
        &script,
        "-T",
        "300",
        "--observe",
        "none",
        "--url",
        &db.url,
    ];
    let run = Running::start_silent(&mut notebook.command(&run));
    let server = notebook.serve(&[]);
    let mut list = server.events("/events");
    list.until("a second", |list| !list["running"][0]["now_us"].is_null());
    assert_eq!(list.document["running"][0]["is_gone"], false);
    run.signal(Signal::Kill);
    list.until("its end", |list| list["running"][0]["is_gone"] == true);
    let path = format!("/trial/{}", list.document["running"][0]["number"]);
    assert_eq!(server.document(&path)["served"]["live"]["is_gone"], true);
    ran(&mut notebook.command(&["store", "push"])).expect(0, &[]);
    list.until("nothing running", |list| {
        list["running"] == Value::Array(Vec::new())
    });
}
