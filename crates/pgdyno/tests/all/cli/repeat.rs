//! `pgdyno run --repeat`.

use crate::support::{Database, pgdyno, ran};

#[test]
fn a_trial_is_repeated_as_an_experiment_with_a_spread() {
    let db = Database::new("repeated");
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("one.sql"), "\\set a :b\nSELECT :a;\n").unwrap();
    let here = |args: &[&str]| {
        let mut command = pgdyno(args);
        command.env(
            "PGDYNO_STORE",
            crate::support::notebook::at(&dir.path().join("n.sqlite")),
        );
        command.current_dir(dir.path());
        command
    };
    let run = [
        "run",
        "one.sql@2",
        "-c",
        "2",
        "-t",
        "40",
        "--param",
        "b=3",
        "--repeat",
        "3",
        "--tag",
        "x",
        "--url",
        &db.url,
    ];
    ran(&mut here(&run)).expect(0, &["3 of 3 trials complete"]);
    ran(&mut here(&["show", "--experiment", "run-one"]))
        .expect(0, &["experiment run-one, ", "( ) range over the repeats"]);
    let trials = "SELECT count(*) AS n, sum(committed) AS committed, count(DISTINCT experiment) AS experiments \
                  FROM trial t WHERE EXISTS (SELECT 1 FROM tag WHERE tag.trial = t.number AND tag = 'x')";
    let rows = ran(&mut here(&["sql", "--csv", trials])).expect(0, &[]);
    assert_eq!(rows.stdout, "n,committed,experiments\n3,240,1\n");
    for other in [
        &["--no-store"][..],
        &["--note", "n"],
        &["--history", "h.edn"],
        &["--during", "true"],
    ] {
        let run = [&["run", "one.sql", "--repeat", "2"], other].concat();
        ran(&mut here(&run)).expect(2, &["cannot be used with"]);
    }
    ran(&mut here(&["run", "one.sql", "--repeat", "0"])).expect(2, &["a whole number from 1"]);
}
