//! What `bank` is to be, in the words of the pack.

use super::{CockroachWorkload, Flags};
use crate::flags::Verb;

/// Reads what the workload is to be.
///
/// # Errors
/// What is wrong, in cockroach's words.
pub(super) fn workload(verb: Verb, flags: &Flags<'_>) -> Result<CockroachWorkload, String> {
    let (rows, ranges) = (flags.int("rows"), flags.int("ranges"));
    let (all, parts) = (rows.unwrap_or(1000), ranges.unwrap_or(10));
    if all < 2 {
        return Err(format!("Value of rows must be greater than one; was {all}"));
    }
    if all < parts {
        return Err(format!(
            "Value of 'rows' ({all}) must be greater than or equal to value of 'ranges' ({parts})"
        ));
    }
    let tables = flags.int("tables").unwrap_or(1);
    if tables < 1 {
        return Err(format!(
            "Value of tables must be greater than zero; was {tables}"
        ));
    }
    let mut params = vec![format!("tables={tables}")];
    let makes_tables = flags.makes_tables(verb);
    if rows.is_some() || makes_tables {
        params.push(format!("rows={all}"));
    }
    let payload = flags.count("payload-bytes")?;
    if let Some(bytes) = payload.or(makes_tables.then_some(100)) {
        params.push(format!("payload_bytes={bytes}"));
    }
    let ranges = ranges
        .or(makes_tables.then_some(parts))
        .map(|count| count.max(1));
    Ok(CockroachWorkload {
        params,
        of_products: ranges
            .map(|count| (format!("ranges={count}"), "ranges"))
            .into_iter()
            .collect(),
        // CockroachDB tries a single statement again by itself; elsewhere two transfers between the
        // same accounts may block each other.
        retries: true,
        ..CockroachWorkload::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{all, parse};
    use crate::generator::TransactionGenerator;

    fn of(verb: Verb, line: &str) -> Result<CockroachWorkload, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let parsed = parse(&all(TransactionGenerator::Bank, verb), &arguments).unwrap();
        workload(verb, &Flags(&parsed))
    }

    #[test]
    fn init_says_how_the_tables_are_to_be_and_a_run_takes_them_as_they_are() {
        let init = of(Verb::Init, "").unwrap();
        assert_eq!(init.params, ["tables=1", "rows=1000", "payload_bytes=100"]);
        assert_eq!(init.of_products, [("ranges=10".to_owned(), "ranges")]);
        let run = of(Verb::Run, "").unwrap();
        assert_eq!(run.params, ["tables=1"]);
        assert!(run.of_products.is_empty() && run.retries);
        let run = of(Verb::Run, "--init --rows=50 --tables=2 --ranges=5").unwrap();
        assert_eq!(run.params, ["tables=2", "rows=50", "payload_bytes=100"]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (line, said) in [
            ("--rows=1", "Value of rows must be greater than one; was 1"),
            (
                "--rows=5",
                "Value of 'rows' (5) must be greater than or equal to value of 'ranges' (10)",
            ),
            (
                "--tables=0",
                "Value of tables must be greater than zero; was 0",
            ),
            (
                "--payload-bytes=-1",
                "--payload-bytes is -1, and must not be negative",
            ),
        ] {
            assert_eq!(of(Verb::Init, line).unwrap_err(), said);
        }
    }
}
