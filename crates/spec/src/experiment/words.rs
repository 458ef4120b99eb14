//! Parameters of a point and their values as people say them: `select-only, scale 10, 8 clients`.

use serde_json::Value;

use super::POINT_NAME;
use super::point::MAX;
use crate::text::{count, plural};

/// A value for people: as [`plain`], on one line.
pub fn value(value: &Value) -> String {
    plain(value).replace(char::is_control, " ")
}

/// A value without quotes, lists with spaces between.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(" "),
        Value::Number(number) => match number.as_f64() {
            // 60 rather than 60.0
            Some(whole) if whole.fract() == 0.0 && whole.abs() < 1e15 => format!("{whole}"),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// A parameter's name for people: `scale` of `params.scale`, `query mode` of `query_mode`.
pub fn name(path: &str) -> String {
    match path
        .strip_prefix("params.")
        .or(path.strip_prefix("settings."))
    {
        Some(own) => own.to_owned(),
        None if path == POINT_NAME => "point".to_owned(),
        None => path.replace(['_', '.'], " "),
    }
}

/// A parameter with its value: `8 clients`, `500/s`, `scale 10`, `work_mem 4MB`, `prepared statements`.
pub fn named(path: &str, of: &Value) -> String {
    let words = value(of);
    match (path, of) {
        (POINT_NAME | "workload" | "isolation", _) => words,
        ("clients" | "threads", of) => match of.as_u64() {
            Some(number) => plural(number, path.trim_end_matches('s')),
            None => format!("{words} {path}"),
        },
        ("rate", of) => rate(of, words),
        ("transactions", of) => match of.as_u64() {
            Some(number) => format!("{} a client", plural(number, "transaction")),
            None => format!("transactions {words}"),
        },
        ("query_mode", Value::String(mode)) => match mode.as_str() {
            "prepared" => "prepared statements".to_owned(),
            _ => format!("{words} queries"),
        },
        ("retry", Value::String(how)) => match how.as_str() {
            "none" => "no retries".to_owned(),
            _ => format!("retry by {words}"),
        },
        ("duration" | "warmup", Value::Number(_)) => format!("{path} {words} s"),
        ("disturb.control", Value::Bool(true)) => "control".to_owned(),
        ("disturb.control", Value::Bool(false)) => "disturbed".to_owned(),
        ("connect", Value::Bool(true)) => "a connection per transaction".to_owned(),
        ("connect", Value::Bool(false)) => "a connection per client".to_owned(),
        (path, Value::Bool(true)) => name(path),
        (path, Value::Bool(false)) => format!("no {}", name(path)),
        (path, _) => format!("{} {words}", name(path)),
    }
}

fn rate(of: &Value, words: String) -> String {
    if let Some(per_s) = of.as_f64() {
        return if per_s.fract() == 0.0 && per_s >= 0.0 {
            format!("{}/s", count(per_s as u64))
        } else {
            format!("{words}/s")
        };
    }
    match words.strip_suffix('%') {
        Some(share) => format!("{} % of the maximum", share.trim()),
        None if words == MAX => "no rate".to_owned(),
        None => format!("rate {words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_parameter_is_said_as_one_would_say_it() {
        for (path, value, words) in [
            ("params.scale", json!(10), "scale 10"),
            ("settings.work_mem", json!("4MB"), "work_mem 4MB"),
            ("duration", json!(2.0), "duration 2 s"),
            ("warmup", json!("auto"), "warmup auto"),
            ("clients", json!(1), "1 client"),
            ("clients", json!(1024), "1,024 clients"),
            ("clients", json!("8..64/60s"), "8..64/60s clients"),
            ("threads", json!(4), "4 threads"),
            ("rate", json!(2500.0), "2,500/s"),
            ("rate", json!(0.5), "0.5/s"),
            ("rate", json!("70%"), "70 % of the maximum"),
            ("rate", json!("max"), "no rate"),
            ("workload", json!(["select-only"]), "select-only"),
            ("workload", json!(["a.sql@9", "b.sql"]), "a.sql@9 b.sql"),
            ("isolation", json!("read committed"), "read committed"),
            ("query_mode", json!("prepared"), "prepared statements"),
            ("query_mode", json!("simple"), "simple queries"),
            ("retry", json!("none"), "no retries"),
            ("retry", json!("savepoint"), "retry by savepoint"),
            ("disturb.control", json!(true), "control"),
            ("disturb.control", json!(false), "disturbed"),
            ("connect", json!(true), "a connection per transaction"),
            ("connect", json!(false), "a connection per client"),
            ("max_tries", json!(3), "max tries 3"),
            ("name", json!("bulk\nimports"), "bulk imports"),
        ] {
            assert_eq!(named(path, &value), words);
        }
        assert_eq!(name("settings.work_mem"), "work_mem");
        assert_eq!(name("query_mode"), "query mode");
    }
}
