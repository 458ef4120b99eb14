//! Accounts for what the storage layer does in a trial: reads at the barrier and at the end, counts
//! the sessions' work units, has some explained, and says where the three do not agree.
//!
//! Not for: reading (`accounting/`), words (`crates/report`).

use std::collections::BTreeMap;

use pgdyno_drive::Drive;
use pgdyno_measurement::Recording;

use crate::companion::{Begun, Companion, Ending, Scene};
use crate::prepare::Prepared;
use crate::validity;
use pgdyno_model::document::{Expected, NodeFigures, UnitCount};
use pgdyno_model::observed::Observed;
use pgdyno_model::{Fact, Observer, Outcome};
use pgdyno_observe::accounting::{Reader, expected};
use pgdyno_workload::pack::Pack;
use pgdyno_workload::statements;

/// Whether the workload is about the storage layer: it says how its work units are explained.
pub fn is_due(prepared: &Prepared) -> bool {
    let pack = prepared.workload.pack.as_ref();
    pack.is_some_and(Pack::is_accounted)
}

struct Account<'a> {
    reader: Reader,
    prepared: &'a Prepared,
}

/// Where it is due.
pub fn begin<'a>(scene: &mut Scene<'a>) -> Begun<'a> {
    let prepared = scene.prepared;
    if !is_due(prepared) || scene.control.is_stopping() {
        return Ok(None);
    }
    let reader = Reader::new(&prepared.target, &prepared.product, &prepared.facts);
    Ok(Some(Box::new(Account { reader, prepared })))
}

impl Observer<Outcome> for Account<'_> {
    /// Reads when all sessions stand.
    fn ready(&mut self) {
        self.reader.at_barrier();
    }
}

impl Companion for Account<'_> {
    /// A session hands its statistics over at its end, and the server tells what it did then: the warm-up has
    /// sessions of its own, and the counters that are read after the trial have all of it in them.
    fn set_up(&self, drive: &mut Drive) {
        drive.warmup_apart = true;
        let product = &self.prepared.product;
        let flush = product.dialect.flush_statistics;
        let flush = flush.filter(|(_, since)| product.known && product.is_since(*since));
        drive.last_statement = flush.map(|(statement, _)| statement.to_owned());
    }

    /// Nothing comes between its reading and the clients.
    fn sees_last(&self) -> bool {
        true
    }

    fn end(mut self: Box<Self>, end: &mut Ending<'_>) {
        let (prepared, reader) = (self.prepared, &mut self.reader);
        let measured_us = end.recording.measured.elapsed_us;
        let sessions = u64::from(end.scene.spec.clients());
        let Some(mut accounting) = reader.after(measured_us, sessions) else {
            return;
        };
        accounting.units = units(end.recording);
        accounting.expected = if end.scene.control.is_stopping() {
            Fact::Unknown("the run was interrupted".to_owned())
        } else {
            explained(reader, prepared, &accounting.units)
        };
        let names = prepared.product.dialect.storage.nodes;
        accounting.nodes = nodes(end.observed, names, end.recording);
        end.notes.extend(validity::accounting(&accounting));
        end.findings.put(&accounting);
    }
}

/// The measured work units, by kind; kinds without any are left out.
fn units(recording: &Recording) -> Vec<UnitCount> {
    let all = recording.measured.all();
    let of = recording.operations.iter().zip(&all.units);
    let units = of.map(|(kind, units)| {
        let count = units.count();
        UnitCount {
            kind: kind.clone(),
            count,
            rows_each: units.rows.checked_div(count).unwrap_or(0),
        }
    });
    units.filter(|units| units.count > 0).collect()
}

/// The means of these series over the measured time, by node. Rates tell of the time before they
/// were read, so that the first second's are left out.
fn nodes(observed: &Observed, names: &[&str], recording: &Recording) -> Vec<NodeFigures> {
    let measured = recording.seconds.iter().filter(|second| !second.warmup);
    let begun_us = measured.clone().map(|second| second.start_us).min();
    let from_us = begun_us.map_or(0, |us| us as i64 + 1_000_000);
    let until_us = measured
        .map(|second| second.start_us + second.length_us)
        .max();
    let until_us = until_us.map_or(0, |us| us as i64 + 500_000);
    let of_name = |name: &&str| {
        let courses = observed
            .series
            .iter()
            .filter(|c| c.of.series.name == **name);
        let mut unit = String::new();
        let mut by_node = BTreeMap::new();
        for course in courses {
            let samples = course
                .samples
                .iter()
                .filter(|(at_us, _)| (from_us..=until_us).contains(at_us));
            let values: Vec<f64> = samples.map(|(_, value)| *value).collect();
            if !values.is_empty() {
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                by_node.insert(course.of.series.label.clone(), mean);
                unit = course.of.series.unit.to_string();
            }
        }
        (!by_node.is_empty()).then(|| NodeFigures {
            name: (**name).to_owned(),
            unit,
            by_node,
        })
    };
    names.iter().filter_map(of_name).collect()
}

/// What the pack's first kind of unit that was done is expected to read.
fn explained(reader: &mut Reader, prepared: &Prepared, units: &[UnitCount]) -> Fact<Expected> {
    let unknown = |why: &str| Fact::Unknown(why.to_owned());
    let Some(pack) = &prepared.workload.pack else {
        return unknown("no pack");
    };
    let was_done = |unit: &str| units.iter().any(|units| units.kind == unit);
    let mut explains = pack.manifest.explains.iter();
    let Some(explain) = explains.find(|explain| was_done(&explain.unit)) else {
        return unknown("no unit that can be explained was done");
    };
    let dialect = prepared.product.dialect;
    let buffers = match &dialect.storage.buffers {
        Ok(buffers) => buffers,
        Err(why) => return unknown(why),
    };
    let statements = statements::of_file(pack, &explain.file, dialect.name, &prepared.variables);
    let statements = match statements {
        Ok(statements) => statements,
        Err(why) => return Fact::Unknown(why),
    };
    match reader.session() {
        Some(session) => expected::of(session, buffers, &explain.unit, statements),
        None => unknown("there is no session to ask in"),
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_measurement::{ClientTime, Second};
    use pgdyno_model::observed::{Course, Kind, NewSeries, Series};

    use super::*;

    #[test]
    fn reads_of_a_node_are_the_mean_of_what_its_refreshes_gave() {
        // A node that refreshes its counters every ten seconds has three rates in 30 s, none of them for the
        // seconds between, and nothing from before the trial.
        let read = |label: &str, samples: &[(i64, f64)]| Course {
            of: NewSeries {
                number: 0,
                instrument: 0,
                series: Series::new("crdb.disk.reads", "1/s").of(label),
                kind: Kind::Counter,
            },
            samples: samples
                .iter()
                .map(|(s, rate)| (s * 1_000_000, *rate))
                .collect(),
            total: None,
        };
        let observed = Observed {
            series: vec![
                read(
                    "node 1",
                    &[(0, 9000.0), (8, 1700.0), (18, 1800.0), (28, 1723.0)],
                ),
                read("node 2", &[]),
            ],
            ..Observed::default()
        };
        let second = |start_us| Second {
            start_us,
            length_us: 1_000_000,
            warmup: false,
            drain: false,
            time: ClientTime::default(),
            scripts: Vec::new(),
        };
        let recording = Recording {
            seconds: (0..30).map(|s| second(s * 1_000_000)).collect(),
            ..Recording::default()
        };
        let figures = nodes(
            &observed,
            &["crdb.disk.reads", "crdb.cache.hits"],
            &recording,
        );
        assert_eq!(figures.len(), 1);
        assert_eq!(
            figures[0].by_node,
            BTreeMap::from([("node 1".to_owned(), 1741.0)])
        );
    }
}
