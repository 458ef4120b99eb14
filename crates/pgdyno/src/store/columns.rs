//! Rows of queries as structs: a struct's fields are named once, and the list of a SELECT and the
//! reading of its rows follow from them.

use std::ops::Deref;

use pgdyno_model::TrialSpec;
use rusqlite::Row;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What a field of a row is read from: one column, or several that belong together.
pub trait Column: Sized {
    /// The columns of a field of this name.
    fn names(field: &str) -> Vec<String> {
        vec![field.to_owned()]
    }

    /// Reads them, from this place on, and moves the place behind them.
    ///
    /// # Errors
    /// A value of another type.
    fn read(row: &Row<'_>, next: &mut usize) -> rusqlite::Result<Self>;
}

impl<T: FromSql> Column for T {
    fn read(row: &Row<'_>, next: &mut usize) -> rusqlite::Result<Self> {
        *next += 1;
        row.get(*next - 1)
    }
}

/// Makes a struct whose fields are columns. A field that is no column of its name has the expression
/// that gives it behind its type.
macro_rules! columns {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$field_meta:meta])* pub $field:ident: $type:ty $(= $sql:literal)?,)*
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $name {
            /// What stands between SELECT and FROM.
            fn columns() -> String {
                let mut columns: Vec<String> = Vec::new();
                $(
                    #[allow(unused_mut, unused_assignments)]
                    let mut names = <$type as $crate::store::columns::Column>::names(stringify!($field));
                    $(names = vec![$sql.to_owned()];)?
                    columns.extend(names);
                )*
                columns.join(", ")
            }

            /// Reads a row of such a SELECT.
            fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
                let mut next = 0;
                Ok(Self {
                    $($field: <$type as $crate::store::columns::Column>::read(row, &mut next)?,)*
                })
            }
        }
    };
}
pub(super) use columns;

/// A column of JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Json<T>(pub T);

impl<T> Deref for Json<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: DeserializeOwned> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let read = serde_json::from_str(value.as_str()?);
        read.map(Self)
            .map_err(|error| FromSqlError::Other(Box::new(error)))
    }
}

/// A column of words with spaces between; none is NULL.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Words(pub Vec<String>);

impl Deref for Words {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}

impl FromSql for Words {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let text = value.as_str_or_null()?.unwrap_or_default();
        Ok(Self(text.split_whitespace().map(str::to_owned).collect()))
    }
}

/// A trial's spec as its column has it.
pub type Spec = Json<TrialSpec>;
