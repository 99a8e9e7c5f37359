//! Which rows have the same key, when a new unique key refuses them.
//!
//! The engine sorts bare keys and can only name the index. The words of error 1062 need the
//! values, so the rows are read once more, now that the change has failed.

use super::{DdlContext, alter::Altered, convert::Conversion};
use crate::{error::SqlError, exec::duplicate_error};
use cohort_engine::{
    txn::{Batch, Isolation, KeyRange, Read, TxnError, TxnOptions},
    types::{Index, Table, Value, key, row},
};
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Rows that are looked at; among more, the values of the duplicate are not told.
const ROWS_MAX: usize = 2_000_000;
/// Rows that are read at a time.
const BATCH_ROWS: usize = 256;

/// Error 1062 for the index of this name of the new table.
pub(super) fn error(
    name: &str,
    old: &Arc<Table>,
    altered: &Altered,
    ctx: &DdlContext<'_>,
) -> SqlError {
    let new = &altered.table;
    let found = new
        .index_named(name)
        .and_then(|index| find(index, old, altered, ctx));
    // The rows may have changed since; then there is nothing more to say.
    duplicate_error(new, name, &found.unwrap_or_default())
}

/// The row with the least key that another row has, too.
fn find(
    index: &Index,
    old: &Arc<Table>,
    altered: &Altered,
    ctx: &DdlContext<'_>,
) -> Option<Vec<Value>> {
    let outcome = Arc::new(Mutex::default());
    let mut conversion =
        Conversion::new(old, &altered.table, altered, ctx.session, &outcome).ok()?;
    let mut keys: FxHashSet<Vec<u8>> = FxHashSet::default();
    let mut least: Option<(Vec<u8>, Vec<Value>)> = None;
    let mut image = Vec::new();
    let scanned = scan(old, ctx, |before| {
        let row = if altered.rebuild {
            image.clear();
            conversion.convert(before, &mut image).ok()?;
            conversion.values().to_vec()
        } else {
            row::decode(old, before).ok()?
        };
        let Some(key) = unique_key(index, &altered.table, &row) else {
            return Some(());
        };
        let is_less = least.as_ref().is_none_or(|(other, _)| key < *other);
        if keys.contains(&key) {
            if is_less {
                least = Some((key, row));
            }
        } else if keys.len() < ROWS_MAX {
            keys.insert(key);
        } else {
            return None;
        }
        Some(())
    });
    scanned.ok()?;
    least.map(|(_, row)| row)
}

/// The bytes of a key; `None` if it has a NULL, which equals nothing.
fn unique_key(index: &Index, table: &Table, row: &[Value]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for part in &index.parts {
        let column = table.columns.get(usize::from(part.column))?;
        let value = row.get(usize::from(part.column))?;
        if value.is_null() {
            return None;
        }
        key::encode_part(column, *part, value, &mut bytes);
    }
    Some(bytes)
}

/// Calls `visit` with the rows of a table until it has enough.
fn scan(
    table: &Arc<Table>,
    ctx: &DdlContext<'_>,
    mut visit: impl FnMut(&[u8]) -> Option<()>,
) -> Result<(), TxnError> {
    let options = TxnOptions {
        isolation: Isolation::ReadCommitted,
        read_only: true,
        lock_wait_ms: ctx.lock_wait_ms,
        table_lock_wait_ms: ctx.lock_wait_ms,
    };
    let mut txn = ctx.engine.begin(ctx.owner, options);
    txn.take_snapshot();
    if table.is_temporary() {
        txn.use_table(table, false)?;
    }
    let range = KeyRange {
        low: Vec::new(),
        high: None,
    };
    let mut scan = txn.scan(table.rows, range, false, Read::Plain);
    let mut batch = Batch::default();
    loop {
        scan.next(&mut txn, &mut batch, BATCH_ROWS)?;
        ctx.owner.waiting.offer(true);
        if batch.is_empty() || ctx.owner.is_killed() {
            return Ok(());
        }
        for row in 0..batch.len() {
            if visit(batch.get(row).1).is_none() {
                return Ok(());
            }
        }
    }
}
