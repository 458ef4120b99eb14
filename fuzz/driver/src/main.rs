//! libFuzzer's main loop around one target, named by `PGDYNO_FUZZ_TARGET`. See fuzz/README.md.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pgdyno_fuzz::{Target, find};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("PGDYNO_FUZZ_TARGET").unwrap_or_default();
    find(&name).unwrap_or_else(|error| panic!("PGDYNO_FUZZ_TARGET: {error}"))
});

fuzz_target!(|bytes: &[u8]| (TARGET.run)(bytes));
