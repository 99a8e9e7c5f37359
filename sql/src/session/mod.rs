//! A client's session: its transaction, variables and prepared statements.
//!
//! Every statement goes through the same steps, whether it comes as text, prepared, or from
//! EXECUTE: `begin_statement` (clock, counters, process list), `compile`, `run`, `end_statement`
//! (warnings, ROW_COUNT). Queries and DML are the planner's; commands are run here.

mod account;
mod admin;
mod allowed;
mod apply;
mod audited;
mod backup;
mod bound;
mod checksum;
mod component;
mod created;
mod dump;
mod emptied;
mod explained;
mod grant;
mod gtid;
mod hints;
mod histograms;
mod init_connect;
mod locked;
mod made_password;
mod masked;
mod measured;
mod names;
mod password;
mod prepared;
mod query;
mod rebuilt;
mod repeat;
mod replication;
mod schema;
mod set;
mod trail;
mod transaction;
mod views;
mod withheld;
mod xa;

pub use crate::state::{Identity, Instance, State};
pub use backup::{BackUp, BackupKind};
pub use dump::{Dump, DumpStart};
pub use prepared::Prepared;
pub use rebuilt::Rebuilder;

use crate::{
    command::{self, AccountStatement, Command, Cursor},
    compression::Compression,
    error::SqlError,
    lexer::{Kind, Lexer, Lifted, Mode, Token, is_proper},
    output::{ColumnMeta, Done, Output},
    rights::Rights,
    show::{self, Shown},
    state::{Attributes, Encryption, Entry, GtidNext},
    status::Counter,
    warnings::Warnings,
};
use cohort_engine::{
    txn::{Engine, Owner, Placed, Unattended, Waiting},
    types::{Charset, Collation, Value},
};
use locked::Locked;
use masked::shown_text;
use measured::Measured;
use prepared::Statements;
use std::sync::{Arc, atomic::AtomicU32};
use trail::Trail;
use transaction::Transaction;

/// The protocol's server status flags.
pub mod status_flags {
    /// A transaction is open.
    pub const IN_TRANS: u16 = 1;
    /// autocommit is on.
    pub const AUTOCOMMIT: u16 = 2;
    /// Another result follows.
    pub const MORE_RESULTS: u16 = 8;
    /// NO_BACKSLASH_ESCAPES is on: clients must quote accordingly.
    pub const NO_BACKSLASH_ESCAPES: u16 = 512;
    /// The open transaction is read-only.
    pub const IN_TRANS_READONLY: u16 = 8192;
}

/// A compiled statement.
pub(crate) struct Statement {
    /// Its text.
    text: Arc<str>,
    /// How many `?` it has.
    parameters: u16,
    what: Compiled,
}

/// What a statement was compiled to.
enum Compiled {
    Command(Command),
    Query(query::Query),
    Schema(crate::ddl::Statement),
    /// CREATE TABLE … START TRANSACTION: rows follow.
    Creation(crate::ddl::Statement),
}

/// Whether a text defines a trigger or a routine, whose body has semicolons of its own.
fn has_body(sql: &[u8], mode: Mode) -> bool {
    // CREATE DEFINER = 'name' @ 'host' AGGREGATE FUNCTION
    const WORDS_BEFORE: usize = 7;
    let mut lexer = Lexer::new(sql, mode);
    let verb = lexer.next_token();
    if !verb.is_word(sql, "CREATE") && !verb.is_word(sql, "ALTER") {
        return false;
    }
    let mut token = lexer.next_token();
    let mut left = WORDS_BEFORE;
    let among = |token: &Token, words: &[&str]| words.iter().any(|word| token.is_word(sql, word));
    while left > 0 && !among(&token, &["TRIGGER", "PROCEDURE", "FUNCTION", "EVENT"]) {
        if among(
            &token,
            &["TABLE", "VIEW", "INDEX", "DATABASE", "SCHEMA", "USER"],
        ) {
            return false;
        }
        token = lexer.next_token();
        left -= 1;
    }
    left > 0
}

/// A text without the zero bytes that some clients send at its end, as C has its strings.
fn without_end(sql: &[u8]) -> &[u8] {
    let zeros = sql.iter().rev().take_while(|&&byte| byte == 0).count();
    sql.get(..sql.len() - zeros).unwrap_or_default()
}

/// One client.
pub struct Session {
    state: State,
    transaction: Transaction,
    locked: Locked,
    trail: Trail,
    measured: Measured,
    statements: Statements,
    /// What is told of the names of the statement that begins.
    names: Vec<SqlError>,
    /// The literals of the last query that came as text; kept for its memory.
    lifted: Lifted,
    /// Another statement of the same text follows.
    more: bool,
    /// The passwords that an account statement has made, to be told.
    made_passwords: crate::catalog::Rows,
    /// COMMIT RELEASE: the connection must end.
    released: bool,
    /// See `leave_commits`.
    leaves_commits: bool,
    /// Committed, and not known to be durable yet.
    placed: Option<Placed>,
    /// See `set_client_collation`.
    client_collation: Option<Collation>,
    /// The same, until character_set_results is set.
    results: Option<Collation>,
    /// The rows of another server's log that come.
    applying: apply::Applying,
}

impl Session {
    /// A session of a client that has logged in. `found_rows`: CLIENT_FOUND_ROWS.
    #[must_use]
    pub fn new(
        instance: Arc<Instance>,
        id: u64,
        who: Identity,
        waiting: Arc<dyn Waiting>,
        found_rows: bool,
    ) -> Session {
        let owner = Owner::new(id, waiting);
        let now = instance.env().wall_micros();
        let entry = Entry::new(
            id,
            Arc::clone(&owner),
            (who.user.clone(), who.host.clone()),
            now,
            instance.measures(),
        );
        let entry = Arc::new(entry);
        instance.sessions.open(Arc::clone(&entry));
        let mut state = State {
            variables: instance.globals.session(),
            instance,
            owner,
            id,
            account: (who.user.clone(), "%".into()),
            who,
            user_at_host: Arc::from(""),
            account_at_host: Arc::from(""),
            roles: Vec::new(),
            roles_text: Arc::from("NONE"),
            rights: Arc::new(Rights::new(Vec::new(), false)),
            users: (u64::MAX, Arc::default()),
            rights_changed: 0,
            internal: false,
            limited: None,
            must_change_password: false,
            database: Arc::from(""),
            user_variables: crate::state::UserVariables::default(),
            warnings: Warnings::default(),
            warnings_before: (0, 0),
            last_insert_id: 0,
            insert_id: 0,
            row_count: 0,
            found_rows: 0,
            rows_sent: 0,
            logged: Arc::default(),
            now_micros: i64::try_from(now).unwrap_or(i64::MAX),
            timestamp: None,
            rand: None,
            memory_bytes_max: usize::MAX,
            client_found_rows: found_rows,
            client_local_files: false,
            in_transaction: false,
            encryption: None,
            compression: None,
            gtid: GtidNext::default(),
            user_locks_held: AtomicU32::new(0),
            entry,
        };
        state.log_in();
        Session {
            state,
            transaction: Transaction::default(),
            locked: Locked::default(),
            trail: Trail::default(),
            measured: Measured::default(),
            statements: Statements::default(),
            names: Vec::new(),
            lifted: Lifted::default(),
            more: false,
            made_passwords: Vec::new(),
            released: false,
            leaves_commits: false,
            placed: None,
            client_collation: None,
            results: None,
            applying: apply::Applying::default(),
        }
    }

    /// The only session of an engine, as root: for tests and tools.
    pub fn alone(engine: Engine) -> Result<Session, SqlError> {
        crate::users::make_first(&engine)?;
        let who = Identity {
            user: "root".into(),
            host: "localhost".into(),
            account: None,
        };
        let instance = Instance::new(Arc::new(engine));
        Ok(Session::new(instance, 1, who, Arc::new(Unattended), false))
    }

    /// No operator of a statement keeps more than so many bytes of rows in memory, whatever the variables
    /// say: for tests of what happens with the others.
    pub fn limit_memory(&mut self, bytes: usize) {
        self.state.memory_bytes_max = bytes;
    }

    /// COM_QUERY: one statement, or several if `multi` allows. Results go to `out` in order.
    pub fn query(&mut self, sql: &[u8], multi: bool, out: &mut dyn Output) -> Result<(), SqlError> {
        let mut rest = without_end(sql);
        let whole = rest.len();
        loop {
            let (statement, more) = self.split(rest);
            self.more = more.is_some();
            let text = shown_text(statement, self.state.settings().lexer);
            self.begin_statement("Query", Some(&text));
            self.log_command("Query", &text);
            let result = match more {
                Some(more) if !multi => Err(SqlError::syntax_at(more, 0)),
                _ => self.statement(statement, &text, out),
            };
            self.end_statement(result)?;
            // Only a reply of one packet can be left to the caller.
            let alone = more.is_none() && rest.len() == whole;
            if !alone {
                self.settle()?;
            }
            match more {
                Some(more) => rest = more,
                None => return Ok(()),
            }
        }
    }

    /// The first statement of a text and, if there are several, the rest.
    fn split<'a>(&self, sql: &'a [u8]) -> (&'a [u8], Option<&'a [u8]>) {
        if !sql.contains(&b';') {
            return (sql, None);
        }
        let mode = self.state.settings().lexer;
        if has_body(sql, mode) {
            return (sql, None);
        }
        let mut lexer = Lexer::new(sql, mode);
        let end = loop {
            let token = lexer.next_token();
            match token.kind {
                Kind::End => return (sql, None),
                Kind::Symbol if token.text(sql) == b";" => break token,
                _ => {}
            }
        };
        // The rest can begin with a comment whose contents are the statement.
        let mut rest = &sql[end.end..];
        loop {
            let token = lexer.next_token();
            if token.kind == Kind::End {
                return (&sql[..end.start], None);
            }
            if !token.is_symbol(sql, ";") {
                return (&sql[..end.start], Some(rest.trim_ascii_start()));
            }
            rest = &sql[token.end..];
        }
    }

    /// Clock, process list and kill flag at the start of a statement.
    fn begin_statement(&mut self, command: &'static str, text: Option<&Arc<str>>) {
        let now = self.state.instance.env().wall_micros();
        let state = &mut self.state;
        if state.in_transaction {
            self.trail.spoken(now);
        }
        state.refresh_rights();
        state.now_micros = state
            .timestamp
            .unwrap_or(i64::try_from(now).unwrap_or(i64::MAX));
        self.measure(now);
        let state = &mut self.state;
        state.owner.set_sql_mode(state.settings().mode_bits);
        state.counters().count(Counter::Questions);
        let mut activity = state.entry.activity.lock();
        activity.command = command;
        activity.statement = text.cloned();
        activity.since_micros = now;
        drop(activity);
        if !state.entry.is_closing() {
            state.owner.clear_kill();
        }
    }

    /// The end of every statement, whatever became of it. Its reply, and the session's state, may
    /// depend on commits that are not durable yet: they are waited for here. Then an error goes
    /// among the warnings and the process list to sleep.
    fn end_statement<T>(&mut self, result: Result<T, SqlError>) -> Result<T, SqlError> {
        let result = self.settle_reads().and(result);
        let state = &mut self.state;
        if let Some(limited) = &state.limited {
            let now = state.instance.env().wall_micros();
            limited.end_statement(result.as_ref().err(), now);
        }
        if let Err(error) = &result {
            state.warnings.end(error.clone());
            if state.instance.measures() {
                let errors = &state.instance.sessions.errors;
                errors.note(error, state.instance.env().wall_micros());
            }
            state.row_count = -1;
            self.trail.spoil();
        }
        if state.in_transaction {
            self.trail.silent(state.instance.env().wall_micros());
        }
        let mut activity = state.entry.activity.lock();
        activity.command = "Sleep";
        let text = activity.statement.take();
        drop(activity);
        self.measure_end(text, result.as_ref().err());
        self.measured.over();
        result
    }

    /// Runs one statement of text.
    fn statement(
        &mut self,
        sql: &[u8],
        text: &Arc<str>,
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        self.names = names::beyond(sql, self.state.settings().lexer);
        let told = self.told_of_groups(sql);
        self.names.extend(told);
        if self.state.must_change_password {
            return self.change_expired_password(sql, out);
        }
        self.with_hints(sql, |session| {
            if query::is_query(sql) && session.state.gtid.is_automatic() {
                session.clear_warnings();
                return session.run_text(sql, text, out);
            }
            match session.compile(sql) {
                Ok(statement) => session.run(&statement, &[], out),
                Err(error) => {
                    session.clear_warnings();
                    Err(error)
                }
            }
        })
    }

    /// A statement of a session whose password has expired: 1820 for all but those that change it.
    fn change_expired_password(
        &mut self,
        sql: &[u8],
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        self.clear_warnings();
        let statement = self.compile(sql)?;
        match &statement.what {
            Compiled::Command(Command::Account(
                AccountStatement::AlterUser { .. } | AccountStatement::SetPassword { .. },
            )) => self.run(&statement, &[], out),
            _ => Err(SqlError::must_change_password()),
        }
    }

    /// Forgets the warnings of the statement before.
    fn clear_warnings(&mut self) {
        let state = &mut self.state;
        state.warnings_before = (state.warnings.count(), state.warnings.error_count());
        let settings = state.variables.settings();
        state
            .warnings
            .clear(settings.error_count_max, settings.notes);
        for warning in std::mem::take(&mut self.names) {
            self.state.warnings.warn(warning);
        }
    }

    /// Compiles one statement.
    fn compile(&mut self, sql: &[u8]) -> Result<Statement, SqlError> {
        let text = shown_text(sql, self.state.settings().lexer);
        if query::is_query(sql) {
            let query = self.compile_query(sql)?;
            return Ok(Statement {
                text,
                parameters: query.parameters()?,
                what: Compiled::Query(query),
            });
        }
        let mut cursor = Cursor::new(sql, self.state.settings().lexer);
        if cursor.at_end() {
            // Only a comment makes it a statement.
            if sql.iter().all(|b| b.is_ascii_whitespace() || *b == b';') {
                return Err(SqlError::empty_query());
            }
            return Ok(Statement {
                text,
                parameters: 0,
                what: Compiled::Command(Command::Empty),
            });
        }
        let mode = self.state.settings().lexer;
        if let Some(definition) = created::without_start(sql, mode) {
            let mut cursor = Cursor::new(&definition, mode);
            let create = crate::ddl::parse(&mut cursor)?.ok_or_else(|| cursor.error())?;
            return Ok(Statement {
                text,
                parameters: 0,
                what: Compiled::Creation(create),
            });
        }
        let what = match command::parse(&mut cursor)? {
            Some(command) => Compiled::Command(command),
            None => match crate::ddl::parse(&mut cursor)? {
                Some(statement) => Compiled::Schema(statement),
                None => Compiled::Query(self.compile_query(sql)?),
            },
        };
        let placeholders = Lexer::tokens(sql, self.state.settings().lexer);
        let count = placeholders
            .iter()
            .filter(|token| token.kind == Kind::Placeholder)
            .count();
        let parameters = u16::try_from(count).map_err(|_| SqlError::too_many_parameters())?;
        Ok(Statement {
            text,
            parameters,
            what,
        })
    }

    /// Runs a compiled statement.
    fn run(
        &mut self,
        statement: &Statement,
        params: &[Value],
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        match self.state.gtid.is_automatic() {
            true => self.run_here(statement, params, out),
            false => self.run_with_gtid(statement, params, out),
        }
    }

    /// The same, whatever gtid_next is.
    fn run_here(
        &mut self,
        statement: &Statement,
        params: &[Value],
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        match &statement.what {
            Compiled::Query(query) => {
                self.clear_warnings();
                self.run_query(query, &statement.text, params, out)
            }
            Compiled::Command(command) => {
                let facts = command.facts();
                self.state.counters().command(facts.counter);
                // What EXECUTE executes says itself what it is.
                if !matches!(command, Command::Execute { .. }) {
                    self.measure_command(facts.counter);
                    let changes = facts.changes && !matches!(command, Command::LockTables(_));
                    self.admit(facts.counter, changes)?;
                }
                if !matches!(command, Command::Show(..)) {
                    self.clear_warnings();
                }
                if facts.changes {
                    self.check_server_writable()?;
                }
                if facts.commits_implicitly {
                    self.commit()?;
                }
                if facts.changes {
                    self.check_writable()?;
                }
                if let Some(privilege) = facts.privilege
                    && !facts
                        .on_mysql
                        .is_some_and(|one| self.state.writes_accounts(one))
                {
                    self.state.need(privilege)?;
                }
                self.command(command, params, out)
            }
            Compiled::Creation(create) => {
                self.clear_warnings();
                self.state.counters().command(create.counter());
                self.measure_command(create.counter());
                self.admit(create.counter(), true)?;
                self.check_server_writable()?;
                self.check_schema(create)?;
                self.create_before_rows(create)?;
                self.done(0, String::new(), out)
            }
            Compiled::Schema(change) => {
                if let crate::ddl::Statement::Truncate(table) = change
                    && let Some(emptying) = self.emptying(table)
                {
                    return self.empty(table, emptying, out);
                }
                self.clear_warnings();
                self.state.counters().command(change.counter());
                self.measure_command(change.counter());
                self.admit(change.counter(), true)?;
                if change.is_of_temporary() {
                    self.check_schema(change)?;
                    self.enter_for_temporary(change)?;
                } else {
                    self.check_server_writable()?;
                    self.check_schema(change)?;
                    self.commit()?;
                    self.check_writable()?;
                    self.check_locked_schema(change)?;
                }
                let changed = self.make_schema_change(change, &statement.text, params, out);
                if changed.is_err() {
                    // The error may tell of a row, and nothing else that is left of it does.
                    let state = &self.state;
                    state.instance.engine.depend_on_all(&state.owner);
                    if let Err(error) = self.settle_reads() {
                        self.state.owner.forget_reads();
                        self.clear_warnings();
                        return Err(error);
                    }
                }
                changed
            }
        }
    }

    /// The columns of a statement's result, as COM_STMT_PREPARE describes them.
    fn columns_of(&mut self, statement: &Statement) -> Arc<[ColumnMeta]> {
        match &statement.what {
            Compiled::Query(query) => query.columns(),
            Compiled::Command(Command::Show(what, filter)) => {
                show::columns(&mut self.state, what, filter).into()
            }
            Compiled::Command(Command::TableAdmin(..) | Command::Histograms(..)) => {
                Shown::admin(Vec::new()).metas().into()
            }
            Compiled::Command(Command::ChecksumTables { .. }) => {
                Shown::checksums(Vec::new()).metas().into()
            }
            // Of what else has rows, EXECUTE and XA RECOVER, nothing can be prepared.
            Compiled::Command(_) | Compiled::Schema(_) | Compiled::Creation(_) => Arc::from([]),
        }
    }

    /// Sends the end of a statement that has no result set.
    fn done(
        &mut self,
        affected_rows: u64,
        info: String,
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        self.state.row_count = i64::try_from(affected_rows).unwrap_or(i64::MAX);
        self.end(
            Done {
                affected_rows,
                info,
                ..Done::default()
            },
            out,
        )
    }

    /// Sends the end of a statement: warnings and status are filled in here.
    fn end(&mut self, mut done: Done, out: &mut dyn Output) -> Result<(), SqlError> {
        // Here, and not behind it: what says that all is well must not go before an error.
        self.settle_reads()?;
        done.warnings = self.state.warnings.count_u16();
        done.status = self.status();
        out.end(&done).map_err(client_gone)
    }

    /// COM_INIT_DB.
    pub fn use_database(&mut self, name: &str) -> Result<(), SqlError> {
        if self.state.must_change_password {
            return Err(SqlError::must_change_password());
        }
        if name.is_empty() {
            return Err(SqlError::no_database());
        }
        if !is_proper(name) {
            return Err(SqlError::wrong_database_name(name));
        }
        self.state.refresh_rights();
        if !self.state.rights.enters(name) {
            return Err(self.state.refused_database(name));
        }
        let dictionary = self.state.instance.engine.dictionary();
        let database = dictionary.database(name);
        if database.is_none() && !crate::catalog::is_virtual(name) {
            return Err(SqlError::unknown_database(name));
        }
        let collation =
            database.map_or_else(|| crate::catalog::collation_of(name), |d| d.collation);
        self.state.database = Arc::from(name);
        self.state.entry.activity.lock().database = Arc::clone(&self.state.database);
        let variables = &mut self.state.variables;
        if variables.values().text("collation_database") != collation.name() {
            variables.set_named("collation_database", Value::Bytes(collation.name().into()));
            variables.set_named(
                "character_set_database",
                Value::Bytes(collation.charset().name().into()),
            );
        }
        Ok(())
    }

    /// After DROP DATABASE of the default one: there is none.
    fn forget_database(&mut self) {
        let server = self.state.instance.globals.values();
        let name = server.text("collation_server").to_string();
        let charset = server.text("character_set_server").to_string();
        let state = &mut self.state;
        state.database = Arc::from("");
        state.entry.activity.lock().database = Arc::from("");
        let variables = &mut state.variables;
        variables.set_named("collation_database", Value::Bytes(name.into()));
        variables.set_named("character_set_database", Value::Bytes(charset.into()));
    }

    /// COM_RESET_CONNECTION, and COM_CHANGE_USER after the new user has logged in.
    pub fn reset(&mut self, who: Option<Identity>) {
        self.rollback();
        self.transaction = Transaction::default();
        self.locked = Locked::default();
        self.close_all();
        self.state.owner.forget_reads();
        self.drop_temporary();
        self.give_gtid_back(GtidNext::Automatic);
        let state = &mut self.state;
        state.owner.set_unlisted(false);
        state.variables = state.instance.globals.session();
        state.user_variables.clear();
        let max = state.settings().error_count_max;
        state.warnings.clear(max, true);
        state.last_insert_id = 0;
        state.insert_id = 0;
        state.row_count = 0;
        state.found_rows = 0;
        state.timestamp = None;
        state.rand = None;
        self.released = false;
        if let Some(collation) = self.client_collation {
            self.set_client_collation(collation);
        }
        let state = &mut self.state;
        state.user_locks().release_all();
        if let Some(who) = who {
            let sessions = &state.instance.sessions;
            sessions.change_user(&state.entry, &who.user, &who.host);
            state.who = who;
            state.database = Arc::from("");
            state.log_in();
        } else if !state.database.is_empty() {
            // The database stays, and so do the variables that depend on it.
            let database = Arc::clone(&state.database);
            let _ = self.use_database(&database);
        }
    }

    /// The protocol's server status flags now.
    #[must_use]
    pub fn status(&self) -> u16 {
        let settings = self.state.settings();
        let mut flags = 0;
        if settings.autocommit {
            flags |= status_flags::AUTOCOMMIT;
        }
        if let Some(open) = self.transaction.open {
            flags |= status_flags::IN_TRANS;
            if open.read_only {
                flags |= status_flags::IN_TRANS_READONLY;
            }
        }
        if settings
            .sql_mode
            .has(crate::expr::SqlMode::NO_BACKSLASH_ESCAPES)
        {
            flags |= status_flags::NO_BACKSLASH_ESCAPES;
        }
        if self.more {
            flags |= status_flags::MORE_RESULTS;
        }
        flags
    }

    /// Whether KILL CONNECTION ended it: the client learns nothing more.
    #[must_use]
    pub fn is_killed(&self) -> bool {
        self.state.entry.is_closing()
    }

    /// Whether the connection must end: KILL CONNECTION, or COMMIT RELEASE.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        self.released || self.state.entry.is_closing()
    }

    /// Makes it one of the server's own: it may write to the schema `cohort`.
    pub fn set_internal(&mut self) {
        self.state.internal = true;
        self.state.rights = Arc::new(Rights::unlimited());
    }

    /// The collation that the client has named when it came: its strings are in it.
    pub fn set_client_collation(&mut self, collation: Collation) {
        self.client_collation = Some(collation);
        self.results = Some(collation);
        let charset = collation.charset().name();
        let variables = &mut self.state.variables;
        if variables.values().text("collation_connection") == collation.name() {
            return;
        }
        for name in [
            "character_set_client",
            "character_set_results",
            "character_set_connection",
        ] {
            variables.set_named(name, Value::Bytes(charset.into()));
        }
        let collation = Value::Bytes(collation.name().into());
        variables.set_named("collation_connection", collation);
    }

    /// The TLS its client speaks through.
    pub fn set_encryption(&mut self, encryption: Option<Encryption>) {
        self.state.encryption = encryption;
    }

    /// How what its client says and hears is compressed.
    pub fn set_compression(&mut self, compression: Option<Compression>) {
        self.state.compression = compression;
    }

    /// What the client has said of itself in its login.
    pub fn set_attributes(&mut self, attributes: Attributes) {
        *self.state.entry.attributes.lock() = attributes;
    }

    /// In which its client sends texts.
    #[must_use]
    pub fn client_charset(&self) -> Charset {
        self.state.settings().client
    }

    /// In which its client gets texts: none for each in its own.
    #[must_use]
    pub fn results_collation(&self) -> Option<Collation> {
        let charset = self.state.settings().results?;
        Some(self.results.unwrap_or(charset.default_collation()))
    }

    /// CLIENT_LOCAL_FILES: its client can be asked for files of its own.
    pub fn set_local_files(&mut self) {
        self.state.client_local_files = true;
    }

    /// CLIENT_INTERACTIVE: the client's wait_timeout begins as interactive_timeout.
    pub fn set_interactive(&mut self) {
        let value = self
            .state
            .variables
            .values()
            .named("interactive_timeout")
            .clone();
        self.state.variables.set_named("wait_timeout", value);
    }

    /// The session's state, for those that run statements in it.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.tell_ended();
        if self.state.entry.means.get().is_some() {
            // It is gone, whether that can be recorded or not.
            let _told = self.audit_connection("quit");
        }
        self.rollback();
        self.give_gtid_back(GtidNext::Automatic);
        self.drop_temporary();
        self.close_all();
        self.state.user_locks().release_all();
        self.state.instance.replicas.leave(self.state.id);
        self.state.instance.sessions.close(&self.state.entry);
    }
}

/// Why a result could not be sent: the statement was killed meanwhile, or the client is gone.
fn client_gone(error: std::io::Error) -> SqlError {
    match error.kind() {
        std::io::ErrorKind::Interrupted => SqlError::query_interrupted(),
        _ => SqlError::network_read_error(),
    }
}
