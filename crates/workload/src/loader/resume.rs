//! A load that was interrupted goes on where it ended: what has been done is recorded in a table beside
//! those that are loaded, for as long as the load lasts. By the same record several processes fill them
//! at the same time ([`super::others`]).

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use super::load::{Load, Resume, mark_for};
use crate::filling;
use crate::mark::{self, Mark};
use crate::recipe::Recipe;
use crate::state::ExistingTable;
use pgdyno_database::dialect::Filling;

/// A load with a table of so many rows is shared by generators; below, one of them has loaded them in less
/// than the second that it takes the others to notice and to connect.
const SHARED_ROWS_MIN: u64 = 200_000;

/// Under this name, which no table has, the record has the statements behind the rows.
const STEPS: &str = "";

/// Where the load that leaves this mark records what it has done, while it lasts. Another load, of other
/// parameters say, has another: what is still on its way from this one finds no place there.
pub(super) fn record_name(mark: &Mark) -> String {
    let of_load = Mark {
        state: mark::State::Loading,
        experiment: None,
        ..mark.clone()
    };
    let hash = Sha256::digest(of_load.comment());
    let hash: String = hash[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    let name = mark.pack.to_lowercase().replace('-', "_");
    format!("pgdyno_loading_{name}_{hash}")
}

/// The records of interrupted loads that left these tables.
pub(super) fn records_of(found: &[ExistingTable]) -> BTreeSet<String> {
    let marks = found.iter().filter_map(|found| found.mark.as_ref());
    let interrupted = marks.filter(|mark| mark.state == mark::State::Loading);
    interrupted.map(record_name).collect()
}

impl Load<'_, '_, '_, '_> {
    /// Whether and from where a load that ends early can be gone on with; `None`: it starts again.
    pub(super) fn resume(&mut self, recipe: &Recipe, found: &[ExistingTable]) -> Option<Resume> {
        if recipe.tables.is_empty() {
            return None;
        }
        let mark = mark_for(self.request.pack, recipe, self.request.experiment);
        let record = record_name(&mark);
        let is_all_of_it = found.len() == self.tables.len()
            && found.iter().all(|found| {
                let is_same = found.mark.as_ref().map(|other| mark.is_same_load(other));
                is_same == Some(true)
            });
        let mut done = None;
        if is_all_of_it && !self.request.replace && self.request.drop_tables.is_empty() {
            // Without the record there is nothing to go on from.
            done = filling::recorded(self.session, &record, STEPS).ok();
        }
        // Rows that the product commits in the middle of a statement cannot be recorded with it.
        let commits_by_itself = matches!(self.facts().filling, Filling::Committing { .. });
        let by_ranges = !commits_by_itself && recipe.tables.iter().all(|table| table.by_ranges);
        let is_shared = self.watch.others.is_some()
            && recipe
                .tables
                .iter()
                .any(|table| table.rows >= SHARED_ROWS_MIN);
        let goes_on = done.is_some();
        (by_ranges || is_shared || goes_on).then(|| Resume {
            record,
            steps_done: done.unwrap_or_default(),
            goes_on,
            is_shared,
        })
    }

    /// One statement behind the rows; one that an interrupted load has executed is left out.
    pub(super) fn step(
        &mut self,
        number: u64,
        statement: &str,
    ) -> Result<(), pgdyno_session::Error> {
        let Some(resume) = &self.resume else {
            return self.sql(statement);
        };
        if resume.steps_done.contains(&number) {
            return Ok(());
        }
        let note = format!(
            "INSERT INTO {} VALUES ('{STEPS}', {number}, 0)",
            resume.record
        );
        let in_one = self.facts().transactional_ddl;
        if in_one {
            self.sql("BEGIN")?;
        }
        self.sql(statement)?;
        self.sql(&note)?;
        if in_one {
            self.sql("COMMIT")?;
        }
        Ok(())
    }
}
