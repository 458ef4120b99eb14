//! Which part of a trial of several generators a trial is, for those who watch it.

use pgdyno_model::State;
use pgdyno_model::document::page::{GeneratorPart, PartOf};
use pgdyno_model::notebook::Rendezvous;
use pgdyno_spec::{Failure, TrialSpec};

use super::Store;
use crate::db::{self, Error, Optional, params};

/// Who is not heard of for so long counts as dead (docs/scale-out.md).
const SILENCE_US: u64 = 20_000_000;
/// They say that they are alive every four seconds; earlier steps tell nothing more.
const STEPS: u32 = 10;

impl Store {
    /// Which part of a trial of several generators a trial is; `None`: none.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn part_of(&self, number: i64) -> Result<Option<PartOf>, Failure> {
        let found = self.read_part(number).map_err(self.failed("cannot read"))?;
        let Some((meeting, mut part)) = found else {
            return Ok(None);
        };
        if part.parts.iter().any(|part| part.state == State::Running) {
            let now_us = self.clock_us()?;
            let heard = self.heard_after(&meeting, now_us.saturating_sub(SILENCE_US));
            let heard = heard.map_err(self.failed("cannot read"))?;
            for part in &mut part.parts {
                part.is_silent = part.state == State::Running && !heard.contains(&part.generator);
            }
        }
        Ok(Some(part))
    }

    /// What all generators together were asked for, of a trial that is a part; `None`: it is none.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn asked_of_all(&self, number: i64) -> Result<Option<TrialSpec>, Failure> {
        let sql = "SELECT meeting.spec FROM part JOIN meeting ON meeting.uuid = part.meeting \
                   WHERE part.trial = ?";
        let spec = self
            .db
            .query_row(sql, [number], |row| row.get::<String>(0))
            .optional()
            .map_err(self.failed("cannot read"))?;
        // One of a later pgdyno may have more in it: then its parts are shown, each for itself.
        Ok(spec.and_then(|spec| serde_json::from_str(&spec).ok()))
    }

    fn read_part(&self, number: i64) -> db::Result<Option<(String, PartOf)>> {
        let sql = "SELECT meeting.uuid, part.generator, meeting.generators, \
                   (SELECT max(trial) FROM part whole WHERE whole.meeting = part.meeting \
                    AND whole.generator = -1) \
                   FROM part JOIN meeting ON meeting.uuid = part.meeting \
                   WHERE part.trial = ? AND part.generator >= 0";
        let found = self.db.query_row(sql, [number], |row| {
            let part = PartOf {
                generator: row.get(1)?,
                generators: row.get(2)?,
                whole: row.get(3)?,
                parts: Vec::new(),
            };
            Ok((row.get::<String>(0)?, part))
        });
        let Some((meeting, mut part)) = found.optional()? else {
            return Ok(None);
        };
        let sql = "SELECT part.generator, part.trial, trial.state \
                   FROM part JOIN trial ON trial.number = part.trial \
                   WHERE part.meeting = ? AND part.generator >= 0 \
                   ORDER BY part.generator, part.trial";
        part.parts = self.db.prepare(sql).query_map([&meeting], |row| {
            let state = row.get::<String>(2)?;
            Ok(GeneratorPart {
                generator: row.get(0)?,
                trial: row.get(1)?,
                state: State::from_name(&state)
                    .ok_or_else(|| Error::Unreadable("a trial's state".to_owned()))?,
                is_silent: false,
            })
        })?;
        Ok(Some((meeting, part)))
    }

    /// Generators that have said since then, by the notebook's clock, that they are alive.
    fn heard_after(&self, meeting: &str, at_us: u64) -> db::Result<Vec<u32>> {
        let sql = "SELECT DISTINCT generator FROM word WHERE meeting = ?1 AND what = 'alive' \
                   AND at_us > ?2 AND step >= (SELECT max(step) FROM word \
                   WHERE meeting = ?1 AND what = 'alive') - ?3";
        let which = params![meeting, at_us, STEPS];
        self.db.prepare(sql).query_map(which, |row| row.get(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::begin::example;
    use pgdyno_model::notebook::{Offer, Whose, Word};

    #[test]
    fn a_part_knows_the_others_and_which_of_them_are_silent() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("notebook.sqlite")).unwrap();
        let offer = Offer {
            key: Some("key".to_owned()),
            generators: 3,
            load_sha256: "load".to_owned(),
            spec: "{}".to_owned(),
            age_max_us: 0,
        };
        let meeting = store.meet(&offer, 1).unwrap();
        let now_us = store.clock_us().unwrap();
        let mut trials: Vec<_> = (0..3).map(|_| store.begin(&example()).unwrap()).collect();
        let numbers: Vec<i64> = trials.iter().map(|trial| trial.number()).collect();
        for (generator, ago_us) in [(0, 0), (1, 60_000_000), (2, 0)] {
            let number = numbers[generator as usize];
            store.keep_part(&meeting, number, Some(generator)).unwrap();
            let word = Word {
                step: 7,
                generator,
                at_us: now_us - ago_us,
                text: String::new(),
            };
            store.say(&meeting, "alive", Whose::Each, &word).unwrap();
        }
        let part = store.part_of(numbers[0]).unwrap().unwrap();
        assert_eq!((part.generator, part.generators, part.whole), (0, 3, None));
        let died = |part: &PartOf| -> Vec<bool> {
            part.parts.iter().map(GeneratorPart::has_died).collect()
        };
        assert_eq!(died(&part), [false, true, false]);
        let one = format!(
            "generator 0 of 3; generator 1 (trial {}) has ended before its time",
            numbers[1]
        );
        assert_eq!(part.words(), one);
        // One that is known to have ended is not silent, and has died all the same.
        for trial in trials.drain(1..) {
            trial.abort("its pgdyno ended").unwrap();
        }
        let whole = store.begin(&example()).unwrap();
        store.keep_part(&meeting, whole.number(), None).unwrap();
        let part = store.part_of(numbers[0]).unwrap().unwrap();
        assert_eq!(part.whole, Some(whole.number()));
        assert_eq!(died(&part), [false, true, true]);
        assert!(part.parts.iter().all(|part| !part.is_silent));
        assert_eq!(
            part.words(),
            "generator 0 of 3; 2 others have ended before their time"
        );
        assert_eq!(
            store.part_of(whole.number()).unwrap(),
            None,
            "it is all of them"
        );
    }
}
