//! Functions that make texts of the bits of a number, SOUNDEX, and texts of amounts.

use super::{Args, Function, Typing, bytes, function, may_make};
use crate::{
    error::SqlError,
    expr::{
        EvalContext, Expr, ExprType,
        convert::{self, Number},
        infer,
    },
};
use cohort_engine::types::{Collation, Value, collation::next_char};

pub(super) const FUNCTIONS: &[Function] = &[
    function(
        "export_set",
        (3, 5),
        |t| {
            let longest = t.text_length(1).max(t.text_length(2));
            let between = if t.args.len() > 3 {
                t.text_length(3)
            } else {
                1
            };
            t.string(
                longest
                    .saturating_mul(64)
                    .saturating_add(between.saturating_mul(63)),
                if t.args.len() > 3 {
                    &[1, 2, 3]
                } else {
                    &[1, 2]
                },
            )
        },
        export_set,
    ),
    function("make_set", (2, super::MANY), make_set_type, make_set),
    function(
        "soundex",
        (1, 1),
        |t| t.string(t.text_length(0).max(4), &[0]),
        soundex,
    ),
    function("format_bytes", (1, 1), |t| t.string(11, &[]), format_bytes),
    function(
        "format_pico_time",
        (1, 1),
        |t| t.string(11, &[]),
        format_pico_time,
    ),
];

/// The bits of an argument; `None` for NULL.
fn bits(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Option<u64>, SqlError> {
    let value = args.whole(0, context)?;
    let value = args.near_integer(0, value, context)?;
    Ok(match convert::integer(&value, context) {
        Some(Number::Int(n)) => Some(n.cast_unsigned()),
        Some(Number::UInt(n)) => Some(n),
        // `integer` yields integers only.
        Some(Number::Decimal(_) | Number::Double(_)) | None => None,
    })
}

fn export_set(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    const BITS: u64 = 64;
    let Some(bits) = bits(args, context)? else {
        return Ok(Value::Null);
    };
    let (Some(on), Some(off)) = (args.string(1, context)?, args.string(2, context)?) else {
        return Ok(Value::Null);
    };
    let (on, off) = (on.into_owned(), off.into_owned());
    let between = match args.len() {
        ..=3 => b",".to_vec(),
        _ => match args.string(3, context)? {
            Some(text) => text.into_owned(),
            None => return Ok(Value::Null),
        },
    };
    let count = match args.len() {
        ..=4 => BITS,
        _ => match args.int(4, context)? {
            Some(count) => u64::try_from(count).unwrap_or(BITS).min(BITS),
            None => return Ok(Value::Null),
        },
    };
    let each = on.len().max(off.len()) as u64 + between.len() as u64;
    if !may_make(each * count, "export_set", context) {
        return Ok(Value::Null);
    }
    let parts: Vec<&[u8]> = (0..count)
        .map(|bit| if bits >> bit & 1 == 1 { &*on } else { &*off })
        .collect();
    Ok(bytes(parts.join(&*between)))
}

fn make_set_type(typing: &Typing<'_>) -> ExprType {
    let all: Vec<usize> = (1..typing.args.len()).collect();
    let lengths = all.iter().map(|&i| typing.text_length(i));
    let between = all.len() as u32 - 1;
    let length = lengths.fold(between, u32::saturating_add);
    ExprType {
        nullable: typing.nullable(),
        ..typing.string(length, &all)
    }
}

fn make_set(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(bits) = bits(args, context)? else {
        return Ok(Value::Null);
    };
    let mut out: Option<Vec<u8>> = None;
    for i in (1..args.len()).filter(|i| i - 1 < 64 && bits >> (i - 1) & 1 == 1) {
        let Some(text) = args.string(i, context)? else {
            continue;
        };
        let text = text.into_owned();
        let length = out.as_ref().map_or(0, Vec::len) + text.len() + 1;
        if !may_make(length as u64, "make_set", context) {
            return Ok(Value::Null);
        }
        match &mut out {
            Some(out) => {
                out.push(b',');
                out.extend_from_slice(&text);
            }
            None => out = Some(text),
        }
    }
    Ok(bytes(out.unwrap_or_default()))
}

/// The letters of a text, each with its bytes; of characters beyond ASCII MySQL takes all from À on
/// for letters.
fn letters(text: &[u8], collation: Collation) -> Vec<(u32, &[u8])> {
    let mut letters = Vec::new();
    let mut rest = text;
    while let Some((first, more)) = rest.split_first() {
        let (code, length) = match next_char(rest) {
            Some(found) if collation != Collation::Binary => found,
            _ => (u32::from(*first), 1),
        };
        let is_ascii = char::from_u32(code).is_some_and(|c| c.is_ascii_alphabetic());
        if is_ascii || code >= 0xC0 && collation != Collation::Binary {
            letters.push((code, rest.get(..length).unwrap_or(rest)));
        }
        rest = rest.get(length..).unwrap_or(more);
    }
    letters
}

/// The digit of a letter's sound; none for vowels and what MySQL does not know.
fn sound(code: u32) -> Option<u8> {
    let letter = char::from_u32(code)?.to_ascii_uppercase();
    Some(match letter {
        'B' | 'F' | 'P' | 'V' => b'1',
        'C' | 'G' | 'J' | 'K' | 'Q' | 'S' | 'X' | 'Z' => b'2',
        'D' | 'T' => b'3',
        'L' => b'4',
        'M' | 'N' => b'5',
        'R' => b'6',
        _ => return None,
    })
}

fn soundex(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let collation = args
        .args
        .first()
        .map_or(Collation::Utf8mb4Bin, |arg: &Expr| {
            let ty = infer(arg);
            if ty.is_string() {
                ty.collation
            } else {
                Collation::Utf8mb4Bin
            }
        });
    let Some(text) = args.string(0, context)? else {
        return Ok(Value::Null);
    };
    let letters = letters(&text, collation);
    let Some(((code, first), rest)) = letters.split_first() else {
        return Ok(bytes(Vec::new()));
    };
    let mut out = first.to_ascii_uppercase();
    let (mut last, mut length) = (sound(*code), 1);
    for digit in rest.iter().filter_map(|(code, _)| sound(*code)) {
        if last != Some(digit) {
            out.push(digit);
            length += 1;
            last = Some(digit);
        }
    }
    out.extend((length..4).map(|_| b'0'));
    Ok(bytes(out))
}

/// An amount in the greatest unit that it has one of, or without one: `None`.
fn amount(value: f64, units: &[(f64, &str)]) -> Option<String> {
    let (size, unit) = units.iter().find(|(size, _)| value.abs() >= *size)?;
    let value = value / size;
    let shown = if value.abs() >= 100_000.0 {
        exponential(value)
    } else {
        format!("{value:.2}")
    };
    Some(format!("{shown} {unit}"))
}

/// A number as C prints it with `%.2e`.
fn exponential(value: f64) -> String {
    let text = format!("{value:.2e}");
    match text.split_once('e') {
        Some((digits, power)) => format!("{digits}e+{power:0>2}"),
        None => text,
    }
}

fn format_bytes(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    const KIB: f64 = 1024.0;
    let units = [
        (KIB.powi(6), "EiB"),
        (KIB.powi(5), "PiB"),
        (KIB.powi(4), "TiB"),
        (KIB.powi(3), "GiB"),
        (KIB.powi(2), "MiB"),
        (KIB, "KiB"),
    ];
    Ok(args.double(0, context)?.map_or(Value::Null, |value| {
        let shown = amount(value, &units);
        let shown = shown.unwrap_or_else(|| format!("{:4.0} bytes", value.trunc() + 0.0));
        bytes(shown.into_bytes())
    }))
}

fn format_pico_time(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    const SECOND: f64 = 1e12;
    let units = [
        (SECOND * 86_400.0, "d"),
        (SECOND * 3_600.0, "h"),
        (SECOND * 60.0, "min"),
        (SECOND, "s"),
        (1e9, "ms"),
        (1e6, "us"),
        (1e3, "ns"),
    ];
    Ok(args.double(0, context)?.map_or(Value::Null, |value| {
        let shown = amount(value, &units);
        let shown = shown.unwrap_or_else(|| format!("{:3.0} ps", value.trunc() + 0.0));
        bytes(shown.into_bytes())
    }))
}
