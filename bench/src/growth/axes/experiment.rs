//! Points of an experiment, and repeats of one point.

use crate::Error;
use crate::growth::axis::{AxisSteps, GrowthAxis, Run};
use crate::growth::bed::GrowthBed;

const STEPS: AxisSteps = AxisSteps {
    quick: &[2, 4, 8, 16],
    full: &[3, 10, 30, 100, 300],
    large: &[1000],
};

/// Different ones.
pub const POINTS: GrowthAxis = GrowthAxis {
    name: "points",
    title: "Points of an experiment",
    unit: "points",
    work: "`pgdyno sweep` over so many limits of latency, of which the server knows nothing: trials of 100 \
           select-only transactions without instruments and without time to settle, in a new notebook.",
    steps: STEPS,
    peer: None,
    output: None,
    run: |bed, _, points| {
        let limits: Vec<String> = (1..=points).map(|ms| format!("\"{ms}ms\"")).collect();
        run(bed, &format!("latency_limit = [{}]\n", limits.join(", ")))
    },
};

/// The same again and again.
pub const REPEATS: GrowthAxis = GrowthAxis {
    name: "repeats",
    title: "Repeats of a point",
    unit: "repeats",
    work: "`pgdyno sweep` of one point with so many repeats: trials of 100 select-only transactions without \
           instruments and without time to settle, in a new notebook.",
    steps: STEPS,
    peer: None,
    output: None,
    run: |bed, _, repeats| run(bed, &format!("repeats = {repeats}\n")),
};

fn run(bed: &GrowthBed, grows: &str) -> Result<Run, Error> {
    // The second that a server has to itself before each trial would be most of the time.
    let text = format!(
        "workload = \"select-only\"\nclients = 1\ntransactions = 100\n{grows}\n[reset]\nsettle = \"0s\"\n"
    );
    let file = bed.file("experiment.toml", &text)?;
    let notebook = bed.new_notebook("experiment.sqlite")?;
    let mut command = bed.pgdyno();
    command
        .args(["sweep", "--quiet", "--observe=none"])
        .arg(file)
        .arg(format!("--url={}", bed.server_url()?))
        .arg("--store")
        .arg(notebook);
    bed.client(command)
}
