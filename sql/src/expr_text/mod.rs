//! The text of an expression that the dictionary keeps: of a DEFAULT, a CHECK, a generated column.
//!
//! MySQL keeps no expression as it was written, but prints its own tree: names are quoted, operators
//! in parentheses, strings have their character set, and NOT is gone where it can be. Programs that
//! compare schemas expect that text, and it means the same in every session: it needs no sql_mode
//! and no default character set.
//!
//! `canonical` prints a text, and then prints what it has printed, as a session with default
//! settings reads it. If the two differ the expression is refused (1235): nothing is kept that would
//! be read as something else. `print` is the printer; what it does not know it refuses by name.

mod aggregate;
mod call;
mod condition;
mod meanings;
mod names;
mod print;
mod query;

use crate::{
    error::SqlError,
    expr::{SqlMode, Statement},
    lexer::Mode,
    parse,
};
use cohort_engine::types::{Collation, ViewQuery};
use print::Printer;
use sqlparser::ast;

/// How deep an expression may be that rows are computed with: each row evaluates it on the stack of
/// its session.
pub const DEPTH_MAX: usize = 100;

pub use call::kept_name;
pub use condition::{function_name, is_condition};
pub use meanings::{Meanings, Meant};
pub use names::{names, proper_name, tell_apart};

/// The text that the dictionary keeps for an expression that a session has written.
pub fn canonical(text: &str, session: &Statement<'_>) -> Result<String, SqlError> {
    let author = Printer {
        meanings: None,
        charset: session.collation.charset(),
        mode: session.sql_mode,
        week_format: session.week_format,
    };
    let printed = parsed(text, session.sql_mode.lexer(), |tree| author.value(tree))?;
    let reader = Printer {
        meanings: None,
        charset: Collation::Utf8mb40900AiCi.charset(),
        mode: SqlMode::DEFAULT,
        week_format: 0,
    };
    let again = parsed(&printed, Mode::default(), |tree| reader.value(tree));
    if again.is_ok_and(|again| again == printed) {
        return Ok(printed);
    }
    Err(SqlError::not_supported(format_args!(
        "the expression {text} in a definition"
    )))
}

/// The text that the dictionary keeps for the query of a view: with these meanings of its names, in
/// these settings.
pub fn canonical_query(
    query: &ast::Query,
    meanings: &Meanings,
    collation: Collation,
    mode: SqlMode,
    week_format: u8,
) -> Result<ViewQuery, SqlError> {
    let printer = Printer {
        meanings: Some(meanings),
        charset: collation.charset(),
        mode,
        week_format,
    };
    Ok(query::split(&printer.view(query)?))
}

/// Has `work` do something with the syntax tree of an expression.
pub fn parsed<R>(
    text: &str,
    mode: Mode,
    work: impl FnOnce(&ast::Expr) -> Result<R, SqlError>,
) -> Result<R, SqlError> {
    parsed_with_warnings(text, mode, |tree, _| work(tree))
}

/// The same, with what the parser finds deprecated.
pub fn parsed_with_warnings<R>(
    text: &str,
    mode: Mode,
    work: impl FnOnce(&ast::Expr, &[SqlError]) -> Result<R, SqlError>,
) -> Result<R, SqlError> {
    let sql = format!("SELECT ({text})");
    let refused = || SqlError::not_supported(format_args!("the expression {text}"));
    parse::parse(sql.as_bytes(), mode, None, |parsed| {
        let ast::Statement::Query(query) = &parsed.statement else {
            return Err(refused());
        };
        let ast::SetExpr::Select(select) = query.body.as_ref() else {
            return Err(refused());
        };
        match select.projection.as_slice() {
            [ast::SelectItem::UnnamedExpr(expression)] => work(expression, &parsed.warnings),
            _ => Err(refused()),
        }
    })
}
