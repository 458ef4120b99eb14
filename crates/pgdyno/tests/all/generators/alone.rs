//! Many processes beside one with the same clients: totals agree within 1 %, percentiles within their
//! intervals.

use std::time::Duration;

use pgdyno_link::{Delay, Direction, Link};
use serde_json::Value;

use crate::generators::crew::{Crew, ends, notes, number};
use crate::support::Database;

/// So long an answer takes on its way: the server has nothing to do most of the time, so that what is
/// measured does not depend on who else has this machine's CPUs.
const DELAY: Duration = Duration::from_millis(20);

#[test]
#[ignore = "takes minutes: make test-long PART=generators"]
fn eight_processes_measure_what_one_does() {
    let target = Database::new("alone_target");
    let server = pgdyno_testkit::postgres();
    let link = Link::to(server.address().socket_path())
        .delay(Direction::ToServer, Delay::of(DELAY))
        .delay(Direction::ToClient, Delay::of(DELAY))
        .start()
        .unwrap();
    let through = Database {
        url: link.url("alone_target"),
    };
    let crew = Crew::of(through, Database::on(notes(), "alone").url);
    target.sql("CREATE TABLE done (client int)");
    let script = crew.write("done.sql", "INSERT INTO done VALUES (:client_id);\n");
    for how in ["-t 400", "-T 20 -R 400"] {
        let line = format!("run {script} -c 32 --seed 3 {how}");
        let measured = |generators: Option<u32>| {
            target.sql("TRUNCATE done");
            match generators {
                Some(count) => crew.run_well(count, &line),
                None => {
                    let url = &crew.target.url;
                    crew.pgdyno(&format!("{line} --url {url}")).expect(0, &[]);
                }
            }
            let newest = crew.listed()[0].0;
            let document = crew.shown(newest);
            let rows = target.value("SELECT count(*), count(DISTINCT client) FROM done");
            let committed = number(&document["measured"]["committed"]);
            assert_eq!(rows, format!("{committed}|32"), "{how}");
            (newest, document)
        };
        // In turn, so that what else this machine does meets both.
        let (mut ones, mut alls) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let (one, all) = (measured(None), measured(Some(8)));
            assert_eq!(ends(&all.1), ["complete"; 8]);
            totals_agree(how, &one.1, &all.1);
            ones.push(one.0);
            alls.push(all.0);
        }
        percentiles_agree(how, &crew, &ones, &alls);
    }
}

/// Within 1 %: where nothing is left to chance (`-t`) they are the same; a schedule (`-R`) is a Poisson
/// process of its own in each.
fn totals_agree(how: &str, one: &Value, all: &Value) {
    let committed = |document: &Value| number(&document["measured"]["committed"]) as f64;
    let (of_one, of_all) = (committed(one), committed(all));
    let share = if how.starts_with("-t") {
        0.0
    } else {
        // Three standard deviations of the difference, where that is more.
        (3.0 * (2.0 / of_one).sqrt()).max(0.01)
    };
    println!("{how}: {of_one} by one, {of_all} by eight");
    let apart = (of_one - of_all).abs();
    assert!(apart <= share * of_one, "{how}: {of_one} {of_all}");
}

/// The 95 % intervals of each percentile meet, of all repeats together: the rank of a percentile is binomial.
/// Eight processes need more CPU than one: a fiftieth is allowed for it.
fn percentiles_agree(how: &str, crew: &Crew, one: &[u64], all: &[u64]) {
    let of = |trials: &[u64]| {
        let trials: Vec<String> = trials.iter().map(u64::to_string).collect();
        let of = format!("FROM second WHERE trial IN ({})", trials.join(", "));
        let latencies = crew.latencies("service_histogram", &of);
        move |share: f64| {
            let half = 1.96 * (share * (1.0 - share) / latencies.len() as f64).sqrt();
            let at = |share: f64| latencies.value_at_quantile(share) as f64;
            (at(share - half), at((share + half).min(1.0)))
        }
    };
    let (of_one, of_all) = (of(one), of(all));
    for share in [0.5, 0.9, 0.95, 0.99] {
        let (one, all) = (of_one(share), of_all(share));
        println!("{how}: {share}: {one:?} µs by one, {all:?} by eight");
        let apart = (one.0.max(all.0) - one.1.min(all.1)).max(0.0);
        assert!(apart <= one.1 / 50.0, "{how}: {share}: {one:?} {all:?}");
    }
}
