//! Where statements of a file end, and what of psql's language migrations use: `\set`, `\unset`, `\i`, `\ir`,
//! and metacommands that change nothing but the output.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pgdyno_script::{Scanner, Stop};

use crate::file::{BYTES_MAX, Statement, text_of};
use crate::tokens::{Kind, tokens};

/// Files that include each other go so deep at most.
const DEPTH_MAX: usize = 16;

/// Metacommands that change nothing of the database.
const OUTPUT_ONLY: [&str; 15] = [
    "a",
    "echo",
    "encoding",
    "errverbose",
    "f",
    "o",
    "pset",
    "qecho",
    "r",
    "restrict",
    "t",
    "timing",
    "unrestrict",
    "warn",
    "x",
];

/// The statements of a script of psql's, with those of what it includes.
///
/// # Errors
/// A metacommand that pgdyno does not run, a variable that is not set, a file that cannot be read.
pub fn script(path: &Path, text: &str) -> Result<Vec<Statement>, String> {
    let mut reader = Reader {
        variables: Some(BTreeMap::new()),
        bytes: 0,
        statements: Vec::new(),
    };
    reader.file(path, text, 1, 0)?;
    Ok(reader.statements)
}

/// The statements of a text that is no script of psql's; its first line has this number.
///
/// # Errors
/// It has a metacommand, or rows for COPY.
pub fn plain(path: &Path, text: &str, line: usize) -> Result<Vec<Statement>, String> {
    let mut reader = Reader {
        variables: None,
        bytes: 0,
        statements: Vec::new(),
    };
    reader.file(path, text, line, 0)?;
    Ok(reader.statements)
}

/// The statements of a text that is sent as one, as goose sends what is between its `StatementBegin` and
/// `StatementEnd`; empty where there is one only.
pub fn several(text: &str) -> Vec<Statement> {
    let statements = plain(Path::new(""), text, 1).unwrap_or_default();
    if statements.len() > 1 {
        statements
    } else {
        Vec::new()
    }
}

struct Reader {
    /// `None`: the tool knows none.
    variables: Option<BTreeMap<String, String>>,
    /// What was read so far.
    bytes: u64,
    statements: Vec<Statement>,
}

impl Reader {
    fn file(
        &mut self,
        path: &Path,
        text: &str,
        first_line: usize,
        depth: usize,
    ) -> Result<(), String> {
        let file = path.display().to_string();
        if depth > DEPTH_MAX {
            return Err(format!("{file}: files include each other {DEPTH_MAX} deep"));
        }
        self.bytes += text.len() as u64;
        if self.bytes > BYTES_MAX {
            return Err(format!(
                "{file}: a migration has at most {BYTES_MAX} bytes with what it includes"
            ));
        }
        let line_at = |at: usize| first_line + text[..at].matches('\n').count();
        let mut scanner = Scanner::new(text);
        let (mut sql, mut began) = (Vec::new(), None);
        loop {
            let (stop, from) = scanner.statement(&mut sql);
            began = began.or(from);
            if stop == Stop::Backslash {
                let from = scanner.at;
                let end = text[from..].find('\n').map_or(text.len(), |end| from + end);
                scanner.at = end;
                self.metacommand(path, &text[from..end], line_at(from), depth)?;
                continue;
            }
            let line = line_at(began.take().unwrap_or_default());
            self.statement(&std::mem::take(&mut sql), &file, line)?;
            if stop == Stop::End {
                return Ok(());
            }
        }
    }

    fn statement(&mut self, sql: &[u8], file: &str, line: usize) -> Result<(), String> {
        let text = String::from_utf8_lossy(sql);
        let text = text.trim();
        let text = text.strip_suffix(';').unwrap_or(text).trim_end();
        if tokens(text).is_empty() {
            return Ok(());
        }
        let statement = Statement {
            text: self.with_values(text).map_err(|name| {
                format!(
                    "{file}:{line}: the variable {name} is not set: \\set {name} VALUE above it"
                )
            })?,
            file: file.to_owned(),
            line,
        };
        let of = tokens(&statement.text);
        if statement.starts_with(&["copy"])
            && of
                .windows(2)
                .any(|pair| pair[0].is("from") && pair[1].is("stdin"))
        {
            return Err(format!(
                "{file}:{line}: COPY … FROM stdin has its rows in the file, which pgdyno does not send: use INSERT, or \
                 leave the rows out"
            ));
        }
        self.statements.push(statement);
        Ok(())
    }

    /// The statement with values in place of psql's variables.
    fn with_values(&self, text: &str) -> Result<String, String> {
        let mut made = text.to_owned();
        let Some(variables) = &self.variables else {
            return Ok(made);
        };
        for token in tokens(text)
            .iter()
            .rev()
            .filter(|it| it.kind == Kind::Variable)
        {
            let name = token.text[1..].trim_matches(['\'', '"']);
            let value = variables.get(name).ok_or(name)?;
            let value = match token.text.as_bytes()[1] {
                b'\'' => format!("'{}'", value.replace('\'', "''")),
                b'"' => format!("\"{}\"", value.replace('"', "\"\"")),
                _ => value.clone(),
            };
            made.replace_range(token.at..token.end(), &value);
        }
        Ok(made)
    }

    fn metacommand(
        &mut self,
        path: &Path,
        text: &str,
        line: usize,
        depth: usize,
    ) -> Result<(), String> {
        let file = path.display();
        let words = words(text);
        let (command, arguments) = words
            .split_first()
            .map_or(("", &[][..]), |(c, a)| (c.as_str(), a));
        let Some(variables) = &mut self.variables else {
            return Err(format!(
                "{file}:{line}: psql's \\{command}, but psql does not run this file"
            ));
        };
        match (command, arguments) {
            ("set", [name, values @ ..]) => {
                let values: Vec<String> = values
                    .iter()
                    .map(|value| {
                        let known = value.strip_prefix(':').and_then(|name| variables.get(name));
                        known.unwrap_or(value).clone()
                    })
                    .collect();
                variables.insert(name.clone(), values.concat());
                Ok(())
            }
            ("unset", [name]) => {
                variables.remove(name);
                Ok(())
            }
            ("i" | "include" | "ir" | "include_relative", [named]) => {
                let named = named
                    .strip_prefix(':')
                    .and_then(|name| variables.get(name))
                    .unwrap_or(named);
                let included = match (
                    command.starts_with("ir") || command.ends_with("relative"),
                    path.parent(),
                ) {
                    (true, Some(folder)) => folder.join(named),
                    _ => PathBuf::from(named),
                };
                let text = text_of(&included).map_err(|why| format!("{file}:{line}: {why}"))?;
                self.file(&included, &text, 1, depth + 1)
            }
            (command, _) if OUTPUT_ONLY.contains(&command) => Ok(()),
            (command, _) => Err(format!(
                "{file}:{line}: psql's \\{command} is not run by pgdyno: \\set, \\unset, \\i and \\ir are"
            )),
        }
    }
}

/// The words of a metacommand; one in quotes is one word.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        let (word, length) = if first == '\'' {
            let end = rest[1..].find('\'').map_or(rest.len(), |end| end + 1);
            (&rest[1..end], (end + 1).min(rest.len()))
        } else {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            (&rest[..end], end)
        };
        words.push(word.to_owned());
        rest = rest[length..].trim_start();
    }
    words
}
