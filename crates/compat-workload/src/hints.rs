//! Hints of the engine, in the words of this command: one that names an option which the command lacks
//! is replaced by what serves here, or left out.

use pgdyno_spec::Failure;

use super::flags::Flag;

/// How the hint about a database that there is not begins.
const CREATE_DATABASE: &str = "create the database";

/// What a hint of the engine mentions, and what to say here instead.
const INSTEAD: [(&str, &str); 6] = [
    (
        "--url",
        "name a server by its URL behind the flags, or start one of pgdyno's own: pgdyno cockroach \
         start-single-node --insecure --background",
    ),
    (
        "leave out --param",
        "leave out the flag that says so; if there is none, leave out init: run takes the tables as they are",
    ),
    (
        "--reconnect",
        "with --tolerate-errors its workers go to the others",
    ),
    (
        CREATE_DATABASE,
        "workload init makes it, and --db names another",
    ),
    (
        "--drop-tables",
        "drop them by SQL (DROP TABLE …), then init makes its own",
    ),
    (
        "--replace",
        "load the tables again: workload init with --drop",
    ),
];

/// The failure with hints that can be followed with these flags.
pub fn fit(mut failure: Failure, flags: &[&'static Flag]) -> Failure {
    let hints = std::mem::take(&mut failure.hints);
    let mut fitting: Vec<String> = Vec::new();
    for hint in hints {
        let hint = if !lacks(&hint, flags) {
            Some(hint)
        } else {
            instead_of(&hint)
        };
        fitting.extend(hint.filter(|hint| !fitting.contains(hint)));
    }
    failure.hints = fitting;
    // What the pack calls a parameter was a flag here.
    if let Some(rest) = failure.message.strip_prefix("--param ") {
        failure.message = rest.to_owned();
    }
    failure
}

/// Whether a hint names an option that is none of the flags, or an option of a command of pgdyno's own
/// in other words. An option within another command line (`pgdyno load …`, `workload init …`) is that
/// command's; a pack's parameters are flags here.
fn lacks(hint: &str, flags: &[&'static Flag]) -> bool {
    if hint.starts_with(CREATE_DATABASE) || hint.contains(" --param ") {
        return true;
    }
    let other = ["pgdyno ", "workload init "].map(|word| hint.find(word));
    let end = other.into_iter().flatten().min().unwrap_or(hint.len());
    let own = &hint[..end];
    own.split("--").skip(1).any(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let name = &rest[..end.unwrap_or(rest.len())];
        !name.is_empty() && flags.iter().all(|flag| flag.name != name)
    })
}

fn instead_of(hint: &str) -> Option<String> {
    let found = INSTEAD.iter().find(|(word, _)| hint.contains(word));
    found.map(|(_, instead)| (*instead).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::Verb;
    use crate::generator::TransactionGenerator;

    #[test]
    fn no_hint_names_an_option_that_the_command_lacks() {
        let flags = crate::flags::all(TransactionGenerator::Ycsb, Verb::Check);
        let hints = |given: &[&str]| {
            let failure = given
                .iter()
                .fold(Failure::new("no"), |f, hint| f.hint(*hint));
            fit(failure, &flags).hints
        };
        let kept = [
            "say it: --insert-count, --key-format",
            "or pgdyno load ycsb --replace",
            "load it again: workload init ycsb --drop",
            "wait",
        ];
        assert_eq!(hints(&kept), kept);
        assert!(hints(&["give it more time: --silence-timeout=5m"]).is_empty());
        let named = hints(&["create the database (CREATE DATABASE …), or name another"]);
        assert_eq!(named, ["workload init makes it, and --db names another"]);
        let again = hints(&["`pgdyno load kv --param rows=3 --replace` drops the existing tables"]);
        assert_eq!(again, ["load the tables again: workload init with --drop"]);
        let foreign = hints(&[
            "`pgdyno load bank --param rows=3 --drop-tables bank` drops the existing tables",
        ]);
        assert!(foreign[0].contains("DROP TABLE"), "{foreign:?}");
        let named = hints(&[
            "name the server with --url or PGHOST; with neither, pgdyno starts one of its own",
            "or name each node with --url",
        ]);
        assert_eq!(named.len(), 1);
        assert!(!named[0].contains("--url") && !named[0].contains("PGHOST"));
        let param = hints(&["leave out --param rows=3 to run on the existing tables"]);
        assert!(param[0].starts_with("leave out the flag"), "{param:?}");
        let message = fit(
            Failure::new("--param rows=1: it must be at least 2"),
            &flags,
        )
        .message;
        assert_eq!(message, "rows=1: it must be at least 2");
    }
}
