//! Asks checks while transactions run: an instrument, on a thread and a connection of its own. A look is
//! one statement, which sees one moment of the database.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pgdyno_database::open::Endpoint;
use pgdyno_model::observed::Gap;
use pgdyno_observe::{Instrument, Readings};
use pgdyno_session::Session;
use pgdyno_workload::manifest::Moment;

use super::{Asked, lock};
use crate::prepare::Prepared;

/// A look that takes longer is given up.
const LIMIT: Duration = Duration::from_secs(10);

struct Sampler {
    endpoint: Endpoint,
    all: Arc<Vec<Mutex<Asked>>>,
    session: Option<Session>,
    due: Vec<Option<Instant>>,
    interval: Duration,
}

/// `None` when nothing is to be asked during the trial.
pub(super) fn of(all: &Arc<Vec<Mutex<Asked>>>, prepared: &Prepared) -> Option<Box<dyn Instrument>> {
    let every = all.iter().filter_map(|asked| {
        let asked = lock(asked);
        asked.is_at(Moment::During).then_some(asked.check.every)
    });
    let interval = every.min()?;
    Some(Box::new(Sampler {
        endpoint: prepared.target.endpoints.first()?.within(LIMIT),
        due: vec![None; all.len()],
        all: all.clone(),
        session: None,
        interval,
    }))
}

impl Sampler {
    fn session(&mut self) -> Result<&mut Session, Gap> {
        if self.session.as_ref().is_none_or(Session::is_broken) {
            let session = self.endpoint.connect();
            let mut session = session.map_err(|e| Gap::because(e.to_string()))?;
            session.set_answer_timeout(Some(LIMIT));
            self.session = Some(session);
        }
        self.session
            .as_mut()
            .ok_or_else(|| Gap::because("there is no session to ask in"))
    }
}

impl Instrument for Sampler {
    fn name(&self) -> &str {
        "checks"
    }

    fn source(&self) -> String {
        "the pack's checks".to_owned()
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    fn begin(&mut self, _out: &mut Readings) -> Result<(), Gap> {
        let now = Instant::now();
        for (due, asked) in self.due.iter_mut().zip(self.all.iter()) {
            let asked = lock(asked);
            *due = asked.is_at(Moment::During).then(|| now + asked.check.every);
        }
        self.session().map(drop)
    }

    fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let all = self.all.clone();
        for (number, asked) in all.iter().enumerate() {
            let now = Instant::now();
            // The clock of readings may be a little ahead of what is due.
            let is_due = |due: Instant| due <= now + self.interval / 2;
            if !self.due[number].is_some_and(is_due) {
                continue;
            }
            let session = self.session()?;
            let mut asked = lock(asked);
            let failures = asked.result.failures;
            asked.ask(session, Moment::During);
            self.due[number] = Some(now + asked.check.every);
            if asked.result.failures > failures {
                let found = asked.result.found.as_deref().unwrap_or_default();
                let text = format!(
                    "{}: expected {}, found {found}",
                    asked.result.name, asked.result.expected
                );
                out.event("check-failed", now, None, text);
            }
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut Readings) -> Result<(), Gap> {
        Ok(())
    }
}
