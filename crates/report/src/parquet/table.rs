//! A table that is written row by row: rows are gathered as columns and go into the file as row groups.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{
    Compression, ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical,
};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type as Node;
use pgdyno_model::Failure;

use super::FORMAT;
use super::schema::{Column, TableName, Type};

/// Rows that are gathered before they are written: what bounds the memory of an export.
const GROUP_ROWS: usize = 128 * 1024;

/// A value of a row.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Missing,
    /// Of [`Type::Int`] and, in microseconds since 1970, [`Type::Time`].
    Int(i64),
    Real(f64),
    /// Of [`Type::Text`]; cheap to clone.
    Text(ByteArray),
    Bool(bool),
}

/// Values of one column that are not written yet.
#[derive(Debug, Default)]
struct Gathered {
    ints: Vec<i64>,
    reals: Vec<f64>,
    texts: Vec<ByteArray>,
    bools: Vec<bool>,
    /// By row: 1 where there is a value.
    is_there: Vec<i16>,
}

/// A table and its file.
pub(super) struct Table<W: Write + Send> {
    name: TableName,
    writer: SerializedFileWriter<W>,
    columns: Vec<Gathered>,
    rows: usize,
    rows_written: u64,
}

impl<W: Write + Send> Table<W> {
    pub(super) fn new(name: TableName, file: W) -> Result<Self, Failure> {
        let fail = |e| failed(name, &e);
        let about = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("pgdyno version {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(vec![
                about("pgdyno.format", FORMAT.to_string()),
                about("pgdyno.table", name.name().to_owned()),
            ]))
            .build();
        let schema = node(name).map_err(fail)?;
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties));
        Ok(Self {
            name,
            writer: writer.map_err(fail)?,
            columns: name.columns().iter().map(|_| Gathered::default()).collect(),
            rows: 0,
            rows_written: 0,
        })
    }

    /// Adds a row: a value for each column, in their order.
    pub(super) fn push(&mut self, row: Vec<Value>) -> Result<(), Failure> {
        assert_eq!(row.len(), self.columns.len(), "{}", self.name.name());
        for ((column, gathered), value) in
            self.name.columns().iter().zip(&mut self.columns).zip(row)
        {
            gathered.push(column, value);
        }
        self.rows += 1;
        match self.rows < GROUP_ROWS {
            true => Ok(()),
            false => self.write_group(),
        }
    }

    /// Writes what is left and the index of the file.
    pub(super) fn finish(mut self) -> Result<(TableName, u64), Failure> {
        if self.rows > 0 {
            self.write_group()?;
        }
        let name = self.name;
        let mut file = self.writer.into_inner().map_err(|e| failed(name, &e))?;
        let flushed = file.flush().map_err(ParquetError::from);
        flushed.map_err(|e| failed(name, &e))?;
        Ok((name, self.rows_written))
    }

    fn write_group(&mut self) -> Result<(), Failure> {
        let name = self.name;
        let mut write = || -> Result<(), ParquetError> {
            let mut group = self.writer.next_row_group()?;
            for (column, gathered) in name.columns().iter().zip(&self.columns) {
                gathered.write(column, &mut group)?;
            }
            group.close()?;
            Ok(())
        };
        write().map_err(|e| failed(name, &e))?;
        self.rows_written += self.rows as u64;
        self.rows = 0;
        self.columns.iter_mut().for_each(Gathered::clear);
        Ok(())
    }
}

impl Gathered {
    fn push(&mut self, column: &Column, value: Value) {
        self.is_there
            .push(i16::from(!matches!(value, Value::Missing)));
        match (column.of, value) {
            (Type::Int | Type::Time, Value::Int(value)) => self.ints.push(value),
            (Type::Real, Value::Real(value)) => self.reals.push(value),
            (Type::Text, Value::Text(value)) => self.texts.push(value),
            (Type::Bool, Value::Bool(value)) => self.bools.push(value),
            (_, Value::Missing) if column.is_optional => {}
            (of, value) => panic!("{} is {of:?}, not {value:?}", column.name),
        }
    }

    fn write<W: Write + Send>(
        &self,
        column: &Column,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let levels = column.is_optional.then_some(self.is_there.as_slice());
        match column.of {
            Type::Int | Type::Time => write::<Int64Type, W>(&self.ints, levels, group),
            Type::Real => write::<DoubleType, W>(&self.reals, levels, group),
            Type::Text => write::<ByteArrayType, W>(&self.texts, levels, group),
            Type::Bool => write::<BoolType, W>(&self.bools, levels, group),
        }
    }

    fn clear(&mut self) {
        self.ints.clear();
        self.reals.clear();
        self.texts.clear();
        self.bools.clear();
        self.is_there.clear();
    }
}

fn write<T: DataType, W: Write + Send>(
    values: &[T::T],
    levels: Option<&[i16]>,
    group: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General(
            "there are too few columns".to_owned(),
        ));
    };
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

/// The table's schema as Parquet has it.
fn node(name: TableName) -> Result<Node, ParquetError> {
    let columns = name.columns().iter().map(|column| {
        let physical = match column.of {
            Type::Int | Type::Time => Physical::INT64,
            Type::Real => Physical::DOUBLE,
            Type::Text => Physical::BYTE_ARRAY,
            Type::Bool => Physical::BOOLEAN,
        };
        let repetition = match column.is_optional {
            true => Repetition::OPTIONAL,
            false => Repetition::REQUIRED,
        };
        let logical = match column.of {
            Type::Text => Some(LogicalType::String),
            Type::Time => Some(LogicalType::timestamp(true, TimeUnit::MICROS)),
            _ => None,
        };
        let made = Node::primitive_type_builder(column.name, physical)
            .with_repetition(repetition)
            .with_converted_type(ConvertedType::NONE)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(made))
    });
    let columns = columns.collect::<Result<Vec<_>, ParquetError>>()?;
    Node::group_type_builder(name.name())
        .with_fields(columns)
        .build()
}

fn failed(name: TableName, e: &ParquetError) -> Failure {
    Failure::new(format!("cannot write {}: {e}", name.file()))
}
