//! FULLTEXT indexes: which words a row has.
//!
//! An index remembers how its words were taken out of texts: the parser, the lengths of words and the
//! stop words as they were when it was made. So the words of a row follow from the definition of its
//! table and its image alone, whatever variables say later, and a replay of the log finds the same.
//!
//! Two words are the same if the collation of the index's columns says so: what is compared and
//! kept is the word's sort key.

mod tokens;
mod words;

pub use tokens::{Parser, Token, is_word_character, tokens};
pub use words::{Words, WordsBuilder};

use super::Collation;
use rustc_hash::FxHashSet;
use std::borrow::Cow;

/// The words that InnoDB leaves out if nothing else is said.
pub const DEFAULT_STOPWORDS: [&str; 36] = [
    "a", "about", "an", "are", "as", "at", "be", "by", "com", "de", "en", "for", "from", "how",
    "i", "in", "is", "it", "la", "of", "on", "or", "that", "the", "this", "to", "was", "what",
    "when", "where", "who", "will", "with", "und", "the", "www",
];

/// How the texts of one index are taken apart: made of its definition, to be used for many texts.
#[derive(Debug)]
pub struct Tokenizer {
    parser: Parser,
    collation: Collation,
    /// The collation tells upper and lower case apart.
    folds: bool,
    /// The stop words, in lower case.
    stopwords: FxHashSet<Vec<u8>>,
    /// No word with more bytes is one.
    longest: usize,
}

impl Tokenizer {
    /// For texts of this collation. `stopwords`: `None` for `DEFAULT_STOPWORDS`.
    #[must_use]
    pub fn new(parser: Parser, collation: Collation, stopwords: Option<&[String]>) -> Tokenizer {
        let lower = |word: &str| collation.lower(word.as_bytes());
        let stopwords: FxHashSet<Vec<u8>> = match stopwords {
            None => DEFAULT_STOPWORDS.iter().map(|word| lower(word)).collect(),
            Some(words) => words.iter().map(|word| lower(word)).collect(),
        };
        Tokenizer {
            parser,
            collation,
            folds: collation.is_case_sensitive() && !collation.is_by_code(),
            // A capital letter can have a byte or two more.
            longest: 2 * stopwords.iter().map(Vec::len).max().unwrap_or(0),
            stopwords,
        }
    }
    /// How it takes texts apart.
    #[must_use]
    pub fn parser(&self) -> Parser {
        self.parser
    }
    /// Appends the sort key that a word is kept under.
    pub fn key(&self, word: &[u8], key: &mut Vec<u8>) {
        self.collation.sort_key(&self.folded(word), key);
    }
    /// Appends what the keys of all words begin with that begin as `word` does.
    pub fn key_prefix(&self, word: &[u8], key: &mut Vec<u8>) {
        self.collation.sort_key_beginning(&self.folded(word), key);
    }
    /// A word in lower case, where that makes another key. As in InnoDB, only the collations that
    /// compare codes tell words apart by their case.
    fn folded<'w>(&self, word: &'w [u8]) -> Cow<'w, [u8]> {
        match self.folds {
            true => Cow::Owned(self.collation.lower(word)),
            false => Cow::Borrowed(word),
        }
    }
    /// How many of the first bytes are a word's key.
    #[must_use]
    pub fn key_length(&self, key: &[u8]) -> Option<usize> {
        self.collation.sort_key_length(key, false)
    }
    /// Whether a word is in the index at all.
    #[must_use]
    pub fn is_indexed(&self, word: &Token<'_>) -> bool {
        match self.parser {
            Parser::Words { min, max } => {
                let range = usize::from(min)..=usize::from(max);
                range.contains(&word.characters) && !self.is_stopword(word.text)
            }
            Parser::Ngram(_) => !self.has_stopword(word.text),
        }
    }
    /// Whether a word is a stop word, in small or capital letters. Accents count, whatever the collation
    /// says, as in MySQL.
    fn is_stopword(&self, word: &[u8]) -> bool {
        if word.len() > self.longest {
            return false;
        }
        match word.is_ascii() {
            true => self.stopwords.contains(&word.to_ascii_lowercase()),
            false => self.stopwords.contains(&self.collation.lower(word)),
        }
    }
    /// Whether a stop word is a part of this one.
    fn has_stopword(&self, word: &[u8]) -> bool {
        let mut starts = (0..word.len()).filter(|at| is_boundary(word, *at));
        starts.any(|start| {
            let mut ends = (start + 1..=word.len()).filter(|at| is_boundary(word, *at));
            ends.any(|end| self.is_stopword(&word[start..end]))
        })
    }
    /// The words of the texts of a row that the index has, and how often they are there.
    pub fn words(&self, texts: &[Vec<u8>], builder: &mut WordsBuilder) {
        builder.clear();
        for text in texts {
            let indexed = tokens(self.parser, text).filter(|token| self.is_indexed(token));
            for token in indexed {
                builder.add(|key| self.key(token.text, key));
            }
        }
    }
}

fn is_boundary(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|byte| byte & 0xc0 != 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(parser: Parser, texts: &[&str]) -> Vec<String> {
        let collation = Collation::Utf8mb40900AiCi;
        let tokenizer = Tokenizer::new(parser, collation, None);
        let mut builder = WordsBuilder::default();
        let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        tokenizer.words(&texts, &mut builder);
        let packed = builder.pack();
        let text = |key: &[u8]| {
            let text = collation.sort_key_text(key, false).unwrap_or_default();
            String::from_utf8(text).unwrap()
        };
        let words = Words::new(&packed).unwrap();
        words
            .iter()
            .map(|(key, count)| format!("{} {count}", text(key)))
            .collect()
    }

    #[test]
    fn a_row_has_the_words_of_its_texts() {
        let parser = Parser::Words { min: 3, max: 84 };
        // "the" is left out, "of" is too short as well; Fox and fox are one.
        assert_eq!(words(parser, &["the Fox of a fox"]).len(), 1);
        assert_eq!(words(parser, &["", "x"]).len(), 0);
        let texts = ["brown fox, \u{e9}t\u{e9}", "jumps over_it don't"];
        assert_eq!(words(parser, &texts).len(), 6);
    }

    #[test]
    fn ngrams_overlap_and_have_no_stop_words_in_them() {
        let of = |text: &str| words(Parser::Ngram(2), &[text]).len();
        assert_eq!(of("\u{6570}\u{636e}\u{5e93}"), 2);
        // `ab` and `ca` have the stop word `a` in them.
        assert_eq!(of("bcd abc bca"), 2);
        assert_eq!(of("x yz"), 1);
    }
}
