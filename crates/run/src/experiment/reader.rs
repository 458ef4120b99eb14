//! From an experiment's TOML to an [`Experiment`]. Strict: what is not known is an error, so that
//! a typing error never silently changes a measurement.

mod sections;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::parameter::{self, Parameter};
use super::suggest::nearest;
use super::toml_text::{Placed, Source, integer, kind};
use pgdyno_model::experiment::{Axis, Exclude, Order, POINT_NAME};
use pgdyno_model::{Experiment, Failure};
use pgdyno_workload::{folder, script_files, shipped};

/// Keys beside the parameters.
const KEYS: [&str; 12] = [
    "name", "repeats", "order", "seed", "params", "settings", "matrix", "zip", "point", "exclude",
    "hygiene", "capacity",
];
const REPEATS_MAX: i64 = Experiment::REPEATS_MAX as i64;

/// Reads an experiment. `folder` is where script files and packs with relative paths are.
///
/// # Errors
/// With file, line and column.
pub fn read(source: Source<'_>, default_name: &str, folder: &Path) -> Result<Experiment, Failure> {
    let table = source.parse()?;
    let mut reader = Reader {
        source,
        folder: folder.to_owned(),
        seen: BTreeSet::new(),
        fixed: BTreeMap::new(),
        axes: Vec::new(),
    };
    let mut experiment = Experiment::named(default_name);
    reader.parameters(&table, &KEYS, Lists::Multiply)?;
    for (key, value) in &table {
        let (at, value_at, value) = (key.span(), value.span(), value.get_ref());
        let wrong = |what: &str| source.wrong(value_at.clone(), what);
        match key.get_ref().as_ref() {
            "name" => match value.as_str() {
                Some(name) if !name.is_empty() => experiment.name = name.to_owned(),
                _ => return Err(wrong("name: expected a string")),
            },
            "repeats" => match integer(value) {
                Some(n) if (1..=REPEATS_MAX).contains(&n) => experiment.repeats = n as u32,
                _ => {
                    return Err(wrong(&format!(
                        "repeats: expected a whole number from 1 to {REPEATS_MAX}"
                    )));
                }
            },
            "order" => {
                let known = Order::WORDS.iter();
                let order = known.clone().find(|(word, _)| value.as_str() == Some(word));
                experiment.order = order.map(|(_, order)| *order).ok_or_else(|| {
                    wrong("order: expected \"interleaved\", \"random\" or \"sequential\"")
                })?;
            }
            "seed" => {
                let seed = integer(value).ok_or_else(|| wrong("seed: expected a whole number"))?;
                experiment.seed = Some(seed);
            }
            "matrix" => {
                let matrix = reader.table(value_at.clone(), "matrix", value)?;
                if matrix.is_empty() {
                    return Err(source.wrong(at, "matrix: it is empty"));
                }
                reader.parameters(matrix, &["params", "settings"], Lists::Only)?;
            }
            "zip" => {
                for (at, table) in reader.tables(value_at.clone(), "zip", value)? {
                    reader.zip(at, table)?;
                }
            }
            "point" => {
                let tables = reader.tables(value_at.clone(), "point", value)?;
                reader.points(&tables)?;
            }
            "exclude" => {
                for (at, table) in reader.tables(value_at.clone(), "exclude", value)? {
                    experiment.excludes.push(reader.exclude(at, table)?);
                }
            }
            "hygiene" => {
                let table = reader.table(value_at.clone(), "hygiene", value)?;
                experiment.hygiene = reader.hygiene(table)?;
            }
            "capacity" => {
                let table = reader.table(value_at.clone(), "capacity", value)?;
                experiment.capacity = Some(reader.capacity(value_at.clone(), table)?);
            }
            _ => {}
        }
    }
    // The parser sorts by name; what is written first turns slowest.
    reader.axes.sort_by_key(|(at, _)| *at);
    experiment.fixed = reader.fixed;
    experiment.axes = reader.axes.into_iter().map(|(_, axis)| axis).collect();
    if !reader.seen.contains("workload") {
        let end = source.text.len();
        return Err(source
            .wrong(end..end, "there is no workload")
            .hint("name one: workload = \"tpcb\" (list them with pgdyno pack list)"));
    }
    Ok(experiment)
}

/// What a list means where it stands.
#[derive(Clone, Copy, PartialEq)]
enum Lists {
    /// A list is an axis, a single value is fixed.
    Multiply,
    /// There are only lists.
    Only,
}

struct Reader<'a> {
    source: Source<'a>,
    folder: PathBuf,
    /// Parameters that have been given.
    seen: BTreeSet<String>,
    fixed: BTreeMap<String, Value>,
    /// With the place of each, for their order.
    axes: Vec<(usize, Axis)>,
}

/// One `name = value` of a table, with the names in `params` and `settings` spelled out.
struct Entry<'t, 'i> {
    name: String,
    kind: Parameter,
    at: Range<usize>,
    value: &'t Placed<'i>,
}

impl Reader<'_> {
    /// Reads the parameters in a table. Keys in `others` are read elsewhere.
    fn parameters(
        &mut self,
        table: &DeTable<'_>,
        others: &[&str],
        lists: Lists,
    ) -> Result<(), Failure> {
        for entry in self.entries(table, others)? {
            self.once(&entry)?;
            let name = &entry.name;
            match entry.value.get_ref().as_array() {
                Some(_) => {
                    let steps = self.list(&entry)?.into_iter();
                    let steps = steps.map(|value| vec![(name.clone(), value)]);
                    self.axes.push((entry.at.start, Axis(steps.collect())));
                }
                None if lists == Lists::Only => {
                    let what = format!("{name}: a list is expected here");
                    let failure = self.source.wrong(entry.value.span(), &what);
                    return Err(failure.hint(format!(
                        "put a single value above [matrix], or write [{name_in}]",
                        name_in = &self.source.text[entry.value.span()]
                    )));
                }
                None => {
                    let value = self.one(name, entry.kind, entry.value)?;
                    self.fixed.insert(name.clone(), value);
                }
            }
        }
        Ok(())
    }

    /// Lists that go together: the first with the first, the second with the second.
    fn zip(&mut self, at: Range<usize>, table: &DeTable<'_>) -> Result<(), Failure> {
        let mut steps: Vec<Vec<(String, Value)>> = Vec::new();
        let mut first: Option<String> = None;
        for entry in self.entries(table, &["params", "settings"])? {
            self.once(&entry)?;
            let values = self.list(&entry)?;
            match &first {
                None => {
                    steps = values.iter().map(|_| Vec::new()).collect();
                    first = Some(entry.name.clone());
                }
                Some(first) if steps.len() != values.len() => {
                    let what = format!(
                        "{} has {} values, but {first} has {}: zipped lists must have the same \
                         length",
                        entry.name,
                        values.len(),
                        steps.len()
                    );
                    return Err(self.source.wrong(entry.value.span(), &what));
                }
                Some(_) => {}
            }
            for (step, value) in steps.iter_mut().zip(values) {
                step.push((entry.name.clone(), value));
            }
        }
        if steps.is_empty() {
            return Err(self.source.wrong(at, "zip: it is empty"));
        }
        self.axes.push((at.start, Axis(steps)));
        Ok(())
    }

    /// Points of their own: together they are an axis.
    fn points(&mut self, tables: &[(Range<usize>, &DeTable<'_>)]) -> Result<(), Failure> {
        let mut steps = Vec::new();
        let mut names = BTreeSet::new();
        for (at, table) in tables {
            let mut step = Vec::new();
            if let Some(name) = table.get(POINT_NAME) {
                let text = name.get_ref().as_str().filter(|text| !text.is_empty());
                let text =
                    text.ok_or_else(|| self.source.wrong(name.span(), "name: expected a string"))?;
                step.push((POINT_NAME.to_owned(), Value::from(text)));
            }
            for entry in self.entries(table, &["params", "settings", POINT_NAME])? {
                // Another point may have it, too.
                if !names.contains(&entry.name) {
                    self.once(&entry)?;
                    names.insert(entry.name.clone());
                }
                let value = self.one(&entry.name, entry.kind, entry.value)?;
                step.push((entry.name, value));
            }
            if step.is_empty() {
                return Err(self.source.wrong(at.clone(), "point: it is empty"));
            }
            steps.push(step);
        }
        if let Some((at, _)) = tables.first() {
            self.axes.push((at.start, Axis(steps)));
        }
        Ok(())
    }

    fn exclude(&self, at: Range<usize>, table: &DeTable<'_>) -> Result<Exclude, Failure> {
        let mut values = BTreeMap::new();
        for entry in self.entries(table, &["params", "settings"])? {
            let wanted = match entry.value.get_ref().as_array() {
                Some(_) => self.list(&entry)?,
                None => vec![self.one(&entry.name, entry.kind, entry.value)?],
            };
            values.insert(entry.name, wanted);
        }
        let empty = values.is_empty();
        // Only to name its place, should it turn out to exclude nothing.
        let line = self.source.wrong(at.clone(), "").message;
        let line = line.split(": ").next().unwrap_or_default().to_owned();
        if empty {
            return Err(self.source.wrong(at, "exclude: it is empty"));
        }
        Ok(Exclude {
            values,
            place: Some(line),
        })
    }

    fn entries<'t, 'i>(
        &self,
        table: &'t DeTable<'i>,
        others: &[&str],
    ) -> Result<Vec<Entry<'t, 'i>>, Failure> {
        let mut entries = Vec::new();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if name == "params" || name == "settings" {
                let inner = self.table(value.span(), name, value.get_ref())?;
                for (key, value) in inner {
                    let part = key.get_ref();
                    let is_name =
                        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
                    if part.is_empty() || !part.chars().all(is_name) {
                        let what = format!("{name}: \"{part}\" is no name");
                        return Err(self.source.wrong(key.span(), &what));
                    }
                    entries.push(Entry {
                        name: format!("{name}.{part}"),
                        kind: Parameter::Scalar,
                        at: key.span(),
                        value,
                    });
                }
            } else if let Some(kind) = parameter::find(name) {
                entries.push(Entry {
                    name: name.to_owned(),
                    kind,
                    at: key.span(),
                    value,
                });
            } else if !others.contains(&name) {
                let all = parameter::all();
                let known = all.iter().map(|(name, _)| *name);
                let known: Vec<&str> = known.chain(others.iter().copied()).collect();
                return Err(self.unknown(key.span(), name, name, &known));
            }
        }
        entries.sort_by_key(|entry| entry.at.start);
        Ok(entries)
    }

    fn unknown(&self, at: Range<usize>, name: &str, typed: &str, known: &[&str]) -> Failure {
        let failure = self.source.wrong(at, &format!("unknown key \"{name}\""));
        match nearest(typed, known.iter().copied()) {
            Some(word) => failure.hint(format!("did you mean \"{word}\"?")),
            None if typed == "scale" || typed == "fillfactor" => failure.hint(format!(
                "a workload's parameters go into [params]: params.{typed}"
            )),
            None => failure.hint(format!("there are: {}", known.join(", "))),
        }
    }

    /// A parameter has one place.
    fn once(&mut self, entry: &Entry<'_, '_>) -> Result<(), Failure> {
        if self.seen.insert(entry.name.clone()) {
            return Ok(());
        }
        let what = format!("{} is given twice", entry.name);
        Err(self.source.wrong(entry.at.clone(), &what))
    }

    fn list(&self, entry: &Entry<'_, '_>) -> Result<Vec<Value>, Failure> {
        let name = &entry.name;
        let Some(list) = entry.value.get_ref().as_array() else {
            let what = format!("{name}: a list is expected here");
            return Err(self.source.wrong(entry.value.span(), &what));
        };
        if list.is_empty() {
            let what = format!("{name}: the list is empty");
            return Err(self.source.wrong(entry.value.span(), &what));
        }
        let mut values = Vec::new();
        for item in list.iter() {
            values.push(self.one(name, entry.kind, item)?);
        }
        Ok(values)
    }

    fn one(&self, name: &str, kind: Parameter, value: &Placed<'_>) -> Result<Value, Failure> {
        let accepted = kind.accept(value.get_ref());
        let accepted =
            accepted.map_err(|why| self.source.wrong(value.span(), &format!("{name}: {why}")))?;
        match (kind, name) {
            (kind, _) if kind.is_workload() => Ok(self.beside_the_file(accepted)),
            (_, "tables") => Ok(self.beside_the_file(Value::Array(vec![accepted]))[0].take()),
            _ => Ok(accepted),
        }
    }

    /// Relative paths are the experiment's own, wherever pgdyno is called.
    fn beside_the_file(&self, workload: Value) -> Value {
        let place = |text: &str| {
            let file = script_files::split_weight(text).map_or(text, |(file, _)| file);
            let path = self.folder.join(text);
            if shipped::exists(text) || file == "-" || Path::new(text).is_absolute() {
                return text.to_owned();
            }
            let text_path = path.to_string_lossy().into_owned();
            let is_there = self.folder.join(file).exists() || folder::exists(&text_path);
            // A bare word that is no file was meant as a pack's name; the error will say so.
            if is_there || file.contains(['/', '.']) {
                text_path
            } else {
                text.to_owned()
            }
        };
        let names = workload.as_array().into_iter().flatten();
        names
            .filter_map(Value::as_str)
            .map(|text| Value::String(place(text)))
            .collect()
    }

    fn table<'t, 'i>(
        &self,
        at: Range<usize>,
        name: &str,
        value: &'t DeValue<'i>,
    ) -> Result<&'t DeTable<'i>, Failure> {
        value.as_table().ok_or_else(|| {
            let what = format!("{name}: expected a table, not {}", kind(value));
            self.source.wrong(at, &what)
        })
    }

    fn tables<'t, 'i>(
        &self,
        at: Range<usize>,
        name: &str,
        value: &'t DeValue<'i>,
    ) -> Result<Vec<(Range<usize>, &'t DeTable<'i>)>, Failure> {
        let tables = value.as_array().and_then(|list| {
            let tables = list.iter();
            let tables = tables.map(|item| Some((item.span(), item.get_ref().as_table()?)));
            tables.collect::<Option<Vec<_>>>()
        });
        tables.ok_or_else(|| {
            let what = format!("{name}: expected tables, each starting with [[{name}]]");
            self.source.wrong(at, &what)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::experiment::Vacuum;
    use serde_json::json;
    use std::time::Duration;

    fn read_text(text: &str) -> Result<Experiment, Failure> {
        let source = Source {
            name: "e.toml",
            text,
        };
        read(source, "e", Path::new(""))
    }

    #[test]
    fn lists_are_axes_wherever_they_stand_in_the_order_in_which_they_are_written() {
        let e = read_text(
            "workload = 'tpcb'\nthreads = [2, 1]\nduration = '5s'\nrepeats = 3\norder = 'random'\nseed = 7\n\
             params.scale = 2\nsettings.work_mem = ['4MB', '64MB']\n\
             [matrix]\nrate = ['max', '50%', 100]\nclients = [1]\n\
             [[zip]]\nisolation = ['read committed', 'serializable']\nmax_tries = [1, 10]\n\
             [hygiene]\nsettle = 0\nvacuum = 'always'\ntruncate = ['mine']\n",
        )
        .unwrap();
        assert_eq!(e.fixed["workload"], json!(["tpcb"]));
        assert_eq!(e.fixed["params.scale"], json!(2));
        assert_eq!((e.repeats, e.order, e.seed), (3, Order::Random, Some(7)));
        let names: Vec<Vec<&str>> = e
            .axes
            .iter()
            .map(|Axis(steps)| steps[0].iter().map(|(name, _)| name.as_str()).collect())
            .collect();
        assert_eq!(
            names,
            [
                vec!["threads"],
                vec!["settings.work_mem"],
                vec!["rate"],
                vec!["clients"],
                vec!["isolation", "max_tries"]
            ]
        );
        assert_eq!(e.axes[4].0[1][1], ("max_tries".to_owned(), json!(10)));
        assert_eq!(e.hygiene.settle, Duration::ZERO);
        assert_eq!(e.hygiene.vacuum, Vacuum::Always);
        assert_eq!(e.hygiene.truncate, ["mine"]);
    }

    #[test]
    fn every_mistake_is_told_with_line_column_and_a_way_out() {
        for (text, want) in [
            ("", &["e.toml:1:1: there is no workload", "pack list"][..]),
            ("clients = 1", &["there is no workload"]),
            (
                "workload = 'tpcb'\ncleints = 3",
                &[
                    "e.toml:2:1: unknown key \"cleints\"",
                    "did you mean \"clients\"?",
                    "^^^^^^^",
                ],
            ),
            ("scale = 3", &["params.scale"]),
            ("xyzzy = 3", &["there are: workload, "]),
            ("clients = []", &["e.toml:1:11: clients: the list is empty"]),
            (
                "clients = [1, 'x']",
                &["e.toml:1:15: clients: expected a whole number", "not \"x\""],
            ),
            (
                "clients = 1\n[matrix]\nclients = [1]",
                &["e.toml:3:1: clients is given twice"],
            ),
            (
                "[matrix]\nclients = 1",
                &["e.toml:2:11: clients: a list is expected", "[1]"],
            ),
            ("[matrix]", &["it is empty"]),
            ("[matrix]\nrepeats = [1]", &["unknown key \"repeats\""]),
            (
                "matrix = 1",
                &["e.toml:1:10: matrix: expected a table, not a whole number"],
            ),
            ("zip = 1", &["each starting with [[zip]]"]),
            ("[[zip]]", &["it is empty"]),
            ("[[zip]]\nclients=1", &["a list is expected"]),
            (
                "[[zip]]\nclients=[1, 2]\nthreads=[1]",
                &["e.toml:3:9: threads has 1 values, but clients has 2"],
            ),
            ("[[exclude]]", &["it is empty"]),
            ("[[exclude]]\nclient = 1", &["did you mean \"clients\"?"]),
            ("repeats = 0", &["repeats: expected a whole number from 1"]),
            ("order = 'sorted'", &["\"interleaved\", \"random\""]),
            ("seed = 'x'", &["seed: expected a whole number"]),
            ("name = 1", &["name: expected a string"]),
            ("params = 1", &["params: expected a table"]),
            ("[settings]\n'a b' = 1", &["\"a b\" is no name"]),
            (
                "[hygiene]\nsetle = 1",
                &["hygiene.setle", "did you mean \"settle\"?"],
            ),
            ("[hygiene]\nvacuum = true", &["\"needed\", \"always\""]),
            ("[hygiene]\ntruncate = 'x'", &["a list of table names"]),
            ("[hygiene]\ncheckpoint = 1", &["true or false"]),
            (
                "[hygiene]\ncheckpoint_timeout = 0",
                &["longer than nothing"],
            ),
            ("a = ", &["e.toml:1:"]),
            (
                "workload = 'tpcb'\nworkload = 'tpcb'",
                &["e.toml:2:1", "duplicate"],
            ),
        ] {
            let e = read_text(text).unwrap_err().to_string();
            for want in want {
                assert!(e.contains(want), "{text}: no \"{want}\" in {e}");
            }
        }
    }

    #[test]
    fn points_of_their_own_set_what_they_need() {
        let e = read_text(
            "clients = [1, 2]\n[[point]]\nworkload = 'probe'\nmix = 'commit'\nname = 'a commit'\n\
             [[point]]\nworkload = 'ycsb'\nparams.recordcount = 10\n",
        )
        .unwrap();
        let step = |values: &[(&str, Value)]| -> Vec<(String, Value)> {
            let values = values.iter().cloned();
            values
                .map(|(name, value)| (name.to_owned(), value))
                .collect()
        };
        let points = Axis(vec![
            step(&[
                ("name", json!("a commit")),
                ("workload", json!(["probe"])),
                ("mix", json!("commit")),
            ]),
            step(&[
                ("workload", json!(["ycsb"])),
                ("params.recordcount", json!(10)),
            ]),
        ]);
        assert_eq!(e.axes[1], points);
        for (text, want) in [
            ("[[point]]\nmix = ['a', 'b']", "mix: expected a text"),
            ("mix = 'a'\n[[point]]\nmix = 'b'", "mix is given twice"),
            ("[[point]]\n", "point: it is empty"),
            ("[[point]]\nname = 1", "name: expected a string"),
            ("[[zip]]\nname = ['a']", "unknown key \"name\""),
        ] {
            let e = read_text(&format!("workload = 'tpcb'\n{text}")).unwrap_err();
            assert!(e.to_string().contains(want), "{e}");
        }
    }

    #[test]
    fn script_files_are_looked_for_beside_the_experiment() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.sql"), "SELECT 1;").unwrap();
        let text = "workload = ['tpcb', ['a.sql@3', '/b.sql'], 'tcpb']";
        let e = read(Source { name: "e", text }, "e", dir.path()).unwrap();
        let got: Vec<_> = e.axes[0].0.iter().map(|step| step[0].1.clone()).collect();
        let a = format!("{}/a.sql@3", dir.path().display());
        assert_eq!(
            got,
            [json!(["tpcb"]), json!([a, "/b.sql"]), json!(["tcpb"])]
        );
    }
}
