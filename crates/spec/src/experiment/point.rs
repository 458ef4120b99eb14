//! One point of the matrix: a value for each parameter, and the trial that it is.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::words::{self, plain};
use super::{POINT_NAME, seconds};
use crate::{Clients, OwnSpec, Rate, TargetSpec, command, secret};
use crate::{Failure, TrialSpec};

/// The rate of a closed loop.
pub const MAX: &str = "max";
/// The maximum of a trial that is disturbed is measured for so long at most.
const DISTURBED_MAXIMUM: Duration = Duration::from_secs(15);

/// The workload's parameters among those of a point.
const PARAMS: &str = "params";
const DISTURB: &str = "disturb";

/// Values by parameter; those of the workload and the server as `params.NAME`, `settings.NAME`.
#[derive(Debug, Clone, PartialEq)]
pub struct Point(BTreeMap<String, Value>);

/// The pace of a trial.
#[derive(Debug, Clone, PartialEq)]
pub enum PointRate {
    Max,
    /// Transactions a second, which may move with the time.
    Asked(Rate),
    /// A share of what the closed loop comes to, 1 for all of it.
    Share(f64),
}

impl Point {
    /// The values must have been accepted by their parameters.
    pub fn new(values: BTreeMap<String, Value>) -> Point {
        Point(values)
    }

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

    /// For records: nested as in the file, without secrets.
    pub fn to_json(&self) -> Value {
        let mut nested = self.nested();
        if let Some(Value::Object(commands)) = nested.get_mut(DISTURB) {
            for value in commands.values_mut() {
                if let Some(text) = value.as_str().map(command::masked) {
                    *value = json!(text);
                }
            }
        }
        if let Some(Value::Object(params)) = nested.get_mut(PARAMS) {
            for (name, value) in params {
                if secret::is_secret_name(name) {
                    *value = json!(secret::MASK);
                }
            }
        }
        Value::Object(nested)
    }

    fn nested(&self) -> Map<String, Value> {
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
        map
    }

    /// For people: the parameters that vary.
    pub fn label(&self, varied: &[&str]) -> String {
        let shown = varied.iter().filter_map(|name| {
            let value = self.0.get(*name)?;
            Some(words::named(name, value))
        });
        let shown: Vec<String> = shown.collect();
        if shown.is_empty() {
            self.workload().join(" ")
        } else {
            shown.join(", ")
        }
    }

    /// The same point as fast as it will go. What disturbs it has no part in that, and it need not take as
    /// long.
    pub fn at_maximum(&self) -> Point {
        let mut point = self.clone();
        point.0.insert("rate".to_owned(), json!(MAX));
        if point.0.keys().any(|name| name.starts_with("disturb.")) {
            // Nor what a point of several is called by what disturbs it.
            point
                .0
                .retain(|name, _| !name.starts_with("disturb.") && name != POINT_NAME);
            let length = point.0.get("duration").and_then(Value::as_f64);
            if length.is_some_and(|length| length > DISTURBED_MAXIMUM.as_secs_f64()) {
                return point.lasting(DISTURBED_MAXIMUM);
            }
        }
        point
    }

    /// The same point at so many transactions a second.
    pub fn at_rate(&self, per_second: f64) -> Point {
        let mut point = self.clone();
        point.0.insert("rate".to_owned(), json!(per_second));
        point
    }

    /// The same point for so long.
    pub fn lasting(&self, time: Duration) -> Point {
        let mut point = self.clone();
        point.0.insert("duration".to_owned(), seconds(time));
        point
    }

    /// What the same point has at any pace and length.
    pub fn without_rate_and_duration(&self) -> Point {
        let mut point = self.without_rate();
        point.0.remove("duration");
        point
    }

    /// What the same point has at any pace.
    pub fn without_rate(&self) -> Point {
        let mut point = self.clone();
        point.0.remove("rate");
        point
    }

    pub fn rate(&self) -> PointRate {
        match self.0.get("rate") {
            Some(Value::String(text)) => match (share(text), text.parse()) {
                (Some(share), _) => PointRate::Share(share),
                (None, Ok(rate)) => PointRate::Asked(rate),
                (None, Err(_)) => PointRate::Max,
            },
            Some(number) => {
                let number = number.as_f64();
                number.map_or(PointRate::Max, |per_s| PointRate::Asked(per_s.into()))
            }
            None => PointRate::Max,
        }
    }

    /// Whether the number of its clients moves with the time.
    pub fn has_moving_clients(&self) -> bool {
        let clients = self.text("clients").and_then(|text| text.parse().ok());
        clients.is_some_and(|clients: Clients| clients.moving().is_some())
    }

    /// Whether its trial is disturbed.
    pub fn is_disturbed(&self) -> bool {
        let is_control = self.0.get("disturb.control") == Some(&true.into());
        !is_control && self.0.keys().any(|name| name.starts_with("disturb."))
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

    /// The trial of this point, on this target unless it names one, with nothing left open.
    ///
    /// # Errors
    /// A value that its option would not have accepted.
    pub fn spec(
        &self,
        target: TargetSpec,
        rate: Option<Rate>,
        seed: i64,
    ) -> Result<TrialSpec, Failure> {
        let mut values = self.without_rate().nested();
        values.remove("target");
        values.remove(POINT_NAME);
        let spec = TrialSpec::from_point(&values)
            .map_err(|why| Failure::new(format!("the point {}: {why}", self.key())))?;
        let spec = TrialSpec {
            target: match self.target() {
                // A target that the user typed too is the user's.
                Some(url) => TargetSpec {
                    is_of_file: target.points_are_of_file
                        && target.urls.iter().all(|typed| typed.secret() != url),
                    urls: vec![url.into()],
                    own: OwnSpec::default(),
                    ..target
                },
                None => target,
            },
            rate,
            seed: Some(seed),
            ..spec
        };
        Ok(spec.resolved())
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
            .filter_map(|(name, value)| Some((name.strip_prefix(prefix)?.to_owned(), plain(value))))
            .collect()
    }
}

/// `70%` as 0.7: a share of the measured maximum. More than all of it overloads on purpose.
pub fn share(text: &str) -> Option<f64> {
    let percent: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
    (percent > 0.0 && percent <= 1000.0).then_some(percent / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(values: Value) -> Point {
        let map = values.as_object().unwrap().clone();
        Point::new(map.into_iter().collect())
    }

    #[test]
    fn values_of_a_point_reach_its_trial() {
        let p = point(json!({
            "workload": ["tpcb"], "clients": 8, "threads": 2, "max_tries": 0, "retry": "restart",
            "retry_deadline": 0.2, "warmup": "auto=90s", "transactions": 100, "params.scale": 3,
            "settings.work_mem": "4MB", "rate": "70%", "target": "host=x", "isolation": "serializable",
        }));
        let spec = p
            .spec(TargetSpec::at("host=y"), Some(5.0.into()), 42)
            .unwrap();
        assert_eq!(
            (spec.clients(), spec.threads(), spec.retry.tries()),
            (8, 2, 0)
        );
        assert_eq!(spec.params, ["scale=3"]);
        assert_eq!(spec.target.urls, TargetSpec::at("host=x").urls);
        assert!(!spec.target.is_of_file);
        // A file's, unless it is typed too.
        for (typed, is_of_file) in [("host=y", true), ("host=x", false)] {
            let wanted = TargetSpec {
                points_are_of_file: true,
                ..TargetSpec::at(typed)
            };
            let of_file = point(json!({"workload": ["a"], "target": "host=x"}));
            let of_file = of_file.spec(wanted, None, 0).unwrap();
            assert_eq!(of_file.target.is_of_file, is_of_file);
        }
        assert_eq!((spec.rate, spec.seed), (Some(5.0.into()), Some(42)));
        assert_eq!(spec.settings["work_mem"], "4MB");
        assert!(spec.warmup.is_detected());
        assert_eq!(
            p.settings()["default_transaction_isolation"],
            "serializable"
        );
        assert_eq!(
            (p.rate(), p.target()),
            (PointRate::Share(0.7), Some("host=x"))
        );
        assert_eq!(p.at_maximum().rate(), PointRate::Max);
        let plain = point(json!({ "workload": ["tpcb"] }))
            .spec(TargetSpec::at("host=y"), None, 0)
            .unwrap();
        assert_eq!(plain.target, TargetSpec::at("host=y"));
        assert_eq!(plain, plain.clone().resolved());
    }

    #[test]
    fn the_maximum_of_a_disturbed_trial_and_its_control_is_the_same_undisturbed_trial() {
        let of = |control: bool, seconds: f64| {
            let point = point(json!({
                "rate": "50%", "duration": seconds, "receipts": true,
                "disturb.during": "x", "disturb.control": control,
            }));
            point.at_maximum().to_json()
        };
        let long = json!({ "rate": "max", "duration": 15.0, "receipts": true });
        assert_eq!([of(false, 60.0), of(true, 60.0)], [long.clone(), long]);
        assert_eq!(of(false, 9.0)["duration"], 9.0);
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
