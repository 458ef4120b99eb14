//! How much load a server takes, found out on a real one.

use pgdyno_testkit::QueueServer;
use serde_json::Value;

use crate::support::{Database, document_of, ran};
use crate::written::Experiment;

/// A queue that serves a thousand statements a second, one at a time, has a p99 of 40 ms at this rate
/// (M/M/1: the rate is ln 100 / 40 ms below what is served).
const CAPACITY: f64 = 1_000.0 - 4.605_17 / 0.04;

/// The search's answer on such a server: low, estimate, high.
fn searched(seed: u64, time: &str) -> (f64, f64, f64) {
    let socket = pgdyno_testkit::postgres()
        .address()
        .socket_path()
        .to_owned();
    let server = QueueServer::start(&socket, 1_000.0, seed);
    let database = Database { url: server.url() };
    let experiment = Experiment::new(
        "workload = [['queue.sql']]\nduration = '10s'\nwarmup = '2s'\nclients = 200\n\
         rate = 300\nreset.settle = 0\ncapacity.slo = '40ms'\n",
        &database,
    );
    std::fs::write(experiment.dir.path().join("queue.sql"), "CALL queue();\n").unwrap();
    let time = format!("--capacity-time={time}");
    let ran = experiment.run(&["--json", &time]).expect(0, &[]);
    let last: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    let capacity = &last["capacity"]["ladders"][0]["capacity"];
    let end = |name: &str, unknown| capacity["interval"][name].as_f64().unwrap_or(unknown);
    let estimate = capacity["per_s"].as_f64().unwrap();
    println!("{seed}: {last}");
    (end("low", 0.0), estimate, end("high", f64::INFINITY))
}

#[test]
#[ignore = "twenty searches on a quiet machine, half an hour: make test-long PART=capacity"]
fn searches_on_a_server_with_a_queue_are_right() {
    let search = |seed| {
        let (low, estimate, high) = searched(seed, "5m");
        let is_right = low <= CAPACITY && CAPACITY <= high;
        println!("{seed}: {estimate:.0} ({low:.0} to {high:.0}), truly {CAPACITY:.0}: {is_right}");
        is_right
    };
    // Four at a time.
    let of_thread = move |thread: u64| (0..5).filter(|i| search(5 * thread + i)).count();
    let right: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| scope.spawn(move || of_thread(thread)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    println!("{right} of 20 searches are right");
    assert!(right >= 17, "{right} of 20");
}

#[test]
fn a_search_goes_on_from_the_rates_given_and_keeps_its_answer() {
    let database = Database::new("sweep_capacity");
    // Four times what it can do breaks half a second within a second, whatever else goes on here.
    let experiment = Experiment::new(
        "workload = [['one.sql']]\nduration = '2s'\nclients = 2\nreset.settle = 0\n\
         rate = [1500, '400%']\ncapacity.slo = '500ms'\n",
        &database,
    );
    std::fs::write(experiment.dir.path().join("one.sql"), "SELECT 1;\n").unwrap();
    let texts = [
        "How much load keeps p99 within 500.000 ms",
        "\ncapacity  ",
        "interval ",
        " steps in ",
        "wider than the ± 5 % asked for: allow more than 20s (--capacity-time)",
    ];
    experiment
        .run(&["--json=lines", "--capacity-time=20s"])
        .expect(0, &texts);
    let trials = experiment.completed();
    let rates: Vec<f64> = experiment
        .trials()
        .iter()
        .filter_map(|trial| trial["trial"]["rate_per_s"].as_f64())
        .collect();
    // The time has room for one step of ten seconds.
    let [lowest, most, added] = rates[..] else {
        panic!("{rates:?}")
    };
    assert!(lowest < added && added < most, "{rates:?}");

    // Ten seconds are enough to tell how its transactions depend on one another.
    let of_p99 = experiment.query(
        "SELECT response_p99_us AS p99, response_p99_low_us AS low, response_p99_effective AS effective, \
         committed FROM trial WHERE duration_s = 10",
    );
    let [row] = &of_p99[..] else {
        panic!("{of_p99:?}")
    };
    assert!(
        row["low"].as_u64().unwrap() <= row["p99"].as_u64().unwrap(),
        "{row}"
    );
    let effective = row["effective"].as_f64().unwrap();
    assert!(
        0.0 < effective && effective <= row["committed"].as_f64().unwrap(),
        "{row}"
    );

    let lines = std::fs::read_to_string(experiment.dir.path().join("lines")).unwrap();
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    let ladder = &last["capacity"]["ladders"][0];
    assert_eq!(last["capacity"]["slo_us"], 500_000.0);
    assert_eq!(ladder["search"]["steps"], 3);
    let capacity = ladder["capacity"]["per_s"].as_f64().unwrap();
    assert!(lowest <= capacity && capacity <= most, "{capacity}");

    // The notebook has the same answer, for the terminal, programs and the page.
    ran(&mut experiment.command(&["show", "--experiment", "e"])).expect(0, &texts);
    let shown = ran(&mut experiment.command(&["show", "--experiment", "e", "--json"]));
    let shown: Value = serde_json::from_str(&shown.expect(0, &[]).stdout).unwrap();
    assert_eq!(shown["capacity"], last["capacity"]);
    ran(&mut experiment.command(&["report", "e", "-o", "e.html"])).expect(0, &[]);
    let page = document_of(&experiment.dir.path().join("e.html"));
    assert_eq!(page["capacity"], last["capacity"]);
    let headline = page["verdict"]["sentence"].as_str().unwrap();
    assert!(headline.starts_with("It serves "), "{headline}");
    assert!(
        headline.ends_with("with a p99 of at most 500.000 ms"),
        "{headline}"
    );

    // The figures again, and nothing is measured.
    let again = format!("{trials} of {trials} trials complete");
    experiment
        .run(&["--resume", "--capacity-time=20s"])
        .expect(0, &[again.as_str(), texts[0]]);
    assert_eq!(experiment.completed(), trials);
}

#[test]
fn a_search_without_a_limit_or_with_an_odd_width_is_refused() {
    let database = Database::new("sweep_capacity_refused");
    let experiment = Experiment::new("workload = 'tpcb'\nrate = 10\n", &database);
    for (args, want) in [
        (
            ["--capacity-width=0.1", "--dry-run"],
            "--capacity-width is for the search",
        ),
        (
            ["--capacity-time=1m", "--dry-run"],
            "--capacity-time is for the search",
        ),
        (
            ["--capacity-width=5", "--slo=20ms"],
            "between 0 and 1, such as 0.05",
        ),
    ] {
        experiment.run(&args).expect(2, &[want]);
    }
}
