//! Short names of the targets of an experiment: the shortest part of their addresses that tells them
//! apart.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::table::one_line;
use pgdyno_model::notebook::TrialRow;
use pgdyno_spec::{experiment::words, secret::without_secrets};

/// What varies where there are several.
pub const TARGET: &str = "target";

/// The addresses of an experiment's points, each with its name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Targets(Vec<(String, String)>);

impl Targets {
    /// Of these trials, in the order in which they were first met.
    pub fn of<'a>(trials: impl IntoIterator<Item = &'a TrialRow>) -> Self {
        Self::of_points(trials.into_iter().filter_map(|trial| trial.point.as_ref()))
    }

    /// Of these points, as records have them.
    pub fn of_points<'a>(points: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut all: Vec<String> = Vec::new();
        for point in points {
            if let Some(target) = point.get(TARGET).map(words::plain)
                && !all.contains(&target)
            {
                all.push(target);
            }
        }
        let names = names(&all);
        Self(all.into_iter().zip(names).collect())
    }

    /// What the target of a point is called.
    pub fn name(&self, target: &Value) -> String {
        let target = words::plain(target);
        let known = self.0.iter().find(|(address, _)| *address == target);
        known.map_or_else(|| address(&target), |(_, name)| name.clone())
    }

    /// Address (as the point has it) and name of each.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(address, name)| (&**address, &**name))
    }
}

/// An address that may be shown: without its password.
pub fn address(target: &str) -> String {
    one_line(&without_secrets(target, None))
}

/// The shortest part that each has and none shares with another.
fn names(targets: &[String]) -> Vec<String> {
    let parts: Vec<Parts> = targets.iter().map(|target| Parts::of(target)).collect();
    let ways: [fn(&Parts) -> Option<String>; 7] = [
        |of| of.first_label(),
        |of| of.host.clone(),
        |of| of.port.as_ref().map(|port| format!("port {port}")),
        |of| of.host_and_port(),
        |of| of.database.clone(),
        |of| of.user.clone(),
        |of| of.application.clone(),
    ];
    for way in ways {
        let names: Option<Vec<String>> = parts.iter().map(way).collect();
        let Some(names) = names else { continue };
        if names.iter().collect::<BTreeSet<_>>().len() == names.len() {
            return names;
        }
    }
    (1..=targets.len())
        .map(|number| format!("target {number}"))
        .collect()
}

/// What an address consists of.
#[derive(Debug, Default)]
struct Parts {
    host: Option<String>,
    port: Option<String>,
    database: Option<String>,
    user: Option<String>,
    application: Option<String>,
}

impl Parts {
    fn of(target: &str) -> Self {
        let shown = address(target);
        match shown.split_once("://") {
            Some((_, rest)) => Self::of_url(rest),
            None => Self::of_pairs(shown.split_whitespace()),
        }
    }

    fn of_url(rest: &str) -> Self {
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (place, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, place) = place.rsplit_once('@').unwrap_or(("", place));
        // Of several the first.
        let place = place.split(',').next().unwrap_or_default();
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
            _ => (place, ""),
        };
        let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let query = Self::of_pairs(query.split('&'));
        Self {
            host: known(host).or(query.host),
            port: known(port).or(query.port),
            database: known(database).or(query.database),
            application: query.application,
            user: known(user.split(':').next().unwrap_or_default()).or(query.user),
        }
    }

    fn of_pairs<'a>(pairs: impl Iterator<Item = &'a str>) -> Self {
        let mut parts = Self::default();
        for (name, value) in pairs.filter_map(|pair| pair.split_once('=')) {
            let value = value.trim_matches('\'').split(',').next();
            let value = value.map(|value| value.replace("%2F", "/"));
            match name {
                "host" | "hostaddr" => parts.host = value,
                "port" => parts.port = value,
                "dbname" => parts.database = value,
                "user" => parts.user = value,
                "application_name" => parts.application = value,
                _ => {}
            }
        }
        parts
    }

    /// `db-1` of `db-1.example.com`; an address in numbers, or of a socket, is one label.
    fn first_label(&self) -> Option<String> {
        let host = self.host.as_ref()?;
        let is_name = !host.contains(['/', ':']) && host.contains(char::is_alphabetic);
        let label = host.split('.').next().filter(|_| is_name);
        Some(label.unwrap_or(host).to_owned())
    }

    fn host_and_port(&self) -> Option<String> {
        let host = self.first_label()?;
        let port = self.port.as_ref();
        Some(port.map_or_else(|| host.clone(), |port| format!("{host}:{port}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_shortest_part_that_tells_targets_apart() {
        for (targets, expected) in [
            (
                [
                    "postgresql://bench:secret@orders-01.db.example.com:5432/o?sslmode=verify-full",
                    "postgresql://bench@pooler.db.example.com:6432/o",
                ],
                ["orders-01", "pooler"],
            ),
            (
                ["host=db.a.example port=1", "host=db.b.example port=1"],
                ["db.a.example", "db.b.example"],
            ),
            (
                [
                    "postgresql://10.0.0.1:5432/x",
                    "postgresql://10.0.0.2:5432/x",
                ],
                ["10.0.0.1", "10.0.0.2"],
            ),
            (
                ["host=localhost port=5432", "host=localhost port=5433"],
                ["port 5432", "port 5433"],
            ),
            (
                ["postgresql://h/app?port=1", "postgresql://h/other?port=1"],
                ["app", "other"],
            ),
            (
                [
                    "postgresql:///x?host=%2Ftmp%2Fa",
                    "postgresql:///x?host=%2Ftmp%2Fb",
                ],
                ["/tmp/a", "/tmp/b"],
            ),
            (
                ["postgresql://a@b1:1,b2:1/x", "postgresql://a@c1:1,c2:1/x"],
                ["b1", "c1"],
            ),
            (["service=one", "service=two"], ["target 1", "target 2"]),
        ] {
            assert_eq!(names(&targets.map(str::to_owned)), expected, "{targets:?}");
        }
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        assert_eq!(address("postgresql://me:secret@h/x"), "postgresql://me@h/x");
    }
}
