//! What an experiment says, in one sentence with its figures, its checks and what would tell more. It is
//! made once, here and in the modules of special experiments; the terminal, Markdown, JSON and the page
//! show the same [`Answer`](pgdyno_model::document::answer::Answer).

mod special;
pub mod sweep;
mod text;

pub use special::Special;
pub use text::{markdown, text};

use pgdyno_model::document::answer::{Answer, AnswerState};

/// Withdraws what is known where more than half of the trials that it rests on have a serious note: of an
/// experiment and of a comparison alike. Gives whether it did.
pub fn withdraw(answer: &mut Answer, noted: usize, trials: usize) -> bool {
    let is_withdrawn = noted * 2 > trials && answer.state == AnswerState::Known;
    if is_withdrawn {
        answer.state = AnswerState::CannotTell;
        answer.sentence = format!(
            "Not to be relied on, for a serious note: {}",
            answer.sentence
        );
    }
    is_withdrawn
}
