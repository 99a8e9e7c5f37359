//! The characters of a pattern, one after the other, as the ICU library reads them: `\x41` and
//! what stands between `\Q` and `\E` is a character that means itself.

use crate::error::SqlError;

/// A character of a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Read {
    /// `None` behind the last one.
    pub char: Option<char>,
    /// It means itself.
    pub quoted: bool,
}

/// Where in a pattern the reading is.
#[derive(Clone)]
pub(super) struct Reader<'p> {
    rest: std::str::Chars<'p>,
    /// The character that is looked at.
    pub now: Read,
    line: usize,
    column: usize,
    /// Between `\Q` and `\E`.
    quotes: bool,
    /// The last character was a backslash, which is not followed by one of `acefnrtuUx0Q`.
    behind_backslash: bool,
    /// The flag x: white space and comments are passed over.
    pub comments: bool,
}

impl<'p> Reader<'p> {
    pub fn new(pattern: &'p str) -> Reader<'p> {
        Reader {
            rest: pattern.chars(),
            now: Read::default(),
            line: 1,
            column: 0,
            quotes: false,
            behind_backslash: false,
            comments: false,
        }
    }

    /// 3688, here.
    pub fn syntax(&self) -> SqlError {
        SqlError::regexp_syntax(self.line, self.column)
    }

    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn take(&mut self) -> Option<char> {
        let char = self.rest.next()?;
        if matches!(char, '\n' | '\u{85}' | '\u{2028}') {
            self.line += 1;
            self.column = 0;
        } else {
            self.column += 1;
        }
        Some(char)
    }

    /// Goes on to the next character.
    pub fn advance(&mut self) -> Result<(), SqlError> {
        self.now = self.next()?;
        Ok(())
    }

    fn next(&mut self) -> Result<Read, SqlError> {
        loop {
            let char = self.take();
            if self.quotes {
                if char.is_some() && !(char == Some('\\') && self.peek() == Some('E')) {
                    return Ok(Read { char, quoted: true });
                }
                self.quotes = false;
                self.take();
                continue;
            }
            let plain = Read {
                char,
                quoted: false,
            };
            if std::mem::take(&mut self.behind_backslash) {
                return Ok(plain);
            }
            match char {
                Some('#') if self.comments => self.pass_line(),
                Some(char) if self.comments && is_pattern_space(char) => {}
                Some('\\') => match self.peek() {
                    Some('Q') => {
                        self.take();
                        self.quotes = true;
                    }
                    Some('0' | 'a' | 'c' | 'e' | 'f' | 'n' | 'r' | 't' | 'u' | 'U' | 'x') => {
                        let char = Some(self.escape()?);
                        return Ok(Read { char, quoted: true });
                    }
                    _ => {
                        self.behind_backslash = true;
                        return Ok(plain);
                    }
                },
                _ => return Ok(plain),
            }
        }
    }

    fn pass_line(&mut self) {
        while let Some(char) = self.take() {
            if matches!(char, '\n' | '\r' | '\u{85}' | '\u{2028}') {
                return;
            }
        }
    }

    /// The character that a letter behind a backslash stands for, with what belongs to it.
    fn escape(&mut self) -> Result<char, SqlError> {
        let letter = self.take().unwrap_or_default();
        // ICU counts a character more then.
        self.column += usize::from(letter != '0');
        let code = match letter {
            'a' => Some(7),
            'e' => Some(27),
            'f' => Some(12),
            'n' => Some(10),
            'r' => Some(13),
            't' => Some(9),
            'c' => Some(
                self.take()
                    .map_or(u32::from('c'), |char| u32::from(char) & 31),
            ),
            'u' => self.digits(16, 4, 4),
            'U' => self.digits(16, 8, 8),
            'x' if self.peek() == Some('{') => {
                self.take();
                let code = self.digits(16, 1, 8);
                code.filter(|_| self.take() == Some('}'))
            }
            'x' => self.digits(16, 1, 2),
            _ => self.octal(),
        };
        let char = code.and_then(char::from_u32);
        char.ok_or_else(SqlError::regexp_bad_escape)
    }

    /// A number of so many digits.
    fn digits(&mut self, base: u32, least: usize, most: usize) -> Option<u32> {
        let (mut number, mut count) = (0_u32, 0);
        while count < most
            && let Some(digit) = self.peek().and_then(|char| char.to_digit(base))
        {
            number = number.checked_mul(base)?.checked_add(digit)?;
            count += 1;
            self.take();
        }
        (count >= least).then_some(number)
    }

    /// Up to three octal digits of a number that a byte has room for.
    fn octal(&mut self) -> Option<u32> {
        let mut number = self.digits(8, 1, 1)?;
        for _ in 0..2 {
            let digit = self.peek().and_then(|char| char.to_digit(8));
            match digit.map(|digit| number * 8 + digit) {
                Some(more) if more < 256 => number = more,
                _ => break,
            }
            self.take();
        }
        Some(number)
    }
}

/// What is passed over with the flag x.
fn is_pattern_space(char: char) -> bool {
    matches!(
        char,
        '\t'..='\r' | ' ' | '\u{85}' | '\u{200E}' | '\u{200F}' | '\u{2028}' | '\u{2029}'
    )
}
