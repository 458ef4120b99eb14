//! Whether a statement plainly reads, so that nothing can have been committed by it when its answer is
//! lost. What is not plain is taken for one that writes: `SELECT f()` may.

use super::comment;

/// Words that may stand before a parenthesis: functions of PostgreSQL, CockroachDB and YugabyteDB that
/// change nothing, types, and what is no function at all.
const BEFORE_PARENTHESIS: [&str; 99] = [
    "abs",
    "all",
    "and",
    "any",
    "array",
    "array_agg",
    "array_length",
    "as",
    "avg",
    "between",
    "bit",
    "bool_and",
    "bool_or",
    "btrim",
    "by",
    "cast",
    "ceil",
    "ceiling",
    "char",
    "char_length",
    "coalesce",
    "concat",
    "concat_ws",
    "count",
    "date_part",
    "date_trunc",
    "decimal",
    "dense_rank",
    "distinct",
    "else",
    "every",
    "except",
    "exists",
    "extract",
    "filter",
    "first_value",
    "floor",
    "from",
    "generate_series",
    "greatest",
    "hashtext",
    "having",
    "in",
    "intersect",
    "join",
    "json_agg",
    "jsonb_agg",
    "lag",
    "last_value",
    "lateral",
    "lead",
    "least",
    "left",
    "length",
    "like",
    "limit",
    "lower",
    "ltrim",
    "max",
    "md5",
    "min",
    "mod",
    "not",
    "now",
    "ntile",
    "nullif",
    "numeric",
    "octet_length",
    "on",
    "or",
    "over",
    "partition",
    "position",
    "random",
    "rank",
    "replace",
    "right",
    "round",
    "row",
    "row_number",
    "select",
    "some",
    "string_agg",
    "substr",
    "substring",
    "sum",
    "then",
    "to_char",
    "trim",
    "union",
    "unnest",
    "upper",
    "using",
    "values",
    "varchar",
    "version",
    "when",
    "where",
    "width_bucket",
];
/// Words with which a statement writes, or hides that it does.
const OF_WRITING: [&str; 5] = ["delete", "insert", "into", "merge", "with"];

/// Whether the statement, one of its kind, only reads.
pub(super) fn plainly_reads(statement: &str) -> bool {
    let mut rest = statement;
    // The word before, "." for one that belongs to a schema or a table.
    let (mut before, mut is_qualified) = ("", false);
    let mut is_first = true;
    while let Some(next) = rest.chars().next() {
        let length = comment(rest);
        if length > 0 || next.is_whitespace() {
            rest = &rest[length.max(next.len_utf8())..];
            continue;
        }
        let length = match next {
            // A word of letters, or a number.
            'a'..='z' | 'A'..='Z' | '_' | '0'..='9' => {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                let word = &rest[..end.unwrap_or(rest.len())];
                let is = |known: &str| word.eq_ignore_ascii_case(known);
                if is_first
                    && !["select", "table", "values", "show"]
                        .iter()
                        .any(|verb| is(verb))
                {
                    return false;
                }
                let locks = ["for", "key"]
                    .iter()
                    .any(|known| before.eq_ignore_ascii_case(known));
                if OF_WRITING.iter().any(|known| is(known)) || is("update") && !locks {
                    return false;
                }
                // A name of someone's schema is no function that is known.
                before = if is_qualified { "." } else { word };
                is_qualified = false;
                is_first = false;
                rest = &rest[word.len()..];
                continue;
            }
            '\'' => match rest[1..].find('\'') {
                Some(end) => end + 2,
                None => return false,
            },
            '(' => {
                let is_known = |known: &str| before.eq_ignore_ascii_case(known);
                let mut known = BEFORE_PARENTHESIS.iter();
                let is_name =
                    before.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '.');
                if is_first || is_name && !known.any(|name| is_known(name)) {
                    return false;
                }
                1
            }
            // Quoted names, other ways to write strings.
            '"' | '\\' => return false,
            '$' if !rest[1..].starts_with(|c: char| c.is_ascii_digit()) => return false,
            _ => next.len_utf8(),
        };
        (before, is_qualified) = ("", next == '.');
        rest = &rest[length..];
    }
    !is_first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_reads_are_known() {
        for sql in [
            "SELECT abalance FROM pgbench_accounts WHERE aid = :aid",
            "select * from usertable where ycsb_key = $1 for update",
            "SELECT count(*), max( a ) FROM s.t WHERE b IN (1, 2) AND (c = 'it''s (insert)')",
            "-- what\nSELECT 1 /* INSERT */ FOR NO KEY UPDATE",
            "TABLE t",
            "SHOW transaction_isolation",
            "SELECT (1 + 2) * 3, a.b FROM a AS OF SYSTEM TIME '-1s'",
            "SELECT x FROM (SELECT a x FROM t) q WHERE x > 5.5 LIMIT 3",
        ] {
            assert!(plainly_reads(sql), "{sql}");
        }
    }

    #[test]
    fn what_may_write_is_not_taken_for_a_read() {
        for sql in [
            "",
            "INSERT INTO t VALUES (1)",
            "UPDATE t SET a = 1",
            "SELECT f()",
            "SELECT nextval('s')",
            "SELECT my.count(*) FROM t",
            "SELECT \"f\"()",
            "SELECT a INTO b FROM t",
            "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x",
            "SELECT E'\\'' || f()",
            "SELECT $a$x$a$",
            "SELECT 'unterminated",
            "(SELECT f())",
            "CALL p()",
            "EXPLAIN ANALYZE DELETE FROM t",
            "SELECT set_config('a', 'b', false)",
            "SELECT pg_advisory_lock(1)",
        ] {
            assert!(!plainly_reads(sql), "{sql}");
        }
    }
}
