//! Changes of level beside those that a kept implementation of the same method finds
//! (`recorded/change_points.csv` says which, and has the script).

use pgdyno_stats::{ChangeOptions, change_points};

/// Runs with other random numbers, of nine: where fewer agree it depends on these whether a change counts.
const ALL: u32 = 9;

#[test]
fn changes_are_those_of_a_kept_implementation() {
    let text = include_str!("recorded/change_points.csv");
    let mut compared = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split(';').collect();
        let [name, answers, agreed, figures] = cells[..] else {
            panic!("{line}");
        };
        let answers: Vec<Vec<usize>> = answers
            .split('|')
            .map(|answer| {
                let places = answer.split(' ').filter(|place| *place != "-");
                places.map(|place| place.parse().unwrap()).collect()
            })
            .collect();
        let series: Vec<f64> = figures
            .split(' ')
            .map(|figure| figure.parse().unwrap())
            .collect();
        let found = change_points(&series, &ChangeOptions::default());
        let found: Vec<usize> = found.iter().map(|change| change.index).collect();
        match agreed.parse::<u32>().unwrap() {
            ALL => assert_eq!(found, answers[0], "{name}"),
            _ => assert!(
                answers.contains(&found),
                "{name}: {found:?}, of {answers:?}"
            ),
        }
        compared += 1;
    }
    assert_eq!(compared, 20);
}
