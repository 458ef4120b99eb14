//! From a script's text to its commands.

use crate::conditions::resolve;
use crate::expr::token::{self, continuation, is_blank};
use crate::expr::{UNKNOWN_FUNCTION, functions};
use crate::octets;
use crate::statements::{Scanner, Stop};
use crate::suggest::{abbreviated, nearest};
use crate::{
    Command, Expr, For, Gset, GsetKind, Language, Names, Observation, Observe, Op, Operand, Script,
    ScriptError, ScriptErrorKind, ShellArgs, Sleep, Sql, Units, is_valid_name,
};

/// The most words a meta command may have, its name included.
const MAX_WORDS: usize = 256;

/// The most bytes of a statement that stand for it in reports.
const MAX_TEXT: usize = 127;

/// Every meta command of pgdyno's language.
const META_COMMANDS: &[&str] = &[
    "set",
    "if",
    "elif",
    "else",
    "endif",
    "for",
    "endfor",
    "error",
    "think",
    "sleep",
    "shell",
    "setshell",
    "gset",
    "aset",
    "unit",
    "units",
    "observe",
    "startpipeline",
    "syncpipeline",
    "endpipeline",
];

/// Commands of psql that people write into scripts.
const OF_PSQL: &[&str] = &[
    "c", "connect", "copy", "d", "dt", "echo", "encoding", "g", "gexec", "gx", "i", "include",
    "ir", "o", "pset", "prompt", "q", "qecho", "timing", "unset", "warn", "watch", "x",
];

const GSET_PLACE: &str = "\\gset must follow an SQL command";

/// Parses a script in pgbench's language; see [`Language::parse`].
///
/// # Errors
/// The script has a mistake.
pub fn parse(name: &str, text: &str, names: &mut Names) -> Result<Script, ScriptError> {
    Language::Pgbench.parse(name, text, names)
}

pub(crate) fn parse_in(
    language: Language,
    name: &str,
    text: &str,
    names: &mut Names,
) -> Result<Script, ScriptError> {
    let read = text.split('\0').next().unwrap_or_default();
    let mut parser = Parser {
        language,
        script: name,
        text: read,
        names,
        loops: 0,
        scanner: Scanner::new(read),
        lines: Lines::new(read),
        commands: Vec::new(),
    };
    parser.commands()?;
    let mut commands = parser.commands;
    let error = |kind, line, message: &str| ScriptError {
        script: name.into(),
        line,
        column: None,
        message: message.into(),
        more: None,
        command: None,
        source_line: None,
        kind,
    };
    if commands.is_empty() {
        return Err(error(ScriptErrorKind::Empty, 1, "empty command list"));
    }
    if let Err(wrong) = resolve(&mut commands) {
        let at = wrong.command.min(commands.len() - 1);
        if wrong.is_about_loop {
            let word = commands[at].words.first().map(|word| word.as_str().into());
            return Err(ScriptError {
                command: word,
                source_line: Some(commands[at].text.as_str().into()),
                ..error(ScriptErrorKind::Syntax, commands[at].line, wrong.message)
            });
        }
        if language.is_pgdyno() {
            // What is missing at the end is missing to what is open.
            let at = wrong.open.unwrap_or(at);
            let word = commands[at].words.first().map(|word| word.as_str().into());
            return Err(ScriptError {
                command: word,
                source_line: Some(commands[at].text.as_str().into()),
                ..error(ScriptErrorKind::Syntax, commands[at].line, wrong.message)
            });
        }
        let command_number = wrong.command + 1;
        let kind = ScriptErrorKind::Condition { command_number };
        return Err(error(kind, commands[at].line, wrong.message));
    }
    Ok(Script {
        name: name.to_owned(),
        source: text.to_owned(),
        commands,
    })
}

/// Line numbers of rising offsets.
struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    line: u32,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text: text.as_bytes(),
            at: 0,
            line: 1,
        }
    }

    /// The line of an offset that is not before the last one asked for.
    fn line(&mut self, at: usize) -> u32 {
        let passed = self.text.get(self.at..at).unwrap_or_default();
        self.line += passed.iter().filter(|&&byte| byte == b'\n').count() as u32;
        self.at = self.at.max(at);
        self.line
    }
}

/// A word of a meta command.
struct Word {
    text: String,
    /// Where pgbench thinks that it begins: it counts back from the end, so that a word with a
    /// line continuation right behind it seems to begin later.
    offset: usize,
}

/// A meta command being read.
struct Meta<'a> {
    /// The offset of its backslash.
    start: usize,
    line: u32,
    words: Vec<String>,
    offsets: Vec<usize>,
    /// All of it, once its end is known.
    source: Option<&'a str>,
}

struct Parser<'a, 'n> {
    language: Language,
    /// How many `\for`s are open.
    loops: usize,
    script: &'a str,
    text: &'a str,
    names: &'n mut Names,
    scanner: Scanner<'a>,
    lines: Lines<'a>,
    commands: Vec<Command>,
}

/// The first line of a statement, at most [`MAX_TEXT`] bytes of it.
fn first_line(text: &str) -> &str {
    let line = text.split(['\n', '\r']).next().unwrap_or_default();
    octets::beginning(line, MAX_TEXT)
}

impl<'a> Parser<'a, '_> {
    fn commands(&mut self) -> Result<(), ScriptError> {
        loop {
            let mut text = Vec::new();
            let (stop, began) = self.scanner.statement(&mut text);
            if let Some(began) = began {
                let line = self.lines.line(began);
                // Statements are cut out of a text at ASCII bytes, so that this loses nothing.
                let text = String::from_utf8_lossy(&text).into_owned();
                self.commands.push(Command {
                    line,
                    text: first_line(&text).to_owned(),
                    words: Vec::new(),
                    op: Op::Sql(Sql::new(text, self.names)),
                });
            }
            match stop {
                Stop::Semicolon => {}
                Stop::Backslash => self.meta()?,
                Stop::End => return Ok(()),
            }
        }
    }

    /// The next word of a meta command, if its line has one more; else moves behind the line.
    fn next_word(&mut self) -> Option<Word> {
        let bytes = self.text.as_bytes();
        let mut at = self.scanner.at;
        loop {
            let rest = &bytes[at..];
            match rest.first() {
                None => {
                    self.scanner.at = at;
                    return None;
                }
                Some(b'\n') => {
                    self.scanner.at = at + 1;
                    return None;
                }
                Some(&byte) if is_blank(byte) => at += 1,
                Some(_) => match continuation(rest) {
                    Some(length) => at += length,
                    None => break,
                },
            }
        }
        let length = bytes[at..]
            .iter()
            .take_while(|&&byte| !is_blank(byte) && byte != b'\n')
            .count();
        let mut word = &self.text[at..at + length];
        let mut end = at + length;
        // A backslash that ends the word may continue the line; it is then no part of the word.
        if let Some(cut) = word.strip_suffix('\\')
            && let Some(length) = continuation(&bytes[at + cut.len()..])
        {
            word = cut;
            end = at + cut.len() + length;
        }
        self.scanner.at = end;
        Some(Word {
            text: word.to_owned(),
            offset: end - word.len(),
        })
    }

    fn error(&self, meta: &Meta<'_>, message: &str, about: Option<(&str, usize)>) -> ScriptError {
        self.error_at(
            meta,
            message,
            about.map(|(more, _)| more),
            about.map(|(_, at)| at),
        )
    }

    fn error_at(
        &self,
        meta: &Meta<'_>,
        message: &str,
        more: Option<&str>,
        offset: Option<usize>,
    ) -> ScriptError {
        ScriptError {
            script: self.script.into(),
            line: meta.line,
            column: offset.map(|offset| {
                let before = self.text.as_bytes().get(meta.start..offset);
                (octets::count(before.unwrap_or_default()) + 1) as u32
            }),
            message: message.into(),
            more: more.map(Box::from),
            command: meta.words.first().map(|word| word.as_str().into()),
            source_line: meta.source.map(Box::from),
            kind: ScriptErrorKind::Syntax,
        }
    }

    /// The text from a meta command's backslash to where reading has come, without newline.
    fn source(&self, meta: &Meta<'_>) -> &'a str {
        self.text[meta.start..self.scanner.at].trim_end_matches(['\n', '\r'])
    }

    fn word(&mut self, meta: &mut Meta<'_>) -> bool {
        let word = self.next_word();
        let found = word.is_some();
        if let Some(word) = word {
            meta.words.push(word.text);
            meta.offsets.push(word.offset);
        }
        found
    }

    /// Reads a meta command, whose backslash has been read.
    fn meta(&mut self) -> Result<(), ScriptError> {
        let start = self.scanner.at - 1;
        let mut meta = Meta {
            start,
            line: self.lines.line(start),
            words: Vec::new(),
            offsets: Vec::new(),
            source: None,
        };
        // A backslash alone on its line means nothing.
        if !self.word(&mut meta) {
            return Ok(());
        }
        let op = match meta.words[0].to_ascii_lowercase().as_str() {
            "set" => {
                if !self.word(&mut meta) {
                    return Err(self.error(&meta, "missing argument", None));
                }
                let slot = self.names.intern(&meta.words[1]);
                let [expr] = self.expressions(&mut meta)?;
                Op::Set { slot, expr }
            }
            "if" => Op::If {
                cond: self.condition(&mut meta)?,
                on_false: 0,
            },
            "elif" => Op::Elif {
                cond: self.condition(&mut meta)?,
                on_false: 0,
                end: 0,
            },
            "for" if self.language.is_pgdyno() => self.begin_loop(&mut meta)?,
            "error" if self.language.is_pgdyno() => {
                let [message] = self.expressions(&mut meta)?;
                Op::Error { message }
            }
            "think" if self.language.is_pgdyno() => {
                let [seconds] = self.expressions(&mut meta)?;
                let is_sql = |command: &Command| matches!(command.op, Op::Sql(_));
                if self.commands.iter().any(is_sql) {
                    let message = "it must stand before the first SQL command";
                    return Err(self.error(&meta, message, None));
                }
                Op::Think { seconds }
            }
            name => match self.with_words(&mut meta, name)? {
                Some(op) => op,
                None => return Ok(()),
            },
        };
        self.commands.push(Command {
            line: meta.line,
            text: self.source(&meta).to_owned(),
            words: meta.words,
            op,
        });
        Ok(())
    }

    fn condition(&mut self, meta: &mut Meta<'a>) -> Result<Expr, ScriptError> {
        let [condition] = self.expressions(meta)?;
        Ok(if self.language.is_pgdyno() {
            condition.into_condition()
        } else {
            condition
        })
    }

    /// `\for VAR FROM TO`.
    fn begin_loop(&mut self, meta: &mut Meta<'a>) -> Result<Op, ScriptError> {
        if !self.word(meta) {
            return Err(self.error(meta, "missing argument", None));
        }
        if !is_valid_name(&meta.words[1]) {
            meta.source = Some(self.source(meta));
            let about = Some((&*meta.words[1], meta.offsets[1]));
            return Err(self.error(meta, "invalid variable name", about));
        }
        let slot = self.names.intern(&meta.words[1]);
        let [from, to] = self.expressions(meta)?;
        // Names that no script can mention; loops side by side share them.
        let depth = self.loops;
        self.loops += 1;
        let mut hidden = |what: &str| self.names.intern(&format!("\\for {depth} {what}"));
        Ok(Op::For(For {
            slot,
            from,
            to,
            at: hidden("at"),
            last: hidden("last"),
            end: 0,
        }))
    }

    /// So many expressions, up to the end of the line.
    fn expressions<const N: usize>(
        &mut self,
        meta: &mut Meta<'a>,
    ) -> Result<[Expr; N], ScriptError> {
        let line = token::split(self.text, self.scanner.at, self.language);
        self.scanner.at = line.end;
        meta.source = Some(self.source(meta));
        // pgbench points at a word's last byte.
        if let Some(error) = line.error {
            let at = Some(error.end - 1);
            return Err(self.error_at(meta, error.message, Some(error.text), at));
        }
        Expr::parse(&line.words, self.names, self.language).map_err(|error| {
            let at = Some(error.end - 1);
            let meant = match error.more {
                Some(name) if error.message == UNKNOWN_FUNCTION => self.meant_function(name),
                _ => None,
            };
            self.error_at(meta, error.message, meant.as_deref().or(error.more), at)
        })
    }

    /// A meta command whose arguments are words; none for one that changes the command before.
    fn with_words(&mut self, meta: &mut Meta<'a>, name: &str) -> Result<Option<Op>, ScriptError> {
        while meta.words.len() < MAX_WORDS && self.word(meta) {}
        if meta.words.len() == MAX_WORDS && self.next_word().is_some() {
            return Err(self.error(meta, "too many arguments", None));
        }
        meta.source = Some(self.source(meta));
        let alone = |parser: &Self, op| {
            if meta.words.len() == 1 {
                Ok(Some(op))
            } else {
                Err(parser.error(meta, "unexpected argument", None))
            }
        };
        match name {
            "sleep" => {
                let unit = self.check_sleep(meta)?;
                let sleep = Sleep::new(&meta.words, unit.as_deref(), self.names);
                Ok(Some(Op::Sleep(sleep)))
            }
            "setshell" if meta.words.len() < 3 => Err(self.error(meta, "missing argument", None)),
            "setshell" => Ok(Some(Op::SetShell {
                slot: self.names.intern(&meta.words[1]),
                args: ShellArgs::new(&meta.words[2..], self.names),
            })),
            "shell" if meta.words.len() < 2 => Err(self.error(meta, "missing command", None)),
            "shell" => Ok(Some(Op::Shell {
                args: ShellArgs::new(&meta.words[1..], self.names),
            })),
            "else" => alone(self, Op::Else { end: 0 }),
            "endif" => alone(self, Op::EndIf),
            "endfor" if self.language.is_pgdyno() => {
                self.loops = self.loops.saturating_sub(1);
                alone(self, Op::EndFor { begin: 0 })
            }
            "startpipeline" => alone(self, Op::StartPipeline),
            "syncpipeline" => alone(self, Op::SyncPipeline),
            "endpipeline" => alone(self, Op::EndPipeline),
            "gset" | "aset" if meta.words.len() > 2 => {
                Err(self.error(meta, "too many arguments", None))
            }
            "gset" => self.gset(meta, GsetKind::Gset).map(|()| None),
            "aset" => self.gset(meta, GsetKind::Aset).map(|()| None),
            "unit" | "units" if self.language.is_pgdyno() => self.units(meta, name).map(|()| None),
            "observe" if self.language.is_pgdyno() => self.observe(meta).map(|()| None),
            _ => {
                let meant = self.meant_command(name);
                Err(self.error_at(meta, "invalid command", meant.as_deref(), None))
            }
        }
    }

    /// What may have been meant by a meta command that there is not; pgbench does not say.
    fn meant_command(&self, name: &str) -> Option<String> {
        if !self.language.is_pgdyno() {
            return None;
        }
        if OF_PSQL.contains(&name) {
            return Some(format!("\\{name} is a command of psql, not of scripts"));
        }
        let meant = nearest(name, META_COMMANDS.iter().copied())?;
        Some(format!("did you mean \\{meant}?"))
    }

    /// The same of a function.
    fn meant_function(&self, name: &str) -> Option<String> {
        if !self.language.is_pgdyno() {
            return None;
        }
        let typed = name.to_ascii_lowercase();
        let meant = nearest(&typed, functions()).or_else(|| abbreviated(&typed, functions()));
        Some(match meant {
            Some(meant) => format!("{name}: did you mean {meant}?"),
            None => format!("{name}: pgdyno help scripts lists them"),
        })
    }

    /// Attaches a `\gset` or `\aset` to the statement before it.
    fn gset(&mut self, meta: &Meta<'_>, kind: GsetKind) -> Result<(), ScriptError> {
        let prefix = meta.words.get(1).cloned().unwrap_or_default();
        let more = match self.commands.last_mut() {
            None => None,
            Some(Command {
                op: Op::Sql(sql), ..
            }) => {
                if sql.gset.is_none() {
                    sql.gset = Some(Gset { kind, prefix });
                    return Ok(());
                }
                None
            }
            Some(command) => Some(command.text.as_str().into()),
        };
        Err(ScriptError {
            script: self.script.into(),
            line: meta.line,
            column: None,
            message: GSET_PLACE.into(),
            more,
            command: None,
            source_line: None,
            kind: ScriptErrorKind::Syntax,
        })
    }

    /// Attaches a `\unit` or `\units` to the statement before it.
    fn units(&mut self, meta: &Meta<'_>, name: &str) -> Result<(), ScriptError> {
        let names = &meta.words[1..];
        if names.is_empty() {
            return Err(self.error(meta, "missing argument", None));
        }
        if name == "unit" && names.len() > 1 {
            return Err(self.error(meta, "too many arguments", None));
        }
        if let Some(at) = names.iter().position(|name| !is_valid_name(name)) {
            let about = Some((&*names[at], meta.offsets[at + 1]));
            return Err(self.error(meta, "invalid name of an operation", about));
        }
        let has_statement = match self.commands.last_mut().map(|command| &mut command.op) {
            Some(Op::Sql(sql)) if sql.gset.is_none() && sql.units.is_none() => {
                sql.units = Some(match name {
                    "unit" => Units::One(names[0].clone()),
                    _ => Units::Reported(names.to_vec()),
                });
                sql.gset = (name == "units").then(|| Gset {
                    kind: GsetKind::Gset,
                    prefix: String::new(),
                });
                true
            }
            _ => false,
        };
        if has_statement {
            Ok(())
        } else {
            Err(self.error(meta, "it must follow an SQL command", None))
        }
    }

    /// Attaches an `\observe` to the statement before it.
    fn observe(&mut self, meta: &Meta<'_>) -> Result<(), ScriptError> {
        let about = |at: usize| Some((&*meta.words[at], meta.offsets[at]));
        let Some(word) = meta.words.get(1) else {
            return Err(self.error(meta, "missing argument", None));
        };
        let Some(what) = Observation::of(word) else {
            let message = "it is one of append, write, insert, list, read and rows";
            return Err(self.error(meta, message, about(1)));
        };
        let count = if what.is_read() { 3 } else { 4 };
        if meta.words.len() < count {
            return Err(self.error(meta, "missing argument", None));
        }
        if meta.words.len() > count {
            return Err(self.error(meta, "too many arguments", about(count)));
        }
        let mut operands = [Operand::Int(0); 2];
        for (operand, at) in operands.iter_mut().zip(2..count) {
            let Some(read) = Operand::of(&meta.words[at], self.names) else {
                let message = "it must be a whole number or :variable";
                return Err(self.error(meta, message, about(at)));
            };
            *operand = read;
        }
        let [key, value] = operands;
        let Some(Op::Sql(sql)) = self.commands.last_mut().map(|command| &mut command.op) else {
            return Err(self.error(meta, "it must follow an SQL command", None));
        };
        let mut reads = sql.observed.iter().map(|other| other.what);
        let is_alone = match what {
            Observation::Rows => !reads.any(Observation::is_read),
            _ => !what.is_read() || reads.all(|other| other != Observation::Rows),
        };
        if !is_alone {
            let message = "a statement that reads rows reads nothing else";
            return Err(self.error(meta, message, about(1)));
        }
        sql.observed.push(Observe { what, key, value });
        Ok(())
    }

    /// Checks the words of `\sleep`; gives the unit, if there is one.
    fn check_sleep(&self, meta: &Meta<'_>) -> Result<Option<String>, ScriptError> {
        let Some(amount) = meta.words.get(1) else {
            return Err(self.error(meta, "missing argument", None));
        };
        if let Some(&offset) = meta.offsets.get(3) {
            return Err(self.error_at(meta, "too many arguments", None, Some(offset)));
        }
        let mut unit = meta
            .words
            .get(2)
            .map(|unit| (unit.clone(), meta.offsets[2]));
        if !amount.starts_with(':') {
            let unsigned = amount.strip_prefix(['+', '-']).unwrap_or(amount);
            let rest = unsigned.trim_start_matches(|c: char| c.is_ascii_digit());
            let has_digit = rest.len() < unsigned.len();
            if !rest.is_empty() {
                if unit.is_some() || !has_digit {
                    let message = "invalid sleep time, must be an integer";
                    return Err(self.error(meta, message, Some((amount, meta.offsets[1]))));
                }
                let offset = meta.offsets[1] + amount.len() - rest.len();
                unit = Some((rest.to_owned(), offset));
            }
        }
        if let Some((unit, offset)) = &unit
            && !["us", "ms", "s"]
                .iter()
                .any(|u| unit.eq_ignore_ascii_case(u))
        {
            let message = "unrecognized time unit, must be us, ms or s";
            return Err(self.error(meta, message, Some((unit, *offset))));
        }
        Ok(unit.map(|(unit, _)| unit))
    }
}
