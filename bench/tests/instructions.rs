//! The budgets of `src/budgets.rs`: what a transaction costs the client in user instructions and in system calls, of
//! the release build that is there. Building one takes minutes, so that is left to `make test-long PART=instructions`;
//! here a missing or an old one is a skip, like another compiler.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

// The bench itself uses the rest of it.
#[allow(dead_code)]
#[path = "../src/budgets.rs"]
mod budgets;

const NAME: &str = "a_transaction_costs_no_more_instructions_than_its_budget";

#[test]
fn a_transaction_costs_no_more_instructions_than_its_budget() {
    let bench = Path::new(env!("CARGO_BIN_EXE_pgdyno-bench"));
    // target/debug/pgdyno-bench or target/release/pgdyno-bench.
    let target = bench.parent().and_then(Path::parent).unwrap();
    let program = target.join("release/pgdyno-bench");
    if let Err(why) = can_be_measured(&program) {
        pgdyno_testkit::skip!(NAME, why);
    }
    let mut command = Command::new(program);
    let output = command.args(["instructions", "--check"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let counted = said
        .lines()
        .filter(|line| line.contains(" instructions, budget "));
    assert_eq!(counted.count(), budgets::BUDGETS.len());
}

/// Whether the budgets speak of this program on this machine, or why not.
fn can_be_measured(program: &Path) -> Result<(), String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Err("the budgets are for Linux on x86-64".into());
    }
    let said = |program: &str| {
        let output = Command::new(program).arg("--version").output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    said("valgrind").ok_or("no valgrind")?;
    said("strace").ok_or("no strace")?;
    let rustc = said("rustc").ok_or("no rustc")?;
    if !rustc.starts_with(budgets::RUSTC) {
        let (wanted, rustc) = (budgets::RUSTC, rustc.trim());
        return Err(format!("the budgets are for {wanted}, and here is {rustc}"));
    }
    let built =
        modified(program).ok_or("no release build (make test-long PART=instructions makes one)")?;
    match sources(program)
        .iter()
        .find(|it| modified(it).is_none_or(|at| at > built))
    {
        Some(newer) => Err(format!(
            "the release build is older than {} (make test-long PART=instructions makes one)",
            newer.display()
        )),
        None => Ok(()),
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|it| it.modified()).ok()
}

/// The files that the program was built from, as cargo notes them beside it.
fn sources(program: &Path) -> Vec<PathBuf> {
    let notes = fs::read_to_string(program.with_extension("d")).unwrap_or_default();
    let (_, sources) = notes.split_once(": ").unwrap_or_default();
    // Blanks in names are escaped; the rule ends with the line.
    let sources = sources
        .lines()
        .next()
        .unwrap_or_default()
        .replace("\\ ", "\0");
    let sources = sources.split(' ').filter(|name| !name.is_empty());
    sources.map(|name| name.replace('\0', " ").into()).collect()
}
