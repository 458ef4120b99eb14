//! Which of the tables that a workload updates have fewer rows than it has clients. Found by
//! looking at the scripts and the tables, for any workload.

use std::collections::BTreeSet;

use pgdyno_session::Session;

use pgdyno_database::admin;
use serde::Serialize;

use super::mix::WeightedScript;
use super::sql_words;

/// A table that the workload updates and that has fewer rows than there are clients.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FewRows {
    /// As the script names it.
    pub table: String,
    pub rows: u64,
}

/// Counts at most `clients` rows of each table that the scripts update. A table that cannot be read
/// is left out: the run itself will say what is wrong with it.
pub fn few_rows(session: &mut Session, scripts: &[WeightedScript], clients: usize) -> Vec<FewRows> {
    let tables: BTreeSet<String> = scripts
        .iter()
        .flat_map(|s| sql_words::updated_tables(&s.text))
        .collect();
    let mut few = Vec::new();
    for table in tables {
        let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT {clients}) AS seen");
        let count = admin::value(session, &sql).ok().flatten();
        let rows = count.and_then(|n| n.parse::<u64>().ok());
        // An empty table has no row to fight for.
        if let Some(rows) = rows
            && rows > 0
            && rows < clients as u64
        {
            few.push(FewRows { table, rows });
        }
    }
    few
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_database::open::{self};
    use pgdyno_spec::TargetSpec;

    fn script(text: &str) -> WeightedScript {
        WeightedScript::plain("a", text.to_owned(), 1)
    }

    #[test]
    fn tables_with_fewer_rows_than_clients_are_found_for_any_script() {
        let wanted = TargetSpec::at(pgdyno_testkit::postgres().address().url());
        let mut session = open::existing(&wanted).unwrap().unwrap().connect().unwrap();
        let create = "CREATE TABLE fought (x int); INSERT INTO fought SELECT generate_series(1, 3); \
                      CREATE TABLE fought_not (x int)";
        session.simple_query(create).unwrap();
        let scripts = [
            script("BEGIN;\nUPDATE fought SET x = x + 1 WHERE x = :a;\nEND;"),
            script(
                "UPDATE fought_not SET x = 1; UPDATE not_there SET x = 1; SELECT 1 FROM fought FOR UPDATE;",
            ),
        ];
        let fought = FewRows {
            table: "fought".to_owned(),
            rows: 3,
        };
        assert_eq!(few_rows(&mut session, &scripts, 4), [fought]);
        assert_eq!(few_rows(&mut session, &scripts, 3), []);
        assert_eq!(few_rows(&mut session, &scripts[1..], 100), []);
    }
}
