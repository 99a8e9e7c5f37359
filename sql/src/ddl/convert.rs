//! Values on their way into changed or new columns, and the expressions of defaults.
//!
//! A schema change has no session around it: the engine calls the conversion of rows while it
//! holds the table, so everything it needs is copied into it (`Rules`).

use super::alter::Altered;
use crate::{
    error::SqlError,
    exec::zero,
    expr::{
        self, Environment, EvalContext, Expr, Scope, SqlMode, Statement, SubqueryUse, TimeZone,
        VariableScope,
    },
    lexer::Mode,
    parse,
    warnings::Warnings,
};
use cohort_engine::types::{
    Collation, Column, ColumnType, DateTime, Table, Value, row, schema::DefaultValue,
};
use parking_lot::Mutex;
use sqlparser::ast;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// What conversions of values depend on.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// @@sql_mode
    pub sql_mode: SqlMode,
    /// @@time_zone
    pub time_zone: TimeZone,
    /// When the statement began: microseconds since 1970, UTC.
    pub now_micros: i64,
}

/// Nobody's session.
struct NoSession;

impl Environment for NoSession {
    fn user_variable(&self, _name: &str) -> Option<(Value, Collation)> {
        None
    }
    fn set_user_variable(&mut self, _name: &str, _value: Value, _collation: Collation) {}
    fn system_variable(&self, _scope: VariableScope, name: &str) -> Result<Value, SqlError> {
        Err(SqlError::unknown_variable(name))
    }
    fn set_last_insert_id(&mut self, _id: u64) {}
    fn clock_micros(&self) -> i64 {
        0
    }
    fn random(&mut self) -> u64 {
        0
    }
    fn sleep(&mut self, _micros: u64) -> bool {
        false
    }
    fn interruption(&self) -> Option<SqlError> {
        None
    }
}

/// Runs `work` in a context for evaluation.
fn in_context<T>(
    rules: Rules,
    warnings: &mut Warnings,
    work: impl FnOnce(&mut EvalContext<'_>) -> T,
) -> T {
    let statement = Statement {
        now_micros: rules.now_micros,
        time_zone: rules.time_zone,
        sql_mode: rules.sql_mode,
        collation: Collation::Utf8mb40900AiCi,
        max_allowed_packet: 64 << 20,
        group_concat_bytes_max: 1024,
        cte_depth_max: 1000,
        div_precision_increment: 4,
        week_format: 0,
        connection_id: 0,
        database: None,
        user: "",
        current_user: "",
        version: "",
        last_insert_id: 0,
        row_count: 0,
        found_rows: 0,
    };
    let mut session = NoSession;
    let mut context = EvalContext::new(&[], &statement, &mut session, warnings);
    work(&mut context)
}

/// Converts a value as a row in strict mode would.
pub(super) fn assign_strictly(
    column: &Column,
    value: Value,
    rules: Rules,
) -> Result<Value, SqlError> {
    let rules = Rules {
        sql_mode: rules.sql_mode.with(SqlMode::STRICT),
        ..rules
    };
    let mut warnings = Warnings::default();
    in_context(rules, &mut warnings, |context| {
        expr::assign(column, value, context)
    })
}

/// Names in the expression of a default: none but functions.
struct NoNames;

impl Scope for NoNames {
    fn column(&mut self, path: &[ast::Ident]) -> Result<Expr, SqlError> {
        let name = path.last().map(|name| name.value.as_str());
        let name = name.unwrap_or_default();
        Err(SqlError::not_supported(format_args!(
            "columns in DEFAULT expressions: {name}"
        )))
    }
    fn parameter(&mut self, _index: u32) -> Result<Expr, SqlError> {
        Err(SqlError::not_supported("parameters in DEFAULT expressions"))
    }
    fn subquery(
        &mut self,
        _query: &ast::Query,
        _usage: SubqueryUse,
    ) -> Result<Vec<Expr>, SqlError> {
        Err(SqlError::not_supported("subqueries in DEFAULT expressions"))
    }
    fn function(&mut self, _function: &ast::Function) -> Result<Option<Expr>, SqlError> {
        Ok(None)
    }
}

/// How deep a DEFAULT expression may be: every row evaluates it on its session's stack.
const DEFAULT_DEPTH_MAX: usize = 100;

/// The expression of a DEFAULT (expression), from its text in the dictionary.
pub fn default_expression(text: &str) -> Result<Expr, SqlError> {
    let sql = format!("SELECT ({text})");
    let refused = || SqlError::not_supported("this DEFAULT expression");
    parse::parse(sql.as_bytes(), Mode::default(), None, |parsed| {
        let ast::Statement::Query(query) = &parsed.statement else {
            return Err(refused());
        };
        let ast::SetExpr::Select(select) = query.body.as_ref() else {
            return Err(refused());
        };
        let [ast::SelectItem::UnnamedExpr(expression)] = select.projection.as_slice() else {
            return Err(refused());
        };
        let expression = expr::resolve_expr(expression, &mut NoNames)?;
        if expr::depth(&expression) > DEFAULT_DEPTH_MAX {
            return Err(SqlError::nesting_too_deep());
        }
        Ok(expression)
    })
}

/// Refuses an expression that no row could be given.
pub(super) fn check_expression(text: &str) -> Result<(), SqlError> {
    default_expression(text).map(|_| ())
}

/// Where a column's values come from when rows are rewritten.
enum Source {
    /// A column of the old row, as it is.
    Same(usize),
    /// A column of the old row, converted.
    Converted(usize),
    /// The same value for every row.
    Value(Value),
    /// The same value, to be refused for each row in its turn.
    Assigned(Value),
    /// An expression, once for each row.
    Expression(Box<Expr>),
    /// Numbers from 1: a new AUTO_INCREMENT column.
    Numbers,
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
pub(super) struct Conversion {
    old: Arc<Table>,
    new: Table,
    sources: Vec<Source>,
    rules: Rules,
    row: Vec<Value>,
    /// How MySQL calls NULL in a column that takes none: it depends on the way it changes tables.
    null_is_truncated: bool,
    /// The greatest value of the AUTO_INCREMENT column.
    used: Arc<AtomicU64>,
    outcome: Arc<Mutex<Outcome>>,
}

impl Conversion {
    /// From `old` to `new`, the table of `altered`.
    pub fn new(
        old: &Arc<Table>,
        new: &Table,
        altered: &Altered,
        rules: Rules,
        outcome: &Arc<Mutex<Outcome>>,
    ) -> Result<Conversion, SqlError> {
        let columns = new.columns.iter().zip(&altered.sources);
        let sources = columns.map(|(column, source)| {
            let Some(position) = *source else {
                return added(column, rules);
            };
            let before = old.columns.get(position);
            let same = before.is_some_and(|before| keeps_values(before, column));
            Ok(if same {
                Source::Same(position)
            } else {
                Source::Converted(position)
            })
        });
        Ok(Conversion {
            sources: sources.collect::<Result<_, SqlError>>()?,
            old: Arc::clone(old),
            new: new.clone(),
            rules,
            row: Vec::new(),
            null_is_truncated: altered.copies,
            used: Arc::default(),
            outcome: Arc::clone(outcome),
        })
    }

    /// The greatest AUTO_INCREMENT value of the rows so far.
    pub fn auto_increment_used(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.used)
    }

    /// The values of the row that was converted last.
    pub fn values(&self) -> &[Value] {
        &self.row
    }

    /// Converts one image; the error is in the outcome.
    pub fn convert(&mut self, image: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        let outcome = Arc::clone(&self.outcome);
        let mut outcome = outcome.lock();
        outcome.rows += 1;
        match self.row(image, &mut outcome) {
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
        let used = match column.and_then(|column| self.row.get(column)) {
            Some(Value::Int(used)) => u64::try_from(*used).unwrap_or(0),
            Some(Value::UInt(used)) => *used,
            _ => return,
        };
        self.used.fetch_max(used, Ordering::Relaxed);
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
            let mut assign = |value: Value| {
                in_context(self.rules, &mut outcome.warnings, |context| {
                    context.row_number = number;
                    let value = match source {
                        Source::Expression(expression) => expr::eval(expression, &[], context)?,
                        _ => value,
                    };
                    expr::assign(column, value, context)
                })
            };
            self.row.push(match source {
                Source::Same(position) => take(*position),
                Source::Value(value) => value.clone(),
                Source::Numbers => assign(Value::UInt(number))?,
                Source::Assigned(value) => assign(value.clone())?,
                Source::Expression(_) => assign(Value::Null)?,
                Source::Converted(position) => {
                    let mut value = take(*position);
                    if let Some(old) = self.old.columns.get(*position) {
                        value = as_seen(old, column, value, self.rules);
                    }
                    if value.is_null() && !column.nullable {
                        if !self.rules.sql_mode.has(SqlMode::STRICT) {
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
                    assign(value)?
                }
            });
        }
        Ok(())
    }
}

/// A stored value as a query of its column sees it, before it becomes one of `new`.
fn as_seen(old: &Column, new: &Column, value: Value, rules: Rules) -> Value {
    let (value, digits) = match (value, old.ty) {
        (Value::DateTime(moment), ColumnType::Timestamp(digits)) => {
            (Value::DateTime(rules.time_zone.to_local(moment)), digits)
        }
        (value, ColumnType::DateTime(digits) | ColumnType::Time(digits)) => (value, digits),
        (value, _) => return value,
    };
    if !new.ty.is_string() || value.is_null() {
        return value;
    }
    // As text it has all digits of its column.
    let mut text = Vec::new();
    expr::text(&value, digits, &mut text);
    Value::Bytes(text)
}

/// Whether all values of a column are values of its new definition.
fn keeps_values(old: &Column, new: &Column) -> bool {
    let fits = match (old.ty, new.ty) {
        (ColumnType::VarChar(old), ColumnType::VarChar(longer)) => old <= longer,
        (ColumnType::Text(old), ColumnType::Text(larger)) => old <= larger,
        (old, new) => old == new,
    };
    fits && old.unsigned == new.unsigned
        && old.is_binary() == new.is_binary()
        && (new.nullable || !old.nullable)
}

/// What the rows of before get in an added column.
fn added(column: &Column, rules: Rules) -> Result<Source, SqlError> {
    let moment = || {
        let utc = DateTime::from_unix_micros(rules.now_micros).unwrap_or_default();
        Value::DateTime(rules.time_zone.to_local(utc))
    };
    let value = match &column.default {
        _ if column.auto_increment => return Ok(Source::Numbers),
        DefaultValue::Expression(text) => {
            return Ok(Source::Expression(Box::new(default_expression(text)?)));
        }
        DefaultValue::Null => return Ok(Source::Value(Value::Null)),
        DefaultValue::None if column.nullable => return Ok(Source::Value(Value::Null)),
        DefaultValue::None => zero(column),
        DefaultValue::CurrentTimestamp => moment(),
        DefaultValue::Literal(text) => Value::Bytes(text.clone().into_bytes()),
    };
    if column.default == DefaultValue::None && !column.ty.is_temporal() {
        return Ok(Source::Value(value));
    }
    // A zero date may be refused, but only if there is a row to refuse it for.
    Ok(match assign_strictly(column, value.clone(), rules) {
        Ok(value) => Source::Value(value),
        Err(_) => Source::Assigned(value),
    })
}
