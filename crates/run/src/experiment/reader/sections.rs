//! `[hygiene]` and `[capacity]`: sections that are no parameters of trials.

use std::ops::Range;

use toml::de::DeTable;

use super::super::toml_text::time;
use super::Reader;
use pgdyno_model::Failure;
use pgdyno_model::experiment::{Capacity, Hygiene, Vacuum};
use pgdyno_model::spec::duration;

impl Reader<'_> {
    pub(super) fn hygiene(&self, table: &DeTable<'_>) -> Result<Hygiene, Failure> {
        const KEYS: [&str; 5] = [
            "truncate",
            "vacuum",
            "checkpoint",
            "checkpoint_timeout",
            "settle",
        ];
        let mut hygiene = Hygiene::default();
        for (key, value) in table {
            let at = value.span();
            let wrong = |what: String| self.source.wrong(at.clone(), &what);
            let time = |parse| {
                let time = time(value.get_ref(), parse);
                time.map_err(|why| wrong(format!("{}: {why}", key.get_ref())))
            };
            match key.get_ref().as_ref() {
                "truncate" => {
                    let names = value.get_ref().as_array().map(|names| {
                        let names = names.iter().map(|name| name.get_ref().as_str());
                        names.map(|n| n.map(str::to_owned)).collect()
                    });
                    let names: Option<Vec<String>> = names.flatten();
                    hygiene.truncate = names.ok_or_else(|| {
                        wrong("truncate: expected a list of table names".to_owned())
                    })?;
                }
                "vacuum" => {
                    let word = value.get_ref().as_str();
                    let mut known = Vacuum::WORDS.into_iter();
                    let vacuum = known.find(|(known, _)| word == Some(*known));
                    (_, hygiene.vacuum) = vacuum.ok_or_else(|| {
                        wrong("vacuum: expected \"needed\", \"always\" or \"never\"".to_owned())
                    })?;
                }
                "checkpoint" => {
                    hygiene.checkpoint = value
                        .get_ref()
                        .as_bool()
                        .ok_or_else(|| wrong("checkpoint: expected true or false".to_owned()))?;
                }
                "checkpoint_timeout" => {
                    hygiene.checkpoint_timeout = time(duration::parse_positive)?
                }
                "settle" => hygiene.settle = time(duration::parse)?,
                other => {
                    return Err(self.unknown(
                        key.span(),
                        &format!("hygiene.{other}"),
                        other,
                        &KEYS,
                    ));
                }
            }
        }
        Ok(hygiene)
    }

    pub(super) fn capacity(
        &self,
        at: Range<usize>,
        table: &DeTable<'_>,
    ) -> Result<Capacity, Failure> {
        let mut slo = None;
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "slo" => {
                    let time = time(value.get_ref(), duration::parse_positive);
                    slo =
                        Some(time.map_err(|why| {
                            self.source.wrong(value.span(), &format!("slo: {why}"))
                        })?);
                }
                other => {
                    let name = format!("capacity.{other}");
                    return Err(self.unknown(key.span(), &name, other, &["slo"]));
                }
            }
        }
        let slo = slo.ok_or_else(|| {
            let failure = self.source.wrong(at, "capacity: slo is missing");
            failure.hint("the limit that p99 is to keep: slo = \"20ms\"")
        })?;
        Ok(Capacity { slo })
    }
}
