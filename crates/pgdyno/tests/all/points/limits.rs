//! Memory and open files that end at each limit in turn, set with `prlimit`.

use std::collections::BTreeMap;
use std::process::Command;

use crate::points::commands::{CASES, Case};
use crate::points::judge::{loss, stores};
use crate::points::scene::Scene;
use crate::support::{Database, Ran, ran};

/// More than a short trial of the debug build takes, with the stacks and heaps of its threads.
const MEMORY_MAX_BYTES: u64 = 400 << 20;
/// More files than a short trial of two clients has open.
const FILES_MAX: u64 = 48;

/// The same command with a limit (`--as=BYTES`, `--nofile=COUNT`).
fn limited(command: &Command, limit: &str) -> Command {
    let mut prlimit = Command::new("prlimit");
    prlimit.arg(limit).arg(command.get_program());
    prlimit.args(command.get_args());
    if let Some(dir) = command.get_current_dir() {
        prlimit.current_dir(dir);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => prlimit.env(name, value),
            None => prlimit.env_remove(name),
        };
    }
    prlimit
}

/// The smallest number up to `max` with which the program itself starts.
fn smallest(scene: &Scene, option: &str, max: u64) -> u64 {
    let (mut low, mut high) = (0, max);
    while high - low > 1 + max / 256 {
        let middle = u64::midpoint(low, high);
        let version = scene.pgdyno(&["--version"]);
        let limit = format!("{option}={middle}");
        if limited(&version, &limit).output().unwrap().status.success() {
            high = middle
        } else {
            low = middle
        }
    }
    high
}

/// So many limits up to this one.
struct Steps<'a> {
    option: &'a str,
    max: u64,
    count: u64,
    /// What an error says, one of these, in small letters.
    says: &'a [&'a str],
    /// Whether what was committed is never lost.
    keeps: bool,
}

impl Steps<'_> {
    /// Runs the command at each limit; what is wrong.
    fn take(&self, case: &Case, scene: &Scene) -> Vec<String> {
        let (mut wrong, mut exits) = (Vec::new(), BTreeMap::<Option<i32>, usize>::new());
        let min = smallest(scene, self.option, self.max);
        for step in 0..self.count {
            // Closer together where little is there.
            let share = (step as f64 / (self.count - 1) as f64).powi(2);
            let limit = min + ((self.max - min) as f64 * share) as u64;
            let limit = format!("{}={limit}", self.option);
            scene.reset();
            let ran = scene.run(&mut limited(&(case.command)(scene), &limit));
            *exits.entry(ran.code).or_default() += 1;
            let found = self.judge(case, scene, &ran);
            wrong.extend(found.map(|found| format!("{limit}: {found}\n{}", ran.stderr)));
        }
        println!(
            "{} {}: runs by exit code: {exits:?}",
            case.name, self.option
        );
        let unlimited = exits.get(&Some(0)).copied().unwrap_or_default();
        assert!(unlimited > 0, "the highest limit is too low: {exits:?}");
        wrong
    }

    fn judge(&self, case: &Case, scene: &Scene, ran: &Ran) -> Option<String> {
        let mut wrong = stores(scene);
        let said = ran.stderr.to_lowercase();
        match ran.code {
            Some(0) => wrong.extend((case.whole)(scene).err()),
            Some(1..=3)
                if said.contains("error: ") && self.says.iter().any(|text| said.contains(text)) => {
            }
            // The C library's own end, when a thread has no memory for what Rust keeps for it.
            None | Some(134)
                if said.contains("fatal glibc error") && said.contains("out of memory") => {}
            code => wrong.push(format!("exit code {code:?}, without a clear error")),
        }
        if ran.code != Some(0) && self.keeps {
            wrong.extend(loss(case, scene).err());
        }
        (!wrong.is_empty()).then(|| wrong.join("; "))
    }
}

const MEMORY: Steps = Steps {
    option: "--as",
    max: MEMORY_MAX_BYTES,
    count: 0,
    says: &["memory", "cannot start a thread"],
    keeps: false,
};

const FILES: Steps = Steps {
    option: "--nofile",
    max: FILES_MAX,
    count: 0,
    says: &["too many open files"],
    keeps: true,
};

/// A trial at each of these limits.
fn take(test: &str, steps: &Steps) {
    if Command::new("prlimit").arg("--version").output().is_err() {
        pgdyno_testkit::skip!(test, "no prlimit (package util-linux)");
    }
    let case = &CASES[0];
    let name = test.rsplit(':').next().unwrap().get(..40).unwrap_or(test);
    let scene = Scene::new(Database::new(name), name);
    let wrong = steps.take(case, &scene);
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn a_trial_that_runs_out_of_memory_says_so_at_some_limits() {
    take(
        "limits::a_trial_that_runs_out_of_memory_says_so_at_some_limits",
        &Steps { count: 6, ..MEMORY },
    );
}

#[test]
#[ignore = "a minute: make test-long PART=points"]
fn every_limit_of_memory_that_a_trial_runs_into_is_said() {
    take(
        "limits::every_limit_of_memory_that_a_trial_runs_into_is_said",
        &Steps {
            count: 300,
            ..MEMORY
        },
    );
}

#[test]
fn a_trial_that_runs_out_of_open_files_says_so_at_some_limits() {
    take(
        "limits::a_trial_that_runs_out_of_open_files_says_so_at_some_limits",
        &Steps { count: 5, ..FILES },
    );
}

#[test]
#[ignore = "a minute: make test-long PART=points"]
fn open_files_that_end_at_every_limit_are_said() {
    take(
        "limits::open_files_that_end_at_every_limit_are_said",
        &Steps { count: 90, ..FILES },
    );
}

#[test]
fn as_many_clients_as_memory_does_not_hold_are_an_error() {
    let db = Database::new("points_many_clients");
    let scene = Scene::new(db, "points_many_clients");
    if Command::new("prlimit").arg("--version").output().is_err() {
        pgdyno_testkit::skip!(
            "limits::as_many_clients_as_memory_does_not_hold_are_an_error",
            "no prlimit (package util-linux)"
        );
    }
    let script = scene.script();
    let mut many = scene.pgdyno(&["run", &script, "-q", "-j1", "-c100000", "-t1", "--no-store"]);
    many.args(["--url", &scene.db.url]);
    let said = [
        "pgdyno: error: out of memory: could not allocate ",
        "use fewer clients",
    ];
    ran(&mut limited(&many, "--as=80000000")).expect(1, &said);
}
