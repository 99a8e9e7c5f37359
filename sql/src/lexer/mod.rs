//! MySQL's lexical grammar: tokens with their place in the text.
//!
//! Works on bytes, because a statement may hold binary strings that are not UTF-8. Nothing is
//! copied: a token is a kind and a place, and its text is a slice of the statement.

mod fingerprint;
mod literal;
#[cfg(test)]
mod tests;
mod value_kind;

pub use fingerprint::Lifted;
pub use literal::{
    bits, hints, in_names, is_beyond_names, is_proper, name, number, string, string_value,
};
pub use value_kind::{TEXT_LENGTH_MAX, ValueKind};

use memchr::{memchr, memchr2};

/// The version that `/*!NNNNN … */` comments are compared with: 9.7.0.
const VERSION: u32 = 90_700;

/// What sql_mode changes in the grammar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mode {
    /// ANSI_QUOTES: `"` quotes names, not strings.
    pub ansi_quotes: bool,
    /// NO_BACKSLASH_ESCAPES: `\` is an ordinary character.
    pub no_backslash_escapes: bool,
    /// PIPES_AS_CONCAT: `||` concatenates.
    pub pipes_as_concat: bool,
    /// HIGH_NOT_PRECEDENCE: NOT binds as `!` does.
    pub high_not_precedence: bool,
    /// REAL_AS_FLOAT: the type REAL is FLOAT.
    pub real_as_float: bool,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A keyword or a name without quotes.
    Word,
    /// A name in quotes.
    QuotedName,
    /// A string in quotes, with an `N` in front perhaps.
    String,
    /// Digits.
    Integer,
    /// Digits with a point.
    Decimal,
    /// A number with an exponent.
    Float,
    /// `0x1F` or `x'1F'`.
    Hex,
    /// `0b01` or `b'01'`.
    Bit,
    /// `?`
    Placeholder,
    /// `@name`, the name in quotes perhaps.
    UserVariable,
    /// `@@name`; a point and another name may follow as tokens of their own.
    SystemVariable,
    /// An operator or a punctuation mark.
    Symbol,
    /// A string, name or character that cannot be: 1064.
    Invalid,
    /// The end of the text.
    End,
}

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

impl Token {
    /// Its text, quotes included.
    #[must_use]
    pub fn text<'a>(&self, source: &'a [u8]) -> &'a [u8] {
        source.get(self.start..self.end).unwrap_or_default()
    }
    /// Whether it is this keyword (given in upper case).
    #[must_use]
    pub fn is_word(&self, source: &[u8], keyword: &str) -> bool {
        self.kind == Kind::Word && self.text(source).eq_ignore_ascii_case(keyword.as_bytes())
    }
    /// Whether it is this operator or punctuation mark.
    #[must_use]
    pub fn is_symbol(&self, source: &[u8], symbol: &str) -> bool {
        self.kind == Kind::Symbol && self.text(source) == symbol.as_bytes()
    }
}

/// Walks over the tokens of a text. After the end it returns `End` for ever.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    source: &'a [u8],
    at: usize,
    mode: Mode,
    /// Inside `/*! … */`, whose contents are part of the statement.
    in_version_comment: bool,
    /// At a comment that has no end, which is no token.
    endless: bool,
}

/// Whether a byte can be part of a name without quotes.
#[inline]
pub(crate) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

impl<'a> Lexer<'a> {
    /// A lexer at the start of a text.
    #[must_use]
    pub fn new(source: &'a [u8], mode: Mode) -> Self {
        Lexer {
            source,
            at: 0,
            mode,
            in_version_comment: false,
            endless: false,
        }
    }
    /// All tokens of a text, `End` left out.
    #[must_use]
    pub fn tokens(source: &'a [u8], mode: Mode) -> Vec<Token> {
        let mut lexer = Lexer::new(source, mode);
        let mut tokens = Vec::new();
        loop {
            let token = lexer.next_token();
            if token.kind == Kind::End {
                return tokens;
            }
            tokens.push(token);
        }
    }
    #[inline]
    fn peek(&self, ahead: usize) -> u8 {
        self.source.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// The next token.
    pub fn next_token(&mut self) -> Token {
        self.skip_space();
        let start = self.at;
        if std::mem::take(&mut self.endless) {
            self.at = self.source.len();
            return self.token(Kind::Invalid, start);
        }
        let Some(&first) = self.source.get(start) else {
            // A `/*!` that has no end is no end of the statement.
            let kind = match std::mem::take(&mut self.in_version_comment) {
                true => Kind::Invalid,
                false => Kind::End,
            };
            return self.token(kind, start);
        };
        let kind = match first {
            b'0'..=b'9' => self.number(),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80.. => self.word(first),
            b'\'' => self.quoted(b'\'', Kind::String),
            b'"' if self.mode.ansi_quotes => self.quoted(b'"', Kind::QuotedName),
            b'"' => self.quoted(b'"', Kind::String),
            b'`' => self.quoted(b'`', Kind::QuotedName),
            b'.' if self.peek(1).is_ascii_digit() && !self.after_name() => self.number(),
            b'@' => self.variable(),
            b'?' => {
                self.at += 1;
                Kind::Placeholder
            }
            _ => self.symbol(first),
        };
        self.token(kind, start)
    }

    fn token(&self, kind: Kind, start: usize) -> Token {
        Token {
            kind,
            start,
            end: self.at,
        }
    }

    /// Whether the byte before belongs to a name, so that a point here qualifies it.
    fn after_name(&self) -> bool {
        self.at > 0
            && self
                .source
                .get(self.at - 1)
                .is_some_and(|&b| is_name_byte(b) || b == b'`')
    }

    fn skip_space(&mut self) {
        loop {
            match self.peek(0) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'#' => self.skip_line(),
                b'-' if self.peek(1) == b'-'
                    && (self.at + 2 >= self.source.len() || self.peek(2) <= b' ') =>
                {
                    self.skip_line();
                }
                b'/' if self.peek(1) == b'*' => {
                    self.comment();
                    if self.endless {
                        return;
                    }
                }
                b'*' if self.in_version_comment && self.peek(1) == b'/' => {
                    self.in_version_comment = false;
                    self.at += 2;
                }
                _ => return,
            }
        }
    }

    fn skip_line(&mut self) {
        while let Some(&byte) = self.source.get(self.at) {
            self.at += 1;
            if byte == b'\n' {
                return;
            }
        }
    }

    /// A comment; the contents of `/*!` for a version not above ours are lexed as usual. One
    /// without an end is left where it is.
    fn comment(&mut self) {
        let start = self.at;
        // In one that is passed over, others may be.
        let mut depth = 1;
        let nests = self.peek(2) == b'!';
        if nests {
            self.at += 3;
            let digits = (0..6)
                .take_while(|&i| self.peek(i).is_ascii_digit())
                .count();
            // A sixth digit is one only before a space.
            let digits = match digits {
                6 if matches!(self.peek(6), b' ' | b'\t'..=b'\r') => 6,
                5 | 6 => 5,
                _ => 0,
            };
            let version = (0..digits).fold(0, |v, i| v * 10 + u32::from(self.peek(i) - b'0'));
            self.at += digits;
            if version <= VERSION {
                self.in_version_comment = true;
                return;
            }
        } else {
            self.at += 2;
        }
        while self.at < self.source.len() {
            match (self.peek(0), self.peek(1)) {
                (b'*', b'/') => {
                    self.at += 2;
                    depth -= 1;
                    if depth == 0 {
                        return;
                    }
                }
                (b'/', b'*') if nests && depth == 1 => {
                    self.at += 2;
                    depth += 1;
                }
                _ => self.at += 1,
            }
        }
        self.at = start;
        self.endless = true;
    }

    fn take_name(&mut self) {
        while self.source.get(self.at).is_some_and(|&b| is_name_byte(b)) {
            self.at += 1;
        }
    }

    fn take_digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    fn word(&mut self, first: u8) -> Kind {
        if self.peek(1) == b'\'' {
            let kind = match first {
                b'x' | b'X' => Some(Kind::Hex),
                b'b' | b'B' => Some(Kind::Bit),
                b'n' | b'N' => Some(Kind::String),
                _ => None,
            };
            if let Some(kind) = kind {
                self.at += 1;
                return self.quoted(b'\'', kind);
            }
        }
        self.take_name();
        Kind::Word
    }

    fn number(&mut self) -> Kind {
        if self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'b') {
            let (kind, is_digit): (Kind, fn(u8) -> bool) = if self.peek(1) == b'x' {
                (Kind::Hex, |b| b.is_ascii_hexdigit())
            } else {
                (Kind::Bit, |b| matches!(b, b'0' | b'1'))
            };
            let digits = (2..).take_while(|&i| is_digit(self.peek(i))).count();
            if digits > 0 && !is_name_byte(self.peek(2 + digits)) {
                self.at += 2 + digits;
                return kind;
            }
            self.take_name();
            return Kind::Word;
        }
        self.take_digits();
        let mut kind = Kind::Integer;
        if self.peek(0) == b'.' {
            kind = Kind::Decimal;
            self.at += 1;
            self.take_digits();
        }
        if matches!(self.peek(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if self.peek(1 + sign).is_ascii_digit() {
                self.at += 1 + sign;
                self.take_digits();
                return Kind::Float;
            }
        }
        if kind == Kind::Integer && is_name_byte(self.peek(0)) {
            self.take_name();
            return Kind::Word;
        }
        kind
    }

    /// Something in quotes, of which two stand for one, and where `\` may escape one.
    fn quoted(&mut self, quote: u8, kind: Kind) -> Kind {
        let escapes = kind == Kind::String && !self.mode.no_backslash_escapes;
        self.at += 1;
        let special = |rest: &[u8]| match escapes {
            true => memchr2(quote, b'\\', rest),
            false => memchr(quote, rest),
        };
        while let Some(before) = self.source.get(self.at..).and_then(special) {
            self.at += before;
            let byte = self.peek(0);
            self.at += 1;
            if byte == quote {
                if self.peek(0) != quote {
                    return kind;
                }
                self.at += 1;
            } else {
                self.at = (self.at + 1).min(self.source.len());
            }
        }
        self.at = self.source.len();
        Kind::Invalid
    }

    fn variable(&mut self) -> Kind {
        self.at += 1;
        let kind = if self.peek(0) == b'@' {
            self.at += 1;
            Kind::SystemVariable
        } else {
            Kind::UserVariable
        };
        match self.peek(0) {
            quote @ (b'`' | b'\'' | b'"') => self.quoted(quote, kind),
            _ => {
                while self
                    .source
                    .get(self.at)
                    .is_some_and(|&b| is_name_byte(b) || b == b'.' && kind == Kind::UserVariable)
                {
                    self.at += 1;
                }
                kind
            }
        }
    }

    fn symbol(&mut self, first: u8) -> Kind {
        let length = match (first, self.peek(1), self.peek(2)) {
            (b'<', b'=', b'>') | (b'-', b'>', b'>') => 3,
            (b'<', b'=' | b'>' | b'<', _)
            | (b'>', b'=' | b'>', _)
            | (b'!' | b':', b'=', _)
            | (b'|', b'|', _)
            | (b'&', b'&', _)
            | (b'-', b'>', _) => 2,
            (
                b'!' | b'%' | b'&' | b'(' | b')' | b'*' | b'+' | b',' | b'-' | b'.' | b'/' | b':'
                | b';' | b'<' | b'=' | b'>' | b'^' | b'{' | b'|' | b'}' | b'~',
                ..,
            ) => 1,
            _ => {
                self.at += 1;
                return Kind::Invalid;
            }
        };
        self.at += length;
        Kind::Symbol
    }
}
