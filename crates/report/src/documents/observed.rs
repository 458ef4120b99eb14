//! What instruments saw.

use std::collections::BTreeMap;

use pgdyno_model::document::{
    Observed, ObservedBy, ObservedEvent, ObservedGap, ObservedSeries, ObservedStatement,
};
use pgdyno_model::observed::{self, Course};

/// All of it; `None` when there was no instrument.
pub fn document(observed: &observed::Observed) -> Option<Observed> {
    if observed.instruments.is_empty() {
        return None;
    }
    let of = |number: usize| observed.instrument(number).to_owned();
    let instruments = observed.instruments.iter();
    let instruments = instruments.zip(&observed.instrument_cpu_us);
    let gaps = observed.gaps.iter().map(|span| ObservedGap {
        instrument: of(span.instrument),
        label: span.label.clone(),
        from_us: span.from_us,
        to_us: span.to_us,
        reason: span.gap.reason.clone(),
        remedy: span.gap.remedy.clone(),
    });
    let events = observed.events.iter().map(|event| ObservedEvent {
        instrument: of(event.instrument),
        at_us: event.at_us,
        length_us: event.length_us,
        kind: event.kind.clone(),
        text: event.text.clone(),
    });
    let statements = observed.statements.iter();
    let statements = statements.map(|(number, statement)| ObservedStatement {
        instrument: of(*number),
        text: statement.text.clone(),
        calls: statement.calls,
        time_us: statement.time_us,
        rows: statement.rows,
        details: statement.details.iter().cloned().collect(),
    });
    let mut facts: BTreeMap<String, BTreeMap<String, serde_json::Value>> = BTreeMap::new();
    for (number, name, value) in &observed.facts {
        let of_instrument = facts.entry(of(*number)).or_default();
        of_instrument.insert(name.clone(), value.clone());
    }
    let series = observed.series.iter();
    Some(Observed {
        instruments: instruments
            .map(|(row, cpu_us)| ObservedBy {
                name: row.name.clone(),
                source: row.source.clone(),
                cpu_us: *cpu_us,
            })
            .collect(),
        cpu_us: observed.cpu_us,
        server_cpu_us: observed.server_cpu_us(),
        series: series
            .map(|course| of_course(of(course.of.instrument), course))
            .collect(),
        gaps: gaps.collect(),
        events: events.collect(),
        statements: statements.collect(),
        facts,
    })
}

fn of_course(instrument: String, course: &Course) -> ObservedSeries {
    let series = &course.of.series;
    ObservedSeries {
        instrument,
        name: series.name.to_string(),
        label: series.label.clone(),
        unit: series.unit.to_string(),
        kind: course.of.kind,
        samples: course.samples.clone(),
        total: course.total,
    }
}
