//! Runs a command line with stock pgbench and with the program under test, on the same database,
//! and compares all that comes out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;

use pgdyno_server::Server;
use pgdyno_testkit::stock_pgbench;

use crate::child::Running;
use crate::pgbench::mask::{self, Log, Mask};
use crate::pgbench::{diff, programs};
use crate::support::{Database, Ran};

/// A command line and what is compared of its run.
#[derive(Debug, Clone)]
pub struct Case {
    line: String,
    env: Vec<(&'static str, &'static str)>,
    before: &'static str,
    after: &'static str,
    stdin: Option<&'static str>,
    mask: Mask,
    log: Option<Log>,
    files: Vec<(&'static str, String)>,
}

/// A command line after `pgbench`, in words that single quotes hold together.
pub fn case(line: impl Into<String>) -> Case {
    Case {
        line: line.into(),
        env: Vec::new(),
        before: "",
        after: "",
        stdin: None,
        mask: Mask::default(),
        log: None,
        files: Vec::new(),
    }
}

impl Case {
    /// With this in the environment; an empty value takes the variable away.
    pub fn env(mut self, name: &'static str, value: &'static str) -> Case {
        self.env.push((name, value));
        self
    }

    /// Statements that come before each of the two runs.
    pub fn before(mut self, sql: &'static str) -> Case {
        self.before = sql;
        self
    }

    /// A query that must give the same after each of them.
    pub fn after(mut self, query: &'static str) -> Case {
        self.after = query;
        self
    }

    pub fn stdin(mut self, text: &'static str) -> Case {
        self.stdin = Some(text);
        self
    }

    /// Counts depend on time in this case.
    pub fn counts(mut self) -> Case {
        self.mask.counts = true;
        self
    }

    /// How often a line comes depends on time in this case.
    pub fn repeats(mut self) -> Case {
        self.mask.repeats = true;
        self
    }

    /// The order of lines depends on time in this case.
    pub fn any_order(mut self) -> Case {
        self.mask.order = true;
        self
    }

    /// The program chooses the random seed in this case.
    pub fn any_seed(mut self) -> Case {
        self.mask.seed = true;
        self
    }

    /// It writes this kind of log.
    pub fn log(mut self, log: Log) -> Case {
        self.log = Some(log);
        self
    }

    /// A file in the working directory, besides those of the setting.
    pub fn file(mut self, name: &'static str, text: String) -> Case {
        self.files.push((name, text));
        self
    }

    /// Whether there is something to do before each of the runs.
    pub fn has_before(&self) -> bool {
        !self.before.is_empty()
    }

    pub fn shown_files(&self) -> String {
        let file = |(name, text): &(&str, String)| format!("  {name}:\n{text}");
        self.files.iter().map(file).collect()
    }

    fn shown(&self) -> String {
        let env = self.env.iter();
        let env: String = env
            .map(|(name, value)| format!("{name}={value} "))
            .collect();
        format!("{env}pgbench {}", self.line)
    }
}

/// Splits at spaces outside single quotes.
pub fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

pub struct Setting<'a> {
    server: &'a Server,
    name: &'a str,
    database: Database,
    files: &'a [(&'a str, &'a str)],
}

impl<'a> Setting<'a> {
    /// A new database on the server, and script files in the working directory.
    pub fn new(server: &'a Server, name: &'a str, files: &'a [(&'a str, &'a str)]) -> Setting<'a> {
        Setting {
            server,
            name,
            database: Database::on(server, name),
            files,
        }
    }

    /// Has stock pgbench do this first.
    pub fn prepared(self, line: &str) -> Setting<'a> {
        let program = stock_pgbench().expect("asked for before");
        let ran = self.run(&program, &case(line), Path::new("/")).0;
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        self
    }

    /// Executes statements in the database.
    pub fn sql(self, statements: &str) -> Setting<'a> {
        self.database.sql(statements);
        self
    }

    /// Runs every case with both programs; fails when there is a difference in any, and shows
    /// all.
    pub fn compare(&self, cases: &[Case]) {
        let found: Vec<String> = cases
            .iter()
            .filter_map(|case| self.difference(case))
            .collect();
        assert!(
            found.is_empty(),
            "{} of {} command lines differ (- stock pgbench, + under test)\n{}",
            found.len(),
            cases.len(),
            found.concat()
        );
    }

    /// What differs between the programs in one case.
    pub fn difference(&self, case: &Case) -> Option<String> {
        let stock = stock_pgbench().expect("asked for before");
        let theirs = self.outcome(&stock, case);
        let ours = self.outcome(&programs::under_test(), case);
        let parts: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
        let mut report = String::new();
        for part in parts {
            let text = |all: &BTreeMap<String, String>| all.get(part).cloned().unwrap_or_default();
            let lines = diff::lines(&text(&theirs), &text(&ours));
            if lines.is_empty() {
                continue;
            }
            let _ = writeln!(report, "  {part}:");
            for line in lines.iter().take(30) {
                let _ = writeln!(report, "    {line}");
            }
            if lines.len() > 30 {
                let _ = writeln!(report, "    … {} lines more", lines.len() - 30);
            }
        }
        (!report.is_empty()).then(|| format!("\n{}\n{report}", case.shown()))
    }

    /// All that came out, by name: exit code, both streams, logs, what a query says.
    fn outcome(&self, program: &Path, case: &Case) -> BTreeMap<String, String> {
        if !case.before.is_empty() {
            self.database.sql(case.before);
        }
        let dir = tempfile::tempdir().expect("a temporary directory");
        for (name, text) in self.files {
            std::fs::write(dir.path().join(name), text).expect("a new directory");
        }
        for (name, text) in &case.files {
            std::fs::write(dir.path().join(name), text).expect("a new directory");
        }
        let (ran, pid) = self.run(program, case, dir.path());
        // The process id is part of a log's name.
        let stderr = match case.log {
            Some(_) => ran.stderr.replace(&format!(".{pid}"), ".PID"),
            None => ran.stderr,
        };
        let code = ran
            .code
            .map_or("ended by a signal".into(), |c| format!("{c}"));
        let mut all = BTreeMap::from([
            ("exit code".into(), code + "\n"),
            ("standard output".into(), mask::text(&ran.stdout, case.mask)),
            ("standard error".into(), mask::text(&stderr, case.mask)),
        ]);
        for entry in std::fs::read_dir(dir.path())
            .expect("it is there")
            .flatten()
        {
            let name = entry.file_name().into_string().expect("ASCII");
            let is_ours = self.files.iter().any(|(file, _)| *file == name)
                || case.files.iter().any(|(file, _)| *file == name);
            if name == "stdin" || is_ours {
                continue;
            }
            let text = std::fs::read_to_string(entry.path()).expect("UTF-8");
            let masked = case.log.map_or(text.clone(), |log| mask::log(&text, log));
            // A file with nothing in it is there all the same.
            let masked = format!(
                "{masked}({} file)\n",
                if text.is_empty() { "empty" } else { "a" }
            );
            all.insert(
                format!("file {}", name.replace(&pid.to_string(), "PID")),
                masked,
            );
        }
        if !case.after.is_empty() {
            let rows = self.database.rows(case.after).join("\n");
            all.insert("the database afterwards".into(), rows + "\n");
        }
        all
    }

    fn run(&self, program: &Path, case: &Case, dir: &Path) -> (Ran, u32) {
        let mut command = programs::command(program, dir);
        programs::at(&mut command, self.server, self.name).args(words(&case.line));
        for (name, value) in &case.env {
            match *value {
                "" => command.env_remove(name),
                value => command.env(name, value),
            };
        }
        if let Some(text) = case.stdin {
            let path = dir.join("stdin");
            std::fs::write(&path, text).expect("our directory");
            command.stdin(File::open(path).expect("just written"));
        }
        let running = Running::start(&mut command);
        let pid = running.id();
        (running.ended(), pid)
    }
}

#[test]
fn a_line_is_split_as_a_shell_would() {
    assert_eq!(words("-c 1  -D 'a=b c' ''"), ["-c", "1", "-D", "a=b c", ""]);
}
