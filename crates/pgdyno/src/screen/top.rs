//! What `pgdyno top` shows: running trials, a line each, or one of them.
//!
//! Not for: reading them, keys, when it is drawn (`cli/top.rs`).

use pgdyno_drive::record::{Latencies, Second};
use pgdyno_model::document::page::GeneratorNow;
use pgdyno_model::document::{GeneratorEnd, Part, TimeBudget, Trial};
use pgdyno_model::text as figures;

use super::view::percentiles;
use pgdyno_report::glance::{self, Glance};
use pgdyno_report::growing::{self, Growing};
use pgdyno_report::sparkline;
use pgdyno_report::table::{cut, one_line};

/// Seconds put together for what is of now.
const RECENT_US: u64 = 5_000_000;
/// Seconds of a sparkline beside a trial, and above one.
const SPARK: usize = 20;
const SPARK_LONG: usize = 60;
/// Parts of the time budget, kinds of failures and events that are named.
const SHOWN: usize = 4;
/// Generators of a trial that have a line in the list.
const GENERATORS: usize = 8;

/// A line, and how it looks where there is colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its text, no wider than was asked for.
    pub text: String,
    /// How it looks.
    pub look: Look,
}

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// As everything.
    Plain,
    /// A heading.
    Strong,
    /// The one that is chosen.
    Chosen,
    /// Beside what matters.
    Faint,
    /// Something went wrong.
    Bad,
}

impl Line {
    fn of(text: impl AsRef<str>, look: Look, width: usize) -> Self {
        let text = cut(&one_line(text.as_ref()), width);
        Self { text, look }
    }

    /// As a terminal shows it.
    pub fn shown(&self, with_colour: bool) -> String {
        let code = match self.look {
            Look::Strong => "1",
            // What is chosen must be seen without colour, too.
            Look::Chosen => "7",
            Look::Faint => "2",
            Look::Bad => "31",
            Look::Plain => return self.text.clone(),
        };
        match with_colour {
            true => format!("\x1b[{code}m{}\x1b[0m", self.text),
            false => self.text.clone(),
        }
    }
}

/// All that is running, with the one at `chosen` marked.
pub fn list(place: &str, all: &[Glance], chosen: Option<usize>, width: usize) -> Vec<Line> {
    let title = format!(
        "{} running in {place}",
        figures::plural(all.len() as u64, "trial")
    );
    let mut lines = vec![Line::of(title, Look::Strong, width)];
    if all.is_empty() {
        lines.push(Line::of("What begins appears here.", Look::Faint, width));
        return lines;
    }
    let room = width.saturating_sub(FIXED + SPARK + 2).max(8);
    // On a narrow terminal the course goes before the names do.
    let has_spark = room >= 18;
    let name = match has_spark {
        true => room.min(48),
        false => width.saturating_sub(FIXED + 1).max(8),
    };
    let head = format!(
        "  {:>5} {:<name$} {:>13} {:>9} {:>8} {:>8} {:>6} {}",
        "trial",
        "what",
        "time",
        "tx/s",
        "p50 ms",
        "p99 ms",
        "failed",
        if has_spark { "last 20 s" } else { "" }
    );
    lines.push(Line::of(head.trim_end(), Look::Faint, width));
    for (at, one) in all.iter().enumerate() {
        let is_chosen = chosen == Some(at);
        let tail: Vec<Option<f64>> = last(&one.goodput_per_s, SPARK).map(Some).collect();
        let text = format!(
            "{} {:>5} {:<name$} {:>13} {:>9} {:>8} {:>8} {:>6} {}",
            if is_chosen { '>' } else { ' ' },
            one.number,
            what(one, name),
            progress(one.now_us, one.planned_us),
            rate(one),
            ms(one.p50_us),
            ms(one.p99_us),
            figures::count(one.failed),
            if has_spark {
                sparkline::of(&tail)
            } else {
                String::new()
            },
        );
        let trouble = trouble(one);
        let look = match (is_chosen, one.failed > 0) {
            (true, _) => Look::Chosen,
            (false, true) => Look::Bad,
            (false, false) => Look::Plain,
        };
        lines.push(Line::of(text.trim_end(), look, width));
        // Where there is no room beside the figures, the course is below them.
        let course = (!has_spark).then(|| sparkline::of(&tail));
        let experiment = one.experiment.as_ref().map(|name| format!("in {name}"));
        lines.extend(trouble.map(|words| Line::of(format!("        {words}"), Look::Bad, width)));
        let second = [
            course,
            part(one),
            waits(&one.waits),
            Some(one.target.clone()),
            experiment,
        ];
        let second: Vec<String> = second.into_iter().flatten().collect();
        let second = format!("        {}", second.join("  "));
        lines.push(Line::of(second, Look::Faint, width));
        let generators = one.generators.iter().take(GENERATORS);
        lines.extend(generators.map(|of| Line::of(generator(of), look_of(of), width)));
        if let Some(more) = one.generators.len().checked_sub(GENERATORS + 1) {
            let more = figures::plural(more as u64 + 1, "other generator");
            lines.push(Line::of(format!("        {more}"), Look::Faint, width));
        }
    }
    lines
}

/// Which part of a trial it is, or that it is all of them; that some have died.
fn part(one: &Glance) -> Option<String> {
    let part = one.part.as_ref()?;
    Some(match one.generators.is_empty() {
        true => part.words(),
        false => part.words_together(),
    })
}

/// Why nothing comes of it, as far as is known.
fn trouble(one: &Glance) -> Option<String> {
    if one.is_gone && one.generators.is_empty() {
        let words =
            "its process has ended without a word: `pgdyno store push` brings what waits of it";
        return Some(words.to_owned());
    }
    let silent_s = one.silent_s?;
    Some(format!(
        "nothing has come from it for {silent_s} s: its process is halted, or cannot reach the notebook"
    ))
}

/// One of several: figures of its own.
fn generator(of: &GeneratorNow) -> String {
    let figures = match (of.has_died, of.now_us) {
        (true, now_us) => format!("has died at {}", clock(now_us.unwrap_or_default())),
        (false, None) => "starting".to_owned(),
        (false, Some(now_us)) => format!(
            "{}  {} tx/s{}  {} failed",
            clock(now_us),
            of.goodput_per_s.map_or("–".to_owned(), figures::rate),
            known_ms(&[("p99", of.p99_us)]),
            figures::count(of.failed)
        ),
    };
    let clients = figures::plural(of.clients.into(), "client");
    format!(
        "        generator {} (trial {}), {clients}: {figures}",
        of.generator, of.trial
    )
}

fn look_of(of: &GeneratorNow) -> Look {
    match of.has_died {
        true => Look::Bad,
        false => Look::Faint,
    }
}

/// Columns of a row without the name and the course.
const FIXED: usize = 2 + 5 + 1 + 1 + 13 + 1 + 9 + 1 + 8 + 1 + 8 + 1 + 6 + 1;

/// Of the last second.
fn rate(one: &Glance) -> String {
    one.goodput_per_s
        .last()
        .map_or("–".to_owned(), |rate| figures::rate(*rate))
}

/// A row for what is no terminal.
pub fn row(one: &Glance) -> String {
    let mut text = format!(
        "trial {}  {}  {}  {} tx/s{}",
        one.number,
        what(one, usize::MAX),
        progress(one.now_us, one.planned_us),
        rate(one),
        known_ms(&[("p50", one.p50_us), ("p99", one.p99_us)]),
    );
    if one.failed > 0 {
        text += &format!("  {} failed", figures::count(one.failed));
    }
    if let Some(waits) = waits(&one.waits) {
        text += &format!("  {waits}");
    }
    if let Some(part) = part(one) {
        text += &format!("  {part}");
    }
    if let Some(trouble) = trouble(one) {
        text += &format!("  {trouble}");
    }
    if one.warmup {
        text += "  (warm-up)";
    }
    one_line(&text)
}

/// Workload and clients in so many characters; of a script its file's name.
fn what(one: &Glance, width: usize) -> String {
    let clients = format!(", {}", figures::plural(one.clients.into(), "client"));
    let name = one.workload.rsplit('/').next().unwrap_or_default();
    let room = width.saturating_sub(clients.chars().count()).max(4);
    let text = one_line(&format!("{}{clients}", cut(name, room)));
    cut(&text, width)
}

/// `00:37/01:00`; what has passed only, where the end is not known.
fn progress(now_us: Option<u64>, planned_us: Option<u64>) -> String {
    let Some(now_us) = now_us else {
        return "starting".to_owned();
    };
    match planned_us {
        Some(planned_us) => format!("{}/{}", clock(now_us), clock(planned_us)),
        None => clock(now_us),
    }
}

fn clock(us: u64) -> String {
    let s = us / 1_000_000;
    match s >= 3600 {
        true => format!("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60),
        false => format!("{:02}:{:02}", s / 60, s % 60),
    }
}

fn ms(us: Option<u64>) -> String {
    us.map_or("–".to_owned(), figures::ms)
}

/// `  p50 1.02  p99 4.30 ms` of those that are known; nothing of none.
fn known_ms(all: &[(&str, Option<u64>)]) -> String {
    let known = all.iter();
    let known: Vec<String> = known
        .filter_map(|(name, us)| Some(format!("{name} {}", figures::ms((*us)?))))
        .collect();
    match known.is_empty() {
        true => String::new(),
        false => format!("  {} ms", known.join("  ")),
    }
}

fn waits(waits: &[(String, f64)]) -> Option<String> {
    let told: Vec<String> = waits
        .iter()
        .map(|(event, sessions)| format!("{event} {sessions:.1}"))
        .collect();
    (!told.is_empty()).then(|| told.join(", "))
}

fn last(values: &[f64], count: usize) -> impl Iterator<Item = f64> {
    values
        .iter()
        .copied()
        .skip(values.len().saturating_sub(count))
}

/// One trial; `rows` are how many lines there is room for, its newest seconds fill the rest.
pub fn one(trial: &Trial, growing: &Growing, title: &str, width: usize, rows: usize) -> Vec<Line> {
    let recording = &growing.outcome.recording;
    let seconds = &recording.seconds;
    let mut lines = vec![Line::of(title, Look::Strong, width)];
    let mut add = |name: &str, text: String, look: Look| {
        lines.push(Line::of(format!("{name:<12} {text}"), look, width));
    };
    let now_us = growing::now_us(seconds);
    let measuring = growing::measuring_from_us(seconds);
    let planned_us = growing::planned_us(&growing.outcome.spec, measuring);
    let bar = planned_us
        .zip(now_us)
        .map(|(planned, now)| bar(now, planned));
    let phase = match (now_us, measuring) {
        (None, _) => "clients have not worked for a second yet",
        (_, None) => "warm-up",
        _ => "",
    };
    let time = [
        Some(progress(now_us, planned_us)),
        bar,
        Some(phase.to_owned()),
    ];
    let time: Vec<String> = time
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect();
    add("time", time.join("  "), Look::Plain);
    let goodput = glance::goodput(seconds);
    let course: Vec<Option<f64>> = last(&goodput, SPARK_LONG).map(Some).collect();
    let measured = &trial.run.measured.all;
    let counts = &measured.counts;
    add(
        "goodput",
        format!(
            "{}/s so far, {}/s in the last second  {}",
            figures::rate(measured.goodput_per_s),
            goodput
                .last()
                .map_or("–".to_owned(), |rate| figures::rate(*rate)),
            sparkline::of(&course)
        ),
        Look::Plain,
    );
    let all = recording.measured.all();
    add(
        "so far, ms",
        percentiles(all.response.as_ref().unwrap_or(&all.service)),
        Look::Plain,
    );
    add("last 5 s, ms", percentiles(&recent(seconds)), Look::Plain);
    let failed = counts.failed > 0;
    let mut wrong = format!(
        "{} of {}",
        figures::count(counts.failed),
        figures::count(counts.committed + counts.failed + counts.skipped + counts.unknown)
    );
    for (number, word) in [
        (counts.unknown, "unknown"),
        (counts.skipped, "skipped"),
        (counts.retries, "retries"),
    ] {
        if number > 0 {
            wrong += &format!(", {} {word}", figures::count(number));
        }
    }
    let by_class: Vec<String> = by_class(&all.counts.failed)
        .into_iter()
        .map(|(class, count)| format!("{class} {}", figures::count(count)))
        .collect();
    if !by_class.is_empty() {
        wrong += &format!("; by reason: {}", by_class.join(", "));
    }
    add(
        "failed",
        wrong,
        if failed { Look::Bad } else { Look::Plain },
    );
    if let Some(waits) = waits(&glance::waits(&growing.outcome.observed)) {
        add("waits", format!("{waits} sessions on average"), Look::Plain);
    }
    if let Some(budget) = &trial.budget {
        add("clients’ time", stages(budget), Look::Plain);
    }
    let generators = trial.run.generators.iter().flat_map(|all| &all.list);
    for of in generators.take(GENERATORS) {
        let text = format!(
            "{}/s so far, {} committed, {} ({})",
            figures::rate(of.goodput_per_s),
            figures::count(of.committed),
            of.end.words(),
            clock(of.until_us)
        );
        let look = match of.end {
            GeneratorEnd::Died => Look::Bad,
            _ => Look::Plain,
        };
        add(&format!("generator {}", of.generator), text, look);
    }
    for event in events(trial, now_us) {
        add("event", event, Look::Faint);
    }
    for note in &trial.run.notes {
        add("note", note.sentence.clone(), Look::Faint);
    }
    let room = rows.saturating_sub(lines.len() + 2);
    if room > 0 && !seconds.is_empty() {
        let head = format!(
            "{:>8} {:>10} {:>9} {:>9} {:>9} {:>8} {:>8}",
            "second", "tx/s", "p50 ms", "p99 ms", "max ms", "failed", "retries"
        );
        lines.push(Line::of(head, Look::Faint, width));
        let newest = seconds.iter().rev().take(room);
        lines.extend(newest.map(|second| Line::of(of_second(second), Look::Plain, width)));
    }
    lines
}

/// `[████████░░░░░░░░]`.
fn bar(now: u64, planned: u64) -> String {
    const LENGTH: u64 = 30;
    let full = (now.min(planned) * LENGTH / planned.max(1)) as usize;
    format!("{}{}", "━".repeat(full), "─".repeat(LENGTH as usize - full))
}

fn recent(seconds: &[Second]) -> Latencies {
    let since_us = growing::now_us(seconds)
        .unwrap_or(0)
        .saturating_sub(RECENT_US);
    let mut all = Latencies::default();
    let recent = seconds
        .iter()
        .rev()
        .take_while(|second| second.start_us >= since_us);
    for script in recent.flat_map(|second| &second.scripts) {
        all.merge(&script.response.as_ref().unwrap_or(&script.service).unpack());
    }
    all
}

fn of_second(second: &Second) -> String {
    let mut latencies = Latencies::default();
    let (mut committed, mut failed, mut retries) = (0, 0, 0);
    for script in &second.scripts {
        latencies.merge(&script.response.as_ref().unwrap_or(&script.service).unpack());
        committed += script.counts.committed;
        failed += script.counts.failed_total();
        retries += script.counts.retries;
    }
    let percentile = |percent| figures::percentile_ms(&latencies, percent);
    format!(
        "{:>8} {:>10} {:>9} {:>9} {:>9} {:>8} {:>8}{}",
        clock(second.start_us + second.length_us),
        figures::rate(committed as f64 * 1e6 / second.length_us.max(1) as f64),
        percentile(50.0),
        percentile(99.0),
        if latencies.count() > 0 {
            figures::ms(latencies.max_us())
        } else {
            "–".to_owned()
        },
        figures::count(failed),
        figures::count(retries),
        if second.warmup { "  warm-up" } else { "" },
    )
}

/// The largest parts of the clients' time, and what no source explains.
fn stages(budget: &TimeBudget) -> String {
    let mut parts: Vec<_> = budget.parts.iter().collect();
    parts.sort_by(|a, b| b.share.total_cmp(&a.share));
    let (rest, known): (Vec<_>, Vec<_>) = parts
        .into_iter()
        .partition(|part| part.part == Part::NotAttributed);
    let told = known.into_iter().take(SHOWN).chain(rest);
    let told: Vec<String> = told
        .map(|part| format!("{} {}", part.name, figures::share(part.share)))
        .collect();
    told.join(", ")
}

/// The most frequent first.
fn by_class(
    failed: &std::collections::BTreeMap<pgdyno_drive::record::Failure, u64>,
) -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> = failed
        .iter()
        .map(|(class, count)| (class.code().to_owned(), *count))
        .collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    all.truncate(SHOWN);
    all
}

/// The last events of the server and of connections, the newest first.
fn events(trial: &Trial, now_us: Option<u64>) -> Vec<String> {
    let seen = trial.observed.iter().flat_map(|observed| &observed.events);
    let seen = seen.map(|event| (event.at_us, format!("{} {}", event.kind, event.text)));
    let connections = trial.run.events.iter();
    let connections = connections.map(|event| (event.at_us as i64, event.text.clone()));
    let mut all: Vec<(i64, String)> = seen.chain(connections).collect();
    all.sort_by_key(|(at_us, _)| std::cmp::Reverse(*at_us));
    all.truncate(SHOWN);
    let ago = |at_us: i64| (now_us.unwrap_or(0) as i64 - at_us).max(0) / 1_000_000;
    all.into_iter()
        .map(|(at_us, text)| format!("{} s ago: {text}", ago(at_us)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::State;
    use pgdyno_model::document::page::{GeneratorPart, PartOf};

    fn glance(number: i64) -> Glance {
        Glance {
            number,
            uuid: "u".to_owned(),
            workload: "tpcb".to_owned(),
            clients: 32,
            target: "postgresql://db1/bench".to_owned(),
            experiment: Some("nightly".to_owned()),
            started: String::new(),
            now_us: Some(37_000_000),
            planned_us: Some(60_000_000),
            warmup: false,
            goodput_per_s: (0..40).map(f64::from).collect(),
            p50_us: Some(7910),
            p99_us: None,
            failed: 0,
            waits: vec![("IO:WALSync".to_owned(), 14.12)],
            silent_s: None,
            is_gone: false,
            part: None,
            generators: Vec::new(),
        }
    }

    /// Of two generators, the second of which has died.
    fn together() -> Glance {
        let part = |generator: u32, state| GeneratorPart {
            generator,
            trial: i64::from(generator) + 7,
            state,
            is_silent: false,
        };
        let now = |generator: u32, has_died| GeneratorNow {
            generator,
            trial: i64::from(generator) + 7,
            has_died,
            clients: 16,
            now_us: Some(20_000_000),
            goodput_per_s: Some(1234.0),
            p99_us: None,
            failed: 0,
        };
        Glance {
            part: Some(PartOf {
                generator: 0,
                generators: 2,
                whole: None,
                parts: vec![part(0, State::Running), part(1, State::Aborted)],
            }),
            generators: vec![now(0, false), now(1, true)],
            ..glance(7)
        }
    }

    #[test]
    fn several_generators_are_one_row_with_a_line_each_and_who_has_died_is_named() {
        let lines = list("n.sqlite", &[together()], None, 160);
        let texts = texts(&lines);
        assert!(texts[0].starts_with("1 trial running"), "{}", texts[0]);
        let died = "2 generators; generator 1 (trial 8) has ended before its time";
        assert!(texts[3].contains(died), "{}", texts[3]);
        assert_eq!(
            texts[4].trim(),
            "generator 0 (trial 7), 16 clients: 00:20  1,234.0 tx/s  0 failed"
        );
        assert_eq!(
            texts[5].trim(),
            "generator 1 (trial 8), 16 clients: has died at 00:20"
        );
        assert_eq!(lines[5].look, Look::Bad);
        assert!(row(&together()).contains(died));
    }

    #[test]
    fn what_has_stopped_says_so() {
        let gone = Glance {
            is_gone: true,
            ..glance(3)
        };
        assert!(row(&gone).contains("its process has ended without a word"));
        let silent = Glance {
            silent_s: Some(15),
            ..glance(3)
        };
        let lines = list("n", &[silent], None, 120);
        let words = "nothing has come from it for 15 s";
        assert!(texts(&lines)[3].contains(words), "{:?}", texts(&lines));
        assert_eq!(lines[3].look, Look::Bad);
    }

    fn texts(lines: &[Line]) -> Vec<&str> {
        lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn a_trial_has_a_line_and_what_is_withheld_a_dash() {
        let lines = list("n.sqlite", &[glance(7), glance(12)], Some(1), 120);
        let texts = texts(&lines);
        assert_eq!(texts[0], "2 trials running in n.sqlite");
        assert!(
            texts[2].contains("tpcb, 32 clients") && texts[2].contains("00:37/01:00"),
            "{texts:?}"
        );
        assert!(
            texts[2].contains(" 39.0") && texts[2].contains("7.910") && texts[2].contains('–'),
            "{texts:?}"
        );
        assert!(texts[2].ends_with('█'), "{texts:?}");
        assert!(
            texts[3].contains("IO:WALSync 14.1") && texts[3].contains("in nightly"),
            "{texts:?}"
        );
        assert!(
            texts[4].starts_with('>') && lines[4].look == Look::Chosen,
            "{texts:?}"
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in [20, 40, 80, 200] {
            let lines = list(
                "a-notebook-with-a-long-name.sqlite",
                &[glance(7)],
                None,
                width,
            );
            assert!(
                lines.iter().all(|line| line.text.chars().count() <= width),
                "{width}: {:?}",
                texts(&lines)
            );
        }
        let narrow = list("n", &[glance(7)], None, 80);
        assert!(
            narrow[2].text.contains("7.910") && narrow[2].text.trim_end().ends_with('0'),
            "{:?}",
            texts(&narrow)
        );
    }

    #[test]
    fn colour_is_left_out_when_it_is_not_wanted() {
        let line = Line::of("x\u{1b}[2J", Look::Bad, 80);
        assert_eq!(line.shown(false), "x [2J");
        assert_eq!(line.shown(true), "\u{1b}[31mx [2J\u{1b}[0m");
    }

    #[test]
    fn nothing_is_an_answer() {
        let lines = list("n", &[], None, 80);
        assert_eq!(
            texts(&lines),
            ["0 trials running in n", "What begins appears here."]
        );
        assert_eq!(
            row(&Glance {
                failed: 3,
                warmup: true,
                ..glance(1)
            }),
            "trial 1  tpcb, 32 clients  00:37/01:00  39.0 tx/s  p50 7.910 ms  3 failed  IO:WALSync 14.1  (warm-up)"
        );
    }
}
