//! Rows events of both versions, with images of all columns or of some.

use crate::log::{
    RowsKind,
    event::{Cursor, NO_FOREIGN_KEY_CHECKS, STATEMENT_END},
};

/// Flag: rows that foreign keys have changed come as rows, too (MySQL 9.6 and later:
/// USE_SQL_FOREIGN_KEY_F).
const CASCADES_LOGGED: u16 = 0x10;

/// Changes of rows of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows<'a> {
    /// Which: its number in the table map before.
    pub table: u64,
    /// What was done.
    pub kind: RowsKind,
    /// It is the last one of its statement.
    pub ends_statement: bool,
    /// Whoever applies it need not look at foreign keys.
    pub foreign_keys_done: bool,
    /// What foreign keys make of these changes comes as rows of their own.
    pub cascades_logged: bool,
    /// How many columns the table has.
    pub columns: usize,
    /// A bit for each column that the images have, the first the least of the first byte; of an
    /// update those before, then those after.
    pub present: (&'a [u8], &'a [u8]),
    /// What is there after an update may be changes of documents (see `json` of the SQL layer): each
    /// image after begins with what is so.
    pub partial: bool,
    /// The images, one after another; of an update before and after in turn.
    pub images: &'a [u8],
}

impl<'a> Rows<'a> {
    pub(super) fn parse(kind: RowsKind, second_version: bool, body: &'a [u8]) -> Option<Rows<'a>> {
        let mut cursor = Cursor(body);
        let table = cursor.integer(6)?;
        let flags = cursor.u16()?;
        if second_version {
            let extra = usize::from(cursor.u16()?);
            cursor.take(extra.checked_sub(2)?)?;
        }
        let columns = usize::try_from(cursor.lenenc()?).ok()?;
        let before = cursor.take(columns.div_ceil(8))?;
        let after = match kind {
            RowsKind::Update => cursor.take(columns.div_ceil(8))?,
            RowsKind::Write | RowsKind::Delete => before,
        };
        Some(Rows {
            table,
            kind,
            ends_statement: flags & STATEMENT_END != 0,
            foreign_keys_done: flags & NO_FOREIGN_KEY_CHECKS != 0,
            cascades_logged: flags & CASCADES_LOGGED != 0,
            columns,
            present: (before, after),
            partial: false,
            images: cursor.0,
        })
    }
}
