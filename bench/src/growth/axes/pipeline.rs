//! Statements in flight at once.

use crate::growth::axis::{AxisSteps, GrowthAxis, Who};
use crate::growth::bed::{BedUntil, Work};

/// See the module.
pub const AXIS: GrowthAxis = GrowthAxis {
    name: "pipeline",
    title: "Depth of a pipeline",
    unit: "statements in flight",
    work: "One client sends pipelines of so many SELECTs to PostgreSQL, 1,000 of them, prepared.",
    steps: AxisSteps {
        quick: &[1, 5, 20, 100],
        full: &[1, 3, 10, 30, 100],
        large: &[300, 1000],
    },
    peer: Some(Who::Pgbench),
    output: None,
    run: |bed, who, depth| {
        let statements = "SELECT 1;\n".repeat(usize::try_from(depth)?);
        let text = format!("\\startpipeline\n{statements}\\endpipeline\n");
        let script = bed.file("pipeline.sql", &text)?;
        bed.work(
            who,
            &Work {
                url: &bed.server_url()?,
                scripts: &[script],
                mode: "prepared",
                clients: 1,
                threads: 1,
                until: BedUntil::Transactions(1000),
            },
        )
    },
};
