//! The rows of a trial, by table. Each has its values in the order of the table's columns.

use parquet::data_type::ByteArray;
use pgdyno_drive::record::{Latencies, Recording, ScriptInterval, Second};
use pgdyno_model::notebook::{Latency, TrialRow};
use pgdyno_model::observed::Observed;
use pgdyno_model::{Failure, stamp};
use serde_json::Value as Json;
use std::time::UNIX_EPOCH;

use super::table::Value;

type Row = Vec<Value>;

/// Of the file of trials.
pub(super) fn trial(trial: &TrialRow) -> Result<Row, Failure> {
    let json = |e| Failure::new(format!("trial {} has no JSON: {e}", trial.number));
    let spec = serde_json::to_value(&trial.spec).map_err(json)?;
    let mut row = vec![
        Value::Int(trial.number),
        text(&trial.uuid),
        text(trial.state.name()),
        maybe_text(trial.reason.as_deref()),
        maybe_text(trial.excluded.as_deref()),
        maybe_text(trial.note.as_deref()),
        text(&Json::from(trial.tags.clone()).to_string()),
        maybe_text(trial.experiment_name.as_deref()),
        count(trial.position),
        maybe_text(trial.point.as_ref().map(Json::to_string).as_deref()),
        count(trial.repeat),
        text(&trial.workload),
        maybe_text(spec["mix"].as_str()),
        maybe_text(trial.pack_sha256.as_deref()),
        text(&trial.load_sha256),
        text(&trial.target),
        maybe_text(trial.server_version.as_deref()),
        maybe_text(trial.isolation_in_effect.as_deref()),
        count(spec["clients"].as_u64()),
        count(spec["threads"].as_u64()),
        maybe_text(spec["query_mode"].as_str()),
        real(spec["rate_per_s"].as_f64()),
        real(spec["duration_s"].as_f64()),
        real(spec["warmup_s"].as_f64()),
        text(&spec.to_string()),
        text(&trial.pgdyno),
        text(&trial.command),
        time(Some(&trial.started)),
        time(trial.ended.as_deref()),
        count(trial.elapsed_us),
        count(trial.committed),
        count(trial.failed),
        count(trial.skipped),
        count(trial.unknown),
        count(trial.late),
        count(trial.retries),
        count(trial.retried),
        real(trial.goodput_per_s),
    ];
    row.extend(kept(&trial.service));
    row.extend(kept(&trial.response));
    row.extend([
        count(trial.response_p99_low_us),
        count(trial.response_p99_high_us),
        count(trial.client_user_us),
        count(trial.client_system_us),
    ]);
    Ok(row)
}

/// Of the file of seconds: all scripts of one together.
pub(super) fn second(trial: i64, second: &Second) -> Row {
    let mut all = ScriptInterval::default();
    for script in &second.scripts {
        all.merge(&script.unpack());
    }
    let counts = &all.counts;
    let per_s = counts.committed as f64 * 1e6 / second.length_us as f64;
    let mut row = vec![
        Value::Int(trial),
        whole(second.start_us),
        whole(second.length_us),
        Value::Bool(second.warmup),
        Value::Bool(second.drain),
        whole(counts.committed),
        whole(counts.failed.values().sum()),
        whole(counts.skipped),
        whole(counts.unknown),
        whole(counts.late),
        whole(counts.retries),
        whole(counts.retried),
        real(Some(per_s).filter(|per_s| per_s.is_finite())),
    ];
    row.extend(latencies(Some(&all.service)));
    row.extend(latencies(all.response.as_ref()));
    row
}

/// Of the file of histograms: those of the measured time by script, and of connecting.
pub(super) fn histograms(
    trial: i64,
    recording: &Recording,
    mut push: impl FnMut(Row) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut add = |script: Option<&str>, what: &str, of: Option<&Latencies>| {
        let (script, what) = (maybe_text(script), text(what));
        let buckets = of.into_iter().flat_map(|of| of.histogram().buckets());
        for bucket in buckets {
            push(vec![
                Value::Int(trial),
                script.clone(),
                what.clone(),
                whole(bucket.lowest_us),
                whole(bucket.highest_us),
                whole(bucket.count),
            ])?;
        }
        Ok(())
    };
    let measured = recording.scripts.iter().zip(&recording.measured.scripts);
    for (script, of) in measured {
        let name = Some(script.name.as_str());
        add(name, "service", Some(&of.service))?;
        add(name, "response", of.response.as_ref())?;
        add(name, "schedule_lag", of.lag.as_ref())?;
        add(name, "attempt", of.attempt.as_ref())?;
    }
    add(None, "connect", Some(&recording.connections.latencies))
}

/// Of the file of series: all that instruments read, series by series.
pub(super) fn series(
    trial: i64,
    observed: &Observed,
    mut push: impl FnMut(Row) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for course in &observed.series {
        let instrument = observed.instruments.get(course.of.instrument);
        let instrument = text(instrument.map_or("", |row| row.name.as_str()));
        let of = &course.of.series;
        let [name, label, unit] = [&*of.name, &*of.label, &*of.unit].map(text);
        let kind = text(course.of.kind.name());
        for (at_us, value) in &course.samples {
            push(vec![
                Value::Int(trial),
                instrument.clone(),
                name.clone(),
                label.clone(),
                unit.clone(),
                kind.clone(),
                Value::Int(*at_us),
                Value::Real(*value),
            ])?;
        }
    }
    Ok(())
}

/// As the notebook keeps them.
fn kept(latency: &Latency) -> [Value; 7] {
    [
        real(latency.mean_us),
        count(latency.p50_us),
        count(latency.p90_us),
        count(latency.p95_us),
        count(latency.p99_us),
        count(latency.p99_9_us),
        count(latency.max_us),
    ]
}

fn latencies(latencies: Option<&Latencies>) -> [Value; 7] {
    let percentile = |percent| latencies.and_then(|latencies| latencies.percentile_us(percent));
    let any = latencies.filter(|latencies| latencies.count() > 0);
    kept(&Latency {
        mean_us: latencies.and_then(Latencies::mean_us),
        p50_us: percentile(50.0),
        p90_us: percentile(90.0),
        p95_us: percentile(95.0),
        p99_us: percentile(99.0),
        p99_9_us: percentile(99.9),
        max_us: any.map(Latencies::max_us),
    })
}

/// Counts and times of the notebook, which has 63 bits for them.
fn whole(value: u64) -> Value {
    Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

fn count(value: Option<impl Into<u64>>) -> Value {
    value.map_or(Value::Missing, |value| whole(value.into()))
}

fn real(value: Option<f64>) -> Value {
    value.map_or(Value::Missing, Value::Real)
}

fn text(text: &str) -> Value {
    Value::Text(ByteArray::from(text))
}

fn maybe_text(value: Option<&str>) -> Value {
    value.map_or(Value::Missing, text)
}

/// A stamp of the notebook.
fn time(value: Option<&str>) -> Value {
    let read = value.and_then(stamp::read);
    let since = read.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let us = since.and_then(|since| i64::try_from(since.as_micros()).ok());
    us.map_or(Value::Missing, Value::Int)
}
