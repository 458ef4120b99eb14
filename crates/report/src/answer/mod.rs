//! What an experiment says, in one sentence with its figures, its checks and what would tell more. It is
//! made once, here and in the modules of special experiments; the terminal, Markdown, JSON and the page
//! show the same [`Answer`](pgdyno_model::document::answer::Answer).

pub mod sweep;
mod text;

pub use text::{markdown, text};

use pgdyno_model::document::answer::{Answer, AnswerState, Sure};
use pgdyno_model::document::points::PointResult;
use pgdyno_model::{Note, Severity};
use pgdyno_spec::text as words;

/// Withdraws what is known where more than half of the trials that it rests on have a serious note: of an
/// experiment and of a comparison alike. Gives whether it did. More repeats would not help then: what to do is that note's
/// `remedy`.
pub fn withdraw(answer: &mut Answer, noted: usize, trials: usize, remedy: Option<&str>) -> bool {
    let is_noted = noted * 2 > trials;
    let is_withdrawn = is_noted && answer.state == AnswerState::Known;
    if is_noted && !is_withdrawn {
        // What would tell does so only without it.
        answer.remedies.splice(0..0, remedy.map(str::to_owned));
    }
    if is_withdrawn {
        answer.state = AnswerState::CannotTell;
        answer.sentence = format!(
            "Not to be relied on, for a serious note: {}",
            answer.sentence
        );
        if let Some(remedy) = remedy {
            answer.remedies = vec![remedy.to_owned()];
        }
    }
    is_withdrawn
}

/// What makes figures worthless makes what follows from them no better.
pub fn serious(points: &[PointResult], answer: &mut Answer) {
    let serious = points.iter().flat_map(|point| &point.notes);
    let serious = serious.filter(|of| of.note.severity == Severity::Serious);
    let mut codes: Vec<(&Note, usize)> = Vec::new();
    for of in serious {
        match codes.iter_mut().find(|(note, _)| note.code == of.note.code) {
            Some((_, count)) => *count += of.trials.len(),
            None => codes.push((&of.note, of.trials.len())),
        }
    }
    let counted: usize = points.iter().map(|point| point.repeats).sum();
    for (note, count) in &codes {
        let figures = format!(
            "{} in {count} of {}: {}",
            note.code,
            words::plural(counted as u64, "trial"),
            note.sentence
        );
        answer.sure.push(Sure::failed("A serious note", figures));
    }
    let most = codes.iter().max_by_key(|(_, count)| *count);
    let (remedy, count) = most.map_or((None, 0), |(note, count)| (Some(&*note.remedy), *count));
    withdraw(answer, count, counted, remedy);
}
