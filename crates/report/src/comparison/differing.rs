//! What differs in how both sides were measured: settings by their names and with values as people
//! write them.

use serde_json::Value;

/// Something that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differing {
    /// `setting`, `version`, `server`, `host`, `trial`.
    pub kind: &'static str,
    /// A setting's name, or its position: `server.version`.
    pub what: String,
    /// A's value.
    pub a: String,
    /// B's value.
    pub b: String,
}

/// Where settings are.
const SETTINGS: &str = "server.changed_settings.";
/// Where the workload's tables are.
const TABLES: &str = "server.tables.";
/// Estimates of one table's rows lie so far apart at most.
const ESTIMATE_SHARE: f64 = 0.05;
/// Facts that are settings too, under the setting's own name or another.
const FACTS: [(&str, &str); 6] = [
    ("server.shared_buffers_bytes", "shared_buffers"),
    ("server.fsync", "fsync"),
    ("server.synchronous_commit", "synchronous_commit"),
    ("server.full_page_writes", "full_page_writes"),
    ("server.max_connections", "max_connections"),
    (
        "server.default_transaction_isolation",
        "default_transaction_isolation",
    ),
];
/// Values that only name the server itself, and what was seen of its cluster at that moment.
const NAMES_OF_THE_SERVER: [&str; 10] = [
    "port",
    "cluster_name",
    "unix_socket_directories",
    "external_pid_file",
    "listen_addresses",
    "log_directory",
    "server.data_directory",
    "server.reached",
    "server.placement",
    "server.replication",
];

/// What is not the same in two documents, settings first, and how many values were left out that only
/// name the server.
pub fn differences(a: &Value, b: &Value) -> (Vec<Differing>, usize) {
    let mut found = Vec::new();
    differ("", a, b, &mut found);
    let settings: Vec<String> = found
        .iter()
        .filter_map(|one| one.what.strip_prefix(SETTINGS).map(str::to_owned))
        .collect();
    let is_double = |what: &str| {
        let mut facts = FACTS.iter();
        facts.any(|(fact, setting)| *fact == what && settings.iter().any(|name| name == setting))
    };
    found.retain(|one| !is_double(&one.what) && !is_near(one));
    for one in &mut found {
        if let Some(name) = one.what.strip_prefix(SETTINGS) {
            one.what = name.to_owned();
            one.kind = "setting";
            for value in [&mut one.a, &mut one.b] {
                *value = match value.as_str() {
                    "–" => "default".to_owned(),
                    written => readable(written),
                };
            }
        } else if one.what.ends_with("_bytes") {
            for value in [&mut one.a, &mut one.b] {
                *value = readable(&format!("{value}B"));
            }
        }
    }
    let all = found.len();
    found.retain(|one| {
        let mut names = NAMES_OF_THE_SERVER.iter();
        !names.any(|name| {
            let below = one.what.strip_prefix(name);
            below.is_some_and(|below| below.is_empty() || below.starts_with('.'))
        })
    });
    let left_out = all - found.len();
    found.sort_by_key(|one| one.kind != "setting");
    (found, left_out)
}

/// Estimates of a table's rows that are no further apart than estimates of the same rows.
fn is_near(one: &Differing) -> bool {
    let is_estimate = one.what.starts_with(TABLES) && one.what.ends_with(".rows_estimate");
    let number = |text: &str| text.parse::<f64>().ok();
    match (number(&one.a), number(&one.b)) {
        (Some(a), Some(b)) => is_estimate && (a - b).abs() <= ESTIMATE_SHARE * a.max(b),
        // One that was never counted says nothing.
        _ => is_estimate,
    }
}

fn differ(path: &str, a: &Value, b: &Value, found: &mut Vec<Differing>) {
    let (Value::Object(of_a), Value::Object(of_b)) = (a, b) else {
        if a != b {
            found.push(Differing {
                kind: kind(path),
                what: path.to_owned(),
                a: words(a),
                b: words(b),
            });
        }
        return;
    };
    let mut names: Vec<&String> = of_a.keys().chain(of_b.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let below = match path {
            "" => name.clone(),
            _ => format!("{path}.{name}"),
        };
        let (a, b) = (of_a.get(name), of_b.get(name));
        differ(
            &below,
            a.unwrap_or(&Value::Null),
            b.unwrap_or(&Value::Null),
            found,
        );
    }
}

fn kind(what: &str) -> &'static str {
    match what.split('.').next().unwrap_or_default() {
        "server" if what.contains("version") => "version",
        "server" => "server",
        "host" => "host",
        "pgdyno" => "version",
        _ => "trial",
    }
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Units of settings, each with the next smaller one.
const SIZES: [(&str, u64); 4] = [
    ("TB", 1 << 40),
    ("GB", 1 << 30),
    ("MB", 1 << 20),
    ("kB", 1 << 10),
];
const TIMES: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("min", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// `16384 x 8kB` as `128MB`, `300s` as `5min`: in the largest unit in which it is a whole number.
/// What is no number with a unit stays as it is.
fn readable(value: &str) -> String {
    let (count, unit) = match value.split_once(" x ") {
        Some((count, unit)) => (count, unit),
        None => ("1", value),
    };
    let exact = || {
        let count: u64 = count.parse().ok()?;
        let digits = unit.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = unit.split_at(digits);
        let number = count.checked_mul(number.parse().ok()?)?;
        let in_units = |units: &[(&str, u64)], least: u64| {
            let whole = number.checked_mul(least)?;
            let (name, size) = units
                .iter()
                .find(|(_, size)| whole > 0 && whole % size == 0)?;
            Some(format!("{}{name}", whole / size))
        };
        match unit {
            "B" => in_units(&SIZES, 1),
            _ => [&SIZES[..], &TIMES[..]].iter().find_map(|units| {
                let (_, size) = units.iter().find(|(name, _)| *name == unit)?;
                in_units(units, *size)
            }),
        }
    };
    exact().unwrap_or_else(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_as_people_write_them() {
        for (value, shown) in [
            ("16384 x 8kB", "128MB"),
            ("131072 x 8kB", "1GB"),
            ("1024MB", "1GB"),
            ("4096kB", "4MB"),
            ("300s", "5min"),
            ("200ms", "200ms"),
            ("134217728B", "128MB"),
            ("12345B", "12345B"),
            ("0 x 8kB", "0 x 8kB"),
            ("on", "on"),
            ("18.1", "18.1"),
            ("en_US.UTF-8", "en_US.UTF-8"),
        ] {
            assert_eq!(readable(value), shown);
        }
    }

    #[test]
    fn settings_come_first_by_their_names_and_only_once() {
        let facts = |buffers: &str, bytes: u64, port: &str| {
            json!({
                "host": { "cpus": bytes },
                "server": {
                    "changed_settings": { "shared_buffers": buffers, "port": port },
                    "shared_buffers_bytes": bytes,
                    "version": "18",
                }
            })
        };
        let mut a = facts("16384 x 8kB", 1 << 27, "1");
        let b = facts("131072 x 8kB", 1 << 30, "2");
        a["server"]["version"] = json!("15");
        a["gone"] = json!([1]);
        let (found, left_out) = differences(&a, &b);
        let found: Vec<_> = found
            .iter()
            .map(|one| format!("{} {}: {} {}", one.kind, one.what, one.a, one.b))
            .collect();
        assert_eq!(
            found,
            [
                "setting shared_buffers: 128MB 1GB",
                "trial gone: [1] –",
                &format!("host host.cpus: {} {}", 1 << 27, 1 << 30),
                "version server.version: 15 18",
            ]
        );
        assert_eq!(left_out, 1, "the port");
    }
}
