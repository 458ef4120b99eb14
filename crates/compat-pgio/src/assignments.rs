//! Assignments as a shell would read them from a file that it is asked to source: several on a line,
//! quotes, backslashes, variables set before or in the environment, their defaults (`${X:-2}`),
//! comments. Nothing is ever executed: what only a shell could tell is an error that names the place.
//!
//! Not for: what the names mean (`conf.rs`).

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The line on which it begins, from 1.
    pub line: usize,
    pub name: String,
    /// Its value, without the quotes.
    pub value: String,
}

/// All assignments of a text, in their order; `environment` has the variables that are not set in it.
///
/// # Errors
/// In one line, with the number of the text's line at its beginning: what is no assignment, or
/// would have to be executed.
pub fn read(
    text: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<Assignment>, String> {
    let mut reader = Reader {
        chars: text.chars().peekable(),
        line: 1,
        known: BTreeMap::new(),
        environment,
    };
    let mut assignments = Vec::new();
    while let Some(line) = reader.next_word() {
        let word = reader.word().map_err(|what| format!("{line}: {what}"))?;
        let (name, value) = match word {
            AssignmentWord::Assignment(name, value) => (name, value),
            // `export NAME=VALUE`: the assignment comes next.
            AssignmentWord::Other(word) if word == "export" => continue,
            AssignmentWord::Other(word) => {
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

enum AssignmentWord {
    Assignment(String, String),
    Other(String),
}

struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
    line: usize,
    known: BTreeMap<String, String>,
    environment: &'a dyn Fn(&str) -> Option<String>,
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

    /// A word to its end. It is an assignment when an unquoted name precedes a `=`.
    fn word(&mut self) -> Result<AssignmentWord, String> {
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
            Some(name) => AssignmentWord::Assignment(name, text),
            None => AssignmentWord::Other(text),
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
                    // A backslash means itself before anything else.
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
        let set = self.known.get(&name).cloned();
        let set = set.or_else(|| (self.environment)(&name));
        if !in_braces {
            text.push_str(&set.ok_or_else(|| not_set(&name))?);
            return Ok(());
        }
        // With a colon the default is also for what is set to nothing.
        let for_empty = self.chars.next_if_eq(&':').is_some();
        let operator = self.next();
        let set = set.filter(|value| !(for_empty && value.is_empty()));
        let value = match (operator, for_empty) {
            (Some('}'), false) => set.ok_or_else(|| not_set(&name))?,
            (Some('-' | '='), _) => {
                let default = self.default()?;
                let value = set.unwrap_or(default);
                if operator == Some('=') {
                    self.known.insert(name, value.clone());
                }
                value
            }
            _ => {
                return Err(
                    "of variables only $NAME, ${NAME} and ${NAME:-default} are understood"
                        .to_owned(),
                );
            }
        };
        text.push_str(&value);
        Ok(())
    }

    /// The default of a variable, to its closing brace.
    fn default(&mut self) -> Result<String, String> {
        let mut text = String::new();
        loop {
            match self.chars.peek() {
                Some('}') => {
                    self.skip();
                    return Ok(text);
                }
                Some('\'') => self.single_quoted(&mut text)?,
                Some('"') => self.double_quoted(&mut text)?,
                Some('$') => self.variable(&mut text)?,
                Some('`') => return Err(COMMAND.to_owned()),
                Some('\\') => {
                    self.skip();
                    text.extend(self.next());
                }
                Some(_) => text.extend(self.next()),
                None => return Err("a brace is not closed".to_owned()),
            }
        }
    }
}

const COMMAND: &str = "a command would have to be executed for this value";

fn not_set(name: &str) -> String {
    format!("${name} is set neither before it nor in the environment")
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(usize, String, String)> {
        let all = read(text, &environment).unwrap_or_else(|e| panic!("{text}: {e}"));
        all.into_iter().map(|a| (a.line, a.name, a.value)).collect()
    }

    fn environment(name: &str) -> Option<String> {
        match name {
            "THERE" => Some("7".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        }
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
    fn a_variable_that_is_not_set_has_the_default_that_a_shell_gives_it() {
        for (text, want) in [
            ("A=${X:-2}", "2"),
            ("A=${X-2}", "2"),
            ("A=${THERE:-2}", "7"),
            ("A=$THERE", "7"),
            ("A=${THERE}M", "7M"),
            ("A=${EMPTY:-2}", "2"),
            ("A=${EMPTY-2}", ""),
            ("A=\"${X:-two words}\"", "two words"),
            ("A=${X:-'a}b'}", "a}b"),
            ("A=${X:-${Y:-$THERE}}", "7"),
            ("A=${X:=3}$X", "33"),
            ("A=${X:-}", ""),
            ("A=${X:-a\\}b}", "a}b"),
        ] {
            assert_eq!(pairs(text), [pair(1, "A", want)], "{text}");
        }
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
            ("A=${B:?}", "only $NAME, ${NAME} and ${NAME:-default}"),
            ("A=${B:}", "only $NAME"),
            ("A=${B:-1", "1: a brace is not closed"),
            ("A=${B:-$(hostname)}", "1: a command"),
            ("A=${B:-`hostname`}", "1: a command"),
            ("A=$B", "$B is set neither before it nor in the environment"),
            ("A=${B}", "$B is set neither"),
            ("'A'=1", "\"A=1\" is no assignment"),
            ("9=1", "\"9=1\" is no assignment"),
        ] {
            let error = read(text, &environment).unwrap_err();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}
