//! On a real server.

use super::*;
use pgdyno_database::dialect::POSTGRESQL;
use pgdyno_model::progress::Silent;
use pgdyno_workload::params::Params;
use pgdyno_workload::{loader, resolve};

fn connect(url: &str) -> Session {
    let wanted = pgdyno_spec::TargetSpec::at(url);
    let target = pgdyno_database::open::existing(&wanted).unwrap().unwrap();
    target.connect().unwrap()
}

fn database(name: &str) -> (String, Session) {
    let url = pgdyno_testkit::postgres().address().url();
    admin::run(&mut connect(&url), &format!("CREATE DATABASE {name}")).unwrap();
    let url = url.replace("@/postgres?", &format!("@/{name}?"));
    let session = connect(&url);
    (url, session)
}

fn load(session: &mut Session) -> Pack {
    let pack = resolve::pack("tpcb").unwrap();
    let mut progress = Silent;
    let mut watch = loader::Watch {
        endpoints: &[],
        progress: &mut progress,
        interrupts: None,
        others: None,
    };
    loader::ensure_loaded(session, &pack, &Params::default(), &mut watch).unwrap();
    // A backend tells what it has written once a second at most: what it tells of the load after
    // the load's vacuum would look like a change.
    std::thread::sleep(Duration::from_millis(1100));
    admin::run(session, "SELECT 1").unwrap();
    admin::run(session, "VACUUM ANALYZE").unwrap();
    pack
}

fn quick() -> Reset {
    Reset {
        settle: Duration::ZERO,
        ..Reset::default()
    }
}

fn tidied(session: &mut Session, pack: Option<&Pack>, wanted: &Reset) -> Record {
    let mut written = BTreeSet::new();
    let interrupts = Interrupts::install().unwrap();
    tidy(
        (session, None),
        &POSTGRESQL,
        pack,
        wanted,
        &mut written,
        (interrupts, 0),
    )
    .unwrap()
}

fn steps(record: &Record) -> Vec<(&str, Option<&str>, bool)> {
    let steps = record.steps.iter();
    steps
        .map(|s| (s.what, s.table.as_deref(), s.not_done.is_none()))
        .collect()
}

const GROW: &str =
    "INSERT INTO pgbench_history SELECT 1, 1, 1, 1, now(), '' FROM generate_series(1, 50)";

fn history(session: &mut Session) -> Option<String> {
    admin::value(session, "SELECT count(*) FROM pgbench_history").unwrap()
}

#[test]
fn what_the_workload_grew_is_emptied_and_what_changed_is_vacuumed() {
    let (_, mut session) = database("tidy_own");
    let pack = load(&mut session);
    let clean = tidied(&mut session, Some(&pack), &quick());
    assert_eq!(
        steps(&clean),
        [("checkpoint", None, true)],
        "nothing to do after a load"
    );
    admin::run(&mut session, GROW).unwrap();
    let mut written = BTreeSet::from(["pgbench_tellers".to_owned()]);
    let wanted = Reset {
        settle: Duration::from_millis(20),
        ..quick()
    };
    let interrupts = Interrupts::install().unwrap();
    let record = tidy(
        (&mut session, None),
        &POSTGRESQL,
        Some(&pack),
        &wanted,
        &mut written,
        (interrupts, 0),
    )
    .unwrap();
    assert_eq!(history(&mut session).as_deref(), Some("0"));
    let done = steps(&record);
    for step in [
        ("truncate", Some("pgbench_history"), true),
        ("vacuum", Some("pgbench_history"), true),
        ("vacuum", Some("pgbench_tellers"), true),
        ("checkpoint", None, true),
        ("settle", None, true),
    ] {
        assert!(done.contains(&step), "no {step:?} in {done:?}");
    }
    assert!(
        !done.contains(&("vacuum", Some("pgbench_accounts"), true)),
        "{done:?}"
    );
    assert!(written.is_empty() && record.elapsed_s >= 0.02);
}

#[test]
fn tables_of_others_are_emptied_only_when_they_are_named() {
    let (_, mut session) = database("tidy_others");
    let pack = load(&mut session);
    admin::run(
        &mut session,
        "COMMENT ON TABLE pgbench_history IS 'mine now'",
    )
    .unwrap();
    admin::run(&mut session, GROW).unwrap();
    let wanted = Reset {
        vacuum: Vacuum::Never,
        checkpoint: false,
        ..quick()
    };
    let record = tidied(&mut session, Some(&pack), &wanted);
    assert_eq!(steps(&record), []);
    assert_eq!(history(&mut session).as_deref(), Some("50"));
    let named = Reset {
        truncate: vec!["public.pgbench_history".to_owned(), "nowhere".to_owned()],
        ..wanted
    };
    let record = tidied(&mut session, Some(&pack), &named);
    assert_eq!(
        steps(&record),
        [
            ("truncate", Some("nowhere"), false),
            ("truncate", Some("pgbench_history"), true)
        ]
    );
    assert_eq!(history(&mut session).as_deref(), Some("0"));
    let gaps: Vec<_> = record.gaps().collect();
    assert_eq!(
        gaps,
        ["truncate nowhere was not done: there is no such table"]
    );
}

#[test]
fn a_server_that_takes_no_writes_is_left_alone() {
    let (url, mut session) = database("tidy_read_only");
    let pack = load(&mut session);
    admin::run(&mut session, GROW).unwrap();
    let sql = "ALTER DATABASE tidy_read_only SET default_transaction_read_only = on";
    admin::run(&mut session, sql).unwrap();
    let mut session = connect(&url);
    let record = tidied(&mut session, Some(&pack), &Reset::default());
    assert_eq!(
        record.left_alone.as_deref(),
        Some("the session is read only")
    );
    assert_eq!(steps(&record), []);
    assert_eq!(history(&mut session).as_deref(), Some("50"));
}

#[test]
fn what_the_role_may_not_do_is_recorded_and_nothing_waits_for_it() {
    let (url, mut session) = database("tidy_role");
    let pack = load(&mut session);
    let sql =
        "CREATE ROLE tidy_role LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO tidy_role";
    admin::run(&mut session, sql).unwrap();
    let user = format!("{}&user=tidy_role", url);
    let mut plain = connect(&user);
    let who = admin::value(&mut plain, "SELECT current_user").unwrap();
    assert_eq!(who.as_deref(), Some("tidy_role"));
    let wanted = Reset {
        vacuum: Vacuum::Always,
        ..quick()
    };
    let record = tidied(&mut plain, Some(&pack), &wanted);
    assert!(
        record.steps.len() == 5 && record.steps.iter().all(|s| s.not_done.is_some()),
        "{record:?}"
    );
    let gaps: Vec<_> = record.gaps().collect();
    assert!(
        gaps[4].contains("checkpoint was not done") && gaps[4].contains("42501"),
        "{gaps:?}"
    );
    // In the words of 16 and later, or of those before.
    let refused = gaps[0].strip_prefix("vacuum pgbench_branches was not done: ");
    assert!(
        refused.is_some_and(|why| why.starts_with("permission denied")
            || why.ends_with("only table or database owner can vacuum it")),
        "{gaps:?}"
    );

    // A checkpoint that takes longer than it may is given up.
    let dirty = "CREATE TABLE dirty AS SELECT generate_series(1, 300000) AS x";
    admin::run(&mut session, dirty).unwrap();
    let impatient = Reset {
        checkpoint_timeout: Duration::from_millis(1),
        vacuum: Vacuum::Never,
        ..quick()
    };
    let record = tidied(&mut session, None, &impatient);
    assert!(
        record.steps[0]
            .not_done
            .as_ref()
            .is_some_and(|why| why.contains("57014")),
        "{record:?}"
    );
    assert_eq!(
        admin::value(&mut session, "SHOW statement_timeout")
            .unwrap()
            .as_deref(),
        Some("0")
    );
}
