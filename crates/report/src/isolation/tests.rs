use pgdyno_isolation::{Depth, NOTHING_OVERWRITTEN, check, read};
use pgdyno_model::Fact;
use pgdyno_model::document::isolation::{
    IsolationCheck, IsolationExample, IsolationFound, IsolationKept, IsolationLink,
    IsolationOperation, IsolationPromise, IsolationTransaction,
};
use pgdyno_model::document::isolation_lab::{IsolationLab, IsolationTrial};

use super::answer::answer;
use super::columns::NOTHING_ABORTED;
use super::columns::{COLUMNS, at_most};
use super::lab::{Tried, empty, finish, share_text};
use crate::lab::{Lab, text as text_of};
use crate::sections;

/// A whole check of 10,000 pairs at a level that promises this one.
fn whole(in_effect: &str, promised: &str) -> IsolationCheck {
    let levels = pgdyno_isolation::Level::ALL.map(|level| IsolationKept {
        level: level.name().to_owned(),
        kept: Some(true),
        by: Vec::new(),
        unknown: None,
    });
    IsolationCheck {
        in_effect: Fact::Known(in_effect.to_owned()),
        promise: Fact::Known(IsolationPromise {
            level: promised.to_owned(),
            allows: "write skew is possible".to_owned(),
            source: "the manual, 13.2".to_owned(),
            except: Vec::new(),
        }),
        reads: None,
        recorded: 1_000,
        committed: 900,
        aborted: 100,
        unknown: 0,
        dependencies: 20_000,
        conflicting_pairs: 10_000,
        acknowledged_writes: 5_000,
        writes_read_at_end: 5_000,
        has_predicates: true,
        not_whole: None,
        levels: levels.into(),
        found: Vec::new(),
        notes: Vec::new(),
        took_ms: 12,
    }
}

/// A check that found something.
pub(crate) fn broken() -> IsolationCheck {
    let mut found = occurrences("G2-item", 1, true);
    found.example.transactions = vec![IsolationTransaction {
        operations: vec![IsolationOperation::default()],
        ..IsolationTransaction::default()
    }];
    found.example.links = vec![IsolationLink {
        from: 0,
        to: 0,
        kind: "rw".to_owned(),
        key: None,
        why: "it read too early".to_owned(),
    }];
    with(whole("serializable", "serializable"), found)
}

fn occurrences(anomaly: &str, count: u64, forbidden: bool) -> IsolationFound {
    IsolationFound {
        anomaly: anomaly.to_owned(),
        meaning: "what it means".to_owned(),
        count,
        at_least: false,
        forbidden: Some(forbidden),
        example: IsolationExample {
            story: vec![
                "T1 comes before T2".to_owned(),
                "but T2 comes before T1".to_owned(),
            ],
            replay: Some("{}".to_owned()),
            found_again: Some(true),
            ..IsolationExample::default()
        },
    }
}

fn tried(trial: i64, level: &str, check: IsolationCheck) -> Tried {
    Tried {
        shown: IsolationTrial {
            trial,
            level: level.to_owned(),
            workload: "isolation-append".to_owned(),
            repeat: 1,
            state: "complete".to_owned(),
            reason: None,
            counts: true,
            goodput_per_s: Some(1_000.0 + trial as f64),
            recorded: check.recorded,
            conflicting_pairs: check.conflicting_pairs,
            found: Vec::new(),
            checked_ms: 12,
        },
        committed: 900,
        retries: 90,
        during: Vec::new(),
        trouble: None,
        failed_check: None,
        check: Fact::Known(check),
    }
}

/// Three write skews at a level that forbids them.
pub(crate) fn seen_and_forbidden() -> IsolationLab {
    let check = whole("serializable", "serializable");
    judged(&[tried(
        1,
        "serializable",
        with(check, occurrences("G2-item", 3, true)),
    )])
}

fn judged(trials: &[Tried]) -> IsolationLab {
    let mut lab = empty();
    finish(&mut lab, trials);
    lab
}

fn with(check: IsolationCheck, found: IsolationFound) -> IsolationCheck {
    IsolationCheck {
        found: vec![found],
        ..check
    }
}

#[test]
fn a_forbidden_anomaly_is_the_headline_with_its_story_and_the_rate_is_of_wrong_answers() {
    let lab = judged(&[
        tried(
            1,
            "read committed",
            with(
                whole("read committed", "read committed"),
                occurrences("lost-update", 7, false),
            ),
        ),
        tried(
            2,
            "serializable",
            with(
                whole("serializable", "serializable"),
                occurrences("G2-item", 3, true),
            ),
        ),
    ]);
    assert_eq!(lab.is_kept, Some(false));
    assert!(
        lab.says[0]
            .starts_with("SERIALIZABLE DID NOT HOLD: write skew (3), which it forbids, in 10,000"),
        "{:?}",
        lab.says
    );
    assert_eq!(lab.says[1], "READ COMMITTED kept what it promises");
    let documented = &lab.levels[0].says;
    assert!(
        documented.contains("as documented: lost update (7)"),
        "{documented}"
    );
    assert_eq!(lab.examples[0].anomaly, "G2-item");
    let printed = text(&lab);
    assert!(
        printed.contains("3 FORBIDDEN") && printed.contains("7 allowed"),
        "{printed}"
    );
    assert!(printed.contains("but T2 comes before T1"), "{printed}");
    assert!(
        printed.contains("pgdyno check-history cycle-2-G2-item.json"),
        "{printed}"
    );
    let wrong: Vec<&str> = printed
        .lines()
        .filter(|line| line.contains("WRONG"))
        .collect();
    assert!(
        wrong.len() == 1 && wrong[0].starts_with("serializable"),
        "{printed}"
    );
    let widest = printed.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{printed}");
    let answer = answer(&lab);
    assert!(answer.is_harm);
    assert_eq!(answer.sentence, lab.says[0]);
    assert_eq!(answer.evidence[0].figure, "3");
    assert_eq!(answer.sure.len(), lab.checks.len());
}

#[test]
fn a_headline_is_short_of_levels_that_were_kept_and_of_many_kinds() {
    let kept = |trial, level| tried(trial, level, whole(level, "read committed"));
    let lab = judged(&[
        kept(1, "read committed"),
        kept(2, "repeatable read"),
        kept(3, "serializable"),
    ]);
    assert_eq!(
        lab.says,
        ["READ COMMITTED, REPEATABLE READ and SERIALIZABLE kept what they promise"]
    );
    let mut many = whole("serializable", "serializable");
    many.found = ["G1a", "G1c", "lost-update", "G2-item"]
        .map(|anomaly| occurrences(anomaly, 2, true))
        .into();
    let lab = judged(&[tried(1, "serializable", many)]);
    assert_eq!(
        lab.says,
        [
            "SERIALIZABLE DID NOT HOLD: aborted read (2), circular flow (2) and 2 more, which it forbids, in 10,000 \
             overlapping conflicting pairs"
        ]
    );
}

#[test]
fn a_story_has_the_times_and_the_statements_of_its_transactions() {
    let mut seen = occurrences("G2-item", 3, false);
    seen.example.transactions = vec![IsolationTransaction {
        name: "T7".to_owned(),
        client: 3,
        began_us: Some(0.0),
        ended_us: Some(2_960.0),
        end: "committed".to_owned(),
        operations: vec![IsolationOperation {
            did: "read 5 = [4 9]".to_owned(),
            statement: Some("SELECT v FROM lists WHERE k = :key;".to_owned()),
            ..IsolationOperation::default()
        }],
    }];
    let check = whole("repeatable read", "snapshot isolation");
    let lab = judged(&[tried(1, "repeatable read", with(check, seen))]);
    let printed = text(&lab);
    for line in [
        "G2-item (what it means) in trial 1 (isolation-append, REPEATABLE READ):",
        "  T7 (client 3), 0.00 to 2.96 ms, committed:",
        "    SELECT v FROM lists WHERE k = :key; → read 5 = [4 9]",
        "  but T2 comes before T1",
    ] {
        assert!(printed.lines().any(|of| of == line), "{line}: {printed}");
    }
}

#[test]
fn what_was_not_seen_has_its_bound_and_what_cannot_be_seen_its_reason() {
    let blind = IsolationCheck {
        has_predicates: false,
        ..whole("serializable", "serializable")
    };
    let lab = judged(&[tried(1, "serializable", blind)]);
    assert_eq!(lab.is_kept, Some(true));
    let cells = &lab.levels[0].cells;
    let of = |name: &str| cells.iter().find(|cell| cell.anomaly == name).unwrap();
    let lost = of("lost-update");
    assert!((lost.at_most.unwrap() - 2.995e-4).abs() < 1e-6);
    assert_eq!(lost.forbidden, Some(true));
    assert!(
        of("predicate")
            .unknown
            .as_ref()
            .unwrap()
            .contains("no rows")
    );
    // Time is not promised: it is no part of the verdict.
    assert_eq!(of("stale-read").forbidden, Some(false));
    let few = IsolationCheck {
        conflicting_pairs: 12,
        ..whole("serializable", "serializable")
    };
    let lab = judged(&[tried(1, "serializable", few)]);
    assert_eq!(lab.is_kept, None);
    assert!(
        lab.says[0].contains("only 12 overlapping conflicting pairs"),
        "{:?}",
        lab.says
    );
}

#[test]
fn pairs_of_rows_alone_bound_no_lost_update() {
    let lists = whole("serializable", "serializable");
    let mut rows = lists.clone();
    let read_uncommitted = rows
        .levels
        .iter_mut()
        .find(|kept| kept.level == "read uncommitted");
    read_uncommitted.unwrap().unknown = Some(NOTHING_OVERWRITTEN.to_owned());
    let alone = judged(&[tried(2, "serializable", rows.clone())]);
    assert_eq!(alone.is_kept, Some(true));
    let lab = judged(&[
        tried(1, "serializable", lists),
        tried(2, "serializable", rows),
    ]);
    let pairs = |name: &str| {
        let cells = &lab.levels[0].cells;
        cells
            .iter()
            .find(|cell| cell.anomaly == name)
            .unwrap()
            .pairs
    };
    for name in ["dirty-write", "lost-update", "write-skew"] {
        assert_eq!(pairs(name), 10_000, "{name}");
    }
    assert_eq!(pairs("predicate"), 20_000);
}

#[test]
fn the_bound_of_a_verdict_is_that_of_the_least_looked_for() {
    let lists = IsolationCheck {
        conflicting_pairs: 1_000,
        has_predicates: false,
        ..whole("serializable", "serializable")
    };
    let mut rows = whole("serializable", "serializable");
    let overwrites = { rows.levels.iter_mut() }.find(|kept| kept.level == "read uncommitted");
    overwrites.unwrap().unknown = Some(NOTHING_OVERWRITTEN.to_owned());
    let lab = judged(&[
        tried(1, "serializable", lists),
        tried(2, "serializable", rows),
    ]);
    // Write skew of lists could be seen in 1,000 of the 11,000 pairs.
    let says = &lab.levels[0].says;
    assert!(
        says.contains("11,000 overlapping conflicting pairs (of those that could show it at most 1 in 330, 95 %)"),
        "{says}"
    );
}

#[test]
fn a_trial_whose_history_cannot_be_understood_or_whose_check_failed_is_no_trial_that_was_kept() {
    let kept = || tried(1, "serializable", whole("serializable", "serializable"));
    let why = "the recording is no history: list 4 was answered with \"1,x\"";
    let mut strange = kept();
    strange.shown.trial = 2;
    strange.shown.counts = false;
    strange.check = Fact::Unknown(why.to_owned());
    let lab = judged(&[kept(), strange]);
    assert_eq!(lab.is_kept, None);
    assert!(
        lab.says[0].contains(&format!("not all was checked: trial 2: {why}")),
        "{:?}",
        lab.says
    );
    assert_eq!(lab.levels[0].rates[0].is_kept, None);

    let mut wrong_sum = kept();
    wrong_sum.failed_check = Some("check sum of each bank failed".to_owned());
    let lab = judged(&[wrong_sum]);
    assert_eq!(lab.is_kept, None);
    assert!(
        lab.says[0].contains("trial 1: check sum of each bank failed"),
        "{:?}",
        lab.says
    );
    assert_eq!(lab.levels[0].rates[0].is_kept, None);
}

#[test]
fn keys_that_were_not_read_at_the_end_may_be_gone() {
    let check = IsolationCheck {
        writes_read_at_end: 4_990,
        ..whole("read committed", "read committed")
    };
    let lab = judged(&[tried(1, "read committed", check)]);
    assert_eq!(lab.is_kept, None);
    assert!(
        lab.says[0]
            .contains("the keys of 10 of 5,000 acknowledged writes were not in the final read"),
        "{:?}",
        lab.says
    );
}

#[test]
fn one_example_that_is_not_found_again_does_not_take_back_what_others_prove() {
    let mut check = with(
        whole("serializable", "serializable"),
        occurrences("G2-item", 1, true),
    );
    let mut unproven = occurrences("G-nonadjacent-item", 1, true);
    unproven.example.found_again = Some(false);
    check.found.push(unproven);
    let lab = judged(&[tried(1, "serializable", check)]);
    assert_eq!(lab.is_kept, Some(false));
    let limit = { lab.checks.iter() }.find(|check| check.name == "Not found again");
    assert_eq!(limit.unwrap().held, None);
}

#[test]
fn without_an_abort_there_is_no_aborted_read_to_be_bounded() {
    let mut check = whole("read committed", "read committed");
    (check.committed, check.aborted) = (1_000, 0);
    let lab = judged(&[tried(1, "read committed", check)]);
    let level = &lab.levels[0];
    let cell = { level.cells.iter() }
        .find(|cell| cell.anomaly == "aborted-read")
        .expect("it is among the cells");
    assert_eq!(cell.unknown.as_deref(), Some(NOTHING_ABORTED));
    // What others show is not in doubt.
    assert_eq!(level.is_kept, Some(true));
}

#[test]
fn a_level_that_is_another_in_effect_is_marked_once() {
    let lab = judged(&[
        tried(
            1,
            "read uncommitted",
            whole("read committed", "read committed"),
        ),
        tried(
            2,
            "read committed",
            whole("read committed", "read committed"),
        ),
    ]);
    let same: Vec<_> = lab
        .levels
        .iter()
        .map(|level| level.same_as.as_deref())
        .collect();
    assert_eq!(same, [None, Some("read uncommitted")]);
    let printed = text(&lab);
    assert_eq!(
        printed.matches("the same level in effect").count(),
        1,
        "{printed}"
    );
}

#[test]
fn a_level_that_was_not_in_effect_is_never_said_to_be_kept_without_that() {
    let lab = judged(&[tried(
        1,
        "serializable",
        whole("read committed", "read committed"),
    )]);
    assert!(
        lab.says[0].starts_with("SERIALIZABLE (IN EFFECT READ COMMITTED) kept"),
        "{:?}",
        lab.says
    );
    let check = { lab.checks.iter() }
        .find(|check| check.name == "Another level than asked for")
        .expect("it is among the checks");
    assert_eq!(
        (check.held, check.says.as_str()),
        (
            None,
            "serializable was asked for, read committed was in effect"
        )
    );
}

#[test]
fn reads_from_standbys_and_disturbances_are_in_the_verdict() {
    let reads = "reads at db2:5432 (a standby)";
    let check = IsolationCheck {
        reads: Some(reads.to_owned()),
        ..whole("read committed", "read committed")
    };
    let stale = occurrences("G-single-item-realtime", 12, false);
    let mut trial = tried(1, "read committed", with(check, stale));
    trial.during = vec!["pgdyno:checkpoint".to_owned()];
    let lab = judged(&[trial]);
    assert_eq!(
        (lab.reads.as_deref(), lab.is_kept),
        (Some(reads), Some(true))
    );
    let headline =
        format!("READ COMMITTED kept what it promises with {reads} during pgdyno:checkpoint");
    assert_eq!(lab.says, [headline]);
    let says = &lab.levels[0].says;
    assert!(
        says.starts_with(&format!(
            "READ COMMITTED with {reads} during pgdyno:checkpoint kept"
        )) && says.contains("as documented: stale read (12)"),
        "{says}"
    );
    assert!(text(&lab).contains("12 allowed"));
}

#[test]
fn what_was_not_disturbed_as_it_was_to_be_is_not_said_to_be_kept() {
    let mut trial = tried(
        1,
        "read committed",
        whole("read committed", "read committed"),
    );
    trial.during = vec!["pgdyno:checkpoint".to_owned()];
    trial.trouble = Some("`pgdyno:checkpoint` ended with exit code 1".to_owned());
    let lab = judged(&[trial]);
    assert_eq!(lab.is_kept, None);
    assert!(
        lab.says[0].contains("not disturbed as planned: `pgdyno:checkpoint` ended"),
        "{:?}",
        lab.says
    );
    assert!(text(&lab).contains("Not disturbed as planned"));
}

#[test]
fn a_lost_write_is_forbidden_at_every_level_and_not_known_without_a_reading_at_the_end() {
    let lost = occurrences("lost-write", 3, true);
    let lab = judged(&[tried(
        1,
        "read committed",
        with(whole("read committed", "read committed"), lost),
    )]);
    assert!(
        lab.says[0].contains("DID NOT HOLD: lost write (3)"),
        "{:?}",
        lab.says
    );
    let unread = IsolationCheck {
        writes_read_at_end: 0,
        ..whole("read committed", "read committed")
    };
    let lab = judged(&[tried(1, "read committed", unread.clone())]);
    assert_eq!(lab.is_kept, None);
    assert!(
        lab.says[0].contains("lost write: no key was read after"),
        "{:?}",
        lab.says
    );
    // Registers cannot show it, and are judged by what they show.
    let registers = IsolationCheck {
        acknowledged_writes: 0,
        ..unread
    };
    assert_eq!(
        judged(&[tried(1, "read committed", registers)]).is_kept,
        Some(true)
    );
}

#[test]
fn a_conclusion_that_fails_its_own_check_is_not_shown() {
    let uneven = IsolationCheck {
        committed: 901,
        ..whole("serializable", "serializable")
    };
    let lab = judged(&[tried(1, "serializable", uneven)]);
    assert_eq!(lab.is_kept, None);
    assert!(
        lab.says[0].contains("Counts do not add up"),
        "{:?}",
        lab.says
    );

    let mut lost = occurrences("G2-item", 1, true);
    lost.example.found_again = Some(false);
    let lab = judged(&[tried(
        1,
        "serializable",
        with(whole("serializable", "serializable"), lost),
    )]);
    assert_eq!(lab.is_kept, None);
    assert!(lab.says[0].contains("Not found again"), "{:?}", lab.says);
}

#[test]
fn without_a_level_in_effect_a_promise_or_a_history_nothing_is_known() {
    let why = |check: IsolationCheck| {
        let lab = judged(&[tried(1, "serializable", check)]);
        assert_eq!(lab.is_kept, None);
        lab.says.join(" ")
    };
    let check = whole("serializable", "serializable");
    let in_effect = Fact::Unknown("refused".to_owned());
    assert!(
        why(IsolationCheck {
            in_effect,
            ..check.clone()
        })
        .contains("could not be read: refused")
    );
    let promise = Fact::Unknown("no such product".to_owned());
    assert!(
        why(IsolationCheck {
            promise,
            ..check.clone()
        })
        .contains("no such product")
    );
    let not_whole = Some("the history was cut after 5 transactions".to_owned());
    assert!(why(IsolationCheck { not_whole, ..check }).contains("was cut"));
    let mut none = tried(1, "serializable", whole("", ""));
    none.check = Fact::Unknown("no history was recorded".to_owned());
    none.shown.counts = false;
    none.shown.reason = Some("no history was recorded".to_owned());
    assert!(judged(&[none]).says[0].contains("no history was recorded"));
    assert_eq!(judged(&[]).says, ["No trial was begun"]);
}

#[test]
fn each_anomaly_of_an_example_history_is_of_one_kind() {
    let skew = r#"{"type":"invoke","process":0,"value":[["r","x",null],["append","y",1]]}
{"type":"invoke","process":1,"value":[["r","y",null],["append","x",1]]}
{"type":"ok","process":0,"value":[["r","x",[]],["append","y",1]]}
{"type":"ok","process":1,"value":[["r","y",[]],["append","x",1]]}
"#;
    let report = check(&read(skew).unwrap(), Depth::All, &mut |_| ()).unwrap();
    let names = report.found.iter().map(|found| found.anomaly.name());
    let listed = [
        "lost-update",
        "G2-item-realtime",
        "G0-process",
        "no-causal-order",
        "no-causal-order-process",
        "phantom",
        "fractured-rows",
        "internal",
        "one of tomorrow",
    ];
    for name in names.chain(listed) {
        let kinds: Vec<&str> = { COLUMNS.iter() }
            .filter(|column| column.has(name))
            .map(|column| column.name)
            .collect();
        assert_eq!(kinds.len(), 1, "{name}: {kinds:?}");
    }
}

#[test]
fn an_upper_limit_is_never_rounded_down() {
    assert_eq!(at_most(0), None);
    assert_eq!(share_text(at_most(299).unwrap_or_default()), "1 in 100");
    assert_eq!(share_text(1.0 / 204_999.0), "1 in 200,000");
}

fn text(lab: &IsolationLab) -> String {
    text_of(lab, 80)
}

#[test]
fn markdown_says_what_is_forbidden_and_tells_the_story() {
    let text = sections::markdown(&seen_and_forbidden().sections());
    for part in [
        "| asked for | serializable |",
        "| 3 FORBIDDEN; in ",
        "| 0 (&lt; 1 in 3,300); ",
        "| WRONG |",
        "G2-item at SERIALIZABLE",
        " (trial 1):\n\n- T1 comes before T2\n",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
