//! From bounds to ranges of keys, at execution, when the values are known.
//!
//! A value is converted to the column's type only where that keeps the comparison's meaning:
//! 5.5 is no integer, so `id = 5.5` finds nothing and `id < 5.5` ends with 5. Where it would not
//! (a string column compared with a number, say), the bound is not used and the condition alone
//! decides. So a range may be too wide, never too narrow.

use super::{ExecContext, Stop, block::BlockRun, subquery::Kept};
use crate::{
    expr::{TIMESTAMP_MAX, TimeZone, eval, parse_time},
    plan::Bound,
};
use bigdecimal::RoundingMode;
use cohort_engine::{
    txn::KeyRange,
    types::{
        Collation, Column, ColumnType, Date, DateTime, Decimal, Index, IndexPart, Table, Time,
        Value,
        collation::{self, Beginnings},
        key as keys,
        temporal::{self, SECOND},
    },
};
use std::cmp::Ordering;

/// An IN list on more than one part multiplies; not beyond this.
const RANGES_MAX: usize = 10_000;

/// The ranges to read, and whether all bounds had a part in them.
pub(super) struct Found {
    pub ranges: Ranges,
    pub usable: bool,
}

/// The ranges to read.
#[derive(Clone)]
pub(super) enum Ranges {
    /// Everything.
    All,
    /// All keys that begin so; the key itself if the bounds are a whole unique key.
    Point(Vec<u8>),
    /// These, in order and apart.
    Some(Vec<KeyRange>),
    /// A part of what is read; who has cut it out counts that reading begins.
    Part(KeyRange),
}

impl Ranges {
    /// One by one; `None` for everything.
    pub fn into_list(self) -> Option<Vec<KeyRange>> {
        match self {
            Ranges::All => None,
            Ranges::Point(prefix) => Some(vec![prefix_range(prefix)]),
            Ranges::Part(range) => Some(vec![range]),
            Ranges::Some(ranges) => Some(ranges),
        }
    }
}

/// A value as a key of a column.
enum Fit {
    /// It is a value of the column.
    Exact(Value),
    /// It lies between this value of the column and the next: equal to none.
    Above(Value),
    /// It lies between this value of the column and the one before.
    Below(Value),
    /// It is below or above all values of the column.
    Before,
    After,
    /// It is NULL: no comparison with it is true.
    Null,
    /// It does not compare as the column's values are ordered.
    Unusable,
}

/// The range of the keys that begin with a prefix.
pub(super) fn prefix_range(prefix: Vec<u8>) -> KeyRange {
    let high = successor(&prefix);
    KeyRange { low: prefix, high }
}

/// The least key after all that begin with `prefix`.
pub(super) fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&b| b != 0xFF)?;
    let mut next = prefix.get(..=last)?.to_vec();
    if let Some(byte) = next.last_mut() {
        *byte += 1;
    }
    Some(next)
}

/// Computes the ranges for the values that the bounds have now.
pub(super) fn ranges(
    table: &Table,
    index: &Index,
    alternatives: &[Vec<Bound>],
    run: &BlockRun<'_>,
    context: &mut ExecContext,
) -> Result<Found, Stop> {
    let mut usable = true;
    let mut compute = |bounds| compute(table, index, bounds, run, context, &mut usable);
    let ranges = match alternatives {
        [bounds] => compute(bounds)?,
        alternatives => {
            let mut all = Vec::with_capacity(alternatives.len());
            let mut everything = false;
            for bounds in alternatives {
                match compute(bounds)?.into_list() {
                    None => everything = true,
                    Some(ranges) => all.extend(ranges),
                }
            }
            if everything {
                Ranges::All
            } else {
                Ranges::Some(union(all))
            }
        }
    };
    Ok(Found { ranges, usable })
}

/// Makes ranges sorted and disjoint. Those that only touch stay apart: a range of one unique key
/// needs no lock on its surroundings.
fn union(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.sort_unstable_by(|a, b| a.low.cmp(&b.low));
    let mut united: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match united.last_mut() {
            Some(before) if before.high.as_ref().is_none_or(|high| range.low < *high) => {
                let farther = match (&before.high, &range.high) {
                    (Some(before), Some(high)) => high > before,
                    (before, _) => before.is_some(),
                };
                if farther {
                    before.high = range.high;
                }
            }
            _ => united.push(range),
        }
    }
    united
}

fn compute(
    table: &Table,
    index: &Index,
    bounds: &[Bound],
    run: &BlockRun<'_>,
    context: &mut ExecContext,
    usable: &mut bool,
) -> Result<Ranges, Stop> {
    let mut shorter = Vec::new();
    let mut parts = 0;
    let found = compute_most(
        table,
        index,
        bounds,
        run,
        context,
        (usable, &mut shorter, &mut parts),
    )?;
    // Without what it says of the array there is no telling which rows an index has.
    let is_short = table.array_part(index).is_some_and(|at| parts <= at);
    let is_nothing = matches!(&found, Ranges::Some(ranges) if ranges.is_empty());
    if is_short && !is_nothing {
        return Ok(Ranges::All);
    }
    if shorter.is_empty() {
        return Ok(found);
    }
    let Some(mut ranges) = found.into_list() else {
        return Ok(Ranges::All);
    };
    shorter.sort();
    shorter.dedup();
    ranges.extend(shorter.into_iter().map(prefix_range));
    Ok(Ranges::Some(union(ranges)))
}

/// The same without those that begin with one of `shorter`; and so many parts had values.
fn compute_most(
    table: &Table,
    index: &Index,
    bounds: &[Bound],
    run: &BlockRun<'_>,
    context: &mut ExecContext,
    (usable, shorter, parts): (&mut bool, &mut Vec<Vec<u8>>, &mut usize),
) -> Result<Ranges, Stop> {
    let row = run.row.as_slice();
    let mut prefixes = vec![Vec::new()];
    for (bound, part) in bounds.iter().zip(table.entry_parts(index)) {
        let Some(column) = table.columns.get(usize::from(part.column)) else {
            break;
        };
        let column = column.key_column();
        let values = match bound {
            Bound::Equal(expr) | Bound::NullSafe(expr) => {
                let is_null_safe = matches!(bound, Bound::NullSafe(_));
                match fit(column, eval(expr, row, &mut context.eval)?, context) {
                    Fit::Exact(value) => vec![value],
                    Fit::Null if is_null_safe => vec![Value::Null],
                    Fit::Unusable => {
                        *usable = false;
                        return Ok(given(prefixes));
                    }
                    _ => return Ok(Ranges::Some(Vec::new())),
                }
            }
            Bound::IsNull => vec![Value::Null],
            Bound::Array(test) => match test.keys(row, &mut context.eval) {
                Some(values) => values,
                None => {
                    *usable = false;
                    return Ok(given(prefixes));
                }
            },
            Bound::In(_) | Bound::InRows { .. } => {
                let Some(values) = listed(column, bound, run, context)? else {
                    *usable = false;
                    return Ok(given(prefixes));
                };
                values
            }
            // They are in the order of their numbers, and compared as texts.
            Bound::Range { .. } if column.ty.has_members() => {
                *usable = false;
                return Ok(given(prefixes));
            }
            Bound::Range { low, high } => {
                let mut side = |side: &Option<(crate::expr::Expr, bool)>| {
                    let Some((expr, inclusive)) = side else {
                        return Ok(None);
                    };
                    let value = eval(expr, row, &mut context.eval)?;
                    Ok::<_, Stop>(Some((fit(column, value, context), *inclusive)))
                };
                let (low, high) = (side(low)?, side(high)?);
                return Ok(between(&prefixes, column, *part, (low, high), shorter));
            }
            Bound::Like(pattern, escape) => {
                let pattern = eval(pattern, row, &mut context.eval)?;
                let escape = match escape {
                    None => Some(Some('\\')),
                    Some(expr) => match eval(expr, row, &mut context.eval)? {
                        Value::Bytes(text) => match std::str::from_utf8(&text) {
                            Ok(text) => Some(text.chars().next()),
                            Err(_) => None,
                        },
                        _ => None,
                    },
                };
                let Some(escape) = escape else {
                    return Ok(given(prefixes));
                };
                return Ok(like(prefixes, column, *part, (&pattern, escape), shorter));
            }
        };
        if prefixes.len() * values.len() > RANGES_MAX {
            *usable = false;
            return Ok(given(prefixes));
        }
        let whole;
        (prefixes, whole) = extended(prefixes, column, *part, &values, shorter);
        *parts += 1;
        if !whole && prefixes.len() > 1 {
            // Of two beginnings one may begin with the other.
            let ranges = prefixes.into_iter().map(prefix_range);
            return Ok(Ranges::Some(union(ranges.collect())));
        }
        if !whole {
            break;
        }
    }
    Ok(given(prefixes))
}

/// The values of a column that are in a list, or among the rows of a subquery; `None`: the column does
/// not compare with one of them as its values are ordered, or they are not there.
fn listed(
    column: &Column,
    bound: &Bound,
    run: &BlockRun<'_>,
    context: &mut ExecContext,
) -> Result<Option<Vec<Value>>, Stop> {
    let found: Vec<Value> = match bound {
        Bound::In(list) => {
            let values = list
                .iter()
                .map(|expr| eval(expr, &run.row, &mut context.eval));
            values.collect::<Result<_, _>>()?
        }
        Bound::InRows { subquery, .. } => {
            let kept = run.kept.get(*subquery).unwrap_or(&Kept::Nothing);
            match kept.first_values(RANGES_MAX)? {
                Some(values) => values,
                None => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    let mut values = Vec::with_capacity(found.len());
    for value in found {
        match fit(column, value, context) {
            Fit::Exact(value) => values.push(value),
            Fit::Unusable => return Ok(None),
            _ => {}
        }
    }
    Ok(Some(values))
}

/// The prefixes with one part more. False: of a part that is the beginning of a text there is only
/// a beginning, so that no further part can follow.
fn extended(
    prefixes: Vec<Vec<u8>>,
    column: &Column,
    part: IndexPart,
    values: &[Value],
    shorter: &mut Vec<Vec<u8>>,
) -> (Vec<Vec<u8>>, bool) {
    let mut whole = true;
    if let ([value], true) = (values, prefixes.len() == 1) {
        let mut prefixes = prefixes;
        for prefix in &mut prefixes {
            whole &= push_equal(column, part, value, prefix, shorter);
        }
        return (prefixes, whole);
    }
    let mut result = Vec::with_capacity(prefixes.len() * values.len());
    for prefix in &prefixes {
        for value in values {
            let mut key = prefix.clone();
            whole &= push_equal(column, part, value, &mut key, shorter);
            result.push(key);
        }
    }
    result.sort();
    result.dedup();
    (result, whole)
}

/// Appends the part of a value to a key; or, where it has only the beginning of a text, what most
/// of the parts of equal values begin with, and notes what others begin with. False: it is only a
/// beginning.
fn push_equal(
    column: &Column,
    part: IndexPart,
    value: &Value,
    key: &mut Vec<u8>,
    shorter: &mut Vec<Vec<u8>>,
) -> bool {
    let text = match value {
        Value::Bytes(text) => keys::beginnings(column, part, text, false),
        _ => None,
    };
    match text {
        Some(text) => push_beginnings(&text, key, shorter),
        None => {
            keys::encode_part(column, part, value, key);
            true
        }
    }
}

fn push_beginnings(text: &Beginnings, key: &mut Vec<u8>, shorter: &mut Vec<Vec<u8>>) -> bool {
    let others = text.shorter.iter();
    shorter.extend(others.map(|other| [key.as_slice(), other].concat()));
    key.extend_from_slice(&text.longest);
    text.whole
}

/// All keys that begin with one of the prefixes.
fn given(mut prefixes: Vec<Vec<u8>>) -> Ranges {
    if prefixes.len() == 1
        && let Some(prefix) = prefixes.pop()
    {
        return if prefix.is_empty() {
            Ranges::All
        } else {
            Ranges::Point(prefix)
        };
    }
    Ranges::Some(prefixes.into_iter().map(prefix_range).collect())
}

type Side = Option<(Fit, bool)>;

fn between(
    prefixes: &[Vec<u8>],
    column: &Column,
    part: IndexPart,
    (low, high): (Side, Side),
    shorter: &mut Vec<Vec<u8>>,
) -> Ranges {
    if keys::ends_without_spaces(column, part) {
        return given(prefixes.to_vec());
    }
    // A prefix of a column is equal for values that are not.
    let whole = part.prefix.is_none();
    let low = match low {
        None => None,
        Some((fit, inclusive)) => match fit {
            Fit::Exact(value) => Some((value, inclusive || !whole)),
            Fit::Above(value) => Some((value, !whole)),
            Fit::Below(value) => Some((value, true)),
            Fit::Before | Fit::Unusable => None,
            Fit::After | Fit::Null => return Ranges::Some(Vec::new()),
        },
    };
    let high = match high {
        None => None,
        Some((fit, inclusive)) => match fit {
            Fit::Exact(value) => Some((value, inclusive || !whole)),
            Fit::Above(value) => Some((value, true)),
            Fit::Below(value) => Some((value, !whole)),
            Fit::After | Fit::Unusable => None,
            Fit::Before | Fit::Null => return Ranges::Some(Vec::new()),
        },
    };
    let mut ranges = Vec::with_capacity(prefixes.len());
    for prefix in prefixes {
        // What is as large, or as small, may have a shorter key that does not lie in the range.
        for (value, _) in low.iter().chain(&high) {
            push_equal(column, part, value, &mut prefix.clone(), shorter);
        }
        let encoded = |value: &Value| {
            let mut key = prefix.clone();
            push_equal(column, part, value, &mut key, &mut Vec::new());
            key
        };
        // NULL, if the column can be NULL, is before all values and in no range.
        let null = || encoded(&Value::Null);
        let (first, last) = if part.desc {
            (&high, &low)
        } else {
            (&low, &high)
        };
        let start = match first {
            Some((value, true)) => Some(encoded(value)),
            Some((value, false)) => successor(&encoded(value)),
            None if column.nullable && !part.desc => successor(&null()),
            None => Some(prefix.clone()),
        };
        let end = match last {
            Some((value, true)) => successor(&encoded(value)),
            Some((value, false)) => Some(encoded(value)),
            None if column.nullable && part.desc => Some(null()),
            None => successor(prefix),
        };
        let Some(start) = start else { continue };
        if end.as_ref().is_none_or(|end| start < *end) {
            ranges.push(KeyRange {
                low: start,
                high: end,
            });
        }
    }
    Ranges::Some(ranges)
}

fn like(
    prefixes: Vec<Vec<u8>>,
    column: &Column,
    part: IndexPart,
    (pattern, escape): (&Value, Option<char>),
    shorter: &mut Vec<Vec<u8>>,
) -> Ranges {
    let Value::Bytes(pattern) = pattern else {
        return given(prefixes);
    };
    let pattern = collation::Pattern::new(pattern, escape, column.collation);
    let (text, _) = pattern.literal_prefix();
    if text.is_empty() {
        return given(prefixes);
    }
    let mut ranges = Vec::with_capacity(prefixes.len());
    for prefix in prefixes {
        let mut key = prefix;
        match keys::beginnings(column, part, &text, true) {
            Some(text) => {
                push_beginnings(&text, &mut key, shorter);
            }
            None => keys::encode_prefix(column, part, &text, &mut key),
        }
        ranges.push(prefix_range(key));
    }
    Ranges::Some(ranges)
}

/// A value as a value of a column.
fn fit(column: &Column, value: Value, context: &ExecContext) -> Fit {
    if value.is_null() {
        return Fit::Null;
    }
    let value = match value {
        Value::Member(member) if column.ty.has_collation() || column.ty.is_temporal() => {
            member.text.clone()
        }
        Value::Member(member) => Value::Int(member.signed()),
        value => value,
    };
    match column.ty {
        ColumnType::TinyInt
        | ColumnType::SmallInt
        | ColumnType::MediumInt
        | ColumnType::Int
        | ColumnType::BigInt => {
            let bits = column.ty.integer_bytes() * 8;
            integer(&value, bits, column.unsigned)
        }
        ColumnType::Bit(bits) => integer(&value, bits.into(), true),
        ColumnType::Enum(_) | ColumnType::Set(_) => member(column, &value),
        ColumnType::Year => match value {
            Value::Int(1901..=2155) | Value::UInt(1901..=2155) | Value::Int(0) => Fit::Exact(value),
            _ => Fit::Unusable,
        },
        ColumnType::Decimal { precision, scale } => decimal(&value, precision, scale),
        ColumnType::Double => match number(&value) {
            Some(n) => Fit::Exact(Value::Double(n)),
            None => Fit::Unusable,
        },
        ColumnType::Float | ColumnType::Json => Fit::Unusable,
        ty @ (ColumnType::Char(_) | ColumnType::VarChar(_) | ColumnType::Text(_)) => {
            match (value, ty) {
                (Value::Bytes(bytes), ColumnType::Char(length))
                    if column.collation == Collation::Binary =>
                {
                    binary(bytes, usize::from(length))
                }
                (value @ Value::Bytes(_), _) => Fit::Exact(value),
                _ => Fit::Unusable,
            }
        }
        ColumnType::Date => match moment(&value) {
            Some(at) if at.micros == 0 => Fit::Exact(Value::Date(at.date)),
            Some(at) => Fit::Above(Value::Date(at.date)),
            None => Fit::Unusable,
        },
        ColumnType::DateTime(fsp) => match moment(&value) {
            Some(at) => truncated(at, fsp),
            None => Fit::Unusable,
        },
        ColumnType::Timestamp(fsp) => match moment(&value) {
            Some(at) => timestamp(at, fsp, context.eval.statement.time_zone),
            None => Fit::Unusable,
        },
        ColumnType::Time(fsp) => match value {
            Value::Time(time) => time_of_day(time, fsp),
            Value::Bytes(text) => match parse_time(&text) {
                Some(parsed) if !parsed.truncated => time_of_day(parsed.value, fsp),
                _ => Fit::Unusable,
            },
            _ => Fit::Unusable,
        },
    }
}

/// A text or number as a value of an ENUM or SET.
fn member(column: &Column, value: &Value) -> Fit {
    let number = match value {
        Value::Int(number) => Ok(number.cast_unsigned()),
        Value::UInt(number) => Ok(*number),
        Value::Bytes(text) => named(column, text),
        _ => Err(Fit::Unusable),
    };
    match number {
        Ok(number) => column.member(number).map_or(Fit::Before, Fit::Exact),
        Err(fit) => fit,
    }
}

/// The number of the only value of an ENUM or SET whose text this is.
fn named(column: &Column, text: &[u8]) -> Result<u64, Fit> {
    let is = |member: &[u8], text: &[u8]| column.collation.compare(member, text).is_eq();
    let members = column.members.texts();
    // Nothing is the text of zero, too.
    if members.iter().any(|member| is(member.as_bytes(), b"")) {
        return Err(Fit::Unusable);
    }
    if is(b"", text) {
        return Ok(0);
    }
    let is_set = matches!(column.ty, ColumnType::Set(_));
    let mut number = 0;
    for part in text.split(|&byte| is_set && byte == b',') {
        let mut found = (0..).zip(members);
        let mut found = found
            .by_ref()
            .filter(|(_, member)| is(member.as_bytes(), part));
        let Some((position, _)) = found.next() else {
            return Err(Fit::Before);
        };
        if found.next().is_some() {
            return Err(Fit::Unusable);
        }
        number = if is_set {
            number | 1 << position
        } else {
            position + 1
        };
    }
    // As it is written, not in another order.
    match column.member(number) {
        Some(Value::Member(member)) if is(member.bytes(), text) => Ok(number),
        _ => Err(Fit::Before),
    }
}

/// Values of a BINARY column have all its bytes. A text comes after what it only begins with.
fn binary(mut bytes: Vec<u8>, length: usize) -> Fit {
    let fit = match bytes.len().cmp(&length) {
        Ordering::Less => Fit::Below,
        Ordering::Equal => Fit::Exact,
        Ordering::Greater => Fit::Above,
    };
    bytes.resize(length, 0);
    fit(Value::Bytes(bytes))
}

fn time_of_day(time: Time, fsp: u8) -> Fit {
    let unit = 10_i64.pow(6 - u32::from(fsp.min(6)));
    let rest = time.micros.rem_euclid(unit);
    let whole = Value::Time(Time {
        micros: time.micros - rest,
    });
    if rest == 0 {
        Fit::Exact(whole)
    } else {
        Fit::Above(whole)
    }
}

fn timestamp(at: DateTime, fsp: u8, zone: TimeZone) -> Fit {
    let zero = DateTime::default();
    if at == zero {
        return Fit::Exact(Value::DateTime(zero));
    }
    if at.date.has_zero_part() {
        return Fit::Unusable;
    }
    // Where clocks change, moments are not ordered as local times are.
    let Some(utc) = zone.to_one_utc(at) else {
        return Fit::Unusable;
    };
    match utc.unix_micros() {
        ..SECOND => Fit::Above(Value::DateTime(zero)),
        SECOND..=TIMESTAMP_MAX => truncated(utc, fsp),
        _ => Fit::After,
    }
}

fn truncated(at: DateTime, fsp: u8) -> Fit {
    let unit = 10_u64.pow(6 - u32::from(fsp.min(6)));
    let rest = at.micros % unit;
    let whole = DateTime {
        micros: at.micros - rest,
        ..at
    };
    if rest == 0 {
        Fit::Exact(Value::DateTime(whole))
    } else {
        Fit::Above(Value::DateTime(whole))
    }
}

/// A value as a date and time, if it clearly is one.
fn moment(value: &Value) -> Option<DateTime> {
    match value {
        Value::Date(date) => Some(DateTime {
            date: *date,
            micros: 0,
        }),
        Value::DateTime(at) => Some(*at),
        Value::Bytes(text) => plain_moment(text),
        _ => None,
    }
}

/// `YYYY-MM-DD[ HH:MM:SS[.ffffff]]` and nothing else.
fn plain_moment(text: &[u8]) -> Option<DateTime> {
    let number = |range: std::ops::Range<usize>| -> Option<u64> {
        let digits = text.get(range)?;
        digits
            .iter()
            .all(u8::is_ascii_digit)
            .then(|| digits.iter().fold(0, |n, d| n * 10 + u64::from(d - b'0')))
    };
    let is = |at: usize, byte: u8| text.get(at) == Some(&byte);
    if !is(4, b'-') || !is(7, b'-') {
        return None;
    }
    let date = Date {
        year: number(0..4)? as u16,
        month: number(5..7)? as u8,
        day: number(8..10)? as u8,
    };
    // Whether a date with zero parts may be compared is for sql_mode to say.
    if !date.is_valid() || date.has_zero_part() {
        return None;
    }
    if text.len() == 10 {
        return Some(DateTime { date, micros: 0 });
    }
    if !(is(10, b' ') || is(10, b'T')) || !is(13, b':') || !is(16, b':') {
        return None;
    }
    let (h, m, s) = (number(11..13)?, number(14..16)?, number(17..19)?);
    if h > 23 || m > 59 || s > 59 {
        return None;
    }
    let mut micros = ((h * 60 + m) * 60 + s) * temporal::SECOND as u64;
    if text.len() > 19 {
        let digits = text.len() - 20;
        if !is(19, b'.') || !(1..=6).contains(&digits) {
            return None;
        }
        micros += number(20..text.len())? * 10_u64.pow(6 - digits as u32);
    }
    Some(DateTime { date, micros })
}

/// A value as floating point, if it is a number or a string that is one.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(n) => Some(*n as f64),
        Value::UInt(n) => Some(*n as f64),
        Value::Float(n) => Some(f64::from(*n)),
        Value::Double(n) => Some(*n),
        Value::Decimal(n) => Some(n.to_f64()),
        Value::Bytes(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        _ => None,
    }
}

/// A number as one of so many bits.
fn integer(value: &Value, bits: u32, unsigned: bool) -> Fit {
    let (least, greatest) = if unsigned {
        (0, (1_i128 << bits) - 1)
    } else {
        (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
    };
    let (whole, exact) = match value {
        Value::Int(n) => (i128::from(*n), true),
        Value::UInt(n) => (i128::from(*n), true),
        Value::Decimal(n) => {
            let floor = n.with_scale_round(0, RoundingMode::Floor);
            match floor.to_i128() {
                Some(whole) => (whole, floor == *n),
                None => return Fit::Unusable,
            }
        }
        // Larger integers are not exact as floating point: the condition must decide.
        _ => match number(value) {
            Some(n) if n.abs() < 9e15 => (n.floor() as i128, n.fract() == 0.0),
            _ => return Fit::Unusable,
        },
    };
    if whole < least {
        return Fit::Before;
    }
    if whole > greatest {
        return Fit::After;
    }
    let value = match (unsigned, u64::try_from(whole), i64::try_from(whole)) {
        (true, Ok(n), _) => Value::UInt(n),
        (_, _, Ok(n)) => Value::Int(n),
        _ => return Fit::Unusable,
    };
    if exact {
        Fit::Exact(value)
    } else {
        Fit::Above(value)
    }
}

fn decimal(value: &Value, precision: u8, scale: u8) -> Fit {
    let number = match value {
        Value::Int(n) => Decimal::from(*n),
        Value::UInt(n) => Decimal::from(*n),
        Value::Decimal(n) => n.clone(),
        _ => return Fit::Unusable,
    };
    let whole = number.with_scale_round(i64::from(scale), RoundingMode::Floor);
    if whole.digits() > u64::from(precision) {
        return Fit::Unusable;
    }
    let exact = whole == number;
    let value = Value::Decimal(whole);
    if exact {
        Fit::Exact(value)
    } else {
        Fit::Above(value)
    }
}
