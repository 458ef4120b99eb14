//! What a sweep finds out, and says, before it loads or drops anything.

use crate::support::Database;
use crate::sweep::written::Experiment;

const SHORT: &str = "workload = 'select-only'\ntransactions = 5\nreset.settle = 0\n";
const TABLES: &str = "pgbench_branches, pgbench_tellers, pgbench_accounts, pgbench_history";

fn tables(database: &Database) -> String {
    let count =
        "SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'usertable'";
    database.value(count)
}

#[test]
fn rows_of_another_scale_go_without_asking_only_if_the_experiment_loaded_them() {
    let database = Database::new("sweep_replace");
    let experiment = Experiment::new(&format!("{SHORT}params.scale = 1\n"), &database);
    let write = |text: &str| std::fs::write(experiment.dir.path().join("e.toml"), text).unwrap();
    let scale = || database.value("SELECT count(*) FROM pgbench_branches");
    let load = ["load", "tpcb", "--param", "scale=2"];
    database.pgdyno(&load).expect(0, &[]);
    let refused = format!(
        "scale = 1 needs other tables: {TABLES} would be dropped, loaded with scale = 2 by pgdyno, \
         not by this experiment"
    );
    experiment
        .run(&[])
        .expect(1, &[&refused, "--replace drops"]);
    assert_eq!((scale().as_str(), experiment.trials().len()), ("2", 0));
    // What was refused is no experiment.
    let kept = "SELECT count(*) AS n FROM experiment";
    assert_eq!(experiment.query(kept)[0]["n"], 0);
    let says = format!("will drop {TABLES}: loaded with scale = 2 by pgdyno");
    experiment
        .run(&["--replace"])
        .expect(0, &[&says, "1 of 1 trials"]);
    assert_eq!(scale(), "1");

    // Its own give way, and it says so, too.
    write(&format!("{SHORT}params.scale = [2, 1]\n"));
    let says = format!("will drop {TABLES}: loaded with scale = 1 by this experiment");
    experiment.run(&[]).expect(0, &[&says, "2 of 2 trials"]);
    assert_eq!(scale(), "1");

    // Not to another one, and not even where the first point fits.
    write(&format!("{SHORT}name = 'other'\nparams.scale = [1, 2]\n"));
    let refused = "loaded with scale = 1 by experiment e";
    experiment.run(&[]).expect(1, &[refused, "--replace"]);
    assert_eq!((scale().as_str(), experiment.trials().len()), ("1", 3));
}

#[test]
fn what_the_last_trial_would_fail_with_is_said_before_the_first_load() {
    let database = Database::new("sweep_ahead");
    database.sql(
        "CREATE ROLE sweep_ahead LOGIN CONNECTION LIMIT 3; GRANT ALL ON SCHEMA public TO sweep_ahead; \
         CREATE TABLE usertable (mine int)",
    );
    let limited = database.url.replace("//postgres@", "//sweep_ahead@");
    assert_ne!(limited, database.url);
    let limited = Database { url: limited };
    let here = &database.url;
    let nowhere = "postgresql://127.0.0.1:1/x?sslmode=disable";
    for (database, toml, code, want) in [
        (
            &limited,
            "clients = [1, 8]\n".to_owned(),
            3,
            &["a trial has 8 clients, and 3 of their connections could be opened"][..],
        ),
        (
            &database,
            "settings.work_mem = ['4MB', '7 apples']\n".to_owned(),
            1,
            &["e.toml:4:29: ", "7 apples", "pg_settings"],
        ),
        (
            &database,
            "workload = ['select-only', 'ycsb']\n".to_owned(),
            1,
            &["cannot use the tables in this database", "usertable"],
        ),
        (
            &database,
            format!("target = ['{here}', '{nowhere}']\n"),
            3,
            &["Connection refused"],
        ),
    ] {
        let toml = if toml.starts_with("workload") {
            format!("transactions = 5\nreset.settle = 0\n{toml}")
        } else {
            format!("{SHORT}{toml}")
        };
        let experiment = Experiment::new(&toml, database);
        let ran = if toml.contains("target") {
            let sweep = ["sweep", "e.toml", "--allow-shell"];
            crate::support::ran(&mut experiment.command(&sweep))
        } else {
            experiment.run(&[])
        };
        ran.expect(code, want);
        assert_eq!(tables(database), "0", "{toml}");
        assert_eq!(experiment.trials().len(), 0, "{toml}");
    }
}

#[test]
fn a_store_that_cannot_be_written_is_found_before_the_first_load() {
    let database = Database::new("sweep_read_only_store");
    let experiment = Experiment::new(SHORT, &database);
    std::fs::create_dir(experiment.dir.path().join("folder")).unwrap();
    let ran = experiment.run(&["--store", "folder"]);
    assert_ne!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.stderr.contains("folder"), "{ran:#?}");
    assert_eq!(tables(&database), "0");
}
