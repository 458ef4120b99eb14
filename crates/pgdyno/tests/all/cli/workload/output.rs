//! A reader of what `workload run` prints, such as people have for cockroach's.

use std::collections::BTreeMap;

/// A row of a tick.
#[derive(Debug)]
pub struct Tick {
    pub elapsed: String,
    pub errors: u64,
    pub inst: f64,
    pub cum: f64,
    pub latencies_ms: [f64; 4],
    pub operation: String,
}

/// A row of the totals.
#[derive(Debug)]
pub struct Total {
    pub elapsed_s: f64,
    pub errors: u64,
    pub count: u64,
    pub cum: f64,
    /// Mean, p50, p95, p99, maximum.
    pub latencies_ms: [f64; 5],
}

#[derive(Debug, Default)]
pub struct Output {
    pub ticks: Vec<Tick>,
    /// How many rows stood before each header of ticks.
    pub headers_at: Vec<usize>,
    pub totals: BTreeMap<String, Total>,
    pub result: Option<Total>,
}

const TICKS: &str =
    "_elapsed___errors__ops/sec(inst)___ops/sec(cum)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)";
const TOTALS: &str = "_elapsed___errors_____ops(total)___ops/sec(cum)__avg(ms)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)__";

/// Reads it, column by column where they stand.
pub fn read(text: &str) -> Output {
    let mut output = Output::default();
    let mut section = "";
    for line in text.lines() {
        if line == TICKS {
            output.headers_at.push(output.ticks.len());
            section = "tick";
        } else if let Some(which) = line.strip_prefix(TOTALS) {
            section = which;
        } else if line.is_empty() {
            section = "";
        } else {
            match section {
                "tick" => output.ticks.push(tick(line)),
                "total" => {
                    let (name, total) = total(line);
                    assert!(output.totals.insert(name, total).is_none(), "{line}");
                }
                "result" => {
                    let (name, total) = total(line);
                    assert!(
                        name.is_empty() && output.result.replace(total).is_none(),
                        "{line}"
                    );
                }
                _ => panic!("what is {line:?}?"),
            }
        }
    }
    output
}

/// Cuts a line at these widths; what follows is the last piece.
fn columns<'a>(line: &'a str, widths: &[usize]) -> Vec<&'a str> {
    let mut rest = line;
    let mut columns = Vec::new();
    for width in widths {
        assert!(rest.len() >= *width, "{line}");
        let (column, after) = rest.split_at(*width);
        columns.push(column);
        rest = after;
    }
    columns.push(rest);
    columns
}

fn number<T: std::str::FromStr>(column: &str) -> T {
    let number = column.trim_start().parse();
    number.unwrap_or_else(|_| panic!("no number: {column:?}"))
}

fn tick(line: &str) -> Tick {
    let columns = columns(line, &[8, 9, 15, 15, 9, 9, 9, 9]);
    let latencies_ms = [4, 5, 6, 7].map(|at: usize| number(columns[at]));
    Tick {
        elapsed: columns[0].trim_start().to_owned(),
        errors: number(columns[1]),
        inst: number(columns[2]),
        cum: number(columns[3]),
        latencies_ms,
        operation: columns[8].strip_prefix(' ').unwrap().to_owned(),
    }
}

fn total(line: &str) -> (String, Total) {
    let columns = columns(line, &[8, 9, 15, 15, 9, 9, 9, 9, 9]);
    let latencies_ms = [4, 5, 6, 7, 8].map(|at: usize| number(columns[at]));
    let total = Total {
        elapsed_s: number(columns[0].strip_suffix('s').unwrap()),
        errors: number(columns[1]),
        count: number(columns[2]),
        cum: number(columns[3]),
        latencies_ms,
    };
    (columns[9].strip_prefix("  ").unwrap().to_owned(), total)
}

impl Output {
    /// What each operation's ticks add up to, a second each.
    fn sum(&self, operation: &str) -> f64 {
        let rows = self.ticks.iter().filter(|tick| tick.operation == operation);
        rows.map(|tick| tick.inst).sum()
    }

    /// Ticks, totals and the result must agree with each other; `slack` is the share by which ticks
    /// may miss the totals: what was done after the last of them, and ticks that are not quite a
    /// second long.
    #[track_caller]
    pub fn must_agree(&self, slack: f64) {
        let result = self.result.as_ref().expect("a result");
        let mut names: Vec<&String> = self.ticks.iter().map(|tick| &tick.operation).collect();
        names.sort();
        names.dedup();
        assert!(names.into_iter().eq(self.totals.keys()), "{self:#?}");
        for (name, total) in &self.totals {
            let sum = self.sum(name);
            let count = total.count as f64;
            assert!(
                (sum - count).abs() <= count * slack + 2.0,
                "{name}: {sum} {count}"
            );
            // The elapsed time is printed to a tenth of a second.
            let rate = count / total.elapsed_s;
            assert!(
                (total.cum - rate).abs() <= rate * 0.06 + 0.1,
                "{name}: {rate}"
            );
            let [mean, p50, p95, p99, max] = total.latencies_ms;
            assert!(
                p50 <= p95 && p95 <= p99 && p99 <= max && mean <= max,
                "{name}"
            );
            assert_eq!(total.errors, result.errors);
        }
        for tick in &self.ticks {
            let [p50, p95, p99, max] = tick.latencies_ms;
            assert!(p50 <= p95 && p95 <= p99 && p99 <= max, "{tick:?}");
            assert!(tick.cum > 0.0 && tick.errors <= result.errors, "{tick:?}");
        }
        let counts = self.totals.values().map(|total| total.count);
        assert_eq!(counts.sum::<u64>(), result.count);
        let worst = |total: &Total| total.latencies_ms[4];
        let max = self.totals.values().map(worst).fold(0.0, f64::max);
        assert_eq!(max, worst(result));
    }
}
