//! `pgdyno help`: the documents that are built in, and the help of each command.

mod brief;
pub mod layout;
mod manual;
mod markdown;
mod overview;

use std::fmt::Write as _;

use clap::{Args, Command, CommandFactory};

use pgdyno_output::{width, write_answer};
use pgdyno_spec::{Exit, Failure, suggest::nearest};

use self::manual::Document;
use super::Cli;

/// Lines of prose are hard to read when they are longer.
const WIDTH_MAX: usize = 100;

/// The document for users of tools that have no command here; its headings have the words of these tools.
const OTHER_TOOLS: &str = "other-tools";

/// A document, a section of it, or a command.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno help                      what there is to read
  pgdyno help slob                 a document
  pgdyno help results stalls       its sections with this word in their headings
  pgdyno help lab retries          a document if there is one of that name, else a command's help")]
pub struct HelpArgs {
    /// A document, and words of a heading in it; or a command
    #[arg(value_name = "TOPIC|COMMAND")]
    pub words: Vec<String>,
}

/// Prints what these words name.
pub fn open(args: &HelpArgs) -> Result<Exit, Failure> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    let commands = layout::laid_out(Cli::command());
    write_answer(format_args!(
        "{}",
        text(&words, width().min(WIDTH_MAX), &commands)?
    ))?;
    Ok(Exit::Ok)
}

/// The text that these words name, in lines of this width where they can be broken.
fn text(words: &[&str], width: usize, commands: &Command) -> Result<String, Failure> {
    let Some((first, rest)) = words.split_first() else {
        return Ok(contents(width));
    };
    // A name that is both is the document; `--help` prints the command's options.
    if let Some(document) = manual::document(first)
        && let Some(text) = of_document(document, rest, width)
    {
        return Ok(text + &options_of(first, commands));
    }
    if let Some(text) = of_command(words, commands) {
        return Ok(text);
    }
    // Words of a tool that has no command here.
    if let Some(document) = manual::document(OTHER_TOOLS)
        && let Some(text) = of_document(document, words, width)
    {
        return Ok(text);
    }
    if let ([word], None) = (words, manual::document(first))
        && let Some(text) = of_sign(word, width)
    {
        return Ok(text);
    }
    Err(match manual::document(first) {
        Some(document) => no_section(document, rest),
        // A copied line: `pgdyno results`.
        None => match (*first, rest) {
            ("pgdyno", [_, ..]) => return text(rest, width, commands),
            _ => unknown(words, commands),
        },
    })
}

/// The documents by task, the first one to read first.
const TASKS: [(&str, &[&str]); 8] = [
    ("Start here", &["start", "questions", "guide"]),
    (
        "Read the result",
        &[
            "results",
            "verdict",
            "statistics",
            "report",
            "serve",
            "instruments",
        ],
    ),
    (
        "Measure",
        &[
            "experiments",
            "replay",
            "scripts",
            "packs",
            "tpcc",
            "ycsb",
            "slob",
        ],
    ),
    ("Several machines", &["targets", "scale-out"]),
    (
        "Laboratories",
        &[
            "disturb",
            "failover",
            "standbys",
            "isolation",
            "migrate",
            "retries",
            "calibrate",
        ],
    ),
    ("Judge a change", &["ci"]),
    (
        "Keep and share data",
        &[
            "store",
            "json",
            "analysis",
            "bundle",
            "dashboards",
            "security",
        ],
    ),
    (
        "Coming from another tool",
        &[
            "pgbench",
            "ysql_bench",
            "pgbench-tools",
            "sysbench",
            "workload",
            "pgio",
            "ybio",
            OTHER_TOOLS,
        ],
    ),
];

/// The task of all other documents.
const INTERNALS: &str = "How pgdyno works";

/// The documents by task.
fn contents(width: usize) -> String {
    let all: Vec<Document> = manual::documents().collect();
    let names = all.iter().map(|document| document.name().len());
    let indent = names.max().unwrap_or(0) + 2;
    let mut text = String::from("Documents: pgdyno help TOPIC [WORD OF A HEADING]\n");
    let mut list = |task: &str, documents: &[Document]| {
        let _ = writeln!(text, "\n{task}:");
        for document in documents {
            let _ = writeln!(text, "  {:indent$}{}", document.name(), document.title());
        }
    };
    for (task, names) in TASKS {
        let named = |name: &&str| all.iter().find(|document| document.name() == *name);
        let documents: Vec<Document> = names.iter().filter_map(named).copied().collect();
        list(task, &documents);
    }
    let is_listed = |document: &Document| {
        TASKS
            .iter()
            .any(|(_, names)| names.contains(&document.name()))
    };
    let others: Vec<Document> = all.iter().filter(|it| !is_listed(it)).copied().collect();
    list(INTERNALS, &others);
    text += "\n";
    text += &markdown::paragraph(
        "Options of a command: pgdyno COMMAND --help. All commands: pgdyno --help. What a note's code or a sign \
         means: pgdyno help client-bound, pgdyno help '~'.",
        width,
    );
    text += "\n";
    text += &markdown::paragraph(
        "Words of HammerDB (NOPM, virtual users), BenchmarkSQL and go-tpc (tpmC, terminals) or benchbase \
         (goodput, scalefactor) work, too: pgdyno help NOPM.",
        width,
    );
    text
}

/// The document, or its sections with all of these words in their headings, if there is one.
fn of_document(document: Document, words: &[&str], width: usize) -> Option<String> {
    match words {
        [] => Some(markdown::shown(document.text(), width)),
        words => {
            let sections = document.sections(words);
            (!sections.is_empty()).then(|| markdown::shown(&sections.join("\n"), width))
        }
    }
}

/// The explanation of a note's code or a sign of the results, and the document that has it.
fn of_sign(word: &str, width: usize) -> Option<String> {
    let first = manual::document("results").into_iter();
    first.chain(manual::documents()).find_map(|document| {
        let found = document.explained(word);
        (!found.is_empty()).then(|| {
            let text = markdown::shown(&found.join("\n\n"), width);
            format!("{text}\nMore: pgdyno help {}\n", document.name())
        })
    })
}

/// How to print the options of a command that has the name of a document.
fn options_of(name: &str, commands: &Command) -> String {
    match commands.find_subcommand(name) {
        Some(_) => format!("\nIts options: pgdyno {name} --help\n"),
        None => String::new(),
    }
}

/// What `--help` prints of this command.
fn of_command(words: &[&str], commands: &Command) -> Option<String> {
    let mut command = commands.clone();
    command.build();
    let found = words.iter().try_fold(&mut command, |command, word| {
        command.find_subcommand_mut(word)
    })?;
    Some(found.render_long_help().to_string())
}

fn no_section(document: Document, words: &[&str]) -> Failure {
    let headings: Vec<&str> = document.headings().collect();
    Failure::with(
        Exit::Usage,
        format!(
            "no heading of \"{}\" has \"{}\"",
            document.name(),
            words.join(" ")
        ),
    )
    .hint(format!("its headings: {}", headings.join("; ")))
}

fn unknown(words: &[&str], commands: &Command) -> Failure {
    let word = words.join(" ");
    let file = word.strip_prefix("docs/").unwrap_or(&word).to_lowercase();
    let name = file.strip_suffix(".md").unwrap_or(&file);
    let verbs = commands.get_subcommands().map(Command::get_name);
    let mut known: Vec<&str> = verbs.collect();
    known.extend(manual::documents().map(|document| document.name()));
    let first = words.first().filter(|first| known.contains(first));
    let hint = match first.copied().or_else(|| nearest(name, known)) {
        Some(near) => format!("did you mean {near}? All topics: pgdyno help"),
        None => "all topics: pgdyno help; all commands: pgdyno --help".to_owned(),
    };
    Failure::with(
        Exit::Usage,
        format!("no document and no command is called \"{word}\""),
    )
    .hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> String {
        text(words, 80, &Cli::command()).unwrap()
    }

    fn refused(words: &[&str]) -> String {
        text(words, 80, &Cli::command()).unwrap_err().to_string()
    }

    #[test]
    fn each_document_is_listed_and_can_be_read() {
        let contents = of(&[]);
        let first = contents.lines().skip(2).take(2);
        let first: Vec<&str> = first.map(str::trim).collect();
        assert!(
            first[0] == "Start here:" && first[1].starts_with("start "),
            "{first:?}"
        );
        for document in manual::documents() {
            let (name, title) = (document.name(), document.title());
            let lines = contents.lines().filter(|line| {
                let words = line
                    .strip_prefix("  ")
                    .and_then(|line| line.split_once(' '));
                words.is_some_and(|(first, rest)| first == name && rest.trim() == title)
            });
            assert_eq!(lines.count(), 1, "{name}: {contents}");
            let text = of(&[name]);
            assert!(text.len() > 1_000, "{name}: {text}");
        }
        assert!(contents.lines().all(|line| line.chars().count() <= 80));
    }

    /// The help of a command and of all below it.
    fn helps(command: &mut Command) -> Vec<String> {
        let mut all = vec![command.render_long_help().to_string()];
        all.extend(command.get_subcommands_mut().flat_map(helps));
        all
    }

    #[test]
    fn helps_name_documents_that_are_built_in() {
        let mut command = Cli::command();
        command.build();
        let mut named = 0;
        let of_all = helps(&mut command).into_iter();
        // The help of `help` names commands, too.
        for help in of_all.filter(|help| !help.contains("Usage: pgdyno help")) {
            assert!(!help.contains("docs/"), "{help}");
            let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
            for (at, before) in help.match_indices("pgdyno help ") {
                let rest = &help[at + before.len()..];
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'));
                let topic = &rest[..end.unwrap_or(rest.len())];
                if !topic.is_empty() {
                    let is_there =
                        manual::document(topic).is_some() || rest.starts_with("lists them");
                    assert!(is_there, "pgdyno help {topic}: {help}");
                    named += 1;
                }
            }
        }
        assert!(named > 15, "{named}");
    }

    #[test]
    fn a_document_of_a_commands_name_comes_first_and_names_the_options() {
        let slob = of(&["slob"]);
        assert!(slob.starts_with("SLOB: cache sizes"), "{slob}");
        assert!(slob.ends_with("Its options: pgdyno slob --help\n"));
    }

    #[test]
    fn commands_that_are_no_documents_show_their_help() {
        assert!(of(&["ls"]).contains("Usage: pgdyno ls"));
        assert!(of(&["lab", "retries"]).contains("Usage: pgdyno lab retries"));
    }

    #[test]
    fn words_of_tools_without_a_command_say_what_to_type() {
        for (words, typed) in [
            (&["NOPM"][..], "pgdyno run tpcc"),
            (&["tpmC"], "pgdyno load tpcc"),
            (&["terminals"], "pgdyno run tpcc"),
            (&["HammerDB"], "--param form=procedure"),
            (&["hammerdb", "nopm"], "new orders a minute"),
            (&["virtual", "users"], "-c 16"),
            (&["BenchmarkSQL"], "--rate 10"),
            (&["go-tpc"], "think_times=true"),
            (&["benchbase"], "smallbank"),
            (&["oltpbench"], "--isolation serializable"),
            (&["runMins"], "-T 10m"),
        ] {
            assert!(of(words).contains(typed), "{words:?}: {}", of(words));
        }
        let contents = of(&[]);
        for word in ["NOPM", "tpmC", "terminals"] {
            assert!(contents.contains(word), "{word}: {contents}");
        }
    }

    #[test]
    fn signs_and_codes_of_notes_are_explained() {
        for (word, says) in [
            ("~", "marks a figure that another run may well not repeat"),
            ("–", "there is no figure"),
            ("client-bound", "the client may be the limit"),
            ("no-rights", "SQLSTATE 42501"),
        ] {
            let text = of(&[word]);
            let words: Vec<&str> = text.split_whitespace().collect();
            assert!(words.join(" ").contains(says), "{word}: {text}");
            assert!(text.ends_with("More: pgdyno help results\n"), "{text}");
            assert!(text.lines().count() < 25, "{word}: {text}");
        }
        // Each code of the table.
        let results = manual::document("results").unwrap().text();
        let codes = results.split("## Validity notes").nth(1).unwrap();
        let codes = codes
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let codes: Vec<&str> = codes.collect();
        assert!(codes.len() > 20, "{codes:?}");
        for code in codes {
            assert!(of(&[code]).contains(code), "{code}");
        }
    }

    #[test]
    fn words_choose_sections_and_unknown_ones_are_answered_with_what_there_is() {
        let section = of(&["guide", "RATE", "moves"]);
        assert!(section.starts_with("A rate that moves"), "{section}");
        assert!(!section.contains("Several servers"), "{section}");
        let none = refused(&["guide", "xyzzy"]);
        assert!(none.contains("A rate that moves"), "{none}");
        let near = refused(&["resluts"]);
        assert!(near.contains("did you mean results?"), "{near}");
        for words in [&["docs/results.md"][..], &["RESULTS"]] {
            assert!(refused(words).contains("did you mean results?"));
        }
        assert!(refused(&["run", "sweep"]).contains("\"run sweep\""));
        assert_eq!(of(&["pgdyno", "results"]), of(&["results"]));
        let far = refused(&["xyzzyxyzzy"]);
        assert!(far.contains("pgdyno help"), "{far}");
    }
}
