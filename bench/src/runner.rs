//! Runs the programs of a row in turn (A B A B …), so that a machine that becomes slower or
//! warmer meets both alike.

use pgdyno_platform::interrupt::Interrupts;

use crate::Error;
use crate::measure::Run;
use crate::programs::{BenchProgram, Programs};
use crate::rows::{Job, Row, RowVia, Workload};
use crate::server::{Bed, must_succeed};
use crate::settings::Settings;

/// The first run of each program in a row only warms up server and CPU, and is so long: longer than pgbench needs to
/// connect 64 clients by TLS.
const WARM_UP_SECONDS: u32 = 3;

/// With a rate, how many times as long the longer one of two runs is.
const LONGER: u32 = 3;

/// The memory row's: histograms of so many seconds, unless `BENCH_MEMORY_SECONDS` says otherwise.
pub const MEMORY_SECONDS: u32 = 20;

/// A row's runs, in the order of the rounds.
pub struct Measured {
    /// Which row.
    pub row: &'static Row,
    /// pgdyno's runs.
    pub ours: Vec<Run>,
    /// What the peer is called, and its runs, as many; nothing where there is none.
    pub theirs: Option<(&'static str, Vec<Run>)>,
    /// Those of the bare loops, where they do the row too.
    pub bare: Vec<(&'static str, Vec<Run>)>,
    /// Of a row with TLS, those of pgdyno and the peer without.
    pub plain: Vec<(&'static str, Vec<Run>)>,
    /// Why there is no peer though there ought to be.
    pub missing: Option<String>,
}

/// Whose turn it is, and what it does.
type RunnerTurn<'a> = (&'a dyn BenchProgram, Job);

/// Measures `row`, telling each run as it ends.
pub fn in_turn(
    row: &'static Row,
    programs: &Programs,
    bed: &Bed,
    settings: &Settings,
) -> Result<Measured, Error> {
    let (peer, missing) = match row.peer.map(|peer| programs.peer(peer)) {
        None => (None, None),
        Some(Ok(peer)) => (Some(peer), None),
        Some(Err(why)) => {
            println!("{}: {why}", row.name);
            (None, Some(why.to_owned()))
        }
    };
    if missing.is_some() && row.job.workload == Workload::PointSelect {
        // The peer makes the table.
        return Ok(Measured::nothing(row, missing));
    }
    let compared = [Some(&programs.pgdyno as &dyn BenchProgram), peer];
    let compared = compared.into_iter().flatten();
    let bare = programs.bare.iter().filter(|_| row.bare);
    let bare = bare.map(|loop_| (loop_ as &dyn BenchProgram, row.job));
    let plain = Job {
        via: RowVia::TlsOff,
        ..row.job
    };
    let plain = { compared.clone() }
        .filter(|_| row.job.via == RowVia::Tls)
        .map(|program| (program, plain));
    let count = compared.clone().count();
    let turn: Vec<RunnerTurn<'_>> = { compared.map(|program| (program, row.job)) }
        .chain(plain)
        .chain(bare)
        .collect();
    let mut runs: Vec<Vec<Run>> = turn.iter().map(|_| Vec::new()).collect();
    if let Err(error) = take_turns(row, &turn, &mut runs, bed, settings) {
        if Interrupts::install()?.count() > 0 {
            return Err(error);
        }
        // What one row lacks is no reason to lose the others.
        println!("{}: {error}", row.name);
        return Ok(Measured::nothing(row, Some(error.to_string())));
    }
    let mut named = turn.iter().map(|(program, _)| program.name()).zip(runs);
    let (_, ours) = named.next().unwrap_or_default();
    let theirs = if peer.is_some() { named.next() } else { None };
    let plain = if row.job.via == RowVia::Tls { count } else { 0 };
    Ok(Measured {
        row,
        ours,
        theirs,
        plain: named.by_ref().take(plain).collect(),
        bare: named.collect(),
        missing,
    })
}

fn take_turns(
    row: &Row,
    turn: &[RunnerTurn<'_>],
    runs: &mut [Vec<Run>],
    bed: &Bed,
    settings: &Settings,
) -> Result<(), Error> {
    bed.ready_for(row.job.via)?;
    for (program, _) in turn {
        for mut command in program.prepare(row.job.workload, bed) {
            must_succeed(&mut command)?;
        }
    }
    let (seconds, rounds) = settings.of(&row.job);
    let warms_up = row.job.rate.is_none()
        && !row.job.workload.is_load()
        && row.job.workload != Workload::Memory;
    for round in 0..=rounds {
        for ((program, job), runs) in turn.iter().zip(&mut *runs) {
            if Interrupts::install()?.count() > 0 {
                return Err("interrupted".into());
            }
            if round == 0 {
                if warms_up {
                    Run::of(*program, job, bed, WARM_UP_SECONDS)?;
                }
                continue;
            }
            if row.job.workload.is_load() {
                for mut command in program.before_load(row.job.workload, bed) {
                    must_succeed(&mut command)?;
                }
            }
            let run = one(*program, job, bed, seconds)?;
            if matches!(row.job.workload, Workload::Load | Workload::PackLoad) {
                bed.check_load()?;
            }
            let goals = row.goals.iter().map(|goal| {
                let (name, value) = (goal.figure.name(), goal.figure.of(&run));
                format!(", {name} {value:.2}")
            });
            let plainly = if job.via == RowVia::TlsOff {
                " without TLS"
            } else {
                ""
            };
            println!(
                "{}, round {round} of {rounds}: {}{plainly}{}",
                row.name,
                program.name(),
                goals.collect::<String>()
            );
            runs.push(run);
        }
    }
    Ok(())
}

/// A run of a row. With a rate most of the time nothing happens, and a short run would tell of
/// starting and connecting: there it is what a longer run has beyond a short one, for every program.
fn one(program: &dyn BenchProgram, job: &Job, bed: &Bed, seconds: u32) -> Result<Run, Error> {
    let run = |seconds| Run::of(program, job, bed, seconds);
    if job.rate.is_none() {
        return run(seconds);
    }
    let short = run(seconds)?;
    run(LONGER * seconds)?.beyond(&short)
}

impl Measured {
    fn nothing(row: &'static Row, missing: Option<String>) -> Self {
        Self {
            row,
            ours: Vec::new(),
            theirs: None,
            plain: Vec::new(),
            bare: Vec::new(),
            missing,
        }
    }
}
