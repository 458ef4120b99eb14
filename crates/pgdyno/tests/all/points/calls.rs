//! Each call that writes to a file or starts a thread fails once.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

use pgdyno_server::Server;
use pgdyno_testkit::failing::{Call, Failing, Fault};

use crate::child::{Running, wait_until};
use crate::points::commands::{CASES, Case};
use crate::points::judge::{judge, stores};
use crate::points::scene::Scene;
use crate::support::{Database, Ran, connect};

/// So many commands at a time: they wait for the disk and the server half of the time.
const WORKERS: usize = 4;

/// What came of a command's points.
#[derive(Default)]
struct Sum {
    calls: usize,
    points: usize,
    /// Points at which the run had fewer calls than before.
    not_reached: usize,
    /// Runs by their exit code.
    exits: BTreeMap<i32, usize>,
    wrong: Vec<String>,
}

struct Stage<'a> {
    failing: &'a Failing,
    case: &'a Case,
    scene: Scene,
}

impl Stage<'_> {
    fn run(&self, at: u32, fault: Fault) -> (Ran, Vec<Call>) {
        self.scene.reset();
        (self.case.before)(&self.scene);
        let log = self.scene.beside("log");
        let mut command = (self.case.command)(&self.scene);
        let folder = self.scene.folder();
        self.failing.apply(&mut command, &folder, &log, (at, fault));
        (self.scene.run(&mut command), Call::all(&log))
    }

    /// Runs it with a call that fails. What that leaves must be no obstacle to the next run.
    fn point(&self, at: u32, fault: Fault, sum: &mut Sum) {
        let (ran, calls) = self.run(at, fault);
        let failed = calls.iter().find(|call| call.failed);
        let mut wrong = judge(
            self.case,
            &self.scene,
            &ran,
            failed.map(|call| (call, fault)),
        );
        sum.points += 1;
        sum.not_reached += usize::from(failed.is_none());
        *sum.exits.entry(ran.code.unwrap_or(-1)).or_default() += 1;
        if ran.code != Some(0) && (self.case.whole)(&self.scene).is_err() {
            self.scene.db.sql("TRUNCATE visit");
            let again = self.scene.run(&mut (self.case.command)(&self.scene));
            let missing = match again.code {
                Some(0) => (self.case.whole)(&self.scene).err(),
                code => Some(format!("exit code {code:?}: {}", again.stderr)),
            };
            wrong.extend(missing.map(|missing| format!("run again: {missing}")));
            wrong.extend(stores(&self.scene));
        }
        if !wrong.is_empty() {
            let failed = failed.map(|call| format!("{} {}", call.name, call.path.display()));
            sum.wrong.push(format!(
                "PGDYNO_POINT='{}/{at}/{fault:?}' ({}): {}\n{}",
                self.case.name,
                failed.unwrap_or_default(),
                wrong.join("; "),
                ran.stderr
            ));
        }
    }
}

/// Takes so many points of a case, or all.
fn take(case: &Case, failing: &Failing, server: &Server, count: Option<usize>) -> Sum {
    let name = format!(
        "points_{}",
        case.name.replace(|c: char| !c.is_alphanumeric(), "_")
    );
    let scene = Scene::new(Database::on(server, &name), &name);
    (case.prepare)(&scene);
    scene.keep();
    let stage = Stage {
        failing,
        case,
        scene,
    };
    let (ran, calls) = stage.run(0, Fault::Io);
    let mut sum = Sum {
        calls: calls.len(),
        ..Sum::default()
    };
    let wrong = judge(case, &stage.scene, &ran, None);
    if !wrong.is_empty() || calls.is_empty() {
        sum.wrong.push(format!(
            "{}: without a failure: {wrong:?} {ran:#?}",
            case.name
        ));
        return sum;
    }
    let points = |call: &Call| {
        let number = call.number;
        call.faults().iter().map(move |fault| (number, *fault))
    };
    let points: Vec<(u32, Fault)> = calls.iter().flat_map(points).collect();
    let taken: Vec<(u32, Fault)> = match (std::env::var("PGDYNO_POINT"), count) {
        (Ok(wanted), _) => {
            let is_wanted =
                |(at, fault): &&(u32, Fault)| format!("{}/{at}/{fault:?}", case.name) == wanted;
            points.iter().filter(is_wanted).copied().collect()
        }
        (_, None) => points,
        // Evenly over the whole run.
        (_, Some(count)) => (0..count)
            .map(|n| points[(2 * n + 1) * points.len() / (2 * count)])
            .collect(),
    };
    for (at, fault) in taken {
        stage.point(at, fault, &mut sum);
    }
    sum
}

/// All cases, some of them at a time.
fn take_all(test: &str, count: fn(&Case) -> Option<usize>) {
    let folder = tempfile::tempdir().unwrap();
    let Some(failing) = Failing::build(folder.path()) else {
        pgdyno_testkit::skip!(
            test,
            "no C compiler (cc) for the library that makes calls fail"
        );
    };
    // One of its own: an experiment here changes its settings.
    let server = pgdyno_testkit::postgres_with(&["fsync=off"]);
    let (cases, wrong) = (Mutex::new(CASES.iter()), Mutex::new(Vec::new()));
    let work = || loop {
        let next = cases.lock().unwrap().next();
        let Some(case) = next else { return };
        let sum = take(case, &failing, &server, count(case));
        println!(
            "{}: {} calls, {} points ({} not reached); runs by exit code: {:?}; {} wrong",
            case.name,
            sum.calls,
            sum.points,
            sum.not_reached,
            sum.exits,
            sum.wrong.len()
        );
        sum.wrong.iter().for_each(|wrong| println!("{wrong}"));
        wrong.lock().unwrap().extend(sum.wrong);
    };
    thread::scope(|scope| (0..WORKERS).for_each(|_| drop(scope.spawn(work))));
    let wrong = wrong.into_inner().unwrap();
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn some_calls_of_each_command_fail_without_harm() {
    take_all(
        "calls::some_calls_of_each_command_fail_without_harm",
        |case| Some(case.short),
    );
}

#[test]
#[ignore = "minutes: make test-long PART=points"]
fn every_call_of_each_command_fails_without_harm() {
    take_all(
        "calls::every_call_of_each_command_fails_without_harm",
        |_| None,
    );
}

#[test]
fn a_lock_that_no_thread_can_look_into_is_still_waited_for_and_said() {
    let test = "calls::a_lock_that_no_thread_can_look_into_is_still_waited_for_and_said";
    let scene = Scene::new(Database::new("points_waiting"), "points_waiting");
    let Some(failing) = Failing::build(&scene.beside("tmp")) else {
        pgdyno_testkit::skip!(
            test,
            "no C compiler (cc) for the library that makes calls fail"
        );
    };
    scene.db.pgdyno(&["load", "tpcb"]).expect(0, &[]);
    let mut holder = connect(&scene.db.url);
    holder
        .simple_query("BEGIN; LOCK TABLE pgbench_accounts")
        .unwrap();
    let mut load = scene.pgdyno(&["load", "tpcb", "--replace", "--url", &scene.db.url]);
    let log = scene.beside("log");
    // Its first thread watches over pgdyno itself, its second one is the one that looks: nothing is loaded yet.
    failing.apply(&mut load, &scene.folder(), &log, (2, Fault::NoThread));
    let running = Running::start(&mut load);
    wait_until("a thread that fails", || {
        Call::all(&log).iter().any(|call| call.failed)
    });
    holder.simple_query("ROLLBACK").unwrap();
    running
        .ended()
        .expect(0, &["waiting for the server's answer to: "]);
}
