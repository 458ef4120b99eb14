//! "Did you mean": the known word nearest to a mistyped one.

/// The nearest of `known`, if it is near enough to be what was meant: at most a third of its
/// letters differ (insertions, deletions, replacements: Levenshtein's distance).
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = known.into_iter().map(|word| (distance(typed, word), word));
    let (distance, word) = near.min_by_key(|(distance, _)| *distance)?;
    (distance <= word.len().max(typed.len()).div_ceil(3)).then_some(word)
}

fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_word_is_recognised_and_a_strange_one_is_not() {
        let known = ["clients", "threads", "rate"];
        assert_eq!(nearest("cleints", known), Some("clients"));
        assert_eq!(nearest("thread", known), Some("threads"));
        assert_eq!(nearest("isolation", known), None);
        assert_eq!(nearest("x", []), None);
    }
}
