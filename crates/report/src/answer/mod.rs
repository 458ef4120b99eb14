//! What an experiment says, in one sentence with its figures, its checks and what would tell more. It is
//! made once, here and in the modules of special experiments; the terminal, Markdown, JSON and the page
//! show the same [`Answer`](pgdyno_model::document::answer::Answer).

mod special;
pub mod sweep;
mod text;

pub use special::Special;
pub use text::{markdown, text};
