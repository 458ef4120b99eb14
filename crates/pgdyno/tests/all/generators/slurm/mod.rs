//! Under Slurm, as `pgdyno deploy slurm` has it: a real one of Debian's packages, four nodes on this host.

mod cluster;

use std::fs;

use crate::child::wait_until;
use crate::generators::a_dead_one::{accounting_is_right, script};
use crate::generators::crew::{Crew, ends, note, number, rows};
use cluster::{Cluster, NODES};

/// A Slurm, and generators that meet on a server; nothing where there can be no Slurm, which is counted.
fn scene(test: &str, name: &str) -> Option<(Cluster, Crew)> {
    let test = format!("slurm::{test}");
    match Cluster::start() {
        Ok(cluster) => Some((cluster, Crew::on_server(name))),
        Err(reason) => {
            pgdyno_testkit::record_skip(&test, &reason);
            None
        }
    }
}

/// Submits something from where the crew is, as docs/scale-out.md says: the environment names notebook and
/// server. The job's number.
#[track_caller]
fn submit(cluster: &Cluster, crew: &Crew, name: &str, args: &[&str]) -> String {
    let mut sbatch = crew.launcher("sbatch", name);
    sbatch.arg("--parsable").args(args);
    cluster.surround(&mut sbatch);
    let ran = crate::support::ran(&mut sbatch).expect(0, &[]);
    ran.stdout.trim_end().to_owned()
}

fn printed(crew: &Crew, job: &str) -> String {
    fs::read_to_string(crew.file(&format!("slurm-{job}.out"))).unwrap()
}

/// The batch file that pgdyno prints for this command, as it is.
#[track_caller]
fn batch_file(crew: &Crew, command: &str) -> String {
    let line = format!("deploy slurm --generators {NODES} --time 10m -- {command}");
    let file = crew.pgdyno(&line).expect(0, &[]).stdout;
    crew.write("pgdyno.sbatch", &file)
}

/// All is well: one trial of four generators, each of which is the task of its number.
#[track_caller]
fn four_were_one(crew: &Crew, key: &str) {
    let whole = crew.whole("complete");
    assert_eq!(ends(&whole), ["complete"; NODES]);
    let committed = number(&whole["measured"]["committed"]);
    assert!(committed > 0, "{whole}");
    let history = crew.target.value("SELECT count(*) FROM pgbench_history");
    assert_eq!(committed.to_string(), history);
    let sum: u64 = rows(&whole)
        .iter()
        .map(|row| number(&row["committed"]))
        .sum();
    assert_eq!(sum, committed);
    assert_eq!(crew.value("SELECT join_key FROM meeting"), key);
}

#[test]
#[ignore = "installs Slurm, takes half a minute: make test-long PART=generators"]
fn what_deploy_prints_is_one_trial_of_four_generators() {
    let test = "what_deploy_prints_is_one_trial_of_four_generators";
    let Some((cluster, crew)) = scene(test, "slurm_batch") else {
        return;
    };
    let file = batch_file(&crew, "run tpcb -c 8 -T 3");
    let job = submit(&cluster, &crew, "slurm_batch", &[&file]);
    let state = cluster.ended(&job);
    let printed = printed(&crew, &job);
    assert_eq!(state, "COMPLETED", "{printed}");
    assert_eq!(
        printed.matches("kept as trial 5").count(),
        NODES,
        "{printed}"
    );
    four_were_one(&crew, &format!("slurm-{job}.0"));
}

#[test]
#[ignore = "installs Slurm, takes half a minute: make test-long PART=generators"]
fn an_array_is_one_trial_too() {
    let test = "an_array_is_one_trial_too";
    let Some((cluster, crew)) = scene(test, "slurm_array") else {
        return;
    };
    let run = format!("--wrap=pgdyno run tpcb -c 8 -T 3 --generators {NODES}");
    let job = submit(&cluster, &crew, "slurm_array", &["--array=10-16:2", &run]);
    for element in [10, 12, 14, 16] {
        let element = format!("{job}_{element}");
        let state = cluster.ended(&element);
        assert_eq!(state, "COMPLETED", "{}", printed(&crew, &element));
    }
    four_were_one(&crew, &format!("slurm-{job}"));
}

/// A test that cannot run says why, and is counted.
#[test]
#[ignore = "asks for packages: make test-long PART=generators"]
fn what_cannot_be_installed_is_a_reason_to_skip() {
    let here = pgdyno_testkit::debian(&["sh"], &["no-such-package"]);
    assert_eq!(here, Ok(()), "nothing is installed for what is here");
    let reason = pgdyno_testkit::debian(&["no-such-program"], &["no-such-package"]);
    let reason = reason.unwrap_err();
    assert!(reason.starts_with("no no-such-program here"), "{reason}");
    assert!(
        reason.contains("no-such-package") || reason.contains("update"),
        "{reason}"
    );
}

#[test]
#[ignore = "installs Slurm, takes a minute: make test-long PART=generators"]
fn one_node_that_is_killed_is_missed_and_the_others_go_on() {
    let test = "one_node_that_is_killed_is_missed_and_the_others_go_on";
    let Some((mut cluster, crew)) = scene(test, "slurm_killed") else {
        return;
    };
    let script = script(&crew);
    let file = batch_file(&crew, &format!("run {script} -c 8 -T 40"));
    let job = submit(&cluster, &crew, "slurm_killed", &[&file]);
    wait_until("a second of each", || {
        let of_each = "SELECT count(DISTINCT part.generator) FROM second \
                       JOIN part ON part.trial = second.trial";
        crew.number(of_each) == Some(NODES as i64)
    });
    // Not the first: on it the batch file runs.
    let killed = cluster.kill_node(&job, 3);
    let [killed] = killed[..] else {
        panic!("one generator a node, not {killed:?}");
    };
    // Slurm gives the node up while the others measure, and leaves them alone.
    wait_until("Slurm gives the node up", || {
        let state = cluster.field("node n3", "State").unwrap_or_default();
        state.starts_with("DOWN")
    });
    let state = cluster.field(&format!("job {job}"), "JobState");
    assert_eq!(state.as_deref(), Some("RUNNING"));
    let state = cluster.ended(&job);
    let printed = printed(&crew, &job);
    assert_eq!(state, "FAILED", "a partial trial is 1: {printed}");
    let whole = crew.whole("partial");
    let mut expected = ["complete"; NODES];
    expected[killed as usize] = "died";
    assert_eq!(ends(&whole), expected, "{printed}");
    let note = note(&whole, "generators-missing", "serious");
    let said = format!("generator {killed} died: nothing of it after ");
    assert!(note.contains(&said), "{note}");
    accounting_is_right(&crew, &whole);
}
