//! Errors with MySQL's numbers, SQLSTATEs and words, in one table.

/// An error as a client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// MySQL's error number (ER_…).
    pub code: u16,
    /// The five characters of SQLSTATE.
    pub state: [u8; 5],
    /// The text.
    pub message: String,
}
