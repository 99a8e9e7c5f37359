//! The tables that a transaction uses.

use super::{table_state::TableState, temporary::TemporaryTable};
use crate::types::Table;
use std::sync::Arc;

/// A table the transaction uses: it holds its shared metadata lock.
pub(super) struct Used {
    pub table: Arc<Table>,
    pub state: Arc<TableState>,
    /// To write it.
    pub writes: bool,
    /// Where its rows are, if it is a temporary table.
    pub temporary: Option<Arc<TemporaryTable>>,
}
