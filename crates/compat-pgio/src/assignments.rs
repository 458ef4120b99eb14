//! Assignments as a shell would read them from a file that it is told to source: several on a line,
//! quotes, backslashes, variables set before, comments. Nothing is ever executed: what only a shell
//! could tell is an error that names the place.
//!
//! Not for: what the names mean (`conf.rs`).

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

/// One `NAME=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// Its value, without the quotes.
    pub value: String,
}

/// All assignments of a text, in their order.
///
/// # Errors
/// In one line, with the number of the text's line at its beginning: what is no assignment, or
/// would have to be executed.
pub fn read(text: &str) -> Result<Vec<Assignment>, String> {
    let mut reader = Reader {
        chars: text.chars().peekable(),
        line: 1,
        known: BTreeMap::new(),
    };
    let mut assignments = Vec::new();
    while let Some(line) = reader.next_word() {
        let word = reader.word().map_err(|what| format!("{line}: {what}"))?;
        let (name, value) = match word {
            Word::Assignment(name, value) => (name, value),
            // `export NAME=VALUE`: the assignment comes next.
            Word::Other(word) if word == "export" => continue,
            Word::Other(word) => {
                return Err(format!(
                    "{line}: \"{word}\" is no assignment (only NAME=VALUE is read, nothing is \
                     executed)"
                ));
            }
        };
        reader.known.insert(name.clone(), value.clone());
        assignments.push(Assignment { line, name, value });
    }
    Ok(assignments)
}

enum Word {
    Assignment(String, String),
    Other(String),
}

struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
    line: usize,
    /// What was set before.
    known: BTreeMap<String, String>,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.chars.next();
        self.line += usize::from(c == Some('\n'));
        c
    }

    fn skip(&mut self) {
        let _ = self.next();
    }

    /// Goes to where the next word begins; its line.
    fn next_word(&mut self) -> Option<usize> {
        loop {
            match self.chars.peek()? {
                '#' => while self.next().is_some_and(|c| c != '\n') {},
                ';' => self.skip(),
                c if c.is_whitespace() => self.skip(),
                _ => return Some(self.line),
            }
        }
    }

    /// A word to its end. It is an assignment when an unquoted name stands before a `=`.
    fn word(&mut self) -> Result<Word, String> {
        let mut name: Option<String> = None;
        let mut text = String::new();
        let mut may_be_name = true;
        while let Some(&c) = self.chars.peek() {
            match c {
                c if c.is_whitespace() || c == ';' => break,
                '=' if name.is_none() && may_be_name && is_name(&text) => {
                    self.skip();
                    name = Some(std::mem::take(&mut text));
                }
                '\'' => {
                    may_be_name = false;
                    self.single_quoted(&mut text)?;
                }
                '"' => {
                    may_be_name = false;
                    self.double_quoted(&mut text)?;
                }
                '\\' => {
                    may_be_name = false;
                    self.skip();
                    // A line that goes on in the next one.
                    text.extend(self.next().filter(|c| *c != '\n'));
                }
                '$' => {
                    may_be_name = false;
                    self.variable(&mut text)?;
                }
                '`' => return Err(COMMAND.to_owned()),
                '(' | ')' | '<' | '>' | '|' | '&' => {
                    return Err(format!("\"{c}\" would have to be executed"));
                }
                c => {
                    self.skip();
                    text.push(c);
                }
            }
        }
        Ok(match name {
            Some(name) => Word::Assignment(name, text),
            None => Word::Other(text),
        })
    }

    fn single_quoted(&mut self, text: &mut String) -> Result<(), String> {
        self.skip();
        loop {
            match self.next() {
                Some('\'') => return Ok(()),
                Some(c) => text.push(c),
                None => return Err("a quote is not closed".to_owned()),
            }
        }
    }

    fn double_quoted(&mut self, text: &mut String) -> Result<(), String> {
        self.skip();
        loop {
            match self.chars.peek() {
                Some('$') => self.variable(text)?,
                Some('`') => return Err(COMMAND.to_owned()),
                Some(_) => match self.next() {
                    Some('"') => return Ok(()),
                    // A backslash stands for itself before anything else.
                    Some('\\') => match self.next() {
                        Some(c @ ('$' | '`' | '"' | '\\')) => text.push(c),
                        Some('\n') => {}
                        c => {
                            text.push('\\');
                            text.extend(c);
                        }
                    },
                    c => text.extend(c),
                },
                None => return Err("a quote is not closed".to_owned()),
            }
        }
    }

    fn variable(&mut self, text: &mut String) -> Result<(), String> {
        self.skip();
        let in_braces = self.chars.next_if_eq(&'{').is_some();
        if self.chars.peek() == Some(&'(') {
            return Err(COMMAND.to_owned());
        }
        let mut name = String::new();
        while let Some(c) = self
            .chars
            .next_if(|c| c.is_ascii_alphanumeric() || *c == '_')
        {
            name.push(c);
        }
        if in_braces && self.next() != Some('}') {
            return Err("of variables only $NAME and ${NAME} are understood".to_owned());
        }
        let value = self.known.get(&name).ok_or_else(|| {
            format!("${name} is not set before it (environment variables are not used)")
        })?;
        text.push_str(value);
        Ok(())
    }
}

const COMMAND: &str = "a command would have to be executed for this value";

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(usize, String, String)> {
        let all = read(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        all.into_iter().map(|a| (a.line, a.name, a.value)).collect()
    }

    fn pair(line: usize, name: &str, value: &str) -> (usize, String, String) {
        (line, name.to_owned(), value.to_owned())
    }

    #[test]
    fn several_assignments_stand_on_a_line_with_quotes_and_comments_between() {
        let text = "# pgio's own\nA=1 B='two words'  C=\"three \\\"more\\\" \\n\" # and so on\n\
                    export D=x#y; E=\\$A\\ b F=\nG=$A-${B}-\"$C\"";
        assert_eq!(
            pairs(text),
            [
                pair(2, "A", "1"),
                pair(2, "B", "two words"),
                pair(2, "C", "three \"more\" \\n"),
                pair(3, "D", "x#y"),
                pair(3, "E", "$A b"),
                pair(3, "F", ""),
                pair(4, "G", "1-two words-three \"more\" \\n"),
            ]
        );
        assert_eq!(pairs(" \n# nothing\n"), []);
        assert_eq!(pairs("A=a\\\nb"), [pair(1, "A", "ab")]);
        // The equals signs of a connection string are its own.
        assert_eq!(pairs("A=b=c"), [pair(1, "A", "b=c")]);
    }

    #[test]
    fn what_a_shell_would_execute_is_an_error_with_its_line() {
        for (text, want) in [
            ("A=1\nrm -rf /", "2: \"rm\" is no assignment"),
            ("A=$(hostname)", "1: a command would have to be executed"),
            ("A=`hostname`", "1: a command would have to be executed"),
            ("A=\"`hostname`\"", "1: a command"),
            ("A=1 > /etc/passwd", "1: \">\" would have to be executed"),
            ("A=1 & B=2", "1: \"&\" would have"),
            ("\n\nA='1", "3: a quote is not closed"),
            ("A=\"1", "1: a quote is not closed"),
            ("A=${B:-1}", "only $NAME and ${NAME}"),
            ("A=$HOME", "$HOME is not set before it"),
            ("'A'=1", "\"A=1\" is no assignment"),
            ("9=1", "\"9=1\" is no assignment"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}
