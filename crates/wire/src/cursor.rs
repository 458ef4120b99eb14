//! Where in a statement an error lies, as libpq shows it: the line, cut to fit a screen, and a
//! caret below the place.

/// Screen columns that the line may take.
const DISPLAY_COLUMNS: usize = 60;
/// Columns to keep to the right of the place.
const MIN_RIGHT_COLUMNS: usize = 10;

/// A line of a text and the place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The line's number in the text, from 1.
    pub line: usize,
    /// The line, or the part of it around the place.
    pub text: String,
    /// Screen columns of it before the place.
    pub columns: usize,
}

/// `LINE n: …` and the caret's line, or `None` if `position` (characters from 1) lies outside.
pub(crate) fn show(statement: &str, position: usize) -> Option<String> {
    let Excerpt {
        line,
        text,
        columns,
    } = excerpt(statement, position)?;
    let head = format!("LINE {line}: ");
    let indent = head.len() + columns;
    Some(format!("{head}{text}\n{:indent$}^", ""))
}

/// The line of a text where `position` lies (characters from 1), or `None` if it lies outside.
pub fn excerpt(statement: &str, position: usize) -> Option<Excerpt> {
    let place = position.checked_sub(1)?;
    let chars: Vec<char> = statement.chars().collect();
    if place > chars.len() {
        return None;
    }
    // "\r\n" ends one line, and either alone ends one too.
    let mut number = 1;
    let mut begin = 0;
    for at in 0..place {
        if matches!(chars[at], '\r' | '\n') {
            if chars[at] == '\r' || at == 0 || chars[at - 1] != '\r' {
                number += 1;
            }
            begin = at + 1;
        }
    }
    let rest = &chars[place..];
    let mut end = place
        + rest
            .iter()
            .position(|c| matches!(c, '\r' | '\n'))
            .unwrap_or(rest.len());
    let width = |from: usize, to: usize| chars[from..to].iter().map(|&c| columns(c)).sum::<usize>();
    let (mut cut_left, mut cut_right) = (false, false);
    if width(begin, end) > DISPLAY_COLUMNS {
        if width(begin, place) + MIN_RIGHT_COLUMNS <= DISPLAY_COLUMNS {
            while width(begin, end) > DISPLAY_COLUMNS {
                end -= 1;
            }
            cut_right = true;
        } else {
            while width(place, end) > MIN_RIGHT_COLUMNS {
                end -= 1;
                cut_right = true;
            }
            while width(begin, end) > DISPLAY_COLUMNS {
                begin += 1;
                cut_left = true;
            }
        }
    }
    let mut text = String::from(if cut_left { "..." } else { "" });
    let before = text.len() + width(begin, place);
    text.extend(
        chars[begin..end]
            .iter()
            .map(|&c| if c == '\t' { ' ' } else { c }),
    );
    text.push_str(if cut_right { "..." } else { "" });
    Some(Excerpt {
        line: number,
        text,
        columns: before,
    })
}

/// Columns of one character: two for East Asian wide ones and pictographs, one for all others.
fn columns(c: char) -> usize {
    match u32::from(c) {
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f900..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_marks_the_place_on_its_line() {
        assert_eq!(
            show("SELECT x", 8).unwrap(),
            "LINE 1: SELECT x\n               ^"
        );
        assert_eq!(
            show("SELECT\r\n\tx\nFROM y", 10).unwrap(),
            "LINE 2:  x\n         ^"
        );
        assert_eq!(
            show("SELECT", 7).unwrap(),
            "LINE 1: SELECT\n              ^"
        );
        assert_eq!(show("SELECT", 8), None);
        assert_eq!(show("SELECT", 0), None);
        assert_eq!(show("漢 x", 3).unwrap(), "LINE 1: 漢 x\n           ^");
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let statement = "a".repeat(200);
        let left = show(&statement, 1).unwrap();
        assert_eq!(left, format!("LINE 1: {}...\n        ^", "a".repeat(60)));
        let middle = show(&statement, 101).unwrap();
        assert_eq!(
            middle,
            format!("LINE 1: ...{}...\n{}^", "a".repeat(60), " ".repeat(11 + 50))
        );
        let right = show(&statement, 200).unwrap();
        assert_eq!(
            right,
            format!("LINE 1: ...{}\n{}^", "a".repeat(60), " ".repeat(11 + 59))
        );
    }
}
