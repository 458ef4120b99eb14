//! `pgdyno restore`: puts back the settings that a sweep changed and could not put back itself.

use clap::Args;
use serde::Serialize;

use pgdyno_model::{Exit, Failure};
use pgdyno_output::{JsonArg, Verbosity, answer};
use pgdyno_run::settings;

/// Which server.
#[derive(Debug, Args)]
#[command(after_help = "\
A sweep that varies settings of the whole server writes down what they were before it changes
them, and puts them back when it ends. After kill -9 or a power cut this does it instead; a
sweep that is begun on the same server does it too. Calling it again does no harm.

Examples:
  pgdyno restore                                     on every server where something was left
  PGPASSWORD=... pgdyno restore                      when one asks for a password
  pgdyno restore --url postgresql://admin@db1/bench  when another way leads to it")]
pub struct RestoreArgs {
    /// The way to the server, instead of the one that the sweep had taken
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,

    /// Where machines find what was done.
    #[command(flatten)]
    pub json: JsonArg,
}

/// What was done.
#[derive(Serialize)]
struct Done {
    restored: Vec<settings::Restored>,
    /// Journals of sweeps at work.
    in_use: usize,
}

/// Does it.
pub fn open(args: &RestoreArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let json_to = args.json.open()?;
    let directory = settings::directory()?;
    let (restored, in_use) = settings::restore_all(&directory, args.url.as_deref())?;
    if !args.json.replaces_text() && !verbosity.quiet {
        for restored in &restored {
            answer!("{restored}")?;
        }
        if in_use > 0 {
            answer!("{in_use} sweeps at work will put back their settings themselves")?;
        }
        if restored.is_empty() && in_use == 0 {
            answer!("nothing to restore")?;
        }
    }
    json_to.write(&Done { restored, in_use })?;
    Ok(Exit::Ok)
}
