//! Rows loaded, and rows appended to tables that are there.

use crate::Error;
use crate::growth::axis::{AxisSteps, GrowthAxis, Run, Who};
use crate::growth::bed::GrowthBed;

const ROWS_OF_SCALE: u64 = 100_000;

const STEPS: AxisSteps = AxisSteps {
    quick: &[100_000, 200_000, 400_000],
    full: &[100_000, 200_000, 500_000, 1_000_000],
    large: &[3_000_000, 10_000_000],
};

/// Into new tables.
pub const LOAD: GrowthAxis = GrowthAxis {
    name: "load",
    title: "Rows loaded",
    unit: "rows",
    work: "Creates and fills pgbench's tables on PostgreSQL, with so many accounts, keys, and vacuum.",
    steps: STEPS,
    peer: Some(Who::Pgbench),
    output: None,
    run: |bed, who, rows| {
        let url = bed.empty_database("load")?;
        let scale = rows / ROWS_OF_SCALE;
        match who {
            Who::Pgdyno => load(bed, &url, &[format!("scale={scale}")], false),
            Who::Pgbench => {
                let mut command = bed.pgbench();
                command.args(["--initialize", "--quiet", "--init-steps=dtgvp"]);
                command.arg(format!("--scale={scale}")).arg(url);
                bed.client(command)
            }
        }
    },
};

/// To tables with foreign keys.
pub const GROW: GrowthAxis = GrowthAxis {
    name: "load-grow",
    title: "Rows appended to tables with foreign keys",
    unit: "rows",
    work: "`pgdyno load tpcb --grow` from scale 1, with foreign keys, until there are so many rows more.",
    steps: STEPS,
    peer: None,
    output: None,
    run: |bed, _, rows| {
        let url = bed.empty_database("load")?;
        let keys = "foreign_keys=true".to_owned();
        load(bed, &url, &["scale=1".to_owned(), keys], false)?;
        let scale = 1 + rows / ROWS_OF_SCALE;
        load(bed, &url, &[format!("scale={scale}")], true)
    },
};

fn load(bed: &GrowthBed, url: &str, params: &[String], grows: bool) -> Result<Run, Error> {
    let mut command = bed.pgdyno();
    command.args(["load", "tpcb", "--quiet"]);
    for param in params {
        command.arg("--param").arg(param);
    }
    if grows {
        command.arg("--grow");
    }
    command.arg(format!("--url={url}"));
    bed.client(command)
}
