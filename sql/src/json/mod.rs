//! JSON: its text, read and written as MySQL does, and paths into documents.

mod atom;
mod parse;
mod path;
mod schema;
mod seek;

pub use atom::{atom, plain};
pub use parse::{Flaw, parse, read};
pub use path::{Leg, Path};
pub use schema::{Failure, Written, check as check_schema};
pub use seek::{Step, insert_at, part, path_text, places, seek, update};

use crate::error::SqlError;
use cohort_engine::types::{
    Json,
    json::{TooLarge, Tree},
};

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
