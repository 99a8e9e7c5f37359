//! The tables that are computed when they are read: information_schema, performance_schema and
//! parts of mysql.

use crate::session::State;
use cohort_engine::types::{Column, Value};

/// A table whose rows are computed from the state of the server. Queries scan it like others.
pub trait VirtualTable: Send + Sync {
    /// The database it is in, in lower case.
    fn database(&self) -> &'static str;
    /// Its name as MySQL writes it.
    fn name(&self) -> &'static str;
    /// Its columns.
    fn columns(&self) -> &[Column];
    /// Its rows as this session may see them; values are of the columns' types.
    fn rows(&self, session: &State) -> Vec<Vec<Value>>;
}

/// The databases that hold only virtual tables.
pub const VIRTUAL_DATABASES: [&str; 4] =
    ["information_schema", "mysql", "performance_schema", "sys"];

/// Whether a database is virtual. Their names do not depend on case, nor do those of their tables.
#[must_use]
pub fn is_virtual(database: &str) -> bool {
    VIRTUAL_DATABASES
        .iter()
        .any(|name| name.eq_ignore_ascii_case(database))
}

/// The virtual table of this name.
#[must_use]
pub fn virtual_table(database: &str, name: &str) -> Option<&'static dyn VirtualTable> {
    tables().iter().copied().find(|table| {
        table.database().eq_ignore_ascii_case(database) && table.name().eq_ignore_ascii_case(name)
    })
}

/// All virtual tables.
#[must_use]
pub fn tables() -> &'static [&'static dyn VirtualTable] {
    &[]
}
