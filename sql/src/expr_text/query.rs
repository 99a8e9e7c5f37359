//! Queries, as MySQL keeps those of views: the names of columns and tables are whole, `*` is what it
//! stands for, and each item of a select list has its name.
//!
//! Names of databases stand between two zero bytes, so that they can be found again: `split` takes
//! these out.

use super::{
    meanings::{Meanings, Meant},
    names::proper_name,
    print::Printer,
};
use crate::{
    error::SqlError,
    parse::{key_name, key_position},
};
use cohort_engine::types::{ViewQuery, quoted};
use sqlparser::ast::{self, Expr, SetExpr, Spanned};

type Text = Result<String, SqlError>;

/// Stands before and behind the name of a database and its point.
const MARK: char = '\0';

/// Where a query stands, and so what is written of its columns' names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// It is that of the view: all have names, and its ORDER BY says what is meant by one.
    View,
    /// It makes a table: all have names, by which its keys go.
    Table,
    /// It is part of an expression: only aliases are written, by which its keys go.
    Expression,
}

/// What the names of a SELECT's items are and what they are, where its ORDER BY is printed.
#[derive(Default)]
struct Items {
    printed: Vec<(String, String)>,
    /// Whether each name is an alias.
    aliases: Vec<bool>,
    /// Whether keys are written as aliases that they are.
    by_alias: bool,
}

fn refused(what: impl std::fmt::Display) -> SqlError {
    SqlError::not_supported(format_args!("{what} in a view"))
}

/// A printed text without its marks, and where the names of databases are.
pub(super) fn split(printed: &str) -> ViewQuery {
    let mut query = ViewQuery::default();
    for (at, part) in printed.split(MARK).enumerate() {
        if at % 2 == 1 {
            // A statement is far shorter than 4 GiB.
            let place = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
            query
                .qualifiers
                .push((place(query.text.len()), place(part.len())));
        }
        query.text.push_str(part);
    }
    query
}

fn qualifier(database: &str) -> String {
    format!("{MARK}{}.{MARK}", quoted(database))
}

fn column(meant: &Meant) -> String {
    match meant {
        Meant::Column {
            database,
            table,
            column,
        } => {
            let database = match database.is_empty() {
                true => String::new(),
                false => qualifier(database),
            };
            format!("{database}{}.{}", quoted(table), quoted(column))
        }
        Meant::Selected { name, .. } => quoted(name),
    }
}

impl Printer<'_> {
    fn meanings(&self) -> Result<&Meanings, SqlError> {
        self.meanings
            .ok_or_else(|| SqlError::not_supported("a query in a definition"))
    }

    /// The name of a column in a query.
    pub(super) fn column(&self, path: &[ast::Ident]) -> Text {
        if path.first().is_some_and(|name| name.value.starts_with('@')) && self.meanings.is_some() {
            return Err(SqlError::view_with_variable());
        }
        let Some(meanings) = self.meanings else {
            let name = path.last().map(|name| quoted(&name.value));
            return Ok(name.unwrap_or_default());
        };
        let written = || path.iter().map(|i| i.value.as_str()).collect::<Vec<_>>();
        let meant = meanings.name(path);
        let meant =
            meant.ok_or_else(|| refused(format_args!("the name {}", written().join("."))))?;
        Ok(column(meant))
    }

    /// A subquery, without parentheses.
    pub(super) fn subquery(&self, query: &ast::Query) -> Text {
        self.query(query, Within::Expression)
    }

    /// The query of a view, with marks.
    pub(super) fn view(&self, query: &ast::Query) -> Text {
        self.query(query, Within::View)
    }

    fn query(&self, query: &ast::Query, within: Within) -> Text {
        let with = match &query.with {
            None => String::new(),
            Some(with) => self.with(with)?,
        };
        let (body, items) = self.body(&query.body, within)?;
        let order = self.order_by(query.order_by.as_ref(), &items)?;
        let limit = self.limit(query.limit_clause.as_ref())?;
        Ok(format!("{with}{body}{order}{limit}"))
    }

    fn with(&self, with: &ast::With) -> Text {
        let recursive = if with.recursive { "recursive " } else { "" };
        let mut tables = Vec::with_capacity(with.cte_tables.len());
        for cte in &with.cte_tables {
            let columns = alias_columns(&cte.alias);
            let query = self.query(&cte.query, Within::Table)?;
            let name = quoted(&cte.alias.name.value);
            tables.push(format!("{name}{columns} as ({query})"));
        }
        Ok(format!("with {recursive}{} ", tables.join(", ")))
    }

    fn body(&self, body: &SetExpr, within: Within) -> Result<(String, Items), SqlError> {
        match body {
            SetExpr::Select(select) => self.select(select, within),
            SetExpr::Query(inner) => {
                let is_plain = inner.with.is_none()
                    && inner.order_by.is_none()
                    && inner.limit_clause.is_none();
                match is_plain {
                    true => self.body(&inner.body, within),
                    false => {
                        let text = self.query(inner, within)?;
                        Ok((format!("({text})"), self.names(&inner.body)?))
                    }
                }
            }
            SetExpr::SetOperation {
                op,
                set_quantifier,
                left,
                right,
            } => {
                let names = self.names(left)?;
                let within = match within {
                    Within::View => Within::Table,
                    other => other,
                };
                let left = self.operand(left, (*op, false), within)?;
                let right = self.operand(right, (*op, true), within)?;
                let word = match op {
                    ast::SetOperator::Union => "union",
                    ast::SetOperator::Except => "except",
                    ast::SetOperator::Intersect => "intersect",
                    ast::SetOperator::Minus => return Err(refused("MINUS")),
                };
                let all = match set_quantifier {
                    ast::SetQuantifier::All => " all",
                    ast::SetQuantifier::Distinct | ast::SetQuantifier::None => "",
                    other => return Err(refused(other)),
                };
                Ok((format!("{left} {word}{all} {right}"), names))
            }
            SetExpr::Values(values) => {
                let rows = values.rows.iter();
                let rows = rows.map(|row| Ok(format!("row({})", self.list(row.iter())?)));
                let rows: Vec<String> = rows.collect::<Result<_, SqlError>>()?;
                Ok((format!("values {}", rows.join(",")), Items::default()))
            }
            _ => Err(refused("this kind of query")),
        }
    }

    /// An operand of UNION and the like, in parentheses where they say something.
    fn operand(
        &self,
        operand: &SetExpr,
        (outside, is_right): (ast::SetOperator, bool),
        within: Within,
    ) -> Text {
        let mut inside = operand;
        while let SetExpr::Query(inner) = inside
            && inner.with.is_none()
            && inner.order_by.is_none()
            && inner.limit_clause.is_none()
        {
            inside = &inner.body;
        }
        let (text, _) = self.body(inside, within)?;
        let in_parentheses = match inside {
            SetExpr::SetOperation { op, .. } => is_right || *op != outside,
            _ => false,
        };
        Ok(match in_parentheses {
            true => format!("({text})"),
            false => text,
        })
    }

    fn select(&self, select: &ast::Select, within: Within) -> Result<(String, Items), SqlError> {
        let mut text = String::from("select ");
        if let Some(modifiers) = &select.select_modifiers {
            let ast::SelectModifiers {
                high_priority,
                straight_join,
                sql_small_result,
                sql_big_result,
                sql_buffer_result,
                // There is no cache.
                sql_no_cache: _,
                sql_calc_found_rows,
            } = modifiers;
            if *sql_calc_found_rows {
                return Err(SqlError::wrong_placement("SQL_CALC_FOUND_ROWS"));
            }
            let words = [
                (*high_priority, "high_priority "),
                (*straight_join, "straight_join "),
                (select.distinct.is_some(), ""),
                (*sql_small_result, "sql_small_result "),
                (*sql_big_result, "sql_big_result "),
                (*sql_buffer_result, "sql_buffer_result "),
            ];
            let (before, behind) = words.split_at(2);
            before
                .iter()
                .filter(|(is, _)| *is)
                .for_each(|(_, word)| text.push_str(word));
            text.push_str(distinct(select));
            behind
                .iter()
                .filter(|(is, _)| *is)
                .for_each(|(_, word)| text.push_str(word));
        } else {
            text.push_str(distinct(select));
        }
        let mut items = self.items(select)?;
        items.by_alias = within != Within::View;
        let named = items.printed.iter().zip(&items.aliases);
        let list =
            named.map(
                |((name, item), is_alias)| match within != Within::Expression || *is_alias {
                    true => format!("{item} AS {}", quoted(name)),
                    false => item.clone(),
                },
            );
        text.push_str(&list.collect::<Vec<_>>().join(","));
        if !select.from.is_empty() && !is_dual(&select.from) {
            text.push_str(" from ");
            text.push_str(&self.tables(&select.from)?);
        }
        if let Some(condition) = &select.selection {
            text.push_str(" where ");
            text.push_str(&self.truth(condition, false)?);
        }
        text.push_str(&self.group_by(&select.group_by, &items)?);
        if let Some(condition) = &select.having {
            text.push_str(" having ");
            text.push_str(&self.truth(condition, false)?);
        }
        if !select.named_window.is_empty() {
            let windows = select.named_window.iter().map(|window| self.window(window));
            let windows: Vec<String> = windows.collect::<Result<_, _>>()?;
            text.push_str(&format!(" window {}", windows.join(",")));
        }
        Ok((text, items))
    }

    /// The columns of what is no SELECT itself, to which an order outside it refers by their names:
    /// those of the first SELECT in it.
    fn names(&self, body: &SetExpr) -> Result<Items, SqlError> {
        let mut items = match body {
            SetExpr::Select(select) => self.items(select)?,
            SetExpr::Query(inner) => self.names(&inner.body)?,
            SetExpr::SetOperation { left, .. } => self.names(left)?,
            _ => Items::default(),
        };
        for (name, text) in &mut items.printed {
            *text = quoted(name);
        }
        Ok(items)
    }

    /// The items of a select list and their names.
    fn items(&self, select: &ast::Select) -> Result<Items, SqlError> {
        let meanings = self.meanings()?;
        let mut items = Items::default();
        let mut names = meanings
            .select(&select.select_token)
            .unwrap_or_default()
            .iter();
        let unknown = || refused("a column without name");
        for item in &select.projection {
            let expr = match item {
                ast::SelectItem::UnnamedExpr(expr)
                | ast::SelectItem::ExprWithAlias { expr, .. } => expr,
                ast::SelectItem::Wildcard(options)
                | ast::SelectItem::QualifiedWildcard(_, options) => {
                    for meant in meanings.star(options).ok_or_else(unknown)? {
                        let name = names.next().ok_or_else(unknown)?;
                        items.printed.push((name.clone(), column(meant)));
                        items.aliases.push(false);
                    }
                    continue;
                }
                ast::SelectItem::ExprWithAliases { .. } => return Err(refused("several aliases")),
            };
            let name = names.next().ok_or_else(unknown)?;
            let is_alias = matches!(item, ast::SelectItem::ExprWithAlias { .. });
            items.aliases.push(is_alias);
            let at = items.printed.len() + 1;
            items
                .printed
                .push((proper_name(name, at), self.value(expr)?));
        }
        Ok(items)
    }

    fn tables(&self, tables: &[ast::TableWithJoins]) -> Text {
        let mut text = String::new();
        for (at, table) in tables.iter().enumerate() {
            let joined = self.joined(table)?;
            text = match at {
                0 => joined,
                _ => format!("({text} join {joined})"),
            };
        }
        Ok(text)
    }

    fn joined(&self, table: &ast::TableWithJoins) -> Text {
        use ast::JoinOperator as J;
        let mut text = self.factor(&table.relation)?;
        for join in &table.joins {
            let (word, constraint, turned) = match &join.join_operator {
                J::Join(c) | J::Inner(c) | J::CrossJoin(c) => ("join", c, false),
                J::StraightJoin(c) => ("straight_join", c, false),
                J::Left(c) | J::LeftOuter(c) => ("left join", c, false),
                J::Right(c) | J::RightOuter(c) => ("left join", c, true),
                _ => return Err(refused("this kind of join")),
            };
            let right = self.factor(&join.relation)?;
            let condition = match constraint {
                ast::JoinConstraint::None => String::new(),
                ast::JoinConstraint::On(condition) => {
                    format!(" on({})", self.truth(condition, false)?)
                }
                ast::JoinConstraint::Using(_) | ast::JoinConstraint::Natural => {
                    self.common_columns(join)?
                }
            };
            text = match turned {
                false => format!("({text} {word} {right}{condition})"),
                true => format!("({right} {word} {text}{condition})"),
            };
        }
        Ok(text)
    }

    /// The condition of USING or NATURAL.
    fn common_columns(&self, join: &ast::Join) -> Text {
        let pairs = self.meanings()?.join(join.relation.span()).iter();
        let equal = pairs.map(|(a, b)| format!("({} = {})", column(a), column(b)));
        let equal: Vec<String> = equal.collect();
        Ok(match equal.as_slice() {
            [] => String::new(),
            [only] => format!(" on({only})"),
            several => format!(" on(({}))", several.join(" and ")),
        })
    }

    fn factor(&self, factor: &ast::TableFactor) -> Text {
        match factor {
            ast::TableFactor::Table {
                name,
                alias,
                index_hints,
                ..
            } => {
                let last = name.0.last().and_then(|part| part.as_ident());
                let table = last.map(|ident| quoted(&ident.value)).unwrap_or_default();
                let database = self.meanings()?.database(name).map(qualifier);
                let alias = alias.as_ref().map(|alias| quoted(&alias.name.value));
                let alias = alias.filter(|alias| *alias != table);
                let alias = alias.map(|alias| format!(" {alias}")).unwrap_or_default();
                let hints: String = index_hints.iter().map(hint).collect();
                Ok(format!(
                    "{}{table}{alias}{hints}",
                    database.unwrap_or_default()
                ))
            }
            ast::TableFactor::Derived {
                lateral,
                subquery,
                alias: Some(alias),
                sample: None,
            } => {
                let lateral = if *lateral { "lateral " } else { "" };
                let columns = alias_columns(alias);
                let name = quoted(&alias.name.value);
                let query = self.query(subquery, Within::Table)?;
                Ok(format!("{lateral}({query}) {name}{columns}"))
            }
            ast::TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => self.joined(table_with_joins),
            ast::TableFactor::JsonTable { .. } => Err(refused("JSON_TABLE")),
            _ => Err(refused("this kind of table in FROM")),
        }
    }

    fn group_by(&self, group_by: &ast::GroupByExpr, items: &Items) -> Text {
        let ast::GroupByExpr::Expressions(keys, modifiers) = group_by else {
            return Err(refused("GROUP BY ALL"));
        };
        if keys.is_empty() {
            return Ok(String::new());
        }
        let mut rollup = !modifiers.is_empty();
        let mut texts = Vec::with_capacity(keys.len());
        for key in keys {
            match key {
                Expr::Function(call)
                    if call.name.to_string().eq_ignore_ascii_case("ROLLUP") && keys.len() == 1 =>
                {
                    let args = self.arguments(call)?;
                    rollup = true;
                    for arg in args {
                        texts.push(self.key(arg, items)?);
                    }
                }
                key => texts.push(self.key(key, items)?),
            }
        }
        let rollup = if rollup { " with rollup" } else { "" };
        Ok(format!(" group by {}{rollup}", texts.join(",")))
    }

    /// A key of GROUP BY or ORDER BY: a position is what stands there.
    fn key(&self, key: &Expr, items: &Items) -> Text {
        if let Some(position) = key_position(key) {
            let item = position.checked_sub(1).and_then(|at| items.printed.get(at));
            let (name, text) = item.ok_or_else(|| refused("a position"))?;
            let is_literal = text.parse::<f64>().is_ok();
            return Ok(if is_literal {
                quoted(name)
            } else {
                text.clone()
            });
        }
        if let Some(path) = key_name(key)
            && let Some(Meant::Selected {
                name,
                by_name: false,
            }) = self.meanings()?.name(path)
        {
            let printed = items.printed.iter().zip(&items.aliases);
            let mut called = printed.filter(|((item, _), _)| item.eq_ignore_ascii_case(name));
            if let Some(((_, text), is_alias)) = called.next()
                && text.parse::<f64>().is_err()
                && !(items.by_alias && *is_alias)
            {
                return Ok(text.clone());
            }
            return Ok(quoted(name));
        }
        self.value(key)
    }

    fn order_by(&self, order: Option<&ast::OrderBy>, items: &Items) -> Text {
        let Some(ast::OrderBy { kind, .. }) = order else {
            return Ok(String::new());
        };
        let ast::OrderByKind::Expressions(keys) = kind else {
            return Err(refused("ORDER BY ALL"));
        };
        let mut texts = Vec::with_capacity(keys.len());
        for key in keys {
            let text = self.key(&key.expr, items)?;
            texts.push(format!("{text}{}", descending(key, "desc")?));
        }
        Ok(format!(" order by {}", texts.join(",")))
    }

    fn limit(&self, limit: Option<&ast::LimitClause>) -> Text {
        let (count, offset) = match limit {
            None => return Ok(String::new()),
            Some(ast::LimitClause::LimitOffset { limit, offset, .. }) => {
                (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
            }
            Some(ast::LimitClause::OffsetCommaLimit { offset, limit }) => {
                (Some(limit), Some(offset))
            }
        };
        let count = count.ok_or_else(|| refused("OFFSET without LIMIT"))?;
        let count = self.value(count)?;
        Ok(match offset {
            Some(offset) => format!(" limit {},{count}", self.value(offset)?),
            None => format!(" limit {count}"),
        })
    }
}

fn distinct(select: &ast::Select) -> &'static str {
    match select.distinct {
        Some(ast::Distinct::Distinct) => "distinct ",
        Some(ast::Distinct::All | ast::Distinct::On(_)) | None => "",
    }
}

/// `DESC` of a key, or nothing.
pub(super) fn descending(key: &ast::OrderByExpr, word: &str) -> Text {
    match &key.options.sort {
        None | Some(ast::OrderBySort::Asc) => Ok(String::new()),
        Some(ast::OrderBySort::Desc) => Ok(format!(" {word}")),
        Some(ast::OrderBySort::Using(_)) => Err(refused("ORDER BY USING")),
    }
}

fn alias_columns(alias: &ast::TableAlias) -> String {
    if alias.columns.is_empty() {
        return String::new();
    }
    let columns = alias
        .columns
        .iter()
        .map(|column| quoted(&column.name.value));
    format!(" ({})", columns.collect::<Vec<_>>().join(","))
}

/// USE, FORCE or IGNORE INDEX.
fn hint(hint: &ast::TableIndexHints) -> String {
    use ast::{TableIndexHintForClause as For, TableIndexHintType as Type};
    let word = match hint.hint_type {
        Type::Use => "USE",
        Type::Force => "FORCE",
        Type::Ignore => "IGNORE",
    };
    let for_clause = match &hint.for_clause {
        None => "",
        Some(For::Join) => "FOR JOIN ",
        Some(For::OrderBy) => "FOR ORDER BY ",
        Some(For::GroupBy) => "FOR GROUP BY ",
    };
    let names = hint.index_names.iter().map(|name| {
        let is_primary = name.value.eq_ignore_ascii_case("PRIMARY");
        match is_primary {
            true => "PRIMARY".to_string(),
            false => quoted(&name.value),
        }
    });
    let names = names.collect::<Vec<_>>().join(",");
    format!(" {word} INDEX {for_clause}({names})")
}

/// FROM DUAL says nothing.
fn is_dual(tables: &[ast::TableWithJoins]) -> bool {
    match tables {
        [
            ast::TableWithJoins {
                relation:
                    ast::TableFactor::Table {
                        name, alias: None, ..
                    },
                joins,
            },
        ] if joins.is_empty() => name.to_string().eq_ignore_ascii_case("dual"),
        _ => false,
    }
}
