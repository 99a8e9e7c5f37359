//! INSERT, REPLACE, UPDATE and DELETE.

use super::{
    Assigned, Block, Body, Computed, Default_, Delete, Input, Insert, InsertRows, Limit, Planner,
    Query, Update,
    from::From,
    named::names_of,
    query::Around,
    returning::Returned,
    scope::{Names, Outside},
    view_target::Change,
    walk,
};
use crate::{
    defaults,
    error::SqlError,
    expr::{Expr, ExprType, for_column, is_repeatable},
    output::ColumnMeta,
    privileges::Privilege,
};
use cohort_engine::types::{Column, Table, Value, schema::DefaultValue};
use sqlparser::ast::{self, Spanned};
use std::{collections::BTreeSet, sync::Arc};

/// The columns of the tables that an INSERT … SELECT reads, as ON DUPLICATE KEY UPDATE sees them.
#[derive(Default)]
struct Sources {
    first_slot: usize,
    columns: Vec<[ast::Ident; 2]>,
    /// Whether rows are left out that are the same without them.
    distinct: bool,
}

impl Planner<'_> {
    /// Compiles INSERT or REPLACE.
    pub(super) fn insert(
        &mut self,
        insert: &ast::Insert,
        template: bool,
    ) -> Result<(Insert, Vec<ColumnMeta>), SqlError> {
        let name = self.plain_insert(insert)?;
        self.stack.push(Names::new(Outside::Nothing));
        let inserted = self.insert_into(name, insert);
        let names = self.stack.pop();
        let mut inserted = inserted;
        let table = match &inserted {
            Ok((inserted, _)) => Arc::clone(&inserted.table),
            Err(_) => return inserted,
        };
        if let (Ok((inserted, _)), Some(names)) = (&mut inserted, names) {
            // Most rows need no more than themselves.
            let is_plain = inserted.on_duplicate.is_none() && inserted.returning.is_none();
            if !is_plain || !names.subqueries.is_empty() {
                inserted.block.slots = names.slots;
            }
            inserted.block.subqueries = names.subqueries;
            let mut subqueries = inserted.block.subqueries.iter();
            if let Some(used) = subqueries.find_map(|s| uses(&s.query, &table, Some(&table.name))) {
                return Err(SqlError::update_table_used(used));
            }
            inserted.per_row = if template { inserted.per_row } else { 0 };
        }
        inserted
    }

    /// Brings the table, or that of a view, into the block, and compiles the rest.
    fn insert_into(
        &mut self,
        name: &ast::ObjectName,
        insert: &ast::Insert,
    ) -> Result<(Insert, Vec<ColumnMeta>), SqlError> {
        let needed: &[Privilege] = match (&insert.on, insert.replace_into) {
            (_, true) => &[Privilege::Insert, Privilege::Delete],
            (Some(_), false) => &[Privilege::Insert, Privilege::Update],
            (None, false) => &[Privilege::Insert],
        };
        let (table, columns, view) = match self.view_named(name) {
            None => {
                let table = self.written_table(name, None, needed)?;
                self.add_target(&table, &table.name)?;
                let columns = table.named_columns().iter();
                let columns = columns.map(|c| (c.name.as_str(), c.visibility.is_visible()));
                let columns = target_columns(table.full_name(), columns, insert)?;
                (table, columns, None)
            }
            Some(view) => {
                self.may_name(&view.database, &view.name, needed)?;
                let (table, columns) = self.view_to_insert(&view, insert)?;
                (table, columns, Some(view))
            }
        };
        let names = self.names();
        let width = table.columns.len();
        names.inserted = Some(width);
        names.slots = names.slots.max(width) + width;
        let seen = 0..names.tables.len();
        self.note_inserted(insert, &table, &columns);
        let mut inserted = self.insert_inside(insert, &table, columns)?;
        if let Some(view) = view {
            self.check_view_defaults(&view, &inserted)?;
        }
        let names = self.names();
        names.inserted = None;
        names.visible = seen;
        let (returning, columns) = self.returning(insert.returning.as_deref())?;
        inserted.returning = returning;
        Ok((inserted, columns))
    }

    /// The table that a statement changes, among the names of its block.
    pub(super) fn add_target(&mut self, table: &Arc<Table>, alias: &str) -> Result<(), SqlError> {
        add(self.names(), table, alias)?;
        if !table.is_temporary() {
            self.note_last(&table.database, &table.name);
        }
        Ok(())
    }

    /// What INSERT and REPLACE do to their table.
    fn note_inserted(&mut self, insert: &ast::Insert, table: &Table, columns: &[usize]) {
        if insert.replace_into {
            self.note_change(0, Privilege::Delete, None);
        }
        // Without values it is all columns that get their defaults.
        let all: Vec<usize> = (0..table.named_columns().len()).collect();
        let columns = match columns.is_empty() {
            true => &all,
            false => columns,
        };
        self.note_change(0, Privilege::Insert, Some(columns));
    }

    fn insert_inside(
        &mut self,
        insert: &ast::Insert,
        table: &Arc<Table>,
        columns: Vec<usize>,
    ) -> Result<Insert, SqlError> {
        if let (Some(select), Some(_)) = (selected_rows(insert), &insert.insert_alias) {
            return Err(self.text.error_behind(select.span()));
        }
        let mark = self.mark();
        let (mut rows, per_row) = self.insert_rows(insert, table, &columns)?;
        let after = self.mark();
        let select = selected_rows(insert).filter(|_| insert.on.is_some());
        let sources = match (select, &rows) {
            (Some(select), InsertRows::Query(query)) => self.name_sources(select, query)?,
            _ => Sources::default(),
        };
        let on_duplicate = self.on_duplicate(insert, table, &columns)?;
        let used = self.used_sources(&sources, on_duplicate.as_deref().unwrap_or_default());
        if let (Some(select), Some(last)) = (select, used.last()) {
            if sources.distinct {
                return Err(SqlError::not_supported(
                    "columns of a SELECT DISTINCT in ON DUPLICATE KEY UPDATE",
                ));
            }
            let further = (0..=*last).map(|at| match sources.columns.get(at) {
                Some(path) if used.contains(&at) => ast::Expr::CompoundIdentifier(path.to_vec()),
                _ => ast::Expr::Value(ast::Value::Null.into()),
            });
            self.forget(&mark, &after);
            let select = with_columns(select, &further.collect::<Vec<_>>());
            rows = self.selected(&select, columns.len(), last + 1)?;
        }
        Ok(Insert {
            columns,
            rows,
            ignore: insert.ignore,
            replace: insert.replace_into,
            on_duplicate,
            defaults: self.defaults(table)?,
            per_row,
            block: Block::default(),
            returning: None,
            table: Arc::clone(table),
        })
    }

    /// Brings the tables that a SELECT reads into the scope of ON DUPLICATE KEY UPDATE: their
    /// columns are in the slots after those of the new row. Of groups, of a UNION and of what window
    /// functions were computed for there are none.
    fn name_sources(&mut self, select: &ast::Query, query: &Query) -> Result<Sources, SqlError> {
        let (ast::SetExpr::Select(select), [block]) = (body_of(select), query.blocks.as_slice())
        else {
            return Ok(Sources::default());
        };
        if block.grouping.is_some() || block.windowing.is_some() {
            return Ok(Sources::default());
        }
        let mark = self.mark();
        self.stack.push(Names::new(Outside::Beyond));
        let compiled = self.from(&select.from);
        let read = self.stack.pop();
        self.back_to(mark);
        compiled?;
        let mut sources = Sources {
            first_slot: self.names().slots,
            columns: Vec::new(),
            distinct: block.distinct,
        };
        for mut table in read.into_iter().flat_map(Names::into_named) {
            for column in &mut table.columns {
                let path = [&table.alias, &column.name];
                let path = path.map(|part| ast::Ident::with_quote('`', part));
                sources.columns.push(path);
                column.ty = column.ty.computed().or_null();
            }
            let names = self.names();
            table.first_slot = names.slots;
            names.slots += table.columns.len();
            names.tables.push(table);
        }
        Ok(sources)
    }

    /// Which columns of the sources the assignments read.
    fn used_sources(&mut self, sources: &Sources, assignments: &[(usize, Assigned)]) -> Vec<usize> {
        let mut slots = BTreeSet::new();
        for (_, assigned) in assignments {
            if let Assigned::Value(computed) = assigned {
                super::place::add_slots(&computed.expr, self.names(), &mut slots);
            }
        }
        let end = sources.first_slot + sources.columns.len();
        let used = slots.range(sources.first_slot..end);
        used.map(|slot| slot - sources.first_slot).collect()
    }

    /// Refuses what INSERT has elsewhere only; the name of its table.
    pub(super) fn plain_insert<'i>(
        &mut self,
        insert: &'i ast::Insert,
    ) -> Result<&'i ast::ObjectName, SqlError> {
        let ast::Insert {
            insert_token: _,
            optimizer_hints: _,
            or,
            ignore: _,
            into: _,
            table,
            table_alias,
            // Read by `target_columns` and `insert_rows`.
            columns: _,
            overwrite,
            source: _,
            assignments: _,
            partitioned,
            after_columns,
            has_table_keyword,
            // Read by `on_duplicate`.
            on: _,
            // Read by `insert_into`.
            returning: _,
            output,
            replace_into: _,
            priority,
            insert_alias: _,
            settings,
            format_clause,
            multi_table_insert_type,
            multi_table_into_clauses,
            multi_table_when_clauses,
            multi_table_else_clause,
        } = insert;
        let ast::TableObject::TableName(name) = table else {
            return Err(SqlError::not_supported("this target of INSERT"));
        };
        if partitioned.is_some() || !after_columns.is_empty() {
            return Err(SqlError::not_supported("PARTITION"));
        }
        let text = self.text;
        text.refuse("OR", or.is_some())?;
        if let Some(alias) = table_alias {
            text.refuse(&alias.alias.value, true)?;
        }
        text.refuse_behind("OVERWRITE", *overwrite)?;
        text.refuse("TABLE", *has_table_keyword)?;
        text.refuse_behind("OUTPUT", output.is_some())?;
        text.refuse_behind("SETTINGS", settings.is_some())?;
        text.refuse_behind("FORMAT", format_clause.is_some())?;
        let several = multi_table_insert_type.is_some()
            || !multi_table_into_clauses.is_empty()
            || !multi_table_when_clauses.is_empty()
            || multi_table_else_clause.is_some();
        text.refuse("INTO", several)?;
        match priority {
            // There are no table locks that they could wait for or pass by.
            None | Some(ast::MysqlInsertPriority::LowPriority) => {}
            Some(ast::MysqlInsertPriority::HighPriority) => {}
            Some(ast::MysqlInsertPriority::Delayed) => {
                let command = if insert.replace_into {
                    "REPLACE"
                } else {
                    "INSERT"
                };
                self.warnings.push(SqlError::converted_to_insert(command));
            }
        }
        Ok(name)
    }

    fn insert_rows(
        &mut self,
        insert: &ast::Insert,
        table: &Table,
        columns: &[usize],
    ) -> Result<(InsertRows, u32), SqlError> {
        let column = |at: usize| columns.get(at).and_then(|&c| table.columns.get(c));
        self.names().clause = "field list";
        if !insert.assignments.is_empty() {
            let mut row = Vec::new();
            for (at, assignment) in insert.assignments.iter().enumerate() {
                let value = self.assigned(&assignment.value, column(at))?;
                check_target(table, columns.get(at), Some(&value))?;
                row.push(value);
            }
            return Ok((InsertRows::Values(vec![row]), 0));
        }
        let Some(source) = &insert.source else {
            return Err(self.text.error_at_word("DEFAULT"));
        };
        let around = Around::of(source, self.text)?;
        if let ast::SetExpr::Values(values) = source.body.as_ref()
            && source.with.is_none()
            && around.is_plain()
            && around.locks.is_empty()
        {
            let mut rows = Vec::with_capacity(values.rows.len());
            let mut per_row = 0;
            for (i, row) in values.rows.iter().enumerate() {
                // No values at all stand for all defaults.
                let empty = row.is_empty() && (insert.columns.is_empty() || columns.is_empty());
                if row.len() != columns.len() && !empty {
                    return Err(SqlError::wrong_value_count_on_row(i + 1));
                }
                let mut assigned = Vec::with_capacity(row.len());
                for (at, value) in row.iter().enumerate() {
                    let value = self.assigned(value, column(at))?;
                    check_target(table, columns.get(at), Some(&value))?;
                    assigned.push(value);
                }
                if i == 0 {
                    per_row = parameters(&assigned);
                }
                rows.push(assigned);
            }
            let per_row = if rows.len() == 1 { per_row } else { 0 };
            return Ok((InsertRows::Values(rows), per_row));
        }
        for position in columns {
            check_assigned(table, *position, None)?;
        }
        let mut rows = self.selected(source, columns.len(), 0)?;
        if let InsertRows::Query(query) = &mut rows
            && let [block] = query.blocks.as_mut_slice()
        {
            for (at, item) in block.output.iter_mut().enumerate() {
                if let Some(column) = column(at) {
                    let expr = std::mem::replace(&mut item.expr, Expr::null());
                    item.expr = for_column(column, expr);
                }
            }
        }
        Ok((rows, 0))
    }

    /// The rows of a query: so many columns are inserted, and so many further ones are there for
    /// ON DUPLICATE KEY UPDATE.
    fn selected(
        &mut self,
        source: &ast::Query,
        columns: usize,
        further: usize,
    ) -> Result<InsertRows, SqlError> {
        self.stack.push(Names::new(Outside::Nothing));
        let query = self.query(source);
        self.stack.pop();
        let (query, _) = query?;
        if query.types.len() != columns + further {
            return Err(SqlError::wrong_value_count_on_row(1));
        }
        Ok(InsertRows::Query(Box::new(query)))
    }

    pub(super) fn assigned(
        &mut self,
        value: &ast::Expr,
        column: Option<&Column>,
    ) -> Result<Assigned, SqlError> {
        if is_default(value) {
            return Ok(Assigned::Default);
        }
        let mut computed = self.computed(value)?;
        if let Some(column) = column {
            computed.expr = for_column(column, computed.expr);
        }
        Ok(Assigned::Value(computed))
    }

    fn on_duplicate(
        &mut self,
        insert: &ast::Insert,
        table: &Arc<Table>,
        columns: &[usize],
    ) -> Result<Option<Vec<(usize, Assigned)>>, SqlError> {
        if let Some(alias) = &insert.insert_alias {
            self.name_new_row(alias, table, columns)?;
        }
        let assignments = match &insert.on {
            None => return Ok(None),
            Some(ast::OnInsert::DuplicateKeyUpdate(assignments)) => assignments,
            Some(ast::OnInsert::OnConflict(_)) => {
                return Err(self.text.error_at_word("CONFLICT"));
            }
            Some(_) => return Err(SqlError::not_supported("this clause of INSERT")),
        };
        Ok(Some(self.assignments(assignments, table)?))
    }

    /// INSERT … AS new(a, b): the new row has a name, and those of its columns that are given are
    /// called so, in the order in which they are given.
    fn name_new_row(
        &mut self,
        alias: &ast::InsertAliases,
        table: &Arc<Table>,
        given: &[usize],
    ) -> Result<(), SqlError> {
        let ast::InsertAliases {
            row_alias,
            col_aliases,
        } = alias;
        let called = col_aliases.as_deref().unwrap_or_default();
        if !called.is_empty() && called.len() != given.len() {
            return Err(SqlError::column_names_differ());
        }
        let is = |a: &ast::Ident, b: &ast::Ident| a.value.eq_ignore_ascii_case(&b.value);
        for (i, name) in called.iter().enumerate() {
            if called.iter().take(i).any(|before| is(before, name)) {
                return Err(SqlError::duplicate_column(&name.value));
            }
        }
        let shown = self.shown_names(table);
        let name_of = |position: usize, column: &Column| {
            let at = given.iter().position(|&given| given == position)?;
            let called = called.get(at).map(|ident| &ident.value);
            let shown = shown.get(position).unwrap_or(&column.name);
            Some(called.unwrap_or(shown).clone())
        };
        // No name finds a column that is not given.
        let columns = table.columns.iter().enumerate();
        let columns = columns.map(|(position, column)| {
            let name = name_of(position, column).unwrap_or_default();
            (name, ExprType::of_column(column))
        });
        let columns: Vec<(String, ExprType)> = columns.collect();
        let name = row_alias.to_string().trim_matches('`').to_string();
        let names = self.names();
        // The slots after those of the table are the new row's already.
        let slots = std::mem::replace(&mut names.slots, columns.len());
        let database = table.database.clone();
        let added = names.add_table(name, database, Some(Arc::clone(table)), columns);
        names.slots = slots;
        added.map(|_| ())
    }

    /// What SET or ON DUPLICATE KEY UPDATE changes of the table of the block.
    fn assignments(
        &mut self,
        assignments: &[ast::Assignment],
        table: &Table,
    ) -> Result<Vec<(usize, Assigned)>, SqlError> {
        // All the columns are looked up, and looked at, before the first value.
        let mut columns = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            let name = self.assigned_column(&assignment.target)?;
            columns.push(self.assigned_position(table, name)?);
        }
        self.note_change(0, Privilege::Update, Some(&columns));
        self.names().clause = "field list";
        let mut result = Vec::with_capacity(columns.len());
        for (position, assignment) in columns.into_iter().zip(assignments) {
            let value = self.assigned(&assignment.value, table.columns.get(position))?;
            check_assigned(table, position, Some(&value))?;
            result.push((position, value));
        }
        Ok(result)
    }

    /// The name of a column that something is assigned to.
    pub(super) fn assigned_column<'t>(
        &self,
        target: &'t ast::AssignmentTarget,
    ) -> Result<&'t ast::ObjectName, SqlError> {
        match target {
            ast::AssignmentTarget::ColumnName(name) => Ok(name),
            ast::AssignmentTarget::Tuple(_) => Err(SqlError::not_supported("assignment of rows")),
        }
    }

    /// What the columns of a table get by default, by position.
    pub(super) fn defaults(&mut self, table: &Table) -> Result<Vec<Default_>, SqlError> {
        let columns = table.columns.iter();
        columns
            .map(|column| self.default_of(column, table))
            .collect()
    }

    fn default_of(&mut self, column: &Column, table: &Table) -> Result<Default_, SqlError> {
        if column.generated.is_some() {
            // It is computed when the rest of the row is known.
            return Ok(Default_::Constant(Value::Null));
        }
        Ok(match &column.default {
            DefaultValue::None => Default_::None,
            DefaultValue::Null => Default_::Constant(Value::Null),
            DefaultValue::CurrentTimestamp => Default_::Now,
            // Converted when it is used: a TIMESTAMP depends on the session's time zone.
            DefaultValue::Literal(text) => Default_::Expression(Expr::Literal(
                Value::Bytes(text.clone().into_bytes()),
                ExprType::string(
                    u32::try_from(text.chars().count()).unwrap_or(u32::MAX),
                    column.collation,
                    crate::expr::coercibility::LITERAL,
                ),
            )),
            DefaultValue::Expression(text) => {
                let settings = self.context.settings.of_rows();
                let row = &table.columns;
                Default_::Expression(defaults::expression(&column.name, text, row, settings)?)
            }
        })
    }

    /// A table of WITH is not changed.
    pub(super) fn refuse_common(
        &self,
        name: &ast::ObjectName,
        statement: &str,
    ) -> Result<(), SqlError> {
        let common = self.common_table(name);
        match common.and_then(|at| self.common.get(at)) {
            Some(common) => Err(SqlError::not_updatable(&common.name, statement)),
            None => Ok(()),
        }
    }

    /// Compiles UPDATE.
    pub(super) fn any_update(
        &mut self,
        update: &ast::Update,
        ignore: bool,
    ) -> Result<Body, SqlError> {
        if !updates_several(update)
            && let Some(update) = self.update(update, ignore)?
        {
            return Ok(Body::Update(Box::new(update)));
        }
        let joined = self.update_joined(update, ignore)?;
        Ok(Body::UpdateJoined(Box::new(joined)))
    }

    /// Compiles UPDATE of one table. `None`: it is a view of several.
    fn update(&mut self, update: &ast::Update, ignore: bool) -> Result<Option<Update>, SqlError> {
        self.plain_update(update)?;
        let (mark, views) = (self.mark(), self.views.len());
        self.stack.push(Names::new(Outside::All));
        let result = self
            .changed_table(&update.table.relation, Change::Update)
            .and_then(|target| match target {
                Some((table, from)) => self.update_inside(update, &table, from, ignore).map(Some),
                None => Ok(None),
            });
        self.stack.pop();
        if let Ok(None) = result {
            self.back_to(mark);
            self.views.truncate(views);
        }
        result
    }

    fn update_inside(
        &mut self,
        update: &ast::Update,
        table: &Arc<Table>,
        from: From,
        ignore: bool,
    ) -> Result<Update, SqlError> {
        // MySQL looks at the condition first.
        let conditions = self.conditions(update.selection.as_ref())?;
        let assignments = self.assignments(&update.assignments, table)?;
        let defaults = self.defaults(table)?;
        let found = FoundRows {
            conditions,
            order: &update.order_by,
            limit: update.limit.as_ref(),
            returning: None,
        };
        let (block, _) = self.rows_of(table, from, found)?;
        let collect = moves_rows(&block, table, &assignments);
        let conditions_repeat = conditions_repeat(&block);
        let repeats = conditions_repeat && assignments_repeat(&assignments, &defaults);
        Ok(Update {
            block,
            conditions_repeat,
            repeats,
            table: Arc::clone(table),
            assignments,
            defaults,
            collect,
            ignore,
        })
    }

    /// Refuses what UPDATE has elsewhere only.
    pub(super) fn plain_update(&self, update: &ast::Update) -> Result<(), SqlError> {
        let ast::Update {
            update_token: _,
            optimizer_hints: _,
            // These are read.
            table: _,
            assignments: _,
            from,
            selection: _,
            returning,
            output,
            or,
            order_by: _,
            limit: _,
        } = update;
        self.text.refuse("FROM", from.is_some())?;
        self.text.refuse("RETURNING", returning.is_some())?;
        self.text.refuse_behind("OUTPUT", output.is_some())?;
        self.text.refuse("OR", or.is_some())
    }

    /// Refuses what DELETE has elsewhere only.
    pub(super) fn plain_delete(&self, delete: &ast::Delete) -> Result<(), SqlError> {
        let ast::Delete {
            delete_token: _,
            optimizer_hints: _,
            // These are read.
            tables: _,
            from: _,
            using: _,
            selection: _,
            returning: _,
            output,
            order_by: _,
            limit: _,
        } = delete;
        self.text.refuse_behind("OUTPUT", output.is_some())
    }

    /// Compiles DELETE from one table, and the columns of its RETURNING.
    pub(super) fn delete(
        &mut self,
        delete: &ast::Delete,
        ignore: bool,
    ) -> Result<(Delete, Vec<ColumnMeta>), SqlError> {
        let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) =
            &delete.from;
        let [from] = from.as_slice() else {
            return Err(SqlError::internal("DELETE without a table"));
        };
        self.plain_delete(delete)?;
        self.stack.push(Names::new(Outside::All));
        let result = self.delete_inside(delete, &from.relation, ignore);
        self.stack.pop();
        result
    }

    fn delete_inside(
        &mut self,
        delete: &ast::Delete,
        factor: &ast::TableFactor,
        ignore: bool,
    ) -> Result<(Delete, Vec<ColumnMeta>), SqlError> {
        let Some((table, from)) = self.changed_table(factor, Change::Delete)? else {
            let (name, ..) = self.table_factor(factor)?;
            let view = self.view_named(name);
            let view = view.ok_or_else(|| SqlError::internal("a join that is no view"))?;
            return Err(SqlError::delete_from_join_view(&view.database, &view.name));
        };
        self.note_change(0, Privilege::Delete, None);
        // What subqueries read decides which rows go; an UPDATE of one table does not lock that in MySQL, either.
        self.shares = true;
        let conditions = self.conditions(delete.selection.as_ref())?;
        self.shares = false;
        let found = FoundRows {
            conditions,
            order: &delete.order_by,
            limit: delete.limit.as_ref(),
            returning: delete.returning.as_deref(),
        };
        let (block, (returning, columns)) = self.rows_of(&table, from, found)?;
        let deleted = Delete {
            // What is told of a row depends on which version of it was met.
            conditions_repeat: conditions_repeat(&block) && returning.is_none(),
            block,
            table,
            ignore,
            returning,
        };
        Ok((deleted, columns))
    }

    /// The block that finds the rows to change, all their columns, locked; what is computed of them
    /// for RETURNING, and its columns.
    fn rows_of(
        &mut self,
        table: &Arc<Table>,
        from: From,
        found: FoundRows,
    ) -> Result<(Block, Returned), SqlError> {
        let order = self.order_by(found.order, &[], false)?;
        let limit = match found.limit {
            None => None,
            Some(count) => Some(Limit {
                count: Some(self.limit_value(count)?),
                offset: None,
            }),
        };
        let columns = table.columns.len();
        let output = (0..columns)
            .filter_map(|c| self.names().column_of(0, c))
            .map(|expr| Computed {
                expr,
                subqueries: Vec::new(),
                selective: false,
            })
            .collect();
        // What finds the rows must not read the table; RETURNING may.
        let finding = self.names().subqueries.len();
        let returned = self.returning(found.returning)?;
        let mut block = Block {
            order,
            limit,
            output,
            ..Block::default()
        };
        self.place(&mut block, from, found.conditions)?;
        let mut subqueries = block.subqueries.iter().take(finding);
        if let Some(used) = subqueries.find_map(|s| uses(&s.query, table, None)) {
            return Err(SqlError::update_table_used(used));
        }
        Ok((block, returned))
    }
}

/// Which rows an UPDATE or DELETE of one table finds, and what it tells of them.
struct FoundRows<'s> {
    conditions: Vec<Expr>,
    order: &'s [ast::OrderByExpr],
    limit: Option<&'s ast::Expr>,
    returning: Option<&'s [ast::SelectItem]>,
}

/// 3105 for a value of a generated column, if it is any but DEFAULT. `None`: that of a query.
pub(super) fn check_assigned(
    table: &Table,
    position: usize,
    value: Option<&Assigned>,
) -> Result<(), SqlError> {
    match (table.columns.get(position), value) {
        (_, Some(Assigned::Default)) | (None, _) => Ok(()),
        (Some(column), _) if column.generated.is_none() => Ok(()),
        (Some(column), _) => Err(SqlError::generated_value(&column.name, &table.name)),
    }
}

fn check_target(
    table: &Table,
    position: Option<&usize>,
    value: Option<&Assigned>,
) -> Result<(), SqlError> {
    position.map_or(Ok(()), |position| check_assigned(table, *position, value))
}

/// Whether an UPDATE is of a join.
fn updates_several(update: &ast::Update) -> bool {
    !update.table.joins.is_empty() || update.from.is_some() || !is_table(&update.table.relation)
}

/// Whether a DELETE is from a join.
pub(super) fn deletes_from_several(delete: &ast::Delete) -> bool {
    let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) =
        &delete.from;
    !delete.tables.is_empty()
        || delete.using.is_some()
        || from.len() != 1
        || from.iter().any(|t| !t.joins.is_empty())
}

fn is_table(factor: &ast::TableFactor) -> bool {
    matches!(factor, ast::TableFactor::Table { .. })
}

/// Whether a subquery reads the table that the statement changes; if `alias` is given, under that
/// name.
pub(super) fn uses(query: &Query, table: &Table, alias: Option<&str>) -> Option<String> {
    for block in &query.blocks {
        for source in &block.sources {
            let is_named = alias.is_none_or(|alias| source.alias == alias);
            match &source.input {
                Input::Table(read, _) if read.id == table.id && is_named => {
                    return Some(read.name.clone());
                }
                // A derived table is computed before anything is changed, or for each row.
                _ => {}
            }
        }
        let mut subqueries = block.subqueries.iter();
        if let Some(found) = subqueries.find_map(|s| uses(&s.query, table, alias)) {
            return Some(found);
        }
    }
    None
}

/// The query of INSERT … SELECT.
fn selected_rows(insert: &ast::Insert) -> Option<&ast::Query> {
    let source = insert.source.as_deref()?;
    match source.body.as_ref() {
        ast::SetExpr::Values(_) => None,
        _ => insert.assignments.is_empty().then_some(source),
    }
}

/// What a query consists of, without parentheses.
fn body_of(query: &ast::Query) -> &ast::SetExpr {
    match query.body.as_ref() {
        ast::SetExpr::Query(inner) => body_of(inner),
        body => body,
    }
}

/// A SELECT with further columns.
fn with_columns(query: &ast::Query, columns: &[ast::Expr]) -> ast::Query {
    let mut query = query.clone();
    match query.body.as_mut() {
        ast::SetExpr::Query(inner) => **inner = with_columns(inner, columns),
        ast::SetExpr::Select(select) => {
            let further = columns.iter().cloned();
            select
                .projection
                .extend(further.map(ast::SelectItem::UnnamedExpr));
        }
        _ => {}
    }
    query
}

fn is_default(value: &ast::Expr) -> bool {
    matches!(value, ast::Expr::Identifier(ident)
        if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("DEFAULT"))
}

fn parameters(row: &[Assigned]) -> u32 {
    let mut count = 0;
    for value in row {
        if let Assigned::Value(value) = value {
            walk::walk(&value.expr, &mut |e| {
                count += u32::from(matches!(e, Expr::Parameter { .. }));
            });
        }
    }
    count
}

fn add(names: &mut Names, table: &Arc<Table>, alias: &str) -> Result<(), SqlError> {
    names.add_table(
        alias.to_string(),
        table.database.clone(),
        Some(Arc::clone(table)),
        names_of(table),
    )?;
    Ok(())
}

/// The positions of the columns that an INSERT gives values to, in a table or view of this database
/// and name, whose columns have these names and are visible or not.
pub(super) fn target_columns<'c>(
    place: (&str, &str),
    columns: impl Iterator<Item = (&'c str, bool)>,
    insert: &ast::Insert,
) -> Result<Vec<usize>, SqlError> {
    let (known, seen): (Vec<&str>, Vec<bool>) = columns.unzip();
    let mut names: Vec<&ast::ObjectName> = insert.columns.iter().collect();
    for assignment in &insert.assignments {
        match &assignment.target {
            ast::AssignmentTarget::ColumnName(name) => names.push(name),
            ast::AssignmentTarget::Tuple(_) => {
                return Err(SqlError::not_supported("assignment of rows"));
            }
        }
    }
    if names.is_empty() {
        let empty = insert.source.as_ref().is_some_and(|s| {
            matches!(s.body.as_ref(), ast::SetExpr::Values(v)
                if v.rows.iter().all(|r| r.is_empty()))
        });
        let visible = seen.iter().enumerate().filter(|(_, seen)| **seen);
        return Ok(if empty {
            Vec::new()
        } else {
            visible.map(|(position, _)| position).collect()
        });
    }
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let position = position_of(&known, place, None, name)?;
        if columns.contains(&position) {
            let name = known.get(position).copied().unwrap_or_default();
            return Err(SqlError::column_specified_twice(name));
        }
        columns.push(position);
    }
    Ok(columns)
}

/// The column that a statement on one table, called `alias`, names to give it a value.
pub(super) fn column_of(
    table: &Table,
    alias: Option<&str>,
    name: &ast::ObjectName,
) -> Result<usize, SqlError> {
    let columns = table.named_columns().iter();
    let columns: Vec<&str> = columns.map(|c| c.name.as_str()).collect();
    position_of(&columns, table.full_name(), alias, name)
}

fn position_of(
    columns: &[&str],
    (database, table): (&str, &str),
    alias: Option<&str>,
    name: &ast::ObjectName,
) -> Result<usize, SqlError> {
    let parts = name.0.iter().filter_map(|part| part.as_ident());
    let parts: Vec<&str> = parts.map(|ident| ident.value.as_str()).collect();
    let called = |name: &str| name == alias.unwrap_or(table);
    let column = match parts.as_slice() {
        [column] => Some(*column),
        [named, column] if called(named) => Some(*column),
        [of, named, column] if called(named) && *of == database => Some(*column),
        _ => None,
    };
    let is = |column: &str| {
        columns
            .iter()
            .position(|known| known.eq_ignore_ascii_case(column))
    };
    let position = column.and_then(is);
    position.ok_or_else(|| SqlError::unknown_column(parts.join("."), "field list"))
}

/// Whether changing these columns can move a row to where the access path finds it again.
fn moves_rows(block: &Block, table: &Table, assignments: &[(usize, Assigned)]) -> bool {
    let Some(Input::Table(_, access)) = block.sources.first().map(|s| &s.input) else {
        return false;
    };
    let set = |part: &cohort_engine::types::IndexPart| {
        let column = usize::from(part.column);
        assignments.iter().any(|(c, _)| *c == column)
            || table
                .columns
                .get(column)
                .is_some_and(|c| c.on_update_now || c.generated.is_some())
    };
    let primary = table.primary.iter().flat_map(|i| &i.parts).any(set);
    let paths = std::iter::once(access).chain(&access.merged);
    let indexes = paths.filter_map(|path| super::access::index_of(table, path.index));
    primary || indexes.flat_map(|index| &index.parts).any(set)
}

/// Whether the conditions that are checked for each row of the block may be evaluated again on
/// another version of it.
fn conditions_repeat(block: &Block) -> bool {
    let mut filters = block.sources.iter().flat_map(|source| &source.filter);
    block.subqueries.is_empty() && filters.all(computed_repeats)
}

/// Whether the values that are assigned may be computed again on another version of the row.
fn assignments_repeat(assignments: &[(usize, Assigned)], defaults: &[Default_]) -> bool {
    assignments
        .iter()
        .all(|(position, assigned)| match assigned {
            Assigned::Value(computed) => computed_repeats(computed),
            Assigned::Default => match defaults.get(*position) {
                Some(Default_::Expression(expr)) => is_repeatable(expr),
                Some(Default_::Constant(_) | Default_::Now | Default_::None) | None => true,
            },
        })
}

fn computed_repeats(computed: &Computed) -> bool {
    computed.subqueries.is_empty() && is_repeatable(&computed.expr)
}
