//! pgbench's letters on pgdyno's own commands: what they mean here, or what to type in their place.
//!
//! A letter counts only where the command line does not know it, so that it never changes what an option of
//! pgdyno's own means.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};

use pgdyno_model::spec::secret::without_secrets;
use pgdyno_model::suggest::nearest;
use pgdyno_model::{Exit, Failure};

use super::habits;

/// What a letter comes to.
enum Means {
    /// This key of the server's address.
    Place(&'static str),
    /// `--param`.
    Param,
    /// A script file.
    File,
    /// One of pgbench's own scripts, by its name.
    BuiltIn,
    /// This workload.
    Workload(&'static str),
    /// It is so anyway.
    Nothing,
    /// This is to be typed.
    Type(&'static str),
}

/// pgbench's letters that pgdyno's own commands do not have, whether a value comes with them, and what they
/// come to. `-c -j -T -t -R -L -M -C -v -q` are options of their own.
const LETTERS: [(char, bool, Means); 18] = [
    ('p', true, Means::Place("port")),
    ('U', true, Means::Place("user")),
    ('d', true, Means::Place("dbname")),
    ('D', true, Means::Param),
    ('f', true, Means::File),
    ('b', true, Means::BuiltIn),
    ('S', false, Means::Workload("select-only")),
    ('N', false, Means::Workload("simple-update")),
    ('n', false, Means::Nothing),
    ('r', false, Means::Nothing),
    (
        's',
        true,
        Means::Type(
            "the scale is a parameter: --param scale=VALUE, as in pgdyno run tpcb --param scale=VALUE",
        ),
    ),
    (
        'F',
        true,
        Means::Type("the fillfactor is a parameter: --param fillfactor=VALUE"),
    ),
    (
        'i',
        false,
        Means::Type(
            "tables are made by pgdyno load tpcb --param scale=10; pgdyno run makes those that are missing",
        ),
    ),
    (
        'I',
        true,
        Means::Type(
            "tables are made by pgdyno load tpcb, whole; single steps are for pgdyno pgbench -i -I VALUE",
        ),
    ),
    (
        'P',
        true,
        Means::Type(
            "leave it out: progress is shown on a terminal, and each second is in the notebook (pgdyno report); YCSB's -P FILE is for pgdyno ycsb",
        ),
    ),
    (
        'l',
        false,
        Means::Type(
            "each second and all histograms are in the notebook; pgbench's log of transactions is for pgdyno pgbench -l",
        ),
    ),
    ('V', false, Means::Type("the version is --version")),
    (
        'h',
        true,
        Means::Type("-h is --help here; the host is --url host=VALUE"),
    ),
];

/// pgbench's long options, as the letters above.
const LONG: [(&str, char); 18] = [
    ("host", 'h'),
    ("port", 'p'),
    ("username", 'U'),
    ("dbname", 'd'),
    ("define", 'D'),
    ("file", 'f'),
    ("builtin", 'b'),
    ("select-only", 'S'),
    ("skip-some-updates", 'N'),
    ("no-vacuum", 'n'),
    ("report-per-command", 'r'),
    ("report-latencies", 'r'),
    ("scale", 's'),
    ("fillfactor", 'F'),
    ("initialize", 'i'),
    ("init-steps", 'I'),
    ("progress", 'P'),
    ("log", 'l'),
];

/// pgbench's long options that have another name here.
const RENAMED: [(&str, &str); 5] = [
    ("client", "clients"),
    ("jobs", "threads"),
    ("time", "duration"),
    ("protocol", "query-mode"),
    ("random-seed", "seed"),
];

/// pgbench's long options that only it has.
const ONLY_PGBENCH: [&str; 13] = [
    "aggregate-interval",
    "debug",
    "failures-detailed",
    "foreign-keys",
    "index-tablespace",
    "log-prefix",
    "partition-method",
    "partitions",
    "progress-timestamp",
    "sampling-rate",
    "show-script",
    "tablespace",
    "unlogged-tables",
];

/// What other programs call a command.
const VERBS: [(&str, &str); 11] = [
    ("init", "load"),
    ("initialize", "load"),
    ("prepare", "load"),
    ("bench", "run"),
    ("benchmark", "run"),
    ("test", "run"),
    ("list", "ls"),
    ("delete", "rm"),
    ("diff", "compare"),
    ("packs", "pack list"),
    ("version", "--version"),
];

/// Options whose number means nothing without a unit, with their letter.
const LIMITS: [(&str, Option<&str>); 2] = [("latency-limit", Some("-L")), ("slo", None)];

/// Options that take NAME=VALUE.
const NAMED: [&str; 3] = ["--param", "--pg-set", "-D"];

/// What may stand behind a number, where a space before it makes another word of it.
const UNITS: [&str; 10] = ["us", "ms", "s", "m", "h", "kb", "mb", "gb", "tb", "%"];

/// Units that are spelled out, and how they stand behind a number.
const UNIT_WORDS: [(&str, &str); 13] = [
    ("msec", "ms"),
    ("millis", "ms"),
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("min", "m"),
    ("mins", "m"),
    ("minute", "m"),
    ("minutes", "m"),
    ("hour", "h"),
    ("hours", "h"),
    ("percent", "%"),
];

/// Reads a command line, pgbench's letters included.
///
/// # Errors
/// What clap says, or what is to be typed for a letter.
pub fn read(command: &Command, mut words: Vec<OsString>) -> Result<ArgMatches, Wrong> {
    if let Some(failure) = in_two_words(&words).or_else(|| habits::behind_equals(&words)) {
        return Err(Wrong::Letter(failure));
    }
    loop {
        let wrong = match command.clone().try_get_matches_from(&words) {
            Ok(matches) => match limit_without_unit(command, &words) {
                Some(failure) => return Err(Wrong::Letter(failure)),
                None => return Ok(matches),
            },
            Err(wrong) => wrong,
        };
        if let Some(failure) = no_verb(command, &words, &wrong) {
            return Err(Wrong::Letter(failure));
        }
        if let Some(verb) = verb(command, &words)
            && let Some(typed) = long(&wrong)
        {
            if let Some(option) = ONLY_PGBENCH.iter().find(|option| **option == typed) {
                return Err(Wrong::Letter(only_pgbench(option)));
            }
            if rename(&mut words, verb, &typed) {
                continue;
            }
        }
        let letter = match wrong.kind() {
            ErrorKind::UnknownArgument => match wrong.get(ContextKind::InvalidArg) {
                Some(ContextValue::String(typed)) => letter(typed),
                _ => None,
            },
            ErrorKind::DisplayHelp if names_a_host(command, &words) => Some('h'),
            _ => None,
        };
        let verb = verb(command, &words);
        let known = letter.and_then(|letter| LETTERS.iter().find(|known| known.0 == letter));
        let (Some((letter, takes_value, means)), Some(verb)) = (known, verb) else {
            let known = habits::answer(command, &words, &wrong)
                .or_else(|| no_number(command, &words, &wrong))
                .or_else(|| habits::value(command, &words, &wrong));
            return Err(match known {
                Some(failure) => Wrong::Letter(failure),
                None => {
                    let mut wrong = without_dashes(wrong);
                    habits::without_far_fetched(command, &words, &mut wrong);
                    Wrong::Clap(wrong)
                }
            });
        };
        let Some(value) = take(&mut words, verb, *letter, *takes_value) else {
            return Err(if *takes_value {
                Wrong::Letter(without_value(*letter, means))
            } else {
                Wrong::Clap(without_dashes(wrong))
            });
        };
        words = put(words, *letter, means, &value, verb).map_err(Wrong::Letter)?;
    }
}

/// A letter at the end of the line.
fn without_value(letter: char, means: &Means) -> Failure {
    let what = match means {
        Means::Place("port") => "a port: -p 5432",
        Means::Place("user") => "a user: -U me",
        Means::Place(_) => "a database: -d bench",
        Means::Param => "a parameter: -D scale=10",
        Means::File => "a script: -f mine.sql",
        _ => "a value",
    };
    let text = format!("-{letter} needs {what}");
    Failure::with(Exit::Usage, text).hint("all options: --help after the command")
}

/// Without clap's advice to type `-- -x`: no command has an argument that begins with a dash.
fn without_dashes(mut wrong: clap::Error) -> clap::Error {
    let is_it = |advice: &ContextValue| match advice {
        ContextValue::StyledStrs(texts) => texts
            .iter()
            .any(|text| text.to_string().contains("as a value, use")),
        _ => false,
    };
    if wrong.get(ContextKind::Suggested).is_some_and(is_it) {
        wrong.remove(ContextKind::Suggested);
    }
    wrong
}

/// Why a command line cannot be read.
#[derive(Debug)]
pub enum Wrong {
    /// As clap says.
    Clap(clap::Error),
    /// A letter of pgbench's that does not work here.
    Letter(Failure),
}

/// A value that is no number, or one out of range, in words that say which are not; clap and the standard
/// library say "invalid digit found in string".
fn no_number(command: &Command, words: &[OsString], wrong: &clap::Error) -> Option<Failure> {
    if wrong.kind() != ErrorKind::ValueValidation {
        return None;
    }
    let text = |kind| match wrong.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (option, value) = (
        text(ContextKind::InvalidArg)?,
        text(ContextKind::InvalidValue)?,
    );
    let says = std::error::Error::source(wrong)?.to_string();
    let range = says.split_once(" is not in ").map(|(_, range)| range);
    let is_number = [
        "invalid digit found in string",
        "cannot parse integer from empty string",
        "invalid float literal",
    ];
    let is_too_large = says.starts_with("number too ");
    let needs = match range.and_then(|range| range.split_once("..")) {
        Some((least, most)) => {
            let most = most.trim_start_matches('=');
            // Nobody means the largest number that there is.
            if most.len() > 12 || most.is_empty() {
                format!("it must be a whole number of {least} or more")
            } else {
                format!("it must be a whole number from {least} to {most}")
            }
        }
        None if is_too_large => "the number is too large".to_owned(),
        None if says.starts_with("invalid float") => "it must be a number".to_owned(),
        None if is_number.contains(&says.as_str()) => "it must be a whole number".to_owned(),
        None => return None,
    };
    let name = option.split(' ').next().unwrap_or(option);
    let failure = Failure::with(
        Exit::Usage,
        format!("invalid value '{value}' for '{option}': {needs}"),
    );
    Some(match name {
        "--transactions" => {
            failure.hint("transactions of each client: -t 1000; or a time for all: -T 60s")
        }
        "--max-tries" => failure.hint(
            "tries of a transaction, the first one included: --max-tries 10; 0 sets no limit",
        ),
        "--threads" => failure
            .hint("threads of pgdyno's, one for several thousand clients: leave it out, or -j 2"),
        "--seed" => failure
            .hint("leave it out for another seed each time; that of a trial stands in its heading"),
        _ => {
            let verbs = named(command, words).into_iter().map(Command::get_name);
            let verbs: Vec<&str> = verbs.collect();
            if !verbs.is_empty() {
                failure.hint(format!("pgdyno {} --help explains {name}", verbs.join(" ")))
            } else {
                failure
            }
        }
    })
}

fn only_pgbench(option: &str) -> Failure {
    let text = format!("--{option} is pgbench's, and pgdyno's own commands have nothing like it");
    let text = match option {
        "foreign-keys" => {
            "--foreign-keys is a parameter here: --param foreign_keys=true".to_owned()
        }
        _ => text,
    };
    Failure::with(Exit::Usage, text).hint(format!("it works in pgdyno pgbench --{option} …"))
}

/// The long option that clap does not know.
fn long(wrong: &clap::Error) -> Option<String> {
    match (wrong.kind(), wrong.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(typed))) => {
            let name = typed.strip_prefix("--")?;
            Some(name.split('=').next().unwrap_or(name).to_owned())
        }
        _ => None,
    }
}

/// Puts this program's name, or the letter, in the place of pgbench's long option.
fn rename(words: &mut Vec<OsString>, verb: &Command, typed: &str) -> bool {
    let is_known = |name: &str| verb.get_arguments().any(|arg| arg.get_long() == Some(name));
    let renamed = RENAMED.iter().find(|(pgbench, _)| *pgbench == typed);
    let renamed = renamed.filter(|(_, name)| is_known(name));
    let letter = LONG.iter().find(|(pgbench, _)| *pgbench == typed);
    let instead = match (renamed, letter) {
        (Some((_, name)), _) => format!("--{name}"),
        (None, Some((_, letter))) => format!("-{letter}"),
        (None, None) => return false,
    };
    let whole = format!("--{typed}");
    let before = format!("{whole}=");
    let given = words.iter().position(|word| {
        word.to_str()
            .is_some_and(|text| text == whole || text.starts_with(&before))
    });
    let Some(at) = given else { return false };
    let value = words[at]
        .to_str()
        .and_then(|text| text.strip_prefix(&before));
    let value = value.map(OsString::from);
    words[at] = instead.into();
    if let Some(value) = value {
        words.insert(at + 1, value);
    }
    true
}

/// A command that there is not, or pgbench's options without one.
fn no_verb(command: &Command, words: &[OsString], wrong: &clap::Error) -> Option<Failure> {
    match (wrong.kind(), wrong.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(typed)))
            if words
                .iter()
                .skip(1)
                .find(|word| !word.to_string_lossy().starts_with('-'))
                == Some(&OsString::from(typed)) =>
        {
            let meant = VERBS.iter().find(|(other, _)| other == typed);
            // What has a better answer than the nearest name.
            if habits::is_known(typed) {
                return None;
            }
            let meant = meant
                .map(|(_, verb)| *verb)
                .or_else(|| near(command, typed))?;
            let text = format!("there is no command \"{typed}\"");
            let failure = Failure::with(Exit::Usage, text);
            Some(failure.hint(format!(
                "did you mean pgdyno {meant}? All commands: pgdyno --help"
            )))
        }
        (ErrorKind::UnknownArgument, _) if verb(command, words).is_none() => Some(
            Failure::with(
                Exit::Usage,
                "a command comes first, as in pgdyno run tpcb -c 8 -T 60",
            )
            .hint("pgbench's own command line: pgdyno pgbench …; all commands: pgdyno --help"),
        ),
        _ => None,
    }
}

/// The command with nearly this name, or with the same letters.
fn near<'c>(command: &'c Command, typed: &str) -> Option<&'c str> {
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    let names = || command.get_subcommands().map(Command::get_name);
    let same = names().find(|name| letters(name) == letters(typed));
    same.or_else(|| nearest(typed, names()))
}

/// A limit in a bare number: `-L 50` is milliseconds in pgbench and would be seconds here, `--slo 20` could be either.
fn limit_without_unit(command: &Command, words: &[OsString]) -> Option<Failure> {
    let verb = verb(command, words)?;
    let texts: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let (typed, bare) = LIMITS.iter().find_map(|(name, short)| {
        verb.get_arguments()
            .find(|arg| arg.get_long() == Some(name))?;
        let long = format!("--{name}");
        let with_value = format!("{long}=");
        let values = texts.iter().zip(texts.iter().skip(1).chain([&""]));
        let mut values = values.filter_map(|(word, next)| {
            if *word == long || Some(*word) == *short {
                return Some(*next);
            }
            let short = short.and_then(|short| word.strip_prefix(short));
            let value = word.strip_prefix(&with_value).or(short)?;
            Some(value.trim_start_matches('='))
        });
        let bare = values.find(|value| value.parse::<f64>().is_ok())?;
        Some((short.map_or(long, str::to_owned), bare))
    })?;
    let text = match typed.as_str() {
        "-L" => format!(
            "-L {bare} has no unit: it is milliseconds in pgbench, other times here are seconds"
        ),
        typed => format!("{typed} {bare} has no unit: milliseconds, or seconds?"),
    };
    Some(Failure::with(Exit::Usage, text).hint(format!("{typed} {bare}ms, or {typed} {bare}s")))
}

/// A value in two words: `--param scale 10`, `--warmup 5 s`.
fn in_two_words(words: &[OsString]) -> Option<Failure> {
    let texts: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    texts.windows(2).enumerate().find_map(|(at, pair)| {
        let [option, value] = pair else { return None };
        let next = texts.get(at + 2).copied().unwrap_or_default();
        if NAMED.contains(option) && !value.contains('=') && !value.starts_with('-') {
            let is_value = next.starts_with(|c: char| c.is_ascii_digit());
            let typed = if is_value {
                format!("{option} {value} {next}")
            } else {
                format!("{option} {value}")
            };
            let meant = if is_value { next } else { "VALUE" };
            let text = format!("{typed}: it must be NAME=VALUE, with = between them");
            return Some(
                Failure::with(Exit::Usage, text).hint(format!("{option} {value}={meant}")),
            );
        }
        let spelled = UNIT_WORDS
            .iter()
            .find(|(word, _)| word.eq_ignore_ascii_case(next));
        let known = UNITS.iter().any(|unit| unit.eq_ignore_ascii_case(next));
        let unit = spelled.map(|(_, unit)| *unit).or(known.then_some(next))?;
        (option.starts_with('-') && value.parse::<f64>().is_ok()).then(|| {
            let text = format!("{option} {value} {next}: there is a space between number and unit");
            Failure::with(Exit::Usage, text).hint(format!("{option} {value}{unit}"))
        })
    })
}

fn letter(typed: &str) -> Option<char> {
    let mut letters = typed.strip_prefix('-')?.chars();
    letters.next().filter(|c| c.is_ascii_alphabetic())
}

/// The command that the words name, and the one below it: what clap read before it stopped.
fn named<'c>(command: &'c Command, words: &[OsString]) -> Vec<&'c Command> {
    let mut words = words.iter().skip(1).filter_map(|word| word.to_str());
    let verb = words.find_map(|word| command.find_subcommand(word));
    let below = verb.and_then(|verb| verb.find_subcommand(words.next()?));
    verb.into_iter().chain(below).collect()
}

/// The innermost of them.
fn verb<'c>(command: &'c Command, words: &[OsString]) -> Option<&'c Command> {
    named(command, words).pop()
}

/// Whether `-h` stands after a verb that has `--url`, with a word behind it that could be a host.
fn names_a_host(command: &Command, words: &[OsString]) -> bool {
    let at = words
        .iter()
        .position(|word| word == "-h")
        .unwrap_or(words.len());
    let (before, after) = words.split_at(at);
    let is_word = |word: &OsString| word.to_str().is_some_and(|word| !word.starts_with('-'));
    verb(command, before).is_some_and(has_url) && after.get(1).is_some_and(is_word)
}

fn has_url(verb: &Command) -> bool {
    verb.get_arguments().any(|arg| arg.get_id() == "url")
}

/// Takes the letter out of the words, and gives its value: `-s 10`, `-s10`, `-s=10`, or one of several
/// letters in a word. `None` where it is not among them, or its value is missing.
fn take(
    words: &mut Vec<OsString>,
    verb: &Command,
    letter: char,
    takes_value: bool,
) -> Option<String> {
    let typed = words.iter().enumerate().find_map(|(at, word)| {
        let word = word.to_str()?;
        Some((at, word.to_owned(), place_of(letter, word, verb)?))
    });
    let (at, word, place) = typed?;
    let (before, after) = (&word[..place], &word[place + letter.len_utf8()..]);
    let value = match (takes_value, after) {
        (false, _) => String::new(),
        (true, "") if at + 1 < words.len() => words.remove(at + 1).into_string().ok()?,
        (true, "") => return None,
        (true, after) => after.trim_start_matches('=').to_owned(),
    };
    let left = if takes_value {
        before.to_owned()
    } else {
        format!("{before}{after}")
    };
    match left.as_str() {
        "-" => drop(words.remove(at)),
        left => words[at] = left.into(),
    }
    Some(value)
}

/// Where the letter is in a word of letters: not in a value, as the `p` of `-Mprepared` is.
fn place_of(letter: char, word: &str, verb: &Command) -> Option<usize> {
    let letters = word
        .strip_prefix('-')
        .filter(|rest| !rest.starts_with('-'))?;
    let takes_value = |c: char| {
        let known = verb.get_arguments().find(|arg| arg.get_short() == Some(c));
        match known {
            Some(arg) => arg.get_action().takes_values(),
            None => LETTERS.iter().any(|known| known.0 == c && known.1),
        }
    };
    for (at, c) in letters.char_indices() {
        if c == letter {
            return Some(at + 1);
        }
        if takes_value(c) {
            return None;
        }
    }
    None
}

/// The words with what the letter means here.
fn put(
    mut words: Vec<OsString>,
    letter: char,
    means: &Means,
    value: &str,
    verb: &Command,
) -> Result<Vec<OsString>, Failure> {
    let name = verb.get_name();
    let says = |what: String| {
        let text = format!("-{letter} is pgbench's: {what}");
        Failure::with(Exit::Usage, text)
            .hint("pgbench itself, all of its options: pgdyno pgbench …")
    };
    // The script or workload of pgdyno run; other commands have no use for it.
    let is_run = name == "run";
    let pack = |name: &str| {
        if is_run {
            Ok(OsString::from(name))
        } else {
            Err(says(format!("{name} is a workload's name here")))
        }
    };
    match means {
        Means::Place("port") if value.contains('=') => {
            let text = format!("-p {value}: -p is the server's port here, not YCSB's -p");
            let failure = Failure::with(Exit::Usage, text);
            return Err(failure.hint(format!("a workload's parameter is --param {value}")));
        }
        Means::Place(key) if verb.get_arguments().any(|arg| arg.get_long() == Some(key)) => {
            return Err(says(format!("type --{key} {value}")));
        }
        Means::Place("port")
            if verb
                .get_arguments()
                .any(|arg| arg.get_long() == Some("listen")) =>
        {
            return Err(says(format!("type --listen {value}")));
        }
        Means::Place(_) if !has_url(verb) => {
            return Err(says(format!("pgdyno {name} uses no server")));
        }
        Means::Place(key) => place(&mut words, key, value).map_err(says)?,
        Means::Param => words.extend(["--param".into(), value.into()]),
        Means::File => words.push(pack(value)?),
        Means::BuiltIn => words.push(match value {
            "tpcb-like" | "tpcb" => pack("tpcb")?,
            "simple-update" | "select-only" => pack(value)?,
            _ => return Err(says(
                "a workload is named alone: tpcb, simple-update, select-only (pgdyno pack list)"
                    .to_owned(),
            )),
        }),
        Means::Workload(workload) => words.push(pack(workload)?),
        Means::Nothing if is_run => (),
        Means::Nothing => return Err(says(format!("leave it out of pgdyno {name}"))),
        Means::Type(what) => return Err(says(what.replace("VALUE", value))),
    }
    Ok(words)
}

/// Adds a part of the server's address: the parts that came before it are in one address, `--url=PARTS`,
/// in quotes as libpq reads them.
fn place(words: &mut Vec<OsString>, key: &str, value: &str) -> Result<(), String> {
    const OURS: &str = "--url=";
    let whole = key == "dbname" && (value.contains("://") || value.contains('='));
    let part = if whole {
        value.to_owned()
    } else {
        format!(
            "{key}='{}'",
            value.replace('\\', "\\\\").replace('\'', "\\'")
        )
    };
    let given = words.iter().position(|word| {
        word.to_str()
            .is_some_and(|word| word == "--url" || word.starts_with(OURS))
    });
    let Some(at) = given else {
        words.push(format!("{OURS}{part}").into());
        return Ok(());
    };
    let parts = words[at].to_str().and_then(|word| word.strip_prefix(OURS));
    match parts.filter(|parts| !whole && parts.contains("='")) {
        Some(parts) => {
            words[at] = format!("{OURS}{parts} {part}").into();
            Ok(())
        }
        None => Err(format!(
            "put it into the address that is given: {}",
            without_secrets(&part, None)
        )),
    }
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
            Wrong::Letter(failure) => failure.to_string(),
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
        // What is nobody's letter, or is help, is clap's.
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
