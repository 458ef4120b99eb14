//! Settings of the whole server: put back after a sweep, after SIGKILL, by `pgdyno restore` and by
//! the next sweep.

use pgdyno_platform::child::Signal;

use crate::child::{Running, wait_until};
use crate::support::{self, Database};
use crate::sweep::written::{Experiment, assert_sums};

/// 2 x 2 x 2 short trials; one of the parameters is a setting of the whole server.
const CUBE: &str = "duration = '400ms'\nreset.settle = 0\n\
     [matrix]\nworkload = ['tpcb', 'select-only']\nclients = [1, 2]\n\
     settings.bgwriter_delay = ['111ms', '333ms']\n";

fn in_auto_conf(database: &Database) -> String {
    database.value(
        "SELECT coalesce(string_agg(name || '=' || setting, ' ' ORDER BY name), '') \
         FROM pg_file_settings WHERE sourcefile LIKE '%auto.conf'",
    )
}

#[test]
fn a_matrix_killed_in_the_middle_is_resumed_and_the_settings_are_put_back() {
    let server = pgdyno_testkit::postgres_with(&[]);
    let database = Database::on(&server, "sweep_killed");
    database.sql("ALTER SYSTEM SET bgwriter_delay = '250ms'");
    database.sql("SELECT pg_reload_conf()");
    let before = in_auto_conf(&database);
    assert_eq!(before, "bgwriter_delay=250ms");
    let experiment = Experiment::new(CUBE, &database);

    let changed = || in_auto_conf(&database) != before;
    let running = Running::start(&mut experiment.sweep(&[]));
    wait_until("two trials", || experiment.completed() >= 2);
    wait_until("a changed setting", changed);
    let restoring = experiment.command(&["restore"]).output().unwrap();
    support::ended(restoring).expect(0, &["1 running sweeps will restore"]);
    running.signal(Signal::Kill);
    running.ended();
    assert!(changed(), "it is not put back yet");

    // The next session of the sweep puts it back before it does anything; killed once more.
    let complete = experiment.completed();
    let running = Running::start(&mut experiment.sweep(&["--resume"]));
    wait_until("two more", || experiment.completed() >= complete + 2);
    wait_until("a changed setting", changed);
    running.signal(Signal::Kill);
    let ran = running.ended();
    assert!(
        ran.stderr.contains("bgwriter_delay is 250ms again"),
        "{ran:#?}"
    );
    assert!(changed());

    let restore = || support::ran(&mut experiment.command(&["restore"]));
    restore().expect(0, &["bgwriter_delay is 250ms again"]);
    assert_eq!(in_auto_conf(&database), before);
    assert_eq!(database.value("SHOW bgwriter_delay"), "250ms", "in effect");
    restore().expect(0, &["nothing to restore"]);

    experiment
        .run(&["--resume"])
        .expect(0, &["8 of 8 trials complete"]);
    assert_eq!(in_auto_conf(&database), before);
    restore().expect(0, &["nothing to restore"]);
    let trials = experiment.complete();
    let mut points: Vec<String> = trials.iter().map(|t| t["point"].to_string()).collect();
    points.sort();
    points.dedup();
    assert_eq!((trials.len(), points.len()), (8, 8), "each once");
    trials.iter().for_each(assert_sums);
    let by = |t: &serde_json::Value| t["before"]["settings"]["bgwriter_delay"]["by"].clone();
    assert!(trials.iter().all(|t| by(t) == "alter system"));
    experiment
        .run(&["--resume"])
        .expect(0, &["8 of 8 trials complete"]);
    assert_eq!(experiment.completed(), 8, "nothing is left to run");
    // In the notebook all of it is one experiment; what was killed is aborted, not running.
    let states = experiment.assert_notebook();
    let of = |state: &str| {
        let row = states.iter().find(|row| row["state"] == state);
        row.map_or(0, |row| row["n"].as_u64().unwrap())
    };
    assert!(of("complete") >= 8, "{states:?}");
    assert_eq!(of("running") + of("failed"), 0, "{states:?}");
    let experiments = experiment.query("SELECT count(*) AS n FROM experiment");
    assert_eq!(experiments[0]["n"], 1);
}

#[test]
fn settings_are_put_back_by_a_resume_that_has_nothing_left_to_measure() {
    let server = pgdyno_testkit::postgres_with(&[]);
    let database = Database::on(&server, "sweep_all_done");
    let toml = |duration| {
        format!(
            "workload = 'tpcb'\nduration = '{duration}'\nreset.settle = 0\n\
             [settings]\nbgwriter_delay = ['111ms']\n"
        )
    };
    let experiment = Experiment::new(&toml("200ms"), &database);
    let done = "1 of 1 trials complete";
    experiment.run(&[]).expect(0, &[done]);
    assert_eq!(in_auto_conf(&database), "");

    // As a session leaves it that is killed between its last trial and its end.
    std::fs::write(experiment.dir.path().join("long.toml"), toml("60s")).unwrap();
    let long = ["sweep", "long.toml", "--url", &database.url];
    let running = Running::start(&mut experiment.command(&long));
    wait_until("a changed setting", || !in_auto_conf(&database).is_empty());
    running.signal(Signal::Kill);
    running.ended();
    assert_eq!(in_auto_conf(&database), "bgwriter_delay=111ms");

    let resumed = experiment.run(&["--resume"]);
    resumed.expect(0, &[done, "bgwriter_delay is no longer set"]);
    assert_eq!(in_auto_conf(&database), "");
    assert_eq!(database.value("SHOW bgwriter_delay"), "200ms", "in effect");
    let restore = support::ran(&mut experiment.command(&["restore"]));
    restore.expect(0, &["nothing to restore"]);
}

#[test]
fn a_setting_that_cannot_be_varied_is_refused_before_the_first_trial() {
    let database = Database::new("sweep_settings");
    for (setting, texts) in [
        (
            "shared_buffers = ['16MB']",
            &["needs a server restart", "on a private server"][..],
        ),
        (
            "wrok_mem = ['1MB']",
            &["wrok_mem = 1MB", "did you mean \"work_mem\"?"],
        ),
        ("block_size = [8192]", &["computes it"]),
        ("work_mem = ['4MB', '7 apples']", &["work_mem", "7 apples"]),
    ] {
        let toml = format!("workload = 'tpcb'\nduration = '1s'\n[settings]\n{setting}\n");
        let experiment = Experiment::new(&toml, &database);
        let ran = experiment.run(&[]);
        assert_ne!(ran.code, Some(0), "{ran:#?}");
        for text in texts {
            assert!(ran.stderr.contains(text), "no {text} in {ran:#?}");
        }
        assert_eq!(experiment.completed(), 0);
    }
}

/// `pgdyno sweep` of this setting on a private server.
fn on_a_private_server(values: &str, name: &str) -> (Experiment, support::Ran) {
    let toml = format!(
        "workload = 'select-only'\ntransactions = 5\nreset.settle = 0\n\
         [settings]\nshared_buffers = {values}\n"
    );
    let experiment = Experiment::new(&toml, &Database::new(name));
    let cache = pgdyno_testkit::home();
    let mut sweep = experiment.command(&["sweep", "e.toml", "--pg-bindir"]);
    sweep.arg(&pgdyno_testkit::installation().bindir);
    let ran = support::ran(sweep.envs(pgdyno_testkit::own_cache(cache.path())));
    let left = std::fs::read_dir(cache.path().join("servers")).unwrap();
    let left = left.flatten().map(|entry| entry.file_name());
    assert_eq!(left.collect::<Vec<_>>(), [".pgdyno-lock"]);
    (experiment, ran)
}

#[test]
fn a_private_server_is_restarted_for_a_setting_that_needs_it_and_keeps_its_tables() {
    let (experiment, ran) = on_a_private_server("['16MB', '32MB']", "sweep_private");
    ran.expect(0, &["2 of 2 trials complete"]);
    let trials = experiment.complete();
    let bytes = |t: &serde_json::Value| t["target"]["facts"]["shared_buffers_bytes"].as_u64();
    let found: Vec<_> = trials.iter().map(bytes).collect();
    assert_eq!(found, [Some(16 << 20), Some(32 << 20)], "in effect");
    let loads = trials.iter().map(|t| !t["before"]["loaded"].is_null());
    assert_eq!(loads.collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_value_that_a_private_server_does_not_start_with_is_said_in_its_own_words() {
    let (experiment, ran) = on_a_private_server("['8000GB']", "sweep_private_fails");
    ran.expect(
        1,
        &["did not start", "could not map anonymous shared memory"],
    );
    assert!(experiment.complete().is_empty());
}

#[test]
fn a_setting_of_the_whole_server_is_refused_for_several_endpoints() {
    let database = Database::new("sweep_endpoints");
    let toml = "workload = 'tpcb'\nduration = '1s'\n[settings]\nbgwriter_delay = ['20ms']\n";
    let experiment = Experiment::new(toml, &database);
    let ran = experiment.run(&["--url", &database.url]);
    let texts = [
        "settings.bgwriter_delay is a server setting: with 2 endpoints",
        "name one endpoint",
    ];
    ran.expect(1, &texts);
    assert!(experiment.complete().is_empty());
}

#[test]
fn a_journal_of_a_server_that_is_gone_is_kept_and_named() {
    let database = Database::new("sweep_gone");
    let experiment = Experiment::new("", &database);
    let journals = experiment.dir.path().join("cache/settings");
    std::fs::create_dir_all(&journals).unwrap();
    let journal = journals.join("1-0.jsonl");
    let header = r#"{"target":"host='/nowhere' user='x' dbname='x'","title":"the old one","system_identifier":"1"}"#;
    std::fs::write(
        &journal,
        format!("{header}\n{{\"name\":\"bgwriter_delay\",\"before\":null}}\n"),
    )
    .unwrap();
    let restore = |args: &[&str]| {
        let args = [&["restore"], args].concat();
        support::ran(&mut experiment.command(&args))
    };
    restore(&[]).expect(
        3,
        &[
            "settings of the old one are in",
            "1-0.jsonl",
            "delete the file",
        ],
    );
    restore(&["--url", &database.url]).expect(1, &["another server than the one"]);
    assert!(journal.exists());
}
