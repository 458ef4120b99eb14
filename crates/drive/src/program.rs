//! A script made ready to run: commands in order, jumps resolved, messages built as far as they
//! can be without values.

use std::hash::{BuildHasher, RandomState};

use pgdyno_script::{
    Computing, EvalError, Expr, Gset, Observe, Op, Piece, Slot, Sql, Units, Value, Vars, escape,
    leads_to_elif,
};
use pgdyno_wire::batch::{Batch, Binds, Queries};
use pgdyno_wire::frontend;

use crate::effects::{self, Effects};
use crate::observed;
use crate::receipts;
use crate::savepoint::{self, Block};
use crate::stamps;
use pgdyno_spec::QueryMode;

/// A compiled script. Commands have pgbench's numbers.
#[derive(Clone, Debug)]
pub struct Program {
    script: pgdyno_script::Script,
    /// By command; `None` for those that do not go to the server.
    statements: Vec<Option<Statement>>,
    /// By command: whether a condition that does not hold leads to an `\elif` of its own, which is
    /// to be evaluated then. (It may also lead past its `\endif` to an `\elif` of an outer `\if`
    /// whose branch has been taken.)
    leads_to_elif: Vec<bool>,
    timed: Vec<bool>,
    /// What of it can be computed without its commands.
    computing: Computing,
    mode: QueryMode,
    block: Option<Block>,
}

/// Why a script cannot be run as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("script \"{script}\", line {line}: {reason}")]
pub struct CompileError {
    pub script: String,
    /// The line of the statement.
    pub line: u32,
    /// What is wrong with it, in pgbench's words.
    pub reason: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Statement {
    /// Prepared mode: what makes the statement known to a new connection, and its number among
    /// all prepared statements of the run.
    pub(crate) prepare: Option<Prepare>,
    body: Body,
    /// Where results go, if anywhere.
    pub(crate) gset: Option<Gset>,
    /// The work units that it does.
    pub(crate) units: Option<Work>,
    /// What it does to the transaction block.
    pub(crate) effects: Effects,
    /// How many answers of ROLLBACK it asks for; `None` when that cannot be determined.
    pub(crate) rollbacks: Option<u32>,
    /// Whether it writes the receipt of its transaction.
    pub(crate) leaves_receipt: bool,
    /// What it does with the stamp of its client.
    pub(crate) stamp: Option<stamps::Use>,
    /// What it does to the keys of a history.
    pub(crate) observed: Box<[Observe]>,
    /// Whether it or its answer is anything but sent and awaited.
    pub(crate) is_watched: bool,
}

/// The work units of a statement, their operations by number among all of the run.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    One(usize),
    /// The server tells of them in columns of these names.
    Reported(Vec<(String, usize)>),
}

/// How the server knows prepared statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatementNames {
    /// By pgbench's names for them, which all runs have.
    #[default]
    Pgbench,
    /// By names of this run: where a pooler shares sessions, one name never represents two texts.
    Run(u32),
}

impl StatementNames {
    /// Names that no other run has: but for one in four thousand million.
    pub fn of_a_run() -> Self {
        // Differs for each in a process, by keys that the system drew.
        let drawn = RandomState::new().hash_one(std::process::id());
        Self::Run(drawn as u32)
    }

    fn name(self, number: usize) -> String {
        match self {
            Self::Pgbench => format!("P_{number}"),
            Self::Run(run) => format!("p{run:08x}_{number}"),
        }
    }
}

/// What the scripts of a run count together.
#[derive(Debug, Default)]
pub struct Numbers {
    names: StatementNames,
    prepared: usize,
    /// Operations whose work units are counted.
    operations: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Prepare {
    pub(crate) number: usize,
    /// What the server knows it by.
    pub(crate) name: String,
    pub(crate) message: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Body {
    Query(Query),
    Bound(Bound),
}

#[derive(Clone, Debug)]
struct Query {
    /// What it is put together from when its values are integers.
    queries: Queries,
    values: Box<[Slot]>,
    /// What it is put together from in any case.
    sql: Sql,
}

/// A Bind message with values, and what goes with it.
#[derive(Clone, Debug)]
struct Bound {
    binds: Binds,
    parameters: Box<[Slot]>,
}

impl Program {
    /// Makes the messages for one query mode. `numbers` goes on over all scripts of a run. With a savepoint's name, the script is made ready for
    /// [`pgdyno_spec::Retry::Savepoint`].
    ///
    /// # Errors
    /// A statement with more parameters than pgbench admits; a script that is not one block, where
    /// the savepoint asks for that.
    pub fn compile(
        script: pgdyno_script::Script,
        mode: QueryMode,
        savepoint: Option<&str>,
        numbers: &mut Numbers,
    ) -> Result<Self, CompileError> {
        let (script, block) = match savepoint {
            None => (script, None),
            Some(name) => {
                let script_name = script.name.clone();
                let (script, block) =
                    savepoint::protect(script, name).map_err(|unfit| CompileError {
                        script: script_name,
                        line: unfit.line,
                        reason: unfit.reason,
                    })?;
                (script, Some(block))
            }
        };
        observed::check(&script)?;
        let mut statements = Vec::with_capacity(script.commands.len());
        for (index, command) in script.commands.iter().enumerate() {
            let Op::Sql(sql) = &command.op else {
                statements.push(None);
                continue;
            };
            let failed = |reason: String| CompileError {
                script: script.name.clone(),
                line: command.line,
                reason,
            };
            let (prepare, body) = match mode {
                QueryMode::Simple => (None, simple(sql)),
                QueryMode::Extended => {
                    let (numbered, slots) = sql.numbered().map_err(|e| failed(e.to_string()))?;
                    let mut parse = Vec::new();
                    frontend::parse(&mut parse, "", &numbered, &[])
                        .map_err(|e| failed(e.to_string()))?;
                    (None, bound(&parse, "", slots))
                }
                QueryMode::Prepared => {
                    let (numbered, slots) = sql.numbered().map_err(|e| failed(e.to_string()))?;
                    let number = numbers.prepared;
                    numbers.prepared += 1;
                    let name = numbers.names.name(number);
                    let mut message = Vec::new();
                    frontend::parse(&mut message, &name, &numbered, &[])
                        .map_err(|e| failed(e.to_string()))?;
                    let bound = bound(&[], &name, slots);
                    let prepare = Prepare {
                        number,
                        name,
                        message,
                    };
                    (Some(prepare), bound)
                }
            };
            let is_release = block.as_ref().is_some_and(|block| block.release == index);
            let effects = if is_release {
                Effects::of_release()
            } else {
                Effects::of(&sql.text)
            };
            let mut statement = Statement {
                prepare,
                body,
                gset: sql.gset.clone(),
                units: sql.units.as_ref().map(|units| numbers.work(units)),
                effects,
                rollbacks: effects::rollbacks(&sql.text),
                leaves_receipt: receipts::is_written_by(&sql.text),
                stamp: stamps::used_by(&sql.text),
                observed: sql.observed.as_slice().into(),
                is_watched: false,
            };
            statement.is_watched = statement.is_looked_into() || statement.leaves_receipt;
            statements.push(Some(statement));
        }
        Ok(Self {
            leads_to_elif: leads_to_elif(&script.commands),
            timed: script.commands.iter().map(is_timed).collect(),
            computing: Computing::of(&script.commands),
            script,
            statements,
            mode,
            block,
        })
    }

    /// The operations whose work units it counts, by number among all of the run.
    pub(crate) fn operations(&self) -> impl Iterator<Item = (usize, &str)> {
        let commands = self.script.commands.iter().zip(&self.statements);
        commands.flat_map(|(command, statement)| {
            let named: Vec<(usize, &str)> = match (&command.op, statement) {
                (Op::Sql(sql), Some(statement)) => match (&sql.units, &statement.units) {
                    (Some(Units::One(name)), Some(Work::One(number))) => vec![(*number, name)],
                    (_, Some(Work::Reported(reported))) => {
                        reported.iter().map(|(n, i)| (*i, &**n)).collect()
                    }
                    _ => Vec::new(),
                },
                _ => Vec::new(),
            };
            named
        })
    }

    /// Whether anything of it goes into a history.
    pub fn is_observed(&self) -> bool {
        let mut statements = self.statements.iter().flatten();
        statements.any(|statement| !statement.observed.is_empty())
    }

    /// The variables that its commands set; `None` where that only the server knows (`\gset`).
    pub(crate) fn sets(&self) -> Option<Vec<Slot>> {
        let mut statements = self.statements.iter().flatten();
        let asks = statements.any(|statement| statement.gset.is_some());
        let commands = self.script.commands.iter();
        (!asks).then(|| commands.filter_map(|command| command.op.sets()).collect())
    }

    /// The same, with values in the place of variables that will never have others.
    pub(crate) fn settled(&self, known: &dyn Fn(Slot) -> Option<Value>) -> Self {
        let mut settled = self.clone();
        let commands = settled.script.commands.iter_mut();
        commands.for_each(|command| command.op.settle(known));
        settled.computing = Computing::of(&settled.script.commands);
        settled
    }

    /// The script it was made from.
    pub fn script(&self) -> &pgdyno_script::Script {
        &self.script
    }

    /// What of it can be computed without its commands.
    #[inline]
    pub(crate) fn computing(&self) -> &Computing {
        &self.computing
    }

    /// How many commands it has.
    pub fn commands(&self) -> usize {
        self.statements.len()
    }

    /// The block of the savepoint protocol, if it was compiled for that.
    pub(crate) fn block(&self) -> Option<&Block> {
        self.block.as_ref()
    }

    pub fn mode(&self) -> QueryMode {
        self.mode
    }

    pub(crate) fn op(&self, command: usize) -> Option<&Op> {
        self.script.commands.get(command).map(|command| &command.op)
    }

    pub(crate) fn statement(&self, command: usize) -> Option<&Statement> {
        self.statements.get(command)?.as_ref()
    }

    /// A SQL command as it is sent, for messages about it.
    pub(crate) fn statement_text(&self, command: usize, vars: &Vars) -> Option<String> {
        let Op::Sql(sql) = self.op(command)? else {
            return None;
        };
        if self.mode != QueryMode::Simple {
            return sql.numbered().ok().map(|(text, _)| escape(&text));
        }
        let mut text = Vec::new();
        sql.write_simple(vars, &mut text);
        Some(escape(&text))
    }

    /// The command with a prepared statement's number among all of the run.
    pub(crate) fn prepared(&self, number: usize) -> Option<usize> {
        let is_it = |statement: &Option<Statement>| {
            let prepare = statement.as_ref()?.prepare.as_ref()?;
            Some(prepare.number == number)
        };
        self.statements
            .iter()
            .position(|statement| is_it(statement) == Some(true))
    }

    /// The words of a meta command, as pgbench's messages show them.
    pub(crate) fn words(&self, command: usize) -> String {
        let Some(command) = self.script.commands.get(command) else {
            return String::new();
        };
        let mut words = command.words.join(" ");
        if let (Op::Sleep(_), [_, amount]) = (&command.op, command.words.as_slice()) {
            // Amount and unit may be one word; pgbench tells that word, and the unit once more.
            let unit = amount.trim_start_matches(|c: char| c.is_ascii_digit());
            if !amount.starts_with(':') && !unit.is_empty() && unit.len() < amount.len() {
                words = format!("{words} {unit}");
            }
        }
        words
    }

    /// Whether the command takes time of its own that is worth a figure: what only computes does
    /// not, and a clock call for it would cost more than it does.
    #[inline]
    pub(crate) fn is_timed(&self, command: usize) -> bool {
        self.timed.get(command) == Some(&true)
    }

    /// Where to go on when the condition of `command` does not hold; with the condition there, if
    /// that is the next `\elif` of the same `\if`.
    pub(crate) fn when_false(&self, command: usize) -> Option<(usize, Option<&Expr>)> {
        let (Op::If { on_false, .. } | Op::Elif { on_false, .. }) = self.op(command)? else {
            return None;
        };
        let elif = match self.op(*on_false) {
            Some(Op::Elif { cond, .. }) if self.leads_to_elif[command] => Some(cond),
            _ => None,
        };
        Some((*on_false, elif))
    }

    /// The statements between `\startpipeline` at `command` and its end, in order.
    pub(crate) fn pipeline_after(&self, command: usize) -> impl Iterator<Item = &Statement> {
        let ends = |command: &pgdyno_script::Command| matches!(command.op, Op::EndPipeline);
        let rest = &self.script.commands[command + 1..];
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        self.statements[command + 1..][..length].iter().flatten()
    }
}

fn is_timed(command: &pgdyno_script::Command) -> bool {
    !matches!(
        command.op,
        Op::Set { .. }
            | Op::If { .. }
            | Op::Elif { .. }
            | Op::Else { .. }
            | Op::EndIf
            | Op::For(_)
            | Op::EndFor { .. }
            | Op::Error { .. }
            | Op::Think { .. }
    )
}

fn simple(sql: &Sql) -> Body {
    // A text before each value, which may be empty, and one behind the last.
    let (mut texts, mut values): (Vec<&[u8]>, Vec<Slot>) = (vec![b""], Vec::new());
    for piece in &sql.pieces {
        match piece {
            // Texts do not follow each other.
            Piece::Text(text) => texts[values.len()] = text,
            Piece::Var(slot) => {
                values.push(*slot);
                texts.push(b"");
            }
        }
    }
    Body::Query(Query {
        queries: Queries::new(&texts),
        values: values.into(),
        sql: sql.clone(),
    })
}

/// Bind, Describe, Execute and Sync, the messages that libpq sends.
fn bound(before: &[u8], name: &str, parameters: Vec<Slot>) -> Body {
    let mut after = Vec::new();
    frontend::describe(&mut after, frontend::Target::Portal, "");
    frontend::execute(&mut after, "", 0);
    // At most 255 parameters: `numbered` admits no more.
    let binds = Binds::new(before, name, parameters.len(), &after);
    Body::Bound(Bound {
        binds: binds.expect("few parameters"),
        parameters: parameters.into(),
    })
}

// Apart from each other and from what sends them: each has registers enough.
impl Query {
    #[inline(never)]
    fn write(&self, vars: &Vars, batch: &mut Batch) {
        self.queries.write(
            batch,
            &self.values,
            |slot, room| vars.put_integer(slot, room),
            |out| self.sql.write_simple(vars, out),
        );
    }
}

impl Bound {
    #[inline(never)]
    fn write(&self, vars: &Vars, syncs: bool, batch: &mut Batch) {
        self.binds.write(
            batch,
            &self.parameters,
            syncs,
            |slot, room| vars.put_short(slot, room),
            |slot, out| vars.write_text(slot, out),
        );
    }
}

impl Numbers {
    pub fn new(names: StatementNames) -> Self {
        Self {
            names,
            ..Self::default()
        }
    }

    fn work(&mut self, units: &Units) -> Work {
        let mut number = |name: &String| {
            let known = self.operations.iter().position(|known| known == name);
            known.unwrap_or_else(|| {
                self.operations.push(name.clone());
                self.operations.len() - 1
            })
        };
        match units {
            Units::One(name) => Work::One(number(name)),
            Units::Reported(names) => Work::Reported(
                names
                    .iter()
                    .map(|name| (name.clone(), number(name)))
                    .collect(),
            ),
        }
    }
}

impl Statement {
    /// Whether anything of its answer is asked for but that it comes.
    pub(crate) fn is_looked_into(&self) -> bool {
        self.gset.is_some()
            || self.units.is_some()
            || self.stamp.is_some()
            || !self.observed.is_empty()
    }

    /// Whether the client's values can be put where they are to stand.
    pub(crate) fn check(&self, vars: &Vars) -> Result<(), EvalError> {
        match &self.body {
            Body::Query(query) => query.sql.check_simple(vars),
            Body::Bound(_) => Ok(()),
        }
    }

    /// Appends the messages with the client's values; in the extended protocol with a Sync if it `syncs`.
    #[inline]
    pub(crate) fn write(&self, vars: &Vars, syncs: bool, batch: &mut Batch) {
        match &self.body {
            Body::Bound(bound) => bound.write(vars, syncs, batch),
            Body::Query(query) => query.write(vars, batch),
        }
    }
}
