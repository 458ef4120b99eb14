//! The history of a trial: its transactions are recorded as they come (`\observe`), and when clients have
//! ended every key is read once more: a write that no read shows has no place in its key's order.

use std::time::{Duration, Instant};

use pgdyno_drive::{Control, Drive, Live};
use pgdyno_measurement::{End, Event, Interval, Message, RecordedHistory};
use pgdyno_model::{Note, Observer, Outcome, Severity};
use pgdyno_spec::{Exit, Failure, QueryMode, Retry, Until};
use pgdyno_workload::mix::WeightedScript;

use super::{account, isolation};
use crate::companion::{Begun, Companion, Ending, Scene};
use crate::prepare::Prepared;
use crate::{compile, replayed, statements_of_pack};

/// More is not kept in memory; checking takes about three times as much.
const BYTES_MAX: usize = 512 << 20;
/// A deadlock or a conflict with a transaction whose client is gone.
const TRIES_MAX: u32 = 20;
/// Nothing waits longer for the statements before a trial.
const BEFORE_MAX: Duration = Duration::from_secs(120);

/// Makes the tables ready, where a history is asked for.
///
/// # Errors
/// The trial cannot have one; the pack's script for it fails.
pub fn begin<'a>(scene: &mut Scene<'a>) -> Begun<'a> {
    let Scene {
        spec,
        share,
        prepared,
        control,
        ..
    } = *scene;
    if !spec.history {
        return Ok(None);
    }
    let usage = |text: &str| Failure::with(Exit::Usage, text.to_owned());
    if share.is_some() {
        let text = "a history of several generators cannot be recorded: their clocks differ";
        return Err(usage(text).hint("leave --history or --generators out"));
    }
    if account::is_due(prepared) {
        let text = "a history cannot be recorded where the storage layer is accounted for: its warm-up has \
                    connections of its own";
        return Err(usage(text).hint("leave --history out"));
    }
    if spec.compatible.commits.is_some() {
        let text = "a history cannot be recorded where transactions share a commit";
        return Err(usage(text).hint("leave --history out"));
    }
    let drawn = prepared.scripts.iter().filter(|script| script.weight > 0);
    if let Some(silent) = drawn
        .into_iter()
        .find(|script| !script.program.is_observed())
    {
        let name = &silent.program.script().name;
        let text = format!("the script {name} does not say what it observes");
        return Err(usage(&text).hint(
            "run a pack that does, such as isolation, or add \\observe to it (pgdyno help scripts)",
        ));
    }
    let pack = prepared.workload.pack.as_ref();
    let file = pack.and_then(|pack| pack.manifest.before_history.as_deref());
    let until = Instant::now() + BEFORE_MAX;
    statements_of_pack::run(prepared, control, ("before_history", file), until)?;
    // A standby that still shows what another history wrote would show what this one did not write.
    replayed::wait(prepared, control, until)?;
    Ok(Some(Box::new(Recorded)))
}

/// Transactions are recorded; what they show is checked when clients have gone.
struct Recorded;

impl Observer<Outcome> for Recorded {}

impl Companion for Recorded {
    fn set_up(&self, drive: &mut Drive) {
        drive.history_bytes_max = Some(BYTES_MAX);
    }

    fn end(self: Box<Self>, end: &mut Ending<'_>) {
        let (prepared, control) = (end.scene.prepared, end.scene.control);
        let Some(history) = &mut end.recording.history else {
            return;
        };
        let notes = read_every_key(end.drive, prepared, control, history);
        let is_read_at_end = notes.is_empty();
        let checked = isolation::of_trial(prepared, history, is_read_at_end);
        end.notes.extend(notes);
        end.findings.put(&checked);
    }
}

/// Reads every key in a session of its own, by the pack's script for it; what it observes becomes part of
/// the recording. Says what went wrong.
fn read_every_key(
    drive: &Drive,
    prepared: &Prepared,
    control: &Control,
    history: &mut RecordedHistory,
) -> Vec<Note> {
    if let Some(note) = cut_off(history) {
        return vec![note];
    }
    let unread = |why: &str| {
        vec![Note::new(
            "history-unread",
            Severity::Warning,
            format!("the history does not end with a read of all keys: {why}"),
            "record it again; without that read the last writes are not checked",
        )]
    };
    let pack = prepared.workload.pack.as_ref();
    let Some((pack, file)) =
        pack.and_then(|pack| Some((pack, pack.manifest.after_history.as_deref()?)))
    else {
        return unread("the workload has no after_history script");
    };
    if control.is_stopping() {
        return unread("the trial was interrupted");
    }
    let script = pack.script_file(file, prepared.product.dialect.name, &prepared.variables);
    let read = script.map(|script| script.map(|script| reading(drive, &script, control)));
    match read {
        Ok(None) => unread("its script is empty"),
        Ok(Some(Ok(after))) => {
            history.append(after);
            Vec::new()
        }
        Err(why) | Ok(Some(Err(why))) => unread(&why),
    }
}

/// What a reader of a history must know that was not recorded to its end.
fn cut_off(history: &RecordedHistory) -> Option<Note> {
    let mib = BYTES_MAX >> 20;
    history.is_cut_off().then(|| {
        Note::new(
            "history-cut-off",
            Severity::Warning,
            format!(
                "the history is cut off: it is limited to {mib} MiB, and later operations are missing"
            ),
            "record a shorter trial, or fewer transactions (--rate); the recorded part is complete",
        )
    })
}

/// What one client observes that runs this script once.
fn reading(
    drive: &Drive,
    script: &WeightedScript,
    control: &Control,
) -> Result<RecordedHistory, String> {
    let compiled = compile::compile(
        std::slice::from_ref(script),
        QueryMode::Simple,
        Retry::Restart,
        false,
        (false, false),
    );
    let (scripts, names) = compiled.map_err(|failure| failure.message)?;
    let own = Drive {
        variables: drive.variables.clone(),
        errors: drive.errors,
        max_tries: TRIES_MAX,
        until: Until::Transactions(const { std::num::NonZeroU64::new(1).unwrap() }),
        history_bytes_max: Some(usize::MAX),
        io: drive.io,
        seed: drive.seed,
        tries_other_endpoints: true,
        ..Drive::new(drive.endpoints.clone(), scripts, names)
    };
    let mut last_words = LastWords::default();
    let recording = own.run(control, &mut last_words);
    let mut recording = recording.map_err(|error| error.to_string())?;
    let is_whole = recording.end == End::Complete && recording.measured.all().counts.committed == 1;
    match recording.history.take() {
        Some(history) if is_whole => Ok(history),
        _ => Err(last_words.0.unwrap_or_else(|| "it failed".to_owned())),
    }
}

/// Keeps what the client says.
#[derive(Default)]
struct LastWords(Option<String>);

impl Live for LastWords {
    fn second(&mut self, _: &Interval) {}

    fn message(&mut self, message: &Message) {
        self.0 = Some(message.text.clone());
    }

    fn event(&mut self, _: &Event) {}
}

#[cfg(test)]
mod tests {
    use pgdyno_measurement::HistoryPart;

    use super::*;

    #[test]
    fn a_history_that_was_cut_off_has_a_note_and_a_whole_one_has_none() {
        let of = |cut_ns| {
            RecordedHistory::of_parts(vec![HistoryPart {
                chunks: Vec::new(),
                cut_ns,
            }])
        };
        assert_eq!(cut_off(&of(None)), None);
        let note = cut_off(&of(Some(5))).unwrap();
        assert_eq!(
            (&*note.code, note.severity),
            ("history-cut-off", Severity::Warning)
        );
        assert!(
            note.sentence.contains("limited to 512 MiB"),
            "{}",
            note.sentence
        );
    }
}
