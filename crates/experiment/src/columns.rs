//! Flat tables as Parquet files, written in a stream.
//!
//! Rows are gathered per column and written in groups of [`ROWS_PER_GROUP`], so the memory needed is that of one group,
//! however long the table. Pages are compressed with Snappy. The same rows give the same bytes.

use crate::output::{Output, OutputError, OutputFile};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::sync::Arc;

/// Rows that are held in memory and written together.
pub const ROWS_PER_GROUP: usize = 1 << 16;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers below 2^64.
    U64,
    /// Whole numbers below 2^32.
    U32,
    /// Floating-point numbers.
    F64,
    /// Text; each distinct one is stored once per row group while they are few.
    Text,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name, with the unit as its ending: `latency_s`.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Whether rows may lack a value.
    pub optional: bool,
}

impl Column {
    /// A column with a value in every row.
    pub fn new(name: &str, kind: Kind) -> Column {
        Column { name: name.into(), kind, optional: false }
    }

    /// A column that rows may lack a value of.
    pub fn optional(name: &str, kind: Kind) -> Column {
        Column { name: name.into(), kind, optional: true }
    }

    fn schema(&self) -> Result<Type, ParquetError> {
        let (physical, logical) = match self.kind {
            Kind::U64 => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Kind::U32 => (Physical::INT32, Some(LogicalType::integer(32, false))),
            Kind::F64 => (Physical::DOUBLE, None),
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let repetition = if self.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let builder = Type::primitive_type_builder(&self.name, physical);
        builder.with_repetition(repetition).with_logical_type(logical).build()
    }
}

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// For a column of [`Kind::U64`].
    U64(u64),
    /// For a column of [`Kind::U32`].
    U32(u32),
    /// For a column of [`Kind::F64`]; NaN and the infinities are kept.
    F64(f64),
    /// For a column of [`Kind::Text`].
    Text(&'a str),
    /// No value, for an optional column.
    None,
}

/// Takes one row.
pub type Push<'a> = &'a mut dyn FnMut(&[Value<'_>]) -> Result<(), OutputError>;

/// Where tables go: into files, or to whoever wants them in memory.
pub trait Tables {
    /// Take the table `name` with these columns; `fill` hands over its rows, and need not be called.
    ///
    /// # Errors
    /// A file cannot be written, or what `fill` returns.
    fn table(
        &mut self,
        name: &str,
        columns: &[Column],
        fill: &mut dyn FnMut(Push<'_>) -> Result<(), OutputError>,
    ) -> Result<(), OutputError>;
}

impl Tables for Output {
    /// As the Parquet file of this name.
    fn table(
        &mut self,
        name: &str,
        columns: &[Column],
        fill: &mut dyn FnMut(Push<'_>) -> Result<(), OutputError>,
    ) -> Result<(), OutputError> {
        let mut table = Table::create(self, &format!("{name}.parquet"), columns)?;
        fill(&mut |row| table.push(row))?;
        table.finish()
    }
}

/// A table on its way into a file.
pub struct Table {
    columns: Vec<Column>,
    held: Vec<Held>,
    rows: usize,
    writer: SerializedFileWriter<OutputFile>,
}

impl Table {
    /// Starts the table `name` among the results of `output`.
    ///
    /// # Errors
    /// If the file cannot be made or the columns' names repeat.
    pub fn create(output: &mut Output, name: &str, columns: &[Column]) -> Result<Table, OutputError> {
        let file = output.file(name)?;
        if let Some(column) = columns.iter().enumerate().find(|(k, c)| columns[..*k].iter().any(|d| d.name == c.name)) {
            return Err(file.error(invalid(format!("two columns have the name `{}`", column.1.name))));
        }
        let schema: Result<Vec<_>, ParquetError> = columns.iter().map(|c| c.schema().map(Arc::new)).collect();
        let schema = schema.and_then(|fields| Type::group_type_builder("schema").with_fields(fields).build());
        let schema = schema.map_err(|e| file.error(reason(e)))?;
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("dovetail ", env!("CARGO_PKG_VERSION")).into())
            .set_compression(Compression::SNAPPY);
        // Times hardly ever repeat, and looking each up in a dictionary takes long. Where numbers do, Snappy is enough.
        for column in columns.iter().filter(|column| matches!(column.kind, Kind::F64 | Kind::U64)) {
            properties = properties.set_column_dictionary_enabled(column.name.as_str().into(), false);
        }
        let properties = properties.build();
        let path = file.path().to_path_buf();
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
            .map_err(|e| OutputError::writing(&path, reason(e)))?;
        let held = columns.iter().map(|c| Held::new(c.kind)).collect();
        Ok(Table { columns: columns.to_vec(), held, rows: 0, writer })
    }

    /// Appends a row: one value per column, in their order. O(columns), now and then a row group to the disk.
    ///
    /// # Errors
    /// If the values do not fit the columns, or the group cannot be written. The table must not be used any more then.
    pub fn push(&mut self, row: &[Value<'_>]) -> Result<(), OutputError> {
        if row.len() != self.columns.len() {
            let message = format!("a row has {} values, the table {} columns", row.len(), self.columns.len());
            return Err(self.writer.inner().error(invalid(message)));
        }
        for ((column, held), value) in self.columns.iter().zip(&mut self.held).zip(row) {
            if !held.push(column, *value) {
                let message = format!("column `{}` of {:?} cannot take {value:?}", column.name, column.kind);
                return Err(self.writer.inner().error(invalid(message)));
            }
        }
        self.rows += 1;
        if self.rows == ROWS_PER_GROUP { self.write_group() } else { Ok(()) }
    }

    /// Writes what is left and the table's directory of groups.
    ///
    /// # Errors
    /// If that fails, as on a full disk.
    pub fn finish(mut self) -> Result<(), OutputError> {
        if self.rows > 0 {
            self.write_group()?;
        }
        if let Err(e) = self.writer.finish() {
            return Err(self.writer.inner().error(reason(e)));
        }
        // `into_inner` would write the footer again, so the file is flushed to the disk through the writer.
        self.writer.inner().sync()
    }

    fn write_group(&mut self) -> Result<(), OutputError> {
        let written =
            self.writer.next_row_group().and_then(|group| write_columns(group, &self.columns, &mut self.held));
        self.rows = 0;
        written.map_err(|e| self.writer.inner().error(reason(e)))
    }
}

fn write_columns(
    mut group: SerializedRowGroupWriter<'_, OutputFile>,
    columns: &[Column],
    held: &mut [Held],
) -> Result<(), ParquetError> {
    for (column, held) in columns.iter().zip(held) {
        let present = std::mem::take(&mut held.present);
        let levels = column.optional.then_some(present.as_slice());
        match &mut held.values {
            Values::U64(values) => write_column::<Int64Type>(&mut group, values, levels)?,
            Values::U32(values) => write_column::<Int32Type>(&mut group, values, levels)?,
            Values::F64(values) => write_column::<DoubleType>(&mut group, values, levels)?,
            Values::Text(values, known) => {
                write_column::<ByteArrayType>(&mut group, values, levels)?;
                known.clear();
            }
        }
    }
    group.close().map(|_| ())
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, OutputFile>,
    values: &mut Vec<T::T>,
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, levels, None)?;
        column.close()?;
    }
    values.clear();
    Ok(())
}

/// The values of a column that are not written yet.
struct Held {
    values: Values,
    /// For optional columns, per row 1 if it has a value and 0 if not (Parquet's definition level).
    present: Vec<i16>,
}

enum Values {
    /// Parquet stores unsigned numbers as signed ones of the same bits.
    U64(Vec<i64>),
    U32(Vec<i32>),
    F64(Vec<f64>),
    /// Equal texts share their bytes.
    Text(Vec<ByteArray>, BTreeMap<String, ByteArray>),
}

impl Held {
    fn new(kind: Kind) -> Held {
        let values = match kind {
            Kind::U64 => Values::U64(Vec::new()),
            Kind::U32 => Values::U32(Vec::new()),
            Kind::F64 => Values::F64(Vec::new()),
            Kind::Text => Values::Text(Vec::new(), BTreeMap::new()),
        };
        Held { values, present: Vec::new() }
    }

    /// Takes a value; false if it does not fit the column.
    fn push(&mut self, column: &Column, value: Value<'_>) -> bool {
        match (&mut self.values, value) {
            (Values::U64(values), Value::U64(v)) => values.push(v.cast_signed()),
            (Values::U32(values), Value::U32(v)) => values.push(v.cast_signed()),
            (Values::F64(values), Value::F64(v)) => values.push(v),
            // Most rows have the text of the row before.
            (Values::Text(values, known), Value::Text(v)) => values.push(match values.last() {
                Some(last) if last.data() == v.as_bytes() => last.clone(),
                _ => shared(known, v),
            }),
            (_, Value::None) if column.optional => {
                self.present.push(0);
                return true;
            }
            _ => return false,
        }
        if column.optional {
            self.present.push(1);
        }
        true
    }
}

fn shared(known: &mut BTreeMap<String, ByteArray>, text: &str) -> ByteArray {
    if let Some(bytes) = known.get(text) {
        return bytes.clone();
    }
    let bytes = ByteArray::from(text.as_bytes().to_vec());
    known.insert(text.into(), bytes.clone());
    bytes
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}

/// The operating system's error inside one of the library, else its text.
fn reason(e: ParquetError) -> Error {
    match e {
        ParquetError::External(inner) => match inner.downcast::<Error>() {
            Ok(io) => *io,
            Err(other) => Error::other(other),
        },
        other => Error::other(other.to_string()),
    }
}

#[cfg(test)]
mod tests;
