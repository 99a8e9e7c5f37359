//! Databases.

use super::{DdlContext, Outcome, column::check_length, foreign_key};
use crate::{data_type::CharsetSyntax, error::SqlError, lexer::is_proper, output::Done};
use cohort_engine::{
    txn::{Related, SchemaChange},
    types::{TableId, schema::Database},
};

pub(super) fn create(
    name: &str,
    if_not_exists: bool,
    charset: CharsetSyntax,
    text: &str,
    ctx: &mut DdlContext<'_>,
) -> Outcome {
    check_length(name)?;
    if !is_proper(name) {
        return Err(SqlError::wrong_database_name(name).into());
    }
    ctx.check_database(name)?;
    let collation = charset.resolve()?.unwrap_or(ctx.collation);
    charset.warn(ctx.warnings);
    let dictionary = ctx.engine.dictionary();
    if dictionary.database(name).is_some() {
        let error = SqlError::database_exists(name);
        if !if_not_exists {
            return Err(error.into());
        }
        ctx.warnings.note(error);
        return Ok(one());
    }
    let database = Database {
        name: name.to_string(),
        collation,
    };
    let change = SchemaChange::PutDatabase(database);
    ctx.change(&dictionary, change, Related::default(), text)?;
    Ok(one())
}

/// MySQL counts the database as a row.
fn one() -> Done {
    Done {
        affected_rows: 1,
        ..Done::default()
    }
}

pub(super) fn alter(
    name: Option<&str>,
    charset: CharsetSyntax,
    text: &str,
    ctx: &mut DdlContext<'_>,
) -> Outcome {
    let name = name.unwrap_or(ctx.session.database.unwrap_or_default());
    if name.is_empty() {
        return Err(SqlError::no_database().into());
    }
    check_length(name)?;
    ctx.check_database(name)?;
    charset.warn(ctx.warnings);
    let dictionary = ctx.engine.dictionary();
    let Some(old) = dictionary.database(name) else {
        return Err(SqlError::no_such_database(name).into());
    };
    let database = Database {
        name: old.name.clone(),
        collation: charset.resolve()?.unwrap_or(old.collation),
    };
    let change = SchemaChange::PutDatabase(database);
    ctx.change(&dictionary, change, Related::default(), text)?;
    Ok(one())
}

pub(super) fn drop(name: &str, if_exists: bool, text: &str, ctx: &mut DdlContext<'_>) -> Outcome {
    check_length(name)?;
    ctx.check_database(name)?;
    let dictionary = ctx.engine.dictionary();
    if dictionary.database(name).is_none() {
        let error = SqlError::cannot_drop_database(name);
        if !if_exists {
            return Err(error.into());
        }
        ctx.warnings.note(error);
        return Ok(Done::default());
    }
    let tables: Vec<TableId> = dictionary.tables(name).map(|table| table.id).collect();
    foreign_key::dropped(&tables, &dictionary, ctx)?;
    // MySQL counts tables and views as rows.
    let dropped = tables.len() + dictionary.views(name).count();
    let change = SchemaChange::DropDatabase(name.to_string());
    ctx.change(&dictionary, change, Related::default(), text)?;
    Ok(Done {
        affected_rows: dropped as u64,
        ..Done::default()
    })
}
