//! Schema changes, run in a session.

use super::Session;
use crate::{
    ddl::{self, DdlContext, FullTextSettings},
    error::SqlError,
    output::Output,
    variables::Values,
};
use cohort_engine::types::{Collation, Value};
use std::sync::Arc;

/// The schema of the server's own tables: everybody may read them, only the server writes.
pub(super) const OWN_SCHEMA: &str = "cohort";

impl Session {
    /// What comes before a temporary table is made or dropped: it is done in the transaction that is
    /// open, but not undone with it.
    pub(super) fn enter_for_temporary(&mut self, change: &ddl::Statement) -> Result<(), SqlError> {
        if self.transaction.branch.is_some() {
            return Err(SqlError::temporary_in_xa());
        }
        let (characteristics, _) = self.enter()?;
        if characteristics.read_only {
            return Err(SqlError::read_only_transaction());
        }
        // Without a transaction there is nothing to be undone.
        if self.transaction.open.is_none() && self.state.settings().autocommit {
            return Ok(());
        }
        if matches!(change, ddl::Statement::DropTables { .. }) {
            self.transaction.temporary.dropped = true;
        } else {
            self.transaction.temporary.made = true;
        }
        Ok(())
    }

    /// The session's temporary tables go.
    pub(super) fn drop_temporary(&self) {
        let state = &self.state;
        state.instance.engine.drop_all_temporary(&state.owner);
    }

    /// Performs a schema change, with the rows that go with it.
    pub(super) fn make_schema_change(
        &mut self,
        statement: &ddl::Statement,
        text: &Arc<str>,
        params: &[Value],
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        if let ddl::Statement::CreateTable(create) = statement
            && let Some(query) = &create.query
        {
            return self.create_selected(create, query, text, params, out);
        }
        if let ddl::Statement::CreateView(create) = statement {
            return self.create_view(create, out);
        }
        self.change_schema(statement, text, out)
    }

    /// Performs a schema change. The transaction before it is committed already.
    pub(super) fn change_schema(
        &mut self,
        statement: &ddl::Statement,
        text: &Arc<str>,
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        let done = self.with_ddl(|ctx| ddl::execute(statement, text, ctx))?;
        self.follow_schema_change(statement);
        self.after_schema_change(statement);
        self.done(done.affected_rows, done.info, out)
    }

    /// Gives what works out schema changes what it needs of the session.
    pub(super) fn with_ddl<T>(&mut self, work: impl FnOnce(&mut DdlContext<'_>) -> T) -> T {
        let mut warnings = std::mem::take(&mut self.state.warnings);
        let state = &self.state;
        let own = state.variables.values();
        let collation = Collation::from_name(own.text("collation_server"));
        let settings = state.settings();
        let facts = state.facts();
        let reading = state.reading();
        let mut ctx = DdlContext {
            engine: &state.instance.engine,
            owner: &state.owner,
            session: &facts,
            reading: &reading,
            account: (&state.account.0, &state.account.1),
            host: &state.logged.host,
            rights: &state.rights,
            collation: collation.unwrap_or(Collation::Utf8mb40900AiCi),
            primary_key_required: settings.primary_key_required,
            foreign_key_checks: settings.foreign_key_checks,
            threads: settings.ddl_threads,
            auto_increment: settings.auto_increment,
            parents_unique: settings.parents_unique,
            strict_options: settings.strict_options,
            lock_wait_ms: settings.table_lock_wait_ms,
            locks: self.locked.tables.as_ref().map(|locked| &locked.held),
            fulltext: fulltext_settings(own, &state.instance.globals.values()),
            warnings: &mut warnings,
        };
        let result = work(&mut ctx);
        self.state.warnings = warnings;
        result
    }

    /// A session whose database is dropped has none; one whose database got another collation
    /// sees it in its variables.
    fn after_schema_change(&mut self, statement: &ddl::Statement) {
        match statement {
            ddl::Statement::DropDatabase { name, .. } if **name == *self.state.database => {
                self.forget_database();
            }
            ddl::Statement::AlterDatabase { .. } if !self.state.database.is_empty() => {
                let database = Arc::clone(&self.state.database);
                // It was there a moment ago; if it is gone by now the next statement will say so.
                let _ = self.use_database(&database);
            }
            _ => {}
        }
    }
}

/// What the variables say of new FULLTEXT indexes.
fn fulltext_settings(own: &Values, server: &Values) -> FullTextSettings {
    let small = |name| u8::try_from(server.number(name)).unwrap_or(u8::MAX);
    let tables = [
        own.text("innodb_ft_user_stopword_table"),
        server.text("innodb_ft_server_stopword_table"),
    ];
    let mut tables = tables.into_iter();
    FullTextSettings {
        word_size: (
            small("innodb_ft_min_token_size"),
            small("innodb_ft_max_token_size"),
        ),
        ngram_size: small("ngram_token_size"),
        stopwords: own.flag("innodb_ft_enable_stopword"),
        stopword_table: tables.find(|name| !name.is_empty()).map(str::to_string),
    }
}
