//! Which rows have the same key, when a new unique key refuses them.
//!
//! The engine sorts bare keys and can only name the index. The words of error 1062 need the
//! values, so the rows are read once more, now that the change has failed.

use super::{
    DdlContext,
    alter::{Altered, Rows},
    convert::Conversion,
};
use crate::{error::SqlError, exec::duplicate_error};
use cohort_engine::{
    txn::{Batch, Copying, Isolation, KeyRange, Read, TxnError, TxnOptions},
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
    let mut conversion = Conversion::new(
        old,
        &altered.table,
        altered,
        (ctx.session, ctx.auto_increment),
        &outcome,
    )
    .ok()?;
    let mut keys: FxHashSet<Vec<u8>> = FxHashSet::default();
    let mut least: Option<(Vec<u8>, Vec<Value>)> = None;
    let mut image = Vec::new();
    let scanned = scan(old, ctx, |before| {
        if matches!(altered.rows, Rows::Rewritten) {
            image.clear();
            let copying = Copying::Again;
            conversion.convert(copying, before, &mut image).ok()?;
        } else {
            image.clear();
            image.extend_from_slice(before);
        }
        let found = key::entries_of_row(&altered.table, index, &image).ok()?;
        // A key with NULL equals nothing.
        for entry in found.into_iter().filter(|entry| !entry.has_null) {
            let is_less = least.as_ref().is_none_or(|(other, _)| entry.key < *other);
            if keys.contains(&entry.key) {
                if is_less {
                    least = Some((entry.key, row::decode(&altered.table, &image).ok()?));
                }
            } else if keys.len() < ROWS_MAX {
                keys.insert(entry.key);
            } else {
                return None;
            }
        }
        Some(())
    });
    scanned.ok()?;
    least.map(|(_, row)| row)
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
