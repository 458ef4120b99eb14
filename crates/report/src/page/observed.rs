//! What instruments saw, as the page draws it: series on shared clocks, sessions by what they waited
//! for, events, gaps.

use pgdyno_model::document::page::{
    Event, Gap, Instrument, InstrumentOf, Series, WaitEvent, Waits,
};
use std::collections::{BTreeMap, BTreeSet};

use pgdyno_model::document::{Observed, ObservedSeries};
use pgdyno_model::observed::{Kind, Rows};

/// The instrument whose series are sessions by wait event.
const WAITS: &str = "pg.waits";
/// The label of a session that waits for nothing, and what the page calls it.
const RUNNING: &str = "Running";
const CPU: &str = "CPU";

/// Fields of a trial's document: instruments, clocks, series, waits.
pub struct Watched {
    /// In the order of their numbers.
    pub instruments: Vec<Instrument>,
    /// Times of readings in microseconds, each list once.
    pub clocks_us: Vec<Vec<i64>>,
    /// All series but those of wait events.
    pub series: Vec<Series>,
    /// Sessions by what they waited for, where that was sampled.
    pub waits: Option<Waits>,
}

/// All of it; `cores` are the server's, where known. `rows` say what series are.
pub fn watched(observed: &Observed, cores: Option<f64>, rows: Rows) -> Watched {
    let mut clocks = Clocks::default();
    let is_wait = |series: &&ObservedSeries| series.name == WAITS;
    let others = observed.series.iter().filter(|series| !is_wait(series));
    let series = others
        .map(|one| series(observed, one, &mut clocks, rows))
        .collect();
    let waits: Vec<&ObservedSeries> = observed.series.iter().filter(is_wait).collect();
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

fn series(observed: &Observed, of: &ObservedSeries, clocks: &mut Clocks, rows: Rows) -> Series {
    let mut instruments = observed.instruments.iter();
    let instrument = instruments.position(|known| known.name == of.instrument);
    let (clock, value) = match of.kind {
        Kind::BeforeAfter => (None, None),
        _ => {
            let (times, values) = of.samples.iter().copied().unzip();
            (Some(clocks.number(times)), Some(values))
        }
    };
    Series {
        instrument: instrument.unwrap_or_default(),
        name: of.name.clone(),
        label: of.label.clone(),
        unit: of.unit.clone(),
        kind: of.kind,
        what: rows(&of.name).map(|row| row.what.to_owned()),
        clock,
        value,
        before: of.total.map(|total| total.before),
        after: of.total.map(|total| total.after),
        resets: of.total.map(|total| total.resets),
    }
}

fn waits_of(
    observed: &Observed,
    all: &[&ObservedSeries],
    cores: Option<f64>,
    clocks: &mut Clocks,
) -> Option<Waits> {
    // The gauge beside it is reported with each reading, also when no session waits.
    let readings = observed.all("pg.sessions.others_active");
    let readings = readings.flat_map(|series| &series.samples);
    let of_waits = all.iter().flat_map(|series| &series.samples);
    let times: BTreeSet<i64> = readings.chain(of_waits).map(|(at_us, _)| *at_us).collect();
    if times.is_empty() {
        return None;
    }
    let times: Vec<i64> = times.into_iter().collect();
    let events = all.iter().map(|series| {
        let (class, event) = match series.label.as_str() {
            RUNNING => (CPU, CPU),
            label => label.split_once(':').unwrap_or((label, label)),
        };
        let mut sessions = vec![0.0; times.len()];
        for (at_us, value) in &series.samples {
            if let Ok(at) = times.binary_search(at_us) {
                sessions[at] = *value;
            }
        }
        WaitEvent {
            class: class.to_owned(),
            event: event.to_owned(),
            sessions,
        }
    });
    let events: Vec<WaitEvent> = events.collect();
    let per_s = observed
        .fact("waits")
        .and_then(|reported| reported["samples_per_s"].as_f64());
    Some(Waits {
        clock: clocks.number(times),
        cores,
        how: per_s.map(|per_s| format!("sampled {per_s:.0} × a second")),
        events,
    })
}

fn instruments(observed: &Observed) -> Vec<Instrument> {
    let rows = observed.instruments.iter();
    rows.map(|row| {
        let gaps = observed.gaps.iter();
        let gaps = gaps.filter(|gap| gap.instrument == row.name);
        let name = if row.name == WAITS {
            "waits"
        } else {
            &row.name
        };
        Instrument {
            name: name.to_owned(),
            source: row.source.clone(),
            of: side(observed, &row.name),
            gaps: gaps
                .map(|gap| Gap {
                    label: gap.label.clone(),
                    from_us: gap.from_us,
                    to_us: gap.to_us,
                    reason: gap.reason.clone(),
                    remedy: gap.remedy.clone(),
                    times: None,
                })
                .collect(),
        }
    })
    .collect()
}

/// An instrument's column, by the group that its name begins with.
fn side(observed: &Observed, name: &str) -> InstrumentOf {
    let group = name.split('.').next().unwrap_or_default();
    match group {
        "host" => match role(observed) {
            Some("client") => InstrumentOf::Client,
            _ => InstrumentOf::Host,
        },
        "client" => InstrumentOf::Client,
        "scrape" => InstrumentOf::Host,
        _ => InstrumentOf::Server,
    }
}

/// What pgdyno's host was to the trial.
pub fn role(observed: &Observed) -> Option<&str> {
    let role = observed.fact("host.role")?;
    role["role"].as_str().or_else(|| role.as_str())
}

/// Events of the server, in their order.
pub fn events(observed: &Observed) -> Vec<Event> {
    let events = observed.events.iter();
    events
        .map(|event| Event {
            at_us: event.at_us,
            length_us: event.length_us,
            kind: event.kind.clone(),
            text: event.text.clone(),
            source: Some(event.instrument.clone()),
            sync_after_us: None,
            sync_us: None,
        })
        .collect()
}
