//! What happens between trials, so that each one finds the database as the others did: what the
//! workload grew is emptied, dead rows are vacuumed, a checkpoint is made, things settle. What was
//! done, and what could not be done, is recorded; none of it waits for ever.
//!
//! Not for: loading (`workload::loader`), settings of the server (`crate::settings`).

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use pgdyno_platform::interrupt::Interrupts;
use pgdyno_session::{Error, Session, quote_literal};
use serde::Serialize;

use pgdyno_database::dialect::Dialect;
use pgdyno_database::{admin, trouble};
use pgdyno_spec::{
    Exit, Failure,
    experiment::{Reset, Vacuum},
};
use pgdyno_workload::pack::Pack;
use pgdyno_workload::params::Params;
use pgdyno_workload::state;
use pgdyno_workload::stop::Stop;

/// How long truncating and vacuuming may wait for a lock of another session.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// How much longer than its own limit a statement may take before the connection is given up.
const ANSWER_GRACE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Record {
    /// Why nothing was done at all.
    pub left_alone: Option<String>,
    pub steps: Vec<Step>,
    /// All of it, settling included.
    pub elapsed_s: f64,
}

/// One thing done, or not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    pub what: &'static str,
    pub table: Option<String>,
    pub elapsed_s: f64,
    /// Why it could not be done.
    pub not_done: Option<String>,
}

impl Record {
    /// What could not be done, for people.
    pub fn gaps(&self) -> impl Iterator<Item = String> {
        self.steps.iter().filter_map(|step| {
            let why = step.not_done.as_ref()?;
            let table = step
                .table
                .as_ref()
                .map_or(String::new(), |t| format!(" {t}"));
            Some(format!("{}{table} was not done: {why}", step.what))
        })
    }
}

/// Tidies up before a trial. `pack` makes the trial's tables; `written` are the tables that trials
/// have written to since they were last vacuumed, and is brought up to date. It ends early when
/// there have been more interrupts than `seen`. `checkpointer` is who may make a checkpoint, where the
/// session may not.
///
/// # Errors
/// The connection is lost, or an interrupt came. What the server refuses is recorded instead.
pub fn tidy(
    (session, checkpointer): (&mut Session, Option<&mut Session>),
    dialect: &'static Dialect,
    pack: Option<&Pack>,
    wanted: &Reset,
    written: &mut BTreeSet<String>,
    (interrupts, seen): (&'static Interrupts, u32),
) -> Result<Record, Failure> {
    let began = Instant::now();
    let stop = Stop::new(Some(interrupts));
    let mut tidying = Tidying {
        session,
        checkpointer,
        dialect,
        stop,
        record: Record::default(),
    };
    let result = tidying.all(pack, wanted, written);
    let mut record = tidying.record;
    if interrupts.count() > seen {
        return Err(interrupted(interrupts));
    }
    result?;
    if !wanted.settle.is_zero() && record.left_alone.is_none() {
        let began = Instant::now();
        if interrupts.wait_beyond(seen, wanted.settle) > seen {
            return Err(interrupted(interrupts));
        }
        record.steps.push(Step {
            what: "settle",
            table: None,
            elapsed_s: began.elapsed().as_secs_f64(),
            not_done: None,
        });
    }
    record.elapsed_s = began.elapsed().as_secs_f64();
    Ok(record)
}

/// The failure that an interrupt between two trials is.
pub fn interrupted(interrupts: &Interrupts) -> Failure {
    let code = interrupts.exit_code().unwrap_or(130);
    Failure::with(Exit::Interrupted(code), "interrupted between two trials")
}

struct Tidying<'s> {
    session: &'s mut Session,
    checkpointer: Option<&'s mut Session>,
    dialect: &'static Dialect,
    stop: Stop,
    record: Record,
}

fn looking(error: &Error) -> Failure {
    trouble::server(error, "could not check the server between two trials")
}

impl Tidying<'_> {
    fn all(
        &mut self,
        pack: Option<&Pack>,
        wanted: &Reset,
        written: &mut BTreeSet<String>,
    ) -> Result<(), Failure> {
        let why =
            admin::value(self.session, self.dialect.takes_no_writes).map_err(|e| looking(&e))?;
        if why.is_some() {
            self.record.left_alone = why;
            return Ok(());
        }
        if let Some(name) = self.dialect.lock_timeout {
            let limit = LOCK_TIMEOUT.as_millis().to_string();
            let applied = self.session.apply_settings(&[(name, &limit)]);
            applied.map_err(|e| looking(&e))?;
        }

        let (tables, growing) = self.tables(pack, &wanted.truncate)?;
        for table in growing {
            if self.has_grown(&table)? {
                let sql = self.dialect.truncate.replace("{table}", &table);
                if self.step("truncate", Some(&table), &sql)? {
                    // Empty and without statistics again.
                    written.insert(table);
                }
            }
        }
        // Runs without the limit where the session is shared.
        let vacuum = if self.session.is_own() {
            self.dialect.vacuum
        } else {
            self.dialect.vacuum_unless_locked
        };
        if let Some(vacuum) = vacuum {
            for table in tables {
                let needed = match wanted.vacuum {
                    Vacuum::Never => false,
                    Vacuum::Always => true,
                    Vacuum::Needed => written.contains(&table) || self.has_changed(&table)?,
                };
                if needed
                    && self.step("vacuum", Some(&table), &vacuum.replace("{table}", &table))?
                {
                    written.remove(&table);
                }
            }
        }
        if wanted.checkpoint {
            self.checkpoint(wanted.checkpoint_timeout)?;
        }
        Ok(())
    }

    /// The tables to tidy up, and those among them that must be empty before a trial: the pack's that
    /// start so, and those that are named.
    fn tables(
        &mut self,
        pack: Option<&Pack>,
        truncate: &[String],
    ) -> Result<(Vec<String>, Vec<String>), Failure> {
        let mut tables: Vec<String> = Vec::new();
        let mut growing: Vec<String> = Vec::new();
        if let Some(pack) = pack {
            let values = Params::default().or_defaults(pack);
            let found = state::find(self.session, self.dialect, pack, &values)?;
            for found in found {
                let starts_empty = pack
                    .tables()
                    .iter()
                    .any(|table| table.name == found.name && !table.is_filled());
                if starts_empty && found.mark.is_some() {
                    growing.push(found.name.clone());
                }
                tables.push(found.name);
            }
        }
        for name in truncate {
            // As the server would write it, if it knows it.
            let sql = self
                .dialect
                .find_table
                .replace("{literal}", &quote_literal(name));
            match admin::value(self.session, &sql) {
                Ok(Some(known)) => {
                    growing.retain(|table| table != name && *table != known);
                    tables.retain(|table| table != name && *table != known);
                    growing.push(known.clone());
                    tables.push(known);
                }
                Ok(None) => self.gap("truncate", Some(name), "there is no such table"),
                Err(e) => self.refused("truncate", Some(name), Instant::now(), &e)?,
            }
        }
        Ok((tables, growing))
    }

    fn has_grown(&mut self, table: &str) -> Result<bool, Failure> {
        let sql = self.dialect.has_grown.replace("{table}", table);
        let sql = sql.replace("{literal}", &quote_literal(table));
        let grown = admin::value(self.session, &sql).map_err(|e| looking(&e))?;
        Ok(grown.as_deref() == Some("t"))
    }

    fn has_changed(&mut self, table: &str) -> Result<bool, Failure> {
        let Some(sql) = self.dialect.has_changed else {
            return Ok(true);
        };
        let sql = sql.replace("{literal}", &quote_literal(table));
        let changed = admin::value(self.session, &sql);
        let changed =
            changed.map_err(|e| trouble::server(&e, "could not read a table's changes"))?;
        // A table that the server does not count is vacuumed to be safe.
        Ok(changed.as_deref() != Some("f"))
    }

    fn checkpoint(&mut self, timeout: Duration) -> Result<(), Failure> {
        let Some(checkpoint) = self.dialect.checkpoint else {
            // Nothing that could be made up for: `pgdyno target` says so.
            return Ok(());
        };
        // It is what is done last.
        if let Some(checkpointer) = self.checkpointer.take() {
            self.session = checkpointer;
        }
        const LIMIT: &str = "statement_timeout";
        let limiting = |e| trouble::server(&e, "could not limit the time of a checkpoint");
        // No less than a millisecond: nothing would mean no limit.
        let limit = timeout.as_millis().max(1).to_string();
        let applied = self.session.apply_settings(&[(LIMIT, &limit)]);
        applied.map_err(limiting)?;
        self.session
            .set_answer_timeout(timeout.checked_add(ANSWER_GRACE));
        self.step("checkpoint", None, checkpoint)?;
        self.session.set_answer_timeout(None);
        let applied = self.session.apply_settings(&[(LIMIT, "0")]);
        applied.map_err(limiting)
    }

    /// Does one thing; `false` when the server would not.
    fn step(
        &mut self,
        what: &'static str,
        table: Option<&str>,
        sql: &str,
    ) -> Result<bool, Failure> {
        let began = Instant::now();
        self.session.take_notices();
        if let Err(e) = admin::run(self.session, sql) {
            self.refused(what, table, began, &e)?;
            return Ok(false);
        }
        // PostgreSQL skips what the role may not vacuum with no more than a warning.
        let warnings = self.session.take_notices().into_iter();
        let warning = warnings
            .filter(|notice| notice.severity() == "WARNING")
            .map(|notice| notice.message().to_owned())
            .next();
        let done = warning.is_none();
        self.record.steps.push(Step {
            what,
            table: table.map(str::to_owned),
            elapsed_s: began.elapsed().as_secs_f64(),
            not_done: warning,
        });
        Ok(done)
    }

    fn refused(
        &mut self,
        what: &'static str,
        table: Option<&str>,
        began: Instant,
        error: &Error,
    ) -> Result<(), Failure> {
        if self.stop.asked() || self.session.is_broken() {
            return Err(trouble::server(
                error,
                &format!("could not {what} between two trials"),
            ));
        }
        let why = error.server().map_or_else(
            || error.to_string(),
            |e| format!("{} (SQLSTATE {})", e.message(), e.sqlstate()),
        );
        self.record.steps.push(Step {
            what,
            table: table.map(str::to_owned),
            elapsed_s: began.elapsed().as_secs_f64(),
            not_done: Some(why),
        });
        Ok(())
    }

    fn gap(&mut self, what: &'static str, table: Option<&str>, why: &str) {
        self.record.steps.push(Step {
            what,
            table: table.map(str::to_owned),
            elapsed_s: 0.0,
            not_done: Some(why.to_owned()),
        });
    }
}

#[cfg(test)]
mod tests;
