//! Sets of characters in patterns: `[a-z&&[^m]]`.

use super::pattern::{Pattern, SPACES_DOWN};
use crate::error::SqlError;
use std::fmt::Write;

/// A set, while it is read.
#[derive(Default)]
struct Set {
    /// What it has so far, as the inside of a set.
    inside: String,
    /// What stands before the last `&&` or `--`, with that.
    before: Option<(String, &'static str)>,
    negated: bool,
    /// The last character that was one for itself.
    last: Option<char>,
}

/// What was read last, on which it depends what may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Start,
    Literal,
    Set,
    Range,
    Operator,
}

impl Set {
    fn literal(&mut self, char: char) {
        push(&mut self.inside, char);
        self.last = Some(char);
    }
    fn range(&mut self, to: char) -> Result<(), SqlError> {
        let from = self.last.filter(|from| *from <= to);
        let from = from.ok_or_else(SqlError::regexp_invalid_range)?;
        push(&mut self.inside, from);
        self.inside.push('-');
        push(&mut self.inside, to);
        self.last = Some(to);
        Ok(())
    }
    /// What has been read since the last operator.
    fn operand(&mut self) -> String {
        let operand = format!("[{}]", std::mem::take(&mut self.inside));
        match self.before.take() {
            Some((before, operator)) => format!("[{before}{operator}{operand}]"),
            None => operand,
        }
    }
    fn operator(&mut self, operator: &'static str) {
        self.before = Some((self.operand(), operator));
    }
    /// Only what is in this set, or what is not, of all since the last operator.
    fn with(&mut self, operator: &str, set: &str) {
        self.inside = format!("[[{}]{operator}{set}]", self.inside);
    }
}

/// A character within a set.
fn push(inside: &mut String, char: char) {
    if char.is_alphanumeric() {
        inside.push(char);
    } else {
        let _ = write!(inside, r"\x{{{:X}}}", u32::from(char));
    }
}

impl Pattern<'_> {
    /// Reads a set, behind its bracket; the same in the words of the `regex` crate.
    pub(super) fn set(&mut self) -> Result<String, SqlError> {
        self.nested()?;
        let mut set = Set::default();
        let mut after = After::Start;
        if self.is('^') {
            set.negated = true;
            self.advance()?;
        } else if self.is(':')
            && let Some(class) = self.posix()?
        {
            self.depth -= 1;
            return Ok(class);
        }
        if self.is(']') {
            set.literal(']');
            after = After::Literal;
            self.advance()?;
        }
        loop {
            if self.is(']') {
                if after == After::Operator {
                    return Err(self.reader.syntax());
                }
                break;
            }
            after = self.item(&mut set, after)?;
        }
        self.advance()?;
        self.depth -= 1;
        let operand = set.operand();
        Ok(match set.negated {
            true => format!("[^{operand}]"),
            false => operand,
        })
    }

    /// Reads what comes next in a set.
    fn item(&mut self, set: &mut Set, after: After) -> Result<After, SqlError> {
        let Some(char) = self.reader.now.char else {
            return Err(SqlError::regexp_missing_close_bracket());
        };
        match char {
            _ if self.reader.now.quoted => set.literal(char),
            '[' => {
                self.advance()?;
                let inner = self.set()?;
                set.inside.push_str(&inner);
                return Ok(After::Set);
            }
            '\\' => {
                self.advance()?;
                return self.escaped(set);
            }
            '-' | '&' if after != After::Operator => {
                self.advance()?;
                return self.sign(char, set, after);
            }
            _ => set.literal(char),
        }
        self.advance()?;
        Ok(After::Literal)
    }

    /// Reads what belongs to a `-` or `&`.
    fn sign(&mut self, sign: char, set: &mut Set, after: After) -> Result<After, SqlError> {
        let operator = if sign == '-' { "--" } else { "&&" };
        let twice = self.is(sign);
        match after {
            After::Start if twice => return Err(self.reader.syntax()),
            After::Start | After::Operator => {}
            _ if twice => {
                self.advance()?;
                set.operator(operator);
                return Ok(After::Operator);
            }
            After::Set if self.is('[') => {
                self.advance()?;
                let other = self.set()?;
                set.with(operator, &other);
                return Ok(After::Set);
            }
            After::Literal if sign == '-' && !self.is('[') && !self.is(']') => {
                return self.range(set);
            }
            _ => {}
        }
        push(&mut set.inside, sign);
        Ok(After::Literal)
    }

    /// Reads the last character of a range.
    fn range(&mut self, set: &mut Set) -> Result<After, SqlError> {
        if self.is('\\') {
            self.advance()?;
            match self.reader.now.char {
                Some('s' | 'S' | 'w' | 'W' | 'd' | 'D') => return Err(self.reader.syntax()),
                Some('N') => {
                    self.named_character()?;
                    return Ok(After::Range);
                }
                _ => {}
            }
        }
        let to = self.reader.now.char;
        set.range(to.ok_or_else(SqlError::regexp_invalid_range)?)?;
        self.advance()?;
        Ok(After::Range)
    }

    /// Reads what follows a backslash.
    fn escaped(&mut self, set: &mut Set) -> Result<After, SqlError> {
        let Some(char) = self.reader.now.char else {
            return Err(SqlError::regexp_missing_close_bracket());
        };
        match char {
            'p' | 'P' => {
                let property = self.property()?;
                set.inside.push_str(&property);
                return Ok(After::Set);
            }
            'N' => {
                self.named_character()?;
                return Ok(After::Literal);
            }
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => {
                let _ = write!(set.inside, "\\{char}");
            }
            'h' => set.inside.push_str(r"\t\p{Zs}"),
            'H' => set.inside.push_str(r"[^\t\p{Zs}]"),
            'v' => set.inside.push_str(SPACES_DOWN),
            'V' => {
                let _ = write!(set.inside, "[^{SPACES_DOWN}]");
            }
            _ => {
                set.literal(char);
                self.advance()?;
                return Ok(After::Literal);
            }
        }
        self.advance()?;
        Ok(After::Range)
    }

    /// Reads `:name:]`, behind a bracket; `None`, and nothing is read, if it is none.
    fn posix(&mut self) -> Result<Option<String>, SqlError> {
        let start = self.reader.clone();
        self.advance()?;
        let negated = self.is('^');
        if negated {
            self.advance()?;
        }
        let mut name = String::new();
        loop {
            name.extend(self.reader.now.char);
            self.advance()?;
            if self.reader.now.quoted || self.reader.now.char.is_none() {
                break;
            }
            if self.is(':') {
                self.advance()?;
                if self.is(']') {
                    self.advance()?;
                    return super::pattern::class(&name, negated).map(Some);
                }
                break;
            }
        }
        self.reader = start;
        Ok(None)
    }
}
