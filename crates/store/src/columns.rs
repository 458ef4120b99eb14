//! Rows of queries as structs: a struct's fields are named once, and the list of a SELECT and the
//! reading of its rows follow from them.

use crate::db::{self, Error, Row};
use pgdyno_model::State;
use pgdyno_spec::TrialSpec;

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
    fn read(row: &Row<'_>, next: &mut usize) -> db::Result<Self>;
}

macro_rules! scalars {
    ($($type:ty)*) => {
        $(
            impl Column for $type {
                fn read(row: &Row<'_>, next: &mut usize) -> db::Result<Self> {
                    *next += 1;
                    row.get(*next - 1)
                }
            }

            impl Column for Option<$type> {
                fn read(row: &Row<'_>, next: &mut usize) -> db::Result<Self> {
                    *next += 1;
                    row.get(*next - 1)
                }
            }
        )*
    };
}
scalars!(i64 u32 u64 f64 String serde_json::Value);

impl Column for State {
    fn read(row: &Row<'_>, next: &mut usize) -> db::Result<Self> {
        let word = String::read(row, next)?;
        Self::from_name(&word).ok_or_else(|| Error::Unreadable(format!("{word} is no state")))
    }
}

impl Column for TrialSpec {
    fn read(row: &Row<'_>, next: &mut usize) -> db::Result<Self> {
        let text = String::read(row, next)?;
        serde_json::from_str(&text)
            .map_err(|e| Error::Unreadable(format!("a spec cannot be read: {e}")))
    }
}

/// As words with spaces between; none is NULL.
impl Column for Vec<String> {
    fn read(row: &Row<'_>, next: &mut usize) -> db::Result<Self> {
        let text = Option::<String>::read(row, next)?.unwrap_or_default();
        Ok(text.split_whitespace().map(str::to_owned).collect())
    }
}

/// A struct that is read from a row.
pub trait Columns: Sized {
    /// The columns between SELECT and FROM.
    fn columns() -> String;

    /// Reads a row of such a SELECT.
    ///
    /// # Errors
    /// A value of another type.
    fn read(row: &Row<'_>) -> db::Result<Self>;
}

/// The columns of a field; the getter's type is the field's type.
pub fn names<R, T: Column>(_: fn(&R) -> &T, field: &str) -> Vec<String> {
    T::names(field)
}

/// Says that a struct's fields are columns, in this order. A field that is no column of its name has the
/// expression that gives it.
macro_rules! columns {
    ($name:ident: $($field:ident $(= $sql:literal)?,)*) => {
        impl $crate::columns::Columns for $name {
            fn columns() -> String {
                let mut columns: Vec<String> = Vec::new();
                $(
                    #[allow(unused_mut, unused_assignments)]
                    let mut names = $crate::columns::names(|row: &$name| &row.$field, stringify!($field));
                    $(names = vec![$sql.to_owned()];)?
                    columns.extend(names);
                )*
                columns.join(", ")
            }

            fn read(row: &$crate::db::Row<'_>) -> $crate::db::Result<Self> {
                let mut next = 0;
                Ok(Self {
                    $($field: $crate::columns::Column::read(row, &mut next)?,)*
                })
            }
        }
    };
}
pub(super) use columns;
