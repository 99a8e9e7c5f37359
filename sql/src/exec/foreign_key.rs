//! Foreign keys while rows change: parents that must be there, children that go along.
//!
//! Why it is hard: several transactions change both ends at once, and a row's change can change
//! further rows, of the same table, too.
//!
//! * A child's parent is read with a shared lock, which the child's transaction keeps. So the
//!   parent stays until the child is committed or gone; nothing but the parent's row is locked.
//! * Who deletes a parent, or changes its key, has it locked exclusively before children are looked
//!   for. So a child that comes later has to wait, and then finds no parent.
//! * Children are dealt with before the change that the statement itself makes, as MySQL 9.7 does:
//!   a row that refers to itself by a RESTRICT cannot be deleted. A change that comes from another
//!   is made before its own children are dealt with.
//! * An ON UPDATE that comes back to a table which is being updated acts as RESTRICT, unless it
//!   finds the row that it began with, on its way to the very same values; and no chain is longer
//!   than `DEPTH_MAX`. Both are MySQL's rules, and make sure that it ends.
//!
//! Every row that is changed on the way is a row of the transaction like any other, in the log, too:
//! who applies the log need not know of foreign keys.
//!
//! Example: `city.country` refers to `country.id` ON DELETE CASCADE, `person.city` to `city.id` ON
//! DELETE SET NULL. `DELETE FROM country WHERE id = 1` locks country 1, finds and locks its cities,
//! sets to NULL the city of each person of each of them, deletes the cities, deletes country 1.

use super::{ExecContext, Stop, duplicate::key_text, generated, key::prefix_range};
use crate::{
    error::SqlError,
    foreign_key_text,
    plan::{Parent, Reference, TableRelations},
};
use cohort_engine::{
    invariant::broken,
    txn::{Batch, LockMode, OnConflict, Read, TxnError},
    types::{Column, ColumnType, Index, ReferentialAction, Table, Value, key, row},
};
use std::sync::Arc;

/// The longest chain of rows that change because the one before does, with the first one.
const DEPTH_MAX: usize = 15;
/// How many children are found at once.
const BATCH: usize = 64;

/// The rows whose changes led to a change, the nearest first.
struct Chain<'c> {
    table: &'c Table,
    key: &'c [u8],
    /// What it becomes, if it is updated and not deleted.
    after: Option<&'c [u8]>,
    above: Option<&'c Chain<'c>>,
}

impl<'c> Chain<'c> {
    fn new(
        table: &'c Table,
        key: &'c [u8],
        after: Option<&'c [u8]>,
        above: Option<&'c Chain<'c>>,
    ) -> Self {
        Chain {
            table,
            key,
            after,
            above,
        }
    }
    fn links(&self) -> impl Iterator<Item = &Chain<'_>> {
        std::iter::successors(Some(self), |link| link.above)
    }
    /// 3008 if it is too long.
    fn check_depth(&self) -> Result<(), SqlError> {
        match self.links().count() >= DEPTH_MAX {
            true => Err(SqlError::foreign_key_depth(DEPTH_MAX)),
            false => Ok(()),
        }
    }
    fn deletes(&self, table: &Table, key: &[u8]) -> bool {
        let same = |link: &Chain<'_>| link.table.id == table.id && link.key == key;
        self.links().any(|link| link.after.is_none() && same(link))
    }
    fn updates(&self, table: &Table) -> bool {
        self.links()
            .any(|link| link.after.is_some() && link.table.id == table.id)
    }
    /// Whether a row is on its way to what it would become by a foreign key.
    fn updates_so(&self, table: &Table, key: &[u8], wanted: &[u8]) -> bool {
        let same = |link: &Chain<'_>| link.table.id == table.id && link.key == key;
        self.links()
            .any(|link| link.after == Some(wanted) && same(link))
    }
}

/// 1452 unless the row has all its parents; of a row that was `before`, those of the columns that
/// have changed.
pub(super) fn check_parents(
    table: &Arc<Table>,
    before: Option<&[u8]>,
    image: &[u8],
    context: &mut ExecContext,
) -> Result<(), Stop> {
    let Some(relations) = context.relations_of(table) else {
        return Ok(());
    };
    check_parents_of(relations, before, image, None, context)
}

fn check_parents_of(
    relations: &TableRelations,
    before: Option<&[u8]>,
    image: &[u8],
    cause: Option<&Reference>,
    context: &mut ExecContext,
) -> Result<(), Stop> {
    for reference in &relations.parents {
        // The parent that the change comes from is there.
        if cause.is_some_and(|cause| cause.key.name == reference.key.name) {
            continue;
        }
        let (child, key) = (&reference.child, &reference.key);
        if let Some(before) = before
            && same_values(child, &key.columns, before, image)?
        {
            continue;
        }
        if !has_parent(reference, image, context)? {
            let (database, _) = child.full_name();
            let clause = foreign_key_text::clause(key, child);
            return Err(SqlError::no_referenced_row(database, &child.name, clause).into());
        }
    }
    Ok(())
}

fn same_values(
    table: &Table,
    columns: &[u16],
    image: &[u8],
    other: &[u8],
) -> Result<bool, row::Malformed> {
    let columns = columns.iter().copied();
    let values = row::raw_values(table, image, columns.clone())?;
    Ok(values == row::raw_values(table, other, columns)?)
}

/// Whether the parent of a child's row is there, or need not be, because the child has NULL. It is
/// locked then.
fn has_parent(
    reference: &Reference,
    image: &[u8],
    context: &mut ExecContext,
) -> Result<bool, Stop> {
    let child = (&*reference.child, reference.key.columns.as_slice());
    let Some(Parent {
        table,
        index,
        columns,
    }) = &reference.parent
    else {
        let raw = row::raw_values(child.0, image, child.1.iter().copied())?;
        return Ok(raw.iter().any(Option::is_none));
    };
    let Some(low) = key::encode_reference(child, image, (table, index))? else {
        return Ok(true);
    };
    // A row may be its own parent, also before it is there.
    if table.id == child.0.id {
        let own = key::encode_reference((table, columns.as_slice()), image, (table, index))?;
        if own.as_ref() == Some(&low) {
            return Ok(true);
        }
    }
    let read = Read::Locking(LockMode::Shared, OnConflict::Wait);
    context.handler.read_key += 1;
    let whole = index.parts.len() == reference.key.columns.len();
    let mut found = Vec::new();
    let same = |found: &[u8]| {
        // The child's values are found by the parent's collation, and must be there by its own.
        let back = (table.as_ref(), columns.as_slice());
        let child_index = &reference.child_index;
        let back = key::encode_reference(back, found, (child.0, child_index))?;
        Ok::<_, Stop>(back == key::encode_reference(child, image, (child.0, child_index))?)
    };
    let agree = has_same_collations(reference, table, columns);
    if index.tree == table.rows && whole {
        let exists = context.txn.get(index.tree, &low, read, &mut found)?;
        return Ok(exists && (agree || same(&found)?));
    }
    let mut batch = Batch::default();
    let mut scan = context.txn.scan(index.tree, prefix_range(low), false, read);
    loop {
        scan.next(context.txn, &mut batch, 1)?;
        if batch.is_empty() || agree {
            return Ok(!batch.is_empty());
        }
        let row = row_key(table, index, batch.get(0).0)?.to_vec();
        if context.txn.get(table.rows, &row, read, &mut found)? && same(&found)? {
            return Ok(true);
        }
    }
}

/// Whether a child's columns have the collations of its parent's: they may not, while one of the
/// tables is converted and the other not yet (without foreign_key_checks).
fn has_same_collations(reference: &Reference, parent: &Table, columns: &[u16]) -> bool {
    let mut pairs = reference.key.columns.iter().zip(columns);
    pairs.all(|(own, of_parent)| {
        let own = reference.child.columns.get(usize::from(*own));
        let of_parent = parent.columns.get(usize::from(*of_parent));
        own.map(|column| column.collation) == of_parent.map(|column| column.collation)
    })
}

/// The key of the row that an entry of an index is of.
fn row_key<'e>(table: &Table, index: &Index, entry: &'e [u8]) -> Result<&'e [u8], Stop> {
    if index.tree == table.rows {
        return Ok(entry);
    }
    let start = key::parts_length(table, index, index.parts.len(), entry)?;
    Ok(entry.get(start..).unwrap_or_default())
}

/// What a row's children need before it is deleted. Those stay whose key the row has, too, that
/// comes in its place, `by`, if one does.
pub(super) fn before_delete(
    table: &Arc<Table>,
    (key, image): (&[u8], &[u8]),
    by: Option<&[u8]>,
    context: &mut ExecContext,
) -> Result<(), Stop> {
    let Some(relations) = context.relations_of(table) else {
        return Ok(());
    };
    let chain = Chain::new(table, key, None, None);
    children_at_delete(relations, (image, by), &chain, context)
}

fn children_at_delete(
    relations: &TableRelations,
    (image, by): (&[u8], Option<&[u8]>),
    chain: &Chain<'_>,
    context: &mut ExecContext,
) -> Result<(), Stop> {
    for reference in &relations.children {
        let child = &reference.child;
        let parent = parent(reference)?;
        if let Some(by) = by
            && same_values(&parent.table, &parent.columns, image, by)?
        {
            // The log has a row that is deleted: nobody who applies it may delete its children.
            context.txn.note_foreign_keys_done();
            continue;
        }
        each_child(
            reference,
            image,
            reference.key.on_delete,
            context,
            |context, key, found| {
                match reference.key.on_delete {
                    ReferentialAction::NoAction
                    | ReferentialAction::Restrict
                    | ReferentialAction::SetDefault => Err(is_referenced(reference).into()),
                    // It goes already.
                    _ if chain.deletes(child, key) => Ok(()),
                    ReferentialAction::Cascade => delete_child(child, (key, found), chain, context),
                    ReferentialAction::SetNull => {
                        let nulls = reference.key.columns.iter().map(|_| Value::Null);
                        update_child(
                            reference,
                            (key, found),
                            nulls.collect(),
                            (image, chain),
                            context,
                        )
                    }
                }
            },
        )?;
    }
    Ok(())
}

fn delete_child(
    child: &Arc<Table>,
    (key, image): (&[u8], &[u8]),
    above: &Chain<'_>,
    context: &mut ExecContext,
) -> Result<(), Stop> {
    above.check_depth()?;
    context.txn.delete(child, key, image)?;
    context.handler.delete += 1;
    context
        .io
        .count((child.id, None), |counts| counts.deleted += 1);
    let Some(relations) = context.relations_of(child) else {
        return Ok(());
    };
    let chain = Chain::new(child, key, None, Some(above));
    children_at_delete(relations, (image, None), &chain, context)
}

/// What a row's children need before its key changes.
pub(super) fn before_update(
    table: &Arc<Table>,
    (key, before): (&[u8], &[u8]),
    after: &[u8],
    context: &mut ExecContext,
) -> Result<(), Stop> {
    let Some(relations) = context.relations_of(table) else {
        return Ok(());
    };
    let chain = Chain::new(table, key, Some(after), None);
    children_at_update(relations, before, after, &chain, context)
}

fn children_at_update(
    relations: &TableRelations,
    before: &[u8],
    after: &[u8],
    chain: &Chain<'_>,
    context: &mut ExecContext,
) -> Result<(), Stop> {
    for reference in &relations.children {
        let parent = parent(reference)?;
        if same_values(&parent.table, &parent.columns, before, after)? {
            continue;
        }
        let action = reference.key.on_update;
        // It would go round in circles.
        let returns = chain.updates(&reference.child);
        each_child(reference, before, action, context, |context, key, found| {
            let values = match action {
                ReferentialAction::NoAction
                | ReferentialAction::Restrict
                | ReferentialAction::SetDefault => return Err(is_referenced(reference).into()),
                ReferentialAction::SetNull => {
                    reference.key.columns.iter().map(|_| Value::Null).collect()
                }
                ReferentialAction::Cascade => new_key(reference, after)?,
            };
            if returns {
                let wanted = changed_child(reference, found, values, context)?.1;
                return match chain.updates_so(&reference.child, key, &wanted) {
                    true => Ok(()),
                    false => Err(is_referenced(reference).into()),
                };
            }
            update_child(reference, (key, found), values, (after, chain), context)
        })?;
    }
    Ok(())
}

/// How many characters of a parent's key 1761 shows.
const PARENT_KEY_MAX: usize = 192;

/// 1761, with the whole key that the parent has in its index.
fn duplicate_by_cascade(
    reference: &Reference,
    image: &[u8],
    index: &str,
) -> Result<SqlError, Stop> {
    let parent = parent(reference)?;
    let row = row::decode(&parent.table, image)?;
    let key = key_text(&parent.table, &parent.index, &row);
    let record: String = key.chars().take(PARENT_KEY_MAX).collect();
    let (parent, child) = (&parent.table.name, &reference.child.name);
    Ok(SqlError::duplicate_by_cascade(parent, record, child, index))
}

fn parent(reference: &Reference) -> Result<&Parent, Stop> {
    let parent = reference.parent.as_ref();
    parent.ok_or_else(|| broken("who is referred to is there").into())
}

/// What children get in their columns; 1451 if a text is too long for its column, its character
/// set does not have all of it, or it ends with spaces that a CHAR does not keep and by which its
/// collation tells texts apart.
fn new_key(reference: &Reference, after: &[u8]) -> Result<Vec<Value>, Stop> {
    let parent = parent(reference)?;
    let row = row::decode(&parent.table, after)?;
    let mut values = Vec::with_capacity(parent.columns.len());
    for (from, to) in parent.columns.iter().zip(&reference.key.columns) {
        let value = row.get(usize::from(*from)).cloned().unwrap_or(Value::Null);
        let column = reference.child.columns.get(usize::from(*to));
        let column = column.ok_or_else(|| broken("a foreign key's column is there"))?;
        let unfit = matches!(&value, Value::Bytes(text) if is_unfit(column, text));
        if unfit || value.is_null() && !column.nullable {
            return Err(is_referenced(reference).into());
        }
        values.push(value);
    }
    Ok(values)
}

fn is_unfit(column: &Column, text: &[u8]) -> bool {
    let is_char = matches!(column.ty, ColumnType::Char(_));
    if is_char && !column.collation.pads() && text.ends_with(b" ") {
        return true;
    }
    let characters = column.collation.char_count(text) as u64;
    characters * u64::from(column.collation.max_char_bytes()) > u64::from(column.max_bytes())
        || column.collation.charset().foreign_at(text).is_some()
}

/// A child with other values in the columns of its foreign key, and its image.
fn changed_child(
    reference: &Reference,
    before: &[u8],
    values: Vec<Value>,
    context: &mut ExecContext,
) -> Result<(Vec<Value>, Vec<u8>), Stop> {
    let child = &reference.child;
    let mut row = row::decode(child, before)?;
    for (position, value) in reference.key.columns.iter().zip(values) {
        if let Some(slot) = row.get_mut(usize::from(*position)) {
            *slot = value;
        }
    }
    generated::fill(child, &mut row, context)?;
    let mut after = Vec::with_capacity(before.len());
    row::encode(child, &row, &mut after);
    Ok((row, after))
}

/// Gives a child other values in the columns of its foreign key, because of its parent, which has
/// this image or had it.
fn update_child(
    reference: &Reference,
    (key, before): (&[u8], &[u8]),
    values: Vec<Value>,
    (image, above): (&[u8], &Chain<'_>),
    context: &mut ExecContext,
) -> Result<(), Stop> {
    above.check_depth()?;
    let child = &reference.child;
    let (_, after) = changed_child(reference, before, values, context)?;
    if after == before {
        return Ok(());
    }
    match context.txn.update(child, key, before, &after) {
        Ok(()) => {}
        Err(TxnError::DuplicateKey { index }) => {
            return Err(duplicate_by_cascade(reference, image, &index)?.into());
        }
        Err(error) => return Err(error.into()),
    }
    context.handler.update += 1;
    context
        .io
        .count((child.id, None), |counts| counts.updated += 1);
    let Some(relations) = context.relations_of(child) else {
        return Ok(());
    };
    let chain = Chain::new(child, key, Some(&after), Some(above));
    children_at_update(relations, before, &after, &chain, context)?;
    check_parents_of(relations, Some(before), &after, Some(reference), context)
}

/// Calls `change` with key and image of each child of a parent's row. For actions that change
/// children they are locked exclusively, else shared, one at a time.
fn each_child(
    reference: &Reference,
    image: &[u8],
    action: ReferentialAction,
    context: &mut ExecContext,
    mut change: impl FnMut(&mut ExecContext, &[u8], &[u8]) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let Reference {
        child, child_index, ..
    } = reference;
    let parent = parent(reference)?;
    let from = (&*parent.table, parent.columns.as_slice());
    let Some(low) = key::encode_reference(from, image, (child, child_index))? else {
        return Ok(());
    };
    let (mode, limit) = match action {
        ReferentialAction::Cascade | ReferentialAction::SetNull => (LockMode::Exclusive, BATCH),
        ReferentialAction::NoAction
        | ReferentialAction::Restrict
        | ReferentialAction::SetDefault => (LockMode::Shared, 1),
    };
    let read = Read::Locking(mode, OnConflict::Wait);
    let tree = child_index.tree;
    let mut scan = context.txn.scan(tree, prefix_range(low), false, read);
    let (mut batch, mut found) = (Batch::default(), Vec::new());
    context.handler.read_key += 1;
    loop {
        scan.next(context.txn, &mut batch, limit)?;
        if batch.is_empty() {
            return Ok(());
        }
        for at in 0..batch.len() {
            context.tick()?;
            let (entry, _) = batch.get(at);
            let key = row_key(child, child_index, entry)?;
            context.handler.read_next += 1;
            // One before it may have changed it.
            if context.txn.get(child.rows, key, read, &mut found)? {
                context.txn.note_foreign_keys_done();
                change(context, key, &found)?;
            }
        }
    }
}

/// 1451
fn is_referenced(reference: &Reference) -> SqlError {
    let (database, name) = reference.child.full_name();
    let clause = foreign_key_text::clause(&reference.key, &reference.child);
    SqlError::row_is_referenced(database, name, clause)
}
