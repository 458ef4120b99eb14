//! A pack's tables compiled for one load: the SQL that creates them and the rows that fill them,
//! for these parameters and this dialect. Needs no server; everything in it is the pack's, written
//! in the language of scripts and evaluated as in a run.

use std::collections::BTreeMap;

use pgdyno_script::{Expr, Names, Script, Slot, Value, Vars, fnv1a_bytes, write_int};
use pgdyno_session::{quote_ident, quote_literal};

use super::expression::{self, Chance, evaluate};
use super::line::Line;
use super::manifest::{self, Table};
use super::own_data::{By, Cursor, Data, Format, Reading, Wanted, unwatched};
use super::pack::Pack;
use super::statements::{self, Statement};
use super::table_params;

/// How a pack's tables are made.
#[derive(Debug)]
pub struct Recipe {
    schema: Option<Script>,
    after_load: Option<Script>,
    vars: Vars,
    chance: Chance,
    /// The tables that get rows, in the order in which they are filled.
    pub tables: Vec<TableRows>,
    /// The parameters that these tables depend on, with their values.
    pub params: BTreeMap<String, String>,
    /// The files that tables are loaded from, each with what it is.
    pub files: BTreeMap<String, String>,
}

/// The rows of one table. Each row is made of its number alone, so that clones make the same rows
/// wherever they begin.
#[derive(Debug, Clone)]
pub struct TableRows {
    pub name: String,
    pub rows: u64,
    /// Whether they may go in by ranges ([`super::manifest::Table::by_ranges`]).
    pub by_ranges: bool,
    place: String,
    columns: Vec<Column>,
    seed: u64,
    vars: Vars,
    row: Slot,
    chance: Chance,
    /// The rows of files, where it has those.
    given: Option<Cursor>,
    /// Whether rows differ in their numbers and groups alone: see [`TableRows::push_rows`].
    is_plain: bool,
}

/// One column of a row.
#[derive(Debug, Clone)]
struct Column {
    name: String,
    maker: Maker,
    /// Its variable, when a column behind it names it.
    variable: Option<Slot>,
    /// Whether it is nothing else than its variable.
    is_hidden: bool,
}

/// How one column's value is made.
#[derive(Debug, Clone)]
enum Maker {
    Constant(Constant),
    RowNumber,
    /// The number of the group that the row is in: groups of `rows` rows each, numbered from `first`.
    Group {
        rows: u64,
        first: i64,
    },
    Expr(Expr),
    /// The wanted field of this number.
    Given(usize),
}

/// The same in every row.
#[derive(Debug, Clone)]
enum Constant {
    Text(String),
    /// What an expression came to, as it is in SQL.
    Sql(Vec<u8>),
    Null,
}

/// What rows are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The text format of COPY: a line.
    Copy,
    /// INSERT … VALUES: a list in parentheses, without what separates it from the next.
    Values,
}

impl Recipe {
    /// Compiles the tables of `pack` (one with tables of its own); `values` has every parameter.
    pub fn new(
        pack: &Pack,
        dialect: &str,
        values: &BTreeMap<String, String>,
    ) -> Result<Recipe, String> {
        unwatched(|reading| Self::watched(pack, dialect, values, reading))
    }

    /// The same; `reading` gets progress while files are read.
    ///
    /// # Errors
    /// A mistake in the pack or in a file, reported with its place; an interrupt.
    pub fn watched(
        pack: &Pack,
        dialect: &str,
        values: &BTreeMap<String, String>,
        reading: &mut Reading<'_>,
    ) -> Result<Recipe, String> {
        let mut names = Names::new();
        let tables = pack.made_tables(values)?;
        let mut parse_file = |file: &Option<String>| match file {
            None => Ok(None),
            Some(file) => statements::parse(pack, file, dialect, values, &mut names),
        };
        let schema = parse_file(&pack.manifest.schema)?;
        let after_load = parse_file(&pack.manifest.after_load)?;
        let mut compiled = Vec::new();
        for table in &tables {
            compiled.extend(Compiled::new(pack, table, &mut names)?);
        }
        let of_tables = table_params::of(pack);
        let row = names.intern("row");
        let mut vars = Vars::new(&names);
        let mut params = BTreeMap::new();
        for (name, value) in values {
            if let Some(slot) = names.get(name) {
                vars.set_text(slot, value);
            }
            let is_here = pack.param(name).is_some_and(|p| p.is_for(dialect));
            if is_here && of_tables.contains(name) {
                params.insert(name.clone(), value.clone());
            }
        }
        let mut files = BTreeMap::new();
        let made = compiled.into_iter().map(|table| {
            let columns = table
                .columns
                .into_iter()
                .map(|(name, maker, is_hidden)| Column {
                    is_hidden,
                    // A parameter of the same name is what a variable of that name is.
                    variable: names.get(&name).filter(|_| !values.contains_key(&name)),
                    name,
                    maker,
                });
            let mut chance = Chance::new(&names);
            let (rows, given) = match table.rows {
                Rows::Made(rows) => {
                    let rows = number_of_rows(&table.place, &rows, &mut vars, &mut chance)?;
                    (rows, None)
                }
                Rows::Given(wanted) => {
                    let data = Data::open(&wanted, reading);
                    let data = data.map_err(|why| {
                        if why.starts_with("from = ") {
                            format!("{}: {why}", table.place)
                        } else {
                            why
                        }
                    })?;
                    files.extend(data.identity());
                    (data.rows, Some(Cursor::new(data)))
                }
            };
            let columns: Vec<Column> = columns.collect();
            Ok(TableRows {
                name: table.of.name.clone(),
                rows,
                is_plain: are_plain(&columns),
                // Rows that are there already need no order in which they are made.
                by_ranges: table.of.by_ranges || given.is_some(),
                given,
                columns,
                place: table.place,
                seed: fnv1a_bytes(table.of.name.as_bytes()),
                vars: vars.clone(),
                row,
                chance,
            })
        });
        let tables = made.collect::<Result<Vec<_>, String>>()?;
        Ok(Recipe {
            schema,
            after_load,
            vars,
            chance: Chance::new(&names),
            tables,
            params,
            files,
        })
    }

    /// The statements that create the tables.
    pub fn schema(&self) -> Result<Vec<String>, String> {
        statements::made(self.schema.as_ref(), &self.vars, &self.chance)
    }

    /// The same, each with its place.
    pub fn schema_at(&self) -> Result<Vec<Statement>, String> {
        statements::made_at(self.schema.as_ref(), &self.vars, &self.chance)
    }

    /// The statements that run when the rows are in, each with its place.
    pub fn after_load_at(&self) -> Result<Vec<Statement>, String> {
        statements::made_at(self.after_load.as_ref(), &self.vars, &self.chance)
    }

    /// The statements that run when the rows are in.
    pub fn after_load(&self) -> Result<Vec<String>, String> {
        statements::made(self.after_load.as_ref(), &self.vars, &self.chance)
    }
}

/// A table's expressions, before the values of variables are known.
struct Compiled<'t> {
    of: &'t Table,
    place: String,
    rows: Rows,
    /// Name, maker, whether it is hidden.
    columns: Vec<(String, Maker, bool)>,
}

/// Where a table's rows come from.
enum Rows {
    Made(Expr),
    Given(Wanted),
}

impl<'t> Compiled<'t> {
    /// `None` for a table that starts empty.
    fn new(
        pack: &Pack,
        table: &'t Table,
        names: &mut Names,
    ) -> Result<Option<Compiled<'t>>, String> {
        let place = match table.place.as_str() {
            "" => pack.place_of("table", &table.name),
            place => place.to_owned(),
        };
        let rows = match (&table.rows, &table.from) {
            (Some(rows), _) => {
                Rows::Made(expression::parse(&format!("{place}: rows"), rows, names)?)
            }
            (None, Some(from)) => Rows::Given(wanted(pack, &place, table, from)?),
            (None, None) => return Ok(None),
        };
        let mut given = 0..;
        let mut columns = Vec::new();
        for column in &table.columns {
            let maker = match (&column.value, &column.text) {
                (None, None) if table.from.is_some() => Maker::Given(given.next().unwrap_or(0)),
                (Some(value), _) => {
                    let place = format!("{place}: column \"{}\": value", column.name);
                    let made = maker(&place, value, names)?;
                    match made {
                        // Only what is evaluated becomes a variable.
                        Maker::Constant(_) if column.hidden => {
                            Maker::Expr(expression::parse(&place, value, names)?)
                        }
                        made => made,
                    }
                }
                (None, text) => Maker::Constant(Constant::Text(text.clone().unwrap_or_default())),
            };
            columns.push((column.name.clone(), maker, column.hidden));
        }
        Ok(Some(Compiled {
            of: table,
            place,
            rows,
            columns,
        }))
    }
}

/// What a table wants of its files.
fn wanted(pack: &Pack, place: &str, table: &Table, from: &str) -> Result<Wanted, String> {
    let Some(folder) = &pack.folder else {
        return Err(format!(
            "{place}: from: a pack in the binary has no files of data"
        ));
    };
    let byte = |text: &Option<String>, default: u8| {
        let first = text.as_ref().and_then(|text| text.bytes().next());
        first.unwrap_or(default)
    };
    let quote = byte(&table.quote, b'"');
    let format = Format {
        delimiter: byte(&table.delimiter, b','),
        quote,
        escape: byte(&table.escape, quote),
        null: table.null.clone().unwrap_or_default(),
        header: table.header.unwrap_or(true),
    };
    let takes = |column: &&manifest::Column| column.value.is_none() && column.text.is_none();
    let by = |(at, column): (usize, &manifest::Column)| match &column.field {
        Some(manifest::Field::Number(number)) => By::Number((*number as usize).saturating_sub(1)),
        Some(manifest::Field::Name(name)) => By::Name(name.clone()),
        None if format.header => By::Name(column.name.clone()),
        None => By::Number(at),
    };
    let columns = || table.columns.iter().filter(takes);
    Ok(Wanted {
        folder: folder.clone(),
        place: pack.place.clone(),
        from: from.to_owned(),
        fields: columns().enumerate().map(by).collect(),
        in_order: !format.header && columns().all(|column| column.field.is_none()),
        format,
    })
}

fn number_of_rows(
    place: &str,
    rows: &Expr,
    vars: &mut Vars,
    chance: &mut Chance,
) -> Result<u64, String> {
    match evaluate(rows, vars, chance) {
        Ok(Value::Int(rows)) if rows >= 0 => Ok(rows as u64),
        Ok(other) => Err(format!("{place}: rows: {other} is not a number of rows")),
        Err(e) => Err(format!("{place}: rows: {e}")),
    }
}

fn maker(place: &str, text: &str, names: &mut Names) -> Result<Maker, String> {
    let expr = expression::parse(place, text, names)?;
    if text.trim() == ":row" {
        return Ok(Maker::RowNumber);
    }
    if let Some((rows, first)) = group(text) {
        return Ok(Maker::Group { rows, first });
    }
    // Without variables and functions it is the same in every row.
    if !text.contains([':', '(']) {
        let mut vars = Vars::new(names);
        let value = evaluate(&expr, &mut vars, &mut Chance::new(names))
            .map_err(|e| format!("{place}: {e}"))?;
        return Ok(Maker::Constant(match value {
            Value::Null => Constant::Null,
            Value::Text(text) => Constant::Text(String::from_utf8_lossy(vars.bytes(text)).into()),
            other => {
                let mut text = Vec::new();
                vars.write_value(other, &mut text);
                Constant::Sql(text)
            }
        }));
    }
    Ok(Maker::Expr(expr))
}

/// Rows of a group, and the number of the first one, when the expression is `(:row - 1) / ROWS + FIRST`: what
/// has a branch for every so many accounts. In whole numbers, as the language divides them.
fn group(text: &str) -> Option<(u64, i64)> {
    let text: String = text.split_whitespace().collect();
    let (rows, first) = text.strip_prefix("(:row-1)/")?.split_once('+')?;
    let number = |text: &str| {
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            text.parse::<u32>().ok()
        } else {
            None
        }
    };
    let (rows, first) = (number(rows)?, number(first)?);
    // Division by zero is for the language to refuse.
    (rows > 0).then_some((rows.into(), first.into()))
}

/// The number of the group of the row that so many rows are before.
fn group_of(before: u64, rows: u64, first: i64) -> i64 {
    first.saturating_add_unsigned(before / rows)
}

/// Whether a table's rows are the row's number, and then constants and groups.
fn are_plain(columns: &[Column]) -> bool {
    let mut columns = columns.iter();
    let first = columns.next().filter(|column| !column.is_hidden);
    first.is_some_and(|column| matches!(column.maker, Maker::RowNumber))
        && columns.all(|column| {
            !column.is_hidden && matches!(column.maker, Maker::Constant(_) | Maker::Group { .. })
        })
}

impl TableRows {
    pub fn column_list(&self) -> String {
        let names: Vec<_> = self
            .columns
            .iter()
            .filter(|column| !column.is_hidden)
            .map(|column| quote_ident(&column.name))
            .collect();
        names.join(", ")
    }

    /// Where a row (from 1) is in the user's files, for rows that are from files.
    pub fn place_of(&self, row: u64) -> Option<String> {
        let given = self.given.as_ref()?;
        Some(given.data().place(row))
    }

    /// Appends rows as COPY takes them: those behind number `row` up to number `end`, until `out` is `full`
    /// bytes long. `row` is the last one then.
    ///
    /// # Errors
    /// As [`TableRows::push_row`].
    pub fn push_rows(
        &mut self,
        row: &mut u64,
        end: u64,
        full: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        while *row < end && out.len() < full {
            if self.is_plain {
                self.push_run(row, end, full, out);
            } else {
                *row += 1;
                self.push_row(*row, Form::Copy, out)?;
            }
        }
        Ok(())
    }

    /// The same of plain rows, as far as none of the groups ends.
    fn push_run(&self, row: &mut u64, end: u64, full: usize, out: &mut Vec<u8>) {
        let mut line = Line::new(*row + 1);
        let mut end = end;
        let mut text = Vec::new();
        for column in self.columns.iter().skip(1) {
            text.push(b'\t');
            match &column.maker {
                Maker::Constant(constant) => constant.push(Form::Copy, &mut text),
                Maker::Group { rows, first } => {
                    end = end.min((*row / rows + 1).saturating_mul(*rows));
                    write_int(group_of(*row, *rows, *first), &mut text);
                }
                // Rows with others are not plain.
                Maker::RowNumber | Maker::Expr(_) | Maker::Given(_) => {}
            }
        }
        text.push(b'\n');
        line.push(&text);
        *row += line.write(end - *row, full, out);
    }

    /// Appends row number `row` (from 1).
    ///
    /// # Errors
    /// An expression that cannot be evaluated for this row.
    pub fn push_row(&mut self, row: u64, form: Form, out: &mut Vec<u8>) -> Result<(), String> {
        let number = i64::try_from(row).unwrap_or(i64::MAX);
        self.vars.set(self.row, Value::Int(number));
        self.chance.begin(self.seed ^ row);
        if let Some(given) = &mut self.given {
            given.go(row)?;
        }
        let (begin, separator, end) = match form {
            Form::Copy => ("", b'\t', "\n"),
            Form::Values => ("(", b',', ")"),
        };
        out.extend_from_slice(begin.as_bytes());
        let mut is_first = true;
        for column in &self.columns {
            if !column.is_hidden && !std::mem::take(&mut is_first) {
                out.push(separator);
            }
            match &column.maker {
                Maker::Constant(constant) => constant.push(form, out),
                maker @ (Maker::RowNumber | Maker::Group { .. }) => {
                    let value = match maker {
                        Maker::Group { rows, first } => {
                            group_of(row.saturating_sub(1), *rows, *first)
                        }
                        _ => number,
                    };
                    if !column.is_hidden {
                        write_int(value, out);
                    }
                    if let Some(slot) = column.variable {
                        self.vars.set(slot, Value::Int(value));
                    }
                }
                Maker::Given(field) => {
                    let text = self.given.as_ref().and_then(|given| given.field(*field));
                    match text {
                        None => form.push_null(out),
                        Some(text) => form.push_text(text, out),
                    }
                    if let Some(slot) = column.variable {
                        match text {
                            None => self.vars.set(slot, Value::Null),
                            Some(text) => self.vars.set_text(slot, text),
                        }
                    }
                }
                Maker::Expr(expr) => {
                    let value = evaluate(expr, &mut self.vars, &mut self.chance).map_err(|e| {
                        let (place, name) = (&self.place, &column.name);
                        format!("{place}: column \"{name}\": value: {e} (row {row})")
                    })?;
                    match value {
                        _ if column.is_hidden => {}
                        Value::Null => form.push_null(out),
                        Value::Text(text) => form.push_text(self.vars.bytes(text), out),
                        other => self.vars.write_value(other, out),
                    }
                    if let Some(slot) = column.variable {
                        self.vars.set(slot, value);
                    }
                }
            }
        }
        out.extend_from_slice(end.as_bytes());
        self.chance.end();
        Ok(())
    }
}

impl Constant {
    fn push(&self, form: Form, out: &mut Vec<u8>) {
        match self {
            Constant::Null => form.push_null(out),
            Constant::Sql(text) => out.extend_from_slice(text),
            Constant::Text(text) => form.push_text(text.as_bytes(), out),
        }
    }
}

impl Form {
    fn push_null(self, out: &mut Vec<u8>) {
        out.extend_from_slice(match self {
            Form::Copy => b"\\N",
            Form::Values => b"NULL",
        });
    }

    fn push_text(self, text: &[u8], out: &mut Vec<u8>) {
        match self {
            Form::Copy => push_copy_text(text, out),
            Form::Values => {
                let text = String::from_utf8_lossy(text);
                out.extend_from_slice(quote_literal(&text).as_bytes());
            }
        }
    }
}

/// Appends a text in COPY's text format (documentation of COPY, "Text Format").
fn push_copy_text(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::tests::pack;
    use crate::params::Params;
    use crate::shipped;

    fn tpcb(scale: &str) -> Recipe {
        let pack = shipped::find("tpcb").unwrap();
        let mut values = Params::default().or_defaults(&pack);
        values.insert("scale".to_owned(), scale.to_owned());
        Recipe::new(&pack, "postgresql", &values).unwrap()
    }

    #[test]
    fn account_numbers_grow_to_64_bits_where_pgbench_lets_them() {
        let small = tpcb("19999").schema().unwrap();
        let large = tpcb("20000").schema().unwrap();
        assert_eq!((small.len(), large.len()), (4, 4));
        assert!(
            small[1].starts_with("create table pgbench_accounts(aid int not null"),
            "{small:?}"
        );
        assert!(
            large[1].starts_with("create table pgbench_accounts(aid bigint not null"),
            "{large:?}"
        );
        assert!(large[1].ends_with("with (fillfactor=100);"), "{large:?}");
    }

    #[test]
    fn rows_are_those_of_pgbench() {
        let mut recipe = tpcb("2");
        let rows: Vec<_> = recipe
            .tables
            .iter()
            .map(|t| (t.name.as_str(), t.rows))
            .collect();
        assert_eq!(
            rows,
            [
                ("pgbench_branches", 2),
                ("pgbench_tellers", 20),
                ("pgbench_accounts", 200_000)
            ]
        );
        let mut out = Vec::new();
        recipe.tables[0].push_row(2, Form::Copy, &mut out).unwrap();
        recipe.tables[1].push_row(10, Form::Copy, &mut out).unwrap();
        recipe.tables[1].push_row(11, Form::Copy, &mut out).unwrap();
        recipe.tables[2]
            .push_row(100_001, Form::Copy, &mut out)
            .unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "2\t0\t\\N\n10\t1\t0\t\\N\n11\t2\t0\t\\N\n100001\t2\t0\t\n"
        );
    }

    #[test]
    fn many_rows_at_once_are_those_that_are_made_one_by_one() {
        let mut recipe = tpcb("100000");
        for table in &mut recipe.tables {
            assert!(table.is_plain, "{}", table.name);
            for rows in [
                0..1,
                0..2_000,
                8..12,
                99_998..100_002,
                89..1_113,
                5..5,
                1_999_999_990..2_000_000_010,
            ] {
                let mut one_by_one = b"before".to_vec();
                for row in rows.clone() {
                    table
                        .push_row(row + 1, Form::Copy, &mut one_by_one)
                        .unwrap();
                }
                let (mut row, mut at_once) = (rows.start, b"before".to_vec());
                table
                    .push_rows(&mut row, rows.end, usize::MAX, &mut at_once)
                    .unwrap();
                assert_eq!(row, rows.end);
                assert!(at_once == one_by_one, "{} {rows:?}", table.name);
            }
        }
    }

    #[test]
    fn rows_stop_when_there_are_bytes_enough_and_go_on_from_there() {
        // One that is plain, and one with an expression.
        for (value, is_plain) in [
            ("(:row - 1) / 3 + 7", true),
            ("(:row - 1) / 3 + 7 * :row", false),
        ] {
            let columns = format!(":row' }}, {{ name = 'd', value = '{value}");
            let mut recipe = odd("1000", &columns, "SELECT 1;").unwrap();
            let table = &mut recipe.tables[0];
            assert_eq!(table.is_plain, is_plain);
            let (mut row, mut pieces, mut last) = (0, Vec::new(), 0);
            while row < 1000 {
                let full = pieces.len() + 50;
                table.push_rows(&mut row, 1000, full, &mut pieces).unwrap();
                assert!(row > last && pieces.len() < full + 50, "{row}");
                last = row;
            }
            let mut whole = Vec::new();
            table
                .push_rows(&mut 0, 1000, usize::MAX, &mut whole)
                .unwrap();
            assert_eq!(pieces, whole);
        }
    }

    #[test]
    fn groups_are_known_by_their_expression_and_are_what_it_comes_to() {
        for (text, found) in [
            ("(:row - 1) / 100000 + 1", Some((100_000, 1))),
            ("( :row-1 )/3+0", Some((3, 0))),
            ("(:row - 1) / 0 + 1", None),
            ("(:row - 2) / 3 + 1", None),
            ("(:row - 1) / 3 + 1 + 1", None),
            ("(:row - 1) / :n + 1", None),
            ("(:row - 1) / 3.5 + 1", None),
            ("(:row - 1) / 99999999999 + 1", None),
        ] {
            assert_eq!(group(text), found, "{text}");
        }
        let other = "(:row - 1) / 7 + (5)";
        let columns = format!("(:row - 1) / 7 + 5' }}, {{ name = 'd', value = '{other}");
        let mut recipe = odd("100", &columns, "SELECT 1;").unwrap();
        for row in [1, 2, 7, 8, 14, 15, 100] {
            let mut out = Vec::new();
            recipe.tables[0]
                .push_row(row, Form::Copy, &mut out)
                .unwrap();
            let text = String::from_utf8(out).unwrap();
            let (by_group, by_expression) = text.trim_end().split_once('\t').unwrap();
            assert_eq!(by_group, by_expression, "{row}");
        }
    }

    #[test]
    fn only_what_the_tables_depend_on_is_recorded() {
        let pack = shipped::find("insert-size").unwrap();
        let values = Params::default().or_defaults(&pack);
        let recipe = Recipe::new(&pack, "postgresql", &values).unwrap();
        assert!(
            recipe.params.is_empty(),
            "bytes makes no difference to the table"
        );
        assert_eq!(
            tpcb("3").params.keys().collect::<Vec<_>>(),
            ["fillfactor", "foreign_keys", "scale"]
        );
    }

    /// A pack with one table whose rows, column value and schema are these.
    fn odd(rows: &str, value: &str, schema: &str) -> Result<Recipe, String> {
        let manifest = format!(
            "name='x'\nsummary='s'\nschema='schema.sql'\nscript=[{{name='a',file='a.sql'}}]\n\
             [[table]]\nname='t'\nrows='{rows}'\ncolumns=[{{name='c',value='{value}'}}]"
        );
        let pack = pack(&[
            ("pack.toml", &manifest),
            ("a.sql", "SELECT 1;"),
            ("schema.sql", schema),
        ])
        .unwrap();
        Recipe::new(&pack, "postgresql", &BTreeMap::new())
    }

    #[test]
    fn a_mistake_in_the_manifest_is_named_with_its_place() {
        let e = odd("1 +", ":row", "SELECT 1;").unwrap_err();
        assert!(
            e.starts_with(
                "x/pack.toml:5: table \"t\": rows: syntax error\n1 +\n  ^ error found here"
            ),
            "{e}"
        );
        let e = odd("0 - 1", ":row", "SELECT 1;").unwrap_err();
        assert_eq!(
            e,
            "x/pack.toml:5: table \"t\": rows: -1 is not a number of rows"
        );
        let e = odd(":scael", ":row", "SELECT 1;").unwrap_err();
        assert!(e.contains("rows: undefined variable \"scael\""), "{e}");
        let mut recipe = odd("5", "10 / (:row - 2)", "SELECT 1;").unwrap();
        recipe.tables[0]
            .push_row(1, Form::Copy, &mut Vec::new())
            .unwrap();
        let e = recipe.tables[0]
            .push_row(2, Form::Copy, &mut Vec::new())
            .unwrap_err();
        assert_eq!(
            e,
            "x/pack.toml:5: table \"t\": column \"c\": value: division by zero (row 2)"
        );
    }

    #[test]
    fn a_hidden_column_is_drawn_once_for_those_behind_it_and_is_none_of_the_table() {
        let columns = "', hidden = true, value = 'random(1, 1000000)' }, \
                       { name = 'same', value = ':c' }, { name = 'again', value = ':c + 0' }, \
                       { name = 'seven', value = '7', hidden = true }, { name = 'eight', value = ':seven + 1";
        let manifest = format!(
            "name='x'\nsummary='s'\nschema='schema.sql'\nscript=[{{name='a',file='a.sql'}}]\n\
             [[table]]\nname='t'\nrows='2'\ncolumns=[{{name='c{columns}'}}]"
        );
        let files = [
            ("pack.toml", &*manifest),
            ("a.sql", "SELECT 1;"),
            ("schema.sql", "SELECT 1;"),
        ];
        let pack = pack(&files).unwrap();
        let mut recipe = Recipe::new(&pack, "postgresql", &BTreeMap::new()).unwrap();
        let table = &mut recipe.tables[0];
        assert_eq!(table.column_list(), "\"same\", \"again\", \"eight\"");
        let mut out = Vec::new();
        table.push_row(2, Form::Copy, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let values: Vec<&str> = text.trim_end().split('\t').collect();
        assert_eq!(values, [values[0], values[0], "8"], "{text}");
    }

    #[test]
    fn a_schema_may_branch_but_not_sleep() {
        let branches = "\\set n 2\n\\if :n = 1\nSELECT 1;\n\\elif :n = 2\nSELECT :n;\n\\else\nSELECT 3;\n\\endif\nSELECT 4;";
        let recipe = odd("1", ":row", branches).unwrap();
        assert_eq!(recipe.schema().unwrap(), ["SELECT 2;", "SELECT 4;"]);
        let e = odd("1", ":row", "SELECT 1;\n\\sleep 1 s")
            .unwrap()
            .schema()
            .unwrap_err();
        assert!(
            e.starts_with("x/schema.sql:2: ") && e.contains("cannot be used here"),
            "{e}"
        );
        // A dialect may need nothing.
        assert_eq!(odd("1", ":row", "-- nothing").unwrap().schema(), Ok(vec![]));
    }

    #[test]
    fn a_schema_may_loop_and_refuse() {
        let loops = "\\for i 1 3\n\\if :i <> 2\nSELECT :i;\n\\endif\n\\endfor\n\\for i 2 1\nno;\n\\endfor\n\\set t 'a''b'\nSELECT :t;";
        let recipe = odd("1", ":row", loops).unwrap();
        let schema = recipe.schema().unwrap();
        assert_eq!(schema, ["SELECT 1;", "SELECT 3;", "SELECT 'a''b';"]);
        for (schema, wrong) in [
            (
                "SELECT 1;\n\\error 'scale ' || 7",
                "x/schema.sql:2: scale 7",
            ),
            ("\\error :no", "x/schema.sql:1: undefined variable \"no\""),
            (
                "\\for i 1 'a'\n\\endfor",
                "x/schema.sql:1: cannot coerce text to int",
            ),
            (
                "\\set t 'a'\nSELECT ':t';",
                "x/schema.sql:2: variable \"t\" holds a text",
            ),
        ] {
            let e = odd("1", ":row", schema).unwrap().schema().unwrap_err();
            assert!(e.starts_with(wrong), "{e}");
        }
    }

    #[test]
    fn rows_can_be_texts_and_are_escaped_for_copy() {
        let value = "ycsb_key(:row - 1, \"java\") || \"\\t\"".replace('"', "\\u0027");
        let value = value.replace("\\t", "\\\\");
        let manifest = format!(
            "name='x'\nsummary='s'\nschema='schema.sql'\nscript=[{{name='a',file='a.sql'}}]\n\
             [[table]]\nname='t'\nrows='2'\ncolumns=[{{name='c',value=\"{value}\"}},\
             {{name='n',value=\"next_key(\\u0027k\\u0027, 5)\"}}]"
        );
        let files = [
            ("pack.toml", manifest.as_str()),
            ("a.sql", "SELECT 1;"),
            ("schema.sql", "SELECT 1;"),
        ];
        let pack = pack(&files).unwrap();
        let mut recipe = Recipe::new(&pack, "postgresql", &BTreeMap::new()).unwrap();
        let mut rows = Vec::new();
        for row in 1..=2 {
            recipe.tables[0]
                .push_row(row, Form::Copy, &mut rows)
                .unwrap();
        }
        assert_eq!(
            String::from_utf8(rows).unwrap(),
            "user6284781860667377211\\\\\t5\nuser8517097267634966620\\\\\t6\n"
        );
    }

    #[test]
    fn constants_are_escaped_for_copy() {
        let mut out = Vec::new();
        push_copy_text(b"a\tb\\N\n", &mut out);
        assert_eq!(out, b"a\\tb\\\\N\\n");
    }

    #[test]
    fn integers_are_written_as_the_standard_formatter_does() {
        for number in [0, 7, -7, 10, 1234567890, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            write_int(number, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }
    }
}
