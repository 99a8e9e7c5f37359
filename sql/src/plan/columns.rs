//! The descriptions of result columns that come straight from a table's columns.

use crate::{expr::ExprType, output::ColumnMeta, text::ZEROFILL};
use cohort_engine::types::{Collation, ColumnType, Index, Table, schema::DefaultValue};

const NOT_NULL: u16 = 1;
const PRI_KEY: u16 = 2;
const UNIQUE_KEY: u16 = 4;
const MULTIPLE_KEY: u16 = 8;
const BLOB: u16 = 16;
const BINARY: u16 = 128;
const AUTO_INCREMENT: u16 = 512;
const TIMESTAMP: u16 = 1024;
const NO_DEFAULT: u16 = 4096;
const ON_UPDATE_NOW: u16 = 8192;
const PART_KEY: u16 = 16_384;

/// Adds to a column's description where it comes from.
pub(super) fn describe(meta: &mut ColumnMeta, table: &Table, alias: &str, position: usize) {
    let Some(column) = table.columns.get(position) else {
        return;
    };
    meta.database.clone_from(&table.database);
    meta.table = alias.to_string();
    meta.original_table.clone_from(&table.name);
    meta.original_name.clone_from(&column.name);
    meta.flags |= key_flags(table, position);
    if meta.not_null {
        meta.flags |= NOT_NULL;
    }
    if column.ty == ColumnType::Year {
        meta.flags |= ZEROFILL;
    }
    if let Some((digits, _)) = column.real_digits {
        meta.length = digits.into();
    }
    match column.ty {
        ColumnType::Text(_) => {
            meta.flags |= BLOB;
            // As many characters of the greatest size as there may be bytes.
            meta.length = column
                .max_bytes()
                .saturating_mul(column.collation.max_char_bytes());
            if column.collation.is_by_code() {
                meta.flags |= BINARY;
            }
        }
        ColumnType::Json => meta.flags |= BLOB | BINARY,
        ty if ty.has_collation() && column.collation.is_by_code() => meta.flags |= BINARY,
        ty if !ty.has_collation() && !ty.is_temporal() => meta.flags &= !BINARY,
        _ => {}
    }
    if column.auto_increment {
        meta.flags |= AUTO_INCREMENT;
    }
    // Only those that a statement sets which does not name them.
    if matches!(column.ty, ColumnType::Timestamp(_)) {
        if column.on_update_now {
            meta.flags |= ON_UPDATE_NOW;
        }
        if column.on_update_now || column.default == DefaultValue::CurrentTimestamp {
            meta.flags |= TIMESTAMP;
        }
    }
    if !column.nullable && !column.auto_increment && column.default == DefaultValue::None {
        meta.flags |= NO_DEFAULT;
    }
}

/// Makes a column's description that of a union: in MySQL a column of a temporary table.
pub(super) fn describe_union(meta: &mut ColumnMeta, ty: &ExprType) {
    let name = meta.name.clone();
    describe_computed(meta, &name, ty);
    let is_moment = |ty: ColumnType| ty.is_temporal() && ty != ColumnType::Year;
    if ty.ty.is_some_and(is_moment) && meta.not_null {
        meta.flags |= NO_DEFAULT;
    }
}

/// Makes it that of a derived table's column of this name, which is one of a temporary table, too.
pub(super) fn describe_computed(meta: &mut ColumnMeta, name: &str, ty: &ExprType) {
    name.clone_into(&mut meta.original_name);
    match ty.ty {
        Some(ColumnType::Json) => {
            (meta.collation, meta.length, meta.decimals) = (Collation::Binary, u32::MAX, 0);
            meta.flags |= BLOB | BINARY;
        }
        Some(ColumnType::Text(_)) => {
            meta.decimals = 0;
            meta.flags |= BLOB;
        }
        Some(of_texts) if of_texts.has_collation() => meta.decimals = 0,
        Some(ColumnType::Year) => meta.flags &= !BINARY,
        Some(moment) if moment.is_temporal() => {}
        Some(_) => meta.flags &= !BINARY,
        None => {}
    }
}

fn key_flags(table: &Table, position: usize) -> u16 {
    let mut flags = 0;
    let primary = table.shown_primary();
    let is_part = |index: &Index| {
        let mut parts = index.parts.iter();
        parts.any(|part| usize::from(part.column) == position)
    };
    if primary.is_some_and(is_part) {
        flags |= PRI_KEY | PART_KEY;
    }
    let is_primary = |index: &Index| primary.is_some_and(|primary| primary.tree == index.tree);
    for index in table.indexes.iter().filter(|index| !is_primary(index)) {
        for (i, part) in index.parts.iter().enumerate() {
            if usize::from(part.column) != position {
                continue;
            }
            flags |= PART_KEY;
            if i == 0 {
                flags |= if index.unique && index.parts.len() == 1 {
                    UNIQUE_KEY
                } else {
                    MULTIPLE_KEY
                };
            }
        }
    }
    flags
}
