//! Commands that the client itself executes.

use std::borrow::Cow;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use pgdyno_platform::io::Io;
use pgdyno_script::{DebugOutput, EvalError, Expr, For, Op, ShellArgs, Sleep, Slot, Value};

use super::{Client, State};
use crate::context::Context;
use pgdyno_measurement::Level;
use pgdyno_platform::clock::Nanos;
use pgdyno_spec::QueryMode;

/// So much of what `\setshell` runs is read; pgbench looks at the first line only.
const OUTPUT_BYTES_MAX: u64 = 4096;

/// What is wrong when a command cannot be executed, for the line that says that the client ends.
type Done = Result<(), Cow<'static, str>>;

const EVALUATION: &str = "evaluation of meta-command failed";
const EXECUTION: &str = "execution of meta-command failed";

impl Client {
    #[inline(never)]
    pub(super) fn execute_meta<I: Io>(&mut self, cx: &mut Context<'_, I>, op: &Op) {
        self.trace_executing(cx);
        // What comes after a command is the next one, unless a command says otherwise.
        self.state = State::EndCommand;
        let (word, done) = match op {
            Op::Set { slot, expr } => ("set", self.set(cx, *slot, expr)),
            Op::If { cond, .. } => self.branch(cx, cond),
            // Only the end of a taken branch comes here; `branch` evaluates conditions.
            Op::For(its) => ("for", self.begin_loop(cx, its)),
            Op::EndFor { begin } => {
                self.step(cx, *begin);
                ("endfor", Ok(()))
            }
            Op::Error { message } => ("error", self.error(cx, message)),
            Op::Elif { end, .. } | Op::Else { end } => {
                self.book_computed(cx);
                self.jump(*end);
                ("else", Ok(()))
            }
            Op::Sleep(sleep) => ("sleep", self.sleep(cx, sleep)),
            Op::Think { seconds } => ("think", self.think(cx, seconds)),
            Op::Shell { args } => ("shell", self.shell(cx, args)),
            Op::SetShell { slot, args } => ("setshell", self.set_shell(cx, *slot, args)),
            Op::StartPipeline => ("startpipeline", self.start_pipeline(cx)),
            Op::SyncPipeline => ("syncpipeline", self.sync_pipeline()),
            Op::EndPipeline => ("endpipeline", self.end_pipeline(cx)),
            // `Op` may grow; an unknown command must not be passed over in silence.
            Op::EndIf => ("endif", Ok(())),
            _ => (
                "command",
                Err("this command is not known to the engine".into()),
            ),
        };
        if let Err(reason) = done {
            self.abort_command(cx, word, &reason);
        }
    }

    fn trace_executing<I: Io>(&self, cx: &Context<'_, I>) {
        cx.trace(|| {
            let words = cx.program(self.script).words(self.command);
            format!("client {} executing \\{words}", self.id)
        });
    }

    /// Executes those of the next commands that only compute, without the way through the states that
    /// other commands take; where all are followed or timed, they take it as well.
    #[inline]
    pub(super) fn compute<I: Io>(&mut self, cx: &Context<'_, I>) {
        let computing = cx.program(self.script).computing();
        if computing.may_begin(self.command) && !cx.drive.time_every_command && !cx.drive.debug {
            let Self {
                vars,
                random,
                draws,
                ..
            } = self;
            self.command = computing.run(self.command, vars, random, draws);
        }
    }

    fn set<I: Io>(&mut self, cx: &mut Context<'_, I>, slot: Slot, expr: &Expr) -> Done {
        let computing = cx.program(self.script).computing();
        let Self {
            vars,
            random,
            draws,
            ..
        } = self;
        if computing.set(self.command, vars, random, draws) {
            return Ok(());
        }
        let value = self.evaluate(cx, expr)?;
        let assigned = self.vars.assign("set", slot, value);
        self.with_reason(cx, assigned, "assignment of meta-command failed")
    }

    fn evaluate<I: Io>(
        &mut self,
        cx: &mut Context<'_, I>,
        expr: &Expr,
    ) -> Result<Value, Cow<'static, str>> {
        let (script, command) = (self.script, self.command);
        let Self {
            vars,
            random,
            draws,
            ..
        } = self;
        let value = expr.eval(vars, random, draws, &mut debug(cx, script, command));
        self.with_reason(cx, value, EVALUATION)
    }

    /// Says why something could not be evaluated, before `what` is said of the client; pgdyno's own words are one
    /// message.
    fn with_reason<T, I: Io>(
        &self,
        cx: &Context<'_, I>,
        result: Result<T, EvalError>,
        what: &'static str,
    ) -> Result<T, Cow<'static, str>> {
        result.map_err(|error| {
            if !cx.drive.speaks_as_pgbench {
                return self.placed_reason(&error).into();
            }
            let text = error.to_string();
            if !text.is_empty() {
                cx.say(Level::Error, text);
            }
            what.into()
        })
    }

    /// The same of a shell command.
    fn shell_failed<I: Io>(cx: &Context<'_, I>, name: &str, problem: &str) -> Done {
        let text = format!("{name}: {problem}");
        if !cx.drive.speaks_as_pgbench {
            return Err(text.into());
        }
        cx.say(Level::Error, text);
        Err(EXECUTION.into())
    }

    fn begin_loop<I: Io>(&mut self, cx: &mut Context<'_, I>, its: &For) -> Done {
        let (script, command) = (self.script, self.command);
        let Self {
            vars,
            random,
            draws,
            ..
        } = self;
        let begun = its.begin(vars, random, draws, &mut debug(cx, script, command));
        if !self.with_reason(cx, begun, EVALUATION)? {
            self.book_computed(cx);
            self.jump(its.end);
        }
        Ok(())
    }

    /// At an `\endfor`: to the command behind its `\for`, if there is one more step.
    fn step<I: Io>(&mut self, cx: &mut Context<'_, I>, begin: usize) {
        let Some(Op::For(its)) = cx.program(self.script).op(begin) else {
            return;
        };
        if its.step(&mut self.vars) {
            self.book_computed(cx);
            self.jump(begin + 1);
        }
    }

    fn error<I: Io>(&mut self, cx: &mut Context<'_, I>, message: &Expr) -> Done {
        let value = self.evaluate(cx, message)?;
        let mut text = Vec::new();
        self.vars.write_value(value, &mut text);
        self.break_invariant(cx, &String::from_utf8_lossy(&text));
        Ok(())
    }

    /// Goes into the first branch whose condition holds: of the `\if`, then of its `\elif`s.
    fn branch<I: Io>(&mut self, cx: &mut Context<'_, I>, cond: &Expr) -> (&'static str, Done) {
        let program = cx.program(self.script);
        let (mut word, mut cond) = ("if", cond);
        loop {
            match self.evaluate(cx, cond) {
                Ok(value) if value.is_true() => return (word, Ok(())),
                Ok(_) => {}
                Err(reason) => return (word, Err(reason)),
            }
            let Some((next, elif)) = program.when_false(self.command) else {
                return (word, Err("this command has no condition".into()));
            };
            self.book_computed(cx);
            self.command = next;
            match elif {
                Some(elif) => {
                    (word, cond) = ("elif", elif);
                    self.command_begun = cx.now;
                    self.trace_executing(cx);
                }
                None => {
                    self.state = State::Command;
                    return (word, Ok(()));
                }
            }
        }
    }

    /// Goes on at another command.
    fn jump(&mut self, to: usize) {
        self.command = to;
        self.state = State::Command;
    }

    fn sleep<I: Io>(&mut self, cx: &mut Context<'_, I>, sleep: &Sleep) -> Done {
        let duration_us = self.with_reason(cx, sleep.duration_us(&self.vars), EXECUTION)?;
        cx.now = cx.clock_now();
        self.sleep_until = cx.now.saturating_add(duration_us.saturating_mul(1000));
        self.state = State::Sleeping;
        Ok(())
    }

    /// Waits before the transaction. One that is tried again has waited.
    fn think<I: Io>(&mut self, cx: &mut Context<'_, I>, seconds: &Expr) -> Done {
        let seconds = self.evaluate(cx, seconds)?;
        let seconds = self.with_reason(cx, seconds.to_double(), EVALUATION)?;
        if self.tries == 1 {
            cx.now = cx.clock_now();
            // A float that is too large, or none, becomes what fits.
            let wake = cx.now.saturating_add((seconds * 1e9) as Nanos);
            self.sleep_until = wake.min(cx.end);
            self.state = State::Thinking;
        }
        Ok(())
    }

    /// Runs a shell command and waits for it. As in pgbench this holds up the thread's other
    /// clients.
    fn shell<I: Io>(&mut self, cx: &mut Context<'_, I>, args: &ShellArgs) -> Done {
        let line = self.with_reason(cx, args.command_line(&self.vars), EXECUTION)?;
        let status = shell_command(&line).status();
        cx.now = cx.clock_now();
        match status {
            Ok(status) if status.success() => Ok(()),
            _ => Self::shell_failed(cx, &args.name, "could not launch shell command"),
        }
    }

    fn set_shell<I: Io>(&mut self, cx: &mut Context<'_, I>, slot: Slot, args: &ShellArgs) -> Done {
        let line = self.with_reason(cx, args.command_line(&self.vars), EXECUTION)?;
        let run = run_for_output(&line);
        cx.now = cx.clock_now();
        let problem = match run {
            Err(_) => "could not launch shell command",
            Ok(output) if output.is_empty() => "could not read result of shell command",
            Ok(output) => {
                let value = self.with_reason(cx, args.result(&output), EXECUTION)?;
                let assigned = self.vars.assign("setshell", slot, Value::Int(value));
                self.with_reason(cx, assigned, EXECUTION)?;
                cx.trace(|| self.shell_result(cx, &output));
                return Ok(());
            }
        };
        Self::shell_failed(cx, &args.name, problem)
    }

    /// What pgbench calls parameter name is the shell command's first argument.
    fn shell_result<I: Io>(&self, cx: &Context<'_, I>, output: &[u8]) -> String {
        let command = cx.program(self.script).script().commands.get(self.command);
        let words = command.map_or(&[][..], |command| &command.words);
        let word = |index: usize| words.get(index).map_or("(null)", String::as_str);
        let line = output.split_inclusive(|byte| *byte == b'\n').next();
        let line = pgdyno_script::escape(line.unwrap_or_default());
        format!(
            "{}: shell parameter name: \"{}\", value: \"{line}\"",
            word(2),
            word(3)
        )
    }

    fn start_pipeline<I: Io>(&mut self, cx: &mut Context<'_, I>) -> Done {
        let program = cx.program(self.script);
        if program.mode() == QueryMode::Simple {
            return Err("cannot use pipeline mode with the simple query protocol".into());
        }
        if self.in_pipeline {
            return Err("already in pipeline mode".into());
        }
        let Some(link) = &mut self.link else {
            return Err("there is no connection".into());
        };
        // Statements are prepared before the pipeline begins: preparing inside it could take a
        // snapshot before BEGIN has set the isolation level.
        let mut is_preparing = false;
        for statement in program.pipeline_after(self.command) {
            if let Some(prepare) = &statement.prepare
                && !link.is_prepared(prepare.number)
            {
                link.prepare(prepare);
                is_preparing = true;
            }
        }
        if is_preparing {
            self.trace_preparing(cx);
            self.transmit_and(cx, State::Preparing);
        } else {
            self.enter_pipeline();
        }
        Ok(())
    }

    pub(super) fn enter_pipeline(&mut self) {
        self.in_pipeline = true;
        if let Some(link) = &mut self.link {
            link.begin_pipeline();
        }
    }

    fn sync_pipeline(&mut self) -> Done {
        match &mut self.link {
            Some(link) if self.in_pipeline => {
                link.sync_pipeline();
                Ok(())
            }
            _ => Err("not in pipeline mode".into()),
        }
    }

    fn end_pipeline<I: Io>(&mut self, cx: &mut Context<'_, I>) -> Done {
        self.sync_pipeline()?;
        self.in_pipeline = false;
        self.transmit_and(cx, State::WaitResult);
        Ok(())
    }
}

/// Tells what `debug()` has to say.
fn debug<I: Io>(cx: &Context<'_, I>, script: usize, command: usize) -> impl FnMut(DebugOutput) {
    move |debug| {
        // pgbench counts commands from 1 here.
        let command = command + 1;
        cx.say(
            Level::Debug,
            format!("debug(script={script},command={command}): {debug}"),
        );
    }
}

fn shell_command(line: &[u8]) -> Command {
    let mut command = Command::new("/bin/sh");
    // The shell names itself in its complaints, and C's library calls it so.
    command
        .arg0("sh")
        .arg("-c")
        .arg(std::ffi::OsStr::from_bytes(line));
    command
}

/// What a shell command prints, whatever its exit status, which pgbench does not look at either.
fn run_for_output(line: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut child = shell_command(line).stdout(Stdio::piped()).spawn()?;
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(OUTPUT_BYTES_MAX).read_to_end(&mut output)?;
    }
    child.wait()?;
    Ok(output)
}
