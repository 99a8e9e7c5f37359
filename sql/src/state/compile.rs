//! What compiling a statement needs of a session.

use super::State;
use crate::{
    error::SqlError,
    expr::VariableScope,
    plan::{Asker, CompileContext, FileUse, PlanSettings},
    privileges::Privilege,
};
use std::sync::Arc;

impl State {
    /// Whose names are looked up.
    pub fn who_asks(&self) -> Asker<'_> {
        Asker {
            rights: &self.rights,
            who: &self.logged,
        }
    }

    /// 3948 for files of a client that may not be asked for any, 1045 and 1227 for those of the server.
    pub fn may_use(&self, files: FileUse) -> Result<(), SqlError> {
        let may = self.rights.global().has(Privilege::File);
        match files {
            FileUse::Client => {
                let is_on = self.instance.globals.values().flag("local_infile");
                match self.client_local_files && is_on {
                    true => Ok(()),
                    false => Err(SqlError::local_files_disabled()),
                }
            }
            FileUse::Read | FileUse::Write if may => Ok(()),
            FileUse::Read => Err(self.refused_access()),
            FileUse::Write => Err(SqlError::privilege_needed(Privilege::File.name())),
        }
    }

    /// What a plan depends on of the session.
    pub fn plan_settings<'a>(&self, database: &'a str) -> PlanSettings<'a> {
        let settings = self.settings();
        PlanSettings {
            database,
            sql_mode: settings.sql_mode,
            collation: settings.collation,
            div_precision_increment: settings.div_precision_increment,
            temporary: match self.instance.engine.has_temporary(&self.owner) {
                true => self.dictionary_version(),
                false => 0,
            },
        }
    }

    /// Has `work` compile something for this default database. It has no parameters, and tables are
    /// not locked.
    pub fn with_compile_context<R>(
        &self,
        database: &str,
        work: impl FnOnce(&CompileContext<'_>) -> Result<R, SqlError>,
    ) -> Result<R, SqlError> {
        let engine = &self.instance.engine;
        let dictionary = self.dictionary();
        let stored = match dictionary.version() == engine.dictionary_version() {
            true => Arc::clone(&dictionary),
            false => engine.dictionary(),
        };
        let variable = |scope: VariableScope, name: &str| self.variable_named(scope, name);
        work(&CompileContext {
            engine,
            dictionary: &dictionary,
            stored: &stored,
            settings: self.plan_settings(database),
            virtual_tables: self,
            locked: false,
            files: &|wanted| self.may_use(wanted),
            who: None,
            variable: &variable,
            user_variable: &|name: &str| self.user_variable_type(name),
            facts: &self.facts(),
            parameters: &[],
            kinds: None,
        })
    }
}
