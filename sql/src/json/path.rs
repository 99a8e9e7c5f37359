//! Paths: `$.key[3]."other key"[last-1][0 to 2].*[*]**.k`.

use super::parse;
use crate::error::SqlError;
use cohort_engine::types::json::{Scalar, Tree};
use std::sync::Arc;

/// A parsed path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Its steps, from the document downwards.
    pub legs: Vec<Leg>,
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leg {
    /// `.key`
    Key(String),
    /// `.*`
    AnyKey,
    /// `[n]`
    Index(Position),
    /// `[m to n]`
    Range(Position, Position),
    /// `[*]`
    AnyIndex,
    /// `**`
    Descendants,
}

/// The position of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// From the first one: `n`.
    First(u32),
    /// Back from the last one: `last-n`.
    Last(u32),
}

impl Position {
    /// Where it is in an array of so many elements: -1 is before the first.
    #[must_use]
    pub fn of(self, count: usize) -> i64 {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        match self {
            Position::First(n) => n.into(),
            Position::Last(n) => (count - 1 - i64::from(n)).max(-1),
        }
    }
}

impl Path {
    /// The path that a text is; 3143 if it is none.
    pub fn parse(text: &str) -> Result<Path, SqlError> {
        let mut reader = Reader { text, at: 0 };
        let mut path = Path::default();
        match reader.path(&mut path) {
            Some(()) => Ok(path),
            None => Err(SqlError::invalid_json_path(reader.at)),
        }
    }
    /// Whether it may lead to several values.
    #[must_use]
    pub fn is_wild(&self) -> bool {
        self.legs.iter().any(|leg| match leg {
            Leg::Key(_) | Leg::Index(_) => false,
            Leg::AnyKey | Leg::Range(..) | Leg::AnyIndex | Leg::Descendants => true,
        })
    }
    /// 3149 if it may lead to several values.
    pub fn check_single(&self) -> Result<(), SqlError> {
        match self.is_wild() {
            true => Err(SqlError::invalid_json_path_wildcard()),
            false => Ok(()),
        }
    }
}

/// The paths that a statement met last: most have a few, and follow them in every row.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    known: Vec<(Box<[u8]>, Arc<Path>)>,
    /// Which one gives way to the next.
    oldest: usize,
}

impl Paths {
    /// How many are kept.
    const MAX: usize = 8;

    /// The path that a text is; 3143 if it is none.
    pub fn of(&mut self, text: &[u8]) -> Result<Arc<Path>, SqlError> {
        let found = self.known.iter().find(|(known, _)| **known == *text);
        if let Some((_, path)) = found {
            return Ok(Arc::clone(path));
        }
        let path = Arc::new(Path::parse(&String::from_utf8_lossy(text))?);
        let entry = (text.into(), Arc::clone(&path));
        match self.known.get_mut(self.oldest) {
            Some(place) => *place = entry,
            None => self.known.push(entry),
        }
        self.oldest = (self.oldest + 1) % Paths::MAX;
        Ok(path)
    }
}

/// Whether a key needs no quotes in a path.
pub(super) fn is_identifier(key: &str) -> bool {
    let begins = |c: char| c.is_alphabetic() || c == '$' || c == '_';
    let goes_on = |c: char| begins(c) || c.is_numeric() || c == '\u{200c}' || c == '\u{200d}';
    let mut chars = key.chars();
    chars.next().is_some_and(begins) && chars.all(goes_on)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

/// `None`: the text is no path, and `at` is where that is noticed.
impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }
    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }
    /// The next character, which is behind then.
    fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }
    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(|c| c.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn path(&mut self, path: &mut Path) -> Option<()> {
        self.skip_spaces();
        if self.take()? != '$' {
            return None;
        }
        self.skip_spaces();
        while let Some(next) = self.peek() {
            let leg = match next {
                '.' => self.member()?,
                '[' => self.cell()?,
                '*' => self.descendants()?,
                _ => return None,
            };
            path.legs.push(leg);
            self.skip_spaces();
        }
        (path.legs.last() != Some(&Leg::Descendants)).then_some(())
    }

    fn descendants(&mut self) -> Option<Leg> {
        self.take()?;
        if self.peek()? != '*' {
            return None;
        }
        self.take()?;
        match self.peek()? {
            '*' => None,
            _ => Some(Leg::Descendants),
        }
    }

    fn member(&mut self) -> Option<Leg> {
        self.take()?;
        self.skip_spaces();
        match self.peek()? {
            '*' => {
                self.take()?;
                Some(Leg::AnyKey)
            }
            '"' => {
                let key = self.quoted()?;
                self.unescaped(&key).map(Leg::Key)
            }
            _ => {
                let rest = self.rest();
                let ends = |c: char| c.is_ascii_whitespace() || matches!(c, '.' | '[' | '*');
                let end = rest.find(ends).unwrap_or(rest.len());
                let key = format!("\"{}\"", rest.get(..end)?);
                self.at += end;
                let key = self.unescaped(&key)?;
                is_identifier(&key).then_some(Leg::Key(key))
            }
        }
    }

    /// A key with its quotes; without the second one, what there is.
    fn quoted(&mut self) -> Option<String> {
        let start = self.at;
        self.take()?;
        while let Some(c) = self.take() {
            match c {
                '"' => break,
                '\\' => {
                    self.take();
                }
                _ => {}
            }
        }
        self.text.get(start..self.at).map(str::to_owned)
    }

    /// The text that a quoted one stands for.
    fn unescaped(&self, quoted: &str) -> Option<String> {
        match parse(quoted).ok()? {
            Tree::Scalar(Scalar::Text(text)) => Some(text.into_owned()),
            _ => None,
        }
    }

    fn cell(&mut self) -> Option<Leg> {
        self.take()?;
        self.skip_spaces();
        let leg = if self.peek()? == '*' {
            self.take()?;
            Leg::AnyIndex
        } else {
            let from = self.position()?;
            let has_space = self.peek().is_some_and(|c| c.is_ascii_whitespace());
            self.skip_spaces();
            let mut rest = self.rest().chars();
            let is_to = rest.next() == Some('t') && rest.next() == Some('o');
            let is_range = has_space && is_to && rest.next()?.is_ascii_whitespace();
            if is_range {
                self.at += 2;
                self.skip_spaces();
                let to = self.position()?;
                let ascends = match (from, to) {
                    (Position::First(from), Position::First(to)) => from <= to,
                    (Position::Last(from), Position::Last(to)) => from >= to,
                    _ => true,
                };
                if !ascends {
                    return None;
                }
                Leg::Range(from, to)
            } else {
                Leg::Index(from)
            }
        };
        self.skip_spaces();
        (self.take()? == ']').then_some(leg)
    }

    fn position(&mut self) -> Option<Position> {
        let mut from_last = false;
        if self.rest().starts_with("last") {
            from_last = true;
            self.at += 4;
            let before = self.at;
            self.skip_spaces();
            if self.peek() != Some('-') {
                self.at = before;
                return Some(Position::Last(0));
            }
            self.take()?;
            self.skip_spaces();
        }
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_digit());
        let digits = rest.get(..end.unwrap_or(rest.len()))?;
        let number = digits.parse().ok()?;
        self.at += digits.len();
        Some(match from_last {
            true => Position::Last(number),
            false => Position::First(number),
        })
    }
}
