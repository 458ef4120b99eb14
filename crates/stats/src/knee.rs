//! Latency against load: where it bends. How much load keeps it under a limit: `search.rs`.

use std::fmt;

use crate::bootstrap::{Bootstrap, MIN_REPEATS_FOR_INTERVAL, Resampler};
use crate::interval::Interval;
use crate::order;

/// What was measured at one load.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadPoint {
    /// The load, such as transactions a second.
    pub load: f64,
    /// A latency of each repeat at this load, such as p99; infinite where the server did not keep
    /// up at all.
    pub latencies: Vec<f64>,
}

/// A latency-against-load curve: the median over repeats at each load, in the order of the loads.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    loads: Vec<f64>,
    /// Of each load, in ascending order.
    latencies: Vec<Vec<f64>>,
}

/// Why points make no curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CurveError {
    Empty,
    /// A load is not positive or not finite.
    Load(f64),
    Twice(f64),
    /// At this load there is no latency, or one is not positive.
    Latency {
        load: f64,
    },
}

impl fmt::Display for CurveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "no load was measured"),
            Self::Load(load) => write!(f, "a load of {load} is none"),
            Self::Twice(load) => write!(f, "load {load} comes twice: give its repeats together"),
            Self::Latency { load } => {
                write!(
                    f,
                    "load {load} has no latency in a repeat, or one that is not positive"
                )
            }
        }
    }
}

impl std::error::Error for CurveError {}

/// A load with what else the repeats are compatible with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub load: f64,
    /// With at least [`MIN_REPEATS_FOR_INTERVAL`] repeats at every load. An end at the lowest or
    /// highest load that was measured means "or beyond".
    pub interval: Option<Interval>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Knee {
    /// At this load, one of those measured.
    At(Estimate),
    /// At the lowest load or below: measure less.
    AtOrBelow(f64),
    /// Not up to the highest load: measure more.
    AboveHighest(f64),
}

impl Curve {
    /// Takes the points in any order.
    pub fn new(points: &[LoadPoint]) -> Result<Self, CurveError> {
        let mut points: Vec<&LoadPoint> = points.iter().collect();
        points.sort_by(|a, b| a.load.total_cmp(&b.load));
        for (i, point) in points.iter().enumerate() {
            let load = point.load;
            if !(load.is_finite() && load > 0.0) {
                return Err(CurveError::Load(load));
            }
            if i > 0 && points[i - 1].load == load {
                return Err(CurveError::Twice(load));
            }
            // Written so that NaN is refused too.
            if point.latencies.is_empty() || !point.latencies.iter().all(|l| *l > 0.0) {
                return Err(CurveError::Latency { load });
            }
        }
        if points.is_empty() {
            return Err(CurveError::Empty);
        }
        Ok(Self {
            loads: points.iter().map(|p| p.load).collect(),
            latencies: points.iter().map(|p| order::sorted(&p.latencies)).collect(),
        })
    }

    /// The median over repeats at each load.
    pub fn medians(&self) -> Vec<f64> {
        self.latencies
            .iter()
            .map(|sorted| order::median(sorted))
            .collect()
    }

    /// The load with the greatest power, load divided by latency (Kleinrock 1979, "Power and
    /// deterministic rules of thumb for probabilistic problems in computer communications"): up to
    /// it more load costs less than its share of latency, beyond it more. In a plot of latency over
    /// load a straight line from the origin touches the curve there.
    ///
    /// Not Kneedle (Satopää et al. 2011): it measures the bend against the line between the first
    /// and the last point, so that its knee moves when overload is measured further, and in
    /// overload latency grows with the length of the trial alone.
    pub fn knee(&self, bootstrap: &Bootstrap) -> Knee {
        let medians = self.medians();
        let found = self.most_powerful(&medians);
        if medians[found].is_finite() && found + 1 == self.loads.len() {
            return Knee::AboveHighest(self.loads[found]);
        }
        if found == 0 {
            return Knee::AtOrBelow(self.loads[0]);
        }
        let interval = self.interval(bootstrap, |medians| self.loads[self.most_powerful(medians)]);
        Knee::At(Estimate {
            load: self.loads[found],
            interval,
        })
    }

    fn most_powerful(&self, medians: &[f64]) -> usize {
        let power: Vec<f64> = self.loads.iter().zip(medians).map(|(x, y)| x / y).collect();
        let best = power.iter().copied().fold(0.0, f64::max);
        power.iter().position(|&p| p == best).unwrap_or(0)
    }

    /// Over curves whose medians are drawn again at each load.
    fn interval(
        &self,
        bootstrap: &Bootstrap,
        statistic: impl Fn(&[f64]) -> f64,
    ) -> Option<Interval> {
        if self
            .latencies
            .iter()
            .any(|sorted| sorted.len() < MIN_REPEATS_FOR_INTERVAL)
        {
            return None;
        }
        let mut resamplers: Vec<_> = self.latencies.iter().map(|l| Resampler::new(l)).collect();
        bootstrap.interval(|rng| {
            let medians: Vec<f64> = resamplers.iter_mut().map(|r| r.median(rng)).collect();
            statistic(&medians)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const QUICK: Bootstrap = Bootstrap {
        level: 0.95,
        resamples: 400,
        seed: 1,
    };

    /// A queue with one server that serves 1,000 a second (M/M/1): latency is 1 / (1000 - load).
    fn queue(loads: &[f64], repeats: usize, noise: f64, seed: u64) -> Curve {
        let mut rng = Rng::new(seed);
        let points: Vec<LoadPoint> = loads
            .iter()
            .map(|&load| LoadPoint {
                load,
                latencies: (0..repeats)
                    .map(|_| 1e6 / (1000.0 - load) * (noise * rng.normal()).exp())
                    .collect(),
            })
            .collect();
        Curve::new(&points).unwrap()
    }

    const LOADS: [f64; 10] = [100., 200., 300., 400., 500., 600., 700., 800., 900., 950.];

    #[test]
    fn the_knee_of_a_queue_is_where_theory_has_it() {
        // Kleinrock 1979: an M/M/1 queue has its greatest power at half of its capacity.
        let Knee::At(estimate) = queue(&LOADS, 1, 0.0, 2).knee(&QUICK) else {
            panic!("no knee")
        };
        assert_eq!((estimate.load, estimate.interval), (500.0, None));
    }

    #[test]
    fn the_knee_stays_where_it_is_when_overload_is_measured_further() {
        let less = queue(&LOADS[..7], 1, 0.0, 2).knee(&QUICK);
        let more = queue(&[&LOADS[..], &[990.0, 999.0]].concat(), 1, 0.0, 2).knee(&QUICK);
        assert_eq!(less, more);
    }

    #[test]
    fn a_knee_outside_of_what_was_measured_is_said_to_be() {
        let low = queue(&LOADS[..4], 1, 0.0, 2).knee(&QUICK);
        assert_eq!(low, Knee::AboveHighest(400.0));
        assert_eq!(
            queue(&LOADS[6..], 1, 0.0, 2).knee(&QUICK),
            Knee::AtOrBelow(700.0)
        );
        assert_eq!(
            queue(&LOADS[..1], 1, 0.0, 2).knee(&QUICK),
            Knee::AboveHighest(100.0)
        );
    }

    #[test]
    fn intervals_hold_the_knee_as_often_as_they_claim() {
        for (repeats, noise) in [(6, 0.05), (6, 0.2), (10, 0.1), (10, 0.3)] {
            let mut held = 0;
            let mut right = 0;
            for seed in 0..200 {
                let curve = queue(&LOADS, repeats, noise, seed);
                // An end at the least or greatest load means: or beyond.
                match curve.knee(&QUICK) {
                    Knee::At(knee) => {
                        right += u32::from(knee.load == 500.0);
                        held += u32::from(knee.interval.unwrap().contains(500.0));
                    }
                    Knee::AtOrBelow(_) | Knee::AboveHighest(_) => {}
                }
                assert_eq!(curve.knee(&QUICK), curve.knee(&QUICK));
            }
            println!(
                "knee, {repeats} repeats, noise {noise}: right in {right}, interval holds it in {held} of 200"
            );
            assert!(held >= 190, "{repeats}, {noise}: {held} of 200");
        }
    }

    #[test]
    fn the_knee_is_never_at_a_load_that_was_not_kept_up_with() {
        let points = [
            LoadPoint {
                load: 100.0,
                latencies: vec![4.0; 6],
            },
            LoadPoint {
                load: 200.0,
                latencies: vec![f64::INFINITY; 6],
            },
        ];
        let curve = Curve::new(&points).unwrap();
        assert_eq!(curve.knee(&QUICK), Knee::AtOrBelow(100.0));
        let never = [LoadPoint {
            load: 70.0,
            latencies: vec![f64::INFINITY; 2],
        }];
        assert_eq!(
            Curve::new(&never).unwrap().knee(&QUICK),
            Knee::AtOrBelow(70.0)
        );
    }

    #[test]
    fn what_makes_no_curve_says_why() {
        let point = |load, latencies: &[f64]| LoadPoint {
            load,
            latencies: latencies.to_vec(),
        };
        for (points, part) in [
            (vec![], "no load"),
            (vec![point(0.0, &[1.0])], "load of 0"),
            (vec![point(f64::NAN, &[1.0])], "load of NaN"),
            (vec![point(1.0, &[1.0]), point(1.0, &[2.0])], "comes twice"),
            (vec![point(1.0, &[])], "no latency"),
            (vec![point(1.0, &[1.0, -3.0])], "not positive"),
            (vec![point(1.0, &[f64::NAN])], "not positive"),
        ] {
            let error = Curve::new(&points).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
