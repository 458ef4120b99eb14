//! What these tests share: a database of one's own, the program, stock tools.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use pgdyno_server::Server;
use pgdyno_session::{Env, Given, Session, resolve};

pub mod notebook;

/// A new database on the server that all tests share.
pub struct Database {
    pub url: String,
}

impl Database {
    pub fn new(name: &str) -> Database {
        Database::on(pgdyno_testkit::postgres(), name)
    }

    pub fn on(server: &Server, name: &str) -> Database {
        let url = server.address().url();
        sql(&url, &format!("CREATE DATABASE {name}"));
        let url = url.replace("@/postgres?", &format!("@/{name}?"));
        Database { url }
    }

    /// The rows of a query, values joined by `|`.
    pub fn rows(&self, query: &str) -> Vec<String> {
        rows(&mut connect(&self.url), query)
    }

    /// The only value of a query.
    pub fn value(&self, query: &str) -> String {
        self.rows(query).join("\n")
    }

    pub fn sql(&self, statements: &str) {
        sql(&self.url, statements);
    }

    /// `pgdyno ARGS --url` of this database.
    pub fn pgdyno(&self, args: &[&str]) -> Ran {
        ran(pgdyno(args).args(["--url", &self.url]))
    }

    /// Waits until a query gives a row.
    pub fn wait_for(&self, query: &str) {
        let mut session = connect(&self.url);
        let began = Instant::now();
        while rows(&mut session, query).is_empty() {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "never came: {query}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

pub fn connect(url: &str) -> Session {
    let info = resolve(&Given::target(url), &Env::empty()).unwrap();
    let candidates = info.candidates().unwrap();
    Session::connect(&candidates.list, Some(Duration::from_secs(30))).unwrap()
}

pub fn sql(url: &str, statements: &str) {
    connect(url).simple_query(statements).unwrap();
}

pub fn rows(session: &mut Session, query: &str) -> Vec<String> {
    let outcome = session.query(query).unwrap();
    let text = |row: Vec<Option<String>>| {
        let values = row
            .into_iter()
            .map(|v| v.unwrap_or_else(|| "NULL".to_owned()));
        values.collect::<Vec<_>>().join("|")
    };
    outcome.rows.into_iter().map(text).collect()
}

/// The program, with nothing in its environment that names a server.
pub fn pgdyno(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pgdyno"));
    for (name, _) in std::env::vars_os() {
        // Where all servers of a run of the tests are: in memory, where a cluster's files cost a sixth.
        if name.to_string_lossy().starts_with("PG") && name != "PGDYNO_SERVERS" {
            command.env_remove(name);
        }
    }
    // Tests do not use the configuration and the notebook of the user who runs them.
    command.env("PGDYNO_CONFIG", "");
    let directory = std::env::var("TMPDIR").unwrap_or(env!("CARGO_TARGET_TMPDIR").to_owned());
    let directory = Path::new(&directory);
    match args.first() {
        // They keep nothing unless they are asked to.
        Some(&"pgbench" | &"ysql_bench") => command.env("PGDYNO_STORE", ""),
        _ => command.env(
            "PGDYNO_STORE",
            notebook::at(&directory.join("notebook.sqlite")),
        ),
    };
    if notebook::is_on_server() {
        command.env("XDG_DATA_HOME", directory.join("data"));
    }
    command.args(args).stdin(Stdio::null());
    command
}

/// The document within a report's file.
#[track_caller]
pub fn document_of(report: &std::path::Path) -> serde_json::Value {
    let page = std::fs::read_to_string(report).unwrap();
    let begin = "<script type=\"application/json\" id=\"data\">";
    let (_, rest) = page.split_once(begin).unwrap();
    let (document, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(document).unwrap()
}

#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// The exit code must be this, and each text must be on standard output or error, in one
    /// line or wrapped: where a line with a path breaks depends on where the checkout lies.
    #[track_caller]
    pub fn expect(self, code: i32, texts: &[&str]) -> Ran {
        if let Some(lacks) = self.lacks(code, texts) {
            panic!("{lacks} {self:#?}");
        }
        self
    }

    /// What is not as expected, if anything is not.
    pub fn lacks(&self, code: i32, texts: &[&str]) -> Option<String> {
        if self.code != Some(code) {
            return Some(format!("the exit code is not {code}:"));
        }
        let unwrapped = [&self.stdout, &self.stderr].map(|output| one_line(output));
        let is_there = |text: &str| {
            self.stdout.contains(text)
                || self.stderr.contains(text)
                || unwrapped.iter().any(|output| output.contains(text))
        };
        if let Some(missing) = texts.iter().find(|text| !is_there(text)) {
            return Some(format!("no \"{missing}\" in"));
        }
        let panicked = self.stderr.contains("panicked");
        panicked.then(|| "it panicked:".to_owned())
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn ran(command: &mut Command) -> Ran {
    ended(command.output().unwrap())
}

pub fn ended(output: Output) -> Ran {
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
