//! Reads the command line. What clap does not know is looked at once more: an option of pgbench's is translated
//! ([`pgbench`]), a word of another tool's ([`other_tools`]) or a wrong value ([`values`]) is answered with what to type.

mod other_tools;
mod pgbench;
mod values;

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};

use pgdyno_spec::{Exit, Failure, suggest::nearest};

/// Why a command line cannot be read.
#[derive(Debug)]
pub enum Wrong {
    /// As clap says.
    Clap(clap::Error),
    /// What is to be typed.
    Answered(Failure),
}

/// A command line that clap does not read.
struct Mistake<'a> {
    command: &'a Command,
    words: &'a [OsString],
    wrong: &'a clap::Error,
}

impl<'a> Mistake<'a> {
    fn text(&self, kind: ContextKind) -> Option<&'a str> {
        match self.wrong.get(kind) {
            Some(ContextValue::String(text)) => Some(text),
            _ => None,
        }
    }

    fn verbs(&self) -> Vec<&'a Command> {
        verbs(self.command, self.words)
    }

    /// The innermost of them.
    fn verb(&self) -> Option<&'a Command> {
        verb(self.command, self.words)
    }

    fn path(&self) -> String {
        path(&self.verbs())
    }
}

/// Reads a command line.
///
/// # Errors
/// What clap says, or what is to be typed.
pub fn read(command: &Command, mut words: Vec<OsString>) -> Result<ArgMatches, Wrong> {
    if let Some(failure) = values::in_two_words(&words).or_else(|| values::behind_equals(&words)) {
        return Err(Wrong::Answered(failure));
    }
    loop {
        let wrong = match command.clone().try_get_matches_from(&words) {
            Ok(matches) => {
                let verb = verb(command, &words);
                let bare = verb.and_then(|verb| values::limit_without_unit(verb, &words));
                return bare.map_or(Ok(matches), |failure| Err(Wrong::Answered(failure)));
            }
            Err(wrong) => wrong,
        };
        let mistake = Mistake {
            command,
            words: &words,
            wrong: &wrong,
        };
        words = match pgbench::translated(&mistake) {
            Some(translated) => translated.map_err(Wrong::Answered)?,
            None => {
                return Err(match answer(&mistake) {
                    Some(failure) => Wrong::Answered(failure),
                    None => Wrong::Clap(of_clap(command, &words, wrong)),
                });
            }
        };
    }
}

/// What is to be typed, if it is known.
fn answer(mistake: &Mistake) -> Option<Failure> {
    let text = |kind| mistake.text(kind);
    let verbs = mistake.verbs();
    match mistake.wrong.kind() {
        ErrorKind::UnknownArgument if verbs.is_empty() => Some(
            usage("a command comes first, as in pgdyno run tpcb -c 8 -T 60")
                .hint("pgbench's own command line: pgdyno pgbench …; all commands: pgdyno --help"),
        ),
        ErrorKind::UnknownArgument => {
            let typed = text(ContextKind::InvalidArg)?;
            let name = typed.split('=').next().unwrap_or(typed);
            other_tools::option(&verbs, name, typed)
                .or_else(|| other_tools::same_letters(&verbs, name))
        }
        ErrorKind::InvalidSubcommand => {
            let typed = text(ContextKind::InvalidSubcommand)?;
            let mut words = mistake.words.iter().skip(1);
            let first = words.find(|word| !word.to_string_lossy().starts_with('-'));
            Some(match verbs.last() {
                Some(verb) if first.is_none_or(|first| first != typed) => {
                    other_tools::nothing_below(verb, typed)
                }
                _ => other_tools::no_command(mistake.command, typed),
            })
        }
        // psql's option takes no value, and clap would print it.
        ErrorKind::TooManyValues
            if text(ContextKind::InvalidArg).is_some_and(|arg| arg == "--password") =>
        {
            Some(
                usage("--password takes no value: it has pgdyno ask for the password")
                    .hint("give the password: PGPASSWORD, or the password file ~/.pgpass"),
            )
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = match mistake.wrong.get(ContextKind::InvalidArg) {
                Some(ContextValue::Strings(missing)) => missing.join(" "),
                _ => return None,
            };
            let path = path(&verbs);
            let failure = usage(format!("pgdyno {path} needs {missing}"));
            Some(with_example(failure, verbs.last()?, &path))
        }
        ErrorKind::ArgumentConflict => {
            let name = |option: &str| option.split(' ').next().unwrap_or(option).to_owned();
            let option = name(text(ContextKind::InvalidArg)?);
            let others = match mistake.wrong.get(ContextKind::PriorArg)? {
                ContextValue::String(other) => vec![name(other)],
                ContextValue::Strings(others) => others.iter().map(|other| name(other)).collect(),
                _ => return None,
            };
            Some(if others == [option.clone()] {
                usage(format!("{option} is given twice")).hint("leave one of them out")
            } else {
                let others = others.join(" or ");
                usage(format!("{option} cannot be used with {others}"))
                    .hint(format!("leave one of them out: {option}, or {others}"))
            })
        }
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => values::wrong(mistake),
        _ => None,
    }
}

/// What clap says, without its advice to type `-- -x`, as no command has an argument that begins with a dash, and without
/// a suggestion that is like what was typed only by a measure of clap's own.
fn of_clap(command: &Command, words: &[OsString], mut wrong: clap::Error) -> clap::Error {
    let is_dashes = |advice: &ContextValue| match advice {
        ContextValue::StyledStrs(texts) => texts
            .iter()
            .any(|text| text.to_string().contains("as a value, use")),
        _ => false,
    };
    if wrong.get(ContextKind::Suggested).is_some_and(is_dashes) {
        wrong.remove(ContextKind::Suggested);
    }
    let is_far_fetched = match (
        wrong.get(ContextKind::InvalidArg),
        wrong.get(ContextKind::SuggestedArg),
    ) {
        (Some(ContextValue::String(typed)), Some(ContextValue::String(suggested))) => {
            is_far_fetched(typed, suggested)
        }
        _ => false,
    };
    if is_far_fetched {
        wrong.remove(ContextKind::SuggestedArg);
        wrong.remove(ContextKind::Usage);
        let verbs = verbs(command, words);
        if let Some(verb) = verbs.last() {
            let called = format!("pgdyno {}", path(&verbs));
            let usage = (*verb).clone().bin_name(called).render_usage();
            wrong.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
        }
    }
    wrong
}

fn is_far_fetched(typed: &str, suggested: &str) -> bool {
    let [typed, suggested] = [typed, suggested].map(|text| text.trim_start_matches('-'));
    let is_like = typed.starts_with(suggested) || suggested.starts_with(typed);
    !is_like && nearest(typed, [suggested]).is_none()
}

/// The commands that the words name, the last one the innermost.
fn verbs<'c>(command: &'c Command, words: &[OsString]) -> Vec<&'c Command> {
    let mut verbs = Vec::new();
    let mut within = command;
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        match within.find_subcommand(word) {
            Some(found) => {
                within = found;
                verbs.push(found);
            }
            // An option before the command, or its value.
            None if verbs.is_empty() => {}
            None => break,
        }
    }
    verbs
}

fn verb<'c>(command: &'c Command, words: &[OsString]) -> Option<&'c Command> {
    verbs(command, words).pop()
}

/// As it is typed: `lab retries`.
fn path(verbs: &[&Command]) -> String {
    let names: Vec<&str> = verbs.iter().map(|verb| verb.get_name()).collect();
    names.join(" ")
}

fn usage(text: impl Into<String>) -> Failure {
    Failure::with(Exit::Usage, text)
}

/// Whether two words have the same letters, which no measure of clap's finds: `--ulr`.
fn is_anagram(a: &str, b: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    sorted(a) == sorted(b)
}

/// With the first example of the command's own in its help, or where its options are.
fn with_example(failure: Failure, verb: &Command, path: &str) -> Failure {
    failure.hint(match example(verb, path) {
        Some(example) => format!("for example: {example}"),
        None => format!("pgdyno {path} --help"),
    })
}

fn example(verb: &Command, path: &str) -> Option<String> {
    let help = verb.get_after_help()?.to_string();
    let begin = format!("pgdyno {path} ");
    let mut lines = help.lines().map(str::trim);
    let line = lines.find_map(|line| {
        let at = line.find(&begin)?;
        Some(line[at..].to_owned())
    })?;
    let words = line.split("  ").next().unwrap_or(&line);
    Some(words.trim_end_matches(['\\', ' ', ')']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;

    /// The words that the command line comes to, or what is said.
    fn read(line: &str) -> Result<Cli, String> {
        let words = line.split(' ').map(OsString::from).collect();
        let matches = super::read(&Cli::asked(), words).map_err(|wrong| match wrong {
            Wrong::Clap(e) => e.to_string(),
            Wrong::Answered(failure) => failure.to_string(),
        })?;
        clap::FromArgMatches::from_arg_matches(&matches).map_err(|e| e.to_string())
    }

    fn run(line: &str) -> crate::cli::run::RunArgs {
        match read(line) {
            Ok(Cli {
                verb: crate::cli::Verb::Run(args),
                ..
            }) => *args,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn each_letter_of_pgbench_works_or_says_what_to_type() {
        let address = |line: &str| {
            let urls = run(line).spec.target.urls;
            urls.iter()
                .map(|url| url.secret().to_owned())
                .collect::<Vec<_>>()
        };
        for (typed, url) in [
            ("-p 5433", "port='5433'"),
            ("-p5433", "port='5433'"),
            ("-U me", "user='me'"),
            ("-d bench", "dbname='bench'"),
            ("-U o'hara", "user='o\\'hara'"),
            ("-d postgresql://h/b", "postgresql://h/b"),
            ("-U me -p 1 -d b", "user='me' port='1' dbname='b'"),
        ] {
            assert_eq!(
                address(&format!("pgdyno run tpcb {typed} -c 2")),
                [url],
                "{typed}"
            );
        }
        for (typed, workload) in [
            ("-f a.sql", "a.sql"),
            ("-f a.sql@2", "a.sql@2"),
            ("-S", "select-only"),
            ("-N", "simple-update"),
            ("-b tpcb-like", "tpcb"),
            ("-nS", "select-only"),
            ("-S -r", "select-only"),
            ("-Mextended -n -S", "select-only"),
            ("-Mprepared -S -p 1", "select-only"),
        ] {
            let args = run(&format!("pgdyno run {typed} -c 2"));
            assert_eq!(args.spec.workload, [workload], "{typed}");
            assert_eq!(args.spec.clients.expect("given").to_string(), "2");
        }
        assert_eq!(run("pgdyno run a.sql -D x=1").spec.params, ["x=1"]);
        // Long options are the same.
        assert_eq!(
            address("pgdyno run tpcb --port 5433 --dbname=b"),
            ["port='5433' dbname='b'"]
        );
        let args = run("pgdyno run tpcb --client=4 --jobs 2 --time 60 --protocol prepared");
        assert_eq!(args.spec.clients.expect("given").to_string(), "4");
        assert_eq!(args.spec.duration, Some(std::time::Duration::from_secs(60)));
        // Options of pgdyno's own that are the same.
        for typed in [
            "-c 2",
            "-j 1",
            "-T 5",
            "-t 5",
            "-R 9",
            "-L 10ms",
            "-M prepared",
            "-C",
        ] {
            run(&format!("pgdyno run tpcb {typed}"));
        }
        for (typed, says) in [
            (
                "run tpcb -s 10",
                "-s is pgbench's: the scale is a parameter: --param scale=10",
            ),
            ("load tpcb -s 10", "--param scale=10"),
            ("load tpcb --scale=10", "--param scale=10"),
            ("run tpcb -L50ms -s 10", "--param scale=10"),
            ("server start -p 5433", "type --port 5433"),
            ("run tpcb --partitions=4", "pgdyno pgbench --partitions"),
            ("run tpcb --foreign-keys", "--param foreign_keys=true"),
            (
                "run tpcb -U me -d postgresql://me:s3cret@h/b",
                "postgresql://me@h/b",
            ),
            ("run tpcb --scale 10", "--param scale=10"),
            ("run tpcb --host db1", "--url host=db1"),
            ("run tpcb -L 50", "-L 50ms, or -L 50s"),
            ("run tpcb --latency-limit=50", "-L 50ms, or -L 50s"),
            (
                "sweep --preset capacity --slo 20",
                "--slo 20ms, or --slo 20s",
            ),
            ("sweep --slo=20", "milliseconds, or seconds?"),
            ("run tpcb --param scale 10", "--param scale=10"),
            ("run --param scale tpcb", "--param scale=VALUE"),
            ("run a.sql -D x 1", "-D x=1"),
            ("run tpcb --pg-set work_mem 64MB", "--pg-set work_mem=64MB"),
            ("run tpcb --warmup 5 s", "--warmup 5s"),
            ("run tpcb -T 1 m -c 4", "-T 1m"),
            ("run tpcb -T 5 min", "-T 5m"),
            ("run tpcb -T 60 Seconds", "-T 60s"),
            ("run ycsb -p recordcount=1000", "--param recordcount=1000"),
            (
                "run tpcb -t 5 -T 5",
                "leave one of them out: --transactions, or --duration",
            ),
            ("run tpcb -T 5 -T 6", "--duration is given twice"),
            ("slob sweep --max-size 4 GB", "--max-size 4GB"),
            ("-c 8 -T 60 bench", "a command comes first"),
            ("-i -s 10 bench", "pgdyno pgbench"),
            ("rnu tpcb", "did you mean pgdyno run?"),
            ("init -s 10", "did you mean pgdyno load?"),
            ("load tpcb -F 90", "--param fillfactor=90"),
            ("run -i", "pgdyno load tpcb"),
            ("run -I dtg", "pgdyno pgbench -i -I dtg"),
            ("run tpcb -P 5", "progress is shown on a terminal"),
            ("run tpcb -l", "pgdyno pgbench -l"),
            ("run tpcb -U", "-U needs a user: -U me"),
            ("run tpcb -V", "--version"),
            (
                "run -h db1 tpcb",
                "-h is --help here; the host is --url host=db1",
            ),
            ("sweep -h db1", "--url host=db1"),
            ("run -b tpcb-like@3", "a workload is named alone"),
            ("load -S", "select-only is a workload's name here"),
            ("load tpcb -n", "leave it out of pgdyno load"),
            ("ls -U me", "pgdyno ls uses no server"),
            (
                "run tpcb --url postgresql://h/b -U me",
                "put it into the address",
            ),
        ] {
            let said = read(&format!("pgdyno {typed}")).unwrap_err();
            assert!(said.contains(says), "{typed}: {said}");
            assert!(!said.contains("s3cret"), "{typed}: {said}");
        }
        // Help, and letters that no option has, are clap's.
        for (typed, says) in [
            ("run tpcb -X", "unexpected argument '-X' found\n\nUsage"),
            ("run -h", "Usage: pgdyno run"),
            ("-h", "Usage: pgdyno"),
        ] {
            let said = read(&format!("pgdyno {typed}")).unwrap_err();
            assert!(said.contains(says), "{typed}: {said}");
        }
    }
}
