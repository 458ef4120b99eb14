//! Takes out of pgbench's texts what differs from run to run, and no more: digits become `N`, a
//! digit each after the decimal point, so that `12.345` and `1.234` both read `N.NNN` and `1.23`
//! does not.

/// What of a text is compared.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mask {
    /// Counts too depend on time: of transactions, failures, retries.
    pub counts: bool,
    /// How often a line comes depends on time: of several equal ones in a row one counts.
    pub repeats: bool,
    /// In which order lines come depends on time.
    pub order: bool,
    /// The random seed is the program's own choice.
    pub seed: bool,
}

/// A text of standard output or standard error, masked.
pub fn text(text: &str, mask: Mask) -> String {
    let mut lines: Vec<String> = text
        .split_inclusive('\n')
        // pgdyno's own warning, which stock pgbench does not have.
        .filter(|line| !line.contains(" found no row where the workload has one"))
        .map(|masked| line(masked, mask))
        .collect();
    if mask.order {
        lines.sort();
    }
    if mask.repeats {
        lines.dedup();
    }
    lines.concat()
}

/// Starts of report lines, after the ` - ` of those about one script, in which all numbers are
/// times or follow from times.
const TIMES: [&str; 6] = [
    "latency average = ",
    "latency stddev = ",
    "rate limit schedule lag: ",
    "average connection time = ",
    "initial connection time = ",
    "tps = ",
];

/// Starts of report lines about counts; what is masked follows.
const COUNTS: [&str; 8] = [
    "number of transactions actually processed: ",
    "number of failed transactions: ",
    "number of serialization failures: ",
    "number of deadlock failures: ",
    "number of transactions retried: ",
    "total number of retries: ",
    "number of transactions skipped: ",
    "number of transactions above the ",
];

fn line(line: &str, mask: Mask) -> String {
    let rest = line.strip_prefix(" - ").unwrap_or(line);
    if TIMES.iter().any(|start| rest.starts_with(start)) {
        return numbers(line, |_| true);
    }
    if rest.starts_with("progress: ") {
        return numbers(line, |number| mask.counts || number.contains('.'));
    }
    if rest.starts_with("done in ") {
        return numbers(line, |number| number.contains('.'));
    }
    if mask.seed && line.contains("setting random seed to ") {
        return numbers(line, |_| true);
    }
    if let Some(row) = statement(line, mask) {
        return row;
    }
    let mut line = line.to_owned();
    for before_times in ["(tps = ", "(elapsed "] {
        line = after(&line, before_times, |_| true);
    }
    if line.contains("% of the maximum time of tries was used") {
        line = after(&line, "(try ", |number| number.contains('.'));
    }
    let rest = line.strip_prefix(" - ").unwrap_or(&line);
    if mask.counts {
        if COUNTS.iter().any(|start| rest.starts_with(start)) {
            // Not the limit in "above the 10.0 ms latency limit: 1/5 (20.000%)".
            line = after(&line, ": ", |_| true);
        } else if rest.ends_with("of total)\n") && rest.contains(" transactions (") {
            line = numbers(&line, |_| true);
        }
    }
    line
}

/// A row of the statements' latencies: `      0.123       0 SELECT 1;`. Numbers stand to the
/// right in fields that keep their widths.
fn statement(line: &str, mask: Mask) -> Option<String> {
    let first = line.strip_prefix("   ")?.trim_start().split(' ').next()?;
    let (whole, decimals) = first.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || decimals.len() != 3 {
        return None;
    }
    let mut masked = String::new();
    let mut rest = line;
    for field in 0.. {
        let spaces = rest.len() - rest.trim_start_matches(' ').len();
        let word = &rest[spaces..];
        let word = &word[..word.find(' ').unwrap_or(word.len())];
        // After the time come at most two counts; what follows is the statement.
        let is_count = field > 0 && field < 3 && spaces > 1 && digits(word);
        if field > 0 && !is_count {
            break;
        }
        let hidden = match (field, mask.counts) {
            (0, _) => "N.NNN",
            (_, true) => "N",
            (_, false) => word,
        };
        let width = spaces + word.len();
        masked.push_str(&format!("{hidden:>width$}"));
        rest = &rest[width..];
    }
    // pgbench cuts long statements at a byte, pgdyno at a character.
    Some(masked + &rest.replace("\u{fffd}\n", "\n"))
}

/// Masks numbers after the first `mark` alone.
fn after(line: &str, mark: &str, which: impl Fn(&str) -> bool) -> String {
    match line.find(mark) {
        None => line.to_owned(),
        Some(at) => {
            let (kept, masked) = line.split_at(at);
            kept.to_owned() + &numbers(masked, which)
        }
    }
}

/// Masks the numbers that `which` chooses.
fn numbers(text: &str, which: impl Fn(&str) -> bool) -> String {
    // Rounding makes the variance of nearly equal latencies negative now and then.
    let text = text.replace("stddev NaN", "stddev 0.000");
    let text = text.replace("stddev = NaN", "stddev = 0.000");
    let mut masked = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        masked.push_str(&rest[..at]);
        rest = &rest[at..];
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let mut length = digits(rest);
        let decimals = rest[length..].strip_prefix('.').map_or(0, digits);
        if decimals > 0 {
            length += 1 + decimals;
        }
        let (number, following) = rest.split_at(length);
        if !which(number) {
            masked.push_str(number);
        } else if decimals > 0 {
            masked.push_str("N.");
            masked.push_str(&"N".repeat(decimals));
        } else {
            masked.push('N');
        }
        rest = following;
    }
    masked + rest
}

/// What a log of transactions holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// A line a transaction, with a column for the schedule lag or without.
    Transactions {
        /// Whether the column is there.
        lag: bool,
    },
    Intervals,
}

/// A log: columns that hold times are masked, and which of several clients comes first.
pub fn log(text: &str, log: Log) -> String {
    let mut rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    let number = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    match log {
        Log::Transactions { lag } => {
            for row in &mut rows {
                for at in [2, 4, 5].into_iter().chain(lag.then_some(6)) {
                    if row.get(at).is_some_and(|word| number(word)) {
                        row[at] = "N";
                    }
                }
            }
            rows.sort();
        }
        Log::Intervals => {
            // Counts hang on times. A column of zeros says that nothing of its kind happened; but
            // not where latencies stand: stock pgbench, which looks at the clock as rarely as it
            // can, finds one of 0 us now and then.
            for at in 0..rows.iter().map(Vec::len).max().unwrap_or(0) {
                let used = |row: &Vec<&str>| row.get(at).is_some_and(|w| number(w) && *w != "0");
                if at < 6 || rows.iter().any(used) {
                    for row in rows.iter_mut().filter(|row| row.len() > at) {
                        row[at] = "N";
                    }
                }
            }
            rows.dedup();
        }
    }
    rows.iter().map(|row| row.join(" ") + "\n").collect()
}

#[test]
fn a_mask_hides_digits_and_keeps_their_form() {
    let times = |line| text(line, Mask::default());
    for (line, masked) in [
        ("latency average = 12.345 ms", "latency average = N.NNN ms"),
        ("latency stddev = NaN ms", "latency stddev = N.NNN ms"),
        ("scaling factor: 10", "scaling factor: 10"),
        (
            "progress: 1.0 s, 67.4 tps, lat 1.2 ms stddev 0.1, 89 failed",
            "progress: N.N s, N.N tps, lat N.N ms stddev N.N, 89 failed",
        ),
        (
            "number of transactions actually processed: 5/5",
            "number of transactions actually processed: 5/5",
        ),
        (
            " - number of transactions actually processed: 5 (tps = 1.23)",
            " - number of transactions actually processed: 5 (tps = N.NN)",
        ),
        (
            "         0.123           0 SELECT 1.5;",
            "         N.NNN           0 SELECT 1.5;",
        ),
        (
            "       123.456           0          7 1 2;",
            "         N.NNN           0          7 1 2;",
        ),
    ] {
        assert_eq!(times(line), masked);
    }
    let counts = Mask {
        counts: true,
        repeats: true,
        ..Mask::default()
    };
    for (line, masked) in [
        (
            "number of transactions above the 10.0 ms latency limit: 1/5 (20.000%)",
            "number of transactions above the 10.0 ms latency limit: N/N (N.NNN%)",
        ),
        (
            " - 51 transactions (10.0% of total)\n - 5 transactions (9.9% of total)\n",
            " - N transactions (N.N% of total)\n",
        ),
        (
            "       123.456          12          7 1 2;",
            "         N.NNN           N          N 1 2;",
        ),
    ] {
        assert_eq!(text(line, counts), masked);
    }
}

#[test]
fn a_log_keeps_what_does_not_depend_on_time() {
    let transactions = Log::Transactions { lag: false };
    assert_eq!(
        log("1 0 failed 0 17 18 2\n0 3 99 1 17 18 2\n", transactions),
        "0 3 N 1 N N 2\n1 0 failed 0 N N 2\n"
    );
    assert_eq!(
        log("0 1 99 0 1 2 3 4\n", Log::Transactions { lag: true }),
        "0 1 N 0 N N N 4\n"
    );
    assert_eq!(
        log("17 0 0 0 0 0 0 0 1\n18 6 5 4 3 2 0 1 0\n", Log::Intervals),
        "N N N N N N 0 N N\n"
    );
}
