//! The experiments that the model makes for laboratories, as plans.

use std::time::Duration;

use serde_json::{Value, json};

use super::plan::Plan;
use super::testing::planned;
use pgdyno_spec::experiment::{
    retries_lab::FORMS, retries_lab::LEVELS, retries_lab::Lab, retries_lab::Length,
    retries_lab::WORKLOADS, slob_sweep::SlobSweep, slob_sweep::SlobVary,
};

fn plan(lab: &Lab) -> Plan {
    planned(&lab.experiment())
}

fn lab() -> Lab {
    Lab {
        workload: "tpcb".to_owned(),
        forms: FORMS.map(str::to_owned).to_vec(),
        clients: vec![1, 32],
        isolation: Vec::new(),
        length: Length::Time(Duration::from_secs(5)),
        repeats: 2,
        seed: None,
        params: Vec::new(),
        full: false,
    }
}

#[test]
fn every_form_is_run_with_every_number_of_clients_in_turn() {
    let plan = plan(&lab());
    assert_eq!(plan.slots.len(), 6 * 2 * 2);
    let labels: Vec<_> = plan.slots.iter().map(|slot| plan.label(slot)).collect();
    let round = |labels: &[String], repeat: &str| -> Vec<String> {
        let of_it = labels.iter().filter_map(|label| label.strip_suffix(repeat));
        let mut points: Vec<String> = of_it.map(str::to_owned).collect();
        points.sort();
        points
    };
    let first = round(&labels[..12], ", repeat 1");
    assert_eq!((first.len(), &*first[0]), (12, "1 client, mix batch"));
    assert_eq!(
        first,
        round(&labels[12..], ", repeat 2"),
        "each round has all"
    );
}

#[test]
fn all_of_it_has_levels_policies_and_foreign_keys_too() {
    for workload in WORKLOADS {
        let full = Lab {
            workload: workload.to_owned(),
            isolation: LEVELS.map(str::to_owned).to_vec(),
            seed: Some(-3),
            params: vec![("scale".to_owned(), "2".to_owned())],
            full: true,
            ..lab()
        };
        // Six forms with three policies, and two with savepoints as well.
        let each = 2 * 3 * 2 * 2;
        assert_eq!(plan(&full).slots.len(), (6 * 3 + 2) * each);
    }
    let one = Lab {
        forms: vec!["statements".to_owned()],
        full: true,
        length: Length::Transactions(3),
        params: vec![("foreign_keys".to_owned(), "true".to_owned())],
        ..lab()
    };
    assert_eq!(plan(&one).slots.len(), 4 * 2 * 2);
}

#[test]
fn each_sweep_is_an_experiment() {
    let sweep = |vary| SlobSweep {
        vary,
        blocks: 32_768,
        active: 8192,
        sizes: vec![4096, 8192, 32_768],
        sessions: vec![1, 2],
        updates: vec![0, 10, 50, 100],
        duration: Duration::from_secs(2),
        warmup: Duration::from_secs(1),
        repeats: 2,
        seed: Some(3),
        params: vec![("work_unit".to_owned(), "64".to_owned())],
    };
    for (vary, trials) in [
        (SlobVary::Size, 6),
        (SlobVary::Sessions, 4),
        (SlobVary::Reads, 8),
    ] {
        let made = sweep(vary).experiment();
        let text = made.to_toml();
        let plan = planned(&made);
        assert_eq!(plan.slots.len(), trials, "{text}");
        // And it is known again by its points.
        let points = plan.points.iter().map(|planned| planned.point.to_json());
        let points: Vec<Value> = points.collect();
        assert_eq!(SlobVary::in_points(&points), Some(vary), "{text}");
        let other = json!({ "workload": ["slob"], "params": { "active": 4096 } });
        assert_eq!(SlobVary::in_points(&[other]), None);
    }
}
