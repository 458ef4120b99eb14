//! `pgdyno restore`: puts back the settings that a sweep changed and could not put back itself.

use clap::Args;
use serde::Serialize;

use pgdyno_output::{JsonArg, Verbosity, answer};
use pgdyno_run::settings;
use pgdyno_spec::{Exit, Failure};

/// Which server.
#[derive(Debug, Args)]
#[command(after_help = "\
A sweep that changes settings of the whole server records their old values first and restores them
when it ends. After kill -9 or a power cut, use this command; a new sweep on the same server does
the same. Running it twice does no harm.

Examples:
  pgdyno restore                                     on every server with changed settings
  PGPASSWORD=... pgdyno restore                      if the server needs a password
  pgdyno restore --url postgresql://admin@db1/bench  if the address has changed")]
pub struct RestoreArgs {
    /// Address of the server, instead of the one that the sweep used
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

/// Runs the command.
pub fn open(args: &RestoreArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let json_to = args.json.open()?;
    let directory = settings::directory()?;
    let (restored, in_use) = settings::restore_all(&directory, args.url.as_deref())?;
    if !args.json.replaces_text() && !verbosity.quiet {
        for restored in &restored {
            answer!("{restored}")?;
        }
        if in_use > 0 {
            answer!("{in_use} running sweeps will restore their settings")?;
        }
        if restored.is_empty() && in_use == 0 {
            answer!("nothing to restore")?;
        }
    }
    json_to.write(&Done { restored, in_use })?;
    Ok(Exit::Ok)
}
