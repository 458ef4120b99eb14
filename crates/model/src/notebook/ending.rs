//! How a trial went, by its recording.

use pgdyno_measurement::{End, Recording};

use crate::document::Disturbed;
use crate::{Outcome, State};

/// What the reason of a trial begins with that a broken invariant ended.
pub const BROKEN_INVARIANT: &str = "broken invariant: ";

/// The same of an outcome: where several generators measured it, it is complete when all of them were
/// there all the time; where commands were to disturb it, when all of them did what they were to do.
pub fn state(outcome: &Outcome) -> (State, Option<String>) {
    let (state, reason) = verdict(&outcome.recording);
    let missing = outcome.generators.as_ref().and_then(|all| all.missing());
    let disturbed: Option<Disturbed> = outcome.findings.get();
    let trouble = disturbed.and_then(|it| it.troubles().into_iter().next());
    match (state, missing.or(trouble)) {
        (State::Complete, Some(why)) => (State::Partial, Some(why)),
        _ => (state, reason),
    }
}

/// What a recording says of how the trial went, and why it is not complete.
pub fn verdict(recording: &Recording) -> (State, Option<String>) {
    let clients = &recording.clients;
    let early = || {
        let (aborted, total) = (clients.aborted, clients.total);
        Some(format!(
            "{aborted} of {total} clients ended before their time"
        ))
    };
    match recording.end {
        End::Running => (State::Running, None),
        End::Interrupted => (State::Aborted, Some("interrupted".to_owned())),
        End::InvariantBroken => {
            let what = recording.broken_invariant.as_deref().unwrap_or_default();
            (State::Failed, Some(format!("{BROKEN_INVARIANT}{what}")))
        }
        End::AllClientsAborted | End::ClientAborted { .. } => (State::Failed, early()),
        End::Complete if clients.aborted > 0 => (State::Failed, early()),
        End::Complete if recording.outages.unended > 0 => (
            State::Failed,
            Some(format!(
                "the server was lost: {} of {} clients had no connection when the trial ended",
                recording.outages.unended, clients.total
            )),
        ),
        End::Complete => (State::Complete, None),
    }
}
