//! A calibration for people, alone or beside others.

use pgdyno_model::Fact;
use pgdyno_model::document::calibration::{
    Baseline, Bend, Calibration, CalibrationLine, Concurrency, LineVerdict, Range, Saturation,
    Step, What, Yardstick,
};

use crate::answer;
use crate::table::{Table, one_line};
use pgdyno_diagnose::calibration::judge::ms;
use pgdyno_spec::text as figures;

/// Tables are at most this wide, where that is possible.
const WIDTH: usize = 80;

/// All of it, ready to be printed.
pub fn text(c: &Calibration) -> String {
    let mut text = heading(c);
    if c.lines.is_empty() {
        return text + "\nnothing was measured\n";
    }
    text += &format!("\n{}\n{}", answer::text(&super::answer(c)), lines(c));
    text += &comments(c);
    text += &format!("\n{}", baseline(c));
    if let Some(more) = &c.concurrency {
        text += &format!("\n{}", concurrency(more));
    }
    text
}

fn heading(c: &Calibration) -> String {
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

fn lines(c: &Calibration) -> String {
    let mut table = Table::default();
    table.row([
        "ms", "count", "min", "p50", "p95", "p99", "mean", "expected", "less RTT", "verdict",
    ]);
    let time = |us: Option<u64>| us.map_or_else(|| "–".to_owned(), figures::ms);
    for line in &c.lines {
        table.row([
            title(line.line).to_owned(),
            figures::count(line.count),
            time(line.min_us),
            time(line.p50_us),
            time(line.p95_us),
            time(line.p99_us),
            ms(line.mean_us),
            range(line.expected),
            line.without_round_trip_us.map_or_else(String::new, ms),
            verdict(line),
        ]);
    }
    table.text(WIDTH)
        + "the mean is judged against the upper end; less RTT: p50 minus the p50 of the round trip\n"
        + &endpoints(c)
        + &yardsticks(c)
}

/// What each of several endpoints takes: the lines are those of the slowest.
fn endpoints(c: &Calibration) -> String {
    let mut text = String::new();
    for line in &c.lines {
        let Some(worst) = &line.endpoint else {
            continue;
        };
        text += &format!(
            "{} at the slowest of {} endpoints, {}:\n",
            title(line.line),
            line.endpoints.len(),
            one_line(worst)
        );
        for at in &line.endpoints {
            text += &format!(
                "    {:>10} ms on average  {}  {}\n",
                ms(at.mean_us),
                one_line(&at.name),
                at.verdict.name()
            );
        }
    }
    text
}

/// Where the expectations are from, a line for each yardstick.
fn yardsticks(c: &Calibration) -> String {
    let of = |yardstick: Yardstick| {
        let lines = c.lines.iter().filter(|line| line.yardstick == yardstick);
        lines.map(|line| title(line.line)).collect::<Vec<_>>()
    };
    let mut text = String::new();
    let by_host = of(Yardstick::Host);
    if let (Some(host), [_, ..]) = (c.host.known(), by_host.as_slice()) {
        text += &format!(
            "expected of {}: by what this host can do:\n    {} ms there and back over {}",
            by_host.join(", "),
            ms(host.round_trip_us),
            host.way
        );
        if let Some(sync_us) = host.sync_us.known() {
            text += &format!(", {} ms a sync of its disk", ms(*sync_us));
        }
        text += &format!(", {} ms of work\n", figures::ms_shortly(host.work_us));
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
        text += &format!(
            "expected of {}: an article's figures (pgdyno help calibrate), not this host's: {why}\n",
            by_article.join(", ")
        );
    }
    let asked = of(Yardstick::Asked);
    if !asked.is_empty() {
        text += &format!("expected of {}: --expect\n", asked.join(", "));
    }
    text
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

/// Causes of misses, what to look at, and what is known of the sync.
fn comments(c: &Calibration) -> String {
    let mut text = String::new();
    let mut reported: Vec<&str> = Vec::new();
    for line in &c.lines {
        let name = match &line.endpoint {
            Some(endpoint) => format!("{} at {}", title(line.line), one_line(endpoint)),
            None => title(line.line).to_owned(),
        };
        if let Some(cause) = &line.cause {
            text += &format!("\n{name}: {}: {}\n", cause.part.name(), cause.sentence);
            for evidence in &cause.evidence {
                if !reported.contains(&evidence.as_str()) {
                    text += &format!("    {evidence}\n");
                    reported.push(evidence);
                }
            }
        } else if line.verdict == LineVerdict::Missed {
            text += &format!("\n{name}: the cause is not known: the round trip was not measured\n");
        }
        for doubt in &line.doubts {
            if !reported.contains(&doubt.as_str()) {
                text += &format!("\n(!) {name}: {doubt}\n");
                reported.push(doubt);
            }
        }
    }
    let sentences = c.sync.sentences.iter();
    let sentences: Vec<&String> = sentences
        .filter(|s| !reported.contains(&s.as_str()))
        .collect();
    if !sentences.is_empty() {
        text.push('\n');
        sentences
            .iter()
            .for_each(|sentence| text += &format!("sync: {sentence}\n"));
    }
    text
}

fn baseline(c: &Calibration) -> String {
    match c.baseline {
        Some(Baseline::Met) => {
            // A doubt withdraws it, as in the answer.
            let doubtful = { c.lines.iter() }.any(|line| {
                matches!(line.line, What::Read | What::Update) && !line.doubts.is_empty()
            });
            let doubtful = if doubtful { ", but (!) doubtful" } else { "" };
            format!("baseline met: read and update are as fast as expected or faster{doubtful}\n")
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
            format!("baseline MISSED: {}\n", missed.join(", "))
        }
        None => "baseline not known: reads and updates were not measured to the end\n".to_owned(),
    }
}

fn concurrency(c: &Concurrency) -> String {
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
            if step.client_bound {
                "pgdyno is the limit".to_owned()
            } else {
                String::new()
            },
        ]);
    }
    let least = c.least_growth * 100.0;
    let mut text = table.text(WIDTH);
    match c.throughput_stops {
        Some(Saturation::At {
            clients,
            goodput_per_s,
        }) => {
            text += &format!(
                "throughput stops growing at {}: {}/s; more clients add less than {least:.0} %\n",
                clients_words(clients),
                figures::rate(goodput_per_s)
            );
        }
        Some(Saturation::Beyond { clients, .. }) => {
            text += &format!(
                "throughput still grows at {}, the largest number tried\n",
                clients_words(clients)
            );
        }
        None => {}
    }
    text += &match c.p99_bends {
        Some(Bend::At { clients }) => format!(
            "p99 bends at {}: beyond it grows faster than throughput\n",
            clients_words(clients)
        ),
        Some(Bend::AtOrBelow { clients }) => format!(
            "p99 bends at {} already: it grows faster than throughput from there on\n",
            clients_words(clients)
        ),
        Some(Bend::NotSeen) => "p99 has no knee up to the highest throughput\n".to_owned(),
        None => {
            let why = c.p99_unknown.as_deref().unwrap_or_default();
            format!("where p99 bends is not known: {why}\n")
        }
    };
    text
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
