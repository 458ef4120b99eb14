//! The documents of `docs/` and `docs/internals/` and the tutorial of packs, as they are built in.

use include_dir::{Dir, File, include_dir};

static DOCS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../docs");

/// Its file is beside the packs.
static TUTORIAL: &str = include_str!("../../../../../workloads/README.md");

/// What the tutorial is called here.
pub const PACKS: &str = "packs";

/// Names of documents that became part of another one, and that one.
const MERGED: [(&str, &str); 2] = [("disturbances", "disturb"), ("parquet", "analysis")];

#[derive(Debug, Clone, Copy)]
pub struct Document {
    name: &'static str,
    text: &'static str,
}

pub fn documents() -> impl Iterator<Item = Document> {
    let internals = DOCS.get_dir("internals").into_iter();
    let files = DOCS.files().chain(internals.flat_map(Dir::files));
    let mut all: Vec<Document> = files.filter_map(of_file).collect();
    all.push(Document {
        name: PACKS,
        text: TUTORIAL,
    });
    all.sort_by_key(|document| document.name);
    all.into_iter()
}

/// The one of this name, or the one that it is part of now.
pub fn document(name: &str) -> Option<Document> {
    let of = |name: &str| documents().find(|document| document.name == name);
    of(name).or_else(|| {
        let (_, whole) = MERGED.iter().find(|(part, _)| *part == name)?;
        of(whole)
    })
}

fn of_file(file: &'static File<'static>) -> Option<Document> {
    Some(Document {
        name: file.path().file_name()?.to_str()?.strip_suffix(".md")?,
        text: file.contents_utf8()?,
    })
}

impl Document {
    pub fn name(self) -> &'static str {
        self.name
    }

    /// All of it, in Markdown.
    pub fn text(self) -> &'static str {
        self.text
    }

    pub fn title(self) -> &'static str {
        let heading = self.text.lines().find_map(heading);
        heading.map_or(self.name, |(_, text)| text)
    }

    pub fn headings(self) -> impl Iterator<Item = &'static str> {
        self.sections_by_heading().into_iter().map(|(text, _)| text)
    }

    /// Sections with all of these words in their headings, in any case.
    pub fn sections(self, words: &[&str]) -> Vec<&'static str> {
        let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let sections = self.sections_by_heading().into_iter();
        let found = sections.filter(|(heading, _)| {
            let heading = heading.to_lowercase();
            words.iter().all(|word| heading.contains(word))
        });
        found.map(|(_, section)| section).collect()
    }

    /// Paragraphs that begin with this word as code, and rows of tables whose first cell is or has it, below the
    /// head of their table.
    pub fn explained(self, word: &str) -> Vec<String> {
        let code = format!("`{word}`");
        let paragraphs = self.text.split("\n\n");
        paragraphs
            .filter_map(|paragraph| {
                let lines: Vec<&str> = paragraph.lines().collect();
                let is_row = |line: &&&str| {
                    let cell = line.strip_prefix('|').and_then(|row| row.split('|').next());
                    cell.is_some_and(|cell| cell.split(',').any(|part| part.trim() == code))
                };
                let rows: Vec<&str> = lines.iter().filter(is_row).copied().collect();
                if rows.is_empty() {
                    paragraph.starts_with(&code).then(|| paragraph.to_owned())
                } else {
                    let table = lines.iter().position(|line| line.starts_with('|'))?;
                    let head = lines.get(table..table + 2)?;
                    Some([head, &rows].concat().join("\n"))
                }
            })
            .collect()
    }

    /// Each heading below the title, with its section: up to the next heading of its level.
    fn sections_by_heading(self) -> Vec<(&'static str, &'static str)> {
        let mut open: Vec<(usize, &'static str, usize)> = Vec::new();
        let mut closed: Vec<(usize, &'static str, usize)> = Vec::new();
        let mut position = 0;
        let mut is_code = false;
        for line in self.text.split_inclusive('\n') {
            is_code ^= line.starts_with("```");
            // A comment in a script is no heading.
            if let Some((level, text)) = heading(line.trim_end()).filter(|_| !is_code) {
                while open.last().is_some_and(|(above, ..)| *above >= level) {
                    let (_, text, from) = open.pop().unwrap_or_default();
                    closed.push((from, text, position));
                }
                if level > 1 {
                    open.push((level, text, position));
                }
            }
            position += line.len();
        }
        let end = self.text.len();
        closed.extend(open.into_iter().map(|(_, text, from)| (from, text, end)));
        closed.sort_by_key(|(from, ..)| *from);
        let text = |(from, heading, to)| (heading, &self.text[from..to]);
        closed.into_iter().map(text).collect()
    }
}

/// The level and text of a line that is a heading.
pub fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    Some((level, text.strip_prefix(' ')?.trim())).filter(|_| level > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_merged_documents_lead_to_the_whole() {
        for (part, whole) in MERGED {
            let name = document(part).map(Document::name);
            assert!(
                name == Some(whole) || name == Some(part),
                "{part}: {name:?}"
            );
        }
        assert!(document("xyzzy").is_none());
    }

    #[test]
    fn a_section_ends_where_one_of_its_level_begins() {
        let document = Document {
            name: "d",
            text: "# D\nx\n## A\na\n```\n# no heading\n```\n### B\nb\n## C\nc\n",
        };
        assert_eq!(document.title(), "D");
        let headings: Vec<&str> = document.headings().collect();
        assert_eq!(headings, ["A", "B", "C"]);
        let a = "## A\na\n```\n# no heading\n```\n### B\nb\n";
        assert_eq!(document.sections(&["a"]), [a]);
        assert_eq!(document.sections(&["b"]), ["### B\nb\n"]);
        assert_eq!(document.sections(&["C"]), ["## C\nc\n"]);
    }
}
