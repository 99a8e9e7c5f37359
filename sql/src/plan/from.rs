//! FROM: the tables of a block, in order, and which of them are inner tables of outer joins.

use super::{
    Derived, Planner, Query, SortKey, TableUse,
    cte::{Common, Computing},
    json_table::JsonTable,
    merge,
    named::{At, names_of},
    needs::{ANY, OF_ROWS, Standing},
    place::leaf_of,
    push::TextAgain,
    scope::{Names, Outside, dotted},
    walk::conditions,
};
use crate::{
    error::SqlError,
    expr::{BinaryOp, Expr, ExprType, comparison_collation, infer},
    lexer::is_proper,
    output::ColumnMeta,
    privileges::Privilege,
    statements::Who,
};
use cohort_engine::{
    invariant::broken,
    txn::{LockMode, OnConflict},
    types::{Table, View},
};
use sqlparser::{
    ast::{self, Spanned},
    tokenizer::Span,
};
use std::{ops::Range, rc::Rc, sync::Arc};

/// Tables in a join, at most: the sets of tables are bits of a u64.
pub(super) const TABLES_MAX: usize = 61;

/// A table of FROM. Its position is that among the block's `Names::tables`.
pub(super) struct Leaf {
    pub input: LeafInput,
    pub lock: Option<(LockMode, OnConflict)>,
    /// See `Source::shared`.
    pub shared: bool,
    /// USE INDEX and FORCE INDEX (`true`), or IGNORE INDEX, with their names.
    pub hints: Vec<(bool, Vec<String>)>,
    /// A hint says that its rows are not to be found by hash.
    pub no_hash: bool,
    /// The text of a computed table, if conditions may be pushed into it.
    pub again: Option<TextAgain>,
}

pub(super) enum LeafInput {
    Stored(Arc<Table>),
    Virtual(Arc<Table>),
    /// With the slots of the block that it sees, and those where it sees them.
    Derived(Arc<Derived>, Vec<(usize, usize)>),
    Working(usize),
    Json(Arc<JsonTable>),
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
    pub star: Star,
    /// The order of the only table, which is a view, and the leaves that it stands for.
    pub order: Option<(Range<usize>, Vec<SortKey>)>,
    /// The keys of the rows are wanted, to change them.
    pub keyed: bool,
    /// What hints say of the order: pairs of leaves, of which the first is read before the second.
    pub before: Vec<(usize, usize)>,
}

/// What a name in FROM stands for.
enum Relation {
    Table(LeafInput),
    View(Arc<View>),
}

/// The name, the alias and the index hints of a table.
pub(super) type NamedFactor<'f> = (
    &'f ast::ObjectName,
    Option<&'f str>,
    &'f [ast::TableIndexHints],
);

/// What `*` stands for.
type Star = Vec<At>;

/// A part of the join tree: its leaves, and what `*` stands for in it.
pub(super) struct Part {
    pub leaves: Range<usize>,
    /// How many conditions there were before it.
    pub conditions: usize,
    pub star: Star,
}

impl Planner<'_> {
    /// Compiles FROM into the innermost block.
    pub(super) fn from(&mut self, tables: &[ast::TableWithJoins]) -> Result<From, SqlError> {
        let mut from = From::default();
        self.names().factors = merge::factors(tables);
        for table in tables {
            let part = self.joined(table, &mut from)?;
            from.star.extend(part.star);
        }
        self.names().visible = 0..usize::MAX;
        self.mark_inner(&from);
        if from.leaves.len() > TABLES_MAX {
            return Err(SqlError::too_many_tables(TABLES_MAX));
        }
        Ok(from)
    }

    /// The columns of the inner tables of outer joins can be NULL, whatever the tables say.
    fn mark_inner(&mut self, from: &From) {
        let inner = from.groups.iter().flat_map(|group| group.leaves.clone());
        for leaf in inner {
            let table = self.names().tables.get_mut(leaf);
            for column in table.into_iter().flat_map(|table| &mut table.columns) {
                column.ty.nullable = true;
            }
        }
    }

    pub(super) fn joined(
        &mut self,
        table: &ast::TableWithJoins,
        from: &mut From,
    ) -> Result<Part, SqlError> {
        let ast::TableWithJoins { relation, joins } = table;
        let before = self.names().inner;
        // What stands before a RIGHT JOIN is its inner side.
        let turns = joins.iter().rposition(|join| is_right(&join.join_operator));
        self.names().inner |= turns.is_some();
        let mut left = self.factor(relation, from)?;
        for (at, join) in joins.iter().enumerate() {
            let turned = turns.is_some_and(|last| at < last);
            self.names().inner = before || turned || is_left(&join.join_operator);
            left = self.join(left, join, from)?;
        }
        self.names().inner = before;
        Ok(left)
    }

    fn join(&mut self, left: Part, join: &ast::Join, from: &mut From) -> Result<Part, SqlError> {
        use ast::JoinOperator as J;
        let ast::Join {
            relation,
            global,
            join_operator,
        } = join;
        self.text.refuse("GLOBAL", *global)?;
        if let Some(nested) = self.without_condition(join) {
            // a JOIN b JOIN c ON …: what follows sees `a`, too.
            let first = ast::Join {
                relation: nested.relation.clone(),
                ..join.clone()
            };
            let first = self.join(left, &first, from)?;
            let mut rest = nested.joins.iter();
            return rest.try_fold(first, |left, join| self.join(left, join, from));
        }
        let right = self.right_factor(join, from)?;
        let begin = left.conditions;
        let (constraint, outer, swap) = match join_operator {
            J::StraightJoin(c) => {
                from.straight = true;
                (c, false, false)
            }
            J::Join(c) | J::Inner(c) | J::CrossJoin(c) => (c, false, false),
            J::Left(c) | J::LeftOuter(c) => (c, true, false),
            J::Right(c) | J::RightOuter(c) => (c, true, true),
            _ => return Err(SqlError::not_supported("this kind of join")),
        };
        if outer && matches!(constraint, ast::JoinConstraint::None) {
            return Err(self.text.error_behind(relation.span()));
        }
        let whole = left.leaves.start..right.leaves.end;
        let (mut conditions, star) =
            self.constraint(constraint, relation.span(), &left, &right, swap)?;
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
            let star = star.into_iter().map(|at| match at {
                At::Table(t, c) => At::Table(moved(t), c),
                at @ At::View(..) => at,
            });
            let star = star.collect();
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

    /// The table that is joined. In RIGHT JOIN LATERAL does not see what it is joined with.
    fn right_factor(&mut self, join: &ast::Join, from: &mut From) -> Result<Part, SqlError> {
        if !is_right(&join.join_operator) {
            return self.factor(&join.relation, from);
        }
        let visible = from.leaves.len()..usize::MAX;
        let before = std::mem::replace(&mut self.names().visible, visible);
        let part = self.factor(&join.relation, from);
        self.names().visible = before;
        part
    }

    /// What the parser took for joined first, because the join before it has no condition.
    fn without_condition<'j>(&self, join: &'j ast::Join) -> Option<&'j ast::TableWithJoins> {
        use ast::{JoinConstraint::None as Nothing, JoinOperator as J};
        let (J::Join(Nothing) | J::Inner(Nothing) | J::StraightJoin(Nothing)) = join.join_operator
        else {
            return None;
        };
        let ast::TableFactor::NestedJoin {
            table_with_joins: nested,
            alias: None,
        } = &join.relation
        else {
            return None;
        };
        let place = |factor: &ast::TableFactor| {
            usize::try_from(factor.span().start.column).map_or(0, |column| column.saturating_sub(1))
        };
        let first = place(&nested.relation);
        let later = nested.joins.first().map(|join| place(&join.relation))?;
        (!self.text.encloses(first, later)).then_some(nested)
    }

    /// The names must be in the order of the leaves.
    fn swap_tables(&mut self, whole: &Range<usize>, left: usize) {
        let names = self.names();
        if let Some(tables) = names.tables.get_mut(whole.clone()) {
            tables.rotate_left(left);
        }
        for view in &mut names.views {
            if let Some(moved) = swapped(&view.leaves, whole, left) {
                view.leaves = moved;
            }
        }
    }

    fn constraint(
        &mut self,
        constraint: &ast::JoinConstraint,
        joined: Span,
        left: &Part,
        right: &Part,
        swap: bool,
    ) -> Result<(Vec<Expr>, Star), SqlError> {
        // RIGHT JOIN with common columns is LEFT JOIN the other way round.
        let common = !matches!(constraint, ast::JoinConstraint::On(_));
        let (first, second) = match swap && common {
            true => (right, left),
            false => (left, right),
        };
        let star = [first.star.as_slice(), second.star.as_slice()].concat();
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
                return Ok((conditions(expr?), star));
            }
            ast::JoinConstraint::Using(columns) => columns.iter().map(last_name).collect(),
            ast::JoinConstraint::Natural => self.common_columns(first, second),
        };
        self.using(&names, (first, second), joined, star)
    }

    fn common_columns(&mut self, left: &Part, right: &Part) -> Vec<String> {
        let names = self.names();
        let name = |at: &At| names.name_of(*at).map(|(name, _)| name.to_string());
        let others: Vec<String> = right.star.iter().filter_map(name).collect();
        left.star
            .iter()
            .filter_map(name)
            .filter(|n| others.iter().any(|o| o.eq_ignore_ascii_case(n)))
            .collect()
    }

    /// USING: the columns are equal, and `*` and a name without table mean the first one.
    fn using(
        &mut self,
        columns: &[String],
        (first, second): (&Part, &Part),
        joined: Span,
        mut star: Star,
    ) -> Result<(Vec<Expr>, Star), SqlError> {
        let mut conditions = Vec::new();
        let mut common = Vec::new();
        let mut pairs = Vec::new();
        for column in columns {
            let kept = self.common_column(column, first)?;
            let dropped = self.common_column(column, second)?;
            let names = self.names();
            names.note_read(kept);
            names.note_read(dropped);
            let (Some(a), Some(b)) = (names.value_of(kept), names.value_of(dropped)) else {
                continue;
            };
            conditions.push(equal(a, b)?);
            names.hide(dropped);
            star.retain(|&at| at != kept && at != dropped);
            common.push(kept);
            pairs.push((kept, dropped));
        }
        self.note_join(joined, &pairs);
        // In the order that they have in the first table.
        let place = |at: &At| first.star.iter().position(|other| other == at);
        common.sort_by_key(place);
        common.extend(star);
        Ok((conditions, common))
    }

    /// The column of a name in a part of the join: 1054 if there is none, 1052 if there are several.
    fn common_column(&mut self, column: &str, part: &Part) -> Result<At, SqlError> {
        let names = self.names();
        // Those that are invisible, too.
        let unseen = part.leaves.clone().flat_map(|t| names.unseen(t));
        let mut found = part.star.iter().copied().chain(unseen).filter(|&at| {
            let named = names.name_of(at);
            named.is_some_and(|(name, hidden)| !hidden && name.eq_ignore_ascii_case(column))
        });
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(SqlError::unknown_column(column, "from clause")),
            _ => Err(SqlError::ambiguous_column(column, "from clause")),
        }
    }

    fn factor(&mut self, factor: &ast::TableFactor, from: &mut From) -> Result<Part, SqlError> {
        match factor {
            ast::TableFactor::Table { .. } => {
                let (name, alias, index_hints) = self.table_factor(factor)?;
                if name.to_string().eq_ignore_ascii_case("dual") && alias.is_none() {
                    let at = from.leaves.len();
                    return Ok(Part {
                        leaves: at..at,
                        conditions: from.conditions.len(),
                        star: Vec::new(),
                    });
                }
                if let Some(at) = self.common_table(name) {
                    return self.common_leaf(at, alias, from);
                }
                let input = match self.named_relation(name, alias, &[Privilege::Select])? {
                    Relation::Table(input) => input,
                    Relation::View(view) => {
                        if let Some(hint) = index_hints.iter().flat_map(|h| &h.index_names).next() {
                            let alias = alias.unwrap_or(&view.name);
                            return Err(SqlError::unknown_key(&hint.value, alias));
                        }
                        return self.view_part(&view, alias, from);
                    }
                };
                let hints = match &input {
                    LeafInput::Stored(table) => self.hints(table, alias, index_hints)?,
                    _ => Vec::new(),
                };
                // The names of system tables are found in any case, but are called as written.
                let written = name.0.last().and_then(|part| part.as_ident());
                let called = alias.or(written.map(|ident| ident.value.as_str()));
                self.leaf(input, called, hints, from)
            }
            ast::TableFactor::Derived {
                lateral,
                subquery,
                alias,
                sample,
            } => {
                self.text.refuse("TABLESAMPLE", sample.is_some())?;
                let Some(alias) = alias else {
                    return Err(SqlError::derived_without_alias());
                };
                if !lateral && let Some(part) = self.merge_derived(subquery, alias, from)? {
                    return Ok(part);
                }
                let compile = |planner: &mut Self| planner.query(subquery);
                let outside = match lateral {
                    true => Outside::All,
                    false => Outside::Beyond,
                };
                let (table, named) = self.derived(outside, compile)?;
                let columns = derived_columns(alias, named, &table.query)?;
                let name = alias.name.value.clone();
                let at = self.names().add_table(name, String::new(), None, columns)?;
                let again = || TextAgain::Derived(Rc::new(subquery.as_ref().clone()));
                let again = match lateral {
                    true => None,
                    false => self.kept_text(again),
                };
                let leaf = Leaf {
                    again,
                    ..Leaf::of_derived(table)
                };
                // What it sees must be there when it is read.
                from.straight |= leaf.is_lateral(self.names());
                from.leaves.push(leaf);
                Ok(self.part(at, from))
            }
            ast::TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => self.joined(table_with_joins, from),
            ast::TableFactor::JsonTable {
                json_expr,
                json_path,
                columns: _,
                alias,
            } => {
                let at = self.json_table(json_expr, json_path, alias.as_ref(), from)?;
                Ok(self.part(at, from))
            }
            _ => Err(SqlError::not_supported("this kind of table in FROM")),
        }
    }

    /// A table with a name: that, its alias and its index hints.
    pub(super) fn table_factor<'f>(
        &self,
        factor: &'f ast::TableFactor,
    ) -> Result<NamedFactor<'f>, SqlError> {
        let ast::TableFactor::Table {
            name,
            alias,
            args,
            with_hints,
            version,
            with_ordinality,
            partitions,
            json_path,
            sample,
            index_hints,
        } = factor
        else {
            return Err(SqlError::not_supported("this target"));
        };
        if !partitions.is_empty() {
            return Err(SqlError::not_supported("PARTITION"));
        }
        if sample.is_some() {
            return Err(SqlError::not_supported("TABLESAMPLE"));
        }
        if args.is_some() || json_path.is_some() {
            return Err(SqlError::not_supported("this kind of table in FROM"));
        }
        self.text.refuse("WITH", !with_hints.is_empty())?;
        self.text.refuse("WITH", *with_ordinality)?;
        self.text.refuse("AS", version.is_some())?;
        let alias = match alias {
            None => None,
            Some(alias) => {
                let ast::TableAlias {
                    explicit: _,
                    name,
                    columns,
                    at,
                } = alias;
                if !columns.is_empty() {
                    return Err(self.text.error_behind(name.span));
                }
                self.text.refuse("AT", at.is_some())?;
                Some(name.value.as_str())
            }
        };
        Ok((name, alias, index_hints))
    }

    /// USE, FORCE and IGNORE INDEX of a table, with the whole names of its indexes: 1176 for those
    /// that it has not.
    pub(super) fn hints(
        &self,
        table: &Table,
        alias: Option<&str>,
        hints: &[ast::TableIndexHints],
    ) -> Result<Vec<(bool, Vec<String>)>, SqlError> {
        use ast::TableIndexHintType as Type;
        let has = |wanted: Type| hints.iter().any(|hint| hint.hint_type == wanted);
        if has(Type::Use) && has(Type::Force) {
            return Err(SqlError::wrong_usage("USE INDEX", "FORCE INDEX"));
        }
        let mut known = Vec::with_capacity(hints.len());
        for hint in hints {
            let ast::TableIndexHints {
                hint_type,
                index_type: _,
                // All are about which index is read: what is sorted or grouped is not asked.
                for_clause: _,
                index_names,
            } = hint;
            if index_names.is_empty() && *hint_type != Type::Use {
                return Err(self.text.error_at_word(")"));
            }
            let alias = alias.unwrap_or(&table.name);
            let named = |ident: &ast::Ident| {
                let is_primary = ident.value.eq_ignore_ascii_case("PRIMARY");
                let name = if is_primary { "PRIMARY" } else { &ident.value };
                let unknown = || SqlError::unknown_key(name, alias);
                index_named(table, &ident.value).ok_or_else(unknown)
            };
            let names: Result<_, _> = index_names.iter().map(named).collect();
            known.push((*hint_type != Type::Ignore, names?));
        }
        Ok(known)
    }

    /// A table of WITH.
    fn common_leaf(
        &mut self,
        at: usize,
        alias: Option<&str>,
        from: &mut From,
    ) -> Result<Part, SqlError> {
        if let Some(part) = self.merge_common(at, alias, from)? {
            return Ok(part);
        }
        let common = self.common.get(at).cloned();
        let common = common.ok_or_else(|| broken("a name of WITH is in scope"))?;
        let text = common.text.filter(|_| common.once);
        let again = text.and_then(|text| self.kept_text(|| TextAgain::Common(at, text)));
        let input = match common.table {
            Common::Defined(derived, level, outer) => {
                let given = outer.iter().map(|&(from, to, ty)| {
                    // The blocks around the definition are those around this place, too.
                    (self.import_slot(level, from, ty), to)
                });
                LeafInput::Derived(derived, given.collect())
            }
            Common::Working(number) => LeafInput::Working(number),
            Common::Undefined => {
                self.named_itself = true;
                return Err(SqlError::recursive_without_seed(common.name));
            }
        };
        let name = alias.map_or(common.name, str::to_string);
        let table = self
            .names()
            .add_table(name, String::new(), None, common.columns)?;
        from.leaves.push(Leaf {
            input,
            lock: None,
            shared: false,
            no_hash: false,
            hints: Vec::new(),
            again,
        });
        Ok(self.part(table, from))
    }

    fn leaf(
        &mut self,
        input: LeafInput,
        alias: Option<&str>,
        hints: Vec<(bool, Vec<String>)>,
        from: &mut From,
    ) -> Result<Part, SqlError> {
        let (LeafInput::Stored(table) | LeafInput::Virtual(table)) = &input else {
            return Err(SqlError::not_supported("this kind of table in FROM"));
        };
        let columns = names_of(table);
        let name = alias.unwrap_or(&table.name).to_string();
        let at = self.names().add_table(
            name,
            table.database.clone(),
            Some(Arc::clone(table)),
            columns,
        )?;
        self.names().add_ranks();
        // Virtual tables have numbers like temporary ones.
        let is_own = matches!(input, LeafInput::Stored(_)) && table.is_temporary();
        if !is_own {
            let (database, name) = (table.database.clone(), table.name.clone());
            self.note_last(&database, &name);
        }
        from.leaves.push(Leaf {
            input,
            lock: None,
            shared: self.shares,
            no_hash: false,
            hints,
            again: None,
        });
        Ok(self.part(at, from))
    }

    pub(super) fn part(&mut self, table: usize, from: &From) -> Part {
        Part {
            leaves: table..table + 1,
            conditions: from.conditions.len(),
            star: self.names().star(table).collect(),
        }
    }

    /// The table or view of a name, noted as used by the statement.
    fn named_relation(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&str>,
        needed: &[Privilege],
    ) -> Result<Relation, SqlError> {
        let idents: Vec<&ast::Ident> = name.0.iter().filter_map(|part| part.as_ident()).collect();
        // A user variable, which the library takes for a name.
        let is_variable =
            |ident: &&&ast::Ident| ident.quote_style.is_none() && ident.value.starts_with('@');
        if let Some(variable) = idents.iter().find(is_variable) {
            return Err(self.text.error_at_word(&variable.value));
        }
        let parts: Vec<&str> = idents.iter().map(|ident| ident.value.as_str()).collect();
        if let Some(wrong) = parts.last().filter(|name| !is_proper(name)) {
            return Err(SqlError::wrong_table_name(wrong));
        }
        if let [database, _] = parts.as_slice()
            && !is_proper(database)
        {
            return Err(SqlError::wrong_database_name(database));
        }
        let (database, table) = match parts.as_slice() {
            [table] if self.context.settings.database.is_empty() => {
                let _ = table;
                return Err(SqlError::no_database());
            }
            [table] => (self.context.settings.database, *table),
            [database, table] => (*database, *table),
            _ => return Err(SqlError::wrong_table_name(name)),
        };
        self.may_name(database, table, needed)?;
        if let Some(table) = self.context.dictionary.table(database, table) {
            self.tables.push(TableUse {
                table: Arc::clone(table),
                alias: alias.unwrap_or(&table.name).to_string(),
                writes: false,
                // Those of a view are locked with it.
                implied: !self.within_views.is_empty(),
            });
            let table = Arc::clone(table);
            self.note_table(name, table.full_name());
            return Ok(Relation::Table(LeafInput::Stored(table)));
        }
        if let Some(table) = self.context.virtual_tables.table(database, table) {
            if !self.virtual_tables.iter().any(|t| t.id == table.id) {
                if table.full_name() == ("information_schema", "PROCESSLIST") {
                    self.warnings.push(SqlError::deprecated(
                        "INFORMATION_SCHEMA.PROCESSLIST",
                        "performance_schema.processlist",
                    ));
                }
                self.virtual_tables.push(Arc::clone(&table));
            }
            self.note_table(name, table.full_name());
            return Ok(Relation::Table(LeafInput::Virtual(table)));
        }
        let view = self.context.dictionary.view(database, table).cloned();
        let own = || self.context.virtual_tables.view(database, table);
        if let Some(view) = view.or_else(own) {
            self.note_table(name, (&view.database, &view.name));
            return Ok(Relation::View(view));
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

    /// 1142 for a table or view of which nothing may be known: on it, and on each of its columns,
    /// some of these privileges are lacking.
    pub(super) fn may_name(
        &self,
        database: &str,
        table: &str,
        needed: &[Privilege],
    ) -> Result<(), SqlError> {
        let Some(who) = self.context.who.filter(|_| self.within_views.is_empty()) else {
            return Ok(());
        };
        let known = self.context.dictionary.table(database, table);
        if known.is_some_and(|table| table.is_temporary()) {
            return Ok(());
        }
        let has = who.rights.within_table(database, table);
        if self.standing == Standing::Defined {
            if !has.both(OF_ROWS).is_empty() {
                return Ok(());
            }
            let Who { account, host, .. } = who.who;
            return Err(SqlError::table_access_denied(ANY, account, host, table));
        }
        let updates = self.standing == Standing::Joined && has.has(Privilege::Update);
        let lacking = needed.iter().filter(|privilege| !has.has(**privilege));
        let names: Vec<&str> = lacking.map(|privilege| privilege.name()).collect();
        if names.is_empty() || updates {
            return Ok(());
        }
        let Who { account, host, .. } = who.who;
        Err(SqlError::table_access_denied(
            names.join(", "),
            account,
            host,
            table,
        ))
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
        needed: &[Privilege],
    ) -> Result<Arc<Table>, SqlError> {
        match self.named_relation(name, alias, needed)? {
            Relation::Table(LeafInput::Stored(table)) => {
                self.note_written(&table, alias.unwrap_or(&table.name));
                Ok(table)
            }
            Relation::Table(LeafInput::Virtual(table)) => {
                Err(SqlError::table_read_only(&table.name))
            }
            Relation::Table(
                LeafInput::Derived(..) | LeafInput::Working(_) | LeafInput::Json(_),
            )
            | Relation::View(_) => Err(SqlError::not_supported("this table")),
        }
    }
}

impl Leaf {
    pub(super) fn of_derived(table: Computing) -> Leaf {
        let given = table.outer.iter().map(|&(from, to, _)| (from, to));
        let given = given.collect();
        let derived = Arc::new(Derived::new(table.query, None));
        Leaf {
            input: LeafInput::Derived(derived, given),
            lock: None,
            shared: false,
            no_hash: false,
            hints: Vec::new(),
            again: None,
        }
    }
}

impl Leaf {
    /// The slots of the block that it sees.
    pub fn given(&self) -> Vec<usize> {
        match &self.input {
            LeafInput::Derived(_, given) => given.iter().map(|(from, _)| *from).collect(),
            LeafInput::Json(table) => table.given(),
            LeafInput::Stored(_) | LeafInput::Virtual(_) | LeafInput::Working(_) => Vec::new(),
        }
    }

    /// Its table, if it is a stored one.
    pub fn stored(&self) -> Option<&Arc<Table>> {
        match &self.input {
            LeafInput::Stored(table) => Some(table),
            _ => None,
        }
    }

    /// Whether it sees the rows of tables before it.
    pub fn is_lateral(&self, names: &Names) -> bool {
        self.given()
            .into_iter()
            .any(|slot| leaf_of(slot, names).is_some())
    }
}

impl From {
    /// A query's rows, as the only table.
    pub fn of_derived(table: Computing) -> From {
        From {
            leaves: vec![Leaf::of_derived(table)],
            ..From::default()
        }
    }

    /// Moves the first `left` leaves of `whole` behind the others, and the groups with them.
    fn swap(&mut self, whole: &Range<usize>, left: usize) {
        if let Some(leaves) = self.leaves.get_mut(whole.clone()) {
            leaves.rotate_left(left);
        }
        for group in &mut self.groups {
            if let Some(moved) = swapped(&group.leaves, whole, left) {
                group.leaves = moved;
            }
        }
    }
}

/// Where leaves are after the first `left` ones of `whole` were moved behind the others; `None`: they
/// are not among them.
fn swapped(leaves: &Range<usize>, whole: &Range<usize>, left: usize) -> Option<Range<usize>> {
    if leaves.start < whole.start || leaves.end > whole.end {
        return None;
    }
    let right = whole.len() - left;
    let shift = |at: usize| {
        if leaves.start < whole.start + left {
            at + right
        } else {
            at - left
        }
    };
    Some(shift(leaves.start)..shift(leaves.end))
}

fn is_left(join: &ast::JoinOperator) -> bool {
    matches!(
        join,
        ast::JoinOperator::Left(_) | ast::JoinOperator::LeftOuter(_)
    )
}

fn is_right(join: &ast::JoinOperator) -> bool {
    matches!(
        join,
        ast::JoinOperator::Right(_) | ast::JoinOperator::RightOuter(_)
    )
}

/// Two columns with the same name are equal.
fn equal(left: Expr, right: Expr) -> Result<Expr, SqlError> {
    let types = [infer(&left), infer(&right)];
    let mut ty = ExprType::boolean().or_null();
    ty.collation = comparison_collation(&types, "=")?;
    Ok(Expr::Binary {
        op: BinaryOp::Eq,
        left: Box::new(left),
        right: Box::new(right),
        ty,
    })
}

/// The columns of a table that a query computes.
pub(super) fn derived_columns(
    alias: &ast::TableAlias,
    columns: Vec<ColumnMeta>,
    query: &Query,
) -> Result<Vec<(String, ExprType)>, SqlError> {
    let types = query.types.iter().map(|ty| ty.of_derived());
    Ok(derived_names(alias, columns)?
        .into_iter()
        .zip(types)
        .collect())
}

/// Their names: those that are given behind the alias, or else those of the query.
pub(super) fn derived_names(
    alias: &ast::TableAlias,
    columns: Vec<ColumnMeta>,
) -> Result<Vec<String>, SqlError> {
    let ast::TableAlias {
        explicit: _,
        name: _,
        columns: called,
        at,
    } = alias;
    if at.is_some() || called.iter().any(|column| column.data_type.is_some()) {
        return Err(SqlError::not_supported("this alias of a table"));
    }
    let names: Vec<String> = columns.into_iter().map(|c| c.name).collect();
    let names: Vec<String> = if called.is_empty() {
        names
    } else if called.len() == names.len() {
        called.iter().map(|c| c.name.value.clone()).collect()
    } else {
        return Err(SqlError::column_names_differ());
    };
    for (i, name) in names.iter().enumerate() {
        if names.iter().take(i).any(|n| n.eq_ignore_ascii_case(name)) {
            return Err(SqlError::duplicate_column(name));
        }
    }
    Ok(names)
}

/// The name of the index that a hint calls so: in full, or by what no other index begins with.
fn index_named(table: &Table, name: &str) -> Option<String> {
    let primary = table.primary.iter().map(|_| "PRIMARY");
    let texts = table.fulltext.iter().map(|text| &text.index);
    let indexes = table.indexes.iter().chain(texts);
    let visible = indexes.filter(|index| index.visible);
    let names: Vec<&str> = primary.chain(visible.map(|i| i.name.as_str())).collect();
    let mut same = names
        .iter()
        .filter(|known| known.eq_ignore_ascii_case(name));
    if let Some(same) = same.next() {
        return Some((*same).to_string());
    }
    let begins = |known: &&&str| {
        let start = known.get(..name.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    let mut begun = names.iter().filter(begins);
    match (begun.next(), begun.next()) {
        (Some(only), None) => Some((*only).to_string()),
        _ => None,
    }
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
