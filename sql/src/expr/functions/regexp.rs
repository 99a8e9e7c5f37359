//! REGEXP and REGEXP_LIKE. The patterns are those of the `regex` crate, which shares the usual
//! syntax with the ICU library that MySQL uses but has neither look-around nor back references;
//! in exchange no pattern takes more than linear time.

use super::Args;
use crate::{error::SqlError, expr::EvalContext};
use cohort_engine::types::Value;
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
    let mut ignore_case = !collation.is_case_sensitive();
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
    RegexBuilder::new(&Translation::of(pattern)?)
        .case_insensitive(ignore_case)
        .size_limit(SIZE_LIMIT)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => {
                SqlError::not_supported("regular expressions of this size")
            }
            _ if pattern.contains("(?=") || pattern.contains("(?!") || pattern.contains("(?<") => {
                unsupported("look-around")
            }
            _ if pattern.matches('[').count() > pattern.matches(']').count() => {
                SqlError::regexp_missing_close_bracket()
            }
            _ => SqlError::regexp_illegal_argument(),
        })
}

/// What ends a line.
const LINE_ENDS: &str = r"\n\x0B\x0C\r\x{85}\x{2028}\x{2029}";

/// A pattern in the words of the `regex` crate, where they mean something else to ICU.
struct Translation<'p> {
    rest: &'p str,
    out: String,
    /// How many classes are open.
    classes: usize,
    /// The last thing was a quantifier.
    quantified: bool,
    /// `$` matches at the end of each line, and `.` matches all.
    multiline: bool,
    matches_all: bool,
}

impl<'p> Translation<'p> {
    fn of(pattern: &'p str) -> Result<String, SqlError> {
        let mut translation = Translation {
            rest: pattern,
            out: String::with_capacity(pattern.len() + 16),
            classes: 0,
            quantified: false,
            multiline: has_flag(pattern, 'm'),
            matches_all: has_flag(pattern, 's'),
        };
        while !translation.rest.is_empty() {
            if translation.classes == 0 {
                translation.step()?;
            } else {
                translation.in_class()?;
            }
        }
        Ok(translation.out)
    }

    /// Takes so much of the pattern as it is.
    fn keep(&mut self, bytes: usize) {
        let (kept, rest) = self.rest.split_at(bytes);
        self.out.push_str(kept);
        self.rest = rest;
    }

    /// Replaces so much of the pattern.
    fn replace(&mut self, bytes: usize, by: &str) {
        self.out.push_str(by);
        self.rest = &self.rest[bytes..];
    }

    fn step(&mut self) -> Result<(), SqlError> {
        let was_quantified = std::mem::take(&mut self.quantified);
        let rest = self.rest;
        match rest.chars().next().unwrap_or_default() {
            '\\' => return self.escape(),
            '$' if !self.multiline => self.replace(1, &end()),
            '.' if !self.matches_all => self.replace(1, &format!("[^{LINE_ENDS}]")),
            '[' => self.open(),
            '(' if rest.starts_with("(?>") => return Err(unsupported("atomic groups")),
            '(' if rest.starts_with("(?#") => {
                let end = rest
                    .find(')')
                    .ok_or_else(SqlError::regexp_illegal_argument)?;
                self.replace(end + 1, "");
            }
            '+' if was_quantified => return Err(unsupported("possessive quantifiers")),
            first => {
                self.quantified = !was_quantified && matches!(first, '*' | '+' | '?' | '}');
                self.keep(first.len_utf8());
            }
        }
        Ok(())
    }

    /// A backslash and what follows it, outside classes.
    fn escape(&mut self) -> Result<(), SqlError> {
        let escaped = self.rest[1..].chars().next();
        match escaped {
            Some('Q') => {
                let quoted = &self.rest[2..];
                let (quoted, after) = quoted.split_once("\\E").unwrap_or((quoted, ""));
                self.out.push_str(&regex::escape(quoted));
                self.rest = after;
            }
            Some('Z') => self.replace(2, &end()),
            Some('1'..='9' | 'k') => return Err(unsupported("back references")),
            Some('h' | 'H' | 'R' | 'X' | 'N' | 'G') => {
                return Err(unsupported(&self.rest[..2]));
            }
            _ => self.keep(1 + escaped.map_or(0, char::len_utf8)),
        }
        Ok(())
    }

    /// The beginning of a class; a bracket that follows at once is one of its characters.
    fn open(&mut self) {
        self.classes += 1;
        let negated = self.rest.starts_with("[^");
        let begin = 1 + usize::from(negated);
        let bracket = self.rest[begin..].starts_with(']');
        self.keep(begin + usize::from(bracket));
    }

    fn in_class(&mut self) -> Result<(), SqlError> {
        let rest = self.rest;
        match rest.chars().next().unwrap_or_default() {
            '\\' => self.keep(1 + rest[1..].chars().next().map_or(0, char::len_utf8)),
            '[' if rest.starts_with("[:") => {
                let end = rest
                    .find(":]")
                    .ok_or_else(SqlError::regexp_illegal_argument)?;
                let name = &rest[2..end];
                let (name, negated) = name.strip_prefix('^').map_or((name, false), |n| (n, true));
                let class = class(name).ok_or_else(SqlError::regexp_illegal_argument)?;
                let class = format!("[{}{class}]", if negated { "^" } else { "" });
                self.replace(end + 2, &class);
            }
            '[' => self.open(),
            ']' => {
                self.classes -= 1;
                self.keep(1);
            }
            first => self.keep(first.len_utf8()),
        }
        Ok(())
    }
}

/// The end of the text, or of its last line.
fn end() -> String {
    format!(r"(?:(?:\r\n|[{LINE_ENDS}])?\z)")
}

/// Whether a group such as `(?i)` sets a flag.
fn has_flag(pattern: &str, flag: char) -> bool {
    pattern.split("(?").skip(1).any(|group| {
        let flags = group.find(|c: char| !c.is_ascii_lowercase());
        flags.is_some_and(|end| group[..end].contains(flag))
    })
}

/// The characters of a POSIX class.
fn class(name: &str) -> Option<&'static str> {
    Some(match name {
        "alpha" => r"\p{Alphabetic}",
        "upper" => r"\p{Uppercase}",
        "lower" => r"\p{Lowercase}",
        "digit" => r"\p{Nd}",
        "alnum" => r"\p{Alphabetic}\p{Nd}",
        "space" => r"\p{White_Space}",
        "blank" => r"\p{Zs}\t",
        "punct" => r"\p{P}",
        "cntrl" => r"\p{Cc}",
        "xdigit" => r"\p{Nd}a-fA-F",
        "graph" => r"\P{White_Space}--\p{Cc}--\p{Cn}",
        "print" => r"[\P{White_Space}\p{Zs}]--\p{Cc}--\p{Cn}",
        "word" => r"\w",
        _ => return None,
    })
}

fn unsupported(what: &str) -> SqlError {
    SqlError::not_supported(format_args!("{what} in regular expressions"))
}
