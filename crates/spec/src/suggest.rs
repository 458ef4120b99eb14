//! "Did you mean": the known word nearest to a mistyped one.

pub use pgdyno_script::suggest::{did_you_mean, nearest};

/// What serde says of a text, on one line; of a key that it does not know, with the one that may have been meant.
pub fn with_meant_field(says: &str) -> String {
    let says = says.trim_end().replace('\n', "; ");
    let parts = says
        .strip_prefix("unknown field `")
        .and_then(|rest| rest.split_once("`, expected"));
    let meant =
        parts.and_then(|(typed, known)| nearest(typed, known.split('`').skip(1).step_by(2)));
    match meant {
        Some(meant) => format!("{says}; did you mean `{meant}`?"),
        None => says,
    }
}
