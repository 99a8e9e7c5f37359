//! How tables are locked.

/// How a table is locked: see `mdl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableLock {
    /// To read it.
    Read,
    /// To write it.
    Write,
    /// So that nobody else changes its definition, while something is built for it.
    Changing,
    /// So that nobody writes it.
    ReadOnly,
    /// So that nobody else does anything with it.
    Exclusive,
}

impl TableLock {
    /// What a statement needs of a table.
    pub(in crate::txn) fn of_use(writes: bool) -> TableLock {
        if writes {
            TableLock::Write
        } else {
            TableLock::Read
        }
    }
    /// Whether two sessions cannot have them at a time.
    pub(in crate::txn) fn conflicts(self, other: TableLock) -> bool {
        use TableLock::{Changing, Exclusive, ReadOnly, Write};
        matches!(
            (self, other),
            (Exclusive, _)
                | (_, Exclusive)
                | (Changing, Changing)
                | (ReadOnly, Write)
                | (Write, ReadOnly)
        )
    }
}
