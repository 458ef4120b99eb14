//! What could not be seen, why, and what would change that.

/// Something that an instrument does not see. Not a failure: the trial goes on without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Why, in a clause without a full stop and without secrets: `pg_stat_statements is not
    /// loaded`.
    pub reason: String,
    /// The one command that would close it, where there is one: `GRANT pg_monitor TO bench`.
    pub remedy: Option<String>,
}

impl Gap {
    /// For this reason; nothing is known that would close it.
    pub fn because(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            remedy: None,
        }
    }

    /// What would close it: one command, or one change of a setting.
    pub fn remedy(self, command: impl Into<String>) -> Self {
        Self {
            remedy: Some(command.into()),
            ..self
        }
    }
}
