//! Scripts of one trial, up to the most that pgdyno and pgbench take.

use std::path::PathBuf;

use crate::Error;
use crate::growth::axis::{Axis, Steps, Who};
use crate::growth::bed::{Until, Work};

/// See the module.
pub const AXIS: Axis = Axis {
    name: "scripts",
    title: "Scripts of a trial",
    unit: "scripts",
    work: "Four clients draw among so many scripts of one SELECT, 2,500 times each, prepared, on a server that \
           answers at once.",
    steps: Steps {
        quick: &[1, 8, 32, 128],
        full: &[1, 4, 16, 32, 64, 128],
        large: &[],
    },
    peer: Some(Who::Pgbench),
    output: None,
    run: |bed, who, count| {
        let script = |number| {
            bed.file(
                &format!("script-{number}.sql"),
                &format!("SELECT {number};\n"),
            )
        };
        let scripts: Vec<PathBuf> = (0..count).map(script).collect::<Result<_, Error>>()?;
        bed.work(
            who,
            &Work {
                url: &bed.stub_url()?,
                scripts: &scripts,
                mode: "prepared",
                clients: 4,
                threads: 1,
                until: Until::Transactions(2500),
            },
        )
    },
};
