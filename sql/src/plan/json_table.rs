//! JSON_TABLE: a table whose rows are parts of a document.
//!
//! A path leads to the parts, each of which makes a row; what is nested makes several of it. Parts
//! that are nested side by side are told one after the other, with NULL in the columns of the
//! others:
//!
//! ```text
//! COLUMNS (a INT PATH '$.a',
//!          NESTED PATH '$.b[*]' COLUMNS (b INT PATH '$'),
//!          NESTED PATH '$.c[*]' COLUMNS (c INT PATH '$'))
//!
//! {"a": 1, "b": [2, 3], "c": [4]}    →    1 2 NULL    1 3 NULL    1 NULL 4
//! ```

use super::{
    Planner,
    from::{From, Leaf, LeafInput},
    walk,
};
use crate::{
    error::SqlError,
    expr::{Expr, ExprType, SqlMode, parsed},
    json::Path,
    parse::{JsonColumnSyntax, JsonTableSyntax, OtherwiseSyntax},
    warnings::Warnings,
};
use cohort_engine::types::{Column, ColumnType, Json, json::Node};
use sqlparser::ast;
use std::{ops::Range, sync::Arc};

/// How MySQL calls the place where the document is, in errors.
pub(super) const CLAUSE: &str = "a table function argument";

/// So many paths are too many, the first one included.
const PATHS_MAX: usize = 16;

/// JSON_TABLE.
#[derive(Debug)]
pub struct JsonTable {
    /// The document, on the row of the block that reads the table.
    pub document: Expr,
    /// How it is called.
    pub alias: String,
    /// Its columns, none of which is in a table.
    pub columns: Vec<Column>,
    /// What makes its rows.
    pub rows: JsonRows,
}

impl JsonTable {
    /// The slots of the block that it sees.
    pub fn given(&self) -> Vec<usize> {
        let mut slots = Vec::new();
        walk::slots(&self.document, &mut |slot| slots.push(slot));
        slots
    }
}

/// The rows that one path makes.
#[derive(Debug)]
pub struct JsonRows {
    /// It leads to a part for each row.
    pub path: Path,
    /// What is computed of a part, by the positions of the columns.
    pub values: Vec<(usize, JsonValue)>,
    /// What is nested, each with rows of its own.
    pub nested: Vec<JsonRows>,
    /// The positions of its columns, those of what is nested included.
    pub positions: Range<usize>,
}

/// What a column holds.
#[derive(Debug)]
pub enum JsonValue {
    /// The number of the row.
    Ordinality,
    /// Whether there is something.
    Exists(Path),
    /// What the path leads to.
    Value {
        /// The path.
        path: Path,
        /// If it leads nowhere.
        on_empty: Otherwise,
        /// If that is no value of the column's type.
        on_error: Otherwise,
    },
}

/// What a column holds if there is no value for it.
#[derive(Debug)]
pub enum Otherwise {
    /// NULL
    Null,
    /// The statement fails.
    Error,
    /// A document's value.
    Default(Json),
}

impl Planner<'_> {
    /// JSON_TABLE as a table of FROM. `number` is the number of its columns.
    pub(super) fn json_table(
        &mut self,
        document: &ast::Expr,
        number: &ast::ValueWithSpan,
        alias: Option<&ast::TableAlias>,
        from: &mut From,
    ) -> Result<usize, SqlError> {
        let written = match &number.value {
            ast::Value::SingleQuotedString(number) => number.parse::<usize>().ok(),
            _ => None,
        };
        let syntax = written.and_then(|number| self.json_tables.get(number));
        let syntax =
            syntax.ok_or_else(|| SqlError::internal("a JSON_TABLE without its columns"))?;
        let alias = alias.filter(|alias| !alias.name.value.is_empty());
        let Some(alias) = alias else {
            return Err(SqlError::table_function_without_alias());
        };
        if let Some(column) = alias.columns.first() {
            return Err(self.text.error_before(column.name.span));
        }
        let mut columns = Vec::new();
        let rows = self.json_rows(syntax, &mut columns)?;
        if paths(&rows) >= PATHS_MAX {
            let name = &alias.name.value;
            return Err(SqlError::too_many_nested_paths(PATHS_MAX, name));
        }
        let document = self.json_document(document)?;
        let alias = alias.name.value.clone();
        let named = names_of(&columns, &rows);
        let names = self.names();
        let at = names.add_table(alias.clone(), String::new(), None, named)?;
        let table = JsonTable {
            document,
            alias,
            columns,
            rows,
        };
        let leaf = Leaf {
            input: LeafInput::Json(Arc::new(table)),
            lock: None,
            shared: false,
            no_hash: false,
            hints: Vec::new(),
            again: None,
        };
        // What it sees must be there when it is read.
        from.straight |= leaf.is_lateral(self.names());
        from.leaves.push(leaf);
        Ok(at)
    }

    /// The document: an expression on the tables before, without queries.
    fn json_document(&mut self, document: &ast::Expr) -> Result<Expr, SqlError> {
        let names = self.names();
        let clause = std::mem::replace(&mut names.clause, CLAUSE);
        let queries = names.subqueries.len();
        let resolved = self.resolve(document);
        let names = self.names();
        names.clause = clause;
        if resolved.is_ok() && names.subqueries.len() > queries {
            return Err(SqlError::wrong_arguments("JSON_TABLE"));
        }
        resolved
    }

    fn json_rows(
        &mut self,
        syntax: &JsonTableSyntax,
        columns: &mut Vec<Column>,
    ) -> Result<JsonRows, SqlError> {
        let first = columns.len();
        let path = Path::parse(&syntax.path)?;
        let (mut values, mut nested) = (Vec::new(), Vec::new());
        for column in &syntax.columns {
            if let JsonColumnSyntax::Nested(syntax) = column {
                nested.push(self.json_rows(syntax, columns)?);
                continue;
            }
            let (column, value) = self.json_column(column)?;
            let same = |other: &Column| other.name.eq_ignore_ascii_case(&column.name);
            if columns.iter().any(same) {
                return Err(SqlError::duplicate_column(&column.name));
            }
            values.push((columns.len(), value));
            columns.push(column);
        }
        Ok(JsonRows {
            path,
            values,
            nested,
            positions: first..columns.len(),
        })
    }

    fn json_column(&mut self, syntax: &JsonColumnSyntax) -> Result<(Column, JsonValue), SqlError> {
        let (name, ty) = match syntax {
            JsonColumnSyntax::Ordinality(name) => {
                let column = Column::new(name, ColumnType::BigInt);
                return Ok((column, JsonValue::Ordinality));
            }
            JsonColumnSyntax::Exists { name, ty, .. }
            | JsonColumnSyntax::Value { name, ty, .. } => (name, ty),
            JsonColumnSyntax::Nested(_) => {
                return Err(SqlError::internal("what is nested is no column"));
            }
        };
        if name.is_empty() || name.ends_with(' ') {
            return Err(SqlError::wrong_column_name(name));
        }
        let mut heard = Warnings::default();
        ty.warn(&mut heard);
        let settings = &self.context.settings;
        let strict = settings.sql_mode.has(SqlMode::STRICT);
        let mut column = ty.column(name, settings.collation, strict, &mut heard)?;
        column.explicit_collation = false;
        let heard = heard.list().iter().map(|condition| condition.error.clone());
        self.warnings.extend(heard);
        let value = match syntax {
            JsonColumnSyntax::Value {
                path,
                on_empty,
                on_error,
                ..
            } => JsonValue::Value {
                path: Path::parse(path)?,
                on_empty: otherwise(on_empty, &column)?,
                on_error: otherwise(on_error, &column)?,
            },
            JsonColumnSyntax::Exists { path, .. } => JsonValue::Exists(Path::parse(path)?),
            JsonColumnSyntax::Ordinality(_) | JsonColumnSyntax::Nested(_) => JsonValue::Ordinality,
        };
        Ok((column, value))
    }
}

/// The columns as names see them. As MySQL tells it, the number of a row has ten digits.
fn names_of(columns: &[Column], rows: &JsonRows) -> Vec<(String, ExprType)> {
    const DIGITS: u32 = 10;
    let named = columns
        .iter()
        .map(|column| (column.name.clone(), ExprType::of_column(column)));
    let mut named: Vec<_> = named.collect();
    let mut todo = vec![rows];
    while let Some(rows) = todo.pop() {
        todo.extend(&rows.nested);
        for (position, value) in &rows.values {
            if let (JsonValue::Ordinality, Some((_, ty))) = (value, named.get_mut(*position)) {
                ty.length = DIGITS;
            }
        }
    }
    named
}

/// A default is the text of a document; 1067 if the column takes a scalar and it is none.
fn otherwise(syntax: &OtherwiseSyntax, column: &Column) -> Result<Otherwise, SqlError> {
    let text = match syntax {
        OtherwiseSyntax::Null => return Ok(Otherwise::Null),
        OtherwiseSyntax::Error => return Ok(Otherwise::Error),
        OtherwiseSyntax::Default(text) => text,
    };
    let document = parsed(text.as_bytes(), 1, "JSON_TABLE")?;
    let is_scalar = matches!(document.root(), Node::Scalar(_));
    if !is_scalar && column.ty != ColumnType::Json {
        return Err(SqlError::invalid_default(&column.name));
    }
    Ok(Otherwise::Default(document))
}

/// How many paths there are: one, and those of what is nested.
fn paths(rows: &JsonRows) -> usize {
    1 + rows.nested.iter().map(paths).sum::<usize>()
}
