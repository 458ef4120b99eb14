//! `pgdyno ci` held to noise as it was recorded (`recorded/blocks.csv` says how): how often it says that a server that
//! does 5 % more work for a transaction has failed, and how often the same server beside itself.

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

/// One run on blocks that are drawn: what it says, and after how many blocks.
fn run(
    recorded: &[Recorded],
    sides: [fn(&Recorded) -> f64; 2],
    random: &mut SplitMix64,
) -> (Outcome, usize) {
    let figures = [Figure {
        name: "goodput",
        unit: Unit::PerSecond,
    }];
    let gate = Gate::parse_required("goodput > -5%", &figures).unwrap();
    let mut ongoing = Ongoing::new(gate);
    let mut blocks = OfBlocks {
        figure: "goodput".to_owned(),
        a: Vec::new(),
        b: Vec::new(),
    };
    for count in 1..=BLOCKS {
        let pairs = [0, 1].map(|_| &recorded[below(random, recorded.len())]);
        blocks.a.push(pairs.map(sides[0]));
        blocks.b.push(pairs.map(sides[1]));
        let share = count as f64 / BLOCKS as f64;
        if !ongoing.is_due(share) {
            continue;
        }
        let look = ongoing.look(std::slice::from_ref(&blocks), share).unwrap();
        let outcome = look.map_or(Outcome::CannotTell, |look| look.outcome);
        if outcome != Outcome::CannotTell {
            return (outcome, count);
        }
    }
    (Outcome::CannotTell, BLOCKS)
}

/// How many of so many runs pass, fail and cannot tell, and after how many blocks in the mean.
fn runs(count: usize, is_slowed: bool, seed: u64) -> ([usize; 3], f64) {
    let recorded = recorded();
    let mut random = SplitMix64(seed);
    let (mut outcomes, mut blocks) = ([0; 3], 0);
    for number in 0..count {
        let sides: [fn(&Recorded) -> f64; 2] = match (is_slowed, number % 2) {
            (true, 0) => [|of| of.same, |of| of.slowed],
            (true, _) => [|of| of.again, |of| of.slowed],
            // Each of the two is the change that is judged in half of the runs.
            (false, 0) => [|of| of.same, |of| of.again],
            (false, _) => [|of| of.again, |of| of.same],
        };
        let (outcome, took) = run(&recorded, sides, &mut random);
        outcomes[match outcome {
            Outcome::Passes => 0,
            Outcome::Fails => 1,
            Outcome::CannotTell => 2,
        }] += 1;
        blocks += took;
    }
    (outcomes, blocks as f64 / count as f64)
}

fn check(count: usize) {
    for (title, is_slowed) in [("the same", false), ("5 % more work", true)] {
        let ([passed, failed, cannot_tell], blocks) = runs(count, is_slowed, 31);
        println!(
            "{title}: pass {passed}, fail {failed}, cannot tell {cannot_tell} of {count}; \
             {blocks:.1} of {BLOCKS} blocks in the mean"
        );
        if is_slowed {
            assert!(failed * 10 >= count * 9, "{failed} of {count} are found")
        } else {
            assert!(
                failed * 100 <= count * 6,
                "{failed} of {count} are false alarms"
            )
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
