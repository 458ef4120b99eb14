//! What a SQL command does to the transaction block, read off its first words: needed only to tell
//! a lost transaction (rolled back with its connection) from an unknown one (it may have been
//! committed when the connection broke).

mod reads;

use reads::plainly_reads;

/// What happens to the transaction block when a command runs, for each state it may find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    outside: Effect,
    inside: Effect,
}

/// The effect in one state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effect {
    /// Something may have been committed when the command is done.
    pub(crate) may_commit: bool,
    /// Whether a block is open afterwards.
    pub(crate) in_block: bool,
}

impl Effects {
    pub(crate) fn of(sql: &str) -> Self {
        Self {
            outside: simulate(sql, false),
            inside: simulate(sql, true),
        }
    }

    /// Of the RELEASE that commits (`crate::savepoint`): the block stays open until COMMIT.
    pub(crate) fn of_release() -> Self {
        let committing = Effect {
            may_commit: true,
            in_block: true,
        };
        Self {
            outside: committing,
            inside: committing,
        }
    }

    pub(crate) fn when(self, in_block: bool) -> Effect {
        if in_block { self.inside } else { self.outside }
    }
}

/// Whether a command is one SELECT that only reads, as far as its text tells.
pub fn plainly_selects(sql: &str) -> bool {
    single_verb(sql).as_deref() == Some("SELECT") && plainly_reads(sql)
}

/// The first word, in capitals, of a command that holds exactly one statement.
pub(crate) fn single_verb(sql: &str) -> Option<String> {
    let mut full = statements(sql).filter(|statement| !is_blank(statement));
    let (first, second) = (full.next()?, full.next());
    let verb = Words(first).next()?;
    second.is_none().then(|| verb.to_ascii_uppercase())
}

/// How many answers of ROLLBACK a command asks for itself; `None` when its text cannot tell.
pub(crate) fn rollbacks(sql: &str) -> Option<u32> {
    let mut rollbacks = 0;
    for statement in statements(sql) {
        let mut words = Words(statement);
        match words.next() {
            Some(verb) => {
                let is_one = ["rollback", "abort"]
                    .iter()
                    .any(|word| verb.eq_ignore_ascii_case(word));
                rollbacks += u32::from(is_one);
            }
            // A variable in simple mode.
            None if words.0.starts_with(':') => return None,
            None => {}
        }
    }
    Some(rollbacks)
}

/// Whether a command rolls back to a savepoint, as far as its text tells.
pub(crate) fn rolls_back_to_savepoint(sql: &str) -> bool {
    statements(sql).any(|statement| {
        let mut words = Words(statement);
        let is_rollback =
            { words.next() }.is_some_and(|word| word.eq_ignore_ascii_case("rollback"));
        is_rollback && words.any(|word| word.eq_ignore_ascii_case("to"))
    })
}

fn is_blank(statement: &str) -> bool {
    let mut words = Words(statement);
    words.next().is_none() && words.0.is_empty()
}

fn simulate(sql: &str, mut in_block: bool) -> Effect {
    let mut may_commit = false;
    for statement in statements(sql) {
        let mut words = Words(statement);
        let Some(first) = words.next() else {
            match words.0.bytes().next() {
                None => {}
                // A variable in simple mode: it may be anything, COMMIT too.
                Some(b':') => may_commit = true,
                Some(_) => may_commit |= !in_block,
            }
            continue;
        };
        match first.to_ascii_uppercase().as_str() {
            "BEGIN" | "START" => in_block = true,
            "COMMIT" | "END" => {
                may_commit = true;
                in_block = false;
            }
            "PREPARE"
                if words
                    .next()
                    .is_some_and(|w| w.eq_ignore_ascii_case("transaction")) =>
            {
                may_commit = true;
                in_block = false;
            }
            "ABORT" => in_block = false,
            "ROLLBACK" => {
                // ROLLBACK [WORK | TRANSACTION] TO SAVEPOINT stays inside the block.
                let to = words.by_ref().take(2).any(|w| w.eq_ignore_ascii_case("to"));
                in_block &= to;
            }
            _ if in_block || plainly_reads(statement) => {}
            _ => may_commit = true,
        }
    }
    Effect {
        may_commit,
        in_block,
    }
}

/// The statements of a command: split at semicolons outside quotes and comments.
fn statements(sql: &str) -> impl Iterator<Item = &str> {
    let mut rest = sql;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = skip_to_semicolon(rest);
        let statement = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or("");
        Some(statement)
    })
}

fn skip_to_semicolon(sql: &str) -> usize {
    let bytes = sql.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b';' => return at,
            quote @ (b'\'' | b'"') => {
                at += 1;
                while at < bytes.len() && bytes[at] != quote {
                    at += 1;
                }
            }
            b'$' => {
                let tag_length = bytes[at + 1..]
                    .iter()
                    .position(|b| !(b.is_ascii_alphanumeric() || *b == b'_'))
                    .filter(|length| bytes[at + 1 + length] == b'$');
                if let Some(length) = tag_length {
                    let tag = &sql[at..at + length + 2];
                    let body = at + tag.len();
                    at = sql[body..]
                        .find(tag)
                        .map_or(bytes.len(), |end| body + end + tag.len() - 1);
                }
            }
            b'-' | b'/' => at += comment(&sql[at..]).saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The length of the comment that `sql` begins with, 0 when it begins with none.
fn comment(sql: &str) -> usize {
    if sql.starts_with("--") {
        sql.find('\n').unwrap_or(sql.len())
    } else if sql.starts_with("/*") {
        sql.find("*/").map_or(sql.len(), |end| end + 2)
    } else {
        0
    }
}

/// The words a statement begins with, over white space and comments, up to anything else.
struct Words<'a>(&'a str);

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            self.0 = self.0.trim_start();
            match comment(self.0) {
                0 => break,
                length => self.0 = &self.0[length..],
            }
        }
        let end = self
            .0
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let (word, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(sql: &str, in_block: bool) -> (bool, bool) {
        let effect = Effects::of(sql).when(in_block);
        (effect.may_commit, effect.in_block)
    }

    #[test]
    fn only_what_may_commit_is_said_to() {
        assert_eq!(effect("BEGIN", false), (false, true));
        assert_eq!(effect("update t set a = 1", true), (false, true));
        assert_eq!(effect("update t set a = 1", false), (true, false));
        assert_eq!(effect("select a from t", false), (false, false));
        assert_eq!(effect("select f(a) from t", false), (true, false));
        assert_eq!(effect("END", true), (true, false));
        assert_eq!(effect("commit and chain", true), (true, false));
        assert_eq!(effect("ROLLBACK", true), (false, false));
        assert_eq!(effect("ROLLBACK TO SAVEPOINT a", true), (false, true));
        assert_eq!(effect("rollback transaction to a", true), (false, true));
        assert_eq!(effect("prepare transaction 'x'", true), (true, false));
        assert_eq!(effect("prepare p as select 1", true), (false, true));
    }

    #[test]
    fn one_select_that_only_reads_is_known() {
        for sql in ["SELECT v FROM t WHERE a = :a;", "-- why\nselect 1"] {
            assert!(plainly_selects(sql), "{sql}");
        }
        for sql in ["SELECT 1; SELECT 2", "SELECT f()", "SHOW a", "TABLE t", ""] {
            assert!(!plainly_selects(sql), "{sql}");
        }
    }

    #[test]
    fn a_batch_is_followed_statement_by_statement() {
        assert_eq!(
            effect("BEGIN; UPDATE t SET a = ';'; ROLLBACK", false),
            (false, false)
        );
        assert_eq!(effect("begin; select 1; commit", false), (true, false));
        assert_eq!(
            effect("/* x; */ begin -- commit;\n; select $a$;end;$a$", false),
            (false, true)
        );
        assert_eq!(effect("select 'unterminated", true), (false, true));
        assert_eq!(effect("", true), (false, true));
        assert_eq!(effect(" -- nothing\n;", false), (false, false));
    }

    #[test]
    fn a_command_of_one_statement_has_a_verb() {
        assert_eq!(single_verb("/* a */ begin ;").as_deref(), Some("BEGIN"));
        assert_eq!(single_verb("begin; ; -- end").as_deref(), Some("BEGIN"));
        assert_eq!(single_verb("begin; select 1"), None);
        assert_eq!(single_verb(":statement"), None);
        assert_eq!(single_verb(""), None);
    }

    #[test]
    fn answers_of_rollback_are_those_that_were_asked_for() {
        assert_eq!(rollbacks("commit"), Some(0));
        assert_eq!(rollbacks("begin; select 1; ROLLBACK"), Some(1));
        assert_eq!(rollbacks("rollback to a; abort"), Some(2));
        assert_eq!(rollbacks(":statement"), None);
        assert_eq!(rollbacks("(select 1)"), Some(0));
    }

    #[test]
    fn what_cannot_be_read_is_taken_for_a_commit_where_it_may_be_one() {
        assert_eq!(effect(":statement", true), (true, true));
        assert_eq!(effect("(select f())", false), (true, false));
        assert_eq!(effect("(select f())", true), (false, true));
    }
}
