//! `pgdyno calibrate --self`: what this machine's load generator can do.

use std::time::Duration;

use clap::Args;
use pgdyno_output::{JsonArg, Verbosity, width, write_report};
use pgdyno_platform::{host, io::Choice};
use pgdyno_run::ceiling::answering::{Answering, answer};
use pgdyno_run::ceiling::kept;
use pgdyno_run::ceiling::measure::Wanted;
use pgdyno_spec::{Exit, Failure, QueryMode};

/// Unless -T says otherwise.
const DURATION: Duration = Duration::from_secs(2);

/// What of the load generator is measured.
#[derive(Debug, Args)]
#[command(next_help_heading = "This machine's load generator")]
pub struct SelfArgs {
    /// Measure this machine's load generator instead of a database: against a built-in server that
    /// answers at once. Later trials on this machine state their share of what it can do
    #[arg(
        long = "self",
        conflicts_with_all = [
            "urls", "url", "compare", "expect", "anyway", "only_baseline", "name", "store", "generators"
        ]
    )]
    pub of_self: bool,

    /// With --self: numbers of threads [default: 1 and the number of CPUs]
    #[arg(long, value_name = "COUNT,…", value_delimiter = ',', requires = "of_self", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Vec<u32>,

    /// With --self: numbers of clients
    #[arg(long, value_name = "COUNT,…", value_delimiter = ',', requires = "of_self", default_value = "1,8,64", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub clients: Vec<u32>,

    /// With --self: query modes
    #[arg(
        long,
        value_name = "MODE,…",
        value_delimiter = ',',
        requires = "of_self",
        default_value = "simple,extended,prepared"
    )]
    pub query_mode: Vec<QueryMode>,

    /// Be the built-in server.
    #[arg(long, hide = true, requires = "of_self")]
    pub answer: bool,
}

fn sorted(numbers: &[u32]) -> Vec<usize> {
    let mut numbers: Vec<usize> = numbers.iter().map(|number| *number as usize).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Runs it.
pub fn open(
    args: &SelfArgs,
    duration: Option<Duration>,
    json: &JsonArg,
    verbosity: Verbosity,
) -> Result<Exit, Failure> {
    if args.answer {
        return answer().map(|()| Exit::Ok);
    }
    let threads = if args.threads.is_empty() {
        vec![1, host::cpus() as u32]
    } else {
        args.threads.clone()
    };
    let mut query_modes = args.query_mode.clone();
    query_modes.sort_by_key(|mode| *mode as u8);
    query_modes.dedup();
    let wanted = Wanted {
        threads: sorted(&threads),
        clients: sorted(&args.clients),
        query_modes,
        duration: duration.unwrap_or(DURATION),
        io: pgdyno_run::io::asked(Choice::Auto).map_err(|e| Failure::with(Exit::Usage, e))?,
    };
    let json_to = json.open()?;
    let interrupts = pgdyno_run::interrupts()?;
    let server = Answering::start(&["calibrate", "--self", "--answer"])?;
    let total = wanted.combinations().len();
    let (found, is_complete) = wanted.measure(&server, interrupts, &mut |number, of| {
        if !verbosity.quiet {
            let (mode, threads, clients) = (of.query_mode.name(), of.threads, of.clients);
            pgdyno_output::remark!(
                "pgdyno: {number} of {total}: {mode}, threads {threads}, clients {clients}"
            );
        }
    })?;
    drop(server);
    let written = json_to.write(&found);
    if !json.replaces_text() {
        write_report(format_args!(
            "{}",
            pgdyno_report::ceiling::table(&found, width())
        ))?;
    }
    written?;
    if !is_complete {
        pgdyno_output::remark!("pgdyno: interrupted: not kept");
        return Ok(Exit::Interrupted(interrupts.exit_code().unwrap_or(130)));
    }
    let file = kept::keep(&found)?;
    if !verbosity.quiet {
        pgdyno_output::remark!(
            "pgdyno: kept in {}: trials on this machine state their share of it",
            file.display()
        );
    }
    Ok(Exit::Ok)
}
