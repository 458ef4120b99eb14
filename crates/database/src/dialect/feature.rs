//! What some workloads need and not every product has, or not in every version.

use std::fmt;

use serde::Deserialize;

use super::{Product, Version};

/// Something that a script needs of the server; by the word in the second column a pack names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// `for-update`: SELECT … FOR UPDATE locks rows.
    ForUpdate,
    /// `skip-locked`: SELECT … FOR UPDATE SKIP LOCKED steps over rows that others have locked.
    SkipLocked,
    UpdateFrom,
    /// `writing-with`: INSERT, UPDATE and DELETE within WITH.
    WritingWith,
    /// `procedures`: procedures in PL/pgSQL that catch serialization failures and end transactions.
    Procedures,
}

impl Feature {
    pub const ALL: [Self; 5] = [
        Self::ForUpdate,
        Self::SkipLocked,
        Self::UpdateFrom,
        Self::WritingWith,
        Self::Procedures,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::ForUpdate => "for-update",
            Self::SkipLocked => "skip-locked",
            Self::UpdateFrom => "update-from",
            Self::WritingWith => "writing-with",
            Self::Procedures => "procedures",
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Feature::ForUpdate => "SELECT … FOR UPDATE",
            Feature::SkipLocked => "SELECT … FOR UPDATE SKIP LOCKED",
            Feature::UpdateFrom => "UPDATE … FROM",
            Feature::WritingWith => "WITH that writes",
            Feature::Procedures => "procedures that retry",
        })
    }
}

/// A feature that a product does not have.
#[derive(Debug, PartialEq, Eq)]
pub struct Lack {
    pub feature: Feature,
    /// The first version that has it; `None` when none has.
    pub until: Option<Version>,
    /// What is known of it, for people.
    pub why: &'static str,
}

impl Product {
    /// All that this server does not have, as packs name it.
    pub fn lacking(&self) -> Vec<String> {
        let all = Feature::ALL.into_iter();
        let lacking = all.filter(|feature| self.lacks(*feature).is_some());
        lacking.map(|feature| feature.name().to_owned()).collect()
    }

    /// Why this server does not have the feature; `None` when it has, as far as is known.
    pub fn lacks(&self, feature: Feature) -> Option<String> {
        let is_it = |lack: &&Lack| {
            lack.feature == feature && lack.until.is_none_or(|until| !self.is_since(until))
        };
        let lack = self.dialect.lacks.iter().find(is_it)?;
        // Without numbers in what it says about itself.
        let version = if self.version == Version::default() {
            String::new()
        } else {
            format!(" {}", self.version)
        };
        Some(format!(
            "{}{version} has no {feature}: {}",
            self.dialect.title, lack.why
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_features_of_a_version_have_a_reason() {
        let lacks = |text: &str, feature| Product::recognise(text).lacks(feature);
        assert_eq!(lacks("PostgreSQL 18.1 on x86", Feature::Procedures), None);
        assert_eq!(
            lacks("PostgreSQL 10.23 on x86", Feature::Procedures).unwrap(),
            "PostgreSQL 10.23 has no procedures that retry: procedures came with PostgreSQL 11"
        );
        let crdb = "CockroachDB CCL v19.1.0 (x86_64)";
        assert!(lacks(crdb, Feature::ForUpdate).unwrap().contains("20.1"));
        assert_eq!(lacks("CockroachDB CCL v20.1.0", Feature::ForUpdate), None);
        assert!(lacks(crdb, Feature::UpdateFrom).unwrap().contains("19.2"));
        assert_eq!(lacks("CockroachDB CCL v19.2.0", Feature::UpdateFrom), None);
        let lack = lacks("CockroachDB CCL v21.2.0", Feature::SkipLocked);
        assert!(lack.unwrap().contains("22.2"));
        assert_eq!(lacks("CockroachDB CCL v22.2.0", Feature::SkipLocked), None);
        for (version, why) in [
            ("v19.1.0", "came with"),
            ("v26.2.0", "EXCEPTION catches no"),
        ] {
            let text = format!("CockroachDB CCL {version}");
            let lack = lacks(&text, Feature::Procedures).unwrap();
            assert!(lack.contains(why), "{lack}");
        }
        let yugabyte = "PostgreSQL 11.2-YB-2.21.1.0-b0 on x86_64";
        assert_eq!(lacks(yugabyte, Feature::Procedures), None);
    }
}
