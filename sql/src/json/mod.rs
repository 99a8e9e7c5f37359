//! JSON: its text, read and written as MySQL does, and paths into documents.

mod atom;
mod diff;
mod parse;
mod path;
mod schema;
mod seek;

pub use atom::{atom, plain};
pub use diff::apply as apply_changes;
pub use parse::{Flaw, parse, read};
pub use path::{Leg, Path, Paths};
pub use schema::{Failure, Written, check as check_schema};
pub use seek::{Step, insert_at, part, path_text, places, remove, seek, update};

use crate::error::SqlError;
use cohort_engine::types::{
    Json,
    json::{TooLarge, Tree},
};

/// A document that a statement makes of others: 1301 if it takes more than `max` bytes, which is
/// @@max_allowed_packet. No client could read it, and no replica take it.
pub fn made(tree: &Tree, max: u64) -> Result<Json, SqlError> {
    let document = document(tree)?;
    check_size(document.bytes().len(), max)?;
    Ok(document)
}

/// The document that a text is which a column is to hold: 3140 if it is none.
pub fn stored(text: &[u8], column: &str, max: u64) -> Result<Json, SqlError> {
    let tree = parse(&String::from_utf8_lossy(text)).map_err(|flaw| match flaw {
        Flaw::Invalid(why, at) => SqlError::invalid_json_text(why, at, column),
        Flaw::TooDeep => SqlError::json_too_deep(),
    })?;
    made(&tree, max)
}

/// 1301 if a document of so many bytes is larger than `max`.
pub fn check_size(bytes: usize, max: u64) -> Result<(), SqlError> {
    if bytes as u64 > max {
        let function = "json_binary::serialize";
        return Err(SqlError::allowed_packet_overflowed(function, max));
    }
    Ok(())
}

/// The document of a tree: 3157 if it is nested too deeply, 3151 and 3150 if it is too large.
pub fn document(tree: &Tree) -> Result<Json, SqlError> {
    if tree.is_too_deep() {
        return Err(SqlError::json_too_deep());
    }
    Json::new(tree).map_err(|too_large| match too_large {
        TooLarge::Key => SqlError::json_key_too_big(),
        TooLarge::Value => SqlError::json_value_too_big(),
    })
}
