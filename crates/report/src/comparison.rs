//! Two sets of trials beside each other: the unit is the repeat, figures are compared within one
//! workload at one point only, and nothing is averaged that must not be. How each figure is
//! computed: `docs/statistics.md`.

mod address;
mod again;
pub mod answer;
mod differing;
mod does;
mod sets;
mod surroundings;
mod text;
pub mod verdict;

pub use differing::{FOLLOWS_WORDS, differences};
pub use pgdyno_model::document::comparison::Differing;
pub use sets::{Matched, Set, matched};
pub use surroundings::surroundings;
pub use text::text;

use super::answer::sweep::Planned;
use super::points;
use pgdyno_stats::gate::{Figure, Unit};
use pgdyno_stats::{CompareOptions, Comparison, Drawn, Family, Row, Sample, Starts, compare_all};

use pgdyno_measurement::Latencies;
use pgdyno_model::document::Interval;
use pgdyno_model::document::comparison::{ComparedFigure, ComparedPoint, Lacking};
use pgdyno_model::notebook::{Kind, Notebook, TrialRow};
use pgdyno_model::{NoteOfTrials, document, stamp};
use pgdyno_spec::{Exit, Failure, text as figures};

/// A figure of a trial that can be compared.
pub struct Metric {
    /// As it is written in gates and tables.
    pub figure: Figure<'static>,
    /// The headline's figures are what is to be decided.
    pub family: Family,
    of: fn(&TrialRow) -> Option<f64>,
}

const fn metric(
    name: &'static str,
    unit: Unit,
    family: Family,
    of: fn(&TrialRow) -> Option<f64>,
) -> Metric {
    Metric {
        figure: Figure { name, unit },
        family,
        of,
    }
}

impl Metric {
    pub fn of(&self, trial: &TrialRow) -> Option<f64> {
        (self.of)(trial)
    }

    /// Which percentile it is, such as 99; `None`: it is none.
    pub fn percent(&self) -> Option<f64> {
        self.figure.name.strip_prefix('p')?.parse().ok()
    }

    /// As people read it, with three digits as on the page: times in milliseconds.
    pub fn shown(&self, value: f64) -> String {
        match self.figure.unit {
            Unit::TimeUs => figures::ms_as_shown(value),
            _ => figures::significant(value, 3),
        }
    }

    pub fn unit(&self) -> &'static str {
        match self.figure.unit {
            Unit::TimeUs => "ms",
            _ => "tx/s",
        }
    }
}

use Family::{Exploratory, Primary};

/// Latencies are response times where a rate was set, else service times.
pub const METRICS: [Metric; 6] = [
    metric("goodput", Unit::PerSecond, Primary, |trial| {
        trial.goodput_per_s
    }),
    metric("p50", Unit::TimeUs, Primary, |t| time(t, |l| l.p50_us)),
    metric("p90", Unit::TimeUs, Exploratory, |t| time(t, |l| l.p90_us)),
    metric("p95", Unit::TimeUs, Exploratory, |t| time(t, |l| l.p95_us)),
    metric("p99", Unit::TimeUs, Primary, |t| time(t, |l| l.p99_us)),
    metric("p99.9", Unit::TimeUs, Exploratory, |t| {
        time(t, |l| l.p99_9_us)
    }),
];

fn time(trial: &TrialRow, of: fn(&pgdyno_model::notebook::Latency) -> Option<u64>) -> Option<f64> {
    let latency = match &trial.spec.rate {
        Some(_) => &trial.response,
        None => &trial.service,
    };
    of(latency).map(|us| us as f64)
}

/// The repeats of one workload at one point, on both sides.
pub struct Pair<'a> {
    /// What was measured, for people.
    pub title: String,
    /// In the order in which they were run.
    pub a: Vec<&'a TrialRow>,
    /// In the order in which they were run.
    pub b: Vec<&'a TrialRow>,
    /// How that order was drawn, where it was.
    pub drawn: Option<Drawn>,
}

/// A figure with what came of comparing it, or why it was not.
pub type Compared = (&'static Metric, Result<Comparison, String>);

/// Each figure of each pair. All of them are judged together: the headline's figures of all points
/// are one family.
///
/// # Errors
/// Repeats that are to be paired make no pairs.
pub fn compared(
    pairs: &[Pair<'_>],
    options: &CompareOptions,
) -> Result<Vec<Vec<Compared>>, Failure> {
    let starts: Vec<Option<Starts>> = pairs.iter().map(Pair::starts).collect();
    let mut samples = Vec::new();
    for pair in pairs {
        samples.push(METRICS.iter().map(|metric| pair.samples(metric)));
    }
    let samples: Vec<Vec<Result<(Sample, Sample), String>>> =
        samples.into_iter().map(Iterator::collect).collect();
    let mut rows = Vec::new();
    for ((of_pair, starts), pair) in samples.iter().zip(&starts).zip(pairs) {
        for (metric, sample) in METRICS.iter().zip(of_pair) {
            rows.extend(sample.as_ref().ok().map(|(a, b)| Row {
                a,
                b,
                starts: starts.as_ref(),
                drawn: pair.drawn.as_ref(),
                family: metric.family,
            }));
        }
    }
    let found = compare_all(&rows, options);
    let found = found.map_err(|error| Failure::with(Exit::Usage, error.to_string()))?;
    let mut found = found.into_iter();
    let mut all = Vec::new();
    for of_pair in samples {
        let figures = METRICS.iter().zip(of_pair).map(|(metric, sample)| {
            let compared = sample.and_then(|_| found.next().ok_or_else(String::new));
            (metric, compared)
        });
        all.push(figures.collect());
    }
    Ok(all)
}

impl Pair<'_> {
    /// Finds out how their order was drawn, if they are of one experiment.
    ///
    /// # Errors
    /// The notebook cannot be read.
    pub fn look_up_order(&mut self, notebook: &dyn Notebook) -> Result<(), Failure> {
        let mut all = self.a.iter().chain(&self.b);
        let Some(first) = all.next() else {
            return Ok(());
        };
        let (Some(number), Some(name)) = (first.experiment, &first.experiment_name) else {
            return Ok(());
        };
        if all.all(|trial| trial.experiment == Some(number)) {
            let rows = notebook.experiments_named(name)?.into_iter();
            let row = { rows }.find(|row| row.number == number);
            let planned = row.map(|row| Planned::of(&row));
            self.drawn = planned.and_then(|planned| planned.drawn(&self.a, &self.b));
        }
        Ok(())
    }

    /// When the repeats began; `None` where one does not say it.
    pub(crate) fn starts(&self) -> Option<Starts> {
        let first = self
            .a
            .iter()
            .chain(&self.b)
            .find_map(|trial| began(trial))?;
        let side = |trials: &[&TrialRow]| -> Option<Vec<f64>> {
            let since = |trial: &&TrialRow| {
                let began = began(trial)?;
                Some(match began.duration_since(first) {
                    Ok(later) => later.as_secs_f64(),
                    Err(earlier) => -earlier.duration().as_secs_f64(),
                })
            };
            trials.iter().map(since).collect()
        };
        Some(Starts {
            a: side(&self.a)?,
            b: side(&self.b)?,
        })
    }

    /// Both sides' figures.
    ///
    /// # Errors
    /// Why there are none.
    pub(crate) fn samples(&self, metric: &Metric) -> Result<(Sample, Sample), String> {
        let side = |trials: &[&TrialRow]| {
            let values: Vec<f64> = trials.iter().filter_map(|trial| metric.of(trial)).collect();
            if values.len() < trials.len() {
                let lacking = trials.len() - values.len();
                let trials = pgdyno_spec::text::plural(lacking as u64, "trial");
                return Err(format!("too few transactions for it in {trials}"));
            }
            Sample::new(&values).map_err(|error| error.to_string())
        };
        Ok((side(&self.a)?, side(&self.b)?))
    }
}

fn began(trial: &TrialRow) -> Option<std::time::SystemTime> {
    stamp::read(&trial.started)
}

/// What is compared, beside the figures.
#[derive(Debug, Clone, Default)]
pub struct Around {
    /// Points that one side lacks.
    pub lacking: Vec<Lacking>,
    pub notes: Vec<NoteOfTrials>,
    /// What differs between the first trials of both sides.
    pub differences: Vec<Differing>,
    /// Values that differ and only name the server.
    pub left_out: usize,
    /// How sure the percentiles are, by the pair's place.
    pub within: Vec<Within>,
}

/// The intervals of the percentiles of both sides of a pair, all transactions of a side together.
#[derive(Debug, Clone, Default)]
pub struct Within {
    a: Vec<Interval>,
    b: Vec<Interval>,
}

/// Of more repeats a side nothing is read second by second: it would take minutes, and the median over them has an
/// interval of its own.
pub(crate) const REPEATS_READ_MAX: usize = 200;

impl Within {
    /// Of each pair, with the notebooks of both sides.
    ///
    /// # Errors
    /// A notebook cannot be read.
    pub fn of(pairs: &[Pair<'_>], notebooks: [&dyn Notebook; 2]) -> Result<Vec<Self>, Failure> {
        let side = |trials: &[&TrialRow], notebook: &dyn Notebook| {
            if trials.len() > REPEATS_READ_MAX {
                return Ok(Vec::new());
            }
            let kind = if trials.iter().all(|trial| trial.spec.rate.is_some()) {
                Kind::Response
            } else {
                Kind::Service
            };
            let mut all = Latencies::default();
            for trial in trials {
                all.merge(&notebook.latencies(trial.number, None, kind)?);
            }
            points::intervals(notebook, trials.iter().copied(), &all, kind)
        };
        let of = |pair: &Pair<'_>| {
            Ok(Self {
                a: side(&pair.a, notebooks[0])?,
                b: side(&pair.b, notebooks[1])?,
            })
        };
        pairs.iter().map(of).collect()
    }

    /// A's and B's of a figure, where it is a percentile that they have.
    pub fn figure(&self, metric: &Metric) -> [Option<Interval>; 2] {
        [&self.a, &self.b].map(|side| {
            let percent = metric.percent()?;
            side.iter().find(|it| it.percentile == percent).copied()
        })
    }
}

/// The document of a comparison: each point with what came of its figures, and what is around them.
pub fn document(
    compared: &[(&Pair<'_>, Vec<Compared>)],
    around: &Around,
) -> document::comparison::Comparison {
    let numbers = |trials: &[&TrialRow]| trials.iter().map(|trial| trial.number).collect();
    let figure = |(metric, result): &Compared, within: &Within| {
        let figure = match result {
            Ok(comparison) => {
                let [a_within, b_within] = within.figure(metric);
                ComparedFigure::Compared(Box::new(document::comparison::Compared {
                    a_within,
                    b_within,
                    ..comparison.into()
                }))
            }
            Err(why) => ComparedFigure::Not {
                not_compared: why.clone(),
            },
        };
        (metric.figure.name.to_owned(), figure)
    };
    let points = compared.iter().enumerate().map(|(at, (pair, figures))| {
        let within = around.within.get(at).cloned().unwrap_or_default();
        let (says, answer) = answer::of(pair, figures, around);
        ComparedPoint {
            point: pair.title.clone(),
            says,
            answer,
            a: numbers(&pair.a),
            b: numbers(&pair.b),
            figures: figures.iter().map(|of| figure(of, &within)).collect(),
        }
    });
    let all: Vec<(&Pair<'_>, &[Compared])> = compared
        .iter()
        .map(|(pair, figures)| (*pair, figures.as_slice()))
        .collect();
    document::comparison::Comparison {
        answer: answer::of_all(&all, around).1,
        points: points.collect(),
        lacking: around.lacking.clone(),
        notes: around.notes.clone(),
        differences: around.differences.clone(),
        left_out: around.left_out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::document::comparison::HEADLINE;

    #[test]
    fn the_headlines_figures_are_the_primary_family() {
        let primary = METRICS.iter().filter(|metric| metric.family == Primary);
        let names: Vec<&str> = primary.map(|metric| metric.figure.name).collect();
        assert_eq!(names, HEADLINE);
    }
}
