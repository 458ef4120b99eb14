//! pgdyno: loads, drives, watches, keeps and explains databases that speak PostgreSQL's protocol.

mod cli;
mod screen;

use std::process::ExitCode;

use clap::Parser;
use pgdyno_compat_pgbench as pgbench;

fn main() -> ExitCode {
    if let Some(done) = compatible_command() {
        return done;
    }
    match cli::open(command_line()) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            pgdyno_output::remark!("{failure}");
            failure.exit.into()
        }
    }
}

/// The command line; a program that was called pgio is `pgdyno pgio`, and its help says `pgio`.
fn command_line() -> cli::Cli {
    let argv0 = std::env::args_os().next().unwrap_or_default();
    match pgbench::program_name(&argv0.to_string_lossy()) {
        pgdyno_compat_pgio::NAME => cli::Pgio::parse().into(),
        pgdyno_compat_ybio::NAME => cli::Ybio::parse().into(),
        _ => cli::Cli::parse(),
    }
}

/// `pgdyno pgbench …`, or the same by the name that the program was called: command lines that are
/// read in their own way.
fn compatible_command() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().map(|argument| {
        // What is not UTF-8 is no name of anything that pgdyno could open by it.
        argument.to_string_lossy().into_owned()
    });
    let argv0 = arguments.next().unwrap_or_default();
    if let Some(flavour) = pgbench::Flavour::called(pgbench::program_name(&argv0)) {
        return Some(pgbench::open(&argv0, arguments.collect(), flavour));
    }
    if pgbench::program_name(&argv0) == pgdyno_compat_workload::NAME {
        return Some(pgdyno_compat_workload::open(
            pgdyno_compat_workload::NAME,
            &arguments.collect::<Vec<_>>(),
        ));
    }
    let verb = arguments.next()?;
    if verb == pgdyno_compat_workload::NAME {
        return Some(pgdyno_compat_workload::open(
            "pgdyno workload",
            &arguments.collect::<Vec<_>>(),
        ));
    }
    let flavour = pgbench::Flavour::called(&verb)?;
    Some(pgbench::open(&verb, arguments.collect(), flavour))
}
