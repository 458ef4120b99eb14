//! A load that was interrupted goes on where it ended: what has been done is recorded in a table beside
//! those that are loaded, for as long as the load lasts.

use std::collections::BTreeSet;

use super::load::{Load, Resume};
use crate::mark;
use crate::pack::Pack;
use crate::recipe::Recipe;
use crate::state::Found;
use pgdyno_database::admin;
use pgdyno_database::dialect::Filling;

/// Where a load of this pack's tables records what it has done, while it lasts.
fn record_name(pack: &Pack) -> String {
    let name = pack.tables_pack().name().to_lowercase().replace('-', "_");
    format!("pgdyno_loading_{name}")
}

fn range_done(row: Vec<Option<String>>) -> Option<(String, u64)> {
    let mut values = row.into_iter().flatten();
    Some((values.next()?, values.next()?.parse().ok()?))
}

impl Load<'_, '_, '_, '_> {
    /// Whether and from where a load that ends early can be gone on with; `None`: it starts again.
    pub(super) fn resume(&mut self, recipe: &Recipe, found: &[Found]) -> Option<Resume> {
        // Rows that the product commits in the middle of a statement cannot be recorded with it.
        let commits_by_itself = matches!(self.facts().filling, Filling::Committing { .. });
        let by_ranges = recipe.tables.iter().all(|table| table.by_ranges);
        if commits_by_itself || !by_ranges || recipe.tables.is_empty() {
            return None;
        }
        let mut resume = Resume {
            record: record_name(self.request.pack),
            done: BTreeSet::new(),
            goes_on: false,
        };
        let mark = self.mark_for(recipe, mark::State::Loading);
        let is_all_of_it = found.len() == self.tables.len()
            && found.iter().all(|found| {
                let is_same = found.mark.as_ref().map(|other| mark.is_same_load(other));
                is_same == Some(true)
            });
        if is_all_of_it && !self.request.replace && self.request.drop_tables.is_empty() {
            let sql = format!("SELECT filled, row_first FROM {}", resume.record);
            // Without the record there is nothing to go on from.
            if let Ok(rows) = admin::rows(self.session, &sql) {
                resume.goes_on = true;
                resume.done = rows.into_iter().filter_map(range_done).collect();
            }
        }
        Some(resume)
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
        if resume.done.contains(&(String::new(), number)) {
            return Ok(());
        }
        let note = format!("INSERT INTO {} VALUES ('', {number}, 0)", resume.record);
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
