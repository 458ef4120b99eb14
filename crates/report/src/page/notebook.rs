//! A notebook's page: what runs, experiments as they grow, and the list of trials.

use std::collections::{BTreeMap, BTreeSet};

use pgdyno_model::State;
use pgdyno_model::document::page::{
    ExperimentItem, GrowingExperiment, GrowingPoint, GrowingRepeat, NotebookPage, Query,
    RunningTrial, Served, TrialItem,
};
use pgdyno_model::notebook::{ExperimentRow, Filter, ListedTrial, Notebook, PlacedTrial, TrialRow};
use pgdyno_spec::{Exit, Failure, experiment::words, text};
use serde_json::Value;

use super::begin;
use crate::glance::{self, Glance, Watch};
use crate::points::{self, Targets};

/// Trials of a page of the list.
const PAGE: u64 = 100;
/// Experiments that are listed, the newest.
const EXPERIMENTS: u64 = 50;

/// The page; `query` says which trials it lists, `watch` has looked before.
///
/// # Errors
/// The notebook cannot be read; it has no such experiment, or the query names a state that there is not.
pub fn notebook(
    store: &dyn Notebook,
    query: &Query,
    served: Served,
    watch: &mut Watch,
) -> Result<NotebookPage, Failure> {
    let rows = glance::running(store)?;
    let filter = filter(query)?;
    let found = store.count(&filter)?;
    let trials = store.listed(&filter)?;
    let trials_total = store.count(&Filter::default())?;
    let experiments_total = store.count_experiments()?;
    let facts = [
        text::plural(trials_total, "trial"),
        text::plural(experiments_total, "experiment"),
    ];
    let mut common = begin(format!("Notebook: {}", facts.join(", ")), Vec::new(), "");
    common.eyebrow = Some(served.notebook.clone());
    common.served = Some(served);
    Ok(NotebookPage {
        kind: NotebookPage::KIND,
        common,
        trials_total,
        experiments_total,
        running: running(store, watch.of_rows(store, &rows)?)?,
        growing: growing(store, &rows)?,
        experiments: experiments(store)?,
        query: Query {
            page: query.page.max(1),
            ..query.clone()
        },
        found,
        pages: found.div_ceil(PAGE).max(1),
        trials: trials.into_iter().map(listed).collect(),
    })
}

/// What a list is asked for, as the notebook understands it.
fn filter(query: &Query) -> Result<Filter, Failure> {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let state = given(&query.state).map(|name| {
        State::from_name(&name).ok_or_else(|| {
            Failure::with(Exit::Usage, format!("there is no state {name}"))
                .hint("running, complete, partial, failed, aborted")
        })
    });
    let words = given(&query.q).unwrap_or_default();
    Ok(Filter {
        experiment: given(&query.experiment),
        workload: given(&query.workload),
        tags: given(&query.tag).into_iter().collect(),
        state: state.transpose()?,
        words: words.split_whitespace().map(str::to_owned).collect(),
        limit: Some(PAGE),
        skip: query.page.saturating_sub(1).saturating_mul(PAGE),
        ..Filter::default()
    })
}

fn running(store: &dyn Notebook, all: Vec<Glance>) -> Result<Vec<RunningTrial>, Failure> {
    let all = all.into_iter().map(|glance| {
        let cannot_stop = store.cannot_stop(glance.number)?;
        Ok(of_glance(glance, cannot_stop))
    });
    all.collect()
}

fn of_glance(glance: Glance, cannot_stop: Option<String>) -> RunningTrial {
    RunningTrial {
        number: glance.number,
        uuid: glance.uuid,
        workload: glance.workload,
        clients: Some(glance.clients),
        target: glance.target,
        experiment: glance.experiment,
        started: glance.started,
        now_us: glance.now_us,
        planned_us: glance.planned_us,
        goodput_per_s: glance.goodput_per_s,
        warmup: glance.warmup,
        p50_us: glance.p50_us,
        p99_us: glance.p99_us,
        failed: glance.failed,
        waits: glance.waits,
        cannot_stop,
        silent_s: glance.silent_s,
        is_gone: glance.is_gone,
        part: glance.part,
        generators: glance.generators,
    }
}

fn listed(trial: ListedTrial) -> TrialItem {
    let (p50_us, p99_us) = trial.p50_and_p99_us();
    TrialItem {
        number: trial.number,
        uuid: trial.uuid,
        state: trial.state,
        reason: trial.reason,
        excluded: trial.excluded,
        note: trial.note,
        tags: trial.tags,
        workload: trial.workload,
        clients: trial.clients,
        target: trial.target,
        experiment: trial.experiment_name,
        started: trial.started,
        goodput_per_s: trial.goodput_per_s,
        p50_us,
        p99_us,
        failed: trial.failed,
    }
}

fn experiments(store: &dyn Notebook) -> Result<Vec<ExperimentItem>, Failure> {
    let newest = store.experiments(Some(EXPERIMENTS))?.into_iter();
    let item = |(row, trials, counted): (ExperimentRow, u64, u64)| ExperimentItem {
        number: row.number,
        uuid: row.uuid,
        name: row.name,
        created: row.created,
        trials,
        counted,
    };
    Ok(newest.map(item).collect())
}

/// Those of which a trial runs now.
fn growing(store: &dyn Notebook, rows: &[TrialRow]) -> Result<Vec<GrowingExperiment>, Failure> {
    let mut known = BTreeSet::new();
    let of = rows.iter().filter_map(|row| {
        let number = row.experiment?;
        known.insert(number).then(|| row.experiment_name.clone())?
    });
    let of: Vec<String> = of.collect();
    let rows = of.iter().map(|name| {
        let row = store.experiment(name)?;
        let trials = store.placed(row.number)?;
        Ok(grown(row, &trials))
    });
    rows.collect()
}

fn grown(row: ExperimentRow, trials: &[PlacedTrial]) -> GrowingExperiment {
    let (planned, repeats) = plan(&row.definition);
    let count = |is_such: fn(State) -> bool| {
        let such = trials.iter().filter(|trial| is_such(trial.state));
        such.count() as u64
    };
    let running = trials
        .iter()
        .filter(|trial| trial.state == State::Running)
        .map(|trial| trial.number);
    GrowingExperiment {
        number: row.number,
        uuid: row.uuid,
        name: row.name,
        created: row.created,
        planned: (!planned.is_empty()).then(|| planned.len() as u64 * u64::from(repeats)),
        done: count(|state| state == State::Complete),
        failed: count(|state| !matches!(state, State::Complete | State::Running)),
        running: running.collect(),
        points: boxes(planned, repeats, trials),
    }
}

/// The points that it was to have, and how often each; none where it decides on its way.
fn plan(definition: &str) -> (Vec<Value>, u32) {
    let mut definition: Value = serde_json::from_str(definition).unwrap_or_default();
    let mut of = definition["definition"].take();
    let repeats = of["repeats"].as_u64().unwrap_or(1);
    match of["points"].take() {
        Value::Array(points) => (points, repeats.try_into().unwrap_or(u32::MAX)),
        _ => (Vec::new(), 1),
    }
}

/// Planned points with what has become of their repeats, then those that came on the way.
fn boxes(mut points: Vec<Value>, repeats: u32, trials: &[PlacedTrial]) -> Vec<GrowingPoint> {
    for point in trials.iter().filter_map(|trial| trial.point.as_ref()) {
        if !points.contains(point) {
            points.push(point.clone());
        }
    }
    let names = names(&points);
    let of = points.iter().zip(names).map(|(point, what)| {
        let own = trials
            .iter()
            .filter(|trial| trial.point.as_ref() == Some(point));
        // What was tried again comes later, and counts.
        let own: BTreeMap<u32, &PlacedTrial> = own
            .map(|trial| (trial.repeat.unwrap_or(1), trial))
            .collect();
        let last = own.keys().next_back().copied().unwrap_or(0).max(repeats);
        let repeats = (1..=last).map(|repeat| {
            let trial = own.get(&repeat);
            GrowingRepeat {
                state: trial.map(|trial| trial.state),
                trial: trial.map(|trial| trial.number),
                excluded: trial.and_then(|trial| trial.excluded.clone()),
            }
        });
        GrowingPoint {
            what,
            repeats: repeats.collect(),
        }
    });
    of.collect()
}

/// Points in words: what tells them apart.
fn names(points: &[Value]) -> Vec<String> {
    let all: Vec<BTreeMap<String, Value>> = points.iter().map(points::nested).collect();
    let paths: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    let differs = |path: &&&String| {
        let mut values = all.iter().map(|of| of.get(**path));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let mut varied: Vec<&String> = paths.iter().filter(differs).copied().collect();
    varied.sort_by_key(|path| points::varied::group(path));
    let targets = Targets::of_points(points);
    let name = |of: &BTreeMap<String, Value>| {
        let workload = of.get("workload").map(words::value).unwrap_or_default();
        let varied = varied.iter().filter_map(|path| of.get_key_value(*path));
        points::varied::title(&workload, &varied.collect::<Vec<_>>(), &targets)
    };
    all.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn trial(number: i64, state: State, point: &Value, repeat: u32) -> PlacedTrial {
        PlacedTrial {
            number,
            state,
            excluded: None,
            point: Some(point.clone()),
            repeat: Some(repeat),
        }
    }

    #[test]
    fn an_experiment_has_a_box_for_each_repeat_that_it_will_have() {
        let points = [1, 4].map(|n| json!({ "clients": n, "workload": ["tpcb"] }));
        let definition = json!({ "definition": { "points": points, "repeats": 3 } });
        let row = ExperimentRow {
            number: 1,
            uuid: "u".to_owned(),
            name: "n".to_owned(),
            created: String::new(),
            definition: definition.to_string(),
        };
        let trials = [
            trial(7, State::Complete, &points[0], 1),
            trial(8, State::Failed, &points[1], 1),
            trial(9, State::Running, &points[0], 2),
        ];
        let grown = grown(row, &trials);
        assert_eq!((grown.planned, grown.done, grown.failed), (Some(6), 1, 1));
        assert_eq!(grown.running, [9]);
        let what: Vec<&str> = grown.points.iter().map(|point| &*point.what).collect();
        assert_eq!(what, ["1 client", "4 clients"]);
        let states = |at: usize| -> Vec<Option<State>> {
            let repeats = grown.points[at].repeats.iter();
            repeats.map(|repeat| repeat.state).collect()
        };
        assert_eq!(
            states(0),
            [Some(State::Complete), Some(State::Running), None]
        );
        assert_eq!(states(1), [Some(State::Failed), None, None]);
    }

    #[test]
    fn what_an_experiment_decides_on_its_way_is_shown_when_it_has_come() {
        let point = json!({ "rate": 100.0, "workload": ["tpcb"] });
        let points = boxes(Vec::new(), 1, &[trial(3, State::Running, &point, 1)]);
        assert_eq!(points.len(), 1);
        assert_eq!(points[0].what, "tpcb");
        assert_eq!(points[0].repeats[0].trial, Some(3));
    }

    #[test]
    fn a_query_names_a_state_that_there_is() {
        let query = |state: &str| Query {
            state: Some(state.to_owned()),
            q: Some(" wal  off ".to_owned()),
            page: 3,
            ..Query::default()
        };
        let found = filter(&query("partial")).unwrap();
        assert_eq!((found.skip, found.limit), (200, Some(100)));
        assert_eq!(found.words, ["wal", "off"]);
        let failure = filter(&query("dead")).unwrap_err();
        assert!(
            failure.message.contains("no state dead"),
            "{}",
            failure.message
        );
        assert!(filter(&query("")).unwrap().state.is_none());
    }
}
