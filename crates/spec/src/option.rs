//! The options of a trial as the command line defines them: what else has one by one the options of a
//! trial (what an experiment can vary, what `show` prints) takes them from here.

use std::any::TypeId;
use std::sync::OnceLock;
use std::time::Duration;

use clap::{ArgAction, Args, Command};
use serde_json::{Map, Value};

use super::secret::word_kept;
use super::{Clients, DisturbSpec, ErrorPolicy, ObserveSpec, Rate, TargetSpec, TrialSpec, Warmup};
use crate::text::as_typed;

/// The table of what disturbs a trial.
const DISTURB: &str = "disturb";

/// An option that says what load a trial puts on a server.
#[derive(Debug, Clone)]
pub struct TrialOption {
    /// As it is typed in an experiment file: `latency_limit`.
    pub name: String,
    /// Its position in the serialized spec: `latency_limit_us`. Of the warm-up the name: it is in
    /// two fields.
    pub key: String,
    /// As it is typed on the command line, without its hyphens; `None` for the workload, which is
    /// alone.
    pub long: Option<String>,
    /// Its help.
    pub help: String,
    /// What it takes.
    pub takes: Takes,
    /// The words that it is one of; none of an option that takes anything else.
    pub words: Vec<String>,
}

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A name, or a list of them.
    Names,
    /// `true` or `false`.
    Flag,
    /// A number, whole or not.
    Number,
    /// A whole number.
    Count,
    /// A number, or a text that says how it moves with the time.
    Profile,
    /// A whole number, or such a text.
    CountProfile,
    /// A time: a number of seconds, or a text with a unit.
    Time,
    /// A text, or one of some words.
    Text,
}

impl TrialOption {
    /// All options, in the order of `--help`. The seed is the experiment's, the workload's
    /// parameters, the server's settings and what disturbs it have names of their own, and neither the
    /// target nor what is observed is part of the load.
    pub fn all() -> &'static [Self] {
        static ALL: OnceLock<Vec<TrialOption>> = OnceLock::new();
        ALL.get_or_init(|| {
            let others = ObserveSpec::augment_args(TargetSpec::augment_args(Command::new("")));
            let others = DisturbSpec::augment_args(others);
            let others: Vec<_> = others.get_arguments().map(|arg| arg.get_id()).collect();
            let command = command();
            let of_load = command.get_arguments().filter(|arg| {
                let id = arg.get_id();
                !others.contains(&id) && id != "seed" && id != "params"
            });
            of_load.map(Self::of).collect()
        })
    }

    /// The options of a disturbance, which stand in a table of their own: `disturb.before`.
    pub fn of_disturbance() -> &'static [Self] {
        static ALL: OnceLock<Vec<TrialOption>> = OnceLock::new();
        ALL.get_or_init(|| {
            let command = DisturbSpec::augment_args(Command::new(""));
            command.get_arguments().map(Self::of).collect()
        })
    }

    /// The option of this name in an experiment file.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|option| option.name == name)
    }

    fn of(arg: &clap::Arg) -> Self {
        let long = arg.get_long().map(str::to_owned);
        let key = arg.get_id().to_string();
        let parser = arg.get_value_parser().type_id();
        let is = |types: &[TypeId]| types.iter().any(|one| parser == *one);
        let takes = if long.is_none() {
            Takes::Names
        } else if matches!(arg.get_action(), ArgAction::SetTrue) {
            Takes::Flag
        } else if is(&[TypeId::of::<u32>(), TypeId::of::<u64>()]) {
            Takes::Count
        } else if is(&[TypeId::of::<f64>()]) {
            Takes::Number
        } else if is(&[TypeId::of::<Rate>()]) {
            Takes::Profile
        } else if is(&[TypeId::of::<Clients>()]) {
            Takes::CountProfile
        } else if is(&[TypeId::of::<Duration>(), TypeId::of::<Warmup>()]) {
            Takes::Time
        } else {
            Takes::Text
        };
        let help = arg.get_help();
        let words = match takes {
            Takes::Text => arg.get_possible_values(),
            _ => Vec::new(),
        };
        Self {
            name: long
                .as_ref()
                .map_or(key.clone(), |long| long.replace('-', "_")),
            key,
            long,
            help: help.map(ToString::to_string).unwrap_or_default(),
            takes,
            words: words
                .iter()
                .map(|word| word.get_name().to_owned())
                .collect(),
        }
    }

    /// A value as an experiment file has it that is another than when nothing is typed: for tests that
    /// walk over all options.
    pub fn example(&self) -> Value {
        match (self.takes, self.name.as_str(), self.words.last()) {
            (Takes::Names, ..) => serde_json::json!(["a.sql@9", "b.sql"]),
            (Takes::Flag, ..) => true.into(),
            (Takes::Count | Takes::CountProfile, ..) => 3.into(),
            (Takes::Number | Takes::Profile, ..) => 7.5.into(),
            (Takes::Time, ..) => 0.25.into(),
            (Takes::Text, "backoff", _) => "exponential=2ms,30ms,equal".into(),
            (Takes::Text, "endpoint_role", _) => "reads=host2,host3".into(),
            (Takes::Text, "script_role", _) => "report=reads".into(),
            (Takes::Text, "io", _) => "epoll".into(),
            (Takes::Text, _, Some(word)) => word.as_str().into(),
            (Takes::Text, _, None) => "word".into(),
        }
    }

    /// A value, checked as the command line checks it, in the form of an experiment's records.
    ///
    /// # Errors
    /// What is wrong with it, in a clause.
    pub fn accept(&self, value: &Value) -> Result<Value, String> {
        let Some(long) = &self.long else {
            return names(value).ok_or_else(|| self.wanted(&value.to_string()));
        };
        let text = match (self.takes, value) {
            (Takes::Flag, Value::Bool(_)) => return Ok(value.clone()),
            (Takes::Count | Takes::CountProfile, Value::Number(number)) if !number.is_f64() => {
                number.to_string()
            }
            (Takes::Number | Takes::Time | Takes::Profile, Value::Number(number)) => {
                number.to_string()
            }
            (
                Takes::Time | Takes::Text | Takes::Profile | Takes::CountProfile,
                Value::String(text),
            ) if !text.is_empty() => text.clone(),
            _ => return Err(self.wanted(&value.to_string())),
        };
        let words = [
            "trial".to_owned(),
            "w".to_owned(),
            format!("--{long}={text}"),
        ];
        let spec = command().try_get_matches_from(words);
        let spec = spec
            .and_then(|matches| <TrialSpec as clap::FromArgMatches>::from_arg_matches(&matches));
        let spec = spec.map_err(|error| clause(&error.to_string()))?;
        let mut fields = fields(&spec);
        if let Some(Value::Object(of_disturbance)) = fields.remove(DISTURB) {
            fields.extend(of_disturbance);
        }
        Ok(self.typed(&fields).unwrap_or(Value::Null))
    }

    /// Its value among the fields of a serialized spec, in the form in which an experiment's records
    /// have it: times in seconds. `None` where the spec leaves it open.
    pub fn typed(&self, fields: &Map<String, Value>) -> Option<Value> {
        if self.key == "warmup" {
            let warmup = Value::Object(fields.clone());
            let warmup: Warmup = serde_json::from_value(warmup).ok()?;
            return Some(match warmup {
                Warmup::Given(time) => time.as_secs_f64().into(),
                Warmup::Detected { .. } => warmup.to_string().into(),
            });
        }
        let profile = match self.takes {
            Takes::Profile | Takes::CountProfile => fields.get(&format!("{}_profile", self.name)),
            _ => None,
        };
        let value = profile.or(fields.get(&self.key));
        let value = value.filter(|value| !value.is_null())?;
        Some(match value.as_f64().filter(|_| self.is_in_us()) {
            Some(us) => (us / 1e6).into(),
            None => value.clone(),
        })
    }

    /// The other way round.
    fn recorded(&self, typed: &Value) -> Value {
        match typed.as_f64().filter(|_| self.is_in_us()) {
            Some(seconds) => ((seconds * 1e6).round() as u64).into(),
            None => typed.clone(),
        }
    }

    fn is_in_us(&self) -> bool {
        self.takes == Takes::Time && self.key.ends_with("_us")
    }

    /// A value that [`TrialOption::typed`] gives, as text.
    fn text(&self, value: &Value) -> String {
        match (value.as_str(), value.as_f64()) {
            (Some(text), _) => text.to_owned(),
            (None, Some(seconds)) if self.takes == Takes::Time => {
                as_typed(Duration::from_secs_f64(seconds))
            }
            _ => value.to_string(),
        }
    }

    /// What it takes, in place of a value as people read it.
    pub fn wanted(&self, value: &str) -> String {
        let wanted = match self.takes {
            Takes::Names => "a pack's name or folder, or a list of script files",
            Takes::Flag => "true or false",
            Takes::Number => "a number",
            Takes::Count => "a whole number",
            Takes::Profile => "a number, or a text such as \"100..2000/60s\"",
            Takes::CountProfile => "a whole number, or a text such as \"8..64/60s\"",
            Takes::Time => "a time such as 60, \"60s\" or \"500ms\"",
            Takes::Text => "a text",
        };
        format!("expected {wanted}, not {value}")
    }
}

fn command() -> Command {
    TrialSpec::augment_args(Command::new("trial"))
}

/// The fields of a serialized spec.
fn fields(spec: &TrialSpec) -> Map<String, Value> {
    match serde_json::to_value(spec) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn names(value: &Value) -> Option<Value> {
    let names = match value {
        Value::Array(names) if !names.is_empty() => names.clone(),
        Value::String(_) => vec![value.clone()],
        _ => return None,
    };
    let are_names = names
        .iter()
        .all(|name| name.as_str().is_some_and(|name| !name.is_empty()));
    are_names.then_some(Value::Array(names))
}

/// What clap says of a value, in a clause: `"many" is not …`, with the words that there are.
fn clause(error: &str) -> String {
    let text = error.strip_prefix("error: ").unwrap_or(error);
    let text = text.split("\n\n").next().unwrap_or(text);
    // "invalid value 'fast' for '--query-mode <MODE>'" and the words that there are, below it.
    if let Some((_, words)) = text.split_once("[possible values: ") {
        let words = words.trim_end().trim_end_matches(']');
        return format!("it is one of {words}");
    }
    let text = text.split_once("': ").map_or(text, |(_, why)| why);
    text.trim().to_owned()
}

/// The table of a point's disturbance, in the form of a spec.
fn recorded_disturbance(table: &Value) -> Value {
    let named = table
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| {
            let mut known = TrialOption::of_disturbance().iter();
            match known.find(|option| option.name == *name) {
                Some(option) => (option.key.clone(), option.recorded(value)),
                None => (name.clone(), value.clone()),
            }
        });
    Value::Object(named.collect())
}

impl TrialSpec {
    /// The trial of a point: values by name as an experiment's records have them, each accepted by its
    /// option. `target`, `params` and `settings` stand among them.
    ///
    /// # Errors
    /// A value that the spec does not take.
    pub fn from_point(point: &Map<String, Value>) -> Result<Self, String> {
        let named = point.iter().map(|(name, value)| {
            let value = match (TrialOption::named(name), name.as_str()) {
                (Some(option), _) => return (option.key.clone(), option.recorded(value)),
                (None, "target") => serde_json::json!({ "url": [value] }),
                (None, DISTURB) => recorded_disturbance(value),
                (None, _) => value.clone(),
            };
            (name.clone(), value)
        });
        serde_json::from_value(Value::Object(named.collect())).map_err(|error| error.to_string())
    }

    /// What is to be typed behind `pgdyno run` to get this trial again, without secrets: what is as it
    /// is when nothing is typed is left out.
    pub fn words(&self) -> Vec<String> {
        let (own, default) = (fields(self), fields(&Self::default()));
        let mut words = self.options(&own, &default);
        words.extend(
            self.params
                .iter()
                .flat_map(|given| ["--param".to_owned(), word_kept(given)]),
        );
        words.extend(self.disturb.words());
        words.extend(self.seed.map(|seed| format!("--seed={seed}")));
        let observe = &self.observe;
        if observe.instruments != super::Wish::Auto {
            words.push(format!("--observe={}", observe.instruments));
        }
        let direct = observe.observe_url.iter();
        words.extend(direct.map(|url| format!("--observe-url={}", url.public())));
        words.extend(observe.disk.iter().map(|disk| format!("--disk={disk}")));
        words.extend(
            observe
                .metrics_listen
                .map(|at| format!("--metrics-listen={at}")),
        );
        words.extend(
            observe
                .scrape
                .iter()
                .map(|at| format!("--scrape={}", at.public())),
        );
        words.extend(
            self.target
                .urls
                .iter()
                .map(|url| format!("--url={}", url.public())),
        );
        match &self.target.discover {
            Some(super::Discover::Sql) => words.push("--discover".to_owned()),
            Some(super::Discover::Http(url)) => {
                words.push(format!("--discover={}", url.public()));
            }
            None => {}
        }
        for (name, limit) in [
            ("silence-timeout", self.target.silence_timeout),
            ("lock-timeout", self.target.lock_timeout),
        ] {
            words.extend(limit.map(|limit| format!("--{name}={}", as_typed(limit))));
        }
        let own = &self.target.own;
        let folder = own.pg_bindir.iter();
        words.extend(folder.map(|folder| format!("--pg-bindir={}", folder.display())));
        words.extend(
            own.pg_set
                .iter()
                .map(|set| format!("--pg-set={}", set.public())),
        );
        words.extend(own.pg_user.iter().map(|user| format!("--pg-user={user}")));
        // A name that begins with a hyphen is no option.
        let has_hyphen = self.workload.iter().any(|name| name.starts_with('-'));
        words.splice(..0, self.workload.iter().filter(|_| !has_hyphen).cloned());
        if has_hyphen {
            words.push("--".to_owned());
            words.extend(self.workload.iter().cloned());
        }
        words
    }

    /// Whether [`TrialSpec::words`] say all of it: not of a sweep's settings and tables, nor of what only
    /// another tool's command line asks for.
    pub fn can_be_typed(&self) -> bool {
        let ErrorPolicy {
            trusts_commit,
            retries_every_error,
            retries_duplicates,
            ends_on_last_try,
            counts_as_pgbench,
            ..
        } = self.errors;
        !self.workload.is_empty()
            && self.settings.is_empty()
            && self.tables.is_none()
            && self.compatible.is_empty()
            && ![
                trusts_commit,
                retries_every_error,
                retries_duplicates,
                ends_on_last_try,
                counts_as_pgbench,
            ]
            .contains(&true)
    }

    fn options(&self, own: &Map<String, Value>, default: &Map<String, Value>) -> Vec<String> {
        let option = |option: &TrialOption| {
            let long = option.long.as_ref()?;
            let value = option.typed(own)?;
            if Some(&value) == option.typed(default).as_ref() {
                return None;
            }
            Some(match option.takes {
                Takes::Flag => format!("--{long}"),
                _ => format!("--{long}={}", option.text(&value)),
            })
        };
        TrialOption::all().iter().filter_map(option).collect()
    }

    /// The same by name, in the form of an experiment's records. Neither the workload nor its length is
    /// among them.
    pub fn typed_options(&self) -> Vec<(&'static str, Value)> {
        let (own, default) = (fields(self), fields(&Self::default()));
        let given = TrialOption::all().iter().filter_map(|option| {
            option.long.as_ref()?;
            let value = option.typed(&own)?;
            let is_length = ["duration", "transactions"].contains(&option.name.as_str());
            let is_given = !is_length && Some(&value) != option.typed(&default).as_ref();
            is_given.then_some((option.name.as_str(), value))
        });
        given.collect()
    }

    /// The load's options that are not as they are when nothing is typed, by name, as people read
    /// them; the workload is not among them.
    pub fn chosen(&self) -> Vec<(&'static str, String)> {
        let (own, default) = (fields(self), fields(&Self::default()));
        let chosen = TrialOption::all().iter().filter_map(|option| {
            option.long.as_ref()?;
            let value = option.typed(&own)?;
            (Some(&value) != option.typed(&default).as_ref())
                .then(|| (option.name.as_str(), option.text(&value)))
        });
        chosen.collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::*;
    use crate::{Address, Discover};

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        spec: TrialSpec,
    }

    fn typed(words: &[String]) -> TrialSpec {
        let words = std::iter::once("trial".to_owned()).chain(words.iter().cloned());
        Typed::try_parse_from(words).unwrap().spec
    }

    #[test]
    fn what_disturbs_a_trial_can_be_typed_again() {
        let disturb = DisturbSpec {
            during: Some("a 'b c' $PGHOST".into()),
            at: vec!["60s x; y".parse().unwrap(), "90s z".parse().unwrap()],
            before: Some(Duration::from_secs(30)),
            lasting: Some(Duration::from_millis(1500)),
            after: Some(Duration::from_secs(120)),
            undo: Some("back".into()),
            command_timeout: Some(Duration::from_secs(20)),
            within: Some(Duration::from_millis(50)),
            yes: true,
            one_by_one: true,
            control: true,
        };
        let spec = TrialSpec {
            disturb,
            ..TrialSpec::of("w")
        };
        assert_eq!(typed(&spec.words()), spec);
        let json = serde_json::to_value(&spec).unwrap();
        assert_eq!(serde_json::from_value::<TrialSpec>(json).unwrap(), spec);
        // Without one there is no trace of it in records.
        let plain = serde_json::to_value(TrialSpec::of("w")).unwrap();
        assert_eq!(plain.get(DISTURB), None);
    }

    #[test]
    fn no_option_of_a_trial_is_lost_between_its_forms() {
        let default = TrialSpec::of("w");
        for option in TrialOption::all() {
            let (name, sample) = (&option.name, option.example());
            // As an experiment file has it.
            let accepted = option.accept(&sample).unwrap();
            let mut point = json!({ "workload": ["w"] });
            point[name] = accepted.clone();
            let spec = TrialSpec::from_point(point.as_object().unwrap()).unwrap();
            assert_ne!(spec, default, "{name} does not reach the spec");
            assert_eq!(option.typed(&fields(&spec)), Some(accepted), "{name}");
            // As the notebook and the document have it.
            let kept = serde_json::to_string(&spec).unwrap();
            assert_eq!(
                serde_json::from_str::<TrialSpec>(&kept).unwrap(),
                spec,
                "{name}"
            );
            // As it is typed, and as it is typed again.
            assert_eq!(typed(&spec.words()), spec, "{name}: {:?}", spec.words());
            let is_chosen = spec.chosen().iter().any(|(chosen, _)| chosen == name);
            assert_eq!(is_chosen, option.long.is_some(), "{name}");
            if name != "verbose_errors" {
                assert_ne!(spec.load_sha256(), default.load_sha256(), "{name}");
            }
        }
    }

    #[test]
    fn what_is_no_option_is_kept_too_but_for_passwords() {
        let words = [
            "w",
            "--param=a=1",
            "--seed=-4",
            "--observe=host",
            "--disk=sda",
            "--pg-set=a=b",
            "--scrape=n=http://me:s3cret@h/m",
            "--url=postgresql://me:s3cret@h/d",
            "--discover",
            "--url=host=h password=s3cret",
            "--pg-bindir=/x",
            "--pg-user=u",
            "--silence-timeout=5s",
            "--lock-timeout=250ms",
        ];
        let spec = typed(&words.map(str::to_owned));
        let kept = serde_json::to_string(&spec).unwrap();
        let again = spec.words();
        assert!(!kept.contains("s3cret") && !format!("{spec:?} {again:?}").contains("s3cret"));
        let read: TrialSpec = serde_json::from_str(&kept).unwrap();
        assert_eq!(typed(&again), read);
        assert_eq!(read.target.urls[0], Address::from("postgresql://me@h/d"));
        assert_eq!(read.target.discover, Some(Discover::Sql));
        assert_eq!(serde_json::to_string(&read).unwrap(), kept);
        // Another password, or another server, is the same load.
        let elsewhere = typed(&["w", "--param=a=1", "--seed=-4"].map(str::to_owned));
        assert_eq!(spec.load_sha256(), elsewhere.load_sha256());
    }

    #[test]
    fn nothing_is_left_open_in_a_resolved_trial() {
        let spec = typed(&["w", "-j", "64", "--max-tries=3"].map(str::to_owned));
        let resolved = spec.resolved();
        assert_eq!((resolved.clients(), resolved.threads), (1, Some(1)));
        assert!(resolved.clients.is_some());
        assert_eq!(resolved.duration, Some(Duration::from_secs(10)));
        assert!(resolved.seed.is_some());
        assert_eq!(resolved.clone().resolved(), resolved);
        assert_eq!(typed(&resolved.words()).resolved(), resolved);
    }

    #[test]
    fn a_value_that_is_refused_is_refused_with_what_is_taken() {
        for (name, value, want) in [
            (
                "clients",
                json!(0),
                "it must be a whole number from 1 to 100000",
            ),
            ("clients", json!("8x"), "after a number, write @"),
            (
                "clients",
                json!(1.5),
                "expected a whole number, or a text such as \"8..64/60s\", not 1.5",
            ),
            ("threads", json!("8"), "expected a whole number, not \"8\""),
            ("duration", json!(0), "it must be longer than nothing"),
            ("duration", json!("1x"), "a duration is a number of seconds"),
            ("duration", json!(true), "a time such as 60"),
            ("query_mode", json!("fast"), "simple, extended, prepared"),
            ("warmup", json!("auto=1s"), "10 s is the minimum"),
            ("connect", json!(1), "expected true or false, not 1"),
            ("backoff", json!("linear"), "a backoff is none"),
            ("workload", json!([]), "a pack's name or folder"),
        ] {
            let error = TrialOption::named(name)
                .unwrap()
                .accept(&value)
                .unwrap_err();
            assert!(error.contains(want), "{name} = {value}: {error}");
        }
    }
}
