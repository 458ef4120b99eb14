//! Which columns of a database have the same keys, by its own catalog.

use std::collections::{BTreeMap, HashMap};

use pgdyno_session::{Error, Session};

use super::Domain;

const COLUMNS: &str = "\
SELECT c.oid::text, c.relname, a.attnum::text, a.attname, \
 (a.attidentity <> '' OR coalesce(pg_get_expr(d.adbin, d.adrelid), '') ~ 'nextval|uuid|unique_rowid')::text \
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_namespace n ON n.oid = c.relnamespace \
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum \
WHERE c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped \
 AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') \
ORDER BY c.oid, a.attnum";
const KEYS: &str = "\
SELECT conrelid::text, conkey::text, confrelid::text, coalesce(confkey::text, '') \
FROM pg_constraint WHERE contype IN ('p', 'u', 'f') AND conrelid <> 0";
const SEQUENCES: &str = "\
SELECT s.relname, d.refobjid::text, d.refobjsubid::text \
FROM pg_depend d JOIN pg_class s ON s.oid = d.objid \
WHERE s.relkind = 'S' AND d.deptype IN ('a', 'i') AND d.refobjsubid > 0";

/// A table and a column's number in it.
type Place = (u32, i16);

#[derive(Debug, Default)]
pub struct Catalog {
    domains: HashMap<Place, Domain>,
    /// By name, in lower case where it was not quoted: tables of all schemas.
    tables: HashMap<String, Vec<u32>>,
    columns: HashMap<u32, Vec<(String, i16)>>,
    sequences: HashMap<String, Domain>,
    /// The column of a table that the server fills.
    generated: HashMap<u32, Domain>,
}

impl Catalog {
    /// Asks the server. Domains are numbered from `first` on; how many there are.
    ///
    /// # Errors
    /// Those of the session: other products may lack a part of the catalog.
    pub fn read(session: &mut Session, first: Domain) -> Result<(Self, Domain), Error> {
        let mut catalog = Self::default();
        let mut joined = Joined::default();
        let mut generated = Vec::new();
        for row in session.query(COLUMNS)?.rows {
            let [
                Some(table),
                Some(name),
                Some(number),
                Some(column),
                is_generated,
            ] = &row[..]
            else {
                continue;
            };
            let (Ok(table), Ok(number)) = (table.parse(), number.parse()) else {
                continue;
            };
            let of_name = catalog.tables.entry(name.clone()).or_default();
            if of_name.last() != Some(&table) {
                of_name.push(table);
            }
            let columns = catalog.columns.entry(table).or_default();
            columns.push((column.clone(), number));
            if is_generated.as_deref() == Some("true") {
                joined.add((table, number));
                generated.push((table, number));
            }
        }
        for row in session.query(KEYS)?.rows {
            let [Some(table), Some(columns), other, others] = &row[..] else {
                continue;
            };
            let places = places(table, columns);
            let others = match (other, others) {
                (Some(other), Some(others)) => self::places(other, others),
                _ => Vec::new(),
            };
            places.iter().for_each(|place| joined.add(*place));
            for (place, other) in places.into_iter().zip(others) {
                joined.join(place, other);
            }
        }
        let mut numbers: BTreeMap<Place, Domain> = BTreeMap::new();
        for place in joined.places() {
            let root = joined.root(place);
            let next = first + numbers.len() as Domain;
            let domain = *numbers.entry(root).or_insert(next);
            catalog.domains.insert(place, domain);
        }
        for place in generated {
            let domain = catalog.domain(place.0, place.1);
            catalog.generated.entry(place.0).or_insert(domain);
        }
        for row in session.query(SEQUENCES)?.rows {
            let [Some(name), Some(table), Some(number)] = &row[..] else {
                continue;
            };
            if let (Ok(table), Ok(number)) = (table.parse(), number.parse()) {
                let domain = catalog.domain(table, number);
                catalog.sequences.insert(name.clone(), domain);
            }
        }
        Ok((catalog, numbers.len() as Domain))
    }

    pub fn domain(&self, table: u32, number: i16) -> Domain {
        self.domains.get(&(table, number)).copied().unwrap_or(0)
    }

    pub fn tables(&self, name: &str) -> &[u32] {
        self.tables.get(name).map_or(&[], Vec::as_slice)
    }

    /// The domain of a table's column; `None` where it has no such column.
    pub fn column(&self, table: u32, name: &str) -> Option<Domain> {
        let columns = self.columns.get(&table)?;
        let (_, number) = columns.iter().find(|(column, _)| column == name)?;
        Some(self.domain(table, *number))
    }

    /// Domains of a table's columns in their order.
    pub fn in_order(&self, table: u32) -> impl Iterator<Item = Domain> {
        let columns = self.columns.get(&table).into_iter().flatten();
        columns.map(move |(_, number)| self.domain(table, *number))
    }

    /// What a sequence gives, by its name with or without a schema.
    pub fn sequence(&self, name: &str) -> Domain {
        let name = name.rsplit('.').next().unwrap_or(name);
        let name = name.trim_matches('"');
        self.sequences.get(name).copied().unwrap_or(0)
    }

    /// What the server gives to a new row of a table.
    pub fn generated(&self, table: u32) -> Domain {
        self.generated.get(&table).copied().unwrap_or(0)
    }
}

#[cfg(test)]
impl Catalog {
    /// Tables with their columns and what these are.
    pub fn of(tables: &[(&str, &[(&str, Domain)])]) -> Self {
        let mut catalog = Self::default();
        for (table, (name, columns)) in (1..).zip(tables) {
            catalog.tables.insert((*name).to_owned(), vec![table]);
            for (number, (column, domain)) in (1..).zip(*columns) {
                let columns = catalog.columns.entry(table).or_default();
                columns.push(((*column).to_owned(), number));
                catalog.domains.insert((table, number), *domain);
            }
        }
        catalog
    }
}

/// `{1,2}` of a table.
fn places(table: &str, numbers: &str) -> Vec<Place> {
    let Ok(table) = table.parse() else {
        return Vec::new();
    };
    let numbers = numbers.trim_matches(['{', '}']).split(',');
    let numbers = numbers.filter_map(|number| number.parse().ok());
    numbers.map(|number| (table, number)).collect()
}

/// Sets of columns that foreign keys join (union-find).
#[derive(Default)]
struct Joined {
    parents: BTreeMap<Place, Place>,
}

impl Joined {
    fn add(&mut self, place: Place) {
        self.parents.entry(place).or_insert(place);
    }

    fn join(&mut self, one: Place, other: Place) {
        self.add(one);
        self.add(other);
        let (one, other) = (self.root(one), self.root(other));
        self.parents.insert(one, other);
    }

    fn root(&self, mut place: Place) -> Place {
        while let Some(parent) = self.parents.get(&place).filter(|parent| **parent != place) {
            place = *parent;
        }
        place
    }

    fn places(&self) -> Vec<Place> {
        self.parents.keys().copied().collect()
    }
}
