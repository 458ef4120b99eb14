//! Latencies in columns: exact sums, the maximum, and the histogram's bytes.

use crate::db::{self, Error, Row, Value};
use pgdyno_measurement::{Latencies, Packed};

/// The four columns: `_sum_us`, `_sum_squares_us2`, `_max_us`, `_histogram`; all NULL for none.
pub fn columns(packed: Option<&Packed>) -> [Value; 4] {
    match packed {
        None => [const { Value::Null }; 4],
        Some(packed) => [
            whole(packed.sum_us()),
            Value::Text(packed.sum_squares_us2().to_string()),
            whole(packed.max_us()),
            Value::Blob(packed.bytes().to_vec()),
        ],
    }
}

/// A count as SQLite has it: 63 bits.
pub fn whole(number: u64) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

/// What [`columns`] wrote, from column `first` on.
///
/// # Errors
/// What is there was not written by pgdyno.
pub fn read(row: &Row<'_>, first: usize) -> db::Result<Option<Packed>> {
    let Some(sum_us) = row.get::<Option<u64>>(first)? else {
        return Ok(None);
    };
    let squares: String = row.get(first + 1)?;
    let squares = squares
        .parse()
        .map_err(|e| Error::Unreadable(format!("a sum of squares: {e}")))?;
    let packed = Packed::from_parts(row.get(first + 3)?, sum_us, squares, row.get(first + 2)?);
    let no_histogram = || Error::Unreadable("the bytes are no histogram of latencies".to_owned());
    packed.map(Some).ok_or_else(no_histogram)
}

/// The same, unpacked; without values where there are none.
///
/// # Errors
/// As [`read`].
pub fn read_latencies(row: &Row<'_>, first: usize) -> db::Result<Latencies> {
    Ok(read(row, first)?.map_or_else(Latencies::default, |packed| packed.unpack()))
}
