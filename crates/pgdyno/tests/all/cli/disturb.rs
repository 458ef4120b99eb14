//! Trials that commands disturb, and `pgdyno lab disturb`, on a real PostgreSQL.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use pgdyno_platform::child::Signal;

use crate::child::Running;
use crate::cli::store::Notebook;
use crate::support::{Database, document_of, pgdyno, ran};

/// A transaction of a millisecond or so.
fn script(notebook: &Notebook, name: &str, text: &str) -> String {
    let path = notebook.beside(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Ends the sessions of all clients, by pgdyno itself: psql may not be there.
fn terminate(notebook: &Notebook) -> String {
    let kill = script(
        notebook,
        "kill.sql",
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = \
         current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend';\n",
    );
    by_pgdyno(&kill)
}

fn by_pgdyno(file: &str) -> String {
    let program = env!("CARGO_BIN_EXE_pgdyno");
    format!("{program} run {file} -t 1 --observe none --no-store --quiet --url \"$PGDYNO_URL\"")
}

fn json(notebook: &Notebook, args: &[&str]) -> Value {
    let shown = ran(&mut notebook.command(args)).expect(0, &[]);
    serde_json::from_str(&shown.stdout).unwrap()
}

fn waits_for(path: &Path) {
    let began = Instant::now();
    while !path.exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn sessions_that_are_ended_under_load_are_seen_and_a_control_has_none_of_it() {
    let db = Database::new("disturb_lab");
    let notebook = Notebook::new();
    let load = script(&notebook, "load.sql", "SELECT 1;\n");
    let command = terminate(&notebook);
    let args = [
        "lab", "disturb", &load, "-c", "4", "-R", "100", "--seed", "7", "--before", "4s",
        "--after", "7s", "--repeat", "1", "--within", "500ms", "--during", &command, "--url",
        &db.url,
    ];
    // What is printed is the same experiment, and says that it runs commands.
    let printed =
        ran(notebook.command(&args).arg("--print")).expect(0, &["[disturb]", "before = "]);
    let file = script(&notebook, "mine.toml", &printed.stdout);
    let plan = ran(&mut notebook.command(&["sweep", &file, "--dry-run"])).expect(0, &["2 trials"]);
    assert!(plan.stdout.contains("control"), "{plan:?}");
    ran(&mut notebook.command(&["sweep", &file]))
        .expect(1, &["commands that disturb", "--allow-shell"]);

    let json_to = format!("--json={}", notebook.beside("lab.json").display());
    let lab = ran(notebook.command(&args).arg(&json_to));
    let lab = lab.expect(
        0,
        &[
            "4 clients, 100 transactions a second",
            "no service s",
            "control 1",
            "too few repeats",
        ],
    );
    let document = std::fs::read(notebook.beside("lab.json")).unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    let target = &document["targets"][0];
    let (disturbed, control) = (&target["repeats"][0], &target["controls"][0]);
    assert!(
        disturbed["counts"] == true && control["counts"] == true,
        "{target}"
    );
    let of = |trial: &Value, name: &str| trial["figures"][name].clone();
    assert!(of(disturbed, "first_error_us").is_u64(), "{disturbed}");
    assert!(of(disturbed, "first_success_us").is_u64(), "{disturbed}");
    assert_eq!(of(disturbed, "limit_us"), 500_000);
    assert_eq!(of(disturbed, "is_back"), true, "{disturbed} {lab:?}");
    assert_eq!(of(disturbed, "metastable"), "no");
    assert_eq!(of(control, "first_error_us"), Value::Null);
    assert_eq!(target["effect"]["is_seen"], Value::Null);
    let phases = disturbed["figures"]["phases"].as_array().unwrap();
    let names: Vec<_> = phases.iter().map(|phase| phase["name"].clone()).collect();
    assert_eq!(names, ["before", "during", "after"]);
    // About 100 a second were due, for seven seconds.
    let due = of(disturbed, "due").as_u64().unwrap();
    assert!((500..900).contains(&due), "{due}");

    let trial = disturbed["trial"].to_string();
    let shown = json(&notebook, &["show", &trial, "--json"]);
    let ran_command = &shown["disturbed"]["commands"][0];
    assert_eq!(ran_command["exit_code"], 0, "{shown}");
    assert_eq!(shown["disturbed"]["figures"], disturbed["figures"]);
    assert!(shown["disturbed"]["began_us"].as_u64() >= Some(4_000_000));
    ran(&mut notebook.command(&["show", &trial])).expect(
        0,
        &["disturbed ", "went well", "--during=", "metastable: no"],
    );
    let events = notebook.value("SELECT count(*) FROM event WHERE kind = 'disturbance'");
    assert_eq!(events, "1");
    let page = notebook.beside("page.html");
    let page_to = page.display().to_string();
    ran(&mut notebook.command(&["report", "lab-disturb", "-o", &page_to])).expect(0, &[]);
    let page = document_of(&page);
    assert_eq!(page["disturb_lab"]["targets"], document["targets"]);
    // One run says nothing of the next.
    assert_eq!(page["answer"]["state"], "not-known");
    let question = page["answer"]["question"].as_str().unwrap();
    assert!(
        question.starts_with("What was asked: what does this disturbance do"),
        "{question}"
    );
}

#[test]
fn a_command_that_fails_or_never_ends_is_said_and_what_was_done_is_undone() {
    let db = Database::new("disturb_fails");
    let notebook = Notebook::new();
    let load = script(&notebook, "load.sql", "SELECT 1;\n");
    let back = notebook.beside("back");
    let undo = format!("touch {}", back.display());
    let run = |during: &str| {
        let args = [
            "run", &load, "-c", "2", "-R", "50", "--before", "1s", "--after", "1s", "--during",
            during, "--undo", &undo, "--url", &db.url,
        ];
        ran(&mut notebook.command(&args))
    };
    run("echo no such pod $PGDATABASE >&2; PGPASSWORD=s3cret exit 3").expect(
        1,
        &[
            "FAILED",
            "ended with exit code 3 (no such pod disturb_fails)",
            "!! a command of the disturbance failed",
        ],
    );
    assert!(back.exists());
    std::fs::remove_file(&back).unwrap();
    run("sleep 600").expect(1, &["still ran when the trial was over, and was ended"]);
    assert!(back.exists());
    let state = |number: u32| {
        notebook.value(&format!(
            "SELECT state, reason FROM trial WHERE number = {number}"
        ))
    };
    let states = [state(1), state(2)];
    assert!(
        states[0].starts_with("partial|`echo no such pod"),
        "{states:?}"
    );
    assert!(
        states[1].starts_with("partial|`sleep 600` still ran"),
        "{states:?}"
    );
    let kept = notebook.value("SELECT count(*) FROM event WHERE text LIKE '%s3cret%'");
    let spec = notebook.value("SELECT count(*) FROM trial WHERE spec LIKE '%s3cret%'");
    let command = notebook.value("SELECT count(*) FROM trial WHERE command LIKE '%s3cret%'");
    assert_eq!((kept, spec, command), ("0".into(), "0".into(), "0".into()));
    // Its secret is not kept, so that it cannot be run again.
    ran(&mut notebook.command(&["rerun", "1"])).expect(2, &["type it again"]);
}

#[test]
fn ctrl_c_undoes_what_was_done() {
    let db = Database::new("disturb_interrupted");
    let notebook = Notebook::new();
    let load = script(&notebook, "load.sql", "SELECT 1;\n");
    let (there, back) = (notebook.beside("there"), notebook.beside("back"));
    let during = format!("touch {}; sleep 600", there.display());
    let undo = format!("touch {}", back.display());
    let args = [
        "run", &load, "-c", "2", "-R", "50", "--before", "100ms", "--after", "10m", "--during",
        &during, "--undo", &undo, "--url", &db.url,
    ];
    let running = Running::start(&mut notebook.command(&args));
    waits_for(&there);
    running.signal(Signal::Interrupt);
    running.ended().expect(130, &[]);
    assert!(back.exists());
}

#[test]
fn a_server_without_a_second_endpoint_that_is_stopped_is_lost_and_the_undo_still_runs() {
    let server = pgdyno_testkit::postgres_with(&[]);
    let db = Database::on(&server, "disturb_lost");
    let notebook = Notebook::new();
    let load = script(&notebook, "load.sql", "SELECT 1;\n");
    let back = notebook.beside("back");
    let undo = format!("touch {}", back.display());
    let stop = "kill -INT $(head -1 \"$PGDYNO_DATA/postmaster.pid\")";
    let args = [
        "run",
        &load,
        "-c",
        "2",
        "-R",
        "100",
        "--reconnect",
        "--continue-on-error",
        "--before",
        "4s",
        "--after",
        "5s",
        "--within",
        "500ms",
        "--during",
        stop,
        "--undo",
        &undo,
        "--url",
        &db.url,
    ];
    ran(&mut notebook.command(&args)).expect(
        3,
        &[
            "SERVER LOST",
            "metastable: cannot tell: clients were without a server",
        ],
    );
    assert!(back.exists());
    let shown = json(&notebook, &["show", "1", "--json"]);
    let figures = &shown["disturbed"]["figures"];
    assert_eq!(figures["is_back"], false, "{figures}");
    assert!(figures["missed"].as_u64() > Some(200), "{figures}");
}

/// A role that may not log in any more has no server; `--undo` gives it back, after the trial.
#[test]
fn a_laboratory_whose_trials_lose_the_server_goes_on_to_its_end() {
    let db = Database::new("disturb_lost_lab");
    db.sql("CREATE ROLE lost_in_lab LOGIN");
    let notebook = Notebook::new();
    let load = script(&notebook, "load.sql", "SELECT 1;\n");
    let away = script(
        &notebook,
        "away.sql",
        "ALTER ROLE lost_in_lab NOLOGIN;\n\
         SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'lost_in_lab';\n",
    );
    let back = script(&notebook, "back.sql", "ALTER ROLE lost_in_lab LOGIN;\n");
    let by_owner =
        |file: &str| by_pgdyno(file).replace("\"$PGDYNO_URL\"", &format!("'{}'", db.url));
    let (away, back) = (by_owner(&away), by_owner(&back));
    let url = db.url.replacen("postgres@", "lost_in_lab@", 1);
    let args = [
        "lab",
        "disturb",
        &load,
        "-c",
        "2",
        "-R",
        "100",
        "--before",
        "4s",
        "--after",
        "3s",
        "--repeat",
        "2",
        "--no-controls",
        "--no-receipts",
        "--observe",
        "none",
        "--within",
        "500ms",
        "--during",
        &away,
        "--undo",
        &back,
        "--url",
        &url,
        "--json",
    ];
    let lab = ran(&mut notebook.command(&args)).expect(0, &[]);
    let document: Value = serde_json::from_str(&lab.stdout).unwrap();
    let repeats = document["targets"][0]["repeats"].as_array().unwrap();
    assert_eq!(repeats.len(), 2, "{document}");
    for repeat in repeats {
        assert_eq!(repeat["counts"], true, "{repeat}");
        let figures = &repeat["figures"];
        assert_eq!(figures["is_back"], false, "{figures}");
        assert!(figures["missed"].as_u64() > Some(200), "{figures}");
        let why = figures["back_us"]["unknown"].as_str().unwrap();
        assert!(why.contains("until then it was disturbed"), "{why}");
        let names: Vec<_> = { figures["phases"].as_array().unwrap().iter() }
            .map(|phase| phase["name"].clone())
            .collect();
        assert_eq!(names, ["before", "during"], "{figures}");
        let trial = repeat["trial"].to_string();
        let shown = json(&notebook, &["show", &trial, "--json"]);
        let figures = &shown["disturbed"]["figures"];
        assert_eq!(figures["metastable"], "cannot_tell", "{figures}");
    }
}

#[test]
fn what_cannot_be_disturbed_is_refused_before_anything_is_run() {
    let nowhere = ["--url", "host=127.0.0.1 port=1 user=x", "--no-store"];
    let lab = |args: &[&str], texts: &[&str]| {
        let args: Vec<&str> = ["lab", "disturb", "tpcb"]
            .iter()
            .chain(args)
            .copied()
            .collect();
        ran(pgdyno(&args).args(&nowhere[..2])).expect(2, texts);
    };
    let run = |args: &[&str], texts: &[&str]| {
        let args: Vec<&str> = ["run", "tpcb"].iter().chain(args).copied().collect();
        ran(pgdyno(&args).args(nowhere)).expect(2, texts);
    };
    lab(
        &["--during", "true", "-R", "50%..90%/60s"],
        &["shares that move", "of EXPERIMENT"],
    );
    run(
        &["-R", "50%", "-T", "5"],
        &["does not know what 50% is a share of", "50% of EXPERIMENT"],
    );
    lab(&["-R", "9"], &["nothing is to disturb the trial"]);
    lab(
        &["-R", "9", "--during", "x", "--control"],
        &["runs its controls itself"],
    );
    lab(
        &["-R", "9", "--during", "x", "--generators", "2"],
        &["several generators leave no receipts", "--no-receipts"],
    );
    lab(
        &[
            "-R",
            "9",
            "--during",
            "x",
            "--against",
            "host=b password=s3cret",
        ],
        &["leave their passwords out"],
    );
    run(&["--during", "true", "-T", "5"], &["leave --duration out"]);
    run(
        &["--during", "true", "-t", "5"],
        &["leave --transactions out"],
    );
    run(&["--during", "true", "--warmup", "auto"], &["--warmup 10s"]);
    run(&["--at", "soon true"], &["a time and a command"]);
    run(&["--undo", "true"], &["nothing is to disturb the trial"]);
}

#[test]
fn without_a_rate_half_of_what_clients_get_at_most_is_offered() {
    let db = Database::new("disturb_share");
    let notebook = Notebook::new();
    let load = script(&notebook, "load.sql", "SELECT pg_sleep(0.02);\n");
    let json_to = format!("--json={}", notebook.beside("lab.json").display());
    let mut lab = notebook.command(&["lab", "disturb", &load, "-c", "2", "--during", "true"]);
    lab.args([
        "--before",
        "3s",
        "--after",
        "2s",
        "--repeat",
        "1",
        "--no-controls",
    ]);
    // The maximum is that of transactions that leave receipts, as the disturbed ones do.
    ran(lab.args(["--url", &db.url, &json_to])).expect(0, &["No lost writes"]);
    let document = std::fs::read(notebook.beside("lab.json")).unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    let repeats = document["targets"][0]["repeats"].as_array().unwrap();
    assert_eq!(repeats.len(), 1, "the maximum is no repeat: {document:#}");
    let trials = json(
        &notebook,
        &[
            "sql",
            "--json",
            "SELECT goodput_per_s FROM result ORDER BY number",
        ],
    );
    let goodput = |trial: usize| trials[trial]["goodput_per_s"].as_f64().unwrap();
    let (maximum, offered) = (goodput(0), goodput(1));
    // 2 clients at 20 ms each; a Poisson schedule of a few seconds varies by some percent.
    assert!((10.0..=100.0).contains(&maximum), "{trials}");
    assert!((0.3..0.7).contains(&(offered / maximum)), "{trials}");
}

#[test]
fn two_databases_are_disturbed_by_turns_and_commands_tell_them_apart() {
    let (one, two) = (Database::new("disturb_one"), Database::new("disturb_two"));
    let notebook = Notebook::new();
    let load = script(&notebook, "load.sql", "SELECT 1;\n");
    let json_to = format!("--json={}", notebook.beside("lab.json").display());
    let args = [
        "lab",
        "disturb",
        &load,
        "-c",
        "2",
        "-R",
        "50",
        "--before",
        "4s",
        "--after",
        "2s",
        "--repeat",
        "1",
        "--no-controls",
        "--during",
        "echo on $PGDATABASE",
        "--url",
        &one.url,
        "--against",
        &two.url,
        &json_to,
    ];
    ran(&mut notebook.command(&args)).expect(0, &["there are no controls"]);
    let document = std::fs::read(notebook.beside("lab.json")).unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    let targets = document["targets"].as_array().unwrap();
    assert_eq!(targets.len(), 2, "{document}");
    for (target, name) in targets.iter().zip(["disturb_one", "disturb_two"]) {
        assert!(target["title"].as_str().unwrap().contains(name), "{target}");
        let trial = target["repeats"][0]["trial"].to_string();
        let shown = json(&notebook, &["show", &trial, "--json"]);
        let output = &shown["disturbed"]["commands"][0]["output"];
        assert_eq!(*output, format!("on {name}\n"));
    }
}

#[test]
#[ignore = "four minutes: make test-long PART=disturb"]
fn twenty_controls_rarely_look_disturbed() {
    let db = Database::new("disturb_controls");
    let notebook = Notebook::new();
    let load = script(&notebook, "load.sql", "SELECT pg_sleep(0.001);\n");
    for _ in 0..20 {
        let args = [
            "run",
            &load,
            "-c",
            "8",
            "-R",
            "100",
            "--during",
            "true",
            "--control",
            "--before",
            "4s",
            "--after",
            "8s",
            "--url",
            &db.url,
        ];
        ran(&mut notebook.command(&args)).expect(0, &["a control"]);
    }
    let figures = |number: u32| {
        let shown = json(&notebook, &["show", &number.to_string(), "--json"]);
        shown["disturbed"]["figures"].clone()
    };
    let all: Vec<Value> = (1..=20).map(figures).collect();
    let looks = |it: &&Value| it["back_us"] != 0 || it["no_service_us"] != 0;
    let disturbed: Vec<&Value> = all.iter().filter(looks).collect();
    for it in &disturbed {
        println!(
            "back {}, below {}, no service {}, missed {} of {} within {}",
            it["back_us"],
            it["below_us"],
            it["no_service_us"],
            it["missed"],
            it["due"],
            it["limit_us"]
        );
    }
    println!("{} of 20 controls look disturbed", disturbed.len());
    assert!(disturbed.len() <= 3, "{disturbed:?}");
}

/// A resource that one transaction has at a time, and that is wasted on those that come too late: they
/// are tried again. Tried again at once they waste all of it.
const POOL: &str = "\
CREATE FUNCTION work() RETURNS void LANGUAGE plpgsql AS $$
DECLARE began timestamptz := clock_timestamp();
BEGIN
  PERFORM pg_advisory_xact_lock(1);
  PERFORM pg_sleep(0.01);
  IF clock_timestamp() - began > interval '150 ms' THEN
    RAISE EXCEPTION 'too late' USING ERRCODE = '40001';
  END IF;
END $$";

#[test]
fn retries_without_pauses_stay_down_and_without_retries_it_recovers() {
    let figures = |name: &str, policy: &[&str]| {
        let db = Database::new(name);
        db.sql(POOL);
        let notebook = Notebook::new();
        let load = script(&notebook, "load.sql", "SELECT work();\n");
        let hold = "SELECT pg_advisory_lock(1);\nSELECT pg_sleep(2);\n";
        let hold = by_pgdyno(&script(&notebook, "hold.sql", hold));
        let args = [
            "run",
            &load,
            "-c",
            "32",
            "-R",
            "30",
            "--continue-on-error",
            "--seed",
            "3",
            "--before",
            "4s",
            "--for",
            "3s",
            "--after",
            "13s",
            "--within",
            "400ms",
            "--during",
            &hold,
            "--url",
            &db.url,
        ];
        ran(notebook.command(&args).args(policy)).expect(0, &[]);
        let shown = json(&notebook, &["show", "1", "--json"]);
        shown["disturbed"]["figures"].clone()
    };
    std::thread::scope(|scope| {
        let stays = scope.spawn(|| {
            figures(
                "disturb_metastable",
                &["--retry", "restart", "--max-tries", "0"],
            )
        });
        let recovers = figures("disturb_recovers", &["--retry", "none"]);
        let stays = stays.join().unwrap();
        assert_eq!(stays["metastable"], "yes", "{stays}");
        assert_eq!(stays["is_back"], false, "{stays}");
        assert_eq!(recovers["metastable"], "no", "{recovers}");
        assert_eq!(recovers["is_back"], true, "{recovers}");
        assert!(recovers["back_us"].as_u64() > Some(1_000_000), "{recovers}");
    });
}
