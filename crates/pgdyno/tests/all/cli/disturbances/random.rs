//! Chaos with a seed: drawn, printed, carried out one by one.

use serde_json::Value;

use crate::cli::store::Notebook;
use crate::support::{Database, pgdyno, ran};

const LAB: [&str; 7] = ["lab", "disturb", "tpcb", "-R", "9", "--with", "random"];

#[test]
fn the_list_is_drawn_by_the_seed_and_printed_to_be_run_again() {
    let printed = |args: &[&str]| {
        let ran = ran(pgdyno(&LAB).args(["--for", "2m", "--print"]).args(args));
        ran.expect(0, &["one_by_one = true", "seed = ", "pgdyno:"])
            .stdout
    };
    let list = printed(&["--seed", "7"]);
    assert_eq!(list, printed(&["--seed", "7"]));
    assert_ne!(list, printed(&["--seed", "8"]));
    let only = printed(&["--seed", "7", "--only", "checkpoint,analyze"]);
    assert!(
        !only.contains("pgdyno:restart") && only.contains("pgdyno:analyze"),
        "{only}"
    );
    let via = printed(&["--seed", "7", "--via", "--only", "net-cut"]);
    assert!(
        via.contains("pgdyno:net-cut") && via.contains("via = true"),
        "{via}"
    );
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let db = Database::new("disturbances_random");
    let refuse = |args: &[&str], texts: &[&str]| {
        ran(pgdyno(&LAB).args(["--print"]).args(args)).expect(2, texts);
    };
    refuse(
        &["--with", "checkpoint"],
        &["--with random must be the only disturbance"],
    );
    refuse(&["--only", "chekpoint"], &["did you mean \"checkpoint\"?"]);
    refuse(&["--only", "net-cut"], &["net-cut is not drawn", "--via"]);
    refuse(&["--only", "sigstop", "--url", &db.url], &["--yes"]);
    refuse(
        &["--only", "restart", "--url", &db.url, "--yes"],
        &["a private server"],
    );
    let alone = [
        "lab",
        "disturb",
        "tpcb",
        "-R",
        "9",
        "--with",
        "checkpoint",
        "--only",
        "analyze",
    ];
    ran(&mut pgdyno(&alone)).expect(2, &["for --with random"]);
}

#[test]
#[ignore = "make test-long PART=disturbances"]
fn a_minute_of_chaos_loses_nothing_and_each_is_undone_before_the_next() {
    let bindir = pgdyno_testkit::installation().bindir.display().to_string();
    let notebook = Notebook::new();
    let json_to = notebook.beside("lab.json");
    let mut lab = notebook.command(&["lab", "disturb", "tpcb", "--with", "random"]);
    let times = "--for 80s --before 2s --after 8s --repeat 1 --no-controls";
    lab.args("-R 100 -c 4 --via --seed 7".split(' '))
        .args(times.split(' '))
        .args(["--pg-bindir", &bindir]);
    let ran = ran(lab.arg(format!("--json={}", json_to.display())));
    let document = std::fs::read(&json_to).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
    let document: Value = serde_json::from_slice(&document).unwrap();
    let repeat = &document["targets"][0]["repeats"][0];
    println!("{:#}\n{:#}", repeat["commands"], repeat["truth"]);
    assert_eq!(repeat["troubles"], Value::Array(Vec::new()), "{ran:?}");
    let runs = repeat["commands"].as_array().unwrap();
    assert!(runs.len() >= 5, "{runs:?}");
    for (a, b) in runs.iter().zip(&runs[1..]) {
        assert!(a["to_us"].as_u64() <= b["from_us"].as_u64(), "{a} {b}");
    }
    super::accounted("random", repeat);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
