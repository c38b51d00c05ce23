//! Tables in memory, as Arrow.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, StringDictionaryBuilder, UInt32Builder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use dovetail_experiment::columns::{Column, Kind, Push, Tables, Value};
use dovetail_experiment::output::OutputError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::error::Wrong;
use crate::values::wrong;

/// A table that polars, pandas, pyarrow and others read without a copy, through the Arrow PyCapsule interface.
#[pyclass(frozen, module = "dovetail")]
pub struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    /// Of these columns, a batch.
    pub fn new(fields: Vec<Field>, columns: Vec<ArrayRef>) -> Result<Self, Wrong> {
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(schema.clone(), columns).map_err(inconsistent)?;
        Ok(Self { schema, batches: vec![batch] })
    }
}

fn inconsistent(error: ArrowError) -> Wrong {
    Wrong::new("InternalError", error)
}

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __repr__(&self) -> String {
        format!("<dovetail.Table: {} rows of {}>", self.__len__(), self.columns().join(", "))
    }

    /// The values of a column as a list; None where there is none.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let known = self.columns();
        let Some(index) = name.extract::<String>().ok().and_then(|name| self.schema.index_of(&name).ok()) else {
            let message = |found: &str| format!("there is no column {found}; there are {}", known.join(", "));
            return Err(wrong(name, |found| Wrong::argument(message(found))));
        };
        let list = PyList::empty(py);
        for batch in &self.batches {
            append(&list, batch.column(index))?;
        }
        Ok(list)
    }

    /// All columns as lists, by name.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for name in self.columns() {
            let key = pyo3::types::PyString::new(py, &name);
            all.set_item(&key, self.__getitem__(py, key.as_any())?)?;
        }
        Ok(all)
    }

    /// The Arrow PyCapsule interface: a stream. Casting to another schema is left to the reader.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader: Box<dyn RecordBatchReader + Send> =
            Box::new(RecordBatchIterator::new(batches, self.schema.clone()));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
    }
}

fn append(list: &Bound<'_, PyList>, column: &ArrayRef) -> PyResult<()> {
    match column.data_type() {
        DataType::UInt64 => column.as_primitive::<UInt64Type>().iter().try_for_each(|value| list.append(value)),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().iter().try_for_each(|value| list.append(value)),
        DataType::Float64 => column.as_primitive::<Float64Type>().iter().try_for_each(|value| list.append(value)),
        _ => {
            let texts = column.as_dictionary::<Int32Type>();
            let values = texts.values().as_string::<i32>();
            texts.keys_iter().try_for_each(|key| list.append(key.map(|key| values.value(key))))
        }
    }
}

/// The values of a column, as they come.
enum Growing {
    U64(UInt64Builder),
    U32(UInt32Builder),
    F64(Float64Builder),
    Text(StringDictionaryBuilder<Int32Type>),
}

impl Growing {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::U64 => Self::U64(UInt64Builder::new()),
            Kind::U32 => Self::U32(UInt32Builder::new()),
            Kind::F64 => Self::F64(Float64Builder::new()),
            Kind::Text => Self::Text(StringDictionaryBuilder::new()),
        }
    }

    fn push(&mut self, value: &Value<'_>) {
        match (self, value) {
            (Self::U64(column), Value::U64(value)) => column.append_value(*value),
            (Self::U32(column), Value::U32(value)) => column.append_value(*value),
            (Self::F64(column), Value::F64(value)) => column.append_value(*value),
            (Self::Text(column), Value::Text(value)) => column.append_value(value),
            (Self::U64(column), _) => column.append_null(),
            (Self::U32(column), _) => column.append_null(),
            (Self::F64(column), _) => column.append_null(),
            (Self::Text(column), _) => column.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::U64(column) => Arc::new(column.finish()),
            Self::U32(column) => Arc::new(column.finish()),
            Self::F64(column) => Arc::new(column.finish()),
            Self::Text(column) => Arc::new(column.finish()),
        }
    }
}

/// Texts, each distinct one stored once.
pub fn text() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

fn field(column: &Column) -> Field {
    let kind = match column.kind {
        Kind::U64 => DataType::UInt64,
        Kind::U32 => DataType::UInt32,
        Kind::F64 => DataType::Float64,
        Kind::Text => text(),
    };
    Field::new(&column.name, kind, column.optional)
}

/// Takes the one table that is wanted of those that are offered.
pub struct Wanted<'a> {
    name: &'a str,
    found: Option<Result<Table, Wrong>>,
}

impl<'a> Wanted<'a> {
    /// That of this name.
    pub fn new(name: &'a str) -> Self {
        Self { name, found: None }
    }

    /// It, if it was offered.
    pub fn found(self) -> Option<Result<Table, Wrong>> {
        self.found
    }
}

impl Tables for Wanted<'_> {
    fn table(
        &mut self,
        name: &str,
        columns: &[Column],
        fill: &mut dyn FnMut(Push<'_>) -> Result<(), OutputError>,
    ) -> Result<(), OutputError> {
        if name != self.name {
            return Ok(());
        }
        let mut growing: Vec<Growing> = columns.iter().map(|column| Growing::new(column.kind)).collect();
        fill(&mut |row| {
            growing.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
            Ok(())
        })?;
        let arrays = growing.iter_mut().map(Growing::finish).collect();
        self.found = Some(Table::new(columns.iter().map(field).collect(), arrays));
        Ok(())
    }
}

/// Texts by number, each distinct one once.
#[derive(Default)]
pub struct Texts {
    known: BTreeMap<String, i32>,
    list: Vec<String>,
}

impl Texts {
    /// The number of this text.
    pub fn number(&mut self, text: String) -> i32 {
        let next = self.list.len() as i32;
        *self.known.entry(text).or_insert_with_key(|text| {
            self.list.push(text.clone());
            next
        })
    }

    /// All of them, in the order of their numbers.
    pub fn list(&self) -> &[String] {
        &self.list
    }
}
