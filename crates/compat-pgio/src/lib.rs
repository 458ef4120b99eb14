//! `pgdyno pgio setup|run|files`, also by the name `pgio`: pgio's configuration as it is, its lines and
//! files, on the pack `slob`, with honest figures beside them.

mod assignments;
mod conf;
mod created;
mod files;
#[doc(hidden)]
pub mod fuzz;
mod host;
mod lines;
mod run;
mod setup;
mod stock;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use conf::Conf;
use files::Folder;
use pgdyno_database::open::{self, Target};
use pgdyno_model::{Observer, Outcome};
use pgdyno_output::{JsonArg, KeepArgs, Verbosity};
use pgdyno_spec::{Exit, Failure, TargetSpec};

/// The name by which it may be called.
pub const NAME: &str = "pgio";
/// What its tables' names begin with.
const PREFIX: &str = "pgio";
/// The pack that does the work.
const PACK: &str = "slob";

/// What to do.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
A pgio.conf is read as a shell would read it, with several settings on a line, quotes, comments and
defaults (${NUM_THREADS:-2}), and never executed. Missing settings have pgio's defaults. Settings can also
be given on the command line.

Examples:
  pgdyno pgio setup                               pgio.conf in this directory
  pgdyno pgio run --conf /opt/pgio/pgio.conf
  pgdyno pgio run RUN_TIME=30 SCALE=256M          override settings of the file
  pgdyno pgio run --url postgresql://me@db1/bench instead of CONNECT_STRING
  pgdyno pgio files pgio; cd pgio; sh ./setup.sh; sh ./runit.sh

What differs from pgio, and why its RIOPS mislead: pgdyno help pgio")]
pub enum PgioVerb {
    /// Create and fill NUM_SCHEMAS tables of SCALE rows, one row per block (setup.sh)
    Setup(SetupArgs),
    /// Run NUM_THREADS sessions on each table for RUN_TIME seconds (runit.sh)
    Run(PgioRunArgs),
    /// Write setup.sh, runit.sh and a pgio.conf that call pgdyno
    Files(FilesArgs),
}

/// Which configuration, and where.
#[derive(Debug, Clone, Args)]
pub struct ConfArgs {
    /// The configuration
    #[arg(long, value_name = "FILE", default_value = "pgio.conf")]
    pub conf: PathBuf,

    /// Server to use instead of CONNECT_STRING: a URL or key=value pairs
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,

    /// Settings that override the file
    #[arg(value_name = "NAME=VALUE")]
    pub settings: Vec<String>,
}

/// `setup`.
#[derive(Debug, Args)]
pub struct SetupArgs {
    /// Which configuration.
    #[command(flatten)]
    pub conf: ConfArgs,

    /// Directory for the sizes of the tables (pgio_data_load_table_sizes.out)
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
}

/// `files`.
#[derive(Debug, Args)]
pub struct FilesArgs {
    /// Directory; created if missing. An existing pgio.conf is kept
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// `run`.
#[derive(Debug, Args)]
pub struct PgioRunArgs {
    /// Which configuration.
    #[command(flatten)]
    pub conf: ConfArgs,

    /// Directory for the files of pgio's names: .pgio_schema_TABLE_SESSION.out, pgio_session_detail.out,
    /// iostat.out …
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,

    /// `--json`.
    #[command(flatten)]
    pub json: JsonArg,

    /// Whether and where the trial is kept.
    #[command(flatten)]
    pub keep: KeepArgs,
}

/// Does it; `screen` shows a run while it goes on.
///
/// # Errors
/// What failed.
pub fn open(
    verb: &PgioVerb,
    verbosity: Verbosity,
    screen: &mut dyn Observer<Outcome>,
) -> Result<Exit, Failure> {
    match verb {
        PgioVerb::Setup(args) => setup::open(args, verbosity),
        PgioVerb::Run(args) => run::open(args, verbosity, screen),
        PgioVerb::Files(args) => {
            let program = std::env::current_exe()
                .map_err(|e| Failure::new(format!("could not find out where pgdyno is: {e}")))?;
            for path in files::write_scripts(&args.folder, &program.display().to_string())? {
                pgdyno_output::answer!("{}", path.display())?;
            }
            Ok(Exit::Ok)
        }
    }
}

impl ConfArgs {
    /// The configuration, with what the command line sets otherwise.
    fn read(&self) -> Result<Conf, Failure> {
        let name = self.conf.display().to_string();
        let text = std::fs::read_to_string(&self.conf).map_err(|e| {
            Failure::with(Exit::Usage, format!("could not read {name}: {e}"))
                .hint("name it: --conf FILE; it has settings such as NUM_SCHEMAS=1 SCALE=1G")
        })?;
        let (mut conf, others) = Conf::read(&name, &text, &|name| std::env::var(name).ok())?;
        for other in others {
            pgdyno_output::remark!("pgdyno: note: {name}: {other} is none of pgio's settings");
        }
        for setting in &self.settings {
            conf.change(setting)?;
        }
        if let Some(url) = &self.url {
            conf.connect_string.clone_from(url);
        }
        Ok(conf)
    }
}

/// What CONNECT_STRING names.
fn wanted(conf: &Conf) -> Result<TargetSpec, Failure> {
    Ok(TargetSpec::at(conf.target().map_err(|why| {
        Failure::with(Exit::Usage, format!("CONNECT_STRING: {why}"))
            .hint("it is a URL, key=value pairs, a database's name, or psql's -h -p -U -d")
    })?))
}

/// The directory in which files are to be written.
fn folder(out: &Path) -> Result<Folder<'_>, Failure> {
    if out.is_dir() {
        Ok(Folder(out))
    } else {
        let text = format!("--out {}: no such directory", out.display());
        Err(Failure::with(Exit::Usage, text))
    }
}

fn connected(wanted: &TargetSpec) -> Result<Target, Failure> {
    match open::existing(wanted)? {
        Some(target) => Ok(target),
        None => Err(Failure::new("CONNECT_STRING names no server")),
    }
}
