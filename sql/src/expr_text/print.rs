//! The printer: from the syntax tree to MySQL's text.

use super::meanings::Meanings;
use crate::{
    collations::NamedCharset,
    error::SqlError,
    expr::{self, SqlMode, functions::interval::Unit},
};
use cohort_engine::types::Charset;
use sqlparser::ast::{self, BinaryOperator, DataType, Expr, UnaryOperator};

type Text = Result<String, SqlError>;

/// What the text of an expression depends on beside itself.
pub(super) struct Printer<'m> {
    /// What the names of a query mean; without it there is only one table, and no query.
    pub meanings: Option<&'m Meanings>,
    /// The character set of strings that do not say.
    pub charset: Charset,
    /// What `||` means, and REAL.
    pub mode: SqlMode,
    /// How WEEK() counts without a second argument.
    pub week_format: u8,
}

fn unknown(expr: &Expr) -> SqlError {
    SqlError::not_supported(format_args!("{expr} in a definition"))
}

impl Printer<'_> {
    /// An expression.
    pub fn value(&self, expr: &Expr) -> Text {
        if let Some(condition) = self.condition(expr, false)? {
            return Ok(condition);
        }
        match expr {
            Expr::Nested(inner) => self.value(inner),
            Expr::Identifier(name) => self.column(std::slice::from_ref(name)),
            Expr::CompoundIdentifier(path) => self.column(path),
            Expr::Subquery(query) => Ok(format!("({})", self.subquery(query)?)),
            Expr::Value(value) => self.literal(&value.value),
            Expr::Prefixed { prefix, value } => prefixed(&prefix.value, value),
            Expr::TypedString(typed) => moment(typed),
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right),
            Expr::UnaryOp { op, expr: operand } => match op {
                UnaryOperator::Plus => self.value(operand),
                UnaryOperator::Minus => Ok(format!("-({})", self.value(operand)?)),
                UnaryOperator::BitwiseNot => Ok(format!("~({})", self.value(operand)?)),
                _ => Err(unknown(expr)),
            },
            Expr::Case {
                operand,
                conditions,
                else_result,
                case_token: _,
                end_token: _,
            } => self.case(operand.as_deref(), conditions, else_result.as_deref()),
            Expr::Cast {
                kind: ast::CastKind::Cast,
                expr,
                data_type,
                format,
            } => {
                let charset = format.as_ref().map(charset_of).transpose()?;
                self.cast(expr, data_type, charset)
            }
            Expr::Convert {
                expr: operand,
                data_type,
                charset,
                ..
            } => {
                let charset = charset.as_ref().map(ToString::to_string);
                let charset = charset.as_deref().map(bare);
                match (data_type, charset) {
                    (Some(ty), charset) => self.cast(operand, ty, charset),
                    (None, Some(charset)) => {
                        let charset = charset_name(charset)?;
                        Ok(format!("convert({} using {charset})", self.value(operand)?))
                    }
                    (None, None) => Err(unknown(expr)),
                }
            }
            Expr::Collate { expr, collation } => {
                let name = collation.to_string();
                let collation = crate::collations::find(bare(&name))?;
                Ok(format!(
                    "({} collate {})",
                    self.value(expr)?,
                    collation.name()
                ))
            }
            Expr::Tuple(parts) => Ok(format!("({})", self.list(parts.iter())?)),
            Expr::Function(function) => self.call(function),
            other => self.special(other)?.ok_or_else(|| unknown(other)),
        }
    }

    /// Expressions with commas between them.
    pub(super) fn list<'e>(&self, list: impl Iterator<Item = &'e Expr>) -> Text {
        let texts = list.map(|item| self.value(item));
        Ok(texts.collect::<Result<Vec<_>, _>>()?.join(","))
    }

    fn binary(&self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Text {
        let interval = match (op, left, right) {
            (BinaryOperator::Plus, date, Expr::Interval(interval)) => Some(("+", date, interval)),
            (BinaryOperator::Minus, date, Expr::Interval(interval)) => Some(("-", date, interval)),
            (BinaryOperator::Plus, Expr::Interval(interval), date) => Some(("+", date, interval)),
            _ => None,
        };
        if let Some((sign, date, interval)) = interval {
            return self.moved(date, sign, interval);
        }
        let word = match op {
            BinaryOperator::Plus => "+",
            BinaryOperator::Minus => "-",
            BinaryOperator::Multiply => "*",
            BinaryOperator::Divide => "/",
            BinaryOperator::MyIntegerDivide | BinaryOperator::DuckIntegerDivide => "DIV",
            BinaryOperator::Modulo => "%",
            BinaryOperator::BitwiseAnd => "&",
            BinaryOperator::BitwiseOr => "|",
            BinaryOperator::BitwiseXor | BinaryOperator::PGBitwiseXor => "^",
            BinaryOperator::PGBitwiseShiftLeft => "<<",
            BinaryOperator::PGBitwiseShiftRight => ">>",
            BinaryOperator::StringConcat => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                return Ok(format!("concat({left},{right})"));
            }
            BinaryOperator::Arrow => return self.extracted(left, right),
            BinaryOperator::LongArrow => {
                return Ok(format!("json_unquote({})", self.extracted(left, right)?));
            }
            other => return Err(SqlError::not_supported(other)),
        };
        let (left, right) = (self.value(left)?, self.value(right)?);
        Ok(format!("({left} {word} {right})"))
    }

    /// `column->path`
    fn extracted(&self, column: &Expr, path: &Expr) -> Text {
        let (column, path) = (self.value(column)?, self.value(path)?);
        Ok(format!("json_extract({column},{path})"))
    }

    /// `date + INTERVAL value unit`
    pub(super) fn moved(&self, date: &Expr, sign: &str, interval: &ast::Interval) -> Text {
        let (date, interval) = (self.value(date)?, self.interval(interval)?);
        Ok(format!("({date} {sign} {interval})"))
    }

    pub(super) fn interval(&self, interval: &ast::Interval) -> Text {
        let unit = Unit::of_interval(interval)?.name();
        Ok(format!("interval {} {unit}", self.value(&interval.value)?))
    }

    fn case(
        &self,
        operand: Option<&Expr>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&Expr>,
    ) -> Text {
        let mut text = "(case ".to_string();
        if let Some(operand) = operand {
            text += &self.value(operand)?;
            text.push(' ');
        }
        for ast::CaseWhen { condition, result } in conditions {
            let (when, then) = (self.value(condition)?, self.value(result)?);
            text += &format!("when {when} then {then} ");
        }
        if let Some(otherwise) = otherwise {
            text += &format!("else {} ", self.value(otherwise)?);
        }
        text.push_str("end)");
        Ok(text)
    }

    fn cast(&self, expr: &Expr, data_type: &DataType, charset: Option<&str>) -> Text {
        let ty = self.cast_type(data_type, charset)?;
        Ok(format!("cast({} as {ty})", self.value(expr)?))
    }

    fn cast_type(&self, data_type: &DataType, charset: Option<&str>) -> Text {
        let fraction = |name: &str, digits: Option<u64>| match digits {
            None | Some(0) => name.to_string(),
            Some(digits) => format!("{name}({digits})"),
        };
        let text = |length: Option<u64>, charset: &str| match length {
            Some(length) => format!("char({length}) charset {charset}"),
            None => format!("char charset {charset}"),
        };
        Ok(match data_type {
            DataType::Signed | DataType::SignedInteger => "signed".into(),
            DataType::Unsigned | DataType::UnsignedInteger => "unsigned".into(),
            DataType::Char(length) | DataType::Character(length) => {
                let charset = match charset {
                    Some(name) => charset_name(name)?,
                    None => self.charset.name(),
                };
                text(characters(length.as_ref()), charset)
            }
            DataType::Nvarchar(length) => {
                let charset = NamedCharset::NATIONAL.charset.name();
                text(characters(length.as_ref()), charset)
            }
            DataType::Binary(length) => text(*length, "binary"),
            DataType::Decimal(info) | DataType::Dec(info) | DataType::Numeric(info) => {
                let (precision, scale) = match info {
                    ast::ExactNumberInfo::None => (10, 0),
                    ast::ExactNumberInfo::Precision(precision) => (*precision, 0),
                    ast::ExactNumberInfo::PrecisionAndScale(precision, scale) => {
                        (*precision, *scale)
                    }
                };
                format!("decimal({precision},{scale})")
            }
            DataType::Real if self.mode.has(SqlMode::REAL_AS_FLOAT) => "float".into(),
            DataType::Double(_) | DataType::DoublePrecision | DataType::Real => "double".into(),
            DataType::Float(ast::ExactNumberInfo::Precision(25..)) => "double".into(),
            DataType::Float(_) => "float".into(),
            DataType::Date => "date".into(),
            DataType::Time(digits, _) => fraction("time", *digits),
            DataType::Datetime(digits) => fraction("datetime", *digits),
            DataType::JSON => "json".into(),
            DataType::Custom(name, _) if name.to_string().eq_ignore_ascii_case("year") => {
                "year".into()
            }
            other => return Err(SqlError::not_supported(format_args!("CAST AS {other}"))),
        })
    }

    pub(super) fn literal(&self, value: &ast::Value) -> Text {
        use ast::Value;
        match value {
            Value::Null => Ok("NULL".into()),
            Value::Boolean(truth) => Ok(truth.to_string()),
            Value::Number(digits, _) => Ok(number(digits)),
            Value::SingleQuotedString(text)
            | Value::DoubleQuotedString(text)
            | Value::EscapedStringLiteral(text)
                if self.meanings.is_some() =>
            {
                Ok(in_quotes(text))
            }
            Value::SingleQuotedString(text)
            | Value::DoubleQuotedString(text)
            | Value::EscapedStringLiteral(text) => string(self.charset, text),
            Value::Placeholder(_) if self.meanings.is_some() => Err(SqlError::view_with_variable()),
            Value::NationalStringLiteral(text) => string(NamedCharset::NATIONAL.charset, text),
            Value::HexStringLiteral(digits) => {
                let zero = if digits.len() % 2 == 1 { "0" } else { "" };
                Ok(format!("0x{zero}{}", digits.to_ascii_lowercase()))
            }
            Value::SingleQuotedByteStringLiteral(bits)
            | Value::DoubleQuotedByteStringLiteral(bits) => Ok(bits_in_hex(bits)),
            other => Err(SqlError::not_supported(format_args!(
                "{other} in a definition"
            ))),
        }
    }
}

/// A name without quotes.
fn bare(name: &str) -> &str {
    name.trim_matches(['`', '\'', '"'])
}

/// A number without needless zeros before the point.
fn number(digits: &str) -> String {
    let (whole, rest) = match digits.find(['.', 'e', 'E']) {
        // What is in exponents is kept as it is written.
        Some(_) if digits.contains(['e', 'E']) => return digits.to_string(),
        Some(point) => digits.split_at(point),
        None => (digits, ""),
    };
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let rest = if rest == "." { "" } else { rest };
    format!("{whole}{rest}")
}

fn bits_in_hex(bits: &str) -> String {
    let padded = format!("{}{bits}", "0".repeat((8 - bits.len() % 8) % 8));
    let nibble = |four: &[u8]| {
        four.iter()
            .fold(0, |n, bit| n << 1 | u8::from(*bit == b'1'))
    };
    let digits = padded.as_bytes().chunks(4);
    let digits: String = digits.map(|four| format!("{:x}", nibble(four))).collect();
    format!("0x{digits}")
}

/// A string with its character set. Its text is UTF-8, so it must be the same in that.
fn string(charset: Charset, text: &str) -> Text {
    let same = matches!(
        charset,
        Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Binary
    );
    let is_ascii = text.is_ascii() && charset.has_ascii();
    if !same && !is_ascii {
        return Err(SqlError::not_supported(format_args!(
            "the {} string '{text}' in a definition",
            charset.name()
        )));
    }
    Ok(format!("_{}{}", charset.name(), in_quotes(text)))
}

fn in_quotes(text: &str) -> String {
    let mut out = String::from("'");
    for character in text.chars() {
        match character {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\x1a' => out.push_str("\\Z"),
            other => out.push(other),
        }
    }
    out.push('\'');
    out
}

/// `_charset 'text'`
fn prefixed(prefix: &str, value: &Expr) -> Text {
    let charset = NamedCharset::find(prefix.trim_start_matches('_'))?.charset;
    match value {
        Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) | ast::Value::DoubleQuotedString(text) => {
                string(charset, text)
            }
            _ => Err(SqlError::not_supported(
                "a character set before anything but a string in a definition",
            )),
        },
        other => Err(unknown(other)),
    }
}

/// DATE '…', TIME '…', TIMESTAMP '…', as their values are shown.
fn moment(typed: &ast::TypedString) -> Text {
    let word = match typed.data_type {
        DataType::Date => "DATE",
        DataType::Time(..) => "TIME",
        DataType::Timestamp(..) | DataType::Datetime(_) => "TIMESTAMP",
        _ => return Err(SqlError::not_supported(&typed.data_type)),
    };
    let text = typed.value.value.clone().into_string().unwrap_or_default();
    let shown = expr::moment_text(typed)?
        .ok_or_else(|| SqlError::not_supported(format_args!("{word}'{text}' in a definition")))?;
    Ok(format!("{word}'{shown}'"))
}

/// The character set of a CAST, which the parser knows as a format.
fn charset_of(format: &ast::CastFormat) -> Result<&str, SqlError> {
    match format {
        ast::CastFormat::Value(ast::ValueWithSpan {
            value: ast::Value::DoubleQuotedString(name),
            span: _,
        }) => Ok(name),
        ast::CastFormat::Value(_) | ast::CastFormat::ValueAtTimeZone(..) => {
            Err(SqlError::not_supported("CAST with FORMAT"))
        }
    }
}

fn charset_name(name: &str) -> Result<&'static str, SqlError> {
    Ok(NamedCharset::find(name)?.charset.name())
}

fn characters(length: Option<&ast::CharacterLength>) -> Option<u64> {
    match length {
        Some(ast::CharacterLength::IntegerLength { length, .. }) => Some(*length),
        _ => None,
    }
}
