//! Making prepared transactions again, with their locks.

use super::rows::Replaying;
use crate::{
    log::{self, Change, RowsKind},
    txn::{
        Isolation, OpenError, TxnError, TxnOptions,
        beside::{self, Beside},
        engine::Inner,
        owner::Owner,
        prepared_list::{Record, Records},
        row_change::RowChange,
        transaction::Txn,
        waiting::Unattended,
    },
    types::TableId,
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
    let mut besides = beside::of_events(events);
    for change in log::changes(events) {
        if let Change::Rows {
            table,
            kind,
            images,
        } = change
        {
            let id = TableId::try_from(table).unwrap_or(TableId::MAX);
            let beside = besides.entry(id).or_default();
            redo_rows(&mut txn, id, kind, images, beside)?;
        }
    }
    Ok(txn)
}

fn redo_rows(
    txn: &mut Txn,
    id: TableId,
    kind: RowsKind,
    mut images: &[u8],
    beside: &mut Beside<'_>,
) -> Result<(), TxnError> {
    let unknown = || TxnError::Corrupt(format!("rows of an unknown table {id}"));
    let dictionary = txn.engine.definitions.load_full();
    let (table, _) = dictionary.entry(id).ok_or_else(unknown)?;
    let table = txn.use_table(table, true)?.ok_or_else(unknown)?;
    let used = txn.tables.iter().find(|used| used.table.id == table.id);
    let state = used.map(|used| Arc::clone(&used.state));
    let state = state.ok_or_else(unknown)?;
    let mut replaying = Replaying::new(&table, &state);
    while !images.is_empty() {
        let number = beside.take_number(&table);
        let change = RowChange::take(&table, kind, &mut images, beside)?;
        let change = change.borrowed().keyed(&table, number)?;
        txn.change_again(&table, &change)?;
        // The next rows come after those that it has inserted.
        if let RowChange::Insert(row) = &change {
            let next = replaying.auto_increment_after(row.image)?;
            state.auto_increment.fetch_max(next, Ordering::Relaxed);
            let next = number.map_or(0, |number| number.saturating_add(1));
            state.next_row.fetch_max(next, Ordering::Relaxed);
        }
    }
    Ok(())
}
