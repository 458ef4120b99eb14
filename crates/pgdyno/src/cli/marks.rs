//! `pgdyno note`, `tag`, `exclude` and `rm`: what people add to trials, and removing them.

use std::io::{self, BufRead};

use clap::Args;
use pgdyno_platform::terminal;

use pgdyno_output::{StoreArgs, answer, write_remark};
use pgdyno_spec::{Exit, Failure};
use pgdyno_store::Store;

/// A note.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno note 12 'after the new disks'    replaces its note
  pgdyno note 12                          prints it
  pgdyno note 12 --clear                  removes it")]
pub struct NoteArgs {
    /// The trial's number, or the first characters of its UUID
    #[arg(value_name = "TRIAL")]
    pub trial: String,
    /// The note's text
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
    /// Remove the note
    #[arg(long, conflicts_with = "text")]
    pub clear: bool,
    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `pgdyno note`
pub fn note(args: &NoteArgs) -> Result<Exit, Failure> {
    let store = args.store.existing()?;
    let trial = store.trial(&args.trial)?;
    match &args.text {
        Some(text) => store.set_note(trial.number, Some(text))?,
        None if args.clear => store.set_note(trial.number, None)?,
        None => answer!("{}", trial.note.unwrap_or_default())?,
    }
    Ok(Exit::Ok)
}

/// Tags.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno tag 12 baseline before-upgrade    adds two
  pgdyno tag 12 --remove baseline          removes one
  pgdyno tag 12                            prints them
  pgdyno ls --tag baseline                 lists trials with a tag")]
pub struct TagArgs {
    /// The trial's number, or the first characters of its UUID
    #[arg(value_name = "TRIAL")]
    pub trial: String,
    /// Tags to add
    #[arg(value_name = "TAG")]
    pub tags: Vec<String>,
    /// Remove this tag
    #[arg(long, value_name = "TAG")]
    pub remove: Vec<String>,
    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `pgdyno tag`
pub fn tag(args: &TagArgs) -> Result<Exit, Failure> {
    let store = args.store.existing()?;
    let trial = store.trial(&args.trial)?;
    if args.tags.is_empty() && args.remove.is_empty() {
        for tag in &trial.tags {
            answer!("{tag}")?;
        }
    }
    for tag in &args.tags {
        store.add_tag(trial.number, tag)?;
    }
    for tag in &args.remove {
        if !store.remove_tag(trial.number, tag)? {
            let text = format!("trial {} has no tag {tag}", trial.number);
            return Err(Failure::new(text));
        }
    }
    Ok(Exit::Ok)
}

/// Exclusion.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno exclude 12 --reason 'a backup was running'
  pgdyno exclude 12 --include                         includes it again

An excluded trial stays in the notebook with its reason; figures over several trials leave it out.")]
pub struct ExcludeArgs {
    /// The trial's number, or the first characters of its UUID
    #[arg(value_name = "TRIAL")]
    pub trial: String,
    /// Why it is excluded
    #[arg(long, value_name = "TEXT", required_unless_present = "include", conflicts_with = "include",
          value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub reason: Option<String>,
    /// Include it in results again
    #[arg(long)]
    pub include: bool,
    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `pgdyno exclude`
pub fn exclude(args: &ExcludeArgs) -> Result<Exit, Failure> {
    let store = args.store.existing()?;
    let number = store.trial_number(&args.trial)?;
    store.set_excluded(number, args.reason.as_deref())?;
    Ok(Exit::Ok)
}

/// Removal.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno rm 12 13          asks first
  pgdyno rm 12 13 --yes    does not

Deleted trials cannot be restored. To leave a trial out of results, exclude it instead:
  pgdyno exclude 12 --reason 'a backup was running'")]
pub struct RmArgs {
    /// Numbers, or the first characters of UUIDs
    #[arg(value_name = "TRIAL", required = true)]
    pub trials: Vec<String>,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,
    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `pgdyno rm`
pub fn rm(args: &RmArgs) -> Result<Exit, Failure> {
    let store = args.store.existing()?;
    let mut numbers = Vec::new();
    for called in &args.trials {
        numbers.push(store.trial_number(called)?);
    }
    numbers.sort_unstable();
    numbers.dedup();
    if !args.yes && !agreed(&store, &numbers)? {
        return Err(Failure::new("nothing was removed"));
    }
    for number in numbers {
        store.remove(number)?;
    }
    Ok(Exit::Ok)
}

fn agreed(store: &Store, numbers: &[i64]) -> Result<bool, Failure> {
    if !terminal::stdin_is_terminal() {
        let text = "rm asks for confirmation, and there is no terminal";
        return Err(Failure::with(Exit::Usage, text).hint("say so: --yes"));
    }
    for number in numbers {
        let trial = store.trial(&number.to_string())?;
        pgdyno_output::remark!(
            "trial {number}: {} of {}, {}",
            trial.workload,
            trial.started,
            trial.state
        );
    }
    write_remark(format_args!("Remove for good? [y/N]"));
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|e| Failure::new(format!("could not read the answer: {e}")))?;
    Ok(["y", "yes"].contains(&line.trim().to_ascii_lowercase().as_str()))
}
