//! Percentiles of simulated trials whose true percentiles are known: how often they are shown, and
//! how often the 95 % intervals of those that are shown hold the truth. The table is that of
//! docs/statistics.md: `make test-long PART=statistics`.

use pgdyno_stats::{Block, Dependence};

/// SplitMix64 (Steele, Lea & Flood 2014), with normal deviates of Box & Muller (1958).
struct Draw(u64);

impl Draw {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }
}

/// P(Z > z). Abramowitz & Stegun 1964, 7.1.26.
fn normal_beyond(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let last = -1.453_152_027 + t * 1.061_405_429;
    let polynomial = 0.254_829_592 + t * (-0.284_496_736 + t * (1.421_413_741 + t * last));
    let tail = 0.5 * t * polynomial * (-x * x).exp();
    if z < 0.0 { 1.0 - tail } else { tail }
}

/// Standard deviation of the logarithm of log-normal times; their median is 1.
const SIGMA: f64 = 0.5;

#[derive(Clone, Copy)]
enum Server {
    /// So many transactions a second, log-normal, each like the one before it by so much.
    Alike { per_s: f64, rho: f64 },
    /// One queue, arrivals at random: so many are served a second, and it is busy for this share.
    Queue {
        served_per_s: f64,
        busy: f64,
        equal: bool,
    },
    /// Log-normal milliseconds, but all stop for so long, every ten seconds or at random. Arrivals
    /// at random, 1,000 a second.
    Stalls { length_s: f64, regular: bool },
}

/// Of [`Server::Stalls`], from the end of one to the beginning of the next.
const BETWEEN_S: f64 = 10.0;

impl Server {
    fn words(self) -> String {
        match self {
            Self::Alike { per_s, rho: 0.0 } => format!("independent, {per_s} a second"),
            Self::Alike { per_s, rho } => format!("AR(1), ρ = {rho}, {per_s} a second"),
            Self::Queue {
                served_per_s,
                busy,
                equal,
            } => format!(
                "{}, {:.0} % busy, {:.0} a second",
                if equal { "M/D/1" } else { "M/M/1" },
                busy * 100.0,
                busy * served_per_s
            ),
            Self::Stalls { length_s, regular } => format!(
                "stalls of {length_s} s, {}",
                if regular {
                    "every 10.5 s"
                } else {
                    "at random, 1 in 10.5 s"
                }
            ),
        }
    }

    /// Latencies by the second in which they end.
    fn trial(self, draw: &mut Draw, seconds: usize) -> Vec<Vec<f64>> {
        let mut found = vec![Vec::new(); seconds];
        match self {
            Self::Alike { per_s, rho } => {
                let mut z = draw.normal();
                for second in &mut found {
                    for _ in 0..per_s as usize {
                        z = rho * z + (1.0 - rho * rho).sqrt() * draw.normal();
                        second.push((SIGMA * z).exp());
                    }
                }
            }
            Self::Queue {
                served_per_s,
                busy,
                equal,
            } => {
                let (gap, service) = (1.0 / (busy * served_per_s), 1.0 / served_per_s);
                // Begins so long ago that the queue has forgotten that it was empty.
                let settles_s = 20.0 * service / (1.0 - busy.sqrt()).powi(2);
                let (mut arrival, mut free) = (-settles_s, -settles_s);
                loop {
                    arrival += draw.exponential(gap);
                    free = arrival.max(free)
                        + match equal {
                            true => service,
                            false => draw.exponential(service),
                        };
                    if free >= 0.0 {
                        match found.get_mut(free as usize) {
                            Some(second) => second.push(free - arrival),
                            None => break,
                        }
                    }
                }
            }
            Self::Stalls { length_s, regular } => {
                let cycle_s = BETWEEN_S + length_s;
                let mut begins = match regular {
                    true => draw.uniform() * cycle_s,
                    false => draw.exponential(BETWEEN_S),
                } - length_s;
                let mut now = 0.0;
                while now < seconds as f64 {
                    now += draw.exponential(1e-3);
                    while now > begins + length_s {
                        begins += match regular {
                            true => cycle_s,
                            false => length_s + draw.exponential(BETWEEN_S),
                        };
                    }
                    let waits = (now >= begins).then_some(begins + length_s - now);
                    let took = 1e-3 * (SIGMA * draw.normal()).exp() + waits.unwrap_or(0.0);
                    if let Some(second) = found.get_mut((now + took) as usize) {
                        second.push(took);
                    }
                }
            }
        }
        found
    }

    /// The share of latencies above this.
    fn beyond(self, latency: f64) -> f64 {
        match self {
            Self::Alike { .. } => normal_beyond(latency.ln() / SIGMA),
            Self::Queue {
                served_per_s,
                busy,
                equal: false,
            } => (-latency * served_per_s * (1.0 - busy)).exp(),
            Self::Queue {
                served_per_s, busy, ..
            } => 1.0 - waits_at_most(busy, latency * served_per_s - 1.0),
            Self::Stalls { length_s, .. } => {
                let cycle_s = BETWEEN_S + length_s;
                let usual = |x: f64| match x > 0.0 {
                    true => normal_beyond((x * 1e3).ln() / SIGMA),
                    false => 1.0,
                };
                let steps = 2_000;
                let width = length_s / f64::from(steps);
                let waited = (0..steps).map(|i| usual(latency - width * (f64::from(i) + 0.5)));
                (BETWEEN_S * usual(latency) + width * waited.sum::<f64>()) / cycle_s
            }
        }
    }

    fn truth(self, percent: f64) -> f64 {
        let is_above = |latency: f64| self.beyond(latency) > 1.0 - percent / 100.0;
        let (mut low, mut high) = (0.0, 1e-3);
        while is_above(high) {
            high *= 2.0;
        }
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            match is_above(middle) {
                true => low = middle,
                false => high = middle,
            }
        }
        high
    }
}

/// P(W <= t) in M/D/1, times in services (Franx 2001, for one server: all terms are positive).
fn waits_at_most(busy: f64, t: f64) -> f64 {
    if t < 0.0 {
        return 0.0;
    }
    let most = t as usize + 1;
    let poisson = |mean: f64, k: usize| {
        let terms = (1..=k).map(|i| mean / i as f64);
        (-mean).exp() * terms.product::<f64>()
    };
    // P(more than k arrive in a service).
    let more: Vec<f64> = (0..=most)
        .scan(1.0, |left, k| {
            *left -= poisson(busy, k);
            Some(left.max(0.0))
        })
        .collect();
    // P(so many in the system): what leaves 0 … j upwards comes back from j + 1.
    let mut inside = vec![1.0 - busy];
    for j in 0..most {
        let up = (1..=j).map(|i| inside[i] * more[j + 1 - i]).sum::<f64>();
        inside.push((inside[0] * more[j] + up) / (-busy).exp());
    }
    let ahead = busy * (most as f64 - t);
    (0..most)
        .map(|j| poisson(ahead, j) * inside[..=most - j].iter().sum::<f64>())
        .sum()
}

#[derive(Clone, Copy, Default)]
struct Found {
    trials: usize,
    shown: usize,
    /// Shown, and the interval holds the truth.
    right: usize,
}

impl Found {
    fn shown_percent(self) -> f64 {
        100.0 * self.shown as f64 / self.trials as f64
    }

    /// Of those that are shown.
    fn right_percent(self) -> f64 {
        100.0 * self.right as f64 / self.shown as f64
    }

    /// Shown but wrong, of all.
    fn wrong_percent(self) -> f64 {
        100.0 * (self.shown - self.right) as f64 / self.trials as f64
    }
}

fn found<const N: usize>(
    server: Server,
    seconds: usize,
    percents: [f64; N],
    trials: usize,
) -> [Found; N] {
    let mut draw = Draw(7);
    let truths = percents.map(|percent| server.truth(percent));
    let mut found = [Found::default(); N];
    for _ in 0..trials {
        let by_second = server.trial(&mut draw, seconds);
        let mut all: Vec<f64> = by_second.iter().flatten().copied().collect();
        all.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| {
            let rank = (share * all.len() as f64).ceil() as usize;
            all[rank.clamp(1, all.len()) - 1]
        };
        for ((found, percent), truth) in found.iter_mut().zip(percents).zip(truths) {
            found.trials += 1;
            let value = at(percent / 100.0);
            let block = |second: &Vec<f64>| Block {
                count: second.len() as u64,
                beyond: second.iter().filter(|it| **it > value).count() as u64,
            };
            let blocks: Vec<Block> = by_second.iter().map(block).collect();
            let dependence = Dependence::alone(percent, &blocks).unwrap();
            if !dependence.supports(percent) {
                continue;
            }
            found.shown += 1;
            let (low, high) = dependence.shares;
            let is_above_all = (1.0 - high) * (all.len() as f64) < 1.0;
            // Equal services are equal but for rounding.
            let about = 1e-9 * truth;
            let is_right = at(low) <= truth + about && (is_above_all || truth - about <= at(high));
            found.right += usize::from(is_right);
        }
    }
    found
}

const fn queue(served_per_s: f64, busy: f64, equal: bool) -> Server {
    Server::Queue {
        served_per_s,
        busy,
        equal,
    }
}

const SERVERS: [Server; 19] = [
    Server::Alike {
        per_s: 1_000.0,
        rho: 0.0,
    },
    Server::Alike {
        per_s: 100.0,
        rho: 0.0,
    },
    Server::Alike {
        per_s: 1_000.0,
        rho: 0.9,
    },
    Server::Alike {
        per_s: 100.0,
        rho: 0.9,
    },
    queue(1_000.0, 0.5, false),
    queue(1_000.0, 0.8, false),
    queue(1_000.0, 0.9, false),
    queue(1_000.0, 0.95, false),
    queue(1_000.0, 0.5, true),
    queue(1_000.0, 0.8, true),
    queue(1_000.0, 0.9, true),
    queue(1_000.0, 0.95, true),
    queue(100.0, 0.5, false),
    queue(100.0, 0.8, false),
    queue(100.0, 0.9, false),
    queue(100.0, 0.95, false),
    queue(100.0, 0.95, true),
    Server::Stalls {
        length_s: 0.5,
        regular: true,
    },
    Server::Stalls {
        length_s: 0.5,
        regular: false,
    },
];

#[test]
fn the_truths_are_those_of_long_simulations() {
    for server in [
        queue(1_000.0, 0.8, true),
        queue(1_000.0, 0.5, false),
        SERVERS[17],
    ] {
        let all = server.trial(&mut Draw(3), 600).concat();
        for percent in [60.0, 90.0, 99.0] {
            let truth = server.truth(percent);
            let beyond = all.iter().filter(|it| **it > truth).count() as f64 / all.len() as f64;
            let ratio = beyond / (1.0 - percent / 100.0);
            let words = server.words();
            assert!((0.9..1.1).contains(&ratio), "{words}: p{percent}: {ratio}");
        }
    }
}

#[test]
fn percentiles_of_half_a_minute_are_shown_and_right_where_neighbours_are_alike() {
    for rho in [0.0, 0.9] {
        let server = Server::Alike {
            per_s: 1_000.0,
            rho,
        };
        for found in found(server, 30, [50.0, 99.0], 150) {
            assert!(found.shown_percent() > 85.0, "ρ = {rho}: {}", found.shown);
            assert!(found.right_percent() > 92.0, "ρ = {rho}: {}", found.right);
        }
    }
}

#[test]
fn the_p99_of_a_thousand_in_a_busy_queue_is_not_shown() {
    let [p99] = found(queue(100.0, 0.9, false), 11, [99.0], 300);
    assert_eq!(p99.shown, 0);
}

#[test]
fn what_a_queue_shows_is_right_and_more_of_it_in_longer_trials() {
    let server = queue(1_000.0, 0.8, false);
    let [short, long] = [10, 100].map(|seconds| found(server, seconds, [50.0, 90.0, 99.0], 120));
    for (short, long) in short.into_iter().zip(long) {
        assert!(short.shown < long.shown, "{} {}", short.shown, long.shown);
        assert!(short.wrong_percent() < 8.0 && long.wrong_percent() < 8.0);
    }
    assert!(long[1].shown_percent() > 95.0 && long[1].right_percent() > 92.0);
}

#[test]
#[ignore = "make test-long PART=statistics"]
fn percentiles_of_a_trial_are_right_where_they_are_shown() {
    let (lengths, percents) = ([10, 100, 1_000], [50.0, 90.0, 99.0]);
    let heads = lengths.map(|seconds| percents.map(|percent| format!("p{percent}, {seconds} s")));
    println!("| | {} |", heads.concat().join(" | "));
    println!("| --- |{}", " --- |".repeat(9));
    let mut worst = 0.0f64;
    for server in SERVERS {
        let cells = lengths.map(|seconds| {
            // In ten seconds no stall may come: no method knows of one then.
            let is_seen = seconds > 10 || !matches!(server, Server::Stalls { regular: false, .. });
            found(server, seconds, percents, 500).map(|found| {
                let right = found.right_percent();
                if is_seen {
                    worst = worst.max(found.wrong_percent());
                    let is_usual = found.shown_percent() >= 50.0;
                    assert!(!is_usual || right >= 90.0, "{}: {right}", server.words());
                }
                match found.shown {
                    0 => "–".to_owned(),
                    _ => format!("{:.0} / {right:.0}", found.shown_percent()),
                }
            })
        });
        println!("| {} | {} |", server.words(), cells.concat().join(" | "));
    }
    println!("\nshown but wrong, at most: {worst:.1} %, but for stalls at random in 10 s");
    assert!(worst <= 10.0, "{worst}");
}
