//! Keys that a server generates are others in a replay. They are learned from results, by the column that they
//! are in, and replaced in statements that come later.
//!
//! - `catalog.rs` asks the server which columns have the same keys: those that foreign keys join.
//! - `uses.rs` finds the columns that a statement's values are compared with or written to.
//!
//! What a statement that writes has returned holds for all sessions; what a query has returned for its own,
//! which may have found another row.

mod catalog;
mod uses;

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use pgdyno_recording::result::{Column, canonical, oid, text_hash, value_hash};
use pgdyno_recording::{Statement, fill_with};

pub use catalog::Catalog;
pub use uses::{Use, Uses};

/// Columns that have the same keys; 0: not known.
pub type Domain = u32;
/// UUIDs are unique without a column.
const ANY_UUID: Domain = 0;
/// Types with higher numbers are a database's own, and have other numbers in another.
const OWN_TYPES: u32 = 16_384;
/// Shapes of statements that are looked at once.
const SHAPES_MAX: usize = 20_000;

/// Keys that differ from the recording's, which are known by their hashes.
#[derive(Debug, Default)]
pub struct Learned {
    now: HashMap<(Domain, u32), Box<[u8]>>,
    then: HashMap<(Domain, u32), u32>,
}

impl Learned {
    fn set(&mut self, domain: Domain, then: u32, now: &[u8]) {
        self.forget(domain, then);
        self.then.insert((domain, text_hash(now)), then);
        self.now.insert((domain, then), now.into());
    }

    fn forget(&mut self, domain: Domain, then: u32) {
        if let Some(before) = self.now.remove(&(domain, then)) {
            self.then.remove(&(domain, text_hash(&before)));
        }
    }
}

#[derive(Debug, Default)]
pub struct Keys {
    catalogs: Vec<Catalog>,
    by_database: HashMap<String, usize>,
    shared: Learned,
    uses: HashMap<u64, Rc<Uses>>,
    /// Values of statements that were replaced, and keys that differed.
    pub replaced: u64,
    pub differed: u64,
}

impl Keys {
    /// With what is known of each database, the first one for those that have no name of their own.
    pub fn new(catalogs: Vec<(String, Catalog)>) -> Self {
        let mut keys = Self::default();
        for (database, catalog) in catalogs {
            keys.by_database.insert(database, keys.catalogs.len());
            keys.catalogs.push(catalog);
        }
        keys
    }

    fn catalog_of(&self, database: &str) -> usize {
        self.by_database.get(database).copied().unwrap_or(0)
    }

    pub fn uses(&mut self, statement: &Statement) -> Rc<Uses> {
        let catalog = self.catalog_of(&statement.session.database);
        let mut hasher = DefaultHasher::new();
        (catalog, statement.text.shape()).hash(&mut hasher);
        let key = hasher.finish();
        if let Some(uses) = self.uses.get(&key) {
            return uses.clone();
        }
        let none = Catalog::default();
        let catalog = self.catalogs.get(catalog).unwrap_or(&none);
        let uses = Rc::new(Uses::new(statement.text.shape(), catalog));
        if self.uses.len() < SHAPES_MAX {
            self.uses.insert(key, uses.clone());
        }
        uses
    }

    /// What the columns of a result are; 0: no keys. `last`: what the session's last INSERT was given.
    pub fn domains(
        &self,
        statement: &Statement,
        uses: &Uses,
        last: Domain,
        columns: &[Column],
    ) -> Vec<Domain> {
        let Some(catalog) = self
            .catalogs
            .get(self.catalog_of(&statement.session.database))
        else {
            return Vec::new();
        };
        let of = |column: &Column| {
            if column.table == 0 {
                uses.generates(statement, catalog, last)
            } else {
                catalog.domain(column.table, column.number)
            }
        };
        columns.iter().map(of).collect()
    }

    /// The recording's hash of a key that differs.
    pub fn then(&self, own: &Learned, domain: Domain, now: u32) -> u32 {
        let key = (domain, now);
        let then = own.then.get(&key).or_else(|| self.shared.then.get(&key));
        then.copied().unwrap_or(now)
    }

    fn now<'a>(&'a self, own: &'a Learned, domain: Domain, then: u32) -> Option<&'a [u8]> {
        let key = (domain, then);
        let now = own.now.get(&key).or_else(|| self.shared.now.get(&key));
        now.map(|now| &**now)
    }

    /// Learns from a result: the hashes that were recorded and the values that came, row by row.
    pub fn learn(
        &mut self,
        own: &mut Learned,
        has_written: bool,
        domains: &[Domain],
        then: &[u32],
        now: &[Option<Vec<u8>>],
    ) {
        let width = domains.len();
        if width == 0 || then.len() != now.len() {
            return;
        }
        for (column, domain) in domains.iter().enumerate() {
            let pairs = then.iter().zip(now).skip(column).step_by(width);
            // Those that are where they are expected, in whatever row, say nothing of the others.
            let mut expected: Vec<u32> = Vec::new();
            let mut came: Vec<&[u8]> = Vec::new();
            for (then, now) in pairs {
                if let Some(now) = now
                    && *then != 0
                {
                    expected.push(*then);
                    came.push(now);
                }
            }
            let is_uuid = came.iter().all(|value| is_uuid(value));
            let domain = match *domain {
                ANY_UUID if !is_uuid => continue,
                domain => domain,
            };
            if !has_written && came.len() > 1 {
                let hash_of =
                    |keys: &Self, then: u32| keys.now(own, domain, then).map_or(then, text_hash);
                let mut at = 0;
                while at < expected.len() {
                    let hash = hash_of(self, expected[at]);
                    match came.iter().position(|value| text_hash(value) == hash) {
                        Some(place) => {
                            expected.remove(at);
                            came.remove(place);
                        }
                        None => at += 1,
                    }
                }
            }
            for (then, now) in expected.into_iter().zip(came) {
                self.learn_one(own, has_written, domain, then, now);
                if is_uuid && domain != ANY_UUID {
                    self.learn_one(own, has_written, ANY_UUID, then, now);
                }
            }
        }
    }

    fn learn_one(
        &mut self,
        own: &mut Learned,
        has_written: bool,
        domain: Domain,
        then: u32,
        now: &[u8],
    ) {
        let hash = text_hash(now);
        self.differed += u64::from(hash != then);
        let shared = &mut self.shared;
        if has_written {
            own.forget(domain, then);
            if hash == then {
                shared.forget(domain, then);
            } else {
                shared.set(domain, then, now);
            }
        } else {
            let expected = shared.now.get(&(domain, then));
            if expected.map_or(then, |now| text_hash(now)) == hash {
                own.forget(domain, then);
            } else {
                own.set(domain, then, now);
            }
        }
    }

    fn is_empty(&self, own: &Learned) -> bool {
        self.shared.now.is_empty() && own.now.is_empty()
    }

    /// A statement's text with the keys of now.
    pub fn sql(&mut self, own: &Learned, statement: &Statement, uses: &Uses) -> Vec<u8> {
        if self.is_empty(own) {
            return statement.sql();
        }
        let mut sql = Vec::new();
        let mut replaced = 0;
        fill_with(
            statement.text.shape(),
            &statement.literals,
            &mut sql,
            |index, literal| {
                let value = unquoted(literal)?;
                let now = self.value(own, uses.literal(index), &value)?;
                replaced += 1;
                let is_number = !literal.starts_with(b"'") && is_integer(&now);
                Some(if is_number { now } else { quoted(&now) })
            },
        );
        self.replaced += replaced;
        sql
    }

    /// A parameter's value with the keys of now; `None`: it stays as it is.
    pub fn parameter(
        &mut self,
        own: &Learned,
        used: Option<Use>,
        value: &[u8],
        type_oid: u32,
        is_binary: bool,
    ) -> Option<Vec<u8>> {
        if self.is_empty(own) {
            return None;
        }
        let column = Column {
            table: 0,
            number: 0,
            type_oid,
            is_binary,
        };
        let mut buffer = [0; 36];
        let text = canonical(&column, value, &mut buffer);
        let now = self.value(own, used, text)?;
        let now = if is_binary {
            binary(type_oid, &now)?
        } else {
            now
        };
        self.replaced += 1;
        Some(now)
    }

    fn value(&self, own: &Learned, used: Option<Use>, value: &[u8]) -> Option<Vec<u8>> {
        let used = match used {
            None if is_uuid(value) => Use {
                domain: ANY_UUID,
                is_list: false,
            },
            used => used?,
        };
        let one = |value: &[u8]| self.now(own, used.domain, text_hash(value));
        if !used.is_list {
            return one(value).map(<[u8]>::to_vec);
        }
        let inner = value.strip_prefix(b"{")?.strip_suffix(b"}")?;
        let mut has_any = false;
        let parts = inner.split(|byte| *byte == b',').map(|part| {
            let now = one(part);
            has_any |= now.is_some();
            now.unwrap_or(part)
        });
        let parts: Vec<&[u8]> = parts.collect();
        has_any.then(|| [b"{", &*parts.join(&b","[..]), b"}"].concat())
    }
}

/// Hashes of a statement's values.
pub fn hashes(statement: &Statement) -> impl Iterator<Item = u32> {
    let literals = statement.literals();
    let literals = literals.filter_map(|literal| Some(text_hash(&unquoted(literal)?)));
    let wire = statement.wire.as_deref();
    let parameters = statement.parameters().enumerate();
    let parameters = parameters.filter_map(move |(index, value)| {
        let column = Column {
            table: 0,
            number: 0,
            type_oid: wire
                .and_then(|wire| wire.types.get(index).copied())
                .unwrap_or(0),
            is_binary: wire.is_some_and(|wire| wire.binary.get(index) == Some(&true)),
        };
        value.map(|value| value_hash(&column, value))
    });
    literals.chain(parameters)
}

/// A type as it is asked for on another server.
pub fn type_there(oid: u32) -> u32 {
    if oid < OWN_TYPES { oid } else { 0 }
}

/// A literal's value; `None` where it is written in another way than most.
fn unquoted(literal: &[u8]) -> Option<Cow<'_, [u8]>> {
    if is_integer(literal) {
        return Some(Cow::Borrowed(literal));
    }
    let inner = literal.strip_prefix(b"'")?.strip_suffix(b"'")?;
    Some(if inner.contains(&b'\'') {
        let mut value = Vec::new();
        let mut rest = inner.iter();
        while let Some(byte) = rest.next() {
            value.push(*byte);
            if *byte == b'\'' {
                rest.next();
            }
        }
        Cow::Owned(value)
    } else {
        Cow::Borrowed(inner)
    })
}

fn quoted(value: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for byte in value {
        quoted.push(*byte);
        if *byte == b'\'' {
            quoted.push(b'\'');
        }
    }
    quoted.push(b'\'');
    quoted
}

fn is_integer(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// A key in binary format.
fn binary(type_oid: u32, text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    Some(match type_oid {
        oid::INT8 => text.parse::<i64>().ok()?.to_be_bytes().to_vec(),
        oid::INT4 => text.parse::<i32>().ok()?.to_be_bytes().to_vec(),
        oid::INT2 => text.parse::<i16>().ok()?.to_be_bytes().to_vec(),
        oid::OID => text.parse::<u32>().ok()?.to_be_bytes().to_vec(),
        oid::UUID => {
            let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
            let pairs = digits.chunks(2).map(|pair| {
                let pair = std::str::from_utf8(pair).ok()?;
                u8::from_str_radix(pair, 16).ok()
            });
            pairs.collect::<Option<_>>()?
        }
        oid::TEXT | oid::VARCHAR | oid::BPCHAR => text.as_bytes().to_vec(),
        _ => return None,
    })
}
