//! What would tell: the command that runs both sides again, by turns.

use pgdyno_model::document::comparison::{Differing, DifferingKind};
use pgdyno_spec::{TrialSpec, Until, text::as_typed};

use super::Pair;
use super::differing::FOLLOWS_WORDS;

/// A sentence with the command between backquotes; `None` where no command can do it.
///
/// `by_turns`: whether those that there are took turns.
pub fn command(
    pair: &Pair<'_>,
    differences: &[Differing],
    repeats: usize,
    by_turns: bool,
) -> Option<String> {
    let (a, b) = (pair.a.first()?, pair.b.first()?);
    if a.experiment.is_some() && a.experiment == b.experiment {
        let file = experiment_file(&a.command)?;
        return Some(if by_turns {
            format!("with `repeats = {repeats}` in its file: `pgdyno sweep {file} --resume`")
        } else {
            format!(
                "without `order` and with `repeats = {repeats}` in its file: `pgdyno sweep {file} \
             --name by-turns`"
            )
        });
    }
    // Scripts are read from their files again, where only one of both texts is.
    let changed = |one: &Differing| one.what.starts_with("statement ");
    if a.pack_sha256 != b.pack_sha256 || differences.iter().any(changed) {
        return None;
    }
    let own: Vec<&Differing> = differences
        .iter()
        .filter(|one| one.does != Some(FOLLOWS_WORDS))
        .collect();
    let is_server =
        |one: &&&Differing| one.kind == DifferingKind::Setting && !is_asked(&a.spec, &b.spec, one);
    let settings: Vec<&&Differing> = own.iter().filter(is_server).collect();
    let is_same_load = own.len() == settings.len();
    match (settings.as_slice(), is_same_load) {
        // Each trial has all that differs in its own options.
        ([], _) if !a.spec.workload.is_empty() && !b.spec.workload.is_empty() => Some(format!(
            "`for i in $(seq {repeats}); do pgdyno rerun {} --tag a; pgdyno rerun {} --tag b; done; \
             pgdyno compare tag:a tag:b`",
            a.number, b.number
        )),
        (settings, true) if !settings.is_empty() => {
            let file = experiment(&a.spec, settings, repeats)?;
            Some(format!(
                "`printf '%s\\n' {file} > by-turns.toml; pgdyno sweep by-turns.toml`"
            ))
        }
        _ => None,
    }
}

/// Whether a setting is one that a trial asks for by itself: of its session, or of its private server.
fn is_asked(a: &TrialSpec, b: &TrialSpec, one: &Differing) -> bool {
    [a, b].iter().any(|spec| {
        let target = serde_json::to_string(&spec.target);
        target.is_ok_and(|target| target.contains(&one.what))
    })
}

/// The file of an experiment, from the command that ran it.
fn experiment_file(command: &str) -> Option<&str> {
    let mut words = command.split_whitespace();
    words.find(|word| *word == "sweep")?;
    words.find(|word| word.ends_with(".toml"))
}

/// An experiment over the settings that differ, a line each in single quotes; of what it cannot say
/// there is none.
fn experiment(spec: &TrialSpec, settings: &[&&Differing], repeats: usize) -> Option<String> {
    let [workload] = spec.workload.as_slice() else {
        return None;
    };
    if spec.rate.is_some() || spec.moving_clients().is_some() || !spec.disturb.is_empty() {
        return None;
    }
    let until = match spec.until() {
        Until::Elapsed(time) => format!("duration = \"{}\"", as_typed(time)),
        Until::Transactions(count) => format!("transactions = {count}"),
    };
    let mut lines = vec![
        format!("workload = [{}]", workload_of(workload)),
        format!("clients = {}", spec.clients()),
        until,
        format!("repeats = {repeats}"),
    ];
    if let Some(mix) = &spec.mix {
        lines.push(format!("mix = {mix:?}"));
    }
    for param in &spec.params {
        let (name, value) = param.split_once('=')?;
        lines.push(format!("params.{name} = {value:?}"));
    }
    lines.push("[[zip]]".to_owned());
    for one in settings {
        if one.a == "default" || one.b == "default" {
            return None;
        }
        lines.push(format!(
            "settings.{} = [{:?}, {:?}]",
            one.what, one.a, one.b
        ));
    }
    // What a shell would take for more than text is not printed.
    let is_plain = lines.iter().all(|line| !line.contains(['\'', '\n', '`']));
    let quoted: Vec<String> = lines.iter().map(|line| format!("'{line}'")).collect();
    is_plain.then(|| quoted.join(" "))
}

/// A pack by its name, a script as a list of one.
fn workload_of(workload: &str) -> String {
    if workload.contains(['/', '.', '@']) {
        format!("[{workload:?}]")
    } else {
        format!("{workload:?}")
    }
}
