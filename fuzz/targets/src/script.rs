//! Scripts. What is read, printed and read again is the same script; whatever pgbench's language
//! takes means the same in pgdyno's; the same seed gives the same run.

use pgdyno_script::{
    Command, Counters, Draws, EvalError, GsetKind, Language, Names, Op, Piece, Prng, Script, Units,
    Value, Vars, octets,
};

const STEPS_MAX: usize = 300;

pub fn run(bytes: &[u8]) {
    let text = pgdyno_script::escape(bytes);
    let [pgbench, pgdyno] = [Language::Pgbench, Language::Pgdyno].map(|language| {
        let mut names = Names::new();
        let script = match language.parse("x.sql", &text, &mut names) {
            Ok(script) => script,
            Err(error) => {
                let lines = text.lines().count() as u32 + 1;
                assert!((1..=lines).contains(&error.line), "{error:?}");
                assert!(!error.to_string().is_empty());
                return None;
            }
        };
        printed_reads_back(language, &script, &names);
        let trace = trace(&script, &names);
        assert_eq!(self::trace(&script, &names), trace, "the same seed");
        Some((script, trace))
    });
    if let Some((theirs, theirs_trace)) = pgbench {
        let (ours, ours_trace) = pgdyno.expect("pgbench's scripts are pgdyno's too");
        assert_eq!(ours.commands.len(), theirs.commands.len());
        assert_eq!(ours_trace, theirs_trace, "in both languages");
    }
}

fn printed_reads_back(language: Language, script: &Script, names: &Names) {
    // Of an escaped semicolon or colon the backslash is gone; a backslash before a byte of 0 ends a word, and
    // would continue the line it is printed on. The answer to `:{?name}` is in its place, and may become one
    // word with what follows.
    if ["\\;", "\\:", "\\\0", ":{?"]
        .iter()
        .any(|escaped| script.source.contains(escaped))
    {
        return;
    }
    // Whether a backslash at the very end continued a line, the text of the command does not say.
    let last = script.commands.last();
    if last.is_some_and(|command| command.text.ends_with('\\')) {
        return;
    }
    let printed = printed(&script.commands);
    let mut names_again = Names::new();
    let again = language.parse("x.sql", &printed, &mut names_again);
    let again =
        again.unwrap_or_else(|e| panic!("{:?} is printed as {printed:?}: {e}", script.source));
    let bare = |script: &Script| {
        let commands = script.commands.iter();
        let lineless = commands.map(|command| Command {
            line: 0,
            ..command.clone()
        });
        lineless.collect::<Vec<_>>()
    };
    assert_eq!(
        bare(&again),
        bare(script),
        "{:?} is printed as {printed:?}",
        script.source
    );
    assert_eq!(names_again.len(), names.len(), "{printed:?}");
}

/// Each command as it was written, at the beginning of a line.
fn printed(commands: &[Command]) -> String {
    let mut text = String::new();
    for (at, command) in commands.iter().enumerate() {
        let is_last = at + 1 == commands.len();
        let Op::Sql(sql) = &command.op else {
            text += &command.text;
            // Behind a backslash a newline would continue the line.
            text += if is_last { "" } else { "\n" };
            continue;
        };
        text += &sql.text;
        if sql.gset.is_none() && sql.units.is_none() {
            // A backslash alone ends a statement without a semicolon.
            text += if is_last { "" } else { "\\\n" };
            continue;
        }
        match &sql.units {
            Some(Units::One(name)) => text += &format!("\\unit {name}\n"),
            Some(Units::Reported(names)) => {
                text += &format!("\\units {}\n", names.join(" "));
                continue;
            }
            None => {}
        }
        if let Some(gset) = &sql.gset {
            let word = match gset.kind {
                GsetKind::Gset => "gset",
                GsetKind::Aset => "aset",
            };
            text += &format!("\\{word} {}\n", gset.prefix);
        }
    }
    text
}

/// What a run of the script comes to: statements, errors, what `debug()` says.
fn trace(script: &Script, names: &Names) -> Vec<String> {
    let mut run = Run {
        script,
        names,
        vars: Vars::new(names),
        prng: Prng::seed(7),
        draws: Draws::new(Counters::new(names)),
        trace: Vec::new(),
    };
    for (name, value) in [
        ("scale", 3),
        ("client_id", 0),
        ("default_seed", 5),
        ("x", 41),
    ] {
        if let Some(slot) = names.get(name) {
            run.vars.set(slot, Value::Int(value));
        }
    }
    if let Err(error) = run.commands() {
        run.trace.push(error.to_string());
    }
    run.draws.end();
    run.trace
}

struct Run<'a> {
    script: &'a Script,
    names: &'a Names,
    vars: Vars,
    prng: Prng,
    draws: Draws,
    trace: Vec<String>,
}

impl Run<'_> {
    fn eval(&mut self, expr: &pgdyno_script::Expr) -> Result<Value, EvalError> {
        let trace = &mut self.trace;
        let mut debug = |output: pgdyno_script::DebugOutput| trace.push(output.to_string());
        expr.eval(&mut self.vars, &mut self.prng, &mut self.draws, &mut debug)
    }

    fn commands(&mut self) -> Result<(), EvalError> {
        let script = self.script;
        let (mut at, mut is_false) = (0, false);
        for _ in 0..STEPS_MAX {
            let Some(command) = script.commands.get(at) else {
                break;
            };
            let was_false = std::mem::take(&mut is_false);
            at = match &command.op {
                Op::If { cond, on_false } => {
                    if self.eval(cond)?.is_true() {
                        at + 1
                    } else {
                        is_false = true;
                        *on_false
                    }
                }
                Op::Elif { cond, on_false, .. } if was_false => {
                    if self.eval(cond)?.is_true() {
                        at + 1
                    } else {
                        is_false = true;
                        *on_false
                    }
                }
                Op::Elif { end, .. } | Op::Else { end } => *end,
                Op::For(step) => {
                    let trace = &mut self.trace;
                    let mut debug =
                        |output: pgdyno_script::DebugOutput| trace.push(output.to_string());
                    let (vars, prng) = (&mut self.vars, &mut self.prng);
                    if step.begin(vars, prng, &mut self.draws, &mut debug)? {
                        at + 1
                    } else {
                        step.end
                    }
                }
                Op::EndFor { begin } => match &script.commands[*begin].op {
                    Op::For(step) if step.step(&mut self.vars) => begin + 1,
                    Op::For(_) => at + 1,
                    other => panic!("a loop that begins with {other:?}"),
                },
                op => {
                    self.one(op)?;
                    at + 1
                }
            };
            assert!(at <= script.commands.len(), "a jump behind the end");
        }
        Ok(())
    }

    fn one(&mut self, op: &Op) -> Result<(), EvalError> {
        match op {
            Op::Sql(sql) => {
                self.sql(sql);
                if let Some(gset) = &sql.gset {
                    for column in ["a", "x"] {
                        if let Some(slot) = gset.variable(column, self.names)? {
                            self.vars.set_text(slot, "17");
                        }
                    }
                }
            }
            Op::Set { slot, expr } => {
                let value = self.eval(expr)?;
                self.vars.assign("set", *slot, value)?;
                let mut text = Vec::new();
                assert!(self.vars.write_text(*slot, &mut text), "it was set");
                self.trace.push(String::from_utf8_lossy(&text).into_owned());
            }
            Op::Sleep(sleep) => {
                let us = sleep.duration_us(&self.vars)?;
                self.trace.push(format!("{us} us"));
            }
            Op::Shell { args } | Op::SetShell { args, .. } => {
                let line = args.command_line(&self.vars)?;
                self.trace.push(String::from_utf8_lossy(&line).into_owned());
                let result = args.result(&line)?;
                self.trace.push(result.to_string());
            }
            Op::Error { message } => {
                let value = self.eval(message)?;
                self.trace.push(value.to_string());
            }
            _ => {}
        }
        Ok(())
    }

    fn sql(&mut self, sql: &pgdyno_script::Sql) {
        let mut pasted = Vec::new();
        for piece in &sql.pieces {
            match piece {
                Piece::Text(text) => pasted.extend_from_slice(text),
                Piece::Var(slot) => {
                    pasted.push(b':');
                    pasted.extend_from_slice(&octets(self.names.name(*slot)));
                }
            }
        }
        assert_eq!(pasted, *octets(&sql.text), "the pieces are the text");
        match sql.check_simple(&self.vars) {
            Ok(()) => {
                let mut out = Vec::new();
                sql.write_simple(&self.vars, &mut out);
                self.trace.push(String::from_utf8_lossy(&out).into_owned());
            }
            Err(error) => self.trace.push(error.to_string()),
        }
        let variables = sql
            .pieces
            .iter()
            .filter(|piece| matches!(piece, Piece::Var(_)));
        let variables = variables.count();
        match sql.numbered() {
            Ok((_, slots)) => assert_eq!(slots.len(), variables),
            Err(error) => assert!(variables > 255, "{error}"),
        }
    }
}
