//! An experiment as the text of its file, with comments for the reader of the file.
//!
//! Not for: reading it, which names the line of each mistake.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::{Axis, Exclude, Experiment, Kind, Order, Reset};
use crate::text::as_typed;
use crate::{Takes, TrialOption};

/// Parameters that say what is run stand before the others.
const FIRST: [&str; 3] = ["workload", "tables", "mix"];
/// Tables of parameters whose names are the workload's and the server's.
const TABLES: [&str; 3] = ["params", "settings", "disturb"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comments {
    heading: String,
    of_keys: BTreeMap<String, String>,
}

impl Comments {
    /// Lines at the top of the file.
    pub fn heading(text: impl Into<String>) -> Comments {
        Comments {
            heading: text.into(),
            of_keys: BTreeMap::new(),
        }
    }

    /// One more, behind the value of a key: a parameter, `repeats`, `reset.settle`,
    /// `capacity.slo` and the like.
    pub fn on(mut self, key: &str, text: &str) -> Comments {
        self.of_keys.insert(key.to_owned(), text.to_owned());
        self
    }
}

/// An experiment with the comments of its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Commented {
    pub experiment: Experiment,
    pub comments: Comments,
}

impl Commented {
    /// The text of its file.
    pub fn to_toml(&self) -> String {
        self.experiment.to_toml_with(&self.comments)
    }
}

impl Experiment {
    /// The text of its file, which reads back as the same experiment. Only a single workload of
    /// several script files reads back as an axis with one step, which is the same points.
    pub fn to_toml(&self) -> String {
        self.to_toml_with(&Comments::default())
    }

    pub fn to_toml_with(&self, comments: &Comments) -> String {
        let mut writer = Writer {
            text: String::new(),
            comments,
        };
        for line in comments.heading.lines() {
            let line = format!("# {line}");
            writer.text += line.trim_end();
            writer.text += "\n";
        }
        writer.line("name", "name", &quoted(&self.name));
        if self.kind != Kind::Sweep {
            writer.line("kind", "kind", &quoted(self.kind.word()));
        }
        writer.fixed(self);
        writer.axes(&self.axes);
        for exclude in &self.excludes {
            writer.exclude(exclude);
        }
        writer.reset(&self.reset);
        if let Some(capacity) = self.capacity {
            writer.section("[capacity]");
            writer.line("capacity.slo", "slo", &time(capacity.slo));
            if capacity.width != super::Capacity::WIDTH {
                writer.line("capacity.width", "width", &capacity.width.to_string());
            }
            if capacity.time != super::Capacity::TIME {
                writer.line("capacity.time", "time", &time(capacity.time));
            }
        }
        writer.text
    }
}

struct Writer<'a> {
    text: String,
    comments: &'a Comments,
}

impl Writer<'_> {
    /// `key = value`, with the comment of `name`.
    fn line(&mut self, name: &str, key: &str, value: &str) {
        self.text += &format!("{key} = {value}");
        if let Some(comment) = self.comments.of_keys.get(name) {
            self.text += &format!("    # {comment}");
        }
        self.text += "\n";
    }

    fn section(&mut self, heading: &str) {
        self.text += &format!("\n{heading}\n");
    }

    fn fixed(&mut self, experiment: &Experiment) {
        let is_plain = |name: &&String| !name.contains('.');
        let first = FIRST.iter().filter_map(|name| {
            let (name, value) = experiment.fixed.get_key_value(*name)?;
            Some((name, value))
        });
        let others = experiment.fixed.iter();
        let others = others.filter(|(name, _)| !FIRST.contains(&name.as_str()));
        for (name, value) in first.chain(others.filter(|(name, _)| is_plain(name))) {
            let text = match (name.as_str(), value.as_array()) {
                // A list of files alone would be several workloads.
                ("workload", Some(files)) if files.len() > 1 => format!("[{}]", list(files)),
                _ => written(name, value),
            };
            self.line(name, name, &text);
        }
        self.line("repeats", "repeats", &experiment.repeats.to_string());
        if experiment.order != Order::Drawn {
            self.line("order", "order", &quoted(experiment.order.word()));
        }
        if let Some(seed) = experiment.seed {
            self.line("seed", "seed", &seed.to_string());
        }
        if let Some(command) = &experiment.restart {
            self.line("restart", "restart", &quoted(command));
        }
        for table in TABLES {
            let names = experiment.fixed.iter();
            let mut names = names
                .filter_map(|(name, value)| Some((name, inside(table, name)?, value)))
                .peekable();
            if names.peek().is_some() {
                self.section(&format!("[{table}]"));
            }
            for (name, key, value) in names {
                self.line(name, &bare(key), &written(name, value));
            }
        }
    }

    /// Lists that multiply as long as no others have come between: the order of the axes is that of
    /// the file.
    fn axes(&mut self, axes: &[Axis]) {
        let is_single = |axis: &&Axis| axis.is_even() && axis.names().len() == 1;
        let singles = axes.iter().take_while(is_single).count();
        let (singles, others) = axes.split_at(singles);
        if !singles.is_empty() {
            self.section("[matrix]");
        }
        for axis in singles {
            self.lists(axis);
        }
        for axis in others {
            if axis.is_even() {
                self.section("[[zip]]");
                self.lists(axis);
            } else {
                self.points(axis)
            }
        }
    }

    fn points(&mut self, Axis(steps): &Axis) {
        for step in steps {
            self.section("[[point]]");
            for (name, value) in step {
                self.line(name, &dotted(name), &written(name, value));
            }
        }
    }

    /// A list for each parameter of an axis.
    fn lists(&mut self, axis: &Axis) {
        for name in axis.names() {
            let values = axis.0.iter().flatten().filter(|(other, _)| other == name);
            let values: Vec<String> = values.map(|(name, value)| written(name, value)).collect();
            let values = format!("[{}]", values.join(", "));
            self.line(name, &dotted(name), &values);
        }
    }

    fn exclude(&mut self, exclude: &Exclude) {
        self.section("[[exclude]]");
        for (name, values) in &exclude.values {
            let texts: Vec<String> = values.iter().map(|value| written(name, value)).collect();
            let text = match texts.as_slice() {
                // A list of files alone would be taken for several workloads.
                [text] if !text.starts_with('[') => text.clone(),
                texts => format!("[{}]", texts.join(", ")),
            };
            self.line(name, &dotted(name), &text);
        }
    }

    /// What differs from the default.
    fn reset(&mut self, reset: &Reset) {
        let lines = reset_lines(reset);
        if !lines.is_empty() {
            self.section("[reset]");
        }
        for (key, value) in lines {
            self.line(&format!("reset.{key}"), key, &value);
        }
    }
}

fn reset_lines(reset: &Reset) -> Vec<(&'static str, String)> {
    let default = Reset::default();
    let truncate: Vec<Value> = reset.truncate.iter().cloned().map(Value::from).collect();
    let lines = [
        (
            "replace_pgbench_tables",
            reset.replace_pgbench_tables.to_string(),
            reset.replace_pgbench_tables != default.replace_pgbench_tables,
        ),
        (
            "truncate",
            list(&truncate),
            reset.truncate != default.truncate,
        ),
        (
            "vacuum",
            quoted(reset.vacuum.word()),
            reset.vacuum != default.vacuum,
        ),
        (
            "checkpoint",
            reset.checkpoint.to_string(),
            reset.checkpoint != default.checkpoint,
        ),
        (
            "checkpoint_timeout",
            time(reset.checkpoint_timeout),
            reset.checkpoint_timeout != default.checkpoint_timeout,
        ),
        ("settle", time(reset.settle), reset.settle != default.settle),
    ];
    let chosen = lines.into_iter().filter(|(_, _, is_chosen)| *is_chosen);
    chosen.map(|(key, value, _)| (key, value)).collect()
}

/// The name within one of [`TABLES`].
fn inside<'n>(table: &str, name: &'n str) -> Option<&'n str> {
    name.strip_prefix(table)?.strip_prefix('.')
}

/// A parameter's name as a key: `clients`, `params.scale`, `settings."plpgsql.check_asserts"`.
fn dotted(name: &str) -> String {
    match name.split_once('.') {
        Some((table, key)) => format!("{table}.{}", bare(key)),
        None => bare(name),
    }
}

/// A key, quoted where it must be.
fn bare(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !key.is_empty() && key.chars().all(is_bare) {
        key.to_owned()
    } else {
        quoted(key)
    }
}

/// One value of a parameter.
fn written(name: &str, value: &Value) -> String {
    let is_number = value.is_f64();
    match value {
        Value::String(text) => quoted(text),
        Value::Array(files) => match files.as_slice() {
            [file] => written(name, file),
            files => list(files),
        },
        Value::Number(number) if is_time(name) => {
            let seconds = number.as_f64().unwrap_or_default();
            Duration::try_from_secs_f64(seconds).map_or_else(|_| number.to_string(), time)
        }
        // For a workload's parameter the fraction decides the type of number.
        Value::Number(number) if is_number && !name.contains('.') => {
            let number = number.as_f64().unwrap_or_default();
            format!("{number}")
        }
        other => other.to_string(),
    }
}

fn list(items: &[Value]) -> String {
    let items: Vec<String> = items.iter().map(|item| written("", item)).collect();
    format!("[{}]", items.join(", "))
}

/// A time as one types it.
fn time(time: Duration) -> String {
    quoted(&as_typed(time))
}

/// Whether this parameter is a time: seconds in records, and with a unit in files.
fn is_time(name: &str) -> bool {
    let option = match inside("disturb", name) {
        Some(name) => {
            let mut all = TrialOption::of_disturbance().iter();
            all.find(|option| option.name == name)
        }
        None => TrialOption::named(name),
    };
    option.is_some_and(|option| option.takes == Takes::Time)
}

/// A text in quotes: JSON's escapes are TOML's too, which also wants one for DEL.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{seconds, values};
    use super::*;

    #[test]
    fn an_experiment_is_written_as_one_would_write_it() {
        let experiment = Experiment::named("all of it")
            .fix("workload", ["tpcb"])
            .fix("clients", 8)
            .fix("duration", seconds(Duration::from_secs(90)))
            .fix("warmup", seconds(Duration::from_millis(1500)))
            .fix("params.scale", 2.0)
            .fix("params.a b", "ü\u{7f}")
            .fix("settings.jit", "off")
            .axis("workload", [json!(["a.sql", "b.sql@2"]), json!(["tpcb"])])
            .axis("rate", [json!(500.0), json!("70%")])
            .zip(
                ["retry", "max_tries"],
                [[json!("none"), json!(1)], [json!("restart"), json!(0)]],
            )
            .axis("params.fillfactor", [90])
            .points([
                vec![("mix".to_owned(), json!("a"))],
                vec![
                    ("mix".to_owned(), json!("b")),
                    ("settings.work_mem".to_owned(), json!("4MB")),
                ],
            ])
            .exclude([("retry", values(["none"])), ("clients", values([1, 2]))])
            .repeats(3)
            .order(Order::Random)
            .restart("systemctl restart \"postgresql\"")
            .seed(Some(-7))
            .settle(Duration::ZERO)
            .slo(Duration::from_millis(20));
        let comments = Comments::heading("What it is for.\n\nAnd how.")
            .on("repeats", "of each")
            .on("reset.settle", "at once");
        let commented = Commented {
            experiment,
            comments,
        };
        assert_eq!(
            commented.to_toml(),
            r#"# What it is for.
#
# And how.
name = "all of it"
workload = "tpcb"
clients = 8
duration = "90s"
warmup = "1500ms"
repeats = 3    # of each
order = "random"
seed = -7
restart = "systemctl restart \"postgresql\""

[params]
"a b" = "ü\u007f"
scale = 2.0

[settings]
jit = "off"

[matrix]
workload = [["a.sql", "b.sql@2"], "tpcb"]
rate = [500, "70%"]

[[zip]]
retry = ["none", "restart"]
max_tries = [1, 0]

[[zip]]
params.fillfactor = [90]

[[point]]
mix = "a"

[[point]]
mix = "b"
settings.work_mem = "4MB"

[[exclude]]
clients = [1, 2]
retry = "none"

[reset]
settle = "0s"    # at once

[capacity]
slo = "20ms"
"#
        );
    }

    #[test]
    fn an_experiment_is_the_same_after_serde() {
        let experiment = Experiment::named("e")
            .fix("workload", ["tpcb"])
            .axis("clients", [1, 2])
            .exclude([("clients", values([2]))])
            .settle(Duration::from_millis(50))
            .slo(Duration::from_millis(20));
        let json = serde_json::to_value(&experiment).unwrap();
        assert_eq!(json["reset"]["settle_s"], 0.05);
        assert_eq!(json["order"], "drawn");
        let back: Experiment = serde_json::from_value(json).unwrap();
        assert_eq!(back, experiment);
    }
}
