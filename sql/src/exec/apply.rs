//! Rows of another server's log: each change is made as it was made there.
//!
//! A row is found by its primary key or, without one, by the columns that the log has of it. The
//! images may be of some columns only (binlog_row_image): what is not said stays, and in a new row
//! has its default value.

use super::{
    ExecContext, Stop,
    change::{Changed, Parents, delete_row, insert_row, update_row},
    check::check_image,
    duplicate::duplicate_error,
    generated,
    insert::default_value,
    key::prefix_range,
    write::note_auto_increment,
};
use crate::{error::SqlError, json, plan::Default_};
use cohort_engine::{
    log::{RowsKind, incoming::Rows},
    txn::{Batch, KeyRange, LockMode, OnConflict, Read},
    types::{
        Column, ColumnType, Index, Json, Table, Value, key,
        row::{
            self,
            partial::{self, Field},
        },
    },
};
use std::sync::Arc;

/// How many rows are looked at at once for one without a primary key.
const BATCH: usize = 64;
/// The length that stands before a document, in bytes.
const DOCUMENT_LENGTH: usize = 4;

/// A table whose rows are changed as another server's log says.
pub(crate) struct Target<'t> {
    pub table: &'t Arc<Table>,
    /// The columns that images are of, if there are more behind those of the table.
    pub columns: Option<&'t [Column]>,
    /// What new rows get in columns that are not said.
    pub defaults: &'t [Default_],
    /// replica_exec_mode=IDEMPOTENT: what is there already, or gone, is no error.
    pub idempotent: bool,
}

/// What MySQL has for a document that INSERT IGNORE was not given: nothing, which it reads as JSON's
/// null; and JSON's null, as documents have it.
const NO_DOCUMENT: &[u8] = &[0; DOCUMENT_LENGTH];
const NULL_DOCUMENT: &[u8] = &[2, 0, 0, 0, 4, 0];

/// The key and the image of a row, which is locked.
type Found = (Vec<u8>, Vec<u8>);

/// A row of which some columns are known.
type Known<'a> = Vec<Option<Field<'a>>>;

/// Makes the changes of a rows event. 1032 if a row is not there, 1062 if one is there already.
pub(crate) fn apply<'r>(
    target: &Target<'_>,
    rows: &Rows<'r>,
    context: &mut ExecContext,
) -> Result<(), Stop> {
    let table = target.table;
    let mut images = rows.images;
    let unfit = |_| SqlError::internal("rows of the source's log do not fit their table");
    let columns = target.columns.unwrap_or_else(|| table.named_columns());
    let take = |present, images: &mut &'r [u8]| {
        let mut fields = partial::take(columns, (present, rows.columns), images)?;
        fields.truncate(table.named_columns().len());
        Ok(fields)
    };
    let take_whole = |present, images: &mut &'r [u8]| {
        let mut fields = take(present, images)?;
        for position in documents_of(table.named_columns()) {
            if let Some(Some(Some(field))) = fields.get_mut(position)
                && *field == NO_DOCUMENT
            {
                *field = NULL_DOCUMENT;
            }
        }
        Ok(fields)
    };
    while !images.is_empty() {
        context.tick()?;
        let before = rows.images.len() - images.len();
        let first = take_whole(rows.present.0, &mut images).map_err(unfit)?;
        match rows.kind {
            RowsKind::Write => {
                let image = new_image(target, first, context)?;
                insert(target, &image, context)?;
            }
            RowsKind::Delete => {
                if let Some((key, image)) = find(target, &first, context)? {
                    delete_row(table, &key, &image, None, context)?;
                }
            }
            RowsKind::Update => {
                let bits = changed_documents(columns, rows, &mut images).map_err(unfit)?;
                let after = match rows.partial {
                    true => take(rows.present.1, &mut images),
                    false => take_whole(rows.present.1, &mut images),
                };
                let mut after = after.map_err(unfit)?;
                if let Some((key, image)) = find(target, &first, context)? {
                    let made = documents(table, &image, bits, &after)?;
                    for (position, field) in &made {
                        after[*position] = Some(Some(field));
                    }
                    let after = changed_image(table, &image, &after, context)?;
                    update(target, &key, &image, &after, context)?;
                }
            }
        }
        // A row takes bytes, but for one of no columns at all.
        if rows.images.len() - images.len() == before {
            return Err(unfit(row::Malformed).into());
        }
    }
    Ok(())
}

/// Of which documents an image after has changes: a bit for each column of documents.
fn changed_documents<'a>(
    columns: &[Column],
    rows: &Rows<'a>,
    images: &mut &'a [u8],
) -> Result<&'a [u8], row::Malformed> {
    const PARTIAL_JSON: u8 = 1;
    if !rows.partial {
        return Ok(&[]);
    }
    let (&options, rest) = images.split_first().ok_or(row::Malformed)?;
    *images = rest;
    match options {
        0 => Ok(&[]),
        PARTIAL_JSON => {
            let documents = documents_of(columns).count().div_ceil(8);
            let (bits, rest) = rest.split_at_checked(documents).ok_or(row::Malformed)?;
            *images = rest;
            Ok(bits)
        }
        _ => Err(row::Malformed),
    }
}

/// The positions of the columns of documents.
fn documents_of(columns: &[Column]) -> impl Iterator<Item = usize> {
    let columns = columns.iter().enumerate();
    let documents = columns.filter(|(_, column)| column.ty == ColumnType::Json);
    documents.map(|(position, _)| position)
}

/// The documents that an update has changed in parts, made of those that are here.
fn documents(
    table: &Table,
    before: &[u8],
    bits: &[u8],
    after: &[Option<Field<'_>>],
) -> Result<Vec<(usize, Vec<u8>)>, Stop> {
    let is_set = |bit: usize| {
        bits.get(bit / 8)
            .is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
    };
    let mut made = Vec::new();
    for (bit, position) in documents_of(table.named_columns()).enumerate() {
        let Some(Some(Some(changes))) = after.get(position).filter(|_| is_set(bit)) else {
            continue;
        };
        let fields = partial::fields(table, before)?;
        let document = fields.get(position).copied().flatten();
        let document = document.and_then(document_of);
        let changed =
            document.and_then(|old| json::apply_changes(&old, changes.get(DOCUMENT_LENGTH..)?));
        let name = &table.columns[position].name;
        let changed = changed.ok_or_else(|| SqlError::json_not_changed(&table.name, name))?;
        let changed = json::document(&changed)?;
        let length = u32::try_from(changed.bytes().len()).unwrap_or(u32::MAX);
        let field = [&length.to_le_bytes(), changed.bytes()].concat();
        made.push((position, field));
    }
    Ok(made)
}

fn insert(target: &Target<'_>, image: &[u8], context: &mut ExecContext) -> Result<(), Stop> {
    let table = target.table;
    let inserted = insert_row(table, image, Parents::Unknown, LockMode::Exclusive, context)?;
    if let Changed::Duplicate(index) = inserted {
        if !target.idempotent {
            let row = row::decode(table, image)?;
            return Err(duplicate_error(table, &index, &row).into());
        }
        // The newer one takes the place of those in its way.
        while let Some((key, other)) = in_the_way(table, image, &index, context)? {
            delete_row(table, &key, &other, Some(image), context)?;
        }
        return insert(target, image, context);
    }
    note_counter(table, image, context)
}

fn in_the_way(
    table: &Arc<Table>,
    image: &[u8],
    index: &str,
    context: &mut ExecContext,
) -> Result<Option<Found>, Stop> {
    let Some(key) = context.txn.find_duplicate(table, image, index)? else {
        return Ok(None);
    };
    let mut other = Vec::new();
    let read = Read::Locking(LockMode::Exclusive, OnConflict::Wait);
    let exists = context.txn.get(table.rows, &key, read, &mut other)?;
    Ok(exists.then_some((key, other)))
}

fn update(
    target: &Target<'_>,
    key: &[u8],
    before: &[u8],
    after: &[u8],
    context: &mut ExecContext,
) -> Result<(), Stop> {
    let table = target.table;
    if let Changed::Duplicate(index) = update_row(table, key, before, after, context)? {
        let row = row::decode(table, after)?;
        return Err(duplicate_error(table, &index, &row).into());
    }
    note_counter(table, after, context)
}

/// The next AUTO_INCREMENT value is above the row's.
fn note_counter(table: &Table, image: &[u8], context: &mut ExecContext) -> Result<(), Stop> {
    if let Some(auto) = table.auto_increment_column() {
        let mut row = vec![Value::Null; table.columns.len()];
        let wanted = [u16::try_from(auto).unwrap_or(u16::MAX)];
        row::decode_some(table, image, &wanted, &mut row)?;
        note_auto_increment(table, row.get(auto), context);
    }
    Ok(())
}

/// The image of a new row.
fn new_image(
    target: &Target<'_>,
    known: Known<'_>,
    context: &mut ExecContext,
) -> Result<Vec<u8>, Stop> {
    let table = target.table;
    let missing: Vec<usize> = (0..known.len()).filter(|at| known[*at].is_none()).collect();
    let fields: Vec<Field<'_>> = known.into_iter().map(Option::unwrap_or_default).collect();
    let image = partial::joined(table, &fields);
    if missing.is_empty() {
        return completed(table, image, false, context);
    }
    let mut row = decoded(table, &image)?;
    for position in missing {
        let default = target.defaults.get(position);
        let value = default_value(default, table, position, &row, context)?;
        if let Some(slot) = row.get_mut(position) {
            *slot = value;
        }
    }
    computed(table, row, context)
}

/// The image of a row of which some columns have changed.
fn changed_image(
    table: &Table,
    before: &[u8],
    changed: &[Option<Field<'_>>],
    context: &mut ExecContext,
) -> Result<Vec<u8>, Stop> {
    let mut fields = partial::fields(table, before)?;
    let some_missing = changed.iter().any(Option::is_none);
    for (field, changed) in fields.iter_mut().zip(changed) {
        *field = changed.unwrap_or(*field);
    }
    let image = partial::joined(table, &fields);
    let mut columns = table.columns.iter();
    let may_be_old = some_missing && columns.any(|column| column.generated.is_some());
    completed(table, image, may_be_old, context)
}

/// An image that the source has made, with what only this server keeps, if it is sound.
/// `may_be_old`: the generated columns are of the row before.
fn completed(
    table: &Table,
    image: Vec<u8>,
    may_be_old: bool,
    context: &mut ExecContext,
) -> Result<Vec<u8>, Stop> {
    if may_be_old || !table.hidden_columns().is_empty() {
        let row = decoded(table, &image)?;
        return computed(table, row, context);
    }
    if !row::is_sound(table, &image) {
        return Err(unsound(table).into());
    }
    check(table, &image, context)?;
    Ok(image)
}

/// The values of an image that is sound.
fn decoded(table: &Table, image: &[u8]) -> Result<Vec<Value>, Stop> {
    match row::is_sound(table, image) {
        true => Ok(row::decode(table, image)?),
        false => Err(unsound(table).into()),
    }
}

/// The image of these values, with generated columns made of the others.
fn computed(
    table: &Table,
    mut row: Vec<Value>,
    context: &mut ExecContext,
) -> Result<Vec<u8>, Stop> {
    generated::fill(table, &mut row, context)?;
    let mut image = Vec::new();
    row::encode(table, &row, &mut image);
    check(table, &image, context)?;
    Ok(image)
}

/// 1048 and 3819 if the table here does not take what the source's takes.
fn check(table: &Table, image: &[u8], context: &mut ExecContext) -> Result<(), Stop> {
    let fields = partial::fields(table, image)?;
    let mut named = table.named_columns().iter().zip(&fields);
    match named.find(|(column, field)| field.is_none() && !column.nullable) {
        Some((column, _)) => Err(SqlError::bad_null(&column.name).into()),
        None => check_image(table, image, context),
    }
}

fn unsound(table: &Table) -> SqlError {
    let name = &table.name;
    SqlError::internal(format!("a row of the source's log is no row of {name}"))
}

/// The row of which these columns are known, locked; 1032 if there is none.
fn find(
    target: &Target<'_>,
    known: &[Option<Field<'_>>],
    context: &mut ExecContext,
) -> Result<Option<Found>, Stop> {
    let table = target.table;
    let found = match &table.primary {
        Some(primary) if has_all(primary, known) => {
            context.handler.read_key += 1;
            let mut key = Vec::new();
            encode(table, primary, known, &mut key)?;
            let mut image = Vec::new();
            let read = Read::Locking(LockMode::Exclusive, OnConflict::Wait);
            let exists = context.txn.get(table.rows, &key, read, &mut image)?;
            exists.then_some((key, image))
        }
        _ => search(table, known, context)?,
    };
    match found {
        None if target.idempotent => Ok(None),
        None => Err(SqlError::key_not_found(&table.name).into()),
        found => Ok(found),
    }
}

fn has_all(index: &Index, known: &[Option<Field<'_>>]) -> bool {
    let mut parts = index.parts.iter();
    parts.all(|part| {
        known
            .get(usize::from(part.column))
            .is_some_and(Option::is_some)
    })
}

fn encode(
    table: &Table,
    index: &Index,
    known: &[Option<Field<'_>>],
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    let fields: Vec<Field<'_>> = known
        .iter()
        .map(|field| field.unwrap_or_default())
        .collect();
    let image = partial::joined(table, &fields);
    key::encode_index(table, index, &image, out).map_err(|_| unsound(table))?;
    Ok(())
}

/// The first row that has what is known, by the index that says most, or by the whole table.
fn search(
    table: &Arc<Table>,
    known: &[Option<Field<'_>>],
    context: &mut ExecContext,
) -> Result<Option<Found>, Stop> {
    let usable = table.indexes.iter().filter(|index| {
        // Which row has the values of an array is not known before it is read.
        has_all(index, known) && table.array_part(index).is_none()
    });
    let index = usable.max_by_key(|index| (index.unique, index.parts.len()));
    let (tree, range) = match index {
        Some(index) => {
            let mut prefix = Vec::new();
            encode(table, index, known, &mut prefix)?;
            (index.tree, prefix_range(prefix))
        }
        None => {
            let low = Vec::new();
            (table.rows, KeyRange { low, high: None })
        }
    };
    let mut scan = context.txn.scan(tree, range, false, Read::Newest);
    let (mut batch, mut image) = (Batch::default(), Vec::new());
    loop {
        scan.next(context.txn, &mut batch, BATCH)?;
        if batch.is_empty() {
            return Ok(None);
        }
        for place in 0..batch.len() {
            context.tick()?;
            let (entry, value) = batch.get(place);
            let key = match index {
                None if !is_alike(table, value, known)? => continue,
                None => entry,
                Some(index) => {
                    let start = key::parts_length(table, index, index.parts.len(), entry)?;
                    entry.get(start..).unwrap_or_default()
                }
            };
            let key = key.to_vec();
            // Nobody changes it any more.
            let read = Read::Locking(LockMode::Exclusive, OnConflict::Wait);
            let exists = context.txn.get(table.rows, &key, read, &mut image)?;
            if exists && is_alike(table, &image, known)? {
                return Ok(Some((key, image)));
            }
        }
    }
}

/// Whether a row has what is known: byte for byte, but for documents, which are the same in several
/// forms: a server that changes one in its place leaves holes.
fn is_alike(table: &Table, image: &[u8], known: &[Option<Field<'_>>]) -> Result<bool, Stop> {
    let fields = partial::fields(table, image)?;
    let columns = table.named_columns();
    for ((field, known), column) in fields.iter().zip(known).zip(columns) {
        let is_alike = match known {
            Some(known) if known != field => {
                column.ty == ColumnType::Json && is_same_document(*known, *field)?
            }
            _ => true,
        };
        if !is_alike {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_same_document(a: Field<'_>, b: Field<'_>) -> Result<bool, Stop> {
    let plain = |field: Field<'_>| -> Result<Option<Json>, SqlError> {
        let document = field.and_then(document_of);
        document
            .map(|document| json::document(&document.root().to_tree()))
            .transpose()
    };
    Ok(match (plain(a)?, plain(b)?) {
        (Some(a), Some(b)) => a.bytes() == b.bytes(),
        _ => false,
    })
}

/// The document that a field has behind its length.
fn document_of(field: &[u8]) -> Option<Json> {
    Json::from_bytes(field.get(DOCUMENT_LENGTH..)?)
}
