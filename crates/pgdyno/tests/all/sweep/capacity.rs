//! How much load a server takes, found out on a real one.

use std::collections::BTreeSet;
use std::time::Duration;

use pgdyno_platform::child::Signal;
use pgdyno_testkit::QueueServer;
use serde_json::Value;

use crate::child::{Running, wait_until};
use crate::support::{Database, document_of, ran};
use crate::sweep::written::Experiment;

/// How long the queue's server serves each statement. Slow, so that a millisecond by which this host
/// answers late is little.
const SERVICE: Duration = Duration::from_millis(5);

const LIMIT: Duration = Duration::from_millis(75);

/// The rate at which 99 of 100 statements have waited at most so long that they keep the limit.
fn true_capacity() -> f64 {
    let (mut low, mut high) = (100.0, 199.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if waits_at_most(middle, LIMIT - SERVICE) > 0.99 {
            low = middle
        } else {
            high = middle
        }
    }
    low
}

/// P(W <= t) in M/D/1 at so many statements a second (Crommelin 1932).
fn waits_at_most(rate: f64, t: Duration) -> f64 {
    let (service, t) = (SERVICE.as_secs_f64(), t.as_secs_f64());
    let (mut sum, mut factorial) = (0.0, 1.0);
    for k in 0..=(t / service).round() as i32 {
        factorial *= f64::from(k.max(1));
        let x = rate * (f64::from(k) * service - t);
        sum += x.powi(k) / factorial * (-x).exp();
    }
    (1.0 - rate * service) * sum
}

/// What a search has found.
struct SearchResult {
    /// Of the estimate, as a share of the truth.
    error: f64,
    /// Half of the interval as a share of the estimate.
    half_width: f64,
    /// Whether the interval holds the truth.
    is_held: bool,
    row: String,
}

/// The search's answer on such a server, as a row of the table in docs/internals/simulations.md.
fn searched(number: u64) -> SearchResult {
    let socket = pgdyno_testkit::postgres()
        .address()
        .socket_path()
        .to_owned();
    let server = QueueServer::start(&socket, SERVICE);
    let capacity = true_capacity();
    let database = Database { url: server.url() };
    // Four clients keep one server busy, and what waits for a client counts from when it was due.
    // One thread, as each has a schedule and clients of its own: with two of them a transaction
    // that is due on one waits there while later ones of the other are served, which is no longer
    // first come, first served, and the capacity is 2 % lower.
    // Each search begins at another rate, the last ones above the capacity.
    let rate = 20 + 15 * number;
    let experiment = Experiment::new(
        &format!(
            "workload = [['queue.sql']]\nduration = '10s'\nwarmup = '1s'\nclients = 4\nthreads = 1\n\
             rate = {rate}\nreset.settle = 0\ncapacity.slo = '{LIMIT:?}'\n"
        ),
        &database,
    );
    std::fs::write(experiment.dir.path().join("queue.sql"), "CALL queue();\n").unwrap();
    let ran = experiment
        .run(&["--json", "--capacity-time=10m"])
        .expect(0, &[]);
    let last: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    let ladder = &last["capacity"]["ladders"][0];
    let (found, search) = (&ladder["capacity"], &ladder["search"]);
    let estimate = found["per_s"].as_f64().unwrap_or(f64::NAN);
    let end = |name: &str, unknown| found["interval"][name].as_f64().unwrap_or(unknown);
    let (low, high) = (end("low", 0.0), end("high", f64::INFINITY));
    let error = estimate / capacity - 1.0;
    SearchResult {
        error: error.abs(),
        half_width: (high - low) / 2.0 / estimate,
        is_held: low <= capacity && capacity <= high,
        row: format!(
            "| {rate} | {estimate:.1} | {low:.1} to {high:.1} | {:+.1} % | {} | {:.0} s | {:?} |",
            100.0 * error,
            search["steps"],
            search["took_s"].as_f64().unwrap_or(f64::NAN),
            server.late(),
        ),
    }
}

#[test]
#[ignore = "twenty searches on a quiet machine, half an hour: make test-long PART=capacity"]
fn searches_on_a_server_with_a_queue_are_right() {
    println!("The capacity is {:.1} a second.", true_capacity());
    println!("| First rate | Estimate | 95 % interval | Error | Steps | Time | Answers late by |");
    // An interval that says nothing holds everything: it has to be narrow as well.
    let search = |number| {
        let found = searched(number);
        let is_right = found.is_held && found.half_width <= 0.08;
        println!("{} {}", found.row, if is_right { "" } else { "wrong" });
        (is_right, found)
    };
    // Ten at a time, which are some two thousand statements a second.
    let of_thread = move |thread: u64| [thread, thread + 10].map(search);
    let found: Vec<(bool, SearchResult)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..10)
            .map(|thread| scope.spawn(move || of_thread(thread)))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    let right = found.iter().filter(|(is_right, _)| *is_right).count();
    let mut errors: Vec<f64> = found.iter().map(|(_, found)| found.error).collect();
    errors.sort_unstable_by(f64::total_cmp);
    let median = 100.0 * (errors[9] + errors[10]) / 2.0;
    println!("{right} of 20 intervals hold it within ± 8 %, median error {median:.1} %");
    assert!(right >= 17, "{right} of 20");
}

/// Each rate has one p99: in the trial, the curve, the search, the table of the terminal, the points of the terminal and
/// the page.
fn one_p99_a_step(experiment: &Experiment, ladder: &Value, page: &Value) {
    let terminal = ran(&mut experiment.command(&["show", "--experiment", "e"]))
        .expect(0, &[])
        .stdout;
    let (points, curve) = terminal.split_once("How much load keeps").unwrap();
    let trials = experiment.query("SELECT number, response_p99_us AS p99 FROM trial");
    let loads = ladder["loads"].as_array().unwrap();
    assert_eq!(loads.len(), 3);
    for load in loads {
        let p99_us = load["p99_together_us"].as_u64();
        let of_load = |trial: &Value| load["trials"].as_array().unwrap().contains(trial);
        // One step at each rate.
        let trial = trials.iter().find(|row| of_load(&row["number"])).unwrap();
        assert_eq!(trial["p99"].as_u64(), p99_us, "{load}");
        assert_eq!(load["response_p99_us"][0].as_u64(), p99_us, "{load}");
        let step = ladder["steps"]
            .as_array()
            .unwrap()
            .iter()
            .find(|step| of_load(&step["trial"]))
            .unwrap();
        if step["falls_behind"] == false {
            assert_eq!(
                step["response_p99_us"].as_f64(),
                p99_us.map(|us| us as f64),
                "{step}"
            );
        }
        let point = page["points"].as_array().unwrap().iter();
        let point = point
            .clone()
            .find(|point| of_load(&point["trials"][0]["trial"]))
            .unwrap();
        let figure = &point["figures"]["p99"];
        assert_eq!(figure["together_us"].as_u64(), p99_us, "{point}");
        assert_eq!(figure["interval"], load["p99_interval"], "{point}");
        let rate = pgdyno_spec::text::rate(load["rate_per_s"].as_f64().unwrap());
        let mark = if load["p99_interval"]["uncertain"] == true {
            "~"
        } else {
            ""
        };
        let shown = p99_us.map_or("–".to_owned(), |us| {
            format!("{}{mark}", pgdyno_spec::text::ms_as_shown(us as f64))
        });
        let row = |table: &str, begins: &str| -> Vec<String> {
            let line = table.lines().find(|line| line.starts_with(begins));
            let line = line.unwrap_or_else(|| panic!("no {begins} in {terminal}"));
            line.split_whitespace().map(str::to_owned).collect()
        };
        assert!(
            row(curve, &format!("{rate} ")).contains(&shown),
            "{shown}: {terminal}"
        );
        let title = point["title"].as_str().unwrap();
        assert!(
            row(points, &format!("{title} ")).contains(&shown),
            "{shown}: {terminal}"
        );
    }
}

#[test]
fn a_search_goes_on_from_the_rates_given_and_keeps_its_answer() {
    let database = Database::new("sweep_capacity");
    // Four times what it can do breaks half a second within a second, whatever else goes on here. It can do
    // 200 a second, which keeps no processor busy.
    let experiment = Experiment::new(
        "workload = [['one.sql']]\nduration = '2s'\nclients = 2\nreset.settle = 0\n\
         rate = [50, '400%']\ncapacity.slo = '500ms'\n",
        &database,
    );
    std::fs::write(
        experiment.dir.path().join("one.sql"),
        "SELECT pg_sleep(0.01);\n",
    )
    .unwrap();
    let texts = [
        "How much load keeps p99 within 500.000 ms",
        "(--capacity-time)",
    ];
    experiment
        .run(&["--json=lines", "--capacity-time=20s"])
        .expect(0, &texts);
    let trials = experiment.completed();
    let made = experiment.trials();
    let rates: Vec<f64> = made
        .iter()
        .filter_map(|trial| trial["trial"]["rate_per_s"].as_f64())
        .collect();
    // The time has room for one step of ten seconds.
    let [lowest, most, added] = rates[..] else {
        panic!("{rates:?}")
    };
    assert!(lowest < added && added < most, "{rates:?}");
    let seeds: BTreeSet<i64> = made
        .iter()
        .filter_map(|trial| trial["trial"]["seed"].as_i64())
        .collect();
    // Also of the trial that finds the maximum: no two have the same arrivals.
    assert_eq!(seeds.len(), made.len(), "{seeds:?}");

    // Ten seconds are enough to tell how its transactions depend on one another.
    let of_p99 = experiment.query(
        "SELECT number, response_p99_us AS p99, response_p99_low_us AS low, response_p99_high_us AS high, \
         response_p99_effective AS effective, committed FROM trial WHERE duration_s = 10",
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
    // It goes to the edge of what the server does, so that some transactions end after the asked time: the notebook
    // has the interval of the document all the same.
    let of_it = ran(&mut experiment.command(&["show", &row["number"].to_string(), "--json"]));
    let of_it: Value = serde_json::from_str(&of_it.expect(0, &[]).stdout).unwrap();
    let mut intervals = of_it["measured"]["response"]["intervals"]
        .as_array()
        .unwrap()
        .iter();
    let p99 = intervals.find(|it| it["percentile"] == 99.0).unwrap();
    for (name, column) in [
        ("low_us", "low"),
        ("high_us", "high"),
        ("effective", "effective"),
    ] {
        assert_eq!(p99[name], row[column], "{p99} {row}");
    }

    let lines = std::fs::read_to_string(experiment.dir.path().join("lines")).unwrap();
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    let ladder = &last["capacity"]["ladders"][0];
    assert_eq!(last["capacity"]["slo_us"], 500_000.0);
    assert_eq!(ladder["search"]["steps"], 3);
    let share_over = |rate: f64| {
        let mut steps = ladder["steps"].as_array().unwrap().iter();
        let step = steps.find(|step| step["rate_per_s"] == rate).unwrap();
        step["share_over"].as_f64().unwrap()
    };
    // Two seconds at four times what it can do: the first half second's transactions are within the limit.
    assert!(
        share_over(most) > 0.5 && share_over(lowest) < 0.5,
        "{ladder:#}"
    );
    // On a busy machine no step may be surely within.
    let capacity = ladder["capacity"]["per_s"].as_f64();
    assert!(
        capacity.is_none_or(|it| lowest <= it && it <= most),
        "{capacity:?}"
    );

    // The notebook has the same answer, for the terminal, programs and the page.
    ran(&mut experiment.command(&["show", "--experiment", "e"])).expect(0, &texts);
    let shown = ran(&mut experiment.command(&["show", "--experiment", "e", "--json"]));
    let shown: Value = serde_json::from_str(&shown.expect(0, &[]).stdout).unwrap();
    assert_eq!(shown["capacity"], last["capacity"]);
    ran(&mut experiment.command(&["report", "e", "-o", "e.html"])).expect(0, &[]);
    let page = document_of(&experiment.dir.path().join("e.html"));
    assert_eq!(page["capacity"], last["capacity"]);
    one_p99_a_step(&experiment, ladder, &page);
    let headline = page["answer"]["sentence"].as_str().unwrap();
    let begins = match capacity {
        Some(_) => "It serves ",
        None => "The capacity is not known",
    };
    assert!(headline.starts_with(begins), "{headline}");

    // A later trial may run at a share of it: the kept spec has the number.
    let is_found = ladder["capacity"]["is"] == "at";
    let capacity = capacity.unwrap_or_default();
    let asked = [
        "run",
        "one.sql",
        "-T1",
        "-c2",
        "--no-store",
        "--json",
        "--rate=50%@1s,25% of e",
    ];
    let shared = ran(&mut experiment.command(&asked));
    if is_found {
        let shared = shared.expect(0, &[]);
        let said = "pgdyno: the capacity that e found is ";
        assert!(shared.stderr.contains(said), "{shared:?}");
        let trial: Value = serde_json::from_str(&shared.stdout).unwrap();
        let profile = trial["trial"]["rate_profile"].as_str().unwrap();
        let half: f64 = profile.split_once('@').unwrap().0.parse().unwrap();
        assert!((half / capacity - 0.5).abs() < 1e-3, "{profile} {capacity}");
        // So may the trials of another experiment.
        let other = "workload = [['one.sql']]\nduration = '1s'\nclients = 2\n[matrix]\nrate = ['50% of e', 7]\n";
        std::fs::write(experiment.dir.path().join("other.toml"), other).unwrap();
        let mut plan = experiment.command(&["sweep", "other.toml", "--dry-run", "--json"]);
        let plan = ran(&mut plan).expect(0, &[]);
        assert!(plan.stderr.contains(said), "{plan:?}");
        let plan: Value = serde_json::from_str(&plan.stdout).unwrap();
        let half = plan["trials"][0]["point"]["rate"].as_f64().unwrap();
        assert!((half / capacity - 0.5).abs() < 1e-3, "{plan:#}");
        assert_eq!(plan["trials"][1]["point"]["rate"], 7.0);
    } else {
        shared.expect(2, &["found no capacity, only that it is"]);
    }
    let asked = ["run", "one.sql", "-T1", "--rate=50% of absent"];
    let refused = ran(&mut experiment.command(&asked));
    assert!(refused.stderr.contains("absent"), "{refused:?}");

    // The figures again, and nothing is measured.
    let again = format!("{trials} of {trials} trials complete");
    experiment
        .run(&["--resume", "--capacity-time=20s"])
        .expect(0, &[again.as_str(), texts[0]]);
    assert_eq!(experiment.completed(), trials);
}

#[test]
fn a_search_that_was_cut_off_goes_on_where_it_was() {
    let database = Database::new("sweep_capacity_cut");
    let experiment = Experiment::new(
        "workload = [['one.sql']]\nduration = '10s'\nclients = 2\nreset.settle = 0\n\
         rate = 200\ncapacity.slo = '500ms'\n",
        &database,
    );
    std::fs::write(experiment.dir.path().join("one.sql"), "SELECT 1;\n").unwrap();
    let running = Running::start(&mut experiment.sweep(&["--capacity-time=35s"]));
    wait_until("the first step", || experiment.completed() == 1);
    database.wait_for("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT 1;%'");
    running.signal(Signal::Interrupt);
    running.ended().expect(130, &["--resume"]);

    // The step that was cut off is made again, and the one that was complete is not.
    experiment
        .run(&["--resume", "--capacity-time=35s"])
        .expect(0, &["3 steps in "]);
    let trials = experiment.trials();
    let seeds: BTreeSet<i64> = trials
        .iter()
        .filter_map(|trial| trial["trial"]["seed"].as_i64())
        .collect();
    // The step that was made again has its seed.
    assert_eq!(seeds.len(), 3, "{seeds:?}");
    let made: Vec<(f64, &str)> = trials
        .iter()
        .map(|trial| {
            let rate = trial["trial"]["rate_per_s"].as_f64().unwrap();
            (rate, trial["state"].as_str().unwrap())
        })
        .collect();
    let [first, cut, again, last] = made[..] else {
        panic!("{made:?}")
    };
    assert_eq!((first, cut), ((200.0, "complete"), (400.0, "aborted")));
    assert_eq!((again, last), ((400.0, "complete"), (800.0, "complete")));
}

#[test]
fn a_dry_run_says_that_it_is_a_search_and_what_it_may_take() {
    let database = Database::new("sweep_capacity_planned");
    let experiment = Experiment::new(
        "workload = [['one.sql']]\nrate = 100\nclients = [1, 2]\ncapacity.slo = '5ms'\n",
        &database,
    );
    std::fs::write(experiment.dir.path().join("one.sql"), "SELECT 1;\n").unwrap();
    let plan = experiment
        .run(&["--dry-run", "--capacity-time=90s", "--json=plan.json"])
        .expect(
            0,
            &[
                "2 trials, about",
                "first steps of a search for the highest rate with p99 within 5 ms",
                "or 90 s are over for each of 2",
                "It may take 3 min in all, which --capacity-time changes",
            ],
        );
    // Repeats for a comparison are another matter.
    assert!(!plan.stdout.contains("to compare two points"), "{plan:?}");
    let plan = std::fs::read_to_string(experiment.dir.path().join("plan.json")).unwrap();
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(
        (&plan["search"]["ladders"], &plan["search"]["slo_us"]),
        (&2.into(), &5000.0.into())
    );
}

#[test]
fn a_preset_runs_on_the_tables_that_are_there() {
    let database = Database::new("sweep_capacity_preset");
    let load = ["load", "tpcb", "--param", "scale=3", "-q"];
    database.pgdyno(&load).expect(0, &[]);
    let experiment = Experiment::new("workload = 'tpcb'\n", &database);
    let preset = || {
        let mut command = experiment.command(&["sweep", "--preset", "capacity", "--url"]);
        command.arg(&database.url);
        command
    };
    let running = Running::start(preset().arg("--capacity-time=1s"));
    wait_until("the first trial", || experiment.count("") == 1);
    running.signal(Signal::Interrupt);
    let says = "the tables that are there are used, with scale = 3";
    running
        .ended()
        .expect(130, &[says, "pgdyno load tpcb --param scale="]);
    assert_eq!(database.value("SELECT count(*) FROM pgbench_branches"), "3");
    // It is the same experiment when it is gone on with.
    let running = Running::start(preset().args(["--resume", "--capacity-time=1s"]));
    wait_until("the next trial", || experiment.count("") == 2);
    running.signal(Signal::Interrupt);
    running.ended().expect(130, &[says]);
    let kept = experiment.query("SELECT count(*) AS n FROM experiment");
    assert_eq!(kept[0]["n"], 1);
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
