//! A calibration for people, alone or beside others.

use std::collections::BTreeSet;

use pgdyno_model::Fact;
use pgdyno_model::document::calibration::{
    Baseline, Bend, Calibration, CalibrationLine, Concurrency, LineVerdict, Range, Saturation,
    Step, What, Yardstick,
};

use crate::table::{Table, one_line};
use pgdyno_diagnose::calibration::judge::ms;
use pgdyno_model::document::section::{
    FigureTable, Section, SectionPart, TableCell, TableColumn, Tone,
};
use pgdyno_spec::text as figures;

/// Tables are at most this wide, where that is possible.
pub const WIDTH: usize = 80;

/// What it shows below its answer.
pub(super) fn sections(c: &Calibration) -> Vec<Section> {
    let mut parts = vec![SectionPart::Table(lines(c))];
    parts.push(SectionPart::text("", comments(c)));
    parts.push(SectionPart::text("", vec![baseline(c)]));
    parts.extend(c.concurrency.as_ref().map(concurrency));
    let title = "Is the infrastructure as fast as expected?";
    let lead = "The simplest workload, one client: mean times (upright lines) and what good infrastructure needs \
                (bars).";
    vec![Section::new("calibration", "Calibration", title, parts).lead(lead)]
}

pub(super) fn heading(c: &Calibration) -> String {
    let rows = c.variables.get("recordcount");
    let rows = rows.map_or_else(String::new, |rows| format!(", {rows} rows"));
    let params = c
        .params
        .iter()
        .map(|param| format!(", {}", one_line(param)));
    let params: String = params.collect();
    let server = one_line(&c.server);
    // A server of pgdyno's own says it already.
    let server = if c.target.contains(&server) {
        String::new()
    } else {
        format!(" ({server})")
    };
    format!(
        "calibration {}, begun {}\n{}{server}\nreads and updates: YCSB B{rows}{params}, prepared \
         statements, one client\n",
        one_line(&c.calibration),
        c.created,
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

fn lines(c: &Calibration) -> FigureTable {
    let mut columns = TableColumn::named("ms", ["count", "min", "p50", "p95", "p99"]);
    columns.push(TableColumn::bars("mean", "and what is expected"));
    columns.extend(TableColumn::figures(["expected", "less RTT", "verdict"]));
    columns.push(TableColumn::words("consists of").on_page());
    let mut table = FigureTable::new("", columns);
    let time = |us: Option<u64>| {
        us.map_or_else(|| figures::DASH.to_owned(), figures::ms)
            .into()
    };
    for line in &c.lines {
        let ends = (line.expected.low_us / 1e3, line.expected.high_us / 1e3);
        let parts = line.parts.iter().filter(|(_, us)| **us > 0.0);
        let parts = parts.map(|(part, us)| {
            let name = part.trim_end_matches("_us");
            format!("{name} {}", figures::time(*us))
        });
        let tone = match line.verdict {
            LineVerdict::Missed => Tone::Bad,
            LineVerdict::Met | LineVerdict::Better => Tone::Good,
        };
        table.row([
            title(line.line).into(),
            figures::count(line.count).into(),
            time(line.min_us),
            time(line.p50_us),
            time(line.p95_us),
            time(line.p99_us),
            TableCell::from(ms(line.mean_us)).bar(Some(line.mean_us / 1e3), Some(ends), Vec::new()),
            range(line.expected).into(),
            line.without_round_trip_us
                .map_or_else(String::new, ms)
                .into(),
            TableCell::from(verdict(line)).tone(tone),
            parts.collect::<Vec<_>>().join(", ").into(),
        ]);
    }
    let judged =
        "the mean is judged against the upper end; less RTT: p50 minus the p50 of the round trip";
    table.notes.push(judged.to_owned());
    table.notes.extend(endpoints(c));
    table.notes.extend(yardsticks(c));
    table
}

/// What each of several endpoints takes: the lines are those of the slowest.
fn endpoints(c: &Calibration) -> Vec<String> {
    let of_line = |line: &CalibrationLine| {
        let worst = one_line(line.endpoint.as_deref()?);
        let each = line.endpoints.iter().map(|at| {
            let (mean, name) = (ms(at.mean_us), one_line(&at.name));
            format!("{mean} ms on average at {name} ({})", at.verdict.name())
        });
        let each = each.collect::<Vec<_>>().join(", ");
        let (name, count) = (title(line.line), line.endpoints.len());
        Some(format!(
            "{name} at the slowest of {count} endpoints, {worst}: {each}"
        ))
    };
    c.lines.iter().filter_map(of_line).collect()
}

/// Where the expectations are from, a line for each yardstick.
fn yardsticks(c: &Calibration) -> Vec<String> {
    let of = |yardstick: Yardstick| {
        let lines = c.lines.iter().filter(|line| line.yardstick == yardstick);
        lines
            .map(|line| title(line.line))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut all = Vec::new();
    let by_host = of(Yardstick::Host);
    if let Some(host) = c.host.known().filter(|_| !by_host.is_empty()) {
        let sync = host
            .sync_us
            .known()
            .map(|us| format!(", {} ms a sync of its disk", ms(*us)));
        all.push(format!(
            "expected of {by_host}: by what this host can do: {} ms there and back over {}{}, {} ms of work",
            ms(host.round_trip_us),
            host.way,
            sync.unwrap_or_default(),
            figures::ms_shortly(host.work_us)
        ));
    }
    let by_article = of(Yardstick::Article);
    if !by_article.is_empty() {
        let why = match &c.host {
            Fact::Known(host) => match &host.sync_us {
                Fact::Unknown(why) => one_line(why),
                Fact::Known(_) => String::new(),
            },
            Fact::Unknown(why) => one_line(why),
        };
        all.push(format!(
            "expected of {by_article}: an article's figures (pgdyno help calibrate), not this host's: {why}"
        ));
    }
    let asked = of(Yardstick::Asked);
    if !asked.is_empty() {
        all.push(format!("expected of {asked}: --expect"));
    }
    all
}

fn verdict(line: &CalibrationLine) -> String {
    if line.doubts.is_empty() {
        line.verdict.name().to_owned()
    } else {
        format!("{} (!)", line.verdict.name())
    }
}

fn range(range: Range) -> String {
    let short = figures::ms_shortly;
    if range.low_us > 0.0 {
        format!("{}–{}", short(range.low_us), short(range.high_us))
    } else {
        format!("up to {}", short(range.high_us))
    }
}

/// Causes of misses, what to look at, and what is known of the sync; each sentence once.
fn comments(c: &Calibration) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut said: BTreeSet<&str> = BTreeSet::new();
    for line in &c.lines {
        let name = match &line.endpoint {
            Some(endpoint) => format!("{} at {}", title(line.line), one_line(endpoint)),
            None => title(line.line).to_owned(),
        };
        if let Some(cause) = &line.cause {
            all.push(format!("{name}: {}: {}", cause.part.name(), cause.sentence));
            all.extend(
                cause
                    .evidence
                    .iter()
                    .filter(|it| said.insert(it.as_str()))
                    .cloned(),
            );
        } else if line.verdict == LineVerdict::Missed {
            all.push(format!(
                "{name}: the cause is not known: the round trip was not measured"
            ));
        }
        let doubts = line
            .doubts
            .iter()
            .filter(|doubt| said.insert(doubt.as_str()));
        all.extend(doubts.map(|doubt| format!("(!) {name}: {doubt}")));
    }
    let sync = c
        .sync
        .sentences
        .iter()
        .filter(|sentence| said.insert(sentence.as_str()));
    all.extend(sync.map(|sentence| format!("sync: {sentence}")));
    all
}

fn baseline(c: &Calibration) -> String {
    match c.baseline {
        Some(Baseline::Met) => {
            // A doubt withdraws it, as in the answer.
            let doubtful = { c.lines.iter() }.any(|line| {
                matches!(line.line, What::Read | What::Update) && !line.doubts.is_empty()
            });
            let doubtful = if doubtful { ", but (!) doubtful" } else { "" };
            format!("baseline met: read and update are as fast as expected or faster{doubtful}")
        }
        Some(Baseline::Missed) => {
            let missed = c.lines.iter().filter(|line| {
                matches!(line.line, What::Read | What::Update)
                    && line.verdict == LineVerdict::Missed
            });
            let missed: Vec<String> = missed
                .map(|line| {
                    let cause = line.cause.as_ref().map(|cause| cause.part.name());
                    let cause = cause.map_or_else(String::new, |cause| format!(" ({cause})"));
                    format!("{}{cause}", title(line.line))
                })
                .collect();
            format!("baseline MISSED: {}", missed.join(", "))
        }
        None => "baseline not known: reads and updates were not measured to the end".to_owned(),
    }
}

fn concurrency(c: &Concurrency) -> SectionPart {
    let mut columns = vec![
        TableColumn::words("clients"),
        TableColumn::bars("done/s", "more is better"),
    ];
    columns.push(TableColumn::figure("p50 ms"));
    columns.push(TableColumn::bars("p99 ms", "less is better"));
    columns.extend([TableColumn::figure("failed"), TableColumn::words("")]);
    let mut table = FigureTable::new("", columns);
    for step in &c.steps {
        let time = |us: Option<u64>| {
            TableCell::from(us.map_or_else(|| figures::DASH.to_owned(), figures::ms))
        };
        let p99_ms = step.p99_us.map(|us| us as f64 / 1e3);
        let limit = if step.client_bound {
            "pgdyno is the limit"
        } else {
            ""
        };
        table.row([
            step.clients.to_string().into(),
            TableCell::from(figures::rate(step.goodput_per_s)).bar(
                Some(step.goodput_per_s),
                None,
                Vec::new(),
            ),
            time(step.p50_us),
            time(step.p99_us).bar(p99_ms, None, Vec::new()),
            figures::count(step.failed).into(),
            limit.into(),
        ]);
    }
    let least = c.least_growth * 100.0;
    table
        .notes
        .extend(c.throughput_stops.as_ref().map(|stops| match stops {
            Saturation::At {
                clients,
                goodput_per_s,
            } => format!(
                "throughput stops growing at {}: {}/s; more clients add less than {least:.0} %",
                clients_words(*clients),
                figures::rate(*goodput_per_s)
            ),
            Saturation::Beyond { clients, .. } => {
                format!(
                    "throughput still grows at {}, the largest number tried",
                    clients_words(*clients)
                )
            }
        }));
    table.notes.push(match c.p99_bends {
        Some(Bend::At { clients }) => {
            format!(
                "p99 bends at {}: beyond it grows faster than throughput",
                clients_words(clients)
            )
        }
        Some(Bend::AtOrBelow { clients }) => format!(
            "p99 bends at {} already: it grows faster than throughput from there on",
            clients_words(clients)
        ),
        Some(Bend::NotSeen) => "p99 has no knee up to the highest throughput".to_owned(),
        None => format!(
            "where p99 bends is not known: {}",
            c.p99_unknown.as_deref().unwrap_or_default()
        ),
    });
    SectionPart::Table(table)
}

fn clients_words(clients: u32) -> String {
    match clients {
        1 => "1 client".to_owned(),
        more => format!("{more} clients"),
    }
}

/// A system among others: those of one name are distinguished by their UUIDs.
pub fn label(c: &Calibration, systems: &[Calibration]) -> String {
    let name = one_line(&c.calibration);
    let mut others = systems.iter().filter(|o| o.uuid != c.uuid);
    if others.any(|other| other.calibration == c.calibration) {
        format!("{name} ({:.8})", c.uuid)
    } else {
        name
    }
}

/// Systems side by side: a row a system, for people.
pub fn systems(systems: &[Calibration]) -> String {
    let mut table = Table::default();
    table.row([
        "mean ms",
        "baseline",
        "round trip",
        "commit",
        "read",
        "update",
        "best done/s",
        "clients",
    ]);
    for c in systems {
        let mean = |what| {
            let line = c.lines.iter().find(|line| line.line == what);
            line.map_or_else(
                || "–".to_owned(),
                |line| {
                    let mark = match line.verdict {
                        LineVerdict::Missed => " missed",
                        _ if !line.doubts.is_empty() => " (!)",
                        _ => "",
                    };
                    format!("{}{mark}", ms(line.mean_us))
                },
            )
        };
        let best = best(c);
        table.row([
            label(c, systems),
            match c.baseline {
                Some(Baseline::Met) => "met",
                Some(Baseline::Missed) => "missed",
                None => "–",
            }
            .to_owned(),
            mean(What::RoundTrip),
            mean(What::Commit),
            mean(What::Read),
            mean(What::Update),
            best.map_or_else(|| "–".to_owned(), |s| figures::rate(s.goodput_per_s)),
            best.map_or_else(|| "–".to_owned(), |s| s.clients.to_string()),
        ]);
    }
    let mut text = table.text(WIDTH);
    let mut any_doubt = false;
    for c in systems {
        for line in &c.lines {
            if let Some(cause) = &line.cause {
                text += &format!(
                    "\n{}, {}: {}: {}\n",
                    label(c, systems),
                    title(line.line),
                    cause.part.name(),
                    cause.sentence
                );
            }
            any_doubt |= !line.doubts.is_empty();
        }
    }
    if any_doubt {
        text += "\n(!) a doubtful figure: pgdyno show --experiment NAME says why\n";
    }
    text
}

/// The greatest throughput of more than one client.
fn best(c: &Calibration) -> Option<&Step> {
    let steps = c.concurrency.iter().flat_map(|more| &more.steps);
    steps.max_by(|a, b| a.goodput_per_s.total_cmp(&b.goodput_per_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::document;
    use pgdyno_diagnose::calibration::read;

    #[test]
    fn systems_of_one_name_are_distinguished_by_uuid() {
        let systems = [
            read::Calibration::nothing_yet("db1", "0123456789"),
            read::Calibration::nothing_yet("db1", "abcdefghij"),
            read::Calibration::nothing_yet("db2", "klmnopqrst"),
        ];
        let systems = systems.map(|c| document(&c));
        let labels: Vec<_> = systems.iter().map(|c| label(c, &systems)).collect();
        assert_eq!(labels, ["db1 (01234567)", "db1 (abcdefgh)", "db2"]);
        let text = super::systems(&systems);
        assert!(text.contains("\ndb1 (abcdefgh) "), "{text}");
        assert_eq!(systems[0].baseline, None);
    }

    #[test]
    fn expectations_are_written_as_short_as_they_are_typed() {
        let of = |low_us, high_us| range(Range { low_us, high_us });
        assert_eq!(of(1000.0, 2000.0), "1–2");
        assert_eq!(of(200.0, 1500.0), "0.2–1.5");
        assert_eq!(of(0.0, 1000.0), "up to 1");
    }
}
