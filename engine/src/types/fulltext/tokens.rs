//! Taking a text apart.

use serde::{Deserialize, Serialize};

/// What takes words out of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Parser {
    /// A word is a run of letters, digits and underscores, of so many characters at least and at
    /// most (`innodb_ft_min_token_size`, `innodb_ft_max_token_size`).
    Words {
        /// At least.
        min: u8,
        /// At most.
        max: u8,
    },
    /// A word is each run of so many letters and digits: for languages without spaces between words
    /// (WITH PARSER ngram, `ngram_token_size`).
    Ngram(u8),
}

/// A word as it stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    /// The word.
    pub text: &'t [u8],
    /// Where in the text it begins.
    pub start: usize,
    /// How many characters it has.
    pub characters: usize,
}

/// The ranges of characters that words consist of: what MySQL 9.7 takes for a part of a word when it
/// is asked about each character, which are the letters, marks and numbers of Unicode 5.0.
const WORD_CHARACTERS: &[(u16, u16)] = &include!("word_characters.out");

/// Whether words have this character in them.
#[must_use]
pub fn is_word_character(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphanumeric() || character == '_';
    }
    let Ok(code) = u16::try_from(u32::from(character)) else {
        return false;
    };
    let after = WORD_CHARACTERS.partition_point(|(first, _)| *first <= code);
    let range = after.checked_sub(1).and_then(|at| WORD_CHARACTERS.get(at));
    range.is_some_and(|(_, last)| code <= *last)
}

/// The words of a text, those that an index leaves out included, in their order.
pub fn tokens(parser: Parser, text: &[u8]) -> impl Iterator<Item = Token<'_>> {
    let (mut at, mut run) = (0, None);
    std::iter::from_fn(move || {
        loop {
            if let (Parser::Ngram(size), Some((start, end))) = (parser, run) {
                let (token, rest) = ngram(text, (start, end), usize::from(size));
                run = rest.map(|rest| (rest, end));
                if token.is_some() {
                    return token;
                }
                run = None;
            }
            let word = next_run(text, at)?;
            at = word.start + word.text.len();
            match parser {
                Parser::Words { .. } => return Some(word),
                Parser::Ngram(_) => run = Some((word.start, at)),
            }
        }
    })
}

/// The next run of word characters.
fn next_run(text: &[u8], from: usize) -> Option<Token<'_>> {
    let (mut start, mut characters) = (None, 0);
    let mut at = from;
    while let Some((character, length)) = character_at(text, at) {
        match (is_word_character(character), start) {
            (true, _) => {
                start = start.or(Some(at));
                characters += 1;
            }
            (false, Some(_)) => break,
            (false, None) => {}
        }
        at += length;
    }
    let start = start?;
    Some(Token {
        text: text.get(start..at)?,
        start,
        characters,
    })
}

/// The first characters of a run, if it has so many, and where the next ones begin.
fn ngram(
    text: &[u8],
    (start, end): (usize, usize),
    size: usize,
) -> (Option<Token<'_>>, Option<usize>) {
    let mut at = start;
    let mut second = None;
    for _ in 0..size {
        match character_at(text, at) {
            Some((_, length)) if at < end => at += length,
            _ => return (None, None),
        }
        second = second.or(Some(at));
    }
    let token = text.get(start..at).map(|text| Token {
        text,
        start,
        characters: size,
    });
    (token, second)
}

/// The character at a place, and its length. A byte that begins none is one of its own, and no
/// part of a word.
fn character_at(text: &[u8], at: usize) -> Option<(char, usize)> {
    let first = *text.get(at)?;
    if first.is_ascii() {
        return Some((char::from(first), 1));
    }
    let length = match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Some((char::REPLACEMENT_CHARACTER, 1)),
    };
    let bytes = text.get(at..at + length);
    let character = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
    let character = character.and_then(|text| text.chars().next());
    Some(character.map_or((char::REPLACEMENT_CHARACTER, 1), |c| (c, length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(parser: Parser, text: &str) -> Vec<&str> {
        let words = tokens(parser, text.as_bytes());
        words
            .map(|word| {
                assert_eq!(&text.as_bytes()[word.start..][..word.text.len()], word.text);
                let text = std::str::from_utf8(word.text).unwrap();
                assert_eq!(text.chars().count(), word.characters);
                text
            })
            .collect()
    }

    #[test]
    fn words_are_runs() {
        let parser = Parser::Words { min: 3, max: 84 };
        assert_eq!(found(parser, ""), [""; 0]);
        assert_eq!(found(parser, "... ,"), [""; 0]);
        assert_eq!(found(parser, "don't a_b x1"), ["don", "t", "a_b", "x1"]);
        let text = "\u{e9}t\u{e9}\u{2014}\u{43c}\u{438}\u{440} \u{1f600}z";
        let words = ["\u{e9}t\u{e9}", "\u{43c}\u{438}\u{440}", "z"];
        assert_eq!(found(parser, text), words);
        assert_eq!(tokens(parser, b"ab\xffcd\xe6").count(), 2);
    }

    #[test]
    fn ngrams_stay_within_a_run() {
        assert_eq!(
            found(Parser::Ngram(2), "abcd e fg"),
            ["ab", "bc", "cd", "fg"]
        );
        assert_eq!(found(Parser::Ngram(3), "ab cde"), ["cde"]);
        assert_eq!(found(Parser::Ngram(1), "\u{6570}b"), ["\u{6570}", "b"]);
    }
}
