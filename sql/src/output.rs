//! Where a statement's results go: the wire, or a test.

use cohort_engine::types::{Collation, ColumnType, Value};

/// The description of a result column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnMeta {
    /// Database of the column's table; empty for an expression.
    pub database: String,
    /// Alias of the table.
    pub table: String,
    /// The table's own name.
    pub original_table: String,
    /// The column's alias: what a client shows.
    pub name: String,
    /// The column's own name.
    pub original_name: String,
    /// Its type; `None` for NULL.
    pub ty: Option<ColumnType>,
    /// UNSIGNED.
    pub unsigned: bool,
    /// NOT NULL.
    pub not_null: bool,
    /// For strings; `Binary` for numbers and dates.
    pub collation: Collation,
    /// Display length in bytes, as the protocol's column definition has it.
    pub length: u32,
    /// Digits after the point; 31 for floating point without fixed digits.
    pub decimals: u8,
    /// The protocol's other flags: PRI_KEY 2, UNIQUE_KEY 4, MULTIPLE_KEY 8, BLOB 16, ZEROFILL 64,
    /// BINARY 128, AUTO_INCREMENT 512, TIMESTAMP 1024 …
    pub flags: u16,
}

/// How a statement ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Rows changed; found, if the client set CLIENT_FOUND_ROWS.
    pub affected_rows: u64,
    /// The first AUTO_INCREMENT value that was generated, else 0.
    pub last_insert_id: u64,
    /// Warnings of the statement.
    pub warnings: u16,
    /// Server status flags, SERVER_MORE_RESULTS_EXISTS included.
    pub status: u16,
    /// "Records: 3  Duplicates: 0  Warnings: 0" and the like.
    pub info: String,
}

/// Receives the results of statements, in order: for each statement either `columns`, `row`s and
/// `end`, or only `end`. An error ends everything (the caller sends it).
/// `Err` means that the client is gone or, if it is `Interrupted`, that the statement was killed
/// while the client took its rows.
pub trait Output {
    /// A result set begins.
    fn columns(&mut self, columns: &[ColumnMeta]) -> std::io::Result<()>;
    /// A row of it; values are of the columns' types.
    fn row(&mut self, row: &[Value]) -> std::io::Result<()>;
    /// Asks the client for a file of its own, which it sends in pieces.
    fn ask_for_file(&mut self, name: &str) -> std::io::Result<()> {
        let _ = name;
        Err(std::io::ErrorKind::Unsupported.into())
    }
    /// Waits for the next piece of it; an empty one is its end. `Interrupted`: the statement was killed
    /// meanwhile.
    fn take_piece(&mut self) -> std::io::Result<&[u8]> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
    /// Waits until the client has sent the rest of it, which nobody wants, though the statement was
    /// killed.
    fn skip_file(&mut self) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
    /// The statement is done: an OK packet, or the end of the result set.
    fn end(&mut self, done: &Done) -> std::io::Result<()>;
}
