//! Comparisons of simulated repeats: how often they raise a false alarm, what they find, and what
//! order and drift do to them. The tables are those of docs/internals/simulations.md:
//! `make test-long PART=statistics`.

mod draw;
mod machine;

use draw::Draw;
use machine::Machine;
use pgdyno_stats::{
    Bootstrap, CompareOptions, Comparison, Drawn, Family, Row, Sample, Starts, Verdict,
    compare_all, repeats_needed,
};

/// In which order the sides run.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// All of A, then all of B.
    Sequential,
    /// A B B A …, as it is written.
    Fixed,
    /// In blocks, each in an order that is drawn.
    Drawn,
    /// A B B A or B A A B, as it is drawn.
    Mirrored,
}

impl Order {
    /// Which side each trial is of; true: B.
    fn sides(self, draw: &mut Draw, repeats: usize) -> Vec<bool> {
        let count = 2 * repeats;
        match self {
            Self::Sequential => (0..count).map(|i| i >= repeats).collect(),
            Self::Fixed => (0..count)
                .map(|i| (i % 2 == 1) == (i / 2).is_multiple_of(2))
                .collect(),
            Self::Drawn => {
                let blocks = pgdyno_stats::blocks(repeats).into_iter();
                let block = |repeats: usize| {
                    let mut sides: Vec<bool> = (0..2 * repeats).map(|i| i % 2 == 1).collect();
                    // Fisher and Yates.
                    for last in (1..sides.len()).rev() {
                        sides.swap(last, draw.below(last + 1));
                    }
                    sides
                };
                blocks.flat_map(block).collect()
            }
            Self::Mirrored => {
                let block = |_| {
                    let first = draw.below(2) == 1;
                    [first, !first, !first, first]
                };
                (0..repeats / 2).flat_map(block).collect()
            }
        }
    }

    fn drawn(self, repeats: usize) -> Option<Drawn> {
        match self {
            Self::Sequential | Self::Fixed => None,
            Self::Drawn => Some(Drawn::of(repeats)),
            Self::Mirrored => {
                let blocks: Vec<u32> = (0..repeats as u32).map(|repeat| repeat / 2).collect();
                Some(Drawn {
                    a: blocks.clone(),
                    b: blocks,
                    is_mirrored: true,
                })
            }
        }
    }
}

const MACHINES: [Machine; 7] = [
    Machine::Independent(0.05),
    Machine::Drifts(0.01),
    Machine::Drifts(0.02),
    Machine::Drifts(0.05),
    Machine::Alike(0.5),
    Machine::Alike(0.7),
    Machine::Alike(0.9),
];

/// False alarms are at most so many of 100: 5, and what 1,000 comparisons may differ from that.
const ALARMS_MAX: f64 = 6.5;

fn options() -> CompareOptions {
    CompareOptions {
        // The intervals of each side alone are not looked at here.
        bootstrap: Bootstrap {
            resamples: 1,
            ..Bootstrap::default()
        },
        ..CompareOptions::default()
    }
}

/// What is compared.
#[derive(Clone, Copy)]
struct Case {
    machine: Machine,
    order: Order,
    repeats: usize,
    /// B's as a share of A's, less 1.
    change: f64,
    with_times: bool,
}

const CASE: Case = Case {
    machine: Machine::Independent(0.05),
    order: Order::Drawn,
    repeats: 10,
    change: 0.0,
    with_times: true,
};

/// The headline's three figures of each point, and of the first three exploratory ones: each shares half of its
/// noise with the first.
fn comparison(draw: &mut Draw, case: Case, points: usize) -> Vec<Comparison> {
    let Case { repeats, order, .. } = case;
    let mut samples: Vec<(Sample, Sample, usize, Family)> = Vec::new();
    let mut starts = Vec::new();
    for point in 0..points {
        let sides = order.sides(draw, repeats);
        let places = [false, true].map(|b| {
            let of_it = (0..2 * repeats).filter(|&i| sides[i] == b);
            of_it.collect::<Vec<usize>>()
        });
        let begun = |places: &[usize]| places.iter().map(|i| 60.0 * *i as f64).collect();
        starts.push(Starts {
            a: begun(&places[0]),
            b: begun(&places[1]),
        });
        let shared = case.machine.run(draw, &sides);
        let figures = if points == 1 { 6 } else { 3 };
        for figure in 0..figures {
            let own = case.machine.run(draw, &sides);
            let mixed = |i: usize| match figure {
                0 => shared[i],
                _ => std::f64::consts::FRAC_1_SQRT_2 * (shared[i] + own[i]),
            };
            let values = |side: usize| -> Sample {
                let by = if side == 1 { case.change.ln_1p() } else { 0.0 };
                let values: Vec<f64> = { places[side].iter() }
                    .map(|i| (mixed(*i) + by).exp())
                    .collect();
                Sample::new(&values).unwrap()
            };
            let family = if figure < 3 {
                Family::Primary
            } else {
                Family::Exploratory
            };
            samples.push((values(0), values(1), point, family));
        }
    }
    let drawn = order.drawn(repeats);
    let rows: Vec<Row<'_>> = samples
        .iter()
        .map(|(a, b, point, family)| Row {
            a,
            b,
            starts: case.with_times.then_some(&starts[*point]),
            drawn: drawn.as_ref(),
            family: *family,
        })
        .collect();
    compare_all(&rows, &options()).unwrap()
}

fn differs(found: &Comparison) -> bool {
    matches!(found.verdict, Verdict::Different { .. })
}

/// In how many of 100 comparisons something is so.
fn share(draws: usize, mut is_so: impl FnMut(&mut Draw) -> bool) -> f64 {
    let mut draw = Draw::new(1);
    let hits = (0..draws).filter(|_| is_so(&mut draw)).count();
    100.0 * hits as f64 / draws as f64
}

/// A false alarm in one of the headline's figures.
fn alarms(draws: usize, case: Case) -> f64 {
    share(draws, |draw| {
        let found = comparison(draw, case, 1);
        found[..3].iter().any(differs)
    })
}

/// A change that is found in the first figure.
fn power(draws: usize, case: Case) -> f64 {
    share(draws, |draw| differs(&comparison(draw, case, 1)[0]))
}

/// What a machine may do, with the number of repeats a side.
fn all_machines() -> impl Iterator<Item = (Machine, usize)> {
    let periods = (2..=12).map(Machine::Period);
    let others = [
        Machine::HeavyTails,
        Machine::Step(0.02),
        Machine::Unequal,
        Machine::Alike(0.8),
    ];
    let machines = MACHINES.into_iter().chain(others).chain(periods);
    machines.flat_map(|machine| [(machine, 5), (machine, 10)])
}

#[test]
fn the_headline_raises_a_false_alarm_in_at_most_6_of_100_comparisons() {
    for (machine, order) in [
        (Machine::Independent(0.05), Order::Drawn),
        (Machine::Independent(0.05), Order::Sequential),
        (Machine::Drifts(0.02), Order::Drawn),
        (Machine::Drifts(0.02), Order::Sequential),
        (Machine::Alike(0.7), Order::Sequential),
    ] {
        let case = Case {
            machine,
            order,
            repeats: 8,
            ..CASE
        };
        let found = alarms(1_000, case);
        assert!(found <= 6.0, "{}: {found} of 100", machine.words());
    }
}

#[test]
fn whatever_the_machine_does_an_order_that_is_drawn_raises_few_false_alarms() {
    for (machine, repeats) in all_machines() {
        let case = Case {
            machine,
            repeats,
            ..CASE
        };
        let found = alarms(150, case);
        // 150 comparisons may differ by more: 5 and three deviations.
        assert!(
            found <= 10.4,
            "{}, {repeats}: {found} of 100",
            machine.words()
        );
    }
    let fixed = Case {
        machine: Machine::Period(4),
        order: Order::Fixed,
        ..CASE
    };
    let found = alarms(100, fixed);
    assert!(found > 50.0, "the test above would pass anyhow: {found}");
}

/// Trials of `pgdyno ci`, compared by hand.
#[test]
fn mirrored_blocks_raise_few_false_alarms() {
    for machine in [Machine::Period(4), Machine::Period(2), Machine::Alike(0.8)] {
        let case = Case {
            machine,
            order: Order::Mirrored,
            repeats: 20,
            ..CASE
        };
        let found = alarms(300, case);
        assert!(found <= 8.8, "{}: {found} of 100", machine.words());
    }
}

#[test]
fn without_times_a_drift_is_taken_for_a_change() {
    let case = Case {
        machine: Machine::Drifts(0.01),
        order: Order::Sequential,
        with_times: false,
        ..CASE
    };
    let found = alarms(200, case);
    assert!(found > 95.0, "the test above would pass anyhow: {found}");
}

#[test]
fn sides_in_random_order_are_distinguished_under_a_drift() {
    let case = Case {
        machine: Machine::Drifts(0.02),
        change: -0.1,
        ..CASE
    };
    let found = power(300, case);
    assert!(found > 85.0, "{found} of 100");
}

#[test]
#[ignore = "make test-long PART=statistics"]
fn false_alarms_of_the_headline_by_order() {
    println!("| | one after the other, times unknown | one after the other | by turns |");
    println!("| --- | --- | --- | --- |");
    for machine in MACHINES {
        let [unknown, sequential, turns] = [
            (Order::Sequential, false),
            (Order::Sequential, true),
            (Order::Drawn, true),
        ]
        .map(|(order, with_times)| {
            let case = Case {
                machine,
                order,
                with_times,
                ..CASE
            };
            alarms(2_000, case)
        });
        let words = machine.words();
        println!("| {words} | {unknown:.1} | {sequential:.1} | {turns:.1} |");
        assert!(sequential <= 6.0 && turns <= 6.0, "{words}");
    }
}

#[test]
#[ignore = "make test-long PART=statistics"]
fn false_alarms_by_what_the_machine_does() {
    println!("| | drawn, 5 a side | drawn, 10 | A B B A, 5 | A B B A, 10 |");
    println!("| --- | --- | --- | --- | --- |");
    let machines: Vec<(Machine, usize)> = all_machines().collect();
    for pair in machines.chunks(2) {
        let machine = pair[0].0;
        let [drawn, fixed] = [Order::Drawn, Order::Fixed].map(|order| {
            [5, 10].map(|repeats| {
                let case = Case {
                    machine,
                    order,
                    repeats,
                    ..CASE
                };
                alarms(1_000, case)
            })
        });
        let words = machine.words();
        println!(
            "| {words} | {:.1} | {:.1} | {:.1} | {:.1} |",
            drawn[0], drawn[1], fixed[0], fixed[1]
        );
        assert!(drawn.iter().all(|found| *found <= ALARMS_MAX), "{words}");
    }
}

#[test]
#[ignore = "make test-long PART=statistics"]
fn false_alarms_of_families() {
    println!("| points of three figures | repeats a side | false alarms |");
    println!("| --- | --- | --- |");
    for points in [1, 2, 4, 8, 24] {
        let repeats = repeats_needed(3 * points, false, 0.95);
        let case = Case { repeats, ..CASE };
        let found = share(1_000, |draw| {
            comparison(draw, case, points)
                .iter()
                .any(|of| of.family == Family::Primary && differs(of))
        });
        println!("| {points} | {repeats} | {found:.1} |");
        assert!(found <= ALARMS_MAX, "{points}");
    }
}

/// What `--accept-order` costs where the machine changes by a step between the sides or within them.
#[test]
#[ignore = "make test-long PART=statistics"]
fn false_alarms_of_sides_that_ran_one_after_the_other_on_a_machine_with_a_step() {
    println!("| noise | 5 a side | 10 | 20 |");
    println!("| --- | --- | --- | --- |");
    for noise in [0.01, 0.02, 0.05] {
        let found = [5, 10, 20].map(|repeats| {
            let case = Case {
                machine: Machine::Step(noise),
                order: Order::Sequential,
                repeats,
                ..CASE
            };
            alarms(1_000, case)
        });
        let [five, ten, twenty] = found;
        println!(
            "| {:.0} % | {five:.0} | {ten:.0} | {twenty:.0} |",
            noise * 100.0
        );
    }
}

#[test]
#[ignore = "make test-long PART=statistics"]
fn changes_found_by_order() {
    println!("| | one after the other | by turns |");
    println!("| --- | --- | --- |");
    for machine in MACHINES {
        let [sequential, turns] = [Order::Sequential, Order::Drawn].map(|order| {
            let case = Case {
                machine,
                order,
                change: -0.1,
                ..CASE
            };
            power(1_000, case)
        });
        println!("| {} | {sequential:.0} | {turns:.0} |", machine.words());
    }
}

#[test]
#[ignore = "make test-long PART=statistics"]
fn changes_found_by_noise_and_repeats() {
    println!("| noise | change | 5 a side | 10 |");
    println!("| --- | --- | --- | --- |");
    for noise in [0.02, 0.05] {
        for change in [-0.05, -0.1] {
            let found = [5, 10].map(|repeats| {
                let case = Case {
                    machine: Machine::Independent(noise),
                    repeats,
                    change,
                    ..CASE
                };
                power(1_000, case)
            });
            println!(
                "| {:.0} % | {:.0} % | {:.0} | {:.0} |",
                noise * 100.0,
                change * 100.0,
                found[0],
                found[1]
            );
        }
    }
}

#[test]
#[ignore = "make test-long PART=statistics"]
fn the_primary_intervals_hold_together_and_exploratory_alarms_are_few() {
    println!(
        "| repeats | all three intervals hold | a false alarm: primary | a false alarm: exploratory |"
    );
    println!("| --- | --- | --- | --- |");
    for repeats in [6, 8, 10, 20] {
        let case = Case { repeats, ..CASE };
        let held = share(2_000, |draw| {
            let changed = Case {
                change: 0.05,
                ..case
            };
            let found = comparison(draw, changed, 1);
            // All of one side first is a chance of an order that is drawn, and no comparison.
            let holds = |c: &Comparison| c.ratio.is_none_or(|of| of.interval.contains(1.05));
            found[..3].iter().all(holds)
        });
        let alarm = |of: std::ops::Range<usize>| {
            share(2_000, |draw| {
                let found = comparison(draw, case, 1);
                found[of.clone()].iter().any(differs)
            })
        };
        let (primary, exploratory) = (alarm(0..3), alarm(3..6));
        println!("| {repeats} | {held:.1} | {primary:.1} | {exploratory:.1} |");
        assert!(held >= 94.0 && primary <= 6.0 && exploratory <= 6.0);
    }
}

/// With the smallest change as the comparisons themselves say it, on average.
#[test]
#[ignore = "make test-long PART=statistics"]
fn the_smallest_change_is_found_in_80_of_100_comparisons() {
    println!("| repeats | noise | smallest change | found |");
    println!("| --- | --- | --- | --- |");
    for (repeats, noise) in [(6, 0.02), (8, 0.05), (10, 0.05), (20, 0.1)] {
        let machine = Machine::Independent(noise);
        let case = Case {
            machine,
            repeats,
            ..CASE
        };
        let mut draw = Draw::new(5);
        let said = |draw: &mut Draw| {
            let found = comparison(draw, case, 1);
            found[0].smallest_change().unwrap().ln_1p()
        };
        let mean = (0..50).map(|_| said(&mut draw)).sum::<f64>() / 50.0;
        let change = mean.exp_m1();
        // By its own test, not by Holm's later steps: the other figures do not change.
        let found = share(2_000, |draw| {
            let found = comparison(draw, Case { change, ..case }, 1);
            found[0].p.is_some_and(|p| p <= 0.05 / 3.0)
        });
        println!(
            "| {repeats} | {:.0} % | {:.1} % | {found:.0} |",
            noise * 100.0,
            change * 100.0
        );
        assert!((68.0..=88.0).contains(&found), "{repeats}: {found}");
    }
}
