//! A place in the tokens of a statement, for parsers by recursive descent.

use crate::{
    error::SqlError,
    lexer::{self, Kind, Lexer, Mode, Token, is_proper},
};
use cohort_engine::types::Value;
use std::cell::Cell;

/// What a parser returns.
pub type Parsed<T> = Result<T, SqlError>;

/// How often a parser may look without a step. The longest list of words that one looks for has
/// some dozens.
const LOOKS_MAX: u32 = 10_000;

/// The tokens of a statement and a place among them.
///
/// A parser must get on: one that looks and looks and never takes a step is in an endless loop, and
/// is stopped.
pub struct Cursor<'a> {
    source: &'a [u8],
    tokens: Vec<Token>,
    at: usize,
    /// Where the text ends that the tokens are of.
    end: usize,
    /// Where the last look was, and how often there was one without a step.
    looked: Cell<(usize, u32)>,
    mode: Mode,
}

/// Stands behind the last token.
const fn end_token(offset: usize) -> Token {
    Token {
        kind: Kind::End,
        start: offset,
        end: offset,
    }
}

impl<'a> Cursor<'a> {
    /// At the first token of a statement.
    #[must_use]
    pub fn new(source: &'a [u8], mode: Mode) -> Cursor<'a> {
        let tokens = Lexer::tokens(source, mode);
        Cursor::of_part(source, mode, tokens, source.len())
    }
    /// At the first of some tokens of a statement, behind which is a place of it.
    #[must_use]
    pub fn of_part(source: &'a [u8], mode: Mode, tokens: Vec<Token>, end: usize) -> Cursor<'a> {
        Cursor {
            source,
            tokens,
            at: 0,
            end,
            looked: Cell::default(),
            mode,
        }
    }
    /// The token here.
    #[must_use]
    pub fn peek(&self) -> Token {
        self.peek_at(0)
    }
    /// The token so many after this one.
    #[must_use]
    pub fn peek_at(&self, ahead: usize) -> Token {
        let (at, looks) = self.looked.get();
        let looks = if at == self.at { looks + 1 } else { 0 };
        assert!(looks < LOOKS_MAX, "a parser does not get on");
        self.looked.set((self.at, looks));
        let token = self.tokens.get(self.at + ahead).copied();
        token.unwrap_or_else(|| end_token(self.end))
    }
    /// Steps over a token and returns it; at the end, the end again.
    pub fn next(&mut self) -> Token {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len());
        token
    }
    /// Whether all tokens were read.
    #[must_use]
    pub fn at_end(&self) -> bool {
        self.peek().kind == Kind::End
    }
    /// Where it is, for `go_back`.
    #[must_use]
    pub fn place(&self) -> usize {
        self.at
    }
    /// Goes back to where it was.
    pub fn go_back(&mut self, place: usize) {
        self.at = place;
    }
    /// The text from here on, which is for another parser: nothing is left.
    pub fn take_rest_as_written(&mut self) -> &'a [u8] {
        let rest = self.source.get(self.peek().start..).unwrap_or_default();
        self.at = self.tokens.len();
        rest
    }
    /// Whether this keyword (in upper case) is here.
    #[must_use]
    pub fn is(&self, keyword: &str) -> bool {
        self.peek().is_word(self.source, keyword)
    }
    /// Whether these keywords follow one another here.
    #[must_use]
    pub fn are(&self, keywords: &[&str]) -> bool {
        let mut words = keywords.iter().enumerate();
        words.all(|(ahead, word)| self.peek_at(ahead).is_word(self.source, word))
    }
    /// Steps over a keyword if it is here.
    pub fn eat(&mut self, keyword: &str) -> bool {
        let found = self.is(keyword);
        self.at += usize::from(found);
        found
    }
    /// Steps over these keywords if all of them are here.
    pub fn eat_all(&mut self, keywords: &[&str]) -> bool {
        let found = self.are(keywords);
        if found {
            self.at += keywords.len();
        }
        found
    }
    /// Steps over the first of these keywords that is here and returns its position.
    pub fn eat_any(&mut self, keywords: &[&str]) -> Option<usize> {
        keywords.iter().position(|keyword| self.eat(keyword))
    }
    /// Steps over a keyword that must be here.
    pub fn expect(&mut self, keyword: &str) -> Parsed<()> {
        if self.eat(keyword) {
            Ok(())
        } else {
            Err(self.error())
        }
    }
    /// Whether this mark is here.
    #[must_use]
    pub fn is_symbol(&self, symbol: &str) -> bool {
        self.peek().is_symbol(self.source, symbol)
    }
    /// Steps over a mark if it is here.
    pub fn eat_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        self.at += usize::from(found);
        found
    }
    /// Steps over a mark that must be here.
    pub fn expect_symbol(&mut self, symbol: &str) -> Parsed<()> {
        if self.eat_symbol(symbol) {
            Ok(())
        } else {
            Err(self.error())
        }
    }
    /// 1064 at this place.
    #[must_use]
    pub fn error(&self) -> SqlError {
        SqlError::syntax_at(self.source, self.peek().start)
    }
    /// 1064 for a number here that an option cannot have.
    #[must_use]
    pub fn error_of_option(&self, option: &str, range: &str) -> SqlError {
        SqlError::option_at(self.source, self.peek().start, option, range)
    }
    /// The end of the statement must be here.
    pub fn expect_end(&self) -> Parsed<()> {
        if self.at_end() {
            Ok(())
        } else {
            Err(self.error())
        }
    }

    /// The lexical grammar.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }
    /// The text of a token.
    #[must_use]
    pub fn text(&self, token: Token) -> &'a [u8] {
        self.source.get(token.start..token.end).unwrap_or_default()
    }
    /// The text from a token to the one before this place, without the space around it.
    #[must_use]
    pub fn text_since(&self, first: Token) -> String {
        let before = self.tokens.get(..self.at).unwrap_or_default();
        let from = before.partition_point(|token| token.start < first.start);
        let mut text: Vec<u8> = Vec::new();
        let mut end = first.start;
        for token in before.get(from..).unwrap_or_default() {
            let between = self.source.get(end..token.start).unwrap_or_default();
            // A mark of a comment whose contents count has no other one here.
            match has_lone_mark(between) {
                true => text.push(b' '),
                false => text.extend_from_slice(between),
            }
            text.extend_from_slice(self.text(*token));
            end = token.end;
        }
        String::from_utf8_lossy(&text).into_owned()
    }
    /// The text from this place to the end of the statement.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.source.get(self.peek().start..).unwrap_or_default()
    }
    /// Steps to the end and returns what was stepped over.
    pub fn take_rest(&mut self) -> String {
        let rest = String::from_utf8_lossy(self.rest()).into_owned();
        self.at = self.tokens.len();
        rest
    }
    /// Steps over an expression, which ends before a comma or a closing parenthesis of the level
    /// it began on, or before one of these keywords, and returns its text.
    pub fn take_expression(&mut self, until: &[&str]) -> Parsed<String> {
        let first = self.peek();
        let mut depth = 0_usize;
        while !self.at_end() {
            if depth == 0
                && (self.is_symbol(",")
                    || self.is_symbol(")")
                    || until.iter().any(|keyword| self.is(keyword)))
            {
                break;
            }
            if self.is_symbol("(") {
                depth += 1;
            } else if self.is_symbol(")") {
                depth -= 1;
            }
            self.next();
        }
        if self.peek().start == first.start || depth > 0 {
            return Err(self.error());
        }
        Ok(self.text_since(first))
    }

    /// A name, quoted or not. Reserved words must be quoted.
    pub fn name(&mut self) -> Parsed<String> {
        let token = self.peek();
        let is_name = match token.kind {
            Kind::QuotedName => true,
            Kind::Word => !super::reserved::is_reserved(self.text(token)),
            _ => false,
        };
        if !is_name {
            return Err(self.error());
        }
        self.any_name()
    }
    /// A name, even if it is a reserved word (after a point, for instance).
    pub fn any_name(&mut self) -> Parsed<String> {
        let token = self.peek();
        if !matches!(token.kind, Kind::Word | Kind::QuotedName) {
            return Err(self.error());
        }
        self.next();
        Ok(lexer::name(self.text(token)).into_owned())
    }
    /// Whether a string is here.
    #[must_use]
    pub fn is_string(&self) -> bool {
        self.peek().kind == Kind::String
    }
    /// A string.
    pub fn string(&mut self) -> Parsed<String> {
        let token = self.peek();
        if token.kind != Kind::String {
            return Err(self.error());
        }
        self.next();
        let mut bytes = lexer::string(self.text(token), self.mode).into_owned();
        // Strings side by side are one.
        while self.is_string() {
            let token = self.next();
            bytes.extend_from_slice(&lexer::string(self.text(token), self.mode));
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
    /// A name or a string: how MySQL takes character sets, engines, users.
    pub fn name_or_string(&mut self) -> Parsed<String> {
        if self.is_string() {
            self.string()
        } else {
            self.any_name()
        }
    }
    /// A whole number without a sign.
    pub fn unsigned(&mut self) -> Parsed<u64> {
        let token = self.peek();
        let number = match token.kind {
            Kind::Integer => lexer::number(token.kind, self.text(token)),
            _ => None,
        };
        let number = match number {
            Some(Value::Int(n)) => u64::try_from(n).ok(),
            Some(Value::UInt(n)) => Some(n),
            _ => None,
        };
        let number = number.ok_or_else(|| self.error())?;
        self.next();
        Ok(number)
    }
    /// The name of a user variable, without its `@`.
    pub fn user_variable(&mut self) -> Parsed<String> {
        let token = self.peek();
        if token.kind != Kind::UserVariable {
            return Err(self.error());
        }
        self.next();
        Ok(lexer::name(self.text(token)).into_owned())
    }
    /// The name of a database: 1102 if none can be called so.
    pub fn database(&mut self) -> Parsed<String> {
        let name = self.name()?;
        match is_proper(&name) {
            true => Ok(name),
            false => Err(SqlError::wrong_database_name(name)),
        }
    }
    /// `name` or `database.name`: 1102 or 1103 if nothing can be called so.
    pub fn table(&mut self) -> Parsed<super::TableName> {
        self.object(SqlError::wrong_table_name)
    }
    /// The same of a routine, trigger or event: 1458.
    pub fn routine(&mut self) -> Parsed<super::TableName> {
        self.object(SqlError::wrong_routine_name)
    }
    fn object(&mut self, wrong: impl Fn(String) -> SqlError) -> Parsed<super::TableName> {
        let object = self.object_name()?;
        if !is_proper(&object.name) {
            return Err(wrong(object.name));
        }
        match object.database {
            Some(database) if !is_proper(&database) => Err(SqlError::wrong_database_name(database)),
            _ => Ok(object),
        }
    }
    fn object_name(&mut self) -> Parsed<super::TableName> {
        let first = self.name()?;
        if self.eat_symbol(".") {
            let name = self.any_name()?;
            return Ok(super::TableName {
                database: Some(first),
                name,
            });
        }
        Ok(super::TableName {
            database: None,
            name: first,
        })
    }
    /// A list with commas between its items.
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat_symbol(",") {
            items.push(item(self)?);
        }
        Ok(items)
    }
}

/// Whether what stands between two tokens begins or ends a `/*!80000 … */`.
fn has_lone_mark(between: &[u8]) -> bool {
    let at = |mark: &[u8]| between.windows(mark.len()).position(|bytes| bytes == mark);
    at(b"/*!").is_some() || at(b"*/").is_some() && at(b"/*").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a parser does not get on")]
    fn a_parser_that_takes_no_step_is_stopped() {
        let mut cursor = Cursor::new(b"CHAR CHARACTER b", Mode::default());
        cursor.eat("CHAR");
        while !cursor.eat("SET") {}
    }

    #[test]
    fn long_statements_are_none() {
        let list = "a, ".repeat(LOOKS_MAX as usize) + "a";
        let mut cursor = Cursor::new(list.as_bytes(), Mode::default());
        let names = cursor.list(Cursor::name).unwrap();
        assert_eq!(names.len(), LOOKS_MAX as usize + 1);
        assert!(cursor.at_end());
    }
}
