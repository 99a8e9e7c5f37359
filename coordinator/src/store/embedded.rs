//! The tables in this server: a SQL session of the coordinator's own.

use super::{
    connection::{Answer, Committed, Connection},
    schema,
};
use cohort_engine::{txn::Unattended, types::Value};
use cohort_sql::{ColumnMeta, Done, Instance, Output, Session, SqlError, session::Identity};
use rustc_hash::FxHashMap;
use std::{io, sync::Arc};

/// One session and its prepared statements.
pub(super) struct Embedded {
    session: Session,
    statements: FxHashMap<String, u32>,
}

impl Output for Answer {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        self.rows.push(row.to_vec());
        Ok(())
    }
    fn end(&mut self, done: &Done) -> io::Result<()> {
        self.affected = done.affected_rows;
        Ok(())
    }
}

impl Embedded {
    /// A session of this number.
    pub fn new(instance: &Arc<Instance>, id: u64) -> Result<Embedded, SqlError> {
        let who = Identity {
            user: "cohort.coordinator".into(),
            host: "localhost".into(),
            account: Some(("root".into(), "localhost".into())),
        };
        let waiting = Arc::new(Unattended);
        let mut session = Session::new(Arc::clone(instance), id, who, waiting, true);
        session.set_internal();
        let mut embedded = Embedded {
            session,
            statements: FxHashMap::default(),
        };
        schema::settle(|sql| embedded.text(sql), |error| Some(error.code))?;
        schema::enter(schema::OWN, |sql| embedded.text(sql))?;
        Ok(embedded)
    }
    fn text(&mut self, sql: &str) -> Result<(), SqlError> {
        self.session
            .query(sql.as_bytes(), false, &mut Answer::default())
    }
}

impl Connection for Embedded {
    fn owner(&self) -> u64 {
        0
    }
    fn run(&mut self, sql: &str, params: &[Value]) -> Result<Answer, SqlError> {
        let id = match self.statements.get(sql) {
            Some(id) => *id,
            None => {
                let id = self.session.prepare(sql.as_bytes())?.id;
                self.statements.insert(sql.to_owned(), id);
                id
            }
        };
        let mut answer = Answer::default();
        self.session.execute(id, params, &mut answer)?;
        Ok(answer)
    }
    fn begin(&mut self) -> Result<(), SqlError> {
        // From the first of these on; what is done before, making the tables, waits.
        self.session.leave_commits();
        self.run("BEGIN", &[]).map(drop)
    }
    fn commit(&mut self) -> Result<Committed, SqlError> {
        self.run("COMMIT", &[])?;
        let placed = self.session.take_placed();
        Ok(placed.map_or(Committed::Durable, Committed::Placed))
    }
    fn rollback(&mut self) {
        // The session forgets the transaction in any case.
        let _ = self.run("ROLLBACK", &[]);
    }
}
