//! What a file from elsewhere would do to this host: refused, or shown before it is done.

use std::collections::BTreeSet;

use pgdyno_database::safe_settings::is_safe;
use pgdyno_model::{Failure, TrialSpec};
use pgdyno_report::table::one_line;
use pgdyno_run::experiment::plan::Plan;
use pgdyno_run::{prepare, shell};

/// Settings that come from a file, `of` this: those that are not known to be safe are refused, or shown where
/// they are allowed.
///
/// # Errors
/// One is not safe, and `--allow-shell` was not given.
pub fn settings(
    of: &str,
    settings: &BTreeSet<(String, String)>,
    are_allowed: bool,
) -> Result<(), Failure> {
    let pairs = settings.iter().map(|(name, value)| (&**name, &**value));
    if !are_allowed {
        return shell::refuse_settings(of, pairs);
    }
    for (name, value) in pairs.filter(|(name, value)| !is_safe(name, value)) {
        let (name, value) = (one_line(name), one_line(value));
        pgdyno_output::remark!("pgdyno: {of} sets {name} = {value} (--allow-shell)");
    }
    Ok(())
}

/// All that a trial which somebody else may have asked for would do beyond its statements: programs that its
/// scripts and disturbances run, and its settings. `of` names it.
///
/// # Errors
/// There is some, and `--allow-shell` was not given.
pub fn trial(of: &str, spec: &TrialSpec, is_allowed: bool) -> Result<(), Failure> {
    let runs = match () {
        () if spec.allow_shell => Some("scripts that run programs on this host"),
        () if !spec.disturb.is_empty() => Some("commands that disturb it, on this host"),
        () => None,
    };
    if let Some(runs) = runs.filter(|_| !is_allowed) {
        return Err(Failure::new(format!("{of} has {runs}"))
            .hint("look at them with --dry-run; if you trust them: --allow-shell"));
    }
    let of_server = spec.target.own.pg_set.iter();
    let of_server = of_server.filter_map(|text| text.secret().split_once('='));
    let of_server =
        of_server.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    let all = of_server.chain(spec.settings.clone()).collect();
    settings(of, &all, is_allowed)
}

/// The text of a file line by line, with nothing that a terminal obeys.
pub fn shown(name: &str, text: &str) -> String {
    let lines = text.lines().map(|line| format!("#   {}\n", one_line(line)));
    format!("# {}:\n{}", one_line(name), lines.collect::<String>())
}

/// Shows the scripts of an experiment that may run programs.
///
/// # Errors
/// One cannot be read.
pub fn show_scripts(plan: &Plan) -> Result<(), Failure> {
    let mut texts = BTreeSet::new();
    for planned in &plan.points {
        for script in &prepare::check(&planned.spec)?.workload.scripts {
            texts.insert(shown(&script.name, &script.text));
        }
    }
    for text in texts {
        pgdyno_output::remark!("{}", text.trim_end());
    }
    Ok(())
}
