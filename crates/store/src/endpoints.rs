//! What happened at each endpoint, and to connections: into the store and out of it.

use std::collections::BTreeMap;

use pgdyno_drive::record::{Counts, EndpointRecord, Event, EventKind, Failure, Recording};
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
         response_max_us, response_histogram FROM endpoint WHERE trial = ? ORDER BY endpoint",
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
