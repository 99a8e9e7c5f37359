//! What names mean: the stack of query blocks being compiled, innermost last.

use super::{Aggregate, Computed, Planner, Subquery, Usage, walk};
use crate::{
    error::SqlError,
    expr::{
        self, Expr, ExprType, Scope, SqlMode, SubqueryUse, VariableScope, coercibility, infer,
        is_aggregate,
    },
    value_kind::ValueKind,
};
use cohort_engine::types::{Collation, Table, Value, schema::DefaultValue};
use sqlparser::ast;
use std::sync::Arc;

/// A table of a block, as names see it.
pub(super) struct NamedTable {
    /// The alias.
    pub alias: String,
    /// The database, for names of three parts; empty for a derived table.
    pub database: String,
    /// The stored or virtual table.
    pub table: Option<Arc<Table>>,
    /// Its columns.
    pub columns: Vec<NamedColumn>,
    /// The slot of its first column.
    pub first_slot: usize,
}

/// A column of such a table.
pub(super) struct NamedColumn {
    pub name: String,
    pub ty: ExprType,
    /// Joined by USING with a column that stands for both.
    pub hidden: bool,
}

/// Where aliases of the select list are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aliases {
    No,
    /// Before the columns: ORDER BY, HAVING.
    First,
    /// After the columns: GROUP BY.
    Last,
}

/// The names of a block.
pub(super) struct Names {
    pub tables: Vec<NamedTable>,
    /// How many slots there are so far.
    pub slots: usize,
    /// Values of the enclosing block: its slot, ours, the type.
    pub outer: Vec<(usize, usize, ExprType)>,
    pub subqueries: Vec<Subquery>,
    pub aggregates: Vec<Aggregate>,
    pub select: Vec<(String, Expr)>,
    pub aliases: Aliases,
    /// For error texts.
    pub clause: &'static str,
    pub aggregates_allowed: bool,
    /// A derived table sees nothing of the block it is in.
    pub isolated: bool,
    /// Only these tables are seen (ON sees those joined so far).
    pub visible: std::ops::Range<usize>,
    /// The row to be inserted, for VALUES(column) and INSERT … AS alias: the slot of its first
    /// column.
    pub inserted: Option<usize>,
    /// Columns seen with an aggregate's argument, outside and inside: for error 1140.
    pub in_aggregate: bool,
}

impl Names {
    pub fn new(isolated: bool) -> Names {
        Names {
            tables: Vec::new(),
            slots: 0,
            outer: Vec::new(),
            subqueries: Vec::new(),
            aggregates: Vec::new(),
            select: Vec::new(),
            aliases: Aliases::No,
            clause: "field list",
            aggregates_allowed: false,
            isolated,
            visible: 0..usize::MAX,
            inserted: None,
            in_aggregate: false,
        }
    }

    pub fn new_slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    /// An expression with the subqueries it needs.
    pub fn wrap(&self, expr: Expr) -> Computed {
        let mut subqueries = Vec::new();
        walk::slots(&expr, &mut |slot| {
            if let Some(n) = self.subqueries.iter().position(|s| s.slot == slot)
                && !subqueries.contains(&n)
            {
                subqueries.push(n);
            }
        });
        Computed { expr, subqueries }
    }

    /// Adds a table and gives its columns slots.
    pub fn add_table(
        &mut self,
        alias: String,
        database: String,
        table: Option<Arc<Table>>,
        columns: Vec<(String, ExprType)>,
    ) -> Result<usize, SqlError> {
        let taken =
            |t: &NamedTable| t.alias == alias && (t.database == database || database.is_empty());
        if self.tables.iter().any(taken) {
            return Err(SqlError::not_unique_table(alias));
        }
        let first_slot = self.slots;
        self.slots += columns.len();
        self.tables.push(NamedTable {
            alias,
            database,
            table,
            columns: columns
                .into_iter()
                .map(|(name, ty)| NamedColumn {
                    name,
                    ty,
                    hidden: false,
                })
                .collect(),
            first_slot,
        });
        Ok(self.tables.len() - 1)
    }

    /// The expression of a table's column.
    pub fn column_of(&self, table: usize, column: usize) -> Option<Expr> {
        let table = self.tables.get(table)?;
        let named = table.columns.get(column)?;
        Some(slot_expr(table.first_slot + column, named.ty))
    }

    fn find(&self, path: &[ast::Ident], clause: &str) -> Result<Option<Expr>, SqlError> {
        let Some((name, qualifier)) = path.split_last() else {
            return Ok(None);
        };
        let mut found = None;
        let mut hidden = None;
        for (t, table) in self.tables.iter().enumerate() {
            if !self.visible.contains(&t) || !table.matches(qualifier) {
                continue;
            }
            for (c, column) in table.columns.iter().enumerate() {
                if !column.name.eq_ignore_ascii_case(&name.value) {
                    continue;
                }
                if column.hidden && qualifier.is_empty() {
                    hidden = hidden.or(Some((t, c)));
                    continue;
                }
                if found.is_some() {
                    return Err(SqlError::ambiguous_column(dotted(path), clause));
                }
                found = Some((t, c));
            }
        }
        Ok(found.or(hidden).and_then(|(t, c)| self.column_of(t, c)))
    }

    fn find_alias(&self, path: &[ast::Ident]) -> Option<Expr> {
        let [name] = path else { return None };
        self.select
            .iter()
            .find(|(alias, _)| alias.eq_ignore_ascii_case(&name.value))
            .map(|(_, expr)| expr.clone())
    }

    fn lookup(&self, path: &[ast::Ident]) -> Result<Option<Expr>, SqlError> {
        if self.aliases == Aliases::First
            && !self.in_aggregate
            && let Some(expr) = self.find_alias(path)
        {
            return Ok(Some(expr));
        }
        if let Some(expr) = self.find(path, self.clause)? {
            return Ok(Some(expr));
        }
        if self.aliases == Aliases::Last {
            return Ok(self.find_alias(path));
        }
        Ok(None)
    }
}

impl NamedTable {
    fn matches(&self, qualifier: &[ast::Ident]) -> bool {
        match qualifier {
            [] => true,
            [table] => table.value == self.alias,
            [database, table] => {
                table.value == self.alias && database.value.eq_ignore_ascii_case(&self.database)
            }
            _ => false,
        }
    }
}

/// A slot of the row.
pub(super) fn slot_expr(slot: usize, ty: ExprType) -> Expr {
    Expr::Column {
        slot: u32::try_from(slot).unwrap_or(u32::MAX),
        ty,
    }
}

/// The collation to compare two strings with: that of the one that holds to it more strongly.
fn comparison_collation(a: &ExprType, b: &ExprType) -> Collation {
    match (a.is_string(), b.is_string()) {
        (true, true) if b.coercibility < a.coercibility => b.collation,
        (true, _) => a.collation,
        (false, true) => b.collation,
        (false, false) if a.ty.is_none() => a.collation,
        _ => Collation::Binary,
    }
}

/// Whether ORDER BY says DESC.
pub(super) fn is_desc(options: &ast::OrderByOptions) -> bool {
    matches!(options.sort, Some(ast::OrderBySort::Desc))
}

pub(super) fn dotted(path: &[ast::Ident]) -> String {
    let parts: Vec<&str> = path.iter().map(|i| i.value.as_str()).collect();
    parts.join(".")
}

impl Planner<'_> {
    /// The innermost block.
    pub fn names(&mut self) -> &mut Names {
        // The stack is never empty while names are resolved; an empty block is harmless.
        if self.stack.is_empty() {
            self.stack.push(Names::new(true));
        }
        let last = self.stack.len() - 1;
        &mut self.stack[last]
    }

    /// Resolves an expression in the innermost block.
    pub fn resolve(&mut self, ast: &ast::Expr) -> Result<Expr, SqlError> {
        walk::balance(expr::resolve(ast, self)?)
    }

    /// The same, with the subqueries it needs.
    pub fn computed(&mut self, ast: &ast::Expr) -> Result<Computed, SqlError> {
        let expr = self.resolve(ast)?;
        Ok(self.names().wrap(expr))
    }

    pub fn wrap(&mut self, expr: Expr) -> Computed {
        self.names().wrap(expr)
    }

    /// Brings a column of the block at `level` to the innermost one, through those between.
    fn import(&mut self, level: usize, expr: Expr) -> Expr {
        let Expr::Column { slot, ty } = expr else {
            return expr;
        };
        let mut slot = slot as usize;
        for names in self.stack.iter_mut().skip(level + 1) {
            slot = match names.outer.iter().find(|(from, ..)| *from == slot) {
                Some(&(_, to, _)) => to,
                None => {
                    let to = names.new_slot();
                    names.outer.push((slot, to, ty));
                    to
                }
            };
        }
        slot_expr(slot, ty)
    }

    /// DEFAULT(column).
    fn default_of_column(&mut self, function: &ast::Function) -> Result<Expr, SqlError> {
        let ast::FunctionArguments::List(list) = &function.args else {
            return Err(SqlError::wrong_native_argument_count("DEFAULT"));
        };
        let [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(arg))] = list.args.as_slice()
        else {
            return Err(SqlError::wrong_native_argument_count("DEFAULT"));
        };
        let slot = walk::slot(&self.resolve(arg)?);
        let column = slot.and_then(|slot| {
            self.names().tables.iter().find_map(|named| {
                let position = slot.checked_sub(named.first_slot)?;
                named.table.as_ref()?.columns.get(position).cloned()
            })
        });
        let Some(column) = column else {
            return Err(SqlError::wrong_native_arguments("DEFAULT"));
        };
        match &column.default {
            DefaultValue::Null => Ok(walk::null()),
            DefaultValue::Literal(text) => Ok(Expr::Cast {
                expr: Box::new(Expr::Literal(
                    Value::Bytes(text.clone().into_bytes()),
                    ExprType::string(255, column.collation, coercibility::LITERAL),
                )),
                ty: ExprType::of_column(&column),
            }),
            DefaultValue::None => Err(SqlError::no_default_for_field(&column.name)),
            _ => Err(SqlError::not_supported("DEFAULT of an expression")),
        }
    }

    /// VALUES(column): what was to be inserted.
    fn inserted_value(&mut self, function: &ast::Function) -> Result<Expr, SqlError> {
        let ast::FunctionArguments::List(list) = &function.args else {
            return Err(SqlError::wrong_native_argument_count("VALUES"));
        };
        let [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(arg))] = list.args.as_slice()
        else {
            return Err(SqlError::wrong_native_argument_count("VALUES"));
        };
        let found = self.resolve(arg)?;
        let Some(first) = self.names().inserted else {
            return Ok(walk::null());
        };
        self.warnings.push(SqlError::deprecated(
            "VALUES function",
            "an alias (INSERT INTO ... VALUES (...) AS alias) and replace VALUES(col) in the ON \
             DUPLICATE KEY UPDATE clause with alias.col",
        ));
        match found {
            Expr::Column { slot, ty } if (slot as usize) < first => Ok(Expr::Column {
                slot: slot + u32::try_from(first).unwrap_or(0),
                ty: ty.or_null(),
            }),
            other => Ok(other),
        }
    }
}

impl Scope for Planner<'_> {
    fn column(&mut self, path: &[ast::Ident]) -> Result<Expr, SqlError> {
        for level in (0..self.stack.len()).rev() {
            let Some(names) = self.stack.get(level) else {
                break;
            };
            if let Some(expr) = names.lookup(path)? {
                let inner = level + 1 == self.stack.len();
                return Ok(if inner {
                    expr
                } else {
                    self.import(level, expr)
                });
            }
            if names.isolated {
                break;
            }
        }
        let clause = self.names().clause;
        Err(SqlError::unknown_column(dotted(path), clause))
    }

    fn subquery(&mut self, query: &ast::Query, usage: SubqueryUse) -> Result<Expr, SqlError> {
        let plan = self.nested_query(query)?;
        let columns = match &usage {
            SubqueryUse::Exists => plan.types.len(),
            SubqueryUse::In(left) => left.len(),
            _ => 1,
        };
        if plan.types.len() != columns {
            return Err(SqlError::operand_columns(columns));
        }
        let first = plan.types.first().copied().unwrap_or_else(ExprType::null);
        let names = self.names();
        let slot = names.new_slot();
        let (usage, ty) = match usage {
            SubqueryUse::Scalar => (Usage::Scalar, first.computed().or_null()),
            SubqueryUse::Exists => (Usage::Exists, ExprType::boolean()),
            SubqueryUse::In(left) => {
                let left = left.into_iter().zip(&plan.types);
                let left = left.map(|(e, ty)| {
                    let collation = comparison_collation(&infer(&e), ty);
                    (names.wrap(e), collation)
                });
                (Usage::In(left.collect()), ExprType::boolean().or_null())
            }
            SubqueryUse::Any(left, op) => {
                let collation = comparison_collation(&infer(&left), &first);
                let left = Box::new(names.wrap(left));
                (
                    Usage::Any(left, op, collation),
                    ExprType::boolean().or_null(),
                )
            }
            SubqueryUse::All(left, op) => {
                let collation = comparison_collation(&infer(&left), &first);
                let left = Box::new(names.wrap(left));
                (
                    Usage::All(left, op, collation),
                    ExprType::boolean().or_null(),
                )
            }
        };
        names.subqueries.push(Subquery {
            query: plan,
            usage,
            slot,
        });
        Ok(slot_expr(slot, ty))
    }

    fn function(&mut self, function: &ast::Function) -> Result<Option<Expr>, SqlError> {
        let name = function.name.to_string();
        if function.over.is_some() {
            return Err(SqlError::not_supported("window functions"));
        }
        if is_aggregate(&name) {
            return self.aggregate(function, &name).map(Some);
        }
        if name.eq_ignore_ascii_case("DEFAULT") {
            return self.default_of_column(function).map(Some);
        }
        if name.eq_ignore_ascii_case("VALUES") {
            return self.inserted_value(function).map(Some);
        }
        Ok(None)
    }

    fn parameter(&mut self, index: u32) -> Result<Expr, SqlError> {
        if index >= self.parameters {
            return Err(SqlError::syntax("?", 1));
        }
        let value = self.context.parameters.get(index as usize);
        let kind = value.map_or(ValueKind::Null, ValueKind::of);
        Ok(Expr::Parameter {
            index,
            ty: kind.parameter_type(self.context.collation),
        })
    }

    fn system_variable(&mut self, scope: VariableScope, name: &str) -> Result<Value, SqlError> {
        (self.context.variable)(scope, name)
    }

    fn user_variable(&mut self, name: &str) -> ExprType {
        let ty = (self.context.user_variable)(name);
        if !self.user_variables.iter().any(|(known, _)| known == name) {
            self.user_variables.push((name.to_owned(), ty));
        }
        ty
    }

    fn warn(&mut self, warning: SqlError) {
        self.warnings.push(warning);
    }

    fn collation(&self) -> Collation {
        self.context.collation
    }

    fn database(&self) -> Option<&str> {
        Some(self.context.database).filter(|name| !name.is_empty())
    }

    fn sql_mode(&self) -> SqlMode {
        self.context.sql_mode
    }
}
