//! Scripts of one trial: what they cost the client, and what the notebook keeps of them.

use std::path::PathBuf;

use crate::Error;
use crate::growth::axis::{AxisSteps, GrowthAxis, Who};
use crate::growth::bed::{BedUntil, GrowthBed, Work};

/// Drawn by clients.
pub const RUN: GrowthAxis = GrowthAxis {
    name: "scripts",
    title: "Scripts of a trial",
    unit: "scripts",
    work: "Four clients draw among so many scripts of one SELECT, 2,500 times each, prepared, on a server that \
           answers at once. pgbench takes 128 of them.",
    steps: AxisSteps {
        quick: &[1, 10, 100, 1000],
        full: &[1, 3, 10, 30, 100, 300, 1000],
        large: &[3000, 10_000],
    },
    peer: Some(Who::Pgbench),
    output: None,
    run: |bed, who, count| {
        bed.work(
            who,
            &Work {
                url: &bed.stub_url()?,
                scripts: &files(bed, count)?,
                mode: "prepared",
                clients: 4,
                threads: 1,
                until: BedUntil::Transactions(2500),
            },
        )
    },
};

/// Kept by second.
pub const KEPT: GrowthAxis = GrowthAxis {
    name: "scripts-kept",
    title: "Scripts of a trial: its notebook",
    unit: "scripts",
    work: "Four clients draw among so many of them for five seconds, 2,000 transactions a second, on a server that \
           answers at once, without instruments; the notebook is new.",
    steps: AxisSteps {
        quick: &[1, 10, 100, 1000],
        full: &[1, 10, 30, 100, 300, 1000],
        large: &[3000, 10_000],
    },
    peer: None,
    output: Some("notebook"),
    run: |bed, _, count| {
        let notebook = bed.new_notebook("scripts.sqlite")?;
        let mut command = bed.pgdyno();
        command
            .args(["run", "--quiet", "--observe=none", "--query-mode=prepared"])
            .args(files(bed, count)?)
            .args(["--clients=4", "--rate=2000", "--duration=5s"])
            .arg(format!("--url={}", bed.stub_url()?));
        bed.keeps(command, &notebook)
    },
};

fn files(bed: &GrowthBed, count: u64) -> Result<Vec<PathBuf>, Error> {
    let file = |number| {
        let (name, text) = (
            format!("script-{number}.sql"),
            format!("SELECT {number};\n"),
        );
        bed.file(&name, &text)
    };
    (0..count).map(file).collect()
}
