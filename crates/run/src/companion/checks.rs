//! What must hold of the data (`[[check]]` of a pack), asked before, during and after a trial. It costs
//! the trial nothing but what the server does for the queries: they have a session of their own.
//!
//! Not for: what a check is and when it holds (`workload/checks.rs`).

mod sampler;

use std::sync::{Arc, Mutex, MutexGuard};

use pgdyno_drive::Control;
use pgdyno_model::document::DataCheck;
use pgdyno_model::{Note, Observer, Outcome, Severity};
use pgdyno_observe::Instrument;
use pgdyno_session::Session;
use pgdyno_spec::Failure;
use pgdyno_workload::checks::{Look, MadeCheck, Wants};
use pgdyno_workload::manifest::Moment;

use crate::companion::{Begun, Companion, Ending, Scene};
use crate::prepare::Prepared;

/// The checks of a trial.
struct Checks<'a> {
    all: Arc<Vec<Mutex<Asked>>>,
    prepared: &'a Prepared,
}

/// A check, and what came of it so far.
struct Asked {
    check: MadeCheck,
    /// The value before the trial, for what must not change.
    before: Option<String>,
    result: DataCheck,
}

/// Those of the pack, asked before the trial where they are to be; of several generators the first one asks.
///
/// # Errors
/// A mistake in the pack; no connection to the server.
pub fn begin<'a>(scene: &mut Scene<'a>) -> Begun<'a> {
    if scene.spec.no_checks || !scene.is_first_generator() {
        return Ok(None);
    }
    Ok(Some(Box::new(Checks::new(scene.prepared)?)))
}

impl Observer<Outcome> for Checks<'_> {}

impl Companion for Checks<'_> {
    /// Asks those that are to be asked during the trial.
    fn instrument(&self) -> Option<Box<dyn Instrument>> {
        sampler::of(&self.all, self.prepared)
    }

    fn end(self: Box<Self>, end: &mut Ending<'_>) {
        let checks = self.finish(end.scene.control);
        end.notes.extend(notes(&checks));
        end.findings.put(&checks);
    }
}

impl<'a> Checks<'a> {
    fn new(prepared: &'a Prepared) -> Result<Self, Failure> {
        let dialect = prepared.product.dialect.name;
        let pack = prepared.workload.pack.as_ref();
        let made = pack.map_or(Ok(Vec::new()), |pack| {
            pack.made_checks(dialect, &prepared.variables)
        });
        let mut all: Vec<Asked> = made
            .map_err(Failure::new)?
            .into_iter()
            .map(Asked::of)
            .collect();
        if all.iter().any(Asked::is_asked_before) {
            let mut session = prepared.target.connect()?;
            let before = all.iter_mut().filter(|asked| asked.is_asked_before());
            before.for_each(|asked| asked.ask(&mut session, Moment::Before));
            session.close();
        }
        Ok(Self {
            all: Arc::new(all.into_iter().map(Mutex::new).collect()),
            prepared,
        })
    }

    /// Asks the rest, and gives what came of all.
    fn finish(&self, control: &Control) -> Vec<DataCheck> {
        let prepared = self.prepared;
        if self
            .all
            .iter()
            .any(|asked| lock(asked).is_at(Moment::After))
        {
            let session = if control.is_stopping() {
                Err("the trial was interrupted".to_owned())
            } else {
                prepared.target.connect().map_err(|failure| failure.message)
            };
            match session {
                Ok(mut session) => {
                    let after = self
                        .all
                        .iter()
                        .filter(|asked| lock(asked).is_at(Moment::After));
                    after.for_each(|asked| lock(asked).ask(&mut session, Moment::After));
                    session.close();
                }
                Err(why) => self.all.iter().for_each(|asked| lock(asked).missed(&why)),
            }
        }
        let results = self.all.iter().map(|asked| lock(asked).result.clone());
        results.collect()
    }
}

/// A sampler that panicked has written whole results.
fn lock(asked: &Mutex<Asked>) -> MutexGuard<'_, Asked> {
    asked.lock().unwrap_or_else(|e| e.into_inner())
}

impl Asked {
    fn of(check: MadeCheck) -> Self {
        Self {
            result: DataCheck {
                name: check.name.clone(),
                help: check.help.clone(),
                held: None,
                expected: check.expected(None),
                found: None,
                at: None,
                looks: 0,
                failures: 0,
                took_us_max: 0,
                unknown: None,
            },
            before: None,
            check,
        }
    }

    fn is_at(&self, moment: Moment) -> bool {
        self.check.at.contains(&moment)
    }

    fn is_asked_before(&self) -> bool {
        self.is_at(Moment::Before) || self.check.wants == Wants::Unchanged
    }

    /// Asks now, and keeps what came of it.
    fn ask(&mut self, session: &mut Session, moment: Moment) {
        let wants_before = self.check.wants == Wants::Unchanged && moment != Moment::Before;
        if wants_before && self.before.is_none() {
            // Why is known already.
            return;
        }
        match self.check.look(session.unhurried(), self.before.as_deref()) {
            Ok(look) if self.check.wants == Wants::Unchanged && moment == Moment::Before => {
                self.result.expected = self.check.expected(Some(&look.found));
                self.before = Some(look.found);
            }
            Ok(look) => self.keep(look, moment),
            Err(error) => self.missed(&error.to_string()),
        }
    }

    fn keep(&mut self, look: Look, moment: Moment) {
        let result = &mut self.result;
        // The first failure stays.
        if result.failures == 0 {
            result.found = Some(look.found);
            result.at = Some(word(moment).to_owned());
        }
        result.looks += 1;
        result.failures += u64::from(!look.held);
        result.took_us_max = result.took_us_max.max(look.took.as_micros() as u64);
        self.judge();
    }

    /// It was not asked when it should have been.
    fn missed(&mut self, why: &str) {
        self.result.unknown.get_or_insert_with(|| why.to_owned());
        self.judge();
    }

    /// One failure is enough; that it held says nothing of the times when it was not asked.
    fn judge(&mut self) {
        let result = &mut self.result;
        result.held = match (result.failures, &result.unknown) {
            (0, None) => (result.looks > 0).then_some(true),
            (0, Some(_)) => None,
            _ => Some(false),
        };
    }
}

fn word(moment: Moment) -> &'static str {
    match moment {
        Moment::Before => "before",
        Moment::During => "during",
        Moment::After => "after",
    }
}

/// What there is to note of them.
pub fn notes(checks: &[DataCheck]) -> Vec<Note> {
    let notes = checks.iter().filter_map(|check| {
        let DataCheck { name, help, .. } = check;
        match (check.held, &check.unknown) {
            (Some(false), _) => Some(Note::new(
                "check-failed",
                Severity::Serious,
                format!(
                    "check {name} failed {} the trial: expected {}, found {} ({help})",
                    check.at.as_deref().unwrap_or("during"),
                    check.expected,
                    check.found.as_deref().unwrap_or("nothing"),
                ),
                "the database lost or doubled work, or another session changed these tables: find the cause \
                 before you use the figures",
            )),
            (_, Some(why)) => Some(Note::new(
                "check-unknown",
                Severity::Warning,
                format!("check {name} has no result: {why}"),
                "fix the reason, or turn checks off: --no-checks",
            )),
            _ => None,
        }
    });
    notes.collect()
}
