//! `pgdyno server`: a PostgreSQL of pgdyno's own that stays across runs.

use clap::{Args, Subcommand};
use pgdyno_server::{Cache, Listen, kept};

use pgdyno_database::{own, trouble};
use pgdyno_model::Progress;
use pgdyno_output::{Verbosity, answer};
use pgdyno_spec::{Exit, Failure, OwnSpec};

/// What can be done with the kept server.
#[derive(Debug, Subcommand)]
pub enum ServerVerb {
    /// Start the server on the data of its last run
    #[command(after_help = "\
Examples:
  pgdyno server start
  pgdyno server start --pg-set shared_buffers=4GB --port 5433
  psql \"$(pgdyno server url)\"")]
    Start(StartArgs),
    /// Stop the server and keep its data for the next start
    Stop {
        /// Also delete its data
        #[arg(long)]
        discard: bool,
    },
    /// Show whether it runs and where its files are; exit code 0 when it runs, else 1
    Status,
    /// Print its URL
    Url,
}

/// How to start it.
#[derive(Debug, Args)]
pub struct StartArgs {
    /// How it is to be.
    #[command(flatten)]
    pub own: OwnSpec,

    /// Also listen on 127.0.0.1 at this port, open to every user of this machine (0: any free port)
    #[arg(long)]
    pub port: Option<u16>,
}

/// Runs the command.
pub fn open(verb: &ServerVerb, verbosity: Verbosity) -> Result<Exit, Failure> {
    let cache = Cache::from_env().map_err(trouble::own_server)?;
    match verb {
        ServerVerb::Start(args) => start(args, verbosity),
        ServerVerb::Stop { discard } => stop(&cache, *discard),
        ServerVerb::Status => status(&cache),
        ServerVerb::Url => url(&cache),
    }
}

fn start(args: &StartArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let listen = args.port.map_or(Listen::SocketOnly, Listen::Loopback);
    let options = own::options(&args.own, listen)?;
    let (running, started) = kept::start(&options, &mut |step| {
        verbosity.progress().step(&step.to_string())
    })
    .map_err(trouble::own_server)?;
    if !started && !args.own.pg_set.is_empty() {
        return Err(
            Failure::new("the server runs already, so --pg-set changes nothing")
                .hint("stop it first: pgdyno server stop"),
        );
    }
    if !verbosity.quiet {
        let what = if started { "runs" } else { "runs already" };
        pgdyno_output::remark!(
            "pgdyno: PostgreSQL {} {what}; `pgdyno run` uses it until `pgdyno server stop`",
            running.version
        );
    }
    answer!("{}", running.address.url())?;
    Ok(Exit::Ok)
}

fn stop(cache: &Cache, discard: bool) -> Result<Exit, Failure> {
    let before = kept::stop(cache, discard).map_err(trouble::own_server)?;
    let was = match before {
        kept::ServerStatus::Stopped { .. } => "was not running",
        _ => "is stopped",
    };
    answer!(
        "pgdyno's server {was}{}",
        if discard {
            ", and its data are removed"
        } else {
            ""
        }
    )?;
    Ok(Exit::Ok)
}

fn status(cache: &Cache) -> Result<Exit, Failure> {
    match kept::status(cache) {
        kept::ServerStatus::Running(r) => {
            answer!("running   PostgreSQL {}, process {}", r.version, r.pid)?;
            answer!("url       {}", r.address.url())?;
            if let Some(url) = r.address.loopback_url() {
                answer!("url       {url}")?;
            }
            let memory = if r.data_in_memory { " (in memory)" } else { "" };
            answer!("data      {}{memory}", r.data_dir.display())?;
            answer!("log       {}", r.log_path.display())?;
            Ok(Exit::Ok)
        }
        kept::ServerStatus::Busy { dir } => {
            answer!("busy      starting, stopping or recovering")?;
            answer!("files     {}", dir.display())?;
            Ok(Exit::Failed)
        }
        kept::ServerStatus::Stopped { data_dir } => {
            answer!("stopped")?;
            if let Some(dir) = data_dir {
                answer!("data      {}", dir.display())?;
            }
            Ok(Exit::Failed)
        }
    }
}

fn url(cache: &Cache) -> Result<Exit, Failure> {
    match kept::status(cache) {
        kept::ServerStatus::Running(r) => {
            answer!("{}", r.address.url())?;
            Ok(Exit::Ok)
        }
        _ => {
            Err(Failure::new("pgdyno's server does not run").hint("start it: pgdyno server start"))
        }
    }
}
