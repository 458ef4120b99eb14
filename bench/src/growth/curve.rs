//! A small drawing of costs over steps, both on logarithmic axes, in letters: a straight line is a power, and a
//! line along the dots is linear growth.

const COLUMNS: usize = 52;
const ROWS: usize = 13;

/// One line of the drawing: its mark, and its points (step, cost), all above zero.
pub struct Line {
    /// What it is drawn with.
    pub mark: char,
    /// By step.
    pub points: Vec<(f64, f64)>,
}

/// Draws them; `first` is drawn over the others, and linear growth from its last point backwards in dots.
/// Nothing where there are fewer than two points.
pub fn draw(first: &Line, others: &[Line], scale: impl Fn(f64) -> String) -> String {
    let all = || others.iter().chain([first]).flat_map(|line| &line.points);
    if first.points.len() < 2 || all().any(|(x, y)| *x <= 0.0 || *y <= 0.0) {
        return String::new();
    }
    let (left, right) = range(all().map(|(x, _)| *x));
    let (low, high) = range(all().map(|(_, y)| *y));
    if left >= right {
        return String::new();
    }
    // Of equal costs the line lies in the middle.
    let (low, high) = if low < high {
        (low, high)
    } else {
        (low / 2.0, high * 2.0)
    };
    let column = |x: f64| place(x, left, right, COLUMNS);
    let row = |y: f64| ROWS - 1 - place(y, low, high, ROWS);
    let mut cells = vec![vec![' '; COLUMNS]; ROWS];
    if let Some((x_last, y_last)) = first.points.last() {
        let linear = (0..COLUMNS).filter_map(|at| {
            let share = at as f64 / (COLUMNS - 1) as f64;
            let y = y_last * left * (right / left).powf(share) / x_last;
            (low..=high).contains(&y).then(|| (row(y), at))
        });
        for (row, at) in linear {
            cells[row][at] = '·';
        }
    }
    for line in others.iter().chain([first]) {
        for (x, y) in &line.points {
            cells[row(*y)][column(*x)] = line.mark;
        }
    }
    let labels = [scale(high), scale(low)];
    let width = labels.iter().map(|label| label.chars().count()).max();
    let width = width.unwrap_or(0);
    let mut text = String::new();
    for (at, cells) in cells.iter().enumerate() {
        let label = match at {
            0 => labels[0].as_str(),
            at if at == ROWS - 1 => labels[1].as_str(),
            _ => "",
        };
        let line: String = cells.iter().collect();
        let line = format!("{label:>width$} |{line}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let (from, to) = (left.to_string(), right.to_string());
    let gap = COLUMNS.saturating_sub(from.len() + to.len());
    text.push_str(&format!("{:width$}  {from}{:gap$}{to}\n", "", ""));
    text
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}

fn place(value: f64, low: f64, high: f64, count: usize) -> usize {
    let share = (value / low).ln() / (high / low).ln();
    (share * (count - 1) as f64)
        .round()
        .clamp(0.0, (count - 1) as f64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(mark: char, points: &[(f64, f64)]) -> Line {
        let points = points.to_vec();
        Line { mark, points }
    }

    #[test]
    fn a_linear_line_covers_its_dots_and_corners() {
        let ours = line('o', &[(1.0, 1.0), (10.0, 10.0), (100.0, 100.0)]);
        let text = draw(&ours, &[], |y| y.to_string());
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(rows.len(), ROWS + 1);
        assert!(
            rows[0].starts_with("100 |") && rows[0].ends_with('o'),
            "{text}"
        );
        assert!(rows[ROWS - 1].starts_with("  1 |o"), "{text}");
        assert!(rows[ROWS].trim_start().starts_with("1 ") && rows[ROWS].ends_with("100"));
        assert_eq!(text.matches('o').count(), 3);
    }

    #[test]
    fn another_line_lies_below_the_first() {
        let ours = line('o', &[(1.0, 2.0), (10.0, 20.0)]);
        let theirs = line('x', &[(1.0, 2.0), (10.0, 200.0)]);
        let text = draw(&ours, &[theirs], |y| y.to_string());
        assert_eq!(
            (text.matches('o').count(), text.matches('x').count()),
            (2, 1)
        );
    }

    #[test]
    fn equal_costs_are_drawn_and_what_has_no_logarithm_is_not() {
        let flat = line('o', &[(1.0, 5.0), (10.0, 5.0)]);
        assert_eq!(draw(&flat, &[], |y| y.to_string()).matches('o').count(), 2);
        for none in [vec![], vec![(1.0, 1.0)], vec![(1.0, 0.0), (2.0, 1.0)]] {
            assert_eq!(draw(&line('o', &none), &[], |y| y.to_string()), "");
        }
    }
}
