//! Searches for a capacity on simulated servers, whose capacity is known: how often the interval
//! holds it, and how far off the estimate is. `make test-long PART=capacity` does a thousand of each.

use pgdyno_stats::search::{Asked, Next, Step, answer, next};
use pgdyno_stats::{Block, Dependence};

struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((z >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }
}

/// One server and its queue.
#[derive(Debug, Clone, Copy)]
enum Server {
    Markov,
    Equal,
    /// M/M/1 that becomes slower by a tenth within the twenty minutes.
    Drifting,
    /// The same within ten minutes.
    DriftingTwiceAsFast,
    /// M/M/1 that keeps the limit up to 60 a second only.
    Slow,
}

/// Of service when nothing drifts.
const SERVED_PER_S: f64 = 1_000.0;
const LIMIT_S: f64 = 0.02;
const SETTLE_S: f64 = 1.0;

impl Server {
    fn served_per_s(self, at_s: f64) -> f64 {
        match self {
            Self::Drifting => SERVED_PER_S * (1.05 - 0.1 * at_s / 1_200.0),
            Self::DriftingTwiceAsFast => SERVED_PER_S * (1.05 - 0.1 * at_s / 600.0),
            Self::Slow => 290.0,
            _ => SERVED_PER_S,
        }
    }

    /// The rate at which p99 of the response is the limit, where the server is as at this time.
    fn capacity(self, at_s: f64) -> f64 {
        match self {
            // The response is exponential with the rate's distance to the service's.
            Self::Markov | Self::Drifting | Self::DriftingTwiceAsFast | Self::Slow => {
                self.served_per_s(at_s) - 100f64.ln() / LIMIT_S
            }
            Self::Equal => {
                let (mut low, mut high) = (0.5 * SERVED_PER_S, 0.99 * SERVED_PER_S);
                for _ in 0..60 {
                    let middle = (low + high) / 2.0;
                    if waits_at_most(middle, LIMIT_S - 1.0 / SERVED_PER_S) > 0.99 {
                        low = middle
                    } else {
                        high = middle
                    }
                }
                low
            }
        }
    }

    /// A step from an empty queue: settled, then measured.
    fn step(self, random: &mut Random, rate: f64, seconds: f64, begins_s: f64) -> Step {
        let (mut now, mut free) = (0.0, 0.0f64);
        let mut responses: Vec<(usize, f64)> = Vec::new();
        let end = SETTLE_S + seconds;
        loop {
            now += random.exponential() / rate;
            if now >= end {
                break;
            }
            let service = match self {
                Self::Equal => 1.0,
                _ => random.exponential(),
            };
            free = now.max(free) + service / self.served_per_s(begins_s + now);
            // What is not over when the step ends has waited until then.
            if free >= SETTLE_S {
                let ended = free.min(end) - SETTLE_S;
                let second = (ended as usize).min(seconds as usize - 1);
                responses.push((second, free.min(end) - now));
            }
        }
        let mut sorted: Vec<f64> = responses.iter().map(|(_, response)| *response).collect();
        let mut step = Step {
            rate,
            seconds,
            at_s: begins_s + SETTLE_S + seconds / 2.0,
            took_s: end,
            latency: f64::NAN,
            between: (0.0, f64::INFINITY),
            effective_beyond: 0.0,
        };
        if sorted.len() < 1_000 {
            return step;
        }
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| {
            sorted
                .get(((share * sorted.len() as f64).ceil() as usize).saturating_sub(1))
                .copied()
        };
        step.latency = at(0.99).unwrap_or(f64::INFINITY);
        let mut blocks = vec![Block::default(); seconds as usize];
        for (second, response) in &responses {
            blocks[*second].count += 1;
            blocks[*second].beyond += u64::from(*response > step.latency);
        }
        if let Some(dependence) = Dependence::of(99.0, &blocks) {
            let (low, high) = dependence.shares;
            step.between = (at(low).unwrap_or(0.0), at(high).unwrap_or(f64::INFINITY));
            step.effective_beyond = 0.01 * dependence.effective;
        }
        step
    }
}

/// P(W <= t) in M/D/1 (Crommelin 1932).
fn waits_at_most(rate: f64, t: f64) -> f64 {
    let service = 1.0 / SERVED_PER_S;
    let mut sum = 0.0;
    for k in 0..=(t / service) as i32 {
        let x = rate * (f64::from(k) * service - t);
        let factorial: f64 = (1..=k).map(f64::from).product();
        sum += x.powi(k) / factorial * (-x).exp();
    }
    (1.0 - rate / SERVED_PER_S) * sum
}

struct Found {
    covered: usize,
    high: usize,
    errors: Vec<f64>,
    widths: Vec<f64>,
    steps: Vec<f64>,
    took_s: Vec<f64>,
    no_line: usize,
}

fn searches(server: Server, count: u64, first_step_s: f64) -> Found {
    let mut found = Found {
        covered: 0,
        high: 0,
        errors: Vec::new(),
        widths: Vec::new(),
        steps: Vec::new(),
        took_s: Vec::new(),
        no_line: 0,
    };
    for seed in 0..count {
        let mut random = Random(seed.wrapping_mul(0x1234_5678_9abc_def1).wrapping_add(7));
        let asked = Asked {
            limit: LIMIT_S,
            width: 0.05,
            time_s: 1_200.0,
            step_s: first_step_s,
            beside_s: SETTLE_S,
            // From far below to far above.
            first_rate: 50.0 * 80f64.powf(random.uniform()),
        };
        let mut steps: Vec<Step> = Vec::new();
        let mut now = 0.0;
        while let Next::Step { rate, seconds } = next(&asked, &steps) {
            let step = server.step(&mut random, rate, seconds.round(), now);
            now += step.took_s;
            steps.push(step);
        }
        let answer = answer(&asked, &steps);
        let at_s = answer.line.map_or(now / 2.0, |line| line.at_s);
        let truth = server.capacity(at_s);
        let (low, high) = (
            answer.low.unwrap_or(0.0),
            answer.high.unwrap_or(f64::INFINITY),
        );
        found.no_line += usize::from(answer.line.is_none());
        found.covered += usize::from((low..=high).contains(&truth));
        if let Some(rate) = answer.rate {
            found.errors.push((rate / truth - 1.0).abs());
            found.high += usize::from(rate > truth);
            found
                .widths
                .push(answer.half_width().unwrap_or(f64::INFINITY));
        }
        found.steps.push(steps.len() as f64);
        found.took_s.push(now);
    }
    found
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A row of the table in docs/internals/simulations.md.
fn row(server: Server, count: u64, first_step_s: f64) -> (f64, f64) {
    let mut found = searches(server, count, first_step_s);
    let covered = 100.0 * found.covered as f64 / count as f64;
    let error = 100.0 * median(&mut found.errors);
    println!(
        "| {server:?} | {first_step_s:.0} s | {count} | {covered:.1} % | {error:.2} % | {:.1} % | {:.0} % | {:.0} | {:.0} s | {} |",
        100.0 * median(&mut found.widths),
        100.0 * found.high as f64 / count as f64,
        median(&mut found.steps),
        median(&mut found.took_s),
        found.no_line,
    );
    (covered, error)
}

#[test]
fn searches_find_the_capacity_of_servers_that_are_known() {
    for server in [Server::Markov, Server::Equal, Server::Drifting] {
        let (covered, error) = row(server, 60, 10.0);
        assert!(
            covered >= 85.0 && error <= 2.0,
            "{server:?}: {covered} {error}"
        );
    }
}

/// Two minutes on a server that breaks the limit at the lowest rate given: the search goes down, and ends with an answer.
#[test]
fn a_search_that_begins_above_the_capacity_has_an_answer_after_two_minutes() {
    let server = Server::Slow;
    let truth = server.capacity(0.0);
    let (mut right, mut lower, mut answered) = (0, 0, 0);
    const SEARCHES: u64 = 100;
    for seed in 0..SEARCHES {
        let mut random = Random(seed.wrapping_mul(0x1234_5678_9abc_def1).wrapping_add(7));
        let asked = Asked {
            limit: LIMIT_S,
            width: 0.05,
            time_s: 120.0,
            step_s: 10.0,
            beside_s: SETTLE_S,
            first_rate: 101.0,
        };
        let mut steps: Vec<Step> = Vec::new();
        let mut now = 0.0;
        while let Next::Step { rate, seconds } = next(&asked, &steps) {
            let step = server.step(&mut random, rate, seconds.round(), now);
            now += step.took_s;
            steps.push(step);
        }
        // Half a second of rounding.
        assert!((60.0..=121.0).contains(&now), "{now} s: {steps:?}");
        let found = answer(&asked, &steps);
        lower += usize::from(steps.iter().any(|step| step.rate < 60.0));
        answered += usize::from(found.low.is_some() || found.high.is_some());
        let (low, high) = (
            found.low.unwrap_or(0.0),
            found.high.unwrap_or(f64::INFINITY),
        );
        right += usize::from((low..=high).contains(&truth));
    }
    println!("{answered} of {SEARCHES} answered, {right} right, {lower} went below the capacity");
    assert!(
        answered >= 95 && right >= 90 && lower >= 90,
        "{answered} {right} {lower}"
    );
}

#[test]
#[ignore = "a thousand searches: make test-long PART=capacity"]
fn intervals_hold_the_capacity_as_often_as_they_claim() {
    println!(
        "| server | first steps | searches | coverage | median error | half width | above | steps | time | without a line |"
    );
    for server in [Server::Equal, Server::Drifting, Server::Markov] {
        let (covered, error) = row(server, 1_000, 10.0);
        assert!((93.0..=97.0).contains(&covered), "{server:?}: {covered} %");
        assert!(error <= 2.0, "{server:?}: {error} %");
    }
}

/// Where the search is not as good as it claims, or a trial would not let it begin.
#[test]
#[ignore = "three thousand searches: make test-long PART=capacity"]
fn searches_beyond_what_is_promised() {
    for (server, first_step_s) in [
        (Server::Markov, 5.0),
        (Server::Equal, 5.0),
        (Server::DriftingTwiceAsFast, 10.0),
    ] {
        let (_, error) = row(server, 1_000, first_step_s);
        assert!(error <= 2.0, "{server:?}: {error} %");
    }
}
