//! `pgdyno lab retries`: a short one, on a real PostgreSQL.

use serde_json::Value;

use crate::support::{Database, document_of, pgdyno, ran};

#[test]
fn the_forms_are_put_side_by_side_and_kept() {
    let database = Database::new("lab_retries");
    // The user's own: the form that needs this name cannot be run.
    database.sql("CREATE PROCEDURE pgdyno_tpcb(mine int) LANGUAGE plpgsql AS 'BEGIN END'");
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("lab.json");
    let store = crate::support::notebook::at(&dir.path().join("store"));
    let (store, json_to) = (
        store.to_str().unwrap(),
        format!("--json={}", json.display()),
    );
    let lab = "lab retries -c 4 -T 1s --repeat 1 --seed 5 --isolation Serializable \
               --forms procedure,statements,cte --store";
    let lab: Vec<&str> = lab.split_whitespace().chain([store, &json_to]).collect();
    let lab = database.pgdyno(&lab).expect(
        0,
        &[
            "tpcb; scale 1: all clients share one branch; PostgreSQL ",
            "1.00 s per trial; up to 10 tries",
            "4 clients, serializable",
            "procedure   – will not replace pgdyno_tpcb(integer): pgdyno did not make it",
            "Cannot tell which form is best: one repeat of each is too few",
        ],
    );
    let document: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(document["lab"], "retries");
    assert_eq!(document["variables"]["scale"], "1");
    let point = &document["points"][0];
    assert_eq!(point["given"]["clients"], 4);
    assert_eq!(point["given"]["isolation"], "serializable");
    let forms = point["forms"].as_array().unwrap();
    let goodput = |form: &Value| form["goodput_per_s"]["median"].as_f64();
    assert!(goodput(&forms[0]) >= goodput(&forms[1]) && goodput(&forms[1]).is_some());
    assert_eq!(forms[2]["form"], "procedure");
    assert!(goodput(&forms[2]).is_none() && forms[2]["not_run"][0].is_string());
    for form in &forms[..2] {
        let committed = form["committed"].as_u64().unwrap();
        assert!(
            committed > 0 && form["retries"].as_u64() > Some(0),
            "{form}"
        );
        assert!(lab.stdout.contains(form["form"].as_str().unwrap()));
        assert!(form["lost_time_share"].as_f64() > Some(0.0), "{form}");
    }
    // The history is emptied between trials: the last complete one is `cte`.
    let cte = forms.iter().find(|form| form["form"] == "cte").unwrap();
    let rows = database.value("SELECT count(*) FROM pgbench_history");
    assert_eq!(rows, cte["committed"].to_string());

    let kept = [
        "sql",
        "--store",
        store,
        "SELECT e.name || ' ' || t.state || ' ' || t.mix || ' ' || g.tag FROM trial t \
         JOIN experiment e ON e.number = t.experiment JOIN tag g ON g.trial = t.number \
         ORDER BY t.position",
    ];
    ran(&mut pgdyno(&kept)).expect(
        0,
        &[
            "lab-retries complete statements exploratory",
            "lab-retries complete cte exploratory",
            "lab-retries failed procedure exploratory",
        ],
    );

    // The report has the same, from the store.
    let file = dir.path().join("lab.html");
    let output = file.to_str().unwrap();
    let report = ["report", "lab-retries", "-o", output, "--store", store];
    ran(&mut pgdyno(&report)).expect(0, &[]);
    let page = document_of(&file);
    let (mut kept, mut run) = (page["retries_lab"].clone(), document);
    for points in [&mut kept["points"], &mut run["points"]] {
        without_numbers(points);
    }
    for part in ["lab", "workload", "variables", "points", "says"] {
        assert_eq!(kept[part], run[part], "{part}");
    }
    assert!(page.get("slob").is_none() && page.get("capacity").is_none());
}

/// Trials have numbers in a notebook only.
fn without_numbers(points: &mut Value) {
    let repeats = points.as_array_mut().into_iter().flatten();
    let repeats = repeats.filter_map(|point| point["forms"].as_array_mut());
    let repeats = repeats
        .flatten()
        .filter_map(|form| form["repeats"].as_array_mut());
    for repeat in repeats.flatten() {
        repeat["trial"] = Value::Null;
    }
}

#[test]
fn what_the_laboratory_runs_can_be_printed_and_swept() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mine.toml");
    let print = |args: &[&str]| {
        let args = [&["lab", "retries", "--print"], args].concat();
        ran(&mut pgdyno(&args)).expect(0, &["name = \"lab-retries\""])
    };
    std::fs::write(&file, print(&[]).stdout).unwrap();
    let dry_run = ["sweep", file.to_str().unwrap(), "--dry-run"];
    ran(&mut pgdyno(&dry_run)).expect(0, &["32 clients, mix cte, repeat 2", "24 trials, about"]);
    std::fs::write(
        &file,
        print(&["--full", "--workload", "simple-update"]).stdout,
    )
    .unwrap();
    let full = ran(&mut pgdyno(&dry_run));
    full.expect(
        0,
        &[
            "retry by savepoint",
            ", repeatable read, ",
            "  foreign_keys, ",
        ],
    );
}

#[test]
fn what_the_laboratory_does_not_know_is_refused() {
    for (args, word) in [
        (&["--forms", "statements,magic"][..], "magic"),
        (
            &["--isolation", "chaos"],
            "read-committed, repeatable-read, serializable",
        ),
        (&["--workload", "insert"], "simple-update"),
        (&["-c", "0"], "from 1 to 100000"),
        (&["--param", "scale"], "NAME=VALUE"),
        (&["--repeat", "0"], "from 1 to 1000"),
    ] {
        let args = [&["lab", "retries"], args].concat();
        ran(&mut pgdyno(&args)).expect(2, &[word]);
    }
    let unknown = ["lab", "retries", "--param", "sale=2"];
    ran(&mut pgdyno(&unknown)).expect(2, &["no parameter \"sale\""]);
}

#[test]
fn a_server_where_no_form_can_be_run_is_an_error() {
    let database = Database::new("lab_nothing");
    database.sql("CREATE TABLE pgbench_branches (bid int)");
    database.sql("CREATE ROLE lab_nothing LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    let lab = [
        "lab",
        "retries",
        "--forms",
        "statements,cte",
        "-c",
        "1",
        "--repeat",
        "1",
    ];
    database.pgdyno(&lab).expect(
        1,
        &["error: pack tpcb cannot use the tables in this database"],
    );
    database.sql("DROP TABLE pgbench_branches");
    let url = database.url.replace("//postgres@", "//lab_nothing@");
    let may_not = Database { url };
    let refused = may_not
        .pgdyno(&lab)
        .expect(1, &["no form can be run here", "failed as trial 1 did"]);
    let says = refused.stderr.matches("could not create the tables");
    assert_eq!(says.count(), 1, "{refused:?}");
    let lab = [
        "lab",
        "retries",
        "--url",
        "postgresql://127.0.0.1:1/x?sslmode=disable",
    ];
    ran(&mut pgdyno(&lab)).expect(3, &["Connection refused"]);
}
