//! `pgdyno ci` held to noise as it was recorded (`recorded/blocks.csv` says how) and as it is simulated: how often it
//! says that a server that does more work for a transaction has failed, and how often the same server beside itself.
//! The tables are those of docs/ci.md.

mod draw;
mod machine;

use draw::Draw;
use machine::Machine;
use pgdyno_stats::gate::{Figure, Gate, Outcome, Unit};
use pgdyno_stats::{OfBlocks, Ongoing, SplitMix64};

/// So many blocks of four trials, with 2.5 s each, are measured in fifteen minutes where what lies between trials
/// takes half as long again.
const BLOCKS: usize = 60;

/// Goodput of a server, of the same once more, and of one that does more work, measured right after one another.
struct Recorded {
    same: f64,
    again: f64,
    slowed: f64,
}

fn recorded() -> Vec<Recorded> {
    let text = include_str!("recorded/blocks.csv");
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let [same, again, slowed] = [2, 3, 4].map(|column| cells[column].parse().unwrap());
        Recorded {
            same,
            again,
            slowed,
        }
    };
    let mut all: Vec<Recorded> = rows.map(row).collect();
    assert!(all.len() >= 40, "{}", all.len());
    // The noise is what was recorded; the slowdown is 5 % in the median.
    let ratios = all
        .iter()
        .flat_map(|of| [of.slowed / of.same, of.slowed / of.again]);
    let mut ratios: Vec<f64> = ratios.collect();
    ratios.sort_by(f64::total_cmp);
    let recorded = ratios[ratios.len() / 2];
    assert!((0.92..0.96).contains(&recorded), "{recorded}");
    for of in &mut all {
        of.slowed *= 0.95 / recorded;
    }
    all
}

fn below(random: &mut SplitMix64, count: usize) -> usize {
    ((u128::from(random.next()) * count as u128) >> 64) as usize
}

/// What a run of so many blocks says under a gate on goodput, and after how many.
fn run(gate: &str, count: usize, mut block: impl FnMut() -> [[f64; 2]; 2]) -> (Outcome, usize) {
    let figures = [Figure {
        name: "goodput",
        unit: Unit::PerSecond,
    }];
    let mut ongoing = Ongoing::new(Gate::parse_required(gate, &figures).unwrap());
    let mut blocks = OfBlocks {
        figure: "goodput".to_owned(),
        a: Vec::new(),
        b: Vec::new(),
    };
    for done in 1..=count {
        let [a, b] = block();
        blocks.a.push(a);
        blocks.b.push(b);
        let share = done as f64 / count as f64;
        if !ongoing.is_due(share) {
            continue;
        }
        let look = ongoing.look(std::slice::from_ref(&blocks), share).unwrap();
        let outcome = look.map_or(Outcome::CannotTell, |look| look.outcome);
        if outcome != Outcome::CannotTell {
            return (outcome, done);
        }
    }
    (Outcome::CannotTell, count)
}

/// Passes, failures and what cannot be decided.
#[derive(Default)]
struct Counts {
    outcomes: [usize; 3],
    /// Of all runs.
    blocks: usize,
}

impl Counts {
    fn add(&mut self, (outcome, blocks): (Outcome, usize)) {
        self.outcomes[match outcome {
            Outcome::Passes => 0,
            Outcome::Fails => 1,
            Outcome::CannotTell => 2,
        }] += 1;
        self.blocks += blocks;
    }

    fn per_100(&self) -> [f64; 3] {
        let all: usize = self.outcomes.iter().sum();
        self.outcomes.map(|count| 100.0 * count as f64 / all as f64)
    }
}

/// So many runs on a simulated machine.
fn simulated(runs: usize, gate: &str, (machine, change): (Machine, f64), blocks: usize) -> Counts {
    let mut draw = Draw::new(7);
    let mut counts = Counts::default();
    for _ in 0..runs {
        let block = |_| {
            let first = draw.below(2) == 1;
            [first, !first, !first, first]
        };
        let sides: Vec<bool> = (0..blocks).flat_map(block).collect();
        let noise = machine.run(&mut draw, &sides);
        let mut done = noise.chunks(4).zip(sides.chunks(4)).map(|(noise, sides)| {
            let side = |is_b: bool| -> [f64; 2] {
                let by = if is_b { change.ln_1p() } else { 0.0 };
                let of_it = noise.iter().zip(sides).filter(|(_, side)| **side == is_b);
                let of_it: Vec<f64> = of_it.map(|(log, _)| 1000.0 * (log + by).exp()).collect();
                [of_it[0], of_it[1]]
            };
            [side(false), side(true)]
        });
        counts.add(run(gate, blocks, || done.next().unwrap()));
    }
    counts
}

/// Fails what is allowed, or passes what is not, in so many of 100 runs at most: 5, and what 1,000 runs may differ
/// from that.
const WRONG_MAX: f64 = 6.5;

fn characteristics(runs: usize, noises: &[f64], counts: &[usize]) {
    println!(
        "| noise of a trial | blocks | change | pass | fail | cannot tell | blocks in the mean |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for noise in noises {
        for blocks in counts {
            for change in [0.0, -0.02, -0.05, -0.08, -0.1, -0.15] {
                let machine = Machine::Independent(*noise);
                let found = simulated(runs, "goodput > -5%", (machine, change), *blocks);
                let [passes, fails, cannot_tell] = found.per_100();
                println!(
                    "| {:.0} % | {blocks} | {:.0} % | {passes:.1} | {fails:.1} | {cannot_tell:.1} | {:.0} |",
                    noise * 100.0,
                    change * 100.0,
                    found.blocks as f64 / runs as f64
                );
                let most = if runs < 1_000 {
                    2.0 * WRONG_MAX
                } else {
                    WRONG_MAX
                };
                assert!(change < -0.05 || fails <= most, "{noise} {blocks} {change}");
                assert!(
                    change > -0.05 || passes <= most,
                    "{noise} {blocks} {change}"
                );
            }
        }
    }
}

#[test]
fn what_is_allowed_does_not_fail_and_what_is_not_does_not_pass() {
    characteristics(40, &[0.1], &[12]);
    let found = simulated(40, "goodput > -5%", (Machine::Independent(0.02), -0.1), 12);
    assert!(found.per_100()[1] > 95.0, "a loss of 10 % fails");
    let found = simulated(40, "goodput > -5%", (Machine::Independent(0.02), 0.0), 12);
    assert!(found.per_100()[0] > 95.0, "the same passes");
}

#[test]
#[ignore = "make test-long PART=statistics"]
fn operating_characteristics() {
    characteristics(1_000, &[0.02, 0.05, 0.1], &[12, 20, 60]);
}

/// What a machine may do beside what does not change, under a gate that allows for nothing.
fn unchanged(runs: usize, machines: &[Machine], most: f64) {
    println!("| | fail, 12 blocks | 20 |");
    println!("| --- | --- | --- |");
    for machine in machines {
        let fails = [12, 20].map(|blocks| {
            simulated(runs, "goodput > -0.01%", (*machine, 0.0), blocks).per_100()[1]
        });
        println!(
            "| {} | {:.1} | {:.1} |",
            machine.words(),
            fails[0],
            fails[1]
        );
        assert!(
            fails.iter().all(|fails| *fails <= most),
            "{}: {fails:?}",
            machine.words()
        );
    }
}

#[test]
fn an_order_that_is_drawn_makes_no_failure_of_a_period() {
    unchanged(40, &[3, 4].map(Machine::Period), 2.0 * WRONG_MAX);
}

#[test]
#[ignore = "make test-long PART=statistics"]
fn failures_of_what_is_unchanged() {
    let periods = (2..=12).map(Machine::Period);
    let others = [
        Machine::Independent(0.05),
        Machine::Drifts(0.02),
        Machine::Alike(0.8),
        Machine::HeavyTails,
        Machine::Step(0.02),
        Machine::Unequal,
    ];
    let machines: Vec<Machine> = others.into_iter().chain(periods).collect();
    unchanged(1_000, &machines, WRONG_MAX);
}

/// How many of so many runs pass, fail and cannot tell, and after how many blocks in the mean.
fn runs(count: usize, is_slowed: bool, seed: u64) -> Counts {
    let recorded = recorded();
    let mut random = SplitMix64(seed);
    let mut counts = Counts::default();
    for number in 0..count {
        let sides: [fn(&Recorded) -> f64; 2] = match (is_slowed, number % 2) {
            (true, 0) => [|of| of.same, |of| of.slowed],
            (true, _) => [|of| of.again, |of| of.slowed],
            // Each of the two is the change that is judged in half of the runs.
            (false, 0) => [|of| of.same, |of| of.again],
            (false, _) => [|of| of.again, |of| of.same],
        };
        counts.add(run("goodput > -3%", BLOCKS, || {
            let pairs = [0, 1].map(|_| &recorded[below(&mut random, recorded.len())]);
            sides.map(|side| pairs.map(side))
        }));
    }
    counts
}

fn check(count: usize) {
    for (title, is_slowed) in [("the same", false), ("5 % more work", true)] {
        let Counts {
            outcomes: [passed, failed, cannot_tell],
            blocks,
        } = runs(count, is_slowed, 31);
        let blocks = blocks as f64 / count as f64;
        println!(
            "{title}: pass {passed}, fail {failed}, cannot tell {cannot_tell} of {count}; \
             {blocks:.1} of {BLOCKS} blocks in the mean"
        );
        if is_slowed {
            assert!(passed * 100 <= count * 5, "{passed} of {count} pass");
            assert!(failed * 2 >= count, "{failed} of {count} are found");
        } else {
            assert!(
                failed * 100 <= count * 5,
                "{failed} of {count} are false alarms"
            );
            assert!(passed * 2 >= count, "{passed} of {count} pass");
        }
    }
}

#[test]
fn a_slowdown_is_found_and_the_same_passes() {
    check(200);
}

#[test]
#[ignore = "make test-long PART=wired"]
fn of_2000_runs_each() {
    check(2_000);
}
