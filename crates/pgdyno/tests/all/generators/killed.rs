//! Random generators are killed at random moments, the one that prepares and the one that adds up
//! included: the others finish, and the accounting is right. `PGDYNO_SEED=7` draws the moments of that
//! seed.

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pgdyno_platform::child::Signal;
use pgdyno_testkit::SplitMix64;

use crate::child::{Running, wait_until};
use crate::generators::a_dead_one::{accounting_is_right, script};
use crate::generators::crew::{Crew, ends};

const GENERATORS: u64 = 3;
const SECONDS: u64 = 3;

/// What the one that is killed is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Doing {
    Preparing,
    Waiting,
    Measuring,
    AddingUp,
}

#[test]
#[ignore = "takes minutes: make test-long PART=generators"]
fn ten_are_killed_at_ten_moments() {
    use Doing::{AddingUp, Measuring, Preparing, Waiting};
    let mut draw = SplitMix64(seed());
    let doing = [
        Measuring, Preparing, Waiting, AddingUp, Measuring, Measuring, Measuring, AddingUp,
        Measuring, Measuring,
    ];
    // Most of the time is waiting for the silence of the dead one: five at once.
    for (part, some) in doing.chunks(5).enumerate() {
        thread::scope(|scope| {
            for (index, doing) in some.iter().enumerate() {
                let number = part * 5 + index;
                // The first kill is of the first generator.
                let victim = if number == 0 {
                    0
                } else {
                    draw.next() % GENERATORS
                };
                let after = Duration::from_millis(draw.next() % (SECONDS * 1000));
                scope.spawn(move || kill(number, *doing, victim as u32, after));
            }
        });
    }
}

/// The seed that was asked for, else one of this moment.
pub fn seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = std::env::var("PGDYNO_SEED").map_or(now.as_micros() as u64 % 1_000_000, |text| {
        text.parse().expect("PGDYNO_SEED is a number")
    });
    println!("PGDYNO_SEED={seed}");
    seed
}

fn kill(number: usize, doing: Doing, victim: u32, after: Duration) {
    println!("{number}: generator {victim}, {doing:?}, after {after:?}");
    let name = format!("killed_{number}");
    let crew = match number % 2 {
        0 => Crew::in_file(&name),
        _ => Crew::on_server(&name),
    };
    let script = script(&crew);
    let what = match doing {
        Doing::Preparing => {
            let pack = crew.slow_pack(3);
            crew.write("read.sql", &std::fs::read_to_string(&script).unwrap());
            pack
        }
        _ => script,
    };
    let line = format!("run {what} -c 5 -T {SECONDS} --generators {GENERATORS} --join k");
    let start = |generator: u32| crew.start(&format!("{line} --generator {generator}"));
    let said = |what: &str| {
        crew.number(&format!("SELECT count(*) FROM word WHERE what = '{what}'"))
            .unwrap_or(0)
    };
    let by = |what: &str| {
        let sql = format!("SELECT generator FROM word WHERE what = '{what}'");
        crew.number(&sql).unwrap() as usize
    };
    let mut all: Vec<Option<Running>> = Vec::new();
    for generator in 0..GENERATORS as u32 {
        let comes_later = doing == Doing::Waiting && generator == (victim + 1) % 3;
        all.push((!comes_later).then(|| start(generator)));
    }
    let victim = match doing {
        Doing::Preparing => {
            wait_until("one prepares", || said("preparing") > 0);
            thread::sleep(after / 2);
            by("preparing")
        }
        Doing::Waiting => {
            wait_until("two wait", || said("ready") == 2);
            victim as usize
        }
        Doing::Measuring => {
            wait_until("they begin", || said("start") > 0);
            thread::sleep(Duration::from_millis(500) + after);
            victim as usize
        }
        Doing::AddingUp => {
            wait_until("one adds up", || said("merging") > 0);
            by("merging")
        }
    };
    let killed = all[victim].take().unwrap();
    killed.signal(Signal::Kill);
    drop(killed);
    if doing == Doing::Waiting {
        all[(victim + 1) % 3] = Some(start((victim as u32 + 1) % 3));
    }
    for ran in all
        .into_iter()
        .flatten()
        .map(Running::ended)
        .collect::<Vec<_>>()
    {
        assert!(ran.stderr.contains("kept as trial"), "{number}: {ran:#?}");
        assert!(matches!(ran.code, Some(0 | 1)), "{number}: {ran:#?}");
    }
    let listed = crew.listed();
    let [(whole, state)] = &listed[..] else {
        panic!("{number}: {doing:?}: not one trial: {listed:?}");
    };
    let whole = crew.shown(*whole);
    println!("{number}: {state}, {:?}", ends(&whole));
    accounting_is_right(&crew, &whole);
    match (doing, ends(&whole)[victim]) {
        (Doing::Preparing, "never-arrived")
        | (Doing::Waiting, "died")
        | (Doing::Measuring, "died" | "complete")
        | (Doing::AddingUp, "complete") => {}
        (_, end) => panic!("{number}: {doing:?}: {end}"),
    }
    let is_whole = ends(&whole) == ["complete"; 3];
    assert_eq!(state == "complete", is_whole, "{number}: {state}");
}
