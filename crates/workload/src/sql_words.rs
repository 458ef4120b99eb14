//! A quick look at a script's SQL: which tables it names and which it updates. Only words are
//! read, no grammar, so an odd statement may be missed; nothing but notes and defaults depend
//! on it.

use std::collections::BTreeSet;

/// The tables that `UPDATE` statements of the script name, as written there; names built from
/// variables are left out.
pub fn updated_tables(script: &str) -> BTreeSet<String> {
    let words = words(script);
    let is = |i: usize, text: &str| {
        words
            .get(i)
            .is_some_and(|w| w.text.eq_ignore_ascii_case(text))
    };
    let mut tables = BTreeSet::new();
    for i in 0..words.len() {
        // FOR UPDATE, FOR NO KEY UPDATE, DO UPDATE, ON UPDATE lock or declare; they name no table.
        let other_use = i > 0
            && ["for", "key", "do", "on", "before", "after", "or"]
                .iter()
                .any(|w| is(i - 1, w));
        if !is(i, "update") || other_use {
            continue;
        }
        let name = i + 1 + usize::from(is(i + 1, "only"));
        if let Some(word) = words.get(name)
            && !["set", "on", "of"].iter().any(|w| is(name, w))
            && !word.has_variable
        {
            tables.insert(word.text.clone());
        }
    }
    tables
}

/// The tables that statements of the script read or update, as written there: what follows `FROM`,
/// `JOIN` and `UPDATE`. Functions are among them; names built from variables are left out.
pub fn used_tables(script: &str) -> BTreeSet<String> {
    let mut tables = updated_tables(script);
    tables.extend(named_after(script, &["from", "join"]));
    tables
}

/// The same with those that rows are inserted into.
pub fn touched_tables(script: &str) -> BTreeSet<String> {
    let mut tables = used_tables(script);
    tables.extend(named_after(script, &["into"]));
    tables
}

/// What follows one of these words.
fn named_after(script: &str, befores: &[&str]) -> BTreeSet<String> {
    let words = words(script);
    let pairs = words.iter().zip(words.iter().skip(1));
    let read = pairs.filter(|(before, name)| {
        let is = |word: &Word, texts: &[&str]| {
            texts
                .iter()
                .any(|text| word.text.eq_ignore_ascii_case(text))
        };
        is(before, befores) && !is(name, &["select", "only", "lateral"]) && !name.has_variable
    });
    read.map(|(_, name)| name.text.clone()).collect()
}

/// Whether the script's SQL or variables mention this unquoted name.
pub fn mentions(script: &str, name: &str) -> bool {
    words(script).iter().any(|w| {
        let last = w.text.rsplit('.').next().unwrap_or_default();
        last.trim_matches('"').eq_ignore_ascii_case(name)
    })
}

/// Whether some statement of the script can change rows.
pub fn writes(script: &str) -> bool {
    let writing = [
        "insert", "update", "delete", "merge", "truncate", "copy", "call", "create", "drop",
        "alter",
    ];
    words(script)
        .iter()
        .any(|w| writing.iter().any(|x| w.text.eq_ignore_ascii_case(x)))
}

/// Statements that begin a transaction as those of the script begin, each once; none when only
/// running the script would tell the isolation level.
pub fn begins(script: &str) -> Option<BTreeSet<String>> {
    // The name of a setting may stand in a string.
    let text = script.to_ascii_lowercase();
    if text.contains("set_config") && text.contains("transaction_isolation") {
        return None;
    }
    let words = words(script);
    let is = |i: usize, text: &str| {
        words
            .get(i)
            .is_some_and(|w| w.text.eq_ignore_ascii_case(text))
    };
    let mut begins = BTreeSet::new();
    let mut plain = 0;
    for i in 0..words.len() {
        if is(i, "transaction_isolation") || is(i, "default_transaction_isolation") {
            return None;
        }
        let is_begin = is(i, "begin") || (is(i, "start") && is(i + 1, "transaction"));
        plain += usize::from(is_begin);
        if !(is(i, "isolation") && is(i + 1, "level")) {
            continue;
        }
        let of_words = |count: usize| {
            let level = words.get(i + 2..i + 2 + count)?;
            let level: Vec<String> = level.iter().map(|w| w.text.to_lowercase()).collect();
            LEVELS.into_iter().find(|known| *known == level.join(" "))
        };
        let level = of_words(1).or_else(|| of_words(2))?;
        begins.insert(format!("BEGIN ISOLATION LEVEL {}", level.to_uppercase()));
        plain = plain.saturating_sub(1);
    }
    if begins.is_empty() || plain > 0 {
        begins.insert("BEGIN".to_owned());
    }
    Some(begins)
}

const LEVELS: [&str; 4] = [
    "serializable",
    "repeatable read",
    "read committed",
    "read uncommitted",
];

struct Word {
    /// A name with its dots and quotes, or a keyword.
    text: String,
    has_variable: bool,
}

/// The words outside of strings, comments and backslash commands.
fn words(script: &str) -> Vec<Word> {
    let text: String = script
        .lines()
        .filter(|line| !line.trim_start().starts_with('\\'))
        .flat_map(|line| [line, "\n"])
        .collect();
    let b = text.as_bytes();
    let mut words = Vec::new();
    let mut i = 0;
    while i < b.len() {
        let rest = &b[i..];
        if rest.starts_with(b"--") {
            i += rest.iter().position(|c| *c == b'\n').unwrap_or(rest.len());
        } else if rest.starts_with(b"/*") {
            let end = rest.windows(2).position(|w| w == b"*/");
            i += end.map_or(rest.len(), |at| at + 2);
        } else if b[i] == b'\'' {
            i += 1 + rest[1..]
                .iter()
                .position(|c| *c == b'\'')
                .map_or(rest.len() - 1, |at| at + 1);
        } else if b[i] == b'$'
            && rest.len() > 1
            && rest[1..].contains(&b'$')
            && dollar_tag(rest) > 0
        {
            let tag = dollar_tag(rest);
            let body = &rest[tag..];
            let end = body.windows(tag).position(|w| w == &rest[..tag]);
            i += end.map_or(rest.len(), |at| at + 2 * tag);
        } else if is_word(b[i]) {
            let (word, len) = name(rest);
            words.push(word);
            i += len;
        } else {
            i += 1;
        }
    }
    words
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_' || c == b'"' || c >= 0x80 || c == b':'
}

/// Length of a dollar quote's opening tag, or 0.
fn dollar_tag(text: &[u8]) -> usize {
    let inner = text[1..]
        .iter()
        .position(|c| !c.is_ascii_alphanumeric() && *c != b'_');
    match inner {
        Some(at) if text[1 + at] == b'$' => at + 2,
        _ => 0,
    }
}

/// The name at the start of `text`, and its length.
fn name(text: &[u8]) -> (Word, usize) {
    let mut len = 0;
    while len < text.len() {
        if text[len] == b'"' {
            let close = text[len + 1..].iter().position(|c| *c == b'"');
            len = close.map_or(text.len(), |at| len + at + 2);
        } else if is_word(text[len]) || text[len] == b'.' || text[len] == b'$' {
            len += 1;
        } else {
            break;
        }
    }
    let word = String::from_utf8_lossy(&text[..len]).into_owned();
    let has_variable = word.contains(':');
    (
        Word {
            text: word,
            has_variable,
        },
        len,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updated(script: &str) -> Vec<String> {
        updated_tables(script).into_iter().collect()
    }

    #[test]
    fn updated_tables_are_found_in_any_statement() {
        assert_eq!(
            updated("UPDATE a SET x = 1; update only b set y=2"),
            ["a", "b"]
        );
        assert_eq!(
            updated("WITH u AS (UPDATE s.\"T x\" SET x=1 RETURNING *) SELECT 1"),
            ["s.\"T x\""]
        );
        assert_eq!(
            updated("BEGIN;\nUPDATE\n  a\nSET x = :delta \\; UPDATE b SET y=1;"),
            ["a", "b"]
        );
    }

    #[test]
    fn what_only_looks_like_an_update_is_left_alone() {
        for script in [
            "SELECT 1 FROM a FOR UPDATE",
            "SELECT 1 FROM a FOR NO KEY UPDATE OF a",
            "INSERT INTO a VALUES (1) ON CONFLICT DO UPDATE SET x = 1",
            "SELECT 'UPDATE a SET x'",
            "-- UPDATE a SET x\n/* UPDATE b SET y */ SELECT 1",
            "SELECT $$ UPDATE a SET x $$, $q$ UPDATE b SET x $q$",
            "\\set x 1 -- UPDATE a SET x",
            "UPDATE t_:client_id SET x = 1",
            "UPDATE",
            "SELECT 'never closed UPDATE a",
            "SELECT $1",
        ] {
            assert!(updated(script).is_empty(), "{script}");
        }
    }

    #[test]
    fn transactions_begin_as_the_script_says() {
        let of = |script| begins(script).map(|b| b.into_iter().collect::<Vec<_>>().join("; "));
        let is = |text: &str| Some(text.to_owned());
        assert_eq!(of("SELECT 1"), is("BEGIN"));
        assert_eq!(of("begin; select 1; end;"), is("BEGIN"));
        assert_eq!(
            of("begin isolation level repeatable read; select 1; end;"),
            is("BEGIN ISOLATION LEVEL REPEATABLE READ")
        );
        assert_eq!(
            of("start transaction read only, isolation level serializable; commit; begin; end"),
            is("BEGIN; BEGIN ISOLATION LEVEL SERIALIZABLE")
        );
        assert_eq!(
            of("BEGIN; SET TRANSACTION ISOLATION LEVEL read committed; END"),
            is("BEGIN ISOLATION LEVEL READ COMMITTED")
        );
        assert_eq!(of("begin isolation level :level; end"), None);
        assert_eq!(of("set transaction_isolation = 'serializable'"), None);
        assert_eq!(
            of("-- isolation level serializable\nbegin; end"),
            is("BEGIN")
        );
    }

    #[test]
    fn mentions_and_writes_see_through_case_and_schema() {
        assert!(mentions(
            "select * from public.PGBENCH_branches;",
            "pgbench_branches"
        ));
        assert!(!mentions("select 'pgbench_branches'", "pgbench_branches"));
        assert!(writes("insert into a values (1)") && !writes("SELECT 1"));
    }

    #[test]
    fn tables_that_are_read_or_updated_are_used() {
        let text = "SELECT * FROM a JOIN s.b USING (x) WHERE y IN (SELECT z FROM \"C\");\n\
                    UPDATE d SET x = 1; INSERT INTO e SELECT 1 FROM (SELECT 1) AS f;\n\
                    SELECT 1 FROM t_:n; DELETE FROM g; -- FROM h";
        let used: Vec<String> = used_tables(text).into_iter().collect();
        assert_eq!(used, ["\"C\"", "a", "d", "g", "s.b"]);
    }
}
