//! `pgdyno ybio setup|runit|remove`, also by the name `ybio`: the procedures of FranckPachot's ybio
//! with their parameters, notices and table `benchruns`, on the pack `ybio`, with pgdyno's figures
//! after them.
//!
//! - `call`: what was typed; `parameters`: what it means.
//! - `table`: the table that is there; `benchruns`: the table of runs.
//! - `setup`, `runit`, `remove`: the three jobs; `progress`: the notices of a load.

mod benchruns;
mod call;
mod parameters;
mod progress;
mod remove;
mod runit;
mod setup;
mod table;

use clap::Args;

use pgdyno_database::open::{self, Target};
use pgdyno_output::{JsonArg, KeepArgs, Verbosity};
use pgdyno_spec::{Exit, Failure, TargetSpec};
use pgdyno_workload::pack::Pack;
use pgdyno_workload::resolve;

use call::Call;
use parameters::{Parameters, YbioVerb};

/// The name by which it may be called.
pub const NAME: &str = "ybio";
/// The pack that does the work.
const PACK: &str = "ybio";

/// What to do, and where.
#[derive(Debug, Args)]
#[command(after_help = "\
Parameters are ybio's, with its defaults: as in SQL (quote them for the shell), as NAME=VALUE, or the
whole CALL.

  setup   tab_prefix tab_num tab_rows batch_size tab_tablets ind_tablets index_as_pk filler recreate
          orderby
  runit   tab_prefix tab_num tab_rows batch_size run_duration pct_update prepared index_only
          initial_count comments
  remove  tab_prefix tab_num: drops a table that setup made

Examples:
  pgdyno ybio setup tab_rows=1e6 batch_size=10000
  pgdyno ybio runit run_duration='10 seconds' pct_update=42 --url postgresql://me@db1/bench
  pgdyno ybio \"call runit(tab_prefix=>'bench',tab_num=>1,tab_rows=>1e6::int,batch_size=>1e4::int)\"
  pgdyno ybio remove tab_num=1

What differs from ybio: pgdyno help ybio")]
pub struct YbioArgs {
    /// setup, runit, remove, or a whole CALL
    #[arg(value_name = "setup|runit|remove|CALL")]
    pub what: String,

    /// Parameters: NAME=VALUE, NAME=>VALUE, or in their order
    #[arg(value_name = "NAME=VALUE")]
    pub given: Vec<String>,

    /// Server: a URL or key=value pairs; missing parts come from the PG* environment variables
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,

    /// `--json`.
    #[command(flatten)]
    pub json: JsonArg,

    /// Whether and where the trial is kept.
    #[command(flatten)]
    pub keep: KeepArgs,
}

/// Does it.
///
/// # Errors
/// What failed.
pub fn open(args: &YbioArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let usage = |why| Failure::with(Exit::Usage, why);
    let call = Call::read(&args.what, &args.given).map_err(usage)?;
    let verb = YbioVerb::named(&call.procedure).ok_or_else(|| {
        usage(format!("ybio has no procedure \"{}\"", call.procedure)).hint("setup, runit, remove")
    })?;
    let parameters = Parameters::read(verb, &call.given).map_err(usage)?;
    match verb {
        YbioVerb::Setup => setup::open(args, &parameters, verbosity),
        YbioVerb::Runit => runit::open(args, &parameters, verbosity),
        YbioVerb::Remove => remove::open(args, &parameters),
    }
}

impl YbioArgs {
    fn wanted(&self) -> TargetSpec {
        match &self.url {
            Some(url) => TargetSpec::at(url.clone()),
            None => TargetSpec::default(),
        }
    }

    fn target(&self) -> Result<Target, Failure> {
        open::existing(&self.wanted())?.ok_or_else(|| {
            Failure::with(Exit::Usage, "no server is named")
                .hint("name it with --url or PGHOST, or keep one of pgdyno's: pgdyno server start")
        })
    }
}

fn pack() -> Result<Pack, Failure> {
    resolve::pack(PACK).map_err(|e| Failure::new(e.to_string()))
}
