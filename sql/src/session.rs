//! A client's session: its transaction, variables and prepared statements.

use crate::{
    error::SqlError,
    output::{ColumnMeta, Output},
};
use cohort_engine::{
    txn::{Engine, Waiting},
    types::Value,
};
use std::sync::Arc;

/// What all sessions of a server share: the engine, global variables, counters, plan cache,
/// the list of sessions.
pub struct Instance {}

/// Who a client is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The user name it logged in with.
    pub user: String,
    /// The host it came from, as shown in the process list.
    pub host: String,
}

/// A prepared statement, as the protocol describes it to the client.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Its number in this session.
    pub id: u32,
    /// How many `?` it has.
    pub parameters: u16,
    /// The columns of its result; empty if it has none.
    pub columns: Arc<[ColumnMeta]>,
}

/// One client.
pub struct Session {}

impl Instance {
    /// An instance on an open engine.
    pub fn new(engine: Arc<Engine>) -> Arc<Instance> {
        let _ = engine;
        unimplemented!()
    }
}

impl Session {
    /// A session of a client that has logged in. `found_rows`: CLIENT_FOUND_ROWS.
    pub fn new(
        instance: Arc<Instance>,
        id: u64,
        who: Identity,
        waiting: Arc<dyn Waiting>,
        found_rows: bool,
    ) -> Session {
        let _ = (instance, id, who, waiting, found_rows);
        unimplemented!()
    }
    /// COM_QUERY: one statement, or several if `multi` allows. Results go to `out` in order.
    pub fn query(&mut self, sql: &[u8], multi: bool, out: &mut dyn Output) -> Result<(), SqlError> {
        let _ = (sql, multi, out);
        unimplemented!()
    }
    /// COM_STMT_PREPARE.
    pub fn prepare(&mut self, sql: &[u8]) -> Result<Prepared, SqlError> {
        let _ = sql;
        unimplemented!()
    }
    /// COM_STMT_EXECUTE, its parameters decoded by the caller.
    pub fn execute(
        &mut self,
        id: u32,
        parameters: &[Value],
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        let _ = (id, parameters, out);
        unimplemented!()
    }
    /// COM_STMT_CLOSE; an unknown id is ignored.
    pub fn close(&mut self, id: u32) {
        let _ = id;
        unimplemented!()
    }
    /// COM_INIT_DB.
    pub fn use_database(&mut self, name: &str) -> Result<(), SqlError> {
        let _ = name;
        unimplemented!()
    }
    /// COM_RESET_CONNECTION, and COM_CHANGE_USER after the new user has logged in.
    pub fn reset(&mut self, who: Option<Identity>) {
        let _ = who;
        unimplemented!()
    }
    /// The protocol's server status flags now.
    pub fn status(&self) -> u16 {
        unimplemented!()
    }
}
