//! Machines that do something from one trial to the next, beside the change that is looked for.

use crate::draw::Draw;

impl Draw {
    pub fn below(&mut self, count: usize) -> usize {
        (self.uniform() * count as f64) as usize
    }
}

#[derive(Clone, Copy)]
pub enum Machine {
    /// Repeats do not depend on one another; noise of so much.
    Independent(f64),
    /// It slows down by a tenth from the first repeat to the last; noise of so much.
    Drifts(f64),
    /// Noise of 5 %, with this autocorrelation.
    Alike(f64),
    /// Up and down by 5 % with a period of so many trials, from anywhere in it; noise of 1 %.
    Period(usize),
    /// Student's t with two degrees of freedom, of 3 %.
    HeavyTails,
    /// By a tenth slower from some trial on; noise of so much.
    Step(f64),
    /// Noise of 2 %, of B's trials of 10 %.
    Unequal,
}

impl Machine {
    pub fn words(self) -> String {
        match self {
            Self::Independent(noise) => format!("independent, noise {:.0} %", noise * 100.0),
            Self::Drifts(noise) => format!("drifts by 10 %, noise {:.0} %", noise * 100.0),
            Self::Alike(r) => format!("autocorrelation {r}, noise 5 %"),
            Self::Period(trials) => format!("period of {trials} trials, noise 1 %"),
            Self::HeavyTails => "t(2), 3 %".to_owned(),
            Self::Step(noise) => format!("a step of 10 %, noise {:.0} %", noise * 100.0),
            Self::Unequal => "noise 2 % and 10 %".to_owned(),
        }
    }

    /// Logarithms of so many repeats, in the order in which they run; true: one of B.
    pub fn run(self, draw: &mut Draw, sides: &[bool]) -> Vec<f64> {
        let count = sides.len();
        let mut before = draw.normal();
        let phase = draw.uniform();
        let step = draw.below(count + 1);
        let mut at = |(i, is_b): (usize, &bool)| match self {
            Self::Independent(noise) => noise * draw.normal(),
            Self::Drifts(noise) => noise * draw.normal() - 0.105 * i as f64 / (count - 1) as f64,
            Self::Alike(r) => {
                before = r * before + (1.0 - r * r).sqrt() * draw.normal();
                0.05 * before
            }
            Self::Period(trials) => {
                let turn = std::f64::consts::TAU * (i as f64 / trials as f64 + phase);
                0.05 * turn.sin() + 0.01 * draw.normal()
            }
            Self::HeavyTails => {
                let square: f64 = (0..2).map(|_| draw.normal().powi(2)).sum();
                0.03 * draw.normal() / (square / 2.0).sqrt()
            }
            Self::Step(noise) => noise * draw.normal() - if i >= step { 0.105 } else { 0.0 },
            Self::Unequal => draw.normal() * if *is_b { 0.1 } else { 0.02 },
        };
        sides.iter().enumerate().map(&mut at).collect()
    }
}
