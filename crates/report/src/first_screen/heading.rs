//! The first line: what was run with which load, and the server.

use pgdyno_model::document::{Run, Target, TargetKind};
use pgdyno_spec::{Until, text as figures};

use super::WIDTH;
use crate::retries;
use crate::table::{cut, one_line};
use crate::wrap::wrapped;

/// Parameters that say how much data there is, by their names in the packs that are built in: the heading has
/// them, and those that were chosen. All of them are in the JSON document.
pub const SIZES: [&str; 4] = ["scale", "warehouses", "recordcount", "copies"];

/// A server may say anything of itself.
const PRODUCT_CHARS_MAX: usize = 60;

/// One line, or two where the server does not fit beside the load.
pub fn text(run: &Run) -> String {
    let (load, server) = (load(run), server(&run.target));
    let used = load.chars().count() + server.chars().count();
    if used + 2 <= WIDTH {
        return format!("{load}{}{server}\n", " ".repeat((WIDTH - used).min(8)));
    }
    wrapped("", &load, 0) + &wrapped("", &format!("on {server}"), 0)
}

/// `tpcb  scale 10, 8 clients, 60 s`, with what is not as usual.
fn load(run: &Run) -> String {
    let trial = &run.trial;
    let is_chosen = |name: &str| {
        let mut given = trial
            .params
            .iter()
            .filter_map(|given| given.split_once('='));
        given.any(|(given, _)| given == name)
    };
    let mut parts: Vec<String> = trial.mix.iter().map(|mix| format!("mix {mix}")).collect();
    let variables = run.workload.variables.iter();
    let variables = variables.filter(|(name, _)| SIZES.contains(&name.as_str()) || is_chosen(name));
    parts.extend(variables.map(|(name, value)| format!("{name} {value}")));
    parts.push(crate::page::clients(trial));
    parts.push(match trial.until() {
        Until::Elapsed(time) => figures::asked(time),
        Until::Transactions(count) => format!("{} transactions each", figures::count(count.get())),
    });
    let mode = trial.query_mode().name();
    if mode != "simple" {
        parts.push(mode.to_owned());
    }
    let warmup = figures::asked(trial.warmup.longest());
    if trial.warmup.is_detected() {
        parts.push(format!("after a warm-up of at most {warmup}"));
    } else if !trial.warmup.longest().is_zero() {
        parts.push(format!("after {warmup} of warm-up"));
    }
    if let (Some(level), Some(_)) = (run.target.facts.isolation.known(), &trial.isolation) {
        parts.push(level.clone());
    }
    if trial.connection_per_transaction {
        parts.push("a connection for each transaction".to_owned());
    }
    let retry = retries::policy(&trial.retry);
    format!("{}  {}{retry}", run.workload.name, parts.join(", "))
}

/// The server, with its version, which is in the title of a private one already.
fn server(target: &Target) -> String {
    let title = &target.title;
    match (target.kind, target.facts.version.known()) {
        (TargetKind::Named, Some(version)) => format!("{}, {title}", product(version)),
        _ => title.clone(),
    }
}

/// `PostgreSQL 15.18` of all that `version()` says.
fn product(version: &str) -> String {
    let end = [" (", " on ", ","]
        .into_iter()
        .filter_map(|end| version.find(end));
    let product = one_line(&version[..end.min().unwrap_or(version.len())]);
    cut(&product, PRODUCT_CHARS_MAX)
}
