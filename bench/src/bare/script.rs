//! What a bare loop sends: the statements of a transaction, as the bytes of the simple or the extended
//! protocol, with values drawn for each transaction.

use std::io::Write;

use pgdyno_server::instant::pieces::message;

/// The transaction of a loop.
pub struct BareScript {
    statements: &'static [Statement],
    /// Parsed once a connection, or sent as text with its values in it.
    is_prepared: bool,
    /// Rows of pgbench_accounts.
    rows: u64,
}

/// A statement, with `$` before the names of its values.
struct Statement {
    text: &'static str,
    values: &'static [BareValue],
}

/// What is drawn for a transaction.
#[derive(Clone, Copy)]
enum BareValue {
    Account,
    Branch,
    Teller,
    Delta,
}

/// The values of one transaction.
#[derive(Clone, Copy, Default)]
pub struct DrawnValues([i64; 4]);

const ACCOUNTS_OF_BRANCH: u64 = 100_000;
const TELLERS_OF_BRANCH: u64 = 10;

const SELECT: &[Statement] = &[Statement {
    text: "SELECT abalance FROM pgbench_accounts WHERE aid = $1",
    values: &[BareValue::Account],
}];

/// pgbench's seven.
const TPCB: &[Statement] = &[
    Statement {
        text: "BEGIN",
        values: &[],
    },
    Statement {
        text: "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2",
        values: &[BareValue::Delta, BareValue::Account],
    },
    Statement {
        text: "SELECT abalance FROM pgbench_accounts WHERE aid = $1",
        values: &[BareValue::Account],
    },
    Statement {
        text: "UPDATE pgbench_tellers SET tbalance = tbalance + $1 WHERE tid = $2",
        values: &[BareValue::Delta, BareValue::Teller],
    },
    Statement {
        text: "UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2",
        values: &[BareValue::Delta, BareValue::Branch],
    },
    Statement {
        text: "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP)",
        values: &[
            BareValue::Teller,
            BareValue::Branch,
            BareValue::Account,
            BareValue::Delta,
        ],
    },
    Statement {
        text: "END",
        values: &[],
    },
];

impl BareScript {
    /// The one of this name, on tables with so many accounts.
    pub fn named(name: &str, rows: u64) -> Option<Self> {
        let (statements, is_prepared) = match name {
            "select" => (SELECT, true),
            "tpcb" => (TPCB, true),
            "tpcb-simple" => (TPCB, false),
            _ => return None,
        };
        Some(Self {
            statements,
            is_prepared,
            rows,
        })
    }

    /// How many statements a transaction has.
    pub fn steps(&self) -> usize {
        self.statements.len()
    }

    /// What a connection begins with, answered by one ReadyForQuery; nothing where nothing is prepared.
    pub fn preparation(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.is_prepared {
            return out;
        }
        for (number, statement) in self.statements.iter().enumerate() {
            let mut parse = format!("s{number}\0{}\0", statement.text).into_bytes();
            // The server finds out the types of the parameters.
            parse.extend_from_slice(&[0; 2]);
            message(&mut out, b'P', &parse);
        }
        message(&mut out, b'S', b"");
        out
    }

    /// The values of the next transaction, of a random number.
    pub fn draw(&self, random: u64) -> DrawnValues {
        let branches = (self.rows / ACCOUNTS_OF_BRANCH).max(1);
        let of = |count: u64, random: u64| (1 + random % count) as i64;
        DrawnValues([
            of(self.rows, random),
            of(branches, random >> 24),
            of(branches * TELLERS_OF_BRANCH, random >> 32),
            (random >> 40) as i64 % 10_001 - 5000,
        ])
    }

    /// A statement of a transaction with these values. `body` is room to work in.
    pub fn statement(
        &self,
        number: usize,
        drawn: &DrawnValues,
        body: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) {
        let statement = &self.statements[number];
        let value = |of: &BareValue| drawn.0[*of as usize];
        body.clear();
        // Writing to a Vec cannot fail.
        if !self.is_prepared {
            let mut parts = statement.text.split('$');
            body.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
            for (part, of) in parts.zip(statement.values) {
                let _ = write!(body, "{}", value(of));
                // The number of the parameter, one digit.
                body.extend_from_slice(&part.as_bytes()[1..]);
            }
            body.push(0);
            message(out, b'Q', body);
            return;
        }
        // Bind, Describe, Execute and Sync: what libpq sends too.
        let _ = write!(body, "\0s{number}\0");
        body.extend_from_slice(&[0; 2]);
        body.extend_from_slice(&(statement.values.len() as u16).to_be_bytes());
        for of in statement.values {
            let from = body.len();
            body.extend_from_slice(&[0; 4]);
            let _ = write!(body, "{}", value(of));
            let length = (body.len() - from - 4) as u32;
            body[from..from + 4].copy_from_slice(&length.to_be_bytes());
        }
        body.extend_from_slice(&[0; 2]);
        message(out, b'B', body);
        message(out, b'D', b"P\0");
        message(out, b'E', b"\0\0\0\0\0");
        message(out, b'S', b"");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(name: &str, number: usize) -> String {
        let script = BareScript::named(name, 2_000_000).unwrap();
        let (mut body, mut out) = (Vec::new(), Vec::new());
        let drawn = DrawnValues([11, 2, 13, -4]);
        script.statement(number, &drawn, &mut body, &mut out);
        String::from_utf8_lossy(&out).replace('\0', ".")
    }

    #[test]
    fn a_simple_statement_has_its_values_in_the_text() {
        let text = sent("tpcb-simple", 1);
        assert!(
            text.ends_with("SET abalance = abalance + -4 WHERE aid = 11."),
            "{text}"
        );
        let text = sent("tpcb-simple", 5);
        assert!(text.contains("VALUES (13, 2, 11, -4, CURRENT_TIMESTAMP)"));
        let text = sent("tpcb-simple", 0);
        assert!(text.starts_with('Q') && text.ends_with("BEGIN."), "{text}");
    }

    #[test]
    fn a_prepared_statement_is_bound_and_executed() {
        let text = sent("tpcb", 3);
        assert!(text.starts_with("B...") && text.contains(".s3."), "{text}");
        // Length and value of each parameter.
        assert!(text.contains("...\u{2}-4...\u{2}13"), "{text}");
        assert!(sent("select", 0).contains(".s0."));
        assert!(BareScript::named("insert", 1).is_none());
    }

    #[test]
    fn values_are_those_of_the_tables() {
        let script = BareScript::named("tpcb", 2_000_000).unwrap();
        for random in [0, 1, u64::MAX, 0x9e37_79b9_7f4a_7c15] {
            let DrawnValues([account, branch, teller, delta]) = script.draw(random);
            assert!((1..=2_000_000).contains(&account));
            assert!((1..=20).contains(&branch) && (1..=200).contains(&teller));
            assert!((-5000..=5000).contains(&delta));
        }
        assert_eq!(script.steps(), 7);
    }

    #[test]
    fn what_is_prepared_is_parsed_once() {
        let prepared = BareScript::named("tpcb", 1).unwrap().preparation();
        assert_eq!(prepared.iter().filter(|byte| **byte == b'$').count(), 11);
        assert!(
            BareScript::named("tpcb-simple", 1)
                .unwrap()
                .preparation()
                .is_empty()
        );
    }
}
