//! Has commands meet hostile servers, several at a time, and checks how they end: exit code, time,
//! memory, what they print, and whether their accounts add up.

use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use pgdyno_testkit::hostile::{Step, When};
use pgdyno_testkit::{HostileServer, status_kib};

use crate::child::Running;
use crate::hostile::scenario::Scenario;
use crate::support::{Ran, pgdyno};

/// Most of them only wait.
const AT_A_TIME: usize = 6;
/// Longer than any of these takes on a busy machine: it hangs.
const HANGS: Duration = Duration::from_secs(180);
/// The most that a process may hold. It is not optimised here, and as large as anywhere on its way
/// to the first transaction.
const MEMORY_KB_MAX: u64 = 200 << 10;

/// How a command ended, and what that took.
pub struct Ended {
    pub ran: Ran,
    pub memory_kb: u64,
    pub took: Duration,
}

/// What is done several at a time, each with its name; all failures are reported together.
#[track_caller]
pub fn all<T: Send>(
    cases: Vec<T>,
    name: impl Fn(&T) -> String + Sync,
    conduct: impl Fn(&T) -> Result<(), String> + Sync,
) {
    let only = std::env::var("PGDYNO_SCENARIO").unwrap_or_default();
    let cases: Vec<T> = cases
        .into_iter()
        .filter(|case| name(case).contains(&only))
        .collect();
    let (left, failures) = (Mutex::new(cases.into_iter()), Mutex::new(Vec::new()));
    let next = || left.lock().expect("no panic").next();
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(case) = next() {
                    if let Err(failure) = conduct(&case) {
                        let failure = format!("{}: {failure}", name(&case));
                        failures.lock().expect("no panic").push(failure);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no panic");
    assert!(
        failures.is_empty(),
        "{} failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Has `pgdyno run` and `pgdyno pgbench` meet each.
#[track_caller]
pub fn both(scenarios: Vec<Scenario>) {
    let cases = scenarios
        .iter()
        .filter(|it| can_be_sent(it))
        .flat_map(|it| [(it, "run"), (it, "pgbench")]);
    all(
        cases.collect(),
        |(scenario, command)| format!("{command}: {}", scenario.name),
        |(scenario, command)| match *command {
            "run" => run(scenario),
            _ => pgbench(scenario),
        },
    );
}

/// Whether its signal is heeded. A background job of a script is started with SIGINT ignored (POSIX, sh,
/// "Asynchronous Lists"), and so is all that it starts: Ctrl-C could not end a command there.
pub fn can_be_sent(scenario: &Scenario) -> bool {
    const SIGINT_BIT: u64 = 1 << 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    scenario.signal.is_none() || ignored.unwrap_or(0) & SIGINT_BIT == 0
}

fn run(scenario: &Scenario) -> Result<(), String> {
    let stage = Stage::new(scenario);
    let mut command = pgdyno(&["run", "marked.sql", "--warmup", "0", "--no-store"]);
    command.args(["--observe", "none", "--json=result.json"]);
    command.args(scenario.options.split_whitespace());
    command.args(scenario.run_options.split_whitespace());
    command.args(["--url", &stage.url(scenario)]);
    let ended = stage.ended(scenario, &mut command)?;
    let ran = &ended.ran;
    ended.check("run", scenario, scenario.codes.0, &scenario.run_says)?;
    for (text, of) in [(&ran.stdout, "output"), (&ran.stderr, "error")] {
        if let Some(it) = text.chars().find(|it| is_obeyed(*it)) {
            return Err(format!("{it:?} on standard {of}: {ran:#?}"));
        }
    }
    if scenario.counted == 0 {
        return Ok(());
    }
    let document = std::fs::read_to_string(stage.folder.path().join("result.json"));
    let document = document.map_err(|e| format!("no result: {e}: {ran:#?}"))?;
    let document: serde_json::Value =
        serde_json::from_str(&document).map_err(|e| format!("the result: {e}"))?;
    let measured = &document["measured"];
    let count = |name: &str| measured[name].as_u64().unwrap_or(0);
    let counted = ["committed", "failed", "skipped", "unknown"].map(count);
    let by_class = measured["failed_by_class"].as_object();
    let classes: u64 = by_class.map_or(0, |by| by.values().filter_map(|it| it.as_u64()).sum());
    let is_right = counted[0] == scenario.committed.0
        && counted.iter().sum::<u64>() == scenario.counted
        && classes == counted[1];
    if is_right {
        Ok(())
    } else {
        Err(format!("counts {counted:?}, {measured}: {ran:#?}"))
    }
}

fn pgbench(scenario: &Scenario) -> Result<(), String> {
    let stage = Stage::new(scenario);
    let mut command = pgdyno(&["pgbench", "-n", "-f", "marked.sql"]);
    command.args(scenario.options.split_whitespace());
    command.arg(stage.url(scenario));
    if scenario.on_terminal {
        command = on_terminal(&command);
    }
    let ended = stage.ended(scenario, &mut command)?;
    let ran = &ended.ran;
    ended.check(
        "pgbench",
        scenario,
        scenario.codes.1,
        &scenario.pgbench_says,
    )?;
    if scenario.on_terminal {
        // The terminal adds a return to each line.
        let shown = ran.stdout.replace("\r\n", "\n");
        if let Some(it) = shown.chars().find(|it| is_obeyed(*it)) {
            return Err(format!("{it:?} on the terminal: {ran:#?}"));
        }
    }
    if scenario.has_no_report() {
        return Ok(());
    }
    let processed = format!(
        "number of transactions actually processed: {}",
        scenario.committed.1
    );
    let mut lines = ran.stdout.lines();
    let is_right = lines.any(|line| {
        let rest = line.strip_prefix(&processed);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    if is_right {
        Ok(())
    } else {
        Err(format!("not {processed}: {ran:#?}"))
    }
}

/// A server and a folder with the script.
struct Stage {
    server: HostileServer,
    folder: tempfile::TempDir,
}

impl Stage {
    fn new(scenario: &Scenario) -> Stage {
        let folder = tempfile::tempdir().expect("there is room");
        std::fs::write(folder.path().join("marked.sql"), &scenario.script).expect("there is room");
        let server = server(scenario.when.clone(), scenario.steps.clone());
        Stage { server, folder }
    }

    fn url(&self, scenario: &Scenario) -> String {
        self.server.url_with(scenario.url)
    }

    fn ended(&self, scenario: &Scenario, command: &mut Command) -> Result<Ended, String> {
        let command = command.current_dir(self.folder.path());
        ended(command, |running| {
            let Some(signal) = scenario.signal else {
                return Ok(());
            };
            let begun = Instant::now();
            // At each client, so that all are counted.
            while self.server.times_played() < scenario.counted.max(1) as usize {
                if running.is_over() || begun.elapsed() > HANGS {
                    return Err("the server has not come to its steps".to_owned());
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            running.signal(signal);
            Ok(())
        })
    }
}

/// A hostile server before the one that all tests share.
pub fn server(when: When, steps: Vec<Step>) -> HostileServer {
    let socket = pgdyno_testkit::postgres().address().socket_path();
    HostileServer::start(&socket, when, steps)
}

/// Runs to the end, and watches.
pub fn ended(
    command: &mut Command,
    meanwhile: impl FnOnce(&mut Running) -> Result<(), String>,
) -> Result<Ended, String> {
    let begun = Instant::now();
    let mut running = Running::start(command);
    meanwhile(&mut running)?;
    let mut memory_kb = 0;
    while !running.is_over() {
        memory_kb = memory_kb.max(peak_kb(running.id()));
        if begun.elapsed() > HANGS {
            return Err(format!("hangs, after {:?}", begun.elapsed()));
        }
        std::thread::sleep(Duration::from_millis(4));
    }
    let took = begun.elapsed();
    Ok(Ended {
        ran: running.ended(),
        memory_kb,
        took,
    })
}

impl Ended {
    /// What holds for every command. With `--nocapture` it is shown.
    pub fn check(
        &self,
        command: &str,
        scenario: &Scenario,
        code: i32,
        words: &str,
    ) -> Result<(), String> {
        let Ended {
            ran,
            memory_kb,
            took,
        } = self;
        let printed = ran.stdout.len() + ran.stderr.len();
        println!(
            "{command:8}{:5.1} s {:4} MB {printed:8} bytes  exit {:4}  {}",
            took.as_secs_f64(),
            memory_kb >> 10,
            ran.code.unwrap_or(-1),
            scenario.name
        );
        let problem = if ran.code != Some(code) {
            format!("exit code {:?} in place of {code}", ran.code)
        } else if !ran.stdout.contains(words) && !ran.stderr.contains(words) {
            format!("does not say \"{words}\"")
        } else if format!("{}{}", ran.stdout, ran.stderr).contains("panicked") {
            "panics".to_owned()
        } else if *memory_kb > MEMORY_KB_MAX {
            format!("{memory_kb} kB")
        } else if printed > scenario.printed_bytes_max {
            format!("prints {printed} bytes")
        } else {
            return Ok(());
        };
        let cut = |text: &str| text.chars().take(3000).collect::<String>();
        Err(format!(
            "{problem}\n--- output\n{}\n--- error\n{}",
            cut(&ran.stdout),
            cut(&ran.stderr)
        ))
    }
}

/// Whether a terminal would obey it, or a reader be deceived.
pub fn is_obeyed(c: char) -> bool {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && !matches!(c, '\n' | '\t')) || turns
}

/// The most memory that a process or one of its children has had, while it runs.
fn peak_kb(process: u32) -> u64 {
    let own = status_kib(process, "VmHWM").unwrap_or(0);
    let children = format!("/proc/{process}/task/{process}/children");
    let children = std::fs::read_to_string(children).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|it| it.parse().ok());
    children.map(peak_kb).fold(own, u64::max)
}

/// The same command, whose output is a terminal.
pub fn on_terminal(command: &Command) -> Command {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line: Vec<String> = words
        .map(|word| format!("'{}'", word.to_string_lossy()))
        .collect();
    let mut script = Command::new("script");
    script.args(["-qec", &line.join(" "), "/dev/null"]);
    script.stdin(std::process::Stdio::null());
    script
}
