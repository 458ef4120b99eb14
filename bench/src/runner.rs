//! Runs the programs of a row in turn (A B A B …), so that a machine that becomes slower or
//! warmer meets both alike.

use pgdyno_platform::interrupt::Interrupts;

use crate::Error;
use crate::figures::Figure;
use crate::measure::Run;
use crate::programs::Programs;
use crate::rows::Row;
use crate::server::Bed;
use crate::settings::Settings;

/// The first run of each program in a row only warms up server and CPU, and is so long.
const WARM_UP_SECONDS: u32 = 1;

/// A row's runs, in the order of the rounds.
pub struct Measured {
    /// Which row.
    pub row: &'static Row,
    /// What the peer is called.
    pub peer: &'static str,
    /// pgdyno's runs.
    pub ours: Vec<Run>,
    /// The peer's runs, as many.
    pub theirs: Vec<Run>,
}

/// Measures `row`, telling each run as it ends.
pub fn in_turn(
    row: &'static Row,
    programs: &Programs,
    server: &Bed,
    settings: &Settings,
) -> Result<Measured, Error> {
    let (ours, theirs) = (
        &programs.pgdyno as &dyn crate::programs::Program,
        programs.peer(row.peer),
    );
    let url = server.url();
    let mut measured = Measured {
        row,
        peer: theirs.name(),
        ours: Vec::new(),
        theirs: Vec::new(),
    };
    for round in 0..=settings.rounds {
        for (program, runs) in [(ours, &mut measured.ours), (theirs, &mut measured.theirs)] {
            if Interrupts::install()?.count() > 0 {
                return Err("interrupted".into());
            }
            if round == 0 {
                Run::of(program, &row.job, &url, WARM_UP_SECONDS)?;
                continue;
            }
            let run = Run::of(program, &row.job, &url, settings.seconds)?;
            println!(
                "{}, round {round} of {}: {:<8}{:>8.2} µs of CPU a transaction, {:>9.1} transactions/s",
                row.name,
                settings.rounds,
                program.name(),
                Figure::Cpu.of(&run),
                Figure::Throughput.of(&run),
            );
            runs.push(run);
        }
    }
    Ok(measured)
}
