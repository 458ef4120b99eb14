//! Output without its figures, so that two runs can be compared line by line.

/// What the width of a column means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    /// Nothing: it follows from the figures in it. A run of spaces is one space, a ruled line one dash,
    /// and blank lines are left out.
    Free,
    /// It is the tool's, and compared: a number becomes one `N` at its right end.
    Fixed,
    /// Figures are compared too: there are none that depend on time.
    Figures,
}

/// Of how many lines at most what is repeated may consist.
const REPEATED_LINES_MAX: usize = 4;

/// Days and months, which are figures of a date.
const DATES: [&str; 19] = [
    "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "Jan", "Feb", "Mar", "Apr", "May", "Jun",
    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// The text with each number as `N`. Lines that come again at once, alone or several together, are left
/// once, since how often they come depends on time.
pub fn shape(text: &str, columns: Columns) -> String {
    if columns == Columns::Figures {
        return text.to_owned();
    }
    let mut lines: Vec<String> = Vec::new();
    let is_compared = |line: &&str| columns == Columns::Fixed || !line.trim().is_empty();
    for line in text.lines().filter(is_compared) {
        lines.push(masked(line, columns));
        let is_again = |count: &usize| {
            let (rest, last) = lines.split_at(lines.len().saturating_sub(*count));
            rest.ends_with(last)
        };
        if let Some(count) = (1..=REPEATED_LINES_MAX).find(is_again) {
            lines.truncate(lines.len() - count);
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn masked(line: &str, columns: Columns) -> String {
    let mut masked = String::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let is_in_word = masked.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let end = rest.find(|c: char| !c.is_ascii_digit() && !".,:#".contains(c));
        let number = rest[..end.unwrap_or(rest.len())].trim_end_matches(['.', ',', ':']);
        // cockroach's letter before a number of its sequence is no name.
        let is_in_word = is_in_word && !masked.ends_with("--write-seq=R");
        // Digits within a name are part of it: pgio1, p99(ms), 99thPercentileLatency.
        let is_name = is_in_word || rest[number.len()..].starts_with("th");
        // Of to_char(): none before the point, or too many for the field.
        let is_number = c.is_ascii_digit() || number.starts_with("##") || number.starts_with(".0");
        if is_number && !is_name {
            // Its column is wider than it; a number in a sentence has no column.
            if columns == Columns::Fixed && masked.ends_with("  ") {
                masked.push_str(&" ".repeat(number.len() - 1));
            }
            masked.push('N');
            rest = &rest[number.len()..];
            continue;
        }
        let is_repeated = columns == Columns::Free && masked.ends_with(c) && " -".contains(c);
        if !is_repeated {
            masked.push(c);
        }
        rest = &rest[c.len_utf8()..];
    }
    let words = masked.trim_end().split(' ');
    let words = words.map(|word| if DATES.contains(&word) { "N" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_shape_has_no_figures_and_keeps_names_and_columns() {
    for (columns, text, wanted) in [
        (
            Columns::Fixed,
            "   20.0s        0          42872         2143.5  read\n",
            "      Ns        N              N              N  read\n",
        ),
        (
            Columns::Fixed,
            "    9.0s        0            872            3.5  read\n",
            "      Ns        N              N              N  read\n",
        ),
        (
            Columns::Free,
            "pgio1: 16384 rows each, loaded in 0.3 s\n-----+----\n  17 |   4\n 180 | 400\n",
            "pgio1: N rows each, loaded in N s\n-+-\n N | N\n",
        ),
        (
            Columns::Fixed,
            "Highest sequence written: 1874. Can be passed as --write-seq=R1874 to the next run.\n",
            "Highest sequence written: N. Can be passed as --write-seq=RN to the next run.\n",
        ),
        (
            Columns::Free,
            "Date: Sun Nov 22 23:54:49 UTC 2026\n",
            "Date: N N N N UTC N\n",
        ),
        (
            Columns::Free,
            "Elapsed: 1 seconds.\n",
            "Elapsed: N seconds.\n",
        ),
    ] {
        assert_eq!(shape(text, columns), wanted);
    }
}
