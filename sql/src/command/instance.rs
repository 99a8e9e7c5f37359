//! ALTER INSTANCE.

use super::{Command, Cursor, Parsed};
use crate::error::SqlError;

/// After ALTER INSTANCE.
pub(super) fn alter(c: &mut Cursor) -> Parsed<Command> {
    for refused in [
        &["ROTATE", "INNODB", "MASTER", "KEY"][..],
        &["ROTATE", "BINLOG", "MASTER", "KEY"],
        &["RELOAD", "KEYRING"],
        &["ENABLE", "INNODB", "REDO_LOG"],
        &["DISABLE", "INNODB", "REDO_LOG"],
    ] {
        if c.are(refused) {
            let what = format!("ALTER INSTANCE {}", refused.join(" "));
            return Err(SqlError::not_supported(what));
        }
    }
    c.expect("RELOAD")?;
    c.expect("TLS")?;
    if c.eat_all(&["FOR", "CHANNEL"]) {
        channel(c)?;
    }
    Ok(Command::ReloadTls {
        rollback: !c.eat_all(&["NO", "ROLLBACK", "ON", "ERROR"]),
    })
}

/// The administrators' port has the TLS of the other one.
fn channel(c: &mut Cursor) -> Parsed<()> {
    let error = c.error();
    match c.name()?.to_ascii_lowercase().as_str() {
        "mysql_main" => Ok(()),
        "mysql_admin" => Err(SqlError::not_supported("FOR CHANNEL mysql_admin")),
        _ => Err(error),
    }
}
