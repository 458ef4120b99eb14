//! What the scripts of a run need beside their tables: a query mode, features that not every
//! product has, procedures on the server.
//!
//! Not for: making procedures (`procedures.rs`), what a product lacks (`target::dialect`).

use std::collections::BTreeMap;

use pgdyno_spec::QueryMode;

use super::manifest::{Procedure, ScriptEntry, list};
use pgdyno_database::dialect::{Feature, Product};

/// What the scripts need; by default nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// For each script that can not be sent in every mode: its name and the modes, the one to be
    /// taken first.
    modes: Vec<(String, Vec<QueryMode>)>,
    /// Features that the product must have, each with a script that needs it.
    pub features: BTreeMap<Feature, String>,
    /// Procedures that must be there.
    pub procedures: Vec<Procedure>,
}

impl Needs {
    /// Adds what `script` needs; `procedures` are its pack's.
    pub fn add(&mut self, script: &ScriptEntry, procedures: &[Procedure]) {
        if !script.query_modes.is_empty() {
            let modes = script.query_modes.iter().map(|mode| (*mode).into());
            self.modes.push((script.name.clone(), modes.collect()));
        }
        let calls = (!script.calls.is_empty()).then_some(&Feature::Procedures);
        for feature in script.features.iter().chain(calls) {
            let name = || script.name.clone();
            self.features.entry(*feature).or_insert_with(name);
        }
        for procedure in procedures {
            if script.calls.contains(&procedure.name) && !self.procedures.contains(procedure) {
                self.procedures.push(procedure.clone());
            }
        }
    }

    /// Why this server cannot run the scripts; `None` when it can, as far as is known.
    pub fn refused_by(&self, product: &Product) -> Option<String> {
        self.features.iter().find_map(|(feature, script)| {
            let why = product.lacks(*feature)?;
            Some(format!("script {script} cannot be run here: {why}"))
        })
    }

    /// The mode to run in: the user's, else the first that all scripts can be sent in.
    ///
    /// # Errors
    /// A script cannot be sent in the user's mode, or no mode suits all scripts.
    pub fn query_mode(&self, chosen: Option<QueryMode>) -> Result<QueryMode, String> {
        if let Some(chosen) = chosen {
            let refusing = self
                .modes
                .iter()
                .find(|(_, modes)| !modes.contains(&chosen));
            return match refusing {
                None => Ok(chosen),
                Some((script, modes)) => Err(format!(
                    "script {script} cannot be sent in query mode {}; leave the query mode out, or \
                     choose {}",
                    chosen.name(),
                    words(modes)
                )),
            };
        }
        let Some((_, first)) = self.modes.first() else {
            return Ok(QueryMode::default());
        };
        let suits = |mode: &&QueryMode| self.modes.iter().all(|(_, modes)| modes.contains(mode));
        first.iter().find(suits).copied().ok_or_else(|| {
            let scripts = self.modes.iter();
            let scripts = scripts.map(|(script, modes)| format!("{script} ({})", words(modes)));
            let scripts: Vec<String> = scripts.collect();
            format!(
                "no query mode suits all scripts of this mix: {}",
                list(scripts.iter().map(String::as_str))
            )
        })
    }
}

fn words(modes: &[QueryMode]) -> String {
    let names: Vec<&str> = modes.iter().map(|mode| mode.name()).collect();
    names.join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shipped;

    fn needs(mixes: &[&str]) -> Needs {
        let pack = shipped::find("tpcb").unwrap();
        let mut needs = Needs::default();
        for mix in mixes {
            let script = pack.manifest.scripts.iter().find(|s| s.name == *mix);
            needs.add(script.unwrap(), &pack.manifest.procedures);
        }
        needs
    }

    #[test]
    fn a_mode_that_a_script_needs_is_taken_unless_the_user_chooses() {
        use QueryMode::{Extended, Prepared, Simple};
        let mode = |script, chosen| needs(&[script]).query_mode(chosen);
        assert_eq!(mode("tpcb", None), Ok(Simple));
        assert_eq!(mode("tpcb", Some(Prepared)), Ok(Prepared));
        assert_eq!(mode("pipeline", None), Ok(Extended));
        assert_eq!(mode("pipeline", Some(Prepared)), Ok(Prepared));
        assert_eq!(mode("batch", None), Ok(Simple));
        let e = mode("pipeline", Some(Simple)).unwrap_err();
        assert!(
            e.contains("pipeline cannot be sent in query mode simple")
                && e.contains("choose extended or prepared"),
            "{e}"
        );
        assert_eq!(needs(&["cte", "pipeline"]).query_mode(None), Ok(Extended));
        let e = needs(&["batch", "pipeline"]).query_mode(None).unwrap_err();
        assert!(
            e.contains("batch (simple), pipeline (extended or prepared)"),
            "{e}"
        );
    }

    #[test]
    fn what_a_script_calls_is_needed_once() {
        let needs = needs(&["procedure", "procedure", "for-update"]);
        assert_eq!(needs.procedures.len(), 1);
        assert_eq!(needs.procedures[0].name, "pgdyno_tpcb");
        let features: Vec<_> = needs.features.keys().copied().collect();
        assert_eq!(features, [Feature::ForUpdate, Feature::Procedures]);
        assert_eq!(
            needs.refused_by(&Product::recognise("PostgreSQL 18.1")),
            None
        );
        let old = Product::recognise("CockroachDB CCL v19.1.0");
        let why = needs.refused_by(&old).unwrap();
        assert!(
            why.starts_with("script for-update cannot be run here: CockroachDB 19.1 "),
            "{why}"
        );
    }
}
