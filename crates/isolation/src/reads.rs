//! What committed transactions saw, and what is wrong with that at first sight: aborted, intermediate
//! and unwritten values, reads that contradict their own transaction, lists in two orders.

use crate::finds::Finds;
use crate::hash::{FastMap, FastSet};
use crate::history::{Operation, Status};
use crate::keys::KeyKind;
use crate::level::Anomaly;
use crate::story::{example, list, name};
use crate::versions::{NONE, Seen, Versions};

/// What a transaction knows of a key.
#[derive(Clone, Default)]
struct Known {
    /// The elements that it read, without its own.
    base: Option<(u32, u32)>,
    /// The register's value that it read first.
    value: Option<Option<i64>>,
    own: Vec<i64>,
}

/// The first wrong element of a spine.
#[derive(Clone, Copy)]
struct Wrong {
    at: u32,
    value: i64,
}

/// Finds anomalies of single reads; returns what transactions saw, transaction after transaction.
pub(crate) fn check(versions: &Versions<'_>, finds: &mut Finds) -> Vec<Seen> {
    let history = versions.history;
    spines(versions, finds);
    own_order(versions, finds);
    let wrong = Wrongs::of(versions);
    let mut seen = Vec::new();
    let mut known: FastMap<u32, Known> = FastMap::default();
    for (by, transaction) in (0..).zip(history.transactions()) {
        if transaction.status != Status::Committed {
            continue;
        }
        known.clear();
        for (at, &operation) in (0..).zip(history.operations(by)) {
            let key = operation.key();
            let of_key = known.entry(key).or_default();
            let mut reader = Reader {
                versions,
                finds,
                seen: &mut seen,
                by,
                at,
                key,
            };
            if reader.future(operation) {
                continue;
            }
            match operation {
                Operation::Append { value, .. }
                | Operation::Write { value, .. }
                | Operation::Insert { value, .. } => of_key.own.push(value),
                Operation::ReadList { spine, len, .. } => {
                    wrong.check(&mut reader, spine, len);
                    reader.list(of_key, spine, len);
                }
                Operation::ReadNothing { .. } if history.kind(key) == KeyKind::Register => {
                    reader.register(of_key, None);
                }
                Operation::ReadNothing { .. } => reader.list(of_key, NONE, 0),
                Operation::Read { value, .. } => reader.register(of_key, Some(value)),
                Operation::ReadRows { start, len, .. } => {
                    reader.rows(of_key, history.rows(start, len));
                }
                Operation::Unread { .. } | Operation::UnreadRows { .. } => {}
            }
        }
    }
    seen
}

struct Reader<'a, 'h> {
    versions: &'a Versions<'h>,
    finds: &'a mut Finds,
    seen: &'a mut Vec<Seen>,
    by: u32,
    at: u32,
    key: u32,
}

impl Reader<'_, '_> {
    fn elements(&self, spine: u32, len: u32) -> &[i64] {
        if len == 0 {
            &[]
        } else {
            self.versions.history.list(spine, len)
        }
    }

    fn list(&mut self, known: &mut Known, spine: u32, len: u32) {
        let own = u32::try_from(known.own.len()).unwrap_or(NONE);
        if !self.elements(spine, len).ends_with(&known.own) {
            let (missed, got) = (list(&known.own), list(self.elements(spine, len)));
            self.missed_own(&missed, &got);
            // What others added after its own is a dependency all the same.
            let value = self.elements(spine, len).last().copied();
            if value.is_some_and(|value| !known.own.contains(&value)) {
                self.intermediate(value);
                self.see_list(spine, len, value);
            }
            return;
        }
        let base = len - own;
        match known.base {
            None => {
                known.base = Some((spine, base));
                // What was there before its own first append.
                if own > 0 {
                    let value = self.elements(spine, base).last().copied();
                    self.see_list(spine, base, value);
                }
            }
            Some((spine_before, base_before)) => {
                let (before, now) = (
                    self.elements(spine_before, base_before),
                    self.elements(spine, base),
                );
                if before == now {
                    return;
                }
                let (before, now) = (list(before), list(now));
                self.changed(&before, &now);
                known.base = Some((spine, base));
            }
        }
        if own == 0 {
            let value = self.elements(spine, len).last().copied();
            self.intermediate(value);
            self.see_list(spine, len, value);
        }
    }

    fn see_list(&mut self, spine: u32, len: u32, value: Option<i64>) {
        let on_order = spine == NONE || len <= self.versions.agreed[spine as usize];
        self.see(if on_order { len } else { NONE }, value);
    }

    /// Whether this read shows what its transaction writes only afterwards.
    fn future(&mut self, read: Operation) -> bool {
        let history = self.versions.history;
        let shows = |value: i64| match read {
            Operation::ReadList { spine, len, .. } => history.list(spine, len).contains(&value),
            Operation::Read { value: found, .. } => found == value,
            Operation::ReadRows { start, len, .. } => {
                history.rows(start, len).binary_search(&value).is_ok()
            }
            _ => false,
        };
        let later = history.operations(self.by)[self.at as usize..].iter();
        let mut later = later.filter(|operation| operation.key() == self.key);
        let value = later.find_map(|operation| operation.written().filter(|&value| shows(value)));
        let Some(value) = value else {
            return false;
        };
        let (by, key) = (self.by, self.key);
        self.finds.add(Anomaly::FutureRead, 1, || {
            let sentence = format!(
                "{} read {value} in {} and wrote it only afterwards",
                name(by),
                history.key(key)
            );
            example(history, &[by], key, sentence)
        });
        true
    }

    fn register(&mut self, known: &mut Known, value: Option<i64>) {
        if let Some(&own) = known.own.last() {
            if value != Some(own) {
                let got = shown(value);
                self.missed_own(&own.to_string(), &got);
            }
            return;
        }
        let first = known.value.replace(value);
        if let Some(before) = first
            && before != value
        {
            self.changed(&shown(before), &shown(value));
        }
        // The same again says more only of what was seen between.
        if first != Some(value) {
            if let Some(value) = value {
                self.settled(value);
            }
            self.intermediate(value);
        }
        let written = value.and_then(|value| self.versions.write(self.key, value));
        let len = match (value, written) {
            (None, _) => 0,
            (Some(_), Some(written)) if written.place != NONE => written.place + 1,
            _ => NONE,
        };
        self.see(len, value);
    }

    fn rows(&mut self, known: &Known, rows: &[i64]) {
        let missed: Vec<i64> = known
            .own
            .iter()
            .copied()
            .filter(|own| rows.binary_search(own).is_err())
            .collect();
        if !missed.is_empty() {
            self.missed_own(&list(&missed), &list(rows));
        }
        for &row in rows {
            self.settled(row);
        }
    }

    fn see(&mut self, len: u32, value: Option<i64>) {
        self.seen.push(Seen {
            by: self.by,
            key: self.key,
            len,
            value,
            at: self.at,
        });
    }

    /// Counts a value that no transaction, or one that did not commit, wrote.
    fn settled(&mut self, value: i64) {
        match self.versions.write(self.key, value) {
            None => self.unwritten(value),
            Some(written) if self.aborted(written.by) => self.read_aborted(value, written.by),
            Some(_) => {}
        }
    }

    fn aborted(&self, by: u32) -> bool {
        self.versions.history.transactions()[by as usize].status == Status::Aborted
    }

    fn read_aborted(&mut self, value: i64, writer: u32) {
        let (history, by, key) = (self.versions.history, self.by, self.key);
        self.finds.add(Anomaly::AbortedRead, 2, || {
            let sentence = format!(
                "{} read {value} in {}, which {} wrote without committing",
                name(by),
                history.key(key),
                name(writer)
            );
            example(history, &[writer, by], key, sentence)
        });
    }

    fn unwritten(&mut self, value: i64) {
        let (history, by, key) = (self.versions.history, self.by, self.key);
        self.finds.add(Anomaly::UnwrittenValue, 1, || {
            let sentence = format!(
                "{} read {value} in {}, which no transaction of the history wrote",
                name(by),
                history.key(key)
            );
            example(history, &[by], key, sentence)
        });
    }

    fn intermediate(&mut self, value: Option<i64>) {
        let Some(value) = value else {
            return;
        };
        let Some(written) = self.versions.write(self.key, value) else {
            return;
        };
        // What an aborted transaction wrote is worse, and counted already.
        if written.last || written.by == self.by || self.aborted(written.by) {
            return;
        }
        let (history, by, key, writer) = (self.versions.history, self.by, self.key, written.by);
        self.finds.add(Anomaly::IntermediateRead, 2, || {
            let sentence = format!(
                "{} read {} as of {value}, but {} wrote it again afterwards",
                name(by),
                history.key(key),
                name(writer)
            );
            example(history, &[writer, by], key, sentence)
        });
    }

    fn missed_own(&mut self, own: &str, got: &str) {
        let (history, by, key) = (self.versions.history, self.by, self.key);
        self.finds.add(Anomaly::Internal, 1, || {
            let key_name = history.key(key);
            let sentence = format!("{} wrote {own} to {key_name} and then read {got}", name(by));
            example(history, &[by], key, sentence)
        });
    }

    fn changed(&mut self, before: &str, now: &str) {
        let (history, by, key) = (self.versions.history, self.by, self.key);
        self.finds.add(Anomaly::NonRepeatableRead, 1, || {
            let key_name = history.key(key);
            let sentence = format!("{} read {key_name} = {before} and later {now}", name(by));
            example(history, &[by], key, sentence)
        });
    }
}

fn shown(value: Option<i64>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |value| value.to_string())
}

/// The first aborted and the first unwritten element of each spine: each read that reaches it is wrong.
struct Wrongs {
    aborted: Vec<Option<Wrong>>,
    unwritten: Vec<Option<Wrong>>,
}

impl Wrongs {
    fn of(versions: &Versions<'_>) -> Self {
        let history = versions.history;
        let first = |is_wrong: &dyn Fn(u32, i64) -> bool| {
            let spines = history.spines.iter().map(|spine| {
                let mut elements = (0..).zip(spine.elements.iter().copied());
                elements
                    .find(|&(_, value)| is_wrong(spine.key, value))
                    .map(|(at, value)| Wrong { at, value })
            });
            spines.collect()
        };
        Self {
            aborted: first(&|key, value| {
                versions.write(key, value).is_some_and(|written| {
                    history.transactions()[written.by as usize].status == Status::Aborted
                })
            }),
            unwritten: first(&|key, value| versions.write(key, value).is_none()),
        }
    }

    fn check(&self, reader: &mut Reader<'_, '_>, spine: u32, len: u32) {
        let reached =
            |wrong: &[Option<Wrong>]| wrong[spine as usize].filter(|wrong| wrong.at < len);
        if let Some(wrong) = reached(&self.aborted)
            && let Some(written) = reader.versions.write(reader.key, wrong.value)
        {
            reader.read_aborted(wrong.value, written.by);
        }
        if let Some(wrong) = reached(&self.unwritten) {
            reader.unwritten(wrong.value);
        }
    }
}

/// A transaction's appends to one list are in it in their order, each of them.
fn own_order(versions: &Versions<'_>, finds: &mut Finds) {
    let history = versions.history;
    let mut last: FastMap<u32, (i64, u32)> = FastMap::default();
    for (by, _) in (0..)
        .zip(&versions.effective)
        .filter(|&(_, &effective)| effective)
    {
        last.clear();
        for &operation in history.operations(by) {
            let Operation::Append { key, value } = operation else {
                continue;
            };
            let place = versions
                .write(key, value)
                .map_or(NONE, |written| written.place);
            if place == NONE {
                continue;
            }
            if let Some((before, place_before)) = last.insert(key, (value, place))
                && place < place_before
            {
                finds.add(Anomaly::ReorderedAppends, 1, || {
                    let sentence = format!(
                        "{} appended {before} to {} and then {value}, but a read shows {value} without {before} before it",
                        name(by),
                        history.key(key)
                    );
                    example(history, &[by], key, sentence)
                });
            }
        }
    }
}

/// Lists that cannot have grown as they were read.
fn spines(versions: &Versions<'_>, finds: &mut Finds) {
    let history = versions.history;
    let mut distinct = FastSet::default();
    let mut longest: FastMap<u32, usize> = FastMap::default();
    for (at, spine) in history
        .spines
        .iter()
        .enumerate()
        .filter(|(_, spine)| spine.committed)
    {
        distinct.clear();
        let twice = spine
            .elements
            .iter()
            .find(|&&value| !distinct.insert(value));
        if let Some(value) = twice {
            finds.add(Anomaly::DuplicateElement, 1, || {
                let sentence = format!(
                    "{} read {value} twice in {} = {}",
                    name(spine.longest_by),
                    history.key(spine.key),
                    list(&spine.elements)
                );
                example(history, &[spine.longest_by], spine.key, sentence)
            });
        }
        let best = longest.entry(spine.key).or_insert(at);
        if history.spines[*best].elements.len() < spine.elements.len() {
            *best = at;
        }
    }
    for (at, spine) in history
        .spines
        .iter()
        .enumerate()
        .filter(|(_, spine)| spine.committed)
    {
        let Some(&best) = longest.get(&spine.key) else {
            continue;
        };
        if best == at {
            continue;
        }
        let other = &history.spines[best];
        finds.add(Anomaly::IncompatibleOrder, 2, || {
            let sentence = format!(
                "{} read {} = {} and {} read {}: neither is a beginning of the other",
                name(other.longest_by),
                history.key(spine.key),
                list(&other.elements),
                name(spine.longest_by),
                list(&spine.elements)
            );
            example(
                history,
                &[other.longest_by, spine.longest_by],
                spine.key,
                sentence,
            )
        });
    }
}
