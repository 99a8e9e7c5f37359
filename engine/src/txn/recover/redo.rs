//! Making prepared transactions again, with their locks.

use super::rows::{Replaying, take_image};
use crate::{
    log::{self, Change, RowsKind},
    txn::{
        Isolation, LockMode, OpenError, TxnError, TxnOptions,
        engine::Inner,
        entry::{hidden_key, primary_key},
        owner::Owner,
        prepared_list::{Record, Records},
        transaction::Txn,
        waiting::Unattended,
        writes::row_numbers,
    },
    types::{Table, TableId},
};
use std::sync::{Arc, atomic::Ordering};

/// Makes the prepared transactions that recovery has found again: step 3 of `prepared`.
pub(in crate::txn) fn restore(engine: &Arc<Inner>, records: Records) -> Result<(), OpenError> {
    for (xid, record) in records {
        let refused = |error: TxnError| {
            OpenError(format!(
                "cannot restore the prepared transaction {xid}: {error}"
            ))
        };
        let transaction = redo(engine, &record.events).map_err(refused)?;
        let transaction = transaction.detach();
        engine
            .prepared
            .put(&xid, Record::clone(&record), transaction);
    }
    Ok(())
}

fn redo(engine: &Arc<Inner>, events: &[u8]) -> Result<Txn, TxnError> {
    let owner = Owner::new(0, Arc::new(Unattended));
    let options = TxnOptions {
        isolation: Isolation::ReadCommitted,
        read_only: false,
        lock_wait_ms: 0,
        table_lock_wait_ms: 0,
    };
    let mut txn = Txn::new(engine, &owner, options);
    txn.start_statement(&Arc::from("XA PREPARE"));
    let mut numbers = row_numbers(events);
    for change in log::changes(events) {
        if let Change::Rows {
            table,
            kind,
            images,
        } = change
        {
            let id = TableId::try_from(table).unwrap_or(TableId::MAX);
            let numbers = numbers.entry(id).or_default();
            redo_rows(&mut txn, id, kind, images, numbers)?;
        }
    }
    Ok(txn)
}

fn redo_rows(
    txn: &mut Txn,
    id: TableId,
    kind: RowsKind,
    mut images: &[u8],
    numbers: &mut &[u8],
) -> Result<(), TxnError> {
    let unknown = || TxnError::Corrupt(format!("rows of an unknown table {id}"));
    let dictionary = txn.engine.dictionary.load_full();
    let (table, _) = dictionary.entry(id).ok_or_else(unknown)?;
    let table = txn.use_table(table, true)?.ok_or_else(unknown)?;
    while !images.is_empty() {
        let number = match (&table.primary, numbers.split_first_chunk::<8>()) {
            (Some(_), _) => None,
            (None, Some((number, rest))) => {
                *numbers = rest;
                Some(u64::from_le_bytes(*number))
            }
            (None, None) => {
                let missing = "a row change without its row number".to_owned();
                return Err(TxnError::Corrupt(missing));
            }
        };
        let first = take_image(&table, &mut images)?;
        if kind == RowsKind::Write {
            txn.insert_as(&table, first, LockMode::Shared, number)?;
            note_auto_increment(txn, &table, first)?;
            continue;
        }
        let key = match number {
            Some(number) => hidden_key(number),
            None => primary_key(&table, first)?.unwrap_or_default(),
        };
        if kind == RowsKind::Update {
            let after = take_image(&table, &mut images)?;
            txn.update(&table, &key, first, after)?;
        } else {
            txn.delete(&table, &key, first)?;
        }
    }
    Ok(())
}

fn note_auto_increment(txn: &Txn, table: &Table, image: &[u8]) -> Result<(), TxnError> {
    let mut used = txn.tables.iter();
    match used.find(|used| used.table.id == table.id) {
        Some(used) => {
            let next = Replaying::new(&used.table, &used.state).auto_increment_after(image)?;
            used.state.auto_increment.fetch_max(next, Ordering::Relaxed);
            Ok(())
        }
        None => Ok(()),
    }
}
