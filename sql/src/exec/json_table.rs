//! The rows of JSON_TABLE.

use super::{ExecContext, Stop, memory::Memory};
use crate::{
    error::SqlError,
    expr::{
        FromJson, default_for_json_column, exists_for_json_column, for_json_column, json_document,
        several_for_json_column,
    },
    json::seek,
    plan::{JsonRows, JsonTable, JsonValue, Otherwise},
    warnings::{Condition, Level},
};
use cohort_engine::types::{Column, ColumnType, Json, Value, json::Node};

/// The rows of a table, for the row of the block that reads it.
pub(super) fn rows(
    table: &JsonTable,
    row: &[Value],
    context: &mut ExecContext,
) -> Result<Vec<Vec<Value>>, Stop> {
    check_defaults(&table.rows, table, context)?;
    let mut made = Made {
        table,
        row: vec![Value::Null; table.columns.len()],
        rows: Vec::new(),
        memory: Memory::default(),
    };
    let document = json_document(&table.document, row, "json_table", &mut context.eval)?;
    if let Some(document) = document {
        made.all_of(&table.rows, &document.root(), context)?;
    }
    Ok(made.rows)
}

/// Defaults must be values of their columns, even if nobody needs them.
fn check_defaults(
    rows: &JsonRows,
    table: &JsonTable,
    context: &mut ExecContext,
) -> Result<(), Stop> {
    for (position, value) in &rows.values {
        let (
            JsonValue::Value {
                on_empty, on_error, ..
            },
            Some(column),
        ) = (value, table.columns.get(*position))
        else {
            continue;
        };
        for otherwise in [on_empty, on_error] {
            if let Otherwise::Default(document) = otherwise {
                default(document, column, context)?;
            }
        }
    }
    let mut nested = rows.nested.iter();
    nested.try_for_each(|rows| check_defaults(rows, table, context))
}

/// The value of a default.
fn default(document: &Json, column: &Column, context: &mut ExecContext) -> Result<Value, Stop> {
    match default_for_json_column(&document.root(), column, &mut context.eval)? {
        FromJson::Value(value, _) => Ok(value),
        FromJson::Failed(error, _) => Err(error.into()),
    }
}

/// The rows made so far.
struct Made<'t> {
    table: &'t JsonTable,
    /// The row that is being made: NULL in the columns that have no value now.
    row: Vec<Value>,
    rows: Vec<Vec<Value>>,
    memory: Memory,
}

impl Made<'_> {
    /// Adds the rows that a path makes of a document or a part of it; whether there are any.
    fn all_of(
        &mut self,
        rows: &JsonRows,
        part: &Node<'_>,
        context: &mut ExecContext,
    ) -> Result<bool, Stop> {
        let found = seek(part, &rows.path);
        for (i, part) in found.iter().enumerate() {
            self.one_of(rows, part, i + 1, context)?;
        }
        let columns = self.row.get_mut(rows.positions.clone());
        columns.unwrap_or_default().fill(Value::Null);
        Ok(!found.is_empty())
    }

    /// Adds the rows of one part.
    fn one_of(
        &mut self,
        rows: &JsonRows,
        part: &Node<'_>,
        number: usize,
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        for (position, value) in &rows.values {
            let Some(column) = self.table.columns.get(*position) else {
                continue;
            };
            let value = match value {
                JsonValue::Ordinality => Value::Int(i64::try_from(number).unwrap_or(i64::MAX)),
                JsonValue::Exists(path) => {
                    let exists = !seek(part, path).is_empty();
                    exists_in(self.table, column, exists, context)?
                }
                JsonValue::Value {
                    path,
                    on_empty,
                    on_error,
                } => match seek(part, path).as_slice() {
                    [] => match on_empty {
                        Otherwise::Null => Value::Null,
                        Otherwise::Error => {
                            return Err(SqlError::missing_json_table_value(&column.name).into());
                        }
                        Otherwise::Default(document) => default(document, column, context)?,
                    },
                    found => value_of(found, column, on_error, context)?,
                },
            };
            if let Some(slot) = self.row.get_mut(*position) {
                *slot = value;
            }
        }
        let mut any = false;
        for nested in &rows.nested {
            any |= self.all_of(nested, part, context)?;
        }
        if !any {
            context.tick()?;
            self.memory.take_row(&self.row)?;
            self.rows.push(self.row.clone());
        }
        Ok(())
    }
}

/// Whether something is there, as a value of a column: a document takes none.
fn exists_in(
    table: &JsonTable,
    column: &Column,
    exists: bool,
    context: &mut ExecContext,
) -> Result<Value, Stop> {
    if column.ty == ColumnType::Json {
        let name = format!("{}.{}", table.alias, column.name);
        let why = "not a JSON text, may need CAST";
        return Err(SqlError::invalid_json_text(why, 0, name).into());
    }
    let (value, told) = exists_for_json_column(exists, column, &mut context.eval)?;
    tell(told, context);
    Ok(value)
}

fn tell(conditions: impl IntoIterator<Item = Condition>, context: &mut ExecContext) {
    let warnings = &mut context.eval.warnings;
    for condition in conditions {
        match condition.level {
            Level::Note => warnings.note(condition.error),
            level => warnings.push(level, condition.error),
        }
    }
}

/// The value of what was found.
fn value_of(
    found: &[Node<'_>],
    column: &Column,
    on_error: &Otherwise,
    context: &mut ExecContext,
) -> Result<Value, Stop> {
    let value = match found {
        [part] => for_json_column(part, column, &mut context.eval)?,
        parts => several_for_json_column(parts, column)?,
    };
    let (error, instead) = match value {
        FromJson::Value(value, told) => {
            // Without ERROR only what is no truncation is told.
            let all = matches!(on_error, Otherwise::Error);
            let told = told.into_iter().filter(|condition| {
                all || condition.level == Level::Note
                    && condition.error.code == SqlError::INCORRECT_VALUE
            });
            tell(told, context);
            return Ok(value);
        }
        FromJson::Failed(error, instead) => (error, instead),
    };
    match on_error {
        Otherwise::Null => Ok(instead),
        Otherwise::Error => Err(error.into()),
        Otherwise::Default(document) => default(document, column, context),
    }
}
