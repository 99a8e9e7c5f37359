//! LOCK TABLES and its kind.

use super::{Command, Cursor, Parsed, TableName};
use crate::error::SqlError;

/// A table of LOCK TABLES.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockTable {
    /// Which.
    pub name: TableName,
    /// How statements will call it.
    pub alias: Option<String>,
    /// WRITE, not READ.
    pub writes: bool,
}

/// After LOCK.
pub(super) fn lock(c: &mut Cursor) -> Parsed<Command> {
    if c.eat_all(&["INSTANCE", "FOR", "BACKUP"]) {
        return Ok(Command::LockInstance);
    }
    tables(c)?;
    Ok(Command::LockTables(c.list(table)?))
}

/// After UNLOCK.
pub(super) fn unlock(c: &mut Cursor) -> Parsed<Command> {
    if c.eat("INSTANCE") {
        return Ok(Command::UnlockInstance);
    }
    tables(c)?;
    Ok(Command::UnlockTables)
}

/// After FLUSH [LOCAL], if TABLES follows.
pub(super) fn flush_tables(c: &mut Cursor) -> Parsed<Command> {
    let read_lock: [&str; 3] = ["WITH", "READ", "LOCK"];
    let names = if c.at_end() || c.are(&read_lock) {
        Vec::new()
    } else {
        c.list(Cursor::table)?
    };
    if !names.is_empty() && c.eat_all(&["FOR", "EXPORT"]) {
        // There are no files of single tables that could be copied.
        return Err(SqlError::not_supported("FLUSH TABLES ... FOR EXPORT"));
    }
    Ok(Command::FlushTables {
        names,
        read_lock: c.eat_all(&read_lock),
    })
}

fn tables(c: &mut Cursor) -> Parsed<()> {
    match c.eat_any(&["TABLES", "TABLE"]) {
        Some(_) => Ok(()),
        None => Err(c.error()),
    }
}

/// `name [[AS] alias] {READ [LOCAL] | WRITE}`. LOCAL would let others insert into MyISAM tables.
fn table(c: &mut Cursor) -> Parsed<LockTable> {
    let name = c.table()?;
    let named = c.eat("AS") || !(c.is("READ") || c.is("WRITE"));
    let alias = if named && !c.at_end() {
        Some(c.name()?)
    } else {
        None
    };
    let writes = c.eat("WRITE");
    if !writes {
        c.expect("READ")?;
        c.eat("LOCAL");
    }
    Ok(LockTable {
        name,
        alias,
        writes,
    })
}
