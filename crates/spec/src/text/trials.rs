//! Numbers of trials in sentences.

/// `trial 3`, `trials 3 to 8`, `trials 3, 5 to 7 and 9`. Numbers are ascending.
pub fn trials(numbers: &[i64]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let runs: Vec<String> = runs
        .flat_map(|run| match run {
            [first, .., last] if run.len() > 2 => vec![format!("{first} to {last}")],
            few => few.iter().map(i64::to_string).collect(),
        })
        .collect();
    let word = match numbers.len() {
        1 => "trial",
        _ => "trials",
    };
    match runs.split_last() {
        Some((only, [])) => format!("{word} {only}"),
        Some((last, others)) => format!("{word} {} and {last}", others.join(", ")),
        None => "no trials".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::trials;

    #[test]
    fn numbers_that_follow_each_other_are_a_range() {
        assert_eq!(trials(&[3]), "trial 3");
        assert_eq!(trials(&[3, 4]), "trials 3 and 4");
        assert_eq!(trials(&[3, 4, 5]), "trials 3 to 5");
        assert_eq!(trials(&[3, 5, 6, 7, 9]), "trials 3, 5 to 7 and 9");
    }
}
