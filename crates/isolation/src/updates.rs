//! Lost updates and fractured reads: anomalies of two transactions that are found without a search.

use crate::finds::Finds;
use crate::hash::{FastMap, FastSet};
use crate::history::Operation;
use crate::level::Anomaly;
use crate::story::{example, name};
use crate::versions::{NONE, Seen, Versions};

/// Committed transactions that read the same version of a key and then wrote the key. Each one beyond a
/// version's first is a lost update. Of several reads of a key the last one counts: upon that it wrote.
pub(crate) fn lost(versions: &Versions<'_>, seen: &[Seen], finds: &mut Finds) {
    let history = versions.history;
    let mut first: FastMap<(u32, Option<i64>), u32> = FastMap::default();
    let mut met = FastSet::default();
    for reads in seen.chunk_by(|a, b| a.by == b.by) {
        met.clear();
        for read in reads.iter().rev().filter(|read| met.insert(read.key)) {
            let mut later = history.operations(read.by)[read.at as usize..].iter();
            let writes = |of: &Operation| of.key() == read.key && of.written().is_some();
            if !later.any(writes) {
                continue;
            }
            let before = *first.entry((read.key, read.value)).or_insert(read.by);
            if before == read.by {
                continue;
            }
            finds.add(Anomaly::LostUpdate, 2, || {
                let sentence = format!(
                    "{} and {} read the same version of {} and both wrote it: one did not see the other's",
                    name(before),
                    name(read.by),
                    history.key(read.key)
                );
                example(history, &[before, read.by], read.key, sentence)
            });
        }
    }
}

/// Readers that saw a version that a transaction wrote, and an older version of another key than the same
/// transaction wrote.
pub(crate) fn fractured(versions: &Versions<'_>, seen: &[Seen], finds: &mut Finds) {
    let history = versions.history;
    for reads in seen.chunk_by(|a, b| a.by == b.by) {
        let mut of_key: FastMap<u32, &Seen> = FastMap::default();
        for read in reads.iter().filter(|read| read.len != NONE) {
            of_key.entry(read.key).or_insert(read);
        }
        if of_key.len() < 2 {
            continue;
        }
        for read in reads {
            let Some(value) = read.value else {
                continue;
            };
            let writer = versions.effective_writer(read.key, value);
            if writer == NONE || writer == read.by {
                continue;
            }
            let missed = missed(versions, &of_key, read, writer);
            for key in missed {
                finds.add(Anomaly::FracturedRead, 2, || {
                    let sentence = format!(
                        "{} saw what {} wrote to {} and missed what it wrote to {}",
                        name(read.by),
                        name(writer),
                        history.key(read.key),
                        history.key(key)
                    );
                    example(history, &[writer, read.by], key, sentence)
                });
            }
        }
    }
}

/// The keys of which the reader saw a version before the writer's.
fn missed(
    versions: &Versions<'_>,
    of_key: &FastMap<u32, &Seen>,
    read: &Seen,
    writer: u32,
) -> Vec<u32> {
    let operations = versions.history.operations(writer).iter();
    operations
        .filter(|operation| operation.key() != read.key)
        .filter_map(|operation| {
            let (key, value) = (operation.key(), operation.written()?);
            let seen = of_key.get(&key)?;
            let written = versions.write(key, value)?;
            let missed = written.last && written.place != NONE && seen.len <= written.place;
            missed.then_some(key)
        })
        .collect()
}
