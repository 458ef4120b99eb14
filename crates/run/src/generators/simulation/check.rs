//! What must hold of a schedule.

use pgdyno_model::State;
use pgdyno_model::document::{Generator, GeneratorEnd};
use pgdyno_model::notebook::state;

use super::notebook::Room;
use super::plan::{Host, MS, Plan, S, US};
use super::{Logged, Merging, generator};
use crate::generators::company::words;

/// Rounding of microseconds, on both sides.
const ROUNDED: u64 = 5 * US;

fn must(holds: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text()) }
}

/// After the last thread has ended.
pub(super) fn check(room: &Room, log: &Logged) -> Result<(), String> {
    if let Some(violation) = room.world.violation() {
        return Err(violation);
    }
    let plan = &room.world.plan;
    for (host, ended) in plan.hosts.iter().zip(&log.ended) {
        let may_be_gone = host.arrives.is_none() || host.dies.is_some();
        must(may_be_gone || ended.is_some(), || {
            "one never ended".to_owned()
        })?;
    }
    signals(plan, log)?;
    unasked(plan, log)?;
    let Some(start) = generator::start(room) else {
        return must(log.runs.is_empty(), || {
            "one began without a start".to_owned()
        });
    };
    latecomers(plan, log)?;
    for index in log.runs.keys() {
        must(start.generators.contains(index), || {
            format!("generator {index} began, which was to stay away")
        })?;
    }
    let whole = room.book().whole;
    let merged = log
        .merged
        .iter()
        .find(|merged| Some(merged.number) == whole);
    match merged {
        Some(merged) => result(room, log, merged, &start.generators),
        // Those who could have added up are gone, or said why not.
        None => must(
            log.ended.iter().flatten().all(|(_, ended)| ended.is_err()),
            || "nothing was added up, without a reason".to_owned(),
        ),
    }
}

/// Who came in time is waited for, however long it takes to connect, and whether it is heard or not.
fn latecomers(plan: &Plan, log: &Logged) -> Result<(), String> {
    let came = |host: &Host| {
        let at = host.arrives?;
        match plan.away {
            Some((gone, back)) if (gone..back).contains(&(at + S)) => Some(back),
            _ => Some(at),
        }
    };
    let Some(first) = plan.hosts.iter().filter_map(came).min() else {
        return Ok(());
    };
    let until = first + plan.join_deadline;
    for (host, ended) in plan.hosts.iter().zip(&log.ended) {
        let Some((_, Err(why))) = ended else { continue };
        let is_late = came(host).is_none_or(|at| at + 3 * S > until);
        must(
            is_late || plan.lost_permille > 0 || !why.contains("which came late"),
            || format!("one that came at {:?}, before {until}: {why}", host.arrives),
        )?;
    }
    Ok(())
}

/// A signal to one ends all that run, soon.
fn signals(plan: &Plan, log: &Logged) -> Result<(), String> {
    for (number, host) in plan.hosts.iter().enumerate() {
        let Some(at) = host.signal else { continue };
        let until = at + 2 * S;
        let is_slow = plan.hosts.iter().any(|host| host.oversleeps > 2 * MS);
        if plan.leaves || is_slow || !plan.is_reached(at.saturating_sub(S), until + S) {
            continue;
        }
        let own = log.runs.values().find(|run| run.host == number);
        let Some(own) = own else { continue };
        let lives = host.dies.is_none_or(|dies| dies > until);
        let runs = own.began <= at && own.ended.is_none_or(|ended| ended > at);
        if !lives || !runs {
            continue;
        }
        for (index, run) in &log.runs {
            let dies = plan.hosts[run.host].dies.is_some_and(|dies| dies <= until);
            let ended = run.ended.is_some_and(|ended| ended <= until);
            must(dies || ended || run.began > at, || {
                format!("host {number} got a signal at {at}: generator {index} went on: {run:?}")
            })?;
        }
    }
    Ok(())
}

/// Where no signal comes, who lives runs to the end.
fn unasked(plan: &Plan, log: &Logged) -> Result<(), String> {
    if plan.hosts.iter().any(|host| host.signal.is_some()) {
        return Ok(());
    }
    for (index, run) in &log.runs {
        let dies = plan.hosts[run.host].dies.is_some();
        must(dies || run.seconds.len() as u64 == plan.duration_s, || {
            format!("generator {index} ended early, and none was asked to end: {run:?}")
        })?;
    }
    Ok(())
}

fn result(room: &Room, log: &Logged, merged: &Merging, began: &[u32]) -> Result<(), String> {
    let (plan, outcome) = (&room.world.plan, &merged.outcome);
    let Some(all) = &outcome.generators else {
        return Err("the result has no generators".to_owned());
    };
    must(all.list.len() == plan.hosts.len(), || {
        "a row is missing".to_owned()
    })?;
    for one in &all.list {
        row(room, log, merged, one, (&all.list, began))?;
    }
    let is_whole = all.list.iter().all(|one| one.end == GeneratorEnd::Complete);
    let (state, reason) = state(outcome);
    must((state == State::Complete) == is_whole, || {
        format!("the result is {state:?}: {all:?}")
    })?;
    if state == State::Partial {
        let reason = reason.unwrap_or_default();
        for one in all
            .list
            .iter()
            .filter(|one| one.end != GeneratorEnd::Complete)
        {
            let name = format!("generator {} {}", one.generator, one.end.words());
            let is_named = reason.split("; ").any(|part| part.starts_with(&name));
            must(is_named, || format!("{name} is not in {reason}"))?;
        }
    }
    let sum: u64 = all.list.iter().map(|one| one.committed).sum();
    let total = outcome.recording.measured.all().counts.committed;
    let seconds = outcome.recording.seconds.iter();
    let seconds = seconds.flat_map(|second| &second.scripts);
    let by_second: u64 = seconds.map(|script| script.counts.committed).sum();
    must(sum == total && by_second == total, || {
        format!("parts {sum}, seconds {by_second}, total {total}")
    })?;
    spread(plan, log, merged)?;
    line_up(log, merged)
}

/// A generator's row says what became of it, and until when.
fn row(
    room: &Room,
    log: &Logged,
    merged: &Merging,
    one: &Generator,
    (all, began): (&[Generator], &[u32]),
) -> Result<(), String> {
    let (plan, number) = (&room.world.plan, one.generator);
    let wrong = || format!("generator {number}: {one:?}, {:?}", log.runs.get(&number));
    if !began.contains(&number) {
        return must(
            one.end == GeneratorEnd::NeverArrived && one.committed == 0,
            wrong,
        );
    }
    let done = room.book().heard(words::DONE);
    let is_done = done.iter().any(|word| word.generator == number);
    let Some(run) = log.runs.get(&number) else {
        // It fell between its word and the start.
        return must(one.end == GeneratorEnd::Died && one.committed == 0, wrong);
    };
    let host = &plan.hosts[run.host];
    let is_dead = host.dies.is_some_and(|dies| dies <= merged.at);
    match one.end {
        // Or it has given up itself, or what it said was lost again and again.
        GeneratorEnd::Died => {
            let ended = log.ended[run.host].as_ref();
            let gave_up = ended.is_some_and(|(at, how)| *at <= merged.at && how.is_err());
            must(is_dead || gave_up || plan.lost_permille > 0, wrong)?;
        }
        GeneratorEnd::Complete => must(
            is_done && run.seconds.len() as u64 == plan.duration_s,
            wrong,
        )?,
        GeneratorEnd::Early => must(is_done, wrong)?,
        GeneratorEnd::Running | GeneratorEnd::Waits | GeneratorEnd::NeverArrived => {
            return Err(wrong());
        }
    }
    must(
        one.end == GeneratorEnd::Died || one.began_late_us.is_some(),
        wrong,
    )?;
    let whole_s = (one.until_us / 1_000_000).saturating_sub(moved_s(all, one));
    must(whole_s <= run.seconds.len() as u64, wrong)?;
    let each = 50 + u64::from(number) * 7;
    must(
        one.committed >= whole_s * each && one.committed <= (whole_s + 1) * each,
        wrong,
    )?;
    if one.end == GeneratorEnd::Died && plan.away.is_none() {
        must(whole_s + 1 >= run.seconds.len() as u64, wrong)?;
    }
    Ok(())
}

/// They began at one instant, as far apart as the result says (by the notebook's clock, which drifts, too).
fn spread(plan: &Plan, log: &Logged, merged: &Merging) -> Result<(), String> {
    let Some(all) = &merged.outcome.generators else {
        return Ok(());
    };
    let (Some(spread_us), Some(uncertain_us)) = (all.start_spread_us, all.start_uncertainty_us)
    else {
        return Ok(());
    };
    let known = all.list.iter().filter(|one| one.began_late_us.is_some());
    let began = || {
        known
            .clone()
            .filter_map(|one| Some(log.runs.get(&one.generator)?.began))
    };
    let spread = began()
        .max()
        .zip(began().min())
        .map_or(0, |(last, first)| last - first);
    must(
        spread <= (spread_us + uncertain_us) * US + ROUNDED + spread / 5000,
        || {
            format!(
                "they began {spread} ns apart, and say {spread_us} ± {uncertain_us} µs: {all:?}"
            )
        },
    )?;
    let latest = began().max().unwrap_or_default();
    let is_calm = plan.is_lan && plan.is_reached(latest.saturating_sub(2 * S), latest + S);
    must(!is_calm || spread <= 10 * MS, || {
        format!("they began {spread} ns apart in a LAN: {all:?}")
    })
}

/// So many seconds after the others it began.
fn moved_s(all: &[Generator], one: &Generator) -> u64 {
    let has_begun = |one: &&Generator| one.end != GeneratorEnd::NeverArrived && one.trial.is_some();
    let late_us = |one: &Generator| one.began_late_us.unwrap_or_default();
    let first_us = all.iter().filter(has_begun).map(late_us).min();
    (late_us(one).saturating_sub(first_us.unwrap_or_default()) + 500_000) / 1_000_000
}

/// Seconds that are added are the same seconds, and rates are of those that all have measured.
fn line_up(log: &Logged, merged: &Merging) -> Result<(), String> {
    let Some(all) = &merged.outcome.generators else {
        return Ok(());
    };
    let measured: Vec<&Generator> = all.list.iter().filter(|one| one.until_us > 0).collect();
    // When all began, by those of which it is known.
    let known = measured.iter().filter(|one| one.end != GeneratorEnd::Died);
    let began = known.filter_map(|one| {
        let moved = moved_s(&all.list, one) * S;
        Some(log.runs.get(&one.generator)?.began.saturating_sub(moved))
    });
    let Some(first) = began.min() else {
        return Ok(());
    };
    for (number, second) in (0u64..).zip(&merged.outcome.recording.seconds) {
        // Where some began after others had ended there is nothing between them.
        must(
            second.start_us % 1_000_000 == 0 && second.start_us >= number * 1_000_000,
            || format!("second {number} is at {} µs", second.start_us),
        )?;
    }
    for one in &measured {
        let Some(run) = log.runs.get(&one.generator) else {
            continue;
        };
        // Of one that died it is not known how late it began.
        if one.end == GeneratorEnd::Died {
            continue;
        }
        let moved_s = moved_s(&all.list, one);
        // Each is half a second off at most, by clocks that are as far apart as the result says and
        // that drift by 400 µs a second.
        let uncertain = all.start_uncertainty_us.unwrap_or_default() * US;
        for (number, at) in (moved_s..).zip(&run.seconds) {
            let apart = at.abs_diff(first + number * S);
            let drift = at.saturating_sub(first) / 2500;
            must(apart <= S + uncertain + drift + ROUNDED, || {
                format!(
                    "second {number} of generator {} is {apart} ns off: {all:?}",
                    one.generator
                )
            })?;
        }
    }
    let common = measured
        .iter()
        .map(|one| one.until_us)
        .min()
        .unwrap_or_default();
    let late = measured
        .iter()
        .map(|one| moved_s(&all.list, one) * 1_000_000)
        .max();
    let common = common.saturating_sub(late.unwrap_or_default());
    let counted = merged.outcome.recording.measured.asked_us();
    must(counted <= common, || {
        format!("{counted} µs count, common are {common}: {all:?}")
    })
}
