//! Skipped tests, recorded by name so that they are counted and not mistaken for passed.

use std::fs::OpenOptions;
use std::io::Write;

/// Ends the calling test as skipped. Cargo counts it as passed; `make test` takes it off that
/// number again and lists it with its reason.
///
/// ```no_run
/// # fn a_test() {
/// pgdyno_testkit::skip!("name_of_the_test", "why it cannot run here");
/// # }
/// ```
#[macro_export]
macro_rules! skip {
    ($name:expr, $reason:expr $(,)?) => {{
        $crate::record_skip($name, ::std::convert::AsRef::<str>::as_ref(&$reason));
        return ::std::default::Default::default();
    }};
}

/// Says that a test is skipped and writes it to the file that `PGDYNO_SKIPS` names, a line
/// `NAME: REASON` each. For [`skip!`].
///
/// # Panics
/// When the file cannot be written: a skip that is not counted is a lie.
pub fn record_skip(name: &str, reason: &str) {
    let reason = reason.replace('\n', " ");
    println!("skipped {name}: {reason}");
    let Some(path) = std::env::var_os("PGDYNO_SKIPS").filter(|v| !v.is_empty()) else {
        return;
    };
    // One write of one line: tests of several processes append to the same file.
    let line = format!("{name}: {reason}\n");
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .unwrap_or_else(|e| panic!("could not record a skip in {path:?}: {e}"));
}
