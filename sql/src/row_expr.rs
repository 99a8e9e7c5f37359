//! Expressions that the definition of a table has and that are computed on its rows: CHECK
//! constraints, generated columns and indexes on expressions. (Those of DEFAULT: see `defaults`.)
//!
//! The dictionary keeps their canonical text (`expr_text`). Each statement that changes rows of the
//! table compiles it anew. A column's slot is its position in the table.

use crate::{
    error::SqlError,
    expr::{self, Expr, ExprType, Scope, SqlMode, Statement, SubqueryUse, VariableScope},
    expr_text::{self, DEPTH_MAX},
    lexer::Mode,
    variables,
};
use cohort_engine::types::{Collation, Column, Value};
use sqlparser::ast;
use std::collections::BTreeSet;

/// Functions whose values belong to one session, one statement or one call, with the names by which
/// MySQL calls them when it refuses them.
const REFUSED: [(&str, &str); 41] = [
    ("benchmark", "benchmark"),
    ("connection_id", "connection_id"),
    ("curdate", "curdate"),
    ("current_date", "curdate"),
    ("current_role", "current_role"),
    ("current_time", "curtime"),
    ("current_timestamp", "now"),
    ("current_user", "current_user"),
    ("curtime", "curtime"),
    ("database", "database"),
    ("found_rows", "found_rows"),
    ("get_lock", "get_lock"),
    ("is_free_lock", "is_free_lock"),
    ("is_used_lock", "is_used_lock"),
    ("last_insert_id", "last_insert_id"),
    ("load_file", "load_file"),
    ("localtime", "now"),
    ("localtimestamp", "now"),
    ("now", "now"),
    ("rand", "rand"),
    ("random_bytes", "random_bytes"),
    ("release_all_locks", "release_all_locks"),
    ("release_lock", "release_lock"),
    ("row_count", "row_count"),
    ("schema", "database"),
    ("session_user", "user"),
    ("sleep", "sleep"),
    ("sysdate", "sysdate"),
    ("system_user", "user"),
    ("unix_timestamp", "unix_timestamp"),
    ("user", "user"),
    ("utc_date", "utc_date"),
    ("utc_time", "utc_time"),
    ("utc_timestamp", "utc_timestamp"),
    ("uuid", "uuid"),
    ("uuid_short", "uuid_short"),
    ("values", "values"),
    ("version", "version()"),
    ("icu_version", "icu_version()"),
    ("master_pos_wait", "source_pos_wait"),
    ("source_pos_wait", "source_pos_wait"),
];

/// Whose expression it is.
#[derive(Clone, Copy)]
pub enum Purpose<'a> {
    /// The CHECK constraint of this name.
    Check(&'a str),
    /// The generated column of this name.
    Generated(&'a str),
    /// A part of the index of this name.
    Functional(&'a str),
}

impl Purpose<'_> {
    fn function(self, called: &str) -> SqlError {
        match self {
            Purpose::Check(name) => SqlError::check_with_function(name, called),
            Purpose::Generated(name) => SqlError::generated_with_function(name, called),
            Purpose::Functional(name) => SqlError::functional_with_function(name),
        }
    }
    fn disallowed(self) -> SqlError {
        match self {
            Purpose::Check(name) => SqlError::check_with_disallowed(name),
            Purpose::Generated(name) => SqlError::generated_with_disallowed(name),
            Purpose::Functional(name) => SqlError::functional_with_function(name),
        }
    }
    fn variable(self) -> SqlError {
        match self {
            Purpose::Check(name) => SqlError::check_with_variable(name),
            Purpose::Generated(name) | Purpose::Functional(name) => {
                SqlError::default_with_variable(name)
            }
        }
    }
    fn unknown_column(self, column: &str) -> SqlError {
        match self {
            Purpose::Check(name) => SqlError::check_of_unknown_column(name, column),
            Purpose::Generated(_) => SqlError::unknown_column(column, "generated column function"),
            Purpose::Functional(_) => SqlError::unknown_column(column, "functional index"),
        }
    }
    /// What is refused for its form alone.
    fn check_form(self, tree: &ast::Expr, mode: SqlMode) -> Result<(), SqlError> {
        let mut inside = tree;
        while let ast::Expr::Nested(inner) = inside {
            inside = inner;
        }
        match self {
            Purpose::Check(name) if !expr_text::is_condition(tree, mode) => {
                Err(SqlError::check_not_boolean(name))
            }
            Purpose::Generated(name) if matches!(inside, ast::Expr::Tuple(_)) => {
                Err(SqlError::generated_row_value(name))
            }
            Purpose::Functional(name) if matches!(inside, ast::Expr::Tuple(_)) => {
                Err(SqlError::functional_row_value(name))
            }
            _ => Ok(()),
        }
    }
}

/// The settings of a session on which the types of expressions depend.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// @@collation_connection
    pub collation: Collation,
    /// @@sql_mode
    pub sql_mode: SqlMode,
    /// @@div_precision_increment
    pub div_precision_increment: u8,
    /// The default database.
    pub database: Option<&'a str>,
}

impl<'a> Settings<'a> {
    /// Those of a statement.
    #[must_use]
    pub fn of(session: &Statement<'a>) -> Settings<'a> {
        Settings {
            collation: session.collation,
            sql_mode: session.sql_mode,
            div_precision_increment: session.div_precision_increment,
            database: session.database,
        }
    }
}

/// An expression of a table's definition.
#[derive(Debug)]
pub struct Defined {
    /// Its text for the dictionary.
    pub text: String,
    /// The positions of the columns that it names.
    pub columns: BTreeSet<usize>,
    /// What is deprecated in it.
    pub warnings: Vec<SqlError>,
    /// It, compiled.
    pub compiled: Expr,
}

/// The expression that a statement defines with this text. `row`: the columns of the table.
pub fn define(
    purpose: Purpose<'_>,
    text: &str,
    row: &[Column],
    session: &Statement<'_>,
) -> Result<Defined, SqlError> {
    let mut scope = RowScope::new(purpose, row, Settings::of(session));
    let mode = session.sql_mode.lexer();
    let compiled = expr_text::parsed_with_warnings(text, mode, |tree, deprecated| {
        scope.warnings.extend_from_slice(deprecated);
        purpose.check_form(tree, session.sql_mode)?;
        let compiled = expr::resolve_expr(tree, &mut scope)?;
        if has_variable(&compiled) {
            return Err(purpose.variable());
        }
        match expr::depth(&compiled) > DEPTH_MAX {
            true => Err(SqlError::nesting_too_deep()),
            false => Ok(compiled),
        }
    })?;
    Ok(Defined {
        compiled,
        text: expr_text::canonical(text, session)?,
        columns: scope.columns,
        warnings: scope.warnings,
    })
}

/// Whether it names a user variable.
fn has_variable(expression: &Expr) -> bool {
    let mut has = matches!(
        expression,
        Expr::UserVariable { .. } | Expr::SetUserVariable { .. }
    );
    expr::visit_operands(expression, &mut |operand| has |= has_variable(operand));
    has
}

/// An expression that the dictionary keeps.
pub fn compile(
    purpose: Purpose<'_>,
    text: &str,
    row: &[Column],
    settings: Settings<'_>,
) -> Result<Expr, SqlError> {
    let mut scope = RowScope::new(purpose, row, settings);
    expr_text::parsed(text, Mode::default(), |tree| {
        expr::resolve_expr(tree, &mut scope)
    })
}

/// The positions of the columns that an expression names which the dictionary keeps.
pub fn columns_of(
    purpose: Purpose<'_>,
    text: &str,
    row: &[Column],
    session: &Statement<'_>,
) -> Result<BTreeSet<usize>, SqlError> {
    let mut scope = RowScope::new(purpose, row, Settings::of(session));
    expr_text::parsed(text, Mode::default(), |tree| {
        expr::resolve_expr(tree, &mut scope)
    })?;
    Ok(scope.columns)
}

/// What an expression can name: columns, and functions that tell of nothing but their arguments.
struct RowScope<'a> {
    purpose: Purpose<'a>,
    row: &'a [Column],
    settings: Settings<'a>,
    /// The positions of the columns that it has named.
    columns: BTreeSet<usize>,
    /// What is deprecated in it.
    warnings: Vec<SqlError>,
}

impl<'a> RowScope<'a> {
    fn new(purpose: Purpose<'a>, row: &'a [Column], settings: Settings<'a>) -> RowScope<'a> {
        RowScope {
            purpose,
            row,
            settings,
            columns: BTreeSet::new(),
            warnings: Vec::new(),
        }
    }
}

/// A column that an expression over a row names, which is noted; `unknown` is the error for a name
/// that the row does not have.
pub(crate) fn column_of(
    row: &[Column],
    path: &[ast::Ident],
    used: &mut BTreeSet<usize>,
    unknown: impl FnOnce(&str) -> SqlError,
) -> Result<Expr, SqlError> {
    // MySQL, too, looks at the last part of a name only.
    let name = path.last().map_or("", |name| name.value.as_str());
    let mut columns = row.iter().enumerate();
    let found =
        columns.find(|(_, column)| column.name.eq_ignore_ascii_case(name) && !column.is_hidden());
    let Some((position, column)) = found else {
        let parts: Vec<&str> = path.iter().map(|part| part.value.as_str()).collect();
        return Err(unknown(&parts.join(".")));
    };
    used.insert(position);
    Ok(Expr::Column {
        slot: u32::try_from(position).unwrap_or(u32::MAX),
        ty: ExprType::of_column(column),
    })
}

impl Scope for RowScope<'_> {
    fn column(&mut self, path: &[ast::Ident]) -> Result<Expr, SqlError> {
        let unknown = |name: &str| self.purpose.unknown_column(name);
        column_of(self.row, path, &mut self.columns, unknown)
    }
    fn parameter(&mut self, _index: u32) -> Result<Expr, SqlError> {
        Err(SqlError::not_supported("parameters in table definitions"))
    }
    fn subquery(
        &mut self,
        _query: &ast::Query,
        _usage: SubqueryUse,
    ) -> Result<Vec<Expr>, SqlError> {
        Err(self.purpose.disallowed())
    }
    fn function(&mut self, function: &ast::Function) -> Result<Option<Expr>, SqlError> {
        let name = expr_text::function_name(function);
        if expr::is_aggregate(&name) {
            return Err(SqlError::invalid_group_function());
        }
        if let Some((_, called)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
            return Err(self.purpose.function(called));
        }
        match name.as_str() {
            "default" => match self.purpose {
                Purpose::Functional(index) => Err(SqlError::functional_with_function(index)),
                Purpose::Check(_) | Purpose::Generated(_) => {
                    Err(SqlError::not_supported("DEFAULT() in table definitions"))
                }
            },
            "name_const" => Err(self.purpose.disallowed()),
            // The parser's own names, of forms such as JSON_VALUE, for which there is no text.
            _ if name.contains(' ') => Err(SqlError::not_supported(format_args!(
                "{} in a table's definition",
                name.to_ascii_uppercase().replace(' ', "_")
            ))),
            _ if expr::functions::is_known(&name) => Ok(None),
            // MySQL takes it for a function of the user's.
            _ => {
                let quoted = name.replace('.', "`.`");
                Err(self.purpose.function(&format!("`{quoted}`")))
            }
        }
    }
    fn user_variable(&mut self, _name: &str) -> ExprType {
        ExprType::null()
    }
    fn system_variable(&mut self, _scope: VariableScope, name: &str) -> Result<Value, SqlError> {
        variables::find(name)?;
        Err(self.purpose.variable())
    }
    fn warn(&mut self, warning: SqlError) {
        self.warnings.push(warning);
    }
    fn collation(&self) -> Collation {
        self.settings.collation
    }
    fn database(&self) -> Option<&str> {
        self.settings.database
    }
    fn sql_mode(&self) -> SqlMode {
        self.settings.sql_mode
    }
    fn div_precision_increment(&self) -> u8 {
        self.settings.div_precision_increment
    }
}
