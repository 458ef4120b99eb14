//! Servers of pgdyno's own: how the user wants them.

use std::path::PathBuf;

use pgdyno_platform::interrupt::Interrupts;
use pgdyno_server::{Listen, Setting, Step};

use super::trouble;
use pgdyno_model::Failure;

/// What the user says about a server of pgdyno's own.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where the server's programs are.
    pub bindir: Option<PathBuf>,
    /// `name=value` each.
    pub settings: Vec<String>,
    /// Who runs it when pgdyno is root.
    pub user: Option<String>,
    /// Whether it also listens on TCP.
    pub listen: Listen,
}

impl Options {
    /// Whether the user said nothing about it.
    pub fn is_empty(&self) -> bool {
        self.bindir.is_none() && self.settings.is_empty() && self.user.is_none()
    }

    /// The same, checked, as the server's layer takes it.
    pub fn for_server(&self) -> Result<pgdyno_server::Options, Failure> {
        let settings = self
            .settings
            .iter()
            .map(|text| text.parse::<Setting>().map_err(trouble::own_server))
            .collect::<Result<_, _>>()?;
        Ok(pgdyno_server::Options {
            bindir: self.bindir.clone(),
            user: self.user.clone(),
            settings,
            listen: self.listen,
            interrupted: || Interrupts::install().is_ok_and(|i| i.count() > 0),
            ..pgdyno_server::Options::default()
        })
    }
}

/// Tells a step on standard error.
pub fn tell(step: &Step, quiet: bool) {
    if !quiet {
        crate::say::remark!("pgdyno: {step}");
    }
}
