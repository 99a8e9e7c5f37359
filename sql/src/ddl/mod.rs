//! Schema changes: their syntax, MySQL's rules for them, and how they become the engine's.

mod column;
mod parse;
mod syntax;

pub use parse::parse;
pub use syntax::Statement;

use crate::{error::SqlError, output::Output, session::Session};
use std::sync::Arc;

impl Session {
    /// Performs a schema change. The transaction before it is committed already.
    pub(crate) fn change_schema(
        &mut self,
        statement: &Statement,
        text: &Arc<str>,
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        let _ = (statement, text, out);
        Err(SqlError::not_supported("schema changes"))
    }
}
