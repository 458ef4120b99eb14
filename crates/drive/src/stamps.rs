//! Scripts made to write and read a stamp of their client: a number that grows, in a row of its own. What a
//! transaction has written and had acknowledged, and what a later read of the same client shows, tells how
//! stale the read was. Both are statements like any other, so that what they cost is seen.

use pgdyno_script::{Command, Names, Op, Script};

use crate::effects::single_verb;
use crate::program::CompileError;
use crate::receipts::{self, Left};

/// The variable that holds the stamp of a client's present transaction: 1 and more.
pub const STAMP: &str = "pgdyno_stamp";
/// The column of a stamp that is read, the first of its statement.
pub const SHOWN: &str = "pgdyno_stamp_shown";

/// What a statement does with the stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Write,
    Read,
}

/// What a statement does with the stamp, if anything.
pub(crate) fn used_by(sql: &str) -> Option<Use> {
    if receipts::has_variable(sql, STAMP) {
        return Some(Use::Write);
    }
    sql.contains(SHOWN).then_some(Use::Read)
}

/// The script with `statement`, which writes the stamp, before its COMMIT; one without a transaction block
/// becomes one.
///
/// # Errors
/// It commits several times or in a way that cannot be seen: one stamp cannot stand for it.
pub fn write(script: Script, statement: &str, names: &mut Names) -> Result<Script, CompileError> {
    let left = Left {
        noun: "stamp",
        variable: STAMP,
        without: "run without --client-stamps",
    };
    left.leave(script, statement, names)
}

/// The script with `statement`, which reads the stamp, before its first work, or in its block if it begins
/// with that.
///
/// # Errors
/// The statement is none.
pub fn read(script: Script, statement: &str, names: &mut Names) -> Result<Script, CompileError> {
    let is_work = |command: &Command| !matches!(command.op, Op::Set { .. });
    let first = script.commands.iter().position(is_work);
    let begins = |at: &usize| match &script.commands[*at].op {
        Op::Sql(sql) => matches!(single_verb(&sql.text).as_deref(), Some("BEGIN" | "START")),
        _ => false,
    };
    let place = match first {
        None => script.commands.len(),
        Some(at) if begins(&at) => at + 1,
        Some(at) => at,
    };
    receipts::with(script, &[(place, statement)], names)
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: &str = "SELECT stamp AS pgdyno_stamp_shown FROM s;";
    const WRITE: &str = "UPDATE s SET stamp = :pgdyno_stamp;";

    fn texts(
        text: &str,
        add: fn(Script, &str, &mut Names) -> Result<Script, CompileError>,
        sql: &str,
    ) -> Result<Vec<String>, String> {
        let mut names = Names::new();
        let script = pgdyno_script::Language::Pgdyno.parse("s", text, &mut names);
        let script = add(script.expect("a script"), sql, &mut names).map_err(|e| e.to_string())?;
        Ok(script
            .commands
            .iter()
            .map(|command| command.text.clone())
            .collect())
    }

    #[test]
    fn a_stamp_is_read_first_and_within_the_block_if_there_is_one() {
        let plain = texts("\\set a 1\nSELECT :a;\n", read, READ).unwrap();
        assert_eq!(plain, ["\\set a 1", READ, "SELECT :a;"]);
        let block = texts("BEGIN;\nSELECT 1;\nEND;\n", read, READ).unwrap();
        assert_eq!(block, ["BEGIN;", READ, "SELECT 1;", "END;"]);
    }

    #[test]
    fn a_stamp_is_written_before_the_commit_or_the_way_out_is_said() {
        let plain = texts("UPDATE t SET n = 1;\n", write, WRITE).unwrap();
        assert_eq!(plain, ["BEGIN;", "UPDATE t SET n = 1;", WRITE, "COMMIT;"]);
        let said = texts("BEGIN;\nEND;\nBEGIN;\nEND;\n", write, WRITE).unwrap_err();
        assert!(
            said.contains("commits more than once, so one stamp cannot stand for"),
            "{said}"
        );
        assert!(said.contains("run without --client-stamps"), "{said}");
    }

    #[test]
    fn statements_are_known_by_the_stamp() {
        assert_eq!(used_by(WRITE), Some(Use::Write));
        assert_eq!(used_by(READ), Some(Use::Read));
        assert_eq!(used_by("SELECT :pgdyno_stamps"), None);
    }
}
