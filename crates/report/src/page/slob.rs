//! What slob's trials show beside the rest: who read what from where.

use pgdyno_measurement::{Latencies, Recording};

use super::histogram;
use crate::accounting::{RESET, buffers, plan};
use pgdyno_model::Fact;
use pgdyno_model::document::page::{AccountingRow, SlobTrial};
use pgdyno_model::document::{Accounting, Run};
use pgdyno_spec::text::plural;

/// A trial's; `None` where nothing was counted.
pub fn of_trial(run: &Run, recording: &Recording) -> Option<SlobTrial> {
    let it = &run.accounting.as_ref()?.accounting;
    let units = recording.measured.all().units;
    let mut all = Latencies::default();
    let mut kinds = Vec::new();
    for (name, units) in recording.operations.iter().zip(&units) {
        if units.count() > 0 {
            all.merge(&units.latencies);
            kinds.push(name.as_str());
        }
    }
    let sentence = buffers(it);
    Some(SlobTrial {
        accounting: rows(it),
        units: (all.count() > 0).then(|| histogram::whole(&all)),
        units_label: format!("Work units ({})", kinds.join(", ")),
        sentence: (!sentence.is_empty()).then(|| format!("Buffers: {sentence}")),
    })
}

/// A figure, or why there is none; `from`: why it is not known, and who counted it.
fn row(
    name: &str,
    unit: &str,
    value: Option<f64>,
    per_unit: Option<f64>,
    from: (Option<&str>, &str),
) -> AccountingRow {
    let (gap, what) = from;
    AccountingRow {
        name: name.to_owned(),
        value,
        unit: unit.to_owned(),
        per_unit,
        unknown: match value {
            Some(_) => None,
            None => Some(gap.unwrap_or(RESET).to_owned()),
        },
        what: Some(what.to_owned()),
    }
}

fn rows(it: &Accounting) -> Vec<AccountingRow> {
    fn gap<T>(fact: &Fact<T>) -> Option<&str> {
        match fact {
            Fact::Known(_) => None,
            Fact::Unknown(why) => Some(why),
        }
    }
    let database = it.buffers.known().map(|counters| &counters.database);
    let counted = database.map_or_else(String::new, |database| {
        format!("counted by the server for the database {database}")
    });
    let device = it.device.known().map(|device| &device.name);
    let device = device.map_or_else(String::new, |name| format!("{name} (all processes)"));
    let busy = format!(
        "of all the server's processes, for {}",
        plural(it.sessions, "session")
    );
    let explained = format!("by EXPLAIN: {}", plan(it));
    let of_buffers = (gap(&it.buffers), counted.as_str());
    let of_device = (gap(&it.device), device.as_str());
    let of_log = (gap(&it.wal_bytes), "counted by the server");
    let of_reads = (
        gap(&it.cpu_us).or(gap(&it.buffers)),
        "of all the server's processes",
    );
    let of_cores = (gap(&it.cpu_us), busy.as_str());
    let of_plan = (gap(&it.expected), explained.as_str());

    let units = match it.units.as_slice() {
        [only] if only.count > 0 => Some(only.count as f64),
        _ => None,
    };
    let each = |count: Option<u64>| count.zip(units).map(|(count, units)| count as f64 / units);
    let hits = it.hit_ratio().map(|share| share * 100.0);
    let reads = each(it.device.known().map(|device| device.reads));
    let misses = each(it.misses());
    let expected = it.expected.known().map(|expected| expected.mean);
    #[rustfmt::skip]
    let rows = [
        row("Logical reads (LIOPS)", "1/s", it.liops(), it.buffers_per_unit(), of_buffers),
        row("Misses of shared_buffers", "1/s", it.misses_per_s(), misses, of_buffers),
        row("Hit ratio", "%", hits, None, of_buffers),
        row("Device reads", "1/s", it.device_reads_per_s(), reads, of_device),
        row("Read from the device", "bytes/s", it.device_bytes_per_s(), None, of_device),
        row("Log written", "bytes/s", it.wal_bytes_per_s(), None, of_log),
        row("CPU for a logical read", "µs", it.cpu_us_per_logical_read(), None, of_reads),
        row("Cores busy", "", it.cores_busy(), None, of_cores),
        row("Buffers expected of a unit", "", expected, None, of_plan),
    ];
    let nodes = it.nodes.iter().map(|figures| {
        let by_node = figures.by_node.keys().cloned().collect::<Vec<_>>();
        AccountingRow {
            name: figures.name.clone(),
            value: Some(figures.all()),
            unit: figures.unit.clone(),
            per_unit: it.per_unit(figures),
            unknown: None,
            what: Some(format!("of {} together", by_node.join(", "))),
        }
    });
    rows.into_iter().chain(nodes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::document::accounting::example::example as accounting;

    #[test]
    fn what_is_not_known_has_its_reason_in_place_of_a_figure() {
        let mut it = accounting();
        it.device = Fact::Unknown("it is on another host".to_owned());
        let rows = rows(&it);
        let row = |name: &str| rows.iter().find(|row| row.name == name).unwrap();
        let liops = row("Logical reads (LIOPS)");
        assert_eq!(liops.value, Some(100_000.0));
        assert!((liops.per_unit.unwrap() - 1_000_000.0 / 3900.0).abs() < 1e-6);
        assert_eq!(liops.unknown, None);
        assert_eq!(row("Hit ratio").value, Some(75.0));
        let device = row("Device reads");
        assert_eq!(device.value, None);
        assert_eq!(device.unknown.as_deref(), Some("it is on another host"));
        // Counters that went backwards are no gap of the instrument's.
        it.buffers = Fact::Known(Default::default());
        assert!(
            self::rows(&it)[0]
                .unknown
                .as_ref()
                .unwrap()
                .contains("reset")
        );
    }
}
