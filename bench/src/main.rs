//! Puts pgdyno beside its peers: the same work on the same server, program after program in turn,
//! and what each of them costs. Not for measuring servers: that is pgdyno's own trade.

mod bare;
mod budgets;
mod engine;
mod figures;
mod growth;
mod histories;
mod instructions;
mod kernel;
mod measure;
mod programs;
mod ranges;
mod report;
mod rows;
mod runner;
mod server;
mod settings;
mod transcript;
mod watching;
mod wire;

use std::path::Path;
use std::process::ExitCode;

use pgdyno_platform::interrupt::Interrupts;
use pgdyno_server::instant;

/// What stops a bench: a sentence for the user.
type Error = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let outcome = bench();
    // An interrupt ends the program being measured too, and then that one's failure is no news.
    let interrupted = Interrupts::install()
        .ok()
        .and_then(|interrupts| interrupts.exit_code());
    match (outcome, interrupted) {
        (_, Some(code)) => {
            eprintln!("bench: interrupted; no results written");
            ExitCode::from(code)
        }
        (Err(error), None) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
        (Ok(()), None) => ExitCode::SUCCESS,
    }
}

fn bench() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((verb, rest)) if verb == "bare" => return bare::open(rest),
        Some((verb, rest)) if verb == "growth" => return growth::open(rest),
        Some((verb, rest)) if verb == "day" => return growth::day::open(rest),
        Some((verb, rest)) if verb == "merge" => return growth::merge::open(rest),
        Some((verb, [])) if verb == "kernel" => return kernel::open(),
        Some((verb, [])) if verb == "ranges" => return ranges::open(),
        Some((verb, [])) if verb == "histories" => return histories::open(),
        Some((verb, rest)) if verb == "watching" => return watching::open(rest),
        Some((verb, rest)) if verb == "engine" => return engine::open(rest),
        Some((verb, rest)) if verb == "instructions" => return instructions::open(rest),
        Some((verb, [socket])) if verb == "transcript" => {
            return transcript::open(Path::new(socket));
        }
        Some((verb, [socket])) if verb == "stub" => {
            return Ok(instant::open(Path::new(socket), 1)?);
        }
        _ => {}
    }
    let Some(results) = std::env::args_os().nth(1) else {
        return Err("usage: pgdyno-bench RESULTS-FILE (`make bench` runs it)".into());
    };
    Interrupts::install()?;
    let settings = settings::Settings::from_env()?;
    let programs = programs::Programs::find()?;
    let server = server::Bed::prepare(&programs)?;
    let mut measured = Vec::new();
    let is_wanted = |row: &&rows::Row| row.name.contains(&settings.only);
    for row in rows::ROWS.iter().filter(is_wanted) {
        measured.push(runner::in_turn(row, &programs, &server, &settings)?);
    }
    let report = report::BenchReport {
        settings: &settings,
        programs: &programs,
        server: server.description(),
        rows: &measured,
    };
    println!("\n{}", report.table());
    report.write(Path::new(&results))?;
    println!("written to {}", Path::new(&results).display());
    Ok(())
}
