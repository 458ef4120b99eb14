//! Draws follow the distributions they are named after: each is held against its theory by a
//! chi-square test, a million draws at a fixed seed.

use pgdyno_script::{
    Counters, Draws, Expr, Gray, Language, Names, Op, Prng, SCRAMBLED_ITEMS, Value, Vars,
    fnv1a_bytes, zeta,
};

const DRAWS: usize = 1_000_000;

/// Draws from an expression; the numbers that come out are counted from `low` on.
fn counts(expression: &str, low: i64, count: usize, seed: u64) -> Vec<u64> {
    let mut names = Names::new();
    let text = format!("\\set x {expression}\n");
    let script = Language::Pgdyno.parse("draws.sql", &text, &mut names);
    let script = script.unwrap_or_else(|error| panic!("{error}"));
    let Op::Set { expr, .. } = &script.commands[0].op else {
        panic!("not \\set");
    };
    let mut vars = Vars::new(&names);
    let mut draws = Draws::new(Counters::new(&names));
    let mut prng = Prng::seed(seed);
    let mut counts = vec![0; count];
    for _ in 0..DRAWS {
        let key = draw(expr, &mut vars, &mut prng, &mut draws);
        counts[usize::try_from(key - low).unwrap()] += 1;
        draws.end();
    }
    counts
}

fn draw(expr: &Expr, vars: &mut Vars, prng: &mut Prng, draws: &mut Draws) -> i64 {
    match expr.eval(vars, prng, draws, &mut |_| {}) {
        Ok(Value::Int(key)) => key,
        other => panic!("{other:?}"),
    }
}

/// Holds counts against probabilities. Classes in which fewer than ten are expected are put
/// together. The statistic may be four of its standard deviations away from its mean: further
/// either way, and the draws are wrong, or too good to be draws.
fn assert_fits(what: &str, counts: &[u64], probabilities: &[f64]) {
    assert_eq!(counts.len(), probabilities.len());
    let total: f64 = probabilities.iter().sum();
    assert!((total - 1.0).abs() < 1e-6, "{what}: {total}");
    let drawn: u64 = counts.iter().sum();
    let (mut statistic, mut classes) = (0.0, 0);
    let (mut seen, mut expected) = (0.0, 0.0);
    let mut left = drawn as f64;
    for (count, probability) in counts.iter().zip(probabilities) {
        seen += *count as f64;
        expected += probability * drawn as f64;
        // What is left behind must be enough for a class, too.
        if expected >= 10.0 && left - expected >= 10.0 {
            statistic += (seen - expected).powi(2) / expected;
            classes += 1;
            left -= expected;
            (seen, expected) = (0.0, 0.0);
        }
    }
    if expected > 0.0 {
        statistic += (seen - expected).powi(2) / expected;
        classes += 1;
    }
    assert!(classes > 1, "{what}");
    let freedom = f64::from(classes - 1);
    let away = (statistic - freedom) / (2.0 * freedom).sqrt();
    assert!(
        away.abs() < 4.0,
        "{what}: chi-square {statistic}, {freedom} degrees of freedom"
    );
}

fn zipf(count: usize, theta: f64) -> Vec<f64> {
    let sum = zeta(count as u64, theta);
    let share = |rank: usize| (rank as f64).powf(-theta) / sum;
    (1..=count).map(share).collect()
}

#[test]
fn zipfian_and_latest_follow_zipfs_law_for_any_theta() {
    for (theta, seed) in [(0.5, 1), (0.99, 2), (1.0, 3), (1.2, 4), (3.0, 5)] {
        let expression = format!("zipfian(-7, 992, {theta})");
        let counts = counts(&expression, -7, 1000, seed);
        assert_fits(&expression, &counts, &zipf(1000, theta));
    }
    let mut counts = counts("latest(1, 1000)", 1, 1000, 6);
    counts.reverse();
    assert_fits("latest", &counts, &zipf(1000, 0.99));
}

#[test]
fn a_range_that_grows_is_drawn_from_as_it_is() {
    // One client, whose range is now 1 to 2, now 1 to 50.
    let mut names = Names::new();
    let text = "\\set x latest(1, :last, 0.99)\n";
    let script = Language::Pgdyno.parse("draws.sql", text, &mut names);
    let script = script.unwrap();
    let Op::Set { expr, .. } = &script.commands[0].op else {
        panic!("not \\set");
    };
    let last = names.get("last").unwrap();
    let (mut vars, mut prng, mut draws) = (Vars::new(&names), Prng::seed(7), Draws::default());
    let (mut of_two, mut of_fifty) = (vec![0; 2], vec![0; 50]);
    for turn in 0..400_000 {
        let counts = if turn % 2 == 0 {
            &mut of_two
        } else {
            &mut of_fifty
        };
        vars.set(last, Value::Int(counts.len() as i64));
        let key = draw(expr, &mut vars, &mut prng, &mut draws) as usize;
        let age = counts.len() - key;
        counts[age] += 1;
    }
    assert_fits("two", &of_two, &zipf(2, 0.99));
    assert_fits("fifty", &of_fifty, &zipf(50, 0.99));
}

/// Where the uniform numbers begin that stand for a rank of YCSB's generator, from its formula.
fn begin_of_rank(rank: f64, theta: f64, zeta_of_all: f64) -> f64 {
    let items = SCRAMBLED_ITEMS as f64;
    let of_two = zeta(2, theta);
    let eta = (1.0 - (2.0 / items).powf(1.0 - theta)) / (1.0 - of_two / zeta_of_all);
    match rank {
        0.0 => 0.0,
        1.0 => 1.0 / zeta_of_all,
        2.0 => of_two / zeta_of_all,
        _ => ((rank / items).powf(1.0 - theta) - 1.0 + eta) / eta,
    }
}

#[test]
fn ycsbs_generator_follows_its_own_formula() {
    const RANKS: usize = 200;
    let theta = 0.99;
    let sum = 26.469_028_201_783_02;
    let gray = Gray::new(SCRAMBLED_ITEMS, theta, sum);
    let mut prng = Prng::seed(8);
    let mut counts = vec![0; RANKS + 1];
    for _ in 0..DRAWS {
        let rank = gray.draw(&mut prng);
        assert!(rank < SCRAMBLED_ITEMS);
        counts[(rank as usize).min(RANKS)] += 1;
    }
    let begin = |rank: usize| begin_of_rank(rank as f64, theta, sum);
    let mut shares: Vec<f64> = (0..RANKS)
        .map(|rank| begin(rank + 1) - begin(rank))
        .collect();
    shares.push(1.0 - begin(RANKS));
    assert_fits("Gray", &counts, &shares);
    // The first rank has 3.78 %, whatever the number of keys.
    assert!((shares[0] - 0.0378).abs() < 0.0001);
}

#[test]
fn scrambled_zipfian_gives_each_key_the_ranks_that_its_hash_says() {
    const KEYS: usize = 500;
    const RANKS: usize = 1_000_000;
    for (theta, argument, seed) in [(0.99, "", 9), (0.7, ", 0.7", 10)] {
        let sum = zeta(SCRAMBLED_ITEMS, theta);
        let begin = |rank: usize| begin_of_rank(rank as f64, theta, sum);
        // The ranks behind the first million are spread evenly by their hashes.
        let mut shares = vec![(1.0 - begin(RANKS)) / KEYS as f64; KEYS];
        let mut from = 0.0;
        for rank in 0..RANKS {
            let to = begin(rank + 1);
            let hash = fnv1a_bytes(&(rank as u64).to_le_bytes()) as i64;
            shares[(hash.unsigned_abs() % KEYS as u64) as usize] += to - from;
            from = to;
        }
        let expression = format!("scrambled_zipfian(1000, 1499{argument})");
        let counts = counts(&expression, 1000, KEYS, seed);
        assert_fits(&expression, &counts, &shares);
        if theta == 0.99 {
            assert!(shares.iter().any(|share| (0.0378..0.05).contains(share)));
        }
    }
}

#[test]
fn keys_that_cannot_be_read_yet_are_drawn_anew() {
    let all = counts("scrambled_zipfian(0, 99)", 0, 100, 11);
    let readable = counts("scrambled_zipfian(0, 99, 0.99, 59)", 0, 100, 12);
    assert_eq!(readable[60..].iter().sum::<u64>(), 0);
    // The others keep their proportions.
    let total: u64 = all[..60].iter().sum();
    for key in 0..60 {
        let (before, after) = (
            all[key] as f64 / total as f64,
            readable[key] as f64 / DRAWS as f64,
        );
        assert!(
            (after / before - 1.0).abs() < 0.1,
            "{key}: {before} {after}"
        );
    }
}

#[test]
fn a_hotspot_gets_its_share_and_is_flat_inside() {
    let counts = counts("hotspot(0, 99, 0.2, 0.8)", 0, 100, 13);
    let share = |key: usize| if key < 20 { 0.8 / 20.0 } else { 0.2 / 80.0 };
    let shares: Vec<f64> = (0..100).map(share).collect();
    assert_fits("hotspot", &counts, &shares);
}

#[test]
fn uniform_is_flat() {
    let counts = counts("uniform(5, 1004)", 5, 1000, 14);
    assert_fits("uniform", &counts, &[0.001; 1000]);
}

#[test]
fn exponential_puts_so_many_percent_into_its_fraction_of_the_newest_keys() {
    for (percentile, fraction, seed) in [(95.0, 0.857_142_857_1, 15), (50.0, 0.1, 16)] {
        let expression = format!("exponential(1, 200, {percentile}, {fraction})");
        let mut counts = counts(&expression, 1, 200, seed);
        counts.reverse();
        let rate = -f64::ln(1.0 - percentile / 100.0) / (200.0 * fraction);
        let beyond = |age: usize| (-rate * age as f64).exp();
        let share = |age| (beyond(age) - beyond(age + 1)) / (1.0 - beyond(200));
        let shares: Vec<f64> = (0..200).map(share).collect();
        assert_fits(&expression, &counts, &shares);
    }
}

#[test]
fn sequential_goes_round() {
    let counts = counts("sequential('s', 1, 64)", 1, 64, 17);
    assert!(counts.iter().all(|&count| count == DRAWS as u64 / 64));
}
