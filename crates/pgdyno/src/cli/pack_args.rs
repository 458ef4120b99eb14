//! The options that say how a workload is to be, the same on every native verb.

use std::collections::BTreeSet;

use clap::Args;

use pgdyno_spec::{Exit, Failure};

/// What the user chooses about a workload.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Workload")]
pub struct PackArgs {
    /// Set a workload parameter (repeatable), such as scale=100; `pgdyno pack list NAME` shows them.
    /// Others are read from the loaded tables or have their defaults
    #[arg(long, value_name = "NAME=VALUE")]
    pub param: Vec<String>,
}

impl PackArgs {
    /// The parameters with their values as they were typed.
    ///
    /// # Errors
    /// One that is not NAME=VALUE, or is given twice.
    pub fn pairs(&self) -> Result<Vec<(String, String)>, Failure> {
        let mut seen = BTreeSet::new();
        let pair = |text: &String| {
            let wrong = |what| Failure::with(Exit::Usage, format!("--param {text}: {what}"));
            match text.split_once('=') {
                Some((name, value)) if pgdyno_script::is_valid_name(name) => {
                    if seen.insert(name.to_owned()) {
                        Ok((name.to_owned(), value.to_owned()))
                    } else {
                        Err(wrong("it is given twice"))
                    }
                }
                _ => Err(wrong("it must be NAME=VALUE")),
            }
        };
        self.param.iter().map(pair).collect()
    }
}
