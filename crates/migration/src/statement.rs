//! Which forms of the table a statement has, and of which relations.

use serde::Serialize;

use crate::forms::{self, Form, Mode, Role};
use crate::psql;
use crate::tokens::{Kind, Token, tokens};

mod alter;
mod types;

/// What a column's type is, as `format_type` has it; `None` where that is not known.
pub type Known<'a> = &'a mut dyn FnMut(&str, &str) -> Option<String>;

/// A relation of an action and the lock that it takes there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Locked {
    pub role: Role,
    /// As the statement has it.
    pub name: String,
    pub mode: Mode,
}

/// What a statement does: one of several of ALTER TABLE, or all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// `None`: the table does not know it.
    pub form: Option<&'static Form>,
    pub locks: Vec<Locked>,
    /// The table or view that it is about; empty: none.
    pub relation: String,
    /// The column, constraint or index that it names; empty: none.
    pub name: String,
    /// Its words, of an action of ALTER TABLE without the table.
    pub text: String,
}

impl Action {
    fn unknown(text: &str) -> Self {
        Self {
            form: None,
            locks: Vec::new(),
            relation: String::new(),
            name: String::new(),
            text: text.to_owned(),
        }
    }

    fn of(form: &'static Form, text: &str) -> Self {
        Self {
            form: Some(form),
            ..Self::unknown(text)
        }
    }

    /// With the form's lock on this relation.
    fn on(mut self, role: Role, name: &str) -> Self {
        let locks = self.form.map_or(&[][..], |form| form.locks);
        let mode = locks
            .iter()
            .find(|(of, _)| *of == role)
            .map(|(_, mode)| *mode);
        if let Some(mode) = mode.filter(|_| !name.is_empty()) {
            let name = name.to_owned();
            self.locks.push(Locked { role, name, mode });
        }
        if self.relation.is_empty() {
            self.relation = name.to_owned();
        }
        self
    }

    fn named(mut self, name: &str) -> Self {
        self.name = name.to_owned();
        self
    }

    pub(crate) fn is(&self, form: &'static Form) -> bool {
        self.form == Some(form)
    }
}

/// A name without quotes, in lower case unless it has them.
pub(crate) fn plain(name: &str) -> String {
    match name
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    {
        Some(inner) if !inner.contains("\".\"") => inner.replace("\"\"", "\""),
        _ => name.to_lowercase(),
    }
}

/// Columns of which a CHECK of the same file says that they are not null.
#[derive(Debug, Default)]
pub struct Proofs(Vec<Proof>);

#[derive(Debug)]
struct Proof {
    table: String,
    column: String,
    constraint: String,
    is_valid: bool,
}

/// What a statement does, on a server of this major version, behind the statements that left these proofs; of
/// several that are sent as one, what all of them do.
pub fn actions(text: &str, version: u32, known: Known<'_>, proofs: &mut Proofs) -> Vec<Action> {
    let several = psql::several(text);
    if several.is_empty() {
        return of_one(text, version, known, proofs);
    }
    let mut all = Vec::new();
    for statement in &several {
        all.extend(of_one(&statement.text, version, known, proofs));
    }
    all
}

fn of_one(text: &str, version: u32, known: Known<'_>, proofs: &mut Proofs) -> Vec<Action> {
    let tokens = tokens(text);
    let mut cursor = Cursor {
        text,
        tokens: &tokens,
        at: 0,
    };
    let first = |words: &[&str]| {
        words
            .iter()
            .zip(&tokens)
            .filter(|(word, token)| token.is(word))
            .count()
            == words.len()
    };
    if first(&["alter", "table"]) || first(&["alter", "foreign", "table"]) {
        return alter::table(&mut cursor, version, known, proofs);
    }
    match cursor.next_word().as_str() {
        "alter" => vec![alter::other(&mut cursor)],
        "create" => create(&mut cursor),
        "drop" => drop(&mut cursor),
        word => vec_or_unknown(other(word, &mut cursor), text),
    }
}

fn vec_or_unknown(actions: Option<Vec<Action>>, text: &str) -> Vec<Action> {
    actions.unwrap_or_else(|| vec![Action::unknown(text)])
}

#[derive(Clone)]
struct Cursor<'a> {
    text: &'a str,
    tokens: &'a [Token<'a>],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<&'a Token<'a>> {
        self.tokens.get(self.at)
    }

    /// The next token in lower case, which is passed; empty at the end.
    fn next_word(&mut self) -> String {
        let word = self.peek().map(|token| token.text.to_ascii_lowercase());
        self.at += 1;
        word.unwrap_or_default()
    }

    /// Passes these words, if they are next.
    fn takes(&mut self, words: &[&str]) -> bool {
        let is = words.iter().enumerate().all(|(ahead, word)| {
            self.tokens
                .get(self.at + ahead)
                .is_some_and(|token| token.is(word))
        });
        if is {
            self.at += words.len();
        }
        is
    }

    fn takes_one_of(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.takes(&[word]))
    }

    /// Passes a name with its schema; empty: there is none.
    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(token) = self.peek().filter(|token| token.is_name()) {
            name.push_str(token.text);
            self.at += 1;
            if !self.takes(&["."]) {
                break;
            }
            name.push('.');
        }
        name
    }

    /// `[IF EXISTS] [ONLY] name [*]`.
    fn relation(&mut self) -> String {
        self.takes(&["if", "not", "exists"]);
        self.takes(&["if", "exists"]);
        self.takes(&["only"]);
        let name = self.name();
        self.takes(&["*"]);
        name
    }

    /// Names with commas between them.
    fn relations(&mut self) -> Vec<String> {
        let mut all = vec![self.relation()];
        while self.takes(&[","]) {
            all.push(self.relation());
        }
        all.retain(|name| !name.is_empty());
        all
    }

    /// Passes what is in parentheses, if they are next; gives its words.
    fn parenthesis(&mut self) -> &'a [Token<'a>] {
        let from = self.at;
        let mut depth = 0_usize;
        while let Some(token) = self.peek() {
            depth = match token.text {
                "(" => depth + 1,
                ")" => depth.saturating_sub(1),
                _ => depth,
            };
            if depth == 0 && self.at == from {
                return &[];
            }
            self.at += 1;
            if depth == 0 {
                break;
            }
        }
        &self.tokens[from..self.at]
    }

    fn rest(&self) -> &'a [Token<'a>] {
        self.tokens.get(self.at..).unwrap_or_default()
    }

    fn has(&self, words: &[&str]) -> bool {
        has(self.rest(), words)
    }

    /// Goes behind these words, wherever they are; whether they are there.
    fn goes_behind(&mut self, words: &[&str]) -> bool {
        while self.at < self.tokens.len() {
            if self.takes(words) {
                return true;
            }
            self.at += 1;
        }
        false
    }
}

fn has(tokens: &[Token<'_>], words: &[&str]) -> bool {
    tokens
        .windows(words.len())
        .any(|window| window.iter().zip(words).all(|(token, word)| token.is(word)))
}

/// The names behind each of these words.
fn behind(cursor: &Cursor<'_>, words: &[&str]) -> Vec<String> {
    let mut at = cursor.clone();
    let mut names = Vec::new();
    while at.goes_behind(words) {
        if is_no_table(&at) {
            continue;
        }
        let name = at.relation();
        // A function, or a subquery, is no table.
        let is_call =
            at.peek().is_some_and(|token| token.text == "(") && !words.contains(&"references");
        if !name.is_empty() && !is_call && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Whether the word before is one of `IS DISTINCT FROM`, `extract(… FROM …)`, `FOR UPDATE` or `DO UPDATE`.
fn is_no_table(at: &Cursor<'_>) -> bool {
    let before = |ahead: usize, words: &[&str]| {
        let token = at
            .at
            .checked_sub(ahead)
            .and_then(|place| at.tokens.get(place));
        token.is_some_and(|token| words.iter().any(|word| token.is(word)))
    };
    before(2, &["distinct", "for", "do"])
        || before(3, &["("]) && before(4, &["extract", "substring", "trim", "overlay", "position"])
}

/// Tables that a query reads; what WITH names is none.
fn read(cursor: &Cursor<'_>) -> Vec<String> {
    let mut names = behind(cursor, &["from"]);
    names.extend(behind(cursor, &["join"]));
    let tokens = cursor.tokens.windows(3);
    let made = tokens.filter(|of| {
        of[1].is("as")
            && ["(", "materialized", "not"]
                .iter()
                .any(|word| of[2].is(word))
    });
    let made: Vec<String> = made.map(|of| plain(of[0].text)).collect();
    names.retain(|name| !made.contains(&plain(name)));
    names
}

fn reads(cursor: &Cursor<'_>, text: &str) -> Action {
    let locks_rows = [
        ["for", "update"],
        ["for", "share"],
        ["for", "no"],
        ["for", "key"],
    ];
    let form = if locks_rows.iter().any(|words| cursor.has(words)) {
        &forms::READS_TO_LOCK
    } else {
        &forms::READS
    };
    let names = read(cursor);
    names.iter().fold(Action::of(form, text), |action, name| {
        action.on(Role::Read, name)
    })
}

fn of_each(form: &'static Form, text: &str, role: Role, names: &[String]) -> Vec<Action> {
    let one = |name: &String| Action::of(form, text).on(role, name);
    names.iter().map(one).collect()
}

fn create(cursor: &mut Cursor<'_>) -> Vec<Action> {
    let text = cursor.text;
    let replaces = cursor.takes(&["or", "replace"]);
    let of = |form| Action::of(form, text);
    while cursor.takes_one_of(&[
        "temp",
        "temporary",
        "unlogged",
        "global",
        "local",
        "recursive",
        "constraint",
    ]) {}
    if cursor.takes(&["unique"]) || cursor.peek().is_some_and(|token| token.is("index")) {
        cursor.takes(&["index"]);
        let form = if cursor.takes(&["concurrently"]) {
            &forms::CREATE_INDEX_CONCURRENTLY
        } else {
            &forms::CREATE_INDEX
        };
        cursor.takes(&["if", "not", "exists"]);
        let name = if cursor.peek().is_some_and(|token| token.is("on")) {
            String::new()
        } else {
            cursor.name()
        };
        cursor.takes(&["on"]);
        return vec![of(form).on(Role::Table, &cursor.relation()).named(&name)];
    }
    match cursor.next_word().as_str() {
        "table" => create_table(cursor),
        "trigger" => {
            let name = cursor.name();
            cursor.goes_behind(&["on"]);
            vec![
                of(&forms::CREATE_TRIGGER)
                    .on(Role::Table, &cursor.relation())
                    .named(&name),
            ]
        }
        "policy" => {
            let name = cursor.name();
            cursor.goes_behind(&["on"]);
            vec![
                of(&forms::POLICY)
                    .on(Role::Table, &cursor.relation())
                    .named(&name),
            ]
        }
        "rule" => {
            let name = cursor.name();
            cursor.goes_behind(&["to"]);
            vec![
                of(&forms::RULE)
                    .on(Role::Table, &cursor.relation())
                    .named(&name),
            ]
        }
        "view" => {
            let name = cursor.relation();
            let form = if replaces {
                &forms::REPLACE_VIEW
            } else {
                &forms::CREATE_VIEW
            };
            let action = of(form).on(Role::View, &name);
            vec![
                read(cursor)
                    .iter()
                    .fold(action, |action, name| action.on(Role::Read, name)),
            ]
        }
        "materialized" => {
            let action = of(&forms::CREATE_MATERIALIZED_VIEW);
            vec![
                read(cursor)
                    .iter()
                    .fold(action, |action, name| action.on(Role::Read, name)),
            ]
        }
        "statistics" => {
            let names = behind(cursor, &["from"]);
            of_each(&forms::CREATE_STATISTICS, text, Role::Table, &names)
        }
        "publication" if cursor.goes_behind(&["for", "table"]) => {
            let names = cursor.relations();
            of_each(&forms::ADD_PUBLICATION_TABLE, text, Role::Table, &names)
        }
        // It runs a script.
        "extension" => vec![Action::unknown(text)],
        _ => vec![of(&forms::NO_TABLE)],
    }
}

fn create_table(cursor: &mut Cursor<'_>) -> Vec<Action> {
    let text = cursor.text;
    let name = cursor.relation();
    let mut all = vec![Action {
        relation: name.clone(),
        ..Action::of(&forms::CREATE_TABLE, text)
    }];
    if cursor.takes(&["partition", "of"]) {
        all.push(
            Action::of(&forms::CREATE_TABLE_PARTITION, text).on(Role::Parent, &cursor.relation()),
        );
    }
    let is_own = |other: &String| plain(other) == plain(&name);
    for other in behind(cursor, &["references"]) {
        if !is_own(&other) {
            all.push(
                Action::of(&forms::CREATE_TABLE_REFERENCES, text).on(Role::Referenced, &other),
            );
        }
    }
    let mut inherits = cursor.clone();
    if inherits.goes_behind(&["inherits", "("]) {
        let parents = inherits.relations();
        all.extend(of_each(
            &forms::CREATE_TABLE_INHERITS,
            text,
            Role::Parent,
            &parents,
        ));
    }
    let body = cursor.clone().parenthesis();
    for at in 1..body.len() {
        if body[at].is("like") && matches!(body[at - 1].text, "(" | ",") {
            let mut like = Cursor {
                text,
                tokens: &body[at + 1..],
                at: 0,
            };
            all.push(Action::of(&forms::CREATE_TABLE_LIKE, text).on(Role::Read, &like.name()));
        }
    }
    if cursor.goes_behind(&["as"]) && (cursor.has(&["select"]) || cursor.has(&["table"])) {
        let names = read(cursor);
        let action = Action::of(&forms::CREATE_TABLE_AS, text);
        all.push(
            names
                .iter()
                .fold(action, |action, name| action.on(Role::Read, name)),
        );
    }
    all
}

fn drop(cursor: &mut Cursor<'_>) -> Vec<Action> {
    let text = cursor.text;
    let each = |cursor: &mut Cursor<'_>, form, role| {
        let names = cursor.relations();
        of_each(form, text, role, &names)
    };
    let of_table = |cursor: &mut Cursor<'_>, form| {
        cursor.takes(&["if", "exists"]);
        let name = cursor.name();
        cursor.goes_behind(&["on"]);
        vec![
            Action::of(form, text)
                .on(Role::Table, &cursor.relation())
                .named(&name),
        ]
    };
    match cursor.next_word().as_str() {
        "table" => each(cursor, &forms::DROP_TABLE, Role::Table),
        "index" => {
            let form = if cursor.takes(&["concurrently"]) {
                &forms::DROP_INDEX_CONCURRENTLY
            } else {
                &forms::DROP_INDEX
            };
            let names = cursor.relations();
            let one = |name: &String| {
                Action::of(form, text)
                    .on(Role::Index, name)
                    .on(Role::TableOfIndex, name)
                    .named(name)
            };
            names.iter().map(one).collect()
        }
        "view" => each(cursor, &forms::DROP_VIEW, Role::View),
        "materialized" => {
            cursor.takes(&["view"]);
            each(cursor, &forms::DROP_VIEW, Role::View)
        }
        "sequence" => each(cursor, &forms::DROP_SEQUENCE, Role::Sequence),
        "trigger" => of_table(cursor, &forms::DROP_TRIGGER),
        "policy" => of_table(cursor, &forms::POLICY),
        "rule" => of_table(cursor, &forms::RULE),
        // What depends on it goes, too; statistics are of a table that is not named.
        "statistics" | "owned" => vec![Action::unknown(text)],
        _ if cursor.has(&["cascade"]) => vec![Action::unknown(text)],
        _ => vec![Action::of(&forms::NO_TABLE, text)],
    }
}

/// Statements that are known by their first word; `None`: not known.
fn other(word: &str, cursor: &mut Cursor<'_>) -> Option<Vec<Action>> {
    let text = cursor.text;
    let of = |form| Action::of(form, text);
    Some(match word {
        "truncate" => {
            cursor.takes(&["table"]);
            of_each(&forms::TRUNCATE, text, Role::Table, &cursor.relations())
        }
        "vacuum" => {
            let options = cursor.parenthesis();
            let mut is_full = has(options, &["full"])
                && !has(options, &["full", "false"])
                && !has(options, &["full", "off"]);
            while cursor.peek().is_some_and(|token| {
                ["full", "freeze", "verbose", "analyze"]
                    .iter()
                    .any(|w| token.is(w))
            }) {
                is_full |= cursor.next_word() == "full";
            }
            let form = if is_full {
                &forms::VACUUM_FULL
            } else {
                &forms::VACUUM
            };
            tables_or_all(form, cursor)
        }
        "cluster" => {
            cursor.parenthesis();
            cursor.takes(&["verbose"]);
            let mut name = cursor.relation();
            // CLUSTER index ON table, as it was before 8.3.
            if cursor.takes(&["on"]) {
                name = cursor.relation();
            }
            vec![of(&forms::CLUSTER).on(Role::Table, &name)]
        }
        "analyze" | "analyse" => {
            cursor.parenthesis();
            cursor.takes(&["verbose"]);
            tables_or_all(&forms::ANALYZE, cursor)
        }
        "reindex" => {
            let options = cursor.parenthesis();
            let is_index = cursor.takes(&["index"]);
            if !is_index && !cursor.takes(&["table"]) {
                return None;
            }
            let is_concurrent = cursor.takes(&["concurrently"]) || has(options, &["concurrently"]);
            let name = cursor.relation();
            vec![match (is_index, is_concurrent) {
                // Its table, which is not named, has the lock.
                (true, true) => of(&forms::REINDEX_CONCURRENTLY)
                    .on(Role::Index, &name)
                    .named(&name),
                (false, true) => of(&forms::REINDEX_CONCURRENTLY).on(Role::Table, &name),
                (true, false) => of(&forms::REINDEX_INDEX)
                    .on(Role::Index, &name)
                    .on(Role::TableOfIndex, &name)
                    .named(&name),
                (false, false) => of(&forms::REINDEX_TABLE).on(Role::Table, &name),
            }]
        }
        "refresh" => {
            cursor.takes(&["materialized", "view"]);
            let form = if cursor.takes(&["concurrently"]) {
                &forms::REFRESH_CONCURRENTLY
            } else {
                &forms::REFRESH
            };
            vec![of(form).on(Role::View, &cursor.relation())]
        }
        "comment" => {
            cursor.takes(&["on"]);
            let what = cursor.next_word();
            match what.as_str() {
                "table" | "index" | "view" | "sequence" => {
                    vec![of(&forms::COMMENT).on(Role::Table, &cursor.relation())]
                }
                "materialized" | "foreign" => {
                    cursor.next_word();
                    vec![of(&forms::COMMENT).on(Role::Table, &cursor.relation())]
                }
                "column" => {
                    let name = cursor.name();
                    let table = name.rsplit_once('.').map_or("", |(table, _)| table);
                    vec![of(&forms::COMMENT).on(Role::Table, table).named(&name)]
                }
                "constraint" | "trigger" | "rule" | "policy" => {
                    let name = cursor.name();
                    cursor.takes(&["on"]);
                    if cursor.takes(&["domain"]) {
                        return Some(vec![of(&forms::NO_TABLE)]);
                    }
                    vec![
                        of(&forms::COMMENT_ON_PART)
                            .on(Role::Table, &cursor.relation())
                            .named(&name),
                    ]
                }
                _ => vec![of(&forms::NO_TABLE)],
            }
        }
        "lock" => {
            cursor.takes(&["table"]);
            let names = cursor.relations();
            let mode = cursor.takes(&["in"]).then(|| {
                let words: Vec<&str> = cursor
                    .rest()
                    .iter()
                    .take_while(|t| !t.is("mode"))
                    .map(|t| t.text)
                    .collect();
                let words = words.join(" ").to_ascii_uppercase();
                Mode::ALL.into_iter().find(|mode| mode.words() == words)
            });
            let mode = mode.unwrap_or(Some(Mode::AccessExclusive))?;
            let mut all = of_each(&forms::LOCK_TABLE, text, Role::Table, &names);
            all.iter_mut()
                .flat_map(|action| &mut action.locks)
                .for_each(|lock| lock.mode = mode);
            all
        }
        "insert" | "merge" => {
            cursor.takes(&["into"]);
            writes(cursor)
        }
        "update" => writes(cursor),
        "delete" => {
            cursor.takes(&["from"]);
            writes(cursor)
        }
        "copy" => {
            let name = cursor.relation();
            cursor.parenthesis();
            if cursor.takes(&["from"]) {
                vec![of(&forms::WRITES).on(Role::Table, &name)]
            } else {
                vec![of(&forms::READS).on(Role::Read, &name)]
            }
        }
        "select" | "values" | "table" => vec![reads(cursor, text)],
        "with" => {
            let mut all = vec![reads(cursor, text)];
            for words in [
                &["insert", "into"][..],
                &["delete", "from"],
                &["update"],
                &["merge", "into"],
            ] {
                all.extend(of_each(
                    &forms::WRITES,
                    text,
                    Role::Table,
                    &behind(cursor, words),
                ));
            }
            all
        }
        "grant" | "revoke" | "security" | "reassign" | "import" => vec![of(&forms::NO_TABLE)],
        "set" | "reset" | "show" | "savepoint" | "release" | "rollback" | "discard" | "listen"
        | "notify" | "unlisten" | "checkpoint" | "deallocate" => vec![of(&forms::SESSION)],
        _ => return None,
    })
}

fn writes(cursor: &mut Cursor<'_>) -> Vec<Action> {
    let text = cursor.text;
    let mut all = vec![Action::of(&forms::WRITES, text).on(Role::Table, &cursor.relation())];
    let names = read(cursor);
    if !names.is_empty() {
        let action = Action::of(&forms::READS, text);
        all.push(
            names
                .iter()
                .fold(action, |action, name| action.on(Role::Read, name)),
        );
    }
    all
}

/// Of each table that is named; without one it goes through all of them.
fn tables_or_all(form: &'static Form, cursor: &mut Cursor<'_>) -> Vec<Action> {
    let text = cursor.text;
    let mut names = Vec::new();
    loop {
        names.push(cursor.relation());
        cursor.parenthesis();
        if !cursor.takes(&[","]) {
            break;
        }
    }
    if names == [String::new()] {
        return vec![Action {
            relation: "every table".to_owned(),
            ..Action::of(form, text)
        }];
    }
    of_each(form, text, Role::Table, &names)
}

/// Whether a token begins a literal or a number, for defaults.
fn is_call(tokens: &[Token<'_>], at: usize) -> bool {
    tokens[at].kind == Kind::Word && tokens.get(at + 1).is_some_and(|next| next.text == "(")
}

#[cfg(test)]
mod tests;
