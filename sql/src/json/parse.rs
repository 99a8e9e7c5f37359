//! JSON from its text, with the words and places of MySQL's errors.

use cohort_engine::types::json::{DEPTH_MAX, Key, Scalar, Tree};
use std::borrow::Cow;

/// Why a text is no JSON document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It is no JSON: MySQL's words, and at which byte.
    Invalid(&'static str, usize),
    /// It is nested too deeply.
    TooDeep,
}

const INVALID_VALUE: &str = "Invalid value.";

/// What a text is read into.
pub trait Built: Sized {
    /// A scalar.
    fn scalar(scalar: Scalar<'static>) -> Self;
    /// An array.
    fn array(elements: Vec<Self>) -> Self;
    /// An object, its members as they are written.
    fn object(members: Vec<(String, Self)>) -> Self;
}

impl Built for Tree {
    fn scalar(scalar: Scalar<'static>) -> Tree {
        Tree::Scalar(scalar)
    }
    fn array(elements: Vec<Tree>) -> Tree {
        Tree::Array(elements)
    }
    /// The last one of several of a name counts.
    fn object(members: Vec<(String, Tree)>) -> Tree {
        let members = members.into_iter();
        Tree::Object(
            members
                .map(|(key, value)| (Key::from(key), value))
                .collect(),
        )
    }
}

/// The document that a text is.
pub fn parse(text: &str) -> Result<Tree, Flaw> {
    read(text)
}

/// The same in another form.
pub fn read<B: Built>(text: &str) -> Result<B, Flaw> {
    let mut reader = Reader { text, at: 0 };
    reader.skip_spaces();
    if reader.peek().is_none() {
        return Err(reader.flaw("The document is empty."));
    }
    let built = reader.value(0)?;
    reader.skip_spaces();
    match reader.peek() {
        None => Ok(built),
        Some(_) => Err(reader.flaw("The document root must not be followed by other values.")),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
    fn eat(&mut self, byte: u8) -> bool {
        let is_it = self.peek() == Some(byte);
        self.at += usize::from(is_it);
        is_it
    }
    fn flaw(&self, words: &'static str) -> Flaw {
        Flaw::Invalid(words, self.at)
    }
    fn skip_spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// A value inside so many arrays and objects.
    fn value<B: Built>(&mut self, depth: usize) -> Result<B, Flaw> {
        match self.peek() {
            Some(b'n') => self.word("null", Scalar::Null),
            Some(b't') => self.word("true", Scalar::Bool(true)),
            Some(b'f') => self.word("false", Scalar::Bool(false)),
            Some(b'"') => Ok(B::scalar(Scalar::Text(Cow::Owned(self.string()?)))),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            _ => self.number(),
        }
    }

    fn word<B: Built>(&mut self, word: &str, value: Scalar<'static>) -> Result<B, Flaw> {
        for byte in word.bytes() {
            if !self.eat(byte) {
                return Err(self.flaw(INVALID_VALUE));
            }
        }
        Ok(B::scalar(value))
    }

    fn object<B: Built>(&mut self, depth: usize) -> Result<B, Flaw> {
        self.open(depth)?;
        let mut members = Vec::new();
        if self.eat(b'}') {
            return Ok(B::object(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.flaw("Missing a name for object member."));
            }
            let key = self.string()?;
            self.skip_spaces();
            if !self.eat(b':') {
                return Err(self.flaw("Missing a colon after a name of object member."));
            }
            self.skip_spaces();
            members.push((key, self.value(depth + 1)?));
            self.skip_spaces();
            if self.eat(b'}') {
                return Ok(B::object(members));
            }
            if !self.eat(b',') {
                return Err(self.flaw("Missing a comma or '}' after an object member."));
            }
            self.skip_spaces();
        }
    }

    fn array<B: Built>(&mut self, depth: usize) -> Result<B, Flaw> {
        self.open(depth)?;
        let mut elements = Vec::new();
        if self.eat(b']') {
            return Ok(B::array(elements));
        }
        loop {
            elements.push(self.value(depth + 1)?);
            self.skip_spaces();
            if self.eat(b']') {
                return Ok(B::array(elements));
            }
            if !self.eat(b',') {
                return Err(self.flaw("Missing a comma or ']' after an array element."));
            }
            self.skip_spaces();
        }
    }

    /// The first character of an array or object, and the spaces behind it.
    fn open(&mut self, depth: usize) -> Result<(), Flaw> {
        if depth >= DEPTH_MAX {
            return Err(Flaw::TooDeep);
        }
        self.at += 1;
        self.skip_spaces();
        Ok(())
    }

    fn string(&mut self) -> Result<String, Flaw> {
        self.at += 1;
        let mut string = String::new();
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let plain = rest
                .bytes()
                .take_while(|byte| !matches!(byte, b'"' | b'\\' | ..0x20));
            let plain = plain.count();
            string.push_str(rest.get(..plain).unwrap_or_default());
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(string);
                }
                Some(b'\\') => string.push(self.escape()?),
                None | Some(0) => {
                    return Err(self.flaw("Missing a closing quotation mark in string."));
                }
                Some(_) => return Err(self.flaw("Invalid encoding in string.")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Flaw> {
        let start = self.at;
        let c = match self.text.as_bytes().get(start + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.code_point(),
            _ => return Err(Flaw::Invalid("Invalid escape character in string.", start)),
        };
        self.at += 2;
        Ok(c)
    }

    /// `\uXXXX`, or two of them that are one character.
    fn code_point(&mut self) -> Result<char, Flaw> {
        let start = self.at;
        let surrogate = Flaw::Invalid("The surrogate pair in string is invalid.", start);
        self.at += 2;
        let first = self.hex_digits(start)?;
        let code = match first {
            0xD800..=0xDBFF => {
                if !self.eat(b'\\') || !self.eat(b'u') {
                    return Err(surrogate);
                }
                let second = self.hex_digits(start)?;
                if !(0xDC00..=0xDFFF).contains(&second) {
                    return Err(surrogate);
                }
                0x1_0000 + ((first - 0xD800) << 10 | (second - 0xDC00))
            }
            first => first,
        };
        char::from_u32(code).ok_or(surrogate)
    }

    fn hex_digits(&mut self, start: usize) -> Result<u32, Flaw> {
        let invalid = Flaw::Invalid("Incorrect hex digit after \\u escape in string.", start);
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let digits = digits.ok_or(invalid)?;
        let mut code = 0;
        for digit in digits {
            code = code << 4 | char::from(*digit).to_digit(16).ok_or(invalid)?;
        }
        self.at += 4;
        Ok(code)
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn number<B: Built>(&mut self) -> Result<B, Flaw> {
        let start = self.at;
        let negative = self.eat(b'-');
        if !self.eat(b'0') && self.digits() == 0 {
            return Err(self.flaw(INVALID_VALUE));
        }
        let mut whole = true;
        if self.eat(b'.') {
            whole = false;
            if self.digits() == 0 {
                return Err(self.flaw("Miss fraction part in number."));
            }
        }
        if self.eat(b'e') || self.eat(b'E') {
            whole = false;
            if !self.eat(b'+') {
                self.eat(b'-');
            }
            if self.digits() == 0 {
                return Err(self.flaw("Miss exponent in number."));
            }
        }
        let digits = self.text.get(start..self.at).unwrap_or_default();
        let scalar = match (whole, negative) {
            (true, true) => digits.parse().ok().map(Scalar::Int),
            (true, false) => digits.parse().ok().map(unsigned),
            (false, _) => None,
        };
        if let Some(scalar) = scalar {
            return Ok(B::scalar(scalar));
        }
        match digits.parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(B::scalar(Scalar::Double(x))),
            _ => Err(Flaw::Invalid(
                "Number too big to be stored in double.",
                start,
            )),
        }
    }
}

/// A number without a sign: up to 32 bits it is as good as one with a sign.
fn unsigned(n: u64) -> Scalar<'static> {
    u32::try_from(n).map_or(Scalar::UInt(n), |n| Scalar::Int(n.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaw(text: &str) -> Flaw {
        parse(text).unwrap_err()
    }

    #[test]
    fn flaws_have_places() {
        let cases = [
            ("", "The document is empty.", 0),
            ("[1 2]", "Missing a comma or ']' after an array element.", 3),
            (
                "{\"a\" 1}",
                "Missing a colon after a name of object member.",
                5,
            ),
            (
                "{\"a\":1 \"b\"}",
                "Missing a comma or '}' after an object member.",
                7,
            ),
            ("{a:1}", "Missing a name for object member.", 1),
            ("nul", INVALID_VALUE, 3),
            ("\"a\\qc\"", "Invalid escape character in string.", 2),
            (
                "\"\\u12G4\"",
                "Incorrect hex digit after \\u escape in string.",
                1,
            ),
            ("\"\\ud800\"", "The surrogate pair in string is invalid.", 1),
            ("1e400", "Number too big to be stored in double.", 0),
            (
                "01",
                "The document root must not be followed by other values.",
                1,
            ),
        ];
        for (text, words, at) in cases {
            assert_eq!(flaw(text), Flaw::Invalid(words, at), "{text}");
        }
    }

    #[test]
    fn depth_has_a_limit() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(100)).is_ok());
        assert_eq!(flaw(&nested(101)), Flaw::TooDeep);
    }

    #[test]
    fn texts_and_numbers() {
        let text = |text: &str| Tree::Scalar(Scalar::Text(Cow::Owned(text.to_owned())));
        assert_eq!(parse("\"\\ud83d\\ude00\\/\\n\""), Ok(text("😀/\n")));
        let number = |text| match parse(text) {
            Ok(Tree::Scalar(scalar)) => scalar,
            other => panic!("{other:?}"),
        };
        assert_eq!(number("-0"), Scalar::Int(0));
        assert_eq!(number("5000000000"), Scalar::UInt(5_000_000_000));
        assert_eq!(
            number("-9223372036854775809"),
            Scalar::Double(-9.223_372_036_854_776e18)
        );
    }
}
