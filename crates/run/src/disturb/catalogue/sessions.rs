//! Sessions that do nothing and hurt: an old snapshot, a lock that is kept.

use std::time::Duration;

use pgdyno_database::open::Target;
use pgdyno_session::quote_literal;

use super::given::{TABLE, lasting};
use super::{Act, Entry, Key, Kind, Need, sql};
use crate::disturb::own::Control;

pub(super) static ENTRIES: [Entry; 2] = [
    Entry {
        name: "long-transaction",
        summary: "an open transaction with an old snapshot: vacuum cannot remove rows that died since",
        keys: &[lasting("20s")],
        needs: &[],
        risks: "tables and indexes grow by every update meanwhile, and do not shrink afterwards",
        harms: true,
        undone: "the transaction is rolled back after its time; after kill -9 by the server",
        lasts: Some("20s"),
        make: |scene, given| {
            let tables = scene.tables.iter().map(|name| quote_literal(name));
            let tables: Vec<String> = tables.collect();
            Ok(Box::new(Held {
                target: scene.target.clone(),
                begin: "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class"
                    .to_owned(),
                of_row: None,
                said: "held a snapshot".to_owned(),
                seen: Some(format!(
                    "SELECT sum(n_dead_tup) || ' dead rows in the workload''s tables' \
                     FROM pg_stat_user_tables WHERE relname = ANY (ARRAY[{}]::text[])",
                    tables.join(", ")
                )),
                lasting: given.time("for"),
            }))
        },
    },
    Entry {
        name: "idle-lock",
        summary: "an idle session that keeps a lock on a row, or on a whole table",
        keys: &[
            lasting("5s"),
            TABLE,
            Key {
                name: "lock",
                default: "row",
                kind: Kind::Words(&["row", "table"]),
                help: "the first row of the workload's smallest table, or all of that table",
            },
        ],
        needs: &[Need::Table, Need::Writer],
        risks: "transactions that need the row or table wait, and keep their own locks",
        harms: true,
        undone: "the transaction is rolled back after its time; after kill -9 by the server",
        lasts: Some("5s"),
        make: |scene, given| {
            let mut session = sql::connect(scene.target)?;
            let table = sql::table(&mut session, scene, given.text("table"), false)?;
            let (lock, said) = match given.text("lock") {
                "row" => (
                    format!("SELECT 1 FROM {table} LIMIT 1 FOR UPDATE"),
                    format!("kept a row of {table} locked"),
                ),
                _ => (
                    format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"),
                    format!("kept {table} locked"),
                ),
            };
            let of_row = (given.text("lock") == "row").then_some(table);
            if let Some(table) = &of_row {
                let has_rows = format!("SELECT EXISTS (SELECT FROM {table})");
                if sql::value(&mut session, &has_rows)?.as_deref() != Some("t") {
                    return Err(no_row(table));
                }
            }
            Ok(Box::new(Held {
                target: scene.target.clone(),
                begin: format!("BEGIN; {lock}"),
                of_row,
                said,
                seen: None,
                lasting: given.time("for"),
            }))
        },
    },
];

fn no_row(table: &str) -> String {
    format!("{table} has no row that could be locked: name another table=NAME, or lock=table")
}

/// A transaction that is begun and rolled back when its time is over.
struct Held {
    target: Target,
    begin: String,
    /// The table of which it locks a row.
    of_row: Option<String>,
    said: String,
    /// What is looked at before it ends.
    seen: Option<String>,
    lasting: Duration,
}

impl Act for Held {
    fn run(&mut self, control: &Control) -> Result<(), String> {
        let mut session = sql::connect(&self.target)?;
        // It may wait for a lock itself.
        control.cancels(Some(session.cancel_handle()));
        if control.is_over() {
            return Ok(());
        }
        let begun = session.simple_query(&self.begin);
        control.cancels(None);
        match begun {
            Ok(outcomes) => {
                let is_empty = outcomes
                    .last()
                    .is_none_or(|outcome| outcome.rows.is_empty());
                if let Some(table) = self.of_row.as_ref().filter(|_| is_empty) {
                    return Err(no_row(table));
                }
            }
            Err(e) if control.is_over() => {
                control.say(format_args!("ended before it had begun: {e}"));
                return Ok(());
            }
            Err(e) => return Err(format!("{}: {e}", self.begin)),
        }
        let since = std::time::Instant::now();
        control.last(self.lasting);
        let held = pgdyno_spec::text::time(since.elapsed().as_micros() as f64);
        control.say(format_args!(
            "process {} {} for {held}",
            session.backend_pid(),
            self.said
        ));
        if let Some(seen) = &self.seen {
            // Statistics of an open transaction stay as they were: another session's.
            let seen =
                sql::connect(&self.target).and_then(|mut other| sql::value(&mut other, seen));
            if let Ok(Some(seen)) = seen {
                control.say(seen);
            }
        }
        session
            .simple_query("ROLLBACK")
            .map_err(|e| format!("ROLLBACK: {e}"))?;
        Ok(())
    }
}
