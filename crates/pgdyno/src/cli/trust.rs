//! What a file from elsewhere would do to this host: refused, or shown before it is done.

use std::collections::BTreeSet;
use std::path::Path;

use pgdyno_database::safe_settings::is_safe;
use pgdyno_report::table::one_line;
use pgdyno_run::experiment::plan::Plan;
use pgdyno_run::{prepare, shell};
use pgdyno_server::Cache;
use pgdyno_server::kept::{self, ServerStatus};
use pgdyno_session::Env;
use pgdyno_session::conninfo::{self, ConnInfo, Given};
use pgdyno_spec::{Failure, TargetSpec, TrialSpec};

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

/// All that a trial from a foreign file would do beyond its statements: programs that its
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
            .hint("check them with --dry-run; if you trust them: --allow-shell"));
    }
    let of_server = spec.target.own.pg_set.iter();
    let of_server = of_server.filter_map(|text| text.secret().split_once('='));
    let of_server =
        of_server.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    let all = of_server.chain(spec.settings.clone()).collect();
    settings(of, &all, is_allowed)
}

/// What the addresses of a file set for its sessions (`options=-c …`): a superuser's session loads libraries by it.
/// `of` is where they come from.
///
/// # Errors
/// It is not known to be safe, and `--allow-shell` was not given.
pub fn addresses(of: &str, target: &TargetSpec, is_allowed: bool) -> Result<(), Failure> {
    let mut set = BTreeSet::new();
    for info in resolved(target) {
        set.extend(info.option("options").into_iter().flat_map(switches));
    }
    settings(of, &set, is_allowed)
}

/// What a file's addresses come to; the switches of PGOPTIONS are the user's own, and not among them. One that cannot
/// be read is an error when it is connected to.
fn resolved(target: &TargetSpec) -> impl Iterator<Item = ConnInfo> {
    let env = Env::of_process().with("PGOPTIONS", "");
    let urls = target.urls.iter();
    urls.filter_map(move |url| conninfo::resolve(&Given::target(url.secret()), &env).ok())
}

/// Whether a file's addresses are those of the server of `pgdyno server start`, whose superuser needs no
/// password. `of` is where they come from.
///
/// # Errors
/// One is, and `--allow-shell` was not given.
pub fn own_server(of: &str, target: &TargetSpec, is_allowed: bool) -> Result<(), Failure> {
    if is_allowed {
        return Ok(());
    }
    let kept = Cache::from_env().map(|cache| kept::status(&cache));
    let Ok(ServerStatus::Running(running)) = kept else {
        return Ok(());
    };
    let address = running.address;
    let at_port = address.port.to_string();
    for info in resolved(target) {
        let is_it = |host: &str| {
            if Path::new(host).is_absolute() {
                Path::new(host).canonicalize().ok() == address.socket_dir.canonicalize().ok()
            } else {
                address.loopback && info.port() == at_port
            }
        };
        if info.hosts().any(is_it) {
            let text = format!("{of} names pgdyno's own server, as {}", info.user());
            return Err(Failure::new(text).hint(
                "leave the address out: without one that server is used by a role that runs no program; or, if you \
                 trust the file: --allow-shell",
            ));
        }
    }
    Ok(())
}

/// The settings among a server's switches; any other switch is there by itself.
fn switches(options: &str) -> Vec<(String, String)> {
    // A blank behind a backslash ends no word.
    let mut words = vec![String::new()];
    let mut letters = options.chars();
    while let Some(letter) = letters.next() {
        match (letter, words.last_mut()) {
            ('\\', Some(word)) => word.extend(letters.next()),
            (letter, _) if letter.is_whitespace() => words.push(String::new()),
            (letter, Some(word)) => word.push(letter),
            (_, None) => {}
        }
    }
    let mut words = words.into_iter().filter(|word| !word.is_empty());
    let mut set = Vec::new();
    while let Some(word) = words.next() {
        let pair = match (word.strip_prefix("-c"), word.strip_prefix("--")) {
            (Some(""), _) => words.next().unwrap_or_default(),
            (Some(pair), _) | (_, Some(pair)) => pair.to_owned(),
            _ => word,
        };
        let (name, value) = pair.split_once('=').unwrap_or((&pair, ""));
        set.push((name.replace('-', "_"), value.to_owned()));
    }
    set
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> Option<String> {
        let target = TargetSpec::at(url);
        let refused = addresses("trial 1", &target, false);
        assert!(addresses("trial 1", &target, true).is_ok());
        refused.err().map(|failure| failure.to_string())
    }

    #[test]
    fn what_an_address_has_a_session_load_is_refused() {
        for options in [
            "-c session_preload_libraries=/tmp/x.so",
            "-csession_preload_libraries=/tmp/x.so",
            "--session-preload-libraries=/tmp/x.so",
            "-c work_mem=4MB --dynamic_library_path=/tmp",
            "-c search_path=a\\\\ b -c local_preload_libraries=x",
            "-O",
            "-c",
        ] {
            let said = refused(&format!("host=h options='{options}'"));
            assert!(
                said.is_some_and(|said| said.contains("--allow-shell")),
                "{options}"
            );
        }
        let in_url = "postgresql://h/d?options=-c%20session_preload_libraries%3D/tmp/x";
        assert!(refused(in_url).is_some());
        for safe in [
            "host=h",
            "postgresql://h/d?options=-c%20work_mem%3D4MB%20--jit=off",
            "host=h options='-c search_path=a\\\\ b'",
        ] {
            assert_eq!(refused(safe), None, "{safe}");
        }
    }
}
