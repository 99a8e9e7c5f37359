//! What names mean: the stack of query blocks being compiled, innermost last.

use super::{
    Aggregate, Computed, Input, Planner, Query, Source, Subquery, Usage, Window, WindowInput,
    json_table,
    named::{MergedView, NamedTable},
    needs::Reads,
    rollup::GroupingCall,
    search::{Search, is_match},
    selective::is_selective,
    walk,
    window::NamedWindow,
};
use crate::{
    defaults,
    error::SqlError,
    expr::{
        self, BinaryOp, Expr, ExprType, Scope, SqlMode, SubqueryUse, Taken, VariableScope,
        coercibility, implicit_default, is_aggregate, is_window_function, plain_arguments,
        plain_call, visit_operands_mut,
    },
    lexer::{ValueKind, is_proper},
};
use cohort_engine::types::{Collation, ColumnType, Value, schema::DefaultValue};
use sqlparser::ast;
use std::cell::RefCell;

/// When the names of the select list are looked at. (An argument of an aggregate function, and a
/// query in an expression, find columns first in any case.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aliases {
    /// Never: WHERE and ON.
    No,
    /// By queries in the expression only: the select list itself.
    Inside,
    /// After the columns: GROUP BY, and expressions in ORDER BY.
    Last,
    /// Before the columns: a name that is all of a key of ORDER BY.
    First,
    /// Before the columns, but after those that are grouped by: HAVING.
    Having,
}

/// What a block sees of those around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outside {
    /// All of them.
    All,
    /// All but the one that it is in the FROM of.
    Beyond,
    /// Nothing.
    Nothing,
}

/// What the names of the select list are.
pub(super) struct Selected {
    /// The name of each item so far, and what it is.
    pub items: Vec<(String, Expr)>,
    /// The names of those that follow.
    pub later: Vec<String>,
}

impl Selected {
    pub fn none() -> Selected {
        Selected {
            items: Vec::new(),
            later: Vec::new(),
        }
    }
}

/// The names of a block.
pub(super) struct Names {
    pub tables: Vec<NamedTable>,
    /// The views and derived tables whose tables are read in their place.
    pub views: Vec<MergedView>,
    /// The number of the text that is being compiled: 0, or that of a merged one.
    pub within: usize,
    /// How many merged texts there were.
    pub texts: usize,
    /// That text is of a view, or one of WITH: other names are in scope where it stands.
    pub elsewhere: bool,
    /// What is joined may turn out to be the inner side of an outer join.
    pub inner: bool,
    /// How many tables there can be at most, those of merged texts included.
    pub factors: usize,
    /// How many slots there are so far.
    pub slots: usize,
    /// Values of the enclosing block: its slot, ours, the type.
    pub outer: Vec<(usize, usize, ExprType)>,
    pub subqueries: Vec<Subquery>,
    pub aggregates: Vec<Aggregate>,
    pub windows: Vec<Window>,
    pub window_inputs: Vec<WindowInput>,
    /// The keys of each window that was resolved, with its name: for error 1055.
    pub window_keys: Vec<(String, Vec<Expr>)>,
    pub named_windows: Vec<NamedWindow>,
    pub groupings: Vec<GroupingCall>,
    pub select: Selected,
    /// What MATCH searches for in its tables.
    pub searches: Vec<Search>,
    /// The columns that are grouped by, and how GROUP BY calls them.
    pub grouped: Vec<(String, Expr)>,
    pub aliases: Aliases,
    /// For error texts.
    pub clause: &'static str,
    pub aggregates_allowed: bool,
    pub windows_allowed: bool,
    /// The window whose specification is being resolved.
    pub in_window: Option<String>,
    pub outside: Outside,
    /// Only these tables are seen (ON sees those joined so far).
    pub visible: std::ops::Range<usize>,
    /// The row to be inserted, for VALUES(column) and INSERT … AS alias: the slot of its first
    /// column.
    pub inserted: Option<usize>,
    /// Columns seen with an aggregate's argument, outside and inside: for error 1140.
    pub in_aggregate: bool,
    /// Reads of columns go here, and count later.
    pub captured: RefCell<Option<Reads>>,
}

impl Names {
    pub fn new(outside: Outside) -> Names {
        Names {
            tables: Vec::new(),
            views: Vec::new(),
            within: 0,
            texts: 0,
            elsewhere: false,
            inner: false,
            factors: 0,
            slots: 0,
            outer: Vec::new(),
            subqueries: Vec::new(),
            aggregates: Vec::new(),
            windows: Vec::new(),
            window_inputs: Vec::new(),
            window_keys: Vec::new(),
            named_windows: Vec::new(),
            groupings: Vec::new(),
            select: Selected::none(),
            searches: Vec::new(),
            grouped: Vec::new(),
            aliases: Aliases::No,
            clause: "field list",
            aggregates_allowed: false,
            windows_allowed: false,
            in_window: None,
            outside,
            visible: 0..usize::MAX,
            inserted: None,
            in_aggregate: false,
            captured: RefCell::default(),
        }
    }

    pub fn new_slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    /// The number of the subquery whose result comes to a slot.
    pub fn subquery_of(&self, slot: usize) -> Option<usize> {
        self.subqueries.iter().position(|s| s.slots.contains(&slot))
    }

    /// An expression with the subqueries it needs.
    pub fn wrap(&self, expr: Expr) -> Computed {
        let mut subqueries = Vec::new();
        walk::slots(&expr, &mut |slot| {
            if let Some(n) = self.subquery_of(slot)
                && !subqueries.contains(&n)
            {
                subqueries.push(n);
            }
        });
        let selective = is_selective(&expr, &|slot| self.subquery_of(slot).is_some());
        Computed {
            expr,
            subqueries,
            selective,
        }
    }

    /// Whether there is a table of this name, and it is seen.
    fn sees_table(&self, name: &str) -> bool {
        let mut tables = self.tables.iter().enumerate();
        tables.any(|(i, table)| table.alias == name && self.visible.contains(&i))
    }

    fn find(&self, path: &[ast::Ident], clause: &str) -> Result<Option<Expr>, SqlError> {
        let at = self.find_at(path, clause)?;
        Ok(at.and_then(|at| {
            self.note_read(at);
            self.value_of(at)
        }))
    }

    /// The item of the select list that a name means: by its alias, or else as the column that it
    /// is; 1052 if several columns have the name.
    pub fn find_selected(&self, path: &[ast::Ident]) -> Result<Option<Expr>, SqlError> {
        let Some((name, qualifier)) = path.split_last() else {
            return Ok(None);
        };
        let ambiguous = || SqlError::ambiguous_column(dotted(path), self.clause);
        let (mut found, mut behind_alias) = (None, None);
        let mut several = false;
        for (alias, expr) in &self.select.items {
            let by_alias = qualifier.is_empty() && alias.eq_ignore_ascii_case(&name.value);
            let at = self.at_of(expr);
            let named = at.and_then(|at| Some((self.called(at)?, self.name_of(at)?.0)));
            let Some((table, column)) = named else {
                if by_alias {
                    found = Some(expr);
                    break;
                }
                continue;
            };
            let by_column = column.eq_ignore_ascii_case(&name.value);
            if by_alias {
                if found.is_some_and(|found| found != expr) {
                    return Err(ambiguous());
                }
                found = Some(expr);
            } else if by_column && (qualifier.is_empty() || table.matches(qualifier)) {
                several |= behind_alias.is_some_and(|other| other != expr);
                behind_alias = Some(expr);
            }
        }
        match found.or(behind_alias) {
            Some(_) if found.is_none() && several => Err(ambiguous()),
            found => Ok(found.cloned()),
        }
    }

    /// What a name in HAVING means: what is selected, unless something else of that name is
    /// grouped by. Nothing else is seen there.
    fn find_in_having(&self, path: &[ast::Ident]) -> Result<Option<Meaning>, SqlError> {
        let selected = self.find_selected(path)?;
        let column = self.find(path, self.clause).ok().flatten();
        let is_meant = |(name, key): &&(String, Expr)| match path {
            [ident] => name.eq_ignore_ascii_case(&ident.value),
            _ => column.as_ref() == Some(key),
        };
        let grouped = self.grouped.iter().find(is_meant).map(|(_, key)| key);
        Ok(match (selected, grouped) {
            (Some(selected), Some(key)) if selected != *key => Some(Meaning {
                expr: key.clone(),
                ambiguous: true,
            }),
            (Some(selected), None) if self.windows_in(&selected) => {
                return Err(SqlError::window_alias(dotted(path)));
            }
            (selected, grouped) => selected.or(grouped.cloned()).map(Meaning::only),
        })
    }

    /// What a name means in this block; `direct` if it stands in the block itself, not in a query
    /// in it.
    fn lookup(&self, path: &[ast::Ident], direct: bool) -> Result<Option<Meaning>, SqlError> {
        let direct_alone = direct && !self.in_aggregate;
        match self.aliases {
            Aliases::First if direct_alone => {
                if let Some(expr) = self.find_selected(path)? {
                    return Ok(Some(Meaning::only(expr)));
                }
            }
            Aliases::Having if direct_alone => return self.find_in_having(path),
            _ => {}
        }
        let column = self.find(path, self.clause)?;
        if column.is_some() || self.aliases == Aliases::No {
            return Ok(column.map(Meaning::only));
        }
        if direct && self.aliases == Aliases::Inside {
            return Ok(None);
        }
        let Some(expr) = self.find_selected(path)? else {
            return Ok(None);
        };
        if !direct && self.windows_in(&expr) {
            return Err(SqlError::window_alias(dotted(path)));
        }
        if !direct_alone && self.aggregates_in(&expr) {
            return Err(if direct {
                SqlError::invalid_group_function()
            } else {
                SqlError::illegal_reference(dotted(path), "reference to group function")
            });
        }
        Ok(Some(Meaning::only(expr)))
    }

    /// Whether an expression has the result of an aggregate function in it.
    pub fn aggregates_in(&self, expr: &Expr) -> bool {
        let mut found = false;
        walk::slots(expr, &mut |slot| {
            found |= self.aggregates.iter().any(|a| a.slot == slot);
        });
        found
    }

    /// Whether an item of the select list further on has the name.
    fn comes_later(&self, path: &[ast::Ident]) -> bool {
        let [name] = path else { return false };
        let mut later = self.select.later.iter();
        self.aliases == Aliases::Inside && later.any(|n| n.eq_ignore_ascii_case(&name.value))
    }
}

/// What a name means.
struct Meaning {
    expr: Expr,
    /// It could mean something else: there is a warning.
    ambiguous: bool,
}

impl Meaning {
    fn only(expr: Expr) -> Meaning {
        let ambiguous = false;
        Meaning { expr, ambiguous }
    }
}

/// A slot of the row.
pub(super) fn slot_expr(slot: usize, ty: ExprType) -> Expr {
    Expr::Column {
        slot: u32::try_from(slot).unwrap_or(u32::MAX),
        ty,
    }
}

fn opposite(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Eq => BinaryOp::NotEq,
        BinaryOp::NotEq => BinaryOp::Eq,
        BinaryOp::Lt => BinaryOp::GtEq,
        BinaryOp::LtEq => BinaryOp::Gt,
        BinaryOp::Gt => BinaryOp::LtEq,
        BinaryOp::GtEq => BinaryOp::Lt,
        other => other,
    }
}

/// Whether ORDER BY says DESC.
pub(super) fn dotted(path: &[ast::Ident]) -> String {
    let parts = path.iter().map(|i| i.value.as_str());
    let parts: Vec<&str> = match path {
        // A table without a name is not told.
        [table, _] if table.value.is_empty() => parts.skip(1).collect(),
        _ => parts.collect(),
    };
    parts.join(".")
}

/// How far a compilation had come; see `Planner::back_to`.
pub(super) struct Mark {
    tables: usize,
    noted: usize,
    virtual_tables: usize,
    warnings: usize,
    conversions: usize,
}

impl Planner<'_> {
    /// The kind that a parameter is taken to have; NULL if it is not known.
    fn parameter_kind(&self, index: u32) -> ValueKind {
        let kind = match self.context.kinds {
            Some(kinds) => kinds.get(index as usize).copied(),
            None => self
                .context
                .parameters
                .get(index as usize)
                .map(ValueKind::of),
        };
        kind.unwrap_or(ValueKind::Null)
    }
}

impl Planner<'_> {
    /// Where the compilation is now.
    pub fn mark(&self) -> Mark {
        Mark {
            tables: self.tables.len(),
            noted: self.noted.len(),
            virtual_tables: self.virtual_tables.len(),
            warnings: self.warnings.len(),
            conversions: self.conversions.len(),
        }
    }

    /// Forgets what was noted since: it is compiled again, in another way.
    pub fn back_to(&mut self, mark: Mark) {
        self.tables.truncate(mark.tables);
        self.noted.truncate(mark.noted);
        self.virtual_tables.truncate(mark.virtual_tables);
        self.warnings.truncate(mark.warnings);
        self.conversions.truncate(mark.conversions);
    }

    /// Forgets what was noted between two moments.
    pub fn forget(&mut self, from: &Mark, to: &Mark) {
        self.tables.drain(from.tables..to.tables);
        self.noted.drain(from.noted..to.noted);
        self.warnings.drain(from.warnings..to.warnings);
        self.conversions.drain(from.conversions..to.conversions);
    }

    /// The innermost block.
    pub fn names(&mut self) -> &mut Names {
        // The stack is never empty while names are resolved; an empty block is harmless.
        if self.stack.is_empty() {
            self.stack.push(Names::new(Outside::Nothing));
        }
        let last = self.stack.len() - 1;
        &mut self.stack[last]
    }

    /// Resolves an expression in the innermost block.
    pub fn resolve(&mut self, ast: &ast::Expr) -> Result<Expr, SqlError> {
        let expr = expr::resolve_expr(ast, self)?;
        self.deepest = self.deepest.max(expr::depth(&expr));
        Ok(expr)
    }

    /// The same, with the subqueries it needs.
    pub fn computed(&mut self, ast: &ast::Expr) -> Result<Computed, SqlError> {
        let expr = self.resolve(ast)?;
        Ok(self.names().wrap(expr))
    }

    pub fn wrap(&mut self, expr: Expr) -> Computed {
        self.names().wrap(expr)
    }

    /// A key of ORDER BY: its expression, and whether it is descending.
    pub fn sort_key_parts<'k>(
        &self,
        key: &'k ast::OrderByExpr,
    ) -> Result<(&'k ast::Expr, bool), SqlError> {
        let ast::OrderByExpr {
            expr,
            options: ast::OrderByOptions { sort, nulls_first },
            with_fill,
        } = key;
        self.text.refuse("NULLS", nulls_first.is_some())?;
        self.text.refuse("WITH", with_fill.is_some())?;
        match sort {
            None | Some(ast::OrderBySort::Asc) => Ok((expr, false)),
            Some(ast::OrderBySort::Desc) => Ok((expr, true)),
            Some(ast::OrderBySort::Using(_)) => Err(self.text.error_at_word("USING")),
        }
    }

    /// Brings an expression on the row of the block at `level` to the innermost one: what it
    /// reads comes through those between.
    pub fn import(&mut self, level: usize, mut expr: Expr) -> Expr {
        self.import_operand(level, &mut expr);
        expr
    }

    fn import_operand(&mut self, level: usize, expr: &mut Expr) {
        if let Expr::Column { slot, ty } = expr {
            *expr = slot_expr(self.import_slot(level, *slot as usize, *ty), *ty);
            return;
        }
        visit_operands_mut(expr, &mut |operand| self.import_operand(level, operand));
    }

    /// The slot of the innermost block that one of the block at `level` comes to.
    pub fn import_slot(&mut self, level: usize, mut slot: usize, ty: ExprType) -> usize {
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
        slot
    }

    /// The levels of the blocks that the innermost one sees, itself first.
    pub fn levels(&self) -> Vec<usize> {
        let mut levels = Vec::with_capacity(self.stack.len());
        let mut hidden = false;
        for (level, names) in self.stack.iter().enumerate().rev() {
            if hidden {
                hidden = false;
                continue;
            }
            levels.push(level);
            match names.outside {
                Outside::All => {}
                Outside::Beyond => hidden = true,
                Outside::Nothing => break,
            }
        }
        levels
    }

    /// The column in DEFAULT(column) and VALUES(column).
    fn only_argument<'f>(
        &self,
        function: &'f ast::Function,
        name: &str,
    ) -> Result<&'f ast::Expr, SqlError> {
        let wrong = || SqlError::wrong_native_argument_count(name);
        let ast::FunctionArguments::List(list) = plain_call(function, self)? else {
            return Err(wrong());
        };
        match plain_arguments(list, name, self)? {
            [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(arg))] => Ok(arg),
            _ => Err(wrong()),
        }
    }

    /// DEFAULT(column).
    fn default_of_column(&mut self, function: &ast::Function) -> Result<Expr, SqlError> {
        let arg = self.only_argument(function, "DEFAULT")?;
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
            DefaultValue::Null => Ok(Expr::null()),
            DefaultValue::Literal(text) if column.ty.has_members() => {
                let value = column.named(text.as_bytes()).unwrap_or_default();
                Ok(Expr::Literal(value, ExprType::of_column(&column)))
            }
            // Four zeros are a number, and no text of a year.
            DefaultValue::Literal(text) if column.ty == ColumnType::Year => {
                let year = Value::UInt(text.parse().unwrap_or_default());
                Ok(Expr::Literal(year, ExprType::of_column(&column)))
            }
            DefaultValue::Literal(text) => Ok(Expr::Cast {
                expr: Box::new(Expr::Literal(
                    Value::Bytes(text.clone().into_bytes()),
                    ExprType::string(255, column.collation, coercibility::LITERAL),
                )),
                ty: ExprType::of_column(&column),
            }),
            // That of a column that counts is zero, which no row gets by it.
            DefaultValue::None if column.auto_increment => {
                let zero = implicit_default(&column);
                Ok(Expr::Literal(zero, ExprType::of_column(&column)))
            }
            // There is none before a row comes.
            DefaultValue::CurrentTimestamp if column.nullable => Ok(Expr::null()),
            DefaultValue::CurrentTimestamp => {
                let zero = implicit_default(&column);
                Ok(Expr::Literal(zero, ExprType::of_column(&column)))
            }
            DefaultValue::None => Err(SqlError::no_default_for_field(&column.name)),
            default => match (default.bits(), default) {
                (Some(bits), _) => {
                    let ty = ExprType::of_column(&column);
                    Ok(Expr::Literal(Value::UInt(bits), ty))
                }
                (None, DefaultValue::Expression(text)) if !default.is_computed() => {
                    let settings = self.context.settings.of_rows();
                    defaults::expression(&column.name, text, &[], settings)
                }
                _ => Err(SqlError::default_of_expression()),
            },
        }
    }

    /// VALUES(column): what was to be inserted.
    fn inserted_value(&mut self, function: &ast::Function) -> Result<Expr, SqlError> {
        let arg = self.only_argument(function, "VALUES")?;
        let levels = self.levels();
        let has_new_row = |level: &usize| {
            let names = self.stack.get(*level);
            names.is_some_and(|names| names.inserted.is_some())
        };
        let Some(level) = levels.into_iter().find(has_new_row) else {
            self.resolve(arg)?;
            return Ok(Expr::null());
        };
        let inner = self.stack.split_off(level + 1);
        // It is a column of the table, whatever else has its name.
        let visible = std::mem::replace(&mut self.names().visible, 0..1);
        let found = self.resolve(arg);
        let names = self.names();
        names.visible = visible;
        let first = names.inserted.unwrap_or_default();
        self.stack.extend(inner);
        self.warnings.push(SqlError::deprecated(
            "VALUES function",
            "an alias (INSERT INTO ... VALUES (...) AS alias) and replace VALUES(col) in the ON \
             DUPLICATE KEY UPDATE clause with alias.col",
        ));
        let value = match found? {
            Expr::Column { slot, ty } if (slot as usize) < first => {
                slot_expr(slot as usize + first, ty.or_null())
            }
            other => other,
        };
        Ok(self.import(level, value))
    }
}

impl Scope for Planner<'_> {
    fn column(&mut self, path: &[ast::Ident]) -> Result<Expr, SqlError> {
        let innermost = self.stack.len().saturating_sub(1);
        let levels = self.levels();
        for &level in &levels {
            let Some(names) = self.stack.get(level) else {
                break;
            };
            if let Some(Meaning { expr, ambiguous }) = names.lookup(path, level == innermost)? {
                if ambiguous {
                    let warning = SqlError::ambiguous_column(dotted(path), names.clause);
                    self.warnings.push(warning);
                }
                self.note_name(level, path, &expr);
                self.innermost_named = self.innermost_named.max(Some(level));
                return Ok(self.import(level, expr));
            }
        }
        let mut enclosing = levels
            .iter()
            .skip(1)
            .filter_map(|level| self.stack.get(*level));
        if enclosing.any(|names| names.comes_later(path)) {
            let why = "forward reference in item list";
            return Err(SqlError::illegal_reference(dotted(path), why));
        }
        let names = self.names();
        if let ([.., table, _], json_table::CLAUSE) = (path, names.clause)
            && !names.sees_table(&table.value)
        {
            return Err(SqlError::unknown_table_in(&table.value, names.clause));
        }
        if let [database, _, _] = path
            && !is_proper(&database.value)
        {
            return Err(SqlError::wrong_database_name(&database.value));
        }
        let unknown = SqlError::unknown_column(dotted(path), names.clause);
        Err(self.hidden_column(path).unwrap_or(unknown))
    }

    fn subquery(&mut self, query: &ast::Query, usage: SubqueryUse) -> Result<Vec<Expr>, SqlError> {
        let (before, changing) = (self.exists_at, self.changing);
        let varying = self.varying;
        if let SubqueryUse::Exists = usage {
            self.exists_at = Some(self.stack.len() + 1);
        }
        let plan = self.nested_query(query, !matches!(usage, SubqueryUse::Row));
        self.exists_at = before;
        let mut plan = plan?;
        let columns = match &usage {
            SubqueryUse::Exists | SubqueryUse::Row => plan.types.len(),
            SubqueryUse::In(left) => left.len(),
            SubqueryUse::Any(..) | SubqueryUse::All(..) => 1,
        };
        if plan.types.len() != columns {
            return Err(SqlError::operand_columns(columns));
        }
        let truth = ExprType::boolean().or_null();
        let is_row = matches!(usage, SubqueryUse::Row) && plan.types.len() > 1;
        let is_like_nulls = is_row && plan.types.iter().all(|ty| ty.nullable);
        let (usage, types) = match usage {
            SubqueryUse::Row => {
                let types = plan.types.iter();
                let types = types.map(|ty| ExprType {
                    truth: ty.truth,
                    ..ty.without_members().computed().or_null()
                });
                let found = is_row.then(ExprType::boolean);
                (Usage::Scalar, types.chain(found).collect())
            }
            SubqueryUse::Exists => (Usage::Exists, vec![ExprType::boolean()]),
            SubqueryUse::In(left) => {
                let mut pairs = Vec::with_capacity(left.len());
                for (column, expr) in left.into_iter().enumerate() {
                    pairs.push(self.pair(expr, &plan, column, BinaryOp::Eq)?);
                }
                (Usage::In(pairs), vec![truth])
            }
            SubqueryUse::Any(left, op) => {
                let pair = self.pair(left, &plan, 0, op)?;
                (Usage::Any(Box::new(pair), op), vec![truth])
            }
            SubqueryUse::All(left, op) => {
                // In MySQL's eyes there must be no row for which the opposite holds.
                let pair = self.pair(left, &plan, 0, opposite(op))?;
                (Usage::All(Box::new(pair), op), vec![truth])
            }
        };
        // It may come to something else each time, though it sees no row.
        plan.correlated |= self.varying != varying;
        let repeatable = self.changing == changing && is_repeatable(&plan, &usage);
        let names = self.names();
        let slots = names.slots..names.slots + types.len();
        names.slots = slots.end;
        let mut needs: Vec<usize> = plan
            .blocks
            .iter()
            .flat_map(|block| &block.outer)
            .filter_map(|(from, _)| names.subquery_of(*from))
            .collect();
        needs.sort_unstable();
        needs.dedup();
        names.subqueries.push(Subquery {
            query: plan,
            usage,
            slots: slots.clone(),
            needs,
            repeatable,
        });
        let results = slots.zip(types);
        let mut results: Vec<Expr> = results.map(|(slot, ty)| slot_expr(slot, ty)).collect();
        if is_like_nulls && let Some(found) = results.last_mut() {
            *found = Expr::Literal(Value::Int(1), ExprType::boolean());
        }
        Ok(results)
    }

    fn function(&mut self, function: &ast::Function) -> Result<Option<Expr>, SqlError> {
        let name = function.name.to_string();
        if is_window_function(&name) || function.over.is_some() && is_aggregate(&name) {
            return self.window_call(function, &name).map(Some);
        }
        if name.eq_ignore_ascii_case("GROUPING") {
            return self.grouping_call(function).map(Some);
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
        if is_match(function) {
            return self.match_against(function).map(Some);
        }
        Ok(None)
    }

    fn parameter(&mut self, index: u32) -> Result<Expr, SqlError> {
        if index >= self.parameters {
            return Err(SqlError::syntax("?", 1));
        }
        let kind = self.parameter_kind(index);
        let collation = self.context.settings.collation;
        let taken = Taken::of_kind(kind).filter(|_| !self.lifted);
        Ok(Expr::Parameter {
            index,
            ty: taken.map_or_else(|| kind.parameter_type(collation), Taken::ty),
            bound: !self.lifted,
        })
    }

    fn is_open(&self, index: u32) -> bool {
        !self.lifted && self.parameter_kind(index) == ValueKind::Null
    }

    fn take(&mut self, index: u32, taken: Option<Taken>) {
        let at = index as usize;
        if self.taken.len() <= at {
            self.taken.resize(at + 1, None);
        }
        if let Some(known) = self.taken.get_mut(at) {
            *known = taken;
        }
    }

    fn meets_volatile(&mut self) {
        self.changing += 1;
        self.varying += 1;
    }

    fn system_variable(&mut self, scope: VariableScope, name: &str) -> Result<Value, SqlError> {
        self.changing += 1;
        (self.context.variable)(scope, name)
    }

    fn user_variable(&mut self, name: &str) -> ExprType {
        self.changing += 1;
        self.varying += usize::from(self.text.assigns());
        let ty = (self.context.user_variable)(name);
        if !self.user_variables.iter().any(|(known, _)| known == name) {
            self.user_variables.push((name.to_owned(), ty));
        }
        ty
    }

    fn warn(&mut self, warning: SqlError) {
        self.warnings.push(warning);
    }

    fn is_settled(&self, slot: u32) -> bool {
        let subquery = self.stack.last().and_then(|names| {
            let n = names.subquery_of(slot as usize)?;
            names.subqueries.get(n)
        });
        subquery.is_some_and(|subquery| {
            !subquery.query.correlated && matches!(subquery.usage, Usage::Scalar | Usage::Exists)
        })
    }

    fn convert_first(&mut self, conversion: &Expr) {
        self.conversions.push(conversion.clone());
    }

    fn collation(&self) -> Collation {
        self.context.settings.collation
    }

    fn refuse(&self, word: &str) -> SqlError {
        self.text.error_at_word(word)
    }

    fn database(&self) -> Option<&str> {
        Some(self.context.settings.database).filter(|name| !name.is_empty())
    }

    fn sql_mode(&self) -> SqlMode {
        self.context.settings.sql_mode
    }

    fn div_precision_increment(&self) -> u8 {
        self.context.settings.div_precision_increment
    }
}

/// Whether a subquery whose expressions are repeatable is so itself.
fn is_repeatable(query: &Query, usage: &Usage) -> bool {
    let [block] = query.blocks.as_slice() else {
        return false;
    };
    let is_plain = |source: &Source| {
        matches!(source.input, Input::Table(..)) && !source.locks() && source.ranks.is_empty()
    };
    query.correlated
        && matches!(usage, Usage::Scalar | Usage::Exists)
        && block.subqueries.is_empty()
        && block.sources.iter().all(is_plain)
}
