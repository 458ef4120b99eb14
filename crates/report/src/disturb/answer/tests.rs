use super::super::lab::sum_up;
use super::*;
use pgdyno_model::document::answer::SureState;
use pgdyno_model::document::disturb_lab::DisturbEffect;
use pgdyno_model::document::{
    DisturbCourse, DisturbFigures, MigrationHolder, MigrationRun, MigrationStandby,
    MigrationStatement, Reason, Sums,
};

/// Service gone for so long, back after so long (`None`: not before the end), and so many missed.
fn figures_of(gone_s: f64, back_s: Option<f64>, missed: u64) -> DisturbFigures {
    let us = |seconds: f64| (seconds * 1e6) as u64;
    DisturbFigures {
        limit_us: Fact::Known(50_000),
        limit_given: false,
        offered_per_s: 100.0,
        served_share_before: Some(1.0),
        phases: Vec::new(),
        first_error_us: Some(100_000),
        first_success_us: Some(us(gone_s)),
        no_service_us: us(gone_s),
        worst_client_us: Some(us(gone_s)),
        back_us: match back_s {
            Some(seconds) => Fact::Known(us(seconds)),
            None => Fact::Unknown("not back before the end".to_owned()),
        },
        is_back: Some(back_s.is_some()),
        strictly_back_us: Fact::Unknown("not asked".to_owned()),
        below_us: None,
        due: 10_000,
        missed: Some(missed),
        failed: 0,
        unknown: 0,
        skipped: 0,
        late: Some(0),
        never_started: 0,
        metastable: Metastable::No,
        metastable_why: String::new(),
        course: DisturbCourse::default(),
    }
}

fn run(trial: i64, figures: DisturbFigures) -> DisturbRepeat {
    DisturbRepeat {
        trial,
        repeat: 1,
        state: "complete".to_owned(),
        reason: None,
        counts: true,
        troubles: Vec::new(),
        commands: Vec::new(),
        truth: None,
        figures: Some(figures),
        reasons: Vec::new(),
        endpoints: Vec::new(),
        clients: Vec::new(),
        clients_stalls: 0,
        clients_stalled: 0,
        migration: None,
    }
}

fn target(repeats: Vec<DisturbRepeat>, controls: Vec<DisturbRepeat>) -> DisturbTarget {
    let mut target = DisturbTarget {
        title: "postgresql://a-very-long-host-name.example/bench".to_owned(),
        repeats,
        controls,
        summary: Vec::new(),
        controls_summary: Vec::new(),
        effect: DisturbEffect {
            is_seen: None,
            p: None,
            says: String::new(),
        },
        says: String::new(),
    };
    sum_up(&mut target);
    target
}

fn lab(targets: Vec<DisturbTarget>) -> DisturbLab {
    DisturbLab {
        format: 1,
        lab: "disturb".to_owned(),
        pgdyno: String::new(),
        workload: Some("tpcb".to_owned()),
        clients: Some(8),
        offered: Some("2,000 transactions a second".to_owned()),
        commands: Vec::new(),
        undo: None,
        targets,
        says: Vec::new(),
    }
}

fn with_truth(run: DisturbRepeat, lost: u64) -> DisturbRepeat {
    DisturbRepeat {
        truth: Some(Fact::Known(Truth {
            acknowledged: 1_000,
            lost,
            in_doubt: 3,
            in_doubt_landed: 1,
            sums: Some(Fact::Known(Sums {
                grown: vec![
                    ("pgbench_tellers".to_owned(), 5),
                    ("pgbench_history".to_owned(), 5),
                ],
            })),
            ..Truth::default()
        })),
        ..run
    }
}

/// So many runs, each a little longer.
fn runs(n: i64, gone_s: f64, back_s: Option<f64>, missed: u64) -> Vec<DisturbRepeat> {
    (1..=n)
        .map(|i| {
            run(
                i,
                figures_of(gone_s + i as f64 * 0.01, back_s, missed + i as u64),
            )
        })
        .collect()
}

fn quiet(n: i64, missed: u64) -> Vec<DisturbRepeat> {
    let all = (1..=n).map(|i| run(100 + i, figures_of(0.0, Some(0.0), missed + i as u64)));
    all.collect()
}

fn answer_of(targets: Vec<DisturbTarget>) -> Answer {
    let mut answer = answer(&lab(targets)).unwrap();
    answer.sentence = answer.sentence.replace('\u{a0}', " ");
    answer
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

#[test]
fn lost_writes_outrank_a_fast_recovery() {
    let mut repeats: Vec<DisturbRepeat> = { runs(6, 0.3, Some(0.4), 100).into_iter() }
        .map(|run| with_truth(run, 0))
        .collect();
    repeats[2] = with_truth(repeats[2].clone(), 41);
    repeats[4] = with_truth(repeats[4].clone(), 12);
    let answer = answer_of(vec![target(repeats, quiet(6, 0))]);
    assert_eq!(
        answer.sentence,
        "53 acknowledged writes were lost in 2 of 6 runs; service was gone for 335 ms"
    );
    assert!(answer.is_harm);
    assert_eq!(answer.evidence[0].figure, "53");
    assert_eq!(
        marks(&answer),
        [
            "✗ Trial 3",
            "✗ Trial 5",
            "✓ Unknown, resolved",
            "✓ Sums hold",
            "✓ The commands did their work",
            "✓ By turns with controls",
            "✓ 96.9 % interval"
        ]
    );
    // One run is enough to know that writes were lost.
    let one = with_truth(run(1, figures_of(8.0, Some(9.0), 10)), 1);
    assert_eq!(
        answer_of(vec![target(vec![one], Vec::new())]).sentence,
        "1 acknowledged write was lost in the only run"
    );
}

#[test]
fn what_was_seen_is_said_as_far_as_it_was_seen() {
    let with_trouble = |run: DisturbRepeat| DisturbRepeat {
        counts: false,
        troubles: vec!["`kill` ended with exit code 1".to_owned()],
        ..run
    };
    let truthful = |runs: Vec<DisturbRepeat>| -> Vec<DisturbRepeat> {
        runs.into_iter().map(|run| with_truth(run, 0)).collect()
    };
    let mut stays = runs(6, 8.0, None, 900);
    for run in &mut stays {
        run.figures.as_mut().unwrap().metastable = Metastable::Yes;
    }
    for (repeats, controls, state, sentence) in [
        (
            truthful(runs(6, 8.3, Some(14.6), 900)),
            truthful(quiet(6, 0)),
            AnswerState::Known,
            "Service was gone for 8.34 s and back after 14.6 s; nothing acknowledged was lost",
        ),
        (
            runs(6, 0.0, Some(2.0), 900),
            quiet(6, 0),
            AnswerState::Known,
            "Service was gone for 35.0 ms and back after 2.00 s",
        ),
        // Controls that were as bad.
        (
            runs(6, 8.3, Some(14.6), 900),
            quiet(6, 900),
            AnswerState::CannotTell,
            "Cannot tell that the disturbance does anything: as much is missed without it",
        ),
        (
            runs(6, 8.3, None, 900),
            quiet(6, 0),
            AnswerState::Known,
            "In 6 of 6 runs service was not back when the trial ended",
        ),
        (
            stays,
            quiet(6, 0),
            AnswerState::Known,
            "Goodput stays down when the disturbance is over, in 6 of 6 runs",
        ),
        (
            runs(1, 8.3, Some(14.6), 900),
            Vec::new(),
            AnswerState::NotKnown,
            "Not known how long service is gone: one run says nothing of the next",
        ),
        (
            runs(2, 8.3, Some(14.6), 900)
                .into_iter()
                .map(with_trouble)
                .collect(),
            Vec::new(),
            AnswerState::NotKnown,
            "Not known what the disturbance does: `kill` ended with exit code 1",
        ),
        (
            quiet(3, 0),
            Vec::new(),
            AnswerState::Known,
            "Service was never gone",
        ),
        (
            [quiet(2, 0), runs(1, 0.22, Some(0.1), 12)].concat(),
            Vec::new(),
            AnswerState::Known,
            "Service was gone in 1 of 3 runs, for 230 ms at most",
        ),
    ] {
        let answer = answer_of(vec![target(repeats, controls)]);
        assert_eq!((answer.state, answer.sentence.as_str()), (state, sentence));
    }
}

#[test]
fn what_was_not_looked_for_is_a_limit() {
    let answer = answer_of(vec![target(runs(2, 8.3, Some(14.6), 900), Vec::new())]);
    assert_eq!(
        marks(&answer),
        [
            "○ Lost writes were not looked for",
            "✓ The commands did their work",
            "○ No controls",
            "○ A range, no interval"
        ]
    );
    assert!(answer.remedies[0].contains("--repeat 6"));
    assert!(
        answer
            .question
            .ends_with("under 2,000 transactions a second?")
    );
}

#[test]
fn databases_differ_only_when_their_intervals_do_not_overlap() {
    let (low, high) = (runs(6, 1.0, Some(2.0), 100), runs(6, 5.0, Some(9.0), 900));
    let of = |a: &[DisturbRepeat], b: &[DisturbRepeat]| {
        let targets = [a, b].map(|runs| target(runs.to_vec(), quiet(6, 0)));
        answer_of(targets.into()).sentence
    };
    assert_eq!(
        of(&high, &low),
        "The second database missed least: 104 transactions, the first database 904"
    );
    assert_eq!(
        of(&low, &low),
        "Cannot tell which database fares better: what they missed overlaps"
    );
    assert_eq!(
        of(&low[..1], &high[..1]),
        "Cannot tell which database fares better: one run of each says nothing of the next"
    );
}

#[test]
fn without_a_trial_there_is_no_answer() {
    assert_eq!(answer(&lab(Vec::new())), None);
}

#[test]
fn sums_that_differ_receipts_that_could_not_be_read_and_commands_that_failed_are_named() {
    let mut differs = with_truth(run(2, figures_of(1.0, Some(2.0), 10)), 0);
    if let Some(Fact::Known(truth)) = &mut differs.truth {
        let grown = vec![
            ("pgbench_tellers".to_owned(), 3),
            ("pgbench_history".to_owned(), 4),
        ];
        truth.sums = Some(Fact::Known(Sums { grown }));
    }
    differs.troubles = vec!["`x` ended with exit code 3".to_owned()];
    let unread = DisturbRepeat {
        truth: Some(Fact::Unknown("no answer".to_owned())),
        ..run(3, figures_of(1.0, Some(2.0), 10))
    };
    let answer = answer_of(vec![target(vec![differs, unread], Vec::new())]);
    assert_eq!(
        marks(&answer)[..5],
        [
            "✓ No lost writes",
            "○ Receipts of trial 3 could not be read",
            "✓ Unknown, resolved",
            "✗ Sums of trial 2 differ",
            "✗ A command failed in 1 of 2 runs"
        ]
    );
    assert_eq!(answer.sure[1].text, "no answer");
    assert_eq!(answer.sure[3].text, "pgbench_tellers 3, pgbench_history 4");
}

/// Runs of a form of a migration: service gone for so long, and whether it got through.
fn form(title: &str, gone_s: f64, runs: i64, is_done: bool) -> DisturbTarget {
    let statement = MigrationStatement {
        statement: "ALTER TABLE t ADD COLUMN k int".to_owned(),
        line: 3,
        waited_us: 3_000_000,
        held_until_us: 3_100_000,
        locks_are_whole: true,
        ..MigrationStatement::default()
    };
    let migration = MigrationRun {
        is_done,
        retries: if title == "as written" { 0 } else { 10 },
        left: (!is_done).then(|| "rolled back: nothing of it is left".to_owned()),
        statements: vec![statement],
        holders: vec![MigrationHolder {
            pid: Some(4711),
            application: "psql".to_owned(),
            state: "idle in transaction".to_owned(),
            to_us: 3_000_000,
            on: "t".to_owned(),
            mode: "ACCESS EXCLUSIVE".to_owned(),
            ..MigrationHolder::default()
        }],
        queue: vec![(10, 7), (3_000_000, 0)],
        victims_total: 7,
        ..MigrationRun::default()
    };
    let repeat = |trial| DisturbRepeat {
        migration: Some(Box::new(migration.clone())),
        ..run(trial, figures_of(gone_s, Some(gone_s), 100))
    };
    let mut target = target((1..=runs).map(repeat).collect(), quiet(runs, 0));
    target.title = title.to_owned();
    target
}

fn migrated(forms: Vec<DisturbTarget>) -> (DisturbLab, Answer) {
    let lab = DisturbLab {
        lab: "migrate".to_owned(),
        ..lab(forms)
    };
    let mut answer = answer(&lab).unwrap();
    answer.sentence = answer.sentence.replace('\u{a0}', " ");
    (lab, answer)
}

#[test]
fn what_a_migration_does_to_prepared_statements_and_standbys_is_counted_and_named() {
    let mut target = form("as written", 0.01, 3, true);
    let reason = |sqlstate: &str, message: &str, tries| Reason {
        class: "other".to_owned(),
        reason: sqlstate.to_owned(),
        sqlstate: Some(sqlstate.to_owned()),
        tries,
        tries_retried: 0,
        tries_ended: tries,
        message: message.to_owned(),
        statement: None,
    };
    for repeat in &mut target.repeats {
        repeat.reasons = vec![
            reason("0A000", "ERROR: cached plan must not change result type", 4),
            reason("40001", "could not serialize access", 9),
        ];
        let migration = repeat.migration.as_mut().unwrap();
        migration.standbys = vec![MigrationStandby {
            name: "one".to_owned(),
            behind_bytes_max: 2048,
            behind_us_max: 3_000_000,
            replayed_after_us: Some(2_000_000),
            cancelled: Some(3),
            cancelled_by_lock: Some(2),
        }];
    }
    let (lab, answer) = migrated(vec![target]);
    let evidence: Vec<(&str, &str)> = answer
        .evidence
        .iter()
        .map(|proof| (proof.figure.as_str(), proof.sentence.as_str()))
        .collect();
    let words = "tries ended with \"cached plan must not change result type\", as written";
    assert!(evidence.contains(&("12", words)), "{evidence:?}");
    let text = crate::lab::text(&lab, 200).replace('\u{a0}', " ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "12 tries ended with \"cached plan must not change result type\"",
        "one: 2 kB and 3.00 s behind at most; had replayed it 2.00 s after its end; 3 queries cancelled, 2 for a lock",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("conflict with recovery"), "{text}");
}

#[test]
fn the_first_sentence_of_a_migration_is_the_decision() {
    let recipe = "lock_timeout and retries";
    let (lab, answer) = migrated(vec![
        form("as written", 5.0, 3, true),
        form(recipe, 0.02, 3, true),
    ]);
    assert_eq!(
        answer.sentence,
        "Not as written: as written it stops all clients for 5.00 s; with lock_timeout and retries it never stops \
         all clients for longer than 100 ms, 11 tries"
    );
    assert_eq!(answer.state, AnswerState::Known);
    let evidence: Vec<&str> = answer
        .evidence
        .iter()
        .map(|proof| proof.sentence.as_str())
        .collect();
    assert!(
        evidence.contains(&"waited for psql, pid 4711, idle in transaction, as written"),
        "{evidence:?}"
    );
    let text = crate::lab::text(&lab, 110).replace('\u{a0}', " ");
    for words in [
        "waited s",
        "3 of 3",
        "ACCESS EXCLUSIVE on t for 3.00 s",
        "7 sessions, 7 at most at once",
        "line 3",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(super::super::outage_us(&lab), Some(5_000_000));
    let (_, answer) = migrated(vec![form("as written", 0.01, 3, true)]);
    assert!(
        answer
            .sentence
            .starts_with("It may be run as written under this load: as written it never"),
        "{answer:?}"
    );
    let reader = "as written, behind a reader of 30s";
    let (_, answer) = migrated(vec![
        form("as written", 0.01, 3, true),
        form(reader, 5.0, 3, true),
    ]);
    assert!(
        answer
            .sentence
            .contains("under this load, but not behind a long reader: "),
        "{answer:?}"
    );
    let few = answer
        .sure
        .iter()
        .filter(|check| check.name.starts_with("Too few"));
    assert_eq!(
        few.map(|check| check.text.contains("database"))
            .collect::<Vec<_>>(),
        [false]
    );
    let (_, answer) = migrated(vec![
        form("as written", 5.0, 1, true),
        form(recipe, 0.02, 1, false),
    ]);
    assert_eq!(answer.state, AnswerState::CannotTell);
    assert!(
        answer
            .sentence
            .contains("gives up in 1 of 1 run after 3.10 s"),
        "{answer:?}"
    );
    assert!(
        answer
            .sure
            .iter()
            .any(|check| check.text == "rolled back: nothing of it is left"),
        "{answer:?}"
    );
}
