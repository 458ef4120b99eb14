//! Generators of one trial meet here: a place each, what they say to each other, and which trials are
//! parts of which. Rows are added, never changed; what one does for all is decided by a primary key.

use pgdyno_model::Outcome;
use pgdyno_model::notebook::{Meeting, Offer, Rendezvous, Whose, Word};
use pgdyno_spec::Failure;
use uuid::Uuid;

use super::{BUSY_LIMIT, Place, Store};
use crate::db::{self, Db, Optional, Row, Server, params};
use crate::schema::ddl;

/// In place of a generator's number: what one says for all, and the trial that comes of all parts.
const ALL: i64 = -1;
/// Columns of a meeting as [`meeting`] reads them.
const MEETING: &str = "uuid, join_key, generators, load_sha256, spec, created_us";

impl Store {
    /// The same store by a connection of its own.
    fn reopened(&self) -> Result<Self, Failure> {
        match (&self.place, &self.db) {
            (Place::Server(remote), Db::Server(server)) => {
                let db = Server::connect(server.info().clone(), false, BUSY_LIMIT);
                let db = db.map_err(self.failed("cannot open"))?;
                Ok(Self {
                    db: Db::Server(Box::new(db)),
                    place: Place::Server(remote.clone()),
                    version: self.version,
                })
            }
            (Place::File(path), _) => Self::existing(path),
            _ => Err(Failure::new("the store is not a file and not a server")),
        }
    }
}

impl Rendezvous for Store {
    fn place(&self) -> String {
        self.place()
    }

    fn again(&self) -> Result<Box<dyn Rendezvous>, Failure> {
        Ok(Box::new(self.reopened()?))
    }

    fn clock_us(&self) -> Result<u64, Failure> {
        let sql = match &self.db {
            // The host's own; SQLite's has milliseconds.
            Db::File(_) => {
                let now = std::time::SystemTime::now();
                let since = now.duration_since(std::time::UNIX_EPOCH);
                return Ok(since.unwrap_or_default().as_micros() as u64);
            }
            // Never now(), which does not move in a transaction.
            Db::Server(_) => {
                "SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000000) AS bigint)"
            }
        };
        let asked = self.db.query_row(sql, [0; 0], |row| row.get(0));
        asked.map_err(self.failed("cannot read the clock of"))
    }

    fn meet(&self, offer: &Offer, now_us: u64) -> Result<Meeting, Failure> {
        self.check_version()?;
        let met = self.db.transaction(|db| meet(db, offer, now_us));
        met.map_err(self.failed("cannot write to"))
    }

    fn claim(
        &self,
        meeting: &Meeting,
        host: &str,
        asked: Option<u32>,
    ) -> Result<Option<u32>, Failure> {
        let take = |generator: u32| {
            let sql = "INSERT INTO generator (meeting, generator, host) VALUES (?, ?, ?) \
                       ON CONFLICT DO NOTHING";
            let row = params![meeting.uuid, generator, host];
            let taken = self.db.execute(sql, row);
            taken.map_err(self.failed("cannot write to"))
        };
        if let Some(asked) = asked {
            return Ok((take(asked)? > 0).then_some(asked));
        }
        loop {
            let taken = self.hosts(meeting)?;
            let is_taken = |number: &u32| taken.iter().any(|(generator, _)| generator == number);
            let Some(free) = (0..meeting.generators).find(|number| !is_taken(number)) else {
                return Ok(None);
            };
            // Else another was faster.
            if take(free)? > 0 {
                return Ok(Some(free));
            }
        }
    }

    fn hosts(&self, meeting: &Meeting) -> Result<Vec<(u32, String)>, Failure> {
        let sql = "SELECT generator, host FROM generator WHERE meeting = ? ORDER BY generator";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let read = self.db.prepare(sql).query_map([&meeting.uuid], read);
        read.map_err(self.failed("cannot read"))
    }

    fn say(
        &self,
        meeting: &Meeting,
        what: &str,
        whose: Whose,
        word: &Word,
    ) -> Result<bool, Failure> {
        let place = match whose {
            Whose::Each => i64::from(word.generator),
            Whose::First => ALL,
        };
        let sql = "INSERT INTO word (meeting, what, step, place, generator, at_us, said) \
                   VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
        let row = params![
            meeting.uuid,
            what,
            word.step,
            place,
            word.generator,
            word.at_us,
            word.text
        ];
        let said = self.db.execute(sql, row);
        Ok(said.map_err(self.failed("cannot write to"))? > 0)
    }

    fn heard(&self, meeting: &Meeting, what: &str) -> Result<Vec<Word>, Failure> {
        let sql = "SELECT step, generator, at_us, said FROM word WHERE meeting = ? AND what = ? \
                   ORDER BY step, generator";
        let read = |row: &Row<'_>| {
            Ok(Word {
                step: row.get(0)?,
                generator: row.get(1)?,
                at_us: row.get(2)?,
                text: row.get(3)?,
            })
        };
        let read = self.db.prepare(sql).query_map([&*meeting.uuid, what], read);
        read.map_err(self.failed("cannot read"))
    }

    fn count(&self, meeting: &Meeting, what: &str) -> Result<u32, Failure> {
        let sql = "SELECT count(*) FROM word WHERE meeting = ? AND what = ?";
        let count = self
            .db
            .query_row(sql, [&*meeting.uuid, what], |row| row.get(0));
        count.map_err(self.failed("cannot read"))
    }

    fn last_steps(
        &self,
        meeting: &Meeting,
        what: &str,
        from: u32,
    ) -> Result<Vec<(u32, u32)>, Failure> {
        let sql = "SELECT generator, max(step) FROM word \
                   WHERE meeting = ? AND what = ? AND step >= ? \
                   GROUP BY generator ORDER BY generator";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let which = params![meeting.uuid, what, from];
        let read = self.db.prepare(sql).query_map(which, read);
        read.map_err(self.failed("cannot read"))
    }

    fn keep_part(
        &self,
        meeting: &Meeting,
        trial: i64,
        generator: Option<u32>,
    ) -> Result<(), Failure> {
        if generator.is_none() {
            // What another began to add up, and died. Who may not delete it leaves it.
            let began = "SELECT trial FROM part WHERE meeting = ? AND generator = ?";
            let which = params![meeting.uuid, ALL];
            let began = self.db.prepare(began).query_map(which, |row| row.get(0));
            for trial in began.map_err(self.failed("cannot read"))? {
                let trial: i64 = trial;
                let sql = "DELETE FROM trial_begun WHERE number = ?";
                let _ = self.db.execute(sql, [trial]);
            }
        }
        let sql = "INSERT INTO part (trial, meeting, generator) VALUES (?, ?, ?)";
        let row = params![trial, meeting.uuid, generator.map_or(ALL, i64::from)];
        let kept = self.db.execute(sql, row);
        kept.map(|_| ()).map_err(self.failed("cannot write to"))
    }

    fn parts(&self, meeting: &Meeting) -> Result<Vec<(u32, i64)>, Failure> {
        let sql = "SELECT generator, trial FROM part WHERE meeting = ? AND generator >= 0 \
                   ORDER BY generator, trial";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let read = self.db.prepare(sql).query_map([&meeting.uuid], read);
        read.map_err(self.failed("cannot read"))
    }

    fn outcome(&self, trial: i64) -> Result<Outcome, Failure> {
        self.outcome(trial)
    }

    fn copy_observed(&self, from: i64, to: i64) -> Result<(), Failure> {
        let copied = self.db.transaction(|db| {
            for table in OBSERVED.map(ddl::of) {
                // Findings without an instrument are of the part, not of the server.
                let by_instrument = if table.name == "finding" {
                    "AND instrument >= 0"
                } else {
                    ""
                };
                // The trial is their first column.
                let (names, name) = (table.names(), table.name);
                let read = names.replacen("trial", "CAST(? AS bigint)", 1);
                let sql = format!(
                    "INSERT INTO {name} ({names}) SELECT {read} FROM {name} WHERE trial = ? \
                     {by_instrument} ON CONFLICT DO NOTHING"
                );
                db.execute(&sql, [to, from])?;
            }
            db.execute(
                "INSERT INTO event (trial, event, at_us, kind, text, length_us, source) \
                 SELECT CAST(?1 AS bigint), event + (SELECT coalesce(max(event) + 1, 0) FROM event \
                 WHERE trial = ?1), at_us, kind, text, length_us, source \
                 FROM event WHERE trial = ?2 AND source IS NOT NULL",
                [to, from],
            )?;
            Ok(())
        });
        copied.map_err(self.failed("cannot write to"))
    }
}

/// Tables in which instruments write; they write events, too.
const OBSERVED: [&str; 8] = [
    "instrument",
    "instrument_cpu",
    "series",
    "samples",
    "total",
    "gap",
    "server_statement",
    "finding",
];

/// The meeting that is meant, opened when there is none.
fn meet(db: &Db, offer: &Offer, now_us: u64) -> db::Result<Meeting> {
    let key = match &offer.key {
        Some(key) => key.clone(),
        None => {
            // Counted before it is looked for: what is opened in between is found, and what is opened
            // after has the number that this one would open, so that both meet there.
            let sql = "SELECT count(*) FROM meeting WHERE load_sha256 = ? AND is_named = ?";
            let of_load = params![offer.load_sha256, false];
            let before: u64 = db.query_row(sql, of_load, |row| row.get(0))?;
            let newest = newest(db, offer)?;
            if let Some(newest) = &newest
                && newest.created_us.saturating_add(offer.age_max_us) >= now_us
                && waits(db, newest)?
            {
                return Ok(newest.clone());
            }
            let load = offer.load_sha256.get(..8).unwrap_or(&offer.load_sha256);
            format!("{load}-{}", before + 1)
        }
    };
    let sql = "INSERT INTO meeting (uuid, join_key, is_named, created_us, generators, load_sha256, spec) \
               VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (join_key) DO NOTHING";
    let row = params![
        Uuid::new_v4().to_string(),
        key,
        offer.key.is_some(),
        now_us,
        offer.generators,
        offer.load_sha256,
        offer.spec
    ];
    db.execute(sql, row)?;
    let sql = format!("SELECT {MEETING} FROM meeting WHERE join_key = ?");
    db.query_row(&sql, [&key], meeting)
}

/// The newest meeting of this load that has no name of its own.
fn newest(db: &Db, offer: &Offer) -> db::Result<Option<Meeting>> {
    let sql = format!(
        "SELECT {MEETING} FROM meeting WHERE load_sha256 = ? AND generators = ? AND is_named = ? \
         ORDER BY created_us DESC, uuid LIMIT 1"
    );
    let which = params![offer.load_sha256, offer.generators, false];
    db.query_row(&sql, which, meeting).optional()
}

/// Whether it has not begun, and there is a place left.
fn waits(db: &Db, meeting: &Meeting) -> db::Result<bool> {
    let sql = "SELECT (SELECT count(*) FROM word WHERE meeting = ?1 AND what = 'start'), \
               (SELECT count(*) FROM generator WHERE meeting = ?1)";
    let (begun, came): (u32, u32) =
        db.query_row(sql, [&meeting.uuid], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(begun == 0 && came < meeting.generators)
}

fn meeting(row: &Row<'_>) -> db::Result<Meeting> {
    Ok(Meeting {
        uuid: row.get(0)?,
        key: row.get(1)?,
        generators: row.get(2)?,
        load_sha256: row.get(3)?,
        spec: row.get(4)?,
        created_us: row.get(5)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::begin::example;
    use pgdyno_model::notebook::Filter;

    /// A trial that has ended.
    fn ended(store: &Store) -> i64 {
        let trial = store.begin(&example()).unwrap();
        let number = trial.number();
        trial.fail("over").unwrap();
        number
    }

    #[test]
    fn what_one_began_to_add_up_and_died_gives_way_to_what_another_adds_up() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("notebook.sqlite")).unwrap();
        let offer = Offer {
            key: Some("key".to_owned()),
            generators: 2,
            load_sha256: "load".to_owned(),
            spec: "{}".to_owned(),
            age_max_us: 0,
        };
        let meeting = store.meet(&offer, 1).unwrap();
        let parts = [ended(&store), ended(&store)];
        for (generator, part) in (0..).zip(parts) {
            store.keep_part(&meeting, part, Some(generator)).unwrap();
        }
        let of_all = || {
            let number = ended(&store);
            store.keep_part(&meeting, number, None).unwrap();
            number
        };
        of_all();
        let second = of_all();
        let listed = store.listed(&Filter::default()).unwrap();
        let listed: Vec<i64> = listed.iter().map(|trial| trial.number).collect();
        assert_eq!(listed, [second]);
        assert_eq!(store.parts(&meeting).unwrap(), [(0, 1), (1, 2)]);
    }
}
