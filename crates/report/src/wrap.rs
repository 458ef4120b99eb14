//! Text in lines that are no longer than a terminal.

/// No line is longer.
const WIDTH: usize = 80;

/// A word at the left, and text beside it that goes on in the next lines.
pub fn wrapped(word: &str, text: &str, indent: usize) -> String {
    let mut lines = String::new();
    let mut line = format!("{word:<indent$}");
    let mut is_empty = true;
    // A space that does not break keeps a figure and its unit together.
    for next in text.split(' ') {
        let length = line.chars().count() + next.chars().count() + usize::from(!is_empty);
        if length > WIDTH && !is_empty {
            lines += line.trim_end();
            lines.push('\n');
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line += next;
        is_empty = false;
    }
    lines + line.trim_end() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_before_the_word_that_does_not_fit() {
        let text = wrapped("try", &"words ".repeat(20), 12);
        assert!(
            text.lines().count() == 2 && text.lines().all(|line| line.chars().count() <= WIDTH)
        );
        assert!(text.starts_with("try         words") && text.contains("\n            words"));
        // What cannot be broken is not.
        let long = "x".repeat(100);
        assert_eq!(wrapped("", &long, 0), format!("{long}\n"));
    }
}
