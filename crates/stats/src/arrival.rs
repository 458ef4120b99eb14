//! What a request that arrives at a random moment would have waited in a trial with stalls.
//!
//! Clients of a closed loop send nothing while they wait: a stall of a second holds up one
//! transaction of each, however many would have come in that second, and their percentiles leave most
//! of it out (Tene's "coordinated omission"). Requests that come by themselves find the server as
//! it is over time (PASTA: Wolff 1982, "Poisson arrivals see time averages"): in a stall for the share
//! of time that it lasts, and more likely in a long one than in a short one. One that finds a stall
//! of length g waits for what is left of it, anything from 0 to g with equal probability, on average
//! E[g²] / 2 E[g] over stalls (the inspection paradox: Kleinrock 1975, "Queueing systems", volume 1,
//! 5.2). Then it is served like those transactions that no stall has held up.

/// The response time R = W + S of such a request: W what is left of the stall, S the service.
///
/// With stalls g in a time T, and H(x) = E[min(S, x)], or x below 0:
/// P(R > x) = (1 - Σ g / T) P(S > x) + Σ (H(x) - H(x - g)) / T, and E[R] = E[S] + Σ g² / 2 T.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrival {
    stalls: Vec<f64>,
    time: f64,
    /// Ascending, each with how many there are up to it, and their sum.
    service: Vec<(f64, f64, f64)>,
}

impl Arrival {
    /// Of service times by size, ascending, each with how many there are; the lengths of the stalls;
    /// and the time in which all of that was. Each stall has held up one transaction of each of
    /// `clients`. All times are in one unit. `None` when nothing was served outside of stalls, or
    /// stalls are all of the time.
    pub fn new(
        service: impl IntoIterator<Item = (f64, u64)>,
        stalls: &[f64],
        time: f64,
        clients: u64,
    ) -> Option<Self> {
        let mut stalls = stalls.to_vec();
        stalls.sort_unstable_by(|a, b| b.total_cmp(a));
        let mut counted: Vec<(f64, u64)> = service.into_iter().collect();
        for stall in &stalls {
            // Those held up lasted as long as the stall, and a little longer: the shortest that did.
            let mut left = clients;
            for (_, count) in counted.iter_mut().filter(|(value, _)| value >= stall) {
                let taken = left.min(*count);
                *count -= taken;
                left -= taken;
            }
        }
        let service: Vec<(f64, f64, f64)> = counted
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .scan((0.0, 0.0), |(count, sum), (value, more)| {
                *count += more as f64;
                *sum += value * more as f64;
                Some((value, *count, *sum))
            })
            .collect();
        let is_possible = !service.is_empty() && stalls.iter().sum::<f64>() < time;
        is_possible.then_some(Self {
            stalls,
            time,
            service,
        })
    }

    pub fn mean(&self) -> f64 {
        let squares: f64 = self.stalls.iter().map(|g| g * g).sum();
        let (_, count, sum) = self.all();
        sum / count + squares / (2.0 * self.time)
    }

    /// How likely it takes longer than `x`.
    pub fn beyond(&self, x: f64) -> f64 {
        let in_stalls: f64 = self.stalls.iter().sum();
        let (_, count, _) = self.all();
        let served = 1.0 - self.up_to(x).0 / count;
        let waits = self.stalls.iter();
        let waits = waits
            .map(|g| self.least(x) - self.least(x - g))
            .sum::<f64>();
        (1.0 - in_stalls / self.time) * served + waits / self.time
    }

    pub fn percentile(&self, percent: f64) -> f64 {
        let wanted = 1.0 - percent / 100.0;
        let (mut low, mut high) = (0.0, self.max());
        // As near as the figures are exact.
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if self.beyond(middle) > wanted {
                low = middle
            } else {
                high = middle
            }
        }
        high
    }

    /// At worst: the longest stall from its beginning, and the longest service.
    pub fn max(&self) -> f64 {
        self.stalls.first().copied().unwrap_or(0.0) + self.all().0
    }

    fn least(&self, x: f64) -> f64 {
        if x < 0.0 {
            return x;
        }
        let (count, sum) = self.up_to(x);
        let (_, all, _) = self.all();
        (sum + x * (all - count)) / all
    }

    /// How many services took up to `x`, and their sum.
    fn up_to(&self, x: f64) -> (f64, f64) {
        let next = self.service.partition_point(|(value, ..)| *value <= x);
        match next.checked_sub(1) {
            None => (0.0, 0.0),
            Some(last) => (self.service[last].1, self.service[last].2),
        }
    }

    /// The longest service, how many there are, and their sum.
    fn all(&self) -> (f64, f64, f64) {
        self.service.last().copied().unwrap_or((0.0, 1.0, 0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn one_second_of_stall_in_five_is_a_tenth_of_a_second_on_average() {
        // 8 clients, 2 ms each, but for those that the stall has held up.
        let service = [(2.0, 16_000), (1_002.0, 8)];
        let arrival = Arrival::new(service, &[1_000.0], 5_000.0, 8).unwrap();
        // g² / 2T = 100 ms, and 2 ms of service.
        assert!((arrival.mean() - 102.0).abs() < 1e-6, "{}", arrival.mean());
        assert!((arrival.percentile(50.0) - 2.0).abs() < 1e-6);
        // A fifth of the requests wait, evenly from 0 to 1 s: the 90th is in the middle of these.
        let p90 = arrival.percentile(90.0);
        assert!((p90 - 502.0).abs() < 0.01, "{p90}");
        let p99 = arrival.percentile(99.0);
        assert!((p99 - 952.0).abs() < 0.01, "{p99}");
        assert!((arrival.max() - 1_002.0).abs() < 1e-6);
    }

    #[test]
    fn the_formula_agrees_with_requests_at_random_moments() {
        let (stalls, time) = ([700.0, 150.0, 300.0], 4_000.0);
        let service = [(1.0, 50_u64), (3.0, 30), (20.0, 15), (90.0, 5)];
        let arrival = Arrival::new(service, &stalls, time, 0).unwrap();
        let mut rng = Rng::new(4);
        let mut simulated: Vec<f64> = (0..200_000)
            .map(|_| {
                let moment = time * rng.uniform();
                // The stalls one after another, then the rest of the time.
                let mut left = moment;
                let found = stalls.iter().find_map(|g| {
                    left -= g;
                    (left < 0.0).then_some(-left)
                });
                let mut which = rng.below(100) as u64;
                let served = service.iter().find(|(_, count)| {
                    let is_it = which < *count;
                    which = which.saturating_sub(*count);
                    is_it
                });
                found.unwrap_or(0.0) + served.map_or(0.0, |(value, _)| *value)
            })
            .collect();
        simulated.sort_unstable_by(f64::total_cmp);
        let mean = simulated.iter().sum::<f64>() / simulated.len() as f64;
        assert!((arrival.mean() - mean).abs() < 0.02 * mean, "{mean}");
        for percent in [70.0, 80.0, 90.0, 95.0, 99.0] {
            let exact = simulated[(simulated.len() as f64 * percent / 100.0) as usize];
            let got = arrival.percentile(percent);
            assert!(
                (got - exact).abs() < 0.03 * exact,
                "p{percent}: {got} {exact}"
            );
        }
    }

    #[test]
    fn without_stalls_it_is_the_service_and_without_service_nothing() {
        let arrival = Arrival::new([(1.0, 90), (9.0, 10)], &[], 100.0, 4).unwrap();
        assert!((arrival.mean() - 1.8).abs() < 1e-9);
        assert!((arrival.percentile(95.0) - 9.0).abs() < 1e-9);
        assert_eq!(Arrival::new([(5.0, 4)], &[4.0], 5.0, 4), None);
        assert_eq!(Arrival::new([(1.0, 4)], &[5.0], 5.0, 4), None);
        assert_eq!(Arrival::new([], &[], 5.0, 4), None);
    }
}
