//! LOAD DATA: rows from a file go into a table by the same door as those of an INSERT.
//!
//! ```text
//! Source ── bytes ──▶ Reader ── fields ──▶ Loading ── row ──▶ Inserter
//! ```
//!
//! A row begins with the defaults of its columns. Fields are put into columns as texts that are
//! assigned, or into user variables; then SET is evaluated on what is there. Only then it shows whether
//! NULL is left in a column that cannot have it. The number of a row, which warnings tell, counts the
//! rows that came as far as the table: those that a constraint keeps out are not among them.
//!
//! What the client sends is read to its end, whatever becomes of the statement, for the client hears of
//! nothing before; while it is waited for nobody holds a slot.

mod reader;
mod source;

use super::{
    ExecContext, Outcome, Stop,
    insert::{Fate, Inserter, now, zero},
    returning::Returning,
};
use crate::{
    error::SqlError,
    expr::{ExprType, Origin, SqlMode, VariableScope, coercibility, implicit_default},
    output::Output,
    plan::{Assigned, Default_, FieldSlot, Insert, Load},
};
use cohort_engine::types::{Charset, Collation, Column, ColumnType, Value, schema::DefaultValue};
use reader::{Field, Reader};
use source::Source;

/// Runs a LOAD DATA.
pub(super) fn load(
    plan: &Insert,
    load: &Load,
    context: &mut ExecContext,
    out: &mut dyn Output,
) -> Result<Outcome, Stop> {
    context.eval.ignore = plan.ignore;
    context.eval.be_strict();
    context.eval.forgive_nulls();
    if let Some(warning) = load.format.check(<[u8]>::len)? {
        context.eval.warnings.warn(warning);
    }
    let fixed = check_fixed(plan, load)?;
    let collation = collation_of(load, context);
    let escape = load.format.escape(
        context
            .eval
            .statement
            .sql_mode
            .has(SqlMode::NO_BACKSLASH_ESCAPES),
    );
    let source = Source::open(&load.file, load.local, context, out)?;
    let mut loading = Loading {
        plan,
        load,
        inserter: Inserter::new(plan, Returning::nobody(), context),
        reader: Reader::new(source, &load.format, escape, collation.charset()),
        collation,
        skip: load.skip,
        nulls: Vec::new(),
        exceeded: None,
    };
    let result = loading.run(fixed, context);
    let Loading {
        inserter, reader, ..
    } = loading;
    // An error of the client's side is worse than what it was to hear.
    reader.into_source().finish()?;
    result?;
    Ok(outcome(inserter, context))
}

/// What the client hears.
fn outcome(inserter: Inserter<'_>, context: &ExecContext) -> Outcome {
    let counts = inserter.counts_of_load();
    let warnings = context.eval.warnings.count();
    let info = format!(
        "Records: {}  Deleted: {}  Skipped: {}  Warnings: {warnings}",
        counts.records, counts.deleted, counts.skipped
    );
    Outcome {
        affected_rows: counts.affected,
        info,
        ..Outcome::default()
    }
}

/// Of rows whose fields have a fixed number of bytes each: how many a row has. 1084 and 1409 if that
/// cannot be.
fn check_fixed(plan: &Insert, load: &Load) -> Result<Option<usize>, SqlError> {
    let (mut bytes, mut has_blobs, mut has_variables) = (0, false, false);
    for field in &load.fields {
        match field.column().map(|at| plan.table.columns.get(at)) {
            Some(Some(column)) => {
                has_blobs |= matches!(column.ty, ColumnType::Text(_) | ColumnType::Json);
                bytes += field_bytes(column);
            }
            Some(None) => {}
            None => has_variables = true,
        }
    }
    let format = &load.format;
    if has_blobs && format.lines.is_empty() && format.between.is_empty() {
        return Err(SqlError::blobs_of_fixed_length());
    }
    if !format.is_fixed() {
        return Ok(None);
    }
    if has_variables {
        return Err(SqlError::fixed_rows_to_variable());
    }
    Ok(Some(bytes))
}

/// How many bytes a column takes in a row of fixed length: those of its longest text.
fn field_bytes(column: &Column) -> usize {
    /// What MySQL makes of a column without an end.
    const BLOB: usize = 256;
    match column.ty {
        ColumnType::Text(_) | ColumnType::Json => BLOB,
        _ => {
            let characters = ExprType::of_column(column).length as usize;
            let each = match column.ty.has_collation() {
                true => column.collation.max_char_bytes() as usize,
                false => 1,
            };
            characters * each
        }
    }
}

/// The collation of what the file holds: that of CHARACTER SET, or of the default database.
fn collation_of(load: &Load, context: &ExecContext) -> Collation {
    if let Some(charset) = load.charset {
        return charset.default_collation();
    }
    let environment = &context.eval.environment;
    let named = |name| match environment.system_variable(VariableScope::Any, name) {
        Ok(Value::Bytes(text)) => Some(String::from_utf8_lossy(&text).into_owned()),
        Ok(_) | Err(_) => None,
    };
    let charset = named("character_set_database");
    let charset = charset.and_then(|name| Charset::from_name(&name));
    let charset = charset.unwrap_or(Charset::Utf8mb4);
    let collation = named("collation_database");
    let collation = collation.and_then(|name| Collation::from_name(&name));
    let of_it = collation.filter(|collation| collation.charset() == charset);
    of_it.unwrap_or(charset.default_collation())
}

/// A LOAD DATA that runs.
struct Loading<'p, 'o> {
    plan: &'p Insert,
    load: &'p Load,
    inserter: Inserter<'p>,
    reader: Reader<'o>,
    /// Of the texts in the file.
    collation: Collation,
    /// Rows that are still to be skipped.
    skip: u64,
    /// Columns of the row for which the file has NULL and that cannot have it.
    nulls: Vec<(usize, &'p Column)>,
    /// The line before had too many fields, which is an error: it is told when the fields of the next
    /// one are where they go.
    exceeded: Option<Stop>,
}

impl<'p> Loading<'p, '_> {
    fn run(&mut self, fixed: Option<usize>, context: &mut ExecContext) -> Result<(), Stop> {
        self.inserter.forgive_missing();
        if self.reader.has_lines() {
            while self.skip > 0 {
                self.skip -= 1;
                context.tick()?;
                if !self.reader.next_line(context)? {
                    break;
                }
            }
            self.skip = 0;
        }
        loop {
            context.tick()?;
            let goes_on = match fixed {
                Some(bytes) => self.fixed_row(bytes, context)?,
                None => self.row(context)?,
            };
            if !goes_on {
                return self.exceeded.take().map_or(Ok(()), Err);
            }
        }
    }

    /// Loads a row; false at the end of the file.
    fn row(&mut self, context: &mut ExecContext) -> Result<bool, Stop> {
        let load = self.load;
        self.inserter.begin_row(context);
        self.inserter.defaults(context)?;
        let mut fields = load.fields.iter();
        let mut read = 0_usize;
        // The first error is told when all fields are where they go: variables are seen afterwards.
        let mut taken = self.exceeded.take().map_or(Ok(()), Err);
        for slot in &load.fields {
            let field = match self.reader.field(context) {
                Ok(Some(field)) => field,
                Ok(None) => break,
                Err(stop) => return taken.and(Err(stop)),
            };
            read += 1;
            fields.next();
            if self.skip == 0 {
                let this = self.take(slot, &field, context);
                taken = taken.and(this);
            }
        }
        if self.skip > 0 {
            self.skip -= 1;
            self.inserter.forget_row();
            return Ok(read > 0);
        }
        taken?;
        if read == 0 {
            self.inserter.forget_row();
            return Ok(false);
        }
        for slot in fields {
            self.miss(slot, context)?;
        }
        self.store(context)
    }

    /// Loads a row whose fields have a fixed number of bytes each.
    fn fixed_row(&mut self, bytes: usize, context: &mut ExecContext) -> Result<bool, Stop> {
        let row = match self.reader.fixed(bytes, context)? {
            Some(row) => row.to_vec(),
            None => return Ok(false),
        };
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(true);
        }
        if let Some(stop) = self.exceeded.take() {
            return Err(stop);
        }
        self.inserter.begin_row(context);
        self.inserter.defaults(context)?;
        let (load, table) = (self.load, &self.plan.table);
        let mut rest = row.as_slice();
        for slot in &load.fields {
            let Some((position, column)) = slot
                .column()
                .and_then(|at| Some((at, table.columns.get(at)?)))
            else {
                continue;
            };
            if rest.is_empty() {
                self.lack(context)?;
                self.reset(position, column, context)?;
                continue;
            }
            let (field, behind) = rest.split_at(field_bytes(column).min(rest.len()));
            rest = behind;
            let field = field.to_vec();
            self.assign(position, column, field, context)?;
        }
        if !rest.is_empty() {
            self.exceed(context)?;
        }
        self.store(context)
    }

    /// Puts a field where it goes.
    fn take(
        &mut self,
        slot: &'p FieldSlot,
        field: &Field,
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        let position = match slot {
            FieldSlot::Column(position) => *position,
            FieldSlot::Variable(name) => {
                let value = match field.is_null {
                    true => Value::Null,
                    false => {
                        let text = self.reader.text(field);
                        Value::Bytes(self.collation.charset().decode(text).into_owned())
                    }
                };
                let environment = &mut context.eval.environment;
                environment.set_user_variable(name, value, self.collation);
                return Ok(());
            }
        };
        let Some(column) = self.plan.table.columns.get(position) else {
            return Ok(());
        };
        if !field.is_null {
            let bytes = self.reader.text(field).to_vec();
            return self.assign(position, column, bytes, context);
        }
        let value = if is_timestamp(column) {
            now(column, context)?
        } else if column.nullable || column.auto_increment || column.generated.is_some() {
            Value::Null
        } else {
            // Told when SET has been evaluated, which sees this.
            self.nulls.push((position, column));
            implicit_default(column)
        };
        self.inserter.put(position, value);
        Ok(())
    }

    /// Assigns a text of the file to a column.
    fn assign(
        &mut self,
        position: usize,
        column: &Column,
        bytes: Vec<u8>,
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        let charset = self.collation.charset();
        let (text, collation) = match column.ty.is_string() && column.is_binary() {
            true => (bytes, Collation::Binary),
            false if charset.is_as_stored() => (bytes, self.collation),
            false => (charset.decode(&bytes).into_owned(), self.collation),
        };
        let origin = || Origin::of_type(&ExprType::string(0, collation, coercibility::IMPLICIT));
        let value = Value::Bytes(text);
        self.inserter.set(position, value, origin, context)
    }

    /// The line has no field for this.
    fn miss(&mut self, slot: &FieldSlot, context: &mut ExecContext) -> Result<(), Stop> {
        match slot {
            FieldSlot::Variable(name) => {
                let environment = &mut context.eval.environment;
                environment.set_user_variable(name, Value::Null, self.collation);
                Ok(())
            }
            FieldSlot::Column(position) => {
                self.lack(context)?;
                match self.plan.table.columns.get(*position) {
                    Some(column) => self.reset(*position, column, context),
                    None => Ok(()),
                }
            }
        }
    }

    /// 1261 in strict mode, else a warning.
    fn lack(&mut self, context: &mut ExecContext) -> Result<(), Stop> {
        lossy(SqlError::too_few_fields(context.eval.row_number), context)
    }

    /// 1262 in strict mode, else a warning.
    fn exceed(&mut self, context: &mut ExecContext) -> Result<(), Stop> {
        lossy(SqlError::too_many_fields(context.eval.row_number), context)
    }

    /// What a column gets that no field is there for: zero or empty, unless NULL is its default.
    fn reset(
        &mut self,
        position: usize,
        column: &Column,
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        let is_null = column.nullable && column.default == DefaultValue::Null;
        let value = if is_timestamp(column) {
            now(column, context)?
        } else if is_null || column.auto_increment {
            Value::Null
        } else {
            implicit_default(column)
        };
        self.inserter.put(position, value);
        Ok(())
    }

    /// NULL was in the file for columns that cannot have it: told of each, also of those that got
    /// another value by SET, and of these twice.
    fn tell_nulls(&mut self, context: &mut ExecContext) -> Result<(), Stop> {
        let nulls = std::mem::take(&mut self.nulls);
        for (position, column) in &nulls {
            if self.load.assignments.iter().any(|(set, _)| set == position) {
                lossy(SqlError::bad_null(&column.name), context)?;
            }
        }
        for (_, column) in nulls {
            let row = context.eval.row_number;
            lossy(SqlError::null_to_not_null(&column.name, row), context)?;
        }
        Ok(())
    }

    /// What is left to be done for a row whose fields are where they go; false if it was the last one.
    fn store(&mut self, context: &mut ExecContext) -> Result<bool, Stop> {
        let plan = self.plan;
        for (position, value) in &self.load.assignments {
            let column = plan.table.columns.get(*position);
            match value {
                // It is computed, whatever is SET.
                _ if column.is_some_and(|column| column.generated.is_some()) => {}
                // Which asks for the next number, unless zero is one.
                Assigned::Default
                    if let Some(column) = column
                        && column.auto_increment =>
                {
                    self.inserter.put(*position, zero(column));
                }
                Assigned::Default
                    if let (Some(column), Some(Default_::None)) =
                        (column, plan.defaults.get(*position))
                        && !context.eval.is_strict() =>
                {
                    // Told of each row.
                    let error = SqlError::no_default_for_field(&column.name);
                    context.eval.warnings.warn(error);
                    self.inserter.put(*position, zero(column));
                }
                Assigned::Default => self.inserter.default_value(*position, context)?,
                Assigned::Value(computed) => {
                    let value = self.inserter.value(computed, context)?;
                    let origin = || computed.origin();
                    self.inserter.set(*position, value, origin, context)?;
                }
            }
        }
        self.tell_nulls(context)?;
        let fate = self.inserter.finish_row(context)?;
        let goes_on = self.reader.next_line(context)?;
        match fate {
            Fate::Stored | Fate::Left if goes_on && self.reader.cut => {
                self.exceeded = self.exceed(context).err();
            }
            // Nobody is told of what else was in the line of a row that was refused.
            Fate::Stored | Fate::Left | Fate::Refused => {}
        }
        Ok(goes_on)
    }
}

/// Whether NULL and nothing are the time of the statement in a column.
fn is_timestamp(column: &Column) -> bool {
    matches!(column.ty, ColumnType::Timestamp(_)) && !column.nullable
}

/// An error in strict mode, else a warning.
fn lossy(error: SqlError, context: &mut ExecContext) -> Result<(), Stop> {
    if context.eval.is_strict() {
        return Err(error.into());
    }
    context.eval.warnings.warn(error);
    Ok(())
}
