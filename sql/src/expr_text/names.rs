//! How the columns of a view are called, whose names nobody gave.

use super::Meanings;
use sqlparser::ast::{self, SetExpr};

/// How long a name of a column may be, in characters.
const LENGTH_MAX: usize = 64;

/// A name that a column can have: MySQL numbers those that are too long or end in a space.
#[must_use]
pub fn proper_name(name: &str, at: usize) -> String {
    let is_proper = !name.is_empty() && name.chars().count() <= LENGTH_MAX && !name.ends_with(' ');
    match is_proper {
        true => name.to_string(),
        false => format!("Name_exp_{at}"),
    }
}

/// Gives the columns of a query names that differ, as far as they are only the texts of expressions:
/// as a view's that has no list of columns. The query is printed with these names.
pub fn tell_apart(query: &ast::Query, meanings: &mut Meanings) {
    let Some(select) = first_select(&query.body) else {
        return;
    };
    let Some(names) = meanings.select(&select.select_token) else {
        return;
    };
    let mut names: Vec<String> = (1..)
        .zip(names)
        .map(|(at, name)| proper_name(name, at))
        .collect();
    let is_text = texts(select, meanings);
    for at in 0..names.len() {
        for before in 0..at {
            if names[at].to_lowercase() != names[before].to_lowercase() {
                continue;
            }
            // What is left alone is refused later, as a duplicate.
            let renamed = [at, before]
                .into_iter()
                .find(|one| is_text.get(*one) == Some(&true));
            if let Some(renamed) = renamed {
                names[renamed] = unlike(&names, renamed);
            }
        }
    }
    meanings.note_select(&select.select_token, names);
}

/// How the columns of a query are called that begins with a SELECT.
#[must_use]
pub fn names<'m>(query: &ast::Query, meanings: &'m Meanings) -> Option<&'m [String]> {
    meanings.select(&first_select(&query.body)?.select_token)
}

/// The SELECT that names a query's columns.
fn first_select(body: &SetExpr) -> Option<&ast::Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(inner) => first_select(&inner.body),
        SetExpr::SetOperation { left, .. } => first_select(left),
        _ => None,
    }
}

/// Which columns have the text of an expression for their name; not so those of tables.
fn texts(select: &ast::Select, meanings: &Meanings) -> Vec<bool> {
    let mut texts = Vec::new();
    for item in &select.projection {
        match item {
            ast::SelectItem::UnnamedExpr(expr) => texts.push(!is_column(expr)),
            ast::SelectItem::Wildcard(options) | ast::SelectItem::QualifiedWildcard(_, options) => {
                let columns = meanings.star(options).unwrap_or_default();
                texts.extend(columns.iter().map(|_| false));
            }
            ast::SelectItem::ExprWithAlias { .. } | ast::SelectItem::ExprWithAliases { .. } => {
                texts.push(false);
            }
        }
    }
    texts
}

fn is_column(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_) => true,
        ast::Expr::Nested(inner) => is_column(inner),
        _ => false,
    }
}

/// A name made of that of one column, which no other one has.
fn unlike(names: &[String], renamed: usize) -> String {
    let name = &names[renamed];
    let mut tries = 0_usize;
    loop {
        let made = match tries {
            0 => format!("Name_exp_{name}"),
            tries => format!("Name_exp_{tries}_{name}"),
        };
        let made: String = made.chars().take(LENGTH_MAX).collect();
        let is_free = names
            .iter()
            .enumerate()
            .all(|(at, other)| at == renamed || other.to_lowercase() != made.to_lowercase());
        if is_free {
            return made;
        }
        tries += 1;
    }
}
