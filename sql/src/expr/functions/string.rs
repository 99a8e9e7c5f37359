//! Functions on strings.

use super::{Args, Function, Typing, bytes, function, locale, may_make, numeric::round_double};
use crate::{
    error::SqlError,
    expr::{
        EvalContext, Expr, ExprType,
        compare::moment,
        convert::{self, Number},
        infer,
        types::coercibility,
    },
};
use bigdecimal::RoundingMode;
use cohort_engine::types::{Charset, Collation, ColumnType, Date, Value, collation::next_char};
use std::cmp::Ordering;

pub(super) const FUNCTIONS: &[Function] = &[
    function("concat", (1, super::MANY), concat_type, concat),
    function("concat_ws", (2, super::MANY), concat_ws_type, concat_ws),
    function("length", (1, 1), int_type, |args, context| {
        measure(args, context, |text, _| text.len() as i64)
    }),
    function("octet_length", (1, 1), int_type, |args, context| {
        measure(args, context, |text, _| text.len() as i64)
    }),
    function("bit_length", (1, 1), int_type, |args, context| {
        measure(args, context, |text, _| text.len() as i64 * 8)
    }),
    function("char_length", (1, 1), int_type, |args, context| {
        measure(args, context, characters)
    }),
    function("character_length", (1, 1), int_type, |args, context| {
        measure(args, context, characters)
    }),
    function("lower", (1, 1), same_type, |args, context| {
        case(args, context, false)
    }),
    function("lcase", (1, 1), same_type, |args, context| {
        case(args, context, false)
    }),
    function("upper", (1, 1), same_type, |args, context| {
        case(args, context, true)
    }),
    function("ucase", (1, 1), same_type, |args, context| {
        case(args, context, true)
    }),
    function("substring", (2, 3), substring_type, substring),
    function("substr", (2, 3), substring_type, substring),
    function("mid", (3, 3), substring_type, substring),
    function("left", (2, 2), end_type, left),
    function("right", (2, 2), end_type, right),
    function("substring_index", (3, 3), same_type, substring_index),
    function("trim", (1, 3), same_type, trim),
    function("ltrim", (1, 1), same_type, |args, context| {
        Ok(args.string(0, context)?.map_or(Value::Null, |t| {
            bytes(strip(&t, b" ", true, false).to_vec())
        }))
    }),
    function("rtrim", (1, 1), same_type, |args, context| {
        Ok(args.string(0, context)?.map_or(Value::Null, |t| {
            bytes(strip(&t, b" ", false, true).to_vec())
        }))
    }),
    function("lpad", (3, 3), pad_type, |args, context| {
        pad(args, true, context)
    }),
    function("rpad", (3, 3), pad_type, |args, context| {
        pad(args, false, context)
    }),
    function("repeat", (2, 2), repeat_type, repeat),
    function("space", (1, 1), repeat_type, space),
    function("replace", (3, 3), replace_type, replace),
    function("reverse", (1, 1), same_type, reverse),
    function(
        "insert",
        (4, 4),
        |t| t.string(t.ty(0).length.saturating_add(t.text_length(3)), &[0]),
        insert,
    ),
    function("locate", (2, 3), int_type, |args, context| {
        let from = if args.len() == 3 {
            args.int(2, context)?
        } else {
            Some(1)
        };
        locate(args, 0, 1, from, context)
    }),
    function("instr", (2, 2), int_type, |args, context| {
        locate(args, 1, 0, Some(1), context)
    }),
    function(
        "ascii",
        (1, 1),
        |t| ExprType::int(4).nullable_if(t.nullable()),
        |args, context| {
            measure(args, context, |text, _| {
                text.first().copied().unwrap_or(0).into()
            })
        },
    ),
    function(
        "ord",
        (1, 1),
        |t| ExprType::int(21).nullable_if(t.nullable()),
        |args, context| measure(args, context, ord),
    ),
    function(
        "char",
        (1, super::MANY),
        |t| {
            ExprType::string(
                4 * t.args.len() as u32,
                Collation::Binary,
                coercibility::LITERAL,
            )
            .or_null()
        },
        char_,
    ),
    function("hex", (1, 1), hex_type, hex),
    function(
        "unhex",
        (1, 1),
        |t| {
            ExprType::string(
                t.ty(0).length.div_ceil(2),
                Collation::Binary,
                coercibility::LITERAL,
            )
            .or_null()
        },
        unhex,
    ),
    function("field", (2, super::MANY), |_| ExprType::int(11), field),
    function("find_in_set", (2, 2), int_type, find_in_set),
    function("elt", (2, super::MANY), elt_type, elt),
    function(
        "strcmp",
        (2, 2),
        |t| ExprType::int(2).nullable_if(t.nullable()),
        strcmp,
    ),
    function(
        "quote",
        (1, 1),
        |t| {
            let length = match t.args.first() {
                Some(Expr::Literal(Value::Null, _)) => return t.string(4, &[]),
                _ => t.ty(0).length.saturating_mul(2).saturating_add(2),
            };
            let of: &[usize] = if t.ty(0).is_bytes() { &[] } else { &[0] };
            t.string(length, of)
        },
        quote,
    ),
    function("format", (2, 3), |t| t.string(64, &[]), format),
    function(
        "regexp_like",
        (2, 3),
        |t| ExprType::boolean().nullable_if(t.nullable()),
        super::regexp::like,
    ),
    function(
        "regexp_instr",
        (2, 6),
        |t| ExprType::int(21).nullable_if(t.nullable()),
        super::regexp::instr,
    ),
    function(
        "regexp_substr",
        (2, 5),
        |t| t.string(t.text_length(0), &[0]).or_null(),
        super::regexp::substr,
    ),
    function(
        "regexp_replace",
        (3, 6),
        |t| t.string(16_777_216, &[0]).or_null(),
        super::regexp::replace,
    ),
];

/// Bytes as characters, which they must be: 3854. It has no name in SQL.
pub(in crate::expr) static AS_CHARACTERS: Function = function(
    "as_characters",
    (1, 1),
    |t| t.ty(0),
    |args, context| in_other_characters(args, Charset::Utf8mb4, context),
);

/// Characters in another character set, which must have them all: 3854. It has no name in SQL.
pub(in crate::expr) static CONVERTED: Function = function(
    "converted",
    (1, 1),
    |t| t.ty(0),
    |args, context| in_other_characters(args, args.ty.collation.charset(), context),
);

fn in_other_characters(
    args: &Args<'_>,
    to: Charset,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    let from = args.args.first().map_or_else(ExprType::null, infer);
    match args.value(0, context)?.into_owned() {
        Value::Bytes(bytes) => {
            let text = converted(&bytes, from.collation.charset(), to);
            text.map(Value::Bytes)
                .map_err(|error| match args.args.first() {
                    Some(Expr::Parameter { bound: true, .. }) => {
                        let to = args.ty.collation.name();
                        SqlError::impossible_conversion(from.collation.name(), to, "parameter")
                    }
                    _ => error,
                })
        }
        value => Ok(value),
    }
}

/// A text in another character set; 3854 if that lacks one of its characters.
pub(in crate::expr) fn converted(
    bytes: &[u8],
    from: Charset,
    to: Charset,
) -> Result<Vec<u8>, SqlError> {
    let fails = || {
        let written = from.encode(bytes);
        let shown = convert::printable(&written);
        SqlError::cannot_convert_string(shown, from.name(), to.name())
    };
    if from == Charset::Binary && to.is_as_stored() {
        return match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.into()),
            Err(_) => Err(fails()),
        };
    }
    let text = match from {
        Charset::Binary => to.decode(bytes),
        _ => bytes.into(),
    };
    match to.foreign_at(&text) {
        Some(_) => Err(fails()),
        None => Ok(text.into_owned()),
    }
}

fn int_type(typing: &Typing<'_>) -> ExprType {
    ExprType::int(11).nullable_if(typing.nullable())
}

/// A string no longer than the first argument.
fn same_type(typing: &Typing<'_>) -> ExprType {
    typing.string(typing.ty(0).length, &[0])
}

/// LEFT and RIGHT: no longer than a literal length.
fn end_type(typing: &Typing<'_>) -> ExprType {
    let length = typing.ty(0).length;
    typing.string(typing.literal(1).map_or(length, |n| n.min(length)), &[0])
}

/// SUBSTRING: what literals leave of the first argument.
fn substring_type(typing: &Typing<'_>) -> ExprType {
    let length = typing.ty(0).length;
    let rest = match typing.literal_int(1) {
        Some(from @ ..0) => u32::try_from(from.unsigned_abs())
            .ok()
            .filter(|back| *back <= length)
            .unwrap_or(0),
        Some(from @ 1..) => length - u32::try_from(from - 1).map_or(length, |n| n.min(length)),
        Some(0) | None => length,
    };
    typing.string(typing.literal(2).map_or(rest, |n| n.min(rest)), &[0])
}

/// REPLACE: as long as if all of the text were found and replaced.
/// As long as it can get. MySQL leaves out the length of the text itself where it grows, and cuts
/// results of UNION to that.
fn replace_type(typing: &Typing<'_>) -> ExprType {
    let length = typing.ty(0).length;
    let (from, to) = (typing.text_length(1), typing.text_length(2));
    let times = length.checked_div(from.min(1)).unwrap_or(0);
    let length = length.saturating_add(times.saturating_mul(to.saturating_sub(1)));
    typing.string(length, &[0])
}

/// The length of a string that only the values tell.
const LONG: u32 = 16_777_216;

fn pad_type(typing: &Typing<'_>) -> ExprType {
    typing.string(typing.literal(1).unwrap_or(LONG), &[0])
}

/// The count is the last argument; SPACE repeats one character.
fn repeat_type(typing: &Typing<'_>) -> ExprType {
    let (length, of): (u32, &[usize]) = match typing.args.len() {
        2 => (typing.ty(0).length, &[0]),
        _ => (1, &[]),
    };
    let count = typing.literal(typing.args.len() - 1);
    typing.string(count.map_or(LONG, |n| length.saturating_mul(n)), of)
}

/// Two digits for each byte of a string; a number has 64 bits.
fn hex_type(typing: &Typing<'_>) -> ExprType {
    let ty = typing.ty(0);
    let bytes = ty.length.saturating_mul(ty.collation.max_char_bytes());
    let text = ty.is_string() || ty.is_temporal() || ty.ty.is_none();
    let length = if text { bytes.saturating_mul(2) } else { 16 };
    typing.string(length, &[])
}

fn concat_type(typing: &Typing<'_>) -> ExprType {
    let all: Vec<usize> = (0..typing.args.len()).collect();
    let length = typing
        .types()
        .iter()
        .fold(0_u32, |sum, ty| sum.saturating_add(ty.length));
    typing.string(length, &all)
}

fn concat_ws_type(typing: &Typing<'_>) -> ExprType {
    let count = typing.args.len() as u32;
    let separators = typing.ty(0).length.saturating_mul(count.saturating_sub(2));
    let ty = concat_type(typing);
    let length = (ty.length - typing.ty(0).length.min(ty.length)).saturating_add(separators);
    ExprType::string(length, ty.collation, ty.coercibility).or_null()
}

fn measure(
    args: &Args<'_>,
    context: &mut EvalContext<'_>,
    f: impl FnOnce(&[u8], Collation) -> i64,
) -> Result<Value, SqlError> {
    let collation = argument_collation(args, 0);
    Ok(args
        .string(0, context)?
        .map_or(Value::Null, |text| Value::Int(f(&text, collation))))
}

/// The collation of an argument; numbers and dates are characters when printed.
fn argument_collation(args: &Args<'_>, i: usize) -> Collation {
    args.args
        .get(i)
        .map(infer)
        .filter(|ty| ty.is_string())
        .map_or(Collation::Utf8mb4Bin, |ty| ty.collation)
}

fn characters(text: &[u8], collation: Collation) -> i64 {
    collation.char_count(text) as i64
}

/// The bytes of the first character as a number.
fn ord(text: &[u8], collation: Collation) -> i64 {
    let first = &text[..collation.char_offset(text, 1)];
    let bytes = collation.charset().encode(first);
    bytes.iter().fold(0, |n, &byte| n << 8 | i64::from(byte))
}

fn concat(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let mut out = Vec::new();
    for i in 0..args.len() {
        match args.string(i, context)? {
            Some(text) => out.extend_from_slice(&text),
            None => return Ok(Value::Null),
        }
        if !may_make(out.len() as u64, "concat", context) {
            return Ok(Value::Null);
        }
    }
    Ok(bytes(out))
}

fn concat_ws(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(separator) = args.string(0, context)? else {
        return Ok(Value::Null);
    };
    let mut out = Vec::new();
    let mut first = true;
    for i in 1..args.len() {
        if let Some(text) = args.string(i, context)? {
            if !std::mem::take(&mut first) {
                out.extend_from_slice(&separator);
            }
            out.extend_from_slice(&text);
        }
        if !may_make(out.len() as u64, "concat_ws", context) {
            return Ok(Value::Null);
        }
    }
    Ok(bytes(out))
}

fn case(args: &Args<'_>, context: &mut EvalContext<'_>, upper: bool) -> Result<Value, SqlError> {
    let Some(text) = args.string(0, context)? else {
        return Ok(Value::Null);
    };
    let collation = args.collation();
    Ok(bytes(if upper {
        collation.upper(&text)
    } else {
        collation.lower(&text)
    }))
}

/// The characters from position `from` (0 is the first), at most `count`.
fn slice(text: &[u8], collation: Collation, from: usize, count: usize) -> &[u8] {
    let start = collation.char_offset(text, from);
    let rest = &text[start..];
    &rest[..collation.char_offset(rest, count)]
}

fn substring(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let text = args.string(0, context)?;
    let from = args.int(1, context)?;
    let count = if args.len() > 2 {
        args.int(2, context)?
    } else {
        Some(i64::MAX)
    };
    let (Some(text), Some(from), Some(count)) = (text, from, count) else {
        return Ok(Value::Null);
    };
    let collation = args.collation();
    let Ok(count @ 1..) = usize::try_from(count) else {
        return Ok(bytes(Vec::new()));
    };
    let from = if from >= 0 {
        usize::try_from(from - 1).ok()
    } else {
        let back = usize::try_from(from.unsigned_abs()).unwrap_or(usize::MAX);
        collation.char_count(&text).checked_sub(back)
    };
    Ok(bytes(
        from.map_or(&[][..], |from| slice(&text, collation, from, count))
            .to_vec(),
    ))
}

fn left(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let (Some(text), Some(count)) = (args.string(0, context)?, args.int(1, context)?) else {
        return Ok(Value::Null);
    };
    let count = usize::try_from(count).unwrap_or(0);
    Ok(bytes(slice(&text, args.collation(), 0, count).to_vec()))
}

fn right(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let (Some(text), Some(count)) = (args.string(0, context)?, args.int(1, context)?) else {
        return Ok(Value::Null);
    };
    let count = usize::try_from(count).unwrap_or(0);
    let from = args.collation().char_count(&text).saturating_sub(count);
    Ok(bytes(slice(&text, args.collation(), from, count).to_vec()))
}

/// Where `needle` begins in `text`, at or after `from`.
fn find(text: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    let found = memchr::memmem::find(text.get(from..)?, needle);
    found.map(|at| from + at)
}

fn substring_index(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let (text, delimiter) = (args.string(0, context)?, args.string(1, context)?);
    let (Some(text), Some(delimiter), Some(count)) = (text, delimiter, args.int(2, context)?)
    else {
        return Ok(Value::Null);
    };
    if delimiter.is_empty() || count == 0 {
        return Ok(bytes(Vec::new()));
    }
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = find(&text, &delimiter, from) {
        found.push(at);
        from = at + delimiter.len();
    }
    let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let part = if count > 0 {
        found.get(wanted - 1).map_or(&text[..], |&end| &text[..end])
    } else {
        match found.len().checked_sub(wanted) {
            Some(i) => &text[found[i] + delimiter.len()..],
            None => &text[..],
        }
    };
    Ok(bytes(part.to_vec()))
}

fn strip<'t>(mut text: &'t [u8], what: &[u8], leading: bool, trailing: bool) -> &'t [u8] {
    if what.is_empty() {
        return text;
    }
    while leading && let Some(rest) = text.strip_prefix(what) {
        text = rest;
    }
    while trailing && let Some(rest) = text.strip_suffix(what) {
        text = rest;
    }
    text
}

/// TRIM: the arguments are the text, what goes, and from which side.
fn trim(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let text = args.string(0, context)?;
    let what = if args.len() > 1 {
        args.string(1, context)?
    } else {
        Some(b" ".into())
    };
    let side = args.string(2, context)?.unwrap_or_default();
    let (leading, trailing) = (*side != *b"trailing", *side != *b"leading");
    Ok(text.zip(what).map_or(Value::Null, |(text, what)| {
        bytes(strip(&text, &what, leading, trailing).to_vec())
    }))
}

fn pad(args: &Args<'_>, before: bool, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let (text, length) = (args.string(0, context)?, args.int(1, context)?);
    let (Some(text), Some(length), Some(fill)) = (text, length, args.string(2, context)?) else {
        return Ok(Value::Null);
    };
    let collation = args.collation();
    let Ok(length) = usize::try_from(length) else {
        return Ok(Value::Null);
    };
    let have = collation.char_count(&text);
    if length <= have {
        return Ok(bytes(slice(&text, collation, 0, length).to_vec()));
    }
    let name = if before { "lpad" } else { "rpad" };
    let total = length.saturating_mul(collation.max_char_bytes() as usize);
    if !may_make(total as u64, name, context) {
        return Ok(Value::Null);
    }
    let fill_count = collation.char_count(&fill);
    if fill_count == 0 {
        return Ok(bytes(text.into_owned()));
    }
    let missing = length - have;
    let mut padding = fill.repeat(missing / fill_count);
    padding.extend_from_slice(slice(&fill, collation, 0, missing % fill_count));
    Ok(bytes(if before {
        [&padding[..], &text].concat()
    } else {
        [&text[..], &padding].concat()
    }))
}

fn repeat(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let (Some(text), Some(count)) = (args.string(0, context)?, args.int(1, context)?) else {
        return Ok(Value::Null);
    };
    let count = u64::try_from(count).unwrap_or(0);
    if !may_make(count.saturating_mul(text.len() as u64), "repeat", context) {
        return Ok(Value::Null);
    }
    Ok(bytes(if text.is_empty() {
        Vec::new()
    } else {
        text.repeat(count as usize)
    }))
}

fn space(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(count) = args.int(0, context)? else {
        return Ok(Value::Null);
    };
    let count = u64::try_from(count).unwrap_or(0);
    if !may_make(count, "space", context) {
        return Ok(Value::Null);
    }
    Ok(bytes(vec![b' '; count as usize]))
}

fn replace(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let (text, from) = (args.string(0, context)?, args.string(1, context)?);
    let (Some(text), Some(from), Some(to)) = (text, from, args.string(2, context)?) else {
        return Ok(Value::Null);
    };
    if from.is_empty() {
        return Ok(bytes(text.into_owned()));
    }
    let mut out = Vec::with_capacity(text.len());
    let mut start = 0;
    while let Some(at) = find(&text, &from, start) {
        out.extend_from_slice(&text[start..at]);
        out.extend_from_slice(&to);
        start = at + from.len();
        if !may_make(out.len() as u64, "replace", context) {
            return Ok(Value::Null);
        }
    }
    out.extend_from_slice(&text[start..]);
    Ok(bytes(out))
}

fn reverse(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(text) = args.string(0, context)? else {
        return Ok(Value::Null);
    };
    let mut out = Vec::with_capacity(text.len());
    if args.collation().is_binary() {
        out.extend(text.iter().rev());
    } else {
        let mut ends = Vec::new();
        let mut rest = &text[..];
        while let Some((_, length)) = next_char(rest) {
            ends.push(&rest[..length]);
            rest = &rest[length..];
        }
        ends.iter()
            .rev()
            .for_each(|character| out.extend_from_slice(character));
    }
    Ok(bytes(out))
}

/// INSERT(text, position, length, new)
fn insert(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let text = args.string(0, context)?;
    let (position, count) = (args.int(1, context)?, args.int(2, context)?);
    let (Some(text), Some(position), Some(count), Some(new)) =
        (text, position, count, args.string(3, context)?)
    else {
        return Ok(Value::Null);
    };
    let collation = args.collation();
    let have = collation.char_count(&text);
    let position = match usize::try_from(position) {
        Ok(position @ 1..) if position <= have => position - 1,
        _ => return Ok(bytes(text.into_owned())),
    };
    let start = collation.char_offset(&text, position);
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let end = start + collation.char_offset(&text[start..], count);
    Ok(bytes([&text[..start], &new[..], &text[end..]].concat()))
}

/// The position, in characters from 1, of one argument in another; 0 if it is not there.
fn locate(
    args: &Args<'_>,
    needle: usize,
    haystack: usize,
    from: Option<i64>,
    context: &mut EvalContext<'_>,
) -> Result<Value, SqlError> {
    let collation = args.searched(haystack);
    let (needle, text) = (
        args.string(needle, context)?,
        args.string(haystack, context)?,
    );
    let (Some(needle), Some(text), Some(from)) = (needle, text, from) else {
        return Ok(Value::Null);
    };
    let Ok(from @ 1..) = usize::try_from(from) else {
        return Ok(Value::Int(0));
    };
    if from - 1 > collation.char_count(&text) {
        return Ok(Value::Int(0));
    }
    if needle.is_empty() {
        return Ok(Value::Int(from as i64));
    }
    let mut rest = &text[collation.char_offset(&text, from - 1)..];
    let mut position = from;
    while !rest.is_empty() {
        context.strive(needle.len())?;
        if collation.begins(rest, &needle) {
            return Ok(Value::Int(position as i64));
        }
        rest = &rest[collation.char_offset(rest, 1)..];
        position += 1;
    }
    Ok(Value::Int(0))
}

fn char_(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let mut out = Vec::new();
    for i in 0..args.len() {
        let value = args.whole(i, context)?;
        let number = match convert::integer(&value, context) {
            Some(Number::Int(n)) => Some(n as u32),
            Some(Number::UInt(n)) => Some(n as u32),
            // `integer` yields integers only.
            Some(Number::Decimal(_) | Number::Double(_)) | None => None,
        };
        if let Some(n) = number {
            let all = n.to_be_bytes();
            let zeros = all.iter().take(3).take_while(|&&byte| byte == 0).count();
            out.extend_from_slice(&all[zeros..]);
        }
    }
    Ok(bytes(out))
}

fn to_hex(bytes: &[u8]) -> Vec<u8> {
    let digit = |nibble: u8| b"0123456789ABCDEF"[usize::from(nibble)];
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

fn hex(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let value = args.value(0, context)?;
    let number = match &*value {
        Value::Null => return Ok(Value::Null),
        Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Double(_) | Value::Decimal(_) => {
            let value = args.near_integer(0, value, context)?;
            convert::integer(&value, context)
        }
        other => {
            let text = convert::string(other, args.text_form(0)).unwrap_or_default();
            return Ok(bytes(to_hex(&text)));
        }
    };
    Ok(match number {
        Some(Number::Int(n)) => bytes(format!("{n:X}").into_bytes()),
        Some(Number::UInt(n)) => bytes(format!("{n:X}").into_bytes()),
        _ => Value::Null,
    })
}

fn unhex(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(text) = args.string(0, context)? else {
        return Ok(Value::Null);
    };
    let nibble = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    let digits: Option<Vec<u8>> = text.iter().map(nibble).collect();
    let Some(mut digits) = digits else {
        let shown = format!("'{}'", convert::shown(&text));
        context
            .warnings
            .warn(SqlError::incorrect_value_for_function(
                "string", shown, "unhex",
            ));
        return Ok(Value::Null);
    };
    if digits.len() % 2 == 1 {
        digits.insert(0, 0);
    }
    Ok(bytes(
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect(),
    ))
}

/// FIELD: strings compare as strings if all are, else as numbers.
fn field(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let collation = args.searched(0);
    let strings = args.args.iter().all(|arg| {
        let ty = infer(arg);
        ty.is_searched() || ty.is_temporal() || ty.ty.is_none()
    });
    if strings {
        let Some(wanted) = args.string(0, context)? else {
            return Ok(Value::Int(0));
        };
        for i in 1..args.len() {
            let other = args.string(i, context)?;
            if other.is_some_and(|other| collation.equal(&wanted, &other)) {
                return Ok(Value::Int(i as i64));
            }
        }
        return Ok(Value::Int(0));
    }
    let wanted = args.numeric(0, context)?;
    let Some(wanted) = convert::double(&wanted, context) else {
        return Ok(Value::Int(0));
    };
    for i in 1..args.len() {
        let other = args.numeric(i, context)?;
        if convert::double(&other, context) == Some(wanted) {
            return Ok(Value::Int(i as i64));
        }
    }
    Ok(Value::Int(0))
}

fn find_in_set(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let collation = args.comparison();
    let (Some(wanted), Some(set)) = (args.string(0, context)?, args.string(1, context)?) else {
        return Ok(Value::Null);
    };
    if set.is_empty() || wanted.contains(&b',') {
        return Ok(Value::Int(0));
    }
    let position = set
        .split(|&byte| byte == b',')
        .position(|item| collation.begins(item, &wanted) && collation.begins(&wanted, item));
    Ok(Value::Int(
        position.map_or(0, |position| position as i64 + 1),
    ))
}

fn elt_type(typing: &Typing<'_>) -> ExprType {
    let all: Vec<usize> = (1..typing.args.len()).collect();
    let length = typing
        .types()
        .iter()
        .skip(1)
        .map(|ty| ty.length)
        .max()
        .unwrap_or(0);
    typing.string(length, &all).or_null()
}

fn elt(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let i = match args.int(0, context)? {
        Some(i @ 1..) => usize::try_from(i).unwrap_or(usize::MAX),
        _ => return Ok(Value::Null),
    };
    if i >= args.len() {
        return Ok(Value::Null);
    }
    Ok(args
        .string(i, context)?
        .map_or(Value::Null, |text| bytes(text.into_owned())))
}

fn strcmp(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    // Numbers have the order of their digits, and so have times alone.
    let types = || args.args.iter().map(infer);
    let is_text = |ty: ExprType| ty.is_string() || ty.is_temporal();
    let collation = if types().all(is_text) && types().any(|ty| ty.is_string()) {
        args.comparison()
    } else {
        Collation::Binary
    };
    let (a, b) = (args.string(0, context)?, args.string(1, context)?);
    if let (Some(a), Some(b)) = (&a, &b) {
        check_date(args, 0, b, context)?;
        check_date(args, 1, a, context)?;
    }
    Ok(a.zip(b).map_or(Value::Null, |(a, b)| {
        Value::Int(match collation.compare(&a, &b) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        })
    }))
}

/// A literal text that is compared with a date, an argument, must be one: 1525.
fn check_date(
    args: &Args<'_>,
    date: usize,
    text: &[u8],
    context: &mut EvalContext<'_>,
) -> Result<(), SqlError> {
    use ColumnType::{DateTime, Timestamp};
    let other = args.args.get(1 - date);
    let text = Value::Bytes(text.to_vec());
    let is_literal =
        other.is_some_and(|other| infer(other).is_string() && other.is_literal_text(&text));
    let with = match args.args.get(date).map(infer).and_then(|ty| ty.ty) {
        Some(ColumnType::Date) if is_literal => Value::Date(Date::default()),
        Some(DateTime(_) | Timestamp(_)) if is_literal => Value::DateTime(Default::default()),
        _ => return Ok(()),
    };
    moment(&text, &with, true, context).map(|_| ())
}

fn quote(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(text) = args.string(0, context)? else {
        return Ok(bytes(b"NULL".to_vec()));
    };
    let mut out = vec![b'\''];
    for &byte in text.iter() {
        match byte {
            b'\'' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0 => out.extend_from_slice(b"\\0"),
            0x1A => out.extend_from_slice(b"\\Z"),
            _ => out.push(byte),
        }
    }
    out.push(b'\'');
    Ok(bytes(out))
}

/// FORMAT(number, decimals, locale): `1,234,567.89`, or as it is written there.
fn format(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let value = args.numeric(0, context)?;
    let number = match &*value {
        // A text is a floating point number.
        text @ Value::Bytes(_) => convert::double(text, context).map(Number::Double),
        number => convert::number(number, context),
    };
    // Of 32 bits.
    let decimals = args.int(1, context)?.map(|n| i64::from(n as i32));
    let locale = match args.len() {
        3 => {
            let name = args.string(2, context)?;
            let name = name.as_deref().map(String::from_utf8_lossy);
            let name = name.as_deref().unwrap_or("NULL");
            locale::find(name).unwrap_or_else(|| {
                context.warnings.warn(SqlError::unknown_locale(name));
                locale::DEFAULT
            })
        }
        _ => locale::DEFAULT,
    };
    let (Some(number), Some(decimals)) = (number, decimals) else {
        return Ok(Value::Null);
    };
    let decimals = decimals.clamp(0, 30);
    let text = match number {
        // Its sign is kept when nothing else is left of it.
        Number::Double(x) => {
            let rounded = round_double(x.abs(), decimals, RoundingMode::HalfUp);
            let text = convert::round(&convert::f64_to_decimal(rounded), decimals);
            let sign = if x.is_sign_negative() { "-" } else { "" };
            format!("{sign}{}", text.to_plain_string())
        }
        number => convert::round(&number.into_decimal(), decimals).to_plain_string(),
    };
    Ok(bytes(locale.write(&text).into_bytes()))
}
