//! What follows a command's options (examples, exit codes), laid out for 80 columns: clap breaks
//! lines that are longer where they end, and examples lose their columns.

use clap::Command;

use super::{brief, overview};

/// As wide as help is: the commands' `max_term_width`.
pub const WIDTH: usize = 80;
/// Indent of an example's description when it has no room beside it.
const INDENT: usize = 6;

/// The command line as its help is shown: an overview of its commands, a short `-h`, and texts that fit.
pub fn laid_out(commands: Command) -> Command {
    brief::shortened(overview::grouped(fitting(commands)))
}

/// The command, and all below it, with such texts.
fn fitting(command: Command) -> Command {
    let short = command.get_after_help().map(|text| of(&text.to_string()));
    let long = command
        .get_after_long_help()
        .map(|text| of(&text.to_string()));
    let command = match short {
        Some(text) => command.after_help(text),
        None => command,
    };
    let command = match long {
        Some(text) => command.after_long_help(text),
        None => command,
    };
    command.mut_subcommands(fitting)
}

/// Paragraphs and examples, each as wide as there is room.
fn of(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out: Vec<String> = Vec::new();
    for block in lines.chunk_by(|a, b| kind(a) == kind(b)) {
        match (kind(block[0]), fits(block)) {
            (Kind::Empty, _) | (_, true) => out.extend(block.iter().map(ToString::to_string)),
            (Kind::Prose, false) => wrap(&mut out, &block.join(" "), ""),
            (Kind::Example, false) => examples(&mut out, block),
        }
    }
    out.join("\n")
}

#[derive(PartialEq)]
enum Kind {
    Empty,
    Prose,
    /// Indented: a command, and what it does behind it.
    Example,
}

fn kind(line: &str) -> Kind {
    match line.chars().next() {
        None => Kind::Empty,
        Some(' ') => Kind::Example,
        Some(_) => Kind::Prose,
    }
}

fn fits(block: &[&str]) -> bool {
    block.iter().all(|line| width(line) <= WIDTH)
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Commands in a column with what they do in another, or below them.
fn examples(out: &mut Vec<String>, block: &[&str]) {
    let parts: Vec<(&str, &str)> = block.iter().map(|line| parts(line)).collect();
    // One long command does not move what the others do.
    let beside = |column: usize| {
        let fits = |(command, does): &&(&str, &str)| {
            !does.is_empty() && width(command) + 2 <= column && column + width(does) <= WIDTH
        };
        parts.iter().filter(fits).count()
    };
    let columns = parts.iter().map(|(command, _)| width(command) + 2);
    let column = columns.max_by_key(|column| (beside(*column), usize::MAX - column));
    let column = column.unwrap_or(INDENT);
    for (command, does) in parts {
        let has_room = width(command) + 2 <= column && column + width(does) <= WIDTH;
        if !does.is_empty() && !command.is_empty() && has_room {
            out.push(format!("{command:column$}{does}"));
            continue;
        }
        if !command.is_empty() {
            broken(out, command);
        }
        if !does.is_empty() {
            wrap(out, does, &" ".repeat(INDENT));
        }
    }
}

/// A command that can be copied: lines but its last end with a backslash.
fn broken(out: &mut Vec<String>, command: &str) {
    if width(command) <= WIDTH {
        return out.push(command.to_owned());
    }
    let mut line = String::from("  ");
    for word in command.split_whitespace() {
        if width(&line) + width(word) + 3 > WIDTH {
            out.push(line + "\\");
            line = " ".repeat(INDENT);
        }
        line += word;
        line.push(' ');
    }
    out.push(line.trim_end().to_owned());
}

/// A command, and what it does, two spaces or more behind it.
fn parts(line: &str) -> (&str, &str) {
    let indent = line.len() - line.trim_start().len();
    // More of what the command above does.
    if indent > 2 * INDENT {
        return ("", line.trim_start());
    }
    match line[indent..].find("  ") {
        Some(at) => (&line[..indent + at], line[indent + at..].trim_start()),
        None => (line, ""),
    }
}

/// The words, in lines that fit behind the indentation.
pub fn wrap(out: &mut Vec<String>, text: &str, indent: &str) {
    let mut line = indent.to_owned();
    for word in text.split_whitespace() {
        let is_first = line.len() == indent.len();
        if !is_first && width(&line) + 1 + width(word) > WIDTH {
            out.push(std::mem::replace(&mut line, indent.to_owned()));
        } else if !is_first {
            line.push(' ');
        }
        line += word;
    }
    out.push(line);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;

    #[test]
    fn prose_is_one_paragraph_again_and_what_fits_stays() {
        let long = "word ".repeat(19) + "end\nof it\n\nshort\nlines\n";
        let text = of(&long);
        let first = "word ".repeat(16);
        let first = first.trim_end();
        assert_eq!(
            text,
            format!("{first}\nword word word end of it\n\nshort\nlines")
        );
    }

    #[test]
    fn examples_keep_their_column_where_they_can() {
        let does = "what it does, at some length and then more";
        let text = of(&format!(
            "Examples:\n  pgdyno a                                        {does}\n  \
             pgdyno bc                                       short\n  pgdyno {}  {does}",
            "long ".repeat(8).trim_end()
        ));
        let long = format!("  pgdyno {}", "long ".repeat(8).trim_end());
        assert_eq!(
            text,
            format!("Examples:\n  pgdyno a   {does}\n  pgdyno bc  short\n{long}\n      {does}")
        );
    }

    #[test]
    fn a_long_command_is_broken_so_that_it_can_be_copied() {
        let text = of(&format!("  pgdyno run {}", "--option value ".repeat(8)));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(
            lines[0].ends_with("value \\") && lines[1].starts_with("      --option"),
            "{text}"
        );
    }

    #[test]
    fn all_commands_have_texts_that_fit() {
        fn all(command: &mut Command, seen: &mut usize) {
            for text in [command.get_after_help(), command.get_after_long_help()] {
                for line in text.map(ToString::to_string).unwrap_or_default().lines() {
                    // A word can be longer.
                    let is_word = !line.trim().contains(char::is_whitespace);
                    assert!(width(line) <= WIDTH || is_word, "{line}");
                    *seen += 1;
                }
            }
            command
                .get_subcommands_mut()
                .for_each(|below| all(below, seen));
        }
        let mut seen = 0;
        all(&mut laid_out(Cli::command()), &mut seen);
        assert!(seen > 100, "{seen}");
    }
}
