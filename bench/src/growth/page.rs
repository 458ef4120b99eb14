//! The file with all axes: a summary, then a section for each. Measuring one axis replaces its section and its
//! row, and leaves the others as they are.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::axes;
use crate::Error;
use crate::report::markdown;

const HEAD: &str = "<!-- Written by `make bench-growth`; not to be edited. bench/README.md tells how to read it. -->\n\
                    # What grows, and how fast\n\n\
                    A figure grows as a + b·step^k; k, its exponent, is fitted over the upper half of the steps, with \
                    what a small step costs anyway (start-up) taken off. 1 is linear, 0 is no growth; above 1.15 it is \
                    worse than linear.\n\n";

/// A row of the summary; kept in its section as a comment, from which the summary is made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Its axis.
    pub axis: String,
    /// Title, steps, exponents of CPU, wall time, memory and bytes written, those of the peer, ratio, verdict.
    pub cells: [String; 9],
}

/// The sections of the file, by axis, each from its heading to its end.
#[derive(Debug, Default)]
pub struct GrowthPage(Vec<(String, String)>);

const COMMENT: (&str, &str) = ("<!-- axis ", " -->");

impl Summary {
    /// As it is kept in a section.
    pub fn comment(&self) -> String {
        let (begin, end) = COMMENT;
        format!("{begin}{} | {}{end}", self.axis, self.cells.join(" | "))
    }

    fn read(section: &str) -> Option<Self> {
        let (begin, end) = COMMENT;
        let mut comments = section.lines().filter_map(|line| {
            let line = line.strip_prefix(begin)?.strip_suffix(end)?;
            let mut words = line.split(" | ").map(str::to_owned);
            let axis = words.next()?;
            let cells = words.collect::<Vec<_>>().try_into().ok()?;
            Some(Self { axis, cells })
        });
        comments.next()
    }
}

impl GrowthPage {
    /// What the file has; nothing where there is none.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(file: &Path) -> Result<Self, Error> {
        match fs::read_to_string(file) {
            Ok(text) => Ok(Self::parse(&text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(format!("cannot read {}: {error}", file.display()).into()),
        }
    }

    fn parse(text: &str) -> Self {
        let sections = text.split("\n## ").skip(1).filter_map(|rest| {
            let section = format!("## {}\n", rest.trim_end());
            Some((Summary::read(&section)?.axis, section))
        });
        Self(sections.collect())
    }

    /// The section of an axis, in place of what there was of it.
    pub fn put(&mut self, axis: &str, section: String) {
        self.0.retain(|(name, _)| name != axis);
        self.0.push((axis.to_owned(), section));
        // In the order of the axes, those that are no more last.
        let place = |name: &str| axes::ALL.iter().position(|axis| axis.name == name);
        self.0
            .sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
    }

    /// # Errors
    /// It cannot be written.
    pub fn write(&self, file: &Path) -> Result<(), Error> {
        fs::write(file, self.text())
            .map_err(|e| format!("cannot write {}: {e}", file.display()).into())
    }

    fn text(&self) -> String {
        let header = [
            "what grows",
            "steps",
            "client CPU",
            "wall time",
            "peak memory",
            "bytes written",
            "peer: CPU, memory",
            "CPU, pgdyno by peer",
            "verdict",
        ];
        let mut lines = vec![header.map(str::to_owned).to_vec()];
        let rows = self.0.iter().filter_map(|(_, text)| Summary::read(text));
        lines.extend(rows.map(|row| row.cells.to_vec()));
        let mut text = format!("{HEAD}{}", markdown(&lines));
        for (_, section) in &self.0 {
            text.push('\n');
            text.push_str(section);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(axis: &str, title: &str) -> String {
        let cells = [
            title,
            "1 to 9 things",
            "1.00",
            "0.9",
            "0",
            "–",
            "–",
            "–",
            "fine",
        ];
        let summary = Summary {
            axis: axis.to_owned(),
            cells: cells.map(str::to_owned),
        };
        format!("## {title}\n\n{}\n\nText.\n", summary.comment())
    }

    #[test]
    fn another_measurement_replaces_its_section_alone() {
        let mut page = GrowthPage::default();
        page.put("threads", section("threads", "Threads"));
        page.put("connections", section("connections", "Connections"));
        let mut again = GrowthPage::parse(&page.text());
        again.put("threads", section("threads", "More threads"));
        let text = again.text();
        assert_eq!(text.matches("## Connections\n").count(), 1, "{text}");
        assert!(!text.contains("## Threads\n") && text.contains("## More threads\n"));
        assert!(text.contains("| More threads | 1 to 9 things |"), "{text}");
        // What was read and written again is the same.
        assert_eq!(GrowthPage::parse(&text).text(), text);
        // In the order of the axes, whichever was measured first.
        assert!(text.find("## Connections") < text.find("## More threads"));
    }

    #[test]
    fn a_file_that_is_not_there_has_no_sections() {
        assert!(
            GrowthPage::read(Path::new("/no/such/file"))
                .unwrap()
                .0
                .is_empty()
        );
        let error = GrowthPage::read(Path::new("/")).unwrap_err().to_string();
        assert!(error.contains("cannot read /"), "{error}");
        let error = GrowthPage::default().write(Path::new("/no/such/file"));
        assert!(error.unwrap_err().to_string().contains("cannot write"));
    }
}
