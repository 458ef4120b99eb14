//! Bytes of one row.

use crate::growth::axis::{AxisSteps, GrowthAxis, Who};
use crate::growth::bed::{BedUntil, Work};

/// See the module.
pub const AXIS: GrowthAxis = GrowthAxis {
    name: "width",
    title: "Width of a row",
    unit: "bytes",
    work: "One client asks PostgreSQL 200 times for one row of one text that is so long.",
    steps: AxisSteps {
        quick: &[1000, 10_000, 100_000, 1_000_000],
        full: &[1, 1000, 10_000, 100_000, 300_000, 1_000_000],
        large: &[],
    },
    peer: Some(Who::Pgbench),
    output: None,
    run: |bed, who, bytes| {
        let script = bed.file("width.sql", &format!("SELECT repeat('x', {bytes});\n"))?;
        bed.work(
            who,
            &Work {
                url: &bed.server_url()?,
                scripts: &[script],
                mode: "simple",
                clients: 1,
                threads: 1,
                until: BedUntil::Transactions(200),
            },
        )
    },
};
