//! Generators of one trial, whose recordings are added up at its end.

use crate::growth::axis::{AxisSteps, GrowthAxis};

/// See the module.
pub const AXIS: GrowthAxis = GrowthAxis {
    name: "generators",
    title: "Generators of a trial: adding them up",
    unit: "generators",
    work: "Reads the result of a trial of 12 seconds from a notebook and adds it to the others, so many times, as the \
           first of several generators does with the parts of all (`pgdyno-bench merge`).",
    steps: AxisSteps {
        quick: &[10, 30, 100, 300],
        full: &[1, 10, 100, 300, 1000],
        large: &[],
    },
    peer: None,
    output: None,
    run: |bed, _, generators| {
        let notebook = bed.notebook("long", 1, 12, &[])?;
        let mut command = bed.own();
        command
            .arg("merge")
            .arg(notebook)
            .arg(generators.to_string());
        bed.client(command)
    },
};
