//! When to kill: moments drawn from a seed over the length that a command was measured to take.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pgdyno_testkit::SplitMix64;

/// A moment of a command's life.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The how many-th of its command.
    pub number: usize,
    pub at: Duration,
    /// Whether all of its process group is killed, as the kernel does when memory runs out in a
    /// container, or pgdyno alone.
    pub whole_group: bool,
    /// Killed again, so long after the start of what comes next.
    pub again: Option<Duration>,
    /// For a test that can go on in two ways.
    pub heads: bool,
}

fn seed() -> u64 {
    static SEED: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *SEED.get_or_init(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let seed = std::env::var("PGDYNO_SEED")
            .map_or(now.as_micros() as u64 % 1_000_000, |text| {
                text.parse().expect("PGDYNO_SEED is a number")
            });
        println!("PGDYNO_SEED={seed}");
        seed
    })
}

/// Fewer moments are not worth a whole command to measure how long it takes: then this is its length.
const MEASURED_FROM: usize = 5;
/// Of fewer moments chance may leave too many after the command's end.
const JUDGED_FROM: usize = 20;
const ASSUMED: Duration = Duration::from_secs(2);

/// Measures how long the command takes, then tries `count` moments of it: one in each of as many
/// equal parts of that length, so that all of its life is covered. `attempt` gives whether the command was
/// killed, and did not end before.
pub fn each(
    command: &str,
    count: usize,
    whole: impl FnOnce(),
    mut attempt: impl FnMut(&Moment) -> bool,
) {
    let mut draw = SplitMix64(command.bytes().fold(seed(), |n, byte| {
        n.wrapping_mul(31).wrapping_add(u64::from(byte))
    }));
    let began = Instant::now();
    let mut length = if count >= MEASURED_FROM {
        whole();
        began.elapsed()
    } else {
        ASSUMED
    };
    let mut killed = 0;
    for number in 0..count {
        let part = (number as f64 + draw.share()) / count as f64;
        let moment = Moment {
            number,
            at: length.mul_f64(part),
            whole_group: draw.share() < 0.3,
            again: (draw.share() < 0.3).then(|| length.mul_f64(draw.share())),
            heads: draw.share() < 0.5,
        };
        // What goes wrong is reported with the moment.
        match catch_unwind(AssertUnwindSafe(|| attempt(&moment))) {
            Ok(true) => killed += 1,
            // It was over by then: it was measured on a busier machine.
            Ok(false) => length = length.min(moment.at),
            Err(panic) => {
                println!("{command}, PGDYNO_SEED={}: failed at {moment:?}", seed());
                std::panic::resume_unwind(panic);
            }
        }
    }
    println!(
        "{command}: {count} moments of {:.1} s, killed at {killed}, in {:.0} s",
        length.as_secs_f64(),
        began.elapsed().as_secs_f64()
    );
    // It takes longer or shorter each time; a few come after its end.
    assert!(
        killed * 3 >= count * 2 || count < JUDGED_FROM,
        "{command} was killed at {killed} of {count}"
    );
}
