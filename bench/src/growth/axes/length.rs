//! The length of a trial: what it keeps while it runs, by the clock and by a simulated one, and what opening a day of
//! it takes.

use std::fs;

use crate::Error;
use crate::growth::axis::{AxisSteps, GrowthAxis, Run};
use crate::growth::bed::GrowthBed;

/// By the clock.
pub const RUN: GrowthAxis = GrowthAxis {
    name: "length",
    title: "Length of a trial, by the clock",
    unit: "seconds",
    work: "Eight clients make 500 select-only transactions a second on PostgreSQL with the default instruments; \
           the notebook is new.",
    steps: AxisSteps {
        quick: &[2, 4, 8, 16],
        full: &[5, 10, 30, 60, 120],
        large: &[600, 1800],
    },
    peer: None,
    output: Some("notebook"),
    run: |bed, _, seconds| {
        let notebook = bed.new_notebook("length.sqlite")?;
        let mut command = bed.pgdyno();
        command
            .args(["run", "select-only", "--quiet", "--clients=8", "--rate=500"])
            .arg(format!("--duration={seconds}s"))
            .arg(format!("--url={}", bed.server_url()?));
        bed.keeps(command, &notebook)
    },
};

const LONG: AxisSteps = AxisSteps {
    quick: &[60, 300, 1200, 3600],
    full: &[60, 600, 3600, 14_400, 86_400],
    large: &[604_800],
};

/// By a simulated clock.
pub const KEPT: GrowthAxis = GrowthAxis {
    name: "length-kept",
    title: "Length of a trial: its notebook, by a simulated clock",
    unit: "seconds",
    work: "Keeps a trial of so many seconds with all that instruments read in a new notebook, as a run does, second by \
           second of a real one of 12 again and again, and has all of them in memory at the end, as a run that reports \
           its result (`pgdyno-bench day`).",
    steps: LONG,
    peer: None,
    output: Some("notebook"),
    run: |bed, _, seconds| {
        let source = bed.notebook("long", 1, 12, &[])?;
        let notebook = bed.new_notebook("day.sqlite")?;
        let mut command = bed.own();
        command.arg("day").arg(source).arg(&notebook);
        command.arg(seconds.to_string());
        bed.puts_out(command, &notebook)
    },
};

/// A long one is shown.
pub const SHOW: GrowthAxis = GrowthAxis {
    name: "length-show",
    title: "Length of a trial: `pgdyno show`",
    unit: "seconds",
    work: "Shows a trial of so many seconds with all that instruments saw, made by `scripts/long-notebook` of a real \
           one (a simulated clock).",
    steps: LONG,
    peer: None,
    output: Some("notebook"),
    run: |bed, _, seconds| long(bed, seconds, &["show", "1"], None),
};

/// The page of a long one.
pub const PAGE: GrowthAxis = GrowthAxis {
    name: "length-page",
    title: "Series × seconds on a page: `pgdyno report`",
    unit: "seconds",
    work: "Writes the page of such a trial, with its hundreds of series.",
    steps: LONG,
    peer: None,
    output: Some("page"),
    run: |bed, _, seconds| {
        let page = ["report", "1", "--force", "-o", "page.html"];
        long(bed, seconds, &page, Some("page.html"))
    },
};

/// A command on such a notebook; with the size of the file that it writes, else of the notebook.
fn long(
    bed: &GrowthBed,
    seconds: u64,
    arguments: &[&str],
    file: Option<&str>,
) -> Result<Run, Error> {
    let made = bed.path(&format!("long-{seconds}.sqlite"));
    if !fs::exists(&made)? {
        let source = bed.notebook("long", 1, 12, &[])?;
        bed.python("long-notebook", &source, &made, seconds)?;
    }
    let mut command = bed.pgdyno();
    command.args(arguments).arg("--store").arg(&made);
    let written = file.map_or(made, |name| bed.path(name));
    bed.puts_out(command, &written)
}
