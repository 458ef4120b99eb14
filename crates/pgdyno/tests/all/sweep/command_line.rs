//! The command itself: what it prints, what it refuses.

use crate::support::Database;
use crate::sweep::written::Experiment;

const TWO: &str = "workload = 'select-only'\nduration = '1m'\nreset.settle = 0\nclients = [1, 2]\n";

#[test]
fn a_dry_run_shows_the_trials_and_their_time_and_touches_nothing() {
    let database = Database::new("sweep_dry");
    let experiment = Experiment::new(TWO, &database);
    let texts = [
        "    1  1 client\n    2  2 clients\n",
        "2 trials, about 2 min with 1 load, 100,011 rows",
        "1 repeat of each point cannot tell which of two points is faster: that takes 5 a side (--repeat 5)",
        "to compare all 2 points with those of another sweep takes",
    ];
    experiment.run(&["--dry-run"]).expect(0, &texts);
    let ran = experiment.run(&["--dry-run", "--json"]).expect(0, &[]);
    let plan: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(plan["trials"][1]["point"]["clients"], 2);
    assert_eq!(plan["repeats_needed"]["two_points"], 5);
    assert!(crate::support::notebook::is_empty(&experiment.store()));
    assert_eq!(
        database.value("SELECT count(*) FROM pg_class WHERE relname LIKE 'pgbench%'"),
        "0"
    );
}

#[test]
fn what_a_preset_prints_is_an_experiment() {
    let database = Database::new("sweep_preset");
    let experiment = Experiment::new("", &database);
    for (args, trials) in [
        (["--preset", "quick"], "30 trials"),
        (["--preset", "pgbench-tools"], "72 trials"),
        (["--from-pgbench-tools", "config"], "4 trials"),
    ] {
        let config = "SCRIPT=\"tpc-b\"\nSCALES=\"1 2\"\nSETCLIENTS=2\nSETTIMES=2\nRUNTIME=1\n";
        std::fs::write(experiment.dir.path().join("config"), config).unwrap();
        let command = |more: &str| {
            let args = [&["sweep"], &args[..], &[more]].concat();
            crate::support::ran(&mut experiment.command(&args))
        };
        command("--dry-run").expect(0, &[trials]);
        let printed = command("--print").expect(0, &[]).stdout;
        std::fs::write(experiment.dir.path().join("e.toml"), printed).unwrap();
        experiment.run(&["--dry-run"]).expect(0, &[trials]);
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place_before_anything_is_written() {
    let database = Database::new("sweep_wrong");
    let experiment = Experiment::new(&TWO.replace("clients", "cleints"), &database);
    let texts = [
        "e.toml:4:1: unknown key \"cleints\"",
        "^^^^^^^",
        "did you mean \"clients\"?",
    ];
    experiment.run(&[]).expect(1, &texts);
    let run = |args: &[&str]| crate::support::ran(&mut experiment.command(args));
    run(&["sweep"]).expect(2, &["--preset"]);
    run(&["sweep", "nowhere.toml"]).expect(2, &["could not read nowhere.toml"]);
    run(&["sweep", "--preset", "quikc"]).expect(2, &["quick"]);
    run(&["sweep", "--from-pgbench-tools", "e.toml"]).expect(1, &["e.toml:1"]);
    std::fs::write(experiment.dir.path().join("e.toml"), TWO).unwrap();
    experiment
        .run(&["--json=no/where"])
        .expect(2, &["could not create no/where"]);
    std::fs::write(experiment.dir.path().join("mine"), "hello\n").unwrap();
    experiment
        .run(&["--store", "mine"])
        .expect(1, &["mine is no pgdyno store"]);
    let own_target = format!("{TWO}target = ['host=/x', 'host=/y']\n");
    let named_twice = Experiment::new(&own_target, &database);
    named_twice.run(&[]).expect(2, &["names its target itself"]);
}

#[test]
fn help_names_every_parameter() {
    let help = crate::support::ran(&mut crate::support::pgdyno(&["sweep", "--help"]));
    help.expect(
        0,
        &[
            "max_tries",
            "latency_limit",
            "settings.NAME",
            "--resume",
            "pgdyno help experiments",
        ],
    );
    let help = crate::support::ran(&mut crate::support::pgdyno(&["restore", "--help"]));
    help.expect(0, &["kill -9", "--url"]);
}
