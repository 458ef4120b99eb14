//! What a trial of an experiment can be given: each parameter once, with its name, what it takes
//! and its help. All of them can be lists.

use serde_json::{Value, json};
use toml::de::DeValue;

use super::toml_text::{integer, kind, number};
use crate::plan::retries::Policy;
use crate::plan::warmup::Asked;
use crate::plan::{backoff, duration};

/// One parameter.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its key in an experiment.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// One line.
    pub help: &'static str,
}

/// What a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A pack, or a list of script files.
    Workload,
    /// Any text but an empty one.
    Text,
    /// The way to a server, without a password: it is in the results.
    Target,
    /// A whole number between these.
    Count(i64, i64),
    /// A time that may be nothing.
    Time,
    /// The same, or `"auto"` with or without a limit.
    Warmup,
    /// A time longer than nothing.
    PositiveTime,
    /// Transactions a second, a share of the maximum, or `"max"`.
    Rate,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Pauses between tries.
    Backoff,
    /// `true` or `false`.
    Flag,
    /// What a workload's parameter or a server's setting can be: text, number, true or false.
    Scalar,
}

const fn parameter(name: &'static str, kind: Kind, help: &'static str) -> Parameter {
    Parameter { name, kind, help }
}

/// The rate of a closed loop.
pub const MAX: &str = "max";

/// All of them, but for `params` and `settings`, whose names are the workload's and the server's.
pub const PARAMETERS: &[Parameter] = &[
    parameter(
        "workload",
        Kind::Workload,
        "a pack by name or folder; a list in a list is script files with weights",
    ),
    parameter(
        "tables",
        Kind::Text,
        "for script files: the pack whose tables they run on, loaded with params",
    ),
    parameter("mix", Kind::Text, "one of the pack's mixes"),
    parameter(
        "clients",
        Kind::Count(1, 100_000),
        "connections at work (1)",
    ),
    parameter(
        "threads",
        Kind::Count(1, 4096),
        "threads that drive them (one a CPU)",
    ),
    parameter(
        "rate",
        Kind::Rate,
        "500 a second; \"70%\" of the measured maximum; \"max\": closed loop",
    ),
    parameter(
        "query_mode",
        Kind::Choice(&["simple", "extended", "prepared"]),
        "how statements travel (simple, unless the mix needs another)",
    ),
    parameter(
        "retry",
        Kind::Choice(Policy::NAMES),
        "what follows serialization failures and the like (none)",
    ),
    parameter(
        "max_tries",
        Kind::Count(0, u32::MAX as i64),
        "tries, the first included; 0: no limit (10 with retry, else 1)",
    ),
    parameter(
        "backoff",
        Kind::Backoff,
        "pauses between tries: \"none\", \"exponential=1ms,1s,full\"",
    ),
    parameter(
        "retry_deadline",
        Kind::PositiveTime,
        "no try begins so long after a transaction's first",
    ),
    parameter(
        "continue_on_error",
        Kind::Flag,
        "other errors fail the transaction, not the client",
    ),
    parameter(
        "isolation",
        Kind::Choice(&[
            "read uncommitted",
            "read committed",
            "repeatable read",
            "serializable",
        ]),
        "the default of the clients' transactions",
    ),
    parameter(
        "latency_limit",
        Kind::PositiveTime,
        "later transactions are late; with a rate, hopeless ones are skipped",
    ),
    parameter(
        "connect",
        Kind::Flag,
        "a new connection for each transaction",
    ),
    parameter(
        "reconnect",
        Kind::Flag,
        "clients that lose their connection connect again, or to another endpoint",
    ),
    parameter(
        "target",
        Kind::Target,
        "URL or key=value pairs of the server",
    ),
    parameter(
        "warmup",
        Kind::Warmup,
        "run first, apart from the figures; \"auto\" or \"auto=2m\": until steady",
    ),
    parameter("duration", Kind::PositiveTime, "how long to measure (10s)"),
    parameter(
        "transactions",
        Kind::Count(1, i64::MAX),
        "of each client, instead of a duration",
    ),
];

/// The parameter of this name.
pub fn find(name: &str) -> Option<Kind> {
    if name.starts_with("params.") || name.starts_with("settings.") {
        return Some(Kind::Scalar);
    }
    PARAMETERS.iter().find(|p| p.name == name).map(|p| p.kind)
}

impl Kind {
    /// A single value, checked, as it stands in records.
    ///
    /// # Errors
    /// What it takes instead.
    pub fn accept(self, value: &DeValue<'_>) -> Result<Value, String> {
        let text = value.as_str();
        let accepted = match self {
            Kind::Workload => match value.as_array() {
                Some(files) if !files.is_empty() => {
                    let files = files.iter().map(|file| file.get_ref().as_str());
                    let files: Option<Vec<&str>> = files.collect();
                    files.map(|files| json!(files))
                }
                _ => text.filter(|t| !t.is_empty()).map(|t| json!([t])),
            },
            Kind::Target if text.is_some_and(has_password) => {
                return Err(
                    "a password does not belong here, where it would get into the results: \
                     use a password file (~/.pgpass), PGPASSWORD or --url"
                        .to_owned(),
                );
            }
            Kind::Text | Kind::Target => text.filter(|t| !t.is_empty()).map(|t| json!(t)),
            Kind::Count(min, max) => integer(value)
                .filter(|n| (min..=max).contains(n))
                .map(|n| json!(n)),
            Kind::Time => return time(value, self, duration::parse),
            Kind::Warmup => match text.filter(|text| text.starts_with("auto")) {
                Some(text) => match Asked::parse(text) {
                    Ok(_) => Some(json!(text)),
                    Err(why) => return Err(format!("\"{text}\": {why}")),
                },
                None => return time(value, self, duration::parse),
            },
            Kind::PositiveTime => return time(value, self, duration::parse_positive),
            Kind::Backoff => match text.map(backoff::parse) {
                Some(read) => return read.map(|read| json!(backoff::text(read.as_ref()))),
                None => None,
            },
            Kind::Rate => match text {
                Some(text) => rate_text(text),
                None => number(value)
                    .filter(|r| *r > 0.0 && r.is_finite())
                    .map(|r| json!(r)),
            },
            Kind::Choice(words) => text.filter(|t| words.contains(t)).map(|t| json!(t)),
            Kind::Flag => value.as_bool().map(|flag| json!(flag)),
            Kind::Scalar => match value {
                DeValue::Boolean(flag) => Some(json!(flag)),
                DeValue::Float(_) => number(value).filter(|n| n.is_finite()).map(|n| json!(n)),
                DeValue::Integer(_) => integer(value).map(|n| json!(n)),
                _ => text.map(|t| json!(t)),
            },
        };
        accepted.ok_or_else(|| format!("{} is wanted, not {}", self.wanted(), shown(value)))
    }

    fn wanted(self) -> String {
        match self {
            Kind::Workload => "a pack's name or folder, or a list of script files".to_owned(),
            Kind::Text => "a text".to_owned(),
            Kind::Target => "a URL or key=value pairs".to_owned(),
            Kind::Count(min, max) if max > i64::from(u32::MAX) => {
                format!("a whole number of at least {min}")
            }
            Kind::Count(min, max) => format!("a whole number from {min} to {max}"),
            Kind::Warmup => "a time such as 60 or \"60s\", or \"auto\"".to_owned(),
            Kind::Time | Kind::PositiveTime => "a time such as 60, \"60s\" or \"500ms\"".to_owned(),
            Kind::Backoff => "a text such as \"exponential=1ms,1s,full\"".to_owned(),
            Kind::Rate => {
                "a positive number of transactions a second, a share of the maximum such as \
                 \"70%\", or \"max\""
                    .to_owned()
            }
            Kind::Choice(words) => {
                let words: Vec<_> = words.iter().map(|w| format!("\"{w}\"")).collect();
                format!("one of {}", words.join(", "))
            }
            Kind::Flag => "true or false".to_owned(),
            Kind::Scalar => "a text, a number, true or false".to_owned(),
        }
    }
}

/// A value as an error shows it.
fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{text}\""),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        other => kind(other).to_owned(),
    }
}

/// Recorded as seconds.
fn time(
    value: &DeValue<'_>,
    wanted: Kind,
    parse: fn(&str) -> Result<std::time::Duration, String>,
) -> Result<Value, String> {
    let text = match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(_) | DeValue::Float(_) => {
            number(value).map_or_else(String::new, |n| n.to_string())
        }
        other => {
            return Err(format!(
                "{} is wanted, not {}",
                wanted.wanted(),
                kind(other)
            ));
        }
    };
    match parse(&text) {
        Ok(time) => Ok(json!(time.as_secs_f64())),
        Err(why) => Err(format!("\"{text}\": {why}")),
    }
}

fn rate_text(text: &str) -> Option<Value> {
    if text == MAX {
        return Some(json!(MAX));
    }
    share(text).map(|_| json!(text))
}

/// Whether a target's text has a password in it, in whichever of libpq's forms.
fn has_password(target: &str) -> bool {
    let named = target
        .match_indices("password")
        .any(|(at, word)| target[at + word.len()..].trim_start().starts_with('='));
    let in_url = target.split_once("://").is_some_and(|(_, rest)| {
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        authority
            .rsplit_once('@')
            .is_some_and(|(user, _)| user.contains(':'))
    });
    named || in_url
}

/// `70%` as 0.7: a share of the measured maximum. More than all of it overloads on purpose.
pub fn share(text: &str) -> Option<f64> {
    let percent: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
    (percent > 0.0 && percent <= 1000.0).then_some(percent / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(name: &str, value: &str) -> Result<Value, String> {
        let value = DeValue::parse(value).unwrap();
        find(name).unwrap().accept(value.get_ref())
    }

    #[test]
    fn each_kind_takes_what_it_should() {
        for (name, given, want) in [
            ("workload", "'tpcb'", json!(["tpcb"])),
            (
                "workload",
                "['a.sql@1', 'b.sql@2']",
                json!(["a.sql@1", "b.sql@2"]),
            ),
            ("clients", "1_0", json!(10)),
            ("clients", "0x10", json!(16)),
            ("rate", "500", json!(500.0)),
            ("rate", "'70%'", json!("70%")),
            ("rate", "'max'", json!("max")),
            ("duration", "'2m'", json!(120.0)),
            ("duration", "1.5", json!(1.5)),
            ("warmup", "0", json!(0.0)),
            ("warmup", "'10s'", json!(10.0)),
            ("warmup", "'auto'", json!("auto")),
            ("warmup", "'auto=2m'", json!("auto=2m")),
            ("isolation", "'serializable'", json!("serializable")),
            ("connect", "true", json!(true)),
            ("retry", "'restart'", json!("restart")),
            (
                "backoff",
                "'exponential=2ms'",
                json!("exponential=2ms,1s,full"),
            ),
            ("retry_deadline", "'200ms'", json!(0.2)),
            (
                "target",
                "'postgresql://me@db:5432/x'",
                json!("postgresql://me@db:5432/x"),
            ),
            ("params.scale", "10", json!(10)),
            ("settings.work_mem", "'4MB'", json!("4MB")),
        ] {
            assert_eq!(accept(name, given), Ok(want), "{name} = {given}");
        }
    }

    #[test]
    fn what_a_parameter_does_not_take_is_refused_with_what_it_takes() {
        for (name, given, want) in [
            ("workload", "''", "a pack's name"),
            ("workload", "[1]", "a list of script files"),
            (
                "clients",
                "0",
                "a whole number from 1 to 100000 is wanted, not 0",
            ),
            ("clients", "'8'", "not \"8\""),
            ("clients", "1.5", "not 1.5"),
            ("rate", "-1", "a positive number"),
            ("rate", "'70'", "such as \"70%\""),
            ("rate", "'0%'", "share of the maximum"),
            ("duration", "0", "longer than nothing"),
            ("duration", "'1x'", "\"1x\""),
            ("warmup", "'auto=1s'", "\"auto=1s\": fewer than 10 s"),
            (
                "warmup",
                "true",
                "a time such as 60 or \"60s\", or \"auto\"",
            ),
            ("duration", "true", "a time such as"),
            (
                "query_mode",
                "'fast'",
                "\"simple\", \"extended\", \"prepared\"",
            ),
            ("connect", "1", "true or false"),
            ("retry", "'always'", "\"none\", \"restart\", \"savepoint\""),
            ("backoff", "'linear'", "a backoff is none"),
            ("backoff", "5", "exponential=1ms,1s,full"),
            (
                "target",
                "'postgresql://me:secret@db/x'",
                "a password does not belong here",
            ),
            (
                "target",
                "'postgresql://db/x?password=secret'",
                "PGPASSWORD",
            ),
            ("target", "'host=db password = secret'", "PGPASSWORD"),
            ("target", "1", "a URL or key=value pairs"),
            ("params.scale", "nan", "a number"),
        ] {
            let e = accept(name, given).unwrap_err();
            assert!(e.contains(want), "{name} = {given}: {e}");
        }
    }
}
