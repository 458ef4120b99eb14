//! The experiment of `pgdyno lab retries`, as TOML: to run, or to print and change.
//!
//! Not for: carrying it out (`conduct.rs`), what came of it (`report::retries_lab`).

use std::time::Duration;

use super::toml_text::quoted;

/// The forms of the transaction, as mixes of the packs that have them.
pub const FORMS: [&str; 6] = [
    "statements",
    "batch",
    "cte",
    "pipeline",
    "for-update",
    "procedure",
];

/// The form that the others are compared with.
pub const PLAIN: &str = "statements";

/// The packs that have these mixes.
pub const WORKLOADS: [&str; 2] = ["tpcb", "simple-update"];

/// The isolation levels that `--full` compares.
pub const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

/// What is to be compared.
#[derive(Debug, Clone)]
pub struct Lab {
    /// One of [`WORKLOADS`].
    pub workload: String,
    /// Some of [`FORMS`].
    pub forms: Vec<String>,
    /// Numbers of clients.
    pub clients: Vec<u32>,
    /// Isolation levels; empty: the server's.
    pub isolation: Vec<String>,
    /// Length of a trial.
    pub length: Length,
    /// Trials of each point.
    pub repeats: u32,
    /// Where random numbers come from.
    pub seed: Option<i64>,
    /// The workload's parameters, `NAME=VALUE` each.
    pub params: Vec<(String, String)>,
    /// Whether policies and foreign keys are compared too.
    pub full: bool,
}

/// When a trial ends.
#[derive(Debug, Clone, Copy)]
pub enum Length {
    /// After so much time.
    Time(Duration),
    /// When each client has ended so many.
    Transactions(u64),
}

impl Lab {
    /// The experiment.
    pub fn toml(&self) -> String {
        let list = |items: &[String]| {
            let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
            format!("[{}]", items.join(", "))
        };
        let mut toml = format!(
            "\
# One transaction in the forms in which people rewrite it, tried again when it fails, side by side.
name = \"lab-retries\"
workload = {}
repeats = {}
",
            quoted(&self.workload),
            self.repeats
        );
        toml += &match self.length {
            Length::Time(time) => format!("duration = \"{}ms\"\n", time.as_millis()),
            Length::Transactions(count) => format!("transactions = {count}\n"),
        };
        if let Some(seed) = self.seed {
            toml += &format!("seed = {seed}\n");
        }
        if !self.full {
            toml += "retry = \"restart\"\n";
        }
        if !self.params.is_empty() {
            toml += "\n[params]\n";
            for (name, value) in &self.params {
                toml += &format!("{name} = {}\n", scalar(value));
            }
        }
        toml += "\n[matrix]\n";
        let has_keys = self.params.iter().any(|(name, _)| name == "foreign_keys");
        if self.full && !has_keys {
            toml += "params.foreign_keys = [false, true]\n";
        }
        if !self.isolation.is_empty() {
            toml += &format!("isolation = {}\n", list(&self.isolation));
        }
        toml += &format!(
            "clients = {:?}\nmix = {}\n",
            self.clients,
            list(&self.forms)
        );
        if self.full {
            toml += "\
[[zip]]
retry = [\"none\", \"restart\", \"restart\", \"savepoint\"]
backoff = [\"none\", \"none\", \"exponential=1ms,1s,full\", \"none\"]
";
            let whole = ["batch", "cte", "pipeline", "procedure"].map(str::to_owned);
            let whole: Vec<String> = whole
                .into_iter()
                .filter(|form| self.forms.contains(form))
                .collect();
            if !whole.is_empty() {
                toml += &format!(
                    "
# They are one message or one statement: there is no place for a savepoint in them.
[[exclude]]
retry = \"savepoint\"
mix = {}
",
                    list(&whole)
                );
            }
        }
        toml += "
[hygiene]
settle = 0
";
        toml
    }
}

/// A parameter's value as the command line has it.
fn scalar(text: &str) -> String {
    let is_number = text.parse::<i64>().is_ok() || matches!(text, "true" | "false");
    match is_number {
        true => text.to_owned(),
        false => quoted(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::experiment::plan::Plan;
    use crate::plan::experiment::reader;
    use crate::plan::experiment::toml_text::Source;
    use pgdyno_model::spec::TargetSpec;
    use std::path::Path;

    fn plan(lab: &Lab) -> Plan {
        let text = lab.toml();
        let source = Source {
            name: "lab",
            text: &text,
        };
        let e = reader::read(source, "", Path::new("")).unwrap_or_else(|e| panic!("{e}\n{text}"));
        Plan::new(e, &TargetSpec::default(), 1).unwrap_or_else(|e| panic!("{e}\n{text}"))
    }

    fn lab() -> Lab {
        Lab {
            workload: "tpcb".to_owned(),
            forms: FORMS.map(str::to_owned).to_vec(),
            clients: vec![1, 32],
            isolation: Vec::new(),
            length: Length::Time(Duration::from_secs(5)),
            repeats: 2,
            seed: None,
            params: Vec::new(),
            full: false,
        }
    }

    #[test]
    fn every_form_is_run_with_every_number_of_clients_in_turn() {
        let plan = plan(&lab());
        assert_eq!(plan.slots.len(), 6 * 2 * 2);
        let labels: Vec<_> = plan.slots.iter().map(|slot| plan.label(slot)).collect();
        assert_eq!(labels[0], "clients 1, mix statements, repeat 1");
        assert_eq!(labels[1], "clients 1, mix batch, repeat 1");
        assert_eq!(labels[12], "clients 1, mix statements, repeat 2");
    }

    #[test]
    fn all_of_it_has_levels_policies_and_foreign_keys_too() {
        for workload in WORKLOADS {
            let full = Lab {
                workload: workload.to_owned(),
                isolation: LEVELS.map(str::to_owned).to_vec(),
                seed: Some(-3),
                params: vec![("scale".to_owned(), "2".to_owned())],
                full: true,
                ..lab()
            };
            // Six forms with three policies, and two with savepoints as well.
            let each = 2 * 3 * 2 * 2;
            assert_eq!(plan(&full).slots.len(), (6 * 3 + 2) * each);
        }
        let one = Lab {
            forms: vec!["statements".to_owned()],
            full: true,
            length: Length::Transactions(3),
            params: vec![("foreign_keys".to_owned(), "true".to_owned())],
            ..lab()
        };
        assert_eq!(plan(&one).slots.len(), 4 * 2 * 2);
    }
}
