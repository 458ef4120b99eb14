//! The disturbances that pgdyno can carry out itself: `pgdyno:NAME key=value …` in `--during` and `--at`,
//! `--with NAME:key=value,…` in `pgdyno lab disturb` (docs/disturb.md). A new one is an [`Entry`] in a
//! family's `ENTRIES`, and an [`Act`].
//!
//! Not for: when each is done, and that it is undone (`super`, `super::own`).

mod cgroup;
mod connections;
mod given;
mod guard;
mod host;
mod needs;
mod network;
mod processes;
pub mod random;
mod servers;
mod sessions;
mod sql;
mod statements;
mod wal;

use std::sync::Arc;
use std::time::Duration;

use pgdyno_database::dialect::Product;
use pgdyno_database::open::Target;
use pgdyno_model::document::{Facts, TargetKind};
use pgdyno_spec::{
    DisturbSpec, Exit, Failure, OWN, Replication, Step, TargetSpec, suggest::nearest,
};
use serde::Serialize;

pub use given::{Given, Key, Kind};
pub use needs::Need;
pub(super) use sql::{UNDO_LIMIT, connect, connect_again, journal};

use super::migrate;
use super::own::{Act, Doing};
use crate::companion::via::Via;
use crate::prepare::Prepared;

/// A disturbance: what the user reads of it, and how it is made.
#[derive(Debug, Serialize)]
pub struct Entry {
    pub name: &'static str,
    /// What it does, in a sentence without a full stop.
    pub summary: &'static str,
    pub keys: &'static [Key],
    /// What it needs; looked at before the trial.
    pub needs: &'static [Need],
    /// What can happen because of it.
    pub risks: &'static str,
    /// Whether that could harm a server that is not pgdyno's own: `--yes` then.
    pub harms: bool,
    /// How it is undone, and when.
    pub undone: &'static str,
    /// How long it lasts when the user does not say; `None`: until it is done. It has a key `for` then.
    pub lasts: Option<&'static str>,
    /// Looks up what it needs to know, and changes nothing.
    #[serde(skip)]
    pub make: Make,
}

/// Makes it with these options, or says in a clause why it cannot be done there.
pub type Make = fn(&Scene<'_>, &Given) -> Made;

/// A disturbance ready to be done.
pub type Made = Result<Box<dyn Act>, String>;

pub struct Scene<'a> {
    pub target: &'a Target,
    pub product: &'a Product,
    /// What is known of it.
    pub facts: &'a Facts,
    /// Tables of the workload, as SQL has them.
    pub tables: Vec<String>,
    /// The proxies that clients go through.
    pub via: Option<&'a Arc<Via>>,
}

impl<'a> Scene<'a> {
    pub fn of(prepared: &'a Prepared, via: Option<&'a Arc<Via>>) -> Self {
        let pack = prepared.workload.pack.iter();
        let mut tables: Vec<String> = pack
            .flat_map(|pack| pack.tables())
            .map(|table| table.name.clone())
            .collect();
        let scripts = prepared.workload.scripts.iter();
        let touched =
            scripts.flat_map(|script| pgdyno_workload::sql_words::touched_tables(&script.text));
        tables.extend(touched);
        tables.sort();
        tables.dedup();
        Self {
            target: &prepared.target,
            product: &prepared.product,
            facts: &prepared.facts,
            tables,
            via,
        }
    }
}

/// All of them, by family.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    let families: [&'static [Entry]; 8] = [
        &servers::ENTRIES,
        &processes::ENTRIES,
        &statements::ENTRIES,
        &sessions::ENTRIES,
        &connections::ENTRIES,
        &host::ENTRIES,
        &wal::ENTRIES,
        &network::ENTRIES,
    ];
    families.into_iter().flatten()
}

/// The entry that `text`, `NAME key=value …`, names, with its options.
///
/// # Errors
/// There is none of that name, or an option is wrong; with the nearest.
pub fn read(text: &str) -> Result<(&'static Entry, Given), Failure> {
    let (name, options) = text
        .trim()
        .split_once(char::is_whitespace)
        .unwrap_or((text.trim(), ""));
    // What it was called when there was no other.
    let known = if name == "failover" {
        "promotion"
    } else {
        name
    };
    let usage = |text: String| Failure::with(Exit::Usage, text);
    if name == random::NAME {
        let text = format!("pgdyno:{name} is drawn before the trial, by the laboratory");
        return Err(usage(text)
            .hint("pgdyno lab disturb … --with random --seed 7 --for 2m; its list: --print"));
    }
    // That of `pgdyno lab migrate` has a file: it is none that can be named without one.
    let mut known_here = all().chain([&migrate::ENTRY]);
    let Some(entry) = known_here.find(|entry| entry.name == known) else {
        let failure = usage(format!("there is no disturbance \"{name}\""));
        if name.contains(',') {
            return Err(failure.hint(
                "each has a --with of its own; its options follow a colon: NAME:key=value,…",
            ));
        }
        let failure = match nearest(name, all().map(|entry| entry.name)) {
            Some(word) => failure.hint(format!("did you mean \"{word}\"?")),
            None => failure,
        };
        return Err(failure.hint("all of them: pgdyno lab disturb --list"));
    };
    let given = Given::read(entry, options).map_err(|why| {
        usage(format!("pgdyno:{}: {why}", entry.name)).hint("pgdyno lab disturb --list")
    })?;
    Ok((entry, given))
}

/// `NAME:key=value,…`, as `--with` has it, as a command: `pgdyno:NAME key=value …`.
pub fn command(with: &str) -> String {
    let with = with.trim().strip_prefix(OWN).unwrap_or(with);
    let (name, options) = with.split_once(':').unwrap_or((with, ""));
    let options = options.split(',').filter(|option| !option.is_empty());
    let words: Vec<&str> = std::iter::once(name).chain(options).collect();
    format!("{OWN}{}", words.join(" "))
}

/// How long the disturbances of this spec last when `--for` does not say: as long as the longest.
///
/// # Errors
/// As [`read`].
fn lasts(spec: &DisturbSpec) -> Result<Option<Duration>, Failure> {
    let mut longest = None;
    for step in spec.steps() {
        if let Some(own) = step.own() {
            let (entry, given) = read(own)?;
            longest = longest.max(entry.lasts.map(|_| given.time("for")));
        }
    }
    Ok(longest)
}

/// Whether this command, one of pgdyno's own, says itself how long it lasts.
fn says_how_long(own: &str) -> bool {
    own.split_whitespace().any(|word| word.starts_with("for="))
}

/// Says how long the trial is disturbed, where `--for` does not: as long as the longest. The others then have their
/// own time in writing, for without it they would last as long.
///
/// # Errors
/// As [`read`].
pub fn last_as_the_longest(spec: &mut DisturbSpec) -> Result<(), Failure> {
    let Some(longest) = lasts(spec)? else {
        return Ok(());
    };
    spec.lasting = Some(longest);
    let at = spec.at.iter_mut().map(|timed| &mut timed.0.command);
    for command in spec.during.iter_mut().chain(at) {
        let text = command.secret().trim().to_owned();
        let Some(own) = text.strip_prefix(OWN).filter(|own| !says_how_long(own)) else {
            continue;
        };
        let (entry, given) = read(own)?;
        if entry.lasts.is_some() && given.time("for") != longest {
            *command = format!("{text} for={}", given.text("for")).as_str().into();
        }
    }
    Ok(())
}

/// What can be wrong before there is a server.
///
/// # Errors
/// A name or an option that is wrong, one that can be done once is named twice, a server that is named and could be
/// harmed without `--yes`.
pub fn check(spec: &DisturbSpec, target: &TargetSpec) -> Result<(), Failure> {
    let mut is_prepared = false;
    for step in spec.steps() {
        let Some(own) = step.own() else { continue };
        let (entry, _) = read(own)?;
        if entry.needs.contains(&Need::Mount) && std::mem::replace(&mut is_prepared, true) {
            let text = format!(
                "pgdyno:{} can be done once in a trial: it is made ready before",
                entry.name
            );
            return Err(Failure::with(Exit::Usage, text).hint("name it once"));
        }
        if !target.urls.is_empty() {
            may(entry, spec, false)?;
        }
        if entry.needs.contains(&Need::Pair) && target.pg_standby.is_none() {
            let text = format!(
                "pgdyno:{} is for a private server with a standby",
                entry.name
            );
            return Err(Failure::with(Exit::Usage, text).hint(format!(
                "add --pg-standby {}, or name a command that does it to your cluster",
                if entry.name == servers::LAG {
                    "sync"
                } else {
                    "async"
                }
            )));
        }
        if entry.name == servers::LAG && target.pg_standby == Some(Replication::Async) {
            let text = format!(
                "pgdyno:{}: commits do not wait for this standby",
                entry.name
            );
            return Err(Failure::with(Exit::Usage, text).hint("add --pg-standby sync"));
        }
    }
    Ok(())
}

/// Whether it may be done to this server.
fn may(entry: &Entry, spec: &DisturbSpec, is_own: bool) -> Result<(), Failure> {
    if is_own {
        return Ok(());
    }
    let refused = |text: String| Err(Failure::with(Exit::Usage, text));
    let private = [Need::OwnServer, Need::Pair];
    if entry.needs.iter().any(|need| private.contains(need)) {
        let text = format!(
            "pgdyno:{} is for a private server, but another is selected",
            entry.name
        );
        return Err(Failure::with(Exit::Usage, text).hint(
            "leave --url out, or name the command that does it there: --during 'systemctl restart …'",
        ));
    }
    if entry.harms && !spec.yes && !spec.control {
        let text = format!(
            "pgdyno:{} could harm this server: {}",
            entry.name, entry.risks
        );
        return refused(text).map_err(|failure| {
            failure.hint(format!(
                "add --yes if that may happen; undone: {}",
                entry.undone
            ))
        });
    }
    Ok(())
}

/// The disturbances of a trial by the place of their steps, ready to be done; of a control only those that change
/// what the trial begins with.
///
/// # Errors
/// One cannot be done here: what is missing.
pub(crate) fn acts(spec: &DisturbSpec, scene: &Scene<'_>) -> Result<Vec<Option<Doing>>, Failure> {
    let steps = spec.steps();
    let act = |own: &str| {
        let (entry, mut given) = read(own)?;
        // Of several one by one, none has all of the time.
        if let Some(lasting) = spec.lasting
            && entry.lasts.is_some()
            && !spec.one_by_one
            && !says_how_long(own)
        {
            given.last(lasting);
        }
        may(entry, spec, scene.target.kind == TargetKind::Own)?;
        let refused = |why: String| {
            Failure::with(
                Exit::Usage,
                format!("pgdyno:{} cannot be done here: {why}", entry.name),
            )
        };
        scene
            .product
            .dialect
            .disturbances
            .allow(entry.name)
            .map_err(|why| refused(format!("{}: {why}", scene.product.dialect.title)))?;
        let mut missing = entry.needs.iter();
        if let Some(why) = missing.find_map(|need| need.missing(scene, &given)) {
            return Err(refused(why));
        }
        (entry.make)(scene, &given).map(Doing::new).map_err(refused)
    };
    let is_prepared = |step: &Step| {
        let own = step.own().map(read).transpose()?;
        Ok::<_, Failure>(own.is_some_and(|(entry, _)| entry.needs.contains(&Need::Mount)))
    };
    let mut all = Vec::new();
    let mut prepared = Vec::new();
    for step in &steps {
        let is_prepared = is_prepared(step)?;
        if is_prepared {
            prepared.push(all.len());
        }
        // A control is without them, but made ready in the same way.
        let is_made = is_prepared || !spec.control;
        let made = step.own().filter(|_| is_made).map(act).transpose();
        all.push(made.map_err(|failure| several(failure, &steps))?);
    }
    for at in prepared {
        if let Some(doing) = &mut all[at] {
            let why = |why| {
                Failure::new(format!(
                    "{} could not be made ready: {why}",
                    steps[at].command.public()
                ))
            };
            doing.prepare().map_err(why)?;
        }
    }
    Ok(all)
}

/// Of several that were drawn, one can be left out.
fn several(failure: Failure, steps: &[Step]) -> Failure {
    match steps.len() {
        0 | 1 => failure,
        _ => failure.hint("of --with random leave it out: --except NAME"),
    }
}

#[cfg(test)]
mod tests;
