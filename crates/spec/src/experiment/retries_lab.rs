//! The experiment of `pgdyno lab retries`: to run, or to print and change.
//!
//! Not for: carrying it out (`run/experiment/conduct.rs`), what came of it (`report::retries_lab`).

use std::time::Duration;

use super::{Commented, Comments, Experiment, Kind, scalar, seconds, values};

/// What the file says at its top.
const HEADING: &str = "\
One transaction in the forms in which people rewrite it, tried again when it fails, side by side.
Forms of one message or one statement (batch, cte, pipeline, procedure) have no place for a savepoint.";

/// The forms of the transaction, as mixes of the packs that have them.
pub const FORMS: [&str; 6] = [
    "statements",
    "batch",
    "cte",
    "pipeline",
    "for-update",
    "procedure",
];

/// How a form is written, in short (docs/retries.md); empty: it is none of these.
pub fn written(form: &str) -> &'static str {
    match form {
        "statements" => "one by one, a round trip each",
        "batch" => "all statements in one string",
        "cte" => "one statement, WITH … UPDATE",
        "pipeline" => "sent one after another, one round trip",
        "for-update" => "SELECT … FOR UPDATE first",
        "procedure" => "a procedure that retries on the server",
        _ => "",
    }
}

/// The form that the others are compared with.
pub const PLAIN: &str = "statements";

/// The packs that have these mixes.
pub const WORKLOADS: [&str; 2] = ["tpcb", "simple-update"];

/// The isolation levels that `--full` compares.
pub const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

/// What is to be compared.
#[derive(Debug, Clone)]
pub struct Lab {
    pub workload: String,
    pub forms: Vec<String>,
    pub clients: Vec<u32>,
    /// Isolation levels; empty: the server's.
    pub isolation: Vec<String>,
    pub length: Length,
    pub repeats: u32,
    /// Where random numbers come from.
    pub seed: Option<i64>,
    /// The workload's parameters, `NAME=VALUE` each.
    pub params: Vec<(String, String)>,
    /// Whether policies and foreign keys are compared too.
    pub full: bool,
}

#[derive(Debug, Clone, Copy)]
pub enum Length {
    Time(Duration),
    /// When each client has ended so many.
    Transactions(u64),
}

/// Forms that are one message or one statement.
const WHOLE: [&str; 4] = ["batch", "cte", "pipeline", "procedure"];

impl Lab {
    pub fn experiment(&self) -> Commented {
        let mut experiment = Experiment::named("lab-retries")
            .kind(Kind::Retries)
            .fix("workload", [self.workload.as_str()])
            .repeats(self.repeats)
            .seed(self.seed)
            .settle(Duration::ZERO);
        experiment = match self.length {
            Length::Time(time) => experiment.fix("duration", seconds(time)),
            Length::Transactions(count) => experiment.fix("transactions", count),
        };
        for (name, value) in &self.params {
            experiment = experiment.fix(format!("params.{name}"), scalar(value));
        }
        let has_keys = self.params.iter().any(|(name, _)| name == "foreign_keys");
        if self.full && !has_keys {
            experiment = experiment.axis("params.foreign_keys", [false, true]);
        }
        if !self.isolation.is_empty() {
            experiment = experiment.axis("isolation", self.isolation.clone());
        }
        experiment = experiment
            .axis("clients", self.clients.clone())
            .axis("mix", self.forms.clone());
        Commented {
            experiment: if self.full {
                self.with_policies(experiment)
            } else {
                experiment.fix("retry", "restart")
            },
            comments: Comments::heading(HEADING),
        }
    }

    /// The policies for retries compared, each form with those that it can have.
    fn with_policies(&self, experiment: Experiment) -> Experiment {
        let experiment = experiment.zip(
            ["retry", "backoff"],
            [
                ["none", "none"],
                ["restart", "none"],
                ["restart", "exponential=1ms,1s,full"],
                ["savepoint", "none"],
            ],
        );
        let is_here = |form: &&str| self.forms.iter().any(|here| here == form);
        let whole = values(WHOLE.into_iter().filter(is_here));
        if whole.is_empty() {
            return experiment;
        }
        // There is no place for a savepoint in them.
        experiment.exclude([("retry", values(["savepoint"])), ("mix", whole)])
    }
}
