//! Running commands: those on transactions and variables are next door, SHOW in its own module.

use super::{Session, client_gone};
use crate::{
    catalog::text,
    command::{Command, Filter, FlushedLog, Purge, Show, TableAdmin, TableName},
    error::SqlError,
    error_log,
    output::{Done, Output},
    privileges::{Privilege, needed},
    show::{self, Shown},
    statements::LogKind,
};
use cohort_engine::{
    txn::{TxnError, WaitFor},
    types::{Table, Value},
};
use std::sync::Arc;

impl Session {
    /// Runs a command.
    pub(super) fn command(
        &mut self,
        command: &Command,
        params: &[Value],
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        match command {
            Command::Begin {
                read_only,
                snapshot,
            } => self.begin(*read_only, *snapshot)?,
            Command::Commit(completion) => self.complete(true, *completion)?,
            Command::Rollback(completion) => self.complete(false, *completion)?,
            Command::Savepoint(name) => self.savepoint(name.clone())?,
            Command::RollbackTo(name) => self.rollback_to(name)?,
            Command::ReleaseSavepoint(name) => self.release_savepoint(name)?,
            Command::SetTransaction {
                scope,
                isolation,
                read_only,
            } => {
                self.set_transaction(*scope, *isolation, *read_only)?;
            }
            Command::Set(assignments) => self.set(assignments, params)?,
            Command::ResetPersist { name, if_exists } => {
                self.reset_persist(name.as_deref(), *if_exists)?;
            }
            Command::Use(name) => self.use_database(name)?,
            Command::Show(what, filter) => return self.show(what, filter, params, out),
            Command::ExplainConnection { format, id } => {
                return self.explain_connection(format.as_deref(), *id, out);
            }
            Command::Kill { connection, id } => self.kill(*connection, id, params)?,
            Command::Shutdown => self.state.instance.shut_down(&self.state.account.0)?,
            // Whoever started the process would start it again, and cannot be asked to.
            Command::Restart => return Err(SqlError::restart_failed()),
            Command::Flush {
                logs,
                query_logs,
                error_log,
                engine,
                status,
                privileges,
                hosts,
                resources,
            } => {
                self.flush(*logs, *status)?;
                self.reopen_logs(query_logs, *error_log);
                if *engine {
                    self.checkpoint()?;
                }
                if *hosts {
                    self.state.instance.door.hosts.forget_all();
                }
                self.forget_of_accounts(*resources, *privileges);
            }
            Command::Install(components) => self.install(components)?,
            Command::Uninstall(components) => self.uninstall(components)?,
            Command::Purge(purge) => self.purge(purge, params)?,
            Command::Prepare { name, source } => {
                self.prepare_named(name, source)?;
                return self.done(0, "Statement prepared".into(), out);
            }
            Command::Execute { name, parameters } => {
                return self.execute_named(name, parameters, out);
            }
            Command::Deallocate(name) => self.deallocate(name)?,
            Command::FlushTables { names, read_lock } => self.flush_tables(names, *read_lock)?,
            Command::LockTables(tables) => self.lock_tables(tables)?,
            Command::UnlockTables => self.unlock_tables()?,
            Command::ReloadTls { rollback } => self.reload_tls(*rollback)?,
            Command::LockInstance => self.lock_instance()?,
            Command::UnlockInstance => self.unlock_instance()?,
            Command::Empty => {}
            Command::ChecksumTables { tables, quick } => {
                return self.checksum_tables(tables, *quick, out);
            }
            Command::Histograms(tables, change) => {
                return self.change_histograms(tables, change, out);
            }
            Command::TableAdmin(what, tables) => return self.table_admin(*what, tables, out),
            Command::Do(expressions) => {
                self.evaluate(expressions, params)?;
            }
            Command::Replication(what) => return self.replicate(what, out),
            Command::Binlog(encoded) => return self.binlog(encoded, out),
            Command::Xa(xa) => return self.xa(xa, out),
            Command::Account(statement) => {
                self.account_statement(statement)?;
                if let Some(made) = self.take_made_passwords() {
                    return self.send(&made, true, out);
                }
            }
        }
        self.done(0, String::new(), out)
    }

    /// FLUSH USER_RESOURCES and FLUSH PRIVILEGES.
    fn forget_of_accounts(&mut self, resources: bool, privileges: bool) {
        if resources || privileges {
            self.state.instance.usages.forget_all();
        }
        if privileges {
            self.state.instance.logins.forget_all();
            let note = SqlError::deprecated_without_replacement("FLUSH PRIVILEGES");
            self.state.warnings.warn(note);
        }
    }

    /// KILL: the owner of a session may end it, others need privileges.
    fn kill(&mut self, connection: bool, id: &str, params: &[Value]) -> Result<(), SqlError> {
        let id = match self.evaluate(id, params)?.as_slice() {
            [Value::Int(id)] => u64::try_from(*id).unwrap_or(0),
            [Value::UInt(id)] => *id,
            _ => return Err(SqlError::set_constants_only()),
        };
        let instance = Arc::clone(&self.state.instance);
        let Some(entry) = instance.sessions.find(id) else {
            return Err(SqlError::unknown_thread(id));
        };
        let is_own = entry.is_of(self.state.id, &self.state.account);
        let account = entry.activity.lock().account.clone();
        let may = is_own
            || self.state.rights.has_any(needed::CONNECTION_ADMIN)
                && self.check_protected(&account).is_ok();
        if !may {
            return Err(SqlError::kill_denied(id));
        }
        if id == self.state.id {
            // The client is told so; its connection ends after that.
            entry.stop(connection);
            return Err(SqlError::query_interrupted());
        }
        instance.sessions.kill(&entry, connection);
        Ok(())
    }

    fn reload_tls(&self, rollback: bool) -> Result<(), SqlError> {
        let tls = self.state.instance.tls();
        tls.ok_or_else(|| SqlError::not_supported("ALTER INSTANCE RELOAD TLS"))?
            .reload(rollback)
    }

    /// FLUSH. Everything committed is durable already; what is left is to begin a new log file
    /// and to set counters back.
    fn flush(&mut self, logs: bool, status: bool) -> Result<(), SqlError> {
        if logs {
            self.state
                .instance
                .engine
                .log()
                .rotate()
                .map_err(log_error)?;
        }
        if status {
            self.state.counters().reset();
            self.measured.counters_begin_anew();
        }
        Ok(())
    }

    /// FLUSH of the logs of statements and of errors: their files are opened anew.
    fn reopen_logs(&self, logs: &[FlushedLog], errors: bool) {
        if errors {
            error_log::reopen();
        }
        let kind = |log: &FlushedLog| match log {
            FlushedLog::Slow => LogKind::Slow,
            FlushedLog::General => LogKind::General,
            FlushedLog::Audit => LogKind::Audit,
        };
        let kinds: Vec<LogKind> = logs.iter().map(kind).collect();
        if !kinds.is_empty() {
            self.state.instance.query_logs.reopen(&kinds);
        }
    }

    /// FLUSH ENGINE LOGS: all that is committed leaves the memory and the log for the base.
    fn checkpoint(&mut self) -> Result<(), SqlError> {
        let waiting = &self.state.owner.waiting;
        waiting.pause(WaitFor::Store);
        let written = self.state.instance.engine.checkpoint();
        waiting.resume(WaitFor::Store);
        written.map_err(SqlError::from)
    }

    /// PURGE BINARY LOGS. Files that recovery needs stay.
    fn purge(&mut self, purge: &Purge, params: &[Value]) -> Result<(), SqlError> {
        let engine = Arc::clone(&self.state.instance.engine);
        match purge {
            Purge::To(name) => {
                if engine.log().purge_to(name).map_err(log_error)?.is_none() {
                    return Err(SqlError::unknown_binary_log());
                }
            }
            Purge::Before(expression) => {
                let expression = format!("UNIX_TIMESTAMP({expression})");
                let seconds = match self.evaluate(&expression, params)?.as_slice() {
                    [Value::Int(n)] => u64::try_from(*n).unwrap_or(0),
                    [Value::UInt(n)] => *n,
                    [Value::Decimal(n)] => n.to_string().parse::<f64>().map_or(0, |n| n as u64),
                    _ => return Err(SqlError::wrong_arguments("PURGE LOGS BEFORE")),
                };
                engine.log().purge_before(seconds).map_err(log_error)?;
            }
        }
        Ok(())
    }

    /// Sends a table that is known already. The reply to SHOW WARNINGS says that it has none of
    /// its own.
    pub(super) fn send(
        &mut self,
        shown: &Shown,
        warnings: bool,
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        out.columns(&shown.metas()).map_err(client_gone)?;
        for row in &shown.rows {
            out.row(row).map_err(client_gone)?;
        }
        self.state.row_count = -1;
        self.state.rows_sent = shown.rows.len() as u64;
        if warnings {
            self.state.found_rows = shown.rows.len() as u64;
            return self.end(Done::default(), out);
        }
        let done = Done {
            status: self.status(),
            ..Done::default()
        };
        self.settle_reads()?;
        out.end(&done).map_err(client_gone)
    }

    /// SHOW. It leaves the warnings as they are, or SHOW WARNINGS could not show them.
    fn show(
        &mut self,
        what: &Show,
        filter: &Filter,
        params: &[Value],
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        let keeps = matches!(what, Show::Warnings { .. } | Show::CountWarnings { .. });
        if !keeps {
            self.clear_warnings();
        }
        if matches!(what, Show::ProcessList { .. }) {
            self.state.warnings.warn(SqlError::deprecated(
                "INFORMATION_SCHEMA.PROCESSLIST",
                "performance_schema.processlist",
            ));
        }
        if let Show::CreateTable(table) | Show::CreateView(table) = what {
            self.check_locked_name(table)?;
        }
        let mut shown = show::show(&mut self.state, what, filter, params)?;
        if show::is_query(what) {
            let limit = self.state.settings().select_limit;
            shown
                .rows
                .truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        self.send(&shown, !keeps, out)
    }

    /// For statements about the tables themselves: 1046 without a database, 1142 without these
    /// privileges or, if none are named, for tables that may not be described.
    pub(super) fn check_admin(
        &self,
        needed: &[Privilege],
        tables: &[TableName],
    ) -> Result<(), SqlError> {
        for name in tables {
            let database = name.database.as_deref().unwrap_or(&self.state.database);
            if database.is_empty() {
                return Err(SqlError::no_database());
            }
            let is_virtual = crate::catalog::virtual_table(database, &name.name).is_some();
            if !is_virtual && !self.is_temporary(name) {
                match needed {
                    [] => self.may_describe(name)?,
                    needed => {
                        let table = (database, name.name.as_str());
                        self.state.need_within_table(needed, table)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// ANALYZE, CHECK, OPTIMIZE and REPAIR TABLE. Space is reused by itself: there is nothing to do but
    /// to say so. ANALYZE and CHECK read everything.
    fn table_admin(
        &mut self,
        what: TableAdmin,
        tables: &[TableName],
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        let operation = match what {
            TableAdmin::Analyze => "analyze",
            TableAdmin::Check => "check",
            TableAdmin::Optimize => "optimize",
            TableAdmin::Repair => "repair",
        };
        let needed: &[Privilege] = match what {
            // Whoever may describe it.
            TableAdmin::Check => &[],
            TableAdmin::Analyze | TableAdmin::Optimize | TableAdmin::Repair => {
                &[Privilege::Select, Privilege::Insert]
            }
        };
        self.check_admin(needed, tables)?;
        let mut rows = Vec::new();
        for name in tables {
            let database = name.database.as_deref().unwrap_or(&self.state.database);
            let full = format!("{database}.{}", name.name);
            let mut say = |kind: &str, message: &str| {
                rows.push([&full, operation, kind, message].iter().map(text).collect());
            };
            if let Err(not_locked) = self.check_locked_name(name) {
                say("Error", &not_locked.message);
                say("status", "Operation failed");
                continue;
            }
            let dictionary = self.state.dictionary();
            if let Some(view) = dictionary.view(database, &name.name) {
                match (what, crate::catalog::view_table(&self.state, view)) {
                    (TableAdmin::Check, Ok(_)) => say("status", "OK"),
                    (TableAdmin::Check, Err(error)) => {
                        say("Error", &error.message);
                        say("error", "Corrupt");
                    }
                    _ => {
                        let error = SqlError::wrong_object(database, &name.name, "BASE TABLE");
                        say("Error", &error.message);
                        say("status", "Operation failed");
                    }
                }
                continue;
            }
            let Some(table) = dictionary.table(database, &name.name) else {
                let missing = SqlError::no_such_table(database, &name.name);
                say("Error", &missing.message);
                say("status", "Operation failed");
                continue;
            };
            match what {
                // Nothing of it is on disk.
                TableAdmin::Check if table.is_temporary() => say("status", "OK"),
                TableAdmin::Check => {
                    let engine = &self.state.instance.engine;
                    let wait_ms = self.state.settings().table_lock_wait_ms;
                    let checked = engine.check_table(&self.state.owner, table, wait_ms, || {});
                    let problems = checked?.problems;
                    for problem in &problems {
                        say("error", problem);
                    }
                    if problems.is_empty() {
                        say("status", "OK");
                    } else {
                        say("error", "Corrupt");
                    }
                }
                TableAdmin::Analyze => match self.analyze(table)? {
                    Ok(()) => say("status", "OK"),
                    Err(error) => {
                        say("Error", &error.to_string());
                        say("status", "Operation failed");
                    }
                },
                TableAdmin::Optimize => {
                    say(
                        "note",
                        "Table does not support optimize, doing recreate + analyze instead",
                    );
                    say("status", "OK");
                }
                TableAdmin::Repair => {
                    say(
                        "note",
                        "The storage engine for the table doesn't support repair",
                    );
                }
            }
        }
        self.send(&Shown::admin(rows), true, out)
    }

    /// Reads a table for its statistics; the inner error is about this table alone.
    fn analyze(&mut self, table: &Arc<Table>) -> Result<Result<(), TxnError>, SqlError> {
        let engine = &self.state.instance.engine;
        match engine.analyze_table(&self.state.owner, table) {
            Ok(()) => self.renew_histograms(table).map(Ok),
            Err(TxnError::Killed) => Err(SqlError::query_interrupted()),
            Err(error) => Ok(Err(error)),
        }
    }
}

/// The log refused.
fn log_error(error: cohort_engine::log::LogError) -> SqlError {
    SqlError::storage_failed(error)
}
