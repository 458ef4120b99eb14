//! `pgdyno verify`: whether what a file shows follows from what it counted.

use std::path::PathBuf;

use clap::Args;
use pgdyno_evidence::verify;
use pgdyno_output::{JsonArg, write_answer};
use pgdyno_spec::{Exit, Failure};

/// Which file.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno export 12 --bundle run.bundle    a file to give away
  pgdyno verify run.bundle                does what it shows follow from what was counted?
  pgdyno verify run.bundle --json         all of it, for programs
  pgdyno verify pgdyno-report.html        a page: as far as it draws what its figures follow from
  pgdyno verify notebook.sqlite           a notebook: totals, seconds, histograms

Computed again: totals from seconds, means and percentiles from histograms, intervals, points,
comparisons and verdicts from all of it, hashes from bytes. What does not agree is named with the trial,
the value shown and the value that comes out; what was not checked is named, too, with the reason.
A forger who changes everything alike is not found: keep the SHA-256 that export prints in another
place. Exit code: 0 all agrees, 1 something does not, 2 the file cannot be read.
The form of a bundle: pgdyno help bundle")]
pub struct VerifyArgs {
    /// A bundle, a report's page or a notebook's file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// For programs.
    #[command(flatten)]
    pub json: JsonArg,
}

/// Runs the command.
pub fn open(args: &VerifyArgs) -> Result<Exit, Failure> {
    let found = verify::verify(&args.file)?;
    let json_to = args.json.open()?;
    let written = json_to.write(&found);
    if !args.json.replaces_text() {
        write_answer(format_args!("{}", verify::text(&found)))?;
    }
    written?;
    Ok(if found.agrees { Exit::Ok } else { Exit::Failed })
}
