//! `pgdyno record show`: what is in a recording.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use pgdyno_output::{JsonArg, table_width, write_report};
use pgdyno_recording::{Losses, Summary, summary};
use pgdyno_report::table::{Table, cut};
use pgdyno_spec::{
    Exit, Failure,
    text::{DASH, count, ms_shortly, percent, plural, seconds, time},
};

/// Grows when a field of the document changes its meaning or goes.
const FORMAT: u32 = 1;
/// Statements that are printed; JSON has all.
const STATEMENTS_MAX: usize = 15;
/// So much of a statement is printed.
const TEXT_MAX: usize = 60;
/// Where no statement is shorter, there was a threshold.
const THRESHOLD_US: u64 = 5_000;

#[derive(Debug, Args)]
pub struct ShowRecordingArgs {
    /// The recording
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// For programs.
    #[command(flatten)]
    pub json: JsonArg,
}

/// Runs the command.
pub fn open(args: &ShowRecordingArgs) -> Result<Exit, Failure> {
    let json_to = args.json.open()?;
    let path = args.file.display();
    let file = File::open(&args.file)
        .map_err(|error| Failure::with(Exit::Usage, format!("cannot read {path}: {error}")))?;
    let summary = summary(BufReader::new(file)).map_err(|error| {
        Failure::with(Exit::Usage, format!("{path}: {error}"))
            .hint("a recording is made by pgdyno record LOG… -o FILE")
    })?;
    json_to.write(&document(&summary))?;
    if !args.json.replaces_text() {
        write_report(format_args!("{}", text(&summary)))?;
    }
    Ok(Exit::Ok)
}

fn text(summary: &Summary) -> String {
    let length_us = summary.end_us - summary.begin_us;
    let mut text = format!(
        "{} of {} in {}; peak {} in a second (at {}), {} at once\n",
        plural(summary.statements, "statement"),
        plural(summary.sessions, "session"),
        seconds(length_us as f64 / 1e6),
        count(summary.peak_statements),
        seconds(summary.peak_s as f64),
        plural(summary.peak_sessions, "session"),
    );
    let mut line = |name: &str, value: String| text += &format!("{name:10}{value}\n");
    line(
        "from",
        format!(
            "{}; times to {}",
            summary.about.sources.join(", "),
            time(summary.about.clock_us as f64)
        ),
    );
    if let Some(ending) = &summary.ending {
        let shares = |counts: &std::collections::BTreeMap<String, u64>| {
            let mut counts: Vec<_> = counts.iter().collect();
            counts.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), name.as_str()));
            let name = |name: &str| {
                if name.is_empty() {
                    "not known".to_owned()
                } else {
                    name.to_owned()
                }
            };
            let shown = counts.iter().take(5).map(|(who, count)| {
                format!("{} {}", name(who), percent(**count, ending.statements))
            });
            shown.collect::<Vec<_>>().join(", ")
        };
        line("databases", shares(&ending.databases));
        line("users", shares(&ending.users));
    }
    line(
        "failed",
        format!(
            "{} ({})",
            count(summary.failed),
            percent(summary.failed, summary.statements)
        ),
    );
    line(
        "extended",
        format!(
            "{} with Parse, Bind and Execute",
            percent(summary.extended, summary.statements)
        ),
    );
    let not: u64 = summary.obstacles.values().sum();
    line(
        "replayed",
        format!(
            "{} can be",
            percent(summary.statements - not, summary.statements)
        ),
    );
    for (obstacle, number) in &summary.obstacles {
        text += &format!("{:>9}  {}\n", count(*number), obstacle.words());
    }
    if let Some(shortest_us) = summary.shortest_us.filter(|us| *us >= THRESHOLD_US) {
        text += &format!(
            "no statement is shorter than {}: was log_min_duration_statement 0?\n",
            time(shortest_us as f64)
        );
    }
    text += &lost(summary.losses);
    let unsaid = summary.ending.iter().flat_map(|ending| &ending.unsaid);
    let unsaid: Vec<_> = unsaid.collect();
    if !unsaid.is_empty() {
        text += "\nnot recorded\n";
        for (kind, number) in unsaid {
            text += &format!("{:>9}  {kind}\n", count(*number));
        }
    }
    text + "\n" + &statements(summary)
}

/// What of the file could not be read; nothing where all was.
pub fn lost(losses: Losses) -> String {
    let mut text = String::new();
    if losses.events > 0 || losses.blocks > 0 {
        text += &format!(
            "the file is damaged: {} of {} lost\n",
            plural(losses.events, "event"),
            plural(losses.blocks, "block")
        );
    }
    if losses.is_torn {
        text += "the end of the file is missing: how much was lost is not known\n";
    }
    text
}

fn statements(summary: &Summary) -> String {
    let mut table = Table::default();
    table.row(["statement", "time", "count", "failed", "mean ms", "most ms"]);
    let sum_us: u64 = summary.texts.iter().map(|text| text.sum_us).sum();
    for of in summary.texts.iter().take(STATEMENTS_MAX) {
        let ms = |us: Option<f64>| us.map_or(DASH.to_owned(), ms_shortly);
        let is_timed = of.timed > 0;
        table.row([
            cut(&of.text, TEXT_MAX),
            percent(of.sum_us, sum_us),
            count(of.statements),
            count(of.failed),
            ms(is_timed.then(|| of.sum_us as f64 / of.timed as f64)),
            ms(is_timed.then_some(of.most_us as f64)),
        ]);
    }
    let more = summary.texts.len().saturating_sub(STATEMENTS_MAX);
    let mut text = table.text(table_width());
    if more > 0 {
        text += &format!("… and {} more: --json\n", count(more as u64));
    }
    text
}

fn document(summary: &Summary) -> Value {
    let texts = summary.texts.iter().map(|of| {
        json!({
            "text": of.text,
            "fingerprint": format!("{:016x}", of.fingerprint),
            "statements": of.statements,
            "failed": of.failed,
            "timed": of.timed,
            "sum_us": of.sum_us,
            "most_us": of.most_us,
        })
    });
    let obstacles = summary.obstacles.iter();
    let obstacles =
        obstacles.map(|(obstacle, count)| json!({"why": obstacle.words(), "statements": count}));
    json!({
        "format": FORMAT,
        "about": summary.about,
        "ending": summary.ending,
        "lost": losses(summary.losses),
        "statements": summary.statements,
        "sessions": summary.sessions,
        "failed": summary.failed,
        "extended": summary.extended,
        "begin_us": summary.begin_us,
        "end_us": summary.end_us,
        "peak": {
            "second": summary.peak_s,
            "statements": summary.peak_statements,
            "sessions": summary.peak_sessions,
        },
        "shortest_us": summary.shortest_us,
        "not_replayed": obstacles.collect::<Vec<_>>(),
        "texts": texts.collect::<Vec<_>>(),
    })
}

/// What of a file could not be read, for programs.
pub fn losses(losses: Losses) -> Value {
    json!({
        "blocks": losses.blocks,
        "events": losses.events,
        "bytes": losses.bytes,
        "is_torn": losses.is_torn,
    })
}
