//! Statistics of repeats: what a figure is worth, whether two differ, whether a trial was steady,
//! where a curve bends. No I/O, and nothing known of trials or databases: figures in, answers out.
//!
//! The unit is the repeat: a [`Sample`] has one figure for each; within one trial only [`Block`]s speak
//! of its percentiles. Never give a sample seconds or
//! transactions of one trial as if they were repeats: they depend on one another, and an interval
//! over them would be far too narrow (Georges, Buytaert & Eeckhout 2007; Kalibera & Jones 2013).
//!
//! Everything is deterministic: what draws random numbers takes a seed. `docs/statistics.md` has
//! the formulas in one place, with their sources.

mod arrival;
mod blocks;
mod bootstrap;
mod cache_fit;
mod certainty;
mod change_points;
mod compare;
mod detectable;
mod drawn;
mod drift;
mod family;
mod followed;
pub mod gate;
mod interval;
mod knee;
mod layout;
mod normal;
mod ongoing;
mod order;
mod outliers;
mod over_limit;
mod percentile;
mod ranks;
pub mod recovery;
mod rng;
mod sample;
pub mod search;
mod select;
mod sequential;
mod share_fit;
mod split_mix;
mod spread;
mod steady;
mod student;
mod trend;
mod uneven;
mod warmup;
mod words;

pub use arrival::Arrival;
pub use blocks::{Block, Dependence};
pub use bootstrap::{Bootstrap, MIN_REPEATS_FOR_INTERVAL};
pub use cache_fit::{CacheEnd, CacheFit, LEAK, SetPoint};
pub use certainty::{Certainty, FLOOR, WIDE};
pub use change_points::{ChangeOptions, ChangePoint, Changes, MIN_SERIES, Null, change_points};
pub use compare::{
    CompareError, CompareOptions, Comparison, Direction, Effect, MIN_REPEATS_TO_COMPARE, Row,
    Verdict, compare, compare_all, repeats_needed,
};
pub use drawn::{Drawn, blocks};
pub use drift::{Drift, Starts};
pub use family::Family;
pub use interval::Interval;
pub use knee::{Curve, CurveError, Estimate, Knee, LoadPoint};
pub use ongoing::{Look, OfBlocks, Ongoing};
pub use outliers::{OUTLIER_SCORE, Outlier};
pub use over_limit::OverLimit;
pub use percentile::{MIN_BEYOND, count_needed, is_supported};
pub use sample::{Sample, SampleError, Summary};
pub use sequential::Looks;
pub use split_mix::SplitMix64;
pub use steady::{MIN_SECONDS, Quarters, Steadiness, steadiness};
pub use warmup::{WarmUp, WarmUpState};
