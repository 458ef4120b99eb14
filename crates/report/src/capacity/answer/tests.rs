use super::*;
use pgdyno_model::document::answer::SureState;
use pgdyno_model::document::capacity::{Contradiction, Interval, Search};
use pgdyno_stats::OverLimit;
use pgdyno_stats::search::Step;

const LIMIT_US: f64 = 20_000.0;

/// At a rate, with a p99 between these.
fn step(trial: i64, rate: f64, (low, high): (f64, f64)) -> SearchStep {
    let step = Step {
        rate,
        seconds: 20.0,
        at_s: 30.0 * trial as f64,
        took_s: 21.0,
        latency: (low + high) / 2.0,
        between: (low, high),
        over: OverLimit::default(),
    };
    SearchStep::new(trial, &step, LIMIT_US)
}

fn ladder(capacity: Option<Estimate>, steps: Vec<SearchStep>) -> Ladder {
    Ladder {
        point: serde_json::Value::Null,
        title: "tpcb".to_owned(),
        loads: Vec::new(),
        capacity,
        search: Search {
            steps: steps.len() as u64,
            took_s: 60.0,
            is_narrow: false,
            line_steps: 0,
            drift: None,
            contradiction: None,
        },
        steps,
        knee: None,
        gaps: Vec::new(),
        no_curve: None,
    }
}

fn at(per_s: f64, low: Option<f64>, high: Option<f64>) -> Estimate {
    Estimate {
        is: EstimateIs::At,
        per_s,
        interval: Some(Some(Interval {
            low,
            high,
            level: 0.95,
        })),
    }
}

fn answer_of(ladders: Vec<Ladder>, judged: Option<&BTreeMap<i64, String>>) -> Answer {
    let found = Capacity {
        slo_us: LIMIT_US,
        width: 0.02,
        time_s: 1200.0,
        ladders,
    };
    answer(&found, judged).unwrap()
}

/// With the marks of the checks and their names.
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

const WITHIN: (f64, f64) = (14_000.0, 18_900.0);
const OVER: (f64, f64) = (21_100.0, 38_000.0);
const UNSURE: (f64, f64) = (16_900.0, 24_300.0);

#[test]
fn a_capacity_is_said_with_its_interval_and_what_to_plan_with() {
    let mut found = ladder(
        Some(at(6_420.3, Some(6_310.0), Some(6_530.4))),
        vec![
            step(1, 6_300.0, WITHIN),
            step(2, 6_420.0, UNSURE),
            step(3, 6_540.0, OVER),
        ],
    );
    found.search.is_narrow = true;
    found.search.line_steps = 3;
    let code = |code: &str| code.to_owned();
    // That nothing limited a step over the limit says nothing of the limit.
    let judged = BTreeMap::from([(2, code("rate-met")), (3, code("server-cpu"))]);
    let answer = answer_of(vec![found], Some(&judged));
    assert_eq!(
        answer.sentence,
        "It serves 6,420 transactions a second with a p99 of at most 20 ms"
    );
    assert_eq!(answer.state, AnswerState::Known);
    let figures: Vec<&str> = answer
        .evidence
        .iter()
        .map(|it| it.figure.as_str())
        .collect();
    assert_eq!(figures, ["± 1.7 %", "1 of 1", "6,310/s"]);
    assert_eq!(
        marks(&answer),
        [
            "✓ Both sides were seen",
            "✓ As narrow as asked",
            "✓ Steps were repeated",
            "✓ No drift"
        ]
    );
    assert!(answer.remedies.is_empty());
}

#[test]
fn what_is_not_known_is_said_with_what_would_tell() {
    let below = Some(Estimate::beside(EstimateIs::Below, 300.0));
    let least = Some(Estimate::beside(EstimateIs::AtLeast, 4_000.0));
    for (capacity, steps, state, sentence, mark, remedy) in [
        (
            below,
            vec![step(1, 300.0, OVER)],
            AnswerState::Known,
            "It serves fewer than 300 transactions a second",
            "○ One side was seen",
            "begin below 300/s",
        ),
        (
            least,
            vec![step(1, 2_000.0, WITHIN), step(2, 4_000.0, WITHIN)],
            AnswerState::Known,
            "It serves 4,000 transactions a second or more",
            "○ One side was seen",
            "begin at a higher rate",
        ),
        (
            None,
            vec![step(1, 300.0, UNSURE)],
            AnswerState::NotKnown,
            "The capacity is not known: no step is clearly within 20 ms",
            "○ No step is clearly within or over",
            "steps have to be longer",
        ),
        (
            Some(Estimate::beside(EstimateIs::Below, 400.0)),
            vec![step(1, 300.0, UNSURE), step(2, 400.0, OVER)],
            AnswerState::Known,
            "It serves fewer than 400 transactions a second",
            "○ One side was seen",
            "begin below 300/s",
        ),
    ] {
        let answer = answer_of(vec![ladder(capacity, steps)], None);
        assert!(answer.sentence.starts_with(sentence), "{}", answer.sentence);
        assert_eq!(answer.state, state, "{sentence}");
        assert_eq!(marks(&answer)[0], mark, "{sentence}");
        assert!(answer.remedies[0].contains(remedy), "{:?}", answer.remedies);
    }
}

#[test]
fn steps_that_disagree_a_drift_and_a_client_that_is_the_limit_are_marked() {
    let steps = vec![step(1, 500.0, OVER), step(2, 600.0, WITHIN)];
    let mut found = ladder(Some(at(550.0, Some(540.0), Some(560.0))), steps);
    found.search.line_steps = 2;
    found.search.drift = Some(-0.12);
    let judged = BTreeMap::from([(1, "client".to_owned())]);
    let answer = answer_of(vec![found], Some(&judged));
    assert_eq!(
        marks(&answer),
        [
            "○ Steps contradict each other",
            "○ A step disagrees with the interval",
            "○ Wider than asked",
            "✓ Steps were repeated",
            "✗ Drift",
            "✗ The generator had no room"
        ]
    );
}

#[test]
fn a_machine_that_changes_from_step_to_step_has_no_capacity_but_what_is_safe_and_what_failed() {
    let steps = vec![
        step(1, 300.0, WITHIN),
        step(2, 500.0, OVER),
        step(3, 600.0, WITHIN),
    ];
    let mut changing = ladder(None, steps);
    let sentence = |contradiction: Contradiction| {
        let mut ladder = changing.clone();
        ladder.search.contradiction = Some(contradiction);
        answer_of(vec![ladder], None).sentence
    };
    let both = Contradiction {
        within_up_to_per_s: Some(300.0),
        over_from_per_s: Some(900.0),
    };
    assert_eq!(
        sentence(both),
        "The capacity is not known: the machine changes from step to step: all steps up to 300/s were \
         within 20 ms, all from 900/s on were over it, and those between contradict each other"
    );
    let none = Contradiction {
        within_up_to_per_s: None,
        over_from_per_s: None,
    };
    assert!(
        sentence(none).ends_with(
            ": no rate was safe, none failed in all steps, and those between contradict each other"
        ),
        "{}",
        sentence(none)
    );
    changing.search.contradiction = Some(both);
    let answer = answer_of(vec![changing.clone()], None);
    assert_eq!(answer.state, AnswerState::NotKnown);
    assert_eq!(marks(&answer), ["✗ Steps contradict each other"]);
    assert_eq!(
        answer.remedies,
        ["measure on an idle machine, or allow more than 20 min 00 s (`--capacity-time`)"]
    );
    let several = answer_of(vec![changing.clone(), changing], None);
    assert!(
        several.evidence[0]
            .sentence
            .ends_with("not known: the machine changes from step to step")
    );
}

#[test]
fn a_bend_seen_with_one_repeat_at_each_rate_is_no_headline() {
    let mut found = ladder(
        Some(at(500.0, Some(450.0), None)),
        vec![step(1, 450.0, WITHIN)],
    );
    found.knee = Some(Estimate {
        is: EstimateIs::At,
        per_s: 400.0,
        interval: Some(None),
    });
    let mut answer = answer_of(vec![found.clone()], None);
    assert!(
        answer
            .evidence
            .iter()
            .all(|it| !it.sentence.contains("knee"))
    );
    assert_eq!(answer.evidence[0].figure, "≥ 450/s");
    found.knee = Some(at(400.0, Some(390.0), Some(410.0)));
    answer = answer_of(vec![found], None);
    assert!(
        answer
            .evidence
            .iter()
            .any(|it| it.sentence.contains("knee"))
    );
}

#[test]
fn of_several_searches_the_highest_is_named_only_where_intervals_lie_apart() {
    let of = |title: &str, capacity| Ladder {
        title: title.to_owned(),
        ..ladder(capacity, vec![step(1, 300.0, WITHIN)])
    };
    let four = of("4 clients", Some(at(400.0, Some(390.0), Some(410.0))));
    let eight = of("8 clients", Some(at(500.0, Some(480.0), Some(520.0))));
    let sixteen = of("16 clients", Some(at(490.0, Some(470.0), Some(510.0))));
    let none = of("32 clients", None);
    for (ladders, state, sentence) in [
        (
            vec![four.clone(), eight.clone()],
            AnswerState::Known,
            "With a p99 of at most 20 ms `8 clients` serves most: 500 transactions a second",
        ),
        (
            vec![four.clone(), eight.clone(), sixteen],
            AnswerState::CannotTell,
            "Cannot tell which serves most with a p99 of at most 20 ms: `8 clients` and `16 clients` \
             overlap",
        ),
        (
            vec![four.clone(), eight.clone(), none.clone()],
            AnswerState::CannotTell,
            "Cannot tell which serves most with a p99 of at most 20 ms: `32 clients` has no capacity",
        ),
        (
            vec![
                four,
                eight,
                of(
                    "2 clients",
                    Some(Estimate::beside(EstimateIs::Below, 300.0)),
                ),
            ],
            AnswerState::Known,
            "With a p99 of at most 20 ms `8 clients` serves most: 500 transactions a second",
        ),
        (
            vec![none.clone(), none],
            AnswerState::NotKnown,
            "The capacity is not known in any of 2 searches: no step is clearly within 20 ms",
        ),
    ] {
        let answer = answer_of(ladders, None);
        assert_eq!((answer.state, answer.sentence.as_str()), (state, sentence));
    }
}

#[test]
fn without_a_search_there_is_no_answer() {
    let found = Capacity {
        slo_us: LIMIT_US,
        width: 0.02,
        time_s: 1200.0,
        ladders: vec![ladder(None, Vec::new())],
    };
    assert_eq!(answer(&found, None), None);
}
