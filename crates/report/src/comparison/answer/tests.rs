//! What comes of comparisons, in the words of the terminal and of Markdown.

use super::*;
use crate::answer::{markdown, text as in_text};
use crate::comparison::compared;
use pgdyno_model::document::answer::SureState;
use pgdyno_model::document::comparison::{Differing, DifferingKind};
use pgdyno_stats::{CompareOptions, Drawn};
use pgdyno_store::{Store, example};

const NOISE: [f64; 8] = [0.1, -0.2, 0.05, 0.15, -0.1, 0.02, -0.07, 0.12];

/// In which order the repeats of both sides ran.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    ByTurns,
    AFirst,
}

/// A comparison to be made.
#[derive(Clone, Copy)]
struct Case {
    repeats: usize,
    order: Order,
    /// B's goodput as a share of A's.
    factor: f64,
    /// What each trial has less than the one before it.
    drift: f64,
    /// Transactions that fail on B's side, of 1,000 in a trial.
    failed: u64,
    /// Whether their order was drawn.
    drawn: bool,
}

const CLEAR: Case = Case {
    repeats: 8,
    order: Order::ByTurns,
    factor: 1.3,
    drift: 0.0,
    failed: 0,
    drawn: true,
};

/// A trial of a notebook, to be changed.
fn template() -> TrialRow {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("s")).unwrap();
    let writer = store.begin(&example()).unwrap();
    let number = writer.number();
    writer.fail("not yet").unwrap();
    store.trial(&number.to_string()).unwrap()
}

/// Trials of ten seconds each, as they follow each other.
fn sides(case: Case) -> [Vec<TrialRow>; 2] {
    let template = template();
    let mut sides = [Vec::new(), Vec::new()];
    for place in 0..2 * case.repeats {
        let side = match case.order {
            // A B B A …
            Order::ByTurns => (place + place / 2) % 2,
            Order::AFirst => usize::from(place >= case.repeats),
        };
        let repeat = sides[side].len();
        let level = 100.0 + NOISE[(repeat + 3 * side) % 8] - case.drift * place as f64;
        let goodput = level * if side == 1 { case.factor } else { 1.0 };
        let mut trial = template.clone();
        trial.number = 1 + place as i64;
        trial.uuid = format!("{place}");
        trial.started = at(10 * place);
        trial.ended = Some(at(10 * place + 8));
        trial.goodput_per_s = Some(goodput);
        trial.service.p50_us = Some((1e5 / goodput) as u64);
        trial.service.p99_us = Some((1e6 / goodput) as u64);
        trial.committed = Some(1000 - if side == 1 { case.failed } else { 0 });
        trial.failed = Some(if side == 1 { case.failed } else { 0 });
        sides[side].push(trial);
    }
    sides
}

fn at(seconds: usize) -> String {
    format!(
        "2026-11-25T18:{:02}:{:02}.000000Z",
        seconds / 60,
        seconds % 60
    )
}

fn differing(what: &str, a: &str, b: &str) -> Differing {
    Differing {
        kind: DifferingKind::Setting,
        what: what.to_owned(),
        a: a.to_owned(),
        b: b.to_owned(),
        does: None,
    }
}

fn answered(case: Case, differences: Vec<Differing>) -> (Says, Answer) {
    let [a, b] = sides(case);
    let pair = Pair {
        title: "tpcb".to_owned(),
        a: a.iter().collect(),
        b: b.iter().collect(),
        drawn: case.drawn.then(|| Drawn::of(case.repeats)),
    };
    let options = CompareOptions {
        needs_turns: true,
        ..CompareOptions::default()
    };
    let pairs = [pair];
    let figures = compared(&pairs, &options).unwrap();
    let around = Around {
        differences,
        ..Around::default()
    };
    of(&pairs[0], &figures[0], &around)
}

fn sure<'a>(answer: &'a Answer, name: &str) -> &'a Sure {
    let found = answer.sure.iter().find(|sure| sure.name == name);
    found.unwrap_or_else(|| panic!("{name} in {:#?}", answer.sure))
}

#[test]
fn each_case_has_its_answer() {
    let none = Case {
        factor: 1.0,
        ..CLEAR
    };
    for (name, case, says, sentence) in [
        ("clear", CLEAR, Says::Better, "B is better: goodput +30."),
        (
            "worse",
            Case {
                factor: 0.7,
                ..CLEAR
            },
            Says::Worse,
            "B is worse: goodput −30.",
        ),
        (
            "none",
            none,
            Says::NoDifference,
            "No significant difference was found: B’s goodput lies within −",
        ),
        (
            "one repeat each",
            Case {
                repeats: 1,
                ..CLEAR
            },
            Says::CannotTell,
            "Cannot tell: 1 repeat a side, 5 needed",
        ),
        (
            "drift that explains it",
            Case {
                order: Order::AFirst,
                drift: 1.0,
                ..none
            },
            Says::CannotTell,
            "Cannot tell: goodput of B is 8.",
        ),
        (
            "A before B",
            Case {
                order: Order::AFirst,
                ..CLEAR
            },
            Says::CannotTell,
            "Cannot tell: goodput of B is 30.",
        ),
    ] {
        let (found, answer) = answered(case, Vec::new());
        assert_eq!(found, says, "{name}: {answer:#?}");
        assert!(
            answer.sentence.starts_with(sentence),
            "{name}: {}",
            answer.sentence
        );
        let can_tell = says != Says::CannotTell;
        assert_eq!(answer.state == AnswerState::Known, can_tell, "{name}");
        // No interval and no word without a verdict.
        let goodput = &answer.evidence[0].sentence;
        assert_eq!(
            goodput.contains("interval +")
                || goodput.contains("interval −")
                || goodput.contains("are possible"),
            can_tell,
            "{name}: {goodput}"
        );
        assert_eq!(
            answer.remedies.is_empty(),
            matches!(says, Says::Better | Says::Worse),
            "{name}"
        );
        // The same words everywhere.
        let (text, markdown) = (
            in_text(&answer),
            markdown(&answer).replace("&lt;", "<").replace("&gt;", ">"),
        );
        let words = |text: &str| -> String {
            let kept = text
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, '−' | '+' | '%'));
            kept.collect()
        };
        for said in answer
            .evidence
            .iter()
            .map(|proof| &proof.sentence)
            .chain([&answer.sentence])
        {
            assert!(words(&text).contains(&words(said)), "{said}: {text}");
            assert!(
                words(&markdown).contains(&words(said)),
                "{said}: {markdown}"
            );
        }
    }
}

#[test]
fn nothing_of_one_repeat_has_a_figure_of_change() {
    let (_, answer) = answered(
        Case {
            repeats: 1,
            ..CLEAR
        },
        Vec::new(),
    );
    for proof in &answer.evidence {
        assert!(
            !proof.figure.contains('%') && !proof.sentence.contains('%'),
            "{proof:?}"
        );
    }
}

#[test]
fn what_speaks_against_it_is_named_with_its_figures() {
    let drift = Case {
        order: Order::AFirst,
        drift: 1.0,
        factor: 1.0,
        ..CLEAR
    };
    let (_, answer) = answered(drift, Vec::new());
    let order = sure(&answer, "Order");
    assert_eq!(order.state, SureState::Failed);
    assert!(
        order.text.starts_with("All of A ran before all of B"),
        "{order:?}"
    );
    let found = sure(&answer, "Drift");
    assert_eq!(found.state, SureState::Failed);
    assert!(
        found.text.contains("within A, −") && found.text.contains("B began 80 s later"),
        "{found:?}"
    );
    let more = sure(&answer, "Run them by turns");
    assert!(
        more.text.starts_with("8 a side, about 2")
            && more.text.contains("would show a change of goodput of 0."),
        "{more:?}"
    );
    assert_eq!(sure(&answer, "Repeats").state, SureState::Held);
    let foretold = answer
        .evidence
        .iter()
        .find(|proof| proof.sentence.contains("predicts"));
    assert!(foretold.unwrap().figure.starts_with('−'), "{answer:#?}");

    let (_, answer) = answered(CLEAR, Vec::new());
    assert_eq!(sure(&answer, "By turns").state, SureState::Held);
    // A notebook of before: A B B A, as it was written.
    let fixed = Case {
        drawn: false,
        ..CLEAR
    };
    let (says, fixed) = answered(fixed, Vec::new());
    assert_eq!(says, Says::Better);
    let order = sure(&fixed, "By turns");
    assert_eq!(order.state, SureState::Limit);
    assert!(order.text.contains("was not random"), "{order:?}");
    assert!(
        sure(&answer, "Smallest change seen")
            .text
            .starts_with("goodput ± 0."),
        "{answer:#?}"
    );
    let (_, answer) = answered(
        Case {
            repeats: 1,
            ..CLEAR
        },
        Vec::new(),
    );
    assert_eq!(
        sure(&answer, "Repeats"),
        &Sure::failed("Repeats", "1 a side, 5 needed")
    );
}

#[test]
fn failures_of_a_side_and_several_changes_are_a_warning() {
    let case = Case {
        failed: 250,
        ..CLEAR
    };
    let changes = vec![
        differing("shared_buffers", "128MB", "1GB"),
        differing("wal_compression", "off", "lz4"),
    ];
    let (_, answer) = answered(case, changes);
    let careful = answer.careful.clone().unwrap();
    assert!(
        careful.starts_with("0\u{a0}% of A’s transactions failed and 25.0\u{a0}% of B’s"),
        "{careful}"
    );
    assert!(
        careful
            .ends_with("2 things changed together: this comparison cannot tell which one matters"),
        "{careful}"
    );
    let failed = sure(&answer, "Failed transactions");
    assert!(
        failed
            .text
            .starts_with("A none; B 25.0\u{a0}%, 2,000 of 8,000"),
        "{failed:?}"
    );
    // A setting that follows from another is no change of its own.
    let mut follows = differing("shared_memory_size", "200MB", "1100MB");
    follows.does = Some(FOLLOWS_WORDS);
    let (_, answer) = answered(
        CLEAR,
        vec![differing("shared_buffers", "128MB", "1GB"), follows],
    );
    assert_eq!(answer.careful, None);
}

#[test]
fn what_would_tell_is_a_command_for_what_differs() {
    let few = Case {
        repeats: 2,
        ..CLEAR
    };
    let tries = |differences: Vec<Differing>| answered(few, differences).1.remedies.concat();
    let again = tries(Vec::new());
    assert!(
        again.contains("pgdyno rerun 1 --tag a; pgdyno rerun 2 --tag b"),
        "{again}"
    );
    assert!(again.contains("$(seq 6)"), "{again}");
    let setting = tries(vec![differing("wal_compression", "off", "lz4")]);
    assert!(
        setting.contains("'settings.wal_compression = [\"off\", \"lz4\"]'"),
        "{setting}"
    );
    assert!(
        setting.contains("'repeats = 6'") && setting.ends_with("pgdyno sweep by-turns.toml`"),
        "{setting}"
    );
    // A default has no value to write down.
    let unknown = tries(vec![differing("wal_compression", "default", "lz4")]);
    assert!(unknown.contains("a sweep over what differs"), "{unknown}");
}

#[test]
fn several_points_are_counted_and_none_is_ranked_against_another() {
    let [a, b] = sides(CLEAR);
    let [same_a, same_b] = sides(Case {
        factor: 1.0,
        failed: 100,
        ..CLEAR
    });
    let pairs = [("tpcb", &a, &b), ("select-only", &same_a, &same_b)].map(|(title, a, b)| Pair {
        title: title.to_owned(),
        a: a.iter().collect(),
        b: b.iter().collect(),
        drawn: None,
    });
    let figures = compared(&pairs, &CompareOptions::default()).unwrap();
    let points: Vec<(&Pair<'_>, &[Compared])> = pairs
        .iter()
        .zip(&figures)
        .map(|(pair, figures)| (pair, figures.as_slice()))
        .collect();
    let (says, answer) = of_all(&points, &Around::default());
    assert_eq!(says, Says::Better);
    assert_eq!(
        answer.sentence,
        "B is better at 1, not different at 1 of 2 points"
    );
    assert!(
        answer.evidence[0]
            .sentence
            .starts_with("goodput at tpcb. B is better"),
        "{answer:#?}"
    );
    // Checks are of all points, the worst with its name.
    assert_eq!(
        sure(&answer, "Trials").text,
        "None of 32 has a serious note"
    );
    assert_eq!(sure(&answer, "Repeats").text, "8 a side");
    let failed = &sure(&answer, "Failed transactions").text;
    assert!(failed.ends_with(" (select-only)"), "{failed}");
    let careful = answer.careful.as_deref().unwrap();
    assert!(careful.contains("of B’s"), "{careful}");
    let (says, answer) = of_all(&points[..1], &Around::default());
    assert_eq!(says, Says::Better);
    assert!(
        answer.sentence.starts_with("B is better: goodput"),
        "{answer:#?}"
    );
    assert_eq!(of_all(&[], &Around::default()).0, Says::CannotTell);
}
