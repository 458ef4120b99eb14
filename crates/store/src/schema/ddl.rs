//! The one description of the tables, `schema.sql`: what is in it, and the statements that make it in a
//! file and on a server.
//!
//! It is written a column a line, in SQLite's words. A server's statements follow word by word, so
//! that both kinds of notebook cannot come apart.

use std::sync::LazyLock;

const DESCRIPTION: &str = include_str!("schema.sql");

/// What is in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Integer,
    Real,
    Text,
    Blob,
    /// True or false; 1 or 0 in a file.
    Boolean,
}

/// A column that is written: not one that is made of others.
#[derive(Debug)]
pub struct Column {
    pub name: &'static str,
}

#[derive(Debug)]
pub struct Table {
    pub name: &'static str,
    /// Its columns, in their order.
    pub columns: Vec<Column>,
}

impl Table {
    /// Whether its rows belong to a trial: it has a column `trial`.
    pub fn is_part(&self) -> bool {
        self.columns.iter().any(|column| column.name == "trial")
    }

    /// The names of its columns, with commas between.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name).collect();
        names.join(", ")
    }
}

/// All tables: those that others refer to come first.
pub static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| {
    statements(On::Sqlite)
        .into_iter()
        .filter_map(table)
        .collect()
});

/// The table of this name.
///
/// # Panics
/// There is none: a mistake of the caller.
pub fn of(name: &str) -> &'static Table {
    let found = TABLES.iter().find(|table| table.name == name);
    found.unwrap_or_else(|| panic!("no table {name} in schema.sql"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// A notebook in a file.
    Sqlite,
    /// A file in which rows wait for a notebook on a server: they are numbered as they come.
    Waiting,
    Server,
}

/// The statements that make all of it, in their order.
pub fn create(on: On) -> Vec<String> {
    let made = statements(on).into_iter().map(|statement| match on {
        On::Sqlite => statement.to_owned(),
        On::Waiting => statement
            .replace(") WITHOUT ROWID", ")")
            // Experiments are on the server.
            .replace(" REFERENCES experiment (number)", ""),
        On::Server => statement
            .lines()
            .map(server_line)
            .collect::<Vec<_>>()
            .join("\n"),
    });
    made.collect()
}

/// Those that are for this place, without comments.
fn statements(on: On) -> Vec<&'static str> {
    let mut parts = Vec::new();
    for part in DESCRIPTION.split("-- on: ") {
        let (place, text) = match part.split_once('\n') {
            Some((place @ ("sqlite" | "postgresql" | "all"), text)) => (place, text),
            _ => ("all", part),
        };
        let is_server = on == On::Server;
        if place == "all" || (place == "postgresql") == is_server {
            parts.push(text);
        }
    }
    let mut found = Vec::new();
    for part in parts {
        let mut rest = part;
        while let Some(begin) = rest.find("CREATE ") {
            let end = rest[begin..]
                .find(";\n")
                .map_or(rest.len(), |at| begin + at);
            found.push(rest[begin..end].trim());
            rest = &rest[end..];
        }
    }
    found
}

fn table(statement: &'static str) -> Option<Table> {
    let (head, body) = statement
        .strip_prefix("CREATE TABLE ")?
        .split_once(" (\n")?;
    let columns = body.lines().filter_map(|line| {
        let (name, rest) = line.trim_start().split_once(' ')?;
        let (_, rest) = kind(rest.trim_start())?;
        let is_made = rest.starts_with(" AS (");
        (!is_made).then_some(Column { name })
    });
    Some(Table {
        name: head,
        columns: columns.collect(),
    })
}

/// The type that a text begins with.
fn kind(text: &'static str) -> Option<(Kind, &'static str)> {
    let kinds = [
        ("INTEGER", Kind::Integer),
        ("REAL", Kind::Real),
        ("TEXT", Kind::Text),
        ("BLOB", Kind::Blob),
        ("BOOLEAN", Kind::Boolean),
    ];
    kinds
        .into_iter()
        .find_map(|(word, kind)| Some((kind, text.strip_prefix(word)?)))
}

/// A line as a server has it. Making tables may be repeated: not every server makes all of them or none.
fn server_line(line: &'static str) -> String {
    let line = line.trim_end();
    for (begin, instead) in [
        ("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS "),
        ("CREATE INDEX ", "CREATE INDEX IF NOT EXISTS "),
        ("CREATE VIEW ", "CREATE OR REPLACE VIEW "),
        (") WITHOUT ROWID", ")"),
    ] {
        if let Some(rest) = line.strip_prefix(begin) {
            return format!("{instead}{rest}");
        }
    }
    let of_column = || {
        let (name, rest) = line.strip_prefix("    ")?.split_once(' ')?;
        let (kind, rest) = kind(rest.trim_start())?;
        let word = match kind {
            Kind::Integer => "BIGINT",
            Kind::Real => "DOUBLE PRECISION",
            Kind::Text => "TEXT",
            Kind::Blob => "BYTEA",
            Kind::Boolean => "BOOLEAN",
        };
        if let Some(made) = rest
            .strip_prefix(" AS (spec ")
            .and_then(|m| m.strip_suffix("),"))
        {
            let made = format!("((spec::json {made})::{word})");
            return Some(format!(
                "    {name} {word} GENERATED ALWAYS AS {made} STORED,"
            ));
        }
        // No SERIAL: elsewhere it does not count from 1.
        let rest = rest.replace(
            " PRIMARY KEY AUTOINCREMENT",
            " GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
        );
        Some(format!("    {name} {word}{rest}"))
    };
    of_column().unwrap_or_else(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    #[test]
    fn the_description_is_what_sqlite_makes_of_it() {
        for on in [On::Sqlite, On::Waiting] {
            let made = Connection::open_in_memory().unwrap();
            for statement in create(on) {
                made.execute_batch(&statement).unwrap();
            }
            let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
            let mut select = made.prepare(sql).unwrap();
            let names = select.query_map([], |row| row.get(0)).unwrap();
            let names: Vec<String> = names.map(Result::unwrap).collect();
            let mut described: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
            described.sort_unstable();
            assert_eq!(names, described);
            for table in TABLES.iter() {
                let sql = "SELECT group_concat(name, ', ') FROM pragma_table_info(?)";
                let found: String = made.query_row(sql, [table.name], |row| row.get(0)).unwrap();
                assert_eq!(found, table.names(), "{}", table.name);
            }
        }
    }

    #[test]
    fn a_column_that_is_made_of_others_says_so_on_a_server_too() {
        assert_eq!(
            server_line("    clients     INTEGER AS (spec ->> 'clients'),"),
            "    clients BIGINT GENERATED ALWAYS AS ((spec::json ->> 'clients')::BIGINT) STORED,"
        );
        assert_eq!(
            server_line("    number      INTEGER PRIMARY KEY AUTOINCREMENT,"),
            "    number BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,"
        );
        let all = create(On::Server).join(";\n");
        for word in ["ROWID", "INTEGER", "BLOB", "json_type", "AUTOINCREMENT"] {
            assert!(!all.contains(word), "{word}");
        }
    }
}
