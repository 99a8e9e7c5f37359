//! CHECKSUM TABLE: the number that MySQL has for a table of the same definition and rows.
//!
//! It is the sum of the CRC-32 of all rows, so their order does not matter. Of a row it is taken
//! over the bits that tell which values are NULL, then over the columns as MySQL has them in
//! memory: a CHAR with its trailing spaces, a VARCHAR, TEXT or BLOB without a length, a JSON
//! document as its text, the others as in the log. A NULL has the bytes of the column's default.
//!
//! The bits: one for each column that may be NULL. A table whose columns all have a fixed length
//! has one more, in front, which is set. Bits of the last byte that nothing uses are set, too;
//! where all of them are used, MySQL sets them all.

use super::{Session, transaction::Characteristics};
use crate::{
    catalog::{self, text},
    command::TableName,
    error::SqlError,
    expr::assign::{assign, implicit_default},
    output::Output,
    privileges::Privilege,
    show::Shown,
    text::json::print,
    warnings::Level,
};
use cohort_engine::{
    txn::{Batch, Isolation, KeyRange, LockMode, OnConflict, Read, Txn},
    types::{
        Column, ColumnType, Json, Table, Value,
        row::{self, Malformed},
        schema::DefaultValue,
    },
};
use std::sync::Arc;

/// Rows are read so many at a time.
const ROWS_AT_ONCE: usize = 256;

impl Session {
    /// A row for each table; NULL and a warning for what has no rows of its own. With QUICK all
    /// are NULL: no checksum is kept beside a table.
    pub(super) fn checksum_tables(
        &mut self,
        tables: &[TableName],
        quick: bool,
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        self.check_admin(&[Privilege::Select], tables)?;
        let mut rows = Vec::new();
        for name in tables {
            let database = name.database.as_deref().unwrap_or(&self.state.database);
            let database = database.to_owned();
            let value = match self.checksum_table(&database, name, quick) {
                Ok(value) => value,
                Err(error) if error.ended_transaction() || self.state.owner.is_killed() => {
                    return Err(error);
                }
                Err(error) => {
                    self.state.warnings.push(Level::Error, error);
                    Value::Null
                }
            };
            let full = match catalog::virtual_table(&database, &name.name) {
                Some(known) => format!("{}.{}", known.definition.database, known.definition.name),
                None => format!("{database}.{}", name.name),
            };
            rows.push(vec![text(full), value]);
        }
        self.send(&Shown::checksums(rows), true, out)
    }

    fn checksum_table(
        &mut self,
        database: &str,
        name: &TableName,
        quick: bool,
    ) -> Result<Value, SqlError> {
        self.check_locked_name(name)?;
        let dictionary = self.state.dictionary();
        if let Some(known) = catalog::virtual_table(database, &name.name) {
            let known = &known.definition;
            return Err(SqlError::wrong_object(
                &known.database,
                &known.name,
                "BASE TABLE",
            ));
        }
        if dictionary.view(database, &name.name).is_some() {
            return Err(SqlError::wrong_object(database, &name.name, "BASE TABLE"));
        }
        if dictionary.database(database).is_none() && !catalog::is_virtual(database) {
            return Err(SqlError::unknown_database(database));
        }
        let table = dictionary.table(database, &name.name).cloned();
        let table = table.ok_or_else(|| SqlError::no_such_table(database, &name.name))?;
        if quick {
            return Ok(Value::Null);
        }
        self.xa_takes_work()?;
        let (characteristics, alone) = self.enter()?;
        let engine = self.transaction.engine.take();
        let mut txn = engine.unwrap_or_else(|| self.begin_engine(characteristics));
        let settings = self.state.settings();
        txn.set_lock_wait_ms(settings.row_lock_wait_ms, settings.table_lock_wait_ms);
        txn.start_statement(&Arc::from(format!(
            "CHECKSUM TABLE {database}.{}",
            table.name
        )));
        let read = plain_read(characteristics, alone);
        let sum = self.sum_of_rows(&mut txn, &table, read);
        txn.regard_reads();
        self.leave(txn, alone, sum.as_ref().err());
        sum.map(|sum| Value::Int(sum.into()))
    }

    fn sum_of_rows(
        &mut self,
        txn: &mut Txn,
        table: &Arc<Table>,
        read: Read,
    ) -> Result<u32, SqlError> {
        let used = txn.use_table(table, false)?;
        let table = used.ok_or_else(SqlError::table_definition_changed)?;
        let defaults = self.defaults_in_rows(&table)?;
        let range = KeyRange {
            low: Vec::new(),
            high: None,
        };
        let mut scan = txn.scan(table.rows, range, false, read);
        let mut batch = Batch::default();
        let mut sum = 0_u32;
        loop {
            scan.next(txn, &mut batch, ROWS_AT_ONCE)?;
            if batch.is_empty() {
                return Ok(sum);
            }
            for row in 0..batch.len() {
                let of_row = row_crc(&table, &defaults, batch.get(row).1).map_err(damaged)?;
                sum = sum.wrapping_add(of_row);
            }
        }
    }

    /// The bytes that stand for a NULL of each column.
    fn defaults_in_rows(&mut self, table: &Table) -> Result<Vec<Vec<u8>>, SqlError> {
        let values = self.state.evaluating(&[], |context| {
            let default = |column: &Column| match (&column.default, column.default.bits()) {
                (_, Some(bits)) => Ok(Value::UInt(bits)),
                (DefaultValue::Literal(text), None) => {
                    assign(column, Value::Bytes(text.clone().into_bytes()), context)
                }
                _ => Ok(implicit_default(column)),
            };
            table
                .columns
                .iter()
                .map(default)
                .collect::<Result<Vec<_>, _>>()
        })?;
        let mut image = Vec::new();
        row::encode(table, &values, &mut image);
        let raw = row::raw_values(table, &image, positions(table)).map_err(damaged)?;
        Ok(raw
            .iter()
            .map(|raw| raw.unwrap_or_default().to_vec())
            .collect())
    }
}

fn damaged(_: Malformed) -> SqlError {
    SqlError::internal("a stored row does not fit its table")
}

fn plain_read(characteristics: Characteristics, alone: bool) -> Read {
    match characteristics.isolation {
        Isolation::Serializable if !alone => Read::Locking(LockMode::Shared, OnConflict::Wait),
        _ => Read::Plain,
    }
}

fn positions(table: &Table) -> impl Iterator<Item = u16> + Clone {
    (0..).take(table.columns.len())
}

fn row_crc(table: &Table, defaults: &[Vec<u8>], image: &[u8]) -> Result<u32, Malformed> {
    let values = row::raw_values(table, image, positions(table))?;
    let columns = table.columns.iter().zip(&values);
    let nullable = columns.clone().filter(|(column, _)| column.nullable);
    let mut crc = crc32fast::Hasher::new();
    crc.update(&null_bits(
        table,
        nullable.map(|(_, value)| value.is_none()),
    ));
    for ((column, value), default) in columns.zip(defaults) {
        let bytes = value.unwrap_or(default);
        match column.ty {
            ColumnType::Json => {
                let document = Json::from_bytes(bytes).ok_or(Malformed)?;
                let mut printed = Vec::new();
                print(&document.root(), &mut printed);
                crc.update(&printed);
            }
            ColumnType::Char(_) => {
                crc.update(bytes);
                let charset = column.collation.charset();
                let padding: &[u8] = if column.is_binary() {
                    &[0]
                } else {
                    &charset.encode(b" ")
                };
                let missing = (column.max_bytes() as usize).saturating_sub(bytes.len());
                crc.update(&padding.repeat(missing / padding.len()));
            }
            _ => crc.update(bytes),
        }
    }
    Ok(crc.finalize())
}

/// The bits in front of a row, as the head of this file has them.
fn null_bits(table: &Table, nulls: impl Iterator<Item = bool>) -> Vec<u8> {
    let varies = |column: &Column| {
        matches!(
            column.ty,
            ColumnType::VarChar(_) | ColumnType::Text(_) | ColumnType::Json
        )
    };
    let fixed = !table.columns.iter().any(varies);
    let bits: Vec<bool> = fixed.then_some(true).into_iter().chain(nulls).collect();
    let byte = |bits: &[bool]| {
        let set = |byte: u8, (at, bit): (usize, &bool)| byte | u8::from(*bit) << at;
        bits.iter().enumerate().fold(0, set)
    };
    let mut bytes: Vec<u8> = bits.chunks(8).map(byte).collect();
    if let Some(last) = bytes.last_mut() {
        *last |= match bits.len() % 8 {
            0 => 0xff,
            used => 0xff << used,
        };
    }
    bytes
}
