//! The runs of an axis, and what they come to: medians by step, and how they grow.

use super::axis::{GrowthAxis, Run, Who};
use super::fit;
use crate::figures::median;

/// Above this exponent a figure grows faster than the work: what a fit of some points misses by on a machine
/// that does something else too is taken off.
pub const LINEAR_MAX: f64 = 1.15;

/// Everything that was measured of an axis.
pub struct Measured {
    /// Which one.
    pub axis: &'static GrowthAxis,
    /// Its steps.
    pub steps: Vec<u64>,
    ours: Vec<Vec<Run>>,
    theirs: Vec<Vec<Run>>,
    /// Why the peer does no more, from which step on.
    given_up: Option<(usize, String)>,
}

/// A figure that may grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrowthFigure {
    /// CPU time of the client process.
    Cpu,
    /// How long it took.
    Wall,
    /// Its memory.
    Memory,
    /// What it wrote.
    Output,
}

impl GrowthFigure {
    /// All of them.
    pub const ALL: [GrowthFigure; 4] = [
        GrowthFigure::Cpu,
        GrowthFigure::Wall,
        GrowthFigure::Memory,
        GrowthFigure::Output,
    ];

    /// As shown.
    pub fn name(self) -> &'static str {
        match self {
            GrowthFigure::Cpu => "client CPU",
            GrowthFigure::Wall => "wall time",
            GrowthFigure::Memory => "peak memory",
            GrowthFigure::Output => "bytes written",
        }
    }

    fn of(self, run: &Run) -> f64 {
        match self {
            GrowthFigure::Cpu => run.cpu_us as f64,
            GrowthFigure::Wall => run.wall_s,
            // A process that ended before its memory was read first has none.
            GrowthFigure::Memory if run.peak_bytes == 0 => f64::NAN,
            GrowthFigure::Memory => run.peak_bytes as f64,
            GrowthFigure::Output => run.output_bytes.map_or(f64::NAN, |bytes| bytes as f64),
        }
    }
}

impl Measured {
    /// Of these steps, nothing yet.
    pub fn new(axis: &'static GrowthAxis, steps: &[u64]) -> Self {
        let none = vec![Vec::new(); steps.len()];
        Self {
            axis,
            steps: steps.to_vec(),
            ours: none.clone(),
            theirs: none,
            given_up: None,
        }
    }

    /// A run of a step.
    pub fn add(&mut self, who: Who, step: usize, run: Run) {
        match who {
            Who::Pgdyno => self.ours[step].push(run),
            Who::Pgbench => self.theirs[step].push(run),
        }
    }

    /// The peer cannot do this step, nor one beyond it.
    pub fn give_up(&mut self, who: Who, step: usize, why: String) {
        if who != Who::Pgdyno && !self.has_given_up(who, step) {
            self.given_up = Some((step, why));
        }
    }

    /// Whether there is no use in another run.
    pub fn has_given_up(&self, who: Who, step: usize) -> bool {
        let from = self.given_up.as_ref().map(|(from, _)| *from);
        who != Who::Pgdyno && from.is_some_and(|from| step >= from)
    }

    /// From which step on the peer does it no more, and why.
    pub fn gave_up(&self) -> Option<(u64, &str)> {
        let (step, why) = self.given_up.as_ref()?;
        Some((self.steps[*step], why))
    }

    /// How often pgdyno did a step.
    pub fn runs(&self, step: usize) -> usize {
        self.ours[step].len()
    }

    /// The median of a figure at a step.
    pub fn median(&self, who: Who, step: usize, figure: GrowthFigure) -> Option<f64> {
        let runs = match who {
            Who::Pgdyno => &self.ours[step],
            Who::Pgbench => &self.theirs[step],
        };
        let known = runs.iter().map(|run| figure.of(run));
        let known: Vec<f64> = known.filter(|value| !value.is_nan()).collect();
        (!known.is_empty()).then(|| median(known))
    }

    /// The medians of all steps that were done.
    pub fn points(&self, who: Who, figure: GrowthFigure) -> Vec<(f64, f64)> {
        let at =
            |(step, count): (usize, &u64)| Some((*count as f64, self.median(who, step, figure)?));
        self.steps.iter().enumerate().filter_map(at).collect()
    }

    /// How a figure grows.
    pub fn exponent(&self, who: Who, figure: GrowthFigure) -> Option<f64> {
        fit::exponent(&self.points(who, figure))
    }

    /// What of pgdyno's grows faster than the work, with its exponent.
    pub fn too_fast(&self) -> Vec<(GrowthFigure, f64)> {
        let grown = GrowthFigure::ALL.iter().filter_map(|figure| {
            let points = self.points(Who::Pgdyno, *figure);
            // At the last two steps alone, too: one step that was disturbed bends a fit of few.
            let exponent = fit::exponent(&points)?;
            let last = fit::last_exponent(&points)?;
            (exponent > LINEAR_MAX && last > LINEAR_MAX).then_some((*figure, exponent))
        });
        grown.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::growth::axes;

    #[test]
    fn memory_that_was_not_read_in_time_is_left_out() {
        let mut measured = Measured::new(axes::ALL[0], &[1, 2]);
        for peak_bytes in [0, 7, 0, 9] {
            let run = Run {
                peak_bytes,
                ..Run::default()
            };
            measured.add(Who::Pgbench, 0, run);
            measured.add(Who::Pgbench, 1, Run::default());
        }
        assert_eq!(
            measured.median(Who::Pgbench, 0, GrowthFigure::Memory),
            Some(8.0)
        );
        assert_eq!(measured.median(Who::Pgbench, 1, GrowthFigure::Memory), None);
        assert_eq!(
            measured.points(Who::Pgbench, GrowthFigure::Memory),
            [(1.0, 8.0)]
        );
        assert_eq!(measured.median(Who::Pgdyno, 0, GrowthFigure::Cpu), None);
    }
}
