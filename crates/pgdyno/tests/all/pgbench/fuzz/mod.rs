//! Random command lines with random scripts, right and wrong, on stock pgbench and on the program
//! under test: the same texts, exit code and files. Each case is made from its seed alone.
//!
//! `make fuzz-pgbench` runs more of them, from another seed each time; `make fuzz-pgbench SEED=… N=1`
//! runs a case again.

mod lines;
mod scripts;

use std::sync::atomic::{AtomicU64, Ordering};

use pgdyno_testkit::postgres;

use crate::pgbench::cases::needs_stock;
use crate::pgbench::compare::{Case, Setting};
use crate::pgbench::generator::Dice;

/// Where `make test` begins, and how many cases it takes.
const FIRST_SEED: u64 = 1;
const CASES: u64 = 200;

/// Cases wait for their programs and servers most of the time.
const WORKERS: usize = 4;

/// With so many cases that differ it is enough.
const SHOWN: usize = 10;

/// What several processes do at once may come out differently now and then: a difference is one when
/// it comes every time.
const TRIES: usize = 3;

fn made(seed: u64) -> Case {
    let mut dice = Dice::new(seed);
    let runs_script = dice.below(2) == 0;
    let case = lines::line(&mut dice, runs_script);
    let other = "\\set n random(1, 10)\nSELECT :n;\n";
    let case = case.file("b.sql", other.to_owned());
    if runs_script {
        case.file("a.sql", scripts::script(&mut dice))
    } else {
        case
    }
}

/// What differs, if it does so every time.
fn difference(setting: &Setting<'_>, case: &Case) -> Option<String> {
    (0..TRIES)
        .map(|_| setting.difference(case))
        .collect::<Option<Vec<_>>>()?
        .pop()
}

fn number(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
    Some(
        value
            .parse()
            .unwrap_or_else(|e| panic!("{name}={value}: {e}")),
    )
}

#[test]
fn random_command_lines_and_scripts_do_the_same() {
    needs_stock!("random_command_lines_and_scripts_do_the_same");
    let first = number("PGDYNO_FUZZ_SEED").unwrap_or(FIRST_SEED);
    let count = number("PGDYNO_FUZZ_CASES").unwrap_or(CASES);
    let next = AtomicU64::new(first);
    let work = |worker: usize| {
        let (tables, none) = (format!("fuzz_{worker}"), format!("fuzz_init_{worker}"));
        let run = Setting::new(postgres(), &tables, &[]).prepared("-i -I dtGp -q");
        let initialize = Setting::new(postgres(), &none, &[]);
        let mut found = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count || found.len() >= SHOWN {
                return found;
            }
            let case = made(seed);
            let setting = if case.has_before() { &initialize } else { &run };
            if let Some(text) = difference(setting, &case) {
                found.push(format!(
                    "\nmake fuzz-pgbench SEED={seed} N=1\n{text}{}",
                    case.shown_files()
                ));
            }
        }
    };
    let found: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|n| scope.spawn(move || work(n))).collect();
        let found = workers
            .into_iter()
            .flat_map(|w| w.join().expect("a worker ends"));
        found.collect()
    });
    println!("{count} cases from seed {first}: {} differ", found.len());
    assert!(
        found.is_empty(),
        "{} of {count} cases from seed {first} differ (- stock pgbench, + under test)\n{}",
        found.len(),
        found.concat()
    );
}

#[test]
fn a_seed_makes_one_case() {
    let shown = |seed| format!("{:?}", made(seed));
    assert_eq!(shown(7), shown(7));
    assert_ne!(shown(7), shown(8));
    // Neither waits for a second that it need not.
    let lasts = |seed: &u64| {
        let case = shown(*seed);
        case.contains("-T") && !case.contains("-t")
    };
    assert_eq!((0..2000).find(lasts), None);
}
