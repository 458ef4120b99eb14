//! What the storage layer did, in the terminal. Each figure says who counted it; what
//! is not known is reported with its reason and never computed from something else.

use pgdyno_model::Fact;
use pgdyno_model::document::{Accounting, NodeFigures};
use pgdyno_spec::text as figures;

/// Sessions that do nothing but logical reads keep at least this share of their cores busy.
const BUSY_MIN: f64 = 0.9;

/// Some lines, each with its name before it.
pub fn text(accounting: &Accounting) -> String {
    let lines = [
        ("LIOPS", logical_reads(accounting)),
        ("misses", misses(accounting)),
        ("device", device(accounting)),
        ("log", log(accounting)),
        ("CPU", cpu(accounting)),
        ("buffers", buffers(accounting)),
        ("plan", plan(accounting)),
    ];
    let lines = lines.into_iter().filter(|(_, line)| !line.is_empty());
    let mut text: String = lines
        .map(|(name, line)| format!("{name:<13}{line}\n"))
        .collect();
    for figures in &accounting.nodes {
        text += &format!("{:<20}{}\n", figures.name, nodes(accounting, figures));
    }
    text
}

fn gap<T>(fact: &Fact<T>) -> Option<String> {
    match fact {
        Fact::Known(_) => None,
        Fact::Unknown(why) => Some(format!("not known: {why}")),
    }
}

pub(super) const RESET: &str = "not known: the server's counters were reset during the run";

fn logical_reads(it: &Accounting) -> String {
    if let Some(why) = gap(&it.buffers) {
        return why;
    }
    match (it.liops(), it.logical_reads()) {
        (Some(liops), Some(reads)) => format!(
            "{} logical reads/s ({} in {})",
            figures::rate(liops),
            figures::count(reads),
            figures::seconds(it.elapsed_us as f64 / 1e6)
        ),
        _ => RESET.to_owned(),
    }
}

fn misses(it: &Accounting) -> String {
    let (Some(misses), Some(ratio)) = (it.misses_per_s(), it.hit_ratio()) else {
        return String::new();
    };
    let mut line = format!(
        "{} /s not in shared_buffers, hit ratio {}",
        figures::rate(misses),
        figures::share(ratio)
    );
    let others = it.io.known().into_iter().flatten();
    let others = others.filter(|row| row.backend != "client backend" && row.reads > 0);
    for row in others {
        line += &format!(
            "; {} read {}",
            row.backend,
            figures::bytes(row.read_bytes as f64)
        );
    }
    line
}

fn device(it: &Accounting) -> String {
    match (&it.device, it.device_reads_per_s(), it.device_bytes_per_s()) {
        (Fact::Known(device), Some(reads), Some(read_bytes)) => format!(
            "{} reads/s, {} from {} (all processes)",
            figures::rate(reads),
            figures::bytes_per_s(read_bytes),
            device.name
        ),
        (device, ..) => gap(device).unwrap_or_default(),
    }
}

fn log(it: &Accounting) -> String {
    match it.wal_bytes_per_s() {
        Some(per_s) => figures::bytes_per_s(per_s),
        None => gap(&it.wal_bytes).unwrap_or_default(),
    }
}

fn cpu(it: &Accounting) -> String {
    if let Some(why) = gap(&it.cpu_us) {
        return why;
    }
    let mut line = String::new();
    if let (Some(us), Some(liops)) = (it.cpu_us_per_logical_read(), it.liops_per_core()) {
        line += &format!(
            "{us:.2} µs per logical read, {} LIOPS per core; ",
            figures::rate(liops)
        );
    }
    if let (Some(cores), Some(share)) = (it.cores_busy(), it.busy_share()) {
        let sessions = match it.sessions {
            1 => "1 session".to_owned(),
            n => format!("{} sessions", figures::count(n)),
        };
        line += &format!("{cores:.2} cores busy for {sessions}");
        line += if is_busy(share) {
            ": sessions keep their cores busy"
        } else {
            ": sessions also wait"
        };
    }
    line
}

fn is_busy(share: f64) -> bool {
    share >= BUSY_MIN
}

/// What the server counted for a unit, and what was expected.
pub(super) fn buffers(it: &Accounting) -> String {
    let counted = it.buffers_per_unit();
    let mut parts = Vec::new();
    if let (Some(counted), Some(units)) = (counted, it.units.first()) {
        parts.push(format!(
            "{counted:.1} per {} of {} by the server's counters",
            units.kind,
            match units.rows_each {
                1 => "1 row".to_owned(),
                rows => format!("{} rows", figures::count(rows)),
            }
        ));
    }
    match &it.expected {
        Fact::Known(expected) => parts.push(format!(
            "{:.1} by EXPLAIN ({} of them, {} to {})",
            expected.mean,
            figures::count(expected.count),
            figures::count(expected.min),
            figures::count(expected.max),
        )),
        Fact::Unknown(why) if it.buffers.known().is_some() => {
            parts.push(format!("by EXPLAIN not known: {why}"));
        }
        Fact::Unknown(_) => {}
    }
    let mut line = parts.join(", ");
    if let Some(ratio) = it.counted_by_expected() {
        line += &format!(": {}", figures::share(ratio));
    }
    line
}

/// By which plan a unit is read.
pub(super) fn plan(it: &Accounting) -> String {
    let Some(expected) = it.expected.known() else {
        return String::new();
    };
    match expected.plans.as_slice() {
        [(plan, _)] => plan.clone(),
        plans => {
            let plans = plans
                .iter()
                .map(|(plan, count)| format!("{plan} ({count})"));
            plans.collect::<Vec<_>>().join(", ")
        }
    }
}

/// `58.0 on node 1, 58.0 on node 2, 117.0 on node 3: 233.0 1/s, 4.1 for each select`.
fn nodes(it: &Accounting, of: &NodeFigures) -> String {
    let by_node = of.by_node.iter();
    let by_node = by_node.map(|(node, value)| format!("{} on {node}", figures::rate(*value)));
    let mut line = by_node.collect::<Vec<_>>().join(", ");
    line += &format!(": {} {}", figures::rate(of.all()), of.unit);
    if let (Some(each), Some(units)) = (it.per_unit(of), it.units.first()) {
        line += &format!(", {each:.1} for each {}", units.kind);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::document::accounting::example::example as accounting;
    use pgdyno_model::document::{Accounted, Expected};

    #[test]
    fn each_figure_says_what_it_is_and_who_counted_it() {
        let text = text(&accounting());
        for line in [
            "LIOPS        100,000.0 logical reads/s (1,000,000 in 10.0 s)",
            "misses       25,000.0 /s not in shared_buffers, hit ratio 75.0 %",
            "device       100.0 reads/s, 800 kB/s from vda (all processes)",
            "log          488 kB/s",
            "CPU          16.00 µs per logical read, 62,500.0 LIOPS per core; \
             1.60 cores busy for 2 sessions: sessions also wait",
            "buffers      256.4 per select of 255 rows by the server's counters, \
             256.0 by EXPLAIN (100 of them, 255 to 260): 100.2 %",
            "plan         Index Scan",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn unknown_figures_have_a_reason() {
        let mut it = accounting();
        it.buffers = Fact::Unknown("no buffer pool".to_owned());
        it.device = Fact::Unknown("on another host".to_owned());
        it.cpu_us = Fact::Unknown("on another host".to_owned());
        it.expected = Fact::Unknown("not asked".to_owned());
        let text = text(&it);
        assert!(
            text.contains("LIOPS        not known: no buffer pool"),
            "{text}"
        );
        assert!(
            text.contains("device       not known: on another host"),
            "{text}"
        );
        assert!(
            !text.contains("hit ratio") && !text.contains("EXPLAIN"),
            "{text}"
        );
        let document = |it| serde_json::to_value(Accounted::from(it)).unwrap();
        assert!(document(&it)["figures"]["liops"].is_null());
        assert_eq!(document(&it)["device"]["unknown"], "on another host");
        assert_eq!(document(&accounting())["figures"]["liops"], 100_000.0);
    }

    #[test]
    fn nodes_of_a_distributed_database_have_their_own_names() {
        let mut it = accounting();
        it.buffers = Fact::Unknown("no buffer pool".to_owned());
        it.expected = Fact::Unknown("no buffer pool".to_owned());
        it.elapsed_us = 1_000_000_000;
        it.units[0].count = 56_493;
        // The article's figures.
        let nodes = [("node 1", 58.0), ("node 2", 58.0), ("node 3", 117.0)];
        it.nodes = vec![NodeFigures {
            name: "yb.reads".to_owned(),
            unit: "1/s".to_owned(),
            by_node: nodes.map(|(node, value)| (node.to_owned(), value)).into(),
        }];
        let text = text(&it);
        let line = "yb.reads            58.0 on node 1, 58.0 on node 2, 117.0 on node 3: 233.0 1/s, \
                    4.1 for each select";
        assert!(text.contains(line), "{text}");
        assert!(!text.contains("logical reads/s"), "{text}");
    }

    #[test]
    fn a_count_that_is_off_is_noticed_where_units_are_large() {
        let mut it = accounting();
        assert_eq!(it.is_off(), None);
        it.units[0].count = 3000;
        assert!(it.is_off().is_some_and(|off| off > 0.3));
        it.units[0].rows_each = 16;
        assert_eq!(it.is_off(), None);
    }

    #[test]
    fn a_bitmap_is_no_read_by_index() {
        let with = |plan: &str| Expected {
            plans: vec![(plan.to_owned(), 100)],
            ..accounting().expected.known().unwrap().clone()
        };
        assert!(with("Aggregate > Index Scan using a on b").is_by_index());
        assert!(
            !with("Aggregate > Bitmap Heap Scan on b > Bitmap Index Scan using a").is_by_index()
        );
    }
}
