//! Whether the session may run a statement.

use super::{Session, schema::OWN_SCHEMA};
use crate::{
    command::TableName,
    ddl::{self, Action, CreateView, ViewIntent},
    error::SqlError,
    plan::{Body, Need, NeededPart, Plan},
    privileges::{Privilege, Privilege as P, Privileges, needed},
    rights::{Object, Rights},
};
use cohort_engine::types::View;
use std::sync::{Arc, atomic::Ordering};

impl Session {
    /// A statement of this command is about to be done: 1226 if its account has done too much in this
    /// hour, 3164 if the audit log must record it and cannot.
    pub(super) fn admit(&self, command: &str, changes: bool) -> Result<(), SqlError> {
        if let Some(limited) = &self.state.limited {
            limited.count_statement(changes, self.state.instance.env().wall_micros())?;
        }
        self.audit_before(command)
    }

    /// 1142 and 1143 for what is not allowed, 1356 for views whose definers may not read what they
    /// are made of, and 1142 for statements that change or lock rows of the server's own tables.
    pub(super) fn check_privileges(&self, plan: &Plan) -> Result<(), SqlError> {
        let state = &self.state;
        let reads = matches!(
            plan.body,
            Body::Select(_) | Body::SelectInto(..) | Body::SelectIntoFile(_) | Body::Explain(_)
        );
        if !(reads && !plan.writes || state.internal) {
            let mut tables = plan.tables.iter().map(|used| &used.table);
            if let Some(own) = tables.find(|table| table.database == OWN_SCHEMA) {
                let command = match &plan.body {
                    Body::Select(_)
                    | Body::SelectInto(..)
                    | Body::SelectIntoFile(_)
                    | Body::Explain(_) => "SELECT with locking clause",
                    Body::Insert(_) => "INSERT",
                    Body::Update(_) | Body::UpdateJoined(_) => "UPDATE",
                    Body::Delete(_) | Body::DeleteJoined(_) => "DELETE",
                };
                return Err(state.refused(command, &own.name));
            }
        }
        let number = state.rights.number();
        if plan.passed.load(Ordering::Relaxed) == number {
            return Ok(());
        }
        // A view that names no table has a definer, too.
        let mut views = plan.views.iter().map(|used| &used.view);
        views.try_for_each(|view| match view.invoker {
            true => Ok(()),
            false => self.rights_of_definer(&view.definer).map(drop),
        })?;
        self.check_needs(&plan.needs)?;
        if matches!(plan.body, Body::Explain(_)) {
            self.check_explained(plan)?;
        }
        plan.passed.store(number, Ordering::Relaxed);
        Ok(())
    }

    /// 1045, 1227 and 3948 for a statement that uses files and may not.
    pub(super) fn check_files(&self, plan: &Plan) -> Result<(), SqlError> {
        let may_use = |wanted| self.state.may_use(wanted);
        plan.file_use().map_or(Ok(()), may_use)
    }

    /// 1345 for what EXPLAIN would tell of a view's query: for whoever may have that shown and read
    /// what it is made of.
    fn check_explained(&self, plan: &Plan) -> Result<(), SqlError> {
        let rights = &self.state.rights;
        let mut views = plan.views.iter().map(|used| &used.view);
        let shown = views.all(|view| {
            let on = rights.on(Object::Table(&view.database, &view.name));
            on.has(P::ShowView)
        });
        let mut below = plan.needs.iter().filter(|need| need.within.is_some());
        let read = below.all(|need| {
            let within = rights.within_table(&need.database, &need.table);
            within.has(P::Select)
        });
        match shown && read {
            true => Ok(()),
            false => Err(SqlError::view_not_explained()),
        }
    }

    /// The same for what a view that is made needs.
    pub(super) fn check_needs(&self, needs: &[Need]) -> Result<(), SqlError> {
        for need in needs {
            let rights = match &need.by {
                None => Arc::clone(&self.state.rights),
                Some(view) => self.rights_of_definer(&view.definer)?,
            };
            let Some(denied) = denied(&rights, need) else {
                continue;
            };
            let state = &self.state;
            return Err(match (&need.within, denied) {
                (Some(view), _) => SqlError::view_invalid(&view.database, &view.name),
                (None, Denied::Column(column)) => {
                    state.refused_column(need.command, column, &need.table)
                }
                (None, Denied::Table) => {
                    let commands = all_commands(&rights, need, needs);
                    state.refused(&commands.join(", "), &need.table)
                }
            });
        }
        Ok(())
    }

    /// What the definer of a view may do: 1449 if there is no such account.
    fn rights_of_definer(&self, (user, host): &(String, String)) -> Result<Arc<Rights>, SqlError> {
        let state = &self.state;
        if state.rights.is_unlimited() {
            return Ok(Arc::clone(&state.rights));
        }
        let account = state.users.1.get(user, host);
        let account = account.ok_or_else(|| SqlError::no_such_definer(user, host))?;
        let users = &state.users.1;
        Ok(state
            .instance
            .rights_of(users, account, &account.default_roles))
    }

    /// 1044 and 1142 for schema changes that are not allowed, and for those of the server's own
    /// schema.
    pub(super) fn check_schema(&self, statement: &ddl::Statement) -> Result<(), SqlError> {
        let state = &self.state;
        let current = &*state.database;
        if !state.internal && statement.databases(current).any(|name| name == OWN_SCHEMA) {
            return Err(state.refused_database(OWN_SCHEMA));
        }
        match statement {
            ddl::Statement::CreateDatabase { name, .. } => {
                state.need_on_database(&[P::Create], name)
            }
            ddl::Statement::AlterDatabase { name, .. } => {
                let name = name.as_deref().unwrap_or(current);
                if name.is_empty() {
                    return Ok(());
                }
                state.need_on_database(&[P::Alter], name)
            }
            ddl::Statement::DropDatabase { name, .. } => state.need_on_database(&[P::Drop], name),
            ddl::Statement::CreateTable(create) => {
                let needed: &[P] = match create.query {
                    Some(_) => &[P::Insert, P::Create],
                    None => &[P::Create],
                };
                self.may_create(&create.name, create.temporary, needed)
            }
            ddl::Statement::CreateTableLike {
                name,
                like,
                temporary,
                ..
            } => {
                self.may_create(name, *temporary, &[P::Create])?;
                let database = like.database.as_deref().unwrap_or(current);
                match database.is_empty() || self.is_temporary(like) {
                    true => Ok(()),
                    false => state.need_within_table(&[P::Select], (database, &like.name)),
                }
            }
            ddl::Statement::DropTables {
                tables, temporary, ..
            } => match temporary {
                true => Ok(()),
                false => tables.iter().try_for_each(|t| self.may_do(&[P::Drop], t)),
            },
            ddl::Statement::DropViews { views, .. } => {
                views.iter().try_for_each(|view| self.may_drop_view(view))
            }
            ddl::Statement::CreateView(create) => self.may_create_view(create),
            // There are none that one could have a privilege for.
            ddl::Statement::DropAbsent { .. } => Ok(()),
            ddl::Statement::Truncate(table) => self.may_do(&[P::Drop], table),
            ddl::Statement::RenameTables(renames) => renames
                .iter()
                .try_for_each(|(from, to)| self.may_rename(from, to)),
            ddl::Statement::AlterTable {
                table,
                actions,
                counter,
            } => {
                let to = actions.iter().find_map(|action| match action {
                    Action::RenameTo(to) => Some(to),
                    _ => None,
                });
                match (to, *counter) {
                    (Some(to), _) => self.may_rename(table, to),
                    (None, "create_index" | "drop_index") => self.may_do(&[P::Index], table),
                    (None, _) => self.may_do(&[P::Alter], table),
                }
            }
        }
    }

    fn may_create(
        &self,
        table: &TableName,
        temporary: bool,
        needed: &[Privilege],
    ) -> Result<(), SqlError> {
        let database = table.database.as_deref().unwrap_or(&self.state.database);
        match temporary {
            // Without a database there is another error.
            _ if database.is_empty() => Ok(()),
            true => self
                .state
                .need_on_database(&[P::CreateTemporaryTables], database),
            false => self.state.need_on_table(needed, (database, &table.name)),
        }
    }

    fn may_create_view(&self, create: &CreateView) -> Result<(), SqlError> {
        self.may_create(&create.name, false, &[P::CreateView])?;
        let replaces = matches!(create.intent, ViewIntent::Replace | ViewIntent::Alter);
        if replaces {
            self.may_create(&create.name, false, &[P::Drop])?;
        }
        let before = self
            .view(&create.name)
            .filter(|_| create.intent == ViewIntent::Alter);
        let before = before.map(|view| view.definer.clone());
        let given = create.definer.as_ref();
        let given = given.map(|definer| self.resolved(definer));
        let definer = given.map(|definer| (definer.user, definer.host)).or(before);
        let Some(definer) = definer.filter(|definer| *definer != self.state.account) else {
            return Ok(());
        };
        self.state.need(needed::SET_ANY_DEFINER)?;
        if self.state.users.1.get(&definer.0, &definer.1).is_none() {
            self.state.need(needed::ALLOW_NONEXISTENT_DEFINER)?;
        }
        self.check_protected(&definer)
    }

    /// DROP VIEW.
    fn may_drop_view(&self, name: &TableName) -> Result<(), SqlError> {
        self.may_do(&[P::Drop], name)?;
        match self.view(name) {
            Some(view) => self.check_protected(&view.definer),
            None => Ok(()),
        }
    }

    fn view(&self, name: &TableName) -> Option<Arc<View>> {
        let database = name.database.as_deref().unwrap_or(&self.state.database);
        let dictionary = self.state.instance.engine.dictionary();
        dictionary.view(database, &name.name).cloned()
    }

    /// 1227 for an account with SYSTEM_USER, which only such accounts have to do with.
    pub(super) fn check_protected(&self, (user, host): &(String, String)) -> Result<(), SqlError> {
        let account = self.state.users.1.get(user, host);
        match account.is_some_and(|account| account.grants.dynamic.contains_key("SYSTEM_USER")) {
            true => self.state.need(needed::SYSTEM_USER),
            false => Ok(()),
        }
    }

    fn may_rename(&self, from: &TableName, to: &TableName) -> Result<(), SqlError> {
        self.may_do(&[P::Drop, P::Alter], from)?;
        self.may_create(to, false, &[P::Insert, P::Create])
    }

    /// 1142 for a table or view that may not be described.
    pub(super) fn may_describe(&self, name: &TableName) -> Result<(), SqlError> {
        let database = name.database.as_deref().unwrap_or(&self.state.database);
        match self.state.rights.describes_table(database, &name.name) {
            true => Ok(()),
            false => self.may_do(&[P::Select], name),
        }
    }

    /// 1142 without these privileges on a table or view; with one's temporary tables everything is
    /// allowed.
    pub(super) fn may_do(&self, needed: &[Privilege], name: &TableName) -> Result<(), SqlError> {
        let database = name.database.as_deref().unwrap_or(&self.state.database);
        if database.is_empty() || self.is_temporary(name) {
            return Ok(());
        }
        self.state.need_on_table(needed, (database, &name.name))
    }
}

/// What the error about a need names: with what else the statement may not do to the table.
fn all_commands(rights: &Rights, need: &Need, needs: &[Need]) -> Vec<&'static str> {
    let select = P::Select.name();
    let has = rights.within_table(&need.database, &need.table);
    let of_table = |other: &&Need| {
        (&other.by, &other.database, &other.table) == (&need.by, &need.database, &need.table)
            && (other.command == need.command || need.command != select)
            && other.command != select
    };
    let mut commands = vec![need.command];
    let others = needs.iter().filter(of_table);
    commands.extend(
        others
            .filter(|o| o.any.both(has).is_empty())
            .map(|other| other.command),
    );
    // As MySQL's privileges follow one another.
    commands.sort_by_key(|command| P::named(command));
    commands.dedup();
    commands
}

/// What of a need is lacking.
enum Denied<'n> {
    Table,
    Column(&'n str),
}

fn denied<'n>(rights: &Rights, need: &'n Need) -> Option<Denied<'n>> {
    let (database, table) = (&*need.database, &*need.table);
    let is_lacking = |has: Privileges| has.both(need.any).is_empty();
    if !is_lacking(rights.on(Object::Table(database, table))) {
        return None;
    }
    let lacks_all = is_lacking(rights.within_table(database, table));
    match &need.part {
        NeededPart::Anything if !lacks_all => None,
        NeededPart::Columns { names, table_first } if !(lacks_all && *table_first) => {
            let lacks =
                |name: &&String| is_lacking(rights.on(Object::Column(database, table, name)));
            names.iter().find(lacks).map(|name| Denied::Column(name))
        }
        NeededPart::Whole | NeededPart::Anything | NeededPart::Columns { .. } => {
            Some(Denied::Table)
        }
    }
}
