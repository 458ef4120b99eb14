//! Statements that the server keeps prepared under names, so that what is asked many times in a session
//! is parsed once and planned a few times (PostgreSQL's manual, PREPARE: a plan for all parameters is
//! considered from the sixth execution on).

use std::collections::HashMap;

/// The statements of one session.
#[derive(Debug, Default)]
pub(crate) struct PreparedStatements {
    most: usize,
    numbers: HashMap<String, usize>,
}

/// Under which name a statement goes to the server.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Named {
    pub name: String,
    /// Whether the server has it.
    pub is_there: bool,
    /// Whether the server is to forget it with the request.
    pub is_for_once: bool,
}

impl PreparedStatements {
    /// Keeps the first `most` different statements that come from now on; 0 none.
    pub fn keep(&mut self, most: usize) {
        self.most = most;
    }

    pub fn named(&self, sql: &str) -> Named {
        let name = |number: usize| format!("pgdyno_{number}");
        match self.numbers.get(sql) {
            Some(number) if self.most > 0 => Named {
                name: name(*number),
                is_there: true,
                is_for_once: false,
            },
            None if self.numbers.len() < self.most => Named {
                name: name(self.numbers.len()),
                is_there: false,
                is_for_once: false,
            },
            _ => Named::default(),
        }
    }

    /// The server has prepared it under the name that was reported last.
    pub fn is_there(&mut self, sql: &str) {
        let number = self.numbers.len();
        self.numbers.entry(sql.to_owned()).or_insert(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_few_are_kept() {
        let mut kept = PreparedStatements::default();
        assert_eq!(kept.named("SELECT 1"), Named::default());
        kept.keep(2);
        for (number, sql) in ["SELECT 1", "SELECT 2"].iter().enumerate() {
            let named = kept.named(sql);
            assert_eq!(
                (named.name, named.is_there),
                (format!("pgdyno_{number}"), false)
            );
            kept.is_there(sql);
        }
        assert_eq!(kept.named("SELECT 3"), Named::default());
        assert_eq!(kept.named("SELECT 2").name, "pgdyno_1");
        assert!(kept.named("SELECT 2").is_there);
        kept.keep(0);
        assert_eq!(kept.named("SELECT 2"), Named::default());
    }
}
