//! From an experiment's file to an [`Experiment`]. Strict: what is not known is an error, so that
//! a typing error never silently changes a measurement.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use serde_json::Value;
use toml::Spanned;
use toml::de::DeValue;

use super::file::{self, Entry, Parameters};
use super::parameter::{self, Parameter};
use super::toml_text::Source;
use pgdyno_spec::{
    Experiment, Failure,
    experiment::{Axis, Capacity, Exclude, POINT_NAME},
};
use pgdyno_workload::{folder, script_files, shipped};

/// Reads an experiment. `folder` is where script files and packs with relative paths are.
///
/// # Errors
/// With file, line and column.
pub fn read(source: Source<'_>, default_name: &str, folder: &Path) -> Result<Experiment, Failure> {
    let (parameters, sections) = file::parse(source)?;
    let mut reader = Reader {
        source,
        folder,
        given: BTreeSet::new(),
    };
    let mut fixed = BTreeMap::new();
    // With the place of each: what is written first turns slowest.
    let mut axes: Vec<(usize, Axis)> = Vec::new();
    for entry in &parameters.0 {
        reader.once(entry)?;
        if entry.value.get_ref().is_array() {
            axes.push((entry.at.start, axis(entry, reader.list(entry)?)));
        } else {
            fixed.insert(entry.name.clone(), reader.one(entry)?);
        }
    }
    if let Some(matrix) = &sections.matrix {
        for entry in reader.entries("matrix", matrix)? {
            reader.once(entry)?;
            axes.push((entry.at.start, axis(entry, reader.list(entry)?)));
        }
    }
    for zip in &sections.zip {
        axes.push((zip.span().start, reader.zip(zip)?));
    }
    if let Some(first) = sections.point.first() {
        axes.push((first.span().start, reader.points(&sections.point)?));
    }
    axes.sort_by_key(|(at, _)| *at);
    let excludes = sections.exclude.iter().map(|table| reader.exclude(table));
    let excludes = excludes.collect::<Result<_, _>>()?;
    if !reader.given.contains("workload") {
        let end = source.text.len();
        return Err(source
            .wrong(end..end, "there is no workload")
            .hint("name one: workload = \"tpcb\" (list them with pgdyno pack list)"));
    }
    Ok(Experiment {
        name: sections.name.unwrap_or_else(|| default_name.to_owned()),
        kind: sections.kind,
        fixed,
        axes: axes.into_iter().map(|(_, axis)| axis).collect(),
        excludes,
        repeats: sections.repeats,
        order: sections.order,
        seed: sections.seed,
        restart: sections.restart,
        reset: sections.reset,
        capacity: sections.capacity.map(|table| Capacity {
            slo: table.slo,
            width: table.width.unwrap_or(Capacity::WIDTH),
            time: table.time.unwrap_or(Capacity::TIME),
        }),
    })
}

/// One parameter with each of these values.
fn axis(entry: &Entry, values: Vec<Value>) -> Axis {
    let step = |value| vec![(entry.name.clone(), value)];
    Axis(values.into_iter().map(step).collect())
}

struct Reader<'a> {
    source: Source<'a>,
    folder: &'a Path,
    /// Parameters that have been given.
    given: BTreeSet<String>,
}

impl Reader<'_> {
    /// Lists that go together: the first with the first, the second with the second.
    fn zip(&mut self, table: &Spanned<Parameters>) -> Result<Axis, Failure> {
        let entries = self.entries("zip", table)?;
        let mut steps: Vec<Vec<(String, Value)>> = Vec::new();
        for entry in entries {
            self.once(entry)?;
            let values = self.list(entry)?;
            if steps.is_empty() {
                steps.resize(values.len(), Vec::new());
            }
            if steps.len() != values.len() {
                let what = format!(
                    "{} has {} values, but {} has {}: what goes together is as long",
                    entry.name,
                    values.len(),
                    entries[0].name,
                    steps.len()
                );
                return Err(self.source.wrong(entry.value.span(), &what));
            }
            for (step, value) in steps.iter_mut().zip(values) {
                step.push((entry.name.clone(), value));
            }
        }
        Ok(Axis(steps))
    }

    /// Points of their own: together they are an axis.
    fn points(&mut self, tables: &[Spanned<Parameters>]) -> Result<Axis, Failure> {
        let mut steps = Vec::new();
        let mut names = BTreeSet::new();
        for table in tables {
            let mut step = Vec::new();
            for entry in self.entries("point", table)? {
                let value = match entry.value.get_ref() {
                    _ if entry.name != POINT_NAME => {
                        // Another point may have it, too.
                        if names.insert(&entry.name) {
                            self.once(entry)?;
                        }
                        self.one(entry)?
                    }
                    Value::String(name) if !name.is_empty() => name.as_str().into(),
                    _ => {
                        let wanted = "name: expected a string";
                        return Err(self.source.wrong(entry.value.span(), wanted));
                    }
                };
                step.push((entry.name.clone(), value));
            }
            steps.push(step);
        }
        Ok(Axis(steps))
    }

    fn exclude(&self, table: &Spanned<Parameters>) -> Result<Exclude, Failure> {
        let mut values = BTreeMap::new();
        for entry in self.entries("exclude", table)? {
            let wanted = if entry.value.get_ref().is_array() {
                self.list(entry)?
            } else {
                vec![self.one(entry)?]
            };
            values.insert(entry.name.clone(), wanted);
        }
        Ok(Exclude {
            values,
            // Only to name its place, should it turn out to exclude nothing.
            place: Some(self.source.place(table.span().start)),
        })
    }

    /// The entries of a table that must have some.
    fn entries<'t>(
        &self,
        name: &str,
        table: &'t Spanned<Parameters>,
    ) -> Result<&'t [Entry], Failure> {
        let entries = &table.get_ref().0;
        if entries.is_empty() {
            let what = format!("{name}: it is empty");
            return Err(self.source.wrong(table.span(), &what));
        }
        Ok(entries)
    }

    /// A parameter has one place.
    fn once(&mut self, entry: &Entry) -> Result<(), Failure> {
        if self.given.insert(entry.name.clone()) {
            return Ok(());
        }
        let what = format!("{} is given twice", entry.name);
        Err(self.source.wrong(entry.at.clone(), &what))
    }

    /// The values of what must be a list.
    fn list(&self, entry: &Entry) -> Result<Vec<Value>, Failure> {
        let (at, name) = (entry.value.span(), &entry.name);
        let text = &self.source.text[at.clone()];
        let Value::Array(values) = entry.value.get_ref() else {
            let failure = self
                .source
                .wrong(at, &format!("{name}: a list is expected here"));
            return Err(failure.hint(format!(
                "write a single value at the top of the file, or [{text}]"
            )));
        };
        if values.is_empty() {
            return Err(self.source.wrong(at, &format!("{name}: the list is empty")));
        }
        // JSON has no places; the list itself is read again for those of its values.
        let parsed = DeValue::parse(text).ok();
        let items = parsed.as_ref().and_then(|list| list.get_ref().as_array());
        let place = |index: usize| {
            let item = items?.get(index)?.span();
            Some(at.start + item.start..at.start + item.end)
        };
        let values = values.iter().enumerate();
        values
            .map(|(index, value)| self.accepted(entry, place(index).unwrap_or(at.clone()), value))
            .collect()
    }

    /// One value, which may be a list of script files.
    fn one(&self, entry: &Entry) -> Result<Value, Failure> {
        self.accepted(entry, entry.value.span(), entry.value.get_ref())
    }

    /// A value as the parameter takes it.
    fn accepted(&self, entry: &Entry, at: Range<usize>, value: &Value) -> Result<Value, Failure> {
        let name = &entry.name;
        let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.ends_with('.') || !name.chars().all(is_letter) {
            let what = format!("\"{name}\" is no name");
            return Err(self.source.wrong(entry.at.clone(), &what));
        }
        let Some(parameter) = parameter::find(name) else {
            let (at, known) = (entry.at.clone(), parameter::names());
            return Err(file::unknown(self.source, at, name, &known));
        };
        // NaN, a table or a date.
        if value.is_null() || value.is_object() {
            let what = format!("{name}: expected a string, a number, true, false or a list");
            return Err(self.source.wrong(at, &what));
        }
        let accepted = parameter.accept(value).map_err(|why| {
            let Some(list) = list_in_text(parameter, value) else {
                return self.source.wrong(at, &format!("{name}: {why}"));
            };
            let what = format!("{name}: several values are a list, not a text");
            self.source
                .wrong(at, &what)
                .hint(format!("{name} = {list}"))
        })?;
        Ok(match accepted {
            Value::Array(names) if parameter.is_workload() => {
                let names = names.iter().filter_map(Value::as_str);
                names.map(|name| self.beside_the_file(name)).collect()
            }
            Value::String(pack) if name == "tables" => self.beside_the_file(&pack).into(),
            other => other,
        })
    }

    /// A pack's name or a file: relative paths are the experiment's own, wherever pgdyno is called.
    fn beside_the_file(&self, text: &str) -> String {
        let file = script_files::split_weight(text).map_or(text, |(file, _)| file);
        if shipped::exists(text) || file == "-" || Path::new(text).is_absolute() {
            return text.to_owned();
        }
        let path = self.folder.join(text).to_string_lossy().into_owned();
        let is_there = self.folder.join(file).exists() || folder::exists(&path);
        // A bare word that is no file was meant as a pack's name; the error will say so.
        if is_there || file.contains(['/', '.']) {
            path
        } else {
            text.to_owned()
        }
    }
}

/// The list that a text of values with commas is meant to be, `[1, 2, 4]` for `"1,2,4"`.
fn list_in_text(parameter: Parameter, value: &Value) -> Option<Value> {
    let text = value.as_str().filter(|text| text.contains(','))?;
    let text = text.trim().trim_matches(['[', ']']);
    let parts = text.split(',').map(|part| {
        let part = part.trim();
        part.parse::<serde_json::Number>()
            .map_or_else(|_| part.into(), Value::Number)
    });
    let parts: Vec<Value> = parts.collect();
    let is_each_one = parts.iter().all(|part| parameter.accept(part).is_ok());
    is_each_one.then_some(Value::Array(parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_spec::experiment::{Order, Vacuum};
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
             [reset]\nsettle = 0\nvacuum = 'always'\ntruncate = ['mine']\n\
             replace_pgbench_tables = true\n",
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
        assert_eq!(e.reset.settle, Duration::ZERO);
        assert_eq!(e.reset.vacuum, Vacuum::Always);
        assert_eq!(e.reset.truncate, ["mine"]);
        assert!(e.reset.replace_pgbench_tables);
    }

    #[test]
    fn every_mistake_has_line_column_and_a_remedy() {
        let mut missing = Vec::new();
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
                &["e.toml:1:15: clients: a number of clients is a positive whole number"],
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
                &["e.toml:1:10: matrix: invalid type: integer `1`, expected a table"],
            ),
            (
                "zip = 1",
                &["e.toml:1:7: zip: ", "each is begun with [[zip]]"],
            ),
            ("[exclude]", &["each is begun with [[exclude]]"]),
            (
                "point = [1]",
                &["point: invalid type: integer `1`, expected a table"],
            ),
            ("[[zip]]", &["it is empty"]),
            ("[[zip]]\nclients=1", &["a list is expected"]),
            (
                "[[zip]]\nclients=[1, 2]\nthreads=[1]",
                &["e.toml:3:9: threads has 1 values, but clients has 2"],
            ),
            ("[[exclude]]", &["it is empty"]),
            ("[[exclude]]\nclient = 1", &["did you mean \"clients\"?"]),
            ("repeats = 0", &["repeats: expected a whole number from 1"]),
            (
                "order = 'sorted'",
                &[
                    "e.toml:1:9: order: unknown variant `sorted`, expected one of `drawn`, `mirrored`",
                ],
            ),
            ("seed = 'x'", &["seed: ", "a whole number"]),
            (
                "clients = '1,2,4'",
                &[
                    "e.toml:1:11: clients: several values are a list",
                    "clients = [1,2,4]",
                ],
            ),
            (
                "isolation = 'read committed, serializable'",
                &["[\"read committed\",\"serializable\"]"],
            ),
            ("clients = '1,x'", &["at column 2"]),
            (
                "workload = 'tpcb'\nclients = [1,2\n[settings]\nwork_mem = '4MB'",
                &["e.toml:2:11: the list that begins here is not closed\nclients = [1,2\n"],
            ),
            (
                "clients = [1, 2, # [\nduration = '5s'",
                &["e.toml:1:11: the list"],
            ),
            (
                "[settings]\nwork_mem = ['4MB',\n",
                &["e.toml:2:12: the list"],
            ),
            ("clients = [1 2]", &["e.toml:1:12: "]),
            (
                "name = 1",
                &["e.toml:1:8: name: invalid type: integer `1`, expected a string"],
            ),
            (
                "workload = 'tpcb'\nname = ''",
                &["e.toml:2:8: name: it is empty"],
            ),
            (
                "seed = 1.5",
                &["seed: invalid type: floating point `1.5`, expected a whole number"],
            ),
            (
                "duration = 2026-01-01",
                &["e.toml:1:12: duration: expected a string, a number, "],
            ),
            (
                "params.x = nan",
                &["e.toml:1:12: params.x: expected a string, a number, "],
            ),
            (
                "clients = {a = 1}",
                &["e.toml:1:11: clients: expected a string, a number, "],
            ),
            (
                "[reset]\nsettle = [1]",
                &["reset.settle: expected a time such as 60, \"60s\""],
            ),
            (
                "[reset]\nsettle = '1x'",
                &["reset.settle: \"1x\": a duration is"],
            ),
            (
                "[capacity]",
                &["capacity: missing field `slo`", "slo = \"20ms\""],
            ),
            ("params = 1", &["params: ", "expected a table"]),
            ("[settings]\n'a b' = 1", &["\"settings.a b\" is no name"]),
            (
                "workload = 'tpcb'\nhygiene.settle = 1",
                &[
                    "e.toml:2:1: unknown key \"hygiene\"",
                    "[hygiene] is called [reset]",
                ],
            ),
            (
                "[reset]\nsetle = 1",
                &["reset.setle", "did you mean \"settle\"?"],
            ),
            (
                "[reset]\nvacuum = true",
                &["e.toml:2:10: reset.vacuum: unknown variant `true`, expected one of `needed`"],
            ),
            (
                "[reset]\ntruncate = 'x'",
                &["e.toml:2:12: reset.truncate: invalid type: string \"x\", expected a list"],
            ),
            (
                "[reset]\ncheckpoint = 1",
                &["reset.checkpoint: invalid type: integer `1`, expected a boolean"],
            ),
            ("[reset]\ncheckpoint_timeout = 0", &["longer than nothing"]),
            ("a = ", &["e.toml:1:"]),
            (
                "workload = 'tpcb'\nworkload = 'tpcb'",
                &["e.toml:2:1", "duplicate"],
            ),
        ] {
            let e = read_text(text).unwrap_err().to_string();
            for want in want {
                if !e.contains(want) {
                    missing.push(format!("{text}: no \"{want}\" in {e}"));
                }
            }
        }
        assert!(missing.is_empty(), "{}", missing.join("\n"));
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
                ("workload", json!(["probe"])),
                ("mix", json!("commit")),
                ("name", json!("a commit")),
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
