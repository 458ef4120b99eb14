//! A load or a run: a trial of the pack, printed as the tool prints it.

use pgdyno_model::{Observer, Observers, Outcome};
use pgdyno_output::{Keep, Loading, Ran, remark, write_answer};
use pgdyno_platform::Output;
use pgdyno_run::header;
use pgdyno_run::prepare::{Prepared, check, prepare};
use pgdyno_run::trial::Trial;
use pgdyno_spec::{Commits, Exit, Failure};

use super::command::{Phase, YcsbCommand};
use super::messages::YcsbMessages;
use super::operations::{self, Kind, Operations, YcsbOperation};
use super::plan::Plan;
use super::{YcsbRefusal, YcsbTool, go, java, tables};

/// Does it; gives the exit code.
///
/// # Errors
/// What failed.
pub fn open(command: &YcsbCommand) -> Result<u8, YcsbRefusal> {
    let plan = Plan::of(command)?;
    for warning in &plan.warnings {
        remark!("pgdyno: warning: {warning}");
    }
    let export = match &plan.export {
        Some(path) => Some(Output::open(path).map_err(|e| {
            YcsbRefusal::impossible(format!(
                "exportfile: could not create {}: {e}",
                path.display()
            ))
        })?),
        None => None,
    };
    check(&plan.spec).map_err(in_these_words)?;
    let mut printer = YcsbPrinter::of(command, &plan)?;
    let keep = Keep::open(plan.store.as_ref().map(Option::as_deref))?;
    let interrupts = pgdyno_run::interrupts()?;
    let interrupted_before = interrupts.count();
    if command.tool == YcsbTool::Ycsb {
        java::say_what_comes(command);
    }
    let trusts_params = tables::ready(&plan, command.phase)?;
    let mut trial = Trial {
        share: None,
        spec: plan.spec.clone().resolved(),
        observe: pgdyno_observe::ObserveOptions::default(),
    };
    trial.spec.compatible.trusts_params = trusts_params;
    let mut prepared =
        prepare(&trial.spec, &mut Loading::quiet(), interrupts).map_err(in_these_words)?;
    if command.phase == Phase::Run {
        rows_must_be_there(&plan, &prepared)?;
    }
    trial.spec.compatible.commits = commits(&plan, &prepared);
    let keep = keep.begin(&mut prepared, |prepared| {
        header::header(&trial.spec, prepared)
    })?;
    write_answer(format_args!("{}", printer.head(command, &plan)))?;
    let scripts = prepared.scripts.iter();
    let kinds = scripts.map(|script| Kind::of_script(&script.program.script().name));
    let mut messages = YcsbMessages;
    let mut observers = Observers::new([printer.observer(kinds.collect()), &mut messages]);
    let since = (interrupts, interrupted_before);
    let ran = Ran::run(trial, &prepared, keep, &mut observers, since)?;
    let Tail {
        aside,
        results,
        lost,
    } = printer.tail(&ran.outcome);
    write_answer(format_args!("{aside}"))?;
    match export {
        Some(file) => file.replace(results.as_bytes()).map_err(|e| {
            YcsbRefusal::impossible(format!("Could not export measurements, error: {e}"))
        })?,
        None => write_answer(format_args!("{results}"))?,
    }
    let operations = operations::of(&ran.outcome.recording);
    for line in remarks(command.tool, &ran.outcome, &operations) {
        remark!("pgdyno: {line}");
    }
    ran.say_where();
    if let Some(lost) = lost {
        return Err(YcsbRefusal::impossible(lost));
    }
    let is_sound = ran.outcome.recording.broken_invariant.is_none();
    Ok(match ran.exit(interrupts)? {
        // What failed is counted; a thread that ends early takes nothing from the others' figures.
        Exit::Failed if is_sound => match command.phase {
            Phase::Load => Exit::Failed.code(),
            Phase::Run => Exit::Ok.code(),
        },
        exit => exit.code(),
    })
}

/// What comes after a run.
#[derive(Debug)]
pub struct Tail {
    /// On standard output, wherever the results go.
    pub aside: String,
    pub results: String,
    /// A file beside them that could not be written.
    pub lost: Option<String>,
}

/// What a tool prints before, during and after a run.
enum YcsbPrinter {
    Java(java::Output, Box<java::JavaStatus>),
    Go(Box<go::ReportTicks>),
}

impl YcsbPrinter {
    fn of(command: &YcsbCommand, plan: &Plan) -> Result<Self, YcsbRefusal> {
        Ok(match command.tool {
            YcsbTool::Ycsb => {
                let output = java::Output::of(command, plan)?;
                let status = java::JavaStatus::new(command, plan, output.forms().clone())?;
                Self::Java(output, Box::new(status))
            }
            YcsbTool::GoYcsb => Self::Go(Box::new(go::ReportTicks::new(command)?)),
        })
    }

    fn head(&self, command: &YcsbCommand, plan: &Plan) -> String {
        match self {
            Self::Java(output, _) => output.head().to_owned(),
            Self::Go(_) => go::head(command, plan),
        }
    }

    /// What watches the run, whose scripts are of these kinds.
    fn observer(&mut self, kinds: Vec<Option<Kind>>) -> &mut dyn Observer<Outcome> {
        match self {
            Self::Java(_, status) => {
                status.kinds = kinds;
                status.as_mut()
            }
            Self::Go(ticks) => {
                ticks.kinds = kinds;
                ticks.as_mut()
            }
        }
    }

    fn tail(&mut self, outcome: &Outcome) -> Tail {
        match self {
            Self::Java(output, status) => {
                status.finish(&outcome.recording.connections.closings);
                output.tail(outcome, status)
            }
            Self::Go(ticks) => ticks.tail(outcome),
        }
    }
}

/// Without autocommit: when it is committed, by the script that inserts.
fn commits(plan: &Plan, prepared: &Prepared) -> Option<Commits> {
    let mut names = prepared.scripts.iter().map(|script| {
        let name = &script.program.script().name;
        Kind::of_script(name)
    });
    let inserts = names.position(|kind| kind == Some(Kind::Insert));
    plan.commit_every.map(|every| Commits {
        // Without inserts it is committed at the end.
        script: inserts.unwrap_or(prepared.scripts.len()),
        every,
    })
}

/// A failure without hints that name options of other commands.
fn in_these_words(mut failure: Failure) -> Failure {
    let hints = failure.hints.len();
    failure.hints.retain(|hint| !hint.contains("--param"));
    if failure.hints.len() == hints {
        failure
    } else {
        failure.hint(
        "give the properties that it was loaded with; or DROP TABLE usertable, and load it again",
    )
    }
}

/// All rows that are to be asked for.
fn rows_must_be_there(plan: &Plan, prepared: &Prepared) -> Result<(), YcsbRefusal> {
    let number = |name: &str| {
        let value = prepared.variables.get(name);
        value
            .and_then(|value| value.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let start = number("recordstart");
    let there = number("recordcount") + number("inserted");
    let wanted = plan.keys.count.map(|count| plan.keys.start + count);
    let failure = match wanted {
        _ if there == 0 => Failure::new(format!("{} has no rows", plan.usertable)),
        Some(end) if end > start + there => Failure::new(format!(
            "{} has the keys number {start} to {}, and recordcount asks for those up to {}",
            plan.usertable,
            start + there - 1,
            end - 1
        )),
        _ => return Ok(()),
    };
    Err(failure
        .hint("load them: the same command with load instead of run")
        .into())
}

/// What the tools' tables have no line for.
fn remarks(tool: YcsbTool, outcome: &Outcome, operations: &Operations) -> Vec<String> {
    let mut lines = Vec::new();
    let sum = |of: fn(&YcsbOperation) -> u64| operations.values().map(of).sum::<u64>();
    // To go-ycsb they are done, and with zipfian there are always some.
    let missing = match tool {
        YcsbTool::GoYcsb => sum(YcsbOperation::missing),
        YcsbTool::Ycsb => 0,
    };
    if missing > 0 {
        lines.push(format!(
            "{missing} operations found no row, which go-ycsb counts as done; they are not part of \
             throughput and latency"
        ));
    }
    let failed = sum(YcsbOperation::failed) - missing;
    if failed > 0 {
        lines.push(format!(
            "{failed} operations failed; they are not part of throughput and latency"
        ));
    }
    let recording = &outcome.recording;
    if recording.undone > 0 {
        lines.push(format!(
            "{} operations that had gone well were rolled back with their block",
            recording.undone
        ));
    }
    for reason in recording.reasons.iter().take(5) {
        lines.push(format!("{} times: {}", reason.tries(), reason.message));
    }
    if recording.clients.aborted > 0 {
        let clients = &recording.clients;
        lines.push(format!(
            "{} of {} threads ended before their time",
            clients.aborted, clients.total
        ));
    }
    lines.extend(recording.broken_invariant.clone());
    let notes = outcome.notes.iter();
    lines.extend(notes.map(|note| format!("note [{}]: {}", note.code, note.sentence)));
    lines
}
