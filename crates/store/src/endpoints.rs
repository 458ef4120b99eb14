//! What happened at each endpoint, and to connections: into the store and out of it.

use std::collections::BTreeMap;

use pgdyno_measurement::{
    Counts, EndpointRecord, EndpointSeconds, Event, EventKind, Failure, Recording, Wrong,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::packed::{self, whole};
use crate::db::{self, Db, Error, Row, Value};

/// Writes a row an endpoint.
pub fn write(connection: &Db, number: i64, recording: &Recording) -> db::Result<()> {
    for (index, endpoint) in recording.endpoints.iter().enumerate() {
        let counts = &endpoint.counts;
        let mut row = vec![
            Value::Integer(number),
            Value::Integer(index as i64),
            Value::Text(endpoint.name.clone()),
        ];
        let numbers = [
            endpoint.clients,
            endpoint.connections,
            endpoint.lost,
            endpoint.arrived,
            endpoint.returned,
            counts.committed,
            counts.failed_total(),
            counts.skipped,
            counts.unknown,
            counts.late,
            counts.retries,
            counts.retried,
        ];
        row.extend(numbers.map(whole));
        let failed = counts.failed.iter();
        let failed: BTreeMap<&str, u64> = failed.map(|(why, n)| (why.code(), *n)).collect();
        row.push(Value::Text(json!(failed).to_string()));
        row.extend(packed::columns(Some(&endpoint.service.pack())));
        let response = endpoint.response.as_ref().map(|response| response.pack());
        row.extend(packed::columns(response.as_ref()));
        row.push(seconds(&endpoint.seconds));
        let places = vec!["?"; row.len()].join(", ");
        let sql = format!("INSERT INTO endpoint VALUES ({places})");
        connection.execute(&sql, row)?;
    }
    Ok(())
}

/// Reads them back, in order.
pub fn read(connection: &Db, number: i64) -> db::Result<Vec<EndpointRecord>> {
    let select = connection.prepare(
        "SELECT name, clients, connections, lost, arrived, returned, committed, skipped, unknown, late, \
         retries, retried, failed_by_class, service_sum_us, service_sum_squares_us2, \
         service_max_us, service_histogram, response_sum_us, response_sum_squares_us2, \
         response_max_us, response_histogram, seconds FROM endpoint WHERE trial = ? ORDER BY endpoint",
    );
    select.query_map([number], endpoint)
}

fn endpoint(row: &Row<'_>) -> db::Result<EndpointRecord> {
    let failed: String = row.get(12)?;
    let failed: BTreeMap<String, u64> = serde_json::from_str(&failed)
        .map_err(|e| Error::Unreadable(format!("failures of an endpoint: {e}")))?;
    let failed = failed.into_iter();
    let counts = Counts {
        committed: row.get(6)?,
        skipped: row.get(7)?,
        unknown: row.get(8)?,
        late: row.get(9)?,
        retries: row.get(10)?,
        retried: row.get(11)?,
        failed: failed
            .map(|(code, n)| (Failure::from_code(&code), n))
            .collect(),
    };
    Ok(EndpointRecord {
        name: row.get(0)?,
        clients: row.get(1)?,
        connections: row.get(2)?,
        lost: row.get(3)?,
        arrived: row.get(4)?,
        returned: row.get(5)?,
        counts,
        service: packed::read_latencies(row, 13)?,
        response: packed::read(row, 17)?.map(|packed| packed.unpack()),
        // A table of its own.
        stalls: Vec::new(),
        seconds: read_seconds(row.get(21)?)?,
    })
}

#[derive(Serialize, Deserialize)]
struct BySecond {
    from_us: u64,
    committed: Vec<u64>,
    failed: Vec<(u64, String, u64)>,
    unknown: Vec<(u64, u64)>,
    errors: Vec<(u64, String, u64)>,
}

/// NULL where nothing is kept of them.
fn seconds(seconds: &EndpointSeconds) -> Value {
    if seconds.is_empty() {
        return Value::Null;
    }
    let by_class = |one: &Wrong| {
        let class = one.failure?.code().to_owned();
        Some((one.second, class, one.count))
    };
    let unknown = seconds.wrong.iter().filter(|one| one.failure.is_none());
    let form = BySecond {
        from_us: seconds.from_us,
        committed: seconds.committed.clone(),
        failed: seconds.wrong.iter().filter_map(by_class).collect(),
        errors: seconds.errors.iter().filter_map(by_class).collect(),
        unknown: unknown.map(|one| (one.second, one.count)).collect(),
    };
    Value::Text(json!(form).to_string())
}

fn read_seconds(text: Option<String>) -> db::Result<EndpointSeconds> {
    let Some(text) = text else {
        return Ok(EndpointSeconds::default());
    };
    let form: BySecond = serde_json::from_str(&text)
        .map_err(|e| Error::Unreadable(format!("the seconds of an endpoint: {e}")))?;
    let by_class = |(second, class, count): (u64, String, u64)| Wrong {
        second,
        failure: Some(Failure::from_code(&class)),
        count,
    };
    let failed = form.failed.into_iter().map(by_class);
    let unknown = form.unknown.into_iter().map(|(second, count)| Wrong {
        second,
        failure: None,
        count,
    });
    Ok(EndpointSeconds {
        from_us: form.from_us,
        committed: form.committed,
        wrong: failed.chain(unknown).collect(),
        errors: form.errors.into_iter().map(by_class).collect(),
    })
}

/// What happened to connections, in order.
pub fn events(connection: &Db, number: i64) -> db::Result<Vec<Event>> {
    let sql = "SELECT at_us, kind, text FROM event WHERE trial = ? AND source IS NULL \
               ORDER BY at_us, event";
    let mut events = Vec::new();
    connection.each(sql, [number], |row| {
        let kind: String = row.get(1)?;
        // Other kinds are not about connections.
        if let Some(kind) = EventKind::ALL
            .into_iter()
            .find(|known| known.word() == kind)
        {
            events.push(Event {
                at_us: row.get(0)?,
                kind,
                text: row.get(2)?,
            });
        }
        Ok(())
    })?;
    Ok(events)
}
