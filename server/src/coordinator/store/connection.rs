//! What the store needs of a database: all that differs between the places its tables can be in.

use cohort_engine::types::Value;
use cohort_sql::SqlError;

/// What a statement returned.
#[derive(Default)]
pub(in crate::coordinator) struct Answer {
    pub rows: Vec<Vec<Value>>,
    pub affected: u64,
}

/// Called once a commit is known to be durable, or to have failed; it must not block.
pub(super) type Tell = Box<dyn FnOnce(Result<(), SqlError>) + Send>;

/// A connection to the database that has the tables. Its calls block.
pub(in crate::coordinator) trait Connection: Send {
    /// Runs a statement, which is prepared the first time; outside a transaction, and unless it
    /// only reads, nobody is told when it is durable.
    fn run(&mut self, sql: &str, params: &[Value]) -> Result<Answer, SqlError>;
    /// Begins a transaction.
    fn begin(&mut self) -> Result<(), SqlError>;
    /// Ends it; the next one may begin before it is durable.
    fn commit(&mut self, tell: Tell);
    /// Gives it up.
    fn rollback(&mut self);
}
