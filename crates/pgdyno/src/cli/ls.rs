//! `pgdyno ls`: the trials of the notebook.

use std::time::{Duration, SystemTime};

use clap::Args;
use pgdyno_platform::terminal;
use serde_json::Value;

use super::rows_args::RowsArgs;

use pgdyno_model::State;
use pgdyno_model::document::{Interval, Intervals};
use pgdyno_model::notebook::{Filter, Kind, ListedTrial, TrialRow};
use pgdyno_model::stamp::stamp;
use pgdyno_output::{StoreArgs, Verbosity, write_answer};
use pgdyno_report::table::{Table, cut, one_line};
use pgdyno_report::wrap::fitted;
use pgdyno_spec::{Exit, Failure, duration, text, text::DASH};
use pgdyno_store::Store;

/// So many trials are shown to a person who does not say how many.
const LIMIT_DEFAULT: u64 = 50;
/// Trials that are not shown are counted up to here: a list takes as long whatever the notebook has.
const COUNT_MAX: u64 = 10_000;

/// Percentiles of no more trials get their marks of doubt, which are made from all seconds of each.
const MARKED_MAX: usize = 200;

/// So much of a workload's name is seen on the narrowest terminal.
const NAME_MIN: usize = 8;

/// Which trials, and how they are shown.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno ls                                the newest 50
  pgdyno ls --workload tpcb --since 7d     of the last seven days
  pgdyno ls --tag baseline --state complete
  pgdyno ls --csv > trials.csv             all, every column
  pgdyno ls --experiments                  then: pgdyno show --experiment NAME

A trial is named by its number or by the first characters of its UUID:
  pgdyno show 12; pgdyno note 12 'new disks'; pgdyno exclude 12 --reason 'backup was running'")]
pub struct LsArgs {
    /// List experiments instead of trials
    #[arg(long, conflicts_with_all = ["experiment", "workload", "tag", "state", "since"])]
    pub experiments: bool,
    /// Only trials of this experiment: its name, or the first characters of its UUID
    #[arg(long, value_name = "EXPERIMENT")]
    pub experiment: Option<String>,
    /// Only trials of this workload
    #[arg(long, value_name = "NAME")]
    pub workload: Option<String>,
    /// Only trials with this tag; repeated: with all of them
    #[arg(long, value_name = "TAG")]
    pub tag: Vec<String>,
    /// Only trials in this state
    #[arg(long, value_enum)]
    pub state: Option<State>,
    /// Only trials started since a date (2026-01-31, UTC), a time (2026-01-31T12:00:00Z), or an age
    /// (12h, 7d)
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub since: Option<String>,
    /// Maximum number of trials, newest first; 0: all [default: 50, with --json and --csv all]
    #[arg(long, value_name = "COUNT")]
    pub limit: Option<u64>,
    /// In what form.
    #[command(flatten)]
    pub rows: RowsArgs,
    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// A stamp of the notebook, of a date, a time or an age.
pub(super) fn since(text: &str) -> Result<String, String> {
    let wrong = || {
        "WHEN is a date (2026-01-31), a time (2026-01-31T12:00:00Z), or an age (30m, 12h, 7d)"
            .to_owned()
    };
    let ago = match text.strip_suffix('d').map(str::parse::<f64>) {
        Some(Ok(days)) if (0.0..=36_600.0).contains(&days) => {
            Some(Duration::from_secs_f64(days * 86_400.0))
        }
        Some(_) => return Err(wrong()),
        None => duration::parse(text).ok(),
    };
    if let Some(ago) = ago {
        let then = SystemTime::now().checked_sub(ago);
        return then.map(stamp).ok_or_else(wrong);
    }
    let time = pgdyno_model::stamp::read(text)
        .or_else(|| pgdyno_model::stamp::read(&format!("{text}T00:00:00Z")));
    time.map(stamp).ok_or_else(wrong)
}

/// Runs the command.
pub fn open(args: &LsArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let store = args.store.existing()?;
    let for_programs = args.rows.is_for_programs();
    let limit = match args.limit {
        None if for_programs => None,
        None => Some(LIMIT_DEFAULT),
        Some(0) => None,
        some => some,
    };
    if args.experiments {
        return experiments(&store, args, limit);
    }
    let filter = Filter {
        experiment: args.experiment.clone(),
        workload: args.workload.clone(),
        tags: args.tag.clone(),
        state: args.state,
        since: args.since.clone(),
        limit,
        ..Filter::default()
    };
    if for_programs {
        let trials = store.trials(&filter)?;
        let (columns, rows) = for_program(&trials);
        args.rows.print(&columns, rows)?;
        return Ok(Exit::Ok);
    }
    let trials = store.listed(&filter)?;
    let rows: Vec<Row<'_>> = trials
        .iter()
        .enumerate()
        .map(|(at, trial)| Row::of(&store, trial, at < MARKED_MAX))
        .collect::<Result<_, _>>()?;
    write_answer(format_args!("{}", table(&rows)))?;
    let shown = trials.len() as u64;
    if shown == 0 && !verbosity.quiet {
        pgdyno_output::remark!("pgdyno: no trial is like that; pgdyno ls shows the newest");
    }
    if limit.is_some_and(|limit| shown >= limit) && !verbosity.quiet {
        let most = COUNT_MAX.max(shown);
        let all = store.count_up_to(&filter, most + 1)?;
        if all > shown {
            let (shown, all) = (text::count(shown), up_to(all, most));
            pgdyno_output::remark!("pgdyno: {shown} of {all} trials; all of them: --limit 0");
        }
    }
    Ok(Exit::Ok)
}

/// How many there are, where no more than one beyond `most` were counted.
fn up_to(all: u64, most: u64) -> String {
    if all > most {
        format!("more than {}", text::count(most))
    } else {
        text::count(all)
    }
}

fn experiments(store: &Store, args: &LsArgs, limit: Option<u64>) -> Result<Exit, Failure> {
    let experiments = store.experiments(limit)?;
    if args.rows.is_for_programs() {
        let columns = ["number", "uuid", "name", "created", "trials", "complete"];
        let rows = experiments.iter().map(|(row, trials, complete)| {
            let cells = [
                row.number.into(),
                row.uuid.as_str().into(),
                row.name.as_str().into(),
                row.created.as_str().into(),
                (*trials).into(),
                (*complete).into(),
            ];
            Vec::from(cells)
        });
        args.rows
            .print(&columns.map(str::to_owned), rows.collect())?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::default();
    table.row(["experiment", "uuid", "begun, UTC", "trials", "complete"]);
    for (row, trials, complete) in &experiments {
        table.row([
            one_line(&row.name),
            row.uuid.chars().take(8).collect(),
            minute(&row.created),
            text::count(*trials),
            text::count(*complete),
        ]);
    }
    write_answer(format_args!("{}", table.text(width())))?;
    Ok(Exit::Ok)
}

fn width() -> usize {
    terminal::width().map_or(usize::MAX, usize::from)
}

/// `2026-01-31 12:00` of a stamp.
fn minute(stamp: &str) -> String {
    stamp.chars().take(16).collect::<String>().replace('T', " ")
}

/// The columns that stand first; the others follow by name.
const FIRST: [&str; 6] = ["number", "uuid", "state", "started", "workload", "clients"];

/// Every column, those of latencies side by side.
fn for_program(trials: &[TrialRow]) -> (Vec<String>, Vec<Vec<Value>>) {
    let mut columns = Vec::new();
    let mut rows = Vec::new();
    for trial in trials {
        let mut fields = fields(trial);
        let place = |name: &str| FIRST.iter().position(|first| *first == name);
        fields.sort_by_cached_key(|(name, _)| (place(name).unwrap_or(FIRST.len()), name.clone()));
        let row;
        (columns, row) = fields.into_iter().unzip();
        rows.push(row);
    }
    (columns, rows)
}

fn fields(trial: &TrialRow) -> Vec<(String, Value)> {
    // What both have, the trial's name of its workload, is the row's.
    let fields = (
        serde_json::to_value(&trial.spec),
        serde_json::to_value(trial),
    );
    let (Ok(Value::Object(mut fields)), Ok(Value::Object(own))) = fields else {
        return Vec::new();
    };
    fields.extend(own);
    let flat = |(name, value)| match value {
        Value::Object(figures) if ["service", "response"].contains(&String::as_str(&name)) => {
            let figure = |(figure, value)| (format!("{name}_{figure}"), value);
            figures.into_iter().map(figure).collect()
        }
        value => vec![(name, value)],
    };
    fields.into_iter().flat_map(flat).collect()
}

/// A trial with its percentiles as they are shown, in milliseconds.
struct Row<'a> {
    trial: &'a ListedTrial,
    p50_ms: String,
    p99_ms: String,
}

impl<'a> Row<'a> {
    fn of(store: &Store, trial: &'a ListedTrial, has_marks: bool) -> Result<Self, Failure> {
        let (p50_us, p99_us) = trial.p50_and_p99_us();
        let values_us = [(50.0, p50_us), (99.0, p99_us)];
        let kind = match trial.response_p50_us {
            Some(_) => Kind::Response,
            None => Kind::Service,
        };
        let intervals = if has_marks && p50_us.is_some() {
            Intervals::of_seconds(&store.latencies_by_second(trial.number, kind)?)
        } else {
            Vec::new()
        };
        let ms = |(percentile, us): (f64, Option<u64>)| {
            let interval = intervals.iter().find(|it| it.percentile == percentile);
            let shown = us.map(|us| Interval::marked(text::ms(us), interval));
            shown.unwrap_or_else(|| DASH.to_owned())
        };
        Ok(Self {
            trial,
            p50_ms: ms(values_us[0]),
            p99_ms: ms(values_us[1]),
        })
    }
}

fn table(rows: &[Row<'_>]) -> String {
    let mut table = Table::default();
    table.row([
        "workload",
        "trial",
        "uuid",
        "started, UTC",
        "state",
        "clients",
        "goodput/s",
        "p50 ms",
        "p99 ms",
        "failed",
        "marks",
    ]);
    for row in rows {
        let trial = row.trial;
        let dash = || DASH.to_owned();
        table.row([
            one_line(&trial.workload),
            trial.number.to_string(),
            trial.uuid.chars().take(8).collect(),
            minute(&trial.started),
            trial.state.name().to_owned(),
            trial.clients.unwrap_or(1).to_string(),
            trial.goodput_per_s.map_or_else(dash, text::rate),
            row.p50_ms.clone(),
            row.p99_ms.clone(),
            trial.failed.map_or_else(dash, text::count),
            one_line(&marks(trial).join(" ")),
        ]);
    }
    let whole = table.text(usize::MAX);
    let widest = whole.lines().map(|line| line.chars().count()).max();
    if widest > Some(width()) {
        narrow(rows, width())
    } else {
        whole
    }
}

/// The same for a terminal of so many characters, which is too narrow: without UUID and year, and a second line
/// for what a trial is marked with. Names and tags that are longer are cut.
fn narrow(rows: &[Row<'_>], width: usize) -> String {
    let names = rows.iter().map(|row| row.trial.workload.chars().count());
    let longest = names.max().unwrap_or_default();
    let whole = figures(rows, longest);
    let widest = whole.lines().map(|line| line.chars().count()).max();
    let beside = widest.unwrap_or_default().saturating_sub(longest);
    let text = figures(rows, width.saturating_sub(beside).max(NAME_MIN));
    let mut lines = text.lines().map(|line| cut(line, width));
    let mut listed = lines
        .next()
        .map_or_else(String::new, |line| format!("{line}\n"));
    for (line, row) in lines.zip(rows) {
        let trial = row.trial;
        listed += &format!("{line}\n");
        let state = (trial.state != State::Complete).then(|| trial.state.name().to_owned());
        let marks: Vec<String> = state.into_iter().chain(marks(trial)).collect();
        if !marks.is_empty() {
            let marks = fitted(&format!("    {}", one_line(&marks.join(" "))), width);
            let marks = marks.lines().map(|line| format!("{}\n", cut(line, width)));
            listed.extend(marks);
        }
    }
    listed
}

/// What there is room for on a narrow terminal, with names of so many characters.
fn figures(rows: &[Row<'_>], name_max: usize) -> String {
    let mut table = Table::default();
    table.row([
        "workload",
        "trial",
        "started, UTC",
        "clients",
        "goodput/s",
        "p50 ms",
        "p99 ms",
        "failed",
    ]);
    let dash = || DASH.to_owned();
    for row in rows {
        let trial = row.trial;
        table.row([
            cut(&one_line(&trial.workload), name_max),
            trial.number.to_string(),
            minute(&trial.started).chars().skip(5).collect(),
            trial.clients.unwrap_or(1).to_string(),
            trial.goodput_per_s.map_or_else(dash, text::rate),
            row.p50_ms.clone(),
            row.p99_ms.clone(),
            trial.failed.map_or_else(dash, text::count),
        ]);
    }
    table.text(usize::MAX)
}

/// Tags, whether it is excluded, and its experiment.
fn marks(trial: &ListedTrial) -> Vec<String> {
    let mut marks: Vec<String> = trial.tags.clone();
    marks.extend(trial.excluded.iter().map(|_| "(excluded)".to_owned()));
    let experiment = trial.experiment_name.iter().map(|name| format!("[{name}]"));
    marks.extend(experiment);
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_a_narrow_terminal() {
        let trial = |workload: &str, tags: &[&str]| ListedTrial {
            number: 7,
            uuid: "0195c2f0-1111".to_owned(),
            state: State::Aborted,
            reason: None,
            started: "2026-01-31T12:00:00.000000Z".to_owned(),
            target: "t".to_owned(),
            note: None,
            experiment_name: Some("an experiment with a long name".repeat(3)),
            excluded: None,
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            workload: workload.to_owned(),
            clients: Some(100),
            failed: Some(1_234_567),
            goodput_per_s: Some(123_456.0),
            service_p50_us: Some(1_234_567),
            service_p99_us: Some(12_345_678),
            response_p50_us: None,
            response_p99_us: None,
        };
        let tag = "a-tag-without-a-space-that-is-longer-than-the-terminal-is-wide".repeat(2);
        let trials = [
            trial("tpcb", &[&tag, "short"]),
            trial(&"a-long-name-of-a-script".repeat(4), &[]),
        ];
        let rows = trials.each_ref().map(|trial| Row {
            trial,
            p50_ms: "1234.567~".to_owned(),
            p99_ms: "12345.678~".to_owned(),
        });
        for width in [60, 80, 100] {
            let listed = narrow(&rows, width);
            for line in listed.lines() {
                assert!(line.chars().count() <= width, "{width}: {line:?}");
            }
            assert!(
                listed.contains("tpcb") && listed.contains("short"),
                "{listed}"
            );
        }
    }

    #[test]
    fn trials_beyond_the_most_that_are_counted_are_more_than_that() {
        assert_eq!(up_to(120, COUNT_MAX), "120");
        assert_eq!(up_to(COUNT_MAX, COUNT_MAX), "10,000");
        assert_eq!(up_to(COUNT_MAX + 1, COUNT_MAX), "more than 10,000");
    }

    #[test]
    fn since_is_a_date_a_time_or_so_long_ago() {
        assert_eq!(since("2026-01-31").unwrap(), "2026-01-31T00:00:00.000000Z");
        assert_eq!(
            since("2026-01-31T13:00:00+01:00").unwrap(),
            "2026-01-31T12:00:00.000000Z"
        );
        let hour_ago = since("1h").unwrap();
        assert!(since("7d").unwrap() < hour_ago && hour_ago < stamp(SystemTime::now()));
        for wrong in ["", "yesterday", "2026-13-01", "-1d", "1e99d", "d"] {
            assert!(since(wrong).is_err(), "{wrong}");
        }
    }
}
