//! `pgdyno pgbench`, and the same when the program is called `pgbench` or `ysql_bench`: the old
//! command line, with pgbench's options, texts and exit codes. It never starts a server, and keeps a run only
//! where `--store`, PGDYNO_STORE or a configuration file says so; like every command it makes a trial and prints what came of it, in the form that this
//! command's users expect.
//!
//! - `getopt`, `c_numbers`, `options`: what was typed; `help`: what can be typed.
//! - `connect`, `table_info`, `init`, `bench`: the two jobs.
//! - `progress`, `log_files`, `hdr_log`, `watch`: while it runs; `report`: afterwards.
//! - `flavour`: pgbench or ysql_bench; `say`: messages in PostgreSQL's form.

mod bench;
mod c_numbers;
mod connect;
mod counts;
mod flavour;
mod getopt;
mod hdr_log;
mod help;
mod init;
mod log_files;
mod messages;
mod options;
mod progress;
mod report;
mod scripts;
mod seed;
mod table_info;
mod watch;

use std::path::Path;
use std::process::ExitCode;

pub use flavour::Flavour;
use messages::{Kind, Messages, Stop};
use options::{InitJob, PgbenchOptions, PgbenchSurroundings};

use pgdyno_output::{Keep, write_answer};

/// What follows the last `/`.
pub fn program_name(argv0: &str) -> &str {
    Path::new(argv0)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or(argv0)
}

/// Does what this command line says; `argv0` is the program's name as it was typed.
pub fn open(argv0: &str, arguments: Vec<String>, flavour: &'static Flavour) -> ExitCode {
    let mut say = Messages::new(program_name(argv0));
    let done = match arguments.first().map(String::as_str) {
        Some("--help" | "-?") => print(&help::help(flavour)),
        Some("--version" | "-V") => print(&help::version(flavour)),
        _ => run(argv0, arguments, flavour, &mut say),
    };
    ExitCode::from(done.unwrap_or_else(|stop| {
        say.stop(&stop);
        stop.code
    }))
}

fn print(text: &str) -> Result<u8, Stop> {
    write_answer(format_args!("{text}"))?;
    Ok(0)
}

fn run(
    argv0: &str,
    arguments: Vec<String>,
    flavour: &'static Flavour,
    say: &mut Messages,
) -> Result<u8, Stop> {
    let options = options::read(argv0, arguments, flavour, &surroundings(), say)?;
    let PgbenchOptions { target, job } = options;
    match job {
        InitJob::Bench(bench) => bench::run(&target, *bench, flavour, say),
        InitJob::Initialize(options) => {
            let (_, mut session) = connect::open(&target, say).map_err(|stop| {
                stop.and(
                    Kind::Error,
                    "could not create connection for initialization",
                )
            })?;
            init::run(&mut session, &options, pgdyno_run::interrupts()?)?;
            Ok(0)
        }
    }
}

fn surroundings() -> PgbenchSurroundings {
    let var = |name| std::env::var(name).ok();
    let filled = |name| var(name).filter(|value: &String| !value.is_empty());
    let os_user = || {
        pgdyno_session::Env::of_process()
            .os_user()
            .map(str::to_owned)
    };
    PgbenchSurroundings {
        random_seed: var("PGBENCH_RANDOM_SEED"),
        posixly_correct: std::env::var_os("POSIXLY_CORRECT").is_some(),
        database: filled("PGDATABASE")
            .or_else(|| filled("PGUSER"))
            .or_else(os_user),
        // Where the limit cannot be determined, connecting says which client had no descriptor.
        open_files_max: pgdyno_platform::limits::raise_open_files().unwrap_or(u64::MAX),
        keeps_runs: Keep::is_wished(),
    }
}
