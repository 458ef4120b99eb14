//! `pgdyno replay`: a recording's statements in their own time on another server, and who was late.

mod document;
mod text;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use pgdyno_database::trouble;
use pgdyno_model::document::TargetKind;
use pgdyno_output::{JsonArg, Verbosity, write_report};
use pgdyno_recording::{Ending, Timeline};
use pgdyno_replay::{Error, Options, Progress, Sync, replay};
use pgdyno_session::{ConnInfo, Env, Given, Session, resolve};
use pgdyno_spec::{
    Exit, Failure, duration,
    secret::Address,
    text::{percent, plural, seconds},
};
use pgdyno_wire::Candidate;

/// For how long the first connection may be made.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);
/// Progress is printed every so many seconds.
const REPORT_EACH: u64 = 10;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno replay shop.rec --url postgresql://me@test1/shop
  pgdyno replay shop.rec --url postgresql://test1 --speed 2      users and databases as recorded
  pgdyno replay shop.rec --url postgresql://me@test1/shop --from 10m --to 20m --only SELECT

Statements are sent as they were recorded: those that change data change the server's. Replay on a copy
that is as the original was when the recording began.

Exit codes: 0 if all that can be replayed was sent and answered, 1 if connections were lost or refused.")]
pub struct ReplayArgs {
    /// The recording, made by pgdyno record
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Server, as postgresql://user@host:port/db. A user or database that it does not name is that of the
    /// recording
    #[arg(long, value_name = "URL", required = true)]
    pub url: Address,

    /// Recorded seconds in a second
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = speed)]
    pub speed: f64,

    /// Begin so long after the first recorded statement
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "0")]
    pub from: Duration,

    /// End so long after the first recorded statement
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub to: Option<Duration>,

    /// Send only statements that begin with these words: SELECT,INSERT. BEGIN and COMMIT are words, too
    #[arg(long, value_name = "WORD", value_delimiter = ',')]
    pub only: Vec<String>,

    /// What a statement waits for in other sessions [default: commit for recordings from the wire, none for
    /// those of logs]
    #[arg(long, value_name = "ORDER")]
    pub sync: Option<SyncArg>,

    /// For programs.
    #[command(flatten)]
    pub json: JsonArg,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SyncArg {
    /// Nothing: the clock alone decides
    None,
    /// Commits that had ended before it began
    Commit,
    /// All statements that had ended before it began
    Time,
}

impl SyncArg {
    fn name(sync: Sync) -> &'static str {
        match sync {
            Sync::None => "none",
            Sync::Commit => "commit",
            Sync::Time => "time",
        }
    }
}

fn speed(text: &str) -> Result<f64, String> {
    let speed: Option<f64> = text.parse().ok();
    speed
        .filter(|speed| (0.001..=1000.0).contains(speed))
        .ok_or_else(|| "a number from 0.001 to 1000".to_owned())
}

/// Runs the command.
pub fn open(args: &ReplayArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let json_to = args.json.open()?;
    if args.to.is_some_and(|to| to <= args.from) {
        return Err(Failure::with(Exit::Usage, "--to is not after --from"));
    }
    let path = args.file.display();
    let of_file = |error: &pgdyno_recording::Error| {
        Failure::with(Exit::Usage, format!("{path}: {error}"))
            .hint("a recording is made by pgdyno record LOG… -o FILE")
    };
    let timeline = Timeline::open(&args.file).map_err(|error| of_file(&error))?;
    let ending = timeline.ending().cloned().unwrap_or_default();
    let interrupts = pgdyno_run::interrupts()?;
    let server = server(args, &ending)?;
    let options = Options {
        speed: args.speed,
        from: args.from,
        to: args.to,
        only: args.only.iter().map(|word| word.to_uppercase()).collect(),
        recorded_users: server.recorded_users,
        recorded_databases: server.recorded_databases,
        sync: match args.sync {
            Some(SyncArg::None) => Sync::None,
            Some(SyncArg::Commit) => Sync::Commit,
            Some(SyncArg::Time) => Sync::Time,
            None if timeline.about().is_of_the_wire() => Sync::Commit,
            None => Sync::None,
        },
    };
    let length = length(&ending, &options);
    let mut reported_s = 0;
    let replayed = replay(
        &args.file,
        &server.candidate,
        &options,
        interrupts,
        &mut |progress| {
            let second = progress.at.as_secs();
            if !verbosity.quiet && second >= reported_s + REPORT_EACH {
                reported_s = second;
                pgdyno_output::remark!("pgdyno: {}", words(progress, length));
            }
        },
    );
    let replayed = replayed.map_err(|error| match error {
        Error::Recording(error) => of_file(&error),
        Error::Nothing => Failure::with(Exit::Usage, error.to_string())
            .hint(format!("what is in it: pgdyno record show {path}")),
        Error::System(_) => Failure::new(error.to_string()),
    })?;
    json_to.write(&document::of(&replayed, &options))?;
    if !args.json.replaces_text() {
        write_report(format_args!("{}", text::of(&replayed, &options)))?;
    }
    Ok(match interrupts.exit_code() {
        Some(code) if replayed.is_interrupted => Exit::Interrupted(code),
        _ if replayed.sent == 0 => Exit::Connection,
        _ if replayed.unsent + replayed.unanswered > 0 => Exit::Failed,
        _ => Exit::Ok,
    })
}

/// How long the replay takes when nothing is late.
fn length(ending: &Ending, options: &Options) -> Duration {
    let us = u64::try_from(ending.end_us - ending.begin_us).unwrap_or(0);
    let to = Duration::from_micros(us).min(options.to.unwrap_or(Duration::MAX));
    to.saturating_sub(options.from).div_f64(options.speed)
}

fn words(progress: Progress, length: Duration) -> String {
    let at = seconds(progress.at.as_secs() as f64);
    if progress.is_waiting {
        return format!(
            "all is sent; waiting for the answers of {}",
            plural(progress.busy as u64, "session")
        );
    }
    format!(
        "{at} of {}: {} sent, {} within 1 ms, {} busy",
        seconds(length.as_secs_f64()),
        plural(progress.sent, "statement"),
        percent(progress.on_time, progress.sent),
        plural(progress.busy as u64, "session")
    )
}

/// Where and as whom sessions connect.
struct Server {
    candidate: Candidate,
    recorded_users: bool,
    recorded_databases: bool,
}

/// The way to the server that a first connection took.
fn server(args: &ReplayArgs, ending: &Ending) -> Result<Server, Failure> {
    let given = |user: Option<&String>| Given {
        target: Some(args.url.secret().to_owned()),
        user: user.cloned(),
        fallback_application_name: Some("pgdyno replay".to_owned()),
        ..Given::default()
    };
    let env = Env::of_process();
    let resolve = |given: &Given| resolve(given, &env).map_err(|error| trouble::conninfo(&error));
    let info = resolve(&given(None))?;
    let names =
        |info: &ConnInfo, option: &str| info.option(option).is_some_and(|value| !value.is_empty());
    let most = |counts: &std::collections::BTreeMap<String, u64>| {
        let named = counts.iter().filter(|(name, _)| !name.is_empty());
        named
            .max_by_key(|(_, count)| **count)
            .map(|(name, _)| name.clone())
    };
    let recorded_users = !names(&info, "user") && most(&ending.users).is_some();
    let recorded_databases = !names(&info, "dbname") && most(&ending.databases).is_some();
    let databases: Vec<&str> = ending.databases.keys().map(String::as_str).collect();
    if databases.len() > 1 && !recorded_databases {
        return Err(Failure::with(
            Exit::Usage,
            format!(
                "the recording has statements of {} databases, and --url names one",
                databases.len()
            ),
        )
        .detail(format!("they are {}", databases.join(", ")))
        .hint("leave the database out of --url (and PGDATABASE): each session goes to its own"));
    }
    let mut info = if recorded_users {
        resolve(&given(most(&ending.users).as_ref()))?
    } else {
        info
    };
    if recorded_databases && let Some(database) = most(&ending.databases) {
        info = info.with_dbname(&database);
    }
    let candidates = info
        .candidates()
        .map_err(|error| trouble::candidates(&error))?;
    let session = Session::connect(&candidates.list, Some(CONNECT_LIMIT))
        .map_err(|error| trouble::connect(&error, TargetKind::Named))?;
    let candidate = session.candidate().clone();
    session.close();
    Ok(Server {
        candidate,
        recorded_users,
        recorded_databases,
    })
}
