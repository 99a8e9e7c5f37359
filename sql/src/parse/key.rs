//! What the keys of ORDER BY and GROUP BY are by their form.

use sqlparser::ast;

/// The name that an expression is, if it is nothing else.
#[must_use]
pub fn key_name(expr: &ast::Expr) -> Option<&[ast::Ident]> {
    match expr {
        ast::Expr::Nested(inner) => key_name(inner),
        ast::Expr::Identifier(ident) => Some(std::slice::from_ref(ident)),
        ast::Expr::CompoundIdentifier(path) => Some(path),
        _ => None,
    }
}

/// An integer literal, which in ORDER BY and GROUP BY is a position in the select list.
#[must_use]
pub fn key_position(expr: &ast::Expr) -> Option<usize> {
    match expr {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Number(text, _) => text.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}
