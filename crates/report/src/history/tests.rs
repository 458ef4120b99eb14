use pgdyno_model::document::history::History;

use super::*;

/// Thirty trials: a loss of a tenth with the sixteenth, and a new version there.
fn document() -> History {
    let trials: Vec<HistoryTrial> = (0..30)
        .map(|index| {
            let level = if index < 15 { 1000.0 } else { 900.0 };
            HistoryTrial {
                number: 100 + index,
                started: format!("2026-01-{:02}T08:00:00.000000Z", index + 1),
                value: level + f64::from((index as i32 * 7) % 5),
                version: Some(if index < 15 { "17.2" } else { "18.1" }.to_owned()),
            }
        })
        .collect();
    History {
        figure: "goodput".to_owned(),
        workload: "tpcb <x>".to_owned(),
        load: vec!["clients 4".to_owned()],
        target: "a private server".to_owned(),
        host: "ci-1, 4 CPUs".to_owned(),
        changes: changes(&trials).0,
        masked_by: None,
        trials,
        left_out: vec![LeftOut {
            why: "another load",
            trials: 3,
        }],
        gate: None,
    }
}

#[test]
fn a_change_has_its_trial_its_size_and_its_version() {
    let text = text(&document());
    assert!(
        text.starts_with("goodput of tpcb <x>: 1 change in 30 trials, the newest by -10"),
        "{text}"
    );
    assert!(text.contains("with trial 115 on 2026-01-16\n"), "{text}");
    assert!(text.contains("1  2026-01-16 08:00"), "{text}");
    assert!(
        text.contains("with 1: the server's version went from 17.2 to 18.1"),
        "{text}"
    );
    assert!(text.contains("left out  3 trials: another load"), "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn trials_that_follow_each_other_too_closely_say_so() {
    let document = History {
        changes: Vec::new(),
        masked_by: Some(0.62),
        ..document()
    };
    let text = text(&document);
    assert!(
        text.contains("in 30 trials is not known, they follow each other too closely"),
        "{text}"
    );
    for shown in [text, page(&document)] {
        assert!(shown.contains("(correlation 0.62)"), "{shown}");
        assert!(shown.contains("pgdyno ci"), "{shown}");
    }
}

#[test]
fn the_chart_has_each_trial_in_eighty_columns() {
    let metric = figure("goodput").unwrap();
    let mut document = document();
    let lines = chart::lines(&document, metric);
    let dots = |lines: &[String]| lines.concat().matches('•').count();
    assert_eq!(dots(&lines), 30, "{lines:#?}");
    let changed = lines
        .last()
        .unwrap()
        .chars()
        .position(|c| c == '1')
        .unwrap();
    let margin = lines[0].chars().position(|c| c == '┤').unwrap() + 1;
    assert_eq!(changed - margin, 15);
    // Many more than columns.
    document.trials = (0..1000)
        .map(|index| HistoryTrial {
            value: 1000.0 + f64::from(index % 13),
            ..document.trials[0].clone()
        })
        .collect();
    document.changes.clear();
    for line in chart::lines(&document, metric) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    document.trials.truncate(1);
    assert_eq!(dots(&chart::lines(&document, metric)), 1);
    document.trials.clear();
    assert!(chart::lines(&document, metric).is_empty());
}

#[test]
fn the_page_has_a_mark_a_trial_and_is_not_broken_by_names() {
    let page = page(&document());
    assert_eq!(page.matches("<circle").count(), 30);
    assert_eq!(page.matches("class=\"c\"").count(), 1);
    assert!(page.contains("tpcb &lt;x&gt;") && !page.contains("<x>"));
    assert!(page.contains("default-src 'none'") && !page.contains("<script"));
    assert!(page.contains("Left out: 3 trials, another load"));
}

#[test]
fn groups_differ_by_the_first_thing_that_does() {
    let group = |load: &str, target: &str, settings: &str, host: &str| Group {
        load: (load.to_owned(), None, "tpcb".to_owned()),
        target: target.to_owned(),
        settings: settings.to_owned(),
        host: host.to_owned(),
    };
    let one = group("l", "t", "s", "h");
    assert_eq!(one.differs(&one.clone()), None);
    assert_eq!(
        one.differs(&group("x", "x", "s", "h")),
        Some("another load")
    );
    assert_eq!(
        one.differs(&group("l", "x", "s", "x")),
        Some("another target")
    );
    assert_eq!(
        one.differs(&group("l", "t", "x", "h")),
        Some("other settings")
    );
    assert_eq!(
        one.differs(&group("l", "t", "s", "x")),
        Some("another machine")
    );
}
