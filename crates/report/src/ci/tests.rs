use pgdyno_model::document::ci::{Ci, CiSide};
use pgdyno_stats::Ongoing;

use super::*;

/// Twelve blocks of a head that is slower by a tenth, under this gate.
fn document(gate: &str, factor: f64) -> Ci {
    let parsed = Gate::parse_required(gate, &figures()).unwrap();
    let side = |factor: f64| -> Vec<[f64; 2]> {
        let of = |i: i32| {
            [
                1000.0 * factor + f64::from(i),
                1001.0 * factor - f64::from(i),
            ]
        };
        (0..12).map(of).collect()
    };
    let blocks = OfBlocks {
        figure: "goodput".to_owned(),
        a: side(1.0),
        b: side(factor),
    };
    let mut ongoing = Ongoing::new(parsed.clone());
    let look = ongoing.look(&[blocks], 1.0).unwrap().unwrap();
    let of_side = |given: &str, trials: std::ops::Range<i64>| CiSide {
        given: given.to_owned(),
        kind: "programs",
        version: Some("18.1".to_owned()),
        trials: trials.collect(),
    };
    Ci {
        answer: result(look.outcome),
        gate: format!("--fail-unless '{gate}'"),
        mode: "by turns",
        workload: "tpcb".to_owned(),
        clients: 1,
        trial_s: 2.0,
        budget_s: 900.0,
        elapsed_s: 180.0,
        blocks: 12,
        seed: 7,
        interrupted: false,
        base: of_side("/opt/base|bin", 1..25),
        head: of_side("/opt/head/bin", 25..49),
        figures: judged_figures(&parsed, &[], &[], Some(&look)),
        conditions: conditions(&parsed, Some(&look)),
        looks: vec![of_look(&look)],
        notes: Vec::new(),
        advice: None,
        kept_as: "experiment ci".to_owned(),
    }
}

#[test]
fn each_form_says_the_same() {
    let failed = document("goodput > -5%", 0.9);
    let text = text(&failed);
    assert!(
        text.starts_with("fail: --fail-unless 'goodput > -5%'\n"),
        "{text}"
    );
    assert!(text.contains("goodput > -5%: fail: B is 10"), "{text}");
    assert!(
        text.contains("A  base  /opt/base|bin  (18.1)  24 trials"),
        "{text}"
    );
    assert!(text.contains("12 blocks in 3"), "{text}");
    let markdown = markdown(&failed);
    assert!(markdown.starts_with("### ❌ pgdyno: fail\n"), "{markdown}");
    assert!(markdown.contains("| goodput tx/s |"), "{markdown}");
    assert!(
        markdown.contains("/opt/base\\|bin"),
        "a table is not broken: {markdown}"
    );
    let junit = junit(&failed, None);
    assert!(
        junit.contains("tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\""),
        "{junit}"
    );
    assert!(junit.contains("name=\"goodput &gt; -5%\""), "{junit}");
    assert!(junit.contains("<failure message=\"B is 10"), "{junit}");
}

#[test]
fn passed_and_undecided_are_cases_of_their_own() {
    let passed = document("goodput > -5%", 1.0);
    assert!(text(&passed).starts_with("pass: "));
    assert!(junit(&passed, None).contains("<system-out>no significant difference"));
    // p99 was not measured.
    let unknown = document("goodput > -5%, p99 < +5%", 1.0);
    assert_eq!(unknown.answer, GateResult::CannotTell);
    assert!(text(&unknown).contains("p99 < +5%: cannot tell: p99 was not measured"));
    assert!(markdown(&unknown).starts_with("### ❔ pgdyno: cannot tell"));
    for (as_what, want) in [
        (None, "<error message=\"p99 was not measured"),
        (
            Some(GateResult::Passed),
            "<skipped message=\"cannot tell: p99 was not",
        ),
        (
            Some(GateResult::Failed),
            "<failure message=\"p99 was not measured",
        ),
    ] {
        let junit = junit(&unknown, as_what);
        assert!(junit.contains(want), "{junit}");
        assert!(junit.contains("tests=\"2\""), "{junit}");
    }
}

#[test]
fn cut_short_it_is_no_verdict_in_any_form() {
    let interim = Ci {
        answer: GateResult::CannotTell,
        interrupted: true,
        ..document("goodput > -5%", 0.9)
    };
    let text = text(&interim);
    assert!(
        text.starts_with("interrupted, cannot tell so far: --fail-unless"),
        "{text}"
    );
    assert!(
        text.contains("intervals of these blocks alone, and no verdict"),
        "{text}"
    );
    let markdown = markdown(&interim);
    assert!(
        markdown.starts_with("### ❔ pgdyno: interrupted, cannot tell so far"),
        "{markdown}"
    );
    let line = block(&interim.figures, 1, 0.04);
    assert!(
        line.starts_with("4 % of the time, 1 block: goodput A –, B – tx/s"),
        "{line}"
    );
}

#[test]
fn without_a_look_nothing_is_known() {
    let gate = Gate::parse_required("goodput > -5%", &figures()).unwrap();
    let conditions = conditions(&gate, None);
    assert_eq!(conditions[0].result, GateResult::CannotTell);
    assert_eq!(conditions[0].evidence, "no whole block was measured");
}
