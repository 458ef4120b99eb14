//! `pgdyno load`: a workload's tables and nothing else.

use clap::Args;

use super::load_together;
use super::pack_args::PackArgs;
use pgdyno_database::open::{self, Target};
use pgdyno_drive::OwnStops;
use pgdyno_output::{StoreArgs, Verbosity, write_report};
use pgdyno_session::Session;
use pgdyno_spec::{Exit, Failure, TargetSpec, generators::GeneratorsSpec, secret, text};
use pgdyno_workload::filling::{Connections, Method};
use pgdyno_workload::loader::{self, How, Loaded, Others, Request, Watch};
use pgdyno_workload::pack::Pack;
use pgdyno_workload::params::Params;
use pgdyno_workload::{refusal, resolve};

/// What to load, and where.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno server start                             a server that keeps loaded tables
  pgdyno load tpcb --param scale=100
  pgdyno load tpcb --param scale=200 --replace    replaces tables that pgdyno loaded
  pgdyno load slob --param copies=2 --grow        appends to tables that pgdyno loaded
  pgdyno load ycsb --param recordcount=10000000 --jobs 8     eight connections fill the table
  pgdyno load ./mine --url postgresql://me@db1/bench
  pgdyno load tpcb --param scale=5000 --generators 4 --store postgresql://notes/pgdyno --url …
                                                  the same line on four hosts, which share the work

Tables that pgdyno did not create (by `pgbench -i`, say) are used when they fit, and
dropped only when --drop-tables names them.
An interrupted load continues where it stopped, for workloads that load by ranges.")]
pub struct LoadArgs {
    /// A workload's name (`pgdyno pack list`), or the path of a folder with a pack.toml
    #[arg(value_name = "WORKLOAD")]
    pub pack: String,

    /// Load the tables for this mix, if mixes need different tables
    #[arg(long, value_name = "NAME")]
    pub mix: Option<String>,

    /// Drop the workload's tables that pgdyno created, and load them again
    #[arg(long)]
    pub replace: bool,

    /// Drop these tables of the workload, even if pgdyno did not create them, and load again
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub drop_tables: Vec<String>,

    /// Append rows to the tables that pgdyno loaded, until they are those of the larger parameter
    #[arg(long, conflicts_with_all = ["replace", "drop_tables", "jobs", "method", "generators"])]
    pub grow: bool,

    /// Parallel connections that fill a table [default: one per CPU, at most 8, for workloads that
    /// load by ranges, such as ycsb; else 1]
    #[arg(short, long, visible_alias = "threads", value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,

    /// How rows are sent
    #[arg(long, value_enum, default_value_t = Method::Copy)]
    pub method: Method,

    /// Parameters of the workload.
    #[command(flatten)]
    pub workload: PackArgs,

    /// Whether others load the same tables with it.
    #[command(flatten)]
    pub generators: GeneratorsSpec,

    /// Where generators meet; nothing is kept there.
    #[command(flatten, next_help_heading = "Several generators")]
    pub store: StoreArgs,

    /// The server's options.
    #[command(flatten)]
    pub target: TargetSpec,
}

/// Runs the command.
pub fn open(args: &LoadArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let pack = resolve::typed_pack(&args.pack)?;
    let usage = |e| Failure::with(Exit::Usage, e);
    let mix = args.mix.as_deref();
    mix.map(|name| pack.mix(name)).transpose().map_err(usage)?;
    let params = Params::parse(&pack, mix, &args.workload.param).map_err(usage)?;
    let values = params.or_defaults(&pack);
    // Of tables that are there, growing knows the values.
    if !args.grow
        && let Some(why) = refusal::of_tables(&pack, &values).map_err(Failure::new)?
    {
        return Err(usage(why));
    }
    if args.store.store.is_some() && args.generators.generators.is_none() {
        let text =
            "--store says where generators meet: a load without --generators is kept nowhere";
        return Err(usage(text.to_owned()));
    }
    let Some(target) = open::existing(&args.target)? else {
        return Err(Failure::new(
            "nothing names a server, and one of pgdyno's own would end with this command",
        )
        .hint("start one that stays: pgdyno server start")
        .hint("or name one: --url, PGHOST"));
    };
    let request = Request {
        experiment: None,
        pack: &pack,
        params: &params,
        replace: args.replace,
        drop_tables: &args.drop_tables,
        connections: Connections {
            jobs: args.jobs.map(usize::from),
            method: args.method,
        },
    };
    let stops = OwnStops::begin();
    let loaded = match args.generators.generators {
        None => on(&target, verbosity, None, |session, watch| {
            if args.grow {
                loader::grow(session, &pack, &params, watch)
            } else {
                loader::load(session, &request, watch)
            }
        })?,
        Some(_) => load_together::load(args, &request, &target, verbosity)?,
    };
    let stopped = stops.end();
    if !stopped.is_zero() {
        pgdyno_output::remark!(
            "pgdyno: note: pgdyno itself did not run for {} of the load: it was stopped, frozen or paused",
            text::seconds(stopped.as_secs_f64())
        );
    }
    if !verbosity.quiet {
        write_report(format_args!("{}\n", summary(&pack, &loaded)))?;
    }
    Ok(Exit::Ok)
}

/// Does something with the tables of a target.
///
/// # Errors
/// It cannot be reached; what is done goes wrong.
pub fn on<T>(
    target: &Target,
    verbosity: Verbosity,
    others: Option<&dyn Others>,
    work: impl FnOnce(&mut Session, &mut Watch<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut watch = Watch {
        endpoints: &target.endpoints,
        progress: &mut verbosity.progress(),
        interrupts: Some(pgdyno_run::interrupts()?),
        others,
    };
    work(&mut target.connect()?, &mut watch)
}

fn summary(pack: &Pack, loaded: &Loaded) -> String {
    let name = pack.name();
    let values: Vec<_> = loaded
        .variables
        .iter()
        .map(|(k, v)| format!("{k} = {}", secret::masked(k, v)))
        .collect();
    let values = if values.is_empty() {
        String::new()
    } else {
        format!(" ({})", values.join(", "))
    };
    let rows: u64 = loaded.rows.iter().map(|(_, rows)| rows).sum();
    let rows_and_time = || {
        let seconds = text::seconds(loaded.elapsed.as_secs_f64());
        format!("{} rows in {seconds}", text::count(rows))
    };
    let mut text = match loaded.how {
        How::NoTables => format!("{name} needs no tables"),
        How::LoadedBefore => format!("{name} is already loaded{values}"),
        How::MadeByOthers => {
            format!("{name}: using existing tables that pgdyno did not create{values}")
        }
        How::LoadedNow => format!("{name} is loaded{values}: {}", rows_and_time()),
        How::Grown => format!("{name} has grown{values} by {}", rows_and_time()),
    };
    let notice = pack.notice(&loaded.variables).and_then(Result::ok);
    for remark in loaded.means.iter().chain(&loaded.remarks).chain(&notice) {
        text += &format!("\nnote: {remark}");
    }
    text
}
