//! Statements of one script.

use crate::growth::axis::{AxisSteps, GrowthAxis, Who};
use crate::growth::bed::{BedUntil, Work};

/// See the module.
pub const AXIS: GrowthAxis = GrowthAxis {
    name: "statements",
    title: "Statements of a script",
    unit: "statements",
    work: "One client runs a script of so many different SELECTs 20 times, prepared, on a server that answers at once.",
    steps: AxisSteps {
        quick: &[10, 100, 1000, 3000],
        full: &[1, 10, 100, 1000, 3000, 10_000],
        large: &[],
    },
    peer: Some(Who::Pgbench),
    output: None,
    run: |bed, who, count| {
        let lines = (0..count).map(|number| format!("SELECT {number};\n"));
        let script = bed.file("statements.sql", &lines.collect::<String>())?;
        bed.work(
            who,
            &Work {
                url: &bed.stub_url()?,
                scripts: &[script],
                mode: "prepared",
                clients: 1,
                threads: 1,
                until: BedUntil::Transactions(20),
            },
        )
    },
};
