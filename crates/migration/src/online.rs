//! Forms of a statement that hold clients up for less time. Each is of the manual: CONCURRENTLY (sql-createindex,
//! sql-dropindex, sql-reindex, sql-altertable DETACH PARTITION), NOT VALID and VALIDATE (sql-altertable, Notes),
//! an index that becomes a constraint (sql-altertable, ADD table_constraint_using_index), SET NOT NULL that a
//! valid CHECK proves (sql-altertable, SET NOT NULL).

use crate::file::{Group, Migration, Statement};
use crate::forms::{self, Form};
use crate::psql;
use crate::statement::{Action, Known, Proofs, actions, plain};
use crate::tokens::tokens;

/// What is done by hand: pgdyno makes no statements of it.
static ADVICE: [(&Form, &str); 14] = [
    (
        &forms::ADD_COLUMN_REWRITE,
        "add the column without a default, set the default, fill old rows in batches",
    ),
    (
        &forms::ADD_COLUMN_DEFAULT_UNKNOWN,
        "if the function is volatile: add the column without a default, set the \
                                          default, fill old rows in batches",
    ),
    (
        &forms::SET_TYPE,
        "if it rewrites: a new column that a trigger fills, batches for old rows, then rename",
    ),
    (
        &forms::SET_TYPE_REWRITE,
        "a new column that a trigger fills, batches for old rows, then rename",
    ),
    (
        &forms::ADD_CHECK,
        "name the constraint: it can be added NOT VALID then, and validated",
    ),
    (
        &forms::ADD_FOREIGN_KEY,
        "name the constraint: it can be added NOT VALID then, and validated",
    ),
    (
        &forms::ADD_UNIQUE,
        "CREATE UNIQUE INDEX CONCURRENTLY, then ADD CONSTRAINT … USING INDEX",
    ),
    (
        &forms::CREATE_TABLE_PARTITION,
        "CREATE TABLE … (LIKE parent INCLUDING ALL), then ATTACH PARTITION",
    ),
    (
        &forms::REFRESH,
        "CONCURRENTLY, where the view has a unique index",
    ),
    (
        &forms::ATTACH,
        "a valid CHECK of the bounds on the partition first: no scan then",
    ),
    (&forms::WRITES, "for many rows: batches, each committed"),
    (&forms::VACUUM_FULL, "PostgreSQL has no online form"),
    (&forms::CLUSTER, "PostgreSQL has no online form"),
    (&forms::SET_LOGGED, "PostgreSQL has no online form"),
];

/// What can be done instead by hand.
pub fn advice(form: &Form) -> Option<&'static str> {
    ADVICE
        .iter()
        .find(|(of, _)| *of == form)
        .map(|(_, words)| *words)
}

/// The statements that do the same online; `None`: there is no such form, or pgdyno does not make it.
pub fn statements(text: &str, actions: &[Action], version: u32) -> Option<Vec<String>> {
    if !psql::several(text).is_empty() {
        return None;
    }
    match actions {
        [only] if only.is(&forms::CREATE_INDEX) => Some(vec![behind_word(text, "index")?]),
        [only] if only.is(&forms::REINDEX_TABLE) => Some(vec![behind_word(text, "table")?]),
        [only] if only.is(&forms::REINDEX_INDEX) => Some(vec![behind_word(text, "index")?]),
        [only] if only.is(&forms::DETACH) && version >= 14 => {
            Some(vec![format!("{text} CONCURRENTLY")])
        }
        [first, ..] if first.is(&forms::DROP_INDEX) => {
            let tokens = tokens(text);
            let has = |word: &str| tokens.iter().any(|token| token.is(word));
            let if_exists = if has("exists") { "IF EXISTS " } else { "" };
            let one =
                |action: &Action| format!("DROP INDEX CONCURRENTLY {if_exists}{}", action.name);
            (!has("cascade")).then(|| actions.iter().map(one).collect())
        }
        [first, ..] if begins(text, &["alter", "table"]) => alter(text, first, actions),
        _ => None,
    }
}

fn begins(text: &str, words: &[&str]) -> bool {
    let tokens = tokens(text);
    tokens.len() >= words.len() && tokens.iter().zip(words).all(|(token, word)| token.is(word))
}

/// With CONCURRENTLY behind the first such word.
fn behind_word(text: &str, word: &str) -> Option<String> {
    let at = tokens(text).into_iter().find(|token| token.is(word))?.end();
    Some(format!("{} CONCURRENTLY{}", &text[..at], &text[at..]))
}

fn alter(text: &str, first: &Action, actions: &[Action]) -> Option<Vec<String>> {
    let head = &text[..text.find(&first.text).filter(|at| *at > 0)?];
    let mut made = Vec::new();
    let mut is_other = false;
    let mut last = "";
    for action in actions {
        // What a column brings with it is the same words.
        if std::mem::replace(&mut last, &action.text) == action.text {
            continue;
        }
        let online = of_action(head, action);
        is_other |= online.is_some();
        made.extend(online.unwrap_or_else(|| vec![format!("{head}{}", action.text)]));
    }
    is_other.then_some(made)
}

fn of_action(head: &str, action: &Action) -> Option<Vec<String>> {
    let form = action.form?;
    let Action {
        name,
        text,
        relation,
        ..
    } = action;
    let is_constraint = begins(text, &["add", "constraint"]);
    if form == &forms::SET_NOT_NULL {
        let check: String = plain(name)
            .chars()
            .map(|c| if c.is_alphanumeric() { c } else { '_' })
            .collect();
        let check = format!("pgdyno_{check}_not_null");
        return Some(vec![
            format!("{head}ADD CONSTRAINT {check} CHECK ({name} IS NOT NULL) NOT VALID"),
            format!("{head}VALIDATE CONSTRAINT {check}"),
            format!("{head}{text}"),
            format!("{head}DROP CONSTRAINT {check}"),
        ]);
    }
    if !is_constraint || name.is_empty() {
        return None;
    }
    if [
        &forms::ADD_CHECK,
        &forms::ADD_FOREIGN_KEY,
        &forms::ADD_NOT_NULL,
    ]
    .contains(&form)
    {
        return Some(vec![
            format!("{head}{text} NOT VALID"),
            format!("{head}VALIDATE CONSTRAINT {name}"),
        ]);
    }
    if form == &forms::ADD_UNIQUE {
        // ADD CONSTRAINT name UNIQUE|PRIMARY KEY (columns): more than that is not made.
        let tokens = tokens(text);
        let open = tokens.iter().position(|token| token.text == "(")?;
        let is_plain = tokens.last()?.text == ")"
            && tokens.iter().filter(|token| token.text == "(").count() == 1;
        let words: Vec<String> = tokens[..open]
            .iter()
            .map(|token| token.text.to_ascii_lowercase())
            .collect();
        let kind = if words.ends_with(&["primary".to_owned(), "key".to_owned()]) {
            "PRIMARY KEY"
        } else if words.ends_with(&["unique".to_owned()]) {
            "UNIQUE"
        } else {
            return None;
        };
        let columns = &text[tokens[open].at..];
        return is_plain.then(|| {
            vec![
                format!("CREATE UNIQUE INDEX CONCURRENTLY {name} ON {relation} {columns}"),
                format!("{head}ADD CONSTRAINT {name} {kind} USING INDEX {name}"),
            ]
        });
    }
    None
}

/// The migration with each statement in its online form, which is in no transaction with others; `None`: there is
/// none for any.
pub fn migration(of: &Migration, version: u32, known: Known<'_>) -> Option<Vec<Group>> {
    let mut proofs = Proofs::default();
    let mut groups: Vec<Group> = Vec::new();
    let mut is_other = false;
    for group in &of.up {
        let mut kept = Group {
            statements: Vec::new(),
            ..group.clone()
        };
        for statement in &group.statements {
            let actions = actions(&statement.text, version, known, &mut proofs);
            let Some(online) = statements(&statement.text, &actions, version) else {
                kept.statements.push(statement.clone());
                continue;
            };
            is_other = true;
            groups.push(std::mem::replace(
                &mut kept,
                Group {
                    statements: Vec::new(),
                    ..group.clone()
                },
            ));
            groups.push(Group {
                begin: None,
                end: String::new(),
                statements: online
                    .into_iter()
                    .map(|text| Statement {
                        text,
                        ..statement.clone()
                    })
                    .collect(),
            });
        }
        groups.push(kept);
    }
    groups.retain(|group| !group.statements.is_empty());
    is_other.then_some(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn online(text: &str) -> Option<Vec<String>> {
        let actions = actions(text, 18, &mut |_, _| None, &mut Proofs::default());
        statements(text, &actions, 18)
    }

    #[test]
    fn each_online_form_is_made_as_the_manual_has_it() {
        for (text, want) in [
            (
                "CREATE UNIQUE INDEX i ON t (a)",
                &["CREATE UNIQUE INDEX CONCURRENTLY i ON t (a)"][..],
            ),
            (
                "DROP INDEX IF EXISTS s.i, j",
                &[
                    "DROP INDEX CONCURRENTLY IF EXISTS s.i",
                    "DROP INDEX CONCURRENTLY IF EXISTS j",
                ],
            ),
            ("REINDEX TABLE t", &["REINDEX TABLE CONCURRENTLY t"]),
            (
                "ALTER TABLE p DETACH PARTITION q",
                &["ALTER TABLE p DETACH PARTITION q CONCURRENTLY"],
            ),
            (
                "ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0)",
                &[
                    "ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0) NOT VALID",
                    "ALTER TABLE t VALIDATE CONSTRAINT c",
                ],
            ),
            (
                "ALTER TABLE t ADD COLUMN b int, ADD CONSTRAINT f FOREIGN KEY (b) REFERENCES r (id) ON DELETE CASCADE",
                &[
                    "ALTER TABLE t ADD COLUMN b int",
                    "ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (b) REFERENCES r (id) ON DELETE CASCADE NOT VALID",
                    "ALTER TABLE t VALIDATE CONSTRAINT f",
                ],
            ),
            (
                "ALTER TABLE t ADD CONSTRAINT u UNIQUE (a, b)",
                &[
                    "CREATE UNIQUE INDEX CONCURRENTLY u ON t (a, b)",
                    "ALTER TABLE t ADD CONSTRAINT u UNIQUE USING INDEX u",
                ],
            ),
            (
                "ALTER TABLE ONLY t ALTER \"C d\" SET NOT NULL",
                &[
                    "ALTER TABLE ONLY t ADD CONSTRAINT pgdyno_C_d_not_null CHECK (\"C d\" IS NOT NULL) NOT VALID",
                    "ALTER TABLE ONLY t VALIDATE CONSTRAINT pgdyno_C_d_not_null",
                    "ALTER TABLE ONLY t ALTER \"C d\" SET NOT NULL",
                    "ALTER TABLE ONLY t DROP CONSTRAINT pgdyno_C_d_not_null",
                ],
            ),
        ] {
            assert_eq!(online(text).as_deref().unwrap_or_default(), want, "{text}");
        }
        for text in [
            "ALTER TABLE t ADD CHECK (a > 0)",
            "ALTER TABLE t ADD CONSTRAINT u UNIQUE (a) DEFERRABLE",
            "ALTER TABLE t ADD CONSTRAINT e EXCLUDE USING gist (a WITH =)",
            "ALTER TABLE t ADD COLUMN b int",
            "DROP INDEX i CASCADE",
            "VACUUM FULL t",
            "CREATE INDEX i ON t (a); CREATE INDEX j ON t (a)",
        ] {
            assert_eq!(online(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_online_leaves_its_transaction_and_the_others_stay_in_theirs() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1_x.up.sql");
        std::fs::write(&path, "A; CREATE INDEX i ON t (a); B; C;").unwrap();
        let read = crate::read(&path).unwrap();
        let made = migration(&read, 18, &mut |_, _| None).unwrap();
        let shape: Vec<(bool, usize)> = made
            .iter()
            .map(|group| (group.begin.is_some(), group.statements.len()))
            .collect();
        assert_eq!(shape, [(true, 1), (false, 1), (true, 2)]);
        std::fs::write(&path, "A; B;").unwrap();
        assert_eq!(
            migration(&crate::read(&path).unwrap(), 18, &mut |_, _| None),
            None
        );
    }
}
