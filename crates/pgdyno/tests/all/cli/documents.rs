//! What every document must be: its links lead to files and headings that exist, and its sentences name who acts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Words of a narrator: say who does what instead.
pub const NARRATORS: [&str; 8] = [
    "anybody",
    "everybody",
    "nobody",
    "somebody",
    "stands",
    "told",
    "whoever",
    "whomever",
];

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn markdown_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    files.sort();
    files
}

/// Documents for users.
fn for_users() -> Vec<PathBuf> {
    let mut files = markdown_in(&root().join("docs"));
    files.extend(["README.md", "CHANGELOG.md", "examples/README.md"].map(|name| root().join(name)));
    files
}

/// Lines outside of blocks of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// What GitHub calls a heading in an address.
fn anchor(heading: &str) -> String {
    let letters = heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .collect::<String>();
    letters.replace(' ', "-")
}

fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    headings
        .map(|line| anchor(line.trim_start_matches('#').trim()))
        .collect()
}

/// The addresses of links that are not on the web.
fn links(text: &str) -> Vec<String> {
    let text = prose(text).collect::<Vec<_>>().join("\n");
    let addresses = text.split("](").skip(1);
    addresses
        .filter_map(|rest| rest.split_once(')'))
        .map(|(address, _)| address.to_owned())
        .filter(|address| !address.contains("://"))
        .collect()
}

/// What is wrong with a link of this document.
fn broken(document: &Path, text: &str, address: &str) -> Option<&'static str> {
    let (path, section) = address.split_once('#').unwrap_or((address, ""));
    let target = document.parent().unwrap().join(path);
    if !path.is_empty() && !target.exists() {
        return Some("no such file");
    }
    let known = if path.is_empty() {
        anchors(text)
    } else if section.is_empty() {
        return None;
    } else {
        anchors(&fs::read_to_string(&target).unwrap())
    };
    (!known.contains(section)).then_some("no such heading")
}

#[test]
fn links_lead_to_files_and_headings_that_exist() {
    let mut files = for_users();
    for folder in ["docs/internals", "bench", "workloads", "web", "fuzz"] {
        let folder = root().join(folder);
        if folder.exists() {
            files.extend(markdown_in(&folder));
        }
    }
    files.push(root().join("CONTRIBUTING.md"));
    let (mut seen, mut wrong) = (0, Vec::new());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for address in links(&text) {
            seen += 1;
            if let Some(why) = broken(&file, &text, &address) {
                wrong.push(format!("{}: {address}: {why}", file.display()));
            }
        }
    }
    assert!(seen > 200, "{seen} links");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_link_to_nowhere_is_seen() {
    let text = "# A\n[b](#b) [c](c.md)\n## `d` --e\n```\n# no heading\n```\n";
    let here = root().join("docs/start.md");
    assert_eq!(links(text), ["#b", "c.md"]);
    assert_eq!(broken(&here, text, "#b"), Some("no such heading"));
    assert_eq!(broken(&here, text, "#no-heading"), Some("no such heading"));
    assert_eq!(broken(&here, text, "#d---e"), None);
    assert_eq!(broken(&here, text, "c.md"), Some("no such file"));
    assert_eq!(
        broken(&here, text, "guide.md#xyzzy"),
        Some("no such heading")
    );
    assert_eq!(broken(&here, text, "guide.md#retries"), None);
}

/// Tables of fields and series, made of what the code says of them.
const GENERATED: [&str; 2] = ["docs/json.md", "docs/instruments.md"];

#[test]
fn sentences_have_no_narrator() {
    let mut seen = Vec::new();
    let files = for_users().into_iter();
    for file in files.filter(|file| !GENERATED.iter().any(|end| file.ends_with(end))) {
        let text = fs::read_to_string(&file).unwrap();
        for line in prose(&text) {
            // Code in a line is no sentence.
            let words = line.split('`').step_by(2).collect::<String>();
            let mut words = words.split(|c: char| !c.is_alphabetic());
            if let Some(word) = words.find(|word| NARRATORS.contains(&&*word.to_lowercase())) {
                seen.push(format!("{}: {word}: {line}", file.display()));
            }
        }
    }
    assert!(seen.is_empty(), "{seen:#?}");
}
