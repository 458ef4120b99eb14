//! What viewers may do to a trial. Each says which trial it means by its UUID, too: a number may be another
//! trial's by now.

use pgdyno_model::State;
use pgdyno_spec::{Exit, Failure};
use pgdyno_store::Store;
use serde::Deserialize;
use serde_json::json;

use crate::answer::Answer;
use crate::notebooks::Notebooks;

/// An action's name and what it may say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// `tag`: adds and removes tags.
    Tag(Tag),
    /// `note`: sets the note, or takes it away.
    Note(NoteRequest),
    /// `exclude`: with a reason, or includes again.
    Exclude(ExcludeRequest),
    Stop(Only),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tag {
    uuid: String,
    #[serde(default)]
    add: Vec<String>,
    #[serde(default)]
    remove: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteRequest {
    uuid: String,
    note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExcludeRequest {
    uuid: String,
    reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Only {
    uuid: String,
}

impl Action {
    /// Whether there is one of this name.
    pub fn is_known(name: &str) -> bool {
        matches!(name, "tag" | "note" | "exclude" | "stop")
    }

    /// Reads one.
    ///
    /// # Errors
    /// It is no JSON, or not what the action takes.
    pub fn read(name: &str, body: &[u8]) -> Result<Self, String> {
        let read = match name {
            "tag" => serde_json::from_slice(body).map(Self::Tag),
            "note" => serde_json::from_slice(body).map(Self::Note),
            "exclude" => serde_json::from_slice(body).map(Self::Exclude),
            "stop" => serde_json::from_slice(body).map(Self::Stop),
            _ => return Err(format!("there is no action {name}")),
        };
        read.map_err(|e| format!("{name}: {e}"))
    }

    fn uuid(&self) -> &str {
        match self {
            Self::Tag(Tag { uuid, .. })
            | Self::Note(NoteRequest { uuid, .. })
            | Self::Exclude(ExcludeRequest { uuid, .. })
            | Self::Stop(Only { uuid }) => uuid,
        }
    }

    /// Does it to the trial that is called so, and says what was done.
    pub fn carry_out(&self, notebooks: &Notebooks, called: &str) -> Answer {
        let done = notebooks.with(|store| {
            let trial = store.trial(called)?;
            if trial.uuid != self.uuid() {
                return Ok(Err(format!("trial {called} is another one by now")));
            }
            if matches!(self, Self::Stop(_)) {
                if trial.state != State::Running {
                    return Ok(Err(format!("trial {called} has ended: {}", trial.state)));
                }
                if let Some(why) = store.cannot_stop(trial.number)? {
                    return Ok(Err(why));
                }
            }
            self.change(store, trial.number).map(Ok)
        });
        match done {
            Ok(Ok(words)) => Answer::json(200, &json!({ "done": words })),
            Ok(Err(why)) => Answer::error(409, &why, &[], true),
            Err(failure) if failure.exit == Exit::Usage && !is_missing(&failure) => {
                Answer::error(400, &failure.message, &failure.hints, true)
            }
            Err(failure) => Answer::failed(&failure, true),
        }
    }

    fn change(&self, store: &Store, number: i64) -> Result<String, Failure> {
        match self {
            Self::Tag(Tag { add, remove, .. }) => {
                add.iter().try_for_each(|tag| store.add_tag(number, tag))?;
                for tag in remove {
                    store.remove_tag(number, tag)?;
                }
                Ok(format!("the tags of trial {number} were changed"))
            }
            Self::Note(NoteRequest { note, .. }) => {
                let note = note.as_deref().filter(|note| !note.trim().is_empty());
                store.set_note(number, note)?;
                Ok(format!("the note of trial {number} was changed"))
            }
            Self::Exclude(ExcludeRequest { reason, .. }) => {
                let reason = reason.as_deref().map(str::trim);
                if reason == Some("") {
                    let text = "an excluded trial needs a reason";
                    return Err(Failure::with(Exit::Usage, text)
                        .hint("readers must know why it does not count"));
                }
                store.set_excluded(number, reason)?;
                Ok(match reason {
                    Some(_) => format!("trial {number} is excluded"),
                    None => format!("trial {number} counts again"),
                })
            }
            Self::Stop(_) => {
                store.stop(number)?;
                Ok(format!(
                    "trial {number} was asked to end; its results so far are kept. A sweep that it is \
                     part of ends too"
                ))
            }
        }
    }
}

/// There is no such trial.
fn is_missing(failure: &Failure) -> bool {
    failure.message.starts_with("there is no trial")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_action_is_named() {
        for (name, body, words) in [
            ("stop", "{}", "missing field `uuid`"),
            (
                "stop",
                "{\"uuid\": \"a\", \"now\": true}",
                "unknown field `now`",
            ),
            ("tag", "{\"uuid\": \"a\", \"add\": \"x\"}", "invalid type"),
            ("note", "nonsense", "expected"),
            ("rm", "{}", "there is no action rm"),
        ] {
            let why = Action::read(name, body.as_bytes()).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
        let action = Action::read("note", b"{\"uuid\": \"a\", \"note\": null}").unwrap();
        assert_eq!(action.uuid(), "a");
    }
}
