//! The receipt in the row of pgbench's history: its `filler` (22 characters) is written by nothing else.

use pgdyno_drive::receipts::RECEIPT;

/// The columns that pgbench's scripts write.
const COLUMNS: &str = "tid,bid,aid,delta,mtime";
const TABLE: &str = "pgbench_history";
const LAST_VALUE: &str = "CURRENT_TIMESTAMP";

/// The script with the receipt in its one row of history; `None` for a script that does not write it in
/// pgbench's words. Statements are the same otherwise.
pub fn with_receipt(script: &str) -> Option<String> {
    let table = only(script, TABLE)?;
    let open = table + TABLE.len();
    let columns_end = open + script[open..].find(')')?;
    let columns = script[open..columns_end].trim_start().strip_prefix('(')?;
    let columns: String = columns.split_whitespace().collect();
    let last = columns_end + script[columns_end..].find(LAST_VALUE)? + LAST_VALUE.len();
    let between = script[columns_end + 1..last].trim_start();
    if columns != COLUMNS || !between.to_ascii_uppercase().starts_with("VALUES") {
        return None;
    }
    if !script[last..].trim_start().starts_with(')') {
        return None;
    }
    Some(format!(
        "{}, filler{}, (:{RECEIPT})::text{}",
        &script[..columns_end],
        &script[columns_end..last],
        &script[last..]
    ))
}

/// Where it is, if it is there once.
fn only(text: &str, word: &str) -> Option<usize> {
    let mut found = text.match_indices(word);
    let (at, _) = found.next()?;
    found.next().is_none().then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_the_transaction_have_it_in_their_row() {
        let insert = "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, \
                      :aid, :delta, CURRENT_TIMESTAMP)";
        let expected = "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime, filler) VALUES \
                        (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP, (:pgdyno_receipt)::text)";
        assert_eq!(with_receipt(insert).as_deref(), Some(expected));
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads");
        for file in ["tpcb", "batch", "cte", "pipeline", "for-update"] {
            let text = std::fs::read_to_string(format!("{folder}/tpcb/{file}.sql"));
            let text = text.expect("a script of the pack");
            let with = with_receipt(&text).expect(file);
            let without = with.replace(", filler", "");
            assert_eq!(without.replace(", (:pgdyno_receipt)::text", ""), text);
        }
    }

    #[test]
    fn other_scripts_are_left_alone() {
        for other in [
            "SELECT count(*) FROM pgbench_history;",
            "INSERT INTO pgbench_history (tid) VALUES (1);",
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) SELECT 1, 1, 1, 1, \
             CURRENT_TIMESTAMP;",
            "DELETE FROM pgbench_history; INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
             VALUES (1, 1, 1, 1, CURRENT_TIMESTAMP);",
        ] {
            assert_eq!(with_receipt(other), None, "{other}");
        }
    }
}
