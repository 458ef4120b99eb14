//! What slob's trials show beside the rest: who read what from where.

use pgdyno_drive::record::{Latencies, Recording};

use super::histogram;
use crate::accounting::{RESET, buffers, plan};
use pgdyno_model::Fact;
use pgdyno_model::document::page::{AccountingRow, SlobTrial};
use pgdyno_model::document::{Accounting, Run};
use pgdyno_model::text::plural;

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

/// A figure, or why there is none.
struct Row<'a> {
    name: &'a str,
    value: Option<f64>,
    unit: &'a str,
    per_unit: Option<f64>,
    /// Why it is not known.
    gap: Option<&'a str>,
    what: String,
}

fn rows(it: &Accounting) -> Vec<AccountingRow> {
    fn gap<T>(fact: &Fact<T>) -> Option<&str> {
        match fact {
            Fact::Known(_) => None,
            Fact::Unknown(why) => Some(why),
        }
    }
    let database = it.buffers.known().map(|counters| &counters.database);
    let counted = match database {
        Some(database) => format!("counted by the server for the database {database}"),
        None => String::new(),
    };
    let device = it.device.known().map(|device| &device.name);
    let device = device.map_or_else(String::new, |name| format!("{name} (all processes)"));
    let units = match it.units.as_slice() {
        [only] if only.count > 0 => Some(only.count as f64),
        _ => None,
    };
    let each = |count: Option<u64>| count.zip(units).map(|(count, units)| count as f64 / units);
    let percent = |share: f64| share * 100.0;
    let expected = it.expected.known();
    let rows = [
        Row {
            name: "Logical reads (LIOPS)",
            value: it.liops(),
            unit: "1/s",
            per_unit: it.buffers_per_unit(),
            gap: gap(&it.buffers),
            what: counted.clone(),
        },
        Row {
            name: "Misses of shared_buffers",
            value: it.misses_per_s(),
            unit: "1/s",
            per_unit: each(it.misses()),
            gap: gap(&it.buffers),
            what: counted.clone(),
        },
        Row {
            name: "Hit ratio",
            value: it.hit_ratio().map(percent),
            unit: "%",
            per_unit: None,
            gap: gap(&it.buffers),
            what: counted,
        },
        Row {
            name: "Device reads",
            value: it.device_reads_per_s(),
            unit: "1/s",
            per_unit: each(it.device.known().map(|device| device.reads)),
            gap: gap(&it.device),
            what: device.clone(),
        },
        Row {
            name: "Read from the device",
            value: it.device_bytes_per_s(),
            unit: "bytes/s",
            per_unit: None,
            gap: gap(&it.device),
            what: device,
        },
        Row {
            name: "Log written",
            value: it.wal_bytes_per_s(),
            unit: "bytes/s",
            per_unit: None,
            gap: gap(&it.wal_bytes),
            what: "counted by the server".to_owned(),
        },
        Row {
            name: "CPU for a logical read",
            value: it.cpu_us_per_logical_read(),
            unit: "µs",
            per_unit: None,
            gap: gap(&it.cpu_us).or(gap(&it.buffers)),
            what: "of all the server's processes".to_owned(),
        },
        Row {
            name: "Cores busy",
            value: it.cores_busy(),
            unit: "",
            per_unit: None,
            gap: gap(&it.cpu_us),
            what: format!(
                "of all the server's processes, for {}",
                plural(it.sessions, "session")
            ),
        },
        Row {
            name: "Buffers expected of a unit",
            value: expected.map(|expected| expected.mean),
            unit: "",
            per_unit: None,
            gap: gap(&it.expected),
            what: format!("by EXPLAIN: {}", plan(it)),
        },
    ];
    let rows = rows.into_iter().map(|row| {
        let unknown = row.gap.or((row.value.is_none()).then_some(RESET));
        let unknown = unknown.filter(|_| row.value.is_none());
        AccountingRow {
            name: row.name.to_owned(),
            value: row.value,
            unit: row.unit.to_owned(),
            per_unit: row.per_unit,
            unknown: unknown.map(str::to_owned),
            what: Some(row.what),
        }
    });
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
    rows.chain(nodes).collect()
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
