//! Values that come out of rows.

use rusqlite::types::{FromSql, Value};

use super::{Error, Result};
use pgdyno_session::Column;

/// A row, while it is there.
pub enum Row<'a> {
    File(&'a rusqlite::Row<'a>),
    /// Of a server: its columns, and its values as text.
    Server(&'a [Column], &'a [Option<&'a [u8]>]),
}

pub trait At: Copy {
    /// Its place in the row.
    ///
    /// # Errors
    /// There is none.
    fn place(self, row: &Row<'_>) -> Result<usize>;
}

impl At for usize {
    fn place(self, _: &Row<'_>) -> Result<usize> {
        Ok(self)
    }
}

impl At for &str {
    fn place(self, row: &Row<'_>) -> Result<usize> {
        match row {
            Row::File(row) => Ok(row.as_ref().column_index(self)?),
            Row::Server(columns, _) => {
                let found = columns.iter().position(|column| column.name == self);
                found.ok_or_else(|| Error::Unreadable(format!("there is no column {self}")))
            }
        }
    }
}

pub trait Read: FromSql {
    fn parse(text: &str) -> Option<Self>;

    fn null() -> Option<Self> {
        None
    }
}

macro_rules! parsed {
    ($($type:ty)*) => {
        $(impl Read for $type {
            fn parse(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        })*
    };
}
parsed!(i64 u32 u64 usize f64 String);

impl Read for bool {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "t" | "true" | "1" => Some(true),
            "f" | "false" | "0" => Some(false),
            _ => None,
        }
    }
}

impl Read for serde_json::Value {
    fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// Bytes: `\x` and two digits each.
impl Read for Vec<u8> {
    fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("\\x")?.as_bytes();
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|d| d as u8);
        digits
            .chunks(2)
            .map(|pair| match *pair {
                [high, low] => Some(digit(high)? << 4 | digit(low)?),
                _ => None,
            })
            .collect()
    }
}

impl<T: Read> Read for Option<T> {
    fn parse(text: &str) -> Option<Self> {
        T::parse(text).map(Some)
    }

    fn null() -> Option<Self> {
        Some(None)
    }
}

impl Row<'_> {
    /// The value of a column.
    ///
    /// # Errors
    /// There is none, or one of another type.
    pub fn get<T: Read>(&self, at: impl At) -> Result<T> {
        let place = at.place(self)?;
        match self {
            Self::File(row) => Ok(row.get(place)?),
            Self::Server(columns, values) => {
                let unreadable = || {
                    let name = columns.get(place).map_or("", |column| &column.name);
                    Error::Unreadable(format!("column {name} cannot be read"))
                };
                let value = values.get(place).ok_or_else(unreadable)?;
                let value = match value {
                    None => T::null(),
                    Some(text) => std::str::from_utf8(text).ok().and_then(T::parse),
                };
                value.ok_or_else(unreadable)
            }
        }
    }

    /// The names of its columns.
    pub fn names(&self) -> Vec<String> {
        match self {
            Self::File(row) => row.as_ref().column_names().map(Into::into).collect(),
            Self::Server(columns, _) => columns.iter().map(|c| c.name.clone()).collect(),
        }
    }

    /// The value of a column as it is there: of a server by the type that it gives it.
    ///
    /// # Errors
    /// There is none.
    pub fn value(&self, place: usize) -> Result<Value> {
        let columns = match self {
            Self::File(row) => return Ok(row.get(place)?),
            Self::Server(columns, _) => columns,
        };
        /// `pg_type.oid`: bool, bytea, the integers, the reals.
        const BOOL: u32 = 16;
        const BYTEA: u32 = 17;
        const INTEGERS: [u32; 3] = [20, 21, 23];
        const REALS: [u32; 2] = [700, 701];
        const NUMERIC: u32 = 1700;
        let null = |value: Option<Value>| value.unwrap_or(Value::Null);
        let kind = columns.get(place).map_or(0, |column| column.type_oid);
        Ok(null(match kind {
            BOOL => self
                .get::<Option<bool>>(place)?
                .map(|is| Value::Integer(is.into())),
            BYTEA => self.get::<Option<Vec<u8>>>(place)?.map(Value::Blob),
            kind if INTEGERS.contains(&kind) => self.get::<Option<i64>>(place)?.map(Value::Integer),
            kind if REALS.contains(&kind) => self.get::<Option<f64>>(place)?.map(Value::Real),
            // Sums of integers: a number where it is one that fits.
            NUMERIC => self.get::<Option<String>>(place)?.map(|text| {
                let whole = text.parse().map(Value::Integer);
                whole
                    .or_else(|_| text.parse().map(Value::Real))
                    .unwrap_or(Value::Text(text))
            }),
            _ => self.get::<Option<String>>(place)?.map(Value::Text),
        }))
    }
}
