//! ROW_FORMAT and KEY_BLOCK_SIZE: rows have one format here, but what InnoDB refuses with
//! innodb_strict_mode is refused, so that the statement is one for its replicas; and what it changes
//! without that is changed.

use super::{DdlContext, key, storage_engine, syntax::TableOptions, table::set_option};
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

/// 1031, 1478 or 3500 for options of which a table, that has them already, cannot be; without
/// innodb_strict_mode it gets others, and there are warnings.
pub(super) fn check(
    options: &TableOptions,
    table: &mut Table,
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
        check_temporary(table, ctx)?;
    }
    let engine = options.engine.as_deref();
    let bad_format = format.is_some_and(|(_, format)| format == FIXED)
        && !engine.is_some_and(storage_engine::is_replaced);
    let size = value(table, "KEY_BLOCK_SIZE").unwrap_or("0");
    let known_size = SIZES.contains(&size);
    let format = value(table, "ROW_FORMAT").unwrap_or_default();
    let bad_pair = size != "0" && (UNCOMPRESSED.contains(&format) || bad_format);
    let (bad_size, bad_pair) = (!known_size, bad_pair && known_size);
    if !ctx.strict_options {
        if !temporary {
            settle_size(table, bad_size, bad_pair, ctx);
        }
        if bad_format {
            warn("assuming ROW_FORMAT=DYNAMIC.", ctx);
            if !temporary {
                set_option(table, "ROW_FORMAT", Some("DYNAMIC"));
            }
        }
        return Ok(());
    }
    if bad_size {
        let sizes = "Valid values are [1, 2, 4, 8, 16]";
        warn(format!("invalid KEY_BLOCK_SIZE = {size}. {sizes}"), ctx);
    }
    if bad_format {
        warn("invalid ROW_FORMAT specifier.", ctx);
    } else if bad_pair {
        let pair = format!("ROW_FORMAT={format} with KEY_BLOCK_SIZE.");
        warn(format!("cannot specify {pair}"), ctx);
    }
    let option = match (bad_format, bad_size || bad_pair) {
        (true, _) => "ROW_TYPE",
        (false, true) => "KEY_BLOCK_SIZE",
        (false, false) => return Ok(()),
    };
    Err(match statement {
        Statement::Create => SqlError::illegal_alter_option(&table.name),
        Statement::Alter => SqlError::illegal_create_option("InnoDB", option),
    })
}

fn warn(why: impl std::fmt::Display, ctx: &mut DdlContext<'_>) {
    ctx.warnings.warn(SqlError::innodb_option(why));
}

/// Takes a size away that is none, or that the format of the rows has not.
fn settle_size(table: &mut Table, bad_size: bool, bad_pair: bool, ctx: &mut DdlContext<'_>) {
    let size = value(table, "KEY_BLOCK_SIZE").unwrap_or("0").to_owned();
    let instead = match (bad_size, bad_pair) {
        (true, _) => {
            warn(format!("ignoring KEY_BLOCK_SIZE={size}."), ctx);
            let is_compressed = value(table, "ROW_FORMAT") == Some("COMPRESSED");
            is_compressed.then_some("8")
        }
        (false, true) => {
            let why = "as ROW_FORMAT is not COMPRESSED.";
            warn(format!("ignoring KEY_BLOCK_SIZE={size} {why}"), ctx);
            None
        }
        (false, false) => return,
    };
    set_option(table, "KEY_BLOCK_SIZE", instead);
}

/// 3500 for compressed pages, which temporary tables have not; a warning without
/// innodb_strict_mode.
pub(super) fn check_temporary(table: &Table, ctx: &mut DdlContext<'_>) -> Result<(), SqlError> {
    let has_size = value(table, "KEY_BLOCK_SIZE").is_some();
    let is_compressed = value(table, "ROW_FORMAT") == Some("COMPRESSED");
    if ctx.strict_options && (has_size || is_compressed) {
        return Err(SqlError::compressed_temporary_table());
    }
    if has_size {
        warn("KEY_BLOCK_SIZE is ignored for TEMPORARY TABLE.", ctx);
    }
    if is_compressed {
        let format = "ROW_FORMAT=COMPRESSED";
        warn(format!("{format} is ignored for TEMPORARY TABLE."), ctx);
        warn("assuming ROW_FORMAT=DYNAMIC.", ctx);
    }
    Ok(())
}
