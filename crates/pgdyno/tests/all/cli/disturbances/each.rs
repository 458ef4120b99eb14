//! Each disturbance of the catalogue on a real server; those of the network: `e2e/via.rs`.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use pgdyno_testkit::record_skip;

use super::state::{SNAPSHOT, processes, started_with, until_none};
use super::traces::{self, CHECKPOINT, CRASH, HELD_UP, RESTART, Trace, Watched};
use super::{Place, done, trial};
use crate::child::Running;
use crate::cli::store::Notebook;

/// The table that it rewrites has another file.
const REWRITTEN: Trace = Trace::Changes("SELECT pg_relation_filenode('pgbench_accounts')");
const INDEXED: Trace = Trace::Seen(
    "SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass('pgdyno_disturbance') AND indisvalid)",
);

/// What a disturbance says, and what shows that it was done.
type Case = (&'static str, &'static str, Trace);

const ANYWHERE: [Case; 14] = [
    ("pgdyno:checkpoint", "made a checkpoint", CHECKPOINT),
    (
        "pgdyno:analyze",
        "analyzed pgbench_accounts",
        Trace::Changes(
            "SELECT analyze_count FROM pg_stat_user_tables WHERE relname = 'pgbench_accounts'",
        ),
    ),
    ("pgdyno:vacuum-full", "rewrote pgbench_accounts", REWRITTEN),
    ("pgdyno:create-index", "undone: dropped index", INDEXED),
    (
        "pgdyno:create-index-concurrently",
        "undone: dropped index",
        INDEXED,
    ),
    (
        "pgdyno:alter-table-rewrite",
        "again",
        Trace::Seen(
            "SELECT format_type(atttypid, atttypmod) = 'character(85)' FROM pg_attribute \
             WHERE attrelid = 'pgbench_accounts'::regclass AND attname = 'filler'",
        ),
    ),
    (
        "pgdyno:drop-statistics",
        "undone: analyzed",
        Trace::Seen(
            "SELECT NOT EXISTS (SELECT FROM pg_statistic WHERE starelid = 'pgbench_accounts'::regclass)",
        ),
    ),
    (
        "pgdyno:long-transaction for=2s",
        "dead rows",
        Trace::Seen(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE state = 'idle in transaction' \
             AND backend_xmin IS NOT NULL AND xact_start < clock_timestamp() - interval '1 s')",
        ),
    ),
    ("pgdyno:idle-lock for=2s", "kept a row of", HELD_UP),
    (
        "pgdyno:idle-lock for=2s lock=table",
        "locked for",
        Trace::Seen(
            "SELECT EXISTS (SELECT FROM pg_locks JOIN pg_stat_activity USING (pid) \
             WHERE mode = 'AccessExclusiveLock' AND granted AND state = 'idle in transaction' \
             AND state_change < clock_timestamp() - interval '500 ms')",
        ),
    ),
    (
        "pgdyno:connection-storm for=2s",
        "opened and closed ",
        Trace::Seen(
            "SELECT count(*) > 15 FROM pg_stat_activity WHERE backend_type = 'client backend'",
        ),
    ),
    (
        "pgdyno:base-backup rate=20000",
        "backup of ",
        Trace::Seen("SELECT count(*) > 0 FROM pg_stat_replication WHERE state = 'backup'"),
    ),
    ("pgdyno:kill-backend", "killed backend", CRASH),
    (
        "pgdyno:sigstop for=2s",
        "and continued them",
        Trace::Stopped,
    ),
];

#[test]
#[ignore = "make test-long PART=disturbances"]
fn each_that_any_server_takes_is_seen_there_and_loses_and_leaves_nothing() {
    let place = Place::new();
    for (command, says, trace) in ANYWHERE {
        place.does(command, says, trace);
    }
    let what = "pgdyno:drop-page-cache";
    if pgdyno_platform::user::is_root() && Path::new("/usr/bin/fincore").exists() {
        place.does(what, "dropped the page cache", Trace::Uncached)
    } else {
        record_skip(what, "it takes root, and fincore")
    }
}

/// The test of the tests: nothing of a disturbance is seen where there is none.
#[test]
#[ignore = "make test-long PART=disturbances"]
fn a_control_shows_no_trace_of_any() {
    let place = Place::new();
    let all = ANYWHERE.iter().map(|(_, _, trace)| trace);
    let mut all: Vec<_> = all
        .map(|trace| Watched::new(*trace, &place.url, place.server.pid()))
        .collect();
    let mut running = Running::start(place.trial("pgdyno:checkpoint", "4s").arg("--control"));
    let mut looked = 0;
    while !running.is_over() {
        for (watched, (command, ..)) in all.iter_mut().zip(ANYWHERE) {
            // Their own sessions are many.
            let is_storm = command.starts_with("pgdyno:connection-storm");
            assert!(is_storm || !watched.look(), "a control shows {command}");
        }
        looked += 1;
    }
    running.ended().expect(0, &[]);
    assert!(looked > 10, "{looked}");
}

/// Where a private server is, as it says to commands.
struct Private {
    url: String,
    data: String,
    /// Of its standby, or its own.
    last_url: String,
    /// Its first process at the beginning.
    first: u32,
}

impl Private {
    /// Read from the file that [`TELL`] writes, once it is there.
    fn read_from(file: &Path, running: &mut Running) -> Self {
        let end = Instant::now() + Duration::from_secs(60);
        let reported = loop {
            if let Ok(reported) = fs::read_to_string(file) {
                break reported;
            }
            assert!(!running.is_over() && Instant::now() < end, "no trial began");
            std::thread::sleep(Duration::from_millis(5));
        };
        let mut lines = reported.lines();
        let mut line = || lines.next().unwrap().to_owned();
        let (url, data, places) = (line(), line(), line());
        let (own, other) = places.split_once(' ').unwrap_or((&places, &places));
        let parts = |place: &str| {
            place
                .rsplit_once(':')
                .map(|(h, p)| (h.to_owned(), p.to_owned()))
        };
        let ((host, port), (last_host, last_port)) = (parts(own).unwrap(), parts(other).unwrap());
        let last_url = url
            .replace(&host, &last_host)
            .replace(&format!(":{port}/"), &format!(":{last_port}/"));
        let pid = fs::read_to_string(format!("{data}/postmaster.pid")).unwrap();
        Self {
            first: pid.lines().next().unwrap().parse().unwrap(),
            url,
            data,
            last_url,
        }
    }

    /// How it is, and its standby; `None` when one of them does not answer.
    fn state(&self) -> Option<Vec<String>> {
        let mut state = Vec::new();
        for url in [&self.url, &self.last_url] {
            let mut session = traces::session(url)?;
            let rows = session.query(SNAPSHOT).ok()?.rows;
            state.extend(rows.into_iter().flatten().flatten());
        }
        Some(state)
    }
}

/// What is looked at of a private server.
enum Shown {
    Server(Trace),
    /// Of the last of both.
    Standby(Trace),
    /// Its processes are in a group with a limit, and were held up by it.
    Limited,
}

/// Whether the processes are in a group of this trial's that was out of CPU time.
fn is_limited(pgdyno: u32, first: u32) -> bool {
    let tops = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"];
    let groups = tops
        .iter()
        .flat_map(|top| fs::read_dir(top).into_iter().flatten().flatten());
    let name = format!("pgdyno-{pgdyno}");
    let mut groups = groups.filter(|it| it.file_name().to_string_lossy().starts_with(&name));
    groups.any(|group| {
        let read = |name: &str| fs::read_to_string(group.path().join(name));
        let first = first.to_string();
        let has_first = read("cgroup.procs").is_ok_and(|all| all.lines().any(|pid| pid == first));
        let held_up = |stat: String| {
            let mut lines = stat.lines().filter_map(|line| line.split_once(' '));
            lines.any(|(name, count)| name == "nr_throttled" && count != "0")
        };
        has_first && read("cpu.stat").is_ok_and(held_up)
    })
}

/// On a private server, of which nothing is left afterwards: what was acknowledged is there, and before the trial is
/// over the server is as it was.
#[test]
#[ignore = "make test-long PART=disturbances"]
fn each_that_only_a_private_server_takes_is_seen_there_and_loses_and_leaves_nothing() {
    use Shown::{Limited, Server, Standby};
    let bindir = pgdyno_testkit::installation().bindir.display().to_string();
    let lags = Trace::Seen("SELECT replay_lag > interval '150 ms' FROM pg_stat_replication");
    let leads = Trace::Seen("SELECT NOT pg_is_in_recovery()");
    let again = "took connections again";
    let all = [
        ("pgdyno:restart", "", again, Server(RESTART)),
        ("pgdyno:restart-immediate", "", again, Server(CRASH)),
        ("pgdyno:kill-postmaster", "", again, Server(CRASH)),
        (
            "pgdyno:promotion",
            "sync",
            "the standby took writes",
            Standby(leads),
        ),
        (
            "pgdyno:lagging-standby for=2s",
            "sync",
            "late, and commits waited",
            Server(lags),
        ),
        (
            "pgdyno:cpu-quota for=2s percent=3",
            "",
            "processes had 3 %",
            Limited,
        ),
    ];
    for (command, standby, says, shown) in all {
        if matches!(shown, Limited) && !pgdyno_platform::user::is_root() {
            record_skip(command, "it takes root");
            continue;
        }
        println!("{command}");
        let notebook = Notebook::new();
        let (json, reported) = (notebook.beside("run.json"), notebook.beside("reported"));
        let tell = format!(
            "1ms printf '%s\\n' \"$PGDYNO_URL\" \"$PGDYNO_DATA\" \"$PGDYNO_ENDPOINTS\" > '{0}.new'; mv '{0}.new' '{0}'",
            reported.display()
        );
        let mut trial = trial(&notebook, command, "8s");
        trial.args(["--at", &tell, "--pg-bindir", &bindir]);
        if !standby.is_empty() {
            trial.args(["--pg-standby", standby]);
        }
        let mut running = Running::start(trial.arg(format!("--json={}", json.display())));
        let private = Private::read_from(&reported, &mut running);
        let (before, processes_before) = (private.state(), processes(private.first));
        assert!(before.is_some(), "{command}: the server does not answer");
        let mut watched = match shown {
            Server(trace) => Some(Watched::new(trace, &private.url, private.first)),
            Standby(trace) => Some(Watched::new(trace, &private.last_url, private.first)),
            Limited => None,
        };
        let mut is_seen = false;
        while !running.is_over() && !is_seen {
            is_seen = match &mut watched {
                Some(watched) => watched.look(),
                None => is_limited(running.id(), private.first),
            };
        }
        assert!(is_seen, "{command}: the server shows nothing of it");
        drop(watched);
        // The last that was seen of it.
        let mut after = None;
        while !running.is_over() {
            let now = private
                .state()
                .map(|state| (state, processes(private.first)));
            after = now.or(after);
            std::thread::sleep(Duration::from_millis(50));
        }
        // Others' trials have theirs.
        let group = format!("pgdyno-{}", running.id());
        let ran = running.ended();
        assert_eq!(ran.code, Some(0), "{command}: {ran:?}");
        done(command, says, &json);
        let (after, processes_after) = after.unzip();
        match command {
            // The primary that was killed is down.
            "pgdyno:promotion" => assert_eq!(after, None, "{command}"),
            _ => assert_eq!(after, before, "{command}"),
        }
        if matches!(shown, Limited) {
            assert_eq!(processes_after, Some(processes_before), "{command}");
        }
        let folder = notebook.beside("");
        until_none("processes", || started_with(folder.to_str().unwrap()));
        until_none("servers", || with_argument(&private.data));
        assert!(
            !Path::new(&private.data).exists(),
            "{command}: its data are left"
        );
        for top in ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"] {
            let left = fs::read_dir(top).into_iter().flatten().flatten();
            let left = left.filter(|it| it.file_name().to_string_lossy().starts_with(&group));
            assert_eq!(left.count(), 0, "{command}: its group is left");
        }
    }
}

/// Processes that name this folder.
fn with_argument(folder: &str) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let named = all.map(|process| fs::read(process.path().join("cmdline")).unwrap_or_default());
    let named = named.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    named.filter(|line| line.contains(folder)).collect()
}
