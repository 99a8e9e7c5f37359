//! From the text of a search to words, phrases and operators.
//!
//! ```text
//! list       any number of:  [operator] word [*]   [operator] "phrase" [@distance]   [operator] (list)
//! operator   + must be there   - must not   > is worth more   < less   ~ nothing
//! ```
//!
//! That is InnoDB's grammar: an operator before nothing is an error, other signs are not read. Without
//! boolean mode there are words and phrases only.

use super::SearchMode;
use crate::error::SqlError;
use cohort_engine::{
    txn::Term,
    types::fulltext::{Parser, Token, Tokenizer, tokens},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// What stands before a word, a phrase or a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Nothing: the more of these, the better.
    Plain,
    /// `+`
    Must,
    /// `-`
    MustNot,
    /// `>`
    Up,
    /// `<`
    Down,
    /// `~`
    Worthless,
}

/// What is searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A word, by its position among the terms.
    Word(usize),
    /// Words that stand together.
    Phrase(Phrase),
    /// Several.
    List(Vec<(Operator, Node)>),
}

/// Words that stand together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phrase {
    /// Those of them that the index has, by their positions among the terms.
    pub terms: Vec<usize>,
    /// The keys of all of them from the first one that the index has, in their order.
    pub words: Vec<Vec<u8>>,
    /// Within so many words, in whatever order; `None`: one right behind the other.
    pub distance: Option<u32>,
}

/// A search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The words to be looked up, each once.
    pub terms: Vec<Term>,
    /// What is made of them.
    pub root: Vec<(Operator, Node)>,
}

impl Query {
    /// What a text searches for.
    ///
    /// # Errors
    /// 1064 for what is no boolean search.
    pub fn new(mode: SearchMode, text: &[u8], tokenizer: &Tokenizer) -> Result<Query, SqlError> {
        let mut builder = Builder {
            tokenizer,
            terms: Vec::new(),
            places: FxHashMap::default(),
        };
        let root = match mode {
            SearchMode::Natural | SearchMode::Expanded => builder.natural(text),
            SearchMode::Boolean => {
                let mut signs = Signs { text, at: 0 };
                builder.list(&mut signs)?
            }
        };
        Ok(Query {
            terms: builder.terms,
            root,
        })
    }
    /// Whether something makes a row worth less.
    #[must_use]
    pub fn takes_away(&self) -> bool {
        fn takes(items: &[(Operator, Node)]) -> bool {
            items.iter().any(|(operator, node)| match (operator, node) {
                (Operator::Down | Operator::Worthless, _) => true,
                (_, Node::List(items)) => takes(items),
                (_, Node::Word(_) | Node::Phrase(_)) => false,
            })
        }
        takes(&self.root)
    }
    /// Searches for these words, too.
    pub fn expand(&mut self, words: impl Iterator<Item = Vec<u8>>) {
        let known: FxHashSet<Term> = self.terms.iter().cloned().collect();
        for key in words {
            let term = Term {
                key,
                is_beginning: false,
            };
            if !known.contains(&term) {
                self.root
                    .push((Operator::Plain, Node::Word(self.terms.len())));
                self.terms.push(term);
            }
        }
    }
}

/// A sign of a boolean search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign<'t> {
    Word(&'t [u8]),
    Text(&'t [u8]),
    Other(u8),
    End,
}

/// The signs of a text, one after the other.
struct Signs<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Signs<'t> {
    fn rest(&self) -> &'t [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }
    fn next(&mut self) -> Sign<'t> {
        loop {
            let rest = self.rest();
            let Some(&first) = rest.first() else {
                return Sign::End;
            };
            self.at += 1;
            match first {
                b'+' | b'-' | b'<' | b'>' | b'~' | b'(' | b')' | b'*' | b'@' => {
                    return Sign::Other(first);
                }
                b'"' => {
                    let inside = rest.get(1..).unwrap_or_default();
                    let end = inside.iter().position(|byte| matches!(byte, b'"' | b'\n'));
                    if let Some(end) = end.filter(|end| inside.get(*end) == Some(&b'"')) {
                        self.at += end + 1;
                        return Sign::Text(inside.get(..end).unwrap_or_default());
                    }
                    // One that nothing closes is not read.
                }
                b' ' | b'\t' | b'\n' | b'%' => {}
                _ => {
                    let ends = |byte: &u8| b"\" \n%()+-<>~@*".contains(byte);
                    let end = rest.iter().position(ends).unwrap_or(rest.len());
                    self.at += end - 1;
                    return Sign::Word(rest.get(..end).unwrap_or_default());
                }
            }
        }
    }
    fn peek(&mut self) -> Sign<'t> {
        let at = self.at;
        let sign = self.next();
        self.at = at;
        sign
    }
    fn eat(&mut self, sign: u8) -> bool {
        let at = self.at;
        let found = self.next() == Sign::Other(sign);
        if !found {
            self.at = at;
        }
        found
    }
}

fn unexpected(sign: Sign<'_>) -> SqlError {
    let what = match sign {
        Sign::End => "$end".to_owned(),
        Sign::Other(sign @ (b'@' | b')')) => format!("'{}', expecting $end", char::from(sign)),
        Sign::Other(sign) => format!("'{}'", char::from(sign)),
        Sign::Word(_) => "FTS_TERM".to_owned(),
        Sign::Text(_) => "FTS_TEXT".to_owned(),
    };
    SqlError::search_syntax(what)
}

struct Builder<'a> {
    tokenizer: &'a Tokenizer,
    terms: Vec<Term>,
    /// Where each of them is.
    places: FxHashMap<Term, usize>,
}

/// Lists within lists, at most: more are an error rather than a deep recursion.
const DEPTH_MAX: usize = 64;

impl Builder<'_> {
    fn term(&mut self, term: Term) -> usize {
        let next = self.terms.len();
        let at = *self.places.entry(term.clone()).or_insert(next);
        if at == next {
            self.terms.push(term);
        }
        at
    }
    fn key(&self, word: &[u8]) -> Vec<u8> {
        let mut key = Vec::new();
        self.tokenizer.key(word, &mut key);
        key
    }
    fn word(&mut self, word: &[u8], is_beginning: bool) -> Node {
        let mut key = Vec::new();
        match is_beginning {
            true => self.tokenizer.key_prefix(word, &mut key),
            false => self.tokenizer.key(word, &mut key),
        }
        Node::Word(self.term(Term { key, is_beginning }))
    }
    /// What the words of a text without operators are.
    fn natural(&mut self, text: &[u8]) -> Vec<(Operator, Node)> {
        let mut signs = Signs { text, at: 0 };
        let mut all = Vec::new();
        loop {
            match signs.next() {
                Sign::End => return all,
                Sign::Other(_) => {}
                Sign::Word(word) => {
                    for token in tokens(self.tokenizer.parser(), word) {
                        if self.tokenizer.is_indexed(&token) {
                            all.push((Operator::Plain, self.word(token.text, false)));
                        }
                    }
                }
                Sign::Text(text) => {
                    let phrase = self.phrase(text, None);
                    all.extend(phrase.map(|phrase| (Operator::Plain, phrase)));
                }
            }
        }
    }
    /// The whole of a boolean search.
    fn list(&mut self, signs: &mut Signs<'_>) -> Result<Vec<(Operator, Node)>, SqlError> {
        let mut levels: Vec<(Operator, Vec<(Operator, Node)>)> = Vec::new();
        let mut list = Vec::new();
        loop {
            let operator = match signs.peek() {
                Sign::Other(sign) => operator(sign),
                _ => None,
            };
            if operator.is_some() {
                signs.next();
            }
            let own = operator.unwrap_or(Operator::Plain);
            // A star before a word means nothing.
            let starred = signs.eat(b'*');
            match signs.next() {
                Sign::Other(b'(') if !starred => {
                    if levels.len() >= DEPTH_MAX {
                        return Err(SqlError::not_supported("a search nested so deeply"));
                    }
                    levels.push((own, std::mem::take(&mut list)));
                }
                Sign::Other(b')') if operator.is_none() && !starred => {
                    let Some((operator, outer)) = levels.pop() else {
                        return Err(unexpected(Sign::Other(b')')));
                    };
                    let nested = std::mem::replace(&mut list, outer);
                    list.push((operator, Node::List(nested)));
                }
                Sign::Word(word) => {
                    let is_beginning = signs.eat(b'*');
                    let words = self.words(word, is_beginning);
                    list.extend(words.into_iter().map(|word| (own, word)));
                }
                Sign::Text(text) => {
                    let distance = match signs.eat(b'@') {
                        true => Some(distance(signs)?),
                        false => None,
                    };
                    // What has no words finds nothing.
                    let phrase = self.phrase(text, distance);
                    list.push((own, phrase.unwrap_or(Node::List(Vec::new()))));
                }
                Sign::End if operator.is_none() && !starred && levels.is_empty() => {
                    return Ok(list);
                }
                other => return Err(unexpected(other)),
            }
        }
    }
    /// The words of what stands between spaces and operators.
    fn words(&mut self, text: &[u8], is_beginning: bool) -> Vec<Node> {
        let parser = self.tokenizer.parser();
        let Parser::Words { min, max } = parser else {
            return self.ngrams(text, is_beginning);
        };
        let found: Vec<Token<'_>> = tokens(parser, text).collect();
        let last = found.len().saturating_sub(1);
        let found = found.into_iter().enumerate();
        let counts = |(at, token): &(usize, Token<'_>)| {
            let long = *at == 0 || token.characters >= usize::from(min);
            long && token.characters <= usize::from(max)
        };
        let words = found.filter(counts).map(|(at, token)| {
            let is_beginning = is_beginning && at == last;
            self.word(token.text, is_beginning)
        });
        words.collect()
    }
    /// The same for ngrams, which stand one behind the other; of a shorter beginning, all that begin so.
    fn ngrams(&mut self, text: &[u8], is_beginning: bool) -> Vec<Node> {
        if is_beginning && tokens(self.tokenizer.parser(), text).next().is_none() {
            let word = Parser::Words { min: 1, max: 84 };
            let words: Vec<Token<'_>> = tokens(word, text).collect();
            return words
                .iter()
                .map(|word| self.word(word.text, true))
                .collect();
        }
        let phrase = self.phrase(text, None);
        vec![phrase.unwrap_or(Node::List(Vec::new()))]
    }
    /// A phrase; of a single word that the index has, that word.
    fn phrase(&mut self, text: &[u8], distance: Option<u32>) -> Option<Node> {
        let found: Vec<Token<'_>> = tokens(self.tokenizer.parser(), text).collect();
        let mut phrase = Phrase {
            terms: Vec::new(),
            words: Vec::new(),
            distance,
        };
        for token in &found {
            let key = self.key(token.text);
            let is_indexed = self.tokenizer.is_indexed(token);
            if is_indexed {
                let term = Term {
                    key: key.clone(),
                    is_beginning: false,
                };
                phrase.terms.push(self.term(term));
            }
            // As in InnoDB it does not matter which words that the index leaves out come first.
            let counts = distance.is_none() && !phrase.terms.is_empty();
            if is_indexed || counts {
                phrase.words.push(key);
            }
        }
        match (phrase.terms.as_slice(), phrase.words.len()) {
            ([], _) => None,
            ([only], 1) => Some(Node::Word(*only)),
            _ => Some(Node::Phrase(phrase)),
        }
    }
}

fn operator(sign: u8) -> Option<Operator> {
    Some(match sign {
        b'+' => Operator::Must,
        b'-' => Operator::MustNot,
        b'>' => Operator::Up,
        b'<' => Operator::Down,
        b'~' => Operator::Worthless,
        _ => return None,
    })
}

/// The number behind `@`.
fn distance(signs: &mut Signs<'_>) -> Result<u32, SqlError> {
    let sign = signs.next();
    let number = match sign {
        Sign::Word(digits) if digits.iter().all(u8::is_ascii_digit) => std::str::from_utf8(digits),
        other => return Err(unexpected(other)),
    };
    let number = number.map(|digits| digits.parse().unwrap_or(u32::MAX));
    number.map_err(|_| unexpected(sign))
}
