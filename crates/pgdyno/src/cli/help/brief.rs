//! `-h` of a command with more options than a screen has lines: the options that most lines have, and the names of
//! the others by topic. `--help` explains all.

use clap::{Arg, Command};

use super::layout::{WIDTH, wrap};

/// The heading of the options in [`MOST_USED`].
const HEADING: &str = "Most used";
/// Where `-v`, `-q` and `-h` are listed.
const PRINTED: &str = "Result";
/// Examples that `-h` shows: the first ones.
const EXAMPLES: usize = 4;
/// Where the options of a topic begin.
const COLUMN: usize = 22;

/// Commands, the verb first, and the long names of the options that `-h` explains, in its order.
const MOST_USED: [(&[&str], &[&str]); 2] = [
    (
        &["run"],
        &[
            "clients", "duration", "rate", "warmup", "mix", "param", "url", "repeat", "tag",
            "json", "serve",
        ],
    ),
    (
        &["lab", "disturb"],
        &[
            "with", "list", "during", "before", "for", "after", "clients", "rate", "repeat", "url",
            "yes", "json",
        ],
    ),
];

/// The whole command line with a short `-h` where there are many options.
pub fn shortened(mut commands: Command) -> Command {
    // Options of all commands are among the names.
    commands.build();
    for (path, names) in MOST_USED {
        commands = below(commands, path, names);
    }
    commands
}

fn below(command: Command, path: &[&str], names: &[&str]) -> Command {
    let Some((first, rest)) = path.split_first() else {
        return brief(command, names);
    };
    command.mut_subcommands(|verb| {
        if verb.get_name() == *first {
            below(verb, rest, names)
        } else {
            verb
        }
    })
}

fn brief(command: Command, names: &[&str]) -> Command {
    let place = |arg: &Arg| {
        let long = arg.get_long()?;
        names.iter().position(|name| *name == long)
    };
    let command = command.mut_args(|arg| match (place(&arg), arg.is_positional()) {
        (_, true) => arg,
        (Some(place), _) => arg.help_heading(HEADING).display_order(place),
        (None, _) => match arg.get_help_heading() {
            Some(_) => arg.hide_short_help(true),
            None => arg.help_heading(PRINTED).hide_short_help(true),
        },
    });
    let whole = command.get_after_help().map(ToString::to_string);
    let whole = whole.unwrap_or_default();
    let short = format!("{}\n\n{}", others(&command), examples(&whole));
    command.after_help(short).after_long_help(whole)
}

/// The names of the options that `-h` does not explain, by their headings.
fn others(command: &Command) -> String {
    let mut topics: Vec<(&str, Vec<String>)> = Vec::new();
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        let (Some(long), Some(heading)) = (arg.get_long(), arg.get_help_heading()) else {
            continue;
        };
        if heading == HEADING {
            continue;
        }
        let name = format!("--{long}");
        match topics.iter_mut().find(|(topic, _)| *topic == heading) {
            Some((_, names)) => names.push(name),
            None => topics.push((heading, vec![name])),
        }
    }
    let path = command.get_bin_name().unwrap_or_default();
    let mut lines = vec![format!("More, explained by {path} --help:")];
    for (topic, names) in topics {
        let mut named = Vec::new();
        wrap(&mut named, &names.join(" "), &" ".repeat(COLUMN));
        let first = format!("  {topic:<width$}", width = COLUMN - 2);
        named[0].replace_range(..COLUMN, &first);
        lines.append(&mut named);
    }
    debug_assert!(lines.iter().all(|line| line.chars().count() <= WIDTH));
    lines.join("\n")
}

/// The first examples of a text that has a list of them.
fn examples(text: &str) -> String {
    let lines = text.lines().skip_while(|line| *line != "Examples:");
    let lines: Vec<&str> = lines.take(1 + EXAMPLES).collect();
    lines.join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;
    use crate::cli::help::layout::laid_out;

    #[test]
    fn a_short_help_fits_a_screen_and_names_every_option() {
        for (path, names) in MOST_USED {
            let mut commands = laid_out(Cli::command());
            let command = path.iter().fold(&mut commands, |command, verb| {
                command.find_subcommand_mut(verb).expect("a verb")
            });
            let short = command.render_help().to_string();
            let lines: Vec<&str> = short.lines().collect();
            assert!(lines.len() <= 60, "{} lines: {short}", lines.len());
            assert!(
                lines.iter().all(|line| line.chars().count() <= WIDTH),
                "{short}"
            );
            // What comes first, after usage and arguments.
            let heading = lines.iter().filter(|line| line.ends_with(':')).nth(1);
            assert_eq!(heading, Some(&"Most used:"), "{short}");
            for name in names {
                assert!(short.contains(&format!("--{name}")), "{name}: {short}");
            }
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                if let Some(long) = arg.get_long() {
                    assert!(short.contains(&format!("--{long}")), "{long}: {short}");
                }
            }
            let long = command.render_long_help().to_string();
            assert!(long.lines().count() > 200, "{long}");
        }
    }

    #[test]
    fn options_stand_under_headings_that_fit() {
        let mut commands = laid_out(Cli::command());
        let run = commands.find_subcommand_mut("run").expect("run");
        let heading = |long: &str| {
            let arg = run.get_arguments().find(|arg| arg.get_long() == Some(long));
            arg.and_then(Arg::get_help_heading)
        };
        for (long, want) in [
            ("store", "Result"),
            ("note", "Result"),
            ("verbose", "Result"),
            ("isolation", "Load"),
            ("max-tries", "Errors and retries"),
            ("receipts", "Correctness"),
            ("pg-set", "Private server"),
            ("generators", "Several generators"),
            ("undo", "Disturbance"),
            ("clients", "Most used"),
        ] {
            assert_eq!(heading(long), Some(want), "{long}");
        }
    }
}
