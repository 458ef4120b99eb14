//! What instruments saw, as the page draws it: series on shared clocks, sessions by what they waited
//! for, events, gaps.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use pgdyno_model::observed::{Course, Kind, Observed};

/// The instrument whose series are sessions by wait event.
const WAITS: &str = "pg.waits";
/// The label of a session that waits for nothing, and what the page calls it.
const RUNNING: &str = "Running";
const CPU: &str = "CPU";

/// Fields of a trial's document: instruments, clocks, series, waits.
pub struct Watched {
    /// In the order of their numbers.
    pub instruments: Vec<Value>,
    /// Times of readings in microseconds, each list once.
    pub clocks_us: Vec<Vec<i64>>,
    /// All series but those of wait events.
    pub series: Vec<Value>,
    /// Sessions by what they waited for, where that was sampled.
    pub waits: Option<Value>,
}

/// All of it; `cores` are the server's, where known.
pub fn watched(observed: &Observed, cores: Option<f64>) -> Watched {
    let mut clocks = Clocks::default();
    let is_wait = |course: &&Course| course.of.series.name == WAITS;
    let others = observed.series.iter().filter(|course| !is_wait(course));
    let series = others.map(|course| series(course, &mut clocks)).collect();
    let waits: Vec<&Course> = observed.series.iter().filter(is_wait).collect();
    let waits = waits_of(observed, &waits, cores, &mut clocks);
    Watched {
        instruments: instruments(observed),
        series,
        waits,
        clocks_us: clocks.lists,
    }
}

/// Lists of times, each of them once.
#[derive(Default)]
struct Clocks {
    lists: Vec<Vec<i64>>,
    known: BTreeMap<Vec<i64>, usize>,
}

impl Clocks {
    fn number(&mut self, times: Vec<i64>) -> usize {
        let next = self.lists.len();
        let number = *self.known.entry(times.clone()).or_insert(next);
        if number == next {
            self.lists.push(times);
        }
        number
    }
}

fn series(course: &Course, clocks: &mut Clocks) -> Value {
    let of = &course.of;
    let mut told = json!({
        "instrument": of.instrument,
        "name": of.series.name,
        "label": of.series.label,
        "unit": of.series.unit,
        "kind": of.kind.name(),
        "before": course.total.map(|total| total.before),
        "after": course.total.map(|total| total.after),
        "resets": course.total.map(|total| total.resets),
        "what": crate::observe::catalog::row(&of.series.name).map(|row| row.what),
    });
    if of.kind != Kind::BeforeAfter {
        let (times, values): (Vec<i64>, Vec<f64>) = course.samples.iter().copied().unzip();
        told["clock"] = json!(clocks.number(times));
        told["value"] = json!(values);
    }
    told
}

fn waits_of(
    observed: &Observed,
    courses: &[&Course],
    cores: Option<f64>,
    clocks: &mut Clocks,
) -> Option<Value> {
    // The gauge beside it is told with each reading, whether anybody waits or not.
    let readings = observed.all("pg.sessions.others_active");
    let readings = readings.flat_map(|course| &course.samples);
    let of_waits = courses.iter().flat_map(|course| &course.samples);
    let times: BTreeSet<i64> = readings.chain(of_waits).map(|(at_us, _)| *at_us).collect();
    if times.is_empty() {
        return None;
    }
    let times: Vec<i64> = times.into_iter().collect();
    let events = courses.iter().map(|course| {
        let label = &course.of.series.label;
        let (class, event) = match label.as_str() {
            RUNNING => (CPU, CPU),
            label => label.split_once(':').unwrap_or((label, label)),
        };
        let mut sessions = vec![0.0; times.len()];
        for (at_us, value) in &course.samples {
            if let Ok(at) = times.binary_search(at_us) {
                sessions[at] = *value;
            }
        }
        json!({ "class": class, "event": event, "sessions": sessions })
    });
    let events: Vec<Value> = events.collect();
    let per_s = observed
        .fact("waits")
        .and_then(|told| told["samples_per_s"].as_f64());
    Some(json!({
        "clock": clocks.number(times),
        "cores": cores,
        "how": per_s.map(|per_s| format!("sampled {per_s:.0} × a second")),
        "events": events,
    }))
}

fn instruments(observed: &Observed) -> Vec<Value> {
    let rows = observed.instruments.iter();
    rows.map(|row| {
        let gaps = observed.gaps.iter();
        let gaps = gaps
            .filter(|span| span.instrument == row.number)
            .map(|span| {
                json!({
                    "label": span.label,
                    "from_us": span.from_us,
                    "to_us": span.to_us,
                    "reason": span.gap.reason,
                    "remedy": span.gap.remedy,
                })
            });
        json!({
            "name": if row.name == WAITS { "waits" } else { &row.name },
            "source": row.source,
            "of": side(observed, &row.name),
            "gaps": gaps.collect::<Vec<_>>(),
        })
    })
    .collect()
}

/// The column that an instrument stands in, by the group that its name begins with.
fn side(observed: &Observed, name: &str) -> &'static str {
    let group = name.split('.').next().unwrap_or_default();
    match group {
        "host" => {
            let role = observed.fact("host.role");
            let role = role.and_then(|told| told["role"].as_str().or_else(|| told.as_str()));
            match role {
                Some("client") => "client",
                _ => "host",
            }
        }
        "client" => "client",
        "scrape" => "host",
        _ => "server",
    }
}

/// Events of the server, in their order.
pub fn events(observed: &Observed) -> Vec<Value> {
    let events = observed.events.iter();
    events
        .map(|event| {
            json!({
                "at_us": event.at_us,
                "length_us": event.length_us,
                "kind": event.kind,
                "text": event.text,
                "source": observed.instrument(event.instrument),
            })
        })
        .collect()
}
