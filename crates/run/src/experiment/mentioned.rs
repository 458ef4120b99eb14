//! Where in an experiment's file the cause of an error is, for errors that are found only when the file has
//! been read: by the workload, or by the server.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::toml_text::Source;
use pgdyno_spec::{Exit, Failure};

/// A single value, or one of a list.
struct Leaf {
    /// The table that it is in.
    table: String,
    key: (String, Range<usize>),
    value: (String, Range<usize>),
}

/// The failure with file, line and column, if it is about a key or value of the file. What the file says is no
/// mistake of the command line.
pub fn placed(source: Source<'_>, failure: Failure) -> Failure {
    let begin = format!("{}:", source.name);
    let rest = failure.message.strip_prefix(&begin);
    let has_place = rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let message = rest.map_or(&*failure.message, str::trim_start);
    let Some(at) = place(source.text, message).filter(|_| !has_place) else {
        return failure;
    };
    let exit = match failure.exit {
        Exit::Usage => Exit::Failed,
        exit => exit,
    };
    Failure {
        exit,
        message: source.wrong(at, message).message,
        ..failure
    }
}

fn place(text: &str, message: &str) -> Option<Range<usize>> {
    let table = DeTable::parse(text).ok()?;
    let mut leaves = Vec::new();
    collect(text, "", table.get_ref(), &mut leaves);
    let found = leaves.into_iter().filter_map(|leaf| {
        let (key, value) = (&leaf.key.0, &leaf.value.0);
        let has = |forms: &[String]| forms.iter().any(|form| message.contains(form));
        let (is_named, has_value) = match leaf.table.as_str() {
            "params" => (
                has(&[format!("--param {key}=")]),
                has(&[format!("--param {key}={value}")]),
            ),
            "settings" => (
                has(&[
                    format!("settings.{key} "),
                    format!("setting \"{key}\""),
                    format!("parameter \"{key}\""),
                    format!(": {key} = "),
                ]),
                has(&[
                    format!("\"{key}\": \"{value}\""),
                    format!(": {key} = {value}"),
                ]),
            ),
            _ if ["workload", "mix", "tables"].contains(&key.as_str()) => {
                let is_first = message.starts_with(&format!("{value}:"));
                (
                    false,
                    is_first || has(&[format!("{value}\""), format!("--mix {value}")]),
                )
            }
            _ => (false, false),
        };
        match (has_value, is_named) {
            (true, _) => Some((value.len() + 1, leaf.value.1)),
            (false, true) => Some((0, leaf.key.1)),
            (false, false) => None,
        }
    });
    // `10` has `1` in it.
    found.max_by_key(|(length, _)| *length).map(|(_, at)| at)
}

fn collect(text: &str, name: &str, table: &DeTable<'_>, leaves: &mut Vec<Leaf>) {
    for (key, value) in table {
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match value.get_ref() {
                DeValue::Table(inner) => collect(text, key.get_ref(), inner, leaves),
                DeValue::Array(values) => open.extend(values),
                scalar => leaves.push(Leaf {
                    table: name.to_owned(),
                    key: (key.get_ref().to_string(), key.span()),
                    value: (
                        scalar.as_str().unwrap_or(&text[value.span()]).to_owned(),
                        value.span(),
                    ),
                }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_error_speaks_of_is_shown_in_the_file() {
        let text = "workload = ['tpcb', 'tcpb']\nmix = 'bacth'\n[matrix]\nparams.scale = [1, 10]\n\
                    [settings]\nwork_mem = ['4MB', '64 megabytes']\nwork_men = 1\n[[point]]\nparams.x = 'y'\n";
        let source = Source {
            name: "e.toml",
            text,
        };
        for (message, want) in [
            (
                "e.toml: tcpb: unknown pack",
                "e.toml:1:21: tcpb: unknown pack\n",
            ),
            ("the pack has no mix \"bacth\"", "e.toml:2:7: "),
            ("--param scale=10: too many", "e.toml:4:20: "),
            ("--param x=y: it is no number", "e.toml:9:12: "),
            (
                "x: FATAL: invalid value for parameter \"work_mem\": \"64 megabytes\"",
                "e.toml:6:20: ",
            ),
            (
                "could not change settings.work_mem (denied)",
                "e.toml:6:1: ",
            ),
            ("the server has no setting \"work_men\"", "e.toml:7:1: "),
            ("e: no such setting: work_men = 1", "e.toml:7:12: "),
        ] {
            let placed = placed(source, Failure::with(Exit::Usage, message));
            assert!(placed.message.starts_with(want), "{message}: {placed}");
            assert_eq!(placed.exit, Exit::Failed);
        }
        for message in [
            "e.toml:1:2: tcpb: unknown pack",
            "pgbench_branches is there with scale = 1, not 10",
            "connection refused",
        ] {
            let failure = Failure::with(Exit::Usage, message);
            assert_eq!(placed(source, failure.clone()), failure);
        }
    }
}
