//! As many processes as a small machine carries through one barrier.

use std::thread;
use std::time::{Duration, Instant};

use crate::child::Running;
use crate::generators::crew::{Crew, ends, number};
use crate::support::Database;

const MANY: u32 = 200;
/// From the start of the first to the end of the last.
const PATIENCE: Duration = Duration::from_secs(180);

#[test]
#[ignore = "takes a minute: make test-long PART=generators"]
fn two_hundred_processes_begin_together() {
    let settings = ["max_connections=2000", "shared_buffers=64MB"];
    let (notes, server) = (
        pgdyno_testkit::postgres_with(&settings),
        pgdyno_testkit::postgres_with(&settings),
    );
    let notes = Database::on(&notes, "many_notes").url;
    let crew = Crew::of(Database::on(&server, "many"), notes);
    crew.pgdyno(&format!("load select-only --url {}", crew.target.url))
        .expect(0, &[]);
    // Every process waits a tenth of a second between transactions: beginning is measured, not load.
    let line = format!("run select-only -c {MANY} -j 1 -T 5 -R 400 --generators {MANY}");
    let mut all: Vec<Running> = (0..MANY).map(|_| crew.start(&line)).collect();
    // Two CPUs need a while for so many that start at once.
    let began = Instant::now();
    while !all.iter_mut().all(Running::is_over) && began.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(100));
    }
    println!("{MANY} processes took {:?}", began.elapsed());
    for ran in all.into_iter().map(Running::ended).collect::<Vec<_>>() {
        ran.expect(0, &["kept as trial"]);
    }
    let whole = crew.whole("complete");
    assert_eq!(ends(&whole), vec!["complete"; MANY as usize]);
    let generators = &whole["generators"];
    println!(
        "{MANY} processes began within {} µs ± {} µs",
        generators["start_spread_us"], generators["start_uncertainty_us"]
    );
    let parts = crew.value("SELECT sum(committed) FROM trial WHERE clients = 1");
    assert_eq!(number(&whole["measured"]["committed"]).to_string(), parts);
}
