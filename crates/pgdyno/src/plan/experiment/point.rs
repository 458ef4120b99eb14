//! One point of the matrix: a value for each parameter, and the trial that it is.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pgdyno_drive::{Drive, OnConnectionLoss, OnError, QueryMode, Until};
use pgdyno_platform::host;
use serde_json::{Map, Value, json};

use super::parameter::{self, MAX};
use crate::plan::isolation::Isolation;
use crate::plan::trial::{self, Trial};
use crate::plan::warmup::Asked;
use crate::plan::{backoff, retries};
use crate::target::open::Wanted;
use pgdyno_model::Failure;
use pgdyno_model::experiment::POINT_NAME;

/// As `pgdyno run` has it.
const DURATION_DEFAULT_S: f64 = 10.0;

/// Values by parameter; those of the workload and the server as `params.NAME`, `settings.NAME`.
#[derive(Debug, Clone, PartialEq)]
pub struct Point(BTreeMap<String, Value>);

/// The pace of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// A closed loop.
    Max,
    /// Transactions a second.
    PerSecond(f64),
    /// A share of what the closed loop comes to, 1 for all of it.
    Share(f64),
}

impl Point {
    /// The values must have been accepted by their parameters.
    pub fn new(values: BTreeMap<String, Value>) -> Point {
        Point(values)
    }

    /// From records.
    pub fn from_json(record: &Value) -> Option<Point> {
        let mut values = BTreeMap::new();
        for (name, value) in record.as_object()? {
            match value {
                Value::Object(inner) => {
                    let inner = inner.iter();
                    values.extend(inner.map(|(n, value)| (format!("{name}.{n}"), value.clone())));
                }
                value => {
                    values.insert(name.clone(), value.clone());
                }
            }
        }
        Some(Point(values))
    }

    /// The parameters in which these points differ.
    pub fn varied(points: &[Point]) -> Vec<String> {
        let names: BTreeSet<&String> = points.iter().flat_map(|point| point.0.keys()).collect();
        let differs = |name: &&String| {
            let mut values = points.iter().map(|point| point.0.get(*name));
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        names.into_iter().filter(differs).cloned().collect()
    }

    /// What the parameters cannot know of each other.
    ///
    /// # Errors
    /// Two of them contradict each other.
    pub fn check(&self) -> Result<(), Failure> {
        if self.0.contains_key("duration") && self.0.contains_key("transactions") {
            return Err(Failure::new(
                "duration and transactions are both given: a trial has one length",
            ));
        }
        if self.0.contains_key("isolation")
            && self
                .0
                .contains_key("settings.default_transaction_isolation")
        {
            return Err(Failure::new(
                "isolation and settings.default_transaction_isolation are the same thing: give one",
            ));
        }
        Ok(())
    }

    /// The same text for the same point, whatever order it was written in.
    pub fn key(&self) -> String {
        self.to_json().to_string()
    }

    /// For records: nested as in the file.
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        for (name, value) in &self.0 {
            match name.split_once('.') {
                None => {
                    map.insert(name.clone(), value.clone());
                }
                Some((table, name)) => {
                    let inner = map.entry(table).or_insert_with(|| json!({}));
                    inner[name] = value.clone();
                }
            }
        }
        Value::Object(map)
    }

    /// For people: the parameters that vary.
    pub fn label(&self, varied: &[&str]) -> String {
        let shown = varied.iter().filter_map(|name| {
            let value = text(self.0.get(*name)?);
            let short = name.strip_prefix("params.").unwrap_or(name);
            let short = short.strip_prefix("settings.").unwrap_or(short);
            Some(if ["workload", POINT_NAME].contains(name) {
                value
            } else {
                format!("{short} {value}")
            })
        });
        let shown: Vec<String> = shown.collect();
        if shown.is_empty() {
            self.workload().join(" ")
        } else {
            shown.join(", ")
        }
    }

    /// The same point as fast as it will go.
    pub fn at_maximum(&self) -> Point {
        let mut point = self.clone();
        point.0.insert("rate".to_owned(), json!(MAX));
        point
    }

    /// The same point at so many transactions a second.
    pub fn at_rate(&self, per_second: f64) -> Point {
        let mut point = self.clone();
        point.0.insert("rate".to_owned(), json!(per_second));
        point
    }

    /// What the same point has at any pace.
    pub fn without_rate(&self) -> Point {
        let mut point = self.clone();
        point.0.remove("rate");
        point
    }

    /// Its pace.
    pub fn rate(&self) -> Rate {
        match self.0.get("rate") {
            Some(Value::String(text)) => parameter::share(text).map_or(Rate::Max, Rate::Share),
            Some(number) => number.as_f64().map_or(Rate::Max, Rate::PerSecond),
            None => Rate::Max,
        }
    }

    /// The server it names, if it names one.
    pub fn target(&self) -> Option<&str> {
        self.text("target")
    }

    /// For script files: the pack whose tables they run on.
    pub fn tables(&self) -> Option<&str> {
        self.text("tables")
    }

    /// Settings of the server, the isolation level among them.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = self.inner("settings.");
        if let Some(level) = self.text("isolation") {
            settings.insert("default_transaction_isolation".to_owned(), level.to_owned());
        }
        settings
    }

    /// The workload's parameters as `NAME=VALUE`.
    pub fn params(&self) -> Vec<String> {
        let params = self.inner("params.").into_iter();
        params
            .map(|(name, value)| format!("{name}={value}"))
            .collect()
    }

    /// The trial of this point.
    pub fn trial(&self, target: Wanted, rate: Option<f64>, seed: i64) -> Trial {
        let count = |name: &str| self.0.get(name).and_then(Value::as_u64);
        let flag = |name: &str| self.0.get(name).and_then(Value::as_bool).unwrap_or(false);
        let time_s = |name: &str| self.0.get(name).and_then(Value::as_f64);
        let duration_s = time_s("duration").unwrap_or(DURATION_DEFAULT_S);
        let timed = Until::Elapsed(Duration::from_secs_f64(duration_s));
        let asked = retries::Asked {
            policy: self.text("retry").and_then(retries::Policy::from_name),
            max_tries: count("max_tries").map(|n| n as u32),
            // Accepted already.
            backoff: self.text("backoff").and_then(|t| backoff::parse(t).ok()?),
            deadline: time_s("retry_deadline").map(Duration::from_secs_f64),
        };
        // Both forms were accepted by the parameter.
        let detected = self.text("warmup").and_then(|text| Asked::parse(text).ok());
        let given = Duration::from_secs_f64(time_s("warmup").unwrap_or(0.0));
        let warmup = detected.unwrap_or(Asked::Given(given));
        let mut trial = Trial {
            workload: self.workload(),
            mix: self.text("mix").map(str::to_owned),
            params: self.params(),
            query_mode: match self.text("query_mode") {
                Some("simple") => Some(QueryMode::Simple),
                Some("extended") => Some(QueryMode::Extended),
                Some("prepared") => Some(QueryMode::Prepared),
                _ => None,
            },
            target,
            isolation: self.text("isolation").and_then(Isolation::from_name),
            inject_retries: false,
            drive: Drive {
                clients: count("clients").unwrap_or(1) as usize,
                threads: count("threads").map_or_else(host::cpus, |n| n as usize),
                until: count("transactions")
                    .and_then(trial::transactions)
                    .unwrap_or(timed),
                warmup: warmup.longest(),
                rate,
                latency_limit: time_s("latency_limit").map(Duration::from_secs_f64),
                on_error: if flag("continue_on_error") {
                    OnError::Continue
                } else {
                    OnError::EndClient
                },
                connection_per_transaction: flag("connect"),
                on_connection_loss: if flag("reconnect") {
                    OnConnectionLoss::Reconnect
                } else {
                    OnConnectionLoss::EndClient
                },
                seed,
                ..trial::native_drive()
            },
            detects_warmup: warmup.is_detected(),
            observe: Default::default(),
        };
        asked.apply(&mut trial.drive);
        trial
    }

    fn workload(&self) -> Vec<String> {
        let names = self.0.get("workload").and_then(Value::as_array);
        let names = names.into_iter().flatten().filter_map(Value::as_str);
        names.map(str::to_owned).collect()
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    fn inner(&self, prefix: &str) -> BTreeMap<String, String> {
        let values = self.0.iter();
        values
            .filter_map(|(name, value)| Some((name.strip_prefix(prefix)?.to_owned(), text(value))))
            .collect()
    }
}

/// A value without quotes, lists with spaces between.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(" "),
        Value::Number(number) => match number.as_f64() {
            // 60 rather than 60.0
            Some(whole) if whole.fract() == 0.0 && whole.abs() < 1e15 => format!("{whole}"),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(values: Value) -> Point {
        let map = values.as_object().unwrap().clone();
        Point::new(map.into_iter().collect())
    }

    #[test]
    fn every_parameter_reaches_the_trial() {
        let p = point(json!({
            "workload": ["tpcb"], "mix": "m", "clients": 8, "threads": 2, "query_mode": "prepared",
            "max_tries": 0, "continue_on_error": true, "isolation": "serializable",
            "retry": "restart", "backoff": "exponential=2ms,3ms,none", "retry_deadline": 0.2,
            "latency_limit": 0.05, "connect": true, "reconnect": true, "warmup": 1.0, "transactions": 100,
            "params.scale": 3, "settings.work_mem": "4MB", "rate": "70%", "target": "host=x",
        }));
        let trial = p.trial(Wanted::default(), Some(5.0), 42);
        let drive = &trial.drive;
        assert_eq!(
            (trial.workload, trial.mix),
            (vec!["tpcb".to_owned()], Some("m".to_owned()))
        );
        assert_eq!(trial.params, ["scale=3"]);
        assert_eq!((drive.clients, drive.threads, drive.max_tries), (8, 2, 0));
        assert_eq!(
            backoff::text(drive.backoff.as_ref()),
            "exponential=2ms,3ms,none"
        );
        assert_eq!(drive.retry_deadline, Some(Duration::from_millis(200)));
        assert!(drive.checks_commit);
        assert_eq!(trial.query_mode, Some(QueryMode::Prepared));
        assert_eq!(drive.on_error, OnError::Continue);
        assert_eq!(drive.on_connection_loss, OnConnectionLoss::Reconnect);
        assert_eq!(trial.isolation, Some(Isolation::Serializable));
        assert_eq!(drive.until, trial::transactions(100).unwrap());
        assert_eq!(drive.latency_limit, Some(Duration::from_millis(50)));
        assert_eq!((drive.rate, drive.seed), (Some(5.0), 42));
        assert!(drive.connection_per_transaction && drive.warmup == Duration::from_secs(1));
        assert_eq!(p.settings()["work_mem"], "4MB");
        assert_eq!(
            p.settings()["default_transaction_isolation"],
            "serializable"
        );
        assert_eq!((p.rate(), p.target()), (Rate::Share(0.7), Some("host=x")));
        assert_eq!(p.at_maximum().rate(), Rate::Max);
        assert!(!trial.detects_warmup);
        let auto = point(json!({ "workload": ["tpcb"], "warmup": "auto=90s" }));
        let auto = auto.trial(Wanted::default(), None, 0);
        assert!(auto.detects_warmup && auto.drive.warmup == Duration::from_secs(90));
        let plain = point(json!({ "workload": ["tpcb"] })).trial(Wanted::default(), None, 0);
        assert_eq!(plain.drive.until, Until::Elapsed(Duration::from_secs(10)));
    }

    #[test]
    fn the_key_does_not_depend_on_the_order_of_writing() {
        let a = point(json!({ "clients": 1, "params.scale": 2, "params.a": 1 }));
        assert_eq!(a.key(), r#"{"clients":1,"params":{"a":1,"scale":2}}"#);
        assert_eq!(Point::from_json(&a.to_json()), Some(a.clone()));
        let b = point(json!({ "clients": 1, "params.scale": 3, "params.a": 1, "mix": "m" }));
        assert_eq!(Point::varied(&[a, b]), ["mix", "params.scale"]);
    }
}
