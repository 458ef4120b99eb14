//! `pgdyno --help`: all commands by what they are for, on one screen.

use clap::Command;

/// Where what a command does begins.
const COLUMN: usize = 17;

/// Commands of a line; what they do is a single command's own summary, or the text beside them.
type Line = (&'static [&'static str], &'static str);

const GROUPS: [(&str, &[Line]); 5] = [
    (
        "Measure",
        &[
            (&["run"], ""),
            (&["load"], ""),
            (&["sweep"], ""),
            (&["calibrate"], ""),
            (&["ci"], ""),
            (&["rerun"], ""),
            (
                &["record", "replay"],
                "traffic of your own, from server logs, in its own time",
            ),
        ],
    ),
    (
        "Laboratories",
        &[(&["lab"], ""), (&["slob"], ""), (&["check-history"], "")],
    ),
    (
        "Look and compare",
        &[
            (&["show"], ""),
            (&["report"], ""),
            (&["compare"], ""),
            (&["serve"], ""),
            (&["history"], ""),
        ],
    ),
    (
        "Notebook",
        &[
            (&["ls"], ""),
            (
                &["note", "tag", "exclude", "rm"],
                "mark trials, leave them out, delete them",
            ),
            (
                &["export", "import", "verify"],
                "copy trials to a file or bundle, add, check them",
            ),
            (&["store"], ""),
            (&["sql"], ""),
        ],
    ),
    (
        "Set up",
        &[
            (&["target"], ""),
            (&["pack"], ""),
            (&["server"], ""),
            (&["restore"], ""),
            (&["deploy"], ""),
            (
                &["config", "completions", "help"],
                "defaults in effect; for shells; documents",
            ),
        ],
    ),
];

/// Commands that have the options and the output of the program of that name.
const BY_THEIR_OWN_NAMES: [&str; 9] = [
    "pgbench",
    "ysql_bench",
    "workload",
    "cockroach",
    "ycsb",
    "go-ycsb",
    "sysbench",
    "pgio",
    "ybio",
];

/// The command line whose `--help` is this overview.
pub fn grouped(command: Command) -> Command {
    let text = text(&command);
    command.override_help(text)
}

fn text(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string);
    let mut text = format!(
        "{}\n\nUsage: pgdyno COMMAND …, for a first figure: pgdyno run tpcb\n",
        about.unwrap_or_default()
    );
    for (group, lines) in GROUPS {
        text += &format!("\n{group}:\n");
        for line in lines {
            text += &described(command, line);
        }
    }
    text += &format!(
        "\nBy their own names, with their own options and output:\n  {}\n",
        BY_THEIR_OWN_NAMES.join(", ")
    );
    text += "
-v prints more, -q less. Options: pgdyno COMMAND -h. Documents: pgdyno help
Exit codes: 0 success, 1 failed, 2 usage, 3 server, 4 cannot tell, 130 Ctrl-C
";
    text
}

fn described(command: &Command, (names, does): &Line) -> String {
    let own = match names {
        [name] => command
            .find_subcommand(name)
            .and_then(Command::get_about)
            .map(ToString::to_string),
        _ => None,
    };
    let named = format!("  {}", names.join(", "));
    let does = own.as_deref().unwrap_or(does);
    if named.len() + 2 <= COLUMN {
        format!("{named:COLUMN$}{does}\n")
    } else {
        format!("{named}  {does}\n")
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn the_overview_is_a_screen_and_has_every_command_once() {
        let command = Cli::command();
        let text = text(&command);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() <= 45, "{} lines: {text}", lines.len());
        for line in &lines {
            assert!(line.chars().count() <= 80, "{line}");
            assert!(!line.trim_end().is_empty() || line.is_empty(), "{line:?}");
        }
        let mut listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, lines)| lines.iter())
            .flat_map(|(names, _)| names.iter().copied())
            .chain(BY_THEIR_OWN_NAMES)
            .collect();
        listed.sort_unstable();
        let mut verbs: Vec<&str> = command
            .get_subcommands()
            .filter(|verb| !verb.is_hide_set())
            .map(Command::get_name)
            .collect();
        verbs.sort_unstable();
        assert_eq!(listed, verbs);
    }
}
