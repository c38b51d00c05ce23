use super::*;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, RowAccessor};
use std::fs::File;

fn columns() -> Vec<Column> {
    vec![
        Column::new("bytes", Kind::U64),
        Column::new("flow", Kind::U32),
        Column::optional("latency_s", Kind::F64),
        Column::new("scheduler", Kind::Text),
        Column::optional("reason", Kind::Text),
    ]
}

/// What row `i` of the test table holds.
fn row(i: u64) -> (u64, u32, Option<f64>, String, Option<String>) {
    let latency = (!i.is_multiple_of(3)).then_some(i as f64 / 7.0);
    let reason = i.is_multiple_of(5).then(|| format!("queue {}", i % 11));
    (u64::MAX - i, u32::MAX - i as u32, latency, ["drfq", "tradeoff:alpha=0.85"][i as usize % 2].into(), reason)
}

fn write(path: &std::path::Path, rows: u64) {
    let mut output = Output::create(path, &["t.parquet"], &[]).unwrap();
    let mut table = Table::create(&mut output, "t.parquet", &columns()).unwrap();
    for i in 0..rows {
        let (bytes, flow, latency, scheduler, reason) = row(i);
        let latency = latency.map_or(Value::None, Value::F64);
        let reason = reason.as_deref().map_or(Value::None, Value::Text);
        table.push(&[Value::U64(bytes), Value::U32(flow), latency, Value::Text(&scheduler), reason]).unwrap();
    }
    table.finish().unwrap();
    output.commit().unwrap();
}

#[test]
fn every_value_comes_back_over_several_row_groups() {
    let root = tempfile::tempdir().unwrap();
    let rows = 2 * ROWS_PER_GROUP as u64 + 5;
    write(root.path(), rows);
    let reader = SerializedFileReader::new(File::open(root.path().join("t.parquet")).unwrap()).unwrap();
    let groups: Vec<i64> = reader.metadata().row_groups().iter().map(|g| g.num_rows()).collect();
    assert_eq!(groups, [ROWS_PER_GROUP as i64, ROWS_PER_GROUP as i64, 5]);
    let mut count = 0;
    for (i, read) in reader.get_row_iter(None).unwrap().enumerate() {
        let read = read.unwrap();
        let (bytes, flow, latency, scheduler, reason) = row(i as u64);
        assert_eq!(read.get_ulong(0).unwrap(), bytes);
        assert_eq!(read.get_uint(1).unwrap(), flow);
        assert_eq!(read.get_double(2).ok(), latency);
        assert_eq!(read.get_string(3).unwrap(), &scheduler);
        assert_eq!(read.get_string(4).ok(), reason.as_ref());
        assert!(reason.is_some() || read.get_column_iter().nth(4).unwrap().1 == &Field::Null);
        count += 1;
    }
    assert_eq!(count, rows);
}

#[test]
fn measured_numbers_are_not_looked_up_in_a_dictionary() {
    let root = tempfile::tempdir().unwrap();
    let mut output = Output::create(root.path(), &["t.parquet"], &[]).unwrap();
    let columns = [
        Column::optional("link.start_ns", Kind::U64),
        Column::new("link.latency_s", Kind::F64),
        Column::new("bytes", Kind::U32),
        Column::new("flow", Kind::Text),
    ];
    let mut table = Table::create(&mut output, "t.parquet", &columns).unwrap();
    table.push(&[Value::U64(1), Value::F64(2.0), Value::U32(3), Value::Text("ipsec")]).unwrap();
    table.finish().unwrap();
    output.commit().unwrap();
    let reader = SerializedFileReader::new(File::open(root.path().join("t.parquet")).unwrap()).unwrap();
    let columns = reader.metadata().row_group(0).columns();
    let dictionaries: Vec<bool> = columns.iter().map(|column| column.dictionary_page_offset().is_some()).collect();
    assert_eq!(dictionaries, [false, false, true, true]);
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for root in [&a, &b] {
        write(root.path(), 1000);
    }
    let bytes = |root: &tempfile::TempDir| std::fs::read(root.path().join("t.parquet")).unwrap();
    assert_eq!(bytes(&a), bytes(&b));
}

#[test]
fn a_table_without_rows_is_a_table() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), 0);
    let reader = SerializedFileReader::new(File::open(root.path().join("t.parquet")).unwrap()).unwrap();
    assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    assert_eq!(reader.metadata().file_metadata().schema_descr().num_columns(), 5);
}

#[test]
fn values_that_do_not_fit_are_refused_with_the_columns_name() {
    let root = tempfile::tempdir().unwrap();
    let mut output = Output::create(root.path(), &["t.parquet"], &[]).unwrap();
    let mut table = Table::create(&mut output, "t.parquet", &columns()[..1]).unwrap();
    for (row, expected) in [
        (vec![Value::None], "column `bytes` of U64 cannot take None"),
        (vec![Value::F64(1.0)], "column `bytes` of U64 cannot take F64(1.0)"),
        (vec![], "a row has 0 values, the table 1 columns"),
    ] {
        let message = table.push(&row).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
        assert!(message.contains("t.parquet"), "{message}");
    }
}

#[test]
fn a_repeated_column_name_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let mut output = Output::create(root.path(), &["t.parquet"], &[]).unwrap();
    let twice = [Column::new("a", Kind::U64), Column::new("a", Kind::F64)];
    let error = Table::create(&mut output, "t.parquet", &twice).err().unwrap();
    assert!(error.to_string().contains("two columns have the name `a`"), "{error}");
}
