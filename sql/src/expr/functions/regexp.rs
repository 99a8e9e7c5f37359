//! REGEXP and REGEXP_LIKE. The patterns are those of the `regex` crate, which shares the usual
//! syntax with the ICU library that MySQL uses but has neither look-around nor back references;
//! in exchange no pattern takes more than linear time.

use super::Args;
use crate::{error::SqlError, expr::EvalContext};
use cohort_engine::types::{Collation, Value};
use regex::bytes::{Regex, RegexBuilder};
use std::cell::RefCell;

/// How much memory one compiled pattern may take.
const SIZE_LIMIT: usize = 1 << 20;

thread_local! {
    /// The pattern compiled last: usually one pattern is tried on many rows.
    static LAST: RefCell<Option<(Vec<u8>, bool, Regex)>> = const { RefCell::new(None) };
}

pub(super) fn like(args: &Args<'_>, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    let collation = args.comparison();
    let (Some(text), Some(pattern)) = (args.string(0, context)?, args.string(1, context)?) else {
        return Ok(Value::Null);
    };
    let mut ignore_case = matches!(
        collation,
        Collation::Utf8mb40900AiCi | Collation::Utf8mb4GeneralCi
    );
    let mut flags = String::new();
    if args.args.len() > 2 {
        let Some(letters) = args.string(2, context)? else {
            return Ok(Value::Null);
        };
        for letter in letters.iter() {
            match letter {
                b'c' => ignore_case = false,
                b'i' => ignore_case = true,
                b'm' => flags.push('m'),
                b'n' => flags.push('s'),
                b'u' => {}
                _ => return Err(SqlError::regexp_illegal_argument()),
            }
        }
    }
    let source = if flags.is_empty() {
        pattern.into_owned()
    } else {
        [format!("(?{flags})").as_bytes(), &pattern].concat()
    };
    context.strive(text.len())?;
    LAST.with_borrow_mut(|last| {
        if let Some((known, case, regex)) = last
            && *known == source
            && *case == ignore_case
        {
            return Ok(Value::Int(regex.is_match(&text).into()));
        }
        let regex = compile(&source, ignore_case)?;
        let matched = regex.is_match(&text);
        *last = Some((source, ignore_case, regex));
        Ok(Value::Int(matched.into()))
    })
}

fn compile(source: &[u8], ignore_case: bool) -> Result<Regex, SqlError> {
    let pattern = std::str::from_utf8(source).map_err(|_| SqlError::regexp_illegal_argument())?;
    if pattern.is_empty() {
        return Err(SqlError::regexp_illegal_argument());
    }
    RegexBuilder::new(pattern)
        .case_insensitive(ignore_case)
        .size_limit(SIZE_LIMIT)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => {
                SqlError::not_supported("regular expressions of this size")
            }
            _ if pattern.contains("(?=") || pattern.contains("(?!") || pattern.contains("(?<") => {
                SqlError::not_supported("look-around in regular expressions")
            }
            _ if pattern.matches('[').count() > pattern.matches(']').count() => {
                SqlError::regexp_missing_close_bracket()
            }
            _ => SqlError::regexp_illegal_argument(),
        })
}
