//! Two texts side by side, for people.

/// The lines that differ, `-` for the first text, `+` for the second, with a line of what is
/// equal around them; empty when the texts are equal.
pub fn lines(theirs: &str, ours: &str) -> Vec<String> {
    if theirs == ours {
        return Vec::new();
    }
    let theirs: Vec<&str> = theirs.split_inclusive('\n').collect();
    let ours: Vec<&str> = ours.split_inclusive('\n').collect();
    let all = aligned(&theirs, &ours);
    let near = |at: usize| {
        let from = at.saturating_sub(1);
        all[from..all.len().min(at + 2)].iter().any(|l| l.0 != ' ')
    };
    let shown = (0..all.len()).filter(|at| near(*at));
    shown
        .map(|at| {
            let (side, line) = all[at];
            // As it is, but for what a terminal hides: a missing line end, a space at the end.
            let text = match line.strip_suffix('\n') {
                Some(text) if text.trim_end() == text => text.replace('\r', "\\r"),
                _ => format!("{line:?}"),
            };
            format!("{side} {text}")
        })
        .collect()
}

/// The longest common subsequence of both, and what is in only one of them.
fn aligned<'a>(theirs: &[&'a str], ours: &[&'a str]) -> Vec<(char, &'a str)> {
    let mut longest = vec![vec![0_usize; ours.len() + 1]; theirs.len() + 1];
    for (i, their) in theirs.iter().enumerate().rev() {
        for (j, our) in ours.iter().enumerate().rev() {
            longest[i][j] = if their == our {
                longest[i + 1][j + 1] + 1
            } else {
                longest[i + 1][j].max(longest[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut all) = (0, 0, Vec::new());
    while i < theirs.len() || j < ours.len() {
        if i < theirs.len() && j < ours.len() && theirs[i] == ours[j] {
            all.push((' ', theirs[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == ours.len() || (i < theirs.len() && longest[i + 1][j] >= longest[i][j + 1]) {
            all.push(('-', theirs[i]));
            i += 1;
        } else {
            all.push(('+', ours[j]));
            j += 1;
        }
    }
    all
}

#[test]
fn a_diff_shows_what_differs() {
    assert!(lines("a\nb\n", "a\nb\n").is_empty());
    assert_eq!(
        lines("a\nb\nc\nd\ne\n", "a\nb\nx\nd\ne"),
        ["  b", "- c", "+ x", "  d", "- e", "+ \"e\""]
    );
}
