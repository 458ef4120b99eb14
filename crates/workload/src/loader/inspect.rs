//! What is looked at and done when rows and keys are in: their number, their blocks, a checkpoint.

use pgdyno_session::quote_literal;

use super::load::Load;
use crate::manifest::Table;
use crate::{foreign_keys, table_params};
use pgdyno_database::{admin, trouble};
use pgdyno_spec::{Failure, text};

impl Load<'_, '_, '_, '_> {
    /// Each row must have a block to itself.
    pub(super) fn check_blocks(&mut self, table: &str, rows: u64) -> Result<(), Failure> {
        let Some(query) = self.product.dialect.rows_and_blocks else {
            return Ok(());
        };
        let query = query.replace("{table}", table);
        let query = query.replace("{literal}", &quote_literal(table));
        let counted = admin::rows(self.session.unhurried(), &query)
            .map_err(|e| trouble::server(&e, &format!("could not count the blocks of {table}")))?;
        let mut numbers = counted.into_iter().flatten().flatten();
        let (others, blocks) = (numbers.next(), numbers.next());
        if others.as_deref() == Some("0") {
            let blocks: u64 = blocks.and_then(|b| b.parse().ok()).unwrap_or_default();
            // A COPY takes some blocks in advance and may leave a few of them unused.
            let empty = match blocks.saturating_sub(rows) {
                0 => String::new(),
                empty => format!(", {} of them empty", text::count(empty)),
            };
            let (rows, blocks) = (text::count(rows), text::count(blocks));
            let reported =
                format!("{table}: a block to each of {rows} rows ({blocks} blocks{empty})");
            self.means.push(reported);
            return Ok(());
        }
        let failure = Failure::new(format!(
            "{table} is to have one row in a block, and {} rows share one with others",
            others.unwrap_or_default()
        ));
        let failure = failure.hint(
            "make its rows longer, or the table's fillfactor lower, so that no second one fits",
        );
        let pack = self.request.pack;
        let mut names: Vec<String> = table_params::of(pack).into_iter().collect();
        let dialect = self.product.dialect.name;
        names.retain(|name| pack.param(name).is_some_and(|p| p.is_for(dialect)));
        if names.is_empty() {
            Err(failure)
        } else {
            Err(failure.hint(format!(
                "the parameters that the tables depend on: {} (--param NAME=VALUE)",
                names.join(", ")
            )))
        }
    }

    /// Says which foreign keys hold for new rows only.
    pub(super) fn tell_unvalidated(&mut self, tables: &[Table], after_load: &[String]) {
        let mut statements = after_load.iter();
        if !statements.any(|sql| sql.to_ascii_lowercase().contains("foreign key")) {
            return;
        }
        let names = tables.iter().map(|table| table.name.as_str());
        // Where the catalog is another, nothing is known.
        if let Ok(Some(text)) = foreign_keys::unvalidated(self.session, names) {
            self.watch.progress.warning(&text);
        }
    }

    /// So that nothing of the load is left to be written later. What is not allowed is reported.
    pub(super) fn checkpoint(&mut self) {
        let Some(checkpoint) = self.product.dialect.checkpoint else {
            return;
        };
        self.watch.progress.step("checkpoint");
        if let Err(e) = self.sql(checkpoint) {
            let why = e
                .server()
                .map_or_else(String::new, |e| format!(": {}", e.message()));
            self.means.push(format!("without a checkpoint{why}"));
        }
    }

    /// The rows must be there, all of them.
    pub(super) fn count(&mut self, table: &str, rows: u64) -> Result<(), Failure> {
        let counted = admin::value(
            self.session.unhurried(),
            &format!("SELECT count(*) FROM {table}"),
        )
        .map_err(|e| trouble::server(&e, &format!("could not count the rows of {table}")))?
        .unwrap_or_default();
        if counted == rows.to_string() {
            return Ok(());
        }
        Err(Failure::new(format!(
            "{table} has {counted} rows after the load, not {rows}"
        ))
        .hint("something else changes the table; use a separate database"))
    }
}
