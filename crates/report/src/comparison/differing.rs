//! What differs in how both sides were measured: settings by their names and with values as people
//! write them, all else in words.

use serde_json::Value;

use pgdyno_model::document::comparison::{Differing, DifferingKind};

use super::address;
use super::does::does;

const SETTINGS: &str = "server.changed_settings.";
/// Where those that an experiment gave are.
const GIVEN: &str = "trial.settings.";
/// Where the workload's tables are.
const TABLES: &str = "server.tables.";
/// Estimates of one table's rows lie so far apart at most.
const ESTIMATE_SHARE: f64 = 0.05;
/// Facts that are settings too, under the setting's own name or another.
const FACTS: [(&str, &str); 7] = [
    ("server.shared_buffers_bytes", "shared_buffers"),
    ("server.fsync", "fsync"),
    ("server.synchronous_commit", "synchronous_commit"),
    ("server.full_page_writes", "full_page_writes"),
    ("server.max_connections", "max_connections"),
    (
        "server.default_transaction_isolation",
        "default_transaction_isolation",
    ),
    ("server.isolation", "default_transaction_isolation"),
];
/// The same said again: the second is shown, the first only where the second does not differ.
const AGAIN: [(&str, &str); 3] = [
    ("server.version", "server version"),
    ("server.server_version_num", "server version"),
    ("server.isolation", "isolation"),
];
/// Values that only name the server itself, and what was seen of its cluster at that moment.
const NAMES_OF_THE_SERVER: [&str; 14] = [
    "port",
    "cluster_name",
    "unix_socket_directories",
    "external_pid_file",
    "listen_addresses",
    "log_directory",
    "data_directory",
    "config_file",
    "hba_file",
    "ident_file",
    "server.data_directory",
    "server.reached",
    "server.placement",
    "server.replication",
];
/// Settings that the server computes, each with the setting that it follows from.
const FOLLOWS: [(&str, &str); 8] = [
    ("shared_memory_size", "shared_buffers"),
    ("shared_memory_size_in_huge_pages", "shared_buffers"),
    ("transaction_buffers", "shared_buffers"),
    ("subtransaction_buffers", "shared_buffers"),
    ("commit_timestamp_buffers", "shared_buffers"),
    ("wal_buffers", "shared_buffers"),
    ("huge_pages_status", "huge_pages"),
    ("num_os_semaphores", "max_connections"),
];
/// What a setting does that follows from another that differs.
pub const FOLLOWS_WORDS: &str = "follows from another";

/// Something that is not the same, as it is found in the documents.
struct Difference<'a> {
    path: String,
    a: &'a Value,
    b: &'a Value,
}

/// What is not the same in two documents, settings first, and how many values were left out that only
/// name the server.
pub fn differences(a: &Value, b: &Value) -> (Vec<Differing>, usize) {
    let mut found = Vec::new();
    differ("", a, b, &mut found);
    // Addresses say what their title says.
    let has_addresses = found.iter().any(|one| one.path == "trial.target.url");
    let mut left_out = 0;
    let mut all: Vec<(String, Differing)> = Vec::new();
    for one in &found {
        if is_near(one) {
            continue;
        }
        if one.path == "trial.target.url" {
            let (parts, names) = address::differences(one.a, one.b);
            left_out += names;
            all.extend(parts.into_iter().map(|part| (String::new(), part)));
        } else if is_name(&one.path) || (one.path == "target" && has_addresses) {
            left_out += 1;
        } else {
            all.push((one.path.clone(), readable_one(one)));
        }
    }
    let shown: Vec<String> = all.iter().map(|(_, one)| one.what.clone()).collect();
    let is_shown = |name: &str| shown.iter().any(|what| what == name);
    let is_double = |path: &str, what: &str| {
        let again = |of: &[(&str, &str)]| {
            let mut of = of.iter();
            of.any(|(first, second)| *first == path && *second != what && is_shown(second))
        };
        again(&FACTS) || again(&AGAIN)
    };
    let mut kept: Vec<Differing> = Vec::new();
    for (path, one) in all {
        match kept.iter_mut().find(|other| other.what == one.what) {
            _ if is_double(&path, &one.what) => {}
            // What was asked for says more than what the server calls its default.
            Some(other) if path.starts_with(GIVEN) => *other = one,
            Some(_) => {}
            None => kept.push(one),
        }
    }
    for one in &mut kept {
        let mut follows = FOLLOWS.iter();
        if follows.any(|(name, cause)| one.what == *name && is_shown(cause)) {
            one.does = Some(FOLLOWS_WORDS);
        }
    }
    kept.sort_by_key(|one| (one.kind, one.does == Some(FOLLOWS_WORDS)));
    (kept, left_out)
}

/// Whether a value only names the server itself.
fn is_name(path: &str) -> bool {
    let what = path.strip_prefix(SETTINGS).unwrap_or(path);
    NAMES_OF_THE_SERVER.iter().any(|name| {
        let below = what.strip_prefix(name);
        below.is_some_and(|below| below.is_empty() || below.starts_with('.'))
    })
}

/// With a name and values as people write them.
fn readable_one(one: &Difference<'_>) -> Differing {
    let path = one.path.as_str();
    let kind = kind(path);
    let what = name(path);
    let value = |value: &Value| match (value, kind) {
        (Value::Null, DifferingKind::Setting) => "default".to_owned(),
        (_, DifferingKind::Setting) => readable(&words(value)),
        (Value::Number(_), _) if path.ends_with("_bytes") => readable(&format!("{value}B")),
        _ => words(value),
    };
    Differing {
        kind,
        does: match kind {
            DifferingKind::Setting => does(&what),
            _ => None,
        },
        what,
        a: value(one.a),
        b: value(one.b),
    }
}

/// Estimates of a table's rows that are no further apart than estimates of the same rows.
fn is_near(one: &Difference<'_>) -> bool {
    let is_estimate = one.path.starts_with(TABLES) && one.path.ends_with(".rows_estimate");
    match (one.a.as_f64(), one.b.as_f64()) {
        (Some(a), Some(b)) => is_estimate && (a - b).abs() <= ESTIMATE_SHARE * a.max(b),
        // One that was never counted says nothing.
        _ => is_estimate,
    }
}

fn differ<'a>(path: &str, a: &'a Value, b: &'a Value, found: &mut Vec<Difference<'a>>) {
    let (Value::Object(of_a), Value::Object(of_b)) = (a, b) else {
        if a != b {
            let path = path.to_owned();
            found.push(Difference { path, a, b });
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

fn kind(path: &str) -> DifferingKind {
    let is_fact = FACTS.iter().any(|(fact, _)| *fact == path);
    match path.split('.').next().unwrap_or_default() {
        _ if is_fact || path.starts_with(SETTINGS) || path.starts_with(GIVEN) => {
            DifferingKind::Setting
        }
        "server" if path.contains("version") => DifferingKind::Version,
        "pgdyno" => DifferingKind::Version,
        "server" | "target" => DifferingKind::Server,
        "host" => DifferingKind::Host,
        _ => DifferingKind::Trial,
    }
}

/// Units of figures at the end of names.
const UNITS: [(&str, &str); 3] = [("_us", ", µs"), ("_s", ", s"), ("_bytes", "")];

/// A setting by its own name, all else in words.
fn name(path: &str) -> String {
    if let Some((_, setting)) = FACTS.iter().find(|(fact, _)| *fact == path) {
        return (*setting).to_owned();
    }
    let setting = path.strip_prefix(SETTINGS).or(path.strip_prefix(GIVEN));
    if let Some(setting) = setting {
        return setting.to_owned();
    }
    match path {
        "server.server_version" => return "server version".to_owned(),
        "trial.rate_per_s" => return "rate, tx/s".to_owned(),
        "trial.transactions_per_client" => return "transactions of each client".to_owned(),
        "target" => return "server".to_owned(),
        _ => {}
    }
    if let Some((table, fact)) = path.strip_prefix(TABLES).and_then(|of| of.rsplit_once('.')) {
        return format!("table {table}: {}", fact.replace('_', " "));
    }
    let (whose, name) = match path.split_once('.') {
        Some(("trial" | "variables", name)) => ("", name.strip_prefix("params.").unwrap_or(name)),
        Some(("server", name)) => ("server’s ", name),
        Some(("host", name)) => ("load generator’s ", name),
        _ => ("", path),
    };
    let unit = UNITS.iter().find(|(end, _)| name.ends_with(end));
    let (name, unit) = match unit {
        Some((end, unit)) => (name.strip_suffix(end).unwrap_or(name), *unit),
        None => (name, ""),
    };
    format!("{whose}{}{unit}", name.replace(['_', '.'], " "))
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::Bool(true) => "on".to_owned(),
        Value::Bool(false) => "off".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            let words: Vec<String> = list.iter().map(words).collect();
            words.join(", ")
        }
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
pub(super) fn readable(value: &str) -> String {
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

    /// Each difference on a line.
    fn lines(a: &Value, b: &Value) -> (Vec<String>, usize) {
        let (found, left_out) = differences(a, b);
        let lines = found
            .iter()
            .map(|one| format!("{:?} {}: {} → {}", one.kind, one.what, one.a, one.b));
        (lines.collect(), left_out)
    }

    #[test]
    fn settings_come_first_by_their_names_and_only_once() {
        let facts = |buffers: &str, bytes: u64, port: &str| {
            json!({
                "host": { "cpus": bytes },
                "server": {
                    "changed_settings": {
                        "shared_buffers": buffers,
                        "shared_memory_size": buffers,
                        "port": port,
                    },
                    "shared_buffers_bytes": bytes,
                    "server_version": "18.1",
                    "version": "PostgreSQL 18.1",
                }
            })
        };
        let mut a = facts("16384 x 8kB", 1 << 27, "1");
        let b = facts("131072 x 8kB", 1 << 30, "2");
        a["server"]["version"] = json!("PostgreSQL 15.2");
        a["server"]["server_version"] = json!("15.2");
        a["gone"] = json!([1]);
        let (found, left_out) = lines(&a, &b);
        assert_eq!(
            found,
            [
                "Setting shared_buffers: 128MB → 1GB",
                "Setting shared_memory_size: 128MB → 1GB",
                "Version server version: 15.2 → 18.1",
                "Trial gone: 1 → –",
                &format!("Host load generator’s cpus: {} → {}", 1 << 27, 1 << 30),
            ]
        );
        assert_eq!(left_out, 1, "the port");
        let (found, _) = differences(&a, &b);
        assert_eq!(found[0].does, Some("memory for pages"));
        assert_eq!(found[1].does, Some(FOLLOWS_WORDS));
    }

    #[test]
    fn what_was_asked_for_is_shown_once_with_its_own_values() {
        let side = |cost: &str, changed: Value, clients: u32, commit: &str| {
            json!({
                "trial": {
                    "clients": clients,
                    "transactions_per_client": clients,
                    "query_mode": "simple",
                    "settings": { "autovacuum_vacuum_cost_delay": cost, "work_mem": "64MB",
                        "synchronous_commit": commit },
                    "params": { "scale": clients },
                },
                "variables": { "scale": clients.to_string() },
                "server": { "changed_settings": changed, "synchronous_commit": commit },
            })
        };
        let a = side("2ms", json!({}), 4, "on");
        let changed = json!({ "autovacuum_vacuum_cost_delay": "0ms" });
        let (found, left_out) = lines(&a, &side("0", changed, 8, "off"));
        assert_eq!(
            found,
            [
                "Setting autovacuum_vacuum_cost_delay: 2ms → 0",
                "Setting synchronous_commit: on → off",
                "Trial clients: 4 → 8",
                "Trial scale: 4 → 8",
                "Trial transactions of each client: 4 → 8",
            ]
        );
        assert_eq!(left_out, 0);
        assert_eq!(lines(&a, &a), (Vec::new(), 0));
    }

    #[test]
    fn an_address_is_read_in_its_parts() {
        let side = |url: &str| json!({ "trial": { "target": { "url": [url] } }, "target": url });
        let a = side("postgresql://me@/bench?host=/run/a&port=5432&application_name=one");
        let b = side(
            "postgresql://me@/bench?host=/run/b&port=5433&options=-c%20work_mem%3D64MB&sslmode=require",
        );
        let (found, left_out) = lines(&a, &b);
        assert_eq!(
            found,
            [
                "Setting work_mem: default → 64MB",
                "Trial connection: sslmode: default → require",
            ]
        );
        assert_eq!(
            left_out, 4,
            "socket, port, application’s name, what all is called"
        );
    }
}
