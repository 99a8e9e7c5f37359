//! REGEXP and the functions of regular expressions. The patterns are those of the `regex` crate, which shares the usual
//! syntax with the ICU library that MySQL uses but has neither look-around nor back references;
//! in exchange no pattern takes more than linear time.

mod pattern;
mod reader;
mod set;

use super::Args;
use crate::{error::SqlError, expr::EvalContext};
use cohort_engine::types::{Collation, Value};
use pattern::Flags;
use regex::bytes::{Captures, Regex, RegexBuilder};
use std::cell::RefCell;

/// How much memory one compiled pattern may take.
const SIZE_LIMIT: usize = 1 << 20;

thread_local! {
    /// The pattern compiled last: usually one pattern is tried on many rows.
    static LAST: RefCell<Option<(Vec<u8>, Flags, Regex)>> = const { RefCell::new(None) };
}

pub(super) fn like(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let (Some(text), Some(pattern)) = (args.string(0, context)?, args.string(1, context)?) else {
        return Ok(Value::Null);
    };
    let illegal = || SqlError::wrong_arguments("regexp_like");
    let Some(pattern) = Pattern::new(&pattern, args, 2, illegal, context)? else {
        return Ok(Value::Null);
    };
    context.strive(text.len())?;
    pattern.with(|regex| Ok(Value::Int(regex.is_match(&text).into())))
}

/// A pattern with what the letters of the match type say.
struct Pattern {
    source: Vec<u8>,
    flags: Flags,
}

impl Pattern {
    /// `letters` is the number of the argument with the match type; `None` if that is NULL. `refuse`
    /// is the error for other letters than there are.
    fn new(
        pattern: &[u8],
        args: &Args<'_>,
        letters: usize,
        refuse: impl Fn() -> SqlError,
        context: &mut EvalContext<'_>,
    ) -> Result<Option<Pattern>, SqlError> {
        let mut flags = Flags {
            ignore_case: !args.comparison().is_case_sensitive(),
            ..Flags::default()
        };
        if args.args.len() > letters {
            let Some(letters) = args.string(letters, context)? else {
                return Ok(None);
            };
            for letter in letters.iter() {
                match letter {
                    b'c' => flags.ignore_case = false,
                    b'i' => flags.ignore_case = true,
                    b'm' => flags.lines = true,
                    b'n' => flags.all = true,
                    b'u' => flags.unix = true,
                    _ => return Err(refuse()),
                }
            }
        }
        Ok(Some(Pattern {
            source: pattern.to_vec(),
            flags,
        }))
    }

    /// Works with the compiled pattern.
    fn with<R>(self, work: impl FnOnce(&Regex) -> Result<R, SqlError>) -> Result<R, SqlError> {
        LAST.with_borrow_mut(|last| {
            if let Some((known, flags, regex)) = last
                && *known == self.source
                && *flags == self.flags
            {
                return work(regex);
            }
            let regex = compile(&self.source, self.flags)?;
            let result = work(&regex);
            *last = Some((self.source, self.flags, regex));
            result
        })
    }
}

/// What REGEXP_INSTR, REGEXP_SUBSTR and REGEXP_REPLACE have in common.
struct Search {
    name: &'static str,
    text: Vec<u8>,
    pattern: Pattern,
    collation: Collation,
    /// Where it begins, in bytes.
    start: usize,
    occurrence: i64,
}

impl Search {
    /// The arguments from the position on begin at number `position`, the match type is that at
    /// number `letters`; `None` if one of them is NULL.
    fn new(
        name: &'static str,
        args: &Args<'_>,
        (position, letters): (usize, usize),
        context: &mut EvalContext<'_>,
    ) -> Result<Option<Search>, SqlError> {
        let (text, pattern) = (args.string(0, context)?, args.string(1, context)?);
        let mut number = |at: usize, otherwise: i64| match args.args.len() > at {
            true => args.int(at, context),
            false => Ok(Some(otherwise)),
        };
        let from = number(position, 1)?;
        let occurrence = number(position + 1, 1)?;
        let (Some(text), Some(pattern)) = (text, pattern) else {
            return Ok(None);
        };
        let (Some(from), Some(occurrence)) = (from, occurrence) else {
            return Ok(None);
        };
        let refuse = || SqlError::wrong_arguments(name);
        let Some(pattern) = Pattern::new(&pattern, args, letters, refuse, context)? else {
            return Ok(None);
        };
        let collation = args.comparison();
        let count = collation.char_count(&text);
        // REGEXP_INSTR does not look behind the last character.
        let most = match name {
            "regexp_instr" if count == 0 => usize::MAX,
            "regexp_instr" => count,
            _ => count + 1,
        };
        let before = match usize::try_from(from) {
            Ok(from @ 1..) if from <= most => from - 1,
            Ok(1..) => return Err(SqlError::regexp_out_of_bounds()),
            _ if name == "regexp_instr" => return Err(SqlError::regexp_out_of_bounds()),
            _ => return Err(SqlError::wrong_native_arguments(name)),
        };
        context.strive(text.len())?;
        Ok(Some(Search {
            name,
            start: collation.char_offset(&text, before),
            text: text.into_owned(),
            pattern,
            collation,
            occurrence,
        }))
    }
}

/// The match that comes next from a place on, and where the one after it is looked for.
fn next_match<'t>(
    regex: &Regex,
    text: &'t [u8],
    at: usize,
    collation: Collation,
) -> Option<(Captures<'t>, usize)> {
    if at > text.len() {
        return None;
    }
    let found = regex.captures_at(text, at)?;
    let whole = found.get(0)?;
    // Behind an empty match the next character is left out.
    let next = match whole.is_empty() {
        true if whole.end() >= text.len() => text.len() + 1,
        true => whole.end() + collation.char_offset(text.get(whole.end()..)?, 1).max(1),
        false => whole.end(),
    };
    Some((found, next))
}

/// Where a match of this number is, counted from 1.
fn nth_match(
    regex: &Regex,
    text: &[u8],
    start: usize,
    occurrence: i64,
    collation: Collation,
) -> Option<(usize, usize)> {
    let mut at = start;
    let mut left = occurrence.max(1);
    loop {
        let (found, next) = next_match(regex, text, at, collation)?;
        left -= 1;
        if left == 0 {
            let whole = found.get(0)?;
            return Some((whole.start(), whole.end()));
        }
        at = next;
    }
}

/// REGEXP_INSTR(text, pattern, position, occurrence, whether its end is wanted, match type)
pub(super) fn instr(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let end = match args.args.len() > 4 {
        true => args.int(4, context)?,
        false => Some(0),
    };
    let (Some(search), Some(end)) = (Search::new("regexp_instr", args, (2, 5), context)?, end)
    else {
        return Ok(Value::Null);
    };
    if !(0..=1).contains(&end) {
        let what = format_args!("{}: return_option must be 1 or 0.", search.name);
        return Err(SqlError::wrong_arguments(what));
    }
    let Search {
        text,
        collation,
        start,
        occurrence,
        pattern,
        name: _,
    } = search;
    if text.is_empty() {
        return Ok(Value::Int(0));
    }
    // What is before the position is not there for it.
    let (before, rest) = text.split_at(start);
    let found = pattern.with(|regex| Ok(nth_match(regex, rest, 0, occurrence, collation)))?;
    let place = found.map(|(first, behind)| if end == 1 { behind } else { first });
    let position = place
        .and_then(|place| rest.get(..place))
        .map(|until| collation.char_count(before) + collation.char_count(until) + 1);
    Ok(Value::Int(position.map_or(0, |position| position as i64)))
}

/// REGEXP_SUBSTR(text, pattern, position, occurrence, match type)
pub(super) fn substr(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let Some(search) = Search::new("regexp_substr", args, (2, 4), context)? else {
        return Ok(Value::Null);
    };
    let (text, start, collation) = (search.text, search.start, search.collation);
    let occurrence = search.occurrence;
    let find = |regex: &Regex| Ok(nth_match(regex, &text, start, occurrence, collation));
    let found = search.pattern.with(find)?;
    let found = found.and_then(|(first, behind)| text.get(first..behind));
    Ok(found.map_or(Value::Null, |found| Value::Bytes(found.to_vec())))
}

/// REGEXP_REPLACE(text, pattern, replacement, position, occurrence, match type)
pub(super) fn replace(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let with = args.string(2, context)?;
    let all = match args.args.len() > 4 {
        true => args.int(4, context)?,
        false => Some(0),
    };
    let search = Search::new("regexp_replace", args, (3, 5), context)?;
    let (Some(search), Some(with), Some(wanted)) = (search, with, all) else {
        return Ok(Value::Null);
    };
    let (text, collation) = (search.text, search.collation);
    if text.is_empty() {
        return Ok(Value::Bytes(Vec::new()));
    }
    // A negative number is the first one, too; 0 are all.
    let wanted = if wanted < 0 { 1 } else { wanted };
    let max = context.statement.max_allowed_packet;
    let made = search.pattern.with(|regex| {
        let mut out = Vec::with_capacity(text.len());
        let (mut copied, mut at, mut number) = (0, search.start, 0);
        while let Some((found, next)) = next_match(regex, &text, at, collation) {
            at = next;
            number += 1;
            if wanted > 0 && number != wanted {
                continue;
            }
            let whole = found.get(0).map_or(copied..copied, |whole| whole.range());
            out.extend_from_slice(text.get(copied..whole.start).unwrap_or_default());
            expand(&with, &found, &mut out)?;
            copied = whole.end;
            if wanted > 0 || out.len() as u64 > max {
                break;
            }
        }
        out.extend_from_slice(text.get(copied..).unwrap_or_default());
        Ok(out)
    })?;
    match super::may_make(made.len() as u64, "regexp_replace", context) {
        true => Ok(Value::Bytes(made)),
        false => Ok(Value::Null),
    }
}

/// Appends a replacement: `$1` and `${name}` are groups, and a backslash takes a character as it is.
fn expand(with: &[u8], found: &Captures<'_>, out: &mut Vec<u8>) -> Result<(), SqlError> {
    let mut rest = with;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'\\' => {
                out.extend(rest.first());
                rest = rest.get(1..).unwrap_or_default();
            }
            b'$' => rest = expand_group(rest, found, out)?,
            other => out.push(other),
        }
    }
    Ok(())
}

/// Appends the group that is named behind a dollar; what follows the name.
fn expand_group<'w>(
    rest: &'w [u8],
    found: &Captures<'_>,
    out: &mut Vec<u8>,
) -> Result<&'w [u8], SqlError> {
    let mut append = |group: Option<regex::bytes::Match<'_>>| {
        out.extend_from_slice(group.map_or(&[][..], |group| group.as_bytes()));
    };
    if let Some(braced) = rest.strip_prefix(b"{") {
        let end = braced.iter().position(|&byte| byte == b'}');
        let name = end.and_then(|end| std::str::from_utf8(braced.get(..end)?).ok());
        let is_name = |name: &&str| name.starts_with(|c: char| c.is_ascii_alphabetic());
        let name = name
            .filter(is_name)
            .ok_or_else(SqlError::regexp_invalid_group_name)?;
        append(found.name(name));
        return Ok(braced.get(name.len() + 1..).unwrap_or_default());
    }
    // As many digits as there are groups for.
    let (mut number, mut digits) = (0_usize, 0);
    for &digit in rest.iter().take_while(|byte| byte.is_ascii_digit()) {
        let next = number * 10 + usize::from(digit - b'0');
        if digits > 0 && next >= found.len() {
            break;
        }
        (number, digits) = (next, digits + 1);
    }
    if digits == 0 {
        return Err(SqlError::regexp_invalid_group_name());
    }
    if number >= found.len() {
        return Err(SqlError::regexp_out_of_bounds());
    }
    append(found.get(number));
    Ok(rest.get(digits..).unwrap_or_default())
}

fn compile(source: &[u8], flags: Flags) -> Result<Regex, SqlError> {
    let pattern = std::str::from_utf8(source).map_err(|_| SqlError::regexp_illegal_argument())?;
    if pattern.is_empty() {
        return Err(SqlError::regexp_illegal_argument());
    }
    let translated = pattern::translate(pattern, flags)?;
    RegexBuilder::new(&translated)
        .case_insensitive(flags.ignore_case)
        .size_limit(SIZE_LIMIT)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => {
                SqlError::not_supported("regular expressions of this size")
            }
            _ => SqlError::regexp_illegal_argument(),
        })
}
