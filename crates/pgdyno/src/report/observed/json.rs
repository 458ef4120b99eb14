//! The same for programs: `observed` and `worst` of the document (docs/json.md).

use std::collections::BTreeMap;

use pgdyno_drive::record::Recording;
use serde_json::{Map, Value, json};

use pgdyno_model::observed::{Course, Observed, ObservedEvent, ServerStatement, Span};

/// All that instruments saw; `null` when there was none.
pub fn document(observed: &Observed) -> Value {
    if observed.instruments.is_empty() {
        return Value::Null;
    }
    let of = |number: usize| observed.instrument(number);
    let instruments = observed.instruments.iter().zip(&observed.instrument_cpu_us);
    let instruments = instruments
        .map(|(row, cpu_us)| json!({ "name": row.name, "source": row.source, "cpu_us": cpu_us }));
    let mut facts: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for (instrument, name, value) in &observed.facts {
        let of_instrument = facts.entry(of(*instrument)).or_default();
        of_instrument.insert(name.clone(), value.clone());
    }
    json!({
        "instruments": instruments.collect::<Vec<_>>(),
        "cpu_us": observed.cpu_us,
        "server_cpu_us": observed.server_cpu_us(),
        "series": observed.series.iter().map(|c| course(of(c.of.instrument), c)).collect::<Vec<_>>(),
        "gaps": observed.gaps.iter().map(|s| gap(of(s.instrument), s)).collect::<Vec<_>>(),
        "events": observed.events.iter().map(|e| event(of(e.instrument), e)).collect::<Vec<_>>(),
        "statements": observed.statements.iter().map(|(n, s)| statement(of(*n), s)).collect::<Vec<_>>(),
        "facts": facts,
    })
}

fn course(instrument: &str, course: &Course) -> Value {
    let samples = course.samples.iter();
    let total = course.total.map(|total| {
        json!({
            "before_at_us": total.before_at_us,
            "before": total.before,
            "after_at_us": total.after_at_us,
            "after": total.after,
            "resets": total.resets,
        })
    });
    json!({
        "instrument": instrument,
        "name": course.of.series.name,
        "label": course.of.series.label,
        "unit": course.of.series.unit,
        "kind": course.of.kind.name(),
        "samples": samples.map(|(at_us, value)| json!([at_us, value])).collect::<Vec<_>>(),
        "total": total,
    })
}

fn gap(instrument: &str, span: &Span) -> Value {
    json!({
        "instrument": instrument,
        "label": span.label,
        "from_us": span.from_us,
        "to_us": span.to_us,
        "reason": span.gap.reason,
        "remedy": span.gap.remedy,
    })
}

fn event(instrument: &str, event: &ObservedEvent) -> Value {
    json!({
        "instrument": instrument,
        "at_us": event.at_us,
        "length_us": event.length_us,
        "kind": event.kind,
        "text": event.text,
    })
}

fn statement(instrument: &str, statement: &ServerStatement) -> Value {
    let details = statement.details.iter();
    let details: BTreeMap<_, _> = details.map(|(name, value)| (name, value)).collect();
    json!({
        "instrument": instrument,
        "text": statement.text,
        "calls": statement.calls,
        "time_us": statement.time_us,
        "rows": statement.rows,
        "details": details,
    })
}

/// The transactions that took longest.
pub fn worst(recording: &Recording) -> Value {
    let worst = recording.worst.iter().map(|slow| {
        let script = recording.scripts.get(slow.script);
        json!({
            "script": script.map(|script| &script.name),
            "client": slow.client,
            "ended_us": slow.ended_us,
            "latency_us": slow.latency_us,
        })
    });
    worst.collect()
}
