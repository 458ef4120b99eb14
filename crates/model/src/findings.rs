//! What accompanies a trial finds things out: values by name, as JSON. The notebook keeps them as they are, so that a
//! new one needs no column.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Fact;
use crate::document::{
    Accounting, ClusterAfter, DataCheck, Disturbed, IsolationCheck, KeySkew, PackFigure,
    ServerCounters, Staleness, Truth, WarmupEnd,
};

/// A value that has a name.
pub trait Finding: Serialize + DeserializeOwned {
    /// Its name in the notebook and in `--json`.
    const NAME: &'static str;
}

/// The findings of a trial, by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Findings(BTreeMap<String, Value>);

impl Findings {
    /// `None` where there is none, or none that this version understands.
    pub fn get<F: Finding>(&self) -> Option<F> {
        F::deserialize(self.0.get(F::NAME)?).ok()
    }

    pub fn put<F: Finding>(&mut self, finding: &F) {
        self.insert(F::NAME.to_owned(), serde_json::json!(finding));
    }

    pub fn insert(&mut self, name: String, value: Value) {
        self.0.insert(name, value);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Those that have no field of their own in the document of a trial.
    pub fn others(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.iter().filter(|(name, _)| !WITH_FIELDS.contains(name))
    }

    /// Only those with these names stay.
    pub fn retain(&mut self, names: &[&str]) {
        self.0.retain(|name, _| names.contains(&name.as_str()));
    }

    /// Those of another that are not among them yet are added.
    pub fn extend(&mut self, others: Self) {
        for (name, value) in others.0 {
            self.0.entry(name).or_insert(value);
        }
    }
}

const WITH_FIELDS: [&str; 11] = [
    Accounting::NAME,
    <Vec<DataCheck>>::NAME,
    ClusterAfter::NAME,
    Disturbed::NAME,
    <Vec<PackFigure>>::NAME,
    <Fact<IsolationCheck>>::NAME,
    KeySkew::NAME,
    <Fact<ServerCounters>>::NAME,
    Staleness::NAME,
    <Fact<Truth>>::NAME,
    WarmupEnd::NAME,
];

/// What the storage layer did, where the workload is about that.
impl Finding for Accounting {
    const NAME: &'static str = "accounting";
}

/// What must hold of the data, and whether it did.
impl Finding for Vec<DataCheck> {
    const NAME: &'static str = "checks";
}

/// What the cluster was like after the trial, where there is more than one node.
impl Finding for ClusterAfter {
    const NAME: &'static str = "cluster_after";
}

/// What disturbed the trial, where something was to.
impl Finding for Disturbed {
    const NAME: &'static str = "disturbed";
}

/// Figures that the pack makes of the trial.
impl Finding for Vec<PackFigure> {
    const NAME: &'static str = "figures";
}

/// What the recorded history shows, or why that is not known.
impl Finding for Fact<IsolationCheck> {
    const NAME: &'static str = "isolation";
}

/// What the draws came to, where scripts say which row they are about.
impl Finding for KeySkew {
    const NAME: &'static str = "key_skew";
}

/// What the server counted of restarts itself.
impl Finding for Fact<ServerCounters> {
    const NAME: &'static str = "server_counters";
}

/// How stale reads were at endpoints with a role.
impl Finding for Staleness {
    const NAME: &'static str = "staleness";
}

/// Whether the database has what it acknowledged, where transactions left receipts.
impl Finding for Fact<Truth> {
    const NAME: &'static str = "truth";
}

/// How the warm-up ended, where that was to be found.
impl Finding for WarmupEnd {
    const NAME: &'static str = "warmup_ended";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_read_by_its_type_and_one_of_another_version_is_none() {
        let mut findings = Findings::default();
        assert_eq!(findings.get::<Fact<Truth>>(), None);
        let truth = Fact::Known(Truth {
            acknowledged: u64::MAX,
            ..Truth::default()
        });
        findings.put(&truth);
        assert_eq!(findings.get(), Some(truth));
        findings.insert("truth".to_owned(), serde_json::json!({ "lost": "many" }));
        assert_eq!(findings.get::<Fact<Truth>>(), None);
    }

    #[test]
    fn of_two_findings_of_a_name_the_first_stays() {
        let truth = |why: &str| Fact::<Truth>::Unknown(why.to_owned());
        let (mut first, mut second) = (Findings::default(), Findings::default());
        first.put(&Staleness::default());
        first.put(&truth("first"));
        second.put(&truth("second"));
        second.put(&Vec::<PackFigure>::new());
        first.retain(&["truth", "checks"]);
        first.extend(second);
        let names: Vec<&str> = first.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["figures", "truth"]);
        assert_eq!(first.get(), Some(truth("first")));
    }
}
