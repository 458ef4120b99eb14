//! The answer of the laboratory for isolation: what was promised, and whether it was kept.

use pgdyno_model::document::Proof;
use pgdyno_model::document::answer::{Answer, AnswerState, Sure};
use pgdyno_model::document::isolation_lab::{IsolationLab, IsolationSelfCheck};
use pgdyno_spec::text as figures;

use super::lab::{most_unseen, share_text};

/// It: a forbidden anomaly before all else.
pub fn answer(lab: &IsolationLab) -> Answer {
    let mut evidence = Vec::new();
    for level in &lab.levels {
        let cells = level.cells.iter().zip(&lab.anomalies);
        for (cell, column) in
            cells.filter(|(cell, _)| cell.count > 0 && cell.forbidden == Some(true))
        {
            evidence.push(
                Proof::new(
                    figures::count(cell.count),
                    format!(
                        "{}: {} (in {} of {}); {} forbids it",
                        column.title.to_lowercase(),
                        column.meaning,
                        cell.trials,
                        figures::plural(cell.of_trials.max(cell.trials), "trial"),
                        level.asked.to_uppercase(),
                    ),
                )
                .at("isolation-cycle", "Smallest example"),
            );
        }
    }
    for level in &lab.levels {
        let Some(share) = most_unseen(level).filter(|_| level.is_kept == Some(true)) else {
            continue;
        };
        let says = format!(
            "of the pairs that could show it is the most in which {} may break its promise unseen (95 %)",
            level.asked.to_uppercase()
        );
        evidence.push(Proof::new(share_text(share), says).at("isolation", "By level"));
    }
    let replay = lab
        .examples
        .iter()
        .find(|seen| seen.forbidden == Some(true) && seen.example.replay.is_some());
    Answer {
        question: "What was asked: does each level keep what it promises, under load?".to_owned(),
        sentence: sentence(lab),
        state: match lab.is_kept {
            Some(_) => AnswerState::Known,
            None => AnswerState::NotKnown,
        },
        is_harm: lab.is_kept == Some(false),
        evidence,
        sure: lab.checks.iter().map(sure).collect(),
        remedies: replay
            .map(|seen| format!("`pgdyno check-history {}` shows it again", seen.file))
            .into_iter()
            .collect(),
        ..Answer::default()
    }
}

fn sure(check: &IsolationSelfCheck) -> Sure {
    let (name, says) = (check.name.as_str(), check.says.as_str());
    match check.held {
        Some(true) => Sure::held(name, says),
        Some(false) => Sure::failed(name, says),
        None => Sure::limit(name, says),
    }
}

/// What did not hold, alone: that others were kept is among the evidence.
fn sentence(lab: &IsolationLab) -> String {
    let broken = { lab.levels.iter() }.filter(|level| level.is_kept == Some(false));
    let broken: Vec<&str> = broken.map(|level| level.says.as_str()).collect();
    match (lab.is_kept, broken.is_empty()) {
        (Some(false), false) => broken.join(". "),
        _ => lab.says.join(". "),
    }
}
