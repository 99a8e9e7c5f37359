//! CREATE VIEW and ALTER VIEW, run in a session.

use super::{Session, query::ATTEMPTS_MAX};
use crate::{
    ddl::{self, CreateView},
    error::SqlError,
    output::Output,
    plan::{self, NamedBy, ViewDraft},
    state::State,
};
use cohort_engine::types::View;
use std::sync::Arc;

impl Session {
    /// Makes a view. The transaction before it is committed already.
    pub(super) fn create_view(
        &mut self,
        create: &CreateView,
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        for _ in 0..ATTEMPTS_MAX {
            let warnings = self.state.warnings.clone();
            if self.try_to_create_view(create)? {
                return self.done(0, String::new(), out);
            }
            self.state.warnings = warnings;
        }
        Err(SqlError::table_definition_changed())
    }

    /// One attempt. `false`: a table has changed meanwhile.
    fn try_to_create_view(&mut self, create: &CreateView) -> Result<bool, SqlError> {
        let dictionary = self.state.instance.engine.dictionary();
        let place = self.with_ddl(|ctx| ddl::view_place(create, &dictionary, ctx))?;
        let Some(replaced) = place else {
            return Ok(true);
        };
        let draft = self.define_view(create, replaced.as_ref())?;
        self.check_needs(&draft.needs)?;
        let values = self.state.variables.values();
        let client = values.text("character_set_client").to_string();
        let collation = self.state.settings().collation;
        let view = self.with_ddl(|ctx| {
            let replaced = replaced.as_deref();
            ddl::define_view(create, draft, &client, collation, replaced, ctx)
        })?;
        check_text(&self.state, &view, create)?;
        self.with_ddl(|ctx| ddl::put_view(create, view, replaced, &dictionary, ctx))
    }

    /// Compiles the query of a view.
    fn define_view(
        &self,
        create: &CreateView,
        replaced: Option<&Arc<View>>,
    ) -> Result<ViewDraft, SqlError> {
        let database = Arc::clone(&self.state.database);
        let week_format = self.state.facts().week_format;
        let names = match create.columns.is_empty() {
            true => NamedBy::Query,
            false => NamedBy::Text,
        };
        self.compile_text(create.query.as_bytes(), &database, |parsed, context| {
            plan::define_view(parsed, context, week_format, replaced, names)
        })
    }
}

/// The text that is kept must be read as what it was made of.
fn check_text(state: &State, view: &View, create: &CreateView) -> Result<(), SqlError> {
    let again =
        state.with_compile_context(&view.database, |context| plan::read_view(view, context));
    match again {
        Ok(again) if again.query == view.query && again.columns.len() == view.columns.len() => {
            Ok(())
        }
        _ => Err(SqlError::not_supported(format_args!(
            "the query {} in a view",
            create.query
        ))),
    }
}
