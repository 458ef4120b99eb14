//! Threads that drive the same clients.

use crate::growth::axis::{AxisSteps, GrowthAxis, Who};
use crate::growth::bed::{BedUntil, Work};

/// See the module.
pub const AXIS: GrowthAxis = GrowthAxis {
    name: "threads",
    title: "Threads",
    unit: "threads",
    work: "128 clients make 500 select-only transactions each on a server that answers at once: the work is the \
           same with any number of threads.",
    steps: AxisSteps {
        quick: &[1, 4, 16, 64],
        full: &[1, 2, 4, 8, 16, 32, 64, 128],
        large: &[],
    },
    peer: Some(Who::Pgbench),
    output: None,
    run: |bed, who, threads| {
        bed.work(
            who,
            &Work {
                url: &bed.stub_url()?,
                scripts: &[bed.select_only()?],
                mode: "prepared",
                clients: 128,
                threads,
                until: BedUntil::Transactions(500),
            },
        )
    },
};
