//! Patterns, read as the ICU library reads them, with its errors, and written in the words of the
//! `regex` crate.

use super::reader::Reader;
use crate::error::SqlError;
use std::fmt::Write;

/// What ends a line.
const LINE_ENDS: &str = r"\n\x0B\x0C\r\x{85}\x{2028}\x{2029}";

/// `\v` of ICU.
pub(super) const SPACES_DOWN: &str = LINE_ENDS;

/// ICU nests no deeper.
const DEPTH_MAX: usize = 99;

/// What letters in a match type or in a pattern switch on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags {
    pub ignore_case: bool,
    /// `^` and `$` match at the ends of lines.
    pub lines: bool,
    /// `.` matches all.
    pub all: bool,
    /// Only a line feed ends a line.
    pub unix: bool,
    /// White space and comments are passed over.
    pub comments: bool,
    /// `\b` goes by words of Unicode.
    pub words: bool,
}

/// What may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Anything but a quantifier.
    Term,
    /// A quantifier, too.
    Quantifier,
}

/// An open parenthesis.
struct Open {
    flags: Flags,
    next: Next,
}

/// A pattern, while it is read.
pub(super) struct Pattern<'p> {
    pub(super) reader: Reader<'p>,
    out: String,
    flags: Flags,
    open: Vec<Open>,
    /// How many parentheses and brackets are open.
    pub(super) depth: usize,
    groups: usize,
    names: Vec<String>,
    /// The greatest group that is referred to.
    referred: usize,
    /// What it has that is not done here: told if nothing is wrong with the pattern.
    missing: Option<String>,
}

/// The pattern in the words of the `regex` crate.
pub(super) fn translate(pattern: &str, flags: Flags) -> Result<String, SqlError> {
    let mut pattern = Pattern {
        reader: Reader::new(pattern),
        out: String::with_capacity(pattern.len() + 16),
        flags,
        open: Vec::new(),
        depth: 0,
        groups: 0,
        names: Vec::new(),
        referred: 0,
        missing: None,
    };
    pattern.advance()?;
    let mut next = Next::Term;
    while pattern.reader.now.char.is_some() {
        next = match next {
            Next::Quantifier => pattern.quantifier()?,
            Next::Term => pattern.term()?,
        };
    }
    pattern.end()
}

impl Pattern<'_> {
    fn end(self) -> Result<String, SqlError> {
        if !self.open.is_empty() {
            return Err(SqlError::regexp_parenthesis());
        }
        if self.referred > self.groups {
            return Err(SqlError::regexp_back_reference());
        }
        match self.missing {
            Some(what) => Err(unsupported(&what)),
            None => Ok(self.out),
        }
    }

    pub(super) fn advance(&mut self) -> Result<(), SqlError> {
        self.reader.advance()
    }

    /// Whether this character stands here, and means more than itself.
    pub(super) fn is(&self, char: char) -> bool {
        self.reader.now.char == Some(char) && !self.reader.now.quoted
    }

    /// Notes what is not done here.
    pub(super) fn unsupported(&mut self, what: &str) {
        self.missing.get_or_insert_with(|| what.into());
    }

    /// One more parenthesis or bracket is open.
    pub(super) fn nested(&mut self) -> Result<(), SqlError> {
        self.depth += 1;
        match self.depth > DEPTH_MAX {
            true => Err(SqlError::regexp_internal()),
            false => Ok(()),
        }
    }

    fn literal(&mut self, char: char) {
        let mut buffer = [0; 4];
        self.out
            .push_str(&regex::escape(char.encode_utf8(&mut buffer)));
    }

    /// What is no quantifier.
    fn term(&mut self) -> Result<Next, SqlError> {
        let char = self.reader.now.char.unwrap_or_default();
        if self.reader.now.quoted {
            self.literal(char);
            self.advance()?;
            return Ok(Next::Quantifier);
        }
        match char {
            '[' => {
                self.advance()?;
                let set = self.set()?;
                self.out.push_str(&set);
                return Ok(Next::Quantifier);
            }
            '(' => {
                self.advance()?;
                return self.parenthesis(Next::Term);
            }
            ')' => return self.close(),
            '|' => {
                self.out.push('|');
                self.advance()?;
                return Ok(Next::Term);
            }
            '\\' => {
                self.advance()?;
                return self.backslash();
            }
            '*' | '+' | '?' | '{' | '}' => return Err(self.reader.syntax()),
            '.' => self.any(),
            '^' if self.flags.lines && self.flags.unix => self.out.push_str("(?m:^)"),
            '$' if self.flags.lines && self.flags.unix => self.out.push_str("(?m:$)"),
            '^' if self.flags.lines => self.out.push_str("(?mR:^)"),
            '^' => self.out.push_str(r"\A"),
            '$' if self.flags.lines => self.out.push_str("(?mR:$)"),
            '$' => self.out.push_str(&self.last()),
            char => self.literal(char),
        }
        self.advance()?;
        Ok(Next::Quantifier)
    }

    fn any(&mut self) {
        let any: &str = match (self.flags.all, self.flags.unix) {
            (true, true) => "(?s:.)",
            (true, false) => r"(?:\r\n|(?s:.))",
            (false, true) => r"[^\n]",
            (false, false) => &format!("[^{LINE_ENDS}]"),
        };
        self.out.push_str(any);
    }

    /// The end of the text, or of its last line.
    fn last(&self) -> String {
        match self.flags.unix {
            true => r"(?:\n?\z)".into(),
            false => format!(r"(?:(?:\r\n|[{LINE_ENDS}])?\z)"),
        }
    }

    /// A quantifier, if one stands here.
    fn quantifier(&mut self) -> Result<Next, SqlError> {
        match self.reader.now.char {
            _ if self.reader.now.quoted => return Ok(Next::Term),
            Some(sign @ ('*' | '+' | '?')) => {
                self.out.push(sign);
                self.advance()?;
            }
            Some('{') => {
                self.advance()?;
                self.interval()?;
            }
            Some('(') => {
                // A comment may stand between what is repeated and how often.
                self.advance()?;
                return self.parenthesis(Next::Quantifier);
            }
            _ => return Ok(Next::Term),
        }
        if self.is('?') {
            self.out.push('?');
            self.advance()?;
        } else if self.is('+') {
            self.unsupported("possessive quantifiers");
            self.advance()?;
        }
        Ok(Next::Term)
    }

    /// `n}`, `n,}` or `n,m}`
    fn interval(&mut self) -> Result<(), SqlError> {
        let low = self.number()?;
        let low = low.ok_or_else(SqlError::regexp_bad_interval)?;
        let mut high = Some(low);
        if self.is(',') {
            self.advance()?;
            high = self.number()?;
        }
        if !self.is('}') {
            return Err(SqlError::regexp_bad_interval());
        }
        if high.is_some_and(|high| high < low) {
            return Err(SqlError::regexp_max_below_min());
        }
        self.advance()?;
        let _ = match high {
            Some(high) => write!(self.out, "{{{low},{high}}}"),
            None => write!(self.out, "{{{low},}}"),
        };
        Ok(())
    }

    fn number(&mut self) -> Result<Option<i32>, SqlError> {
        let mut number = None;
        while !self.reader.now.quoted
            && let Some(digit) = self.reader.now.char.and_then(|char| char.to_digit(10))
        {
            let more = number.unwrap_or(0_i32).checked_mul(10);
            let more = more.and_then(|more| more.checked_add_unsigned(digit));
            number = Some(more.ok_or_else(SqlError::regexp_number_too_big)?);
            self.advance()?;
        }
        Ok(number)
    }

    /// What follows an opening parenthesis; `comment` is what may follow one.
    fn parenthesis(&mut self, comment: Next) -> Result<Next, SqlError> {
        if !self.is('?') {
            self.groups += 1;
            return self.open("(", Next::Quantifier);
        }
        self.advance()?;
        match self.reader.now.char {
            Some('#') => {
                while !self.is(')') {
                    self.advance()?;
                    if self.reader.now.char.is_none() {
                        return Err(SqlError::regexp_parenthesis());
                    }
                }
                self.advance()?;
                Ok(comment)
            }
            Some(':') => {
                self.advance()?;
                self.open("(?:", Next::Quantifier)
            }
            Some('>') => {
                self.unsupported("atomic groups");
                self.advance()?;
                self.open("(?:", Next::Quantifier)
            }
            Some('=' | '!') => {
                self.unsupported("look-around");
                self.advance()?;
                self.open("(?:", Next::Term)
            }
            Some('<') => {
                self.advance()?;
                self.behind_angle()
            }
            Some('i' | 'd' | 'm' | 's' | 'u' | 'w' | 'x' | '-') => self.switches(),
            Some('(' | '{') => Err(SqlError::regexp_unimplemented()),
            _ => Err(self.reader.syntax()),
        }
    }

    fn open(&mut self, written: &str, next: Next) -> Result<Next, SqlError> {
        self.nested()?;
        let flags = self.flags;
        self.open.push(Open { flags, next });
        self.out.push_str(written);
        Ok(Next::Term)
    }

    fn close(&mut self) -> Result<Next, SqlError> {
        let open = self.open.pop();
        let open = open.ok_or_else(SqlError::regexp_parenthesis)?;
        self.depth -= 1;
        self.flags = open.flags;
        self.reader.comments = self.flags.comments;
        self.out.push(')');
        self.advance()?;
        Ok(open.next)
    }

    /// What follows `(?<`: an assertion or a name.
    fn behind_angle(&mut self) -> Result<Next, SqlError> {
        match self.reader.now.char {
            Some('=' | '!') => {
                self.unsupported("look-around");
                self.advance()?;
                self.open("(?:", Next::Term)
            }
            Some(letter) if letter.is_ascii_alphabetic() => {
                let name = self.name()?;
                if self.names.contains(&name) {
                    return Err(SqlError::regexp_invalid_group_name());
                }
                self.advance()?;
                self.groups += 1;
                let written = format!("(?P<{name}>");
                self.names.push(name);
                self.open(&written, Next::Quantifier)
            }
            _ => Err(self.reader.syntax()),
        }
    }

    /// A name of a group, and the angle behind it is looked at.
    fn name(&mut self) -> Result<String, SqlError> {
        let mut name = String::new();
        while !self.is('>') {
            let char = self.reader.now.char.filter(char::is_ascii_alphanumeric);
            name.push(char.ok_or_else(SqlError::regexp_invalid_group_name)?);
            self.advance()?;
        }
        Ok(name)
    }

    /// `i-m)` or `i-m:`
    fn switches(&mut self) -> Result<Next, SqlError> {
        let (mut flags, mut on) = (self.flags, true);
        loop {
            match self.reader.now.char {
                _ if self.reader.now.quoted => return Err(SqlError::regexp_invalid_flag()),
                Some('i') => flags.ignore_case = on,
                Some('d') => flags.unix = on,
                Some('m') => flags.lines = on,
                Some('s') => flags.all = on,
                Some('w') => flags.words = on,
                Some('x') => flags.comments = on,
                Some('u') => {}
                Some('-') => on = false,
                Some(')' | ':') => break,
                _ => return Err(SqlError::regexp_invalid_flag()),
            }
            self.advance()?;
        }
        let for_group = self.is(':');
        let case = match (self.flags.ignore_case, flags.ignore_case) {
            (false, true) => "i",
            (true, false) => "-i",
            _ => "",
        };
        let next = if for_group {
            self.open(&format!("(?{case}:"), Next::Quantifier)?
        } else {
            if !case.is_empty() {
                let _ = write!(self.out, "(?{case})");
            }
            Next::Term
        };
        self.flags = flags;
        self.reader.comments = flags.comments;
        self.advance()?;
        Ok(next)
    }

    /// What follows a backslash, outside sets.
    fn backslash(&mut self) -> Result<Next, SqlError> {
        let Some(char) = self.reader.now.char else {
            return Err(SqlError::regexp_bad_escape());
        };
        match char {
            'b' | 'B' if self.flags.words => self.unsupported("words of Unicode (?w)"),
            'A' | 'b' | 'B' | 'z' => {
                let _ = write!(self.out, "\\{char}");
            }
            'Z' => self.out.push_str(&self.last()),
            'G' => self.unsupported("\\G"),
            _ => return self.backslash_repeated(char),
        }
        self.advance()?;
        Ok(Next::Term)
    }

    /// The same for what may be repeated.
    fn backslash_repeated(&mut self, char: char) -> Result<Next, SqlError> {
        match char {
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => {
                let _ = write!(self.out, "\\{char}");
            }
            'h' => self.out.push_str(r"[\t\p{Zs}]"),
            'H' => self.out.push_str(r"[^\t\p{Zs}]"),
            'v' => {
                let _ = write!(self.out, "[{SPACES_DOWN}]");
            }
            'V' => {
                let _ = write!(self.out, "[^{SPACES_DOWN}]");
            }
            'R' | 'X' => self.unsupported(&format!("\\{char}")),
            'p' | 'P' => {
                let property = self.property()?;
                self.out.push_str(&property);
                return Ok(Next::Quantifier);
            }
            'N' => {
                self.named_character()?;
                return Ok(Next::Quantifier);
            }
            'k' => {
                self.advance()?;
                let is_name = self.is('<');
                self.advance()?;
                let name = if is_name { self.name()? } else { String::new() };
                if !self.names.contains(&name) {
                    return Err(SqlError::regexp_invalid_group_name());
                }
                self.unsupported("back references");
            }
            '1'..='9' => {
                self.unsupported("back references");
                let group = char.to_digit(10).unwrap_or_default();
                self.referred = self.referred.max(group as usize);
            }
            char => self.literal(char),
        }
        self.advance()?;
        Ok(Next::Quantifier)
    }

    /// The name in braces behind a letter; the closing one is looked at.
    fn braced(&mut self) -> Result<String, SqlError> {
        self.advance()?;
        if !self.is('{') {
            return Err(SqlError::regexp_illegal_argument());
        }
        let mut name = String::new();
        loop {
            self.advance()?;
            if self.is('}') {
                break;
            }
            let char = self.reader.now.char;
            name.push(char.ok_or_else(SqlError::regexp_illegal_argument)?);
        }
        Ok(name)
    }

    /// `\p{…}`
    pub(super) fn property(&mut self) -> Result<String, SqlError> {
        let negated = self.reader.now.char == Some('P');
        let name = self.braced()?;
        let class = class(&name, negated)?;
        self.advance()?;
        Ok(class)
    }

    /// `\N{…}`: the names of characters are not here.
    pub(super) fn named_character(&mut self) -> Result<(), SqlError> {
        self.braced()?;
        self.unsupported("\\N");
        self.advance()
    }
}

/// The characters with a property, or without it. 3685 if there is no such one.
pub(super) fn class(name: &str, negated: bool) -> Result<String, SqlError> {
    let of_posix = |name: &str| {
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
            "all" => r"\p{Any}",
            _ => return None,
        })
    };
    let is_separator = |char: &char| matches!(char, ' ' | '_' | '-' | '\t'..='\r');
    let plain: String = name.chars().filter(|char| !is_separator(char)).collect();
    let plain = plain.to_ascii_lowercase();
    if let Some(class) = of_posix(&plain) {
        return Ok(format!("[{}{class}]", if negated { "^" } else { "" }));
    }
    let is_name =
        |char: char| char.is_ascii_alphanumeric() || matches!(char, ' ' | '_' | '-' | '=' | '.');
    if !name.chars().all(is_name) {
        return Err(SqlError::regexp_illegal_argument());
    }
    let class = format!("\\{}{{{}}}", if negated { 'P' } else { 'p' }, name.trim());
    if regex_syntax::Parser::new().parse(&class).is_ok() {
        return Ok(class);
    }
    // Blocks and what Java has are not in the tables of the crate.
    match plain.starts_with("in") || plain.starts_with("java") || plain.contains('=') {
        true => Err(unsupported(&format!("\\p{{{name}}}"))),
        false => Err(SqlError::regexp_illegal_argument()),
    }
}

fn unsupported(what: &str) -> SqlError {
    SqlError::not_supported(format_args!("{what} in regular expressions"))
}
