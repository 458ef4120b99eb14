//! What the standard tables were made with: their scale and how accounts are partitioned.
//! (Facts: `GetTableInfo` in PostgreSQL's `src/bin/pgbench/pgbench.c`.)

use pgdyno_session::{Error, Session};

use super::c_numbers::atoi;
use super::flavour::Flavour;
use super::init::PartitionMethod;
use super::messages::{Kind, Stop};

/// SQLSTATE of a table that is not there.
const UNDEFINED_TABLE: &str = "42P01";

const COUNT_BRANCHES: &str = "select count(*) from pgbench_branches";

/// The first accounts table on the search path: its place there, how it is partitioned and into
/// how many parts.
const PARTITIONS: &str = "select o.n, p.partstrat, pg_catalog.count(i.inhparent) \
from pg_catalog.pg_class as c \
join pg_catalog.pg_namespace as n on (n.oid = c.relnamespace) \
cross join lateral (select pg_catalog.array_position(pg_catalog.current_schemas(true), n.nspname)) as o(n) \
left join pg_catalog.pg_partitioned_table as p on (p.partrelid = c.oid) \
left join pg_catalog.pg_inherits as i on (c.oid = i.inhparent) \
where c.relname = 'pgbench_accounts' and o.n is not null \
group by 1, 2 \
order by 1 asc \
limit 1";

/// What is known of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableInfo {
    pub scale: i32,
    /// How accounts are partitioned, if they are, and into how many parts.
    pub partitions: Option<(PartitionMethod, i32)>,
}

/// Asks the server.
///
/// # Errors
/// The tables are not there or not as pgbench makes them.
pub fn read(session: &mut Session, flavour: &Flavour) -> Result<TableInfo, Stop> {
    let hint = |session: &Session| {
        let database = session.candidate().login.database();
        let program = flavour.name;
        format!(
            "Perhaps you need to do initialization (\"{program} -i\") in database \"{database}\"."
        )
    };
    let count = flavour.renamed(COUNT_BRANCHES);
    let counted = session.query(&count).map_err(|error| {
        let text = libpq_text(&error, &count);
        let stop = Stop::fatal(format!("could not count number of branches: {text}"));
        if error.sqlstate() == Some(UNDEFINED_TABLE) {
            stop.and(Kind::Hint, hint(session))
        } else {
            stop
        }
    })?;
    let first = counted.rows.into_iter().flatten().flatten().next();
    let count = first.unwrap_or_default();
    let scale = atoi(&count);
    if scale < 0 {
        return Err(Stop::fatal(format!(
            "invalid count(*) from {}_branches: \"{count}\"",
            flavour.prefix
        )));
    }
    let partitions = match session.query(&flavour.renamed(PARTITIONS)) {
        // An older version without partitions.
        Err(_) => None,
        Ok(answer) => match answer.rows.into_iter().next() {
            Some(row) => method(&row)?,
            None => {
                let prefix = flavour.prefix;
                let text = format!("no {prefix}_accounts table found in \"search_path\"");
                return Err(Stop::fatal(text).and(Kind::Hint, hint(session)));
            }
        },
    };
    Ok(TableInfo { scale, partitions })
}

fn method(row: &[Option<String>]) -> Result<Option<(PartitionMethod, i32)>, Stop> {
    let column = |index: usize| row.get(index).cloned().flatten();
    let method = match column(1).as_deref() {
        None => return Ok(None),
        Some("r") => PartitionMethod::Range,
        Some("h") => PartitionMethod::Hash,
        Some(other) => {
            let text = format!("unexpected partition method: \"{other}\"");
            return Err(Stop::fatal(text));
        }
    };
    Ok(Some((method, atoi(&column(2).unwrap_or_default()))))
}

/// What libpq makes of an error in this statement.
pub fn libpq_text(error: &Error, statement: &str) -> String {
    match error {
        Error::Server(server) => server.libpq_text(Some(statement)),
        other => other.to_string(),
    }
}
