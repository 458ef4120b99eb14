//! More clients: whether another doubling is worth a trial, where throughput has stopped growing, and
//! where p99 bends.

use pgdyno_model::document::calibration::{Bend, Saturation, Step};
use pgdyno_stats::{Bootstrap, Curve, Knee, LoadPoint};
use serde::{Deserialize, Serialize};

/// So many doublings in a row without growth end it: one may be bad luck.
const FLAT_MAX: usize = 2;

/// When more clients are no use any more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// The share by which throughput must exceed the best so far to have grown.
    pub least: f64,
    /// No more clients than this.
    pub clients_max: u32,
}

impl Growth {
    /// How many clients to try next, after these (in order).
    pub fn next(&self, steps: &[Step]) -> Option<u32> {
        let last = steps.last()?.clients;
        let next = last.checked_mul(2)?;
        let since_best = steps.len() - 1 - self.best(steps)?;
        (since_best < FLAT_MAX && next <= self.clients_max).then_some(next)
    }

    /// The last step that exceeded all before it by the least growth.
    fn best(&self, steps: &[Step]) -> Option<usize> {
        let mut best = 0;
        let mut most = steps.first()?.goodput_per_s;
        for (index, step) in steps.iter().enumerate().skip(1) {
            if step.goodput_per_s > most * (1.0 + self.least) {
                (best, most) = (index, step.goodput_per_s);
            }
        }
        Some(best)
    }

    /// Where throughput stops growing; `None` when nothing but one client was tried.
    pub fn saturation(&self, steps: &[Step]) -> Option<Saturation> {
        let best = self.best(steps).filter(|_| steps.len() > 1)?;
        let (clients, goodput_per_s) = (steps[best].clients, steps[best].goodput_per_s);
        Some(if best + 1 == steps.len() {
            Saturation::Beyond {
                clients,
                goodput_per_s,
            }
        } else {
            Saturation::At {
                clients,
                goodput_per_s,
            }
        })
    }
}

/// Where p99 bends: at the step with the greatest throughput divided by p99 (`docs/statistics.md`,
/// knee). Steps without a p99 are left out.
///
/// # Errors
/// Why there is no curve.
pub fn bend(steps: &[Step]) -> Result<Bend, String> {
    let measured: Vec<&Step> = steps.iter().filter(|step| step.p99_us.is_some()).collect();
    if measured.len() < 2 {
        return Err(
            "p99 needs 1,000 transactions at two client counts: use a longer -T".to_owned(),
        );
    }
    let points: Vec<LoadPoint> = measured
        .iter()
        .filter_map(|step| {
            Some(LoadPoint {
                load: step.goodput_per_s,
                latencies: vec![step.p99_us? as f64],
            })
        })
        .collect();
    let curve = Curve::new(&points).map_err(|error| error.to_string())?;
    let clients = |load: f64| {
        let step = measured.iter().find(|step| step.goodput_per_s == load);
        step.map_or(0, |step| step.clients)
    };
    Ok(match curve.knee(&Bootstrap::default()) {
        Knee::At(estimate) => Bend::At {
            clients: clients(estimate.load),
        },
        Knee::AtOrBelow(load) => Bend::AtOrBelow {
            clients: clients(load),
        },
        Knee::AboveHighest(_) => Bend::NotSeen,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(figures: &[(u32, f64, u64)]) -> Vec<Step> {
        let step = |(clients, goodput_per_s, p99_us): &(u32, f64, u64)| Step {
            trial: 1,
            clients: *clients,
            goodput_per_s: *goodput_per_s,
            p50_us: None,
            p99_us: (*p99_us > 0).then_some(*p99_us),
            failed: 0,
            client_bound: false,
        };
        figures.iter().map(step).collect()
    }

    const GROWTH: Growth = Growth {
        least: 0.1,
        clients_max: 64,
    };

    #[test]
    fn clients_are_doubled_until_twice_in_a_row_throughput_does_not_grow() {
        let all = [
            (1, 100.0, 5),
            (2, 190.0, 5),
            (4, 200.0, 9),
            (8, 260.0, 12),
            (16, 270.0, 30),
            (32, 250.0, 70),
        ];
        let next = |n: usize| GROWTH.next(&steps(&all[..n]));
        // At four clients it did not grow, by chance.
        let tried: Vec<_> = (1..=6).map(next).collect();
        assert_eq!(tried, [Some(2), Some(4), Some(8), Some(16), Some(32), None]);
        let at = GROWTH.saturation(&steps(&all));
        assert_eq!(
            at,
            Some(Saturation::At {
                clients: 8,
                goodput_per_s: 260.0
            })
        );
        assert_eq!(GROWTH.next(&[]), None);
    }

    #[test]
    fn what_still_grows_at_the_most_clients_is_said_to() {
        let few = Growth {
            clients_max: 3,
            ..GROWTH
        };
        let two = steps(&[(1, 100.0, 5), (2, 190.0, 5)]);
        assert_eq!(few.next(&two), None);
        let beyond = few.saturation(&two);
        assert!(matches!(
            beyond,
            Some(Saturation::Beyond { clients: 2, .. })
        ));
        assert_eq!(few.saturation(&two[..1]), None);
    }

    #[test]
    fn p99_bends_where_it_grows_faster_than_throughput() {
        let all = steps(&[
            (1, 100.0, 100),
            (2, 190.0, 110),
            (4, 300.0, 150),
            (8, 310.0, 400),
        ]);
        assert_eq!(
            bend(&all),
            Ok(Bend::At { clients: 4 }).map_err(|e: String| e)
        );
        assert_eq!(bend(&all[..3]), Ok(Bend::NotSeen));
        let at_once = steps(&[(1, 100.0, 100), (2, 110.0, 200)]);
        assert_eq!(bend(&at_once), Ok(Bend::AtOrBelow { clients: 1 }));
        let few = steps(&[(1, 100.0, 100), (2, 110.0, 0)]);
        assert!(bend(&few).unwrap_err().contains("1,000 transactions"));
    }
}
