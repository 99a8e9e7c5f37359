//! TRUNCATE of computed tables: what they are computed of is forgotten.

use super::Session;
use crate::{catalog, command::TableName, error::SqlError, output::Output, privileges::Privilege};

impl Session {
    /// What forgets what a table is computed of, if that can be.
    pub(super) fn emptying(&self, table: &TableName) -> Option<catalog::Emptying> {
        let database = table.database.as_deref().unwrap_or(&self.state.database);
        catalog::emptying(database, &table.name)
    }

    /// TRUNCATE of such a table. As nothing that is stored changes, it is not in the log, and a
    /// read-only server does it as well.
    pub(super) fn empty(
        &mut self,
        table: &TableName,
        emptying: catalog::Emptying,
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        self.clear_warnings();
        self.state.counters().command("truncate");
        self.measure_command("truncate");
        self.admit("truncate", true)?;
        let database = table.database.as_deref().unwrap_or(&self.state.database);
        let place = (database, table.name.as_str());
        self.state.need_within_table(&[Privilege::Drop], place)?;
        self.commit()?;
        emptying(&self.state);
        self.done(0, String::new(), out)
    }
}
