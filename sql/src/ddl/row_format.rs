//! ROW_FORMAT and KEY_BLOCK_SIZE: rows have one format here, but what InnoDB refuses with
//! innodb_strict_mode is refused, so that the statement is one for its replicas.

use super::{DdlContext, key, storage_engine, syntax::TableOptions};
use crate::error::SqlError;
use cohort_engine::types::Table;

/// The format of MyISAM's rows, which only tables of its kind may ask for. It is not kept.
pub(super) const FIXED: &str = "FIXED";
/// Formats of rows that are not compressed.
const UNCOMPRESSED: [&str; 3] = ["REDUNDANT", "COMPACT", "DYNAMIC"];
/// Sizes of compressed pages, in KiB; 0: none is said.
const SIZES: [&str; 6] = ["0", "1", "2", "4", "8", "16"];

/// Formats in which a part of a key has at most so many bytes.
const SHORT_PARTS: [&str; 2] = ["REDUNDANT", "COMPACT"];
const SHORT_PART_MAX: u64 = 767;

/// How many bytes a part of a key may have in a table that is to have these options.
pub(super) fn part_max(options: &TableOptions) -> u64 {
    let mut asked = options.others.iter().rev();
    let format = asked.find(|(name, _)| *name == "ROW_FORMAT");
    part_max_of(format.map(|(_, format)| format.as_str()))
}

/// The same of one that has them.
pub(super) fn part_max_in(table: &Table) -> u64 {
    part_max_of(value(table, "ROW_FORMAT"))
}

fn part_max_of(format: Option<&str>) -> u64 {
    match format.is_some_and(|format| SHORT_PARTS.contains(&format)) {
        true => SHORT_PART_MAX,
        false => key::KEY_BYTES_MAX,
    }
}

/// Who asks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Statement {
    Create,
    Alter,
}

/// The value of an option that a table has.
fn value<'t>(table: &'t Table, name: &str) -> Option<&'t str> {
    let options = table.options.split(' ');
    let mut found = options.filter_map(|option| option.split_once('='));
    found.find_map(|(option, value)| (option == name).then_some(value))
}

/// 1031, 1478 or 3500 for options of which a table, that has them already, cannot be.
pub(super) fn check(
    options: &TableOptions,
    table: &Table,
    (statement, temporary): (Statement, bool),
    ctx: &mut DdlContext<'_>,
) -> Result<(), SqlError> {
    let mut asked = options.others.iter().rev();
    let format = asked.find(|(name, _)| *name == "ROW_FORMAT");
    let mut asked = options.others.iter();
    let has_size = asked.any(|(name, _)| *name == "KEY_BLOCK_SIZE");
    if format.is_none() && !has_size {
        return Ok(());
    }
    if temporary {
        check_temporary(table)?;
    }
    let engine = options.engine.as_deref();
    let bad_format = format.is_some_and(|(_, format)| format == FIXED)
        && !engine.is_some_and(storage_engine::is_replaced);
    let size = value(table, "KEY_BLOCK_SIZE").unwrap_or("0");
    let known_size = SIZES.contains(&size);
    let format = value(table, "ROW_FORMAT").unwrap_or_default();
    let bad_pair = size != "0" && UNCOMPRESSED.contains(&format);
    let mut warn = |why: String| ctx.warnings.warn(SqlError::innodb_option(why));
    if !known_size {
        warn(format!(
            "invalid KEY_BLOCK_SIZE = {size}. Valid values are [1, 2, 4, 8, 16]"
        ));
    }
    if bad_format {
        warn("invalid ROW_FORMAT specifier.".to_string());
    } else if bad_pair && known_size {
        warn(format!(
            "cannot specify ROW_FORMAT={format} with KEY_BLOCK_SIZE."
        ));
    }
    let option = match (bad_format, bad_pair || !known_size) {
        (true, _) => "ROW_TYPE",
        (false, true) => "KEY_BLOCK_SIZE",
        (false, false) => return Ok(()),
    };
    Err(match statement {
        Statement::Create => SqlError::illegal_alter_option(&table.name),
        Statement::Alter => SqlError::illegal_create_option("InnoDB", option),
    })
}

/// 3500 for compressed pages, which temporary tables have not.
pub(super) fn check_temporary(table: &Table) -> Result<(), SqlError> {
    let compressed = value(table, "ROW_FORMAT") == Some("COMPRESSED")
        || value(table, "KEY_BLOCK_SIZE").is_some();
    match compressed {
        true => Err(SqlError::compressed_temporary_table()),
        false => Ok(()),
    }
}
