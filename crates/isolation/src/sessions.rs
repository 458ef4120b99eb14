//! Session guarantees (D. Terry et al., PDIS 1994) on lists, registers written once and rows, whose version
//! order is known. Within one transaction only what is read later counts: each statement of read committed may see more
//! than the one before, never less.

use crate::dependencies::count;
use crate::finds::{Example, Finds};
use crate::hash::FastMap;
use crate::history::Status;
use crate::level::Anomaly;
use crate::rows::{self, RowRead};
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
        rows_seen: FastMap::default(),
        rows_first_seen: FastMap::default(),
    };
    let mut rest = seen;
    for by in 0..count(versions.history) {
        let (reads, others) = rest.split_at(rest.partition_point(|read| read.by <= by));
        rest = others;
        let transaction = &versions.history.transactions()[by as usize];
        if transaction.status == Status::Committed {
            sessions.of_one(by, transaction.client, reads);
            sessions.rows_of_one(by, transaction.client);
        }
    }
    let mut rest = seen;
    let mut met = FastMap::default();
    for by in 0..count(versions.history) {
        let (reads, others) = rest.split_at(rest.partition_point(|read| read.by <= by));
        rest = others;
        met.clear();
        sessions.seen_by_others(by, reads, &mut met);
    }
}

struct Sessions<'a, 'h> {
    versions: &'a Versions<'h>,
    finds: &'a mut Finds,
    seen: Past,
    written: Past,
    /// By client, key and row: its first transaction that found the row.
    rows_seen: FastMap<(u32, u32, i64), u32>,
    /// The same of all clients.
    rows_first_seen: FastMap<(u32, i64), u32>,
}

/// A read of a transaction.
#[derive(Clone, Copy)]
enum Look<'s> {
    Item(&'s Seen),
    Rows(RowRead<'s>),
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
                    self.add_anomaly(anomaly, before, by, read.key, what);
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
                self.add_anomaly(Anomaly::NonMonotonicWrite, before, by, key, what);
            }
            add(&mut self.written, (client, key), by, len);
        }
        for read in reads {
            add(&mut self.seen, (client, read.key), by, read.len);
        }
    }

    /// The same of rows: those that a session had found or inserted, and then saw absent.
    fn rows_of_one(&mut self, by: u32, client: u32) {
        let (versions, history) = (self.versions, self.versions.history);
        for read in rows::reads(history, by) {
            for row in rows::missed(versions, read) {
                let writer = &history.transactions()[row.by as usize];
                let is_own = writer.client == client && writer.status == Status::Committed;
                if is_own && row.by < by {
                    let what = "missed its row of";
                    self.add_anomaly(Anomaly::MissedOwnWrite, row.by, by, read.key, what);
                }
                if let Some(&before) = self.rows_seen.get(&(client, read.key, row.value)) {
                    let what = "missed a row that it had found of";
                    self.add_anomaly(Anomaly::NonMonotonicRead, before, by, read.key, what);
                }
            }
        }
        for read in rows::reads(history, by) {
            for (row, _) in rows::of_others(versions, read).filter(|&(_, is_found)| is_found) {
                self.rows_seen
                    .entry((client, read.key, row.value))
                    .or_insert(by);
                self.rows_first_seen
                    .entry((read.key, row.value))
                    .or_insert(by);
            }
        }
    }

    /// What readers show of other sessions: who saw a session's write must then see what the session had
    /// written (monotonic writes) and read (writes follow reads) before. `met`: by client, the last of its transactions
    /// of which the reader has seen a write; empty.
    fn seen_by_others(&mut self, by: u32, reads: &[Seen], met: &mut FastMap<u32, u32>) {
        let (versions, history) = (self.versions, self.versions.history);
        let of_rows = rows::reads(history, by).map(|read| (read.at, Look::Rows(read)));
        let items = reads.iter().map(|read| (read.at, Look::Item(read)));
        let mut looks: Vec<(u32, Look<'_>)> = items.chain(of_rows).collect();
        if looks.len() < 2 {
            return;
        }
        looks.sort_by_key(|&(at, _)| at);
        let meet = |met: &mut FastMap<u32, u32>, writer: u32| {
            if writer == NONE || writer == by {
                return;
            }
            let of = &history.transactions()[writer as usize];
            if of.status == Status::Committed {
                let last = met.entry(of.client).or_insert(writer);
                *last = (*last).max(writer);
            }
        };
        for (_, look) in looks {
            match look {
                Look::Item(read) => {
                    self.item_without_past(read, met);
                    let writer = read
                        .value
                        .map_or(NONE, |value| versions.effective_writer(read.key, value));
                    meet(met, writer);
                }
                Look::Rows(read) => {
                    self.rows_without_past(read, met);
                    rows::writers(versions, read).for_each(|writer| meet(met, writer));
                }
            }
        }
    }

    fn item_without_past(&mut self, read: &Seen, met: &FastMap<u32, u32>) {
        if read.len == NONE {
            return;
        }
        for (&client, &writer) in met {
            let cases = [
                (&self.written, writer, Anomaly::NonMonotonicWrite, "wrote"),
                (&self.seen, writer + 1, Anomaly::WriteBeforeRead, "read"),
            ];
            for (past, end, anomaly, what) in cases {
                let Some(before) = last_before(past, (client, read.key), end) else {
                    continue;
                };
                if read.len >= before.1 {
                    continue;
                }
                let of = self.versions;
                self.finds.add(anomaly, 3, || {
                    let older = format!("an older {}", of.history.key(read.key));
                    seen_without(of, [before.0, writer, read.by], read.key, &older, what)
                });
            }
        }
    }

    fn rows_without_past(&mut self, read: RowRead<'_>, met: &FastMap<u32, u32>) {
        let Some(&last_met) = met.values().max() else {
            return;
        };
        let of = self.versions;
        for row in rows::missed(of, read) {
            let less = || format!("{} without row {}", of.history.key(read.key), row.value);
            let writer = &of.history.transactions()[row.by as usize];
            if let Some(&after) = met.get(&writer.client)
                && writer.status == Status::Committed
                && row.by < after
            {
                self.finds.add(Anomaly::NonMonotonicWrite, 3, || {
                    seen_without(of, [row.by, after, read.by], read.key, &less(), "wrote")
                });
            }
            let first = self.rows_first_seen.get(&(read.key, row.value));
            if first.is_none_or(|&first| first > last_met) {
                continue;
            }
            for (&client, &writer) in met {
                let before = self.rows_seen.get(&(client, read.key, row.value));
                if let Some(&before) = before.filter(|&&before| before <= writer) {
                    self.finds.add(Anomaly::WriteBeforeRead, 3, || {
                        seen_without(of, [before, writer, read.by], read.key, &less(), "read")
                    });
                }
            }
        }
    }

    fn add_anomaly(&mut self, anomaly: Anomaly, before: u32, by: u32, key: u32, what: &str) {
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

/// A reader had seen what `writer` wrote and then `less`: without what the writer's session did in `before`.
fn seen_without(
    versions: &Versions<'_>,
    [before, writer, reader]: [u32; 3],
    key: u32,
    less: &str,
    what: &str,
) -> Example {
    let history = versions.history;
    let client = history.transactions()[writer as usize].client;
    let (reader_name, before_name, writer_name) = (name(reader), name(before), name(writer));
    let sentence = if before == writer {
        format!(
            "{reader_name} saw {writer_name} and then {less}, other than {writer_name} had read"
        )
    } else {
        format!(
            "client {client} {what} {} in {before_name} and then ran {writer_name}; {reader_name} saw \
             {writer_name} and then {less}",
            history.key(key)
        )
    };
    example(history, &[before, writer, reader], key, sentence)
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
