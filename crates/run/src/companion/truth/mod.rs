//! Receipts of transactions: scripts are made to leave them, and after the trial the database is asked for
//! them. What it has acknowledged and does not have is a lost write.
//!
//! Not for: numbering transactions (`drive::receipts`), words (`crates/report`).

mod history;
mod reckoning;

use std::time::Instant;

use pgdyno_database::admin;
use pgdyno_database::open::Target;
use pgdyno_database::trouble;
use pgdyno_drive::Drive;
use pgdyno_drive::receipts::{self, RECEIPT, Receipt};
use pgdyno_measurement::Recording;
use pgdyno_model::Fact;
use pgdyno_model::document::{Sums, Truth};
use pgdyno_model::{Observer, Outcome};
use pgdyno_script::{Names, Script, Slot};
use pgdyno_session::{Session, quote_literal};
use pgdyno_spec::{Exit, Failure};

use self::reckoning::Reckoning;
use crate::companion::{Begun, Companion, Ending, Scene};
use crate::prepare::Prepared;
use crate::validity;

/// Where receipts lie that are not in the history.
const OWN_TABLE: &str = "pgdyno_receipts";
const HISTORY: &str = "pgbench_history";
/// Marks have three digits, so that all codes have nineteen.
const MARK_MIN: i64 = 100;
/// Sums over more accounts are not read: it takes longer than the trial.
const SCALE_MAX: u64 = 100;
/// Tables that keep sums, with the column.
const BALANCES: [(&str, &str); 3] = [
    ("pgbench_accounts", "abalance"),
    ("pgbench_tellers", "tbalance"),
    ("pgbench_branches", "bbalance"),
];

/// A script's text with the receipt in the row of pgbench's history that it writes anyway.
pub fn in_history(text: &str) -> Option<String> {
    history::with_receipt(text)
}

/// A parsed script that leaves a receipt in pgdyno's own table, unless it writes one itself.
///
/// # Errors
/// One receipt cannot stand for it.
pub fn leave(script: Script, names: &mut Names) -> Result<Script, Failure> {
    let insert = format!("INSERT INTO {OWN_TABLE} (receipt) VALUES (:{RECEIPT});");
    receipts::leave(script, &insert, names)
        .map_err(|error| Failure::with(Exit::Usage, error.to_string()))
}

/// The receipts of one trial, from before it to after it.
struct Receipts {
    mark: i64,
    /// Where scripts have them.
    slot: Option<Slot>,
    /// The tables that they are in.
    tables: Vec<&'static str>,
    sums: Option<Fact<Vec<(String, i64)>>>,
}

/// Makes the tables ready, where the trial's transactions are to leave receipts.
///
/// # Errors
/// The trial cannot have them, or the table for them is another's or cannot be made.
pub fn begin<'a>(scene: &mut Scene<'a>) -> Begun<'a> {
    if !scene.spec.receipts {
        return Ok(None);
    }
    Ok(Some(Box::new(Receipts::new(scene)?)))
}

impl Observer<Outcome> for Receipts {}

impl Companion for Receipts {
    fn set_up(&self, drive: &mut Drive) {
        let mark = self.mark;
        drive.receipts = self.slot.map(|slot| receipts::Receipts { slot, mark });
    }

    fn end(self: Box<Self>, end: &mut Ending<'_>) {
        let truth = if end.scene.control.is_stopping() {
            Fact::Unknown("the run was interrupted".to_owned())
        } else {
            self.ask(end.scene.prepared, end.recording)
        };
        end.notes.extend(validity::truth(&truth));
        end.findings.put(&truth);
    }
}

impl Receipts {
    fn new(scene: &Scene<'_>) -> Result<Self, Failure> {
        let (spec, prepared) = (scene.spec, scene.prepared);
        if scene.share.is_some() {
            let text = "transactions of several generators leave no receipts: each knows only the \
                        acknowledgements of its own clients";
            return Err(Failure::with(Exit::Usage, text).hint("leave --receipts out"));
        }
        let mut session = prepared.target.connect()?;
        let tables = tables(prepared);
        if tables.contains(&OWN_TABLE) {
            make_own(&mut session, prepared)?;
        }
        let used = if tables.contains(&HISTORY) {
            used_marks(&mut session)?
        } else {
            Vec::new()
        };
        let count = Receipt::MARK_MAX - MARK_MIN + 1;
        let first = spec.seed.unwrap_or_default().rem_euclid(count);
        let mut marks = (0..count).map(|next| MARK_MIN + (first + next) % count);
        let mark = marks.find(|mark| !used.contains(mark)).ok_or_else(|| {
            Failure::new("pgbench_history has receipts of 800 trials, and there are no more marks")
                .hint("TRUNCATE pgbench_history, or run without receipts")
        })?;
        let sums = summed(prepared).map(|tables| match tables {
            Ok(tables) => sums(&mut session, &tables),
            Err(why) => Fact::Unknown(why),
        });
        session.close();
        Ok(Self {
            mark,
            slot: prepared.names.get(RECEIPT),
            tables,
            sums,
        })
    }

    /// Asks the database for them.
    fn ask(self, prepared: &Prepared, recording: &Recording) -> Fact<Truth> {
        let begun = Instant::now();
        let mut reckoning = Reckoning::new(self.mark, &recording.receipts);
        let answered = session(prepared).and_then(|mut session| {
            for table in &self.tables {
                read(&mut session, table, &mut reckoning)?;
            }
            Ok(session)
        });
        let mut session = match answered {
            Ok(session) => session,
            Err(why) => return Fact::Unknown(why),
        };
        let mut truth = reckoning.finish();
        truth.tables = self.tables.iter().map(|&table| table.to_owned()).collect();
        truth.sums = self.sums.map(|before| {
            before.and_then_known(|before| {
                let tables: Vec<String> = before.iter().map(|(table, _)| table.clone()).collect();
                let after = sums(&mut session, &tables);
                after.and_then_known(|after| {
                    let grown = before.into_iter().zip(after);
                    let grown = grown.map(|((table, old), (_, new))| (table, new - old));
                    Fact::Known(Sums {
                        grown: grown.collect(),
                    })
                })
            })
        });
        truth.read_ms = begun.elapsed().as_millis() as u64;
        Fact::Known(truth)
    }
}

/// The texts of the scripts that are run, and whether each has its receipt in the history.
fn scripts(prepared: &Prepared) -> impl Iterator<Item = (&str, bool)> {
    let scripts = prepared.workload.scripts.iter();
    let scripts = scripts.filter(|script| script.weight > 0);
    scripts.map(|script| {
        let text = script.text.as_str();
        (text, in_history(text).is_some())
    })
}

fn tables(prepared: &Prepared) -> Vec<&'static str> {
    let mut tables = Vec::new();
    for (_, in_history) in scripts(prepared) {
        let table = if in_history { HISTORY } else { OWN_TABLE };
        if !tables.contains(&table) {
            tables.push(table);
        }
    }
    tables
}

/// The tables whose sums must agree, the history first; `None` where scripts keep none.
fn summed(prepared: &Prepared) -> Option<Result<Vec<String>, String>> {
    let changed = |text: &str| -> Vec<String> {
        let updates = BALANCES.iter().map(|(table, _)| *table);
        let changed = updates.filter(|table| text.contains(&format!("UPDATE {table}")));
        changed.map(str::to_owned).collect()
    };
    let mut all = scripts(prepared);
    let (first, in_history) = all.next()?;
    let tables = changed(first);
    let is_same = |(text, in_history): (&str, bool)| in_history && changed(text) == tables;
    if !in_history || !all.all(is_same) {
        return None;
    }
    let scale = prepared.variables.get("scale");
    let scale = scale.and_then(|scale| scale.parse::<u64>().ok());
    if scale.is_none_or(|scale| scale > SCALE_MAX) {
        let why = format!("sums of more than {SCALE_MAX} branches' accounts are not read");
        return Some(Err(why));
    }
    let mut summed = vec![HISTORY.to_owned()];
    summed.extend(tables);
    Some(Ok(summed))
}

fn sums(session: &mut Session, tables: &[String]) -> Fact<Vec<(String, i64)>> {
    let column = |table: &str| {
        let balance = BALANCES.iter().find(|(name, _)| *name == table);
        balance.map_or("delta", |(_, column)| *column)
    };
    let mut sums = Vec::new();
    for table in tables {
        let sql = format!(
            "SELECT coalesce(sum({}), 0)::bigint FROM {table}",
            column(table)
        );
        match admin::value(session.unhurried(), &sql) {
            Ok(value) => match value.as_deref().map(str::parse) {
                Some(Ok(sum)) => sums.push((table.clone(), sum)),
                _ => return Fact::Unknown(format!("the sum of {table} is not understood")),
            },
            Err(e) => return Fact::Unknown(format!("could not add up {table}: {e}")),
        }
    }
    Fact::Known(sums)
}

/// The table of its own, empty. One of that name that is another's is left alone.
fn make_own(session: &mut Session, prepared: &Prepared) -> Result<(), Failure> {
    let find = prepared.product.dialect.find_table;
    let find = find.replace("{literal}", &quote_literal(OWN_TABLE));
    let failed = |e| trouble::server(&e, "could not make the table for receipts");
    if admin::value(session, &find).map_err(failed)?.is_some() {
        let sql = format!("SELECT receipt FROM {OWN_TABLE} LIMIT 0");
        admin::run(session, &sql).map_err(|e| {
            trouble::server(&e, "the table pgdyno_receipts is not pgdyno's")
                .hint("rename it, or run without receipts")
        })?;
        admin::run(session, &format!("DROP TABLE {OWN_TABLE}")).map_err(failed)?;
    }
    let sql = format!("CREATE TABLE {OWN_TABLE} (receipt bigint PRIMARY KEY)");
    admin::run(session, &sql).map_err(failed)
}

/// Marks of earlier trials, whose receipts are still in the history.
fn used_marks(session: &mut Session) -> Result<Vec<i64>, Failure> {
    let sql = "SELECT DISTINCT substr(filler, 1, 3) FROM pgbench_history WHERE filler IS NOT NULL";
    let rows = admin::rows(session.unhurried(), sql)
        .map_err(|e| trouble::server(&e, "could not look for receipts in pgbench_history"))?;
    let marks = rows.into_iter().flatten().flatten();
    Ok(marks.filter_map(|mark| mark.parse().ok()).collect())
}

/// A session with a server that takes writes: a standby may not have everything yet.
fn session(prepared: &Prepared) -> Result<Session, String> {
    let Target { endpoints, .. } = &prepared.target;
    let mut why = "there is no endpoint".to_owned();
    for endpoint in endpoints {
        let mut session = match endpoint.connect() {
            Ok(session) => session,
            Err(e) => {
                why = format!("the database could not be asked at {}: {e}", endpoint.name);
                continue;
            }
        };
        match admin::value(&mut session, prepared.product.dialect.takes_no_writes) {
            Ok(None) => return Ok(session),
            Ok(Some(reason)) => {
                why = format!("it could not be asked at {}: {reason}", endpoint.name);
            }
            Err(e) => why = format!("it could not be asked at {}: {e}", endpoint.name),
        }
    }
    Err(why)
}

fn read(session: &mut Session, table: &str, reckoning: &mut Reckoning<'_>) -> Result<(), String> {
    let sql = match table {
        HISTORY => "SELECT filler FROM pgbench_history WHERE filler IS NOT NULL".to_owned(),
        own => format!("SELECT receipt FROM {own}"),
    };
    let session = session.unhurried();
    let read = session.query_each(&sql, &[], &mut |_, values| {
        let value = values.first().copied().flatten();
        let value = value.and_then(|value| std::str::from_utf8(value).ok());
        if let Some(Ok(code)) = value.map(|value| value.trim_end().parse()) {
            reckoning.add(Receipt::of(code));
        }
    });
    read.map(drop)
        .map_err(|e| format!("receipts could not be read from {table}: {e}"))
}
