//! `pgdyno slob sweep`: where the caches end and what a read costs; how reads grow with sessions;
//! what updates cost among them.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use pgdyno_platform::file_system;
use pgdyno_platform::host::Host;

use super::lab::conducted::{Conducted, show};
use super::lab::print;
use super::made_args::MadeArgs;
use super::sweep::kept_as;
use pgdyno_database::dialect::Product;
use pgdyno_database::open::{self, Target};
use pgdyno_database::{admin, facts, trouble};
use pgdyno_model::Progress;
use pgdyno_model::document::TargetKind;
use pgdyno_output::Verbosity;
use pgdyno_report::lab::{Lab, Trials};
use pgdyno_report::slob_sweep::Results;
use pgdyno_run::experiment::notebook::StoredExperiment;
use pgdyno_run::experiment::plan::Plan;
use pgdyno_spec::experiment::slob_sweep::{PREFIX, Room, SlobSweep, SlobVary};
use pgdyno_spec::{Exit, Failure};
use pgdyno_spec::{OwnSpec, TargetSpec, duration, seed_from_clock};

/// Tables are at most this wide, where that is possible.
const WIDTH: usize = 120;

/// What can be asked.
#[derive(Debug, Subcommand)]
pub enum SlobVerb {
    /// Find the cache sizes and the cost of a logical read at each level
    #[command(long_about = "\
Find the cache sizes and the cost of a logical read at each level. A table with one row per block is
loaded once; the part of it that is read grows from a quarter of shared_buffers to more than the memory
of the server's host, if the disk has room. Shown for each size: logical reads per second, misses in
shared_buffers, device reads, and the 99th percentile of a work unit.

With --vary sessions or --vary reads the set stays within shared_buffers, and the number of sessions
or the share of reads varies.")]
    Sweep(SweepArgs),
}

/// What to sweep.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno slob sweep --max-size 2GB                    a private server, some minutes
  pgdyno slob sweep --url postgresql://me@db1/bench   sizes by its shared_buffers and memory
  pgdyno slob sweep --vary sessions -c 1,2,4,8
  pgdyno slob sweep --vary reads -c 4
  pgdyno slob sweep --print > mine.toml               the experiment, to change and sweep

The method, and how to read the table: pgdyno help slob")]
pub struct SweepArgs {
    /// What to vary
    #[arg(long, value_enum, default_value_t = VaryArg::Size)]
    pub vary: VaryArg,

    /// The largest set: 512MB, 4GB [default: 1.5 times the memory of the server's host, at most
    /// half of the free disk space]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub max_size: Option<u64>,

    /// Sessions; with --vary sessions those that are compared [default: 1; with --vary sessions 1,
    /// 2, 4… up to four times the CPUs]
    #[arg(short, long, value_name = "COUNT,…", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub clients: Vec<u64>,

    /// How long each trial measures
    #[arg(short = 'T', long, value_name = "TIME", value_parser = duration::parse_positive, default_value = "5s")]
    pub duration: Duration,

    /// Warm-up, after the whole set has been read once
    #[arg(long, value_name = "TIME", value_parser = duration::parse_positive, default_value = "2s")]
    pub warmup: Duration,

    /// Trials of each point
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,

    /// What every made experiment has.
    #[command(flatten)]
    pub made: MadeArgs,
}

/// What to vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum VaryArg {
    /// The size of the part of the table that is read
    Size,
    /// The number of sessions
    Sessions,
    /// The share of SELECTs; the other statements are UPDATEs
    Reads,
}

impl From<VaryArg> for SlobVary {
    fn from(vary: VaryArg) -> Self {
        match vary {
            VaryArg::Size => Self::Size,
            VaryArg::Sessions => Self::Sessions,
            VaryArg::Reads => Self::Reads,
        }
    }
}

/// A size as PostgreSQL's settings have it.
fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || "a size is a number with kB, MB, GB or TB: 512MB".to_owned();
    let end = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (digits, unit) = text.split_at(end);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "kb" => 10,
        "mb" => 20,
        "gb" => 30,
        "tb" => 40,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    match number.checked_mul(1 << shift) {
        Some(bytes) if bytes >= 8 << 20 => Ok(bytes),
        Some(_) => Err("the least is 8MB".to_owned()),
        None => Err(wrong()),
    }
}

/// Runs the command.
pub fn open(verb: &SlobVerb, verbosity: Verbosity) -> Result<Exit, Failure> {
    let SlobVerb::Sweep(args) = verb;
    let json_to = args.made.json.open()?;
    // The server is asked how large it is before the experiment is made; one of pgdyno's own stays
    // for all of it.
    let wanted = args.made.target.clone();
    let target = open::open(&wanted, &mut |step| {
        verbosity.progress().step(&step.to_string())
    })?;
    let wanted = match target.kind {
        TargetKind::Own => TargetSpec {
            urls: vec![target.address.clone().into()],
            own: OwnSpec::default(),
            ..wanted
        },
        TargetKind::Named | TargetKind::Kept => wanted,
    };
    let room = room(&target)?;
    let (sweep, remark) = args.sweep(room)?;
    if let Some(remark) = remark {
        pgdyno_output::remark!("pgdyno: note: {remark}");
    }
    let made = sweep.experiment();
    if args.made.print {
        return print(made);
    }
    let experiment = made.experiment;
    let seed = experiment.seed.unwrap_or_else(seed_from_clock);
    let plan = Plan::new(experiment, &wanted, seed)?;
    let store = args.made.store.open()?;
    let _served = args.made.serve.start(&args.made.store)?;
    let notebook = StoredExperiment::new(&store, &plan.identity);
    if !verbosity.quiet {
        let size = pgdyno_spec::text::bytes((sweep.blocks * room.block) as f64);
        pgdyno_output::remark!("pgdyno: slob sweep: on a table of {size}");
    }
    let ended = Conducted {
        name: "slob sweep",
        plan: &plan,
        notebook: &notebook,
        wanted,
        observe: Default::default(),
        generators: None,
    }
    .run(verbosity)?;
    let row = store.experiment(notebook.uuid()?)?;
    let mut results = Results::new(sweep.vary, room);
    Trials::of(&store, &row)?.each(|over| results.add(&over))?;
    let found = (ended.complete > 0).then_some(&results as &dyn Lab);
    show(
        found,
        &results.document(),
        (&store, &notebook),
        (&args.made.json, json_to),
        WIDTH,
    )?;
    kept_as(&plan.identity.name, verbosity);
    if !verbosity.quiet && target.kind != TargetKind::Own {
        pgdyno_output::remark!(
            "pgdyno: note: the table stays for the next sweep; DROP TABLE {PREFIX}1 removes it"
        );
    }
    match ended.early {
        Some(failure) => Err(target.explain(failure)),
        None if ended.failed > 0 => Err(ended.of_failed()),
        None => Ok(Exit::Ok),
    }
}

/// What is known of the server.
fn room(target: &Target) -> Result<Room, Failure> {
    let mut session = target.connect()?;
    let ask = |e| trouble::server(&e, "could not read the server's memory settings");
    let product = Product::ask(&mut session).map_err(ask)?;
    let buffers = product.dialect.storage.buffers.as_ref();
    let buffers = buffers.map_err(|why| {
        Failure::new(format!("there is no buffer pool to sweep: {why}"))
            .hint("its own figures: pgdyno run slob")
    })?;
    let block = admin::value(&mut session, buffers.block_bytes).map_err(ask)?;
    let facts = facts::collect(&mut session);
    let is_here = facts.same_host.known() == Some(&true);
    let host = Host::read();
    let directory = facts.data_directory.known().filter(|_| is_here);
    let Some(shared_buffers) = facts.shared_buffers_bytes.known() else {
        return Err(Failure::new("the server does not show its shared_buffers"));
    };
    Ok(Room {
        shared_buffers: *shared_buffers,
        block: block.and_then(|block| block.parse().ok()).unwrap_or(8192),
        memory: host.memory_bytes.filter(|_| is_here),
        disk_free: directory.and_then(|path| file_system::free_bytes(path).ok()),
        cpus: is_here.then_some(host.cpus),
    })
}

impl SweepArgs {
    /// The experiment for this server, and what there is to say of its size.
    fn sweep(&self, room: Room) -> Result<(SlobSweep, Option<String>), Failure> {
        let vary = SlobVary::from(self.vary);
        let usage = |what: String| Failure::with(Exit::Usage, what);
        if vary != SlobVary::Sessions && self.clients.len() > 1 {
            return Err(usage(
                "several --clients are for --vary sessions".to_owned(),
            ));
        }
        let within = room.shared_buffers / 2;
        let (largest, remark) = match vary {
            SlobVary::Size => {
                let largest = room.largest(self.max_size);
                (largest.bytes, largest.remark)
            }
            // Well within shared_buffers.
            _ => (self.max_size.unwrap_or(within), None),
        };
        let sizes = room.sizes(largest);
        let blocks = match vary {
            SlobVary::Size => sizes.last().copied().unwrap_or(1024),
            _ => (largest / room.block.max(1)).max(1024),
        };
        let all: Vec<u64> = {
            let most = 4 * room.cpus.unwrap_or(4) as u64;
            std::iter::successors(Some(1), |n| (n * 2 <= most).then_some(n * 2)).collect()
        };
        let sessions = match (self.clients.as_slice(), vary) {
            ([], SlobVary::Sessions) => all,
            ([], _) => vec![1],
            (given, _) => given.to_vec(),
        };
        let params = self.made.pack.pairs()?;
        let mut names = params.iter().map(|(name, _)| name.as_str());
        if let Some(name) = names.find(|name| ["scale", "active", "tab_prefix"].contains(name)) {
            return Err(usage(format!(
                "--param {name}: the sweep chooses it (--max-size)"
            )));
        }
        let sweep = SlobSweep {
            vary,
            blocks,
            active: blocks,
            sizes,
            sessions,
            updates: vec![0, 5, 10, 25, 50, 100],
            duration: self.duration,
            warmup: self.warmup,
            repeats: self.repeat,
            seed: self.made.seed,
            params,
        };
        Ok((sweep, remark))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_written_as_in_a_setting() {
        assert_eq!(bytes("512MB"), Ok(512 << 20));
        assert_eq!(bytes("2 gb"), Ok(2 << 30));
        for wrong in ["", "512", "MB", "1PB", "1MB", "99999999999999TB"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
