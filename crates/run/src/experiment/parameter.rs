//! What a trial of an experiment can be given: the options of a trial, and what only experiments know.
//! All of them can be lists.

use pgdyno_spec::{
    Takes, Timed, TrialOption,
    experiment::{point::MAX, point::share},
    secret::{has_password, is_secret_name},
};
use serde_json::{Value, json};

const WORKLOAD: &str = "workload";

#[derive(Debug, Clone, Copy)]
pub enum Parameter {
    /// An option of a trial.
    Option(&'static TrialOption),
    /// Transactions a second, a share of the maximum, or `"max"`.
    Rate(&'static TrialOption),
    /// For script files: the pack whose tables they run on.
    Tables,
    /// The way to a server, without a password: it is in the results.
    Target,
    /// What a workload's parameter can be: text, number, true or false.
    Scalar,
    /// A server's setting: the same without a secret, because it is in the results.
    Setting {
        /// Its name is that of a secret.
        is_secret: bool,
    },
    /// An option of a disturbance.
    Disturb(&'static TrialOption),
}

/// Those that no option of a trial is, with what they are.
const OTHERS: [(&str, &str, Parameter); 2] = [
    (
        "tables",
        "for script files: the pack whose tables they run on, loaded with params",
        Parameter::Tables,
    ),
    (
        "target",
        "URL or key=value pairs of the server",
        Parameter::Target,
    ),
];

/// Tables of parameters whose names are the workload's and the server's.
pub const TABLES: [&str; 3] = ["params", "settings", "disturb"];

/// What a sweep adds to the help of an option.
const NOTES: [(&str, &str); 2] = [
    (
        WORKLOAD,
        "a pack by name or folder; a list in a list is script files with weights",
    ),
    (
        "rate",
        "500 a second; \"70%\" of the measured maximum; \"max\": closed loop; \"100..2000/60s\" and other courses",
    ),
];

/// The parameter of this name.
pub fn find(name: &str) -> Option<Parameter> {
    match name.split_once('.') {
        Some(("params", _)) => return Some(Parameter::Scalar),
        Some(("disturb", option)) => {
            let mut all = TrialOption::of_disturbance().iter();
            let found = all.find(|known| known.name == option);
            return found.map(Parameter::Disturb);
        }
        Some(("settings", setting)) => {
            let is_secret = is_secret_name(setting);
            return Some(Parameter::Setting { is_secret });
        }
        _ => {}
    }
    if let Some((_, _, other)) = OTHERS.iter().find(|(other, _, _)| *other == name) {
        return Some(*other);
    }
    let option = TrialOption::named(name)?;
    Some(match name {
        "rate" => Parameter::Rate(option),
        _ => Parameter::Option(option),
    })
}

/// The keys that stand for one or more.
pub fn names() -> Vec<&'static str> {
    let all = all().into_iter().map(|(name, _)| name);
    all.chain(TABLES).collect()
}

/// All of them with a line of help, but for `params` and `settings`, whose names are the workload's and
/// the server's.
pub fn all() -> Vec<(&'static str, String)> {
    let options = TrialOption::all().iter().map(|option| {
        let note = NOTES.iter().find(|(name, _)| *name == option.name);
        let help = note.map_or_else(|| option.help.clone(), |(_, note)| (*note).to_owned());
        (option.name.as_str(), help)
    });
    let others = OTHERS
        .iter()
        .map(|(name, help, _)| (*name, (*help).to_owned()));
    options.chain(others).collect()
}

/// Whether a text means to be a rate that moves.
fn is_profile(text: &str) -> bool {
    text.starts_with('@') || text.contains([',', '@', '~', '+', '/']) || text.contains("..")
}

impl Parameter {
    /// Whether it names files, which may lie beside the experiment's.
    pub fn is_workload(self) -> bool {
        matches!(self, Parameter::Option(option) if option.name == WORKLOAD)
    }

    /// A single value, checked, as it is in records.
    ///
    /// # Errors
    /// What it takes instead.
    pub fn accept(self, value: &Value) -> Result<Value, String> {
        let text = value.as_str();
        let wrong = |wanted: &str| format!("expected {wanted}, not {value}");
        match self {
            Parameter::Option(option) => option.accept(value),
            // Commands are run with their secrets: only their form is checked.
            Parameter::Disturb(option) if option.takes == Takes::Text => {
                for line in text.filter(|_| option.name == "at").into_iter().flat_map(str::lines) {
                    line.parse::<Timed>()?;
                }
                if text.is_some_and(|text| !text.trim().is_empty()) { Ok(value.clone()) } else { Err(option.wanted(&value.to_string())) }
            }
            Parameter::Disturb(option) => option.accept(value),
            Parameter::Rate(option) => match text {
                Some(MAX) => Ok(json!(MAX)),
                Some(text) if share(text).is_some() => Ok(json!(text)),
                Some(text) if is_profile(text) || text.contains(" of ") => option.accept(value),
                None if value.is_number() => option.accept(value),
                _ => Err(wrong(
                    "a positive number of transactions a second, a share of the maximum such as \
                     \"70%\" or of the capacity of another experiment such as \"70% of peak\", \
                     \"max\", or a course such as \"100..2000/60s\"",
                )),
            },
            Parameter::Target if text.is_some_and(has_password) => Err(
                "a password does not belong here, where it would get into the results: \
                 use a password file (~/.pgpass), PGPASSWORD or --url"
                    .to_owned(),
            ),
            Parameter::Tables | Parameter::Target if text.is_none_or(str::is_empty) => {
                Err(wrong(match self {
                    Parameter::Target => "a URL or key=value pairs",
                    _ => "a text",
                }))
            }
            Parameter::Scalar | Parameter::Setting { .. } if value.is_array() => {
                Err(wrong("a text, a number, true or false"))
            }
            Parameter::Setting { is_secret } if is_secret || text.is_some_and(has_password) => Err(
                "it looks like a password or a token, and settings are part of the results: set it \
                 in the server's own configuration"
                    .to_owned(),
            ),
            Parameter::Tables
            | Parameter::Target
            | Parameter::Scalar
            | Parameter::Setting { .. } => Ok(value.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    fn accept(name: &str, value: &str) -> Result<Value, String> {
        let value = toml::de::ValueDeserializer::parse(value).unwrap();
        let value = Value::deserialize(value).unwrap();
        find(name).unwrap().accept(&value)
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
            ("rate", "'80% of peak'", json!("80% of peak")),
            ("rate", "'max'", json!("max")),
            ("rate", "'100..2000/60s'", json!("100..2000/60s")),
            ("rate", "'500@30,1000@0.5m'", json!("500@30s,1000@30s")),
            ("duration", "'2m'", json!(120.0)),
            ("duration", "1.5", json!(1.5)),
            ("warmup", "0", json!(0.0)),
            ("warmup", "'10s'", json!(10.0)),
            ("warmup", "'auto'", json!("auto=60s")),
            ("warmup", "'auto=2m'", json!("auto=120s")),
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
            ("disturb.during", "'kill 7'", json!("kill 7")),
            ("disturb.at", "'''60s a\n90s b'''", json!("60s a\n90s b")),
            ("disturb.before", "'1m'", json!(60.0)),
            ("disturb.for", "5", json!(5.0)),
            ("disturb.within", "'20ms'", json!(0.02)),
            ("disturb.control", "true", json!(true)),
        ] {
            assert_eq!(accept(name, given), Ok(want), "{name} = {given}");
        }
    }

    #[test]
    fn what_a_parameter_does_not_take_is_refused_with_what_it_takes() {
        for (name, given, want) in [
            ("workload", "''", "a pack's name"),
            ("workload", "[1]", "a list of script files"),
            ("clients", "0", "it must be a whole number from 1 to 100000"),
            ("clients", "'8..9'", "how long it takes"),
            ("threads", "'8'", "not \"8\""),
            ("clients", "1.5", "not 1.5"),
            ("rate", "-1", "a rate is a positive number"),
            ("rate", "'70'", "such as \"70%\""),
            ("rate", "'0%'", "share of the maximum"),
            (
                "rate",
                "'100..2000'",
                "how long it takes: 100..2000/60s, at column 10",
            ),
            ("rate", "'500@30s,x'", "at column 9"),
            ("duration", "0", "longer than nothing"),
            ("duration", "'1x'", "a duration is a number of seconds"),
            ("warmup", "'auto=1s'", "10 s is the minimum"),
            ("warmup", "true", "a time such as"),
            ("duration", "true", "a time such as"),
            ("query_mode", "'fast'", "simple, extended, prepared"),
            ("connect", "1", "true or false"),
            ("retry", "'always'", "none, restart, savepoint"),
            ("backoff", "'linear'", "a backoff is none"),
            ("backoff", "5", "expected a text, not 5"),
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
            ("params.scale", "[1]", "a text, a number, true or false"),
            ("disturb.during", "''", "a text"),
            ("disturb.during", "7", "a text"),
            ("disturb.at", "'soon a'", "a time and a command"),
            ("disturb.before", "'x'", "a duration is a number of seconds"),
            ("disturb.control", "1", "true or false"),
        ] {
            let e = accept(name, given).unwrap_err();
            assert!(e.contains(want), "{name} = {given}: {e}");
        }
    }
}
