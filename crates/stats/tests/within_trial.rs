//! Percentiles of simulated trials whose true percentiles are known: how often they are shown without
//! the mark of doubt, and how often the 95 % intervals of these hold the truth. The table is that of
//! docs/internals/simulations.md: `make test-long PART=statistics`.

mod draw;

use draw::Draw;
use pgdyno_stats::{Block, Certainty, is_supported};

impl Draw {
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
    /// Log-normal milliseconds, but all stop for so long, so long after the end of the last stop or
    /// at random. Arrivals at random, 1,000 a second.
    Stalls {
        length_s: f64,
        between_s: f64,
        regular: bool,
    },
    /// 1,000 a second around a level that each second has, like that of the second before it by so
    /// much: normal, with these standard deviations of the logarithm.
    Level {
        of_level: f64,
        within: f64,
        rho: f64,
    },
}

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
            Self::Stalls {
                length_s,
                between_s,
                regular,
            } => format!(
                "stalls of {length_s} s, {} {} s",
                if regular { "every" } else { "at random, 1 in" },
                length_s + between_s
            ),
            Self::Level {
                of_level,
                within,
                rho,
            } => format!(
                "seconds ± {} %, ρ = {rho}, within them ± {} %",
                of_level * 100.0,
                within * 100.0
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
                        + if equal {
                            service
                        } else {
                            draw.exponential(service)
                        };
                    if free >= 0.0 {
                        match found.get_mut(free as usize) {
                            Some(second) => second.push(free - arrival),
                            None => break,
                        }
                    }
                }
            }
            Self::Stalls {
                length_s,
                between_s,
                regular,
            } => {
                let cycle_s = between_s + length_s;
                let mut begins = if regular {
                    draw.uniform() * cycle_s
                } else {
                    draw.exponential(between_s)
                } - length_s;
                let mut now = 0.0;
                while now < seconds as f64 {
                    now += draw.exponential(1e-3);
                    while now > begins + length_s {
                        begins += if regular {
                            cycle_s
                        } else {
                            length_s + draw.exponential(between_s)
                        };
                    }
                    let waits = (now >= begins).then_some(begins + length_s - now);
                    let took = 1e-3 * (SIGMA * draw.normal()).exp() + waits.unwrap_or(0.0);
                    if let Some(second) = found.get_mut((now + took) as usize) {
                        second.push(took);
                    }
                }
            }
            Self::Level {
                of_level,
                within,
                rho,
            } => {
                let mut level = draw.normal();
                for second in &mut found {
                    level = rho * level + (1.0 - rho * rho).sqrt() * draw.normal();
                    for _ in 0..1_000 {
                        second.push((of_level * level + within * draw.normal()).exp());
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
            Self::Level {
                of_level, within, ..
            } => normal_beyond(latency.ln() / of_level.hypot(within)),
            Self::Stalls {
                length_s,
                between_s,
                ..
            } => {
                let cycle_s = between_s + length_s;
                let usual = |x: f64| {
                    if x > 0.0 {
                        normal_beyond((x * 1e3).ln() / SIGMA)
                    } else {
                        1.0
                    }
                };
                let steps = 2_000;
                let width = length_s / f64::from(steps);
                let waited = (0..steps).map(|i| usual(latency - width * (f64::from(i) + 0.5)));
                (between_s * usual(latency) + width * waited.sum::<f64>()) / cycle_s
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
            if is_above(middle) {
                low = middle
            } else {
                high = middle
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
struct Coverage {
    trials: usize,
    /// Ten values lie beyond it.
    shown: usize,
    /// Of these, those without the mark.
    sure: usize,
    /// Of these, those whose interval holds the truth.
    right: usize,
}

impl Coverage {
    fn sure_percent(self) -> f64 {
        100.0 * self.sure as f64 / self.trials as f64
    }

    /// Of those without the mark.
    fn right_percent(self) -> f64 {
        100.0 * self.right as f64 / self.sure as f64
    }

    fn and(self, other: Self) -> Self {
        Self {
            trials: self.trials + other.trials,
            shown: self.shown + other.shown,
            sure: self.sure + other.sure,
            right: self.right + other.right,
        }
    }
}

fn coverage<const N: usize>(
    server: Server,
    seconds: usize,
    percents: [f64; N],
    trials: usize,
) -> [Coverage; N] {
    let mut draw = Draw::new(7);
    let truths = percents.map(|percent| server.truth(percent));
    let mut found = [Coverage::default(); N];
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
            let count = all.len() as u64;
            if !is_supported(percent, count) {
                continue;
            }
            found.shown += 1;
            let value = at(percent / 100.0);
            let block = |second: &Vec<f64>| Block {
                count: second.len() as u64,
                beyond: second.iter().filter(|it| **it > value).count() as u64,
            };
            let blocks: Vec<Block> = by_second.iter().map(block).collect();
            let certainty = Certainty::of(percent, value, &blocks, count, at);
            let (Some(low), Some(high), false) =
                (certainty.low, certainty.high, certainty.is_uncertain)
            else {
                continue;
            };
            found.sure += 1;
            // Equal services are equal but for rounding.
            let about = 1e-9 * truth;
            found.right += usize::from(low <= truth + about && truth - about <= high);
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

const SERVERS: [Server; 22] = [
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
        between_s: 10.0,
        regular: true,
    },
    Server::Stalls {
        length_s: 0.5,
        between_s: 10.0,
        regular: false,
    },
    Server::Stalls {
        length_s: 1.0,
        between_s: 4.0,
        regular: true,
    },
    Server::Level {
        of_level: 0.3,
        within: 0.3,
        rho: 0.7,
    },
    Server::Level {
        of_level: 0.008,
        within: 0.005,
        rho: 0.99,
    },
];

#[test]
fn the_truths_are_those_of_long_simulations() {
    for server in [
        queue(1_000.0, 0.8, true),
        queue(1_000.0, 0.5, false),
        SERVERS[17],
    ] {
        let all = server.trial(&mut Draw::new(3), 600).concat();
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
fn percentiles_of_half_a_minute_are_sure_and_right_where_neighbours_are_alike() {
    for rho in [0.0, 0.9] {
        let server = Server::Alike {
            per_s: 1_000.0,
            rho,
        };
        for found in coverage(server, 30, [50.0, 99.0], 150) {
            assert!(found.sure_percent() > 85.0, "ρ = {rho}: {}", found.sure);
            assert!(found.right_percent() > 93.0, "ρ = {rho}: {}", found.right);
        }
    }
}

#[test]
fn the_p99_of_a_thousand_in_a_busy_queue_is_shown_with_the_mark() {
    let [p99] = coverage(queue(100.0, 0.9, false), 15, [99.0], 300);
    assert!(p99.shown > 290, "{}", p99.shown);
    assert!(p99.sure_percent() < 5.0, "{}", p99.sure);
}

#[test]
fn the_p99_of_a_stall_of_one_second_in_five_is_sure_after_a_minute() {
    let [p99] = coverage(SERVERS[19], 60, [99.0], 60);
    assert!(p99.sure_percent() > 90.0, "{}", p99.sure);
    assert!(p99.right_percent() > 93.0, "{}", p99.right);
}

#[test]
fn of_a_queue_more_is_sure_in_longer_trials() {
    let server = queue(1_000.0, 0.8, false);
    let [short, long] = [10, 100].map(|seconds| coverage(server, seconds, [50.0, 90.0, 99.0], 120));
    for (short, long) in short.into_iter().zip(long) {
        assert!(short.sure < long.sure, "{} {}", short.sure, long.sure);
    }
    for found in &long[..2] {
        assert!(found.right_percent() >= 93.0, "{}", found.right);
    }
}

#[test]
#[ignore = "make test-long PART=statistics"]
fn percentiles_without_the_mark_are_right() {
    let (lengths, percents) = ([10, 100, 1_000], [50.0, 90.0, 99.0]);
    let heads = lengths.map(|seconds| percents.map(|percent| format!("p{percent}, {seconds} s")));
    println!("| | {} | all |", heads.concat().join(" | "));
    println!("| --- |{}", " --- |".repeat(10));
    let mut all = Coverage::default();
    let mut least = (f64::INFINITY, String::new());
    for server in SERVERS {
        let cells = lengths.map(|seconds| coverage(server, seconds, percents, 500));
        // In ten seconds no stall may come: no method knows of one then.
        let is_seen =
            |at: usize| at > 0 || !matches!(server, Server::Stalls { regular: false, .. });
        let seen = cells.iter().enumerate().filter(|(at, _)| is_seen(*at));
        let row = seen
            .flat_map(|(_, cells)| cells)
            .fold(Coverage::default(), |a, b| a.and(*b));
        all = all.and(row);
        // Of a queue that is hardly ever sure these are the trials that were lucky to see no burst.
        if row.sure_percent() >= 20.0 && row.right_percent() < least.0 {
            least = (row.right_percent(), server.words());
        }
        let cells = cells.concat().into_iter().chain([row]);
        let cells: Vec<String> = cells
            .map(|found| match (found.shown, found.sure) {
                (0, _) => "–".to_owned(),
                (_, 0) => "0".to_owned(),
                _ => format!("{:.0} / {:.0}", found.sure_percent(), found.right_percent()),
            })
            .collect();
        println!("| {} | {} |", server.words(), cells.join(" | "));
    }
    println!(
        "\nall: {:.1} %; the least: {:.1} %, {}",
        all.right_percent(),
        least.0,
        least.1
    );
    assert!(all.right_percent() >= 93.0 && least.0 >= 93.0, "{least:?}");
}
