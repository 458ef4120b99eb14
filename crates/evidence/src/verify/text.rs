//! What `pgdyno verify` prints.

use std::fmt::Write;

use pgdyno_spec::text::{count, plural};

use super::{Kind, Verified};

/// So many disagreements are listed; `--json` has all.
const LISTED_MAX: usize = 40;

pub fn text(found: &Verified) -> String {
    let what = match found.kind {
        Kind::Bundle => "bundle",
        Kind::Notebook => "notebook",
        Kind::Page => "page",
    };
    let made_by = found.made_by.as_ref();
    let made_by = made_by.map_or_else(String::new, |version| format!(", made by pgdyno {version}"));
    let mut text = format!(
        "{}: a {what} of {}{made_by}\nSHA-256  {}\n\n",
        found.file,
        plural(found.trials as u64, "trial"),
        found.sha256
    );
    let checked = &found.checked;
    let lines = [
        (
            checked.recomputed,
            "figures computed again from histograms, counts and times",
        ),
        (
            checked.relations,
            "relations that must hold (sums, orders, bounds)",
        ),
        (
            checked.read_again,
            "other values compared with the notebook",
        ),
        (checked.hashes, "hashes"),
    ];
    for (number, what) in lines {
        let _ = writeln!(text, "{:>12}  {what}", count(number));
    }
    if found.agrees {
        text += "\nAll of it agrees.\n"
    } else {
        let number = found.disagreements.len();
        let _ = writeln!(
            text,
            "\n{} not agree:",
            match number {
                1 => "1 does".to_owned(),
                number => format!("{number} do"),
            }
        );
    }
    for one in found.disagreements.iter().take(LISTED_MAX) {
        let whose = one
            .trial
            .as_ref()
            .map_or_else(String::new, |trial| format!("trial {trial}, "));
        let _ = writeln!(text, "\n  {whose}{}: {}", one.place, one.what);
        let _ = writeln!(text, "    shown       {}", plain(&one.shown));
        let _ = writeln!(text, "    comes out   {}", plain(&one.recomputed));
    }
    if found.disagreements.len() > LISTED_MAX {
        let more = found.disagreements.len() - LISTED_MAX;
        let _ = writeln!(text, "\n  and {more} more: --json has all of them");
    }
    text += "\nNot checked:\n";
    for one in &found.not_checked {
        let _ = writeln!(text, "  {}: {}", plain(&one.what), plain(&one.why));
    }
    text
}

/// Text from a file that others made: in one line, without what a terminal would obey.
fn plain(text: &str) -> String {
    pgdyno_report::table::one_line(text)
}
