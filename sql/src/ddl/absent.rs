//! DROP of views, routines, triggers and events: there are none to be dropped, which IF EXISTS
//! only notes.

use super::{DdlContext, Outcome, syntax::Absent};
use crate::{command::TableName, error::SqlError, output::Done};

pub(super) fn drop(
    kind: Absent,
    names: &[TableName],
    if_exists: bool,
    ctx: &mut DdlContext<'_>,
) -> Outcome {
    if kind == Absent::View {
        return drop_views(names, if_exists, ctx);
    }
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
            Absent::Trigger | Absent::View => SqlError::trigger_does_not_exist(),
        };
        if !if_exists {
            return Err(error.into());
        }
        ctx.warnings.note(error);
    }
    Ok(Done::default())
}

/// Tables are none; all that are missing are named in one error.
fn drop_views(names: &[TableName], if_exists: bool, ctx: &mut DdlContext<'_>) -> Outcome {
    let dictionary = ctx.engine.dictionary();
    let mut notes = Vec::new();
    let mut missing = Vec::new();
    for name in names {
        let (database, name) = ctx.resolve(name)?;
        if dictionary.table(database, name).is_some() {
            let error = SqlError::wrong_object(database, name, "VIEW");
            if !if_exists {
                return Err(error.into());
            }
            notes.push(error);
            continue;
        }
        missing.push(format!("{database}.{name}"));
        notes.push(SqlError::unknown_table(format!("{database}.{name}")));
    }
    if !if_exists {
        return Err(SqlError::unknown_table(missing.join(",")).into());
    }
    notes.into_iter().for_each(|note| ctx.warnings.note(note));
    Ok(Done::default())
}
