//! One table's rows by COPY over the load's own session, or over one on each node.

use std::ops::Range;

use super::load::Load;
use crate::filling::{Beside, Job};
use crate::recipe::TableRows;
use pgdyno_database::dialect::Filling;
use pgdyno_database::trouble;
use pgdyno_spec::Failure;

/// Bytes of COPY data made between two looks at the clock and at interrupts.
const CHUNK_BYTES: usize = 64 << 10;

/// The rows of a table are in.
pub(super) struct Filled {
    pub(super) rows: u64,
    /// Whether the server has counted them: they are one COPY's, and it had the table to itself until it was
    /// committed. Others are counted when the load is over.
    pub(super) is_counted: bool,
}

impl Load<'_, '_, '_, '_> {
    /// One table's rows, as the product wants them.
    pub(super) fn fill(&mut self, table: &mut TableRows) -> Result<Filled, Failure> {
        let name = table.name.clone();
        let rows = table.rows;
        self.watch.progress.table(&name, rows);
        let record = self.resume.as_ref().map(|resume| resume.record.clone());
        let is_shared = self.resume.as_ref().is_some_and(|resume| resume.is_shared);
        let job = Job {
            product: self.product,
            connections: self.request.connections.on(self.product),
            endpoints: self.watch.endpoints,
            record: record.as_deref(),
            stop: self.stop,
        };
        if job.is_for(table) {
            let mut beside = Beside {
                progress: &mut *self.watch.progress,
                means: &mut self.means,
                others: self.watch.others.filter(|_| is_shared),
            };
            let filled = job.fill(self.session, table, &mut beside);
            self.watch.progress.table_ends();
            return filled.map(|_| Filled {
                rows,
                is_counted: false,
            });
        }
        let filling = |e| trouble::server(&e, &format!("could not fill {name}"));
        let copy = format!("COPY {name} ({}) FROM STDIN", table.column_list());
        let mut is_counted = false;
        let copied = match (self.facts().filling, &mut self.spread) {
            (
                Filling::Batches { rows: batch } | Filling::Committing { rows: batch },
                Some(spread),
            ) if rows > batch => {
                let copy = format!("{copy}{}", self.product.dialect.tables.filling.options());
                let progress = &mut self.watch.progress;
                let mut reported = |row| progress.rows(row);
                spread.copy(&copy, table, 0..rows, batch, self.stop, &mut reported)?
            }
            (Filling::Whole, _) => {
                let since = self.facts().copy_freeze_since;
                let freeze = since.is_some_and(|since| self.product.is_since(since));
                let options = if freeze { " WITH (FREEZE ON)" } else { "" };
                self.sql("BEGIN").map_err(filling)?;
                self.sql(&format!("TRUNCATE {name}")).map_err(filling)?;
                let copied = self.copy(&format!("{copy}{options}"), table, 0..rows)?;
                self.sql("COMMIT").map_err(filling)?;
                is_counted = true;
                copied
            }
            (Filling::Batches { rows: batch }, _) => {
                let mut copied = 0;
                let mut row = 0;
                while row < rows {
                    let end = rows.min(row.saturating_add(batch.max(1)));
                    copied += self.copy(&copy, table, row..end)?;
                    row = end;
                }
                copied
            }
            (filling @ Filling::Committing { .. }, _) => {
                let copy = format!("{copy}{}", filling.options());
                self.copy(&copy, table, 0..rows)?
            }
        };
        self.watch.progress.table_ends();
        if copied != rows {
            return Err(Failure::new(format!(
                "the server took {copied} rows of {name} and not {rows}"
            )));
        }
        Ok(Filled { rows, is_counted })
    }

    /// These rows (the first is 0) by one COPY; how many the server says it took.
    pub(super) fn copy(
        &mut self,
        sql: &str,
        table: &mut TableRows,
        rows: Range<u64>,
    ) -> Result<u64, Failure> {
        let name = table.name.clone();
        let filling = |e| trouble::server(&e, &format!("could not fill {name}"));
        let mut copy = self.session.copy_in(sql).map_err(filling)?;
        let mut row = rows.start;
        while row < rows.end {
            let mut made = Ok(());
            copy.write_with(|out| {
                let full = out.len() + CHUNK_BYTES;
                made = table.push_rows(&mut row, rows.end, full, out);
            })
            .map_err(filling)?;
            if let Err(why) = made {
                let _ = copy.abort("a row could not be generated");
                return Err(Failure::new(why));
            }
            self.watch.progress.rows(row);
            if self.stop.asked() {
                let _ = copy.abort("interrupted");
                return Err(Failure::new("interrupted"));
            }
        }
        copy.finish().map_err(filling)
    }
}
