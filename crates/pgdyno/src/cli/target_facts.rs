//! `pgdyno target --facts`: what pgdyno knows of a product, and what that rests on.

use pgdyno_database::dialect::Dialect;
use pgdyno_database::dialect::sources::{self, Source, Sourced};
use pgdyno_output::{Sink, write_report};
use pgdyno_spec::{Exit, Failure};
use serde_json::json;

/// Grows when a field of the document changes its meaning or goes.
const FORMAT: u32 = 1;

/// Tells all of it.
///
/// # Errors
/// It cannot be written.
pub fn tell(dialect: &Dialect, is_json: bool, json_to: Sink) -> Result<Exit, Failure> {
    let facts = sources::of(dialect);
    if !is_json {
        write_report(format_args!("{}", text(dialect, &facts)))?;
    }
    let listed = facts
        .iter()
        .map(|fact| json!({ "fact": fact.fact, "source": fact.source.word(), "text": fact.text }));
    json_to.write(&json!({
        "format": FORMAT,
        "pgdyno": env!("CARGO_PKG_VERSION"),
        "product": dialect.name,
        "tried_until": dialect.tried_until.map(|version| version.to_string()),
        "facts": listed.collect::<Vec<_>>(),
    }))?;
    Ok(Exit::Ok)
}

fn text(dialect: &Dialect, facts: &[Sourced]) -> String {
    let counted = Source::ALL.map(|source| {
        let count = facts.iter().filter(|fact| fact.source == source).count();
        format!("{count} {}", source.word())
    });
    let tried = match dialect.tried_until {
        Some(version) => format!("tried until {version}"),
        None => "never tried with a real one".to_owned(),
    };
    let (title, counted) = (dialect.title, counted.join(", "));
    let lines = facts.iter().map(|fact| {
        let (source, name) = (fact.source.word(), &fact.fact);
        format!("{source:<11} {name:<34} {}\n", fact.text)
    });
    let lines: String = lines.collect();
    format!("{title}, {tried}: {counted}\n\n{lines}")
}
