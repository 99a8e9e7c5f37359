//! Functions on numbers.

use super::{Args, Function, Typing, function};
use crate::{
    error::SqlError,
    expr::{
        BinaryOp, EvalContext, Expr, ExprType, Seeds, arithmetic,
        context::Sequence,
        convert::{self, Number},
        describe::call,
        infer,
        resolve::{arithmetic_type, literal, type_beside},
        types::coercibility,
        visit_operands,
    },
};
use bigdecimal::RoundingMode;
use cohort_engine::types::{ColumnType, Decimal, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    function("abs", (1, 1), abs_type, abs),
    function(
        "sign",
        (1, 1),
        |t| ExprType::bigint(false).nullable_if(t.nullable()),
        |args, context| {
            Ok(args.double(0, context)?.map_or(Value::Null, |x| {
                Value::Int(if x > 0.0 {
                    1
                } else if x < 0.0 {
                    -1
                } else {
                    0
                })
            }))
        },
    ),
    function("ceiling", (1, 1), whole_type, |args, context| {
        whole(args, RoundingMode::Ceiling, context)
    }),
    function("ceil", (1, 1), whole_type, |args, context| {
        whole(args, RoundingMode::Ceiling, context)
    }),
    function("floor", (1, 1), whole_type, |args, context| {
        whole(args, RoundingMode::Floor, context)
    }),
    function("round", (1, 2), round_type, |args, context| {
        round(args, RoundingMode::HalfUp, context)
    }),
    function("truncate", (2, 2), round_type, |args, context| {
        round(args, RoundingMode::Down, context)
    }),
    function("mod", (2, 2), mod_type, |args, context| {
        let (a, b) = (args.numeric(0, context)?, args.numeric(1, context)?);
        arithmetic::binary(BinaryOp::Modulo, &a, &b, args.ty, context, || "mod".into())
    }),
    function("pow", (2, 2), maybe_double, pow),
    function("power", (2, 2), maybe_double, pow),
    function("sqrt", (1, 1), maybe_double, |args, context| {
        one(args, context, |x| (x >= 0.0).then(|| x.sqrt()))
    }),
    function("exp", (1, 1), maybe_double, |args, context| {
        let x = args.double(0, context)?;
        finite("exp", args, x.map(f64::exp), context)
    }),
    function("ln", (1, 1), maybe_double, |args, context| {
        logarithm(args, context, f64::ln)
    }),
    function("log10", (1, 1), maybe_double, |args, context| {
        logarithm(args, context, f64::log10)
    }),
    function("log2", (1, 1), maybe_double, |args, context| {
        logarithm(args, context, f64::log2)
    }),
    function("log", (1, 2), maybe_double, log),
    function(
        "pi",
        (0, 0),
        |_| ExprType {
            length: 8,
            decimals: 6,
            ..ExprType::double()
        },
        |_, _| Ok(Value::Double(std::f64::consts::PI)),
    ),
    function("sin", (1, 1), maybe_double, |args, context| {
        one(args, context, |x| Some(x.sin()))
    }),
    function("cos", (1, 1), maybe_double, |args, context| {
        one(args, context, |x| Some(x.cos()))
    }),
    function("tan", (1, 1), maybe_double, |args, context| {
        one(args, context, |x| Some(x.tan()))
    }),
    function("cot", (1, 1), maybe_double, |args, context| {
        let x = args.double(0, context)?;
        finite("cot", args, x.map(|x| 1.0 / x.tan()), context)
    }),
    function("asin", (1, 1), maybe_double, |args, context| {
        one(args, context, |x| (x.abs() <= 1.0).then(|| x.asin()))
    }),
    function("acos", (1, 1), maybe_double, |args, context| {
        one(args, context, |x| (x.abs() <= 1.0).then(|| x.acos()))
    }),
    function("atan", (1, 2), maybe_double, atan),
    function("atan2", (1, 2), maybe_double, atan),
    function("degrees", (1, 1), double_type, |args, context| {
        let x = args.double(0, context)?;
        finite("degrees", args, x.map(f64::to_degrees), context)
    }),
    function("radians", (1, 1), double_type, |args, context| {
        one(args, context, |x| Some(x.to_radians()))
    }),
    super::volatile(
        "rand",
        (0, 1),
        |_| ExprType::double(),
        |args, context| rand(args, false, context),
    ),
    function(
        "crc32",
        (1, 1),
        |t| {
            ExprType {
                length: 10,
                ..ExprType::bigint(true)
            }
            .nullable_if(t.nullable())
        },
        |args, context| {
            Ok(args.string(0, context)?.map_or(Value::Null, |text| {
                Value::UInt(crc32fast::hash(&text).into())
            }))
        },
    ),
    function("conv", (3, 3), conv_type, conv),
    function("bin", (1, 1), conv_type, |args, context| {
        in_bases(args, 10, 2, context)
    }),
    function("oct", (1, 1), conv_type, |args, context| {
        in_bases(args, 10, 8, context)
    }),
    function(
        "bit_count",
        (1, 1),
        |t| ExprType::bigint(false).nullable_if(t.nullable()),
        |args, context| {
            let is_bytes =
                |arg: &Expr| infer(arg).is_bytes() && literal::digits_number(arg).is_none();
            if args.args.first().is_some_and(is_bytes) {
                return Ok(args.string(0, context)?.map_or(Value::Null, |bytes| {
                    Value::Int(bytes.iter().map(|byte| i64::from(byte.count_ones())).sum())
                }));
            }
            let value = args.whole(0, context)?;
            Ok(match convert::integer(&value, context) {
                Some(Number::Int(n)) => Value::Int(n.count_ones().into()),
                Some(Number::UInt(n)) => Value::Int(n.count_ones().into()),
                _ => Value::Null,
            })
        },
    ),
];

fn double_type(typing: &Typing<'_>) -> ExprType {
    ExprType::double().nullable_if(typing.nullable())
}

/// For functions that are not defined everywhere.
fn maybe_double(_: &Typing<'_>) -> ExprType {
    ExprType::double().or_null()
}

/// As many binary digits as there are, and a sign.
fn conv_type(typing: &Typing<'_>) -> ExprType {
    ExprType::string(65, typing.collation, coercibility::LITERAL).or_null()
}

fn same_type(typing: &Typing<'_>) -> ExprType {
    let ty = typing.ty(0);
    match ty.ty {
        // Dates and times are, too.
        _ if ty.is_floating() || ty.is_temporal() => ExprType::double(),
        Some(ColumnType::Decimal { precision, scale }) => {
            ExprType::decimal(precision.into(), scale.into())
        }
        _ => ExprType::bigint(ty.unsigned),
    }
    .nullable_if(ty.nullable)
}

/// Dates and times are floating point numbers; integers are as long as they were.
fn abs_type(typing: &Typing<'_>) -> ExprType {
    let ty = typing.ty(0);
    if ty.is_temporal() {
        return ExprType::double_of_moment(&ty).nullable_if(ty.nullable);
    }
    if ty.is_fixed_real() {
        return ExprType::double_of_real(&ty).nullable_if(ty.nullable);
    }
    let length = match ty.ty {
        Some(_) if ty.is_integer() => ty.length,
        _ => same_type(typing).length,
    };
    ExprType {
        length,
        ..same_type(typing)
    }
}

/// CEILING and FLOOR: an integer, unless it might not fit.
fn whole_type(typing: &Typing<'_>) -> ExprType {
    let ty = same_type(typing);
    match ty.ty {
        Some(ColumnType::Decimal { precision, scale }) if precision - scale < 18 => {
            ExprType::bigint(false)
        }
        Some(ColumnType::Decimal { precision, scale }) => {
            ExprType::decimal(u32::from(precision - scale) + 1, 0)
        }
        _ => ty,
    }
    .nullable_if(ty.nullable)
}

fn mod_type(typing: &Typing<'_>) -> ExprType {
    let [a, b] = typing.args else {
        return ExprType::null();
    };
    let (a, b) = (type_beside(a, b), type_beside(b, a));
    arithmetic_type(BinaryOp::Modulo, &a, &b, 0).or_null()
}

/// ROUND and TRUNCATE: a literal number of digits decides the scale.
fn round_type(typing: &Typing<'_>) -> ExprType {
    let ty = same_type(typing);
    let digits = match typing.args.get(1) {
        None => Some(0),
        Some(Expr::Literal(Value::Null, _)) => Some(0),
        // Those of a hexadecimal literal are more than there can be, as a rule.
        Some(Expr::Literal(digits, ty)) if !ty.is_bytes() => literal_digits(digits),
        Some(_) => None,
    };
    let nullable = typing.nullable();
    match (ty.ty, digits) {
        (Some(ColumnType::Decimal { precision, scale }), Some(digits)) => {
            let wanted = digits.clamp(0, scale.into()) as u32;
            ExprType::decimal(u32::from(precision - scale) + 1 + wanted, wanted)
        }
        _ => ty,
    }
    .nullable_if(nullable)
}

/// The number of digits that a literal says.
fn literal_digits(literal: &Value) -> Option<i64> {
    let digits = match literal {
        Value::Int(n) => *n,
        Value::Decimal(n) => convert::round(n, 0).to_i64()?,
        Value::Double(x) => x.round_ties_even() as i64,
        Value::Bytes(text) => convert::text_to_decimal(text).number.to_i64()?,
        _ => return None,
    };
    Some(digits.clamp(-65, 30))
}

/// The first argument; as floating point if the result is.
fn operand(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Option<Number>, SqlError> {
    let number = args.number(0, context)?;
    Ok(match args.ty.ty {
        Some(ColumnType::Double) => number.map(|number| Number::Double(number.to_f64())),
        _ => number,
    })
}

fn abs(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    Ok(match operand(args, context)? {
        None => Value::Null,
        Some(Number::Int(n)) => match n.checked_abs() {
            Some(n) => Value::Int(n),
            None => {
                return Err(SqlError::value_out_of_range(
                    "BIGINT",
                    call("abs", args.args, context.params),
                ));
            }
        },
        Some(Number::Decimal(n)) => Value::Decimal(n.abs()),
        Some(Number::Double(x)) => Value::Double(x.abs()),
        Some(unsigned) => unsigned.into_value(),
    })
}

fn whole(
    args: &Args<'_>,
    mode: RoundingMode,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    Ok(match operand(args, context)? {
        None => Value::Null,
        Some(Number::Decimal(n)) => {
            let n = n.with_scale_round(0, mode);
            match n.to_i64() {
                Some(n) if args.ty.is_integer() => Value::Int(n),
                _ => Value::Decimal(n),
            }
        }
        Some(Number::Double(x)) if mode == RoundingMode::Ceiling => Value::Double(x.ceil()),
        Some(Number::Double(x)) => Value::Double(x.floor()),
        Some(integer) => integer.into_value(),
    })
}

fn round(
    args: &Args<'_>,
    mode: RoundingMode,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    let digits = match args.len() {
        1 => Some(0),
        _ => args.int(1, context)?,
    };
    let (Some(number), Some(digits)) = (operand(args, context)?, digits) else {
        return Ok(Value::Null);
    };
    let digits = digits.clamp(-100, 30);
    Ok(match number {
        Number::Decimal(n) => {
            let scale = digits.min(n.scale().max(0));
            let rounded = n.with_scale_round(scale, mode);
            // Zeros before the point stay digits.
            let rounded = Value::Decimal(rounded.with_scale(scale.max(0)));
            convert::padded(rounded, args.ty)
        }
        Number::Double(x) => Value::Double(round_double(x, digits, mode)),
        integer if digits >= 0 => integer.into_value(),
        Number::Int(n) => round_integer(n.into(), digits, mode, false, args, context)?,
        Number::UInt(n) => round_integer(n.into(), digits, mode, true, args, context)?,
    })
}

/// A floating point number rounded: half to even, or down.
pub(super) fn round_double(x: f64, digits: i64, mode: RoundingMode) -> f64 {
    let power = 10_f64.powi(digits.unsigned_abs() as i32);
    let scaled = if digits >= 0 { x * power } else { x / power };
    if !scaled.is_finite() {
        return x;
    }
    let rounded = if mode == RoundingMode::Down {
        scaled.trunc()
    } else {
        scaled.round_ties_even()
    };
    if digits >= 0 {
        rounded / power
    } else {
        rounded * power
    }
}

fn round_integer(
    n: i128,
    digits: i64,
    mode: RoundingMode,
    unsigned: bool,
    args: &Args<'_>,
    context: &EvalContext<'_>,
) -> Result<Value, SqlError> {
    let Some(power) = 10_i128.checked_pow(digits.unsigned_abs() as u32) else {
        return Ok(if unsigned {
            Value::UInt(0)
        } else {
            Value::Int(0)
        });
    };
    let half = if mode == RoundingMode::Down {
        0
    } else {
        power / 2 * n.signum()
    };
    let rounded = (n + half) / power * power;
    let kind = if unsigned {
        "BIGINT UNSIGNED"
    } else {
        "BIGINT"
    };
    let out_of_range =
        || SqlError::value_out_of_range(kind, call("round", args.args, context.params));
    if unsigned {
        u64::try_from(rounded)
            .map(Value::UInt)
            .map_err(|_| out_of_range())
    } else {
        i64::try_from(rounded)
            .map(Value::Int)
            .map_err(|_| out_of_range())
    }
}

/// A function of one floating point number; NULL where it is not defined.
fn one(
    args: &Args<'_>,
    context: &mut EvalContext<'_>,
    f: impl FnOnce(f64) -> Option<f64>,
) -> Result<Value, SqlError> {
    Ok(args
        .double(0, context)?
        .and_then(f)
        .map_or(Value::Null, Value::Double))
}

fn finite(
    name: &str,
    args: &Args<'_>,
    x: Option<f64>,
    context: &EvalContext<'_>,
) -> Result<Value, SqlError> {
    match x {
        None => Ok(Value::Null),
        Some(x) if x.is_finite() => Ok(Value::Double(x)),
        Some(_) => Err(SqlError::value_out_of_range(
            "DOUBLE",
            call(name, args.args, context.params),
        )),
    }
}

fn pow(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let (x, y) = (args.double(0, context)?, args.double(1, context)?);
    finite("pow", args, x.zip(y).map(|(x, y)| x.powf(y)), context)
}

fn atan(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let y = args.double(0, context)?;
    if args.len() == 1 {
        return Ok(y.map_or(Value::Null, |y| Value::Double(y.atan())));
    }
    let x = args.double(1, context)?;
    Ok(y.zip(x)
        .map_or(Value::Null, |(y, x)| Value::Double(y.atan2(x))))
}

fn warn_logarithm(context: &mut EvalContext<'_>) -> Value {
    context.warnings.warn(SqlError::invalid_logarithm());
    Value::Null
}

fn logarithm(
    args: &Args<'_>,
    context: &mut EvalContext<'_>,
    f: impl FnOnce(f64) -> f64,
) -> Result<Value, SqlError> {
    Ok(match args.double(0, context)? {
        None => Value::Null,
        Some(x) if x <= 0.0 => warn_logarithm(context),
        Some(x) => Value::Double(f(x)),
    })
}

fn log(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    if args.len() == 1 {
        return logarithm(args, context, f64::ln);
    }
    let (base, x) = (args.double(0, context)?, args.double(1, context)?);
    Ok(match base.zip(x) {
        None => Value::Null,
        Some((base, x)) if base <= 0.0 || base == 1.0 || x <= 0.0 => warn_logarithm(context),
        Some((base, x)) => Value::Double(x.ln() / base.ln()),
    })
}

/// RAND of a seed that is the same for all rows: the seed begins a sequence. It has no name in SQL.
pub(in crate::expr) static RAND_SEQUENCE: Function = super::volatile(
    "rand sequence",
    (1, 1),
    |_| ExprType::double(),
    |args, context| rand(args, true, context),
);

/// RAND(): from the server's randomness, unless SET rand_seed1 began a sequence; RAND(seed): MySQL's
/// own generator, so that the numbers are the same as there.
fn rand(args: &Args<'_>, constant: bool, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    if args.len() == 0 {
        if let Some(number) = context.environment.seeded() {
            return Ok(Value::Double(number));
        }
        let bits = context.environment.random() >> 11;
        return Ok(Value::Double(bits as f64 / (1_u64 << 53) as f64));
    }
    let site = std::ptr::from_ref(args.args).addr();
    let begun = context.seeds.iter().position(|begun| begun.site == site);
    // A variable may have been given another value meanwhile.
    let seed = match begun.is_none() || args.args.iter().any(reads_variable) {
        true => Some(args.int(0, context)?.unwrap_or(0) as u32),
        false => None,
    };
    if let Some(begun) = begun.and_then(|i| context.seeds.get_mut(i))
        && seed.is_none_or(|seed| seed == begun.seed)
    {
        return Ok(Value::Double(begun.state.draw()));
    }
    let seed = seed.unwrap_or(0);
    let mut state = Seeds::of(seed);
    let number = state.draw();
    if constant {
        context.seeds.retain(|begun| begun.site != site);
        context.seeds.push(Sequence { site, seed, state });
    }
    Ok(Value::Double(number))
}

fn reads_variable(expr: &Expr) -> bool {
    let mut reads = matches!(expr, Expr::UserVariable { .. });
    visit_operands(expr, &mut |operand| reads |= reads_variable(operand));
    reads
}

/// The digits of a number in a base up to 36.
fn digits(mut n: u64, base: u64) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        out.push(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(n % base) as usize]);
        n /= base;
        if n == 0 {
            break;
        }
    }
    out.reverse();
    out
}

fn conv(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    match (args.int(1, context)?, args.int(2, context)?) {
        (Some(from), Some(to)) => in_bases(args, from, to, context),
        _ => Ok(Value::Null),
    }
}

/// The number that a hexadecimal or bit literal or a BIT is, whatever its digits say in a base.
fn own_number(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Option<u64>, SqlError> {
    let Some(arg) = args.args.first() else {
        return Ok(None);
    };
    if !matches!(infer(arg).ty, Some(ColumnType::Bit(_))) {
        literal::warn_of_digits(arg, context);
        return Ok(literal::digits_number(arg));
    }
    Ok(match *args.value(0, context)? {
        Value::UInt(bits) => Some(bits),
        _ => None,
    })
}

/// The number that a text is in one base, in another one.
fn in_bases(
    args: &Args<'_>,
    from: i64,
    to: i64,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    let (from_base, to_base) = (from.unsigned_abs(), to.unsigned_abs());
    let has_bases = (2..=36).contains(&from_base) && (2..=36).contains(&to_base);
    let n = match own_number(args, context)? {
        _ if !has_bases => return Ok(Value::Null),
        Some(number) => number,
        None => match args.string(0, context)?.filter(|text| !text.is_empty()) {
            None => return Ok(Value::Null),
            Some(text) => number_in(text.trim_ascii(), from_base).unwrap_or_else(|nearest| {
                let shown = convert::shown(&text);
                let lost = SqlError::truncated_wrong_value("DECIMAL", shown);
                context.warnings.warn(lost);
                nearest
            }),
        },
    };
    Ok(Value::Bytes(if to < 0 && n.cast_signed() < 0 {
        [
            b"-".as_slice(),
            &digits(n.cast_signed().unsigned_abs(), to_base),
        ]
        .concat()
    } else {
        digits(n, to_base)
    }))
}

/// The number a text begins with, as 64 bits; what is nearest where it has no digits or too many.
fn number_in(text: &[u8], base: u64) -> Result<u64, u64> {
    let negative = text.first() == Some(&b'-');
    let unsigned = text
        .strip_prefix(b"-")
        .or(text.strip_prefix(b"+"))
        .unwrap_or(text);
    let mut digits = unsigned
        .iter()
        .map_while(|byte| char::from(*byte).to_digit(36).map(u64::from))
        .take_while(|digit| *digit < base)
        .peekable();
    if digits.peek().is_none() {
        return Err(0);
    }
    let number = digits.try_fold(0_u64, |n, digit| n.checked_mul(base)?.checked_add(digit));
    match (number, negative) {
        (Some(n), true) => Ok(n.wrapping_neg()),
        (Some(n), false) => Ok(n),
        (None, true) => Err(0),
        (None, false) => Err(u64::MAX),
    }
}

/// A text as the exact number that an integer or decimal column is compared with, where that is
/// no longer than a decimal can be. It has no name in SQL.
pub(in crate::expr) static EXACT_NUMBER: Function = function(
    "exact_number",
    (1, 1),
    |_| ExprType::decimal(65, 30).or_null(),
    exact_number,
);

/// The same beside a decimal column, for which MySQL tells the loss of a decimal.
pub(in crate::expr) static EXACT_DECIMAL: Function = function(
    "exact_decimal",
    (1, 1),
    |_| ExprType::decimal(65, 30).or_null(),
    |args, context| {
        let value = args.value(0, context)?;
        match &*value {
            Value::Bytes(text) => Ok(exact_of_text(text, "DECIMAL", context)),
            _ => Ok(value.into_owned()),
        }
    },
);

/// A floating point number as the one that its digits, as many as its type has, stand for. It has no
/// name in SQL.
pub(in crate::expr) static FIXED: Function = function(
    "fixed",
    (1, 1),
    |t| t.ty(0),
    |args, context| {
        let value = args.value(0, context)?;
        Ok(convert::double(&value, context).map_or(Value::Null, |x| {
            let digits = format!("{x:.*}", usize::from(args.ty.decimals));
            Value::Double(digits.parse().unwrap_or(x))
        }))
    },
);

fn exact_number(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let value = args.value(0, context)?;
    let Value::Bytes(text) = &*value else {
        return Ok(value.into_owned());
    };
    Ok(exact_of_text(text, "DOUBLE", context))
}

/// The exact number that a text is taken for; what is lost of it is told as of a number of this kind.
fn exact_of_text(text: &[u8], kind: &'static str, context: &mut EvalContext<'_>) -> Value {
    let exact = convert::text_to_decimal(text);
    let (double, lost) = convert::finite_prefix_f64(text);
    if lost && !text.trim_ascii().is_empty() {
        let lost = SqlError::truncated_wrong_value(kind, convert::shown(text));
        context.warnings.warn(lost);
    }
    match exact.overflow || exact.cut {
        true => Value::Double(double),
        false => exact_value(exact.number),
    }
}

/// A number, as an integer if it is one.
fn exact_value(number: Decimal) -> Value {
    match number.to_i64() {
        Some(whole) if number.with_scale(0) == number => Value::Int(whole),
        _ => Value::Decimal(number),
    }
}

/// What `EXACT_NUMBER` makes of a text, if nothing of it is lost: then it can be done beforehand.
pub(in crate::expr) fn exact_literal(text: &[u8]) -> Option<Value> {
    let exact = convert::text_to_decimal(text);
    let is_whole = !exact.garbage && !exact.overflow && !exact.cut;
    is_whole.then(|| exact_value(exact.number))
}
