//! `pgdyno top`: the trials that are running, whoever runs them, from their notebook.

use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;

use pgdyno_model::notebook::TrialRow;
use pgdyno_model::spec::duration;
use pgdyno_model::{Exit, Failure, State};
use pgdyno_output::{JsonArg, StoreArgs, width, write_answer};
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_platform::keys::{Key, Screen};
use pgdyno_report::glance::{self, Glance};
use pgdyno_report::growing::{Growing, Grown, Silence};
use pgdyno_report::table::one_line;
use pgdyno_report::{documents, page};
use pgdyno_store::Store;

use crate::screen::top::{self, Line};

/// Which trials, and how they are shown.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno top                     the running trials of the notebook, once a second
  pgdyno top 12                  one of them: its seconds, its clients' time, waits, failures
  pgdyno top --store postgresql://notes/pgdyno    trials of all hosts that write there
  pgdyno top --once --json       for programs: what is running now
  pgdyno top 12 --json           a line of JSON a second until it ends

Keys: up and down choose a trial, Enter shows it, Escape goes back, q ends. Where standard output
is no terminal, each trial is a plain line a second. NO_COLOR in the environment leaves colours out.

More: pgdyno help serve")]
pub struct TopArgs {
    /// Show this trial: its number, or the first characters of its UUID [default: all that run]
    #[arg(value_name = "TRIAL")]
    pub trial: Option<String>,
    /// Show what there is now, and end
    #[arg(long)]
    pub once: bool,
    /// Time between two pictures
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub interval: Duration,
    /// For programs.
    #[command(flatten)]
    pub json: JsonArg,
    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Seconds come once a second.
fn interval(text: &str) -> Result<Duration, String> {
    let time = duration::parse(text)?;
    match time < Duration::from_secs(1) {
        true => Err("a notebook gets a second at a time: 1s or more".to_owned()),
        false => Ok(time),
    }
}

/// What programs get of the list.
#[derive(Serialize)]
struct List<'a> {
    notebook: &'a str,
    running: &'a [Glance],
}

/// Runs the command.
pub fn open(args: &TopArgs) -> Result<Exit, Failure> {
    let store = args.store.existing()?;
    let interrupts = Interrupts::install().map_err(|e| Failure::new(format!("signals: {e}")))?;
    let watch = Watch {
        place: store.place(),
        store,
        args,
        interrupts,
    };
    let given = args.trial.as_ref().map(|called| watch.store.trial(called));
    let given = given.transpose()?;
    let is_for_programs = args.json.json.is_some();
    let screen = (!args.once && !is_for_programs)
        .then(Screen::open)
        .flatten();
    match (screen, given) {
        (Some(screen), given) => watch.on(&screen, given),
        (None, Some(trial)) => watch.trial_in_lines(trial),
        (None, None) => watch.list_in_lines(),
    }
}

struct Watch<'a> {
    store: Store,
    place: String,
    args: &'a TopArgs,
    interrupts: &'static Interrupts,
}

impl Watch<'_> {
    /// Waits till the next picture; whether there is to be one.
    fn goes_on(&self) -> bool {
        !self.args.once && self.interrupts.wait_beyond(0, self.args.interval) == 0
    }

    /// All running trials, as lines or for programs.
    fn list_in_lines(&self) -> Result<Exit, Failure> {
        let mut watch = glance::Watch::default();
        let replaces = self.args.json.replaces_text();
        let mut json = self.args.json.open()?.lines();
        loop {
            let all = self.all(&mut watch)?;
            json.write(|| List {
                notebook: &self.place,
                running: &all,
            })?;
            match (replaces, self.args.once) {
                (true, _) => {}
                (false, true) => say(&top::list(&self.place, &all, None, width()))?,
                (false, false) => {
                    for one in &all {
                        write_answer(format_args!("{}\n", top::row(one)))?;
                    }
                }
            }
            if !self.goes_on() {
                return Ok(Exit::Ok);
            }
        }
    }

    /// One of them, until it ends.
    fn trial_in_lines(&self, row: TrialRow) -> Result<Exit, Failure> {
        if row.state != State::Running {
            return Err(is_over(&row));
        }
        let replaces = self.args.json.replaces_text();
        let mut json = self.args.json.open()?.lines();
        let mut growing = Growing::open(&self.store, row.number)?;
        let mut silence = Silence::new(Instant::now());
        loop {
            json.write(|| {
                let mut document = documents::trial(&growing.outcome);
                // The check of a verdict needs the whole trial.
                document.verdict = None;
                document
            })?;
            match (replaces, self.args.once) {
                (true, _) => {}
                (false, true) => say(&self.lines(&row, &growing, width(), usize::MAX))?,
                (false, false) => {
                    let mut one = glance::of(&self.store, &row)?;
                    one.silent_s = silence.after(one.now_us, one.planned_us, Instant::now());
                    write_answer(format_args!("{}\n", top::row(&one)))?;
                }
            }
            if !self.goes_on() {
                return Ok(Exit::Ok);
            }
            if let Grown::Over(state) = self.advance(&mut growing)? {
                let outcome = self.store.outcome(row.number)?;
                json.write(|| documents::trial(&outcome))?;
                if !replaces {
                    write_answer(format_args!("{}\n", ended(row.number, state)))?;
                }
                return Ok(Exit::Ok);
            }
        }
    }

    fn lines(&self, row: &TrialRow, growing: &Growing, width: usize, rows: usize) -> Vec<Line> {
        let trial = documents::trial(&growing.outcome);
        let title = format!(
            "trial {}  {}  {}",
            row.number,
            page::title(&trial.run),
            one_line(&row.target)
        );
        let rows = match rows {
            usize::MAX => 30,
            rows => rows,
        };
        top::one(&trial, growing, &title, width, rows)
    }

    /// On a screen, with keys.
    fn on(&self, screen: &Screen, given: Option<TrialRow>) -> Result<Exit, Failure> {
        let with_colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let only = given.is_some();
        let mut one: Option<(TrialRow, Growing)> = match given {
            Some(row) if row.state != State::Running => return Err(is_over(&row)),
            Some(row) => Some(self.watched(row)?),
            None => None,
        };
        let mut watch = glance::Watch::default();
        let mut all = Vec::new();
        let mut chosen = 0_usize;
        let mut said: Option<String> = None;
        let mut read: Option<Instant> = None;
        loop {
            if read.is_none_or(|read| read.elapsed() >= self.args.interval) {
                read = Some(Instant::now());
                let over = match &mut one {
                    Some((row, growing)) => match self.advance(growing)? {
                        Grown::Over(state) => Some(ended(row.number, state)),
                        Grown::By(_) => None,
                    },
                    None => {
                        all = self.all(&mut watch)?;
                        None
                    }
                };
                if let Some(over) = over {
                    if only {
                        // It stays when the screen is gone.
                        self.leave(&over);
                        return Ok(Exit::Ok);
                    }
                    said = Some(over);
                    one = None;
                    all = self.all(&mut watch)?;
                }
            }
            chosen = chosen.min(all.len().saturating_sub(1));
            let (width, rows) = screen.size();
            let mut lines = match &one {
                Some((row, growing)) => self.lines(row, growing, width, rows),
                None => top::list(&self.place, &all, Some(chosen), width),
            };
            lines.truncate(rows.saturating_sub(1));
            let mut shown: Vec<String> = lines.iter().map(|line| line.shown(with_colour)).collect();
            let hint = match (&said, &one, only) {
                (Some(said), ..) => said.clone(),
                (None, Some(_), true) => "q: end".to_owned(),
                (None, Some(_), false) => "Escape: all trials   q: end".to_owned(),
                (None, None, _) => "up, down, Enter: show a trial   q: end".to_owned(),
            };
            shown.resize(rows.saturating_sub(1), String::new());
            shown.push(hint.chars().take(width.saturating_sub(1)).collect());
            screen
                .draw(&shown)
                .map_err(|e| Failure::new(format!("cannot draw: {e}")))?;
            let left = self
                .args
                .interval
                .saturating_sub(read.map_or(Duration::ZERO, |read| read.elapsed()));
            for key in screen.keys(self.interrupts.fd(), left) {
                said = None;
                match key {
                    Key::Char('q') => return Ok(Exit::Ok),
                    Key::Up | Key::Char('k') => chosen = chosen.saturating_sub(1),
                    Key::Down | Key::Char('j') => chosen += 1,
                    Key::Enter if one.is_none() && chosen < all.len() => {
                        let row = self.row(all[chosen].number)?;
                        one = Some(match all[chosen].generators.is_empty() {
                            true => self.watched(row)?,
                            false => {
                                let growing = Growing::together(&self.store, row.number)?;
                                (row, growing)
                            }
                        });
                    }
                    Key::Back if one.is_some() && !only => {
                        one = None;
                        read = None;
                    }
                    _ => {}
                }
            }
            if self.interrupts.count() > 0 {
                return Ok(Exit::Ok);
            }
        }
    }

    /// All that run. A process that was killed says nothing of its end.
    fn all(&self, watch: &mut glance::Watch) -> Result<Vec<Glance>, Failure> {
        self.store.find_the_dead()?;
        watch.all(&self.store)
    }

    fn advance(&self, growing: &mut Growing) -> Result<Grown, Failure> {
        self.store.find_the_dead()?;
        growing.advance(&self.store)
    }

    fn leave(&self, words: &str) {
        pgdyno_output::remark!("{words}");
    }

    fn row(&self, number: i64) -> Result<TrialRow, Failure> {
        self.store.trial(&number.to_string())
    }

    fn watched(&self, row: TrialRow) -> Result<(TrialRow, Growing), Failure> {
        let growing = Growing::open(&self.store, row.number)?;
        Ok((row, growing))
    }
}

fn say(lines: &[Line]) -> Result<(), Failure> {
    let text: String = lines
        .iter()
        .map(|line| format!("{}\n", line.text))
        .collect();
    write_answer(format_args!("{text}"))
}

fn ended(number: i64, state: State) -> String {
    format!("trial {number} has ended: {state}; its result: pgdyno show {number}")
}

fn is_over(row: &TrialRow) -> Failure {
    let text = format!("trial {} is not running: {}", row.number, row.state);
    Failure::with(Exit::Usage, text)
        .hint(format!("its result: pgdyno show {}", row.number))
        .hint("what is running: pgdyno top")
}
