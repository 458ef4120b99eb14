//! An experiment made ready: every point checked as far as that goes without a server, and all
//! trials in their order.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::check::check;
use super::notebook::Identity;
use super::schedule::{Slot, schedule};
use super::{capacity, matrix};
use crate::prepare;
use pgdyno_database::dialect;
use pgdyno_spec::{
    Exit, Experiment, Failure, TargetSpec, TrialSpec,
    experiment::{Axis, POINT_NAME, point::Point},
};
use pgdyno_workload::pack::Pack;
use pgdyno_workload::params::Params;
use pgdyno_workload::recipe::Recipe;
use pgdyno_workload::{resolve, sql_words, table_params};

/// What is to be done.
pub struct Plan {
    /// What it was made from.
    pub experiment: Experiment,
    /// The points of its matrix.
    pub points: Vec<Planned>,
    /// All trials, in their order.
    pub slots: Vec<Slot>,
    /// The parameters that vary, for people.
    pub varied: Vec<String>,
    /// What tells it from other experiments.
    pub identity: Identity,
}

/// A point and what is known of its workload.
pub struct Planned {
    pub point: Point,
    /// Its trial, but for rate and seed.
    pub spec: TrialSpec,
    /// The tables it needs, if it needs any.
    pub tables: Option<Tables>,
    pub writes: bool,
    content_sha256: String,
}

/// Tables that must be there.
pub struct Tables {
    /// The pack that makes them.
    pub pack: Pack,
    /// The same pack with the tables that these parameters give it.
    pub made: Pack,
    /// What the experiment says about them.
    pub chosen: Params,
    /// The parameters among these that make the tables what they are.
    pub made_with: BTreeMap<String, String>,
    /// Their rows when loaded again.
    pub rows: u64,
}

/// Takes the command line's server in place of the experiment's one, and says so. A server that the experiment
/// varies stays, as one that both name: then it is the user's, who knows it.
///
/// # Errors
/// Options of a private server beside a target; targets that the command line does not name all.
pub fn take_target(
    experiment: &mut Experiment,
    wanted: &TargetSpec,
) -> Result<Option<&'static str>, Failure> {
    if !experiment.gives("target") || (wanted.urls.is_empty() && wanted.own.is_empty()) {
        return Ok(None);
    }
    let is_typed = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        wanted.urls.iter().any(|url| url.secret() == text)
    };
    // A list of one is no axis.
    for Axis(steps) in experiment
        .axes
        .iter_mut()
        .filter(|Axis(steps)| steps.len() == 1)
    {
        let at = steps[0].iter().position(|(name, _)| name == "target");
        if let Some(at) = at {
            let (name, value) = steps[0].remove(at);
            experiment.fixed.insert(name, value);
        }
    }
    let fixed = experiment.fixed.get("target");
    if wanted.own.is_empty() && fixed.is_some_and(|value| !is_typed(value)) {
        experiment.fixed.remove("target");
        return Ok(Some(
            "the server is the command line's, not the experiment's",
        ));
    }
    let varied = experiment.axes.iter().flat_map(|Axis(steps)| steps);
    let mut varied = varied.flatten().filter(|(name, _)| name == "target");
    if wanted.own.is_empty() && varied.all(|(_, value)| is_typed(value)) {
        return Ok(None);
    }
    let text = "the experiment names its target itself";
    Err(Failure::with(Exit::Usage, text).hint(
        "leave out --url and the options of a private server; or name each of its servers yourself, in its words, \
         with a --url each",
    ))
}

impl Plan {
    /// Makes the plan. `wanted` is the target of points that name none.
    ///
    /// # Errors
    /// A point that cannot be run, whatever the server.
    pub fn new(experiment: Experiment, wanted: &TargetSpec, seed: i64) -> Result<Plan, Failure> {
        check(&experiment)?;
        let mut points = Vec::new();
        for point in matrix::points(&experiment)? {
            points.push(plan(point, wanted)?);
        }
        // Not by target: each server keeps its own tables, and servers are compared by turns.
        let mut keys: Vec<(String, BTreeMap<String, String>)> = Vec::new();
        let mut groups = Vec::new();
        for planned in &points {
            let key = match &planned.tables {
                Some(tables) => (
                    tables.pack.tables_pack().name().to_owned(),
                    tables.made_with.clone(),
                ),
                None => (String::new(), BTreeMap::new()),
            };
            let known = keys.iter().position(|other| *other == key);
            groups.push(known.unwrap_or(keys.len()));
            if known.is_none() {
                keys.push(key);
            }
        }
        let only_points: Vec<Point> = points.iter().map(|p| p.point.clone()).collect();
        let slots = schedule(
            &only_points,
            &groups,
            experiment.repeats,
            experiment.order,
            seed,
        );
        let axes = experiment.axes.iter().filter(|Axis(steps)| steps.len() > 1);
        let varied = axes.flat_map(|axis| {
            if axis.is_named() {
                vec![POINT_NAME]
            } else {
                axis.names()
            }
        });
        let varied = varied.map(str::to_owned).collect();
        let identity = identity(&experiment, &points, seed);
        if experiment.capacity.is_some() {
            capacity::check(&only_points)?;
        }
        Ok(Plan {
            experiment,
            points,
            slots,
            varied,
            identity,
        })
    }

    /// A trial for people: what varies, and which repeat.
    pub fn label(&self, slot: &Slot) -> String {
        let varied: Vec<&str> = self.varied.iter().map(String::as_str).collect();
        let label = slot.point.label(&varied);
        match slot.repeat {
            0 => format!("{label}: to find the maximum"),
            _ if self.experiment.repeats == 1 => label,
            repeat => format!("{label}, repeat {repeat}"),
        }
    }
}

fn plan(point: Point, wanted: &TargetSpec) -> Result<Planned, Failure> {
    let spec = point.spec(wanted.clone(), None, 0)?;
    spec.check()?;
    let checked = prepare::check(&spec)?;
    let scripts = &checked.workload.scripts;
    let writes = scripts.iter().any(|s| sql_words::writes(&s.text));
    let content_sha256 = match &checked.workload.pack {
        Some(pack) => pack.content_hash(),
        None => {
            let mut hash = Sha256::new();
            for script in scripts {
                hash.update((script.text.len() as u64).to_le_bytes());
                hash.update(&script.text);
                hash.update(script.weight.to_le_bytes());
            }
            hex(hash)
        }
    };
    let tables = match (checked.workload.pack, point.tables()) {
        (Some(_), Some(name)) => {
            return Err(Failure::new(format!(
                "tables = \"{name}\" is for script files; a pack brings its own tables"
            )));
        }
        (Some(pack), None) => Some(of_pack(pack, checked.chosen)?),
        (None, Some(name)) => {
            let pack = resolve::pack(name).map_err(|e| Failure::new(e.to_string()))?;
            // What the pack does not know is a variable of the scripts.
            let known = spec.params.iter().filter(|text| {
                let name = text.split_once('=').map_or(text.as_str(), |(name, _)| name);
                pack.param_called(name).is_some()
            });
            let known: Vec<String> = known.cloned().collect();
            let chosen = Params::parse(&pack, None, &known).map_err(Failure::new)?;
            Some(of_pack(pack, chosen)?)
        }
        (None, None) => None,
    };
    Ok(Planned {
        point,
        spec,
        tables: tables.filter(|tables| !tables.pack.tables().is_empty()),
        writes,
        content_sha256,
    })
}

fn of_pack(pack: Pack, chosen: Params) -> Result<Tables, Failure> {
    // The dialect only decides about the text of the schema, which is not looked at here.
    let name = dialect::POSTGRESQL.name;
    let values = chosen.or_defaults(&pack);
    let recipe = Recipe::new(pack.tables_pack(), name, &values);
    let recipe = recipe.map_err(Failure::new)?;
    let of_tables = table_params::of(&pack);
    let made_with = chosen.all_given();
    let made_with = made_with.filter(|(name, _)| of_tables.contains(*name));
    let made_with = made_with.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(Tables {
        made_with: made_with.collect(),
        rows: recipe.tables.iter().map(|table| table.rows).sum(),
        made: pack.clone().with_tables(&values).map_err(Failure::new)?,
        pack,
        chosen,
    })
}

fn identity(experiment: &Experiment, points: &[Planned], seed: i64) -> Identity {
    let mut all: Vec<String> = points
        .iter()
        .map(|planned| format!("{} {}", planned.point.key(), planned.content_sha256))
        .collect();
    all.sort_unstable();
    let mut hash = Sha256::new();
    hash.update(all.join("\n"));
    hash.update(json!(experiment.reset).to_string());
    let mut definition = json!({
        "toml": experiment.clone().seed(Some(seed)).without_secrets().to_toml(),
        "kind": experiment.kind,
        "points": points.iter().map(|p| p.point.to_json()).collect::<Vec<_>>(),
        "repeats": experiment.repeats,
        "order": experiment.order.word(),
    });
    // No part of the hash: another limit is another question about the same trials.
    if let Some(capacity) = experiment.capacity {
        definition["capacity_slo_us"] = json!(capacity.slo_us());
        definition["capacity"] = json!(capacity);
    }
    Identity {
        name: experiment.name.clone(),
        sha256: hex(hash),
        seed,
        definition,
    }
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::reader;
    use crate::experiment::toml_text::Source;
    use std::path::Path;

    fn plan_of(text: &str) -> Result<Plan, String> {
        let source = Source { name: "e", text };
        let e = reader::read(source, "e", Path::new("")).unwrap();
        Plan::new(e, &TargetSpec::default(), 1).map_err(|e| e.to_string())
    }

    #[test]
    fn points_on_the_same_tables_stay_together() {
        let plan =
            plan_of("workload = ['tpcb', 'select-only']\nrepeats = 2\n[params]\nscale = [1, 2]\n")
                .unwrap();
        let mut order: Vec<_> = plan.slots.iter().map(|s| s.index).collect();
        // In rounds, each in an order that is drawn.
        order.chunks_mut(2).for_each(<[usize]>::sort_unstable);
        // Points: tpcb 1, tpcb 2, select-only 1, select-only 2.
        assert_eq!(order, [0, 2, 0, 2, 1, 3, 1, 3]);
        let select = plan.slots.iter().find(|slot| slot.index == 2).unwrap();
        assert_eq!(plan.label(select), "select-only, scale 1, repeat 1");
        assert_eq!(plan.points[1].tables.as_ref().unwrap().rows, 200_022);
        assert!(plan.points[0].writes && !plan.points[2].writes);
    }

    #[test]
    fn targets_and_settings_take_turns() {
        let order = |text: &str| -> Vec<usize> {
            let plan = plan_of(&format!("workload = 'tpcb'\nrepeats = 2\n{text}")).unwrap();
            let mut order: Vec<usize> = plan.slots.iter().map(|slot| slot.index).collect();
            order.chunks_mut(2).for_each(<[usize]>::sort_unstable);
            order
        };
        let targets = "target = ['host=a', 'host=b']";
        assert_eq!(order(targets), [0, 1, 0, 1]);
        let restarts = "restart = 'true'\nsettings.shared_buffers = ['16MB', '32MB']";
        assert_eq!(order(restarts), [0, 1, 0, 1]);
    }

    #[test]
    fn what_cannot_be_run_is_said_before_anything_begins() {
        for (text, want) in [
            ("workload = ['tpcb', 'tcpb']", "did you mean tpcb?"),
            ("workload = 'tpcb'\nmix = ['x']", "no mix \"x\""),
            (
                "workload = 'tpcb'\nmix = 'batch'\nquery_mode = 'prepared'",
                "cannot be sent in query mode prepared",
            ),
            (
                "workload = 'tpcb'\nparams.sale = [1]",
                "no parameter \"sale\"",
            ),
            ("workload = 'tpcb'\nparams.scale = [1, 0]", "at least 1"),
            (
                "workload = 'tpcb'\ntables = 'tpcb'",
                "brings its own tables",
            ),
            ("workload = [['/nowhere.sql']]", "/nowhere.sql"),
        ] {
            let e = plan_of(text)
                .err()
                .unwrap_or_else(|| panic!("{text} is a plan"));
            assert!(e.contains(want), "{text}: {e}");
        }
    }

    #[test]
    fn experiments_differ_by_what_they_measure() {
        let of = |text: &str| plan_of(text).unwrap().identity.sha256;
        let one = of("workload = 'tpcb'\nclients = [1, 2]");
        assert_eq!(one, of("# again\nclients = [2, 1]\nworkload = ['tpcb']\n"));
        assert_eq!(one, of("workload = 'tpcb'\nclients = [1, 2]\nrepeats = 5"));
        assert_ne!(one, of("workload = 'tpcb'\nclients = [1, 3]"));
        // The limit of a capacity is kept, and makes no other experiment.
        let rates = "workload = 'tpcb'\nrate = [1, 2, 3]\n";
        let limited = plan_of(&format!("{rates}capacity.slo = '5ms'")).unwrap();
        assert_eq!(limited.identity.sha256, of(rates));
        assert_eq!(limited.identity.definition["capacity_slo_us"], 5000.0);
        // What is kept is a file of the same experiment.
        let kept = limited.identity.definition["toml"].as_str().unwrap();
        assert_eq!(plan_of(kept).unwrap().identity, limited.identity);
        assert_ne!(
            one,
            of("workload = 'tpcb'\nclients = [1, 2]\nreset.vacuum = 'never'")
        );
    }
}
