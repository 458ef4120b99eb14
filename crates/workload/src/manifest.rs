//! `pack.toml`: what a pack says about itself, read strictly. A key that is not known is an error,
//! so that a typing error never silently changes a measurement.
//!
//! Not for: the other files of a pack (`pack.rs`), running or loading anything.

use std::collections::BTreeMap;
use std::fmt;

use pgdyno_spec::QueryMode;
use serde::Deserialize;

use pgdyno_database::dialect::Feature;
use pgdyno_spec::suggest::with_meant_field;
use toml::de::DeTable;

mod check;
#[cfg(test)]
mod documented;
mod lines;

pub use check::check_made_name;
pub(super) use check::dialects;
pub use lines::Lines;
use lines::Newlines;

/// The manifest's file name inside a pack's folder.
pub const FILE_NAME: &str = "pack.toml";

/// A manifest that has passed every check that needs no other file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The pack's name; for a shipped pack also its folder's.
    pub name: String,
    /// One line for `pack list`.
    pub summary: String,
    /// Words by which `pack list` finds it.
    #[serde(default)]
    pub tags: Vec<String>,
    /// What is measured and what to watch out for, in full sentences.
    #[serde(default)]
    pub description: String,
    /// What a reader of any result must know: a note with each, a template.
    pub notice: Option<String>,
    /// The pack whose tables and parameters this one works on.
    pub uses: Option<String>,
    /// Script that creates the tables, in pgbench's language; a file `STEM.DIALECT.sql` beside it
    /// takes its place on that dialect.
    pub schema: Option<String>,
    /// Script that runs when the rows are in (primary keys, indexes), chosen like `schema`.
    pub after_load: Option<String>,
    /// Script that runs once before a warm-up, chosen like `schema`.
    pub before_warmup: Option<String>,
    /// Script that runs once before a history is recorded, chosen like `schema`.
    pub before_history: Option<String>,
    /// Script that one client runs when a history was recorded: it observes every key once more. Chosen like
    /// `schema`.
    pub after_history: Option<String>,
    /// Texts that templates ([`super::template`]) can name.
    #[serde(default)]
    pub define: BTreeMap<String, String>,
    /// What the user may choose.
    #[serde(default, rename = "param")]
    pub params: Vec<Param>,
    /// What parameters must not be together.
    #[serde(default, rename = "refuse")]
    pub refusals: Vec<Refusal>,
    /// The transactions, in the order in which they are drawn.
    #[serde(default, rename = "script")]
    pub scripts: Vec<ScriptEntry>,
    /// Named alternatives to the scripts' own weights.
    #[serde(default, rename = "mix")]
    pub mixes: Vec<Mix>,
    /// The tables, in the order in which they are filled.
    #[serde(default, rename = "table")]
    pub tables: Vec<Table>,
    #[serde(default, rename = "procedure")]
    pub procedures: Vec<Procedure>,
    /// Work units whose buffers are explained after a run. With any, what the storage layer does is
    /// accounted for: a load leaves nothing to the first reads, and each session hands its statistics
    /// over at its end.
    #[serde(default, rename = "explain")]
    pub explains: Vec<Explain>,
    /// Settings of the server that the clients' sessions begin with.
    #[serde(default, rename = "setting")]
    pub settings: Vec<SessionSetting>,
    /// What must hold of the data, whatever transactions do.
    #[serde(default, rename = "check")]
    pub checks: Vec<CheckEntry>,
    /// What runs show beside the figures of every run.
    #[serde(default, rename = "figure")]
    pub figures: Vec<FigureEntry>,
    /// Where all of it is.
    #[serde(skip)]
    pub lines: Lines,
}

/// A figure that a pack makes of a run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureEntry {
    pub name: String,
    /// What it says, in one sentence.
    pub help: String,
    pub unit: String,
    /// The scripts that it is about; empty: all.
    #[serde(default)]
    pub scripts: Vec<String>,
    /// Expression over the parameters and what these scripts did ([`super::figures`]).
    pub value: String,
    /// Expression for the least that it should be.
    pub at_least: Option<String>,
    /// Expression for the most that it should be.
    pub at_most: Option<String>,
    /// Expression that holds when there were enough transactions to show it.
    pub enough: Option<String>,
    /// Expression over the parameters; the figure is left out where that does not hold.
    pub when: Option<String>,
}

/// What must hold of the data: a query, and what it must return.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckEntry {
    pub name: String,
    /// What holds, in one sentence.
    pub help: String,
    /// `NAME FROM TO`: a check for each number, which its texts know by this name.
    pub each: Option<String>,
    /// The query, one statement, a template; this or `file`.
    pub query: Option<String>,
    /// The file with the query; a file `STEM.DIALECT.sql` beside it takes its place on that dialect.
    pub file: Option<String>,
    /// The value that its first row begins with, a template; without it and `unchanged` the query must
    /// return no row.
    pub returns: Option<String>,
    /// Whether its first value must be what it was before the trial.
    #[serde(default)]
    pub unchanged: bool,
    /// When it is asked; empty: after the trial.
    #[serde(default)]
    pub at: Vec<Moment>,
    /// Seconds between two looks during the trial.
    #[serde(default = "ten_seconds")]
    pub every_s: f64,
    /// Expression over the parameters; it is not asked where that does not hold.
    pub when: Option<String>,
    /// The dialects on which it is asked; none named: all of them.
    #[serde(default)]
    pub only: Vec<String>,
}

/// When a check is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Moment {
    Before,
    /// Now and then while transactions run; each look is one statement and so sees one moment.
    During,
    /// When all transactions have ended.
    After,
}

fn ten_seconds() -> f64 {
    10.0
}

/// A setting of the server that the clients' sessions begin with.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionSetting {
    pub name: String,
    pub value: String,
    /// Expression over the parameters; the setting is left alone where it does not hold.
    pub when: Option<String>,
    /// The dialects that have it; none named: all of them.
    #[serde(default)]
    pub only: Vec<String>,
}

/// Something the user may choose with `--param NAME=VALUE`; a variable in every script of the pack.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Param {
    pub name: String,
    /// Other names that `--param` takes for it.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Value when the user gives none; its type is the parameter's type.
    pub default: Scalar,
    /// Values that take its place on some dialects, by their names.
    #[serde(default)]
    pub default_on: BTreeMap<String, Scalar>,
    pub help: String,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// The only values there are, for texts; empty: any.
    #[serde(default)]
    pub one_of: Vec<String>,
    /// A query of one row and column that tells the value which the loaded tables really have.
    pub loaded: Option<String>,
    /// The same, asked only of tables without pgdyno's mark: where there is one, what it says counts.
    /// Without an answer the default is taken; one that is no value of the parameter refuses the tables.
    pub recognise: Option<String>,
    /// For a number of things that are there: a script of one query that has a row when thing number
    /// `:number` (from 0) is. The first number without one is the value.
    pub count_by: Option<String>,
    /// Whether the tables of a larger value are those of a smaller one with more rows at the end.
    #[serde(default)]
    pub grows: bool,
    /// The dialects that have such a thing; none named: all of them.
    #[serde(default)]
    pub only: Vec<String>,
}

/// A value as TOML writes it; its text is what scripts see.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "an integer, a number, true or false, or a string"
)]
pub enum Scalar {
    Bool(bool),
    /// A whole number of 64 bits.
    Int(i64),
    /// A number with a fraction.
    Double(f64),
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(v) => v.fmt(f),
            Scalar::Int(v) => v.fmt(f),
            Scalar::Double(v) => v.fmt(f),
            Scalar::Text(v) => v.fmt(f),
        }
    }
}

/// One transaction of the workload.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptEntry {
    /// Its name in results and mixes.
    pub name: String,
    /// Its file in the pack's folder.
    pub file: String,
    /// How often it is drawn, relative to the others.
    #[serde(default = "one")]
    pub weight: Weight,
    /// The query modes it can be sent in; empty: all. The first is taken when the user chooses none.
    #[serde(default)]
    pub query_modes: Vec<Mode>,
    /// What it needs of the server that not every product has.
    #[serde(default)]
    pub features: Vec<Feature>,
    /// The pack's procedures that it calls.
    #[serde(default)]
    pub calls: Vec<String>,
    /// The variable that tells, at the end of a transaction, how often the server has tried it again
    /// by itself: from a procedure's OUT parameter, by `\gset`.
    pub retries: Option<String>,
    /// The role of the endpoints that it goes to (`--endpoint-role`), where the run gives some that role.
    pub role: Option<String>,
    /// Whether a transaction has failed when a statement of it finds, changes or adds no row.
    #[serde(default)]
    pub must_find: bool,
    /// The variable that has, when the first statement is sent, the key of the row that the transaction
    /// is about, a whole number: a run's key skew is computed from it.
    pub key: Option<String>,
}

/// How often a script is drawn, relative to the others.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "a whole number that is not negative, or an expression over the parameters"
)]
pub enum Weight {
    Fixed(u32),
    /// An expression over the parameters; the weights of a mix are put in proportion to each other.
    Expression(String),
}

/// Parameters that do not go together.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// Expression over the parameters that holds when they do not.
    pub when: String,
    /// Why, and what to do.
    pub why: String,
    /// It matters only when one of these scripts is drawn; empty: always.
    #[serde(default)]
    pub scripts: Vec<String>,
}

/// A query mode by pgbench's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Values stand in the statement's text.
    Simple,
    /// Parsed each time, values apart.
    Extended,
    /// Parsed once a connection, values apart.
    Prepared,
}

impl From<Mode> for QueryMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Simple => Self::Simple,
            Mode::Extended => Self::Extended,
            Mode::Prepared => Self::Prepared,
        }
    }
}

/// A procedure that scripts call: made before a run when it is not there.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Procedure {
    /// As in SQL, without quotes.
    pub name: String,
    /// `NAME FROM TO`: a procedure for each number, which templates know by this name.
    pub each: Option<String>,
    /// The file with the statement that creates it; a file `STEM.DIALECT.sql` beside
    /// it takes its place on that dialect.
    pub file: String,
}

/// What a work unit reads, by EXPLAIN.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explain {
    /// The operation whose units are counted: what scripts name it in `\\unit` and `\\units`.
    pub unit: String,
    /// A script that makes such units, a statement each, with keys of their own: a hundred or more.
    /// A PREPARE among them is run and not explained.
    /// A file `STEM.DIALECT.sql` beside it takes its place on that dialect.
    pub file: String,
}

fn one() -> Weight {
    Weight::Fixed(1)
}

/// Another set of weights for the same scripts, chosen with `--mix NAME`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    pub name: String,
    #[serde(default)]
    pub help: String,
    /// Weight by script name; a script that is not named is not run. Without any, the scripts' own.
    #[serde(default)]
    pub weights: BTreeMap<String, Weight>,
    /// Values that parameters have in this mix when the user chooses none.
    #[serde(default)]
    pub params: BTreeMap<String, Scalar>,
}

/// One table and the rows it starts with.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// As in SQL, without quotes: it is looked up through the server's search path.
    pub name: String,
    /// `NAME FROM TO`: a table for each number, which `name` and `rows` know by this name.
    pub each: Option<String>,
    /// An expression in pgbench's language for the number of rows. Without one the table starts
    /// empty and is the workload's to grow.
    pub rows: Option<String>,
    /// Files beside `pack.toml` whose rows it gets, with `*` and `?` in the last part; in place of
    /// `rows`.
    pub from: Option<String>,
    /// Whether the first line of each CSV file has the fields' names.
    pub header: Option<bool>,
    /// What separates the fields of a CSV file; a comma without it.
    pub delimiter: Option<String>,
    /// The text that is NULL where it has no quotes; the empty one without it.
    pub null: Option<String>,
    /// What surrounds a field in a CSV file; a double quote without it.
    pub quote: Option<String>,
    /// What precedes a quote within a field; the quote itself without it.
    pub escape: Option<String>,
    /// Whether rows go in by ranges, each with a commit of its own: over several connections at the
    /// same time, and going on where a load was interrupted.
    #[serde(default)]
    pub by_ranges: bool,
    /// Whether each row must have a block to itself, on products whose tables are made of blocks:
    /// looked at after the load.
    #[serde(default)]
    pub row_per_block: bool,
    /// Whether the table may have further columns, which another program gave it.
    #[serde(default)]
    pub more_columns: bool,
    /// The columns that must be there and, when `rows` is given, how each is filled.
    pub columns: Vec<Column>,
    /// Where it is written, for messages.
    #[serde(skip)]
    pub place: String,
}

/// Which field of a file a column takes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "a field's name, or its number from 1")]
pub enum Field {
    /// By its place, from 1.
    Number(u32),
    /// By its name in the header.
    Name(String),
}

impl Table {
    /// Whether it has rows after a load; else it starts empty.
    pub fn is_filled(&self) -> bool {
        self.rows.is_some() || self.from.is_some()
    }
}

/// One column: `value` is an expression over `:row` (from 1) and the parameters, `text` a constant.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    pub name: String,
    /// `NAME FROM TO`: a column for each number, which templates know by this name.
    pub each: Option<String>,
    /// An expression in pgbench's language, evaluated for every row.
    pub value: Option<String>,
    /// The same text in every row.
    pub text: Option<String>,
    /// The field of the table's files that it takes; without this, `value` and `text` the one of its
    /// own name, or in files without names the next.
    pub field: Option<Field>,
    /// Whether it is a variable for the columns behind it, and none of the table's columns.
    #[serde(default)]
    pub hidden: bool,
}

/// What is wrong with a pack, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ManifestError {
    /// The file as the user can find it.
    pub file: String,
    /// Its line, from 1, where it is one line's matter.
    pub line: Option<usize>,
    /// What is wrong and what would be right.
    pub message: String,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for ManifestError {}

/// What a message of TOML's reader begins with when a key is not there.
const MISSING: &str = "missing field ";

/// Mistakes of TOML that are reported of one manifest; most that follow are of the first.
const MISTAKES_MAX: usize = 20;

/// Reads a manifest; `file` is only for messages.
///
/// # Errors
/// The first thing that is wrong.
pub fn parse(file: &str, text: &str) -> Result<Manifest, ManifestError> {
    let (manifest, wrong) = parse_all(file, text);
    match (manifest, wrong.into_iter().next()) {
        (_, Some(first)) => Err(first),
        (Some(manifest), None) => Ok(manifest),
        (None, None) => Err(ManifestError {
            file: file.to_owned(),
            line: None,
            message: "it cannot be read".to_owned(),
        }),
    }
}

/// The same, and all that is wrong; with a mistake of TOML's there is no manifest, unless it is a key that
/// is not known and can be left out.
pub fn parse_all(file: &str, text: &str) -> (Option<Manifest>, Vec<ManifestError>) {
    let mut wrong = Vec::new();
    let mut left = text.to_owned();
    let manifest = loop {
        let error = match toml::from_str::<Manifest>(&left) {
            Ok(manifest) => break Some(manifest),
            Err(error) => error,
        };
        let known = wrong.len();
        // What is missing may just be the key that was mistyped.
        if known > 0 && error.message().starts_with(MISSING) {
            break None;
        }
        wrong.push(toml_error(file, text, &error));
        let may_go_on = known < MISTAKES_MAX && error.message().starts_with("unknown field ");
        let Some(span) = error.span().filter(|_| may_go_on) else {
            break None;
        };
        let end = left[span.start..]
            .find('\n')
            .map_or(left.len(), |n| span.start + n);
        let blank = " ".repeat(end - span.start);
        left.replace_range(span.start..end, &blank);
        if DeTable::parse(&left).is_err() {
            break None;
        }
    };
    wrong.sort_by_key(|error| error.line);
    let lines = Lines::of(text);
    if let Some(manifest) = &manifest {
        let problems = check::check(manifest).0.into_iter();
        let problems = problems.map(|(path, message)| ManifestError {
            file: file.to_owned(),
            line: Some(lines.line(&path)),
            message,
        });
        let mut problems: Vec<ManifestError> = problems.collect();
        problems.sort_by_key(|error| error.line);
        wrong.append(&mut problems);
    }
    (
        manifest.map(|manifest| Manifest { lines, ..manifest }),
        wrong,
    )
}

/// A mistake of TOML's, with its line and what may have been meant.
fn toml_error(file: &str, text: &str, error: &toml::de::Error) -> ManifestError {
    let mut message = with_meant_field(error.message());
    let line = error
        .span()
        .map(|span| Newlines::of(text).line_at(span.start));
    if let (Some(line), Some(span)) = (line, error.span())
        && !message.starts_with(MISSING)
    {
        let source = text.lines().nth(line - 1).unwrap_or_default();
        let begin = text[..span.start].rfind('\n').map_or(0, |n| n + 1);
        let width = text[begin..span.start].chars().count() + 1;
        message += &format!("\n{source}\n{:>width$}", '^');
    }
    ManifestError {
        file: file.to_owned(),
        line,
        message,
    }
}

pub fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

impl Param {
    /// Whether this dialect has such a thing.
    pub fn is_for(&self, dialect: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == dialect)
    }

    /// Whether `text` is a value of this parameter; else what is wrong with it.
    pub fn accept(&self, text: &str) -> Result<(), String> {
        let number = match self.default {
            Scalar::Text(_) if self.one_of.is_empty() || self.one_of.iter().any(|v| v == text) => {
                return Ok(());
            }
            Scalar::Text(_) => return Err(format!("it must be one of {}", self.one_of.join(", "))),
            Scalar::Bool(_) => {
                return match text {
                    "true" | "false" => Ok(()),
                    _ => Err("it must be true or false".to_owned()),
                };
            }
            Scalar::Int(_) => {
                // Beyond 2^53 the comparison below is off by a few units, which no bound minds.
                text.parse::<i64>()
                    .map_err(|_| "it must be a whole number".to_owned())? as f64
            }
            Scalar::Double(_) => text
                .parse::<f64>()
                .ok()
                .filter(|v| v.is_finite())
                .ok_or("it must be a number")?,
        };
        match (self.min, self.max) {
            (Some(min), _) if number < min => Err(format!("it must be at least {min}")),
            (_, Some(max)) if number > max => Err(format!("it must be at most {max}")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
name = "p"
summary = "s"
schema = "schema.sql"
[[param]]
name = "scale"
default = 1
min = 1
max = 10
help = "h"
[[script]]
name = "a"
file = "a.sql"
[[mix]]
name = "m"
weights = { a = 3 }
[[table]]
name = "t"
rows = ":scale"
columns = [{ name = "x", value = ":row" }]
"#;

    /// The message for GOOD with one text replaced.
    fn error(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from}");
        parse("p/pack.toml", &GOOD.replacen(from, to, 1))
            .expect_err(to)
            .to_string()
    }

    #[test]
    fn a_good_manifest_is_read() {
        let m = parse("p/pack.toml", GOOD).unwrap();
        assert_eq!(m.scripts[0].weight, Weight::Fixed(1));
        assert_eq!(m.mixes[0].weights["a"], Weight::Fixed(3));
    }

    #[test]
    fn an_unknown_key_names_the_file_the_place_and_what_is_allowed() {
        let e = error("summary", "sumary");
        assert!(
            e.starts_with("p/pack.toml:3: unknown field `sumary`"),
            "{e}"
        );
        assert!(e.contains("; did you mean `summary`?\nsumary = "), "{e}");
        let e = error("help = \"h\"", "help = \"h\"\nunit = \"MB\"");
        assert!(
            e.contains("unknown field `unit`") && e.contains("`loaded`"),
            "{e}"
        );
    }

    #[test]
    fn each_broken_rule_is_named_with_the_way_out() {
        for (from, to, want) in [
            ("name = \"p\"", "name = \"p q\"", "letters, digits"),
            ("summary = \"s\"", "summary = \" \"", "one line"),
            (
                "name = \"scale\"",
                "name = \"s-c\"",
                "not a variable's name",
            ),
            ("name = \"scale\"", "name = \"client_id\"", "reserved"),
            ("default = 1", "default = 0", "at least 1"),
            (
                "default = 1",
                "default = true",
                "min and max are for numbers",
            ),
            ("default = 1", "default = [1]", "an integer, a number"),
            (
                "help = \"h\"",
                "help = \"h\"\nonly = [\"oracle\"]",
                "no dialect \"oracle\" (there are: postgresql, cockroachdb, yugabytedb)",
            ),
            (
                "help = \"h\"",
                "help = \"h\"\naliases = [\"scale\"]",
                "param \"scale\"",
            ),
            (
                "help = \"h\"",
                "help = \"h\"\ndefault_on = { oracle = 2 }",
                "no dialect \"oracle\"",
            ),
            (
                "help = \"h\"",
                "help = \"h\"\ndefault_on = { postgresql = 20 }",
                "default_on: postgresql = 20: it must be at most 10",
            ),
            (
                "[[mix]]",
                "[[setting]]\nname = \"Work_Mem\"\nvalue = \"1\"\n[[mix]]",
                "setting \"Work_Mem\": name: use lower-case letters",
            ),
            (
                "[[mix]]",
                "[[setting]]\nname = \"a\"\nvalue = \"1\"\nonly = [\"oracle\"]\n[[mix]]",
                "setting \"a\": there is no dialect \"oracle\"",
            ),
            (
                "[[script]]",
                "[[refuse]]\nwhen = \"1\"\nwhy = \"w\"\nscripts = [\"b\"]\n[[script]]",
                "refuse number 1: scripts: there is no script \"b\"",
            ),
            (
                "[[mix]]",
                "[[check]]\nname = \"c\"\nhelp = \"h\"\n[[mix]]",
                "check \"c\": give either query or file",
            ),
            (
                "[[mix]]",
                "[[check]]\nname = \"c\"\nhelp = \"h\"\nquery = \"q\"\nreturns = \"1\"\nunchanged = true\n[[mix]]",
                "give either returns or unchanged",
            ),
            (
                "[[mix]]",
                "[[check]]\nname = \"c\"\nhelp = \"h\"\nquery = \"q\"\nunchanged = true\nat = [\"before\"]\n[[mix]]",
                "\"before\" says nothing",
            ),
            (
                "[[mix]]",
                "[[check]]\nname = \"c\"\nhelp = \"h\"\nquery = \"q\"\nevery_s = 0\n[[mix]]",
                "every_s = 0: from 0.1 to 86400 seconds",
            ),
            (
                "[[mix]]",
                "[[check]]\nname = \"c\"\nhelp = \"h\"\nquery = \"q\"\nat = [\"noon\"]\n[[mix]]",
                "unknown variant `noon`",
            ),
            (
                "[[mix]]",
                "[[figure]]\nname = \"f\"\nhelp = \"h\"\nunit = \"u\"\nvalue = \":per_s\"\nscripts = [\"b\"]\n[[mix]]",
                "figure \"f\": scripts: there is no [[script]] \"b\"",
            ),
            (
                "[[mix]]",
                "[[figure]]\nname = \"f\"\nhelp = \"h\"\nunit = \"u\"\nvalue = \":commited\"\n[[mix]]",
                "figure \"f\": there is no :commited (there are: committed, per_s,",
            ),
            (
                "[[mix]]",
                "[[figure]]\nname = \"f\"\nhelp = \"h\"\nunit = \"u\"\nvalue = \":per_s *\"\n[[mix]]",
                "figure \"f\": syntax error",
            ),
            (
                "{ name = \"x\", value = \":row\" }",
                "{ name = \"y\", value = \":row\" }, { name = \"x\", text = \"x\", hidden = true }",
                "column \"x\": hidden is for columns with a value",
            ),
            (
                "{ name = \"x\", value = \":row\" }",
                "{ name = \"y\", value = \":row\" }, { name = \"scale\", value = \":row\", hidden = true }",
                "column \"scale\": there is a parameter of this name",
            ),
            (
                "value = \":row\" }",
                "value = \":row\", hidden = true }",
                "columns: at least one is needed",
            ),
            ("file = \"a.sql\"", "file = \"../a.sql\"", "without a path"),
            (
                "file = \"a.sql\"",
                "file = \"a.sql\"\nweight = 0",
                "nothing to run",
            ),
            (
                "file = \"a.sql\"",
                "file = \"a.sql\"\nweight = -1",
                "weight",
            ),
            ("{ a = 3 }", "{ b = 3 }", "no script \"b\" (there are: a)"),
            ("{ a = 3 }", "{ a = 0 }", "above 0"),
            ("name = \"t\"", "name = \"T\"", "lower-case"),
            (
                "value = \":row\"",
                "value = \":row\", text = \"x\"",
                "either value",
            ),
            (
                "rows = \":scale\"\n",
                "",
                "only used when the table has rows",
            ),
            ("schema = \"schema.sql\"", "", "schema is missing"),
            (
                "schema = \"schema.sql\"",
                "schema = \"schema.sql\"\nuses = \"tpcb\"",
                "of its own",
            ),
            (
                "[[mix]]",
                "[[procedure]]\nname = \"f\"\nfile = \"f.sql\"\n[[mix]]",
                "no script calls it",
            ),
            (
                "file = \"a.sql\"",
                "file = \"a.sql\"\ncalls = [\"f\"]",
                "no [[procedure]] \"f\"",
            ),
            (
                "file = \"a.sql\"",
                "file = \"a.sql\"\nquery_modes = [\"fast\"]",
                "unknown variant `fast`",
            ),
            (
                "file = \"a.sql\"",
                "file = \"a.sql\"\nfeatures = [\"teleport\"]",
                "unknown variant `teleport`",
            ),
            (
                "[[mix]]",
                "[[script]]\nname = \"a\"\nfile = \"b.sql\"\n[[mix]]",
                "twice",
            ),
        ] {
            let e = error(from, to);
            assert!(e.contains(want), "{to}: {e}");
        }
    }

    #[test]
    fn a_parameter_accepts_its_own_type_within_its_bounds() {
        let p = parse("f", GOOD).unwrap().params.remove(0);
        assert_eq!(p.accept("10"), Ok(()));
        assert!(p.accept("11").unwrap_err().contains("at most 10"));
        assert!(p.accept("0").unwrap_err().contains("at least 1"));
        assert!(p.accept("1.5").unwrap_err().contains("whole number"));
        assert!(p.accept("99999999999999999999").is_err());
        let p = Param {
            default: Scalar::Double(0.5),
            ..p
        };
        assert_eq!(p.accept("1.5"), Ok(()));
        assert!(p.accept("nan").is_err());
        let p = Param {
            default: Scalar::Bool(true),
            ..p
        };
        assert!(p.accept("yes").unwrap_err().contains("true or false"));
    }
}
