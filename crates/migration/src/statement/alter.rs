//! ALTER: the actions of ALTER TABLE, each a form of the table, and ALTER of other things.

use super::{Action, Cursor, Known, Proof, Proofs, has, is_call, plain, types};
use crate::forms::{self, Form, Role};
use crate::tokens::Token;

/// Functions whose value differs from row to row (`pg_proc.provolatile`).
const VOLATILE: [&str; 10] = [
    "random",
    "clock_timestamp",
    "timeofday",
    "nextval",
    "gen_random_uuid",
    "uuid_generate_v1",
    "uuid_generate_v4",
    "uuidv4",
    "uuidv7",
    "random_normal",
];
/// Those that have one value in a statement, or always.
const STEADY: [&str; 16] = [
    "now",
    "statement_timestamp",
    "transaction_timestamp",
    "current_setting",
    "lower",
    "upper",
    "coalesce",
    "to_date",
    "to_timestamp",
    "date_trunc",
    "make_interval",
    "array",
    "row",
    "jsonb_build_object",
    "json_build_object",
    "md5",
];
/// What ends a default among a column's other words.
const AFTER_DEFAULT: [&str; 10] = [
    "not",
    "null",
    "check",
    "unique",
    "primary",
    "references",
    "constraint",
    "generated",
    "collate",
    "deferrable",
];

pub fn table(
    cursor: &mut Cursor<'_>,
    version: u32,
    known: Known<'_>,
    proofs: &mut Proofs,
) -> Vec<Action> {
    let text = cursor.text;
    cursor.takes(&["alter"]);
    cursor.takes(&["foreign"]);
    cursor.takes(&["table"]);
    if cursor.takes(&["all"]) {
        return vec![Action::unknown(text)];
    }
    let mut of = Table {
        name: cursor.relation(),
        version,
        known,
        proofs,
    };
    let mut all = Vec::new();
    for tokens in by_commas(cursor.rest()) {
        let Some((first, last)) = tokens.first().zip(tokens.last()) else {
            continue;
        };
        let words = &text[first.at..last.end()];
        let mut action = Cursor {
            text,
            tokens,
            at: 0,
        };
        all.extend(of.action(&mut action, words));
    }
    if all.is_empty() {
        all.push(Action::unknown(text));
    }
    all
}

/// Cut at the commas that are in no parentheses.
fn by_commas<'a>(tokens: &'a [Token<'a>]) -> Vec<&'a [Token<'a>]> {
    let mut depth = 0_i32;
    let of = |token: &Token<'_>| {
        depth += match token.text {
            "(" | "[" => 1,
            ")" | "]" => -1,
            _ => 0,
        };
        depth == 0 && token.text == ","
    };
    tokens.split(of).collect()
}

struct Table<'a> {
    name: String,
    version: u32,
    known: Known<'a>,
    proofs: &'a mut Proofs,
}

impl Table<'_> {
    fn one(&self, form: &'static Form, words: &str) -> Action {
        Action::of(form, words).on(Role::Table, &self.name)
    }

    fn action(&mut self, cursor: &mut Cursor<'_>, words: &str) -> Vec<Action> {
        let one = |form| vec![self.one(form, words)];
        let with = |form, role, name: &str| vec![self.one(form, words).on(role, name)];
        // Names of relations besides the table are more than names.
        let parent = |form, role, cursor: &mut Cursor<'_>| {
            let other = cursor.relation();
            vec![Action {
                relation: self.name.clone(),
                ..Action::of(form, words)
                    .on(Role::Parent, &self.name)
                    .on(role, &other)
                    .named(&other)
            }]
        };
        match cursor.next_word().as_str() {
            "add" => self.add(cursor, words),
            "drop" => {
                let is_constraint = cursor.takes(&["constraint"]);
                if !is_constraint {
                    cursor.takes(&["column"]);
                }
                cursor.takes(&["if", "exists"]);
                let form = if is_constraint {
                    &forms::DROP_CONSTRAINT
                } else {
                    &forms::DROP_COLUMN
                };
                vec![self.one(form, words).named(&cursor.name())]
            }
            "alter" if cursor.takes(&["constraint"]) => one(&forms::ALTER_CONSTRAINT),
            "alter" => {
                cursor.takes(&["column"]);
                let column = cursor.name();
                let form = self.column(cursor, &column);
                let action =
                    form.map_or_else(|| Action::unknown(words), |form| self.one(form, words));
                vec![action.named(&column)]
            }
            "validate" => {
                cursor.takes(&["constraint"]);
                let name = cursor.name();
                let (table, constraint) = (plain(&self.name), plain(&name));
                let proofs = self.proofs.0.iter_mut();
                for proof in proofs.filter(|it| it.table == table && it.constraint == constraint) {
                    proof.is_valid = true;
                }
                vec![self.one(&forms::VALIDATE, words).named(&name)]
            }
            "rename" => one(&forms::RENAME),
            "owner" => one(&forms::OWNER),
            "enable" | "disable" => {
                cursor.takes_one_of(&["always", "replica"]);
                match cursor.next_word().as_str() {
                    "trigger" => one(&forms::TRIGGERS),
                    "rule" => one(&forms::RULES),
                    _ => one(&forms::ROW_SECURITY),
                }
            }
            "force" => one(&forms::ROW_SECURITY),
            "no" if cursor.takes(&["force"]) => one(&forms::ROW_SECURITY),
            "no" if cursor.takes(&["inherit"]) => {
                with(&forms::NO_INHERIT, Role::Parent, &cursor.relation())
            }
            "inherit" => with(&forms::INHERIT, Role::Parent, &cursor.relation()),
            "replica" => one(&forms::REPLICA_IDENTITY),
            "cluster" => one(&forms::CLUSTER_ON),
            "attach" => {
                cursor.takes(&["partition"]);
                parent(&forms::ATTACH, Role::Partition, cursor)
            }
            "detach" => {
                cursor.takes(&["partition"]);
                let form = if has(cursor.rest(), &["concurrently"]) {
                    &forms::DETACH_CONCURRENTLY
                } else if has(cursor.rest(), &["finalize"]) {
                    &forms::DETACH_FINALIZE
                } else if self.version < 14 {
                    &forms::DETACH_13
                } else {
                    &forms::DETACH
                };
                parent(form, Role::Partition, cursor)
            }
            "set" | "reset" => match cursor.next_word().as_str() {
                "schema" => one(&forms::SET_SCHEMA),
                "without" if cursor.takes(&["cluster"]) => one(&forms::CLUSTER_ON),
                "logged" | "unlogged" => one(&forms::SET_LOGGED),
                "tablespace" => one(&forms::SET_TABLESPACE),
                "access" => one(&forms::SET_ACCESS_METHOD),
                "(" if cursor.has(&["user_catalog_table"]) => one(&forms::SET_CATALOG_PARAMETER),
                "(" => one(&forms::SET_PARAMETERS),
                _ => vec![Action::unknown(words)],
            },
            _ => vec![Action::unknown(words)],
        }
    }

    /// The form of `ALTER COLUMN …`, behind the column's name.
    fn column(&mut self, cursor: &mut Cursor<'_>, column: &str) -> Option<&'static Form> {
        let verb = cursor.next_word();
        if verb == "type" {
            return Some(self.new_type(cursor, column));
        }
        let what = cursor.next_word();
        Some(match (verb.as_str(), what.as_str()) {
            ("set", "data") if cursor.takes(&["type"]) => self.new_type(cursor, column),
            ("set" | "drop", "default") => &forms::SET_DEFAULT,
            ("set", "not") => {
                let (table, column) = (plain(&self.name), plain(column));
                let mut proofs = self.proofs.0.iter();
                if proofs.any(|it| it.is_valid && it.table == table && it.column == column) {
                    &forms::SET_NOT_NULL_PROVED
                } else {
                    &forms::SET_NOT_NULL
                }
            }
            ("drop", "not") => &forms::DROP_NOT_NULL,
            ("set", "statistics") | ("set" | "reset", "(") => &forms::SET_STATISTICS,
            ("set", "storage") => &forms::SET_STORAGE,
            ("set", "compression") => &forms::SET_COMPRESSION,
            ("add", "generated") | ("drop", "identity") | ("set", "generated") | ("restart", _) => {
                &forms::IDENTITY
            }
            ("set", "start" | "increment" | "minvalue" | "maxvalue" | "cache" | "cycle" | "no") => {
                &forms::IDENTITY
            }
            ("drop", "expression") => &forms::DROP_EXPRESSION,
            ("set", "expression") => &forms::SET_EXPRESSION,
            _ => return None,
        })
    }

    fn new_type(&mut self, cursor: &mut Cursor<'_>, column: &str) -> &'static Form {
        let rest = cursor.rest();
        let using = rest.iter().position(|token| token.is("using"));
        let type_tokens = &rest[..using.unwrap_or(rest.len())];
        let collates = type_tokens.iter().position(|token| token.is("collate"));
        let type_tokens = &type_tokens[..collates.unwrap_or(type_tokens.len())];
        let Some((first, last)) = type_tokens.first().zip(type_tokens.last()) else {
            return &forms::SET_TYPE;
        };
        let new = &cursor.text[first.at..last.end()];
        // An expression of more than the column and a cast is computed for each row.
        let is_plain = using.is_none_or(|at| {
            let expression = &rest[at + 1..];
            let is_column = expression
                .first()
                .is_some_and(|token| plain(token.text) == plain(column));
            is_column && expression.get(1).is_none_or(|token| token.text == "::")
        });
        if !is_plain {
            return &forms::SET_TYPE_REWRITE;
        }
        let old = (self.known)(&self.name, column);
        match old.and_then(|old| types::keeps_rows(&old, new)) {
            Some(true) => &forms::SET_TYPE_COERCIBLE,
            Some(false) => &forms::SET_TYPE_REWRITE,
            None => &forms::SET_TYPE,
        }
    }

    fn add(&mut self, cursor: &mut Cursor<'_>, words: &str) -> Vec<Action> {
        let from = cursor.at;
        let name = if cursor.takes(&["constraint"]) {
            cursor.name()
        } else {
            String::new()
        };
        let is_valid = !has(cursor.rest(), &["not", "valid"]);
        let by = |valid, not_valid| if is_valid { valid } else { not_valid };
        let one = |form| vec![self.one(form, words).named(&name)];
        if cursor.takes(&["check"]) {
            if let Some(column) = not_null(cursor.clone().parenthesis()) {
                self.proofs.0.push(Proof {
                    table: plain(&self.name),
                    column: plain(column),
                    constraint: plain(&name),
                    is_valid,
                });
            }
            return vec![
                self.one(by(&forms::ADD_CHECK, &forms::ADD_CHECK_NOT_VALID), words)
                    .named(&name),
            ];
        }
        if cursor.takes(&["foreign", "key"]) {
            cursor.goes_behind(&["references"]);
            let action = self.one(
                by(&forms::ADD_FOREIGN_KEY, &forms::ADD_FOREIGN_KEY_NOT_VALID),
                words,
            );
            return vec![action.on(Role::Referenced, &cursor.relation()).named(&name)];
        }
        if cursor.takes(&["not", "null"]) {
            return one(by(&forms::ADD_NOT_NULL, &forms::ADD_NOT_NULL_NOT_VALID));
        }
        let is_primary = cursor.takes(&["primary", "key"]);
        if is_primary || cursor.takes_one_of(&["unique", "exclude"]) {
            if cursor.takes(&["using", "index"]) {
                let form = if is_primary {
                    &forms::ADD_PRIMARY_USING
                } else {
                    &forms::ADD_UNIQUE_USING
                };
                let index = cursor.name();
                return vec![self.one(form, words).on(Role::Index, &index).named(&name)];
            }
            return one(&forms::ADD_UNIQUE);
        }
        cursor.at = from;
        cursor.takes(&["column"]);
        cursor.takes(&["if", "not", "exists"]);
        let column = cursor.name();
        self.new_column(cursor, words, &column)
    }

    fn new_column(&self, cursor: &mut Cursor<'_>, words: &str, column: &str) -> Vec<Action> {
        let rest = cursor.rest();
        let default = rest
            .iter()
            .position(|token| token.is("default"))
            .map(|at| default_of(&rest[at + 1..]));
        let is_serial = rest.first().is_some_and(|token| {
            [
                "serial",
                "bigserial",
                "smallserial",
                "serial4",
                "serial8",
                "serial2",
            ]
            .iter()
            .any(|word| token.is(word))
        });
        let is_generated = has(rest, &["generated"]);
        let is_stored = !has(rest, &["virtual"]) && (has(rest, &["stored"]) || self.version < 18);
        let form = if is_serial || has(rest, &["as", "identity"]) || is_generated && is_stored {
            &forms::ADD_COLUMN_REWRITE
        } else if is_generated {
            &forms::ADD_COLUMN_VIRTUAL
        } else {
            match default {
                Some(Volatility::Volatile) => &forms::ADD_COLUMN_REWRITE,
                Some(Volatility::Unknown) => &forms::ADD_COLUMN_DEFAULT_UNKNOWN,
                Some(Volatility::Steady) | None => &forms::ADD_COLUMN,
            }
        };
        let mut all = vec![self.one(form, words).named(column)];
        if has(rest, &["check"]) {
            all.push(self.one(&forms::ADD_CHECK, words).named(column));
        }
        if has(rest, &["unique"]) || has(rest, &["primary", "key"]) {
            all.push(self.one(&forms::ADD_UNIQUE, words).named(column));
        }
        if cursor.goes_behind(&["references"]) {
            let form = if default.is_none() {
                &forms::ADD_COLUMN_REFERENCES
            } else {
                &forms::ADD_FOREIGN_KEY
            };
            all.push(
                self.one(form, words)
                    .on(Role::Referenced, &cursor.relation())
                    .named(column),
            );
        }
        all
    }
}

/// The column of `(column IS NOT NULL)`.
fn not_null<'a>(tokens: &[Token<'a>]) -> Option<&'a str> {
    match tokens {
        [open, column, is, not, null, close]
            if open.text == "("
                && is.is("is")
                && not.is("not")
                && null.is("null")
                && close.text == ")" =>
        {
            Some(column.text)
        }
        _ => None,
    }
}

#[derive(Clone, Copy)]
enum Volatility {
    Steady,
    Volatile,
    Unknown,
}

/// How the expression at the start of these words changes from row to row.
fn default_of(tokens: &[Token<'_>]) -> Volatility {
    let mut depth = 0_i32;
    let mut found = Volatility::Steady;
    for at in 0..tokens.len() {
        let token = &tokens[at];
        match token.text {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 && at > 0 && AFTER_DEFAULT.iter().any(|word| token.is(word)) {
            break;
        }
        // A cast to a type with a length is no call.
        let is_type = at > 0 && tokens[at - 1].text == "::";
        if is_call(tokens, at) && !is_type {
            let name = token.text.to_ascii_lowercase();
            if VOLATILE.contains(&name.as_str()) {
                return Volatility::Volatile;
            }
            if !STEADY.contains(&name.as_str()) {
                found = Volatility::Unknown;
            }
        }
    }
    found
}

/// ALTER of anything but a table; the word is passed.
pub fn other(cursor: &mut Cursor<'_>) -> Action {
    let text = cursor.text;
    let of = |form| Action::of(form, text);
    match cursor.next_word().as_str() {
        "index" => {
            let name = cursor.relation();
            if cursor.takes(&["rename"]) {
                return of(&forms::ALTER_INDEX_RENAME).on(Role::Index, &name);
            }
            if cursor.takes(&["attach", "partition"]) {
                let part = cursor.relation();
                return of(&forms::ALTER_INDEX_ATTACH)
                    .on(Role::Index, &name)
                    .on(Role::Partition, &part);
            }
            if cursor.takes(&["set", "("]) || cursor.takes(&["reset", "("]) {
                return of(&forms::ALTER_INDEX_SET).on(Role::Index, &name);
            }
            Action::unknown(text)
        }
        "view" => of(&forms::ALTER_VIEW).on(Role::View, &cursor.relation()),
        "materialized" if cursor.takes(&["view"]) => {
            of(&forms::ALTER_VIEW).on(Role::View, &cursor.relation())
        }
        "sequence" => {
            let name = cursor.relation();
            let is_of_catalog = cursor.takes(&["rename"])
                || cursor.takes(&["owner"]) && cursor.takes(&["to"])
                || cursor.takes(&["set", "schema"]);
            let form = if is_of_catalog {
                &forms::ALTER_SEQUENCE_RENAME
            } else {
                &forms::ALTER_SEQUENCE
            };
            of(form).on(Role::Sequence, &name)
        }
        "trigger" => {
            let name = cursor.name();
            cursor.takes(&["on"]);
            of(&forms::RENAME_TRIGGER)
                .on(Role::Table, &cursor.relation())
                .named(&name)
        }
        "policy" => {
            let name = cursor.name();
            cursor.takes(&["on"]);
            of(&forms::POLICY)
                .on(Role::Table, &cursor.relation())
                .named(&name)
        }
        "type" => {
            cursor.name();
            let is_value = cursor.takes(&["add", "value"]) || cursor.takes(&["rename", "value"]);
            if is_value {
                of(&forms::ENUM_VALUE)
            } else if has(cursor.rest(), &["attribute"]) {
                // Tables of the type are changed, too.
                Action::unknown(text)
            } else {
                of(&forms::NO_TABLE)
            }
        }
        "domain" => {
            cursor.name();
            let reads = cursor.takes(&["add"]) || cursor.takes(&["set", "not", "null"]);
            if has(cursor.rest(), &["constraint"]) && cursor.takes(&["validate"]) {
                Action::unknown(text)
            } else if reads && !has(cursor.rest(), &["not", "valid"]) {
                of(&forms::ALTER_DOMAIN)
            } else {
                of(&forms::NO_TABLE)
            }
        }
        "publication" if cursor.goes_behind(&["table"]) => {
            let name = cursor.relation();
            of(&forms::ADD_PUBLICATION_TABLE).on(Role::Table, &name)
        }
        // Scripts, and what belongs to a table that is not named.
        "extension" | "statistics" | "large" | "tablespace" => Action::unknown(text),
        _ => of(&forms::NO_TABLE),
    }
}
