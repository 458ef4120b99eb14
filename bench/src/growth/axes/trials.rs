//! Trials of one notebook: listing, opening, comparing them.

use std::fs;
use std::path::PathBuf;

use crate::Error;
use crate::growth::axis::{AxisSteps, GrowthAxis, Run};
use crate::growth::bed::GrowthBed;

const STEPS: AxisSteps = AxisSteps {
    quick: &[100, 1000, 3000, 10_000],
    full: &[100, 1000, 3000, 10_000, 30_000, 100_000],
    large: &[1_000_000],
};

/// All of them in a list.
pub const LIST: GrowthAxis = GrowthAxis {
    name: "trials-list",
    title: "Trials of a notebook: `pgdyno ls --limit 0`",
    unit: "trials",
    work: "Lists a notebook of so many trials, each of 200 transactions in one second, without instruments.",
    steps: STEPS,
    peer: None,
    output: None,
    run: |bed, _, trials| run(bed, trials, &["ls", "--limit", "0"]),
};

/// The newest of them in a list.
pub const NEWEST: GrowthAxis = GrowthAxis {
    name: "trials-newest",
    title: "Trials of a notebook: `pgdyno ls`",
    unit: "trials",
    work: "Lists the newest 50 of so many trials: the work is the same with any number of them.",
    steps: STEPS,
    peer: None,
    output: None,
    run: |bed, _, trials| run(bed, trials, &["ls"]),
};

/// One of them.
pub const OPEN: GrowthAxis = GrowthAxis {
    name: "trials-open",
    title: "Trials of a notebook: `pgdyno show`",
    unit: "trials",
    work: "Shows one trial in the middle of so many: the work is the same with any number of them.",
    steps: STEPS,
    peer: None,
    output: None,
    run: |bed, _, trials| run(bed, trials, &["show", &(trials / 2).to_string()]),
};

/// One half beside the other.
pub const COMPARE: GrowthAxis = GrowthAxis {
    name: "trials-compare",
    title: "Trials of a notebook: `pgdyno compare`",
    unit: "trials",
    work: "Compares one half of so many trials with the other.",
    steps: STEPS,
    peer: None,
    output: None,
    run: |bed, _, trials| run(bed, trials, &["compare", "tag:a", "tag:b"]),
};

fn run(bed: &GrowthBed, trials: u64, arguments: &[&str]) -> Result<Run, Error> {
    let notebook = notebook(bed, trials)?;
    let mut command = bed.pgdyno();
    command.args(arguments).arg("--store").arg(notebook);
    bed.client(command)
}

/// A notebook of so many trials, made when it is first asked for.
fn notebook(bed: &GrowthBed, trials: u64) -> Result<PathBuf, Error> {
    let made = bed.path(&format!("trials-{trials}.sqlite"));
    if !fs::exists(&made)? {
        // Few transactions, whose histograms are small: a million trials are 7 GB, not 20.
        let source = bed.notebook("trials", 2, 1, &["--observe=none", "--rate=200"])?;
        eprintln!("bench: a notebook of {trials} trials");
        bed.python("large-notebook", &source, &made, trials)?;
    }
    Ok(made)
}
