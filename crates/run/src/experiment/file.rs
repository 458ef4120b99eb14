//! What an experiment's file may hold, with the place of all that can be wrong only later.
//!
//! Not for: what the parameters take and what it all comes to; see `reader.rs`.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

use serde::de::{Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use toml::Spanned;
use toml::de::DeTable;

use super::parameter::{self, TABLES};
use super::toml_text::Source;
use pgdyno_spec::{
    Experiment, Failure, duration,
    experiment::{Kind, Order, Reset, Vacuum},
    suggest::nearest,
};

/// What is no parameter at the top of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sections {
    #[serde(default, deserialize_with = "name")]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "word")]
    pub kind: Kind,
    #[serde(default = "one", deserialize_with = "repeats")]
    pub repeats: u32,
    #[serde(default, deserialize_with = "word")]
    pub order: Order,
    pub seed: Option<i64>,
    #[serde(default, deserialize_with = "name")]
    pub restart: Option<String>,
    pub matrix: Option<Spanned<Parameters>>,
    #[serde(default)]
    pub zip: Vec<Spanned<Parameters>>,
    #[serde(default)]
    pub point: Vec<Spanned<Parameters>>,
    #[serde(default)]
    pub exclude: Vec<Spanned<Parameters>>,
    #[serde(default, with = "ResetTable")]
    pub reset: Reset,
    pub capacity: Option<CapacityTable>,
}

#[derive(Deserialize)]
#[serde(remote = "Reset", deny_unknown_fields, default = "Reset::default")]
struct ResetTable {
    replace_pgbench_tables: bool,
    truncate: Vec<String>,
    #[serde(deserialize_with = "word")]
    vacuum: Vacuum,
    checkpoint: bool,
    #[serde(deserialize_with = "positive_time")]
    checkpoint_timeout: Duration,
    #[serde(deserialize_with = "time")]
    settle: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapacityTable {
    #[serde(deserialize_with = "positive_time")]
    pub slo: Duration,
    #[serde(default, deserialize_with = "width")]
    pub width: Option<f64>,
    #[serde(default, deserialize_with = "some_positive_time")]
    pub time: Option<Duration>,
}

/// A share above 0 and below 1.
fn width<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let width = f64::deserialize(from)?;
    if 0.0 < width && width < 1.0 {
        Ok(Some(width))
    } else {
        Err(D::Error::custom(
            "width is a share of the capacity, such as 0.05",
        ))
    }
}

fn some_positive_time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    positive_time(from).map(Some)
}

/// Parameters with their values, in the order of the file.
pub struct Parameters(pub Vec<Entry>);

/// One `name = value`, with the names in `params` and `settings` spelled out.
pub struct Entry {
    pub name: String,
    pub at: Range<usize>,
    pub value: Spanned<Value>,
}

impl<'de> Deserialize<'de> for Parameters {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Table;
        impl<'de> Visitor<'de> for Table {
            type Value = Parameters;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parameters, A::Error> {
                let mut entries = Vec::new();
                let entry = |name, at, value| Entry { name, at, value };
                while let Some(key) = map.next_key::<Spanned<String>>()? {
                    let (at, name) = (key.span(), key.into_inner());
                    if !TABLES.contains(&name.as_str()) {
                        entries.push(entry(name, at, map.next_value()?));
                        continue;
                    }
                    let inner: BTreeMap<Spanned<String>, Spanned<Value>> = map.next_value()?;
                    entries.extend(inner.into_iter().map(|(key, value)| {
                        entry(format!("{name}.{}", key.get_ref()), key.span(), value)
                    }));
                }
                // The parser sorts by name.
                entries.sort_by_key(|entry| entry.at.start);
                Ok(Parameters(entries))
            }
        }
        from.deserialize_map(Table)
    }
}

fn one() -> u32 {
    1
}

fn repeats<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let most = Experiment::REPEATS_MAX;
    let number = u32::try_from(i64::deserialize(from)?).ok();
    let number = number.filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| Error::custom(format!("expected a whole number from 1 to {most}")))
}

fn name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    match String::deserialize(from)? {
        name if name.is_empty() => Err(Error::custom("it is empty")),
        name => Ok(Some(name)),
    }
}

fn word<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    let text = match Value::deserialize(from)? {
        Value::String(text) => text,
        // No word either: the error tells which there are.
        other => other.to_string(),
    };
    T::deserialize(text.into_deserializer())
}

fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    parsed_time(from, duration::parse)
}

fn positive_time<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    parsed_time(from, duration::parse_positive)
}

/// A number of seconds, or a text with a unit.
fn parsed_time<'de, D: Deserializer<'de>>(
    from: D,
    parse: fn(&str) -> Result<Duration, String>,
) -> Result<Duration, D::Error> {
    let text = match Value::deserialize(from)? {
        Value::String(text) => text,
        Value::Number(number) => number.to_string(),
        other => {
            let wanted = "a time such as 60, \"60s\" or \"500ms\"";
            return Err(Error::custom(format!("expected {wanted}, not {other}")));
        }
    };
    parse(&text).map_err(|why| Error::custom(format!("\"{text}\": {why}")))
}

/// Reads a file: the parameters at its top, and all else.
///
/// # Errors
/// It is not TOML, has keys that are not known, or values of another kind.
pub fn parse(source: Source<'_>) -> Result<(Parameters, Sections), Failure> {
    let parse = || {
        let table = DeTable::parse(source.text)?;
        let at = table.span();
        let is_parameter = |name: &str| TABLES.contains(&name) || parameter::find(name).is_some();
        // What serde's `flatten` does, which loses the places.
        let (parameters, sections): (DeTable<'_>, DeTable<'_>) = table
            .into_inner()
            .into_iter()
            .partition(|(key, _)| is_parameter(key.get_ref()));
        let typed = |table| toml::Deserializer::from(Spanned::new(at.clone(), table));
        Ok((
            Parameters::deserialize(typed(parameters))?,
            Sections::deserialize(typed(sections))?,
        ))
    };
    parse().map_err(|error: toml::de::Error| refusal(source, &error))
}

/// What to do about a key.
const WAYS_OUT: [(&str, &str); 7] = [
    ("hygiene", "[hygiene] is called [reset]"),
    (
        "scale",
        "a workload's parameters stand in [params]: params.scale",
    ),
    (
        "fillfactor",
        "a workload's parameters stand in [params]: params.fillfactor",
    ),
    ("slo", "the limit that p99 is to keep: slo = \"20ms\""),
    ("zip", "each is begun with [[zip]]"),
    ("point", "each is begun with [[point]]"),
    ("exclude", "each is begun with [[exclude]]"),
];

fn way_out(key: &str) -> Option<&'static str> {
    let found = WAYS_OUT.iter().find(|(known, _)| *known == key);
    found.map(|(_, way_out)| *way_out)
}

/// A key that is not known.
pub fn unknown(source: Source<'_>, at: Range<usize>, key: &str, known: &[&str]) -> Failure {
    let typed = key.rsplit('.').next().unwrap_or(key);
    let failure = source.wrong(at, &format!("unknown key \"{key}\""));
    failure.hint(
        match (way_out(typed), nearest(typed, known.iter().copied())) {
            (Some(way_out), _) => way_out.to_owned(),
            (None, Some(word)) => format!("did you mean \"{word}\"?"),
            (None, None) => format!("there are: {}", known.join(", ")),
        },
    )
}

/// Where the list begins that is open at the end of the text, or at a line that begins another key or table.
fn open_list(text: &str, at: usize, is_unclosed: bool) -> Option<usize> {
    let line_start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[line_start..].lines().next().unwrap_or_default().trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.\"' ".contains(c);
    let key = line.split_once('=').map_or("", |(key, _)| key);
    let header = line.trim_matches(['[', ']']);
    let begins_another = !key.is_empty() && key.chars().all(is_name)
        || line.starts_with('[')
            && line.ends_with(']')
            && header.starts_with(|c: char| c.is_alphabetic());
    let before = match (is_unclosed, begins_another) {
        (true, _) => text,
        (false, true) => &text[..line_start],
        (false, false) => return None,
    };
    let mut open = Vec::new();
    let mut begin = 0;
    for line in before.split_inclusive('\n') {
        // Outside of a list, what a line begins with [ is a table.
        let is_header = open.is_empty() && line.trim_start().starts_with('[');
        let mut quote = None;
        for (at, c) in line.char_indices().filter(|_| !is_header) {
            match (quote, c) {
                (Some(mark), c) if mark == c => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') => quote = Some(c),
                (None, '#') => break,
                (None, '[') => open.push(begin + at),
                (None, ']') => drop(open.pop()),
                _ => {}
            }
        }
        begin += line.len();
    }
    open.first().copied()
}

/// An error of serde with the words of a file.
fn refusal(source: Source<'_>, error: &toml::de::Error) -> Failure {
    let at = error.span().unwrap_or(0..0);
    let is_unclosed = error.message().starts_with("unclosed array");
    if let Some(open) = open_list(source.text, at.start, is_unclosed) {
        let failure = source.wrong(open..open + 1, "the list that begins here is not closed");
        return failure.hint("a list ends with ]: clients = [1, 2, 4]");
    }
    // Only here does toml tell the key: "message\nin `reset.settle`".
    let shown = error.to_string();
    let key = shown.trim_end().rsplit_once("\nin `");
    let key = key.map(|(_, key)| key.trim_end_matches('`'));
    // Of names that are not known serde quotes what was typed, then what there is.
    let mut quoted = error.message().split('`').skip(1).step_by(2);
    let typed = quoted.next().unwrap_or_default();
    if error.message().starts_with("unknown field") {
        return match key {
            Some(table) => {
                let known: Vec<&str> = quoted.collect();
                unknown(source, at, &format!("{table}.{typed}"), &known)
            }
            None => {
                let known: Vec<&str> = parameter::names().into_iter().chain(quoted).collect();
                unknown(source, at, typed, &known)
            }
        };
    }
    let what = error.message().replace("i64", "a whole number");
    let what = what.replace("sequence", "list").replace("map", "table");
    let what = key.map_or(what.clone(), |key| format!("{key}: {what}"));
    let failure = source.wrong(at, &what);
    match way_out(typed).or(key.and_then(way_out)) {
        Some(way_out) => failure.hint(way_out),
        None => failure,
    }
}
