//! The functions: one table of names, arities, types and evaluations.

mod address;
mod aes;
mod beside_dates;
pub(super) mod calendar;
pub(super) mod cast;
mod compressed;
mod control;
pub(crate) mod gtid;
mod info;
pub mod interval;
pub(super) mod json;
mod locale;
mod numeric;
mod periods;
mod regexp;
mod scanned;
mod server;
mod sets;
mod string;
mod temporal;
mod weights;

pub use aes::CipherMode;
pub(super) use beside_dates::{
    AS_DATE, AS_MOMENT, AS_TIME, BOUND_DATE, BOUND_MOMENT, FULL_YEAR, START_OF_YEAR,
};
pub(super) use cast::{PADDED, SHORTENED};
pub(super) use control::branch;
pub(super) use numeric::{EXACT_DECIMAL, EXACT_NUMBER, FIXED, RAND_SEQUENCE, exact_literal};
pub(super) use string::{AS_CHARACTERS, CONVERTED, converted};

use super::{
    EvalContext, Expr, ExprType,
    convert::{self, Number, Takes},
    infer,
    resolve::literal,
    types::{NOT_FIXED, coercibility, mix_results},
};
use crate::{error::SqlError, text::TextForm};
use cohort_engine::types::{Collation, ColumnType, Date, DateTime, Decimal, Time, Value};
use std::borrow::Cow;

/// A function.
pub struct Function {
    /// Its name in lower case.
    pub name: &'static str,
    /// The least and the greatest number of arguments.
    pub arity: (usize, usize),
    /// Whether it must be evaluated anew for each row, and only once: every call differs, changes
    /// something, or tells of something that changes meanwhile.
    pub volatile: bool,
    /// What becomes of its value where a number is wanted.
    pub as_number: AsNumber,
    /// The type of its result.
    pub infer: fn(&Typing<'_>) -> ExprType,
    /// Its evaluation.
    pub eval: fn(&Args<'_>, &mut EvalContext<'_>) -> Result<Value, SqlError>,
}

/// What becomes of the value of a function where a number is wanted: see `operand`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsNumber {
    /// The function has computed it: it must fit.
    Computed,
    /// The same; of a text, which is a date or time, the digits.
    Moment,
    /// It is that of an argument.
    Chosen,
    /// The same; which one, the first argument says: IF.
    Branch,
    /// It is that of an argument, made a text or number as all arguments are; nothing is said of
    /// a text that is no number.
    Merged,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.name == other.name
    }
}

/// No limit to the number of arguments.
const MANY: usize = usize::MAX;

/// A line of the table.
const fn function(
    name: &'static str,
    arity: (usize, usize),
    infer: fn(&Typing<'_>) -> ExprType,
    eval: fn(&Args<'_>, &mut EvalContext<'_>) -> Result<Value, SqlError>,
) -> Function {
    Function {
        name,
        arity,
        volatile: false,
        as_number: AsNumber::Computed,
        infer,
        eval,
    }
}

/// A line of the table, for a volatile function.
const fn volatile(
    name: &'static str,
    arity: (usize, usize),
    infer: fn(&Typing<'_>) -> ExprType,
    eval: fn(&Args<'_>, &mut EvalContext<'_>) -> Result<Value, SqlError>,
) -> Function {
    Function {
        name,
        arity,
        volatile: true,
        as_number: AsNumber::Computed,
        infer,
        eval,
    }
}

impl Function {
    /// The same, as a number another way.
    const fn number_is(mut self, as_number: AsNumber) -> Function {
        self.as_number = as_number;
        self
    }

    /// Whether a call of it computes its value: it is not that of an argument, which is evaluated in its
    /// place, and it is no conversion that a comparison makes of what is written there.
    pub(super) fn computes(&self) -> bool {
        match self.as_number {
            AsNumber::Branch | AsNumber::Chosen => false,
            AsNumber::Computed | AsNumber::Moment | AsNumber::Merged => find(self.name).is_some(),
        }
    }

    /// Whether it makes the number that a text is taken for beside a column of numbers.
    pub(super) fn makes_number(&'static self) -> bool {
        std::ptr::eq(self, &raw const EXACT_NUMBER) || std::ptr::eq(self, &raw const EXACT_DECIMAL)
    }
}

/// The digits of a second that a text has: as many as were written.
fn fraction_digits(text: &[u8]) -> u8 {
    let point = text.iter().rposition(|&byte| byte == b'.');
    let digits = point.map_or(0, |point| {
        let fraction = text[point + 1..].iter();
        fraction.take_while(|byte| byte.is_ascii_digit()).count()
    });
    digits.min(6) as u8
}

/// What a function's type may depend on.
pub struct Typing<'a> {
    /// The arguments.
    pub args: &'a [Expr],
    /// @@collation_connection: the collation of strings made of numbers and dates.
    pub collation: Collation,
}

impl Typing<'_> {
    fn ty(&self, i: usize) -> ExprType {
        self.args.get(i).map_or_else(ExprType::null, infer)
    }
    fn nullable(&self) -> bool {
        self.args.iter().any(|arg| infer(arg).nullable)
    }
    fn types(&self) -> Vec<ExprType> {
        self.args.iter().map(infer).collect()
    }
    /// A string of at most so many characters, in the collation of the arguments `of` that are
    /// strings.
    fn string(&self, length: u32, of: &[usize]) -> ExprType {
        let is_null = |i: &usize| matches!(self.args.get(*i), Some(Expr::Literal(Value::Null, _)));
        if !of.is_empty() && of.iter().all(is_null) {
            return ExprType::bytes(length).or_null();
        }
        let strings = of.iter().map(|&i| self.ty(i).with_bytes());
        let strings = strings.filter(ExprType::is_string);
        let (collation, coercibility) = strings
            .reduce(|a, b| {
                let (collation, coercibility) = mix_results(&a, &b);
                ExprType::string(0, collation, coercibility)
            })
            .map_or((self.collation, coercibility::LITERAL), |ty| {
                (ty.collation, ty.coercibility)
            });
        // What is too long for a packet is NULL.
        ExprType::string(length, collation, coercibility).or_null()
    }
    /// A date, a time or both as a text of fixed length, for what takes texts for any of them.
    fn moment_text(&self) -> ExprType {
        ExprType {
            ty: Some(ColumnType::Char(29)),
            ..ExprType::string(29, self.collation, coercibility::LITERAL)
        }
    }
    /// The characters of an argument's text: of a literal, those that it has.
    fn text_length(&self, i: usize) -> u32 {
        match self.args.get(i) {
            Some(Expr::Literal(Value::Int(n), _)) => n.to_string().len() as u32,
            _ => self.ty(i).length,
        }
    }
    /// The number that an argument is, if it is an integer literal.
    fn literal(&self, i: usize) -> Option<u32> {
        match self.args.get(i) {
            Some(Expr::Literal(Value::Int(n), _)) => Some(u32::try_from(*n).unwrap_or(0)),
            _ => None,
        }
    }
    /// The same with its sign.
    fn literal_int(&self, i: usize) -> Option<i64> {
        match self.args.get(i) {
            Some(Expr::Literal(Value::Int(n), _)) => Some(*n),
            _ => None,
        }
    }
    /// The digits of a second of an argument that is taken for a time.
    fn fsp(&self, i: usize) -> u8 {
        let ty = self.ty(i);
        if let Some(Expr::Literal(Value::Bytes(text), _)) = self.args.get(i) {
            return fraction_digits(text);
        }
        match ty.ty {
            Some(_) if ty.is_temporal() => ty.decimals,
            Some(ColumnType::Decimal { scale, .. }) => scale.min(6),
            Some(_) if ty.is_integer() => 0,
            None if matches!(self.args.get(i), Some(Expr::Literal(Value::Null, _))) => 0,
            _ => 6,
        }
    }
    /// The same; of a literal text that is none, as many as there can be.
    fn fsp_if(&self, i: usize, is_one: fn(&[u8]) -> bool) -> u8 {
        match self.args.get(i) {
            Some(Expr::Literal(Value::Bytes(text), _)) if !is_one(text) => 6,
            _ => self.fsp(i),
        }
    }
    /// The same of an argument that is taken for a number: a text has as many as there can be.
    fn number_fsp(&self, i: usize) -> u8 {
        if self.args.get(i).and_then(literal::digits_number).is_some() {
            0
        } else if self.ty(i).is_string() {
            6
        } else {
            self.fsp(i)
        }
    }
}

/// The arguments of a call, not evaluated yet.
pub struct Args<'a> {
    pub(super) args: &'a [Expr],
    pub(super) row: &'a [Value],
    pub(super) ty: &'a ExprType,
}

/// The value of an expression as functions take it that want an integer.
pub fn integer_argument(
    expr: &Expr,
    row: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<Option<i64>, SqlError> {
    let args = std::slice::from_ref(expr);
    let ty = &infer(expr);
    Args { args, row, ty }.int(0, context)
}

impl<'a> Args<'a> {
    fn len(&self) -> usize {
        self.args.len()
    }
    /// The value of an argument; NULL for one that was left out.
    fn value<'x, 'c: 'x>(
        &'x self,
        i: usize,
        context: &mut EvalContext<'c>,
    ) -> Result<Cow<'x, Value>, SqlError> {
        match self.args.get(i) {
            Some(arg) => arg.value(self.row, context),
            None => Ok(Cow::Owned(Value::Null)),
        }
    }
    /// An argument as text.
    fn string<'x, 'c: 'x>(
        &'x self,
        i: usize,
        context: &mut EvalContext<'c>,
    ) -> Result<Option<Cow<'x, [u8]>>, SqlError> {
        match self.args.get(i) {
            Some(arg) => text_of(arg, self.row, context),
            None => Ok(None),
        }
    }
    /// How the text of an argument is written.
    fn text_form(&self, i: usize) -> TextForm {
        self.args
            .get(i)
            .map_or(TextForm::Digits(NOT_FIXED), |arg| infer(arg).text_form())
    }
    /// The value of an argument where a number is wanted: of a hexadecimal or bit literal, its own.
    fn numeric<'x, 'c: 'x>(
        &'x self,
        i: usize,
        context: &mut EvalContext<'c>,
    ) -> Result<Cow<'x, Value>, SqlError> {
        self.wanted(i, |arg| arg.number_value(self.row, context))
    }
    /// The same where a decimal is wanted.
    fn exact<'x, 'c: 'x>(
        &'x self,
        i: usize,
        context: &mut EvalContext<'c>,
    ) -> Result<Cow<'x, Value>, SqlError> {
        self.wanted(i, |arg| arg.decimal_value(self.row, context))
    }
    /// The same where an integer is wanted.
    fn whole<'x, 'c: 'x>(
        &'x self,
        i: usize,
        context: &mut EvalContext<'c>,
    ) -> Result<Cow<'x, Value>, SqlError> {
        self.wanted(i, |arg| arg.integer_value(self.row, context))
    }
    fn wanted<'x>(
        &'x self,
        i: usize,
        value: impl FnOnce(&'x Expr) -> Result<Cow<'x, Value>, SqlError>,
    ) -> Result<Cow<'x, Value>, SqlError> {
        let Some(arg) = self.args.get(i) else {
            return Ok(Cow::Owned(Value::Null));
        };
        value(arg)
    }
    /// The value of an argument, which is to become an integer.
    fn near_integer<'x>(
        &self,
        i: usize,
        value: Cow<'x, Value>,
        context: &mut EvalContext<'_>,
    ) -> Result<Cow<'x, Value>, SqlError> {
        match self.args.get(i) {
            Some(arg) => arg.near_integer(value, context),
            None => Ok(value),
        }
    }
    /// The value of an argument as it is compared with another.
    fn beside<'x>(&self, i: usize, value: &'x Value, other: &Value) -> Cow<'x, Value> {
        match self.args.get(i) {
            Some(arg) => arg.beside(Cow::Borrowed(value), other),
            None => Cow::Borrowed(value),
        }
    }
    /// The value of an argument where a date is wanted: of a YEAR column, its first day.
    fn dated<'x, 'c: 'x>(
        &'x self,
        i: usize,
        context: &mut EvalContext<'c>,
    ) -> Result<Cow<'x, Value>, SqlError> {
        let value = self.value(i, context)?;
        let Some(Expr::Column { ty, .. }) = self.args.get(i) else {
            return Ok(value);
        };
        Ok(cast::first_day(&value, ty).map_or(value, Cow::Owned))
    }
    /// An argument as an integer, clipped to 64 bits with sign.
    fn int(&self, i: usize, context: &mut EvalContext<'_>) -> Result<Option<i64>, SqlError> {
        let constant = self.args.get(i).and_then(|arg| arg.constant(context));
        if let Some(Value::Int(number)) = constant {
            return Ok(Some(*number));
        }
        let value = self.whole(i, context)?;
        Ok(convert::argument(&value, context))
    }
    fn double(&self, i: usize, context: &mut EvalContext<'_>) -> Result<Option<f64>, SqlError> {
        let value = self.numeric(i, context)?;
        Ok(convert::double(&value, context))
    }
    fn number(&self, i: usize, context: &mut EvalContext<'_>) -> Result<Option<Number>, SqlError> {
        let value = self.numeric(i, context)?;
        Ok(convert::number(&value, context))
    }
    fn decimal(
        &self,
        i: usize,
        context: &mut EvalContext<'_>,
    ) -> Result<Option<Decimal>, SqlError> {
        let value = self.exact(i, context)?;
        Ok(convert::decimal(&value, context))
    }
    /// An argument as CAST makes a date of it.
    fn date(&self, i: usize, context: &mut EvalContext<'_>) -> Result<Option<Date>, SqlError> {
        let value = self.day(i, context)?;
        Ok(cast::date(&value, context))
    }
    fn day<'x, 'c: 'x>(
        &'x self,
        i: usize,
        context: &mut EvalContext<'c>,
    ) -> Result<Cow<'x, Value>, SqlError> {
        let value = self.dated(i, context)?;
        let Some(arg) = self.args.get(i) else {
            return Ok(value);
        };
        Ok(arg.bound_moment(value, context))
    }
    /// An argument as a date, for who takes these.
    fn date_of(
        &self,
        i: usize,
        takes: Takes,
        context: &mut EvalContext<'_>,
    ) -> Result<Option<Date>, SqlError> {
        let value = self.day(i, context)?;
        let date = convert::date(&value, takes, context);
        // Columns may hold what conversions would not take.
        Ok(date.filter(|date| takes != Takes::Whole || !date.has_zero_part()))
    }
    fn datetime(
        &self,
        i: usize,
        context: &mut EvalContext<'_>,
    ) -> Result<Option<DateTime>, SqlError> {
        let value = self.dated(i, context)?;
        Ok(convert::datetime(&value, context))
    }
    /// The same for who counts days.
    fn whole_datetime(
        &self,
        i: usize,
        context: &mut EvalContext<'_>,
    ) -> Result<Option<DateTime>, SqlError> {
        let value = self.dated(i, context)?;
        let moment = convert::datetime_of(&value, Takes::Whole, context);
        // Columns may hold what conversions would not take.
        Ok(moment.filter(|moment| !moment.date.has_zero_part()))
    }
    fn time(&self, i: usize, context: &mut EvalContext<'_>) -> Result<Option<Time>, SqlError> {
        let value = self.dated(i, context)?;
        Ok(convert::time(&value, context))
    }
    /// The collation the result has.
    fn collation(&self) -> Collation {
        self.ty.collation
    }
    /// The collation to search an argument with: its own, if it has one.
    fn searched(&self, i: usize) -> Collation {
        match self.args.get(i).map(infer) {
            Some(ty) if ty.is_searched() => ty.collation,
            _ => self.comparison(),
        }
    }
    /// The collation to compare all string arguments with.
    fn comparison(&self) -> Collation {
        self.args
            .iter()
            .map(infer)
            .filter(ExprType::is_searched)
            .reduce(|a, b| {
                let (collation, coercibility) = mix_results(&a, &b);
                ExprType::string(0, collation, coercibility)
            })
            .map_or(Collation::Utf8mb40900AiCi, |ty| ty.collation)
    }
}

/// An expression as text; `None` for NULL.
fn text_of<'x, 'c: 'x>(
    expr: &'x Expr,
    row: &'x [Value],
    context: &mut EvalContext<'c>,
) -> Result<Option<Cow<'x, [u8]>>, SqlError> {
    let Some(expr) = expr.text_operand(row, context)? else {
        return Ok(None);
    };
    Ok(match expr.value(row, context)? {
        Cow::Borrowed(value) => convert::string(value, infer(expr).text_form()),
        Cow::Owned(Value::Bytes(bytes)) => Some(Cow::Owned(bytes)),
        Cow::Owned(value) => convert::string(&value, infer(expr).text_form())
            .map(|text| Cow::Owned(text.into_owned())),
    })
}

/// A string result, which must not be longer than a packet.
fn bytes(bytes: Vec<u8>) -> Value {
    Value::Bytes(bytes)
}

/// Whether a string of this length may be made; if not, NULL with warning 1301.
fn may_make(length: u64, name: &str, context: &mut EvalContext<'_>) -> bool {
    let max = context.statement.max_allowed_packet;
    if length > max {
        context
            .warnings
            .warn(SqlError::allowed_packet_overflowed(name, max));
    }
    length <= max
}

/// Makes the chosen branch of a CASE or the like what the whole is.
pub(super) fn unify<'v>(
    value: Cow<'v, Value>,
    shown: TextForm,
    ty: &ExprType,
    context: &mut EvalContext<'_>,
) -> Result<Cow<'v, Value>, SqlError> {
    let fits = match (&*value, ty.ty) {
        (Value::Null, _) | (_, None) | (Value::Bytes(_), _) => true,
        (Value::Member(_), Some(column_type)) => column_type.is_string(),
        (_, Some(column_type)) if column_type.is_string() => {
            let text = convert::string(&value, shown)
                .unwrap_or_default()
                .into_owned();
            return Ok(Cow::Owned(Value::Bytes(text)));
        }
        (Value::Double(_), Some(ColumnType::Double))
        | (Value::Date(_), Some(ColumnType::Date))
        | (Value::Time(_), Some(ColumnType::Time(_)))
        | (Value::DateTime(_), Some(ColumnType::DateTime(_)))
        | (Value::Json(_), Some(ColumnType::Json)) => true,
        (Value::Int(_), Some(ColumnType::BigInt | ColumnType::Int)) => !ty.unsigned,
        (Value::UInt(_), Some(ColumnType::BigInt | ColumnType::Int)) => ty.unsigned,
        _ => false,
    };
    if fits {
        return Ok(value);
    }
    Ok(Cow::Owned(convert::conform(
        value.into_owned(),
        ty,
        context,
    )))
}

/// All functions, by module.
const TABLES: [&[Function]; 14] = [
    control::FUNCTIONS,
    string::FUNCTIONS,
    numeric::FUNCTIONS,
    temporal::FUNCTIONS,
    info::FUNCTIONS,
    json::FUNCTIONS,
    address::FUNCTIONS,
    aes::FUNCTIONS,
    gtid::FUNCTIONS,
    sets::FUNCTIONS,
    periods::FUNCTIONS,
    compressed::FUNCTIONS,
    server::FUNCTIONS,
    weights::FUNCTIONS,
];

/// Functions that MySQL has and that are not here yet.
const MISSING: &[&str] = &[
    "json_table",
    "sounds",
    "extractvalue",
    "updatexml",
    "match",
    "master_pos_wait",
    "source_pos_wait",
    "name_const",
    "statement_digest",
    "statement_digest_text",
    "row_number",
    "rank",
    "dense_rank",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
    "ntile",
    "cume_dist",
    "percent_rank",
    "icu_version",
    "roles_graphml",
    "etag",
    "vector_dim",
    "string_to_vector",
    "to_vector",
    "from_vector",
    "vector_to_string",
    "point",
    "linestring",
    "polygon",
    "multipoint",
    "multilinestring",
    "multipolygon",
    "geomcollection",
    "geometrycollection",
];

/// The function with this name, in any case.
#[must_use]
pub fn find(name: &str) -> Option<&'static Function> {
    TABLES
        .iter()
        .flat_map(|table| table.iter())
        .find(|function| function.name.eq_ignore_ascii_case(name))
}

/// Whether MySQL has a function of this name, be it here or not.
#[must_use]
pub fn is_known(name: &str) -> bool {
    find(name).is_some() || is_missing(name) || is_form(name)
}

/// Functions that are no more than another form of others.
fn is_form(name: &str) -> bool {
    ["adddate", "subdate", "timestampadd"].contains(&name)
}

/// Whether MySQL has a function of this name that is not here.
#[must_use]
pub fn is_missing(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_spatial = name.starts_with("st_") || name.starts_with("mbr");
    is_spatial || MISSING.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// What is refused as missing must not be there.
    #[test]
    fn what_is_missing_is_missing() {
        let there: Vec<_> = MISSING.iter().filter(|name| find(name).is_some()).collect();
        assert!(there.is_empty(), "{there:?} are said to be missing");
    }

    /// What compares all functions with MySQL's has a line for each.
    #[test]
    fn the_matrix_asks_every_function() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../differ/calls.txt");
        let text = std::fs::read_to_string(path).expect("the calls of the matrix");
        let asked: BTreeSet<&str> = text
            .split_once("[functions]")
            .map_or("", |(_, functions)| functions)
            .lines()
            .filter_map(|line| Some(line.split_once(": ")?.0))
            .collect();
        let functions = TABLES.iter().flat_map(|table| table.iter());
        let have: BTreeSet<&str> = functions.map(|function| function.name).collect();
        assert_eq!(
            asked, have,
            "differ/calls.txt against the table of functions"
        );
    }
}
