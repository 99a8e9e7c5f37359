//! WITH: common table expressions.
//!
//! Each is compiled once, where it is defined; all that name it share the plan, and so the rows
//! of one execution, if its tables are not read in its place (see `merge`). A recursive one is a UNION whose first operands do not name it (the seed)
//! and whose last ones do, each once: those run again and again on the rows that came last.
//! Which operands name it is found by compiling them.

use super::{
    Combined, Derived, Input, Planner, Query, Recursion,
    scope::{Names, Outside},
};
use crate::{
    error::SqlError,
    expr::{ExprType, resolve::check_constant},
    output::ColumnMeta,
};
use sqlparser::ast;
use std::{ops::ControlFlow, rc::Rc, sync::Arc};

/// How deep WITH RECURSIVE may nest: what is in it is compiled twice.
const RECURSIVE_DEPTH_MAX: usize = 4;

/// What a name of WITH stands for while it is in scope.
#[derive(Clone)]
pub(super) enum Common {
    /// It is being defined: only recursive parts may name it.
    Undefined,
    /// It is being defined, and this is one of its recursive parts.
    Working(usize),
    /// It is defined, in the block of this level, and sees these slots of it.
    Defined(Arc<Derived>, usize, Outer),
}

/// Slots of a block, where a query in it sees them, and their types.
pub(super) type Outer = Vec<(usize, usize, ExprType)>;

/// A query whose rows are a table.
pub(super) struct Computing {
    pub query: Query,
    /// What it sees of the block that it is in.
    pub outer: Outer,
}

/// A name of WITH.
#[derive(Clone)]
pub(super) struct CommonTable {
    pub name: String,
    pub columns: Vec<(String, ExprType)>,
    pub table: Common,
    /// Its text, if it sees nothing of the blocks around it, and so can be compiled anywhere.
    pub text: Option<Rc<ast::Cte>>,
    /// It is named once.
    pub once: bool,
}

/// A union as the operands that were added, last first: what they were added to, themselves, and
/// whether the result is distinct.
type Spine<'a> = Vec<(&'a ast::SetExpr, &'a ast::SetExpr, bool)>;

impl Planner<'_> {
    /// The position of the table that a name of WITH stands for, among those in scope.
    pub(super) fn common_table(&self, name: &ast::ObjectName) -> Option<usize> {
        let [part] = name.0.as_slice() else {
            return None;
        };
        let name = &part.as_ident()?.value;
        self.common.iter().rposition(|c| c.name == *name)
    }

    /// Brings the tables of the WITH of a query into scope.
    pub(super) fn with(&mut self, with: &ast::With, query: &ast::Query) -> Result<(), SqlError> {
        let ast::With {
            with_token: _,
            recursive,
            cte_tables,
        } = with;
        let first = self.common.len();
        for cte in cte_tables {
            let ast::Cte {
                // Read by `define`.
                alias: _,
                query: _,
                from,
                materialized,
                closing_paren_token: _,
            } = cte;
            self.text.refuse("FROM", from.is_some())?;
            self.text.refuse("MATERIALIZED", materialized.is_some())?;
            let name = cte.alias.name.value.clone();
            let mut defined = self.common.iter().skip(first);
            if defined.any(|c| c.name == name) {
                return Err(SqlError::not_unique_table(name));
            }
            let mut table = self.define(cte, *recursive)?;
            table.once = table.text.is_some() && is_named_once(query, &name);
            self.common.push(table);
        }
        Ok(())
    }

    fn define(&mut self, cte: &ast::Cte, recursive: bool) -> Result<CommonTable, SqlError> {
        let name = cte.alias.name.value.clone();
        if recursive && let Some(table) = self.recursive(cte, &name)? {
            return Ok(table);
        }
        let compile = |planner: &mut Self| planner.query(&cte.query);
        let (table, named) = self.derived(Outside::All, compile)?;
        let columns = super::from::derived_columns(&cte.alias, named, &table.query)?;
        let derived = Arc::new(Derived::new(table.query, None));
        let level = self.stack.len().saturating_sub(1);
        // What it saw of the blocks around it, it would not see elsewhere.
        let is_free = table.outer.is_empty() && self.merging;
        Ok(CommonTable {
            name,
            columns,
            table: Common::Defined(derived, level, table.outer),
            text: is_free.then(|| Rc::new(cte.clone())),
            once: false,
        })
    }

    /// The table, if it is one that names itself.
    fn recursive(&mut self, cte: &ast::Cte, name: &str) -> Result<Option<CommonTable>, SqlError> {
        let spine = spine(&cte.query.body);
        let depth = self.common.len();
        let warnings = self.warnings.len();
        self.common.push(CommonTable {
            name: name.to_string(),
            columns: Vec::new(),
            table: Common::Undefined,
            text: None,
            once: false,
        });
        let found = self.first_recursive(cte, name, &spine);
        self.common.truncate(depth);
        self.warnings.truncate(warnings);
        let Some(found) = found? else {
            return Ok(None);
        };
        if cte.query.order_by.is_some() || cte.query.limit_clause.is_some() {
            return Err(SqlError::not_supported(
                "ORDER BY and LIMIT of a recursive common table expression",
            ));
        }
        let Some((seed, _, _)) = spine.get(found) else {
            return Ok(None);
        };
        let (query, named) = self.operand(&cte.query, seed)?;
        let mut columns = super::from::derived_columns(&cte.alias, named, &query)?;
        for (_, ty) in &mut columns {
            ty.nullable = true;
        }
        let number = self.recursions;
        self.recursions += 1;
        self.common.push(CommonTable {
            name: name.to_string(),
            columns: columns.clone(),
            table: Common::Working(number),
            text: None,
            once: false,
        });
        let mut parts = Vec::with_capacity(found + 1);
        for (_, operand, _) in spine.iter().take(found + 1).rev() {
            let (part, _) = self.operand(&cte.query, operand)?;
            if part.types.len() != columns.len() {
                return Err(SqlError::select_column_counts_differ());
            }
            check_part(&part, number, name, operand)?;
            for output in part.blocks.iter().map(|block| &block.output) {
                for (value, (_, ty)) in output.iter().zip(&columns) {
                    check_constant(&value.expr, ty, self)?;
                }
            }
            parts.push(part);
        }
        self.common.truncate(depth);
        let distinct = spine
            .iter()
            .take(found + 1)
            .any(|(_, _, distinct)| *distinct);
        let recursion = Recursion {
            number,
            parts,
            distinct,
            columns: columns.clone(),
        };
        let derived = Derived::new(query, Some(recursion));
        Ok(Some(CommonTable {
            name: name.to_string(),
            columns,
            table: Common::Defined(Arc::new(derived), 0, Outer::new()),
            text: None,
            once: false,
        }))
    }

    /// The first operand that names the table being defined.
    fn first_recursive(
        &mut self,
        cte: &ast::Cte,
        name: &str,
        spine: &Spine,
    ) -> Result<Option<usize>, SqlError> {
        let defining = self.common.iter();
        let defining = defining.filter(|c| !matches!(c.table, Common::Defined(..)));
        if defining.count() > RECURSIVE_DEPTH_MAX {
            return Err(SqlError::nesting_too_deep());
        }
        let leftmost = spine.last().map_or(&*cte.query.body, |(left, _, _)| left);
        if self.names_itself(cte, leftmost) {
            return Err(if spine.is_empty() {
                SqlError::recursive_without_union(name)
            } else {
                SqlError::recursive_without_seed(name)
            });
        }
        let mut operands = spine.iter().enumerate().rev();
        let found = operands.find(|(_, (_, operand, _))| self.names_itself(cte, operand));
        Ok(found.map(|(i, _)| i))
    }

    fn names_itself(&mut self, cte: &ast::Cte, operand: &ast::SetExpr) -> bool {
        self.named_itself = false;
        self.operand(&cte.query, operand).is_err() && self.named_itself
    }

    /// Compiles one operand of a union as a query of its own.
    fn operand(
        &mut self,
        whole: &ast::Query,
        operand: &ast::SetExpr,
    ) -> Result<(Query, Vec<ColumnMeta>), SqlError> {
        let query = ast::Query {
            body: Box::new(operand.clone()),
            order_by: None,
            limit_clause: None,
            ..whole.clone()
        };
        let compile = |planner: &mut Self| planner.query(&query);
        let (table, columns) = self.derived(Outside::Nothing, compile)?;
        if !table.outer.is_empty() {
            return Err(SqlError::not_supported(
                "outer references in a recursive common table expression",
            ));
        }
        Ok((table.query, columns))
    }

    /// A query whose rows are a table, and its columns. Of the blocks on the stack it sees what is
    /// `outside`.
    pub(super) fn derived(
        &mut self,
        outside: Outside,
        query: impl FnOnce(&mut Self) -> Result<(Query, Vec<ColumnMeta>), SqlError>,
    ) -> Result<(Computing, Vec<ColumnMeta>), SqlError> {
        let depth = self.common.len();
        self.stack.push(Names::new(outside));
        let result = query(self);
        let outer = self.stack.pop().map(|names| names.outer);
        self.common.truncate(depth);
        let (query, columns) = result?;
        let outer = outer.unwrap_or_default();
        Ok((Computing { query, outer }, columns))
    }
}

/// Whether a query names a table so no more than once.
fn is_named_once(query: &ast::Query, name: &str) -> bool {
    let mut named = 0;
    let _ = ast::visit_relations(query, |relation| {
        let last = relation.0.last().and_then(|part| part.as_ident());
        named += usize::from(last.is_some_and(|ident| ident.value == *name));
        ControlFlow::<()>::Continue(())
    });
    named <= 1
}

fn spine(body: &ast::SetExpr) -> Spine<'_> {
    let mut spine = Spine::new();
    let mut rest = body;
    while let ast::SetExpr::SetOperation {
        left,
        op: ast::SetOperator::Union,
        set_quantifier,
        right,
    } = rest
    {
        let distinct = !matches!(set_quantifier, ast::SetQuantifier::All);
        spine.push((left, right, distinct));
        rest = left;
    }
    spine
}

/// Whether it is an INTERSECT or EXCEPT.
fn intersects(operand: &ast::SetExpr) -> bool {
    match operand {
        ast::SetExpr::Query(inner) => intersects(&inner.body),
        ast::SetExpr::SetOperation { op, .. } => *op != ast::SetOperator::Union,
        _ => false,
    }
}

/// A recursive part must see each new row by itself: 3575 and 3577.
fn check_part(
    part: &Query,
    number: usize,
    name: &str,
    operand: &ast::SetExpr,
) -> Result<(), SqlError> {
    let is_working = |s: &&super::Source| matches!(s.input, Input::Working(n) if n == number);
    let own: usize = part
        .blocks
        .iter()
        .map(|block| block.sources.iter().filter(is_working).count())
        .sum();
    let mut all = 0;
    part.each_source(&mut |source| all += usize::from(is_working(&source)));
    let combines = !matches!(part.combined, Combined::Union { .. });
    if combines || own == 0 && intersects(operand) {
        return Err(SqlError::recursive_in_set_operation());
    }
    if own != 1 || all != 1 {
        return Err(SqlError::recursive_reference(name));
    }
    for block in &part.blocks {
        let outer = block.sources.iter().enumerate().any(|(i, source)| {
            source.outer_join.as_ref().is_some_and(|(end, _)| {
                let inner = block.sources.get(i..*end).unwrap_or_default();
                inner.iter().any(|s| is_working(&s))
            })
        });
        if outer {
            return Err(SqlError::recursive_left_join(name));
        }
        if block.grouping.is_some() || block.windowing.is_some() {
            return Err(SqlError::recursive_aggregation(name));
        }
        if block.distinct || !block.order.is_empty() || block.limit.is_some() {
            return Err(SqlError::not_supported(
                "DISTINCT, ORDER BY and LIMIT in a recursive query block",
            ));
        }
    }
    Ok(())
}
