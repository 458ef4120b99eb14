//! Whether figures were steady over the seconds.

use pgdyno_drive::record::Recording;
use pgdyno_stats::Steadiness as Found;

use pgdyno_model::document::{Steadiness, SteadinessVerdict};
use pgdyno_run::steady::{Course, courses};

/// Of each figure that was judged.
pub fn all(recording: &Recording) -> Vec<Steadiness> {
    courses(recording).iter().map(of).collect()
}

fn of(course: &Course) -> Steadiness {
    let (verdict, change, p, steady_from_s) = match course.steadiness {
        Found::TooShort { .. } => (SteadinessVerdict::TooShort, None, None, None),
        Found::Incomplete { .. } => (SteadinessVerdict::Incomplete, None, None, None),
        Found::Steady { quarters, p } => (
            SteadinessVerdict::Steady,
            Some(quarters.change()),
            Some(p),
            None,
        ),
        Found::WarmUp { steady_from, .. } => {
            (SteadinessVerdict::WarmUp, None, None, Some(steady_from))
        }
        Found::Drifts { quarters, p } => (
            SteadinessVerdict::Drifts,
            Some(quarters.change()),
            Some(p),
            None,
        ),
    };
    Steadiness {
        figure: course.figure,
        seconds: course.seconds,
        verdict,
        change,
        p,
        steady_from_s,
        sentence: course.sentence(),
    }
}
