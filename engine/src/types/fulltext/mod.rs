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

pub use tokens::{Token, is_word_character, tokens};
pub use words::{Words, WordsBuilder};

use super::{
    Collation,
    row::{self, Malformed},
    schema::{Column, Index, Table},
    value::Value,
};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use std::{
    borrow::Cow,
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

/// The words that InnoDB leaves out if nothing else is said.
pub const DEFAULT_STOPWORDS: [&str; 36] = [
    "a", "about", "an", "are", "as", "at", "be", "by", "com", "de", "en", "for", "from", "how",
    "i", "in", "is", "it", "la", "of", "on", "or", "that", "the", "this", "to", "was", "what",
    "when", "where", "who", "will", "with", "und", "the", "www",
];

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

/// A FULLTEXT index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullText {
    /// Its name, columns and tree.
    pub index: Index,
    /// What takes words out of texts.
    pub parser: Parser,
    /// The words that are left out, in no order. `None`: `DEFAULT_STOPWORDS`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopwords: Option<Arc<[String]>>,
    /// What is made of the definition.
    #[serde(skip)]
    pub prepared: Prepared,
}

/// What takes apart the texts of an index, made once from its definition and kept with it. It is no
/// part of that: a copy, which may be changed, begins without.
#[derive(Debug, Default)]
pub struct Prepared(OnceLock<Arc<Tokenizer>>);

impl Clone for Prepared {
    fn clone(&self) -> Prepared {
        Prepared::default()
    }
}

impl PartialEq for Prepared {
    fn eq(&self, _: &Prepared) -> bool {
        true
    }
}

impl Eq for Prepared {}

/// How the texts of one index are taken apart: made of its definition, to be used for many texts.
#[derive(Debug)]
pub struct Tokenizer {
    parser: Parser,
    collation: Collation,
    /// The collation tells upper and lower case apart.
    folds: bool,
    /// Sort keys of the stop words.
    stopwords: FxHashSet<Vec<u8>>,
    /// The positions of the columns, ascending.
    columns: Vec<u16>,
}

impl FullText {
    /// The collation of its columns.
    #[must_use]
    pub fn collation(&self, columns: &[Column]) -> Collation {
        let first = self.index.parts.first();
        let first = first.and_then(|part| columns.get(usize::from(part.column)));
        first.map_or(Collation::Binary, |column| column.collation)
    }
    /// Whether it is on these columns, in whatever order.
    #[must_use]
    pub fn is_on(&self, columns: &BTreeSet<u16>) -> bool {
        let own = self.index.parts.iter().map(|part| part.column);
        own.collect::<BTreeSet<_>>() == *columns
    }
    /// What takes apart the texts of the columns of a table.
    #[must_use]
    pub fn tokenizer(&self, table: &Table) -> &Arc<Tokenizer> {
        self.prepared
            .0
            .get_or_init(|| Arc::new(self.make_tokenizer(table)))
    }
    fn make_tokenizer(&self, table: &Table) -> Tokenizer {
        let collation = self.collation(&table.columns);
        let columns = self.index.parts.iter().map(|part| part.column);
        let mut tokenizer = Tokenizer {
            parser: self.parser,
            collation,
            folds: collation.is_case_sensitive() && !collation.is_by_code(),
            stopwords: FxHashSet::default(),
            columns: columns.collect::<BTreeSet<_>>().into_iter().collect(),
        };
        let key = |word: &str| {
            let mut key = Vec::new();
            tokenizer.key(word.as_bytes(), &mut key);
            key
        };
        tokenizer.stopwords = match &self.stopwords {
            None => DEFAULT_STOPWORDS.iter().map(|word| key(word)).collect(),
            Some(words) => words.iter().map(|word| key(word)).collect(),
        };
        tokenizer
    }
}

impl Tokenizer {
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
        self.collation.sort_key_prefix(&self.folded(word), key);
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
    /// Whether a word of so many characters and with this key is in the index at all.
    #[must_use]
    pub fn is_indexed(&self, word: &Token<'_>, key: &[u8]) -> bool {
        match self.parser {
            Parser::Words { min, max } => {
                let range = usize::from(min)..=usize::from(max);
                range.contains(&word.characters) && !self.is_stopword(word.text, key)
            }
            Parser::Ngram(_) => !self.has_stopword(word.text),
        }
    }
    /// Whether a word with this key is a stop word. They are that in upper case, too, whatever the
    /// collation says.
    fn is_stopword(&self, word: &[u8], key: &[u8]) -> bool {
        if !self.collation.is_case_sensitive() {
            return self.stopwords.contains(key);
        }
        let mut lower = Vec::new();
        self.key(&self.collation.lower(word), &mut lower);
        self.stopwords.contains(&lower)
    }
    /// Whether a stop word is a part of this one.
    fn has_stopword(&self, word: &[u8]) -> bool {
        let mut key = Vec::new();
        let mut starts = (0..word.len()).filter(|at| is_boundary(word, *at));
        starts.any(|start| {
            let mut ends = (start + 1..=word.len()).filter(|at| is_boundary(word, *at));
            ends.any(|end| {
                let part = &word[start..end];
                key.clear();
                self.key(part, &mut key);
                self.is_stopword(part, &key)
            })
        })
    }
    /// The texts of a row, those of its columns that are not NULL.
    pub fn texts(&self, table: &Table, image: &[u8]) -> Result<Vec<Vec<u8>>, Malformed> {
        let mut row = vec![Value::Null; table.columns.len()];
        row::decode_some(table, image, &self.columns, &mut row)?;
        let columns = self.columns.iter().map(|column| usize::from(*column));
        let texts = columns.filter_map(|column| match std::mem::take(&mut row[column]) {
            Value::Bytes(text) => Some(Ok(text)),
            Value::Null => None,
            _ => Some(Err(Malformed)),
        });
        texts.collect()
    }
    /// The words of a row that the index has, and how often the row has each.
    pub fn words(
        &self,
        table: &Table,
        image: &[u8],
        builder: &mut WordsBuilder,
    ) -> Result<(), Malformed> {
        builder.clear();
        for text in self.texts(table, image)? {
            for token in tokens(self.parser, &text) {
                builder.add(|key| {
                    self.key(token.text, key);
                    self.is_indexed(&token, key)
                });
            }
        }
        Ok(())
    }
}

fn is_boundary(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|byte| byte & 0xc0 != 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{ColumnType, IndexPart, key::tests as keys};

    /// A table of two texts with an index on both.
    fn table(parser: Parser) -> Table {
        let text = |name: &str| Column {
            collation: Collation::Utf8mb40900AiCi,
            ..Column::new(name, ColumnType::VarChar(99))
        };
        let part = |column| IndexPart {
            column,
            prefix: None,
            desc: false,
            trimmed: false,
        };
        let mut table = keys::table(vec![text("a"), text("b")]);
        table.fulltext.push(FullText {
            index: Index {
                tree: 7,
                name: "i".to_owned(),
                unique: false,
                parts: vec![part(1), part(0)],
                comment: String::new(),
                visible: true,
                using_btree: false,
                generated: false,
            },
            parser,
            stopwords: None,
            prepared: Prepared::default(),
        });
        table
    }

    fn words(parser: Parser, a: Value, b: Value) -> Vec<(String, u32)> {
        let table = table(parser);
        let tokenizer = table.fulltext[0].tokenizer(&table);
        let mut image = Vec::new();
        row::encode(&table, &[a, b], &mut image);
        let mut builder = WordsBuilder::default();
        tokenizer.words(&table, &image, &mut builder).unwrap();
        let packed = builder.pack();
        let words = Words::new(&packed).unwrap();
        let text = |key: &[u8]| {
            let text = Collation::Utf8mb40900AiCi.sort_key_text(key, false);
            text.map_or_else(String::new, |text| String::from_utf8(text).unwrap())
        };
        words
            .iter()
            .map(|(key, count)| (text(key), count))
            .collect()
    }

    #[test]
    fn a_row_has_the_words_of_its_columns() {
        let words_of = |a: &str, b: Value| {
            let parser = Parser::Words { min: 3, max: 84 };
            words(parser, Value::Bytes(a.into()), b).len()
        };
        // "the" is left out, "of" is too short as well; Fox and fox are one.
        assert_eq!(words_of("the Fox of a fox", Value::Null), 1);
        assert_eq!(words_of("", Value::Bytes(b"x".to_vec())), 0);
        let b = Value::Bytes(b"jumps over_it don't".to_vec());
        assert_eq!(words_of("brown fox, \u{e9}t\u{e9}", b), 6);
    }

    #[test]
    fn ngrams_overlap_and_have_no_stop_words_in_them() {
        let of = |text: &str| words(Parser::Ngram(2), Value::Bytes(text.into()), Value::Null).len();
        assert_eq!(of("\u{6570}\u{636e}\u{5e93}"), 2);
        // `ab` and `ca` have the stop word `a` in them.
        assert_eq!(of("bcd abc bca"), 2);
        assert_eq!(of("x yz"), 1);
    }
}
