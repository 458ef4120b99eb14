//! How the engine waited for its sockets, as an event of its trial.

use crate::db::{self, Db};
use crate::happening;
use pgdyno_platform::io::{Backend, Used};
use serde_json::{Value, json};

const KIND: &str = "engine";

/// Keeps it.
///
/// # Errors
/// The store cannot be written.
pub fn write(connection: &Db, number: i64, io: &Used) -> db::Result<()> {
    let mut engine = json!({ "io": io.backend.name(), "why_not_io_uring": io.why_not_uring });
    if !io.pinned_cpus.is_empty() {
        engine["pinned_cpus"] = json!(io.pinned_cpus);
    }
    happening::tell(connection, number, 0, KIND, &engine.to_string())
}

/// Reads it; none of a trial that was kept before this was known.
///
/// # Errors
/// The store cannot be read.
pub fn read(connection: &Db, number: i64) -> db::Result<Option<Used>> {
    let text = happening::text_of(connection, number, KIND)?;
    let engine = text.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    Ok(engine.and_then(|engine| {
        let why_not = engine["why_not_io_uring"].as_str();
        let pinned = engine["pinned_cpus"].as_array().into_iter().flatten();
        Some(Used {
            backend: Backend::named(engine["io"].as_str()?)?,
            why_not_uring: why_not.map(str::to_owned),
            pinned_cpus: pinned
                .filter_map(|cpu| cpu.as_u64()?.try_into().ok())
                .collect(),
        })
    }))
}
