use super::answer::answer;
use super::*;
use crate::lab::text;
use pgdyno_model::document::answer::{AnswerState, Sure, SureState};
use pgdyno_model::document::section::SectionPart;
use pgdyno_spec::experiment::retries_lab::PLAIN;

/// A form whose repeats ran by turns with `of` others, as the `place`th of them.
fn form(name: &str, (place, of): (u64, u64), goodputs: &[f64]) -> Form {
    let repeats = goodputs.iter().enumerate().map(|(i, _)| LabRepeat {
        trial: None,
        order: i as u64 * of + place,
        p99_us: None,
        retries_per_commit: Some(0.5),
        lost_time_share: None,
    });
    Form {
        name: name.to_owned(),
        goodputs: goodputs.to_vec(),
        repeats: repeats.collect(),
        latencies: Latencies::default(),
        committed: 100,
        retries: 50,
        total: 100,
        failed: 0,
        work: Work::default(),
        server_restarts: None,
        troubles: Vec::new(),
    }
}

fn lab(forms: Vec<Form>) -> RetriesLab {
    lab_of(vec![point(8, forms)])
}

fn point(clients: u32, forms: Vec<Form>) -> Point {
    Point {
        given: json!({ "clients": clients, "isolation": "serializable" }),
        isolation: Some("serializable".to_owned()),
        forms,
    }
}

fn lab_of(points: Vec<Point>) -> RetriesLab {
    let results = Results {
        points,
        target: None,
        complete: 0,
    };
    results.document()
}

fn marks(answer: &Answer) -> Vec<String> {
    let mark = |sure: &Sure| match sure.state {
        SureState::Held => "✓",
        SureState::Failed => "✗",
        SureState::Limit => "○",
    };
    let all = answer.sure.iter();
    all.map(|sure| format!("{} {}", mark(sure), sure.name))
        .collect()
}

const CTE: [f64; 6] = [612.0, 598.0, 627.0, 610.0, 615.0, 605.0];
const PLAIN_OF: [f64; 6] = [344.0, 340.0, 350.0, 338.0, 347.0, 345.0];

#[test]
fn the_best_form_is_recommended_with_what_it_gains_over_the_plain_one() {
    let answer = answer(&lab(vec![
        form(PLAIN, (1, 2), &PLAIN_OF),
        form("cte", (2, 2), &CTE),
    ]))
    .unwrap();
    assert_eq!(
        answer.sentence,
        "Write it as `cte`: 1.77 times the goodput of `statements`"
    );
    assert_eq!(answer.state, AnswerState::Known);
    assert_eq!(answer.evidence[0].figure, "+77.4 %");
    assert_eq!(
        marks(&answer),
        [
            "✓ Ahead of the other",
            "✓ 6 repeats",
            "✓ No drift",
            "○ Only here"
        ]
    );
}

#[test]
fn forms_that_may_be_as_good_are_named_and_one_that_could_not_run_is_missed() {
    let mut procedure = form("procedure", (4, 4), &[]);
    procedure.troubles.push("it has no procedures".to_owned());
    let answer = answer(&lab(vec![
        form(PLAIN, (1, 4), &PLAIN_OF),
        form("cte", (2, 4), &CTE),
        form("batch", (3, 4), &[611.0, 600.0, 626.0, 609.0, 616.0, 604.0]),
        procedure,
    ]))
    .unwrap();
    assert!(
        answer
            .sentence
            .starts_with("Write it as `cte` or `batch`: 1.7"),
        "{}",
        answer.sentence
    );
    let marks = marks(&answer);
    assert_eq!(marks[0], "○ Ahead of 1 of 2");
    assert!(marks.contains(&"○ Not run".to_owned()), "{marks:?}");
}

#[test]
fn what_the_repeats_do_not_support_is_not_recommended() {
    let equal = [100.0, 104.0, 96.0, 101.0, 99.0, 102.0];
    let other = [101.0, 103.0, 97.0, 100.0, 98.0, 105.0];
    for (plain, cte, state, sentence, remedy) in [
        (
            &equal[..],
            &other[..],
            AnswerState::CannotTell,
            "No form is significantly better: all differences may be chance",
            "--repeat 12",
        ),
        (
            &[100.0][..],
            &[400.0][..],
            AnswerState::CannotTell,
            "Cannot tell which form is best: one repeat of each is too few",
            "--repeat 5",
        ),
        (
            &[100.0, 101.0][..],
            &[400.0, 410.0][..],
            AnswerState::CannotTell,
            "Cannot tell yet which form is best: `cte` leads in 2 repeats of each, a first look",
            "--repeat 5",
        ),
    ] {
        let lab = lab(vec![form(PLAIN, (1, 2), plain), form("cte", (2, 2), cte)]);
        let answer = answer(&lab).unwrap();
        assert_eq!((answer.state, answer.sentence.as_str()), (state, sentence));
        assert!(answer.remedies[0].contains(remedy), "{:?}", answer.remedies);
        let figures: Vec<&str> = answer
            .evidence
            .iter()
            .map(|it| it.figure.as_str())
            .collect();
        assert_eq!(figures.is_empty(), plain.len() == 1, "{figures:?}");
    }
}

#[test]
fn where_the_plain_form_is_best_one_stays_with_it() {
    let answer = answer(&lab(vec![
        form(PLAIN, (1, 2), &CTE),
        form("for-update", (2, 2), &PLAIN_OF),
    ]))
    .unwrap();
    assert_eq!(
        answer.sentence,
        "Stay with `statements`: no form gives more goodput"
    );
}

#[test]
fn a_machine_that_became_slower_and_another_level_are_failures() {
    let slower = |values: &[f64; 6]| -> Vec<f64> {
        let by = values.iter().enumerate();
        by.map(|(i, value)| value * (1.0 - 0.1 * i as f64))
            .collect()
    };
    let mut point = point(
        8,
        vec![
            form(PLAIN, (1, 2), &slower(&PLAIN_OF)),
            form("cte", (2, 2), &slower(&CTE)),
        ],
    );
    point.isolation = Some("repeatable read".to_owned());
    let marks = marks(&answer(&lab_of(vec![point])).unwrap());
    assert!(marks.contains(&"✗ Drift".to_owned()), "{marks:?}");
    assert!(
        marks.contains(&"✗ Another level than asked for".to_owned()),
        "{marks:?}"
    );
}

#[test]
fn of_several_numbers_of_clients_the_highest_is_the_question_and_the_others_stand_below() {
    let forms = || vec![form(PLAIN, (1, 2), &PLAIN_OF), form("cte", (2, 2), &CTE)];
    let answer = answer(&lab_of(vec![point(1, forms()), point(16, forms())])).unwrap();
    assert!(
        answer.sentence.ends_with("(16 clients, serializable)"),
        "{}",
        answer.sentence
    );
    let last = answer.evidence.last().unwrap();
    assert_eq!(last.figure, "1.77 ×");
    assert_eq!(
        last.sentence,
        "1 client, serializable: `cte` over `statements`"
    );
}

#[test]
fn without_two_forms_there_is_nothing_to_compare() {
    let alone = answer(&lab(vec![form("cte", (1, 1), &CTE)])).unwrap();
    assert_eq!(alone.state, AnswerState::NotKnown);
    let mut none = form("cte", (1, 1), &[]);
    none.troubles.push("the disk was full".to_owned());
    let none = answer(&lab(vec![none])).unwrap();
    assert_eq!(none.sentence, "No form was measured: the disk was full");
    assert_eq!(answer(&lab_of(Vec::new())), None);
}

#[test]
fn a_form_that_could_not_be_run_is_a_row_with_its_reason() {
    let mut procedure = form("procedure", (1, 3), &[]);
    procedure.troubles.push("it has no procedures".to_owned());
    let mut half = form("cte", (2, 3), &[10.0]);
    half.troubles.push("the disk was full".to_owned());
    let forms = vec![procedure, half, form(PLAIN, (3, 3), &[20.0])];
    let document = lab_of(vec![point(1, forms)]);
    let text = text(&document, 110);
    // The answer comes first.
    let (_, text) = text.split_once("\n\n").unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "1 client, serializable");
    assert!(lines[2].starts_with("statements"), "{text}");
    assert!(lines[3].starts_with("cte "), "{text}");
    assert_eq!(lines[4], "procedure   – it has no procedures");
    assert_eq!(lines[5], "cte: not in every trial: the disk was full");
    let json = serde_json::to_value(&document).unwrap();
    let form = &json["points"][0]["forms"][2];
    assert_eq!(form["not_run"][0], "it has no procedures");
    assert!(form["goodput_per_s"].is_null());
}

#[test]
fn the_level_that_was_found_is_said_and_what_was_asked_for() {
    let mut ignored = point(4, vec![form("cte", (1, 1), &[1.0])]);
    ignored.isolation = Some("repeatable read".to_owned());
    let text = text(&lab_of(vec![ignored]), 110);
    assert!(
        text.contains("\n\n4 clients, repeatable read (serializable was requested)\n"),
        "{text}"
    );
}

#[test]
fn few_retries_under_a_weak_level_are_said_with_the_way_on() {
    let weak = |retries| {
        let mut statements = form(PLAIN, (1, 1), &[20.0; 5]);
        statements.retries = retries;
        let mut point = point(32, vec![statements]);
        point.isolation = Some("read committed".to_owned());
        lab_of(vec![point]).says
    };
    let remarks = weak(0);
    assert_eq!(remarks.len(), 1);
    assert!(
        remarks[0].contains("--isolation serializable"),
        "{remarks:?}"
    );
    assert_eq!(weak(10), Vec::<String>::new());
}

#[test]
fn sections_have_figures_as_data_and_pairs_that_are_no_neighbours_below_a_fold() {
    let lab = lab_of(vec![point(
        8,
        vec![
            form(PLAIN, (1, 4), &PLAIN_OF),
            form("cte", (2, 4), &CTE),
            form("batch", (3, 4), &[611.0, 600.0, 626.0, 609.0, 616.0, 604.0]),
            form(
                "pipeline",
                (4, 4),
                &[511.0, 500.0, 526.0, 509.0, 516.0, 504.0],
            ),
        ],
    )]);
    let sections = lab.sections();
    let [SectionPart::Table(forms), ..] = &sections[0].parts[..] else {
        panic!("no table: {sections:?}");
    };
    let bar = forms.rows[0].cells[1].bar.as_ref().unwrap();
    assert_eq!((bar.value, bar.repeats.len()), (Some(611.0), 6));
    assert!(
        bar.low.unwrap() >= 598.0 && bar.high.unwrap() <= 627.0,
        "{bar:?}"
    );
    let [SectionPart::Table(pairs)] = &sections[1].parts[..] else {
        panic!("no pairs: {sections:?}");
    };
    let folded = pairs.rows.iter().filter(|row| row.is_folded).count();
    assert_eq!((pairs.rows.len(), folded), (6, 2));
    let headlines = forms.rows.iter().map(|row| row.is_headline);
    assert_eq!(headlines.collect::<Vec<_>>(), [true, false, false, false]);
}
