//! Rows that wait for the log.
//!
//! Rows of locking reads may be of commits that are not durable yet, and must not leave before
//! they are. They are kept until the statement ends, or until they are many: then it waits for the
//! log, passes them on and goes on, so that a long result takes no more memory than any other.

use crate::{
    error::SqlError,
    exec::memory,
    output::{ColumnMeta, Done, Output},
    state::{Instance, State},
};
use cohort_engine::{txn::Owner, types::Value};
use std::{io, sync::Arc};

/// So many bytes of rows are kept at most.
const BYTES_MAX: usize = 1 << 20;

/// What was withheld of a result, and where it goes.
pub(super) struct Withheld<'o> {
    out: &'o mut dyn Output,
    instance: Arc<Instance>,
    owner: Arc<Owner>,
    columns: Option<Vec<ColumnMeta>>,
    rows: Vec<Vec<Value>>,
    bytes: usize,
    /// The log has failed: nothing that was withheld may be told.
    failed: Option<SqlError>,
}

impl<'o> Withheld<'o> {
    /// For a result of this session that goes to `out`.
    pub fn new(state: &State, out: &'o mut dyn Output) -> Withheld<'o> {
        Withheld {
            out,
            instance: Arc::clone(&state.instance),
            owner: Arc::clone(&state.owner),
            columns: None,
            rows: Vec::new(),
            bytes: 0,
            failed: None,
        }
    }

    /// Passes on what was withheld, as soon as that is allowed.
    pub fn release(&mut self) -> io::Result<()> {
        if let Err(error) = self.instance.engine.wait_for_reads(&self.owner) {
            self.failed = Some(error.into());
            return Err(io::Error::other("the log has failed"));
        }
        if let Some(columns) = self.columns.take() {
            self.out.columns(&columns)?;
        }
        self.bytes = 0;
        self.rows.drain(..).try_for_each(|row| self.out.row(&row))
    }

    /// Why it could not be released, if that was not the client's fault.
    pub fn into_error(self) -> Option<SqlError> {
        self.failed
    }
}

impl Output for Withheld<'_> {
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        self.columns = Some(columns.to_vec());
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        self.bytes += memory::size(row);
        self.rows.push(row.to_vec());
        if self.bytes > BYTES_MAX {
            return self.release();
        }
        Ok(())
    }
    fn end(&mut self, done: &Done) -> io::Result<()> {
        self.release()?;
        self.out.end(done)
    }
}
