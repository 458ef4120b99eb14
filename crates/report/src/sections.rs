//! The sections of a document in the terminal and in Markdown: one renderer for each of their sorts. On the page it is
//! `web/src/document/sections.ts`.

use pgdyno_model::document::section::{
    ColumnPlace, FigureTable, Paragraphs, Section, SectionPart, TableCell, TableRow,
};

use crate::isolation;
use crate::markdown::{self, escaped};
use crate::table::Table;
use crate::wrap::wrapped;

/// Those that a terminal shows.
pub fn text(sections: &[Section], width: usize) -> String {
    let parts = sections.iter().flat_map(|section| &section.parts);
    let parts = parts.map(|part| match part {
        SectionPart::Text(of) if !of.is_deep => paragraphs(of),
        SectionPart::Table(of) if !of.is_deep => table(of, width),
        SectionPart::History(of) if !of.is_deep => isolation::story(&of.seen),
        _ => String::new(),
    });
    let parts = parts.filter(|part| !part.is_empty());
    parts.map(|part| format!("\n{part}")).collect()
}

fn paragraphs(of: &Paragraphs) -> String {
    let indent = if of.title.is_empty() { "" } else { "  " };
    let lines = of
        .lines
        .iter()
        .map(|line| wrapped(indent, &plain(line), 2 * indent.len()));
    heading(&of.title) + &lines.collect::<String>()
}

fn heading(title: &str) -> String {
    if title.is_empty() {
        String::new()
    } else {
        format!("{title}\n")
    }
}

/// Without the marks of code, which a terminal does not show.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

fn table(of: &FigureTable, width: usize) -> String {
    let is_shown = |at: usize| {
        of.columns
            .get(at)
            .is_some_and(|column| !matches!(column.place, ColumnPlace::Deep | ColumnPlace::Page))
    };
    let (missing, rows): (Vec<&TableRow>, Vec<&TableRow>) =
        of.rows.iter().partition(|row| !row.missing.is_empty());
    let name = |row: &TableRow| {
        row.cells
            .first()
            .map_or_else(String::new, |cell| plain(&cell.text))
    };
    let longest = of
        .rows
        .iter()
        .map(|row| name(row).chars().count())
        .max()
        .unwrap_or(0);
    let mut table = Table::default();
    let heads = of.columns.iter().enumerate();
    let heads = heads.filter(|(at, _)| is_shown(*at));
    table.row(heads.map(|(_, column)| column.title.clone()));
    for row in rows {
        let cells = row.cells.iter().enumerate().filter(|(at, _)| is_shown(*at));
        table.row(cells.map(|(at, cell)| match at {
            0 => format!("{:<longest$}", plain(&cell.text)),
            _ => plain(&cell.text),
        }));
    }
    let missing = missing
        .into_iter()
        .map(|row| format!("{:<longest$}  – {}\n", name(row), row.missing));
    let notes = of.notes.iter().map(|note| wrapped("", &plain(note), 0));
    heading(&of.title) + &table.text(width) + &missing.chain(notes).collect::<String>()
}

/// All of them, for tickets.
pub fn markdown(sections: &[Section]) -> String {
    let of = |section: &Section| {
        let parts = section.parts.iter().map(|part| match part {
            SectionPart::Text(of) => titled(&of.title) + &listed(&of.lines),
            SectionPart::Table(of) => in_markdown(of),
            SectionPart::History(of) => isolation::story_in_markdown(of),
            SectionPart::Curve(_) | SectionPart::Lanes(_) => String::new(),
        });
        format!(
            "### {}\n\n{}",
            escaped(&section.title),
            parts.collect::<String>()
        )
    };
    sections.iter().map(of).collect()
}

fn titled(title: &str) -> String {
    if title.is_empty() {
        String::new()
    } else {
        format!("{}:\n\n", escaped(title))
    }
}

fn listed(lines: &[String]) -> String {
    let lines: String = lines
        .iter()
        .map(|line| format!("- {}\n", escaped(line)))
        .collect();
    if lines.is_empty() {
        lines
    } else {
        lines + "\n"
    }
}

fn in_markdown(of: &FigureTable) -> String {
    let heads: Vec<String> = of
        .columns
        .iter()
        .map(|column| escaped(&column.title))
        .collect();
    let cell = |cell: &TableCell| {
        let parts = [&cell.text, &cell.note]
            .into_iter()
            .filter(|part| !part.is_empty());
        parts
            .map(|part| escaped(part))
            .collect::<Vec<_>>()
            .join("; ")
    };
    let rows = of.rows.iter().map(|row| {
        let mut cells: Vec<String> = row.cells.iter().map(cell).collect();
        if !row.missing.is_empty() {
            cells.push(escaped(&row.missing));
        }
        cells.resize(heads.len(), String::new());
        cells
    });
    titled(&of.title) + &markdown::table(&heads, &rows.collect::<Vec<_>>()) + &listed(&of.notes)
}
