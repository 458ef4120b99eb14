//! The commands that write files: what they find, and what they leave when all went well.

use std::fs;
use std::path::Path;
use std::process::Command;

use pgdyno_platform::child::Signal;
use serde_json::Value;

use crate::child::Running;
use crate::points::scene::{Scene, TRANSACTIONS};
use crate::support::{Database, document_of, ran};

/// A command, and the points that the short form takes.
pub struct Case {
    pub name: &'static str,
    /// So many of its points are in the short form.
    pub short: usize,
    /// Makes what it finds; run once.
    pub prepare: fn(&Scene),
    /// Puts back what is not in the folder; run before each time.
    pub before: fn(&Scene),
    pub command: fn(&Scene) -> Command,
    /// What is missing or wrong of what was asked for.
    pub whole: fn(&Scene) -> Result<(), String>,
    /// A file that could not be written does not change the exit code, as with the tool that it is
    /// compatible with.
    pub may_only_say: bool,
    /// A trial that could not be kept is run again by the same command.
    pub resumes: bool,
    /// Whether the newest trial is whole where only this case keeps any.
    pub is_kept: fn(&Scene) -> bool,
}

const CASE: Case = Case {
    name: "",
    short: 1,
    prepare: |_| {},
    before: |_| {},
    command: |_| unreachable!(),
    whole: |_| unreachable!(),
    may_only_say: false,
    resumes: false,
    is_kept: |_| false,
};

pub const CASES: &[Case] = &[
    Case {
        name: "run",
        short: 4,
        command: run,
        whole: |scene| {
            check_stored(scene, &scene.path("notebook.sqlite"))?;
            json(scene)?;
            contains(&scene.path("stdout.txt"), "(40 committed")
        },
        ..CASE
    },
    Case {
        name: "team",
        short: 2,
        prepare: init_team,
        before: |scene| team(scene).sql("TRUNCATE trial_begun CASCADE"),
        command: |scene| {
            let mut command = run(scene);
            command.args(["--store", &team(scene).url]);
            command
        },
        whole: |scene| {
            team_has_it(scene)?;
            json(scene)
        },
        is_kept: |scene| team_has_it(scene).is_ok(),
        ..CASE
    },
    Case {
        name: "pgbench",
        short: 2,
        prepare: two_trials,
        command: |scene| {
            let prefix = format!("--log-prefix={}", scene.text("log"));
            let hdr = format!("--hdr-log={}", scene.text("latency.hdr"));
            let store = format!("--store={}", scene.text("notebook.sqlite"));
            let json = format!("--json={}", scene.text("result.json"));
            let mut command = scene.pgdyno(&["pgbench", "-n", "-c2", "-j2", "-t20", "-l"]);
            command.args([&prefix, &hdr, &store, &json, "-f", &scene.script()]);
            command.args(["-d", &scene.db.url]);
            command
        },
        whole: |scene| {
            check_stored(scene, &scene.path("notebook.sqlite"))?;
            json(scene)?;
            // Of each thread one; those of a process that was run before it are there too.
            let lines: Vec<usize> = files(scene, "log.")
                .iter()
                .map(|file| lines(file))
                .collect();
            let half = TRANSACTIONS as usize / 2;
            let whole = lines.iter().filter(|lines| **lines == half).count();
            is("whole logs", &(whole >= 2), &true)?;
            contains(&scene.path("latency.hdr"), ",HISTF")?;
            contains(&scene.path("stdout.txt"), "tps = ")
        },
        may_only_say: true,
        ..CASE
    },
    Case {
        name: "report",
        prepare: two_trials,
        command: |scene| scene.pgdyno(&["report", "1", "-o", &scene.text("report.html")]),
        whole: |scene| page(&scene.path("report.html")),
        ..CASE
    },
    Case {
        name: "report --folder",
        prepare: two_trials,
        command: |scene| scene.pgdyno(&["report", "1-2", "--folder", &scene.text("site")]),
        whole: |scene| {
            let pages = ["site/index.html", "site/1/index.html", "site/2/index.html"];
            pages.iter().try_for_each(|name| page(&scene.path(name)))
        },
        ..CASE
    },
    Case {
        name: "compare --html",
        prepare: two_trials,
        command: |scene| scene.pgdyno(&["compare", "1", "2", "--html", &scene.text("report.html")]),
        whole: |scene| page(&scene.path("report.html")),
        ..CASE
    },
    Case {
        name: "export",
        short: 1,
        prepare: two_trials,
        command: |scene| scene.pgdyno(&["export", "-q", "-o", &scene.text("all.sqlite")]),
        whole: |scene| trials(scene, "all.sqlite", 2),
        ..CASE
    },
    Case {
        name: "import",
        short: 1,
        prepare: |scene| {
            two_trials(scene);
            fs::rename(scene.path("notebook.sqlite"), scene.path("second.sqlite")).unwrap();
            two_trials(scene);
        },
        command: |scene| {
            let mut command = scene.pgdyno(&["import", &scene.text("notebook.sqlite")]);
            command.args(["--store", &scene.text("second.sqlite")]);
            command
        },
        whole: |scene| trials(scene, "second.sqlite", 4),
        ..CASE
    },
    Case {
        name: "note",
        prepare: two_trials,
        command: |scene| scene.pgdyno(&["note", "1", "cold cache"]),
        whole: |scene| {
            let note = "SELECT note FROM trial WHERE number = 1";
            // After a failure it may be there twice.
            let note = query(scene, "notebook.sqlite", note)?;
            is("the note", &note.contains("cold cache"), &true)
        },
        ..CASE
    },
    Case {
        name: "store thin",
        prepare: two_trials,
        command: |scene| scene.pgdyno(&["store", "thin", "--older", "0s"]),
        whole: |scene| trials(scene, "notebook.sqlite", 2),
        ..CASE
    },
    Case {
        name: "store push",
        short: 1,
        prepare: waiting_trial,
        before: |scene| {
            let name = &scene.name;
            scene.db.sql(&format!(
                "DROP DATABASE IF EXISTS {name}_notes WITH (FORCE)"
            ));
            scene.db.sql(&format!(
                "CREATE DATABASE {name}_notes TEMPLATE {name}_begin"
            ));
        },
        command: |scene| {
            let url = team(scene).url;
            scene.pgdyno(&["store", "push", "--store", &url])
        },
        whole: |scene| {
            let sums =
                "SELECT string_agg(state, ' '), (SELECT sum(committed) > 0 FROM second) FROM trial";
            is("pushed", &team(scene).value(sums), "aborted|t")
        },
        ..CASE
    },
    Case {
        name: "sweep",
        short: 2,
        resumes: true,
        prepare: |scene| {
            two_trials(scene);
            let script = scene.script();
            let experiment = format!(
                "reset.settle = 0\ntransactions = 20\nclients = 2\n\
                 [matrix]\nworkload = ['{script}']\nsettings.bgwriter_delay = ['111ms', '333ms']\n"
            );
            fs::write(scene.beside("e.toml"), experiment).unwrap();
        },
        before: |scene| {
            scene.db.sql("ALTER SYSTEM SET bgwriter_delay = '250ms'");
            scene.db.sql("SELECT pg_reload_conf()");
        },
        command: |scene| {
            let experiment = scene.beside("e.toml").display().to_string();
            let mut command = scene.pgdyno(&["sweep", &experiment, "-q", "--resume"]);
            command.args(["--url", &scene.db.url]);
            command
        },
        whole: |scene| {
            let complete = "SELECT count(DISTINCT point) FROM trial \
                            WHERE state = 'complete' AND experiment IS NOT NULL";
            let complete = query(scene, "notebook.sqlite", complete)?;
            is("complete points", &complete, "2")?;
            settings_are_back(scene)
        },
        ..CASE
    },
    Case {
        name: "workload",
        prepare: |scene| {
            ran(&mut workload(scene, "init", &[])).expect(0, &[]);
        },
        command: |scene| {
            let histograms = format!("--histograms={}", scene.text("ticks.json"));
            let words = ["--max-ops=40", "--concurrency=2", &histograms];
            workload(scene, "run", &words)
        },
        may_only_say: true,
        whole: |scene| {
            let text = fs::read_to_string(scene.path("ticks.json")).map_err(|e| e.to_string())?;
            let ticks: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
            match ticks {
                Ok(ticks) if !ticks.is_empty() => Ok(()),
                ticks => Err(format!("ticks.json: {ticks:?}")),
            }
        },
        ..CASE
    },
    Case {
        name: "ycsb",
        prepare: |scene| {
            ran(&mut ycsb(scene, "load", &[])).expect(0, &[]);
        },
        command: |scene| {
            let export = format!("exportfile={}", scene.text("out.txt"));
            ycsb(scene, "run", &["-p", &export])
        },
        whole: |scene| contains(&scene.path("out.txt"), "[OVERALL], Throughput(ops/sec)"),
        ..CASE
    },
    Case {
        name: "load",
        before: |scene| {
            let tables = "pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";
            scene
                .db
                .sql(&format!("DROP TABLE IF EXISTS {tables}, pgdyno_load"));
        },
        command: |scene| scene.pgdyno(&["load", "tpcb", "-q", "--jobs=2", "--url", &scene.db.url]),
        whole: |scene| {
            let rows = scene.db.value("SELECT count(*) FROM pgbench_accounts");
            is("accounts", &rows, "100000")
        },
        ..CASE
    },
    Case {
        name: "pgio run",
        short: 1,
        prepare: |scene| {
            let conf = "SCALE=1024 RUN_TIME=1 NUM_SCHEMAS=1 NUM_THREADS=2 WORK_UNIT=64\n";
            let conf = format!("{conf}CONNECT_STRING='{}'\n", scene.db.url);
            fs::write(scene.beside("pgio.conf"), conf).unwrap();
            ran(&mut pgio(scene, "setup")).expect(0, &[]);
        },
        command: |scene| {
            let mut command = pgio(scene, "run");
            command.args(["--no-store", "--out", &scene.text("")]);
            command
        },
        whole: |scene| {
            contains(&scene.path(".pgio_schema_1_2.out"), "mypid")?;
            contains(&scene.path("vmstat.out"), "procs")
        },
        may_only_say: true,
        ..CASE
    },
    Case {
        name: "pgio files",
        command: |scene| scene.pgdyno(&["pgio", "files", &scene.text("pgio")]),
        whole: |scene| {
            let ends = [
                ("setup.sh", "setup \"$@\"\n"),
                ("runit.sh", "run \"$@\"\n"),
                ("pgio.conf", "TRUE\n"),
            ];
            ends.iter().try_for_each(|(name, end)| {
                let text =
                    fs::read_to_string(scene.path("pgio").join(name)).map_err(|e| e.to_string())?;
                is(name, &text.ends_with(end), &true)
            })
        },
        ..CASE
    },
    Case {
        name: "pack show --to",
        command: |scene| scene.pgdyno(&["pack", "show", "tpcb", "--to", &scene.text("mine")]),
        whole: |scene| {
            let list = ran(&mut scene.pgdyno(&["pack", "show", &scene.text("mine")]));
            is("its exit code", &list.code, &Some(0))
        },
        ..CASE
    },
];

fn run(scene: &Scene) -> Command {
    let json = format!("--json={}", scene.text("result.json"));
    let script = scene.script();
    let mut command = scene.pgdyno(&["run", &script, "-q", "-c2", "-j2", "-t20", &json]);
    command.args(["--url", &scene.db.url]);
    command
}

fn workload(scene: &Scene, verb: &str, more: &[&str]) -> Command {
    let mut command = scene.pgdyno(&["workload", verb, "kv", "--db", &scene.name]);
    command.args(more).arg(&scene.db.url);
    command
}

fn pgio(scene: &Scene, verb: &str) -> Command {
    let conf = scene.beside("pgio.conf").display().to_string();
    scene.pgdyno(&["pgio", verb, "--conf", &conf])
}

fn ycsb(scene: &Scene, verb: &str, more: &[&str]) -> Command {
    let (head, query) = scene.db.url.split_once('?').unwrap();
    let of = |key: &str| {
        query
            .split('&')
            .find_map(|pair| pair.strip_prefix(key))
            .unwrap()
    };
    let (socket, port) = (of("host=").replace('/', "%2F"), of("port="));
    let user = head.split("//").nth(1).unwrap().split('@').next().unwrap();
    let url = format!("db.url=jdbc:postgresql://{socket}:{port}/{}", scene.name);
    let user = format!("db.user={user}");
    let mut command = scene.pgdyno(&[
        "ycsb",
        verb,
        "jdbc",
        "-p",
        "workload=site.ycsb.workloads.CoreWorkload",
    ]);
    command.args([
        "-p",
        "recordcount=10",
        "-p",
        "operationcount=40",
        "-p",
        &url,
        "-p",
        &user,
    ]);
    command.args(more);
    command
}

/// Two trials in a notebook.
fn two_trials(scene: &Scene) {
    for _ in 0..2 {
        ran(&mut run(scene)).expect(0, &[]);
    }
    fs::remove_file(scene.path("result.json")).unwrap();
}

/// The team's notebook of a scene.
fn team(scene: &Scene) -> Database {
    let url = scene.db.url.clone();
    let name = format!("@/{}?", scene.name);
    assert!(url.contains(&name), "{url}");
    Database {
        url: url.replace(&name, &format!("@/{}_notes?", scene.name)),
    }
}

/// Whether the newest trial of the team is whole, and none runs. What waits is sent first, as the summary says.
fn team_has_it(scene: &Scene) -> Result<(), String> {
    let push = scene.pgdyno(&["store", "push", "--store", &team(scene).url]);
    let pushed = ran(&mut { push });
    is("exit code of store push", &pushed.code, &Some(0))?;
    let newest = "SELECT coalesce(state || committed, state) || ' ' \
                  || (SELECT count(*) FROM trial WHERE state = 'running') \
                  FROM trial ORDER BY number DESC LIMIT 1";
    let whole = format!("complete{TRANSACTIONS} 0");
    is(
        "the team's newest trial, and how many run",
        &team(scene).value(newest),
        &whole,
    )
}

fn init_team(scene: &Scene) {
    scene
        .db
        .sql(&format!("CREATE DATABASE {}_notes", scene.name));
    ran(&mut scene.pgdyno(&["store", "init", &team(scene).url])).expect(0, &[]);
}

/// A trial of a pgdyno that was killed while its notebook was away.
fn waiting_trial(scene: &Scene) {
    init_team(scene);
    let notes = format!("{}_notes", scene.name);
    let script = scene.script();
    let mut command = scene.pgdyno(&["run", &script, "-c2", "-R100", "-T60"]);
    command.args(["--url", &scene.db.url, "--store", &team(scene).url]);
    let running = Running::start(&mut command);
    team(scene).wait_for("SELECT 1 FROM second LIMIT 1");
    scene
        .db
        .sql(&format!("ALTER DATABASE {notes} ALLOW_CONNECTIONS false"));
    running.signal(Signal::Kill);
    running.ended();
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname =";
    scene.db.sql(&format!("{end} '{notes}'"));
    let busy = format!("SELECT FROM pg_stat_activity WHERE datname = '{notes}'");
    scene
        .db
        .wait_for(&format!("SELECT 1 WHERE NOT EXISTS ({busy})"));
    scene.db.sql(&format!(
        "ALTER DATABASE {notes} RENAME TO {}_begin",
        scene.name
    ));
    scene.db.sql(&format!(
        "ALTER DATABASE {}_begin ALLOW_CONNECTIONS true",
        scene.name
    ));
}

/// Whether a trial that is complete has been kept, with all that was committed.
pub fn check_stored(scene: &Scene, store: &Path) -> Result<(), String> {
    let newest = "SELECT state || ' ' || committed || ' ' || (SELECT sum(committed) FROM second \
                  WHERE trial = number) FROM trial ORDER BY number DESC LIMIT 1";
    let store = store.strip_prefix(scene.folder()).unwrap();
    let found = query(scene, store.to_str().unwrap(), newest)?;
    let rows = scene.committed();
    is(
        "the newest trial",
        &found,
        &format!("complete {rows} {rows}"),
    )
}

/// Whether the document of `--json` is whole.
fn json(scene: &Scene) -> Result<(), String> {
    document(scene, &scene.path("result.json"))
}

/// Whether a document has all that was committed.
pub fn document(scene: &Scene, path: &Path) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let document: Value =
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    is(
        "committed",
        &document["measured"]["committed"],
        &Value::from(scene.committed()),
    )
}

fn page(path: &Path) -> Result<(), String> {
    if !path.exists() {
        return Err(format!("there is no {}", path.display()));
    }
    is(
        "a page has a document",
        &document_of(path).is_object(),
        &true,
    )
}

fn trials(scene: &Scene, store: &str, count: usize) -> Result<(), String> {
    let whole = "SELECT count(*) FROM trial t WHERE state = 'complete' AND committed = \
                 (SELECT sum(committed) FROM second WHERE trial = t.number)";
    is("trials", &query(scene, store, whole)?, &count.to_string())
}

fn settings_are_back(scene: &Scene) -> Result<(), String> {
    let setting = scene.db.value(
        "SELECT setting FROM pg_file_settings WHERE name = 'bgwriter_delay' AND sourcefile LIKE '%auto.conf'",
    );
    is("bgwriter_delay", &setting, "250ms")
}

/// The only value of a query of a notebook.
fn query(scene: &Scene, store: &str, sql: &str) -> Result<String, String> {
    let path = scene.path(store);
    if !path.exists() {
        return Err(format!("there is no {store}"));
    }
    let notebook = rusqlite::Connection::open(&path).map_err(|e| format!("{store}: {e}"))?;
    let value = notebook.query_row(sql, [], |row| row.get::<_, rusqlite::types::Value>(0));
    match value.map_err(|e| format!("{store}: {e}"))? {
        rusqlite::types::Value::Text(text) => Ok(text),
        rusqlite::types::Value::Integer(number) => Ok(number.to_string()),
        other => Err(format!("{store}: {other:?}")),
    }
}

fn contains(path: &Path, text: &str) -> Result<(), String> {
    match fs::read_to_string(path) {
        Ok(content) if content.contains(text) => Ok(()),
        Ok(_) => Err(format!("no \"{text}\" in {}", path.display())),
        Err(e) => Err(format!("{}: {e}", path.display())),
    }
}

fn files(scene: &Scene, prefix: &str) -> Vec<std::path::PathBuf> {
    let files = fs::read_dir(scene.folder())
        .unwrap()
        .map(|e| e.unwrap().path());
    let is_meant = |path: &std::path::PathBuf| {
        path.file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with(prefix)
    };
    files.filter(is_meant).collect()
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).unwrap().lines().count()
}

fn is<A: PartialEq<B> + std::fmt::Debug + ?Sized, B: std::fmt::Debug + ?Sized>(
    what: &str,
    found: &A,
    wanted: &B,
) -> Result<(), String> {
    if found == wanted {
        Ok(())
    } else {
        Err(format!("{what}: {found:?}, not {wanted:?}"))
    }
}
