//! Keeping a run of a command. The store is opened before the run, so that an unusable store costs no
//! measurement. If it fails after the run, the error comes last and names a file that has the result.

use std::path::Path;

use pgdyno_model::notebook::{Filter, TrialHeader, TrialRow};
use pgdyno_model::{Outcome, State};
use pgdyno_run::prepare::Prepared;
use pgdyno_spec::Failure;
use pgdyno_store::{Store, TrialWriter, place};

/// Where a run is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredRun {
    pub number: i64,
    /// The newest complete trial before it that is like it: of the same workload, tables and server, and in the
    /// same experiment or in none.
    pub before: Option<i64>,
}

/// A run that is kept, or not.
pub struct Keep {
    store: Option<Store>,
    writer: Option<TrialWriter>,
}

impl Keep {
    /// In the store at this path, or where the environment says; `None`: not asked for.
    ///
    /// # Errors
    /// The store cannot be opened or written.
    pub fn open(store: Option<Option<&Path>>) -> Result<Self, Failure> {
        let open = |path| {
            let store = Store::open(&place::path(path)?)?;
            store.check_writable()?;
            Ok(store)
        };
        Ok(Self {
            store: store.map(open).transpose()?,
            writer: None,
        })
    }

    /// Whether the environment or a configuration file says where runs are kept.
    pub fn is_wished() -> bool {
        place::is_named()
    }

    /// The run of what was prepared is about to begin.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn begin(
        mut self,
        prepared: &mut Prepared,
        header: impl FnOnce(&Prepared) -> TrialHeader,
    ) -> Result<Self, Failure> {
        if let Some(store) = &self.store {
            prepared.is_kept_in(store);
            self.writer = Some(store.begin(&header(prepared))?);
        }
        Ok(self)
    }

    /// The trial's number, from [`Keep::begin`] on, if it is kept.
    pub fn number(&self) -> Option<i64> {
        self.writer.as_ref().map(TrialWriter::number)
    }

    /// What watches the run for the store.
    pub fn observer(&mut self) -> &mut Option<TrialWriter> {
        &mut self.writer
    }

    /// It is over; gives the trial's place when it is kept, and says when its rows wait.
    ///
    /// # Errors
    /// It is not kept: [`crate::rescued`] writes its result elsewhere, after everything else is printed.
    pub fn finish(self, outcome: &Outcome) -> Result<Option<StoredRun>, Failure> {
        let Some(writer) = self.writer else {
            return Ok(None);
        };
        let number = writer.number();
        let ended = writer.finish(outcome)?;
        if let Some(why) = ended.without_history {
            crate::remark!(
                "pgdyno: the history is not kept with trial {number}: {}",
                why.message
            );
        }
        if let Some(why) = ended.waits {
            let message = &why.message;
            crate::remark!("pgdyno: trial {number} waits on this host: {message}");
            crate::remark!("pgdyno: send it when the notebook is back: pgdyno store push");
        }
        let before = self
            .store
            .and_then(|store| before(&store, number, &outcome.workload));
        Ok(Some(StoredRun { number, before }))
    }

    /// It came to nothing, because of this.
    pub fn end_with(self, failure: &Failure) {
        if let Some(writer) = self.writer {
            warn_of(writer.end_with(failure));
        }
    }

    /// It came to nothing, for this reason.
    pub fn fail(self, reason: &str) {
        if let Some(writer) = self.writer {
            warn_of(writer.fail(reason));
        }
    }

    /// It was stopped before it had a result.
    pub fn abort(self, reason: &str) {
        if let Some(writer) = self.writer {
            warn_of(writer.abort(reason));
        }
    }
}

/// So many trials are looked through for one that is like another.
const LOOKED_THROUGH: u64 = 20;

/// The newest complete trial of this workload before that with this number that is like it. Not worth a failure.
fn before(store: &Store, number: i64, workload: &str) -> Option<i64> {
    let own = store.trial(&number.to_string()).ok()?;
    let filter = Filter {
        workload: Some(workload.to_owned()),
        state: Some(State::Complete),
        limit: Some(LOOKED_THROUGH),
        ..Filter::default()
    };
    let rows = store.trials(&filter).ok()?;
    let mut earlier = rows.iter().filter(|other| other.number < number);
    earlier
        .find(|other| is_like(&own, other))
        .map(|it| it.number)
}

/// Whether two trials of one workload can be held against each other: what differs is how the server or the load was
/// set, not which server, tables or experiment.
fn is_like(a: &TrialRow, b: &TrialRow) -> bool {
    a.target == b.target
        && a.experiment == b.experiment
        && a.pack_sha256 == b.pack_sha256
        && a.spec.params == b.spec.params
        && a.spec.rate.is_some() == b.spec.rate.is_some()
        && b.excluded.is_none()
}

/// A warning is enough: there is no result to lose, and the failure itself is printed anyway.
fn warn_of(result: Result<(), Failure>) {
    if let Err(failure) = result {
        crate::remark!("pgdyno: warning: this run is not kept: {}", failure.message);
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_spec::Rate;
    use pgdyno_store::example;

    use super::*;

    fn row() -> TrialRow {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("s")).unwrap();
        let writer = store.begin(&example()).unwrap();
        let number = writer.number();
        writer.fail("not yet").unwrap();
        store.trial(&number.to_string()).unwrap()
    }

    #[test]
    fn trials_are_alike_where_only_settings_or_clients_differ() {
        let (a, mut b) = (row(), row());
        b.server_version = Some("18.1".to_owned());
        b.spec.clients = "8".parse().ok();
        assert!(is_like(&a, &b));
        let unlike: [fn(&mut TrialRow); 6] = [
            |b| b.target = "another server".to_owned(),
            |b| b.experiment = Some(1),
            |b| b.pack_sha256 = Some("other scripts".to_owned()),
            |b| b.spec.params = vec!["scale=10".to_owned()],
            |b| b.spec.rate = "500".parse::<Rate>().ok(),
            |b| b.excluded = Some("a backup was running".to_owned()),
        ];
        for change in unlike {
            let mut b = row();
            change(&mut b);
            assert!(!is_like(&a, &b), "{b:?}");
        }
    }
}
