//! What the store needs of a database: all that differs between the places its tables can be in.

use cohort_engine::{txn::Placed, types::Value};
use cohort_sql::SqlError;

/// What a statement returned.
#[derive(Default)]
pub(crate) struct Answer {
    pub rows: Vec<Vec<Value>>,
    pub affected: u64,
}

/// A transaction that will be committed, if anything is.
pub(super) enum Committed {
    /// It is durable, as the database understands that.
    Durable,
    /// It has its place in the log.
    Placed(Placed),
}

impl Committed {
    /// Calls back once it is known to be durable, or to have failed; `tell` must not block.
    pub fn when_known(self, tell: impl FnOnce(Result<(), SqlError>) + Send + 'static) {
        match self {
            Committed::Durable => tell(Ok(())),
            Committed::Placed(placed) => {
                placed.when_known(|known, _| tell(known.map_err(SqlError::from)));
            }
        }
    }
}

/// A connection to the database that has the tables, with their schema as its default. Its calls
/// block.
pub(crate) trait Connection: Send {
    /// The number of this coordinator among those that share the tables; 0: it shares them with
    /// nobody.
    fn owner(&self) -> u64;
    /// Runs a statement, which is prepared the first time; outside a transaction, and unless it
    /// only reads, nobody is told when it is durable.
    fn run(&mut self, sql: &str, params: &[Value]) -> Result<Answer, SqlError>;
    /// Runs a statement that may take as long as it needs.
    fn run_long(&mut self, sql: &str) -> Result<(), SqlError> {
        self.run(sql, &[]).map(drop)
    }
    /// Begins a transaction.
    fn begin(&mut self) -> Result<(), SqlError>;
    /// Ends it; the next one may begin before it is durable. After an error nothing was written,
    /// unless the error is [`UNREACHABLE`].
    fn commit(&mut self) -> Result<Committed, SqlError>;
    /// Gives it up.
    fn rollback(&mut self);
}

/// The code of an error after which nobody knows what was written: no server could be reached for
/// some time. MySQL's clients know it as CR_CONN_HOST_ERROR.
pub(crate) const UNREACHABLE: u16 = 2003;
/// The code of an error after which nothing was written, for the statement is larger than the server
/// takes.
pub(crate) const TOO_LARGE: u16 = 1153;
/// The code of an error after which nothing was written, for the connection is lost.
/// CR_SERVER_LOST.
pub(super) const LOST: u16 = 2013;
