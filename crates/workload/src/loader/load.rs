//! One load, step by step, and what it leaves behind when it ends early.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use pgdyno_session::{Session, quote_literal};

use super::check;
use super::fill::Filled;
use super::resume::records_of;
use super::{How, Loaded, Request, Watch};
use crate::manifest::Table;
use crate::mark::{self, Mark};
use crate::own_data::Reading;
use crate::pack::Pack;
use crate::recipe::Recipe;
use crate::spread::Spread;
use crate::state::ExistingTable;
use crate::statements::Statement;
use crate::stop::Stop;
use pgdyno_database::dialect::{Product, TableFacts};
use pgdyno_database::{admin, trouble};
use pgdyno_spec::{Exit, Failure};

/// What of the tables would stay if the load ended now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reached {
    Nothing,
    /// The old tables are gone for good, and perhaps some new ones are there.
    Dropped,
    /// The new ones are there, with the mark that they are not complete.
    Created,
}

/// What a load can go on from.
pub(super) struct Resume {
    /// The table where it is recorded what has been done.
    pub(super) record: String,
    /// Statements behind the rows that have been executed.
    pub(super) steps_done: BTreeSet<u64>,
    /// Whether this load goes on with what another one began.
    pub(super) goes_on: bool,
    /// Whether others fill the tables, too.
    pub(super) is_shared: bool,
}

pub(super) struct Load<'s, 'r, 'w, 'p> {
    pub(super) session: &'s mut Session,
    pub(super) request: &'r Request<'r>,
    /// As the parameters have them.
    pub(super) tables: &'r [Table],
    pub(super) product: &'r Product,
    pub(super) watch: &'w mut Watch<'p>,
    pub(super) stop: Stop,
    pub(super) means: Vec<String>,
    /// For tables that are filled by ranges throughout.
    pub(super) resume: Option<Resume>,
    /// Sessions on every node, where there are several to fill through.
    pub(super) spread: Option<Spread>,
}

impl Load<'_, '_, '_, '_> {
    pub(super) fn run(mut self, found: &[ExistingTable]) -> Result<Loaded, Failure> {
        let began = Instant::now();
        let pack = self.request.pack;
        let variables = self.request.params.or_defaults(pack);
        let dialect = self.product.dialect.name;
        let mut reading = Reading {
            progress: &mut *self.watch.progress,
            stop: self.stop,
        };
        let recipe = Recipe::watched(pack.tables_pack(), dialect, &variables, &mut reading);
        let mut recipe = recipe.map_err(|why| match self.stop.exit_code() {
            Some(code) => Failure::with(
                Exit::Interrupted(code),
                format!("loading {} was interrupted", pack.name()),
            ),
            None => Failure::new(why),
        })?;
        let create = recipe.schema_at().map_err(Failure::new)?;
        let after_load = recipe.after_load_at().map_err(Failure::new)?;
        let mut reached = Reached::Nothing;
        self.resume = self.resume(&recipe, found);
        let result = self
            .settings(&recipe)
            .and_then(|()| self.steps(found, &mut recipe, &create, &after_load, &mut reached))
            .and_then(|rows| Ok((rows, self.as_loaded(&recipe, variables)?)));
        self.watch.progress.table_ends();
        self.session.clean_up();
        if result.is_err() {
            // Leave no transaction open; on a lost connection there is none.
            let _ = self.sql("ROLLBACK");
            // What is there already is pgdyno's: without the mark nothing would know.
            if reached == Reached::Dropped && self.mark_each(&recipe) {
                reached = Reached::Created;
                // Where the schema is not complete there is no record yet to go on from.
                self.resume = None;
            }
        }
        self.reset_settings();
        match result {
            Ok((rows, variables)) => Ok(Loaded {
                variables,
                how: How::LoadedNow,
                rows,
                elapsed: began.elapsed(),
                means: self.means,
                remarks: Vec::new(),
            }),
            Err(failure) => {
                let failure = match self.stop.exit_code() {
                    Some(code) => Failure::with(
                        Exit::Interrupted(code),
                        format!("loading {} was interrupted", pack.name()),
                    ),
                    None => failure,
                };
                Err(self.left_behind(failure, reached, found))
            }
        }
    }

    /// The parameters as the tables have them: the row count of a user's own files is not known.
    fn as_loaded(
        &mut self,
        recipe: &Recipe,
        mut variables: BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, Failure> {
        if !recipe.files.is_empty() {
            let pack = self.request.pack;
            let loaded = check::loaded(self.session, self.product.dialect, pack)?;
            variables.extend(loaded);
        }
        Ok(variables)
    }

    fn left_behind(&self, failure: Failure, reached: Reached, found: &[ExistingTable]) -> Failure {
        let what = match (reached, found.is_empty()) {
            (Reached::Created, _) => None,
            (Reached::Dropped, false) => Some("the old tables are dropped and not replaced"),
            (Reached::Nothing, false) => Some("the tables are as they were: nothing was changed"),
            (_, true) => Some("no table was created"),
        };
        if let Some(what) = what {
            return failure.detail(what);
        }
        let tables: Vec<_> = self.tables.iter().map(|t| t.name.as_str()).collect();
        failure
            .detail(format!("incomplete tables left: {}", tables.join(", ")))
            .hint(format!(
                "the next `pgdyno load {}` or run of it {}",
                self.request.pack.place,
                match self.resume {
                    Some(_) => "with the same parameters continues the load",
                    None => "with the same parameters drops them and starts again",
                }
            ))
    }

    fn steps(
        &mut self,
        found: &[ExistingTable],
        recipe: &mut Recipe,
        create: &[Statement],
        after_load: &[Statement],
        reached: &mut Reached,
    ) -> Result<Vec<(String, u64)>, Failure> {
        let tables = self.tables;
        let creating = |e| trouble::server(&e, "could not create the tables");
        self.watch.progress.step("creating tables");
        let in_one = self.facts().transactional_ddl;
        if self.resume.as_ref().is_some_and(|resume| resume.goes_on) {
            *reached = Reached::Created;
            return self.rows_and_keys(tables, recipe, after_load);
        }
        if in_one {
            self.sql("BEGIN").map_err(creating)?;
        }
        // Before the tables: so do those who still fill them lock both.
        for record in records_of(found) {
            self.sql(&format!("DROP TABLE IF EXISTS {record}"))
                .map_err(|e| trouble::server(&e, "could not drop the old tables"))?;
        }
        if !found.is_empty() {
            // In one statement, so that keys between the tables do not matter; no CASCADE, so that
            // nothing else goes with them.
            let names: Vec<_> = found.iter().map(|f| f.name.as_str()).collect();
            self.sql(&format!("DROP TABLE {}", names.join(", ")))
                .map_err(|e| trouble::server(&e, "could not drop the old tables"))?;
        }
        if !in_one {
            *reached = Reached::Dropped;
        }
        if create.iter().any(|statement| splits(&statement.text)) {
            self.allow_splits()?;
        }
        for statement in create {
            self.sql(&statement.text)
                .map_err(|e| refused(&e, "could not create the tables", statement))?;
        }
        if let Some(resume) = &self.resume {
            let sql = format!(
                "CREATE TABLE {} (filled text NOT NULL, row_first bigint NOT NULL, row_end bigint \
                 NOT NULL, PRIMARY KEY (filled, row_first))",
                resume.record
            );
            self.sql(&sql).map_err(creating)?;
        }
        self.mark(recipe, mark::State::Loading).map_err(creating)?;
        if in_one {
            self.sql("COMMIT").map_err(creating)?;
        }
        *reached = Reached::Created;
        self.rows_and_keys(tables, recipe, after_load)
    }

    /// What comes when the tables are there.
    fn rows_and_keys(
        &mut self,
        tables: &[Table],
        recipe: &mut Recipe,
        after_load: &[Statement],
    ) -> Result<Vec<(String, u64)>, Failure> {
        let in_one = self.facts().transactional_ddl;
        if self.resume.as_ref().is_some_and(|resume| resume.is_shared) {
            self.call_others();
        }
        let (mut filled, mut uncounted) = (Vec::new(), Vec::new());
        for table in &mut recipe.tables {
            let name = table.name.clone();
            let Filled { rows, is_counted } = self.fill(table)?;
            if !is_counted {
                uncounted.push((name.clone(), rows));
            }
            filled.push((name, rows));
        }
        if !after_load.is_empty() {
            self.watch.progress.step("creating keys");
        }
        for (number, statement) in after_load.iter().enumerate() {
            self.step(number as u64, &statement.text)
                .map_err(|e| refused(&e, "could not create the keys", statement))?;
        }
        let after_load: Vec<String> = after_load.iter().map(|s| s.text.clone()).collect();
        self.tell_unvalidated(tables, &after_load);
        let dialect = self.product.dialect;
        let pack = self.request.pack;
        // The first reads of an accounted run are to find nothing that the load has left to do.
        let settles = pack.is_accounted() || pack.tables_pack().is_accounted();
        if !dialect.after_load.is_empty() {
            self.watch.progress.step(match dialect.vacuum {
                Some(_) => "vacuuming",
                None => "analyzing",
            });
        }
        for table in tables {
            for statement in dialect.after_load(&table.name, settles) {
                self.sql(&statement).map_err(|e| {
                    trouble::server(&e, &format!("could not tidy up {}", table.name))
                })?;
            }
        }
        for (table, rows) in &uncounted {
            self.count(table, *rows)?;
        }
        for (table, rows) in &filled {
            if tables.iter().any(|t| t.row_per_block && t.name == *table) {
                self.check_blocks(table, *rows)?;
            }
        }
        if settles {
            self.checkpoint();
        }
        let finishing = |e| trouble::server(&e, "could not finish the load");
        if in_one {
            self.sql("BEGIN").map_err(finishing)?;
        }
        self.mark(recipe, mark::State::Complete)
            .map_err(finishing)?;
        if let Some(resume) = &self.resume {
            let sql = format!("DROP TABLE {}", resume.record);
            self.sql(&sql).map_err(finishing)?;
        }
        if in_one {
            self.sql("COMMIT").map_err(finishing)?;
        }
        Ok(filled)
    }

    pub(super) fn facts(&self) -> &'static TableFacts {
        &self.product.dialect.tables
    }

    pub(super) fn sql(&mut self, sql: &str) -> Result<(), pgdyno_session::Error> {
        admin::run(self.session, sql)
    }

    /// Marks whichever tables are there; whether there are any.
    fn mark_each(&mut self, recipe: &Recipe) -> bool {
        let statements = self.comments(recipe, mark::State::Loading);
        let marked = statements.iter().filter(|sql| self.sql(sql).is_ok());
        marked.count() > 0
    }

    pub(super) fn mark(
        &mut self,
        recipe: &Recipe,
        state: mark::State,
    ) -> Result<(), pgdyno_session::Error> {
        let statements = self.comments(recipe, state);
        statements.iter().try_for_each(|sql| self.sql(sql))
    }

    fn comments(&self, recipe: &Recipe, state: mark::State) -> Vec<String> {
        let mark = Mark {
            state,
            ..mark_for(self.request.pack, recipe, self.request.experiment)
        };
        let comment = quote_literal(&mark.comment());
        let tables = self.tables.iter();
        tables
            .map(|table| format!("COMMENT ON TABLE {} IS {comment}", table.name))
            .collect()
    }
}

/// Whether the statement splits a table that is there.
fn splits(statement: &str) -> bool {
    let mut words = statement.split_whitespace().map(str::to_uppercase);
    words.next().as_deref() == Some("ALTER")
        && words.by_ref().any(|word| word == "SPLIT")
        && words.next().as_deref() == Some("AT")
}

/// What a server said about a statement of the pack's, with the line that it is about, where it is the
/// statement that is wrong.
fn refused(error: &pgdyno_session::Error, doing: &str, statement: &Statement) -> Failure {
    let code = error.server().map_or("", |e| e.sqlstate());
    // Syntax, names and types; a privilege is no matter of the text.
    if !code.starts_with("42") || code == "42501" {
        return trouble::server(error, doing);
    }
    let position = error.server().and_then(|e| e.field(b'P'));
    let place = statement.place(position.and_then(|position| position.parse().ok()));
    trouble::server(error, &format!("{doing} ({place})"))
}

/// The mark of tables that are being loaded.
pub(super) fn mark_for(pack: &Pack, recipe: &Recipe, experiment: Option<&str>) -> Mark {
    let pack = pack.tables_pack();
    Mark {
        pack: pack.name().to_owned(),
        state: mark::State::Loading,
        params: recipe.params.clone(),
        pack_sha256: pack.content_hash(),
        pgdyno: env!("CARGO_PKG_VERSION").to_owned(),
        experiment: experiment.map(str::to_owned),
        files: recipe.files.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::splits;

    #[test]
    fn a_split_is_known_by_its_words() {
        for is_one in [
            "ALTER TABLE kv SPLIT AT VALUES (1)",
            "alter index a@b\n split  at values (1)",
        ] {
            assert!(splits(is_one), "{is_one}");
        }
        for is_none in [
            "CREATE TABLE split (at int)",
            "CREATE INDEX i ON t (k ASC) SPLIT AT VALUES ((1))",
            "ALTER TABLE split ADD at int",
            "ALTER TABLE kv SCATTER",
        ] {
            assert!(!splits(is_none), "{is_none}");
        }
    }
}
