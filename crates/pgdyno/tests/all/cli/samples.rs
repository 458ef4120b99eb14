//! Sample outputs in README.md and docs/: each is in a block below a mark such as
//! `<!-- sample: show 1 -q -->`, which says what pgdyno was asked, of trials that were recorded (`samples/`). What is
//! printed today has to be what is there; `scripts/samples` writes it anew.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::support::{Database, pgdyno, ran};

/// Set, the documents are written.
const WRITES: &str = "PGDYNO_WRITE_DOCS";
const MARK: &str = "<!-- sample: ";

struct Sample {
    /// The line of its mark, from 1.
    line: usize,
    /// What is asked: the words after `pgdyno`.
    command: String,
    /// What begins with this is the first line shown: `| from capacity`.
    from: Option<String>,
    /// Only so many lines are shown: `| head -9`.
    lines: Option<usize>,
    /// The bytes of the document between its fences.
    text: Range<usize>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README.md, then the documents by name.
fn documents() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    all.sort();
    all.insert(0, root().join("README.md"));
    all
}

fn samples(document: &str) -> Vec<Sample> {
    document
        .match_indices(MARK)
        .map(|(at, _)| {
            let rest = &document[at + MARK.len()..];
            let (command, _) = rest.split_once(" -->").expect("the mark ends");
            let mut parts = command.split(" | ");
            let command = parts.next().unwrap_or_default();
            let (mut from, mut lines) = (None, None);
            for part in parts {
                match part.split_once(' ') {
                    Some(("from", text)) => from = Some(text.to_owned()),
                    Some(("head", count)) => lines = Some(count[1..].parse().expect("a number")),
                    _ => panic!("{part}: it is `from TEXT` or `head -N`"),
                }
            }
            let fence = at + document[at..].find("```\n").expect("a block") + 4;
            let end = fence + document[fence..].find("```").expect("its end");
            Sample {
                line: document[..at].lines().count() + 1,
                command: command.to_owned(),
                from,
                lines,
                text: fence..end,
            }
        })
        .collect()
}

/// What pgdyno prints of the recorded trials.
fn printed(sample: &Sample, notebook: &Path) -> String {
    let words: Vec<&str> = sample.command.split_whitespace().collect();
    let answer = ran(pgdyno(&words).arg("--store").arg(notebook)).expect(0, &[]);
    let is_before = |line: &&str| {
        let from = sample.from.as_deref();
        from.is_some_and(|from| !line.starts_with(from))
    };
    let lines = answer.stdout.lines().skip_while(is_before);
    let lines = lines.take(sample.lines.unwrap_or(usize::MAX));
    let lines = lines.map(|line| format!("{}\n", line.trim_end()));
    lines
        .collect::<String>()
        .trim_start_matches('\n')
        .to_owned()
}

#[test]
fn samples_in_the_documents_are_what_the_program_prints() {
    let recorded =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/cli/samples/notebook.sqlite");
    let dir = tempfile::tempdir().unwrap();
    // A notebook that is read gets files beside it.
    let notebook = dir.path().join("notebook.sqlite");
    fs::copy(recorded, &notebook).unwrap();
    let (mut seen, mut stale) = (0, Vec::new());
    for path in documents() {
        let mut document = fs::read_to_string(&path).unwrap();
        for sample in samples(&document).into_iter().rev() {
            seen += 1;
            let now = printed(&sample, &notebook);
            if document[sample.text.clone()] == now {
                continue;
            }
            stale.push(format!(
                "{}:{}: pgdyno {} prints:\n{now}",
                path.display(),
                sample.line,
                sample.command
            ));
            document.replace_range(sample.text, &now);
        }
        if std::env::var_os(WRITES).is_some() {
            fs::write(&path, document).unwrap();
        }
    }
    assert!(seen >= 6, "{seen} samples");
    if std::env::var_os(WRITES).is_none() {
        assert!(
            stale.is_empty(),
            "stale; scripts/samples writes them anew:\n{}",
            stale.join("\n")
        );
    }
}

/// So that a sample of `show -q` is one of `run`.
#[test]
fn what_run_prints_is_what_show_prints_when_it_is_quiet() {
    let db = Database::new("samples");
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("one.sql"), "SELECT 1;\n").unwrap();
    let store = dir.path().join("notebook.sqlite");
    let mut run = pgdyno(&["run", "-q", "one.sql", "-T", "1", "--url", &db.url]);
    let printed = ran(run.current_dir(dir.path()).env("PGDYNO_STORE", &store)).expect(0, &[]);
    let shown = ran(pgdyno(&["show", "-q"]).env("PGDYNO_STORE", &store)).expect(0, &[]);
    assert_eq!(printed.stdout, shown.stdout);
}
