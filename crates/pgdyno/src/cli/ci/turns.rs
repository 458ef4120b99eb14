//! By turns: an experiment of two points, base and head, in blocks A B B A or B A A B, as the seed draws it. Each pair of trials follows from those so
//! far, until the gate is decided or the time is over.

use std::time::{Duration, Instant};

use pgdyno_measurement::{Level, Message};
use serde_json::Value;

use pgdyno_model::event::{Finished, PlannedTrial, Role};
use pgdyno_model::notebook::TrialRow;
use pgdyno_model::{Observer, Outcome};
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_run::experiment::conduct::{self, Means};
use pgdyno_run::experiment::notebook::StoredExperiment;
use pgdyno_run::experiment::plan::Plan;
use pgdyno_run::experiment::schedule::{Slot, block};
use pgdyno_run::experiment::study::Study;
use pgdyno_run::prepare::Prepared;
use pgdyno_run::settings;
use pgdyno_spec::{
    Exit, Experiment, Failure,
    experiment::{Order, POINT_NAME, point::Point},
};
use pgdyno_stats::Look;

use super::side::Ready;
use super::{Asked, Measured, NAMES};

/// Measures both.
///
/// # Errors
/// A trial failed, or could not be kept.
pub fn measure(
    asked: &mut Asked<'_>,
    sides: [&Ready; 2],
    interrupts: &'static Interrupts,
) -> Result<Measured, Failure> {
    let args = asked.args;
    let points = NAMES.into_iter().zip(sides).map(|(name, side)| {
        vec![
            (POINT_NAME.to_owned(), Value::from(name)),
            ("target".to_owned(), Value::from(side.url.secret())),
        ]
    });
    let experiment = Experiment::of_trial(&*args.name, &asked.spec)
        .points(points)
        .order(Order::Mirrored)
        .settle(Duration::ZERO);
    let plan = Plan::new(experiment, &asked.spec.target, asked.seed)?;
    let store = asked.store;
    let notebook = StoredExperiment::new(store, &plan.identity).tagged(args.tag.clone());
    let journals = settings::directory()?;
    let verbosity = asked.verbosity;
    let mut failures = Failures::default();
    let mut turns = Turns {
        points: [0, 1].map(|index| plan.points[index].point.clone()),
        began: None,
        looks: Vec::new(),
        asked,
    };
    let ended = conduct::conduct(
        &plan,
        Means {
            wanted: turns.asked.spec.target.clone(),
            observe: Default::default(),
            target: None,
            replace: false,
            journals: &journals,
            progress: &mut verbosity.progress(),
            observer: &mut failures,
            study: &mut turns,
            notebook: &notebook,
            generators: None,
            interrupts,
        },
    )?;
    let interrupted = match ended.early {
        Some(Failure {
            exit: Exit::Interrupted(code),
            ..
        }) => Some(code),
        Some(failure) => return Err(failures.first.unwrap_or(failure)),
        None => None,
    };
    if interrupted.is_none() && ended.complete < ended.trials {
        return Err(failures.first.unwrap_or_else(|| ended.of_failed()));
    }
    let (elapsed, looks) = (turns.elapsed(), turns.looks);
    let [base, head] = by_side(notebook.results()?);
    Ok(Measured {
        base,
        head,
        looks,
        elapsed,
        kept_as: format!("experiment {} in {}", args.name, store.place()),
        interrupted,
    })
}

/// Trials by side, in the order of their repeats.
fn by_side(trials: Vec<TrialRow>) -> [Vec<TrialRow>; 2] {
    let name = |trial: &TrialRow| {
        let point = trial.point.as_ref()?;
        point.get(POINT_NAME)?.as_str().map(str::to_owned)
    };
    let mut sides = NAMES.map(|side| {
        let of_it = trials
            .iter()
            .filter(|trial| name(trial).as_deref() == Some(side));
        of_it.cloned().collect::<Vec<_>>()
    });
    for side in &mut sides {
        side.sort_by_key(|trial| trial.repeat);
    }
    sides
}

struct Turns<'a, 'b> {
    asked: &'a mut Asked<'b>,
    points: [Point; 2],
    began: Option<Instant>,
    looks: Vec<Look>,
}

impl Turns<'_, '_> {
    fn elapsed(&self) -> Duration {
        self.began.map_or(Duration::ZERO, |began| began.elapsed())
    }

    /// A trial of each, the other way round in the second pair of a block.
    fn pair(&self, repeat: u32) -> Vec<Slot> {
        let first = repeat - (repeat + 1) % 2;
        let places = block(&[0, 1], first..=first + 1, Order::Mirrored, self.asked.seed);
        let places = places.into_iter().filter(|place| place.1 == repeat);
        let slots = places.map(|(index, repeat)| Slot {
            index,
            point: self.points[index].clone(),
            role: Role::Point,
            repeat,
        });
        slots.collect()
    }
}

impl Study for Turns<'_, '_> {
    fn before(&mut self, _trial: &PlannedTrial, _prepared: &Prepared) -> Result<(), Failure> {
        self.began.get_or_insert_with(Instant::now);
        Ok(())
    }

    fn goes_on(&self) -> bool {
        true
    }

    fn more(&mut self, kept: &StoredExperiment<'_>) -> Result<Vec<Slot>, Failure> {
        let [base, head] = by_side(kept.results()?);
        let pairs = base.len().min(head.len()) as u32;
        // A block has two.
        if pairs % 2 == 1 {
            return Ok(self.pair(pairs + 1));
        }
        let share = super::share(self.asked.args, self.elapsed(), pairs / 2);
        let is_over = self.asked.is_over((&base, &head), share, &mut self.looks)?;
        Ok(if is_over {
            Vec::new()
        } else {
            self.pair(pairs + 1)
        })
    }
}

/// Why a trial failed, for the one error at the end.
#[derive(Default)]
struct Failures {
    first: Option<Failure>,
    /// What a client of the running trial said first.
    said: Option<String>,
}

impl Observer<Outcome> for Failures {
    fn message(&mut self, message: &Message) {
        if message.level == Level::Error {
            self.said.get_or_insert_with(|| message.text.clone());
        }
    }

    fn trial_finished(&mut self, finished: &Finished<'_, Outcome>) -> Result<(), Failure> {
        let label = &finished.trial.label;
        let said = self.said.take();
        let failure = match (finished.outcome, finished.error) {
            (Err(failure), _) => Failure {
                message: format!("{label}: {}", failure.message),
                ..failure.clone()
            },
            (Ok(_), Some(error)) => Failure::new(format!("{label}: {error}")),
            (Ok(_), None) => return Ok(()),
        };
        let failure = said.into_iter().fold(failure, Failure::detail);
        self.first.get_or_insert(failure);
        Ok(())
    }
}
