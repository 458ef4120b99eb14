//! What an earlier `RESULTS.md` has of rows that were not measured now: it stays.

use crate::rows::ROWS;

/// A table's lines, without its header.
pub type Lines = Vec<Vec<String>>;

/// An earlier page; empty where there is none.
pub struct EarlierPage<'a> {
    text: String,
    /// Names of rows that are measured now.
    measured: Vec<&'a str>,
}

impl<'a> EarlierPage<'a> {
    /// What `text` has, but for the rows that are measured now.
    pub fn of(text: String, measured: Vec<&'a str>) -> Self {
        Self { text, measured }
    }

    /// Adds the lines of other rows to a table's, in the order of [`ROWS`]. The table is the first one below the heading
    /// `## title`, or of the page where there is no title.
    pub fn join(&self, title: Option<&str>, table: &mut Lines) {
        let Some((header, lines)) = table.split_first() else {
            return;
        };
        let kept = self.lines(title, header.len()).into_iter();
        let kept = kept.filter(|line| !self.measured.contains(&line[0].as_str()));
        let place = |line: &Vec<String>| ROWS.iter().position(|row| row.name == line[0]);
        let mut lines: Lines = kept.chain(lines.to_vec()).collect();
        // A row that there is no more is not kept.
        lines.retain(|line| place(line).is_some());
        lines.sort_by_key(place);
        table.truncate(1);
        table.extend(lines);
    }

    /// The lines of a table, each with so many cells: a column that is new says nothing of them.
    fn lines(&self, title: Option<&str>, columns: usize) -> Lines {
        let heading = title.map(|title| format!("## {title}"));
        let mut lines = self.text.lines();
        if let Some(heading) = heading {
            lines.by_ref().find(|line| *line == heading);
        }
        let table = lines
            .skip_while(|line| !line.starts_with('|'))
            .take_while(|line| line.starts_with('|'));
        // Behind the header and what separates it.
        let cells = table.skip(2).map(|line| {
            let cells = line.trim_matches('|').split('|');
            let mut cells: Vec<String> = cells.map(|cell| cell.trim().to_owned()).collect();
            cells.resize(columns, "–".to_owned());
            cells
        });
        cells.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn rows_that_were_not_measured_stay_in_their_place() {
        let [first, second, third, ..] = ROWS else {
            panic!("too few rows");
        };
        let text = format!(
            "# page\n\n| row | a |\n|---|---|\n| {} | 1 |\n| {} | 2 |\n| no more | 3 |\n\n## More\n\n\
             | row | b |\n|---|---|\n| {} | 4 |\n",
            first.name, third.name, second.name
        );
        let kept = EarlierPage::of(text, vec![third.name]);
        let header = line(&["row", "a", "new"]);
        let mut table = vec![header.clone(), line(&[third.name, "9", "9"])];
        kept.join(None, &mut table);
        let expected = [
            header,
            line(&[first.name, "1", "–"]),
            line(&[third.name, "9", "9"]),
        ];
        assert_eq!(table, expected);

        let mut more = vec![line(&["row", "b"]), line(&[third.name, "8"])];
        kept.join(Some("More"), &mut more);
        assert_eq!(
            more[1..],
            [line(&[second.name, "4"]), line(&[third.name, "8"])]
        );
        let mut none = vec![line(&["row", "c"]), line(&[third.name, "7"])];
        kept.join(Some("Not there"), &mut none);
        assert_eq!(none[1..], [line(&[third.name, "7"])]);
    }
}
