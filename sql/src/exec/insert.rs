//! INSERT and REPLACE.

use super::{
    ExecContext, Flow, Outcome, Stop,
    block::BlockRun,
    change::{Changed, Parents, delete_row, find_parents, insert_row, takes_back_rows, update_row},
    check,
    duplicate::duplicate_error,
    generated,
    returning::Returning,
    row_store::Cursor,
    subquery::{collect, run_query},
    write::{assign_all, counted, note_auto_increment},
};
use crate::{
    error::SqlError,
    expr::{
        Expr, Origin, SqlMode, VariableScope, assign, assign_from, eval, implicit_default,
        visit_operands,
    },
    plan::{Assigned, Computed, Default_, Input, Insert, InsertRows, Query},
};
use cohort_engine::{
    invariant::broken,
    txn::{LockMode, OnConflict, Read, Spacing},
    types::{Column, ColumnType, DateTime, Table, Value, row},
};
use std::sync::Arc;

/// Runs an INSERT: its row of VALUES `times` over, each time with the next `stride` parameters.
pub(super) fn insert<'p>(
    plan: &'p Insert,
    returning: Returning<'p>,
    context: &mut ExecContext,
    (times, stride): (usize, usize),
) -> Result<Outcome, Stop> {
    let mut inserter = Inserter::new(plan, returning, context);
    context.eval.ignore = plan.ignore;
    context.eval.inserts = true;
    context.eval.be_strict();
    match &plan.rows {
        InsertRows::Values(rows) => {
            let all = context.eval.params;
            inserter.expected = (rows.len() * times) as u64;
            let single = rows.len() * times == 1;
            if !single {
                context.eval.forgive_nulls();
            }
            for i in 0..times {
                if times > 1 {
                    let params = all.get(i * stride..(i + 1) * stride).unwrap_or(all);
                    context.eval.set_params(params);
                }
                for row in rows {
                    context.tick()?;
                    inserter.values_row(row, context)?;
                }
            }
            context.eval.set_params(all);
            Ok(inserter.outcome(single, context))
        }
        InsertRows::File(_) => Err(broken("LOAD DATA has a way of its own").into()),
        InsertRows::Query(query) => {
            context.eval.forgive_nulls();
            let origins = query.origins();
            let collects = reads(query, &plan.table);
            // What replaces rows may change others by foreign keys.
            let only_adds = !plan.replace && plan.on_duplicate.is_none();
            context.locks_ahead =
                query.reads_to_the_end() && (collects || only_adds) && !context.unlock;
            if collects {
                let rows = collect(query, context, &[])?;
                let mut cursor = Cursor::default();
                for place in 0..rows.len() {
                    let mut row = rows.get(place, &mut cursor)?.to_vec();
                    inserter.given_row(&mut row, &origins, context)?;
                }
            } else {
                run_query(query, context, &[], &mut |context, row| {
                    inserter.given_row(row, &origins, context)?;
                    Ok(Flow::Continue)
                })?;
            }
            Ok(inserter.outcome(false, context))
        }
    }
}

/// So many rows of a statement have their index entries at once: the maps of so many are in the caches.
const ENTRIES_AT_ONCE: usize = 4_096;

/// Whether all that a statement does with its table is to add rows: it changes none, and reads none
/// meanwhile, nor takes single ones back.
fn may_delay_entries(plan: &Insert, context: &ExecContext) -> bool {
    let is_plain = !plan.replace && plan.on_duplicate.is_none() && plan.returning.is_none();
    let has_relations = context.relations_of(&plan.table).is_some();
    is_plain
        && plan.block.subqueries.is_empty()
        && !has_relations
        && !takes_back_rows(&plan.table, context)
}

/// Whether a query reads the table that is inserted into: then its rows are collected first.
fn reads(query: &Query, table: &Table) -> bool {
    let mut found = false;
    query.each_source(&mut |source| {
        found |= matches!(&source.input, Input::Table(other, _) if other.id == table.id);
    });
    found
}

/// Puts rows into a table, one after the other.
pub(super) struct Inserter<'p> {
    plan: &'p Insert,
    table: &'p Arc<Table>,
    /// The new row.
    row: Vec<Value>,
    /// What expressions with subqueries, and ON DUPLICATE KEY UPDATE, are evaluated on.
    run: BlockRun<'p>,
    image: Vec<u8>,
    /// RETURNING.
    returning: Returning<'p>,
    auto: Option<usize>,
    /// The row asks for the next AUTO_INCREMENT value; until it has that, expressions see zero.
    asks: bool,
    /// Columns that no value is given for, but have a default.
    missing: Vec<usize>,
    /// Columns that no value is given for and that have no default.
    required: Vec<usize>,
    /// Columns that no value is given for and whose default comes when the others have theirs.
    computed: Vec<usize>,
    /// Columns that no value is given for and that are zero or empty then.
    zeroed: Vec<usize>,
    /// How many rows are expected, if that is known: so many AUTO_INCREMENT values are taken at once.
    expected: u64,
    /// Those that are left of them: from the first, below the last.
    reserved: std::ops::Range<u64>,
    /// All that were taken with these.
    taken: std::ops::Range<u64>,
    /// The values are those from SET INSERT_ID on.
    forced: bool,
    /// How often AUTO_INCREMENT values were taken.
    times_reserved: u32,
    /// So many rows were still to come when they were taken last, and have not come since.
    awaited: u64,
    /// What was generated for the current row, which may yet update another one.
    generated: u64,
    /// The AUTO_INCREMENT value of the last row that was looked at, as it is or was to be.
    last_id: u64,
    /// Rows that were added, changed or replaced.
    copied: u64,
    affected: u64,
    records: u64,
    /// IGNORE counts the rows that came to nothing, otherwise those that were changed or replaced
    /// count.
    duplicates: u64,
    /// Rows that break a constraint count as if they had not been there.
    ignored: u64,
    /// The value that the row itself gives its AUTO_INCREMENT column, if it is more than 0.
    given: u64,
}

/// What became of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is in the table.
    Stored,
    /// IGNORE has left it out for another one of the same key, or it came to the same as that one.
    Left,
    /// It breaks a constraint, and IGNORE has left it out.
    Refused,
}

/// What a LOAD DATA tells of.
pub(super) struct LoadCounts {
    /// Rows that came as far as the table.
    pub records: u64,
    /// Rows that gave way to others.
    pub deleted: u64,
    /// Rows that were left out.
    pub skipped: u64,
    /// Rows that came, and those that gave way.
    pub affected: u64,
}

impl<'p> Inserter<'p> {
    pub(super) fn new(
        plan: &'p Insert,
        returning: Returning<'p>,
        context: &mut ExecContext,
    ) -> Inserter<'p> {
        if may_delay_entries(plan, context) {
            context.txn.delay_entries(ENTRIES_AT_ONCE);
        }
        let columns = plan.table.columns.len();
        let auto = plan.table.auto_increment_column();
        let without = (0..columns).filter(|c| !plan.columns.contains(c) && auto != Some(*c));
        let (required, missing): (Vec<usize>, Vec<usize>) =
            without.partition(|&c| matches!(plan.defaults.get(c), Some(Default_::None)));
        let (computed, mut missing): (Vec<usize>, Vec<usize>) =
            missing.into_iter().partition(|c| is_late(plan, *c));
        let mut zeroed = Vec::new();
        if reads_row(plan) {
            // Until they have what they are given, expressions see their defaults.
            let given = plan.columns.iter().filter(|given| auto != Some(**given));
            let is_default = |c: &usize| {
                let is_none = matches!(plan.defaults.get(*c), Some(Default_::None));
                !is_none && !is_late(plan, *c)
            };
            let (known, unknown): (Vec<usize>, Vec<usize>) = given.partition(|c| is_default(c));
            missing.extend(known);
            zeroed = unknown;
        }
        Inserter {
            plan,
            table: &plan.table,
            row: vec![Value::Null; columns],
            run: BlockRun::new(&plan.block, &[]),
            image: Vec::new(),
            returning,
            auto,
            asks: true,
            missing,
            required,
            computed,
            zeroed,
            expected: 0,
            reserved: 0..0,
            taken: 0..0,
            forced: false,
            times_reserved: 0,
            awaited: 0,
            generated: 0,
            last_id: 0,
            copied: 0,
            affected: 0,
            records: 0,
            duplicates: 0,
            ignored: 0,
            given: 0,
        }
    }

    /// What it has done for a LOAD DATA.
    pub(super) fn counts_of_load(&self) -> LoadCounts {
        let deleted = if self.plan.replace {
            self.duplicates
        } else {
            0
        };
        LoadCounts {
            records: self.numbered(),
            deleted,
            skipped: self.numbered().saturating_sub(self.affected - deleted),
            affected: self.affected,
        }
    }

    /// Columns that are not given and have no default are zero or empty, whatever the sql_mode is.
    pub(super) fn forgive_missing(&mut self) {
        self.computed.append(&mut self.required);
        let (computed, zeroed): (Vec<usize>, Vec<usize>) =
            self.computed.iter().partition(|c| is_late(self.plan, **c));
        self.computed = computed;
        self.zeroed.extend(zeroed);
    }

    /// The row that was begun last is none.
    pub(super) fn forget_row(&mut self) {
        self.records -= 1;
    }

    fn outcome(self, single: bool, context: &ExecContext) -> Outcome {
        let warnings = context.eval.warnings.count();
        // What is told of a row that IGNORE leaves out does not count.
        let of_left_out = if context.ignore { self.duplicates } else { 0 };
        let is_told = warnings > of_left_out && tells_warnings(context);
        let info = if single && !is_told {
            String::new()
        } else {
            format!(
                "Records: {}  Duplicates: {}  Warnings: {warnings}",
                self.numbered(),
                self.duplicates
            )
        };
        Outcome {
            affected_rows: self.affected,
            insert_id: match context.generated_id {
                // A SELECT whose rows may change others makes nothing of what it is given.
                0 if self.copied == 0 || self.selects() && self.plan.on_duplicate.is_some() => 0,
                0 => self.last_id,
                first => first,
            },
            info,
            rows: self.returning.rows,
        }
    }

    /// How many rows have a number: not those that were refused.
    fn numbered(&self) -> u64 {
        self.records - self.ignored
    }

    fn selects(&self) -> bool {
        matches!(self.plan.rows, InsertRows::Query(_))
    }

    pub(super) fn begin_row(&mut self, context: &mut ExecContext) {
        self.records += 1;
        context.eval.row_number = self.numbered();
        self.row.fill(Value::Null);
        if let Some(auto) = self.auto {
            self.put(auto, Value::Null);
        }
        self.generated = 0;
        self.given = 0;
    }

    fn values_row(&mut self, values: &[Assigned], context: &mut ExecContext) -> Result<(), Stop> {
        self.begin_row(context);
        self.defaults(context)?;
        for (value, &position) in values.iter().zip(&self.plan.columns) {
            match value {
                Assigned::Default => self.default_value(position, context)?,
                Assigned::Value(computed) => {
                    let value = self.value(computed, context)?;
                    self.set(position, value, || computed.origin(), context)?;
                }
            }
        }
        self.finish_row(context)?;
        Ok(())
    }

    /// The value of an expression on the new row as far as it is known.
    pub(super) fn value(
        &mut self,
        computed: &Computed,
        context: &mut ExecContext,
    ) -> Result<Value, Stop> {
        if computed.subqueries.is_empty() {
            return Ok(eval(&computed.expr, &self.row, &mut context.eval)?);
        }
        for (slot, value) in self.run.row.iter_mut().zip(&self.row) {
            slot.clone_from(value);
        }
        self.run.prepare_for(computed, context)?;
        Ok(eval(&computed.expr, &self.run.row, &mut context.eval)?)
    }

    fn given_row(
        &mut self,
        values: &mut [Value],
        origins: &[Origin],
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        self.begin_row(context);
        self.defaults(context)?;
        let columns = self.plan.columns.iter().zip(origins);
        for (value, (&position, origin)) in values.iter_mut().zip(columns) {
            let set = self.set(position, std::mem::take(value), || *origin, context);
            if let (Err(_), true) = (&set, context.eval.is_strict()) {
                // Of a row that a query gives, all that is wrong is told.
                let missing = self.missing_values();
                missing.for_each(|error| context.eval.warnings.tell_behind(error));
            }
            set?;
        }
        let further = values.iter_mut().skip(self.plan.columns.len());
        let slots = self.run.row.iter_mut().skip(2 * self.table.columns.len());
        for (slot, value) in slots.zip(further) {
            *slot = std::mem::take(value);
        }
        self.finish_row(context)?;
        Ok(())
    }

    /// The row before values are given to it: expressions may refer to columns before theirs.
    pub(super) fn defaults(&mut self, context: &mut ExecContext) -> Result<(), Stop> {
        // The definition has been checked, in the sql_mode of then.
        context.eval.takes_zero_dates = true;
        let taken = self.default_values(|inserter| &inserter.missing, context);
        context.eval.takes_zero_dates = false;
        taken?;
        let others = self.required.iter().chain(&self.computed);
        for &position in others.chain(&self.zeroed) {
            if let (Some(column), Some(slot)) =
                (self.table.columns.get(position), self.row.get_mut(position))
                && !column.nullable
            {
                *slot = zero(column);
            }
        }
        Ok(())
    }

    /// What is wrong with the values given comes before what is not given.
    fn check_required(&mut self, context: &mut ExecContext) -> Result<(), Stop> {
        let mut missing = self.missing_values();
        if !context.eval.is_strict() {
            missing.for_each(|error| context.eval.warnings.warn_once(error));
            return Ok(());
        }
        let Some(first) = missing.next() else {
            return Ok(());
        };
        missing.for_each(|error| context.eval.warnings.tell_behind(error));
        Err(first.into())
    }

    /// 1364 for each column that is not given and has no default.
    fn missing_values(&self) -> impl Iterator<Item = SqlError> {
        let required = self.required.iter();
        let columns = required.filter_map(|position| self.table.columns.get(*position));
        let columns = columns.filter(|column| !has_implicit_default(column));
        columns.map(|column| SqlError::no_default_for_field(&column.name))
    }

    fn default_values(
        &mut self,
        of: fn(&Self) -> &[usize],
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        let mut next = 0;
        while let Some(&position) = of(self).get(next) {
            self.default_value(position, context)?;
            next += 1;
        }
        Ok(())
    }

    /// Gives a column its default.
    pub(super) fn default_value(
        &mut self,
        position: usize,
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        let value = default_value(
            self.plan.defaults.get(position),
            self.table,
            position,
            &self.row,
            context,
        )?;
        self.put(position, value);
        Ok(())
    }

    /// Puts a value of the column's type into the row; NULL in an AUTO_INCREMENT column asks for the
    /// next value.
    pub(super) fn put(&mut self, position: usize, mut value: Value) {
        if self.auto == Some(position) {
            self.asks = value.is_null();
            if let Some(column) = self.table.columns.get(position).filter(|_| self.asks) {
                value = zero(column);
            }
        }
        if let Some(slot) = self.row.get_mut(position) {
            *slot = value;
        }
    }

    /// Assigns a value to a column.
    pub(super) fn set(
        &mut self,
        position: usize,
        value: Value,
        origin: impl FnOnce() -> Origin,
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        let Some(column) = self.table.columns.get(position) else {
            return Ok(());
        };
        let value = if value.is_null() && self.auto == Some(position) {
            value
        } else {
            assign_from(column, value, origin, &mut context.eval)
                .map_err(|error| error.in_table(&self.table.name))?
        };
        self.put(position, value);
        Ok(())
    }

    /// How many values are taken at once, as MySQL does: the first time those of all rows, whatever
    /// they gave before, later those of the rows that are left of these; of rows that nobody has
    /// counted, each time twice as many.
    fn number_to_reserve(&mut self) -> u64 {
        const TIMES_MAX: u32 = 16;
        if self.awaited == 0 {
            self.awaited = match self.times_reserved {
                0 if self.expected > 0 => self.expected,
                times => (1 << times.min(TIMES_MAX)).min((1 << TIMES_MAX) - 1),
            };
        }
        self.times_reserved += 1;
        self.awaited
    }

    /// Gives the AUTO_INCREMENT column its value: the next one for NULL and 0.
    fn auto_increment(&mut self, context: &mut ExecContext) -> Result<(), Stop> {
        let Some(position) = self.auto else {
            return Ok(());
        };
        let keep_zero = context
            .eval
            .statement
            .sql_mode
            .has(SqlMode::NO_AUTO_VALUE_ON_ZERO);
        let spacing = context.auto_increment;
        let given = match self.row.get(position) {
            _ if self.asks => None,
            None => None,
            Some(Value::Int(0) | Value::UInt(0)) if !keep_zero => None,
            Some(Value::Int(n)) if *n < 0 => {
                return Ok(());
            }
            Some(Value::Int(n)) => Some(n.cast_unsigned()),
            Some(Value::UInt(n)) => Some(*n),
            Some(Value::Double(n)) if *n == 0.0 && !keep_zero => None,
            Some(Value::Float(n)) if *n == 0.0 && !keep_zero => None,
            Some(Value::Double(n)) => Some(*n as u64),
            Some(Value::Float(n)) => Some(*n as u64),
            Some(_) => Some(0),
        };
        if let Some(given) = given {
            if given > 0 {
                self.given = given;
                self.go_on_above(given, spacing);
            }
            return Ok(());
        }
        let Some(column) = self.table.columns.get(position) else {
            return Ok(());
        };
        let largest = column.largest_integer();
        let next = {
            if context.insert_id > 0 {
                // The rows after this one go on from it.
                let first = std::mem::take(&mut context.insert_id);
                self.reserved = first..u64::MAX;
                self.forced = true;
            } else if self.reserved.is_empty() {
                let count = self.number_to_reserve();
                let engine = context.engine;
                let first = engine.auto_increment_spaced(self.table, count, spacing);
                let is_beyond = first.saturating_sub(1) > largest;
                if is_beyond && spacing.step == 1 {
                    return Err(SqlError::auto_increment_failed().into());
                }
                // The next one that there is space for.
                if is_beyond && first < u64::MAX {
                    let lost = SqlError::out_of_range(&column.name, self.records);
                    if !self.plan.ignore && context.eval.is_strict() {
                        return Err(lost.into());
                    }
                    context.eval.warnings.warn(lost);
                }
                // The next statement tries the largest again: mostly it is there already.
                let first = match self.times_reserved {
                    1 if first < u64::MAX => first.min(largest),
                    _ => first,
                };
                self.reserved = first..first.saturating_add(spacing.step.saturating_mul(count));
                self.taken = self.reserved.clone();
            }
            let next = self.reserved.start;
            self.reserved.start = spacing.after(next);
            next
        };
        if next == u64::MAX || next > largest && !self.forced {
            return Err(SqlError::auto_increment_failed().into());
        }
        let next = next.min(largest);
        if self.forced {
            self.given = next;
        }
        let value = assign(column, Value::UInt(next), &mut context.eval)?;
        self.put(position, value);
        self.generated = next;
        self.last_id = next;
        Ok(())
    }

    /// A row has this value by itself. What was reserved may be below it: MySQL goes on above.
    fn go_on_above(&mut self, value: u64, spacing: Spacing) {
        if self.reserved.contains(&value) {
            self.reserved.start = spacing.after(value);
        } else if value >= self.reserved.end {
            self.reserved = 0..0;
        }
    }

    /// 1869 if a row is changed to have a value that was taken for another row of the statement.
    fn check_own_values(&self) -> Result<(), SqlError> {
        let Some(auto) = self.auto.filter(|_| self.generated > 0) else {
            return Ok(());
        };
        let mut assigned = self.plan.on_duplicate.iter().flatten();
        let value = counted(self.run.row.get(auto));
        let is_taken = value != self.generated && self.taken.contains(&value);
        match is_taken && assigned.any(|(position, _)| *position == auto) {
            true => Err(SqlError::auto_increment_conflict()),
            false => Ok(()),
        }
    }

    /// The row that was changed may have taken what was reserved: id = VALUES(id). The largest is tried
    /// again.
    fn go_on_above_changed(&mut self, spacing: Spacing) {
        let Some(auto) = self.auto else {
            return;
        };
        let taken = counted(self.run.row.get(auto));
        let column = self.table.columns.get(auto);
        if column.is_some_and(|column| taken < column.largest_integer()) {
            self.go_on_above(taken, spacing);
        }
    }

    /// Computes what is left of the row, and puts it into the table.
    pub(super) fn finish_row(&mut self, context: &mut ExecContext) -> Result<Fate, Stop> {
        self.last_id = self.auto.map_or(0, |auto| told(self.row.get(auto)));
        self.check_required(context)?;
        self.default_values(|inserter| &inserter.computed, context)?;
        context.eval.check_losses()?;
        generated::fill(self.table, &mut self.row, context)?;
        // No constraint names the column that counts, and a row that is refused takes no number.
        if !check::accepts(self.table, &self.row, context)? {
            self.ignored += 1;
            return Ok(Fate::Refused);
        }
        let Some(mut parents) = self.find_parents(context)? else {
            self.ignored += 1;
            return Ok(Fate::Refused);
        };
        let reserved = self.reserved.clone();
        self.auto_increment(context)?;
        self.encode();
        // Who goes on to change the row that stands in the way wants it X at once.
        let changes_duplicates = self.plan.replace || self.plan.on_duplicate.is_some();
        let duplicates = match changes_duplicates {
            true => LockMode::Exclusive,
            false => LockMode::Shared,
        };
        loop {
            let inserted = insert_row(self.table, &self.image, parents, duplicates, context)?;
            self.awaited = self.awaited.saturating_sub(1);
            // What gave way to the row may have been a parent.
            parents = Parents::Unknown;
            let index = match inserted {
                Changed::Done => {
                    self.affected += 1;
                    self.copied += 1;
                    self.note_given(context);
                    self.note_generated(context);
                    self.tell(context)?;
                    return Ok(Fate::Stored);
                }
                Changed::Ignored => {
                    self.ignored += 1;
                    self.note_generated(context);
                    return Ok(Fate::Refused);
                }
                Changed::Duplicate(index) => index,
            };
            if self.duplicate(&index, context)? {
                self.give_back(reserved, context);
                if self.plan.on_duplicate.is_some() {
                    self.go_on_above_changed(context.auto_increment);
                }
                return Ok(Fate::Left);
            }
        }
    }

    /// LAST_INSERT_ID() is the first value of the statement.
    fn note_generated(&self, context: &mut ExecContext) {
        if context.generated_id == 0 {
            context.generated_id = self.generated;
        }
    }

    fn encode(&mut self) {
        let columns = self.table.columns.len();
        let row = self.row.get(..columns).unwrap_or_default();
        self.image.clear();
        row::encode(self.table, row, &mut self.image);
    }

    /// Looks for the row's parents before it takes a number, unless that is part of a foreign key:
    /// as in MySQL, a row without parents takes none. `None` if IGNORE leaves it out.
    fn find_parents(&mut self, context: &mut ExecContext) -> Result<Option<Parents>, Stop> {
        let Some(auto) = self.auto else {
            return Ok(Some(Parents::Unknown));
        };
        let keys = &self.table.foreign_keys;
        let mut columns = keys.iter().flat_map(|key| &key.columns);
        if keys.is_empty() || columns.any(|column| usize::from(*column) == auto) {
            return Ok(Some(Parents::Unknown));
        }
        let Some(column) = self.table.columns.get(auto) else {
            return Ok(Some(Parents::Unknown));
        };
        let before = self.row.get_mut(auto);
        let before = before.map(|slot| std::mem::replace(slot, zero(column)));
        self.encode();
        if let (Some(slot), Some(before)) = (self.row.get_mut(auto), before) {
            *slot = before;
        }
        let found = find_parents(self.table, &self.image, context)?;
        Ok(found.then_some(Parents::Found))
    }

    /// RETURNING of the new row.
    fn tell(&mut self, context: &mut ExecContext) -> Result<(), Stop> {
        let (returning, run) = (&mut self.returning, &mut self.run);
        returning.tell(self.table, &self.image, run, context)
    }

    /// The value of a row that does not come goes to the next one.
    fn give_back(&mut self, reserved: std::ops::Range<u64>, context: &ExecContext) {
        if !reserved.is_empty() || self.generated == 0 {
            self.reserved = reserved;
        } else if self.reserved.start == context.auto_increment.after(self.generated) {
            self.reserved.start = self.generated;
        }
    }

    /// The next AUTO_INCREMENT value is above one that came into the table by itself.
    fn note_given(&self, context: &ExecContext) {
        if self.given > 0 {
            context.engine.auto_increment_at_least_spaced(
                self.table,
                self.given,
                context.auto_increment,
            );
        }
    }

    /// Another row has the same key: `false` if it is gone now and the insert is tried again.
    fn duplicate(&mut self, index: &str, context: &mut ExecContext) -> Result<bool, Stop> {
        let generated = self.plan.replace && self.generated > 0 && self.counts(index);
        if self.plan.replace || self.selects() {
            self.note_given(context);
        }
        if self.plan.on_duplicate.is_none() && !self.plan.replace || generated {
            let error = duplicate_error(self.table, index, &self.row);
            if !self.plan.ignore {
                return Err(error.into());
            }
            self.duplicates += 1;
            context.eval.warnings.warn(error);
            return Ok(true);
        }
        let Some(key) = context.txn.find_duplicate(self.table, &self.image, index)? else {
            return Ok(false);
        };
        let mut old = Vec::new();
        let read = Read::Locking(LockMode::Exclusive, OnConflict::Wait);
        context.handler.read_key += 1;
        if !context.txn.get(self.table.rows, &key, read, &mut old)? {
            return Ok(false);
        }
        if self.plan.replace {
            if old == self.image && is_last_unique(self.table, index) {
                self.affected += 1;
                self.copied += 1;
                self.tell(context)?;
                return Ok(true);
            }
            if let Changed::Done = delete_row(self.table, &key, &old, Some(&self.image), context)? {
                self.affected += 1;
            }
            self.duplicates += 1;
            // MySQL changes that row to be the new one, which comes no second time.
            self.awaited += u64::from(is_last_unique(self.table, index));
            return Ok(false);
        }
        self.update_duplicate(&key, &old, context)?;
        Ok(true)
    }

    /// Whether an index is that of the AUTO_INCREMENT column: what was generated for it replaces
    /// no row.
    fn counts(&self, name: &str) -> bool {
        let mut indexes = self.table.primary.iter().chain(&self.table.indexes);
        let index = indexes.find(|index| index.name == name);
        let first = index.and_then(|index| index.parts.first());
        first.is_some_and(|part| self.auto == Some(part.column.into()))
    }

    /// ON DUPLICATE KEY UPDATE.
    fn update_duplicate(
        &mut self,
        key: &[u8],
        old: &[u8],
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        // The row that is there, then what was to be inserted.
        let found = row::decode(self.table, old)?.into_iter();
        let values = found.chain(std::mem::take(&mut self.row));
        for (slot, value) in self.run.row.iter_mut().zip(values) {
            *slot = value;
        }
        self.row.resize(self.table.columns.len(), Value::Null);
        let assignments = self.plan.on_duplicate.as_deref().unwrap_or_default();
        let mut image = Vec::with_capacity(old.len());
        let forgives = context.eval.ignore;
        // What several rows of a SELECT are forgiven is no NULL in a row that is there.
        context.eval.ignore &= self.plan.ignore || !self.selects();
        let assigned = assign_all(
            self.table,
            assignments,
            &self.plan.defaults,
            old,
            &mut self.run,
            &mut image,
            context,
        );
        context.eval.ignore = forgives;
        assigned?;
        self.check_own_values()?;
        if let Some(auto) = self.auto {
            self.last_id = told(self.run.row.get(auto));
        }
        if image == old {
            self.affected += u64::from(context.found_rows);
            let found = context.found_rows && !self.selects();
            self.duplicates += u64::from(found || self.plan.ignore);
            let (returning, run) = (&mut self.returning, &mut self.run);
            return returning.tell(self.table, old, run, context);
        }
        match update_row(self.table, key, old, &image, context)? {
            Changed::Done => {}
            Changed::Ignored => {
                self.duplicates += 1;
                self.affected += u64::from(context.found_rows);
                return Ok(());
            }
            Changed::Duplicate(index) => {
                let error = duplicate_error(self.table, &index, &self.run.row);
                if !self.plan.ignore {
                    return Err(error.into());
                }
                context.eval.warnings.warn(error);
                self.duplicates += 1;
                self.affected += u64::from(context.found_rows);
                return Ok(());
            }
        }
        self.affected += 2;
        self.copied += 1;
        self.duplicates += u64::from(!self.plan.ignore);
        if let Some(auto) = self.auto {
            note_auto_increment(self.table, self.run.row.get(auto), context);
        }
        let (returning, run) = (&mut self.returning, &mut self.run);
        returning.tell(self.table, &image, run, context)
    }
}

/// The value of a column that counts as the reply has it: below zero it wraps around.
fn told(value: Option<&Value>) -> u64 {
    match value {
        Some(Value::Int(value)) => value.cast_unsigned(),
        value => counted(value),
    }
}

/// Whether an expression of a row reads what the row has.
fn reads_row(plan: &Insert) -> bool {
    fn reads(expr: &Expr) -> bool {
        let mut found = matches!(expr, Expr::Column { .. });
        visit_operands(expr, &mut |operand| found |= reads(operand));
        found
    }
    let InsertRows::Values(rows) = &plan.rows else {
        return false;
    };
    let mut values = rows.iter().flatten();
    values.any(|value| matches!(value, Assigned::Value(computed) if reads(&computed.expr)))
}

/// Whether a column has its default only after the others have what they are given: it is computed of
/// them, or the time of the statement.
fn is_late(plan: &Insert, position: usize) -> bool {
    let column = plan.table.columns.get(position);
    let is_computed = column.is_some_and(|column| column.default.is_computed());
    is_computed || matches!(plan.defaults.get(position), Some(Default_::Now))
}

/// Whether no unique index comes after this one. What REPLACE finds by the last one it updates, so
/// a row that is the same already counts once.
fn is_last_unique(table: &Table, index: &str) -> bool {
    let mut unique = table.indexes.iter().filter(|other| other.unique);
    match index {
        "PRIMARY" => unique.next().is_none(),
        _ => unique.next_back().is_some_and(|last| last.name == index),
    }
}

/// What a column gets by default.
pub(super) fn default_value(
    default: Option<&Default_>,
    table: &Table,
    position: usize,
    row: &[Value],
    context: &mut ExecContext,
) -> Result<Value, Stop> {
    let Some(column) = table.columns.get(position) else {
        return Ok(Value::Null);
    };
    match default {
        Some(Default_::Constant(value)) => Ok(value.clone()),
        Some(Default_::Now) => now(column, context),
        Some(Default_::Expression(expr)) => {
            let value = eval(expr, row, &mut context.eval)?;
            let origin = || Origin::of_expr(expr);
            let assigned = assign_from(column, value, origin, &mut context.eval);
            Ok(assigned.map_err(|error| error.in_table(&table.name))?)
        }
        Some(Default_::None) | None => {
            if has_implicit_default(column) {
                return Ok(zero(column));
            }
            let error = SqlError::no_default_for_field(&column.name);
            if context.eval.is_strict() {
                return Err(error.into());
            }
            context.eval.warnings.warn(error);
            Ok(if column.nullable {
                Value::Null
            } else {
                zero(column)
            })
        }
    }
}

/// Whether a column that has no default gets zero, or its first member, without a word.
fn has_implicit_default(column: &Column) -> bool {
    column.auto_increment || matches!(column.ty, ColumnType::Enum(_)) && !column.nullable
}

/// The statement's time for a column.
pub(super) fn now(column: &Column, context: &mut ExecContext) -> Result<Value, Stop> {
    let now = cut_to(column, context.eval.statement.now());
    Ok(assign(column, Value::DateTime(now), &mut context.eval)?)
}

/// A moment without the digits that a column does not have: CURRENT_TIMESTAMP is not rounded.
pub(crate) fn cut_to(column: &Column, mut moment: DateTime) -> DateTime {
    let fsp = match column.ty {
        ColumnType::DateTime(fsp) | ColumnType::Timestamp(fsp) => fsp,
        _ => 0,
    };
    moment.micros -= moment.micros % 10_u64.pow(6 - u32::from(fsp.min(6)));
    moment
}

/// What a column without a default gets outside strict mode.
pub(crate) fn zero(column: &Column) -> Value {
    // Of an ENUM the first member, which is not what NULL becomes.
    let first = column.members.one(1);
    let first = first.filter(|_| matches!(column.ty, ColumnType::Enum(_)));
    first.unwrap_or_else(|| implicit_default(column))
}

/// sql_warnings: an INSERT of one row tells of its warnings, too.
fn tells_warnings(context: &ExecContext) -> bool {
    let environment = &context.eval.environment;
    let value = environment.system_variable(VariableScope::Session, "sql_warnings");
    matches!(value, Ok(Value::Int(1)))
}
