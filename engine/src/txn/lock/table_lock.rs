//! How tables are locked.

/// How a table is locked: see `mdl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::txn) enum TableLock {
    Read,
    Write,
    ReadOnly,
    Exclusive,
}

impl TableLock {
    /// What a statement needs of a table.
    pub fn of_use(writes: bool) -> TableLock {
        if writes {
            TableLock::Write
        } else {
            TableLock::Read
        }
    }
    /// Whether two sessions cannot have them at a time.
    pub fn conflicts(self, other: TableLock) -> bool {
        use TableLock::{Exclusive, ReadOnly, Write};
        matches!(
            (self, other),
            (Exclusive, _) | (_, Exclusive) | (ReadOnly, Write) | (Write, ReadOnly)
        )
    }
}
