//! Optimizer hints: the comments `/*+ … */` behind the first word of a statement or of a query block. MySQL's
//! manual describes them under "Optimizer Hints".
//!
//! What is not understood is a warning, and ends the list: the hints before it count.

use crate::lexer::{self, Kind, Lexer, Mode, Token};
use std::cell::Cell;

/// A hint.
#[derive(Clone, Debug, PartialEq)]
pub enum Hint {
    /// `MAX_EXECUTION_TIME(n)`: milliseconds.
    ExecutionTime(u64),
    /// `SET_VAR(name = value)`, the value as it stands.
    SetVariable(String, Vec<u8>),
    /// `QB_NAME(name)`: how other hints call the query block.
    BlockName(String),
    /// `JOIN_FIXED_ORDER` and its relatives: of a query block.
    Join(Join, Vec<Name>),
    /// Whether indexes of a table are to be used; of no names, any.
    Index {
        /// `INDEX`, say.
        hint: &'static str,
        /// Whether they are, or are not.
        wanted: bool,
        /// The table.
        table: Name,
        /// The indexes.
        indexes: Vec<String>,
    },
    /// `MERGE` and `NO_MERGE`: whether tables are to be read in the place of a text in FROM.
    Merge(bool, Vec<Name>),
    /// `BNL`, `HASH_JOIN` and their opposites: whether tables may be read once and looked up by hash.
    Hash(&'static str, bool, Vec<Name>),
    /// `RESOURCE_GROUP`: the one that the statement is to run in.
    ResourceGroup(String),
    /// One about a way of MySQL's that is not there, or is always taken.
    Other(&'static str),
}

/// What a hint says of the order of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// As it is written.
    Fixed,
    /// Tables in this order; others wherever they may be.
    Order,
    /// These tables first.
    Prefix,
    /// These tables last.
    Suffix,
}

impl Join {
    /// The hint's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Join::Fixed => "JOIN_FIXED_ORDER",
            Join::Order => "JOIN_ORDER",
            Join::Prefix => "JOIN_PREFIX",
            Join::Suffix => "JOIN_SUFFIX",
        }
    }
}

/// The name of a table, and of the query block it is in if that is another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The table's alias.
    pub table: String,
    /// The query block.
    pub block: Option<String>,
}

/// Whether hints may stand behind a token: it is the first word of a query block, or of a statement that changes
/// rows.
#[must_use]
pub fn may_begin_block(token: &Token, source: &[u8]) -> bool {
    const WORDS: [&str; 5] = ["SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE"];
    WORDS.iter().any(|word| token.is_word(source, word))
}

/// The hints of a comment, up to one that is not understood: where that is, in the text of the hints.
pub struct Hints {
    /// The hints.
    pub hints: Vec<Hint>,
    /// Where it is not understood.
    pub wrong: Option<usize>,
}

/// Of indexes: the name of the hint, and whether they are to be used.
const OF_INDEXES: [(&str, bool); 8] = [
    ("INDEX", true),
    ("NO_INDEX", false),
    ("JOIN_INDEX", true),
    ("NO_JOIN_INDEX", false),
    ("GROUP_INDEX", true),
    ("NO_GROUP_INDEX", false),
    ("ORDER_INDEX", true),
    ("NO_ORDER_INDEX", false),
];

/// Of a table's way to be joined.
const OF_HASHES: [(&str, bool); 4] = [
    ("BNL", true),
    ("NO_BNL", false),
    ("HASH_JOIN", true),
    ("NO_HASH_JOIN", false),
];

/// Others that MySQL has.
const OTHERS: [&str; 15] = [
    "BKA",
    "NO_BKA",
    "DERIVED_CONDITION_PUSHDOWN",
    "NO_DERIVED_CONDITION_PUSHDOWN",
    "INDEX_MERGE",
    "NO_INDEX_MERGE",
    "MRR",
    "NO_MRR",
    "NO_ICP",
    "NO_RANGE_OPTIMIZATION",
    "SKIP_SCAN",
    "NO_SKIP_SCAN",
    "SEMIJOIN",
    "NO_SEMIJOIN",
    "SUBQUERY",
];

/// The names of all hints.
fn all_names() -> impl Iterator<Item = &'static str> {
    let joins = [Join::Fixed, Join::Order, Join::Prefix, Join::Suffix];
    let others = [
        "MERGE",
        "NO_MERGE",
        "MAX_EXECUTION_TIME",
        "QB_NAME",
        "RESOURCE_GROUP",
        "SET_VAR",
    ];
    let pairs = OF_INDEXES.into_iter().chain(OF_HASHES);
    let names = joins.map(Join::name).into_iter().chain(others);
    names.chain(pairs.map(|(name, _)| name)).chain(OTHERS)
}

impl Hints {
    /// Reads the text of a comment.
    #[must_use]
    pub fn read(text: &[u8], mode: Mode) -> Hints {
        let mut reader = Reader {
            text,
            mode,
            tokens: Lexer::tokens(text, mode),
            at: 0,
            looked_at: Cell::new(0),
        };
        let mut hints = Vec::new();
        while let Some(token) = reader.peek() {
            let start = token.start;
            match reader.hint() {
                Read::Hint(hint) => hints.push(hint),
                Read::Unknown => {
                    return Hints {
                        hints,
                        wrong: Some(start),
                    };
                }
                Read::Wrong => {
                    return Hints {
                        hints,
                        wrong: Some(reader.looked_at.get()),
                    };
                }
            }
        }
        Hints { hints, wrong: None }
    }
}

struct Reader<'t> {
    text: &'t [u8],
    mode: Mode,
    tokens: Vec<Token>,
    at: usize,
    /// Where the token is that was looked at last.
    looked_at: Cell<usize>,
}

/// What became of a hint.
enum Read {
    Hint(Hint),
    /// There is none of this name.
    Unknown,
    /// It is written otherwise.
    Wrong,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        let token = self.tokens.get(self.at);
        let looked_at = token.map_or(self.text.len(), |token| token.start);
        self.looked_at.set(looked_at);
        token.filter(|token| token.kind != Kind::End)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek().copied();
        self.at += usize::from(token.is_some());
        token
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let is_it = self
            .peek()
            .is_some_and(|token| token.is_symbol(self.text, symbol));
        self.at += usize::from(is_it);
        is_it
    }

    fn hint(&mut self) -> Read {
        let Some(word) = self.next().filter(|token| token.kind == Kind::Word) else {
            return Read::Unknown;
        };
        let bytes = word.text(self.text);
        let is_word = |name: &&str| bytes.eq_ignore_ascii_case(name.as_bytes());
        match all_names().find(is_word) {
            None => Read::Unknown,
            Some(_) => self.known(word).map_or(Read::Wrong, Read::Hint),
        }
    }

    /// A hint of a name that there is.
    fn known(&mut self, word: Token) -> Option<Hint> {
        let text = self.text;
        let is = |name: &&str| word.is_word(text, name);
        let named = |all: &[(&'static str, bool)]| {
            let found = all.iter().find(|(name, _)| is(name));
            found.copied()
        };
        self.eat("(").then_some(())?;
        let joins = [Join::Fixed, Join::Order, Join::Prefix, Join::Suffix];
        let hint = if let Some(join) = joins.into_iter().find(|join| is(&join.name())) {
            Hint::Join(join, self.tables()?)
        } else if let Some((hint, wanted)) = named(&OF_INDEXES) {
            let block = self.block();
            let table = self.table(block.as_ref())?;
            let mut indexes = Vec::new();
            while !self.peek()?.is_symbol(self.text, ")") {
                indexes.push(self.name()?);
                self.eat(",");
            }
            Hint::Index {
                hint,
                wanted,
                table,
                indexes,
            }
        } else if let Some((_, wanted)) = named(&[("MERGE", true), ("NO_MERGE", false)]) {
            Hint::Merge(wanted, self.tables()?)
        } else if let Some((hint, wanted)) = named(&OF_HASHES) {
            Hint::Hash(hint, wanted, self.tables()?)
        } else if is(&"MAX_EXECUTION_TIME") {
            let number = self.next().filter(|token| token.kind == Kind::Integer)?;
            let number = std::str::from_utf8(number.text(self.text)).ok()?;
            Hint::ExecutionTime(number.parse().ok()?)
        } else if is(&"QB_NAME") {
            Hint::BlockName(self.name()?)
        } else if is(&"RESOURCE_GROUP") {
            Hint::ResourceGroup(self.name()?)
        } else if is(&"SET_VAR") {
            let name = self.name()?;
            self.eat("=").then_some(())?;
            let start = self.peek()?.start;
            let mut end = start;
            while !self.peek()?.is_symbol(self.text, ")") {
                end = self.next()?.end;
            }
            let value = self.text.get(start..end)?;
            // An empty string is none.
            if value.is_empty() || matches!(value, b"''" | b"\"\"") {
                self.looked_at.set(start);
                return None;
            }
            Hint::SetVariable(name, value.to_vec())
        } else {
            let name = OTHERS.iter().find(|name| is(name))?;
            while !self.peek()?.is_symbol(self.text, ")") {
                self.at += 1;
            }
            Hint::Other(name)
        };
        self.eat(")").then_some(hint)
    }

    fn name(&mut self) -> Option<String> {
        let token = self.next()?;
        match token.kind {
            Kind::Word => {
                let text = token.text(self.text);
                Some(String::from_utf8_lossy(text).into_owned())
            }
            Kind::QuotedName => Some(lexer::name(token.text(self.text)).into_owned()),
            _ => None,
        }
    }

    /// `@name` of a query block.
    fn block(&mut self) -> Option<String> {
        let token = self.peek().copied();
        let token = token.filter(|token| token.kind == Kind::UserVariable)?;
        self.at += 1;
        let name = token.text(self.text).get(1..)?;
        let name = Lexer::new(name, self.mode).next_token().text(name);
        Some(lexer::name(name).into_owned())
    }

    fn table(&mut self, block: Option<&String>) -> Option<Name> {
        let table = self.name()?;
        Some(Name {
            table,
            block: self.block().or_else(|| block.cloned()),
        })
    }

    /// Tables up to the bracket, behind the name of a query block perhaps.
    fn tables(&mut self) -> Option<Vec<Name>> {
        let block = self.block();
        let mut tables = Vec::new();
        // A block alone stands for all its tables.
        if let (Some(block), true) = (&block, self.peek()?.is_symbol(self.text, ")")) {
            tables.push(Name {
                table: String::new(),
                block: Some(block.clone()),
            });
        }
        while !self.peek()?.is_symbol(self.text, ")") {
            tables.push(self.table(block.as_ref())?);
            if !self.eat(",") && !self.peek()?.is_symbol(self.text, ")") {
                return None;
            }
        }
        Some(tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Hint>, Option<&str>) {
        let read = Hints::read(text.as_bytes(), Mode::default());
        (read.hints, read.wrong.map(|at| &text[at..]))
    }

    fn name(table: &str, block: Option<&str>) -> Name {
        Name {
            table: table.into(),
            block: block.map(Into::into),
        }
    }

    #[test]
    fn hints_are_read_up_to_one_that_is_wrong() {
        let (hints, wrong) = read(
            " qb_name(`a b`) Join_Order(@q t1, `t2`@r) INDEX(t i1, i2) NO_INDEX(@q t) \
             SET_VAR(sort_buffer_size = 16 * 2) NO_ICP(t) NO_MERGE() JOIN_FIXED_ORDER() MAX_EXECUTION_TIME(5)",
        );
        assert_eq!(wrong, None);
        assert_eq!(
            hints,
            [
                Hint::BlockName("a b".into()),
                Hint::Join(
                    Join::Order,
                    vec![name("t1", Some("q")), name("t2", Some("r"))]
                ),
                Hint::Index {
                    hint: "INDEX",
                    wanted: true,
                    table: name("t", None),
                    indexes: vec!["i1".into(), "i2".into()]
                },
                Hint::Index {
                    hint: "NO_INDEX",
                    wanted: false,
                    table: name("t", Some("q")),
                    indexes: Vec::new()
                },
                Hint::SetVariable("sort_buffer_size".into(), b"16 * 2".to_vec()),
                Hint::Other("NO_ICP"),
                Hint::Merge(false, Vec::new()),
                Hint::Join(Join::Fixed, Vec::new()),
                Hint::ExecutionTime(5),
            ]
        );
        for (text, left) in [
            ("NO_SUCH(t)", "NO_SUCH(t)"),
            ("BNL(t) BNL(t u)", "u)"),
            ("INDEX()", ")"),
            ("QB_NAME(", ""),
            ("SET_VAR(x)", ")"),
            ("SET_VAR(x=)", ")"),
            ("SET_VAR(x='')", "'')"),
            ("MAX_EXECUTION_TIME(a)", "a)"),
            ("5", "5"),
        ] {
            assert_eq!(read(text).1, Some(left));
        }
    }
}
