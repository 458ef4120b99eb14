//! `pgdyno show`: a trial's result again, from the notebook.

use clap::Args;
use serde_json::json;

use super::json_arg::JsonArg;
use super::rows_args::one_line;
use super::store_args::StoreArgs;
use crate::exit::{Exit, Failure};
use crate::report::{json, summary};
use crate::say::write_answer;
use crate::store::TrialRow;

/// Which trial.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno show 12               the summary that `pgdyno run` printed
  pgdyno show 3f2a --json      everything that `pgdyno run --json` gives, and `stored`")]
pub struct ShowArgs {
    /// Its number, or the first characters of its UUID
    #[arg(value_name = "TRIAL")]
    pub trial: String,
    /// For programs.
    #[command(flatten)]
    pub json: JsonArg,
    /// Which store.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Does it.
pub fn open(args: &ShowArgs) -> Result<Exit, Failure> {
    let store = args.store.existing()?;
    let trial = store.trial(&args.trial)?;
    let outcome = store.outcome(trial.number)?;
    let json_to = args.json.open()?;
    if !args.json.replaces_text() {
        let (heading, summary) = (heading(&trial), summary::text(&outcome));
        write_answer(format_args!("{heading}\n{summary}"))?;
    }
    let mut document = json::document(&outcome);
    document["stored"] = json!({
        "number": trial.number,
        "uuid": trial.uuid,
        "state": trial.state,
        "reason": trial.reason,
        "ended": trial.ended,
        "experiment": trial.experiment_name,
        "position": trial.position,
        "point": trial.point,
        "repeat": trial.repeat,
        "tags": trial.tags,
        "note": trial.note,
        "excluded": trial.excluded,
        "command": trial.command,
        "pgdyno": trial.pgdyno,
    });
    document["pgdyno"] = json!(trial.pgdyno);
    json_to.write(&document)?;
    Ok(Exit::Ok)
}

fn heading(trial: &TrialRow) -> String {
    let mut text = format!(
        "trial {}, {}, begun {}: {}",
        trial.number, trial.uuid, trial.started, trial.state
    );
    if let Some(reason) = &trial.reason {
        text += &format!(" ({})", one_line(reason));
    }
    text.push('\n');
    if let Some(experiment) = &trial.experiment_name {
        text += &format!("experiment   {}", one_line(experiment));
        if let Some(point) = &trial.point {
            text += &format!(", point {point}");
        }
        if let Some(repeat) = trial.repeat {
            text += &format!(", repeat {repeat}");
        }
        text.push('\n');
    }
    if !trial.tags.is_empty() {
        text += &format!("tags         {}\n", one_line(&trial.tags.join(" ")));
    }
    if let Some(note) = &trial.note {
        text += &format!("note         {}\n", one_line(note));
    }
    if let Some(reason) = &trial.excluded {
        text += &format!("EXCLUDED     {}\n", one_line(reason));
    }
    text += &format!("command      {}\n", one_line(&trial.command));
    text
}
