//! What is said of sweeps whose figures are made up.

use pgdyno_model::document::answer::SureState;
use pgdyno_model::document::points::{LeftOut, PointFigure};
use pgdyno_model::document::repeats::{LatencyKind, Repeat, Spread};
use pgdyno_model::notebook::{ExperimentRow, Latency, TrialRow};
use pgdyno_model::{Note, NoteOfTrials, Severity, State};
use pgdyno_spec::TrialSpec;
use pgdyno_stats::{Bootstrap, Sample};
use serde_json::{Value, json};
use std::borrow::Cow;

use super::*;

/// Repeats lie so far from the middle, as a share.
const NOISE: [f64; 8] = [0.0, 0.003, -0.003, 0.002, -0.002, 0.0, 0.001, -0.001];

/// Goodput of a point's repeat; `None`: the trial failed.
type Goodput = Box<dyn Fn(&Value, usize) -> Option<f64>>;

/// An experiment that is measured as one wants it.
struct Made {
    points: Vec<Value>,
    order: &'static str,
    repeats: usize,
    goodput: Goodput,
    /// Points (from the end) that wait.
    waiting: usize,
    note: Option<&'static str>,
    isolation: Box<dyn Fn(&Value) -> String>,
}

impl Made {
    fn of(points: Vec<Value>, repeats: usize, goodput: impl Fn(&Value) -> f64 + 'static) -> Self {
        Self {
            points,
            order: "interleaved",
            repeats,
            goodput: Box::new(move |point, repeat| {
                Some(goodput(point) * (1.0 + NOISE[repeat % 8]))
            }),
            waiting: 0,
            note: None,
            isolation: Box::new(|_| "read committed".to_owned()),
        }
    }

    /// Clients, each with its goodput.
    fn clients(figures: &'static [(u64, f64)], repeats: usize) -> Self {
        let points = figures
            .iter()
            .map(|(clients, _)| json!({ "clients": clients }));
        Self::of(points.collect(), repeats, |point| {
            let mut figures = figures.iter();
            figures
                .find(|(clients, _)| point["clients"] == *clients)
                .map_or(0.0, |(_, of)| *of)
        })
    }

    fn answer(&self) -> Answer {
        self.limited("server-cpu", 1.0)
    }

    /// So large a share of the repeats has this limit.
    fn limited(&self, code: &str, share: f64) -> Answer {
        let measured = self.points.len() - self.waiting;
        let mut order: Vec<(usize, usize)> = Vec::new();
        for repeat in 0..self.repeats {
            let mut turn: Vec<usize> = (0..measured).collect();
            if repeat % 2 == 1 {
                turn.reverse();
            }
            order.extend(turn.into_iter().map(|point| (point, repeat)));
        }
        if self.order == "sequential" {
            order.sort_by_key(|(point, repeat)| (*point, *repeat));
        }
        let trials: Vec<TrialRow> = order
            .iter()
            .enumerate()
            .map(|(at, (point, repeat))| self.trial(at, *point, *repeat))
            .collect();
        let row = ExperimentRow {
            number: 1,
            uuid: "u".to_owned(),
            name: "made".to_owned(),
            created: String::new(),
            definition: json!({ "definition": {
                "points": self.points, "repeats": self.repeats, "order": self.order,
            } })
            .to_string(),
        };
        let points: Vec<PointResult> = (0..measured)
            .map(|point| self.point(point, &trials))
            .collect();
        let (planned, targets) = (Planned::of(&row), Targets::of(&trials));
        let mut limit_of = |point: &PointResult| {
            Ok(Some(PointLimit {
                code: code.to_owned(),
                name: pgdyno_diagnose::name(code).to_owned(),
                agree: (point.repeats as f64 * share).round() as u64,
                of: point.repeats as u64,
            }))
        };
        let sweep = Sweep::new(&points, &trials, &planned, &targets);
        sweep.answer(&mut limit_of).unwrap().unwrap()
    }

    fn trial(&self, at: usize, point: usize, repeat: usize) -> TrialRow {
        let point = &self.points[point];
        let goodput = (self.goodput)(point, repeat);
        let rate = point["rate"].as_f64();
        let latency = Latency {
            p50_us: Some(1000),
            p99_us: Some(2000),
            ..Latency::default()
        };
        TrialRow {
            number: at as i64 + 1,
            state: if goodput.is_some() {
                State::Complete
            } else {
                State::Failed
            },
            reason: goodput.is_none().then(|| "too many connections".to_owned()),
            started: format!("2026-11-22T09:{:02}:{:02}.000000Z", at / 60, at % 60),
            point: Some(point.clone()),
            repeat: Some(repeat as u32 + 1),
            workload: workload(point),
            command: "pgdyno sweep made.toml".to_owned(),
            spec: TrialSpec {
                rate: rate.map(Into::into),
                ..TrialSpec::default()
            },
            elapsed_us: Some(10_000_000),
            committed: goodput.map(|of| (of * 10.0) as u64),
            goodput_per_s: goodput,
            service: latency.clone(),
            response: latency,
            isolation_in_effect: Some((self.isolation)(point)),
            uuid: String::new(),
            ended: None,
            experiment: Some(1),
            experiment_name: None,
            position: None,
            excluded: None,
            note: None,
            tags: Vec::new(),
            pack_sha256: None,
            target: "a server".to_owned(),
            server_version: None,
            pgdyno: String::new(),
            load_sha256: String::new(),
            failed: Some(0),
            skipped: None,
            unknown: None,
            late: None,
            retries: None,
            retried: None,
            response_p99_low_us: None,
            response_p99_high_us: None,
            response_p99_effective: None,
            client_user_us: None,
            client_system_us: None,
        }
    }

    fn point(&self, at: usize, trials: &[TrialRow]) -> PointResult {
        let point = &self.points[at];
        let of: Vec<&TrialRow> = trials
            .iter()
            .filter(|trial| trial.point.as_ref() == Some(point))
            .collect();
        let (counted, failed): (Vec<&TrialRow>, Vec<&TrialRow>) = of
            .into_iter()
            .partition(|trial| trial.state == State::Complete);
        let spread = |values: Vec<f64>| {
            let sample = Sample::new(&values).ok()?;
            Some(Spread {
                over: (&sample.summary(&Bootstrap::default())).into(),
                values: values.into_iter().map(Some).collect(),
            })
        };
        let goodput = counted
            .iter()
            .filter_map(|trial| trial.goodput_per_s)
            .collect();
        let p99 = counted
            .iter()
            .filter_map(|trial| trial.service.p99_us)
            .map(|us| us as f64)
            .collect();
        let mut latencies = pgdyno_measurement::Latencies::default();
        (0..2000).for_each(|_| latencies.record(2000));
        let figures = [
            (
                "goodput".to_owned(),
                PointFigure {
                    over_repeats: spread(goodput),
                    together_us: None,
                    interval: None,
                },
            ),
            (
                "p99".to_owned(),
                PointFigure {
                    over_repeats: spread(p99),
                    together_us: Some(latencies.percentile_us(99.0)),
                    interval: None,
                },
            ),
        ];
        let note = self.note.map(|sentence| NoteOfTrials {
            note: Note {
                code: Cow::Borrowed("client-bound"),
                severity: Severity::Serious,
                sentence: sentence.to_owned(),
                remedy: "use another host".to_owned(),
            },
            trials: counted.iter().map(|trial| trial.number).collect(),
        });
        let varied = crate::points::nested(point);
        PointResult {
            title: varied
                .iter()
                .map(|(path, value)| pgdyno_spec::experiment::words::named(path, value))
                .collect::<Vec<_>>()
                .join(", "),
            varied,
            workload: workload(point),
            point: Some(point.clone()),
            isolation_in_effect: Some((self.isolation)(point)),
            repeats: counted.len(),
            trials: counted
                .iter()
                .map(|t| Repeat {
                    trial: t.number,
                    repeat: t.repeat,
                })
                .collect(),
            left_out: failed
                .iter()
                .map(|t| LeftOut {
                    trial: t.number,
                    repeat: t.repeat,
                    why: format!("failed: {}", t.reason.as_deref().unwrap_or_default()),
                })
                .collect(),
            latency: if point["rate"].is_number() {
                LatencyKind::Response
            } else {
                LatencyKind::Service
            },
            figures: figures.into(),
            committed: 1000,
            failed: 0,
            retries: 0,
            outliers: Vec::new(),
            unsteady: Vec::new(),
            uneven: Vec::new(),
            notes: note.into_iter().collect(),
        }
    }
}

fn workload(point: &Value) -> String {
    let name = point["workload"]
        .as_array()
        .and_then(|names| names.first())
        .and_then(Value::as_str);
    name.unwrap_or("tpcb").to_owned()
}

fn states(answer: &Answer) -> Vec<(SureState, &str)> {
    answer
        .sure
        .iter()
        .map(|of| (of.state, of.name.as_str()))
        .collect()
}

#[track_caller]
fn says(answer: &Answer, state: AnswerState, sentence: &str) {
    assert_eq!(
        (answer.sentence.as_str(), answer.state),
        (sentence, state),
        "{answer:#?}"
    );
}

use AnswerState::{CannotTell, Known, NotKnown};

#[test]
fn a_peak_between_others_is_named_with_what_limits_it() {
    let made = Made::clients(&[(1, 100.0), (2, 190.0), (4, 350.0), (8, 300.0)], 6);
    let answer = made.answer();
    says(
        &answer,
        Known,
        "tpcb peaks at 4 clients with 350/s, limited by server CPU",
    );
    assert_eq!(answer.question, "What was asked: tpcb × 4 client counts");
    assert!(
        answer.evidence[0]
            .sentence
            .starts_with("committed at 4 clients, the median of 6 repeats; 95 % interval 34"),
        "{answer:#?}"
    );
    assert_eq!(answer.evidence[1].figure, "−14.3 %");
    assert!(
        answer.sure.iter().all(|of| of.state == SureState::Held),
        "{:?}",
        answer.sure
    );
    assert!(answer.remedies.is_empty());
    // Repeats that disagree on the limit are no limit.
    let disagree = made.limited("server-cpu", 0.5);
    says(&disagree, Known, "tpcb peaks at 4 clients with 350/s");
    assert!(states(&disagree).contains(&(SureState::Limit, "What limits")));
}

#[test]
fn a_peak_at_the_last_point_may_lie_beyond() {
    let answer = Made::clients(&[(1, 100.0), (8, 500.0), (64, 900.0)], 6).answer();
    says(
        &answer,
        Known,
        "tpcb still grows at 64 clients: 900/s, limited by server CPU",
    );
    assert!(states(&answer).contains(&(SureState::Limit, "Both sides seen")));
    assert_eq!(
        answer.remedies,
        ["more than 64 clients: the maximum may be higher"]
    );
}

#[test]
fn indistinguishable_neighbours_are_named_together() {
    let answer = Made::clients(&[(1, 100.0), (8, 500.0), (16, 500.0), (64, 300.0)], 6).answer();
    says(
        &answer,
        Known,
        "tpcb peaks at 8 and 16 clients, which cannot be distinguished, with 500/s, limited by server CPU",
    );
}

#[test]
fn a_flat_curve_has_no_peak() {
    let answer = Made::clients(&[(1, 100.0), (2, 100.0), (4, 100.0)], 6).answer();
    says(
        &answer,
        CannotTell,
        "Cannot tell where tpcb does most: from 1 client to 4 clients no difference is significant (100/s to 100/s)",
    );
    assert!(states(&answer).contains(&(SureState::Failed, "Beyond chance")));
}

#[test]
fn one_repeat_is_no_headline_and_few_are_no_comparison() {
    let figures = &[(1, 100.0), (8, 500.0), (64, 300.0)];
    let one = Made::clients(figures, 1).answer();
    says(
        &one,
        NotKnown,
        "Not known where tpcb does most: one repeat of a point",
    );
    assert_eq!(one.evidence[0].figure, "500/s");
    assert!(one.evidence[0].sentence.ends_with("in one repeat"));
    assert_eq!(
        one.remedies,
        ["`pgdyno sweep made.toml --resume --repeat 5`"]
    );
    let three = Made::clients(figures, 3).answer();
    says(
        &three,
        CannotTell,
        "Cannot tell where tpcb does most: 3 repeats, 5 needed",
    );
    assert!(states(&three).contains(&(SureState::Failed, "Repeats")));
}

#[test]
fn points_whose_order_was_drawn_are_compared_within_its_blocks() {
    let mut made = Made::clients(&[(1, 100.0), (8, 500.0), (64, 300.0)], 8);
    let turns = made.answer().sentence;
    made.order = "drawn";
    let answer = made.answer();
    assert_eq!(answer.sentence, turns);
    let drift = answer
        .sure
        .iter()
        .find(|sure| sure.name == "Drift")
        .unwrap();
    assert!(drift.text.contains("in random order"), "{drift:?}");

    let planned = |order: &str, repeats: u64| {
        let definition = json!({ "definition": { "repeats": repeats, "order": order } });
        Planned::of(&ExperimentRow {
            number: 1,
            uuid: "u".to_owned(),
            name: "made".to_owned(),
            created: String::new(),
            definition: definition.to_string(),
        })
    };
    let side = |point| {
        (0..8)
            .map(|repeat| made.trial(repeat, point, repeat))
            .collect::<Vec<_>>()
    };
    let (a, b) = (side(0), side(1));
    let [a, b] = [&a, &b].map(|side| side.iter().collect::<Vec<_>>());
    let drawn = planned("drawn", 5).drawn(&a, &b).unwrap();
    // Three repeats were added to the five.
    assert_eq!(drawn.a, [0, 0, 0, 0, 0, 1, 1, 1]);
    assert!(drawn.a == drawn.b && !drawn.is_mirrored);
    let mirrored = planned("mirrored", 1).drawn(&a, &b).unwrap();
    assert_eq!(mirrored.b, [0, 0, 1, 1, 2, 2, 3, 3]);
    assert!(mirrored.is_mirrored);
    assert_eq!(
        planned("interleaved", 8).drawn(&a, &b),
        None,
        "a notebook of before"
    );
    assert_eq!(
        planned("drawn", 8).drawn(&a, &a),
        None,
        "one point is no two sides"
    );
}

#[test]
fn points_that_ran_one_after_the_other_are_not_called_different() {
    let mut made = Made::clients(&[(1, 100.0), (8, 500.0), (64, 300.0)], 6);
    made.order = "sequential";
    let answer = made.answer();
    says(
        &answer,
        CannotTell,
        "Cannot tell where tpcb does most, because they ran one after the other",
    );
    assert_eq!(
        answer.remedies[0],
        "leave `order` out of the experiment's file: the order is then random"
    );
    assert!(states(&answer).contains(&(SureState::Failed, "Drift")));
}

#[test]
fn a_drift_that_all_points_share_is_said() {
    let mut made = Made::clients(&[(1, 100.0), (8, 500.0)], 6);
    let goodput = made.goodput;
    made.goodput =
        Box::new(move |point, repeat| Some(goodput(point, repeat)? * (1.0 - 0.08 * repeat as f64)));
    let answer = made.answer();
    let drift = answer.sure.iter().find(|of| of.name == "Drift").unwrap();
    assert_eq!(drift.state, SureState::Limit);
    // From all of it to six tenths.
    assert!(drift.text.contains("−40"), "{}", drift.text);
    assert!(
        drift.text.contains("the machine was not steady"),
        "{}",
        drift.text
    );
}

#[test]
fn a_point_that_failed_is_named_with_its_reason() {
    let mut made = Made::clients(&[(1, 100.0), (8, 500.0), (64, 900.0)], 6);
    let goodput = made.goodput;
    made.goodput =
        Box::new(move |point, repeat| goodput(point, repeat).filter(|_| point["clients"] != 64));
    let answer = made.answer();
    says(
        &answer,
        Known,
        "tpcb still grows at 8 clients: 500/s, limited by server CPU",
    );
    let failed = answer
        .sure
        .iter()
        .find(|of| of.name == "Points without figures")
        .unwrap();
    assert_eq!(
        failed.text,
        "none of 64 clients (failed: too many connections)"
    );
    assert!(
        answer
            .remedies
            .contains(&"`pgdyno sweep made.toml --resume` measures what is missing".to_owned())
    );
}

#[test]
fn repeats_without_any_spread_are_compared_all_the_same() {
    let mut made = Made::clients(&[(1, 100.0), (2, 100.0), (4, 80.0)], 6);
    made.goodput = Box::new(|point, _| Some(if point["clients"] == 4 { 80.0 } else { 100.0 }));
    let answer = made.answer();
    says(
        &answer,
        Known,
        "tpcb peaks at 1 and 2 clients, which cannot be distinguished, with 100/s, limited by server CPU",
    );
}

#[test]
fn a_single_point_has_its_figure_from_two_repeats_on() {
    let one = Made::clients(&[(8, 500.0)], 1).answer();
    says(&one, NotKnown, "Not known how much tpcb does: one repeat");
    let two = Made::clients(&[(8, 500.0)], 2).answer();
    says(&two, Known, "tpcb does 501/s, limited by server CPU");
    assert!(
        two.evidence[0]
            .sentence
            .starts_with("committed, the median of 2 repeats; range"),
        "{two:#?}"
    );
}

#[test]
fn a_serious_note_on_most_trials_withdraws_the_answer() {
    let mut made = Made::clients(&[(1, 100.0), (8, 500.0)], 6);
    made.note = Some("pgdyno itself was busy");
    let answer = made.answer();
    assert_eq!(answer.state, CannotTell);
    assert!(
        answer
            .sentence
            .starts_with("Not to be relied on, for a serious note: tpcb still grows"),
        "{}",
        answer.sentence
    );
    assert!(states(&answer).contains(&(SureState::Failed, "A serious note")));
    // More repeats would not help.
    assert_eq!(answer.remedies, ["use another host"], "{answer:?}");
}

#[test]
fn a_growing_experiment_says_how_far_it_is_and_what_waits() {
    let mut made = Made::clients(&[(1, 100.0), (8, 500.0), (64, 300.0)], 6);
    made.waiting = 1;
    let answer = made.answer();
    assert_eq!(
        answer.question,
        "What was asked, so far: tpcb × 2 client counts"
    );
    let so_far = answer.sure.iter().find(|of| of.name == "So far").unwrap();
    assert_eq!(so_far.text, "12 of 18 trials; not begun: 64 clients");
}

#[test]
fn rates_are_kept_or_not() {
    let rates = |done: fn(f64) -> f64| {
        let points = [100.0, 500.0, 2000.0].map(|rate| json!({ "rate": rate, "clients": 8 }));
        Made::of(points.to_vec(), 5, move |point| {
            done(point["rate"].as_f64().unwrap())
        })
    };
    let some = rates(|rate| rate.min(900.0)).answer();
    says(
        &some,
        Known,
        "tpcb keeps up with 500/s and not with 2,000/s, of which it does 900/s, limited by server CPU",
    );
    let all = rates(|rate| rate).limited("rate-met", 1.0);
    says(&all, Known, "tpcb keeps up with every rate, up to 2,000/s");
    assert!(states(&all).contains(&(SureState::Limit, "Both sides seen")));
    let none = rates(|_| 50.0).answer();
    says(
        &none,
        Known,
        "tpcb keeps up with none of the rates: of 100/s it does 50.0/s, limited by server CPU",
    );
}

/// Forms with their goodput, all else equal.
fn forms(figures: &'static [(&'static str, f64)], repeats: usize) -> Made {
    let points = figures
        .iter()
        .map(|(mode, _)| json!({ "query_mode": mode, "clients": 8 }));
    Made::of(points.collect(), repeats, |point| {
        let mut figures = figures.iter();
        figures
            .find(|(mode, _)| point["query_mode"] == *mode)
            .map_or(0.0, |(_, of)| *of)
    })
}

#[test]
fn forms_are_ranked_and_indistinguishable_ones_are_named_together() {
    let apart = forms(
        &[("simple", 100.0), ("extended", 80.0), ("prepared", 120.0)],
        6,
    )
    .answer();
    says(&apart, Known, "prepared is ahead of simple and extended");
    assert_eq!(apart.evidence[0].figure, "+20.0 %");
    assert!(
        apart.evidence[0]
            .sentence
            .starts_with("prepared 120/s, simple 100/s; 95 % interval +"),
        "{apart:#?}"
    );
    assert_eq!(apart.evidence[1].figure, "+50.0 %");
    let tied = forms(
        &[("simple", 100.0), ("extended", 100.0), ("prepared", 120.0)],
        6,
    )
    .answer();
    says(
        &tied,
        Known,
        "prepared is ahead of simple and extended, of which simple and extended cannot be distinguished",
    );
    let front = forms(
        &[("simple", 120.0), ("extended", 100.0), ("prepared", 120.0)],
        6,
    )
    .answer();
    says(
        &front,
        Known,
        "simple and prepared cannot be distinguished and are ahead of extended",
    );
    let none = forms(&[("simple", 100.0), ("prepared", 100.0)], 6).answer();
    says(
        &none,
        CannotTell,
        "simple and prepared cannot be distinguished",
    );
    assert!(
        none.evidence[0]
            .sentence
            .contains("no more than chance explains"),
        "{none:#?}"
    );
}

#[test]
fn forms_of_few_repeats_are_not_ranked() {
    let one = forms(&[("simple", 100.0), ("prepared", 200.0)], 1).answer();
    says(
        &one,
        NotKnown,
        "Not known which query mode is ahead: one repeat of each point",
    );
    assert_eq!(one.evidence[0].figure, "one repeat");
    assert_eq!(one.ranking, None);
    let three = forms(&[("simple", 100.0), ("prepared", 200.0)], 3).answer();
    says(
        &three,
        CannotTell,
        "Cannot tell which query mode is ahead: 3 repeats, 5 needed",
    );
    assert_eq!(
        three.remedies,
        ["`pgdyno sweep made.toml --resume --repeat 5`"]
    );
}

/// Two workloads on two targets with 1 and 8 clients.
#[test]
fn a_form_that_varies_much_is_not_called_ahead_of_what_only_the_leader_beats() {
    let mut made = forms(
        &[("simple", 100.0), ("extended", 0.0), ("prepared", 120.0)],
        10,
    );
    let plain = std::mem::replace(&mut made.goodput, Box::new(|_, _| None));
    made.goodput = Box::new(move |point, repeat| {
        let far = if repeat % 2 == 0 { -60.0 } else { 60.0 };
        if point["query_mode"] == "extended" {
            Some(110.0 + far + repeat as f64)
        } else {
            plain(point, repeat)
        }
    });
    says(
        &made.answer(),
        Known,
        "prepared is ahead of simple; extended cannot be distinguished from it",
    );
}

fn targets(goodput: impl Fn(&str, bool, u64) -> f64 + 'static) -> Made {
    let mut points = Vec::new();
    for workload in ["select-only", "tpcb"] {
        for clients in [1, 8] {
            for target in ["host=direct.example", "host=pooler.example"] {
                points
                    .push(json!({ "workload": [workload], "clients": clients, "target": target }));
            }
        }
    }
    Made::of(points, 6, move |point| {
        let is_direct = point["target"].as_str().unwrap().contains("direct");
        goodput(
            &workload(point),
            is_direct,
            point["clients"].as_u64().unwrap(),
        )
    })
}

#[test]
fn targets_are_held_against_each_other_within_a_workload_at_equal_clients() {
    let answer = targets(
        |workload, is_direct, clients| match (workload, is_direct, clients) {
            ("select-only", true, clients) => 1000.0 * clients as f64,
            ("select-only", false, clients) => 900.0 * clients as f64,
            (_, true, 1) => 100.0,
            (_, false, 1) => 90.0,
            _ => 300.0,
        },
    )
    .answer();
    says(
        &answer,
        Known,
        "select-only: direct is ahead at every client count; tpcb: direct is ahead at 1 client; at 8 clients direct and pooler cannot be distinguished",
    );
    let ranking = answer.ranking.as_ref().unwrap();
    assert_eq!(ranking.title, "Best at each number of clients");
    assert_eq!(ranking.columns, ["1 client", "8 clients"]);
    let cells = ranking.rows[1].cells.iter().flatten();
    assert_eq!(
        cells.map(|cell| cell.is_sure).collect::<Vec<_>>(),
        [true, false]
    );
    assert!(
        answer.evidence[0]
            .sentence
            .starts_with("select-only, 8 clients: direct 8,000/s, pooler 7,200/s"),
        "{answer:#?}"
    );
    // Figures of different workloads are never in one row.
    assert!(!answer.sentence.contains("select-only is") && answer.careful.is_none());
}

#[test]
fn unequal_levels_are_said_beside_the_answer() {
    let mut made = targets(|_, is_direct, _| if is_direct { 100.0 } else { 50.0 });
    made.isolation = Box::new(|point| {
        if point["target"].as_str().unwrap().contains("direct") {
            "read committed".to_owned()
        } else {
            "serializable".to_owned()
        }
    });
    let careful = made.answer().careful.unwrap();
    assert_eq!(
        careful,
        "isolation was not equal: direct ran read committed, pooler ran serializable"
    );
}

#[test]
fn a_target_that_failed_leaves_the_other_without_a_contest() {
    let mut made = targets(|_, _, clients| 100.0 * clients as f64);
    let goodput = made.goodput;
    made.goodput = Box::new(move |point, repeat| {
        goodput(point, repeat).filter(|_| point["target"].as_str().unwrap().contains("direct"))
    });
    let answer = made.answer();
    assert_eq!(answer.state, Known);
    assert!(!answer.sentence.contains("ahead"), "{}", answer.sentence);
    assert!(states(&answer).contains(&(SureState::Failed, "Points without figures")));
}

#[test]
fn targets_that_keep_a_rate_are_compared_by_latency() {
    let points = ["direct", "pooler"]
        .map(|host| json!({ "rate": 100.0, "clients": 8, "target": format!("host={host}") }));
    let answer = Made::of(points.to_vec(), 6, |_| 100.0).answer();
    says(
        &answer,
        CannotTell,
        "direct and pooler cannot be distinguished",
    );
    assert!(
        answer.evidence[0]
            .sentence
            .starts_with("direct p99 2.00 ms, pooler p99 2.00 ms"),
        "{answer:#?}"
    );
}

#[test]
fn an_experiment_without_figures_says_so() {
    let mut made = Made::clients(&[(1, 100.0), (8, 500.0)], 2);
    made.goodput = Box::new(|_, _| None);
    says(&made.answer(), NotKnown, "Not known: no trial counts");
}
