//! RETURNING: what an INSERT, REPLACE or DELETE tells of each row that it has changed.
//!
//! MySQL has no such clause; it is MariaDB's. It is a select list of one table, that of the
//! statement, without aggregates and window functions.

use super::{Computed, Planner};
use crate::{error::SqlError, output::ColumnMeta};
use sqlparser::ast::{self, Spanned};

/// What is computed of each row, and the columns that the client gets.
pub(super) type Returned = (Option<Vec<Computed>>, Vec<ColumnMeta>);

impl Planner<'_> {
    /// Compiles RETURNING, if it is there, in the scope of the statement's block: of the tables
    /// that can be seen, only that which is changed.
    pub(super) fn returning(
        &mut self,
        items: Option<&[ast::SelectItem]>,
    ) -> Result<Returned, SqlError> {
        let Some(items) = items else {
            return Ok((None, Vec::new()));
        };
        let Some(token) = self.text.returning() else {
            return Err(SqlError::internal("RETURNING is not in the text"));
        };
        self.text.refuse_in_returning(token)?;
        self.refuse_late_star(items)?;
        let names = self.names();
        names.clause = "RETURNING";
        names.aggregates_allowed = false;
        names.windows_allowed = false;
        let star = names.columns_called(&[]);
        let (output, columns) = self.projection(token, items, Some(&star))?;
        Ok((Some(output), columns))
    }

    /// 1064 for a `*` that is not the first item.
    fn refuse_late_star(&self, items: &[ast::SelectItem]) -> Result<(), SqlError> {
        let mut later = items.iter().skip(1);
        let star = later.find(|item| matches!(item, ast::SelectItem::Wildcard(_)));
        match star {
            Some(star) => Err(self.text.error_at_span(star.span())),
            None => Ok(()),
        }
    }
}
