//! `pgdyno-bench instructions`: what a transaction costs the engine in user instructions (callgrind,
//! epoll, which valgrind knows) and in system calls (strace, both ways to wait). The engine is
//! `engine.rs`, the server `transcript.rs`, each in a process of its own. A figure is the difference of a
//! long run and a short one, by their transactions: starting and connecting are in both.
//!
//! Instructions do not depend on what else the machine does; system calls do a little, because answers
//! that are ready together are taken together.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pgdyno_platform::io::Choice;

use crate::Error;
use crate::budgets::{BUDGETS, InstructionBudget, RUSTC};
use crate::engine::BenchEngine;

const CLIENTS: u64 = 8;
/// Transactions of each client in the short and in the long run, for one statement a transaction.
const TRANSACTIONS: (u64, u64) = (250, 1750);
/// The server's socket in its directory.
const SOCKET: &str = "server";
/// Wait so long for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is run for a row of [`BUDGETS`].
struct Work {
    mode: &'static str,
    /// Files below the repository, with weights.
    scripts: &'static [&'static str],
    parameters: &'static [&'static str],
    /// By how much its runs are shorter: its transactions have so many statements.
    statements: u64,
}

const TPCB: &[&str] = &["workloads/tpcb/tpcb.sql"];

fn work(row: &str) -> Work {
    let (mode, scripts, parameters, statements): (_, _, &[&str], _) = match row {
        "tpcb, prepared" => ("prepared", TPCB, &["scale=100"], 5),
        "tpcb, simple" => ("simple", TPCB, &["scale=100"], 5),
        // The pack as `pgdyno run ycsb --mix b` has it, written out: the server has no tables to recognise.
        "YCSB B, prepared" => (
            "prepared",
            &[
                "bench/instructions/ycsb-read.sql@95",
                "bench/instructions/ycsb-update.sql@5",
            ],
            &[
                "recordcount=10000",
                "inserted=0",
                "insertproportion=0.0",
                "theta=0.99",
                "recordstart=0",
                "zeropadding=1",
                "fieldcount=10",
                "fieldlength=100",
            ],
            1,
        ),
        _ => (
            "prepared",
            &["workloads/select-only/select-only.sql"],
            &["scale=100"],
            1,
        ),
    };
    Work {
        mode,
        scripts,
        parameters,
        statements,
    }
}

/// Prints the table; `--write FILE` writes it too. `--check`: an error where a row
/// is above its budgets. `--run`: the transactions alone, not counted, for who profiles this program.
///
/// # Errors
/// valgrind or strace is missing, or a run fails.
pub fn open(arguments: &[String]) -> Result<(), Error> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (verb, file) = match words[..] {
        [] => ("", None),
        [verb @ ("--check" | "--run")] => (verb, None),
        ["--write", file] => ("", Some(file)),
        _ => {
            return Err("usage: pgdyno-bench instructions [--check | --run | --write FILE]".into());
        }
    };
    let bench = InstructionBench {
        program: std::env::current_exe()?,
        server: Server::start()?,
    };
    match verb {
        "--check" => return bench.check(),
        "--run" => return bench.run_all(),
        _ => {}
    }
    let table = bench.table()?;
    print!("{table}");
    if let Some(file) = file {
        let text = format!(
            "<!-- Written by `make bench-instructions`; not to be edited. -->\n\
             # Instructions and system calls of a transaction\n\n\
             {RUSTC}, profile release, {CLIENTS} clients on one thread, a server that answers at once: see \
             README.md.\n\n{table}"
        );
        fs::write(file, text).map_err(|e| format!("cannot write {file}: {e}"))?;
    }
    Ok(())
}

struct InstructionBench {
    program: PathBuf,
    server: Server,
}

impl InstructionBench {
    fn check(&self) -> Result<(), Error> {
        let mut above = String::new();
        // Where it is forbidden there is nothing to count.
        let has_uring = Choice::Uring.open(1, 1).is_ok();
        for budget in &BUDGETS {
            let row = budget.row;
            let count = least(budget.limit(), || self.instructions(row))?;
            println!(
                "{row}: {count:.0} instructions, budget {:.0}",
                budget.reached
            );
            // Writing to a String cannot fail.
            if count > budget.limit() {
                let _ = write!(
                    above,
                    "\n{row}: {count:.0} instructions a transaction, and {:.0} is the limit \
                     (`callgrind_annotate` shows where they are)",
                    budget.limit()
                );
            }
            if !has_uring {
                continue;
            }
            let calls = least(budget.calls_limit(), || self.system_calls(row, "uring"))?;
            println!("{row}: {calls:.2} system calls, budget {:.2}", budget.calls);
            if calls > budget.calls_limit() {
                let _ = write!(
                    above,
                    "\n{row}: {calls:.2} system calls a transaction with io_uring, and {:.2} is the limit",
                    budget.calls_limit()
                );
            }
        }
        if above.is_empty() {
            Ok(())
        } else {
            Err(format!("above the budgets of bench/src/budgets.rs:{above}").into())
        }
    }

    fn run_all(&self) -> Result<(), Error> {
        for InstructionBudget { row, .. } in &BUDGETS {
            let transactions = TRANSACTIONS.1 / work(row).statements;
            self.run(Command::new("env"), row, "epoll", transactions)?;
        }
        Ok(())
    }

    fn table(&self) -> Result<String, Error> {
        let mut table = String::from(
            "| row | user instructions | goal | met | system calls, epoll | system calls, io_uring |\n\
             |---|---:|---:|---|---:|---:|\n",
        );
        for InstructionBudget { row, goal, .. } in &BUDGETS {
            let count = self.instructions(row)?;
            let met = if count <= *goal { "yes" } else { "no" };
            let [epoll, uring] = ["epoll", "uring"].map(|io| self.system_calls(row, io));
            // Writing to a String cannot fail.
            let _ = writeln!(
                table,
                "| {row} | {count:.0} | {goal:.0} | {met} | {:.2} | {:.2} |",
                epoll?, uring?
            );
        }
        Ok(table)
    }

    fn instructions(&self, row: &str) -> Result<f64, Error> {
        self.of_a_transaction(row, |transactions| {
            let out = self.server.directory.path().join("callgrind.out");
            let mut valgrind = Command::new("valgrind");
            valgrind
                .args(["--quiet", "--tool=callgrind"])
                .arg(format!("--callgrind-out-file={}", out.display()));
            self.run(valgrind, row, "epoll", transactions)?;
            let said = fs::read_to_string(&out)?;
            total(&said).ok_or_else(|| "callgrind wrote no total".into())
        })
    }

    fn system_calls(&self, row: &str, io: &str) -> Result<f64, Error> {
        self.of_a_transaction(row, |transactions| {
            let out = self.server.directory.path().join("strace.out");
            let mut strace = Command::new("strace");
            strace
                .args(["--follow-forks", "--summary-only", "--output"])
                .arg(&out);
            self.run(strace, row, io, transactions)?;
            let said = fs::read_to_string(&out)?;
            calls(&said).ok_or_else(|| "strace wrote no total".into())
        })
    }

    /// The difference of what `count` says of two runs with so many transactions a client.
    fn of_a_transaction(
        &self,
        row: &str,
        count: impl Fn(u64) -> Result<u64, Error>,
    ) -> Result<f64, Error> {
        let statements = work(row).statements;
        let (few, many) = (TRANSACTIONS.0 / statements, TRANSACTIONS.1 / statements);
        let (short, long) = (count(few)?, count(many)?);
        let transactions = (many - few) * CLIENTS;
        Ok(long.saturating_sub(short) as f64 / transactions as f64)
    }

    fn run(&self, mut under: Command, row: &str, io: &str, transactions: u64) -> Result<(), Error> {
        let work = work(row);
        let tool = under.get_program().to_string_lossy().into_owned();
        let words = work.parameters.iter().chain(work.scripts);
        let engine = BenchEngine {
            socket: self.server.socket(),
            mode: work.mode.to_owned(),
            io: io.to_owned(),
            clients: CLIENTS as usize,
            transactions,
            words: words.map(|word| (*word).to_owned()).collect(),
        };
        under
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .arg(&self.program)
            .args(engine.arguments());
        let output = under
            .output()
            .map_err(|e| format!("cannot run {tool}: {e}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{row}, {tool}: {said}").into())
    }
}

/// The least of a few counts, of no more than it takes to be within the limit: a busy machine adds to each.
fn least(limit: f64, count: impl Fn() -> Result<f64, Error>) -> Result<f64, Error> {
    const TRIES: usize = 5;
    let mut least = count()?;
    for _ in 1..TRIES {
        if least > limit {
            least = least.min(count()?);
        }
    }
    Ok(least)
}

/// The sum that callgrind writes behind all functions.
fn total(said: &str) -> Option<u64> {
    let line = said
        .lines()
        .rev()
        .find_map(|it| it.strip_prefix("totals: "))?;
    line.trim().parse().ok()
}

/// The calls in the last line of strace's table.
fn calls(said: &str) -> Option<u64> {
    let line = said.lines().rev().find(|line| line.ends_with(" total"))?;
    // % of the time, seconds, µs a call, calls, perhaps errors.
    line.split_whitespace().nth(3)?.parse().ok()
}

/// The server in a process of its own, until it is dropped.
struct Server {
    process: Child,
    directory: tempfile::TempDir,
}

impl Server {
    fn start() -> Result<Self, Error> {
        let directory = tempfile::tempdir()?;
        let socket = directory.path().join(SOCKET);
        let process = Command::new(std::env::current_exe()?)
            .arg("transcript")
            .arg(&socket)
            .stdin(Stdio::null())
            .spawn()?;
        let server = Self { process, directory };
        let begun = Instant::now();
        while !socket.exists() {
            if begun.elapsed() > PATIENCE {
                return Err("the server that answers at once does not start".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(server)
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join(SOCKET)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tools_write_is_read() {
        let callgrind = "events: Ir\nfn=(0)\n0 12\n\ntotals: 48211\n";
        assert_eq!(total(callgrind), Some(48211));
        let strace = "% time     seconds  usecs/call     calls    errors syscall\n\
                      ------ ----------- ----------- --------- --------- ----------------\n \
                      60.05    0.001221           6       203         1 read\n\
                      ------ ----------- ----------- --------- --------- ----------------\n\
                      100.00    0.002033           6       310         4 total\n";
        assert_eq!(calls(strace), Some(310));
        assert_eq!((total(""), calls("")), (None, None));
    }

    #[test]
    fn every_row_has_its_scripts() {
        for budget in &BUDGETS {
            for script in work(budget.row).scripts {
                let path = script.split('@').next().unwrap_or_default();
                let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
                    .join("..")
                    .join(path);
                assert!(path.is_file(), "{}: {}", budget.row, path.display());
            }
        }
    }
}
