//! A script made to leave receipts: a row for each of its transactions, written in the transaction itself,
//! that tells afterwards whether it was committed. It is a command like any other, so that what it costs
//! is seen.

use pgdyno_script::{Command, Names, Op, Script, Slot};

use crate::effects::single_verb;
use crate::insertion::insert;
use crate::program::CompileError;

/// The variable that holds the receipt of a client's present transaction: [`Receipt::code`].
pub const RECEIPT: &str = "pgdyno_receipt";

/// A receipt: which transaction of which trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Receipt {
    /// Tells trials on the same tables apart: 1 to [`Receipt::MARK_MAX`].
    pub mark: i64,
    pub client: usize,
    /// Which of its transactions, from 1.
    pub number: u64,
}

impl Receipt {
    /// The largest mark, so that every code is a bigint of at most 19 digits.
    pub const MARK_MAX: i64 = 899;
    const CLIENTS: i64 = 100_000;
    const NUMBERS: i64 = 100_000_000_000;

    /// As it is written: its mark, five digits of the client's number, eleven of the transaction's.
    pub fn code(self) -> i64 {
        (self.mark * Self::CLIENTS + self.client as i64) * Self::NUMBERS + self.number as i64
    }

    /// The receipt that is written so.
    pub fn of(code: i64) -> Self {
        let of_client = code / Self::NUMBERS;
        Self {
            mark: of_client / Self::CLIENTS,
            client: (of_client % Self::CLIENTS) as usize,
            number: (code % Self::NUMBERS) as u64,
        }
    }
}

/// What a run learns of its receipts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipts {
    pub slot: Slot,
    /// The mark of this run's.
    pub mark: i64,
}

/// Whether a statement writes the receipt of its transaction.
pub(crate) fn is_written_by(sql: &str) -> bool {
    has_variable(sql, RECEIPT)
}

/// Whether the text has this variable in it.
pub(crate) fn has_variable(sql: &str, variable: &str) -> bool {
    sql.match_indices(':').any(|(at, _)| {
        let rest = &sql[at + 1..];
        let after = rest.strip_prefix(variable).map(|rest| rest.bytes().next());
        after.is_some_and(|next| next.is_none_or(|b| !(b.is_ascii_alphanumeric() || b == b'_')))
    })
}

/// The script with `statement` before its COMMIT; one without a transaction block becomes one. A script that
/// writes its receipt itself stays as it is.
///
/// # Errors
/// It commits several times or in a way that cannot be seen: one receipt cannot stand for it.
pub fn leave(script: Script, statement: &str, names: &mut Names) -> Result<Script, CompileError> {
    let left = Left {
        noun: "receipt",
        variable: RECEIPT,
        without: "run without receipts (in a lab: --no-receipts)",
    };
    left.leave(script, statement, names)
}

/// What each transaction of a script leaves, written by a statement before its COMMIT.
pub(crate) struct Left {
    pub(crate) noun: &'static str,
    /// A statement with this variable writes it.
    pub(crate) variable: &'static str,
    /// How to do without it.
    pub(crate) without: &'static str,
}

impl Left {
    /// The script with the statement, as [`leave`].
    pub(crate) fn leave(
        &self,
        script: Script,
        statement: &str,
        names: &mut Names,
    ) -> Result<Script, CompileError> {
        let mut commit = None;
        let mut has_begin = false;
        for (index, command) in script.commands.iter().enumerate() {
            let Op::Sql(sql) = &command.op else { continue };
            if has_variable(&sql.text, self.variable) {
                return Ok(script);
            }
            let unfit = |reason: &str| Err(self.unfit(&script, command.line, reason));
            match single_verb(&sql.text).as_deref() {
                Some("COMMIT" | "END") if commit.is_some() => {
                    return unfit("commits more than once");
                }
                Some("COMMIT" | "END") => commit = Some(index),
                Some("BEGIN" | "START") => has_begin = true,
                Some("CALL" | "DO" | "PREPARE" | "VACUUM") => {
                    return unfit("may commit within a statement, or cannot be in a block");
                }
                Some(_) => {}
                None => return unfit("has several statements in one message"),
            }
        }
        match commit {
            Some(commit) => with(script, &[(commit, statement)], names),
            None if has_begin => {
                let text = "leaves its transaction block open";
                Err(self.unfit(&script, 1, text))
            }
            None => {
                let is_work = |command: &Command| !matches!(command.op, Op::Set { .. });
                let count = script.commands.len();
                let begin = script.commands.iter().position(is_work).unwrap_or(count);
                let end = format!("{statement}\nCOMMIT;");
                with(script, &[(begin, "BEGIN;"), (count, &end)], names)
            }
        }
    }

    fn unfit(&self, script: &Script, line: u32, reason: &str) -> CompileError {
        let Self {
            noun,
            variable,
            without,
        } = self;
        CompileError {
            script: script.name.clone(),
            line,
            reason: format!(
                "this {reason}, so one {noun} cannot stand for the transaction; write the {noun} there \
                 yourself (:{variable}), or {without}"
            ),
        }
    }
}

/// The script with these commands before those at these places, which are in order.
pub(crate) fn with(
    mut script: Script,
    texts: &[(usize, &str)],
    names: &mut Names,
) -> Result<Script, CompileError> {
    let mut added = Vec::new();
    for (place, text) in texts {
        let parsed = pgdyno_script::parse(&script.name, text, names);
        let parsed = parsed.map_err(|error| CompileError {
            script: script.name.clone(),
            line: 1,
            reason: error.to_string(),
        })?;
        added.extend(parsed.commands.into_iter().map(|command| (*place, command)));
    }
    insert(&mut script, added);
    Ok(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INSERT: &str = "INSERT INTO receipts VALUES (:pgdyno_receipt);";

    /// The commands of this script with receipts, and where its jumps lead.
    fn left(text: &str) -> Result<(Vec<String>, Vec<usize>), String> {
        let mut names = Names::new();
        let script = pgdyno_script::Language::Pgdyno.parse("s", text, &mut names);
        let script = leave(script.expect("a script"), INSERT, &mut names);
        let script = script.map_err(|e| e.to_string())?;
        let jumps = script
            .commands
            .iter()
            .filter_map(|command| match command.op {
                Op::If { on_false, .. } => Some(on_false),
                Op::EndFor { begin } => Some(begin),
                _ => None,
            });
        let jumps = jumps.collect();
        let texts = script.commands.iter().map(|command| command.text.clone());
        Ok((texts.collect(), jumps))
    }

    fn texts(text: &str) -> Vec<String> {
        left(text).expect("it can leave receipts").0
    }

    #[test]
    fn a_receipt_is_known_again_by_its_code() {
        let receipt = Receipt {
            mark: Receipt::MARK_MAX,
            client: 99_999,
            number: 99_999_999_999,
        };
        assert_eq!(receipt.code(), 8_999_999_999_999_999_999);
        let first = Receipt {
            mark: 1,
            client: 0,
            number: 1,
        };
        for receipt in [receipt, first] {
            assert_eq!(Receipt::of(receipt.code()), receipt);
        }
    }

    #[test]
    fn the_receipt_precedes_the_commit() {
        let own = "BEGIN;\nUPDATE t SET n = 1;\nEND;\nSELECT 1;\n";
        assert_eq!(
            texts(own),
            ["BEGIN;", "UPDATE t SET n = 1;", INSERT, "END;", "SELECT 1;"]
        );
    }

    #[test]
    fn a_script_without_a_block_becomes_one_and_its_jumps_lead_where_they_did() {
        let (texts, jumps) = left("\\set a 1\n\\if :a\nSELECT 1;\n\\endif\n").expect("it can");
        let expected = [
            "\\set a 1",
            "BEGIN;",
            "\\if :a",
            "SELECT 1;",
            "\\endif",
            INSERT,
            "COMMIT;",
        ];
        assert_eq!(texts, expected);
        assert_eq!(jumps, [5], "behind the \\endif");
        let (texts, jumps) = left("\\for i 1 3\nSELECT :i;\n\\endfor\n").expect("it can");
        assert_eq!(texts[0], "BEGIN;");
        assert_eq!(jumps, [1], "the loop itself");
    }

    #[test]
    fn a_script_that_writes_its_receipt_stays_as_it_is() {
        let own = "INSERT INTO h VALUES (:pgdyno_receipt);\n";
        assert_eq!(texts(own).len(), 1);
        assert_eq!(texts("INSERT INTO h VALUES (:pgdyno_receipts);\n").len(), 4);
    }

    #[test]
    fn what_one_receipt_cannot_stand_for_is_refused_with_its_line() {
        for (text, line, reason) in [
            ("BEGIN;\nEND;\nBEGIN;\nEND;\n", 4, "commits more than once"),
            ("SELECT 1\\;\nSELECT 2;\n", 1, "has several statements"),
            ("CALL p();\n", 1, "may commit within"),
            (
                "BEGIN;\nSELECT 1;\n",
                1,
                "leaves its transaction block open",
            ),
        ] {
            let error = left(text).expect_err(text);
            assert!(
                error.contains(&format!("line {line}: this {reason}")),
                "{error}"
            );
            assert!(error.contains("without receipts"), "{error}");
        }
    }
}
