//! One generator's part of a trial: measured when all begin, and kept as a trial of its own.

use pgdyno_drive::Control;
use pgdyno_measurement::End;
use pgdyno_model::notebook::{KeptTrial, Notebook};
use pgdyno_model::{Observer, Observers, Outcome};
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_spec::{Failure, ObserveSpec, Wish};

use super::company::{Company, Part};
use super::{Barrier, Watch};
use crate::header;
use crate::interrupt::EndOnInterrupt;
use crate::prepare::Prepared;
use crate::trial::Trial;

/// What measuring a part needs.
pub struct Means<'a> {
    pub notebook: &'a dyn Notebook,
    /// Who watches it, beside the notebook.
    pub observer: &'a mut dyn Observer<Outcome>,
    pub interrupts: &'static Interrupts,
    pub watch: &'a Watch,
    /// Whether an end of this one is not the end of all.
    pub leaves: bool,
}

/// The same without the notebook.
pub(super) struct Beside<'a> {
    pub(super) observer: &'a mut dyn Observer<Outcome>,
    pub(super) interrupts: &'static Interrupts,
    pub(super) watch: &'a Watch,
    pub(super) leaves: bool,
}

impl<'a> From<Means<'a>> for Beside<'a> {
    fn from(means: Means<'a>) -> Self {
        Self {
            observer: means.observer,
            interrupts: means.interrupts,
            watch: means.watch,
            leaves: means.leaves,
        }
    }
}

pub struct Measured {
    pub outcome: Outcome,
    /// Where it is kept, or why it is not.
    pub kept: Result<Part, Failure>,
}

/// Measures a part, when all begin, and tells the others that it is done.
///
/// # Errors
/// It came to nothing; the notebook cannot be reached.
pub fn measure(
    company: &mut Company,
    trial: Trial,
    prepared: &mut Prepared,
    control: &Control,
    means: Means<'_>,
) -> Result<Measured, Failure> {
    prepared.is_kept_in(means.notebook);
    // Without tags: a search by tag means the whole.
    let header = header::header(&trial.spec, prepared);
    let writer = means.notebook.begin(&header)?;
    let (interrupts, before) = (means.interrupts, company.interrupted_before());
    measure_by(company, writer, control, means.into(), |observers| {
        let _until_then = EndOnInterrupt::on(control, interrupts, before)?;
        trial.run(prepared, control, observers)
    })
}

/// The same, where `run` is what tells observers of the trial and gives what came of it.
pub(super) fn measure_by(
    company: &mut Company,
    mut writer: Box<dyn KeptTrial>,
    control: &Control,
    beside: Beside<'_>,
    run: impl FnOnce(&mut dyn Observer<Outcome>) -> Result<Outcome, Failure>,
) -> Result<Measured, Failure> {
    let Beside {
        observer,
        interrupts,
        watch,
        leaves,
    } = beside;
    let number = writer.number();
    company.keep_part(number)?;
    let mut barrier = Barrier::of(company, control)?;
    let passed = barrier.passed();
    watch.run(control);
    // The others wait last: what is shown of the start is shown before it.
    let mut observers = Observers::new([
        &mut *writer as &mut dyn Observer<Outcome>,
        observer,
        &mut barrier,
    ]);
    let outcome = run(&mut observers);
    watch.run_ended();
    if interrupts.count() > company.interrupted_before() && !leaves {
        // The watch may not have looked since: a run ends in no time.
        let _ = company.stop_all();
    }
    // From here on Ctrl-C ends waiting for the others.
    company.forget_interrupts();
    let began = passed.get().transpose();
    let (outcome, began) = match outcome.and_then(|outcome| Ok((outcome, began.clone()?))) {
        Ok(measured) => measured,
        Err(failure) => {
            // Why there was no start says more than that there was none.
            let failure = began.err().unwrap_or(failure);
            writer.end_with(&failure)?;
            return Err(failure);
        }
    };
    let recording = &outcome.recording;
    let is_complete = recording.end == End::Complete && recording.clients.aborted == 0;
    let kept = writer.finish(&outcome).and_then(|ended| {
        let part = Part {
            trial: number,
            is_complete,
            has_arrived: ended.waits.is_none(),
            began_late_us: began.map(|began| began.late_us),
            began_clock: began.map(|began| began.clock),
            clock: None,
        };
        company.done(part.clone())?;
        Ok(part)
    });
    Ok(Measured { outcome, kept })
}

/// What a generator observes: the server is seen by one, a host by one of its generators.
pub fn observed(asked: ObserveSpec, observes: bool, is_first_of_host: bool) -> ObserveSpec {
    if observes {
        return asked;
    }
    let own = |name: &str| name == "host" || name.starts_with("host.");
    let of_host = match &asked.instruments {
        Wish::Auto => vec!["host".to_owned()],
        Wish::None => Vec::new(),
        Wish::List(names) => names.iter().filter(|name| own(name)).cloned().collect(),
    };
    ObserveSpec {
        instruments: if is_first_of_host && !of_host.is_empty() {
            Wish::List(of_host)
        } else {
            Wish::None
        },
        scrape: Vec::new(),
        metrics_listen: None,
        ..asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_seen_by_one_and_a_host_by_one_of_its_generators() {
        let asked = |instruments| ObserveSpec {
            instruments,
            ..ObserveSpec::default()
        };
        let list =
            |names: &[&str]| Wish::List(names.iter().map(|name| (*name).to_owned()).collect());
        let seen = |wish, observes, first| observed(asked(wish), observes, first).instruments;
        assert_eq!(seen(Wish::Auto, true, false), Wish::Auto);
        assert_eq!(seen(Wish::Auto, false, true), list(&["host"]));
        assert_eq!(seen(Wish::Auto, false, false), Wish::None);
        let some = || list(&["pg.waits", "host.cpu"]);
        assert_eq!(seen(some(), false, true), list(&["host.cpu"]));
        assert_eq!(seen(list(&["pg.waits"]), false, true), Wish::None);
    }
}
