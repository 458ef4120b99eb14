//! Rows for people, as JSON or as CSV, the same on every verb that lists something.

use clap::Args;
use serde_json::{Map, Value};

use pgdyno_output::{answer, table_width, write_answer};
use pgdyno_report::csv;
use pgdyno_report::table::{Table, one_line};
use pgdyno_report::wrap::fitted;
use pgdyno_spec::Failure;

/// In what form.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct RowsArgs {
    /// Print JSON, one object per row
    #[arg(long)]
    pub json: bool,
    /// Print CSV with a header row (RFC 4180)
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

impl RowsArgs {
    /// Whether a program is to read them.
    pub fn is_for_programs(self) -> bool {
        self.json || self.csv
    }

    /// Prints rows that programs read.
    ///
    /// # Errors
    /// Standard output cannot be written to.
    pub fn print(self, columns: &[String], rows: Vec<Vec<Value>>) -> Result<(), Failure> {
        if self.json {
            let object = |row: Vec<Value>| {
                let pairs = columns.iter().cloned().zip(row);
                Value::Object(Map::from_iter(pairs))
            };
            let rows: Vec<Value> = rows.into_iter().map(object).collect();
            return answer!("{:#}", Value::Array(rows));
        }
        if self.csv {
            let mut text = String::new();
            if !columns.is_empty() {
                text += &csv::line(columns.iter().map(String::as_str));
            }
            for row in &rows {
                let cells: Vec<String> = row.iter().map(plain).collect();
                text += &csv::line(cells.iter().map(String::as_str));
            }
            return write_answer(format_args!("{text}"));
        }
        let mut table = Table::default();
        table.row(columns);
        for row in &rows {
            table.row(row.iter().map(|cell| one_line(&plain(cell))));
        }
        let text = table.text(usize::MAX);
        let widest = text.lines().map(|line| line.chars().count()).max();
        if widest > Some(table_width()) {
            write_answer(format_args!("{}", one_below_the_other(columns, &rows)))
        } else {
            write_answer(format_args!("{text}"))
        }
    }
}

/// Rows that are wider than the terminal, a line for each value (as psql's `\x auto` has it).
fn one_below_the_other(columns: &[String], rows: &[Vec<Value>]) -> String {
    let label = columns.iter().map(|name| name.chars().count()).max();
    let label = label.unwrap_or(0);
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        text += &format!("row {}\n", number + 1);
        for (name, value) in columns.iter().zip(row) {
            text += format!("  {name:<label$}  {}", one_line(&plain(value))).trim_end();
            text.push('\n');
        }
    }
    fitted(&text, table_width())
}

/// A value without the quotes that JSON puts around text; nothing for null.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
