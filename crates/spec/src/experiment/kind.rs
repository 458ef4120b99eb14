//! What kind of experiment it is: a sweep, or that of a laboratory, with an answer of its own.

use serde::{Deserialize, Serialize};

/// As `kind` in files and in the notebook.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "typescript",
    derive(ts_rs::TS),
    ts(rename = "ExperimentKind")
)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A matrix, shown as curves and rows.
    #[default]
    Sweep,
    Retries,
    Disturb,
    Failover,
    Isolation,
    Migrate,
    Slob,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Kind::Sweep => "sweep",
            Kind::Retries => "retries",
            Kind::Disturb => "disturb",
            Kind::Failover => "failover",
            Kind::Isolation => "isolation",
            Kind::Migrate => "migrate",
            Kind::Slob => "slob",
        }
    }

    /// That of an experiment of a notebook in which kinds were not kept: by the name that its command gave
    /// it. One that its user has named is a sweep.
    pub fn by_name(name: &str) -> Kind {
        match name {
            "lab-retries" => Kind::Retries,
            "lab-disturb" => Kind::Disturb,
            "lab-failover" => Kind::Failover,
            "lab-isolation" => Kind::Isolation,
            "slob-size" | "slob-sessions" | "slob-reads" => Kind::Slob,
            _ => Kind::Sweep,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_kept_as_its_word() {
        for kind in [
            Kind::Sweep,
            Kind::Retries,
            Kind::Disturb,
            Kind::Failover,
            Kind::Isolation,
            Kind::Migrate,
            Kind::Slob,
        ] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.word());
        }
    }
}
