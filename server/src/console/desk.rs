//! The SQL session behind a login, and what it answers.

use cohort_engine::types::Value;
use cohort_sql::{
    Attributes, ColumnMeta, Done, Output, Session, SqlError, password,
    text::{self, TextForm},
};
use parking_lot::Mutex;
use std::{io, sync::Arc, time::Duration};

/// How long a page may wait for the session, which makes another one.
const PATIENCE: Duration = Duration::from_secs(3);
/// What each session begins with, whatever the server's variables say: no page's statement takes longer,
/// or waits for long, keeps a transaction open, or shows a part only.
const BEGIN: [&str; 5] = [
    "SET SESSION autocommit = 1",
    "SET SESSION sql_select_limit = 18446744073709551615",
    "SET SESSION transaction_isolation = 'REPEATABLE-READ'",
    "SET SESSION max_execution_time = 10000",
    "SET SESSION lock_wait_timeout = 1",
];
/// No page needs more rows.
const ROWS_MAX: usize = 10_000;

/// Somebody who is logged in.
pub struct Desk {
    session: Mutex<Session>,
    /// The user's name.
    pub user: String,
    /// What a change has to know.
    pub csrf: String,
    is_over: Box<dyn Fn() -> bool + Send + Sync>,
}

/// Rows of texts, and the names of their columns.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// In the order of the columns.
    pub names: Vec<String>,
    /// The rows; NULL is none.
    pub rows: Vec<Vec<Option<String>>>,
    forms: Vec<TextForm>,
    affected: u64,
}

impl Output for Rows {
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        self.names = columns.iter().map(|column| column.name.clone()).collect();
        self.forms = columns.iter().map(TextForm::of).collect();
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        if self.rows.len() >= ROWS_MAX {
            return Ok(());
        }
        let text = |(value, form): (&Value, &TextForm)| match value {
            Value::Null => None,
            value => {
                let mut out = Vec::new();
                text::put(value, *form, &mut out);
                Some(String::from_utf8_lossy(&out).into_owned())
            }
        };
        self.rows
            .push(row.iter().zip(&self.forms).map(text).collect());
        Ok(())
    }
    fn end(&mut self, done: &Done) -> io::Result<()> {
        self.affected = done.affected_rows;
        Ok(())
    }
}

impl Rows {
    /// The only value.
    pub fn value(&self) -> Option<&str> {
        self.rows.first()?.first()?.as_deref()
    }
    /// Each row.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|row| Row(&self.names, row))
    }
}

/// One of them.
#[derive(Clone, Copy)]
pub struct Row<'a>(&'a [String], &'a [Option<String>]);

impl<'a> Row<'a> {
    /// The text of a column; empty for NULL, and if there is none of this name.
    pub fn text(&self, name: &str) -> &'a str {
        let at = self
            .0
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name));
        let value = at.and_then(|at| self.1.get(at));
        value.and_then(Option::as_deref).unwrap_or("")
    }
    /// A column's number; 0 for NULL and what is none.
    pub fn number(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or(0)
    }
}

/// A string as SQL has it.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

impl Desk {
    /// One for this session.
    pub fn new(mut session: Session, user: String, csrf: String) -> Result<Desk, SqlError> {
        session.set_attributes(Attributes::new(&[(b"program_name", b"cohort console")]));
        let mut seen = Rows::default();
        for statement in BEGIN {
            session.query(statement.as_bytes(), false, &mut seen)?;
        }
        let state = session.state();
        let (id, instance) = (state.id, Arc::clone(&state.instance));
        let is_over = move || {
            let entry = instance.sessions.find(id);
            entry.is_none_or(|entry| entry.is_closing())
        };
        Ok(Desk {
            session: Mutex::new(session),
            user,
            csrf,
            is_over: Box::new(is_over),
        })
    }

    /// KILL has ended it.
    pub fn is_over(&self) -> bool {
        (self.is_over)()
    }

    /// Whether a form has the word that only our pages know.
    pub fn knows(&self, csrf: Option<&String>) -> bool {
        csrf.is_some_and(|csrf| password::equal(csrf.as_bytes(), self.csrf.as_bytes()))
    }

    /// Runs a statement.
    ///
    /// # Errors
    /// The statement's; or 1317, if another page's takes too long.
    pub fn ask(&self, sql: &str) -> Result<Rows, SqlError> {
        self.ask_in("", sql)
    }

    /// Runs a statement in a database, if one is named.
    ///
    /// # Errors
    /// As `ask`; or that one may not use the database.
    pub fn ask_in(&self, database: &str, sql: &str) -> Result<Rows, SqlError> {
        let session = self.session.try_lock_for(PATIENCE);
        let mut session = session.ok_or_else(SqlError::query_interrupted)?;
        if !database.is_empty() {
            session.use_database(database)?;
        }
        let mut rows = Rows::default();
        session.query(sql.as_bytes(), false, &mut rows)?;
        session.tell_ended();
        Ok(rows)
    }

    /// Whether a statement is let through, be there what it names or not: what it would show may be
    /// shown.
    pub fn may(&self, sql: &str) -> bool {
        /// ER_BAD_DB_ERROR and ER_NO_SUCH_TABLE: privileges are looked at before.
        const NOT_THERE: [u16; 2] = [1049, 1146];
        match self.ask(sql) {
            Ok(_) => true,
            Err(error) => NOT_THERE.contains(&error.code),
        }
    }

    /// Whether it may see what all others do (PROCESS).
    pub fn sees_all(&self) -> bool {
        let pool = self.ask("SELECT COUNT(*) FROM information_schema.THREAD_POOL_GROUPS");
        pool.is_ok_and(|pool| pool.value().is_some_and(|count| count != "0"))
    }
}
