//! What is recorded of a statement's result: a sum that does not depend on the order of rows, and short
//! hashes of values that may be keys. `crates/recording/FORMAT.md` has both.

use pgdyno_wire::backend::{DataRow, RowDescription};

/// A result with more rows, or more values that may be keys, has a sum alone.
const HASHED_ROWS_MAX: u64 = 100;
const HASHED_VALUES_MAX: usize = 400;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Types by their numbers: pg_type.dat.
pub mod oid {
    pub const INT8: u32 = 20;
    pub const INT2: u32 = 21;
    pub const INT4: u32 = 23;
    pub const TEXT: u32 = 25;
    pub const OID: u32 = 26;
    pub const BPCHAR: u32 = 1042;
    pub const VARCHAR: u32 = 1043;
    pub const NUMERIC: u32 = 1700;
    pub const UUID: u32 = 2950;
    /// `date`, `time`, `timestamp`, `timestamptz`, `timetz`.
    pub const TIMES: [u32; 5] = [1082, 1083, 1114, 1184, 1266];
}

/// A column of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The table it comes from and its number there; zero where it is an expression.
    pub table: u32,
    pub number: i16,
    pub type_oid: u32,
    pub is_binary: bool,
}

impl Column {
    /// Whether its values depend on the clock.
    pub fn is_time(&self) -> bool {
        oid::TIMES.contains(&self.type_oid)
    }

    /// Whether its values may be keys.
    pub fn may_be_key(&self) -> bool {
        match self.type_oid {
            oid::NUMERIC => !self.is_binary,
            oid::INT8 | oid::INT2 | oid::INT4 | oid::OID | oid::UUID => true,
            oid::TEXT | oid::BPCHAR | oid::VARCHAR => true,
            _ => false,
        }
    }
}

/// The columns that a RowDescription has; `None` where it is malformed.
pub fn columns(description: RowDescription<'_>) -> Option<Vec<Column>> {
    let columns = description.map(|column| {
        let column = column.ok()?;
        Some(Column {
            table: column.table_oid,
            number: column.table_column,
            type_oid: column.type_oid,
            is_binary: column.format != 0,
        })
    });
    columns.collect()
}

/// What of a result is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Of all rows in any order, without columns of dates and times.
    pub checksum: u64,
    /// Columns whose values may be keys, and hashes of their values, row by row. Empty where the result is large.
    pub columns: Vec<u16>,
    pub hashes: Vec<u32>,
}

/// Sums up a result while its rows come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summing {
    sum: Sum,
    /// Of all commands that have ended, and returned by the one that has not.
    rows: u64,
    returned: u64,
    is_large: bool,
    is_broken: bool,
}

impl Summing {
    /// Adds a row; `translate` may put another hash in the place of a column's value.
    pub fn add(
        &mut self,
        columns: &[Column],
        row: DataRow<'_>,
        mut translate: impl FnMut(usize, u32) -> u32,
    ) {
        let is_first = self.rows + self.returned == 0;
        self.returned += 1;
        self.is_large |= self.rows + self.returned > HASHED_ROWS_MAX;
        if row.columns() != columns.len() {
            self.is_broken = true;
            return;
        }
        let mut sum = 0;
        for (index, (column, value)) in columns.iter().zip(row).enumerate() {
            let Ok(value) = value else {
                self.is_broken = true;
                return;
            };
            if column.is_time() {
                continue;
            }
            let hash = value.map_or(0, |value| value_hash(column, value));
            if !self.is_large && column.may_be_key() {
                if is_first && let Ok(index) = u16::try_from(index) {
                    self.sum.columns.push(index);
                }
                self.sum.hashes.push(hash);
            }
            sum = mixed(sum, translate(index, hash).into());
        }
        self.is_large |= self.sum.hashes.len() > HASHED_VALUES_MAX;
        self.sum.checksum = self.sum.checksum.wrapping_add(sum);
    }

    /// A row that cannot be looked at: it is too long, or its columns are not known.
    pub fn pass_over(&mut self) {
        self.returned += 1;
        self.is_broken = true;
    }

    /// A command has ended; what it says of rows is the same as those returned, or more.
    pub fn ended(&mut self, rows: Option<u64>) {
        self.rows += self.returned.max(rows.unwrap_or(0));
        self.returned = 0;
    }

    /// Rows returned or affected by commands that have ended.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// `None` where rows could not be read.
    pub fn finish(mut self) -> Option<Sum> {
        if self.is_large {
            self.sum.columns.clear();
            self.sum.hashes.clear();
        }
        (!self.is_broken).then_some(self.sum)
    }
}

/// A row's part of the sum, from the hashes of its values without those of times.
pub fn row_sum(hashes: impl Iterator<Item = u32>) -> u64 {
    hashes.fold(0, |sum, hash| mixed(sum, hash.into()))
}

fn mixed(sum: u64, word: u64) -> u64 {
    let sum = (sum ^ word).wrapping_mul(FACTOR);
    sum ^ (sum >> 29)
}

/// A value's hash; 0 is that of NULL alone.
pub fn value_hash(column: &Column, value: &[u8]) -> u32 {
    text_hash(canonical(column, value, &mut [0; 36]))
}

/// A value as text, where it may be a key in binary format; others as they are.
pub fn canonical<'a>(column: &Column, value: &'a [u8], buffer: &'a mut [u8; 36]) -> &'a [u8] {
    if !column.is_binary {
        return value;
    }
    let number = match (column.type_oid, value) {
        (oid::INT8, &[a, b, c, d, e, f, g, h]) => i64::from_be_bytes([a, b, c, d, e, f, g, h]),
        (oid::INT4, &[a, b, c, d]) => i32::from_be_bytes([a, b, c, d]).into(),
        (oid::OID, &[a, b, c, d]) => u32::from_be_bytes([a, b, c, d]).into(),
        (oid::INT2, &[a, b]) => i16::from_be_bytes([a, b]).into(),
        (oid::UUID, _) => {
            if let Some(bytes) = value.first_chunk() {
                *buffer = uuid(*bytes);
                return buffer;
            }
            return value;
        }
        _ => return value,
    };
    decimal(number, buffer)
}

/// The hash of a value in text format.
pub fn text_hash(value: &[u8]) -> u32 {
    let mut sum = value.len() as u64;
    let mut words = value.chunks_exact(8);
    for word in &mut words {
        sum = mixed(sum, u64::from_le_bytes(word.try_into().unwrap_or_default()));
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        sum = mixed(sum, u64::from_le_bytes(word));
    }
    ((sum >> 32) as u32).max(1)
}

fn decimal(value: i64, buffer: &mut [u8; 36]) -> &[u8] {
    let mut rest = value.unsigned_abs();
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        buffer[at] = b'-';
    }
    &buffer[at..]
}

/// A UUID as text.
fn uuid(bytes: [u8; 16]) -> [u8; 36] {
    let mut text = [b'-'; 36];
    let mut at = 0;
    for byte in bytes {
        if matches!(at, 8 | 13 | 18 | 23) {
            at += 1;
        }
        for digit in [byte >> 4, byte & 15] {
            text[at] = b"0123456789abcdef"[usize::from(digit)];
            at += 1;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(type_oid: u32, is_binary: bool) -> Column {
        Column {
            table: 0,
            number: 0,
            type_oid,
            is_binary,
        }
    }

    #[test]
    fn a_value_has_one_hash_in_either_format() {
        for value in [0, 7, -1, 1_000_000, i64::MIN, i64::MAX] {
            let text = text_hash(value.to_string().as_bytes());
            let binary = value.to_be_bytes();
            assert_eq!(value_hash(&column(oid::INT8, true), &binary), text);
        }
        let small = value_hash(&column(oid::INT2, true), &(-300i16).to_be_bytes());
        assert_eq!(small, text_hash(b"-300"));
        let bytes: [u8; 16] = std::array::from_fn(|at| at as u8 * 17);
        assert_eq!(&uuid(bytes), b"00112233-4455-6677-8899-aabbccddeeff");
        let of_uuid = value_hash(&column(oid::UUID, true), &bytes);
        assert_eq!(of_uuid, text_hash(&uuid(bytes)));
        assert_ne!(text_hash(b"a"), text_hash(b"a\0"));
        assert_ne!(text_hash(b""), 0);
    }

    fn sum(rows: &[[&str; 3]], types: [u32; 3]) -> Sum {
        let columns = types.map(|type_oid| column(type_oid, false));
        let mut summing = Summing::default();
        for row in rows {
            let mut message = b"D\0\0\0\0\0\x03".to_vec();
            for value in row {
                message.extend((value.len() as u32).to_be_bytes());
                message.extend(value.as_bytes());
            }
            let length = message.len() as u8 - 1;
            message[4] = length;
            let frame = pgdyno_wire::backend::split(&message).unwrap().unwrap();
            let pgdyno_wire::backend::Message::DataRow(row) = frame.parse().unwrap() else {
                panic!("it is a row");
            };
            summing.add(&columns, row, |_, hash| hash);
        }
        summing.finish().unwrap()
    }

    #[test]
    fn the_order_of_rows_and_times_make_no_difference_and_values_do() {
        let types = [oid::INT4, 1184, 16];
        let one = sum(&[["1", "now", "t"], ["2", "now", "f"]], types);
        let other = sum(&[["2", "then", "f"], ["1", "later", "t"]], types);
        assert_eq!(one.checksum, other.checksum);
        assert_eq!((&one.columns[..], one.hashes.len()), (&[0][..], 2));
        let swapped = sum(&[["1", "now", "f"], ["2", "now", "t"]], types);
        assert_ne!(one.checksum, swapped.checksum);
        let many = vec![["1", "", ""]; 101];
        assert!(sum(&many, types).hashes.is_empty());
    }
}
