//! Times without service, of all, of endpoints and of clients: into the store and out of it.

use std::collections::BTreeMap;

use serde_json::json;

use super::packed::whole;
use crate::db::{self, Db, Error, Row, Value};
use pgdyno_measurement::{ClientStall, Failure, GeneratorStop, Recording, Stall};

const ALL: &str = "all";
const ENDPOINT: &str = "endpoint";
const CLIENT: &str = "client";
/// pgdyno itself did not run.
const GENERATOR: &str = "generator";

/// Writes a row each.
///
/// # Errors
/// The store cannot be written.
pub fn write(connection: &Db, number: i64, recording: &Recording) -> db::Result<()> {
    let of_all = recording.stalls.iter().map(|stall| (ALL, 0, stall));
    let endpoints = (0..).zip(&recording.endpoints);
    let of_endpoints = endpoints
        .flat_map(|(index, one)| one.stalls.iter().map(move |stall| (ENDPOINT, index, stall)));
    let of_generator: Vec<Stall> = { recording.generator_stops.iter() }
        .map(|stop| Stall {
            start_us: stop.start_us,
            length_us: stop.length_us,
            is_over: true,
        })
        .collect();
    let of_generator = of_generator.iter().map(|stop| (GENERATOR, 0, stop));
    for (whose, index, stall) in of_all.chain(of_endpoints).chain(of_generator) {
        let of_client = ClientStall {
            client: index,
            start_us: stall.start_us,
            length_us: stall.length_us,
            is_over: stall.is_over,
            ..ClientStall::default()
        };
        write_one(connection, (number, whose), &of_client)?;
    }
    for stall in &recording.client_stalls {
        write_one(connection, (number, CLIENT), stall)?;
    }
    Ok(())
}

fn write_one(connection: &Db, (trial, whose): (i64, &str), stall: &ClientStall) -> db::Result<()> {
    let failed = stall.failed.iter();
    let failed: BTreeMap<&str, u64> = failed.map(|(why, n)| (why.code(), *n)).collect();
    let row = vec![
        Value::Integer(trial),
        Value::Text(whose.to_owned()),
        Value::Integer(stall.client as i64),
        whole(stall.start_us),
        whole(stall.length_us),
        Value::Integer(i64::from(stall.is_over)),
        Value::Text(json!(failed).to_string()),
        whole(stall.unknown),
    ];
    connection.execute("INSERT INTO stall VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)?;
    Ok(())
}

/// Reads those of all back, in their order.
///
/// # Errors
/// The store cannot be read.
pub fn read(connection: &Db, number: i64) -> db::Result<Vec<Stall>> {
    let rows = rows(connection, (number, ALL))?;
    Ok(rows.iter().map(stall).collect())
}

/// Reads back when pgdyno itself did not run.
///
/// # Errors
/// The store cannot be read.
pub fn read_of_generator(connection: &Db, number: i64) -> db::Result<Vec<GeneratorStop>> {
    let rows = rows(connection, (number, GENERATOR))?;
    let stops = rows.iter().map(|row| GeneratorStop {
        start_us: row.start_us,
        length_us: row.length_us,
        suspended_us: 0,
    });
    Ok(stops.collect())
}

/// Gives each endpoint its own.
///
/// # Errors
/// The store cannot be read.
pub fn read_of_endpoints(
    connection: &Db,
    number: i64,
    endpoints: &mut [pgdyno_measurement::EndpointRecord],
) -> db::Result<()> {
    for row in rows(connection, (number, ENDPOINT))? {
        if let Some(endpoint) = endpoints.get_mut(row.client) {
            endpoint.stalls.push(stall(&row));
        }
    }
    Ok(())
}

/// Those of clients, the longest first.
///
/// # Errors
/// The store cannot be read.
pub fn read_of_clients(connection: &Db, number: i64) -> db::Result<Vec<ClientStall>> {
    let mut all = rows(connection, (number, CLIENT))?;
    all.sort_by_key(|stall| std::cmp::Reverse(stall.length_us));
    Ok(all)
}

fn stall(row: &ClientStall) -> Stall {
    Stall {
        start_us: row.start_us,
        length_us: row.length_us,
        is_over: row.is_over,
    }
}

fn rows(connection: &Db, (trial, whose): (i64, &str)) -> db::Result<Vec<ClientStall>> {
    let select = connection.prepare(
        "SELECT number, start_us, length_us, is_over, failed_by_class, unknown FROM stall \
         WHERE trial = ? AND whose = ? ORDER BY start_us, number",
    );
    let which = vec![Value::Integer(trial), Value::Text(whose.to_owned())];
    select.query_map(which, |row: &Row<'_>| {
        let failed: String = row.get(4)?;
        let failed: BTreeMap<String, u64> = serde_json::from_str(&failed)
            .map_err(|e| Error::Unreadable(format!("failures of a stall: {e}")))?;
        let failed = failed.into_iter();
        Ok(ClientStall {
            client: row.get::<u32>(0)? as usize,
            start_us: row.get(1)?,
            length_us: row.get(2)?,
            is_over: row.get(3)?,
            failed: failed
                .map(|(code, n)| (Failure::from_code(&code), n))
                .collect(),
            unknown: row.get(5)?,
        })
    })
}
