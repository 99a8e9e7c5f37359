//! FROM: the tables of a block, in order, and which of them are inner tables of outer joins.

use super::{
    Derived, Planner, Query, TableUse,
    cte::{Common, CommonTable},
    scope::dotted,
    walk::conjuncts,
};
use crate::{
    error::SqlError,
    expr::{BinaryOp, Expr, ExprType, infer},
};
use cohort_engine::{
    txn::{LockMode, OnConflict},
    types::Table,
};
use sqlparser::ast;
use std::{ops::Range, sync::Arc};

/// Tables in a join, at most: the sets of tables are bits of a u64.
const TABLES_MAX: usize = 61;

/// A table of FROM. Its position is that among the block's `Names::tables`.
pub(super) struct Leaf {
    pub input: LeafInput,
    pub lock: Option<(LockMode, OnConflict)>,
    /// USE INDEX and FORCE INDEX (`true`), or IGNORE INDEX, with their names.
    pub hints: Vec<(bool, Vec<String>)>,
}

pub(super) enum LeafInput {
    Stored(Arc<Table>),
    Virtual(Arc<Table>),
    Derived(Arc<Derived>),
    Working(usize),
}

/// The inner tables of an outer join: positions of leaves, and the conditions of its ON.
pub(super) struct Group {
    pub leaves: Range<usize>,
    pub on: Vec<Expr>,
}

/// FROM, taken apart.
#[derive(Default)]
pub(super) struct From {
    pub leaves: Vec<Leaf>,
    pub groups: Vec<Group>,
    /// Conditions of inner joins outside all groups.
    pub conditions: Vec<Expr>,
    /// STRAIGHT_JOIN: the order is the user's.
    pub straight: bool,
    /// What `*` stands for.
    pub star: Vec<(usize, usize)>,
    /// The keys of the rows are wanted: no hash tables, which forget them.
    pub keyed: bool,
}

/// What `*` stands for: tables and columns.
type Star = Vec<(usize, usize)>;

/// A part of the join tree: its leaves, and what `*` stands for in it.
struct Part {
    leaves: Range<usize>,
    /// How many conditions there were before it.
    conditions: usize,
    star: Vec<(usize, usize)>,
}

impl Planner<'_> {
    /// Compiles FROM into the innermost block.
    pub(super) fn from(&mut self, tables: &[ast::TableWithJoins]) -> Result<From, SqlError> {
        let mut from = From::default();
        for table in tables {
            let part = self.joined(table, &mut from)?;
            from.star.extend(part.star);
        }
        self.names().visible = 0..usize::MAX;
        if from.leaves.len() > TABLES_MAX {
            return Err(SqlError::too_many_tables(TABLES_MAX));
        }
        Ok(from)
    }

    fn joined(&mut self, table: &ast::TableWithJoins, from: &mut From) -> Result<Part, SqlError> {
        let mut left = self.factor(&table.relation, from)?;
        for join in &table.joins {
            left = self.join(left, join, from)?;
        }
        Ok(left)
    }

    fn join(&mut self, left: Part, join: &ast::Join, from: &mut From) -> Result<Part, SqlError> {
        use ast::JoinOperator as J;
        let right = self.factor(&join.relation, from)?;
        let begin = left.conditions;
        let (constraint, outer, swap) = match &join.join_operator {
            J::StraightJoin(c) => {
                from.straight = true;
                (c, false, false)
            }
            J::Join(c) | J::Inner(c) | J::CrossJoin(c) => (c, false, false),
            J::Left(c) | J::LeftOuter(c) => (c, true, false),
            J::Right(c) | J::RightOuter(c) => (c, true, true),
            _ => return Err(SqlError::not_supported("this kind of join")),
        };
        let whole = left.leaves.start..right.leaves.end;
        let (mut conditions, star) = self.constraint(constraint, &left, &right, swap)?;
        if swap {
            // RIGHT JOIN: the left side's tables are the inner ones, so they come last.
            let (l, r) = (left.leaves.len(), right.leaves.len());
            from.swap(&whole, l);
            self.swap_tables(&whole, l);
            let moved = |t: usize| {
                if left.leaves.contains(&t) {
                    t + r
                } else if right.leaves.contains(&t) {
                    t - l
                } else {
                    t
                }
            };
            let star = star.into_iter().map(|(t, c)| (moved(t), c)).collect();
            let inner = whole.start + r..whole.end;
            conditions.extend(from.conditions.drain(begin..right.conditions));
            from.groups.push(Group {
                leaves: inner,
                on: conditions,
            });
            return Ok(Part {
                leaves: whole,
                conditions: begin,
                star,
            });
        }
        if outer {
            conditions.extend(from.conditions.drain(right.conditions..));
            from.groups.push(Group {
                leaves: right.leaves,
                on: conditions,
            });
        } else {
            from.conditions.append(&mut conditions);
        }
        Ok(Part {
            leaves: whole,
            conditions: begin,
            star,
        })
    }

    /// The names must be in the order of the leaves.
    fn swap_tables(&mut self, whole: &Range<usize>, left: usize) {
        if let Some(tables) = self.names().tables.get_mut(whole.clone()) {
            tables.rotate_left(left);
        }
    }

    fn constraint(
        &mut self,
        constraint: &ast::JoinConstraint,
        left: &Part,
        right: &Part,
        swap: bool,
    ) -> Result<(Vec<Expr>, Star), SqlError> {
        let mut star = left.star.clone();
        star.extend(&right.star);
        let names: Vec<String> = match constraint {
            ast::JoinConstraint::None => return Ok((Vec::new(), star)),
            ast::JoinConstraint::On(condition) => {
                let visible = left.leaves.start..right.leaves.end;
                let names = self.names();
                let clause = std::mem::replace(&mut names.clause, "on clause");
                let before = std::mem::replace(&mut names.visible, visible);
                let expr = self.resolve(condition);
                let names = self.names();
                names.clause = clause;
                names.visible = before;
                return Ok((conjuncts(expr?), star));
            }
            ast::JoinConstraint::Using(columns) => columns.iter().map(last_name).collect(),
            ast::JoinConstraint::Natural => self.common_columns(left, right),
        };
        self.using(&names, left, right, swap, star)
    }

    fn common_columns(&mut self, left: &Part, right: &Part) -> Vec<String> {
        let names = self.names();
        let name =
            |&(t, c): &(usize, usize)| names.tables.get(t)?.columns.get(c).map(|c| c.name.clone());
        let others: Vec<String> = right.star.iter().filter_map(name).collect();
        left.star
            .iter()
            .filter_map(name)
            .filter(|n| others.iter().any(|o| o.eq_ignore_ascii_case(n)))
            .collect()
    }

    /// USING: the columns are equal, and `*` and a name without table mean one of them.
    fn using(
        &mut self,
        columns: &[String],
        left: &Part,
        right: &Part,
        swap: bool,
        mut star: Vec<(usize, usize)>,
    ) -> Result<(Vec<Expr>, Star), SqlError> {
        let mut conditions = Vec::new();
        let mut common = Vec::new();
        for column in columns {
            let mut sides = Vec::new();
            for part in [left, right] {
                let names = self.names();
                let found = part.star.iter().copied().find(|&(t, c)| {
                    let named = names.tables.get(t).and_then(|t| t.columns.get(c));
                    named.is_some_and(|n| n.name.eq_ignore_ascii_case(column))
                });
                let Some(found) = found else {
                    return Err(SqlError::unknown_column(column, "from clause"));
                };
                sides.push(found);
            }
            let (Some(&l), Some(&r)) = (sides.first(), sides.last()) else {
                continue;
            };
            let names = self.names();
            let (Some(a), Some(b)) = (names.column_of(l.0, l.1), names.column_of(r.0, r.1)) else {
                continue;
            };
            let mut ty = ExprType::boolean().or_null();
            ty.collation = infer(&a).collation;
            conditions.push(Expr::Binary {
                op: BinaryOp::Eq,
                left: Box::new(a),
                right: Box::new(b),
                ty,
            });
            let (kept, dropped) = if swap { (r, l) } else { (l, r) };
            if let Some(c) = names
                .tables
                .get_mut(dropped.0)
                .and_then(|t| t.columns.get_mut(dropped.1))
            {
                c.hidden = true;
            }
            star.retain(|&at| at != l && at != r);
            common.push(kept);
        }
        common.extend(star);
        Ok((conditions, common))
    }

    fn factor(&mut self, factor: &ast::TableFactor, from: &mut From) -> Result<Part, SqlError> {
        match factor {
            ast::TableFactor::Table {
                name,
                alias,
                args: None,
                index_hints,
                partitions,
                ..
            } => {
                if !partitions.is_empty() {
                    return Err(SqlError::not_supported("PARTITION"));
                }
                if name.to_string().eq_ignore_ascii_case("dual") && alias.is_none() {
                    let at = from.leaves.len();
                    return Ok(Part {
                        leaves: at..at,
                        conditions: from.conditions.len(),
                        star: Vec::new(),
                    });
                }
                if let Some(common) = self.common_table(name).cloned() {
                    return self.common_leaf(common, alias.as_ref(), from);
                }
                let alias_name = alias.as_ref().map(|alias| alias.name.value.as_str());
                let input = self.named_table(name, alias_name)?;
                let hints = index_hints.iter().map(hint).collect();
                self.leaf(input, alias.as_ref(), hints, from)
            }
            ast::TableFactor::Derived {
                lateral: false,
                subquery,
                alias,
                ..
            } => {
                let Some(alias) = alias else {
                    return Err(SqlError::derived_without_alias());
                };
                let (query, names) = self.derived_query(subquery)?;
                let columns = derived_columns(alias, names, &query)?;
                let name = alias.name.value.clone();
                let table = self.names().add_table(name, String::new(), None, columns)?;
                from.leaves.push(Leaf {
                    input: LeafInput::Derived(Arc::new(Derived::new(query, None))),
                    lock: None,
                    hints: Vec::new(),
                });
                Ok(self.part(table, from))
            }
            ast::TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => self.joined(table_with_joins, from),
            _ => Err(SqlError::not_supported("this kind of table in FROM")),
        }
    }

    /// A table of WITH.
    fn common_leaf(
        &mut self,
        common: CommonTable,
        alias: Option<&ast::TableAlias>,
        from: &mut From,
    ) -> Result<Part, SqlError> {
        let input = match common.table {
            Common::Defined(derived) => LeafInput::Derived(derived),
            Common::Working(number) => LeafInput::Working(number),
            Common::Undefined => {
                self.named_itself = true;
                return Err(SqlError::recursive_without_seed(common.name));
            }
        };
        let name = alias.map_or(common.name, |a| a.name.value.clone());
        let table = self
            .names()
            .add_table(name, String::new(), None, common.columns)?;
        from.leaves.push(Leaf {
            input,
            lock: None,
            hints: Vec::new(),
        });
        Ok(self.part(table, from))
    }

    fn leaf(
        &mut self,
        input: LeafInput,
        alias: Option<&ast::TableAlias>,
        hints: Vec<(bool, Vec<String>)>,
        from: &mut From,
    ) -> Result<Part, SqlError> {
        let (LeafInput::Stored(table) | LeafInput::Virtual(table)) = &input else {
            return Err(SqlError::not_supported("this kind of table in FROM"));
        };
        let columns = table
            .columns
            .iter()
            .map(|c| (c.name.clone(), ExprType::of_column(c)))
            .collect();
        let name = alias.map_or_else(|| table.name.clone(), |a| a.name.value.clone());
        let at = self.names().add_table(
            name,
            table.database.clone(),
            Some(Arc::clone(table)),
            columns,
        )?;
        from.leaves.push(Leaf {
            input,
            lock: None,
            hints,
        });
        Ok(self.part(at, from))
    }

    fn part(&mut self, table: usize, from: &From) -> Part {
        let columns = self
            .names()
            .tables
            .get(table)
            .map_or(0, |t| t.columns.len());
        Part {
            leaves: table..table + 1,
            conditions: from.conditions.len(),
            star: (0..columns).map(|c| (table, c)).collect(),
        }
    }

    /// The table of a name, noted as used by the statement.
    pub(super) fn named_table(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&str>,
    ) -> Result<LeafInput, SqlError> {
        let parts: Vec<&str> = name
            .0
            .iter()
            .filter_map(|part| part.as_ident().map(|i| i.value.as_str()))
            .collect();
        let (database, table) = match parts.as_slice() {
            [table] if self.context.database.is_empty() => {
                let _ = table;
                return Err(SqlError::no_database());
            }
            [table] => (self.context.database, *table),
            [database, table] => (*database, *table),
            _ => return Err(SqlError::wrong_table_name(name)),
        };
        if let Some(table) = self.context.dictionary.table(database, table) {
            self.tables.push(TableUse {
                table: Arc::clone(table),
                alias: alias.unwrap_or(&table.name).to_string(),
                writes: false,
            });
            return Ok(LeafInput::Stored(Arc::clone(table)));
        }
        if let Some(table) = self.context.virtual_tables.table(database, table) {
            if !self.virtual_tables.iter().any(|t| t.id == table.id) {
                self.virtual_tables.push(Arc::clone(&table));
            }
            return Ok(LeafInput::Virtual(table));
        }
        if self.context.locked {
            return Err(SqlError::table_not_locked(alias.unwrap_or(table)));
        }
        if self.context.dictionary.database(database).is_none()
            && !self.context.virtual_tables.is_virtual(database)
        {
            return Err(SqlError::unknown_database(database));
        }
        Err(SqlError::no_such_table(database, table))
    }

    /// Notes that the statement writes, or locks to write, the table that it has named so.
    pub(super) fn note_written(&mut self, table: &Table, alias: &str) {
        let mut named = self.tables.iter_mut().rev();
        let used = named.find(|used| used.table.id == table.id && used.alias == alias);
        if let Some(used) = used {
            used.writes = true;
        }
    }

    /// The stored table that a statement writes.
    pub(super) fn written_table(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&str>,
    ) -> Result<Arc<Table>, SqlError> {
        match self.named_table(name, alias)? {
            LeafInput::Stored(table) => {
                self.note_written(&table, alias.unwrap_or(&table.name));
                Ok(table)
            }
            LeafInput::Virtual(table) => Err(SqlError::table_read_only(&table.name)),
            LeafInput::Derived(_) | LeafInput::Working(_) => {
                Err(SqlError::not_supported("this table"))
            }
        }
    }
}

impl From {
    /// Moves the first `left` leaves of `whole` behind the others, and the groups with them.
    fn swap(&mut self, whole: &Range<usize>, left: usize) {
        if let Some(leaves) = self.leaves.get_mut(whole.clone()) {
            leaves.rotate_left(left);
        }
        let right = whole.len() - left;
        for group in &mut self.groups {
            if group.leaves.start < whole.start || group.leaves.end > whole.end {
                continue;
            }
            let shift = |at: usize| {
                if group.leaves.start < whole.start + left {
                    at + right
                } else {
                    at - left
                }
            };
            group.leaves = shift(group.leaves.start)..shift(group.leaves.end);
        }
    }
}

pub(super) fn derived_columns(
    alias: &ast::TableAlias,
    names: Vec<String>,
    query: &Query,
) -> Result<Vec<(String, ExprType)>, SqlError> {
    let names: Vec<String> = if alias.columns.is_empty() {
        names
    } else if alias.columns.len() == names.len() {
        alias.columns.iter().map(|c| c.name.value.clone()).collect()
    } else {
        return Err(SqlError::column_names_differ());
    };
    for (i, name) in names.iter().enumerate() {
        if names.iter().take(i).any(|n| n.eq_ignore_ascii_case(name)) {
            return Err(SqlError::duplicate_column(name));
        }
    }
    Ok(names
        .into_iter()
        .zip(query.types.iter().map(|ty| ty.computed()))
        .collect())
}

pub(super) fn hint(hint: &ast::TableIndexHints) -> (bool, Vec<String>) {
    let wanted = !matches!(hint.hint_type, ast::TableIndexHintType::Ignore);
    let names = hint.index_names.iter().map(|i| i.value.clone()).collect();
    (wanted, names)
}

fn last_name(name: &ast::ObjectName) -> String {
    let idents: Vec<ast::Ident> = name
        .0
        .iter()
        .filter_map(|part| part.as_ident().cloned())
        .collect();
    idents
        .last()
        .map_or_else(|| dotted(&idents), |i| i.value.clone())
}
