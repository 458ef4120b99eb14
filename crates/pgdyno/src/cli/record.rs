//! `pgdyno record`: a recording of a server's own traffic, from its logs or from the wire.

pub mod show;
mod wire;

use std::io::BufWriter;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};

use pgdyno_output::Verbosity;
use pgdyno_recording::{Ending, NewFile, log};
use pgdyno_spec::{
    Exit, Failure, duration,
    secret::Address,
    text::{count, percent, seconds},
};

/// How often progress is printed.
const REPORT_EACH: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  pgdyno record postgresql-*.csv -o shop.rec      csvlog or jsonlog, plain, .gz or .zst, in order
  pgdyno record postgresql.log --prefix '%m [%p] %q%u@%d ' -o shop.rec
  pgdyno record --listen 127.0.0.1:6432 --url postgresql://db1:5432 -o shop.rec    clients connect to 6432
  pgdyno record show shop.rec
  pgdyno replay shop.rec --url postgresql://me@test1/shop

Which settings of the server lose least, and what a log cannot say: pgdyno help replay."
)]
pub struct RecordArgs {
    #[command(subcommand)]
    pub verb: Option<RecordVerb>,

    /// Logs of one server, the oldest first; -: standard input
    #[arg(value_name = "LOG", required_unless_present = "listen")]
    pub logs: Vec<PathBuf>,

    /// The recording. It has the values of statements: only its owner can read it
    #[arg(short, long, value_name = "FILE", required = true)]
    pub output: Option<PathBuf>,

    /// The server's log_line_prefix, for logs of stderr [default: recognised, where it is one of
    /// PostgreSQL's, Debian's, RDS's, Cloud SQL's, Azure's or pgBadger's]
    #[arg(long, value_name = "PREFIX")]
    pub prefix: Option<String>,

    /// Record from the wire: be a proxy there, which clients connect to in place of the server
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["logs", "prefix"], requires = "url")]
    pub listen: Option<String>,

    /// The server behind the proxy. Clients log in themselves; sslmode and certificates are those of the
    /// proxy's connections to it
    #[arg(long, value_name = "URL", requires = "listen")]
    pub url: Option<Address>,

    /// Record for so long [default: until Ctrl-C]
    #[arg(short = 'T', long, value_name = "TIME", value_parser = duration::parse, requires = "listen")]
    pub duration: Option<Duration>,

    /// Let clients encrypt: the certificate with its chain, in PEM. With the server's own, channel binding
    /// of SCRAM passes through
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "listen"])]
    pub tls_cert: Option<PathBuf>,

    /// The certificate's key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
}

const MADE_BY: &str = concat!("pgdyno ", env!("CARGO_PKG_VERSION"));

#[derive(Debug, Subcommand)]
pub enum RecordVerb {
    /// Show what is in a recording, and what cannot be replayed and why
    Show(show::ShowRecordingArgs),
}

/// Runs the command.
pub fn open(args: &RecordArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    if let Some(RecordVerb::Show(args)) = &args.verb {
        return show::open(args);
    }
    if let Some(listen) = &args.listen {
        return wire::open(args, listen, verbosity);
    }
    let Some(output) = &args.output else {
        return Err(Failure::with(
            Exit::Usage,
            "a recording needs a file: -o FILE",
        ));
    };
    let file = NewFile::create(output).map_err(|error| {
        let text = format!("cannot create {}: {error}", output.display());
        Failure::with(Exit::Usage, text).with_missing_folder(output)
    })?;
    let mut reading = Reading::new(verbosity, &args.logs);
    let recorded = log::record(
        &args.logs,
        args.prefix.as_deref(),
        MADE_BY,
        BufWriter::new(file),
        &mut |bytes| reading.report(bytes),
    );
    let (file, ending) = recorded.map_err(failure)?;
    let finished = file
        .into_inner()
        .map_err(|error| error.into_error())
        .and_then(NewFile::finish);
    finished
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", output.display())))?;
    if ending.statements == 0 {
        pgdyno_output::remark!("pgdyno: warning: these logs have no statements");
        pgdyno_output::remark!(
            "pgdyno: hint: log_min_duration_statement = 0 logs all of them: pgdyno help replay"
        );
    }
    if !verbosity.quiet {
        pgdyno_output::answer!("{}", summary(&ending, &output.display().to_string()))?;
    }
    Ok(Exit::Ok)
}

fn failure(error: log::Error) -> Failure {
    let failure = Failure::with(
        match error {
            log::Error::Write(_) => Exit::Failed,
            _ => Exit::Usage,
        },
        error.to_string(),
    );
    match error {
        log::Error::UnknownPrefix(_) => failure
            .hint("give the server's: --prefix \"$(psql -XAtc 'SHOW log_line_prefix')\"")
            .hint("messages must be in English: lc_messages = 'C'"),
        log::Error::Prefix(_) => failure
            .hint("set one with a time and a session, and log again: log_line_prefix = '%m [%p] %q%u@%d '")
            .hint("log_destination = 'csvlog' has all that is needed"),
        _ => failure,
    }
}

/// What was recorded, and what is not in it.
fn summary(ending: &Ending, file: &str) -> String {
    let length_s = (ending.end_us - ending.begin_us) as f64 / 1e6;
    let mut text = format!(
        "{file}: {} statements of {} sessions in {}",
        count(ending.statements),
        count(ending.sessions),
        seconds(length_s)
    );
    if !ending.unsaid.is_empty() {
        text += "\nNot recorded:";
        for (kind, number) in &ending.unsaid {
            text += &format!("\n  {:>9}  {kind}", count(*number));
        }
    }
    text
}

/// Progress on standard error.
struct Reading {
    is_quiet: bool,
    reported: Instant,
    bytes: u64,
}

impl Reading {
    fn new(verbosity: Verbosity, logs: &[PathBuf]) -> Self {
        let sizes = logs.iter().filter_map(|log| std::fs::metadata(log).ok());
        Self {
            is_quiet: verbosity.quiet,
            reported: Instant::now(),
            bytes: sizes.map(|data| data.len()).sum(),
        }
    }

    fn report(&mut self, bytes: u64) {
        if !self.is_quiet && self.reported.elapsed() > REPORT_EACH {
            self.reported = Instant::now();
            pgdyno_output::remark!("pgdyno: reading the logs, {}", percent(bytes, self.bytes));
        }
    }
}
