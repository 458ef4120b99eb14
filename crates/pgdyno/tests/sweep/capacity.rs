//! How much load a server takes, found out on a real one.

use serde_json::{Value, json};

use crate::support::{Database, document_of, ran};
use crate::written::Experiment;

#[test]
fn rates_are_added_where_the_limit_is_broken_and_resuming_adds_no_more() {
    let database = Database::new("sweep_capacity");
    // Four times what it can do breaks half a second within a second, whatever else goes on here.
    let experiment = Experiment::new(
        "workload = [['one.sql']]\nduration = '1s'\nclients = 2\nreset.settle = 0\n\
         rate = [10, 1500, 2000, '400%']\ncapacity.slo = '500ms'\n",
        &database,
    );
    std::fs::write(experiment.dir.path().join("one.sql"), "SELECT 1;\n").unwrap();
    let texts = [
        "7 of 7 trials complete",
        "How much load keeps p99 within 500.000 ms",
        "left out: at 10.0/s too few transactions for p99, which needs 1,000",
        "measured at ",
        "no interval: it takes six repeats",
        "\nknee ",
    ];
    experiment.run(&["--json=lines"]).expect(0, &texts);
    let rates: Vec<f64> = experiment
        .trials()
        .iter()
        .filter_map(|trial| trial["trial"]["rate_per_s"].as_f64())
        .collect();
    assert_eq!(rates.len(), 6);
    let (most, added) = (rates[3], &rates[4..]);
    assert!(
        added.iter().all(|rate| 2000.0 < *rate && *rate < most),
        "{rates:?}"
    );

    let lines = std::fs::read_to_string(experiment.dir.path().join("lines")).unwrap();
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    let ladder = &last["capacity"]["ladders"][0];
    assert_eq!(last["capacity"]["slo_us"], 500_000.0);
    assert_eq!(ladder["loads"].as_array().unwrap().len(), 6);
    assert_eq!(ladder["loads"][0]["response_p99_us"], json!([null]));
    let capacity = ladder["capacity"]["per_s"].as_f64().unwrap();
    assert!(2000.0 <= capacity && capacity < most, "{capacity}");

    // The report has the same, from the store.
    ran(&mut experiment.command(&["report", "e", "-o", "e.html"])).expect(0, &[]);
    let page = document_of(&experiment.dir.path().join("e.html"));
    assert_eq!(page["capacity"], last["capacity"]);
    assert_eq!(page["slo_us"], 500_000.0);

    // The figures again, and nothing is measured.
    experiment.run(&["--resume"]).expect(0, &texts);
    assert_eq!(experiment.completed(), 7);
    // Another limit is another question about the same trials.
    let none_breaks = experiment.run(&["--resume", "--slo", "1h"]);
    none_breaks.expect(
        0,
        &["or more: no rate broke the limit", "5 of 5 trials complete"],
    );
    let all_break = experiment.run(&["--resume", "--slo", "1us"]);
    all_break.expect(0, &["capacity  below 1,500.0 transactions/s"]);
    assert_eq!(experiment.completed(), 7);
}
