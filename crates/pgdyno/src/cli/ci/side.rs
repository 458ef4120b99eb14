//! What is measured: a server that runs, or a private one of these programs, with these settings, with this schema.

use std::fs;
use std::path::{Path, PathBuf};

use pgdyno_database::{own, trouble};
use pgdyno_output::{Verbosity, remark};
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_run::prepare;
use pgdyno_server::{Listen, Server};
use pgdyno_spec::{Address, Exit, Failure, OwnSpec, TargetSpec, TrialSpec};

use super::CiArgs;

/// A side as it was named.
pub struct Side {
    given: String,
    what: What,
}

enum What {
    /// The directory with `postgres`.
    Programs(PathBuf),
    Url(Address),
    /// `NAME=VALUE` each.
    Settings(Vec<String>),
    /// Statements.
    Schema(String),
}

/// A side whose server runs.
pub struct Ready {
    /// As it was given, without a password.
    pub given: String,
    /// `programs` …
    pub kind: &'static str,
    /// Where it is.
    pub url: Address,
    /// A private one; it ends with this.
    pub server: Option<Server>,
}

impl Side {
    /// What this text names.
    ///
    /// # Errors
    /// It is no server, directory or file; the directory has no `postgres`, the file cannot be read.
    pub fn of(option: &str, text: &str) -> Result<Self, Failure> {
        let wrong = |why: String| Failure::with(Exit::Usage, format!("{option} {why}"));
        let path = Path::new(text);
        if path.is_dir() {
            let bin = path.join("bin");
            let places = [path, &bin];
            let found = places
                .into_iter()
                .find(|place| place.join("postgres").is_file());
            let found = found.ok_or_else(|| {
                wrong(format!("{text}: no program postgres in this directory"))
                    .hint("give the directory that pg_config --bindir prints")
            })?;
            let absolute = std::path::absolute(found).unwrap_or_else(|_| found.to_owned());
            return Ok(Self {
                given: text.to_owned(),
                what: What::Programs(absolute),
            });
        }
        if path.is_file() {
            let content = fs::read_to_string(path)
                .map_err(|error| wrong(format!("{text}: it cannot be read: {error}")))?;
            let what = if path.extension().is_some_and(|end| end == "sql") {
                What::Schema(content)
            } else {
                What::Settings(settings(&content).map_err(|(line, why)| {
                    wrong(format!("{text}:{line}: {why}"))
                        .hint("a settings file has lines as postgresql.conf: work_mem = '64MB'")
                        .hint("a schema's name ends in .sql")
                })?)
            };
            return Ok(Self {
                given: text.to_owned(),
                what,
            });
        }
        if text.contains("://") || text.contains('=') {
            let url = Address::from(text);
            return Ok(Self {
                given: url.public(),
                what: What::Url(url),
            });
        }
        Err(wrong(format!("{text}: there is no such directory or file"))
            .hint("give PostgreSQL's program directory, a URL, a settings file or a schema (.sql)"))
    }

    fn is_private(&self) -> bool {
        !matches!(self.what, What::Url(_))
    }

    /// Starts its server where it is private, loads the tables and runs the schema.
    ///
    /// # Errors
    /// It does not start, its tables cannot be loaded, or the schema has a mistake.
    pub fn start(
        self,
        option: &str,
        args: &CiArgs,
        spec: &TrialSpec,
        verbosity: Verbosity,
        interrupts: &'static Interrupts,
    ) -> Result<Ready, Failure> {
        let Self { given, what } = self;
        let (kind, bindir, settings, schema) = match what {
            What::Url(url) => {
                return Ok(Ready {
                    given,
                    kind: "url",
                    url,
                    server: None,
                });
            }
            What::Programs(bindir) => ("programs", Some(bindir), Vec::new(), None),
            What::Settings(settings) => ("settings", args.pg_bindir.clone(), settings, None),
            What::Schema(text) => ("schema", args.pg_bindir.clone(), Vec::new(), Some(text)),
        };
        let of_both = ["synchronous_commit=off".to_owned()];
        let all = of_both.iter().chain(&args.pg_set).chain(&settings);
        let wanted = OwnSpec {
            pg_bindir: bindir,
            pg_set: all.map(|text| text.as_str().into()).collect(),
            pg_user: args.pg_user.clone(),
        };
        let named = |failure: Failure| Failure {
            message: format!("{option} {given}: {}", failure.message),
            ..failure
        };
        let options = own::options(&wanted, Listen::SocketOnly).map_err(named)?;
        let server = Server::start(&options, &mut |step| {
            if !verbosity.quiet {
                remark!("pgdyno: {option}: {step}");
            }
        });
        // Neither side has lost: there is no answer.
        let not_started = |failure: Failure| Failure {
            exit: match failure.exit {
                Exit::Failed => Exit::Connection,
                exit => exit,
            },
            ..named(failure)
        };
        let server = server.map_err(|error| not_started(trouble::own_server(error)))?;
        let url = Address::from(server.address().url());
        let spec = TrialSpec {
            target: TargetSpec::at(url.clone()),
            ..spec.clone()
        };
        let prepared = prepare::prepare(&spec, &mut verbosity.progress(), interrupts);
        let prepared = prepared.map_err(named)?;
        if let Some(schema) = schema {
            let mut session = prepared.target.connect().map_err(named)?;
            session
                .unhurried()
                .simple_query(&schema)
                .map_err(|error| named(trouble::server(&error, "the schema has a mistake")))?;
            session.close();
        }
        Ok(Ready {
            given,
            kind,
            url,
            server: Some(server),
        })
    }
}

/// Refuses sides that are the same, and a duet of servers that are not pgdyno's own.
///
/// # Errors
/// They are.
pub fn check(base: &Side, head: &Side, args: &CiArgs) -> Result<(), Failure> {
    let place = |text: &str| fs::canonicalize(text).unwrap_or_else(|_| text.into());
    if place(&args.base) == place(&args.head) {
        let text = format!("--base and --head are both {}", base.given);
        return Err(Failure::with(Exit::Usage, text)
            .hint("to see how sure the answer is, compare with a copy of the directory"));
    }
    for (option, side) in [("--base", base), ("--head", head)] {
        if args.duet && !side.is_private() {
            let text = format!(
                "{option}: --duet gives each server half of the CPUs, so it must start both itself"
            );
            return Err(Failure::with(Exit::Usage, text)
                .hint("without --duet they are measured by turns, wherever they run"));
        }
    }
    Ok(())
}

/// The settings of a text that is written as postgresql.conf; else a line and what is wrong there.
fn settings(text: &str) -> Result<Vec<String>, (usize, String)> {
    let mut settings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = |why: &str| Err((index + 1, why.to_owned()));
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || "_.".contains(c)));
        let (name, rest) = line.split_at(end.unwrap_or(line.len()));
        if name.is_empty() {
            return wrong("a line begins with the name of a setting");
        }
        if name.starts_with("include") {
            return wrong("other files are not included");
        }
        let rest = rest.trim_start();
        let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
        let value = match rest.strip_prefix('\'') {
            Some(quoted) => {
                let Some(value) = quoted_value(quoted) else {
                    return wrong("the value's quote does not end");
                };
                value
            }
            None => rest
                .split(['#', ' ', '\t'])
                .next()
                .unwrap_or_default()
                .to_owned(),
        };
        if value.is_empty() && !rest.starts_with('\'') {
            return wrong("the setting has no value");
        }
        settings.push(format!("{name}={value}"));
    }
    if settings.is_empty() {
        Err((1, "there is no setting in it".to_owned()))
    } else {
        Ok(settings)
    }
}

/// Up to the quote that ends it; two of them are one.
fn quoted_value(text: &str) -> Option<String> {
    let mut value = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\'' if chars.as_str().starts_with('\'') => {
                value.push(char);
                chars.next();
            }
            '\'' => return Some(value),
            char => value.push(char),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_the_server_does() {
        let text = "# ours\nwork_mem = 64MB\nsearch_path = 'a, ''b'''  # two\n\nauto_explain.x on\nempty = ''\n";
        assert_eq!(
            settings(text).unwrap(),
            [
                "work_mem=64MB",
                "search_path=a, 'b'",
                "auto_explain.x=on",
                "empty="
            ]
        );
        for (text, line, want) in [
            ("", 1, "no setting"),
            ("\nwork_mem =\n", 2, "no value"),
            ("work_mem = '64MB\n", 1, "does not end"),
            ("include 'other.conf'\n", 1, "not included"),
            ("= 5\n", 1, "begins with the name"),
        ] {
            let (at, why) = settings(text).unwrap_err();
            assert!(at == line && why.contains(want), "{text}: {at}: {why}");
        }
    }

    #[test]
    fn a_side_is_what_it_looks_like() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        fs::write(at("a.sql"), "SELECT 1").unwrap();
        fs::write(at("a.conf"), "work_mem = 1MB").unwrap();
        fs::create_dir_all(at("pg/bin")).unwrap();
        fs::write(at("pg/bin/postgres"), "").unwrap();
        let what = |text: &str| Side::of("--base", text).map(|side| side.what);
        assert!(matches!(what(&at("a.sql")), Ok(What::Schema(_))));
        assert!(matches!(what(&at("a.conf")), Ok(What::Settings(_))));
        for directory in ["pg", "pg/bin"] {
            let Ok(What::Programs(found)) = what(&at(directory)) else {
                panic!("{directory} has programs");
            };
            assert!(found.ends_with("pg/bin"), "{found:?}");
        }
        assert!(matches!(what("host=a dbname=b"), Ok(What::Url(_))));
        let url = Side::of("--base", "postgresql://me:secret@db1/b").unwrap();
        assert!(!url.given.contains("secret"), "{}", url.given);
    }
}
