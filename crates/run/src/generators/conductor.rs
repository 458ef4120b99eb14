//! An experiment of several generators: one of them, the conductor, does what is done between trials and
//! says which trial comes next; all of them measure it. When it dies another goes on where it was.

use pgdyno_drive::Control;
use pgdyno_model::document::GeneratorEnd;
use pgdyno_model::notebook::{KeptTrial, Notebook, Whose};
use pgdyno_model::{Observer, Outcome};
use pgdyno_observe::ObserveOptions;
use pgdyno_spec::{Failure, TrialSpec, generators as shares};
use serde::{Deserialize, Serialize};

use super::company::{Company, words};
use super::{Means, Watch, measure, merge, observed};
use crate::prepare::{Prepared, prepare};
use crate::trial::Trial;
use pgdyno_model::progress::Progress;

/// A trial that is to be measured next.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Order {
    /// The whole trial, with the settings of its sessions; without secrets.
    spec: TrialSpec,
    /// The number of its point in the experiment.
    point: usize,
    gone: Vec<u32>,
}

pub struct Conductor<'a> {
    company: &'a mut Company,
    leaves: bool,
    /// How many trials were ordered.
    step: u32,
    gone: Vec<u32>,
}

impl<'a> Conductor<'a> {
    /// Goes on behind what was ordered before.
    ///
    /// # Errors
    /// The notebook cannot be reached.
    pub fn of(company: &'a mut Company, leaves: bool) -> Result<Self, Failure> {
        let orders = company.heard(words::ORDER)?;
        Ok(Self {
            step: orders.last().map_or(0, |word| word.step + 1),
            gone: Vec::new(),
            company,
            leaves,
        })
    }

    /// Has all generators measure a trial, and adds up what they kept; what was measured goes to the
    /// writer of the whole.
    ///
    /// # Errors
    /// It came to nothing; the notebook cannot be reached.
    pub fn run(
        &mut self,
        whole: Trial,
        (point, prepared): (usize, &mut Prepared),
        control: &Control,
        writer: &mut dyn KeptTrial,
        means: (&dyn Notebook, &mut dyn Observer<Outcome>),
    ) -> Result<Outcome, Failure> {
        let (notebook, observer) = means;
        let spec = whole.spec.clone();
        let order = Order {
            spec: spec.clone(),
            point,
            gone: self.gone.clone(),
        };
        let text = serde_json::to_string(&order).unwrap_or_default();
        self.company
            .say(words::ORDER, Whose::First, self.step, text)?;
        let mut company = self.company.for_trial(self.step, &spec, &self.gone)?;
        self.step += 1;
        let watch = Watch::start(&company, self.leaves)?;
        let share = company.share(&spec)?;
        let trial = Trial {
            spec: shares::part(&spec, &share),
            share: Some(share),
            observe: whole.observe,
        };
        let means = Means {
            notebook,
            observer,
            interrupts: company.interrupts(),
            watch: &watch,
            leaves: self.leaves,
        };
        let measured = measure(&mut company, trial, prepared, control, means)?;
        measured.kept?;
        company.wait_for_all()?;
        let merged = merge(&company, &spec, prepared)?;
        let recording = &merged.outcome.recording;
        Observer::<Outcome>::begun(writer, recording.started);
        for second in &recording.seconds {
            writer.keep_second(second.clone());
        }
        for event in &recording.events {
            writer.keep_event(event.kind.word(), event.at_us, &event.text);
        }
        company
            .room
            .copy_observed(merged.observed_by, writer.number())?;
        company.keep_whole(writer.number())?;
        let list = merged.outcome.generators.iter().flat_map(|all| &all.list);
        let gone =
            list.filter(|one| matches!(one.end, GeneratorEnd::Died | GeneratorEnd::NeverArrived));
        self.gone = gone.map(|one| one.generator).collect();
        Ok(merged.outcome)
    }

    /// Whether there is something for each of them; else the conductor measures it alone.
    pub fn can_share(&self, whole: &TrialSpec) -> bool {
        whole.clients() >= self.company.generators()
    }
}

/// What became of an experiment that this generator did not conduct.
#[derive(Debug, PartialEq)]
pub enum Followed {
    Over,
    /// It has no conductor: this generator is now, from the beginning (false) or where another was.
    Conducts(bool),
}

pub struct Follows<'a> {
    /// A trial of this point of the experiment, with what is never shared: secrets, and the way to the
    /// server.
    pub complete: &'a dyn Fn(usize, TrialSpec) -> TrialSpec,
    /// Whether an end of this one is not the end of all.
    pub leaves: bool,
    /// Gets the steps before a trial.
    pub progress: &'a mut dyn Progress,
    /// Where its parts are kept.
    pub notebook: &'a dyn Notebook,
    pub observer: &'a mut dyn Observer<Outcome>,
}

/// Measures what the conductor orders, until it is over, or this one is to conduct.
///
/// # Errors
/// The notebook cannot be reached; this generator cannot measure a trial: the others go on without it.
pub fn follow(company: &mut Company, mut by: Follows<'_>) -> Result<Followed, Failure> {
    let orders = company.heard(words::ORDER)?;
    let mut step = orders.last().map_or(0, |word| word.step);
    loop {
        company.check_interrupt()?;
        if let Some(word) = company.heard(words::OVER)?.first() {
            return if word.text.is_empty() {
                Ok(Followed::Over)
            } else {
                Err(Failure::new(word.text.clone()).detail(format!(
                    "generator {}, which conducted, says so",
                    word.generator
                )))
            };
        }
        let orders = company.heard(words::ORDER)?;
        if let Some(word) = orders.iter().find(|word| word.step == step) {
            let order: Order = serde_json::from_str(&word.text)
                .map_err(|e| Failure::new(format!("an order cannot be read: {e}")))?;
            by.measure(company, step, order)?;
            step += 1;
        } else if company.takes_over(words::CONDUCTING)? {
            return Ok(Followed::Conducts(company.has_been(words::CONDUCTING)?));
        } else {
            company.pause();
        }
    }
}

impl Follows<'_> {
    /// This generator's part of a trial that was ordered.
    fn measure(&mut self, all: &Company, step: u32, order: Order) -> Result<(), Failure> {
        let whole = (self.complete)(order.point, order.spec);
        let mut company = all.for_trial(step, &whole, &order.gone)?;
        let measured = self.part(&mut company, &whole);
        measured.inspect_err(|failure| company.leave(failure, self.leaves))
    }

    fn part(&mut self, company: &mut Company, whole: &TrialSpec) -> Result<(), Failure> {
        let watch = Watch::start(company, self.leaves)?;
        let mut prepared = prepare(whole, self.progress, company.interrupts())?;
        let share = company.share(whole)?;
        let mut spec = shares::part(whole, &share);
        spec.observe = observed(spec.observe, false, company.is_first_of_host()?);
        let observe = ObserveOptions {
            spec: spec.observe.clone(),
            ..ObserveOptions::default()
        };
        let trial = Trial {
            spec,
            share: Some(share),
            observe,
        };
        let means = Means {
            notebook: self.notebook,
            observer: self.observer,
            interrupts: company.interrupts(),
            watch: &watch,
            leaves: self.leaves,
        };
        let control = Control::default();
        measure(company, trial, &mut prepared, &control, means)?.kept?;
        Ok(())
    }
}
