//! How long what is due waits for its thread.

use std::collections::BTreeSet;

use pgdyno_drive::{Control, Drive, Live};
use pgdyno_measurement::{Event, Interval, Lags, Message};
use pgdyno_spec::Until;

use crate::support::*;

/// What each second says of the threads.
#[derive(Default)]
struct Seconds(Vec<(usize, Lags)>);

impl Live for Seconds {
    fn second(&mut self, interval: &Interval) {
        let loops = interval.loops.iter();
        let loops = loops.filter(|_| !interval.warmup);
        self.0
            .extend(loops.map(|one| (one.thread, one.lags.clone())));
    }

    fn event(&mut self, event: &Event) {
        panic!("{}", event.text);
    }

    fn message(&mut self, message: &Message) {
        panic!("{}", message.text);
    }
}

#[test]
fn every_second_tells_of_every_thread_and_the_whole_is_their_sum() {
    let drive = Drive {
        clients: 5,
        threads: 2,
        warmup: millis(300),
        until: Until::Elapsed(millis(1_300)),
        ..drive("select 1;\n\\sleep 1 ms\n")
    };
    let mut seconds = Seconds::default();
    let recording = drive.run(&Control::default(), &mut seconds);
    let recording = recording.unwrap_or_else(|e| panic!("{e}"));
    let mut both = 0;
    let mut p99s = BTreeSet::new();
    for thread in 0..2 {
        let mut sum = Lags::default();
        let mut of_thread = 0;
        for (_, lags) in seconds.0.iter().filter(|(of, _)| *of == thread) {
            of_thread += 1;
            sum.merge(lags);
        }
        assert!(of_thread >= 2, "{of_thread}");
        // An answer and the end of a sleep for each transaction, and the sleeps end late by a little.
        assert!(sum.count() >= 20, "{}", sum.count());
        assert!(sum.max_us() > 0.0);
        both += sum.count();
        p99s.insert(sum.percentile_us(99.0).map(|us| us.round() as u64));
    }
    assert!(both >= counts(&recording).committed);
    let threads = recording.threads.iter();
    assert_eq!(
        threads
            .map(|thread| thread.lag_p99_us)
            .collect::<BTreeSet<_>>(),
        p99s
    );
}
