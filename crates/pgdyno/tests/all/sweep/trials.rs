//! What a sweep runs, in which order, and what it writes down.

use serde_json::{Value, json};

use crate::support::Database;
use crate::sweep::written::{Experiment, assert_sums};

#[test]
fn a_matrix_is_run_point_by_point_with_its_tables_and_settings() {
    let database = Database::new("sweep_matrix");
    let experiment = Experiment::new(
        "duration = '300ms'\nrepeats = 2\nseed = 5\nreset.settle = 0\nworkload = 'tpcb'\n\
         isolation = 'repeatable read'\nmax_tries = 10\n\
         [settings]\nwork_mem = '7MB'\napplication_name = \"two words\"\n\
         [matrix]\nparams.scale = [1, 2]\n\
         [[zip]]\nclients = [1, 2]\nquery_mode = ['simple', 'prepared']\n",
        &database,
    );
    experiment
        .run(&["--json=lines"])
        .expect(0, &["8 of 8 trials complete", "[1/8] scale 1, "]);
    let trials = experiment.complete();
    assert_eq!(trials.len(), 8);
    trials.iter().for_each(assert_sums);
    assert_eq!(
        experiment.assert_notebook(),
        [json!({ "state": "complete", "n": 8 })]
    );
    // A line of JSON a trial has the same.
    let lines = std::fs::read_to_string(experiment.dir.path().join("lines")).unwrap();
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 8);
    for (line, trial) in lines.iter().zip(&trials) {
        for part in ["state", "repeat", "point", "before", "measured", "seconds"] {
            assert_eq!(line[part], trial[part], "{part}");
        }
        assert_eq!(
            (&line["experiment"], &line["role"]),
            (&json!("e"), &json!("point"))
        );
    }
    let loads: Vec<bool> = trials
        .iter()
        .map(|t| !t["before"]["loaded"].is_null())
        .collect();
    assert_eq!(
        loads,
        [true, false, false, false, true, false, false, false],
        "a load a scale"
    );
    let repeats: Vec<_> = trials
        .iter()
        .map(|t| t["repeat"].as_u64().unwrap())
        .collect();
    assert_eq!(repeats, [1, 1, 2, 2, 1, 1, 2, 2]);
    let last = &trials[7];
    assert_eq!(last["point"]["params"]["scale"], 2);
    assert_eq!(last["workload"]["variables"]["scale"], "2");
    let mut rounds: Vec<&Value> = trials.iter().map(|t| &t["trial"]["clients"]).collect();
    rounds
        .chunks_mut(2)
        .for_each(|round| round.sort_by_key(|clients| clients.as_u64()));
    assert_eq!(
        rounds,
        [1, 2]
            .map(|clients| json!(clients))
            .iter()
            .collect::<Vec<_>>()
            .repeat(4)
    );
    assert_eq!(last["trial"]["seed"], 7, "the experiment's and the repeat");
    let facts = &last["target"]["facts"];
    assert_eq!(facts["default_transaction_isolation"], "repeatable read");
    assert_eq!(
        last["before"]["settings"]["work_mem"],
        json!({ "value": "7MB", "by": "session" })
    );
    let steps = last["before"]["reset"]["steps"].as_array().unwrap();
    let did = |what: &str, table: Value| {
        steps
            .iter()
            .any(|s| s["what"] == what && s["table"] == table && s["not_done"].is_null())
    };
    assert!(did("truncate", json!("pgbench_history")), "{steps:?}");
    assert!(
        did("vacuum", json!("pgbench_accounts")) && did("checkpoint", Value::Null),
        "{steps:?}"
    );
    // The last trial's rows are all there are.
    let rows = database.value("SELECT count(*) FROM pgbench_history");
    assert_eq!(last["measured"]["committed"].to_string(), rows);
}

#[test]
fn a_share_of_the_maximum_is_scheduled_after_measuring_it_once() {
    let database = Database::new("sweep_share");
    let experiment = Experiment::new(
        "workload = 'select-only'\nduration = '500ms'\nrepeats = 2\norder = 'interleaved'\nrate = ['25%', 40]\nreset.settle = 0\n",
        &database,
    );
    experiment
        .run(&[])
        .expect(0, &["5 of 5 trials complete", "to find the maximum"]);
    let trials = experiment.complete();
    let maxima: Vec<_> = trials.iter().map(|t| t["is_maximum"] == 1).collect();
    assert_eq!(maxima, [true, false, false, false, false]);
    assert!(trials[0]["repeat"].is_null());
    let maximum = trials[0]["measured"]["goodput_per_s"].as_f64().unwrap();
    assert!(trials[0]["trial"]["rate_per_s"].is_null());
    let rates = trials[1..]
        .iter()
        .map(|t| t["trial"]["rate_per_s"].as_f64().unwrap());
    let is_share = |rate: &f64| (rate - maximum / 4.0).abs() < 1e-6;
    let (shares, others): (Vec<f64>, Vec<f64>) = rates.partition(is_share);
    assert_eq!(
        (shares.len(), others),
        (2, vec![40.0, 40.0]),
        "of {maximum}"
    );
}

#[test]
fn points_that_need_a_failed_maximum_are_reported_once_and_not_run() {
    let database = Database::new("sweep_no_maximum");
    let experiment = Experiment::new(
        "workload = [['bad.sql'], ['good.sql']]\ntransactions = 5\nrepeats = 2\n\
         rate = ['50%', '90%', 50]\nreset.settle = 0\ncapacity.slo = '1s'\n",
        &database,
    );
    for (name, text) in [("bad.sql", "SELECT 1/0;\n"), ("good.sql", "SELECT 1;\n")] {
        std::fs::write(experiment.dir.path().join(name), text).unwrap();
    }
    let texts = ["7 of 14 trials complete", "7 trials failed"];
    let ran = experiment.run(&[]).expect(1, &texts);
    let reported = ran.stderr.matches("it could not be measured").count();
    assert_eq!(reported, 1, "{ran:#?}");
    // In the notebook: the maximum that failed and the two that needed none, beside the good ones.
    let failed = |trial: &&Value| trial["state"] == "failed";
    assert_eq!(experiment.trials().iter().filter(failed).count(), 3);
    // Shares stand in their order, behind numbers or before them.
    let summary = experiment
        .command(&["show", "--experiment", "e"])
        .output()
        .unwrap();
    let summary = String::from_utf8(summary.stdout).unwrap();
    let at = |text: &str| {
        summary
            .find(text)
            .unwrap_or_else(|| panic!("no {text}: {summary}"))
    };
    assert!(
        at("50 % of the maximum") < at("90 % of the maximum"),
        "{summary}"
    );
}

#[test]
fn a_trial_that_fails_is_written_down_and_the_others_go_on() {
    let database = Database::new("sweep_fails");
    let experiment = Experiment::new(
        "workload = [['bad.sql'], ['good.sql']]\ntransactions = 5\nreset.settle = 0\n",
        &database,
    );
    let script =
        |name: &str, text: &str| std::fs::write(experiment.dir.path().join(name), text).unwrap();
    script("bad.sql", "SELECT 1/0;\n");
    script("good.sql", "SELECT 1;\n");
    let texts = [
        "1 of 2 trials complete",
        "1 trials failed",
        "sweep e.toml --url … --resume",
    ];
    experiment.run(&[]).expect(1, &texts);
    let states: Vec<_> = experiment
        .trials()
        .iter()
        .map(|t| t["state"].clone())
        .collect();
    assert_eq!(states, ["failed", "complete"]);
    // Resuming tries it again; what is complete stays.
    script("bad.sql", "SELECT 2;\n");
    experiment
        .run(&["--resume"])
        .expect(1, &["is another experiment", "without --resume"]);
    script("bad.sql", "SELECT 1/0;\n");
    experiment
        .run(&["--resume"])
        .expect(1, &["1 of 2 trials complete"]);
    assert_eq!(experiment.trials().len(), 3);
}

#[test]
fn what_was_excluded_is_measured_again_and_what_counts_is_not() {
    let database = Database::new("sweep_excluded");
    let experiment = Experiment::new(
        "workload = 'select-only'\ntransactions = 5\nrepeats = 2\nrate = ['50%']\nreset.settle = 0\n",
        &database,
    );
    let begins = experiment.run(&["--resume"]);
    begins.expect(0, &["no e in", "3 of 3 trials complete"]);
    experiment
        .run(&["--resume"])
        .expect(0, &["3 of 3 trials complete"]);
    assert_eq!(experiment.completed(), 3, "nothing was left to run");
    let exclude = &mut experiment.command(&["exclude", "2", "--reason", "a neighbour was loud"]);
    crate::support::ran(exclude).expect(0, &[]);
    experiment
        .run(&["--resume"])
        .expect(0, &["3 of 3 trials complete"]);
    let trials = experiment.trials();
    assert_eq!(trials.len(), 4);
    assert_eq!(trials[3]["repeat"], trials[1]["repeat"]);
    assert_eq!(trials[3]["point"], trials[1]["point"]);
    // At the rate that the maximum of the first session gave.
    let rate = |trial: &Value| trial["trial"]["rate_per_s"].as_f64().unwrap();
    assert_eq!(rate(&trials[3]), rate(&trials[1]));
}

#[test]
fn tables_of_others_are_never_loaded_anew() {
    let database = Database::new("sweep_others");
    let experiment = Experiment::new(
        "workload = 'tpcb'\nduration = '200ms'\nparams.scale = [1, 2]\nreset.settle = 0\n",
        &database,
    );
    database.pgdyno(&["load", "tpcb"]).expect(0, &[]);
    for table in ["accounts", "branches", "tellers", "history"] {
        database.sql(&format!("COMMENT ON TABLE pgbench_{table} IS NULL"));
    }
    let ran = experiment.run(&["--replace"]);
    ran.expect(1, &["loaded with scale = 1, not 2"]);
    assert_eq!(database.value("SELECT count(*) FROM pgbench_branches"), "1");
    // It is said before the first trial, for which they would do.
    assert_eq!(experiment.trials().len(), 0);
    let fits = "workload = 'tpcb'\ntransactions = 10\nparams.scale = 1\nreset.settle = 0\n";
    std::fs::write(experiment.dir.path().join("e.toml"), fits).unwrap();
    for _ in 0..2 {
        experiment.run(&[]).expect(0, &["1 of 1 trials complete"]);
    }
    let rows = database.value("SELECT count(*) FROM pgbench_history");
    assert_eq!(rows, "20", "nor emptied");
}

#[test]
fn a_server_of_the_sweeps_own_lives_as_long_as_the_sweep() {
    let database = Database::new("sweep_own");
    let experiment = Experiment::new(
        "workload = 'tpcb'\nduration = '200ms'\nrepeats = 2\nreset.settle = 0\n\
         settings.bgwriter_delay = ['111ms', '333ms']\n",
        &database,
    );
    let bindir = pgdyno_testkit::installation().bindir.display().to_string();
    let mut command = experiment.command(&["sweep", "e.toml", "--pg-bindir", &bindir]);
    crate::support::ran(&mut command).expect(0, &["4 of 4 trials complete"]);
    let trials = experiment.complete();
    let loads = trials.iter().filter(|t| !t["before"]["loaded"].is_null());
    assert_eq!(loads.count(), 1, "one server, one load");
    assert!(trials.iter().all(|t| t["target"]["kind"] == "own"));
    // Its settings end with it: there is nothing to write down.
    assert!(!experiment.dir.path().join("cache/settings").exists());
}

#[test]
fn tables_that_pgbench_loaded_give_way_to_another_scale_only_in_a_sweep_of_pgbench_tools() {
    let database = Database::new("sweep_pgbench_tools");
    let experiment = Experiment::new("", &database);
    let mut init = experiment.command(&["pgbench", "-i", "-q", "-s", "2", &database.url]);
    crate::support::ran(&mut init).expect(0, &[]);
    let scale = || database.value("SELECT count(*) FROM pgbench_branches");
    let write = |name: &str, text: &str| {
        std::fs::write(experiment.dir.path().join(name), text).unwrap();
    };
    let sweep = |args: &[&str]| {
        let mut command = experiment.command(&["sweep"]);
        crate::support::ran(command.args(args).args(["--url", &database.url]))
    };
    // It names a server, as the one that pgbench-tools ships; the command line's goes before it.
    let config = "SCRIPT=select\nSCALES=\"2 1\"\nSETCLIENTS=1\nSETTIMES=1\nRECOVERY=0\n\
                  RUNTIME=\"\"\nTOTTRANS=10\nTESTHOST=127.0.0.1\nTESTPORT=1\nTESTDB=pgbench\n";
    write("config", config);
    write("kept", &format!("{config}SKIPINIT=1\n"));
    // A file that does not say so drops nothing.
    write(
        "e.toml",
        "workload = 'select-only'\ntransactions = 1\nparams.scale = 1\nreset.settle = 0\n",
    );
    for refused in [sweep(&["e.toml"]), sweep(&["--from-pgbench-tools", "kept"])] {
        let said = format!("{}{}", refused.stdout, refused.stderr);
        assert!(said.contains("loaded with scale = 2, not 1"), "{said}");
        assert_eq!(scale(), "2");
    }
    let names = "pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";
    // Nor do tables go that are pgbench's by their names only.
    database.sql("ALTER TABLE pgbench_tellers ALTER tbalance TYPE bigint");
    sweep(&["--from-pgbench-tools", "config"]);
    assert_eq!(scale(), "2");
    database.sql("ALTER TABLE pgbench_tellers ALTER tbalance TYPE integer");
    let ran = sweep(&["--from-pgbench-tools", "config"]).expect(0, &["2 of 2 trials complete"]);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("not TESTHOST's"), "{said}");
    let replaced: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("replaced tables of pgbench -i"))
        .collect();
    assert_eq!(replaced.len(), 1, "{said}");
    assert!(
        names.split(", ").all(|name| replaced[0].contains(name)),
        "{said}"
    );
    assert_eq!(scale(), "1");
}
