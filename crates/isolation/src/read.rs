//! Reads a history file: Elle's EDN or JSON, one map for each begin and end of a transaction.
//!
//! Formats: github.com/jepsen-io/history (README), github.com/jepsen-io/elle (README), elle-cli's JSON.
//! `docs/isolation.md` has them with pgdyno's two operations for predicates.

use std::collections::HashMap;
use std::fmt;

use crate::builder::{Builder, HistoryError};
use crate::check::Progress;
use crate::forms::{Failure, Form, Forms};
use crate::history::{ClockStep, CutOff, History, Status};
use crate::keys::KeyName;

/// Bytes between two reports of progress.
const PROGRESS_BYTES: usize = 1 << 20;

/// Why a file is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    pub line: u64,
    /// Counted from 1, in bytes; nothing for a whole line.
    pub column: Option<usize>,
    /// What is wrong, and what to do.
    pub problem: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if let Some(column) = self.column {
            write!(f, ", column {column}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for ReadError {}

impl From<HistoryError> for ReadError {
    fn from(error: HistoryError) -> Self {
        Self {
            line: 1,
            column: None,
            problem: error.to_string(),
        }
    }
}

/// A transaction that has begun.
struct Open {
    place: u32,
    time_ns: i64,
    operations: Form,
    line: u64,
}

#[derive(Default)]
struct Reader {
    builder: Builder,
    open: HashMap<i64, Open>,
    /// Processes whose last transaction ended with :info, and in which line.
    gone: HashMap<i64, u64>,
    place: u32,
    last_index: Option<i64>,
    last_time_ns: Option<i64>,
    steps: u64,
    largest_step_ns: i64,
}

/// Reads a history in EDN or JSON: maps one after the other, or one list of them.
///
/// A file that ends inside an event is read up to there ([`History::cut_off`]).
///
/// # Errors
/// The place, and what is wrong there.
pub fn read(text: &str) -> Result<History, ReadError> {
    read_with(text, &mut |_| ())
}

/// The same of a large file, with its progress in bytes.
///
/// # Errors
/// As [`read`].
pub fn read_with(text: &str, progress: &mut dyn FnMut(Progress)) -> Result<History, ReadError> {
    let mut forms = Forms::new(text);
    let mut reader = Reader::default();
    let listed = forms.take(b'[');
    let mut cut_off = false;
    let mut reported = 0;
    loop {
        if forms.at() >= reported {
            progress(Progress::new(
                "reading",
                forms.at() as u64,
                text.len() as u64,
            ));
            reported = forms.at() + PROGRESS_BYTES;
        }
        if listed && forms.take(b']') {
            break;
        }
        if !forms.more() {
            cut_off = listed;
            break;
        }
        let (line, column) = (forms.line, forms.column());
        match forms.form() {
            Ok(event) => reader.event(&event, line).map_err(|problem| ReadError {
                line,
                column: Some(column),
                problem,
            })?,
            Err(Failure::CutOff) => {
                cut_off = true;
                break;
            }
            Err(Failure::Bad(problem)) => {
                return Err(ReadError {
                    line: forms.line,
                    column: Some(forms.column()),
                    problem: format!("{problem}; expected one map for each event, in EDN or JSON"),
                });
            }
        }
    }
    reader.finish(cut_off.then_some(forms.line))
}

impl Reader {
    fn event(&mut self, event: &Form, line: u64) -> Result<(), String> {
        if !matches!(event, Form::Map(_)) {
            return Err(format!(
                "{} where an event is expected, such as {{:type :invoke, :process 0, :value [[:append 1 1]]}}",
                what(event)
            ));
        }
        // Jepsen's own processes, such as :nemesis, run no transactions.
        let process = match event.get("process") {
            Some(Form::Number(process)) => *process,
            Some(Form::Word(_)) => return Ok(()),
            Some(other) => return Err(format!(":process is {}, not a number", what(other))),
            None => return Err("an event without :process".to_owned()),
        };
        self.order(event)?;
        let time_ns = self.time(event)?;
        let place = self.place;
        self.place += 1;
        let Some(Form::Word(kind)) = event.get("type") else {
            return Err("an event without :type (:invoke, :ok, :fail or :info)".to_owned());
        };
        let operations = event.get("value").cloned().unwrap_or(Form::Nil);
        if kind == "invoke" {
            let begun = Open {
                place,
                time_ns,
                operations,
                line,
            };
            if let Some(before) = self.gone.get(&process) {
                return Err(format!(
                    "process {process} begins a transaction after its :info in line {before}: that one may still run, so a \
                     client must continue under another number"
                ));
            }
            return match self.open.insert(process, begun) {
                None => Ok(()),
                Some(before) => Err(format!(
                    "process {process} begins a transaction while that of line {} is open: after :info \
                     a client must continue under another number",
                    before.line
                )),
            };
        }
        let status = match &kind[..] {
            "ok" => Status::Committed,
            "fail" => Status::Aborted,
            "info" => Status::Unknown,
            _ => {
                return Err(format!(
                    ":type is {kind}; there are :invoke, :ok, :fail and :info"
                ));
            }
        };
        let Some(begun) = self.open.remove(&process) else {
            return Err(format!(
                "process {process} ends a transaction that has not begun: the history must have \
                 its beginning, and :invoke before :{kind}"
            ));
        };
        // What an :ok says counts; others repeat what they were asked to do, or say nothing.
        let said = match operations {
            Form::Nil if status != Status::Committed => begun.operations.clone(),
            said => said,
        };
        if status == Status::Unknown {
            self.gone.insert(process, line);
        }
        self.builder.begin_placed(
            client(process)?,
            status,
            (begun.time_ns, time_ns),
            (begun.place, place),
        );
        self.operations(&said, status)?;
        same(&begun.operations, &said)
            .map_err(|problem| format!("{problem}, unlike :invoke in line {}", begun.line))
    }

    fn order(&mut self, event: &Form) -> Result<(), String> {
        let Some(Form::Number(index)) = event.get("index") else {
            return Ok(());
        };
        match self.last_index.replace(*index) {
            Some(last) if last >= *index => Err(format!(
                ":index {index} follows {last}: events must stand in the order in which they happened; \
                 sort them by :index"
            )),
            _ => Ok(()),
        }
    }

    fn time(&mut self, event: &Form) -> Result<i64, String> {
        match event.get("time") {
            None | Some(Form::Nil) => Ok(i64::from(self.place)),
            Some(Form::Number(time_ns)) => {
                let back_ns = self
                    .last_time_ns
                    .replace(*time_ns)
                    .map_or(0, |last_ns| last_ns.saturating_sub(*time_ns));
                if back_ns > 0 {
                    self.steps += 1;
                    self.largest_step_ns = self.largest_step_ns.max(back_ns);
                }
                Ok(*time_ns)
            }
            Some(other) => Err(format!(
                ":time is {}, not a number of nanoseconds",
                what(other)
            )),
        }
    }

    fn operations(&mut self, said: &Form, status: Status) -> Result<(), String> {
        let Form::List(operations) = said else {
            return Err(format!(
                ":value is {}, not a list of operations such as [[:append 1 1] [:r 2 nil]]",
                what(said)
            ));
        };
        for operation in operations {
            let Form::List(parts) = operation else {
                return Err(format!(
                    "{} where an operation is expected",
                    what(operation)
                ));
            };
            let (Some(Form::Word(verb)), Some(key)) = (parts.first(), parts.get(1)) else {
                return Err(
                    "an operation needs a verb and a key: [:append 1 1], [:r 2 nil]".to_owned(),
                );
            };
            let key = self.builder.key(match key {
                Form::Number(number) => KeyName::Number(*number),
                Form::Word(word) => KeyName::Word(word.clone()),
                other => return Err(format!("a key is {}, not a number or a word", what(other))),
            });
            let value = parts.get(2).unwrap_or(&Form::Nil);
            self.operation(verb, key, value, status)?;
        }
        Ok(())
    }

    fn operation(
        &mut self,
        verb: &str,
        key: u32,
        value: &Form,
        status: Status,
    ) -> Result<(), String> {
        let builder = &mut self.builder;
        match (verb, value) {
            ("append", Form::Number(value)) => builder.append(key, *value),
            ("w", Form::Number(value)) => builder.write(key, *value),
            ("insert", Form::Number(row)) => builder.insert(key, *row),
            ("r", Form::Nil) if status == Status::Committed => builder.read_nothing(key),
            ("r", Form::Nil) => builder.unread(key),
            ("r", Form::Number(value)) => builder.read(key, *value),
            ("r", Form::List(elements)) => builder.read_list(key, &numbers(elements)?),
            ("rows", Form::Nil) if status == Status::Committed => builder.read_rows(key, &[]),
            ("rows", Form::Nil) => builder.unread_rows(key),
            ("rows", Form::List(rows)) => builder.read_rows(key, &numbers(rows)?),
            ("append" | "w" | "insert" | "r" | "rows", other) => {
                return Err(format!(
                    ":{verb} with {}: values are integers, unique for each key",
                    what(other)
                ));
            }
            _ => {
                return Err(format!(
                    "unknown operation {verb}; there are append and r (lists), w and r (registers), \
                     insert and rows (predicates)"
                ));
            }
        };
        Ok(())
    }

    fn finish(mut self, cut_off_line: Option<u64>) -> Result<History, ReadError> {
        // What has begun and never ended may have taken effect, as after :info.
        let mut open: Vec<(i64, Open)> = self.open.drain().collect();
        open.sort_unstable_by_key(|(_, begun)| begun.place);
        let open_count = open.len() as u64;
        for (process, begun) in open {
            let at = |problem| ReadError {
                line: begun.line,
                column: None,
                problem,
            };
            let end_ns = self.last_time_ns.unwrap_or(begun.time_ns);
            self.builder.begin_placed(
                client(process).map_err(at)?,
                Status::Unknown,
                (begun.time_ns, end_ns),
                (begun.place, self.place),
            );
            self.place += 1;
            self.operations(&begun.operations, Status::Unknown)
                .map_err(at)?;
        }
        let mut history = self.builder.finish()?;
        history.cut_off = cut_off_line.map(|line| CutOff {
            line,
            open: open_count,
        });
        if self.steps > 0 {
            history.clock_step = Some(ClockStep {
                times: self.steps,
                largest_ns: self.largest_step_ns,
                order_known: true,
            });
        }
        Ok(history)
    }
}

/// Whether a transaction ended with the operations that it began with; reads may have got answers.
fn same(begun: &Form, ended: &Form) -> Result<(), String> {
    let (Form::List(begun), Form::List(ended)) = (begun, ended) else {
        return Ok(());
    };
    if begun.len() != ended.len() {
        return Err(format!(
            "ends a transaction of {} operations, begun with {}",
            ended.len(),
            begun.len()
        ));
    }
    for (number, (begun, ended)) in (1..).zip(begun.iter().zip(ended)) {
        let (Form::List(begun), Form::List(ended)) = (begun, ended) else {
            continue;
        };
        let reads =
            matches!(ended.first(), Some(Form::Word(verb)) if verb == "r" || verb == "rows");
        let parts = if reads { 2 } else { 3 };
        if begun.iter().take(parts).ne(ended.iter().take(parts)) {
            return Err(format!(
                "operation {number} has another verb, key or written value"
            ));
        }
    }
    Ok(())
}

fn client(process: i64) -> Result<u32, String> {
    u32::try_from(process)
        .map_err(|_| format!("process {process} is not between 0 and 4,294,967,295"))
}

fn numbers(forms: &[Form]) -> Result<Vec<i64>, String> {
    let number = |form: &Form| match form {
        Form::Number(number) => Ok(*number),
        other => Err(format!(
            "a read returned {}: values are integers",
            what(other)
        )),
    };
    forms.iter().map(number).collect()
}

fn what(form: &Form) -> String {
    match form {
        Form::Nil => "nil".to_owned(),
        Form::Number(number) => format!("the number {number}"),
        Form::Word(word) => format!("\"{word}\""),
        Form::List(_) => "a list".to_owned(),
        Form::Map(_) => "a map".to_owned(),
    }
}
