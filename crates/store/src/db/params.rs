//! Values that go into statements.

use rusqlite::types::Value;

/// What can be a parameter.
pub trait Sql {
    fn value(&self) -> Value;
}

macro_rules! whole {
    ($($type:ty)*) => {
        $(impl Sql for $type {
            fn value(&self) -> Value {
                // 63 bits, as databases have them.
                Value::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
            }
        })*
    };
}
whole!(i64 i32 u8 u32 u64 usize);

impl Sql for bool {
    fn value(&self) -> Value {
        Value::Integer((*self).into())
    }
}

impl Sql for f64 {
    fn value(&self) -> Value {
        Value::Real(*self)
    }
}

impl Sql for str {
    fn value(&self) -> Value {
        Value::Text(self.to_owned())
    }
}

impl Sql for String {
    fn value(&self) -> Value {
        Value::Text(self.clone())
    }
}

impl Sql for Value {
    fn value(&self) -> Value {
        self.clone()
    }
}

impl<T: Sql + ?Sized> Sql for &T {
    fn value(&self) -> Value {
        (**self).value()
    }
}

impl<T: Sql> Sql for Option<T> {
    fn value(&self) -> Value {
        self.as_ref().map_or(Value::Null, Sql::value)
    }
}

impl Sql for std::borrow::Cow<'_, str> {
    fn value(&self) -> Value {
        (**self).value()
    }
}

/// The parameters of a statement, in their order.
pub trait Params {
    fn values(self) -> Vec<Value>;
}

impl Params for Vec<Value> {
    fn values(self) -> Vec<Value> {
        self
    }
}

impl<T: Sql, const N: usize> Params for [T; N] {
    fn values(self) -> Vec<Value> {
        self.iter().map(Sql::value).collect()
    }
}

macro_rules! params {
    ($($value:expr),* $(,)?) => {
        vec![$($crate::db::Sql::value(&$value)),*]
    };
}
pub(crate) use params;
