//! WEIGHT_STRING: the weights by which a collation compares a text, as MySQL writes them.
//!
//! They are read out of the sort key, which has the same weights in a shorter form (see
//! `types::collation::sort_key`).

use super::{Args, Function, Typing, function};
use crate::{
    error::SqlError,
    expr::{EvalContext, ExprType, convert, infer, types::coercibility},
};
use cohort_engine::types::{Collation, Value, temporal::pack_datetime};
use std::sync::LazyLock;

pub(super) const FUNCTIONS: &[Function] = &[function("weight_string", (1, 2), ty, weight_string)];

/// How a collation's weights are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The bytes of the text.
    Bytes,
    /// Codes of characters, in so many bytes.
    Codes(usize),
    /// Weights of a table, in so many bytes.
    Table(usize),
    /// Those of a version of Unicode's collation algorithm, on so many levels.
    Unicode(usize, usize),
}

/// The form of a collation. `None`: that of languages, and of sets with characters of several
/// bytes, which are not known here.
fn form(collation: Collation) -> Option<Form> {
    const V400: usize = 0;
    const V520: usize = 1;
    const V900: usize = 2;
    let charset = collation.charset();
    let name = collation.name();
    let of_charset = name.strip_prefix(charset.name()).unwrap_or(name);
    let is_wide = charset.is_unicode();
    // Characters beyond U+FFFF need a byte more.
    let code = match charset.name() {
        "utf8mb3" | "ucs2" => 2,
        _ => 3,
    };
    Some(match of_charset {
        _ if collation.is_binary() => Form::Bytes,
        "_0900_bin" => Form::Bytes,
        "_0900_ai_ci" => Form::Unicode(V900, 1),
        "_0900_as_ci" => Form::Unicode(V900, 2),
        "_0900_as_cs" => Form::Unicode(V900, 3),
        "_unicode_ci" => Form::Unicode(V400, 1),
        "_unicode_520_ci" => Form::Unicode(V520, 1),
        "_bin" if is_wide => Form::Codes(code),
        "_general_ci" | "_general_mysql500_ci" | "_tolower_ci" if is_wide => Form::Table(2),
        _ if charset.max_char_bytes() > 1 || charset.name() == "tis620" => return None,
        "_bin" => Form::Bytes,
        _ => Form::Table(1),
    })
}

fn refused(collation: Collation) -> SqlError {
    let name = collation.name();
    SqlError::not_supported(format_args!("WEIGHT_STRING() in the collation {name}"))
}

fn ty(typing: &Typing<'_>) -> ExprType {
    let text = typing.ty(0);
    let characters = text.length.max(1);
    let each = match form(text.collation) {
        _ if !text.is_string() => 8,
        Some(Form::Unicode(2, _)) => 64,
        Some(Form::Unicode(..)) => 32,
        Some(Form::Table(2) | Form::Codes(_)) => 8,
        Some(Form::Bytes | Form::Table(_)) | None => 1,
    };
    let length = characters.saturating_mul(each).max(8);
    ExprType::string(length, Collation::Binary, coercibility::LITERAL).or_null()
}

fn weight_string(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let of = args.args.first().map_or_else(ExprType::null, infer);
    if of.ty.is_some_and(|ty| ty.has_members()) {
        let what = "WEIGHT_STRING() of an ENUM or SET";
        return Err(SqlError::not_supported(what));
    }
    let value = args.value(0, context)?;
    let collation = match &*value {
        Value::Bytes(_) => of.collation,
        Value::Json(_) => Collation::Utf8mb4Bin,
        Value::Time(_) => return Err(SqlError::not_supported("WEIGHT_STRING() of a TIME")),
        other => return Ok(of_number(other)),
    };
    let form = form(collation).ok_or_else(|| refused(collation))?;
    let text = convert::string(&value, args.text_form(0)).unwrap_or_default();
    let characters = match args.args.len() {
        1 => None,
        _ => args.int(1, context)?.and_then(|n| usize::try_from(n).ok()),
    };
    let (text, spaces) = match characters {
        None => (&*text, 0),
        Some(wanted) => {
            let there = collation.char_count(&text).min(wanted);
            let end = collation.char_offset(&text, there);
            let pads = collation.pads() && !collation.is_binary();
            let spaces = if pads { wanted - there } else { 0 };
            (text.get(..end).unwrap_or_default(), spaces)
        }
    };
    const WEIGHT_MAX: usize = 3;
    let least = (text.len() + spaces.saturating_mul(WEIGHT_MAX)) as u64;
    if !super::may_make(least, "weight_string", context) {
        return Ok(Value::Null);
    }
    let padded = [text, &vec![b' '; spaces]].concat();
    let weights = weights(collation, form, &padded);
    match super::may_make(weights.len() as u64, "weight_string", context) {
        true => Ok(Value::Bytes(weights)),
        false => Ok(Value::Null),
    }
}

/// The key by which what is no text is sorted; nothing for numbers that are not whole.
fn of_number(value: &Value) -> Value {
    let signed = |number: i64| Value::Bytes((number ^ i64::MIN).to_be_bytes().to_vec());
    match value {
        Value::Int(n) => signed(*n),
        Value::UInt(n) => Value::Bytes(n.to_be_bytes().to_vec()),
        Value::Date(date) => {
            let (year, month) = (i64::from(date.year), i64::from(date.month));
            signed(year << 9 | month << 5 | i64::from(date.day))
        }
        Value::DateTime(moment) => {
            let mut bytes = Vec::with_capacity(8);
            pack_datetime(*moment, 6, &mut bytes);
            Value::Bytes(bytes)
        }
        _ => Value::Null,
    }
}

/// The weights of a text.
fn weights(collation: Collation, form: Form, text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() * 2);
    match form {
        Form::Bytes => return collation.charset().encode(text).into_owned(),
        Form::Codes(bytes) => {
            for code in String::from_utf8_lossy(text).chars().map(u32::from) {
                put(code, bytes, &mut out);
            }
        }
        Form::Table(bytes) => {
            // What stands at the end is not left out of the key then, if it is a space.
            let key = key_of(collation, &[text, b"a"].concat());
            let end = key.last().copied().unwrap_or_default();
            let mut weights = table_weights(&key, end);
            weights.pop();
            for weight in weights {
                put(weight, bytes, &mut out);
            }
        }
        Form::Unicode(version, levels) => unicode(collation, (version, levels), text, &mut out),
    }
    out
}

fn key_of(collation: Collation, text: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    collation.sort_key(text, &mut key);
    key
}

/// Appends the last bytes of a number.
fn put(number: u32, bytes: usize, out: &mut Vec<u8>) {
    let all = number.to_be_bytes();
    out.extend_from_slice(&all[all.len() - bytes..]);
}

/// The number at the start of a key in the form of UTF-8, and its length.
fn number(key: &[u8]) -> (u32, usize) {
    let first = key.first().copied().unwrap_or_default();
    let (length, mask) = match first {
        ..0x80 => return (first.into(), 1),
        0x80..0xE0 => (2, 0x1F),
        0xE0..0xF0 => (3, 0x0F),
        _ => (4, 0x07),
    };
    let rest = key.get(1..length).unwrap_or_default();
    let number = rest.iter().fold(u32::from(first & mask), |number, byte| {
        number << 6 | u32::from(byte & 0x3F)
    });
    (number, length)
}

/// The weights that a key of a table has before its end.
fn table_weights(key: &[u8], end: u8) -> Vec<u32> {
    let mut weights = Vec::with_capacity(key.len());
    let mut rest = key.get(..key.len().saturating_sub(1)).unwrap_or_default();
    while let Some(&first) = rest.first() {
        let (weight, length) = match first {
            _ if first == end - 1 || first == end + 1 => (u32::from(end - 2), 1),
            _ if first < end => (u32::from(first) - 1, 1),
            0x83.. => number(rest),
            _ => (u32::from(first) - 3, 1),
        };
        weights.push(weight);
        rest = rest.get(length..).unwrap_or_default();
    }
    weights
}

/// The weights of the ASCII characters in the versions of Unicode's algorithm, which a sort key
/// has as their ranks only.
static ASCII: LazyLock<Vec<Vec<u16>>> = LazyLock::new(|| {
    let numbers = |line: &str| {
        let words = line.split(' ');
        words
            .map(|word| u16::from_str_radix(word, 16).unwrap_or(0))
            .collect()
    };
    include_str!("weights.txt").lines().map(numbers).collect()
});

/// The weights for which one byte stands in keys of a collation.
fn ranks(collation: Collation, version: usize) -> [u16; 256] {
    let mut known = [0; 256];
    let weights = ASCII.get(version).map_or(&[][..], Vec::as_slice);
    for (code, weight) in (0_u8..).zip(weights) {
        if *weight > 0 {
            // Before a letter a space is told, too.
            let key = key_of(collation, &[code, b'a']);
            known[usize::from(key.first().copied().unwrap_or_default())] = *weight;
        }
    }
    known
}

fn unicode(
    collation: Collation,
    (version, levels): (usize, usize),
    text: &[u8],
    out: &mut Vec<u8>,
) {
    let ranks = ranks(collation, version);
    let pads = collation.pads();
    let key = match pads {
        true => key_of(collation, &[text, b"a"].concat()),
        false => key_of(collation, text),
    };
    let end = if pads {
        key.last().copied().unwrap_or_default()
    } else {
        0
    };
    let space = ranks[usize::from(end + 1)];
    let mut rest = key.as_slice();
    while let Some(&first) = rest.first().filter(|first| **first != end) {
        let is_rank = first % 2 == 1;
        if pads && (first == end - 1 || first == end + 1) {
            put(space.into(), 2, out);
        } else if is_rank {
            put(ranks[usize::from(first)].into(), 2, out);
        } else {
            out.extend_from_slice(rest.get(1..3).unwrap_or_default());
        }
        rest = rest.get(if is_rank { 1 } else { 3 }..).unwrap_or_default();
    }
    if pads {
        // The letter behind the text.
        out.truncate(out.len().saturating_sub(2));
        return;
    }
    for _ in 1..levels {
        rest = rest.get(1..).unwrap_or_default();
        out.extend_from_slice(&[0, 0]);
        while rest.first().is_some_and(|first| *first != 0) {
            let (weight, length) = number(rest);
            put(weight, 2, out);
            rest = rest.get(length..).unwrap_or_default();
        }
    }
}
