//! All generators fill the tables that one of them prepares. What is in is for the database to say
//! ([`Others`]); here it is only said when to begin, and heard when it is over.

use std::cell::Cell;
use std::time::Instant;

use pgdyno_model::notebook::Whose;
use pgdyno_spec::Failure;
use pgdyno_workload::loader::{Others, Share};

use super::company::{Company, look_pause, words};

/// One generator's part in it.
pub struct Filling<'a> {
    company: &'a Company,
    /// For one that was called: when it looked last whether it is over, and what it saw.
    looked: Option<Cell<(Instant, bool)>>,
}

impl<'a> Filling<'a> {
    pub(super) fn calling(company: &'a Company) -> Self {
        Self {
            company,
            looked: None,
        }
    }

    /// One that it has called.
    pub(super) fn called(company: &'a Company) -> Self {
        Self {
            company,
            looked: Some(Cell::new((company.time.now(), false))),
        }
    }
}

impl Others for Filling<'_> {
    fn share(&self) -> Share {
        Share {
            index: self.company.generator(),
            of: self.company.generators(),
        }
    }

    /// Each that prepares calls anew: it may have created the tables again.
    fn call(&self) -> Result<(), Failure> {
        let before = self.company.heard(words::FILLING)?.pop();
        let step = before.map_or(0, |word| word.step + 1);
        let said = self
            .company
            .say(words::FILLING, Whose::First, step, String::new());
        said.map(|_| ())
    }

    fn is_over(&self) -> bool {
        let Some(looked) = &self.looked else {
            return false;
        };
        let (at, was_over) = looked.get();
        let company = self.company;
        if was_over || company.time.since(at) < look_pause(company.generators()) {
            return was_over;
        }
        // A notebook that is away says it later.
        let prepared = company.room.count(&company.meeting, words::PREPARED);
        let is_over = prepared.is_ok_and(|count| count > 0);
        looked.set((company.time.now(), is_over));
        is_over
    }
}
