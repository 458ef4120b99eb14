//! pgdyno: loads, drives, watches, keeps and explains databases that speak PostgreSQL's protocol.

mod cli;
mod screen;

use std::process::ExitCode;

use clap::Parser;
use pgdyno_compat_pgbench as pgbench;
use pgdyno_compat_sysbench as sysbench;
use pgdyno_compat_workload as workload;
use pgdyno_compat_ycsb as ycsb;
use pgdyno_platform::memory::OrEnd;

#[global_allocator]
static MEMORY: OrEnd = OrEnd;

fn main() -> ExitCode {
    if let Err(error) = pgdyno_platform::limits::fail_on_large_files() {
        pgdyno_output::remark!("the signal of a file that is too large is not caught: {error}");
    }
    if let Some(done) = compatible_command() {
        return done;
    }
    let configured = cli::config::take();
    let cli = command_line();
    let opened = match configured {
        Err(mistake) if cli.is_configured() => Err(mistake),
        _ => cli::open(cli),
    };
    match opened {
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
        _ => cli::Cli::read(),
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
    let arguments: Vec<String> = arguments.collect();
    let name = pgbench::program_name(&argv0);
    open_compatible(name, &argv0, name, &arguments).or_else(|| {
        let (verb, arguments) = arguments.split_first()?;
        open_compatible(verb, verb, &format!("pgdyno {verb}"), arguments)
    })
}

/// Runs the compatible command of this name, if there is one. pgbench calls itself `program` in its
/// messages, the others `called`.
fn open_compatible(
    name: &str,
    program: &str,
    called: &str,
    arguments: &[String],
) -> Option<ExitCode> {
    if let Some(flavour) = pgbench::Flavour::called(name) {
        // It measures all the same.
        if let Err(mistake) = cli::config::take_store() {
            pgdyno_output::remark!("{program}: warning: the run is not kept: {mistake}");
        }
        return Some(pgbench::open(program, arguments.to_vec(), flavour));
    }
    if let Some(tool) = ycsb::YcsbTool::called(name) {
        return Some(ycsb::open(tool, called, arguments));
    }
    match name {
        sysbench::NAME => Some(sysbench::open(called, arguments)),
        workload::NAME => Some(workload::open(called, arguments)),
        workload::COCKROACH => Some(workload::open_cockroach(called, arguments)),
        _ => None,
    }
}
