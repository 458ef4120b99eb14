//! Reading a command line as Go's pflag does: `--flag=value`, `--flag value`, flags that stand for
//! true, flags between other arguments, `--` before arguments alone. (Facts: spf13/pflag.)

use super::flag::{Flag, Kind};
use super::go_values::{self as go, quoted};

/// A value as it was given, checked to be of its flag's kind.
#[derive(Debug, Clone, PartialEq)]
pub struct FlagValue(pub String);

/// A command line that was read.
#[derive(Debug, Default)]
pub struct ParsedFlags {
    /// What was given, in order; the last of a flag counts.
    values: Vec<(&'static Flag, FlagValue)>,
    pub arguments: Vec<String>,
}

/// Why a command line came to no more.
#[derive(Debug, PartialEq)]
pub enum End {
    Help,
    /// It is wrong, in pflag's words.
    Wrong(String),
}

impl ParsedFlags {
    /// What was given for a flag.
    pub fn given(&self, name: &str) -> Option<&str> {
        let mut values = self.values.iter().rev();
        let found = values.find(|(given, _)| given.name == name);
        found.map(|(_, value)| value.0.as_str())
    }

    /// Every flag that was given, once each, in order.
    pub fn flags(&self) -> impl Iterator<Item = &'static Flag> {
        let flags = self.values.iter().map(|(flag, _)| *flag).enumerate();
        flags.filter_map(|(at, flag)| {
            let mut before = self.values[..at].iter();
            before.all(|(its, _)| its.name != flag.name).then_some(flag)
        })
    }
}

/// Reads arguments among which these flags may be.
///
/// # Errors
/// [`End`]
pub fn parse(flags: &[&'static Flag], arguments: &[String]) -> Result<ParsedFlags, End> {
    let mut parsed = ParsedFlags::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.strip_prefix("--") {
            Some("") => {
                parsed.arguments.extend(rest.by_ref().cloned());
            }
            Some(long) => {
                let value = one_long(flags, argument, long, &mut rest)?;
                parsed.values.extend(value);
            }
            None if argument.len() > 1 && argument.starts_with('-') => shorthands(argument)?,
            None => parsed.arguments.push(argument.clone()),
        }
    }
    Ok(parsed)
}

fn one_long<'a>(
    flags: &[&'static Flag],
    argument: &str,
    long: &str,
    rest: &mut impl Iterator<Item = &'a String>,
) -> Result<Option<(&'static Flag, FlagValue)>, End> {
    let wrong = |text: String| Err(End::Wrong(text));
    if long.starts_with(['-', '=']) {
        return wrong(format!("bad flag syntax: {argument}"));
    }
    let (name, value) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (long, None),
    };
    if name == "help" {
        let asked = value.map_or(Ok(true), |value| checked_bool("-h, --help", &value))?;
        return if asked { Err(End::Help) } else { Ok(None) };
    }
    let Some(flag) = flags.iter().find(|flag| flag.name == name) else {
        return wrong(format!("unknown flag: --{name}"));
    };
    let value = match (value, flag.value_without_one()) {
        (Some(value), _) => value,
        (None, Some(value)) => value.to_owned(),
        (None, None) => match rest.next() {
            Some(value) => value.clone(),
            None => return wrong(format!("flag needs an argument: --{name}")),
        },
    };
    if let Err(why) = check(flag.kind, &value) {
        let value = quoted(&value);
        return wrong(format!(
            "invalid argument {value} for \"--{name}\" flag: {why}"
        ));
    }
    Ok(Some((*flag, FlagValue(value))))
}

fn checked_bool(shown: &str, value: &str) -> Result<bool, End> {
    go::bool(value).map_err(|why| {
        let value = quoted(value);
        End::Wrong(format!(
            "invalid argument {value} for \"{shown}\" flag: {why}"
        ))
    })
}

/// There is but one: `-h`.
fn shorthands(argument: &str) -> Result<(), End> {
    match argument.chars().nth(1) {
        Some('h') => match argument.split_once('=') {
            Some(("-h", value)) if !checked_bool("-h, --help", value)? => Ok(()),
            _ => Err(End::Help),
        },
        other => {
            let (letter, letters) = (other.unwrap_or_default(), &argument[1..]);
            let text = format!("unknown shorthand flag: '{letter}' in -{letters}");
            Err(End::Wrong(text))
        }
    }
}

fn check(kind: Kind, value: &str) -> Result<(), String> {
    match kind {
        Kind::Bool => go::bool(value).map(drop),
        Kind::Int => go::int(value).map(drop),
        Kind::Uint => go::uint(value).map(drop),
        Kind::Float => go::float(value).map(drop),
        Kind::Duration => go::duration(value).map(drop),
        Kind::String | Kind::OptionalString => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verb;
    use super::super::all;
    use super::*;
    use crate::generator::TransactionGenerator;

    fn run(arguments: &str) -> Result<ParsedFlags, End> {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        parse(&all(TransactionGenerator::Ycsb, Verb::Run), &arguments)
    }

    #[test]
    fn flags_are_read_in_each_of_pflags_forms() {
        let parsed = run(
            "--concurrency 4 url1 --workload=A --tolerate-errors --init=false --duration -1s \
             --concurrency=5 -- --url2",
        )
        .unwrap();
        assert_eq!(parsed.arguments, ["url1", "--url2"]);
        assert_eq!(parsed.given("concurrency"), Some("5"));
        assert_eq!(parsed.given("workload"), Some("A"));
        assert_eq!(parsed.given("tolerate-errors"), Some("true"));
        assert_eq!(parsed.given("init"), Some("false"));
        assert_eq!(parsed.given("duration"), Some("-1s"));
        assert_eq!(parsed.given("max-ops"), None);
        let names: Vec<_> = parsed.flags().map(|flag| flag.name).collect();
        let expected = [
            "concurrency",
            "workload",
            "tolerate-errors",
            "init",
            "duration",
        ];
        assert_eq!(names, expected);
        assert_eq!(run("--store").unwrap().given("store"), Some(""));
        assert_eq!(run("- x").unwrap().arguments, ["-", "x"]);
    }

    #[test]
    fn mistakes_have_pflags_words() {
        for (typed, said) in [
            ("--bogus", "unknown flag: --bogus"),
            ("--bogus=3", "unknown flag: --bogus"),
            ("--=3", "bad flag syntax: --=3"),
            ("--concurrency", "flag needs an argument: --concurrency"),
            ("-x", "unknown shorthand flag: 'x' in -x"),
            (
                "--concurrency x",
                "invalid argument \"x\" for \"--concurrency\" flag: strconv.ParseInt: parsing \"x\": invalid syntax",
            ),
            (
                "--duration 10",
                "invalid argument \"10\" for \"--duration\" flag: time: missing unit in duration \"10\"",
            ),
            (
                "--tolerate-errors=maybe",
                "invalid argument \"maybe\" for \"--tolerate-errors\" flag: strconv.ParseBool: parsing \"maybe\": invalid syntax",
            ),
        ] {
            assert_eq!(
                run(typed).unwrap_err(),
                End::Wrong(said.to_owned()),
                "{typed}"
            );
        }
        assert_eq!(run("--help").unwrap_err(), End::Help);
        assert_eq!(run("-h").unwrap_err(), End::Help);
        assert!(run("--help=false").unwrap().arguments.is_empty());
        let flags_of_run = parse(
            &all(TransactionGenerator::Ycsb, Verb::Init),
            &["--duration=1s".to_owned()],
        );
        assert_eq!(
            flags_of_run.unwrap_err(),
            End::Wrong("unknown flag: --duration".to_owned())
        );
    }
}
