//! "Did you mean": the known word nearest to a mistyped one.

/// The nearest of `known`, if it is near enough to be what was meant: at most a third of its
/// letters differ (insertions, deletions, replacements: Levenshtein's distance).
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Letters that were only mixed up are one mistake.
    let near = known.into_iter().map(|word| {
        if same(typed, word) {
            (distance(typed, word).min(1), false, word)
        } else {
            (distance(typed, word), true, word)
        }
    });
    let (distance, _, word) = near.min_by_key(|(distance, differs, _)| (*distance, *differs))?;
    let length = word.len().max(typed.len());
    // A letter alone is not like any other.
    (distance <= length.div_ceil(3) && distance < length).then_some(word)
}

/// The word of `known` that `typed` leaves letters out of, fewest before its last one: `rnd` for `random`.
pub fn abbreviated<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let left_out = |word: &str| {
        let mut letters = word.chars();
        let has_all = typed.chars().all(|c| letters.any(|letter| letter == c));
        let begins_so = typed.len() > 1 && typed.get(..1) == word.get(..1);
        let rest = letters.count();
        (has_all && begins_so).then(|| (word.len() - rest, word.len()))
    };
    let found = known
        .into_iter()
        .filter_map(|word| Some((left_out(word)?, word)));
    found
        .min_by_key(|(left_out, _)| *left_out)
        .map(|(_, word)| word)
}

fn same(a: &str, b: &str) -> bool {
    let [mut a, mut b]: [Vec<char>; 2] = [a, b].map(|word| word.chars().collect());
    a.sort_unstable();
    b.sort_unstable();
    a == b
}

/// "did you mean NAME? ", or nothing: what goes before a list of all names.
pub fn did_you_mean<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(typed, known).map_or_else(String::new, |meant| format!("did you mean {meant}? "))
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
        assert_eq!(nearest("tbcp", ["tatp", "tpcb"]), Some("tpcb"));
        assert_eq!(nearest("tpbc", ["tpcc", "tpcb"]), Some("tpcb"));
        let known = ["random_zipfian", "random", "round"];
        assert_eq!(abbreviated("rnd", known), Some("random"));
        assert_eq!(abbreviated("rndz", known), Some("random_zipfian"));
        assert_eq!(abbreviated("dom", known), None);
    }
}
