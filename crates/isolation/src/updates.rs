//! Lost updates and fractured reads: anomalies of two transactions that are found without a search.

use crate::dependencies::count;
use crate::finds::Finds;
use crate::hash::{FastMap, FastSet};
use crate::history::Operation;
use crate::level::Anomaly;
use crate::rows;
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

/// Readers that saw what a transaction wrote, and of another of its writes an older version, or not its row.
pub(crate) fn fractured(versions: &Versions<'_>, seen: &[Seen], finds: &mut Finds) {
    let history = versions.history;
    let mut rest = seen;
    let mut sources = Sources::default();
    for by in 0..count(history) {
        let (reads, others) = rest.split_at(rest.partition_point(|read| read.by <= by));
        rest = others;
        sources.see(versions, by, reads);
        fractured_items(versions, reads, &sources, finds);
        fractured_rows(versions, by, &sources, finds);
    }
}

/// Whose writes a transaction saw.
#[derive(Default)]
struct Sources {
    /// By writer, the first key in which it did.
    keys: FastMap<u32, u32>,
    in_order: Vec<(u32, u32)>,
    met: FastSet<(u32, u32)>,
}

impl Sources {
    fn see(&mut self, versions: &Versions<'_>, by: u32, reads: &[Seen]) {
        self.keys.clear();
        self.in_order.clear();
        self.met.clear();
        let of_reads = reads.iter().filter_map(|read| {
            let writer = versions.effective_writer(read.key, read.value?);
            (writer != NONE && writer != by).then_some((writer, read.key))
        });
        let of_rows = rows::reads(versions.history, by)
            .flat_map(|read| rows::writers(versions, read).map(move |writer| (writer, read.key)));
        for (writer, key) in of_reads.chain(of_rows) {
            if self.met.insert((writer, key)) {
                self.in_order.push((writer, key));
                self.keys.entry(writer).or_insert(key);
            }
        }
    }
}

fn fractured_items(versions: &Versions<'_>, reads: &[Seen], sources: &Sources, finds: &mut Finds) {
    let history = versions.history;
    let mut of_key: FastMap<u32, &Seen> = FastMap::default();
    for read in reads.iter().filter(|read| read.len != NONE) {
        of_key.entry(read.key).or_insert(read);
    }
    if of_key.is_empty() {
        return;
    }
    for &(writer, seen_in) in &sources.in_order {
        for read in missed(versions, &of_key, seen_in, writer) {
            finds.add(Anomaly::FracturedRead, 2, || {
                let sentence = format!(
                    "{} saw what {} wrote to {} and missed what it wrote to {}",
                    name(read.by),
                    name(writer),
                    history.key(seen_in),
                    history.key(read.key)
                );
                example(history, &[writer, read.by], read.key, sentence)
            });
        }
    }
}

/// The reads of a version before the writer's, of other keys than the one in which it was seen.
fn missed<'s>(
    versions: &Versions<'_>,
    of_key: &FastMap<u32, &'s Seen>,
    seen_in: u32,
    writer: u32,
) -> Vec<&'s Seen> {
    let operations = versions.history.operations(writer).iter();
    operations
        .filter(|operation| operation.key() != seen_in)
        .filter_map(|operation| {
            let (key, value) = (operation.key(), operation.written()?);
            let seen = of_key.get(&key)?;
            let written = versions.write(key, value)?;
            let missed = written.last && written.place != NONE && seen.len <= written.place;
            missed.then_some(*seen)
        })
        .collect()
}

fn fractured_rows(versions: &Versions<'_>, by: u32, sources: &Sources, finds: &mut Finds) {
    let history = versions.history;
    for read in rows::reads(history, by) {
        for row in rows::missed(versions, read) {
            let Some(&seen_in) = sources.keys.get(&row.by) else {
                continue;
            };
            let again = rows::reads(history, by)
                .any(|other| other.key == read.key && other.rows.binary_search(&row.value).is_ok());
            let (anomaly, sentence) = if again {
                let sentence = format!(
                    "{} read the rows of {} twice and found row {} only once",
                    name(by),
                    history.key(read.key),
                    row.value
                );
                (Anomaly::Phantom, sentence)
            } else {
                let sentence = format!(
                    "{} saw what {} wrote to {} and missed its row {} in {}",
                    name(by),
                    name(row.by),
                    history.key(seen_in),
                    row.value,
                    history.key(read.key)
                );
                (Anomaly::FracturedRows, sentence)
            };
            finds.add(anomaly, 2, || {
                example(history, &[row.by, by], read.key, sentence)
            });
        }
    }
}
