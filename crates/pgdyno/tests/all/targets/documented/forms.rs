//! The lists of what a product takes, by version: `cockroachdb.toml`, `yugabytedb.toml`.
//!
//! A form is a pattern: words stand for themselves, `{id}` is an identifier, `{number}`, `{text}` and
//! `{value}` are literals (the last also a parameter or NULL), `{any}` is whatever has its brackets closed,
//! `{setting}` the name of a listed setting. `{name}` is any form of the part `name`, `{name*}` a list of them
//! with commas between them. Of what `{any}` represents, functions, types and the relations of catalogs must be
//! on the list as names.

use serde::Deserialize;

use super::tokens::{self, Kind, Token};

/// A version, such as 22.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Version(u32, u32);

impl TryFrom<String> for Version {
    type Error = String;

    fn try_from(text: String) -> Result<Version, String> {
        let number = |text: &str| text.parse().map_err(|e| format!("{text}: {e}"));
        let (major, minor) = text.split_once('.').ok_or_else(|| text.clone())?;
        Ok(Version(number(major)?, number(minor)?))
    }
}

/// Where a fact is from, and for which versions it holds.
#[derive(Debug, Deserialize)]
pub struct Cited {
    /// The first version that has it.
    pub since: Option<Version>,
    /// The first version that has it no more.
    pub until: Option<Version>,
    /// A page of the documentation, or a path of the product's repository, with version or commit.
    pub source: String,
}

impl Cited {
    pub fn is_in(&self, version: Version) -> bool {
        self.since.is_none_or(|since| version >= since)
            && self.until.is_none_or(|until| version < until)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forms {
    /// How the product answers what it does not know.
    pub unknown: Unknown,
    pub release: Vec<Release>,
    /// What the database behind it has to have: statements for PostgreSQL.
    pub setup: Vec<Setup>,
    pub form: Vec<Form>,
    pub name: Vec<Name>,
    pub view: Vec<View>,
    pub error: Vec<Reworded>,
    pub metric: Vec<Metric>,
}

/// SQLSTATE and text for what a version lacks; `{0}` is what that is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unknown {
    pub form: [String; 2],
    pub relation: [String; 2],
    pub function: [String; 2],
    #[serde(rename = "type")]
    pub type_: [String; 2],
    pub setting: [String; 2],
    pub source: String,
}

/// A version that can be played.
#[derive(Debug, Deserialize)]
pub struct Release {
    pub number: Version,
    pub version: String,
    /// Parameters that a session learns when it starts.
    pub parameters: Vec<[String; 2]>,
    /// Whether a session learns no process and no key to cancel by (BackendKeyData).
    #[serde(default)]
    pub has_no_key: bool,
    pub source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    since: Option<Version>,
    until: Option<Version>,
    pub sql: String,
}

impl Setup {
    pub fn is_in(&self, version: Version) -> bool {
        self.since.is_none_or(|since| version >= since)
            && self.until.is_none_or(|until| version < until)
    }
}

#[derive(Debug, Deserialize)]
pub struct Form {
    /// The part that it is a form of; none: a statement.
    #[serde(default)]
    pub part: String,
    pub sql: String,
    /// What PostgreSQL is asked in its place; `{1}` is what the first `{…}` of the form represents.
    pub instead: Option<String>,
    /// Statements for PostgreSQL before it.
    #[serde(default)]
    pub before: Vec<String>,
    #[serde(flatten)]
    pub cited: Cited,
}

/// What a name is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Named {
    Function,
    Relation,
    Type,
    Setting,
    /// One that PostgreSQL has not.
    Operator,
    /// A keyword that PostgreSQL has not.
    Word,
}

#[derive(Debug, Deserialize)]
pub struct Name {
    pub is: Named,
    pub names: Vec<String>,
    /// What PostgreSQL has in its place.
    #[serde(rename = "as")]
    pub as_: Option<String>,
    #[serde(flatten)]
    pub cited: Cited,
}

/// A relation that PostgreSQL does not have, as a query for it.
#[derive(Debug, Deserialize)]
pub struct View {
    pub name: String,
    pub sql: String,
    #[serde(flatten)]
    pub cited: Cited,
}

/// An error of PostgreSQL's, and how the product words it, one time like this, one time like that.
#[derive(Debug, Deserialize)]
pub struct Reworded {
    pub sqlstate: String,
    #[serde(rename = "as")]
    pub as_: String,
    pub texts: Vec<String>,
    #[serde(flatten)]
    pub cited: Cited,
}

#[derive(Debug, Deserialize)]
pub struct Metric {
    /// The node's port on which the page is: 0 for the first.
    #[serde(default)]
    pub port: usize,
    pub path: String,
    #[serde(rename = "type")]
    pub type_: MetricType,
    pub names: Vec<String>,
    #[serde(flatten)]
    pub cited: Cited,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricType {
    Counter,
    Gauge,
    Histogram,
}

/// What becomes of a statement.
#[derive(Debug, PartialEq, Eq)]
pub enum Judged {
    /// PostgreSQL is asked `before`, unseen, and then this.
    Taken { before: Vec<String>, sql: String },
    /// The version does not have it: SQLSTATE and text.
    Lacking([String; 2]),
    /// Not on the list: what of it.
    Unlisted(String),
}

impl Forms {
    pub fn read(text: &str) -> Forms {
        toml::from_str(text).unwrap_or_else(|e| panic!("{e}"))
    }

    /// What this version does with a statement.
    pub fn judge(&self, statement: &[Token], version: Version) -> Judged {
        let names = match self.names(statement, version) {
            Ok(names) => names,
            Err(judged) => return judged,
        };
        let names = match self.within(&names, version) {
            Ok(names) => names,
            Err(judged) => return judged,
        };
        if let Some(taken) = self.taken(&names, Some(version)) {
            return taken;
        }
        let first = statement.first().map_or("", |token| &token.text);
        match self.taken(&names, None) {
            Some(_) => Judged::Lacking(filled(&self.unknown.form, first)),
            None => Judged::Unlisted("no form of it is listed".to_owned()),
        }
    }

    fn taken(&self, statement: &[Token], version: Option<Version>) -> Option<Judged> {
        let matcher = Matcher {
            forms: self,
            tokens: statement,
            version,
        };
        let forms = self.form.iter().filter(|form| form.part.is_empty());
        forms.filter(|form| matcher.has(form)).find_map(|form| {
            let ends = matcher.form(form, 0);
            let (_, sql) = ends.into_iter().find(|(end, _)| *end == statement.len())?;
            let before = form.before.clone();
            Some(Judged::Taken { before, sql })
        })
    }

    /// The statement with what PostgreSQL has for a statement in brackets: `FROM [SHOW …]`.
    fn within(&self, statement: &[Token], version: Version) -> Result<Vec<Token>, Judged> {
        let is_open = |at: &usize| statement[*at].text == "[" && statement[at - 1].is("from");
        let Some(open) = (1..statement.len()).find(is_open) else {
            return Ok(statement.to_vec());
        };
        let length = statement[open..].iter().position(|token| token.text == "]");
        let close = open + length.unwrap_or(0);
        match self.judge(&statement[open + 1..close], version) {
            Judged::Taken { sql, .. } => {
                let inner = tokens::tokens(&format!("({sql}) AS within"));
                Ok([&statement[..open], &inner, &statement[close + 1..]].concat())
            }
            other => Err(other),
        }
    }

    /// The statement with PostgreSQL's names for the product's own, if all are listed.
    fn names(&self, statement: &[Token], version: Version) -> Result<Vec<Token>, Judged> {
        let mut named = Vec::new();
        let mut at = 0;
        while at < statement.len() {
            let (name, length) = dotted(&statement[at..]);
            let before = at.checked_sub(1).map(|at| &statement[at]);
            let after = statement.get(at + length);
            let is = (length > 0)
                .then(|| named_as(before, &name, after))
                .flatten();
            if is == Some(Named::Function) && self.has_type(&name) {
                at += length;
                named.extend_from_slice(&statement[at - length..at]);
                continue;
            }
            if let Some(text) = self.foreign(&statement[at], version) {
                named.extend(tokens::tokens(text));
                at += 1;
                continue;
            }
            let Some(is) = is else {
                let length = length.max(1);
                named.extend_from_slice(&statement[at..at + length]);
                at += length;
                continue;
            };
            // PostgreSQL's own schema may be named with it.
            let name = name.strip_prefix("pg_catalog.").unwrap_or(&name);
            let all = self.name.iter().filter(|one| {
                one.is == is
                    && one
                        .names
                        .iter()
                        .any(|listed| listed.eq_ignore_ascii_case(name))
            });
            let views = self
                .view
                .iter()
                .filter(|view| is == Named::Relation && view.name == name);
            let cited = all
                .clone()
                .map(|one| &one.cited)
                .chain(views.map(|view| &view.cited));
            let mut there = cited.clone().filter(|cited| cited.is_in(version));
            match (there.next(), cited.count()) {
                (Some(_), _) => {}
                (None, 0) => return Err(Judged::Unlisted(format!("{is:?} {name} is not listed"))),
                (None, _) => return Err(Judged::Lacking(filled(self.unknown.of(is), name))),
            }
            let in_version = all.clone().find(|one| one.cited.is_in(version));
            match in_version.and_then(|one| one.as_.as_ref()) {
                Some(text) => named.extend(tokens::tokens(text)),
                None => named.extend_from_slice(&statement[at..at + length]),
            }
            at += length;
        }
        Ok(named)
    }

    /// Whether this is a type with its size behind it.
    fn has_type(&self, name: &str) -> bool {
        let mut types = self.name.iter().filter(|one| one.is == Named::Type);
        types.any(|one| {
            one.names
                .iter()
                .any(|listed| listed.eq_ignore_ascii_case(name))
        })
    }

    /// What PostgreSQL has for an operator or a keyword that it does not know.
    fn foreign(&self, token: &Token, version: Version) -> Option<&str> {
        let is = match token.kind {
            Kind::Sign => Named::Operator,
            Kind::Word => Named::Word,
            _ => return None,
        };
        let all = self
            .name
            .iter()
            .filter(|one| one.is == is && one.cited.is_in(version));
        let mut all = all.filter(|one| one.names.iter().any(|listed| token.is(listed)));
        all.next()?.as_.as_deref()
    }

    /// Whether this version has the setting; PostgreSQL's name for it.
    pub fn setting(&self, name: &str, version: Option<Version>) -> Option<String> {
        let all = self.name.iter().filter(|one| one.is == Named::Setting);
        let mut all = all.filter(|one| {
            one.names
                .iter()
                .any(|listed| listed.eq_ignore_ascii_case(name))
        });
        let found = all.find(|one| version.is_none_or(|version| one.cited.is_in(version)))?;
        Some(match &found.as_ {
            Some(prefix) => format!("{prefix}{name}"),
            None => name.to_owned(),
        })
    }
}

impl Unknown {
    fn of(&self, is: Named) -> &[String; 2] {
        match is {
            Named::Function => &self.function,
            Named::Relation => &self.relation,
            Named::Type => &self.type_,
            Named::Setting => &self.setting,
            Named::Operator | Named::Word => &self.form,
        }
    }
}

pub fn filled([sqlstate, text]: &[String; 2], name: &str) -> [String; 2] {
    [sqlstate.clone(), text.replace("{0}", name)]
}

/// The name with dots in it that tokens begin with, and how many they are.
fn dotted(tokens: &[Token]) -> (String, usize) {
    let is_name = |at: usize| tokens.get(at).is_some_and(|token| token.kind == Kind::Word);
    if !is_name(0) {
        return (String::new(), 0);
    }
    let mut length = 1;
    while tokens.get(length).is_some_and(|token| token.text == ".") && is_name(length + 1) {
        length += 2;
    }
    let name: String = tokens[..length]
        .iter()
        .map(|token| token.text.as_str())
        .collect();
    (name, length)
}

/// Words before a bracket that is not a function's.
const NO_FUNCTIONS: &str = "lateral and any as all by cascade check coalesce copy conflict distinct else \
    exists extract filter from greatest group having history in into join key least not nullif on or over \
    partition references returning select some then unique using values when where with xor columns \
    explain generated include primary row array index family between like interval set at if";

/// Words before a name of the statement's own, which may have a bracket behind it.
const OWN_NAMES: &[&str] = &[
    "into",
    "table",
    "copy",
    "on",
    "references",
    "exists",
    "as",
    "only",
    "with",
    "index",
    "prepare",
    "execute",
    "procedure",
    "call",
    "truncate",
    "constraint",
];

/// What a name between these two must be listed as; nothing for names of the statement's own.
fn named_as(before: Option<&Token>, name: &str, after: Option<&Token>) -> Option<Named> {
    let lower = name.to_lowercase();
    let follows =
        |words: &[&str]| before.is_some_and(|token| words.iter().any(|word| token.is(word)));
    if follows(&["::"]) {
        return Some(Named::Type);
    }
    let is_catalog = [
        "crdb_internal.",
        "pg_",
        "yb_",
        "information_schema.",
        "system.",
    ]
    .iter()
    .any(|start| lower.starts_with(start));
    let is_call = after.is_some_and(|token| token.text == "(");
    if is_call {
        let is_other =
            NO_FUNCTIONS.split_whitespace().any(|word| word == lower) || follows(OWN_NAMES);
        return (!is_other).then_some(Named::Function);
    }
    (is_catalog && follows(&["from", "join", ","])).then_some(Named::Relation)
}

struct Matcher<'a> {
    forms: &'a Forms,
    tokens: &'a [Token],
    version: Option<Version>,
}

/// Where a piece of a pattern may end, and what it becomes.
type Ends = Vec<(usize, String)>;

impl Matcher<'_> {
    fn has(&self, form: &Form) -> bool {
        self.version.is_none_or(|version| form.cited.is_in(version))
    }

    fn form(&self, form: &Form, at: usize) -> Ends {
        let pattern = tokens::tokens(&form.sql);
        let found = self.sequence(&pattern, at);
        let text = |(end, pieces, stand_for): (usize, Vec<String>, Vec<String>)| {
            let sql = match &form.instead {
                None => pieces.join(" "),
                Some(instead) => {
                    let numbered = stand_for.iter().enumerate();
                    numbered.fold(instead.clone(), |sql, (at, text)| {
                        sql.replace(&format!("{{{}}}", at + 1), text)
                    })
                }
            };
            (end, sql)
        };
        found.into_iter().map(text).collect()
    }

    /// Every way in which the pattern fits: where it ends, its pieces, and what its `{…}` stand for.
    fn sequence(&self, pattern: &[Token], at: usize) -> Vec<(usize, Vec<String>, Vec<String>)> {
        let Some(first) = pattern.first() else {
            return vec![(at, Vec::new(), Vec::new())];
        };
        let (ends, rest, is_piece) = if first.text == "{" {
            let close = pattern.iter().position(|token| token.text == "}");
            let close = close.expect("{ is closed");
            let name: String = pattern[1..close]
                .iter()
                .map(|token| token.text.as_str())
                .collect();
            let ends = match name.strip_suffix('*') {
                Some(name) => self.list(name, at),
                None => self.piece(&name, at),
            };
            (ends, &pattern[close + 1..], true)
        } else {
            let fits = self
                .tokens
                .get(at)
                .is_some_and(|token| token.is(&first.text));
            let ends = fits.then(|| (at + 1, self.tokens[at].text.clone()));
            (ends.into_iter().collect(), &pattern[1..], false)
        };
        let mut found = Vec::new();
        for (end, text) in ends {
            for (last, mut pieces, mut stand_for) in self.sequence(rest, end) {
                pieces.insert(0, text.clone());
                if is_piece {
                    stand_for.insert(0, text.clone());
                }
                found.push((last, pieces, stand_for));
            }
        }
        found
    }

    fn piece(&self, name: &str, at: usize) -> Ends {
        let one = |fits: bool| -> Ends {
            let end = fits.then(|| (at + 1, self.tokens[at].text.clone()));
            end.into_iter().collect()
        };
        let kind = self.tokens.get(at).map(|token| token.kind);
        match name {
            "id" => self.identifier(at).into_iter().collect(),
            "number" => one(kind == Some(Kind::Number)),
            "text" => one(kind == Some(Kind::Text)),
            "value" => self.value(at),
            "setting" => self.setting(at).into_iter().collect(),
            "any" => self.any(at),
            part => {
                let forms = self.forms.form.iter().filter(|form| form.part == part);
                let mut forms = forms.peekable();
                assert!(forms.peek().is_some(), "no part is called {part}");
                let in_version = forms.filter(|form| self.has(form));
                in_version.flat_map(|form| self.form(form, at)).collect()
            }
        }
    }

    fn list(&self, name: &str, at: usize) -> Ends {
        let (mut all, mut latest) = (Ends::new(), self.piece(name, at));
        while !latest.is_empty() {
            all.extend(latest.clone());
            let longer = latest
                .iter()
                .filter(|(end, _)| self.tokens.get(*end).is_some_and(|token| token.text == ","));
            let longer = longer.flat_map(|(end, text)| {
                let next = self.piece(name, end + 1).into_iter();
                next.map(move |(end, more)| (end, format!("{text}, {more}")))
            });
            latest = longer.collect();
        }
        all
    }

    fn identifier(&self, at: usize) -> Option<(usize, String)> {
        let is_name = |at: usize| {
            let token = self.tokens.get(at);
            token.is_some_and(|token| matches!(token.kind, Kind::Word | Kind::Quoted))
        };
        let mut end = is_name(at).then_some(at + 1)?;
        while self.tokens.get(end).is_some_and(|token| token.text == ".") && is_name(end + 1) {
            end += 2;
        }
        let text = self.tokens[at..end].iter().map(|token| token.text.as_str());
        Some((end, text.collect()))
    }

    fn value(&self, at: usize) -> Ends {
        let is_minus = |at: usize| self.tokens.get(at).is_some_and(|token| token.text == "-");
        let (end, sign) = if is_minus(at) {
            (at + 1, "-")
        } else {
            (at, "")
        };
        let Some(token) = self.tokens.get(end) else {
            return Ends::new();
        };
        let is_word = ["null", "true", "false", "on", "off", "default"]
            .iter()
            .any(|word| token.is(word));
        let is_value = is_word || matches!(token.kind, Kind::Number | Kind::Text | Kind::Parameter);
        let value = is_value.then(|| (end + 1, format!("{sign}{}", token.text)));
        value.into_iter().collect()
    }

    fn setting(&self, at: usize) -> Option<(usize, String)> {
        let (end, name) = self.identifier(at)?;
        Some((end, self.forms.setting(&name, self.version)?))
    }

    /// Every end before which all brackets are closed.
    fn any(&self, at: usize) -> Ends {
        let (mut depth, mut ends) = (0, Ends::new());
        for (number, token) in self.tokens.iter().enumerate().skip(at) {
            match token.text.as_str() {
                "(" | "[" => depth += 1,
                ")" | "]" => depth -= 1,
                _ => {}
            }
            if depth < 0 {
                break;
            }
            if depth == 0 {
                ends.push((number + 1, tokens::joined(&self.tokens[at..=number])));
            }
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::super::list;
    use super::*;

    fn judge(product: &str, version: &str, sql: &str) -> Judged {
        let version = Version::try_from(version.to_owned()).unwrap();
        list(product).judge(&tokens::tokens(sql), version)
    }

    fn taken(product: &str, version: &str, sql: &str) -> String {
        match judge(product, version, sql) {
            Judged::Taken { sql, .. } => sql,
            other => panic!("{product} {version}: {sql}: {other:?}"),
        }
    }

    #[test]
    fn what_no_form_has_is_not_taken() {
        for (product, sql) in [
            ("cockroachdb", "VACUUM pgbench_accounts"),
            ("cockroachdb", "COPY t FROM STDIN WITH (FREEZE ON)"),
            (
                "cockroachdb",
                "CREATE TABLE t (k int) WITH (fillfactor = 10)",
            ),
            ("cockroachdb", "CREATE TABLE t (k int) SPLIT INTO 3 TABLETS"),
            ("cockroachdb", "SELECT pg_is_in_recovery()"),
            ("cockroachdb", "SELECT 1 FROM crdb_internal.made_up"),
            ("cockroachdb", "SELECT 1::xml"),
            ("cockroachdb", "SET work_mem = '1MB'"),
            ("cockroachdb", "SELECT * FROM [SHOW EVERYTHING]"),
            ("yugabytedb", "SELECT crdb_internal.cluster_id()"),
            ("yugabytedb", "SHOW node_id"),
            (
                "yugabytedb",
                "COPY t FROM STDIN WITH (ROWS_PER_TRANSACTION many)",
            ),
        ] {
            let judged = judge(product, "24.3", sql);
            assert!(matches!(judged, Judged::Unlisted(_)), "{sql}: {judged:?}");
        }
    }

    #[test]
    fn a_version_refuses_what_came_later_in_its_own_words() {
        let events = "SELECT count(*) FROM crdb_internal.transaction_contention_events";
        let refused = Judged::Lacking([
            "42P01".to_owned(),
            "relation \"crdb_internal.transaction_contention_events\" does not exist".to_owned(),
        ]);
        assert_eq!(judge("cockroachdb", "20.2", events), refused);
        taken("cockroachdb", "22.2", events);
        let set = "SET copy_transaction_quality_of_service = regular";
        assert!(matches!(
            judge("cockroachdb", "22.2", set),
            Judged::Lacking(_)
        ));
        let set_here = "SET documented.copy_transaction_quality_of_service = regular";
        assert_eq!(taken("cockroachdb", "23.2", set), set_here);
    }

    #[test]
    fn postgresql_is_asked_in_its_own_words() {
        for (product, version, sql, instead) in [
            (
                "cockroachdb",
                "23.2",
                "BEGIN ISOLATION LEVEL READ COMMITTED",
                "BEGIN ISOLATION LEVEL SERIALIZABLE",
            ),
            (
                "cockroachdb",
                "24.3",
                "BEGIN ISOLATION LEVEL READ COMMITTED",
                "BEGIN ISOLATION LEVEL READ COMMITTED",
            ),
            (
                "yugabytedb",
                "2024.2",
                "BEGIN ISOLATION LEVEL READ COMMITTED",
                "BEGIN ISOLATION LEVEL REPEATABLE READ",
            ),
            (
                "cockroachdb",
                "23.2",
                "CREATE STATISTICS s FROM t",
                "ANALYZE t",
            ),
            ("cockroachdb", "23.2", "SELECT 7 // 2", "SELECT 7 / 2"),
            (
                "yugabytedb",
                "2.20",
                "create table t (k int not null, primary key (k hash)) split into 6 tablets",
                "CREATE TABLE t (k int not null , primary key ( k ))",
            ),
        ] {
            assert_eq!(taken(product, version, sql), instead);
        }
    }

    #[test]
    fn everything_listed_is_cited() {
        for product in ["cockroachdb", "yugabytedb"] {
            let list = list(product);
            let forms = list.form.iter().map(|form| (&form.sql, &form.cited));
            let names = list.name.iter().map(|name| (&name.names[0], &name.cited));
            let views = list.view.iter().map(|view| (&view.name, &view.cited));
            let errors = list
                .error
                .iter()
                .map(|error| (&error.sqlstate, &error.cited));
            let metrics = list
                .metric
                .iter()
                .map(|metric| (&metric.names[0], &metric.cited));
            let cited = forms.chain(names).chain(views).chain(errors).chain(metrics);
            let cited = cited.map(|(what, cited)| (what, &cited.source));
            let releases = list
                .release
                .iter()
                .map(|release| (&release.version, &release.source));
            let unknown = [(&list.unknown.form[1], &list.unknown.source)];
            for (what, source) in cited.chain(releases).chain(unknown) {
                let places = [
                    "docs ",
                    "pkg/",
                    "docs/",
                    "captured, ",
                    "PostgreSQL 1",
                    "logic_test/",
                    "listed ",
                ];
                let is_cited = places.iter().any(|place| source.contains(place));
                assert!(is_cited, "{product}: {what}: {source}");
            }
        }
    }
}
