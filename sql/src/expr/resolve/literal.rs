//! Literals and the types of CAST.

use super::{Scope, SqlMode, resolve};
use crate::{
    collations::NamedCharset,
    error::SqlError,
    expr::{
        EvalContext, Expr, ExprType,
        functions::{
            PADDED,
            cast::{hex_digits, temporal_literal},
            json::AS_JSON,
        },
        infer, reinterpret,
        types::coercibility,
    },
};
use bigdecimal::num_bigint::{BigInt, Sign};
use cohort_engine::types::{Collation, ColumnType, Decimal, Value, decimal, temporal};
use sqlparser::ast;

/// The type of a literal with this value.
pub(super) fn type_of(value: &Value, collation: Collation) -> ExprType {
    match value {
        Value::Null => ExprType::null(),
        // The digits and a sign.
        Value::Int(n) => ExprType {
            length: n.unsigned_abs().to_string().len() as u32 + 1,
            ..ExprType::bigint(false)
        },
        Value::UInt(n) => ExprType {
            length: n.to_string().len() as u32,
            ..ExprType::bigint(true)
        },
        Value::Float(_) | Value::Double(_) => ExprType::double(),
        Value::Decimal(number) => {
            let scale = number.scale().clamp(0, 30) as u32;
            ExprType::decimal((number.digits() as u32).max(scale), scale)
        }
        Value::Bytes(bytes) => {
            let length = collation.char_count(bytes) as u32;
            ExprType::string(length, collation, coercibility::LITERAL)
        }
        Value::Member(member) => type_of(&member.text, collation),
        Value::Json(_) => ExprType::json(),
        Value::Date(_) => ExprType::temporal(ColumnType::Date),
        Value::Time(_) => ExprType::temporal(ColumnType::Time(6)),
        Value::DateTime(_) => ExprType::temporal(ColumnType::DateTime(6)),
    }
}

fn constant(value: Value, collation: Collation) -> Expr {
    let ty = type_of(&value, collation);
    Expr::Literal(value, ty)
}

/// A literal or placeholder.
pub(super) fn literal(value: &ast::Value, scope: &mut dyn Scope) -> Result<Expr, SqlError> {
    use ast::Value as Ast;
    let collation = scope.collation();
    match value {
        Ast::Null => Ok(constant(Value::Null, collation)),
        Ast::Boolean(truth) => Ok(Expr::Literal(
            Value::Int((*truth).into()),
            ExprType::boolean(),
        )),
        Ast::Number(text, _) => number(text).map(|value| constant(value, collation)),
        Ast::SingleQuotedString(text)
        | Ast::DoubleQuotedString(text)
        | Ast::EscapedStringLiteral(text) => {
            Ok(constant(Value::Bytes(text.as_bytes().to_vec()), collation))
        }
        Ast::NationalStringLiteral(text) => Ok(constant(
            Value::Bytes(text.as_bytes().to_vec()),
            NamedCharset::NATIONAL.charset.default_collation(),
        )),
        Ast::HexStringLiteral(digits) => Ok(digits_literal(hex(digits)?)),
        Ast::SingleQuotedByteStringLiteral(digits) | Ast::DoubleQuotedByteStringLiteral(digits) => {
            Ok(digits_literal(bits(digits)?))
        }
        Ast::Placeholder(text) => {
            let index = text
                .trim_start_matches(['?', '$', ':'])
                .parse()
                .unwrap_or(0);
            scope.parameter(index)
        }
        other => Err(SqlError::not_supported(other)),
    }
}

/// An integer, decimal or, with an exponent, floating point literal.
fn number(text: &str) -> Result<Value, SqlError> {
    if let Ok(n) = text.parse::<i64>() {
        return Ok(Value::Int(n));
    }
    if let Ok(n) = text.parse::<u64>() {
        return Ok(Value::UInt(n));
    }
    if text.contains(['e', 'E']) {
        let x: f64 = text.parse().map_err(|_| SqlError::syntax(text, 1))?;
        if x.is_infinite() {
            return Err(SqlError::illegal_value("double", text));
        }
        return Ok(Value::Double(x));
    }
    let parsed = decimal::parse(text).ok_or_else(|| SqlError::syntax(text, 1))?;
    if parsed.overflow {
        // The largest number of the largest type.
        let nines = decimal::greatest(decimal::MAX_PRECISION, 0);
        return Ok(Value::Decimal(nines));
    }
    Ok(Value::Decimal(parsed.value))
}

fn hex(digits: &str) -> Result<Vec<u8>, SqlError> {
    let padded = if digits.len() % 2 == 1 {
        format!("0{digits}")
    } else {
        digits.to_string()
    };
    padded
        .as_bytes()
        .chunks(2)
        .map(|pair| {
            std::str::from_utf8(pair)
                .ok()
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
        })
        .collect::<Option<_>>()
        .ok_or_else(|| SqlError::syntax(digits, 1))
}

fn bits(digits: &str) -> Result<Vec<u8>, SqlError> {
    let padded = format!("{}{digits}", "0".repeat((8 - digits.len() % 8) % 8));
    padded
        .as_bytes()
        .chunks(8)
        .map(|byte| {
            std::str::from_utf8(byte)
                .ok()
                .and_then(|byte| u8::from_str_radix(byte, 2).ok())
        })
        .collect::<Option<_>>()
        .ok_or_else(|| SqlError::syntax(digits, 1))
}

/// A hexadecimal or bit literal: a binary string, told from others by its decimals.
fn digits_literal(bytes: Vec<u8>) -> Expr {
    let value = Value::Bytes(bytes);
    let ty = ExprType {
        decimals: 0,
        ..type_of(&value, Collation::Binary)
    };
    Expr::Literal(value, ty)
}

/// The bytes of a hexadecimal or bit literal, without zeros at the begin.
fn digits(expr: &Expr) -> Option<&[u8]> {
    match expr {
        Expr::Literal(Value::Bytes(bytes), ty) if ty.collation.is_binary() && ty.decimals == 0 => {
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            bytes.get(zeros..)
        }
        _ => None,
    }
}

/// The number that a hexadecimal or bit literal stands for: 0, if it has more than 64 bits
/// ([`warn_of_digits`] tells of that).
#[must_use]
pub(in crate::expr) fn digits_number(expr: &Expr) -> Option<u64> {
    let digits = digits(expr)?;
    match digits.len() > size_of::<u64>() {
        true => Some(0),
        false => Some(digits.iter().fold(0, |n, &byte| n << 8 | u64::from(byte))),
    }
}

/// How many characters of a literal MySQL's warnings show.
const SHOWN_MAX: usize = 128;

/// Tells of a hexadecimal or bit literal that has too many digits for a number.
pub(in crate::expr) fn warn_of_digits(expr: &Expr, context: &mut EvalContext<'_>) {
    if let Some(digits) = digits(expr)
        && digits.len() > size_of::<u64>()
        && let Expr::Literal(Value::Bytes(bytes), _) = expr
    {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let literal = format!("x'{hex}'");
        let shown = literal.get(..SHOWN_MAX).unwrap_or(&literal);
        let lost = SqlError::truncated_wrong_value("BINARY", shown);
        context.warnings.warn(lost);
    }
}

/// A hexadecimal or bit literal is a number where one is wanted. One that is too long stays as it is:
/// it is told of whenever it is looked at.
pub(crate) fn as_number(expr: Expr) -> Expr {
    match (digits_number(&expr), digits(&expr)) {
        (Some(number), Some(digits)) if digits.len() <= size_of::<u64>() => {
            Expr::Literal(Value::UInt(number), ExprType::bigint(true))
        }
        _ => expr,
    }
}

/// The same for a column, which says itself what is out of its range.
pub(in crate::expr) fn as_stored_number(expr: Expr) -> Expr {
    let long = digits(&expr).filter(|digits| digits.len() > size_of::<u64>());
    match long.map(|digits| BigInt::from_bytes_be(Sign::Plus, digits)) {
        Some(number) => {
            let value = Value::Decimal(Decimal::new(number, 0));
            let ty = type_of(&value, Collation::Binary);
            Expr::Literal(value, ty)
        }
        None => as_number(expr),
    }
}

/// An integer, or a decimal if it does not fit.
fn integer(n: i128) -> Value {
    i64::try_from(n).map_or_else(|_| Value::Decimal(Decimal::from(n)), Value::Int)
}

/// `-x`, folded if x is a literal.
pub(super) fn negate(operand: Expr) -> Expr {
    let operand = as_number(operand);
    let from = infer(&operand);
    if let Expr::Literal(value, ty) = &operand {
        let negated = match value {
            Value::Int(n) => Some(integer(-i128::from(*n))),
            Value::UInt(n) => Some(integer(-i128::from(*n))),
            Value::Double(x) => Some(Value::Double(-x)),
            Value::Decimal(n) => {
                let negated = -n.clone();
                // -9223372036854775808 was parsed as its positive part.
                match negated.to_i64().filter(|_| negated.scale() == 0) {
                    Some(n) if ty.decimals == 0 => Some(Value::Int(n)),
                    _ => Some(Value::Decimal(negated)),
                }
            }
            _ => None,
        };
        if let Some(value) = negated {
            let ty = type_of(&value, Collation::Binary);
            return Expr::Literal(value, ty);
        }
    }
    // The length of a number, with a sign.
    let whole = |length: u32| ExprType {
        length,
        ..ExprType::bigint(false)
    };
    let operand = if from.is_temporal() {
        operand.into_double()
    } else {
        operand
    };
    let mut ty = match from.ty {
        _ if from.is_floating() => ExprType::double_of_real(&from),
        Some(ColumnType::Decimal { precision, scale }) => {
            ExprType::decimal(precision.into(), scale.into())
        }
        _ if from.is_temporal() => ExprType::double_of_moment(&from),
        Some(_) if from.unsigned => whole((from.length + 1).min(21)),
        Some(_) => whole(from.length),
        None => ExprType::bigint(false),
    };
    ty.nullable = from.nullable;
    Expr::Negate {
        expr: Box::new(operand),
        ty,
    }
}

/// DATE '…', TIME '…', TIMESTAMP '…'.
pub(super) fn typed_string(typed: &ast::TypedString, scope: &dyn Scope) -> Result<Expr, SqlError> {
    let ast::TypedString {
        data_type,
        value,
        // `{d '2020-01-01'}` is the same.
        uses_odbc_syntax: _,
    } = typed;
    let text = value.value.clone().into_string().unwrap_or_default();
    let column_type = match data_type {
        ast::DataType::Date => ColumnType::Date,
        ast::DataType::Time(None, ast::TimezoneInfo::None) => ColumnType::Time(6),
        ast::DataType::Timestamp(None, ast::TimezoneInfo::None) => ColumnType::DateTime(6),
        ast::DataType::Datetime(None) => ColumnType::DateTime(6),
        ast::DataType::Time(..) | ast::DataType::Timestamp(..) | ast::DataType::Datetime(_) => {
            return Err(scope.refuse("("));
        }
        other => return Err(SqlError::not_supported(other)),
    };
    let (value, ty) = temporal_literal(column_type, text.as_bytes(), scope.sql_mode())?;
    if matches!(value, Value::DateTime(_))
        && temporal::parse(text.as_bytes()).is_some_and(|p| p.offset_seconds.is_some())
    {
        // What it is depends on the session's time zone.
        let text = constant(Value::Bytes(text.into_bytes()), Collation::Utf8mb4Bin);
        return Ok(Expr::Cast {
            expr: Box::new(text),
            ty,
        });
    }
    Ok(Expr::Literal(value, ty))
}

/// The value of DATE '…', TIME '…' or TIMESTAMP '…' as text, with as many digits of a second as were
/// written; `None` if it depends on the session's time zone.
pub fn moment_text(typed: &ast::TypedString) -> Result<Option<String>, SqlError> {
    let text = typed.value.value.clone().into_string().unwrap_or_default();
    let column_type = match typed.data_type {
        ast::DataType::Date => ColumnType::Date,
        ast::DataType::Time(..) => ColumnType::Time(6),
        _ => ColumnType::DateTime(6),
    };
    let (value, ty) = temporal_literal(column_type, text.as_bytes(), SqlMode::default())?;
    let has_offset = |p: temporal::Parsed| p.offset_seconds.is_some();
    if column_type == ColumnType::DateTime(6)
        && temporal::parse(text.as_bytes()).is_some_and(has_offset)
    {
        return Ok(None);
    }
    let mut shown = Vec::new();
    crate::expr::text(&value, ty.decimals, &mut shown);
    Ok(String::from_utf8(shown).ok())
}

/// `_charset 'text'`
pub(super) fn prefixed(
    prefix: &ast::Ident,
    value: &ast::Expr,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    let charset = prefix.value.trim_start_matches('_').to_ascii_lowercase();
    let collation = charset_collation(&charset)?;
    let Expr::Literal(Value::Bytes(bytes), written) = resolve(value, scope)? else {
        return Err(SqlError::not_supported(
            "a character set before anything but a string",
        ));
    };
    // The bytes as the client has written them.
    let bytes = reinterpret(bytes, written.collation, Collation::Binary);
    let charset = collation.charset();
    let text = charset.decode(&bytes).into_owned();
    if let Some(at) = charset.foreign_at(&text) {
        let at = charset.encode(&text[..at]).len();
        let shown = hex_digits(bytes.get(at..).unwrap_or_default());
        return Err(SqlError::invalid_character_string(charset.name(), shown));
    }
    Ok(constant(Value::Bytes(text), collation))
}

/// The collation of strings of which only the character set's name is said.
fn charset_collation(charset: &str) -> Result<Collation, SqlError> {
    Ok(NamedCharset::find(charset)?.charset.default_collation())
}

/// CAST(expr AS type), of which a character set may be said.
pub(super) fn cast(
    expr: &ast::Expr,
    data_type: &ast::DataType,
    charset: Option<&str>,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    if let ast::DataType::Array(_) = data_type {
        return Err(SqlError::not_supported(
            "Use of CAST( .. AS .. ARRAY) outside of functional index in CREATE(non-SELECT)/ALTER \
             TABLE or in general expressions",
        ));
    }
    let expr = resolve(expr, scope)?;
    let from = infer(&expr);
    let collation = match charset {
        Some(name) => charset_collation(name)?,
        None => scope.collation(),
    };
    if matches!(data_type, ast::DataType::JSON) {
        let ty = ExprType::json().or_null();
        let (function, args) = (&AS_JSON, vec![expr]);
        return Ok(Expr::call(function, args, ty));
    }
    let ty = match data_type {
        // Characters of no character set are bytes.
        ast::DataType::Char(length) | ast::DataType::Character(length)
            if charset.is_some() && collation.is_binary() =>
        {
            let length = characters(length.as_ref());
            cast_type(&ast::DataType::Binary(length), &from, collation, scope)?
        }
        other => cast_type(other, &from, collation, scope)?,
    };
    let expr = if ty.is_string() || ty.is_temporal() {
        expr
    } else {
        as_number(expr)
    };
    // What is no date or time in a text becomes NULL, and so do bytes that are no characters.
    let nullable =
        from.nullable || ty.is_temporal() || ty.is_string() || ty.ty == Some(ColumnType::Year);
    let ty = ty.nullable_if(nullable);
    let expr = Box::new(expr);
    let cast = Expr::Cast { expr, ty };
    Ok(
        if pads(data_type, charset.is_some() && collation.is_binary()) {
            let args = vec![cast];
            let function = &PADDED;
            Expr::call(function, args, ty)
        } else {
            cast
        },
    )
}

/// Whether a type is one of bytes, of a length to which values are filled up.
fn pads(data_type: &ast::DataType, of_bytes: bool) -> bool {
    use ast::DataType as Ast;
    match data_type {
        Ast::Binary(length) => length.is_some_and(|length| u16::try_from(length).is_ok()),
        Ast::Char(length) | Ast::Character(length) if of_bytes => {
            characters(length.as_ref()).is_some_and(|length| u16::try_from(length).is_ok())
        }
        _ => false,
    }
}

/// CONVERT(expr, type) and CONVERT(expr USING charset)
pub(super) fn convert(
    expr: &ast::Expr,
    data_type: Option<&ast::DataType>,
    charset: Option<&ast::ObjectName>,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    let charset = charset.map(ToString::to_string);
    let charset = charset
        .as_deref()
        .map(|name| name.trim_matches(['`', '\'', '"']));
    if let Some(data_type) = data_type {
        return cast(expr, data_type, charset, scope);
    }
    let charset = charset.unwrap_or_default().to_ascii_lowercase();
    let collation = charset_collation(&charset)?;
    let expr = resolve(expr, scope)?;
    let from = infer(&expr);
    let length = from.length_in(collation);
    let ty = ExprType::string(length, collation, coercibility::IMPLICIT)
        .nullable_if(from.nullable || from.collation.is_binary());
    Ok(Expr::Cast {
        expr: Box::new(expr),
        ty,
    })
}

fn cast_type(
    data_type: &ast::DataType,
    from: &ExprType,
    collation: Collation,
    scope: &dyn Scope,
) -> Result<ExprType, SqlError> {
    use ast::DataType as Ast;
    let real_is_float = scope.sql_mode().has(SqlMode::REAL_AS_FLOAT);
    let text = |length: Option<u64>, collation: Collation| {
        let length = length.map_or_else(
            || from.length_in(collation),
            |length| length.min(u64::from(u32::MAX)) as u32,
        );
        ExprType::string(length, collation, coercibility::IMPLICIT)
    };
    let fsp = |precision: Option<u64>| match precision {
        Some(precision @ 0..=6) => Ok(precision as u8),
        Some(precision) => Err(SqlError::precision_too_big(precision, "CAST", 6)),
        None => Ok(0),
    };
    Ok(match data_type {
        Ast::Signed | Ast::SignedInteger | Ast::BigInt(_) | Ast::Int(_) | Ast::Integer(_) => {
            ExprType::bigint(false)
        }
        Ast::Unsigned | Ast::UnsignedInteger | Ast::BigIntUnsigned(_) => ExprType::bigint(true),
        Ast::Char(length) | Ast::Character(length) => text(characters(length.as_ref()), collation),
        Ast::Nvarchar(length) | Ast::Varchar(length) => {
            text(characters(length.as_ref()), collation)
        }
        Ast::Binary(None) => text(None, Collation::Binary),
        Ast::Binary(Some(length)) => text(Some(*length), Collation::Binary),
        Ast::Decimal(info) | Ast::Dec(info) | Ast::Numeric(info) => match info {
            ast::ExactNumberInfo::PrecisionAndScale(_, ..0) => return Err(scope.refuse("-")),
            info => decimal_type(info)?,
        },
        Ast::Real if real_is_float => float(),
        Ast::Double(ast::ExactNumberInfo::None) | Ast::DoublePrecision | Ast::Real => {
            ExprType::double()
        }
        Ast::Double(_) => return Err(scope.refuse("(")),
        Ast::Float(ast::ExactNumberInfo::PrecisionAndScale(..)) => return Err(scope.refuse(",")),
        Ast::Float(ast::ExactNumberInfo::Precision(precision @ 54..)) => {
            return Err(SqlError::precision_too_big(*precision, "CAST", 53));
        }
        Ast::Float(ast::ExactNumberInfo::Precision(25..)) => ExprType::double(),
        Ast::Float(_) => float(),
        Ast::Date => ExprType::temporal(ColumnType::Date),
        Ast::Time(precision, _) => ExprType::temporal(ColumnType::Time(fsp(*precision)?)),
        Ast::Datetime(precision) | Ast::Timestamp(precision, _) => {
            ExprType::temporal(ColumnType::DateTime(fsp(*precision)?))
        }
        Ast::Custom(name, _) if name.to_string().eq_ignore_ascii_case("year") => {
            ExprType::temporal(ColumnType::Year)
        }
        other => return Err(SqlError::not_supported(format!("CAST AS {other}"))),
    })
}

fn float() -> ExprType {
    ExprType {
        ty: Some(ColumnType::Float),
        ..ExprType::double()
    }
}

fn characters(length: Option<&ast::CharacterLength>) -> Option<u64> {
    match length {
        Some(ast::CharacterLength::IntegerLength { length, .. }) => Some(*length),
        _ => None,
    }
}

fn decimal_type(info: &ast::ExactNumberInfo) -> Result<ExprType, SqlError> {
    let (precision, scale) = match info {
        ast::ExactNumberInfo::None => (10, 0),
        ast::ExactNumberInfo::Precision(precision) => (*precision, 0),
        ast::ExactNumberInfo::PrecisionAndScale(precision, scale) => {
            (*precision, u64::try_from(*scale).unwrap_or(0))
        }
    };
    if precision > 65 {
        return Err(SqlError::precision_too_big(precision, "CAST", 65));
    }
    if scale > 30 {
        return Err(SqlError::scale_too_big(scale, "CAST", 30));
    }
    if scale > precision {
        return Err(SqlError::precision_below_scale(""));
    }
    Ok(ExprType::decimal((precision as u32).max(1), scale as u32))
}
