//! Values that are wrong, missing, or in another word than their option: in words that say what to type.

use std::ffi::OsString;
use std::fmt::Display;

use clap::Command;
use clap::error::{ContextKind, ErrorKind};

use pgdyno_spec::Failure;

use super::{Mistake, usage};

/// Options with a value as one types it.
const EXAMPLES: &[(&str, &str)] = &[
    ("--clients", "-c 8"),
    ("--threads", "-j 2"),
    ("--duration", "-T 60s"),
    ("--transactions", "-t 1000"),
    ("--rate", "-R 500"),
    ("--warmup", "--warmup 5s"),
    ("--latency-limit", "-L 50ms"),
    ("--mix", "--mix NAME; pgdyno pack list WORKLOAD shows them"),
    ("--param", "--param scale=10"),
    ("--url", "--url postgresql://me@db1/bench"),
    ("--repeat", "--repeat 5"),
    ("--tag", "--tag baseline"),
    ("--note", "--note 'new disks'"),
    ("--reason", "--reason 'a backup was running'"),
    ("--store", "--store runs.sqlite"),
    ("--output", "-o first.html"),
    ("--since", "--since 7d"),
    ("--retry", "--retry restart"),
    ("--max-tries", "--max-tries 10"),
    ("--backoff", "--backoff exponential=1ms,1s,full"),
    ("--isolation", "--isolation serializable"),
    ("--observe", "--observe host,pg.waits"),
    ("--slo", "--slo 20ms"),
    ("--capacity-time", "--capacity-time 5m"),
    ("--time-budget", "--time-budget 15m"),
];

/// Options whose value follows an equals sign, or none does.
const BEHIND_EQUALS: &[&str] = &["--serve", "--json", "--discover"];

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

/// A value that is missing or wrong.
pub fn wrong(mistake: &Mistake) -> Option<Failure> {
    let value = Value {
        option: mistake.text(ContextKind::InvalidArg)?,
        value: mistake.text(ContextKind::InvalidValue)?,
        mistake,
    };
    value
        .of_a_list()
        .or_else(|| value.no_number())
        .or_else(|| value.in_claps_words())
}

/// What was typed, and for what: `--clients <COUNT>`.
struct Value<'a> {
    option: &'a str,
    value: &'a str,
    mistake: &'a Mistake<'a>,
}

impl Value<'_> {
    fn invalid(&self, says: impl Display) -> Failure {
        usage(format!(
            "invalid value '{}' for '{}': {says}",
            self.value, self.option
        ))
    }

    /// What the parser of the value says.
    fn says(&self) -> Option<String> {
        let is_said = self.mistake.wrong.kind() == ErrorKind::ValueValidation;
        let says = std::error::Error::source(self.mistake.wrong).filter(|_| is_said);
        says.map(|says| says.to_string())
    }

    /// Numbers that a sweep would take one by one.
    fn of_a_list(&self) -> Option<Failure> {
        let is_numbers = |separator: char| {
            let mut numbers = self.value.split(separator);
            self.value.contains(separator)
                && numbers.all(|number| number.trim().parse::<u64>().is_ok())
        };
        let takes_one = ["--clients ", "--threads ", "--rate "];
        let is_list = takes_one.iter().any(|name| self.option.starts_with(name))
            && (is_numbers(',') || is_numbers('-'));
        is_list.then(|| {
            self.invalid("a trial has one number").hint(
                "one after the other, with repeats: pgdyno sweep --preset quick --print > mine.toml, \
                 then clients = [1, 2, 4] there",
            )
        })
    }

    /// In clap's own words where they say what it must be, with one that is right.
    fn in_claps_words(&self) -> Option<Failure> {
        let (name, placeholder) = self
            .option
            .split_once(' ')
            .unwrap_or((self.option, "a value"));
        let failure = match self.mistake.wrong.kind() {
            ErrorKind::InvalidValue if self.value.is_empty() => {
                usage(format!("{name} needs {placeholder}"))
            }
            _ => self.invalid(self.says()?),
        };
        let example = EXAMPLES.iter().find(|(known, _)| *known == name);
        let path = self.mistake.path();
        Some(failure.hint(match example {
            Some((_, example)) => format!("for example: {example}"),
            None if name.starts_with('-') => format!("pgdyno {path} --help explains {name}"),
            None => format!("pgdyno {path} --help"),
        }))
    }

    /// A value that is no number, or one out of range, in words that say which are not; clap and the standard
    /// library say "invalid digit found in string".
    fn no_number(&self) -> Option<Failure> {
        let says = self.says()?;
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
                // The largest number is never meant.
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
        let name = self.option.split(' ').next().unwrap_or(self.option);
        let failure = self.invalid(needs);
        Some(match name {
            "--transactions" => {
                failure.hint("transactions of each client: -t 1000; or a time for all: -T 60s")
            }
            "--max-tries" => failure.hint(
                "tries of a transaction, the first one included: --max-tries 10; 0 sets no limit",
            ),
            "--threads" => failure.hint(
                "threads of pgdyno's, one for several thousand clients: leave it out, or -j 2",
            ),
            "--seed" => failure
                .hint("leave it out for another seed each time; a trial's heading has its seed"),
            _ => {
                let path = self.mistake.path();
                failure.hint(format!("pgdyno {path} --help explains {name}"))
            }
        })
    }
}

/// A value in a word of its own where it must stand behind an equals sign: `--serve 8080`.
pub fn behind_equals(words: &[OsString]) -> Option<Failure> {
    let texts: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    texts.windows(2).find_map(|pair| {
        let [option, value] = pair else { return None };
        let is_one = BEHIND_EQUALS.contains(option)
            && match *option {
                "--json" => value.ends_with(".json") || value.ends_with(".jsonl"),
                _ => value.starts_with(|c: char| c.is_ascii_digit()) || value.contains("://"),
            };
        is_one.then(|| {
            usage(format!(
                "{option} {value}: write the value after an equals sign"
            ))
            .hint(format!("{option}={value}"))
        })
    })
}

/// A limit in a bare number: `-L 50` is milliseconds in pgbench and would be seconds here, `--slo 20` could be either.
pub fn limit_without_unit(verb: &Command, words: &[OsString]) -> Option<Failure> {
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
    Some(usage(text).hint(format!("{typed} {bare}ms, or {typed} {bare}s")))
}

/// A value in two words: `--param scale 10`, `--warmup 5 s`.
pub fn in_two_words(words: &[OsString]) -> Option<Failure> {
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
            return Some(usage(text).hint(format!("{option} {value}={meant}")));
        }
        let spelled = UNIT_WORDS
            .iter()
            .find(|(word, _)| word.eq_ignore_ascii_case(next));
        let known = UNITS.iter().any(|unit| unit.eq_ignore_ascii_case(next));
        let unit = spelled.map(|(_, unit)| *unit).or(known.then_some(next))?;
        (option.starts_with('-') && value.parse::<f64>().is_ok()).then(|| {
            let text = format!("{option} {value} {next}: there is a space between number and unit");
            usage(text).hint(format!("{option} {value}{unit}"))
        })
    })
}
