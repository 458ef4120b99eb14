//! Where tests keep trials: in a file, or all of them on a server (`PGDYNO_TEST_STORE=server`), so that
//! what holds of one kind of notebook is seen to hold of the other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use pgdyno_server::Server;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};

/// Whether this run of the tests keeps trials on a server.
pub fn is_on_server() -> bool {
    std::env::var("PGDYNO_TEST_STORE").is_ok_and(|kind| kind == "server")
}

/// What `--store` is to name instead of this file: the file, or the notebook on a server that represents
/// it. Not the server that tests measure: that would be noted.
pub fn at(file: &Path) -> PathBuf {
    static SERVER: OnceLock<Server> = OnceLock::new();
    static MADE: Mutex<BTreeMap<PathBuf, PathBuf>> = Mutex::new(BTreeMap::new());
    if !is_on_server() {
        return file.to_owned();
    }
    let server = SERVER.get_or_init(|| pgdyno_testkit::postgres_with(&["max_connections=300"]));
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let number = made.len();
    let url = made.entry(file.to_owned()).or_insert_with(|| {
        let (admin, name) = (server.address().url(), format!("notebook_{number}"));
        super::sql(&admin, &format!("CREATE DATABASE {name}"));
        let url = admin.replace("@/postgres?", &format!("@/{name}?"));
        let mut init = Command::new(env!("CARGO_BIN_EXE_pgdyno"));
        super::ran(init.args(["store", "init", &url])).expect(0, &["made a notebook"]);
        url.into()
    });
    url.clone()
}

/// The URL, when a notebook is on a server.
fn url(notebook: &Path) -> Option<&str> {
    let text = notebook.to_str()?;
    text.starts_with("postgresql://").then_some(text)
}

/// Whether anything was kept there.
pub fn is_empty(notebook: &Path) -> bool {
    match url(notebook) {
        Some(_) => value(notebook, "SELECT count(*) FROM trial") == "0",
        None => !notebook.exists(),
    }
}

/// Values of the first row, joined by `|`; read behind pgdyno's back. Truth is 1 and 0.
pub fn value(notebook: &Path, sql: &str) -> String {
    if let Some(url) = url(notebook) {
        let outcome = super::connect(url).query(sql).unwrap();
        let row = outcome.rows.first().unwrap();
        let cell = |value: &Option<String>| match value.as_deref() {
            None => "NULL".to_owned(),
            Some("t") => "1".to_owned(),
            Some("f") => "0".to_owned(),
            Some(text) => text.to_owned(),
        };
        return row.iter().map(cell).collect::<Vec<_>>().join("|");
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = Connection::open_with_flags(notebook, flags).unwrap();
    let mut select = connection.prepare(sql).unwrap();
    let count = select.column_count();
    let text = |row: &rusqlite::Row<'_>| {
        let cell = |index| match row.get_unwrap::<_, Value>(index) {
            Value::Null => "NULL".to_owned(),
            Value::Integer(number) => number.to_string(),
            Value::Real(number) => number.to_string(),
            Value::Text(text) => text,
            Value::Blob(bytes) => format!("{} bytes", bytes.len()),
        };
        Ok((0..count).map(cell).collect::<Vec<_>>().join("|"))
    };
    select.query_row([], text).unwrap()
}

/// A number that a query gives; `None` while the notebook is in the making.
pub fn number(notebook: &Path, sql: &str) -> Option<i64> {
    if url(notebook).is_some() {
        return value(notebook, sql).parse().ok();
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = Connection::open_with_flags(notebook, flags).ok()?;
    connection.query_row(sql, [], |row| row.get(0)).ok()
}

/// Changes what is there, behind pgdyno's back.
pub fn change(notebook: &Path, sql: &str) {
    match url(notebook) {
        Some(url) => super::sql(url, sql),
        None => {
            let connection = Connection::open(notebook).unwrap();
            connection.execute(sql, []).unwrap();
        }
    }
}

/// Whether this text is anywhere in the notebook.
pub fn has(notebook: &Path, text: &str) -> bool {
    if let Some(url) = url(notebook) {
        let mut session = super::connect(url);
        let tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'";
        let tables = super::rows(&mut session, tables);
        assert!(tables.len() > 10, "{tables:?}");
        return tables.iter().any(|table| {
            let rows = super::rows(&mut session, &format!("SELECT t::text FROM {table} t"));
            rows.iter().any(|row| row.contains(text))
        });
    }
    // With its journal, whose name begins as its own.
    let name = notebook.file_name().unwrap().to_string_lossy();
    let files = notebook.parent().unwrap().read_dir().unwrap();
    let mut files = files.map(|entry| entry.unwrap());
    files.any(|file| {
        let bytes = std::fs::read(file.path()).unwrap_or_default();
        let is_there = || {
            let mut windows = bytes.windows(text.len());
            windows.any(|window| window == text.as_bytes())
        };
        file.file_name().to_string_lossy().starts_with(&*name) && is_there()
    })
}

/// What there is to ask or to expect of a notebook on a server, and of one in a file.
pub fn by_kind<T>(server: T, file: T) -> T {
    if is_on_server() { server } else { file }
}
