//! Random generators are killed at random moments while all fill tables, the one that prepares included:
//! the rows are those of one process. `PGDYNO_SEED=7` draws the moments of that seed.

use std::thread;
use std::time::Duration;

use pgdyno_platform::child::Signal;
use pgdyno_testkit::SplitMix64;

use crate::child::{Running, wait_until};
use crate::generators::crew::Crew;
use crate::generators::filled::{is_tpcb, preparing, start};
use crate::generators::killed::seed;

const LOAD: &str = "load tpcb --param scale=2";
const GENERATORS: u32 = 3;

#[test]
#[ignore = "takes minutes: make test-long PART=generators"]
fn twenty_are_killed_while_they_fill() {
    let mut draw = SplitMix64(seed());
    let kills: Vec<(u64, u64)> = (0..20).map(|_| (draw.next(), draw.next())).collect();
    // Most of the time is waiting for the silence of the dead one: ten at once.
    for (part, some) in kills.chunks(10).enumerate() {
        thread::scope(|scope| {
            for (index, (who, when)) in some.iter().enumerate() {
                let number = part * 10 + index;
                let after = Duration::from_millis(when % 2000);
                scope.spawn(move || kill(number, (*who % 3) as usize, after));
            }
        });
    }
}

fn kill(number: usize, who: usize, after: Duration) {
    let name = format!("killed_filling_{number}");
    let crew = match number % 2 {
        0 => Crew::in_file(&name),
        _ => Crew::on_server(&name),
    };
    let mut all = start(&crew, LOAD, GENERATORS, GENERATORS);
    let said = |what: &str| {
        let sql = format!("SELECT count(*) FROM word WHERE what = '{what}'");
        crew.number(&sql).unwrap_or(0)
    };
    wait_until("they are called", || said("filling") > 0);
    thread::sleep(after);
    let prepares = preparing(&crew) == who;
    let was_over = said("prepared") > 0;
    let killed = all[who].take().unwrap();
    killed.signal(Signal::Kill);
    drop(killed);
    for ran in all.into_iter().flatten().map(Running::ended) {
        assert_eq!(ran.code, Some(0), "{number}: {ran:#?}");
    }
    println!("{number}: generator {who} after {after:?}, prepares {prepares}, was over {was_over}");
    is_tpcb(&crew);
}
