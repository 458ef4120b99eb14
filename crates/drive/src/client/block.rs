//! Blocks that the transactions of a client share, where nothing commits by itself
//! ([`crate::Commits`]).

use pgdyno_platform::io::Io;
use pgdyno_wire::ServerError;
use pgdyno_wire::backend::ErrorFields;

use super::{Client, State};
use crate::context::Context;
use crate::drive::Commits;
use pgdyno_measurement::Level;

impl Client {
    /// A statement comes that needs a block, and there is none.
    pub(super) fn begin_block<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if let Some(link) = &mut self.link {
            link.simple("BEGIN");
        }
        self.transmit_and(cx, State::Beginning);
    }

    /// A transaction ends in an open block: whether that ends with it.
    pub(super) fn is_commit_due(&mut self, commits: Commits) -> bool {
        if self.script != commits.script {
            return false;
        }
        self.written += 1;
        self.written.is_multiple_of(commits.every.get())
    }

    pub(super) fn commit_block<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if let Some(link) = &mut self.link {
            link.commit();
        }
        self.transmit_and(cx, State::Committing);
    }

    /// What was booked in the open block is undone.
    pub(super) fn block_undone<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let undone = std::mem::take(&mut self.uncommitted);
        if undone > 0 {
            cx.recorder.undone(undone);
        }
    }

    /// The last COMMIT has failed; errors of another last statement do not matter.
    pub(super) fn parting_error<I: Io>(&mut self, cx: &mut Context<'_, I>, error: ErrorFields<'_>) {
        if self.uncommitted > 0 {
            let text = ServerError::new(error).libpq_text(None);
            cx.say(
                Level::Error,
                format!("client {} could not commit: {text}", self.id),
            );
        }
    }
}
