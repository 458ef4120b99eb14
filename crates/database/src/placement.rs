//! Where the ranges or tablets of tables are: their leaders and replicas by node, counted.
//!
//! Not for: what to ask (`dialect/cluster/`), which nodes there are (`cluster.rs`).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pgdyno_session::{Error, Session, quote_ident, quote_literal};

use super::admin;
use super::cluster::one_line;
use super::dialect::{Dialect, PlacementQueries};
use super::target::Target;
use pgdyno_model::Fact;
use pgdyno_model::document::{Facts, Placement, TablePlacement};

/// Tables beyond are left out.
pub const TABLES_MAX: usize = 64;
/// A table with more parts is not counted: each is a row of an answer.
pub const PARTS_MAX: usize = 10_000;

/// How long one answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);
/// How long all of it may take.
const LIMIT: Duration = Duration::from_secs(10);

/// A part of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub id: String,
    /// The node of its leader; `None`: it has none now.
    pub leader: Option<String>,
    /// The nodes of its replicas.
    pub replicas: Vec<String>,
}

/// Asks for parts, in the form that the server's version takes.
pub struct Reader {
    queries: &'static PlacementQueries,
    /// The first form that is not known to be refused.
    form: usize,
}

impl Reader {
    /// `None` where tables have no parts on several nodes.
    pub fn new(dialect: &'static Dialect) -> Option<Self> {
        let queries = dialect.cluster.placement.as_ref()?;
        Some(Self { queries, form: 0 })
    }

    /// The parts of a table, named as a script names it; `None`: there is no such table.
    ///
    /// # Errors
    /// Why they are not known, as a clause; and whether the session is lost.
    pub fn parts(
        &mut self,
        session: &mut Session,
        table: &str,
    ) -> Result<Option<Vec<Part>>, Trouble> {
        let mut why = None;
        while let Some(form) = self.queries.of_table.get(self.form) {
            match admin::rows(session, &filled(form, table)) {
                Ok(rows) if rows.len() > PARTS_MAX => {
                    let parts = self.queries.parts;
                    let why = format!("{table} has more than {PARTS_MAX} {parts}");
                    return Err(Trouble::of_table(why));
                }
                Ok(rows) => return Ok(Some(rows.into_iter().filter_map(part).collect())),
                // Undefined table: every version has this code.
                Err(e) if e.server().is_some_and(|e| e.sqlstate() == "42P01") => return Ok(None),
                Err(e @ Error::Server(_)) => {
                    let first = why.get_or_insert_with(String::new);
                    *first = one_line(&e);
                    self.form += 1;
                }
                Err(e) => {
                    return Err(Trouble {
                        why: one_line(&e),
                        is_lost: true,
                    });
                }
            }
        }
        let without = self.queries.without;
        Err(Trouble::of_table(match why {
            Some(why) => format!("{why}; {without}"),
            None => without.to_owned(),
        }))
    }

    /// The settings of the table's zone.
    fn zone(&self, session: &mut Session, table: &str) -> Option<String> {
        let query = filled(self.queries.zone?, table);
        let row = admin::rows(session, &query).ok()?.into_iter().next()?;
        let text = row.into_iter().next_back()??;
        Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// The tables that the session sees by their bare names, quoted where that is needed.
    fn tables(&self, session: &mut Session) -> Result<Vec<String>, Error> {
        let query = self
            .queries
            .tables
            .replace("{most}", &TABLES_MAX.to_string());
        let rows = admin::rows(session, &query)?;
        let names = rows.into_iter().filter_map(|row| row.into_iter().next()?);
        Ok(names
            .map(|name| {
                if is_plain(&name) {
                    name
                } else {
                    quote_ident(&name)
                }
            })
            .collect())
    }
}

/// Why parts are not known.
pub struct Trouble {
    pub why: String,
    /// Whether nothing more can be asked on the session.
    pub is_lost: bool,
}

impl Trouble {
    fn of_table(why: String) -> Self {
        Self {
            why,
            is_lost: false,
        }
    }
}

fn filled(query: &str, table: &str) -> String {
    query
        .replace("{table}", table)
        .replace("{literal}", &quote_literal(table))
        .replace("{most}", &(PARTS_MAX + 1).to_string())
}

fn part(row: Vec<Option<String>>) -> Option<Part> {
    let mut row = row.into_iter();
    let id = row.next().flatten()?;
    let leader = row.next().flatten().filter(|leader| !leader.is_empty());
    let replicas = row.next().flatten().unwrap_or_default();
    let replicas = replicas.split(',').filter(|node| !node.is_empty());
    Some(Part {
        id,
        leader,
        replicas: replicas.map(str::to_owned).collect(),
    })
}

/// Whether a name needs no quotes, and may be one of a schema's.
fn is_plain(name: &str) -> bool {
    let mut chars = name.chars();
    let is_first = chars
        .next()
        .is_some_and(|c| c.is_ascii_lowercase() || c == '_');
    is_first && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.".contains(c))
}

/// The parts of a table, counted.
pub fn counted(parts: &[Part]) -> TablePlacement {
    let mut table = TablePlacement {
        parts: parts.len() as u64,
        ..TablePlacement::default()
    };
    for part in parts {
        if let Some(leader) = &part.leader {
            *table.leaders.entry(leader.clone()).or_default() += 1;
        }
        for replica in &part.replicas {
            *table.replicas.entry(replica.clone()).or_default() += 1;
        }
    }
    table
}

/// How long connecting to look at parts may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);

/// Where the parts of these tables are, as [`look`] does it on a session of its own, unless there is but one
/// node.
pub fn before(
    target: &Target,
    dialect: &'static Dialect,
    facts: &Facts,
    tables: Option<&[String]>,
) -> Fact<Placement> {
    if dialect.cluster.placement.is_none() {
        return whole(dialect);
    }
    if facts.nodes.known().is_some_and(|nodes| nodes.len() == 1) {
        return Fact::Unknown("the cluster has but one node".to_owned());
    }
    match target.connect_within(CONNECT_LIMIT) {
        Ok(mut session) => {
            let placement = look(&mut session, dialect, tables);
            session.close();
            placement
        }
        Err(e) => Fact::Unknown(one_line(&e)),
    }
}

fn whole<T>(dialect: &Dialect) -> Fact<T> {
    let title = dialect.title;
    Fact::Unknown(format!("{title} keeps a table whole, on one server"))
}

/// Where the parts of these tables are; without names of all that the session sees. Names that are none of
/// a table are left out. What takes too long ends the session, so it should be one of its own.
pub fn look(
    session: &mut Session,
    dialect: &'static Dialect,
    tables: Option<&[String]>,
) -> Fact<Placement> {
    let Some(mut reader) = Reader::new(dialect) else {
        return whole(dialect);
    };
    session.set_answer_timeout(Some(ANSWER_LIMIT));
    match ask(session, &mut reader, tables, Instant::now() + LIMIT) {
        Ok(placement) => Fact::Known(placement),
        Err(trouble) => Fact::Unknown(trouble.why),
    }
}

fn ask(
    session: &mut Session,
    reader: &mut Reader,
    tables: Option<&[String]>,
    until: Instant,
) -> Result<Placement, Trouble> {
    let names = match tables {
        Some(names) => {
            let plain = names.iter().filter(|name| is_plain(&name.to_lowercase()));
            plain.take(TABLES_MAX).cloned().collect()
        }
        None => reader.tables(session).map_err(|e| Trouble {
            why: one_line(&e),
            is_lost: e.server().is_none(),
        })?,
    };
    let mut found = BTreeMap::new();
    for name in names {
        if Instant::now() > until {
            let limit_s = LIMIT.as_secs();
            return Err(Trouble::of_table(format!(
                "the server took longer than {limit_s} s to tell where its tables are"
            )));
        }
        let Some(parts) = reader.parts(session, &name)? else {
            continue;
        };
        // YugabyteDB has no rows for what is no table.
        if parts.is_empty() {
            continue;
        }
        let zone = reader.zone(session, &name);
        let table = counted(&parts);
        found.insert(name, TablePlacement { zone, ..table });
    }
    Ok(Placement {
        parts: reader.queries.parts.to_owned(),
        tables: found,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{COCKROACHDB, POSTGRESQL, YUGABYTEDB};
    use crate::open;
    use pgdyno_spec::TargetSpec;

    fn session() -> Session {
        let wanted = TargetSpec::at(pgdyno_testkit::postgres().address().url());
        open::existing(&wanted).unwrap().unwrap().connect().unwrap()
    }

    #[test]
    fn parts_are_counted_by_node() {
        let row = |values: [Option<&str>; 3]| part(values.map(|v| v.map(str::to_owned)).into());
        // As captured (19.1): range 21 of three replicas, its lease held by node 2.
        let parts: Vec<Part> = [
            row([Some("21"), Some("2"), Some("1,2,3")]),
            row([Some("22"), Some("2"), Some("1,2,3")]),
            row([Some("23"), None, Some("1")]),
            row([None, Some("2"), Some("1")]),
        ]
        .into_iter()
        .flatten()
        .collect();
        let table = counted(&parts);
        assert_eq!((table.parts, table.leaders["2"]), (3, 2));
        assert_eq!(table.leaders.len(), 1);
        assert_eq!((table.replicas["1"], table.replicas["3"]), (3, 2));
    }

    #[test]
    fn what_cannot_be_asked_is_a_gap_with_the_servers_reason_and_the_way_out() {
        let mut session = session();
        let mut why = |dialect, tables: Option<&[String]>| match look(&mut session, dialect, tables)
        {
            Fact::Unknown(why) => why,
            Fact::Known(known) => panic!("known: {known:?}"),
        };
        let tables = ["pg_class".to_owned()];
        let reported = why(&COCKROACHDB, Some(&tables));
        assert!(reported.contains("syntax error"), "{reported}");
        assert!(reported.contains("ZONECONFIG"), "{reported}");
        let reported = why(&POSTGRESQL, None);
        assert!(reported.contains("keeps a table whole"), "{reported}");
        // A view that an older version has not is like a table that is not there.
        let found = look(&mut session, &YUGABYTEDB, Some(&tables));
        assert!(found.known().is_none_or(|found| found.tables.is_empty()));
    }

    #[test]
    fn a_name_that_is_no_tables_is_not_sent() {
        for name in ["t", "public.t", "_t1"] {
            assert!(is_plain(name), "{name}");
        }
        for name in ["", "1t", "t;", "generate_series(1", "a b", "\"A\""] {
            assert!(!is_plain(name), "{name}");
        }
    }
}
