//! Captures as tables.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, UInt32Builder, UInt64Builder};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, StringArray};
use arrow_schema::{DataType, Field};
use dovetail_experiment::scenario::open_capture;
use dovetail_trace::{FlowEntry, Packets, load};
use dovetail_wire::{FlowKey, KeyKind, protocol_name};
use pyo3::prelude::*;

use crate::background::reading;
use crate::error::Wrong;
use crate::table::{Table, Texts, text};
use crate::values::path;

/// The packets of a capture: a row each, and what could not be read of it in words, if anything.
#[pyfunction]
pub fn packets(py: Python<'_>, capture: &Bound<'_, PyAny>) -> PyResult<(Table, Option<String>)> {
    let capture = path(capture, "capture")?;
    reading(py, move || {
        let mut reader = open_capture(&capture).map_err(|error| {
            let place = capture.display().to_string();
            let message = if error.contains(&place) { error } else { format!("{place}: {error}") };
            Wrong::new("CaptureError", message).at(&place)
        })?;
        let packets = load(&mut reader, KeyKind::FiveTuple);
        let damage = packets.report.damage.as_ref().map(ToString::to_string);
        Ok((table(&packets)?, damage))
    })
}

/// What a flow's packets have in common, as texts.
fn facts(flow: &FlowEntry) -> [Option<String>; 3] {
    let Some(FlowKey::FiveTuple(tuple)) = flow.key else { return [None, None, None] };
    let protocol = protocol_name(tuple.protocol).map_or_else(|| tuple.protocol.to_string(), str::to_string);
    [Some(tuple.src.to_string()), Some(tuple.dst.to_string()), Some(protocol)]
}

fn table(packets: &Packets) -> Result<Table, Wrong> {
    let flows: Vec<FlowEntry> = packets.flows.entries().collect();
    let ports: Vec<Option<(u16, u16)>> = (flows.iter())
        .map(|flow| match flow.key {
            Some(FlowKey::FiveTuple(tuple)) => tuple.ports.map(|ports| (ports.src, ports.dst)),
            _ => None,
        })
        .collect();
    let mut texts: [Texts; 3] = Default::default();
    let numbers: Vec<[Option<i32>; 3]> = (flows.iter())
        .map(|flow| {
            let mut columns = texts.iter_mut();
            facts(flow).map(|fact| columns.next().zip(fact).map(|(texts, fact)| texts.number(fact)))
        })
        .collect();
    let (mut arrival, mut bytes, mut flow) = (UInt64Builder::new(), UInt32Builder::new(), UInt32Builder::new());
    let mut text_columns: [Int32Builder; 3] = Default::default();
    let mut port_columns: [UInt32Builder; 2] = Default::default();
    for packet in &packets.arrivals {
        arrival.append_value(packet.time.as_nanos());
        bytes.append_value(packet.size);
        flow.append_value(packet.flow);
        let index = packet.flow as usize;
        text_columns.iter_mut().zip(numbers[index]).for_each(|(column, number)| column.append_option(number));
        let both = ports[index].map_or([None, None], |(src, dst)| [Some(src), Some(dst)]);
        port_columns.iter_mut().zip(both).for_each(|(column, port)| column.append_option(port.map(u32::from)));
    }
    let mut fields = vec![
        Field::new("arrival_ns", DataType::UInt64, false),
        Field::new("bytes", DataType::UInt32, false),
        Field::new("flow", DataType::UInt32, false),
    ];
    let mut columns: Vec<ArrayRef> =
        vec![Arc::new(arrival.finish()), Arc::new(bytes.finish()), Arc::new(flow.finish())];
    for (name, (keys, texts)) in ["src", "dst", "protocol"].iter().zip(text_columns.iter_mut().zip(&texts)) {
        let values = Arc::new(StringArray::from_iter_values(texts.list()));
        let column = DictionaryArray::<Int32Type>::try_new(keys.finish(), values);
        columns.push(Arc::new(column.map_err(|error| Wrong::new("InternalError", error))?));
        fields.push(Field::new(*name, text(), true));
    }
    for (name, column) in ["sport", "dport"].iter().zip(&mut port_columns) {
        columns.push(Arc::new(column.finish()));
        fields.push(Field::new(*name, DataType::UInt32, true));
    }
    Table::new(fields, columns)
}
