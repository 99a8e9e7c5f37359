//! DROP of routines, triggers and events: there are none to be dropped, which IF EXISTS
//! only notes.

use super::{DdlContext, Outcome, syntax::Absent};
use crate::{command::TableName, error::SqlError, output::Done};

pub(super) fn drop(
    kind: Absent,
    names: &[TableName],
    if_exists: bool,
    ctx: &mut DdlContext<'_>,
) -> Outcome {
    for name in names {
        let (database, name) = ctx.resolve(name)?;
        let full = format!("{database}.{name}");
        let known = ctx.engine.dictionary().database(database).is_some();
        let error = match kind {
            Absent::Procedure => SqlError::does_not_exist("PROCEDURE", full),
            Absent::Function => SqlError::does_not_exist("FUNCTION", full),
            Absent::Trigger if !known => SqlError::unknown_database(database),
            Absent::Event if if_exists => SqlError::does_not_exist("Event", name),
            Absent::Event => SqlError::unknown_event(name),
            Absent::Trigger => SqlError::trigger_does_not_exist(),
        };
        if !if_exists {
            return Err(error.into());
        }
        ctx.warnings.note(error);
    }
    Ok(Done::default())
}
