//! Rows of one result.

use crate::growth::axis::{AxisSteps, GrowthAxis, Who};
use crate::growth::bed::{BedUntil, Work};

/// See the module.
pub const AXIS: GrowthAxis = GrowthAxis {
    name: "rows",
    title: "Rows of a result",
    unit: "rows",
    work: "One client asks PostgreSQL five times for a result of so many rows of one integer.",
    steps: AxisSteps {
        quick: &[1000, 10_000, 100_000, 300_000],
        full: &[1, 1000, 10_000, 100_000, 300_000, 1_000_000],
        large: &[],
    },
    peer: Some(Who::Pgbench),
    output: None,
    run: |bed, who, rows| {
        let text = format!("SELECT i FROM generate_series(1, {rows}) i;\n");
        let script = bed.file("rows.sql", &text)?;
        bed.work(
            who,
            &Work {
                url: &bed.server_url()?,
                scripts: &[script],
                mode: "simple",
                clients: 1,
                threads: 1,
                until: BedUntil::Transactions(5),
            },
        )
    },
};
