//! TRUNCATE of computed tables: what they are computed of is forgotten.

use super::Session;
use crate::{command::TableName, error::SqlError, output::Output, privileges::Privilege};

impl Session {
    /// Whether a table is computed of what can be forgotten.
    pub(super) fn can_be_emptied(&self, table: &TableName) -> bool {
        let database = table.database.as_deref().unwrap_or(&self.state.database);
        database.eq_ignore_ascii_case("performance_schema")
            && table.name.eq_ignore_ascii_case("host_cache")
    }

    /// TRUNCATE of such a table. As nothing that is stored changes, it is not in the log, and a
    /// read-only server does it as well.
    pub(super) fn empty(
        &mut self,
        table: &TableName,
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        self.clear_warnings();
        self.state.counters().command("truncate");
        let database = table.database.as_deref().unwrap_or(&self.state.database);
        let place = (database, table.name.as_str());
        self.state.need_within_table(&[Privilege::Drop], place)?;
        self.commit()?;
        self.state.instance.door.hosts.forget_all();
        self.done(0, String::new(), out)
    }
}
