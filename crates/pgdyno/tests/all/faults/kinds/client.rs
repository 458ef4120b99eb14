//! No room on the client's side: a full disk, in a mount namespace of its own, and a limit on files.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Fault, NO_FAULT, unharmed};
use crate::faults::scene::{Call, Scene};

/// The command in a mount namespace in which this has been done first.
pub fn in_namespace(command: &Command, mount: &str) -> Command {
    let mut shell = Command::new("unshare");
    shell.args([
        "--mount",
        "sh",
        "-c",
        &format!("{mount}; exec \"$@\""),
        "sh",
    ]);
    behind(shell, command)
}

/// A program that runs the command with its environment.
fn behind(mut shell: Command, command: &Command) -> Command {
    shell.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.stdin(Stdio::null());
    shell
}

/// Why no disk can be mounted here.
pub fn cannot_mount() -> Option<String> {
    let probe = Command::new("unshare").args(["--mount", "true"]).output();
    let can = pgdyno_platform::user::is_root() && probe.is_ok_and(|o| o.status.success());
    (!can).then(|| "only root can mount".to_owned())
}

fn disk(dir: &Path) -> PathBuf {
    dir.join("disk")
}

/// The command with a disk of this size.
fn with_disk(dir: &Path, command: &Command, size: &str) -> Command {
    fs::create_dir(disk(dir)).unwrap();
    let at = disk(dir);
    let mount = format!(
        "mount -t tmpfs -o size={size} tmpfs '{}' || exit 99",
        at.display()
    );
    in_namespace(command, &mount)
}

/// The notebook, or pgbench's log, on that disk.
fn files(dir: &Path, call: Call) -> Vec<String> {
    let on_disk = |name: &str| disk(dir).join(name).to_str().unwrap().to_owned();
    if !call.as_pgbench {
        vec!["--store".to_owned(), on_disk("notebook.sqlite")]
    } else {
        vec![
            "--log".to_owned(),
            format!("--log-prefix={}", on_disk("log")),
        ]
    }
}

/// Leaves no room on the disk, as the trial sees it.
fn fill(scene: &Scene) {
    let root = PathBuf::from(format!("/proc/{}/root", scene.running.id()));
    let at = disk(scene.dir.path()).join("filler");
    let mut file = fs::File::create(root.join(at.strip_prefix("/").unwrap())).unwrap();
    for size in [1 << 16, 1 << 10, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
}

/// From now on no file of pgdyno's may be written beyond so many kB: less than the journal of a new notebook has
/// (240) or the log gets to have (130), more than the document of the trial.
fn limit_files(scene: &Scene) {
    let is_kept = disk(scene.dir.path()).join("notebook.sqlite").exists();
    let kb = if is_kept { 200 } else { 60 };
    let mut prlimit = Command::new("prlimit");
    let limit = format!("--fsize={}", kb * 1000);
    prlimit.args([&limit, "--pid", &scene.running.id().to_string()]);
    assert!(prlimit.status().unwrap().success());
}

pub const FAULTS: &[Fault] = &[
    Fault {
        name: "client's disk full",
        how: "a disk of 4 MB with the notebook (`run`), with the log (`pgbench`) is filled",
        files,
        within: |dir, command| with_disk(dir, &command, "4m"),
        strike: fill,
        codes: [1, 1, 0, 0],
        words: &["this run is not kept"],
        shows: unharmed,
        cannot: cannot_mount,
        ..NO_FAULT
    },
    // SIGXFSZ, by which the system would end pgdyno without a word.
    Fault {
        name: "client's files limited",
        how: "`prlimit --fsize`: the notebook (`run`) and the log (`pgbench`) may not grow, as with `ulimit -f`",
        files: |dir, call| {
            fs::create_dir(disk(dir)).unwrap();
            files(dir, call)
        },
        strike: limit_files,
        codes: [1, 1, 0, 0],
        words: &["this run is not kept"],
        shows: unharmed,
        ..NO_FAULT
    },
];
