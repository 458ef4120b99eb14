//! Quantities as people read them: the one place where counts, bytes, times, rates and shares become
//! text; and the text of others in a form that only shows (`shown.rs`).
//!
//! | What | Convention |
//! | --- | --- |
//! | counts | all digits, thousands apart: `1,234,567` |
//! | bytes, bytes/s | PostgreSQL's: 1 kB is 1,024 bytes; three digits: `128 MB`, `7.92 MB/s` |
//! | times | three digits, the unit by the size: `82 µs`, `1.18 s`; in a column one unit |
//! | rates | a decimal in tables: `1,234.5`; three digits in sentences: `12.3/s` |
//! | shares | never rounded up to 100 % or down to 0 %: `99.998 %`, `< 0.001 %` |
//!
//! The report's page has the same in `web/src/pure/format.ts`. `text/cases.json` is a table of what
//! both write: the unit tests of either side read it. The page alone has no-break spaces and a true
//! minus.
//!
//! Not here: units of series, which are names (`bytes/s`); what other tools' commands print
//! (pgbench, `workload`, pgio), which is theirs to the letter; JSON, the notebook and metrics, which
//! have plain numbers.

mod number;
mod share;
mod shown;
mod size;
mod time;
mod trials;

pub use number::{
    count, fixed, per_second, plural, quantity, quantity_of, rate, significant, some,
};
pub use share::{change, percent, percentile_name, roughly, share};
pub use shown::{LINE_CHARS_MAX, LINES_MAX, message, shown};
pub use size::{bytes, bytes_per_s};
pub use time::{
    PERCENTILES, about, as_typed, asked, decimal_seconds, ms, ms_as_shown, ms_precisely,
    ms_shortly, seconds, time,
};

/// In place of what is not known.
pub const DASH: &str = "–";
/// Behind a percentile that is of its run only ([`crate::document::Interval`]).
pub const UNCERTAIN: char = '~';

pub use trials::trials;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::time::Duration;

    /// What the report's page writes too.
    #[test]
    fn the_terminal_writes_what_the_page_writes() {
        let cases: Vec<Value> = serde_json::from_str(include_str!("text/cases.json")).unwrap();
        assert!(cases.len() > 50);
        for case in cases {
            let value = case["value"].as_f64().unwrap();
            let shown = match case["kind"].as_str().unwrap() {
                "count" => count(value as u64),
                "significant" => significant(value, 3),
                "bytes" => bytes(value),
                "bytes/s" => bytes_per_s(value),
                "time_us" => time(value),
                "asked_us" => asked(Duration::from_micros(value as u64)),
                "seconds" => seconds(value),
                "share" => share(value),
                "change" => change(value),
                "percentile" => percentile_name(value),
                other => panic!("{other} is not known here"),
            };
            assert_eq!(shown, case["text"], "{case}");
        }
    }
}
