//! Under Debian's Open MPI: mpirun numbers them, and no option of ours is needed.

use pgdyno_platform::child::{Signal, send_signal};

use crate::child::{Running, wait_until};
use crate::generators::a_dead_one::{accounting_is_right, script};
use crate::generators::crew::{Crew, ends, note, number};
use crate::support::Ran;

const RANKS: u32 = 8;
const KILLED: u32 = 5;

/// Generators that meet on a server; nothing where there is no mpirun, which is counted.
fn scene(test: &str, name: &str) -> Option<Crew> {
    let test = format!("mpi::{test}");
    match pgdyno_testkit::debian(&["mpirun"], &["openmpi-bin"]) {
        Ok(()) => Some(Crew::on_server(name)),
        Err(reason) => {
            pgdyno_testkit::record_skip(&test, &reason);
            None
        }
    }
}

/// `mpirun OPTIONS -n 8 pgdyno LINE --generators 8`, with what root and a small machine need besides.
fn mpirun(crew: &Crew, database: &str, options: &str, line: &str) -> Running {
    let mut command = crew.launcher("mpirun", database);
    command
        .args(options.split_whitespace())
        .args(["--allow-run-as-root", "--oversubscribe", "-n"])
        .arg(RANKS.to_string())
        .arg(env!("CARGO_BIN_EXE_pgdyno"))
        .args(line.split_whitespace())
        .args(["--generators", &RANKS.to_string()]);
    Running::start(&mut command)
}

#[test]
#[ignore = "installs Open MPI: make test-long PART=generators"]
fn mpirun_starts_eight_generators_of_one_trial() {
    let test = "mpirun_starts_eight_generators_of_one_trial";
    let Some(crew) = scene(test, "mpi_eight") else {
        return;
    };
    let ran = mpirun(&crew, "mpi_eight", "", "run tpcb -c 16 -T 3").ended();
    ran.expect(0, &["kept as trial 9"]);
    let whole = crew.whole("complete");
    assert_eq!(ends(&whole), ["complete"; RANKS as usize]);
    let committed = number(&whole["measured"]["committed"]);
    assert!(committed > 0, "{whole}");
    let history = crew.target.value("SELECT count(*) FROM pgbench_history");
    assert_eq!(committed.to_string(), history);
}

/// Eight that measure while one of them is killed, and how mpirun ends.
fn one_is_killed(crew: &Crew, database: &str, options: &str) -> Ran {
    let script = script(crew);
    let line = format!("run {script} -c 16 -T 4");
    let running = mpirun(crew, database, options, &line);
    wait_until("a second of each", || {
        let of_each = "SELECT count(DISTINCT part.generator) FROM second \
                       JOIN part ON part.trial = second.trial";
        crew.number(of_each) == Some(i64::from(RANKS))
    });
    send_signal(rank(running.id(), KILLED), Signal::Kill).unwrap();
    running.ended()
}

#[test]
#[ignore = "installs Open MPI, takes half a minute: make test-long PART=generators"]
fn with_recovery_the_others_go_on_when_one_is_killed() {
    let test = "with_recovery_the_others_go_on_when_one_is_killed";
    let Some(crew) = scene(test, "mpi_killed") else {
        return;
    };
    let ran = one_is_killed(&crew, "mpi_killed", "--enable-recovery");
    let whole = crew.whole("partial");
    let mut expected = ["complete"; RANKS as usize];
    expected[KILLED as usize] = "died";
    assert_eq!(ends(&whole), expected, "{ran:#?}");
    let note = note(&whole, "generators-missing", "serious");
    assert!(note.contains("generator 5 died"), "{note}");
    accounting_is_right(&crew, &whole);
}

#[test]
#[ignore = "installs Open MPI, takes half a minute: make test-long PART=generators"]
fn without_recovery_mpirun_ends_all_when_one_is_killed() {
    let test = "without_recovery_mpirun_ends_all_when_one_is_killed";
    let Some(crew) = scene(test, "mpi_ended") else {
        return;
    };
    let ran = one_is_killed(&crew, "mpi_ended", "");
    // It kills them seconds after it asked them to end, while they wait for a silent peer: their parts
    // are kept, and are not added up.
    assert_eq!(ran.code, Some(137), "{ran:#?}");
    let listed = crew.listed();
    let aborted = listed.iter().filter(|(_, state)| state == "aborted");
    assert_eq!((listed.len(), aborted.count()), (8, 7), "{listed:?}");
}

/// The process of a rank below mpirun.
#[track_caller]
fn rank(mpirun: u32, rank: u32) -> u32 {
    let children = format!("/proc/{mpirun}/task/{mpirun}/children");
    let children = std::fs::read_to_string(children).unwrap();
    let wanted = format!("OMPI_COMM_WORLD_RANK={rank}");
    let mut children = children.split_whitespace();
    let found = children.find(|pid| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut words = environ.split(|byte| *byte == 0);
        words.any(|word| word == wanted.as_bytes())
    });
    found.expect("mpirun has started it").parse().unwrap()
}
