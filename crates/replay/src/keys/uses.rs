//! Which columns a statement's values are compared with or written to. Not a parser of SQL: it knows `column =
//! value`, lists, and INSERT's columns; a value anywhere else stays as it is.

use std::collections::HashMap;

use pgdyno_recording::{COMMENT, Statement, VALUE};

use super::{Catalog, Domain};
use crate::order::READS;

/// Words that are no alias of a table before them.
const NO_ALIAS: [&str; 24] = [
    "where",
    "set",
    "values",
    "on",
    "join",
    "inner",
    "left",
    "right",
    "full",
    "cross",
    "using",
    "group",
    "order",
    "limit",
    "for",
    "returning",
    "select",
    "union",
    "natural",
    "default",
    "having",
    "offset",
    "when",
    "from",
];
/// Results of these depend on the clock, on chance or on the server.
const VOLATILE: [&str; 24] = [
    "now",
    "current_timestamp",
    "current_date",
    "current_time",
    "localtime",
    "localtimestamp",
    "clock_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "timeofday",
    "random",
    "gen_random_uuid",
    "uuid_generate_v4",
    "uuidv7",
    "uuidv4",
    "nextval",
    "currval",
    "lastval",
    "txid_current",
    "version",
    "inet_client_port",
    "inet_server_addr",
    "explain",
    "show",
];

/// A value of a statement that is a key, or a list of keys (`= ANY ('{1,2}')`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    pub domain: Domain,
    pub is_list: bool,
}

#[derive(Debug, Default)]
pub struct Uses {
    /// By the value's place among literals and comments.
    literals: HashMap<usize, Use>,
    /// By the parameter's number, from 1.
    parameters: HashMap<u16, Use>,
    /// Whether its result depends on more than data.
    pub is_volatile: bool,
    /// The literal that names a sequence, for `nextval` and `currval`.
    sequence: Option<usize>,
    /// Whether it asks for what the session's last INSERT was given.
    is_lastval: bool,
    /// Whether its transaction holds locks of rows or tables from then on.
    pub locks: bool,
    /// What the server gives to the row that it inserts.
    pub inserts: Domain,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    /// A literal by its place, or a parameter by its number.
    Literal(usize),
    Parameter(u16),
    Sign(u8),
    /// `=`, `<`, `>=`, `<>` and so on.
    Compare,
}

use Token::{Compare, Literal, Parameter, Sign, Word};

impl Uses {
    /// Of a text whose values were taken out.
    pub fn new(shape: &[u8], catalog: &Catalog) -> Self {
        let tokens = tokens(shape);
        let mut reader = Reader {
            tables: tables(&tokens, catalog),
            tokens: &tokens,
            catalog,
            uses: Self::default(),
        };
        let is_volatile = |token: &Token| match token {
            Word(word) => VOLATILE.contains(&&**word) || word.starts_with("pg_"),
            _ => false,
        };
        reader.uses.is_volatile = tokens.iter().any(is_volatile);
        reader.uses.locks = match tokens.first() {
            Some(Word(command)) if READS.contains(&&*command.to_uppercase()) => {
                tokens.windows(2).any(|two| match two {
                    [Word(one), Word(two)] => {
                        one == "for" && matches!(&**two, "update" | "share" | "no" | "key")
                    }
                    _ => false,
                })
            }
            _ => true,
        };
        reader.comparisons();
        reader.lists();
        reader.insert();
        let is_lastval = |token: &Token| matches!(token, Word(word) if word == "lastval");
        reader.uses.is_lastval = tokens.iter().any(is_lastval);
        reader.uses.sequence = tokens.windows(3).find_map(|three| match three {
            [Word(word), Sign(b'('), Literal(at)] if word == "nextval" || word == "currval" => {
                Some(*at)
            }
            _ => None,
        });
        reader.uses
    }

    pub fn literal(&self, at: usize) -> Option<Use> {
        self.literals.get(&at).copied()
    }

    pub fn parameter(&self, number: u16) -> Option<Use> {
        self.parameters.get(&number).copied()
    }

    /// What an expression in its result is, if it is a new key. `last`: what the session's last INSERT was given.
    pub fn generates(&self, statement: &Statement, catalog: &Catalog, last: Domain) -> Domain {
        if self.is_lastval {
            return last;
        }
        let Some(sequence) = self.sequence else {
            return 0;
        };
        let name = statement.literals().nth(sequence).unwrap_or_default();
        let name = String::from_utf8_lossy(name);
        catalog.sequence(name.trim_matches('\''))
    }
}

fn tokens(shape: &[u8]) -> Vec<Token> {
    let mut tokens = Vec::new();
    let (mut at, mut values) = (0, 0);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..);
    while let Some(&byte) = shape.get(at) {
        let begin = at;
        at += 1;
        let while_is = |is: &dyn Fn(u8) -> bool, mut at: usize| {
            while shape.get(at).is_some_and(|byte| is(*byte)) {
                at += 1;
            }
            at
        };
        match byte {
            VALUE => {
                // The letter of `E'…'` belongs to the value, and what such a value is worth is not looked at.
                let is_prefixed = begin > 0 && is_name(shape[begin - 1]);
                if is_prefixed {
                    tokens.pop();
                    tokens.push(Sign(b'?'));
                } else {
                    tokens.push(Literal(values));
                }
                values += 1;
            }
            COMMENT => values += 1,
            b'"' => {
                let end = memchr_quote(shape, at);
                let word = String::from_utf8_lossy(&shape[at..end]).replace("\"\"", "\"");
                tokens.push(Word(word));
                at = (end + 1).min(shape.len());
            }
            b'$' if shape.get(at).is_some_and(u8::is_ascii_digit) => {
                let end = while_is(&|byte| byte.is_ascii_digit(), at);
                let number = std::str::from_utf8(&shape[at..end]).ok();
                tokens.push(match number.and_then(|number| number.parse().ok()) {
                    Some(number) => Parameter(number),
                    None => Sign(b'?'),
                });
                at = end;
            }
            b':' if shape.get(at) == Some(&b':') => {
                // A cast: its type is of no interest.
                at = while_is(&|byte| byte.is_ascii_whitespace(), at + 1);
                at = while_is(&|byte| is_name(byte) || b"\"[].".contains(&byte), at);
            }
            b'=' | b'<' | b'>' | b'!' => {
                at = while_is(&|byte| b"=<>".contains(&byte), at);
                tokens.push(Compare);
            }
            _ if byte.is_ascii_whitespace() => {}
            _ if is_name(byte) => {
                at = while_is(&is_name, at);
                let word = String::from_utf8_lossy(&shape[begin..at]);
                tokens.push(Word(word.to_lowercase()));
            }
            _ => tokens.push(Sign(byte)),
        }
    }
    tokens
}

fn memchr_quote(shape: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = shape.get(at) {
        if byte == b'"' {
            if shape.get(at + 1) != Some(&b'"') {
                return at;
            }
            at += 1;
        }
        at += 1;
    }
    shape.len()
}

/// Tables by the names that the statement has for them.
fn tables(tokens: &[Token], catalog: &Catalog) -> Vec<(String, Vec<u32>)> {
    let mut tables = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Word(name) = token else { continue };
        // A column's qualifier is no mention.
        if tokens.get(at + 1) == Some(&Sign(b'.')) {
            continue;
        }
        let of_name = catalog.tables(name);
        if of_name.is_empty() {
            continue;
        }
        tables.push((name.clone(), of_name.to_vec()));
        let mut next = at + 1;
        if matches!(tokens.get(next), Some(Word(word)) if word == "as") {
            next += 1;
        }
        if let Some(Word(alias)) = tokens.get(next)
            && !NO_ALIAS.contains(&&**alias)
        {
            tables.push((alias.clone(), of_name.to_vec()));
        }
    }
    tables
}

struct Reader<'a> {
    tables: Vec<(String, Vec<u32>)>,
    tokens: &'a [Token],
    catalog: &'a Catalog,
    uses: Uses,
}

impl Reader<'_> {
    fn token(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at)
    }

    fn is_word(&self, at: usize, word: &str) -> bool {
        matches!(self.token(at), Some(Word(other)) if other == word)
    }

    /// The domain of the column whose name ends at this token. Where tables disagree it is none.
    fn column(&self, end: usize) -> Domain {
        let Some(Word(name)) = self.token(end) else {
            return 0;
        };
        let qualifier = match (
            end.checked_sub(1).and_then(|at| self.token(at)),
            end.checked_sub(2).and_then(|at| self.token(at)),
        ) {
            (Some(Sign(b'.')), Some(Word(qualifier))) => Some(qualifier),
            _ => None,
        };
        let fits = |table: &&(String, Vec<u32>)| qualifier.is_none_or(|name| *name == table.0);
        let tables = self.tables.iter().filter(fits).flat_map(|table| &table.1);
        let mut domains = tables.filter_map(|table| self.catalog.column(*table, name));
        let Some(first) = domains.next() else {
            return 0;
        };
        if domains.all(|domain| domain == first) {
            first
        } else {
            0
        }
    }

    fn set(&mut self, at: usize, domain: Domain, is_list: bool) {
        if domain == 0 {
            return;
        }
        let used = Use { domain, is_list };
        match self.tokens.get(at) {
            Some(Literal(place)) => drop(self.uses.literals.insert(*place, used)),
            Some(Parameter(number)) => drop(self.uses.parameters.insert(*number, used)),
            _ => {}
        }
    }

    fn is_value(&self, at: usize) -> bool {
        matches!(self.token(at), Some(Literal(_) | Parameter(_)))
    }

    /// `column = value`, `value = column`, `column = ANY (value)`.
    fn comparisons(&mut self) {
        for at in 0..self.tokens.len() {
            if self.tokens[at] != Compare || at == 0 {
                continue;
            }
            let (before, after) = (at - 1, at + 1);
            if self.is_value(after) {
                self.set(after, self.column(before), false);
            }
            if self.is_word(after, "any") && self.token(after + 1) == Some(&Sign(b'(')) {
                self.set(after + 2, self.column(before), true);
            }
            if self.is_value(before) {
                let is_qualified = self.token(after + 1) == Some(&Sign(b'.'));
                let end = if is_qualified { after + 2 } else { after };
                self.set(before, self.column(end), false);
            }
        }
    }

    /// `column IN (value, value)`.
    fn lists(&mut self) {
        for at in 1..self.tokens.len() {
            if !self.is_word(at, "in") || self.token(at + 1) != Some(&Sign(b'(')) {
                continue;
            }
            let end = if self.is_word(at - 1, "not") {
                at.saturating_sub(2)
            } else {
                at - 1
            };
            let domain = self.column(end);
            let mut next = at + 2;
            while self.is_value(next) {
                self.set(next, domain, false);
                if self.token(next + 1) != Some(&Sign(b',')) {
                    break;
                }
                next += 2;
            }
        }
    }

    /// `INSERT INTO table (columns) VALUES (values), (values)`.
    fn insert(&mut self) {
        let Some(into) = (1..self.tokens.len())
            .find(|at| self.is_word(*at, "into") && self.is_word(at - 1, "insert"))
        else {
            return;
        };
        let mut at = into + 1;
        while self.token(at + 1) == Some(&Sign(b'.')) {
            at += 2;
        }
        let Some(Word(name)) = self.token(at) else {
            return;
        };
        let [table] = *self.catalog.tables(name) else {
            return;
        };
        self.uses.inserts = self.catalog.generated(table);
        at += 1;
        if self.is_word(at, "as") {
            at += 2;
        }
        let mut columns: Vec<Domain> = Vec::new();
        if self.token(at) == Some(&Sign(b'(')) {
            at += 1;
            while let Some(Word(column)) = self.token(at) {
                columns.push(self.catalog.column(table, column).unwrap_or(0));
                at += 1 + usize::from(self.token(at + 1) == Some(&Sign(b',')));
            }
            at += 1;
        } else {
            columns.extend(self.catalog.in_order(table));
        }
        if self.is_word(at, "overriding") {
            at += 3;
        }
        if !self.is_word(at, "values") {
            return;
        }
        at += 1;
        while self.token(at) == Some(&Sign(b'(')) {
            at = self.row(at + 1, &columns);
            if self.token(at) != Some(&Sign(b',')) {
                return;
            }
            at += 1;
        }
    }

    /// A row of VALUES, from behind its parenthesis; where it ends.
    fn row(&mut self, mut at: usize, columns: &[Domain]) -> usize {
        let (mut depth, mut column) = (0, 0);
        let is_end = |token: Option<&Token>| matches!(token, Some(Sign(b',' | b')')));
        while let Some(token) = self.token(at) {
            match token {
                Sign(b'(') => depth += 1,
                Sign(b')') if depth == 0 => return at + 1,
                Sign(b')') => depth -= 1,
                Sign(b',') if depth == 0 => column += 1,
                Literal(_) | Parameter(_) if depth == 0 => {
                    let is_begin = matches!(self.token(at - 1), Some(Sign(b',' | b'(')));
                    if is_begin && is_end(self.token(at + 1)) {
                        self.set(at, columns.get(column).copied().unwrap_or(0), false);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// shop(id 1), orders(id 2, shop_id 1, note), lines(order_id 2, n).
    fn catalog() -> Catalog {
        Catalog::of(&[
            ("shop", &[("id", 1), ("name", 0)]),
            ("orders", &[("id", 2), ("shop_id", 1), ("note", 0)]),
            ("lines", &[("order_id", 2), ("n", 0)]),
        ])
    }

    /// The domain of each literal and then of each parameter; a list has a minus.
    fn uses(sql: &str) -> Vec<i64> {
        let (mut shape, mut literals) = (Vec::new(), Vec::new());
        pgdyno_recording::split(sql.as_bytes(), &mut shape, &mut literals);
        let uses = Uses::new(&shape, &catalog());
        let number = |used: Option<Use>| match used {
            Some(used) if used.is_list => -i64::from(used.domain),
            Some(used) => used.domain.into(),
            None => 0,
        };
        let values = shape.iter().filter(|byte| **byte <= COMMENT).count();
        let literals = (0..values).map(|at| number(uses.literal(at)));
        let parameters = (1..=9).filter(|number| sql.contains(&format!("${number}")));
        let parameters = parameters.map(|at| number(uses.parameter(at)));
        literals.chain(parameters).collect()
    }

    #[test]
    fn values_have_the_column_that_they_are_compared_with() {
        assert_eq!(
            uses("SELECT 5 FROM orders WHERE id = 7 AND note = 'x'"),
            [0, 2, 0]
        );
        assert_eq!(
            uses(
                "SELECT * FROM orders o JOIN shop s ON s.id = o.shop_id WHERE o.id = $1 AND s.id <> $2"
            ),
            [2, 1]
        );
        assert_eq!(
            uses("UPDATE orders SET shop_id = $1, note = $2 WHERE id = $3::bigint"),
            [1, 0, 2]
        );
        assert_eq!(
            uses("DELETE FROM public.lines AS l WHERE 3 = l.order_id AND n = 4"),
            [2, 0]
        );
        assert_eq!(
            uses("SELECT FROM \"orders\" WHERE \"id\" IN (1, 2, 3) AND shop_id NOT IN ('4')"),
            [2, 2, 2, 1]
        );
        assert_eq!(
            uses("SELECT FROM lines WHERE order_id = ANY ($1) /* 9 */ AND n = 2"),
            [0, 0, -2]
        );
        // Which table's id it is is not said: none.
        assert_eq!(uses("SELECT FROM orders, shop WHERE id = 7"), [0]);
        assert_eq!(uses("SELECT FROM elsewhere WHERE id = 7 LIMIT 3"), [0, 0]);
        assert_eq!(
            uses("SELECT FROM shop WHERE id = E'7' OR id = abs(8) OR id BETWEEN 1 AND 2"),
            [0; 4]
        );
    }

    #[test]
    fn values_of_an_insert_have_its_columns() {
        assert_eq!(
            uses(
                "INSERT INTO orders (note, shop_id) VALUES ('a', 1), (lower('b'), $1), (DEFAULT, 3)"
            ),
            [0, 1, 0, 1, 1]
        );
        assert_eq!(
            uses("INSERT INTO lines VALUES ($1, $2) ON CONFLICT (order_id) DO UPDATE SET n = 3"),
            [0, 2, 0]
        );
        assert_eq!(
            uses("INSERT INTO lines (order_id, n) VALUES ($1 + 1, 2)"),
            [0, 0, 0]
        );
        assert_eq!(uses("INSERT INTO lines (order_id"), [0; 0]);
    }

    #[test]
    fn statements_that_take_locks_are_known() {
        let locks = |sql: &str| Uses::new(sql.as_bytes(), &catalog()).locks;
        assert!(
            locks("update shop SET name = name") && locks("SELECT FROM shop FOR NO KEY UPDATE")
        );
        assert!(
            !locks("SELECT 1 FROM shop")
                && !locks("begin")
                && !locks("SELECT for_update FROM shop")
        );
    }

    #[test]
    fn results_that_depend_on_more_than_data_are_known() {
        let is_volatile = |sql: &str| Uses::new(sql.as_bytes(), &catalog()).is_volatile;
        assert!(
            is_volatile("SELECT extract(epoch FROM now())")
                && is_volatile("SELECT pg_backend_pid()")
        );
        assert!(!is_volatile("SELECT known FROM shop"));
    }
}
