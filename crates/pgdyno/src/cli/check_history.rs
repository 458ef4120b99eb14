//! `pgdyno check-history`: which isolation levels a recorded history keeps. Needs no database.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;

use pgdyno_isolation::{Depth, Level, LevelVerdict, Progress, Report, check, read_with};
use pgdyno_output::Verbosity;
use pgdyno_spec::{Exit, Failure};

/// A larger file would not fit into the memory of most machines together with its history.
const FILE_BYTES_MAX: u64 = 4 << 30;
/// What takes less is not announced.
const SHORT: Duration = Duration::from_secs(2);

/// What is checked.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno check-history history.edn
  pgdyno check-history history.json --level serializable

The file has one event a line, in Elle's EDN or JSON: pgdyno help isolation.

Exit codes: 0 if the level given with --level is not broken (without --level: always), 1 if it is, 2 if the file cannot be
read as a history, 4 if it is not known whether it is broken.")]
pub struct CheckHistoryArgs {
    /// A history in Elle's EDN or JSON form
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Exit with code 1 if this level is broken, 4 if that is not known: read-committed, snapshot-isolation, serializable …
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub level: Option<Level>,
    /// Look only for what read committed forbids: faster, less memory
    #[arg(long)]
    pub only_read_committed: bool,
}

fn level(text: &str) -> Result<Level, String> {
    let name = |level: Level| level.name().replace(' ', "-");
    let found = Level::ALL.into_iter().find(|&level| name(level) == text);
    found.ok_or_else(|| {
        let names: Vec<String> = Level::ALL.into_iter().map(name).collect();
        format!("there is no such level; there are {}", names.join(", "))
    })
}

/// Runs the command.
pub fn open(args: &CheckHistoryArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let report = checked(args, verbosity)?;
    pgdyno_output::write_report(format_args!("{}\n", report.to_string().trim_end()))?;
    Ok(exit(&report, args.level))
}

fn checked(args: &CheckHistoryArgs, verbosity: Verbosity) -> Result<Report, Failure> {
    let path = &args.file;
    // Code 1 is kept for a level that is broken.
    let of_file = |problem: &dyn std::fmt::Display| {
        Failure::with(Exit::Usage, format!("{}: {problem}", path.display()))
    };
    let mut progress_lines = ProgressLines::new(verbosity);
    let history =
        read_with(&text(path)?, &mut |progress| progress_lines.say(progress)).map_err(|error| {
            of_file(&error).hint("pgdyno help isolation describes the form of a history")
        })?;
    let depth = if args.only_read_committed {
        Depth::ReadCommitted
    } else {
        Depth::All
    };
    check(&history, depth, &mut |progress| {
        progress_lines.say(progress)
    })
    .map_err(|error| of_file(&error))
}

/// What has been reported of progress.
struct ProgressLines {
    is_quiet: bool,
    started: Instant,
    said: Instant,
    phase: &'static str,
}

impl ProgressLines {
    fn new(verbosity: Verbosity) -> Self {
        let now = Instant::now();
        Self {
            is_quiet: verbosity.quiet,
            started: now,
            said: now,
            phase: "",
        }
    }

    /// Says each phase once it begins, and how far a long one is; nothing of what is short.
    fn say(&mut self, progress: Progress) {
        let is_new = progress.phase != self.phase && self.started.elapsed() > SHORT;
        let is_long = progress.of > 1 && self.said.elapsed() > SHORT;
        if self.is_quiet || !(is_new || is_long) {
            return;
        }
        (self.phase, self.said) = (progress.phase, Instant::now());
        pgdyno_output::remark!("pgdyno: {}", words(progress));
    }
}

fn words(progress: Progress) -> String {
    let phase = match progress.phase {
        "reading" => "reading the history".to_owned(),
        phase => format!("checking: {phase}"),
    };
    match progress.of {
        ..=1 => phase,
        of => format!("{phase}, {} %", progress.done * 100 / of),
    }
}

fn text(path: &Path) -> Result<String, Failure> {
    let cannot = |error: &std::io::Error| {
        Failure::with(
            Exit::Usage,
            format!("cannot read the history {}: {error}", path.display()),
        )
        .hint("a run writes one: pgdyno run isolation --history FILE; of a kept trial: pgdyno export 12 --history -o FILE")
    };
    let bytes = fs::metadata(path).map_err(|error| cannot(&error))?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(Failure::with(
            Exit::Usage,
            format!(
                "{} has {bytes} bytes, more than {FILE_BYTES_MAX}",
                path.display()
            ),
        )
        .hint("check its first part: a history that is cut off is checked up to there"));
    }
    fs::read_to_string(path).map_err(|error| cannot(&error))
}

fn exit(report: &Report, level: Option<Level>) -> Exit {
    match level.map(|level| report.verdict(level)) {
        None | Some(LevelVerdict::NoViolation) => Exit::Ok,
        Some(LevelVerdict::Broken(_)) => Exit::Failed,
        Some(LevelVerdict::NotKnown(_)) => Exit::CannotTell,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: CheckHistoryArgs,
    }

    const WRITE_SKEW: &str = r#"{"type":"invoke","process":0,"value":[["r","x",null],["append","y",1]]}
{"type":"invoke","process":1,"value":[["r","y",null],["append","x",1]]}
{"type":"ok","process":0,"value":[["r","x",[]],["append","y",1]]}
{"type":"ok","process":1,"value":[["r","y",[]],["append","x",1]]}
"#;

    fn outcome(text: &str, options: &[&str]) -> Result<Exit, Failure> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let line = ["check-history", file.path().to_str().unwrap()];
        let line = line.into_iter().chain(options.iter().copied());
        let args = Line::try_parse_from(line).unwrap().args;
        let report = checked(&args, Verbosity::default())?;
        Ok(exit(&report, args.level))
    }

    #[test]
    fn the_exit_code_says_whether_the_level_was_kept() {
        let of = |options: &[&str]| outcome(WRITE_SKEW, options).unwrap();
        assert_eq!(of(&[]), Exit::Ok);
        assert_eq!(of(&["--level", "snapshot-isolation"]), Exit::Ok);
        assert_eq!(of(&["--level", "serializable"]), Exit::Failed);
        let shallow = ["--only-read-committed", "--level", "serializable"];
        assert_eq!(of(&shallow), Exit::CannotTell);
        assert_eq!(
            outcome("", &["--level", "serializable"]).unwrap(),
            Exit::CannotTell
        );
    }

    #[test]
    fn progress_says_its_phase_and_of_a_long_one_how_far_it_is() {
        let at = |phase, done, of| words(Progress { phase, done, of });
        assert_eq!(at("causal", 0, 1), "checking: causal");
        let reading = at("reading", 1 << 20, 3 << 20);
        assert_eq!(reading, "reading the history, 33 %");
    }

    #[test]
    fn a_mistake_in_a_history_is_named_with_file_and_line() {
        let failure = outcome("{:type :ok :process 1}", &[]).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        let failure = failure.to_string();
        assert!(
            failure.contains(": line 1, column 1: process 1 ends a transaction that has not begun"),
            "{failure}"
        );
        assert!(failure.contains("pgdyno help isolation"), "{failure}");
        let twice = WRITE_SKEW.replace("\"x\",1]", "\"y\",1]");
        let failure = outcome(&twice, &[]).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        let failure = failure.to_string();
        assert!(
            failure.contains("value 1 of key y is written twice"),
            "{failure}"
        );
    }

    #[test]
    fn a_file_that_is_not_there_and_an_unknown_level_are_usage_errors() {
        let line = ["check-history", "/nowhere/history.edn"];
        let args = Line::try_parse_from(line).unwrap().args;
        let failure = checked(&args, Verbosity::default()).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        assert!(
            failure
                .message
                .starts_with("cannot read the history /nowhere/history.edn")
        );
        let error = Line::try_parse_from(["check-history", "f", "--level", "acid"]);
        let error = error.err().unwrap().to_string();
        assert!(
            error.contains("there are read-uncommitted, read-committed"),
            "{error}"
        );
    }
}
