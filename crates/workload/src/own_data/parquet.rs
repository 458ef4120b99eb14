//! Parquet by its rows: values become the texts that a server reads. Row groups are found by the file's own
//! index; within one, rows are read in their order.

use std::fmt;
use std::fs::File;
use std::io::{Read, Write as _};
use std::path::Path;

use parquet::basic::{LogicalType, TimeUnit};
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::{ReadOptionsBuilder, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;
use parquet::schema::types::Type;
use sha2::{Digest, Sha256};

use super::{By, Fields, Reading, Wanted, hex};

/// Bytes between two looks at whether to stop.
const LOOK_BYTES: usize = 1 << 20;

/// Where the rows of a file are.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) rows: u64,
    /// The first row of each row group.
    groups: Vec<u64>,
    /// Which column each wanted one is.
    taken: Vec<usize>,
}

/// A file's rows in their order.
pub(super) struct Records(RowIter<'static>);

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rows of Parquet")
    }
}

/// Reads what a file says about its rows, and its bytes for their SHA-256.
///
/// # Errors
/// It is no Parquet, or has no such column, or one of values that no text represents.
pub(super) fn index(
    path: &Path,
    shown: &str,
    wanted: &Wanted,
    reading: &mut Reading<'_>,
) -> Result<(Index, String), String> {
    let fail = |why: String| format!("{shown}: {why}");
    let sha256 = sha256(path, reading).map_err(fail)?;
    let file = File::open(path).map_err(|e| fail(e.to_string()))?;
    let reader = SerializedFileReader::new(file).map_err(|e| fail(e.to_string()))?;
    let metadata = reader.metadata();
    let schema = metadata.file_metadata().schema();
    let columns = schema.get_fields();
    let there = || {
        let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
        names.join(", ")
    };
    let mut taken = Vec::new();
    for by in &wanted.fields {
        let (at, name) = match by {
            By::Name(name) => (
                columns.iter().position(|column| column.name() == name),
                format!("\"{name}\""),
            ),
            By::Number(number) => (
                Some(*number).filter(|number| *number < columns.len()),
                (number + 1).to_string(),
            ),
        };
        let Some(at) = at else {
            let there = there();
            return Err(fail(format!(
                "there is no field {name} (there are: {there})"
            )));
        };
        refuse(&columns[at]).map_err(fail)?;
        taken.push(at);
    }
    let mut groups = Vec::new();
    let mut rows = 0;
    for group in metadata.row_groups() {
        groups.push(rows);
        rows += u64::try_from(group.num_rows()).unwrap_or(0);
    }
    let index = Index {
        rows,
        groups,
        taken,
    };
    // A compression that is not built in is reported before anything is loaded.
    if rows > 0 {
        let first = index.from(path, 0);
        let first = first.and_then(|mut records| index.next(&mut records, &mut Fields::default()));
        first.map_err(|why| {
            fail(format!(
                "its first row cannot be read: {why} (written without compression, or with snappy, \
                 gzip or lz4, it can)"
            ))
        })?;
    }
    Ok((index, sha256))
}

fn refuse(column: &Type) -> Result<(), String> {
    let name = column.name();
    if !column.is_primitive() {
        return Err(format!(
            "field \"{name}\" has lists or fields of its own: leave it out, or write it as text"
        ));
    }
    let logical = column.get_basic_info().logical_type_ref();
    let unit = match logical {
        Some(LogicalType::Timestamp(of)) => Some(of.unit),
        Some(LogicalType::Time(of)) => Some(of.unit),
        _ => None,
    };
    match unit {
        Some(TimeUnit::NANOS) => Err(format!(
            "field \"{name}\" has times in nanoseconds: write them in microseconds, which is what a \
             server keeps"
        )),
        _ => Ok(()),
    }
}

fn sha256(path: &Path, reading: &mut Reading<'_>) -> Result<String, String> {
    let mut file = File::open(path).map_err(|e| e.to_string())?;
    let mut hash = Sha256::new();
    let mut bytes = vec![0; LOOK_BYTES];
    let mut done = 0;
    loop {
        let read = file.read(&mut bytes).map_err(|e| e.to_string())?;
        if read == 0 {
            return Ok(hex(hash.finalize()));
        }
        hash.update(&bytes[..read]);
        done += read as u64;
        reading.progress.bytes(done);
        if reading.stop.asked() {
            return Err("interrupted".to_owned());
        }
    }
}

impl Index {
    /// The rows from this one on, from 0.
    pub(super) fn from(&self, path: &Path, row: u64) -> Result<Records, String> {
        let group = self.groups.partition_point(|first| *first <= row).max(1) - 1;
        let file = File::open(path).map_err(|e| e.to_string())?;
        let options = ReadOptionsBuilder::new()
            .with_predicate(Box::new(move |_, number| number >= group))
            .build();
        let reader = SerializedFileReader::new_with_options(file, options);
        let reader = reader.map_err(|e| e.to_string())?;
        let mut records = Records(RowIter::from_file_into(Box::new(reader)));
        let first = self.groups.get(group).copied().unwrap_or(0);
        self.skip(&mut records, row - first)?;
        Ok(records)
    }

    /// Leaves out so many rows.
    pub(super) fn skip(&self, records: &mut Records, rows: u64) -> Result<(), String> {
        for _ in 0..rows {
            if let Some(Err(e)) = records.0.next() {
                return Err(e.to_string());
            }
        }
        Ok(())
    }

    /// Whether going on from one row to another is cheaper than beginning again: they are in one row group.
    pub(super) fn is_near(&self, from: u64, to: u64) -> bool {
        let group = |row: u64| self.groups.partition_point(|first| *first <= row);
        from <= to && group(from) == group(to)
    }

    /// The wanted fields of the next row; false: there is none.
    pub(super) fn next(&self, records: &mut Records, wanted: &mut Fields) -> Result<bool, String> {
        let Some(row) = records.0.next() else {
            return Ok(false);
        };
        let row = row.map_err(|e| e.to_string())?;
        let columns: Vec<&Field> = row.get_column_iter().map(|(_, field)| field).collect();
        wanted.clear();
        for taken in &self.taken {
            let Some(field) = columns.get(*taken) else {
                return Ok(false);
            };
            let is_null = !push(field, &mut wanted.bytes);
            wanted.end(is_null);
        }
        Ok(true)
    }
}

/// Appends a value as a server reads it; false: NULL.
fn push(field: &Field, out: &mut Vec<u8>) -> bool {
    // Writing to memory does not fail.
    let _ = match field {
        Field::Null => return false,
        Field::Str(text) => out.write_all(text.as_bytes()),
        Field::Bytes(bytes) => {
            out.extend_from_slice(b"\\x");
            let mut bytes = bytes.data().iter();
            bytes.try_for_each(|byte| write!(out, "{byte:02x}"))
        }
        Field::Float(value) => write!(out, "{value}"),
        Field::Double(value) => write!(out, "{value}"),
        other => write!(out, "{other}"),
    };
    true
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use crate::own_data::{By, Cursor, Data, Format, Wanted, unwatched};

    /// Three row groups of a hundred rows; every tenth name is NULL.
    fn write(path: &std::path::Path) {
        let schema = "message rows { REQUIRED INT64 id; OPTIONAL BYTE_ARRAY name (UTF8); \
                      REQUIRED INT64 at (TIMESTAMP(MICROS,true)); REQUIRED DOUBLE amount; \
                      OPTIONAL group tags (LIST) { REPEATED group list { OPTIONAL INT64 element; } } }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let file = std::fs::File::create(path).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
        for group in 0..3_i64 {
            let ids: Vec<i64> = (group * 100..group * 100 + 100).collect();
            let mut rows = writer.next_row_group().unwrap();
            let mut column = rows.next_column().unwrap().unwrap();
            column
                .typed::<Int64Type>()
                .write_batch(&ids, None, None)
                .unwrap();
            column.close().unwrap();
            let there: Vec<i16> = ids.iter().map(|id| i16::from(id % 10 != 0)).collect();
            let names = ids.iter().filter(|id| *id % 10 != 0);
            let names: Vec<ByteArray> =
                names.map(|id| format!("n\t{id}").as_str().into()).collect();
            let mut column = rows.next_column().unwrap().unwrap();
            column
                .typed::<ByteArrayType>()
                .write_batch(&names, Some(&there), None)
                .unwrap();
            column.close().unwrap();
            let mut column = rows.next_column().unwrap().unwrap();
            let times: Vec<i64> = ids.iter().map(|id| id * 1_000_000 + 5).collect();
            column
                .typed::<Int64Type>()
                .write_batch(&times, None, None)
                .unwrap();
            column.close().unwrap();
            let mut column = rows.next_column().unwrap().unwrap();
            let amounts: Vec<f64> = ids.iter().map(|id| *id as f64 / 4.0).collect();
            column
                .typed::<DoubleType>()
                .write_batch(&amounts, None, None)
                .unwrap();
            column.close().unwrap();
            let mut column = rows.next_column().unwrap().unwrap();
            let none = vec![0_i16; ids.len()];
            column
                .typed::<Int64Type>()
                .write_batch(&[], Some(&none), Some(&none))
                .unwrap();
            column.close().unwrap();
            rows.close().unwrap();
        }
        writer.close().unwrap();
    }

    fn wanted(folder: &std::path::Path, fields: &[&str]) -> Wanted {
        Wanted {
            folder: folder.to_owned(),
            place: "p".to_owned(),
            from: "*.parquet".to_owned(),
            format: Format {
                delimiter: b',',
                quote: b'"',
                escape: b'"',
                null: String::new(),
                header: true,
            },
            fields: fields
                .iter()
                .map(|name| By::Name((*name).to_owned()))
                .collect(),
            in_order: false,
        }
    }

    #[test]
    fn rows_of_all_groups_are_found_by_their_numbers() {
        let dir = tempfile::tempdir().unwrap();
        write(&dir.path().join("a.parquet"));
        let wanted = wanted(dir.path(), &["name", "amount", "at", "id"]);
        let data = unwatched(|reading| Data::open(&wanted, reading)).unwrap();
        assert_eq!(data.rows, 300);
        let mut cursor = Cursor::new(data.clone());
        // Back, on within a group, into another one.
        for row in [300, 1, 2, 12, 101, 250, 251, 11] {
            cursor.go(row).unwrap();
            let text = |at| {
                cursor
                    .field(at)
                    .map(|text| String::from_utf8_lossy(text).into_owned())
            };
            let id = row - 1;
            let name = (id % 10 != 0).then(|| format!("n\t{id}"));
            let amount = (id as f64 / 4.0).to_string();
            assert_eq!([text(0), text(1)], [name, Some(amount)], "{row}");
            assert_eq!(text(3), Some(id.to_string()));
            let at = text(2).unwrap();
            assert!(
                at.starts_with("1970-01-01 00:0") && at.contains(".000005"),
                "{at}"
            );
        }
        assert_eq!(data.place(250), "p/a.parquet: row 250");
    }

    #[test]
    fn an_unsupported_column_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        write(&dir.path().join("a.parquet"));
        let open = |fields: &[&str]| {
            let wanted = wanted(dir.path(), fields);
            unwatched(|reading| Data::open(&wanted, reading)).unwrap_err()
        };
        assert_eq!(
            open(&["nam"]),
            "p/a.parquet: there is no field \"nam\" (there are: id, name, at, amount, tags)"
        );
        assert!(open(&["tags"]).contains("field \"tags\" has lists"));
        std::fs::write(dir.path().join("a.parquet"), "id\n1\n").unwrap();
        let error = open(&["id"]);
        assert!(
            error.starts_with("p/a.parquet: ") && error.contains("Parquet"),
            "{error}"
        );
    }
}
