//! A calibration for people and for programs, alone or beside others. How each verdict is computed:
//! `docs/calibrate.md`.

use pgdyno_drive::record::Latencies;
use serde_json::{Map, Value, json};

use super::table::{Table, one_line};
use crate::plan::calibrate::expect::Range;
use crate::plan::calibrate::growth::{Bend, Saturation, Step, bend};
use crate::plan::calibrate::judge::{Judged, Line, Verdict, What, ms};
use crate::plan::calibrate::read::Calibration;
use pgdyno_model::text as figures;

/// Tables are at most this wide, where that is possible.
const WIDTH: usize = 110;
/// Grows when a field changes its meaning or goes.
const FORMAT: u32 = 1;

/// All of it, ready to be printed.
pub fn text(c: &Calibration) -> String {
    let judged = Judged::of(c);
    let mut text = heading(c);
    if judged.lines.is_empty() {
        return text + "\nnothing was measured\n";
    }
    text += &format!("\n{}", lines(&judged));
    text += &comments(&judged);
    text += &format!("\n{}", baseline(&judged));
    if c.steps.len() > 1 {
        text += &format!("\n{}", concurrency(c));
    }
    text
}

fn heading(c: &Calibration) -> String {
    let rows = c.variables.iter().find(|(name, _)| name == "recordcount");
    let rows = rows.map_or_else(String::new, |(_, rows)| format!(", {rows} rows"));
    let params = c
        .params
        .iter()
        .map(|param| format!(", {}", one_line(param)));
    let params: String = params.collect();
    let server = one_line(&c.server());
    // A server of pgdyno's own says it already.
    let server = match c.target.contains(&server) {
        true => String::new(),
        false => format!(" ({server})"),
    };
    format!(
        "calibration {}, begun {}\n{}{server}\nreads and updates: YCSB B{rows}{params}, prepared \
         statements, one client\n",
        one_line(&c.experiment.name),
        c.experiment.created,
        one_line(&c.target),
    )
}

fn title(what: What) -> &'static str {
    match what {
        What::RoundTrip => "round trip",
        What::Commit => "commit",
        What::Read => "read",
        What::Update => "update",
    }
}

fn lines(judged: &Judged<'_>) -> String {
    let mut table = Table::default();
    table.row([
        "ms", "count", "min", "p50", "p95", "p99", "mean", "expected", "less way", "verdict",
    ]);
    for line in &judged.lines {
        let latencies = &line.measured.latencies;
        table.row([
            title(line.what).to_owned(),
            figures::count(latencies.count()),
            min_us(latencies).map_or_else(|| "–".to_owned(), figures::ms),
            figures::percentile_ms(latencies, 50.0),
            figures::percentile_ms(latencies, 95.0),
            figures::percentile_ms(latencies, 99.0),
            ms(line.measured.mean_us()),
            range(line.expected),
            line.without_round_trip
                .map_or_else(String::new, |(us, _)| ms(us)),
            verdict(line),
        ]);
    }
    table.text(WIDTH)
        + "judged by the mean, against the upper end; less way: p50 without that of the round trip\n"
}

/// The least of all, to three digits.
fn min_us(latencies: &Latencies) -> Option<u64> {
    let histogram = latencies.histogram().filter(|all| !all.is_empty());
    histogram.map(|all| all.min())
}

fn verdict(line: &Line<'_>) -> String {
    match line.doubts.is_empty() {
        true => line.verdict.name().to_owned(),
        false => format!("{} (!)", line.verdict.name()),
    }
}

/// `1–2`, `up to 1`.
fn range(range: Range) -> String {
    let short = figures::ms_shortly;
    match range.low_us > 0.0 {
        true => format!("{}–{}", short(range.low_us), short(range.high_us)),
        false => format!("up to {}", short(range.high_us)),
    }
}

/// Causes of misses, what to look at, and what is known of the sync.
fn comments(judged: &Judged<'_>) -> String {
    let mut text = String::new();
    let mut told: Vec<&str> = Vec::new();
    for line in &judged.lines {
        let name = title(line.what);
        if let Some(cause) = &line.cause {
            text += &format!("\n{name}: {}: {}\n", cause.part.name(), cause.sentence);
            for evidence in &cause.evidence {
                if !told.contains(&evidence.as_str()) {
                    text += &format!("    {evidence}\n");
                    told.push(evidence);
                }
            }
        } else if line.verdict == Verdict::Missed {
            text += &format!("\n{name}: the cause is not known: the round trip was not measured\n");
        }
        for doubt in &line.doubts {
            if !told.contains(&doubt.as_str()) {
                text += &format!("\n(!) {name}: {doubt}\n");
                told.push(doubt);
            }
        }
    }
    let sentences = judged.sync.sentences.iter();
    let sentences: Vec<&String> = sentences.filter(|s| !told.contains(&s.as_str())).collect();
    if !sentences.is_empty() {
        text.push('\n');
        sentences
            .iter()
            .for_each(|sentence| text += &format!("sync: {sentence}\n"));
    }
    text
}

fn baseline(judged: &Judged<'_>) -> String {
    match judged.is_met() {
        Some(true) => {
            "baseline met: read and update are as fast as expected or faster\n".to_owned()
        }
        Some(false) => {
            let missed = judged.lines.iter().filter(|line| {
                matches!(line.what, What::Read | What::Update) && line.verdict == Verdict::Missed
            });
            let missed: Vec<String> = missed
                .map(|line| {
                    let cause = line.cause.as_ref().map(|cause| cause.part.name());
                    let cause = cause.map_or_else(String::new, |cause| format!(" ({cause})"));
                    format!("{}{cause}", title(line.what))
                })
                .collect();
            format!("baseline MISSED: {}\n", missed.join(", "))
        }
        None => "baseline not known: reads and updates were not measured to the end\n".to_owned(),
    }
}

fn concurrency(c: &Calibration) -> String {
    let mut table = Table::default();
    table.row(["clients", "done/s", "p50 ms", "p99 ms", "failed", ""]);
    for step in &c.steps {
        let time = |us: Option<u64>| us.map_or_else(|| "–".to_owned(), figures::ms);
        table.row([
            step.clients.to_string(),
            figures::rate(step.goodput_per_s),
            time(step.p50_us),
            time(step.p99_us),
            figures::count(step.failed),
            match step.client_bound {
                true => "pgdyno is the limit".to_owned(),
                false => String::new(),
            },
        ]);
    }
    let least = c.growth.least * 100.0;
    let mut text = table.text(WIDTH);
    match c.growth.saturation(&c.steps) {
        Some(Saturation::At {
            clients,
            goodput_per_s,
        }) => {
            text += &format!(
                "throughput stops growing at {}: {}/s, and more of them give less than {least:.0} % more\n",
                clients_words(clients),
                figures::rate(goodput_per_s)
            );
        }
        Some(Saturation::Beyond { clients, .. }) => {
            text += &format!(
                "throughput still grows at {}, the most that were tried\n",
                clients_words(clients)
            );
        }
        None => {}
    }
    text += &match bend(&c.steps) {
        Ok(Bend::At { clients }) => format!(
            "p99 bends at {}: beyond it grows faster than throughput\n",
            clients_words(clients)
        ),
        Ok(Bend::AtOrBelow { clients }) => format!(
            "p99 bends at {} already: it grows faster than throughput from there on\n",
            clients_words(clients)
        ),
        Ok(Bend::NotSeen) => "p99 does not bend up to the greatest throughput\n".to_owned(),
        Err(why) => format!("where p99 bends is not known: {why}\n"),
    };
    text
}

fn clients_words(clients: u32) -> String {
    match clients {
        1 => "1 client".to_owned(),
        more => format!("{more} clients"),
    }
}

/// For programs: the document of `pgdyno calibrate --json` (`docs/calibrate.md`).
pub fn json(c: &Calibration) -> Value {
    let judged = Judged::of(c);
    let sync = &judged.sync;
    json!({
        "format": FORMAT,
        "calibration": c.experiment.name,
        "uuid": c.experiment.uuid,
        "created": c.experiment.created,
        "target": c.target,
        "server": c.server(),
        "facts": c.facts,
        "params": c.params,
        "variables": c.variables.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "baseline": match judged.is_met() {
            Some(true) => json!("met"),
            Some(false) => json!("missed"),
            None => Value::Null,
        },
        "lines": judged.lines.iter().map(line_json).collect::<Vec<_>>(),
        "sync": {
            "difference_us": sync.difference_us,
            "server_us": sync.server_us,
            "sentences": sync.sentences,
        },
        "concurrency": (c.steps.len() > 1).then(|| concurrency_json(c)),
    })
}

fn line_json(line: &Line<'_>) -> Value {
    let latencies = &line.measured.latencies;
    let parts = line.parts.iter();
    let parts = parts.map(|(part, us)| (format!("{}_us", part.name()), json!(us)));
    json!({
        "line": line.what.name(),
        "trial": line.measured.trial,
        "count": latencies.count(),
        "min_us": min_us(latencies),
        "p50_us": latencies.percentile_us(50.0),
        "p95_us": latencies.percentile_us(95.0),
        "p99_us": latencies.percentile_us(99.0),
        "max_us": latencies.max_us(),
        "mean_us": line.measured.mean_us(),
        "expected": line.expected,
        "verdict": line.verdict.name(),
        "without_round_trip_us": line.without_round_trip.map(|(us, _)| us),
        "without_round_trip_within": line.without_round_trip.map(|(_, within)| within),
        "parts": parts.collect::<Map<_, _>>(),
        "cause": line.cause.as_ref().map(|cause| json!({
            "part": cause.part.name(),
            "sentence": cause.sentence,
            "evidence": cause.evidence,
        })),
        "doubts": line.doubts,
        "server_side": line.measured.server_side,
    })
}

fn concurrency_json(c: &Calibration) -> Value {
    let bend = bend(&c.steps);
    json!({
        "steps": c.steps,
        "least_growth": c.growth.least,
        "throughput_stops": c.growth.saturation(&c.steps),
        "p99_bends": bend.as_ref().ok(),
        "p99_unknown": bend.err(),
    })
}

/// A system among others: those of one name are told apart by their UUIDs.
fn label(c: &Calibration, systems: &[Calibration]) -> String {
    let name = one_line(&c.experiment.name);
    let mut others = systems
        .iter()
        .filter(|o| o.experiment.uuid != c.experiment.uuid);
    match others.any(|other| other.experiment.name == c.experiment.name) {
        true => format!("{name} ({:.8})", c.experiment.uuid),
        false => name,
    }
}

/// Systems side by side: a row a system, for people.
pub fn comparison_text(systems: &[Calibration]) -> String {
    let mut table = Table::default();
    table.row([
        "mean ms",
        "round trip",
        "commit",
        "read",
        "update",
        "baseline",
        "best done/s",
        "clients",
    ]);
    for c in systems {
        let judged = Judged::of(c);
        let mean = |what| {
            let line = judged.lines.iter().find(|line| line.what == what);
            line.map_or_else(
                || "–".to_owned(),
                |line| {
                    let mark = match line.verdict {
                        Verdict::Missed => " missed",
                        _ if !line.doubts.is_empty() => " (!)",
                        _ => "",
                    };
                    format!("{}{mark}", ms(line.measured.mean_us()))
                },
            )
        };
        let best = best(c);
        table.row([
            label(c, systems),
            mean(What::RoundTrip),
            mean(What::Commit),
            mean(What::Read),
            mean(What::Update),
            match judged.is_met() {
                Some(true) => "met",
                Some(false) => "missed",
                None => "–",
            }
            .to_owned(),
            best.map_or_else(|| "–".to_owned(), |s| figures::rate(s.goodput_per_s)),
            best.map_or_else(|| "–".to_owned(), |s| s.clients.to_string()),
        ]);
    }
    let mut text = table.text(WIDTH);
    let mut any_doubt = false;
    for c in systems {
        let judged = Judged::of(c);
        for line in &judged.lines {
            if let Some(cause) = &line.cause {
                text += &format!(
                    "\n{}, {}: {}: {}\n",
                    label(c, systems),
                    title(line.what),
                    cause.part.name(),
                    cause.sentence
                );
            }
            any_doubt |= !line.doubts.is_empty();
        }
    }
    if any_doubt {
        text += "\n(!) may be worth less than it seems: pgdyno show --experiment NAME says why\n";
    }
    text
}

/// The greatest throughput of more than one client.
fn best(c: &Calibration) -> Option<&Step> {
    let steps = c.steps.iter().filter(|_| c.steps.len() > 1);
    steps.max_by(|a, b| a.goodput_per_s.total_cmp(&b.goodput_per_s))
}

/// The same for programs: each system's document, and a list of bars a line.
pub fn comparison_json(systems: &[Calibration]) -> Value {
    let bars = [What::RoundTrip, What::Commit, What::Read, What::Update].map(|what| {
        let bars = systems.iter().filter_map(|c| {
            let judged = Judged::of(c);
            let line = judged.lines.iter().find(|line| line.what == what)?;
            Some(json!({
                "system": label(c, systems),
                "uuid": c.experiment.uuid,
                "mean_us": line.measured.mean_us(),
                "p99_us": line.measured.latencies.percentile_us(99.0),
                "without_round_trip_us": line.without_round_trip.map(|(us, _)| us),
                "expected": line.expected,
                "verdict": line.verdict.name(),
            }))
        });
        (what.name().to_owned(), json!(bars.collect::<Vec<_>>()))
    });
    json!({
        "format": FORMAT,
        "systems": systems.iter().map(json).collect::<Vec<_>>(),
        "bars": Map::from_iter(bars),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_of_one_name_are_told_apart_by_their_uuids() {
        let systems = [
            Calibration::nothing_yet("db1", "0123456789"),
            Calibration::nothing_yet("db1", "abcdefghij"),
            Calibration::nothing_yet("db2", "klmnopqrst"),
        ];
        let labels: Vec<_> = systems.iter().map(|c| label(c, &systems)).collect();
        assert_eq!(labels, ["db1 (01234567)", "db1 (abcdefgh)", "db2"]);
        let text = comparison_text(&systems);
        assert!(text.contains("\ndb1 (abcdefgh) "), "{text}");
        assert_eq!(json(&systems[0])["baseline"], Value::Null);
    }

    #[test]
    fn expectations_are_written_as_short_as_they_are_typed() {
        let of = |low_us, high_us| range(Range { low_us, high_us });
        assert_eq!(of(1000.0, 2000.0), "1–2");
        assert_eq!(of(200.0, 1500.0), "0.2–1.5");
        assert_eq!(of(0.0, 1000.0), "up to 1");
    }
}
