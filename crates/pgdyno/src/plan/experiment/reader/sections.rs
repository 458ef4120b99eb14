//! `[hygiene]` and `[capacity]`: sections that are no parameters of trials.

use std::ops::Range;
use std::time::Duration;

use toml::de::DeTable;

use super::{Kind, Reader};
use pgdyno_model::Failure;
use pgdyno_model::experiment::{Capacity, Hygiene, Vacuum};

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
            let time = |kind: Kind| match kind.accept(value.get_ref()) {
                Ok(seconds) => Ok(Duration::from_secs_f64(seconds.as_f64().unwrap_or(0.0))),
                Err(why) => Err(wrong(format!("{}: {why}", key.get_ref()))),
            };
            match key.get_ref().as_ref() {
                "truncate" => {
                    let names = value.get_ref().as_array().map(|names| {
                        let names = names.iter().map(|name| name.get_ref().as_str());
                        names.map(|n| n.map(str::to_owned)).collect()
                    });
                    let names: Option<Vec<String>> = names.flatten();
                    hygiene.truncate = names.ok_or_else(|| {
                        wrong("truncate: a list of table names is wanted".to_owned())
                    })?;
                }
                "vacuum" => {
                    let word = value.get_ref().as_str();
                    let mut known = Vacuum::WORDS.into_iter();
                    let vacuum = known.find(|(known, _)| word == Some(*known));
                    (_, hygiene.vacuum) = vacuum.ok_or_else(|| {
                        wrong(
                            "vacuum: one of \"needed\", \"always\", \"never\" is wanted".to_owned(),
                        )
                    })?;
                }
                "checkpoint" => {
                    hygiene.checkpoint = value
                        .get_ref()
                        .as_bool()
                        .ok_or_else(|| wrong("checkpoint: true or false is wanted".to_owned()))?;
                }
                "checkpoint_timeout" => hygiene.checkpoint_timeout = time(Kind::PositiveTime)?,
                "settle" => hygiene.settle = time(Kind::Time)?,
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
                    let seconds = Kind::PositiveTime.accept(value.get_ref());
                    let seconds = seconds
                        .map_err(|why| self.source.wrong(value.span(), &format!("slo: {why}")))?;
                    slo = seconds.as_f64().map(Duration::from_secs_f64);
                }
                other => {
                    let name = format!("capacity.{other}");
                    return Err(self.unknown(key.span(), &name, other, &["slo"]));
                }
            }
        }
        let slo = slo.ok_or_else(|| {
            let failure = self.source.wrong(at, "capacity: there is no slo in it");
            failure.hint("the limit that p99 is to keep: slo = \"20ms\"")
        })?;
        Ok(Capacity { slo })
    }
}
