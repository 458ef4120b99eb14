//! Instruments that read once a second have one session.

use std::thread;

use pgdyno_server::Server;

use super::{Database, number, on_each_version};
use crate::postgresql::counters::Counters;
use crate::postgresql::events::Events;
use crate::postgresql::locks::Locks;
use crate::postgresql::waits::Waits;
use crate::testing::Bench;
use crate::{Instrument, Readings};
use pgdyno_model::observed::{Gap, SERVER_CPU};

on_each_version!(instruments_share_a_session_and_each_has_its_own_cost);

/// Any of them, on the workbench.
struct Any(Box<dyn Instrument>);

impl Instrument for Any {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn source(&self) -> String {
        self.0.source()
    }
    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.0.begin(out)
    }
    fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.0.read(out)
    }
    fn end(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.0.end(out)
    }
}

fn instruments_share_a_session_and_each_has_its_own_cost(server: &Server, _major: u32) {
    let database = Database::new(server, "shared", false);
    let mut control = database.session();
    let theirs =
        "FROM pg_stat_activity WHERE datname = 'shared' AND application_name = 'pgdyno observer'";
    let place = database.place();
    let all: [Box<dyn Instrument>; 3] = [
        Box::new(Counters::new(place.clone())),
        Box::new(Events::new(place.clone())),
        Box::new(Locks::new(place.clone())),
    ];
    let mut benches = all.map(|instrument| Bench::new(Any(instrument)));
    // At the same time, as in a trial.
    let at_once = |benches: &mut [Bench<Any>; 3], step: fn(&mut Bench<Any>) -> Result<(), Gap>| {
        let results = thread::scope(|scope| {
            let threads = benches
                .each_mut()
                .map(|bench| scope.spawn(move || step(bench)));
            threads.map(|thread| thread.join().unwrap())
        });
        results.into_iter().filter(Result::is_err).count()
    };
    assert_eq!(at_once(&mut benches, Bench::begin), 0);
    assert_eq!(
        number(&mut control, &format!("SELECT count(*) {theirs}")),
        1.0
    );
    // The one who asks first sees that it is gone; the others have another one already.
    let ended = number(
        &mut control,
        &format!("SELECT count(pg_terminate_backend(pid)) {theirs}"),
    );
    assert_eq!(ended, 1.0);
    super::until("it is gone", || {
        number(&mut control, &format!("SELECT count(*) {theirs}")) == 0.0
    });
    assert_eq!(at_once(&mut benches, Bench::read), 1);
    assert_eq!(at_once(&mut benches, Bench::read), 0);
    assert_eq!(
        number(&mut control, &format!("SELECT count(*) {theirs}")),
        1.0
    );
    // One that looks more often waits for none of them.
    let mut waits = Bench::new(Any(Box::new(Waits::new(place, 1))));
    waits.begin().unwrap();
    assert_eq!(
        number(&mut control, &format!("SELECT count(*) {theirs}")),
        2.0
    );
    for bench in benches.into_iter().chain([waits]) {
        let name = bench.instrument.name().to_owned();
        let (result, batch) = bench.end();
        result.unwrap();
        let mut facts = batch.facts.iter();
        let cost = facts.find(|(_, fact, _)| fact == SERVER_CPU);
        let (_, _, us) = cost.unwrap_or_else(|| panic!("{name} does not tell its cost"));
        assert!(us.as_u64() > Some(0), "{name}: {us}");
    }
}
