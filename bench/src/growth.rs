//! `pgdyno-bench growth`: what pgdyno costs as the work grows, axis by axis, beside pgbench where it has that
//! axis too. Not for the cost at one size: that is the table of `make bench`.

mod axes;
mod axis;
mod bed;
mod curve;
pub mod day;
mod fit;
mod measured;
pub mod merge;
mod options;
mod page;
mod section;

use std::path::Path;

use pgdyno_platform::interrupt::Interrupts;

use crate::Error;
use axis::{GrowthAxis, Who};
use bed::GrowthBed;
use measured::Measured;
use options::{Options, Size};
use page::GrowthPage;

/// Measures the axes that the arguments ask for, and puts each into the file as soon as it is done.
///
/// # Errors
/// The arguments are wrong, a program is missing, or an axis could not be measured; the others are in the file.
pub fn open(arguments: &[String]) -> Result<(), Error> {
    let options = Options::parse(arguments)?;
    Interrupts::install()?;
    let bed = GrowthBed::prepare()?;
    let mut failed = Vec::new();
    for &axis in &options.axes {
        match measure(axis, &options, &bed) {
            // A later axis may fail: what is known is written now.
            Ok(measured) => put(&options.file, &measured, &bed, options.size)?,
            Err(error) if Interrupts::install()?.count() > 0 => return Err(error),
            Err(error) => {
                eprintln!("bench: {}: {error}", axis.name);
                failed.push(axis.name);
            }
        }
    }
    println!("written to {}", options.file.display());
    match failed.as_slice() {
        [] => Ok(()),
        failed => Err(format!("not measured: {}", failed.join(", ")).into()),
    }
}

/// All steps in turn, then all again: what the machine does meanwhile meets every step alike.
fn measure(
    axis: &'static GrowthAxis,
    options: &Options,
    bed: &GrowthBed,
) -> Result<Measured, Error> {
    let steps = axis.steps.of(options.size);
    let mut measured = Measured::new(axis, &steps);
    for round in 1..=options.rounds {
        for (index, step) in steps.iter().enumerate() {
            for who in axis.who() {
                if Interrupts::install()?.count() > 0 {
                    return Err("interrupted".into());
                }
                if measured.has_given_up(*who, index) {
                    continue;
                }
                let name = who.name();
                match (axis.run)(bed, *who, *step) {
                    Ok(run) => {
                        println!(
                            "{} {step}, round {round} of {}: {name} {:.1} ms of CPU, {:.2} s, {:.1} MiB",
                            axis.name,
                            options.rounds,
                            run.cpu_us as f64 / 1e3,
                            run.wall_s,
                            run.peak_bytes as f64 / f64::from(1 << 20),
                        );
                        measured.add(*who, index, run);
                    }
                    Err(why) if *who != Who::Pgdyno => {
                        println!("{} {step}: {name} does not: {why}", axis.name);
                        measured.give_up(*who, index, why.to_string());
                    }
                    Err(error) => return Err(format!("at {step}: {error}").into()),
                }
            }
        }
    }
    Ok(measured)
}

fn put(file: &Path, measured: &Measured, bed: &GrowthBed, size: Size) -> Result<(), Error> {
    let section = section::text(measured, &bed.facts(size));
    println!("\n{section}");
    let mut page = GrowthPage::read(file)?;
    page.put(measured.axis.name, section);
    page.write(file)
}
