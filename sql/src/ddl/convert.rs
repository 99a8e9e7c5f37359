//! Values on their way into changed or new columns.
//!
//! The engine calls the conversion of rows while it holds the table. It knows the facts of the
//! session's statement; what else a session has, no default can ask for.

use super::alter::Altered;
use crate::{
    defaults,
    error::SqlError,
    exec::{check_values, cut_to, fill_values, zero},
    expr::{
        self, Environment, EvalContext, Expr, Origin, SqlMode, Statement, VariableScope,
        functions::CipherMode, language::Language,
    },
    plan::TableDemands,
    row_expr::Settings,
    warnings::Warnings,
};
use cohort_engine::{
    invariant::broken,
    txn::{Copying, Numbers, Others, Spacing},
    types::{Collation, Column, ColumnType, Table, Value, row, schema::DefaultValue},
};
use parking_lot::Mutex;
use std::sync::{Arc, atomic::Ordering};

/// What @@div_precision_increment is as it comes.
const DIV_PRECISION_INCREMENT: u8 = 4;

/// What no expression asks for here: see `defaults`, which refuses those that do.
struct NoEnvironment;

/// Says that it was asked for nonetheless.
fn asked(what: &str) -> SqlError {
    broken(format_args!("no default asks for {what}")).into()
}

impl Environment for NoEnvironment {
    fn user_variable(&self, _name: &str) -> Option<(Value, Collation)> {
        asked("user variables");
        None
    }
    fn set_user_variable(&mut self, _name: &str, _value: Value, _collation: Collation) {
        asked("user variables");
    }
    fn system_variable(&self, _scope: VariableScope, _name: &str) -> Result<Value, SqlError> {
        Err(asked("system variables"))
    }
    fn set_last_insert_id(&mut self, _id: u64) {
        asked("LAST_INSERT_ID()");
    }
    fn clock_micros(&self) -> i64 {
        asked("SYSDATE()");
        0
    }
    fn random(&mut self) -> u64 {
        asked("RAND()");
        0
    }
    fn next_short_uuid(&mut self) -> u64 {
        asked("UUID_SHORT()");
        0
    }
    fn sleep(&mut self, _micros: u64) -> bool {
        asked("SLEEP()");
        false
    }
    fn interruption(&self) -> Option<SqlError> {
        None
    }
}

/// Runs `work` in a context for evaluation.
fn in_context<T>(
    session: &Statement<'_>,
    warnings: &mut Warnings,
    work: impl FnOnce(&mut EvalContext<'_>) -> T,
) -> T {
    let mut environment = NoEnvironment;
    let mut context = EvalContext::new(&[], session, &mut environment, warnings);
    work(&mut context)
}

/// Converts a value as a row in strict mode would.
pub(super) fn assign_strictly(
    column: &Column,
    value: Value,
    session: &Statement<'_>,
) -> Result<Value, SqlError> {
    let session = Statement {
        sql_mode: session.sql_mode.with(SqlMode::STRICT),
        ..*session
    };
    let mut warnings = Warnings::default();
    in_context(&session, &mut warnings, |context| {
        expr::assign(column, value, context)
    })
}

/// The settings that computed values depend on and that the log does not have of a statement, as SET
/// takes them; those that are as they come are left out.
pub(super) fn settings(session: &Statement<'_>) -> String {
    let mut settings = Vec::new();
    if session.div_precision_increment != DIV_PRECISION_INCREMENT {
        let digits = session.div_precision_increment;
        settings.push(format!("div_precision_increment = {digits}"));
    }
    if session.week_format != 0 {
        settings.push(format!("default_week_format = {}", session.week_format));
    }
    if session.language != Language::default() {
        settings.push(format!("lc_time_names = '{}'", session.language.name()));
    }
    if session.cipher_mode != CipherMode::DEFAULT {
        let mode = session.cipher_mode.name();
        settings.push(format!("block_encryption_mode = '{mode}'"));
    }
    settings.join(", ")
}

/// Where a column's values come from when rows are rewritten.
enum Source {
    /// A column of the old row, as it is.
    Same(usize),
    /// A column of the old row, converted.
    Copying(usize),
    /// The same value for every row.
    Value(Value),
    /// The same value, to be refused for each row in its turn.
    Assigned(Value),
    /// An expression, once for each row.
    Expression(Box<Expr>),
    /// The next number: a new AUTO_INCREMENT column.
    Numbers,
    /// A column of the old row, converted, and the next number instead of NULL and of 0 (unless it
    /// stays): it becomes an AUTO_INCREMENT column.
    NumbersFor { position: usize, zero_stays: bool },
    /// It is a generated column: computed when the others are known.
    Generated,
}

/// What a conversion of rows tells besides the rows.
#[derive(Default)]
pub(super) struct Outcome {
    /// Why a row was refused.
    pub error: Option<SqlError>,
    /// What was changed or lost.
    pub warnings: Warnings,
    /// How many rows there were.
    pub rows: u64,
}

/// The conversion of rows from one definition to another.
pub(super) struct Conversion<'a> {
    old: Arc<Table>,
    new: Table,
    sources: Vec<Source>,
    session: &'a Statement<'a>,
    row: Vec<Value>,
    /// What the rows of the new table must fulfil.
    demands: Option<TableDemands>,
    /// How MySQL calls NULL in a column that takes none: it depends on the way it changes tables.
    null_is_truncated: bool,
    /// Where AUTO_INCREMENT goes on.
    numbers: Numbers,
    /// How far apart the numbers of rows are, and the greatest one until now.
    spacing: Spacing,
    last_number: u64,
    outcome: Arc<Mutex<Outcome>>,
}

impl<'a> Conversion<'a> {
    /// From `old` to `new`, the table of `altered`.
    pub fn new(
        old: &Arc<Table>,
        new: &Table,
        altered: &Altered,
        (session, spacing): (&'a Statement<'a>, Spacing),
        outcome: &Arc<Mutex<Outcome>>,
    ) -> Result<Conversion<'a>, SqlError> {
        let columns = new.columns.iter().zip(&altered.sources);
        let sources = columns.map(|(column, source)| {
            if column.generated.is_some() {
                return Ok(Source::Generated);
            }
            let Some(position) = *source else {
                return added(column, new, session);
            };
            let before = old.columns.get(position);
            if column.auto_increment && before.is_some_and(|before| !before.auto_increment) {
                return Ok(Source::NumbersFor {
                    position,
                    zero_stays: session.sql_mode.has(SqlMode::NO_AUTO_VALUE_ON_ZERO),
                });
            }
            let same = before.is_some_and(|before| keeps_values(before, column));
            Ok(if same {
                Source::Same(position)
            } else {
                Source::Copying(position)
            })
        });
        Ok(Conversion {
            sources: sources.collect::<Result<_, SqlError>>()?,
            old: Arc::clone(old),
            new: new.clone(),
            session,
            row: Vec::new(),
            demands: TableDemands::of(new, Settings::of(session))?,
            null_is_truncated: altered.copies,
            numbers: Numbers {
                used: Arc::default(),
                restart: altered.restart,
            },
            spacing,
            last_number: match (altered.copies, spacing.step) {
                // MySQL begins one later if it need not copy the table.
                (false, 2..) => spacing.counter_after(new.auto_increment_min.max(1), 1) - 1,
                _ => new.auto_increment_min.saturating_sub(1),
            },
            outcome: Arc::clone(outcome),
        })
    }

    /// Where AUTO_INCREMENT goes on, by the rows so far.
    pub fn numbers(&self) -> Numbers {
        self.numbers.clone()
    }

    /// What others may do with the table meanwhile, at most: rows that are numbered must all be there.
    pub fn others(&self) -> Others {
        match self
            .sources
            .iter()
            .any(|source| matches!(source, Source::Numbers | Source::NumbersFor { .. }))
        {
            true => Others::Read,
            false => Others::Write,
        }
    }

    /// Converts one image; the error is in the outcome.
    pub fn convert(
        &mut self,
        which: Copying,
        image: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        let outcome = Arc::clone(&self.outcome);
        let mut outcome = outcome.lock();
        let told = match which {
            Copying::New => {
                outcome.rows += 1;
                None
            }
            // What is lost of it was told when it was new.
            Copying::Again => Some(outcome.warnings.clone()),
        };
        let converted = self.checked_row(image, &mut outcome);
        if let Some(told) = told {
            outcome.warnings = told;
        }
        match converted {
            Ok(()) => {
                self.note_auto_increment();
                row::encode(&self.new, &self.row, out);
                Ok(())
            }
            Err(error) => {
                let words = error.message.clone();
                outcome.error = Some(error);
                Err(words)
            }
        }
    }

    fn note_auto_increment(&self) {
        let column = self.new.auto_increment_column();
        let Some(used) = column.and_then(|column| self.row.get(column)).map(positive) else {
            return;
        };
        let used = match used == self.last_number {
            // Where the counter goes by a number that was given.
            true => self.spacing.counter_after(used, 1).max(used + 1) - 1,
            false => used,
        };
        self.numbers.used.fetch_max(used, Ordering::Relaxed);
    }

    fn checked_row(&mut self, image: &[u8], outcome: &mut Outcome) -> Result<(), SqlError> {
        self.row(image, outcome)?;
        let Some(demands) = &self.demands else {
            return Ok(());
        };
        in_context(self.session, &mut outcome.warnings, |context| {
            context.row_number = outcome.rows;
            context.storing = true;
            context.be_strict();
            fill_values(demands, &self.new, &mut self.row, context)?;
            check_values(demands, &self.row, context)
        })
    }

    fn row(&mut self, image: &[u8], outcome: &mut Outcome) -> Result<(), SqlError> {
        let malformed = |_| SqlError::internal("a row image that does not fit its table");
        let mut before = row::decode(&self.old, image).map_err(malformed)?;
        let number = outcome.rows;
        self.row.clear();
        for (column, source) in self.new.columns.iter().zip(&self.sources) {
            let mut take = |position: usize| {
                let value = before.get_mut(position);
                value.map(std::mem::take).unwrap_or_default()
            };
            let old = &self.old.columns;
            let mut assign = |column: &Column, value: Value| {
                in_context(self.session, &mut outcome.warnings, |context| {
                    context.row_number = number;
                    match source {
                        Source::Copying(position) | Source::NumbersFor { position, .. }
                            if old.len() > *position =>
                        {
                            let old = &old[*position];
                            expr::assign_from(column, value, || Origin::of_column(old), context)
                        }
                        _ => expr::assign(column, value, context),
                    }
                })
            };
            self.row.push(match source {
                Source::Same(position) => take(*position),
                Source::Generated => Value::Null,
                Source::Value(value) => value.clone(),
                Source::Numbers => {
                    self.last_number = next_number(self.spacing, self.last_number, column)?;
                    assign(column, Value::UInt(self.last_number))?
                }
                Source::NumbersFor {
                    position,
                    zero_stays,
                } => {
                    let mut value = take(*position);
                    if let Some(old) = self.old.columns.get(*position) {
                        value = as_seen(old, value, self.session);
                    }
                    if !value.is_null() {
                        value = assign(column, value)?;
                    }
                    let has_number = match value {
                        Value::Int(0) | Value::UInt(0) => *zero_stays,
                        ref other => !other.is_null(),
                    };
                    if has_number {
                        self.last_number = self.last_number.max(positive(&value));
                        value
                    } else {
                        self.last_number = next_number(self.spacing, self.last_number, column)?;
                        assign(column, Value::UInt(self.last_number))?
                    }
                }
                Source::Assigned(value) => assign(column, value.clone())?,
                Source::Expression(_) => Value::Null,
                Source::Copying(position) => {
                    let mut value = take(*position);
                    if let Some(old) = self.old.columns.get(*position) {
                        value = as_seen(old, value, self.session);
                    }
                    if value.is_null() && !column.nullable {
                        if !self.session.sql_mode.has(SqlMode::STRICT) {
                            let lost = SqlError::data_truncated(&column.name, number);
                            outcome.warnings.warn(lost);
                            self.row.push(expr::implicit_default(column));
                            continue;
                        }
                        return Err(if self.null_is_truncated {
                            SqlError::data_truncated(&column.name, number)
                        } else {
                            SqlError::invalid_use_of_null()
                        });
                    }
                    if let (Value::Bytes(_), ColumnType::Bit(_)) = (&value, column.ty) {
                        // The number that the text is, not its bytes.
                        let whole = Column::new(&column.name, ColumnType::BigInt);
                        value = assign(&whole, value)?;
                    }
                    assign(column, value)?
                }
            });
        }
        self.computed(outcome)
    }

    /// Computes the new columns whose defaults are expressions, which may name the others.
    fn computed(&mut self, outcome: &mut Outcome) -> Result<(), SqlError> {
        let sources = self.new.columns.iter().zip(&self.sources).enumerate();
        for (position, (column, source)) in sources {
            let Source::Expression(expression) = source else {
                continue;
            };
            let row = &self.row;
            let value = in_context(self.session, &mut outcome.warnings, |context| {
                context.row_number = outcome.rows;
                let value = expr::eval(expression, row, context)?;
                let origin = || Origin::of_expr(expression);
                expr::assign_from(column, value, origin, context)
            })?;
            if let Some(slot) = self.row.get_mut(position) {
                *slot = value;
            }
        }
        Ok(())
    }
}

/// The number after this one; 1467 if there is none.
fn next_number(spacing: Spacing, last: u64, column: &Column) -> Result<u64, SqlError> {
    let next = spacing.after(last);
    match spacing.step <= 1 && next > column.largest_integer() {
        true => Err(SqlError::auto_increment_failed()),
        false => Ok(next),
    }
}

/// A whole number; 0 if it is below, or none.
fn positive(value: &Value) -> u64 {
    match value {
        Value::Int(n) => u64::try_from(*n).unwrap_or(0),
        Value::UInt(n) => *n,
        _ => 0,
    }
}

/// A stored value as a query of its column sees it: a TIMESTAMP is local time.
fn as_seen(old: &Column, value: Value, session: &Statement<'_>) -> Value {
    match (value, old.ty) {
        (Value::DateTime(moment), ColumnType::Timestamp(_)) => {
            Value::DateTime(session.time_zone.to_local(moment))
        }
        (value, _) => value,
    }
}

/// Whether all values of a column are values of its new definition.
fn keeps_values(old: &Column, new: &Column) -> bool {
    let fits = match (old.ty, new.ty) {
        (ColumnType::VarChar(old), ColumnType::VarChar(longer)) => old <= longer,
        (ColumnType::Text(old), ColumnType::Text(larger)) => old <= larger,
        (old, new) => old == new,
    };
    fits && old.unsigned == new.unsigned
        && old.members.begin(&new.members)
        && old.is_binary() == new.is_binary()
        && new.collation.charset().includes(old.collation.charset())
        && (new.nullable || !old.nullable)
}

/// Whether rows that get a column have a zero date there, which sql_mode may forbid. A TIMESTAMP MySQL never refuses.
pub(super) fn is_date_without_default(column: &Column) -> bool {
    let is_date = matches!(column.ty, ColumnType::Date | ColumnType::DateTime(_));
    let is_plain = column.generated.is_none() && column.default == DefaultValue::None;
    is_date && !column.nullable && is_plain
}

/// What all rows of before get in an added column that is not computed; `None`: that depends on the row, or it is
/// refused if there is one.
pub(super) fn value_of_all(
    column: &Column,
    table: &Table,
    session: &Statement<'_>,
) -> Result<Option<Value>, SqlError> {
    Ok(match added(column, table, session)? {
        Source::Value(value) => Some(value),
        _ => None,
    })
}

/// What the rows of before get in an added column.
fn added(column: &Column, table: &Table, session: &Statement<'_>) -> Result<Source, SqlError> {
    let value = match &column.default {
        _ if column.auto_increment => return Ok(Source::Numbers),
        DefaultValue::Expression(text) => {
            let (row, settings) = (&table.columns, Settings::of(session));
            let expression = defaults::expression(&column.name, text, row, settings)?;
            defaults::check_repeatable(&expression)?;
            return Ok(Source::Expression(Box::new(expression)));
        }
        DefaultValue::Null => return Ok(Source::Value(Value::Null)),
        DefaultValue::None if column.nullable => return Ok(Source::Value(Value::Null)),
        DefaultValue::None => zero(column),
        DefaultValue::CurrentTimestamp => Value::DateTime(cut_to(column, session.now())),
        DefaultValue::Literal(text) => Value::Bytes(text.clone().into_bytes()),
    };
    if column.default == DefaultValue::None && !is_date_without_default(column) {
        return Ok(Source::Value(value));
    }
    // A zero date may be refused, but only if there is a row to refuse it for.
    Ok(match assign_strictly(column, value.clone(), session) {
        Ok(value) => Source::Value(value),
        Err(_) => Source::Assigned(value),
    })
}
