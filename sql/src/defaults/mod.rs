//! The expression of `DEFAULT (expression)`: what may stand in it, and what it becomes.
//!
//! The dictionary keeps its canonical text (`expr_text`), which means the same in every session.
//! Each statement that needs it compiles it anew, with its own session's settings, as if it stood in
//! the statement. It may name other columns of the row: a column's slot is its position in the table.

pub mod moment;

use crate::{
    error::SqlError,
    expr::{self, Expr, Scope, SqlMode, Statement, SubqueryUse, VariableScope, visit_operands},
    expr_text::{self, DEPTH_MAX},
    lexer::Mode,
    row_expr::{Settings, column_of},
    variables,
};
use cohort_engine::types::{Collation, Column, Value};
use sqlparser::ast;
use std::collections::BTreeSet;

/// Functions whose values belong to one session or statement; 3770 for these.
const REFUSED: [&str; 13] = [
    "benchmark",
    "found_rows",
    "get_lock",
    "is_free_lock",
    "is_used_lock",
    "last_insert_id",
    "load_file",
    "release_all_locks",
    "release_lock",
    "row_count",
    "sleep",
    "values",
    "version",
];

/// Functions that give another value where the statement runs again, on a replica.
const UNSAFE: [&str; 9] = [
    "current_user",
    "rand",
    "random_bytes",
    "session_user",
    "sysdate",
    "system_user",
    "user",
    "uuid",
    "uuid_short",
];

/// The expression of a column that is being defined, as the dictionary keeps it: 3770 and its kin
/// for what no default may have. `row`: the columns of the table.
pub fn define(
    column: &str,
    text: &str,
    row: &[Column],
    session: &Statement<'_>,
) -> Result<String, SqlError> {
    let mut scope = Definition::new(column, row, Settings::of(session));
    let compiled = compile(text, session.sql_mode.lexer(), &mut scope)?;
    if expr::depth(&compiled) > DEPTH_MAX {
        return Err(SqlError::nesting_too_deep());
    }
    scope.check(&compiled)?;
    expr_text::canonical(text, session)
}

/// The expression of a column that has been defined.
pub fn expression(
    column: &str,
    text: &str,
    row: &[Column],
    settings: Settings<'_>,
) -> Result<Expr, SqlError> {
    let mut scope = Definition::new(column, row, settings);
    compile(text, Mode::default(), &mut scope)
}

/// The positions of the columns that it names.
pub fn columns_of(
    column: &str,
    text: &str,
    row: &[Column],
    settings: Settings<'_>,
) -> Result<BTreeSet<usize>, SqlError> {
    let mut scope = Definition::new(column, row, settings);
    compile(text, Mode::default(), &mut scope)?;
    Ok(scope.columns)
}

/// 1674 for an expression that would give the rows of a replica other values, where a column is
/// added: the statement is what the log has of it.
pub fn check_repeatable(expression: &Expr) -> Result<(), SqlError> {
    let mut checked = match expression {
        Expr::Function { function, .. } if UNSAFE.contains(&function.name) => {
            Err(SqlError::unsafe_system_function())
        }
        _ => Ok(()),
    };
    visit_operands(expression, &mut |operand| {
        if checked.is_ok() {
            checked = check_repeatable(operand);
        }
    });
    checked
}

fn compile(text: &str, mode: Mode, scope: &mut Definition<'_>) -> Result<Expr, SqlError> {
    expr_text::parsed(text, mode, |tree| {
        let mut inside = tree;
        while let ast::Expr::Nested(inner) = inside {
            inside = inner;
        }
        match inside {
            ast::Expr::Tuple(_) => Err(SqlError::default_row_value(scope.column)),
            _ => expr::resolve_expr(tree, scope),
        }
    })
}

/// What the expression of a column can name: functions, and the columns of its row.
struct Definition<'a> {
    column: &'a str,
    row: &'a [Column],
    settings: Settings<'a>,
    /// The positions of the columns that it has named.
    columns: BTreeSet<usize>,
}

impl<'a> Definition<'a> {
    fn new(column: &'a str, row: &'a [Column], settings: Settings<'a>) -> Definition<'a> {
        Definition {
            column,
            row,
            settings,
            columns: BTreeSet::new(),
        }
    }

    /// Refuses functions and variables of one session.
    fn check(&self, expression: &Expr) -> Result<(), SqlError> {
        let mut checked = match expression {
            Expr::Function { function, .. } if REFUSED.contains(&function.name) => {
                Err(self.refuse_function(function.name))
            }
            Expr::UserVariable { .. }
            | Expr::SetUserVariable { .. }
            | Expr::SystemVariable { .. } => Err(SqlError::default_with_variable(self.column)),
            _ => Ok(()),
        };
        visit_operands(expression, &mut |operand| {
            if checked.is_ok() {
                checked = self.check(operand);
            }
        });
        checked
    }

    fn refuse_function(&self, name: &str) -> SqlError {
        let called = if name == "version" { "version()" } else { name };
        SqlError::default_with_function(self.column, called)
    }
}

impl Scope for Definition<'_> {
    fn column(&mut self, path: &[ast::Ident]) -> Result<Expr, SqlError> {
        let unknown = |name: &str| SqlError::unknown_column(name, "default value expression");
        column_of(self.row, path, &mut self.columns, unknown)
    }
    fn parameter(&mut self, _index: u32) -> Result<Expr, SqlError> {
        Err(SqlError::not_supported("parameters in DEFAULT expressions"))
    }
    fn subquery(
        &mut self,
        _query: &ast::Query,
        _usage: SubqueryUse,
    ) -> Result<Vec<Expr>, SqlError> {
        Err(SqlError::default_with_disallowed(self.column))
    }
    fn function(&mut self, function: &ast::Function) -> Result<Option<Expr>, SqlError> {
        let name = function.name.to_string().to_lowercase();
        if expr::is_aggregate(&name) {
            return Err(SqlError::invalid_group_function());
        }
        if REFUSED.contains(&name.as_str()) {
            return Err(self.refuse_function(&name));
        }
        match name.as_str() {
            // It names a column.
            "default" => Err(SqlError::not_supported("DEFAULT() in DEFAULT expressions")),
            "name_const" => Err(SqlError::default_with_disallowed(self.column)),
            _ => Ok(None),
        }
    }
    fn system_variable(&mut self, _scope: VariableScope, name: &str) -> Result<Value, SqlError> {
        variables::find(name)?;
        Err(SqlError::default_with_variable(self.column))
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
