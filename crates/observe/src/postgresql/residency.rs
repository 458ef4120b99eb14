//! What lies in shared buffers, before and after: of which table or index how much, and how much of
//! it is dirty.

use std::time::Duration;

use super::place::{self, Connection, Place};
use crate::{Instrument, Readings};
use pgdyno_model::observed::{Gap, Kind, Row};

/// All buffers are looked at, which takes the server a second for some tens of gigabytes.
const PATIENCE: Duration = Duration::from_secs(4);

const BUFFERED: Row = Row {
    name: "pg.buffered",
    unit: "bytes",
    kind: Kind::BeforeAfter,
    source: "pg_buffercache",
    what: "of the table or index in shared buffers; the 20 with the most, and `all`",
};
const DIRTY: Row = Row {
    name: "pg.buffered.dirty",
    unit: "bytes",
    kind: Kind::BeforeAfter,
    source: "pg_buffercache",
    what: "of these changed and not written yet",
};

pub const ROWS: &[Row] = &[BUFFERED, DIRTY];

/// Relations of this database by name; `{all}` is what is left of the total.
const RESIDENCY: &str = "WITH b AS (SELECT relfilenode, reltablespace, reldatabase, count(*) AS buffers, \
        count(*) FILTER (WHERE isdirty) AS dirty \
        FROM {schema}.pg_buffercache WHERE relfilenode IS NOT NULL GROUP BY 1, 2, 3), \
    named AS (SELECT CASE n.nspname WHEN 'public' THEN '' ELSE n.nspname || '.' END || c.relname \
            AS name, b.buffers, b.dirty FROM b \
        JOIN pg_class c ON pg_relation_filenode(c.oid) = b.relfilenode \
        JOIN pg_namespace n ON n.oid = c.relnamespace \
        WHERE b.reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database()) \
        AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
        ORDER BY b.buffers DESC LIMIT 20) \
    SELECT name, buffers * s.size, dirty * s.size \
    FROM (SELECT * FROM named UNION ALL SELECT 'all', sum(buffers), sum(dirty) FROM b) AS reported, \
        (SELECT current_setting('block_size')::bigint AS size) AS s";

pub struct Residency {
    place: Place,
    /// With a session of its own: looking at all buffers may take long.
    alone: Place,
}

impl Residency {
    pub fn new(place: Place) -> Self {
        let alone = place.alone();
        Self { place, alone }
    }
}

impl Instrument for Residency {
    fn name(&self) -> &str {
        "pg.residency"
    }

    fn source(&self) -> String {
        self.place.source("pg_buffercache")
    }

    /// It is read before and after only.
    fn interval(&self) -> Duration {
        Duration::from_secs(3600)
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let schema = self.place.ask(schema)?;
        self.alone
            .ask(|connection| read(connection, &schema, &self.place, out))
    }

    fn read(&mut self, _out: &mut Readings) -> Result<(), Gap> {
        Ok(())
    }

    fn end(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.begin(out)
    }
}

fn schema(connection: &mut Connection) -> Result<String, Gap> {
    let grant = connection.grant_monitor();
    let reported = |e| place::gap(&e, &grant);
    let sql = "SELECT quote_ident(n.nspname) FROM pg_extension e \
               JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_buffercache'";
    let Some(schema) = connection.value(sql).map_err(reported)? else {
        let sql =
            "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_buffercache')";
        let is_installed = connection.value(sql).map_err(reported)?.as_deref() == Some("t");
        return Err(if is_installed {
            Gap::because(format!(
                "the extension pg_buffercache is not in database {}",
                connection.database
            ))
            .remedy("CREATE EXTENSION pg_buffercache")
        } else {
            Gap::because(
                "pg_buffercache is not installed with the server (package postgresql-contrib)",
            )
        });
    };
    Ok(schema)
}

fn read(
    connection: &mut Connection,
    schema: &str,
    place: &Place,
    out: &mut Readings,
) -> Result<(), Gap> {
    let rows = connection.rows(&RESIDENCY.replace("{schema}", schema));
    let rows = rows.map_err(|e| place::gap(&e, &connection.grant_monitor()))?;
    for row in rows {
        let [Some(name), Some(buffered), dirty] = row.as_slice() else {
            continue;
        };
        if let Ok(bytes) = buffered.parse() {
            out.before_after(BUFFERED.of(place.label(name)), bytes);
        }
        if let Some(bytes) = dirty.as_ref().and_then(|text| text.parse().ok()) {
            out.before_after(DIRTY.of(place.label(name)), bytes);
        }
    }
    Ok(())
}
