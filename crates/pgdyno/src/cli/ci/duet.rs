//! At once: two pgdynos, each on one half of the CPUs with the server that it measures; within a block the halves
//! change. Which comes first is drawn.

use std::process::{Child, Command, Stdio};
use std::time::Instant;

use pgdyno_model::State;
use pgdyno_model::notebook::{Filter, TrialRow};
use pgdyno_platform::affinity;
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_run::experiment::schedule::block;
use pgdyno_spec::{Exit, Failure, experiment::Order, text};
use uuid::Uuid;

use super::side::Ready;
use super::{Asked, Measured, NAMES};

/// Measures both.
///
/// # Errors
/// There are not two CPUs, or a trial failed.
pub fn measure(
    asked: &mut Asked<'_>,
    sides: [&Ready; 2],
    interrupts: &'static Interrupts,
) -> Result<Measured, Failure> {
    let cpus = affinity::allowed().map_err(|error| no_halves(&error.to_string()))?;
    let halves = affinity::halves(&cpus);
    if halves[0].is_empty() {
        return Err(no_halves("there is one CPU only"));
    }
    let name = format!(
        "{}-{}",
        asked.args.name,
        &Uuid::new_v4().simple().to_string()[..8]
    );
    let before = interrupts.count();
    let began = Instant::now();
    let mut looks = Vec::new();
    let mut trials = [Vec::new(), Vec::new()];
    let mut interrupted = None;
    for pair in 0_u32.. {
        let first = pair - pair % 2 + 1;
        let drawn = block(&[0, 1], first..=first + 1, Order::Mirrored, asked.seed);
        // The side on the first half, of this pair.
        let (side, _) = drawn[2 * (pair % 2) as usize];
        let places = [side, 1 - side];
        let halves = places.map(|half| Half {
            number: half + 1,
            cpus: halves[half].as_slice(),
        });
        let ran = at_once(asked, sides, &name, halves, &cpus);
        if interrupts.count() > before {
            interrupted = Some(interrupts.exit_code().unwrap_or(130));
            break;
        }
        ran?;
        if pair % 2 == 0 {
            continue;
        }
        trials = of_sides(asked, &name)?;
        let blocks = pair.div_ceil(2);
        let share = super::share(asked.args, began.elapsed(), blocks);
        if asked.is_over((&trials[0], &trials[1]), share, &mut looks)? {
            break;
        }
    }
    let [base, head] = trials;
    Ok(Measured {
        base,
        head,
        looks,
        elapsed: began.elapsed(),
        kept_as: format!("trials tagged {name} in {}", asked.store.place()),
        interrupted,
    })
}

/// CPUs of a side.
#[derive(Clone, Copy)]
struct Half<'a> {
    /// From 1.
    number: usize,
    cpus: &'a [usize],
}

fn no_halves(why: &str) -> Failure {
    Failure::new(format!("--duet: the CPUs cannot be shared evenly: {why}"))
        .hint("without --duet they are measured by turns")
}

/// A trial of each side, begun together.
fn at_once(
    asked: &Asked<'_>,
    sides: [&Ready; 2],
    name: &str,
    halves: [Half<'_>; 2],
    all: &[usize],
) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| no_halves(&error.to_string());
    for (side, half) in sides.into_iter().zip(halves) {
        if let Some(server) = &side.server {
            affinity::keep_tree_on(server.pid(), half.cpus).map_err(cannot)?;
        }
    }
    let mut children = Vec::new();
    for (index, half) in halves.into_iter().enumerate() {
        affinity::keep_this_thread_on(half.cpus).map_err(cannot)?;
        let tags = [
            name.to_owned(),
            format!("{name}-{}", NAMES[index]),
            format!("{name}-half-{}", half.number),
        ];
        let started = start(asked, sides[index], &tags);
        affinity::keep_this_thread_on(all).map_err(cannot)?;
        match started {
            Ok(child) => children.push((NAMES[index], child)),
            Err(failure) => {
                for (_, mut child) in children {
                    let _ = child.kill();
                    let _ = child.wait();
                }
                return Err(failure);
            }
        }
    }
    // Both are waited for, whatever came of the first.
    let ended: Vec<Result<(), Failure>> = children.into_iter().map(over).collect();
    ended.into_iter().collect()
}

/// `pgdyno run` of a side.
fn start(asked: &Asked<'_>, side: &Ready, tags: &[String]) -> Result<Child, Failure> {
    let failed =
        |error: std::io::Error| Failure::new(format!("pgdyno could not be started again: {error}"));
    let args = asked.args;
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command
        .args(["-q", "run"])
        .args(&asked.spec.workload)
        .args(["-c", &args.clients.to_string()])
        .args(["-T", &text::as_typed(args.duration)])
        .args(["--warmup", &text::as_typed(args.warmup)])
        .args(["--url", side.url.secret()]);
    command.args(args.mix.iter().flat_map(|mix| ["--mix", mix.as_str()]));
    command.args(
        asked
            .spec
            .params
            .iter()
            .flat_map(|param| ["--param", param.as_str()]),
    );
    let tags = tags.iter().chain(&args.tag);
    command.args(tags.flat_map(|tag| ["--tag", tag.as_str()]));
    if let Some(store) = &args.store.store {
        command.arg("--store").arg(store);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)
}

fn over((name, child): (&str, Child)) -> Result<(), Failure> {
    let output = child.wait_with_output();
    let output = output.map_err(|error| Failure::new(format!("{name}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let mut lines = said.lines();
    let error = lines.find_map(|line| line.strip_prefix("pgdyno: error: "));
    let exit = match output.status.code() {
        Some(3) => Exit::Connection,
        Some(code @ 130..=255) => Exit::Interrupted(code as u8),
        _ => Exit::Failed,
    };
    let text = error.map_or_else(|| output.status.to_string(), str::to_owned);
    Err(Failure::with(exit, format!("{name}: {text}")))
}

/// The trials of both sides so far, in the order in which they ran.
fn of_sides(asked: &Asked<'_>, name: &str) -> Result<[Vec<TrialRow>; 2], Failure> {
    let side = |side: &str| -> Result<Vec<TrialRow>, Failure> {
        let mut trials = asked.store.trials(&Filter {
            tags: vec![format!("{name}-{side}")],
            state: Some(State::Complete),
            ..Filter::default()
        })?;
        trials.sort_by_key(|trial| trial.number);
        Ok(trials)
    };
    Ok([side(NAMES[0])?, side(NAMES[1])?])
}
