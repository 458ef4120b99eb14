//! pgbench's letters and long options on pgdyno's own commands: what they mean here, or what to type in their place.
//!
//! One counts only where the command line does not know it, so that it never changes what an option of
//! pgdyno's own means.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ErrorKind};

use pgdyno_spec::{Failure, secret::without_secrets};

use super::{Mistake, usage, verb};

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

/// The words with what an option of pgbench's means here, or what to type for it; `None` where the mistake is
/// another one.
pub fn translated(mistake: &Mistake) -> Option<Result<Vec<OsString>, Failure>> {
    let verb = mistake.verb()?;
    let typed = match mistake.wrong.kind() {
        ErrorKind::UnknownArgument => mistake.text(ContextKind::InvalidArg)?,
        ErrorKind::DisplayHelp if names_a_host(mistake.command, mistake.words) => "-h",
        _ => return None,
    };
    let mut words = mistake.words.to_vec();
    if let Some(long) = typed.strip_prefix("--") {
        let long = long.split('=').next().unwrap_or(long);
        if ONLY_PGBENCH.contains(&long) {
            return Some(Err(only_pgbench(long)));
        }
        return rename(&mut words, verb, long).then_some(Ok(words));
    }
    let letter = typed.strip_prefix('-')?.chars().next()?;
    let (_, takes_value, means) = LETTERS.iter().find(|known| known.0 == letter)?;
    let value = take(&mut words, verb, letter, *takes_value);
    match value {
        Some(value) => Some(put(words, letter, means, &value, verb)),
        None => takes_value.then(|| Err(without_value(letter, means))),
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
    usage(text).hint("all options: --help after the command")
}

fn only_pgbench(option: &str) -> Failure {
    let text = format!("--{option} is pgbench's, and pgdyno's own commands have nothing like it");
    let text = match option {
        "foreign-keys" => {
            "--foreign-keys is a parameter here: --param foreign_keys=true".to_owned()
        }
        _ => text,
    };
    usage(text).hint(format!("it works in pgdyno pgbench --{option} …"))
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

/// Whether `-h` comes after a verb that has `--url`, with a word behind it that could be a host.
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
        usage(text).hint("pgbench itself, all of its options: pgdyno pgbench …")
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
            let failure = usage(text);
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
