//! What an axis is: something of which a user may have more, and what pgdyno then does.

use super::bed::GrowthBed;
use super::options::Size;
use crate::Error;

/// Something that grows. Each is a file in `axes/`.
pub struct GrowthAxis {
    /// As `--axis` has it.
    pub name: &'static str,
    /// As shown.
    pub title: &'static str,
    /// What a step counts, in the plural.
    pub unit: &'static str,
    /// What is run at each step, and what of it grows.
    pub work: &'static str,
    /// How far it grows.
    pub steps: AxisSteps,
    /// What is compared.
    pub peer: Option<Who>,
    /// What [`Run::output_bytes`] is, where it is counted: then it is drawn, else the CPU time is.
    pub output: Option<&'static str>,
    /// Runs one step once, and says what it cost. What the step needs is made first, and does not count.
    pub run: fn(&GrowthBed, Who, u64) -> Result<Run, Error>,
}

/// How far an axis grows, in ascending order.
pub struct AxisSteps {
    /// With `--quick`.
    pub quick: &'static [u64],
    /// Without it.
    pub full: &'static [u64],
    /// Added to those with `--large`: what takes long or much disk.
    pub large: &'static [u64],
}

/// Who does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// pgdyno.
    Pgdyno,
    /// Stock pgbench.
    Pgbench,
}

/// What one run of a client process cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Run {
    /// User and system time of the process from its start to its end, in microseconds.
    pub cpu_us: u64,
    /// From its start to its end, in seconds.
    pub wall_s: f64,
    /// The most memory that it had.
    pub peak_bytes: u64,
    /// What it wrote.
    pub output_bytes: Option<u64>,
}

impl GrowthAxis {
    /// All who do it, pgdyno first.
    pub fn who(&self) -> &'static [Who] {
        match self.peer {
            None => &[Who::Pgdyno],
            Some(_) => &[Who::Pgdyno, Who::Pgbench],
        }
    }
}

impl AxisSteps {
    /// Those of a size.
    pub fn of(&self, size: Size) -> Vec<u64> {
        match size {
            Size::Quick => self.quick.to_vec(),
            Size::Full => self.full.to_vec(),
            Size::Large => [self.full, self.large].concat(),
        }
    }
}

impl Who {
    /// As shown.
    pub fn name(self) -> &'static str {
        match self {
            Who::Pgdyno => "pgdyno",
            Who::Pgbench => "pgbench",
        }
    }
}
