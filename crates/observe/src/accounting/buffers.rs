//! The server's counters over SQL, with statements that its product and version have.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use pgdyno_session::Session;

use pgdyno_database::admin;
use pgdyno_database::dialect::{Buffers, Since, Version};
use pgdyno_model::Fact;
use pgdyno_model::document::{BufferCounters, IoRow};

/// How long the server may take to end sessions whose clients have gone.
const GONE_MAX: Duration = Duration::from_secs(2);
/// How long counters may take to settle then.
const SETTLE_MAX: Duration = Duration::from_secs(5);
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// All counters at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Moment {
    database: Fact<BTreeMap<String, u64>>,
    io: Fact<Vec<IoRow>>,
    wal_bytes: Fact<u64>,
}

/// How to ask a server.
#[derive(Debug, Clone, Copy)]
pub struct Asker {
    pub buffers: &'static Buffers,
    pub version: Version,
}

impl Asker {
    /// What has been counted so far.
    pub fn now(self, session: &mut Session) -> Moment {
        if self.version >= self.buffers.flush.since {
            // Without the right to it, this session's own few reads come later.
            let _ = admin::run(session, self.buffers.flush.sql);
        }
        Moment {
            database: self.database(session),
            io: self.io(session),
            wal_bytes: self.wal(session),
        }
    }

    /// The same when what was counted before is reported: sessions of a warm-up have only just gone.
    pub fn current(self, session: &mut Session) -> Moment {
        if self.version < self.buffers.current_since {
            thread::sleep(Duration::from_millis(2 * self.buffers.stale_ms));
        }
        self.now(session)
    }

    /// The same when what the sessions did has been counted: those that were not there `before`
    /// have gone, and the counters rest.
    pub fn settled(self, session: &mut Session, before: &BTreeSet<String>) -> Moment {
        let begun = Instant::now();
        while begun.elapsed() < GONE_MAX && !self.others(session).is_subset(before) {
            thread::sleep(LOOK_INTERVAL);
        }
        let begun = Instant::now();
        let step = if self.version >= self.buffers.current_since {
            LOOK_INTERVAL
        } else {
            Duration::from_millis(self.buffers.stale_ms)
        };
        if step > LOOK_INTERVAL {
            thread::sleep(step);
        }
        let mut last = self.now(session);
        while begun.elapsed() < SETTLE_MAX {
            thread::sleep(step);
            let next = self.now(session);
            if next.rests(&last) {
                break;
            }
            last = next;
        }
        last
    }

    /// The other client sessions in this database, as far as the server reports.
    pub fn others(self, session: &mut Session) -> BTreeSet<String> {
        let rows = admin::rows(session, self.buffers.other_sessions).unwrap_or_default();
        rows.into_iter().flatten().flatten().collect()
    }

    fn database(self, session: &mut Session) -> Fact<BTreeMap<String, u64>> {
        let rows = match admin::rows(session, self.buffers.database) {
            Ok(rows) => rows,
            Err(e) => return Fact::Unknown(e.to_string()),
        };
        let counters = rows.into_iter().filter_map(|row| {
            let mut row = row.into_iter().flatten();
            Some((row.next()?, row.next()?.parse().ok()?))
        });
        let counters: BTreeMap<String, u64> = counters.collect();
        if counters.is_empty() {
            Fact::Unknown("the server does not count its reads for this role".to_owned())
        } else {
            Fact::Known(counters)
        }
    }

    fn io(self, session: &mut Session) -> Fact<Vec<IoRow>> {
        let Some(sql) = Since::of(self.buffers.io, self.version) else {
            return Fact::Unknown(self.buffers.without_io.to_owned());
        };
        let rows = match admin::rows(session, sql) {
            Ok(rows) => rows,
            Err(e) => return Fact::Unknown(e.to_string()),
        };
        let row = |row: Vec<Option<String>>| {
            let mut row = row.into_iter();
            let mut text = || row.next().flatten();
            let (backend, context) = (text()?, text()?);
            let mut number = || text().map_or(Some(0), |value| value.parse().ok());
            Some(IoRow {
                backend,
                context,
                reads: number()?,
                read_bytes: number()?,
                hits: number()?,
            })
        };
        Fact::Known(rows.into_iter().filter_map(row).collect())
    }

    fn wal(self, session: &mut Session) -> Fact<u64> {
        let Some(sql) = Since::of(self.buffers.wal, self.version) else {
            return Fact::Unknown(
                "this version does not report how much WAL it has written".into(),
            );
        };
        match admin::value(session, sql) {
            Ok(Some(bytes)) => match bytes.parse() {
                Ok(bytes) => Fact::Known(bytes),
                Err(_) => Fact::Unknown(format!("\"{bytes}\" bytes of log are no number")),
            },
            Ok(None) => Fact::Unknown("the server gave no value".to_owned()),
            Err(e) => Fact::Unknown(e.to_string()),
        }
    }
}

impl Moment {
    /// Whether nothing was counted since but what looking itself costs.
    fn rests(&self, before: &Moment) -> bool {
        const LOOKING_MAX: u64 = 500;
        let reads = |moment: &Moment| {
            let counters = moment.database.known()?;
            Some(
                counters
                    .get("blks_hit")?
                    .saturating_add(*counters.get("blks_read")?),
            )
        };
        match (reads(self), reads(before)) {
            (Some(now), Some(then)) => now.saturating_sub(then) <= LOOKING_MAX,
            _ => true,
        }
    }

    /// What has grown from this moment to that one.
    pub fn until(self, after: Moment, database: &str, block_bytes: u64) -> Grown {
        Grown {
            buffers: both(self.database, after.database, |before, after| {
                Fact::Known(BufferCounters {
                    database: database.to_owned(),
                    block_bytes,
                    before,
                    after,
                })
            }),
            io: both(self.io, after.io, |before, after| {
                Fact::Known(grown_io(&before, after))
            }),
            wal_bytes: both(self.wal_bytes, after.wal_bytes, |before, after| match after
                .checked_sub(before)
            {
                Some(bytes) => Fact::Known(bytes),
                None => Fact::Unknown("the server's counters were reset during the run".to_owned()),
            }),
        }
    }
}

/// What has grown between two moments.
pub struct Grown {
    pub buffers: Fact<BufferCounters>,
    pub io: Fact<Vec<IoRow>>,
    pub wal_bytes: Fact<u64>,
}

fn both<T, U>(before: Fact<T>, after: Fact<T>, f: impl FnOnce(T, T) -> Fact<U>) -> Fact<U> {
    before.and_then_known(|before| after.and_then_known(|after| f(before, after)))
}

/// The rows in which anything has happened.
fn grown_io(before: &[IoRow], after: Vec<IoRow>) -> Vec<IoRow> {
    let grown = |now: IoRow| {
        let was = before
            .iter()
            .find(|row| (&row.backend, &row.context) == (&now.backend, &now.context));
        let since = |field: fn(&IoRow) -> u64| field(&now).saturating_sub(was.map_or(0, field));
        let row = IoRow {
            reads: since(|row| row.reads),
            read_bytes: since(|row| row.read_bytes),
            hits: since(|row| row.hits),
            ..now.clone()
        };
        (row.reads + row.hits > 0).then_some(row)
    };
    after.into_iter().filter_map(grown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(hit: u64, read: u64, wal: u64, io: &[(&str, u64)]) -> Moment {
        let counters = [("blks_hit", hit), ("blks_read", read)];
        let counters = counters.map(|(name, value)| (name.to_owned(), value));
        let io = io.iter().map(|(backend, reads)| IoRow {
            backend: (*backend).to_owned(),
            context: "normal".to_owned(),
            reads: *reads,
            read_bytes: reads * 8192,
            hits: 0,
        });
        Moment {
            database: Fact::Known(counters.into()),
            io: Fact::Known(io.collect()),
            wal_bytes: Fact::Known(wal),
        }
    }

    #[test]
    fn growth_is_counted_and_a_reset_is_not() {
        let before = moment(100, 10, 5, &[("client backend", 10), ("checkpointer", 3)]);
        let after = moment(
            350,
            15,
            9,
            &[
                ("client backend", 15),
                ("checkpointer", 3),
                ("io worker", 2),
            ],
        );
        let grown = before.clone().until(after, "d", 8192);
        let buffers = grown.buffers.known().unwrap();
        assert_eq!(
            (buffers.grown("blks_hit"), buffers.grown("blks_read")),
            (Some(250), Some(5))
        );
        assert_eq!(buffers.grown("no such counter"), None);
        assert_eq!(grown.wal_bytes, Fact::Known(4));
        let io = grown.io.known().unwrap();
        let reads: Vec<_> = io
            .iter()
            .map(|row| (row.backend.as_str(), row.reads))
            .collect();
        assert_eq!(reads, [("client backend", 5), ("io worker", 2)]);
        let reset = before.until(moment(3, 0, 0, &[]), "d", 8192);
        assert_eq!(reset.buffers.known().unwrap().grown("blks_hit"), None);
        assert!(reset.wal_bytes.known().is_none());
    }

    #[test]
    fn counters_rest_when_only_looking_moves_them() {
        let then = moment(100, 10, 0, &[]);
        assert!(moment(150, 10, 0, &[]).rests(&then));
        assert!(!moment(100, 9000, 0, &[]).rests(&then));
    }
}
