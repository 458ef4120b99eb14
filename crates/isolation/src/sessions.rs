//! Session guarantees (D. Terry et al., PDIS 1994) on lists and registers written once, whose version
//! order is known. Within one transaction only what is read later counts: each statement of read committed may see more
//! than the one before, never less.

use crate::finds::{Example, Finds};
use crate::hash::{FastMap, FastSet};
use crate::history::Status;
use crate::level::Anomaly;
use crate::story::{example, name};
use crate::versions::{NONE, Seen, Versions};

/// The transactions of a session that saw or wrote a key, in their order, each with the most versions that
/// the session had seen or written of it by then.
type Past = FastMap<(u32, u32), Vec<(u32, u32)>>;

pub(crate) fn check(versions: &Versions<'_>, seen: &[Seen], finds: &mut Finds) {
    let mut sessions = Sessions {
        versions,
        finds,
        seen: Past::default(),
        written: Past::default(),
    };
    let mut reads = seen;
    for (by, transaction) in (0..).zip(versions.history.transactions()) {
        let here = reads.partition_point(|read| read.by <= by);
        let (of_this, rest) = reads.split_at(here);
        reads = rest;
        if transaction.status == Status::Committed {
            sessions.of_one(by, transaction.client, of_this);
        }
    }
    for of_this in seen.chunk_by(|a, b| a.by == b.by) {
        sessions.seen_by_others(of_this);
    }
}

struct Sessions<'a, 'h> {
    versions: &'a Versions<'h>,
    finds: &'a mut Finds,
    seen: Past,
    written: Past,
}

impl Sessions<'_, '_> {
    /// What a session's own transactions show: monotonic reads, read your writes, and the order of its
    /// writes to one key.
    fn of_one(&mut self, by: u32, client: u32, reads: &[Seen]) {
        let history = self.versions.history;
        let reads = reads.iter().filter(|read| read.len != NONE);
        for read in reads.clone() {
            let last = |past: &Past| {
                past.get(&(client, read.key))
                    .and_then(|of| of.last().copied())
            };
            let missed = [
                (last(&self.seen), Anomaly::NonMonotonicRead, "read an older"),
                (
                    last(&self.written),
                    Anomaly::MissedOwnWrite,
                    "missed its write to",
                ),
            ];
            for (before, anomaly, what) in missed {
                if let Some((before, len)) = before
                    && read.len < len
                {
                    self.found(anomaly, before, by, read.key, what);
                }
            }
        }
        let operations = history.operations(by).iter();
        let writes: Vec<(u32, u32)> = operations
            .filter_map(|operation| {
                let place = self
                    .versions
                    .write(operation.key(), operation.written()?)?
                    .place;
                (place != NONE).then(|| (operation.key(), place + 1))
            })
            .collect();
        for &(key, len) in &writes {
            if let Some(&(before, earlier)) =
                self.written.get(&(client, key)).and_then(|of| of.last())
                && before != by
                && len < earlier
            {
                let what = "wrote an earlier version of";
                self.found(Anomaly::NonMonotonicWrite, before, by, key, what);
            }
            add(&mut self.written, (client, key), by, len);
        }
        for read in reads {
            add(&mut self.seen, (client, read.key), by, read.len);
        }
    }

    /// What readers show of other sessions: who saw a session's write must then see what the session had
    /// written (monotonic writes) and read (writes follow reads) before.
    fn seen_by_others(&mut self, reads: &[Seen]) {
        let transactions = self.versions.history.transactions();
        let mut met = FastSet::default();
        for (at, read) in reads.iter().enumerate() {
            let writer = read.value.map_or(NONE, |value| {
                self.versions.effective_writer(read.key, value)
            });
            if writer == NONE || writer == read.by || !met.insert(writer) {
                continue;
            }
            let client = transactions[writer as usize].client;
            if transactions[writer as usize].status != Status::Committed {
                continue;
            }
            for later in reads[at + 1..].iter().filter(|later| later.len != NONE) {
                let cases = [
                    (&self.written, writer, Anomaly::NonMonotonicWrite, "wrote"),
                    (&self.seen, writer + 1, Anomaly::WriteBeforeRead, "read"),
                ];
                for (past, end, anomaly, what) in cases {
                    let Some(before) = last_before(past, (client, later.key), end) else {
                        continue;
                    };
                    if later.len >= before.1 {
                        continue;
                    }
                    let of = self.versions;
                    self.finds.add(anomaly, 3, || {
                        seen_without(of, before.0, writer, later, what)
                    });
                }
            }
        }
    }

    fn found(&mut self, anomaly: Anomaly, before: u32, by: u32, key: u32, what: &str) {
        let history = self.versions.history;
        self.finds.add(anomaly, 2, || {
            let sentence = format!(
                "client {} ran {} and then {}, which {what} {}",
                history.transactions()[by as usize].client,
                name(before),
                name(by),
                history.key(key)
            );
            example(history, &[before, by], key, sentence)
        });
    }
}

/// `later` is of a reader that had seen what `writer` wrote, and misses what its session did in `before`.
fn seen_without(
    versions: &Versions<'_>,
    before: u32,
    writer: u32,
    later: &Seen,
    what: &str,
) -> Example {
    let history = versions.history;
    let key = history.key(later.key);
    let client = history.transactions()[writer as usize].client;
    let (reader, before_name, writer_name) = (name(later.by), name(before), name(writer));
    let sentence = if before == writer {
        format!("{reader} saw {writer_name} and then an older {key} than {writer_name} had read")
    } else {
        format!(
            "client {client} {what} {key} in {before_name} and then ran {writer_name}; {reader} saw \
             {writer_name} and then an older {key}"
        )
    };
    example(history, &[before, writer, later.by], later.key, sentence)
}

fn add(past: &mut Past, session_and_key: (u32, u32), by: u32, len: u32) {
    let of = past.entry(session_and_key).or_default();
    if of.last().is_none_or(|&(_, most)| most <= len) {
        of.push((by, len));
    }
}

/// The last transaction of a session that is numbered below `end`.
fn last_before(past: &Past, session_and_key: (u32, u32), end: u32) -> Option<(u32, u32)> {
    let of = past.get(&session_and_key)?;
    let before = of.partition_point(|&(by, _)| by < end);
    before.checked_sub(1).map(|last| of[last])
}
