//! Retry policies from the command line to the result and the notebook.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Database, Ran, pgdyno, ran};

/// A function that fails with a serialization failure but for every third call; sequences do not
/// roll back.
const FLAKY: &str = "
    CREATE SEQUENCE calls;
    CREATE FUNCTION flaky() RETURNS int LANGUAGE plpgsql AS $$
    BEGIN
        IF nextval('calls') % 3 <> 0 THEN
            RAISE 'not now' USING errcode = 'serialization_failure';
        END IF;
        RETURN 1;
    END $$";

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Files {
        Files(tempfile::tempdir().expect("temporary directory"))
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().expect("below")).expect("made");
        fs::write(&path, text).expect("written");
        path.to_str().expect("ASCII").to_owned()
    }

    fn store(&self) -> PathBuf {
        crate::support::notebook::at(&self.0.path().join("notebook.sqlite"))
    }
}

fn run(store: &Path, db: &Database, args: &[&str]) -> Ran {
    let mut command: Command = pgdyno(&["run"]);
    command.env("PGDYNO_STORE", store);
    ran(command.args(args).args(["--url", &db.url]))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn what_a_policy_cost_is_in_the_result_and_in_the_notebook() {
    let db = Database::new("retry_policy");
    db.sql(FLAKY);
    let files = Files::new();
    let script = files.write("s.sql", "begin;\nselect flaky();\nend;\n");
    let policy = [
        script.as_str(),
        "-t",
        "5",
        "--retry",
        "restart",
        "--backoff",
        "exponential=2ms,3ms,none",
        "--retry-deadline",
        "10s",
        "-v",
    ];
    let result = run(&files.store(), &db, &policy).expect(
        0,
        &[
            "retry restart up to 10 tries, backoff exponential=2ms,3ms,none, no try after 10 s",
            "retries      10 of 5 transactions (2.00 per committed one)",
            "thrown away  10 tries: ",
            "57.1 % of the statements (20)",
            "last try alone",
            "serialization 10 tries by serialization failure [40001], 10 of them retried\n    \
             ERROR:  not now",
        ],
    );
    let mut show = pgdyno(&["show", "1"]);
    let shown = ran(show.env("PGDYNO_STORE", files.store())).expect(0, &[]);
    let figures = |text: &str| {
        let from = text.find("tps  ").expect("there");
        let to = text.find("statement, ms").expect("there");
        text[from..to].to_owned()
    };
    assert_eq!(figures(&shown.stdout), figures(&result.stdout));

    let mut show = pgdyno(&["show", "1", "--json"]);
    let shown = ran(show.env("PGDYNO_STORE", files.store())).expect(0, &[]);
    let shown = json(&shown.stdout);
    let trial = &shown["trial"];
    assert_eq!(
        (&trial["retry"], &trial["max_tries"]),
        (&"restart".into(), &10.into())
    );
    assert_eq!(trial["backoff"], "exponential=2ms,3ms,none");
    assert_eq!(trial["retry_deadline_us"], 10_000_000);
    let measured = &shown["measured"];
    let work = &measured["work"];
    assert_eq!(
        (&work["lost_tries"], &work["lost_statements"]),
        (&10.into(), &20.into())
    );
    assert_eq!(
        (&work["kept_statements"], &work["given_up"]),
        (&15.into(), &0.into())
    );
    // Five transactions with pauses of 2 and 3 ms each.
    assert!(work["backoff_us"].as_u64() >= Some(25_000), "{work}");
    assert_eq!(measured["attempt"]["count"], 5);
    assert!(measured["attempt"]["mean_us"].as_f64() < measured["service"]["mean_us"].as_f64());
    let reason = &shown["reasons"][0];
    assert_eq!(
        (&reason["class"], &reason["tries"]),
        (&"serialization".into(), &10.into())
    );
    assert!(
        reason["message"]
            .as_str()
            .expect("text")
            .starts_with("ERROR:  not now")
    );
    // Every failed try was a rollback to the server.
    let counted = &shown["server_counters"]["counted"];
    assert_eq!(counted["xact_rollback"], 10, "{}", shown["server_counters"]);
}

#[test]
fn deadlocks_are_counted_by_client_and_server_alike() {
    let db = Database::new("retry_deadlocks");
    db.sql(
        "CREATE TABLE dead (id int PRIMARY KEY, n int);
         INSERT INTO dead VALUES (1, 0), (2, 0);
         ALTER DATABASE retry_deadlocks SET deadlock_timeout = '10ms'",
    );
    let files = Files::new();
    let script = files.write(
        "s.sql",
        "\\set first 1 + :client_id % 2\n\\set second 3 - :first\nbegin;\n\
         update dead set n = n + 1 where id = :first;\n\\sleep 3 ms\n\
         update dead set n = n + 1 where id = :second;\nend;\n",
    );
    let args = [
        &script, "-c", "2", "-t", "15", "--retry", "restart", "--json",
    ];
    let result = run(&files.store(), &db, &args).expect(0, &[]);
    let result = json(&result.stdout);
    let reason = &result["reasons"][0];
    assert_eq!(reason["reason"], "deadlock detected");
    let counters = &result["server_counters"];
    assert_eq!(
        counters["counted"]["deadlocks"], reason["tries"],
        "{counters}"
    );
}

#[test]
fn the_servers_own_retries_come_from_a_packs_procedure() {
    let db = Database::new("retry_procedure");
    db.sql(
        "CREATE SEQUENCE own_tries;
         CREATE PROCEDURE tries_itself(INOUT retries int) LANGUAGE plpgsql AS $$
         BEGIN retries := nextval('own_tries') % 3; END $$",
    );
    let files = Files::new();
    let pack = |retries: &str| {
        files.write("mine/call.sql", "CALL tries_itself(0) \\gset\n");
        let pack = files.write(
            "mine/pack.toml",
            &format!(
                "name = \"mine\"\nsummary = \"A procedure that retries\"\n\
                 [[script]]\nname = \"call\"\nfile = \"call.sql\"\nretries = \"{retries}\"\n"
            ),
        );
        pack.replace("/pack.toml", "")
    };
    let result = run(&files.store(), &db, &[&pack("retries"), "-t", "6"]).expect(
        0,
        &["by server 6 retries made by the server, as counted by the scripts (1.00 per committed one)"],
    );
    assert!(!result.stdout.contains("\nretries "), "{}", result.stdout);
    let folder = pack("trys");
    run(&files.store(), &db, &[&folder, "-t", "1"]).expect(
        1,
        &["the variable trys should hold the number of the server's retries, but is not a count"],
    );
    let folder = pack("not a name");
    run(&files.store(), &db, &[&folder, "-t", "1"]).expect(
        1,
        &["script \"call\": retries = \"not a name\": expected a variable name"],
    );
}

#[test]
fn what_cannot_be_done_here_is_refused_with_the_reason() {
    let db = Database::new("retry_refused");
    let files = Files::new();
    let block = files.write("block.sql", "begin;\nselect 1;\nend;\n");
    let bare = files.write("bare.sql", "select 1;\n");
    for (args, code, why) in [
        (
            &[&block, "--retry", "savepoint"][..],
            2,
            "a savepoint keeps the transaction's snapshot, with which the same conflict comes again",
        ),
        (
            &[&bare, "--retry", "savepoint"],
            1,
            "this statement is outside of it",
        ),
        (
            &[&block, "--retry", "savepoint", "--inject-retries"],
            2,
            "--retry savepoint: PostgreSQL has no such protocol",
        ),
        (
            &[&block, "--retry", "restart", "--inject-retries"],
            2,
            "--inject-retries needs --retry savepoint",
        ),
        (
            &[&block, "--retry", "none", "--max-tries", "3"],
            2,
            "--retry none allows one try",
        ),
        (
            &[&block, "--backoff", "exponential"],
            2,
            "add --retry restart",
        ),
        (
            &[&block, "--retry-deadline", "1s"],
            2,
            "add --retry restart",
        ),
        (
            &[&block, "--retry", "restart", "--backoff", "often"],
            2,
            "exponential=BASE,CAP,JITTER",
        ),
    ] {
        run(&files.store(), &db, args).expect(code, &[why]);
    }
}
