//! `pgdyno-bench merge NOTEBOOK COUNT`: the first trial of a notebook, added up as if so many generators had
//! measured it. What a thousand real ones would need is a thousand processes; adding up needs only what they kept.

use std::path::Path;

use pgdyno_measurement::Merge;
use pgdyno_store::Store;

use crate::Error;

/// Adds up, and prints how many transactions there are then.
///
/// # Errors
/// The arguments are wrong; the notebook cannot be read.
pub fn open(arguments: &[String]) -> Result<(), Error> {
    let [notebook, count] = arguments else {
        return Err("usage: pgdyno-bench merge NOTEBOOK COUNT".into());
    };
    let count: u32 = count.parse()?;
    let store = Store::existing(Path::new(notebook)).map_err(|e| e.to_string())?;
    let mut all = Merge::default();
    for _ in 0..count {
        // Each from the notebook, as theirs are.
        let outcome = store.outcome(1).map_err(|e| e.to_string())?;
        all.add(outcome.recording, None);
    }
    let all = all.finish().ok_or("nothing was measured")?;
    let scripts = all.measured.scripts.iter();
    let committed: u64 = scripts.map(|script| script.counts.committed).sum();
    println!("{committed}");
    Ok(())
}
