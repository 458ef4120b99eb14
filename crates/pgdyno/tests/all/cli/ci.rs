//! `pgdyno ci` on real servers: two schemas of which one is slow, both at once, and what it refuses.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pgdyno_platform::affinity;
use pgdyno_platform::child::Signal;
use serde_json::Value;

use crate::child::{Running, wait_until};
use crate::support::{Database, Ran, notebook, pgdyno, ran};

/// A folder with a workload that calls a function, and schemas that make it.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("call.sql", "SELECT work();\n");
        for (name, milliseconds) in [("fast", 1), ("same", 1), ("slow", 20)] {
            let text = format!(
                "CREATE FUNCTION work() RETURNS void LANGUAGE sql AS 'SELECT pg_sleep({milliseconds} / 1000.0)';\n"
            );
            folder.write(&format!("{name}.sql"), &text);
        }
        folder
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    fn store(&self) -> PathBuf {
        notebook::at(&self.path().join("notebook.sqlite"))
    }

    fn command(&self, args: &[&str]) -> Command {
        let bindir = pgdyno_testkit::installation().bindir.display().to_string();
        let mut command = pgdyno(args);
        command
            .current_dir(self.path())
            .env("PGDYNO_STORE", self.store())
            .env("PGDYNO_TEST_BINDIR", bindir);
        command
    }

    fn pgdyno(&self, args: &[&str]) -> Ran {
        ran(&mut self.command(args))
    }

    /// Short trials of the script, on the tests' own programs.
    fn ci(&self, args: &[&str]) -> Ran {
        let bindir = pgdyno_testkit::installation().bindir.display().to_string();
        let short = ["ci", "--workload", "call.sql", "-T", "0.2", "--warmup", "0"];
        let own = ["--pg-bindir", &bindir, "--pg-set", "fsync=off"];
        self.pgdyno(&[&short[..], &own, args].concat())
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_slow_schema_fails_in_every_form() {
    let folder = Folder::new();
    let ran = folder.ci(&[
        "--base",
        "fast.sql",
        "--head",
        "slow.sql",
        "--blocks",
        "8",
        "--seed",
        "1",
        "--fail-unless",
        "goodput > -5%",
        "--markdown",
        "comment.md",
        "--junit",
        "junit.xml",
        "--json=ci.json",
    ]);
    ran.expect(
        1,
        &[
            "fail: --fail-unless 'goodput > -5%'",
            "A base fast.sql",
            "by turns",
            "7 blocks",
        ],
    );
    assert!(folder.read("comment.md").starts_with("### ❌ pgdyno: fail"));
    assert!(folder.read("junit.xml").contains("failures=\"1\""));
    let document = json(&folder.read("ci.json"));
    assert_eq!(document["answer"], "failed");
    assert_eq!(document["base"]["trials"].as_array().unwrap().len(), 14);
    assert!(
        document["figures"][0]["change"].as_f64().unwrap() < -0.5,
        "{document}"
    );
    assert_eq!(document["seed"], 1);
    // Blocks A B B A or B A A B, kept as one experiment of the notebook.
    let order = "SELECT point ->> 'name' FROM trial ORDER BY number";
    let order = folder
        .pgdyno(&["sql", "--csv", order])
        .expect(0, &[])
        .stdout;
    let order: Vec<&str> = order.lines().skip(1).collect();
    let there = ["base", "head", "head", "base"];
    let (first, others): (Vec<&[&str]>, Vec<&[&str]>) =
        order.chunks(4).partition(|block| *block == there);
    assert!(!first.is_empty() && !others.is_empty(), "drawn: {order:?}");
    let back = ["head", "base", "base", "head"];
    assert!(others.iter().all(|block| *block == back), "{order:?}");
    // The same trials, compared by hand.
    folder
        .pgdyno(&["compare", "ci:name=base", "ci:name=head"])
        .expect(0, &["lower"]);
}

#[test]
fn both_at_once_on_halves_of_the_cpus() {
    if affinity::allowed().unwrap().len() < 2 {
        pgdyno_testkit::skip!(
            "ci::both_at_once_on_halves_of_the_cpus",
            "there is one CPU only"
        );
    }
    let folder = Folder::new();
    // One block is no answer.
    let duet = [
        "--base",
        "fast.sql",
        "--head",
        "same.sql",
        "--duet",
        "--blocks",
        "1",
        "--json=ci.json",
    ];
    folder
        .ci(&[&duet[..], &["--junit", "junit.xml"]].concat())
        .expect(
            4,
            &[
                "cannot tell: --fail-unless 'goodput > -5%'",
                "duet",
                "to decide: ",
            ],
        );
    assert!(folder.read("junit.xml").contains("errors=\"1\""));
    let document = json(&folder.read("ci.json"));
    assert_eq!(
        (&document["mode"], &document["blocks"]),
        (&"duet".into(), &1.into())
    );
    assert_eq!(document["head"]["trials"].as_array().unwrap().len(), 2);
    // What a CI server is to make of it.
    folder
        .ci(&[&duet[..], &["--cannot-tell", "pass"]].concat())
        .expect(0, &["cannot tell"]);
    folder
        .ci(&[&duet[..], &["--cannot-tell", "fail"]].concat())
        .expect(1, &["cannot tell"]);
}

#[test]
fn cut_short_it_prints_what_it_has_and_what_would_tell() {
    let folder = Folder::new();
    let bindir = pgdyno_testkit::installation().bindir.display().to_string();
    let mut command = folder.command(&["ci", "--workload", "call.sql", "-T", "0.1"]);
    command
        .args([
            "--warmup",
            "0",
            "--pg-bindir",
            &bindir,
            "--pg-set",
            "fsync=off",
        ])
        .args([
            "--base",
            "fast.sql",
            "--head",
            "slow.sql",
            "--time-budget",
            "1h",
        ])
        .args(["--json=ci.json", "--store", "cut.sqlite"]);
    let running = Running::start(&mut command);
    // Four trials a block: eight blocks are enough for an interval.
    wait_until("eight blocks", || {
        let count = "SELECT count(*) FROM trial WHERE state = 'complete'";
        let count = folder.pgdyno(&["sql", "--csv", count, "--store", "cut.sqlite"]);
        let lines = count.stdout.lines().last();
        lines.is_some_and(|count| count.parse().is_ok_and(|count: u32| count >= 32))
    });
    running.signal(Signal::Terminate);
    let ran = running.ended().expect(
        143,
        &[
            "1 block: goodput A ",
            "interrupted, cannot tell so far: --fail-unless 'goodput > -5%'",
            "goodput > -5%: cannot tell: so far ",
            "intervals of these blocks alone, and no verdict",
            "to decide: about 1 block more",
        ],
    );
    let document = json(&folder.read("ci.json"));
    assert_eq!(document["interrupted"], true, "{ran:?}");
    assert_eq!(document["answer"], "cannot-tell");
    let change = &document["figures"][0];
    assert!(change["interval"][1].as_f64().unwrap() < -0.5, "{change}");
}

#[test]
fn servers_that_run_are_measured_where_they_are() {
    let folder = Folder::new();
    let [a, b] = ["ci_a", "ci_b"].map(Database::new);
    for database in [&a, &b] {
        database.sql(&folder.read("fast.sql"));
    }
    let ran = folder.ci(&[
        "--base", &a.url, "--head", &b.url, "--blocks", "1", "--json",
    ]);
    let ran = ran.expect(4, &[]);
    assert_eq!(json(&ran.stdout)["base"]["kind"], "url");
}

#[test]
fn what_cannot_be_judged_is_refused_with_the_way_out() {
    let folder = Folder::new();
    folder.write("broken.sql", "CREATE TABLE (\n");
    folder.write("broken.conf", "shared_buffers = many\n");
    folder.write("empty.conf", "# nothing\n");
    fs::create_dir(folder.path().join("empty")).unwrap();
    let with = |base: &str, head: &str, more: &[&str]| {
        folder.ci(&[&["--base", base, "--head", head], more].concat())
    };
    let gate = with("fast.sql", "same.sql", &["--fail-unless", "goodput >"]);
    gate.expect(2, &["--fail-unless: ", "goodput >"]);
    let gate = with("fast.sql", "same.sql", &["--fail-if", "speed < -5%"]);
    gate.expect(2, &["--fail-if: ", "goodput, p50"]);
    with("fast.sql", "fast.sql", &[]).expect(2, &["--base and --head are both fast.sql", "a copy"]);
    with("none", "fast.sql", &[]).expect(2, &["--base none: there is no such directory or file"]);
    with("fast.sql", "empty", &[])
        .expect(2, &["--head empty: no program postgres in this directory"]);
    with("fast.sql", "empty.conf", &[]).expect(2, &["--head empty.conf:1: there is no setting"]);
    with("host=a", "fast.sql", &["--duet"]).expect(2, &["--base: --duet gives each server half"]);
    let missing = with("fast.sql", "same.sql", &["--workload", "tcpb"]);
    missing.expect(2, &[]);
    let unwritten = with("fast.sql", "same.sql", &["--junit", "none/junit.xml"]);
    unwritten.expect(2, &["could not write none/junit.xml"]);
    // A server that does not start, and a schema with a mistake, are no answer.
    with("broken.conf", "fast.sql", &[]).expect(3, &["--base broken.conf: "]);
    with("fast.sql", "broken.sql", &[]).expect(
        1,
        &[
            "--head broken.sql: the schema has a mistake",
            "syntax error",
        ],
    );
    // Nor is a trial that fails.
    folder.write("none.sql", "CREATE TABLE other ();\n");
    with("fast.sql", "none.sql", &["--blocks", "1"]).expect(1, &["head", "work() does not exist"]);
}

#[test]
fn the_example_runs_unchanged() {
    let folder = Folder::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/ci/ci.sh");
    let bindir = pgdyno_testkit::installation().bindir.display().to_string();
    let mut command = Command::new("sh");
    let given = folder.command(&[]);
    for (name, value) in given.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
        .arg(script)
        .args([
            "fast.sql",
            "same.sql",
            "--workload",
            "call.sql",
            "-T",
            "0.1",
            "--warmup",
            "0",
        ])
        .args(["--blocks", "1", "--pg-bindir", &bindir])
        .current_dir(folder.path())
        .env("PGDYNO", env!("CARGO_BIN_EXE_pgdyno"));
    // One block cannot tell, which the example does not take for a failure.
    ran(&mut command).expect(0, &["cannot tell"]);
    assert!(
        folder
            .read("pgdyno-ci/comment.md")
            .contains("pgdyno: cannot tell")
    );
    assert!(folder.read("pgdyno-ci/junit.xml").contains("<skipped"));
    assert_eq!(
        json(&folder.read("pgdyno-ci/ci.json"))["answer"],
        "cannot-tell"
    );
    // Its workflow calls this script, with options that there are.
    let workflow = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/ci/github-actions.yml"
    );
    let workflow = fs::read_to_string(workflow).unwrap();
    assert!(workflow.contains("ci.sh base/bin head/bin"), "{workflow}");
}

/// Three runs each: a server that does 5 % more work for a transaction is found, the same does not fail. At once, as
/// on a shared machine: by turns minutes are too few there.
#[test]
#[ignore = "make test-long PART=wired"]
fn servers_that_are_slowed_are_found_and_the_same_pass() {
    let folder = Folder::new();
    let real = &pgdyno_testkit::installation().bindir;
    let budget = [
        "--duet",
        "--time-budget",
        "150s",
        "--fail-unless",
        "goodput > -3%",
    ];
    let run = |head: &Path| {
        let (base, head) = (real.display().to_string(), head.display().to_string());
        let args = ["ci", "--base", &base, "--head", &head, "--json"];
        let ran = folder.pgdyno(&[&args[..], &budget].concat());
        let document = json(&ran.stdout);
        println!(
            "{}: {} in {:.0} s, {} blocks: {}",
            head,
            document["answer"],
            document["elapsed_s"].as_f64().unwrap(),
            document["blocks"],
            document["figures"][0]
        );
        document
    };
    let programs = |name: &str, spin: Duration| {
        let place = folder.path().join(name);
        fs::create_dir(&place).unwrap();
        pgdyno_testkit::slow::programs(&place, real, spin)
    };
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let Some(same) = programs("same", Duration::ZERO) else {
        pgdyno_testkit::skip!("ci::servers_that_are_slowed", "there is no C compiler");
    };
    let first = run(&same);
    // A transaction has seven messages; 5 % fewer of them are 1 / 0.95 of the time for each.
    let goodput = first["figures"][0]["base"].as_f64().unwrap();
    let spin = Duration::from_secs_f64((1.0 / 0.95 - 1.0) / goodput / 7.0);
    let slowed = programs("slowed", spin).unwrap();
    let slowed = [run(&slowed), run(&slowed), run(&slowed)];
    let same = [first, run(&same), run(&same)];
    assert!(
        slowed.iter().all(|document| document["answer"] == "failed"),
        "all are found"
    );
    assert!(
        same.iter().all(|document| document["answer"] != "failed"),
        "none fails"
    );
}

/// The same programs twice, while other work takes all CPUs for seconds at a time: by turns one side has it and the
/// other one has not, in a duet both have it.
#[test]
#[ignore = "make test-long PART=duet"]
fn a_duet_is_surer_than_turns_beside_work_that_comes_and_goes() {
    let folder = Folder::new();
    let bindir = pgdyno_testkit::installation().bindir.display().to_string();
    let done = AtomicBool::new(false);
    let widths = thread::scope(|scope| {
        for _ in 0..affinity::allowed().unwrap().len() {
            scope.spawn(|| bursts(&done));
        }
        let widths = [&[][..], &["--duet"]].map(|mode| {
            let args = ["ci", "--base", &bindir, "--head", &bindir, "--json"];
            let gate = ["--time-budget", "3m", "--fail-unless", "goodput > -0.1%"];
            let document = json(&folder.pgdyno(&[&args[..], &gate, mode].concat()).stdout);
            let figure = &document["figures"][0];
            println!(
                "{}: {} blocks, {figure}",
                document["mode"], document["blocks"]
            );
            let end = |i: usize| figure["interval"][i].as_f64().unwrap();
            end(1) - end(0)
        });
        done.store(true, Ordering::Relaxed);
        widths
    });
    assert!(widths[1] < widths[0], "by turns, duet: {widths:?}");
}

/// Work on a CPU for some seconds, then none for some: the same on all CPUs at the same time.
fn bursts(done: &AtomicBool) {
    let start = Instant::now();
    // Lengths without a common measure: no trial falls into step with them.
    for length in [0.7, 2.3, 1.1, 3.7, 0.4, 2.9, 1.9].iter().cycle() {
        let until = |seconds: f64| Instant::now() + Duration::from_secs_f64(seconds);
        let (work, rest) = (until(*length), until(2.0 * length));
        while Instant::now() < work {
            std::hint::spin_loop();
        }
        while Instant::now() < rest && !done.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(10));
        }
        if done.load(Ordering::Relaxed) || start.elapsed() > Duration::from_secs(900) {
            return;
        }
    }
}
